/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/status.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "model/problem.h"

#include <string.h>

#define SHRANK_REMEDY \
        "run 'hugeplanctl reload' to reserve them again, and look for what lowered vm.nr_hugepages"

static const char *const verdict_names[] = {
        [VERDICT_READY] = "ready",     [VERDICT_DEGRADED] = "degraded",
        [VERDICT_PENDING] = "pending", [VERDICT_REFUSED] = "refused",
        [VERDICT_INVALID] = "invalid", [VERDICT_LOST] = "lost",
        [VERDICT_ASIDE] = "aside",
};

const char *verdict_name(Verdict verdict) {
        return verdict_names[verdict];
}

int verdict_from_name(const char *name, Verdict *ret) {
        return TEXT_TO_ENUM(verdict_names, name, ret);
}

bool verdict_lets_start(Verdict verdict) {
        return verdict <= VERDICT_ASIDE;
}

Verdict plan_verdict(const PlanInstance *planned) {
        const InstanceConfig *config = planned->demand->config;

        if (config->refusal)
                return VERDICT_INVALID;
        if (plan_reason(planned)->kind == REASON_NONE)
                return VERDICT_READY;
        if (plan_reason(planned)->kind == REASON_STANDS_ASIDE)
                return VERDICT_ASIDE;
        if (planned->no_hugetlb_limit.kind != REASON_NONE)
                return VERDICT_REFUSED;
        /* The engine's size becomes known at its first start only. */
        if (plan_reason(planned)->kind == REASON_SIZE_UNKNOWN &&
            config->engine->has_auto_by_looking)
                return VERDICT_DEGRADED;
        return config->shortage == SHORTAGE_DEGRADE ? VERDICT_DEGRADED : VERDICT_REFUSED;
}

StatusInstance status_planned(const PlanInstance *planned) {
        const InstanceConfig *config = planned->demand->config;
        bool was_let_start = planned->hold && !planned->hold->is_tentative;

        return (StatusInstance){
                .name = config->name,
                .engine = config->engine->name,
                .unit = config->unit,
                .file = config->file,
                .verdict = plan_verdict(planned),
                .page_size_bytes = planned->page_size_bytes,
                .pages_wanted = planned->pages_wanted,
                .pages_granted = planned->pages_granted,
                .nodes = planned->grants,
                .priority = config->priority,
                .shortage = config->shortage,
                .reason = *plan_reason(planned),
                .is_running = was_let_start,
                .was_let_start = was_let_start,
                .is_counted = planned->hold && planned->hold->is_counted,
        };
}

typedef struct Judge {
        Arena *arena;
        const StatusInput *input;
        PlanInput plan_input;
        Status *status;
        uint64_t *left_pages; /* per pool: persistent pages not yet claimed by an instance */
        Promises *promises;   /* by index of the page size */
        /* By index of the instance: the hold of its unit, and whether the unit runs. */
        const LedgerHold **holds;
        bool *is_running;
} Judge;

/* ---- pools ---- */

/* Pages in use by others than known units are not available to instances. */
static void judge_pools(Judge *judge) {
        const Topology *topology = judge->input->topology;
        size_t n = topology->n_nodes * topology->n_page_sizes;

        judge->status->pools = ARENA_ARRAY(judge->arena, StatusPool, n);
        judge->left_pages = ARENA_ARRAY(judge->arena, uint64_t, n);
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                for (size_t i = 0; i < topology->n_nodes; i++) {
                        const Pool *now = &topology->nodes[i].pools[k];
                        const PlanPool *planned = plan_pool(
                                judge->input->plan, topology->nodes[i].id, now->page_size_bytes);

                        if (!now->exists)
                                continue;
                        judge->left_pages[judge->status->n_pools] =
                                sub_floored(now->total_pages, judge->promises[k].others_used[i]);
                        judge->status->pools[judge->status->n_pools++] = (StatusPool){
                                .node = topology->nodes[i].id,
                                .page_size_bytes = now->page_size_bytes,
                                .total_pages = now->total_pages,
                                .free_pages = now->free_pages,
                                .surplus_pages = now->surplus_pages,
                                /* Those beyond what the plan needs without the cover. */
                                .cover_pages =
                                        planned ? MIN(planned->cover_pages,
                                                      sub_floored(pool_persistent_pages(now),
                                                                  planned->to_pages -
                                                                          planned->cover_pages))
                                                : 0,
                        };
                }
}

