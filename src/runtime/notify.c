/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* To a path, or behind '@' a name in the abstract namespace, which no NUL ends; unix(7). */
static void notify(const char *text) {
        const char *name = getenv("NOTIFY_SOCKET");
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        size_t length = name ? strlen(name) : 0;

        if (length < 2 || (name[0] != '/' && name[0] != '@') || length >= sizeof(address.sun_path))
                return;
        memcpy(address.sun_path, name, length);
        if (name[0] == '@')
                address.sun_path[0] = '\0';
        socklen_t size =
                (socklen_t) (offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'));
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return;
        (void) !sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *) &address, size);
        close(fd);
}

void notify_extend_timeout(uint64_t usec) {
        char text[64];

        snprintf(text, sizeof(text), "EXTEND_TIMEOUT_USEC=%" PRIu64, usec);
        notify(text);
}

void notify_ready(void) {
        notify("READY=1");
}
