/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What happens to a keeper, told as stories: each line of a file NAME.stories is something that the kernel, systemd, an
 * administrator or the daemon does (support/play.h), or a question, with its answer.
 *
 *     ## what would be wrong      a new host with two nodes, and no keeper yet
 *     config a Pages=10 Nodes=0   /etc/hugeplan.d/a.conf; host: [Host]; "\s" stands for a blank, "\n" for a line end
 *     boot                        a keeper, in the place of one that is there
 *     round -> 0:100              the answer is this; "~>": holds this; "!>": does not hold it
 *     set 0 most=60               the kernel can give node 0 no more; pool 0 60: others have lowered it
 *     gate G a a.service r2       a start of the unit, which `try G` and others ask for; asks G a: who does not start
 *
 * A verb without an answer says "-". */

#include "support/play.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/state.h"

enum { WORDS_MAX = 16, GATES_MAX = 8 };

typedef struct Story {
        Play *play;
        Arena *arena;
        char *words[WORDS_MAX]; /* the verb first; NULL behind the last one */
        const char *rest;       /* behind the verb */
        struct {
                const char *name;
                Gate gate;
        } gates[GATES_MAX];
        ApplyOperation operation;
        HostFiles files;
} Story;

static const char *yes(bool is_so) {
        return is_so ? "yes" : "no";
}

static const char *number(const Story *story, uint64_t n) {
        return arena_printf(story->arena, "%" PRIu64, n);
}

static uint64_t number_at(const Story *story, size_t i) {
        uint64_t n = 0;

        if (text_equals(story->words[i], "any"))
                return UINT64_MAX;
        if (story->words[i])
                assert_int_equal(parse_u64(story->words[i], &n), 0);
        return n;
}

static bool has_word(const Story *story, const char *word) {
        for (size_t i = 1; story->words[i]; i++)
                if (text_equals(story->words[i], word))
                        return true;
        return false;
}

/* With "\s" and "\n" as they are meant. */
static char *unescaped(const Story *story, const char *text) {
        Text out = text_in(story->arena);

        for (; *text; text++)
                if (*text == '\\' && (text[1] == 'n' || text[1] == 's'))
                        text_add(&out, *++text == 'n' ? "\n" : " ");
                else
                        text_add_n(&out, text, 1);
        return arena_strdup(story->arena, text_string(&out));
}

/* ---- the host ---- */

static char *settings(const Story *story, size_t first) {
        Text out = text_in(story->arena);

        for (size_t i = first; story->words[i]; i++)
                text_printf(&out, "%s\n", unescaped(story, story->words[i]));
        return arena_strdup(story->arena, text_string(&out));
}

static const char *do_config(Story *story) {
        write_config(story->play, story->words[1], settings(story, 2));
        return NULL;
}

static const char *do_host(Story *story) {
        tree_write(story->play->tree, "/etc/hugeplan.d/00.conf",
                   arena_printf(story->arena, "[Host]\nKeepFree=1G\n%s", settings(story, 1)));
        return NULL;
}

static const char *do_remove(Story *story) {
        remove_config(story->play, story->words[1]);
        return NULL;
}

static const char *do_write(Story *story) {
        tree_write(story->play->tree, story->words[1],
                   story->words[2] ? unescaped(story, story->words[2]) : "");
        return NULL;
}

static const char *do_link(Story *story) {
        tree_link(story->play->tree, story->words[1], story->words[2]);
        return NULL;
}

static const char *do_file(Story *story) {
        return tree_read(story->play->tree, story->words[1]);
}

static PlayedPool *pool_at(Story *story) {
        return &story->play->pools[number_at(story, 1)];
}

static const char *do_pool(Story *story) {
        set_pool(story->play, (unsigned) number_at(story, 1), number_at(story, 2));
        return NULL;
}

static const char *do_clear(Story *story) {
        *pool_at(story) = (PlayedPool){};
        return NULL;
}

static const char *do_set(Story *story) {
        PlayedPool *pool = pool_at(story);
        const struct {
                const char *name;
                uint64_t *value;
        } fields[] = {{"total=", &pool->total},
                      {"used=", &pool->used},
                      {"most=", &pool->most},
                      {"lost=", &pool->lost},
                      {"more=", &pool->more}};

        for (size_t i = 2; story->words[i]; i++)
                for (size_t k = 0; k < ARRAY_LEN(fields); k++)
                        if (text_starts_with(story->words[i], fields[k].name)) {
                                story->words[i] += strlen(fields[k].name);
                                *fields[k].value = number_at(story, i);
                        }
        return NULL;
}