static void add_reserved(Judge *judge, size_t k, const Promise *row, uint64_t pages,
                         bool is_likely) {
        if (pages == 0)
                return;
        *vec_push(judge->arena, &judge->status->reserved) = (StatusReserved){
                .unit = row ? row->unit : NULL,
                .instance = !row            ? NULL
                            : row->mount_of ? row->mount_of
                                            : row->unitless,
                .page_size_bytes = judge->input->topology->page_sizes[k].bytes,
                .pages = pages,
                .nodes = row && row->policy.kind == MEMORY_POLICY_BIND ? row->policy.nodes
                                                                       : (IdSet){},
                .is_likely = is_likely,
        };
}

/* ---- units that run ---- */

static StatusHold status_hold(Arena *arena, const LedgerHold *hold) {
        const LedgerInstance *granted = &hold->granted;

        return (StatusHold){
                .instance = arena_strdup(arena, granted->name),
                .unit = arena_strdup(arena, hold->unit),
                .page_size_bytes = granted->page_size_bytes,
                .pages = ledger_granted_pages(granted),
                .nodes = pages_by_node_copy(arena, &granted->grants),
        };
}

/* ---- instances ---- */

/* Takes the instance's grants from the pages left in the pools. Returns how many are missing, and adds the nodes on
 * which they are missing to NODES. */
static uint64_t claim_pages(Judge *judge, const PlanInstance *planned, IdSet *nodes) {
        uint64_t missing = 0;

        VEC_FOREACH(grant, &planned->grants) {
                StatusPool *pool =
                        ARRAY_FIND(each, judge->status->pools, judge->status->n_pools,
                                   each->node == grant->node &&
                                           each->page_size_bytes == planned->page_size_bytes);
                uint64_t there = 0;

                if (pool) {
                        uint64_t *left = &judge->left_pages[pool - judge->status->pools];

                        there = MIN(grant->pages, *left);
                        *left -= there;
                        pool->owned_pages += there;
                }
                if (there < grant->pages)
                        id_set_add(nodes, grant->node);
                missing += grant->pages - there;
        }
        return missing;
}

/* Returns whether the instance has been ready with as many pages as it wants now. */
static bool was_ready(const Judge *judge, const StatusInstance *instance) {
        const LedgerInstance *before = ledger_instance(judge->input->ledger, instance->name);

        return before && before->was_ready && before->pages_wanted == instance->pages_wanted &&
               before->page_size_bytes == instance->page_size_bytes;
}

/* Returns whether the pools of NODES have the planned size: missing pages are then in use by others. */
static bool are_taken(const Judge *judge, const StatusInstance *instance, const IdSet *nodes) {
        const Plan *plan = judge->input->plan;
        uint64_t bytes = instance->page_size_bytes;
        uint64_t total = ARRAY_SUM(pool, judge->status->pools, judge->status->n_pools,
                                   pool->page_size_bytes == bytes && id_set_has(nodes, pool->node)
                                           ? sub_floored(pool->total_pages, pool->surplus_pages)
                                           : 0);
        uint64_t planned = 0;

        ARRAY_FOREACH(other, plan->instances, plan->n_instances)
                if (other->page_size_bytes == bytes)
                        planned += pages_within(&other->grants, nodes);
        return total >= planned;
}

