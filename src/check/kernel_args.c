/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/kernel_args.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "model/problem.h"

#include <string.h>

static const char *const verdict_names[] = {
        [KERNEL_LINE_NOT_NEEDED] = "not-needed", [KERNEL_LINE_RUN_TIME] = "run-time",
        [KERNEL_LINE_SERVES] = "serves",         [KERNEL_LINE_REBOOT] = "reboot",
        [KERNEL_LINE_CHANGE] = "change",
};

typedef struct Adviser {
        Arena *arena;
        const KernelArgsInput *input;
        KernelAdvice *advice;
        const KernelLine *present;
        const KernelLine *next; /* NULL: not known */
} Adviser;

const char *kernel_verdict_name(KernelVerdict verdict) {
        return verdict_names[verdict];
}

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

/* ---- what is planned, asked for and found ---- */

static bool is_gigantic(const Adviser *adviser, uint64_t page_size_bytes) {
        return page_size_bytes > kernel_line_pmd_bytes(adviser->input->topology);
}

static uint64_t planned_pages(const Plan *plan, unsigned node, uint64_t page_size_bytes) {
        uint64_t pages = 0;

        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *planned = &plan->instances[i];

                if (planned->page_size_bytes != page_size_bytes)
                        continue;
                for (size_t k = 0; k < planned->n_grants; k++)
                        if (planned->grants[k].node == node)
                                pages += planned->grants[k].pages;
        }
        return pages;
}

/* Without node numbers the kernel deals the pages out one by one over the nodes with memory. */
static uint64_t spread_share(const Topology *topology, uint64_t pages, unsigned node) {
        IdSet nodes = topology_memory_nodes(topology);
        unsigned n = id_set_count(&nodes), rank = 0;

        if (!id_set_has(&nodes, node))
                return 0;
        ID_SET_FOREACH(id, &nodes)
        if (id < node)
                rank++;
        return pages / n + (rank < pages % n);
}

static uint64_t asked_pages(const KernelLine *line, const Topology *topology, unsigned node,
                            uint64_t page_size_bytes) {
        uint64_t asked = 0;

        if (!line)
                return 0;
        VEC_FOREACH(pages, &line->pages) {
                if (pages->page_size_bytes != page_size_bytes)
                        continue;
                if (!pages->is_per_node)
                        asked = add_saturated(asked, spread_share(topology, pages->pages, node));
                for (size_t i = 0; i < pages->n_nodes; i++)
                        if (pages->nodes[i].node == node)
                                asked = add_saturated(asked, pages->nodes[i].pages);
        }
        return asked;
}

static void fill_pools(Adviser *adviser) {
        const Topology *topology = adviser->input->topology;

        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                uint64_t bytes = topology->page_sizes[k].bytes;

                for (size_t i = 0; is_gigantic(adviser, bytes) && i < topology->n_nodes; i++) {
                        unsigned node = topology->nodes[i].id;

                        *vec_push(adviser->arena, &adviser->advice->pools) = (KernelPool){
                                .node = node,
                                .page_size_bytes = bytes,
                                .planned_pages = planned_pages(adviser->input->plan, node, bytes),
                                .present_pages =
                                        asked_pages(adviser->present, topology, node, bytes),
                                .next_pages = asked_pages(adviser->next, topology, node, bytes),
                                .found_pages = pool_persistent_pages(&topology->nodes[i].pools[k]),
                        };
                }
        }
}

/* Whether the line is to give any pages. */
static bool is_wanting(const KernelAdvice *advice) {
        VEC_FOREACH(pool, &advice->pools)
                if (pool->planned_pages > 0 && !pool->is_run_time)
                        return true;
        return false;
}

static bool serves_present(const KernelAdvice *advice) {
        VEC_FOREACH(pool, &advice->pools)
                if (pool->present_pages < pool->planned_pages && !pool->is_run_time)
                        return false;
        return true;
}

