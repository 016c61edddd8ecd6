/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/learn/look.h"

#include "base/text.h"
#include "ctl/learn/learn.h"
#include "demand/demand.h"
#include "demand/seen.h"
#include "host/probe.h"
#include "inspect/pages/unit_mappings.h"
#include "runtime/log.h"

#include <string.h>

/* What one look has found, in pages of one size. */
typedef struct View {
        const InstanceConfig *instance;
        const Topology *topology;
        uint64_t page_size_bytes;
        uint64_t huge_pages;
        uint64_t small_pages; /* that shared memory of small pages would take */
} View;

/* It was started with the settings of then. Where what was found out before is far from it, they were others. */
static bool is_of_these_settings(const View *view, uint64_t pages) {
        uint64_t base = page_counts_find(&view->instance->learned.pages, view->page_size_bytes);
        uint64_t tolerance = pages / 4 + div_round_up(32 * MIB, view->page_size_bytes);

        return base == 0 || (base <= pages + tolerance && pages <= base + tolerance);
}

/* It was granted so many PAGES, and those that it has not mapped are still there: had it wanted them, it would have
 * them. */
static bool had_its_chance(Command *command, const View *view, uint64_t pages) {
        const Demand *demand =
                demand_compute(command->arena, read_config(command), view->topology, NULL);
        const DemandInstance *wanted =
                ARRAY_FIND(each, demand->instances, demand->n_instances,
                           text_equals(each->config->name, view->instance->name));
        int i = topology_page_size_index(view->topology, view->page_size_bytes);

        if (!wanted || i < 0 || view->instance->shortage != SHORTAGE_REFUSE)
                return false;
        const DemandOption *option = ARRAY_FIND(each, wanted->options, wanted->n_options,
                                                each->page_size_bytes == view->page_size_bytes);
        const PageSize *size = &view->topology->page_sizes[i];

        return option && option->pages >= pages &&
               sub_floored(size->free_pages, size->reserved_pages) >=
                       sub_floored(pages, view->huge_pages);
}

/* Small pages in place of refused ones do not show where they are private. Nothing was refused where all that the rule
 * says was to be had; and what is further from it than any server that was measured (docs/sizes.md) was. */
static bool is_whole(Command *command, const View *view) {
        const Learned *learned = &view->instance->learned;
        uint64_t by_rule = page_counts_find(&learned->pages, view->page_size_bytes);
        uint64_t pages = view->huge_pages;
        uint64_t above = pages / 50 + div_round_up(16 * MIB, view->page_size_bytes);

        return learned->is_fixed && !view->instance->engine->maps_all_at_start &&
               pages <= by_rule && by_rule <= pages + above &&
               had_its_chance(command, view, by_rule);
}

/* Of small pages it counts what it was refused of huge ones, as far as that can be told. */
static uint64_t refused_pages(Command *command, const View *view) {
        bool has_all = view->instance->engine->maps_all_at_start && view->huge_pages > 0 &&
                       is_of_these_settings(view, view->huge_pages) &&
                       view->instance->learned.pages.n > 0;

        return view->small_pages == 0 || has_all ||
                               had_its_chance(command, view, view->huge_pages + view->small_pages)
                       ? 0
                       : view->small_pages;
}

static uint64_t page_size_of(const InstanceConfig *instance, const Topology *topology,
                             const PageCounts *huge) {
        if (huge->n > 0)
                return huge->items[0].page_size_bytes;
        return instance->page_sizes[0] ? instance->page_sizes[0]
                                       : topology->default_page_size_bytes;
}

/* Two databases on one unit cannot be told apart. */
static bool is_alone(Command *command, const InstanceConfig *instance) {
        const Config *config = read_config(command);

        return ARRAY_SUM(each, config->instances, config->n_instances,
                         text_equals(each->unit, instance->unit)) == 1;
}

Seen look_at_unit(Command *command, const InstanceConfig *instance, const Topology *topology,
                  const char **ret_why) {
        Arena *arena = command->arena;
        const char *why = NULL;

        if (ret_why)
                *ret_why = NULL;
        else
                ret_why = &why;
        if (!instance_is_looked_at(instance) || topology->n_page_sizes == 0)
                return (Seen){};
        if (!is_alone(command, instance)) {
                *ret_why = "its unit runs other instances as well, which cannot be told apart";
                return (Seen){};
        }
        const UnitMappings mappings = unit_mappings_read(command->root, arena, instance->unit);
        Seen seen = {
                .pages = unit_mappings_huge(arena, &mappings),
                .base = instance->learned.pages,
                .unit = instance->unit,
                .version = instance->learned.version,
                .settings = instance->learned.settings,
                .command = mappings.command,
        };
        View view = {instance, topology, page_size_of(instance, topology, &seen.pages), 0, 0};

        if (view.page_size_bytes == 0)
                return (Seen){};
        view.huge_pages = page_counts_find(&seen.pages, view.page_size_bytes);
        view.small_pages = unit_mappings_small(&mappings, view.page_size_bytes);
        uint64_t refused = refused_pages(command, &view);

        seen.is_exact = mappings.is_complete && refused == 0 && seen.pages.n == 1;
        seen.is_whole = seen.is_exact && is_whole(command, &view);
        if (seen.pages.n == 0 && refused == 0 && view.small_pages > 0)
                *ret_why = "its huge pages are there, and it takes small ones: it does not ask for "
                           "them; see its manual";
        if (seen.pages.n == 0 && refused > 0)
                *vec_push(arena, &seen.pages) = (PageCount){view.page_size_bytes, 0};
        if (seen.pages.n > 0)
                seen.pages.items[0].pages += refused;
        if (seen.pages.n == 0 || !instance->engine->maps_all_at_start ||
            is_of_these_settings(&view, seen.pages.items[0].pages))
                return seen;
        *ret_why = arena_printf(
                arena,
                "it has mapped %s, and its settings asked for %s before its start: it was "
                "started with others",
                page_counts_format(arena, &seen.pages),
                page_counts_format(arena, &instance->learned.pages));
        return (Seen){};
}

static void keep(Command *command, const InstanceConfig *instance, const Seen *seen) {
        Arena *arena = command->arena;
        const char *path = seen_path(arena, instance);
        int r = root_store_file(command->root, path,
                                seen_format(arena, instance, seen, learn_time(arena)), 0644);

        if (r < 0)
                log_line(
                        LOG_WARNING,
                        "%s: what was seen cannot be written to %s: %s; the next start will not know it",
                        instance->name, root_path(arena, command->root, path), strerror(-r));
        log_line(LOG_NOTICE, "%s: seen that it has mapped %s%s (%s)", instance->name,
                 page_counts_format(arena, &seen->pages), seen->is_exact ? "" : ", an estimate",
                 r < 0 ? "not kept" : root_path(arena, command->root, path));
}

Seen look_and_keep(Command *command, const InstanceConfig *instance, bool is_last) {
        const Topology *topology = probe_topology(command->root, command->arena);
        const char *why;
        Seen now = look_at_unit(command, instance, topology, &why);

        /* A start may take long: only its end shows that it is over. */
        now.is_whole = now.is_whole && is_last;
        if (why)
                log_line(LOG_NOTICE, "%s: what it has mapped is not kept: %s", instance->name, why);
        if (now.pages.n == 0)
                return now;
        const Seen kept = seen_merge(instance, &now, is_last);

        if (!seen_is_same(&kept, &instance->learned.seen))
                keep(command, instance, &kept);
        return now;
}
