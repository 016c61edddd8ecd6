/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/rules.h"

#include "base/text.h"
#include "check/rule_run.h"
#include "config/config.h"
#include "engines/engine_rows.h"

#include <string.h>

#define FAMILIES(ROW) ENGINE_RULES(ROW) ROW(host) ROW(pools)

#define ROW(name) extern const RuleFamily rules_##name;
FAMILIES(ROW)
#undef ROW

#define ROW(name) &rules_##name,
static const RuleFamily *const families[] = {FAMILIES(ROW)};
#undef ROW

/* ---- findings ---- */

static Finding *add_finding(Arena *arena, const Config *config, const Diag *diag,
                            Findings *findings) {
        const SilencedRule *silenced_by =
                VEC_FIND(each, &config->host.silenced, text_equals(each->id, diag->id));
        Finding *added = vec_push(arena, silenced_by ? &findings->silenced : &findings->list);

        *added = (Finding){.diag = *diag, .silenced_by = silenced_by};
        return added;
}

/* Evidence comes from files of other programs; it goes to a terminal and into JSON. */
static Diag printable_diag(Arena *arena, const Diag *diag) {
        Diag shown = *diag;
        const char **const strings[] = {&shown.file, &shown.key, &shown.text, &shown.remedy};

        ARRAY_FOREACH(string, strings, ARRAY_LEN(strings))
                if (**string)
                        **string = text_printable(arena, **string);
        return shown;
}

void rule_add(RuleRun *run, const Diag *diag) {
        Diag found = printable_diag(run->arena, diag);

        found.id = rules[run->row->kind].id;
        found.severity = rules[run->row->kind].severity;
        Finding *added = add_finding(run->arena, run->input->config, &found, run->findings);

        if (run->instance)
                added->instance = run->instance->config->name;
}

void rule_report(RuleRun *run, Diag at, const char *remedy, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        at.text = arena_vprintf(run->arena, format, arguments);
        va_end(arguments);
        at.remedy = remedy;
        rule_add(run, &at);
}

/* Adds a problem that was found by others than rules. */
static void add_problem(RuleRun *run, const Diag *problem) {
        const Diag found = printable_diag(run->arena, problem);
        const Config *config = run->input->config;
        Finding *finding = add_finding(run->arena, config, &found, run->findings);
        const InstanceConfig *instance = ARRAY_FIND(each, config->instances, config->n_instances,
                                                    text_equals(each->file, problem->file));

        /* A mistake in a configuration file is not a finding about the instance. */
        if (instance && !text_starts_with(found.id, "config-"))
                finding->instance = instance->name;
}

/* ---- places ---- */

Diag rule_at_setting(RuleRun *run, const Setting *setting) {
        const char *colon = setting->origin ? strrchr(setting->origin, ':') : NULL;
        uint64_t line;

        if (!colon || parse_u64(colon + 1, &line) < 0 || line > UINT32_MAX)
                return (Diag){.file = setting->origin, .key = setting->name};
        return (Diag){
                .file = arena_strdup_to(run->arena, setting->origin, colon),
                .line = (unsigned) line,
                .key = setting->name,
        };
}

Diag rule_at_name(RuleRun *run, const RuleInstance *instance, const char *name) {
        const Setting *setting = rule_setting(instance, name);

        return setting ? rule_at_setting(run, setting)
                       : (Diag){.file = instance->gathered ? instance->gathered->config_file : NULL,
                                .key = name};
}

Diag rule_at_size(const RuleInstance *instance) {
        static const char *const keys[] = {"Pages", "Memory", "NodeMemory"};

        ARRAY_FOREACH(key, keys, ARRAY_LEN(keys))
                VEC_FOREACH(origin, &instance->config->origins)
                        if (text_equals(origin->key, *key))
                                return (Diag){.file = origin->file,
                                              .line = origin->line,
                                              .key = origin->key};
        return (Diag){.file = instance->config->file};
}

Diag rule_at_unit(const UnitAssignment *assignment) {
        return (Diag){.file = assignment->file, .line = assignment->line, .key = assignment->key};
}

/* ---- what is known of an instance ---- */

