/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Listening sockets and new connections. */
#include "ipc/varlink_server.h"

#include "base/memory.h"
#include "base/size.h"
#include "ipc/varlink_server_inside.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
        SOCKET_MODE = 0666,
        ACCEPTS_PER_TURN = 512,
        SEND_BUFFER_BYTES = 16 * 1024, /* the kernel keeps that much for each, and doubles it */
};

/* The time for new connections before calls are served. They are accepted in order, so a gate waits for all connections
 * before its own. */
static const uint64_t accepting_usec = 4 * USEC_PER_MSEC;

/* ---- newcomers ---- */

/* Whether a new connection may take the place of another one of the same user: not before it has sent a message, and not
 * that of a waiting call. The check is cheap, because one user may open thousands of connections. */
static bool is_worth_place(int fd, const VarlinkPlace *place) {
        char bytes[512];
        ssize_t n = place->kind < VARLINK_PLACE_WAITING
                            ? recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT)
                            : 0;

        return n > 0 && memchr(bytes, '\0', (size_t) n);
}

/* Most clients have sent their call already. A client without a place sees a closed connection, because an error
 * message would have to be kept for it. */
bool server_admit(VarlinkServer *server, int fd) {
        static const int send_buffer_bytes = SEND_BUFFER_BYTES;
        struct ucred peer = {0};
        socklen_t size = sizeof(peer);
        Connection *c;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
                return false;
        VarlinkPlace *price = NULL;

        if (!server_trusts(server, peer.uid) &&
            (!varlink_places_find_room(&server->places, peer.uid, &price) ||
             (price && price->user->uid == peer.uid && !is_worth_place(fd, price))))
                return false;
        c = connection_new(server, fd, &peer);
        if (!c)
                return true;
        if (!c->peer.is_trusted)
                setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes,
                           sizeof(send_buffer_bytes));
        if (price)
                connection_evict(price->owner);
        connection_turn(c, EPOLLIN);
        return true;
}

static void on_connection(void *userdata, uint32_t events UNUSED) {
        const Listener *listener = userdata;
        VarlinkServer *server = listener->server;
        uint64_t end = clock_now_usec() + accepting_usec;

        for (size_t n = 0; n < ACCEPTS_PER_TURN && (n % 16 || clock_now_usec() < end); n++) {
                int fd = accept4(listener->io.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (fd >= 0) {
                        if (!server_admit(server, fd))
                                lobby_take(server, fd, false);
                        continue;
                }
                if (errno == EINTR || errno == ECONNABORTED)
                        continue;
                if (errno != EAGAIN)
                        server_pause(server);
                return;
        }
}

/* ---- binding ---- */

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

/* ---- listening ---- */

/* 0, or why FD cannot be listened on. */
static int check_listening_socket(int fd) {
        static const struct {
                int option, value;
        } demands[] = {
                {SO_DOMAIN, AF_UNIX},
                {SO_TYPE, SOCK_STREAM},
                {SO_ACCEPTCONN, 1},
        };

        for (size_t i = 0; i < ARRAY_LEN(demands); i++) {
                int value;
                socklen_t size = sizeof(value);

                if (getsockopt(fd, SOL_SOCKET, demands[i].option, &value, &size) < 0)
                        return -errno;
                if (value != demands[i].value)
                        return -EINVAL;
        }
        return 0;
}

int varlink_server_listen_fd(VarlinkServer *server, int fd) {
        int r = check_listening_socket(fd), flags = fcntl(fd, F_GETFL);

        if (r == 0 && (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
                       fcntl(fd, F_SETFD, FD_CLOEXEC) < 0))
                r = -errno;
        if (r < 0)
                return r;
        Listener *listener = memory_new(sizeof(*listener));

        listener->server = server;
        r = loop_watch(server->loop, &listener->io, fd,
                       loop_is_set(&server->listening.resume) ? 0 : EPOLLIN, on_connection,
                       listener);
        if (r < 0) {
                memory_free(listener);
                return r;
        }
        listener->next = server->listening.first;
        server->listening.first = listener;
        return 0;
}
