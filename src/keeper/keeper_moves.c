/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/keeper_state.h"

#include "base/text.h"

#include <string.h>
#include <syslog.h>

void moves_begin(Moves *moves) {
        VEC_FOREACH(move, &moves->list)
                *move = (PoolMove){.node = move->node,
                                   .page_size_bytes = move->page_size_bytes,
                                   .lost_pages = move->lowered_pages,
                                   .reported_wanted_pages = move->reported_wanted_pages,
                                   .reported_best_pages = move->reported_best_pages};
}

static PoolMove *find_or_add(Moves *moves, unsigned node, uint64_t page_size_bytes) {
        PoolMove *move = VEC_FIND(each, &moves->list,
                                  each->node == node && each->page_size_bytes == page_size_bytes);

        if (move)
                return move;
        move = vec_push(moves->arena, &moves->list);
        *move = (PoolMove){.node = node, .page_size_bytes = page_size_bytes};
        return move;
}

void moves_note_lowered(Moves *moves, const Drift *drift) {
        PoolMove *move = find_or_add(moves, drift->node, drift->page_size_bytes);

        move->lowered_pages = move->is_lowered ? move->lowered_pages : drift->expected_pages;
        move->is_lowered = true;
}

bool keeper_has_lost_pages(const Keeper *keeper) {
        VEC_FOREACH(move, &keeper->moves.list) {
                const Pool *pool = topology_pool(keeper->known.look->topology, move->node,
                                                 move->page_size_bytes);

                if (move->is_lowered &&
                    (!pool || pool_persistent_pages(pool) < move->lowered_pages))
                        return true;
        }
        return false;
}

void moves_note(Moves *moves, const ApplyResult *result) {
        const PlanPool *pool = result->step.pool;
        PoolMove *move = find_or_add(moves, pool->node, pool->page_size_bytes);

        if (!move->has_begun)
                move->from_pages = move->pages = result->step.from_pages;
        move->has_begun = true;
        if (result->step.to_pages > result->step.from_pages)
                move->wanted_pages = MAX(move->wanted_pages, result->step.to_pages);
        VEC_FOREACH(record, &result->escalation.records) {
                move->n_tries[record->action]++;
                move->usec += record->usec;
                move->best_pages = MAX(move->best_pages, record->pages_after);
                if (record->error < 0)
                        move->error = record->error;
        }
        if (result->error < 0)
                move->error = result->error;
        if (!result->is_unread)
                move->pages = result->reached_pages;
        if (!result->is_unread && result->step.to_pages < result->step.from_pages)
                move->given_pages += sub_floored(result->step.from_pages, result->reached_pages);
        move->best_pages = MAX(move->best_pages, move->pages);
}

static HistoryEvent judge_move(const PoolMove *move) {
        if (move->best_pages < move->wanted_pages)
                return HISTORY_SHORT;
        /* For example, memory of the node was taken offline while pages were being reserved. */
        if (move->pages < move->from_pages)
                return move->given_pages > 0 ? HISTORY_GIVEN_BACK : HISTORY_DRIFT;
        if (move->pages == move->from_pages)
                return HISTORY_NONE;
        return move->lost_pages > 0 && move->pages >= move->lost_pages ? HISTORY_REPAIRED
                                                                       : HISTORY_RESERVED;
}

/* Returns "node 0: 12 pages of 2M (24M) reserved (before: 3); write x 38, reclaim x 2 in 12s: Input/output error". */
static char *describe_move(Arena *arena, const PoolMove *move, HistoryEvent what) {
        uint64_t size = move->page_size_bytes;
        const char *pages = format_count(arena, move->pages);
        Text text = text_in(arena), tries = text_in(arena);

        text_printf(&text, "node %u: ", move->node);
        if (what == HISTORY_SHORT)
                text_printf(&text, "%s of %s could be reserved, the pool has %s",
                            format_count(arena, move->best_pages),
                            format_page_count(arena, move->wanted_pages, size), pages);
        else if (what == HISTORY_GIVEN_BACK)
                text_printf(&text, "%s given back, the pool has %s",
                            format_page_count(arena, move->from_pages - move->pages, size), pages);
        else
                text_printf(&text, "%s %s (before: %s)",
                            format_page_count_and_size(arena, move->pages, size),
                            what == HISTORY_REPAIRED ? "reserved again" : "reserved",
                            format_count(arena, move->from_pages));
        for (int i = 0; i < ESCALATION_DONE; i++)
                if (move->n_tries[i] > 0)
                        text_add_item(&tries,
                                      arena_printf(arena, "%s x %u",
                                                   escalation_action_name((EscalationAction) i),
                                                   move->n_tries[i]));
        text_printf(&text, "; %s in %s", text_string(&tries), format_duration(arena, move->usec));
        if (move->error < 0)
                text_printf(&text, ": %s", strerror(-move->error));
        return text.string;
}

void keeper_report_moves(Keeper *keeper) {
        VEC_FOREACH(move, &keeper->moves.list) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                HistoryEvent what = judge_move(move);
                bool is_short = what == HISTORY_SHORT;

                if (!move->has_begun)
                        continue;
                /* A shortage is tried again and again, but reported again only if its figures have changed. */
                bool was_reported = is_short && move->reported_wanted_pages == move->wanted_pages &&
                                    move->reported_best_pages == move->best_pages;

                move->reported_wanted_pages = is_short ? move->wanted_pages : 0;
                move->reported_best_pages = is_short ? move->best_pages : 0;
                if (what == HISTORY_DRIFT) {
                        keeper_report_drift(keeper,
                                            &(Drift){.kind = DRIFT_POOL_LOWERED,
                                                     .node = move->node,
                                                     .page_size_bytes = move->page_size_bytes,
                                                     .expected_pages = MAX(move->from_pages,
                                                                           move->wanted_pages),
                                                     .found_pages = move->pages});
                        continue;
                }
                if (was_reported || what == HISTORY_NONE)
                        continue;
                const HistoryEntry entry = {
                        .text = describe_move(arena, move, what),
                        .figures = {.node = HISTORY_NUMBER(move->node),
                                    .page_size_bytes = HISTORY_NUMBER(move->page_size_bytes),
                                    .pages_before = HISTORY_NUMBER(move->from_pages),
                                    .pages = HISTORY_NUMBER(move->pages),
                                    .pages_wanted = {move->wanted_pages > 0, move->wanted_pages}},
                };

                keeper_report_event(keeper, is_short ? LOG_WARNING : LOG_INFO, what, entry);
        }
}
