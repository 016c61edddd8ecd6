/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A path, or behind '@' a name in the abstract namespace, which no NUL ends; unix(7). */
static socklen_t address_of(const char *name, struct sockaddr_un *ret) {
        size_t length = strlen(name);

        if ((name[0] != '/' && name[0] != '@') || length < 2 || length >= sizeof(ret->sun_path))
                return 0;
        *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
        memcpy(ret->sun_path, name, length);
        if (name[0] == '@')
                ret->sun_path[0] = '\0';
        return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'));
}

static void notify(const char *text) {
        const char *name = getenv("NOTIFY_SOCKET");
        struct sockaddr_un address;
        socklen_t size = name ? address_of(name, &address) : 0;
        int fd = size > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

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
