/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of a history, and their weights. */
#include "history/history.h"

#include "base/text.h"
#include "host/state.h"
#include "model/names.h"

typedef struct StepKind {
        unsigned weight;
        bool (*perform)(History *history); /* false: not possible now */
        Actor actor; /* whose change is checked then; ACTOR_NONE: the step itself has it checked */
        unsigned looks_percent; /* how often the daemon looks after it */
} StepKind;

static Unit *random_unit(History *history, UnitState state) {
        for (unsigned i = 0; i < 3; i++) {
                Unit *unit = &history->units[draw(history, 0, UNITS - 1)];

                if (unit->state == state)
                        return unit;
        }
        return NULL;
}

static void maybe_verify(History *history, unsigned percent) {
        if (history->failure || history->is_over || !chance(history, percent))
                return;
        trace(history, "      hugepland looks");
        daemon_verify(history, false);
        check_after(history, ACTOR_HUGEPLAN);
}

/* An ungated unit counts as another user. */
static Actor actor_of(const Unit *unit) {
        return unit->state == UNIT_DOWN || unit->was_gated ? ACTOR_UNIT : ACTOR_OTHER;
}

static bool step_start(History *history) {
        Unit *unit = random_unit(history, UNIT_DOWN);

        if (!unit)
                return false;
        unit_start(history, unit);
        check_after(history, actor_of(unit));
        if (history->failure || unit->state == UNIT_DOWN || chance(history, 20))
                return true;
        unit_map(history, unit);
        check_after(history, actor_of(unit));
        maybe_verify(history, 30);
        return true;
}

static bool step_start_many(History *history) {
        if (units_start(history) == 0)
                return false;
        const Unit *unasked =
                ARRAY_FIND(unit, history->units, UNITS,
                           unit->state == UNIT_ADMITTED && actor_of(unit) != ACTOR_UNIT);

        check_after(history, unasked ? ACTOR_OTHER : ACTOR_UNIT);
        return true;
}

static bool step_map(History *history) {
        Unit *unit = random_unit(history, UNIT_ADMITTED);

        if (!unit)
                return false;
        unit_map(history, unit);
        check_after(history, actor_of(unit));
        return true;
}

static bool step_stop(History *history) {
        Unit *unit = random_unit(history, UNIT_UP);

        if (unit)
                unit_stop(history, unit);
        return unit;
}

static bool step_restart(History *history) {
        Unit *unit = random_unit(history, UNIT_UP);

        if (!unit)
                return false;
        if (!unit_leave_behind(history, unit))
                unit_stop(history, unit);
        check_after(history, ACTOR_UNIT);
        if (history->failure)
                return true;
        unit_start(history, unit);
        check_after(history, actor_of(unit));
        if (history->failure || unit->state == UNIT_DOWN ||
            (history->options->leaves_processes && chance(history, 50)))
                return true;
        unit_map(history, unit);
        check_after(history, actor_of(unit));
        return true;
}

/* With maps_in_parts: a running unit maps more, unmaps, or restarts its database. */
static bool step_within(History *history) {
        Unit *unit = random_unit(history, UNIT_UP);

        if (!unit || !unit->was_gated)
                return false;
        if (chance(history, 30))
                unit_restart_database(history, unit);
        else if (unit_maps_more(unit) && chance(history, 60))
                unit_map(history, unit);
        else if (!unit_unmap(history, unit))
                return false;
        check_after(history, ACTOR_UNIT);
        maybe_verify(history, 50);
        return true;
}

static bool step_touch(History *history) {
        Actor actor;

        if (!some_process_touches(history, &actor))
                return false;
        check_after(history, actor);
        return true;
}

static bool is_described(const History *history, size_t unit, const Claim *claim) {
        return ARRAY_ANY(described, history->described, DESCRIBED,
                         described->name && !described->is_broken &&
                                 described->unit == (int) unit &&
                                 described->page_bytes == claim->page_bytes &&
                                 described->pages == claim->pages);
}

/* If the hold of a running unit is lost, the daemon knows the unit's pages only from the files, as long as they say
 * what they said at its start. From then on the unit counts as ungated. */
