/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/verbs.h"

#include "base/text.h"
#include "core/changes.h"
#include "core/figures.h"
#include "core/names.h"
#include "core/problem.h"
#include "core/status_json.h"
#include "host/boot_guard_file.h"
#include "host/config_dirs.h"
#include "host/config_load.h"
#include "host/holders.h"
#include "host/host_plan_read.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "host/state.h"
#include "ipc/manager_interface.h"
#include "tools/learn.h"
#include "tools/log.h"
#include "tools/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t answer_usec = 10 * USEC_PER_SEC;

/* ---- shared ---- */

static void add_all(Diags *problems, const Diags *more) {
        VEC_FOREACH(problem, &more->list)
                diags_add(problems, problem);
}

const char *absolute_path(const Command *command, const char *path) {
        char directory[PATH_MAX];

        if (*path == '/' || !root_is_host(command->root) || !getcwd(directory, sizeof(directory)))
                return path;
        return arena_printf(command->arena, "%s/%s", directory, path);
}

const Config *read_config(Command *command) {
        return config_load(command->root, command->arena, command->draft);
}

Local local_load(Command *command) {
        Arena *arena = command->arena;
        const char *text;
        Local local = {
                .config = read_config(command),
                .topology = probe_topology(command->root, arena),
                .guard_problems = diags_in(arena),
        };
        Ledger *ledger = state_load(command->root, arena, local.topology->boot_id, &text);
        HostSources sources = host_sources(command->root);

        ledger_observe(arena, ledger, local.topology);
        Figures derived = figures_derive(arena, local.config, local.topology, &sources.sources,
                                         FIGURES_UNLEARNED);

        local.figures = command->found;
        VEC_FOREACH(figure, &derived)
                *vec_push(arena, &local.figures) = *figure;
        const GuardedPlanInput input = {
                .guard = boot_guard_load(command->root, arena),
                .config = local.config,
                .topology = local.topology,
                .figures = &local.figures,
                .ledger = ledger,
        };
        GuardedPlan guarded = boot_guard_plan(arena, &input, &local.guard_problems);

        local.ledger = ledger;
        local.plan = guarded.plan;
        local.after_reload = guarded.after_reload;
        return local;
}

Status *local_status(Command *command, const Local *local, const char *phase) {
        const StatusInput input = {
                .config = local->config,
                .plan = local->plan,
                .topology = local->topology,
                .ledger = local->ledger,
                .phase = phase,
        };

        Status *status = status_judge(command->arena, &input);

        add_all(&status->problems, &local->guard_problems);
        return status;
}

int daemon_call(Command *command, const char *method, json_t *parameters, uint64_t timeout_usec,
                json_t **ret_parameters, char **ret_error_name) {
        CLEANUP(varlink_client_freep) VarlinkClient *client = NULL;
        int r = varlink_client_connect(root_path(command->arena, command->root, PATH_SOCKET),
                                       timeout_usec, &client);

        if (r < 0) {
                json_decref(parameters);
                return r;
        }
        return varlink_client_call(client, method, parameters, timeout_usec, ret_parameters,
                                   ret_error_name);
}

void print_json(const Command *command, json_t *json) {
        size_t flags = JSON_PRESERVE_ORDER;
        char *text = json_dumps(json, command->json == JSON_PRETTY ? flags | JSON_INDENT(2)
                                                                   : flags | JSON_COMPACT);

        json_decref(json);
        if (text)
                puts(text);
        free(text);
}

int fail_no_instance(Command *command, const char *name, const Config *config) {
        Text names = text_in(command->arena);

        for (size_t i = 0; config && i < config->n_instances; i++)
                text_printf(&names, "%s%s",
                            i > 0 ? ", " : "; there are: ", config->instances[i].name);
        log_line(LOG_ERR, "no instance is called '%s'%s", name,
                 config && config->n_instances == 0 ? "; none is described in /etc/hugeplan.d"
                                                    : text_string(&names));
        return EXIT_NO_INSTANCE;
}

bool is_switched_off(Command *command) {
        if (!text_has_word(probe_kernel_command_line(command->root, command->arena),
                           KERNEL_SWITCH_OFF))
                return false;
        log_line(LOG_NOTICE,
                 KERNEL_SWITCH_OFF " is on the kernel command line: hugeplan stands aside");
        return true;
}

