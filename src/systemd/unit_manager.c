/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "systemd/unit_manager.h"

#include "base/memory.h"
#include "base/text.h"
#include "host/clock.h"
#include "model/names.h"

#include <linux/capability.h>
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>

#define SERVICE      "org.freedesktop.systemd1"
#define UNIT_OBJECTS "/org/freedesktop/systemd1/unit"

void unit_manager_disconnect(sd_bus **bus) {
        sd_bus_close_unref(*bus);
}

static void free_message(sd_bus_message **message) {
        sd_bus_message_unref(*message);
}

/* ---- connection ---- */

bool unit_manager_exists(const Root *root) {
        return root_is_host(root) ? root_is_directory(root, PATH_SYSTEMD_RUNS)
                                  : root_exists(root, PATH_SYSTEMD_PRIVATE);
}

static int open_private(const Root *root, Arena *arena, sd_bus **ret) {
        CLEANUP(unit_manager_disconnect) sd_bus *bus = NULL;
        int r = sd_bus_new(&bus);

        if (r >= 0)
                r = sd_bus_set_address(bus,
                                       arena_printf(arena, "unix:path=%s",
                                                    root_path(arena, root, PATH_SYSTEMD_PRIVATE)));
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

int unit_manager_connect(const Root *root, Arena *arena, sd_bus **ret) {
        int r = open_private(root, arena, ret);

        return r < 0 && root_is_host(root) ? sd_bus_open_system(ret) : r;
}

/* ---- values ---- */

typedef struct Reading {
        Arena *arena;
        LoadedUnit *unit;
} Reading;

static int read_text(Arena *arena, sd_bus_message *message, const char **ret) {
        const char *text;
        int r = sd_bus_message_read_basic(message, 's', &text);

        if (r > 0)
                *ret = arena_strdup(arena, text);
        return r;
}

/* What is read before is followed. */
static int read_texts(Arena *arena, sd_bus_message *message, SourceNames *ret) {
        const char *text;
        int r = sd_bus_message_enter_container(message, 'a', "s");

        if (r < 0)
                return r;
        while ((r = read_text(arena, message, &text)) > 0)
                *vec_push(arena, ret) = text;
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_load_state(Reading *reading, sd_bus_message *message) {
        return read_text(reading->arena, message, &reading->unit->load_state);
}

static int read_outdated(Reading *reading, sd_bus_message *message) {
        int is_outdated = 0;
        int r = sd_bus_message_read_basic(message, 'b', &is_outdated);

        reading->unit->is_outdated = is_outdated;
        return r;
}

static int read_dropins(Reading *reading, sd_bus_message *message) {
        return read_texts(reading->arena, message, &reading->unit->dropins);
}

static int read_after(Reading *reading, sd_bus_message *message) {
        return read_texts(reading->arena, message, &reading->unit->after);
}

/* One command: its path, its words, and how it went the last time. */
static int read_command(Reading *reading, sd_bus_message *message, SourceNames *ret) {
        Text line = text_in(reading->arena);
        SourceNames words = {};
        const char *path;
        int r = sd_bus_message_enter_container(message, 'r', "sasbttttuii");

        if (r <= 0)
                return r;
        r = read_text(reading->arena, message, &path);
        if (r == 0)
                r = -EBADMSG;
        if (r >= 0)
                r = read_texts(reading->arena, message, &words);
        if (r >= 0)
                r = sd_bus_message_skip(message, "bttttuii");
        if (r >= 0)
                r = sd_bus_message_exit_container(message);
        if (r < 0)
                return r;
        text_add(&line, path); /* the first word is what the program sees as its name */
        for (size_t i = 1; i < words.n; i++)
                text_printf(&line, " %s", words.items[i]);
        *vec_push(reading->arena, ret) = text_string(&line);
        return 1;
}

static int read_commands(Reading *reading, sd_bus_message *message, SourceNames *ret) {
        int r = sd_bus_message_enter_container(message, 'a', "(sasbttttuii)");

        while (r > 0)
                r = read_command(reading, message, ret);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_pre_starts(Reading *reading, sd_bus_message *message) {
        return read_commands(reading, message, &reading->unit->pre_starts);
}

static int read_starts(Reading *reading, sd_bus_message *message) {
        return read_commands(reading, message, &reading->unit->starts);
}

static int read_memory_lock(Reading *reading, sd_bus_message *message) {
        return sd_bus_message_read_basic(message, 't', &reading->unit->memory_lock_bytes);
}

static int read_capabilities(Reading *reading, sd_bus_message *message) {
        uint64_t capabilities = 0;
        int r = sd_bus_message_read_basic(message, 't', &capabilities);

        reading->unit->may_lock = capabilities & (UINT64_C(1) << CAP_IPC_LOCK);
        return r;
}

/* Weighted interleaving is confined to nothing that could be reckoned with. */
static int read_policy(Reading *reading, sd_bus_message *message) {
        int32_t policy = -1;
        int r = sd_bus_message_read_basic(message, 'i', &policy);

        reading->unit->is_bound = policy == MPOL_BIND;
        reading->unit->policy.kind = policy == MPOL_BIND         ? MEMORY_POLICY_BIND
                                     : policy == MPOL_INTERLEAVE ? MEMORY_POLICY_INTERLEAVE
                                                                 : MEMORY_POLICY_ANY;
        return r;
}

/* A bit for each node, the lowest first. */
static int read_nodes(Reading *reading, sd_bus_message *message) {
        const void *bytes;
        size_t size;
        int r = sd_bus_message_read_array(message, 'y', &bytes, &size);

        for (unsigned i = 0; r >= 0 && i < MIN(size * 8, (size_t) ID_SET_MAX); i++)
                if (((const uint8_t *) bytes)[i / 8] & (1 << i % 8))
                        id_set_add(&reading->unit->nodes, i);
        reading->unit->policy.nodes = reading->unit->nodes;
        return r;
}

static int read_active_state(Reading *reading, sd_bus_message *message) {
        return read_text(reading->arena, message, &reading->unit->active_state);
}

static int read_sub_state(Reading *reading, sd_bus_message *message) {
        return read_text(reading->arena, message, &reading->unit->sub_state);
}

static int read_control_pid(Reading *reading, sd_bus_message *message) {
        return sd_bus_message_read_basic(message, 'u', &reading->unit->control_pid);
}

static int read_main_pid(Reading *reading, sd_bus_message *message) {
        return sd_bus_message_read_basic(message, 'u', &reading->unit->main_pid);
}

static int read_control_group(Reading *reading, sd_bus_message *message) {
        return read_text(reading->arena, message, &reading->unit->control_group);
}

static int read_run(Reading *reading, sd_bus_message *message) {
        Text text = text_in(reading->arena);
        const void *bytes;
        size_t size;
        int r = sd_bus_message_read_array(message, 'y', &bytes, &size);

        for (size_t i = 0; r >= 0 && i < MIN(size, (size_t) 16); i++)
                text_printf(&text, "%02x", ((const uint8_t *) bytes)[i]);
        reading->unit->run = text_string(&text);
        return r;
}

static int read_user(Reading *reading, sd_bus_message *message) {
        return read_text(reading->arena, message, &reading->unit->user);
}

static int read_group(Reading *reading, sd_bus_message *message) {
        return read_text(reading->arena, message, &reading->unit->group);
}

static int read_groups(Reading *reading, sd_bus_message *message) {
        return read_texts(reading->arena, message, &reading->unit->groups);
}

/* ---- questions ---- */

typedef struct Property {
        const char *interface;
        const char *name;
        const char *type;
        int (*read)(Reading *reading, sd_bus_message *message); /* negative errno */
        unsigned wanted;
} Property;

/* One by one: all of a unit's are hundreds, and for some of them systemd reads its control group. The
 * soft limit is the one that counts. */
static const Property properties[] = {
        {SERVICE ".Unit", "LoadState", "s", read_load_state, UNIT_QUERY_LOADED},
        {SERVICE ".Unit", "NeedDaemonReload", "b", read_outdated, UNIT_QUERY_LOADED},
        {SERVICE ".Unit", "DropInPaths", "as", read_dropins, UNIT_QUERY_LOADED},
        {SERVICE ".Unit", "After", "as", read_after, UNIT_QUERY_LOADED},
        {SERVICE ".Unit", "ActiveState", "s", read_active_state, UNIT_QUERY_RUN},
        {SERVICE ".Unit", "SubState", "s", read_sub_state, UNIT_QUERY_RUN},
        {SERVICE ".Unit", "InvocationID", "ay", read_run, UNIT_QUERY_RUN},
        {SERVICE ".Service", "ControlPID", "u", read_control_pid, UNIT_QUERY_RUN},
        {SERVICE ".Service", "MainPID", "u", read_main_pid, UNIT_QUERY_RUN},
        {SERVICE ".Service", "ControlGroup", "s", read_control_group, UNIT_QUERY_RUN},
        {SERVICE ".Service", "ExecStartPre", "a(sasbttttuii)", read_pre_starts, UNIT_QUERY_LOADED},
        {SERVICE ".Service", "ExecStart", "a(sasbttttuii)", read_starts, UNIT_QUERY_LOADED},
        {SERVICE ".Service", "LimitMEMLOCKSoft", "t", read_memory_lock, UNIT_QUERY_LOADED},
        {SERVICE ".Service", "AmbientCapabilities", "t", read_capabilities, UNIT_QUERY_LOADED},
        {SERVICE ".Service", "NUMAPolicy", "i", read_policy, UNIT_QUERY_LOADED | UNIT_QUERY_RUN},
        {SERVICE ".Service", "NUMAMask", "ay", read_nodes, UNIT_QUERY_LOADED | UNIT_QUERY_RUN},
        {SERVICE ".Service", "User", "s", read_user, UNIT_QUERY_LOADED},
        {SERVICE ".Service", "Group", "s", read_group, UNIT_QUERY_LOADED},
        {SERVICE ".Service", "SupplementaryGroups", "as", read_groups, UNIT_QUERY_LOADED},
};

struct UnitQuery {
        Arena *arena;
        sd_bus *bus;
        LoadedUnits units;
        size_t n_open; /* questions without an answer */
        int error;     /* the first that came instead of one */
        UnitQueryHandler handler;
        void *userdata;
        sd_event_source *limit_timer, *end;
};

typedef struct Asked {
        UnitQuery *query;
        const Property *property;
        LoadedUnit *unit;
} Asked;

static bool is_answered(const UnitQuery *query) {
        return query->n_open == 0 || query->error < 0;
}

static int read_answer(const Asked *asked, sd_bus_message *message) {
        int r = sd_bus_message_is_method_error(message, NULL);

        if (r != 0)
                return r < 0 ? r : -sd_bus_message_get_errno(message);
        r = sd_bus_message_enter_container(message, 'v', asked->property->type);
        if (r < 0)
                return r;
        return asked->property->read(&(Reading){asked->query->arena, asked->unit}, message);
}

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const Asked *asked = userdata;
        UnitQuery *query = asked->query;
        int r = read_answer(asked, message);

        (void) error;
        query->n_open--;
        if (r < 0 && query->error == 0)
                /* To libsystemd, what nobody can answer any more has timed out. */
                query->error = sd_bus_is_open(query->bus) > 0 ? r : -ECONNRESET;
        if (is_answered(query) && query->end)
                sd_event_source_set_enabled(query->end, SD_EVENT_ONESHOT);
        return 0;
}

static int ask(UnitQuery *query, const char *object, const Property *property, LoadedUnit *unit) {
        CLEANUP(free_message) sd_bus_message *call = NULL;
        Asked *asked = ARENA_NEW(query->arena, Asked);
        int r = sd_bus_message_new_method_call(query->bus, &call, SERVICE, object,
                                               "org.freedesktop.DBus.Properties", "Get");

        *asked = (Asked){query, property, unit};
        if (r >= 0)
                r = sd_bus_message_append(call, "ss", property->interface, property->name);
        if (r >= 0)
                r = sd_bus_call_async(query->bus, NULL, call, on_answer, asked, UINT64_MAX);
        if (r >= 0)
                query->n_open++;
        return r;
}

static int ask_all(UnitQuery *query, unsigned wanted, LoadedUnit *unit) {
        char *object = NULL;
        int r = sd_bus_path_encode(UNIT_OBJECTS, unit->name, &object);

        for (size_t i = 0; r >= 0 && i < ARRAY_LEN(properties); i++)
                if (properties[i].wanted & wanted)
                        r = ask(query, object, &properties[i], unit);
        free(object);
        return r;
}

int unit_query_new(const Root *root, Arena *arena, const SourceNames *names, unsigned wanted,
                   UnitQuery **ret) {
        CLEANUP(unit_query_freep) UnitQuery *query = memory_new(sizeof(UnitQuery));

        query->arena = arena;
        VEC_FOREACH(name, names)
                *vec_push(arena, &query->units) = (LoadedUnit){
                        .name = arena_strdup(arena, *name),
                        .load_state = "",
                        .user = "",
                        .group = "",
                        .active_state = "",
                        .sub_state = "",
                        .run = "",
                        .control_group = "",
                };
        int r = unit_manager_connect(root, arena, &query->bus);

        for (size_t i = 0; r >= 0 && i < query->units.n; i++)
                r = ask_all(query, wanted, &query->units.items[i]);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(query);
        return 0;
}

UnitQuery *unit_query_free(UnitQuery *query) {
        if (!query)
                return NULL;
        sd_event_source_disable_unref(query->limit_timer);
        sd_event_source_disable_unref(query->end);
        if (query->bus)
                sd_bus_detach_event(query->bus);
        sd_bus_close_unref(query->bus);
        memory_free(query);
        return NULL;
}

void unit_query_freep(UnitQuery **query) {
        *query = unit_query_free(*query);
}

/* ---- answers ---- */

int unit_query_wait(UnitQuery *query, uint64_t limit_usec, LoadedUnits *ret) {
        uint64_t until_usec = add_saturated(clock_now_usec(), limit_usec);

        while (!is_answered(query)) {
                uint64_t left = sub_floored(until_usec, clock_now_usec());
                int r = sd_bus_process(query->bus, NULL);

                if (r == 0)
                        r = left > 0 ? sd_bus_wait(query->bus, left) : -ETIMEDOUT;
                if (r < 0 && r != -EINTR)
                        return r;
        }
        if (query->error == 0)
                *ret = query->units;
        return query->error;
}

static int on_end(sd_event_source *source, void *userdata) {
        UnitQuery *query = userdata;

        (void) source;
        query->handler(query->userdata, query->error, &query->units);
        return 0;
}

static int on_limit(sd_event_source *source, uint64_t usec, void *userdata) {
        UnitQuery *query = userdata;

        (void) source;
        (void) usec;
        query->handler(query->userdata, -ETIMEDOUT, NULL);
        return 0;
}

/* The end is told from the loop, not from within libsystemd's reading of an answer. */
int unit_query_attach(UnitQuery *query, sd_event *event, uint64_t limit_usec,
                      UnitQueryHandler handler, void *userdata) {
        query->handler = handler;
        query->userdata = userdata;
        int r = sd_event_add_defer(event, &query->end, on_end, query);

        if (r >= 0 && !is_answered(query))
                r = sd_event_source_set_enabled(query->end, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_time_relative(event, &query->limit_timer, CLOCK_BOOTTIME,
                                               limit_usec, 0, on_limit, query);
        if (r >= 0)
                r = sd_bus_attach_event(query->bus, event, SD_EVENT_PRIORITY_NORMAL);
        return MIN(r, 0);
}
