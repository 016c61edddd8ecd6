/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a program and prints its cost.
 *
 *     bench-run [--ready] COMMAND [ARGUMENT...]
 *
 * Prints "WALL-USEC CPU-USEC EXIT-CODE"; the program's own output is discarded. With --ready the program is a daemon, which
 * is terminated when it sends READY=1 (sd_notify(3)); the wall time ends then. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_usec(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static long long usec(struct timeval time) {
        return time.tv_sec * 1000000LL + time.tv_usec;
}

/* A socket for sd_notify(3), whose name is in the child's environment. */
static int make_notify_socket(void) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char name[64];
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        snprintf(name, sizeof(name), "@hugeplan-bench-%d", (int) getpid());
        memcpy(address.sun_path + 1, name + 1, strlen(name) - 1);
        if (fd < 0 || bind(fd, (struct sockaddr *) &address,
                           (socklen_t) (offsetof(struct sockaddr_un, sun_path) + strlen(name))) < 0)
                return -1;
        setenv("NOTIFY_SOCKET", name, 1);
        return fd;
}

/* Returns 0 if the daemon has ended before it was ready. */
static int await_ready(int fd, pid_t pid) {
        struct timeval patience = {.tv_usec = 200000};
        char message[4096];

        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        for (;;) {
                ssize_t n = recv(fd, message, sizeof(message) - 1, 0);
                siginfo_t info = {0};

                if (n >= 0) {
                        message[n] = '\0';
                        if (strncmp(message, "READY=1", strlen("READY=1")) == 0 ||
                            strstr(message, "\nREADY=1"))
                                return 1;
                } else if (waitid(P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
                           info.si_pid == pid) {
                        return 0;
                }
        }
}

int main(int argc, char **argv) {
        int is_daemon = argc > 1 && strcmp(argv[1], "--ready") == 0;
        char **command = argv + 1 + is_daemon;
        posix_spawn_file_actions_t actions;
        struct rusage usage;
        int status, fd = -1;
        pid_t pid;

        if (!*command || (is_daemon && (fd = make_notify_socket()) < 0))
                return 2;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        long long start = now_usec(), ready = 0;
        int error = posix_spawnp(&pid, command[0], &actions, NULL, command, environ);

        if (error != 0) {
                fprintf(stderr, "%s: %s\n", command[0], strerror(error));
                return 127;
        }
        if (is_daemon) {
                await_ready(fd, pid);
                ready = now_usec() - start;
                kill(pid, SIGTERM);
        }
        while (wait4(pid, &status, 0, &usage) < 0)
                if (errno != EINTR)
                        return 1;
        printf("%lld %lld %d\n", is_daemon ? ready : now_usec() - start,
               usec(usage.ru_utime) + usec(usage.ru_stime),
               WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        return 0;
}