/* ---- status ---- */

Status *ask_status(Command *command, const char **ret_why) {
        char *error_name = NULL;
        json_t *reply = NULL;
        Status *status = NULL;
        int r = daemon_call(command, MANAGER_DESCRIBE, NULL, answer_usec, &reply, &error_name);

        if (r < 0)
                *ret_why = strerror(-r);
        else if (error_name)
                *ret_why = arena_strdup(command->arena, error_name);
        else if (!(status = status_from_json(command->arena, reply)))
                *ret_why = "its answer makes no sense";
        free(error_name);
        json_decref(reply);
        return status;
}

static Status *find_status(Command *command, const Config **ret_config) {
        const char *why = NULL;
        bool is_off = is_switched_off(command);
        Status *status = is_off ? NULL : ask_status(command, &why);

        *ret_config = NULL;
        if (status)
                return status;
        Local local = local_load(command);

        *ret_config = local.config;
        status = local_status(command, &local, is_off ? "switched off" : "no daemon");
        if (!is_off)
                diags_add(
                        &status->problems,
                        &(Diag){.severity = SEVERITY_WARNING,
                                .id = problem_id(PROBLEM_NO_DAEMON),
                                .text = arena_printf(
                                        command->arena,
                                        "hugepland cannot be reached (%s); this is what the files say",
                                        why),
                                .remedy = "systemctl start hugeplan.service"});
        return status;
}

static int print_one_status(Command *command, const Status *status, const char *name,
                            const Config *config) {
        const StatusInstance *instance = status_find(status, name);

        if (!instance)
                return fail_no_instance(command, name, config);
        if (command->json != JSON_OFF)
                print_json(command, status_instance_to_json(instance));
        else
                fputs(render_status_instance(command->arena, status, instance, &command->render),
                      stdout);
        return instance->verdict == VERDICT_READY ? EXIT_AS_WISHED : EXIT_NOT_READY;
}

static int print_status(Command *command, const Status *status, const Config *config) {
        if (command->n_arguments == 1)
                return print_one_status(command, status, command->arguments[0], config);
        if (command->json != JSON_OFF)
                print_json(command, status_to_json(status));
        else
                fputs(render_status(command->arena, status, &command->render), stdout);
        return status->verdict == VERDICT_READY ? EXIT_AS_WISHED : EXIT_NOT_READY;
}

/* One status after the other, as the daemon sends them. */
static int watch_status(Command *command) {
        CLEANUP(varlink_client_freep) VarlinkClient *client = NULL;
        int r = varlink_client_connect(root_path(command->arena, command->root, PATH_SOCKET),
                                       answer_usec, &client);

        if (r >= 0)
                r = varlink_client_call_more(client, MANAGER_DESCRIBE, NULL, answer_usec);
        while (r >= 0) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                Command now = *command;
                char *error_name = NULL;
                json_t *reply = NULL;

                now.arena = arena;
                r = varlink_client_next(client, UINT64_MAX, &reply, &error_name);
                Status *status = r >= 0 && !error_name ? status_from_json(arena, reply) : NULL;

                free(error_name);
                json_decref(reply);
                if (!status)
                        break;
                print_status(&now, status, NULL);
                if (command->json == JSON_OFF)
                        putchar('\n');
                fflush(stdout);
        }
        log_line(LOG_ERR, "hugepland no longer answers%s%s", r < 0 ? ": " : "",
                 r < 0 ? strerror(-r) : "");
        return EXIT_FAILED;
}

static int verb_status(Command *command) {
        const Config *config;

        if (command->is_watching)
                return watch_status(command);
        Status *status = find_status(command, &config);

        status->holders = holders_find(command->root, command->arena,
                                       probe_topology(command->root, command->arena));
        return print_status(command, status, config);
}

/* ---- plan ---- */

