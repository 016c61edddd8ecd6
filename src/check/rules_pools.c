/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What goes wrong with the pools: pages that nobody wants, that others have taken, that lie beyond them.
 * Sources: Documentation/admin-guide/mm/hugetlbpage.rst, mm/hugetlb.c set_max_huge_pages(). */

#include "base/text.h"
#include "check/kernel_args.h"
#include "check/rule_run.h"
#include "model/names.h"

#include <string.h>

uint64_t rule_wanted_pages(const RuleRun *run, uint64_t page_size_bytes) {
        uint64_t pages = 0;

        for (size_t i = 0; i < run->n_instances; i++)
                if (run->instances[i].planned->page_size_bytes == page_size_bytes)
                        pages = add_saturated(pages, run->instances[i].planned->pages_wanted);
        return pages;
}

/* ---- pages that lie idle ---- */

/* Less is not worth a word. */
static const uint64_t idle_bytes_min = 32 * MIB;

/* Pages of a size that nobody will need once the plan is applied. */
typedef struct Idle {
        uint64_t pages;
        const char *where;   /* "919 on node 0, 12 on node 1" */
        const char *command; /* gives them back */
        const SettingSource
                *setting_source; /* who has set one of the pools; NULL: nobody is known to */
} Idle;

static bool is_of_instance(const RuleRun *run, const PageUser *page_user) {
        for (size_t i = 0; page_user->unit && i < run->n_instances; i++)
                if (text_equals(run->instances[i].config->unit, page_user->unit))
                        return true;
        return false;
}

/* Of what is in use on a node, what surely is instances' own. */
static uint64_t own_used_pages(const RuleRun *run, unsigned node, uint64_t page_size_bytes) {
        uint64_t pages = 0;

        if (run->input->page_users)
                VEC_FOREACH(page_user, &run->input->page_users->list) {
                        if (page_user->page_size_bytes != page_size_bytes ||
                            !is_of_instance(run, page_user))
                                continue;
                        for (size_t i = 0; i < page_user->n_nodes; i++)
                                if (page_user->nodes[i].node == node)
                                        pages += page_user->nodes[i].pages;
                        if (page_user->n_nodes == 0 && run->input->topology->n_nodes == 1)
                                pages += page_user->pages;
                }
        return pages;
}

/* Promised to anybody who may be no instance; on which node, nobody knows. */
static uint64_t others_promised_pages(const RuleRun *run, uint64_t page_size_bytes) {
        int i = topology_page_size_index(run->input->topology, page_size_bytes);
        uint64_t pages = i < 0 ? 0 : run->input->topology->page_sizes[i].reserved_pages;

        if (run->input->page_users)
                VEC_FOREACH(page_user, &run->input->page_users->list)
                        if (page_user->page_size_bytes == page_size_bytes &&
                            is_of_instance(run, page_user))
                                pages = sub_floored(pages, sub_floored(page_user->mapped_pages,
                                                                       page_user->pages));
        return pages;
}

/* On one node: a lower bound, for what is not known counts as somebody's. */
static uint64_t idle_on(const RuleRun *run, const PlanPool *planned) {
        const Pool *now =
                topology_pool(run->input->topology, planned->node, planned->page_size_bytes);

        if (!now)
                return 0;
        uint64_t used = pool_used_pages(now);
        uint64_t own = MIN(used, own_used_pages(run, planned->node, planned->page_size_bytes));
        uint64_t others =
                add_saturated(used - own, others_promised_pages(run, planned->page_size_bytes));
        uint64_t needed = add_saturated(MAX(planned->granted_pages, own), others);

        return MIN(sub_floored(planned->to_pages, needed), now->free_pages);
}

/* The pools as they were before hugeplan added to them. */
static const Topology *found_topology(const RuleRun *run) {
        Topology *found = kernel_args_boot_topology(run->arena, run->input->topology);
        const Plan *plan = run->input->plan;

        for (size_t i = 0; i < plan->n_pools; i++) {
                int k = topology_page_size_index(found, plan->pools[i].page_size_bytes);

                for (size_t n = 0; k >= 0 && n < found->n_nodes; n++)
                        if (found->nodes[n].id == plan->pools[i].node)
                                found->nodes[n].pools[k].total_pages = plan->pools[i].found_pages;
        }
        return found;
}

