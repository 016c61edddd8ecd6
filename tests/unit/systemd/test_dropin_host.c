/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Gates in the files of a host: present, outdated, removed. */

#include "host/unit_facts.h"
#include "support/testing.h"
#include "support/tree.h"
#include "systemd/dropin_check.h"

#include <fcntl.h>
#include <sys/stat.h>

#define GENERATED "/run/systemd/generator/x@1.service.d/10-hugeplan.conf"
#define ETC       "/etc/systemd/system/"

static const char instance[] = "[Instance]\nPages=1\nUnit=x@1.service\n";

static Dropins dropins_of(const Tree *tree, const char *text) {
        const Config *config = config_make(tree->arena, "a.conf", text, NULL);
        const DropinInput input = dropin_input(tree->root, tree->arena, config, "/bin/hugeplanctl");

        return dropins_make(tree->arena, &input);
}

static const char *check(const Tree *tree, const char *text) {
        const Dropins dropins = dropins_of(tree, text);
        Diags problems = diags_in(tree->arena);

        dropin_check(tree->root, &dropins, &problems);
        return problems_text(tree->arena, &problems);
}

TREE_TEST(check) {
        assert_text(check(tree, instance), ""); /* where systemd does not run */
        tree_mkdir(tree, "/run/systemd/system");
        assert_text(check(tree, instance),
                    GENERATED ": x@1.service does not wait for its pages: its gate is missing; run "
                              "'systemctl daemon-reload'");
        tree_mkdir(tree, "/etc/extension-release.d");
        assert_contains(check(tree, instance), "if an extension brings hugeplan");
        tree_write(tree, GENERATED, dropins_of(tree, instance).items[0].text);
        assert_text(check(tree, instance), "");
        assert_contains(
                check(tree, "[Instance]\nPages=1\nNodes=0\nPlacement=bind\nUnit=x@1.service\n"),
                "the gate of x@1.service is not that of the current configuration");
}

TREE_TEST(check_honours_administrators) {
        static const char *const paths[] = {
                ETC "x@1.service.d/10-hugeplan.conf",
                ETC "x@.service.d/10-hugeplan.conf",
        };

        tree_mkdir(tree, "/run/systemd/system");
        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
                tree_link(tree, "/dev/null", paths[i]);
                assert_text(check(tree, instance), "");
                root_remove(tree->root, paths[i]);
                tree_write(tree, paths[i], "[Service]\n");
                assert_text(check(tree, instance), "");
                root_remove(tree->root, paths[i]);
        }
}

/* It changes when systemd must have reloaded its units, or should. */
TREE_TEST(key) {
        const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
        const SourceNames none = {};
        const SourceNames units =
                dropin_units(tree->arena, config_make(tree->arena, "20-x.conf", instance, NULL));
        const char *keys[5];

        keys[0] = dropin_key(tree->root, tree->arena, &none);
        keys[1] = dropin_key(tree->root, tree->arena, &units);
        tree_mkdir(tree, "/run/systemd/generator");
        keys[2] = dropin_key(tree->root, tree->arena, &units);
        tree_write(tree, ETC "x@1.service.d/zz.conf", "");
        /* The clock of a file system may not advance between two changes. */
        assert_int_equal(utimensat(AT_FDCWD, tree_path(tree, ETC "x@1.service.d"), times, 0), 0);
        keys[3] = dropin_key(tree->root, tree->arena, &units);
        assert_text(dropin_key(tree->root, tree->arena, &units), keys[3]);
        root_remove(tree->root, ETC "x@1.service.d/zz.conf");
        keys[4] = dropin_key(tree->root, tree->arena, &units);
        for (size_t i = 1; i < ARRAY_LEN(keys); i++)
                assert_string_not_equal(keys[i], keys[i - 1]);
}

static void explain(const Tree *tree, LoadedUnit *unit) {
        LoadedUnits units = {};

        *vec_push(tree->arena, &units) = *unit;
        dropin_explain(tree->root, tree->arena, config_make(tree->arena, "a.conf", instance, NULL),
                       &units);
        *unit = units.items[0];
}

TREE_TEST(explain) {
        const char *gate = "/bin/hugeplanctl wait a";
        LoadedUnit unit = {.name = "x@1.service", .load_state = "loaded"}, gated = unit;

        explain(tree, &unit);
        assert_null(unit.override);
        tree_link(tree, "/dev/null", ETC "x@.service.d/10-hugeplan.conf");
        explain(tree, &unit);
        assert_text(unit.override, ETC "x@.service.d/10-hugeplan.conf");

        *vec_push(tree->arena, &gated.pre_starts) = gate;
        explain(tree, &gated); /* nothing to explain */
        assert_null(gated.override);
}