static int verb_plan(Command *command) {
        Local local = local_load(command);
        Diags problems = local.config->problems;
        HostPlan host = host_plan_read(command->root, command->arena, local.config, local.plan,
                                       local.topology, &problems);
        bool is_met = plan_count_changed(local.plan) == 0 && host_plan_count(&host) == 0;

        add_all(&problems, &local.guard_problems);

        for (size_t i = 0; i < local.plan->n_instances; i++)
                is_met = is_met && local.plan->instances[i].reason.kind == REASON_NONE;
        if (command->json != JSON_OFF) {
                print_json(command, plan_to_json(local.plan, local.after_reload, &host));
        } else {
                fputs(render_plan(command->arena, local.plan, &host, local.config,
                                  &command->render),
                      stdout);
                if (local.after_reload)
                        fputs(render_plan_after_reload(command->arena, local.after_reload,
                                                       &command->render),
                              stdout);
                if (problems.list.n > 0)
                        printf("\n%s",
                               render_problems(command->arena, &problems, &command->render));
        }
        return is_met ? EXIT_AS_WISHED : EXIT_NOT_READY;
}

/* ---- size ---- */

json_t *sizing_to_json(const Sizing *sizing) {
        json_t *steps = json_array();

        VEC_FOREACH(step, &sizing->steps)
                json_array_append_new(
                        steps,
                        json_pack("{ss ss? sI}", "what", step->what, "formula", step->formula,
                                  "bytes", (json_int_t) MIN(step->bytes, (uint64_t) INT64_MAX)));
        return json_pack("{sI sI sI sb ss? so}", "pageSizeBytes",
                         (json_int_t) sizing->page_size_bytes, "pages",
                         (json_int_t) MIN(sizing->pages, (uint64_t) INT64_MAX), "bytes",
                         (json_int_t) MIN(sizing->bytes, (uint64_t) INT64_MAX), "exact",
                         sizing->is_exact, "caveat", sizing->caveat, "steps", steps);
}

/* The page size to reckon with: as asked, else the host's own default, else 2M. */
static int size_page_size(Command *command, uint64_t *ret) {
        uint64_t bytes = probe_topology(command->root, command->arena)->default_page_size_bytes;

        if (command->page_size && (parse_size_bytes(command->page_size, &bytes) < 0 ||
                                   bytes < 4 * KIB || (bytes & (bytes - 1)) != 0)) {
                log_line(LOG_ERR,
                         "--page-size: '%s' is no page size; write a size such as 2M or 1G",
                         command->page_size);
                return -EINVAL;
        }
        *ret = bytes > 0 ? bytes : 2 * MIB;
        return 0;
}

static int size_settings(Command *command, Settings *ret) {
        VEC_FOREACH(item, &command->settings) {
                const char *equals = strchr(*item, '=');

                if (!equals || equals == *item) {
                        log_line(LOG_ERR, "-c: '%s' is no setting; write -c NAME=VALUE", *item);
                        return -EINVAL;
                }
                settings_add(command->arena, ret,
                             arena_strndup(command->arena, *item, (size_t) (equals - *item)),
                             equals + 1, NULL);
        }
        if (command->engine_version)
                settings_add(command->arena, ret, "server_version", command->engine_version, NULL);
        return 0;
}

/* Of an engine that reserves nothing: what it wants of transparent huge pages. */
static int size_of_nothing(Command *command, const Engine *engine, uint64_t page_size_bytes) {
        const char *version = command->engine_version;
        ThpPolicy wish;

        if (command->settings.n > 0) {
                log_line(LOG_ERR,
                         "%s uses no reserved huge pages, whatever its settings; leave -c out",
                         engine->title);
                return EXIT_FAILED;
        }
        if (engine_thp_wish(engine, version, &wish) < 0) {
                log_line(LOG_ERR, "--engine-version: '%s' is no version; write one such as 8.0",
                         version);
                return EXIT_USAGE;
        }
        if (command->json != JSON_OFF) {
                json_t *json = sizing_to_json(
                        &(Sizing){.page_size_bytes = page_size_bytes, .is_exact = true});

                json_object_update_new(
                        json, json_pack("{ss ss?}", "engine", engine->name, "transparentHugePages",
                                        wish == THP_AUTO ? NULL : thp_policy_name(wish)));
                print_json(command, json);
        } else {
                fputs(render_thp_wish(command->arena, engine, version, wish), stdout);
        }
        return EXIT_AS_WISHED;
}

