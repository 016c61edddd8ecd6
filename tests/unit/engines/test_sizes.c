/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The formulas against real servers (tests/vectors/sizes.tsv, made by tests/sizes): never below, and at most 2 % and
 * 8 pages above; also never below if only the major version, or no version, is known. */

#include "base/size.h"
#include "support/settings.h"

#define PAGE_BYTES (2 * MIB)

/* As much of the version as is known. */
static uint64_t pages_of(Arena *arena, const char *engine, const char *version, const char *text) {
        Settings settings = settings_from(arena, text);
        Sizing sizing;

        /* Of a file, which may have settings that do not affect the size. */
        VEC_FOREACH(setting, &settings)
                setting->origin = "sizes.tsv";
        if (version)
                settings_add(arena, &settings, "server_version", version, NULL);
        settings_add_host(arena, &settings, 0, 4 * KIB); /* of those that were measured */
        assert_null(engine_size(engine_find(engine), arena, &settings, PAGE_BYTES, &sizing));
        return sizing.pages;
}

/* Engine, version, settings with spaces between, and bytes. */
static void check_line(Arena *arena, const char *line) {
        const char *name = text_next_word(arena, &line, "\t");
        const char *version = text_next_word(arena, &line, "\t");
        const char *text = text_next_word(arena, &line, "\t");
        const char *number = text_next_word(arena, &line, "\t");
        const char *major = arena_strndup(arena, version, strspn(version, "0123456789"));
        uint64_t bytes, needed, pages;

        assert_non_null(number);
        assert_int_equal(parse_u64(number, &bytes), 0);
        needed = div_round_up(bytes, PAGE_BYTES);
        pages = pages_of(arena, name, version, text);
        if (pages < needed || pages > needed + needed / 50 + 8)
                fail_msg("%s %s %s: %" PRIu64 " pages, measured %" PRIu64, name, version, text,
                         pages, needed);
        if (pages_of(arena, name, major, text) < needed ||
            pages_of(arena, name, NULL, text) < needed)
                fail_msg("%s %s %s: fewer than %" PRIu64 " pages where the version is not known",
                         name, version, text, needed);
}

TEST(measured_sizes) {
        assert_true(for_each_row(TEST_SOURCE_DIR "/vectors/sizes.tsv", check_line) > 500);
}
