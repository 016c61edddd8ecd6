/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/probe.h"

#include "base/size.h"
#include "base/text.h"
#include "host/cgroup_limit.h"
#include "model/names.h"
#include "model/thp.h"

#include <string.h>
#include <unistd.h>

typedef struct Probe {
        const Root *root;
        Arena *arena;
        Topology *topology;
} Probe;

static char *read_text(const Probe *probe, const char *path) {
        char *text;

        return root_read_attribute(probe->root, probe->arena, path, &text) < 0 ? NULL : text;
}

int probe_node_memory(const Root *root, const Topology *topology, Node *node) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *text;
        int r = root_read_attribute(
                root, arena,
                topology->is_numa ? node_path(arena, node->id, "meminfo") : PATH_MEMINFO, &text);

        if (r < 0)
                return r;
        node->memory_bytes = probe_meminfo(arena, text, "MemTotal");
        node->free_bytes = probe_meminfo(arena, text, "MemFree");
        /* Mapped file cache belongs to running programs and is not reclaimable. "Mapped" includes shared memory, which
         * the lists of file pages do not: without "Shmem", of which some may not be mapped, the rest is a lower bound. So
         * the result is never more than these lists and the slab, which MemAvailable counts (si_mem_available()). */
        uint64_t mapped = sub_floored(probe_meminfo(arena, text, "Mapped"),
                                      probe_meminfo(arena, text, "Shmem"));

        node->reclaimable_bytes = sub_floored(probe_meminfo(arena, text, "Active(file)") +
                                                      probe_meminfo(arena, text, "Inactive(file)"),
                                              mapped) +
                                  probe_meminfo(arena, text, "SReclaimable");
        return 0;
}

/* ---- pools ---- */

/* Returns how many free pages of a node no program can get. If a free page has a memory error, the kernel takes it out of
 * its pool, unless all free pages are reserved: then memory_failure() fails, the page still counts as free, and the last
 * process that touches its reserved memory is killed. Which failures were in huge pages is not known: all count. The file
 * exists since Linux 6.3. */
static uint64_t read_unusable_pages(const Root *root, Arena *arena, const Topology *topology,
                                    unsigned node) {
        uint64_t pages = 0;

        if (topology->failed_bytes > 0 && topology->is_numa)
                root_read_u64(root, node_path(arena, node, "memory_failure/failed"), &pages);
        return pages;
}

int probe_pool(const Root *root, const Topology *topology, unsigned node, uint64_t page_size_bytes,
               Pool *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Pool pool = {.page_size_bytes = page_size_bytes, .exists = true};
        const struct {
                const char *attribute;
                uint64_t *count;
        } files[] = {
                {"nr_hugepages", &pool.total_pages},
                {"surplus_hugepages", &pool.surplus_pages},
                {"free_hugepages", &pool.free_pages},
        };

        ARRAY_FOREACH(file, files, ARRAY_LEN(files)) {
                int r = root_read_u64(
                        root,
                        topology_pool_path(arena, topology, node, page_size_bytes, file->attribute),
                        file->count);

                /* Only nr_hugepages must exist. Nothing is free in an empty pool; but the kernel may count surplus pages
                 * on a node that has no pages left. */
                if (file == files && r < 0)
                        return r;
                if (file->count == &pool.surplus_pages && pool.total_pages == 0)
                        break;
        }
        pool.free_pages =
                sub_floored(pool.free_pages, read_unusable_pages(root, arena, topology, node));
        *ret = pool;
        return 0;
}

/* Adds up the pools, which are all there is of a size: the kernel changes its counts of a node and of the host together
 * (mm/hugetlb.c, nr_huge_pages and nr_huge_pages_node). Only reserved pages are counted for the host alone, and there
 * are none without a pool. */
static void sum_pools(const Root *root, const Topology *topology, PageSize *size) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        *size = (PageSize){.bytes = size->bytes};
        ARRAY_FOREACH(node, topology->nodes, topology->n_nodes) {
                const Pool *pool = &node->pools[size - topology->page_sizes];

                size->total_pages = add_saturated(size->total_pages, pool->total_pages);
                size->free_pages = add_saturated(size->free_pages, pool->free_pages);
                size->surplus_pages = add_saturated(size->surplus_pages, pool->surplus_pages);
        }
        if (size->total_pages > 0)
                root_read_u64(root,
                              page_size_path(arena, PATH_HUGEPAGES, size->bytes, "resv_hugepages"),
                              &size->reserved_pages);
}

