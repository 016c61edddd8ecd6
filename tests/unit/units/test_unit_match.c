/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether units start the servers of their instances, and which units were probably meant. */

#include "support/testing.h"
#include "units/loaded_unit.h"

/* Of a file with a mistake only the unit is known. */
TEST(refused) {
        const Config *config = config_make(arena, "20-a.conf",
                                           "[Instance]\nUnit=x.service\nPages=z\n", "30-b.conf",
                                           "[Instance]\nUnit=x.service\nMemory=1G\n", NULL);
        const LoadedUnits units = {};
        Diags problems = diags_in(arena);

        unit_match_judge(arena,
                         &(LoadedUnitInput){.config = config,
                                            .plan = plan_simple(arena, config,
                                                                host_make(arena, "sizes 2M\nnode 0 "
                                                                                 "total=64G\n"))},
                         &units, &problems);
        assert_int_equal(problems.list.n, 0);
}
