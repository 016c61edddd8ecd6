/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/oracle/oracle.h"

#include "base/text.h"

#include <string.h>

enum { SID_LENGTH_MAX = 64, INSTANCES_MAX = 256 };

static const char letters_of_sids[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        "_$#+-";

bool oracle_sid_is_valid(const char *sid) {
        size_t length = strspn(sid, letters_of_sids);

        return length > 0 && length <= SID_LENGTH_MAX && sid[length] == '\0';
}

/* ---- oratab ---- */

/* Takes the text up to the next colon, without surrounding whitespace. */
static char *take_field(Arena *arena, const char **line) {
        size_t length = strcspn(*line, ":");
        char *field = text_strip(arena, arena_strndup(arena, *line, length));

        *line += length + ((*line)[length] == ':');
        return field;
}

/* Messages name it. */
static bool is_home(Arena *arena, const char *path) {
        return *path == '/' && text_equals(text_printable(arena, path), path);
}

OracleInstances oracle_instances_read(Arena *arena, const Sources *sources) {
        static const char *const paths[] = {"/etc/oratab", "/var/opt/oracle/oratab"};
        OracleInstances instances = {};

        ARRAY_FOREACH(path, paths, ARRAY_LEN(paths)) {
                SourceText text = source_read(sources, arena, *path);

                SOURCE_FOREACH(line, arena, lines, &text) {
                        /* SID:ORACLE_HOME:FLAG, optionally with a comment. "*" is an entry without an instance. */
                        const char *sid = take_field(arena, &line);
                        const char *home = take_field(arena, &line);
                        const char *flag = take_field(arena, &line);

                        if (instances.n < INSTANCES_MAX && oracle_sid_is_valid(sid) &&
                            *sid != '#' && is_home(arena, home) &&
                            !oracle_instances_find(&instances, sid))
                                *vec_push(arena, &instances) = (OracleInstance){
                                        .sid = sid,
                                        .home = text_without_slashes(arena, home),
                                        .origin = source_origin(arena, *path, lines.number),
                                        .is_started = *flag == 'Y' || *flag == 'W',
                                };
                }
                if (text.error == 0)
                        break;
        }
        return instances;
}

const OracleInstance *oracle_instances_find(const OracleInstances *instances, const char *sid) {
        return VEC_FIND(instance, instances, text_equals(instance->sid, sid));
}

/* ---- files ---- */

/* NAME consists of PREFIX, a SID, and ".ora". */
static const char *sid_between(Arena *arena, const char *name, const char *prefix) {
        static const char suffix[] = ".ora";
        size_t head = strlen(prefix), tail = strlen(suffix), length = strlen(name);

        if (length <= head + tail || !text_starts_with(name, prefix) ||
            !text_ends_with(name, suffix))
                return NULL;
        const char *sid = arena_strndup(arena, name + head, length - head - tail);

        return oracle_sid_is_valid(sid) ? sid : NULL;
}

const char *oracle_sid_of_file(Arena *arena, const char *path) {
        const char *name = text_base_name(path);
        const char *sid = sid_between(arena, name, "spfile");

        return sid ? sid : sid_between(arena, name, "init");
}

/* HOME:BASE:NAME:Y: in HOME/install/orabasetab; Y for a read-only home. */
static const char *read_base(Arena *arena, const Sources *sources, const char *home,
                             bool *ret_is_read_only) {
        const char *path = arena_printf(arena, "%s/install/orabasetab", home);
        SourceText text = source_read(sources, arena, path);

        SOURCE_FOREACH(line, arena, lines, &text) {
                const char *entry = text_without_slashes(arena, take_field(arena, &line));
                const char *base = take_field(arena, &line);

                if (!text_equals(entry, home) || !is_home(arena, base))
                        continue;
                take_field(arena, &line);
                *ret_is_read_only = *take_field(arena, &line) == 'Y';
                return text_without_slashes(arena, base);
        }
        return NULL;
}

SourceNames oracle_parameter_directories(Arena *arena, const Sources *sources, const char *home,
                                         const char *base) {
        bool is_read_only = false;
        const char *found = read_base(arena, sources, home, &is_read_only);
        const char *of_home = arena_printf(arena, "%s/dbs", home);
        SourceNames directories = {};

        if (!base)
                base = found;
        if (!is_read_only)
                *vec_push(arena, &directories) = of_home;
        if (base)
                *vec_push(arena, &directories) = arena_printf(arena, "%s/dbs", base);
        if (is_read_only)
                *vec_push(arena, &directories) = of_home;
        return directories;
}

const char *oracle_parameter_file(Arena *arena, const Sources *sources,
                                  const SourceNames *directories, const char *sid) {
        VEC_FOREACH(directory, directories) {
                const char *const paths[] = {
                        arena_printf(arena, "%s/spfile%s.ora", *directory, sid),
                        arena_printf(arena, "%s/spfile.ora", *directory),
                        arena_printf(arena, "%s/init%s.ora", *directory, sid),
                };

                for (size_t i = 0; i < ARRAY_LEN(paths); i++)
                        if (source_exists(sources, arena, paths[i]))
                                return paths[i];
        }
        return NULL;
}

const char *oracle_only_sid(Arena *arena, const Sources *sources, const SourceNames *directories) {
        const char *only = NULL;

        VEC_FOREACH(directory, directories) {
                SourceNames names = source_list(sources, arena, *directory);

                VEC_FOREACH(name, &names) {
                        const char *sid = oracle_sid_of_file(arena, *name);

                        if (sid && only && !text_equals(sid, only))
                                return NULL;
                        if (sid)
                                only = sid;
                }
        }
        return only;
}

/* ---- units: each site writes its own, under any name ---- */

const char *oracle_unit_instance(Arena *arena, const char *unit) {
        const char *at = unit ? strchr(unit, '@') : NULL;
        const char *dot = at ? strrchr(at, '.') : NULL;

        return dot ? arena_strdup_to(arena, at + 1, dot) : NULL;
}

const char *oracle_unit_of(Arena *arena, const Sources *sources, const OracleInstance *instance) {
        const SourceNames names = unit_file_names(arena, sources, "*.service");
        const char *only = NULL;

        VEC_FOREACH(name, &names) {
                const UnitFile *unit = unit_file_read(arena, sources, *name);

                if (!text_equals(unit->name, *name)) /* an alias */
                        continue;
                const char *sid = unit_file_environment(unit, "ORACLE_SID", NULL);
                UnitAssignments commands = unit_file_list(unit, "Service", "ExecStart");

                /* A listener has the same environment but starts no instance; dbstart uses oratab, whatever its
                 * environment. */
                if (commands.n == 0 ||
                    !text_equals(sid ? sid : oracle_unit_instance(arena, unit->name),
                                 instance->sid) ||
                    started_by_unit(unit, "dbstart") ||
                    VEC_ANY(command, &commands, strstr((*command)->value, "lsnrctl") != NULL))
                        continue;
                if (only)
                        return NULL;
                only = *name;
        }
        return only;
}
