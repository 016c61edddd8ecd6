/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/unit_file.h"

#include "base/size.h"
#include "base/text.h"
#include "model/name_check.h"

/* Unit files may come from anyone, as in containers and captured hosts: what exceeds these limits is ignored. */
enum {
        ALIAS_DEPTH = 8,
        DIRECTORIES_MAX = 4096, /* searched for drop-ins */
        DROPINS_MAX = 512,
        ASSIGNMENTS_MAX = 4096,
        VALUE_BYTES_MAX = 64 << 10,
        VALUE_BYTES_IN_ALL = 1 << 20,
};

static const char whitespace[] = " \t";

/* The search path of the system's units, the highest priority first. */
const char *const unit_directories[] = {
        "/etc/systemd/system.control", "/run/systemd/system.control",
        "/run/systemd/transient",      "/run/systemd/generator.early",
        "/etc/systemd/system",         "/etc/systemd/system.attached",
        "/run/systemd/system",         "/run/systemd/system.attached",
        "/run/systemd/generator",      "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",     "/lib/systemd/system",
        "/run/systemd/generator.late",
};
const size_t n_unit_directories = ARRAY_LEN(unit_directories);

typedef struct Dropin {
        const char *name; /* "10-hugeplan.conf" */
        const char *path;
} Dropin;

typedef struct Reader {
        Arena *arena;
        const Sources *sources;
        UnitFile *unit;
        SourceText fragment;
        SourceNames names; /* its aliases, and its own name last */
        VEC(Dropin) dropins;
        size_t n_directories;
        size_t value_bytes;
} Reader;

/* ---- names ---- */

/* "postgresql@15-main.service" -> "postgresql", "15-main", ".service". */
typedef struct NameParts {
        const char *prefix;
        const char *instance; /* "" for a template, NULL for neither */
        const char *suffix;
} NameParts;

static NameParts split_name(Arena *arena, const char *name) {
        const char *dot = strrchr(name, '.'), *at = strchr(name, '@');

        if (!at || at > dot)
                return (NameParts){arena_strdup_to(arena, name, dot), NULL, dot};
        return (NameParts){arena_strdup_to(arena, name, at), arena_strdup_to(arena, at + 1, dot),
                           dot};
}

static const char *join_name(Arena *arena, const NameParts *parts) {
        return arena_printf(arena, "%s%s%s%s", parts->prefix, parts->instance ? "@" : "",
                            parts->instance ? parts->instance : "", parts->suffix);
}

/* Returns NULL if NAME is no instance. */
static const char *template_name(Arena *arena, const char *name) {
        NameParts parts = split_name(arena, name);

        return parts.instance && *parts.instance
                       ? arena_printf(arena, "%s@%s", parts.prefix, parts.suffix)
                       : NULL;
}

/* Returns whether DIRECTORY may have NAME; true if it cannot be listed. Lists are cached, because files and drop-ins
 * are searched in each directory. */
static bool may_have(const Reader *reader, const char *directory, const char *name) {
        SourceNames names = {};
        int r = reader->sources->list(reader->sources, reader->arena, directory, &names);

        if (r < 0)
                return r != -ENOENT && r != -ENOTDIR;
        return VEC_SEEK(found, &names, strcmp(name, *found)) != NULL;
}

/* ---- fragment ---- */

typedef enum Found { FOUND_NOTHING, FOUND_FRAGMENT, FOUND_ALIAS } Found;

/* Searches DIRECTORY for the file of NAME, which is *UNIT_NAME or its template. An alias changes *UNIT_NAME to its
 * target. */
static Found look_in(Reader *reader, const char *directory, const char *name,
                     const char **unit_name) {
        if (!may_have(reader, directory, name))
                return FOUND_NOTHING;
        const char *path = arena_printf(reader->arena, "%s/%s", directory, name);
        const char *target = source_link(reader->sources, reader->arena, path);
        const char *alias = target ? name_of_alias(reader->arena, target) : NULL;
        UnitFile *unit = reader->unit;

        if (alias) {
                NameParts parts = split_name(reader->arena, alias);
                const char *instance = split_name(reader->arena, *unit_name).instance;

                /* A link to a template means its instance of the same name. */
                if (parts.instance && !*parts.instance && instance)
                        parts.instance = instance;
                alias = join_name(reader->arena, &parts);
                if (!text_equals(alias, *unit_name)) {
                        *unit_name = alias;
                        return FOUND_ALIAS;
                }
        }
        reader->fragment = source_read(reader->sources, reader->arena, path);
        bool is_null = text_equals(target, "/dev/null");

        if (reader->fragment.error < 0 && !is_null)
                return FOUND_NOTHING;
        unit->fragment_path = path;
        unit->is_masked = is_null || reader->fragment.size == 0;
        return FOUND_FRAGMENT;
}

