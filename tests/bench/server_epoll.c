/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor of a server: epoll only.
 *
 *     bench-server-epoll SOCKET REPLY-FILE */
#include "server.h"

#include <sys/epoll.h>

static void watch(int epoll_fd, int fd) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv) {
        int listener = server_listen(argc, argv), epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event events[64];

        watch(epoll_fd, listener);
        for (;;) {
                int n = epoll_wait(epoll_fd, events, 64, -1);

                for (int i = 0; i < n; i++) {
                        int fd = events[i].data.fd;

                        if (fd != listener) {
                                server_serve(fd);
                                continue;
                        }
                        while ((fd = server_accept(listener)) >= 0) {
                                watch(epoll_fd, fd);
                                server_serve(fd); /* most clients have sent their request already */
                        }
                }
        }
}
