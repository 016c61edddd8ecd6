/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "systemd/bus.h"

#include "base/memory.h"
#include "runtime/clock.h"

#include <dlfcn.h>

#define LIBRARY "libsystemd.so.0"

/* Lists in the program's file the libraries that are loaded later: https://systemd.io/ELF_DLOPEN_METADATA */
#define NOTE_TEXT                                                                            \
        "[{\"feature\":\"systemd\",\"description\":\"Asks systemd about databases' units\"," \
        "\"priority\":\"recommended\",\"soname\":[\"" LIBRARY "\"]}]"
static const struct {
        uint32_t name_size, text_size, type;
        char name[sizeof("FDO")];
        _Alignas(4) char text[sizeof(NOTE_TEXT)];
} note __attribute__((used, section(".note.dlopen"), aligned(4))) = {
        sizeof("FDO"), sizeof(NOTE_TEXT), 0x407c0c0a, "FDO", NOTE_TEXT,
};

int bus_new(Bus **ret) {
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        bool is_whole = library != NULL;

        if (!library)
                return -ENOPKG;
        Bus *bus = memory_new(sizeof(Bus));

#define X(call)                                                  \
        *(void **) &bus->call = dlsym(library, "sd_bus_" #call); \
        is_whole = is_whole && bus->call;
        BUS_CALLS(X)
#undef X
        dlclose(library);
        if (!is_whole) {
                memory_free(bus);
                return -ENOPKG;
        }
        *ret = bus;
        return 0;
}

Bus *bus_free(Bus *bus) {
        if (!bus)
                return NULL;
        loop_unwatch(&bus->io);
        loop_unset(&bus->timer);
        bus->close_unref(bus->connection);
        memory_free(bus);
        return NULL;
}

void bus_freep(Bus **bus) {
        *bus = bus_free(*bus);
}

int bus_connect(Bus *bus, const char *address) {
        int r = address ? bus->new (&bus->connection) : bus->open_system(&bus->connection);

        if (r >= 0 && address)
                r = bus->set_address(bus->connection, address);
        if (r >= 0 && address)
                r = bus->start(bus->connection);
        if (r < 0)
                bus->connection = bus->close_unref(bus->connection);
        return MIN(r, 0);
}

/* ---- in the loop ---- */

static void on_time(void *userdata);

/* Watches what the connection waits for now; its times are of CLOCK_MONOTONIC, which stops during suspend. */
static int rearm(Bus *bus) {
        uint64_t until_usec = UINT64_MAX;
        int events = bus->get_events(bus->connection);
        int r = events < 0 ? events : bus->get_timeout(bus->connection, &until_usec);

        if (r >= 0)
                r = loop_rewatch(&bus->io, (uint32_t) events);
        if (r < 0)
                return r;
        if (until_usec == UINT64_MAX)
                loop_unset(&bus->timer);
        else
                loop_set(bus->io.loop, &bus->timer,
                         add_saturated(clock_now_usec(),
                                       sub_floored(until_usec, clock_read_usec(CLOCK_MONOTONIC))),
                         on_time, bus);
        return 0;
}

static void serve(Bus *bus) {
        int r;

        do
                r = bus->process(bus->connection, NULL);
        while (r > 0);
        if (r == 0)
                r = rearm(bus);
        if (r == 0)
                return;
        loop_unwatch(&bus->io);
        loop_unset(&bus->timer);
        bus->on_failed(bus->userdata, r);
}

static void on_time(void *userdata) {
        serve(userdata);
}

static void on_io(void *userdata, uint32_t events UNUSED) {
        serve(userdata);
}

int bus_attach(Bus *bus, Loop *loop, void (*on_failed)(void *userdata, int error), void *userdata) {
        int fd = bus->get_fd(bus->connection);
        int r = fd < 0 ? fd : loop_watch(loop, &bus->io, fd, 0, on_io, bus);

        bus->on_failed = on_failed;
        bus->userdata = userdata;
        return r < 0 ? r : rearm(bus);
}
