/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ipc/varlink_source.h"

#include "base/size.h"

#include <errno.h>
#include <sys/epoll.h>

static int source_control(VarlinkServer *server, Source *source, int operation, uint32_t interest) {
        struct epoll_event event = {.events = interest, .data.ptr = source};

        source->interest = interest;
        return epoll_ctl(server->epoll_fd, operation, source->fd, &event) < 0 ? -errno : 0;
}

int source_add(VarlinkServer *server, Source *source, uint32_t interest) {
        return source_control(server, source, EPOLL_CTL_ADD, interest);
}

int source_change(VarlinkServer *server, Source *source, uint32_t interest) {
        return source_control(server, source, EPOLL_CTL_MOD, interest);
}

void source_remove(VarlinkServer *server, Source *source) {
        epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

void server_pause(VarlinkServer *server) {
        if (server->listening.resume_usec)
                return;
        for (Listener *listener = server->listening.first; listener; listener = listener->next)
                source_remove(server, &listener->source);
        server->listening.resume_usec =
                add_saturated(varlink_now_usec(), server->limits.accept_retry_usec);
        server->timer.set_usec = 0; /* it may be set too late */
}

void server_resume(VarlinkServer *server) {
        int r = 0;

        if (!server->listening.resume_usec)
                return;
        server->listening.resume_usec = 0;
        for (Listener *listener = server->listening.first; r == 0 && listener;
             listener = listener->next)
                r = source_add(server, &listener->source, EPOLLIN);
        if (r < 0)
                server_pause(server);
}
