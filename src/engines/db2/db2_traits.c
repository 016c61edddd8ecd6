/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

/* Read, not measured. `db2set DB2_LARGE_PAGE_MEM=DB` puts database memory on large pages ("Performance variables" and
 * "Enabling large page support" in IBM's documentation of Db2 11.5; HammerDB's manual sets it so); Db2's memory sets
 * are System V segments (ipcs -m; "Kernel parameter requirements (Linux)": SHMMAX, SHMALL). The usual owner is
 * db2inst1; the server is db2sysc, which db2start or db2fmcd starts, from a unit of any name. No advice of IBM's on
 * transparent huge pages was found. */
const Engine engine_db2 = {
        .name = "db2",
        .title = "Db2",
        .default_user = "db2inst1",
        .uses_sysv = true,
        .thp_preference = THP_AUTO,
        .reserves = true,
        .has_auto_by_looking = true,
        .programs = "db2* su runuser",
        .units = "*db2*.service",
};
