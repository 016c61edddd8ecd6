/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/unit_file.h"

#include "base/size.h"
#include "base/text.h"

#include <fnmatch.h>
#include <stdlib.h>

/* Packagers and administrators write unit files, and containers and captured hosts bring theirs:
 * what is beyond these is not there. */
enum {
        NAME_BYTES_MAX = 255, /* UNIT_NAME_MAX */
        ALIAS_DEPTH = 8,
        DIRECTORIES_MAX = 4096, /* looked into for drop-ins */
        DROPINS_MAX = 512,
        ASSIGNMENTS_MAX = 4096,
        VALUE_BYTES_MAX = 64 << 10,
        VALUE_BYTES_IN_ALL = 1 << 20,
        NAMES_MAX = 65536,
};

static const char whitespace[] = " \t";

/* Where the system's units are, the most important directory first. */
static const char *const directories[] = {
        "/etc/systemd/system.control", "/run/systemd/system.control",
        "/run/systemd/transient",      "/run/systemd/generator.early",
        "/etc/systemd/system",         "/etc/systemd/system.attached",
        "/run/systemd/system",         "/run/systemd/system.attached",
        "/run/systemd/generator",      "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",     "/lib/systemd/system",
        "/run/systemd/generator.late",
};

typedef struct Dropin {
        const char *name; /* "10-hugeplan.conf" */
        const char *path;
} Dropin;

typedef struct Reader {
        Arena *arena;
        const Sources *sources;
        UnitFile *unit;
        SourceText fragment;
        SourceNames names; /* its own, last, and its aliases */
        VEC(Dropin) dropins;
        size_t n_directories;
        size_t value_bytes;
} Reader;

/* ---- names ---- */

bool unit_file_is_name(const char *name) {
        static const char letters[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                ":_.\\@-";
        size_t length = strlen(name);

        return length <= NAME_BYTES_MAX && strspn(name, letters) == length && *name != '.' &&
               *name != '@' && strrchr(name, '.');
}

/* "postgresql@15-main.service" -> "postgresql", "15-main", ".service". */
typedef struct NameParts {
        const char *prefix;
        const char *instance; /* "" of a template, NULL of neither template nor instance */
        const char *suffix;
} NameParts;

static NameParts split_name(Arena *arena, const char *name) {
        const char *dot = strrchr(name, '.'), *at = strchr(name, '@');
        NameParts parts = {.suffix = dot};

        if (at && at < dot) {
                parts.prefix = arena_strndup(arena, name, (size_t) (at - name));
                parts.instance = arena_strndup(arena, at + 1, (size_t) (dot - at - 1));
        } else
                parts.prefix = arena_strndup(arena, name, (size_t) (dot - name));
        return parts;
}

static const char *join_name(Arena *arena, const NameParts *parts) {
        return arena_printf(arena, "%s%s%s%s", parts->prefix, parts->instance ? "@" : "",
                            parts->instance ? parts->instance : "", parts->suffix);
}

/* NULL for what is no instance. */
static const char *template_name(Arena *arena, const char *name) {
        NameParts parts = split_name(arena, name);

        if (!parts.instance || !*parts.instance)
                return NULL;
        parts.instance = "";
        return join_name(arena, &parts);
}

/* TEMPLATE for the instance that NAME is one; TEMPLATE itself where either is none. */
static const char *instantiate(Arena *arena, const char *template, const char *name) {
        NameParts parts = split_name(arena, template), of = split_name(arena, name);

        if (parts.instance && !*parts.instance && of.instance)
                parts.instance = of.instance;
        return join_name(arena, &parts);
}

/* "foo-bar-baz" -> "foo-bar-" -> "foo-"; NULL when nothing is left to take off. */
static const char *chop_prefix(Arena *arena, const char *prefix) {
        size_t n = strlen(prefix);

        if (n > 0 && prefix[n - 1] == '-')
                n--;
        while (n > 0 && prefix[n - 1] != '-')
                n--;
        return n > 1 ? arena_strndup(arena, prefix, n) : NULL;
}

/* ---- fragment ---- */

/* Links to a unit of the search path are aliases; others link a unit file that is elsewhere. */
static bool is_alias(Arena *arena, const char *target) {
        const char *name = text_base_name(target);

        return unit_file_is_name(name) &&
               (name == target ||
                text_ends_with(arena_strndup(arena, target, (size_t) (name - target)),
                               "/systemd/system/"));
}

typedef enum Found { FOUND_NOTHING, FOUND_FRAGMENT, FOUND_ALIAS } Found;

/* Looks for the file of NAME, which is *UNIT_NAME or its template, in one directory. An alias gives
 * *UNIT_NAME anew. */
static Found look_in(Reader *reader, const char *directory, const char *name,
                     const char **unit_name) {
        const char *path = arena_printf(reader->arena, "%s/%s", directory, name);
        const char *target = source_link(reader->sources, reader->arena, path);
        UnitFile *unit = reader->unit;

        if (target && is_alias(reader->arena, target)) {
                const char *other = instantiate(reader->arena, text_base_name(target), *unit_name);

                if (!text_equals(other, *unit_name)) {
                        *unit_name = other;
                        return FOUND_ALIAS;
                }
        }
        SourceText text = source_read(reader->sources, reader->arena, path);
        bool is_null = text_equals(target, "/dev/null");

        if (text.error < 0 && !is_null)
                return FOUND_NOTHING;
        unit->fragment_path = path;
        unit->is_masked = is_null || text.size == 0;
        reader->fragment = text;
        return FOUND_FRAGMENT;
}

static Found look_everywhere(Reader *reader, const char **unit_name) {
        const char *names[] = {*unit_name, template_name(reader->arena, *unit_name)};

        for (size_t k = 0; k < ARRAY_LEN(names) && names[k]; k++)
                for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                        Found found = look_in(reader, directories[i], names[k], unit_name);

                        if (found != FOUND_NOTHING)
                                return found;
                }
        return FOUND_NOTHING;
}

