/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/migrate/import.h"

#include "base/size.h"
#include "base/text.h"
#include "check/conflict.h"
#include "config/instance_limits.h"
#include "model/names.h"

#define NAME_REST "90-other-programs"

typedef struct Maker {
        Arena *arena;
        const HostView *input;
        Import *import;
} Maker;

const char *const import_action_names[] = {
        [IMPORT_REMOVE] = "remove",
        [IMPORT_KEEP] = "keep",
        [IMPORT_LOOK] = "look",
};

/* ---- pages beyond the known need ---- */

/* Returns the pages of a size that instances and the databases found need. */
static uint64_t known_pages(const Maker *maker, uint64_t page_size_bytes) {
        uint64_t described = ARRAY_SUM(
                instance, maker->input->plan->instances, maker->input->plan->n_instances,
                instance->page_size_bytes == page_size_bytes ? instance->pages_wanted : 0);
        uint64_t found = VEC_SUM(suggestion, maker->import->suggestions,
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
                  VEC_ANY(suggestion, maker->import->suggestions,
                          text_equals(suggestion->unit, unit))));
}

static void add_users(const Maker *maker, Text *text, uint64_t page_size_bytes) {
        bool is_first = true;

        VEC_FOREACH(user, &maker->input->page_users->list) {
                if (!is_other(maker, user, page_size_bytes))
                        continue;
                text_add(text, is_first ? "# In use now:\n" : "");
                text_printf(text, "#   %s\n",
                            text_printable(maker->arena, page_user_format(maker->arena, user)));
                is_first = false;
        }
}

/* Return the pages that others use now: on all nodes, or on one node as far as known. */
static uint64_t others_pages(const Maker *maker, uint64_t page_size_bytes) {
        return VEC_SUM(user, &maker->input->page_users->list,
                       is_other(maker, user, page_size_bytes) ? page_user_kept_pages(user) : 0);
}

static uint64_t others_pages_on(const Maker *maker, uint64_t page_size_bytes, unsigned node) {
        return VEC_SUM(user, &maker->input->page_users->list,
                       is_other(maker, user, page_size_bytes)
                               ? ARRAY_SUM(each, user->nodes, user->n_nodes,
                                           each->node == node ? each->pages : 0)
                               : 0);
}

/* Splits REST by node: what others use there, and a share of the remainder in proportion to the node's set pages. */
static void add_split(const Maker *maker, Text *text, const SetPages *set, uint64_t rest) {
        const Topology *topology = maker->input->topology;
        uint64_t *pages = ARENA_ARRAY(maker->arena, uint64_t, topology->n_nodes), left = rest;
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
        text_printf(text, "NodeMemory=%s\n", text_string(&parts));
}

/* Returns whether the nodes of the rest matter. */
static bool has_nodes(const Maker *maker, const SetPages *set) {
        const Topology *topology = maker->input->topology;

        return set->is_by_node ||
               (topology->n_nodes > 1 &&
                ARRAY_ANY(node, topology->nodes, topology->n_nodes,
                          others_pages_on(maker, set->page_size_bytes, node->id) > 0));
}

static void add_rest(const Maker *maker, const SetPages *set, uint64_t rest) {
        Arena *arena = maker->arena;
        bool is_default = set->page_size_bytes == maker->input->topology->default_page_size_bytes;
        const char *size = format_page_size(arena, set->page_size_bytes);
        Text text = text_in(arena);

        text_printf(&text, "# Set so far, beyond what the databases on this host need: %s.\n",
                    format_page_count_and_size(arena, rest, set->page_size_bytes));
        VEC_FOREACH(source, &set->sources)
                text_printf(&text, "#   %s\n",
                            text_printable(arena, setting_source_format(arena, *source)));
        if (set->is_unexplained)
                text_add(&text, "#   " SET_PAGES_UNEXPLAINED "\n");
        add_users(maker, &text, set->page_size_bytes);
        text_add(
                &text,
                "# They stay reserved for whatever uses them. If a program should wait for its pages, describe it\n"
                "# in a file of its own with Unit=. If nothing needs these pages, delete this file.\n"
                "[Instance]\n");
        if (!is_default)
                text_printf(&text, "PageSize=%s\n", size);
        if (has_nodes(maker, set))
                add_split(maker, &text, set, rest);
        else
                text_printf(&text, "Pages=%" PRIu64 "\n", rest);
        *vec_push(arena, &maker->import->files) = (ImportFile){
                arena_printf(arena, PATH_CONFIG_ETC "/" NAME_REST "%s%s" NAME_CONFIG_SUFFIX,
                             is_default ? "" : "-", is_default ? "" : size),
                text.string};
}

