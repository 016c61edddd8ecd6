/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "plan/ledger.h"
#include "support/story.h"

static const char boot[] = "8ac7e6f2-boot";

static Topology *host_with_pool(Arena *arena, const char *counts) {
        return host_printf(arena, "sizes 2M\nnode 0 total=16G free=8G 2M=%s\n", counts);
}

static Ledger *full_ledger(Arena *arena) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger->guard = LEDGER_GUARD_CLOSED;
        *vec_push(arena, &ledger->pools) = (LedgerPool){0, 2 * MIB, 10, 30, .added_pages = 4};
        *vec_push(arena, &ledger->pools) = (LedgerPool){2, GIB, 0, 4};
        LedgerInstance *instance = vec_push(arena, &ledger->instances);

        *instance = (LedgerInstance){.name = "pg-main",
                                     .page_size_bytes = 2 * MIB,
                                     .pages_wanted = 20,
                                     .placement = PLACEMENT_PACK};
        *vec_push(arena, &instance->grants) = (NodePages){0, 15};
        *vec_push(arena, &instance->grants) = (NodePages){2, 5};
        *vec_push(arena, &ledger->instances) =
                (LedgerInstance){.name = "empty", .page_size_bytes = GIB};
        ledger->holds = running_make(arena,
                                     "hold pg.service pg-main 2M=0:12/2:5 bind=0,2 counted "
                                     "run=a1\n"
                                     "hold pg.service pg-old 1G=2:1 wanted=3 bind=0,2 run=a1\n"
                                     "hold ora.service ora 2M=0:7 interleave=0-1\n"
                                     "hold my.service my 2M=0:1 unknown\n"
                                     "hold any.service any 2M=0:1\n")
                                .holds;
        return ledger;
}

/* ---- observing ---- */

/* Of this instance only. */
TEST(forget_refusal) {
        static const char *const names[] = {"a", "b", "c", "b"};
        Ledger *ledger = ledger_new(arena, boot);

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                vec_push(arena, &ledger->refusals)->instance = names[i];
        ledger_forget_refusal(ledger, "b");
        assert_int_equal(ledger->refusals.n, 2);
        assert_text(ledger->refusals.items[0].instance, "a");
        assert_text(ledger->refusals.items[1].instance, "c");
        ledger_forget_refusal(ledger, "x");
        assert_int_equal(ledger->refusals.n, 2);
}

/* A single page, too; no entry for none. */
TEST(restored_pages) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_restore(arena, ledger, 2 * MIB, 0);
        assert_int_equal(ledger->restored.n, 0);
        ledger_restore(arena, ledger, 2 * MIB, 1);
        ledger_restore(arena, ledger, GIB, 2);
        assert_int_equal(ledger->restored.n, 2);
        assert_int_equal(ledger->restored.items[0].pages, 1);
        assert_int_equal(ledger->restored.items[1].pages, 2);
}

TEST(look_up) {
        const Ledger *ledger = full_ledger(arena);

        assert_null(ledger_pool(ledger, 1, 2 * MIB));
        assert_null(ledger_pool(ledger, 0, GIB));
        assert_null(ledger_instance(ledger, "pg"));
        assert_int_equal(ledger_granted_pages(ledger_instance(ledger, "pg-main")), 20);
        assert_int_equal(ledger_granted_pages(ledger_instance(ledger, "empty")), 0);
}

/* ---- units that run ---- */

/* "a.service/x a.service/y": the holds in their order; "-": none. */
static char *holds_text(Arena *arena, const Ledger *ledger) {
        Text text = text_in(arena);

        VEC_FOREACH(hold, &ledger->holds)
                text_printf(&text, "%s%s/%s:%" PRIu64, text.length > 0 ? " " : "", hold->unit,
                            hold->granted.name, ledger_granted_pages(&hold->granted));
        return arena_strdup(arena, text.length > 0 ? text_string(&text) : "-");
}

