/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "base/text.h"
#include "demand/figures.h"
#include "units/loaded_unit.h"

static SourceNames values_of(Arena *arena, const UnitFile *file, const char *key) {
        UnitAssignments assignments = unit_file_list(file, "Service", key);
        SourceNames values = {};

        VEC_FOREACH(assignment, &assignments)
                *vec_push(arena, &values) = (*assignment)->value;
        return values;
}

int unit_size_parse(Arena *arena, const char *value, uint64_t *ret_bytes) {
        const char *soft = text_strip(arena, arena_strndup(arena, value, strcspn(value, ":")));

        if (text_equals(soft, "infinity")) {
                *ret_bytes = UINT64_MAX;
                return 0;
        }
        return parse_size_bytes(soft, ret_bytes);
}

bool unit_allows(const UnitFile *unit, const char *key, const char *words, bool if_unset) {
        const UnitAssignments lines = unit_file_list(unit, "Service", key);
        bool is_allowed = lines.n > 0 ? *lines.items[0]->value == '~' : if_unset;

        VEC_FOREACH(line, &lines) {
                bool is_forbidding = *(*line)->value == '~';

                TEXT_FOREACH(word, unit->arena, (*line)->value + is_forbidding, " \t:")
                        if (text_has_word(words, word))
                                is_allowed = !is_forbidding;
        }
        return is_allowed;
}

/* A drop-in that assigns nothing does not count. */
LoadedUnit unit_search_loaded(Arena *arena, const char *name, const UnitFile *file) {
        LoadedUnit unit = {
                .name = name,
                .load_state = !file->fragment_path ? "not-found"
                              : file->is_masked    ? "masked"
                                                   : "loaded",
                .pre_starts = values_of(arena, file, "ExecStartPre"),
                .starts = values_of(arena, file, "ExecStart"),
                .memory_lock_bytes = 8 * MIB, /* DEFAULT_RLIMIT_MEMLOCK of systemd */
                .may_lock = unit_allows(file, "AmbientCapabilities", "CAP_IPC_LOCK", false),
                .user = unit_file_value(file, "Service", "User") ?: "",
                .group = unit_file_value(file, "Service", "Group") ?: "",
        };
        const SourceNames lines = values_of(arena, file, "SupplementaryGroups");
        const char *limit = unit_file_value(file, "Service", "LimitMEMLOCK");

        VEC_FOREACH(line, &lines)
                TEXT_FOREACH(group, arena, *line, " \t")
                        *vec_push(arena, &unit.groups) = group;
        if (limit)
                unit_size_parse(arena, limit, &unit.memory_lock_bytes);

        VEC_FOREACH(assignment, &file->assignments)
                if (!text_equals(assignment->file, file->fragment_path) &&
                    !source_names_have(&unit.dropins, assignment->file))
                        *vec_push(arena, &unit.dropins) = assignment->file;
        return unit;
}

/* ---- servers ---- */

enum { SLIP_MAX = 3 }; /* letters */

/* Whether UNIT starts a server of ENGINE that exists. */
static bool is_server(Arena *arena, const Sources *sources, const Engine *engine,
                      const char *unit) {
        const UnitFile *file = unit_file_read(arena, sources, unit);
        const SourceNames commands = values_of(arena, file, "ExecStart");
        const EngineReader *reader = engine_reader(engine);
        const EngineTarget target = {.unit = unit};

        if (!engine->programs)
                return file->fragment_path && !file->is_masked;
        return !file->is_masked && unit_match_is_server(arena, engine, &commands) &&
               (!reader->find_absent ||
                !reader->find_absent(engine, arena, &target, sources, false));
}

static const char *find_nearest(Arena *arena, const Sources *sources, const Config *config,
                                const InstanceConfig *instance) {
        const Engine *engine = instance->engine;
        const char *nearest = NULL;
        SourceNames names = {};
        /* If the engine's programs are not known, only a name that differs by a few letters is suggested. */
        size_t least = engine->programs ? SIZE_MAX : SLIP_MAX + 1;

        if (engine_reader(engine)->add_units)
                engine_reader(engine)->add_units(engine, arena, sources, &names);
        TEXT_FOREACH(pattern, arena, engine->units ? engine->units : "*.service", " ") {
                SourceNames found = unit_file_names(arena, sources, pattern);

                vec_push_all(arena, &names, &found);
        }
        VEC_FOREACH(name, &names) {
                size_t distance = text_distance(instance->unit, *name);

                /* Names are made from directories and groups, and may have any bytes. */
                if (!text_equals(text_printable(arena, *name), *name))
                        continue;
                if (distance >= least ||
                    ARRAY_FIND(other, config->instances, config->n_instances,
                               text_equals(other->unit, *name)) ||
                    !is_server(arena, sources, engine, *name))
                        continue;
                nearest = *name;
                least = distance;
        }
        return nearest;
}

static const char *find_absent(Arena *arena, const Sources *sources,
                               const InstanceConfig *instance) {
        const EngineReader *reader = engine_reader(instance->engine);
        const EngineTarget target = figures_target(instance, NULL);

        const char *why = reader->find_absent ? reader->find_absent(instance->engine, arena,
                                                                    &target, sources, true)
                                              : NULL;

        return why ? arena_printf(arena, "%s %s", instance->unit, why) : NULL;
}

UnitSearch unit_search(const Sources *sources) {
        return (UnitSearch){sources, find_absent, find_nearest};
}
