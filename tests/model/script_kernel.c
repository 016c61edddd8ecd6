/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The addresses of mappings rise with their numbers, because the kernel frees mappings in the order of addresses. */
#include "model/script_kernel.h"

#include "model/names.h"
#include "model/script_child.h"
#include "model/script_host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_ADDRESS UINT64_C(0x200000000000)
#define ADDRESS_STEP  (64 * GIB)
#define MOUNTS        "/run/kernel-script"

enum { SLOTS_BYTES = SCRIPT_PROCESSES_MAX * sizeof(Slot) };

typedef struct Place {
        uint64_t address, page_bytes, n_pages;
} Place;

struct ScriptKernel {
        Arena *arena;
        Slot *slots; /* of the children, shared with them */
        Child children[SCRIPT_PROCESSES_MAX];
        Place places[SCRIPT_PROCESSES_MAX][SCRIPT_MAPPINGS_MAX];
        int segments[SCRIPT_SEGMENTS_MAX];
        char *mounts[SCRIPT_MOUNTS_MAX];
        uint64_t mount_sizes[SCRIPT_MOUNTS_MAX];
        uint64_t memory_nodes;
        uint64_t sizes[KERNEL_SIZES_MAX];
        unsigned n_sizes;
        uint64_t had[KERNEL_SIZES_MAX][KERNEL_NODES_MAX], had_overcommit[KERNEL_SIZES_MAX];
        HostGroups host;    /* before the script */
        VEC(char *) groups; /* directories that were made */
};

/* ---- processes ---- */

static char *group_path(const ScriptKernel *kernel, const char *group) {
        return arena_printf(kernel->arena, "%s" SCRIPT_GROUP "%s%s", kernel->host.hierarchy,
                            *group ? "/" : "", group);
}

/* Entering a cpuset resets the CPU affinity of a process. */
static int move(const ScriptKernel *kernel, Child *child, const char *group) {
        const Command run_on = {.operation = {.verb = SCRIPT_RUN, .cpu_node = child->cpu_node}};
        int r = host_write(
                arena_printf(kernel->arena, "%s/cgroup.procs", group_path(kernel, group)),
                arena_printf(kernel->arena, "%d", child->pid));

        if (r == 0 && child_ask(child, &run_on) < 0)
                host_fail("cannot run on node%u", child->cpu_node);
        return r;
}

static int run(const ScriptKernel *kernel, Child *child, const ScriptOperation *operation) {
        Command set_policy = {.operation = {.verb = SCRIPT_POLICY, .policy = operation->policy}};

        *child = child_start(operation->cpu_node, &kernel->slots[operation->process]);
        int r = operation->group ? move(kernel, child, operation->group) : 0;

        if (r == 0)
                r = (int) child_ask(child, &set_policy);
        if (r < 0)
                child_end(child);
        return r;
}

/* ---- mappings ---- */

static void set_path(Command *command, const char *path) {
        if (strlen(path) >= sizeof(command->path))
                host_fail("%s: too long", path);
        strcpy(command->path, path);
}

static int map(const ScriptKernel *kernel, Child *child, Place *place,
               const ScriptOperation *operation) {
        const char *mount = kernel->mounts[operation->mount];
        Command command = {
                .operation = *operation,
                .address = FIRST_ADDRESS + operation->mapping * ADDRESS_STEP,
                .shm_id = kernel->segments[operation->segment],
        };
        struct shmid_ds segment;

        if (operation->verb == SCRIPT_ATTACH) {
                if (command.shm_id < 0 || shmctl(command.shm_id, IPC_STAT, &segment) < 0)
                        return -EINVAL;
                command.operation.n_pages = segment.shm_segsz / operation->page_bytes;
        } else if (operation->verb == SCRIPT_FILE) {
                if (!mount)
                        return -ENOENT;
                command.operation.page_bytes = kernel->mount_sizes[operation->mount];
                set_path(&command, arena_printf(kernel->arena, "%s/%s", mount, operation->file));
        }
        *place = (Place){command.address, command.operation.page_bytes, command.operation.n_pages};
        return (int) child_ask(child, &command);
}

