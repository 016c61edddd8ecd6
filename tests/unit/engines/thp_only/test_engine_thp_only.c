/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Engines that reserve nothing: their preferences by version, and the answers of their programs. */

#include "engines/reader.h"
#include "support/sources.h"
#include "support/story.h"

/* ENGINE VERSION ["-": none] */
PLAIN_VERB(do_prefers, "prefers") {
        const char *version = text_equals(line->words[2], "-")    ? NULL
                              : text_equals(line->words[2], "''") ? ""
                                                                  : line->words[2];
        ThpPolicy preference;

        assert_int_equal(engine_thp_preference(engine_find(line->words[1]), version, &preference),
                         0);
        return thp_policy_name(preference);
}

/* ENGINE OUTPUT */
PLAIN_VERB(do_answer, "answer") {
        const EngineReader *reader = engine_reader(engine_find(line->words[1]));
        const char *output =
                line->words[2] ? story_unescape(line->arena, strchr(line->rest, ' ') + 1) : "";
        const char *version = NULL;
        const char *wrong = version_answer(line->arena, output, reader->version_mark, &version);

        assert_int_equal(wrong == NULL, version != NULL);
        return version;
}

STORY_TEST(versions, "unit/engines/thp_only/versions")

/* Text without a version changes nothing. */
TEST(no_version) {
        ThpPolicy preference = THP_NEVER;

        assert_int_equal(engine_thp_preference(engine_find("mongodb"), "eight", &preference),
                         -EINVAL);
        assert_int_equal(preference, THP_NEVER);
}

/* An engine with preferences by version has a program that can be asked. */
TEST(questions) {
        const EngineTarget target = {.unit = "x.service"};
        const Gathered gathered = {.version = "17"};

        for (size_t i = 0; i < n_engines; i++) {
                const Engine *engine = engines[i];
                Question question = {};

                assert_int_equal(engine->thp_changed_in.n_known > 0, engine->asks_version);
                assert_true(engine_reader(engine)->version_mark || !engine->asks_version);
                assert_true(!engine->reserves || !engine->asks_version);
                assert_int_equal(engine_reader(engine)->version_mark != NULL,
                                 engine_reader(engine)->version_programs ||
                                         engine_reader(engine)->add_programs);
                if (!engine_reader(engine)->version_mark)
                        continue;
                version_ask(arena, engine, &target, TEST_SOURCES(arena, {"/x", ""}), &gathered,
                            &question);
                assert_true(question.program.n > 0);
                VEC_FOREACH(program, &question.program)
                        assert_true(text_starts_with(*program, "/"));
                assert_text(question.arguments.items[question.arguments.n - 1], "--version");
                if (engine->asks_version)
                        assert_text(question.user, "nobody");
                assert_null(question.data_directory);
        }
}

/* The unit's program has precedence, unless the unit starts something else. */
TEST(program_of_the_unit) {
        static const struct {
                const char *start, *first;
        } rows[] = {
                {"/opt/mongodb-8/bin/mongod --config /etc/mongod.conf",
                 "/opt/mongodb-8/bin/mongod"},
                {"/usr/bin/numactl --interleave=all /opt/mongod", "/usr/bin/mongod"},
                {"mongod", "/usr/bin/mongod"},
                {"/opt/notmongod", "/usr/bin/mongod"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const Sources *sources = TEST_SOURCES(
                        arena, {"/etc/systemd/system/mongod.service",
                                arena_printf(arena, "[Service]\nExecStart=%s\n", rows[i].start)});
                Question question;

                version_ask(arena, engine_find("mongodb"),
                            &(EngineTarget){.unit = "mongod.service"}, sources, NULL, &question);
                assert_text(question.program.items[0], rows[i].first);
        }
}

/* The learned version decides, after the administrator's setting. */
TEST(learned_version) {
        const Config *config = config_make(
                arena, "10-a.conf", "[Instance]\nEngine=mongodb\n", "10-a.conf.d/90-learned.conf",
                "[Instance]\nX-Version=8.0.4\n", "20-b.conf",
                "[Instance]\nEngine=mongodb\nTransparentHugePages=madvise\n",
                "20-b.conf.d/90-learned.conf", "[Instance]\nX-Version=8.0.4\n", "30-c.conf",
                "[Instance]\nEngine=mongodb\n", "30-c.conf.d/90-learned.conf",
                "[Instance]\nX-Version=7.0.4\nTransparentHugePages=always\n", "40-d.conf",
                "[Instance]\nEngine=redis\n", "40-d.conf.d/90-learned.conf",
                "[Instance]\nX-Version=7.0.15\n", "50-e.conf", "[Instance]\nEngine=mongodb\n",
                NULL);
        static const ThpPolicy preferences[] = {THP_ALWAYS, THP_MADVISE, THP_ALWAYS, THP_AUTO,
                                                THP_NEVER};

        assert_int_equal(config->n_instances, ARRAY_LEN(preferences));
        for (size_t i = 0; i < ARRAY_LEN(preferences); i++)
                assert_int_equal(thp_preference_of(&config->instances[i]), preferences[i]);
}
