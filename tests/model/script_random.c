/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/script_random.h"

#include "base/id_set.h"
#include "model/script_model.h"
#include "property/random.h"

enum {
        NODE_PAGES_MAX = 24,
        HOST_PAGES_MAX = 40,
        OVERCOMMIT_MAX = 12,
        MAP_PAGES_MAX = 14,
        MOUNT_PAGES_MAX = 10,
        LIVING_MAX = 7,
};

typedef struct RandomGroup {
        const char *name;
        bool has_mems; /* a cpuset of its own: no process is moved into the group or out of it */
        bool is_gone;
} RandomGroup;

typedef struct RandomProcess {
        const char *name;
        const RandomGroup *group;
} RandomProcess;

struct ScriptRandom {
        Arena *arena;
        Random random;
        Kernel *kernel;
        Script *script;
        bool has_groups, has_cpusets, has_mounts, leaves_pools;
        bool is_own; /* whether `kernel` was made by script_random_new() */
        VEC(RandomProcess) processes;
        VEC(RandomGroup) groups;
        unsigned n_segments, n_mounts, n_mappings;
        bool is_on; /* the controller for the script's groups */
};

static uint64_t below(ScriptRandom *random, uint64_t n) {
        return random_between(&random->random, 0, n - 1);
}

/* ---- choosing ---- */

static bool is_living(const ScriptRandom *random, size_t process) {
        ScriptView view = {};

        random->script->backend->look(random->script->context, random->script, &view);
        return view.processes[process].state == SCRIPT_LIVES;
}

static size_t count_living(const ScriptRandom *random) {
        size_t n = 0;

        for (size_t i = 0; i < random->processes.n; i++)
                n += is_living(random, i);
        return n;
}

/* A living process, sometimes a dead one; -1: none. */
static int some_process(ScriptRandom *random) {
        size_t n = count_living(random);
        bool is_dead_meant = random_chance(&random->random, 3);

        if (random->processes.n == 0 || (n == 0 && !is_dead_meant))
                return -1;
        if (is_dead_meant)
                return (int) below(random, random->processes.n);
        size_t turn = below(random, n);

        for (size_t i = 0; i < random->processes.n; i++)
                if (is_living(random, i) && turn-- == 0)
                        return (int) i;
        return -1;
}

static const char *name_of(const ScriptRandom *random, int process) {
        return random->processes.items[process].name;
}

/* "A:x"; NULL: the process has no mapping. */
static const char *some_mapping(ScriptRandom *random, int process) {
        const ScriptNames *names = &random->script->mappings[process];
        uint64_t failed = random->script->failed[process];
        size_t n = 0;

        for (size_t i = 0; i < names->n; i++)
                n += names->items[i] && !(failed & UINT64_C(1) << i);
        size_t turn = n > 0 ? below(random, n) : 0;

        for (size_t i = 0; i < names->n; i++)
                if (names->items[i] && !(failed & UINT64_C(1) << i) && turn-- == 0)
                        return arena_printf(random->arena, "%s:%s", name_of(random, process),
                                            names->items[i]);
        return NULL;
}

static const char *new_mapping(ScriptRandom *random, int process) {
        if (random->script->mappings[process].n == SCRIPT_MAPPINGS_MAX)
                return NULL;
        return arena_printf(random->arena, "%s:m%u", name_of(random, process),
                            random->n_mappings++);
}

static unsigned some_node_of(ScriptRandom *random, uint64_t nodes) {
        uint64_t turn = below(random, (uint64_t) __builtin_popcountll(nodes));

        for (; turn > 0; turn--)
                nodes &= nodes - 1;
        return (unsigned) __builtin_ctzll(nodes);
}

static unsigned some_node(ScriptRandom *random) {
        return some_node_of(random, kernel_memory_nodes(random->kernel));
}

static const char *some_nodes(ScriptRandom *random) {
        uint64_t all = kernel_memory_nodes(random->kernel);
        uint64_t nodes = random_bits(&random->random) & all;

        if (nodes == 0)
                nodes = all;
        return id_set_format(random->arena, &(IdSet){.words = {nodes}});
}

