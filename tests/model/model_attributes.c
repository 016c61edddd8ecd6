/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Formats after mm/hugetlb.c, drivers/base/node.c, fs/proc/meminfo.c. */
#include "model/model_attributes.h"

#include "base/id_set.h"
#include "base/text.h"
#include "model/names.h"

#include <string.h>

enum { MAX_ORDER = 10, BASE_PAGE = 4096, MOUNT_MINOR = 0x30 };

/* kstrtoul(text, 10): digits, optionally after a plus and before a line end; -EINVAL, -ERANGE. */
static int parse_sysfs(const char *text, uint64_t *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        size_t length = strlen(text);

        if (*text == '+') {
                text++;
                length--;
        }
        if (length > 0 && text[length - 1] == '\n')
                length--;
        return parse_u64(arena_strndup(arena, text, length), ret);
}

static int node_of(const Where *where) {
        return where->is_on_node ? (int) where->node : KERNEL_HOST;
}

/* ---- nodes ---- */

static bool has_demotion(const Where *where) {
        return where->size->demote_to != NULL;
}

static bool is_self(const Where *where) {
        return where->process == where->kernel->self;
}

/* Has only the field that the probe reads. */
static char *read_smaps(const Where *where) {
        return arena_printf(where->arena, "KernelPageSize: %8d kB\n", BASE_PAGE / 1024);
}

static bool has_node_reclaim(const Where *where) {
        const Kernel *kernel = where->kernel;

        return kernel->release_major > 6 ||
               (kernel->release_major == 6 && kernel->release_minor >= 17);
}

static char *format_set(const Where *where, uint64_t nodes) {
        return arena_printf(where->arena, "%s\n",
                            id_set_format(where->arena, &(IdSet){.words = {nodes}}));
}

static char *read_nodes(const Where *where) {
        uint64_t nodes = 0;

        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                if (where->kernel->nodes[node].exists)
                        nodes |= node_bit(node);
        return format_set(where, nodes);
}

static char *read_memory_nodes(const Where *where) {
        return format_set(where, where->kernel->memory_nodes);
}

