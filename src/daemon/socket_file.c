/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps the socket's file where clients look for it.
 *
 * Who clears /run by hand, or by a careless line of tmpfiles.d, removes the file but not the socket:
 * systemd goes on listening where nobody can knock, and sees no reason to do anything about it, not
 * even when the service is started again. So the daemon looks, at its start and when a file of that
 * directory goes, and makes a socket of its own there, which it serves beside that of systemd. */
#include "daemon/socket_file.h"

#include "daemon/manager.h"
#include "model/names.h"
#include "runtime/log.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static void renew(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        /* What still listens there is left alone, be it systemd's or our own. */
        int fd = varlink_bind_socket(root_path(arena, manager->root, PATH_SOCKET), 0666);
        int r = fd;

        if (fd == -EADDRINUSE)
                return;
        if (fd >= 0)
                r = varlink_server_listen_fd(manager->server, fd);
        if (r >= 0) {
                log_line(LOG_WARNING, PATH_SOCKET " had been removed; it is there again");
                return;
        }
        log_line(LOG_WARNING, PATH_SOCKET " was removed and cannot be made anew: %s", strerror(-r));
        if (fd >= 0)
                close(fd);
}

static int on_gone(sd_event_source *source, const struct inotify_event *event, void *userdata) {
        (void) source;
        if (event->len > 0 && strcmp(event->name, NAME_SOCKET) == 0)
                renew(userdata);
        return 0;
}

void socket_file_keep(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        renew(manager);
        sd_event_add_inotify(manager->event, &manager->socket_watch,
                             root_path(arena, manager->root, PATH_RUNTIME),
                             IN_DELETE | IN_MOVED_FROM, on_gone, manager);
}

void socket_file_forget(Manager *manager) {
        manager->socket_watch = sd_event_source_disable_unref(manager->socket_watch);
}
