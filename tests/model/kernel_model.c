/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A host and its processes. */
#include "model/kernel_model.h"

#include "base/text.h"
#include "model/kernel_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        FIRST_PID = 100,
        FIRST_ID = 1,
        DISTANCE_NEAR = 10,
        DISTANCE_FAR = 20,
};

#define DEMOTE_MIN (2 * MIB) /* HUGETLB_PAGE_ORDER */
#define BUDDY_MAX  (4 * MIB) /* the largest block of the buddy allocator */

/* ---- descriptions ---- */

__attribute__((noreturn)) static void refuse(const char *line, const char *word) {
        fprintf(stderr, "kernel model: what is '%s' in '%s'?\n", word, line);
        abort();
}

static uint64_t parse_bytes(const char *line, const char *word, const char *text) {
        uint64_t bytes;

        if (parse_size_bytes(text, &bytes) < 0)
                refuse(line, word);
        return bytes;
}

static uint64_t parse_count(const char *line, const char *word, const char *text) {
        uint64_t count;

        if (parse_u64(text, &count) < 0)
                refuse(line, word);
        return count;
}

static unsigned parse_node_id(const char *line, const char *word) {
        uint64_t id = word ? parse_count(line, word, word) : UINT64_MAX;

        if (id >= KERNEL_NODES_MAX)
                refuse(line, word ? word : "");
        return (unsigned) id;
}

/* "6.1.176-1-amd64" */
static void take_release(Kernel *kernel, const char *line, const char *text) {
        const char *rest = text;
        char *major = text_next_word(kernel->arena, &rest, ".");
        char *minor = text_next_word(kernel->arena, &rest, ".-+");

        if (!major || !minor)
                refuse(line, text);
        kernel->release = arena_strdup(kernel->arena, text);
        kernel->release_major = (unsigned) parse_count(line, text, major);
        kernel->release_minor = (unsigned) parse_count(line, text, minor);
}

static void take_sizes(Kernel *kernel, const char *line, const char *words) {
        char *word;

        kernel->n_sizes = 0;
        while ((word = text_next_word(kernel->arena, &words, " "))) {
                if (kernel->n_sizes == KERNEL_SIZES_MAX)
                        refuse(line, word);
                Size *size = &kernel->sizes[kernel->n_sizes];

                *size = (Size){.bytes = parse_bytes(line, word, word), .index = kernel->n_sizes};
                size->is_gigantic = size->bytes > BUDDY_MAX;
                if (kernel->n_sizes > 0 && size->bytes >= size[-1].bytes)
                        refuse(line, word);
                kernel->n_sizes++;
        }
}

static void take_distances(MemoryNode *node, const char *line, const char *list) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *word;

        for (unsigned i = 0; (word = text_next_word(arena, &list, ",")); i++) {
                if (i == KERNEL_NODES_MAX)
                        refuse(line, word);
                node->distance[i] = (unsigned) parse_count(line, word, word);
        }
}

static void take_node_word(MemoryNode *node, const char *line, const char *word) {
        const struct {
                const char *key;
                uint64_t *bytes;
        } amounts[] = {
                {"total=", &node->total},   {"free=", &node->free},
                {"cache=", &node->cache},   {"scattered=", &node->scattered},
                {"pinned=", &node->pinned}, {"keep=", &node->keep},
        };
        static const char distance[] = "distance=", gigantic[] = "1G=";

        for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
                if (text_starts_with(word, amounts[i].key)) {
                        *amounts[i].bytes = parse_bytes(line, word, word + strlen(amounts[i].key));
                        return;
                }
        if (text_starts_with(word, distance))
                take_distances(node, line, word + strlen(distance));
        else if (text_starts_with(word, gigantic))
                node->gigantic_left = parse_count(line, word, word + strlen(gigantic));
        else if (text_equals(word, "nocpu"))
                node->has_cpus = false;
        else
                refuse(line, word);
}

