/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "apply/apply.h"

#include "base/size.h"
#include "base/text.h"
#include "escalation/evidence.h"
#include "host/host_use.h"
#include "host/probe.h"
#include "model/names.h"
#include "promise/balance.h"

#include <signal.h>

struct Apply {
        Arena *arena;
        ApplyInput input;
        ApplyResult *results;
        size_t n_results;
        size_t current;
        /* Before 6.7 (and the stable kernels that took the fix), the kernel adds the surplus pages of
         * the other nodes to what is written to a node's file. */
        bool adds_surplus;
        uint64_t straightened_bytes;
};

static ApplyResult new_result(const Apply *apply, const PlanStep *step, uint64_t deadline_usec) {
        const PlanPool *pool = step->pool;
        const Node *node = topology_node(apply->input.topology, pool->node);
        const HostConfig *host = &apply->input.config->host;
        const EscalationOptions options = {
                .may_compact = host->may_compact && node->can_compact,
                .may_reclaim = host->may_reclaim &&
                               (node->can_reclaim || apply->input.topology->can_reclaim),
                .may_drop_caches = host->may_drop_caches,
                .deadline_usec = deadline_usec,
        };

        return (ApplyResult){
                .step = *step,
                .reached_pages = step->from_pages,
                .escalation = escalation_new(apply->arena, pool->page_size_bytes, step->to_pages,
                                             &options),
        };
}

Apply *apply_new(Arena *arena, const ApplyInput *input) {
        Apply *apply = ARENA_NEW(arena, Apply);

        *apply = (Apply){.arena = arena,
                         .input = *input,
                         .adds_surplus = topology_kernel_is_older(input->topology, 6, 7)};
        PlanSteps steps = plan_steps(arena, input->plan);

        apply->results = ARENA_ARRAY(arena, ApplyResult, steps.n);
        VEC_FOREACH(step, &steps)
                apply->results[apply->n_results++] = new_result(apply, step, input->deadline_usec);
        return apply;
}

/* The room a node has at this moment, reckoned as the planner does. */
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
                /* Surplus pages become persistent before any is new, and take no memory. */
                .room_bytes =
                        add_saturated(plan_node_room_bytes(&apply->input.config->host, &node),
                                      mul_saturated(now.surplus_pages, pool->page_size_bytes)),
                .free_bytes = node.free_bytes,
                .reclaimable_bytes = node.reclaimable_bytes,
                .now_usec = now_usec,
        };
        return 0;
}

/* Whether a count that is written to the pool's node would be taken for another one, because of surplus pages; then
 * *RET_TOTAL is how many pages all nodes have of that size. False where they cannot all be read.
 * Before 6.7 the kernel adds the surplus pages of the other nodes to what is written. From 6.7 on a node that has more
 * surplus pages than pages looks as if its count had overflowed, or has it overflow, and the kernel takes all memory
 * that there is. A node comes to that where the kernel lowers a pool: it takes free pages of a node whose surplus pages
 * they may be (mm/hugetlb.c, __nr_hugepages_store_common(); the same function in tests/model says how). */
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

/* Sets the pool's persistent count to PAGES. Where that would be miscounted the count of the whole host is set first,
 * which never is, to what there is: surplus pages become persistent, and none come or go. What was to be written is of
 * no use then, for it was planned by other counts. */
