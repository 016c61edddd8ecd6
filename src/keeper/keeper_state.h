/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The keeper's state, private to the files keeper*.c. The file named at each part writes it; the others read it. */

#include "base/macros.h"
#include "keeper/keeper.h"
#include "plan/drift.h"

typedef struct EventSink {
        KeeperListener listener;
        void *userdata;
} EventSink;

/* A configuration, and the sizes that gates have reported since. */
typedef struct Asked {
        Arena *arena; /* owns both, until the next reload */
        const Config *config;
        Figures found;
} Asked;

typedef enum KnownStage {
        KNOWN_NOTHING, /* the configuration or the host could not be read yet */
        KNOWN_FIRST, /* no round has ended: differences may be unfinished work of a killed daemon */
        KNOWN_SETTLED, /* a round has ended: later differences are external changes */
} KnownStage;

/* The running round, or the last one: keeper.c. */
typedef struct Round {
        Apply *apply; /* NULL: no round is running */
        Arena *arena;
        PoolLimits limits; /* sizes that pools could not exceed */
        Arena *attempts_arena;
        Attempts attempts; /* of the last round that wrote anything */
        unsigned n_passes;
        bool is_another_wanted;
        bool stops_early;
        uint64_t attempts_until_usec;
} Round;

/* What a round does to the pools, reported once for each pool at the end of the round, and which pools were lowered
 * externally since: keeper_moves.c. */
typedef struct PoolMove {
        unsigned node;
        uint64_t page_size_bytes;
        bool has_begun;
        bool is_lowered; /* externally, and no round has begun since, */
        uint64_t lowered_pages;
        uint64_t lost_pages;   /* to which it is to be repaired; 0: it was not lowered externally */
        uint64_t from_pages;   /* persistent, before the round */
        uint64_t pages;        /* now */
        uint64_t best_pages;   /* the most that it had in this round */
        uint64_t wanted_pages; /* to which it was to be raised; 0: it was not */
        uint64_t given_pages;  /* that hugeplan has given back in this round */
        unsigned n_tries[ESCALATION_DONE]; /* by action */
        uint64_t usec;
        int error;                                           /* the last; 0: none */
        uint64_t reported_wanted_pages, reported_best_pages; /* of the last reported shortage */
} PoolMove;

typedef struct Moves {
        Arena *arena;
        VEC(PoolMove) list; /* one for each pool that was ever written to or lowered externally */
} Moves;

/* Starts in progress, whose gates have called and have not passed yet: keeper_gate.c. */
typedef struct Starts {
        Arena *arena;
        PlanStartings list;
        uint64_t refused_usec; /* when refused starts were first looked at; 0: not yet */
        bool is_unplanned;     /* some have begun since the last plan was made */
} Starts;

/* What the kernel counts for running units: keeper_seen.c. A server does not say when it has mapped everything, so a
 * count is used once it has not changed for some seconds. */
typedef struct Counted {
        const char *unit;
        uint64_t bytes;
        uint64_t since_usec; /* when the count was first seen */
        bool is_at_rest;     /* it has not changed for some seconds */
} Counted;

typedef struct Counts {
        Arena *arena;
        VEC(Counted) list;
} Counts;

/* The stage of a reload. A reload can be rolled back until it is settling. */
typedef enum ReloadStage {
        RELOAD_NONE,
        RELOAD_TRYING,      /* the old pages are kept as well, as far as memory allows */
        RELOAD_SETTLING,    /* in effect; the old pages are given back */
        RELOAD_TAKING_BACK, /* rolled back; the new pages are given back */
} ReloadStage;

/* keeper_reload.c */
typedef struct Reload {
        Arena *arena; /* owns the members, until the next reload */
        ReloadStage stage;
        KeeperReload state;
        bool is_forced;
        Asked before; /* the previous configuration, */
        Arena *look_arena; /* with its look, in case the host cannot be read during a rollback; NULL: none */
        Look *look;
        const Ledger *ledger; /* before the reload */
        const Status *status;
        HostWrites
                undo; /* reverts what was written besides the pools; `before` is the written value */
        Diags problems;
        const Diags *rejected; /* errors of the files, or why the reload was refused; NULL: none */
} Reload;

