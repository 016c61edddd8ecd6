/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate: lets a database start when its pages are reserved.
 *
 * The gate runs as ExecStartPre= of the database's unit, as the unit's user. With Memory=auto it first finds the size
 * out (learn/learn.h). It calls the daemon, whose answer counts as long as the daemon lives, however long it takes. If
 * the daemon cannot be reached, the gate decides from the kernel's files, because a database must not stay down because
 * hugeplan is broken. If the daemon is silent, and may come back or be replaced, the gate decides from the files only
 * to let the database start. */
#include "base/size.h"
#include "base/text.h"
#include "config/config.h"
#include "ctl/learn/learn.h"
#include "ctl/verbs.h"
#include "demand/learned.h"
#include "host/config_load.h"
#include "host/host_sources.h"
#include "host/mounts.h"
#include "host/probe.h"
#include "inspect/pages/page_users.h"
#include "inspect/process_files.h"
#include "ipc/manager_interface.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "model/problem.h"
#include "plan/host_plan.h"
#include "render/status_json.h"
#include "runtime/clock.h"
#include "runtime/deadline.h"
#include "runtime/log.h"
#include "status/json_value.h"
#include "units/memory_limit.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The time that the daemon has after the timeout to answer that it has passed. */
static const uint64_t grace_usec = 3 * USEC_PER_SEC;
/* How long connection resets are tolerated: the daemon is stopping, or has too many clients. */
static const uint64_t resets_borne_usec = 2500 * USEC_PER_MSEC;

/* Warns in the unit's log if the given size of INSTANCE (Memory=, Pages=) is too small, by the answer of the server
 * before this start or by what the unit has mapped with these settings. */
static void warn_of_size(Command *command, const StatusInstance *instance) {
        Arena *arena = command->arena;
        const InstanceConfig named = {.file = instance->file};

        /* The files named after the instance come first, so that a gate need not read all others. */
        if (!instance->file || instance->pages_wanted == 0 ||
            !root_exists(command->root, learned_path(arena, &named)))
                return;
        const InstanceConfig *config = config_find(
                config_load_called(command->root, arena, command->draft, instance->name),
                instance->name);

        if (config && !config->refusal && config->memory_kind == MEMORY_AUTO)
                return;
        const Config *all = read_config(command);

        config = config_find(all, instance->name);
        /* What the server takes of several instances' pages is not known. */
        if (!config || config->refusal || config->memory_kind == MEMORY_AUTO ||
            (config->unit && !index_find_only(all->by_unit, config->unit)))
                return;
        const Learned *learned = &config->learned;
        uint64_t size_bytes = instance->page_size_bytes;
        uint64_t asked = learned->is_exact ? page_counts_find(&learned->pages, size_bytes) : 0;
        uint64_t seen = seen_is_known(config) ? page_counts_find(&learned->seen.pages, size_bytes)
                                              : 0;
        /* With other settings the database may take less now than was seen; the answer of the server decides. */
        uint64_t pages = asked > 0 ? asked : seen;
        const char *page_size = format_page_size(arena, size_bytes);

        if (pages <= instance->pages_wanted)
                return;
        /* The mapped pages may be fewer than the database takes now, so the warning does not recommend that figure. */
        log_line(
                LOG_WARNING,
                "%s: too small: %s %s, and its configured size is %s; it does not start, or starts without huge pages; write Memory=auto%s",
                instance->name,
                asked > 0 ? arena_printf(arena, "%s itself requires", config->engine->title)
                          : "it had mapped",
                format_page_count(arena, pages, size_bytes),
                format_count(arena, instance->pages_wanted),
                asked > 0 ? arena_printf(arena, ", or Pages=%s:%" PRIu64, page_size, pages) : "");
}

enum { USERS_NAMED_MAX = 8 };

