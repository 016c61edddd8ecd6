/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* External changes since the last round, each reported once. */
#include "keeper/keeper_state.h"

/* Reports new drift, unless IS_QUIET, and remembers it while it persists. Returns whether any can be repaired. */
static bool report_drifts(Keeper *keeper, const Drifts *drifts, bool is_quiet) {
        Arena *arena = arena_new();
        SourceNames reported = {};
        bool is_repairable = false;

        VEC_FOREACH(drift, drifts) {
                const char *text = drift_format(arena, drift);
                bool is_new = !source_names_have(&keeper->drift.reported, text);

                is_repairable |= drift_wants_repair(drift);
                if (is_new && is_quiet)
                        continue;
                if (is_new && keeper->known.stage == KNOWN_SETTLED)
                        keeper_report_drift(keeper, drift);
                *vec_push(arena, &reported) = text;
        }
        arena_free(keeper->drift.arena);
        keeper->drift.arena = arena;
        keeper->drift.reported = reported;
        return is_repairable;
}

bool keeper_note_drift(Keeper *keeper, const Look *look) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const HostPlan nothing = {};
        /* Settings of a new plan differ from the host because they have not been written yet. */
        bool is_new_plan = keeper->reload.stage == RELOAD_TRYING;
        Drifts drifts = drift_find(scratch, keeper->known.look->plan, keeper->known.look->ledger,
                                   look->topology, is_new_plan ? &nothing : &look->host);
        bool wants_repair = report_drifts(keeper, &drifts, false);

        VEC_FOREACH(drift, &drifts)
                if (drift->kind == DRIFT_POOL_LOWERED || drift->kind == DRIFT_NODE_GONE)
                        moves_note_lowered(&keeper->moves, drift);
        return wants_repair || look->moved_pages > 0;
}

bool keeper_look_for_drift(Keeper *keeper) {
        Arena *arena = arena_new();
        Look *look = keeper_make_look(keeper, arena, NULL);
        bool wants_repair = look->fault.error == 0 && keeper_note_drift(keeper, look);
        /* A changed ledger, for example after the end of a unit, is saved: other processes read it from disk. */
        bool is_other = !ledger_equals(keeper->known.look->ledger, look->ledger);

        if (keeper_adopt(keeper, arena, look))
                keeper->known.is_unsaved = keeper->known.is_unsaved || is_other;
        return wants_repair;
}

void keeper_forget_drift(Keeper *keeper) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const Look *look = keeper->known.look;
        const Drifts left =
                drift_find(scratch, look->plan, look->ledger, look->topology, &look->host);

        report_drifts(keeper, &left, true);
}