static void judge_missing(const Judge *judge, StatusInstance *instance, uint64_t missing,
                          const IdSet *nodes) {
        Arena *arena = judge->arena;
        const char *where = topology_format_nodes(arena, nodes), *n = format_count(arena, missing);
        const char *are = missing == 1 ? "is" : "are";

        if (judge->input->is_working) {
                instance->verdict = VERDICT_PENDING;
                instance->reason = reason_make(arena, REASON_NONE, NULL,
                                               "%s of its pages %s still being reserved", n, are);
                return;
        }
        bool is_lost = was_ready(judge, instance);

        instance->verdict = instance->shortage == SHORTAGE_DEGRADE ? VERDICT_DEGRADED
                            : is_lost                              ? VERDICT_LOST
                                                                   : VERDICT_REFUSED;
        if (is_lost && are_taken(judge, instance, nodes))
                instance->reason = reason_make(
                        arena, REASON_TAKEN,
                        "see who uses huge pages in 'hugeplanctl status --all', and run 'hugeplanctl "
                        "reload' to reserve more",
                        "others use pages of %s, and %s of its pages %s missing", where, n, are);
        else if (is_lost)
                instance->reason = reason_make(arena, REASON_POOL_SHRANK, SHRANK_REMEDY,
                                               "the pools of %s no longer hold %s of its pages",
                                               where, n);
        else
                instance->reason =
                        reason_make(arena, REASON_POOL_SHRANK,
                                    "restart hugeplan.service, or run 'hugeplanctl reload'",
                                    "on %s, %s of its pages %s not reserved", where, n, are);
}

/* Returns whether pages changed while they were read: the counts cannot prove then that a page is missing. */
static bool is_moving(const Judge *judge) {
        return judge->input->use && judge->input->use->is_moving;
}

/* A unit that runs has the pages of its start, unless pages that it has reserved and not touched are no longer free. */
static void judge_running(Judge *judge, const PlanInstance *planned, const LedgerHold *hold,
                          StatusInstance *instance) {
        const Topology *topology = judge->input->topology;
        int k = topology_page_size_index(topology, hold->granted.page_size_bytes);
        uint64_t lost = k < 0 || is_moving(judge)
                                ? 0
                                : promises_lost_pages(
                                          &judge->promises[k], hold->unit,
                                          topology_free_pages(judge->arena, topology, (size_t) k));

        if (plan_waits_for_restart(planned, hold)) {
                StatusHold *until = ARENA_NEW(judge->arena, StatusHold);

                *until = status_hold(judge->arena, hold);
                instance->until_restart = until;
        }
        if (lost == 0)
                return;
        instance->verdict = VERDICT_LOST;
        instance->reason = reason_make(
                judge->arena, REASON_POOL_SHRANK, SHRANK_REMEDY,
                "%s runs, and %s of the pages that it has reserved and not touched yet %s no "
                "longer free on its nodes: touching them kills it (SIGBUS)",
                hold->unit, format_count(judge->arena, lost), lost == 1 ? "is" : "are");
}

static void judge_instance(Judge *judge, const PlanInstance *planned, const Lack *lack,
                           StatusInstance *instance) {
        const LedgerHold *hold = judge->holds[planned - judge->input->plan->instances];
        bool is_running = judge->is_running[planned - judge->input->plan->instances];
        IdSet nodes = {};
        uint64_t missing = claim_pages(judge, planned, &nodes);

        *instance = status_planned(planned);
        instance->verdict = VERDICT_READY;
        instance->pages_granted = sub_floored(planned->pages_granted, missing);
        instance->reason = planned->reason;
        instance->is_running = is_running;
        instance->was_let_start = is_running && hold;
        instance->is_counted = is_running && hold && hold->is_counted;
        instance->lack = *lack;
        instance->fingerprint = planned->demand->config->fingerprint;
        /* Compaction may still relieve fragmentation; a lack of memory does not end by more attempts. */
        if (judge->input->is_working && planned->reason.kind == REASON_FRAGMENTED) {
                instance->verdict = VERDICT_PENDING;
                instance->reason.remedy =
                        "wait; hugeplan tries again until ReserveTimeout= has passed";
        } else if (planned->reason.kind != REASON_NONE)
                instance->verdict = plan_verdict(planned);
        else if (missing > 0 && !is_running)
                judge_missing(judge, instance, missing, &nodes);
        if (is_running && hold)
                judge_running(judge, planned, hold, instance);
        else if (!is_running && lack->pages > 0 && instance->verdict == VERDICT_READY &&
                 !is_moving(judge)) {
                /* Its pages are reserved, but others may take some of them first. */
                instance->reason = plan_explain_lack(judge->arena, planned, lack);
                instance->verdict = judge->input->is_working                 ? VERDICT_PENDING
                                    : instance->shortage == SHORTAGE_DEGRADE ? VERDICT_DEGRADED
                                    : was_ready(judge, instance)             ? VERDICT_LOST
                                                                             : VERDICT_REFUSED;
        }
        /* With Isolate=yes an instance does not start without its hugetlb limit, even if it will have its pages. */
        if (planned->no_hugetlb_limit.kind != REASON_NONE && planned->reason.kind == REASON_NONE &&
            (!is_running || verdict_lets_start(instance->verdict))) {
                instance->verdict = VERDICT_REFUSED;
                instance->reason = planned->no_hugetlb_limit;
        }
}