struct Keeper {
        const Root *root;
        EventSink events;
        Asked asked;
        /* What is known of the host: keeper_look.c. */
        struct {
                KnownStage stage;
                Arena *arena;
                Look *look; /* with the ledger, which changes between two looks */
                bool is_new; /* made at the end of a round that was not judged, and no unit was let start since */
                bool is_unsaved; /* the ledger has changes that are not on disk, */
                int save_error;  /* because the last attempt to store it failed; 0: it did not */
                /* Set if the last look, or the configuration at startup, could not be read: the previous look stays,
                 * nothing is written, and reading is tried again. Allocated in fault_arena; error 0: none. */
                ReadFault fault;
                Arena *fault_arena;
                unsigned n_tries; /* attempts to read everything for the first time */
        } known;
        Round round;
        /* External changes: keeper_drift.c. */
        struct {
                Arena *arena;
                SourceNames reported; /* drift that has been reported and persists */
                bool is_left;         /* drift was reported, and no round has begun since */
                uint64_t host_written_usec;
                uint64_t restored_usec; /* when pages were last reserved again after an external change */
        } drift;
        Moves moves;
        Starts starts;
        Counts counts;
        Reload reload;
        /* The pools before a requested change: keeper_look.c. */
        struct {
                Arena *arena;
                const Topology *topology;
        } before;
        bool is_held_back; /* rescue mode: nothing is reserved */
};

static inline bool keeper_has_started(const Keeper *keeper) {
        return keeper->known.stage != KNOWN_NOTHING;
}

/* ---- keeper_events.c ---- */

/* Reports ENTRY as WHAT: sets its event, its kind if that is NULL, and of a pool the instances. */
void keeper_report_event(const Keeper *keeper, int level, HistoryEvent what, HistoryEntry entry);

/* ID is that of a problem or reason; NULL: none. */
void keeper_report(const Keeper *keeper, int level, const char *id, const char *format, ...)
        PRINTF_LIKE(4, 5);
void keeper_report_diag(const Keeper *keeper, const Diag *diag);

/* A gate was answered. REFUSAL says why the instance may not start; NULL: it may. */
void keeper_report_start(const Keeper *keeper, const PlanInstance *planned, const Reason *refusal);

/* INSTANCE needs COUNT; PAGES_BEFORE were planned. */
void keeper_report_size(const Keeper *keeper, const char *instance, const PageCount *count,
                        uint64_t pages_before);
void keeper_report_drift(const Keeper *keeper, const Drift *drift);

/* ---- keeper_look.c ---- */

/* Stores FAULT as the keeper's fault and reports it if it is new, or that everything can be read again. */
void keeper_note_fault(Keeper *keeper, const ReadFault *fault);

/* Takes over LOOK and its ARENA in place of the last look; if LOOK has a fault, reports it and returns false. */
bool keeper_adopt(Keeper *keeper, Arena *arena, Look *look);

/* Makes a look for planning, allocated in ARENA; KNOWN as in LookInput. A look that has used the memory reserve
 * (base/memory.h) gets a fault, because keeping it would keep the reserve in use. */
Look *keeper_make_look(const Keeper *keeper, Arena *arena, const Topology *known);

/* Look and plan, the second one without reading settings of the last look. Return false, keeping the last look, if the
 * host cannot be read. */
bool keeper_look_anew(Keeper *keeper);
bool keeper_look_again(Keeper *keeper);

/* Reads again what could not be read at startup. Returns false if that still fails. */
bool keeper_finish_start(Keeper *keeper);

LookInput keeper_look_input(const Keeper *keeper);

/* Records the sizes of the pools for keeper_pool_changes(). */
ReadFault keeper_note_before(Keeper *keeper);

/* ---- keeper_drift.c ---- */

/* Looks again and reports external changes, pages moved between nodes included. Returns whether any can be
 * repaired; sets the keeper's fault if the host cannot be read. */
bool keeper_look_for_drift(Keeper *keeper);

/* The same for an existing LOOK. */
bool keeper_note_drift(Keeper *keeper, const Look *look);

/* Forgets reported drift that the last look no longer shows, so that it is reported again if it returns. */
void keeper_forget_drift(Keeper *keeper);

/* ---- keeper_moves.c ---- */

/* Begins a round, which is to repair pools that were lowered externally. */
void moves_begin(Moves *moves);
void moves_note(Moves *moves, const ApplyResult *result);
void keeper_report_moves(Keeper *keeper);

/* Records that a pool was lowered or has gone. */
void moves_note_lowered(Moves *moves, const Drift *drift);

