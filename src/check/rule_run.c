/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/rule_run.h"

#include "base/text.h"
#include "config/instance_limits.h"
#include "units/hugetlb_limit.h"

#include <string.h>

/* DEFAULT_RLIMIT_MEMLOCK of systemd. */
static const uint64_t memlock_default_bytes = 8 * MIB;

/* ---- findings ---- */

static Finding *add_finding(Arena *arena, const Config *config, const Diag *diag,
                            Findings *findings) {
        const Finding finding = {
                .diag = *diag,
                .hurts = diag->severity != SEVERITY_NOTICE && rule_hurts(diag->id),
                .silenced_by =
                        VEC_FIND(each, &config->host.silenced, text_equals(each->id, diag->id)),
        };

        Finding *added =
                vec_push(arena, finding.silenced_by ? &findings->silenced : &findings->list);

        *added = finding;
        return added;
}

/* A line that has to be corrected is one finding, even if several instances read it. */
static bool is_same(const RuleRun *run, const Finding *finding, const Diag *diag) {
        const Diag *other = &finding->diag;

        return finding->instances.n > 0 &&
               !text_equals(finding->instances.items[finding->instances.n - 1],
                            run->instance->config->name) &&
               diag->line > 0 && diag->line == other->line && diag->severity == other->severity &&
               text_equals(diag->id, other->id) && text_equals(diag->file, other->file) &&
               text_equals(diag->key, other->key) && text_equals(diag->remedy, other->remedy);
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

void rule_add_as(RuleRun *run, Severity severity, const Diag *diag) {
        Diag found = printable_diag(run->arena, diag);

        found.id = rules[run->row->kind].id;
        found.severity = severity;
        FindingList *const lists[] = {&run->findings->list, &run->findings->silenced};
        Finding *finding = NULL;

        for (size_t i = 0; run->instance && !finding && i < ARRAY_LEN(lists); i++)
                finding = VEC_FIND(each, lists[i], is_same(run, each, &found));
        if (!finding)
                finding = add_finding(run->arena, run->input->config, &found, run->findings);
        if (run->instance)
                *vec_push(run->arena, &finding->instances) = run->instance->config->name;
}

void rule_add(RuleRun *run, const Diag *diag) {
        rule_add_as(run, rules[run->row->kind].severity, diag);
}

void rule_report(RuleRun *run, Diag at, const char *remedy, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        at.text = arena_vprintf(run->arena, format, arguments);
        va_end(arguments);
        at.remedy = remedy;
        rule_add(run, &at);
}

void rule_add_problem(RuleRun *run, const Diag *problem) {
        const Diag found = printable_diag(run->arena, problem);
        const Config *config = run->input->config;
        Finding *finding = add_finding(run->arena, config, &found, run->findings);
        const InstanceConfig *instance = ARRAY_FIND(each, config->instances, config->n_instances,
                                                    text_equals(each->file, problem->file));

        /* A mistake in a configuration file is not a finding about the instance. */
        if (instance && !text_starts_with(found.id, "config-"))
                *vec_push(run->arena, &finding->instances) = instance->name;
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

char *rule_limit_file(const RuleRun *run, const UnitFacts *unit, uint64_t page_size_bytes) {
        const char *group =
                arena_printf(run->arena, "%s%s", run->input->facts->hierarchy, unit->group);

        return hugetlb_limit_path(run->arena, group, page_size_bytes);
}

bool rule_has_engine(const RuleRun *run, const char *name) {
        return ARRAY_ANY(instance, run->instances, run->n_instances,
                         text_equals(instance->config->engine->name, name));
}

void rule_add_if_most(RuleRun *run, const char *why, const char *remedy) {
        uint64_t memory = topology_memory_bytes(run->input->topology);
        uint64_t planned =
                ARRAY_SUM(instance, run->instances, run->n_instances, rule_planned_bytes(instance));

        if (planned <= share_of(memory, 7000) || planned > memory)
                return;
        rule_report(run, (Diag){}, remedy, "the instances want %s of %s, %" PRIu64 "%%; %s",
                    format_size(run->arena, planned), format_size(run->arena, memory),
                    planned / MAX(memory / 100, (uint64_t) 1), why);
}

bool rule_has_unit(const RuleInstance *instance) {
        return instance->facts->unit && instance->facts->unit->file->fragment_path;
}

/* The value is "CAP_IPC_LOCK CAP_NICE"; capabilities after "~" are removed. */
bool rule_may_lock(const RuleInstance *instance) {
        const UnitFacts *unit = instance->facts->unit;
        const OwnerFacts *owner = &instance->facts->owner;

        if (owner->has_ids && owner->uid == 0)
                return true;
        const UnitAssignment *ambient =
                unit ? unit_file_find(unit->file, "Service", "AmbientCapabilities") : NULL;

        return ambient &&
               (*ambient->value == '~') !=
                       text_has_word(ambient->value + (*ambient->value == '~'), "CAP_IPC_LOCK");
}

uint64_t rule_memlock_bytes(RuleRun *run, const RuleInstance *instance,
                            const UnitAssignment **ret_assignment) {
        const UnitFacts *unit = instance->facts->unit;
        const UnitAssignment *limit = unit ? unit_file_find(unit->file, "Service", "LimitMEMLOCK")
                                           : NULL;
        uint64_t bytes;

        *ret_assignment = NULL;
        if (!limit || unit_size_parse(run->arena, limit->value, &bytes) < 0)
                return memlock_default_bytes;
        *ret_assignment = limit;
        return bytes;
}
