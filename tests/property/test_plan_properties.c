/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What must hold of every plan, on thousands of random hosts.
 *
 * The oracle below reckons everything anew and in the plainest way: it never asks the planner what
 * fits, only what was granted, and walks through the instances in the order in which the contract
 * says that they are served:
 *   1. instances whose file is refused keep what they had;
 *   2. instances that hold their pages, then the others, each by priority and name: one is served
 *      whole with the first of its page sizes that fits at its turn, else not at all;
 *   3. of those that were not, Shortage=degrade takes a part of what is left, in the same order.
 * Such a part stays for it from then on: when it holds it, before all others, else before those that
 * are no more important. */

#include "property/random.h"

#include "base/size.h"
#include "support/testing.h"

enum { NODES_MAX = 16, SIZES_MAX = 3, INSTANCES_MAX = 20, STEADY_ROUNDS_MAX = 40 };

typedef struct World {
        uint64_t seed;
        Random random;
        Arena *arena;
        Topology *topology;
        Config config;
        Demand *demand;
        Ledger *ledger;
        PoolLimits *limits;
        Plan *plan;
} World;

/* ---- showing a world ---- */

static void print_instance(const World *world, const PlanInstance *planned) {
        Arena *arena = world->arena;
        const InstanceConfig *config = planned->demand->config;
        const LedgerInstance *before = ledger_instance(world->ledger, config->name);

        print_error("  %s: priority %u, %s, %s, nodes %s%s%s%s, %" PRIu64 " of %" PRIu64
                    " pages of %s: %s (%s)\n",
                    config->name, config->priority, placement_name(config->placement),
                    shortage_name(config->shortage), id_set_format(arena, &planned->demand->nodes),
                    config->n_node_memory > 0 ? ", split" : "",
                    before && before->is_held ? ", held" : "", config->refusal ? ", refused" : "",
                    planned->pages_granted, planned->pages_wanted,
                    format_page_size(arena, planned->page_size_bytes),
                    grants_text(arena, world->plan, config->name), reason_id(planned->reason.kind));
}

static void print_world(const World *world) {
        for (size_t i = 0; i < world->topology->n_nodes; i++) {
                const Node *node = &world->topology->nodes[i];

                print_error("  node %u: %s, %s free, %s cache\n", node->id,
                            format_size(world->arena, node->memory_bytes),
                            format_size(world->arena, node->free_bytes),
                            format_size(world->arena, node->reclaimable_bytes));
        }
        for (size_t i = 0; i < world->plan->n_pools; i++) {
                const PlanPool *pool = &world->plan->pools[i];
                const Pool *now = topology_pool(world->topology, pool->node, pool->page_size_bytes);

                print_error("  pool %u/%s: found %" PRIu64 " foreign %" PRIu64 " granted %" PRIu64
                            " from %" PRIu64 " to %" PRIu64 " (total %" PRIu64 " free %" PRIu64
                            " surplus %" PRIu64 ")\n",
                            pool->node, format_page_size(world->arena, pool->page_size_bytes),
                            pool->found_pages, pool->foreign_pages, pool->granted_pages,
                            pool->from_pages, pool->to_pages, now->total_pages, now->free_pages,
                            now->surplus_pages);
        }
        for (size_t i = 0; i < world->plan->n_instances; i++)
                print_instance(world, &world->plan->instances[i]);
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

/* ---- making a world ---- */

static void make_pool(World *world, Pool *pool, uint64_t node_bytes) {
        Random *random = &world->random;
        uint64_t most = MIN(node_bytes / pool->page_size_bytes, UINT64_C(4000));

        pool->exists = random_chance(random, 96);
        if (!pool->exists || random_chance(random, 40))
                return;
        pool->total_pages = random_between(random, 0, most);
        pool->free_pages = random_chance(random, 50) ? pool->total_pages
                                                     : random_between(random, 0, pool->total_pages);
        if (random_chance(random, 20))
                pool->surplus_pages = random_between(random, 0, pool->total_pages);
}

static void make_node(World *world, Node *node, unsigned id) {
        Random *random = &world->random;

        *node = (Node){.id = id};
        if (!random_chance(random, 10))
                node->memory_bytes = random_between(random, 100, 65536) * MIB;
        node->has_memory = node->memory_bytes > 0;
        node->free_bytes = random_between(random, 0, node->memory_bytes / KIB) * KIB;
        node->reclaimable_bytes =
                random_between(random, 0, (node->memory_bytes - node->free_bytes) / KIB) * KIB;
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
                if (random_chance(&world->random, 50) || (i == 3 && topology->n_page_sizes == 0))
                        topology->page_sizes[topology->n_page_sizes++].bytes = all[i];
        topology->default_page_size_bytes = topology->page_sizes[topology->n_page_sizes - 1].bytes;
}

static void add_up_sizes(Topology *topology) {
        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                topology->page_sizes[k].free_pages = 0;
                for (size_t i = 0; i < topology->n_nodes; i++)
                        topology->page_sizes[k].free_pages +=
                                topology->nodes[i].pools[k].free_pages;
        }
}

