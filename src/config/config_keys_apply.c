/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Applies the assignments of a file by the rows of config_keys.c. */
#include "base/text.h"
#include "config/config_keys.h"
#include "model/problem.h"

#include <string.h>
#include <strings.h>

static const ConfigKey *find_key(Section section, const char *name) {
        return ARRAY_FIND(key, config_keys, n_config_keys,
                          key->section == section && text_equals(key->name, name));
}

static void refuse_unknown(Arena *arena, Section section, const Assignment *assignment,
                           ParsedFile *parsed, Diags *problems) {
        Section other = section == SECTION_HOST ? SECTION_INSTANCE : SECTION_HOST;
        NearMiss miss = {assignment->key, 3};
        const char *remedy;

        /* A difference in case only is the most likely mistake. */
        ARRAY_FOREACH(key, config_keys, n_config_keys)
                if (key->section == section)
                        near_miss_try_at(&miss, key->name,
                                         strcasecmp(key->name, assignment->key) == 0
                                                 ? 0
                                                 : text_distance(key->name, assignment->key));
        if (miss.name && miss.distance == 0)
                remedy = arena_printf(arena, "write %s=", miss.name);
        else if (find_key(other, assignment->key))
                remedy = arena_printf(arena, "the key belongs into the section [%s]",
                                      other == SECTION_HOST ? "Host" : "Instance");
        else if (miss.name)
                remedy = arena_printf(arena, "did you mean %s=? hugeplan.d(5) lists the keys",
                                      miss.name);
        else
                remedy = "hugeplan.d(5) lists the keys; your own begin with X-";
        config_file_refuse(parsed, problems, PROBLEM_CONFIG_UNKNOWN_KEY, assignment->line,
                           assignment->key, "unknown key", remedy);
}

/* Resets a key to its default. */
static void reset_key(const ConfigKey *key, KeyTarget *target) {
        if (key->reset)
                key->reset(target);
        else if (key->default_value)
                key->set(target, key, key->default_value);
        else /* lists too: their array is shared with the configuration before this file */
                memset(config_key_member(target, key), 0, key->size);
}

void config_keys_set_defaults(KeyTarget *target, Section section) {
        ARRAY_FOREACH(key, config_keys, n_config_keys)
                if (key->section == section && key->default_value)
                        key->set(target, key, key->default_value);
}

/* Removes the origins of a value that is no longer in effect. */
static void forget_origins(InstanceConfig *instance, const char *key) {
        VEC_KEEP(origin, &instance->origins, !text_equals(origin->key, key));
}

/* Returns the line of an earlier, non-empty assignment of the same key in this file, or 0 if there is none. */
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
        const char *wrong = earlier > 0 ? NULL : key->set(target, key, assignment->value);

        if (earlier > 0)
                config_file_refuse(parsed, problems, PROBLEM_CONFIG_SET_TWICE, assignment->line,
                                   key->name,
                                   arena_printf(arena, "is set in line %u already", earlier),
                                   "keep one of the lines");
        else if (wrong)
                config_file_refuse(parsed, problems, PROBLEM_CONFIG_BAD_VALUE, assignment->line,
                                   key->name, wrong, key->expects);
        else if (target->instance && !target->is_learned) {
                if (!key->is_list)
                        forget_origins(target->instance, key->name);
                *vec_push(arena, &target->instance->origins) =
                        (ConfigOrigin){key->name, assignment->value, target->file, target->line};
        }
}

void config_keys_apply(KeyTarget *target, Section section, ParsedFile *parsed, Diags *problems) {
        const char *name = section == SECTION_HOST ? "Host" : "Instance";

        VEC_FOREACH(assignment, &parsed->assignments)
                if (text_equals(assignment->section, name))
                        apply_one(target, section, assignment, parsed, problems);
}