/* mbind(2), touching, munmap(2). */
static int use_mapping(Child *child, const Place *place, const ScriptOperation *operation,
                       uint64_t *ret_killed_at) {
        Command command = {.operation = *operation, .address = place->address};

        command.operation.page_bytes = place->page_bytes;
        command.operation.n_pages = place->n_pages;
        command.operation.last = MIN(operation->last, place->n_pages - 1);
        int r = (int) child_ask(child, &command);

        if (r < 0 && operation->verb == SCRIPT_TOUCH) {
                *ret_killed_at = child->slot->page;
                return 0;
        }
        return r;
}

static int make_segment(ScriptKernel *kernel, Child *child, const ScriptOperation *operation) {
        int id = (int) child_ask(child, &(Command){.operation = *operation});

        if (id >= 0)
                kernel->segments[operation->segment] = id;
        return MIN(id, 0);
}

static int remove_segment(ScriptKernel *kernel, unsigned segment) {
        int id = kernel->segments[segment];

        kernel->segments[segment] = -1;
        return id < 0 ? -EINVAL : shmctl(id, IPC_RMID, NULL) < 0 ? -errno : 0;
}

/* ---- mounts ---- */

static int make_mount(ScriptKernel *kernel, const ScriptOperation *operation) {
        uint64_t kib = operation->page_bytes / KIB;
        Text options = text_in(kernel->arena);
        char *path = arena_printf(kernel->arena, MOUNTS "/%u", operation->mount);

        text_printf(&options, "pagesize=%" PRIu64 "K", kib);
        if (operation->max_pages != UINT64_MAX)
                text_printf(&options, ",size=%" PRIu64 "K", operation->max_pages * kib);
        if (operation->min_pages != UINT64_MAX)
                text_printf(&options, ",min_size=%" PRIu64 "K", operation->min_pages * kib);
        if ((mkdir(MOUNTS, 0755) < 0 && errno != EEXIST) ||
            (mkdir(path, 0755) < 0 && errno != EEXIST))
                host_fail("%s: %s", path, strerror(errno));
        if (mount("none", path, "hugetlbfs", 0, options.string) < 0) {
                int r = -errno;

                rmdir(path);
                return r;
        }
        kernel->mounts[operation->mount] = path;
        kernel->mount_sizes[operation->mount] = operation->page_bytes;
        return 0;
}

static int unmount(ScriptKernel *kernel, unsigned number) {
        char *path = kernel->mounts[number];

        if (!path)
                return -EINVAL;
        if (umount(path) < 0)
                return -errno;
        rmdir(path);
        kernel->mounts[number] = NULL;
        return 0;
}

/* ---- writes by administrators ---- */

/* CHILD writes; NULL: this process. */
static int write_by(Child *child, const char *path, const char *text) {
        Command command = {.operation = {.verb = SCRIPT_WRITE}};

        if (!child)
                return host_write(path, text);
        set_path(&command, path);
        snprintf(command.text, sizeof(command.text), "%s", text);
        return (int) child_ask(child, &command);
}

static int set(const ScriptKernel *kernel, Child *child, const ScriptOperation *operation) {
        static const char *const attributes[] = {
                [SCRIPT_SET] = "nr_hugepages",
                [SCRIPT_SET_BY_POLICY] = "nr_hugepages_mempolicy",
                [SCRIPT_SET_OVERCOMMIT] = "nr_overcommit_hugepages",
                [SCRIPT_DEMOTE] = "demote",
        };
        const char *text = arena_printf(kernel->arena, "%" PRIu64 "\n", operation->n_pages);

        if (operation->verb == SCRIPT_SET_SYSCTL)
                return write_by(child, PATH_NR_HUGEPAGES, text);
        const char *path = host_pool_path(kernel->arena, operation->node, operation->page_bytes,
                                          attributes[operation->verb]);
        int r = write_by(child, path, text);

        /* A page under I/O cannot be migrated out of the range of a gigantic page for a moment. */
        for (int i = 0; i < 20 && r == 0 && operation->verb == SCRIPT_SET &&
                        operation->page_bytes == GIB && host_read_number(path) < operation->n_pages;
             i++) {
                usleep(50000);
                r = write_by(child, path, text);
        }
        return r;
}

static int make_group(ScriptKernel *kernel, char *path) {
        if (mkdir(path, 0755) < 0)
                return -errno;
        *vec_push(kernel->arena, &kernel->groups) = path;
        return 0;
}

