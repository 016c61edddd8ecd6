/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What must hold of every plan, on thousands of random hosts.
 *
 * The oracle below computes everything again in the simplest way. It uses the grants of a plan, but never the planner's
 * opinion of what fits, and goes through the instances in the order in which they are served:
 *   1. running units keep the pages that they were started with, as far as their pools can have them;
 *   2. instances whose file is refused keep their pages;
 *   3. instances whose unit runs with the same demand, then the others, each by priority and name: an instance is
 *      served whole with the first of its page sizes that fits at its turn, or not at all; pages that its unit keeps
 *      on a pool count towards its demand;
 *   4. of those that were not served, instances with Shortage=degrade get a part of what is left, in the same order.
 * Instances with Memory=auto together get at most a share of each node, except for pages that running units keep.
 * A part stays with its instance: pages that its unit keeps precede all other instances, the rest precedes instances
 * that are no more important. A node that is short of KeepFree= gets back the pages of parts that no unit keeps, until
 * it is no longer short.
 *
 * plan/promise determines the pages of others and how many pages may be given back. history/checks.c proves that no
 * process loses pages by that. Pools get cover only if an instance would otherwise lack pages or lose them according to
 * promises_admit() and promises_exposures(). */

#include "property/random.h"

#include "base/size.h"
#include "plan/plan.h"
#include "plan/promise/balance.h"
#include "support/testing.h"

enum { NODES_MAX = 16, SIZES_MAX = 3, INSTANCES_MAX = 20, HOLDS_MAX = 32, STEADY_ROUNDS_MAX = 100 };

typedef struct World {
        uint64_t seed;
        Random random;
        Arena *arena;
        Topology *topology;
        Config config;
        Demand *demand;
        Ledger *ledger;
        HostUse *use; /* NULL: unknown */
        PlanStartings starting;
        bool is_restarted;
        PoolLimits *limits;
        Plan *plan;
        /* Of the oracle. */
        Promises promises[SIZES_MAX];
        uint64_t others[NODES_MAX][SIZES_MAX]; /* in use or reserved by unknown processes */
        uint64_t *kept; /* by index of the pool: pages beyond the plan that cannot be given back */
} World;

/* ---- showing a world ---- */

static void print_world(const World *world) {
        for (size_t i = 0; i < world->topology->n_nodes; i++) {
                const Node *node = &world->topology->nodes[i];

                print_error("  node %u: %s, %s free, %s cache\n", node->id,
                            format_size(world->arena, node->memory_bytes),
                            format_size(world->arena, node->free_bytes),
                            format_size(world->arena, node->reclaimable_bytes));
        }
        ARRAY_FOREACH(pool, world->plan->pools, world->plan->n_pools) {
                const Pool *now = topology_pool(world->topology, pool->node, pool->page_size_bytes);

                print_error("  pool %u/%s: found %" PRIu64 " others %" PRIu64 " granted %" PRIu64
                            " cover %" PRIu64 " spare %" PRIu64 " from %" PRIu64 " to %" PRIu64
                            " (total %" PRIu64 " free %" PRIu64 " surplus %" PRIu64 ")\n",
                            pool->node, format_page_size(world->arena, pool->page_size_bytes),
                            pool->found_pages, pool->others_pages, pool->granted_pages,
                            pool->cover_pages, pool->spare_pages, pool->from_pages, pool->to_pages,
                            now->total_pages, now->free_pages, now->surplus_pages);
        }
        print_error("%s", ledger_format(world->arena, world->ledger));
        for (size_t k = 0; k < world->topology->n_page_sizes; k++)
                print_error("  reserved %" PRIu64 " of %s, unknown %" PRIu64 "\n",
                            world->topology->page_sizes[k].reserved_pages,
                            format_page_size(world->arena, world->topology->page_sizes[k].bytes),
                            world->promises[k].unknown_pages);
        ARRAY_FOREACH(planned, world->plan->instances, world->plan->n_instances) {
                Arena *arena = world->arena;
                const InstanceConfig *config = planned->demand->config;

                print_error("  %s (%s): priority %u, %s, %s, nodes %s%s%s%s, %" PRIu64
                            " of %" PRIu64 " pages of %s: %s (%s)\n",
                            config->name, config->unit ? config->unit : "-", config->priority,
                            placement_names[config->placement], shortage_names[config->shortage],
                            id_set_format(arena, &planned->demand->nodes),
                            config->n_node_memory > 0 ? ", split" : "",
                            planned->hold ? ", runs" : "", config->refusal ? ", refused" : "",
                            planned->pages_granted, planned->pages_wanted,
                            format_page_size(arena, planned->page_size_bytes),
                            grants_text(arena, world->plan, config->name),
                            reason_id(planned->reason.kind));
        }
}

#define REQUIRE(world, holds, ...)                                                               \
        do {                                                                                     \
                if (!(holds)) {                                                                  \
                        print_error("HUGEPLAN_SEED=%" PRIu64 ": %s\n  ", (world)->seed, #holds); \
                        print_error(__VA_ARGS__);                                                \
                        print_error("\n");                                                       \
                        print_world(world);                                                      \
                        _fail(__FILE__, __LINE__);                                               \
                }                                                                                \
        } while (0)

#define REQUIRE_OF(world, planned, holds) \
        REQUIRE(world, holds, "%s", (planned)->demand->config->name)

/* ---- making a world ---- */

static uint64_t draw(World *world, uint64_t first, uint64_t last) {
        return random_between(&world->random, first, last);
}

static bool chance(World *world, unsigned percent) {
        return random_chance(&world->random, percent);
}

static void make_pool(World *world, Pool *pool, uint64_t node_bytes) {
        uint64_t most = MIN(node_bytes / pool->page_size_bytes, UINT64_C(4000));

        pool->exists = chance(world, 96);
        if (!pool->exists || chance(world, 40))
                return;
        pool->total_pages = draw(world, 0, most);
        pool->free_pages = chance(world, 50) ? pool->total_pages
                                             : draw(world, 0, pool->total_pages);
        if (chance(world, 20))
                pool->surplus_pages = draw(world, 0, pool->total_pages);
}

static void make_node(World *world, Node *node, unsigned id) {
        *node = (Node){.id = id};
        if (!chance(world, 10))
                node->memory_bytes = draw(world, 100, 65536) * MIB;
        node->has_memory = node->memory_bytes > 0;
        node->free_bytes = draw(world, 0, node->memory_bytes / KIB) * KIB;
        node->reclaimable_bytes = draw(world, 0, (node->memory_bytes - node->free_bytes) / KIB) *
                                  KIB;
        node->pools = ARENA_ARRAY(world->arena, Pool, SIZES_MAX + 1);
        for (size_t k = 0; k < world->topology->n_page_sizes; k++) {
                node->pools[k].page_size_bytes = world->topology->page_sizes[k].bytes;
                make_pool(world, &node->pools[k], node->memory_bytes);
        }
}

static void make_page_sizes(World *world) {
        static const uint64_t all[] = {GIB, 32 * MIB, 2 * MIB, 64 * KIB};
        Topology *topology = world->topology;

        topology->page_sizes = ARENA_ARRAY(world->arena, PageSize, ARRAY_LEN(all));
        for (size_t i = 0; i < ARRAY_LEN(all) && topology->n_page_sizes < SIZES_MAX; i++)
                if (chance(world, 50) || (i == 3 && topology->n_page_sizes == 0))
                        topology->page_sizes[topology->n_page_sizes++].bytes = all[i];
        topology->default_page_size_bytes = topology->page_sizes[topology->n_page_sizes - 1].bytes;
}

static void make_topology(World *world) {
        Topology *topology = world->topology = ARENA_NEW(world->arena, Topology);
        size_t n = draw(world, 1, chance(world, 50) ? 3 : NODES_MAX);
        unsigned id = 0;

        topology->is_numa = true;
        topology->base_page_bytes = 4 * KIB;
        topology->boot_id = "boot";
        make_page_sizes(world);
        topology->nodes = ARENA_ARRAY(world->arena, Node, n);
        for (size_t i = 0; i < n; i++) {
                id += chance(world, 20) ? (unsigned) draw(world, 1, 60) : 0;
                make_node(world, &topology->nodes[topology->n_nodes++], id++);
        }
        for (unsigned node = 0; node < ID_SET_MAX; node++) {
                id_set_add(&topology->possible_nodes, node);
                if (node >= id || !chance(world, 1))
                        id_set_add(&topology->allowed_nodes, node);
        }
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                for (size_t i = 0; i < topology->n_nodes; i++)
                        size->free_pages +=
                                topology->nodes[i].pools[size - topology->page_sizes].free_pages;
                if (chance(world, 30))
                        size->reserved_pages = draw(world, 0, size->free_pages);
        }
}

static void make_host_config(World *world) {
        world->config.host = (HostConfig){
                .keep_free = chance(world, 50) ? (Amount){.is_share = true,
                                                          .hundredths = draw(world, 100, 6000)}
                                               : (Amount){.bytes = draw(world, 64, 4096) * MIB},
                .may_reclaim = chance(world, 70),
                .existing_pages = chance(world, 25) ? EXISTING_KEEP : EXISTING_USE,
        };
}

static const Node *random_node(World *world) {
        return &world->topology->nodes[draw(world, 0, world->topology->n_nodes - 1)];
}

static void make_amount(World *world, InstanceConfig *instance) {
        if (chance(world, 15)) {
                instance->node_memory =
                        ARENA_ARRAY(world->arena, NodeMemory, world->topology->n_nodes);
                for (size_t i = 0; i < world->topology->n_nodes; i++)
                        if (world->topology->nodes[i].has_memory && chance(world, 40))
                                instance->node_memory[instance->n_node_memory++] = (NodeMemory){
                                        world->topology->nodes[i].id, draw(world, 1, 4096) * MIB};
        }
        if (instance->n_node_memory > 0)
                return;
        if (chance(world, 40)) {
                *vec_push(world->arena, &instance->pages) =
                        (PageCount){.pages = chance(world, 3) ? random_bits(&world->random) | 1
                                                              : draw(world, 1, 3000)};
                return;
        }
        instance->memory_kind = MEMORY_BYTES;
        instance->memory_bytes = draw(world, 1, chance(world, 30) ? 65536 : 2048) * MIB;
}

