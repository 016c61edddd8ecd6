/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "plan/planner/planner.h"

/* How many other instances are named if memory does not suffice for all. */
enum { CLAIMS_NAMED_MAX = 3 };

/* Returns a limit that an attempt has shown, if it restricts one of the candidate's pools. */
static const PoolLimit *find_binding_limit(const Planner *planner, const DemandOption *option,
                                           const Candidate *candidate) {
        ARRAY_FOREACH(here, candidate->pools, candidate->n) {
                const PoolLimit *limit = planner_limit(planner, here->pool, false);

                /* The part of the split on that node. */
                const NodePages *part = pages_find_on(&option->split, here->pool->node);

                if (limit && (!part || part->pages > here->capacity))
                        return limit;
        }
        return NULL;
}

/* Returns whether an instance that is short is so only because others hold reserved pages, and how many these are. */
static bool is_taken(const DemandOption *option, const Candidate *candidate, uint64_t *ret_taken) {
        *ret_taken = ARRAY_SUM(each, candidate->pools, candidate->n, each->pool->others_pages);
        VEC_FOREACH(part, &option->split) {
                const CandidatePool *here = candidate_find(candidate, part->node);

                if (!here || part->pages > add_saturated(here->capacity, here->pool->others_pages))
                        return false;
        }
        return add_saturated(candidate_capacity(candidate), *ret_taken) >= option->pages;
}

/* Returns "KeepFree=10%, 8G for high (/etc/hugeplan.d/20-high.conf)": the claims that have precedence on NODES. They are
 * kept for reuse: when memory is used up, many instances are refused and none is granted. */
static const Claims *earlier_claims(Planner *planner, const IdSet *nodes) {
        Arena *arena = planner->scratch;
        const CommitLimit *commit = &planner->input->topology->commit;
        Claims *claims = VEC_FIND(known, &planner->claims, id_set_equals(&known->nodes, nodes));
        Text text = text_in(arena);
        uint64_t movable_bytes = 0;
        size_t n = 0;

        if (claims && claims->n_grants == planner->n_grants)
                return claims;
        if (!claims)
                claims = vec_push(arena, &planner->claims);
        text_printf(&text, "KeepFree=%s", amount_format(arena, &planner->input->host->keep_free));
        if (planner->is_commit_bound)
                text_printf(&text,
                            ", what programs have allocated (%s of a CommitLimit of %s; "
                            "vm.overcommit_memory=2, vm.overcommit_ratio=%" PRIu64 ")",
                            format_size(arena, commit->committed_bytes),
                            format_size(arena, commit->bytes), commit->percent);
        ARRAY_FOREACH(other, planner->plan->instances, planner->plan->n_instances) {
                uint64_t bytes =
                        mul_saturated(pages_within(&other->grants, nodes), other->page_size_bytes);

                if (!other->hold)
                        movable_bytes = add_saturated(movable_bytes, bytes);
                if (bytes > 0 && n++ < CLAIMS_NAMED_MAX)
                        text_printf(&text, ", %s for %s (%s)", format_size(arena, bytes),
                                    other->demand->config->name, other->demand->config->file);
        }
        if (n > CLAIMS_NAMED_MAX)
                text_printf(&text, " and %zu more", n - CLAIMS_NAMED_MAX);
        *claims = (Claims){*nodes, planner->n_grants, text.string, movable_bytes};
        return claims;
}

/* Returns only what can help: no other nodes if all are allowed, no priority if the memory of the instances before it
 * would not suffice either. */
static char *shortage_remedy(Planner *planner, const DemandInstance *demand,
                             const DemandOption *option, uint64_t capacity) {
        IdSet memory_nodes = topology_memory_nodes(planner->input->topology);
        Text text = text_in(planner->arena);

        if (capacity > 0)
                text_printf(&text, "ask for at most %s, ",
                            format_page_count(planner->arena, capacity, option->page_size_bytes));
        if (id_set_count(&demand->nodes) < id_set_count(&memory_nodes))
                text_add(&text, "allow more nodes, ");
        uint64_t movable_bytes = earlier_claims(planner, &demand->nodes)->movable_bytes;

        if (add_saturated(capacity, movable_bytes / option->page_size_bytes) >= option->pages)
                text_add(&text, "raise its Priority=, ");
        if (planner->is_commit_bound)
                text_add(&text, "raise vm.overcommit_ratio, ");
        text_printf(&text, "%sadd memory", text.length > 0 ? "or " : "");
        return text.string;
}

/* Returns how many pages learned sizes may still have together, if these are too few; else UINT64_MAX. */
static uint64_t find_share(const Planner *planner, const PlanInstance *instance,
                           const DemandOption *option, const Candidate *candidate) {
        uint64_t pages = 0;

        ARRAY_FOREACH(here, candidate->pools, candidate->n) {
                const uint64_t *left = planner_auto_bytes(planner, instance, here->pool);

                pages = add_saturated(
                        pages, left ? *left / option->page_size_bytes +
                                               planner_held_pages(planner, instance, here->pool)
                                    : UINT64_MAX);
        }
        return candidate->n > 0 && pages < option->pages ? pages : UINT64_MAX;
}

static Reason explain_share(const Planner *planner, const DemandInstance *demand,
                            const DemandOption *option, uint64_t pages) {
        Arena *arena = planner->arena;

        return reason_make(
                arena, REASON_BEYOND_BOUND,
                "raise AutoMemory= in [Host], raise its Priority=, or set its size by Memory=",
                "%s %s not fit: the share of learned sizes on %s (AutoMemory=%s of each node) has %s left",
                format_page_count_and_size(arena, option->pages, option->page_size_bytes),
                option->pages == 1 ? "does" : "do", topology_format_nodes(arena, &demand->nodes),
                amount_format(arena, &planner->input->host->auto_memory),
                format_page_count_and_size(arena, pages, option->page_size_bytes));
}

