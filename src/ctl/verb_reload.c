/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `reload` and `release`: what has the daemon change something. */
#include "base/text.h"
#include "ctl/learn.h"
#include "ctl/verbs.h"
#include "host/boot_guard_file.h"
#include "host/log.h"
#include "ipc/manager_interface.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "plan/changes.h"
#include "render/render_status.h"
#include "render/status_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_reload(Command *command, json_t *reply) {
        const json_t *instances = json_object_get(reply, "instances"), *item;
        const json_t *changes = json_object_get(reply, "changes");
        Change change;
        size_t i;

        if (command->json != JSON_OFF) {
                print_json(command, json_incref(reply));
                return EXIT_AS_WISHED;
        }
        json_array_foreach(changes, i, item)
                if (change_from_json(command->arena, item, &change) == 0)
                        puts(change_format(command->arena, &change));
        json_array_foreach(instances, i, item) {
                StatusInstance instance;

                if (status_instance_from_json(command->arena, item, &instance) == 0 &&
                    instance.verdict != VERDICT_READY)
                        puts(render_verdict(command->arena, &instance));
        }
        return EXIT_AS_WISHED;
}

static int fail_reload(Command *command, const char *error_name, json_t *reply) {
        if (text_equals(error_name, VARLINK_ERROR_PERMISSION_DENIED)) {
                log_line(LOG_ERR, "only root may reload hugeplan");
                return EXIT_FAILED;
        }
        if (!text_equals(error_name, MANAGER_ERROR_CONFIG_INVALID)) {
                log_line(LOG_ERR, "hugepland answers %s", error_name);
                return EXIT_FAILED;
        }
        Diags problems = problems_from_json(command->arena, json_object_get(reply, "problems"));

        if (command->json != JSON_OFF)
                print_json(command, json_incref(reply));
        fputs(render_problems(command->arena, &problems, &command->render), stderr);
        log_line(LOG_ERR, "the configuration has mistakes; the plan stays as it was");
        return EXIT_FAILED;
}

static int fail_unreachable(int error) {
        log_line(LOG_ERR, "hugepland cannot be reached (%s); " DAEMON_REMEDY, daemon_error(error));
        return EXIT_FAILED;
}

/* The daemon has opened the guard for this boot; the file says what the next one does. */
static void open_boot_guard(Command *command) {
        BootGuard *guard = boot_guard_load(command->root, command->arena);

        if (!boot_guard_open(guard))
                return;
        int r = boot_guard_save(command->root, guard);

        log_line(
                r < 0 ? LOG_WARNING : LOG_NOTICE,
                r < 0 ? "the boot guard will be closed at the next boot: cannot write " PATH_BOOT_GUARD
                        ": %s"
                      : "the boot guard is open%s: the next boot plans everything, too",
                r < 0 ? strerror(-r) : "");
}

int verb_reload(Command *command) {
        char *error_name = NULL;
        json_t *reply = NULL;

        learn_for_reload(command);
        int r = daemon_call(command, MANAGER_RELOAD, NULL, UINT64_MAX, &reply, &error_name);

        if (r < 0)
                return fail_unreachable(r);
        int code = error_name ? fail_reload(command, error_name, reply)
                              : print_reload(command, reply);

        if (code == EXIT_AS_WISHED)
                open_boot_guard(command);

        free(error_name);
        json_decref(reply);
        return code;
}

/* ---- release ---- */

static int print_release(Command *command, const json_t *reply) {
        StatusInstance instance;

        if (command->json != JSON_OFF)
                print_json(command, json_incref(json_object_get(reply, "instance")));
        else if (status_instance_from_json(command->arena, json_object_get(reply, "instance"),
                                           &instance) == 0)
                printf("%s: its free pages were given back; 'hugeplanctl reload' reserves them again\n",
                       instance.name);
        return EXIT_AS_WISHED;
}

int verb_release(Command *command) {
        char *error_name = NULL;
        json_t *reply = NULL;
        int code = EXIT_FAILED;
        int r = daemon_call(command, MANAGER_RELEASE,
                            json_pack("{ss}", "instance", command->arguments[0]), UINT64_MAX,
                            &reply, &error_name);

        if (r < 0)
                return fail_unreachable(r);
        if (!error_name)
                code = print_release(command, reply);
        else if (text_equals(error_name, MANAGER_ERROR_NO_SUCH_INSTANCE))
                code = fail_no_instance(command, command->arguments[0], read_config(command));
        else if (text_equals(error_name, VARLINK_ERROR_PERMISSION_DENIED))
                log_line(LOG_ERR, "only root may release pages");
        else
                log_line(LOG_ERR, "hugepland answers %s", error_name);
        free(error_name);
        json_decref(reply);
        return code;
}