static void take_node(Kernel *kernel, const char *line, const char *words) {
        unsigned id = parse_node_id(line, text_next_word(kernel->arena, &words, " "));
        MemoryNode *node = &kernel->nodes[id];
        char *word;

        *node = (MemoryNode){.exists = true, .has_cpus = true, .gigantic_left = UINT64_MAX};
        for (unsigned i = 0; i < KERNEL_NODES_MAX; i++)
                node->distance[i] = i == id ? DISTANCE_NEAR : DISTANCE_FAR;
        while ((word = text_next_word(kernel->arena, &words, " ")))
                take_node_word(node, line, word);
        node->has_memory = node->total > 0;
        if (node->free + node->cache > node->total || node->pinned > node->scattered ||
            node->scattered > node->free)
                refuse(line, "more than there is");
        node->others = node->total - node->free - node->cache;
        if (node->has_memory)
                kernel->memory_nodes |= node_bit(id);
}

static void take_line(Kernel *kernel, const char *line) {
        static const struct {
                const char *key;
                void (*take)(Kernel *, const char *, const char *);
        } kinds[] = {{"release ", take_release}, {"sizes ", take_sizes}, {"node ", take_node}};

        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (text_starts_with(line, kinds[i].key)) {
                        kinds[i].take(kernel, line, line + strlen(kinds[i].key));
                        return;
                }
        refuse(line, line);
}

static bool is_since(const Kernel *kernel, unsigned major, unsigned minor) {
        return kernel->release_major > major ||
               (kernel->release_major == major && kernel->release_minor >= minor);
}

Kernel *kernel_new(const char *description) {
        Arena *arena = arena_new();
        Kernel *kernel = ARENA_NEW(arena, Kernel);
        char *line;

        kernel->arena = arena;
        kernel->next_pid = FIRST_PID;
        kernel->next_id = FIRST_ID;
        take_line(kernel, "release 6.12.0");
        while ((line = text_next_word(arena, &description, "\n")))
                take_line(kernel, line);
        if (kernel->n_sizes == 0)
                take_line(kernel, "sizes 2M");
        kernel->adds_surplus = !is_since(kernel, 6, 7);
        kernel->gathers_on_own_nodes = is_since(kernel, 6, 12);
        kernel->demotes_in_bulk = is_since(kernel, 6, 12);
        kernel->spares_surplus = !is_since(kernel, 6, 15);
        kernel->leaks_use = is_since(kernel, 6, 15);
        kernel->gathers_nearest = is_since(kernel, 6, 16);
        kernel->overcommits_gigantic = is_since(kernel, 6, 19);
        /* hugetlb_init_hstates(): each into the next smaller size. */
        for (unsigned i = 0; i + 1 < kernel->n_sizes; i++)
                if (kernel->sizes[i + 1].bytes >= DEMOTE_MIN)
                        kernel->sizes[i].demote_to = &kernel->sizes[i + 1];
        memory_build_orders(kernel);
        kernel_group_make(kernel, "/");
        kernel->self = kernel_spawn(kernel, &(KernelSpawn){.name = "hugepland"});
        return kernel;
}

Kernel *kernel_free(Kernel *kernel) {
        if (kernel)
                arena_free(kernel->arena);
        return NULL;
}

void kernel_freep(Kernel **kernel) {
        *kernel = kernel_free(*kernel);
}

Size *kernel_size(const Kernel *kernel, uint64_t page_bytes) {
        Size *sizes = ((Kernel *) kernel)->sizes;

        if (page_bytes == 0)
                return kernel->n_sizes > 0 ? &sizes[kernel->n_sizes - 1] : NULL;
        for (unsigned i = 0; i < kernel->n_sizes; i++)
                if (sizes[i].bytes == page_bytes)
                        return &sizes[i];
        return NULL;
}

uint64_t kernel_page_bytes(const Kernel *kernel, size_t i) {
        return i < kernel->n_sizes ? kernel->sizes[i].bytes : 0;
}

char *kernel_size_name(Arena *arena, uint64_t page_bytes) {
        return arena_printf(arena, "%sB", format_page_size(arena, page_bytes));
}

/* ---- processes ---- */

uint64_t process_mems(const KernelProcess *process) {
        return group_mems(process->kernel, process->group);
}

KernelProcess *kernel_spawn(Kernel *kernel, const KernelSpawn *spawn) {
        KernelProcess *process = ARENA_NEW(kernel->arena, KernelProcess);
        const char *group = spawn->group ? spawn->group : "/";

        kernel_group_make(kernel, group);
        process->kernel = kernel;
        process->name = arena_strdup(kernel->arena, spawn->name ? spawn->name : "process");
        process->pid = kernel->next_pid++;
        process->group = group_find(kernel, group);
        process->cpu_node = spawn->cpu_node;
        process->is_alive = true;
        kernel_set_policy(process, spawn->policy);
        *vec_push(kernel->arena, &kernel->processes) = process;
        return process;
}

