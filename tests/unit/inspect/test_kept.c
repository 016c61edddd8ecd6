/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parts of a text that leave the host: what a parser uses, and the length of everything else. */

#include "inspect/kept.h"
#include "support/story.h"

static const char *kept(Arena *arena, const char *path, const char *text) {
        Kept kept = kept_in(arena);

        kept_text(&kept, arena, path, text, strlen(text));
        return kept_text(&kept, arena, path, text, strlen(text));
}

/* PATH TEXT */
PLAIN_VERB(do_kept, "kept") {
        return kept(line->arena, line->words[1],
                    story_unescape(line->arena, strchr(line->rest, ' ') + 1));
}

STORY_TEST(stories, "unit/inspect/kept")

/* Words that end with NUL. */
TEST(arguments) {
        static const char words[] = "/usr/sbin/mariadbd\0--user\0a\0--key\0abc\0--large-pages\0abc";
        static const char expected[] =
                "/usr/sbin/mariadbd\0--user\0a\0--xxx\0xxx\0--large-pages\0xxx";
        Kept kept = kept_in(arena);

        assert_memory_equal(kept_text(&kept, arena, "/proc/7/cmdline", words, sizeof(words)),
                            expected, sizeof(expected));
}

/* Of a server parameter file the text across its blocks; of pg_control the sizes; of others nothing. */
TEST(binary) {
        static const double format = 1234567.0;
        Kept kept = kept_in(arena);
        char *spfile = arena_alloc(arena, 1024), *control = arena_alloc(arena, 64);

        memcpy(spfile, "C\"ab", 4);
        memset(spfile + 20, ' ', 488);
        memcpy(spfile + 20, "*.pw='abc'\n", 11);
        memcpy(spfile + 508 - 7, "*.sga_t", 7);
        memcpy(spfile + 512, "C\"ab", 4);
        memcpy(spfile + 532, "arget=1G\n", 9);
        const char *is = kept_text(&kept, arena, "/dbs/spfilea.ora", spfile, 1024);

        assert_memory_equal(is, "C\"xx", 4);
        assert_memory_equal(is + 20, "*.xx='xxx'\n", 11);
        assert_memory_equal(is + 508 - 7, "*.sga_t", 7);
        assert_memory_equal(is + 532, "arget=1G\n", 9);
        memcpy(control, "nonce", 5);
        memcpy(control + 8, &format, sizeof(format));
        memcpy(control + 16, "sizes, of 16 at.", 16);
        memcpy(control + 40, "nonce", 5);
        is = kept_text(&kept, arena, "/global/pg_control", control, 64);
        assert_memory_equal(is, "xxxxx", 5);
        assert_memory_equal(is + 8, control + 8, 24);
        assert_memory_equal(is + 40, "xxxxx", 5);
        assert_memory_equal(kept_text(&kept, arena, "/bin/a", "\177ELF\0ab", 7), "xxxx\0xx", 7);
}

/* For any text: filtering ends, keeps length and lines, and adds nothing. */
TEST(hostile) {
        static const char *const parts[] = {"shared_buffers",
                                            "=",
                                            ":",
                                            " ",
                                            "\"",
                                            "'",
                                            "\\",
                                            "\n",
                                            "{",
                                            "}",
                                            "#",
                                            "$",
                                            "${",
                                            "-",
                                            "/",
                                            "echo ",
                                            "huge",
                                            "()",
                                            ";",
                                            "[",
                                            "a",
                                            "@",
                                            "-D",
                                            "\xFF"};
        uint64_t seed = 4711;

        for (int i = 0; i < 20000; i++) {
                CLEANUP(arena_freep) Arena *own = arena_new();
                Kept kept = kept_in(own);
                Text text = text_in(own);

                for (int k = 0; k < 12; k++) {
                        seed = seed * 6364136223846793005U + 1442695040888963407U;
                        text_add(&text, parts[(seed >> 33) % ARRAY_LEN(parts)]);
                }
                static const char *const paths[] = {"/etc/x", "/proc/7/maps", "/etc/passwd",
                                                    "/etc/systemd/x", "/etc/hugeplan.d/x"};

                ARRAY_FOREACH(path, paths, ARRAY_LEN(paths)) {
                        const char *is = kept_text(&kept, own, *path, text.string, text.length);

                        for (size_t k = 0; k < text.length; k++)
                                assert_true(is[k] == text.string[k] || is[k] == 'x' ||
                                            is[k] == '\xff');
                }
        }
}
