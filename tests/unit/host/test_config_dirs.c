/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which configuration files are used, and their order: systemd's rules. */

#include "host/config_load.h"
#include "support/testing.h"
#include "support/tree.h"

#include <sys/stat.h>
#include <unistd.h>

/* "PATH[<EXTENDS][!ERROR]=TEXT" per file. */
static char *read_with(const Tree *tree, const char *draft, const char *only, Diags *problems) {
        *problems = diags_in(tree->arena);
        ConfigTrace trace = {};
        const ConfigFiles *files =
                config_dirs_read(tree->root, tree->arena, draft, only, problems, &trace);
        Text text = text_in(tree->arena);

        VEC_FOREACH(file, files) {
                text_printf(&text, "%s", file->path);
                assert_text(strrchr(file->path, '/') + 1, file->name);
                if (file->extends)
                        text_printf(&text, "<%s", file->extends);
                if (file->text)
                        text_printf(&text, "=%s\n", file->text);
                else
                        text_printf(&text, "!%s\n", strerrorname_np(-file->error));
        }
        return arena_strdup(tree->arena, text_string(&text));
}

static char *read_all(const Tree *tree, Diags *problems) {
        return read_with(tree, NULL, NULL, problems);
}

static void assert_files(const Tree *tree, const char *expected) {
        Diags problems;

        assert_text(read_all(tree, &problems), expected);
        assert_text(problems_text(tree->arena, &problems), "");
}

TREE_TEST(no_directories) {
        assert_files(tree, "");
}

TREE_TEST(empty_directory) {
        tree_mkdir(tree, "/etc/hugeplan.d");
        assert_files(tree, "");
}

/* As a gate reads them: for its own instance. */
TREE_TEST(names_of_files) {
        Diags problems;

        tree_write(tree, "/etc/hugeplan.d/20-pg.conf", "1");
        tree_write(tree, "/usr/lib/hugeplan.d/20-pg.conf", "2");
        tree_write(tree, "/usr/lib/hugeplan.d/pg.conf", "3");
        tree_write(tree, "/etc/hugeplan.d/20-pg.conf.d/a.conf", "4");
        tree_write(tree, "/etc/hugeplan.d/20-pg2.conf", "5");
        tree_write(tree, "/etc/hugeplan.d/a-pg.conf", "6");
        tree_write(tree, "/etc/hugeplan.d/20-pg2.conf.d/a.conf", "7");
        tree_write(tree, "/etc/hugeplan.d/pg", "8");
        assert_text(read_with(tree, NULL, "pg", &problems),
                    "/etc/hugeplan.d/20-pg.conf=1\n/usr/lib/hugeplan.d/pg.conf=3\n"
                    "/etc/hugeplan.d/20-pg.conf.d/a.conf<20-pg.conf=4\n");
        assert_text(problems_text(tree->arena, &problems), "");
}

TREE_TEST(order) {
        /* By name, over all directories. */
        tree_write(tree, "/usr/lib/hugeplan.d/10-a.conf", "1");
        tree_write(tree, "/etc/hugeplan.d/20-b.conf", "2");
        tree_write(tree, "/run/hugeplan.d/15-c.conf", "3");
        tree_write(tree, "/usr/local/lib/hugeplan.d/05-d.conf", "4");
        assert_files(tree, "/usr/local/lib/hugeplan.d/05-d.conf=4\n"
                           "/usr/lib/hugeplan.d/10-a.conf=1\n"
                           "/run/hugeplan.d/15-c.conf=3\n"
                           "/etc/hugeplan.d/20-b.conf=2\n");
}

TREE_TEST(precedence) {
        tree_write(tree, "/usr/lib/hugeplan.d/a.conf", "usr");
        assert_files(tree, "/usr/lib/hugeplan.d/a.conf=usr\n");
        tree_write(tree, "/usr/local/lib/hugeplan.d/a.conf", "local");
        assert_files(tree, "/usr/local/lib/hugeplan.d/a.conf=local\n");
        tree_write(tree, "/run/hugeplan.d/a.conf", "run");
        assert_files(tree, "/run/hugeplan.d/a.conf=run\n");
        tree_write(tree, "/etc/hugeplan.d/a.conf", "etc");
        assert_files(tree, "/etc/hugeplan.d/a.conf=etc\n");
}

