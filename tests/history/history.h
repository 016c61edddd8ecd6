/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A history: a random host, on which instances are described, units start, map, touch and stop, strangers
 * take huge pages and write to the pools, and the daemon's own code (keeper/keeper.h) plans, writes, judges
 * gates, reloads, is killed and comes back. The kernel is the model; the rest of the world is played here.
 *
 * Everything follows from the seed, each step from the seed and its number: a step that is left out leaves
 * the others what they are, as far as they can be, so that a history that shows a mistake can be cut down
 * to what it takes.
 *
 * What must hold after each step stands in checks.c; the first that does not ends the history. */

#include "keeper/keeper.h"
#include "model/model_root.h"
#include "plan/idle.h"
#include "property/random.h"

enum { NODES = 4, UNITS = 5, STRANGERS = 4, DESCRIBED = 6, CLAIMS = 4, MOUNTS = 8, STEPS_MAX = 64 };

/* An instance as its file has it. */
typedef struct Described {
        const char *name; /* NULL: none here */
        int unit;         /* -1: none */
        uint64_t page_bytes, pages;
        uint64_t split[NODES]; /* NodeMemory=, in pages; with it `pages` is their sum */
        bool is_split;
        unsigned nodes; /* bits; 0: not said */
        const char *placement;
        bool is_degradable;
        unsigned priority;
        const char *isolate;
        bool has_mount;
        uint64_t mount_min; /* earmarked from the moment of mounting; 0: none */
        bool is_broken;     /* the file has a mistake */
} Described;

/* The mount of an instance, from the first start of its unit on. */
typedef struct Mounted {
        KernelMount *mount; /* NULL: none here */
        const char *instance, *path;
        int unit;
        bool is_outdated; /* its file says otherwise now: it goes when nobody uses it */
} Mounted;

typedef enum UnitState {
        UNIT_DOWN,
        UNIT_LET, /* its gates have passed; it has mapped nothing yet */
        UNIT_UP,
} UnitState;

/* Pages that a unit maps. */
typedef struct Claim {
        uint64_t page_bytes, pages;
        const char *mount; /* in a file of it; NULL: of no file */
} Claim;

typedef struct Unit {
        const char *name, *group;
        /* As systemd has it loaded. */
        MemoryPolicy policy;
        const char *gates[DESCRIBED];
        size_t n_gates;
        /* This run. */
        UnitState state;
        bool is_starting; /* its gates have called, and have not all passed yet */
        bool was_gated;   /* else it came without asking: nothing was promised to it */
        bool is_short;    /* its gate said that it lacks some: it maps what the kernel gives */
        unsigned n_runs;
        const char *run;
        MemoryPolicy run_policy;
        Claim claims[CLAIMS];
        size_t n_claims;
        bool is_private;
        KernelProcess *process;
} Unit;

/* A process of no unit. */
typedef struct Stranger {
        KernelProcess *process; /* NULL: none here */
        KernelPolicy policy;
        uint64_t nodes;    /* to which its cpuset binds it; 0: to none */
        bool was_promised; /* what it maps was reserved */
} Stranger;

/* Who has done it. */
typedef enum Actor {
        ACTOR_UNIT, /* that touches or maps what is its own, or stops */
        ACTOR_HUGEPLAN,
        ACTOR_STRANGER, /* a process or a writer that nobody is answerable for */
} Actor;

/* A bit for each unit, and then for each stranger. */
typedef uint32_t Players;

typedef struct HistoryOptions {
        uint64_t seed, n_steps;
        uint64_t left_out;      /* steps, a bit for each */
        uint64_t has_mounts;    /* 1: some instances have one */
        uint64_t is_hurried;    /* 1: gates come in the middle of rounds, and hang up */
        uint64_t leaves_behind; /* 1: units that start again have left a process of theirs behind */
        bool is_loud;           /* every step is printed */
} HistoryOptions;

/* With how many pages an instance was ready last. */
typedef struct ReadyOnce {
        const char *name;
        uint64_t pages;
} ReadyOnce;

/* The persistent pages of every pool; by index of the size, largest first. */
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
        Stranger strangers[STRANGERS];
        Mounted mounts[MOUNTS];
        unsigned n_named;
        /* The daemon. */
        Keeper *keeper;
        uint64_t now_usec;
        uint64_t found[KERNEL_SIZES_MAX][NODES]; /* never lowered below this by us */
        bool is_edited;                          /* files have changed that it has not read */
        /* Pages that others have left of a pool of which instances had more, plus 1; nobody has asked for
         * more since. */
        uint64_t lowered[KERNEL_SIZES_MAX][NODES];
        bool is_in_round;    /* whoever waits for another one hangs up */
        bool was_overtaken;  /* by somebody, since it began with something */
        bool is_ledger_lost; /* once: what strangers have is likely of who ran then */
        bool is_settled;     /* it has looked since anything happened, and has nothing left to do */
        uint64_t settled_surplus; /* pages of all pools, when it had */
        /* Judged last. */
        Players unsafe, asked; /* of those who were asked */
        Players unsafe_alone;  /* even if strangers touch nothing */
        Players hurt;          /* by strangers, and not safe since */
        /* The same if there are no surplus pages to be had from now on. */
        Players unsafe_bare, hurt_bare;
        Kernel *judged; /* a copy, as it was then */
        /* As it was before others lowered a pool in this step: who was not safe then is not hurt when it is
         * repaired, whoever found nothing to map meanwhile. */
        Kernel *unlowered;
        ReadyOnce ready[STEPS_MAX + DESCRIBED]; /* as many names as there may be; the rest empty */
        uint64_t n_forks;
        /* What did not hold; NULL: all has held so far. */
        const char *broken;
        const char *broken_kind;
        bool is_over; /* the kernel itself has miscounted: nothing can be said of what follows */
} History;

