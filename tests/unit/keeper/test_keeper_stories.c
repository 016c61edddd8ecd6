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

/* ---- the host ---- */

static const char *do_config(void *context, const StoryLine *line) {
        Story *story = context;
        write_config(story->play, line->words[1], story_lines(line, 2));
        return NULL;
}

static const char *do_host(void *context, const StoryLine *line) {
        Story *story = context;
        tree_write(story->play->tree, "/etc/hugeplan.d/00.conf",
                   arena_printf(line->arena, "[Host]\nKeepFree=1G\n%s", story_lines(line, 1)));
        return NULL;
}

static const char *do_remove(void *context, const StoryLine *line) {
        Story *story = context;
        remove_config(story->play, line->words[1]);
        return NULL;
}

static const char *do_write(void *context, const StoryLine *line) {
        Story *story = context;
        tree_write(story->play->tree, line->words[1],
                   line->words[2] ? story_unescape(line->arena, line->words[2]) : "");
        return NULL;
}

static const char *do_link(void *context, const StoryLine *line) {
        Story *story = context;
        tree_link(story->play->tree, line->words[1], line->words[2]);
        return NULL;
}

static const char *do_file(void *context, const StoryLine *line) {
        Story *story = context;
        return tree_read(story->play->tree, line->words[1]);
}

static PlayedPool *pool_at(Story *story, const StoryLine *line) {
        return &story->play->pools[story_number_at(line, 1)];
}

static const char *do_pool(void *context, const StoryLine *line) {
        Story *story = context;
        set_pool(story->play, (unsigned) story_number_at(line, 1), story_number_at(line, 2));
        return NULL;
}

static const char *do_clear(void *context, const StoryLine *line) {
        Story *story = context;
        *pool_at(story, line) = (PlayedPool){};
        return NULL;
}

/* "most=60", "most=any" */
static uint64_t value_of(char *word) {
        const StoryLine line = {.words = {strchr(word, '=') + 1}};

        return story_number_at(&line, 0);
}