/* Returns what each instance lacks, by index of the instance. */
static Lack *find_lacks(const Judge *judge) {
        const PlanInput *input = &judge->plan_input;
        const Topology *topology = input->topology;
        const Plan *plan = judge->input->plan;
        Lack *lacks = ARENA_ARRAY(judge->arena, Lack, plan->n_instances);

        /* If the kernel no longer has the page size, all pages are lacking. */
        for (size_t i = 0; i < plan->n_instances; i++)
                if (topology_page_size_index(topology, plan->instances[i].page_size_bytes) < 0)
                        lacks[i].pages = plan_starter_pages(input, &plan->instances[i]);
        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                const PlanStarters found = plan_find_starters(
                        judge->arena, input, plan, judge->is_running, &judge->promises[k],
                        topology_free_pages(judge->arena, topology, k));

                for (size_t i = 0; i < found.n; i++)
                        lacks[found.instances[i] - plan->instances] = found.lacks[i];
        }
        return lacks;
}

/* ---- problems ---- */

void status_add_exposure(const Exposure *exposure, Diags *problems) {
        Arena *arena = problems->arena;
        const char *taker = exposure->taker ? exposure->taker : "processes of no known unit";
        bool has_others = exposure->pages > exposure->taker_pages;

        diags_report(
                problems,
                problem_of(
                        PROBLEM_PAGES_EXPOSED, NULL,
                        exposure->is_taker_kept ? "free memory there and run 'hugeplanctl reload'"
                        : exposure->taker
                                ? arena_printf(
                                          arena,
                                          "restart %s, which then keeps to its own nodes; see RESERVED PAGES in hugeplan.d(5)",
                                          exposure->taker)
                                : USERS_REMEDY),
                "%s that %s has reserved on %s and not touched yet may be taken by %s%s%s may take %s there",
                format_page_count(arena, exposure->pages, exposure->page_size_bytes),
                exposure->unit, topology_format_nodes(arena, &exposure->nodes),
                has_others ? "others: " : "", taker, has_others ? "" : ", which",
                format_count(arena, exposure->taker_pages));
}

void status_add_aside(const Reason *aside, Diags *problems) {
        diags_report(problems, problem_of(PROBLEM_STANDS_ASIDE, NULL, aside->remedy), "%s",
                     aside->text);
}

