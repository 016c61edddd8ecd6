/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Oracle: the worked examples of field articles, right or wrong, and the finding of parameters on a
 * host. */

#include "base/size.h"
#include "engines/oracle/oracle_instances.h"
#include "engines/reader.h"
#include "support/sources.h"
#include "support/spfile.h"
#include "support/testing.h"

#define HOME     "/u01/app/oracle/product/19.0.0/dbhome_1"
#define DBS      HOME "/dbs/"
#define ORATAB   "/etc/oratab"
#define UNIT     "/etc/systemd/system/oracle.service"
#define DBSTART  "[Service]\nUser=oracle\nExecStart=" HOME "/bin/dbstart " HOME "\n"
#define SQLPLUS  "[Service]\nUser=oracle\nExecStart=/opt/start.sh\n"
#define ENV(sid) SQLPLUS "Environment=ORACLE_SID=" sid "\n"

/* ---- worked examples ---- */

/* What an article says of an SGA; whether that is enough for its SGA / 2M pages, to which the
 * ends of segments add five. */
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
        const char *wrong =
                engine_size(engine_find("oracle"), arena, &settings, page_size_bytes, &sizing);

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

static EngineTarget target_of_unit(void) {
        return (EngineTarget){.instance = "orders", .unit = "oracle.service"};
}

/* "NAME=VALUE (ORIGIN)" of each setting, with bars between; or the sentence. */
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

static const char *pages_of(Arena *arena, const Gathered *gathered) {
        Sizing sizing;
        const char *wrong =
                engine_size(engine_find("oracle"), arena, &gathered->settings, 2 * MIB, &sizing);

        return wrong ? wrong : arena_printf(arena, "%" PRIu64, sizing.pages);
}

TEST(one_instance_of_the_unit) {
        EngineTarget target = target_of_unit();
        const Sources *sources = TEST_SOURCES(
                arena, {UNIT, ENV("orcl")},
                {ORATAB, "#\n# comment:/x:Y\n*:/y:Y\norcl:" HOME ":N\t# line added by Agent\n"
                         "other:/z:Y\n"},
                {DBS "initorcl.ora", "*.sga_target=2560M\norcl.__sga_target=4G\n"
                                     "*.use_large_pages='only'\n*.db_name='x'\nprocesses=300\n"},
                {DBS "init.ora", "sga_target=1G"}, {DBS "initother.ora", "sga_target=8G"});
        Gathered gathered;

        assert_text(gather(arena, &target, sources, &gathered),
                    "sga_target=2560M|use_large_pages=only|processes=300");
        assert_text(gathered.settings.items[0].origin, DBS "initorcl.ora:1");
        assert_text(gathered.config_file, DBS "initorcl.ora");
        assert_text(gathered.version, "19.0.0");
        assert_text(gathered.user, "oracle");
        assert_int_equal(gathered.problems.list.n, 0);
        assert_text(pages_of(arena, &gathered), "1285");
}

/* spfileSID.ora, spfile.ora, initSID.ora; in ORACLE_HOME, or in ORACLE_BASE of a read-only one. */
TEST(order_of_files) {
        static const struct {
                const char *paths[3], *flag, *chosen;
        } rows[] = {
                {{DBS "initorcl.ora", DBS "spfile.ora", DBS "spfileorcl.ora"},
                 "N",
                 DBS "spfileorcl.ora"},
                {{DBS "initorcl.ora", DBS "spfile.ora", "/x"}, "N", DBS "spfile.ora"},
                {{DBS "initorcl.ora", DBS "spfileother.ora", "/x"}, "N", DBS "initorcl.ora"},
                {{DBS "initorcl.ora", "/u01/app/oracle/dbs/initorcl.ora", "/x"},
                 "N",
                 DBS "initorcl.ora"},
                {{DBS "initorcl.ora", "/u01/app/oracle/dbs/initorcl.ora", "/x"},
                 "Y",
                 "/u01/app/oracle/dbs/initorcl.ora"},
                {{"/x", "/u01/app/oracle/dbs/spfileorcl.ora", "/y"},
                 "Y",
                 "/u01/app/oracle/dbs/spfileorcl.ora"},
        };
        EngineTarget target = target_of_unit();

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const Sources *sources = TEST_SOURCES(
                        arena, {UNIT, ENV("orcl")}, {ORATAB, "orcl:" HOME "/:Y\n"},
                        {HOME "/install/orabasetab",
                         arena_printf(arena, "#orabasetab\n%s:/u01/app/oracle:OraDB19Home1:%s:\n",
                                      HOME, rows[i].flag)},
                        {rows[i].paths[0], "sga_target=1G"}, {rows[i].paths[1], "sga_target=1G"},
                        {rows[i].paths[2], "sga_target=1G"});
                Gathered gathered;

                assert_text(gather(arena, &target, sources, &gathered), "sga_target=1G");
                assert_text(gathered.config_file, rows[i].chosen);
        }
}

