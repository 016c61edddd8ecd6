/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* memlock limits for logins of database owners (PATH_PAM_LIMITS), to which drop-ins of units do not apply. */

#include "daemon/disk.h"
#include "keeper/keeper.h"

typedef struct LoginLimits {
        const Root *root;
        Disk *disk;
        bool is_under_way;
        int error; /* of the last write; logged once */
} LoginLimits;

/* Writes the file, or removes it if no instance needs it; leaves it alone if the configuration or the host could not be
 * read. Called after each round, so that a failed write is tried again. */
void login_limits_follow(LoginLimits *limits, const Keeper *keeper);
