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
        bool has_groups, has_cpusets, has_mounts;
        VEC(RandomProcess) processes;
        VEC(RandomGroup) groups;
        unsigned n_segments, n_mounts, n_mappings;
        bool is_on; /* the controller for the script's groups */
};

/* What a line is about: its first word, or the process of by=. */
typedef enum Subject { NOTHING, WRITER, PROCESS, MAPPING, NEW_MAPPING } Subject;

static uint64_t below(ScriptRandom *random, uint64_t n) {
        return random_between(&random->random, 0, n - 1);
}

/* ---- choosing ---- */

static unsigned some_bit(ScriptRandom *random, uint64_t bits) {
        uint64_t turn = below(random, (uint64_t) __builtin_popcountll(bits));

        for (; turn > 0; turn--)
                bits &= bits - 1;
        return (unsigned) __builtin_ctzll(bits);
}

static uint64_t find_living(const ScriptRandom *random) {
        const Script *script = random->script;
        uint64_t living = 0;

        for (unsigned i = 0; i < random->processes.n; i++)
                if (script->backend->state(script->context, i) == SCRIPT_LIVES)
                        living |= UINT64_C(1) << i;
        return living;
}

/* A living process, sometimes a dead one; -1: none. */
static int some_process(ScriptRandom *random) {
        uint64_t living = find_living(random);
        bool is_dead_meant = random_chance(&random->random, 3);

        if (random->processes.n == 0 || (living == 0 && !is_dead_meant))
                return -1;
        return is_dead_meant ? (int) below(random, random->processes.n)
                             : (int) some_bit(random, living);
}

static const char *name_of(const ScriptRandom *random, int process) {
        return random->processes.items[process].name;
}

/* "A:x"; NULL: the process has no mapping. */
static const char *some_mapping(ScriptRandom *random, int process) {
        const ScriptNames *names = &random->script->mappings[process];
        uint64_t there = 0;

        for (size_t i = 0; i < names->n; i++)
                if (names->items[i])
                        there |= UINT64_C(1) << i;
        there &= ~random->script->failed[process];
        return there ? arena_printf(random->arena, "%s:%s", name_of(random, process),
                                    names->items[some_bit(random, there)])
                     : NULL;
}

static const char *new_mapping(ScriptRandom *random, int process) {
        if (random->script->mappings[process].n == SCRIPT_MAPPINGS_MAX)
                return NULL;
        return arena_printf(random->arena, "%s:m%u", name_of(random, process),
                            random->n_mappings++);
}

/* "s3"; NULL: N is 0. */
static const char *some_of(ScriptRandom *random, const char *kind, unsigned n) {
        return n == 0 ? NULL : arena_printf(random->arena, "%s%" PRIu64, kind, below(random, n));
}

static unsigned some_node(ScriptRandom *random) {
        return some_bit(random, kernel_memory_nodes(random->kernel));
}

static const char *some_nodes(ScriptRandom *random) {
        uint64_t all = kernel_memory_nodes(random->kernel);
        uint64_t nodes = random_bits(&random->random) & all;

        if (nodes == 0)
                nodes = all;
        return id_set_format(random->arena, &(IdSet){.words = {nodes}});
}

static const char *some_policy(ScriptRandom *random, int process UNUSED) {
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
        uint64_t there = 0;

        for (size_t i = 0; i < random->groups.n; i++)
                if (!random->groups.items[i].is_gone)
                        there |= UINT64_C(1) << i;
        return there ? &random->groups.items[some_bit(random, there)] : NULL;
}

/* " by=A", or nothing. */
static const char *some_writer(ScriptRandom *random, unsigned percent) {
        int writer = random_chance(&random->random, percent) ? some_process(random) : -1;

        return writer < 0 ? "" : arena_printf(random->arena, " by=%s", name_of(random, writer));
}

/* ---- the end of a line; NULL: not possible now ---- */

static const char *make_run(ScriptRandom *random, int process) {
        const RandomGroup *group = random_chance(&random->random, 50) ? some_group(random) : NULL;
        unsigned node = some_bit(random, kernel_cpu_nodes(random->kernel));
        const char *policy = some_policy(random, process);

        if (random->processes.n == SCRIPT_PROCESSES_MAX - 1 ||
            __builtin_popcountll(find_living(random)) >= LIVING_MAX)
                return NULL;
        const char *name = arena_printf(random->arena, "p%zu", random->processes.n);

        *vec_push(random->arena, &random->processes) = (RandomProcess){name, group};
        return arena_printf(random->arena, "%s cpu=%u policy=%s%s%s", name, node, policy,
                            group ? " group=" : "", group ? group->name : "");
}

