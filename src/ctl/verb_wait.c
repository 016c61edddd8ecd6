/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate: lets a database start when its pages are reserved.
 *
 * The gate runs as ExecStartPre= of the database's unit, as the unit's user. With Memory=auto it first finds the size
 * out (learn/learn.h). It calls the daemon, whose answer counts as long as the daemon lives, however long it takes. If
 * the daemon cannot be reached, the gate decides from the kernel's files, because a database must not stay down because
 * hugeplan is broken. If the daemon is silent, and may come back or be replaced, the gate decides from the files only
 * to let the database start. */
#include "base/text.h"
#include "ctl/gate_inside.h"
#include "ctl/learn/learn.h"
#include "ctl/observe/progress.h"
#include "ctl/verbs.h"
#include "demand/learned_json.h"
#include "host/mounts.h"
#include "host/probe.h"
#include "inspect/pages/page_users.h"
#include "inspect/process_files.h"
#include "ipc/manager_interface.h"
#include "model/exit_code.h"
#include "model/problem.h"
#include "render/status_json.h"
#include "runtime/clock.h"
#include "runtime/deadline.h"
#include "runtime/log.h"
#include "status/json_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The time that the daemon has after the timeout to answer that it has passed. */
static const uint64_t grace_usec = 3 * USEC_PER_SEC;
/* How long connection resets are tolerated: the daemon is stopping, or has too many clients. */
static const uint64_t resets_borne_usec = 2500 * USEC_PER_MSEC;

/* Writes the verdict to the unit's log. Returns the exit code. */
static int tell(Command *command, const StatusInstance *instance) {
        const char *line = render_verdict(command->arena, instance);

        gate_warn_of_size(command, instance);
        if (command->json != JSON_OFF)
                print_json(command, status_instance_to_json(instance));
        else if (instance->verdict == VERDICT_READY)
                puts(line);
        if (instance->verdict != VERDICT_READY)
                log_line(verdict_lets_start(instance->verdict) ? LOG_WARNING : LOG_ERR, "%s", line);
        return verdict_lets_start(instance->verdict) ? EXIT_DONE : EXIT_FAILED;
}

/* ---- who is in the way ---- */

static const size_t n_named_max = 8;

/* The same; if pages were taken, the log also names the units and processes that hold pages. */
static int print_with_page_users(Command *command, const Status *status,
                                 const StatusInstance *instance) {
        int code = tell(command, instance);
        size_t n = 0;

        if (!status || verdict_lets_start(instance->verdict) ||
            !(instance->verdict == VERDICT_LOST || instance->reason.kind == REASON_TAKEN ||
              instance->reason.kind == REASON_POOL_SHRANK))
                return code;
        const PageUsers *page_users = page_users_find(
                command->root, command->arena, probe_topology(command->root, command->arena));

        VEC_FOREACH(user, &page_users->list) {
                const StatusInstance *of = status_find_unit(status, user->unit);
                bool is_of_size = user->page_size_bytes == 0 || instance->page_size_bytes == 0 ||
                                  user->page_size_bytes == instance->page_size_bytes;

                /* Units of other instances are named only if they hold more than was reserved for them. */
                if (of && (text_equals(of->unit, instance->unit) ||
                           page_user_kept_pages(user) <= of->pages_granted))
                        continue;
                if (is_of_size && n++ < n_named_max)
                        log_line(LOG_NOTICE, "%s: held by %s", instance->name,
                                 page_user_format(command->arena, user));
        }
        return code;
}

/* ---- without the daemon ---- */

/* Judges the instance by the kernel's files. Returns false if there is no instance NAME. Fails closed: sets *RET_FAULT
 * if a file cannot be read. */
