/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The server's files, and its own word. */

#include "base/text.h"
#include "engines/postgresql/postgresql_formula.h"
#include "engines/postgresql/postgresql_server.h"

#include <strings.h>

static bool is_wanted(const char *name) {
        return parameters_have(&postgresql_parameters, name) ||
               strcasecmp(name, "data_directory") == 0 || strcasecmp(name, "config_file") == 0;
}

/* Of its files, Patroni's, its launchers', and of command lines. */
static Reads reads(const char *word) {
        static const char values[] =
                "include include_if_exists include_dir data_dir config_dir bin_dir PGDATA "
                "PATRONI_POSTGRESQL_DATA_DIR PATRONI_POSTGRESQL_CONFIG_DIR PATRONI_POSTGRESQL_BIN_DIR";

        if (text_has_word("D B N pgdata patroni", word))
                return READS_NEXT;
        if (text_has_word("postgresql pg_ctl_options pg_ctlcluster auto manual disabled", word) ||
            text_starts_with(word, "D/"))
                return READS_WORD;
        return text_has_word(values, word) || is_wanted(word) ? READS_VALUE : READS_NOT;
}

static const char *gather_postgresql(Arena *arena, const EngineTarget *target,
                                     const Sources *sources, Gathered *ret) {
        return postgresql_gather(arena, target, sources, is_wanted, ret);
}

/* Not where the server would take no pages of this size, whatever it answers. */
static bool ask_postgresql(Arena *arena, const Gathered *gathered, uint64_t page_size_bytes,
                           Question *ret) {
        return postgresql_takes_pages(arena, &gathered->settings, page_size_bytes) &&
               postgresql_ask(arena, gathered, page_size_bytes, ret);
}

/* One number, on a line of its own. */
static int parse_answer(Arena *arena, const char *output, uint64_t *ret) {
        return parse_u64(text_strip(arena, output), ret);
}

/* The bytes of shared_buffers, which the whole cannot be less than; 0: not known. */
static uint64_t least_bytes(const Gathered *gathered) {
        const Setting *setting = settings_find(&gathered->settings, "shared_buffers");
        uint64_t bytes = 0;

        if (setting && !settings_find(&gathered->settings, "block_size"))
                postgresql_parse_blocks(setting->value, &bytes);
        return bytes;
}

static const char *answer_postgresql(Arena *arena, const Gathered *gathered, const char *output,
                                     uint64_t page_size_bytes, Sizing *ret) {
        Sizing sizing = {.page_size_bytes = page_size_bytes, .is_exact = true};
        uint64_t pages = 0, least = div_round_up(least_bytes(gathered), page_size_bytes);

        if (text_equals(text_strip(arena, output), "-1"))
                return "the server says that it cannot have huge pages on this host";
        if (parse_answer(arena, output, &pages) < 0 || pages == 0 ||
            pages > UINT64_MAX / page_size_bytes)
                return "the server was asked for its number of huge pages and did not print one";
        if (pages < least)
                return arena_printf(arena,
                                    "the server says it needs %" PRIu64 " pages of %s, but "
                                    "shared_buffers alone takes %" PRIu64,
                                    pages, format_page_size(arena, page_size_bytes), least);
        sizing_add(arena, &sizing, "the server's own answer",
                   "postgres -C shared_memory_size_in_huge_pages", pages * page_size_bytes);
        sizing_finish(&sizing);
        *ret = sizing;
        return NULL;
}

static const EngineFallback fallbacks[] = {
        {"huge_pages", "off false no 0", "its huge_pages is off", NULL, true},
        {"huge_pages", "on true yes 1",
         "its files have huge_pages=on, but it was started with something else"},
        {"huge_pages", NULL,
         "with huge_pages=try it takes small pages when its segment cannot be had at its start, and its log says nothing",
         "with huge_pages=on it starts with huge pages, or says why not"},
};

const EngineReader reader_postgresql = {
        .gather = gather_postgresql,
        .ask = ask_postgresql,
        .answer = answer_postgresql,
        .ask_version = postgresql_ask_version,
        .version_mark = "(PostgreSQL) ", /* "postgres (PostgreSQL) 17.5 (Debian 17.5-1.pgdg13+1)" */
        .fallbacks = fallbacks,
        .n_fallbacks = ARRAY_LEN(fallbacks),
        .reads = reads,
        .whole_files = "PG_VERSION",
        .pieces = postgresql_control_pieces,
        .sessions_setting = "max_connections",
        .sessions_initial = 100,
};
