/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Readers of systemd's properties of a unit; any answer may come. */
#include "systemd/unit_property.h"

#include "base/macros.h"
#include "base/size.h"
#include "base/text.h"

#include <linux/capability.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

static int read_text(const UnitAnswer *answer, void *ret) {
        const char *text;
        int r = answer->bus->message_read_basic(answer->message, 's', &text);

        if (r > 0)
                *(const char **) ret = arena_strdup(answer->arena, text);
        return r;
}

/* Appends to the texts read earlier. */
static int read_texts(const UnitAnswer *answer, void *ret) {
        SourceNames *texts = ret;
        const char *text;
        int r = answer->bus->message_enter_container(answer->message, 'a', "s");

        if (r < 0)
                return r;
        while ((r = read_text(answer, &text)) > 0)
                *vec_push(answer->arena, texts) = text;
        return r < 0 ? r : answer->bus->message_exit_container(answer->message);
}

static int read_boolean(const UnitAnswer *answer, void *ret) {
        int yes = 0;
        int r = answer->bus->message_read_basic(answer->message, 'b', &yes);

        *(bool *) ret = yes;
        return r;
}

/* Reads one command: its path, its words, and the result of its last run. */
static int read_command(const UnitAnswer *answer, SourceNames *ret) {
        Text line = text_in(answer->arena);
        SourceNames words = {};
        const char *path;
        int r = answer->bus->message_enter_container(answer->message, 'r', "sasbttttuii");

        if (r <= 0)
                return r;
        r = read_text(answer, &path);
        if (r == 0)
                r = -EBADMSG;
        if (r >= 0)
                r = read_texts(answer, &words);
        if (r >= 0)
                r = answer->bus->message_skip(answer->message, "bttttuii");
        if (r >= 0)
                r = answer->bus->message_exit_container(answer->message);
        if (r < 0)
                return r;
        text_add(&line, path); /* the first word is what the program sees as its name */
        for (size_t i = 1; i < words.n; i++)
                text_printf(&line, " %s", words.items[i]);
        *vec_push(answer->arena, ret) = text_string(&line);
        return 1;
}

static int read_commands(const UnitAnswer *answer, void *ret) {
        int r = answer->bus->message_enter_container(answer->message, 'a', "(sasbttttuii)");

        while (r > 0)
                r = read_command(answer, ret);
        return r < 0 ? r : answer->bus->message_exit_container(answer->message);
}

/* RET is the unit, whose policy was read before. */
static int read_starts(const UnitAnswer *answer, void *ret) {
        LoadedUnit *unit = ret;
        int r = read_commands(answer, &unit->starts);

        if (unit->starts.n > 0)
                unit->policy =
                        unit_policy_of_start(answer->arena, unit->starts.items[0], unit->policy);
        return r;
}

static int read_u32(const UnitAnswer *answer, void *ret) {
        return answer->bus->message_read_basic(answer->message, 'u', ret);
}

static int read_u64(const UnitAnswer *answer, void *ret) {
        return answer->bus->message_read_basic(answer->message, 't', ret);
}

/* Reads whether CAP_IPC_LOCK is set. */
static int read_capabilities(const UnitAnswer *answer, void *ret) {
        uint64_t capabilities = 0;
        int r = answer->bus->message_read_basic(answer->message, 't', &capabilities);

        *(bool *) ret = capabilities & (UINT64_C(1) << CAP_IPC_LOCK);
        return r;
}

/* Weighted interleaving is treated as no policy, because it does not restrict the nodes predictably. */
static MemoryPolicyKind policy_kind(int mode) {
        return mode == MPOL_BIND         ? MEMORY_POLICY_BIND
               : mode == MPOL_INTERLEAVE ? MEMORY_POLICY_INTERLEAVE
                                         : MEMORY_POLICY_ANY;
}

MemoryPolicy unit_property_own_policy(void) {
        MemoryPolicy policy = {.kind = MEMORY_POLICY_ANY};
        int mode;

        if (syscall(SYS_get_mempolicy, &mode, policy.nodes.words, (unsigned long) ID_SET_MAX, NULL,
                    0) == 0)
                policy.kind = policy_kind(mode & ~MPOL_MODE_FLAGS);
        return policy;
}

/* -1: the unit sets none; it inherits the service manager's, as this process has. */
static int read_policy(const UnitAnswer *answer, void *ret) {
        int32_t mode = -1;
        int r = answer->bus->message_read_basic(answer->message, 'i', &mode);

        *(MemoryPolicy *) ret = mode < 0 ? unit_property_own_policy()
                                         : (MemoryPolicy){.kind = policy_kind(mode)};
        return r;
}