TREE_TEST(masking) {
        tree_write(tree, "/usr/lib/hugeplan.d/a.conf", "usr");
        tree_write(tree, "/usr/lib/hugeplan.d/b.conf", "usr");
        tree_link(tree, "/dev/null", "/etc/hugeplan.d/a.conf");
        tree_write(tree, "/etc/hugeplan.d/b.conf", ""); /* an empty file counts */
        assert_files(tree, "/etc/hugeplan.d/b.conf=\n");
        /* A mask in a directory of lower precedence masks nothing. */
        tree_link(tree, "/dev/null", "/usr/lib/hugeplan.d/c.conf");
        tree_write(tree, "/etc/hugeplan.d/c.conf", "etc");
        assert_files(tree, "/etc/hugeplan.d/b.conf=\n/etc/hugeplan.d/c.conf=etc\n");
}

TREE_TEST(links_to_files) {
        tree_write(tree, "/srv/real", "real");
        tree_link(tree, "/srv/real", "/etc/hugeplan.d/a.conf");
        assert_files(tree, "/etc/hugeplan.d/a.conf=real\n");
        /* A dangling link is reported, not skipped. */
        tree_link(tree, "/srv/none", "/etc/hugeplan.d/b.conf");
        assert_files(tree, "/etc/hugeplan.d/a.conf=real\n/etc/hugeplan.d/b.conf!ENOENT\n");
}

TREE_TEST(other_names) {
        Diags problems;

        tree_write(tree, "/etc/hugeplan.d/.hidden.conf", "x");
        tree_write(tree, "/etc/hugeplan.d/a.conf~", "x");
        tree_write(tree, "/etc/hugeplan.d/a.conf.dpkg-old", "x");
        tree_write(tree, "/etc/hugeplan.d/README", "x");
        assert_files(tree, "");
        /* Files that are meant to be read, and cannot be. */
        tree_write(tree, "/etc/hugeplan.d/pg", "x");
        tree_write(tree, "/etc/hugeplan.d/a.conf.d/pg.cfg", "x");
        assert_text(read_all(tree, &problems), "");
        assert_text(
                problems_text(tree->arena, &problems),
                "/etc/hugeplan.d/pg: is not read: its name does not end in .conf; rename it to pg.conf\n"
                "/etc/hugeplan.d/a.conf.d/pg.cfg: is not read: its name does not end in .conf; rename it to pg.cfg.conf");
}

TREE_TEST(extensions) {
        tree_write(tree, "/etc/hugeplan.d/a.conf", "a");
        tree_write(tree, "/usr/lib/hugeplan.d/a.conf.d/50-x.conf", "usr");
        tree_write(tree, "/usr/lib/hugeplan.d/a.conf.d/60-y.conf", "y");
        tree_write(tree, "/etc/hugeplan.d/a.conf.d/50-x.conf", "etc");
        tree_link(tree, "/dev/null", "/etc/hugeplan.d/a.conf.d/70-z.conf");
        tree_write(tree, "/usr/lib/hugeplan.d/a.conf.d/70-z.conf", "masked");
        tree_write(tree, "/run/hugeplan.d/b.conf.d/10-w.conf", "w");
        tree_write(tree, "/run/hugeplan.d/b.conf.d/readme", "x");
        assert_files(tree, "/etc/hugeplan.d/a.conf=a\n"
                           "/etc/hugeplan.d/a.conf.d/50-x.conf<a.conf=etc\n"
                           "/usr/lib/hugeplan.d/a.conf.d/60-y.conf<a.conf=y\n"
                           "/run/hugeplan.d/b.conf.d/10-w.conf<b.conf=w\n");
}

TREE_TEST(directory_in_place_of_file) {
        tree_mkdir(tree, "/etc/hugeplan.d/a.conf");
        tree_write(tree, "/etc/hugeplan.d/b.conf", "b");
        assert_files(tree, "/etc/hugeplan.d/a.conf!EISDIR\n/etc/hugeplan.d/b.conf=b\n");
}

TREE_TEST(file_in_place_of_directory) {
        Diags problems;

        tree_write(tree, "/etc/hugeplan.d", "x");
        tree_write(tree, "/run/hugeplan.d/b.conf", "b");
        assert_text(read_all(tree, &problems), "/run/hugeplan.d/b.conf=b\n");
        assert_text(problems_text(tree->arena, &problems),
                    "/etc/hugeplan.d: cannot be listed: Not a directory; make it a directory that "
                    "root can read");
        assert_int_equal(diags_count(&problems, SEVERITY_ERROR), 1);
}

