/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `reload` and `release`: changes made by the daemon; and `plan`: what a reload would write or why it would be refused,
 * which writes nothing. */
#include "base/text.h"
#include "ctl/learn/learn.h"
#include "ctl/verbs.h"
#include "ipc/manager_interface.h"
#include "ipc/varlink_call.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "plan/changes.h"
#include "render/status_json.h"
#include "render/views.h"
#include "runtime/log.h"
#include "status/pending.h"

#include <stdio.h>

static void print_pools(Command *command, const json_t *pools) {
        PoolChange change;

        for (size_t i = 0; i < json_array_size(pools); i++)
                if (pool_change_from_json(json_array_get(pools, i), &change) == 0)
                        puts(pool_change_format(command->arena, &change));
}

static void print_reload(Command *command, json_t *reply) {
        const json_t *changes = json_object_get(reply, "changes"), *before, *item;
        const json_t *writes = json_object_get(reply, "writes");
        const json_t *instances = json_object_get(reply, "instances");
        size_t i;

        json_array_foreach(changes, i, item) {
                Change change;

                if (change_from_json(command->arena, item, &change) == 0)
                        puts(change_format(command->arena, &change));
        }
        print_pools(command, json_object_get(reply, "pools"));
        json_array_foreach(writes, i, item) {
                const char *path, *value;

                if (json_unpack((json_t *) item, "{s:s s:o s:s}", "path", &path, "before", &before,
                                "value", &value) < 0)
                        continue;
                const char *was = json_is_string(before) ? json_string_value(before) : "not known";

                puts(text_printable(command->arena, arena_printf(command->arena, "%s: %s -> %s",
                                                                 path, was, value)));
        }
        json_array_foreach(instances, i, item) {
                StatusInstance instance;

                if (status_instance_from_json(command->arena, item, &instance) == 0 &&
                    instance.verdict != VERDICT_READY)
                        puts(render_verdict(command->arena, &instance));
        }
}

/* Prints the sizes read before and after; a running unit keeps its pages. */
static void print_release(Command *command, json_t *reply) {
        const json_t *pools = json_object_get(reply, "pools");
        StatusInstance instance;

        if (status_instance_from_json(command->arena, json_object_get(reply, "instance"),
                                      &instance) < 0)
                return;
        const StatusHold *until = instance.until_restart;

        printf("%s: released; 'hugeplanctl reload' reserves its pages again\n", instance.name);
        if (until)
                printf("%s keeps the %s it runs with until it stops\n", until->unit,
                       format_page_count(command->arena, until->pages, until->page_size_bytes));
        else if (json_array_size(pools) == 0)
                puts("no page was given back");
        print_pools(command, pools);
}

/* Has the daemon make a change, which PRINT shows. Returns the exit code; -1 if *RET has an error. */
static int change(Command *command, const char *method, json_t *parameters,
                  void (*print)(Command *command, json_t *reply), DaemonReply *ret) {
        int r = daemon_call(command, method, parameters, UINT64_MAX, ret);

        if (r < 0)
                return log_failure(EXIT_FAILED, "hugepland cannot be reached (%s); " DAEMON_REMEDY,
                                   daemon_error(r));
        if (ret->error)
                return -1;
        if (command->json != JSON_OFF)
                print_json(command, json_incref(ret->parameters));
        else
                print(command, ret->parameters);
        return EXIT_DONE;
}

static int fail_change(const DaemonReply *reply) {
        return text_equals(reply->error, VARLINK_ERROR_PERMISSION_DENIED)
                       ? log_failure(EXIT_FAILED, "only root may do this")
                       : log_failure(EXIT_FAILED, "hugepland answers %s", reply->error);
}

static int fail_reload(Command *command, const DaemonReply *reply) {
        bool is_refused = text_equals(reply->error, MANAGER_ERROR_RELOAD_REFUSED);

        if (!is_refused && !text_equals(reply->error, MANAGER_ERROR_CONFIG_INVALID))
                return fail_change(reply);
        Diags problems =
                problems_from_json(command->arena, json_object_get(reply->parameters, "problems"));

        if (command->json != JSON_OFF)
                print_json(command, json_incref(reply->parameters));
        fputs(render_problems(command->arena, &problems, false, &command->render), stderr);
        log_line(LOG_ERR, is_refused
                                  ? "the reload is refused, and nothing was changed; 'hugeplanctl "
                                    "reload --force' applies it anyway"
                                  : "the configuration has mistakes; the previous plan stays in "
                                    "effect");
        return is_refused ? EXIT_NOT_READY : EXIT_FAILED;
}

int verb_reload(Command *command) {
        CLEANUP(daemon_reply_done) DaemonReply reply = {};

        if (log_aside(command, LOG_ERR))
                return EXIT_FAILED;
        command->is_changing = true;
        learn_for_reload(command);
        progress_begin(command);
        int code = change(command, MANAGER_RELOAD, json_pack("{sb}", "force", command->is_forced),
                          print_reload, &reply);

        return code >= 0 ? code : fail_reload(command, &reply);
}

int verb_release(Command *command) {
        CLEANUP(daemon_reply_done) DaemonReply reply = {};
        const char *name = command->arguments[0];

        if (log_aside(command, LOG_ERR))
                return EXIT_FAILED;
        command->is_changing = true;
        int code = change(command, MANAGER_RELEASE, json_pack("{ss}", "instance", name),
                          print_release, &reply);

        if (code >= 0)
                return code;
        return text_equals(reply.error, MANAGER_ERROR_NO_SUCH_INSTANCE)
                       ? fail_no_instance(command, name, read_config(command))
                       : fail_change(&reply);
}

/* ---- plan ---- */

int verb_plan(Command *command) {
        Arena *arena = command->arena;
        const Look *look = local_load(command, true, NULL);

        if (look->fault.error < 0)
                return EXIT_FAILED; /* the caller logs the fault */
        log_aside(command, LOG_NOTICE);
        Diags problems = diags_in(arena);
        const char *refusal = NULL;
        /* Only a running daemon refuses a reload; a daemon that starts reserves as much as it can. */
        const Status *now = ask_status(command, ANSWER_USEC, NULL);

        if (now && diags_count(&look->config->problems, SEVERITY_ERROR) > 0)
                refusal = "A reload would be refused: the configuration has mistakes.";
        else if (now)
                falls_find(now, look_plan_restarted(arena, command->root, look), look->plan,
                           &problems);
        if (problems.list.n > 0)
                refusal = "A reload would be refused; see 'hugeplanctl reload --force'.";
        bool is_met = !refusal && plan_count_changed(look->plan) == 0 && look->host.writes.n == 0 &&
                      !ARRAY_ANY(instance, look->plan->instances, look->plan->n_instances,
                                 plan_reason(instance)->kind != REASON_NONE);

        look_add_problems(look, &problems);
        if (command->json != JSON_OFF) {
                print_json(command, plan_to_json(look->plan, &look->host, &problems));
                return is_met ? EXIT_DONE : EXIT_NOT_READY;
        }
        fputs(render_plan(arena, look->plan, &look->host, look->config, &command->render), stdout);
        if (problems.list.n > 0)
                printf("\n%s", render_problems(arena, &problems, false, &command->render));
        if (refusal)
                printf("\n%s\n", refusal);
        return is_met ? EXIT_DONE : EXIT_NOT_READY;
}