static void find_fragment(Reader *reader) {
        const char *name = reader->unit->name;
        Found found;

        do {
                *vec_push(reader->arena, &reader->names) = name;
                found = look_everywhere(reader, &name);
        } while (found == FOUND_ALIAS && reader->names.n < ALIAS_DEPTH);
        if (found == FOUND_FRAGMENT)
                reader->unit->name = name;
}

/* ---- drop-ins ---- */

static bool has_dropin(const Reader *reader, const char *name) {
        VEC_FOREACH(dropin, &reader->dropins)
                if (text_equals(dropin->name, name))
                        return true;
        return false;
}

/* A file replaces all of its name in the directories that come after. */
static void add_directory(Reader *reader, const char *directory, const char *name) {
        const char *path = arena_printf(reader->arena, "%s/%s.d", directory, name);

        if (reader->n_directories++ >= DIRECTORIES_MAX)
                return;
        SourceNames names = source_list(reader->sources, reader->arena, path);

        VEC_FOREACH(file, &names)
                if (**file != '.' && text_ends_with(*file, ".conf") &&
                    reader->dropins.n < DROPINS_MAX && !has_dropin(reader, *file))
                        *vec_push(reader->arena, &reader->dropins) =
                                (Dropin){*file, arena_printf(reader->arena, "%s/%s", path, *file)};
}

/* Of "foo-bar@x.service" also those of "foo-bar@.service" and of "foo-@x.service". */
static void add_directories(Reader *reader, const char *directory, const char *name) {
        const char *template = template_name(reader->arena, name);
        NameParts parts = split_name(reader->arena, name);

        add_directory(reader, directory, name);
        if (template)
                add_directories(reader, directory, template);
        parts.prefix = chop_prefix(reader->arena, parts.prefix);
        if (parts.prefix && reader->n_directories < DIRECTORIES_MAX)
                add_directories(reader, directory, join_name(reader->arena, &parts));
}

static int compare_dropins(const void *a, const void *b) {
        return strcmp(((const Dropin *) a)->name, ((const Dropin *) b)->name);
}

static void find_dropins(Reader *reader) {
        for (size_t k = reader->names.n; k > 0; k--)
                for (size_t i = 0; i < ARRAY_LEN(directories); i++)
                        add_directories(reader, directories[i], reader->names.items[k - 1]);
        for (size_t i = 0; i < ARRAY_LEN(directories); i++)
                add_directory(reader, directories[i], strrchr(reader->unit->name, '.') + 1);
        if (reader->dropins.n > 0)
                qsort(reader->dropins.items, reader->dropins.n, sizeof(Dropin), compare_dropins);
}

/* ---- specifiers ---- */

