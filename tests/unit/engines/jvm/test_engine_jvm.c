/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Java's options found through units, files and environments, as Elasticsearch, Tomcat and plain
 * programs have them. */

#include "base/size.h"
#include "engines/reader.h"
#include "support/sources.h"
#include "support/testing.h"

#define UNIT "/etc/systemd/system/app.service"
#define ES   "/usr/lib/systemd/system/elasticsearch.service"

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

/* What reaches the virtual machine, and what does not. */
TEST(command_lines) {
        static const struct {
                const char *unit, *found;
        } rows[] = {
                {"ExecStart=/usr/bin/java -Xmx2g" LARGE " -jar /x.jar -Xmx9g\n",
                 "Xmx=2g|UseLargePages=true"},
                {"ExecStart=/usr/bin/java -cp -Xmx9g:/x -Xmx2g" LARGE " com.example.Main -Xmx9g\n",
                 "Xmx=2g|UseLargePages=true"},
                {"ExecStart=/usr/bin/java -Xmx2g" LARGE " -Xmx4g -m a/b.C\n",
                 "Xmx=2g|UseLargePages=true|Xmx=4g"},
                /* Only the unit's own line decides whether java sees JAVA_OPTS. */
                {"EnvironmentFile=/etc/default/app\nExecStart=/usr/bin/java $JAVA_OPTS -jar /x.jar\n",
                 "Xmx=8g|UseLargePages=true"},
                {"EnvironmentFile=/etc/default/app\nExecStart=/usr/bin/java -Xmx1g" LARGE " Main\n",
                 "Xmx=1g|UseLargePages=true"},
                {"EnvironmentFile=/etc/default/app\nExecStart=/usr/share/tomcat/bin/catalina.sh run\n",
                 "Xmx=8g|UseLargePages=true"},
                {"Environment=JAVA_OPTS=-Xmx1g \"CATALINA_OPTS=-Xmx2g" LARGE "\"\n"
                 "ExecStart=/opt/tomcat.sh\n",
                 "Xmx=1g|Xmx=2g|UseLargePages=true"},
                {"ExecStart=/bin/sh -c \"exec java -Xmx2g" LARGE " -jar x.jar -v\"\n",
                 "Xmx=2g|UseLargePages=true"},
                /* The virtual machine's own variables, before and behind the command line. */
                {"Environment=\"JAVA_TOOL_OPTIONS=-Xmx1g" LARGE "\" JDK_JAVA_OPTIONS=-Xmx2g "
                 "_JAVA_OPTIONS=-Xmx4g\nExecStart=/usr/bin/java -Xmx3g Main\n",
                 "Xmx=1g|UseLargePages=true|Xmx=2g|Xmx=3g|Xmx=4g"},
                /* Argument files. */
                {"ExecStart=/usr/bin/java @/opt/app/java.args -Xmx4g Main @/none\n",
                 "Xmx=3g|UseLargePages=true|Xmx=4g"},
                {"WorkingDirectory=-/opt/app\nExecStart=/usr/bin/java @java.args Main\n",
                 "Xmx=3g|UseLargePages=true"},
                {"ExecStart=/usr/bin/java @@x -Xmx1g" LARGE " Main\n", "Xmx=1g|UseLargePages=true"},
                {"ExecStart=/usr/bin/java @/none Main\n",
                 UNIT ":2: /none cannot be read: No such file or directory"},
        };
        Gathered gathered;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_text(gather_unit(arena, arena_printf(arena, "[Service]\n%s", rows[i].unit),
                                        &gathered),
                            rows[i].found);
}

TEST(origins) {
        Gathered gathered;

        gather_unit(arena,
                    "[Service]\nUser=app\nEnvironmentFile=/etc/default/app\n"
                    "ExecStart=/usr/bin/java -Xmx1g $JAVA_OPTS Main\n",
                    &gathered);
        assert_text(gathered.settings.items[0].origin, UNIT ":4");
        assert_text(gathered.user, "app");
        gather_unit(arena, "[Service]\nEnvironmentFile=/etc/default/app\nExecStart=/opt/x.sh\n",
                    &gathered);
        assert_text(gathered.settings.items[0].origin, "/etc/default/app:1");
}

