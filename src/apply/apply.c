/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply/apply.h"

#include "base/size.h"
#include "host/host_use.h"
#include "host/probe.h"
#include "model/names.h"
#include "plan/promise/balance.h"

#include <string.h>

struct Apply {
        Arena *arena;
        ApplyInput input;
        ApplyResult *results;
        size_t n_results;
        size_t current;
        /* Kernels before 6.7, except stable kernels with the fix, add the surplus pages of the other nodes
         * to the count that is written to a node's file. */
        bool adds_surplus;
        uint64_t adopted_bytes;
};

Apply *apply_new(Arena *arena, const ApplyInput *input) {
        const HostConfig *host = &input->config->host;
        const Topology *topology = input->topology;
        Apply *apply = ARENA_NEW(arena, Apply);
        PlanSteps steps = plan_steps(arena, input->plan);

        *apply = (Apply){.arena = arena,
                         .input = *input,
                         .results = ARENA_ARRAY(arena, ApplyResult, steps.n),
                         .adds_surplus = topology_kernel_is_older(topology, 6, 7)};
        VEC_FOREACH(step, &steps) {
                const Node *node = topology_node(topology, step->pool->node);
                const EscalationOptions options = {
                        .may_compact = host->may_compact && node->can_compact,
                        .may_reclaim = host->may_reclaim &&
                                       (node->can_reclaim || topology->can_reclaim),
                        .may_drop_caches = host->may_drop_caches,
                        .deadline_usec = input->deadline_usec,
                };

                apply->results[apply->n_results++] = (ApplyResult){
                        .step = *step,
                        .reached_pages = step->from_pages,
                        .escalation = escalation_new(arena, step->pool->page_size_bytes,
                                                     step->to_pages, &options),
                };
        }
        return apply;
}

/* Reads the counts of the pool, and the node's memory and room, which is calculated as in the plan. */
static int look_once(const Apply *apply, ApplyResult *result, uint64_t now_usec,
                     EscalationView *ret) {
        const PlanPool *pool = result->step.pool;
        Node node = *topology_node(apply->input.topology, pool->node);
        Pool now;
        int r = probe_pool(apply->input.root, apply->input.topology, pool->node,
                           pool->page_size_bytes, &now);

        if (r < 0)
                return r;
        r = probe_node_memory(apply->input.root, apply->input.topology, &node);
        if (r < 0)
                return r;
        result->reached_pages = pool_persistent_pages(&now);
        *ret = (EscalationView){
                .persistent_pages = result->reached_pages,
                /* Surplus pages become persistent before new pages are allocated, and need no memory. */
                .room_bytes =
                        add_saturated(plan_node_room_bytes(&apply->input.config->host, &node),
                                      mul_saturated(now.surplus_pages, pool->page_size_bytes)),
                .free_bytes = node.free_bytes,
                .reclaimable_bytes = node.reclaimable_bytes,
                .now_usec = now_usec,
        };
        return 0;
}

/* Returns whether the kernel would misinterpret a count written to the pool's node, because of surplus pages, and sets
 * *RET_TOTAL to the pages of that size on all nodes. Returns false if some counts cannot be read.
 * Kernels before 6.7 add the surplus pages of the other nodes to the count. From 6.7 on, a node with more surplus pages
 * than pages makes the calculation overflow, and the kernel allocates all memory. A node gets into this state when the
 * kernel shrinks a pool: it frees pages of a node without regard to the node's surplus count (mm/hugetlb.c,
 * __nr_hugepages_store_common(); see the same function in tests/model). */