/* Those that are the same for every service of the system manager. */
static const struct {
        char letter;
        const char *value;
} fixed_specifiers[] = {
        {'%', "%"},        {'t', "/run"},       {'E', "/etc"},
        {'S', "/var/lib"}, {'C', "/var/cache"}, {'L', "/var/log"},
};

/* "15\x2dmain-x" -> "15-main/x". */
static const char *unescape_name(Arena *arena, const char *name) {
        char *text = arena_strdup(arena, name), *to = text;

        for (const char *from = text; *from; from++) {
                uint64_t byte = 0;

                if (text_starts_with(from, "\\x") && strlen(from) >= strlen("\\x2d"))
                        parse_hex_u64(arena_strndup(arena, from + 2, 2), &byte);
                if (byte > 0)
                        from += 3;
                *to++ = byte > 0 ? (char) byte : *from == '-' ? '/' : *from;
        }
        *to = '\0';
        return text;
}

/* What is behind the last dash. */
static const char *last_part(const char *prefix) {
        const char *dash = strrchr(prefix, '-');

        return dash ? dash + 1 : prefix;
}

/* NULL for a specifier that is not filled in. */
static const char *specifier(Arena *arena, const char *name, char letter) {
        NameParts parts = split_name(arena, name);
        const char *instance = parts.instance ? parts.instance : "";

        switch (letter) {
        case 'n':
                return name;
        case 'N':
                return arena_strndup(arena, name, strlen(name) - strlen(parts.suffix));
        case 'p':
                return parts.prefix;
        case 'P':
                return unescape_name(arena, parts.prefix);
        case 'i':
                return instance;
        case 'I':
                return unescape_name(arena, instance);
        case 'j':
                return last_part(parts.prefix);
        case 'J':
                return unescape_name(arena, last_part(parts.prefix));
        }
        for (size_t i = 0; i < ARRAY_LEN(fixed_specifiers); i++)
                if (fixed_specifiers[i].letter == letter)
                        return fixed_specifiers[i].value;
        return NULL;
}

/* NULL when that gets too long. */
static const char *fill_specifiers(Arena *arena, const char *name, const char *value) {
        Text text = text_in(arena);

        while (text.length <= VALUE_BYTES_MAX) {
                size_t plain = strcspn(value, "%");

                text_add_n(&text, value, plain);
                value += plain;
                if (!*value)
                        return text_string(&text);
                const char *filled = specifier(arena, name, value[1]);

                text_add(&text, filled ? filled : "%");
                value += filled ? 2 : 1;
        }
        return NULL;
}

/* ---- lines ---- */

typedef struct Place {
        const char *path;
        const char *section; /* NULL before the first header */
        unsigned line;
} Place;

static void add_assignment(Reader *reader, const Place *place, const char *line) {
        const char *equals = strchr(line, '=');
        UnitFile *unit = reader->unit;

        if (!equals || !place->section || unit->assignments.n >= ASSIGNMENTS_MAX)
                return;
        const char *value =
                fill_specifiers(reader->arena, unit->name, text_strip(reader->arena, equals + 1));

        if (!value || strlen(value) > VALUE_BYTES_IN_ALL - reader->value_bytes)
                return;
        reader->value_bytes += strlen(value);
        *vec_push(reader->arena, &unit->assignments) = (UnitAssignment){
                .section = place->section,
                .key = text_strip(reader->arena,
                                  arena_strndup(reader->arena, line, (size_t) (equals - line))),
                .value = value,
                .file = place->path,
                .line = place->line,
        };
}

/* One line, continuation lines and all. As for systemd, what is not UTF-8 is not there. */
static void read_line(Reader *reader, Place *place, const char *line) {
        size_t length = strlen(line);

        if (length > VALUE_BYTES_MAX || !text_is_utf8(line, length))
                return;
        line = text_strip(reader->arena, line);
        length = strlen(line);
        if (*line == '[' && line[length - 1] == ']')
                place->section = arena_strndup(reader->arena, line + 1, length - 2);
        else
                add_assignment(reader, place, line);
}

/* An odd number of them. */
static bool ends_in_backslash(const char *line) {
        size_t length = strlen(line), n = 0;

        while (n < length && line[length - 1 - n] == '\\')
                n++;
        return n % 2 == 1;
}

