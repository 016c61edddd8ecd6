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
#include "keeper/keeper_gate.h"
#include "keeper/keeper_judge.h"
#include "keeper/keeper_look.h"
#include "keeper/keeper_reload.h"
#include "keeper/notes/events.h"

/* ROOT must outlive the keeper. The keeper reports events to LISTENER during the calls below. */
Keeper *keeper_new(const Root *root, KeeperListener listener, void *userdata);
Keeper *keeper_free(Keeper *keeper); /* takes NULL; returns NULL */

/* ---- rounds ---- */

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

const Config *keeper_config(const Keeper *keeper);
const Look *keeper_look(const Keeper *keeper);   /* the last look, with its plan and ledger */
const Apply *keeper_apply(const Keeper *keeper); /* of the running round; NULL: none */

/* The units whose control groups are to be watched: their pages become free when they stop. */
SourceNames keeper_units(const Keeper *keeper, Arena *arena);

/* Rescue mode: reserve nothing before a reload or the start of a database unit. */
void keeper_hold_back(Keeper *keeper);
bool keeper_is_held_back(const Keeper *keeper);

/* ---- changes ---- */

/* Reads the configuration again. A reload is a transaction: it takes effect as a whole or not at all. IS_FORCED: even
 * if instances lose their pages. Must not be called while a round is running. */
KeeperReload keeper_reload(Keeper *keeper, bool is_forced, uint64_t now_usec);

/* Gives the pages of INSTANCE back until the next reload or the next start of its unit. Begins a round. */
void keeper_release(Keeper *keeper, const char *instance, uint64_t now_usec);

/* Sets the size of INSTANCE, which has Memory=auto, to PAGES. Begins a round if the plan has another size. Returns
 * false if there is nothing to do. */
bool keeper_grow(Keeper *keeper, const InstanceConfig *instance, const PageCounts *pages,
                 uint64_t now_usec);

/* Records what running units have mapped according to the last look; a count that no longer changes is taken as the
 * unit's size. FILES is the configuration on disk. Returns the figures to be stored, allocated in ARENA; they refer to
 * FILES. Begins a round if a figure changes or pages can be given back. */
LearnedNewsList keeper_count(Keeper *keeper, Arena *arena, const Config *files, uint64_t now_usec);

/* Whether the count of a running unit is still changing; IS_EARLY: or has not begun. */
bool keeper_is_counting(const Keeper *keeper, bool is_early);
