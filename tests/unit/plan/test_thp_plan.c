/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "plan/host_plan.h"
#include "support/story.h"

enum { FILES_MAX = 4 };

typedef struct Files {
        Arena *arena;
        const char *names[FILES_MAX], *texts[FILES_MAX];
        size_t n;
} Files;

#define VERB(name, words) STORY_VERB(name, words, Files, files)

/* ".../hugepages-64kB/enabled" -> "hugepages-64kB"; the last name of others. */
static const char *short_name(Arena *arena, const char *path) {
        if (text_ends_with(path, "/enabled"))
                path = arena_strndup(arena, path, strlen(path) - strlen("/enabled"));
        return strstr(path, "kB/") ? strstr(path, "hugepages-") : strrchr(path, '/') + 1;
}

/* NAME LINE...; the lines of a file. */
VERB(do_file, "file") {
        assert_true(files->n < FILES_MAX);
        files->names[files->n] = line->words[1];
        files->texts[files->n++] = story_lines(line, 2);
        return NULL;
}

/* FACTS of the host as after "thp" in support/testing.h: "POLICY|PATH=VALUE ...|problems" for the files. */
VERB(do_plan, "plan") {
        const Config *config = config_make_files(line->arena, files->names, files->texts, files->n);
        Diags problems = diags_in(line->arena);
        const Topology *topology = host_printf(line->arena, "sizes 2M\nnode 0 total=1G\n%s%s",
                                               *line->rest ? "thp " : "", line->rest);
        ThpPlan plan = thp_plan_make(line->arena, config, topology, 0, &problems);
        Text text = text_in(line->arena);

        text_printf(&text, "%s|", thp_policy_name(plan.policy));
        VEC_FOREACH(write, &plan.writes)
                text_printf(&text, "%s%s=%s", write == plan.writes.items ? "" : " ",
                            short_name(line->arena, write->path), write->value);
        text_printf(&text, "|%s", problems_text(line->arena, &problems));
        return text_string(&text);
}

VERB(do_preference, "preference") {
        const Config *config = config_make_files(line->arena, files->names, files->texts, files->n);

        return thp_policy_name(thp_preference_of(config_find(config, line->words[1])));
}

VERB(do_selected, "selected") {
        const char *selected = thp_selected(line->arena, story_unescape(line->arena, line->rest));

        return selected ? arena_printf(line->arena, "'%s'", selected) : NULL;
}

STORY_TEST(stories, "unit/plan/thp_plan", .size = sizeof(Files))

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

TEST(names) {
        ThpPolicy policy = THP_ALWAYS;

        for (int i = THP_AUTO; i <= THP_ALWAYS; i++) {
                assert_int_equal(thp_policy_from_name(thp_policy_name((ThpPolicy) i), &policy), 0);
                assert_int_equal(policy, i);
        }
        assert_int_equal(thp_policy_from_name("inherit", &policy), -EINVAL);
        assert_int_equal(thp_policy_from_name("", &policy), -EINVAL);
        assert_int_equal(policy, THP_ALWAYS);
}
