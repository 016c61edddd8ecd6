/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

/* Transparent huge pages: off up to 19c; from 21c on UEK7 the documentation wants madvise "and not disable". The
 * version is not known here, so the older and more common one is assumed; newer instances need
 * TransparentHugePages=madvise. No unit is common to all installations. */
const Engine engine_oracle = {
        .name = "oracle",
        .title = "Oracle Database",
        .default_user = "oracle",
        .uses_sysv = true,
        .thp_preference = THP_NEVER,
        .reserves = true,
        .memory_setting = "sga_max_size",
        .mebibyte_suffix = "M",
        .has_auto = true,
        .maps_all_at_start = true,
        .programs = "dbstart* dbora* *oracle* srvctl* ohasd* sqlplus* oratab* gcstartup*",
        .supervisors = "dbstart",
        .units = "*ora*.service *db*.service",
};