static void make_topology(World *world) {
        Random *random = &world->random;
        Topology *topology = world->topology = ARENA_NEW(world->arena, Topology);
        size_t n = random_between(random, 1, random_chance(random, 50) ? 3 : NODES_MAX);
        unsigned id = 0;

        topology->is_numa = true;
        topology->base_page_bytes = 4 * KIB;
        topology->boot_id = "boot";
        make_page_sizes(world);
        topology->nodes = ARENA_ARRAY(world->arena, Node, n);
        for (size_t i = 0; i < n; i++) {
                id += random_chance(random, 20) ? (unsigned) random_between(random, 1, 60) : 0;
                make_node(world, &topology->nodes[topology->n_nodes++], id++);
        }
        for (unsigned node = 0; node < ID_SET_MAX; node++) {
                id_set_add(&topology->possible_nodes, node);
                if (node >= id || !random_chance(random, 1))
                        id_set_add(&topology->allowed_nodes, node);
        }
        add_up_sizes(topology);
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                if (random_chance(random, 30))
                        topology->page_sizes[k].promised_pages =
                                random_between(random, 0, topology->page_sizes[k].free_pages);
}

static void make_host_config(World *world) {
        Random *random = &world->random;

        world->config.host = (HostConfig){
                .keep_free = random_chance(random, 50)
                                     ? (Amount){.is_share = true,
                                                .hundredths = random_between(random, 100, 6000)}
                                     : (Amount){.bytes = random_between(random, 64, 4096) * MIB},
                .may_reclaim = random_chance(random, 70),
                .existing_pages = random_chance(random, 25) ? EXISTING_KEEP : EXISTING_USE,
        };
}

static const Node *random_node(World *world) {
        return &world->topology
                        ->nodes[random_between(&world->random, 0, world->topology->n_nodes - 1)];
}

static void make_split(World *world, InstanceConfig *instance) {
        instance->node_memory = ARENA_ARRAY(world->arena, NodeMemory, world->topology->n_nodes);
        for (size_t i = 0; i < world->topology->n_nodes; i++)
                if (world->topology->nodes[i].has_memory && random_chance(&world->random, 40))
                        instance->node_memory[instance->n_node_memory++] =
                                (NodeMemory){world->topology->nodes[i].id,
                                             random_between(&world->random, 1, 4096) * MIB};
}

static void make_amount(World *world, InstanceConfig *instance) {
        Random *random = &world->random;

        if (random_chance(random, 15))
                make_split(world, instance);
        if (instance->n_node_memory > 0)
                return;
        if (random_chance(random, 40)) {
                *vec_push(world->arena, &instance->pages) = (PageCount){
                        .pages = random_chance(random, 3) ? random_bits(random) | 1
                                                          : random_between(random, 1, 3000)};
                return;
        }
        instance->memory_kind = MEMORY_BYTES;
        instance->memory_bytes =
                random_between(random, 1, random_chance(random, 30) ? 65536 : 2048) * MIB;
}

static void make_nodes(World *world, InstanceConfig *instance) {
        Random *random = &world->random;

        if (random_chance(random, 50) && instance->placement != PLACEMENT_BIND)
                return;
        instance->has_nodes = true;
        for (size_t i = 0; i < world->topology->n_nodes; i++)
                if (world->topology->nodes[i].has_memory && random_chance(random, 50))
                        id_set_add(&instance->nodes, world->topology->nodes[i].id);
        if (id_set_is_empty(&instance->nodes) || random_chance(random, 3))
                id_set_add(&instance->nodes, random_node(world)->id);
}

static void make_instance(World *world, InstanceConfig *instance, size_t i) {
        static const Diag refusal = {.file = "x.conf", .text = "broken"};
        Random *random = &world->random;
        const Topology *topology = world->topology;

        *instance = (InstanceConfig){
                .name = arena_printf(world->arena, "i%02zu", i),
                .file = "x.conf",
                .engine = engine_find(random_chance(random, 20) ? "postgresql" : "generic"),
                .placement = (Placement) random_between(random, 0, 2),
                .shortage = random_chance(random, 40) ? SHORTAGE_DEGRADE : SHORTAGE_REFUSE,
                .priority = (unsigned) random_between(random, 0, 4) * 25,
                .refusal = random_chance(random, 5) ? &refusal : NULL,
        };
        make_amount(world, instance);
        if (instance->n_node_memory == 0)
                make_nodes(world, instance);
        instance->n_page_sizes = random_between(random, 1, 3);
        for (size_t k = 0; k < instance->n_page_sizes; k++)
                instance->page_sizes[k] =
                        random_chance(random, 30)
                                ? 0
                                : topology->page_sizes[random_between(random, 0,
                                                                      topology->n_page_sizes - 1)]
                                          .bytes;
}

static void make_instances(World *world) {
        world->config.n_instances = random_between(
                &world->random, 1, random_chance(&world->random, 50) ? 3 : INSTANCES_MAX);
        world->config.instances =
                ARENA_ARRAY(world->arena, InstanceConfig, world->config.n_instances);
        for (size_t i = 0; i < world->config.n_instances; i++)
                make_instance(world, &world->config.instances[i], i);
        world->demand = demand_compute(world->arena, &world->config, world->topology, NULL);
}

