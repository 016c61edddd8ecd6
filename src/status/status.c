/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/status.h"

#include "base/size.h"
#include "base/text.h"
#include "model/problem.h"

#include <stdlib.h>

static const char *const verdict_names[] = {
        [VERDICT_READY] = "ready",     [VERDICT_DEGRADED] = "degraded",
        [VERDICT_PENDING] = "pending", [VERDICT_REFUSED] = "refused",
        [VERDICT_INVALID] = "invalid", [VERDICT_LOST] = "lost",
};

const char *verdict_name(Verdict verdict) {
        return verdict_names[verdict];
}

int verdict_from_name(const char *name, Verdict *ret) {
        for (size_t i = 0; i < ARRAY_LEN(verdict_names); i++)
                if (text_equals(name, verdict_names[i])) {
                        *ret = (Verdict) i;
                        return 0;
                }
        return -EINVAL;
}

bool verdict_lets_start(Verdict verdict) {
        return verdict == VERDICT_READY || verdict == VERDICT_DEGRADED;
}

Verdict plan_verdict(const PlanInstance *planned) {
        const InstanceConfig *config = planned->demand->config;

        if (config->refusal)
                return VERDICT_INVALID;
        if (plan_reason(planned)->kind == REASON_NONE)
                return VERDICT_READY;
        if (planned->no_fence.kind != REASON_NONE)
                return VERDICT_REFUSED;
        return config->shortage == SHORTAGE_DEGRADE ? VERDICT_DEGRADED : VERDICT_REFUSED;
}

typedef struct Judge {
        Arena *arena;
        const StatusInput *input;
        Status *status;
        uint64_t *left_pages; /* per pool: persistent pages not yet claimed by an instance */
} Judge;

static size_t pool_index(const Status *status, unsigned node, uint64_t page_size_bytes) {
        size_t i = 0;

        while (i < status->n_pools && (status->pools[i].node != node ||
                                       status->pools[i].page_size_bytes != page_size_bytes))
                i++;
        return i;
}

/* ---- pools ---- */

static uint64_t foreign_pages(const PlanPool *planned, const Pool *now) {
        uint64_t persistent = pool_persistent_pages(now);

        return planned ? MIN(persistent, planned->foreign_pages) : 0;
}

static void judge_pool(Judge *judge, const Node *node, const Pool *now) {
        const PlanPool *planned = plan_pool(judge->input->plan, node->id, now->page_size_bytes);
        uint64_t foreign = foreign_pages(planned, now);
        size_t i = judge->status->n_pools++;

        judge->status->pools[i] = (StatusPool){
                .node = node->id,
                .page_size_bytes = now->page_size_bytes,
                .total_pages = now->total_pages,
                .free_pages = now->free_pages,
                .promised_pages = topology_promised_pages(judge->input->topology, node->id,
                                                          now->page_size_bytes),
                .surplus_pages = now->surplus_pages,
        };
        judge->left_pages[i] = pool_persistent_pages(now) - foreign;
}

static void judge_pools(Judge *judge) {
        const Topology *topology = judge->input->topology;
        size_t n = topology->n_nodes * topology->n_page_sizes;

        judge->status->pools = ARENA_ARRAY(judge->arena, StatusPool, n + 1);
        judge->left_pages = ARENA_ARRAY(judge->arena, uint64_t, n + 1);
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                for (size_t i = 0; i < topology->n_nodes; i++)
                        if (topology->nodes[i].pools[k].exists)
                                judge_pool(judge, &topology->nodes[i],
                                           &topology->nodes[i].pools[k]);
}

/* ---- instances ---- */

/* Takes the instance's pages out of what the pools hold; how many are not there, and on which
 * nodes. */
static uint64_t claim_pages(Judge *judge, const PlanInstance *planned, IdSet *nodes) {
        uint64_t missing = 0;

        for (size_t i = 0; i < planned->n_grants; i++) {
                size_t k = pool_index(judge->status, planned->grants[i].node,
                                      planned->page_size_bytes);
                uint64_t wanted = planned->grants[i].pages;
                uint64_t there = k < judge->status->n_pools ? MIN(wanted, judge->left_pages[k]) : 0;

                if (k < judge->status->n_pools) {
                        judge->left_pages[k] -= there;
                        judge->status->pools[k].owned_pages += there;
                }
                if (there < wanted)
                        id_set_add(nodes, planned->grants[i].node);
                missing += wanted - there;
        }
        return missing;
}

static bool was_ready(const Judge *judge, const char *name) {
        const LedgerInstance *before = ledger_instance(judge->input->ledger, name);

        return before && ledger_granted_pages(before) >= before->pages_wanted;
}

/* Compaction may still bring what fragmentation withholds; more memory does not come by working. */
static bool may_still_come(const Judge *judge, ReasonKind kind) {
        return judge->input->is_working && kind == REASON_FRAGMENTED;
}

