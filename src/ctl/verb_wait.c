/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate: lets a database start when its pages stand.
 *
 * Runs as ExecStartPre= of the database's unit, as the unit's own user. Where the size is found out before each start,
 * it does that first (learn/learn.h). It asks the daemon, and as long as that lives its word counts, however long it takes. Where it cannot be reached, the gate looks at the files itself, for a
 * database must not stay down because hugeplan is broken; where it is silent, and may yet come back
 * or be replaced, it does so only to let the database start. */
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

/* What the daemon gets on top of the time-out to answer that it is over. */
static const uint64_t grace_usec = 3 * USEC_PER_SEC;
/* For so long it may hang up on every call: it ends, or serves too many. */
static const uint64_t resets_borne_usec = 2500 * USEC_PER_MSEC;

/* The verdict, in the log of whoever runs the gate. */
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

/* The verdict; where pages were taken, those who hold some, in the log too. */
static int tell_with_page_users(Command *command, const Status *status,
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

                /* Other instances may hold what was reserved for them; more than that is somebody else's. */
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

/* The unit is about to start, so its pages must be available now, whoever reserved them. */
static void judge_start(Command *command, StatusInstance *instance) {
        if (instance->pages_wanted == 0)
                return;
        if (instance->lack.pages == 0) {
                instance->verdict = VERDICT_READY;
                instance->reason = (Reason){};
                return;
        }
        instance->verdict = instance->shortage == SHORTAGE_DEGRADE ? VERDICT_DEGRADED
                                                                   : VERDICT_REFUSED;
        instance->reason =
                (Reason){REASON_TAKEN,
                         arena_printf(command->arena, "%s of its pages are not free",
                                      format_count(command->arena, instance->lack.pages)),
                         DAEMON_REMEDY ", which reserves them"};
}

/* What the files say of the instance; false where there is none of that name. What cannot be read lets
 * nobody start (FAULT). */
static bool judge_alone(Command *command, const char *name, Status **ret_status,
                        StatusInstance *ret, ReadFault *ret_fault) {
        const InstanceConfig *described = config_find(read_config(command), name);

        if (!described)
                return false;
        /* Whether this is the unit's own gate, which is about to start. */
        bool is_starting = described->unit && unit_cgroup_is_own(command->root, described->unit);
        const Look *look = local_load_now(command, is_starting ? described : NULL);

        *ret_fault = look->fault;
        *ret_status = local_status(command, look, "no daemon");
        *ret = *status_find(*ret_status, name);
        if (is_starting && ret->verdict != VERDICT_INVALID)
                judge_start(command, ret);
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
        return tell_with_page_users(command, status, &instance);
}

/* While the daemon is silent: whether the instance's pages stand, which is then told, with the exit
 * code. What is not ready, is still worth waiting for. */
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

static int tell_refused(Command *command, const char *name, const json_t *reply) {
        StatusInstance instance = {
                .name = name,
                .verdict = VERDICT_REFUSED,
                .reason = {.text = text_from_json(command->arena, reply, "reason"),
                           .remedy = text_from_json(command->arena, reply, "remedy")},
        };
        const Status *now = NULL;
        CLEANUP(daemon_reply_done) DaemonReply status = {};

        /* A daemon of before an upgrade does not send it; the words are there all the same. */
        reason_from_id(text_from_json(command->arena, reply, "reasonId"), &instance.reason.kind);
        /* The verdict may be "invalid" or "lost"; the status tells, and has the figures. */
        if (daemon_ask(command, MANAGER_DESCRIBE, grace_usec, &status) == 0 && !status.error) {
                now = status_from_json(command->arena, status.parameters);
                const StatusInstance *known = now ? status_find(now, name) : NULL;

                if (known) {
                        /* The figures of the status, with the reason that the gate was given. */
                        Reason reason = instance.reason;

                        instance = *known;
                        instance.reason = reason;
                        /* Its pages stand, but are not free for it to take; or something has happened since. */
                        if (verdict_lets_start(known->verdict) || known->verdict == VERDICT_PENDING)
                                instance.verdict = VERDICT_REFUSED;
                }
        }
        return tell_with_page_users(command, now, &instance);
}

static int tell_late(const char *name, const char *reason, const char *remedy) {
        log_line(
                LOG_ERR,
                "%s: not decided before its time to wait was over%s%s%s%s; see hugeplanctl status %s",
                name, reason ? ": " : "", reason ? reason : "", remedy ? "; " : "",
                remedy ? remedy : "", name);
        return EXIT_TIMED_OUT;
}

/* So long for an answer until anything else is asked. */
static const uint64_t at_once_usec = 100 * USEC_PER_MSEC;

/* Who has no place is cut off after a second and more (ipc/varlink_lobby.h). */
static const uint64_t waited_usec = 900 * USEC_PER_MSEC;

/* The gate at work. */
typedef struct Gate {
        Command *command;
        const char *name;
        const Learned *learned; /* what was found out for this start; NULL: nothing was */
        uint64_t begun_usec;
        uint64_t deadline_usec; /* 0: nobody has asked for it yet, see deadline_of() */
        bool names_timeout;     /* the daemon would else take the instance's own */
        bool was_silent;        /* that is said once */
        uint64_t reset_usec;    /* since when it hangs up; 0: it does not */
        uint64_t pause_usec;
} Gate;

/* --timeout=, else the instance's WaitTimeout= as far as it can be read. The daemon knows that, and answers at
 * once where the pages stand: the files are read for it only where it does not. */
static uint64_t deadline_of(Gate *gate) {
        if (gate->deadline_usec > 0)
                return gate->deadline_usec;
        const InstanceConfig *config = config_find(read_config(gate->command), gate->name);

        gate->deadline_usec = add_saturated(gate->begun_usec, config ? config->wait_timeout_usec
                                                                     : CONFIG_WAIT_TIMEOUT_USEC);
        return gate->deadline_usec;
}

/* True, with the exit code, where the files suffice; what else there is to do about it is said once. */
static bool bear_silence(Gate *gate, int *ret_code) {
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

static int tell_answer(Command *command, const char *name, const DaemonReply *answer) {
        const json_t *reply = answer->parameters;
        const char *error = answer->error;
        StatusInstance instance;

        if (text_equals(error, MANAGER_ERROR_REFUSED))
                return tell_refused(command, name, reply);
        if (text_equals(error, MANAGER_ERROR_NO_SUCH_INSTANCE)) {
                log_line(LOG_ERR, "no instance is called '%s'; see hugeplanctl status", name);
                return EXIT_NO_INSTANCE;
        }
        if (text_equals(error, MANAGER_ERROR_TIMED_OUT))
                return tell_late(name, text_from_json(command->arena, reply, "reason"),
                                 text_from_json(command->arena, reply, "remedy"));
        if (error || status_instance_from_json(command->arena, json_object_get(reply, "instance"),
                                               &instance) < 0)
                return decide_alone(command, name, error ? error : "its answer makes no sense");
        gate_judge_inside(command, NULL, &instance);
        return tell(command, &instance);
}

/* One call of the daemon. 0 with the exit code; -ETIMEDOUT at the deadline; another negative errno
 * where there is no daemon, or it has hung up (-ECONNRESET). */
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
                        if (bear_silence(gate, ret_code))
                                return 0;
                        if (clock_now_usec() >= gate->deadline_usec)
                                return -ETIMEDOUT;
                }
        if (r == 0)
                *ret_code = tell_answer(gate->command, gate->name, &reply);
        return r;
}