static void add_problems(Judge *judge) {
        const Topology *topology = judge->input->topology;
        const Status *status = judge->status;
        Diags *problems = &judge->status->problems;
        Arena *arena = judge->arena;
        const StatusInstance *aside = ARRAY_FIND(each, status->instances, status->n_instances,
                                                 each->verdict == VERDICT_ASIDE);

        diags_add_all(problems, &judge->input->config->problems);
        if (aside) /* one sentence for all */
                status_add_aside(&aside->reason, problems);
        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                ReasonKind kind = instance->reason.kind;

                /* The problems of an invalid file are among those of the configuration. */
                if (instance->verdict != VERDICT_DEGRADED && instance->verdict != VERDICT_REFUSED &&
                    instance->verdict != VERDICT_LOST)
                        continue;
                diags_report(problems,
                             (Diag){.severity = kind == REASON_RELEASED /* by the administrator */
                                                        ? SEVERITY_NOTICE
                                                        : instance->verdict == VERDICT_DEGRADED
                                                                  ? SEVERITY_WARNING
                                                                  : SEVERITY_ERROR,
                                    .id = reason_id(kind),
                                    .file = instance->file,
                                    .remedy = instance->reason.remedy},
                             "%s is %s: %s", instance->name, verdict_name(instance->verdict),
                             instance->reason.text);
        }
        ARRAY_FOREACH(pool, status->pools, status->n_pools)
                if (pool->surplus_pages > 0)
                        diags_report(
                                problems,
                                problem_of(
                                        PROBLEM_SURPLUS_PAGES, NULL,
                                        "check nr_overcommit_hugepages of this page size, and what lowered the pool while it was in use; on kernels before 6.7 see SURPLUS PAGES in hugepland(8)"),
                                "node %u has a surplus of %s, which disappears when it is freed",
                                pool->node,
                                format_page_count(arena, pool->surplus_pages,
                                                  pool->page_size_bytes));
        for (size_t k = 0; k < topology->n_page_sizes && !is_moving(judge); k++) {
                Exposures exposures = promises_exposures(
                        arena, &judge->promises[k], topology_free_pages(arena, topology, k), false);

                VEC_FOREACH(exposure, &exposures)
                        status_add_exposure(exposure, problems);
        }
        VEC_FOREACH(hold, &status->left)
                diags_report(
                        problems, problem_of(PROBLEM_PAGES_KEPT, NULL, NULL),
                        "%s keeps the %s that it was started with for %s, which is no longer described for it, until it stops",
                        hold->unit, format_page_count(arena, hold->pages, hold->page_size_bytes),
                        hold->instance);
}

Verdict status_worst_verdict(const Status *status) {
        Verdict worst = VERDICT_READY;

        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                worst = MAX(worst, instance->verdict);
        if (worst == VERDICT_READY && diags_count(&status->problems, SEVERITY_ERROR) > 0)
                worst = VERDICT_DEGRADED;
        return worst;
}

