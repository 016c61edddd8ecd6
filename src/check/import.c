/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/import.h"

#include "base/size.h"
#include "base/text.h"
#include "check/rules.h"
#include "config/config.h"
#include "model/names.h"

#define NAME_REST "90-other-programs"

/* ---- pages set by others ---- */

static uint64_t sum_of(const SetPages *set, const Topology *topology) {
        return ARRAY_SUM(pages, set->node_pages, topology->n_nodes, *pages);
}

static bool take_entry(SetPages *set, const SettingSource *entry, const Topology *topology) {
        /* When these programs write is not known, so their entry counts only if it is larger than the entries before.
         * systemd-sysctl does not read sysctl.conf. */
        bool raises = entry->source == SETTING_SOURCE_TUNED ||
                      entry->source == SETTING_SOURCE_SYSFS ||
                      text_equals(entry->file, PATH_SYSCTL_CONF);
        uint64_t pages, n = ARRAY_SUM(node, topology->nodes, topology->n_nodes, node->has_memory);
        bool is_taken = false;

        if (setting_source_host_pages(entry, topology, set->page_size_bytes, &pages)) {
                if (raises && pages <= sum_of(set, topology))
                        return true;
                /* As the kernel does: evenly over nodes with memory, the remainder over the first ones. */
                for (uint64_t k = 0, i = 0; k < topology->n_nodes && n > 0; k++)
                        set->node_pages[k] =
                                topology->nodes[k].has_memory ? pages / n + (i++ < pages % n) : 0;
                set->is_by_node = false;
                return true;
        }
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (setting_source_node_pages(entry, topology->nodes[i].id, set->page_size_bytes,
                                              &pages)) {
                        set->node_pages[i] = raises ? MAX(set->node_pages[i], pages) : pages;
                        set->is_by_node = is_taken = true;
                }
        return is_taken;
}

/* Returns the existing pages of a node that hugeplan did not add. */
static uint64_t existing_pages(const HostView *view, unsigned node, uint64_t page_size_bytes) {
        const Pool *pool = topology_pool(view->topology, node, page_size_bytes);
        const PlanPool *planned = view->plan ? plan_pool(view->plan, node, page_size_bytes) : NULL;

        return planned ? planned->found_pages : pool ? pool_persistent_pages(pool) : 0;
}

static void take_existing(Arena *arena, const HostView *view, SetPages *set) {
        const Topology *topology = view->topology;
        uint64_t pages = ARRAY_SUM(node, topology->nodes, topology->n_nodes,
                                   existing_pages(view, node->id, set->page_size_bytes));

        if (pages <= sum_of(set, topology))
                return;
        for (size_t i = 0; i < topology->n_nodes; i++)
                set->node_pages[i] =
                        existing_pages(view, topology->nodes[i].id, set->page_size_bytes);
        set->is_by_node = topology->n_nodes > 1;
        set->is_unexplained = true;
        if (view->history)
                set->who = history_say_who(arena, view->history, set->page_size_bytes);
}

SetPagesList set_pages_find(Arena *arena, const HostView *view) {
        const Topology *topology = view->topology;
        SetPagesList list = {};

        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                SetPages set = {
                        .page_size_bytes = size->bytes,
                        .node_pages =
                                ARENA_ARRAY(arena, uint64_t, MAX(topology->n_nodes, (size_t) 1)),
                };

                VEC_FOREACH(entry, &view->setting_sources->list)
                        if (entry->is_effective && take_entry(&set, entry, topology))
                                *vec_push(arena, &set.sources) = entry;
                take_existing(arena, view, &set);
                set.pages = sum_of(&set, topology);
                if (set.pages > 0 || set.sources.n > 0)
                        *vec_push(arena, &list) = set;
        }
        return list;
}

/* ---- import ---- */

typedef struct Maker {
        Arena *arena;
        const HostView *input;
        Import *import;
} Maker;

const char *const import_action_names[] = {
        [IMPORT_REMOVE] = "remove",
        [IMPORT_LOOK] = "look",
};

/* ---- pages beyond the known need ---- */

/* Returns the pages of a size that instances and the databases found need. */
static uint64_t known_pages(const Maker *maker, uint64_t page_size_bytes) {
        uint64_t described = ARRAY_SUM(
                instance, maker->input->plan->instances, maker->input->plan->n_instances,
                instance->page_size_bytes == page_size_bytes ? instance->pages_wanted : 0);
        uint64_t found = VEC_SUM(suggestion, maker->input->suggestions,
                                 suggestion->path ? suggestion->pages : 0);

        return page_size_bytes == maker->input->topology->default_page_size_bytes
                       ? add_saturated(described, found)
                       : described;
}

/* Returns whether USER has pages of that size, and is neither an instance's unit nor a found database's. */
static bool is_other(const Maker *maker, const PageUser *user, uint64_t page_size_bytes) {
        const char *unit = user->unit;

        return user->page_size_bytes == page_size_bytes &&
               !(unit &&
                 (ARRAY_ANY(instance, maker->input->config->instances,
                            maker->input->config->n_instances, text_equals(instance->unit, unit)) ||
                  VEC_ANY(suggestion, maker->input->suggestions,
                          text_equals(suggestion->unit, unit))));
}