/* Names the units and processes that hold pages in the log. */
static void name_page_users(Command *command, const Status *status,
                            const StatusInstance *instance) {
        size_t n = 0;
        const PageUsers *page_users = page_users_find(
                command->root, command->arena, probe_topology(command->root, command->arena, NULL));

        VEC_FOREACH(user, &page_users->list) {
                const StatusInstance *of = status_find_unit(status, user->unit);
                bool is_of_size = user->page_size_bytes == 0 || instance->page_size_bytes == 0 ||
                                  user->page_size_bytes == instance->page_size_bytes;

                /* Units of other instances are named only if they hold more than was reserved for them. */
                if (of && (text_equals(of->unit, instance->unit) ||
                           page_user_kept_pages(user) <= of->pages_granted))
                        continue;
                if (is_of_size && n++ < USERS_NAMED_MAX)
                        log_line(LOG_NOTICE, "%s: used by %s", instance->name,
                                 page_user_format(command->arena, user));
        }
}

/* Writes the verdict to the unit's log and, with a STATUS, who is in the way if pages were taken. Returns the exit code. */
static int log_verdict(Command *command, const Status *status, const StatusInstance *instance) {
        const char *line = render_verdict(command->arena, instance);
        bool may_start = verdict_lets_start(instance->verdict);

        warn_of_size(command, instance);
        if (command->json != JSON_OFF)
                print_json(command, status_instance_to_json(instance));
        else if (instance->verdict == VERDICT_READY)
                puts(line);
        if (instance->verdict != VERDICT_READY)
                log_line(may_start ? LOG_WARNING : LOG_ERR, "%s", line);
        if (status && !may_start &&
            (instance->verdict == VERDICT_LOST || instance->reason.kind == REASON_TAKEN ||
             instance->reason.kind == REASON_POOL_SHRANK))
                name_page_users(command, status, instance);
        return may_start ? EXIT_DONE : EXIT_FAILED;
}

/* ---- within the unit ---- */

static MemoryUse use_of(const StatusInstance *instance, const char *group) {
        return (MemoryUse){instance->name, group, instance->page_size_bytes,
                           mul_saturated(instance->pages_wanted, instance->page_size_bytes)};
}

/* A limit of a control group that the huge pages exceed. STATUS has the other instances; NULL: the daemon is queried. */
static Reason judge_limits(Command *command, const Status *status, const StatusInstance *instance,
                           const char *own_group) {
        Arena *arena = command->arena;
        HostSources sources = host_sources(command->root, arena);
        const char *hierarchy = unit_cgroup_hierarchy(command->root);
        MemoryUses uses = {};
        const MemoryLimits limits = memory_limits_read(
                arena, &sources.sources, hierarchy, own_group, instance->page_size_bytes,
                memory_limits_count_huge_pages(arena, &sources.sources));

        *vec_push(arena, &uses) = use_of(instance, own_group);
        if (!memory_limits_apply(&limits, uses.items) || instance->pages_wanted == 0)
                return (Reason){};
        if (!status)
                status = ask_status(command, ANSWER_USEC, NULL);
        /* The others of its unit, and running ones. */
        for (size_t i = 0; status && i < status->n_instances; i++) {
                const StatusInstance *other = &status->instances[i];
                const char *group = own_group;

                if (!other->unit || text_equals(other->name, instance->name))
                        continue;
                if (!text_equals(other->unit, instance->unit))
                        group = unit_cgroup_find(command->root, arena, other->unit);
                if (group && unit_cgroup_group_is_populated(command->root, group))
                        *vec_push(arena, &uses) = use_of(other, group);
        }
        return memory_limits_judge(arena, &limits, &uses);
}

/* The rule of the kernel's can_do_hugetlb_shm(), for this process, which has the credentials of the database. */
static bool may_have_segments(const Root *root, Arena *arena, uint64_t group) {
        char *text = NULL, *line;
        uint64_t value;

        if (root_read_attribute(root, arena, PATH_SELF_STATUS, &text) < 0)
                return true;
        while ((line = strsep(&text, "\n"))) {
                const char *rest = line, *name = text_next_word(arena, &rest, ":\t ");

                TEXT_FOREACH(word, arena, rest, "\t ")
                        if (text_equals(name, "CapEff")
                                    ? parse_hex_u64(word, &value) == 0 &&
                                              value & (UINT64_C(1) << CAP_IPC_LOCK)
                                    : TEXT_IS_ANY(name, "Gid", "Groups") &&
                                              parse_u64(word, &value) == 0 && value == group)
                                return true;
        }
        return false;
}

