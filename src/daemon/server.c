/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the socket's file in place. If an administrator, or a line in tmpfiles.d, has removed it from /run, systemd keeps
 * listening on a socket that clients cannot reach, and does not create the file again even if the service is restarted.
 * So at startup the daemon checks the socket and, if necessary, binds one of its own, which it serves beside systemd's. */
#include "daemon/server.h"

#include "model/names.h"
#include "runtime/log.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
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
        if (server->is_socket_ours)
                return 0;
        /* A socket that still accepts connections is left alone, whether it is systemd's or our own. */
        r = listen_on(server, bind_socket(server));
        if (r >= 0)
                log_line(LOG_WARNING, PATH_SOCKET " had been removed; it was created again");
        else if (r != -EADDRINUSE)
                log_line(LOG_WARNING, PATH_SOCKET " was removed and cannot be created again: %s",
                         strerror(-r));
        return 0;
}

void server_stop(Server *server) {
        loop_unwatch(&server->io);
        if (server->is_socket_ours) {
                root_remove(server->root, PATH_SOCKET);
                root_remove(server->root, PATH_VARLINK_LINK);
        }
        varlink_server_free(server->varlink);
}
