/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What systemd has in effect for a unit, and whether that suits its instances (loaded_unit.stories). At first the unit is
 * as it should be.
 *
 *     config a Pages=10 Unit=x.service    for config_line(); the default
 *     healthy                             the unit is as at first
 *     load-state masked                   name, user, group, override: texts of the unit
 *     pre-starts /bin/a|/bin/b            dropins, after, starts, groups: its lists
 *     outdated, may-lock, memory-lock 20971520, policy bind 0-1
 *     kernel 5.14.0, accounts TEXT        of the host: its release, and /etc/group
 *     judge -> TEXT                       all problems; gates: those of the gates
 */

#include "model/problem.h"
#include "read/unit_file.h"
#include "support/story.h"
#include "units/loaded_unit.h"

enum { FILES_MAX = 4 };

typedef struct Story {
        Arena *arena;
        LoadedUnit unit;
        const char *config, *kernel, *accounts;
        const char *missing; /* the file of a drop-in that was reported to be missing; NULL: none */
        TestFile files[FILES_MAX];
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static SourceNames names(Arena *arena, const char *words) {
        SourceNames list = {};
        const char *word;

        while ((word = text_next_word(arena, &words, "|")))
                *vec_push(arena, &list) = word;
        return list;
}

VERB(do_healthy, "healthy") {
        story->unit = (LoadedUnit){
                .name = "x.service",
                .load_state = "loaded",
                .dropins =
                        names(story->arena, "/run/systemd/generator/x.service.d/10-hugeplan.conf"),
                .after = names(story->arena, "hugeplan.service"),
                .pre_starts = names(story->arena, "/usr/bin/hugeplanctl wait a"),
                .memory_lock_bytes = 8 * MIB,
                .user = "db",
                .group = "",
        };
        return NULL;
}

static void begin_story(void *context) {
        Story *story = context;

        do_healthy(story, NULL);
        story->config = "a Pages=10 Unit=x.service";
        story->kernel = "6.1.0";
        story->accounts = "hugetlb:x:990:\n";
}

VERB(do_text, "config kernel accounts missing name load-state user group override") {
        const struct {
                const char *name, **text;
        } texts[] = {{"config", &story->config},         {"kernel", &story->kernel},
                     {"accounts", &story->accounts},     {"missing", &story->missing},
                     {"name", &story->unit.name},        {"load-state", &story->unit.load_state},
                     {"user", &story->unit.user},        {"group", &story->unit.group},
                     {"override", &story->unit.override}};

        ARRAY_FOREACH(each, texts, ARRAY_LEN(texts))
                if (text_equals(each->name, line->words[0]))
                        *each->text = story_text(line, 0);
        return NULL;
}

VERB(do_list, "dropins after pre-starts starts groups") {
        const struct {
                const char *name;
                SourceNames *list;
        } lists[] = {{"dropins", &story->unit.dropins},
                     {"after", &story->unit.after},
                     {"pre-starts", &story->unit.pre_starts},
                     {"starts", &story->unit.starts},
                     {"groups", &story->unit.groups}};

        ARRAY_FOREACH(each, lists, ARRAY_LEN(lists))
                if (text_equals(each->name, line->words[0]))
                        *each->list = names(line->arena, line->rest);
        return NULL;
}

VERB(do_outdated, "outdated") {
        story->unit.is_outdated = true;
        return NULL;
}

VERB(do_may_lock, "may-lock") {
        story->unit.may_lock = true;
        return NULL;
}

VERB(do_memory_lock, "memory-lock") {
        story->unit.memory_lock_bytes = story_number_at(line, 1);
        return NULL;
}

/* KIND [NODES] */
VERB(do_policy, "policy") {
        static const char *const kinds[] = {
                [MEMORY_POLICY_UNKNOWN] = "unknown", [MEMORY_POLICY_BIND] = "bind"};
        MemoryPolicy *policy = &story->unit.policy;

        *policy = (MemoryPolicy){};
        assert_int_equal(TEXT_TO_ENUM(kinds, line->words[1], &policy->kind), 0);
        assert_int_equal(id_set_parse(line->words[2] ? line->words[2] : "", &policy->nodes), 0);
        return NULL;
}

VERB(do_judge, "judge") {
        Arena *arena = line->arena;
        const Config *config = config_line(arena, "%s", story->config);
        Topology *host = host_make(arena, "sizes 2M\nnode 0 total=4G free=3G\n"
                                          "node 1 total=4G free=3G\n");
        Diags problems = diags_in(arena);
        Accounts accounts =
                accounts_read(arena, TEST_SOURCES(arena, {"/etc/group", story->accounts},
                                                  {"/etc/passwd", "db:x:9:17::/:/b\n"}));
        const LoadedUnitInput input = {config, plan_simple(arena, config, host), host, &accounts};
        LoadedUnits units = {};

        host->kernel_release = story->kernel;
        *vec_push(arena, &units) = story->unit;
        loaded_units_judge(&input, &units, &problems);
        return problems_text(arena, &problems);
}

/* "SEVERITY MESSAGE" of each. A drop-in that is missing was reported before. */
VERB(do_gates, "gates") {
        Diags problems = diags_in(line->arena);
        Text text = text_in(line->arena);

        if (story->missing)
                diags_add(&problems, &(Diag){.id = problem_id(PROBLEM_DROPIN_MISSING),
                                             .file = story->missing});
        loaded_unit_judge_gates(config_line(line->arena, "%s", story->config), &story->unit,
                                &problems);
        VEC_FOREACH(problem, &problems.list)
                if (problem->text)
                        text_printf(&text, "%s %s\n", severity_name(problem->severity),
                                    diag_format(line->arena, problem));
        return text_string(&text);
}

VERB(do_file, "file") {
        return story_change_files(line, story->files, FILES_MAX);
}

/* The unit of the files, if systemd is not asked: "loaded, 1". */
VERB(do_load, "load") {
        const Sources *sources =
                test_sources(line->arena, story->files, test_files_count(story->files, FILES_MAX));

        story->unit = unit_search_loaded(line->arena, "x.service",
                                         unit_file_read(line->arena, sources, "x.service"));
        return arena_printf(line->arena, "%s, %zu", story->unit.load_state,
                            (size_t) story->unit.dropins.n);
}

/* COMMANDS: whether the gate of a is among them. */
VERB(do_gate, "gate") {
        const LoadedUnit unit = {.name = "x.service", .pre_starts = names(line->arena, line->rest)};

        return story_yes(
                loaded_unit_has_gates(config_line(line->arena, "%s", story->config), &unit));
}

/* ACTIVE-STATE SUB-STATE CONTROL-PID MAIN-PID PID */
VERB(do_start, "start") {
        const LoadedUnit unit = {
                .active_state = text_equals(line->words[1], "-") ? "" : line->words[1],
                .sub_state = text_equals(line->words[2], "-") ? "" : line->words[2],
                .control_pid = (uint32_t) story_number_at(line, 3),
                .main_pid = (uint32_t) story_number_at(line, 4),
        };

        return story_yes(loaded_unit_starts_by(&unit, (uint32_t) story_number_at(line, 5)));
}

STORY_TEST(stories, "unit/units/loaded_unit", .size = sizeof(Story), .begin = begin_story)
