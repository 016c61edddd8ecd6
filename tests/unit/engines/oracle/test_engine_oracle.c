/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Oracle: examples of published articles, right and wrong, and parameters on a host. */

#include "base/size.h"
#include "engines/oracle/oracle.h"
#include "engines/reader.h"
#include "support/sources.h"
#include "support/spfile.h"
#include "support/testing.h"

#define ORATAB   "/etc/oratab"
#define UNIT     "/etc/systemd/system/oracle.service"
#define SQLPLUS  "[Service]\nUser=oracle\nExecStart=/opt/start.sh\n"
#define ENV(sid) SQLPLUS "Environment=ORACLE_SID=" sid "\n"

/* ---- worked examples ---- */

/* The SGA of an article, and whether it fits into SGA / 2M pages plus five for the ends of segments. */
static const struct {
        const char *sga, *claim;
        uint64_t claimed_pages, pages;
        bool is_enough;
} articles[] = {
        {"180G", "(180*1024*1024/2048)+5", 92165, 92160 + 5, true},
        {"180G", "the same by its other formula", 92160, 92160 + 5, true},
        {"80G", "the same host's instance, at the 92165 pages of 180G", 92165, 40960 + 5, true},
        {"2G", "2 GB need 1000 pages", 1000, 1024 + 5, false},
        {"16G", "16384 GB (meant: MB) / 2 MB", 8192, 8192 + 5, true},
        {"8G", "System A", 4096, 4096 + 5, true},
        {"34G", "System B", 17408, 17408 + 5, true},
        {"10G", "only 5000 pages", 5000, 5120 + 5, false},
        {"10G", "(Total - Free) * 2 MB, without Rsvd", 4489, 5120 + 5, false},
        {"20G", "5M pages of 4K", 10240, 10240 + 5, true},
        {"12G", "6144 pages, memlock 12582912", 6144, 6144 + 5, true},
};

TEST(articles) {
        for (size_t i = 0; i < ARRAY_LEN(articles); i++) {
                Settings settings = {};
                Sizing sizing;

                settings_add(arena, &settings, "sga_max_size", articles[i].sga, NULL);
                assert_null(engine_size(engine_find("oracle"), arena, &settings, 2 * MIB, &sizing));
                if (sizing.pages != articles[i].pages)
                        fail_msg("%s (%s): %" PRIu64, articles[i].sga, articles[i].claim,
                                 sizing.pages);
                assert_int_equal(articles[i].claimed_pages >= sizing.pages - 5,
                                 articles[i].is_enough);
                assert_false(sizing.is_exact);
        }
}

/* ---- several instances ---- */

static const char *size_text(Arena *arena, const char *text, uint64_t page_size_bytes) {
        Settings settings = {};
        Sizing sizing;
        char *word;

        while ((word = text_next_word(arena, &text, " "))) {
                char *equals = strchr(word, '=');

                *equals = '\0';
                settings_add(arena, &settings, word, equals + 1, NULL);
        }
        const Engine *engine = engine_find("oracle");
        const char *wrong = settings_refuse_unknown(arena, engine, &settings);

        if (!wrong)
                wrong = engine_size(engine, arena, &settings, page_size_bytes, &sizing);
        return wrong ? wrong : arena_printf(arena, "%" PRIu64, sizing.pages);
}

TEST(several) {
        assert_text(size_text(arena, "a.sga_target=80G b.sga_target=12G", 2 * MIB), "47114");
        assert_text(size_text(arena, "*.sga_target=2G a.processes=100 b.sga_target=4G", 2 * MIB),
                    "3082");
        assert_text(size_text(arena, "b.sga_target=4G sga_target=2G", 2 * MIB), "2053");
        /* Each SGA has pages of its own. */
        assert_text(size_text(arena, "a.sga_target=1536M b.sga_target=1536M", GIB), "14");
        assert_contains(size_text(arena, "a.sga_target=2G b.memory_target=4G", 2 * MIB),
                        "b: memory_target: automatic memory management");
        assert_contains(size_text(arena, "a.sga_target=2G b.sga_taget=4G", 2 * MIB),
                        "did you mean sga_target?");
        assert_contains(size_text(arena, "a.sga_target=2G b.use_large_pages=only", 2 * MIB),
                        "b: sga_max_size and sga_target are both missing");
}