static const char *some_policy(ScriptRandom *random) {
        switch (below(random, 8)) {
        case 0:
        case 1:
                return arena_printf(random->arena, "bind:%u", some_node(random));
        case 2:
                return arena_printf(random->arena, "bind:%s", some_nodes(random));
        case 3:
                return arena_printf(random->arena, "interleave:%s", some_nodes(random));
        case 4:
                return arena_printf(random->arena, "preferred:%u", some_node(random));
        default:
                return "local";
        }
}

static RandomGroup *some_group(ScriptRandom *random) {
        size_t n = 0;

        VEC_FOREACH(group, &random->groups)
                n += !group->is_gone;
        size_t turn = n > 0 ? below(random, n) : 0;

        VEC_FOREACH(group, &random->groups)
                if (!group->is_gone && turn-- == 0)
                        return group;
        return NULL;
}

/* ---- lines; NULL: not possible now ---- */

static const char *make_run(ScriptRandom *random) {
        RandomGroup *group = random_chance(&random->random, 50) ? some_group(random) : NULL;
        unsigned node = some_node_of(random, kernel_cpu_nodes(random->kernel));
        const char *policy = some_policy(random);

        if (random->processes.n == SCRIPT_PROCESSES_MAX - 1 || count_living(random) >= LIVING_MAX)
                return NULL;
        const char *name = arena_printf(random->arena, "p%zu", random->processes.n);

        *vec_push(random->arena, &random->processes) = (RandomProcess){name, group};
        return arena_printf(random->arena, "run %s cpu=%u policy=%s%s%s", name, node, policy,
                            group ? " group=" : "", group ? group->name : "");
}

static const char *make_fork(ScriptRandom *random) {
        int process = some_process(random);

        if (process < 0 || random->processes.n == SCRIPT_PROCESSES_MAX - 1 ||
            count_living(random) >= LIVING_MAX)
                return NULL;
        const char *name = arena_printf(random->arena, "p%zu", random->processes.n);
        const char *parent = name_of(random, process);

        *vec_push(random->arena, &random->processes) =
                (RandomProcess){name, random->processes.items[process].group};
        return arena_printf(random->arena, "fork %s %s", parent, name);
}

static const char *make_exit(ScriptRandom *random) {
        int process = some_process(random);

        return process < 0 ? NULL
                           : arena_printf(random->arena, "exit %s", name_of(random, process));
}

static const char *make_policy(ScriptRandom *random) {
        int process = some_process(random);

        return process < 0 ? NULL
                           : arena_printf(random->arena, "policy %s %s", name_of(random, process),
                                          some_policy(random));
}

static const char *make_map(ScriptRandom *random) {
        static const char *const kinds[] = {
                "", "", "", " private", " private", " noreserve", " private noreserve",
        };
        int process = some_process(random);
        const char *name = process < 0 ? NULL : new_mapping(random, process);
        const char *kind = kinds[below(random, ARRAY_LEN(kinds))];

        return name ? arena_printf(random->arena, "map %s %" PRIu64 "%s", name,
                                   1 + below(random, MAP_PAGES_MAX), kind)
                    : NULL;
}

static const char *make_mbind(ScriptRandom *random) {
        int process = some_process(random);
        const char *name = process < 0 ? NULL : some_mapping(random, process);

        return name ? arena_printf(random->arena, "mbind %s %s", name, some_policy(random)) : NULL;
}

static const char *make_touch(ScriptRandom *random) {
        int process = some_process(random);
        const char *name = process < 0 ? NULL : some_mapping(random, process);
        uint64_t first = below(random, MAP_PAGES_MAX / 2);

        if (!name)
                return NULL;
        if (random_chance(&random->random, 30))
                return arena_printf(random->arena, "touch %s all", name);
        return arena_printf(random->arena, "touch %s %" PRIu64 "-%" PRIu64, name, first,
                            first + below(random, MAP_PAGES_MAX / 2));
}

static const char *make_unmap(ScriptRandom *random) {
        int process = some_process(random);
        const char *name = process < 0 ? NULL : some_mapping(random, process);

        return name ? arena_printf(random->arena, "unmap %s", name) : NULL;
}

static const char *make_segment(ScriptRandom *random) {
        int process = some_process(random);
        const char *kind = random_chance(&random->random, 20) ? " noreserve" : "";

        if (process < 0 || random->n_segments == SCRIPT_SEGMENTS_MAX)
                return NULL;
        return arena_printf(random->arena, "segment s%u %" PRIu64 " by=%s%s", random->n_segments++,
                            1 + below(random, MAP_PAGES_MAX), name_of(random, process), kind);
}