/* Makes some sizes learned. Uses its own random numbers, so that the rest of the world does not change. */
static void make_learned(World *world) {
        Random random = {world->seed ^ UINT64_C(0x6175746f)};

        world->config.host.auto_memory =
                random_chance(&random, 50)
                        ? (Amount){.is_share = true,
                                   .hundredths = random_between(&random, 0, 10000)}
                        : (Amount){.bytes = random_between(&random, 0, 16384) * MIB};
        for (size_t i = 0; i < world->config.n_instances; i++) {
                InstanceConfig *instance = &world->config.instances[i];

                if (instance->n_node_memory > 0 || !random_chance(&random, 25))
                        continue;
                instance->memory_kind = MEMORY_AUTO;
                instance->memory_bytes =
                        random_chance(&random, 30) ? random_between(&random, 1, 8192) * MIB : 0;
                instance->pages = (PageCounts){};
                *vec_push(world->arena, &instance->learned.pages) =
                        (PageCount){.pages = random_between(&random, 1, 3000)};
        }
}

static void make_nodes(World *world, InstanceConfig *instance) {
        if (chance(world, 50) && instance->placement != PLACEMENT_BIND)
                return;
        instance->has_nodes = true;
        for (size_t i = 0; i < world->topology->n_nodes; i++)
                if (world->topology->nodes[i].has_memory && chance(world, 50))
                        id_set_add(&instance->nodes, world->topology->nodes[i].id);
        if (id_set_is_empty(&instance->nodes) || chance(world, 3))
                id_set_add(&instance->nodes, random_node(world)->id);
}

static void make_instance(World *world, InstanceConfig *instance, size_t i) {
        static const Diag refusal = {.file = "x.conf", .text = "broken"};
        const Topology *topology = world->topology;

        *instance = (InstanceConfig){
                .name = arena_printf(world->arena, "i%02zu", i),
                .file = "x.conf",
                .engine = engine_find(chance(world, 20) ? "postgresql" : "generic"),
                .placement = (Placement) draw(world, 0, PLACEMENTS - 1),
                .shortage = chance(world, 40) ? SHORTAGE_DEGRADE : SHORTAGE_REFUSE,
                .priority = (unsigned) draw(world, 0, 4) * 25,
                .refusal = chance(world, 5) ? &refusal : NULL,
        };
        if (chance(world, 70))
                instance->unit =
                        arena_printf(world->arena, "u%02zu.service", chance(world, 85) ? i : i / 2);
        make_amount(world, instance);
        if (instance->n_node_memory == 0)
                make_nodes(world, instance);
        instance->n_page_sizes = draw(world, 1, 3);
        for (size_t k = 0; k < instance->n_page_sizes; k++)
                instance->page_sizes[k] =
                        chance(world, 30)
                                ? 0
                                : topology->page_sizes[draw(world, 0, topology->n_page_sizes - 1)]
                                          .bytes;
}

static void make_instances(World *world) {
        world->config.n_instances = draw(world, 1, chance(world, 50) ? 3 : INSTANCES_MAX);
        world->config.instances =
                ARENA_ARRAY(world->arena, InstanceConfig, world->config.n_instances);
        for (size_t i = 0; i < world->config.n_instances; i++)
                make_instance(world, &world->config.instances[i], i);
        make_learned(world);
        config_index(world->arena, &world->config);
        world->demand = demand_compute(world->arena, &world->config, world->topology, NULL);
}

/* An earlier grant: for the present demand, whole or in part, or for another demand. */
static LedgerInstance make_granted(World *world, const InstanceConfig *config) {
        const Topology *topology = world->topology;
        const DemandInstance *demand = &world->demand->instances[config - world->config.instances];
        uint64_t size = topology->page_sizes[draw(world, 0, topology->n_page_sizes - 1)].bytes;
        bool is_same = demand->n_options > 0 &&
                       chance(world, config->shortage == SHORTAGE_DEGRADE ? 90 : 50);
        const DemandOption *option =
                is_same ? &demand->options[draw(world, 0, demand->n_options - 1)] : NULL;
        LedgerInstance granted = {.name = config->name,
                                  .page_size_bytes = option ? option->page_size_bytes : size,
                                  .pages_wanted = option ? option->pages : 0,
                                  .placement = config->placement};
        uint64_t left = option ? option->pages : UINT64_MAX;

        for (size_t i = 0; i < topology->n_nodes && left > 0; i++)
                if (chance(world, 40)) {
                        uint64_t pages = MIN(left, draw(world, 1, 500));

                        *vec_push(world->arena, &granted.grants) =
                                (NodePages){topology->nodes[i].id, pages};
                        left -= pages;
                        if (!option)
                                granted.pages_wanted += pages;
                }
        return granted;
}

static void add_history(World *world, const InstanceConfig *config) {
        LedgerInstance *before = vec_push(world->arena, &world->ledger->instances);

        *before = make_granted(world, config);
        if (chance(world, 5)) {
                before->is_released = true;
                before->grants.n = 0;
        }
}

/* Pages of others in use when the previous plan was made. */
static void make_used_before(World *world) {
        VEC_FOREACH(pool, &world->ledger->pools) {
                const Pool *now = topology_pool(world->topology, pool->node, pool->page_size_bytes);

                if (chance(world, 90))
                        pool->others_pages =
                                chance(world, 50) ? 0 : draw(world, 0, pool_used_pages(now));
        }
}

/* Earlier rounds: pools with existing and added pages, and instances with grants. */
static void make_ledger(World *world) {
        world->ledger = ledger_new(world->arena, "boot");
        ledger_observe(world->arena, world->ledger, world->topology, NULL);
        if (chance(world, 40))
                return;
        VEC_FOREACH(pool, &world->ledger->pools) {
                pool->found_pages = chance(world, 20) ? pool->found_pages + draw(world, 0, 50)
                                                      : draw(world, 0, pool->found_pages);
                pool->set_pages = MAX(pool->set_pages, pool->found_pages);
        }
        ledger_observe(world->arena, world->ledger, world->topology, NULL);
        if (chance(world, 70))
                make_used_before(world);
        for (size_t i = 0; i < world->config.n_instances; i++)
                if (chance(world, 40))
                        add_history(world, &world->config.instances[i]);
}

static void make_limits(World *world) {
        world->limits = NULL;
        if (!chance(world, 30))
                return;
        world->limits = ARENA_NEW(world->arena, PoolLimits);
        for (size_t i = 0; i < world->topology->n_nodes; i++)
                for (size_t k = 0; k < world->topology->n_page_sizes; k++) {
                        const Pool *pool = &world->topology->nodes[i].pools[k];

                        if (pool->exists && chance(world, 30))
                                *vec_push(world->arena, world->limits) = (PoolLimit){
                                        .node = world->topology->nodes[i].id,
                                        .page_size_bytes = pool->page_size_bytes,
                                        .persistent_pages = pool_persistent_pages(pool) +
                                                            draw(world, 0, 200),
                                        .reason = {REASON_FRAGMENTED, "in pieces", "reboot"}};
                }
}

/* ---- running units ---- */

static MemoryPolicy make_policy(World *world) {
        MemoryPolicy policy = {.kind = (MemoryPolicyKind) draw(world, MEMORY_POLICY_UNKNOWN,
                                                               MEMORY_POLICY_INTERLEAVE)};

        if (policy.kind < MEMORY_POLICY_BIND)
                return policy;
        for (size_t i = 0; i < world->topology->n_nodes; i++)
                if (chance(world, 50))
                        id_set_add(&policy.nodes, world->topology->nodes[i].id);
        if (id_set_is_empty(&policy.nodes))
                id_set_add(&policy.nodes, random_node(world)->id);
        return policy;
}

/* A random part of the pages in use and reserved. The counts sometimes contradict each other, because the kernel's files
 * are read one after another. */
static void make_charge(World *world, UnitUse *unit, size_t k) {
        const Topology *topology = world->topology;
        UnitCharge *charge = vec_push(world->arena, &unit->charges);

        charge->page_size_bytes = topology->page_sizes[k].bytes;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                uint64_t most = pool_used_pages(&topology->nodes[i].pools[k]);
                uint64_t pages = chance(world, 50) ? draw(world, 0, chance(world, 5) ? 100 : most)
                                                   : 0;

                if (pages > 0)
                        pages_add_on(world->arena, &charge->used, topology->nodes[i].id, pages);
                charge->reserved_pages += pages;
        }
        charge->reserved_pages += draw(world, 0, topology->page_sizes[k].reserved_pages);
        if (chance(world, 5))
                charge->reserved_pages = draw(world, 0, 100);
}

static void make_unit(World *world, const char *name, bool is_counted) {
        UnitUse *unit;

        if (unit_use_find(world->use, name))
                return;
        unit = vec_push(world->arena, &world->use->units);
        *unit = (UnitUse){.unit = name, .is_running = true};
        if (chance(world, 15)) {
                unit->has_memory_nodes = true;
                id_set_add(&unit->memory_nodes, random_node(world)->id);
                id_set_add(&unit->memory_nodes, random_node(world)->id);
        }
        for (size_t k = 0; is_counted && k < world->topology->n_page_sizes; k++)
                if (chance(world, 90))
                        make_charge(world, unit, k);
}

static void add_hold(World *world, const char *unit, const LedgerInstance *granted) {
        const LedgerHold *first = ledger_hold(world->ledger, unit, NULL);
        LedgerHold hold = {
                .unit = unit,
                .run = "",
                .policy = first ? first->policy : make_policy(world),
                .is_counted = first ? first->is_counted : chance(world, 60),
                .granted = *granted,
        };

        if (world->ledger->holds.n < HOLDS_MAX)
                *vec_push(world->arena, &world->ledger->holds) = hold;
}

/* The unit runs with the ledger's grant, with another one, or without a hold; or it is about to start; or a reload keeps
 * its earlier grant. */