static bool serves_next(const KernelAdvice *advice) {
        VEC_FOREACH(pool, &advice->pools)
                if (pool->next_pages < pool->planned_pages && !pool->is_run_time)
                        return false;
        return true;
}

static bool has_run_time(const KernelAdvice *advice) {
        VEC_FOREACH(pool, &advice->pools)
                if (pool->planned_pages > 0 && pool->is_run_time)
                        return true;
        return false;
}

/* ---- what to write ---- */

typedef uint64_t (*PoolCount)(const KernelPool *pool, bool is_next_known);

static uint64_t count_planned(const KernelPool *pool, bool is_next_known) {
        (void) is_next_known;
        return pool->planned_pages;
}

/* Never less than the line asks for already: others may count on it. */
static uint64_t count_merged(const KernelPool *pool, bool is_next_known) {
        return MAX(pool->planned_pages, is_next_known ? pool->next_pages : pool->present_pages);
}

static uint64_t total_of(const Adviser *adviser, uint64_t page_size_bytes, PoolCount count) {
        uint64_t total = 0;

        VEC_FOREACH(pool, &adviser->advice->pools)
                if (pool->page_size_bytes == page_size_bytes)
                        total = add_saturated(total, count(pool, adviser->next != NULL));
        return total;
}

/* The fewest pages that, dealt out evenly, give each node as many as it is to have. */
static uint64_t even_total(const Adviser *adviser, uint64_t page_size_bytes, PoolCount count) {
        IdSet nodes = topology_memory_nodes(adviser->input->topology);
        uint64_t n_nodes = MAX(id_set_count(&nodes), 1U), total = 0;

        VEC_FOREACH(pool, &adviser->advice->pools) {
                uint64_t pages = count(pool, adviser->next != NULL), rank = 0;

                if (pool->page_size_bytes != page_size_bytes || pages == 0)
                        continue;
                ID_SET_FOREACH(id, &nodes)
                rank += id < pool->node;
                total = MAX(total, add_saturated(mul_saturated(pages - 1, n_nodes), rank + 1));
        }
        return total;
}

/* The kernel cannot be told which node is to have how many. */
static bool is_spread(const Adviser *adviser) {
        return adviser->input->topology->n_nodes > 1 &&
               topology_kernel_lacks(adviser->input->topology, KERNEL_HUGEPAGES_BY_NODE);
}

/* How many more than planned there have to be for that. */
static uint64_t excess_pages(const Adviser *adviser, uint64_t page_size_bytes) {
        return even_total(adviser, page_size_bytes, count_planned) -
               total_of(adviser, page_size_bytes, count_planned);
}

static bool is_asked_for(const Adviser *adviser, uint64_t page_size_bytes) {
        VEC_FOREACH(pool, &adviser->advice->pools)
                if (pool->page_size_bytes == page_size_bytes &&
                    (adviser->next ? pool->next_pages : pool->present_pages) < pool->planned_pages)
                        return false;
        return true;
}

/* Where an even spread is no more than rounding off the plan, the kernel's way is taken; else most of
 * what it reserves would lie where nobody wants it. Who has asked for that already is left alone. */
static bool is_too_uneven(const Adviser *adviser, uint64_t page_size_bytes) {
        return is_spread(adviser) &&
               excess_pages(adviser, page_size_bytes) > adviser->input->topology->n_nodes &&
               !is_asked_for(adviser, page_size_bytes);
}

static void mark_run_time(Adviser *adviser) {
        VEC_FOREACH(pool, &adviser->advice->pools)
                pool->is_run_time = is_too_uneven(adviser, pool->page_size_bytes);
}

