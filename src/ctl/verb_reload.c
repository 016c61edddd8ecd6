/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `reload` and `release`: changes made by the daemon. */
#include "base/text.h"
#include "ctl/learn/learn.h"
#include "ctl/observe/progress.h"
#include "ctl/verbs.h"
#include "ipc/manager_interface.h"
#include "model/exit_code.h"
#include "plan/changes.h"
#include "plan/host_plan.h"
#include "render/status_json.h"
#include "runtime/log.h"

#include <stdio.h>

static void print_pools(Command *command, const json_t *pools) {
        PoolChange change;

        for (size_t i = 0; i < json_array_size(pools); i++)
                if (pool_change_from_json(json_array_get(pools, i), &change) == 0)
                        puts(pool_change_format(command->arena, &change));
}

static void print_writes(Command *command, const json_t *writes) {
        for (size_t i = 0; i < json_array_size(writes); i++) {
                json_t *item = json_array_get(writes, i), *before;
                HostWrite write;

                if (json_unpack(item, "{ss so ss}", "path", &write.path, "before", &before, "value",
                                &write.value) < 0)
                        continue;
                write.before = json_string_value(before);
                puts(text_printable(command->arena, host_write_format(command->arena, &write)));
        }
}

static int print_reload(Command *command, json_t *reply) {
        const json_t *instances = json_object_get(reply, "instances"), *item;
        const json_t *changes = json_object_get(reply, "changes");
        Change change;
        size_t i;

        if (command->json != JSON_OFF) {
                print_json(command, json_incref(reply));
                return EXIT_DONE;
        }
        json_array_foreach(changes, i, item)
                if (change_from_json(command->arena, item, &change) == 0)
                        puts(change_format(command->arena, &change));
        print_pools(command, json_object_get(reply, "pools"));
        print_writes(command, json_object_get(reply, "writes"));
        json_array_foreach(instances, i, item) {
                StatusInstance instance;

                if (status_instance_from_json(command->arena, item, &instance) == 0 &&
                    instance.verdict != VERDICT_READY)
                        puts(render_verdict(command->arena, &instance));
        }
        return EXIT_DONE;
}

static int fail_reload(Command *command, const DaemonReply *reply) {
        if (text_equals(reply->error, VARLINK_ERROR_PERMISSION_DENIED)) {
                log_line(LOG_ERR, "only root may reload hugeplan");
                return EXIT_FAILED;
        }
        bool is_refused = text_equals(reply->error, MANAGER_ERROR_RELOAD_REFUSED);

        if (!is_refused && !text_equals(reply->error, MANAGER_ERROR_CONFIG_INVALID)) {
                log_line(LOG_ERR, "hugepland answers %s", reply->error);
                return EXIT_FAILED;
        }
        Diags problems =
                problems_from_json(command->arena, json_object_get(reply->parameters, "problems"));

        if (command->json != JSON_OFF)
                print_json(command, json_incref(reply->parameters));
        fputs(render_problems(command->arena, &problems, &command->render), stderr);
        log_line(LOG_ERR, is_refused ? "the reload is refused, and nothing was changed; "
                                       "'hugeplanctl reload --force' does it all the same"
                                     : "the configuration has mistakes; the previous plan stays in "
                                       "effect");
        return is_refused ? EXIT_NOT_READY : EXIT_FAILED;
}

static int fail_unreachable(int error) {
        log_line(LOG_ERR, "hugepland cannot be reached (%s); " DAEMON_REMEDY, daemon_error(error));
        return EXIT_FAILED;
}

int verb_reload(Command *command) {
        CLEANUP(daemon_reply_done) DaemonReply reply = {};

        command->is_changing = true;
        learn_for_reload(command);
        progress_begin(command);
        int r = daemon_call(command, MANAGER_RELOAD, json_pack("{sb}", "force", command->is_forced),
                            UINT64_MAX, &reply);

        return r < 0         ? fail_unreachable(r)
               : reply.error ? fail_reload(command, &reply)
                             : print_reload(command, reply.parameters);
}

/* ---- release ---- */

/* Prints the sizes read before and after; a running unit keeps its pages. */
static int print_release(Command *command, const json_t *reply) {
        const json_t *pools = json_object_get(reply, "pools");
        StatusInstance instance;

        if (command->json != JSON_OFF) {
                print_json(command, json_incref((json_t *) reply));
                return EXIT_DONE;
        }
        if (status_instance_from_json(command->arena, json_object_get(reply, "instance"),
                                      &instance) < 0)
                return EXIT_DONE;
        printf("%s: released; 'hugeplanctl reload' has its pages reserved again\n", instance.name);
        if (instance.until_restart)
                printf("%s keeps the %s it runs with until it stops\n",
                       instance.until_restart->unit,
                       format_page_count(command->arena, instance.until_restart->pages,
                                         instance.until_restart->page_size_bytes));
        else if (json_array_size(pools) == 0)
                puts("no page was given back");
        print_pools(command, pools);
        return EXIT_DONE;
}

int verb_release(Command *command) {
        CLEANUP(daemon_reply_done) DaemonReply reply = {};

        command->is_changing = true;
        int r = daemon_call(command, MANAGER_RELEASE,
                            json_pack("{ss}", "instance", command->arguments[0]), UINT64_MAX,
                            &reply);

        if (r < 0)
                return fail_unreachable(r);
        if (!reply.error)
                return print_release(command, reply.parameters);
        if (text_equals(reply.error, MANAGER_ERROR_NO_SUCH_INSTANCE))
                return fail_no_instance(command, command->arguments[0], read_config(command));
        if (text_equals(reply.error, VARLINK_ERROR_PERMISSION_DENIED))
                log_line(LOG_ERR, "only root may release pages");
        else
                log_line(LOG_ERR, "hugepland answers %s", reply.error);
        return EXIT_FAILED;
}