static void make_run(World *world, const InstanceConfig *config) {
        const LedgerInstance *recorded = ledger_instance(world->ledger, config->name);
        LedgerInstance granted = recorded && chance(world, 60) ? *recorded
                                                               : make_granted(world, config);

        if (config->unit && chance(world, 40)) {
                if (chance(world, 80))
                        add_hold(world, config->unit, &granted);
                make_unit(world, config->unit,
                          ledger_hold(world->ledger, config->unit, NULL) &&
                                  ledger_hold(world->ledger, config->unit, NULL)->is_counted);
        } else if (chance(world, 5)) {
                add_hold(world, "", &granted);
                world->ledger->holds.items[world->ledger->holds.n - 1].is_tentative = true;
        } else if (config->unit && chance(world, 5)) {
                *vec_push(world->arena, &world->starting) =
                        (PlanStarting){config->name, config->unit, "", make_policy(world)};
        }
}

/* A hold of an instance that no longer exists, or belonged to another unit. */
static void make_left(World *world, size_t i) {
        const InstanceConfig *like =
                &world->config.instances[draw(world, 0, world->config.n_instances - 1)];
        LedgerInstance granted = make_granted(world, like);
        const char *unit = arena_printf(world->arena, "left%zu.service", i);

        if (chance(world, 70))
                granted.name = arena_printf(world->arena, "left%zu", i);
        if (like->unit && chance(world, 20))
                unit = like->unit;
        add_hold(world, unit, &granted);
        make_unit(world, unit, ledger_hold(world->ledger, unit, NULL)->is_counted);
}

static void make_running(World *world) {
        if (chance(world, 30))
                return;
        world->use = ARENA_NEW(world->arena, HostUse);
        for (size_t i = 0; i < world->config.n_instances; i++)
                make_run(world, &world->config.instances[i]);
        for (size_t i = 0; i < 2; i++)
                if (chance(world, 20))
                        make_left(world, i);
        if (chance(world, 10)) /* counts are unknown */
                world->use->units.n = 0;
        world->is_restarted = chance(world, 5);
        ledger_observe(world->arena, world->ledger, world->topology,
                       chance(world, 95) ? world->use : NULL);
}

static PlanInput input_of(const World *world) {
        return (PlanInput){
                .host = &world->config.host,
                .demand = world->demand,
                .topology = world->topology,
                .ledger = world->ledger,
                .use = world->use,
                .limits = world->limits,
                .starting = &world->starting,
                .is_restarted = world->is_restarted,
        };
}

static Plan *make_plan(const World *world) {
        const PlanInput input = input_of(world);

        return plan_make(world->arena, &input);
}

static void compute_oracle(World *world);

static World world_make(uint64_t seed) {
        World world = {.seed = seed, .random = {seed}, .arena = arena_new()};

        make_topology(&world);
        make_host_config(&world);
        make_instances(&world);
        make_ledger(&world);
        make_running(&world);
        make_limits(&world);
        world.plan = make_plan(&world);
        compute_oracle(&world);
        return world;
}

/* ---- the oracle ---- */

static const LedgerHold *hold_of(const World *world, const PlanInstance *planned);

typedef struct Books {
        uint64_t granted[NODES_MAX][SIZES_MAX]; /* so far */
        uint64_t kept[HOLDS_MAX][NODES_MAX];    /* by running units, of their holds' page size */
        uint64_t unitless[INSTANCES_MAX][NODES_MAX][SIZES_MAX]; /* kept by instances without a unit */
        uint64_t own[INSTANCES_MAX][NODES_MAX];                 /* pages of instances, */
        size_t own_size[INSTANCES_MAX];                         /* of this size */
        uint64_t automatic[NODES_MAX]; /* bytes of learned sizes, without those that units keep */
} Books;

static size_t node_at(const World *world, unsigned id) {
        size_t i = 0;

        while (i < world->topology->n_nodes && world->topology->nodes[i].id != id)
                i++;
        return i;
}

static size_t size_at(const World *world, uint64_t bytes) {
        return (size_t) topology_page_size_index(world->topology, bytes);
}

/* Whether the unit runs without a hold. */
static bool is_assumed(const World *world, const char *unit) {
        return unit && world->use && unit_use_is_running(world->use, unit) &&
               !ledger_hold(world->ledger, unit, NULL) &&
               !VEC_ANY(starting, &world->starting, text_equals(starting->unit, unit));
}

static LedgerHolds holds_of_all(const World *world) {
        LedgerHolds holds = {};

        VEC_FOREACH(hold, &world->ledger->holds)
                if (!hold->is_tentative)
                        *vec_push(world->arena, &holds) = *hold;
        ARRAY_FOREACH(planned, world->plan->instances, world->plan->n_instances) { /* by name */
                const DemandInstance *demand = planned->demand;
                const LedgerInstance *known = ledger_instance(world->ledger, demand->config->name);

                if (!demand->config->unit && known) {
                        LedgerHold *hold = vec_push(world->arena, &holds);
                        uint64_t wanted = 0;

                        *hold = (LedgerHold){.policy = demand->policy,
                                             .granted = ledger_copy_instance(world->arena, known)};
                        for (size_t o = 0; o < demand->n_options; o++)
                                if (demand->options[o].page_size_bytes == known->page_size_bytes)
                                        wanted = demand->options[o].pages;
                        if (demand->n_options > 0 && wanted < ledger_granted_pages(known))
                                ledger_settle(hold, wanted, &(PagesByNode){});
                }
                if (demand->n_options > 0 && is_assumed(world, demand->config->unit))
                        *vec_push(world->arena, &holds) = (LedgerHold){
                                .unit = demand->config->unit,
                                .is_assumed = true,
                                .granted = {.name = demand->config->name,
                                            .page_size_bytes = demand->options[0].page_size_bytes,
                                            .pages_wanted = demand->options[0].pages}};
        }
        return holds;
}

static bool is_any_bound_to(const World *world, unsigned node, uint64_t bytes) {
        return ARRAY_ANY(demand, world->demand->instances, world->demand->n_instances,
                         demand->policy.kind == MEMORY_POLICY_BIND &&
                                 id_set_has(&demand->policy.nodes, node) &&
                                 ARRAY_ANY(option, demand->options, demand->n_options,
                                           option->page_size_bytes == bytes));
}

static uint64_t granted_on(const World *world, const LedgerInstance *granted, unsigned node,
                           size_t k) {
        return size_at(world, granted->page_size_bytes) == k ? ledger_pages_on(granted, node) : 0;
}

/* Pages for running units, and for instances beyond these, less those that are in use. */
static uint64_t reserved_on(const World *world, unsigned node, size_t k) {
        const Pool *pool = &world->topology->nodes[node_at(world, node)].pools[k];
        uint64_t pages = 0;

        VEC_FOREACH(hold, &world->ledger->holds)
                pages += world->is_restarted ? 0 : granted_on(world, &hold->granted, node, k);
        VEC_FOREACH(instance, &world->ledger->instances) {
                const PlanInstance *planned = plan_find(world->plan, instance->name);
                const LedgerHold *hold = planned ? hold_of(world, planned) : NULL;

                pages += sub_floored(granted_on(world, instance, node, k),
                                     hold ? granted_on(world, &hold->granted, node, k) : 0);
        }
        return sub_floored(pages, pool->total_pages - pool->free_pages -
                                          world->promises[k].others_used[node_at(world, node)]);
}

/* Attributes others' reservations to free pages: first to those that are not granted, then to nodes to which no instance
 * is bound, then to any; from the first node on. */
static void attribute_promises(World *world, size_t k) {
        uint64_t left = world->promises[k].others_promised_pages, attributed[NODES_MAX] = {};

        for (int pass = 0; pass < 3; pass++)
                for (size_t i = 0; i < world->topology->n_nodes; i++) {
                        const Node *node = &world->topology->nodes[i];
                        uint64_t can_give = node->pools[k].free_pages - attributed[i];

                        if (pass == 0)
                                can_give = sub_floored(can_give, reserved_on(world, node->id, k));
                        if (!node->pools[k].exists ||
                            (pass == 1 &&
                             is_any_bound_to(world, node->id, node->pools[k].page_size_bytes)))
                                can_give = 0;
                        can_give = MIN(can_give, left);
                        attributed[i] += can_give;
                        left -= can_give;
                }
        for (size_t i = 0; i < world->topology->n_nodes; i++)
                world->others[i][k] = world->promises[k].others_used[i] + attributed[i];
}

static void compute_oracle(World *world) {
        LedgerHolds holds = holds_of_all(world);

        for (size_t k = 0; k < world->topology->n_page_sizes; k++) {
                world->promises[k] = promises_make(world->arena, world->topology, k, &holds,
                                                   world->use, world->ledger);
                attribute_promises(world, k);
        }
}

static uint64_t naive_amount(const Amount *amount, const Node *node) {
        return amount->is_share ? node->memory_bytes / 10000 * amount->hundredths +
                                          node->memory_bytes % 10000 * amount->hundredths / 10000
                                : amount->bytes;
}

/* KeepFree= of a node, as documented. */
static uint64_t naive_keep(const World *world, const Node *node) {
        return MAX(naive_amount(&world->config.host.keep_free, node), 64 * MIB);
}

/* The memory of a node for new pages. */
static uint64_t naive_room(const World *world, const Node *node) {
        uint64_t has = node->free_bytes +
                       (world->config.host.may_reclaim ? node->reclaimable_bytes : 0);

        return node->has_memory ? sub_floored(has, naive_keep(world, node)) : 0;
}

static uint64_t persistent_of(const Pool *pool) {
        return pool->total_pages - pool->surplus_pages;
}

static uint64_t existing_in(const World *world, size_t i, size_t k) {
        const Pool *pool = &world->topology->nodes[i].pools[k];
        const LedgerPool *known =
                ledger_pool(world->ledger, world->topology->nodes[i].id, pool->page_size_bytes);

        return known ? MIN(known->found_pages, persistent_of(pool)) : persistent_of(pool);
}

/* Pages of a pool that cannot be granted: those of others, or all existing ones. */
static uint64_t naive_base(const World *world, size_t i, size_t k) {
        return world->config.host.existing_pages == EXISTING_KEEP
                       ? MAX(existing_in(world, i, k), world->others[i][k])
                       : world->others[i][k];
}

/* Surplus pages that become persistent are not new. */
static uint64_t new_pages(const World *world, const Books *books, size_t i, size_t k) {
        const Pool *pool = &world->topology->nodes[i].pools[k];

        return sub_floored(naive_base(world, i, k) + books->granted[i][k], pool->total_pages);
}

