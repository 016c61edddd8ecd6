/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A history is a random host and a sequence of random steps: instances are described; units start, map, touch
 * and stop; other processes map huge pages and write to the pools; the daemon's own code (keeper/keeper.h)
 * plans, writes, judges gates, reloads, is killed and restarts. The kernel is the model (model/kernel_model.h).
 *
 * The seed determines the host, and the seed and a step's number determine the step. Leaving out a step
 * therefore changes the other steps as little as possible, and a failing history can be reduced to the steps
 * that it needs.
 *
 * checks.c defines what must hold after each step. The first failure ends the history.
 *
 * "Other" processes and users are those that hugeplan does not know of: processes of no unit, and units that
 * were started without a gate. */

#include "keeper/keeper.h"
#include "model/model_root.h"
#include "plan/idle.h"
#include "property/random.h"

enum { NODES = 4, UNITS = 5, OTHERS = 4, DESCRIBED = 6, CLAIMS = 4, MOUNTS = 8, STEPS_MAX = 64 };

/* The content of an instance's file. */
typedef struct Described {
        const char *name; /* NULL: this element is unused */
        int unit;         /* -1: no Unit= */
        uint64_t page_bytes, pages;
        uint64_t split[NODES]; /* NodeMemory= in pages; `pages` is then their sum */
        bool is_split;
        unsigned nodes; /* bits; 0: no Nodes= */
        const char *placement;
        bool is_degradable;
        unsigned priority;
        const char *isolate;
        bool has_mount;
        uint64_t mount_min; /* min_size= in pages; 0: none */
        bool is_broken;     /* the file has a mistake */
        bool is_auto;       /* Memory=auto: `pages` is what the server maps */
        bool is_list;       /* PageSize=1G,2M */
} Described;

/* The mount of an instance, made at the first start of its unit. */
typedef struct Mounted {
        KernelMount *mount; /* NULL: this element is unused */
        const char *instance, *path;
        int unit;
        bool is_outdated; /* the instance's file has changed since: unmounted when the unit stops */
} Mounted;

typedef enum UnitState {
        UNIT_DOWN,
        UNIT_ADMITTED, /* started (its gates have passed, if it has any), nothing mapped yet */
        UNIT_UP,
} UnitState;

/* Pages that a unit maps. */
typedef struct Claim {
        uint64_t page_bytes, pages;
        const char *mount; /* path of the mount whose file is mapped; NULL: an anonymous mapping */
        uint64_t mapped;   /* so far; the unit may map the rest at any time */
} Claim;

typedef struct Unit {
        const char *name, *group;
        /* What systemd has loaded. */
        MemoryPolicy policy;
        const char *gates[DESCRIBED];
        size_t n_gates;
        /* The current run. */
        UnitState state;
        bool is_starting; /* its gates have begun, and have not all passed */
        bool was_gated;   /* false: hugeplan has promised it nothing */
        bool is_short; /* its gate passed although pages are missing: mmap(2) and touching may fail */
        unsigned n_runs;
        const char *run; /* the invocation ID */
        MemoryPolicy run_policy;
        Claim claims[CLAIMS];
        size_t n_claims;
        bool is_private;
        uint64_t nodes; /* of its cpuset; 0: all */
        KernelProcess *process;
} Unit;

/* A process of no unit. */
typedef struct OtherProcess {
        KernelProcess *process; /* NULL: this element is unused */
        KernelPolicy policy;
        uint64_t nodes;   /* of its cpuset, which binds it; 0: no cpuset */
        bool is_reserved; /* false: mapped with MAP_NORESERVE */
} OtherProcess;

/* The cause of the latest change. */
typedef enum Actor {
        ACTOR_NONE,
        ACTOR_UNIT, /* a unit that passed its gates, or a process that ended */
        ACTOR_HUGEPLAN,
        ACTOR_OTHER, /* another process, an ungated unit, or a write to the pools from outside hugeplan */
} Actor;

/* A bit for each unit, then one for each other process. */
typedef uint32_t ProcessSet;

typedef struct HistoryOptions {
        uint64_t seed, n_steps;
        uint64_t left_out;            /* steps, a bit for each */
        uint64_t has_mounts;          /* 1: some instances have a mount */
        uint64_t has_gates_in_rounds; /* 1: units start and stop during rounds, and gates hang up */
        uint64_t leaves_processes;    /* 1: a unit that restarts may leave its process running */
        uint64_t maps_in_parts;       /* 1: units map in parts, unmap, and restart their database */
        uint64_t learns;              /* 1: some instances have Memory=auto */
        uint64_t changes_host;        /* 1: [Host] changes; some instances take pages of 1G or 2M */
        uint64_t fills_run;           /* 1: /run is full for some steps */
        uint64_t changes_cpusets;     /* 1: units have cpusets, which change while they run */
        uint64_t toggles_controller;  /* 1: others switch the hugetlb controller off and on */
        uint64_t hotplugs;            /* 1: nodes lose their memory, and get it back */
        uint64_t swaps_units;         /* 1: two instances get each other's units */
        bool is_traced;               /* every step is printed */
} HistoryOptions;

