/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A D-Bus connection by libsystemd, which is loaded with the first connection and stays loaded: so the library and its
 * dependencies do not delay the daemon's start, and are not needed on a host without systemd. */

#include "runtime/loop.h"

#include <systemd/sd-bus.h>

/* clang-format off */
#define BUS_CALLS(X)                                                                              \
        X(call_async) X(call_method_async) X(close_unref) X(get_events) X(get_fd) X(get_timeout)  \
        X(is_open) X(message_append) X(message_enter_container) X(message_exit_container)         \
        X(message_get_errno) X(message_is_method_error) X(message_new_method_call)                \
        X(message_read_array) X(message_read_basic) X(message_skip) X(message_unref) X(new)       \
        X(open_system) X(path_encode) X(process) X(set_address) X(start) X(wait)
/* clang-format on */

/* bus->NAME() is libsystemd's sd_bus_NAME(). */
typedef struct Bus {
        sd_bus *connection; /* NULL: not connected yet */
        LoopIo io;
        LoopTimer timer;
        void (*on_failed)(void *userdata, int error);
        void *userdata;
#define X(call) typeof(sd_bus_##call) *call;
        BUS_CALLS(X)
#undef X
} Bus;

/* Loads the library, without connecting. Returns -ENOPKG if the library is missing or lacks a function. */
int bus_new(Bus **ret);
Bus *bus_free(Bus *bus); /* closes the connection; takes NULL; returns NULL */
void bus_freep(Bus **bus);

/* Connects to ADDRESS, or to the system bus if that is NULL. Returns 0 or a negative errno. */
int bus_connect(Bus *bus, const char *address);

/* Has LOOP serve BUS. ON_FAILED is called after an error, and must not free BUS. Returns 0 or a negative errno. */
int bus_attach(Bus *bus, Loop *loop, void (*on_failed)(void *userdata, int error), void *userdata);