void forget_lost_holds(History *history, bool is_edited) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *text;
        const Ledger *stored = state_load(history->root, arena,
                                          keeper_look(history->keeper)->ledger->boot_id, &text);

        for (size_t i = 0; i < UNITS; i++) {
                Unit *unit = &history->units[i];
                bool is_other = unit->policy.kind != unit->run_policy.kind ||
                                !id_set_equals(&unit->policy.nodes, &unit->run_policy.nodes) ||
                                ARRAY_ANY(claim, unit->claims, unit->n_claims,
                                          !is_described(history, i, claim));
                const LedgerHold *hold = ledger_hold(stored, unit->name, NULL);

                if (hold && text_equals(hold->run, unit->run))
                        continue;
                /* A gate has passed, and others of the same start have not. */
                is_other = is_other ||
                           (unit->is_starting && unit->state == UNIT_DOWN && unit->n_claims > 0);
                if (is_edited ? !ledger_hold(keeper_look(history->keeper)->ledger, unit->name, NULL)
                              : is_other)
                        unit->was_gated = false;
        }
}

static bool step_edit(History *history) {
        if (history->is_ledger_lost)
                forget_lost_holds(history, true);
        for (uint64_t n = draw(history, 1, 2); n > 0; n--)
                world_edit(history);
        check_after(history, ACTOR_HUGEPLAN);
        if (history->failure || !chance(history, 80))
                return true;
        trace(history, "      hugeplanctl reload");
        daemon_reload(history, chance(history, 15));
        check_after(history, ACTOR_HUGEPLAN);
        return true;
}

static bool step_reload(History *history) {
        trace(history, "      hugeplanctl reload");
        daemon_reload(history, chance(history, 50));
        return true;
}

static bool step_release(History *history) {
        daemon_release(history);
        return true;
}

static bool step_write(History *history) {
        others_write_pool(history);
        return true;
}

static bool step_memory(History *history) {
        others_change_memory(history);
        return true;
}

/* Freeing idle pages makes no process unsafe, and the daemon does not need these pages again. */
static bool step_give_back(History *history) {
        daemon_verify(history, false);
        check_after(history, ACTOR_HUGEPLAN);
        if (history->failure || history->is_over || !others_free_idle_pages(history))
                return false;
        check_after(history, ACTOR_HUGEPLAN);
        PoolCounts before = pool_counts(history);
        bool was_edited = history->is_edited; /* a daemon that is killed reads the new files */

        daemon_verify(history, false);
        check_after(history, ACTOR_HUGEPLAN);
        PoolCounts after = pool_counts(history);

        bool is_known = history->options->toggles_controller ? is_all_known(history)
                                                             : !has_other_users(history);

        if (is_known && !was_edited && memcmp(&before, &after, sizeof(after)) != 0)
                report_failure(history, "idle",
                               "pages were reported as idle, and are in the pool again");
        return true;
}

static bool step_kill(History *history) {
        if (chance(history, 25) && root_remove(history->root, PATH_LEDGER) == 0) {
                trace(history, "      the ledger is lost");
                history->is_ledger_old = true;
        }
        daemon_kill(history);
        return true;
}

/* Kills the daemon during one of its next operations. */
static bool step_kill_soon(History *history) {
        uint64_t n = draw(history, 1, 12);

        trace(history, "      hugepland will be killed before its write number %" PRIu64, n);
        model_root_die(history->root, n);
        return true;
}

static bool step_claim(History *history) {
        Unit *unit = random_unit(history, chance(history, 30) ? UNIT_ADMITTED : UNIT_UP);

        if (!unit || !unit->was_gated || unit->n_gates == 0)
                return false;
        daemon_claim_start(history, unit);
        return true;
}

static bool step_look(History *history) {
        maybe_verify(history, 100);
        return true;
}

static const StepKind kinds[] = {
        {20, step_start},
        {6, step_map},
        {22, step_touch},
        {10, step_stop, ACTOR_UNIT, 85},
        {8, step_restart},
        {14, step_edit},
        {3, step_reload, ACTOR_HUGEPLAN},
        {4, step_release, ACTOR_HUGEPLAN},
        {5, other_process_starts, ACTOR_OTHER, 30},
        {5, other_process_ends, ACTOR_UNIT, 50},
        {4, step_write, ACTOR_OTHER, 80},
        {3, step_memory, ACTOR_OTHER, 50},
        {2, step_kill, ACTOR_HUGEPLAN},
        {3, step_kill_soon},
        {6, step_look},
        {4, step_claim, ACTOR_HUGEPLAN},
        {6, step_start_many},
        {4, step_give_back},
};