static void add_history(World *world, const InstanceConfig *config) {
        Random *random = &world->random;
        const Topology *topology = world->topology;
        LedgerInstance *before = vec_push(world->arena, &world->ledger->instances);
        const DemandInstance *demand = &world->demand->instances[config - world->config.instances];
        uint64_t size =
                topology->page_sizes[random_between(random, 0, topology->n_page_sizes - 1)].bytes;
        bool is_same = demand->n_options > 0 &&
                       random_chance(random, config->shortage == SHORTAGE_DEGRADE ? 90 : 50);
        const DemandOption *option =
                is_same ? &demand->options[random_between(random, 0, demand->n_options - 1)] : NULL;

        *before = (LedgerInstance){.name = config->name,
                                   .page_size_bytes = option ? option->page_size_bytes : size,
                                   .pages_wanted = option ? option->pages : 0,
                                   .placement = config->placement,
                                   .is_held = random_chance(random, 50)};
        if (random_chance(random, 5)) {
                before->is_released = true;
                before->is_held = false;
                return;
        }
        uint64_t left = option ? option->pages : UINT64_MAX;

        for (size_t i = 0; i < topology->n_nodes && left > 0; i++)
                if (random_chance(random, 40)) {
                        uint64_t pages = MIN(left, random_between(random, 1, 500));

                        *vec_push(world->arena, &before->grants) =
                                (LedgerGrant){topology->nodes[i].id, pages};
                        left -= pages;
                        if (!option)
                                before->pages_wanted += pages;
                }
}

/* A past: pools of which a part was found and a part is ours, and instances that had pages. */
static void make_ledger(World *world) {
        Random *random = &world->random;

        world->ledger = ledger_new(world->arena, "boot");
        ledger_observe(world->arena, world->ledger, world->topology);
        if (random_chance(random, 40))
                return;
        VEC_FOREACH(pool, &world->ledger->pools) {
                pool->found_pages = random_chance(random, 20)
                                            ? pool->found_pages + random_between(random, 0, 50)
                                            : random_between(random, 0, pool->found_pages);
                pool->set_pages = MAX(pool->set_pages, pool->found_pages);
                if (random_chance(random, 15))
                        pool->foreign_pages = random_between(random, 0, 100);
        }
        ledger_observe(world->arena, world->ledger, world->topology);
        for (size_t i = 0; i < world->config.n_instances; i++)
                if (random_chance(random, 40))
                        add_history(world, &world->config.instances[i]);
}

static void make_limits(World *world) {
        world->limits = NULL;
        if (!random_chance(&world->random, 30))
                return;
        world->limits = ARENA_NEW(world->arena, PoolLimits);
        for (size_t i = 0; i < world->topology->n_nodes; i++)
                for (size_t k = 0; k < world->topology->n_page_sizes; k++) {
                        const Pool *pool = &world->topology->nodes[i].pools[k];

                        if (pool->exists && random_chance(&world->random, 30))
                                *vec_push(world->arena, world->limits) = (PoolLimit){
                                        .node = world->topology->nodes[i].id,
                                        .page_size_bytes = pool->page_size_bytes,
                                        .persistent_pages = pool_persistent_pages(pool) +
                                                            random_between(&world->random, 0, 200),
                                        .reason = {REASON_FRAGMENTED, "in pieces", "reboot"}};
                }
}

static Plan *make_plan(const World *world) {
        const PlanInput input = {
                .host = &world->config.host,
                .demand = world->demand,
                .topology = world->topology,
                .ledger = world->ledger,
                .limits = world->limits,
        };

        return plan_make(world->arena, &input);
}

static World world_make(uint64_t seed) {
        World world = {.seed = seed, .random = {seed}, .arena = arena_new()};

        make_topology(&world);
        make_host_config(&world);
        make_instances(&world);
        make_ledger(&world);
        make_limits(&world);
        world.plan = make_plan(&world);
        return world;
}

/* ---- the oracle ---- */

typedef struct Books {
        uint64_t granted[NODES_MAX][SIZES_MAX]; /* so far */
} Books;

/* What a node has for new pages, from the contract's words. */
static uint64_t naive_room(const World *world, const Node *node) {
        const HostConfig *host = &world->config.host;
        uint64_t share = host->keep_free.hundredths;
        uint64_t keep = host->keep_free.is_share
                                ? node->memory_bytes / 10000 * share +
                                          node->memory_bytes % 10000 * share / 10000
                                : host->keep_free.bytes;
        uint64_t has = node->free_bytes + (host->may_reclaim ? node->reclaimable_bytes : 0);

        return node->has_memory ? sub_floored(has, MAX(keep, 64 * MIB)) : 0;
}

/* Pages of a pool that are not to be granted: those of others, or all that were found. */
static uint64_t naive_base(const World *world, size_t i, size_t k) {
        const Node *node = &world->topology->nodes[i];
        const Pool *pool = &node->pools[k];
        const LedgerPool *known = ledger_pool(world->ledger, node->id, pool->page_size_bytes);
        uint64_t persistent = pool->total_pages - pool->surplus_pages;
        uint64_t found = known ? known->found_pages : persistent;
        uint64_t foreign = known ? known->foreign_pages : 0;

        if (found > persistent)
                found = persistent;
        uint64_t busy = pool->total_pages - pool->free_pages +
                        topology_promised_pages(world->topology, node->id, pool->page_size_bytes);

        if (foreign > persistent ||
            foreign > busy) /* others cannot hold what is free or not there */
                foreign = busy < persistent ? busy : persistent;
        return world->config.host.existing_pages == EXISTING_KEEP && found > foreign ? found
                                                                                     : foreign;
}

static uint64_t new_pages(const World *world, const Books *books, size_t i, size_t k) {
        const Pool *pool = &world->topology->nodes[i].pools[k];
        uint64_t persistent = pool->total_pages - pool->surplus_pages;
        uint64_t needed = naive_base(world, i, k) + books->granted[i][k];

        return needed > persistent ? needed - persistent : 0;
}