static bool is_miscounted(const Apply *apply, const PlanPool *pool, uint64_t *ret_total) {
        bool is_crooked = false;
        Pool now;

        *ret_total = 0;
        ARRAY_FOREACH(node, apply->input.topology->nodes, apply->input.topology->n_nodes) {
                if (!topology_pool(apply->input.topology, node->id, pool->page_size_bytes))
                        continue;
                if (probe_pool(apply->input.root, apply->input.topology, node->id,
                               pool->page_size_bytes, &now) < 0)
                        return false;
                *ret_total += now.total_pages;
                is_crooked |= apply->adds_surplus ? node->id != pool->node && now.surplus_pages > 0
                                                  : now.surplus_pages > now.total_pages;
        }
        return is_crooked;
}

/* Sets the pool's persistent count to PAGES. If the kernel would misinterpret the count, the host-wide count, which it
 * never misinterprets, is set to the present total instead: surplus pages become persistent, and no pages are added or
 * removed. PAGES is not written afterwards, because it was planned for other counts. */
static void set_count(const Apply *apply, const ApplyResult *result, uint64_t pages,
                      ApplyOperation *operation) {
        const PlanPool *pool = result->step.pool;
        uint64_t total;

        operation->is_adopting_surplus = is_miscounted(apply, pool, &total);
        operation->path = operation->is_adopting_surplus
                                  ? page_size_path(apply->arena, PATH_HUGEPAGES,
                                                   pool->page_size_bytes, "nr_hugepages")
                                  : topology_pool_path(apply->arena, apply->input.topology,
                                                       pool->node, pool->page_size_bytes,
                                                       "nr_hugepages");
        operation->text = arena_printf(apply->arena, "%" PRIu64 "\n",
                                       operation->is_adopting_surplus ? total : pages);
}

static ApplyOperation make_operation(const Apply *apply, const ApplyResult *result,
                                     const EscalationMove *move) {
        Arena *arena = apply->arena;
        const PlanPool *pool = result->step.pool;
        bool can_reclaim = topology_node(apply->input.topology, pool->node)->can_reclaim;
        ApplyOperation operation = {
                .move = *move,
                .node = pool->node,
                .page_size_bytes = pool->page_size_bytes,
                .pages_before = result->reached_pages,
        };

        switch (move->action) {
        case ESCALATION_WRITE:
                set_count(apply, result, move->pages, &operation);
                break;
        case ESCALATION_DEMOTE:
                operation.path = topology_pool_path(arena, apply->input.topology, pool->node,
                                                    pool->page_size_bytes, "demote");
                operation.text = arena_printf(arena, "%" PRIu64 "\n", move->pages);
                break;
        case ESCALATION_RECLAIM:
                /* The node's file if the kernel has it (since 6.17), otherwise the root cgroup's. Nothing may be
                 * swapped out. Older kernels reject swappiness= and the write; swappiness= is left out if there is no
                 * swap. */
                operation.path = can_reclaim ? node_path(arena, pool->node, "reclaim")
                                             : PATH_CGROUP_RECLAIM;
                operation.text = arena_printf(arena, "%" PRIu64 "%s\n", move->bytes,
                                              can_reclaim || apply->input.topology->swap_bytes > 0
                                                      ? " swappiness=0"
                                                      : "");
                break;
        case ESCALATION_COMPACT:
                operation.path = apply->input.topology->is_numa
                                         ? node_path(arena, pool->node, "compact")
                                         : PATH_COMPACT;
                operation.text = "1";
                break;
        default:
                operation.path = PATH_DROP_CACHES;
                operation.text = "1";
                break;
        }
        return operation;
}

/* Returns the present balance of the pool's page size, or NULL if that is not known; then no pages may be given back.
 * Pages may have been mapped since the plan was made, so the balance is read immediately before pages are given back, and
 * again afterwards. */