/* The use has a row for the unit, which says that it does not run. */
TEST(observe_known_to_be_stopped) {
        Ledger *ledger = ledger_new(arena, boot);
        Running running = running_make(arena, "unit a.service\n");

        running.use.units.items[0].is_running = false;
        ledger->holds = running_make(arena, "hold a.service a 2M=0:3\n").holds;
        ledger_observe(arena, ledger, host_with_pool(arena, "10"), &running.use);
        assert_text(holds_text(arena, ledger), "-");
}

static void start(Arena *arena, Ledger *ledger, const char *unit, const char *instance,
                  const char *run) {
        const LedgerHold hold = {.unit = unit,
                                 .run = run,
                                 .policy = {.kind = MEMORY_POLICY_ANY},
                                 .is_counted = true,
                                 .granted = {.name = instance, .pages_wanted = 7}};

        ledger_start(arena, ledger, instance, &hold);
}

/* The hold has what the ledger grants at that moment; later changes do not affect it. */
TEST(start) {
        Ledger *ledger = full_ledger(arena);

        ledger->holds.n = 0;
        start(arena, ledger, "pg.service", "pg-main", "a1");
        LedgerInstance *granted = ledger_instance(ledger, "pg-main");
        const LedgerHold *hold = ledger_hold(ledger, "pg.service", "pg-main");

        assert_non_null(hold);
        assert_text(hold->run, "a1");
        assert_true(hold->is_counted);
        assert_int_equal(hold->granted.pages_wanted, 20);
        assert_int_equal(hold->granted.placement, PLACEMENT_PACK);
        granted->grants.items[0].pages = 1;
        assert_text(holds_text(arena, ledger), "pg.service/pg-main:20");
        /* Another start replaces the previous one. */
        start(arena, ledger, "pg.service", "pg-main", "a2");
        assert_text(holds_text(arena, ledger), "pg.service/pg-main:6");
        assert_text(ledger_hold(ledger, "pg.service", NULL)->run, "a2");
        /* A unit that is granted nothing has a hold of nothing. */
        start(arena, ledger, "x.service", "empty", "a1");
        start(arena, ledger, "y.service", "absent", "a1");
        assert_text(holds_text(arena, ledger),
                    "pg.service/pg-main:6 x.service/empty:0 y.service/absent:0");
        assert_int_equal(ledger_hold(ledger, "y.service", "absent")->granted.pages_wanted, 7);
}

TEST(look_up_hold) {
        const Ledger *ledger = full_ledger(arena);

        assert_text(ledger_hold(ledger, "pg.service", "pg-old")->granted.name, "pg-old");
        assert_text(ledger_hold(ledger, "pg.service", NULL)->granted.name, "pg-main");
        assert_null(ledger_hold(ledger, "pg.service", "ora"));
        assert_null(ledger_hold(ledger, "other.service", NULL));
        assert_null(ledger_hold(ledger, NULL, NULL));
}

/* A released instance gets its pages again with a start or a reload; a running unit keeps its own. */
TEST(release) {
        Ledger *ledger = full_ledger(arena);

        ledger_release(arena, ledger, "pg-main");
        ledger_release(arena, ledger, "new");
        assert_true(ledger_instance(ledger, "pg-main")->is_released);
        assert_int_equal(ledger_granted_pages(ledger_instance(ledger, "pg-main")), 0);
        assert_true(ledger_instance(ledger, "new")->is_released);
        assert_false(ledger_instance(ledger, "empty")->is_released);
        assert_int_equal(
                ledger_granted_pages(&ledger_hold(ledger, "pg.service", "pg-main")->granted), 17);
        ledger_want_again(ledger, "pg-main");
        ledger_want_again(ledger, "absent");
        assert_false(ledger_instance(ledger, "pg-main")->is_released);
        assert_true(ledger_instance(ledger, "new")->is_released);
        ledger_reload(ledger);
        assert_false(ledger_instance(ledger, "new")->is_released);
}

/* ---- the file ---- */

