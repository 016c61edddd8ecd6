/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/kernel_args.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "model/problem.h"

const char *const kernel_verdict_names[] = {
        [KERNEL_LINE_NOT_NEEDED] = "not-needed",
        [KERNEL_LINE_RUN_TIME] = "run-time",
        [KERNEL_LINE_SERVES] = "serves",
        [KERNEL_LINE_CHANGE] = "change",
};

typedef struct Adviser {
        Arena *arena;
        const Config *config;
        const Topology *topology;
        const Plan *plan;
        KernelAdvice *advice;
        const KernelLine *line;
        const KernelArgument *cma; /* hugetlb_cma=; NULL: not set, or the kernel has no CMA */
} Adviser;

/* ---- the host at boot ---- */

Topology *kernel_args_boot_topology(Arena *arena, const Topology *topology) {
        Topology *boot = arena_memdup(arena, topology, sizeof(*topology));
        size_t n_sizes = topology->n_page_sizes;

        boot->nodes = ARENA_ARRAY(arena, Node, topology->n_nodes + 1);
        boot->page_sizes = ARENA_ARRAY(arena, PageSize, n_sizes + 1);
        for (size_t k = 0; k < n_sizes; k++)
                boot->page_sizes[k].bytes = topology->page_sizes[k].bytes;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                Node *node = &boot->nodes[i];

                *node = topology->nodes[i];
                node->free_bytes = node->memory_bytes;
                node->reclaimable_bytes = 0;
                node->pools = ARENA_ARRAY(arena, Pool, n_sizes + 1);
                for (size_t k = 0; k < n_sizes; k++)
                        node->pools[k] = (Pool){.page_size_bytes = boot->page_sizes[k].bytes,
                                                .exists = topology->nodes[i].pools[k].exists};
        }
        return boot;
}

/* ---- planned, requested and existing pages ---- */

static bool is_gigantic(const Adviser *adviser, uint64_t page_size_bytes) {
        return page_size_bytes > kernel_line_pmd_bytes(adviser->topology);
}

static uint64_t asked_pages(const KernelLine *line, const Topology *topology, unsigned node,
                            uint64_t page_size_bytes) {
        IdSet nodes = topology_memory_nodes(topology);
        unsigned n = id_set_count(&nodes), rank = 0;
        uint64_t asked = 0;

        ID_SET_FOREACH(id, &nodes)
                rank += id < node;
        VEC_FOREACH(pages, &line->pages) {
                if (pages->page_size_bytes != page_size_bytes)
                        continue;
                /* Without node numbers the kernel spreads the pages one by one over the nodes with memory. */
                if (pages->nodes.n == 0 && id_set_has(&nodes, node))
                        asked = add_saturated(asked, pages->pages / n + (rank < pages->pages % n));
                asked = add_saturated(
                        asked, VEC_SUM(each, &pages->nodes, each->node == node ? each->pages : 0));
        }
        return asked;
}

/* Returns whether pages are planned that come from run time, or else from the line. */
static bool has_planned(const KernelAdvice *advice, bool is_run_time) {
        return VEC_ANY(pool, &advice->pools,
                       pool->planned_pages > 0 && pool->is_run_time == is_run_time);
}

static bool is_serving(const KernelAdvice *advice) {
        return !VEC_ANY(pool, &advice->pools,
                        pool->present_pages < pool->planned_pages && !pool->is_run_time);
}

/* ---- the wanted arguments ---- */

/* Returns whether the kernel supports no page counts by node. */
static bool is_spread(const Adviser *adviser) {
        return adviser->topology->n_nodes > 1 &&
               kernel_no_node_counts(adviser->arena, adviser->topology);
}

/* Returns whether the plan's gigantic pages come from hugetlb_cma=, at run time. */
static bool is_from_cma(const Adviser *adviser) {
        uint64_t planned_bytes = VEC_SUM(pool, &adviser->advice->pools,
                                         mul_saturated(pool->planned_pages, pool->page_size_bytes));

        return adviser->cma && planned_bytes <= adviser->topology->cma_bytes &&
               !VEC_ANY(pool, &adviser->advice->pools, pool->present_pages > 0);
}

