/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a program and kills it before its N-th system call, counting all threads.
 *
 *   kill_at N PROGRAM [ARGUMENT...]
 *
 * Exits with 0 after that, or with 3 if the program has ended before. SIGTERM kills the program immediately; N of 0 waits
 * for that. Prints the number of system calls since execve(2). */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

static volatile sig_atomic_t is_over;

static void on_signal(int number) {
        (void) number;
        is_over = 1;
}

static int fail(const char *what) {
        perror(what);
        return EXIT_FAILURE;
}

/* Half of the stops are at the exit of a call. */
static bool is_entry(pid_t thread) {
        struct ptrace_syscall_info info;

        return ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *) sizeof(info), &info) > 0 &&
               info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* The signal to deliver after a stop, or 0. */
static int signal_of(int status) {
        int number = WSTOPSIG(status);

        return status >> 16 || number == SIGSTOP || number == SIGTRAP ? 0 : number;
}

static int finish(pid_t child, long n, int code) {
        kill(child, SIGKILL);
        while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
                ;
        printf("%ld calls\n", n);
        return code;
}

static int follow(pid_t child, long at) {
        bool is_executed = false;
        long n = 0;

        for (;;) {
                int status;
                pid_t thread = waitpid(-1, &status, __WALL);

                if (is_over)
                        return finish(child, n, EXIT_SUCCESS);
                if (thread < 0 && errno != EINTR)
                        return fail("waitpid");
                if (thread == child && !WIFSTOPPED(status))
                        return finish(child, n, 3);
                if (thread < 0 || !WIFSTOPPED(status))
                        continue;
                int number = signal_of(status);

                is_executed = is_executed || status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
                if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
                        number = 0;
                        n += is_executed && is_entry(thread);
                        if (at > 0 && n == at)
                                return finish(child, n, EXIT_SUCCESS);
                }
                ptrace(PTRACE_SYSCALL, thread, NULL, (void *) (long) number);
        }
}

int main(int argc, char **argv) {
        const struct sigaction action = {.sa_handler = on_signal};
        int status;

        if (argc < 3)
                return EXIT_FAILURE;
        pid_t child = fork();

        if (child < 0)
                return fail("fork");
        if (child == 0) {
                char **command = argv + 2;
                ptrace(PTRACE_TRACEME, 0, NULL, NULL);
                raise(SIGSTOP);
                execv(command[0], command);
                perror(command[0]);
                _exit(127);
        }
        sigaction(SIGTERM, &action, NULL);
        if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status) ||
            ptrace(PTRACE_SETOPTIONS, child, NULL,
                   (void *) (PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC |
                             PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)) < 0)
                return fail("ptrace");
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        return follow(child, strtol(argv[1], NULL, 10));
}