static void assert_same(Arena *arena, const Ledger *a, const Ledger *b) {
        assert_text(ledger_format(arena, a), ledger_format(arena, b));
}

static Ledger *parse(Arena *arena, const char *text) {
        const char *lost = "not set";
        Ledger *ledger = ledger_parse(arena, arena_strdup(arena, text), boot, &lost);

        /* If nothing is released, there is a reason. */
        assert_true(ledger ? !lost : lost && strcmp(lost, "not set") != 0);
        return ledger;
}

/* Written, read, and written again is the same. */
static Ledger *reread(Arena *arena, const Ledger *ledger) {
        Ledger *read = parse(arena, ledger_format(arena, ledger));

        assert_non_null(read);
        assert_same(arena, ledger, read);
        return read;
}

/* The boot guard's decision is read as it was written. */
TEST(round_trip_of_guard) {
        for (int guard = LEDGER_GUARD_UNDECIDED; guard <= LEDGER_GUARD_OPEN; guard++) {
                Ledger *ledger = full_ledger(arena);

                ledger->guard = (LedgerGuard) guard;
                assert_int_equal(reread(arena, ledger)->guard, guard);
        }
}

TEST(round_trip) {
        const Ledger *read = reread(arena, full_ledger(arena));

        assert_int_equal(read->guard, LEDGER_GUARD_CLOSED);
        assert_int_equal(read->pools.n, 2);
        const LedgerInstance *instance = ledger_instance(read, "pg-main");

        assert_int_equal(instance->placement, PLACEMENT_PACK);
        assert_int_equal(instance->grants.n, 2);
        assert_int_equal(instance->grants.items[1].node, 2);
        assert_int_equal(instance->grants.items[1].pages, 5);
        const LedgerHold *hold = ledger_hold(read, "pg.service", "pg-main");

        assert_int_equal(hold->policy.kind, MEMORY_POLICY_BIND);
        assert_text(id_set_format(arena, &hold->policy.nodes), "0,2");
        assert_true(hold->is_counted);
        assert_false(hold->is_assumed || hold->is_tentative);
        assert_text(hold->run, "a1");
        assert_int_equal(hold->granted.grants.items[1].pages, 5);
        assert_int_equal(ledger_hold(read, "pg.service", "pg-old")->granted.pages_wanted, 3);
        assert_int_equal(ledger_hold(read, "ora.service", NULL)->policy.kind,
                         MEMORY_POLICY_INTERLEAVE);
        assert_int_equal(ledger_hold(read, "my.service", NULL)->policy.kind, MEMORY_POLICY_UNKNOWN);
        assert_int_equal(ledger_hold(read, "any.service", NULL)->policy.kind, MEMORY_POLICY_ANY);
}

/* Each flag, a count of an instance without a unit, pages that were left, and a reason of several words. */
TEST(round_trip_of_the_rest) {
        Ledger *ledger = full_ledger(arena);
        const char *const beside[] = {"hold b.service x 2M=0:9 beside=30/0:20/2:5\n",
                                      "hold c.service x 2M=0:9 beside=3\n"};

        ARRAY_FOREACH(each, beside, ARRAY_LEN(beside))
                *vec_push(arena, &ledger->holds) = running_make(arena, *each).holds.items[0];
        LedgerInstance *instance = &ledger->instances.items[1];

        *instance = (LedgerInstance){.name = "empty",
                                     .is_released = true,
                                     .is_unitless = true,
                                     .was_complete = true,
                                     .was_ready = true};
        *vec_push(arena, &ledger->left) = (PageCount){2 * MIB, 9};
        ledger_note_refusal(arena, ledger, "pg-main", "", "no room - on node 0");
        const Ledger *read = reread(arena, ledger);

        assert_true(ledger_equals(ledger, read));
        assert_false(read->instances.items[0].was_complete || read->instances.items[0].is_unitless);
}

