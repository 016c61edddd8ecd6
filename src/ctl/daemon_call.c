/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/daemon_call.h"

#include "base/memory.h"
#include "base/size.h"
#include "ctl/observe/progress.h"
#include "ipc/manager_interface.h"
#include "ipc/varlink_client.h"
#include "model/names.h"
#include "render/status_json.h"
#include "runtime/deadline.h"
#include "runtime/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nearly every answer comes in a fraction of the first; later checks are less frequent. */
static const uint64_t patience_min_usec = USEC_PER_SEC;
static const uint64_t patience_max_usec = 5 * USEC_PER_SEC;
/* Between two turns of its loop the daemon looks, plans, and may wait a second for systemd. */
static const uint64_t silence_usec = 2 * USEC_PER_SEC;
/* For changes, which only the daemon can make, on a busy host. */
static const uint64_t silence_of_change_usec = 10 * USEC_PER_SEC;
/* After it was silent once. */
static const uint64_t silence_again_usec = 500 * USEC_PER_MSEC;

static const uint64_t pause_min_usec = 10 * USEC_PER_MSEC;
static const uint64_t pause_max_usec = 500 * USEC_PER_MSEC;

struct DaemonCall {
        Command *command;
        VarlinkClient *client;
        uint64_t patience_usec; /* until the next check that the daemon lives */
};

static const char *socket_path(Command *command) {
        return root_path(command->arena, command->root, PATH_SOCKET);
}

static uint64_t silence_limit_usec(const Command *command) {
        if (command->is_daemon_silent)
                return silence_again_usec;
        return command->is_changing ? silence_of_change_usec : silence_usec;
}

int daemon_begin(Command *command, const char *method, json_t *parameters, bool more,
                 DaemonCall **ret) {
        CLEANUP(daemon_endp) DaemonCall *call = memory_new(sizeof(DaemonCall));
        uint64_t limit_usec = silence_limit_usec(command);
        int r = varlink_client_connect(socket_path(command), limit_usec, &call->client);

        if (r < 0) {
                json_decref(parameters);
                return r;
        }
        call->command = command;
        call->patience_usec = command->is_daemon_silent ? 0 : patience_min_usec;
        r = varlink_client_send(call->client, method, parameters, more, limit_usec);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(call);
        return 0;
}

void daemon_reply_done(DaemonReply *reply) {
        free(reply->error);
        json_decref(reply->parameters);
}

void daemon_endp(DaemonCall **call) {
        if (*call)
                varlink_client_free((*call)->client);
        memory_free(*call);
}

/* A daemon that resets the connection lives; the call itself shows for how long. */
static bool is_alive(Command *command) {
        command->is_daemon_silent =
                varlink_ping(socket_path(command), silence_limit_usec(command)) == -ETIMEDOUT;
        return !command->is_daemon_silent;
}

static int next_reply(DaemonCall *call, uint64_t limit_usec, DaemonReply *ret) {
        int r = varlink_client_next(call->client, limit_usec, &ret->parameters, &ret->error);

        if (r >= 0)
                call->command->is_daemon_silent = false;
        return r;
}

/* The same, showing the progress of the daemon. */
static int next_reply_with_progress(DaemonCall *call, uint64_t limit_usec, DaemonReply *ret) {
        Progress *progress = call->command->progress;
        uint64_t deadline_usec = deadline_in(limit_usec);

        for (;;) {
                uint64_t left_usec = deadline_left_usec(deadline_usec);
                int r = next_reply(call, progress ? MIN(left_usec, PROGRESS_USEC) : left_usec, ret);

                if (r == -ETIMEDOUT && progress && left_usec > PROGRESS_USEC) {
                        progress_show(progress);
                        continue;
                }
                if (r != -ETIMEDOUT)
                        progress_hide(progress);
                return r;
        }
}

