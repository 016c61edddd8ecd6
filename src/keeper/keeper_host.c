/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is written besides the pools. */
#include "apply/guard.h"
#include "apply/host_apply.h"
#include "base/text.h"
#include "keeper/keeper_inside.h"
#include "model/names.h"
#include "model/problem.h"

#include <string.h>
#include <syslog.h>

static void tell_set(const Keeper *keeper, const char *text) {
        keeper->listener(keeper->userdata,
                         &(KeeperEvent){.level = LOG_INFO, .what = HISTORY_SET, .text = text});
}

/* As long as a reload may be taken back. What it has found counts, not what it has set meanwhile. */
static void note_for_undo(Keeper *keeper, const HostWrites *writes) {
        Reload *reload = &keeper->reload;

        if (reload->stage != RELOAD_TRYING)
                return;
        VEC_FOREACH(write, writes)
                if (write->before &&
                    !VEC_ANY(known, &reload->undo, text_equals(known->path, write->path)))
                        *vec_push(reload->arena, &reload->undo) =
                                (HostWrite){.path = arena_strdup(reload->arena, write->path),
                                            .value = arena_strdup(reload->arena, write->before),
                                            .before = arena_strdup(reload->arena, write->value)};
}

void keeper_undo_host(Keeper *keeper) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *path = NULL;
        int r = host_writes_apply(keeper->root, &keeper->reload.undo, &path);

        keeper->reload.undo = (HostWrites){};
        if (r < 0)
                keeper_tell(keeper, LOG_WARNING, NULL,
                            arena_printf(arena, "cannot set %s back: %s", path, strerror(-r)));
}

/* False: not all could be written. */
static bool write_host(Keeper *keeper, const HostWrites *writes, ProblemKind kind,
                       const char *remedy) {
        const char *path = NULL;

        note_for_undo(keeper, writes);
        int r = host_writes_apply(keeper->root, writes, &path);

        if (r < 0)
                problem_add(
                        &keeper->look->host_problems, SEVERITY_ERROR, kind, NULL,
                        arena_printf(keeper->look_arena, "cannot set %s: %s", path, strerror(-r)),
                        remedy);
        return r == 0;
}

void keeper_set_host(Keeper *keeper, const HostPlan *plan) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (write_host(keeper, &plan->thp.writes, PROBLEM_THP_WRITE,
                       "run hugepland as root with /sys writable, or write "
                       "TransparentHugePages=keep") &&
            plan->thp.writes.n > 0)
                tell_set(keeper, arena_printf(arena, "transparent huge pages are now '%s'",
                                              thp_policy_name(plan->thp.policy)));
        if (write_host(keeper, &plan->limits, PROBLEM_LIMIT_WRITE,
                       "run hugepland as root with /proc/sys writable"))
                VEC_FOREACH(write, &plan->limits)
                        tell_set(keeper,
                                 arena_printf(arena, "%s is now %s", write->path, write->value));
}

void keeper_guard_pool(const Keeper *keeper) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Topology *now = keeper->look->topology;
        const Plan *plan = keeper->look->plan;
        int i = topology_page_size_index(now, now->default_page_size_bytes);
        bool is_used = ARRAY_FIND(pool, plan->pools, plan->n_pools,
                                  pool->granted_pages > 0 &&
                                          pool->page_size_bytes == now->default_page_size_bytes);
        int r = is_used && i >= 0
                        ? guard_write(keeper->root, page_size_persistent_pages(&now->page_sizes[i]))
                        : guard_remove(keeper->root);

        if (r < 0)
                keeper_tell(keeper, LOG_WARNING, NULL,
                            arena_printf(arena, "cannot keep " PATH_SYSCTL_GUARD " up to date: %s",
                                         strerror(-r)));
}