/* The file refers to a hold by the instance's name if that has the same grant. */
TEST(implied_names) {
        Ledger *ledger = ledger_new(arena, boot);
        LedgerInstance *instance = vec_push(arena, &ledger->instances);

        *instance = (LedgerInstance){.name = "pg", .page_size_bytes = 2 * MIB, .pages_wanted = 20};
        *vec_push(arena, &instance->grants) = (NodePages){0, 20};
        ledger_start(
                arena, ledger, "pg",
                &(LedgerHold){.unit = "pg.service", .run = "a1", .policy.kind = MEMORY_POLICY_ANY});
        instance->was_complete = instance->was_ready = true;
        reread(arena, ledger);
        assert_contains(ledger_format(arena, ledger),
                        "instance pg 2097152 20 spread 0:20 stood,ready\n"
                        "hold pg.service a1 any - - pg -\n");
        instance->pages_wanted = instance->grants.items[0].pages = 30;
        instance->was_ready = false;
        reread(arena, ledger);
        assert_contains(ledger_format(arena, ledger),
                        "instance pg 2097152 30 spread 0:30 stood\n"
                        "hold pg.service a1 any - - pg 2097152 20 spread 0:20 -\n");
}

/* A reload in progress may be undone, and a daemon that is killed has not applied it. */
TEST(tentative_is_not_written) {
        Ledger *ledger = full_ledger(arena);
        size_t n = ledger->holds.n;

        *vec_push(arena, &ledger->holds) =
                running_make(arena, "hold x x 2M=0:9 tentative\n").holds.items[0];
        assert_int_equal(ledger_copy(arena, ledger)->holds.n, n + 1);
        assert_int_equal(parse(arena, ledger_format(arena, ledger))->holds.n, n);
}

/* An instance without pages may be released, but there are no pages of no size. */
TEST(released_round_trip) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_release(arena, ledger, "a");
        assert_true(ledger_instance(reread(arena, ledger), "a")->is_released);
        *vec_push(arena, &ledger->instances.items[0].grants) = (NodePages){0, 1};
        assert_null(parse(arena, ledger_format(arena, ledger)));
}

TEST(empty_round_trip) {
        const char *text = ledger_format(arena, ledger_new(arena, boot)), *lost;

        assert_int_equal(parse(arena, text)->guard, LEDGER_GUARD_UNDECIDED);
        assert_null(ledger_parse(arena, arena_strdup(arena, text), "another boot", &lost));
        assert_text(lost, "is from another boot; a new one is started");
        assert_null(ledger_parse(arena, arena_strdup(arena, text), "", &lost));
}

/* Every ledger that results from observing and planning can be read back. */
TEST(lowered_pool_round_trip) {
        Ledger *ledger = ledger_new(arena, boot);

        ledger_observe(arena, ledger, host_with_pool(arena, "100"), NULL);
        ledger_observe(arena, ledger, host_with_pool(arena, "50"), NULL);
        assert_non_null(parse(arena, ledger_format(arena, ledger)));
}

TEST(copy) {
        const Ledger *ledger = full_ledger(arena);
        Ledger *copy = ledger_copy(arena, ledger);

        assert_same(arena, ledger, copy);
        ledger_reload(copy);
        assert_int_equal(copy->guard, LEDGER_GUARD_OPEN);
        assert_int_equal(ledger->guard, LEDGER_GUARD_CLOSED);
        copy->instances.items[0].grants.items[0].pages = 99;
        copy->pools.items[0].found_pages = 99;
        assert_int_equal(ledger->instances.items[0].grants.items[0].pages, 15);
        assert_int_equal(ledger->pools.items[0].found_pages, 10);
        copy->holds.items[0].granted.grants.items[0].pages = 99;
        assert_int_equal(ledger->holds.items[0].granted.grants.items[0].pages, 12);
}

