/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "plan/thp_plan.h"
#include "support/testing.h"

/* ".../hugepages-64kB/enabled" -> "hugepages-64kB"; the last name of others. */
static const char *short_name(Arena *arena, const char *path) {
        if (text_ends_with(path, "/enabled"))
                path = arena_strndup(arena, path, strlen(path) - strlen("/enabled"));
        return strstr(path, "kB/") ? strstr(path, "hugepages-") : strrchr(path, '/') + 1;
}

/* "POLICY|PATH=VALUE ...|problems" for these files on this host. */
static char *resolve(Arena *arena, const Config *config, const char *thp) {
        Diags problems = diags_in(arena);
        const Topology *topology =
                host_make(arena, arena_printf(arena, "sizes 2M\nnode 0 total=1G\n%s", thp));
        ThpPlan plan = thp_plan_make(arena, config, topology, 0, &problems);
        Text text = text_in(arena);

        text_printf(&text, "%s|", thp_policy_name(plan.policy));
        VEC_FOREACH(write, &plan.writes)
                text_printf(&text, "%s%s=%s", write == plan.writes.items ? "" : " ",
                            short_name(arena, write->path), write->value);
        text_printf(&text, "|%s", problems_text(arena, &problems));
        return text.string;
}

static const char generic[] = "[Instance]\nPages=1\n";
static const char jvm_madvise[] = "[Instance]\nPages=1\nTransparentHugePages=madvise\n";
static const char wants_always[] = "[Instance]\nPages=1\nTransparentHugePages=always\n";
static const char postgresql[] = "[Instance]\nPages=1\nEngine=postgresql\n";

static void test_auto(void **state) {
        assert_text(resolve(*state, config_make(*state, "a.conf", generic, NULL), "thp always"),
                    "never|transparent_hugepage=never|");
        assert_text(resolve(*state, config_make(*state, "a.conf", generic, NULL), "thp never"),
                    "never||");
        assert_text(resolve(*state,
                            config_make(*state, "a.conf", generic, "b.conf", jvm_madvise, NULL),
                            "thp always"),
                    "madvise|transparent_hugepage=madvise|");
}

/* Without any instance nothing is touched. */
static void test_nobody(void **state) {
        assert_text(resolve(*state, config_make(*state, NULL), "thp always"), "keep||");
        assert_text(resolve(*state,
                            config_make(*state, "00.conf", "[Host]\nTransparentHugePages=never\n",
                                        NULL),
                            "thp always"),
                    "never|transparent_hugepage=never|");
}

static void test_keep(void **state) {
        assert_text(resolve(*state,
                            config_make(*state, "00.conf", "[Host]\nTransparentHugePages=keep\n",
                                        "a.conf", wants_always, NULL),
                            "thp madvise 2M=always"),
                    "keep||");
}

/* The weakest policy that serves all; who is displeased is named. */
static void test_conflict(void **state) {
        assert_text(
                resolve(*state,
                        config_make(*state, "a.conf", wants_always, "b.conf", postgresql, NULL),
                        "thp madvise"),
                "always|transparent_hugepage=always|/etc/hugeplan.d/b.conf: "
                "TransparentHugePages: b (PostgreSQL) wants 'never', but the host gets "
                "'always'; set TransparentHugePages= in [Host], or of the other instances, so "
                "that all agree; from systemd 260 on MemoryTHP=disable keeps a single unit from them");
        /* madvise suits those who want none. */
        assert_text(resolve(*state,
                            config_make(*state, "a.conf", jvm_madvise, "b.conf", postgresql, NULL),
                            "thp madvise"),
                    "madvise||");
        /* The host's own word stands, whatever the instances preference. */
        assert_contains(
                resolve(*state,
                        config_make(*state, "00.conf", "[Host]\nTransparentHugePages=never\n",
                                    "a.conf", wants_always, NULL),
                        "thp madvise"),
                "never|transparent_hugepage=never|/etc/hugeplan.d/a.conf: "
                "TransparentHugePages: a (a program of your own) wants 'always', but the "
                "host gets 'never'");
}

/* From systemd 260 on a unit may have less than the host; somebody without one, or who wants more, may not. */
static void test_served_by_unit(void **state) {
        static const struct {
                const char *preference, *host, *unit;
                unsigned systemd_version;
                bool is_named;
        } cases[] = {
                {"never", "always", "a.service", 260, false},
                {"madvise", "always", "a.service", 260, false},
                {"never", "always", "a.service", 259, true},
                {"never", "always", NULL, 260, true},
                {"always", "never", "a.service", 260, true},
                {"always", "madvise", "a.service", 260, true},
                {"madvise", "never", "a.service", 260, true},
        };
        const Topology *topology = host_make(*state, "sizes 2M\nnode 0 total=1G\nthp madvise");

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Diags problems = diags_in(*state);
                const Config *config = config_make(
                        *state, "00.conf",
                        arena_printf(*state, "[Host]\nTransparentHugePages=%s\n", cases[i].host),
                        "a.conf",
                        arena_printf(*state, "[Instance]\nPages=1\nTransparentHugePages=%s\n%s%s\n",
                                     cases[i].preference, cases[i].unit ? "Unit=" : "",
                                     cases[i].unit ? cases[i].unit : ""),
                        NULL);

                thp_plan_make(*state, config, topology, cases[i].systemd_version, &problems);
                assert_int_equal(problems.list.n > 0, cases[i].is_named);
        }
}