static bool judge_alone(Command *command, const char *name, Status **ret_status,
                        StatusInstance *ret, ReadFault *ret_fault) {
        const InstanceConfig *described = config_find(read_config(command), name);

        if (!described)
                return false;
        /* Whether this process is a gate of the unit, which is then starting. */
        bool is_starting = described->unit && unit_cgroup_is_own(command->root, described->unit);
        const Look *look = local_load_now(command, is_starting ? described : NULL);

        *ret_fault = look->fault;
        *ret_status = local_status(command, look, "no daemon");
        *ret = *status_find(*ret_status, name);
        if (is_starting)
                status_judge_start(command->arena, plan_find(look->plan, name), START_BY_ITSELF,
                                   NULL, ret);
        if (is_starting && verdict_lets_start(ret->verdict)) {
                ret->reason = mounts_judge_start(command->root, command->arena, described);
                if (ret->reason.kind != REASON_NONE)
                        ret->verdict = VERDICT_REFUSED;
        }
        gate_judge_inside(command, *ret_status, ret);
        return true;
}

static int decide_alone(Command *command, const char *name, const char *why) {
        const Config *config = read_config(command);
        StatusInstance instance;
        ReadFault fault;
        Status *status;

        if (config->is_unlisted && !config_find(config, name)) {
                log_line(LOG_ERR, "%s: the configuration cannot be read: %s", name,
                         config->problems.list.items[config->problems.list.n - 1].text);
                return EXIT_FAILED;
        }
        if (!judge_alone(command, name, &status, &instance, &fault))
                return fail_no_instance(command, name, config);
        if (fault.error < 0) {
                log_line(LOG_ERR, "%s: %s cannot be read: %s", name, fault.path,
                         strerror(-fault.error));
                return EXIT_FAILED;
        }
        log_line(LOG_WARNING, "hugepland cannot be reached (%s); looking at the files instead",
                 why);
        return print_with_page_users(command, status, &instance);
}

/* While the daemon is silent: returns whether the instance is ready by the kernel's files, writes that to the log and
 * sets the exit code. An instance that is not ready waits on. */
static bool pass_alone(const Command *command, const char *name, int *ret_code) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Command now = *command;
        StatusInstance instance;
        ReadFault fault;
        Status *status;

        now.arena = arena;
        if (!judge_alone(&now, name, &status, &instance, &fault) || fault.error < 0 ||
            instance.verdict != VERDICT_READY)
                return false;
        log_line(LOG_WARNING, "hugepland does not answer; by the kernel's files the pages stand");
        *ret_code = tell(&now, &instance);
        return true;
}

/* ---- with the daemon ---- */

static int print_refused(Command *command, const char *name, const json_t *reply) {
        StatusInstance instance = {
                .name = name,
                .verdict = VERDICT_REFUSED,
                .reason = {.text = text_from_json(command->arena, reply, "reason"),
                           .remedy = text_from_json(command->arena, reply, "remedy")},
        };
        const Status *now = NULL;
        CLEANUP(daemon_reply_done) DaemonReply status = {};

        /* An older daemon does not send the id. */
        reason_from_id(text_from_json(command->arena, reply, "reasonId"), &instance.reason.kind);
        /* The status has the verdict, which may be "invalid" or "lost", and the figures. */
        if (daemon_ask(command, MANAGER_DESCRIBE, grace_usec, &status) == 0 && !status.error) {
                now = status_from_json(command->arena, status.parameters);
                const StatusInstance *known = now ? status_find(now, name) : NULL;

                if (known) {
                        /* The figures of the status with the reason of the refusal. */
                        Reason reason = instance.reason;

                        instance = *known;
                        instance.reason = reason;
                        /* Its pages are reserved but not available to it, or the status has changed since. */
                        if (verdict_lets_start(known->verdict) || known->verdict == VERDICT_PENDING)
                                instance.verdict = VERDICT_REFUSED;
                }
        }
        return print_with_page_users(command, now, &instance);
}

static int print_late(const char *name, const char *reason, const char *remedy) {
        log_line(
                LOG_ERR,
                "%s: not decided before its time to wait was over%s%s%s%s; see hugeplanctl status %s",
                name, reason ? ": " : "", reason ? reason : "", remedy ? "; " : "",
                remedy ? remedy : "", name);
        return EXIT_TIMED_OUT;
}

/* How long an answer is waited for before the configuration is read. */
static const uint64_t at_once_usec = 100 * USEC_PER_MSEC;