/* Returns the pages that others use now on a node, as far as known. */
static uint64_t others_pages_on(const Maker *maker, uint64_t page_size_bytes, unsigned node) {
        return VEC_SUM(user, &maker->input->page_users->list,
                       is_other(maker, user, page_size_bytes) ? pages_on(&user->nodes, node) : 0);
}

/* Splits the rest of SET by node, "0:2G 1:4G": what others use there, and a share of the remainder in proportion to the
 * node's set pages. */
static const char *split_rest(const Maker *maker, const SetPages *set) {
        const Topology *topology = maker->input->topology;
        uint64_t *pages = ARENA_ARRAY(maker->arena, uint64_t, topology->n_nodes);
        uint64_t left = set->rest_pages;
        Text parts = text_in(maker->arena);

        for (size_t i = 0; i < topology->n_nodes; i++) {
                pages[i] = MIN(left,
                               others_pages_on(maker, set->page_size_bytes, topology->nodes[i].id));
                left -= pages[i];
        }
        for (size_t i = 0, unused = left; i < topology->n_nodes; i++) {
                uint64_t share = mul_div(unused, set->node_pages[i], set->pages);

                pages[i] += share;
                left -= share;
        }
        for (size_t i = 0; i < topology->n_nodes; i++) {
                if (set->node_pages[i] > 0) { /* the rounding remainder */
                        pages[i] += left;
                        left = 0;
                }
                if (pages[i] > 0)
                        text_add_word(
                                &parts,
                                arena_printf(maker->arena, "%u:%s", topology->nodes[i].id,
                                             format_page_size(maker->arena,
                                                              pages[i] * set->page_size_bytes)));
        }
        return text_string(&parts);
}

static void add_rest(const Maker *maker, const SetPages *set) {
        Arena *arena = maker->arena;
        const Topology *topology = maker->input->topology;
        bool is_default = set->page_size_bytes == topology->default_page_size_bytes;
        const char *size = format_page_size(arena, set->page_size_bytes);
        const char *title = "# In use now:\n";
        Text text = text_in(arena);

        text_printf(&text, "# Set so far, beyond what the databases on this host need: %s.\n",
                    format_page_count_and_size(arena, set->rest_pages, set->page_size_bytes));
        VEC_FOREACH(source, &set->sources)
                text_printf(&text, "#   %s\n",
                            text_printable(arena, setting_source_format(arena, *source)));
        if (set->is_unexplained)
                text_add(&text, "#   " SET_PAGES_UNEXPLAINED "\n");
        VEC_FOREACH(user, &maker->input->page_users->list) {
                if (!is_other(maker, user, set->page_size_bytes))
                        continue;
                text_printf(&text, "%s#   %s\n", title,
                            text_printable(arena, page_user_format(arena, user)));
                title = "";
        }
        text_add(
                &text,
                "# They stay reserved for whatever uses them. If a program should wait for its pages, describe it\n"
                "# in a file of its own with Unit=. If nothing needs these pages, delete this file.\n"
                "[Instance]\n");
        if (!is_default)
                text_printf(&text, "PageSize=%s\n", size);
        if (set->is_by_node ||
            (topology->n_nodes > 1 &&
             ARRAY_ANY(node, topology->nodes, topology->n_nodes,
                       others_pages_on(maker, set->page_size_bytes, node->id) > 0)))
                text_printf(&text, "NodeMemory=%s\n", split_rest(maker, set));
        else
                text_printf(&text, "Pages=%" PRIu64 "\n", set->rest_pages);
        *vec_push(arena, &maker->import->files) = (ImportFile){
                arena_printf(arena, PATH_CONFIG_ETC "/" NAME_REST "%s%s" NAME_CONFIG_SUFFIX,
                             is_default ? "" : "-", is_default ? "" : size),
                text.string};
}

static void add_pages(const Maker *maker) {
        const HostView *input = maker->input;
        const Plan *plan = input->plan;

        maker->import->pages = set_pages_find(maker->arena, input);
        VEC_FOREACH(set, &maker->import->pages) {
                uint64_t size_bytes = set->page_size_bytes;
                /* Unexplained pages may belong to an instance, as its segments do; they are among the existing pages. */
                uint64_t others = set->is_unexplained && input->config->n_instances > 0
                                          ? 0
                                          : VEC_SUM(user, &input->page_users->list,
                                                    is_other(maker, user, size_bytes)
                                                            ? page_user_kept_pages(user)
                                                            : 0);
                /* Those of instances without a unit may be among them. */
                uint64_t unitless = ARRAY_SUM(instance, plan->instances, plan->n_instances,
                                              instance->page_size_bytes == size_bytes &&
                                                              !instance->demand->config->unit
                                                      ? instance->pages_wanted
                                                      : 0);

                set->known_pages = known_pages(maker, size_bytes);
                if (set->pages > 0)
                        set->rest_pages = MAX(sub_floored(set->pages, set->known_pages),
                                              sub_floored(others, unitless));
                if (set->rest_pages > 0)
                        add_rest(maker, set);
        }
}