/* hugetlb_report_node_meminfo() shows the default size only, and no reservations. */
static char *read_node_meminfo(const Where *where) {
        const MemoryNode *node = &where->kernel->nodes[where->node];
        const Size *size = kernel_size(where->kernel, 0);
        unsigned id = where->node;
        Text text = text_in(where->arena);
        const struct {
                const char *key;
                uint64_t bytes;
        } amounts[] = {
                {"MemTotal", node->total},
                {"MemFree", node->free},
                {"MemUsed", node->total - node->free},
                {"Active(file)", node->cache / 2},
                {"Inactive(file)", node->cache - node->cache / 2},
                {"SReclaimable", 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
                text_printf(&text, "Node %u %s: %14" PRIu64 " kB\n", id, amounts[i].key,
                            amounts[i].bytes / KIB);
        text_printf(&text,
                    "Node %u HugePages_Total: %5" PRIu64 "\nNode %u HugePages_Free:  %5" PRIu64
                    "\nNode %u HugePages_Surp:  %5" PRIu64 "\n",
                    id, size->n_on[id], id, size->free_on[id], id, size->surplus_on[id]);
        return text.string;
}

static int write_compact(Kernel *kernel, const KernelProcess *writer UNUSED, const Where *where,
                         const char *text UNUSED) {
        return kernel_compact(kernel, node_of(where));
}

/* "1048576 swappiness=0" */
static int write_reclaim(Kernel *kernel, const KernelProcess *writer UNUSED, const Where *where,
                         const char *text) {
        char *number = text_next_word(where->arena, &text, " \n");
        uint64_t bytes;

        if (!number || parse_size_bytes(number, &bytes) < 0)
                return -EINVAL;
        return kernel_reclaim(kernel, node_of(where), bytes);
}

static int write_drop_caches(Kernel *kernel, const KernelProcess *writer UNUSED,
                             const Where *where UNUSED, const char *text) {
        uint64_t what;

        if (parse_sysfs(text, &what) < 0 || what < 1 || what > 7)
                return -EINVAL;
        if (what & 1)
                kernel_drop_caches(kernel);
        return 0;
}

/* ---- pools ---- */

#define READ_COUNT(name, member)                                                                  \
        static char *read_##name(const Where *where) {                                            \
                KernelPool pool = kernel_pool(where->kernel, node_of(where), where->size->bytes); \
                                                                                                  \
                return arena_printf(where->arena, "%" PRIu64 "\n", pool.member);                  \
        }

READ_COUNT(total, total_pages)
READ_COUNT(free, free_pages)
READ_COUNT(surplus, surplus_pages)
READ_COUNT(reserved, reserved_pages)

static char *read_demote_size(const Where *where) {
        return arena_printf(where->arena, "%" PRIu64 "kB\n", where->size->demote_to->bytes / KIB);
}

static int write_total(Kernel *kernel, const KernelProcess *writer, const Where *where,
                       const char *text) {
        uint64_t n;
        int r = parse_sysfs(text, &n);

        return r < 0 ? r : kernel_set_pool(kernel, writer, node_of(where), where->size->bytes, n);
}

static int write_demote(Kernel *kernel, const KernelProcess *writer UNUSED, const Where *where,
                        const char *text) {
        uint64_t n;
        int r = parse_sysfs(text, &n);

        return r < 0 ? r : kernel_demote(kernel, node_of(where), where->size->bytes, n);
}

/* ---- the host ---- */

static char *read_release(const Where *where) {
        return arena_printf(where->arena, "%s\n", where->kernel->release);
}

static char *read_meminfo(const Where *where) {
        const Kernel *kernel = where->kernel;
        const Size *size = kernel_size(kernel, 0);
        uint64_t total = 0, free_bytes = 0, cache = 0, huge = 0;
        Text text = text_in(where->arena);

        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++) {
                total += kernel->nodes[node].total;
                free_bytes += kernel->nodes[node].free;
                cache += kernel->nodes[node].cache;
        }
        for (unsigned i = 0; i < kernel->n_sizes; i++)
                huge += kernel->sizes[i].n * kernel->sizes[i].bytes;
        const struct {
                const char *key;
                uint64_t bytes;
        } amounts[] = {
                {"MemTotal:", total},
                {"MemFree:", free_bytes},
                {"MemAvailable:", free_bytes + cache},
                {"Cached:", cache},
                {"Active(file):", cache / 2},
                {"Inactive(file):", cache - cache / 2},
                {"SwapTotal:", 0},
                {"SwapFree:", 0},
                {"SReclaimable:", 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
                text_printf(&text, "%-16s%8" PRIu64 " kB\n", amounts[i].key,
                            amounts[i].bytes / KIB);
        text_printf(&text,
                    "HugePages_Total:   %5" PRIu64 "\nHugePages_Free:    %5" PRIu64
                    "\nHugePages_Rsvd:    %5" PRIu64 "\nHugePages_Surp:    %5" PRIu64
                    "\nHugepagesize:   %8" PRIu64 " kB\nHugetlb:        %8" PRIu64 " kB\n",
                    size->n, size->n_free, size->reserved, size->surplus, size->bytes / KIB,
                    huge / KIB);
        return text.string;
}

static uint64_t block_bytes(unsigned order) {
        return (uint64_t) BASE_PAGE << order;
}

/* Scattered memory is in the smallest blocks, all other free memory in the largest. */
static char *read_buddyinfo(const Where *where) {
        Text text = text_in(where->arena);

        for (unsigned id = 0; id < KERNEL_NODES_MAX; id++) {
                const MemoryNode *node = &where->kernel->nodes[id];
                uint64_t counts[MAX_ORDER + 1] = {}, whole = node->free - node->scattered;

                if (!node->has_memory)
                        continue;
                for (unsigned order = MAX_ORDER + 1; order-- > 0;) {
                        counts[order] = whole / block_bytes(order);
                        whole %= block_bytes(order);
                }
                counts[0] += node->scattered / BASE_PAGE;
                text_printf(&text, "Node %u, zone %8s ", id, "Normal");
                for (unsigned order = 0; order <= MAX_ORDER; order++)
                        text_printf(&text, "%6" PRIu64 " ", counts[order]);
                text_add(&text, "\n");
        }
        return arena_strdup(where->arena, text_string(&text));
}

/* ---- the process that reads ---- */

static char *escape_spaces(Arena *arena, const char *name) {
        Text text = text_in(arena);

        for (; *name; name++)
                if (*name == ' ')
                        text_add(&text, "\\040");
                else
                        text_add_n(&text, name, 1);
        return arena_strdup(arena, text_string(&text));
}

/* hugetlbfs_show_options() */
static void add_options(Text *text, const KernelMount *mount) {
        text_printf(text, "rw,pagesize=%" PRIu64 "M", mount->size->bytes / MIB);
        if (mount->max != UINT64_MAX)
                text_printf(text, ",size=%" PRIu64, mount->max * mount->size->bytes);
        if (mount->min != UINT64_MAX)
                text_printf(text, ",min_size=%" PRIu64, mount->min * mount->size->bytes);
}

static char *read_mountinfo(const Where *where) {
        Text text = text_in(where->arena);

        text_add(&text, "22 1 254:0 / / rw,relatime - ext4 /dev/vda1 rw\n"
                        "23 22 0:5 / " PATH_CGROUP " rw,nosuid,nodev,noexec,relatime shared:1 - "
                        "cgroup2 cgroup2 rw\n");
        VEC_FOREACH(mount, &where->kernel->mounts) {
                if (!(*mount)->is_mounted)
                        continue;
                text_printf(&text, "%u 22 0:%u / %s rw,relatime shared:%u - hugetlbfs none ",
                            MOUNT_MINOR + (*mount)->id, MOUNT_MINOR + (*mount)->id,
                            escape_spaces(where->arena, (*mount)->path), 2 + (*mount)->id);
                add_options(&text, *mount);
                text_add(&text, "\n");
        }
        return text.string;
}

/* ---- the table ---- */

#define NODE      PATH_NODES "/node%"
#define NODE_POOL NODE "/hugepages/" NAME_HUGEPAGES_DIR "%kB"
#define HOST_POOL PATH_HUGEPAGES "/" NAME_HUGEPAGES_DIR "%kB"
#define PROCESS   PATH_PROC "/%"

const Attribute kernel_attributes[] = {
        {PATH_NODES "/possible", read_nodes},
        {PATH_NODES "/online", read_nodes},
        {PATH_NODES "/has_memory", read_memory_nodes},
        {NODE "/meminfo", read_node_meminfo},
        {NODE "/compact", NULL, write_compact},
        {NODE "/reclaim", NULL, write_reclaim, has_node_reclaim},
        {NODE_POOL "/nr_hugepages", read_total, write_total},
        {NODE_POOL "/free_hugepages", read_free},
        {NODE_POOL "/surplus_hugepages", read_surplus},
        {NODE_POOL "/demote_size", read_demote_size, NULL, has_demotion},
        {NODE_POOL "/demote", NULL, write_demote, has_demotion},
        {HOST_POOL "/nr_hugepages", read_total, write_total},
        {HOST_POOL "/free_hugepages", read_free},
        {HOST_POOL "/resv_hugepages", read_reserved},
        {HOST_POOL "/surplus_hugepages", read_surplus},
        {HOST_POOL "/demote_size", read_demote_size, NULL, has_demotion},
        {HOST_POOL "/demote", NULL, write_demote, has_demotion},
        {PATH_MEMINFO, read_meminfo},
        {PATH_BUDDYINFO, read_buddyinfo},
        {PATH_OSRELEASE, read_release},
        {PATH_COMPACT, NULL, write_compact},
        {PATH_CGROUP_RECLAIM, NULL, write_reclaim},
        {PATH_DROP_CACHES, NULL, write_drop_caches},
        {PROCESS "/smaps", read_smaps, NULL, is_self},
        {PROCESS "/mountinfo", read_mountinfo},
};

const size_t n_kernel_attributes = ARRAY_LEN(kernel_attributes);
