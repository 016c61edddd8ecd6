/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What of a text leaves the host: what a parser uses, and of all else the length. */

#include "inspect/kept.h"
#include "support/testing.h"

static const char *kept(Arena *arena, const char *path, const char *text) {
        Kept kept = kept_in(arena);

        kept_text(&kept, arena, path, text, strlen(text));
        return kept_text(&kept, arena, path, text, strlen(text));
}

TEST(lines) {
        static const struct {
                const char *path, *text, *expected;
        } cases[] = {
                /* Settings that an engine reads, as its own files have them. */
                {"/x.conf", "shared_buffers = 2GB # a b\n", "shared_buffers = 2GB # x x\n"},
                {"/x.conf", "shared_buffers 2GB\n", "shared_buffers 2GB\n"},
                {"/x.conf", "data_directory = '/a b' # c12\n", "data_directory = '/a b' # xxx\n"},
                {"/x.conf", "key_pw='s3cret'\nlog_lock = 64MB\nx.y = -15\n",
                 "xxxxxx='xxxxxx'\nxxxxxxxx = xxxx\nxxx = -xx\n"},
                {"/my.cnf",
                 "[mysqld@a-1]\n[client-x]\nloose-innodb_buffer_pool_size=1G\nskip-networking\n",
                 "[mysqld@a-1]\n[xxxxxxxx]\nloose-innodb_buffer_pool_size=1G\nxxxxxxxxxxxxxxx\n"},
                {"/my.cnf", "!includedir /etc/my.d/\npassword\n",
                 "!includedir /etc/my.d/\nxxxxxxxx\n"},
                {"/p.yml", "tokens:\n- abc\npostgresql:\n  data_dir: /a\n  pw: {a: bcd}\n",
                 "xxxxxx:\n- xxx\npostgresql:\n  data_dir: /a\n  xx: {a: xxx}\n"},
                {"/auto.cnf",
                 "{\"large_pages\": {\"Value\": \"ON\"}, \"pin\": {\"Value\": \"4711\"}}\n",
                 "{\"large_pages\": {\"Value\": \"ON\"}, \"xxx\": {\"xxxxx\": \"xxxx\"}}\n"},
                {"/init.ora", "*.sga_target=1G\norcl.pga=abc\n", "*.sga_target=1G\nxxxxxxxx=xxx\n"},
                {"/jvm.options", "8-13:-XX:+UseLargePages\n-Xmx4g\n-Dpw=abc\n",
                 "8-13:-XX:+UseLargePages\n-Xmx4g\n-xxx=xxx\n"},
                /* Commands: programs, options that are read, and variables that these refer to. */
                {"/etc/systemd/system/a.service",
                 "[Service]\nUser=pg\nExecStart=/opt/a /opt/b --key abc sys/abc@x\nTokens=abc\n",
                 "[Service]\nUser=pg\nExecStart=/opt/a /opt/b --xxx xxx xxxxxxx@x\nxxxxxx=xxx\n"},
                {"/etc/systemd/system/a.service",
                 "ExecStart=/bin/postgres -D ${DATA} -c x=abc $OPTS\nEnvironment=DATA=/d \"OPTS=-B 16 -y abc\" PW=abc\n",
                 "ExecStart=/bin/postgres -D ${DATA} -c x=xxx $OPTS\n"
                 "Environment=DATA=/d \"OPTS=-B 16 -y xxx\" xx=xxx\n"},
                {"/x", "curl -u user:abc https://user:abc@h/mysql:abc -u a:abc\n",
                 "xxxx -u user:xxx xxxxx://xxxx:xxx@h/mysql:xxx -u a:xxx\n"},
                {"/x", "jdbc:oracle:thin:u/abc@//h?user=abc&password=abc\n",
                 "xxxx:oracle:xxxx:xxxxx@//xxxxxx=xxx&xxxxxxxx=xxx\n"},
                {"/x.sh",
                 "#!/bin/sh\nN=20\nPIN=4711\necho $N > /proc/sys/vm/nr_hugepages; login 4711\n",
                 "#!/xxxxxx\nN=xx\nxxx=xxxx\nxxxx $N > /proc/sys/vm/nr_hugepages; xxxxx xxxx\n"},
                /* What the host has besides. */
                {"/etc/passwd", "a:hash:1:2:Name, Phone:/home/a:/bin/sh\n",
                 "a:xxxx:1:2:xxxx, xxxxx:/home/a:/xxxxxx\n"},
                {"/etc/nsswitch.conf", "passwd: files sss\nshadow: files\n",
                 "passwd: files sss\nxxxxxx: xxxxx\n"},
                {"/etc/security/limits.conf", "a - memlock 1 # b\nb - nproc 10\n",
                 "a - memlock 1 # x\nx - xxxxx xx\n"},
                {"/etc/crontab", "@daily a /b abc\n@reboot root /b abc\n",
                 "@xxxxx a /b xxx\n@xxxxxx xxxx /b xxx\n"},
                {"/etc/sysctl.d/a.conf", "# a\nvm.nr_hugepages = 5\nkernel.x = |/abc\n",
                 "# x\nvm.nr_hugepages = 5\nxxxxxxxx = |/xxx\n"},
                {"/etc/hugeplan.d/20-a.conf", "# why\nMemory=1G\n", "# xxx\nMemory=1G\n"},
                {"/proc/cmdline", "root=abc hugepages=20 pin=4711\n",
                 "xxxx=xxx hugepages=20 xxx=xxxx\n"},
                {"/proc/7/maps",
                 "7f00-7f01 r--p 00 fe:00 131 /home/abc\n7f02-7f03 rw-s 00 00:0f 1 /memfd:abc\n",
                 "7f00-7f01 r--p 00 fe:00 131 /xxxxxxxx\n7f02-7f03 rw-s 00 00:0f 1 /memfd:xxx\n"},
                {"/proc/7/mountinfo", "1 2 0:5 / /m rw - cifs //h/abc password=abc\n",
                 "1 2 0:5 / /m xx - cifs //xxxxx xxxxxxxx=xxx\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(kept(arena, cases[i].path, cases[i].text), cases[i].expected);
}

/* Words that NULs end. */
TEST(arguments) {
        static const char words[] = "/usr/sbin/mariadbd\0--user\0a\0--key\0abc\0--large-pages\0abc";
        static const char expected[] =
                "/usr/sbin/mariadbd\0--user\0a\0--xxx\0xxx\0--large-pages\0xxx";
        Kept kept = kept_in(arena);

        assert_memory_equal(kept_text(&kept, arena, "/proc/7/cmdline", words, sizeof(words)),
                            expected, sizeof(expected));
}

/* Of a server parameter file the text that runs through its blocks; of pg_control the sizes; of others nothing. */
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

/* Whatever strangers write: it ends, keeps its length and lines, and nothing is in it that was not there. */
TEST(hostile) {
        static const char *const parts[] = {
                "shared_buffers",
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
                "\xFF",
        };
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