/* A client without a place is disconnected after a second or more (ipc/varlink_lobby.h). */
static const uint64_t waited_usec = 900 * USEC_PER_MSEC;

/* One run of the gate. */
typedef struct Gate {
        Command *command;
        const char *name;
        const Learned *learned; /* the size found for this start; NULL: none */
        uint64_t begun_usec;
        uint64_t deadline_usec; /* 0: not determined yet, see deadline_of() */
        bool names_timeout; /* sends the timeout, in place of which the daemon would use WaitTimeout= */
        bool was_silent;     /* logged once */
        uint64_t reset_usec; /* since when the daemon resets connections; 0: it does not */
        uint64_t pause_usec;
} Gate;

/* --timeout=, or WaitTimeout= of the instance as far as it can be read. The daemon knows that and answers at once if
 * the instance is ready, so the configuration is read only if it does not. */
static uint64_t deadline_of(Gate *gate) {
        if (gate->deadline_usec > 0)
                return gate->deadline_usec;
        const InstanceConfig *config = config_find(read_config(gate->command), gate->name);

        gate->deadline_usec = add_saturated(gate->begun_usec, config ? config->wait_timeout_usec
                                                                     : CONFIG_WAIT_TIMEOUT_USEC);
        return gate->deadline_usec;
}

/* Returns true and sets the exit code if the kernel's files show that the instance is ready; otherwise logs once that
 * the daemon is silent. */
static bool wait_for_silent_daemon(Gate *gate, int *ret_code) {
        if (pass_alone(gate->command, gate->name, ret_code))
                return true;
        if (!gate->was_silent)
                log_line(LOG_WARNING,
                         "hugepland does not answer, and by the kernel's files the pages of %s do "
                         "not stand yet: waiting for it; " DAEMON_REMEDY,
                         gate->name);
        gate->was_silent = true;
        return false;
}

static int print_answer(Command *command, const char *name, const DaemonReply *answer) {
        const json_t *reply = answer->parameters;
        const char *error = answer->error;
        StatusInstance instance;

        if (text_equals(error, MANAGER_ERROR_REFUSED))
                return print_refused(command, name, reply);
        if (text_equals(error, MANAGER_ERROR_NO_SUCH_INSTANCE)) {
                log_line(LOG_ERR, "no instance is called '%s'; see hugeplanctl status", name);
                return EXIT_NO_INSTANCE;
        }
        if (text_equals(error, MANAGER_ERROR_TIMED_OUT))
                return print_late(name, text_from_json(command->arena, reply, "reason"),
                                  text_from_json(command->arena, reply, "remedy"));
        if (error || status_instance_from_json(command->arena, json_object_get(reply, "instance"),
                                               &instance) < 0)
                return decide_alone(command, name, error ? error : "its answer makes no sense");
        gate_judge_inside(command, NULL, &instance);
        return tell(command, &instance);
}

/* Calls the daemon once. Returns 0 and sets the exit code; -ETIMEDOUT at the deadline; -ECONNRESET if the daemon has
 * closed the connection; another negative errno if it cannot be reached. */
static int ask_verdict(Gate *gate, int *ret_code) {
        CLEANUP(daemon_endp) DaemonCall *call = NULL;
        CLEANUP(daemon_reply_done) DaemonReply reply = {};
        uint64_t limit_usec = add_saturated(gate->begun_usec, at_once_usec);
        json_t *parameters = json_pack("{ss}", "instance", gate->name);

        if (gate->names_timeout && deadline_of(gate) != UINT64_MAX)
                json_object_set_new(parameters, "timeoutUSec",
                                    json_integer((json_int_t) MAX(
                                            deadline_left_usec(deadline_of(gate)), at_once_usec)));
        if (gate->learned)
                json_object_set_new(parameters, "learned", learned_to_json(gate->learned));
        if (gate->command->is_restart)
                json_object_set_new(parameters, "restart", json_true());
        int r = daemon_begin(gate->command, MANAGER_WAIT, parameters, false, &call);

        if (r < 0)
                return r;
        if (gate->deadline_usec == 0)
                r = daemon_await(call, limit_usec, &reply);
        if (gate->deadline_usec > 0 || r == -ETIMEDOUT || r == -EAGAIN)
                while ((r = daemon_await(call, add_saturated(deadline_of(gate), grace_usec),
                                         &reply)) == -EAGAIN) {
                        if (wait_for_silent_daemon(gate, ret_code))
                                return 0;
                        if (clock_now_usec() >= gate->deadline_usec)
                                return -ETIMEDOUT;
                }
        if (r == 0)
                *ret_code = print_answer(gate->command, gate->name, &reply);
        return r;
}

