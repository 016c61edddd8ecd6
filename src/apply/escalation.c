/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply/escalation.h"

#include "base/size.h"
#include "base/text.h"

#include <string.h>

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

        if (now == escalation->to_pages)
                return done;
        /* Giving pages back is one write, and is not repeated. */
        if (now > escalation->to_pages)
                return escalation->has_written
                               ? done
                               : (EscalationMove){ESCALATION_WRITE, escalation->to_pages, 0};
        if (escalation->write_error < 0)
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
        escalation->has_written = true;
        escalation->write_error = record->error;
        if (record->pages_after < move->pages)
                escalation->is_short = true;
        else if (record->usec < slice_usec / 4)
                escalation->slice_pages = mul_saturated(escalation->slice_pages, 8);
        else if (record->usec > slice_usec * 2)
                escalation->slice_pages = MAX(escalation->slice_pages / 4, least);
}

/* ---- evidence ---- */

uint64_t evidence_ready_pages(const Topology *topology, unsigned node_id,
                              uint64_t page_size_bytes) {
        const Node *node = topology_node(topology, node_id);
        uint64_t pages = 0;

        for (unsigned order = 0; node && order < BUDDY_ORDERS; order++) {
                uint64_t block_bytes = topology->base_page_bytes << order;

                if (block_bytes >= page_size_bytes)
                        pages += node->free_blocks[order] * (block_bytes / page_size_bytes);
        }
        return pages;
}

uint64_t evidence_largest_block_bytes(const Topology *topology, unsigned node_id) {
        const Node *node = topology_node(topology, node_id);

        for (unsigned order = BUDDY_ORDERS; node && order > 0; order--)
                if (node->free_blocks[order - 1] > 0)
                        return topology->base_page_bytes << (order - 1);
        return 0;
}

static Reason reason_of_error(Arena *arena, const Topology *now, const Shortfall *shortfall,
                              const char *what) {
        if (!topology_node(now, shortfall->node))
                return reason_make(arena, REASON_NODE_ABSENT,
                                   "bring the node's memory online, or name other nodes in Nodes=",
                                   "node %u disappeared while its pages were being reserved",
                                   shortfall->node);
        if (shortfall->error == -EINVAL)
                return reason_make(
                        arena, REASON_WRITE_FAILED,
                        "reserve these pages on the kernel command line (hugepagesz= and hugepages=)",
                        "%s: the kernel cannot reserve this page size at run time", what);
        return reason_make(arena, REASON_WRITE_FAILED,
                           shortfall->error == -EACCES || shortfall->error == -EPERM ||
                                           shortfall->error == -EROFS
                                   ? "run hugepland as root with /sys writable"
                                   : "see the kernel log",
                           "%s: the kernel refused the write: %s", what,
                           strerror(-shortfall->error));
}

/* Remaining page cache was protected from reclaim, or did not yield whole blocks. */
static const char *with_caches(Arena *arena, const char *remedy, const Node *node,
                               const Shortfall *shortfall, uint64_t missing_bytes) {
        if (!node || shortfall->may_drop_caches || node->reclaimable_bytes < missing_bytes)
                return remedy;
        return arena_printf(
                arena,
                "%s; or set DropCaches=yes in [Host] and reload: %s of the node are cache that reclaim did not free, for example because MemoryMin= protects it",
                remedy, format_size(arena, node->reclaimable_bytes));
}

Reason evidence_of_shortfall(Arena *arena, const Topology *now, const Shortfall *shortfall) {
        const char *what = arena_printf(arena, "node %u gave %s of %s pages of %s", shortfall->node,
                                        format_count(arena, shortfall->reached_pages),
                                        format_count(arena, shortfall->wanted_pages),
                                        format_page_size(arena, shortfall->page_size_bytes));
        const Node *node = topology_node(now, shortfall->node);
        uint64_t free_bytes = node ? node->free_bytes : 0;
        uint64_t missing = mul_saturated(shortfall->wanted_pages - shortfall->reached_pages,
                                         shortfall->page_size_bytes);

        if (shortfall->error < 0)
                return reason_of_error(arena, now, shortfall, what);
        if (shortfall->is_clamped || free_bytes < missing)
                return reason_make(
                        arena, REASON_NOT_ENOUGH_MEMORY,
                        with_caches(
                                arena,
                                "free memory on that node, allow more nodes, or reserve at boot before it fills",
                                node, shortfall, missing),
                        "%s: the node has %s free, and %s more would be needed", what,
                        format_size(arena, free_bytes), format_size(arena, missing));
        const char *tried = shortfall->n_rounds > 0
                                    ? arena_printf(arena, "%u %s of compaction",
                                                   shortfall->n_rounds,
                                                   shortfall->n_rounds == 1 ? "round" : "rounds")
                                    : "compaction is disabled, or there was no time for it";
        uint64_t listed_bytes = node && node->n_orders > 0
                                        ? now->base_page_bytes << (node->n_orders - 1)
                                        : UINT64_MAX;
        const char *remedy =
                with_caches(arena, "reboot so that the pages are reserved before memory fragments",
                            node, shortfall, missing);

        /* alloc_contig_pages() joins blocks; that none is listed says nothing of whether it could. */
        if (now->base_page_bytes > 0 && listed_bytes < shortfall->page_size_bytes)
                return reason_make(
                        arena, REASON_FRAGMENTED, remedy,
                        "%s: %s is free, and the kernel found no range of %s in it that it could "
                        "free (its lists of free blocks end at %s; %s)",
                        what, format_size(arena, free_bytes),
                        format_page_size(arena, shortfall->page_size_bytes),
                        format_size(arena, listed_bytes), tried);
        const char *blocks =
                now->base_page_bytes == 0
                        ? "the size of its blocks is not known"
                        : arena_printf(
                                  arena, "blocks for %s more, largest block %s",
                                  format_count(arena,
                                               evidence_ready_pages(now, shortfall->node,
                                                                    shortfall->page_size_bytes)),
                                  format_size(arena,
                                              evidence_largest_block_bytes(now, shortfall->node)));

        return reason_make(arena, REASON_FRAGMENTED, remedy,
                           "%s: %s is free but fragmented (%s; %s)", what,
                           format_size(arena, free_bytes), blocks, tried);
}
