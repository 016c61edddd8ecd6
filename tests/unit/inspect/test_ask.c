/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Programs of other users: each gives an answer or a message in time, and leaves nothing behind. Root runs them as
 * nobody, other users as themselves. */

#include "inspect/ask.h"
#include "runtime/clock.h"
#include "support/testing.h"
#include "support/tree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

typedef struct Asking {
        Root *host;
        Question question;
} Asking;

static uid_t owner_uid(void) {
        return geteuid() == 0 ? NOBODY : geteuid();
}

/* A shell script in the tree, and a data directory of the user it runs as. */
static Asking asking(const Tree *tree, const char *script) {
        Asking asking = {};

        tree_write(tree, "/bin/db", arena_printf(tree->arena, "#!/bin/sh\n%s\n", script));
        assert_int_equal(chmod(tree_path(tree, "/bin/db"), 0755), 0);
        if (!root_is_directory(tree->root, "/data"))
                tree_mkdir(tree, "/data");
        assert_int_equal(chmod(tree_path(tree, "/"), 0755), 0);
        if (geteuid() == 0)
                assert_int_equal(chown(tree_path(tree, "/data"), NOBODY, NOBODY), 0);
        assert_int_equal(root_open("/", &asking.host), 0);
        *vec_push(tree->arena, &asking.question.program) = "/no/such/program";
        *vec_push(tree->arena, &asking.question.program) = tree_path(tree, "/bin/db");
        *vec_push(tree->arena, &asking.question.arguments) = "-C";
        *vec_push(tree->arena, &asking.question.arguments) = "size of it";
        asking.question.data_directory = tree_path(tree, "/data");
        return asking;
}

/* Everything here takes a fraction of this time; a hanging program takes longer. */
#define PATIENCE_USEC (30 * USEC_PER_SEC)

static const char *ask_it(const Tree *tree, Asking *asking, char **ret_output) {
        const char *wrong =
                ask(asking->host, tree->arena, &asking->question, NULL, PATIENCE_USEC, ret_output);

        asking->host = root_free(asking->host);
        return wrong;
}

static const char *run_script(const Tree *tree, const char *script, char **ret_output) {
        Asking it = asking(tree, script);

        return ask_it(tree, &it, ret_output);
}

static char *answer_of(const Tree *tree, const char *script) {
        char *output = NULL;
        const char *wrong = run_script(tree, script, &output);

        if (wrong)
                fail_msg("%s: %s", script, wrong);
        return output;
}

static const char *wrong_of(const Tree *tree, const char *script) {
        char *output = NULL;
        const char *wrong = run_script(tree, script, &output);

        assert_null(output);
        assert_non_null(wrong);
        assert_true(strlen(wrong) < 600);
        assert_string_equal(text_printable(tree->arena, wrong), wrong);
        return wrong;
}

TREE_TEST(answer) {
        assert_text(answer_of(tree, "echo 1081"), "1081\n");
        assert_text(answer_of(tree, "echo noise >&2; echo \"$#:$1:$2\""), "2:-C:size of it\n");
        assert_text(answer_of(tree, ":"), "");
}

/* Nothing of hugeplan is inherited. */
TREE_TEST(surroundings) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fd = fcntl(null, F_DUPFD, 100);

        assert_true(fd >= 0);
        setenv("LD_LIBRARY_PATH", "/nowhere", 1);
        setenv("PGDATA", "/nowhere", 1);
        const char *environment = answer_of(tree, "env");

        assert_contains(environment, "LANG=C.UTF-8\n");
        assert_contains(environment, "PATH=");
        assert_contains(environment, "HOME=");
        assert_null(strstr(environment, "nowhere"));
        assert_text(answer_of(tree, "cat; pwd; umask"), "/\n0077\n");
        const char *script = arena_printf(
                tree->arena, "[ -e /proc/$$/fd/0 ]; echo $?; [ -e /proc/$$/fd/%d ]; echo $?", fd);

        assert_text(answer_of(tree, script), "0\n1\n");
        const char *status =
                answer_of(tree, "grep -E 'NoNewPrivs|CapEff|CapPrm|CapAmb' /proc/self/status");

        assert_contains(status, "NoNewPrivs:\t1\n");
        assert_contains(status, "CapEff:\t0000000000000000\n");
        assert_contains(status, "CapPrm:\t0000000000000000\n");
        assert_text(answer_of(tree, "ulimit -c"), "0\n");
        assert_text(answer_of(tree, "id -u"), arena_printf(tree->arena, "%u\n", owner_uid()));
        if (geteuid() == 0)
                assert_text(answer_of(tree, "id -G"), arena_printf(tree->arena, "%u\n", NOBODY));
        close(fd);
        close(null);
        unsetenv("LD_LIBRARY_PATH");
        unsetenv("PGDATA");
}