TREE_TEST(denied_directory) {
        uid_t user = geteuid();
        Diags problems;

        tree_mkdir(tree, "/etc/hugeplan.d");
        assert_int_equal(chmod(tree_path(tree, "/etc/hugeplan.d"), 0), 0);
        assert_int_equal(seteuid(user == 0 ? 65534 : user), 0);
        read_all(tree, &problems);
        assert_int_equal(seteuid(user), 0);
        assert_contains(problems_text(tree->arena, &problems),
                        "/etc/hugeplan.d: cannot be listed by this user: Permission denied; "
                        "run hugeplanctl as root, or start hugeplan.service");
}

TREE_TEST(fifo) {
        alarm(10);
        tree_mkdir(tree, "/etc/hugeplan.d");
        assert_int_equal(mkfifo(tree_path(tree, "/etc/hugeplan.d/a.conf"), 0644), 0);
        assert_files(tree, "/etc/hugeplan.d/a.conf!EINVAL\n");
        alarm(0);
}

TREE_TEST(too_large) {
        tree_write(tree, "/etc/hugeplan.d/a.conf", "");
        assert_int_equal(truncate(tree_path(tree, "/etc/hugeplan.d/a.conf"), 64 * 1024 + 1), 0);
        assert_files(tree, "/etc/hugeplan.d/a.conf!EFBIG\n");
}

/* Root can read everything; the message is for others. */
TREE_TEST(unreadable) {
        if (geteuid() == 0)
                skip();
        tree_write(tree, "/etc/hugeplan.d/a.conf", "a");
        tree_write(tree, "/usr/lib/hugeplan.d/a.conf", "less strict");
        assert_int_equal(chmod(tree_path(tree, "/etc/hugeplan.d/a.conf"), 0), 0);
        assert_files(tree, "/etc/hugeplan.d/a.conf!EACCES\n"); /* not the other one instead */
}

TREE_TEST(draft) {
        Diags problems;

        tree_write(tree, "/usr/lib/hugeplan.d/a.conf", "usr");
        tree_write(tree, "/etc/hugeplan.d/a.conf", "etc");
        tree_write(tree, "/etc/hugeplan.d/a.conf.d/50-x.conf", "x");
        tree_write(tree, "/etc/hugeplan.d/a.conf.d/60-y.conf", "y");
        tree_write(tree, "/etc/hugeplan.d/b.conf", "b");
        tree_write(tree, "/etc/hugeplan.d/c.conf", "c");
        /* Files in another directory replace, remove, add and extend. */
        tree_write(tree, "/srv/new/a.conf", "new");
        tree_link(tree, "/dev/null", "/srv/new/b.conf");
        tree_write(tree, "/srv/new/d.conf", "d");
        tree_write(tree, "/srv/new/a.conf.d/50-x.conf", "new x");
        tree_write(tree, "/srv/new/c.conf.d/50-z.conf", "z");
        assert_text(read_with(tree, "/srv/new", NULL, &problems),
                    "/srv/new/a.conf=new\n"
                    "/etc/hugeplan.d/c.conf=c\n"
                    "/srv/new/d.conf=d\n"
                    "/srv/new/a.conf.d/50-x.conf<a.conf=new x\n"
                    "/etc/hugeplan.d/a.conf.d/60-y.conf<a.conf=y\n"
                    "/srv/new/c.conf.d/50-z.conf<c.conf=z\n");
        assert_text(problems_text(tree->arena, &problems), "");
        /* The files in effect do not change. */
        assert_files(tree, "/etc/hugeplan.d/a.conf=etc\n"
                           "/etc/hugeplan.d/b.conf=b\n"
                           "/etc/hugeplan.d/c.conf=c\n"
                           "/etc/hugeplan.d/a.conf.d/50-x.conf<a.conf=x\n"
                           "/etc/hugeplan.d/a.conf.d/60-y.conf<a.conf=y\n");
}

TREE_TEST(one_file) {
        tree_write(tree, "/srv/draft.conf", "x");
        tree_write(tree, "/srv/draft", "y");
        const ConfigFiles *files = config_dirs_read_one(tree->root, tree->arena, "/srv/draft.conf");

        assert_int_equal(files->n, 1);
        assert_text(files->items[0].path, "/srv/draft.conf");
        assert_text(files->items[0].name, "draft.conf");
        assert_text(files->items[0].text, "x");
        files = config_dirs_read_one(tree->root, tree->arena, "/srv/draft");
        assert_text(files->items[0].name, "draft.conf");
        assert_text(files->items[0].text, "y");
        files = config_dirs_read_one(tree->root, tree->arena, "/srv/none.conf");
        assert_int_equal(files->items[0].error, -ENOENT);
        assert_null(files->items[0].text);
}