Reason planner_explain(Planner *planner, const PlanInstance *instance, const DemandOption *option,
                       const Candidate *candidate) {
        const DemandInstance *demand = instance->demand;
        Arena *arena = planner->arena;
        const PoolLimit *limit = find_binding_limit(planner, option, candidate);
        uint64_t capacity = candidate_capacity(candidate), taken;

        uint64_t share = find_share(planner, instance, option, candidate);

        if (share != UINT64_MAX)
                return explain_share(planner, demand, option, share);
        if (is_taken(option, candidate, &taken))
                return reason_make(
                        arena, REASON_TAKEN, USERS_REMEDY,
                        "others use %s of %s, and only %s of the %s that it needs %s left",
                        format_page_count_and_size(arena, taken, option->page_size_bytes),
                        topology_format_nodes(arena, &demand->nodes), format_count(arena, capacity),
                        format_count(arena, option->pages), capacity == 1 ? "is" : "are");
        if (limit)
                return limit->reason;
        VEC_FOREACH(part, &option->split) {
                const CandidatePool *pool = candidate_find(candidate, part->node);
                uint64_t here = pool ? pool->capacity : 0;
                IdSet node = {};

                id_set_add(&node, part->node);
                if (part->pages <= here)
                        continue;
                /* Exact: a size rounded up would not fit. */
                const char *most =
                        format_page_size(arena, mul_saturated(here, option->page_size_bytes));
                const char *remedy =
                        here > 0 ? arena_printf(arena, "give node %u at most %s in NodeMemory=",
                                                part->node, most)
                                 : arena_printf(
                                           arena,
                                           "remove node %u from NodeMemory=, or add memory to it",
                                           part->node);

                return reason_make(
                        arena, REASON_NOT_ENOUGH_MEMORY, remedy,
                        "%s on node %u %s not fit: it can give %s beyond %s",
                        format_page_count_and_size(arena, part->pages, option->page_size_bytes),
                        part->node, part->pages == 1 ? "does" : "do", format_count(arena, here),
                        earlier_claims(planner, &node)->text);
        }
        return reason_make(
                arena, REASON_NOT_ENOUGH_MEMORY, shortage_remedy(planner, demand, option, capacity),
                "%s %s not fit: %s can give %s (%s) beyond %s",
                format_page_count_and_size(arena, option->pages, option->page_size_bytes),
                option->pages == 1 ? "does" : "do", topology_format_nodes(arena, &demand->nodes),
                format_count(arena, capacity),
                format_size(arena, mul_saturated(capacity, option->page_size_bytes)),
                earlier_claims(planner, &demand->nodes)->text);
}

/* Returns a sentence; HOW says why the missing pages are not available. */
static const char *describe_lack(Arena *arena, const PlanInstance *instance, const Lack *lack,
                                 const char *how) {
        return arena_printf(
                arena, "%s of its %s %s %s: %s %s %s free", format_count(arena, lack->pages),
                format_page_count_and_size(arena, instance->pages_wanted,
                                           instance->page_size_bytes),
                lack->pages == 1 ? "is" : "are", how, topology_format_nodes(arena, &lack->nodes),
                id_set_count(&lack->nodes) == 1 ? "has" : "have",
                format_count(arena, lack->free_pages));
}

Reason plan_explain_lack(Arena *arena, const PlanInstance *instance, const Lack *lack) {
        const char *remedy = lack->taker_pages > 0 && !lack->taker
                                     ? USERS_REMEDY
                                     : "free memory there and run 'hugeplanctl reload'";

        if (lack->is_others)
                return reason_make(arena, REASON_TAKEN,
                                   "free memory there and run 'hugeplanctl reload'",
                                   "if it takes its %s, others may find none left there and take "
                                   "pages of %s, where %s are free and %s are reserved",
                                   format_page_count_and_size(arena, instance->pages_wanted,
                                                              instance->page_size_bytes),
                                   topology_format_nodes(arena, &lack->nodes),
                                   format_count(arena, lack->free_pages),
                                   format_count(arena, lack->taken_pages));
        if (lack->taken_pages == 0)
                return (Reason){REASON_TAKEN,
                                describe_lack(arena, instance, lack, "in use by others"),
                                /* These pages are in use already. */
                                USERS_REMEDY "; 'hugeplanctl reload' reserves more"};
        const char *taken = format_count(arena, lack->taken_pages);
        const char *most = lack->taker ? lack->taker : "processes of no known unit";
        const char *takers =
                lack->taker_pages == 0 ? arena_printf(arena, "other instances may take %s", taken)
                : lack->taker_pages == lack->taken_pages
                        ? arena_printf(arena, "%s may take %s", most, taken)
                        : arena_printf(arena, "others may take %s, %s %s of them", taken, most,
                                       format_count(arena, lack->taker_pages));

        if (lack->taker && !lack->is_taker_kept)
                remedy = arena_printf(
                        arena,
                        "restart %s, which then keeps to its own nodes; or free memory "
                        "there and run 'hugeplanctl reload'",
                        lack->taker);
        return reason_make(arena, REASON_TAKEN, remedy, "%s, of which %s",
                           describe_lack(arena, instance, lack, "not reserved for it alone"),
                           takers);
}