static uint64_t new_bytes(const World *world, const Books *books, size_t i) {
        uint64_t bytes = 0;

        for (size_t k = 0; k < world->topology->n_page_sizes; k++)
                bytes = add_saturated(bytes, mul_saturated(new_pages(world, books, i, k),
                                                           world->topology->page_sizes[k].bytes));
        return bytes;
}

static const PoolLimit *limit_of(const World *world, size_t i, size_t k) {
        return world->limits ? VEC_FIND(limit, world->limits,
                                        limit->node == world->topology->nodes[i].id &&
                                                size_at(world, limit->page_size_bytes) == k)
                             : NULL;
}

/* Whether PAGES more can be granted, by granting them. */
static bool fits(const World *world, Books *books, size_t i, size_t k, uint64_t pages) {
        const Node *node = &world->topology->nodes[i];
        const Pool *pool = &node->pools[k];
        const PoolLimit *limit = limit_of(world, i, k);
        bool is_fitting;

        if (pages == 0)
                return true;
        if (!pool->exists || pages > UINT64_C(1) << 50)
                return false;
        books->granted[i][k] += pages;
        is_fitting = new_bytes(world, books, i) <= naive_room(world, node);
        if (limit && new_pages(world, books, i, k) > 0 &&
            persistent_of(pool) + new_pages(world, books, i, k) > limit->persistent_pages)
                is_fitting = false;
        books->granted[i][k] -= pages;
        return is_fitting;
}

/* Pages of a pool that the unit of instance N keeps. */
static uint64_t kept_of(const World *world, const Books *books, size_t n, size_t i, size_t k) {
        const LedgerHold *hold = world->plan->instances[n].hold;

        return hold && size_at(world, hold->granted.page_size_bytes) == k &&
                               books->unitless[n][i][k] == 0
                       ? books->kept[hold - world->ledger->holds.items][i]
                       : books->unitless[n][i][k];
}

static uint64_t own_of(const Books *books, size_t n, size_t i, size_t k) {
        return books->own_size[n] == k ? books->own[n][i] : 0;
}

/* How many pages the pool needs in addition for PAGES more of instance N. */
static uint64_t more_for(const World *world, const Books *books, size_t n, size_t i, size_t k,
                         uint64_t pages) {
        uint64_t kept = kept_of(world, books, n, i, k), own = own_of(books, n, i, k);

        return MAX(kept, add_saturated(own, pages)) - MAX(kept, own);
}

static bool is_automatic(const World *world, size_t n) {
        const InstanceConfig *config = world->plan->instances[n].demand->config;

        return !config->refusal && config->memory_kind == MEMORY_AUTO;
}

/* The share of node I for learned sizes, as documented, less the pages that running units with such a size keep. */
static uint64_t naive_share(const World *world, const Books *books, size_t i) {
        uint64_t share = naive_amount(&world->config.host.auto_memory, &world->topology->nodes[i]);

        for (size_t n = 0; n < world->plan->n_instances; n++)
                for (size_t k = 0; is_automatic(world, n) && k < world->topology->n_page_sizes; k++)
                        share = sub_floored(share, kept_of(world, books, n, i, k) *
                                                           world->topology->page_sizes[k].bytes);
        return share;
}

static bool fits_for(const World *world, Books *books, size_t n, size_t i, size_t k,
                     uint64_t pages) {
        uint64_t more = more_for(world, books, n, i, k, pages);
        uint64_t bytes = mul_saturated(more, world->topology->page_sizes[k].bytes);

        if (more > 0 && is_automatic(world, n) && world->topology->nodes[i].memory_bytes > 0 &&
            add_saturated(books->automatic[i], bytes) > naive_share(world, books, i))
                return false;
        return fits(world, books, i, k, more);
}

static void enter(const World *world, Books *books, size_t n, size_t i, size_t k, uint64_t pages) {
        uint64_t more = more_for(world, books, n, i, k, pages);

        books->granted[i][k] += more;
        if (is_automatic(world, n))
                books->automatic[i] += more * world->topology->page_sizes[k].bytes;
        if (books->own_size[n] != k)
                memset(books->own[n], 0, sizeof(books->own[n]));
        books->own_size[n] = k;
        books->own[n][i] += pages;
}

/* Removes all pages of the instance from the books. */
static void leave(const World *world, Books *books, size_t n) {
        size_t k = books->own_size[n];

        for (size_t i = 0; i < world->topology->n_nodes; i++) {
                uint64_t fewer = sub_floored(books->own[n][i], kept_of(world, books, n, i, k));

                books->granted[i][k] -= fewer;
                if (is_automatic(world, n))
                        books->automatic[i] -= fewer * world->topology->page_sizes[k].bytes;
                books->own[n][i] = 0;
        }
}

/* The most pages that fit, by bisection: for instance N, or INSTANCES_MAX for any. */
static uint64_t capacity_for(const World *world, Books *books, size_t n, size_t i, size_t k) {
        uint64_t low = 0, high = UINT64_C(1) << 40;

        while (low < high) {
                uint64_t middle = low + (high - low + 1) / 2;

                if (n < INSTANCES_MAX ? fits_for(world, books, n, i, k, middle)
                                      : fits(world, books, i, k, middle))
                        low = middle;
                else
                        high = middle - 1;
        }
        return low;
}

/* An instance without a unit keeps, up to its grant, all pages that are attributed to such instances. */
static void keep_unitless(const World *world, Books *books, size_t k, const Promise *row) {
        const LedgerInstance *before = ledger_instance(world->ledger, row->unitless);
        size_t n = (size_t) (plan_find(world->plan, row->unitless) - world->plan->instances);
        uint64_t left = MIN(row->granted_pages, world->promises[k].all_unitless_pages);

        VEC_FOREACH(hold, &world->ledger->holds)
                if (hold->is_tentative && text_equals(hold->granted.name, row->unitless))
                        return;
        VEC_FOREACH(grant, &before->grants) {
                size_t i = node_at(world, grant->node);
                uint64_t pages = MIN(left, grant->pages);

                if (i == world->topology->n_nodes || !world->topology->nodes[i].pools[k].exists)
                        continue;
                left -= pages;
                pages = MIN(pages, capacity_for(world, books, INSTANCES_MAX, i, k));
                books->unitless[n][i][k] = pages;
                books->granted[i][k] += pages;
        }
}

/* Running units keep their pages as far as the pools have them or can have them again. */
static void keep_holds(const World *world, Books *books) {
        VEC_FOREACH(hold, &world->ledger->holds)
                VEC_FOREACH(grant, &hold->granted.grants) {
                        size_t i = node_at(world, grant->node);
                        size_t k = size_at(world, hold->granted.page_size_bytes);
                        uint64_t pages;

                        if (world->is_restarted || i == world->topology->n_nodes ||
                            !world->topology->nodes[i].pools[k].exists)
                                continue;
                        pages = MIN(grant->pages, capacity_for(world, books, INSTANCES_MAX, i, k));
                        books->kept[hold - world->ledger->holds.items][i] = pages;
                        books->granted[i][k] += pages;
                }
        for (size_t k = 0; k < world->topology->n_page_sizes && !world->is_restarted; k++)
                VEC_FOREACH(row, &world->promises[k].list)
                        if (row->unitless)
                                keep_unitless(world, books, k, row);
}

static bool option_fits(const World *world, Books *books, size_t n, const DemandOption *option) {
        size_t k = size_at(world, option->page_size_bytes);
        uint64_t sum = 0;

        for (size_t s = 0; s < option->split.n; s++)
                if (!fits_for(world, books, n, node_at(world, option->split.items[s].node), k,
                              option->split.items[s].pages))
                        return false;
        if (option->split.n > 0)
                return true;
        ID_SET_FOREACH(id, &world->plan->instances[n].demand->nodes)
                sum += capacity_for(world, books, n, node_at(world, id), k);
        return sum >= option->pages;
}

static void enter_grants(const World *world, Books *books, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];
        size_t k = size_at(world, planned->page_size_bytes);

        for (size_t g = 0; g < planned->grants.n; g++) {
                size_t i = node_at(world, planned->grants.items[g].node);

                REQUIRE(world, fits_for(world, books, n, i, k, planned->grants.items[g].pages),
                        "%s on node %u", planned->demand->config->name,
                        planned->grants.items[g].node);
                enter(world, books, n, i, k, planned->grants.items[g].pages);
        }
}

static bool is_wanted(const DemandInstance *demand, const LedgerInstance *granted) {
        return granted && ARRAY_ANY(option, demand->options, demand->n_options,
                                    option->page_size_bytes == granted->page_size_bytes &&
                                            option->pages == granted->pages_wanted);
}

/* Whether CONFIG inherits a hold of its unit whose instance no longer exists: the first instance with the same demand and
 * without a hold of its own, else the first without one. */
static bool is_heir(const World *world, const InstanceConfig *config, const LedgerHold *hold) {
        const char *first = NULL, *alike = NULL;

        ARRAY_FOREACH(planned, world->plan->instances, world->plan->n_instances) { /* by name */
                const char *name = planned->demand->config->name;

                if (!text_equals(planned->demand->config->unit, hold->unit) ||
                    ledger_hold(world->ledger, hold->unit, name))
                        continue;
                first = first ? first : name;
                if (!alike && is_wanted(planned->demand, &hold->granted))
                        alike = name;
        }
        return text_equals(alike ? alike : first, config->name);
}

/* The hold of the instance, or the one that it inherits. */
static const LedgerHold *hold_of(const World *world, const PlanInstance *planned) {
        const InstanceConfig *config = planned->demand->config;
        const LedgerHold *other = NULL;

        if (world->is_restarted)
                return NULL;
        VEC_FOREACH(hold, &world->ledger->holds) {
                bool is_its = hold->is_tentative ||
                              (config->unit && text_equals(hold->unit, config->unit));

                if (is_its && text_equals(hold->granted.name, config->name))
                        return hold;
                if (is_its && !hold->is_tentative && !plan_find(world->plan, hold->granted.name))
                        other = hold;
        }
        return other && is_heir(world, config, other) ? other : NULL;
}

/* What the instance had before: the ledger's grant; or its unit's hold, if the grant is for another demand or was
 * released. */