/* Runs it. NULL, or what did not hold, in ARENA; *RET_KIND is what sort of thing that is. */
const char *history_run(Arena *arena, const HistoryOptions *options, const char **ret_kind);

/* ---- history.c ---- */

/* A line of the story, where it is told. */
void say(History *history, const char *format, ...) PRINTF_LIKE(2, 3);
void say_pools(History *history);
/* The first one counts. KIND is a word or two. */
void break_off(History *history, const char *kind, const char *format, ...) PRINTF_LIKE(3, 4);

uint64_t draw(History *history, uint64_t first, uint64_t last);
bool chance(History *history, unsigned percent);

PoolCounts pool_counts(const History *history);

/* ---- world.c: the host, and files of instances ---- */

void world_make(History *history);
/* Some change of the files; systemd reads its units again. */
void world_edit(History *history);
void systemd_reload(History *history);

/* ---- daemon.c ---- */

void daemon_boot(History *history);
/* Killed, and started again; where it was killed in the middle of something, started again. */
void daemon_kill(History *history);
void daemon_revive(History *history);
/* It looks; true: something was written. */
bool daemon_verify(History *history, bool has_memory);
void daemon_reload(History *history, bool is_forced);
void daemon_release(History *history);
/* Whether the mount of INSTANCE may be made. */
bool daemon_ask(History *history, const char *instance);
/* A gate of a unit that starts. */
typedef struct StartGate {
        Unit *unit;
        const char *instance;
        bool has_passed;
} StartGate;

/* Of N gates that come at once, who may start; what it may have goes to the units' claims. */
void daemon_gates(History *history, StartGate *starts, size_t n);

/* A process of UNIT, which has passed its gates, says that it is one of them. */
void daemon_claim_start(History *history, Unit *unit);

/* ---- people.c: units and strangers ---- */

void unit_start(History *history, Unit *unit);
/* All who are down, or most of them, at once: how many have tried. */
size_t units_start(History *history);
void unit_map(History *history, Unit *unit);
void unit_stop(History *history, Unit *unit);
bool unit_leave_behind(History *history, Unit *unit);
/* A unit stops, or starts, in the middle of a round; false: there is nobody to do it. */
bool somebody_hurries(History *history);
/* Some process touches some pages; false, here and below: there is none. */
bool somebody_maps(History *history, Actor *ret_actor);
bool somebody_touches(History *history, Actor *ret_actor);
bool stranger_comes(History *history);
bool stranger_goes(History *history);
void stranger_writes(History *history);
/* Whoever does as `check` says: all pages that lie idle are taken out of the pools. False: there are none. */
bool stranger_gives_back(History *history);
void strangers_take_memory(History *history);

KernelPolicy kernel_policy(const History *history, const MemoryPolicy *policy);
/* KERNEL is that of PROCESS. */
int claims_map(Kernel *kernel, KernelProcess *process, const Unit *unit, Random *random);
/* The file that its instance has there. */
KernelSegment *mount_file(Kernel *kernel, const char *path);
/* The path of the mount of INSTANCE; NULL: it is not mounted. */
const char *mount_of(const History *history, const char *instance);

/* Whether a mount was made by another file than hugepland goes by, and may hold less: hugepland reports that. */
bool mount_may_differ(const History *history, const char *instance);
/* The file of an instance has changed. */
void mount_outdate(History *history, const char *instance);

/* ---- safety.c: what would be if ---- */

/* Whether others than units that were let start have huge pages, or may have: strangers, and units that came
 * without asking. */
bool has_strangers(const History *history);

/* Who would die if everybody touched all that he mapped, or may map, in some order or other. */
Players find_asked(const History *history);
/* STRANGERS_TOUCH, SURPLUS_PAGES: they do; such may yet be had. */
typedef enum Supposed { SUPPOSE_STRANGERS_TOUCH = 1, SUPPOSE_SURPLUS_PAGES = 2 } Supposed;
Players find_unsafe(History *history, unsigned supposed);
bool may_overcommit(const History *history);
/* Whether PLAYER might have died as things were when they were judged last, in one of many orders more. */
bool could_have_died(History *history, size_t player, unsigned supposed);
/* Whether a unit under POLICY that maps PAGES now, and touches them, lives; OTHERS_FIRST: even if all
 * others touch theirs before. */
bool could_start(History *history, const MemoryPolicy *policy, const Claim *claim,
                 bool is_others_first);

static inline Players player_unit(const History *history, const Unit *unit) {
        return (Players) 1 << (unit - history->units);
}

/* ---- checks.c ---- */

/* Whether hugeplan knows of all who have huge pages what they have. */
bool is_all_known(const History *history);

/* After somebody has done something while hugeplan is at work: only that nobody was hurt. */
void check_between(History *history, Actor actor);

/* After a daemon has begun anew while units wait at their gates: to it they seem to run. */
void check_between_gates(History *history);

/* After somebody has done something. */
void check_after(History *history, Actor actor);

/* ---- steps.c ---- */

void step(History *history);