#define TWO_STARTED ORATAB, "a:" HOME ":Y\nb:" HOME ":W\nc:" HOME ":N\na:/twice:Y\n"

/* What dbstart starts, whatever ORACLE_SID says; without dbstart ORACLE_SID decides. */
TEST(instances_of_oratab) {
        static const struct {
                const char *unit, *found;
        } rows[] = {
                {DBSTART, "a.sga_target=80G|b.sga_target=12G"},
                {SQLPLUS, "a.sga_target=80G|b.sga_target=12G"},
                {DBSTART "Environment=ORACLE_SID=a\n", "a.sga_target=80G|b.sga_target=12G"},
                {"[Service]\nEnvironment=ORACLE_SID=a\nExecStart=/bin/su - oracle -c \"dbstart "
                 "$ORACLE_HOME\"\n",
                 "a.sga_target=80G|b.sga_target=12G"},
                {"[Service]\nEnvironment=ORACLE_SID=a\nExecStart=/opt/dbstart.sh\n",
                 "sga_target=80G"},
                {ENV("c"), "sga_target=1G"},
        };
        EngineTarget target = target_of_unit();

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const Sources *sources =
                        TEST_SOURCES(arena, {UNIT, rows[i].unit}, {TWO_STARTED},
                                     {DBS "inita.ora", "sga_target=80G\nb.sga_target=1G\n"},
                                     {DBS "initb.ora", "*.sga_target=12G\n"},
                                     {DBS "initc.ora", "sga_target=1G"});
                Gathered gathered;

                assert_text(gather(arena, &target, sources, &gathered), rows[i].found);
        }
}

TEST(sum) {
        EngineTarget target = target_of_unit();
        Gathered gathered;
        const Sources *sources = TEST_SOURCES(arena, {UNIT, DBSTART}, {TWO_STARTED},
                                              {DBS "inita.ora", "sga_target=80G"},
                                              {DBS "initb.ora", "sga_target=12G"});

        gather(arena, &target, sources, &gathered);
        assert_text(pages_of(arena, &gathered), "47114");
        assert_null(gathered.config_file);
        /* One that cannot be read leaves the sum unknown. */
        sources = TEST_SOURCES(arena, {UNIT, DBSTART}, {TWO_STARTED},
                               {DBS "inita.ora", "sga_target=80G"});
        const char *wrong = gather(arena, &target, sources, &gathered);

        assert_contains(wrong, "b (/etc/oratab:2): it has no parameter file in " HOME "/dbs");
        assert_contains(wrong, "CREATE PFILE");
}

/* Names that say which: a unit's instance; without a unit, the name of ours. */
TEST(named_instances) {
        const Sources *sources = TEST_SOURCES(
                arena, {"/etc/systemd/system/oracle@.service", SQLPLUS}, {TWO_STARTED},
                {DBS "inita.ora", "sga_target=80G"}, {DBS "initb.ora", "sga_target=12G"},
                {DBS "initc.ora", "sga_target=1G"});
        Gathered gathered;

        assert_text(gather(arena, &(EngineTarget){.instance = "x", .unit = "oracle@c.service"},
                           sources, &gathered),
                    "sga_target=1G");
        assert_text(gather(arena, &(EngineTarget){.instance = "b"}, sources, &gathered),
                    "sga_target=12G");
        assert_text(gather(arena, &(EngineTarget){.instance = "x"}, sources, &gathered),
                    "a.sga_target=80G|b.sga_target=12G");
        assert_text(
                gather(arena, &(EngineTarget){.unit = "oracle@other.service"}, sources, &gathered),
                "a.sga_target=80G|b.sga_target=12G");
}

#define GRID "/u01/app/19.0.0/grid"

/* ASM counts where it does not manage its memory automatically, as it does by default. */
TEST(asm) {
        static const struct {
                const char *path, *text, *found;
        } rows[] = {
                {GRID "/dbs/init+ASM.ora", "memory_target=0\nsga_target=3G\n",
                 "a.sga_target=8G|+ASM.memory_target=0|+ASM.sga_target=3G"},
                {GRID "/dbs/init+ASM.ora", "memory_target=1G\nsga_target=3G\n", "sga_target=8G"},
                {GRID "/dbs/init+ASM.ora", "sga_target=3G\n", "sga_target=8G"},
                {GRID "/dbs/init+ASM.ora", "spfile=+DATA/ASM/spfile.1.2\n", "sga_target=8G"},
                {"/none", "", "sga_target=8G"},
        };
        EngineTarget target = target_of_unit();

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const Sources *sources = TEST_SOURCES(
                        arena, {UNIT, DBSTART}, {ORATAB, "+ASM:" GRID ":N\na:" HOME ":Y\n"},
                        {DBS "inita.ora", "sga_target=8G"}, {rows[i].path, rows[i].text});
                Gathered gathered;

                assert_text(gather(arena, &target, sources, &gathered), rows[i].found);
        }
}

