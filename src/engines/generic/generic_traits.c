/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

/* Any program that maps a known amount of memory with huge pages: a virtual machine, DPDK, Informix. The user gives the
 * amount. */
const Engine engine_generic = {
        .name = "generic",
        .title = "a program of your own",
        .thp_preference = THP_AUTO,
        .reserves = true,
        .has_auto_by_looking = true,
};
