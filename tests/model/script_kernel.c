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

enum { SMALL_PAGE = 4096 };

typedef struct Place {
        uint64_t address, page_bytes, n_pages;
} Place;

struct ScriptKernel {
        Arena *arena;
        volatile uint64_t *progress; /* shared with all children: the page that each touches */
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

static Child *child_at(ScriptKernel *kernel, unsigned process) {
        Child *child = &kernel->children[process];

        return child->pid > 0 ? child : NULL;
}

static char *group_path(const ScriptKernel *kernel, const char *group) {
        return arena_printf(kernel->arena, "%s" SCRIPT_GROUP "%s%s", kernel->host.hierarchy,
                            *group ? "/" : "", group);
}

/* Entering a cpuset resets the CPU affinity of a process. */
static int kernel_move_to(void *context, unsigned process, const char *group) {
        ScriptKernel *kernel = context;
        Child *child = child_at(kernel, process);

        if (!child)
                return -ESRCH;
        int r = host_write(
                arena_printf(kernel->arena, "%s/cgroup.procs", group_path(kernel, group)),
                arena_printf(kernel->arena, "%d", child->pid));

        if (r == 0 && child_ask(child, &(Command){.operation = OPERATION_RUN_ON,
                                                  .cpu_node = child->cpu_node}) < 0)
                host_fail("cannot run on node%u", child->cpu_node);
        return r;
}

static int kernel_policy(void *context, unsigned process, const KernelPolicy *policy) {
        Child *child = child_at(context, process);

        if (!child)
                return -ESRCH;
        return (int) child_ask(child, &(Command){.operation = OPERATION_POLICY, .policy = *policy});
}

static int kernel_run(void *context, unsigned process, unsigned cpu_node, const char *group,
                      const KernelPolicy *policy) {
        ScriptKernel *kernel = context;

        kernel->children[process] = child_start(cpu_node, kernel->progress);
        int r = group ? kernel_move_to(kernel, process, group) : 0;

        if (r == 0)
                r = kernel_policy(kernel, process, policy);
        if (r < 0)
                child_end(&kernel->children[process]);
        return r;
}

static int kernel_do_fork(void *context, unsigned process, unsigned child) {
        ScriptKernel *kernel = context;
        Child *parent = child_at(kernel, process);

        if (!parent)
                return -ESRCH;
        kernel->children[child] = child_fork(parent, parent->cpu_node);
        memcpy(kernel->places[child], kernel->places[process], sizeof(kernel->places[child]));
        return 0;
}

static int kernel_exit_process(void *context, unsigned process) {
        Child *child = child_at(context, process);

        if (!child)
                return -ESRCH;
        child_end(child);
        return 0;
}

/* ---- mappings ---- */

static void set_path(Command *command, const char *path) {
        if (strlen(path) >= sizeof(command->path))
                host_fail("%s: too long", path);
        strcpy(command->path, path);
}

static int kernel_do_map(void *context, unsigned process, unsigned mapping, const ScriptMap *map) {
        ScriptKernel *kernel = context;
        Child *child = child_at(kernel, process);
        Command command = {
                .operation = OPERATION_MAP,
                .address = FIRST_ADDRESS + mapping * ADDRESS_STEP,
                .page_bytes = map->page_bytes,
                .n_pages = map->n_pages,
                .is_private = map->is_private,
                .is_noreserve = map->is_noreserve,
        };

        if (!child)
                return -ESRCH;
        if (map->segment >= 0) {
                struct shmid_ds segment;

                command.operation = OPERATION_ATTACH;
                command.shm_id = kernel->segments[map->segment];
                if (command.shm_id < 0 || shmctl(command.shm_id, IPC_STAT, &segment) < 0)
                        return -EINVAL;
                command.n_pages = segment.shm_segsz / map->page_bytes;
        } else if (map->mount >= 0) {
                if (!kernel->mounts[map->mount])
                        return -ENOENT;
                command.operation = OPERATION_FILE;
                command.page_bytes = kernel->mount_sizes[map->mount];
                set_path(&command, arena_printf(kernel->arena, "%s/%s", kernel->mounts[map->mount],
                                                map->file));
        }
        kernel->places[process][mapping] =
                (Place){command.address, command.page_bytes, command.n_pages};
        return (int) child_ask(child, &command);
}

static Command command_for(const ScriptKernel *kernel, unsigned process, unsigned mapping,
                           Operation operation) {
        const Place *place = &kernel->places[process][mapping];

        return (Command){
                .operation = operation,
                .address = place->address,
                .page_bytes = place->page_bytes,
                .n_pages = place->n_pages,
        };
}

static int kernel_mbind(void *context, unsigned process, unsigned mapping,
                        const KernelPolicy *policy) {
        Child *child = child_at(context, process);

        if (!child)
                return -ESRCH;
        Command command = command_for(context, process, mapping, OPERATION_BIND);

        command.policy = *policy;
        return (int) child_ask(child, &command);
}

static int kernel_do_touch(void *context, unsigned process, unsigned mapping, uint64_t first,
                           uint64_t last, bool *ret_died, uint64_t *ret_page) {
        ScriptKernel *kernel = context;
        Child *child = child_at(kernel, process);

        if (!child)
                return -ESRCH;
        Command command = command_for(context, process, mapping, OPERATION_TOUCH);

        command.first = first;
        command.last = MIN(last, command.n_pages - 1);
        command.progress = process;
        if (child_ask(child, &command) < 0) {
                *ret_died = true;
                *ret_page = kernel->progress[process];
        }
        return 0;
}

static int kernel_do_unmap(void *context, unsigned process, unsigned mapping) {
        Child *child = child_at(context, process);

        if (!child)
                return -ESRCH;
        Command command = command_for(context, process, mapping, OPERATION_UNMAP);

        return (int) child_ask(child, &command);
}

static int kernel_do_shmget(void *context, unsigned segment, unsigned process,
                            const ScriptMap *map) {
        ScriptKernel *kernel = context;
        Child *child = child_at(kernel, process);

        kernel->segments[segment] = -1;
        if (!child)
                return -ESRCH;
        long id = child_ask(child, &(Command){.operation = OPERATION_SHMGET,
                                              .page_bytes = map->page_bytes,
                                              .n_pages = map->n_pages,
                                              .is_noreserve = map->is_noreserve});

        kernel->segments[segment] = id < 0 ? -1 : (int) id;
        return id < 0 ? (int) id : 0;
}

static int kernel_rmid(void *context, unsigned segment) {
        ScriptKernel *kernel = context;
        int id = kernel->segments[segment];

        kernel->segments[segment] = -1;
        return id < 0 ? -EINVAL : shmctl(id, IPC_RMID, NULL) < 0 ? -errno : 0;
}

/* ---- mounts ---- */

static int kernel_do_mount(void *context, unsigned mount_number, uint64_t page_bytes,
                           uint64_t min_pages, uint64_t max_pages) {
        ScriptKernel *kernel = context;
        Text options = text_in(kernel->arena);
        char *path = arena_printf(kernel->arena, MOUNTS "/%u", mount_number);

        text_printf(&options, "pagesize=%" PRIu64 "K", page_bytes / KIB);
        if (max_pages != UINT64_MAX)
                text_printf(&options, ",size=%" PRIu64 "K", max_pages * page_bytes / KIB);
        if (min_pages != UINT64_MAX)
                text_printf(&options, ",min_size=%" PRIu64 "K", min_pages * page_bytes / KIB);
        if ((mkdir(MOUNTS, 0755) < 0 && errno != EEXIST) ||
            (mkdir(path, 0755) < 0 && errno != EEXIST))
                host_fail("%s: %s", path, strerror(errno));
        if (mount("none", path, "hugetlbfs", 0, options.string) < 0) {
                int r = -errno;

                rmdir(path);
                return r;
        }
        kernel->mounts[mount_number] = path;
        kernel->mount_sizes[mount_number] = page_bytes;
        return 0;
}

static int kernel_do_unmount(void *context, unsigned mount_number) {
        ScriptKernel *kernel = context;
        char *path = kernel->mounts[mount_number];

        if (!path)
                return -EINVAL;
        if (umount(path) < 0)
                return -errno;
        rmdir(path);
        kernel->mounts[mount_number] = NULL;
        return 0;
}

/* ---- writes by administrators ---- */

static int write_by(ScriptKernel *kernel, int by, const char *path, const char *text) {
        Child *child = by >= 0 ? child_at(kernel, (unsigned) by) : NULL;
        Command command = {.operation = OPERATION_WRITE};

        if (by < 0)
                return host_write(path, text);
        if (!child)
                return -ESRCH;
        set_path(&command, path);
        snprintf(command.text, sizeof(command.text), "%s", text);
        return (int) child_ask(child, &command);
}

static int kernel_set(void *context, int by, ScriptTarget target, int node, uint64_t page_bytes,
                      uint64_t n_pages) {
        static const char *const attributes[] = {
                [SCRIPT_SET_POOL] = "nr_hugepages",
                [SCRIPT_SET_BY_POLICY] = "nr_hugepages_mempolicy",
                [SCRIPT_SET_OVERCOMMIT] = "nr_overcommit_hugepages",
                [SCRIPT_DEMOTE] = "demote",
        };
        ScriptKernel *kernel = context;
        const char *text = arena_printf(kernel->arena, "%" PRIu64 "\n", n_pages);

        if (target == SCRIPT_SET_SYSCTL)
                return write_by(kernel, by, PATH_NR_HUGEPAGES, text);
        const char *path = host_pool_path(kernel->arena, node, page_bytes, attributes[target]);
        int r = write_by(kernel, by, path, text);

        /* A page under I/O cannot be migrated out of the range of a gigantic page for a moment. */
        for (int i = 0; i < 20 && r == 0 && target == SCRIPT_SET_POOL && page_bytes == GIB &&
                        host_read_number(path) < n_pages;
             i++) {
                usleep(50000);
                r = write_by(kernel, by, path, text);
        }
        return r;
}

static int kernel_write(void *context, const char *path, const char *text) {
        (void) context;
        return host_write(path, text);
}

static int kernel_make_group(void *context, const char *group) {
        ScriptKernel *kernel = context;
        char *path = group_path(kernel, group);

        if (mkdir(path, 0755) < 0)
                return -errno;
        *vec_push(kernel->arena, &kernel->groups) = path;
        return 0;
}

static int kernel_remove_group(void *context, const char *group) {
        return rmdir(group_path(context, group)) < 0 ? -errno : 0;
}

static int kernel_write_group(void *context, const char *group, const char *attribute,
                              const char *text) {
        ScriptKernel *kernel = context;

        return host_write(
                arena_printf(kernel->arena, "%s/%s", group_path(kernel, group), attribute), text);
}

/* ---- state ---- */

static int size_index(const Script *script, uint64_t page_bytes) {
        for (unsigned i = 0; i < script->n_sizes; i++)
                if (script->sizes[i] == page_bytes)
                        return (int) i;
        return -1;
}

/* "100000000000 default file=/anon_hugepage\040(deleted) huge dirty=3 N0=3 kernelpagesize_kB=2048" */
static void add_numa_line(const Script *script, const char *line,
                          uint64_t pages[][KERNEL_NODES_MAX]) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        static const char key[] = "kernelpagesize_kB=";
        const char *found = strstr(line, key);
        uint64_t kib, node, n;
        char *word;
        int i;

