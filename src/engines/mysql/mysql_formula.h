/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shared by the formulas of MariaDB and MySQL. */

#include "engines/parameters.h"

/* Up to 8.0.26 os_mem_alloc_large() of os0proc.cc makes each chunk a System V segment; later large_page_alloc-linux.h
 * makes it a mapping. */
#define MYSQL_MAPS_SINCE VERSION(8, 0, 27)

/* Refuses versions whose key buffers take segments, too. WHO is "MySQL up to 5.7". */
static inline const char *refuse_segments(Arena *arena, const Setting *version, const char *who) {
        return setting_refuse(
                arena, version,
                "%s takes System V segments, which this rule does not know; write "
                "SharedMemory=sysv and Pages=: for each chunk of 128M 66 pages of 2M, "
                "and the key buffer",
                who);
}
