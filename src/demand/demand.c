/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/demand.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/unit_policy.h"

typedef struct Context {
        Arena *arena;
        const Topology *topology;
        const Figures *figures;
} Context;

static Reason refuse(ReasonKind kind, const char *text, const char *remedy) {
        return (Reason){kind, text, remedy};
}

/* Nodes= and NodeMemory= as one set: everything with memory where neither names any. */
static IdSet named_nodes(const InstanceConfig *config, const Topology *topology) {
        if (config->has_nodes)
                return config->nodes;
        if (config->n_node_memory == 0)
                return topology_memory_nodes(topology);
        IdSet nodes = {};

        for (size_t i = 0; i < config->n_node_memory; i++)
                id_set_add(&nodes, config->node_memory[i].node);
        return nodes;
}

static const char *why_node_cannot_serve(const Topology *topology, unsigned id) {
        const Node *node = topology_node(topology, id);

        if (!node)
                return id_set_has(&topology->possible_nodes, id) ? "is offline" : "does not exist";
        return node->has_memory ? NULL : "has no memory";
}

static Reason check_nodes(Arena *arena, const Topology *topology, const IdSet *nodes) {
        IdSet memory_nodes = topology_memory_nodes(topology);

        ID_SET_FOREACH(id, nodes) {
                const char *wrong = why_node_cannot_serve(topology, id);

                if (wrong)
                        return refuse(
                                REASON_NODE_ABSENT, arena_printf(arena, "node %u %s", id, wrong),
                                arena_printf(arena,
                                             "correct Nodes= or NodeMemory=; nodes with memory: %s",
                                             id_set_format(arena, &memory_nodes)));
                if (!id_set_has(&topology->allowed_nodes, id))
                        return refuse(
                                REASON_OUTSIDE_CPUSET,
                                arena_printf(
                                        arena,
                                        "hugeplan's own cpuset does not contain node %u, so the kernel would give no pages there",
                                        id),
                                "take AllowedMemoryNodes= off hugeplan.service and the slices above it");
        }
        return (Reason){};
}

/* The setting that Memory= stands for, in plain bytes, which every engine's parser takes. */
static const char *size_by_engine(Arena *arena, const InstanceConfig *config, uint64_t memory_bytes,
                                  DemandOption *option) {
        Settings settings = {};
        const char *name = config->engine->memory_setting;

        settings_add(arena, &settings, name ? name : "memory",
                     arena_printf(arena, "%" PRIu64 "%s", memory_bytes, name ? "B" : ""),
                     "Memory=");
        return config->engine->size(arena, &settings, option->page_size_bytes, &option->sizing);
}

/* NodeMemory= gives the proportions; what the engine adds on top is spread the same way. Parts are
 * rounded so that they add up: each takes its share of what is left. */
static void split_pages(Arena *arena, const InstanceConfig *config, uint64_t memory_bytes,
                        DemandOption *option) {
        uint64_t pages_left = option->pages, bytes_left = memory_bytes;

        option->n_split = config->n_node_memory;
        option->split = ARENA_ARRAY(arena, NodePages, MAX(option->n_split, (size_t) 1));
        for (size_t i = 0; i < option->n_split; i++) {
                uint64_t bytes = config->node_memory[i].bytes;
                uint64_t pages = bytes_left == 0 ? 0 : mul_div_up(pages_left, bytes, bytes_left);

                option->split[i] = (NodePages){config->node_memory[i].node, pages};
                pages_left -= pages;
                bytes_left -= bytes;
        }
}

static uint64_t memory_asked(const InstanceConfig *config) {
        uint64_t sum = 0;

        if (config->memory_kind == MEMORY_BYTES)
                return config->memory_bytes;
        for (size_t i = 0; i < config->n_node_memory; i++)
                sum = add_saturated(sum, config->node_memory[i].bytes);
        return sum;
}

/* ---- a number that was given ---- */

static void take_pages(DemandOption *option, uint64_t pages) {
        option->pages = pages;
        option->sizing.pages = pages;
        option->sizing.bytes = mul_saturated(pages, option->page_size_bytes);
        option->sizing.is_exact = true;
}