/* With how many pages an instance was last ready. */
typedef struct ReadyOnce {
        const char *name;
        uint64_t pages;
} ReadyOnce;

/* The pages of every pool; by index of the size, largest first. */
typedef struct PoolCounts {
        uint64_t persistent[KERNEL_SIZES_MAX][NODES], surplus[KERNEL_SIZES_MAX][NODES];
} PoolCounts;

typedef struct History {
        const HistoryOptions *options;
        Arena *arena;
        Random random;
        unsigned step;
        Kernel *kernel;
        Root *root;
        unsigned n_nodes, n_sizes;
        uint64_t vm_nodes; /* the cpuset of machine.slice/vm; 0: it has none */
        Described described[DESCRIBED];
        Unit units[UNITS];
        OtherProcess others[OTHERS];
        Mounted mounts[MOUNTS];
        unsigned n_named;
        /* The daemon. */
        Keeper *keeper;
        uint64_t now_usec;
        uint64_t existing[KERNEL_SIZES_MAX][NODES]; /* hugeplan never lowers a pool below this */
        bool is_edited; /* files have changed since the daemon read them */
        /* Pages plus 1 to which others have lowered a pool below its grants; 0 once a request to the daemon
         * (gate, reload, release) may raise the pool again. */
        uint64_t lowered[KERNEL_SIZES_MAX][NODES];
        bool is_in_round; /* a unit starts during a round: its gate hangs up instead of waiting */
        bool was_overtaken; /* a process acted between the daemon's reads and writes of this operation */
        bool is_run_full;
        bool is_ledger_old; /* changes of the ledger may not be on disk */
        bool is_ledger_lost; /* from then on, other users' pages may be attributed to the units that ran */
        bool is_settled; /* the daemon has looked since the last change, and has nothing left to do */
        uint64_t settled_surplus; /* surplus pages of all pools at that time */
        /* Results of the last check of safety (safety.c). */
        ProcessSet unsafe, checked;       /* `unsafe` is a subset of the processes `checked` */
        ProcessSet unsafe_without_others; /* unsafe even if other processes touch nothing */
        ProcessSet harmed;                /* made unsafe by others, and unsafe since */
        /* The same if the kernel makes no surplus pages from now on. */
        ProcessSet unsafe_no_surplus, harmed_no_surplus;
        Kernel *last_checked; /* a copy of the kernel as it was then */
        /* A copy of the kernel before others wrote to a pool in this step. A process that was unsafe then is not
         * harmed when the pool is repaired. */
        Kernel *before_lowering;
        ReadyOnce ready[STEPS_MAX + DESCRIBED]; /* enough for all names of a history */
        const char *failure;                    /* NULL: none so far */
        const char *failure_kind;
        bool is_over; /* the kernel has miscounted, so nothing can be checked any more */
} History;

/* Returns NULL, or a failure in ARENA and its kind. */
const char *history_run(Arena *arena, const HistoryOptions *options, const char **ret_kind);

/* ---- history.c ---- */

/* Prints a line if the history is traced. */
void trace(History *history, const char *format, ...) PRINTF_LIKE(2, 3);
void trace_pools(History *history);
/* Records the first failure; later ones are ignored. KIND is a word or two. */
void report_failure(History *history, const char *kind, const char *format, ...) PRINTF_LIKE(3, 4);

uint64_t draw(History *history, uint64_t first, uint64_t last);
bool chance(History *history, unsigned percent);

/* The index of a size of the host; `n_sizes`: the host does not have it. */
unsigned size_index(const History *history, uint64_t page_bytes);
PoolCounts pool_counts(const History *history);

/* ---- world.c: the host, and files of instances ---- */

void world_make(History *history);
/* Changes a file; systemd usually reloads its units. */
void world_edit(History *history);
/* Two instances get each other's units. Returns false if no such two were drawn. */
bool world_swap(History *history);
void systemd_reload(History *history);

/* ---- daemon.c ---- */

void daemon_boot(History *history);
/* Kills the daemon and starts it again. */
void daemon_kill(History *history);
/* Starts the daemon again if it has died at one of its writes. */
void daemon_revive(History *history);
/* The daemon looks, and repairs. Returns whether it began a round. */
bool daemon_verify(History *history, bool has_memory);
void daemon_reload(History *history, bool is_forced);
void daemon_release(History *history);
/* Passes GATE, which is not that of a starting unit, and sets *RET_VERDICT. */
bool daemon_admits(History *history, Gate *gate, Verdict *ret_verdict);
/* Whether INSTANCE belongs to UNIT according to the files that the daemon has read. If not, a gate of UNIT only asks
 * whether the instance is ready. */