/* Returns the pages set beyond the known need, or those that others use and that are not described yet, if more. */
static uint64_t rest_of(const Maker *maker, const ImportPages *pages) {
        /* Unexplained pages may belong to an instance, as its segments do; they are among the existing pages. */
        bool may_be_ours = pages->who && maker->input->config->n_instances > 0;
        uint64_t others = may_be_ours ? 0 : others_pages(maker, pages->page_size_bytes);
        uint64_t loose = ARRAY_SUM(instance, maker->input->plan->instances,
                                   maker->input->plan->n_instances,
                                   instance->page_size_bytes == pages->page_size_bytes &&
                                                   !instance->demand->config->unit
                                           ? instance->pages_wanted
                                           : 0);

        return MAX(sub_floored(pages->set_pages, pages->known_pages), sub_floored(others, loose));
}

static void add_pages(const Maker *maker) {
        const HostView *input = maker->input;
        const SetPagesList list =
                set_pages_find(maker->arena, input->setting_sources, input->topology, input->plan);

        VEC_FOREACH(set, &list) {
                ImportPages *pages = vec_push(maker->arena, &maker->import->pages);

                *pages = (ImportPages){
                        .page_size_bytes = set->page_size_bytes,
                        .set_pages = set->pages,
                        .who = set->is_unexplained ? history_say_who(maker->arena, input->history,
                                                                     set->page_size_bytes)
                                                   : NULL,
                        .known_pages = known_pages(maker, set->page_size_bytes),
                };
                if (set->pages > 0)
                        pages->rest_pages = rest_of(maker, pages);
                if (pages->rest_pages > 0)
                        add_rest(maker, set, pages->rest_pages);
        }
}

/* ---- the databases ---- */

/* Returns whether hugeplan sets the limits of the database's owner, by a present or proposed drop-in. */
static bool needs_limit(const Suggestion *suggestion) {
        return (suggestion->path || suggestion->described) && suggestion->engine->uses_sysv;
}

/* Returns the owner's limit for a database with System V segments: "unlimited" is kept for its logins, but a number is
 * not, because MemoryLock=auto gives logins what the instance needs. */
static const LoginLimit *login_limit_of(const Maker *maker, const Suggestion *suggestion) {
        return needs_limit(suggestion)
                       ? VEC_FIND(limit, &maker->input->facts->login_limits,
                                  text_equals(limit->domain, suggestion->engine->default_user) &&
                                          TEXT_IS_ANY(limit->value, "unlimited", "infinity", "-1"))
                       : NULL;
}

static void add_databases(const Maker *maker) {
        VEC_FOREACH(suggestion, maker->import->suggestions) {
                const LoginLimit *limit = login_limit_of(maker, suggestion);

                if (!suggestion->path)
                        continue;
                *vec_push(maker->arena, &maker->import->files) = (ImportFile){
                        suggestion->path,
                        limit ? arena_printf(maker->arena,
                                             "%s# %s memlock %s in %s:%u\nMemoryLock=infinity\n",
                                             suggestion->text, limit->domain, limit->value,
                                             limit->origin.file, limit->origin.line)
                              : suggestion->text};
        }
}