static int write_group(const ScriptKernel *kernel, const char *group, const char *attribute,
                       const char *text) {
        return host_write(
                arena_printf(kernel->arena, "%s/%s", group_path(kernel, group), attribute), text);
}

/* ---- all operations ---- */

static int kernel_perform(void *context, const ScriptOperation *operation,
                          uint64_t *ret_killed_at) {
        ScriptKernel *kernel = context;
        unsigned number = (unsigned) MAX(operation->process, 0);
        Child *child = operation->process >= 0 ? &kernel->children[number] : NULL;
        Place *place = &kernel->places[number][operation->mapping];

        if (operation->verb == SCRIPT_RUN)
                return run(kernel, child, operation);
        if (child && child->pid == 0)
                return -ESRCH;
        switch (operation->verb) {
        case SCRIPT_EXIT:
                child_end(child);
                return 0;
        case SCRIPT_POLICY:
                return (int) child_ask(child, &(Command){.operation = *operation});
        case SCRIPT_MOVE:
                return move(kernel, child, operation->group);
        case SCRIPT_MAP:
        case SCRIPT_ATTACH:
        case SCRIPT_FILE:
                return map(kernel, child, place, operation);
        case SCRIPT_MBIND:
        case SCRIPT_TOUCH:
        case SCRIPT_UNMAP:
                return use_mapping(child, place, operation, ret_killed_at);
        case SCRIPT_SEGMENT:
                return make_segment(kernel, child, operation);
        case SCRIPT_RMID:
                return remove_segment(kernel, operation->segment);
        case SCRIPT_MOUNT:
                return make_mount(kernel, operation);
        case SCRIPT_UNMOUNT:
                return unmount(kernel, operation->mount);
        case SCRIPT_WRITE:
                return host_write(operation->file, operation->text);
        case SCRIPT_MAKE_GROUP:
                return make_group(kernel, group_path(kernel, operation->group));
        case SCRIPT_REMOVE_GROUP:
                return rmdir(group_path(kernel, operation->group)) < 0 ? -errno : 0;
        case SCRIPT_WRITE_GROUP:
                return write_group(kernel, operation->group, operation->file, operation->text);
        default:
                return set(kernel, child, operation);
        }
}

/* ---- state ---- */

/* Adds the counts of a text such as "total=3 N0=2 N1=1". */
static void add_by_node(Arena *arena, const char *text, uint64_t *counts) {
        uint64_t node, n;
        char *word;

        while ((word = text_next_word(arena, &text, " \n"))) {
                char *equals = *word == 'N' ? strchr(word, '=') : NULL;

                if (!equals)
                        continue;
                *equals = '\0';
                if (parse_u64(word + 1, &node) == 0 && node < KERNEL_NODES_MAX &&
                    parse_u64(equals + 1, &n) == 0)
                        counts[node] += n;
        }
}

static uint64_t look_at_nodes(void *context) {
        return ((ScriptKernel *) context)->memory_nodes;
}

static KernelPool look_at_pool(void *context UNUSED, int node, uint64_t page_bytes) {
        return page_bytes > 0 ? host_pool(node, page_bytes)
                              : (KernelPool){.max_pages = host_read_number(PATH_NR_HUGEPAGES)};
}

static ScriptState look_at_state(void *context, unsigned process) {
        const Child *child = &((ScriptKernel *) context)->children[process];

        return child->pid > 0 ? SCRIPT_LIVES : child->state;
}

/* "100000000000 default file=/anon_hugepage\040(deleted) huge dirty=3 N0=3 kernelpagesize_kB=2048" */
static void look_at_pages(void *context, unsigned process, uint64_t page_bytes, uint64_t *pages) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Child *child = &((ScriptKernel *) context)->children[process];
        const char *size = arena_printf(arena, " kernelpagesize_kB=%" PRIu64, page_bytes / KIB);
        const char *text =
                host_read(arena, arena_printf(arena, PATH_PROC "/%d/numa_maps", child->pid));
        char *line;

        while ((line = text_next_word(arena, &text, "\n")))
                if (strstr(line, " huge") && text_ends_with(line, size))
                        add_by_node(arena, line, pages);
}