static const char *do_set(void *context, const StoryLine *line) {
        Story *story = context;
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

static const char *do_now(void *context, const StoryLine *line) {
        Story *story = context;
        story->play->now_usec = story_number_at(line, 1);
        return NULL;
}

static const char *do_failed_boots(void *context, const StoryLine *line) {
        Story *story = context;
        BootGuard guard = {.failed_boots = story_number_at(line, 1), .boot_id = "before"};

        assert_int_equal(boot_count_save(story->play->tree->root, line->arena, &guard), 0);
        return NULL;
}

static const char *do_total(void *context, const StoryLine *line) {
        Story *story = context;
        const PlayedPool *pools = story->play->pools;

        return story_number(line, line->words[1] ? pool_at(story, line)->total
                                                 : pools[0].total + pools[1].total);
}

static const char *do_unit(void *context, const StoryLine *line) {
        Story *story = context;
        (text_equals(line->words[0], "start") ? start_unit
         : text_equals(line->words[0], "stop")
                 ? stop_unit
                 : use_pages)(story->play, line->words[1], story_number_at(line, 2),
                              line->words[2] ? story_number_at(line, 3) : 0);
        return NULL;
}

/* ---- the keeper ---- */

/* Verbs without an answer. */
static const char *do_plain(void *context, const StoryLine *line) {
        Story *story = context;
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

static const char *do_round(void *context, const StoryLine *line UNUSED) {
        Story *story = context;
        return round_of(story->play);
}

static const char *do_run(void *context, const StoryLine *line UNUSED) {
        Story *story = context;
        return run(story->play);
}

static const char *do_begin(void *context, const StoryLine *line) {
        Story *story = context;
        keeper_begin(story->play->keeper,
                     text_equals(line->words[0], "retry") ? KEEPER_RETRY : KEEPER_FRESH,
                     story->play->now_usec);
        return NULL;
}

static const char *do_next(void *context, const StoryLine *line UNUSED) {
        Story *story = context;
        return story_yes(
                keeper_next(story->play->keeper, story->play->now_usec, &story->operation));
}

/* NAME PAGES: the size that a gate has learned */
static const char *do_grow(void *context, const StoryLine *line) {
        Story *story = context;
        Keeper *keeper = story->play->keeper;
        PageCounts pages = {};

        *vec_push(line->arena, &pages) = (PageCount){2 * MIB, story_number_at(line, 2)};
        keeper_grow(keeper, config_find(keeper_config(keeper), line->words[1]), &pages,
                    story->play->now_usec);
        return story_yes(keeper_is_working(keeper));
}

static const char *do_host_written(void *context, const StoryLine *line) {
        Story *story = context;
        keeper_note_host_written(story->play->keeper, story_number_at(line, 1));
        return NULL;
}

static const char *do_verify(void *context, const StoryLine *line) {
        Story *story = context;
        return story_yes(verify_as(story->play, story_has_word(line, "memory"),
                                   !story_has_word(line, "only")));
}

/* Twice, with so much time in between that the processes of a refused start have ended, or the unit runs. */
static const char *do_wait_for_end(void *context, const StoryLine *line UNUSED) {
        Story *story = context;
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

static const char *do_reload(void *context, const StoryLine *line) {
        Story *story = context;
        return reload_name(keeper_reload(story->play->keeper, story_has_word(line, "forced"),
                                         story->play->now_usec));
}

static const char *do_reloaded(void *context, const StoryLine *line) {
        Story *story = context;
        const KeeperReloadResult result = keeper_reload_result(story->play->keeper);
        const char *what = line->words[1];

        if (!what)
                return reload_name(result.state);
        if (text_equals(what, "problems"))
                return problems_text(line->arena, &result.problems);
        return story_number(line, text_equals(what, "changes") ? result.changes.n : result.pools.n);
}

/* Changes of instances and "pools" by a reload; "by-hand": by a release. */
static const char *do_changed(void *context, const StoryLine *line) {
        Story *story = context;
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
static const char *do_is(void *context, const StoryLine *line) {
        Story *story = context;
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
static const char *do_number(void *context, const StoryLine *line) {
        Story *story = context;
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

static const char *do_state(void *context, const StoryLine *line UNUSED) {
        Story *story = context;
        return state_text(story->play);
}

static const char *do_problems(void *context, const StoryLine *line UNUSED) {
        Story *story = context;
        return problems_of(story->play);
}

/* "PHASE, VERDICT" of the host. */
static const char *do_judged(void *context, const StoryLine *line) {
        Story *story = context;
        const Status *status =
                keeper_judge(story->play->keeper, line->arena, story_has_word(line, "retrying"));

        return arena_printf(line->arena, "%s, %s%s", status->phase, verdict_name(status->verdict),
                            status->wants_round ? ", wants a round" : "");
}

static const char *do_last_problem(void *context, const StoryLine *line) {
        Story *story = context;
        const Diags *problems = &keeper_judge(story->play->keeper, line->arena, false)->problems;
        const Diag *last = &problems->list.items[problems->list.n - 1];

        return arena_printf(line->arena, "%s: %s", last->id, last->remedy);
}

/* "NODE:BEFORE->AFTER" */
static const char *do_attempts(void *context, const StoryLine *line) {
        Story *story = context;
        Text text = text_in(line->arena);

        VEC_FOREACH(attempt, &keeper_judge(story->play->keeper, line->arena, false)->attempts)
                text_printf(&text, "%s%u:%" PRIu64 "->%" PRIu64, text.length > 0 ? " " : "",
                            attempt->node, attempt->record.pages_before,
                            attempt->record.pages_after);
        return text_string(&text);
}

/* Figures of the latest event about a pool: "BEFORE, WANTED". */
static const char *do_moved(void *context, const StoryLine *line) {
        const HistoryFigures *moved = &((Story *) context)->play->moved;

        return arena_printf(line->arena, "%" PRIu64 ", %s", moved->pages_before.value,
                            moved->pages_wanted.is_known ? arena_printf(line->arena, "%" PRIu64,
                                                                        moved->pages_wanted.value)
                                                         : "-");
}

static Text *events(Story *story, const char *which) {
        return text_equals(which, "warnings") ? &story->play->warnings : &story->play->notices;
}

static const char *do_events(void *context, const StoryLine *line) {
        Story *story = context;
        return text_string(events(story, line->words[0]));
}

static const char *do_forget(void *context, const StoryLine *line) {
        Story *story = context;
        *events(story, line->words[1]) = text_in(line->arena);
        return NULL;
}

static const char *do_count(void *context, const StoryLine *line) {
        Story *story = context;
        return story_number(line, count(events(story, line->words[1]),
                                        story_unescape(line->arena, strchr(line->rest, ' ') + 1)));
}

static const char *do_status(void *context, const StoryLine *line) {
        Story *story = context;
        const StatusInstance *instance = status_of(story->play, line->words[1]);

        if (text_equals(line->words[0], "verdict"))
                return verdict_name(instance->verdict);
        if (text_equals(line->words[0], "reason"))
                return reason_id(instance->reason.kind);
        return story_yes(text_equals(line->words[0], "running") ? instance->is_running
                                                                : instance->until_restart != NULL);
}

/* "ahead": the plan of a reload, by which no instance falls. */
static const char *do_planned(void *context, const StoryLine *line) {
        Story *story = context;
        const Keeper *keeper = story->play->keeper;
        Diags falls = diags_in(line->arena);
        const Look *look = text_equals(line->words[0], "ahead")
                                   ? keeper_look_ahead(keeper, line->arena, &falls)
                                   : keeper_look(keeper);

        assert_int_equal(falls.list.n, 0);
        return grants_text(line->arena, look->plan, line->words[1]);
}

/* Pages of the pool of 2M of a node. */
static const char *do_pages(void *context, const StoryLine *line) {
        Story *story = context;
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

static const char *do_was_complete(void *context, const StoryLine *line) {
        Story *story = context;
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

static const char *do_gate(void *context, const StoryLine *line) {
        Story *story = context;
        const char *unit = line->words[3];

        *gate_of(story, line) = starting_as(story->play, line->words[2],
                                            text_equals(unit, "-") ? NULL : unit,
                                            line->words[4] ? line->words[4] : "r1");
        return NULL;
}

static const char *do_asks(void *context, const StoryLine *line) {
        Story *story = context;
        *gate_of(story, line) = (Gate){.instance = line->words[2], .run = ""};
        return NULL;
}

static const char *do_bind(void *context, const StoryLine *line) {
        Story *story = context;
        Gate *gate = gate_of(story, line);

        gate->policy = (MemoryPolicy){.kind = MEMORY_POLICY_BIND};
        id_set_add(&gate->policy.nodes, (unsigned) story_number_at(line, 2));
        return NULL;
}

static const char *do_unknown_run(void *context, const StoryLine *line) {
        Story *story = context;
        gate_of(story, line)->run = "";
        return NULL;
}

static const char *do_try(void *context, const StoryLine *line) {
        Story *story = context;
        return try_gate(story->play, gate_of(story, line), text_equals(line->words[0], "try"));
}

static const char *do_pass(void *context, const StoryLine *line) {
        Story *story = context;
        return pass_gate(story->play, gate_of(story, line));
}

static const char *do_start_by(void *context, const StoryLine *line) {
        Story *story = context;
        return let_start(story->play, gate_of(story, line));
}

static const char *do_is_starting(void *context, const StoryLine *line) {
        Story *story = context;
        return story_yes(gate_of(story, line)->is_starting);
}

static const char *do_was_refused(void *context, const StoryLine *line) {
        Story *story = context;
        return story_yes(keeper_was_refused(story->play->keeper, line->words[1], line->words[2]));
}

/* b.service runs, and may take 30 of the pages of node 1, to which a is bound. Node 1 has memory for five pages more
 * than a wants. The gate "gate" belongs to a. */
static const char *do_beside_taker(void *context, const StoryLine *line UNUSED) {
        Story *story = context;
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

static const StoryVerb verbs[] = {
        {"ahead", do_planned},
        {"ask", do_try}, /* and no round may run for it */
        {"asks", do_asks},
        {"attempts", do_attempts},
        {"begin", do_begin},
        {"beside-taker", do_beside_taker},
        {"bind", do_bind},
        {"boot", do_plain},
        {"break-host", do_plain},
        {"changed", do_changed},
        {"clear", do_clear},
        {"config", do_config},
        {"count", do_count},
        {"done", do_plain},
        {"failed-boots", do_failed_boots},
        {"file", do_file},
        {"forget", do_forget},
        {"found", do_pages},
        {"found-on-disk", do_pages},
        {"gate", do_gate},
        {"grow", do_grow},
        {"hold-back", do_plain},
        {"host", do_host},
        {"host-written", do_host_written}, /* by another program at this time */
        {"is", do_is},
        {"is-starting", do_is_starting},
        {"judged", do_judged},
        {"last-problem", do_last_problem},
        {"link", do_link},
        {"mend-host", do_plain},
        {"moved", do_moved},
        {"next", do_next},
        {"notices", do_events},
        {"now", do_now}, /* in microseconds */
        {"number", do_number},
        {"others", do_pages},
        {"pass", do_pass}, /* rounds as long as it waits */
        {"planned", do_planned},
        {"pool", do_pool},
        {"problems", do_problems},
        {"react", do_plain},
        {"reason", do_status},
        {"release", do_plain},
        {"reload", do_reload},
        {"reloaded", do_reloaded},
        {"remove", do_remove},
        {"retry", do_begin},
        {"round", do_round},
        {"run", do_run},
        {"running", do_status},
        {"set", do_set}, /* visible after the next verb that shows the host */
        {"set-on-disk", do_pages},
        {"show", do_plain},
        {"start", do_unit},        /* UNIT MAPPED USED: pages of node 0 */
        {"start-by", do_start_by}, /* after systemd has made the unit's control group */
        {"state", do_state},
        {"stop", do_unit},
        {"stop-early", do_plain},
        {"warnings", do_events}, /* from LOG_WARNING on; "notices": the others */
        {"total", do_total},
        {"try", do_try},
        {"unknown-run", do_unknown_run},
        {"until-restart", do_status},
        {"use", do_unit},
        {"verdict", do_status},
        {"verify", do_verify}, /* "memory": the host's memory has changed; "only": no repair now */
        {"wait-for-end", do_wait_for_end},
        {"was-complete", do_was_complete},
        {"was-refused", do_was_refused},
        {"write", do_write},
};

static void begin_story(void *context) {
        Story *story = context;

        story->play = play_new();
}

static void end_story(void *context) {
        const Story *story = context;

        play_free(story->play);
}

static const StoryTeller teller = {
        .size = sizeof(Story),
        .begin = begin_story,
        .end = end_story,
        .verbs = verbs,
        .n_verbs = ARRAY_LEN(verbs),
};

TEST(keeper) {
        story_tell("unit/keeper/keeper", &teller);
}

TEST(keeper_gate) {
        story_tell("unit/keeper/keeper_gate", &teller);
}

TEST(keeper_rounds) {
        story_tell("unit/keeper/keeper_rounds", &teller);
}

TEST(keeper_status) {
        story_tell("unit/keeper/keeper_status", &teller);
}

TEST(keeper_faults) {
        story_tell("unit/keeper/keeper_faults", &teller);
}