/* Returns whether only the firmware can provide what is missing (pseries_alloc_bootmem_huge_page()). */
static bool is_of_firmware(const Adviser *adviser, const AdvisedPool *pool) {
        return pool->page_size_bytes == 16 * GIB && kernel_is_power(adviser->topology) &&
               pool->found_pages < pool->planned_pages;
}

/* Returns whether the line does not ask for all planned pages of this size, which it could provide. */
static bool is_short(const KernelAdvice *advice, uint64_t page_size_bytes) {
        return VEC_ANY(pool, &advice->pools,
                       pool->page_size_bytes == page_size_bytes && !pool->is_run_time &&
                               pool->present_pages < pool->planned_pages);
}

/* Returns "hugepagesz=1G hugepages=0:2,1:4"; NULL: no pages of this size. IS_MERGED: never less than the line asks for,
 * because other programs may need it. */
static char *format_pages(const Adviser *adviser, uint64_t page_size_bytes, bool is_merged) {
        char *size = format_page_size(adviser->arena, page_size_bytes);
        bool is_single = adviser->topology->n_nodes <= 1;
        Text text = text_in(adviser->arena);

        VEC_FOREACH(pool, &adviser->advice->pools) {
                uint64_t pages = MAX(pool->planned_pages, is_merged ? pool->present_pages : 0);

                if (pool->page_size_bytes != page_size_bytes || pages == 0 || pool->is_run_time)
                        continue;
                if (text.length == 0)
                        text_printf(&text, "hugepagesz=%s hugepages=", size);
                else
                        text_add(&text, ",");
                if (!is_single)
                        text_printf(&text, "%u:", pool->node);
                text_printf(&text, "%" PRIu64, pages);
        }
        return text.string;
}

/* ---- changes ---- */

static void add_change(Adviser *adviser, const KernelChange *change) {
        KernelChanges *changes = &adviser->advice->changes;

        if (!change->from || !VEC_ANY(known, changes, text_equals(known->from, change->from)))
                *vec_push(adviser->arena, changes) = *change;
}

/* The first phrase of this size is replaced by the wanted one; the others are removed. */
static void change_size(Adviser *adviser, uint64_t page_size_bytes) {
        uint64_t planned =
                VEC_SUM(pool, &adviser->advice->pools,
                        pool->page_size_bytes == page_size_bytes ? pool->planned_pages : 0);
        bool is_merged = true;

        /* An even spread of no more pages than planned is replaced by the plan's split. */
        VEC_FOREACH(pages, &adviser->line->pages)
                if (pages->page_size_bytes == page_size_bytes && pages->nodes.n == 0 &&
                    pages->pages <= planned)
                        is_merged = false;
        const char *to = format_pages(adviser, page_size_bytes, is_merged);

        VEC_FOREACH(phrase, &adviser->line->phrases) {
                const typeof(*adviser->line->pages.items) *pages = VEC_FIND(
                        each, &adviser->line->pages, text_equals(each->words, phrase->words));

                if ((pages ? pages->page_size_bytes : phrase->page_size_bytes) != page_size_bytes)
                        continue;
                if (!text_equals(phrase->words, to))
                        add_change(adviser, &(KernelChange){.from = phrase->words, .to = to});
                to = NULL;
        }
        if (to)
                add_change(adviser, &(KernelChange){.to = to});
}

/* ---- problems ---- */

static Diag of_line(ProblemKind kind, const char *words, const char *remedy) {
        Diag diag = problem_of(kind, PATH_CMDLINE, remedy);

        diag.key = words;
        return diag;
}

