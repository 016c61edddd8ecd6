/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections without a place. They are not closed at once, because their clients would connect again at once, and a
 * gate would wait each time for thousands of connections that are closed again and again: accept(2) is in order. They
 * are kept for pause_usec without being watched, and then closed one by one, so that at most one client in a
 * millisecond comes back. */

#include "base/size.h"
#include "ipc/varlink_server_inside.h"

#include <stdlib.h>
#include <unistd.h>

struct LobbyGuest {
        int fd;
        bool is_heard; /* part of its input was read, so that it can get no place again */
        uint64_t since_usec;
};

enum { LEAVE_PER_TICK_MAX = 100 };

static const uint64_t tick_usec = 10 * USEC_PER_MSEC;

static void on_tick(void *userdata);

static bool lobby_open(VarlinkServer *server) {
        Lobby *lobby = &server->lobby;

        if (lobby->guests)
                return true;
        lobby->size = server->limits.lobby;
        lobby->guests = lobby->size > 0 ? malloc(lobby->size * sizeof(*lobby->guests)) : NULL;
        if (!lobby->guests)
                return false;
        lobby->ticked_usec = clock_now_usec();
        loop_set(server->loop, &lobby->timer,
                 add_saturated(lobby->ticked_usec, server->limits.pause_usec), on_tick, server);
        return true;
}

static void lobby_shut(VarlinkServer *server) {
        Lobby *lobby = &server->lobby;

        free(lobby->guests);
        lobby->guests = NULL;
        lobby->first = lobby->n = 0;
        loop_unset(&lobby->timer);
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
                (struct LobbyGuest){fd, is_heard, clock_now_usec()};
}

void lobby_end(VarlinkServer *server) {
        while (server->lobby.n > 0)
                close(lobby_pop(&server->lobby).fd);
        lobby_shut(server);
}

/* Guests get a place if one has become free; otherwise those whose time has passed are closed. The timer runs as long as
 * the lobby is not empty. */
static void on_tick(void *userdata) {
        VarlinkServer *server = userdata;
        Lobby *lobby = &server->lobby;
        uint64_t now = clock_now_usec(), until = sub_floored(now, server->limits.pause_usec);
        uint64_t passed_msec = (now - lobby->ticked_usec) / USEC_PER_MSEC;
        size_t n_left = MIN(lobby->n, MIN(passed_msec, (uint64_t) LEAVE_PER_TICK_MAX));

        for (; n_left > 0 && lobby->guests[lobby->first].since_usec <= until; n_left--) {
                struct LobbyGuest guest = lobby_pop(lobby);

                if (guest.is_heard || !server->admit(server, guest.fd))
                        close(guest.fd);
        }
        lobby->ticked_usec = now;
        if (lobby->n == 0)
                lobby_shut(server);
        else
                loop_set(server->loop, &lobby->timer, now + tick_usec, on_tick, server);
}
