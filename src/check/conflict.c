/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/rules.h"

#include "base/size.h"
#include "base/text.h"
#include "config/config.h"
#include "model/names.h"
#include "model/problem.h"
#include "plan/host_plan.h"

#include <string.h>

static const struct {
        ProblemKind problem;
        const char *acts; /* when the reader of an entry applies it */
} sources[] = {
        [SETTING_SOURCE_KERNEL_COMMAND_LINE] = {PROBLEM_CONFLICT_COMMAND_LINE,
                                                "the kernel applies it at every boot"},
        [SETTING_SOURCE_SYSCTL] = {PROBLEM_CONFLICT_SYSCTL,
                                   "systemd-sysctl applies it again whenever a package triggers it"},
        [SETTING_SOURCE_TMPFILES] = {PROBLEM_CONFLICT_TMPFILES,
                                     "systemd-tmpfiles applies it at every boot, after hugeplan"},
        [SETTING_SOURCE_TUNED] = {PROBLEM_CONFLICT_TUNED,
                                  "tuned applies it whenever it starts, after hugeplan"},
        [SETTING_SOURCE_SYSFS] = {PROBLEM_CONFLICT_SCRIPT,
                                  "sysfsutils applies it at every boot, before or after hugeplan"},
        [SETTING_SOURCE_SCRIPT] = {PROBLEM_CONFLICT_SCRIPT, NULL},
};

/* Returns the gid that vm.hugetlb_shm_group is to have; 0: not known. */
static uint64_t own_group(Arena *arena, const HostView *input) {
        const Account *own =
                input->accounts ? account_find_group(arena, input->accounts, NAME_HUGETLB_GROUP)
                                : NULL;

        return own ? own->id : 0;
}

/* ---- conflicts ---- */

/* Returns the least value of kernel.shmmax (bytes) or kernel.shmall (base pages). */
static uint64_t needed_limit(const HostView *input, SettingSourceKind what) {
        return what == SETTING_SOURCE_SHMMAX
                       ? limits_sysv_bytes(input->plan, false)
                       : topology_base_pages(input->topology, limits_sysv_bytes(input->plan, true));
}

static bool is_conflict(Arena *arena, const HostView *input, const SettingSource *entry) {
        const Plan *plan = input->plan;
        bool is_reserving =
                ARRAY_ANY(instance, plan->instances, plan->n_instances, instance->pages_wanted > 0);
        ThpPolicy policy = input->thp->policy;
        uint64_t limit;

        switch (entry->what) {
        case SETTING_SOURCE_NR_HUGEPAGES:
        case SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY:
        case SETTING_SOURCE_SIZE_POOL:
        case SETTING_SOURCE_NODE_POOL:
                /* Pages that the kernel reserved at boot count for the plan. The kernel refuses a value that is no
                 * number; a variable of tuned may become one. */
                return is_reserving && (entry->source == SETTING_SOURCE_KERNEL_COMMAND_LINE
                                                ? text_starts_with(entry->key, "sysctl")
                                                : entry->source == SETTING_SOURCE_TUNED ||
                                                          setting_source_is_number(entry));
        case SETTING_SOURCE_NR_OVERCOMMIT_HUGEPAGES:
                return is_reserving && !setting_source_explains(entry, "0");
        case SETTING_SOURCE_HUGETLB_SHM_GROUP:
                return limits_sysv_bytes(plan, false) > 0 &&
                       !setting_source_explains(
                               entry, arena_printf(arena, "%" PRIu64, own_group(arena, input)));
        case SETTING_SOURCE_SHMMAX:
        case SETTING_SOURCE_SHMALL:
                return !input->config->host.keep_shared_memory_limits &&
                       kernel_number_parse(entry->value, &limit, NULL) == 0 &&
                       limit < needed_limit(input, entry->what);
        case SETTING_SOURCE_UNCLEAR:
                return is_reserving;
        case SETTING_SOURCE_UNCLEAR_THP:
                return policy != THP_KEEP && policy != THP_AUTO;
        case SETTING_SOURCE_THP:
        case SETTING_SOURCE_THP_SIZE:
                /* For a single size, a policy that gives no more than the plan does no harm. */
                return policy != THP_KEEP && policy != THP_AUTO &&
                       !text_equals(entry->value, thp_policy_name(policy)) &&
                       (entry->what == SETTING_SOURCE_THP ||
                        !(text_equals(entry->value, "never") ||
                          text_equals(entry->value, "inherit")));
        default:
                return false;
        }
}

/* ---- texts ---- */

const char *conflict_place_remedy(Arena *arena, const SettingSource *entry) {
        const char *slash = strrchr(entry->file, '/');

        if (entry->source == SETTING_SOURCE_KERNEL_COMMAND_LINE)
                return "remove it from the kernel command line";
        if (entry->what >= SETTING_SOURCE_UNCLEAR)
                return "check it: a command that sets pools, or another policy than the plan, must be removed";
        /* A file of a package comes back with the next update. */
        if (!slash ||
            !(text_starts_with(entry->file, "/usr/lib/") || text_starts_with(entry->file, "/lib/")))
                return "delete the line";
        if (entry->source == SETTING_SOURCE_TUNED)
                return "copy the profile to /etc/tuned and delete the line there";
        return arena_printf(arena, "put a copy without the line into /etc/%s.d/%s",
                            setting_source_source_name(entry->source), slash + 1);
}

void conflicts_add(Arena *arena, const HostView *input, Diags *problems) {
        if (input->config->n_instances == 0)
                return;
        VEC_FOREACH(entry, &input->setting_sources->list) {
                if (!is_conflict(arena, input, entry))
                        continue;
                const char *place = conflict_place_remedy(arena, entry);
                bool is_mention = entry->what >= SETTING_SOURCE_UNCLEAR;
                bool has_effect = !is_mention && entry->is_effective;
                Diag diag = {.severity = has_effect ? SEVERITY_WARNING : SEVERITY_NOTICE,
                             .id = problem_id(sources[entry->source].problem),
                             .file = entry->file,
                             .line = entry->line,
                             .key = entry->key,
                             .remedy = place};

                if (entry->what == SETTING_SOURCE_THP)
                        diag.remedy = arena_printf(arena,
                                                   "%s, or write TransparentHugePages=%s in [Host]",
                                                   place, entry->value);
                if (is_mention)
                        diags_report(problems, diag,
                                     "mentions huge pages, and %s; what it sets is not counted",
                                     entry->section);
                else
                        diags_report(problems, diag, "'%s' works against the plan%s%s",
                                     entry->value,
                                     has_effect ? "; " : ", but another line overrides it",
                                     has_effect ? sources[entry->source].acts : "");
        }
}
