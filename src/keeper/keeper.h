/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The keeper: what the daemon knows, and all that it decides, without sockets, clocks or threads.
 *
 * Its work goes in rounds: look, plan, write, look again, until a plan has nothing left to be written
 * or writing brings nothing. Its owner performs the writes, one at a time and perhaps elsewhere, tells
 * it the time, and asks it on behalf of clients. One that is dropped at any moment is taken up by the
 * next one, from the state on /run.
 *
 *   keeper_start(keeper);
 *   keeper_begin(keeper, KEEPER_START, now);
 *   while (keeper_next(keeper, now, &operation))
 *           keeper_done(keeper, &operation, apply_perform(root, &operation), usec);
 */

#include "apply/apply.h"
#include "keeper/look.h"
#include "plan/changes.h"
#include "plan/drift.h"
#include "status/history.h"

typedef struct Keeper Keeper;

/* Something that an administrator may want to read: with a priority of syslog(3). */
typedef struct KeeperEvent {
        int level;
        HistoryEvent what;
        const char *id;       /* of a problem or reason; else NULL */
        const char *instance; /* NULL: of none */
        const char *text;
        HistoryFigures figures;
} KeeperEvent;

typedef void (*KeeperListener)(void *userdata, const KeeperEvent *event);

/* ROOT must outlive it. LISTENER is told within the calls below. */
Keeper *keeper_new(const Root *root, KeeperListener listener, void *userdata);
Keeper *keeper_free(Keeper *keeper); /* takes NULL; returns NULL */

/* Reads configuration and state, and makes a first plan; writes nothing. */
void keeper_start(Keeper *keeper);

/* ---- rounds ---- */

typedef enum KeeperCause {
        KEEPER_START, /* right after keeper_start(), whose look is used; else as fresh */
        KEEPER_FRESH, /* try as hard as ReserveTimeout= allows, from now on */
        KEEPER_RETRY, /* go on with what is short */
} KeeperCause;

/* Begins a round; where one is under way, another one begins after it. */
void keeper_begin(Keeper *keeper, KeeperCause cause, uint64_t now_usec);

/* Finishes what is under way, and begins nothing more in this round. */
void keeper_hurry(Keeper *keeper);

/* The next write of the round; false: the round is over, or there is none. */
bool keeper_next(Keeper *keeper, uint64_t now_usec, ApplyOperation *ret);

/* What became of it. */
void keeper_done(Keeper *keeper, const ApplyOperation *operation, int error, uint64_t usec);

bool keeper_is_working(const Keeper *keeper); /* a round is under way */

/* Whether something is short that another round may bring: until when to try, UINT64_MAX for ever. */
bool keeper_wants_retry(const Keeper *keeper, uint64_t now_usec);

/* Looks whether the host is as it was left, takes note of units that have stopped, and begins a round
 * where there is something to be written; whether it did. With DRIFT_REPORT what others have changed is
 * told only. HAS_MEMORY: memory has come or gone. MAY_REPAIR: what others have changed is restored now;
 * *RET_WANTS_REPAIR says whether there is anything like that. */
bool keeper_verify(Keeper *keeper, bool has_memory, bool may_repair, uint64_t now_usec,
                   bool *ret_wants_repair);

/* Whether it is to be looked at again soon whether a start that was refused has ended. */
bool keeper_waits_for_end(const Keeper *keeper);

/* Others have just written to the pool of all nodes at once; what is put back may turn up elsewhere. */
void keeper_note_host_written(Keeper *keeper, uint64_t now_usec);

/* ---- what is so ---- */

const Config *keeper_config(const Keeper *keeper);
const Look *keeper_look(
        const Keeper *keeper); /* the last that a plan was made from, with plan and ledger */
const Apply *keeper_apply(const Keeper *keeper); /* under way; NULL: none */

/* What is true now, from fresh counts; in ARENA. IS_RETRYING: another round will come. */
Status *keeper_judge(const Keeper *keeper, Arena *arena, bool is_retrying);

/* The same right after keeper_next() has ended a round, by what was read for that; another time, as fresh. */
Status *keeper_judge_round(Keeper *keeper, Arena *arena, bool is_retrying);

/* What keeper_reload() would do now, by the configuration on disk, and why that would be refused, which is added to
 * FALLS. In ARENA. */
Look *keeper_look_ahead(const Keeper *keeper, Arena *arena, Diags *falls);

/* The units whose control groups are to be watched: when they stop, their pages are free. */
SourceNames keeper_units(const Keeper *keeper, Arena *arena);

/* In a rescue shell memory is for the administrator: nothing is reserved before somebody asks. */
void keeper_hold_back(Keeper *keeper);
bool keeper_is_held_back(const Keeper *keeper);

/* ---- changes ---- */

typedef enum KeeperReload {
        KEEPER_RELOAD_REJECTED, /* there are mistakes; the previous plan stays in effect */
        KEEPER_RELOAD_REFUSED,  /* an instance that stands would fall; likewise */
        KEEPER_RELOAD_BEGUN,    /* a round is under way; see keeper_reload_result() */
        KEEPER_RELOAD_APPLIED,
} KeeperReload;

