/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The existing units, and which of them start others: the third part of unit_file.h. */

#include "base/text.h"
#include "model/name_check.h"
#include "read/unit_file.h"

#include <fnmatch.h>

enum { NAMES_MAX = 65536 };

/* An entry of a .wants, .requires or .upholds directory. */
typedef struct Link {
        const char *unit, *by;
} Link;

typedef VEC(Link) Links;

static Links find_links(Arena *arena, const Sources *sources) {
        Links links = {};

        for (size_t i = 0; i < n_unit_directories; i++) {
                const SourceNames found = source_list(sources, arena, unit_directories[i]);

                VEC_FOREACH(name, &found) {
                        const char *dot = strrchr(*name, '.');

                        if (!dot || !TEXT_IS_ANY(dot, ".wants", ".requires", ".upholds"))
                                continue;
                        const SourceNames units = source_list(
                                sources, arena,
                                arena_printf(arena, "%s/%s", unit_directories[i], *name));
                        const char *by = arena_strdup_to(arena, *name, dot);

                        VEC_FOREACH(unit, &units)
                                *vec_push(arena, &links) = (Link){*unit, by};
                }
        }
        return links;
}

/* Returns the "@..." of an instance or template; NULL: NAME is neither. */
static const char *find_instance(const char *name) {
        const char *at = strchr(name, '@');

        return at && at < strrchr(name, '.') ? at : NULL;
}

/* Adds NAME if it matches PATTERN. Templates are added only if PATTERN is for templates. */
static void add_name(Arena *arena, const char *name, const char *pattern, SourceNames *names) {
        if (!name_is_unit(name) || fnmatch(pattern, name, FNM_PATHNAME) != 0)
                return;
        const char *instance = find_instance(name);

        if ((!instance || instance[1] != '.' || strstr(pattern, "@.")) && names->n < NAMES_MAX)
                *vec_push(arena, names) = name;
}

/* Returns the names of unit files and of LINKS. */
static SourceNames names_beside(Arena *arena, const Sources *sources, const Links *links,
                                const char *pattern) {
        SourceNames names = {};

        VEC_FOREACH(link, links)
                add_name(arena, link->unit, pattern, &names);
        for (size_t i = 0; i < n_unit_directories; i++) {
                const SourceNames found = source_list(sources, arena, unit_directories[i]);

                VEC_FOREACH(name, &found)
                        add_name(arena, *name, pattern, &names);
        }
        const char *before = NULL;

        vec_sort(&names, text_compare);
        VEC_KEEP(name, &names, !text_equals(*name, before) && (before = *name));
        return names;
}

SourceNames unit_file_names(Arena *arena, const Sources *sources, const char *pattern) {
        const Links links = find_links(arena, sources);

        return names_beside(arena, sources, &links, pattern);
}

/* ---- units that start others ---- */

/* Units that start another: KEY names it; without KEY it is the service of the same name. */
static const struct {
        const char *suffix, *section, *key;
} triggers[] = {
        {".timer", "Timer", "Unit"},
        {".path", "Path", "Unit"},
        {".socket", "Socket", "Service"},
};

static void add_start(Arena *arena, Index *starters, const char *unit, const char *by) {
        const char *instance = find_instance(unit);

        index_add(starters, unit, by);
        if (instance && instance[1] != '.')
                index_add(starters,
                          arena_printf(arena, "%.*s@%s", (int) (instance - unit), unit,
                                       strrchr(unit, '.')),
                          by);
}

Index *unit_file_starters(Arena *arena, const Sources *sources) {
        static const char keys[] = "Requires Wants BindsTo Upholds OnSuccess OnFailure";
        Index *starters = index_new(arena);
        const Links links = find_links(arena, sources);
        const SourceNames names = names_beside(arena, sources, &links, "*");

        VEC_FOREACH(link, &links)
                add_start(arena, starters, link->unit, link->by);
        VEC_FOREACH(name, &names) {
                const UnitFile *unit = unit_file_read(arena, sources, *name);

                if (!unit->fragment_path || unit->is_masked || !text_equals(unit->name, *name))
                        continue;
                VEC_FOREACH(line, &unit->assignments)
                        if (text_equals(line->section, "Unit") && text_has_word(keys, line->key))
                                TEXT_FOREACH(word, arena, line->value, " \t")
                                        add_start(arena, starters, word, *name);
                ARRAY_FOREACH(trigger, triggers, ARRAY_LEN(triggers)) {
                        const char *started = unit_file_value(unit, trigger->section, trigger->key);
                        const char *each = unit_file_value(unit, trigger->section, "Accept");
                        bool is_template = TEXT_IS_ANY(each, "yes", "true", "1", "on");

                        if (!text_ends_with(*name, trigger->suffix))
                                continue;
                        if (!started)
                                started = arena_printf(
                                        arena, "%s%s.service",
                                        arena_strdup_to(arena, *name, strrchr(*name, '.')),
                                        is_template ? "@" : "");
                        add_start(arena, starters, started, *name);
                }
        }
        return starters;
}
