/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What can go wrong with Oracle and other users of System V shared memory. Sources: Oracle's Database Reference
 * (USE_LARGE_PAGES, MEMORY_TARGET) and Linux installation guides, as quoted beside the engine; fs/hugetlbfs/inode.c
 * hugetlb_file_setup(), ipc/shm.c newseg(). */

#include "base/text.h"
#include "check/rule_run.h"
#include "engines/oracle/oracle.h"
#include "model/names.h"

#include <string.h>

/* ---- parameters ---- */

/* One SGA of a unit. If the unit has several, their settings are named SID.NAME. */
typedef struct Sga {
        const char *name; /* "orders", "dbs (ORCL)" */
        const char *sid;  /* NULL: the unit's only SGA */
        const Setting *large_pages;
} Sga;

typedef VEC(Sga) Sgas;

static Sgas sgas_of(RuleRun *run, const RuleInstance *instance) {
        const char *name = instance->config->name;
        const SourceNames sids = instance->gathered
                                         ? oracle_sids_of(run->arena, &instance->gathered->settings)
                                         : (SourceNames){};
        Sgas sgas = {};

        VEC_FOREACH(sid, &sids)
                *vec_push(run->arena, &sgas) =
                        (Sga){*sid ? arena_printf(run->arena, "%s (%s)", name, *sid) : name, *sid,
                              oracle_parameter_find(&instance->gathered->settings, *sid,
                                                    "use_large_pages")};
        return sgas;
}

static bool is_zero(const char *value) {
        return *value != '\0' && value[strspn(value, "0")] == '\0';
}

static void find_amm(RuleRun *run, const RuleInstance *instance) {
        const Sgas sgas = sgas_of(run, instance);

        VEC_FOREACH(sga, &sgas) {
                const Settings *settings = &instance->gathered->settings;
                const Setting *target = oracle_parameter_find(settings, sga->sid, "memory_target");
                const Setting *most =
                        oracle_parameter_find(settings, sga->sid, "memory_max_target");
                const Setting *setting = target && !is_zero(target->value) ? target : most;

                if (setting && !is_zero(setting->value))
                        rule_report(
                                run, rule_at_setting(run, setting),
                                "ALTER SYSTEM RESET memory_target and memory_max_target, and set sga_target and pga_aggregate_target instead",
                                "%s has %s=%s: automatic memory management uses /dev/shm and takes no huge pages; with use_large_pages=only the instance does not start (ORA-00845)",
                                sga->name,
                                setting == target ? "memory_target" : "memory_max_target",
                                setting->value);
        }
}

static const char write_only[] =
        "ALTER SYSTEM SET use_large_pages=ONLY SCOPE=SPFILE (without an spfile: write it into the "
        "file), then restart the instance";

/* What the rule of the run finds wrong with an SGA's use_large_pages. */
static void find_large_pages(RuleRun *run, const RuleInstance *instance) {
        const Sgas sgas = sgas_of(run, instance);
        const char *pages = rule_planned_pages(run->arena, instance);

        VEC_FOREACH(sga, &sgas) {
                const char *value = sga->large_pages ? sga->large_pages->value : "true";
                bool is_auto = strcasecmp(value, "auto") == 0 ||
                               strcasecmp(value, "auto_only") == 0;
                const char *text = NULL;

                if (run->row->kind == RULE_ORA_FALSE && strcasecmp(value, "false") == 0 &&
                    instance->planned->pages_wanted > 0)
                        text = arena_printf(
                                run->arena,
                                "FALSE: what is reserved for it of %s stays unused, and the SGA takes the same amount in small pages",
                                pages);
                if (run->row->kind == RULE_ORA_TRUE && strcasecmp(value, "true") == 0)
                        text = arena_printf(
                                run->arena,
                                "TRUE%s: if some of %s are missing, it starts with a mixed SGA and large page tables",
                                sga->large_pages ? "" : ", which is the default", pages);
                if (run->row->kind == RULE_ORA_AUTO && is_auto)
                        text = arena_printf(
                                run->arena,
                                "%s: Oracle writes vm.nr_hugepages itself at every start, against the plan, and takes pages from other nodes and instances",
                                strchr(value, '_') ? "AUTO_ONLY" : "AUTO");
                if (text)
                        rule_report(run,
                                    sga->large_pages
                                            ? rule_at_setting(run, sga->large_pages)
                                            : (Diag){.file = instance->gathered->config_file,
                                                     .key = "use_large_pages"},
                                    write_only, "%s has use_large_pages=%s", sga->name, text);
        }
}

/* The pages without the allowance for segments' ends, which is a margin. */
static uint64_t least_pages(const Sizing *sizing) {
        uint64_t bytes = sizing->bytes;

        VEC_FOREACH(step, &sizing->steps)
                if (text_ends_with(step->what, "segments"))
                        bytes = sub_floored(bytes, step->bytes);
        return div_round_up(bytes, sizing->page_size_bytes);
}