/* A change of any detail makes a different ledger, whether the detail is stored or not. */
TEST(equals) {
        const Ledger *ledger = full_ledger(arena);
        Ledger *others[18];

        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
                others[i] = ledger_copy(arena, ledger);
                ledger_note_refusal(arena, others[i], "pg-main", "a1", "no room");
        }
        assert_true(ledger_equals(others[0], others[1]));
        assert_false(ledger_equals(ledger, others[0]));
        others[1]->boot_id = "another boot";
        others[2]->guard = LEDGER_GUARD_OPEN;
        others[3]->pools.items[0].set_pages++;
        others[4]->pools.items[1].others_pages++;
        others[5]->instances.items[0].name = "pg";
        others[6]->instances.items[0].is_released = true;
        others[7]->instances.items[0].was_complete = true;
        others[8]->instances.items[0].grants.items[0].pages++;
        others[9]->instances.n--;
        others[10]->holds.items[0].run = "a2";
        others[11]->holds.items[0].is_counted = false;
        others[12]->holds.items[0].is_tentative = true;
        others[13]->holds.items[0].granted.pages_wanted++;
        id_set_add(&others[14]->holds.items[0].policy.nodes, 5);
        others[15]->refusals.items[0].text = "none";
        ledger_restore(arena, others[16], 2 * MIB, 1);
        others[17]->instances.items[0].was_ready = true;
        for (size_t i = 1; i < ARRAY_LEN(others); i++)
                if (ledger_equals(others[0], others[i]))
                        fail_msg("other %zu is the same", i);
}

/* A valid ledger in which AFTER replaces the first BEFORE. */
static char *changed_ledger(Arena *arena, const char *before, const char *after) {
        const char *text = ledger_format(arena, full_ledger(arena)), *at = strstr(text, before);

        assert_non_null(at);
        return arena_printf(arena, "%.*s%s%s", (int) (at - text), text, after, at + strlen(before));
}

/* The file names the first version that can read it. Of another version, only the pools are read. */
TEST(later_version) {
        char *text = changed_ledger(arena, "ledger 1 1", "ledger 9 2");
        const char *lost;
        const Ledger *read = ledger_parse(arena, text, boot, &lost);

        assert_text(lost, "is of version 9, and this hugeplan reads version 1; only the "
                          "pages that existed before are taken from it: the pages that units "
                          "were started with are estimated from the kernel's counts");
        assert_int_equal(ledger_pool(read, 0, 2 * MIB)->found_pages, 10);
        assert_int_equal(read->instances.n + read->holds.n + read->refusals.n, 0);
        assert_int_equal(read->guard, LEDGER_GUARD_UNDECIDED);
        text = changed_ledger(arena, "1 1 8ac7e6f2-boot closed", "9 9 8ac7e6f2-boot ajar");
        assert_non_null(ledger_parse(arena, text, boot, &lost));
        text = changed_ledger(arena, "ledger 1 1", "ledger 9 1");
        assert_same(arena, parse(arena, text), full_ledger(arena));
}

/* A ledger that was cut off at any byte is refused. */
TEST(cut_off) {
        const char *text = ledger_format(arena, full_ledger(arena));

        for (size_t n = 0; n < strlen(text); n++)
                assert_null(parse(arena, arena_strndup(arena, text, n)));
}

/* ---- stories ---- */

