/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/daemon_call.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "host/probe.h"
#include "host/state.h"
#include "ipc/manager_interface.h"
#include "ipc/varlink_client.h"
#include "model/names.h"
#include "render/status_json.h"
#include "runtime/clock.h"
#include "runtime/deadline.h"
#include "runtime/log.h"
#include "status/proof.h"

#include <stdio.h>
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

/* ---- progress ---- */

/* The interval between two displays. Most calls are shorter than a second, and show none. */
static const uint64_t progress_usec = 250 * USEC_PER_MSEC;
static const uint64_t silent_usec = USEC_PER_SEC;
static const uint64_t line_usec = 10 * USEC_PER_SEC;

struct Progress {
        Command *command;
        bool is_terminal; /* one that can rewrite a line */
        bool is_shown;
        uint64_t begun_usec, next_line_usec;
        const Topology *before;
};

void progress_begin(Command *command) {
        bool is_terminal = isatty(STDERR_FILENO);

        if (log_is_journal() || !(is_terminal || command->is_changing))
                return;
        uint64_t now_usec = clock_now_usec();
        const Progress progress = {
                .command = command,
                .is_terminal = is_terminal && !text_equals(getenv("TERM"), "dumb"),
                .begun_usec = now_usec,
                .next_line_usec = now_usec + line_usec,
                .before = probe_topology(command->root, command->arena, NULL),
        };

        command->progress = arena_memdup(command->arena, &progress, sizeof(progress));
}

static uint64_t persistent_pages(const Topology *topology, const LedgerPool *pool) {
        const Pool *found = topology_pool(topology, pool->node, pool->page_size_bytes);

        return found ? pool_persistent_pages(found) : 0;
}

/* Returns "12.1G of 120G, 3.2G a second, 34 s left"; NULL if there is nothing to be written. */
static const char *describe(const Progress *progress, Arena *arena) {
        const Root *root = progress->command->root;
        const Topology *now = probe_topology(root, arena, NULL);
        const char *wrong;
        const Ledger *ledger = state_load(root, arena, now->boot_id, &wrong);
        uint64_t done = 0, all = 0, usec = clock_now_usec() - progress->begun_usec;

        VEC_FOREACH(pool, &ledger->pools) {
                uint64_t before = persistent_pages(progress->before, pool), to = pool->set_pages;
                uint64_t at = persistent_pages(now, pool);
                uint64_t way = to > before ? to - before : before - to;
                uint64_t gone = to > before ? sub_floored(at, before) : sub_floored(before, at);

                all += mul_saturated(way, pool->page_size_bytes);
                done += mul_saturated(MIN(way, gone), pool->page_size_bytes);
        }
        if (all == 0)
                return NULL;
        const char *part =
                arena_printf(arena, "%s of %s", format_size(arena, done), format_size(arena, all));

        return done == 0 || done >= all
                       ? part
                       : arena_printf(arena, "%s, %s a second, %s left", part,
                                      format_size(arena, mul_div(done, USEC_PER_SEC, usec)),
                                      proof_format_age(arena, mul_div(all - done, usec, done)));
}

/* Shows the progress; nothing in the first second, or if there is nothing to be written. */
static void progress_show(Progress *progress) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        uint64_t now_usec = clock_now_usec();

        if (now_usec - progress->begun_usec < silent_usec ||
            (!progress->is_terminal && now_usec < progress->next_line_usec))
                return;
        progress->next_line_usec = now_usec + line_usec;
        const char *words = describe(progress, arena);

        if (!words)
                return;
        if (!progress->is_terminal)
                log_line(LOG_NOTICE, "reserving: %s", words);
        else
                fprintf(stderr, "\rreserving: %s\033[K", words);
        progress->is_shown = progress->is_terminal;
}

/* Removes the line from the terminal before other output. PROGRESS may be NULL. */
static void progress_hide(Progress *progress) {
        if (!progress || !progress->is_shown)
                return;
        fputs("\r\033[K", stderr);
        progress->is_shown = false;
}

/* ---- replies ---- */