void kernel_exit(KernelProcess *process) {
        if (!process->is_alive)
                return;
        mappings_drop_all(process);
        process->is_alive = false;
}

/* mpol_set_nodemask(), mpol_new(): only nodes that the cpuset allows and that have memory. */
static int take_policy(const KernelProcess *process, KernelPolicy policy, bool *ret_has,
                       KernelPolicy *ret) {
        policy.nodes &= process_mems(process);
        if (policy.mode == KERNEL_POLICY_LOCAL) {
                *ret_has = false;
                return 0;
        }
        if (policy.nodes == 0)
                return -EINVAL;
        if (policy.mode == KERNEL_POLICY_PREFERRED)
                policy.nodes &= -policy.nodes; /* the first */
        *ret_has = true;
        *ret = policy;
        return 0;
}

int kernel_set_policy(KernelProcess *process, KernelPolicy policy) {
        return take_policy(process, policy, &process->has_policy, &process->policy);
}

int kernel_set_mapping_policy(KernelMapping *mapping, KernelPolicy policy) {
        return take_policy(mapping->process, policy, &mapping->has_policy, &mapping->policy);
}

void kernel_run_on(KernelProcess *process, unsigned cpu_node) {
        process->cpu_node = cpu_node;
}

bool kernel_is_alive(const KernelProcess *process) {
        return process->is_alive;
}

uint64_t kernel_pid(const KernelProcess *process) {
        return process->pid;
}

const KernelDeath *kernel_death(const KernelProcess *process) {
        return process->death;
}

KernelProcess *kernel_process(const Kernel *kernel, uint64_t pid) {
        VEC_FOREACH(process, &kernel->processes)
                if ((*process)->pid == pid && (*process)->is_alive)
                        return *process;
        return NULL;
}

KernelProcess *kernel_self(const Kernel *kernel) {
        return kernel->self;
}

/* ---- segments and mounts ---- */

int kernel_shmget(KernelProcess *process, uint64_t page_bytes, uint64_t n_pages, bool is_noreserve,
                  KernelSegment **ret) {
        Size *size = kernel_size(process->kernel, page_bytes);

        if (!process->is_alive)
                return -ESRCH;
        if (!size || n_pages == 0)
                return -EINVAL;
        KernelSegment *segment = segment_new(process->kernel, size, n_pages);
        int r = is_noreserve ? 0 : segment_reserve(segment, process, n_pages);

        segment->is_sysv = true;
        segment->is_linked = r == 0;
        segment->is_gone = r < 0;
        if (r == 0)
                *ret = segment;
        return r;
}

void kernel_remove_segment(KernelSegment *segment) {
        segment->is_linked = false;
        segment_drop(segment);
}

/* hugepage_new_subpool(). */
static int subpool_new(KernelMount *mount, const KernelProcess *writer) {
        Kernel *kernel = mount->kernel;
        bool has_min = mount->min != UINT64_MAX, has_max = mount->max != UINT64_MAX;
        uint64_t min = has_min ? mount->min : 0;

        if (!has_min && !has_max)
                return 0;
        int r = pool_reserve(kernel, mount->size, writer, min);

        if (r < 0)
                return r;
        mount->subpool = ARENA_NEW(kernel->arena, Subpool);
        *mount->subpool = (Subpool){
                .max = has_max ? (int64_t) mount->max : -1,
                .min = has_min ? (int64_t) min : -1,
                .reserved = has_min ? (int64_t) min : -1,
        };
        return 0;
}

int kernel_mount(Kernel *kernel, const KernelProcess *writer, const char *path, uint64_t page_bytes,
                 uint64_t min_pages, uint64_t max_pages, KernelMount **ret) {
        KernelMount *mount = ARENA_NEW(kernel->arena, KernelMount);

        *mount = (KernelMount){
                .kernel = kernel,
                .path = arena_strdup(kernel->arena, path),
                .size = kernel_size(kernel, page_bytes),
                .min = min_pages,
                .max = max_pages,
                .id = (unsigned) kernel->mounts.n,
                .is_mounted = true,
        };
        if (!mount->size || (min_pages != UINT64_MAX && min_pages > max_pages))
                return -EINVAL;
        int r = subpool_new(mount, writer);

        if (r < 0)
                return r;
        *vec_push(kernel->arena, &kernel->mounts) = mount;
        *ret = mount;
        return 0;
}