static void judge_missing(const Judge *judge, StatusInstance *instance, uint64_t missing,
                          const IdSet *nodes) {
        Arena *arena = judge->arena;

        if (judge->input->is_working) {
                instance->verdict = VERDICT_PENDING;
                instance->reason = (Reason){REASON_NONE,
                                            arena_printf(arena, "%s pages are still being reserved",
                                                         format_count(arena, missing)),
                                            NULL};
                return;
        }
        bool is_lost = was_ready(judge, instance->name);

        instance->reason = (Reason){
                REASON_POOL_SHRANK,
                arena_printf(arena,
                             is_lost ? "the pools of node%s %s no longer hold %s of its pages"
                                     : "on node%s %s, %s of its pages are not reserved",
                             id_set_count(nodes) == 1 ? "" : "s", id_set_format(arena, nodes),
                             format_count(arena, missing)),
                is_lost ? "run 'hugeplanctl reload' to reserve them again, and look for what lowered vm.nr_hugepages"
                        : "restart hugeplan.service, or run 'hugeplanctl reload'"};
        if (instance->shortage == SHORTAGE_DEGRADE)
                instance->verdict = VERDICT_DEGRADED;
        else
                instance->verdict = is_lost ? VERDICT_LOST : VERDICT_REFUSED;
}

/* Its pages may stand; without the fence that it insists on it does not start. */
static void judge_fence(const PlanInstance *planned, StatusInstance *instance) {
        if (planned->no_fence.kind == REASON_NONE || !verdict_lets_start(instance->verdict))
                return;
        instance->verdict = VERDICT_REFUSED;
        instance->reason = planned->no_fence;
}

static void judge_instance(Judge *judge, const PlanInstance *planned, StatusInstance *instance) {
        const InstanceConfig *config = planned->demand->config;
        IdSet nodes = {};
        uint64_t missing = claim_pages(judge, planned, &nodes);

        *instance = (StatusInstance){
                .name = config->name,
                .engine = config->engine->name,
                .unit = config->unit,
                .file = config->file,
                .verdict = VERDICT_READY,
                .page_size_bytes = planned->page_size_bytes,
                .pages_wanted = planned->pages_wanted,
                .pages_granted = sub_floored(planned->pages_granted, missing),
                .nodes = planned->grants,
                .n_nodes = planned->n_grants,
                .priority = config->priority,
                .shortage = config->shortage,
                .reason = planned->reason,
                .fingerprint = config->fingerprint,
        };
        if (may_still_come(judge, planned->reason.kind)) {
                instance->verdict = VERDICT_PENDING;
                instance->reason.remedy = "wait; it is tried again until ReserveTimeout= is over";
        } else if (planned->reason.kind != REASON_NONE)
                instance->verdict = plan_verdict(planned);
        else if (missing > 0)
                judge_missing(judge, instance, missing, &nodes);
        judge_fence(planned, instance);
}

/* The most important instance claims first, so that the least important one is the one lost. */
static void judge_instances(Judge *judge) {
        const Plan *plan = judge->input->plan;
        const InstanceConfig **order =
                ARENA_ARRAY(judge->arena, const InstanceConfig *, plan->n_instances + 1);

        judge->status->n_instances = plan->n_instances;
        judge->status->instances = ARENA_ARRAY(judge->arena, StatusInstance, plan->n_instances + 1);
        for (size_t i = 0; i < plan->n_instances; i++)
                order[i] = plan->instances[i].demand->config;
        qsort(order, plan->n_instances, sizeof(*order), plan_compare_priority);
        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *planned = plan_find(plan, order[i]->name);

                judge_instance(judge, planned,
                               &judge->status->instances[planned - plan->instances]);
        }
}

/* ---- problems ---- */

static Severity problem_severity(const StatusInstance *instance) {
        if (instance->reason.kind == REASON_RELEASED) /* as somebody wished */
                return SEVERITY_NOTICE;
        return instance->verdict == VERDICT_DEGRADED ? SEVERITY_WARNING : SEVERITY_ERROR;
}

static void add_instance_problem(Judge *judge, const StatusInstance *instance) {
        /* An invalid file stands among the problems of the configuration already. */
        if (instance->verdict == VERDICT_READY || instance->verdict == VERDICT_PENDING ||
            instance->verdict == VERDICT_INVALID)
                return;
        diags_add(&judge->status->problems,
                  &(Diag){.severity = problem_severity(instance),
                          .id = reason_id(instance->reason.kind),
                          .file = instance->file,
                          .text = arena_printf(judge->arena, "%s is %s: %s", instance->name,
                                               verdict_name(instance->verdict),
                                               instance->reason.text),
                          .remedy = instance->reason.remedy});
}

