/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/loop.h"

#include "base/memory.h"
#include "runtime/clock.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct Loop {
        int epoll_fd, timer_fd;
        LoopTimer *first, *last; /* by time; equal times in the order of setting */
        LoopTimer *after_all;    /* the timer that is served when nothing is ready; NULL: none */
        uint64_t armed_usec;     /* the time for which timer_fd is set; UINT64_MAX: never */
        bool is_over;
        int code;
};

/* ---- descriptors ---- */

static int control(Loop *loop, int operation, int fd, LoopIo *io, uint32_t events) {
        struct epoll_event event = {.events = events, .data.ptr = io};

        return epoll_ctl(loop->epoll_fd, operation, fd, &event) < 0 ? -errno : 0;
}

int loop_watch(Loop *loop, LoopIo *io, int fd, uint32_t events, LoopIoHandler handler,
               void *userdata) {
        int r = control(loop, EPOLL_CTL_ADD, fd, io, events);

        if (r == 0)
                *io = (LoopIo){loop, fd, events, handler, userdata};
        return r;
}

int loop_rewatch(LoopIo *io, uint32_t events) {
        if (events == io->events)
                return 0;
        io->events = events;
        return control(io->loop, EPOLL_CTL_MOD, io->fd, io, events);
}

void loop_unwatch(LoopIo *io) {
        if (io->loop)
                control(io->loop, EPOLL_CTL_DEL, io->fd, io, 0);
        *io = (LoopIo){};
}

/* ---- times ---- */

void loop_unset(LoopTimer *timer) {
        Loop *loop = timer->loop;

        if (loop) {
                *(timer->before ? &timer->before->next : &loop->first) = timer->next;
                *(timer->next ? &timer->next->before : &loop->last) = timer->before;
                if (loop->after_all == timer)
                        loop->after_all = NULL;
        }
        *timer = (LoopTimer){};
}

/* Searches from the end, because of many clients a later one usually has a later time. */
void loop_set(Loop *loop, LoopTimer *timer, uint64_t at_usec, LoopTimerHandler handler,
              void *userdata) {
        loop_unset(timer);
        LoopTimer *before = loop->last;

        while (before && before->at_usec > at_usec)
                before = before->before;
        LoopTimer *next = before ? before->next : loop->first;

        *timer = (LoopTimer){loop, before, next, at_usec, handler, userdata};
        *(before ? &before->next : &loop->first) = timer;
        *(next ? &next->before : &loop->last) = timer;
}

void loop_set_after_all(Loop *loop, LoopTimer *timer, uint64_t at_usec, LoopTimerHandler handler,
                        void *userdata) {
        loop_set(loop, timer, at_usec, handler, userdata);
        loop->after_all = timer;
}

/* Uses a timerfd, because the timeout of epoll_wait(2) stops during suspend. It is not read, and so stays readable until
 * it is set for another time. */
int loop_arm(Loop *loop) {
        uint64_t at_usec = loop->first ? MAX(loop->first->at_usec, UINT64_C(1)) : UINT64_MAX;
        const struct itimerspec at = {
                .it_value.tv_sec = (time_t) (at_usec / USEC_PER_SEC),
                .it_value.tv_nsec = (long) (at_usec % USEC_PER_SEC * 1000),
        };
        const struct itimerspec never = {};

        if (at_usec == loop->armed_usec)
                return 0;
        if (timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, at_usec == UINT64_MAX ? &never : &at,
                            NULL) < 0)
                return -errno;
        loop->armed_usec = at_usec;
        return 0;
}

static void serve_timer(LoopTimer *timer) {
        const LoopTimer due = *timer;

        loop_unset(timer);
        due.handler(due.userdata);
}

/* The event may also be that of timer_fd. */
static void serve_io(const struct epoll_event *event) {
        const LoopIo *io = event->data.ptr;

        if (io)
                io->handler(io->userdata, event->events);
}

/* ---- the loop ---- */

/* Serves at most one descriptor. Returns 0 if none was ready, a positive number, or a negative errno. */
static int wait_and_serve(Loop *loop, bool may_wait) {
        struct epoll_event event;
        int n = epoll_wait(loop->epoll_fd, &event, 1, may_wait ? -1 : 0);

        if (n < 0)
                return errno == EINTR ? 1 : -errno;
        if (n > 0)
                serve_io(&event);
        return n;
}

/* Serves one timer and one descriptor in turn, so that neither kind starves the other. */
int loop_run(Loop *loop) {
        while (!loop->is_over) {
                LoopTimer *timer = loop->first;
                bool may_wait = !loop->after_all;
                int r = 0;

                if (timer && timer->at_usec <= clock_now_usec()) {
                        serve_timer(timer);
                        may_wait = false;
                }
                if (loop->is_over)
                        break;
                if (may_wait)
                        r = loop_arm(loop);
                if (r == 0)
                        r = wait_and_serve(loop, may_wait);
                if (r < 0)
                        return r;
                if (r == 0 && loop->after_all)
                        serve_timer(loop->after_all);
        }
        return loop->code;
}

int loop_fd(const Loop *loop) {
        return loop->epoll_fd;
}

int loop_serve(Loop *loop) {
        struct epoll_event events[64];
        int n = epoll_wait(loop->epoll_fd, events, ARRAY_LEN(events), 0);
        uint64_t now = clock_now_usec();

        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        for (int i = 0; i < n; i++)
                serve_io(&events[i]);
        while (loop->first && loop->first->at_usec <= now)
                serve_timer(loop->first);
        return 0;
}

void loop_end(Loop *loop, int code) {
        loop->is_over = true;
        loop->code = code;
}

int loop_new(Loop **ret) {
        Loop *loop = memory_new(sizeof(Loop));

        *loop = (Loop){
                .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
                .timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
                .armed_usec = UINT64_MAX,
        };
        int r = loop->epoll_fd < 0 || loop->timer_fd < 0
                        ? -errno
                        : control(loop, EPOLL_CTL_ADD, loop->timer_fd, NULL, EPOLLIN);

        if (r < 0) {
                loop_free(loop);
                return r;
        }
        *ret = loop;
        return 0;
}

Loop *loop_free(Loop *loop) {
        if (!loop)
                return NULL;
        while (loop->first)
                loop_unset(loop->first);
        if (loop->epoll_fd >= 0)
                close(loop->epoll_fd);
        if (loop->timer_fd >= 0)
                close(loop->timer_fd);
        memory_free(loop);
        return NULL;
}
