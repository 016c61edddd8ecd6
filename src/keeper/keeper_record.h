/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "apply/apply.h"
#include "keeper/keeper_call.h"

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

/* ---- besides the pools ---- */

/* Transparent huge pages and the kernel's limits. */
void keeper_set_host(Keeper *keeper, const HostPlan *plan);
/* A reload is taken back: what both have set for it is as it was before. */
void keeper_undo_host(Keeper *keeper);

/* Where instances have pages of the default size, keeps systemd-sysctl from moving them. */
void keeper_guard_pool(const Keeper *keeper);
