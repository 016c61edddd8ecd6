/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/command.h"

#include "base/memory.h"
#include "base/text.h"
#include "host/config_load.h"
#include "host/probe.h"
#include "host/unit_facts.h"
#include "inspect/gather.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "model/problem.h"
#include "runtime/log.h"
#include "status/pending.h"
#include "systemd/dropin_check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        return local_load_for(command, NULL);
}

/* What the service manager calls this start: systemd.exec(5). */
static PlanStartings *starting_of(Command *command, const InstanceConfig *instance) {
        PlanStartings *starting = ARENA_NEW(command->arena, PlanStartings);
        const char *run = getenv("INVOCATION_ID");

        *vec_push(command->arena, starting) = (PlanStarting){
                .instance = instance->name,
                .unit = instance->unit,
                .run = run ? run : "",
                .policy = {.kind = MEMORY_POLICY_ANY},
        };
        return starting;
}

Local local_load_for(Command *command, const InstanceConfig *starting) {
        OwnerGatherer owner = gather_as_owner(command->root);
        const LookInput input = {
                .root = command->root,
                .gatherer = &owner.gatherer,
                .config = read_config(command),
                .starting = starting ? starting_of(command, starting) : NULL,
        };
        Look *look = look_make(command->arena, &input);

        if (look->fault.error < 0) {
                const Diag diag = look_fault_diag(command->arena, &look->fault);

                diags_add(&look->guard_problems, &diag);
        }
        return (Local){
                .config = look->config,
                .topology = look->topology,
                .ledger = look->ledger,
                .plan = look->plan,
                .figures = look->figures,
                .after_reload = look->after_reload,
                .guard_problems = look->guard_problems,
                .look = look,
        };
}

Status *local_status(Command *command, const Local *local, const char *phase) {
        StatusInput input = look_status_input(local->look, local->plan);

        input.phase = phase;
        Status *status = status_judge(command->arena, &input);

        diags_add_all(&status->problems, &local->guard_problems);
        return status;
}

/* Whether systemd has yet to read units that these files make. */
static bool is_unread(const Command *command, const Config *files) {
        const DropinInput input = dropin_input(command->root, command->arena, files, HUGEPLANCTL);
        Dropins dropins = dropins_make(command->arena, &input);
        Diags unread = diags_in(command->arena);

        dropin_check(command->root, &dropins, &unread);
        return unread.list.n > 0;
}

/* Root's files may be closed to others, which is no change. */
static bool is_unreadable(const Config *files) {
        bool is_unreadable = false;

        VEC_FOREACH(problem, &files->problems.list)
                is_unreadable = is_unreadable ||
                                text_equals(problem->id, problem_id(PROBLEM_CONFIG_UNREADABLE));
        return is_unreadable && geteuid() != 0;
}

void find_pending(Command *command, const Status *running, const Config *files, Diags *problems) {
        if (is_unreadable(files))
                return;
        const PendingInput input = {
                .running = running,
                .files = files,
                .is_unread = is_unread(command, files),
        };

        pending_judge(command->arena, &input, problems);
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

/* ---- JSON ---- */

void print_json(const Command *command, json_t *json) {
        size_t flags = JSON_PRESERVE_ORDER;
        char *text = json_dumps(json, command->json == JSON_PRETTY ? flags | JSON_INDENT(2)
                                                                   : flags | JSON_COMPACT);

        json_decref(json);
        if (text)
                puts(text);
        memory_free(text);
}

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
