/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The keeper's own values, for the files keeper*.c only. */

#include "keeper/keeper.h"

/* A configuration, and what gates have found out for it since. */
typedef struct Asked {
        Arena *arena; /* everything here lives in it, to the next reload */
        const Config *config;
        Figures found;
} Asked;

/* Where a reload stands. Until it is settled, it may yet be taken back. */
typedef enum ReloadStage {
        RELOAD_NONE,
        RELOAD_TRYING,   /* with everything kept that instances had before, as far as memory goes */
        RELOAD_SETTLING, /* it is in effect; what was kept is given back */
        RELOAD_TAKING_BACK, /* it is not; what was tried is given back */
} ReloadStage;

typedef struct Reload {
        Arena *arena; /* of all here; from one reload to the next */
        ReloadStage stage;
        KeeperReload state;
        bool is_forced;
        Asked before;      /* to go back to, */
        Arena *look_arena; /* with the look by it, for the host may be unreadable then; NULL: none */
        Look *look;
        const Ledger *ledger; /* as it was then */
        const Status *status;
        HostWrites undo; /* sets back what was set besides the pools; `before`: what it was set to */
        Diags problems;
} Reload;

/* What a round has done to a pool. */
typedef struct PoolMove {
        unsigned node;
        uint64_t page_size_bytes;
        bool has_begun;
        bool is_lowered; /* by others, and no round has begun since: below so many */
        uint64_t lowered_pages;
        uint64_t lost_pages;   /* to which it is to be repaired; 0: others have not lowered it */
        uint64_t from_pages;   /* persistent, before the round */
        uint64_t pages;        /* now */
        uint64_t best_pages;   /* the most that it had in between */
        uint64_t wanted_pages; /* to which it was to be raised; 0: it was not */
        unsigned n_tries[ESCALATION_DONE]; /* by action */
        uint64_t usec;
        int error;                                   /* the last; 0: none */
        uint64_t told_wanted_pages, told_best_pages; /* of the shortage that was told last */
} PoolMove;

/* What the kernel counts for a unit that runs: what it has mapped, of all page sizes together. */
typedef struct Counted {
        const char *unit;
        uint64_t bytes;
        uint64_t since_usec; /* when it was seen to be that first */
        bool is_at_rest;     /* it has stayed that */
} Counted;

struct Keeper {
        const Root *root;
        KeeperListener listener;
        void *userdata;

        Asked asked;
        Arena *look_arena;
        Look *look;       /* with the ledger, which changes between two looks */
        bool is_look_new; /* it is the end of a round, which has not been judged */

        /* The round under way, or the last one. */
        Apply *apply; /* NULL: none is under way */
        Arena *round_arena;
        PoolLimits limits; /* what trying has shown */
        Attempts attempts; /* of the last round that did anything; in attempts_arena */
        Arena *attempts_arena;
        unsigned n_passes;
        bool is_another_wanted;
        bool is_hurried;
        uint64_t attempts_until_usec;
        const Topology *before; /* when the last call for a change began; in before_arena */
        Arena *before_arena;

        /* The last look, or the configuration at the start, could not be read: what was known before
         * stands, nothing is written, and it is tried again. In fault_arena; error 0: none. */
        ReadFault fault;
        Arena *fault_arena;
        bool has_started; /* everything was read once: there is something to stand by */
        unsigned n_starts;
        bool is_held_back; /* rescue mode: nothing was reserved */
        /* A round has ended: what is otherwise after it, others have done. Before that, a keeper that was
         * killed may have left its work undone. */
        bool has_settled;
        bool is_drift_left; /* it was told, and no round has begun since */
        uint64_t host_written_usec;
        uint64_t restored_usec; /* when what others had taken was put back last */
        Reload reload;
        const Diags *
                rejected; /* mistakes that a reload found on disk, or why it was refused; NULL: none */
        Arena *starting_arena;
        PlanStartings starting;
        uint64_t refused_usec; /* when those of them that were refused were looked at first; 0: not yet */
        bool is_start_unplanned; /* some of them have begun since the last plan was made */
        bool is_unsaved; /* the ledger has what was seen, or gates were answered, and the disk has not */
        Arena *told_arena; /* drifts that were told, and are so still */
        SourceNames told;
        Arena *moves_arena;
        VEC(PoolMove) moves; /* each pool that was ever written to, or lowered by others, once */
        Arena *counted_arena;
        VEC(Counted) counted;
};

/* Who was refused a while ago, and runs all the same, does not start any more: keeper_gate.c. */
void keeper_forget_refused(Keeper *keeper, uint64_t now_usec);

void keeper_tell(const Keeper *keeper, int level, const char *id, const char *text);
void keeper_tell_diag(const Keeper *keeper, const Diag *diag);

/* ---- what was done: keeper_history.c ---- */

