/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "model/topology.h"

#include "support/testing.h"

static void test_rescue(void **state) {
        static const char *const rescues[] = {"rescue",
                                              "emergency",
                                              "single",
                                              "s",
                                              "S",
                                              "1",
                                              "-b",
                                              "systemd.unit=rescue.target",
                                              "systemd.unit=emergency.target"};
        static const char *const others[] = {
                "", "ro quiet", "singlemode", "systemd.unit=multi-user.target", "a=1", "3"};

        for (size_t i = 0; i < ARRAY_LEN(rescues); i++) {
                assert_true(kernel_command_line_is_rescue(rescues[i]));
                assert_true(kernel_command_line_is_rescue(
                        arena_printf(*state, "root=/dev/vda1 %s quiet", rescues[i])));
        }
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
                assert_false(kernel_command_line_is_rescue(others[i]));
}

int main(void) {
        const struct CMUnitTest tests[] = {TEST(test_rescue)};

        return RUN_TESTS(tests);
}