/* ---- files ---- */

static const char es_unit[] = "[Service]\nUser=elasticsearch\nEnvironment=ES_PATH_CONF=/etc/es\n"
                              "EnvironmentFile=-/etc/default/elasticsearch\n"
                              "ExecStart=/usr/share/elasticsearch/bin/systemd-entrypoint -p x\n";

TEST(elasticsearch) {
        EngineTarget target = {.instance = "es", .unit = "elasticsearch.service"};
        Gathered gathered;
        const Sources *sources = TEST_SOURCES(
                arena, {ES, es_unit},
                {"/etc/es/jvm.options",
                 "-Xmx1g\n8-13:-XX:+UseConcMarkSweepGC\n14-:-XX:+UseG1GC\noops\n"},
                {"/etc/es/jvm.options.d/heap.options", "-Xmx31g\n"},
                {"/etc/es/jvm.options.d/large.options", "-XX:+UseLargePages\n"},
                {"/etc/es/jvm.options.d/large.options.bak", "-XX:-UseLargePages\n"},
                {"/etc/default/elasticsearch",
                 "JAVA_TOOL_OPTIONS=-Xmx5g\nJAVA_OPTS=-Xmx6g\nES_JAVA_OPTS=-XX:ReservedCodeCacheSize=512m\n"},
                {"/usr/share/elasticsearch/jdk/release",
                 "IMPLEMENTOR=\"Oracle\"\nJAVA_VERSION=\"21.0.1\"\n"});

        assert_text(gather(arena, &target, sources, &gathered),
                    "server_version=21.0.1|Xmx=1g|gc=g1|Xmx=31g|UseLargePages=true|"
                    "ReservedCodeCacheSize=512m");
        assert_text(gathered.settings.items[0].origin, "/usr/share/elasticsearch/jdk/release:2");
        assert_text(gathered.settings.items[3].origin, "/etc/es/jvm.options.d/heap.options:1");
        assert_text(gathered.version, "21.0.1");
        assert_text(gathered.user, "elasticsearch");
        assert_text(gathered.config_file, "/etc/es/jvm.options");
        assert_int_equal(gathered.problems.list.n, 1);
        assert_int_equal(gathered.problems.list.items[0].line, 4);
}

TEST(elasticsearch_defaults) {
        EngineTarget target = {.unit = "elasticsearch.service"};
        Gathered gathered;

        assert_text(gather(arena, &target,
                           TEST_SOURCES(arena, {ES, "[Service]\nExecStart=/x\n"},
                                        {"/etc/elasticsearch/jvm.options",
                                         "-Xmx2g\n-XX:+UseLargePages\n"}),
                           &gathered),
                    "Xmx=2g|UseLargePages=true");
        assert_null(gathered.version);
        assert_contains(gather(arena, &target, TEST_SOURCES(arena, {ES, es_unit}), &gathered),
                        "/etc/es/jvm.options cannot be read");
}

TEST(config_file) {
        const Sources *sources = TEST_SOURCES(
                arena, {"/etc/cassandra/jvm-server.options", "-Xmx8g\n-XX:+UseLargePages\n-ea\n"},
                {"/etc/app.args", "-Xmx4g -XX:+UseLargePages\n-XX:+UseZGC\n"},
                {UNIT, "[Service]\nExecStart=/usr/bin/java -XX:+UseSerialGC Main\n"});
        EngineTarget target = {.config_file = "/etc/cassandra/jvm-server.options"};
        Gathered gathered;

        assert_text(gather(arena, &target, sources, &gathered), "Xmx=8g|UseLargePages=true");
        target.config_file = "/etc/app.args";
        assert_text(gather(arena, &target, sources, &gathered), "Xmx=4g|UseLargePages=true|gc=zgc");
        target.unit = "app.service";
        assert_text(gather(arena, &target, sources, &gathered),
                    "Xmx=4g|UseLargePages=true|gc=zgc|gc=serial");
        target.config_file = "/none.options";
        assert_contains(gather(arena, &target, sources, &gathered),
                        "/none.options cannot be read: No such file");
}