static uint64_t new_bytes(const World *world, const Books *books, size_t i) {
        uint64_t bytes = 0;

        for (size_t k = 0; k < world->topology->n_page_sizes; k++)
                bytes = add_saturated(bytes, mul_saturated(new_pages(world, books, i, k),
                                                           world->topology->page_sizes[k].bytes));
        return bytes;
}

/* Whether PAGES more could be granted here, tried by granting them. */
static bool fits(const World *world, Books books, size_t i, size_t k, uint64_t pages) {
        const Node *node = &world->topology->nodes[i];
        const Pool *pool = &node->pools[k];

        if (pages == 0)
                return true;
        if (!pool->exists || pages > UINT64_C(1) << 50)
                return false;
        if (world->limits)
                VEC_FOREACH(limit, world->limits)
                        if (limit->node == node->id &&
                            limit->page_size_bytes == pool->page_size_bytes &&
                            naive_base(world, i, k) + books.granted[i][k] + pages >
                                    limit->persistent_pages)
                                return false;
        books.granted[i][k] += pages;
        return new_bytes(world, &books, i) <= naive_room(world, node);
}

/* The most pages that fit, by halving. */
static uint64_t capacity_of(const World *world, const Books *books, size_t i, size_t k) {
        uint64_t low = 0, high = UINT64_C(1) << 40;

        while (low < high) {
                uint64_t middle = low + (high - low + 1) / 2;

                if (fits(world, *books, i, k, middle))
                        low = middle;
                else
                        high = middle - 1;
        }
        return low;
}

static size_t node_at(const World *world, unsigned id) {
        size_t i = 0;

        while (world->topology->nodes[i].id != id)
                i++;
        return i;
}

static bool option_fits(const World *world, const Books *books, const DemandInstance *demand,
                        const DemandOption *option) {
        int k = topology_page_size_index(world->topology, option->page_size_bytes);
        uint64_t sum = 0;

        for (size_t s = 0; s < option->n_split; s++)
                if (!fits(world, *books, node_at(world, option->split[s].node), (size_t) k,
                          option->split[s].pages))
                        return false;
        if (option->n_split > 0)
                return true;
        ID_SET_FOREACH(id, &demand->nodes)
        sum += capacity_of(world, books, node_at(world, id), (size_t) k);
        return sum >= option->pages;
}

static void enter_grants(const World *world, Books *books, const PlanInstance *planned) {
        int k = topology_page_size_index(world->topology, planned->page_size_bytes);

        for (size_t g = 0; g < planned->n_grants; g++) {
                size_t i = node_at(world, planned->grants[g].node);

                REQUIRE(world, fits(world, *books, i, (size_t) k, planned->grants[g].pages),
                        "%s on node %u", planned->demand->config->name, planned->grants[g].node);
                books->granted[i][k] += planned->grants[g].pages;
        }
}

static const LedgerInstance *past_of(const World *world, const PlanInstance *planned) {
        return ledger_instance(world->ledger, planned->demand->config->name);
}

static bool is_same_as_before(const World *world, const DemandInstance *demand,
                              const DemandOption *option) {
        const LedgerInstance *before = ledger_instance(world->ledger, demand->config->name);

        return before && before->page_size_bytes == option->page_size_bytes &&
               before->pages_wanted == option->pages;
}

/* Held, and its demand is still the one that it was held for. */
static bool is_held(const World *world, const PlanInstance *planned) {
        const DemandInstance *demand = planned->demand;

        for (size_t o = 0; o < demand->n_options; o++)
                if (is_same_as_before(world, demand, &demand->options[o]))
                        return past_of(world, planned)->is_held;
        return false;
}