static void judge_pool(Adviser *adviser, const AdvisedPool *pool) {
        Diags *problems = &adviser->advice->problems;
        Arena *arena = adviser->arena;

        if (pool->present_pages > pool->found_pages)
                diags_report(
                        problems,
                        of_line(PROBLEM_CMDLINE_SHORT, NULL,
                                "ask for fewer pages or another node; pages may also have been given back since boot"),
                        "asks for %s on node %u, and the node has %s",
                        format_page_count(arena, pool->present_pages, pool->page_size_bytes),
                        pool->node, format_count(arena, pool->found_pages));
        else if (pool->present_pages < pool->planned_pages &&
                 pool->found_pages >= pool->planned_pages && !pool->is_run_time)
                diags_report(
                        problems, of_line(PROBLEM_CMDLINE_RUN_TIME, NULL, NULL),
                        "pages of %s on node %u were reserved at run time in this boot, which may fail at the next boot",
                        format_page_size(arena, pool->page_size_bytes), pool->node);
        if (pool->present_pages > pool->planned_pages)
                diags_report(problems, of_line(PROBLEM_CMDLINE_BEYOND_PLAN, NULL, NULL),
                             "asks for %s on node %u beyond the plan, %sleft to others",
                             format_page_count(arena, pool->present_pages - pool->planned_pages,
                                               pool->page_size_bytes),
                             pool->node,
                             pool->is_demotable ? "demoted where smaller pages are short, or "
                                                : "");
}

/* Reports instances that do not fit even on the empty host. */
static void judge_instances(Adviser *adviser) {
        const Plan *plan = adviser->plan;

        ARRAY_FOREACH(planned, plan->instances, plan->n_instances) {
                const InstanceConfig *config = planned->demand->config;
                bool has_gigantic = ARRAY_ANY(size, config->page_sizes, config->n_page_sizes,
                                              is_gigantic(adviser, *size));

                if (config->refusal || !has_gigantic || planned->reason.kind == REASON_NONE)
                        continue;
                diags_report(&adviser->advice->problems,
                             (Diag){.severity = SEVERITY_WARNING,
                                    .id = reason_id(planned->reason.kind),
                                    .file = config->file,
                                    .remedy = planned->reason.remedy},
                             "%s is not included: %s", config->name, planned->reason.text);
        }
}

static void add_problems(Adviser *adviser) {
        const Topology *topology = adviser->topology;
        Diags *problems = &adviser->advice->problems;
        const KernelArgument *cma = adviser->cma;
        const KernelArgument *only =
                kernel_argument_find(&adviser->line->arguments, "hugetlb_cma_only");

        diags_add_all(problems, &adviser->line->problems);
        /* hugetlb_hstate_alloc_pages(): "hugetlb_cma is enabled, skip boot time allocation". With hugetlb_cma_only, since
         * 6.15, the pages of hugepages= come from that memory (hugetlb_early_cma()). */
        if (cma && has_planned(adviser->advice, false) &&
            (!only || !only->value || TEXT_IS_ANY(only->value, "0", "n", "off") ||
             topology_kernel_is_older(topology, 6, 15))) {
                add_change(adviser, &(KernelChange){.from = cma->word});
                diags_report(
                        problems,
                        of_line(PROBLEM_CMDLINE_CMA, cma->word,
                                "remove it; or remove hugepages= and set enough memory aside, and gigantic pages are reserved at run time"),
                        "makes the kernel ignore hugepages= for gigantic pages and set memory aside for run time instead");
        }
        VEC_FOREACH(pages, &adviser->line->pages)
                if (pages->nodes.n == 0 && !is_serving(adviser->advice) && topology->n_nodes > 1 &&
                    !is_spread(adviser) && is_gigantic(adviser, pages->page_size_bytes))
                        diags_report(
                                problems,
                                of_line(PROBLEM_CMDLINE_SPREAD, pages->words,
                                        "write hugepages=NODE:PAGES,NODE:PAGES"),
                                "names no nodes, so the kernel spreads the pages evenly; the plan distributes them differently");
        if (VEC_ANY(pool, &adviser->advice->pools, is_of_firmware(adviser, pool)))
                diags_report(
                        problems,
                        of_line(PROBLEM_CMDLINE_SHORT, NULL,
                                "assign them to the partition (HMC: Huge Page Memory), and boot with hugepagesz=16G and hugepages="),
                        "a partition with hash page tables has only those pages of 16G that its firmware provides: the kernel cannot make any");
        else if (is_spread(adviser) && has_planned(adviser->advice, true))
                diags_report(
                        problems, of_line(PROBLEM_CMDLINE_SPREAD, NULL, NULL),
                        "%s: hugeplan reserves the plan's pages at run time, before other services start",
                        kernel_no_node_counts(adviser->arena, topology));
        VEC_FOREACH(pool, &adviser->advice->pools)
                judge_pool(adviser, pool);
        if (adviser->config->host.existing_pages == EXISTING_KEEP &&
            has_planned(adviser->advice, false))
                diags_report(
                        problems,
                        (Diag){.severity = SEVERITY_ERROR,
                               .id = problem_id(PROBLEM_EXISTING_PAGES_KEPT),
                               .key = "ExistingPages",
                               .remedy = "write ExistingPages=use in [Host]"},
                        "keep leaves the pages of the kernel command line to others, so they cannot serve the plan");
        judge_instances(adviser);
}

