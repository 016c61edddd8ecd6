/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/learn/look.h"

#include "base/text.h"
#include "demand/demand.h"
#include "demand/seen.h"
#include "host/probe.h"
#include "host/state.h"
#include "inspect/pages/server_look.h"
#include "runtime/log.h"

#include <string.h>

/* The result of one look, of one page size. */
typedef struct View {
        const InstanceConfig *instance;
        const Topology *topology;
        uint64_t page_size_bytes;
        uint64_t huge_pages;
        uint64_t small_pages; /* that the shared memory in small pages would take */
} View;

/* Whether the server was granted at least PAGES and the unmapped ones are still free, so that it could have mapped
 * them. */
static bool could_have_mapped_more(Command *command, const View *view, uint64_t pages) {
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

/* Huge pages that the server was refused, as far as its small pages show. */
static uint64_t refused_pages(Command *command, const View *view) {
        bool has_all = view->instance->engine->maps_all_at_start && view->huge_pages > 0 &&
                       seen_is_likely(view->instance, view->page_size_bytes, view->huge_pages) &&
                       view->instance->learned.pages.n > 0;

        return view->small_pages == 0 || has_all ||
                               could_have_mapped_more(command, view,
                                                      view->huge_pages + view->small_pages)
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

/* The page tables of a server without huge pages that has mapped most of its memory: shared memory, or private memory
 * of at least half of what its settings ask for. */
static SmallTables small_tables_of(const ServerLook *look, const View *view) {
        uint64_t base = page_counts_find(&view->instance->learned.pages, view->page_size_bytes);
        bool is_large = base > 0 && look->resident_bytes / view->page_size_bytes >= base / 2;

        if (view->huge_pages > 0 || look->page_table_bytes == 0 ||
            !(view->small_pages > 0 || is_large))
                return (SmallTables){};
        return (SmallTables){look->page_table_bytes, look->n_processes, NULL};
}

/* Mappings of two databases of one unit cannot be told apart. */
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
        const ServerLook look = server_look(command->root, arena, topology, instance->engine,
                                            instance->unit, false);
        Seen seen = seen_of_unit(instance);

        if (!look.is_all_mapped) {
                *ret_why = look.missing.n > 0 ? look.missing.items[0] : NULL;
                return (Seen){};
        }
        VEC_FOREACH(user, &look.pages)
                if (user->page_size_bytes > 0)
                        *vec_push(arena, &seen.pages) =
                                (PageCount){user->page_size_bytes, page_user_kept_pages(user)};
        View view = {instance, topology, page_size_of(instance, topology, &seen.pages), 0, 0};

        if (view.page_size_bytes == 0)
                return (Seen){};
        view.huge_pages = page_counts_find(&seen.pages, view.page_size_bytes);
        /* Less than a page does not matter. */
        if (look.map.unnamed_bytes >= view.page_size_bytes)
                view.small_pages = div_round_up(look.map.unnamed_bytes, view.page_size_bytes);
        if (seen.pages.n == 0)
                seen.small_tables = small_tables_of(&look, &view);
        uint64_t refused = refused_pages(command, &view);

        seen.is_exact = look.missing.n == 0 && refused == 0 && seen.pages.n == 1;
        if (seen.pages.n == 0 && refused == 0 && view.small_pages > 0)
                *ret_why = "its huge pages are there, and it takes small ones: it does not ask for "
                           "them; see its manual";
        if (seen.pages.n == 0 && refused > 0)
                *vec_push(arena, &seen.pages) = (PageCount){view.page_size_bytes, 0};
        if (seen.pages.n > 0)
                seen.pages.items[0].pages += refused;
        if (seen.pages.n == 0 ||
            seen_is_likely(instance, view.page_size_bytes, seen.pages.items[0].pages))
                return seen;
        *ret_why = arena_printf(
                arena,
                "it has mapped %s, and its settings asked for %s before its start: it was "
                "started with others",
                page_counts_format(arena, &seen.pages),
                page_counts_format(arena, &instance->learned.pages));
        seen.pages = (PageCounts){};
        seen.is_exact = false;
        return seen;
}

static bool keep(Command *command, const InstanceConfig *instance, const Seen *seen) {
        Arena *arena = command->arena;
        Learned learned = instance->learned;

        learned.seen = *seen;
        const LearnedFile file = learned_file(arena, instance, &learned);
        int r = learned_file_store(command->root, &file);

        if (r < 0)
                log_line(
                        LOG_WARNING,
                        "%s: what was seen cannot be written to %s: %s; the next start will not know it",
                        instance->name, root_path(arena, command->root, file.path), strerror(-r));
        log_line(LOG_NOTICE, "%s: seen: %s (%s)", instance->name, seen_describe(arena, seen),
                 r < 0 ? "not kept" : root_path(arena, command->root, file.path));
        return r == 0;
}

bool look_keep(Command *command, const InstanceConfig *instance, const Seen *now) {
        if (!seen_is_any(now))
                return false;
        Seen shown = *now;

        shown.small_tables.at = learned_time(command->arena);
        const Seen kept = seen_merge(instance, &shown);

        return (seen_is_same(&kept, &instance->learned.seen) && !instance->learned.is_broken) ||
               keep(command, instance, &kept);
}
