/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a reader cannot do any more, even if an attacker controls it. */

#include "inspect/confine.h"
#include "support/testing.h"
#include "support/tree.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534, INHERITED = 77 };

static const char *confined(Arena *arena, void (*read)(void *, int), void *userdata,
                            uint64_t timeout_usec, char **ret) {
        bool is_root = geteuid() == 0;
        const Person person = {
                .uid = is_root ? NOBODY : geteuid(),
                .gid = is_root ? NOBODY : getegid(),
                .name = "nobody",
                .home = "/",
        };
        const Confinement how = {
                .title = "the reader",
                .person = &person,
                .timeout_usec = timeout_usec,
                .output_bytes_max = 8192,
                .read = read,
                .userdata = userdata,
        };
        size_t size = 0;

        *ret = NULL;
        return confine(arena, &how, ret, &size);
}

static void say(int output, const char *what, bool is_possible) {
        dprintf(output, "%s%s\n", is_possible ? "" : "no ", what);
}

typedef struct Things {
        const char *file; /* of the user who starts the reader, world-readable */
        long key; /* in that user's session keyring: every process with that keyring can read it */
        bool is_root; /* that key */
} Things;

/* Operations that the reader's user cannot do, or that the reader must not do although its user can. */
static void try_everything(void *userdata, int output) {
        const Things *things = userdata;
        int fd = open(things->file, O_RDONLY);
        char byte = 0;

        say(output, "reading", fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'x');
        signal(SIGXFSZ, SIG_IGN);
        say(output, "writing", write(open(things->file, O_WRONLY), "y", 1) == 1);
        say(output, "processes", syscall(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0) >= 0);
        say(output, "inherited", fcntl(INHERITED, F_GETFD) >= 0);
        say(output, "keys", syscall(SYS_keyctl, KEYCTL_READ, things->key, &byte, 1) >= 0);
        say(output, "environment", getenv("PATH"));
        say(output, "terminal", open("/dev/tty", O_RDONLY) >= 0);
        say(output, "ids", setuid(0) == 0);
        /* Without root, the reader's user is the caller. */
        if (!things->is_root)
                return;
        say(output, "removing", unlink(things->file) == 0);
        say(output, "debugging", ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0);
        say(output, "killing", kill(getppid(), 0) == 0);
}

TREE_TEST(rights) {
        char *output;

        tree_write(tree, "/file", "x");
        assert_int_equal(chmod(tree_path(tree, "/"), 0755), 0);
        assert_int_equal(dup2(STDERR_FILENO, INHERITED), INHERITED);
        syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
        Things things = {
                tree_path(tree, "/file"),
                syscall(SYS_add_key, "user", "hugeplan-test", "x", 1, KEY_SPEC_SESSION_KEYRING),
                geteuid() == 0};

        assert_true(things.key >= 0 || errno == ENOSYS || errno == EPERM);
        assert_null(confined(tree->arena, try_everything, &things, 10 * USEC_PER_SEC, &output));
        close(INHERITED);
        assert_text(output,
                    arena_printf(tree->arena,
                                 "reading\nno writing\nno processes\nno inherited\nno keys\n"
                                 "no environment\nno terminal\nno ids\n%s",
                                 geteuid() == 0 ? "no removing\nno debugging\nno killing\n" : ""));
}

static void print_status(void *userdata, int output) {
        int fd = open("/proc/self/status", O_RDONLY);
        char buffer[8192];
        ssize_t n = read(fd, buffer, sizeof(buffer));

        (void) userdata;
        if (n > 0 && write(output, buffer, (size_t) n) < n)
                _exit(1);
}

TREE_TEST(identity) {
        char *output;

        assert_null(confined(tree->arena, print_status, NULL, 10 * USEC_PER_SEC, &output));
        assert_contains(output, "NoNewPrivs:\t1\n");
        assert_contains(output, "CapPrm:\t0000000000000000\n");
        assert_contains(output, "CapEff:\t0000000000000000\n");
        assert_contains(output, "CapInh:\t0000000000000000\n");
        assert_contains(output, "CapAmb:\t0000000000000000\n");
        if (geteuid() == 0)
                assert_contains(output, "Uid:\t65534\t65534\t65534\t65534\n"
                                        "Gid:\t65534\t65534\t65534\t65534\n");
}

static void hang(void *userdata, int output) {
        (void) userdata;
        (void) output;
        for (;;)
                ;
}

static void flood(void *userdata, int output) {
        (void) userdata;
        while (write(output, "................", 16) == 16)
                ;
}

static void die(void *userdata, int output) {
        (void) userdata;
        (void) output;
        abort();
}

TREE_TEST(manners) {
        char *output;

        assert_contains(confined(tree->arena, hang, NULL, USEC_PER_SEC / 5, &output),
                        "no answer within");
        assert_contains(confined(tree->arena, flood, NULL, 10 * USEC_PER_SEC, &output),
                        "prints more than");
        assert_contains(confined(tree->arena, die, NULL, 10 * USEC_PER_SEC, &output),
                        "ended by signal 6");
}