static uint64_t group_pages(Arena *arena, const char *prefix, const char *attribute,
                            uint64_t page_bytes) {
        return host_read_number(arena_printf(arena, "%s%s", prefix, attribute)) / page_bytes;
}

/* "max" or a huge number is no limit. */
static uint64_t group_limit(Arena *arena, const char *prefix, const char *attribute,
                            uint64_t page_bytes) {
        const char *text = host_read(arena, arena_printf(arena, "%s%s", prefix, attribute));
        uint64_t bytes;

        return parse_u64(text_strip(arena, text), &bytes) < 0 || bytes >= UINT64_C(1) << 62
                       ? UINT64_MAX
                       : bytes / page_bytes;
}

static KernelCharge look_at_charge(void *context, const char *group, uint64_t page_bytes) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *prefix = arena_printf(arena, "%s/hugetlb.%s.", group_path(context, group),
                                          kernel_size_name(arena, page_bytes));
        const char *text = host_read(arena, arena_printf(arena, "%snuma_stat", prefix));
        const char *events = host_read(arena, arena_printf(arena, "%sevents", prefix));
        KernelCharge charge = {.is_counted = *text};
        char *word;

        if (!charge.is_counted)
                return charge;
        charge.current_pages = group_pages(arena, prefix, "current", page_bytes);
        charge.reserved_pages = group_pages(arena, prefix, "rsvd.current", page_bytes);
        charge.max_pages = group_limit(arena, prefix, "max", page_bytes);
        charge.reserved_max_pages = group_limit(arena, prefix, "rsvd.max", page_bytes);
        if (text_next_word(arena, &events, " ") && (word = text_next_word(arena, &events, " \n")))
                parse_u64(word, &charge.n_refused);
        add_by_node(arena, text, charge.node_pages);
        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                charge.node_pages[node] /= page_bytes;
        return charge;
}

const ScriptBackend script_kernel = {
        .perform = kernel_perform,
        .memory_nodes = look_at_nodes,
        .pool = look_at_pool,
        .charge = look_at_charge,
        .state = look_at_state,
        .count_pages = look_at_pages,
};

/* ---- setup and cleanup ---- */

static void enable(const ScriptKernel *kernel, const char *controllers) {
        host_write(arena_printf(kernel->arena, "%s/cgroup.subtree_control", kernel->host.hierarchy),
                   controllers);
}

static void open_groups(ScriptKernel *kernel) {
        kernel->host = host_groups(kernel->arena);
        if (!kernel->host.has_hugetlb)
                return;
        enable(kernel, "+hugetlb");
        if (kernel->host.has_cpuset)
                enable(kernel, "+cpuset");
        /* The group may remain from a run that was killed. */
        if (mkdir(group_path(kernel, ""), 0755) < 0 && errno != EEXIST)
                host_fail("%s: %s", group_path(kernel, ""), strerror(errno));
        write_group(kernel, "", "cgroup.subtree_control", "+hugetlb");
        if (kernel->host.has_cpuset)
                write_group(kernel, "", "cgroup.subtree_control", "+cpuset");
}

static void write_pool(const ScriptKernel *kernel, ScriptVerb verb, int node, uint64_t page_bytes,
                       uint64_t n_pages) {
        set(kernel, NULL,
            &(ScriptOperation){
                    .verb = verb, .node = node, .page_bytes = page_bytes, .n_pages = n_pages});
}

#define SIZES_AND_NODES(kernel, i, node)                                 \
        for (unsigned i = 0; i < (kernel)->n_sizes; i++)                 \
                for (unsigned node = 0; node < KERNEL_NODES_MAX; node++) \
                        if ((kernel)->memory_nodes & UINT64_C(1) << node)

static const char *why_not(const ScriptKernel *kernel) {
        if (geteuid() != 0)
                return "it needs root";
        if (kernel->n_sizes == 0 || kernel->memory_nodes == 0)
                return "this kernel has no huge pages, or no nodes";
        for (unsigned i = 0; i < kernel->n_sizes; i++) {
                KernelPool pool = host_pool(KERNEL_HOST, kernel->sizes[i]);

                if (pool.total_pages != pool.free_pages || pool.reserved_pages > 0)
                        return "huge pages are in use";
        }
        return NULL;
}