static const char *pool_file(const RuleRun *run, const PlanPool *planned) {
        return run->input->topology->is_numa
                       ? arena_printf(run->arena,
                                      PATH_NODES "/node%u/hugepages/" NAME_HUGEPAGES_DIR "%" PRIu64
                                                 "kB/nr_hugepages",
                                      planned->node, planned->page_size_bytes / KIB)
                       : arena_printf(run->arena,
                                      PATH_HUGEPAGES "/" NAME_HUGEPAGES_DIR "%" PRIu64
                                                     "kB/nr_hugepages",
                                      planned->page_size_bytes / KIB);
}

static Idle find_idle(const RuleRun *run, uint64_t page_size_bytes) {
        Text where = text_in(run->arena), command = text_in(run->arena);
        const Topology *found = found_topology(run);
        const Plan *plan = run->input->plan;
        Idle idle = {};

        for (size_t i = 0; i < plan->n_pools; i++) {
                const PlanPool *planned = &plan->pools[i];
                uint64_t pages = planned->page_size_bytes == page_size_bytes ? idle_on(run, planned)
                                                                             : 0;

                if (pages == 0)
                        continue;
                idle.pages += pages;
                text_add_item(&where, arena_printf(run->arena, "%s on node %u",
                                                   format_count(run->arena, pages), planned->node));
                text_printf(&command, "%secho %" PRIu64 " > %s", command.length > 0 ? "; " : "",
                            planned->to_pages - pages, pool_file(run, planned));
                if (run->input->setting_sources && !idle.setting_source)
                        idle.setting_source = setting_source_for_pool(
                                run->input->setting_sources, found, planned->node, page_size_bytes);
        }
        idle.where = text_string(&where);
        idle.command = text_string(&command);
        return mul_saturated(idle.pages, page_size_bytes) < idle_bytes_min ? (Idle){} : idle;
}

/* With ExistingPages=keep, pages that were there are somebody's by declaration. */
static bool may_be_idle(const RuleRun *run) {
        return run->n_instances > 0 && run->input->config->host.existing_pages == EXISTING_USE;
}

static void add_idle(RuleRun *run, uint64_t page_size_bytes) {
        Idle idle = find_idle(run, page_size_bytes);
        const SettingSource *setting_source = idle.setting_source;
        Diag diag = {};

        if (idle.pages == 0)
                return;
        if (setting_source)
                diag = (Diag){.file = setting_source->file,
                              .line = setting_source->line,
                              .key = setting_source->key};
        rule_tell(run, diag,
                  arena_printf(
                          run->arena, "%sgive them back: %s",
                          !setting_source ? ""
                          : setting_source->source == SETTING_SOURCE_KERNEL_COMMAND_LINE
                                  ? "take the words off the kernel command line, or the next boot "
                                    "brings them again; and "
                                  : "take the line out, or they come back; and ",
                          idle.command),
                  "%s lie idle, which no instance wants and nobody uses: %s%s",
                  format_page_count_and_size(run->arena, idle.pages, page_size_bytes), idle.where,
                  setting_source ? arena_printf(run->arena, "; they come from %s",
                                                setting_source_format(run->arena, setting_source))
                                 : "");
}

/* Beyond the pool, and so in use. */
static void add_surplus(RuleRun *run, const PlanPool *planned) {
        const Pool *now =
                topology_pool(run->input->topology, planned->node, planned->page_size_bytes);

        if (!now || mul_saturated(now->surplus_pages, now->page_size_bytes) < idle_bytes_min)
                return;
        rule_add_as(
                run, SEVERITY_NOTICE,
                &(Diag){.text = arena_printf(
                                run->arena,
                                "%s on node %u are surplus: in use beyond the pool, and gone "
                                "when whoever uses them gives them back",
                                format_page_count_and_size(run->arena, now->surplus_pages,
                                                           now->page_size_bytes),
                                planned->node),
                        .remedy = "they need no command; where they come again, set "
                                  "vm.nr_overcommit_hugepages to 0, or describe who uses them"});
}

static void find_idle_pages(RuleRun *run) {
        const Topology *topology = run->input->topology;
        const Plan *plan = run->input->plan;

        if (!may_be_idle(run))
                return;
        for (size_t k = 0; k < topology->n_page_sizes; k++)
                add_idle(run, topology->page_sizes[k].bytes);
        for (size_t i = 0; i < plan->n_pools; i++)
                add_surplus(run, &plan->pools[i]);
}