static const char *do_total(Story *story) {
        const PlayedPool *pools = story->play->pools;

        return number(story,
                      story->words[1] ? pool_at(story)->total : pools[0].total + pools[1].total);
}

static const char *do_unit(Story *story) {
        (text_equals(story->words[0], "start") ? start_unit
         : text_equals(story->words[0], "stop")
                 ? stop_unit
                 : use_pages)(story->play, story->words[1], number_at(story, 2),
                              story->words[2] ? number_at(story, 3) : 0);
        return NULL;
}

/* ---- the keeper ---- */

/* What takes a play and says nothing. */
static const char *do_plain(Story *story) {
        if (text_equals(story->words[0], "boot"))
                boot(story->play);
        else if (text_equals(story->words[0], "show"))
                show_host(story->play);
        else if (text_equals(story->words[0], "hold-back"))
                keeper_hold_back(story->play->keeper);
        else if (text_equals(story->words[0], "stop-early"))
                keeper_stop_early(story->play->keeper);
        else if (text_equals(story->words[0], "release"))
                keeper_release(story->play->keeper, story->words[1], story->play->now_usec);
        else if (text_equals(story->words[0], "react"))
                react(story->play, &story->operation);
        else if (text_equals(story->words[0], "done"))
                keeper_done(story->play->keeper, &story->operation, 0, 1);
        else if (text_equals(story->words[0], "break-host"))
                story->files = break_host();
        else
                mend_host(&story->files);
        return NULL;
}

static const char *do_round(Story *story) {
        return round_of(story->play);
}

static const char *do_run(Story *story) {
        return run(story->play);
}

static const char *do_begin(Story *story) {
        keeper_begin(story->play->keeper,
                     text_equals(story->words[0], "retry") ? KEEPER_RETRY : KEEPER_FRESH,
                     story->play->now_usec);
        return NULL;
}

static const char *do_next(Story *story) {
        return yes(keeper_next(story->play->keeper, story->play->now_usec, &story->operation));
}

static const char *do_verify(Story *story) {
        return yes(verify_as(story->play, has_word(story, "memory"), !has_word(story, "only")));
}