static const LedgerInstance *past_of(const World *world, const PlanInstance *planned) {
        const LedgerInstance *before =
                ledger_instance(world->ledger, planned->demand->config->name);
        const LedgerHold *hold = hold_of(world, planned);

        return hold && (!is_wanted(planned->demand, before) || before->grants.n == 0)
                       ? &hold->granted
                       : before;
}

static bool is_same_as_before(const World *world, const PlanInstance *planned,
                              const DemandOption *option) {
        const LedgerInstance *before = past_of(world, planned);

        return before && before->page_size_bytes == option->page_size_bytes &&
               before->pages_wanted == option->pages;
}

/* Whether the unit runs with the instance's present demand. */
static bool is_held(const World *world, const PlanInstance *planned) {
        const LedgerHold *hold = hold_of(world, planned);

        return hold && is_wanted(planned->demand, &hold->granted);
}

static bool is_released(const World *world, const PlanInstance *planned) {
        const LedgerInstance *before =
                ledger_instance(world->ledger, planned->demand->config->name);

        return before && before->is_released;
}

/* An instance whose file is refused has what it had, on the nodes where that fits. */
static void enter_reserved(const World *world, Books *books, size_t n) {
        const LedgerInstance *before = past_of(world, &world->plan->instances[n]);
        size_t k = before ? size_at(world, before->page_size_bytes) : 0;

        for (size_t i = 0; before && i < world->topology->n_nodes; i++) {
                uint64_t pages = ledger_pages_on(before, world->topology->nodes[i].id);

                if (pages > 0 && fits_for(world, books, n, i, k, pages))
                        enter(world, books, n, i, k, pages);
        }
}

static bool comes_before(const PlanInstance *a, const PlanInstance *b) {
        const InstanceConfig *first = a->demand->config, *second = b->demand->config;

        return first->priority != second->priority ? first->priority > second->priority
                                                   : strcmp(first->name, second->name) < 0;
}

/* Indices in the order of service. */
static void order_by_priority(const Plan *plan, size_t *order) {
        for (size_t i = 0; i < plan->n_instances; i++) {
                size_t at = i;

                for (; at > 0 && comes_before(&plan->instances[i], &plan->instances[order[at - 1]]);
                     at--)
                        order[at] = order[at - 1];
                order[at] = i;
        }
}

/* ---- properties ---- */

/* Sums are right; grants are in order, not empty, and on the instance's nodes. */
static void check_bookkeeping(const World *world) {
        Books books = {};

        keep_holds(world, &books);
        for (size_t n = 0; n < world->plan->n_instances; n++) {
                const PlanInstance *planned = &world->plan->instances[n];
                uint64_t sum = 0;

                REQUIRE_OF(world, planned, planned->hold == hold_of(world, planned));
                for (size_t g = 0; g < planned->grants.n; g++) {
                        const NodePages *grant = &planned->grants.items[g];

                        REQUIRE_OF(world, planned, grant->pages > 0);
                        REQUIRE_OF(world, planned,
                                   g == 0 || planned->grants.items[g - 1].node < grant->node ||
                                           planned->demand->config->refusal);
                        if (!planned->demand->config->refusal)
                                REQUIRE_OF(world, planned,
                                           id_set_has(&planned->demand->nodes, grant->node));
                        enter(world, &books, n, node_at(world, grant->node),
                              size_at(world, planned->page_size_bytes), grant->pages);
                        sum += grant->pages;
                }
                REQUIRE_OF(world, planned, sum == planned->pages_granted);
        }
        ARRAY_FOREACH(pool, world->plan->pools, world->plan->n_pools) {
                size_t i = node_at(world, pool->node), k = size_at(world, pool->page_size_bytes);

                REQUIRE(world, pool->granted_pages == books.granted[i][k], "pool %u: %" PRIu64,
                        pool->node, books.granted[i][k]);
                REQUIRE(world, pool->others_pages == world->others[i][k], "pool %u: %" PRIu64,
                        pool->node, world->others[i][k]);
        }
}

/* Bytes of node I that will become pages. */
static uint64_t planned_bytes(const World *world, size_t i) {
        uint64_t bytes = 0;

        ARRAY_FOREACH(pool, world->plan->pools, world->plan->n_pools) {
                const Pool *now = topology_pool(world->topology, pool->node, pool->page_size_bytes);

                if (node_at(world, pool->node) == i)
                        bytes = add_saturated(
                                bytes, mul_saturated(sub_floored(pool->to_pages, now->total_pages),
                                                     pool->page_size_bytes));
        }
        return bytes;
}

/* Each pool gets the pages that it needs, and no existing or reserved page is removed. Pools are lowered from the first
 * node on. */
static void check_targets_of_size(const World *world, size_t k) {
        const uint64_t *free = topology_free_pages(world->arena, world->topology, k);
        Balance *balance = balance_new(world->arena, &world->promises[k], free, true);

        for (size_t i = 0; i < world->topology->n_nodes; i++) {
                const Pool *now = &world->topology->nodes[i].pools[k];
                const PlanPool *pool =
                        plan_pool(world->plan, world->topology->nodes[i].id, now->page_size_bytes);
                uint64_t persistent = persistent_of(now), found, needed, to_pages, taken, cover = 0;

                if (!now->exists)
                        continue;
                found = existing_in(world, i, k);
                needed = taken = naive_base(world, i, k) + pool->granted_pages;
                /* If the pages exist, others' surplus pages count: the pool may have fewer persistent pages by that
                 * number, but is not lowered to it. */
                if (needed <= now->total_pages)
                        needed = MIN(needed, MAX(persistent,
                                                 sub_floored(needed, MIN(now->surplus_pages,
                                                                         world->others[i][k]))));
                to_pages = pool->granted_pages > 0 ? MAX(found, needed) : found;
                REQUIRE(world, pool->from_pages == persistent, "pool %u", pool->node);
                if (to_pages < persistent) {
                        uint64_t fewer =
                                MIN(persistent - to_pages, balance_spare_pages(balance, i));

                        balance_change(balance, i, fewer, 0);
                        cover = sub_floored(persistent - fewer,
                                            MAX(to_pages, MIN(persistent, taken)));
                        to_pages = persistent - fewer - cover;
                }
                REQUIRE(world, pool->to_pages == to_pages + pool->cover_pages,
                        "pool %u: %" PRIu64 " and cover", pool->node, to_pages);
                REQUIRE(world, pool->cover_pages >= cover, "pool %u: %" PRIu64 " are kept",
                        pool->node, cover);
                world->kept[pool - world->plan->pools] = cover;
                REQUIRE(world, pool->to_pages >= found, "pool %u", pool->node);
                REQUIRE(world, sub_floored(persistent, pool->to_pages) <= now->free_pages,
                        "pool %u", pool->node);
        }
}

static void check_targets(World *world) {
        world->kept = ARENA_ARRAY(world->arena, uint64_t, world->plan->n_pools);
        for (size_t k = 0; k < world->topology->n_page_sizes; k++) {
                const uint64_t *free = topology_free_pages(world->arena, world->topology, k);
                const Balance *balance = balance_new(world->arena, &world->promises[k], free, true);

                ARRAY_FOREACH(pool, world->plan->pools, world->plan->n_pools) {
                        if (size_at(world, pool->page_size_bytes) == k)
                                REQUIRE(world,
                                        pool->spare_pages ==
                                                balance_spare_pages(balance,
                                                                    node_at(world, pool->node)),
                                        "pool %u", pool->node);
                }
                check_targets_of_size(world, k);
        }
}

/* ---- cover ---- */

/* Whether the unit of an instance runs, as far as hugeplan knows. */
static bool is_running(const World *world, const PlanInstance *planned) {
        const LedgerHold *hold = hold_of(world, planned);

        return hold ? !hold->is_tentative : is_assumed(world, planned->demand->config->unit);
}

/* Who lacks pages, and who is exposed. */
typedef struct Wrongs {
        size_t starters[INSTANCES_MAX];
        size_t n_starters;
        Lack lacks[INSTANCES_MAX];
        Exposures exposures, coming;
        uint64_t unknown;
} Wrongs;

static Wrongs find_wrongs(const World *world, size_t k, const uint64_t *free) {
        const PlanInput input = input_of(world);
        const Promises *promises = &plan_promises(world->arena, &input)[k];
        Starter starters[INSTANCES_MAX];
        Wrongs wrongs = {.unknown = world->promises[k].others_promised_pages};

        /* Instances with pages of size K that do not run, the most important ones first. */
        size_t order[INSTANCES_MAX];

        order_by_priority(world->plan, order);
        for (size_t n = 0; n < world->plan->n_instances; n++) {
                const PlanInstance *planned = &world->plan->instances[order[n]];

                if (planned->pages_granted > 0 && !is_running(world, planned) &&
                    size_at(world, planned->page_size_bytes) == k)
                        wrongs.starters[wrongs.n_starters++] = order[n];
        }
        for (size_t s = 0; s < wrongs.n_starters; s++)
                starters[s] =
                        plan_starter(&input, promises, &world->plan->instances[wrongs.starters[s]]);
        promises_admit(world->arena, promises, free, starters, wrongs.n_starters, wrongs.lacks);
        wrongs.exposures = promises_exposures(world->arena, promises, free, false);
        wrongs.coming = promises_exposures(world->arena, promises, free, true);
        return wrongs;
}

/* The cover that was added. The rest could not be given back, because it may be reserved. */
static uint64_t raised_pages(const World *world, const PlanPool *pool) {
        return pool->cover_pages - world->kept[pool - world->plan->pools];
}

/* Free pages when the plan is applied, with or without the added cover. */
static uint64_t *find_free_then(const World *world, size_t k, bool is_with_cover) {
        uint64_t *ret = topology_free_pages(world->arena, world->topology, k);

        for (size_t i = 0; i < world->topology->n_nodes; i++) {
                const Pool *now = &world->topology->nodes[i].pools[k];
                const PlanPool *pool =
                        plan_pool(world->plan, world->topology->nodes[i].id, now->page_size_bytes);
                uint64_t to_pages;

                if (!now->exists)
                        continue;
                to_pages = pool->to_pages - (is_with_cover ? 0 : raised_pages(world, pool));
                ret[i] = to_pages < persistent_of(now)
                                 ? ret[i] - (persistent_of(now) - to_pages)
                                 : ret[i] + sub_floored(to_pages, now->total_pages);
        }
        return ret;
}