/* ---- what is found on a host ---- */

/* "NAME=VALUE (ORIGIN)" of each setting, separated by bars; or the message. */
static const char *gather(Arena *arena, const EngineTarget *target, const Sources *sources,
                          Gathered *ret) {
        *ret = (Gathered){.problems = diags_in(arena)};
        const char *wrong = engine_reader(engine_find("oracle"))
                                    ->gather(arena, engine_find("oracle"), target, sources, ret);
        Text text = text_in(arena);

        if (wrong)
                return wrong;
        VEC_FOREACH(setting, &ret->settings) {
                assert_non_null(setting->origin);
                text_printf(&text, "%s%s=%s", text.length > 0 ? "|" : "", setting->name,
                            setting->value);
        }
        return text_string(&text);
}

TEST(config_file) {
        size_t size;
        const char *bytes = spfile_make(
                arena, "orcl1.__sga_target=1G\norcl2.__sga_target=1G\n*.sga_target=8G\n", &size);
        const TestFile files[] = {
                {UNIT, ENV("orcl2")},
                {"/x/spfile.ora", bytes, size},
                {"/x/rac.ora", "orcl1.sga_target=2G\norcl2.sga_target=3G\n*.processes=1\n"},
                {"/x/initorcl1.ora", "orcl1.sga_target=2G\norcl2.sga_target=3G\n"},
                {"/x/one.ora", "orcl7.sga_target=4G\n*.sga_target=1G\n"},
                {"/x/broken.ora", "sga_target 8G\n"},
        };
        const Sources *sources = test_sources(arena, files, ARRAY_LEN(files));
        Gathered gathered;
        EngineTarget target = {.instance = "x", .config_file = "/x/spfile.ora"};

        assert_text(gather(arena, &target, sources, &gathered),
                    "sga_target=8G|spfile=/x/spfile.ora");
        assert_text(gathered.config_file, "/x/spfile.ora");
        Sizing sizing;

        assert_null(
                engine_size(engine_find("oracle"), arena, &gathered.settings, 2 * MIB, &sizing));
        assert_false(sizing.is_exact);
        assert_contains(sizing.caveat, "server parameter file");
        target.config_file = "/x/rac.ora";
        assert_contains(gather(arena, &target, sources, &gathered),
                        "/x/rac.ora: this is for several instances");
        target.unit = "oracle.service";
        assert_text(gather(arena, &target, sources, &gathered), "sga_target=3G|processes=1");
        target.config_file = "/x/initorcl1.ora";
        assert_text(gather(arena, &target, sources, &gathered), "sga_target=2G");
        target = (EngineTarget){.config_file = "/x/one.ora"};
        assert_text(gather(arena, &target, sources, &gathered), "sga_target=4G");
        target.config_file = "/x/broken.ora";
        assert_contains(gather(arena, &target, sources, &gathered),
                        "/x/broken.ora: neither sga_max_size nor sga_target");
        assert_int_equal(gathered.problems.list.n, 1);
        assert_text(gathered.problems.list.items[0].id, "database-files");
        assert_int_equal(gathered.problems.list.items[0].line, 1);
        target.config_file = "/x/none.ora";
        assert_contains(gather(arena, &target, sources, &gathered), "No such file");
}

TEST(oratab) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {ORATAB, "\n#x:/y:Y\n  a : /h/ : Y \nb\nb:\nb:relative:Y\n../c:/h:Y\n"
                         "d:/h\ne:/h:Y:more\n-MGMTDB:/g:N\n*:/h:Y\na:/again:N\nf:/\xff:Y\n"});
        OracleInstances all = oracle_instances_read(arena, sources);
        Text text = text_in(arena);

        VEC_FOREACH(instance, &all)
                text_printf(&text, "%s=%s%s@%s ", instance->sid, instance->home,
                            instance->is_started ? "!" : "", instance->origin);
        assert_text(text_string(&text), "a=/h!@/etc/oratab:3 d=/h@/etc/oratab:8 "
                                        "e=/h!@/etc/oratab:9 -MGMTDB=/g@/etc/oratab:10 ");
}
