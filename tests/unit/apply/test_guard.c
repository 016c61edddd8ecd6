/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The guard against systemd-sysctl on disk. */

#include "apply/host_apply.h"
#include "host/state.h"
#include "support/testing.h"

#include "model/names.h"
#include "support/tree.h"

#include <sys/stat.h>

TREE_TEST(written_and_removed) {
        assert_int_equal(guard_write(tree->root, 300), 0);
        assert_contains(tree_read(tree, PATH_SYSCTL_GUARD), "300");
        assert_int_equal(guard_write(tree->root, 400), 0);
        assert_null(strstr(tree_read(tree, PATH_SYSCTL_GUARD), "300"));
        assert_int_equal(guard_remove(tree->root), 0);
        assert_null(tree_read(tree, PATH_SYSCTL_GUARD));
        assert_int_equal(guard_remove(tree->root), 0); /* there is none to remove */
}

/* The file is world-readable, and only root can change it. */
TREE_TEST(mode) {
        struct stat st;

        assert_int_equal(guard_write(tree->root, 300), 0);
        assert_int_equal(stat(tree_path(tree, PATH_SYSCTL_GUARD), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0644);
}

/* An unchanged file keeps its modification time. */
TREE_TEST(not_written_again) {
        guard_write(tree->root, 300);
        const char *before = root_identity(tree->root, tree->arena, PATH_SYSCTL_GUARD);

        assert_int_equal(guard_write(tree->root, 300), 0);
        assert_text(root_identity(tree->root, tree->arena, PATH_SYSCTL_GUARD), before);
}

/* Nor do proven pages, beside which the configuration is: it would be read again. */
TREE_TEST(proven_not_written_again) {
        Ledger *proven = ledger_new(tree->arena, "");
        const BootGuard guard = {.boot_id = "", .proven = proven};
        LedgerInstance *instance = vec_push(tree->arena, &proven->instances);

        *instance = (LedgerInstance){.name = "pg", .page_size_bytes = 2 * MIB};
        pages_add_on(tree->arena, &instance->grants, 0, 100);
        assert_int_equal(boot_proven_save(tree->root, tree->arena, &guard), 0);
        const char *before = root_identity(tree->root, tree->arena, PATH_BOOT_PROVEN);

        assert_int_equal(boot_proven_save(tree->root, tree->arena, &guard), 0);
        assert_text(root_identity(tree->root, tree->arena, PATH_BOOT_PROVEN), before);
        instance->grants.items[0].pages = 99;
        assert_int_equal(boot_proven_save(tree->root, tree->arena, &guard), 0);
        assert_string_not_equal(root_identity(tree->root, tree->arena, PATH_BOOT_PROVEN), before);
        const Ledger *read = boot_guard_load(tree->root, tree->arena)->proven;

        assert_int_equal(ledger_granted_pages(ledger_instance(read, "pg")), 99);
}

/* A longer count of boots is another version's, and they are counted anew, or was changed. */
TREE_TEST(count_of_other_size) {
        tree_write(tree, PATH_BOOT_COUNT, arena_printf(tree->arena, "%600s", "x"));
        assert_int_equal(boot_guard_load(tree->root, tree->arena)->failed_boots,
                         BOOT_GUARD_FAILURES);
        tree_write(tree, PATH_BOOT_COUNT, arena_printf(tree->arena, "boots 4 %600s", "x"));
        assert_int_equal(boot_guard_load(tree->root, tree->arena)->failed_boots, 0);
}

/* A failure to remove the file is reported, because the file would apply at the next boot. */
TREE_TEST(not_removed) {
        tree_mkdir(tree, PATH_SYSCTL_GUARD);
        assert_int_equal(guard_remove(tree->root), -EISDIR);
}
