/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/learn/look.h"

#include "base/text.h"
#include "ctl/learn/learn.h"
#include "demand/demand.h"
#include "demand/seen_json.h"
#include "host/probe.h"
#include "inspect/pages/unit_mappings.h"
#include "runtime/log.h"
#include "state/learned_file.h"

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

/* All of them, and at a time when it has memory to speak of: shared, or private that is half of what its settings ask
 * for. */
static SmallTables small_tables_of(const UnitMappings *mappings, const View *view) {
        uint64_t base = page_counts_find(&view->instance->learned.pages, view->page_size_bytes);
        bool is_large = base > 0 && mappings->resident_bytes / view->page_size_bytes >= base / 2;

        if (view->huge_pages > 0 || mappings->table_bytes == 0 ||
            !(view->small_pages > 0 || is_large))
                return (SmallTables){};
        return (SmallTables){mappings->table_bytes, mappings->n_processes, NULL};
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
        Seen seen = seen_of_unit(instance);

        seen.pages = unit_mappings_huge(arena, &mappings);
        seen.command = mappings.command;
        View view = {instance, topology, page_size_of(instance, topology, &seen.pages), 0, 0};

        if (view.page_size_bytes == 0)
                return (Seen){};
        view.huge_pages = page_counts_find(&seen.pages, view.page_size_bytes);
        view.small_pages = unit_mappings_small(&mappings, view.page_size_bytes);
        if (seen.pages.n == 0)
                seen.small_tables = small_tables_of(&mappings, &view);
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
        seen.pages = (PageCounts){};
        seen.is_exact = seen.is_whole = false;
        return seen;
}

static bool keep(Command *command, const InstanceConfig *instance, const Seen *seen) {
        Arena *arena = command->arena;
        const char *path = learned_path(arena, instance);
        Learned learned = instance->learned;

        learned.seen = *seen;
        int r = learned_save(command->root, arena, instance, &learned);

        if (r < 0)
                log_line(
                        LOG_WARNING,
                        "%s: what was seen cannot be written to %s: %s; the next start will not know it",
                        instance->name, root_path(arena, command->root, path), strerror(-r));
        log_line(LOG_NOTICE, "%s: seen: %s (%s)", instance->name, seen_describe(arena, seen),
                 r < 0 ? "not kept" : root_path(arena, command->root, path));
        return r == 0;
}

Seen look_now(Command *command, const InstanceConfig *instance) {
        const Topology *topology = probe_topology(command->root, command->arena);
        const char *why;
        const Seen now = look_at_unit(command, instance, topology, &why);

        if (why)
                log_line(LOG_NOTICE, "%s: what it has mapped is not kept: %s", instance->name, why);
        return now;
}

bool look_keep(Command *command, const InstanceConfig *instance, const Seen *now, bool is_last) {
        if (!seen_is_any(now))
                return false;
        Seen shown = *now;

        /* A start may take long: only its end shows that it is over. */
        shown.is_whole = now->is_whole && is_last;
        shown.small_tables.at = learned_time(command->arena);
        const Seen kept = seen_merge(instance, &shown, is_last);

        return (seen_is_same(&kept, &instance->learned.seen) && !instance->learned.is_broken) ||
               keep(command, instance, &kept);
}

/* ---- what was said ---- */

/* The last line that was finished: whoever says it may be stopped at any time. */
static const char *last_line(const char *answer, size_t size, size_t *ret_size) {
        const char *end = memrchr(answer, '\n', size);

        if (!end)
                return NULL;
        const char *before = memrchr(answer, '\n', (size_t) (end - answer));
        const char *line = before ? before + 1 : answer;

        *ret_size = (size_t) (end - line);
        return line;
}

static int take_answer(Command *command, const InstanceConfig *instance, const char *answer,
                       size_t size, Seen *ret, bool *ret_is_last) {
        const Topology *topology = probe_topology(command->root, command->arena);
        json_t *json = json_loadb(answer, size, JSON_REJECT_DUPLICATES, NULL);
        int r = json ? seen_from_json(command->arena, json, instance, topology, ret, ret_is_last)
                     : -EINVAL;

        json_decref(json);
        return r;
}

void look_answer(Command *command, const char *name, const char *answer, size_t size,
                 const char *wrong, uint64_t timeout_usec UNUSED) {
        const InstanceConfig *instance = config_find(read_config(command), name);
        bool is_last;
        Seen now;

        /* That there was nothing to be seen is no news. */
        if (!instance || !instance_is_looked_at(instance) || (!wrong && size == 0))
                return;
        const char *line = wrong ? NULL : last_line(answer, size, &size);

        if (!wrong && (!line || take_answer(command, instance, line, size, &now, &is_last) < 0))
                wrong = "hugeplan-look@.service, which looks at it, gave no answer";
        if (wrong)
                log_line(LOG_WARNING, "%s: what it has mapped is not kept: %s", name, wrong);
        else
                look_keep(command, instance, &now, is_last);
}