static Balance *look_at_promises(const Apply *apply, Arena *arena, const PlanPool *pool,
                                 size_t *ret_node) {
        const Root *root = apply->input.root;
        unsigned n_tries = 0;
        Balance *balance;
        int r;

        root_forget_fault(root);
        do {
                Topology *now = probe_topology_again(root, arena, apply->input.config,
                                                     apply->input.topology);
                int k = topology_page_size_index(now, pool->page_size_bytes);

                balance = NULL;
                *ret_node = topology_node_index(now, pool->node);
                if (k >= 0 && *ret_node < now->n_nodes) {
                        const PlanInput input = {
                                .host = &apply->input.config->host,
                                .demand = apply->input.plan->demand,
                                .topology = now,
                                .ledger = apply->input.ledger,
                                .use = host_use_read(root, arena, apply->input.config,
                                                     apply->input.ledger, now),
                                .starting = apply->input.starting,
                        };

                        balance = balance_new(arena, &plan_promises(arena, &input)[k],
                                              topology_free_pages(arena, now, (size_t) k), false);
                }
                r = root_fault(root, arena).error;
        } while (root_try_again(root, r, &n_tries));
        root_drop_fault(root);
        return r == 0 ? balance : NULL;
}

/* Gives back the pages that are not promised, in one write. A second write restores pages that were promised
 * at that moment. */
static EscalationMove next_lowering(const Apply *apply, ApplyResult *result,
                                    const EscalationView *view) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const EscalationMove done = {ESCALATION_DONE, 0, 0};
        const PlanPool *pool = result->step.pool;
        uint64_t now_pages = view->persistent_pages;
        Pool now = {};
        size_t node;

        bool has_lowered = result->escalation.records.n > 0;

        if (result->escalation.records.n > 1 ||
            (!has_lowered && now_pages <= result->step.to_pages))
                return done;
        Balance *balance = look_at_promises(apply, arena, pool, &node);

        if (!balance)
                return done;
        if (has_lowered) {
                /* Pages that became promised during the write are surplus pages now; the kernel makes them
                 * persistent again before it allocates new ones. */
                probe_pool(apply->input.root, apply->input.topology, pool->node,
                           pool->page_size_bytes, &now);
                uint64_t missing = balance_missing_pages(balance, node);
                uint64_t pages =
                        MIN(now_pages + now.surplus_pages + missing, result->step.from_pages);

                return missing > 0 && pages > now_pages
                               ? (EscalationMove){ESCALATION_WRITE, pages, 0}
                               : done;
        }
        uint64_t fewer = MIN(now_pages - result->step.to_pages, balance_spare_pages(balance, node));

        return fewer > 0 ? (EscalationMove){ESCALATION_WRITE, now_pages - fewer, 0} : done;
}

bool apply_next(Apply *apply, uint64_t now_usec, ApplyOperation *ret) {
        for (; apply->current < apply->n_results && apply->adopted_bytes == 0; apply->current++) {
                ApplyResult *result = &apply->results[apply->current];
                EscalationView view;
                unsigned n_tries = 0;
                int r;

                do
                        r = look_once(apply, result, now_usec, &view);
                while (root_try_again(apply->input.root, r, &n_tries));
                if (r < 0) {
                        result->error = r;
                        result->is_unread = error_is_fault(r);
                        if (!result->is_unread)
                                result->reached_pages = 0;
                        result->is_finished = true;
                        continue;
                }
                const PlanStep *step = &result->step;
                EscalationMove move = {ESCALATION_DONE, 0, 0};

                /* Demoting is one write, and is not repeated. */
                if (step->demote_to_bytes > 0 && result->escalation.records.n == 0)
                        move = (EscalationMove){ESCALATION_DEMOTE,
                                                step->from_pages - step->to_pages, 0};
                else if (step->demote_to_bytes == 0)
                        move = step->to_pages < step->from_pages
                                       ? next_lowering(apply, result, &view)
                                       : escalation_next(&result->escalation, &view);
                if (move.action != ESCALATION_DONE) {
                        *ret = make_operation(apply, result, &move);
                        return true;
                }
                result->error = result->escalation.write_error;
                result->is_finished = true;
        }
        return false;
}

int apply_perform(const Root *root, const ApplyOperation *operation) {
        return root_write_attribute(root, operation->path, operation->text);
}

