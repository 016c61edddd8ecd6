/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply/escalation.h"

#include "base/size.h"

enum {
        IDLE_ROUNDS_MAX = 2,
        IDLE_ROUNDS_WITH_CACHE_MAX = 3,
        ROUNDS_MAX = 64,
};

/* The first slice is 1 GiB; later ones are sized to take about this long. */
static const uint64_t slice_start_bytes = GIB;
static const uint64_t slice_usec = 200 * USEC_PER_MSEC;

static const unsigned reclaim_doublings_max = 3;

/* The levels of one round, in order; the escalation starts at LEVEL_WRITE. */
enum { LEVEL_DROP_CACHES, LEVEL_RECLAIM, LEVEL_COMPACT, LEVEL_WRITE };

Escalation escalation_new(Arena *arena, uint64_t page_size_bytes, uint64_t to_pages,
                          const EscalationOptions *options) {
        return (Escalation){
                .arena = arena,
                .page_size_bytes = page_size_bytes,
                .to_pages = to_pages,
                .options = *options,
                .level = LEVEL_WRITE,
                .slice_pages = MAX(slice_start_bytes / page_size_bytes, UINT64_C(1)),
        };
}

/* Returns the largest count that may be written now. */
static uint64_t clamp_target(const Escalation *escalation, const EscalationView *view) {
        uint64_t most = add_saturated(view->persistent_pages,
                                      view->room_bytes / escalation->page_size_bytes);

        return MIN(escalation->to_pages, most);
}

static bool can_reclaim(const Escalation *escalation, const EscalationView *view) {
        return escalation->options.may_reclaim && view->reclaimable_bytes > 0;
}

/* Begins another round and returns true, unless the limits above or the options end the escalation. */
static bool begin_round(Escalation *escalation, const EscalationView *view) {
        const EscalationOptions *options = &escalation->options;
        bool gained = view->persistent_pages > escalation->round_start_pages;
        unsigned idle_rounds_max = can_reclaim(escalation, view) ? IDLE_ROUNDS_WITH_CACHE_MAX
                                                                 : IDLE_ROUNDS_MAX;
        bool can_do = options->may_compact || options->may_reclaim || options->may_drop_caches;

        escalation->idle_rounds = escalation->n_rounds == 0 || gained ? 0
                                                                      : escalation->idle_rounds + 1;
        if (!can_do || escalation->n_rounds >= ROUNDS_MAX ||
            view->now_usec >= options->deadline_usec)
                return false;
        if (escalation->idle_rounds >= idle_rounds_max) {
                if (!options->may_drop_caches || escalation->has_dropped)
                        return false;
                escalation->idle_rounds = 0;
                escalation->level = LEVEL_DROP_CACHES;
        } else {
                escalation->level = LEVEL_RECLAIM;
        }
        escalation->n_rounds++;
        escalation->round_start_pages = view->persistent_pages;
        escalation->is_short = false;
        return true;
}

static EscalationMove next_write(Escalation *escalation, const EscalationView *view) {
        uint64_t target = clamp_target(escalation, view);

        if (target < escalation->to_pages)
                escalation->is_clamped = true;
        if (target <= view->persistent_pages)
                return (EscalationMove){ESCALATION_DONE, 0, 0};
        target = MIN(target, add_saturated(view->persistent_pages, escalation->slice_pages));
        return (EscalationMove){ESCALATION_WRITE, target, 0};
}

EscalationMove escalation_next(Escalation *escalation, const EscalationView *view) {
        uint64_t now = view->persistent_pages;
        const EscalationMove done = {ESCALATION_DONE, 0, 0};

        /* More than planned: others have added pages, which are theirs. */
        if (now >= escalation->to_pages || escalation->write_error < 0)
                return done;
        if (escalation->is_short && !begin_round(escalation, view))
                return done;

        uint64_t missing = mul_saturated(clamp_target(escalation, view) -
                                                 MIN(now, clamp_target(escalation, view)),
                                         escalation->page_size_bytes);

        if (missing == 0)
                return next_write(escalation, view);
        switch (escalation->level) {
        case LEVEL_DROP_CACHES:
                escalation->level = LEVEL_COMPACT;
                escalation->has_dropped = true;
                return (EscalationMove){ESCALATION_DROP_CACHES, 0, 0};
        case LEVEL_RECLAIM:
                escalation->level = LEVEL_COMPACT;
                /* Free memory needs only compaction, no reclaim; after a round without a gain the next round
                 * reclaims nevertheless. */
                if (can_reclaim(escalation, view) &&
                    (escalation->idle_rounds > 0 || view->free_bytes < 2 * missing)) {
                        /* Requests more each time, but at most what is reclaimable on the node. */
                        unsigned doublings = MIN(escalation->n_reclaims++, reclaim_doublings_max);
                        uint64_t bytes = mul_saturated(add_saturated(missing, missing / 8),
                                                       UINT64_C(1) << doublings);

                        return (EscalationMove){ESCALATION_RECLAIM, 0,
                                                MIN(bytes, view->reclaimable_bytes)};
                }
                __attribute__((fallthrough));
        case LEVEL_COMPACT:
                escalation->level = LEVEL_WRITE;
                if (escalation->options.may_compact)
                        return (EscalationMove){ESCALATION_COMPACT, 0, 0};
                __attribute__((fallthrough));
        default:
                return next_write(escalation, view);
        }
}

void escalation_report(Escalation *escalation, const EscalationMove *move,
                       const EscalationRecord *record) {
        uint64_t least = MAX(slice_start_bytes / 16 / escalation->page_size_bytes, UINT64_C(1));

        *vec_push(escalation->arena, &escalation->records) = *record;
        if (move->action != ESCALATION_WRITE)
                return;
        escalation->write_error = record->error;
        if (record->pages_after < move->pages)
                escalation->is_short = true;
        else if (record->usec < slice_usec / 4)
                escalation->slice_pages = mul_saturated(escalation->slice_pages, 8);
        else if (record->usec > slice_usec * 2)
                escalation->slice_pages = MAX(escalation->slice_pages / 4, least);
}
