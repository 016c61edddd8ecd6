/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/loaded_unit.h"

#include "base/size.h"
#include "base/text.h"
#include "model/problem.h"

#include <string.h>

/* ---- programs ---- */

/* Programs that start other programs, or may do so. */
static const char wrappers[] =
        "*sh *.py *.pl python* perl* ruby* node* env su sudo runuser setpriv numactl taskset nice "
        "ionice chrt prlimit systemd-* unshare nsenter chroot docker* podman* conmon* crun* runc* "
        "ctr* nerdctl* crm* pcs* tini* dumb-init gosu time timeout nohup";

/* Placeholders in units whose service is started in another way. */
static const char nothing[] = "true false sleep echo";

typedef enum Match { MATCH_ENGINE, MATCH_ANOTHER, MATCH_UNKNOWN } Match;

/* Also looks at the words of a script on the command line. */
static Match match_command(Arena *arena, const Engine *engine, const char *command_line,
                           const char **ret_program) {
        /* Directories of distributions' programs: a program there that is not the engine's is another's. */
        static const char *const directories[] = {"/bin/",     "/sbin/",     "/lib",
                                                  "/usr/bin/", "/usr/sbin/", "/usr/lib"};
        const char *program = NULL;

        command_line += strspn(command_line, " -@:+!|");
        TEXT_FOREACH(word, arena, command_line, " \t'\"();&|$`<>={}") {
                if (text_fits(engine->programs, text_base_name(word)))
                        return MATCH_ENGINE;
                program = program ? program : word;
        }
        if (!program || text_fits(wrappers, text_base_name(program)))
                return MATCH_UNKNOWN;
        *ret_program = program;
        const char *name = text_base_name(program);
        bool is_of_another = text_fits(nothing, name) ||
                             ARRAY_FIND(other, engines, n_engines,
                                        *other != engine && text_fits((*other)->programs, name));

        bool is_distributed = !strchr(program, '/') ||
                              ARRAY_FIND(directory, directories, ARRAY_LEN(directories),
                                         text_starts_with(program, *directory));

        return is_of_another || (engine->is_started_by_name && is_distributed) ? MATCH_ANOTHER
                                                                               : MATCH_UNKNOWN;
}

/* MATCH_ANOTHER requires that all commands are another's; *RET_PROGRAM is the program of the first one. */
static Match match_unit(Arena *arena, const Engine *engine, const SourceNames *command_lines,
                        const char **ret_program) {
        bool is_another = command_lines->n > 0 && engine->programs;

        VEC_FOREACH(command_line, command_lines) {
                const char *program = NULL;
                Match match = engine->programs
                                      ? match_command(arena, engine, *command_line, &program)
                                      : MATCH_UNKNOWN;

                if (match == MATCH_ENGINE)
                        return match;
                is_another = is_another && match == MATCH_ANOTHER;
                if (command_line == command_lines->items)
                        *ret_program = program;
        }
        return is_another ? MATCH_ANOTHER : MATCH_UNKNOWN;
}

bool unit_match_is_server(Arena *arena, const Engine *engine, const SourceNames *command_lines) {
        const char *program;

        return match_unit(arena, engine, command_lines, &program) == MATCH_ENGINE;
}

/* ---- memory policy ---- */

MemoryPolicy unit_policy_of_start(Arena *arena, const char *command_line, MemoryPolicy policy) {
        static const struct {
                const char *flag, *name;
                MemoryPolicyKind kind;
        } options[] = {
                {"-m", "--membind", MEMORY_POLICY_BIND},
                {"-i", "--interleave", MEMORY_POLICY_INTERLEAVE},
                {"-p", "--preferred", MEMORY_POLICY_ANY},
                {"-l", "--localalloc", MEMORY_POLICY_ANY},
        };
        MemoryPolicyKind kind = MEMORY_POLICY_UNKNOWN; /* of the last option */
        bool is_numactl = false;

        TEXT_FOREACH(word, arena, command_line, " =") {
                const char *list = word;
                IdSet nodes = {};

                if (!is_numactl) {
                        is_numactl = text_equals(text_base_name(word), "numactl");
                        continue;
                }
                if (*word == '-') {
                        kind = MEMORY_POLICY_UNKNOWN;
                        ARRAY_FOREACH(option, options, ARRAY_LEN(options))
                                if (text_equals(word, option->name) ||
                                    text_starts_with(word, option->flag))
                                        kind = option->kind;
                        list = word[1] == '-' ? "" : word + MIN(strlen(word), (size_t) 2);
                }
                bool is_all = text_equals(list, "all");

                /* The first word that is neither an option nor a list is the program. */
                if (!is_all && id_set_parse(list, &nodes) < 0)
                        break;
                if (kind == MEMORY_POLICY_ANY || (is_all && kind != MEMORY_POLICY_UNKNOWN))
                        policy = (MemoryPolicy){.kind = MEMORY_POLICY_ANY};
                else if (*list && !is_all && kind != MEMORY_POLICY_UNKNOWN)
                        policy = (MemoryPolicy){kind, nodes};
        }
        return policy;
}