static bool is_released(const World *world, const PlanInstance *planned) {
        return past_of(world, planned) && past_of(world, planned)->is_released;
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

/* Sums agree; grants are in order, none is empty, none is outside the instance's nodes. */
static void check_bookkeeping(const World *world) {
        Books books = {};

        for (size_t n = 0; n < world->plan->n_instances; n++) {
                const PlanInstance *planned = &world->plan->instances[n];
                uint64_t sum = 0;

                for (size_t g = 0; g < planned->n_grants; g++) {
                        const NodePages *grant = &planned->grants[g];
                        int k = topology_page_size_index(world->topology, planned->page_size_bytes);

                        REQUIRE(world, grant->pages > 0, "%s", planned->demand->config->name);
                        REQUIRE(world, g == 0 || planned->grants[g - 1].node < grant->node, "%s",
                                planned->demand->config->name);
                        if (!planned->demand->config->refusal)
                                REQUIRE(world, id_set_has(&planned->demand->nodes, grant->node),
                                        "%s", planned->demand->config->name);
                        books.granted[node_at(world, grant->node)][k] += grant->pages;
                        sum += grant->pages;
                }
                REQUIRE(world, sum == planned->pages_granted, "%s", planned->demand->config->name);
        }
        for (size_t p = 0; p < world->plan->n_pools; p++) {
                const PlanPool *pool = &world->plan->pools[p];
                int k = topology_page_size_index(world->topology, pool->page_size_bytes);

                REQUIRE(world, pool->granted_pages == books.granted[node_at(world, pool->node)][k],
                        "pool %u", pool->node);
        }
}

/* No node gives more memory than it has beyond what is to be kept free. */
static void check_node_limits(const World *world) {
        for (size_t i = 0; i < world->topology->n_nodes; i++) {
                const Node *node = &world->topology->nodes[i];
                uint64_t bytes = 0;
                bool grants_something = false;

                for (size_t p = 0; p < world->plan->n_pools; p++) {
                        const PlanPool *pool = &world->plan->pools[p];

                        if (pool->node != node->id || pool->to_pages <= pool->from_pages)
                                continue;
                        grants_something = grants_something || pool->granted_pages > 0;
                        bytes = add_saturated(bytes,
                                              mul_saturated(pool->to_pages - pool->from_pages,
                                                            pool->page_size_bytes));
                }
                REQUIRE(world, bytes == 0 || grants_something, "node %u", node->id);
                REQUIRE(world, bytes <= naive_room(world, node), "node %u", node->id);
        }
}

/* What stands in each pool afterwards: what is needed, and nothing that is not ours is taken. */
static void check_targets(const World *world) {
        for (size_t p = 0; p < world->plan->n_pools; p++) {
                const PlanPool *pool = &world->plan->pools[p];
                const Pool *now = topology_pool(world->topology, pool->node, pool->page_size_bytes);
                int k = topology_page_size_index(world->topology, pool->page_size_bytes);
                const LedgerPool *known =
                        ledger_pool(world->ledger, pool->node, pool->page_size_bytes);
                uint64_t persistent = now->total_pages - now->surplus_pages;
                uint64_t base = naive_base(world, node_at(world, pool->node), (size_t) k);
                uint64_t needed = base + pool->granted_pages;
                uint64_t found = MIN(known->found_pages, persistent);
                uint64_t busy =
                        now->total_pages - now->free_pages +
                        topology_promised_pages(world->topology, pool->node, pool->page_size_bytes);

                REQUIRE(world, pool->from_pages == persistent, "pool %u", pool->node);
                REQUIRE(world, pool->to_pages >= pool->granted_pages, "pool %u", pool->node);
                REQUIRE(world, pool->to_pages >= found, "pool %u", pool->node);
                REQUIRE(world, pool->to_pages >= needed || pool->granted_pages == 0, "pool %u",
                        pool->node);
                REQUIRE(world, pool->to_pages >= MIN(persistent, busy), "pool %u", pool->node);
                REQUIRE(world, pool->to_pages <= MAX(persistent, needed), "pool %u", pool->node);
                if (pool->to_pages < persistent) /* given back: all of it */
                        REQUIRE(world, pool->to_pages == MAX(MAX(found, needed), busy), "pool %u",
                                pool->node);
        }
}

static void check_whole_or_nothing(const World *world) {
        for (size_t n = 0; n < world->plan->n_instances; n++) {
                const PlanInstance *planned = &world->plan->instances[n];
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

/* An explicit split that is served is served as it stands. */
static void check_splits(const World *world) {
        for (size_t n = 0; n < world->plan->n_instances; n++) {
                const PlanInstance *planned = &world->plan->instances[n];
                const DemandOption *option = NULL;

                for (size_t o = 0; o < planned->demand->n_options; o++)
                        if (!option &&
                            planned->demand->options[o].page_size_bytes == planned->page_size_bytes)
                                option = &planned->demand->options[o];
                if (!option || option->n_split == 0 || planned->reason.kind != REASON_NONE)
                        continue;
                size_t g = 0;

                for (size_t s = 0; s < option->n_split; s++) {
                        if (option->split[s].pages == 0)
                                continue;
                        REQUIRE(world,
                                g < planned->n_grants &&
                                        planned->grants[g].node == option->split[s].node &&
                                        planned->grants[g].pages == option->split[s].pages,
                                "%s", planned->demand->config->name);
                        g++;
                }
                REQUIRE(world, g == planned->n_grants, "%s", planned->demand->config->name);
        }
}

static void check_served_by(const World *world, Books *books, const PlanInstance *planned,
                            const DemandOption *chosen) {
        const char *name = planned->demand->config->name;

        REQUIRE(world, (planned->reason.kind == REASON_NONE) == (chosen != NULL), "%s %s", name,
                chosen ? "would fit at its turn" : "was served and does not fit");
        if (!chosen)
                return;
        REQUIRE(world, planned->page_size_bytes == chosen->page_size_bytes, "%s", name);
        REQUIRE(world, planned->pages_wanted == chosen->pages, "%s", name);
        enter_grants(world, books, planned);
}

/* Who holds pages is served with the same again, before all others. */
static bool check_served_as_held(const World *world, Books *books, const PlanInstance *planned) {
        const DemandInstance *demand = planned->demand;

        if (!is_held(world, planned))
                return false;
        for (size_t o = 0; o < demand->n_options; o++)
                if (is_same_as_before(world, demand, &demand->options[o]) &&
                    option_fits(world, books, demand, &demand->options[o])) {
                        check_served_by(world, books, planned, &demand->options[o]);
                        return true;
                }
        return false;
}

/* The first page size that fits at its turn, BUT one; NULL: none does. */
static const DemandOption *find_fitting(const World *world, const Books *books,
                                        const DemandInstance *demand, const DemandOption *but) {
        for (size_t o = 0; o < demand->n_options; o++)
                if (&demand->options[o] != but &&
                    option_fits(world, books, demand, &demand->options[o]))
                        return &demand->options[o];
        return NULL;
}

/* The option of which a part was reserved before, and stays; NULL: none is. */
static const DemandOption *part_before(const World *world, const PlanInstance *planned) {
        const DemandInstance *demand = planned->demand;
        const LedgerInstance *before = past_of(world, planned);
        uint64_t pages = 0;

        if (!before || before->is_released || demand->config->shortage != SHORTAGE_DEGRADE)
                return NULL;
        VEC_FOREACH(grant, &before->grants)
                pages += grant->pages;
        for (size_t o = 0; o < demand->n_options; o++)
                if (is_same_as_before(world, demand, &demand->options[o]))
                        return (o == 0 || before->is_held) && pages > 0 &&
                                               pages < demand->options[o].pages
                                       ? &demand->options[o]
                                       : NULL;
        return NULL;
}

/* What every instance keeps of its part, by node. */
typedef struct Parts {
        uint64_t pages[INSTANCES_MAX][NODES_MAX];
} Parts;

static void keep_part(const World *world, Books *books, Parts *parts, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];
        const DemandOption *option = part_before(world, planned);
        int k = topology_page_size_index(world->topology, option->page_size_bytes);

        VEC_FOREACH(grant, &past_of(world, planned)->grants) {
                if (!id_set_has(&planned->demand->nodes, grant->node))
                        continue;
                size_t i = node_at(world, grant->node);
                uint64_t pages = MIN(grant->pages, capacity_of(world, books, i, (size_t) k));
                uint64_t wanted = option->n_split > 0 ? 0 : option->pages;

                for (size_t s = 0; s < option->n_split; s++)
                        if (option->split[s].node == grant->node)
                                wanted = option->split[s].pages;
                pages = MIN(pages, wanted);
                parts->pages[n][i] = pages;
                books->granted[i][k] += pages;
        }
}

/* Takes what the instance has kept out of the books again, or puts it back. */
static void move_part(const World *world, Books *books, const Parts *parts, size_t n, bool is_out) {
        const DemandOption *option = part_before(world, &world->plan->instances[n]);
        int k = option ? topology_page_size_index(world->topology, option->page_size_bytes) : 0;

        for (size_t i = 0; i < world->topology->n_nodes; i++)
                if (is_out)
                        books->granted[i][k] -= parts->pages[n][i];
                else
                        books->granted[i][k] += parts->pages[n][i];
}

static bool has_part(const World *world, const Parts *parts, size_t n) {
        for (size_t i = 0; i < world->topology->n_nodes; i++)
                if (parts->pages[n][i] > 0)
                        return true;
        return false;
}

/* Whether the part can be made whole where it is. */
static bool rest_fits(const World *world, const Books *books, const Parts *parts, size_t n) {
        const DemandInstance *demand = world->plan->instances[n].demand;
        const DemandOption *option = part_before(world, &world->plan->instances[n]);
        int k = topology_page_size_index(world->topology, option->page_size_bytes);
        uint64_t sum = 0;

        for (size_t s = 0; s < option->n_split; s++) {
                size_t i = node_at(world, option->split[s].node);

                if (option->split[s].pages > parts->pages[n][i] &&
                    !fits(world, *books, i, (size_t) k,
                          option->split[s].pages - parts->pages[n][i]))
                        return false;
        }
        ID_SET_FOREACH(id, &demand->nodes)
        sum += parts->pages[n][node_at(world, id)] +
               capacity_of(world, books, node_at(world, id), (size_t) k);
        return option->n_split > 0 || sum >= option->pages;
}

/* Nothing is taken of what it had. */
static void check_keeps_part(const World *world, const Parts *parts, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];

        for (size_t i = 0; i < world->topology->n_nodes; i++) {
                uint64_t here = 0;

                for (size_t g = 0; g < planned->n_grants; g++)
                        if (planned->grants[g].node == world->topology->nodes[i].id)
                                here = planned->grants[g].pages;
                REQUIRE(world, here >= parts->pages[n][i], "%s lost pages of node %u",
                        planned->demand->config->name, world->topology->nodes[i].id);
        }
}

/* With the part that it has kept: true if it is made whole, and that is checked then. */
static bool check_rest(const World *world, Books *books, const Parts *parts, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];

        if (!rest_fits(world, books, parts, n))
                return false;
        move_part(world, books, parts, n, true);
        check_served_by(world, books, planned, part_before(world, planned));
        check_keeps_part(world, parts, n);
        return true;
}

