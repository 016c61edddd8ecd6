/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "apply/apply.h"
#include "keeper/keeper_call.h"

void keeper_save(Keeper *keeper);

/* Whether the ledger equals the file that the first look has read and planned from. */
bool keeper_is_as_stored(const Keeper *keeper);

/* Stores what is about to be written, so that a daemon that is killed meanwhile recognizes its own pages. */
void keeper_record_intent(Keeper *keeper, uint64_t now_usec);

/* Records what was read back after a write. Returns whether it differs from the intent. */
bool keeper_record_result(Ledger *ledger, const ApplyResult *result);

/* Records surplus pages of PAGE_SIZE_BYTES (0: none) that became persistent as reserved by hugeplan, which may give
 * them back. Returns whether there are any. */
bool keeper_adopt_surplus(const Keeper *keeper, uint64_t page_size_bytes);

/* Records at the end of a round what each instance has, which may be less than intended, and which instances are
 * ready. */
void keeper_record_outcome(Keeper *keeper);

/* Forgets repairs that are too long ago for their pages to appear on other nodes. */
void keeper_forget_old_restores(const Keeper *keeper, uint64_t now_usec);

/* ---- besides the pools ---- */

/* Sets transparent huge pages and the kernel's limits. */
void keeper_set_host(Keeper *keeper, const HostPlan *plan);
/* Restores the settings from before a reload. */
void keeper_undo_host(Keeper *keeper);

/* If instances have pages of the default size, keeps systemd-sysctl from moving them (apply/host_apply.h). */
void keeper_guard_pool(const Keeper *keeper);
