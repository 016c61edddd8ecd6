/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections without a place. They are not closed at once, because their clients would connect again at once, and a
 * gate would wait each time for thousands of connections that are closed again and again: accept(2) is in order. They
 * are kept for pause_usec without being watched, and then closed one by one, so that at most one client in a
 * millisecond comes back.
 *
 * Each costs a descriptor; those that the daemon needs itself are not used for that. */

#include "ipc/varlink_lobby.h"

#include "base/size.h"
#include "ipc/varlink_source.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct LobbyGuest {
        int fd;
        bool is_heard; /* part of its input was read, so that it can get no place again */
        uint64_t since_usec;
};

enum {
        TICK_MSEC = 10,
        LEAVE_PER_TICK = 10,
        LEAVE_PER_TURN_MAX = 100,
        /* For root's clients and for files that are read for an answer. */
        DESCRIPTORS_SPARED = 2048,
};

/* The timer runs as long as the lobby is not empty. */
static void lobby_set_timer(VarlinkServer *server, bool is_armed) {
        const uint64_t usec = MAX(server->limits.pause_usec, UINT64_C(1));
        const struct itimerspec spec = {
                .it_interval.tv_nsec = TICK_MSEC * 1000000,
                .it_value = {.tv_sec = (time_t) (usec / USEC_PER_SEC),
                             .tv_nsec = (long) (usec % USEC_PER_SEC * 1000)},
        };

        timerfd_settime(server->lobby.timer.fd, 0, is_armed ? &spec : &(struct itimerspec){}, NULL);
}

/* The size follows from RLIMIT_NOFILE; with a low limit there is no lobby. */
static bool lobby_open(VarlinkServer *server) {
        size_t spared = server->limits.connections + DESCRIPTORS_SPARED;
        Lobby *lobby = &server->lobby;
        struct rlimit files;

        if (lobby->guests)
                return true;
        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return false;
        size_t size = MIN(server->limits.lobby, sub_floored(files.rlim_cur, spared));

        lobby->guests = size > 0 ? malloc(size * sizeof(*lobby->guests)) : NULL;
        if (!lobby->guests)
                return false;
        lobby->size = size;
        lobby_set_timer(server, true);
        return true;
}

static void lobby_shut(VarlinkServer *server) {
        Lobby *lobby = &server->lobby;

        free(lobby->guests);
        lobby->guests = NULL;
        lobby->first = lobby->n = 0;
        lobby_set_timer(server, false);
}

static struct LobbyGuest lobby_pop(Lobby *lobby) {
        struct LobbyGuest guest = lobby->guests[lobby->first];

        lobby->first = (lobby->first + 1) % lobby->size;
        lobby->n--;
        return guest;
}

void lobby_take(VarlinkServer *server, int fd, bool is_heard) {
        Lobby *lobby = &server->lobby;

        if (!lobby_open(server) || lobby->n == lobby->size) {
                close(fd);
                return;
        }
        lobby->guests[(lobby->first + lobby->n++) % lobby->size] =
                (struct LobbyGuest){fd, is_heard, varlink_now_usec()};
}

bool lobby_spare(VarlinkServer *server) {
        Lobby *lobby = &server->lobby;

        if (lobby->n == 0)
                return false;
        close(lobby_pop(lobby).fd);
        if (lobby->n == 0)
                lobby_shut(server);
        return true;
}

/* Guests get a place if one has become free; otherwise those whose time has passed are closed. */
static void lobby_turn(VarlinkServer *server, Source *source, uint32_t events UNUSED) {
        Lobby *lobby = &server->lobby;
        uint64_t n_ticks = 0, until = sub_floored(varlink_now_usec(), server->limits.pause_usec);

        if (read(source->fd, &n_ticks, sizeof(n_ticks)) < 0)
                return;
        size_t n_left = MIN(lobby->n, MIN(n_ticks * LEAVE_PER_TICK, (uint64_t) LEAVE_PER_TURN_MAX));

        for (; n_left > 0 && lobby->guests[lobby->first].since_usec <= until; n_left--) {
                struct LobbyGuest guest = lobby_pop(lobby);

                if (guest.is_heard || !server->hooks.admit(server, guest.fd))
                        close(guest.fd);
        }
        if (lobby->n == 0)
                lobby_shut(server);
}

int lobby_begin(VarlinkServer *server) {
        int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

        if (fd < 0)
                return -errno;
        server->lobby.timer = (Source){.fd = fd, .dispatch = lobby_turn};
        return source_add(server, &server->lobby.timer, EPOLLIN);
}

void lobby_end(VarlinkServer *server) {
        while (lobby_spare(server))
                ;
        if (server->lobby.timer.fd >= 0)
                close(server->lobby.timer.fd);
}