/* "hugepagesz=1G hugepages=0:2,1:4"; NULL when there are none of this size. */
static char *format_pages(const Adviser *adviser, uint64_t page_size_bytes, PoolCount count) {
        Text text = text_in(adviser->arena);
        bool is_single = adviser->input->topology->n_nodes <= 1;
        size_t n = 0;

        if (is_spread(adviser)) {
                uint64_t pages = even_total(adviser, page_size_bytes, count);

                return pages == 0 || is_too_uneven(adviser, page_size_bytes)
                               ? NULL
                               : arena_printf(adviser->arena, "hugepagesz=%s hugepages=%" PRIu64,
                                              format_page_size(adviser->arena, page_size_bytes),
                                              pages);
        }
        VEC_FOREACH(pool, &adviser->advice->pools) {
                uint64_t pages = count(pool, adviser->next != NULL);

                if (pool->page_size_bytes != page_size_bytes || pages == 0)
                        continue;
                if (n == 0)
                        text_printf(&text, "hugepagesz=%s hugepages=",
                                    format_page_size(adviser->arena, page_size_bytes));
                if (!is_single)
                        text_printf(&text, "%s%u:", n > 0 ? "," : "", pool->node);
                text_printf(&text, "%" PRIu64, pages);
                n++;
        }
        return text.string;
}

static const char *join_wanted(const Adviser *adviser) {
        const Topology *topology = adviser->input->topology;
        Text text = text_in(adviser->arena);

        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                const char *words =
                        format_pages(adviser, topology->page_sizes[k].bytes, count_planned);

                if (words)
                        text_printf(&text, "%s%s", text.length > 0 ? " " : "", words);
        }
        return arena_strdup(adviser->arena, text_string(&text));
}

static const char *join_phrases(Arena *arena, const KernelLine *line) {
        Text text = text_in(arena);

        VEC_FOREACH(phrase, &line->phrases)
                text_printf(&text, "%s%s", text.length > 0 ? " " : "", *phrase);
        return arena_strdup(arena, text_string(&text));
}

/* ---- changes ---- */

static void add_change(Adviser *adviser, const KernelChange *change) {
        KernelChanges *changes = &adviser->advice->changes;

        VEC_FOREACH(known, changes)
                if (change->from && text_equals(known->from, change->from))
                        return;
        *vec_push(adviser->arena, changes) = *change;
}

static uint64_t phrase_bytes(const KernelLine *line, const char *phrase) {
        VEC_FOREACH(pages, &line->pages)
                if (text_equals(pages->words, phrase))
                        return pages->page_size_bytes;
        return kernel_phrase_size_bytes(phrase);
}

/* An even spread that is merely uneven with the plan is replaced by the plan's split. */
static PoolCount choose_count(const Adviser *adviser, const KernelLine *line,
                              uint64_t page_size_bytes) {
        VEC_FOREACH(pages, &line->pages)
                if (pages->page_size_bytes == page_size_bytes && !pages->is_per_node &&
                    pages->pages <= total_of(adviser, page_size_bytes, count_planned))
                        return count_planned;
        return count_merged;
}

/* The first phrase of this size becomes what is wanted; what else there is of it goes. */
static void change_size(Adviser *adviser, const KernelLine *line, uint64_t page_size_bytes) {
        const char *to = format_pages(adviser, page_size_bytes,
                                      choose_count(adviser, line, page_size_bytes));

        VEC_FOREACH(phrase, &line->phrases) {
                if (phrase_bytes(line, *phrase) != page_size_bytes)
                        continue;
                if (!text_equals(*phrase, to))
                        add_change(adviser, &(KernelChange){.from = *phrase, .to = to});
                to = NULL;
        }
        if (to)
                add_change(adviser, &(KernelChange){.to = to});
}

static void add_changes(Adviser *adviser) {
        const KernelLine *line = adviser->next ? adviser->next : adviser->present;
        const Topology *topology = adviser->input->topology;

        VEC_FOREACH(phrase, &line->phrases)
                *vec_push(adviser->arena, &adviser->advice->next_phrases) = *phrase;
        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                uint64_t bytes = topology->page_sizes[k].bytes;
                bool is_short = false;

                VEC_FOREACH(pool, &adviser->advice->pools)
                        is_short = is_short ||
                                   (pool->page_size_bytes == bytes && !pool->is_run_time &&
                                    (adviser->next ? pool->next_pages : pool->present_pages) <
                                            pool->planned_pages);
                if (is_short)
                        change_size(adviser, line, bytes);
        }
        VEC_FOREACH(repair, &line->repairs)
                add_change(adviser, repair);
}

