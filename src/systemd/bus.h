/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A connection to D-Bus, by libsystemd, which is loaded when the first one is made: neither the start of the daemon,
 * nor a host without systemd, has to wait for it and for the libraries that it brings. It stays, then. */

#include "runtime/loop.h"

#include <systemd/sd-bus.h>

/* clang-format off */
#define BUS_CALLS(X)                                                                              \
        X(call_async) X(call_method_async) X(close_unref) X(get_events) X(get_fd) X(get_property) \
        X(get_property_string) X(get_timeout) X(is_open) X(is_ready)                               \
        X(message_append) X(message_enter_container) X(message_exit_container)                    \
        X(message_get_errno) X(message_is_method_error) X(message_new_method_call)                \
        X(message_read) X(message_read_array) X(message_read_basic) X(message_skip)               \
        X(message_unref) X(new) X(open_system) X(path_encode) X(process) X(set_address)           \
        X(set_method_call_timeout) X(start) X(wait)
/* clang-format on */

/* What libsystemd has for it: sd_bus_NAME() is bus->NAME(). */
typedef struct Bus {
        sd_bus *connection; /* NULL: there is none yet */
        LoopIo io;
        LoopTimer timer;
        void (*on_failed)(void *userdata, int error);
        void *userdata;
#define X(call) typeof(sd_bus_##call) *call;
        BUS_CALLS(X)
#undef X
} Bus;

/* Without a connection; -ENOPKG where the library is not there, or has too little. */
int bus_new(Bus **ret);
Bus *bus_free(Bus *bus); /* closes it; takes NULL; returns NULL */
void bus_freep(Bus **bus);

/* By ADDRESS, or, where that is NULL, to the system bus. Negative errno. */
int bus_connect(Bus *bus, const char *address);

/* LOOP looks after it; ON_FAILED hears when nothing more can come, and must not free it. Negative errno. */
int bus_attach(Bus *bus, Loop *loop, void (*on_failed)(void *userdata, int error), void *userdata);
