/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The keeper holds the daemon's state and makes its decisions. It has no sockets, clocks or threads.
 *
 * The keeper works in rounds: look at the host, plan, write, look again, until the plan leaves nothing to write or
 * writing makes no progress. Its owner performs the writes one at a time, passes in the time, and queries the keeper
 * for clients. A daemon that is killed at any point is continued by the next one from the state in /run.
 *
 *   keeper_start(keeper);
 *   keeper_begin(keeper, KEEPER_START, now);
 *   while (keeper_next(keeper, now, &operation))
 *           keeper_done(keeper, &operation, apply_perform(root, &operation), usec);
 */

#include "apply/apply.h"
#include "keeper/look.h"
#include "plan/changes.h"
#include "status/history.h"

typedef struct Keeper Keeper;

/* Gets what is to be logged; without an event it is a message only. */
typedef void (*KeeperListener)(void *userdata, const HistoryEntry *entry);

/* ROOT must outlive the keeper. The keeper reports to LISTENER during the calls below. */
Keeper *keeper_new(const Root *root, KeeperListener listener, void *userdata);
Keeper *keeper_free(Keeper *keeper); /* takes NULL; returns NULL */

/* ---- rounds ---- */

typedef enum KeeperCause {
        KEEPER_START, /* right after keeper_start(): its look is used */
        KEEPER_FRESH, /* ReserveTimeout= begins again */
        KEEPER_RETRY, /* ReserveTimeout= continues */
} KeeperCause;

/* Reads the configuration and the state and makes the first plan. Writes nothing. */
void keeper_start(Keeper *keeper);

/* Begins a round. If a round is running, it ends early and another one follows. */
void keeper_begin(Keeper *keeper, KeeperCause cause, uint64_t now_usec);

/* Ends the running round after the current step. */
void keeper_stop_early(Keeper *keeper);

/* Sets *RET to the next write. Returns false if the round has ended or none is running. */
bool keeper_next(Keeper *keeper, uint64_t now_usec, ApplyOperation *ret);

/* Reports the result of OPERATION: ERROR is 0 or a negative errno; it took USEC. */
void keeper_done(Keeper *keeper, const ApplyOperation *operation, int error, uint64_t usec);

bool keeper_is_working(const Keeper *keeper); /* a round is running */

/* Whether another round may reduce a shortage and ReserveTimeout= has not passed. */
bool keeper_wants_retry(const Keeper *keeper, uint64_t now_usec);

/* Compares the host with what the last round left, records units that have stopped, and begins a round if there is
 * anything to write; returns whether a round began. With OnDrift=report, external changes are only reported.
 * HAS_MEMORY: the host's memory has changed. MAY_REPAIR: external changes are reverted now. Sets *RET_WANTS_REPAIR if
 * there are external changes to revert. */
bool keeper_verify(Keeper *keeper, bool has_memory, bool may_repair, uint64_t now_usec,
                   bool *ret_wants_repair);

/* Whether the processes of a refused start may still be ending: the host is to be looked at again soon. */
bool keeper_waits_for_end(const Keeper *keeper);

/* Something else has just written the host-wide nr_hugepages. The kernel spreads such a change over all nodes, so that
 * pages reserved again on one node may appear on others. */
void keeper_note_host_written(Keeper *keeper, uint64_t now_usec);

/* ---- state ---- */

/* Returns the current status from fresh counts, allocated in ARENA. IS_RETRYING: another round is scheduled. */
Status *keeper_judge(const Keeper *keeper, Arena *arena, bool is_retrying);

/* The same, but reuses the counts of a round that keeper_next() has just ended. */
Status *keeper_judge_round(Keeper *keeper, Arena *arena, bool is_retrying);

const Config *keeper_config(const Keeper *keeper);
const Look *keeper_look(const Keeper *keeper);   /* the last look, with its plan and ledger */
const Apply *keeper_apply(const Keeper *keeper); /* of the running round; NULL: none */

/* The units whose control groups are to be watched: their pages become free when they stop. */
SourceNames keeper_units(const Keeper *keeper, Arena *arena);

/* Rescue mode: reserve nothing before a reload or the start of a database unit. */
void keeper_hold_back(Keeper *keeper);
bool keeper_is_held_back(const Keeper *keeper);

/* ---- changes ---- */

typedef enum KeeperReload {
        KEEPER_RELOAD_REJECTED, /* the configuration has errors; the previous plan stays in effect */
        KEEPER_RELOAD_REFUSED, /* an instance would lose its pages; the previous plan stays in effect */
        KEEPER_RELOAD_BEGUN, /* a round is running; see keeper_reload_result() */
        KEEPER_RELOAD_APPLIED,
} KeeperReload;

typedef struct KeeperReloadResult {
        KeeperReload state;
        Diags problems;  /* errors, or the instances that would lose their pages, with the reason */
        Changes changes; /* of instances */
        PoolChanges pools; /* read before and after */
        HostWrites writes; /* what was written besides the pools */
} KeeperReloadResult;

/* Reads the configuration again. A reload is a transaction: it takes effect as a whole or not at all. IS_FORCED: even
 * if instances lose their pages. Must not be called while a round is running. */
KeeperReload keeper_reload(Keeper *keeper, bool is_forced, uint64_t now_usec);