static void compare_with_host(const Maker *maker) {
        const HostView *input = maker->input;
        const Topology *topology = input->topology;
        ImportExcess *excess = &maker->import->excess;
        uint64_t memory = ARRAY_SUM(node, topology->nodes, topology->n_nodes, node->memory_bytes);
        uint64_t most = sub_floored(memory, input->plan->keep_free_bytes);
        uint64_t wanted = ARRAY_SUM(size, topology->page_sizes, topology->n_page_sizes,
                                    mul_saturated(known_pages(maker, size->bytes), size->bytes));

        wanted = add_saturated(wanted,
                               VEC_SUM(pages, &maker->import->pages,
                                       mul_saturated(pages->rest_pages, pages->page_size_bytes)));
        if (memory == 0 || wanted <= most)
                return;
        *excess = (ImportExcess){.wanted_bytes = wanted, .most_bytes = most};
        VEC_FOREACH(suggestion, maker->import->suggestions)
                if (suggestion->path &&
                    suggestion->pages > (excess->largest ? excess->largest->pages : 0))
                        excess->largest = suggestion;
        if (excess->largest) {
                uint64_t size_bytes = topology_usual_page_size(topology);
                uint64_t own = mul_saturated(excess->largest->pages, size_bytes);

                excess->largest_pages = sub_floored(most, sub_floored(wanted, own)) / size_bytes;
        }
}

/* ---- entries of others ---- */

/* Returns what to do about an entry; NULL: it needs no mention. */
static const char *advise(const Maker *maker, const SettingSource *entry, ImportAction *ret) {
        *ret = IMPORT_KEEP;
        switch (entry->what) {
        case SETTING_SOURCE_NR_HUGEPAGES:
        case SETTING_SOURCE_NR_HUGEPAGES_MEMPOLICY:
        case SETTING_SOURCE_SIZE_POOL:
        case SETTING_SOURCE_NODE_POOL:
                if (entry->source == SETTING_SOURCE_KERNEL_COMMAND_LINE &&
                    !text_starts_with(entry->key, "sysctl"))
                        return "what the kernel reserves at boot counts for the plan";
                if (!setting_source_is_number(entry)) {
                        *ret = IMPORT_LOOK;
                        return entry->source == SETTING_SOURCE_TUNED
                                       ? "tuned makes the number; what comes of it is not counted"
                                       : "the kernel refuses what is no number: it has no effect";
                }
                *ret = IMPORT_REMOVE;
                return conflict_place_remedy(maker->arena, entry);
        case SETTING_SOURCE_NR_OVERCOMMIT_HUGEPAGES:
                *ret = IMPORT_REMOVE;
                return setting_source_explains(entry, "0")
                               ? NULL
                               : conflict_place_remedy(maker->arena, entry);
        case SETTING_SOURCE_HUGETLB_SHM_GROUP:
                return VEC_ANY(suggestion, maker->import->suggestions, needs_limit(suggestion)) ||
                                       config_needs_group(maker->input->config)
                               ? "hugeplan puts its own group there; 'hugeplanctl check' names who has to be a member"
                               : NULL;
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

static void add_lines(const Maker *maker) {
        VEC_FOREACH(entry, &maker->input->setting_sources->list) {
                ImportAction action;
                const char *advice = advise(maker, entry, &action);

                if (advice)
                        add_line(maker,
                                 (ImportLine){action, entry->file, entry->line,
                                              setting_source_text(maker->arena, entry), advice});
        }
}

static void add_login_limits(const Maker *maker) {
        VEC_FOREACH(limit, &maker->input->facts->login_limits) {
                const Suggestion *owned = VEC_FIND(
                        suggestion, maker->import->suggestions,
                        needs_limit(suggestion) &&
                                text_equals(suggestion->engine->default_user, limit->domain));

                if (text_equals(limit->origin.file, PATH_PAM_LIMITS))
                        continue;
                add_line(
                        maker,
                        (ImportLine){
                                owned ? IMPORT_REMOVE : IMPORT_KEEP,
                                limit->origin.file,
                                limit->origin.line,
                                arena_printf(maker->arena, "%s %s memlock %s", limit->domain,
                                             limit->type, limit->value),
                                owned ? "delete the line; hugeplan writes the limit into " PATH_PAM_LIMITS
                                      : "it is for logins, and no database that was found needs it for huge pages",
                        });
        }
}

Import import_make(Arena *arena, const HostView *view, const Suggestions *suggestions) {
        Import import = {.suggestions = suggestions};
        const Maker maker = {arena, view, &import};

        add_databases(&maker);
        add_pages(&maker);
        compare_with_host(&maker);
        add_lines(&maker);
        add_login_limits(&maker);
        return import;
}