/* Waits for a reply, and shows the progress meanwhile. */
static int next_reply(DaemonCall *call, uint64_t limit_usec, DaemonReply *ret) {
        Progress *progress = call->command->progress;
        uint64_t deadline_usec = deadline_in(limit_usec), left_usec;
        int r;

        while (left_usec = deadline_left_usec(deadline_usec),
               r = varlink_client_next(call->client,
                                       progress ? MIN(left_usec, progress_usec) : left_usec,
                                       &ret->parameters, &ret->error),
               r == -ETIMEDOUT && progress && left_usec > progress_usec)
                progress_show(progress);
        if (r >= 0)
                call->command->is_daemon_silent = false;
        return r;
}

int daemon_await(DaemonCall *call, uint64_t deadline_usec, DaemonReply *ret) {
        Command *command = call->command;

        for (;;) {
                uint64_t left_usec = deadline_left_usec(deadline_usec);
                int r = next_reply(call, MIN(left_usec, call->patience_usec), ret);

                if (r == -ETIMEDOUT && left_usec > call->patience_usec) {
                        /* A daemon that resets the connection lives; the call itself shows for how long. */
                        command->is_daemon_silent =
                                varlink_ping(socket_path(command), silence_limit_usec(command)) ==
                                -ETIMEDOUT;
                        if (!command->is_daemon_silent) {
                                call->patience_usec =
                                        MIN(MAX(call->patience_usec * 2, patience_min_usec),
                                            patience_max_usec);
                                continue;
                        }
                        r = next_reply(call, 0, ret);
                        r = r == -ETIMEDOUT ? -EAGAIN : r;
                }
                progress_hide(command->progress);
                return r;
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

Status *ask_status(Command *command, uint64_t timeout_usec, const char **ret_why) {
        CLEANUP(daemon_reply_done) DaemonReply reply = {};
        Status *status = NULL;
        const char *why = NULL;
        uint64_t deadline_usec = deadline_in(timeout_usec), pause_usec = 0;
        int r;

        do
                r = daemon_call(command, MANAGER_DESCRIBE,
                                command->is_brief ? json_pack("{sb}", "brief", true) : NULL,
                                deadline_left_usec(deadline_usec), &reply);
        while (r == -ECONNRESET && daemon_pause(&pause_usec, deadline_usec));
        if (r < 0)
                why = daemon_error(r);
        else if (reply.error)
                why = arena_strdup(command->arena, reply.error);
        else if (!(status = status_from_json(command->arena, reply.parameters)))
                why = "its answer is not valid";
        if (ret_why)
                *ret_why = why;
        return status;
}

/* Replaces what the files would say if hugeplan did anything on this host. */
static void judge_aside(Command *command, Status *status, const Reason *aside) {
        const Diags before = status->problems;

        status->problems = diags_in(command->arena);
        VEC_FOREACH(problem, &before.list)
                if (text_starts_with(problem->id, "config-"))
                        diags_add(&status->problems, problem);
        status_add_aside(aside, &status->problems);
        status->verdict = VERDICT_ASIDE;
        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                instance->verdict = VERDICT_ASIDE;
                instance->reason = *aside;
                instance->pages_granted = instance->nodes.n = 0;
        }
        ARRAY_FOREACH(pool, status->pools, status->n_pools) {
                pool->foreign_pages += pool->owned_pages;
                pool->owned_pages = 0;
        }
}

Status *status_now(Command *command, const Config **ret_config) {
        const char *why = NULL;
        const Reason *aside = stands_aside(command);
        Status *status = aside ? NULL : ask_status(command, ANSWER_USEC, &why);
        const Look *look = status ? NULL : local_load(command, false, NULL);

        if (ret_config)
                *ret_config = look ? look->config : NULL;
        if (status)
                return status;
        status = local_status(command, look, aside ? "aside" : "no daemon");
        if (aside) {
                judge_aside(command, status, aside);
                return status;
        }
        if (command->n_arguments == 1 &&
            !command->is_plugin) /* the status of one instance shows no problems */
                log_line(
                        LOG_WARNING,
                        "hugepland cannot be reached (%s); this is from the kernel's files; " DAEMON_REMEDY,
                        why);
        diags_report(&status->problems, problem_of(PROBLEM_NO_DAEMON, NULL, DAEMON_REMEDY),
                     "hugepland cannot be reached (%s); this is from the kernel's files", why);
        return status;
}

const char *daemon_error(int error) {
        if (error == -EAFNOSUPPORT)
                return "the unit forbids AF_UNIX sockets; see RestrictAddressFamilies= in systemd.exec(5)";
        return error == -ETIMEDOUT || error == -EAGAIN ? "it does not answer" : strerror(-error);
}