/* DataDirectory= is ORACLE_HOME, or the directory of the parameter files. */
TEST(data_directory) {
        static const char *const directories[] = {HOME, HOME "/", HOME "/dbs", HOME "/dbs/"};
        const Sources *sources = TEST_SOURCES(
                arena, {ORATAB, "a:/other:Y\n+ASM:" GRID ":Y\n"},
                {DBS "spfileorcl.ora", "sga_target=8G"}, {DBS "initorcl.ora", "sga_target=1G"},
                {DBS "init.ora", "sga_target=2G"}, {DBS "hc_orcl.dat", ""});
        Gathered gathered;

        for (size_t i = 0; i < ARRAY_LEN(directories); i++)
                assert_text(gather(arena, &(EngineTarget){.data_directory = directories[i]},
                                   sources, &gathered),
                            "sga_target=8G");
        sources = TEST_SOURCES(arena, {TWO_STARTED}, {"/o/dbs/initb.ora", "sga_target=1G"},
                               {DBS "inita.ora", "sga_target=2G"},
                               {DBS "initb.ora", "sga_target=3G"});
        assert_text(gather(arena, &(EngineTarget){.data_directory = HOME}, sources, &gathered),
                    "a.sga_target=2G|b.sga_target=3G");
        assert_text(gather(arena, &(EngineTarget){.data_directory = "/o"}, sources, &gathered),
                    "sga_target=1G");
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

/* What keeps huge pages from being used, with file, line and remedy. */
TEST(unfit_parameters) {
        static const struct {
                const char *text, *sentence[3];
        } rows[] = {
                {"sga_target=8G\nmemory_target=8G", {"memory_target (/p.ora:2)", "set it to 0"}},
                {"memory_max_target=8G", {"memory_max_target (/p.ora:1)", "sga_target"}},
                {"sga_target=8G\nuse_large_pages=false", {"use_large_pages (/p.ora:2)", "ONLY"}},
                {"sga_target=8X", {"sga_target (/p.ora:1): '8X'", "180G"}},
                {"sga_target=0", {"sga_max_size and sga_target are both missing or 0"}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const Sources *sources = TEST_SOURCES(arena, {"/p.ora", rows[i].text});
                Gathered gathered;

                gather(arena, &(EngineTarget){.config_file = "/p.ora"}, sources, &gathered);
                const char *wrong = pages_of(arena, &gathered);

                for (size_t j = 0; j < 3 && rows[i].sentence[j]; j++)
                        assert_contains(wrong, rows[i].sentence[j]);
        }
        /* AUTO is no reason to stop, and is told. */
        const Sources *sources =
                TEST_SOURCES(arena, {"/p.ora", "sga_target=8G\nuse_large_pages=auto_only\n"});
        Gathered gathered;
        Sizing sizing;

        gather(arena, &(EngineTarget){.config_file = "/p.ora"}, sources, &gathered);
        assert_null(
                engine_size(engine_find("oracle"), arena, &gathered.settings, 2 * MIB, &sizing));
        assert_contains(sizing.caveat, "AUTO");
}

TEST(nothing_found) {
        EngineTarget target = target_of_unit();
        Gathered gathered;

        assert_contains(gather(arena, &target, TEST_SOURCES(arena, {UNIT, DBSTART}), &gathered),
                        "there is no /etc/oratab; write ConfigFile=");
        assert_contains(gather(arena, &target,
                               TEST_SOURCES(arena, {UNIT, DBSTART}, {ORATAB, "a:/x:N\nb:/y:N\n"}),
                               &gathered),
                        "has the flag Y");
        assert_contains(gather(arena, &target, TEST_SOURCES(arena, {UNIT, ENV("orcl")}), &gathered),
                        "orcl is not in /etc/oratab");
        assert_contains(
                gather(arena, &target, TEST_SOURCES(arena, {UNIT, ENV("../../x")}), &gathered),
                "ORACLE_SID in the unit is none");
        /* The only one there is, whatever its flag; of the other oratab too. */
        assert_text(gather(arena, &target,
                           TEST_SOURCES(arena, {UNIT, SQLPLUS},
                                        {"/var/opt/oracle/oratab", "a:" HOME ":N\n"},
                                        {DBS "inita.ora", "sga_target=2G"}),
                           &gathered),
                    "sga_target=2G");
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
