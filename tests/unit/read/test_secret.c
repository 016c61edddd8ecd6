/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is left out of texts that leave the host, and what stays because hugeplan needs it. */

#include "read/secret/secret.h"
#include "support/testing.h"

typedef struct Case {
        const char *text, *expected;
} Case;

static void check_cases(Arena *arena, const char *path, const Case *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const MaskedText is =
                        secret_mask(arena, path, cases[i].text, strlen(cases[i].text));

                assert_text(is.bytes, cases[i].expected);
                assert_int_equal(is.size, strlen(is.bytes));
        }
}

static void test_lines(void **state) {
        static const Case cases[] = {
                {"", ""},
                {"innodb_buffer_pool_size = 1G\n", "innodb_buffer_pool_size = 1G\n"},
                /* A value of its own line, whole. */
                {"password=a b\n", "password=REDACTED\n"},
                {"  Master-Password : \"a\" b\\\nc\nd\n",
                 "  Master-Password : REDACTED\nREDACTED\nd\n"},
                {"password=\nx=1\n", "password=\nx=1\n"},
                {"token: |\n  a\n\n  b\nnext: 1\n",
                 "token: REDACTED\n  REDACTED\n\n  REDACTED\nnext: 1\n"},
                /* One among others. */
                {"ExecStart=/bin/java -Xmx1g -Dkey.password=x -XX:+UseLargePages\n",
                 "ExecStart=/bin/java -Xmx1g -Dkey.password=REDACTED -XX:+UseLargePages\n"},
                {"Environment=\"A_PASS=x y\" B=1 API_KEY='x y' C=2\n",
                 "Environment=\"A_PASS=REDACTED\" B=1 API_KEY=REDACTED C=2\n"},
                {"x = 'host=a password=b c=d'\n", "x = 'host=a password=REDACTED'\n"},
                {"primary_conninfo = 'host=a password=b'\n", "primary_conninfo = REDACTED\n"},
                {"run --password x --more\n", "run --password REDACTED --more\n"},
                {"psql -c \"alter user a identified by 'b c' d\"\n",
                 "psql -c \"alter user a identified REDACTED\n"},
                {"{\"a\": {\"my_secret\": \"x\", \"b\": 1}}\n",
                 "{\"a\": {\"my_secret\": REDACTED, \"b\": 1}}\n"},
                /* By what it looks like. */
                {"url = https://a:b@host/x\n", "url = https://a:REDACTED@host/x\n"},
                {"mysqldump -u a -phunter db -P 3306\n", "mysqldump -u a -pREDACTED db -P 3306\n"},
                {"postgres -p5432\n", "postgres -p5432\n"},
                {"a\n-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\nb\n",
                 "a\nREDACTED\nREDACTED\nREDACTED\nb\n"},
                /* Comments. */
                {"# a b\n\t; c\na=1 # b\na='#1' # b\n#!/bin/sh\n", "#\n\t;\na=1 \na='#1' \n#\n"},
                {"#!/bin/sh\n", "#!/bin/sh\n"},
        };

        check_cases(*state, "/etc/x.conf", cases, ARRAY_LEN(cases));
}

static void test_places(void **state) {
        static const Case accounts[] = {{"a:hash:1:2:Name, Phone:/home/a:/bin/sh\nb\n",
                                         "a:x:1:2::/home/a:/bin/sh\nb\n"}},
                          cron[] = {{"MAILTO=a\n@daily x\n@reboot root y # z\n",
                                     "\n\n@reboot root y \n"}},
                          ours[] = {{"# why\nMemory=1G # x\n", "# why\nMemory=1G # x\n"}},
                          kernel[] = {{"token 1 # x\n", "token 1 # x\n"}};

        check_cases(*state, "/etc/passwd", accounts, 1);
        check_cases(*state, "/etc/crontab", cron, 1);
        check_cases(*state, "/etc/hugeplan.d/20-a.conf", ours, 1);
        check_cases(*state, "/proc/12/status", kernel, 1);
        check_cases(*state, "/sys/kernel/x", kernel, 1);
}