uint64_t apply_adopted_bytes(const Apply *apply) {
        return apply->adopted_bytes;
}

void apply_done(Apply *apply, const ApplyOperation *operation, int error, uint64_t usec) {
        ApplyResult *result = &apply->results[apply->current];
        const PlanPool *pool = result->step.pool;
        Pool now;

        if (operation->is_adopting_surplus && error == 0) {
                apply->adopted_bytes = pool->page_size_bytes;
                result->is_unread = true;
                return;
        }
        /* Without this write no count of the page size can be written: the pool is left as it is. */
        if (operation->is_adopting_surplus) {
                result->error = error;
                result->is_finished = true;
                apply->current++;
                return;
        }
        if (probe_pool(apply->input.root, apply->input.topology, pool->node, pool->page_size_bytes,
                       &now) == 0)
                result->reached_pages = pool_persistent_pages(&now);
        /* EAGAIN means that less than requested was reclaimed, which the next look at the node shows. */
        if (operation->move.action == ESCALATION_RECLAIM && error == -EAGAIN)
                error = 0;
        if (operation->move.action == ESCALATION_DEMOTE)
                result->demoted_pages = sub_floored(operation->pages_before, result->reached_pages);
        escalation_report(&result->escalation, &operation->move,
                          &(EscalationRecord){.action = operation->move.action,
                                              .pages_before = operation->pages_before,
                                              .pages_after = result->reached_pages,
                                              .usec = usec,
                                              .error = error});
}

void apply_stop_early(Apply *apply) {
        for (size_t i = apply->current; i < apply->n_results; i++)
                apply->results[i].escalation.options.deadline_usec = 0;
}

const ApplyResult *apply_results(const Apply *apply, size_t *ret_n) {
        *ret_n = apply->n_results;
        return apply->results;
}

