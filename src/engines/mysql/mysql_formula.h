/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What the formulas of MariaDB and MySQL share. */

#include "engines/parameters.h"

/* Of versions before both took to mmap(2): WHO is "MySQL up to 5.7". */
static inline const char *refuse_segments(Arena *arena, const Setting *version, const char *who) {
        return setting_refuse(
                arena, version,
                "%s takes System V segments, which this rule does not know; write "
                "SharedMemory=sysv and Pages=: for each chunk of 128M 66 pages of 2M, "
                "and the key buffer",
                who);
}