        if (!strstr(line, " huge") || !found || parse_u64(found + strlen(key), &kib) < 0 ||
            (i = size_index(script, kib * KIB)) < 0)
                return;
        while ((word = text_next_word(arena, &line, " "))) {
                char *equals = *word == 'N' ? strchr(word, '=') : NULL;

                if (!equals)
                        continue;
                *equals = '\0';
                if (parse_u64(word + 1, &node) == 0 && node < KERNEL_NODES_MAX &&
                    parse_u64(equals + 1, &n) == 0)
                        pages[i][node] += n;
        }
}

static void look_at_process(const Script *script, const Child *child,
                            uint64_t pages[][KERNEL_NODES_MAX]) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *text =
                host_read(arena, arena_printf(arena, PATH_PROC "/%d/numa_maps", child->pid));
        char *line;

        while ((line = text_next_word(arena, &text, "\n")))
                add_numa_line(script, line, pages);
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

static void look_at_group(ScriptKernel *kernel, const char *group, uint64_t page_bytes,
                          KernelCharge *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *prefix = arena_printf(arena, "%s/hugetlb.%s.", group_path(kernel, group),
                                          script_size_name(arena, page_bytes));
        const char *text = host_read(arena, arena_printf(arena, "%snuma_stat", prefix));
        const char *events = host_read(arena, arena_printf(arena, "%sevents", prefix));
        uint64_t node, bytes;
        char *word;

        if (!*text)
                return;
        *ret = (KernelCharge){
                .is_counted = true,
                .current_pages = group_pages(arena, prefix, "current", page_bytes),
                .reserved_pages = group_pages(arena, prefix, "rsvd.current", page_bytes),
                .max_pages = group_limit(arena, prefix, "max", page_bytes),
                .reserved_max_pages = group_limit(arena, prefix, "rsvd.max", page_bytes),
        };
        if (text_next_word(arena, &events, " ") && (word = text_next_word(arena, &events, " \n")))
                parse_u64(word, &ret->n_refused);
        while ((word = text_next_word(arena, &text, " \n"))) {
                char *equals = *word == 'N' ? strchr(word, '=') : NULL;

                if (!equals)
                        continue;
                *equals = '\0';
                if (parse_u64(word + 1, &node) == 0 && node < KERNEL_NODES_MAX &&
                    parse_u64(equals + 1, &bytes) == 0)
                        ret->node_pages[node] = bytes / page_bytes;
        }
}