static const char *make_attach(ScriptRandom *random) {
        int process = some_process(random);
        const char *name = process < 0 || random->n_segments == 0 ? NULL
                                                                  : new_mapping(random, process);

        return name ? arena_printf(random->arena, "attach %s s%" PRIu64, name,
                                   below(random, random->n_segments))
                    : NULL;
}

static const char *make_rmid(ScriptRandom *random) {
        return random->n_segments == 0 ? NULL
                                       : arena_printf(random->arena, "rmid s%" PRIu64,
                                                      below(random, random->n_segments));
}

static const char *make_mount(ScriptRandom *random) {
        uint64_t min = below(random, MOUNT_PAGES_MAX);

        if (!random->has_mounts || random->n_mounts == SCRIPT_MOUNTS_MAX)
                return NULL;
        switch (below(random, 3)) {
        case 0:
                return arena_printf(random->arena, "mount f%u min=%" PRIu64, random->n_mounts++,
                                    min);
        case 1:
                return arena_printf(random->arena, "mount f%u size=%" PRIu64, random->n_mounts++,
                                    min + 1);
        default:
                return arena_printf(random->arena, "mount f%u min=%" PRIu64 " size=%" PRIu64,
                                    random->n_mounts++, min, min + below(random, 5));
        }
}

static const char *make_file(ScriptRandom *random) {
        int process = some_process(random);
        const char *name = process < 0 || random->n_mounts == 0 ? NULL
                                                                : new_mapping(random, process);

        if (!name)
                return NULL;
        uint64_t mount = below(random, random->n_mounts), file = below(random, 2);

        return arena_printf(random->arena, "file %s f%" PRIu64 "/x%" PRIu64 " %" PRIu64, name,
                            mount, file, 1 + below(random, MOUNT_PAGES_MAX));
}

static const char *make_unmount(ScriptRandom *random) {
        return random->n_mounts == 0 ? NULL
                                     : arena_printf(random->arena, "unmount f%" PRIu64,
                                                    below(random, random->n_mounts));
}

/* Whether a write to a node's file would take all memory, which may crash the host: pool_count_on_node(). */
static bool is_dangerous(const ScriptRandom *random) {
        for (int node = 0; node < KERNEL_NODES_MAX; node++) {
                KernelPool pool = kernel_pool(random->kernel, node, 0);

                if (pool.surplus_pages > pool.total_pages)
                        return true;
        }
        return false;
}

static const char *make_node_pool(ScriptRandom *random) {
        int writer = random_chance(&random->random, 15) ? some_process(random) : -1;
        unsigned node = some_node(random);

        if (random->leaves_pools || is_dangerous(random))
                return NULL;
        return arena_printf(random->arena, "set node%u %" PRIu64 "%s%s", node,
                            below(random, NODE_PAGES_MAX), writer >= 0 ? " by=" : "",
                            writer >= 0 ? name_of(random, writer) : "");
}

static const char *make_host_pool(ScriptRandom *random) {
        static const char *const targets[] = {"host", "sysctl", "policy", "policy"};
        int writer = random_chance(&random->random, 50) ? some_process(random) : -1;
        const char *target = targets[below(random, ARRAY_LEN(targets))];

        if (random->leaves_pools)
                return NULL;
        return arena_printf(random->arena, "set %s %" PRIu64 "%s%s", target,
                            below(random, HOST_PAGES_MAX), writer >= 0 ? " by=" : "",
                            writer >= 0 ? name_of(random, writer) : "");
}

static const char *make_overcommit(ScriptRandom *random) {
        if (random->leaves_pools)
                return NULL;
        return arena_printf(random->arena, "set overcommit %" PRIu64,
                            random_chance(&random->random, 30) ? 0 : below(random, OVERCOMMIT_MAX));
}

/* ---- control groups ---- */

static const char *make_group(ScriptRandom *random) {
        if (!random->has_groups || random->groups.n == SCRIPT_GROUPS_MAX)
                return NULL;
        const char *name = arena_printf(random->arena, "g%zu", random->groups.n);

        *vec_push(random->arena, &random->groups) = (RandomGroup){.name = name};
        return arena_printf(random->arena, "group %s", name);
}

