/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `status`: the status of the daemon, or one made from the files if the daemon cannot be reached. */
#include "base/json.h"
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "host/probe.h"
#include "inspect/pages/page_users.h"
#include "ipc/manager_interface.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "model/problem.h"
#include "plan/idle.h"
#include "render/status_json.h"
#include "render/views.h"
#include "runtime/clock.h"
#include "runtime/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The fields of an instance in a row. */
static const char instance_columns[] =
        "name|verdict|outcome|unit|engine|>pageSizeBytes|>pagesWanted|>pagesGranted|nodes|"
        ">priority|shortage|running|reasonId";

static int print_status(Command *command, const Status *status, const Config *config) {
        Arena *arena = command->arena;
        const char *name = command->n_arguments == 1 ? command->arguments[0] : NULL;
        const StatusInstance *instance = status_find(status, name);

        if (name && !instance)
                return fail_no_instance(command, name, config);
        if (command->output != OUTPUT_TEXT) {
                print_columns(command,
                              ARRAY_TO_JSON(each, name ? instance : status->instances,
                                            name ? 1 : status->n_instances,
                                            status_instance_to_json(each)),
                              instance_columns);
        } else if (command->json != JSON_OFF) {
                print_json(command,
                           name ? status_instance_to_json(instance) : status_seen_to_json(status));
        } else if (name) {
                fputs(render_status_instance(arena, status, instance, &command->render), stdout);
        } else {
                /* The first look reads a host's units and databases: for a person, not for programs that poll. */
                bool may_look = isatty(STDOUT_FILENO) || !root_is_host(command->root);
                HostView view = {};
                bool has_looked = !command->is_watching && may_look &&
                                  first_look_add(command, status, &view);

                fputs(render_status(arena, status, &command->render), stdout);
                if (has_looked)
                        fputs(render_first_look(arena, &view, &command->render), stdout);
                else if (!may_look && status->n_instances == 0)
                        puts("\nNext: hugeplanctl import     find the databases of this host");
        }
        return (name ? instance->verdict : status->verdict) == VERDICT_READY ? EXIT_DONE
                                                                             : EXIT_NOT_READY;
}

/* Prints the daemon's next message. Returns a negative errno if there is none. */
static int watch_next(const Command *command, DaemonCall *call) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(daemon_reply_done) DaemonReply reply = {};
        Command now = *command;
        int r = daemon_await(call, UINT64_MAX, &reply);

        now.arena = arena;
        Status *status = r >= 0 && !reply.error ? status_from_json(arena, reply.parameters) : NULL;

        if (!status)
                return r < 0 ? r : -EPROTO;
        add_outcomes(&now, status);
        if (command->json == JSON_OFF)
                puts(journal_format_moment(arena, clock_read_usec(CLOCK_REALTIME)));
        print_status(&now, status, NULL);
        if (command->json == JSON_OFF)
                putchar('\n');
        fflush(stdout);
        return 0;
}

/* Calls the daemon again after the connection was reset. */
static int watch_status(Command *command) {
        uint64_t deadline_usec = 0, pause_usec = 0;
        bool has_sent;
        int r;

        if (log_aside(command, LOG_ERR))
                return EXIT_FAILED;
        do {
                has_sent = false;
                DaemonCall *call = NULL;

                r = daemon_begin(command, MANAGER_DESCRIBE, NULL, true, &call);
                while (r >= 0) {
                        r = watch_next(command, call);
                        has_sent = has_sent || r >= 0;
                }
                daemon_endp(&call);
                if (has_sent || deadline_usec == 0) {
                        deadline_usec = clock_now_usec() + ANSWER_USEC;
                        pause_usec = 0;
                }
        } while (r == -ECONNRESET && daemon_pause(&pause_usec, deadline_usec));
        return log_failure(EXIT_FAILED, "hugepland cannot be reached (%s); " DAEMON_REMEDY,
                           daemon_error(r));
}

static const PageUsers *find_all_page_users(Command *command) {
        return page_users_find(command->root, command->arena,
                               probe_topology(command->root, command->arena, NULL));
}

/* Adds the users of pages that hugeplan has added and that no instance needs. */
static void add_held(Command *command, Status *status) {
        const LookInput input = {.root = command->root, .config = read_config(command)};
        const Plan *plan = look_make(command->arena, &input)->plan;

        if (!ARRAY_ANY(pool, plan->pools, plan->n_pools,
                       plan_held_by_others(plan, pool->page_size_bytes) > 0))
                return;
        const PageUsers *users = status->page_users ? status->page_users
                                                    : find_all_page_users(command);

        VEC_FOREACH(user, &users->list) {
                uint64_t pages = MIN(plan_held_by_others(plan, user->page_size_bytes),
                                     page_user_kept_pages(user));

                if (pages == 0 || (!user->unit && user->pid == 0) ||
                    ARRAY_ANY(instance, status->instances, status->n_instances,
                              instance->unit ? text_equals(instance->unit, user->unit)
                                             : instance->page_size_bytes == user->page_size_bytes))
                        continue;
                Diag held = page_user_held(command->arena, user, pages);

                held.severity = SEVERITY_NOTICE;
                held.id = problem_id(PROBLEM_PAGES_KEPT);
                diags_add(&status->problems, &held);
        }
}

int verb_status(Command *command) {
        const Config *config;

        if (command->is_plugin &&
            (command->is_watching || command->is_all || command->json != JSON_OFF)) {
                puts("HUGEPLAN UNKNOWN - --nagios goes with none of --watch, --all and --json");
                return NAGIOS_UNKNOWN;
        }
        if (command->is_watching)
                return watch_status(command);
        if (command->is_all && command->n_arguments == 1)
                return log_failure(EXIT_USAGE, "status takes the name of an instance, or --all");
        command->is_brief = command->n_arguments == 0 && !command->is_plugin &&
                            command->json == JSON_OFF && command->output == OUTPUT_TEXT;
        Status *status = status_now(command, &config);

        /* Only on request, because there may be thousands of processes. */
        if (command->is_all)
                status->page_users = find_all_page_users(command);
        /* A unit may use huge pages whose instance was removed. */
        if (command->n_arguments == 0 && !command->is_plugin &&
            ARRAY_ANY(pool, status->pools, status->n_pools,
                      pool->foreign_pages > 0 && pool->free_pages < pool->total_pages))
                add_held(command, status);
        add_outcomes(command, status);
        if (!command->is_plugin)
                return print_status(command, status, config);
        /* Any fault is UNKNOWN for a plugin, because other codes are a verdict on the databases. */
        const char *name = command->n_arguments == 1 ? command->arguments[0] : NULL;
        const StatusInstance *instance = status_find(status, name);
        const ReadFault fault = root_any_fault(command->root, command->arena);
        const char *why = NULL, *line;

        if (fault.error < 0)
                why = arena_printf(command->arena, "%s cannot be read: %s", fault.path,
                                   strerror(-fault.error));
        else if (name && !instance)
                why = arena_printf(command->arena, "no instance is named '%s'", name);
        int state = (int) render_nagios(command->arena, status, instance, why, &line);

        fputs(line, stdout);
        return state;
}