/* A round begins, which is to bring back what others have taken. */
void keeper_begin_moves(Keeper *keeper);
void keeper_note_move(Keeper *keeper, const ApplyResult *result);
/* At the end of a round. */
void keeper_tell_moves(Keeper *keeper);
/* Others have taken a pool, or pages of it. */
void keeper_note_lowered(Keeper *keeper, const Drift *drift);
/* Whether that is so, the pool has not come back, and no round has begun. */
bool keeper_is_anything_lost(const Keeper *keeper);

/* Whose gate was answered; REFUSAL: why it may not start, NULL: it may. */
void keeper_tell_start(Keeper *keeper, const PlanInstance *planned, const Reason *refusal);

/* UNIT has been let start: what was counted for it is over. */
void keeper_begin_count(Keeper *keeper, const char *unit);

/* What INSTANCE, a name of the configuration in force, needs by what was found out since that was read. */
void keeper_set_found(Keeper *keeper, const char *instance, const PageCount *count);

void keeper_tell_learned(Keeper *keeper, const char *instance, const PageCount *count,
                         uint64_t pages_before);

/* ---- looks: keeper_look.c ---- */

/* What a look could not read, or that all can be read again: told once, and kept in keeper->fault. */
void keeper_note_fault(Keeper *keeper, const ReadFault *fault);

/* Takes the place of what the keeper knew, unless it has a fault, which is told: false. LOOK is in ARENA,
 * which is taken. */
bool keeper_adopt(Keeper *keeper, Arena *arena, Look *look);

/* A look as plans are made from, in ARENA. Where it took the reserve of memory (base/memory.h) it has a
 * fault: it would keep that for as long as it stands, and what follows from it takes more. */
Look *keeper_make_look(const Keeper *keeper, Arena *arena);

/* Looks anew, as plans are made from now on; false: it cannot be read, and the last look stands. */
bool keeper_look_anew(Keeper *keeper);

/* Reads again what a start could not read; false: nor could this. */
bool keeper_finish_start(Keeper *keeper);

LookInput keeper_look_input(const Keeper *keeper);

/* What is true by the counts and units of SEEN, which stand; NULL: by fresh ones. In ARENA. */
Status *keeper_judge_seen(const Keeper *keeper, Arena *arena, const Look *seen);

/* Takes what nobody has mapped of parts for those who miss it, and looks anew: keeper_part.c. Whether it has; then
 * keeper->fault says whether that look could be made. */
bool keeper_take_parts(Keeper *keeper);

/* Keeps the control group GROUP of a unit to COUNT from now on; false: it cannot be kept to that. */
bool keeper_limit_group(const Keeper *keeper, Arena *arena, const char *group,
                        const PageCount *count);

/* Who is more important than PLANNED, which has a part, and short; NULL: nobody. */
const PlanInstance *keeper_find_short_before(const Plan *plan, const PlanInstance *planned);

/* ---- the ledger: keeper_record.c ---- */

void keeper_save(Keeper *keeper);

/* Whether the ledger is, to the last detail, what the first look has read from its file and made the plan from. */
bool keeper_is_as_stored(const Keeper *keeper);

/* What is about to be written stands in the ledger first: a daemon that is killed in between finds its own
 * pages again and does not take them for another's. */
void keeper_record_intent(Keeper *keeper, uint64_t now_usec);

/* What was read back; whether it is another thing than was intended. */
bool keeper_record_result(Ledger *ledger, const ApplyResult *result);

/* Surplus pages that were made persistent are ours to give back: nobody has set them there. 0: of no size. Whether
 * there were any. */
bool keeper_record_straightening(const Keeper *keeper, uint64_t page_size_bytes);

/* What the instances have in the end may be less than was intended; only then it is known who has all that
 * he wants. */
void keeper_record_outcome(Keeper *keeper);

/* Pages that were put back long ago turn up nowhere else any more. */
void keeper_forget_old_restores(const Keeper *keeper, uint64_t now_usec);

/* ---- drift and what is written besides ---- */

/* Looks anew, and says what others have changed since the host was left; what they have moved between
 * nodes is to be repaired, too. How many there are to repair; keeper->fault says whether that could be seen. */
size_t keeper_look_for_drift(Keeper *keeper);

/* The same of a LOOK that was made already. */
size_t keeper_note_drift(Keeper *keeper, const Look *look);

/* By the last look: what has been repaired is told again when it comes again. */
void keeper_forget_drift(Keeper *keeper);

/* Transparent huge pages and the kernel's limits. */
void keeper_set_host(Keeper *keeper, const HostPlan *plan);
/* A reload is taken back: what both have set for it is as it was before. */
void keeper_undo_host(Keeper *keeper);

/* Where instances have pages of the default size, keeps systemd-sysctl from moving them. */
void keeper_guard_pool(const Keeper *keeper);

/* Notes what the pools hold, for keeper_pool_changes(). */
ReadFault keeper_note_before(Keeper *keeper);

/* The end of a round, for a reload under way; true: another round has begun. */
bool keeper_reload_continue(Keeper *keeper, uint64_t now_usec);

/* The host cannot be read any more: a reload that is not in effect yet is taken back. */
void keeper_reload_break_off(Keeper *keeper);