/* The time to wait begins at BEGUN_USEC. */
static int wait_for(Command *command, const char *name, const Learned *learned,
                    uint64_t begun_usec) {
        uint64_t called_usec = clock_now_usec();
        bool has_begun = called_usec - begun_usec > at_once_usec;
        Gate gate = {
                .command = command,
                .name = name,
                .learned = learned,
                .begun_usec = begun_usec,
                .deadline_usec =
                        command->has_timeout ? add_saturated(begun_usec, command->timeout_usec) : 0,
                .names_timeout = command->has_timeout || has_begun,
        };
        int code, r;

        while (called_usec = clock_now_usec(), (r = ask_verdict(&gate, &code)) < 0) {
                /* A daemon that is stopping or has too many clients resets connections, so the call is repeated. Resets
                 * of every call count as silence, unless the daemon has kept the call waiting for a place. */
                if (r == -ECONNRESET &&
                    (gate.reset_usec == 0 || clock_now_usec() - called_usec >= waited_usec))
                        gate.reset_usec = clock_now_usec();
                if ((r != -ECONNRESET && r != -ETIMEDOUT) || clock_now_usec() >= deadline_of(&gate))
                        break;
                bool is_reset = gate.reset_usec > 0 &&
                                clock_now_usec() - gate.reset_usec >= resets_borne_usec;

                if ((r == -ETIMEDOUT || is_reset) && wait_for_silent_daemon(&gate, &code))
                        return code;
                gate.names_timeout = true;
                daemon_pause(&gate.pause_usec, deadline_of(&gate));
        }
        if (r == -ETIMEDOUT && !command->is_daemon_silent)
                return print_late(name, NULL, NULL);
        return r < 0 ? decide_alone(command, name, daemon_error(r)) : code;
}

/* Waits for all instances within one timeout. Returns the first exit code that is not 0. */
static int wait_for_all(Command *command) {
        const Config *config = read_config(command);
        uint64_t begun_usec = clock_now_usec();
        int first = EXIT_DONE;

        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                int code = wait_for(command, instance->name, NULL, begun_usec);

                if (first == EXIT_DONE)
                        first = code;
        }
        const char *why;
        const Status *status = first == EXIT_DONE ? ask_status(command, &why) : NULL;

        /* All pages are reserved, but a unit was refused before. */
        if (status)
                VEC_FOREACH(problem, &status->problems.list)
                        if (text_equals(problem->id, problem_id(PROBLEM_GATE_REFUSED))) {
                                log_line(LOG_ERR, "%s", diag_format(command->arena, problem));
                                first = EXIT_FAILED;
                        }
        return first;
}

static int wait_for_one(Command *command, const char *name) {
        uint64_t begun_usec = clock_now_usec();
        Learned learned;
        /* Reports of other callers are not accepted, so they need not find the size out. */
        bool is_started = getenv("INVOCATION_ID") || command->is_restart;
        bool is_learned = is_started && learn_for_start(command, name, &learned);

        return wait_for(command, name, is_learned ? &learned : NULL, begun_usec);
}

int verb_wait(Command *command) {
        if (command->is_all == (command->n_arguments == 1)) {
                log_line(LOG_ERR, "wait takes the name of an instance, or --all");
                return EXIT_USAGE;
        }
        if (command->is_all && command->is_restart) {
                log_line(LOG_ERR,
                         "wait --restart takes the name of the instance that starts again");
                return EXIT_USAGE;
        }
        if (is_switched_off(command))
                return EXIT_DONE;
        progress_begin(command);
        return command->is_all ? wait_for_all(command)
                               : wait_for_one(command, command->arguments[0]);
}