static char *arguments_text(Arena *arena, const char *words, size_t size) {
        const MaskedText text = secret_mask(arena, "/proc/12/cmdline", words, size);
        char *copy = arena_memdup(arena, text.bytes, text.size + 1);

        for (size_t i = 0; i < text.size; i++)
                copy[i] = copy[i] ? copy[i] : '|';
        return copy;
}

static void test_arguments(void **state) {
        static const char server[] =
                "/usr/sbin/mariadbd\0--user=mysql\0--password=x y\0-px\0--secret\0x\0--port=1";
        static const char other[] = "/usr/bin/sshpass\0-p\0x";
        static const char patroni[] = "/usr/bin/python3\0/usr/bin/patroni\0/etc/p.yml";

        assert_text(
                arguments_text(*state, server, sizeof(server)),
                "/usr/sbin/mariadbd|--user=mysql|--password=REDACTED|-pREDACTED|--secret|REDACTED|--port=1|");
        assert_text(arguments_text(*state, other, sizeof(other)), "/usr/bin/sshpass|");
        assert_text(arguments_text(*state, patroni, sizeof(patroni)),
                    "/usr/bin/python3|/usr/bin/patroni|/etc/p.yml|");
        assert_text(arguments_text(*state, "", 0), "");
}

/* Offsets of binary files count. */
static void test_binary(void **state) {
        static const char file[] = "\1\2\0*.password='abc'\n*.sga_target=1G\0\3";
        const MaskedText text = secret_mask(*state, "/u01/dbs/spfileX.ora", file, sizeof(file));

        assert_int_equal(text.size, sizeof(file));
        assert_memory_equal(text.bytes, "\1\2\0*.password=xxxxx\n*.sga_target=1G\0\3",
                            sizeof(file));
        assert_int_equal(text.n_masked, 1);
}

/* Whatever strangers write: it ends, stays as many lines, and binary texts keep their length. */
static void test_hostile(void **state) {
        static const char *const parts[] = {
                "password",   "=",        ":",       " ",  "\"",    "'",          "\\", "\n", "{",
                "}",          "#",        "//a:b@c", "-p", "mysql", "token",      "|",  "x",  "  ",
                "-----BEGIN", "-----END", "key",     ";",  "\xFF",  "identified", "@",
        };
        uint64_t seed = 4711;

        (void) state;
        for (int i = 0; i < 20000; i++) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                Text text = text_in(arena);
                size_t n_lines = 0, n_masked_lines = 0;

                text_add(&text, "");
                for (int k = 0; k < 12; k++) {
                        seed = seed * 6364136223846793005U + 1442695040888963407U;
                        text_add(&text, parts[(seed >> 33) % ARRAY_LEN(parts)]);
                }
                const MaskedText is = secret_mask(arena, "/etc/x", text.string, text.length);

                for (size_t k = 0; k < text.length; k++)
                        n_lines += text.string[k] == '\n';
                for (size_t k = 0; k < is.size; k++)
                        n_masked_lines += is.bytes[k] == '\n';
                assert_int_equal(n_masked_lines, n_lines);
                text_add_n(&text, "", 1);
                assert_int_equal(secret_mask(arena, "/etc/x", text.string, text.length).size,
                                 text.length);
                secret_mask(arena, "/proc/7/cmdline", text.string, text.length);
                secret_mask(arena, "/etc/crontab", text.string, text.length);
                secret_mask(arena, "/etc/passwd", text.string, text.length);
        }
}

TEST_FILE(secret) {
        const struct CMUnitTest tests[] = {TEST(test_lines), TEST(test_places),
                                           TEST(test_arguments), TEST(test_binary),
                                           TEST(test_hostile)};

        return RUN_TESTS(tests);
}
