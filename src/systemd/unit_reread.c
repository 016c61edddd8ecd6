/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The method Reload(): org.freedesktop.systemd1(5). */
#include "systemd/unit_reread.h"

#include "base/memory.h"

struct UnitReread {
        Arena *arena;
        UnitRequest request;
};

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error UNUSED) {
        UnitReread *reread = userdata;

        unit_request_end(&reread->request, -reread->request.bus->message_get_errno(message));
        return 0;
}

static void freep(UnitReread **reread) {
        *reread = unit_reread_free(*reread);
}

int unit_reread_new(const Root *root, Loop *loop, uint64_t limit_usec, UnitRequestHandler handler,
                    void *userdata, UnitReread **ret) {
        CLEANUP(freep) UnitReread *reread = memory_new(sizeof(UnitReread));

        reread->arena = arena_new();
        int r = unit_manager_connect(root, reread->arena, &reread->request.bus);
        const Bus *bus = reread->request.bus;

        if (r >= 0)
                r = bus->call_method_async(bus->connection, NULL, UNIT_MANAGER, UNIT_MANAGER_OBJECT,
                                           UNIT_MANAGER ".Manager", "Reload", on_answer, reread,
                                           NULL);
        if (r >= 0)
                r = unit_request_attach(&reread->request, loop, limit_usec, handler, userdata);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(reread);
        return 0;
}

UnitReread *unit_reread_free(UnitReread *reread) {
        if (!reread)
                return NULL;
        unit_request_close(&reread->request);
        arena_free(reread->arena);
        memory_free(reread);
        return NULL;
}
