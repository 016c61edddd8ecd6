/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of a host with databases, packed as in support/sources.h: units, and what each engine's reader finds. The
 * owners of databases can write anything to them.
 *
 * Conditions: the reader returns an error text, or settings with names, values and places, and a directory of data that
 * is a path; sizes add up; PostgreSQL's texts are bounded and can be printed on one line, and the command line of its
 * question consists of words that were found. */

#include "base/size.h"
#include "engines/reader.h"
#include "fuzz/fuzz.h"
#include "support/sources.h"

static const struct {
        const char *engine;
        EngineTarget target;
} servers[] = {
        {"jvm", {.unit = "app.service"}},
        {"jvm", {.unit = "elasticsearch.service"}},
        {"jvm", {.config_file = "/o.args"}},
        {"mariadb", {.unit = NULL}},
        {"mariadb", {.unit = "mariadb@one.service"}},
        {"mysql", {.unit = NULL}},
        {"mysql", {.config_file = "/etc/my.cnf"}},
        {"oracle", {.unit = "oracle.service"}},
        {"oracle", {.data_directory = "/h"}},
        {"oracle", {.config_file = "/p.ora"}},
        {"postgresql", {.data_directory = "/d"}},
        {"postgresql", {.unit = "postgresql@15-main.service"}},
};

static void require_short(const char *string, size_t length_max) {
        require(*string && strlen(string) <= length_max);
        require_printable(string);
}

/* A text of any engine; PostgreSQL's can be printed on one line. */
static void require_text(const Engine *engine, const char *string, size_t length_max) {
        require(*string);
        if (text_equals(engine->name, "postgresql"))
                require_short(string, length_max);
}

static void check_question(Arena *arena, const EngineReader *reader, const Gathered *gathered,
                           uint64_t page_size_bytes) {
        Question question;
        Sizing sizing;

        if (!reader->ask || !reader->ask(arena, gathered, page_size_bytes, &question))
                return;
        require(question.program.n > 0 && question.arguments.n > 6);
        VEC_FOREACH(word, &question.arguments)
                require_short(*word, 8192);
        const char *wrong =
                reader->answer(arena, gathered, "1000000000\n", page_size_bytes, &sizing);

        if (wrong)
                require_short(wrong, 4096);
}

static void check_size(Arena *arena, const Engine *engine, const Gathered *gathered,
                       uint64_t page_size_bytes) {
        Sizing sizing;
        const char *wrong =
                engine_size(engine, arena, &gathered->settings, page_size_bytes, &sizing);

        if (wrong)
                require_text(engine, wrong, 64 << 10);
        else
                require(sizing.pages > 0 && !sizing.is_exact &&
                        sizing.bytes / page_size_bytes <= sizing.pages);
        check_question(arena, engine_reader(engine), gathered, page_size_bytes);
}

/* What single engines promise. */
static void check_engine(const char *name, const Gathered *gathered) {
        const Setting *large = settings_find(&gathered->settings, "large_pages");

        if (TEXT_IS_ANY(name, "mariadb", "mysql"))
                require(large && text_equals(large->value, "ON"));
        if (!TEXT_IS_ANY(name, "jvm", "oracle"))
                require(*gathered->data_directory == '/');
        VEC_FOREACH(setting, &gathered->settings)
                if (text_equals(name, "jvm")) {
                        require(strlen(setting->value) <= 64 &&
                                text_is_utf8(setting->value, strlen(setting->value)));
                }
}

static void check(Arena *arena, const Sources *sources, const char *name,
                  const EngineTarget *target) {
        const Engine *engine = engine_find(name);
        Gathered gathered = {.problems = diags_in(arena)};
        const char *wrong =
                engine_reader(engine)->gather(arena, engine, target, sources, &gathered);

        VEC_FOREACH(problem, &gathered.problems.list) {
                require(problem->id && problem->text);
                require_text(engine, diag_format(arena, problem), 64 << 10);
        }
        if (wrong) {
                require_text(engine, wrong, 64 << 10);
                return;
        }
        require(gathered.settings.n >= gathered.options.n);
        VEC_FOREACH(setting, &gathered.settings) {
                require_text(engine, setting->name, 64);
                require_text(engine, setting->origin, 16 << 10);
                require(setting->value);
                if (*setting->value)
                        require_text(engine, setting->value, 4096);
        }
        check_engine(name, &gathered);
        check_size(arena, engine, &gathered, 2 * MIB);
        check_size(arena, engine, &gathered, GIB);
}

FUZZ(arena, data, size) {
        const Sources *sources = test_sources_unpack(arena, data, size);

        for (size_t i = 0; i < ARRAY_LEN(servers); i++)
                check(arena, sources, servers[i].engine, &servers[i].target);
}
