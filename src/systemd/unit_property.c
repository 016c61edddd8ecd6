/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What systemd says of a unit, property by property: whatever it says. */
#include "systemd/unit_property.h"

#include "base/macros.h"
#include "base/size.h"
#include "base/text.h"

#include <linux/capability.h>
#include <linux/mempolicy.h>

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

static int read_outdated(UnitReading *reading, sd_bus_message *message) {
        int is_outdated = 0;
        int r = sd_bus_message_read_basic(message, 'b', &is_outdated);

        reading->unit->is_outdated = is_outdated;
        return r;
}

/* One command: its path, its words, and how it went the last time. */
static int read_command(Arena *arena, sd_bus_message *message, SourceNames *ret) {
        Text line = text_in(arena);
        SourceNames words = {};
        const char *path;
        int r = sd_bus_message_enter_container(message, 'r', "sasbttttuii");

        if (r <= 0)
                return r;
        r = read_text(arena, message, &path);
        if (r == 0)
                r = -EBADMSG;
        if (r >= 0)
                r = read_texts(arena, message, &words);
        if (r >= 0)
                r = sd_bus_message_skip(message, "bttttuii");
        if (r >= 0)
                r = sd_bus_message_exit_container(message);
        if (r < 0)
                return r;
        text_add(&line, path); /* the first word is what the program sees as its name */
        for (size_t i = 1; i < words.n; i++)
                text_printf(&line, " %s", words.items[i]);
        *vec_push(arena, ret) = text_string(&line);
        return 1;
}

static int read_commands(Arena *arena, sd_bus_message *message, SourceNames *ret) {
        int r = sd_bus_message_enter_container(message, 'a', "(sasbttttuii)");

        while (r > 0)
                r = read_command(arena, message, ret);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

/* What is read into a member as it is. */
#define MEMBER_READER(member, read)                                               \
        static int read_##member(UnitReading *reading, sd_bus_message *message) { \
                return read(reading->arena, message, &reading->unit->member);     \
        }
MEMBER_READER(load_state, read_text)
MEMBER_READER(active_state, read_text)
MEMBER_READER(sub_state, read_text)
MEMBER_READER(control_group, read_text)
MEMBER_READER(user, read_text)
MEMBER_READER(group, read_text)
MEMBER_READER(dropins, read_texts)
MEMBER_READER(after, read_texts)
MEMBER_READER(groups, read_texts)
MEMBER_READER(pre_starts, read_commands)
MEMBER_READER(starts, read_commands)
#undef MEMBER_READER

static int read_memory_lock(UnitReading *reading, sd_bus_message *message) {
        return sd_bus_message_read_basic(message, 't', &reading->unit->memory_lock_bytes);
}

static int read_capabilities(UnitReading *reading, sd_bus_message *message) {
        uint64_t capabilities = 0;
        int r = sd_bus_message_read_basic(message, 't', &capabilities);

        reading->unit->may_lock = capabilities & (UINT64_C(1) << CAP_IPC_LOCK);
        return r;
}

/* Weighted interleaving is confined to nothing that could be reckoned with. */
static int read_policy(UnitReading *reading, sd_bus_message *message) {
        int32_t policy = -1;
        int r = sd_bus_message_read_basic(message, 'i', &policy);

        reading->unit->is_bound = policy == MPOL_BIND;
        reading->unit->policy.kind = policy == MPOL_BIND         ? MEMORY_POLICY_BIND
                                     : policy == MPOL_INTERLEAVE ? MEMORY_POLICY_INTERLEAVE
                                                                 : MEMORY_POLICY_ANY;
        return r;
}

/* A bit for each node, the lowest first. */
static int read_nodes(UnitReading *reading, sd_bus_message *message) {
        const void *bytes;
        size_t size;
        int r = sd_bus_message_read_array(message, 'y', &bytes, &size);

        for (unsigned i = 0; r >= 0 && i < MIN(size * 8, (size_t) ID_SET_MAX); i++)
                if (((const uint8_t *) bytes)[i / 8] & (1 << i % 8))
                        id_set_add(&reading->unit->nodes, i);
        reading->unit->policy.nodes = reading->unit->nodes;
        return r;
}