static void add_surplus_problems(Judge *judge) {
        for (size_t i = 0; i < judge->status->n_pools; i++) {
                const StatusPool *pool = &judge->status->pools[i];

                if (pool->surplus_pages == 0)
                        continue;
                diags_add(
                        &judge->status->problems,
                        &(Diag){.severity = SEVERITY_NOTICE,
                                .id = problem_id(PROBLEM_SURPLUS_PAGES),
                                .text = arena_printf(
                                        judge->arena,
                                        "node %u has %s surplus pages of %s, which vanish when they are given back",
                                        pool->node, format_count(judge->arena, pool->surplus_pages),
                                        format_page_size(judge->arena, pool->page_size_bytes)),
                                .remedy =
                                        "see vm.nr_overcommit_hugepages, or who lowered the pool while it was in use; on kernels before 6.7 see SURPLUS PAGES in hugepland(8)"});
        }
}

static void add_problems(Judge *judge) {
        judge->status->problems = diags_in(judge->arena);
        diags_add_all(&judge->status->problems, &judge->input->config->problems);
        for (size_t i = 0; i < judge->status->n_instances; i++)
                add_instance_problem(judge, &judge->status->instances[i]);
        add_surplus_problems(judge);
}

static Verdict worst_verdict(const Judge *judge) {
        Verdict worst = VERDICT_READY;

        for (size_t i = 0; i < judge->status->n_instances; i++)
                worst = MAX(worst, judge->status->instances[i].verdict);
        if (worst == VERDICT_READY && diags_count(&judge->status->problems, SEVERITY_ERROR) > 0)
                worst = VERDICT_DEGRADED;
        return worst;
}

Status *status_judge(Arena *arena, const StatusInput *input) {
        Status *status = ARENA_NEW(arena, Status);
        Judge judge = {.arena = arena, .input = input, .status = status};

        status->thp = input->topology->thp_enabled;
        status->phase = input->phase;
        status->boot_id = input->topology->boot_id;
        status->fingerprint = input->config->host.fingerprint;
        judge_pools(&judge);
        judge_instances(&judge);
        for (size_t i = 0; i < status->n_pools; i++)
                status->pools[i].foreign_pages =
                        sub_floored(status->pools[i].total_pages, status->pools[i].owned_pages);
        add_problems(&judge);
        status->verdict = worst_verdict(&judge);
        if (input->efforts)
                VEC_FOREACH(effort, input->efforts)
                        *vec_push(arena, &status->efforts) = *effort;
        return status;
}

const StatusInstance *status_find(const Status *status, const char *instance) {
        for (size_t i = 0; i < status->n_instances; i++)
                if (text_equals(status->instances[i].name, instance))
                        return &status->instances[i];
        return NULL;
}

const StatusInstance *status_find_unit(const Status *status, const char *unit) {
        for (size_t i = 0; unit && i < status->n_instances; i++)
                if (text_equals(status->instances[i].unit, unit))
                        return &status->instances[i];
        return NULL;
}

/* Of what a mount keeps, what no file uses is promised, and what files use is not free. Where
 * nothing is known of the files, what is earmarked and not promised must be in use. */
static uint64_t mount_used_pages(const MountUse *mount, const PageSize *size) {
        return MAX(mount->used_pages, sub_floored(mount->earmarked_pages, size->promised_pages));
}

Topology status_without_mount(Arena *arena, const Topology *topology, const MountUse *mount) {
        int k = topology_page_size_index(topology, mount->page_size_bytes);
        Topology without = *topology;

        if (k < 0)
                return without;
        without.page_sizes = arena_memdup(arena, topology->page_sizes,
                                          topology->n_page_sizes * sizeof(PageSize));
        PageSize *size = &without.page_sizes[k];

        size->promised_pages =
                sub_floored(size->promised_pages,
                            sub_floored(mount->earmarked_pages, mount_used_pages(mount, size)));
        return without;
}

uint64_t status_missing_for_start(const Topology *topology, const PlanInstance *instance,
                                  const MountUse *mount) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        bool is_bound = instance->demand->config->placement == PLACEMENT_BIND;
        int k = topology_page_size_index(topology, instance->page_size_bytes);
        const Topology others = status_without_mount(arena, topology, mount);
        uint64_t available = 0;

        if (k < 0)
                return instance->pages_granted;
        if (mount->page_size_bytes == instance->page_size_bytes)
                available = mount_used_pages(mount, &topology->page_sizes[k]);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];

                if (!is_bound || id_set_has(&instance->demand->nodes, node->id))
                        available +=
                                sub_floored(node->pools[k].free_pages,
                                            topology_promised_pages(&others, node->id,
                                                                    instance->page_size_bytes));
        }
        return sub_floored(instance->pages_granted, available);
}
