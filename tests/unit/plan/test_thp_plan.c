/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "plan/host_plan.h"
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
        const Topology *topology = host_printf(arena, "sizes 2M\nnode 0 total=1G\n%s", thp);
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

TEST(auto) {
        assert_text(resolve(arena, config_make(arena, "a.conf", generic, NULL), "thp always"),
                    "never|transparent_hugepage=never|");
        assert_text(resolve(arena, config_make(arena, "a.conf", generic, NULL), "thp never"),
                    "never||");
        assert_text(resolve(arena,
                            config_make(arena, "a.conf", generic, "b.conf", jvm_madvise, NULL),
                            "thp always"),
                    "madvise|transparent_hugepage=madvise|");
}

/* Without any instance nothing is changed. */
TEST(no_instance) {
        assert_text(resolve(arena, config_make(arena, NULL), "thp always"), "keep||");
        assert_text(resolve(arena, config_line(arena, "00 [Host] TransparentHugePages=never"),
                            "thp always"),
                    "never|transparent_hugepage=never|");
}

TEST(keep) {
        assert_text(resolve(arena,
                            config_make(arena, "00.conf", "[Host]\nTransparentHugePages=keep\n",
                                        "a.conf", wants_always, NULL),
                            "thp madvise 2M=always"),
                    "keep||");
}

/* The weakest policy that serves all instances. An instance that it does not suit is named. */
TEST(conflict) {
        assert_text(resolve(arena,
                            config_make(arena, "a.conf", wants_always, "b.conf", postgresql, NULL),
                            "thp madvise"),
                    "always|transparent_hugepage=always|/etc/hugeplan.d/b.conf: "
                    "TransparentHugePages: b (PostgreSQL) prefers 'never', but the "
                    "host gets 'always'; set TransparentHugePages= in [Host], or of "
                    "the other instances, so that all agree; from systemd 260 on "
                    "MemoryTHP=disable keeps a single unit from them");
        /* madvise suits instances that want none. */
        assert_text(resolve(arena,
                            config_make(arena, "a.conf", jvm_madvise, "b.conf", postgresql, NULL),
                            "thp madvise"),
                    "madvise||");
        /* The host's own setting wins over the instances' preferences. */
        assert_contains(
                resolve(arena,
                        config_make(arena, "00.conf", "[Host]\nTransparentHugePages=never\n",
                                    "a.conf", wants_always, NULL),
                        "thp madvise"),
                "never|transparent_hugepage=never|/etc/hugeplan.d/a.conf: "
                "TransparentHugePages: a (a program of your own) prefers 'always', "
                "but the host gets 'never'");
}

/* Since systemd 260 a unit may have less than the host. That does not serve an instance without a unit, or one that
 * wants more. */
TEST(served_by_unit) {
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
        const Topology *topology = host_make(arena, "sizes 2M\nnode 0 total=1G\nthp madvise");

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Diags problems = diags_in(arena);
                const Config *config = config_line(
                        arena,
                        "00 [Host] TransparentHugePages=%s; a Pages=1 TransparentHugePages=%s "
                        "%s%s",
                        cases[i].host, cases[i].preference, cases[i].unit ? "Unit=" : "",
                        cases[i].unit ? cases[i].unit : "");

                thp_plan_make(arena, config, topology, cases[i].systemd_version, &problems);
                assert_int_equal(problems.list.n > 0, cases[i].is_named);
        }
}

TEST(engine_preference) {
        const Config *config = config_make(arena, "a.conf", "[Instance]\nEngine=mssql\n", "b.conf",
                                           "[Instance]\nEngine=mssql\nTransparentHugePages=never\n",
                                           "c.conf", generic, NULL);

        assert_int_equal(thp_preference_of(config_find(config, "a")), THP_ALWAYS);
        assert_int_equal(thp_preference_of(config_find(config, "b")),
                         THP_NEVER); /* its own setting */
        assert_int_equal(thp_preference_of(config_find(config, "c")), THP_AUTO);
}

/* A refused file has no preference. */
TEST(refused_file) {
        assert_text(resolve(arena,
                            config_make(arena, "a.conf",
                                        "[Instance]\nPages=x\nTransparentHugePages=always\n",
                                        "b.conf", generic, NULL),
                            "thp never"),
                    "never||");
}