/* Twice, with so much time in between that what was refused has ended, or goes on all the same. */
static const char *do_wait_for_end(Story *story) {
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

static const char *do_reload(Story *story) {
        return reload_name(keeper_reload(story->play->keeper, has_word(story, "forced"),
                                         story->play->now_usec));
}

static const char *do_reloaded(Story *story) {
        const KeeperReloadResult result = keeper_reload_result(story->play->keeper);
        const char *what = story->words[1];

        if (!what)
                return reload_name(result.state);
        if (text_equals(what, "problems"))
                return problems_text(story->arena, &result.problems);
        return number(story, text_equals(what, "changes") ? result.changes.n : result.pools.n);
}

/* "is working": what the keeper says of itself. */
static const char *do_is(Story *story) {
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
                if (text_equals(answers[i].what, story->words[1]))
                        return yes(answers[i].is_so);
        fail_msg("is what?");
        return NULL;
}

/* "number of units" */
static const char *do_number(Story *story) {
        const Keeper *keeper = story->play->keeper;
        const Ledger *ledger = keeper_look(keeper)->ledger;
        const struct {
                const char *what;
                uint64_t n;
        } answers[] = {
                {"units", keeper_units(keeper, story->arena).n},
                {"instances", keeper_config(keeper)->n_instances},
                {"holds", ledger->holds.n},
                {"refusals", ledger->refusals.n},
                {"rounds", story->play->n_rounds},
                {"pool-changes", keeper_pool_changes(keeper, story->arena).n},
        };

        for (size_t i = 0; i < ARRAY_LEN(answers); i++)
                if (text_equals(answers[i].what, story->words[2]))
                        return number(story, answers[i].n);
        fail_msg("number of what?");
        return NULL;
}

/* ---- what it says ---- */

static const char *do_state(Story *story) {
        return state_text(story->play);
}

static const char *do_problems(Story *story) {
        return problems_of(story->play);
}

static Text *events(Story *story, const char *which) {
        return text_equals(which, "told") ? &story->play->told : &story->play->noted;
}

static const char *do_events(Story *story) {
        return text_string(events(story, story->words[0]));
}

static const char *do_forget(Story *story) {
        *events(story, story->words[1]) = text_in(story->arena);
        return NULL;
}

static const char *do_count(Story *story) {
        return number(story, count(events(story, story->words[1]),
                                   unescaped(story, strchr(story->rest, ' ') + 1)));
}

static const char *do_status(Story *story) {
        const StatusInstance *instance = status_of(story->play, story->words[1]);

        if (text_equals(story->words[0], "verdict"))
                return verdict_name(instance->verdict);
        if (text_equals(story->words[0], "reason"))
                return reason_id(instance->reason.kind);
        return yes(text_equals(story->words[0], "running") ? instance->is_running
                                                           : instance->until_restart != NULL);
}

static const char *do_planned(Story *story) {
        return grants_text(story->arena, keeper_look(story->play->keeper)->plan, story->words[1]);
}

/* Pages of the pool of 2M of a node. */
static const char *do_pages(Story *story) {
        unsigned node = (unsigned) number_at(story, 1);
        const Look *look = keeper_look(story->play->keeper);
        const LedgerPool *stored = pool_on_disk(story->play, node);

        if (text_equals(story->words[0], "others"))
                return number(story, plan_pool(look->plan, node, 2 * MIB)->others_pages);
        if (text_equals(story->words[0], "found"))
                return number(story, ledger_pool(look->ledger, node, 2 * MIB)->found_pages);
        return number(story, text_equals(story->words[0], "set-on-disk") ? stored->set_pages
                                                                         : stored->found_pages);
}

static const char *do_has_stood(Story *story) {
        const char *wrong;

        return yes(
                ledger_instance(state_load(story->play->tree->root, story->arena, "boot", &wrong),
                                story->words[1])
                        ->has_stood);
}

/* ---- gates ---- */

static Gate *gate_of(Story *story) {
        size_t i = 0;

        while (story->gates[i].name && !text_equals(story->gates[i].name, story->words[1]))
                assert_true(++i < GATES_MAX);
        story->gates[i].name = arena_strdup(story->arena, story->words[1]);
        return &story->gates[i].gate;
}

static const char *do_gate(Story *story) {
        const char *unit = story->words[3];

        *gate_of(story) = starting_as(story->play, story->words[2],
                                      text_equals(unit, "-") ? NULL : unit,
                                      story->words[4] ? story->words[4] : "r1");
        return NULL;
}

static const char *do_asks(Story *story) {
        *gate_of(story) = (Gate){.instance = story->words[2], .run = ""};
        return NULL;
}

static const char *do_bind(Story *story) {
        Gate *gate = gate_of(story);

        gate->policy = (MemoryPolicy){.kind = MEMORY_POLICY_BIND};
        id_set_add(&gate->policy.nodes, (unsigned) number_at(story, 2));
        return NULL;
}

static const char *do_unknown_run(Story *story) {
        gate_of(story)->run = "";
        return NULL;
}

static const char *do_try(Story *story) {
        return try_gate(story->play, gate_of(story), text_equals(story->words[0], "try"));
}

static const char *do_pass(Story *story) {
        return pass_gate(story->play, gate_of(story));
}

static const char *do_start_by(Story *story) {
        return let_start(story->play, gate_of(story));
}

static const char *do_is_starting(Story *story) {
        return yes(gate_of(story)->is_starting);
}

static const char *do_was_refused(Story *story) {
        return yes(keeper_was_refused(story->play->keeper, story->words[1], story->words[2]));
}

/* b.service runs, and may take 30 of the pages of node 1 to which a is bound; memory gives five more there than
 * a wants. The gate "gate" is a's. */
static const char *do_beside_taker(Story *story) {
        static const char bound[] = "Pages=100\nNodes=1\nPlacement=bind\nUnit=a.service";
        Play *play = story->play;
        Gate first = starting(play, "b", "b.service");

        settle(play, bound, "Pages=30\nNodes=0\nPlacement=pack\nUnit=b.service");
        assert_text(let_start(play, &first), "pass");
        set_pool(play, 1, play->pools[1].most = 105);
        start_unit(play, "a.service", 0, 0);
        story->words[1] = arena_strdup(story->arena, "gate");
        Gate *gate = gate_of(story);

        *gate = starting(play, "a", "a.service");
        gate->policy = (MemoryPolicy){.kind = MEMORY_POLICY_UNKNOWN};
        return NULL;
}

/* ---- telling ---- */

static const struct {
        const char *verb;
        const char *(*perform)(Story *story);
} verbs[] = {
        {"asks", do_asks},
        {"ask", do_try}, /* and no round may be run for it */
        {"begin", do_begin},
        {"beside-taker", do_beside_taker},
        {"bind", do_bind},
        {"boot", do_plain},
        {"break-host", do_plain},
        {"clear", do_clear},
        {"config", do_config},
        {"count", do_count},
        {"done", do_plain},
        {"file", do_file},
        {"forget", do_forget},
        {"found", do_pages},
        {"found-on-disk", do_pages},
        {"gate", do_gate},
        {"has-stood", do_has_stood},
        {"hold-back", do_plain},
        {"host", do_host},
        {"is", do_is},
        {"is-starting", do_is_starting},
        {"link", do_link},
        {"mend-host", do_plain},
        {"next", do_next},
        {"noted", do_events},
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
        {"set", do_set}, /* shown by what shows the host next */
        {"set-on-disk", do_pages},
        {"show", do_plain},
        {"start", do_unit},        /* UNIT MAPPED USED: pages of node 0 */
        {"start-by", do_start_by}, /* once systemd has made its unit's control group */
        {"state", do_state},
        {"stop", do_unit},
        {"stop-early", do_plain},
        {"told", do_events}, /* from LOG_WARNING on; "noted": the others */
        {"total", do_total},
        {"try", do_try},
        {"unknown-run", do_unknown_run},
        {"until-restart", do_status},
        {"use", do_unit},
        {"verdict", do_status},
        {"verify", do_verify}, /* "memory": it has changed; "only": nothing may be repaired now */
        {"wait-for-end", do_wait_for_end},
        {"was-refused", do_was_refused},
        {"write", do_write},
};

static void tell(Story *story, const char *line) {
        static const char *const relations[] = {" -> ", " ~> ", " !> "};
        const char *at = NULL, *rest, *answer = NULL;
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_LEN(relations) && !at; i++)
                at = strstr(line, relations[i]);
        rest = arena_strndup(story->arena, line, at ? (size_t) (at - line) : strlen(line));
        story->rest = strchr(rest, ' ') ? strchr(rest, ' ') + 1 : "";
        while (n < WORDS_MAX - 1 && (story->words[n] = text_next_word(story->arena, &rest, " ")))
                n++;
        story->words[n] = NULL;
        for (n = 0; n < ARRAY_LEN(verbs) && !text_equals(verbs[n].verb, story->words[0]); n++)
                ;
        assert_true(n < ARRAY_LEN(verbs));
        answer = verbs[n].perform(story);
        if (!at)
                return;
        const char *expected = unescaped(story, at + 4);

        answer = answer && *answer ? answer : "(none)";
        if (at[1] == '-')
                assert_text(answer, expected);
        else if (at[1] == '~')
                assert_contains(answer, expected);
        else
                assert_null(strstr(answer, expected));
}

static void tell_file(const char *name) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        FILE *file = fopen(arena_printf(arena, "%s/unit/keeper/%s.stories", TEST_SOURCE_DIR, name),
                           "re");
        Story story = {};
        char line[512];
        size_t n_stories = 0, n_line = 0;

        assert_non_null(file);
        while (fgets(line, sizeof(line), file)) {
                line[strcspn(line, "\n")] = '\0';
                n_line++;
                if (text_starts_with(line, "## ")) {
                        if (story.play)
                                play_free(story.play);
                        story = (Story){.play = play_new()};
                        story.arena = story.play->tree->arena;
                        n_stories++;
                } else if (*line && *line != '#') {
                        print_message("%s.stories:%zu: %s\n", name, n_line, line);
                        tell(&story, line);
                }
        }
        play_free(story.play);
        fclose(file);
        assert_true(n_stories > 0);
}

TEST(keeper) {
        tell_file("keeper");
}

TEST(keeper_gate) {
        tell_file("keeper_gate");
}

TEST(keeper_rounds) {
        tell_file("keeper_rounds");
}

TEST(keeper_status) {
        tell_file("keeper_status");
}

TEST(keeper_faults) {
        tell_file("keeper_faults");
}
