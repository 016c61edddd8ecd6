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
#include "keeper/keeper_gate.h"
#include "keeper/keeper_judge.h"
#include "keeper/keeper_look.h"
#include "keeper/keeper_reload.h"
#include "keeper/notes/tell.h"

/* ROOT must outlive it. LISTENER is told within the calls below. */
Keeper *keeper_new(const Root *root, KeeperListener listener, void *userdata);
Keeper *keeper_free(Keeper *keeper); /* takes NULL; returns NULL */

/* ---- rounds ---- */

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

/* The units whose control groups are to be watched: when they stop, their pages are free. */
SourceNames keeper_units(const Keeper *keeper, Arena *arena);

/* In a rescue shell memory is for the administrator: nothing is reserved before somebody asks. */
void keeper_hold_back(Keeper *keeper);
bool keeper_is_held_back(const Keeper *keeper);

/* ---- changes ---- */

/* Reads the configuration anew. A reload is a transaction: either all of it comes into effect, or
 * nothing changes. IS_FORCED: even if an instance that stands would fall. Not while a round is under
 * way. */
KeeperReload keeper_reload(Keeper *keeper, bool is_forced, uint64_t now_usec);

/* The pages of INSTANCE are not wanted until the next reload or start of its unit. Begins a round. */
void keeper_release(Keeper *keeper, const char *instance, uint64_t now_usec);

/* From now on INSTANCE, whose size is automatic, needs these PAGES. Begins a round where the plan says
 * otherwise; false: there is nothing to do. */
bool keeper_grow(Keeper *keeper, const InstanceConfig *instance, const PageCounts *pages,
                 uint64_t now_usec);

/* Takes note of what units have mapped that run, by the last look: what has come to rest is what they take. FILES: the
 * configuration as it is on disk now; what is returned refers to it, and is in ARENA. Begins a round where that makes a
 * figure another one, or has something given back. */
LearnedNewsList keeper_count(Keeper *keeper, Arena *arena, const Config *files, uint64_t now_usec);

/* Whether the count of a unit that runs has yet to come to rest; IS_EARLY: or has yet to begin. */
bool keeper_is_counting(const Keeper *keeper, bool is_early);
