/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/script_model.h"

#include "model/kernel_files.h"

struct ScriptModel {
        Arena *arena;
        Kernel *kernel;
        KernelProcess *processes[SCRIPT_PROCESSES_MAX];
        KernelMapping *mappings[SCRIPT_PROCESSES_MAX][SCRIPT_MAPPINGS_MAX];
        KernelSegment *segments[SCRIPT_SEGMENTS_MAX];
        KernelMount *mounts[SCRIPT_MOUNTS_MAX];
};

ScriptModel *script_model_new(Arena *arena, Kernel *kernel) {
        ScriptModel *model = ARENA_NEW(arena, ScriptModel);

        *model = (ScriptModel){.arena = arena, .kernel = kernel};
        kernel_group_make(kernel, SCRIPT_GROUP);
        kernel_group_write(kernel, "/", "cgroup.subtree_control", "+cpuset +hugetlb");
        kernel_group_write(kernel, SCRIPT_GROUP, "cgroup.subtree_control", "+cpuset +hugetlb");
        return model;
}

static const char *path_of(const ScriptModel *model, const char *group) {
        return *group ? arena_printf(model->arena, SCRIPT_GROUP "/%s", group) : SCRIPT_GROUP;
}

static KernelProcess *living(ScriptModel *model, unsigned process) {
        KernelProcess *found = model->processes[process];

        return found && kernel_is_alive(found) ? found : NULL;
}

/* ---- processes ---- */

static int model_run(void *context, unsigned process, unsigned cpu_node, const char *group,
                     const KernelPolicy *policy) {
        ScriptModel *model = context;

        model->processes[process] =
                kernel_spawn(model->kernel, &(KernelSpawn){.name = "script", .cpu_node = cpu_node});
        int r = group ? kernel_move(model->processes[process], path_of(model, group)) : 0;

        if (r == 0)
                r = kernel_set_policy(model->processes[process], *policy);
        if (r < 0)
                kernel_exit(model->processes[process]);
        return r;
}

static int model_fork(void *context, unsigned process, unsigned child) {
        ScriptModel *model = context;

        if (!living(model, process))
                return -ESRCH;
        model->processes[child] = kernel_fork(model->processes[process], "script");
        size_t n = 0;

        /* The child has the parent's mappings in the same order, without those that were unmapped. */
        for (unsigned i = 0; i < SCRIPT_MAPPINGS_MAX; i++)
                if (model->mappings[process][i] && kernel_is_mapped(model->mappings[process][i]))
                        model->mappings[child][i] = kernel_mapping_at(model->processes[child], n++);
        return 0;
}

static int model_exit(void *context, unsigned process) {
        ScriptModel *model = context;

        if (!living(model, process))
                return -ESRCH;
        kernel_exit(model->processes[process]);
        return 0;
}

static int model_set_policy(void *context, unsigned process, const KernelPolicy *policy) {
        ScriptModel *model = context;

        return living(model, process) ? kernel_set_policy(model->processes[process], *policy)
                                      : -ESRCH;
}

static int model_move(void *context, unsigned process, const char *group) {
        ScriptModel *model = context;

        return living(model, process)
                       ? kernel_move(model->processes[process], path_of(model, group))
                       : -ESRCH;
}

/* ---- mappings ---- */

static int model_map(void *context, unsigned process, unsigned mapping, const ScriptMap *map) {
        ScriptModel *model = context;
        KernelSegment *segment = NULL;

        if (!living(model, process))
                return -ESRCH;
        if (map->segment >= 0 && !(segment = model->segments[map->segment]))
                return -EINVAL;
        if (map->mount >= 0 && !model->mounts[map->mount])
                return -ENOENT;
        if (map->mount >= 0)
                segment = kernel_open(model->mounts[map->mount], map->file);
        return kernel_map(model->processes[process],
                          &(KernelMap){.page_bytes = map->page_bytes,
                                       .n_pages = map->n_pages,
                                       .is_private = map->is_private,
                                       .is_noreserve = map->is_noreserve,
                                       .segment = segment},
                          &model->mappings[process][mapping]);
}

static int model_bind(void *context, unsigned process, unsigned mapping,
                      const KernelPolicy *policy) {
        ScriptModel *model = context;

        return living(model, process)
                       ? kernel_set_mapping_policy(model->mappings[process][mapping], *policy)
                       : -ESRCH;
}

static int model_touch(void *context, unsigned process, unsigned mapping, uint64_t first,
                       uint64_t last, bool *ret_died, uint64_t *ret_page) {
        ScriptModel *model = context;
        KernelMapping *touched = model->mappings[process][mapping];

        if (!living(model, process))
                return -ESRCH;
        last = MIN(last, kernel_mapping_pages(touched) - 1);
        for (uint64_t page = first; page <= last; page++)
                if (!kernel_touch(touched, page)) {
                        *ret_died = true;
                        *ret_page = kernel_death(model->processes[process])->page;
                        break;
                }
        return 0;
}

static int model_unmap(void *context, unsigned process, unsigned mapping) {
        ScriptModel *model = context;

        return living(model, process) ? kernel_unmap(model->mappings[process][mapping]) : -ESRCH;
}