/* "never" in the global file does not disable sizes: transhuge.rst. */
TEST(sizes) {
        const Config *config = config_make(arena, "a.conf", generic, NULL);

        assert_text(
                resolve(arena, config, "thp never 16K=never 64K=madvise 2M=inherit 128K=always"),
                "never|hugepages-64kB=never hugepages-128kB=never|");
        assert_text(resolve(arena, config_make(arena, "a.conf", jvm_madvise, NULL),
                            "thp always 64K=madvise 2M=always"),
                    "madvise|transparent_hugepage=madvise hugepages-2048kB=madvise|");
        assert_text(resolve(arena, config_make(arena, "a.conf", wants_always, NULL),
                            "thp never 64K=never 2M=always"),
                    "always|transparent_hugepage=always|");
}

/* `enabled` does not apply to the files of shared memory. */
TEST(shared_memory) {
        const Config *never = config_make(arena, "a.conf", generic, NULL);
        const Config *madvise = config_make(arena, "a.conf", jvm_madvise, NULL);
        const Config *always = config_make(arena, "a.conf", wants_always, NULL);

        assert_text(resolve(arena, never, "thp never shmem=advise 2M=inherit/inherit"),
                    "never|shmem_enabled=never|");
        assert_text(resolve(arena, never, "thp never shmem=deny 64K=never/within_size"),
                    "never|hugepages-64kB/shmem_enabled=never|");
        assert_text(resolve(arena, never, "thp never shmem=never 64K=never/never"), "never||");
        assert_text(resolve(arena, madvise, "thp madvise shmem=within_size 2M=inherit/always"),
                    "madvise|hugepages-2048kB/shmem_enabled=advise shmem_enabled=advise|");
        assert_text(resolve(arena, madvise, "thp madvise shmem=advise"), "madvise||");
        assert_text(resolve(arena, always, "thp always shmem=always"), "always||");
}

/* "always" everywhere must not make page faults stall. */
TEST(defrag) {
        static const char mongodb[] = "[Instance]\nEngine=mongodb\nTransparentHugePages=always\n";
        const Config *always = config_make(arena, "a.conf", wants_always, NULL);
        const Config *dense = config_make(arena, "a.conf", mongodb, NULL);
        const Config *never = config_make(arena, "a.conf", generic, NULL);

        assert_text(resolve(arena, always, "thp always defrag=always max_ptes_none=511"),
                    "always|defrag=defer+madvise|");
        assert_text(resolve(arena, always, "thp always defrag=madvise max_ptes_none=511"),
                    "always||");
        assert_text(resolve(arena, dense, "thp always defrag=madvise max_ptes_none=511"),
                    "always|defrag=defer+madvise max_ptes_none=0|");
        assert_text(resolve(arena, dense, "thp always defrag=defer+madvise max_ptes_none=0"),
                    "always||");
        assert_text(resolve(arena, never, "thp never defrag=always max_ptes_none=511"), "never||");
}

TEST(no_thp) {
        assert_text(resolve(arena, config_make(arena, "a.conf", wants_always, NULL), ""),
                    "always||");
}

TEST(selected) {
        assert_text(thp_selected(arena, "always [madvise] never"), "madvise");
        assert_text(thp_selected(arena, "[never]"), "never");
        assert_text(thp_selected(arena, "always inherit madvise [never]\n"), "never");
        assert_null(thp_selected(arena, "always madvise never"));
        assert_null(thp_selected(arena, "always [madvise never"));
        assert_null(thp_selected(arena, ""));
        assert_text(thp_selected(arena, "[]"), "");
}

TEST(names) {
        ThpPolicy policy = THP_ALWAYS;

        for (int i = THP_AUTO; i <= THP_ALWAYS; i++) {
                assert_int_equal(thp_policy_from_name(thp_policy_name((ThpPolicy) i), &policy), 0);
                assert_int_equal(policy, i);
        }
        assert_int_equal(thp_policy_from_name("inherit", &policy), -EINVAL);
        assert_int_equal(policy, THP_ALWAYS);
}