static void test_engine_preference(void **state) {
        const Config *config = config_make(*state, "a.conf", "[Instance]\nEngine=mssql\n", "b.conf",
                                           "[Instance]\nEngine=mssql\nTransparentHugePages=never\n",
                                           "c.conf", generic, NULL);

        assert_int_equal(thp_preference_of(config_find(config, "a")), THP_ALWAYS);
        assert_int_equal(thp_preference_of(config_find(config, "b")), THP_NEVER); /* its own word */
        assert_int_equal(thp_preference_of(config_find(config, "c")), THP_AUTO);
}

/* A refused file has no say. */
static void test_refused_file(void **state) {
        assert_text(resolve(*state,
                            config_make(*state, "a.conf",
                                        "[Instance]\nPages=x\nTransparentHugePages=always\n",
                                        "b.conf", generic, NULL),
                            "thp never"),
                    "never||");
}

/* "never" in the global file is not off: transhuge.rst. */
static void test_sizes(void **state) {
        const Config *config = config_make(*state, "a.conf", generic, NULL);

        assert_text(
                resolve(*state, config, "thp never 16K=never 64K=madvise 2M=inherit 128K=always"),
                "never|hugepages-64kB=never hugepages-128kB=never|");
        assert_text(resolve(*state, config_make(*state, "a.conf", jvm_madvise, NULL),
                            "thp always 64K=madvise 2M=always"),
                    "madvise|transparent_hugepage=madvise hugepages-2048kB=madvise|");
        assert_text(resolve(*state, config_make(*state, "a.conf", wants_always, NULL),
                            "thp never 64K=never 2M=always"),
                    "always|transparent_hugepage=always|");
}

/* The files of shared memory are not governed by `enabled`. */
static void test_shared_memory(void **state) {
        const Config *never = config_make(*state, "a.conf", generic, NULL);
        const Config *madvise = config_make(*state, "a.conf", jvm_madvise, NULL);
        const Config *always = config_make(*state, "a.conf", wants_always, NULL);

        assert_text(resolve(*state, never, "thp never shmem=advise 2M=inherit/inherit"),
                    "never|shmem_enabled=never|");
        assert_text(resolve(*state, never, "thp never shmem=deny 64K=never/within_size"),
                    "never|hugepages-64kB/shmem_enabled=never|");
        assert_text(resolve(*state, never, "thp never shmem=never 64K=never/never"), "never||");
        assert_text(resolve(*state, madvise, "thp madvise shmem=within_size 2M=inherit/always"),
                    "madvise|hugepages-2048kB/shmem_enabled=advise shmem_enabled=advise|");
        assert_text(resolve(*state, madvise, "thp madvise shmem=advise"), "madvise||");
        assert_text(resolve(*state, always, "thp always shmem=always"), "always||");
}

/* "always" everywhere must not mean that page faults stall. */
static void test_defrag(void **state) {
        static const char mongodb[] = "[Instance]\nEngine=mongodb\nTransparentHugePages=always\n";
        const Config *always = config_make(*state, "a.conf", wants_always, NULL);
        const Config *dense = config_make(*state, "a.conf", mongodb, NULL);
        const Config *never = config_make(*state, "a.conf", generic, NULL);

        assert_text(resolve(*state, always, "thp always defrag=always max_ptes_none=511"),
                    "always|defrag=defer+madvise|");
        assert_text(resolve(*state, always, "thp always defrag=madvise max_ptes_none=511"),
                    "always||");
        assert_text(resolve(*state, dense, "thp always defrag=madvise max_ptes_none=511"),
                    "always|defrag=defer+madvise max_ptes_none=0|");
        assert_text(resolve(*state, dense, "thp always defrag=defer+madvise max_ptes_none=0"),
                    "always||");
        assert_text(resolve(*state, never, "thp never defrag=always max_ptes_none=511"), "never||");
}

static void test_no_thp(void **state) {
        assert_text(resolve(*state, config_make(*state, "a.conf", wants_always, NULL), ""),
                    "always||");
}

static void test_selected(void **state) {
        assert_text(thp_selected(*state, "always [madvise] never"), "madvise");
        assert_text(thp_selected(*state, "[never]"), "never");
        assert_text(thp_selected(*state, "always inherit madvise [never]\n"), "never");
        assert_null(thp_selected(*state, "always madvise never"));
        assert_null(thp_selected(*state, "always [madvise never"));
        assert_null(thp_selected(*state, ""));
        assert_text(thp_selected(*state, "[]"), "");
}

static void test_names(void **state) {
        ThpPolicy policy = THP_ALWAYS;

        (void) state;
        for (int i = THP_AUTO; i <= THP_ALWAYS; i++) {
                assert_int_equal(thp_policy_from_name(thp_policy_name((ThpPolicy) i), &policy), 0);
                assert_int_equal(policy, i);
        }
        assert_int_equal(thp_policy_from_name("inherit", &policy), -EINVAL);
        assert_int_equal(policy, THP_ALWAYS);
}

TEST_FILE(thp_plan) {
        const struct CMUnitTest tests[] = {
                TEST(test_auto),         TEST(test_nobody),         TEST(test_keep),
                TEST(test_conflict),     TEST(test_served_by_unit), TEST(test_engine_preference),
                TEST(test_refused_file), TEST(test_sizes),          TEST(test_shared_memory),
                TEST(test_defrag),       TEST(test_no_thp),         TEST(test_selected),
                TEST(test_names),
        };

        return RUN_TESTS(tests);
}
