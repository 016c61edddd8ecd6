/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Priorities are written for the journal only. */

#include "runtime/log.h"
#include "support/testing.h"

#include "support/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The output to a standard error that is the file PATH of TREE. The environment has DEVICE and INODE of the file,
 * changed by these. */
static char *logged(const Tree *tree, const char *format, unsigned long add_device,
                    unsigned long add_inode) {
        int kept = dup(STDERR_FILENO);
        struct stat file;

        tree_write(tree, "/log", "");
        int fd = open(tree_path(tree, "/log"), O_WRONLY | O_TRUNC);

        assert_true(kept >= 0 && fd >= 0 && fstat(fd, &file) == 0);
        if (format)
                setenv("JOURNAL_STREAM",
                       arena_printf(tree->arena, "%lu%s%lu",
                                    (unsigned long) file.st_dev + add_device, format,
                                    (unsigned long) file.st_ino + add_inode),
                       1);
        else
                unsetenv("JOURNAL_STREAM");
        dup2(fd, STDERR_FILENO);
        log_line(LOG_ERR, "it is %s", "so");
        dup2(kept, STDERR_FILENO);
        close(kept);
        close(fd);
        unsetenv("JOURNAL_STREAM");
        return tree_read(tree, "/log");
}

TREE_TEST(journal) {
        assert_text(logged(tree, ":", 0, 0), "<3>it is so\n");
}

TREE_TEST(elsewhere) {
        static const char plain[] = "test-unit-runtime: it is so\n";

        assert_text(logged(tree, NULL, 0, 0), plain);
        /* Inherited from a service whose log was the journal. */
        assert_text(logged(tree, ":", 0, 1), plain);
        assert_text(logged(tree, ":", 1, 0), plain);
        /* Not set by systemd. */
        assert_text(logged(tree, "", 0, 0), plain);
        assert_text(logged(tree, ": ", 0, 0), plain);
        assert_text(logged(tree, "::", 0, 0), plain);
}