bool is_starting(const History *history, const Unit *unit, const char *instance);
/* A gate of a unit that starts. */
typedef struct StartGate {
        Unit *unit;
        const char *instance;
        bool has_passed;
        /* Of daemon.c. */
        Gate gate;
        bool was_starting; /* false: INSTANCE belongs to another unit */
        bool is_done;
        GateAnswer answer;
        Verdict verdict;
        const char *reason;
} StartGate;

/* Runs N gates at the same time. Sets `has_passed`, and adds what was granted to the units' claims. */
void daemon_gates(History *history, StartGate *starts, size_t n);

/* A process of UNIT, whose gates have passed, calls Wait() again as if it started. */
void daemon_claim_start(History *history, Unit *unit);

/* ---- learned.c ---- */

/* Returns NULL if INSTANCE does not have Memory=auto. */
const Described *described_auto(const History *history, const char *instance);
/* The gate of INSTANCE reports its size. */
void daemon_report_size(History *history, const char *instance);
/* Learns what units have mapped by the last look; a round may have begun. */
void daemon_count(History *history);

/* ---- processes.c: units and other processes ---- */

/* Makes its control group, and sets its cpuset. */
void unit_make_group(History *history, const Unit *unit);
void unit_start(History *history, Unit *unit);
/* Starts most units that are down at the same time. Returns how many. */
size_t units_start(History *history);
/* Maps what UNIT has not mapped yet; with maps_in_parts only a part of it. */
void unit_map(History *history, Unit *unit);
bool unit_maps_more(const Unit *unit);
void unit_stop(History *history, Unit *unit);
bool unit_leave_behind(History *history, Unit *unit);
bool unit_unmap(History *history, Unit *unit);
/* The database of UNIT ends, and its supervisor asks whether it may start again. */
void unit_restart_database(History *history, Unit *unit);
/* The following return false if no drawn process can do it. */
/* A unit starts or stops during a round. */
bool some_unit_starts_or_stops(History *history);
bool some_process_maps(History *history, Actor *ret_actor);
bool some_process_touches(History *history, Actor *ret_actor);
bool other_process_starts(History *history);
bool other_process_ends(History *history);
void others_write_pool(History *history);
/* An administrator follows `hugeplanctl check` and takes all idle pages out of the pools. */
bool others_free_idle_pages(History *history);
void others_change_memory(History *history);
/* Existing pages are at most those that are left. */
void limit_existing(History *history);

KernelPolicy kernel_policy(const History *history, const MemoryPolicy *policy);
/* Maps all claims of UNIT in PROCESS, which belongs to KERNEL. */
int claims_map(Kernel *kernel, KernelProcess *process, const Unit *unit, Random *random);
/* The file in the mount at PATH that its instance maps. */
KernelSegment *mount_file(Kernel *kernel, const char *path);
/* The path of the mount of INSTANCE; NULL: not mounted. */
const char *mount_of(const History *history, const char *instance);

/* Whether the mount was made from another version of the instance's file than the daemon has read. Such a mount
 * may be too small, which the daemon reports. */
bool mount_may_differ(const History *history, const char *instance);
/* The file of an instance has changed. */
void mount_outdate(History *history, const char *instance);

/* ---- safety.c: simulations on copies of the kernel ---- */

/* Whether anything but gated units uses huge pages, or may use them: other processes, ungated units, and mounts
 * that hugeplan does not know of. */
bool has_other_users(const History *history);

/* The processes that must survive: all units that have mapped their pages, gated units that have not and are not
 * short, and other processes that have reserved their pages. */
ProcessSet find_checked(const History *history);
/* What a simulation assumes: other processes and ungated units touch their pages; the kernel can make surplus
 * pages. */
typedef enum Supposed { SUPPOSE_OTHERS_TOUCH = 1, SUPPOSE_SURPLUS_PAGES = 2 } Supposed;
/* The checked processes that cannot map, or are killed, when all processes map and touch all their pages, in one
 * of several orders. */
ProcessSet find_unsafe(const History *history, unsigned supposed);
bool may_overcommit(const History *history);
/* Whether PROCESS could have died in the kernel of the last check, in one of many more orders. */
bool could_have_died(const History *history, size_t process, unsigned supposed);
/* Whether a unit under POLICY can map CLAIM now and touch all of it; IS_OTHERS_FIRST: after all other processes
 * have touched their pages. */
bool could_start(const History *history, const MemoryPolicy *policy, const Claim *claim,
                 bool is_others_first);

static inline ProcessSet unit_bit(const History *history, const Unit *unit) {
        return (ProcessSet) 1 << (unit - history->units);
}

/* ---- checks.c ---- */

/* Whether hugeplan knows the pages of all users of huge pages. */
bool is_all_known(const History *history);

/* Checks safety only, because a round is in progress. */
void check_between(History *history, Actor actor);

/* Checks verdicts only, because units wait at their gates. */
void check_between_gates(History *history);

void check_after(History *history, Actor actor);

/* ---- steps.c ---- */

/* Units whose holds are not on disk. */
void forget_lost_holds(History *history, bool is_edited);

void step(History *history);
