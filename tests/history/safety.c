/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Simulations on copies of the kernel, in which every process touches all pages that it has mapped. Processes
 * without a policy run on the nodes where they do the most harm. */
#include "history/history.h"

#include "base/text.h"

enum { PROCESSES = UNITS + OTHERS, RANDOM_ORDERS = 2, WORST_ORDERS = 3, MANY_ORDERS = 100 };

typedef struct Fork {
        const History *history;
        Kernel *kernel;
        KernelProcess *of[PROCESSES + 1];
        bool has_mapped[PROCESSES + 1];
        bool has_failed[PROCESSES + 1];
        Random random;
} Fork;

/* ---- copies ---- */

static KernelProcess *fork_unit(Fork *fork, const Unit *unit) {
        const History *history = fork->history;

        if (unit->state == UNIT_UP)
                return kernel_process(fork->kernel, kernel_pid(unit->process));
        return kernel_spawn(fork->kernel,
                            &(KernelSpawn){.name = unit->name,
                                           .group = unit->group,
                                           .policy = kernel_policy(history, &unit->run_policy)});
}

/* A unit that is ungated or short has no promise that it can map its pages. Pages mapped with MAP_NORESERVE are
 * counted nowhere, so the process may be killed at any touch. */
static bool is_checked(const History *history, size_t i, unsigned supposed) {
        if (i >= UNITS)
                return supposed & SUPPOSE_OTHERS_TOUCH && history->others[i - UNITS].process &&
                       history->others[i - UNITS].is_reserved;
        const Unit *unit = &history->units[i];

        return unit->state == UNIT_UP
                       /* While its database restarts, the unit has no process. */
                       ? unit->process && (unit->was_gated || supposed & SUPPOSE_OTHERS_TOUCH)
                       : unit->state == UNIT_ADMITTED && unit->was_gated && !unit->is_short;
}

static void end_overcommit(Kernel *kernel) {
        uint64_t bytes;

        for (size_t i = 0; (bytes = kernel_page_bytes(kernel, i)) > 0; i++)
                kernel_set_overcommit(kernel, bytes, 0);
}

static Fork fork_new(const History *history, Kernel *kernel, unsigned supposed, uint64_t number) {
        Fork fork = {
                .history = history,
                .kernel = kernel_copy(kernel),
                .random = {history->options->seed * 7919 + number},
        };

        if (!(supposed & SUPPOSE_SURPLUS_PAGES))
                end_overcommit(fork.kernel);
        for (size_t i = 0; i < PROCESSES; i++) {
                if (!is_checked(history, i, supposed))
                        continue;
                fork.of[i] =
                        i < UNITS ? fork_unit(&fork, &history->units[i])
                                  : kernel_process(fork.kernel,
                                                   kernel_pid(history->others[i - UNITS].process));
                fork.has_mapped[i] = i >= UNITS || (history->units[i].state == UNIT_UP &&
                                                    (!unit_maps_more(&history->units[i]) ||
                                                     history->units[i].is_short));
        }
        return fork;
}

/* ---- orders of touching ---- */

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