/* The time to wait counts from BEGUN_USEC. */
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
                /* It takes no connections, or hangs up: it ends, or serves too many, and then it is called again. One
                 * that hangs up on every call is as good as silent; one that has let it wait for a place lives. */
                if (r == -ECONNRESET &&
                    (gate.reset_usec == 0 || clock_now_usec() - called_usec >= waited_usec))
                        gate.reset_usec = clock_now_usec();
                if ((r != -ECONNRESET && r != -ETIMEDOUT) || clock_now_usec() >= deadline_of(&gate))
                        break;
                bool is_reset = gate.reset_usec > 0 &&
                                clock_now_usec() - gate.reset_usec >= resets_borne_usec;

                if ((r == -ETIMEDOUT || is_reset) && bear_silence(&gate, &code))
                        return code;
                gate.names_timeout = true;
                daemon_pause(&gate.pause_usec, deadline_of(&gate));
        }
        if (r == -ETIMEDOUT && !command->is_daemon_silent)
                return tell_late(name, NULL, NULL);
        return r < 0 ? decide_alone(command, name, daemon_error(r)) : code;
}

/* Every instance, all of them at the same time; the exit code is the first that is not 0. */
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

        /* Their pages are there, but some unit was not let start when they were not. */
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
        /* Nobody else is believed, and need not ask. */
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
