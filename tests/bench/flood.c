/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Floods a server with connections of several users until it is killed; run by root.
 *
 *     bench-flood SOCKET CONNECTIONS FIRST-UID USERS [REQUEST]
 *
 * Without REQUEST the clients send nothing; with REQUEST they send it, read the reply, and send it again. A client that is
 * cut off connects again after 10 ms. "ready" is printed when each was connected once, or after 10 s. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 256, PAUSE_MSEC = 10, READY_MSEC = 10000 };

typedef struct Flood {
        struct sockaddr_un address;
        const char *request; /* NULL: silent */
        int epoll_fd;
        int n;
        int *fds; /* -1: not connected */
        int n_ever;
} Flood;

static long long now_msec(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void send_request(const Flood *flood, int fd) {
        if (flood->request)
                send(fd, flood->request, strlen(flood->request) + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Returns 0 if the backlog is full. */
static int connect_one(Flood *flood, int i) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (unsigned) i};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 ||
            connect(fd, (const struct sockaddr *) &flood->address, sizeof(flood->address)) < 0) {
                if (fd >= 0)
                        close(fd);
                return 0;
        }
        epoll_ctl(flood->epoll_fd, EPOLL_CTL_ADD, fd, &event);
        flood->fds[i] = fd;
        flood->n_ever++;
        send_request(flood, fd);
        return 1;
}

static void take(Flood *flood, int i) {
        char bytes[65536];
        ssize_t n = recv(flood->fds[i], bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n > 0) {
                if (bytes[n - 1] == '\0')
                        send_request(flood, flood->fds[i]);
                return;
        }
        if (n < 0 && errno == EAGAIN)
                return;
        close(flood->fds[i]);
        flood->fds[i] = -1;
}

static void reconnect(Flood *flood) {
        for (int i = 0; i < flood->n; i++)
                if (flood->fds[i] < 0 && !connect_one(flood, i))
                        return;
}

static void run(Flood *flood, int ready_fd) {
        struct epoll_event events[EVENTS_MAX];
        long long begun = now_msec(), last = 0;
        int is_ready = 0;

        for (;;) {
                int n = epoll_wait(flood->epoll_fd, events, EVENTS_MAX, PAUSE_MSEC);

                for (int i = 0; i < n; i++)
                        take(flood, (int) events[i].data.u32);
                if (now_msec() - last >= PAUSE_MSEC) {
                        reconnect(flood);
                        last = now_msec();
                }
                if (!is_ready && (flood->n_ever >= flood->n || last - begun > READY_MSEC)) {
                        is_ready = 1;
                        if (write(ready_fd, "", 1) < 0)
                                exit(1);
                }
        }
}

static void be_user(Flood *flood, uid_t uid, int ready_fd) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (setgid(uid) < 0 || setuid(uid) < 0)
                exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        flood->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        flood->fds = malloc((size_t) flood->n * sizeof(*flood->fds));
        if (!flood->fds)
                exit(1);
        for (int i = 0; i < flood->n; i++)
                flood->fds[i] = -1;
        run(flood, ready_fd);
}

int main(int argc, char **argv) {
        Flood flood = {.address = {.sun_family = AF_UNIX}};
        struct rlimit files = {.rlim_cur = 65536, .rlim_max = 65536};
        int ready[2];
        char byte;

        if ((argc != 5 && argc != 6) || pipe(ready) < 0)
                return 2;
        setrlimit(RLIMIT_NOFILE, &files);
        snprintf(flood.address.sun_path, sizeof(flood.address.sun_path), "%s", argv[1]);
        int n_users = atoi(argv[4]);

        flood.n = atoi(argv[2]) / n_users;
        flood.request = argc == 6 ? argv[5] : NULL;
        for (int i = 0; i < n_users; i++)
                if (fork() == 0)
                        be_user(&flood, (uid_t) (atoi(argv[3]) + i), ready[1]);
        for (int i = 0; i < n_users; i++)
                if (read(ready[0], &byte, 1) != 1)
                        return 1;
        puts("ready");
        fflush(stdout);
        for (;;)
                pause();
}
