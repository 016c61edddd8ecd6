/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/demand.h"

#include "base/index.h"
#include "base/size.h"
#include "base/text.h"
#include "demand/learned.h"
#include "demand/unit_policy.h"

typedef struct Context {
        Arena *arena;
        const Config *config;
        const Topology *topology;
        Index *figures; /* by instance */
} Context;

static Reason refuse(ReasonKind kind, const char *text, const char *remedy) {
        return (Reason){kind, text, remedy};
}

/* Returns "Memory= in /etc/hugeplan.d/20-pg.conf:4". */
static const char *format_key(Arena *arena, const InstanceConfig *config, const char *key) {
        const ConfigOrigin *origin = config_find_origin(config, key);

        return origin ? arena_printf(arena, "%s= in %s:%u", key, origin->file, origin->line)
                      : arena_printf(arena, "%s= in %s", key, config->file);
}

static Reason check_nodes(Arena *arena, const Topology *topology, const InstanceConfig *config,
                          const IdSet *nodes) {
        IdSet memory_nodes = topology_memory_nodes(topology);
        const char *line = topology->kernel_command_line;

        ID_SET_FOREACH(id, nodes) {
                const Node *node = topology_node(topology, id);
                const char *wrong = "does not exist";

                if (node)
                        wrong = node->has_memory ? NULL : "has no memory";
                else if (id_set_has(&topology->possible_nodes, id))
                        wrong = "is offline";
                if (wrong)
                        return refuse(
                                REASON_NODE_ABSENT, arena_printf(arena, "node %u %s", id, wrong),
                                arena_printf(arena, "%scorrect %s; nodes with memory: %s",
                                             !node && line && text_has_word(line, "numa=off")
                                                     ? "boot without numa=off, or "
                                                     : "",
                                             format_key(arena, config,
                                                        config->has_nodes ? "Nodes" : "NodeMemory"),
                                             id_set_format(arena, &memory_nodes)));
                if (!id_set_has(&topology->allowed_nodes, id))
                        return refuse(
                                REASON_OUTSIDE_CPUSET,
                                arena_printf(
                                        arena,
                                        "hugeplan's own cpuset does not contain node %u, so the kernel would reserve no pages there",
                                        id),
                                "remove AllowedMemoryNodes= from hugeplan.service");
        }
        return (Reason){};
}

bool demand_nodes_may_come(const Topology *topology, const InstanceConfig *config) {
        const IdSet with_memory = topology_memory_nodes(topology);
        const IdSet named = instance_named_nodes(config, &with_memory);

        return id_set_is_subset(&named, &topology->possible_nodes);
}

/* ---- Pages= ---- */

static void take_pages(DemandOption *option, uint64_t pages) {
        option->pages = pages;
        option->sizing.pages = pages;
        option->sizing.bytes = mul_saturated(pages, option->page_size_bytes);
        option->sizing.is_exact = true;
        option->sizing.source = SIZING_GIVEN;
}

/* ---- Memory=auto ---- */

static Reason refuse_unknown(Arena *arena, const InstanceConfig *config, const Figure *figure) {
        if (config->engine->has_auto_by_looking)
                return refuse(
                        REASON_SIZE_UNKNOWN,
                        "its size is not known before it has run once: nothing is reserved "
                        "for this start, and it does not wait",
                        arena_printf(
                                arena,
                                "start %s, and run 'hugeplanctl learn %s' while it runs, which measures what it has mapped, including shared memory in small pages; if the program does not start without huge pages, set Memory= or Pages= for the first start",
                                config->unit ? config->unit : "it by a unit, named in Unit=",
                                config->name));
        return refuse(
                REASON_SIZE_UNKNOWN,
                arena_printf(arena, "its size is not known yet: %s",
                             figure ? figure->wrong : "nothing was learned at an earlier start"),
                figure && figure->gathered && figure->gathered->remedy
                        ? figure->gathered->remedy
                        : arena_printf(
                                  arena,
                                  "%sstart %s, before which %s is asked (see the unit's log for the result); or set Memory= or Pages=",
                                  figure ? "correct that, and run hugeplanctl reload or " : "",
                                  config->unit ? config->unit : "the database",
                                  config->engine->title));
}