typedef struct KeeperReloadResult {
        KeeperReload state;
        Diags problems;    /* mistakes, or who would fall and why */
        Changes changes;   /* of instances */
        PoolChanges pools; /* as they were read before and after */
        HostWrites writes; /* what the new plan set besides the pools */
} KeeperReloadResult;

/* Reads the configuration anew. A reload is a transaction: either all of it comes into effect, or
 * nothing changes. IS_FORCED: even if an instance that stands would fall. Not while a round is under
 * way. */
KeeperReload keeper_reload(Keeper *keeper, bool is_forced, uint64_t now_usec);

/* Of the last reload, once its rounds are over. Refers to KEEPER. */
KeeperReloadResult keeper_reload_result(const Keeper *keeper);

/* The pages of INSTANCE are not wanted until the next reload or start of its unit. Begins a round. */
void keeper_release(Keeper *keeper, const char *instance, uint64_t now_usec);

/* What pools have lost or gained since keeper_release() or another call began; in ARENA. */
PoolChanges keeper_pool_changes(const Keeper *keeper, Arena *arena);

/* From now on INSTANCE, whose size is automatic, needs these PAGES. Begins a round where the plan says
 * otherwise; false: there is nothing to do. */
bool keeper_grow(Keeper *keeper, const InstanceConfig *instance, const PageCounts *pages,
                 uint64_t now_usec);

/* What is new of an instance of the configuration on disk, to be kept there. */
typedef struct LearnedNews {
        const InstanceConfig *instance;
        Learned learned;
} LearnedNews;

typedef VEC(LearnedNews) LearnedNewsList;

/* Takes note of what units have mapped that run, by the last look: what has come to rest is what they take. FILES: the
 * configuration as it is on disk now; what is returned refers to it, and is in ARENA. Begins a round where that makes a
 * figure another one, or has something given back. */
LearnedNewsList keeper_count(Keeper *keeper, Arena *arena, const Config *files, uint64_t now_usec);

/* Whether the count of a unit that runs has yet to come to rest; IS_EARLY: or has yet to begin. */
bool keeper_is_counting(const Keeper *keeper, bool is_early);

/* ---- gates ---- */

typedef struct Gate {
        const char *instance;
        /* The gate of the unit that is about to start, which needs its pages now; else somebody asks. That
         * is believed once for each start: whoever comes after that was let start asks. */
        bool is_starting;
        /* Its unit runs, and a supervisor there is about to start the database again. Believed as far as the kernel
         * counts for the unit, and has nothing left for it: so often as may be, for it never has its pages twice. */
        bool is_restarting;
        MemoryPolicy policy; /* under which it starts; UNKNOWN: as its drop-in has it */
        const char *group;   /* its control group; NULL: not known */
        const char *run;     /* the id of this start; "": not known, so that nobody starts by it */
        bool is_due;         /* a retry, or a look at what has changed, comes by itself */
        bool is_last;        /* its time is over: who may start with a part does */
        /* The keeper's own. */
        bool has_begun;        /* its earlier run was ended */
        bool is_tried;         /* since then */
        unsigned n_rounds;     /* that were run for it */
        uint64_t lacked_pages; /* before the last of them; UINT64_MAX: not known */
        bool is_repair_due; /* its owner was told that there is something to be repaired for it */
} Gate;

typedef enum GateAnswer {
        GATE_WAIT,   /* a round is under way, or keeper_begin() is to be called */
        GATE_PASS,   /* it may start, and its unit has been noted as running */
        GATE_REFUSE, /* *RET_REASON says why */
        GATE_GONE,   /* there is no such instance any more */
        GATE_PENDING, /* what it lacks may come without a round for it; *RET_REASON says what that is */
} GateAnswer;

/* Whether RUN of the instance's unit was refused already: it has had its rounds. */
bool keeper_was_refused(const Keeper *keeper, const char *instance, const char *run);

/* What is so, for all gates that are tried one right after the other: looked at once, and again where anything shows
 * that it is another; judged again after each that is let start. {} before the first. */
typedef struct GateView {
        Arena *arena;         /* all that is returned is in it, until the next one is tried */
        const Status *status; /* by SEEN; NULL: nothing is judged, or something has changed since */
        Arena *seen_arena;
        Look *seen; /* whose counts and units stand; NULL: nothing was looked at */
} GateView;

/* Takes note that GATE, if it is one, is about to start. Who tries several does that for all before he tries the first:
 * then one look and one plan are for all of them. */
void keeper_begin_gate(Keeper *keeper, Gate *gate);

/* *RET_INSTANCE is its status. MAY_TRY: a round may be run for it. What was answered counts once keeper_end_gates() has
 * been called, and nobody is told before. */
GateAnswer keeper_try_gate(Keeper *keeper, GateView *view, Gate *gate, bool may_try,
                           StatusInstance *ret_instance, Reason *ret_reason);

/* The time of GATE, which starts, is over: it was not let start because of REASON. Counts once keeper_end_gates() has
 * been called. */
void keeper_time_out_gate(Keeper *keeper, GateView *view, const Gate *gate, const Reason *reason);

/* After the last one: what was noted for them is on disk from now on. VIEW is {} again. */
void keeper_end_gates(Keeper *keeper, GateView *view);
