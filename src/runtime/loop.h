/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The daemon's event loop for descriptors and timers. One is served at a time, and those that are ready take turns.
 *
 * The caller owns the sources, and the loop allocates no memory for them: adding a descriptor can fail, setting a timer
 * cannot. libsystemd's loop is not used, because loading the library takes a quarter of the daemon's time until
 * READY=1; only queries of systemd load it (systemd/bus.h). */

#include "base/size.h"

#include <stddef.h>

typedef struct Loop Loop;

/* A watched descriptor; all zero: none. */
typedef struct LoopIo LoopIo;
typedef void (*LoopIoHandler)(void *userdata, uint32_t events);
struct LoopIo {
        Loop *loop; /* NULL: not watched */
        int fd;
        uint32_t events;
        LoopIoHandler handler;
        void *userdata;
};

/* A timer; all zero: not set. */
typedef struct LoopTimer LoopTimer;
typedef void (*LoopTimerHandler)(void *userdata);
struct LoopTimer {
        Loop *loop; /* NULL: not set */
        LoopTimer *before, *next;
        uint64_t at_usec;
        LoopTimerHandler handler;
        void *userdata;
};

/* Returns 0 or a negative errno. */
int loop_new(Loop **ret);
/* Unsets the timers that are left; descriptors are no longer watched. Takes NULL; returns NULL. */
Loop *loop_free(Loop *loop);

/* Runs until loop_end(). Returns the CODE of loop_end(), or a negative errno. */
int loop_run(Loop *loop);
void loop_end(Loop *loop, int code);

/* For a loop within another one, which watches loop_fd() for input and then calls loop_serve(). That serves up to 64
 * descriptors that are ready, and the timers that are due; a handler must not unwatch other descriptors meanwhile. After
 * timers were set or unset, loop_arm() makes loop_fd() readable at the right time. Both return 0 or a negative errno. */
int loop_fd(const Loop *loop);
int loop_serve(Loop *loop);
int loop_arm(Loop *loop);

/* EVENTS as for epoll_ctl(2). The caller owns FD, and unwatches it before closing it. Return 0 or a negative errno. */
int loop_watch(Loop *loop, LoopIo *io, int fd, uint32_t events, LoopIoHandler handler,
               void *userdata);
int loop_rewatch(LoopIo *io, uint32_t events); /* changes the events */
void loop_unwatch(LoopIo *io);                 /* IO may be unwatched */

/* Has the loop call HANDLER once, at AT_USEC of the clock of runtime/clock.h, which may be in the past. A timer that is
 * set is set again. */
void loop_set(Loop *loop, LoopTimer *timer, uint64_t at_usec, LoopTimerHandler handler,
              void *userdata);
/* The same, but as soon as nothing else is ready, and at AT_USEC at the latest: by then the calls of many clients have
 * been read. Only one timer in a loop has this; setting another leaves the first to its time. */
void loop_set_after_all(Loop *loop, LoopTimer *timer, uint64_t at_usec, LoopTimerHandler handler,
                        void *userdata);
void loop_unset(LoopTimer *timer); /* TIMER may be unset */

/* Returns whether the timer is set and has not expired. */
static inline bool loop_is_set(const LoopTimer *timer) {
        return timer->loop != NULL;
}
