/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The daemon's event loop: descriptors and times. One at a time is served, and those that are ready take turns.
 *
 * Sources belong to whoever has them, and need no memory of their own: to add one can fail for a descriptor only,
 * and to set a time never does. libsystemd's loop does more, and is not linked with, for it takes a quarter of the
 * time that the daemon has until it is ready; it is loaded by who asks systemd (systemd/bus.h). */

#include "base/size.h"

#include <stddef.h>

typedef struct Loop Loop;

/* A descriptor that is watched; zeros: none. */
typedef struct LoopIo LoopIo;
typedef void (*LoopIoHandler)(void *userdata, uint32_t events);
struct LoopIo {
        Loop *loop; /* NULL: it is not watched */
        int fd;
        LoopIoHandler handler;
        void *userdata;
};

/* A time that is waited for; zeros: none. */
typedef struct LoopTimer LoopTimer;
typedef void (*LoopTimerHandler)(void *userdata);
struct LoopTimer {
        Loop *loop; /* NULL: it is not set */
        LoopTimer *before, *next;
        uint64_t at_usec;
        LoopTimerHandler handler;
        void *userdata;
};

/* Negative errno. */
int loop_new(Loop **ret);
/* What is left in it is not watched any more. Takes NULL; returns NULL. */
Loop *loop_free(Loop *loop);

/* Serves what comes until somebody says that it is the end: his CODE, or a negative errno. */
int loop_run(Loop *loop);
void loop_end(Loop *loop, int code);

/* EVENTS as for epoll_ctl(2). FD is the caller's, who takes it out before it is closed. Negative errno. */
int loop_watch(Loop *loop, LoopIo *io, int fd, uint32_t events, LoopIoHandler handler,
               void *userdata);
int loop_rewatch(LoopIo *io, uint32_t events); /* other events from now on */
void loop_unwatch(LoopIo *io);                 /* also one that is not watched */

/* HANDLER is called once, at a moment of the clock of runtime/clock.h, also one that is past, from the loop; a timer
 * that is set already is set anew. */
void loop_set(Loop *loop, LoopTimer *timer, uint64_t at_usec, LoopTimerHandler handler,
              void *userdata);
/* The same as soon as nothing is ready that is to be served before, and at that moment at the latest: who answers many
 * has heard all of them by then. One in a loop at a time; one that is set leaves the other to its time. */
void loop_set_after_all(Loop *loop, LoopTimer *timer, uint64_t at_usec, LoopTimerHandler handler,
                        void *userdata);
void loop_unset(LoopTimer *timer); /* also one that is not set */

/* Whether it is set, and has not come. */
static inline bool loop_is_set(const LoopTimer *timer) {
        return timer->loop != NULL;
}
