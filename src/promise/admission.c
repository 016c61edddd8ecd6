/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "promise/admission.h"

#include "base/size.h"
#include "base/text.h"
#include "promise/reach.h"

/* ---- who may start ---- */

typedef struct Constraint {
        IdSet nodes;
        uint64_t free_pages;
        uint64_t needed_pages;
        bool is_needed; /* somebody has pages to take that no other nodes can serve */
} Constraint;

typedef struct Admission {
        Arena *arena;
        Reach reach;
        IdSet all;
        VEC(Constraint) sets; /* all nodes first, then those to which somebody is bound */
} Admission;

/* What of PAGES other nodes cannot serve: of promises that may be anybody's, no more than that is
 * held against who is bound to NODES; the rest is an exposure. */
static uint64_t left_for(const Reach *reach, const IdSet *nodes, uint64_t pages) {
        uint64_t elsewhere = sub_floored(reach_sum_in(reach->promises, reach->free_pages, NULL),
                                         reach_sum_in(reach->promises, reach->free_pages, nodes));

        return sub_floored(pages, elsewhere);
}

/* Pages of NODES that are not for a starter, whose own mount (NULL: none) does not count. */
static uint64_t taken_in(const Reach *reach, const IdSet *nodes, const char *mount_of) {
        uint64_t nobodys = reach_unknown(reach), pages = 0;

        VEC_FOREACH(row, &reach->promises->list)
                if (row->unit)
                        pages = add_saturated(pages, reach_most(reach, row, nodes));
                else if (!mount_of || !text_equals(row->mount_of, mount_of))
                        nobodys = add_saturated(nobodys, row->pages + row->likely_pages);
        return add_saturated(pages, left_for(reach, nodes, nobodys));
}

/* Whether POLICY leaves NODES, where PAGES are still to be taken, no way out. */
static bool confines_to(const Admission *admission, const MemoryPolicy *policy, uint64_t pages,
                        const IdSet *nodes) {
        return pages > 0 && id_set_is_subset(policy->kind == MEMORY_POLICY_BIND ? &policy->nodes
                                                                                : &admission->all,
                                             nodes);
}

static void add_admission_set(Admission *admission, const IdSet *nodes) {
        const Reach *reach = &admission->reach;

        if (VEC_ANY(set, &admission->sets, id_set_equals(&set->nodes, nodes)))
                return;
        *vec_push(admission->arena, &admission->sets) = (Constraint){
                .nodes = *nodes,
                .free_pages = reach_sum_in(reach->promises, reach->free_pages, nodes),
                .needed_pages = taken_in(reach, nodes, NULL),
                .is_needed = VEC_ANY(
                        row, &reach->promises->list,
                        confines_to(admission, &row->policy, reach_rest(reach, row), nodes)),
        };
}

/* What a starter takes of a set. Who is not there yet will be asked when he comes: till then he has
 * what was planned for him. */
static uint64_t share_in(const Admission *admission, const Starter *starter, const IdSet *nodes) {
        const IdSet *own = &starter->policy.nodes;
        bool is_bound = starter->policy.kind == MEMORY_POLICY_BIND;

        if (id_set_is_subset(is_bound ? own : &admission->all, nodes))
                return starter->pages;
        if (is_bound && !id_set_meets(own, nodes))
                return 0;
        if (!starter->is_now)
                return MIN(starter->pages,
                           ARRAY_SUM(grant, starter->grants, starter->n_grants,
                                     id_set_has(nodes, grant->node) ? grant->pages : 0));
        if (starter->policy.kind == MEMORY_POLICY_INTERLEAVE &&
            reach_can_take_turns(&admission->reach, own,
                                 div_round_up(starter->pages, MAX(id_set_count(own), 1u))))
                return reach_turns_in(&admission->reach, own, starter->pages, NULL, nodes);
        return starter->pages;
}

/* The unit that may take most of NODES, SELF apart; NULL: nobody who is known may take more than PAGES. How
 * many pages that are. */
static uint64_t find_taker(const Reach *reach, const IdSet *nodes, const Promise *self,
                           uint64_t pages, const char **ret_unit) {
        VEC_FOREACH(row, &reach->promises->list) {
                uint64_t most = row == self || !row->unit ? 0 : reach_most(reach, row, nodes);

                if (most > pages) {
                        pages = most;
                        *ret_unit = row->unit;
                }
        }
        return pages;
}

/* What the starter's own mount has of NODES, and is counted there. */
static uint64_t own_mount_in(const Admission *admission, const Starter *starter,
                             const IdSet *nodes) {
        return starter->has_mount ? taken_in(&admission->reach, nodes, NULL) -
                                            taken_in(&admission->reach, nodes, starter->instance)
                                  : 0;
}

