/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* With which database who looks at it goes. */

#include "support/testing.h"
#include "units/asker.h"

/* Who looks goes with the unit, and is stopped before it. */
static void test_who_is_looked_at(void **state) {
        const Config *config = config_make(
                *state, "a.conf", "[Instance]\nPages=1\nUnit=db@15\\x2dmain.service\n", "b.conf",
                "[Instance]\nPages=1\n", "c.conf", "[Instance]\nPages=0\nUnit=c.service\n",
                "d.conf", "[Instance]\nEngine=mongodb\nUnit=d.service\n", NULL);
        const Dropins dropins = lookers_make(*state, config);

        assert_int_equal(dropins.n, 1);
        assert_text(dropins.items[0].unit, "hugeplan-look@a.service");
        assert_contains(dropins.items[0].text, "\n[Unit]\nBindsTo=db@15\\x2dmain.service\n"
                                               "After=db@15\\x2dmain.service\n");
}

TEST_FILE(asker) {
        const struct CMUnitTest tests[] = {
                TEST(test_who_is_looked_at),
        };

        return RUN_TESTS(tests);
}