/* Its own session: a terminal's signals do not reach it. */
TREE_TEST(session) {
        const char *line = answer_of(tree, "cut -d' ' -f1,5,6 /proc/$$/stat");
        const char *rest = line;
        const char *pid = text_next_word(tree->arena, &rest, " \n");

        assert_text(text_next_word(tree->arena, &rest, " \n"), pid);
        assert_text(text_next_word(tree->arena, &rest, " \n"), pid);
}

TREE_TEST(failures) {
        assert_contains(wrong_of(tree, "echo 'FATAL: no' >&2; echo more >&2; echo 5; exit 1"),
                        "db -C size of it ended with 1, and printed: \"FATAL: no\"");
        assert_contains(wrong_of(tree, "exit 3"), "ended with 3, and printed nothing");
        assert_contains(wrong_of(tree, "kill -SEGV $$"), "was ended by signal 11");
        assert_contains(wrong_of(tree, "printf 'a\\033[2Jb\\377\\n' >&2; exit 1"),
                        "ended with 1, and printed: \"a?[2Jb?\"");
        assert_contains(wrong_of(tree, "printf '10\\00081'"), "something that is not text");
        assert_null(strstr(wrong_of(tree, "echo 'FATAL: no' >&2; echo more >&2; exit 1"), "more"));
        /* A line without an end. */
        assert_contains(wrong_of(tree, "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1"),
                        "xxx...");
}

TREE_TEST(hangs) {
        uint64_t start = clock_now_usec();
        char *output = NULL;
        Asking it = asking(tree, "trap '' TERM INT HUP; while :; do sleep 600; done");
        const char *wrong =
                ask(it.host, tree->arena, &it.question, NULL, 300 * USEC_PER_MSEC, &output);

        root_free(it.host);
        assert_contains(wrong, "was stopped: it gave no answer within 300ms");
        assert_true(clock_now_usec() - start < PATIENCE_USEC);
}

TREE_TEST(floods) {
        assert_contains(wrong_of(tree, "exec cat /dev/zero"),
                        "was stopped: it prints more than 64K");
        assert_int_equal(strlen(answer_of(tree, "head -c 65536 /dev/zero | tr '\\0' x")), 65536);
        assert_contains(wrong_of(tree, "head -c 65537 /dev/zero | tr '\\0' x"), "more than 64K");
        /* Messages on standard error are read and dropped, however many there are. */
        assert_text(answer_of(tree, "head -c 10000000 /dev/zero >&2; echo 7"), "7\n");
}

/* Not a zombie: containers often have no init that reaps. */
static bool is_alive(Arena *arena, uint64_t pid) {
        FILE *file = fopen(arena_printf(arena, "/proc/%" PRIu64 "/stat", pid), "re");
        char state;

        if (!file)
                return false;
        bool is = fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state != 'Z' && state != 'X';

        fclose(file);
        return is;
}

/* Children that keep the pipes open are not waited for, and are killed, too. */
TREE_TEST(children) {
        uint64_t start = clock_now_usec(), pid, end = start + PATIENCE_USEC;
        char *answer = answer_of(tree, "sleep 600 & echo $!");

        assert_true(clock_now_usec() - start < PATIENCE_USEC);
        assert_int_equal(parse_u64(text_strip(tree->arena, answer), &pid), 0);
        while (is_alive(tree->arena, pid) && clock_now_usec() < end)
                usleep(1000);
        assert_false(is_alive(tree->arena, pid));
}

TREE_TEST(cannot_run) {
        char *output = NULL;
        Asking it = asking(tree, ":");

        assert_int_equal(chmod(tree_path(tree, "/bin/db"), 0644), 0);
        assert_contains(ask_it(tree, &it, &output), "cannot run it: Permission denied");
        it = asking(tree, ":");
        tree_write(tree, "/bin/db", "#!/no/such/shell\n");
        assert_contains(ask_it(tree, &it, &output), "cannot run it: No such file");
        it = asking(tree, ":");
        it.question.program.n = 1;
        assert_contains(ask_it(tree, &it, &output), "its program does not exist: /no/such/program");
        it = asking(tree, ":");
        it.question.data_directory = "/no/such/data";
        assert_contains(ask_it(tree, &it, &output), "the owner of /no/such/data is not known");
        it = asking(tree, ":");
        it.question.data_directory = NULL;
        assert_contains(ask_it(tree, &it, &output), "User=");
        it = asking(tree, ":");
        it.question.user = "nobody-of-this-name";
        assert_contains(ask_it(tree, &it, &output), "there is no user 'nobody-of-this-name'");
        assert_null(output);
}