/* Debian's /usr/bin/java is a link to a link. */
TEST(java_version) {
        const EngineTarget target = {.unit = "app.service"};
        Gathered gathered;

        gather(arena, &target,
               TEST_SOURCES(arena, {UNIT, "[Service]\nExecStart=/usr/bin/java -Xmx1g Main\n"},
                            {"/usr/bin/java", "-> /etc/alternatives/java"},
                            {"/etc/alternatives/java", "-> /usr/lib/jvm/java-17/bin/java"},
                            {"/usr/lib/jvm/java-17/release", "JAVA_VERSION=\"17.0.15\"\n"}),
               &gathered);
        assert_text(gathered.version, "17.0.15");
        assert_text(settings_find(&gathered.settings, "server_version")->value, "17.0.15");
        gather(arena, &target,
               TEST_SOURCES(arena, {UNIT, "[Service]\nEnvironment=JAVA_HOME=/j8\nExecStart=/x\n"},
                            {"/j8/release", "JAVA_VERSION=\"1.8.0_392\"\n"}),
               &gathered);
        assert_text(gathered.version, "1.8.0_392");
        assert_text(settings_find(&gathered.settings, "server_version")->value, "1.8.0_392");
        /* A script may start another than the host's. */
        gather(arena, &target,
               TEST_SOURCES(arena, {UNIT, "[Service]\nExecStart=/x\n"},
                            {"/usr/bin/java", "-> /j17/bin/java"},
                            {"/j17/release", "JAVA_VERSION=\"17.0.15\"\n"}),
               &gathered);
        assert_text(gathered.version, "17.0.15");
        assert_null(settings_find(&gathered.settings, "server_version"));
        /* In a circle. */
        gather(arena, &target,
               TEST_SOURCES(arena, {UNIT, "[Service]\nExecStart=/a/bin/java Main\n"},
                            {"/a/bin/java", "-> /a/bin/java"}),
               &gathered);
        assert_null(gathered.version);
}

/* As Debian's Tomcat finds its Java: where none is set, by what is there. */
static const char *tomcat_version(Arena *arena, const char *settings) {
        const EngineTarget target = {.unit = "tomcat10.service"};
        Gathered gathered;
        const char *found = gather(
                arena, &target,
                TEST_SOURCES(
                        arena,
                        {"/usr/lib/systemd/system/tomcat10.service",
                         "[Service]\nExecStart=/bin/sh /usr/libexec/tomcat10/tomcat-start.sh\n"},
                        {"/usr/libexec/tomcat10/tomcat-start.sh",
                         ". /etc/default/tomcat10\n. /usr/libexec/tomcat10/locate.sh\n"},
                        {"/etc/default/tomcat10", settings},
                        {"/usr/libexec/tomcat10/locate.sh",
                         "if [ -z \"$JAVA_HOME\" ]; then\n"
                         "for jdir in $JDK_DIRS; do\n"
                         "if [ -r \"$jdir/bin/java\" ]; then\nJAVA_HOME=\"$jdir\"\nfi\ndone\nfi\n"},
                        {"/usr/bin/java", "-> /j17/bin/java"},
                        {"/j17/release", "JAVA_VERSION=\"17.0.15\"\n"},
                        {"/j21/release", "JAVA_VERSION=\"21.0.8\"\n"}),
                &gathered);
        const Setting *version = settings_find(&gathered.settings, "server_version");

        assert_contains(found, "Xmx=1g");
        return version ? version->value : NULL;
}

TEST(version_in_scripts) {
        static const char options[] = "JAVA_OPTS=\"-Xmx1g" LARGE "\"\n";

        assert_null(tomcat_version(arena, options));
        assert_text(tomcat_version(arena, arena_printf(arena, "JAVA_HOME=/j21\n%s", options)),
                    "21.0.8");
        assert_null(tomcat_version(arena, arena_printf(arena, "JAVA_HOME=$(x)\n%s", options)));
}

/* ---- what is missing ---- */