static int model_shmget(void *context, unsigned segment, unsigned process, const ScriptMap *map) {
        ScriptModel *model = context;

        if (!living(model, process))
                return -ESRCH;
        return kernel_shmget(model->processes[process], map->page_bytes, map->n_pages,
                             map->is_noreserve, &model->segments[segment]);
}

static int model_remove_segment(void *context, unsigned segment) {
        ScriptModel *model = context;
        KernelSegment *removed = TAKE_PTR(model->segments[segment]);

        if (!removed)
                return -EINVAL;
        kernel_remove_segment(removed);
        return 0;
}

static int model_mount(void *context, unsigned mount, uint64_t page_bytes, uint64_t min_pages,
                       uint64_t max_pages) {
        ScriptModel *model = context;

        return kernel_mount(model->kernel, NULL,
                            arena_printf(model->arena, "/run/kernel-script/%u", mount), page_bytes,
                            min_pages, max_pages, &model->mounts[mount]);
}

static int model_unmount(void *context, unsigned mount) {
        ScriptModel *model = context;

        if (!model->mounts[mount])
                return -EINVAL;
        int r = kernel_unmount(model->mounts[mount]);

        if (r == 0)
                model->mounts[mount] = NULL;
        return r;
}

/* ---- writes by administrators ---- */

static int model_set(void *context, int by, ScriptTarget target, int node, uint64_t page_bytes,
                     uint64_t n_pages) {
        ScriptModel *model = context;
        KernelProcess *writer = by >= 0 ? living(model, (unsigned) by) : NULL;

        if (by >= 0 && !writer)
                return -ESRCH;
        switch (target) {
        case SCRIPT_SET_POOL:
                return kernel_set_pool(model->kernel, writer, node, page_bytes, n_pages);
        case SCRIPT_SET_SYSCTL:
                return kernel_set_pool(model->kernel, writer, KERNEL_HOST, 0, n_pages);
        case SCRIPT_SET_BY_POLICY:
                return kernel_set_pool_by_policy(model->kernel, writer, page_bytes, n_pages);
        case SCRIPT_SET_OVERCOMMIT:
                return kernel_set_overcommit(model->kernel, page_bytes, n_pages);
        case SCRIPT_DEMOTE:
                return kernel_demote(model->kernel, node, page_bytes, n_pages);
        }
        return -EINVAL;
}

static int model_write(void *context, const char *path, const char *text) {
        ScriptModel *model = context;

        return kernel_file_write(model->kernel, NULL, path, text);
}

static int model_make_group(void *context, const char *group) {
        ScriptModel *model = context;

        return kernel_group_make(model->kernel, path_of(model, group));
}

static int model_remove_group(void *context, const char *group) {
        ScriptModel *model = context;

        return kernel_group_remove(model->kernel, path_of(model, group));
}

static int model_write_group(void *context, const char *group, const char *attribute,
                             const char *text) {
        ScriptModel *model = context;

        return kernel_group_write(model->kernel, path_of(model, group), attribute, text);
}

/* ---- state ---- */

static void model_look(void *context, const Script *script, ScriptView *ret) {
        ScriptModel *model = context;

        ret->nodes = kernel_memory_nodes(model->kernel);
        for (unsigned i = 0; i < script->n_sizes; i++) {
                for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                        ret->pools[i][node] =
                                kernel_pool(model->kernel, (int) node, script->sizes[i]);
                ret->hosts[i] = kernel_pool(model->kernel, KERNEL_HOST, script->sizes[i]);
                for (size_t k = 0; k < script->groups.n; k++)
                        if (script->groups.items[k])
                                kernel_group_charge(model->kernel,
                                                    path_of(model, script->groups.items[k]),
                                                    script->sizes[i], &ret->groups[k].charges[i]);
        }
        ret->hosts[0].max_pages = kernel_pool(model->kernel, KERNEL_HOST, 0).max_pages;
        for (size_t i = 0; i < script->processes.n; i++) {
                const KernelProcess *process = model->processes[i];

                if (!process || !kernel_is_alive(process)) {
                        ret->processes[i].state = process && kernel_death(process) ? SCRIPT_KILLED
                                                                                   : SCRIPT_ENDED;
                        continue;
                }
                for (unsigned k = 0; k < script->n_sizes; k++)
                        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                                ret->processes[i].pages[k][node] =
                                        kernel_process_pages(process, script->sizes[k], (int) node);
        }
}

const ScriptBackend script_model = {
        .run = model_run,
        .fork = model_fork,
        .exit = model_exit,
        .set_policy = model_set_policy,
        .move = model_move,
        .map = model_map,
        .bind = model_bind,
        .touch = model_touch,
        .unmap = model_unmap,
        .shmget = model_shmget,
        .remove_segment = model_remove_segment,
        .mount = model_mount,
        .unmount = model_unmount,
        .set = model_set,
        .write = model_write,
        .make_group = model_make_group,
        .remove_group = model_remove_group,
        .write_group = model_write_group,
        .look = model_look,
};