/* Whether they lie idle already, and another rule has said where they come from. */
static bool is_idle_from_boot(const RuleRun *run, uint64_t page_size_bytes) {
        Idle idle = may_be_idle(run) ? find_idle(run, page_size_bytes) : (Idle){};

        return idle.setting_source &&
               idle.setting_source->source == SETTING_SOURCE_KERNEL_COMMAND_LINE;
}

static void find_boot_pages(RuleRun *run) {
        bool is_kept = run->input->config->host.existing_pages == EXISTING_KEEP;

        if (!run->input->boot_line)
                return;
        VEC_FOREACH(boot, &run->input->boot_line->pages) {
                uint64_t wanted = rule_wanted_pages(run, boot->page_size_bytes);
                Diag diag = {.file = PATH_CMDLINE, .key = boot->words};

                if (wanted == 0 || (!is_kept && boot->pages <= wanted) ||
                    is_idle_from_boot(run, boot->page_size_bytes))
                        continue;
                rule_tell(
                        run, diag,
                        "take the words off the kernel command line: hugeplan reserves them "
                        "early enough (for gigantic pages see hugeplanctl cmdline)",
                        "the kernel reserves %s at boot, and %s %s",
                        format_page_count_and_size(run->arena, boot->pages, boot->page_size_bytes),
                        is_kept ? "with ExistingPages=keep the instances get theirs on top:"
                                : "the instances want only",
                        format_page_count_and_size(run->arena, wanted, boot->page_size_bytes));
        }
}

/* ---- beyond the pools ---- */

/* Who has set it to what it is, by the file of its size or, for the default one, by sysctl. */
static const SettingSource *overcommit_setting_source(const RuleRun *run,
                                                      const Overcommit *overcommit,
                                                      const char *path) {
        const SettingSources *setting_sources = run->input->setting_sources;
        const char *shown = arena_printf(run->arena, "%" PRIu64, overcommit->pages);
        const SettingSource *setting_source =
                setting_sources ? setting_source_for_path(setting_sources, path, shown) : NULL;

        if (!setting_source && setting_sources &&
            overcommit->page_size_bytes == run->input->topology->default_page_size_bytes)
                setting_source =
                        setting_source_for_path(setting_sources, PATH_NR_OVERCOMMIT, shown);
        return setting_source;
}

static void add_overcommit(RuleRun *run, const Overcommit *overcommit) {
        const char *path = arena_printf(run->arena,
                                        PATH_HUGEPAGES "/" NAME_HUGEPAGES_DIR "%" PRIu64
                                                       "kB/nr_overcommit_hugepages",
                                        overcommit->page_size_bytes / KIB);
        const SettingSource *setting_source = overcommit_setting_source(run, overcommit, path);
        const char *source =
                setting_source ? arena_printf(run->arena, ", because of %s",
                                              setting_source_format(run->arena, setting_source))
                               : "";

        rule_tell(run, (Diag){.file = path},
                  arena_printf(run->arena, "%srun: echo 0 > %s",
                               setting_source ? "take that out, then " : "", path),
                  "programs may take %s beyond the pools%s: a database that is "
                  "short starts all the same, from memory that others need, and not "
                  "at the next boot",
                  format_page_count_and_size(run->arena, overcommit->pages,
                                             overcommit->page_size_bytes),
                  source);
}

static void find_overcommit(RuleRun *run) {
        VEC_FOREACH(overcommit, &run->input->facts->overcommits)
                if (rule_wanted_pages(run, overcommit->page_size_bytes) > 0)
                        add_overcommit(run, overcommit);
}

/* ---- who uses them ---- */

/* PostgreSQL, MariaDB and MySQL have rules of their own for this. */
static void find_unused(RuleRun *run, const RuleInstance *instance) {
        static const char others[] = "postgresql mariadb mysql";
        const UnitFacts *unit = instance->facts->unit;

        if (text_has_word(others, instance->config->engine->name) ||
            instance->planned->pages_granted == 0 || !rule_runs_without_pages(run, instance))
                return;
        rule_tell(run, (Diag){.file = instance->config->file, .key = "Unit"},
                  "look into its log for why it took none; whoever starts it "
                  "may lack the right (ora-group, ora-memlock)",
                  "%s has run for %s and holds none of the %s reserved for %s", unit->name,
                  format_duration(run->arena, unit->age_usec),
                  rule_planned_pages(run->arena, instance), instance->config->name);
}