/* ---- problems ---- */

static void add_problem(Adviser *adviser, Severity severity, ProblemKind kind, const char *key,
                        const char *text, const char *remedy) {
        diags_add(&adviser->advice->problems, &(Diag){.severity = severity,
                                                      .id = problem_id(kind),
                                                      .file = PATH_CMDLINE,
                                                      .key = key,
                                                      .text = text,
                                                      .remedy = remedy});
}

static void take_problems(Adviser *adviser, const KernelLine *line) {
        diags_add_all(&adviser->advice->problems, &line->problems);
}

static bool has_phrase(const KernelLine *line, const char *phrase) {
        VEC_FOREACH(known, &line->phrases)
                if (text_equals(*known, phrase))
                        return true;
        return false;
}

static void compare_with_next(Adviser *adviser) {
        VEC_FOREACH(phrase, &adviser->present->phrases)
                if (!has_phrase(adviser->next, *phrase))
                        add_problem(adviser, SEVERITY_WARNING, PROBLEM_CMDLINE_LOST_AT_NEXT_BOOT,
                                    *phrase,
                                    arena_printf(adviser->arena,
                                                 "is not in the entry that boots next (%s)",
                                                 adviser->input->next_file),
                                    "write it there too if it is to stay");
        VEC_FOREACH(phrase, &adviser->next->phrases)
                if (!has_phrase(adviser->present, *phrase))
                        diags_add(&adviser->advice->problems,
                                  &(Diag){.severity = SEVERITY_NOTICE,
                                          .id = problem_id(PROBLEM_CMDLINE_FROM_NEXT_BOOT),
                                          .file = adviser->input->next_file,
                                          .key = *phrase,
                                          .text = "takes effect with the next boot"});
}

static const InstanceConfig *find_node_wish(const Config *config) {
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];

                if (!instance->refusal && (instance->has_nodes || instance->n_node_memory > 0))
                        return instance;
        }
        return NULL;
}

static bool has_problem(const KernelLine *line, ProblemKind kind) {
        VEC_FOREACH(problem, &line->problems.list)
                if (text_equals(problem->id, problem_id(kind)))
                        return true;
        return false;
}

static void judge_numa(Adviser *adviser, const KernelLine *line) {
        const InstanceConfig *wish = find_node_wish(adviser->input->config);
        const KernelArgument *numa = kernel_argument_find(&line->arguments, "numa");

        if (!wish || !numa || !text_equals(numa->value, "off") ||
            has_problem(line, PROBLEM_CMDLINE_NUMA_OFF))
                return;
        add_change(adviser, &(KernelChange){.from = numa->word});
        add_problem(adviser, SEVERITY_ERROR, PROBLEM_CMDLINE_NUMA_OFF, numa->word,
                    arena_printf(adviser->arena,
                                 "makes the host a single node, while instance %s names nodes",
                                 wish->name),
                    "take numa=off out, or Nodes= and NodeMemory= from the instances");
}

/* hugetlb_hstate_alloc_pages(): "hugetlb_cma is enabled, skip boot time allocation". */
static void judge_cma(Adviser *adviser, const KernelLine *line) {
        const KernelArgument *cma = kernel_argument_find(&line->arguments, "hugetlb_cma");

        if (!cma || !is_wanting(adviser->advice))
                return;
        add_change(adviser, &(KernelChange){.from = cma->word});
        add_problem(adviser, SEVERITY_ERROR, PROBLEM_CMDLINE_CMA, cma->word,
                    "has the kernel skip hugepages= for gigantic pages and keep memory aside for "
                    "run time instead",
                    "take it out, or leave gigantic pages to run time and hugepages= out");
}