static int read_control_pid(UnitReading *reading, sd_bus_message *message) {
        return sd_bus_message_read_basic(message, 'u', &reading->unit->control_pid);
}

static int read_main_pid(UnitReading *reading, sd_bus_message *message) {
        return sd_bus_message_read_basic(message, 'u', &reading->unit->main_pid);
}

static int read_run(UnitReading *reading, sd_bus_message *message) {
        Text text = text_in(reading->arena);
        const void *bytes;
        size_t size;
        int r = sd_bus_message_read_array(message, 'y', &bytes, &size);

        for (size_t i = 0; r >= 0 && i < MIN(size, (size_t) 16); i++)
                text_printf(&text, "%02x", ((const uint8_t *) bytes)[i]);
        reading->unit->run = text_string(&text);
        return r;
}

/* One by one: all of a unit's are hundreds, and for some of them systemd reads its control group. The
 * soft limit is the one that counts. */
const UnitProperty unit_properties[] = {
        {UNIT_MANAGER ".Unit", "LoadState", "s", read_load_state, UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Unit", "NeedDaemonReload", "b", read_outdated, UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Unit", "DropInPaths", "as", read_dropins, UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Unit", "After", "as", read_after, UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Unit", "ActiveState", "s", read_active_state, UNIT_QUERY_RUN},
        {UNIT_MANAGER ".Unit", "SubState", "s", read_sub_state, UNIT_QUERY_RUN},
        {UNIT_MANAGER ".Unit", "InvocationID", "ay", read_run, UNIT_QUERY_RUN},
        {UNIT_MANAGER ".Service", "ControlPID", "u", read_control_pid, UNIT_QUERY_RUN},
        {UNIT_MANAGER ".Service", "MainPID", "u", read_main_pid, UNIT_QUERY_RUN},
        {UNIT_MANAGER ".Service", "ControlGroup", "s", read_control_group, UNIT_QUERY_RUN},
        {UNIT_MANAGER ".Service", "ExecStartPre", "a(sasbttttuii)", read_pre_starts,
         UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Service", "ExecStart", "a(sasbttttuii)", read_starts, UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Service", "LimitMEMLOCKSoft", "t", read_memory_lock, UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Service", "AmbientCapabilities", "t", read_capabilities, UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Service", "NUMAPolicy", "i", read_policy,
         UNIT_QUERY_LOADED | UNIT_QUERY_RUN},
        {UNIT_MANAGER ".Service", "NUMAMask", "ay", read_nodes, UNIT_QUERY_LOADED | UNIT_QUERY_RUN},
        {UNIT_MANAGER ".Service", "User", "s", read_user, UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Service", "Group", "s", read_group, UNIT_QUERY_LOADED},
        {UNIT_MANAGER ".Service", "SupplementaryGroups", "as", read_groups, UNIT_QUERY_LOADED},
};

const size_t n_unit_properties = ARRAY_LEN(unit_properties);

LoadedUnit unit_property_none(const char *name) {
        return (LoadedUnit){
                .name = name,
                .load_state = "",
                .user = "",
                .group = "",
                .active_state = "",
                .sub_state = "",
                .run = "",
                .control_group = "",
        };
}

int unit_property_read(const UnitProperty *property, Arena *arena, sd_bus_message *message,
                       LoadedUnit *unit) {
        int r = sd_bus_message_is_method_error(message, NULL);

        if (r != 0)
                return r < 0 ? r : -sd_bus_message_get_errno(message);
        r = sd_bus_message_enter_container(message, 'v', property->type);
        if (r < 0)
                return r;
        return property->read(&(UnitReading){arena, unit}, message);
}
