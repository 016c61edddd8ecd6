/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the socket's file where clients look for it.
 *
 * Who clears /run by hand, or by a careless line of tmpfiles.d, removes the file but not the socket:
 * systemd goes on listening where nobody can knock, and sees no reason to do anything about it, not
 * even when the service is started again. So the daemon looks, at its start and when a file of that
 * directory goes, and makes a socket of its own there, which it serves beside that of systemd. */
#include "daemon/server.h"

#include "model/names.h"
#include "runtime/log.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static int bind_socket(const Server *server) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return varlink_bind_socket(root_path(arena, server->root, PATH_SOCKET), 0666);
}

/* Owns FD. */
static int listen_on(Server *server, int fd) {
        int r = fd < 0 ? fd : varlink_server_listen_fd(server->varlink, fd);

        if (r < 0 && fd >= 0)
                close(fd);
        return r;
}

/* What still listens there is left alone, be it systemd's or our own. */
static void renew(Server *server) {
        int r = listen_on(server, bind_socket(server));

        if (r >= 0)
                log_line(LOG_WARNING, PATH_SOCKET " had been removed; it is there again");
        else if (r != -EADDRINUSE)
                log_line(LOG_WARNING, PATH_SOCKET " was removed and cannot be made anew: %s",
                         strerror(-r));
}

static int on_gone(sd_event_source *source UNUSED, const struct inotify_event *event,
                   void *userdata) {
        if (event->len > 0 && strcmp(event->name, NAME_SOCKET) == 0)
                renew(userdata);
        return 0;
}

static int on_server(sd_event_source *source UNUSED, int fd UNUSED, uint32_t events UNUSED,
                     void *userdata) {
        return varlink_server_dispatch(((Server *) userdata)->varlink);
}

int server_start(Server *server, const Root *root, sd_event *event,
                 const VarlinkInterface *interface, void *userdata, int fd) {
        static const VarlinkServerInfo info = {
                .vendor = "The hugeplan project",
                .product = "hugeplan",
                .version = HUGEPLAN_VERSION,
                .url = "",
        };
        CLEANUP(arena_freep) Arena *arena = arena_new();

        server->root = root;
        server->event = event;
        server->varlink = varlink_server_new(&interface, 1, &info, userdata);
        if (!server->varlink)
                return -errno;
        int r = sd_event_add_io(event, &server->source, varlink_server_fd(server->varlink), EPOLLIN,
                                on_server, server);

        /* Without systemd's socket unit: the same socket, and the same link in the registry. */
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
        renew(server);
        sd_event_add_inotify(event, &server->file_watch, root_path(arena, root, PATH_RUNTIME),
                             IN_DELETE | IN_MOVED_FROM, on_gone, server);
        return 0;
}

void server_stop(Server *server) {
        sd_event_source_disable_unref(server->source);
        sd_event_source_disable_unref(server->file_watch);
        if (server->is_socket_ours) {
                root_remove(server->root, PATH_SOCKET);
                root_remove(server->root, PATH_VARLINK_LINK);
        }
        varlink_server_free(server->varlink);
}
