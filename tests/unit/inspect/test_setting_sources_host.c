/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Places of settings, hugeplan's guard against them, and the boot loader of a host. */

#include "apply/host_apply.h"
#include "inspect/boot_loader.h"
#include "inspect/setting_sources.h"
#include "support/tree_story.h"

#include <sys/stat.h>

/* All entries, one per line; "!" before one that is overruled. */
static char *find_text(const Tree *tree) {
        const SettingSources *setting_sources = setting_sources_find(
                tree->root, tree->arena,
                host_make(tree->arena, "sizes 1G 2M\nnode 0 total=64G free=60G\nthp never\n"));
        Text text = text_in(tree->arena);

        VEC_FOREACH(entry, &setting_sources->list)
                text_printf(&text, "%s%s\n", entry->is_effective ? "" : "!",
                            setting_source_format(tree->arena, entry));
        return arena_strdup(tree->arena, text_string(&text));
}

TREE_TEST(guard) {
        const char *path = "/run/sysctl.d/zz-hugeplan.conf";
        struct stat before, after;

        tree_write(tree, "/etc/sysctl.d/99-db.conf", "vm.nr_hugepages=20\n");
        assert_int_equal(guard_remove(tree->root), 0);
        assert_int_equal(guard_write(tree->root, 50), 0);
        assert_contains(tree_read(tree, path), "\nvm.nr_hugepages = 50\n");
        /* The guard is no source of a setting, and masks none. */
        assert_text(find_text(tree), "vm.nr_hugepages=20 in /etc/sysctl.d/99-db.conf:1\n");
        /* Writing the same again does nothing. */
        assert_int_equal(stat(tree_path(tree, path), &before), 0);
        assert_int_equal(before.st_mode & 0777, 0644);
        assert_int_equal(guard_write(tree->root, 50), 0);
        assert_int_equal(stat(tree_path(tree, path), &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(guard_write(tree->root, 51), 0);
        assert_contains(tree_read(tree, path), "\nvm.nr_hugepages = 51\n");
        assert_int_equal(guard_remove(tree->root), 0);
        assert_null(tree_read(tree, path));
}

TREE_TEST(endless_chain_of_profiles) {
        for (int i = 0; i < 60; i++)
                tree_write(tree, arena_printf(tree->arena, "/etc/tuned/p%d/tuned.conf", i),
                           arena_printf(tree->arena,
                                        "[main]\ninclude=p%d\n[sysctl]\nvm.nr_hugepages=1\n",
                                        i + 1));
        tree_write(tree, "/etc/tuned/active_profile", "p0");
        assert_contains(find_text(tree), "/etc/tuned/p0/");
        assert_null(strstr(find_text(tree), "/etc/tuned/p40/"));
}

/* A file that is too large, and one with NUL bytes, are skipped. */
TREE_TEST(hostile_files) {
        Text large = text_in(tree->arena);

        tree_write(tree, "/etc/sysctl.d/50-good.conf", "vm.nr_hugepages=1\n");
        text_repeat(&large, '#', 300 * 1024);
        text_add(&large, "\nvm.nr_hugepages=9\n");
        tree_write(tree, "/etc/sysctl.d/13-large.conf", large.string);
        tree_write_bytes(tree, "/etc/sysctl.d/14-nul.conf", "\0\0vm.nr_hugepages=2\0x", 22);
        assert_text(find_text(tree), "vm.nr_hugepages=1 in /etc/sysctl.d/50-good.conf:1\n");
}

/* ---- stories ---- */

TREE_VERB(do_sources, "sources") {
        return find_text(story->tree);
}

/* "NAME; PLACE; COMMAND" */
TREE_VERB(do_loader, "loader") {
        const BootLoader loader = boot_loader_find(story->tree->root, line->arena);

        return arena_printf(line->arena, "%s; %s; %s", boot_loader_names[loader.kind].name,
                            loader.place ? loader.place : "-",
                            loader.command ? loader.command : "-");
}

STORY_TEST(stories, "unit/inspect/setting_sources", TREE_TELLER)