static const char *make_map(ScriptRandom *random, int process UNUSED) {
        static const char *const kinds[] = {
                "", "", "", " private", " private", " noreserve", " private noreserve",
        };
        const char *kind = kinds[below(random, ARRAY_LEN(kinds))];

        return arena_printf(random->arena, "%" PRIu64 "%s", 1 + below(random, MAP_PAGES_MAX), kind);
}

static const char *make_range(ScriptRandom *random, int process UNUSED) {
        uint64_t first = below(random, MAP_PAGES_MAX / 2);

        return random_chance(&random->random, 30)
                       ? "all"
                       : arena_printf(random->arena, "%" PRIu64 "-%" PRIu64, first,
                                      first + below(random, MAP_PAGES_MAX / 2));
}

static const char *make_segment(ScriptRandom *random, int process) {
        const char *kind = random_chance(&random->random, 20) ? " noreserve" : "";

        if (random->n_segments == SCRIPT_SEGMENTS_MAX)
                return NULL;
        return arena_printf(random->arena, "s%u %" PRIu64 " by=%s%s", random->n_segments++,
                            1 + below(random, MAP_PAGES_MAX), name_of(random, process), kind);
}

static const char *make_mount(ScriptRandom *random, int process UNUSED) {
        uint64_t min = below(random, MOUNT_PAGES_MAX);

        if (!random->has_mounts || random->n_mounts == SCRIPT_MOUNTS_MAX)
                return NULL;
        const char *name = arena_printf(random->arena, "f%u", random->n_mounts++);

        switch (below(random, 3)) {
        case 0:
                return arena_printf(random->arena, "%s min=%" PRIu64, name, min);
        case 1:
                return arena_printf(random->arena, "%s size=%" PRIu64, name, min + 1);
        default:
                return arena_printf(random->arena, "%s min=%" PRIu64 " size=%" PRIu64, name, min,
                                    min + below(random, 5));
        }
}