/* Requires that these nodes have no memory left to enlarge the pool. */
static void require_nothing_left(const World *world, size_t k, const IdSet *nodes,
                                 const char *name) {
        for (size_t i = 0; i < world->topology->n_nodes; i++) {
                const Node *node = &world->topology->nodes[i];
                const Pool *now = &node->pools[k];
                const PoolLimit *limit = limit_of(world, i, k);
                uint64_t left = naive_room(world, node) - planned_bytes(world, i);
                const PlanPool *pool = plan_pool(world->plan, node->id, now->page_size_bytes);

                if (!id_set_has(nodes, node->id) || !now->exists)
                        continue;
                if (limit && persistent_of(now) + sub_floored(pool->to_pages, now->total_pages) >=
                                     limit->persistent_pages)
                        continue;
                REQUIRE(world, left < now->page_size_bytes, "%s, node %u", name, node->id);
        }
}

/* A pool gets cover only if an instance would lack pages or lose them. If one still does, the plan names it, and there was
 * no memory for it. */
static void check_cover_of_size(const World *world, size_t k, size_t *n_exposures) {
        uint64_t cover = 0;
        bool is_exposed[INSTANCES_MAX] = {};

        for (size_t p = 0; p < world->plan->n_pools; p++)
                if (size_at(world, world->plan->pools[p].page_size_bytes) == k)
                        cover += raised_pages(world, &world->plan->pools[p]);
        const Wrongs left = find_wrongs(world, k, find_free_then(world, k, true));

        for (size_t s = 0; s < left.n_starters; s++) {
                const PlanInstance *planned = &world->plan->instances[left.starters[s]];

                is_exposed[left.starters[s]] = left.lacks[s].pages > 0;
                if (left.lacks[s].pages > 0)
                        require_nothing_left(world, k, &left.lacks[s].nodes,
                                             planned->demand->config->name);
        }
        for (size_t n = 0; n < world->plan->n_instances; n++)
                if (size_at(world, world->plan->instances[n].page_size_bytes) == k)
                        REQUIRE(world,
                                (world->plan->instances[n].exposed.kind != REASON_NONE) ==
                                        is_exposed[n],
                                "%s", world->plan->instances[n].demand->config->name);
        VEC_FOREACH(exposure, &left.exposures) {
                const Exposure *planned = *n_exposures < world->plan->exposures.n
                                                  ? &world->plan->exposures.items[*n_exposures]
                                                  : NULL;

                REQUIRE(world,
                        planned && text_equals(planned->unit, exposure->unit) &&
                                planned->pages == exposure->pages,
                        "%s", exposure->unit);
                (*n_exposures)++;
        }
        VEC_FOREACH(exposure, &left.coming)
                if (exposure->pages > left.unknown)
                        require_nothing_left(world, k, &exposure->nodes, exposure->unit);
        if (cover == 0)
                return;
        const uint64_t *free = find_free_then(world, k, false);
        const Wrongs without = find_wrongs(world, k, free);

        const Balance *balance = balance_new(world->arena, &world->promises[k], free, false);
        const Node *nodes = world->topology->nodes;

        REQUIRE(world,
                ARRAY_ANY(lack, without.lacks, without.n_starters, lack->pages > 0) ||
                        VEC_ANY(exposure, &without.coming, exposure->pages > without.unknown) ||
                        ARRAY_ANY(node, nodes, world->topology->n_nodes,
                                  balance_missing_pages(balance, (size_t) (node - nodes)) > 0),
                "%" PRIu64 " pages of needless cover", cover);
}

static void check_whole_or_nothing(const World *world) {
        ARRAY_FOREACH(planned, world->plan->instances, world->plan->n_instances) {
                const char *name = planned->demand->config->name;

                if (planned->demand->config->refusal)
                        continue;
                if (planned->reason.kind == REASON_NONE)
                        REQUIRE(world, planned->pages_granted == planned->pages_wanted, "%s", name);
                else if (planned->demand->config->shortage == SHORTAGE_REFUSE)
                        REQUIRE(world, planned->pages_granted == 0, "%s", name);
                else
                        REQUIRE(world,
                                planned->pages_granted < planned->pages_wanted ||
                                        planned->pages_wanted == 0,
                                "%s", name);
                if (planned->reason.kind != REASON_NONE)
                        REQUIRE(world, planned->reason.text && planned->reason.remedy, "%s", name);
        }
}

/* NodeMemory= is served exactly. */
static void check_splits(const World *world) {
        ARRAY_FOREACH(planned, world->plan->instances, world->plan->n_instances) {
                const DemandOption *option = NULL;

                for (size_t o = 0; o < planned->demand->n_options; o++)
                        if (!option &&
                            planned->demand->options[o].page_size_bytes == planned->page_size_bytes)
                                option = &planned->demand->options[o];
                if (!option || option->split.n == 0 || planned->reason.kind != REASON_NONE)
                        continue;
                size_t g = 0;

                for (size_t s = 0; s < option->split.n; s++) {
                        if (option->split.items[s].pages == 0)
                                continue;
                        REQUIRE_OF(world, planned,
                                   g < planned->grants.n &&
                                           planned->grants.items[g].node ==
                                                   option->split.items[s].node &&
                                           planned->grants.items[g].pages ==
                                                   option->split.items[s].pages);
                        g++;
                }
                REQUIRE_OF(world, planned, g == planned->grants.n);
        }
}

static void check_served_by(const World *world, Books *books, size_t n,
                            const DemandOption *chosen) {
        const PlanInstance *planned = &world->plan->instances[n];
        const char *name = planned->demand->config->name;

        REQUIRE(world, (planned->reason.kind == REASON_NONE) == (chosen != NULL), "%s %s", name,
                chosen ? "would fit at its turn" : "was served and does not fit");
        if (!chosen)
                return;
        REQUIRE(world, planned->page_size_bytes == chosen->page_size_bytes, "%s", name);
        REQUIRE(world, planned->pages_wanted == chosen->pages, "%s", name);
        enter_grants(world, books, n);
}

/* An instance that runs with its demand is served with it again, before all others. */
static bool check_served_as_held(const World *world, Books *books, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];
        const DemandInstance *demand = planned->demand;

        for (size_t o = 0; o < demand->n_options; o++)
                if (is_same_as_before(world, planned, &demand->options[o])) {
                        if (!option_fits(world, books, n, &demand->options[o]))
                                return false;
                        check_served_by(world, books, n, &demand->options[o]);
                        return true;
                }
        return false;
}

/* The first page size that fits, except BUT; NULL: none. */
static const DemandOption *find_fitting(const World *world, Books *books, size_t n,
                                        const DemandOption *but) {
        const DemandInstance *demand = world->plan->instances[n].demand;

        for (size_t o = 0; o < demand->n_options; o++)
                if (&demand->options[o] != but && option_fits(world, books, n, &demand->options[o]))
                        return &demand->options[o];
        return NULL;
}

/* The option of which the instance has a part that stays; NULL: none. What was reserved since its unit started is not part
 * of what the unit has. */
static const DemandOption *part_before(const World *world, const PlanInstance *planned) {
        const DemandInstance *demand = planned->demand;
        const LedgerHold *hold = planned->hold;
        const LedgerInstance *had = past_of(world, planned);
        const DemandOption *option = NULL;

        for (size_t o = 0; o < demand->n_options && !option; o++)
                if (is_same_as_before(world, planned, &demand->options[o]))
                        option = &demand->options[o];
        if (!had || !option || is_released(world, planned) ||
            demand->config->shortage != SHORTAGE_DEGRADE ||
            (option != demand->options && !is_held(world, planned)))
                return NULL;
        if (hold && hold->granted.page_size_bytes == option->page_size_bytes &&
            hold->granted.pages_wanted == option->pages)
                had = &hold->granted;
        uint64_t pages = VEC_SUM(grant, &had->grants, grant->pages);

        return pages > 0 && pages < option->pages ? option : NULL;
}

/* The pages that each instance keeps of its part, by node. */
typedef struct Parts {
        uint64_t pages[INSTANCES_MAX][NODES_MAX];
} Parts;

static void keep_part(const World *world, Books *books, Parts *parts, size_t n, bool is_held_only) {
        const PlanInstance *planned = &world->plan->instances[n];
        const DemandOption *option = part_before(world, planned);
        size_t k = size_at(world, option->page_size_bytes);

        VEC_FOREACH(grant, &past_of(world, planned)->grants) {
                if (!id_set_has(&planned->demand->nodes, grant->node))
                        continue;
                size_t i = node_at(world, grant->node);
                uint64_t pages =
                        MIN(grant->pages - parts->pages[n][i], capacity_for(world, books, n, i, k));
                uint64_t wanted = option->split.n > 0 ? pages_on(&option->split, grant->node)
                                                      : option->pages;

                if (is_held_only)
                        wanted = MIN(wanted, kept_of(world, books, n, i, k));
                pages = MIN(pages, sub_floored(wanted, parts->pages[n][i]));
                parts->pages[n][i] += pages;
                enter(world, books, n, i, k, pages);
        }
}

/* Whether the part can be completed on its nodes. */
static bool rest_fits(const World *world, Books *books, const Parts *parts, size_t n) {
        const DemandInstance *demand = world->plan->instances[n].demand;
        const DemandOption *option = part_before(world, &world->plan->instances[n]);
        size_t k = size_at(world, option->page_size_bytes);
        uint64_t sum = 0;

        for (size_t s = 0; s < option->split.n; s++) {
                size_t i = node_at(world, option->split.items[s].node);

                if (option->split.items[s].pages > parts->pages[n][i] &&
                    !fits_for(world, books, n, i, k,
                              option->split.items[s].pages - parts->pages[n][i]))
                        return false;
        }
        ID_SET_FOREACH(id, &demand->nodes)
                sum += parts->pages[n][node_at(world, id)] +
                       capacity_for(world, books, n, node_at(world, id), k);
        return option->split.n > 0 || sum >= option->pages;
}