/* All processes take turns, a random number of pages at a time. */
static void play_randomly(Fork *fork) {
        bool is_anything_left = true;

        while (is_anything_left) {
                is_anything_left = false;
                for (size_t i = 0; i <= PROCESSES; i++) {
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

/* LAST touches its pages after all others, which run on or near to NODES. */
static void play_against(Fork *fork, size_t last, uint64_t nodes) {
        size_t order[PROCESSES + 1];

        for (size_t i = 0; i <= PROCESSES; i++) {
                size_t k = random_between(&fork->random, 0, i);

                order[i] = order[k];
                order[k] = i;
        }
        for (size_t i = 0; i <= PROCESSES; i++) {
                if (order[i] == last || !fork->of[order[i]])
                        continue;
                kernel_run_on(fork->of[order[i]], cpu_near(fork, nodes));
                fork_touch_all(fork, order[i]);
        }
        fork_touch_all(fork, last);
}

/* ---- results ---- */

/* hugeplan knows a mount by the file of its instance only. */
static bool is_known_mount(const History *history, const Mounted *mounted) {
        const InstanceConfig *config =
                config_find(keeper_config(history->keeper), mounted->instance);

        return config && config->mount && text_equals(config->mount->path, mounted->path);
}

bool has_other_users(const History *history) {
        return ARRAY_ANY(mounted, history->mounts, MOUNTS,
                         mounted->mount && !is_known_mount(history, mounted)) ||
               ARRAY_ANY(other, history->others, OTHERS, other->process) ||
               ARRAY_ANY(unit, history->units, UNITS, unit->state != UNIT_DOWN && !unit->was_gated);
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

static uint64_t bound_nodes(const History *history, size_t i) {
        KernelPolicy policy = i < UNITS ? kernel_policy(history, &history->units[i].run_policy)
                                        : history->others[i - UNITS].policy;

        uint64_t cpuset = i < UNITS ? history->units[i].nodes : history->others[i - UNITS].nodes;

        if (cpuset)
                return cpuset;
        return policy.mode == KERNEL_POLICY_BIND ? policy.nodes : 0;
}

ProcessSet find_checked(const History *history) {
        ProcessSet checked = 0;

        for (size_t i = 0; i < PROCESSES; i++)
                if (is_checked(history, i, SUPPOSE_OTHERS_TOUCH))
                        checked |= (ProcessSet) 1 << i;
        return checked;
}

ProcessSet find_unsafe(const History *history, unsigned supposed) {
        ProcessSet unsafe = 0;

        for (unsigned n = 0; n < RANDOM_ORDERS; n++) {
                Fork fork = fork_new(history, history->kernel, supposed, n);

                play_randomly(&fork);
                for (size_t i = 0; i < PROCESSES; i++)
                        if (has_died(&fork, i))
                                unsafe |= (ProcessSet) 1 << i;
                kernel_free(fork.kernel);
        }
        for (size_t i = 0; i < PROCESSES; i++) {
                uint64_t nodes = bound_nodes(history, i);

                for (unsigned n = 0; n < WORST_ORDERS && nodes && is_checked(history, i, supposed);
                     n++) {
                        Fork fork = fork_new(history, history->kernel, supposed, 100 * i + n);

                        play_against(&fork, i, nodes);
                        if (has_died(&fork, i))
                                unsafe |= (ProcessSet) 1 << i;
                        kernel_free(fork.kernel);
                }
        }
        return unsafe;
}

static bool may_die_in(const History *history, Kernel *kernel, size_t process, unsigned supposed) {
        uint64_t nodes = bound_nodes(history, process);
        bool has_died_once = false;

        for (unsigned n = 0; n < MANY_ORDERS && !has_died_once; n++) {
                Fork fork = fork_new(history, kernel, supposed, 1000 + n);

                if (nodes && n % 4 > 0)
                        play_against(&fork, process, nodes);
                else
                        play_randomly(&fork);
                has_died_once = has_died(&fork, process);
                kernel_free(fork.kernel);
        }
        return has_died_once;
}

bool could_have_died(const History *history, size_t process, unsigned supposed) {
        return may_die_in(history, history->last_checked, process, supposed) ||
               (history->before_lowering &&
                may_die_in(history, history->before_lowering, process, supposed));
}

bool could_start(const History *history, const MemoryPolicy *policy, const Claim *claim,
                 bool is_others_first) {
        Fork fork = fork_new(history, history->kernel, SUPPOSE_OTHERS_TOUCH | SUPPOSE_SURPLUS_PAGES,
                             77);
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

        fork.of[PROCESSES] = process;
        fork.has_mapped[PROCESSES] = true;
        if (lives && is_others_first)
                play_against(&fork, PROCESSES,
                             own.mode == KERNEL_POLICY_BIND ? own.nodes : UINT64_MAX);
        lives = lives && kernel_touch_all(mapping);
        kernel_free(fork.kernel);
        return lives;
}
