/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Creates listening sockets. */
#include "ipc/varlink_server.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { SOCKET_MODE = 0666 };

/* Whether connections are refused: the file is a socket on which no process listens. */
static bool address_is_stale(const struct sockaddr_un *address) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct stat status;
        bool is_stale = fd >= 0 && lstat(address->sun_path, &status) == 0 &&
                        S_ISSOCK(status.st_mode) &&
                        connect(fd, (const struct sockaddr *) address, sizeof(*address)) < 0 &&
                        errno == ECONNREFUSED;

        if (fd >= 0)
                close(fd);
        return is_stale;
}

/* The mode is set on the socket before bind(2), which applies the umask to it, and on the file afterwards, so that the
 * permissions are never wider. */
static int bind_and_listen(int fd, const struct sockaddr_un *address) {
        const struct sockaddr *generic = (const struct sockaddr *) address;

        if (fchmod(fd, SOCKET_MODE) < 0)
                return -errno;
        if (bind(fd, generic, sizeof(*address)) < 0) {
                if (errno != EADDRINUSE || !address_is_stale(address))
                        return -errno;
                if (unlink(address->sun_path) < 0 || bind(fd, generic, sizeof(*address)) < 0)
                        return -errno;
        }
        if (chmod(address->sun_path, SOCKET_MODE) < 0 || listen(fd, SOMAXCONN) < 0)
                return -errno;
        return 0;
}

int varlink_bind_socket(const char *path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        size_t n = strlen(path);

        if (path[0] != '/' || path[n - 1] == '/')
                return -EINVAL;
        if (n >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        int r = bind_and_listen(fd, &address);

        if (r < 0)
                close(fd);
        return r < 0 ? r : fd;
}