static bool try_step(History *history) {
        const StepKind *kind = kinds;
        uint64_t sum = 0, drawn;

        for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
                sum += kinds[k].weight;
        for (drawn = draw(history, 0, sum - 1); drawn >= kind->weight; kind++)
                drawn -= kind->weight;
        if (!kind->perform(history))
                return false;
        if (kind->actor != ACTOR_NONE)
                check_after(history, kind->actor);
        if (kind->looks_percent > 0)
                maybe_verify(history, kind->looks_percent);
        return true;
}

/* AllowedMemoryNodes= of a unit, by systemctl set-property. Under mapped memory the kernel would also change the
 * process's policy (mpol_rebind_task()), which the model does not. */
static void change_cpuset(History *history) {
        Unit *unit = &history->units[draw(history, 0, UNITS - 1)];

        if (unit->state != UNIT_DOWN && unit->run_policy.kind != MEMORY_POLICY_ANY)
                return;
        unit->nodes = chance(history, 30) ? 0 : draw(history, 1, (1u << history->n_nodes) - 1);
        trace(history, "      the cpuset of %s is %" PRIx64, unit->name, unit->nodes);
        if (unit->state == UNIT_DOWN)
                return;
        history->is_settled = false;
        unit_make_group(history, unit);
        check_after(history, ACTOR_OTHER);
        maybe_verify(history, 50);
}

static void toggle_controller(History *history) {
        const char *text = chance(history, 50) ? "+hugetlb" : "-hugetlb";

        trace(history, "      %s in system.slice", text);
        kernel_group_write(history->kernel, "/system.slice", "cgroup.subtree_control", text);
        history->is_settled = false;
        maybe_verify(history, 50);
}

/* The kernel would change policies with nodes (mpol_rebind_task()), which the model does not. */
static void hotplug(History *history) {
        unsigned node = (unsigned) draw(history, 0, history->n_nodes - 1);
        bool is_there = kernel_memory_nodes(history->kernel) & (UINT64_C(1) << node);

        if (ARRAY_ANY(unit, history->units, UNITS,
                      unit->state != UNIT_DOWN && unit->run_policy.kind != MEMORY_POLICY_ANY) ||
            ARRAY_ANY(other, history->others, OTHERS,
                      other->process && other->policy.mode != KERNEL_POLICY_LOCAL) ||
            (is_there && kernel_remove_memory(history->kernel, node) < 0))
                return;
        if (!is_there)
                kernel_add_memory(history->kernel, node);
        trace(history, "      the memory of node %u is %s", node,
              is_there ? "removed" : "there again");
        limit_existing(history);
        memset(history->lowered, 0, sizeof(history->lowered));
        history->is_settled = false;
        check_after(history, ACTOR_OTHER);
        if (history->failure || chance(history, 20))
                return;
        systemd_reload(history);
        daemon_verify(history, !is_there);
        check_after(history, ACTOR_HUGEPLAN);
}

static void swap(History *history) {
        if (!world_swap(history))
                return;
        check_after(history, ACTOR_HUGEPLAN);
        if (history->failure || chance(history, 20))
                return;
        trace(history, "      hugeplanctl reload");
        daemon_reload(history, chance(history, 15));
        check_after(history, ACTOR_HUGEPLAN);
}

static void change_around(History *history) {
        if (history->options->swaps_units && chance(history, 30))
                swap(history);
        if (history->options->hotplugs && chance(history, 25))
                hotplug(history);
        if (history->options->toggles_controller && chance(history, 20))
                toggle_controller(history);
        if (history->options->changes_cpusets && chance(history, 30))
                change_cpuset(history);
        if (history->options->fills_run && chance(history, 20)) {
                history->is_run_full = !history->is_run_full;
                history->is_ledger_old = true;
                model_root_fill(history->root, history->is_run_full ? "/run" : NULL);
                trace(history, "      /run is %s",
                      history->is_run_full ? "full" : "no longer full");
        }
}

void step(History *history) {
        enum { TRIES = 8 };

        history->now_usec += draw(history, 1, 60) * USEC_PER_SEC;
        trace(history, "step %u:", history->step);
        change_around(history);
        if (!history->options->maps_in_parts || !chance(history, 70) || !step_within(history))
                for (unsigned i = 0; i < TRIES && !try_step(history); i++)
                        ;
        trace_pools(history);
}