/* Searches all directories for *UNIT_NAME, then for its template. */
static Found look_everywhere(Reader *reader, const char **unit_name) {
        const char *names[] = {*unit_name, template_name(reader->arena, *unit_name)};
        Found found = FOUND_NOTHING;

        for (size_t k = 0; k < ARRAY_LEN(names) && names[k] && !found; k++)
                for (size_t i = 0; i < n_unit_directories && !found; i++)
                        found = look_in(reader, unit_directories[i], names[k], unit_name);
        return found;
}

/* ---- drop-ins ---- */

/* A drop-in overrides those of the same name in directories that come later. */
static void add_directory(Reader *reader, const char *directory, const char *name) {
        const char *dropins = arena_printf(reader->arena, "%s.d", name);

        if (reader->n_directories++ >= DIRECTORIES_MAX || !may_have(reader, directory, dropins))
                return;
        const char *path = arena_printf(reader->arena, "%s/%s", directory, dropins);
        SourceNames names = source_list(reader->sources, reader->arena, path);

        VEC_FOREACH(file, &names)
                if (**file != '.' && text_ends_with(*file, ".conf") &&
                    reader->dropins.n < DROPINS_MAX &&
                    !VEC_FIND(dropin, &reader->dropins, text_equals(dropin->name, *file)))
                        *vec_push(reader->arena, &reader->dropins) =
                                (Dropin){*file, arena_printf(reader->arena, "%s/%s", path, *file)};
}

/* Adds for "foo-bar@x.service" also the directories of "foo-bar@.service" and "foo-@x.service". */
static void add_directories(Reader *reader, const char *directory, const char *name) {
        const char *template = template_name(reader->arena, name);
        NameParts parts = split_name(reader->arena, name);
        size_t n = strlen(parts.prefix);

        add_directory(reader, directory, name);
        if (template)
                add_directories(reader, directory, template);
        /* "foo-bar-baz" -> "foo-bar-" -> "foo-" */
        if (n > 0 && parts.prefix[n - 1] == '-')
                n--;
        while (n > 0 && parts.prefix[n - 1] != '-')
                n--;
        parts.prefix = arena_strndup(reader->arena, parts.prefix, n);
        if (n > 1 && reader->n_directories < DIRECTORIES_MAX)
                add_directories(reader, directory, join_name(reader->arena, &parts));
}

/* ---- specifiers ---- */

/* Specifiers with the same value for every service of the system manager. */
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

/* Returns NULL for a specifier that is not supported. A capital letter unescapes the value of the small one. */
static const char *specifier(Arena *arena, const char *name, char letter) {
        NameParts parts = split_name(arena, name);
        const char *dash = strrchr(parts.prefix, '-'), *value = NULL;

        switch (letter | 0x20) {
        case 'n':
                return letter == 'n'
                               ? name
                               : arena_strndup(arena, name, strlen(name) - strlen(parts.suffix));
        case 'p':
                value = parts.prefix;
                break;
        case 'i':
                value = parts.instance ? parts.instance : "";
                break;
        case 'j':
                value = dash ? dash + 1 : parts.prefix;
                break;
        }
        if (value)
                return letter & 0x20 ? value : unescape_name(arena, value);
        const typeof(*fixed_specifiers) *fixed = ARRAY_FIND(
                each, fixed_specifiers, ARRAY_LEN(fixed_specifiers), each->letter == letter);

        return fixed ? fixed->value : NULL;
}

/* Returns NULL if the result is too long. */
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

/* Reads one line with its continuation lines. Like systemd, ignores lines that are not UTF-8. */
static void read_line(Reader *reader, Place *place, const char *line) {
        Arena *arena = reader->arena;
        UnitFile *unit = reader->unit;
        size_t length = strlen(line);

        if (length > VALUE_BYTES_MAX || !text_is_utf8(line, length))
                return;
        line = text_strip(arena, line);
        length = strlen(line);
        if (*line == '[' && line[length - 1] == ']') {
                place->section = arena_strndup(arena, line + 1, length - 2);
                return;
        }
        const char *equals = strchr(line, '=');

        if (!equals || !place->section || unit->assignments.n >= ASSIGNMENTS_MAX)
                return;
        const char *value = fill_specifiers(arena, unit->name, text_strip(arena, equals + 1));

        if (!value || strlen(value) > VALUE_BYTES_IN_ALL - reader->value_bytes)
                return;
        reader->value_bytes += strlen(value);
        *vec_push(arena, &unit->assignments) = (UnitAssignment){
                .section = place->section,
                .key = text_strip(arena, arena_strdup_to(arena, line, equals)),
                .value = value,
                .file = place->path,
                .line = place->line,
        };
}