static Reason fill_given(Arena *arena, const InstanceConfig *config, DemandOption *option) {
        uint64_t pages = page_counts_find(&config->pages, option->page_size_bytes);

        if (pages == 0)
                return refuse(REASON_CONFIG,
                              arena_printf(arena, "Pages= has no number for pages of %s",
                                           format_page_size(arena, option->page_size_bytes)),
                              "add it to Pages=, or take that size out of PageSize=");
        take_pages(option, pages);
        return (Reason){};
}

/* ---- Memory=auto ---- */

static const Figure *find_figure(const Context *context, const InstanceConfig *config,
                                 const DemandOption *option) {
        if (!context->figures)
                return NULL;
        VEC_FOREACH(figure, context->figures)
                if (text_equals(figure->instance, config->name) &&
                    (figure->wrong || figure->sizing.page_size_bytes == option->page_size_bytes))
                        return figure;
        return NULL;
}

static Reason refuse_unknown(const Context *context, const InstanceConfig *config,
                             const Figure *figure) {
        const char *remedy = figure ? figure->remedy : NULL;

        return refuse(
                REASON_SIZE_UNKNOWN,
                arena_printf(context->arena, "its size is not known yet: %s",
                             figure ? figure->wrong : "nothing was learned at an earlier start"),
                remedy ? remedy
                       : arena_printf(
                                 context->arena,
                                 "start %s, before which %s is asked (the log of hugeplan-learn@%s.service "
                                 "tells what came of it); or give Memory= or Pages=",
                                 config->unit ? config->unit : "the database",
                                 config->engine->title, config->name));
}

static Reason fill_automatic(const Context *context, const InstanceConfig *config,
                             DemandOption *option) {
        const Figure *figure = find_figure(context, config, option);
        uint64_t pages = page_counts_find(&config->learned.pages, option->page_size_bytes);

        if (figure && !figure->wrong) {
                option->sizing = figure->sizing;
                option->pages = figure->sizing.pages;
                return (Reason){};
        }
        if (pages == 0)
                return refuse_unknown(context, config, figure);
        take_pages(option, pages);
        option->sizing.is_exact = config->learned.is_exact;
        option->sizing.caveat = "Learned at the last start; found out anew before each start.";
        return (Reason){};
}

/* ---- a size that was given ---- */

static Reason fill_sized(Arena *arena, const InstanceConfig *config, DemandOption *option) {
        uint64_t memory_bytes = memory_asked(config);
        const char *wrong = size_by_engine(arena, config, memory_bytes, option);

        if (wrong)
                return refuse(REASON_ENGINE_SIZE, wrong, "mend it, or give the number by Pages=");
        option->pages = option->sizing.pages;
        if (config->n_node_memory > 0)
                split_pages(arena, config, memory_bytes, option);
        return (Reason){};
}

static Reason fill_option(const Context *context, const InstanceConfig *config,
                          DemandOption *option) {
        option->sizing.page_size_bytes = option->page_size_bytes;
        if (config->memory_kind == MEMORY_AUTO)
                return fill_automatic(context, config, option);
        return config->pages.n > 0 ? fill_given(context->arena, config, option)
                                   : fill_sized(context->arena, config, option);
}

/* More than was reserved would be earmarked out of what is reserved for others. */
static Reason check_mount(Arena *arena, const InstanceConfig *config, const DemandOption *option) {
        uint64_t bytes = config->mount ? config->mount->min_size_bytes : 0;
        uint64_t pages = div_round_up(bytes, option->page_size_bytes);

        if (pages <= option->pages)
                return (Reason){};
        return refuse(REASON_CONFIG,
                      arena_printf(arena,
                                   "min_size= of Mount= earmarks %s pages of %s, and only %s are "
                                   "reserved for the instance",
                                   format_count(arena, pages),
                                   format_page_size(arena, option->page_size_bytes),
                                   format_count(arena, option->pages)),
                      "lower min_size=, or reserve more by Memory= or Pages=");
}

/* One page size that the host has, if the engine can use it; else why not. */
static Reason try_option(const Context *context, const InstanceConfig *config,
                         uint64_t page_size_bytes, DemandOption *option) {
        Arena *arena = context->arena;

        *option = (DemandOption){.page_size_bytes = page_size_bytes};
        if (config->engine->uses_default_size &&
            page_size_bytes != context->topology->default_page_size_bytes)
                return refuse(
                        REASON_ENGINE_SIZE,
                        arena_printf(arena, "%s uses the host's default page size only, not %s",
                                     config->engine->title,
                                     format_page_size(arena, page_size_bytes)),
                        "write PageSize=default, or change default_hugepagesz= on the kernel command line");
        Reason reason = fill_option(context, config, option);

        return reason.kind != REASON_NONE ? reason : check_mount(arena, config, option);
}