/* A missing right to System V segments, if the group did not exist when the drop-in was written (units/dropin.h). */
static Reason judge_right(Command *command, const StatusInstance *instance) {
        Arena *arena = command->arena;
        HostSources sources = host_sources(command->root, command->arena);
        const Accounts groups = accounts_read_groups(arena, &sources.sources);

        if (account_find_group(arena, &groups, NAME_HUGETLB_GROUP))
                return (Reason){};
        const InstanceConfig *config = config_find(read_config(command), instance->name);

        if (!config || !instance_needs_group(config))
                return (Reason){};
        const Topology *topology = probe_topology(command->root, arena, NULL);

        if (topology_kernel_is_before_5_16(topology) ||
            may_have_segments(command->root, arena, topology->limits.shm_group))
                return (Reason){};
        return reason_make(arena, REASON_SHM_GROUP_MISSING, SHM_GROUP_REMEDY,
                           "there is no group '" NAME_HUGETLB_GROUP
                           "', without which the kernel refuses the System V segments of huge "
                           "pages that %s describes",
                           config->file);
}

/* Makes INSTANCE refused, or degraded with Shortage=degrade, if a check of the starting unit fails that is possible only
 * from within the unit. */
static void judge_inside(Command *command, const Status *status, StatusInstance *instance) {
        const char *group = instance->unit
                                    ? unit_cgroup_own(command->root, command->arena, instance->unit)
                                    : NULL;

        if (!group || instance->verdict > VERDICT_DEGRADED)
                return;
        Reason reason = judge_right(command, instance);

        if (reason.kind == REASON_NONE)
                reason = judge_limits(command, status, instance, group);
        if (reason.kind == REASON_NONE)
                return;
        instance->verdict = instance->shortage == SHORTAGE_DEGRADE ? VERDICT_DEGRADED
                                                                   : VERDICT_REFUSED;
        instance->reason = reason;
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
        const Look *look = local_load(command, false, is_starting ? described : NULL);

        *ret_fault = look->fault;
        *ret_status = local_status(command, look, "no daemon");
        *ret = *status_find(*ret_status, name);
        if (is_starting)
                status_judge_start(command->arena, plan_find(look->plan, name), START_BY_ITSELF,
                                   NULL, ret);
        const Reason no_mount = mounts_judge_start(command->root, command->arena, described,
                                                   is_starting ? NULL : &ret->reason);

        if (verdict_lets_start(ret->verdict) && no_mount.kind != REASON_NONE) {
                ret->reason = no_mount;
                ret->verdict = VERDICT_REFUSED;
        }
        judge_inside(command, *ret_status, ret);
        return true;
}

static int decide_alone(Command *command, const char *name, const char *why) {
        const Config *config = read_config(command);
        StatusInstance instance;
        ReadFault fault;
        Status *status;

        if (config->is_unlisted && !config_find(config, name))
                return log_failure(EXIT_FAILED, "%s: the configuration cannot be read: %s", name,
                                   config->problems.list.items[config->problems.list.n - 1].text);
        if (!judge_alone(command, name, &status, &instance, &fault))
                return fail_no_instance(command, name, config);
        if (fault.error < 0)
                return log_failure(EXIT_FAILED, "%s: %s cannot be read: %s", name, fault.path,
                                   strerror(-fault.error));
        log_line(LOG_WARNING, "hugepland cannot be reached (%s); using the kernel's files instead",
                 why);
        return log_verdict(command, status, &instance);
}

/* ---- with the daemon ---- */

