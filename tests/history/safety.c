/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What would be if: copies of the kernel in which everybody touches all that he has mapped. Those that may
 * run anywhere run where it hurts most. */
#include "history/history.h"

#include "base/text.h"

enum { PLAYERS = UNITS + STRANGERS, RANDOM_ORDERS = 2, WORST_ORDERS = 3, MANY_ORDERS = 100 };

typedef struct Fork {
        History *history;
        Kernel *kernel;
        KernelProcess *of[PLAYERS + 1];
        bool has_mapped[PLAYERS + 1]; /* or need not: it has already */
        bool has_failed[PLAYERS + 1];
        Random random;
} Fork;

/* ---- making ---- */

static KernelProcess *fork_unit(Fork *fork, const Unit *unit) {
        const History *history = fork->history;

        if (unit->state == UNIT_UP)
                return kernel_process(fork->kernel, kernel_pid(unit->process));
        return kernel_spawn(fork->kernel,
                            &(KernelSpawn){.name = unit->name,
                                           .group = unit->group,
                                           .policy = kernel_policy(history, &unit->run_policy)});
}

/* Who came without asking, or knows that it lacks some, may find nothing when it comes to map. */
static bool takes_part(const Unit *unit, unsigned supposed) {
        return unit->state == UNIT_UP
                       ? unit->was_gated || supposed & SUPPOSE_STRANGERS_TOUCH
                       : unit->state == UNIT_LET && unit->was_gated && !unit->is_short;
}

static void end_overcommit(Kernel *kernel) {
        uint64_t bytes;

        for (size_t i = 0; (bytes = kernel_page_bytes(kernel, i)) > 0; i++)
                kernel_set_overcommit(kernel, bytes, 0);
}

static Fork fork_new(History *history, Kernel *kernel, unsigned supposed, uint64_t number) {
        Fork fork = {
                .history = history,
                .kernel = kernel_copy(kernel),
                .random = {history->options->seed * 7919 + number},
        };

        history->n_forks++;
        if (!(supposed & SUPPOSE_SURPLUS_PAGES))
                end_overcommit(fork.kernel);
        for (size_t i = 0; i < UNITS; i++) {
                const Unit *unit = &history->units[i];

                if (!takes_part(unit, supposed))
                        continue;
                fork.of[i] = fork_unit(&fork, unit);
                fork.has_mapped[i] = unit->state == UNIT_UP;
        }
        for (size_t i = 0; i < STRANGERS; i++) {
                const Stranger *stranger = &history->strangers[i];

                /* Of what is not reserved nobody can know; what it takes is as a stranger does. */
                if (supposed & SUPPOSE_STRANGERS_TOUCH && stranger->process &&
                    stranger->was_promised)
                        fork.of[UNITS + i] =
                                kernel_process(fork.kernel, kernel_pid(stranger->process));
                fork.has_mapped[UNITS + i] = true;
        }
        return fork;
}

static void fork_end(Fork *fork) {
        kernel_free(fork->kernel);
}

/* ---- playing ---- */

static unsigned cpu_near(Fork *fork, uint64_t nodes) {
        uint64_t can = kernel_cpu_nodes(fork->kernel), may = can & nodes ? can & nodes : can;
        unsigned node;

        do
                node = (unsigned) random_between(&fork->random, 0, NODES - 1);
        while (!(may & (UINT64_C(1) << node)));
        return node;
}

static void fork_map(Fork *fork, size_t i) {
        if (fork->has_mapped[i])
                return;
        fork->has_mapped[i] = true;
        fork->has_failed[i] =
                claims_map(fork->kernel, fork->of[i], &fork->history->units[i], &fork->random) < 0;
}

static bool fork_touch_one(Fork *fork, size_t i) {
        KernelMapping *mapping;

        fork_map(fork, i);
        for (size_t k = 0; (mapping = kernel_mapping_at(fork->of[i], k)); k++)
                if (kernel_mapping_untouched(mapping) > 0) {
                        kernel_touch_one_of(mapping, random_bits(&fork->random));
                        return true;
                }
        return false;
}

static void fork_touch_all(Fork *fork, size_t i) {
        KernelMapping *mapping;

        fork_map(fork, i);
        for (size_t k = 0; (mapping = kernel_mapping_at(fork->of[i], k)); k++)
                if (!kernel_touch_all(mapping))
                        return;
}

/* In turn, as it comes. */
static void play_randomly(Fork *fork) {
        bool is_anything_left = true;

        while (is_anything_left) {
                is_anything_left = false;
                for (size_t i = 0; i <= PLAYERS; i++) {
                        uint64_t n = random_between(&fork->random, 0, 12);

                        if (!fork->of[i])
                                continue;
                        kernel_run_on(fork->of[i], cpu_near(fork, UINT64_MAX));
                        while (fork_touch_one(fork, i)) {
                                is_anything_left = true;
                                if (n-- == 0)
                                        break;
                        }
                }
        }
}

/* LAST comes when all others, near to his nodes, have had theirs. */
static void play_against(Fork *fork, size_t last, uint64_t nodes) {
        size_t order[PLAYERS + 1];

        for (size_t i = 0; i <= PLAYERS; i++) {
                size_t k = random_between(&fork->random, 0, i);

                order[i] = order[k];
                order[k] = i;
        }
        for (size_t i = 0; i <= PLAYERS; i++) {
                if (order[i] == last || !fork->of[order[i]])
                        continue;
                kernel_run_on(fork->of[order[i]], cpu_near(fork, nodes));
                fork_touch_all(fork, order[i]);
        }
        fork_touch_all(fork, last);
}