static Reason fill_automatic(const Context *context, const InstanceConfig *config,
                             DemandOption *option) {
        const Learned *learned = &config->learned;
        const Figure *figure = NULL;
        FigureBasis basis = {learned->version, learned->settings};
        uint64_t pages = page_counts_find(&learned->pages, option->page_size_bytes);

        INDEX_FOREACH(entry, context->figures, config->name) {
                const Figure *known = entry->value;

                if (!figure &&
                    (known->wrong || known->sizing.page_size_bytes == option->page_size_bytes))
                        figure = known;
        }
        bool is_found = figure && !figure->wrong, is_known = is_found || pages > 0;

        if (is_found) {
                option->sizing = figure->sizing;
                if (figure->gathered)
                        basis = figure->basis;
        } else if (pages > 0) {
                take_pages(option, pages);
                option->sizing.is_exact = learned->is_exact;
                option->sizing.source = SIZING_LEARNED;
                option->sizing.caveat =
                        "Learned at the last start; determined again before each start.";
        }
        /* A gate's figure (SIZING_LEARNED) includes what was seen already. */
        if (!(is_found && figure->sizing.source == SIZING_LEARNED))
                is_known = seen_apply(context->arena, config, &basis, &option->sizing) || is_known;
        if (!is_known)
                return refuse_unknown(context->arena, config, figure);
        option->pages = option->sizing.pages;
        return bound_check(context->arena, context->config, config, context->topology,
                           &(PageCount){option->page_size_bytes, option->pages});
}

/* ---- Memory= ---- */

const char *demand_add_version(Arena *arena, const InstanceConfig *config, Settings *settings) {
        const EngineFormula *formula = engine_formula(config->engine);
        const char *version = config->unit && formula->unit_version
                                      ? formula->unit_version(arena, config->unit)
                                      : NULL;

        if (!version || settings_find(settings, "server_version"))
                return NULL;
        settings_add(arena, settings, "server_version", version, config->unit);
        return version;
}

static Reason fill_sized(const Context *context, const InstanceConfig *config,
                         DemandOption *option) {
        Arena *arena = context->arena;
        uint64_t memory_bytes = instance_memory_bytes(config);
        const char *name = config->engine->memory_setting;
        Settings settings = {};

        /* The setting that Memory= stands for, in plain bytes, which every engine's parser takes. */
        settings_add(
                arena, &settings, name ? name : "memory",
                arena_printf(arena, "%" PRIu64 "%s", memory_bytes, name ? "B" : ""),
                format_key(arena, config, config->n_node_memory > 0 ? "NodeMemory" : "Memory"));
        settings_add_host(arena, &settings, context->topology->n_cpus,
                          context->topology->base_page_bytes);
        const char *version = demand_add_version(arena, config, &settings);
        const char *wrong = engine_size(config->engine, arena, &settings, option->page_size_bytes,
                                        &option->sizing);

        if (wrong)
                return refuse(REASON_ENGINE_SIZE, wrong, "correct it, or set the number by Pages=");
        if (version)
                option->sizing.caveat = arena_printf(arena,
                                                     "for version %s, as in the name of %s: %s",
                                                     version, config->unit, option->sizing.caveat);
        option->pages = option->sizing.pages;
        /* NodeMemory= gives the proportions; what the engine adds is split the same way. Parts are rounded so that they
         * add up: each takes its share of what is left. */
        uint64_t pages_left = option->pages, bytes_left = memory_bytes;

        ARRAY_FOREACH(part, config->node_memory, config->n_node_memory) {
                uint64_t pages = bytes_left == 0 ? 0
                                                 : mul_div_up(pages_left, part->bytes, bytes_left);

                *vec_push(arena, &option->split) = (NodePages){part->node, pages};
                pages_left -= pages;
                bytes_left -= part->bytes;
        }
        return (Reason){};
}