ScriptKernel *script_kernel_new(Arena *arena, const char **ret_reason) {
        ScriptKernel *kernel = ARENA_NEW(arena, ScriptKernel);
        uint64_t cpu_nodes;
        const struct rlimit no_core = {};

        kernel->arena = arena;
        kernel->memory_nodes = host_memory_nodes();
        kernel->n_sizes = host_page_sizes(arena, kernel->sizes);
        cpu_nodes = host_read_set(PATH_NODES "/has_cpu");
        *ret_reason = why_not(kernel);
        if (*ret_reason)
                return NULL;
        /* The CPU of this process determines on which node mount(2) makes surplus pages. */
        if (cpu_nodes == 0 || child_run_on((unsigned) __builtin_ctzll(cpu_nodes)) < 0)
                host_fail("cannot run on the first node");
        setrlimit(RLIMIT_CORE, &no_core);
        kernel->slots =
                mmap(NULL, SLOTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (kernel->slots == MAP_FAILED)
                host_fail("mmap: %s", strerror(errno));
        for (unsigned i = 0; i < SCRIPT_SEGMENTS_MAX; i++)
                kernel->segments[i] = -1;
        SIZES_AND_NODES(kernel, i, node) {
                kernel->had[i][node] = host_pool((int) node, kernel->sizes[i]).total_pages;
                write_pool(kernel, SCRIPT_SET, (int) node, kernel->sizes[i], 0);
        }
        for (unsigned i = 0; i < kernel->n_sizes; i++) {
                kernel->had_overcommit[i] =
                        host_pool(KERNEL_HOST, kernel->sizes[i]).overcommit_pages;
                write_pool(kernel, SCRIPT_SET_OVERCOMMIT, KERNEL_HOST, kernel->sizes[i], 0);
        }
        open_groups(kernel);
        return kernel;
}

bool script_kernel_free(ScriptKernel *kernel) {
        bool is_undone = true;

        if (!kernel)
                return true;
        for (unsigned i = 0; i < SCRIPT_PROCESSES_MAX; i++)
                if (kernel->children[i].pid > 0)
                        child_end(&kernel->children[i]);
        for (unsigned i = 0; i < SCRIPT_SEGMENTS_MAX; i++)
                if (kernel->segments[i] >= 0)
                        shmctl(kernel->segments[i], IPC_RMID, NULL);
        for (unsigned i = 0; i < SCRIPT_MOUNTS_MAX; i++)
                if (kernel->mounts[i])
                        unmount(kernel, i);
        rmdir(MOUNTS);
        for (size_t i = kernel->groups.n; i > 0; i--)
                rmdir(kernel->groups.items[i - 1]);
        if (kernel->host.has_hugetlb)
                rmdir(group_path(kernel, ""));
        if (kernel->host.has_hugetlb && !kernel->host.gives_hugetlb)
                enable(kernel, "-hugetlb");
        if (kernel->host.has_cpuset && !kernel->host.gives_cpuset)
                enable(kernel, "-cpuset");
        for (unsigned i = 0; i < kernel->n_sizes; i++)
                write_pool(kernel, SCRIPT_SET_OVERCOMMIT, KERNEL_HOST, kernel->sizes[i],
                           kernel->had_overcommit[i]);
        /* Free surplus pages can be freed only after they have become persistent. */
        for (unsigned i = 0; i < kernel->n_sizes; i++)
                write_pool(kernel, SCRIPT_SET, KERNEL_HOST, kernel->sizes[i],
                           host_pool(KERNEL_HOST, kernel->sizes[i]).total_pages);
        SIZES_AND_NODES(kernel, i, node) {
                write_pool(kernel, SCRIPT_SET, (int) node, kernel->sizes[i], kernel->had[i][node]);
                KernelPool pool = host_pool((int) node, kernel->sizes[i]);

                if (pool.total_pages == kernel->had[i][node] && pool.free_pages == pool.total_pages)
                        continue;
                fprintf(stderr,
                        "kernel-script: node%u has %" PRIu64 " pages of %" PRIu64 "K, %" PRIu64
                        " of them free; it had %" PRIu64 "\n",
                        node, pool.total_pages, kernel->sizes[i] / KIB, pool.free_pages,
                        kernel->had[i][node]);
                is_undone = false;
        }
        munmap(kernel->slots, SLOTS_BYTES);
        return is_undone;
}