/* ---- asking ---- */

/* hugeplan knows of it by the file of its instance only. */
static bool is_known_mount(const History *history, const Mounted *mounted) {
        const InstanceConfig *config =
                config_find(keeper_config(history->keeper), mounted->instance);

        return config && config->mount && text_equals(config->mount->path, mounted->path);
}

bool has_strangers(const History *history) {
        for (size_t i = 0; i < MOUNTS; i++)
                if (history->mounts[i].mount && !is_known_mount(history, &history->mounts[i]))
                        return true;
        for (size_t i = 0; i < STRANGERS; i++)
                if (history->strangers[i].process)
                        return true;
        for (size_t i = 0; i < UNITS; i++)
                if (history->units[i].state != UNIT_DOWN && !history->units[i].was_gated)
                        return true;
        return false;
}

bool may_overcommit(const History *history) {
        for (unsigned i = 0; i < history->n_sizes; i++)
                if (kernel_pool(history->kernel, KERNEL_HOST, kernel_page_bytes(history->kernel, i))
                            .overcommit_pages > 0)
                        return true;
        return false;
}

static bool has_died(const Fork *fork, size_t i) {
        return fork->of[i] && (fork->has_failed[i] || !kernel_is_alive(fork->of[i]));
}

/* A stranger whose pages were never reserved takes what it gets. */
static bool is_asked_for(const History *history, size_t i, unsigned supposed) {
        if (i < UNITS)
                return takes_part(&history->units[i], supposed);
        return supposed & SUPPOSE_STRANGERS_TOUCH && history->strangers[i - UNITS].process &&
               history->strangers[i - UNITS].was_promised;
}

static uint64_t bound_nodes(const History *history, size_t i) {
        KernelPolicy policy = i < UNITS ? kernel_policy(history, &history->units[i].run_policy)
                                        : history->strangers[i - UNITS].policy;

        if (i >= UNITS && history->strangers[i - UNITS].nodes)
                return history->strangers[i - UNITS].nodes;
        return policy.mode == KERNEL_POLICY_BIND ? policy.nodes : 0;
}

Players find_asked(const History *history) {
        Players asked = 0;

        for (size_t i = 0; i < PLAYERS; i++)
                if (is_asked_for(history, i, SUPPOSE_STRANGERS_TOUCH))
                        asked |= (Players) 1 << i;
        return asked;
}

Players find_unsafe(History *history, unsigned supposed) {
        Players unsafe = 0;

        for (unsigned n = 0; n < RANDOM_ORDERS; n++) {
                Fork fork = fork_new(history, history->kernel, supposed, n);

                play_randomly(&fork);
                for (size_t i = 0; i < PLAYERS; i++)
                        if (is_asked_for(history, i, supposed) && has_died(&fork, i))
                                unsafe |= (Players) 1 << i;
                fork_end(&fork);
        }
        for (size_t i = 0; i < PLAYERS; i++) {
                uint64_t nodes = bound_nodes(history, i);

                for (unsigned n = 0;
                     n < WORST_ORDERS && nodes && is_asked_for(history, i, supposed); n++) {
                        Fork fork = fork_new(history, history->kernel, supposed, 100 * i + n);

                        play_against(&fork, i, nodes);
                        if (has_died(&fork, i))
                                unsafe |= (Players) 1 << i;
                        fork_end(&fork);
                }
        }
        return unsafe;
}

static bool may_die_in(History *history, Kernel *kernel, size_t player, unsigned supposed) {
        uint64_t nodes = bound_nodes(history, player);
        bool has_died_once = false;

        for (unsigned n = 0; n < MANY_ORDERS && !has_died_once; n++) {
                Fork fork = fork_new(history, kernel, supposed, 1000 + n);

                if (nodes && n % 4 > 0)
                        play_against(&fork, player, nodes);
                else
                        play_randomly(&fork);
                has_died_once = has_died(&fork, player);
                fork_end(&fork);
        }
        return has_died_once;
}

bool could_have_died(History *history, size_t player, unsigned supposed) {
        return may_die_in(history, history->judged, player, supposed) ||
               (history->unlowered && may_die_in(history, history->unlowered, player, supposed));
}

bool could_start(History *history, const MemoryPolicy *policy, const Claim *claim,
                 bool is_others_first) {
        Fork fork = fork_new(history, history->kernel,
                             SUPPOSE_STRANGERS_TOUCH | SUPPOSE_SURPLUS_PAGES, 77);
        KernelPolicy own = kernel_policy(history, policy);
        KernelProcess *process =
                kernel_spawn(fork.kernel, &(KernelSpawn){.name = "starter",
                                                         .policy = own,
                                                         .cpu_node = cpu_near(&fork, UINT64_MAX)});
        KernelMapping *mapping;
        bool lives = kernel_map(process,
                                &(KernelMap){.page_bytes = claim->page_bytes,
                                             .n_pages = claim->pages,
                                             .segment = claim->mount ? mount_file(fork.kernel,
                                                                                  claim->mount)
                                                                     : NULL},
                                &mapping) == 0;

        fork.of[PLAYERS] = process;
        fork.has_mapped[PLAYERS] = true;
        if (lives && is_others_first)
                play_against(&fork, PLAYERS,
                             own.mode == KERNEL_POLICY_BIND ? own.nodes : UINT64_MAX);
        lives = lives && kernel_touch_all(mapping);
        fork_end(&fork);
        return lives;
}