static bool is_left_segment(const PageUser *page_user) {
        return !page_user->unit && page_user->pid == 0 &&
               text_starts_with(page_user->command, PAGE_USER_SEGMENT);
}

/* Where an instance has no Unit=, there is no telling whose pages they are. */
static bool is_attributable(const RuleRun *run, uint64_t page_size_bytes) {
        for (size_t i = 0; i < run->n_instances; i++)
                if (run->instances[i].planned->page_size_bytes == page_size_bytes &&
                    !run->instances[i].config->unit)
                        return false;
        return true;
}

/* As it will be once the plan is applied. */
static uint64_t planned_pool_pages(const RuleRun *run, uint64_t page_size_bytes) {
        const Plan *plan = run->input->plan;
        uint64_t pages = 0;

        for (size_t i = 0; i < plan->n_pools; i++)
                if (plan->pools[i].page_size_bytes == page_size_bytes)
                        pages = add_saturated(pages, plan->pools[i].to_pages);
        return pages;
}

bool rule_is_other_program(const RuleRun *run, const PageUser *page_user) {
        return !is_of_instance(run, page_user) && !is_left_segment(page_user) &&
               is_attributable(run, page_user->page_size_bytes);
}

bool rule_is_in_need(const RuleRun *run, const PageUser *page_user) {
        return add_saturated(rule_wanted_pages(run, page_user->page_size_bytes),
                             page_user_kept_pages(page_user)) >
               planned_pool_pages(run, page_user->page_size_bytes);
}

static void find_taken(RuleRun *run) {
        if (!run->input->page_users)
                return;
        VEC_FOREACH(page_user, &run->input->page_users->list) {
                uint64_t wanted = rule_wanted_pages(run, page_user->page_size_bytes);
                uint64_t pool = planned_pool_pages(run, page_user->page_size_bytes);

                if (wanted == 0 || !rule_is_other_program(run, page_user) ||
                    !rule_is_in_need(run, page_user))
                        continue;
                rule_tell(
                        run, (Diag){},
                        "describe it in /etc/hugeplan.d with its Unit=, or keep "
                        "it from huge pages",
                        "%s belong to no instance's unit, and the instances want %s; the pool is to have %s, too few for all",
                        page_user_format(run->arena, page_user), format_count(run->arena, wanted),
                        format_count(run->arena, pool));
        }
}

static void find_left_segments(RuleRun *run) {
        if (!run->input->page_users)
                return;
        VEC_FOREACH(page_user, &run->input->page_users->list) {
                uint64_t id;
                const char *rest = is_left_segment(page_user)
                                           ? page_user->command + strlen(PAGE_USER_SEGMENT)
                                           : NULL;

                if (!rest || parse_u64(text_next_word(run->arena, &rest, " ,"), &id) < 0)
                        continue;
                rule_tell(
                        run, (Diag){.file = PATH_SYSV_SHM},
                        arena_printf(run->arena,
                                     "ipcrm -m %" PRIu64
                                     ", once you are sure that its database is down",
                                     id),
                        "segment %" PRIu64
                        " has no process attached (nattch 0) and holds %s: what a database that was killed leaves behind",
                        id,
                        format_page_count_and_size(run->arena, page_user_kept_pages(page_user),
                                                   page_user->page_size_bytes));
        }
}

static const RuleRow rows[] = {
        {RULE_IDLE_PAGES, NULL, NULL, find_idle_pages},
        {RULE_BOOT_PAGES, NULL, NULL, find_boot_pages},
        {RULE_OVERCOMMIT_PAGES, NULL, NULL, find_overcommit},
        {RULE_POOL_UNUSED, NULL, find_unused, NULL},
        {RULE_POOL_TAKEN, NULL, NULL, find_taken},
        {RULE_SYSV_LEFT, NULL, NULL, find_left_segments},
};

const RuleFamily rules_pools = {rows, ARRAY_LEN(rows)};
