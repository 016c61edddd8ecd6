/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/ladder.h"

#include "base/size.h"

enum {
        IDLE_ROUNDS_MAX = 2,
        IDLE_ROUNDS_WITH_CACHE_MAX = 3,
        ROUNDS_MAX = 64,
};

/* A slice starts at 1 GiB and is fitted to take about this long. */
static const uint64_t slice_start_bytes = GIB;
static const uint64_t slice_usec = 200 * USEC_PER_MSEC;

static const unsigned reclaim_doublings_max = 3;

/* The rungs of one round, in order; RUNG_WRITE is where everything starts. */
enum { RUNG_DROP_CACHES, RUNG_RECLAIM, RUNG_COMPACT, RUNG_WRITE };

const char *ladder_action_name(LadderAction action) {
        static const char *const names[] = {
                [LADDER_WRITE] = "write",     [LADDER_RECLAIM] = "reclaim",
                [LADDER_COMPACT] = "compact", [LADDER_DROP_CACHES] = "drop-caches",
                [LADDER_DEMOTE] = "demote",   [LADDER_DONE] = "done",
        };

        return names[action];
}

Ladder ladder_new(Arena *arena, uint64_t page_size_bytes, uint64_t to_pages,
                  const LadderOptions *options) {
        return (Ladder){
                .arena = arena,
                .page_size_bytes = page_size_bytes,
                .to_pages = to_pages,
                .options = *options,
                .rung = RUNG_WRITE,
                .slice_pages = MAX(slice_start_bytes / page_size_bytes, UINT64_C(1)),
        };
}

/* The most that may be asked for now. */
static uint64_t clamp_target(const Ladder *ladder, const LadderView *view) {
        uint64_t most =
                add_saturated(view->persistent_pages, view->room_bytes / ladder->page_size_bytes);

        return MIN(ladder->to_pages, most);
}

static bool can_reclaim(const Ladder *ladder, const LadderView *view) {
        return ladder->options.may_reclaim && view->reclaimable_bytes > 0;
}

/* Begins another round, if there is a reason to. */
static bool begin_round(Ladder *ladder, const LadderView *view) {
        const LadderOptions *options = &ladder->options;
        bool gained = view->persistent_pages > ladder->round_start_pages;
        unsigned idle_rounds_max = can_reclaim(ladder, view) ? IDLE_ROUNDS_WITH_CACHE_MAX
                                                             : IDLE_ROUNDS_MAX;
        bool can_do = options->may_compact || options->may_reclaim || options->may_drop_caches;

        ladder->idle_rounds = ladder->n_rounds == 0 || gained ? 0 : ladder->idle_rounds + 1;
        if (!can_do || ladder->n_rounds >= ROUNDS_MAX || view->now_usec >= options->deadline_usec)
                return false;
        if (ladder->idle_rounds >= idle_rounds_max) {
                if (!options->may_drop_caches || ladder->has_dropped)
                        return false;
                ladder->idle_rounds = 0;
                ladder->rung = RUNG_DROP_CACHES;
        } else {
                ladder->rung = RUNG_RECLAIM;
        }
        ladder->n_rounds++;
        ladder->round_start_pages = view->persistent_pages;
        ladder->is_short = false;
        return true;
}

static LadderMove next_write(Ladder *ladder, const LadderView *view) {
        uint64_t target = clamp_target(ladder, view);

        if (target < ladder->to_pages)
                ladder->is_clamped = true;
        if (target <= view->persistent_pages)
                return (LadderMove){LADDER_DONE, 0, 0};
        target = MIN(target, add_saturated(view->persistent_pages, ladder->slice_pages));
        return (LadderMove){LADDER_WRITE, target, 0};
}

/* Memory that is free already needs no reclaim, only compaction; if that brought nothing, the
 * next round reclaims all the same. */
static bool wants_reclaim(const Ladder *ladder, const LadderView *view, uint64_t missing_bytes) {
        return can_reclaim(ladder, view) &&
               (ladder->idle_rounds > 0 || view->free_bytes < 2 * missing_bytes);
}

/* More each time, but no more than the node has to give. */
static LadderMove next_reclaim(Ladder *ladder, const LadderView *view, uint64_t missing_bytes) {
        uint64_t bytes = add_saturated(missing_bytes, missing_bytes / 8);

        bytes = mul_saturated(bytes, UINT64_C(1) << MIN(ladder->n_reclaims, reclaim_doublings_max));
        ladder->n_reclaims++;
        return (LadderMove){LADDER_RECLAIM, 0, MIN(bytes, view->reclaimable_bytes)};
}

LadderMove ladder_next(Ladder *ladder, const LadderView *view) {
        uint64_t now = view->persistent_pages;
        const LadderMove done = {LADDER_DONE, 0, 0};

        if (now == ladder->to_pages)
                return done;
        if (now > ladder->to_pages) /* giving back needs no effort, and is not tried twice */
                return ladder->has_written ? done : (LadderMove){LADDER_WRITE, ladder->to_pages, 0};
        if (ladder->write_error < 0)
                return done;
        if (ladder->is_short && !begin_round(ladder, view))
                return done;

        uint64_t missing =
                mul_saturated(clamp_target(ladder, view) - MIN(now, clamp_target(ladder, view)),
                              ladder->page_size_bytes);

        if (missing == 0)
                return next_write(ladder, view);
        switch (ladder->rung) {
        case RUNG_DROP_CACHES:
                ladder->rung = RUNG_COMPACT;
                ladder->has_dropped = true;
                return (LadderMove){LADDER_DROP_CACHES, 0, 0};
        case RUNG_RECLAIM:
                ladder->rung = RUNG_COMPACT;
                if (wants_reclaim(ladder, view, missing))
                        return next_reclaim(ladder, view, missing);
                __attribute__((fallthrough));
        case RUNG_COMPACT:
                ladder->rung = RUNG_WRITE;
                if (ladder->options.may_compact)
                        return (LadderMove){LADDER_COMPACT, 0, 0};
                __attribute__((fallthrough));
        default:
                return next_write(ladder, view);
        }
}

/* So many pages that the next slice takes about slice_usec. */
static void fit_slice(Ladder *ladder, const LadderRecord *record) {
        uint64_t least = MAX(slice_start_bytes / 16 / ladder->page_size_bytes, UINT64_C(1));

        if (record->usec < slice_usec / 4)
                ladder->slice_pages = mul_saturated(ladder->slice_pages, 8);
        else if (record->usec > slice_usec * 2)
                ladder->slice_pages = MAX(ladder->slice_pages / 4, least);
}

void ladder_report(Ladder *ladder, const LadderMove *move, const LadderRecord *record) {
        *vec_push(ladder->arena, &ladder->records) = *record;
        if (move->action != LADDER_WRITE)
                return;
        ladder->has_written = true;
        ladder->write_error = record->error;
        if (record->pages_after < move->pages)
                ladder->is_short = true;
        else
                fit_slice(ladder, record);
}