int daemon_await(DaemonCall *call, uint64_t deadline_usec, DaemonReply *ret) {
        for (;;) {
                uint64_t left_usec = deadline_left_usec(deadline_usec);
                int r = next_reply_with_progress(call, MIN(left_usec, call->patience_usec), ret);

                if (r == -ETIMEDOUT && left_usec <= call->patience_usec)
                        progress_hide(call->command->progress);
                if (r != -ETIMEDOUT || left_usec <= call->patience_usec)
                        return r;
                if (!is_alive(call->command)) {
                        progress_hide(call->command->progress);
                        r = next_reply(call, 0, ret);
                        return r == -ETIMEDOUT ? -EAGAIN : r;
                }
                call->patience_usec =
                        MIN(MAX(call->patience_usec * 2, patience_min_usec), patience_max_usec);
        }
}

int daemon_call(Command *command, const char *method, json_t *parameters, uint64_t timeout_usec,
                DaemonReply *ret) {
        CLEANUP(daemon_endp) DaemonCall *call = NULL;
        uint64_t deadline_usec = deadline_in(timeout_usec);
        int r = daemon_begin(command, method, parameters, false, &call);

        if (r == 0)
                r = daemon_await(call, deadline_usec, ret);
        return r == -EAGAIN ? -ETIMEDOUT : r;
}

bool daemon_pause(uint64_t *pause_usec, uint64_t deadline_usec) {
        uint64_t left_usec = deadline_left_usec(deadline_usec);

        if (left_usec == 0)
                return false;
        *pause_usec = MIN(MAX(*pause_usec * 2, pause_min_usec), pause_max_usec);
        usleep((useconds_t) MIN(*pause_usec + *pause_usec / 16 * ((uint64_t) getpid() % 16),
                                left_usec));
        return true;
}

int daemon_ask(Command *command, const char *method, uint64_t timeout_usec, DaemonReply *ret) {
        uint64_t deadline_usec = deadline_in(timeout_usec), pause_usec = 0;
        int r;

        do
                r = daemon_call(command, method, NULL, deadline_left_usec(deadline_usec), ret);
        while (r == -ECONNRESET && daemon_pause(&pause_usec, deadline_usec));
        return r;
}

Status *ask_status(Command *command, const char **ret_why) {
        CLEANUP(daemon_reply_done) DaemonReply reply = {};
        Status *status = NULL;
        int r = daemon_ask(command, MANAGER_DESCRIBE, ANSWER_USEC, &reply);

        if (r < 0)
                *ret_why = daemon_error(r);
        else if (reply.error)
                *ret_why = arena_strdup(command->arena, reply.error);
        else if (!(status = status_from_json(command->arena, reply.parameters)))
                *ret_why = "its answer makes no sense";
        return status;
}

Status *status_now(Command *command, const Config **ret_config) {
        const char *why = NULL;
        bool is_off = is_switched_off(command);
        Status *status = is_off ? NULL : ask_status(command, &why);

        if (ret_config)
                *ret_config = NULL;
        if (status)
                return status;
        const Look *look = local_load_now(command, NULL);

        if (ret_config)
                *ret_config = look->config;
        status = local_status(command, look, is_off ? "switched off" : "no daemon");
        if (!is_off && command->n_arguments == 1 &&
            !command->is_plugin) /* the status of one instance shows no problems */
                log_line(
                        LOG_WARNING,
                        "hugepland cannot be reached (%s); this is what the files say; " DAEMON_REMEDY,
                        why);
        if (!is_off)
                diags_report(&status->problems, problem_of(PROBLEM_NO_DAEMON, NULL, DAEMON_REMEDY),
                             "hugepland cannot be reached (%s); this is what the files say", why);
        return status;
}

const char *daemon_error(int error) {
        if (error == -EAFNOSUPPORT)
                return "the unit forbids AF_UNIX sockets; see RestrictAddressFamilies= in systemd.exec(5)";
        return error == -ETIMEDOUT || error == -EAGAIN ? "it does not answer" : strerror(-error);
}
