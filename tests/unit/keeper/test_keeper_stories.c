/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A keeper in stories (support/story.h). Each line is an action of the kernel, systemd, an administrator or the daemon
 * (support/play.h), or a question.
 *
 *     ## what is tested           a new host with two nodes, and no keeper
 *     config a Pages=10 Nodes=0   /etc/hugeplan.d/a.conf; host: [Host]
 *     boot                        a keeper, in place of the present one
 *     round -> 0:100              a round and its writes
 *     set 0 most=60               node 0 can have no more pages; pool 0 60: others have lowered its pool
 *     gate G a a.service r2       a gate of a starting unit, for `try G` and others; asks G a: one that only asks
 */

#include "support/play.h"
#include "support/story.h"

#include "base/size.h"
#include "host/state.h"

enum { GATES_MAX = 8 };

typedef struct Story {
        Arena *arena;
        Play *play;
        struct {
                const char *name;
                Gate gate;
        } gates[GATES_MAX];
        ApplyOperation operation;
        HostFiles files;
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

/* ---- the host ---- */

VERB(do_config, "config") {
        write_config(story->play, line->words[1], story_lines(line, 2));
        return NULL;
}

VERB(do_host, "host") {
        tree_write(story->play->tree, "/etc/hugeplan.d/00.conf",
                   arena_printf(line->arena, "[Host]\nKeepFree=1G\n%s", story_lines(line, 1)));
        return NULL;
}

VERB(do_remove, "remove") {
        remove_config(story->play, line->words[1]);
        return NULL;
}

VERB(do_write, "write") {
        tree_write(story->play->tree, line->words[1], story_text(line, 1));
        return NULL;
}

VERB(do_link, "link") {
        tree_link(story->play->tree, line->words[1], line->words[2]);
        return NULL;
}

VERB(do_file, "file") {
        return tree_read(story->play->tree, line->words[1]);
}

static PlayedPool *pool_at(Story *story, const StoryLine *line) {
        return &story->play->pools[story_number_at(line, 1)];
}

VERB(do_pool, "pool") {
        set_pool(story->play, (unsigned) story_number_at(line, 1), story_number_at(line, 2));
        return NULL;
}

VERB(do_clear, "clear") {
        *pool_at(story, line) = (PlayedPool){};
        return NULL;
}

/* "most=60", "most=any" */
static uint64_t value_of(char *word) {
        const StoryLine line = {.words = {strchr(word, '=') + 1}};

        return story_number_at(&line, 0);
}

/* Visible after the next verb that shows the host. */
VERB(do_set, "set") {
        PlayedPool *pool = pool_at(story, line);
        const struct {
                const char *name;
                uint64_t *value;
        } fields[] = {{"total=", &pool->total},
                      {"used=", &pool->used},
                      {"most=", &pool->most},
                      {"lost=", &pool->lost},
                      {"more=", &pool->more}};

        for (size_t i = 2; line->words[i]; i++)
                for (size_t k = 0; k < ARRAY_LEN(fields); k++)
                        if (text_starts_with(line->words[i], fields[k].name))
                                *fields[k].value = value_of(line->words[i]);
        return NULL;
}

/* In microseconds. */
VERB(do_now, "now") {
        story->play->now_usec = story_number_at(line, 1);
        return NULL;
}

VERB(do_failed_boots, "failed-boots") {
        BootGuard guard = {.failed_boots = story_number_at(line, 1), .boot_id = "before"};

        assert_int_equal(boot_count_save(story->play->tree->root, line->arena, &guard), 0);
        return NULL;
}

VERB(do_total, "total") {
        const PlayedPool *pools = story->play->pools;

        return story_number(line, line->words[1] ? pool_at(story, line)->total
                                                 : pools[0].total + pools[1].total);
}

/* UNIT MAPPED USED: pages of node 0. */
VERB(do_unit, "start stop use") {
        (text_equals(line->words[0], "start") ? start_unit
         : text_equals(line->words[0], "stop")
                 ? stop_unit
                 : use_pages)(story->play, line->words[1], story_number_at(line, 2),
                              line->words[2] ? story_number_at(line, 3) : 0);
        return NULL;
}

/* ---- the keeper ---- */

/* Verbs without an answer. */
VERB(do_plain, "boot break-host done hold-back mend-host react release show stop-early") {
        if (text_equals(line->words[0], "boot"))
                boot(story->play);
        else if (text_equals(line->words[0], "show"))
                show_host(story->play);
        else if (text_equals(line->words[0], "hold-back"))
                keeper_hold_back(story->play->keeper);
        else if (text_equals(line->words[0], "stop-early"))
                keeper_stop_early(story->play->keeper);
        else if (text_equals(line->words[0], "release"))
                keeper_release(story->play->keeper, line->words[1], story->play->now_usec);
        else if (text_equals(line->words[0], "react"))
                react(story->play, &story->operation);
        else if (text_equals(line->words[0], "done"))
                keeper_done(story->play->keeper, &story->operation, 0, 1);
        else if (text_equals(line->words[0], "break-host"))
                story->files = break_host();
        else
                mend_host(&story->files);
        return NULL;
}

VERB(do_round, "round") {
        return round_of(story->play);
}

VERB(do_run, "run") {
        return run(story->play);
}

VERB(do_begin, "begin retry") {
        keeper_begin(story->play->keeper,
                     text_equals(line->words[0], "retry") ? KEEPER_RETRY : KEEPER_FRESH,
                     story->play->now_usec);
        return NULL;
}

VERB(do_next, "next") {
        return story_yes(
                keeper_next(story->play->keeper, story->play->now_usec, &story->operation));
}

/* NAME PAGES: the size that a gate has learned */
VERB(do_grow, "grow") {
        Keeper *keeper = story->play->keeper;
        PageCounts pages = {};

        *vec_push(line->arena, &pages) = (PageCount){2 * MIB, story_number_at(line, 2)};
        keeper_grow(keeper, config_find(keeper_config(keeper), line->words[1]), &pages,
                    story->play->now_usec);
        return story_yes(keeper_is_working(keeper));
}

/* By another program at this time. */
VERB(do_host_written, "host-written") {
        keeper_note_host_written(story->play->keeper, story_number_at(line, 1));
        return NULL;
}

/* "memory": the host's memory has changed; "only": no repair now. */
VERB(do_verify, "verify") {
        return story_yes(verify_as(story->play, story_has_word(line, "memory"),
                                   !story_has_word(line, "only")));
}

/* Twice, with so much time in between that the processes of a refused start have ended, or the unit runs. */
VERB(do_wait_for_end, "wait-for-end") {
        for (size_t i = 0; i < 2; i++) {
                if (verify(story->play))
                        run(story->play);
                story->play->now_usec += 6 * USEC_PER_SEC;
        }
        return NULL;
}

static const char *reload_name(KeeperReload state) {
        static const char *const names[] = {
                [KEEPER_RELOAD_BEGUN] = "begun",
                [KEEPER_RELOAD_APPLIED] = "applied",
                [KEEPER_RELOAD_REFUSED] = "refused",
                [KEEPER_RELOAD_REJECTED] = "rejected",
        };

        return names[state];
}

VERB(do_reload, "reload") {
        return reload_name(keeper_reload(story->play->keeper, story_has_word(line, "forced"),
                                         story->play->now_usec));
}

VERB(do_reloaded, "reloaded") {
        const KeeperReloadResult result = keeper_reload_result(story->play->keeper);
        const char *what = line->words[1];

        if (!what)
                return reload_name(result.state);
        if (text_equals(what, "problems"))
                return problems_text(line->arena, &result.problems);
        return story_number(line, text_equals(what, "changes") ? result.changes.n : result.pools.n);
}

/* Changes of instances and "pools" by a reload; "by-hand": by a release. */
VERB(do_changed, "changed") {
        const KeeperReloadResult result = keeper_reload_result(story->play->keeper);
        const PoolChanges by_hand = keeper_pool_changes(story->play->keeper, line->arena);
        Text text = text_in(line->arena);

        if (line->words[1])
                VEC_FOREACH(pool, story_has_word(line, "pools") ? &result.pools : &by_hand)
                        text_printf(&text, "%s\n", pool_change_format(line->arena, pool));
        else
                VEC_FOREACH(change, &result.changes)
                        text_printf(&text, "%s\n", change_format(line->arena, change));
        return text_string(&text);
}

/* "is working": a state of the keeper. */
VERB(do_is, "is") {
        const Keeper *keeper = story->play->keeper;
        const struct {
                const char *what;
                bool is_so;
        } answers[] = {
                {"working", keeper_is_working(keeper)},
                {"held-back", keeper_is_held_back(keeper)},
                {"waiting-for-end", keeper_waits_for_end(keeper)},
                {"retrying", keeper_wants_retry(keeper, story->play->now_usec)},
                {"repairing", story->play->wants_repair},
        };

        for (size_t i = 0; i < ARRAY_LEN(answers); i++)
                if (text_equals(answers[i].what, line->words[1]))
                        return story_yes(answers[i].is_so);
        fail_msg("is what?");
        return NULL;
}

/* "number of units" */
VERB(do_number, "number") {
        const Keeper *keeper = story->play->keeper;
        const Ledger *ledger = keeper_look(keeper)->ledger;
        const struct {
                const char *what;
                uint64_t n;
        } answers[] = {
                {"units", keeper_units(keeper, line->arena).n},
                {"instances", keeper_config(keeper)->n_instances},
                {"holds", ledger->holds.n},
                {"refusals", ledger->refusals.n},
                {"rounds", story->play->n_rounds},
                {"pool-changes", keeper_pool_changes(keeper, line->arena).n},
        };

        for (size_t i = 0; i < ARRAY_LEN(answers); i++)
                if (text_equals(answers[i].what, line->words[2]))
                        return story_number(line, answers[i].n);
        fail_msg("number of what?");
        return NULL;
}

/* ---- what it says ---- */

VERB(do_state, "state") {
        return state_text(story->play);
}

VERB(do_problems, "problems") {
        return problems_of(story->play);
}

/* "PHASE, VERDICT" of the host. */
VERB(do_judged, "judged") {
        const Status *status =
                keeper_judge(story->play->keeper, line->arena, story_has_word(line, "retrying"));

        return arena_printf(line->arena, "%s, %s%s", status->phase, verdict_name(status->verdict),
                            status->wants_round ? ", wants a round" : "");
}

VERB(do_last_problem, "last-problem") {
        const Diags *problems = &keeper_judge(story->play->keeper, line->arena, false)->problems;
        const Diag *last = &problems->list.items[problems->list.n - 1];

        return arena_printf(line->arena, "%s: %s", last->id, last->remedy);
}

/* "NODE:BEFORE->AFTER" */
VERB(do_attempts, "attempts") {
        Text text = text_in(line->arena);

        VEC_FOREACH(attempt, &keeper_judge(story->play->keeper, line->arena, false)->attempts)
                text_printf(&text, "%s%u:%" PRIu64 "->%" PRIu64, text.length > 0 ? " " : "",
                            attempt->node, attempt->record.pages_before,
                            attempt->record.pages_after);
        return text_string(&text);
}

/* Figures of the latest event about a pool: "BEFORE, WANTED". */
VERB(do_moved, "moved") {
        const HistoryFigures *moved = &story->play->moved;

        return arena_printf(line->arena, "%" PRIu64 ", %s", moved->pages_before.value,
                            moved->pages_wanted.is_known ? arena_printf(line->arena, "%" PRIu64,
                                                                        moved->pages_wanted.value)
                                                         : "-");
}

static Text *events(Story *story, const char *which) {
        return text_equals(which, "warnings") ? &story->play->warnings : &story->play->notices;
}

/* "warnings": from LOG_WARNING on; "notices": the others. */
VERB(do_events, "notices warnings") {
        return text_string(events(story, line->words[0]));
}

VERB(do_forget, "forget") {
        *events(story, line->words[1]) = text_in(line->arena);
        return NULL;
}

VERB(do_count, "count") {
        return story_number(line, count(events(story, line->words[1]),
                                        story_unescape(line->arena, strchr(line->rest, ' ') + 1)));
}

VERB(do_status, "reason running until-restart verdict") {
        const StatusInstance *instance = status_of(story->play, line->words[1]);

        if (text_equals(line->words[0], "verdict"))
                return verdict_name(instance->verdict);
        if (text_equals(line->words[0], "reason"))
                return reason_id(instance->reason.kind);
        return story_yes(text_equals(line->words[0], "running") ? instance->is_running
                                                                : instance->until_restart != NULL);
}

/* "ahead": the plan of a reload, by which no instance falls. */
VERB(do_planned, "ahead planned") {
        const Keeper *keeper = story->play->keeper;
        Diags falls = diags_in(line->arena);
        const Look *look = text_equals(line->words[0], "ahead")
                                   ? keeper_look_ahead(keeper, line->arena, &falls)
                                   : keeper_look(keeper);

        assert_int_equal(falls.list.n, 0);
        return grants_text(line->arena, look->plan, line->words[1]);
}

/* Pages of the pool of 2M of a node. */
VERB(do_pages, "found found-on-disk others set-on-disk") {
        unsigned node = (unsigned) story_number_at(line, 1);
        const Look *look = keeper_look(story->play->keeper);
        const LedgerPool *stored = pool_on_disk(story->play, node);

        if (text_equals(line->words[0], "others"))
                return story_number(line, plan_pool(look->plan, node, 2 * MIB)->others_pages);
        if (text_equals(line->words[0], "found"))
                return story_number(line, ledger_pool(look->ledger, node, 2 * MIB)->found_pages);
        return story_number(line, text_equals(line->words[0], "set-on-disk") ? stored->set_pages
                                                                             : stored->found_pages);
}

VERB(do_was_complete, "was-complete") {
        const char *wrong;

        return story_yes(
                ledger_instance(state_load(story->play->tree->root, line->arena, "boot", &wrong),
                                line->words[1])
                        ->was_complete);
}

/* ---- gates ---- */

static Gate *gate_of(Story *story, const StoryLine *line) {
        size_t i = 0;

        while (story->gates[i].name && !text_equals(story->gates[i].name, line->words[1]))
                assert_true(++i < GATES_MAX);
        story->gates[i].name = arena_strdup(line->arena, line->words[1]);
        return &story->gates[i].gate;
}

VERB(do_gate, "gate") {
        const char *unit = line->words[3];

        *gate_of(story, line) = starting_as(story->play, line->words[2],
                                            text_equals(unit, "-") ? NULL : unit,
                                            line->words[4] ? line->words[4] : "r1");
        return NULL;
}

VERB(do_asks, "asks") {
        *gate_of(story, line) = (Gate){.instance = line->words[2], .run = ""};
        return NULL;
}

VERB(do_bind, "bind") {
        Gate *gate = gate_of(story, line);

        gate->policy = (MemoryPolicy){.kind = MEMORY_POLICY_BIND};
        id_set_add(&gate->policy.nodes, (unsigned) story_number_at(line, 2));
        return NULL;
}

VERB(do_unknown_run, "unknown-run") {
        gate_of(story, line)->run = "";
        return NULL;
}

/* "ask": no round may run for it. */
VERB(do_try, "ask try") {
        return try_gate(story->play, gate_of(story, line), text_equals(line->words[0], "try"));
}

/* Rounds as long as it waits. */
VERB(do_pass, "pass") {
        return pass_gate(story->play, gate_of(story, line));
}

/* After systemd has made the unit's control group. */
VERB(do_start_by, "start-by") {
        return let_start(story->play, gate_of(story, line));
}

VERB(do_is_starting, "is-starting") {
        return story_yes(gate_of(story, line)->is_starting);
}

VERB(do_was_refused, "was-refused") {
        return story_yes(keeper_was_refused(story->play->keeper, line->words[1], line->words[2]));
}

/* b.service runs, and may take 30 of the pages of node 1, to which a is bound. Node 1 has memory for five pages more
 * than a wants. The gate "gate" belongs to a. */
VERB(do_beside_taker, "beside-taker") {
        static const char bound[] = "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service";
        Play *play = story->play;
        Gate first = starting(play, "b", "b.service");

        settle(play, bound, "Pages=30\nNodes=0\nPlacement=pack\nUnit=b.service");
        assert_text(let_start(play, &first), "pass");
        set_pool(play, 1, play->pools[1].most = 105);
        start_unit(play, "a.service", 0, 0);
        Gate *gate = &story->gates[0].gate;

        story->gates[0].name = "gate";
        *gate = starting(play, "a", "a.service");
        gate->policy = (MemoryPolicy){.kind = MEMORY_POLICY_UNKNOWN};
        return NULL;
}

/* ---- telling ---- */

static void begin_story(void *context) {
        Story *story = context;

        story->play = play_new();
}

static void end_story(void *context) {
        const Story *story = context;

        play_free(story->play);
}

STORY_TEST(keeper, "unit/keeper/keeper", .size = sizeof(Story), .begin = begin_story,
           .end = end_story)
STORY_TEST(keeper_gate, "unit/keeper/keeper_gate", .size = sizeof(Story), .begin = begin_story,
           .end = end_story)
STORY_TEST(keeper_rounds, "unit/keeper/keeper_rounds", .size = sizeof(Story), .begin = begin_story,
           .end = end_story)
STORY_TEST(keeper_status, "unit/keeper/keeper_status", .size = sizeof(Story), .begin = begin_story,
           .end = end_story)
STORY_TEST(keeper_faults, "unit/keeper/keeper_faults", .size = sizeof(Story), .begin = begin_story,
           .end = end_story)
