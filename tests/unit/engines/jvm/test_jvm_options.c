/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Java's options from files, argument files and variables. */

#include "engines/jvm/jvm.h"
#include "support/testing.h"

static SourceText text_of(const char *string) {
        return (SourceText){.text = string, .size = strlen(string)};
}

/* The options separated by bars, and a mark with the line of each problem. */
static const char *join(Arena *arena, const JvmOptions *options, const Diags *problems) {
        Text text = text_in(arena);

        VEC_FOREACH(option, options)
                text_printf(&text, "%s%s", text.length > 0 ? "|" : "", option->text);
        for (size_t i = 0; problems && i < problems->list.n; i++)
                text_printf(&text, "!%u", problems->list.items[i].line);
        return text_string(&text);
}

TEST(lines) {
        static const struct {
                const char *text;
                uint64_t java_major;
                const char *options;
        } rows[] = {
                {"", 17, ""},
                {"## heap\n-Xms4g\n-Xmx4g\r\n\n  \n# -Xmx1g\n-Xss1m ", 17, "-Xms4g|-Xmx4g|-Xss1m"},
                {"-XX:OnOutOfMemoryError=kill -9 %p\n", 17, "-XX:OnOutOfMemoryError=kill -9 %p"},
                {"8-13:-XX:+UseConcMarkSweepGC\n14-:-XX:+UseG1GC\n", 8, "-XX:+UseConcMarkSweepGC"},
                {"8-13:-XX:+UseConcMarkSweepGC\n14-:-XX:+UseG1GC\n", 13, "-XX:+UseConcMarkSweepGC"},
                {"8-13:-XX:+UseConcMarkSweepGC\n14-:-XX:+UseG1GC\n", 14, "-XX:+UseG1GC"},
                {"8-13:-XX:+UseConcMarkSweepGC\n14-:-XX:+UseG1GC\n", 0, "-XX:+UseG1GC"},
                {"17:-Xmx1g\n18:-Xmx2g\n17-17:-Xmx3g", 17, "-Xmx1g|-Xmx3g"},
                /* Text that Elasticsearch refuses. */
                {"Xmx4g\n-Xmx1g\n -Xmx2g\n9-8:-Xmx3g\n8-:Xmx4g\n-8:-Xmx5g", 8,
                 "-Xmx1g|-8:-Xmx5g!1!3!4!5"},
                {"8--Xmx4g\n8-9-Xmx\n99999999999999999999:-Xmx1g\n8:\n8", 8, "!1!2!3!4!5"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                SourceText text = text_of(rows[i].text);
                Diags problems = diags_in(arena);
                JvmOptions options = {};

                jvm_options_read_lines(arena, &text, "/j", rows[i].java_major, &options, &problems);
                assert_text(join(arena, &options, &problems), rows[i].options);
        }
}

TEST(arguments) {
        static const struct {
                const char *text, *options;
        } rows[] = {
                {"", ""},
                {"-Xmx4g -XX:+UseZGC\n# -Xmx1g\n\t-Xss1m # more\n-jar x.jar\n",
                 "-Xmx4g|-XX:+UseZGC|-Xss1m|-jar"},
                {"-Dx=\"a b\" '-Xmx4g' -X\"m\"x5g", "-Dx=a b|-Xmx4g|-Xmx5g"},
                {"\"-Dx=a\\\\b\\\"c\" -Xmx1g", "-Dx=a\\b\"c|-Xmx1g"},
                {"\"-Xmx\\\n   4g\" -a", "-Xmx4g|-a"},
                {"-Dx=C:\\temp -a#b", "-Dx=C:\\temp|-a#b"},
                {"@/other -Xmx1g", "-Xmx1g"},
                {"-Xmx1g \"-Xmx2g\n-Xmx3g", "-Xmx1g"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                SourceText text = text_of(rows[i].text);
                JvmOptions options = {};

                jvm_options_read_arguments(arena, &text, "/a", &options);
                assert_text(join(arena, &options, NULL), rows[i].options);
        }
        JvmOptions options = {};
        SourceText text = text_of("-a\n\n-b");

        jvm_options_read_arguments(arena, &text, "/a", &options);
        assert_text(options.items[1].origin, "/a:3");
        options = (JvmOptions){};
        jvm_options_read_variable(arena, "  -Xmx4g\t'-Dx=1' x ", "/e:1", &options);
        assert_text(join(arena, &options, NULL), "-Xmx4g|-Dx=1");
        assert_text(options.items[0].origin, "/e:1");
}

/* "NAME=VALUE" separated by bars. */
static const char *settings_of(Arena *arena, const char *variable) {
        JvmOptions options = {};
        Settings settings = {};
        Text text = text_in(arena);

        jvm_options_read_variable(arena, variable, "/e:1", &options);
        jvm_options_settings(arena, &options, &settings);
        VEC_FOREACH(setting, &settings) {
                assert_text(setting->origin, "/e:1");
                text_printf(&text, "%s%s=%s", text.length > 0 ? "|" : "", setting->name,
                            setting->value);
        }
        return text_string(&text);
}

TEST(settings) {
        assert_text(settings_of(arena, "-server -Xms1g -Xmx4g -XX:MaxHeapSize=5368709120"),
                    "Xms=1g|Xmx=4g|Xmx=5368709120");
        assert_text(settings_of(arena, "-XX:+UseLargePages -XX:-UseLargePages "
                                       "-XX:+UseTransparentHugePages"),
                    "UseLargePages=true|UseLargePages=false|UseTransparentHugePages=true");
        assert_text(settings_of(arena, "-XX:ReservedCodeCacheSize=48m -XX:LargePageSizeInBytes=1g"),
                    "ReservedCodeCacheSize=48m|LargePageSizeInBytes=1g");
        assert_text(settings_of(arena, "-XX:+UseG1GC -XX:+UseZGC -XX:+UseParallelGC "
                                       "-XX:+UseSerialGC -XX:+UseShenandoahGC -XX:-UseG1GC"),
                    "gc=g1|gc=zgc|gc=parallel|gc=serial|gc=shenandoah");
        assert_text(settings_of(arena,
                                "-Xint -Xmixed -XX:-TieredCompilation -XX:TieredStopAtLevel=1 "
                                "-XX:G1HeapRegionSize=16m -XX:-UseCompressedOops"),
                    "Xint=true|Xint=false|TieredCompilation=false|TieredStopAtLevel=1|"
                    "G1HeapRegionSize=16m|UseCompressedOops=false");
        assert_text(settings_of(arena, "-XX:TieredStopAtLevel -XX:G1HeapRegionSizes=1 -XX: -XX:+ "
                                       "-Xints -XX:*UseLargePages"),
                    "");
        assert_text(settings_of(arena, "-XX:+UseZGCx -XX:+UseLargePagesIndividualAllocation -Xm"),
                    "");
        assert_text(settings_of(arena, "-Xmx\xff\xfe"), "Xmx=(not readable)");
}

TEST(versions) {
        assert_int_equal(jvm_major_version("17.0.9"), 17);
        assert_int_equal(jvm_major_version("21"), 21);
        assert_int_equal(jvm_major_version("1.8.0_392"), 8);
        assert_int_equal(jvm_major_version("23-ea"), 23);
        assert_int_equal(jvm_major_version(""), 0);
        assert_int_equal(jvm_major_version("x"), 0);
        assert_int_equal(jvm_major_version("999999999999999999999999999"), 0);
}