/* In the set where it lacks most. */
static Lack find_lack(const Admission *admission, const Starter *starter) {
        Lack worst = {};

        VEC_FOREACH(set, &admission->sets) {
                uint64_t share = share_in(admission, starter, &set->nodes);
                uint64_t needed = sub_floored(set->needed_pages,
                                              own_mount_in(admission, starter, &set->nodes));

                /* Where it takes pages there, it is nobody's harm. */
                if (!set->is_needed &&
                    !confines_to(admission, &starter->policy, starter->pages, &set->nodes))
                        continue;
                uint64_t lack =
                        MIN(share, sub_floored(add_saturated(needed, share), set->free_pages));

                if (lack > worst.pages)
                        worst = (Lack){
                                .pages = lack,
                                .nodes = set->nodes,
                                .free_pages = set->free_pages,
                                .taken_pages = MIN(needed, set->free_pages),
                        };
        }
        if (worst.pages > 0) {
                uint64_t unknown =
                        left_for(&admission->reach, &worst.nodes, reach_unknown(&admission->reach));

                worst.taker_pages = MIN(
                        worst.taken_pages,
                        find_taker(&admission->reach, &worst.nodes, NULL, unknown, &worst.taker));
        }
        return worst;
}

void promises_admit(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                    const Starter *starters, size_t n, Lack *ret_lacks) {
        Admission admission = {
                .arena = arena,
                .reach = reach_new(arena, promises, free_pages, true),
        };

        ARRAY_FOREACH(node, promises->topology->nodes, promises->topology->n_nodes)
                id_set_add(&admission.all, node->id);
        add_admission_set(&admission, &admission.all);
        VEC_FOREACH(row, &promises->list)
                if (row->policy.kind == MEMORY_POLICY_BIND)
                        add_admission_set(&admission, &row->policy.nodes);
        for (size_t i = 0; i < n; i++)
                if (starters[i].policy.kind == MEMORY_POLICY_BIND)
                        add_admission_set(&admission, &starters[i].policy.nodes);
        for (size_t i = 0; i < n; i++) {
                ret_lacks[i] = find_lack(&admission, &starters[i]);
                VEC_FOREACH(set, &admission.sets) {
                        uint64_t share = share_in(&admission, &starters[i], &set->nodes);
                        uint64_t more = sub_floored(
                                sub_floored(share,
                                            own_mount_in(&admission, &starters[i], &set->nodes)),
                                ret_lacks[i].pages);

                        set->needed_pages = add_saturated(set->needed_pages, more);
                        set->is_needed = set->is_needed ||
                                         confines_to(&admission, &starters[i].policy,
                                                     starters[i].pages, &set->nodes);
                }
        }
}

/* ---- who may take whose ---- */

uint64_t promises_lost_pages(const Promises *promises, const char *unit,
                             const uint64_t *free_pages) {
        const Promise *row = promises_find(promises, unit);

        if (!row || row->policy.kind != MEMORY_POLICY_BIND)
                return 0;
        /* Promises that no other nodes can serve. */
        uint64_t only_there =
                VEC_SUM(other, &promises->list,
                        other->policy.kind == MEMORY_POLICY_BIND &&
                                        id_set_is_subset(&other->policy.nodes, &row->policy.nodes)
                                ? other->pages
                                : 0);

        return MIN(row->pages,
                   sub_floored(only_there, reach_sum_in(promises, free_pages, &row->policy.nodes)));
}

static Exposures find_exposures(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                                bool with_coming) {
        Reach reach = reach_new(arena, promises, free_pages, with_coming);
        Exposures exposures = {};

        VEC_FOREACH(row, &promises->list) {
                const IdSet *nodes = &row->policy.nodes;
                uint64_t pages = with_coming ? reach_rest(&reach, row) : row->pages;

                if (!row->unit || row->policy.kind != MEMORY_POLICY_BIND || pages == 0)
                        continue;
                uint64_t missing = sub_floored(reach_needed(&reach, nodes),
                                               reach_sum_in(promises, free_pages, nodes));
                Exposure exposure = {
                        .unit = row->unit,
                        .page_size_bytes = promises->topology->page_sizes[promises->size].bytes,
                        .nodes = *nodes,
                        .pages = MIN(missing,
                                     sub_floored(pages, promises_lost_pages(promises, row->unit,
                                                                            free_pages))),
                };

                if (exposure.pages == 0)
                        continue;
                exposure.taker_pages =
                        find_taker(&reach, nodes, row, reach_unknown(&reach), &exposure.taker);
                *vec_push(arena, &exposures) = exposure;
        }
        return exposures;
}

Exposures promises_exposures(Arena *arena, const Promises *promises, const uint64_t *free_pages) {
        return find_exposures(arena, promises, free_pages, false);
}

Exposures promises_coming_exposures(Arena *arena, const Promises *promises,
                                    const uint64_t *free_pages) {
        return find_exposures(arena, promises, free_pages, true);
}