void apply_progress(const Apply *apply, uint64_t *ret_done_pages, uint64_t *ret_all_pages) {
        *ret_done_pages = *ret_all_pages = 0;
        ARRAY_FOREACH(result, apply->results, apply->n_results) {
                const PlanStep *step = &result->step;
                uint64_t all = sub_floored(step->to_pages, step->from_pages);

                *ret_all_pages += all;
                *ret_done_pages += MIN(sub_floored(result->reached_pages, step->from_pages), all);
        }
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

static Reason reason_of_error(Arena *arena, const Topology *now, const ApplyResult *result,
                              const char *what) {
        if (!topology_node(now, result->step.pool->node))
                return reason_make(arena, REASON_NODE_ABSENT,
                                   "bring the node's memory online, or name other nodes in Nodes=",
                                   "node %u disappeared while its pages were being reserved",
                                   result->step.pool->node);
        if (result->error == -EINVAL)
                return reason_make(
                        arena, REASON_WRITE_FAILED,
                        "reserve these pages on the kernel command line (hugepagesz= and hugepages=); a partition of POWER must have those of 16G from its firmware (HMC: Huge Page Memory)",
                        "%s: the kernel cannot reserve this page size at run time", what);
        return reason_make(arena, REASON_WRITE_FAILED,
                           result->error == -EACCES || result->error == -EPERM ||
                                           result->error == -EROFS
                                   ? "run hugepland as root with /sys writable"
                                   : "see the kernel log",
                           "%s: the kernel refused the write: %s", what, strerror(-result->error));
}

/* Remaining page cache was protected from reclaim, or did not yield whole blocks. */
static const char *with_caches(Arena *arena, const char *remedy, const Node *node,
                               const ApplyResult *result, uint64_t missing_bytes) {
        if (!node || result->escalation.options.may_drop_caches ||
            node->reclaimable_bytes < missing_bytes)
                return remedy;
        return arena_printf(
                arena,
                "%s; or set DropCaches=yes in [Host] and reload: %s of the node are cache that reclaim did not free, for example because MemoryMin= protects it",
                remedy, format_size(arena, node->reclaimable_bytes));
}

Reason evidence_of_shortfall(Arena *arena, const Topology *now, const ApplyResult *result) {
        const PlanPool *pool = result->step.pool;
        const char *what = arena_printf(
                arena, "node %u gave %s of %s", pool->node,
                format_count(arena, result->reached_pages),
                format_page_count(arena, result->step.to_pages, pool->page_size_bytes));
        const Node *node = topology_node(now, pool->node);
        uint64_t free_bytes = node ? node->free_bytes : 0;
        uint64_t missing =
                mul_saturated(result->step.to_pages - result->reached_pages, pool->page_size_bytes);

        if (result->error < 0)
                return reason_of_error(arena, now, result, what);
        if (result->escalation.is_clamped || free_bytes < missing)
                return reason_make(
                        arena, REASON_NOT_ENOUGH_MEMORY,
                        with_caches(
                                arena,
                                "free memory on that node, allow more nodes, or reserve at boot before it fills",
                                node, result, missing),
                        "%s: the node has %s free, and %s more would be needed", what,
                        format_size(arena, free_bytes), format_size(arena, missing));
        const char *tried =
                result->escalation.n_rounds > 0
                        ? arena_printf(arena, "%u %s of compaction", result->escalation.n_rounds,
                                       result->escalation.n_rounds == 1 ? "round" : "rounds")
                        : "compaction is disabled, or there was no time for it";
        uint64_t listed_bytes = node && node->n_orders > 0
                                        ? now->base_page_bytes << (node->n_orders - 1)
                                        : UINT64_MAX;
        const char *remedy =
                with_caches(arena, "reboot so that the pages are reserved before memory fragments",
                            node, result, missing);

        /* alloc_contig_pages() joins blocks; that none is listed says nothing of whether it could. */
        if (now->base_page_bytes > 0 && listed_bytes < pool->page_size_bytes)
                return reason_make(
                        arena, REASON_FRAGMENTED, remedy,
                        "%s: %s is free, and the kernel found no range of %s in it that it could "
                        "free (its lists of free blocks end at %s; %s)",
                        what, format_size(arena, free_bytes),
                        format_page_size(arena, pool->page_size_bytes),
                        format_size(arena, listed_bytes), tried);
        const char *blocks =
                now->base_page_bytes == 0
                        ? "the size of its blocks is not known"
                        : arena_printf(
                                  arena, "blocks for %s more, largest block %s",
                                  format_count(arena, evidence_ready_pages(now, pool->node,
                                                                           pool->page_size_bytes)),
                                  format_size(arena,
                                              evidence_largest_block_bytes(now, pool->node)));

        return reason_make(arena, REASON_FRAGMENTED, remedy,
                           "%s: %s is free but fragmented (%s; %s)", what,
                           format_size(arena, free_bytes), blocks, tried);
}

/* ---- limits ---- */

PoolLimits apply_limits(Arena *arena, const Apply *apply, const Topology *now) {
        PoolLimits limits = {};

        ARRAY_FOREACH(result, apply->results, apply->n_results) {
                const PlanStep *step = &result->step;
                bool is_demotion = step->demote_to_bytes > 0;
                PoolLimit limit = {
                        .node = step->pool->node,
                        .page_size_bytes = step->pool->page_size_bytes,
                };

                if (!result->is_finished || result->is_unread)
                        continue;
                if (is_demotion) {
                        limit.cannot_demote = result->demoted_pages <
                                              step->from_pages - step->to_pages;
                } else if (result->reached_pages < step->to_pages) {
                        limit.persistent_pages = result->reached_pages;
                        limit.reason = evidence_of_shortfall(arena, now, result);
                }
                if (limit.cannot_demote || limit.reason.kind != REASON_NONE)
                        *vec_push(arena, &limits) = limit;
        }
        return limits;
}
