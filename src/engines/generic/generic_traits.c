/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

const Engine engine_generic = {
        .name = "generic",
        .title = "a program of your own",
        .thp_preference = THP_AUTO,
        .reserves = true,
        .has_auto_by_looking = true,
};
