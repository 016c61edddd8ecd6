/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Engines that reserve nothing: their preferences by version, and what their programs answer. */

#include "engines/reader.h"
#include "support/sources.h"
#include "support/testing.h"

TEST(preference_by_version) {
        static const struct {
                const char *engine, *version;
                ThpPolicy preference;
        } preferences[] = {
                {"mongodb", NULL, THP_NEVER},        {"mongodb", "", THP_NEVER},
                {"mongodb", "4.4.29", THP_NEVER},    {"mongodb", "7.0.14", THP_NEVER},
                {"mongodb", "8.0", THP_ALWAYS},      {"mongodb", "8", THP_ALWAYS},
                {"mongodb", "8.2.1", THP_ALWAYS},    {"mongodb", "10.0.0", THP_ALWAYS},
                {"redis", NULL, THP_NEVER},          {"redis", "6.0.16", THP_NEVER},
                {"redis", "6", THP_NEVER},           {"redis", "6.2.0", THP_AUTO},
                {"redis", "7.0.15", THP_AUTO},       {"mssql", "16.0", THP_ALWAYS},
                {"clickhouse", "24.8", THP_MADVISE}, {"memcached", "1.6.18", THP_MADVISE},
                {"postgresql", "17.4", THP_NEVER},   {"valkey", "8.1.0", THP_AUTO},
                {"hana", "2.00.080", THP_MADVISE},   {"db2", "11.5", THP_AUTO},
                {"kubelet", "1.34", THP_AUTO},
        };
        ThpPolicy preference;

        for (size_t i = 0; i < ARRAY_LEN(preferences); i++) {
                const Engine *engine = engine_find(preferences[i].engine);

                assert_int_equal(engine_thp_preference(engine, preferences[i].version, &preference),
                                 0);
                if (preference != preferences[i].preference)
                        fail_msg("%s %s: %s", preferences[i].engine, preferences[i].version,
                                 thp_policy_name(preference));
        }
        /* What is no version changes nothing. */
        assert_int_equal(engine_thp_preference(engine_find("mongodb"), "eight", &preference),
                         -EINVAL);
        assert_int_equal(preference, THP_NEVER);
}

TEST(answers) {
        static const struct {
                const char *engine, *output, *version;
        } answers[] = {
                {"mongodb", "db version v8.0.4\nBuild Info: {\n    \"version\": \"8.0.4\",\n",
                 "8.0.4"},
                {"mongodb", "db version v7.0.14-8\n", "7.0.14"},
                {"mongodb", "db version v3.6\n", "3.6"},
                {"mongodb", "", NULL},
                {"mongodb", "mongod: command not found\n", NULL},
                {"mongodb", "db version v\n", NULL},
                {"mongodb", "db version v8\n", NULL},
                {"mongodb", "db version v8.\n", NULL},
                {"mongodb", "db version v.5\n", NULL},
                {"mongodb", "db version v99999999999999999999.1\n", NULL},
                {"mongodb", "db version v1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1\n", NULL},
                {"redis", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64\n",
                 "7.0.15"},
                {"redis", "Valkey server v=8.0.1 sha=00000000:0 malloc=jemalloc-5.3.0\n", "8.0.1"},
                {"redis", "db version v8.0.4\n", NULL},
                {"postgresql", "postgres (PostgreSQL) 17.5 (Debian 17.5-1.pgdg13+1)\n", "17.5"},
                {"postgresql", "postgres (PostgreSQL) 9.6.24\n", "9.6.24"},
                {"postgresql", "postgres (PostgreSQL) 19devel\n", NULL},
                {"mariadb",
                 "mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64\n",
                 "10.11.18"},
                {"mysql", "/usr/sbin/mysqld  Ver 8.0.19-0ubuntu5 for Linux on x86_64 ((Ubuntu))\n",
                 "8.0.19"},
        };

        for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
                const char *version = NULL;
                const EngineReader *reader = engine_reader(engine_find(answers[i].engine));
                const char *wrong =
                        version_answer(arena, answers[i].output, reader->version_mark, &version);

                assert_text(version, answers[i].version);
                assert_int_equal(wrong == NULL, version != NULL);
        }
}

/* A version that a program cannot be asked for would never be known. */
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

/* The program of the unit goes first, unless the unit starts something else. */
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

/* What was learned decides, and the administrator's word before it. */
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
