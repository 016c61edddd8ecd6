/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The boot guard: its decisions (boot_guard.stories), and its files.
 *
 *     guard 2 a                    two boots have failed, the last one is a; 100 pages of pg are proven
 *     boot b                       this boot, with a new ledger; closed, open: its decision; reload
 *     granted a 50, released a     in the ledger
 *     begin b, succeed, open-guard
 *     is-closed, count, proven
 *     config a Pages=1             for config_line()
 *     plan, plan reload            "NAME GRANTS REASON" of each instance; others: see do_planned()
 */

#include "plan/boot_guard.h"

#include "base/size.h"
#include "support/story.h"

typedef struct Story {
        Arena *arena;
        BootGuard *guard;
        Ledger *ledger;
        const char *config;
        Diags problems; /* of the last plan */
        const Plan *plan;
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static const char proven_text[] = "hugeplan-ledger 1 1 - undecided\n"
                                  "instance pg 2097152 100 spread 0:100 -\n"
                                  "end\n";

static BootGuard *guard_of(Arena *arena, uint64_t failed_boots, const char *boot_id) {
        BootGuard *guard = ARENA_NEW(arena, BootGuard);

        *guard = (BootGuard){.failed_boots = failed_boots, .boot_id = boot_id};
        guard->proven =
                ledger_parse(arena, arena_strdup(arena, proven_text), "", &(const char *){NULL});
        return guard;
}

/* ---- decisions ---- */

VERB(do_guard, "guard") {
        story->guard = guard_of(line->arena, story_number_at(line, 1),
                                line->words[2] ? line->words[2] : "");
        return NULL;
}

VERB(do_boot, "boot") {
        story->ledger = ledger_new(line->arena, line->words[1]);
        return NULL;
}

VERB(do_decided, "closed open reload") {
        if (text_equals(line->words[0], "reload"))
                ledger_reload(story->ledger);
        else
                story->ledger->guard = text_equals(line->words[0], "open") ? LEDGER_GUARD_OPEN
                                                                           : LEDGER_GUARD_CLOSED;
        return NULL;
}

VERB(do_granted, "granted") {
        LedgerInstance *instance = vec_push(line->arena, &story->ledger->instances);

        *instance = (LedgerInstance){.name = line->words[1], .page_size_bytes = 2 * MIB};
        *vec_push(line->arena, &instance->grants) = (NodePages){0, story_number_at(line, 2)};
        return NULL;
}

VERB(do_released, "released is-released") {
        if (text_equals(line->words[0], "is-released"))
                return story_yes(ledger_instance(story->ledger, line->words[1])->is_released);
        ledger_release(line->arena, story->ledger, line->words[1]);
        return NULL;
}

VERB(do_begin, "begin") {
        boot_guard_begin(line->arena, story->guard, line->words[1]);
        return NULL;
}

VERB(do_succeed, "succeed") {
        return story_yes(boot_guard_succeed(line->arena, story->guard, story->ledger));
}

VERB(do_open_guard, "open-guard") {
        return story_yes(boot_guard_open(story->guard));
}

VERB(do_is_closed, "is-closed") {
        return story_yes(boot_guard_is_closed(story->guard, story->ledger));
}

/* "2, b": the failed boots, and the last boot counted. */
VERB(do_count, "count") {
        return arena_printf(line->arena, "%" PRIu64 ", %s", story->guard->failed_boots,
                            story->guard->boot_id);
}

VERB(do_proven, "proven") {
        Text text = text_in(line->arena);

        VEC_FOREACH(proven, &story->guard->proven->instances)
                if (ledger_granted_pages(proven) > 0)
                        text_printf(&text, "%s%s %s", text.length > 0 ? "; " : "", proven->name,
                                    format_page_count(line->arena, ledger_granted_pages(proven),
                                                      proven->page_size_bytes));
        return text_string(&text);
}

/* ---- plans ---- */

VERB(do_config, "config") {
        story->config = line->rest;
        return NULL;
}

VERB(do_plan, "plan") {
        Text text = text_in(line->arena);

        story->problems = diags_in(line->arena);
        story->plan = boot_guard_plan(
                line->arena,
                &(GuardedPlanInput){
                        .guard = story->guard,
                        .config = config_line(line->arena, "%s", story->config),
                        .plan = {.topology = host_make(line->arena, "sizes 1G 2M\n"
                                                                    "node 0 total=16G free=15G\n"),
                                 .ledger = story->ledger},
                        .is_reload = story_has_word(line, "reload")},
                &story->problems);
        ARRAY_FOREACH(planned, story->plan->instances, story->plan->n_instances) {
                const char *name = planned->demand->config->name;

                text_printf(&text, "%s%s %s", text.length > 0 ? "; " : "", name,
                            grants_text(line->arena, story->plan, name));
                if (planned->reason.kind != REASON_NONE)
                        text_printf(&text, " %s", reason_id(planned->reason.kind));
        }
        return text_string(&text);
}

/* About the last plan. */
VERB(do_planned, "wanted why steps is-short problems") {
        const PlanInstance *planned = line->words[1] ? plan_find(story->plan, line->words[1])
                                                     : NULL;
        Text text = text_in(line->arena);

        if (text_equals(line->words[0], "wanted"))
                return story_number(line, planned->pages_wanted);
        if (text_equals(line->words[0], "why"))
                return planned->reason.text;
        if (text_equals(line->words[0], "steps"))
                return steps_text(line->arena, story->plan);
        if (text_equals(line->words[0], "is-short"))
                return story_yes(plan_is_short(story->plan));
        VEC_FOREACH(problem, &story->problems.list)
                text_printf(&text, "%s%s %s%s%s", text.length > 0 ? "; " : "",
                            severity_name(problem->severity), problem->id,
                            problem->file ? " of " : "", problem->file ? problem->file : "");
        return text_string(&text);
}

STORY_TEST(stories, "unit/plan/boot_guard", .size = sizeof(Story))

/* ---- the file of the count ---- */

static BootGuard read_count(Arena *arena, const char *bytes, size_t size) {
        BootGuard guard = {};

        boot_count_parse(arena, bytes, size, &guard);
        return guard;
}

TEST(count_read_back) {
        const BootGuard guard = {.failed_boots = UINT64_MAX, .boot_id = "b"};
        const char *file = boot_count_format(arena, &guard);
        BootGuard read = read_count(arena, file, strlen(file));

        assert_int_equal(strlen(file), BOOT_COUNT_BYTES);
        assert_true(read.failed_boots == UINT64_MAX);
        assert_text(read.boot_id, "b");
        boot_guard_begin(arena, &read, "c");
        assert_true(read.failed_boots == UINT64_MAX); /* a file that was changed */
        file = boot_count_format(arena, &(BootGuard){.failed_boots = 1, .boot_id = ""});
        read = read_count(arena, file, strlen(file));
        assert_int_equal(read.failed_boots, 1);
        assert_text(read.boot_id, "");
        read = read_count(arena, NULL, 0);
        assert_int_equal(read.failed_boots, 0);
        assert_text(read.boot_id, "");
}

/* A file that is no count counts as enough failures to close the guard, because its content is unknown. */
TEST(garbled) {
        const BootGuard good = {.failed_boots = 1, .boot_id = "a"};
        char *file = boot_count_format(arena, &good), zeros[8192] = {};

        assert_int_equal(read_count(arena, zeros, 8192).failed_boots, BOOT_GUARD_FAILURES);
        assert_int_equal(read_count(arena, zeros, BOOT_COUNT_BYTES).failed_boots,
                         BOOT_GUARD_FAILURES);
        assert_int_equal(read_count(arena, "x", 1).failed_boots, BOOT_GUARD_FAILURES);
        for (size_t cut = 1; cut < BOOT_COUNT_BYTES; cut++)
                assert_int_equal(read_count(arena, file, cut).failed_boots, BOOT_GUARD_FAILURES);
        assert_int_equal(read_count(arena, file, BOOT_COUNT_BYTES).failed_boots, 1);
        file[strlen("boots ")] = '4'; /* another version's */
        assert_int_equal(read_count(arena, file, BOOT_COUNT_BYTES).failed_boots, 0);
        file[0] = 'B';
        assert_int_equal(read_count(arena, file, BOOT_COUNT_BYTES).failed_boots,
                         BOOT_GUARD_FAILURES);
}