TEST(missing) {
        Gathered gathered;

        assert_contains(
                gather_unit(arena, "[Service]\nExecStart=/usr/bin/java -Xmx1g Main\n", &gathered),
                "app.service: there is no -XX:+UseLargePages");
        assert_contains(
                gather_unit(arena, "[Service]\nExecStart=/usr/bin/java" LARGE " Main\n", &gathered),
                "app.service: there is no -Xmx");
        assert_contains(gather(arena, &(EngineTarget){.instance = "x"},
                               TEST_SOURCES(arena, {"/x", ""}), &gathered),
                        "write Unit=, or ConfigFile=");
        assert_contains(gather(arena, &(EngineTarget){.config_file = "/x"},
                               test_sources(arena, (const TestFile[]){{"/x", "-Xmx1g\0", 7}}, 1),
                               &gathered),
                        "/x cannot be read: it is no text file");
}

/* What the options say against huge pages is refused with its place. */
TEST(refusals) {
        static const struct {
                const char *options, *sentence;
        } rows[] = {
                {"-Xmx1g -XX:+UseLargePages -XX:-UseLargePages",
                 "UseLargePages (" UNIT ":2): without it Java takes no reserved huge pages"},
                {"-Xmx1g -XX:+UseTransparentHugePages", "UseTransparentHugePages (" UNIT ":2)"},
                {"-Xmx1x" LARGE, "Xmx (" UNIT ":2): '1x' is not valid"},
                {"-Xmx1g -XX:+UseLargePagesInMetaspace" LARGE,
                 "UseLargePagesInMetaspace (" UNIT ":2): with it Java takes as many as"},
                {"-Xmx1g -XX:TieredStopAtLevel=x" LARGE,
                 "TieredStopAtLevel (" UNIT ":2): 'x' is not valid"},
                {"-Xmx1g -XX:LargePageSizeInBytes=1g" LARGE, "LargePageSizeInBytes (" UNIT ":2)"},
        };
        Gathered gathered;
        Sizing sizing;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                gather_unit(arena,
                            arena_printf(arena, "[Service]\nExecStart=/usr/bin/java %s Main\n",
                                         rows[i].options),
                            &gathered);
                assert_contains(engine_size(engine_find("jvm"), arena, &gathered.settings, 2 * MIB,
                                            &sizing),
                                rows[i].sentence);
        }
}

/* The collectors of OpenJDK 17 with a heap of 512m: 256 pages, 120 of code (24 with one compiler), and their
 * tables. */
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

/* Of which machines what was seen is all that they ever take. */
TEST(fixed) {
        static const struct {
                const char *version, *options;
                bool is_fixed;
        } rows[] = {
                {"17.0.9", "-XX:+UseG1GC", true},
                {"11.0.13", "-XX:+UseShenandoahGC", true},
                {"21.0.8", "-XX:+UseParallelGC", false}, /* a table begins anywhere */
                {"26", "-XX:+UseParallelGC -XX:ReservedCodeCacheSize=64m", true},
                {"26", "-XX:+UseSerialGC -XX:ReservedCodeCacheSize=64m", false},
                {"13", "-XX:+UseConcMarkSweepGC", false},
                {"17.0.9", "-XX:+UseG1GC -XX:ReservedCodeCacheSize=256m", false},
                {"17.0.9", "-XX:+UseG1GC -XX:ProfiledCodeHeapSize=64m", false},
                {"17.0.9", "", false}, /* by the CPUs */
                {NULL, "-XX:+UseG1GC", false},
                {"1.8.0_392", "-XX:+UseG1GC", false}, /* its mark stack grows */
                {"27", "-XX:+UseG1GC", false},
                {"21.0.8", "-XX:+UseZGC", false},
                {"21.0.8", "-XX:+UseZGC -Xms256m", false},
                {"21.0.8", "-XX:+UseZGC -Xms512m", true},
                {"21.0.8", "-XX:+UseZGC -XX:InitialHeapSize=536870912", true},
                {"25.0.4", "-XX:+UseG1GC", false}, /* its code heaps are by the CPUs */
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