/* False: it is left with a part, which may turn out to be all of it in the end. */
static bool check_served_in_turn(const World *world, Books *books, const Parts *parts, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];
        bool is_part = has_part(world, parts, n);
        const DemandOption *chosen = NULL;

        if (is_part && check_rest(world, books, parts, n))
                return true;
        move_part(world, books, parts, n, true);
        if (!is_part || !is_held(world, planned))
                chosen = find_fitting(world, books, planned->demand,
                                      is_part ? part_before(world, planned) : NULL);
        if (chosen || planned->demand->config->shortage != SHORTAGE_DEGRADE) {
                check_served_by(world, books, planned, chosen);
                return true;
        }
        move_part(world, books, parts, n, false);
        return false;
}

/* Nothing is left that it could still have used. */
static void check_part(const World *world, Books *books, const Parts *parts, size_t n) {
        const PlanInstance *planned = &world->plan->instances[n];
        const DemandInstance *demand = planned->demand;
        int k = topology_page_size_index(world->topology, planned->page_size_bytes);

        move_part(world, books, parts, n, true);
        enter_grants(world, books, planned);
        check_keeps_part(world, parts, n);
        if (demand->options[0].n_split > 0 || planned->pages_granted == planned->pages_wanted)
                return;
        ID_SET_FOREACH(id, &demand->nodes)
        REQUIRE(world, !fits(world, *books, node_at(world, id), (size_t) k, 1), "%s, node %u",
                demand->config->name, id);
}