/* ---- the databases ---- */

/* Returns whether hugeplan sets the limits of the database's owner, by a present or proposed drop-in. */
static bool needs_limit(const Suggestion *suggestion) {
        return (suggestion->path || suggestion->described) && suggestion->engine->uses_sysv;
}

static void add_databases(const Maker *maker) {
        VEC_FOREACH(suggestion, maker->input->suggestions) {
                const char *text = suggestion->text;

                if (!suggestion->path)
                        continue;
                /* The owner's limit for a database with System V segments: "unlimited" is kept for its logins, but a
                 * number is not, because MemoryLock=auto gives logins what the instance needs. */
                const LoginLimit *limit = VEC_FIND(
                        each, &maker->input->facts->login_limits,
                        needs_limit(suggestion) &&
                                text_equals(each->domain, suggestion->engine->default_user) &&
                                TEXT_IS_ANY(each->value, "unlimited", "infinity", "-1"));

                if (limit)
                        text = arena_printf(
                                maker->arena, "%s# %s memlock %s in %s:%u\nMemoryLock=infinity\n",
                                text, limit->domain, limit->value, limit->file, limit->line);
                *vec_push(maker->arena, &maker->import->files) =
                        (ImportFile){suggestion->path, text};
        }
}

/* ---- entries of others ---- */

/* Returns what to do about an entry; NULL: it needs no mention. */
static const char *advise(const Maker *maker, const SettingSource *entry, ImportAction *ret) {
        const char *place = conflict_place_remedy(maker->arena, entry);

        *ret = IMPORT_REMOVE;
        switch (entry->what) {
        case SETTING_SOURCE_NR_HUGEPAGES:
        case SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY:
        case SETTING_SOURCE_SIZE_POOL:
        case SETTING_SOURCE_NODE_POOL:
                if (entry->source == SETTING_SOURCE_KERNEL_COMMAND_LINE &&
                    !text_starts_with(entry->key, "sysctl"))
                        return NULL; /* counts for the plan */
                if (!setting_source_is_number(entry)) {
                        *ret = IMPORT_LOOK;
                        return entry->source == SETTING_SOURCE_TUNED
                                       ? "tuned calculates the number, which is not counted"
                                       : "the kernel refuses a value that is not a number: it has no effect";
                }
                return place;
        case SETTING_SOURCE_NR_OVERCOMMIT_HUGEPAGES:
                return setting_source_explains(entry, "0") ? NULL : place;
        case SETTING_SOURCE_HUGETLB_SHM_GROUP:
                if (!VEC_ANY(suggestion, maker->input->suggestions, needs_limit(suggestion)) &&
                    !config_needs_group(maker->input->config))
                        return NULL;
                return arena_printf(
                        maker->arena,
                        "%s; hugeplan sets its own group, of which users who start a database by hand must be members",
                        place);
        case SETTING_SOURCE_UNCLEAR:
                *ret = IMPORT_LOOK;
                return arena_printf(maker->arena, "%s; what it sets is not counted",
                                    entry->section);
        default:
                return NULL;
        }
}

static void add_line(const Maker *maker, ImportLine line) {
        bool is_known = VEC_ANY(other, &maker->import->lines,
                                (other->line == line.line && text_equals(other->file, line.file) &&
                                 text_equals(other->text, line.text)));

        if (!is_known)
                *vec_push(maker->arena, &maker->import->lines) = line;
}

static void add_login_limits(const Maker *maker) {
        VEC_FOREACH(limit, &maker->input->facts->login_limits)
                if (!text_equals(limit->file, PATH_PAM_LIMITS) &&
                    VEC_ANY(suggestion, maker->input->suggestions,
                            needs_limit(suggestion) &&
                                    text_equals(suggestion->engine->default_user, limit->domain)))
                        add_line(
                                maker,
                                (ImportLine){
                                        IMPORT_REMOVE,
                                        limit->file,
                                        limit->line,
                                        arena_printf(maker->arena, "%s %s memlock %s",
                                                     limit->domain, limit->type, limit->value),
                                        "delete the line; hugeplan writes the limit into " PATH_PAM_LIMITS,
                                });
}

Import import_make(Arena *arena, const HostView *view) {
        Import import = {};
        const Maker maker = {arena, view, &import};

        add_databases(&maker);
        add_pages(&maker);
        VEC_FOREACH(entry, &view->setting_sources->list) {
                ImportAction action;
                const char *advice = advise(&maker, entry, &action);

                if (advice)
                        add_line(&maker, (ImportLine){action, entry->file, entry->line,
                                                      setting_source_text(arena, entry), advice});
        }
        add_login_limits(&maker);
        return import;
}