/* Fills OPTION for a page size of the host; returns the reason if the engine cannot use that size. */
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
        uint64_t pages = page_counts_find(&config->pages, page_size_bytes);
        Reason reason = {};

        option->sizing.page_size_bytes = page_size_bytes;
        if (config->memory_kind == MEMORY_AUTO)
                reason = fill_automatic(context, config, option);
        else if (config->pages.n == 0)
                reason = fill_sized(context, config, option);
        else if (pages > 0)
                take_pages(option, pages);
        else
                reason = refuse(REASON_CONFIG,
                                arena_printf(arena, "Pages= has no number for pages of %s",
                                             format_page_size(arena, page_size_bytes)),
                                "add it to Pages=, or write PageSize= with the sizes of Pages=");
        if (reason.kind != REASON_NONE)
                return reason;
        /* If more than is reserved were earmarked, pages reserved for others would be. */
        uint64_t earmarked =
                config->mount ? div_round_up(config->mount->min_size_bytes, page_size_bytes) : 0;

        if (earmarked <= option->pages)
                return (Reason){};
        return refuse(
                REASON_CONFIG,
                arena_printf(
                        arena,
                        "min_size= of Mount= earmarks %s, and only %s reserved for the instance",
                        format_page_count(arena, earmarked, page_size_bytes),
                        format_count(arena, option->pages)),
                "lower min_size=, or reserve more by Memory= or Pages=");
}

/* Fills the options of usable page sizes in order of preference; returns a reason only if there are none. */
static Reason fill_options(const Context *context, const InstanceConfig *config,
                           DemandInstance *instance) {
        const Topology *topology = context->topology;
        Arena *arena = context->arena;
        Text missing = text_in(arena);
        Reason first = {};

        instance->options = ARENA_ARRAY(arena, DemandOption, config->n_page_sizes);
        ARRAY_FOREACH(each, config->page_sizes, config->n_page_sizes) {
                uint64_t bytes = *each ? *each : topology->default_page_size_bytes;

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
                /* A mount has one page size, which is fixed before it is known which pages are available. */
                if (config->mount)
                        break;
        }
        if (instance->n_options > 0)
                return (Reason){};
        if (first.kind != REASON_NONE)
                return first;
        return refuse(
                REASON_NO_PAGE_SIZE,
                arena_printf(arena, "this kernel and CPU have no huge pages of %s (they have %s)",
                             text_string(&missing), topology_page_size_names(arena, topology)),
                "write an existing size in PageSize=, or boot with hugepagesz= if the CPU has the size");
}

static Reason compute_instance(const Context *context, DemandInstance *instance) {
        const InstanceConfig *config = instance->config;
        const Topology *topology = context->topology;
        const IdSet with_memory = topology_memory_nodes(topology);

        if (config->refusal) {
                Diag diag = *config->refusal;

                diag.remedy = NULL;
                return refuse(REASON_CONFIG, diag_format(context->arena, &diag),
                              config->refusal->remedy);
        }
        if (!config->engine->reserves)
                return (Reason){};
        if (topology->has_no_sysfs)
                return refuse(REASON_NO_PAGE_SIZE,
                              "the huge pages of this kernel are not known without sysfs, as in a "
                              "plain chroot",
                              "mount sysfs at /sys");
        if (topology->n_page_sizes == 0)
                return refuse(REASON_STANDS_ASIDE,
                              "this kernel has no huge pages (no hugetlb support): hugeplan "
                              "reserves none, and units start without them",
                              "boot a kernel with CONFIG_HUGETLBFS on a CPU that has huge pages");
        instance->nodes = instance_named_nodes(config, &with_memory);
        Reason reason = check_nodes(context->arena, topology, config, &instance->nodes);

        return reason.kind != REASON_NONE ? reason : fill_options(context, config, instance);
}

Demand *demand_compute(Arena *arena, const Config *config, const Topology *topology,
                       const Figures *figures) {
        const Context context = {arena, config, topology,
                                 INDEX_OF(arena, figure, figures ? figures->items : NULL,
                                          figures ? figures->n : 0, figure->instance)};
        IdSet with_memory = topology_memory_nodes(topology);
        Demand *demand = ARENA_NEW(arena, Demand);

        demand->n_instances = config->n_instances;
        demand->instances = ARENA_ARRAY(arena, DemandInstance, config->n_instances);
        for (size_t i = 0; i < config->n_instances; i++) {
                DemandInstance *instance = &demand->instances[i];

                instance->config = &config->instances[i];
                /* The policy's nodes are those with memory; an instance without a unit has no policy. */
                instance->policy = instance->config->unit
                                           ? unit_policy(config, instance->config->unit)
                                           : (MemoryPolicy){.kind = MEMORY_POLICY_ANY};
                instance->policy.nodes = id_set_common(&instance->policy.nodes, &with_memory);
                instance->reason = compute_instance(&context, instance);
        }
        return demand;
}