/* Only before a process is in the group, because the model does not have cpusets that change. */
static const char *make_mems(ScriptRandom *random) {
        RandomGroup *group = random->groups.n > 0 ? &random->groups.items[random->groups.n - 1]
                                                  : NULL;

        if (!random->has_cpusets || !group || group->is_gone || group->has_mems)
                return NULL;
        VEC_FOREACH(process, &random->processes)
                if (process->group && text_equals(process->group->name, group->name))
                        return NULL;
        group->has_mems = true;
        return arena_printf(random->arena, "mems %s %s", group->name, some_nodes(random));
}

static const char *make_limit(ScriptRandom *random) {
        const RandomGroup *group = some_group(random);
        const char *which = random_chance(&random->random, 75) ? "rsvd.max" : "max";

        if (!group)
                return NULL;
        if (random_chance(&random->random, 25))
                return arena_printf(random->arena, "limit %s %s=max", group->name, which);
        return arena_printf(random->arena, "limit %s %s=%" PRIu64, group->name, which,
                            below(random, MAP_PAGES_MAX * 2));
}

static const char *make_move(ScriptRandom *random) {
        int process = some_process(random);
        RandomGroup *to = some_group(random);

        if (process < 0 || !to || to->has_mems)
                return NULL;
        const RandomGroup *from = random->processes.items[process].group;

        if (from && from->has_mems)
                return NULL;
        random->processes.items[process].group = to;
        return arena_printf(random->arena, "move %s %s", name_of(random, process), to->name);
}

static const char *make_control(ScriptRandom *random) {
        if (!random->has_groups)
                return NULL;
        random->is_on = !random->is_on;
        return random->is_on ? "control +hugetlb" : "control -hugetlb";
}

/* Includes groups with processes, which cannot be removed. */
static const char *make_rmgroup(ScriptRandom *random) {
        const RandomGroup *group = some_group(random);

        return group ? arena_printf(random->arena, "rmgroup %s", group->name) : NULL;
}

/* ---- all ---- */

static const struct {
        unsigned weight;
        const char *(*make)(ScriptRandom *random);
} makers[] = {
        {10, make_run},       {4, make_fork},    {5, make_exit},       {4, make_policy},
        {18, make_map},       {4, make_mbind},   {24, make_touch},     {6, make_unmap},
        {3, make_segment},    {4, make_attach},  {3, make_rmid},       {2, make_mount},
        {4, make_file},       {2, make_unmount}, {14, make_node_pool}, {6, make_host_pool},
        {4, make_overcommit}, {3, make_group},   {3, make_mems},       {3, make_limit},
        {2, make_move},       {1, make_control}, {1, make_rmgroup},
};

static const char *make_line(ScriptRandom *random) {
        unsigned sum = 0;

        for (size_t i = 0; i < ARRAY_LEN(makers); i++)
                sum += makers[i].weight;
        for (;;) {
                uint64_t turn = below(random, sum);
                size_t i = 0;

                for (; turn >= makers[i].weight; i++)
                        turn -= makers[i].weight;
                const char *line = makers[i].make(random);

                if (line)
                        return line;
        }
}

const char *script_random_line(ScriptRandom *random) {
        const char *line = make_line(random);
        Text out = text_in(random->arena);

        if (script_step(random->script, line, &out) < 0)
                return arena_printf(random->arena, "%s # a mistake: %s", line, text_string(&out));
        VEC_FOREACH(group, &random->groups) {
                bool is_there = false;

                VEC_FOREACH(name, &random->script->groups)
                        is_there = is_there || text_equals(*name, group->name);
                group->is_gone = !is_there;
        }
        return line;
}

ScriptRandom *script_random_new(Arena *arena, const ScriptRandomOptions *options) {
        ScriptRandom *random = ARENA_NEW(arena, ScriptRandom);

        random->arena = arena;
        random->random.state = options->seed;
        random->is_own = !options->kernel;
        random->kernel = options->kernel ? options->kernel : kernel_new(options->host);
        random->script = script_new(arena, &script_model, script_model_new(arena, random->kernel));
        random->has_groups = options->has_groups;
        random->has_cpusets = options->has_cpusets;
        random->has_mounts = options->has_mounts;
        random->leaves_pools = options->leaves_pools;
        random->is_on = true;
        return random;
}

ScriptRandom *script_random_free(ScriptRandom *random) {
        if (random && random->is_own)
                kernel_free(random->kernel);
        return NULL;
}