/* By how much a node is short of KeepFree=. */
static uint64_t naive_shortage(const World *world, const Node *node) {
        uint64_t has = node->free_bytes +
                       (world->config.host.may_reclaim ? node->reclaimable_bytes : 0);

        return node->has_memory ? sub_floored(naive_keep(world, node), has) : 0;
}

/* Pages of the size of index K on the node of index I. */
static uint64_t planned_on(const World *world, const PlanInstance *planned, size_t i, size_t k) {
        return size_at(world, planned->page_size_bytes) != k
                       ? 0
                       : pages_on(&planned->grants, world->topology->nodes[i].id);
}

/* The instance keeps its part, except on a node that is short: there only what its unit keeps. */
static void check_keeps_part(const World *world, const Books *books, const Parts *parts, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];
        size_t k = size_at(world, planned->page_size_bytes);

        for (size_t i = 0; i < world->topology->n_nodes; i++) {
                uint64_t kept = naive_shortage(world, &world->topology->nodes[i]) > 0
                                        ? kept_of(world, books, n, i, k)
                                        : UINT64_MAX;

                REQUIRE(world, planned_on(world, planned, i, k) >= MIN(kept, parts->pages[n][i]),
                        "%s lost pages of node %u", planned->demand->config->name,
                        world->topology->nodes[i].id);
        }
}

/* Returns whether the part can be completed, and then checks that it was. */
static bool check_rest(const World *world, Books *books, const Parts *parts, size_t n) {
        if (!rest_fits(world, books, parts, n))
                return false;
        leave(world, books, n);
        check_served_by(world, books, n, part_before(world, &world->plan->instances[n]));
        check_keeps_part(world, books, parts, n);
        return true;
}

/* Returns false if the instance is left with a part, which may be completed from what others leave. */
static bool check_served_in_turn(const World *world, Books *books, const Parts *parts, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];
        bool is_part = ARRAY_ANY(pages, parts->pages[n], world->topology->n_nodes, *pages > 0);
        const DemandOption *chosen = NULL;

        if (is_part && check_rest(world, books, parts, n))
                return true;
        leave(world, books, n);
        if (!is_part || !is_held(world, planned))
                chosen =
                        find_fitting(world, books, n, is_part ? part_before(world, planned) : NULL);
        if (chosen || planned->demand->config->shortage != SHORTAGE_DEGRADE) {
                check_served_by(world, books, n, chosen);
                return true;
        }
        /* Puts what the instance has kept back into the books. */
        const DemandOption *option = part_before(world, &world->plan->instances[n]);

        for (size_t i = 0; option && i < world->topology->n_nodes; i++)
                if (parts->pages[n][i] > 0)
                        enter(world, books, n, i, size_at(world, option->page_size_bytes),
                              parts->pages[n][i]);
        return false;
}

/* Whether the instance has only its earlier part, and less than an eighth more is available. */
static bool is_step_too_small(const World *world, Books *books, const Parts *parts, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];
        size_t k = size_at(world, planned->page_size_bytes);
        uint64_t kept = ARRAY_SUM(pages, parts->pages[n], NODES_MAX, *pages), more = 0;

        ID_SET_FOREACH(id, &planned->demand->nodes)
                if (naive_shortage(world, &world->topology->nodes[node_at(world, id)]) == 0)
                        more += capacity_for(world, books, n, node_at(world, id), k);
        return planned->pages_granted <= kept && more < kept / 8;
}

/* No page is left that the instance could use. */
static void check_part(const World *world, Books *books, const Parts *parts, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];
        const DemandInstance *demand = planned->demand;
        size_t k = size_at(world, planned->page_size_bytes);

        leave(world, books, n);
        enter_grants(world, books, n);
        check_keeps_part(world, books, parts, n);
        if (demand->n_options == 0 || demand->options[0].split.n > 0 ||
            planned->pages_granted == planned->pages_wanted ||
            is_step_too_small(world, books, parts, n))
                return;
        ID_SET_FOREACH(id, &demand->nodes)
                REQUIRE(world,
                        naive_shortage(world, &world->topology->nodes[node_at(world, id)]) > 0 ||
                                !fits_for(world, books, n, node_at(world, id), k, 1),
                        "%s, node %u", demand->config->name, id);
}

/* Pages of the pool that are given back, if none of them is granted. */
static uint64_t naive_given_back(const World *world, const Books *books, size_t i, size_t k) {
        return sub_floored(
                persistent_of(&world->topology->nodes[i].pools[k]),
                MAX(existing_in(world, i, k), naive_base(world, i, k) + books->granted[i][k]));
}

/* On a node that is short of KeepFree=, no instance has pages of a part that its unit does not keep. */
static void check_shortage(const World *world, const Books *books, size_t i) {
        const Node *node = &world->topology->nodes[i];
        uint64_t bytes = 0;

        for (size_t k = 0; k < world->topology->n_page_sizes; k++)
                bytes += naive_given_back(world, books, i, k) * node->pools[k].page_size_bytes;
        if (bytes >= naive_shortage(world, node))
                return;
        for (size_t n = 0; n < world->plan->n_instances; n++) {
                const PlanInstance *planned = &world->plan->instances[n];
                size_t k = size_at(world, planned->page_size_bytes);

                if (planned->demand->config->shortage != SHORTAGE_DEGRADE ||
                    planned->pages_granted == planned->pages_wanted ||
                    naive_base(world, i, k) + books->granted[i][k] <= existing_in(world, i, k) ||
                    naive_base(world, i, k) + books->granted[i][k] > persistent_of(&node->pools[k]))
                        continue;
                REQUIRE(world, own_of(books, n, i, k) <= kept_of(world, books, n, i, k),
                        "%s has pages of node %u, which is short", planned->demand->config->name,
                        node->id);
        }
}

/* Exactly those instances are served that fit at their turn. */
static void check_order_of_service(const World *world) {
        size_t order[INSTANCES_MAX];
        bool was_served[INSTANCES_MAX], gets_part[INSTANCES_MAX] = {};
        Books books = {};
        Parts parts = {};
        const Plan *plan = world->plan;

        order_by_priority(plan, order);
        keep_holds(world, &books);
        for (size_t n = 0; n < plan->n_instances; n++)
                if (plan->instances[order[n]].demand->config->refusal) {
                        enter_reserved(world, &books, order[n]);
                        gets_part[order[n]] = plan->instances[order[n]].page_size_bytes > 0;
                }
        for (size_t n = 0; n < plan->n_instances; n++) {
                const PlanInstance *planned = &plan->instances[order[n]];

                was_served[order[n]] = false;
                if (!is_held(world, planned) || is_released(world, planned))
                        continue;
                if (part_before(world, planned))
                        keep_part(world, &books, &parts, order[n], true);
                else
                        was_served[order[n]] = check_served_as_held(world, &books, order[n]);
        }
        for (size_t n = 0; n < plan->n_instances; n++) {
                const PlanInstance *planned = &plan->instances[order[n]];
                unsigned priority = planned->demand->config->priority;

                for (size_t o = n; o < plan->n_instances; o++) {
                        const PlanInstance *other = &plan->instances[order[o]];

                        if (other->demand->config->priority == priority && !was_served[order[o]] &&
                            part_before(world, other) &&
                            (n == 0 ||
                             plan->instances[order[n - 1]].demand->config->priority != priority))
                                keep_part(world, &books, &parts, order[o], false);
                }
                if (planned->demand->n_options == 0 || was_served[order[n]])
                        continue;
                if (is_released(world, planned))
                        REQUIRE_OF(world, planned, planned->reason.kind == REASON_RELEASED);
                else
                        gets_part[order[n]] =
                                !check_served_in_turn(world, &books, &parts, order[n]);
        }
        for (size_t n = 0; n < plan->n_instances; n++)
                if (gets_part[order[n]])
                        check_part(world, &books, &parts, order[n]);
        for (size_t i = 0; i < world->topology->n_nodes; i++)
                check_shortage(world, &books, i);
}

/* Spread: a node that gives fewer pages than another one, by more than one page, gives all it has. */
static void check_spread(const World *world, const PlanInstance *planned) {
        Books nothing = {};
        size_t k = size_at(world, planned->page_size_bytes);
        uint64_t most = 0;

        for (size_t g = 0; g < planned->grants.n; g++)
                most = MAX(most, planned->grants.items[g].pages);
        ID_SET_FOREACH(id, &planned->demand->nodes) {
                uint64_t here = planned_on(world, planned, node_at(world, id), k);

                if (here + 1 < most)
                        REQUIRE(world,
                                capacity_for(world, &nothing, 0, node_at(world, id), k) == here,
                                "node %u gives %" PRIu64 ", another one %" PRIu64, id, here, most);
        }
}

/* Pack: fewer nodes are not enough. */
static void check_pack(const World *world, const PlanInstance *planned) {
        Books nothing = {};
        size_t k = size_at(world, planned->page_size_bytes);
        uint64_t capacity[NODES_MAX], sum = 0;
        size_t n = 0, needed = 0;

        ID_SET_FOREACH(id, &planned->demand->nodes)
                capacity[n++] = capacity_for(world, &nothing, 0, node_at(world, id), k);
        while (sum < planned->pages_granted) { /* the largest first */
                size_t best = 0;

                for (size_t i = 1; i < n; i++)
                        best = capacity[i] > capacity[best] ? i : best;
                sum += capacity[best];
                capacity[best] = 0;
                needed++;
        }
        REQUIRE(world, planned->grants.n == needed, "%zu nodes instead of %zu", planned->grants.n,
                needed);
}

/* Each instance alone, without earlier rounds. */
static void check_alone(const World *world) {
        World alone = *world;

        alone.ledger = ledger_new(world->arena, "boot");
        alone.use = NULL;
        alone.starting.n = 0;
        alone.is_restarted = false;
        ledger_observe(world->arena, alone.ledger, world->topology, NULL);
        for (size_t i = 0; i < world->config.n_instances; i++) {
                alone.config.instances = &world->config.instances[i];
                alone.config.n_instances = 1;
                config_index(world->arena, &alone.config);
                alone.demand = demand_compute(world->arena, &alone.config, alone.topology, NULL);
                alone.plan = make_plan(&alone);
                compute_oracle(&alone);
                const PlanInstance *planned = &alone.plan->instances[0];

                if (planned->reason.kind != REASON_NONE || planned->grants.n == 0 ||
                    planned->demand->config->n_node_memory > 0)
                        continue;
                if (planned->demand->config->placement == PLACEMENT_PACK)
                        check_pack(&alone, planned);
                else
                        check_spread(&alone, planned);
        }
}

