/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server as sd-event makes one write it: a source for each connection.
 *
 *     bench-server-event SOCKET REPLY-FILE */
#include "server.h"

#include <sys/epoll.h>
#include <systemd/sd-event.h>

static int on_client(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        (void) events;
        (void) userdata;
        if (!server_serve(fd))
                sd_event_source_disable_unref(source);
        return 0;
}

static int on_listener(sd_event_source *source, int listener, uint32_t events, void *userdata) {
        int fd = server_accept(listener);

        (void) events;
        (void) userdata;
        return fd < 0 ? 0
                      : sd_event_add_io(sd_event_source_get_event(source),
                                        &(sd_event_source *){NULL}, fd, EPOLLIN, on_client, NULL);
}

int main(int argc, char **argv) {
        int listener = server_listen(argc, argv);
        sd_event *event;

        if (sd_event_default(&event) < 0 ||
            sd_event_add_io(event, NULL, listener, EPOLLIN, on_listener, NULL) < 0)
                return 1;
        return sd_event_loop(event) < 0;
}
