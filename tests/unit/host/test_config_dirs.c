/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which configuration files are used, and their order: systemd's rules. */

#include "host/config_load.h"
#include "support/tree_story.h"

#include <sys/stat.h>
#include <unistd.h>

/* "PATH[<EXTENDS][!ERROR]=TEXT" per file. */
static char *read_with(const Tree *tree, const char *draft, const char *only, Diags *problems) {
        *problems = diags_in(tree->arena);
        ConfigTrace trace = {};
        const ConfigFiles *files = config_dirs_read(tree->root, tree->arena, tree->arena, draft,
                                                    only, problems, &trace);
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

TREE_TEST(denied_directory) {
        uid_t user = geteuid();
        Diags problems;

        tree_mkdir(tree, "/etc/hugeplan.d");
        assert_int_equal(chmod(tree_path(tree, "/etc/hugeplan.d"), 0), 0);
        assert_int_equal(seteuid(user == 0 ? 65534 : user), 0);
        read_with(tree, NULL, NULL, &problems);
        assert_int_equal(seteuid(user), 0);
        assert_contains(problems_text(tree->arena, &problems),
                        "/etc/hugeplan.d: cannot be listed by this user: Permission denied; "
                        "run hugeplanctl as root, or start hugeplan.service");
}

/* Root can read everything; the message is for others. */
TREE_TEST(unreadable) {
        Diags problems;

        if (geteuid() == 0)
                skip();
        tree_write(tree, "/etc/hugeplan.d/a.conf", "a");
        tree_write(tree, "/usr/lib/hugeplan.d/a.conf", "less strict");
        assert_int_equal(chmod(tree_path(tree, "/etc/hugeplan.d/a.conf"), 0), 0);
        /* Not the other one instead. */
        assert_text(read_with(tree, NULL, NULL, &problems), "/etc/hugeplan.d/a.conf!EACCES\n");
}

/* ---- stories ---- */

/* "files"; "draft DIRECTORY": with the files of a directory; "only NAME": as the gate of an instance reads them. */
TREE_VERB(do_files, "draft files only") {
        const char *verb = line->words[0];
        Diags problems;

        return read_with(story->tree, text_equals(verb, "draft") ? line->words[1] : NULL,
                         text_equals(verb, "only") ? line->words[1] : NULL, &problems);
}

/* The problems of reading all files: "SEVERITY TEXT". */
TREE_VERB(do_problems, "problems") {
        Diags problems;

        read_with(story->tree, NULL, NULL, &problems);
        Text text = text_in(line->arena);

        VEC_FOREACH(problem, &problems.list)
                text_printf(&text, "%s %s\n", severity_name(problem->severity),
                            diag_format(line->arena, problem));
        return text_string(&text);
}

/* A file by its path: "NAME=TEXT" or the error. */
TREE_VERB(do_one, "one") {
        const ConfigFiles *files =
                config_dirs_read_one(story->tree->root, line->arena, line->words[1]);
        const ConfigFile *file = &files->items[0];

        assert_int_equal(files->n, 1);
        assert_text(file->path, line->words[1]);
        return file->text ? arena_printf(line->arena, "%s=%s", file->name, file->text)
                          : strerrorname_np(-file->error);
}

STORY_TEST(stories, "unit/host/config_dirs", TREE_TELLER)
