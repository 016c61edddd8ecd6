/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How often files of a host are looked for. */

#include "host/host_sources.h"
#include "read/unit_file.h"
#include "support/testing.h"
#include "support/tree.h"

#define ETC "/etc/systemd/system/"

static const char *user_of(const Tree *tree, const HostSources *sources, const char *unit) {
        return unit_file_value(unit_file_read(tree->arena, &sources->sources, unit), "Service",
                               "User");
}

/* Directories of units are listed once, and only names in them are opened. */
TREE_TEST(listed_once) {
        HostSources first = host_sources(tree->root, tree->arena);

        tree_write(tree, ETC "a.service", "[Service]\nUser=a\n");
        assert_text(user_of(tree, &first, "a.service"), "a");
        tree_write(tree, ETC "b.service", "[Service]\nUser=b\n");
        tree_write(tree, ETC "a.service.d/x.conf", "[Service]\nUser=x\n");
        assert_text(user_of(tree, &first, "b.service"), NULL);
        assert_text(user_of(tree, &first, "a.service"), "a");
        HostSources second = host_sources(tree->root, tree->arena);

        assert_text(user_of(tree, &second, "b.service"), "b");
        assert_text(user_of(tree, &second, "a.service"), "x");
}