static void judge_pool(Adviser *adviser, const KernelPool *pool) {
        Arena *arena = adviser->arena;
        char *size = format_page_size(arena, pool->page_size_bytes);

        if (pool->present_pages > pool->found_pages)
                add_problem(adviser, SEVERITY_WARNING, PROBLEM_CMDLINE_SHORT, NULL,
                            arena_printf(arena,
                                         "asks for %" PRIu64 " pages of %s on node %u, of which "
                                         "the node has %" PRIu64,
                                         pool->present_pages, size, pool->node, pool->found_pages),
                            "ask for less, or for another node; pages may also have been given "
                            "back since");
        else if (pool->present_pages < pool->planned_pages &&
                 pool->found_pages >= pool->planned_pages && !pool->is_run_time)
                add_problem(adviser, SEVERITY_NOTICE, PROBLEM_CMDLINE_RUN_TIME, NULL,
                            arena_printf(arena,
                                         "pages of %s on node %u were reserved at run time in "
                                         "this boot, which may not succeed in the next",
                                         size, pool->node),
                            NULL);
        if (pool->present_pages > pool->planned_pages)
                add_problem(adviser, SEVERITY_NOTICE, PROBLEM_CMDLINE_BEYOND_PLAN, NULL,
                            arena_printf(arena,
                                         "asks for %" PRIu64 " pages of %s on node %u beyond the "
                                         "plan; they stay with others",
                                         pool->present_pages - pool->planned_pages, size,
                                         pool->node),
                            NULL);
}

static void judge_spread(Adviser *adviser) {
        VEC_FOREACH(pages, &adviser->present->pages)
                if (!pages->is_per_node && !serves_present(adviser->advice) &&
                    adviser->input->topology->n_nodes > 1 && !is_spread(adviser) &&
                    is_gigantic(adviser, pages->page_size_bytes))
                        add_problem(adviser, SEVERITY_WARNING, PROBLEM_CMDLINE_SPREAD, pages->words,
                                    "names no nodes, so that the kernel spreads the pages evenly; "
                                    "the plan needs another split",
                                    "write hugepages=NODE:PAGES,NODE:PAGES");
}

/* What becomes of the plan's split where the kernel takes none. */
static void judge_skill(Adviser *adviser, uint64_t page_size_bytes) {
        Arena *arena = adviser->arena;
        uint64_t planned = total_of(adviser, page_size_bytes, count_planned);
        char *size = format_page_size(arena, page_size_bytes);

        if (planned == 0 || !is_spread(adviser))
                return;
        uint64_t excess = excess_pages(adviser, page_size_bytes);
        bool is_run_time = is_too_uneven(adviser, page_size_bytes);
        const char *lacks = arena_printf(arena,
                                         "this kernel (%s) knows no node numbers in hugepages=, "
                                         "which came with %s, and spreads pages of %s evenly",
                                         adviser->input->topology->kernel_release,
                                         kernel_skill_since(KERNEL_HUGEPAGES_BY_NODE), size);

        add_problem(adviser, SEVERITY_WARNING, PROBLEM_CMDLINE_SPREAD, NULL,
                    is_run_time
                            ? arena_printf(arena,
                                           "%s: to have the plan's %s where they are wanted it "
                                           "would take %s more. hugeplan reserves them at run time "
                                           "instead, before anything else starts",
                                           lacks, format_count(arena, planned),
                                           format_count(arena, excess))
                            : arena_printf(arena, "%s: the plan's %s%s", lacks,
                                           format_count(arena, planned),
                                           excess > 0 ? arena_printf(arena, " and %s more",
                                                                     format_count(arena, excess))
                                                      : ""),
                    "leave it so, or boot a newer kernel and run 'hugeplanctl cmdline' again");
}

