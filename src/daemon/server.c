/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the socket's file in place. If an administrator, or a line in tmpfiles.d, has removed it from /run, systemd keeps
 * listening on a socket that clients cannot reach, and does not create the file again even if the service is restarted.
 * So at startup, and whenever a file in that directory disappears, the daemon checks the socket and, if necessary, binds
 * one of its own, which it serves beside systemd's. */
#include "daemon/server.h"

#include "model/names.h"
#include "runtime/log.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

static int bind_socket(const Server *server) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return varlink_bind_socket(root_path(arena, server->root, PATH_SOCKET));
}

/* Takes ownership of FD. */
static int listen_on(Server *server, int fd) {
        int r = fd < 0 ? fd : varlink_server_listen_fd(server->varlink, fd);

        if (r < 0 && fd >= 0)
                close(fd);
        return r;
}

/* A socket that still accepts connections is left alone, whether it is systemd's or our own. */
static void renew(Server *server) {
        int r = listen_on(server, bind_socket(server));

        if (r >= 0)
                log_line(LOG_WARNING, PATH_SOCKET " had been removed; it was created again");
        else if (r != -EADDRINUSE)
                log_line(LOG_WARNING, PATH_SOCKET " was removed and cannot be created again: %s",
                         strerror(-r));
}

static void on_gone(void *userdata, uint32_t events UNUSED) {
        _Alignas(struct inotify_event) char buffer[4096];
        Server *server = userdata;
        ssize_t size = read(server->inotify.fd, buffer, sizeof(buffer));
        bool is_gone = false;

        for (ssize_t at = 0; at < size;) {
                const struct inotify_event *event = (const void *) (buffer + at);

                is_gone = is_gone || event->mask & IN_Q_OVERFLOW ||
                          (event->len > 0 && strcmp(event->name, NAME_SOCKET) == 0);
                at += (ssize_t) (sizeof(*event) + event->len);
        }
        if (is_gone)
                renew(server);
}

static void on_server(void *userdata, uint32_t events UNUSED) {
        Server *server = userdata;
        int r = varlink_server_dispatch(server->varlink);

        if (r < 0)
                loop_end(server->io.loop, r);
}

int server_start(Server *server, const Root *root, Loop *loop, const VarlinkInterface *interface,
                 void *userdata, int fd) {
        server->root = root;
        server->varlink = varlink_server_new(interface, userdata);
        if (!server->varlink)
                return -errno;
        int r = loop_watch(loop, &server->io, varlink_server_fd(server->varlink), EPOLLIN,
                           on_server, server);

        /* Without systemd's socket unit, the daemon creates the same socket and the same link in the registry. */
        if (r >= 0 && fd < 0) {
                r = root_make_directory(root, PATH_RUNTIME);
                fd = r < 0 ? r : bind_socket(server);
                server->is_socket_ours = fd >= 0;
                if (fd >= 0 && root_make_directory(root, PATH_VARLINK_REGISTRY) == 0)
                        root_symlink(root, PATH_SOCKET, PATH_VARLINK_LINK);
        }
        if (r >= 0)
                r = listen_on(server, fd);
        if (r < 0)
                return r;
        if (!server->is_socket_ours)
                renew(server);
        /* Without a watch, restarting the service restores the file. */
        CLEANUP(arena_freep) Arena *arena = arena_new();

        fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (fd >= 0 && (inotify_add_watch(fd, root_path(arena, root, PATH_RUNTIME),
                                          IN_DELETE | IN_MOVED_FROM) < 0 ||
                        loop_watch(loop, &server->inotify, fd, EPOLLIN, on_gone, server) < 0))
                close(fd);
        return 0;
}

void server_stop(Server *server) {
        if (server->inotify.loop)
                close(server->inotify.fd);
        loop_unwatch(&server->inotify);
        loop_unwatch(&server->io);
        if (server->is_socket_ours) {
                root_remove(server->root, PATH_SOCKET);
                root_remove(server->root, PATH_VARLINK_LINK);
        }
        varlink_server_free(server->varlink);
}