/* Priorities: everyone is served who fits at his turn, and nobody else is. */
static void check_order_of_service(const World *world) {
        size_t order[INSTANCES_MAX];
        bool was_served[INSTANCES_MAX], gets_part[INSTANCES_MAX] = {};
        Books books = {};
        Parts parts = {};
        const Plan *plan = world->plan;

        order_by_priority(plan, order);
        for (size_t n = 0; n < plan->n_instances; n++)
                if (plan->instances[order[n]].demand->config->refusal)
                        enter_grants(world, &books, &plan->instances[order[n]]);
        for (size_t n = 0; n < plan->n_instances; n++) {
                const PlanInstance *planned = &plan->instances[order[n]];

                was_served[order[n]] = false;
                if (!is_held(world, planned))
                        continue;
                if (part_before(world, planned)) {
                        keep_part(world, &books, &parts, order[n]);
                        was_served[order[n]] = check_rest(world, &books, &parts, order[n]);
                } else {
                        was_served[order[n]] = check_served_as_held(world, &books, planned);
                }
        }
        for (size_t n = 0; n < plan->n_instances; n++) {
                const PlanInstance *planned = &plan->instances[order[n]];
                unsigned priority = planned->demand->config->priority;

                for (size_t o = n; o < plan->n_instances; o++) {
                        const PlanInstance *other = &plan->instances[order[o]];

                        if (other->demand->config->priority == priority && !was_served[order[o]] &&
                            part_before(world, other) && !has_part(world, &parts, order[o]) &&
                            (n == 0 ||
                             plan->instances[order[n - 1]].demand->config->priority != priority))
                                keep_part(world, &books, &parts, order[o]);
                }
                if (planned->demand->n_options == 0 || was_served[order[n]])
                        continue;
                if (is_released(world, planned))
                        REQUIRE(world, planned->reason.kind == REASON_RELEASED, "%s",
                                planned->demand->config->name);
                else
                        gets_part[order[n]] =
                                !check_served_in_turn(world, &books, &parts, order[n]);
        }
        for (size_t n = 0; n < plan->n_instances; n++)
                if (gets_part[order[n]])
                        check_part(world, &books, &parts, order[n]);
}

/* Spread: a node that gives less than another, by more than the odd page, gives all it has. */
static void check_spread(const World *world, const PlanInstance *planned) {
        const Books nothing = {};
        int k = topology_page_size_index(world->topology, planned->page_size_bytes);
        uint64_t most = 0;

        for (size_t g = 0; g < planned->n_grants; g++)
                most = MAX(most, planned->grants[g].pages);
        ID_SET_FOREACH(id, &planned->demand->nodes) {
                uint64_t here = 0;

                for (size_t g = 0; g < planned->n_grants; g++)
                        if (planned->grants[g].node == id)
                                here = planned->grants[g].pages;
                if (here + 1 < most)
                        REQUIRE(world,
                                capacity_of(world, &nothing, node_at(world, id), (size_t) k) ==
                                        here,
                                "node %u gives %" PRIu64 ", another one %" PRIu64, id, here, most);
        }
}

/* Pack: no choice of fewer nodes would do. */
static void check_pack(const World *world, const PlanInstance *planned) {
        const Books nothing = {};
        int k = topology_page_size_index(world->topology, planned->page_size_bytes);
        uint64_t capacity[NODES_MAX], sum = 0;
        size_t n = 0, needed = 0;

        ID_SET_FOREACH(id, &planned->demand->nodes)
        capacity[n++] = capacity_of(world, &nothing, node_at(world, id), (size_t) k);
        while (sum < planned->pages_granted) { /* the largest first */
                size_t best = 0;

                for (size_t i = 1; i < n; i++)
                        best = capacity[i] > capacity[best] ? i : best;
                sum += capacity[best];
                capacity[best] = 0;
                needed++;
        }
        REQUIRE(world, planned->n_grants == needed, "%zu nodes instead of %zu", planned->n_grants,
                needed);
}

/* One instance by itself, with no past. */
static void check_alone(const World *world) {
        World alone = *world;

        alone.ledger = ledger_new(world->arena, "boot");
        ledger_observe(world->arena, alone.ledger, world->topology);
        for (size_t i = 0; i < world->config.n_instances; i++) {
                alone.config.instances = &world->config.instances[i];
                alone.config.n_instances = 1;
                alone.demand = demand_compute(world->arena, &alone.config, alone.topology, NULL);
                alone.plan = make_plan(&alone);
                const PlanInstance *planned = &alone.plan->instances[0];

                if (planned->reason.kind != REASON_NONE || planned->n_grants == 0 ||
                    planned->demand->config->n_node_memory > 0)
                        continue;
                if (planned->demand->config->placement == PLACEMENT_PACK)
                        check_pack(&alone, planned);
                else
                        check_spread(&alone, planned);
        }
}