KernelAdvice *kernel_args_advise(Arena *arena, const Config *config, const Topology *topology,
                                 const Plan *plan) {
        KernelAdvice *advice = ARENA_NEW(arena, KernelAdvice);
        const char *line = topology->kernel_command_line;
        Text present = text_in(arena), wanted = text_in(arena);
        Adviser adviser = {
                .arena = arena,
                .config = config,
                .topology = topology,
                .plan = plan,
                .advice = advice,
                .line = kernel_line_read(arena, line ? line : "", PATH_CMDLINE, topology),
        };

        if (topology->cma_bytes > 0)
                adviser.cma = kernel_argument_find(&adviser.line->arguments, "hugetlb_cma");
        advice->problems = diags_in(arena);
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes)
                for (size_t i = 0; is_gigantic(&adviser, size->bytes) && i < topology->n_nodes;
                     i++) {
                        unsigned node = topology->nodes[i].id;
                        const PlanPool *planned = plan_pool(plan, node, size->bytes);
                        const Pool *found = topology_pool(topology, node, size->bytes);

                        *vec_push(arena, &advice->pools) = (AdvisedPool){
                                .node = node,
                                .page_size_bytes = size->bytes,
                                .planned_pages = planned ? planned->granted_pages : 0,
                                .present_pages =
                                        asked_pages(adviser.line, topology, node, size->bytes),
                                .found_pages = found ? pool_persistent_pages(found) : 0,
                                .is_demotable = found && found->demote_to_bytes > 0 &&
                                                config->host.existing_pages == EXISTING_USE,
                        };
                }
        VEC_FOREACH(pool, &advice->pools)
                pool->is_run_time = is_spread(&adviser) || is_from_cma(&adviser) ||
                                    is_of_firmware(&adviser, pool);
        advice->phrases = adviser.line->phrases;
        VEC_FOREACH(phrase, &advice->phrases)
                text_add_word(&present, phrase->words);
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes)
                text_add_word(&wanted, format_pages(&adviser, size->bytes, false));
        advice->present = text_string(&present);
        advice->wanted = text_string(&wanted);
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes)
                if (is_short(advice, size->bytes))
                        change_size(&adviser, size->bytes);
        VEC_FOREACH(repair, &adviser.line->repairs)
                add_change(&adviser, repair);
        add_problems(&adviser);
        bool is_kept = config->host.existing_pages == EXISTING_KEEP;

        if (advice->changes.n > 0 || !is_serving(advice) || (is_kept && has_planned(advice, false)))
                advice->verdict = KERNEL_LINE_CHANGE;
        else if (has_planned(advice, false))
                advice->verdict = KERNEL_LINE_SERVES;
        else
                advice->verdict = has_planned(advice, true) ? KERNEL_LINE_RUN_TIME
                                                            : KERNEL_LINE_NOT_NEEDED;
        return advice;
}