/* Comments may stand between continuation lines. */
static void read_text(Reader *reader, const char *path, const SourceText *source) {
        SourceLines lines = source_lines(source);
        Text whole = text_in(reader->arena);
        Place place = {.path = path};
        const char *line;

        while ((line = source_line(reader->arena, &lines))) {
                line += strspn(line, whitespace);
                if (*line == '#' || *line == ';')
                        continue;
                bool goes_on = ends_in_backslash(line);

                if (whole.length == 0)
                        place.line = lines.number;
                text_add_n(&whole, line, strlen(line) - goes_on);
                if (goes_on) {
                        text_add(&whole, " ");
                        continue;
                }
                read_line(reader, &place, text_string(&whole));
                whole.length = 0;
        }
        if (whole.length > 0)
                read_line(reader, &place, text_string(&whole));
}

UnitFile *unit_file_read(Arena *arena, const Sources *sources, const char *name) {
        UnitFile *unit = ARENA_NEW(arena, UnitFile);
        Reader reader = {.arena = arena, .sources = sources, .unit = unit};

        unit->name = arena_strdup(arena, name);
        if (!unit_file_is_name(name))
                return unit;
        find_fragment(&reader);
        if (!unit->fragment_path || unit->is_masked)
                return unit;
        find_dropins(&reader);
        read_text(&reader, unit->fragment_path, &reader.fragment);
        VEC_FOREACH(dropin, &reader.dropins) {
                /* A link to /dev/null reads as -EINVAL; nothing of that name is there then. */
                SourceText text = source_read(reader.sources, reader.arena, dropin->path);

                if (text.error == 0)
                        read_text(&reader, dropin->path, &text);
        }
        return unit;
}

/* ---- keys ---- */

const char *unit_file_user(Arena *arena, const Sources *sources, const char *name) {
        return unit_file_value(unit_file_read(arena, sources, name), "Service", "User");
}

UnitAssignments unit_file_list(Arena *arena, const UnitFile *unit, const char *section,
                               const char *key) {
        UnitAssignments list = {};

        VEC_FOREACH(assignment, &unit->assignments) {
                if (!text_equals(assignment->section, section) ||
                    !text_equals(assignment->key, key))
                        continue;
                if (*assignment->value)
                        *vec_push(arena, &list) = assignment;
                else
                        list.n = 0;
        }
        return list;
}

const UnitAssignment *unit_file_find(const UnitFile *unit, const char *section, const char *key) {
        const UnitAssignment *last = NULL;

        if (!unit)
                return NULL;
        VEC_FOREACH(assignment, &unit->assignments)
                if (text_equals(assignment->section, section) && text_equals(assignment->key, key))
                        last = *assignment->value ? assignment : NULL;
        return last;
}

const char *unit_file_value(const UnitFile *unit, const char *section, const char *key) {
        const UnitAssignment *assignment = unit_file_find(unit, section, key);

        return assignment ? assignment->value : NULL;
}

/* ---- which units there are ---- */

/* Those of FOUND that PATTERN fits. */
static void add_names(Arena *arena, const SourceNames *found, const char *pattern,
                      SourceNames *names) {
        VEC_FOREACH(name, found) {
                if (!unit_file_is_name(*name) || names->n >= NAMES_MAX ||
                    fnmatch(pattern, *name, FNM_PATHNAME) != 0)
                        continue;
                const NameParts parts = split_name(arena, *name);

                if (!parts.instance || *parts.instance)
                        *vec_push(arena, names) = *name;
        }
}

static void sort_names(SourceNames *names) {
        size_t n = 0;

        if (names->n == 0)
                return;
        qsort(names->items, names->n, sizeof(*names->items), text_compare);
        for (size_t i = 1; i < names->n; i++)
                if (!text_equals(names->items[i], names->items[n]))
                        names->items[++n] = names->items[i];
        names->n = n + 1;
}

SourceNames unit_file_names(Arena *arena, const Sources *sources, const char *pattern) {
        SourceNames names = {};

        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                const SourceNames found = source_list(sources, arena, directories[i]);

                add_names(arena, &found, pattern, &names);
                VEC_FOREACH(name, &found) {
                        if (!text_ends_with(*name, ".wants") && !text_ends_with(*name, ".requires"))
                                continue;
                        const SourceNames wanted =
                                source_list(sources, arena,
                                            arena_printf(arena, "%s/%s", directories[i], *name));

                        add_names(arena, &wanted, pattern, &names);
                }
        }
        sort_names(&names);
        return names;
}
