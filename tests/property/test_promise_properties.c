/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What must hold of promises, whatever happens: small hosts are played by the kernel's rules.
 *
 * Units run under their policies, with pages that they have mapped and not touched, and others that they
 * may yet map. Who is bound takes pages of his nodes only; who interleaves takes them by the offset in
 * his mappings, and anywhere where that node has none left; all others take them wherever it hurts. Two
 * things are promised (plan/promise/promise.h, plan/promise/admission.h):
 *   1. who was safe in whatever order all touch their pages is so still after pools were lowered by what
 *      the balance allows, in any sequence and as often as one likes, while pages are touched and mapped;
 *   2. who is let start without a lack can touch all that he was granted, in whatever order the others
 *      touch theirs, and nobody who was safe before is less so.
 * Who is safe is reckoned here from the counts that the players know of themselves, not from those that
 * the ledger of promises has of them. */

#include "property/random.h"

#include "base/size.h"
#include "plan/promise/admission.h"
#include "plan/promise/balance.h"
#include "support/testing.h"

enum { NODES_MAX = 4, PLAYERS_MAX = 8, MAPPINGS_MAX = 3, PAGES_MAX = 100 };

/* In turn means evenly, but for an odd page of each mapping, and nobody can see where a mapping begins, nor
 * whose turn it was when pages came to be where they are. Who is safe by less than that of each who
 * interleaves hugeplan does not know to be safe. */
enum { TURNS_SLACK = 8 };

typedef struct Player {
        const char *name; /* NULL: nobody whom hugeplan knows */
        MemoryPolicyKind kind;
        unsigned nodes;             /* bits: of BIND and INTERLEAVE */
        uint64_t mapped[NODES_MAX]; /* not touched; of who interleaves by the node whose turn it is */
        uint64_t unmapped;          /* granted, and not even mapped */
        uint64_t used[NODES_MAX];
        bool is_safe;
} Player;

typedef struct Game {
        uint64_t seed;
        Random random;
        Arena *arena;
        size_t n_nodes;
        uint64_t free[NODES_MAX];
        Player players[PLAYERS_MAX];
        size_t n_players;
} Game;

/* ---- showing a game ---- */

static const char *kind_name(MemoryPolicyKind kind) {
        static const char *const names[] = {
                [MEMORY_POLICY_UNKNOWN] = "unknown",
                [MEMORY_POLICY_ANY] = "any",
                [MEMORY_POLICY_BIND] = "bind",
                [MEMORY_POLICY_INTERLEAVE] = "interleave",
        };

        return names[kind];
}

static void print_counts(const char *what, const uint64_t *counts, size_t n) {
        print_error(" %s", what);
        for (size_t i = 0; i < n; i++)
                print_error("%s%" PRIu64, i > 0 ? "/" : " ", counts[i]);
}

static void print_game(const Game *game) {
        print_counts("free", game->free, game->n_nodes);
        print_error("\n");
        for (size_t p = 0; p < game->n_players; p++) {
                const Player *player = &game->players[p];

                print_error("  %s: %s %#x,", player->name ? player->name : "nobody",
                            kind_name(player->kind), player->nodes);
                print_counts("mapped", player->mapped, game->n_nodes);
                print_counts("used", player->used, game->n_nodes);
                print_error(" unmapped %" PRIu64 "%s\n", player->unmapped,
                            player->is_safe ? ", safe" : "");
        }
}