/* What does not fit even on the empty host. */
static void judge_instances(Adviser *adviser) {
        const Plan *plan = adviser->input->plan;

        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *planned = &plan->instances[i];
                const InstanceConfig *config = planned->demand->config;
                bool has_gigantic = false;

                for (size_t k = 0; k < config->n_page_sizes; k++)
                        has_gigantic = has_gigantic || is_gigantic(adviser, config->page_sizes[k]);
                if (config->refusal || !has_gigantic || planned->reason.kind == REASON_NONE)
                        continue;
                diags_add(&adviser->advice->problems,
                          &(Diag){.severity = SEVERITY_WARNING,
                                  .id = reason_id(planned->reason.kind),
                                  .file = config->file,
                                  .text = arena_printf(adviser->arena,
                                                       "%s has no part in what is wanted: %s",
                                                       config->name, planned->reason.text),
                                  .remedy = planned->reason.remedy});
        }
}

static void judge_existing(Adviser *adviser) {
        if (adviser->input->config->host.existing_pages == EXISTING_KEEP &&
            is_wanting(adviser->advice))
                diags_add(&adviser->advice->problems,
                          &(Diag){.severity = SEVERITY_ERROR,
                                  .id = problem_id(PROBLEM_EXISTING_PAGES_KEPT),
                                  .key = "ExistingPages",
                                  .text = "keep leaves the pages of the kernel command line to "
                                          "others, so that they cannot serve the plan",
                                  .remedy = "write ExistingPages=use in [Host]"});
}

static void add_problems(Adviser *adviser) {
        const KernelLine *line = adviser->next ? adviser->next : adviser->present;

        take_problems(adviser, adviser->present);
        if (adviser->next) {
                /* The same words again would be the same problems again. */
                if (!text_equals(adviser->advice->present, adviser->advice->next))
                        take_problems(adviser, adviser->next);
                compare_with_next(adviser);
        }
        judge_numa(adviser, line);
        judge_cma(adviser, line);
        judge_spread(adviser);
        for (size_t k = 0; k < adviser->input->topology->n_page_sizes; k++)
                judge_skill(adviser, adviser->input->topology->page_sizes[k].bytes);
        VEC_FOREACH(pool, &adviser->advice->pools)
                judge_pool(adviser, pool);
        judge_existing(adviser);
        judge_instances(adviser);
}

/* ---- the verdict ---- */

static KernelVerdict judge(const Adviser *adviser) {
        const KernelAdvice *advice = adviser->advice;
        bool is_present_fine = serves_present(advice) && adviser->present->repairs.n == 0;
        bool is_next_fine = advice->changes.n == 0 && (!adviser->next || serves_next(advice));

        KernelVerdict not_wanting = has_run_time(advice) ? KERNEL_LINE_RUN_TIME
                                                         : KERNEL_LINE_NOT_NEEDED;

        if (!is_next_fine || adviser->input->config->host.existing_pages == EXISTING_KEEP)
                return !is_next_fine || is_wanting(advice) ? KERNEL_LINE_CHANGE : not_wanting;
        if (!is_present_fine)
                return adviser->next ? KERNEL_LINE_REBOOT : KERNEL_LINE_CHANGE;
        return is_wanting(advice) ? KERNEL_LINE_SERVES : not_wanting;
}

KernelAdvice *kernel_args_advise(Arena *arena, const KernelArgsInput *input) {
        KernelAdvice *advice = ARENA_NEW(arena, KernelAdvice);
        Adviser adviser = {.arena = arena, .input = input, .advice = advice};
        const char *line = input->topology->kernel_command_line;

        adviser.present = kernel_line_read(arena, line ? line : "", PATH_CMDLINE, input->topology);
        if (input->next_line)
                adviser.next = kernel_line_read(arena, input->next_line, input->next_file,
                                                input->topology);
        advice->problems = diags_in(arena);
        fill_pools(&adviser);
        mark_run_time(&adviser);
        advice->wanted = join_wanted(&adviser);
        advice->present = join_phrases(arena, adviser.present);
        advice->next = adviser.next ? join_phrases(arena, adviser.next) : NULL;
        add_changes(&adviser);
        add_problems(&adviser);
        advice->verdict = judge(&adviser);
        return advice;
}
