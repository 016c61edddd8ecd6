/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts a program many times at once and waits for all of them.
 *
 *     bench-crowd [--each] N COMMAND... LAST
 *
 * With --each the number of the process, from 0 on, is appended to LAST. Prints "SECONDS N-SUCCEEDED": the time from the
 * first start to the last end, and the number of processes that have exited with 0. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
        struct timespec time;

        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double) time.tv_sec + (double) time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
        int is_each = argc > 1 && strcmp(argv[1], "--each") == 0;
        char **command = argv + 2 + is_each, last[256];
        posix_spawn_file_actions_t actions;
        int n, status, n_succeeded = 0;

        if (argc < 3 + is_each)
                return 2;
        n = atoi(argv[1 + is_each]);
        char **end = argv + argc - 1;
        const char *name = *end;

        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        double begun = now();

        for (int i = 0; i < n; i++) {
                pid_t pid;

                snprintf(last, sizeof(last), is_each ? "%s%d" : "%s", name, i);
                *end = last;
                if (posix_spawn(&pid, command[0], &actions, NULL, command, environ) != 0)
                        return 1;
        }
        while (wait(&status) > 0)
                n_succeeded += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        printf("%.4f %d\n", now() - begun, n_succeeded);
        return 0;
}