bool probe_counts(const Root *root, Topology *topology, bool *ret_is_changed) {
        bool has_all = true;

        *ret_is_changed = false;
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                ARRAY_FOREACH(node, topology->nodes, topology->n_nodes) {
                        Pool *pool = &node->pools[size - topology->page_sizes], now;

                        if (!pool->exists)
                                continue;
                        if (probe_pool(root, topology, node->id, size->bytes, &now) < 0) {
                                has_all = false;
                                continue;
                        }
                        *ret_is_changed |= now.total_pages != pool->total_pages ||
                                           now.free_pages != pool->free_pages ||
                                           now.surplus_pages != pool->surplus_pages;
                        now.demote_to_bytes = pool->demote_to_bytes;
                        *pool = now;
                }
                uint64_t before = size->reserved_pages;

                sum_pools(root, topology, size);
                *ret_is_changed |= size->reserved_pages != before;
        }
        return has_all;
}

static void probe_pools(Probe *probe, Node *node) {
        Topology *topology = probe->topology;

        node->pools = ARENA_ARRAY(probe->arena, Pool, topology->n_page_sizes + 1);
        for (size_t i = 0; i < topology->n_page_sizes; i++) {
                uint64_t bytes = topology->page_sizes[i].bytes;

                node->pools[i].page_size_bytes = bytes;
                probe_pool(probe->root, topology, node->id, bytes, &node->pools[i]);
                /* "2048kB"; since kernel 5.16, for all sizes but the smallest. */
                const char *text =
                        i + 1 < topology->n_page_sizes
                                ? read_text(probe,
                                            topology_pool_path(probe->arena, topology, node->id,
                                                               bytes, "demote_size"))
                                : NULL;

                if (text)
                        node->pools[i].demote_to_bytes = probe_size_of_name(
                                probe->arena,
                                arena_printf(probe->arena, NAME_HUGEPAGES_DIR "%s", text));
        }
}

/* ---- nodes ---- */

static bool read_id_set(const Probe *probe, const char *path, IdSet *ret) {
        char *text = read_text(probe, path);

        return text && id_set_parse(text, ret) == 0;
}

static void probe_node(Probe *probe, unsigned id, const IdSet *with_memory) {
        Topology *topology = probe->topology;
        Node *node = &topology->nodes[topology->n_nodes++];

        node->id = id;
        probe_node_memory(probe->root, topology, node);
        node->has_memory = with_memory ? id_set_has(with_memory, id) : node->memory_bytes > 0;
        node->can_compact =
                topology->is_numa ? root_exists(probe->root, node_path(probe->arena, id, "compact"))
                                  : root_exists(probe->root, PATH_COMPACT);
        node->can_reclaim = topology->is_numa &&
                            root_exists(probe->root, node_path(probe->arena, id, "reclaim"));
        probe_pools(probe, node);
}

static void probe_nodes(Probe *probe) {
        Topology *topology = probe->topology;
        IdSet nodes = {}, with_memory, cpus;
        Names names = {};
        uint64_t number;

        /* The directories nodeN are those of the nodes online. */
        root_list(probe->root, probe->arena, PATH_NODES, &names);
        VEC_FOREACH(name, &names)
                if (text_starts_with(*name, "node") &&
                    parse_u64(*name + strlen("node"), &number) == 0 && number < ID_SET_MAX)
                        id_set_add(&nodes, (unsigned) number);
        bool knows_memory = read_id_set(probe, PATH_NODES "/has_memory", &with_memory);

        if (read_id_set(probe, PATH_CPUS_ONLINE, &cpus))
                topology->n_cpus = id_set_count(&cpus);
        else /* a captured host may lack the file */
                topology->has_no_sysfs = root_is_host(probe->root);
        topology->is_numa = !id_set_is_empty(&nodes);
        if (!topology->is_numa)
                id_set_add(&nodes, 0);
        if (!read_id_set(probe, PATH_NODES "/possible", &topology->possible_nodes))
                topology->possible_nodes = nodes;
        topology->nodes = ARENA_ARRAY(probe->arena, Node, id_set_count(&nodes));
        ID_SET_FOREACH(id, &nodes)
                probe_node(probe, id, topology->is_numa && knows_memory ? &with_memory : NULL);
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes)
                sum_pools(probe->root, topology, size);
}