/* One bit for each node, the lowest first. */
static int read_nodes(const UnitAnswer *answer, void *ret) {
        const void *bytes;
        size_t size;
        int r = answer->bus->message_read_array(answer->message, 'y', &bytes, &size);

        for (unsigned i = 0; r >= 0 && i < MIN(size * 8, (size_t) ID_SET_MAX); i++)
                if (((const uint8_t *) bytes)[i / 8] & (1 << i % 8))
                        id_set_add(ret, i);
        return r;
}

/* Reads an id as hexadecimal text. */
static int read_id(const UnitAnswer *answer, void *ret) {
        Text text = text_in(answer->arena);
        const void *bytes;
        size_t size;
        int r = answer->bus->message_read_array(answer->message, 'y', &bytes, &size);

        for (size_t i = 0; r >= 0 && i < MIN(size, (size_t) 16); i++)
                text_printf(&text, "%02x", ((const uint8_t *) bytes)[i]);
        *(const char **) ret = text_string(&text);
        return r;
}

#define UNIT       UNIT_MANAGER ".Unit"
#define SERVICE    UNIT_MANAGER ".Service"
#define IN(member) offsetof(LoadedUnit, member)
enum { LOADED = UNIT_QUERY_LOADED, RUN = UNIT_QUERY_RUN, STATE = UNIT_QUERY_STATE };

/* Queried one by one, because a unit has hundreds of properties, and systemd reads the control group for some
 * of them. The soft limit is the one in effect. */
const UnitProperty unit_properties[] = {
        {UNIT, "LoadState", "s", read_text, IN(load_state), LOADED},
        {UNIT, "NeedDaemonReload", "b", read_boolean, IN(is_outdated), LOADED},
        {UNIT, "DropInPaths", "as", read_texts, IN(dropins), LOADED},
        {UNIT, "After", "as", read_texts, IN(after), LOADED},
        {UNIT, "ActiveState", "s", read_text, IN(active_state), RUN | STATE},
        {UNIT, "SubState", "s", read_text, IN(sub_state), RUN},
        {UNIT, "InvocationID", "ay", read_id, IN(run), RUN},
        {SERVICE, "ControlPID", "u", read_u32, IN(control_pid), RUN},
        {SERVICE, "MainPID", "u", read_u32, IN(main_pid), RUN},
        {SERVICE, "UID", "u", read_u32, IN(uid), RUN},
        {SERVICE, "ControlGroup", "s", read_text, IN(control_group), RUN},
        {SERVICE, "ExecStartPre", "a(sasbttttuii)", read_commands, IN(pre_starts), LOADED},
        {SERVICE, "LimitMEMLOCKSoft", "t", read_u64, IN(memory_lock_bytes), LOADED},
        {SERVICE, "AmbientCapabilities", "t", read_capabilities, IN(may_lock), LOADED},
        {SERVICE, "NUMAPolicy", "i", read_policy, IN(policy), LOADED | RUN},
        {SERVICE, "NUMAMask", "ay", read_nodes, IN(policy.nodes), LOADED | RUN},
        {SERVICE, "ExecStart", "a(sasbttttuii)", read_starts, 0,
         LOADED | RUN}, /* after its policy */
        {SERVICE, "User", "s", read_text, IN(user), LOADED},
        {SERVICE, "Group", "s", read_text, IN(group), LOADED},
        {SERVICE, "SupplementaryGroups", "as", read_texts, IN(groups), LOADED},
};

const size_t n_unit_properties = ARRAY_LEN(unit_properties);

LoadedUnit unit_property_none(const char *name) {
        return (LoadedUnit){
                .name = name,
                .load_state = "",
                .user = "",
                .group = "",
                .active_state = "",
                .uid = UINT32_MAX,
                .sub_state = "",
                .run = "",
                .control_group = "",
        };
}

int unit_property_read(const UnitProperty *property, const UnitAnswer *answer, LoadedUnit *unit) {
        int r = answer->bus->message_is_method_error(answer->message, NULL);

        if (r != 0)
                return r < 0 ? r : -answer->bus->message_get_errno(answer->message);
        r = answer->bus->message_enter_container(answer->message, 'v', property->type);
        if (r < 0)
                return r;
        return property->read(answer, (char *) unit + property->offset);
}