static Reason refuse_sizes(Arena *arena, const Topology *topology, const Text *missing) {
        return refuse(
                REASON_NO_PAGE_SIZE,
                arena_printf(arena, "this kernel and CPU have no huge pages of %s (they have %s)",
                             text_string(missing), topology_page_size_names(arena, topology)),
                "write a size that is there in PageSize=, or boot with hugepagesz= where the CPU has the size");
}

/* The page sizes that are of use, in order of preference; a reason only when there is none. */
static Reason fill_options(const Context *context, const InstanceConfig *config,
                           DemandInstance *instance) {
        const Topology *topology = context->topology;
        Arena *arena = context->arena;
        Text missing = text_in(arena);
        Reason first = {};

        instance->options = ARENA_ARRAY(arena, DemandOption, config->n_page_sizes);
        for (size_t i = 0; i < config->n_page_sizes; i++) {
                uint64_t bytes = config->page_sizes[i] ? config->page_sizes[i]
                                                       : topology->default_page_size_bytes;

                if (topology_page_size_index(topology, bytes) < 0) {
                        text_add_item(&missing, format_page_size(arena, bytes));
                        continue;
                }
                Reason reason =
                        try_option(context, config, bytes, &instance->options[instance->n_options]);

                if (reason.kind == REASON_NONE)
                        instance->n_options++;
                else if (first.kind == REASON_NONE)
                        first = reason;
                /* A mount has one page size, which is settled before anyone knows what can be had. */
                if (config->mount)
                        break;
        }
        if (instance->n_options > 0)
                return (Reason){};
        return first.kind != REASON_NONE ? first : refuse_sizes(arena, topology, &missing);
}

static Reason compute_instance(const Context *context, const InstanceConfig *config,
                               DemandInstance *instance) {
        const Topology *topology = context->topology;
        Arena *arena = context->arena;

        if (config->refusal)
                return refuse(REASON_CONFIG,
                              diag_format(arena, &(Diag){.file = config->refusal->file,
                                                         .line = config->refusal->line,
                                                         .key = config->refusal->key,
                                                         .text = config->refusal->text}),
                              config->refusal->remedy);
        if (!config->engine->reserves)
                return (Reason){};
        if (topology->n_page_sizes == 0)
                return refuse(REASON_NO_HUGETLB,
                              "this kernel has no huge pages (no "
                              "hugetlb support)",
                              "boot a kernel with CONFIG_HUGETLBFS on a CPU that has huge pages");
        instance->nodes = named_nodes(config, topology);
        Reason reason = check_nodes(arena, topology, &instance->nodes);

        return reason.kind != REASON_NONE ? reason : fill_options(context, config, instance);
}

/* Of the nodes that there are; who has no unit gets none. */
static MemoryPolicy policy_of(const Config *config, const Topology *topology,
                              const InstanceConfig *instance) {
        MemoryPolicy policy = {.kind = MEMORY_POLICY_ANY};
        IdSet with_memory = topology_memory_nodes(topology);

        if (instance->unit)
                policy = unit_policy(config, instance->unit);
        policy.nodes = id_set_common(&policy.nodes, &with_memory);
        return policy;
}

Demand *demand_compute(Arena *arena, const Config *config, const Topology *topology,
                       const Figures *figures) {
        const Context context = {arena, topology, figures};
        Demand *demand = ARENA_NEW(arena, Demand);

        demand->n_instances = config->n_instances;
        demand->instances =
                ARENA_ARRAY(arena, DemandInstance, MAX(config->n_instances, (size_t) 1));
        for (size_t i = 0; i < config->n_instances; i++) {
                DemandInstance *instance = &demand->instances[i];

                instance->config = &config->instances[i];
                instance->policy = policy_of(config, topology, instance->config);
                instance->reason = compute_instance(&context, instance->config, instance);
                if (instance->reason.kind != REASON_NONE)
                        instance->n_options = 0;
        }
        return demand;
}