typedef struct Story {
        Arena *arena;
        Ledger *ledger;
        Text running;
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static void begin_story(void *context) {
        Story *story = context;

        story->ledger = ledger_new(story->arena, boot);
        story->running = text_in(story->arena);
}

VERB(do_running, "hold unit") {
        text_printf(&story->running, "%s %s\n", line->words[0], line->rest);
        if (text_equals(line->words[0], "hold"))
                story->ledger->holds =
                        running_make(line->arena, text_string(&story->running)).holds;
        return NULL;
}

/* The pages of 2M of each node, with the named units; "observe-alone": the use of units is unknown. Answers how many
 * pages were moved. */
VERB(do_observe, "observe observe-alone") {
        Text host = text_in(line->arena);
        const Running running = running_make(line->arena, text_string(&story->running));
        bool is_alone = text_equals(line->words[0], "observe-alone");

        text_add(&host, "sizes 2M\n");
        for (unsigned i = 1; line->words[i]; i++)
                text_printf(&host, "node %u total=16G free=8G 2M=%s\n", i - 1, line->words[i]);
        return story_number(line, ledger_observe(line->arena, story->ledger,
                                                 host_make(line->arena, text_string(&host)),
                                                 is_alone ? NULL : &running.use));
}

/* "EXISTING SET" of a node; "set": the count that hugeplan has set. */
VERB(do_pool, "pool set") {
        LedgerPool *pool = ledger_pool(story->ledger, (unsigned) story_number_at(line, 1), 2 * MIB);

        if (!pool)
                return NULL;
        if (text_equals(line->words[0], "set"))
                pool->set_pages = story_number_at(line, 2);
        return arena_printf(line->arena, "%" PRIu64 " %" PRIu64, pool->found_pages,
                            pool->set_pages);
}

VERB(do_restore, "long-ago restore") {
        if (text_equals(line->words[0], "long-ago"))
                ledger_forget_restored(story->ledger);
        else
                ledger_restore(line->arena, story->ledger, 2 * MIB, story_number_at(line, 1));
        story->ledger = ledger_copy(line->arena, story->ledger);
        return NULL;
}

VERB(do_holds, "holds") {
        return holds_text(line->arena, story->ledger);
}

/* UNIT INSTANCE [RUN] */
VERB(do_end, "end") {
        ledger_end(story->ledger, line->words[1], line->words[3] ? line->words[3] : "",
                   line->words[2]);
        return do_holds(story, line);
}

/* a was granted 15 pages of node 0 and 5 of node 2; the answer is the hold of its unit under POLICY [NODES]. */
VERB(do_start, "start") {
        static const char *const policies[] = {"unknown", "any", "bind", "interleave"};
        Ledger *ledger = story->ledger;
        LedgerInstance *granted = vec_push(line->arena, &ledger->instances);
        LedgerHold hold = {.unit = "a.service", .run = ""};
        Text kept = text_in(line->arena);

        *granted = (LedgerInstance){.name = "a", .page_size_bytes = 2 * MIB, .pages_wanted = 20};
        *vec_push(line->arena, &granted->grants) = (NodePages){0, 15};
        *vec_push(line->arena, &granted->grants) = (NodePages){2, 5};
        for (size_t i = 0; i < ARRAY_LEN(policies); i++)
                if (text_equals(line->words[1], policies[i]))
                        hold.policy.kind = (MemoryPolicyKind) i;
        assert_int_equal(id_set_parse(line->words[2] ? line->words[2] : "", &hold.policy.nodes), 0);
        ledger_start(line->arena, ledger, "a", &hold);
        assert_int_equal(granted->grants.n, 2);
        VEC_FOREACH(grant, &ledger->holds.items[0].granted.grants)
                text_printf(&kept, "%s%u:%" PRIu64, kept.length > 0 ? " " : "", grant->node,
                            grant->pages);
        return text_string(&kept);
}

/* BEFORE [AFTER]: a valid ledger with AFTER in place of BEFORE; "later": of a later version. */
VERB(do_with, "later with") {
        const char *after = line->words[2] ? story_unescape(line->arena, line->words[2]) : "";
        char *text =
                changed_ledger(line->arena, story_unescape(line->arena, line->words[1]), after);

        if (text_equals(line->words[0], "later"))
                text[strlen("hugeplan-ledger ")] = '9';
        const Ledger *read = parse(line->arena, text);

        if (!read)
                return "broken";
        assert_int_equal(ledger_granted_pages(ledger_instance(read, "pg-main")), 20);
        assert_int_equal(read->holds.n, full_ledger(line->arena)->holds.n);
        return "taken";
}

VERB(do_text, "text") {
        return parse(line->arena, story_unescape(line->arena, line->rest)) ? "taken" : "broken";
}

STORY_TEST(stories, "unit/plan/ledger", .size = sizeof(Story), .begin = begin_story)