/* Comments are allowed between continuation lines. */
static void read_text(Reader *reader, const char *path, const SourceText *source) {
        Text whole = text_in(reader->arena);
        Place place = {.path = path};

        SOURCE_FOREACH(line, reader->arena, lines, source) {
                line += strspn(line, whitespace);
                if (*line == '#' || *line == ';')
                        continue;
                size_t length = strlen(line), n_backslashes = 0;

                while (n_backslashes < length && line[length - 1 - n_backslashes] == '\\')
                        n_backslashes++;
                bool goes_on = n_backslashes % 2 == 1;

                if (whole.length == 0)
                        place.line = lines.number;
                text_add_n(&whole, line, length - goes_on);
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

static UnitFile *read_all(Reader *reader) {
        vec_sort_by_name(&reader->dropins);
        read_text(reader, reader->unit->fragment_path, &reader->fragment);
        VEC_FOREACH(dropin, &reader->dropins) {
                /* Reading a link to /dev/null gives -EINVAL, and so masks the drop-in. */
                const SourceText text = source_read(reader->sources, reader->arena, dropin->path);

                read_text(reader, dropin->path, &text);
        }
        return reader->unit;
}

UnitFile *unit_file_parse(Arena *arena, const char *name, const char *path,
                          const SourceText *text) {
        UnitFile *unit = ARENA_NEW(arena, UnitFile);
        Reader reader = {.arena = arena, .unit = unit};

        *unit = (UnitFile){.name = name, .fragment_path = path, .arena = arena};
        read_text(&reader, path, text);
        return unit;
}

UnitFile *unit_file_read(Arena *arena, const Sources *sources, const char *name) {
        UnitFile *unit = ARENA_NEW(arena, UnitFile);
        Reader reader = {.arena = arena, .sources = sources, .unit = unit};

        *unit = (UnitFile){.name = arena_strdup(arena, name), .arena = arena, .sources = sources};
        if (!name_is_unit(name))
                return unit;
        const char *found_name = unit->name;
        Found found;

        do {
                *vec_push(arena, &reader.names) = found_name;
                found = look_everywhere(&reader, &found_name);
        } while (found == FOUND_ALIAS && reader.names.n < ALIAS_DEPTH);
        if (found == FOUND_FRAGMENT)
                unit->name = found_name;
        if (!unit->fragment_path || unit->is_masked)
                return unit;
        for (size_t k = reader.names.n; k > 0; k--)
                ARRAY_FOREACH(directory, unit_directories, n_unit_directories)
                        add_directories(&reader, *directory, reader.names.items[k - 1]);
        ARRAY_FOREACH(directory, unit_directories, n_unit_directories)
                add_directory(&reader, *directory, strrchr(unit->name, '.') + 1);
        return read_all(&reader);
}

UnitFile *unit_file_read_config(Arena *arena, const Sources *sources, const char *name) {
        static const char *const directories[] = {"/etc/systemd", "/run/systemd",
                                                  "/usr/local/lib/systemd", "/usr/lib/systemd"};
        UnitFile *unit = ARENA_NEW(arena, UnitFile);
        Reader reader = {.arena = arena, .sources = sources, .unit = unit};

        *unit = (UnitFile){.name = name, .arena = arena};
        ARRAY_FOREACH(directory, directories, ARRAY_LEN(directories)) {
                const char *path = arena_printf(arena, "%s/%s", *directory, name);

                if (!unit->fragment_path && source_exists(sources, arena, path)) {
                        unit->fragment_path = path;
                        reader.fragment = source_read(sources, arena, path);
                }
                add_directory(&reader, *directory, name);
        }
        return read_all(&reader);
}

/* ---- keys ---- */

UnitAssignments unit_file_list(const UnitFile *unit, const char *section, const char *key) {
        UnitAssignments list = {};

        VEC_FOREACH(assignment, &unit->assignments) {
                if (!text_equals(assignment->section, section) ||
                    !text_equals(assignment->key, key))
                        continue;
                if (*assignment->value)
                        *vec_push(unit->arena, &list) = assignment;
                else
                        list.n = 0;
        }
        return list;
}

const UnitAssignment *unit_file_find(const UnitFile *unit, const char *section, const char *key) {
        const UnitAssignments list = unit ? unit_file_list(unit, section, key)
                                          : (UnitAssignments){};

        return list.n > 0 ? list.items[list.n - 1] : NULL;
}

const char *unit_file_value(const UnitFile *unit, const char *section, const char *key) {
        const UnitAssignment *assignment = unit_file_find(unit, section, key);

        return assignment ? assignment->value : NULL;
}
