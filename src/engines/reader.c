/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/reader.h"

#include "base/text.h"
#include "engines/engine_rows.h"
#include "engines/parameters.h"
#include "read/unit_file.h"

#include <errno.h>
#include <string.h>

const EngineReader *engine_reader(const Engine *engine) {
        static const EngineReader none = {};

#define ROW(name)                     \
        if (engine == &engine_##name) \
                return &reader_##name;
        ENGINE_READERS(ROW)
#undef ROW
        return &none;
}

SettingNames engine_settings(const Engine *engine, Arena *arena) {
        const ParameterTable *table = engine_formula(engine)->parameters;
        SettingNames names = {};

        for (size_t i = 1; table && i < table->n; i++) /* row 0 is the version */
                *vec_push(arena, &names) = table->rows[i].name;
        return names;
}

uint64_t engine_sessions(const Engine *engine, const Gathered *gathered) {
        const EngineReader *reader = engine_reader(engine);

        if (!reader->sessions_setting || gathered->incomplete)
                return 0;
        const Setting *setting = settings_find(&gathered->settings, reader->sessions_setting);
        uint64_t n = reader->sessions_initial;

        return setting && parse_u64(setting->value, &n) < 0 ? 0 : n;
}

Reads engine_reads(const char *word) {
        const char *dot = strrchr(word, '.'), *base = text_base_name(word);

        for (size_t i = 0; i < n_engines; i++) {
                const Engine *engine = engines[i];
                const ParameterTable *table = engine_formula(engine)->parameters;
                const EngineReader *reader = engine_reader(engine);
                Reads reads = reader->reads ? reader->reads(engine, word) : READS_NOT;

                if (reads != READS_NOT)
                        return reads;
                if (table && parameters_have(table, dot ? dot + 1 : word))
                        return READS_VALUE;
                if (text_fits(engine->servers, base) || text_fits(engine->supervisors, base))
                        return READS_SERVER;
                if (text_fits(engine->programs, base) || text_fits(engine->images, base))
                        return READS_WORD;
        }
        return READS_NOT;
}

bool engines_read_whole(const char *base_name) {
        return ARRAY_ANY(engine, engines, n_engines,
                         text_fits(engine_reader(*engine)->whole_files, base_name));
}

void engines_read_pieces(Arena *arena, const SourceText *file, Pieces *ret) {
        for (size_t i = 0; i < n_engines; i++)
                if (engine_reader(engines[i])->pieces)
                        engine_reader(engines[i])->pieces(arena, file, ret);
}

bool engine_is_fixed(const Engine *engine, const Settings *settings) {
        const EngineReader *reader = engine_reader(engine);

        return engine->maps_all_at_start || (reader->is_fixed && reader->is_fixed(settings));
}

const char *reader_fault(Arena *arena, int error) {
        const char *text = strerror(-error);

        if (error == -EFBIG)
                text = "it is larger than 1M, which no configuration is";
        if (error == -E2BIG)
                text = "all files together are larger than 16M, which no configuration is";
        if (error == -EINVAL)
                text = "it is not a regular file";
        return arena_printf(arena, "cannot be read: %s", text);
}

unsigned reader_binary_line(const char *text, size_t size) {
        unsigned line = 1;

        for (size_t i = 0; i < size; i++) {
                unsigned char byte = (unsigned char) text[i];

                if (byte == 0x7f || (byte < ' ' && !memchr("\t\n\v\f\r", byte, 5)))
                        return line;
                line += byte == '\n';
        }
        return 0;
}

/* ---- files that include others ---- */

/* The depth is the limit of PostgreSQL (CONF_FILE_MAX_DEPTH) and of the MySQL family; no configuration has as many files. */
enum { INCLUDE_DEPTH_MAX = 10, INCLUDED_FILES_MAX = 512 };

const char *reader_refuse(Arena *arena, const ReaderPlace *place, const char *text) {
        return arena_printf(arena, "%s: %s",
                            place->line > 0 ? source_origin(arena, place->path, place->line)
                                            : place->path,
                            text);
}

const char *reader_check_include(Arena *arena, const ReaderPlace *place, size_t n_files) {
        const char *wrong = NULL;

        for (const ReaderPlace *outer = place->includer; outer; outer = outer->includer)
                if (text_equals(outer->path, place->path))
                        wrong = arena_printf(arena, "%s is included by itself; remove this line",
                                             place->path);
        if (!wrong && place->depth > INCLUDE_DEPTH_MAX)
                wrong = "more than 10 levels of files are included, which the server does not read; "
                        "include fewer";
        if (!wrong && n_files > INCLUDED_FILES_MAX)
                wrong = "more than 512 files are included, which no configuration does; include "
                        "fewer";
        return wrong ? reader_refuse(arena, place->includer, wrong) : NULL;
}

/* ---- versions ---- */

enum { VERSION_LENGTH_MAX = 32 };

void version_ask(Arena *arena, const Engine *engine, const EngineTarget *target,
                 const Sources *sources, const Gathered *gathered, Question *ret) {
        static const char *const directories[] = {"/usr/bin", "/usr/local/bin", "/usr/sbin",
                                                  "/usr/libexec"};
        const EngineReader *reader = engine_reader(engine);
        const char *names = reader->version_programs;
        /* With its environment files, which only the owner needs to read where no program is looked for. */
        const UnitFile *unit = names && target->unit ? unit_file_read(arena, sources, target->unit)
                                                     : NULL;
        const SourceNames words = unit_file_start(unit);

        *ret = (Question){.user = QUESTION_ANYBODY};
        if (reader->add_programs)
                reader->add_programs(arena, gathered, &ret->program);
        TEXT_FOREACH(name, arena, names, " ") {
                if (words.n > 0 && *words.items[0] == '/' &&
                    text_equals(text_base_name(words.items[0]), name))
                        *vec_push(arena, &ret->program) = words.items[0];
                ARRAY_FOREACH(directory, directories, ARRAY_LEN(directories))
                        *vec_push(arena, &ret->program) =
                                arena_printf(arena, "%s/%s", *directory, name);
        }
        if (reader->version_option)
                *vec_push(arena, &ret->arguments) = reader->version_option;
        *vec_push(arena, &ret->arguments) = "--version";
}

const char *version_answer(Arena *arena, const char *output, const char *mark,
                           const char **ret_version) {
        const char *at = strstr(output, mark);
        const char *version = at ? at + strlen(mark) : "";
        size_t length = strspn(version, "0123456789."), n = strspn(version, "0123456789");
        const char *found = arena_strndup(arena, version, length);
        Version parsed;

        if (length >= VERSION_LENGTH_MAX || length < n + 2 || parse_version(found, &parsed) < 0)
                return arena_printf(arena, "its answer contains no version ('%sX.Y' is expected)",
                                    mark);
        *ret_version = found;
        return NULL;
}