static int verb_size(Command *command) {
        const Engine *engine = engine_find(command->arguments[0]);
        Settings settings = {};
        Sizing sizing;
        uint64_t page_size_bytes;

        if (!engine) {
                log_line(LOG_ERR, "there is no engine '%s'; there are: %s", command->arguments[0],
                         engine_names(command->arena));
                return EXIT_USAGE;
        }
        if (size_page_size(command, &page_size_bytes) < 0 || size_settings(command, &settings) < 0)
                return EXIT_USAGE;
        if (!engine->reserves)
                return size_of_nothing(command, engine, page_size_bytes);
        const char *wrong = engine->size(command->arena, &settings, page_size_bytes, &sizing);

        if (wrong) {
                log_line(LOG_ERR, "%s", wrong);
                return EXIT_FAILED;
        }
        if (command->json != JSON_OFF) {
                json_t *json = sizing_to_json(&sizing);

                json_object_set_new(json, "engine", json_string(engine->name));
                print_json(command, json);
        } else {
                fputs(render_sizing(command->arena, &sizing, &command->render), stdout);
        }
        return EXIT_AS_WISHED;
}

/* ---- reload ---- */

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
        log_line(LOG_ERR, "hugepland cannot be reached: %s; is hugeplan.service running?",
                 strerror(-error));
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

static int verb_reload(Command *command) {
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

static int verb_release(Command *command) {
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

/* ---- cat-config ---- */

static int verb_cat_config(Command *command) {
        Diags problems = diags_in(command->arena);
        const ConfigFiles *files =
                config_dirs_read(command->root, command->arena, command->draft, &problems);
        bool is_first = true;

        VEC_FOREACH(file, files) {
                printf("%s# %s\n", is_first ? "" : "\n",
                       root_path(command->arena, command->root, file->path));
                if (file->text)
                        fwrite(file->text, 1, file->size, stdout);
                else
                        printf("# cannot be read: %s\n", strerror(-file->error));
                if (file->text && file->size > 0 && file->text[file->size - 1] != '\n')
                        putchar('\n');
                is_first = false;
        }
        if (problems.list.n > 0)
                fputs(render_problems(command->arena, &problems, &command->render), stderr);
        return problems.list.n > 0 ? EXIT_FAILED : EXIT_AS_WISHED;
}

const Verb verbs[] = {
        {"status", "[NAME]", 0, 1, verb_status,
         "What is reserved, for whom, and what is wrong (--watch: on every change)"},
        {"plan", "", 0, 0, verb_plan, "What would be written; writes nothing", .takes_draft = true},
        {"check", "[FILE...]", 0, SIZE_MAX, verb_check,
         "Look for what will hurt on this host, or for mistakes in files", .takes_draft = true},
        {"cmdline", "", 0, 0, verb_cmdline,
         "What the kernel command line should say for gigantic pages, and what is wrong with it",
         .takes_draft = true},
        {"explain", "NAME", 1, 1, verb_explain, "How an instance's size comes about",
         .takes_draft = true},
        {"size", "ENGINE", 1, 1, verb_size, "What-if: pages for settings given by -c NAME=VALUE"},
        {"fit", "NAME", 1, 1, verb_fit,
         "The largest shared_buffers, SGA, buffer pool or heap for the pages at hand",
         .takes_draft = true},
        {"suggest", "", 0, 0, verb_suggest,
         "Drop-ins for the databases found on this host (--write: create them)"},
        {"wait", "NAME", 0, 1, verb_wait,
         "Wait until an instance (--all: every one) has its pages; the gate of database units"},
        {"reload", "", 0, 0, verb_reload, "Read the configuration anew and apply the difference"},
        {"release", "NAME", 1, 1, verb_release,
         "Give back an instance's own free pages until the next reload or start"},
        /* For our own units, and the drop-ins of others. */
        {"fence", "NAME", 1, 1, verb_fence, NULL},
        {"pam-limits", "", 0, 0, verb_pam_limits, NULL},
        {"boot-guard", "begin|good", 1, 1, verb_boot_guard, NULL},
        {"cat-config", "", 0, 0, verb_cat_config, "Print the configuration files that count",
         .takes_draft = true},
};
const size_t n_verbs = ARRAY_LEN(verbs);