TREE_TEST(captured_host) {
        Asking it = asking(tree, "echo 1");
        char *output = NULL;

        root_free(it.host);
        assert_contains(ask(tree->root, tree->arena, &it.question, NULL, PATIENCE_USEC, &output),
                        "captured host");
        assert_null(output);
}

TREE_TEST(user) {
        Asking it = asking(tree, "id -u");
        char *output = NULL;

        it.question.data_directory = NULL;
        it.question.user = arena_printf(tree->arena, "%u", owner_uid());
        assert_null(ask_it(tree, &it, &output));
        assert_text(output, arena_printf(tree->arena, "%u\n", owner_uid()));
        if (geteuid() == 0)
                return;
        it = asking(tree, "id -u");
        it.question.user = arena_printf(tree->arena, "%u", geteuid() == 1 ? 2 : 1);
        assert_contains(ask_it(tree, &it, &output), "only root and");
}

/* Another user who can write the program, or its files, would get the rights of the user it runs as. */
TREE_TEST(open_to_others) {
        char *output = NULL;

        if (geteuid() != 0) {
                print_message("skipped: needs root to give files to others\n");
                skip();
        }
        Asking it = asking(tree, "echo 1");

        assert_int_equal(chmod(tree_path(tree, "/bin/db"), 0777), 0);
        assert_contains(ask_it(tree, &it, &output), "can be written by everyone");
        it = asking(tree, "echo 1");
        assert_int_equal(chown(tree_path(tree, "/bin"), 1, 0), 0);
        assert_contains(ask_it(tree, &it, &output), "belongs to user 1");
        assert_int_equal(chown(tree_path(tree, "/bin"), 0, 1), 0);
        assert_int_equal(chmod(tree_path(tree, "/bin"), 0775), 0);
        it = asking(tree, "echo 1");
        assert_contains(ask_it(tree, &it, &output), "can be written by group 1");
        assert_null(output);
        /* A file of the user is accepted. */
        assert_int_equal(chown(tree_path(tree, "/bin"), NOBODY, NOBODY), 0);
        it = asking(tree, "echo 1");
        assert_null(ask_it(tree, &it, &output));
        assert_text(output, "1\n");
        /* But nothing runs as root. */
        it = asking(tree, "echo 1");
        it.question.user = "root";
        assert_contains(ask_it(tree, &it, &output), "it belongs to root");
        /* Nor with the rights of a set-user-ID file. */
        it = asking(tree, "echo 1");
        assert_int_equal(chmod(tree_path(tree, "/bin/db"), 04755), 0);
        assert_contains(ask_it(tree, &it, &output), "is set-user-ID or set-group-ID");
}

TREE_TEST(configuration_of_others) {
        char *output = NULL;

        if (geteuid() != 0) {
                print_message("skipped: needs root to give files to others\n");
                skip();
        }
        Asking it = asking(tree, "echo 1");

        tree_write(tree, "/etc/db.conf", "x");
        tree_link(tree, "../etc/db.conf", "/data/db.conf");
        const char *path = tree_path(tree, "/data/db.conf");

        assert_null(ask(it.host, tree->arena, &it.question, path, PATIENCE_USEC, &output));
        assert_int_equal(chown(tree_path(tree, "/etc/db.conf"), 1, 1), 0);
        assert_contains(ask(it.host, tree->arena, &it.question, path, PATIENCE_USEC, &output),
                        "belongs to user 1");
        assert_int_equal(chown(tree_path(tree, "/etc/db.conf"), NOBODY, NOBODY), 0);
        assert_null(ask(it.host, tree->arena, &it.question, path, PATIENCE_USEC, &output));
        root_free(it.host);
}

/* A link in a directory of other users is followed once: its target is checked, run and named. */
TREE_TEST(links) {
        Asking it = asking(tree, "echo \"$@\"");
        char *output = NULL;

        tree_write(tree, "/etc/db.conf", "x");
        tree_link(tree, "../etc", "/links/etc");
        tree_link(tree, "../bin/db", "/links/db");
        it.question.program.n = 0;
        *vec_push(tree->arena, &it.question.program) = tree_path(tree, "/links/db");
        const char *path = tree_path(tree, "/links/etc/db.conf");

        *vec_push(tree->arena, &it.question.arguments) = arena_printf(tree->arena, "file=%s", path);
        assert_null(ask(it.host, tree->arena, &it.question, path, PATIENCE_USEC, &output));
        assert_contains(output,
                        arena_printf(tree->arena, "file=%s\n", tree_path(tree, "/etc/db.conf")));
        root_free(it.host);
}

/* Options of other users are a reason not to ask. */
TREE_TEST(untrusted) {
        Asking it = asking(tree, "echo 1");
        char *output = NULL;

        it.question.untrusted = "/x belongs to user 7";
        assert_text(ask_it(tree, &it, &output), "/x belongs to user 7");
        assert_null(output);
}