static void require_same(const World *world, const Plan *a, const Plan *b, const char *when) {
        for (size_t n = 0; n < a->n_instances; n++) {
                const char *name = a->instances[n].demand->config->name;

                REQUIRE(world,
                        text_equals(grants_text(world->arena, a, name),
                                    grants_text(world->arena, b, name)) &&
                                (plan_find(a, name)->n_grants == 0 ||
                                 plan_find(a, name)->page_size_bytes ==
                                         plan_find(b, name)->page_size_bytes) &&
                                plan_find(a, name)->reason.kind == plan_find(b, name)->reason.kind,
                        "%s: %s has %s, then %s", when, name, grants_text(world->arena, a, name),
                        grants_text(world->arena, b, name));
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

/* Surplus pages become persistent before new ones are made: memory is left over that was reckoned
 * with, and each round may use a little more of it. */
static bool has_surplus(const Topology *topology) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                for (size_t k = 0; k < topology->n_page_sizes; k++)
                        if (topology->nodes[i].pools[k].surplus_pages > 0)
                                return true;
        return false;
}

/* The kernel counts promises for the whole host. Laid to the nodes in proportion, they move a
 * little with every page that is given back. */
static bool has_promises(const Topology *topology) {
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                if (topology->page_sizes[k].promised_pages > 0)
                        return true;
        return false;
}

/* The same plan whatever the order of instances and nodes. */
static void check_order_of_input(const World *world) {
        World other = *world;
        Topology topology = *world->topology;
        Demand demand = *world->demand;

        demand.instances = arena_memdup(world->arena, demand.instances,
                                        demand.n_instances * sizeof(DemandInstance));
        shuffle(&other.random, demand.instances, demand.n_instances, sizeof(DemandInstance));
        topology.nodes =
                arena_memdup(world->arena, topology.nodes, topology.n_nodes * sizeof(Node));
        /* Promises are an estimate by node, rounded in the order of the nodes. */
        if (!has_promises(&topology))
                shuffle(&other.random, topology.nodes, topology.n_nodes, sizeof(Node));
        other.demand = &demand;
        other.topology = &topology;
        other.plan = make_plan(&other);
        require_same(world, world->plan, other.plan, "in another order");
        for (size_t p = 0; p < world->plan->n_pools; p++) {
                const PlanPool *pool = &world->plan->pools[p];
                const PlanPool *same = plan_pool(other.plan, pool->node, pool->page_size_bytes);

                REQUIRE(world, same->to_pages == pool->to_pages, "pool %u", pool->node);
        }
}

static void apply_and_record(World *world) {
        plan_record(world->arena, world->plan, world->ledger);
        host_apply(world->topology, world->plan);
        for (size_t p = 0; p < world->plan->n_pools; p++) {
                const PlanPool *pool = &world->plan->pools[p];
                LedgerPool *known = ledger_pool(world->ledger, pool->node, pool->page_size_bytes);

                known->set_pages = MAX(pool->to_pages, known->found_pages);
        }
        ledger_observe(world->arena, world->ledger, world->topology);
}

static bool gives_back(const Plan *plan) {
        for (size_t p = 0; p < plan->n_pools; p++)
                if (plan->pools[p].to_pages < plan->pools[p].from_pages)
                        return true;
        return false;
}

/* Somebody who had a part is whole now, perhaps by pages of another size: nothing is kept for it
 * before its turn any more. */
static bool leaves_part(const World *world) {
        for (size_t n = 0; n < world->plan->n_instances; n++) {
                const PlanInstance *planned = &world->plan->instances[n];

                if (planned->reason.kind == REASON_NONE && part_before(world, planned) &&
                    !is_held(world, planned))
                        return true;
        }
        return false;
}

/* Applied and planned again, nothing is left to do. Where pages were given back or left there is
 * memory that another instance may use now: then it settles after a few rounds. */
static void check_idempotent(World *world) {
        size_t n_rounds = 0;

        world->limits = NULL; /* they are of one round */
        world->plan = make_plan(world);
        const Plan *first = world->plan;
        bool may_change = gives_back(first) || leaves_part(world);

        if (has_promises(world->topology) || has_surplus(world->topology))
                return;
        do {
                REQUIRE(world, n_rounds++ < STEADY_ROUNDS_MAX, "it never settles");
                apply_and_record(world);
                world->plan = make_plan(world);
                if (n_rounds == 1 && !may_change) {
                        require_same(world, first, world->plan, "a second time");
                        REQUIRE(world, plan_count_changed(world->plan) == 0, "steps are left");
                }
        } while (plan_count_changed(world->plan) > 0);
}

static void check_world(uint64_t seed) {
        World world = world_make(seed);

        check_bookkeeping(&world);
        check_node_limits(&world);
        check_targets(&world);
        check_whole_or_nothing(&world);
        check_splits(&world);
        check_order_of_service(&world);
        check_order_of_input(&world);
        check_alone(&world);
        check_idempotent(&world);
        check_bookkeeping(&world);
        check_targets(&world);
        arena_free(world.arena);
}

static void test_all(void **state) {
        (void) state;
        random_for_each_seed(5000, check_world);
}

/* The worlds are worth something: all that is checked does happen in them. */
static void test_worlds_are_varied(void **state) {
        size_t n_short = 0, n_whole = 0, n_degraded = 0, n_given_back = 0, n_split = 0;
        size_t n_kept = 0;

        (void) state;
        for (uint64_t seed = 1; seed <= 300; seed++) {
                World world = world_make(seed);

                n_given_back += gives_back(world.plan);
                for (size_t n = 0; n < world.plan->n_instances; n++) {
                        const PlanInstance *planned = &world.plan->instances[n];

                        n_whole += planned->reason.kind == REASON_NONE;
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
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_worlds_are_varied),
                cmocka_unit_test(test_all),
        };

        return RUN_TESTS(tests);
}
