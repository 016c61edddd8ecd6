/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/charges.h"

#include "base/size.h"
#include "support/testing.h"

TEST(find) {
        const Running running =
                running_make(arena, "unit a.service 2M=5/0:5\nunit b.service 1G=1\n");

        assert_text(unit_use_find(&running.use, "b.service")->unit, "b.service");
        assert_null(unit_use_find(&running.use, "c.service"));
        assert_int_equal(
                unit_use_charge(unit_use_find(&running.use, "a.service"), 2 * MIB)->reserved_pages,
                5);
        assert_null(unit_use_charge(unit_use_find(&running.use, "a.service"), GIB));
}

/* A known unit may not run; an instance without a unit never runs. */
TEST(is_running) {
        Running running = running_make(arena, "unit a.service\nunit b.service\n");

        running.use.units.items[1].is_running = false;
        assert_true(unit_use_is_running(&running.use, "a.service"));
        assert_false(unit_use_is_running(&running.use, "b.service"));
        assert_false(unit_use_is_running(&running.use, "c.service"));
        assert_false(unit_use_is_running(&running.use, NULL));
}

/* Earmarked pages are reserved until a file uses them. Without size= the kernel does not count the files: pages that
 * are no longer reserved must be in them. */
TEST(mount_use) {
        static const struct {
                uint64_t earmarked, used, reserved, expected;
        } cases[] = {
                {100, 0, 100, 0},  {100, 40, 60, 40},  {100, 40, 200, 40}, {100, 0, 60, 40},
                {100, 10, 60, 40}, {100, 140, 0, 140}, {0, 30, 0, 30},     {0, 0, 0, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const MountUse mount = {.page_size_bytes = 2 * MIB,
                                        .earmarked_pages = cases[i].earmarked,
                                        .used_pages = cases[i].used};

                assert_int_equal(mount_use_file_pages(&mount, cases[i].reserved),
                                 cases[i].expected);
        }
}
