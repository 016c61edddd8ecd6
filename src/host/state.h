/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What hugeplan itself keeps on the host: the ledger of this boot in /run, the boot guard on the root file system, which
 * is the only one that early boot has, and learned sizes beside the configuration. */

#include "demand/learned.h"
#include "host/root.h"
#include "plan/boot_guard.h"
#include "plan/ledger.h"

/* ---- /run/hugeplan/ledger ---- */

/* Returns the ledger of this boot. If it is missing, broken or of another boot, a new one is returned; *RET_TEXT says
 * what is lost by that, or by the version of the file (NULL if nothing: the ledger was read, or this is the first start
 * in this boot). */
Ledger *state_load(const Root *root, Arena *arena, const char *boot_id, const char **ret_text);

/* Writes the ledger atomically; returns a negative errno on failure. */
int state_save(const Root *root, const Ledger *ledger);

/* ---- the boot guard ---- */

/* Returns the guard on disk, or an open one if there is none. */
BootGuard *boot_guard_load(const Root *root, Arena *arena);

/* Loads the guard for a decision on the whole boot, or before it is saved: returns a negative errno (and sets ROOT's
 * fault) if the files cannot be read after several tries. */
int boot_guard_try_load(const Root *root, Arena *arena, BootGuard **ret);

/* Both write to disk; negative errno on failure. The count needs no space on a disk that holds one already. */
int boot_count_save(const Root *root, Arena *arena, const BootGuard *guard);
int boot_proven_save(const Root *root, Arena *arena, const BootGuard *guard);

/* ---- NAME.conf.d/90-learned.conf: what is known of an instance from its starts, for the next boot ---- */

typedef struct LearnedFile {
        const char *path, *text;
} LearnedFile;

/* Returns the file, to be written by root_store_file(), in ARENA. */
LearnedFile learned_file(Arena *arena, const InstanceConfig *instance, const Learned *learned);
