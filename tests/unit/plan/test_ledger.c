/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/size.h"
#include "plan/ledger.h"
#include "support/story.h"

static const char boot[] = "8ac7e6f2-boot";

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

/* ---- units that run ---- */

/* "a.service/x a.service/y": the holds in their order; "-": none. */
static char *holds_text(Arena *arena, const Ledger *ledger) {
        Text text = text_in(arena);

        VEC_FOREACH(hold, &ledger->holds)
                text_printf(&text, "%s%s/%s:%" PRIu64, text.length > 0 ? " " : "", hold->unit,
                            hold->granted.name, ledger_granted_pages(&hold->granted));
        return arena_strdup(arena, text.length > 0 ? text_string(&text) : "-");
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

TEST(empty_round_trip) {
        const char *text = ledger_format(arena, ledger_new(arena, boot)), *lost;

        assert_int_equal(parse(arena, text)->guard, LEDGER_GUARD_UNDECIDED);
        assert_null(ledger_parse(arena, arena_strdup(arena, text), "another boot", &lost));
        assert_text(lost, "is from another boot; a new one is started");
        assert_null(ledger_parse(arena, arena_strdup(arena, text), "", &lost));
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
        const char *stopped; /* a unit that is known not to run; NULL: none */
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

        VEC_FOREACH(unit, &running.use.units)
                unit->is_running = !text_equals(unit->unit, story->stopped);
        text_add(&host, "sizes 2M\n");
        for (unsigned i = 1; line->words[i]; i++)
                text_printf(&host, "node %u total=16G free=8G 2M=%s\n", i - 1, line->words[i]);
        return story_number(line, ledger_observe(line->arena, story->ledger,
                                                 host_make(line->arena, text_string(&host)),
                                                 is_alone ? NULL : &running.use));
}

/* "EXISTING SET" of a node; "set": the count that hugeplan has set; "added": the existing pages that others have added. */
VERB(do_pool, "pool set added") {
        LedgerPool *pool = ledger_pool(story->ledger, (unsigned) story_number_at(line, 1), 2 * MIB);

        if (!pool)
                return NULL;
        if (text_equals(line->words[0], "set"))
                pool->set_pages = story_number_at(line, 2);
        if (text_equals(line->words[0], "added"))
                return story_number(line, pool->added_pages);
        return arena_printf(line->arena, "%" PRIu64 " %" PRIu64, pool->found_pages,
                            pool->set_pages);
}

VERB(do_stopped, "stopped") {
        story->stopped = line->words[1];
        return NULL;
}

/* Answers the restored pages of each size; "restore-1G": of that size. */
VERB(do_restore, "long-ago restore restore-1G") {
        Text text = text_in(line->arena);

        if (text_equals(line->words[0], "long-ago"))
                ledger_forget_restored(story->ledger);
        else
                ledger_restore(line->arena, story->ledger,
                               text_equals(line->words[0], "restore") ? 2 * MIB : GIB,
                               story_number_at(line, 1));
        story->ledger = ledger_copy(line->arena, story->ledger);
        VEC_FOREACH(restored, &story->ledger->restored)
                text_add_word(&text, format_page_count(line->arena, restored->pages,
                                                       restored->page_size_bytes));
        return text_string(&text);
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

/* The ledger that full_ledger() makes; "full-without-holds": of a host on which no unit runs. */
VERB(do_full, "full full-without-holds") {
        story->ledger = full_ledger(line->arena);
        if (!text_equals(line->words[0], "full"))
                story->ledger->holds.n = 0;
        return NULL;
}

/* UNIT INSTANCE RUN: the unit starts with what the ledger grants now. */
VERB(do_unit_start, "unit-start") {
        const LedgerHold hold = {.unit = line->words[1],
                                 .run = line->words[3],
                                 .policy = {.kind = MEMORY_POLICY_ANY},
                                 .is_counted = true,
                                 .granted = {.name = line->words[2], .pages_wanted = 7}};

        ledger_start(line->arena, story->ledger, line->words[2], &hold);
        return NULL;
}

/* UNIT [INSTANCE]: "INSTANCE PAGES of WANTED, PLACEMENT, run RUN, counted". */
VERB(do_hold_of, "hold-of") {
        const LedgerHold *hold =
                ledger_hold(story->ledger, line->words[1], line->words[1] ? line->words[2] : NULL);

        if (!hold)
                return NULL;
        return arena_printf(line->arena, "%s %" PRIu64 " of %" PRIu64 ", %s, run %s%s",
                            hold->granted.name, ledger_granted_pages(&hold->granted),
                            hold->granted.pages_wanted, placement_names[hold->granted.placement],
                            hold->run, hold->is_counted ? ", counted" : "");
}

/* INSTANCE: "20", or "0, released". */
VERB(do_granted, "granted") {
        const LedgerInstance *instance = ledger_instance(story->ledger, line->words[1]);

        return instance ? arena_printf(line->arena, "%" PRIu64 "%s", ledger_granted_pages(instance),
                                       instance->is_released ? ", released" : "")
                        : NULL;
}

/* INSTANCE PAGES: its grant on its first node. */
VERB(do_regrant, "regrant") {
        LedgerInstance *instance = ledger_instance(story->ledger, line->words[1]);

        if (instance->grants.n == 0)
                *vec_push(line->arena, &instance->grants) = (NodePages){};
        instance->grants.items[0].pages = story_number_at(line, 2);
        return NULL;
}

VERB(do_release, "release want-again reload") {
        if (text_equals(line->words[0], "release"))
                ledger_release(line->arena, story->ledger, line->words[1]);
        else if (text_equals(line->words[0], "reload"))
                ledger_reload(story->ledger);
        else
                ledger_want_again(story->ledger, line->words[1]);
        return NULL;
}

/* INSTANCE: answers whose starts are refused then. */
VERB(do_refusal, "refusal forget-refusal") {
        Text text = text_in(line->arena);

        if (text_equals(line->words[0], "refusal"))
                vec_push(line->arena, &story->ledger->refusals)->instance = line->words[1];
        else
                ledger_forget_refusal(story->ledger, line->words[1]);
        VEC_FOREACH(refusal, &story->ledger->refusals)
                text_add_word(&text, refusal->instance);
        return text_string(&text);
}

/* Whether it is the same after it was written and read. */
VERB(do_reread, "reread") {
        const char *text = ledger_format(line->arena, story->ledger);
        const Ledger *read = parse(line->arena, text);

        if (!read)
                return "broken";
        assert_text(ledger_format(line->arena, read), text);
        story->ledger = ledger_copy(line->arena, read);
        return "taken";
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