Status *status_judge(Arena *arena, const StatusInput *input) {
        Status *status = ARENA_NEW(arena, Status);
        const Plan *plan = input->plan;
        const LedgerHolds *holds = &input->ledger->holds;
        const HoldIndex index = ledger_index_holds(arena, holds);
        bool *is_taken_up = ARENA_ARRAY(arena, bool, holds->n);
        Judge judge = {
                .arena = arena,
                .input = input,
                .plan_input = {.host = &input->config->host,
                               .demand = plan->demand,
                               .topology = input->topology,
                               .ledger = input->ledger,
                               .use = input->use,
                               .starting = input->starting,
                               .is_alone = input->is_alone},
                .status = status,
                .holds = ARENA_ARRAY(arena, const LedgerHold *, plan->n_instances),
        };

        *status = (Status){
                .thp = input->topology->thp_enabled,
                .phase = input->phase,
                .boot_id = input->topology->boot_id,
                .fingerprint = input->config->host.fingerprint,
                .problems = diags_in(arena),
                .n_instances = plan->n_instances,
                .instances = ARENA_ARRAY(arena, StatusInstance, plan->n_instances),
        };
        judge.promises = plan_promises(arena, &judge.plan_input);
        for (size_t i = 0; i < plan->n_instances; i++) {
                judge.holds[i] = plan_find_hold(plan, &index, plan->instances[i].demand->config);
                if (judge.holds[i])
                        is_taken_up[judge.holds[i] - holds->items] = true;
        }
        judge.is_running = plan_find_running(arena, &judge.plan_input, plan, judge.holds);
        judge_pools(&judge);
        for (size_t k = 0; k < input->topology->n_page_sizes; k++) {
                const Promises *promises = &judge.promises[k];
                size_t n_uncounted = VEC_SUM(row, &promises->list,
                                             row->unit ? !row->is_counted : row->unitless != NULL);
                uint64_t likely = VEC_SUM(row, &promises->list, row->likely_pages);

                /* Where nothing counts for several units, only the sum of their pages is known. */
                VEC_FOREACH(row, &promises->list) {
                        add_reserved(&judge, k, row, row->pages, false);
                        add_reserved(&judge, k, row, n_uncounted == 1 ? row->likely_pages : 0,
                                     true);
                }
                add_reserved(&judge, k, NULL, n_uncounted == 1 ? 0 : likely, true);
                add_reserved(&judge, k, NULL, judge.promises[k].others_promised_pages, false);
        }
        /* The most important instance claims first, so that pages are missing from the least important one. */
        const Lack *lacks = find_lacks(&judge);

        ARRAY_FOREACH(planned, plan->order, plan->n_instances) {
                size_t at = (size_t) (*planned - plan->instances);

                judge_instance(&judge, *planned, &lacks[at], &status->instances[at]);
        }
        /* The pages of running units whose instances are no longer configured. */
        VEC_FOREACH(hold, holds)
                if (!hold->is_tentative && hold->granted.grants.n > 0 &&
                    !is_taken_up[hold - holds->items])
                        *vec_push(arena, &status->left) = status_hold(arena, hold);
        ARRAY_FOREACH(pool, status->pools, status->n_pools)
                pool->foreign_pages =
                        sub_floored(pool->total_pages, pool->owned_pages + pool->cover_pages);
        /* The covers of the plan of which any pages exist. */
        VEC_FOREACH(cover, &plan->covers)
                if (ARRAY_ANY(pool, status->pools, status->n_pools,
                              pool->cover_pages > 0 &&
                                      pool->page_size_bytes == cover->page_size_bytes &&
                                      id_set_has(&cover->nodes, pool->node)))
                        *vec_push(arena, &status->covers) = *cover;
        add_problems(&judge);
        status->verdict = status_worst_verdict(status);
        if (input->attempts)
                vec_push_all(arena, &status->attempts, input->attempts);
        return status;
}

void status_judge_start(Arena *arena, const PlanInstance *planned, StartAsker asker,
                        const Lack *lack, StatusInstance *instance) {
        bool may_start = verdict_lets_start(instance->verdict);

        /* Of an instance that may not start anyway, an exposure counts: a round has made progress if others may take
         * fewer of its pages. */
        if (asker == START_QUERY ||
            (asker == START_BY_UNIT && !may_start && planned->exposed.kind == REASON_NONE))
                instance->lack = lack ? *lack : (Lack){};
        if (instance->verdict == VERDICT_INVALID ||
            (asker == START_BY_ITSELF && instance->pages_wanted == 0))
                return;
        if (instance->lack.pages > 0) {
                instance->reason = asker != START_BY_ITSELF
                                           ? plan_explain_lack(arena, planned, &instance->lack)
                                           : reason_make(arena, REASON_TAKEN,
                                                         DAEMON_REMEDY ", which reserves them",
                                                         "%s of its pages %s not free",
                                                         format_count(arena, instance->lack.pages),
                                                         instance->lack.pages == 1 ? "is" : "are");
                if (may_start || asker == START_BY_ITSELF)
                        instance->verdict = instance->shortage == SHORTAGE_DEGRADE
                                                    ? VERDICT_DEGRADED
                                                    : VERDICT_REFUSED;
        } else if (asker == START_BY_ITSELF) {
                instance->verdict = VERDICT_READY;
                instance->reason = (Reason){};
        }
}

const StatusInstance *status_find(const Status *status, const char *instance) {
        return !instance ? NULL
                         : ARRAY_SEEK(each, status->instances, status->n_instances,
                                      strcmp(instance, each->name));
}

const StatusInstance *status_find_unit(const Status *status, const char *unit) {
        return unit ? ARRAY_FIND(each, status->instances, status->n_instances,
                                 text_equals(each->unit, unit))
                    : NULL;
}
