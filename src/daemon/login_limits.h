/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Limits of logins for the owners of databases (PATH_PAM_LIMITS), which no unit's drop-in reaches. */

#include "daemon/disk.h"
#include "keeper/keeper.h"

typedef struct LoginLimits {
        const Root *root;
        Disk *disk;
        bool is_under_way;
        int error; /* of the last write; it is logged once */
} LoginLimits;

/* Has the file written, or removed where no instance needs it, unless something could not be read that decides this.
 * After a round: it is tried again after each, until the file is as the plan has it. */
void login_limits_follow(LoginLimits *limits, const Keeper *keeper);