/* "Node 0, zone   Normal   1 2 3 ...": free blocks by order, summed up over the zones of a node. */
static void probe_free_blocks(Probe *probe) {
        TEXT_FOREACH(line, probe->arena, read_text(probe, PATH_BUDDYINFO), "\n") {
                const char *rest = line;
                char *word = text_next_word(probe->arena, &rest, " ,");
                uint64_t id, count;

                if (!text_equals(word, "Node") ||
                    !(word = text_next_word(probe->arena, &rest, " ,")) || parse_u64(word, &id) < 0)
                        continue;
                text_next_word(probe->arena, &rest, " ,"); /* "zone" */
                text_next_word(probe->arena, &rest, " ,"); /* its name */
                Node *node = (Node *) topology_node(probe->topology, (unsigned) id);

                for (unsigned order = 0; node && order < BUDDY_ORDERS &&
                                         (word = text_next_word(probe->arena, &rest, " "));
                     order++)
                        if (parse_u64(word, &count) == 0) {
                                node->free_blocks[order] += count;
                                node->n_orders = MAX(node->n_orders, order + 1);
                        }
        }
}

/* ---- the rest ---- */

static const char *read_selected(Probe *probe, const char *path) {
        const char *text = read_text(probe, path);

        return text ? thp_selected(probe->arena, text) : NULL;
}

static void probe_thp_files(Probe *probe) {
        Topology *topology = probe->topology;
        Names names = {};

        topology->thp_shmem_enabled = read_selected(probe, PATH_THP_SHMEM);
        topology->thp_defrag = read_selected(probe, PATH_THP_DEFRAG);
        topology->thp_max_ptes_none = read_text(probe, PATH_THP_MAX_PTES_NONE);
        root_list(probe->root, probe->arena, PATH_THP, &names);
        VEC_FOREACH(name, &names) {
                uint64_t bytes = probe_size_of_name(probe->arena, *name);

                if (bytes == 0)
                        continue;
                *vec_push(probe->arena, &topology->thp_sizes) = (ThpSize){
                        bytes,
                        read_selected(probe,
                                      page_size_path(probe->arena, PATH_THP, bytes, "enabled")),
                        read_selected(probe, page_size_path(probe->arena, PATH_THP, bytes,
                                                            "shmem_enabled")),
                };
        }
}

static uint64_t read_limit(Probe *probe, const char *path) {
        uint64_t limit;

        return root_read_u64(probe->root, path, &limit) < 0 ? UINT64_MAX : limit;
}

/* On a captured host the base page size is that of a mapping in the captured smaps. */
static uint64_t read_base_page(const Probe *probe) {
        static const char key[] = "KernelPageSize";
        uint64_t bytes = (uint64_t) sysconf(_SC_PAGESIZE);

        if (!root_is_host(probe->root)) {
                char *smaps;

                /* 4 MiB, because the file has all mappings of the process if the root's /proc is the kernel's. */
                bytes = root_read_kernel_file(probe->root, probe->arena, PATH_SELF_SMAPS, 4 * MIB,
                                              &smaps, NULL) == 0
                                ? probe_meminfo(probe->arena, smaps, key)
                                : 0;
                return is_power_of_two(bytes) && bytes <= MIB ? bytes : 0;
        }
        root_record_text(probe->root, PATH_SELF_SMAPS,
                         arena_printf(probe->arena, "%s: %8" PRIu64 " kB\n", key, bytes / KIB));
        return bytes;
}

static CommitLimit read_commit_limit(const Root *root) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CommitLimit limit = {};

        if (!text_equals(probe_text(root, arena, PATH_OVERCOMMIT_MEMORY), "2") ||
            root_read_u64(root, PATH_OVERCOMMIT_RATIO, &limit.percent) < 0)
                return limit;
        const char *meminfo = probe_text(root, arena, PATH_MEMINFO);

        limit.bytes = probe_meminfo(arena, meminfo, "CommitLimit");
        limit.committed_bytes = probe_meminfo(arena, meminfo, "Committed_AS");
        return limit;
}

