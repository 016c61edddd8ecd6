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

/* ---- operations ---- */

static int run(ScriptModel *model, const ScriptOperation *operation) {
        KernelProcess *process = kernel_spawn(
                model->kernel, &(KernelSpawn){.name = "script", .cpu_node = operation->cpu_node});
        int r = operation->group ? kernel_move(process, path_of(model, operation->group)) : 0;

        if (r == 0)
                r = kernel_set_policy(process, operation->policy);
        if (r < 0)
                kernel_exit(process);
        model->processes[operation->process] = process;
        return r;
}

static int map(const ScriptModel *model, const ScriptOperation *operation, KernelProcess *process,
               KernelMapping **ret) {
        KernelMount *mount = model->mounts[operation->mount];
        KernelMap map = {
                .page_bytes = operation->page_bytes,
                .n_pages = operation->n_pages,
                .is_private = operation->is_private,
                .is_noreserve = operation->is_noreserve,
        };

        if (operation->verb == SCRIPT_ATTACH &&
            !(map.segment = model->segments[operation->segment]))
                return -EINVAL;
        if (operation->verb == SCRIPT_FILE && !mount)
                return -ENOENT;
        if (operation->verb == SCRIPT_FILE)
                map.segment = kernel_open(mount, operation->file);
        return kernel_map(process, &map, ret);
}

static void touch(KernelMapping *mapping, const ScriptOperation *operation,
                  const KernelProcess *process, uint64_t *ret_killed_at) {
        uint64_t last = MIN(operation->last, kernel_mapping_pages(mapping) - 1);

        for (uint64_t page = operation->first; page <= last; page++)
                if (!kernel_touch(mapping, page)) {
                        *ret_killed_at = kernel_death(process)->page;
                        return;
                }
}

static int remove_segment(ScriptModel *model, unsigned segment) {
        KernelSegment *removed = TAKE_PTR(model->segments[segment]);

        if (!removed)
                return -EINVAL;
        kernel_remove_segment(removed);
        return 0;
}

static int unmount(ScriptModel *model, unsigned mount) {
        int r = model->mounts[mount] ? kernel_unmount(model->mounts[mount]) : -EINVAL;

        if (r == 0)
                model->mounts[mount] = NULL;
        return r;
}

static int model_perform(void *context, const ScriptOperation *operation, uint64_t *ret_killed_at) {
        ScriptModel *model = context;
        Kernel *kernel = model->kernel;
        unsigned number = (unsigned) MAX(operation->process, 0);
        KernelProcess *process = operation->process >= 0 ? model->processes[number] : NULL;
        KernelMapping **mapping = &model->mappings[number][operation->mapping];
        const char *group = operation->group ? path_of(model, operation->group) : NULL;

        if (operation->verb == SCRIPT_RUN)
                return run(model, operation);
        if (operation->process >= 0 && !(model->processes[operation->process] &&
                                         kernel_is_alive(model->processes[operation->process])))
                return -ESRCH;
        switch (operation->verb) {
        case SCRIPT_EXIT:
                kernel_exit(process);
                return 0;
        case SCRIPT_POLICY:
                return kernel_set_policy(process, operation->policy);
        case SCRIPT_MOVE:
                return kernel_move(process, group);
        case SCRIPT_MAP:
        case SCRIPT_ATTACH:
        case SCRIPT_FILE:
                return map(model, operation, process, mapping);
        case SCRIPT_MBIND:
                return kernel_set_mapping_policy(*mapping, operation->policy);
        case SCRIPT_TOUCH:
                touch(*mapping, operation, process, ret_killed_at);
                return 0;
        case SCRIPT_UNMAP:
                return kernel_unmap(*mapping);
        case SCRIPT_SEGMENT:
                return kernel_shmget(process, operation->page_bytes, operation->n_pages,
                                     operation->is_noreserve, &model->segments[operation->segment]);
        case SCRIPT_RMID:
                return remove_segment(model, operation->segment);
        case SCRIPT_MOUNT:
                return kernel_mount(
                        kernel, NULL,
                        arena_printf(model->arena, "/run/kernel-script/%u", operation->mount),
                        operation->page_bytes, operation->min_pages, operation->max_pages,
                        &model->mounts[operation->mount]);
        case SCRIPT_UNMOUNT:
                return unmount(model, operation->mount);
        case SCRIPT_SET:
                return kernel_set_pool(kernel, process, operation->node, operation->page_bytes,
                                       operation->n_pages);
        case SCRIPT_SET_SYSCTL:
                return kernel_set_pool(kernel, process, KERNEL_HOST, 0, operation->n_pages);
        case SCRIPT_SET_BY_POLICY:
                return kernel_set_pool_by_policy(kernel, process, operation->page_bytes,
                                                 operation->n_pages);
        case SCRIPT_SET_OVERCOMMIT:
                return kernel_set_overcommit(kernel, operation->page_bytes, operation->n_pages);
        case SCRIPT_DEMOTE:
                return kernel_demote(kernel, operation->node, operation->page_bytes,
                                     operation->n_pages);
        case SCRIPT_WRITE:
                return kernel_file_write(kernel, NULL, operation->file, operation->text);
        case SCRIPT_MAKE_GROUP:
                return kernel_group_make(kernel, group);
        case SCRIPT_REMOVE_GROUP:
                return kernel_group_remove(kernel, group);
        case SCRIPT_WRITE_GROUP:
                return kernel_group_write(kernel, group, operation->file, operation->text);
        default:
                return -EINVAL;
        }
}

/* ---- state ---- */

static uint64_t model_memory_nodes(void *context) {
        return kernel_memory_nodes(((ScriptModel *) context)->kernel);
}

static KernelPool model_pool(void *context, int node, uint64_t page_bytes) {
        return kernel_pool(((ScriptModel *) context)->kernel, node, page_bytes);
}

static KernelCharge model_charge(void *context, const char *group, uint64_t page_bytes) {
        const ScriptModel *model = context;
        KernelCharge charge = {};

        kernel_group_charge(model->kernel, path_of(model, group), page_bytes, &charge);
        return charge;
}

static ScriptState model_state(void *context, unsigned process) {
        const ScriptModel *model = context;
        const KernelProcess *found = model->processes[process];

        if (found && kernel_is_alive(found))
                return SCRIPT_LIVES;
        return found && kernel_death(found) ? SCRIPT_KILLED : SCRIPT_ENDED;
}

static void model_count_pages(void *context, unsigned process, uint64_t page_bytes,
                              uint64_t *pages) {
        const ScriptModel *model = context;

        for (int node = 0; node < KERNEL_NODES_MAX; node++)
                pages[node] += kernel_process_pages(model->processes[process], page_bytes, node);
}

const ScriptBackend script_model = {
        .perform = model_perform,
        .memory_nodes = model_memory_nodes,
        .pool = model_pool,
        .charge = model_charge,
        .state = model_state,
        .count_pages = model_count_pages,
};