/* ---- several on one unit ---- */

static const char *pages_of(Arena *arena, const PlanInstance *planned) {
        return planned && planned->page_size_bytes > 0
                       ? format_page_count(arena, planned->pages_wanted, planned->page_size_bytes)
                       : "its pages";
}

/* A second instance on one unit may be deliberate, such as with another page size of the same server. */
static void judge_sharing(Arena *arena, const LoadedUnitInput *input,
                          const InstanceConfig *instance, Diags *problems) {
        const InstanceConfig *first = input->config->instances;

        while (first < instance && (first->refusal || !first->engine->reserves ||
                                    !text_equals(first->unit, instance->unit)))
                first++;
        if (first == instance)
                return;
        const PlanInstance *one = plan_find(input->plan, first->name);
        const PlanInstance *two = plan_find(input->plan, instance->name);
        bool is_meant = first->engine != instance->engine ||
                        !text_equals(first->config_file, instance->config_file) ||
                        !text_equals(first->data_directory, instance->data_directory) ||
                        (one && two && one->page_size_bytes != two->page_size_bytes);

        if (!input->search &&
            (is_meant || VEC_FIND(silenced, &input->config->host.silenced,
                                  text_equals(silenced->id, problem_id(PROBLEM_UNIT_SHARED)))))
                return;
        Diag diag = config_diag(instance, PROBLEM_UNIT_SHARED, "Unit", NULL,
                                is_meant ? NULL
                                         : "remove one of the files; if both are intended, set "
                                           "SilenceRules=unit-shared");

        if (is_meant)
                diag.severity = SEVERITY_NOTICE;
        diags_report(problems, diag,
                     "%s names %s, and so does %s (%s): %s and %s are reserved, and "
                     "both must be available before it starts",
                     instance->name, instance->unit, first->name, first->file, pages_of(arena, two),
                     pages_of(arena, one));
}

/* ---- all ---- */

void unit_match_judge(Arena *arena, const LoadedUnitInput *input, const LoadedUnits *units,
                      Diags *problems) {
        const Config *config = input->config;
        const UnitSearch *search = input->search;

        ARRAY_FOREACH(instance, config->instances, config->n_instances) {
                if (instance->refusal || !instance->unit || !instance->engine->reserves)
                        continue;
                VEC_FOREACH(unit, units) {
                        const char *program = NULL, *fault = NULL;

                        if (!text_equals(unit->name, instance->unit) ||
                            !text_equals(unit->load_state, "loaded"))
                                continue;
                        if (match_unit(arena, instance->engine, &unit->starts, &program) ==
                            MATCH_ANOTHER)
                                fault = arena_printf(arena, "%s starts %s, which is not %s",
                                                     unit->name, program, instance->engine->title);
                        else if (search)
                                fault = search->find_absent(arena, search->sources, instance);
                        if (!fault)
                                continue;
                        const char *nearest = search ? search->find_nearest(arena, search->sources,
                                                                            config, instance)
                                                     : NULL;
                        const char *remedy = arena_printf(
                                arena,
                                "%s%s%s, or remove the file of a database that is gone; then run "
                                "'systemctl daemon-reload' and 'hugeplanctl reload'",
                                nearest ? "did you mean " : "", nearest ? nearest : "",
                                nearest ? "? Correct the line" : "name the unit that starts it");

                        diags_report(
                                problems,
                                config_diag(instance, PROBLEM_UNIT_WRONG, "Unit", NULL, remedy),
                                "%s: its gate does not hold back the database of %s",
                                text_printable(arena, fault), instance->name);
                }
                judge_sharing(arena, input, instance, problems);
        }
}
