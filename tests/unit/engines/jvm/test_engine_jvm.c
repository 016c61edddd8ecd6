/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Java's options from units, files and environments of Elasticsearch, Tomcat and plain programs. */

#include "base/size.h"
#include "engines/reader.h"
#include "support/sources.h"
#include "support/testing.h"

#define UNIT "/etc/systemd/system/app.service"
static const char *gather(Arena *arena, const EngineTarget *target, const Sources *sources,
                          Gathered *ret) {
        *ret = (Gathered){.problems = diags_in(arena)};
        const char *wrong = engine_reader(engine_find("jvm"))
                                    ->gather(arena, engine_find("jvm"), target, sources, ret);
        Text text = text_in(arena);

        if (wrong)
                return wrong;
        VEC_FOREACH(setting, &ret->settings)
                text_printf(&text, "%s%s=%s", text.length > 0 ? "|" : "", setting->name,
                            setting->value);
        return text_string(&text);
}

static const char *gather_unit(Arena *arena, const char *unit_text, Gathered *ret) {
        const EngineTarget target = {.instance = "app", .unit = "app.service"};

        return gather(
                arena, &target,
                TEST_SOURCES(arena, {UNIT, unit_text},
                             {"/etc/default/app", "JAVA_OPTS=\"-Xmx8g -XX:+UseLargePages\"\n"},
                             {"/opt/app/java.args", "-Xmx3g\n-XX:+UseLargePages\n"}),
                ret);
}

#define LARGE " -XX:+UseLargePages"

/* ---- what is missing ---- */

TEST(not_a_text) {
        Gathered gathered;

        assert_contains(gather(arena, &(EngineTarget){.config_file = "/x"},
                               test_sources(arena, (const TestFile[]){{"/x", "-Xmx1g\0", 7}}, 1),
                               &gathered),
                        "/x cannot be read: it is not a text file");
}

/* The collectors of OpenJDK 17 with a heap of 512m: 256 pages, 120 of code (24 with one compiler), tables. */
TEST(sizes) {
        static const struct {
                const char *option;
                uint64_t pages;
        } rows[] = {
                {"", 384},
                {"-XX:+UseG1GC", 384},
                {"-XX:+UseZGC", 376},
                {"-XX:+UseParallelGC", 376},
                {"-XX:+UseSerialGC", 376},
                {"-XX:+UseShenandoahGC", 376 + 8 + 8 + 1},
                {"-XX:+UseSerialGC -XX:TieredStopAtLevel=1", 256 + 24},
                {"-XX:+UseSerialGC -XX:-TieredCompilation", 256 + 24},
                {"-XX:+UseSerialGC -Xint", 256 + 24},
                {"-XX:G1HeapRegionSize=32m -Xmx513m", 272 + 120 + 2 * 5},
        };
        Gathered gathered;
        Sizing sizing;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                gather_unit(arena,
                            arena_printf(arena,
                                         "[Service]\nExecStart=/usr/bin/java -Xmx512m" LARGE
                                         " %s Main\n",
                                         rows[i].option),
                            &gathered);
                settings_add(arena, &gathered.settings, "server_version", "17.0.9", NULL);
                assert_null(engine_size(engine_find("jvm"), arena, &gathered.settings, 2 * MIB,
                                        &sizing));
                assert_int_equal(sizing.pages, rows[i].pages);
        }
}

/* Whether the pages that were seen are all that this virtual machine ever maps. */
TEST(fixed) {
        static const struct {
                const char *version, *options;
                bool is_fixed;
        } rows[] = {
                {"17.0.9", "-XX:+UseG1GC", true},
                {"11.0.13", "-XX:+UseShenandoahGC", true},
                {"21.0.8", "-XX:+UseParallelGC", false}, /* a table may begin anywhere */
                {"26", "-XX:+UseParallelGC -XX:ReservedCodeCacheSize=64m", true},
                {"26", "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=64m", false},
                {"13", "-XX:+UseConcMarkSweepGC", false},
                {"17.0.9", "-XX:+UseG1GC -XX:ReservedCodeCacheSize=256m", false},
                {"17.0.9", "-XX:+UseG1GC -XX:ProfiledCodeHeapSize=64m", false},
                {"17.0.9", "", false}, /* depends on the CPUs */
                {NULL, "-XX:+UseG1GC", false},
                {"1.8.0_392", "-XX:+UseG1GC", false}, /* its mark stack grows */
                {"27", "-XX:+UseG1GC", false},
                {"21.0.8", "-XX:+UseZGC", false},
                {"21.0.8", "-XX:+UseZGC -Xms256m", false},
                {"21.0.8", "-XX:+UseZGC -Xms512m", true},
                {"21.0.8", "-XX:+UseZGC -XX:InitialHeapSize=536870912", true},
                {"25.0.4", "-XX:+UseG1GC", false}, /* its code heaps depend on the CPUs */
                {"25.0.4", "-XX:+UseG1GC -XX:ReservedCodeCacheSize=240m", true},
        };
        const Engine *jvm = engine_find("jvm");

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                Gathered gathered;

                gather_unit(arena,
                            arena_printf(arena,
                                         "[Service]\nExecStart=/usr/bin/java -Xmx512m" LARGE
                                         " %s Main\n",
                                         rows[i].options),
                            &gathered);
                if (rows[i].version)
                        settings_add(arena, &gathered.settings, "server_version", rows[i].version,
                                     NULL);
                assert_int_equal(engine_is_fixed(jvm, &gathered.settings), rows[i].is_fixed);
        }
        assert_true(engine_is_fixed(engine_find("postgresql"), &(Settings){}));
        assert_false(engine_is_fixed(engine_find("mariadb"), &(Settings){}));
}
