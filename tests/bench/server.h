/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Shared by the servers to compare with: they send one reply, read from a file, for every request, and for a request
 * that contains "Reload" they send it on all connections. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { FD_MAX = 16384, REPLY_MAX = 1 << 20 };

static char reply[REPLY_MAX];
static size_t reply_size;
static char is_connected[FD_MAX];

static int server_listen(int argc, char **argv) {
        struct rlimit files = {.rlim_cur = FD_MAX, .rlim_max = FD_MAX};
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int file = argc == 3 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
        ssize_t n = file < 0 ? -1 : read(file, reply, sizeof(reply));

        if (n < 0 || strlen(argv[1]) >= sizeof(address.sun_path))
                exit(2);
        close(file);
        reply_size = (size_t) n;
        setrlimit(RLIMIT_NOFILE, &files);
        memcpy(address.sun_path, argv[1], strlen(argv[1]));
        umask(0); /* every user may connect */
        if (bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 ||
            listen(fd, SOMAXCONN) < 0) {
                perror(argv[1]);
                exit(1);
        }
        return fd;
}

static int server_accept(int listener) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= FD_MAX) {
                close(fd);
                return -1;
        }
        if (fd >= 0)
                is_connected[fd] = 1;
        return fd;
}

static void server_answer(int fd) {
        (void) !send(fd, reply, reply_size, MSG_NOSIGNAL);
}

/* Returns 0 if the client has closed the connection. */
static int server_serve(int fd) {
        char request[4096];
        ssize_t n = recv(fd, request, sizeof(request), 0);

        if (n < 0 && errno == EAGAIN)
                return 1;
        if (n <= 0) {
                is_connected[fd] = 0;
                close(fd);
                return 0;
        }
        if (!memmem(request, (size_t) n, "Reload", strlen("Reload"))) {
                server_answer(fd);
                return 1;
        }
        for (int other = 0; other < FD_MAX; other++)
                if (is_connected[other])
                        server_answer(other);
        return 1;
}