Topology *probe_topology(const Root *root, Arena *arena, const Config *config) {
        CLEANUP(arena_freep) Arena *scratch = arena_new(); /* some files have kilobytes */
        Topology *topology = probe_page_sizes(root, arena);
        Probe probe = {root, arena, topology}, passing = {root, scratch, topology};

        topology->base_page_bytes = read_base_page(&probe);
        probe_nodes(&probe);
        probe_free_blocks(&passing);
        topology->commit = read_commit_limit(root);
        topology->can_reclaim = root_exists(root, PATH_CGROUP_RECLAIM);
        topology->thp_enabled = read_selected(&probe, PATH_THP_ENABLED);
        if (!config || thp_resolve(config) != THP_KEEP)
                probe_thp_files(&probe);
        topology->limits = (KernelLimits){UINT64_MAX, UINT64_MAX, UINT64_MAX};
        if (!config || config_needs_group(config))
                topology->limits = (KernelLimits){
                        .shmmax_bytes = read_limit(&probe, PATH_SHMMAX),
                        .shmall_pages = read_limit(&probe, PATH_SHMALL),
                        .shm_group = read_limit(&probe, PATH_HUGETLB_SHM_GROUP),
                };
        /* The kernel allocates no pages outside the writer's cpuset, contrary to hugetlbpage.rst. */
        if (!read_id_set(&passing, PATH_OWN_MEMORY_NODES, &topology->allowed_nodes))
                memset(&topology->allowed_nodes, 0xFF, sizeof(topology->allowed_nodes));
        topology->no_hugetlb_limit = cgroup_limit_judge(root);
        topology->kernel_command_line = probe_text(root, arena, PATH_CMDLINE);
        topology->kernel_release = read_text(&probe, PATH_OSRELEASE);
        topology->boot_id = probe_text(root, arena, PATH_BOOT_ID);
        return topology;
}

/* ---- again ---- */

/* "online" names the nodes that have a directory. It stays open, and is read by one call; a listing takes four. */
static bool has_same_nodes(const Probe *probe) {
        const Topology *topology = probe->topology;
        const IdSet nodes = topology_all_nodes(topology);
        IdSet now, with_memory;

        if (!topology->is_numa || !read_id_set(probe, PATH_NODES "/online", &now) ||
            !id_set_equals(&nodes, &now) ||
            !read_id_set(probe, PATH_NODES "/has_memory", &with_memory))
                return false;
        return !ARRAY_ANY(node, topology->nodes, topology->n_nodes,
                          node->has_memory != id_set_has(&with_memory, node->id));
}

Topology *probe_topology_again(const Root *root, Arena *arena, const Config *config,
                               const Topology *known) {
        Topology *topology = arena_memdup(arena, known, sizeof(*known));
        Probe probe = {root, arena, topology};
        /* KNOWN may be freed first. */
        const char **const strings[] = {
                &topology->thp_shmem_enabled, &topology->thp_defrag,
                &topology->thp_max_ptes_none, &topology->kernel_command_line,
                &topology->kernel_release,    &topology->boot_id,
        };

        topology->page_sizes =
                arena_memdup(arena, known->page_sizes, known->n_page_sizes * sizeof(PageSize));
        topology->nodes = arena_memdup(arena, known->nodes, known->n_nodes * sizeof(Node));
        topology->thp_sizes.items =
                arena_memdup(arena, known->thp_sizes.items, known->thp_sizes.n * sizeof(ThpSize));
        ARRAY_FOREACH(string, strings, ARRAY_LEN(strings))
                **string = arena_strdup(arena, **string);
        VEC_FOREACH(size, &topology->thp_sizes) {
                size->enabled = arena_strdup(arena, size->enabled);
                size->shmem_enabled = arena_strdup(arena, size->shmem_enabled);
        }
        ARRAY_FOREACH(node, topology->nodes, topology->n_nodes)
                node->pools = arena_memdup(arena, node->pools, known->n_page_sizes * sizeof(Pool));
        if (!has_same_nodes(&probe) || !probe_counts(root, topology, &(bool){false}))
                return probe_topology(root, arena, config);
        topology->thp_enabled = read_selected(&probe, PATH_THP_ENABLED);
        return topology;
}

void probe_memory_again(const Root *root, Topology *topology) {
        topology->commit = read_commit_limit(root);
        ARRAY_FOREACH(node, topology->nodes, topology->n_nodes)
                probe_node_memory(root, topology, node);
}
