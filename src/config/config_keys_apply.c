/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the assignments of a file to the rows of config_keys.c. */
#include "base/text.h"
#include "config/config_keys.h"
#include "model/problem.h"

#include <strings.h>

static const ConfigKey *find_key(Section section, const char *name) {
        for (size_t i = 0; i < n_config_keys; i++)
                if (config_keys[i].section == section && text_equals(config_keys[i].name, name))
                        return &config_keys[i];
        return NULL;
}

/* The row whose name differs only in case, or NULL: the likeliest slip. */
static const ConfigKey *find_similar(Section section, const char *name) {
        for (size_t i = 0; i < n_config_keys; i++)
                if (config_keys[i].section == section && strcasecmp(config_keys[i].name, name) == 0)
                        return &config_keys[i];
        return NULL;
}

static void refuse_unknown(Arena *arena, Section section, const Assignment *assignment,
                           ParsedFile *parsed, Diags *problems) {
        Section other = section == SECTION_HOST ? SECTION_INSTANCE : SECTION_HOST;
        const ConfigKey *similar = find_similar(section, assignment->key);
        const char *remedy;

        if (similar)
                remedy = arena_printf(arena, "write %s=", similar->name);
        else if (find_key(other, assignment->key))
                remedy = arena_printf(arena, "the key belongs into the section [%s]",
                                      other == SECTION_HOST ? "Host" : "Instance");
        else
                remedy = "hugeplan.d(5) lists the keys; your own begin with X-";
        config_file_refuse(arena, parsed, problems,
                           &(Diag){.id = problem_id(PROBLEM_CONFIG_UNKNOWN_KEY),
                                   .line = assignment->line,
                                   .key = assignment->key,
                                   .text = "unknown key",
                                   .remedy = remedy});
}

static void refuse_value(Arena *arena, const ConfigKey *key, const Assignment *assignment,
                         const char *wrong, ParsedFile *parsed, Diags *problems) {
        config_file_refuse(arena, parsed, problems,
                           &(Diag){.id = problem_id(PROBLEM_CONFIG_BAD_VALUE),
                                   .line = assignment->line,
                                   .key = key->name,
                                   .text = wrong,
                                   .remedy = key->expects});
}

/* Puts a key back to its default. */
static void reset_key(const ConfigKey *key, KeyTarget *target) {
        if (key->reset)
                key->reset(target);
        else if (key->default_value)
                key->set(target, key->default_value);
}

void config_keys_set_defaults(KeyTarget *target, Section section) {
        for (size_t i = 0; i < n_config_keys; i++)
                if (config_keys[i].section == section && config_keys[i].default_value)
                        config_keys[i].set(target, config_keys[i].default_value);
}

/* Takes the origins of a value off that no longer counts. */
static void forget_origins(InstanceConfig *instance, const char *key) {
        size_t n = 0;

        VEC_FOREACH(origin, &instance->origins)
                if (!text_equals(origin->key, key))
                        instance->origins.items[n++] = *origin;
        instance->origins.n = n;
}

static void note_origin(KeyTarget *target, const ConfigKey *key, const Assignment *assignment,
                        const ParsedFile *parsed) {
        InstanceConfig *instance = target->instance;

        if (!key->is_list)
                forget_origins(instance, key->name);
        *vec_push(target->arena, &instance->origins) =
                (ConfigOrigin){key->name, assignment->value, parsed->file->path, assignment->line};
}

/* The line of an earlier, non-empty assignment of the same key in this file; 0 if there is none. */
static unsigned earlier_line(const ParsedFile *parsed, const Assignment *assignment) {
        unsigned line = 0;

        for (const Assignment *a = parsed->assignments.items; a < assignment; a++)
                if (text_equals(a->section, assignment->section) &&
                    text_equals(a->key, assignment->key))
                        line = *a->value ? a->line : 0;
        return line;
}

static void apply_one(KeyTarget *target, Section section, const Assignment *assignment,
                      ParsedFile *parsed, Diags *problems) {
        Arena *arena = target->arena;
        const ConfigKey *key = find_key(section, assignment->key);

        target->file = parsed->file->path;
        target->line = assignment->line;
        if (text_starts_with(assignment->key, "X-")) {
                if (target->is_learned)
                        config_keys_note_learned(target, assignment);
                return;
        }
        if (!key) {
                refuse_unknown(arena, section, assignment, parsed, problems);
                return;
        }
        if (*assignment->value == '\0') {
                reset_key(key, target);
                if (target->instance)
                        forget_origins(target->instance, key->name);
                return;
        }

        unsigned earlier = key->is_list ? 0 : earlier_line(parsed, assignment);
        const char *wrong = earlier > 0 ? NULL : key->set(target, assignment->value);

        if (earlier > 0)
                config_file_refuse(
                        arena, parsed, problems,
                        &(Diag){.id = problem_id(PROBLEM_CONFIG_SET_TWICE),
                                .line = assignment->line,
                                .key = key->name,
                                .text = arena_printf(arena, "is set in line %u already", earlier),
                                .remedy = "keep one of the lines"});
        else if (wrong)
                refuse_value(arena, key, assignment, wrong, parsed, problems);
        else if (target->instance && !target->is_learned)
                note_origin(target, key, assignment, parsed);
}

void config_keys_apply(KeyTarget *target, Section section, ParsedFile *parsed, Diags *problems) {
        const char *name = section == SECTION_HOST ? "Host" : "Instance";

        VEC_FOREACH(assignment, &parsed->assignments)
                if (text_equals(assignment->section, name))
                        apply_one(target, section, assignment, parsed, problems);
}