static void set_count(const Apply *apply, const ApplyResult *result, uint64_t pages,
                      ApplyOperation *operation) {
        const PlanPool *pool = result->step.pool;
        uint64_t total;

        operation->is_straightening = is_miscounted(apply, pool, &total);
        operation->path = operation->is_straightening
                                  ? page_size_path(apply->arena, PATH_HUGEPAGES,
                                                   pool->page_size_bytes, "nr_hugepages")
                                  : topology_pool_path(apply->arena, apply->input.topology,
                                                       pool->node, pool->page_size_bytes,
                                                       "nr_hugepages");
        operation->text = arena_printf(apply->arena, "%" PRIu64 "\n",
                                       operation->is_straightening ? total : pages);
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
                /* The node's own file where the kernel has it (since 6.17), else the root cgroup's. Nothing is to
                 * be swapped. Older kernels do not know swappiness= and refuse the write; it is left out where
                 * there is no swap. */
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

/* The balance of the pool's page size at this moment. Somebody may have mapped pages since the plan was
 * made: it is looked at right before pages are given back, and right after it. */
static Balance *look_at_promises_once(const Apply *apply, Arena *arena, const PlanPool *pool,
                                      size_t *ret_node) {
        Topology *now = probe_topology(apply->input.root, arena);
        int k = topology_page_size_index(now, pool->page_size_bytes);

        *ret_node = topology_node_index(now, pool->node);
        if (k < 0 || *ret_node == now->n_nodes)
                return NULL;
        const PlanInput input = {
                .host = &apply->input.config->host,
                .demand = apply->input.plan->demand,
                .topology = now,
                .ledger = apply->input.ledger,
                .use = host_use_read(apply->input.root, arena, apply->input.config,
                                     apply->input.ledger, now),
                .starting = apply->input.starting,
        };

        return balance_new(arena, &plan_promises(arena, &input)[k],
                           topology_free_pages(arena, now, (size_t) k));
}

/* NULL: nothing is known, and nothing may be given back. */
static Balance *look_at_promises(const Apply *apply, Arena *arena, const PlanPool *pool,
                                 size_t *ret_node) {
        unsigned n_tries = 0;
        Balance *balance;
        int r;

        root_forget_fault(apply->input.root);
        do {
                balance = look_at_promises_once(apply, arena, pool, ret_node);
                r = root_fault(apply->input.root, arena).error;
        } while (root_try_again(apply->input.root, r, &n_tries));
        root_drop_fault(apply->input.root);
        return r == 0 ? balance : NULL;
}

/* Gives back what nobody was promised, in one write; and takes back what somebody was promised in that
 * very moment. */
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
                /* What the kernel could not give back, because it was promised in that very moment, it has made
                 * surplus pages, and makes persistent again before it gets new ones. */
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

static EscalationMove next_move(const Apply *apply, ApplyResult *result,
                                const EscalationView *view) {
        const PlanStep *step = &result->step;

        /* Splitting is one write, which succeeds or not. */
        if (step->demote_to_bytes > 0)
                return result->escalation.records.n > 0
                               ? (EscalationMove){ESCALATION_DONE, 0, 0}
                               : (EscalationMove){ESCALATION_DEMOTE,
                                                  step->from_pages - step->to_pages, 0};
        if (step->to_pages < step->from_pages)
                return next_lowering(apply, result, view);
        return escalation_next(&result->escalation, view);
}

bool apply_next(Apply *apply, uint64_t now_usec, ApplyOperation *ret) {
        for (; apply->current < apply->n_results && apply->straightened_bytes == 0;
             apply->current++) {
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
                EscalationMove move = next_move(apply, result, &view);

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
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int r = root_write_attribute(root, operation->path, operation->text);

        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return r;
}

uint64_t apply_straightened_bytes(const Apply *apply) {
        return apply->straightened_bytes;
}

void apply_done(Apply *apply, const ApplyOperation *operation, int error, uint64_t usec) {
        ApplyResult *result = &apply->results[apply->current];
        const PlanPool *pool = result->step.pool;
        Pool now;

        if (operation->is_straightening && error == 0) {
                apply->straightened_bytes = pool->page_size_bytes;
                result->is_unread = true;
                return;
        }
        /* Then nothing of the size can be written, and the pool stays as it is. */
        if (operation->is_straightening) {
                result->error = error;
                result->is_finished = true;
                apply->current++;
                return;
        }
        if (probe_pool(apply->input.root, apply->input.topology, pool->node, pool->page_size_bytes,
                       &now) == 0)
                result->reached_pages = pool_persistent_pages(&now);
        /* It gave less than it was asked for, as writes do, and that is seen in what is left. */
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

void apply_hurry(Apply *apply) {
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

static PoolLimit limit_of(Arena *arena, const ApplyResult *result, const Topology *now) {
        const PlanPool *pool = result->step.pool;
        const Shortfall shortfall = {
                .node = pool->node,
                .page_size_bytes = pool->page_size_bytes,
                .wanted_pages = result->step.to_pages,
                .reached_pages = result->reached_pages,
                .error = result->error,
                .is_clamped = result->escalation.is_clamped,
                .n_rounds = result->escalation.n_rounds,
                .may_drop_caches = result->escalation.options.may_drop_caches,
        };

        return (PoolLimit){
                .node = pool->node,
                .page_size_bytes = pool->page_size_bytes,
                .persistent_pages = result->reached_pages,
                .reason = evidence_of_shortfall(arena, now, &shortfall),
        };
}

PoolLimits apply_limits(Arena *arena, const Apply *apply, const Topology *now) {
        PoolLimits limits = {};

        ARRAY_FOREACH(result, apply->results, apply->n_results) {
                const PlanStep *step = &result->step;
                bool is_demotion = step->demote_to_bytes > 0;

                if (!result->is_finished || result->is_unread)
                        continue;
                if (is_demotion && result->demoted_pages < step->from_pages - step->to_pages)
                        *vec_push(arena, &limits) =
                                (PoolLimit){.node = step->pool->node,
                                            .page_size_bytes = step->pool->page_size_bytes,
                                            .cannot_demote = true};
                else if (!is_demotion && result->reached_pages < step->to_pages)
                        *vec_push(arena, &limits) = limit_of(arena, result, now);
        }
        return limits;
}
