/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "units/unit_match.h"

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
        const char *rest = command_line + strspn(command_line, " -@:+!|"), *program = NULL, *word;

        while ((word = text_next_word(arena, &rest, " \t'\"();&|$`<>={}"))) {
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

/* ---- one instance ---- */

typedef struct Matcher {
        Arena *arena;
        const UnitMatchInput *input;
        Diags *problems;
} Matcher;

static void judge_instance(const Matcher *matcher, const InstanceConfig *instance,
                           const LoadedUnit *unit) {
        const Engine *engine = instance->engine;
        const UnitSearch *search = matcher->input->search;
        const char *program = NULL, *fault = NULL;

        if (match_unit(matcher->arena, engine, &unit->starts, &program) == MATCH_ANOTHER)
                fault = arena_printf(matcher->arena, "%s starts %s, which is no %s", unit->name,
                                     program, engine->title);
        else if (search)
                fault = search->find_absent(matcher->arena, search->sources, instance);
        if (!fault)
                return;
        const char *nearest = search ? search->find_nearest(matcher->arena, search->sources,
                                                            matcher->input->config, instance)
                                     : NULL;

        const char *remedy =
                nearest ? arena_printf(matcher->arena,
                                       "did you mean %s? Correct the line, then run 'systemctl "
                                       "daemon-reload' and 'hugeplanctl reload'",
                                       nearest)
                        : "name the unit that starts it; then run 'systemctl daemon-reload' and "
                          "'hugeplanctl reload'";

        diags_report(matcher->problems,
                     config_diag(instance, PROBLEM_UNIT_WRONG, "Unit", NULL, remedy),
                     "%s: nobody waits for the pages of %s", text_printable(matcher->arena, fault),
                     instance->name);
}

/* ---- several on one unit ---- */

static bool is_other(const char *a, const char *b) {
        return (a || b) && !text_equals(a, b);
}

/* Returns whether the instances differ deliberately, such as in the page size of one server. */
static bool is_distinct(const UnitMatchInput *input, const InstanceConfig *first,
                        const InstanceConfig *second) {
        const PlanInstance *one = plan_find(input->plan, first->name);
        const PlanInstance *two = plan_find(input->plan, second->name);

        return first->engine != second->engine ||
               is_other(first->config_file, second->config_file) ||
               is_other(first->data_directory, second->data_directory) ||
               (one && two && one->page_size_bytes != two->page_size_bytes);
}

static const char *pages_of(Arena *arena, const Plan *plan, const InstanceConfig *instance) {
        const PlanInstance *planned = plan_find(plan, instance->name);

        return planned && planned->page_size_bytes > 0
                       ? format_page_count(arena, planned->pages_wanted, planned->page_size_bytes)
                       : "its pages";
}

static void judge_sharing(const Matcher *matcher, const InstanceConfig *instance) {
        const UnitMatchInput *input = matcher->input;
        const InstanceConfig *first = input->config->instances;
        Arena *arena = matcher->arena;

        while (first < instance && (first->refusal || !first->engine->reserves ||
                                    !text_equals(first->unit, instance->unit)))
                first++;
        if (first == instance)
                return;
        bool is_meant = is_distinct(input, first, instance);

        if (!input->is_asked &&
            (is_meant || VEC_FIND(silenced, &input->config->host.silenced,
                                  text_equals(silenced->id, problem_id(PROBLEM_UNIT_SHARED)))))
                return;
        Diag diag = config_diag(instance, PROBLEM_UNIT_SHARED, "Unit", NULL,
                                is_meant ? NULL
                                         : "take one of the files away; if both are meant, say so "
                                           "by SilenceRules=unit-shared");

        if (is_meant)
                diag.severity = SEVERITY_NOTICE;
        diags_report(
                matcher->problems, diag,
                "%s names %s, and so does %s (%s): %s and %s are reserved, and both have to be "
                "there before it starts",
                instance->name, instance->unit, first->name, first->file,
                pages_of(arena, input->plan, instance), pages_of(arena, input->plan, first));
}

/* ---- all ---- */

void unit_match_judge(Arena *arena, const UnitMatchInput *input, const LoadedUnits *units,
                      Diags *problems) {
        const Matcher matcher = {arena, input, problems};

        ARRAY_FOREACH(instance, input->config->instances, input->config->n_instances) {
                if (instance->refusal || !instance->unit || !instance->engine->reserves)
                        continue;
                VEC_FOREACH(unit, units)
                        if (text_equals(unit->name, instance->unit) &&
                            text_equals(unit->load_state, "loaded"))
                                judge_instance(&matcher, instance, unit);
                judge_sharing(&matcher, instance);
        }
}
