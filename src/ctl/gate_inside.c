/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/gate_inside.h"

#include "base/size.h"
#include "base/text.h"
#include "config/instance_limits.h"
#include "ctl/daemon_call.h"
#include "demand/learned.h"
#include "demand/seen.h"
#include "host/config_load.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "inspect/process_files.h"
#include "model/names.h"
#include "plan/host_plan.h"
#include "runtime/log.h"
#include "units/memory_limit.h"

#include <linux/capability.h>
#include <string.h>

/* ---- memory ---- */

static MemoryUse use_of(const StatusInstance *instance, const char *group) {
        return (MemoryUse){instance->name, group,
                           mul_saturated(instance->pages_wanted, instance->page_size_bytes)};
}

/* The memory of this instance, of the others of its unit, and of running ones, which may share a slice. */
static MemoryUses find_uses(Command *command, const Status *status, const StatusInstance *instance,
                            const char *own_group) {
        MemoryUses uses = {};

        *vec_push(command->arena, &uses) = use_of(instance, own_group);
        for (size_t i = 0; status && i < status->n_instances; i++) {
                const StatusInstance *other = &status->instances[i];

                if (!other->unit || text_equals(other->name, instance->name))
                        continue;
                const char *group =
                        text_equals(other->unit, instance->unit)
                                ? own_group
                                : unit_cgroup_running(command->root, command->arena, other->unit);

                if (group)
                        *vec_push(command->arena, &uses) = use_of(other, group);
        }
        return uses;
}

static Reason judge_memory(Command *command, const Status *status, const StatusInstance *instance,
                           const char *group) {
        HostSources sources = host_sources(command->root, command->arena);
        const char *why;

        if (!memory_limits_count_huge_pages(command->arena, &sources.sources))
                return (Reason){};
        MemoryLimits limits = memory_limits_read(command->arena, &sources.sources,
                                                 unit_cgroup_hierarchy(command->root), group);

        if (limits.n == 0)
                return (Reason){};
        MemoryUses uses =
                find_uses(command, status ? status : ask_status(command, &why), instance, group);

        return memory_limits_judge(command->arena, &limits, &uses);
}

/* ---- the right to System V segments ---- */

/* The rule of the kernel's can_do_hugetlb_shm(), for this process, which has the credentials of the database. */
static bool may_have_segments(const Root *root, Arena *arena, uint64_t group) {
        char *text = NULL, *line;
        uint64_t value;

        if (root_read_attribute(root, arena, PATH_SELF_STATUS, &text) < 0)
                return true;
        while ((line = strsep(&text, "\n"))) {
                const char *rest = line, *name = text_next_word(arena, &rest, ":\t "), *word;

                while (name && (word = text_next_word(arena, &rest, "\t ")))
                        if (text_equals(name, "CapEff")
                                    ? parse_hex_u64(word, &value) == 0 &&
                                              value & (UINT64_C(1) << CAP_IPC_LOCK)
                                    : TEXT_IS_ANY(name, "Gid", "Groups") &&
                                              parse_u64(word, &value) == 0 && value == group)
                                return true;
        }
        return false;
}

static Reason judge_right(Command *command, const StatusInstance *instance) {
        Arena *arena = command->arena;
        HostSources sources = host_sources(command->root, command->arena);
        const Accounts groups = accounts_read_groups(arena, &sources.sources);

        if (account_find_group(arena, &groups, NAME_HUGETLB_GROUP))
                return (Reason){};
        const InstanceConfig *config = config_find(read_config(command), instance->name);

        if (!config || !instance_needs_group(config))
                return (Reason){};
        const Topology *topology = probe_topology(command->root, arena);

        if (topology_kernel_lacks(topology, KERNEL_SHM_BY_GROUP) ||
            may_have_segments(command->root, arena, topology->limits.shm_group))
                return (Reason){};
        return (Reason){REASON_SHM_GROUP_MISSING,
                        arena_printf(arena,
                                     "there is no group '" NAME_HUGETLB_GROUP
                                     "', and without it the kernel refuses the System V segments "
                                     "of huge pages that %s describes",
                                     config->file),
                        SHM_GROUP_REMEDY};
}

/* ---- both ---- */

void gate_judge_inside(Command *command, const Status *status, StatusInstance *instance) {
        const char *group = instance->unit
                                    ? unit_cgroup_own(command->root, command->arena, instance->unit)
                                    : NULL;

        if (!group || !verdict_lets_start(instance->verdict))
                return;
        Reason reason = judge_right(command, instance);

        if (reason.kind == REASON_NONE)
                reason = judge_memory(command, status, instance, group);
        if (reason.kind == REASON_NONE)
                return;
        instance->verdict = instance->shortage == SHORTAGE_DEGRADE ? VERDICT_DEGRADED
                                                                   : VERDICT_REFUSED;
        instance->reason = reason;
}

/* ---- a size as given that is too small ---- */

/* The mapped pages may be fewer than the database takes now, so the warning does not recommend that figure. */
static void warn_of_size(Command *command, const StatusInstance *instance, bool is_its_word,
                         const char *who, uint64_t pages) {
        Arena *arena = command->arena;
        const char *page_size = format_page_size(arena, instance->page_size_bytes);

        log_line(
                LOG_WARNING,
                "%s: too little: %s %s pages of %s, and its size as given makes %s; it does not start with them, or does without any; write Memory=auto%s",
                instance->name, who, format_count(arena, pages), page_size,
                format_count(arena, instance->pages_wanted),
                is_its_word ? arena_printf(arena, ", or Pages=%s:%" PRIu64, page_size, pages) : "");
}

/* Whether a warning is possible, by the files named after the instance only, so that a gate need not read all others.
  */
static bool may_differ(const Command *command, const StatusInstance *instance) {
        const InstanceConfig named = {.file = instance->file};

        if (!root_exists(command->root, learned_path(command->arena, &named)) &&
            !root_exists(command->root, learned_old_path(command->arena, &named)))
                return false;
        const Config *called =
                config_load_called(command->root, command->arena, command->draft, instance->name);
        const InstanceConfig *config = config_find(called, instance->name);

        return !config || config->refusal || config->memory_kind != MEMORY_AUTO;
}

void gate_warn_of_size(Command *command, const StatusInstance *instance) {
        if (!instance->file || !may_differ(command, instance))
                return;
        const InstanceConfig *config = config_find(read_config(command), instance->name);

        if (!config || config->refusal || config->memory_kind == MEMORY_AUTO ||
            instance->pages_wanted == 0)
                return;
        const Learned *learned = &config->learned;
        uint64_t asked = learned->is_exact
                                 ? page_counts_find(&learned->pages, instance->page_size_bytes)
                                 : 0;
        uint64_t seen = seen_is_known(config)
                                ? page_counts_find(&learned->seen.pages, instance->page_size_bytes)
                                : 0;

        if (asked > instance->pages_wanted)
                warn_of_size(command, instance, true,
                             arena_printf(command->arena, "%s itself says that it takes",
                                          config->engine->title),
                             asked);
        /* With other settings the database may take less now; the answer of the server decides. */
        else if (seen > instance->pages_wanted && asked == 0)
                warn_of_size(command, instance, false, "it was seen to have mapped", seen);
}