/* Whether a pool is still below the size that it was lowered from, and no round has begun since. */
bool keeper_has_lost_pages(const Keeper *keeper);

/* ---- keeper_gate.c ---- */

/* Forgets refused starts whose unit has ended by the last look, or that were refused some time ago and run anyway. */
void keeper_forget_refused(Keeper *keeper, uint64_t now_usec);

/* ---- keeper_judge.c ---- */

/* keeper_judge() by the counts and units of SEEN; NULL: by fresh ones. */
Status *keeper_judge_by(const Keeper *keeper, Arena *arena, bool is_retrying, const Look *seen);

/* ---- keeper_record.c ---- */

/* Stores the ledger. What could not be stored is tried again at the next look; nobody waits for it. */
void keeper_save(Keeper *keeper);
void keeper_add_save_error(const Keeper *keeper, Diags *problems);

/* Whether the ledger equals the file that the first look has read and planned from. */
bool keeper_is_as_stored(const Keeper *keeper);

/* Stores what is about to be written, so that a daemon that is killed meanwhile recognizes its own pages. */
void keeper_record_intent(Keeper *keeper, uint64_t now_usec);

/* Records what was read back after a write. Returns whether it differs from the intent. */
bool keeper_record_result(Ledger *ledger, const ApplyResult *result);

/* Records surplus pages of PAGE_SIZE_BYTES (0: none) that became persistent as reserved by hugeplan, which may give
 * them back. Returns whether there are any. */
bool keeper_adopt_surplus(const Keeper *keeper, uint64_t page_size_bytes);

/* Records at the end of a round what each instance has (maybe less than intended), and which instances are ready. */
void keeper_record_outcome(Keeper *keeper);

/* Forgets repairs that are too long ago for their pages to appear on other nodes. */
void keeper_forget_old_restores(const Keeper *keeper, uint64_t now_usec);

/* Sets transparent huge pages and the kernel's limits. */
void keeper_set_host(Keeper *keeper, const HostPlan *plan);
/* Restores the settings from before a reload. */
void keeper_undo_host(Keeper *keeper);

/* If instances have pages of the default size, keeps systemd-sysctl from moving them (apply/host_apply.h). */
void keeper_guard_pool(const Keeper *keeper);

/* ---- keeper_part.c ---- */

/* Takes unmapped pages of parts that are needed elsewhere, and looks again. Returns whether pages were taken; the
 * keeper's fault is set if the look failed. */
bool keeper_take_parts(Keeper *keeper);

/* Sets the hugetlb limit of the control group GROUP to COUNT. Returns false if that is not possible. */
bool keeper_limit_group(const Keeper *keeper, Arena *arena, const char *group,
                        const PageCount *count);

/* An instance that is more important than PLANNED and short of pages on its nodes; NULL: there is none. */
const PlanInstance *keeper_find_short_before(const Plan *plan, const PlanInstance *planned);

/* ---- keeper_seen.c ---- */

/* Forgets the count of UNIT, which is starting. */
void keeper_forget_count(Keeper *keeper, const char *unit);

/* Takes the counts of running units by the last look; see keeper_count(). Sets *RET_HAS_CHANGED if a figure changes or
 * pages are to be given back. */
LearnedNewsList keeper_take_counts(Keeper *keeper, Arena *arena, const Config *files,
                                   uint64_t now_usec, bool *ret_has_changed);

bool keeper_is_later_than_file(const Figure *figure, const PageCounts *pages);
/* Adds FIGURE of INSTANCE, a name in ASKED's configuration, in place of an earlier one. */
void keeper_add_found(Asked *asked, const char *instance, const Figure *figure);
/* Sets the size of the instance that FILE has to COUNT. */
void keeper_set_found(Keeper *keeper, const InstanceConfig *file, const PageCount *count);

/* ---- keeper_reload.c ---- */

/* Starts a reload. Returns KEEPER_RELOAD_BEGUN if a round is to begin with the new configuration; otherwise nothing has
 * changed. IS_FORCED: even if instances lose their pages. */
KeeperReload keeper_reload_try(Keeper *keeper, bool is_forced);

/* Decides on a running reload at the end of a round. Returns true if another round is to begin. */
bool keeper_reload_continue(Keeper *keeper);

/* Rolls a reload back that is not in effect yet, because the host can no longer be read. */
void keeper_reload_break_off(Keeper *keeper);