#define REQUIRE(game, holds, ...)                                                               \
        do {                                                                                    \
                if (!(holds)) {                                                                 \
                        print_error("HUGEPLAN_SEED=%" PRIu64 ": %s\n  ", (game)->seed, #holds); \
                        print_error(__VA_ARGS__);                                               \
                        print_error("\n");                                                      \
                        print_game(game);                                                       \
                        _fail(__FILE__, __LINE__);                                              \
                }                                                                               \
        } while (0)

/* ---- what hugeplan sees of it ---- */

static uint64_t sum(const uint64_t *counts, size_t n, unsigned nodes) {
        uint64_t all = 0;

        for (size_t i = 0; i < n; i++)
                all += nodes & (1u << i) ? counts[i] : 0;
        return all;
}

static unsigned all_nodes(const Game *game) {
        return (1u << game->n_nodes) - 1;
}

static uint64_t mapped_of(const Game *game, const Player *player) {
        return sum(player->mapped, game->n_nodes, all_nodes(game));
}

/* All that it may still touch. */
static uint64_t rest_of(const Game *game, const Player *player) {
        return mapped_of(game, player) + player->unmapped;
}

static uint64_t free_in(const Game *game, unsigned nodes) {
        return sum(game->free, game->n_nodes, nodes);
}

static uint64_t reserved_pages(const Game *game) {
        uint64_t pages = 0;

        for (size_t p = 0; p < game->n_players; p++)
                pages += mapped_of(game, &game->players[p]);
        return pages;
}

static Topology *see_host(const Game *game) {
        Arena *arena = game->arena;
        Topology *topology = ARENA_NEW(arena, Topology);

        topology->nodes = ARENA_ARRAY(arena, Node, game->n_nodes);
        topology->n_nodes = game->n_nodes;
        topology->page_sizes = ARENA_NEW(arena, PageSize);
        topology->n_page_sizes = 1;
        *topology->page_sizes =
                (PageSize){.bytes = 2 * MIB, .reserved_pages = reserved_pages(game)};
        for (size_t i = 0; i < game->n_nodes; i++) {
                Pool *pool = ARENA_NEW(arena, Pool);

                *pool = (Pool){.page_size_bytes = 2 * MIB,
                               .exists = true,
                               .total_pages = game->free[i],
                               .free_pages = game->free[i]};
                for (size_t p = 0; p < game->n_players; p++)
                        pool->total_pages += game->players[p].used[i];
                topology->nodes[i] = (Node){
                        .id = (unsigned) i, .has_memory = true, .memory_bytes = GIB, .pools = pool};
        }
        return topology;
}

static MemoryPolicy see_policy(const Player *player) {
        MemoryPolicy policy = {.kind = player->kind};

        for (unsigned i = 0; i < NODES_MAX; i++)
                if (player->nodes & (1u << i))
                        id_set_add(&policy.nodes, i);
        return policy;
}

static void see_player(const Game *game, const Player *player, Running *running) {
        LedgerHold *hold = vec_push(game->arena, &running->holds);
        UnitUse *unit = vec_push(game->arena, &running->use.units);
        UnitCharge *charge = vec_push(game->arena, &unit->charges);
        uint64_t used = sum(player->used, game->n_nodes, all_nodes(game));

        *hold = (LedgerHold){.unit = player->name,
                             .run = "",
                             .policy = see_policy(player),
                             .is_counted = true,
                             .granted = {.name = player->name, .page_size_bytes = 2 * MIB}};
        *vec_push(game->arena, &hold->granted.grants) =
                (NodePages){0, used + rest_of(game, player)};
        unit->unit = player->name;
        unit->is_running = true;
        *charge = (UnitCharge){.page_size_bytes = 2 * MIB,
                               .reserved_pages = used + mapped_of(game, player),
                               .used = ARENA_ARRAY(game->arena, NodePages, game->n_nodes)};
        for (size_t i = 0; i < game->n_nodes; i++)
                charge->used[charge->n_used++] = (NodePages){(unsigned) i, player->used[i]};
}

static Promises see_promises(const Game *game) {
        Running *running = ARENA_NEW(game->arena, Running);

        for (size_t p = 0; p < game->n_players; p++)
                if (game->players[p].name)
                        see_player(game, &game->players[p], running);
        const Topology *host = see_host(game);

        return promises_make(game->arena, host, 0, &running->holds, &running->use,
                             ledger_of_idle(game->arena, host));
}

/* ---- moves ---- */

static unsigned allowed_nodes(const Game *game, const Player *player) {
        return player->kind == MEMORY_POLICY_BIND ? player->nodes : all_nodes(game);
}

/* Touches a page, of those whose turn it is on node TURN, on node I. */
static void take_page(Game *game, Player *player, size_t turn, size_t i) {
        game->free[i]--;
        player->mapped[turn]--;
        player->used[i]++;
}

static bool find_mapped(const Game *game, const Player *player, size_t *ret) {
        for (size_t i = 0; i < game->n_nodes; i++)
                if (player->mapped[i] > 0) {
                        *ret = i;
                        return true;
                }
        return false;
}

/* As many of a mapping for each node as its turns come to, from the first on. */
static void add_mapping(const Game *game, Player *player, uint64_t pages) {
        size_t i = 0;

        if (player->kind != MEMORY_POLICY_INTERLEAVE) {
                player->mapped[0] += pages;
                return;
        }
        while (pages > 0) {
                if (player->nodes & (1u << i)) {
                        player->mapped[i]++;
                        pages--;
                }
                i = (i + 1) % game->n_nodes;
        }
}

/* hugetlb_acct_memory(): the host has so many unreserved pages, and the nodes of who is bound as many free
 * ones. Who is refused does without. */
static void map_rest(Game *game, Player *player) {
        uint64_t pages = player->unmapped;

        player->unmapped = 0;
        if (free_in(game, all_nodes(game)) >= reserved_pages(game) + pages &&
            free_in(game, allowed_nodes(game, player)) >= pages)
                add_mapping(game, player, pages);
}

/* One page by the kernel's rules, wherever chance leads; false: it has none to touch. *RET_DEAD: there
 * is none left for it. */
static bool touch(Game *game, Player *player, bool *ret_dead) {
        size_t turn, i;

        if (!find_mapped(game, player, &turn))
                return false;
        *ret_dead = free_in(game, allowed_nodes(game, player)) == 0;
        if (*ret_dead)
                return true;
        if (player->kind == MEMORY_POLICY_INTERLEAVE)
                while (player->mapped[turn] == 0 || random_chance(&game->random, 30))
                        turn = (turn + 1) % game->n_nodes;
        i = turn;
        if (player->kind != MEMORY_POLICY_INTERLEAVE || game->free[i] == 0)
                do
                        i = random_between(&game->random, 0, game->n_nodes - 1);
                while (game->free[i] == 0 || !(allowed_nodes(game, player) & (1u << i)));
        take_page(game, player, turn, i);
        return true;
}

/* ---- who is safe ---- */

/* Pages that are for node I by turns, those that it has yet to map among them. */
static uint64_t turns_on(const Game *game, const Player *player, size_t i) {
        Player later = *player;

        add_mapping(game, &later, later.unmapped);
        return later.mapped[i];
}

/* What PLAYER may take of NODES, as long as it KEEPS_TURNS or is no such one. */
static uint64_t reach_of(const Game *game, const Player *player, unsigned nodes, bool keeps_turns) {
        uint64_t pages = 0;

        if (player->kind == MEMORY_POLICY_BIND)
                return player->nodes & nodes ? rest_of(game, player) : 0;
        if (player->kind != MEMORY_POLICY_INTERLEAVE || !keeps_turns)
                return rest_of(game, player);
        for (size_t i = 0; i < game->n_nodes; i++)
                pages += nodes & (1u << i) ? turns_on(game, player, i) : 0;
        return pages;
}

static uint64_t unevenness(const Game *game, const Player *player) {
        uint64_t least = UINT64_MAX, most = 0;

        for (size_t i = 0; i < game->n_nodes; i++)
                if (player->nodes & (1u << i)) {
                        least = MIN(least, player->used[i]);
                        most = MAX(most, player->used[i]);
                }
        return most - MIN(least, most);
}

static uint64_t reach_with_slack(const Game *game, const Player *player, unsigned nodes,
                                 bool keeps_turns) {
        uint64_t pages = reach_of(game, player, nodes, keeps_turns);

        if (player->kind != MEMORY_POLICY_INTERLEAVE)
                return pages;
        return MIN(rest_of(game, player), pages + TURNS_SLACK + unevenness(game, player));
}

static bool never_runs_out(const Game *game, const Player *player, const bool *keeps_turns) {
        for (size_t i = 0; i < game->n_nodes; i++) {
                uint64_t needed = 0;

                for (size_t p = 0; p < game->n_players; p++)
                        needed += reach_of(game, &game->players[p], 1u << i, keeps_turns[p]);
                if (player->nodes & (1u << i) && game->free[i] < needed)
                        return false;
        }
        return true;
}

/* Who interleaves keeps to his turns where none of his nodes can run out; who does not may make it run
 * out for others. */
static void find_who_keeps_turns(const Game *game, bool *ret) {
        bool has_changed = true;

        for (size_t p = 0; p < game->n_players; p++)
                ret[p] = game->players[p].kind == MEMORY_POLICY_INTERLEAVE;
        while (has_changed) {
                has_changed = false;
                for (size_t p = 0; p < game->n_players; p++)
                        if (ret[p] && !never_runs_out(game, &game->players[p], ret)) {
                                ret[p] = false;
                                has_changed = true;
                        }
        }
}

/* Whether all that players may touch can be served, in whatever order: sufficient, not necessary. */
static void find_who_is_safe(Game *game) {
        bool keeps_turns[PLAYERS_MAX];

        find_who_keeps_turns(game, keeps_turns);
        for (size_t p = 0; p < game->n_players; p++) {
                unsigned nodes = allowed_nodes(game, &game->players[p]);
                uint64_t needed = 0;

                for (size_t o = 0; o < game->n_players; o++)
                        needed += reach_with_slack(game, &game->players[o], nodes, keeps_turns[o]);
                game->players[p].is_safe = game->players[p].name && free_in(game, nodes) >= needed;
        }
}

/* ---- the worst that can be done to somebody ---- */

/* PLAYER takes pages of NODES while there are any that it may take; those whose turn is on a node in TURNS. */
static void take_all_in(Game *game, Player *player, unsigned nodes, unsigned turns) {
        nodes &= allowed_nodes(game, player);
        for (size_t i = 0; i < game->n_nodes; i++)
                for (size_t turn = 0; turn < game->n_nodes; turn++) {
                        bool is_by_turn = player->kind == MEMORY_POLICY_INTERLEAVE;

                        if (!(nodes & (1u << i)) || (is_by_turn && !(turns & (1u << turn))))
                                continue;
                        while (player->mapped[turn] > 0 && game->free[i] > 0 &&
                               (!is_by_turn || turn == i || game->free[turn] == 0))
                                take_page(game, player, turn, i);
                }
}

/* All others use up DRAINED first, so that who interleaves goes astray, and then the nodes of the
 * victim; at last that touches what it has. */
static bool can_kill(const Game *game, size_t victim, unsigned drained) {
        Game trial = *game;
        Player *dying = &trial.players[victim];
        unsigned nodes = allowed_nodes(game, dying);

        map_rest(&trial, dying);
        for (size_t p = 0; p < trial.n_players; p++)
                map_rest(&trial, &trial.players[p]);
        for (unsigned round = 0; round < 3; round++)
                for (size_t p = 0; p < trial.n_players; p++) {
                        Player *player = &trial.players[p];
                        /* First who can do no harm to the victim but this. */
                        bool is_harmless = !(allowed_nodes(game, player) & nodes);

                        if (p == victim)
                                continue;
                        if (round == 0 && (is_harmless || player->kind == MEMORY_POLICY_INTERLEAVE))
                                take_all_in(&trial, player, drained, drained);
                        if (round == 1)
                                take_all_in(&trial, player, drained, drained);
                        if (round == 2)
                                take_all_in(&trial, player, nodes, ~0u);
                }
        return free_in(&trial, nodes) < mapped_of(&trial, dying);
}

static void require_alive(const Game *game, const char *when) {
        for (size_t p = 0; p < game->n_players; p++)
                for (unsigned drained = 0; drained <= all_nodes(game); drained++)
                        if (game->players[p].is_safe)
                                REQUIRE(game, !can_kill(game, p, drained),
                                        "%s: %s dies when nodes %#x are used up", when,
                                        game->players[p].name, drained);
}

/* To the end, as chance has it. */
static void play_to_the_end(const Game *game) {
        Game trial = *game;
        size_t n_idle = 0;

        while (n_idle < 50 * trial.n_players) {
                Player *player =
                        &trial.players[random_between(&trial.random, 0, trial.n_players - 1)];
                bool is_dead = false;

                if (random_chance(&trial.random, 5))
                        map_rest(&trial, player);
                n_idle = touch(&trial, player, &is_dead) ? 0 : n_idle + 1;
                REQUIRE(game, !is_dead || !player->is_safe, "%s has died", player->name);
                if (is_dead)
                        *player = (Player){.name = player->name, .kind = MEMORY_POLICY_ANY};
        }
}

/* ---- making a game ---- */

static unsigned random_nodes(Game *game) {
        return (unsigned) random_between(&game->random, 1, all_nodes(game));
}

static size_t random_node(Game *game, unsigned nodes) {
        size_t i;

        do
                i = random_between(&game->random, 0, game->n_nodes - 1);
        while (!(nodes & (1u << i)));
        return i;
}

/* Some of what it has mapped it has touched, by its turns, or, where one node had none left for a while, on
 * another one. */
static void touch_earlier(Game *game, Player *player, uint64_t pages) {
        bool has_strayed = random_chance(&game->random, 25);
        size_t empty = random_node(game, all_nodes(game)),
               next = random_node(game, all_nodes(game));
        size_t turn;

        for (; pages > 0 && find_mapped(game, player, &turn); pages--) {
                while (player->mapped[turn] == 0 || random_chance(&game->random, 50))
                        turn = (turn + 1) % game->n_nodes;
                size_t i = player->kind != MEMORY_POLICY_INTERLEAVE
                                   ? random_node(game, allowed_nodes(game, player))
                           : has_strayed && turn == empty ? next
                                                          : turn;

                player->mapped[turn]--;
                player->used[i]++;
        }
}

static void add_player(Game *game, const char *name, uint64_t most) {
        Random *random = &game->random;
        Player *player = &game->players[game->n_players++];

        *player = (Player){.name = name, .kind = MEMORY_POLICY_ANY};
        if (name && random_chance(random, 75)) {
                player->kind = random_chance(random, 60) ? MEMORY_POLICY_BIND
                                                         : MEMORY_POLICY_INTERLEAVE;
                player->nodes = random_nodes(game);
        }
        for (uint64_t n = random_between(random, 0, MAPPINGS_MAX); n > 0; n--)
                add_mapping(game, player, random_between(random, 0, most));
        if (random_chance(random, 50))
                touch_earlier(game, player, random_between(random, 0, 2 * most));
        if (name && random_chance(random, 30))
                player->unmapped = random_between(random, 0, most);
}

static const char *const names[PLAYERS_MAX] = {"a.service", "b.service", "c.service", "d.service",
                                               "e.service", "f.service", "g.service", "h.service"};

static Game game_make(uint64_t seed) {
        Game game = {.seed = seed, .random = {seed}, .arena = arena_new()};
        size_t n = random_between(&game.random, 1, 4);
        uint64_t most = random_chance(&game.random, 40) ? 6 : PAGES_MAX;

        game.n_nodes = random_between(&game.random, 1, NODES_MAX);
        for (size_t p = 0; p < n; p++)
                add_player(&game, names[p], most);
        if (random_chance(&game.random, 40))
                add_player(&game, NULL, most / 2);
        /* Any number of pages, or hardly more or less than all may take of a node. */
        static const bool all_keep_turns[PLAYERS_MAX] = {true, true, true, true,
                                                         true, true, true, true};
        bool is_tight = random_chance(&game.random, 60);

        for (size_t i = 0; i < game.n_nodes; i++) {
                uint64_t needed = 0;

                for (size_t p = 0; p < game.n_players; p++)
                        needed += reach_of(&game, &game.players[p], 1u << i, all_keep_turns[p]);
                game.free[i] = is_tight ? sub_floored(needed + random_between(&game.random, 0, 30),
                                                      random_chance(&game.random, 10) ? 10 : 0)
                                        : random_between(&game.random, 0, 4 * most);
        }
        return game;
}

/* ---- lowering ---- */

/* What nobody is known to have may depend on any one node. */
static uint64_t unknown_pages(const Game *game) {
        uint64_t pages = 0;

        for (size_t p = 0; p < game->n_players; p++)
                pages += game->players[p].name ? 0 : mapped_of(game, &game->players[p]);
        return pages;
}

static void lower(Game *game) {
        const Promises promises = see_promises(game);
        Balance *balance = balance_new(game->arena, &promises, game->free);

        for (size_t n = 0; n < 3 * game->n_nodes; n++) {
                size_t i = random_between(&game->random, 0, game->n_nodes - 1);
                uint64_t spare = balance_spare_pages(balance, i);
                uint64_t pages = random_chance(&game->random, 70)
                                         ? spare
                                         : random_between(&game->random, 0, spare);

                REQUIRE(game, spare <= game->free[i], "node %zu has %" PRIu64 " spare", i, spare);
                game->free[i] -= pages;
                balance_change(balance, i, pages, 0);
                REQUIRE(game, pages == 0 || game->free[i] >= unknown_pages(game), "node %zu", i);
        }
        for (size_t i = 0; i < game->n_nodes; i++)
                REQUIRE(game,
                        balance_spare_pages(balance, i) == 0 ||
                                balance_missing_pages(balance, i) == 0,
                        "node %zu has something spare and is missing something", i);
}

static void check_lowering(uint64_t seed) {
        Game game = game_make(seed);

        find_who_is_safe(&game);
        require_alive(&game, "at the beginning");
        for (unsigned round = 0; round < 3; round++) {
                lower(&game);
                require_alive(&game, "lowered");
                play_to_the_end(&game);
                /* Some pages are touched, some are mapped. */
                for (uint64_t n = random_between(&game.random, 0, 30); n > 0; n--) {
                        Player *player =
                                &game.players[random_between(&game.random, 0, game.n_players - 1)];
                        bool is_dead = false;

                        if (random_chance(&game.random, 10))
                                map_rest(&game, player);
                        else
                                touch(&game, player, &is_dead);
                        REQUIRE(&game, !is_dead || !player->is_safe, "%s has died", player->name);
                }
        }
        arena_free(game.arena);
}

TEST(lowering) {
        random_for_each_seed(5000, check_lowering);
}

/* What is missing is what would make all who are bound safe. */
static void check_missing(uint64_t seed) {
        Game game = game_make(seed);
        const Promises promises = see_promises(&game);
        Balance *balance = balance_new(game.arena, &promises, game.free);

        for (size_t i = 0; i < game.n_nodes; i++) {
                uint64_t missing = balance_missing_pages(balance, i);

                balance_change(balance, i, 0, missing);
                game.free[i] += missing;
                REQUIRE(&game, balance_missing_pages(balance, i) == 0, "node %zu", i);
        }
        const Balance *after = balance_new(game.arena, &promises, game.free);

        for (size_t i = 0; i < game.n_nodes; i++)
                REQUIRE(&game, balance_missing_pages(after, i) == 0, "node %zu, looked at anew", i);
        find_who_is_safe(&game);
        for (size_t p = 0; p < game.n_players; p++)
                if (game.players[p].name)
                        for (unsigned drained = 0; drained <= all_nodes(&game); drained++)
                                REQUIRE(&game, !can_kill(&game, p, drained), "%s dies",
                                        game.players[p].name);
        arena_free(game.arena);
}

TEST(missing) {
        random_for_each_seed(5000, check_missing);
}

/* ---- starting ---- */

/* One after the other comes to its gate. */
static void check_start(Game *game) {
        const Promises promises = see_promises(game);
        Player *player = &game->players[game->n_players];
        uint64_t n_all = 0;
        Lack lack;

        *player = (Player){.name = names[game->n_players], .kind = MEMORY_POLICY_ANY};
        if (random_chance(&game->random, 75)) {
                player->kind = random_chance(&game->random, 50) ? MEMORY_POLICY_BIND
                                                                : MEMORY_POLICY_INTERLEAVE;
                player->nodes = random_nodes(game);
        }
        player->unmapped = random_between(&game->random, 1, PAGES_MAX);
        NodePages *grants = ARENA_ARRAY(game->arena, NodePages, NODES_MAX);
        size_t n = 0;

        for (unsigned i = 0; i < game->n_nodes; i++)
                if (allowed_nodes(game, player) & (1u << i))
                        grants[n++] = (NodePages){i, player->unmapped};
        const Starter starter = (Starter){
                .instance = player->name,
                .policy = see_policy(player),
                .grants = grants,
                .n_grants = 1, /* as if it were planned on the first of them */
                .pages = player->unmapped,
                .is_now = true,
        };

        promises_admit(game->arena, &promises, game->free, &starter, 1, &lack);
        REQUIRE(game, lack.pages <= player->unmapped, "%" PRIu64 " of %" PRIu64, lack.pages,
                player->unmapped);
        if (lack.pages > 0)
                return;
        game->n_players++;
        player->is_safe = true;
        REQUIRE(game, free_in(game, allowed_nodes(game, player)) >= player->unmapped,
                "%s cannot even map", player->name);
        /* What may be anybody's is held against nobody who is bound, as far as other nodes can serve it:
         * that is an exposure. */
        if (unknown_pages(game) == 0)
                require_alive(game, "started");
        else
                for (size_t p = 0; p < game->n_players; p++)
                        n_all += rest_of(game, &game->players[p]);
        REQUIRE(game, free_in(game, all_nodes(game)) >= n_all, "%" PRIu64 " wanted", n_all);
}

static void check_starts(uint64_t seed) {
        Game game = game_make(seed);
        bool has_unknown = unknown_pages(&game) > 0;

        for (size_t i = 0; i < game.n_nodes; i++)
                game.free[i] += random_between(&game.random, 0, 2 * PAGES_MAX);
        find_who_is_safe(&game);
        while (game.n_players < PLAYERS_MAX && random_chance(&game.random, 85)) {
                check_start(&game);
                if (!has_unknown)
                        play_to_the_end(&game);
        }
        arena_free(game.arena);
}

TEST(starts) {
        random_for_each_seed(5000, check_starts);
}

/* ---- the games are worth something ---- */

TEST(games_are_varied) {
        size_t n_safe = 0, n_unsafe = 0, n_lowered = 0, n_held = 0, n_turns = 0, n_killed = 0;

        for (uint64_t seed = 1; seed <= 500; seed++) {
                Game game = game_make(seed);
                const Promises promises = see_promises(&game);
                const Balance *balance = balance_new(game.arena, &promises, game.free);
                bool keeps_turns[PLAYERS_MAX];

                find_who_is_safe(&game);
                find_who_keeps_turns(&game, keeps_turns);
                for (size_t p = 0; p < game.n_players; p++) {
                        n_safe += game.players[p].is_safe;
                        n_unsafe += game.players[p].name && !game.players[p].is_safe;
                        n_killed += can_kill(&game, p, 0);
                        n_turns += keeps_turns[p] && rest_of(&game, &game.players[p]) > 8;
                }
                for (size_t i = 0; i < game.n_nodes; i++) {
                        n_lowered += balance_spare_pages(balance, i) > 0;
                        n_held += game.free[i] > 0 && balance_spare_pages(balance, i) == 0;
                }
                arena_free(game.arena);
        }
        assert_true(n_safe > 300);
        assert_true(n_unsafe > 100);
        assert_true(n_lowered > 100);
        assert_true(n_held > 100);
        assert_true(n_turns > 50);
        assert_true(n_killed > 50);
}