const Setting *rule_setting(const RuleInstance *instance, const char *name) {
        return instance->gathered ? settings_find(&instance->gathered->settings, name) : NULL;
}

bool rule_is_on(const RuleInstance *instance, const char *name) {
        const Setting *setting = rule_setting(instance, name);
        bool is_on;

        if (!setting)
                return false;
        /* An option without a value is on, as in option files. */
        if (!setting->value || *setting->value == '\0')
                return true;
        return parse_boolean(setting->value, &is_on) == 0 && is_on;
}

uint64_t rule_step_bytes(const RuleInstance *instance, const char *what) {
        const SizingStep *step = instance->sizing ? VEC_FIND(each, &instance->sizing->steps,
                                                             text_equals(each->what, what))
                                                  : NULL;

        return step ? step->bytes : 0;
}

bool rule_uses_sysv(const RuleInstance *instance) {
        return instance_shared_memory(instance->config) == SHARED_MEMORY_SYSV;
}

/* ---- running the rules ---- */

static RuleInstance make_instance(const HostView *input, size_t i) {
        const InstanceConfig *config = &input->config->instances[i];
        const PlanInstance *planned = &input->plan->instances[i];
        const Figure *figure = NULL;
        RuleInstance instance = {
                .config = config,
                .planned = planned,
                .facts = &input->facts->instances[i],
        };

        /* The figure of the planned page size, or else the last one. */
        VEC_FOREACH(each, input->figures)
                if (text_equals(each->instance, config->name) &&
                    !(figure && !figure->wrong &&
                      figure->sizing.page_size_bytes == planned->page_size_bytes))
                        figure = each;
        if (config->unit && input->page_users &&
            index_find_only(input->config->by_unit, config->unit))
                instance.page_user =
                        VEC_FIND(user, &input->page_users->list,
                                 text_equals(user->unit, config->unit) &&
                                         (user->page_size_bytes == planned->page_size_bytes ||
                                          user->page_size_bytes == 0));
        if (figure && figure->gathered && figure->gathered->is_read)
                instance.gathered = figure->gathered;
        if (figure && !figure->wrong && figure->sizing.page_size_bytes == planned->page_size_bytes)
                instance.sizing = &figure->sizing;
        return instance;
}

Findings rules_judge(Arena *arena, const HostView *view, const Diags *problems) {
        Findings findings = {};
        RuleInstance *instances =
                ARENA_ARRAY(arena, RuleInstance, MAX(view->config->n_instances, (size_t) 1));
        RuleRun run = {
                .arena = arena, .input = view, .instances = instances, .findings = &findings};

        VEC_FOREACH(problem, &problems->list)
                add_problem(&run, problem);
        for (size_t i = 0; i < view->config->n_instances; i++)
                if (!view->config->instances[i].refusal)
                        instances[run.n_instances++] = make_instance(view, i);
        ARRAY_FOREACH(family, families, ARRAY_LEN(families))
                ARRAY_FOREACH(row, (*family)->rows, (*family)->n) {
                        run.row = row;
                        run.instance = NULL;
                        if (row->find)
                                row->find(&run);
                        for (size_t i = 0; row->find_in_instance && i < run.n_instances; i++) {
                                const Engine *engine = instances[i].config->engine;

                                run.instance = &instances[i];
                                if (row->engines ? text_has_word(row->engines, engine->name)
                                                 : engine->reserves)
                                        row->find_in_instance(&run, run.instance);
                        }
                }
        /* Mistakes in files, from which others may follow, and what hurts come before the rest. */
        FindingList sorted = {};

        for (int is_rest = 0; is_rest < 2; is_rest++)
                VEC_FOREACH(finding, &findings.list)
                        if (is_rest == (finding->diag.severity != SEVERITY_ERROR &&
                                        !rule_hurts(&finding->diag)))
                                *vec_push(arena, &sorted) = *finding;
        findings.list = sorted;
        return findings;
}

size_t findings_count_hurting(const Findings *findings) {
        return VEC_SUM(finding, &findings->list, rule_hurts(&finding->diag));
}

size_t findings_count_mistakes(const Findings *findings) {
        return VEC_SUM(finding, &findings->list,
                       finding->diag.severity == SEVERITY_ERROR && !rule_hurts(&finding->diag));
}
