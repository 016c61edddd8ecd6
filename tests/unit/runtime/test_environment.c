/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/macros.h"
#include "runtime/environment.h"
#include "support/testing.h"

TEST(reduce) {
        char lang[] = "LANG=C.UTF-8", path[] = "LD_LIBRARY_PATH=/opt/oracle/lib",
             modules[] = "GCONV_PATH=/tmp", bus[] = "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/tmp/bus",
             longer[] = "LANGUAGE=de", bare[] = "TERM", notify[] = "NOTIFY_SOCKET=@s";
        char *environment[] = {path, lang, modules, bus, longer, bare, notify, NULL};

        environment_reduce(environment);
        assert_ptr_equal(environment[0], lang);
        assert_ptr_equal(environment[1], notify);
        assert_null(environment[2]);
        environment_reduce(environment);
        assert_ptr_equal(environment[1], notify);
        environment[0] = NULL;
        environment_reduce(environment);
        assert_null(environment[0]);
}