static void kernel_look(void *context, const Script *script, ScriptView *ret) {
        ScriptKernel *kernel = context;

        ret->nodes = kernel->memory_nodes;
        for (unsigned i = 0; i < script->n_sizes; i++) {
                for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                        if (kernel->memory_nodes & UINT64_C(1) << node)
                                ret->pools[i][node] = host_pool((int) node, script->sizes[i]);
                ret->hosts[i] = host_pool(KERNEL_HOST, script->sizes[i]);
                for (size_t k = 0; k < script->groups.n; k++)
                        if (script->groups.items[k])
                                look_at_group(kernel, script->groups.items[k], script->sizes[i],
                                              &ret->groups[k].charges[i]);
        }
        ret->hosts[0].max_pages = host_read_number(PATH_NR_HUGEPAGES);
        for (size_t i = 0; i < script->processes.n; i++) {
                const Child *child = &kernel->children[i];

                ret->processes[i].state = child->pid > 0                  ? SCRIPT_LIVES
                                          : child->state == SCRIPT_KILLED ? SCRIPT_KILLED
                                                                          : SCRIPT_ENDED;
                if (child->pid > 0)
                        look_at_process(script, child, ret->processes[i].pages);
        }
}

const ScriptBackend script_kernel = {
        .run = kernel_run,
        .fork = kernel_do_fork,
        .exit = kernel_exit_process,
        .set_policy = kernel_policy,
        .move = kernel_move_to,
        .map = kernel_do_map,
        .bind = kernel_mbind,
        .touch = kernel_do_touch,
        .unmap = kernel_do_unmap,
        .shmget = kernel_do_shmget,
        .remove_segment = kernel_rmid,
        .mount = kernel_do_mount,
        .unmount = kernel_do_unmount,
        .set = kernel_set,
        .write = kernel_write,
        .make_group = kernel_make_group,
        .remove_group = kernel_remove_group,
        .write_group = kernel_write_group,
        .look = kernel_look,
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
        kernel_write_group(kernel, "", "cgroup.subtree_control", "+hugetlb");
        if (kernel->host.has_cpuset)
                kernel_write_group(kernel, "", "cgroup.subtree_control", "+cpuset");
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
        kernel->progress =
                mmap(NULL, SMALL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (kernel->progress == MAP_FAILED)
                host_fail("mmap: %s", strerror(errno));
        for (unsigned i = 0; i < SCRIPT_SEGMENTS_MAX; i++)
                kernel->segments[i] = -1;
        SIZES_AND_NODES(kernel, i, node) {
                kernel->had[i][node] = host_pool((int) node, kernel->sizes[i]).total_pages;
                kernel_set(kernel, -1, SCRIPT_SET_POOL, (int) node, kernel->sizes[i], 0);
        }
        for (unsigned i = 0; i < kernel->n_sizes; i++) {
                kernel->had_overcommit[i] =
                        host_pool(KERNEL_HOST, kernel->sizes[i]).overcommit_pages;
                kernel_set(kernel, -1, SCRIPT_SET_OVERCOMMIT, KERNEL_HOST, kernel->sizes[i], 0);
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
                        kernel_do_unmount(kernel, i);
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
                kernel_set(kernel, -1, SCRIPT_SET_OVERCOMMIT, KERNEL_HOST, kernel->sizes[i],
                           kernel->had_overcommit[i]);
        /* Free surplus pages can be freed only after they have become persistent. */
        for (unsigned i = 0; i < kernel->n_sizes; i++)
                kernel_set(kernel, -1, SCRIPT_SET_POOL, KERNEL_HOST, kernel->sizes[i],
                           host_pool(KERNEL_HOST, kernel->sizes[i]).total_pages);
        SIZES_AND_NODES(kernel, i, node) {
                kernel_set(kernel, -1, SCRIPT_SET_POOL, (int) node, kernel->sizes[i],
                           kernel->had[i][node]);
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
        munmap((void *) kernel->progress, SMALL_PAGE);
        return is_undone;
}