/* hugepage_put_subpool(), unlock_or_release_subpool(): the minimum stays reserved if the subpool's count of pages in
 * use is not 0. */
static void close_subpool(KernelMount *mount) {
        Subpool *subpool = TAKE_PTR(mount->subpool);
        int64_t returned = 0;

        if (!subpool)
                return;
        if (subpool->min != -1 && subpool_is_free(subpool))
                returned = subpool->min;
        if (subpool->min != -1)
                mount->size->n_astray += subpool->reserved - returned;
        if (returned > 0)
                pool_unreserve(mount->kernel, mount->size, (uint64_t) returned);
}

int kernel_unmount(KernelMount *mount) {
        Kernel *kernel = mount->kernel;

        if (!mount->is_mounted)
                return -EINVAL;
        VEC_FOREACH(segment, &kernel->segments)
                if ((*segment)->mount == mount && !(*segment)->is_gone &&
                    (*segment)->n_mappings > 0)
                        return -EBUSY;
        VEC_FOREACH(segment, &kernel->segments)
                if ((*segment)->mount == mount && !(*segment)->is_gone)
                        kernel_remove_segment(*segment);
        mount->is_mounted = false;
        close_subpool(mount);
        return 0;
}

KernelSegment *kernel_open(KernelMount *mount, const char *name) {
        Kernel *kernel = mount->kernel;

        VEC_FOREACH(segment, &kernel->segments)
                if ((*segment)->mount == mount && (*segment)->is_linked &&
                    text_equals((*segment)->name, name))
                        return *segment;
        KernelSegment *segment = segment_new(kernel, mount->size, 0);

        segment->mount = mount;
        segment->name = arena_strdup(kernel->arena, name);
        segment->is_linked = true;
        return segment;
}

/* ---- questions ---- */

KernelPool kernel_pool(const Kernel *kernel, int node, uint64_t page_bytes) {
        const Size *size = kernel_size(kernel, page_bytes);

        if (!size || node >= KERNEL_NODES_MAX)
                return (KernelPool){};
        if (node >= 0)
                return (KernelPool){.total_pages = size->n_on[node],
                                    .free_pages = size->free_on[node],
                                    .surplus_pages = size->surplus_on[node]};
        return (KernelPool){
                .total_pages = size->n,
                .free_pages = size->n_free,
                .surplus_pages = size->surplus,
                .reserved_pages = size->reserved,
                .overcommit_pages = size->overcommit,
                .max_pages = size->max,
        };
}

uint64_t kernel_mapping_pages(const KernelMapping *mapping) {
        return mapping->n;
}

uint64_t kernel_mapping_untouched(const KernelMapping *mapping) {
        uint64_t n = 0;

        if (mapping->is_gone)
                return 0;
        for (uint64_t i = 0; i < mapping->n; i++)
                n += !mapping->pages[i];
        return n;
}

KernelMapping *kernel_mapping_at(const KernelProcess *process, size_t i) {
        VEC_FOREACH(mapping, &process->mappings)
                if (!(*mapping)->is_gone && i-- == 0)
                        return *mapping;
        return NULL;
}

uint64_t kernel_process_pages(const KernelProcess *process, uint64_t page_bytes, int node) {
        const Size *size = kernel_size(process->kernel, page_bytes);
        uint64_t n = 0;

        VEC_FOREACH(mapping, &process->mappings)
                for (uint64_t i = 0; (*mapping)->size == size && i < (*mapping)->n; i++) {
                        const Page *page = (*mapping)->pages[i];

                        n += page && (node == KERNEL_HOST || page->node == (unsigned) node);
                }
        return n;
}

bool kernel_has_miscounted(const Kernel *kernel) {
        for (unsigned i = 0; i < kernel->n_sizes; i++)
                if (kernel->sizes[i].is_uncovered || kernel->sizes[i].n_astray != 0)
                        return true;
        return false;
}