static void find_short(RuleRun *run, const RuleInstance *instance) {
        const Sizing *sizing = instance->sizing;

        if (instance->config->memory_kind == MEMORY_AUTO || !sizing ||
            instance->planned->pages_wanted == 0 ||
            least_pages(sizing) <= instance->planned->pages_wanted)
                return;
        rule_report(
                run, rule_at_size(instance),
                arena_printf(run->arena, "write Memory=auto, or Pages=%" PRIu64, sizing->pages),
                "%s plans %s, and its SGA needs %s: with use_large_pages=only it does not start (ORA-27102), otherwise the SGA is mixed",
                instance->config->name, rule_planned_pages(run->arena, instance),
                format_count(run->arena, sizing->pages));
}

/* ---- the right to use huge pages ---- */

/* loaded_unit_judge_access() judges units that start the database as its owner. Here it is started by hand, or by a
 * unit of root's that becomes the owner: then the owner itself must be in the group. */
static void find_group(RuleRun *run, const RuleInstance *instance) {
        const OwnerFacts *owner = &instance->facts->owner;
        const UnitFacts *unit = instance->facts->unit;
        uint64_t group = run->input->facts->limits.shm_group;

        if (!rule_uses_sysv(instance) || topology_kernel_is_before_5_16(run->input->topology) ||
            !owner->has_ids || owner->uid == 0 || group == UINT64_MAX ||
            !run->input->facts->has_own_group ||
            (unit &&
             (!unit->file->fragment_path || unit_file_value(unit->file, "Service", "User"))) ||
            VEC_ANY(gid, &owner->gids, *gid == group))
                return;
        rule_report(
                run, (Diag){.file = instance->config->file},
                arena_printf(run->arena,
                             "usermod -aG " NAME_HUGETLB_GROUP
                             " %s, or let a unit with User=%s start it, and name that in Unit=",
                             owner->name, owner->name),
                "%s: user %s is not in the group that may use System V huge pages (" NAME_HUGETLB_GROUP
                ", vm.hugetlb_shm_group=%" PRIu64
                "), and since Linux 5.16 a memlock limit no longer allows them: shmget() fails with EPERM (ORA-27125)",
                instance->config->name, owner->name, group);
}

/* ---- limits of the kernel ---- */

/* The plan raises the limits, unless its configuration forbids that. */
static void add_shm(RuleRun *run, const char *file, const char *key, const char *text,
                    uint64_t needed, uint64_t now) {
        const SettingSource *setting_source =
                run->input->setting_sources
                        ? setting_source_for_path(run->input->setting_sources, file,
                                                  arena_printf(run->arena, "%" PRIu64, now))
                        : NULL;
        const char *line = setting_source
                                   ? arena_printf(run->arena, ", and remove %s",
                                                  setting_source_format(run->arena, setting_source))
                                   : "";

        rule_add(run,
                 &(Diag){.file = file,
                         .key = key,
                         .text = text,
                         .remedy = arena_printf(
                                 run->arena,
                                 "write SharedMemoryLimits=auto in [Host], or sysctl -w %s=%" PRIu64
                                 "%s: the kernel's default is no limit",
                                 key, needed, line)});
}

static void find_shm(RuleRun *run) {
        const KernelLimits *limits = &run->input->facts->limits;
        const Topology *topology = run->input->topology;
        uint64_t page = topology->base_page_bytes, pages;
        uint64_t sum = 0, largest = 0;
        const char *name = NULL;

        for (size_t i = 0; i < run->n_instances; i++) {
                uint64_t bytes = rule_planned_bytes(&run->instances[i]);

                if (!rule_uses_sysv(&run->instances[i]))
                        continue;
                name = bytes > largest ? run->instances[i].config->name : name;
                largest = MAX(largest, bytes);
                sum = add_saturated(sum, bytes);
        }
        if (limits->shmmax_bytes < largest)
                add_shm(run, PATH_SHMMAX, "kernel.shmmax",
                        arena_printf(run->arena,
                                     "one segment may have %" PRIu64
                                     " bytes (%s), and %s needs up to %" PRIu64
                                     " (%s): shmget() fails with EINVAL",
                                     limits->shmmax_bytes,
                                     format_size(run->arena, limits->shmmax_bytes), name, largest,
                                     format_size(run->arena, largest)),
                        largest, limits->shmmax_bytes);
        pages = topology_base_pages(topology, sum);
        if (limits->shmall_pages < pages)
                add_shm(run, PATH_SHMALL, "kernel.shmall",
                        arena_printf(
                                run->arena,
                                "all segments together may have %s, and the instances need %s: shmget() fails with ENOSPC (ORA-27102, error 28)",
                                format_page_count_and_size(run->arena, limits->shmall_pages, page),
                                format_size(run->arena, sum)),
                        pages, limits->shmall_pages);
}

static const RuleRow rows[] = {
        {RULE_ORA_AMM, "oracle", find_amm, NULL},
        {RULE_ORA_FALSE, "oracle", find_large_pages, NULL},
        {RULE_ORA_TRUE, "oracle", find_large_pages, NULL},
        {RULE_ORA_AUTO, "oracle", find_large_pages, NULL},
        {RULE_ORA_SHORT, "oracle", find_short, NULL},
        {RULE_ORA_GROUP, NULL, find_group, NULL},
        {RULE_ORA_SHM, NULL, NULL, find_shm},
};

const RuleFamily rules_oracle = {rows, ARRAY_LEN(rows)};