/* All causes of a shortage count as the same reason, because pages that were left for a part in the first plan are kept in
 * the second one. */
static bool is_shortage(const Reason *reason) {
        return reason->kind == REASON_TAKEN || reason->kind == REASON_NOT_ENOUGH_MEMORY ||
               reason->kind == REASON_BEYOND_BOUND;
}

static void require_same(const World *world, const Plan *a, const Plan *b, const char *when) {
        ARRAY_FOREACH(first, a->instances, a->n_instances) {
                const char *name = first->demand->config->name;
                const PlanInstance *second = plan_find(b, name);
                const char *had = grants_text(world->arena, a, name);
                const char *has = grants_text(world->arena, b, name);

                REQUIRE(world,
                        text_equals(had, has) &&
                                (first->grants.n == 0 ||
                                 first->page_size_bytes == second->page_size_bytes) &&
                                (first->reason.kind == second->reason.kind ||
                                 (is_shortage(&first->reason) && is_shortage(&second->reason))),
                        "%s: %s has %s, then %s", when, name, had, has);
        }
}

static void shuffle(Random *random, void *items, size_t n, size_t size) {
        char buffer[8192];

        for (size_t i = n; i > 1; i--) {
                char *a = (char *) items + (i - 1) * size;
                char *b = (char *) items + random_between(random, 0, i - 1) * size;

                memcpy(buffer, a, size);
                memmove(a, b, size);
                memcpy(b, buffer, size);
        }
}

/* Whether pages are reserved, or units run: these pages are attributed to nodes from the first one on. */
static bool has_promises(const World *world) {
        return ARRAY_ANY(size, world->topology->page_sizes, world->topology->n_page_sizes,
                         size->reserved_pages > 0) ||
               world->ledger->holds.n > 0 || (world->use && world->use->units.n > 0);
}

/* The plan does not depend on the order of instances and nodes. */
static void check_order_of_input(const World *world) {
        World other = *world;
        Topology topology = *world->topology;
        Demand demand = *world->demand;

        demand.instances = arena_memdup(world->arena, demand.instances,
                                        demand.n_instances * sizeof(DemandInstance));
        shuffle(&other.random, demand.instances, demand.n_instances, sizeof(DemandInstance));
        topology.nodes =
                arena_memdup(world->arena, topology.nodes, topology.n_nodes * sizeof(Node));
        if (!has_promises(world))
                shuffle(&other.random, topology.nodes, topology.n_nodes, sizeof(Node));
        other.demand = &demand;
        other.topology = &topology;
        other.plan = make_plan(&other);
        require_same(world, world->plan, other.plan, "in another order");
        ARRAY_FOREACH(pool, world->plan->pools, world->plan->n_pools) {
                const PlanPool *same = plan_pool(other.plan, pool->node, pool->page_size_bytes);

                REQUIRE(world, same->to_pages == pool->to_pages, "pool %u", pool->node);
        }
}

static bool gives_back(const Plan *plan) {
        return ARRAY_ANY(pool, plan->pools, plan->n_pools, pool->to_pages < pool->from_pages);
}

/* Whether an instance that had a part is now complete, perhaps with another page size. It then keeps no pages before its
 * turn any more. */
static bool leaves_part(const World *world) {
        return ARRAY_ANY(planned, world->plan->instances, world->plan->n_instances,
                         planned->reason.kind == REASON_NONE && part_before(world, planned) &&
                                 !is_held(world, planned));
}

/* Whether an instance without a unit gets fewer pages than are attributed to it. The rest is attributed to others from
 * then on, and thus becomes existing pages. */
static bool loses_unitless(const World *world) {
        Books books = {};

        keep_holds(world, &books);
        for (size_t n = 0; n < world->plan->n_instances; n++)
                for (size_t i = 0; i < world->topology->n_nodes; i++)
                        for (size_t k = 0; k < world->topology->n_page_sizes; k++)
                                if (books.unitless[n][i][k] >
                                    planned_on(world, &world->plan->instances[n], i, k))
                                        return true;
        for (size_t k = 0; k < world->topology->n_page_sizes; k++)
                VEC_FOREACH(row, &world->promises[k].list) {
                        const PlanInstance *planned =
                                row->unitless ? plan_find(world->plan, row->unitless) : NULL;
                        for (size_t i = 0; planned && i < world->topology->n_nodes; i++)
                                if (row->used[i] > planned_on(world, planned, i, k))
                                        return true;
                        if (planned &&
                            MIN(row->granted_pages, world->promises[k].all_unitless_pages) >
                                    planned->pages_granted)
                                return true;
                }
        return false;
}

/* Whether a node that is short has surplus pages, which become persistent before they are given back. */
static bool has_surplus_where_short(const World *world) {
        return ARRAY_ANY(node, world->topology->nodes, world->topology->n_nodes,
                         naive_shortage(world, node) > 0 &&
                                 ARRAY_ANY(pool, node->pools, world->topology->n_page_sizes,
                                           pool->surplus_pages > 0));
}

/* A plan that is applied and made again has nothing left to do. If pages were given back, another instance may use that
 * memory, and others' reservations may be attributed to other nodes: then the plan settles after a few rounds. */
static void check_idempotent(World *world) {
        size_t n_rounds = 0;

        world->limits = NULL; /* limits apply to one round */
        world->plan = make_plan(world);
        compute_oracle(world);
        const Plan *first = world->plan;
        bool may_change = gives_back(first) || leaves_part(world) || loses_unitless(world) ||
                          has_promises(world) || has_surplus_where_short(world);

        do {
                REQUIRE(world, n_rounds++ < STEADY_ROUNDS_MAX, "the plan never settles");
                plan_record(world->arena, world->plan, world->ledger);
                host_apply(world->topology, world->plan);
                ARRAY_FOREACH(pool, world->plan->pools, world->plan->n_pools) {
                        LedgerPool *known =
                                ledger_pool(world->ledger, pool->node, pool->page_size_bytes);

                        known->set_pages = MAX(pool->to_pages, known->found_pages);
                }
                ledger_observe(world->arena, world->ledger, world->topology, NULL);
                world->plan = make_plan(world);
                compute_oracle(world);
                if (n_rounds == 1 && !may_change) {
                        require_same(world, first, world->plan, "a second time");
                        REQUIRE(world, plan_count_changed(world->plan) == 0, "steps are left");
                }
        } while (plan_count_changed(world->plan) > 0);
}

static void check_world(uint64_t seed) {
        World world = world_make(seed);

        check_bookkeeping(&world);
        /* No node is planned beyond its room. */
        for (size_t i = 0; i < world.topology->n_nodes; i++)
                REQUIRE(&world,
                        planned_bytes(&world, i) <= naive_room(&world, &world.topology->nodes[i]),
                        "node %u", world.topology->nodes[i].id);
        check_targets(&world);
        size_t n_exposures = 0;

        for (size_t k = 0; !world.is_restarted && k < world.topology->n_page_sizes; k++)
                check_cover_of_size(&world, k, &n_exposures);
        REQUIRE(&world, world.plan->exposures.n == n_exposures, "%zu exposures", n_exposures);
        for (size_t p = 0; world.is_restarted && p < world.plan->n_pools; p++)
                REQUIRE(&world, raised_pages(&world, &world.plan->pools[p]) == 0, "pool %u",
                        world.plan->pools[p].node);
        check_whole_or_nothing(&world);
        check_splits(&world);
        check_order_of_service(&world);
        check_order_of_input(&world);
        check_alone(&world);
        check_idempotent(&world);
        check_bookkeeping(&world);
        check_targets(&world);
        check_order_of_service(&world);
        arena_free(world.arena);
}

TEST(all) {
        random_for_each_seed(5000, check_world);
}

/* Everything that is checked occurs in the random worlds. */
TEST(worlds_are_varied) {
        size_t n_short = 0, n_whole = 0, n_degraded = 0, n_given_back = 0, n_split = 0;
        size_t n_kept = 0, n_held = 0, n_changed = 0, n_covered = 0, n_exposed = 0;
        size_t n_assumed = 0, n_held_back = 0;

        for (uint64_t seed = 1; seed <= 300; seed++) {
                World world = world_make(seed);

                n_given_back += gives_back(world.plan);
                n_exposed += world.plan->exposures.n;
                ARRAY_FOREACH(pool, world.plan->pools, world.plan->n_pools) {
                        const Pool *now =
                                topology_pool(world.topology, pool->node, pool->page_size_bytes);

                        n_covered += pool->cover_pages > 0;
                        n_held_back += pool->spare_pages < now->free_pages;
                }
                ARRAY_FOREACH(planned, world.plan->instances, world.plan->n_instances) {
                        n_whole += planned->reason.kind == REASON_NONE;
                        n_held += is_held(&world, planned);
                        n_changed += planned->hold && !is_held(&world, planned);
                        n_assumed += is_assumed(&world, planned->demand->config->unit);
                        n_exposed += planned->exposed.kind != REASON_NONE;
                        n_short += planned->reason.kind == REASON_NOT_ENOUGH_MEMORY;
                        n_degraded += planned->reason.kind != REASON_NONE &&
                                      planned->pages_granted > 0;
                        n_kept += planned->reason.kind != REASON_NONE &&
                                  planned->pages_granted > 0 && part_before(&world, planned);
                        n_split += planned->demand->config->n_node_memory > 0 &&
                                   planned->pages_granted > 0;
                }
                arena_free(world.arena);
        }
        assert_true(n_whole > 300);
        assert_true(n_short > 100);
        assert_true(n_degraded > 30);
        assert_true(n_given_back > 30);
        assert_true(n_split > 30);
        assert_true(n_kept > 15);
        assert_true(n_held > 100);
        assert_true(n_changed > 100);
        assert_true(n_assumed > 30);
        assert_true(n_covered > 15);
        assert_true(n_exposed > 30);
        assert_true(n_held_back > 100);
}