static const char *make_file(ScriptRandom *random, int process UNUSED) {
        const char *mount = some_of(random, "f", random->n_mounts);
        uint64_t file = below(random, 2);

        return mount ? arena_printf(random->arena, "%s/x%" PRIu64 " %" PRIu64, mount, file,
                                    1 + below(random, MOUNT_PAGES_MAX))
                     : NULL;
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

static const char *make_node_pool(ScriptRandom *random, int process UNUSED) {
        const char *writer = some_writer(random, 15);
        unsigned node = some_node(random);

        if (is_dangerous(random))
                return NULL;
        return arena_printf(random->arena, "node%u %" PRIu64 "%s", node,
                            below(random, NODE_PAGES_MAX), writer);
}

static const char *make_host_pool(ScriptRandom *random, int process UNUSED) {
        static const char *const targets[] = {"host", "sysctl", "policy", "policy"};
        const char *writer = some_writer(random, 50);
        const char *target = targets[below(random, ARRAY_LEN(targets))];

        return arena_printf(random->arena, "%s %" PRIu64 "%s", target,
                            below(random, HOST_PAGES_MAX), writer);
}

static const char *make_overcommit(ScriptRandom *random, int process UNUSED) {
        return arena_printf(random->arena, "overcommit %" PRIu64,
                            random_chance(&random->random, 30) ? 0 : below(random, OVERCOMMIT_MAX));
}

/* ---- control groups ---- */

static const char *make_group(ScriptRandom *random, int process UNUSED) {
        if (!random->has_groups || random->groups.n == SCRIPT_GROUPS_MAX)
                return NULL;
        const char *name = arena_printf(random->arena, "g%zu", random->groups.n);

        *vec_push(random->arena, &random->groups) = (RandomGroup){.name = name};
        return name;
}

/* Only before a process is in the group, because the model does not have cpusets that change. */
static const char *make_mems(ScriptRandom *random, int process UNUSED) {
        RandomGroup *group = random->groups.n > 0 ? &random->groups.items[random->groups.n - 1]
                                                  : NULL;

        if (!random->has_cpusets || !group || group->is_gone || group->has_mems)
                return NULL;
        VEC_FOREACH(each, &random->processes)
                if (each->group && text_equals(each->group->name, group->name))
                        return NULL;
        group->has_mems = true;
        return arena_printf(random->arena, "%s %s", group->name, some_nodes(random));
}

static const char *make_limit(ScriptRandom *random, int process UNUSED) {
        const RandomGroup *group = some_group(random);
        const char *which = random_chance(&random->random, 75) ? "rsvd.max" : "max";

        if (!group)
                return NULL;
        if (random_chance(&random->random, 25))
                return arena_printf(random->arena, "%s %s=max", group->name, which);
        return arena_printf(random->arena, "%s %s=%" PRIu64, group->name, which,
                            below(random, MAP_PAGES_MAX * 2));
}

static const char *make_move(ScriptRandom *random, int process) {
        const RandomGroup *from = random->processes.items[process].group, *to = some_group(random);

        if (!to || to->has_mems || (from && from->has_mems))
                return NULL;
        random->processes.items[process].group = to;
        return to->name;
}

static const char *make_control(ScriptRandom *random, int process UNUSED) {
        if (!random->has_groups)
                return NULL;
        random->is_on = !random->is_on;
        return random->is_on ? "+hugetlb" : "-hugetlb";
}

static const char *make_segment_name(ScriptRandom *random, int process UNUSED) {
        return some_of(random, "s", random->n_segments);
}

static const char *make_mount_name(ScriptRandom *random, int process UNUSED) {
        return some_of(random, "f", random->n_mounts);
}

/* Includes groups with processes, which cannot be removed. */
static const char *make_group_name(ScriptRandom *random, int process UNUSED) {
        const RandomGroup *group = some_group(random);

        return group ? group->name : NULL;
}

/* ---- all ---- */

static const struct {
        unsigned weight;
        const char *verb;
        Subject subject;
        const char *(*make)(ScriptRandom *random, int process); /* NULL: the line ends there */
} makers[] = {
        {10, "run", NOTHING, make_run},
        {5, "exit", PROCESS, NULL},
        {4, "policy", PROCESS, some_policy},
        {18, "map", NEW_MAPPING, make_map},
        {4, "mbind", MAPPING, some_policy},
        {24, "touch", MAPPING, make_range},
        {6, "unmap", MAPPING, NULL},
        {3, "segment", WRITER, make_segment},
        {4, "attach", NEW_MAPPING, make_segment_name},
        {3, "rmid", NOTHING, make_segment_name},
        {2, "mount", NOTHING, make_mount},
        {4, "file", NEW_MAPPING, make_file},
        {2, "unmount", NOTHING, make_mount_name},
        {14, "set", NOTHING, make_node_pool},
        {6, "set", NOTHING, make_host_pool},
        {4, "set", NOTHING, make_overcommit},
        {3, "group", NOTHING, make_group},
        {3, "mems", NOTHING, make_mems},
        {3, "limit", NOTHING, make_limit},
        {2, "move", PROCESS, make_move},
        {1, "control", NOTHING, make_control},
        {1, "rmgroup", NOTHING, make_group_name},
};

static const char *try_line(ScriptRandom *random, size_t i) {
        Subject subject = makers[i].subject;
        int process = subject == NOTHING ? -1 : some_process(random);
        const char *first = NULL, *rest = NULL;
        Text line = text_in(random->arena);

        if (subject != NOTHING && process < 0)
                return NULL;
        if (subject == PROCESS)
                first = name_of(random, process);
        else if (subject == MAPPING)
                first = some_mapping(random, process);
        else if (subject == NEW_MAPPING)
                first = new_mapping(random, process);
        if (!first && subject != NOTHING && subject != WRITER)
                return NULL;
        if (makers[i].make && !(rest = makers[i].make(random, process)))
                return NULL;
        text_add_word(&line, makers[i].verb);
        text_add_word(&line, first);
        text_add_word(&line, rest);
        return line.string;
}

static const char *make_line(ScriptRandom *random) {
        unsigned sum = 0;

        for (size_t i = 0; i < ARRAY_LEN(makers); i++)
                sum += makers[i].weight;
        for (;;) {
                uint64_t turn = below(random, sum);
                size_t i = 0;

                for (; turn >= makers[i].weight; i++)
                        turn -= makers[i].weight;
                const char *line = try_line(random, i);

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
        random->kernel = kernel_new(options->host);
        random->script = script_new(arena, &script_model, script_model_new(arena, random->kernel));
        random->has_groups = options->has_groups;
        random->has_cpusets = options->has_cpusets;
        random->has_mounts = options->has_mounts;
        random->is_on = true;
        return random;
}

ScriptRandom *script_random_free(ScriptRandom *random) {
        if (random)
                kernel_free(random->kernel);
        return NULL;
}