/* The result of the last reload, after its rounds have ended. Refers to KEEPER. */
KeeperReloadResult keeper_reload_result(const Keeper *keeper);

/* Returns the look with the plan that keeper_reload() would make now from the configuration on disk, allocated in
 * ARENA. Adds to FALLS the instances that would lose their pages. */
Look *keeper_look_ahead(const Keeper *keeper, Arena *arena, Diags *falls);

/* Gives the pages of INSTANCE back until the next reload or the next start of its unit. Begins a round. */
void keeper_release(Keeper *keeper, const char *instance, uint64_t now_usec);

/* The changes of the pools since a reload or a release, allocated in ARENA. */
PoolChanges keeper_pool_changes(const Keeper *keeper, Arena *arena);

/* Sets the size of the instance that FILE has, with Memory=auto, to PAGES. Begins a round if the plan has another size. */
void keeper_grow(Keeper *keeper, const InstanceConfig *file, const PageCounts *pages,
                 uint64_t now_usec);

/* Returns whether a size that was reported for INSTANCE is not in its file yet, which has PAGES. */
bool keeper_is_unstored(const Keeper *keeper, const char *instance, const PageCounts *pages);

/* A learned figure to be stored beside the instance's file. */
typedef struct LearnedNews {
        const InstanceConfig *instance;
        Learned learned;
} LearnedNews;

typedef VEC(LearnedNews) LearnedNewsList;

/* Records what running units have mapped according to the last look; a count that no longer changes is taken as the
 * unit's size. FILES is the configuration on disk. Returns the figures to be stored, allocated in ARENA; they refer to
 * FILES. Begins a round if a figure changes or pages can be given back. */
LearnedNewsList keeper_count(Keeper *keeper, Arena *arena, const Config *files, uint64_t now_usec);

/* Whether the count of a running unit is still changing; IS_EARLY: or has not begun. */
bool keeper_is_counting(const Keeper *keeper, bool is_early);

/* ---- gates ---- */

typedef struct Gate {
        const char *instance;
        /* The call comes from the gate of the unit that is starting and needs its pages now; otherwise it is a query.
         * Only one call for each start is a gate: after that has passed, further calls are queries. */
        bool is_starting;
        /* The unit runs, and a supervisor in it is about to start the database again. Accepted only while the kernel
         * counts no pages for the unit, so that the unit never has its pages twice. */
        bool is_restarting;
        /* The unit of the instance when the gate called; a reload may have changed it meanwhile. */
        const char *unit;
        MemoryPolicy policy; /* of the starting process; UNKNOWN: that of the drop-in */
        const char *group;   /* the unit's control group; NULL: not known */
        const char *run;     /* the invocation ID; "": not known, and the call is a query */
        bool is_due;         /* a retry or another look is scheduled */
        bool is_last;        /* the time to wait is over: the instance may start with a part */
        /* Private to the keeper. */
        bool has_begun;        /* the hold of the previous run was dropped */
        bool is_tried;         /* it was tried since then */
        unsigned n_rounds;     /* that were run for this gate */
        uint64_t lacked_pages; /* before the last round; UINT64_MAX: not known */
        bool is_repair_due;    /* the caller was told once to wait for a repair */
} Gate;

typedef enum GateAnswer {
        GATE_WAIT,    /* a round is running, or keeper_begin() is to be called */
        GATE_PASS,    /* the instance may start; its hold is recorded */
        GATE_REFUSE,  /* for *RET_REASON */
        GATE_GONE,    /* the instance no longer exists */
        GATE_PENDING, /* the missing pages may come without a round; *RET_REASON says how */
} GateAnswer;

/* The look and status shared by gates that are tried one right after the other. The host is looked at again if its
 * counts have changed, and judged again after each start. {} before the first gate. */
typedef struct GateView {
        Arena *arena;         /* of the returned values; valid until the next gate is tried */
        const Status *status; /* of SEEN; NULL: to be judged again */
        Arena *seen_arena;
        Look *seen; /* the current counts and units; NULL: not looked at */
} GateView;

/* Whether the start RUN of the instance's unit was refused before. */
bool keeper_was_refused(const Keeper *keeper, const char *instance, const char *run);

/* Records that the unit of GATE is starting. A caller with several gates calls this for all of them before it tries the
 * first, so that one look and one plan serve all. */
void keeper_begin_gate(Keeper *keeper, Gate *gate);

/* Decides on GATE and sets *RET_INSTANCE to the instance's status. MAY_TRY: a round may be run for the gate. The client
 * must not be answered before keeper_end_gates() has stored the answer. */
GateAnswer keeper_try_gate(Keeper *keeper, GateView *view, Gate *gate, bool may_try,
                           StatusInstance *ret_instance, Reason *ret_reason);

/* The time to wait of GATE is over: its start is refused for REASON, which is stored. */
void keeper_time_out_gate(Keeper *keeper, const Gate *gate, const Reason *reason);

/* The caller of GATE has no answer and waits no longer: its start is over, or goes on without hugeplan. */
void keeper_abandon_gate(Keeper *keeper, const Gate *gate);

/* After the last gate: stores the answers on disk and resets VIEW to {}. */
void keeper_end_gates(Keeper *keeper, GateView *view);
