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

static BootGuard *guard_of(Arena *arena, uint64_t failed_boots, const char *boot_id) {
        BootGuard *guard = ARENA_NEW(arena, BootGuard);

        *guard = (BootGuard){.failed_boots = failed_boots, .boot_id = boot_id};
        *vec_push(arena, &guard->proven) = (ProvenInstance){"pg", 2 * MIB, 100};
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

        VEC_FOREACH(proven, &story->guard->proven)
                text_printf(&text, "%s%s %s", text.length > 0 ? "; " : "", proven->name,
                            format_page_count(line->arena, proven->pages, proven->page_size_bytes));
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

/* ---- the files ---- */

/* As in the file: the older record stays. */
static char *count_file(Arena *arena, const BootGuard *older, const BootGuard *newer) {
        return arena_printf(arena, "%s%s", boot_count_format(arena, older),
                            boot_count_format(arena, newer));
}

static BootGuard read_count(Arena *arena, const char *bytes, size_t size) {
        BootGuard guard = {};

        boot_count_parse(arena, bytes, size, &guard);
        return guard;
}

TEST(count_read_back) {
        const BootGuard older = {.failed_boots = 1, .boot_id = "", .n_records = 6};
        const BootGuard newer = {.failed_boots = UINT64_MAX, .boot_id = "b", .n_records = 7};
        const char *file = count_file(arena, &older, &newer);
        BootGuard read = read_count(arena, file, strlen(file));

        assert_int_equal(strlen(file), 2 * BOOT_COUNT_BYTES);
        assert_true(read.failed_boots == UINT64_MAX);
        assert_text(read.boot_id, "b");
        assert_int_equal(read.n_records, 7);
        boot_guard_begin(arena, &read, "c");
        assert_true(read.failed_boots == UINT64_MAX); /* a file that was changed */
        read = read_count(arena, count_file(arena, &newer, &older), strlen(file));
        assert_int_equal(read.n_records, 7);
        read = read_count(arena, NULL, 0);
        assert_int_equal(read.failed_boots + read.n_records, 0);
        assert_text(read.boot_id, "");
}

/* Power fails while a record is written, at any byte. The count is then the previous one plus one, because this boot
 * has failed early, or the new one; never less. */
TEST(torn) {
        static const struct {
                uint64_t before, now;
        } rows[] = {{0, 1}, {1, 2}, {2, 3}, {2, 0}, {9, 10}, {99, 0}};

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows))
                for (size_t cut = 0; cut <= BOOT_COUNT_BYTES; cut++) {
                        CLEANUP(arena_freep) Arena *own = arena_new();
                        const BootGuard oldest = {.boot_id = "before-that", .n_records = 5};
                        const BootGuard older = {row->before, "before", 6};
                        const BootGuard newer = {row->now, "now", 7};
                        char *file = count_file(own, &older, &oldest);

                        memcpy(file + BOOT_COUNT_BYTES, boot_count_format(own, &newer), cut);
                        const BootGuard read = read_count(own, file, 2 * BOOT_COUNT_BYTES);

                        /* The records differ from the ninth byte to the last but one. */
                        if (cut >= BOOT_COUNT_BYTES - 1)
                                assert_int_equal(read.failed_boots, row->now);
                        else
                                assert_int_equal(read.failed_boots, row->before + (cut > 8));
                }
}

/* A file that cannot be read counts as enough failures to close the guard, because its content is unknown. */
TEST(garbled) {
        const BootGuard good = {.failed_boots = 1, .boot_id = "a", .n_records = 1};
        char *file = count_file(arena, &good, &good), *zeros = arena_alloc(arena, 9000);

        memset(zeros, 0, 9000);
        assert_int_equal(read_count(arena, zeros, 8192).failed_boots, BOOT_GUARD_FAILURES);
        assert_int_equal(read_count(arena, "x", 1).failed_boots, BOOT_GUARD_FAILURES);
        assert_int_equal(read_count(arena, file, 4095).failed_boots, BOOT_GUARD_FAILURES);
        assert_int_equal(read_count(arena, file, 4096).failed_boots, 2);
        file[0] = 'B';
        assert_int_equal(read_count(arena, file, 8192).failed_boots, 2);
}

static json_t *proven_json(Arena *arena) {
        return boot_proven_to_json(guard_of(arena, 0, ""));
}

/* Anything but a record as it is written is refused, and changes nothing. */
TEST(proven_read_back) {
        static const struct {
                const char *key;
                int number; /* -1: no number */
        } bad[] = {{"version", 3}, {"version", -1}, {"proven", -1}, {"other", 1}};
        BootGuard read = {};
        json_t *json = proven_json(arena);
        json_t *proven = json_array_get(json_object_get(json, "proven"), 0);

        json_object_set_new(proven, "pages", json_integer(1));
        json_object_set_new(proven, "pageSizeBytes", json_integer(1));
        assert_int_equal(boot_proven_from_json(arena, json, &read), 0);
        assert_text(read.proven.items[0].name, "pg");
        assert_int_equal(read.proven.items[0].pages, 1);
        assert_int_equal(read.proven.items[0].page_size_bytes, 1);
        json_object_set_new(proven, "pages", json_integer(0));
        assert_int_equal(boot_proven_from_json(arena, json, &read), -EINVAL);
        json_object_set_new(proven, "pages", json_integer(1));
        json_object_set_new(proven, "pageSizeBytes", json_integer(0));
        assert_int_equal(boot_proven_from_json(arena, json, &read), -EINVAL);
        json_decref(json);
        ARRAY_FOREACH(row, bad, ARRAY_LEN(bad)) {
                json = proven_json(arena);
                json_object_set_new(json, row->key,
                                    row->number < 0 ? json_object() : json_integer(row->number));
                assert_int_equal(boot_proven_from_json(arena, json, &read), -EINVAL);
                json_decref(json);
        }
        assert_int_equal(read.proven.n, 1);
}