static int print_refused(Command *command, const char *name, const json_t *reply) {
        StatusInstance instance = {
                .name = name,
                .verdict = VERDICT_REFUSED,
                .reason = {.text = text_from_json(command->arena, reply, "reason"),
                           .remedy = text_from_json(command->arena, reply, "remedy")},
        };

        reason_from_id(text_from_json(command->arena, reply, "reasonId"), &instance.reason.kind);
        /* The status has the verdict, which may be "invalid" or "lost", and the figures. */
        const Status *now = ask_status(command, grace_usec, NULL);
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
        return log_verdict(command, now, &instance);
}

static int print_late(const char *name, const char *reason, const char *remedy) {
        return log_failure(
                EXIT_TIMED_OUT,
                "%s: not decided before its time to wait had passed%s%s%s%s; see hugeplanctl status %s",
                name, reason ? ": " : "", reason ? reason : "", remedy ? "; " : "",
                remedy ? remedy : "", name);
}

/* How long an answer is waited for before the configuration is read. */
static const uint64_t at_once_usec = 100 * USEC_PER_MSEC;

/* A client without a place is disconnected after a second or more (ipc/varlink_lobby.c). */
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

/* Returns true, writes the verdict to the log and sets the exit code if the instance is ready by the kernel's files. An
 * instance that is not ready waits on, and the log has once that the daemon is silent. */
static bool wait_for_silent_daemon(Gate *gate, int *ret_code) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Command now = *gate->command;
        StatusInstance instance;
        ReadFault fault;
        Status *status;

        now.arena = arena;
        if (judge_alone(&now, gate->name, &status, &instance, &fault) && fault.error == 0 &&
            (instance.verdict == VERDICT_READY || instance.verdict == VERDICT_ASIDE)) {
                log_line(LOG_WARNING,
                         "hugepland does not answer; by the kernel's files %s may start",
                         gate->name);
                *ret_code = log_verdict(&now, NULL, &instance);
                return true;
        }
        if (!gate->was_silent)
                log_line(LOG_WARNING,
                         "hugepland does not answer, and by the kernel's files the pages of "
                         "%s are not available yet: waiting for hugepland; " DAEMON_REMEDY,
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
        if (text_equals(error, MANAGER_ERROR_NO_SUCH_INSTANCE))
                return log_failure(EXIT_NO_INSTANCE,
                                   "no instance is named '%s'; if its file was removed, run "
                                   "'systemctl daemon-reload'",
                                   name);
        if (text_equals(error, MANAGER_ERROR_TIMED_OUT))
                return print_late(name, text_from_json(command->arena, reply, "reason"),
                                  text_from_json(command->arena, reply, "remedy"));
        if (error || status_instance_from_json(command->arena, json_object_get(reply, "instance"),
                                               &instance) < 0)
                return decide_alone(command, name, error ? error : "its answer is not valid");
        judge_inside(command, NULL, &instance);
        return log_verdict(command, NULL, &instance);
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
        const Status *status = first == EXIT_DONE ? ask_status(command, ANSWER_USEC, NULL) : NULL;

        /* All pages are reserved, but a unit was refused before. */
        if (status)
                VEC_FOREACH(problem, &status->problems.list)
                        if (text_equals(problem->id, problem_id(PROBLEM_GATE_REFUSED))) {
                                log_line(LOG_ERR, "%s", diag_format(command->arena, problem));
                                first = EXIT_FAILED;
                        }
        return first;
}

int verb_wait(Command *command) {
        Learned learned;

        if (command->is_all == (command->n_arguments == 1))
                return log_failure(EXIT_USAGE, "wait takes the name of an instance, or --all");
        if (command->is_all && command->is_restart)
                return log_failure(EXIT_USAGE,
                                   "wait --restart takes the name of the instance that restarts");
        if (log_aside(command, LOG_NOTICE))
                return EXIT_DONE;
        progress_begin(command);
        if (command->is_all)
                return wait_for_all(command);
        const char *name = command->arguments[0];
        uint64_t begun_usec = clock_now_usec();
        /* Reports of other callers are not accepted, so they need not find the size out. */
        bool is_learned = (getenv("INVOCATION_ID") || command->is_restart) &&
                          learn_for_start(command, name, &learned);

        return wait_for(command, name, is_learned ? &learned : NULL, begun_usec);
}
