/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/promise/admission.h"

#include "base/size.h"
#include "base/text.h"
#include "plan/promise/balance.h"

/* ---- admission ---- */

typedef struct StartSet {
        IdSet nodes;
        uint64_t free_pages;
        uint64_t needed_pages;
        uint64_t taken_pages; /* of these, what running units take, with earlier starters present */
        uint64_t share_pages; /* what the current starter takes, or makes others take */
        bool is_needed;       /* a unit still has pages to take that only NODES can serve */
} StartSet;

typedef struct Admission {
        Arena *arena;
        Reach reach;
        IdSet all;
        VEC(StartSet) sets; /* all nodes first, then each set that a unit is bound to */
} Admission;

/* Returns how many of PAGES other nodes cannot serve. Of promises without a known owner only these count against
 * units bound to NODES; the rest is an exposure. */
static uint64_t left_for(const Reach *reach, const IdSet *nodes, uint64_t pages) {
        const IdSet all = topology_all_nodes(reach->promises->topology);

        return sub_floored(pages, sub_floored(reach_free(reach, &all), reach_free(reach, nodes)));
}

/* Returns the pages of NODES that are not for a starter; its own mount, that of MOUNT_OF (NULL: none), is left out. */
static uint64_t taken_in(const Reach *reach, const IdSet *nodes, const char *mount_of) {
        uint64_t nobodys = reach_unknown(reach), pages = 0;

        VEC_FOREACH(row, &reach->promises->list)
                if (row->unit)
                        pages = add_saturated(pages, reach_most(reach, row, nodes));
                else if (!mount_of || !text_equals(row->mount_of, mount_of))
                        nobodys = add_saturated(nobodys, row->pages + row->likely_pages);
        return add_saturated(pages, left_for(reach, nodes, nobodys));
}

/* Returns whether POLICY confines a unit that still takes PAGES to NODES. */
static bool confines_to(const Admission *admission, const MemoryPolicy *policy, uint64_t pages,
                        const IdSet *nodes) {
        const IdSet *bound_to = memory_policy_bound_to(policy);

        return pages > 0 && id_set_is_subset(bound_to ? bound_to : &admission->all, nodes);
}

static void add_admission_set(Admission *admission, const IdSet *nodes) {
        const Reach *reach = &admission->reach;

        if (VEC_ANY(set, &admission->sets, id_set_equals(&set->nodes, nodes)))
                return;
        uint64_t taken = taken_in(reach, nodes, NULL);

        *vec_push(admission->arena, &admission->sets) = (StartSet){
                .nodes = *nodes,
                .free_pages = reach_free(reach, nodes),
                .needed_pages = taken,
                .taken_pages = taken,
                .is_needed = VEC_ANY(
                        row, &reach->promises->list,
                        confines_to(admission, &row->policy, reach_rest(reach, row), nodes)),
        };
}

/* Returns the pages that STARTER takes of each of its nodes if it interleaves. */
static uint64_t turn_of(const Starter *starter) {
        return div_round_up(starter->pages, MAX(id_set_count(&starter->policy.nodes), 1u));
}

/* Returns what STARTER takes of NODES. One that does not start now has its planned pages: its gate asks again at its
 * start. */
static uint64_t share_in(const Admission *admission, const Starter *starter, const IdSet *nodes) {
        const IdSet *own = &starter->policy.nodes;
        bool is_bound = starter->policy.kind == MEMORY_POLICY_BIND;
        const Reach had = {.promises = admission->reach.promises, .free_pages = starter->used};

        if (id_set_is_subset(is_bound ? own : &admission->all, nodes))
                return starter->pages;
        if (is_bound && !id_set_meets(own, nodes))
                return 0;
        if (!starter->is_now)
                return MIN(starter->pages,
                           sub_floored(pages_within(&starter->grants, nodes),
                                       starter->used ? reach_free(&had, nodes) : 0));
        if (starter->policy.kind == MEMORY_POLICY_INTERLEAVE &&
            reach_can_take_turns(&admission->reach, own, turn_of(starter)))
                return reach_turns_in(&admission->reach, own, starter->pages, nodes);
        return starter->pages;
}

/* Sets what STARTER takes of each set, or makes others take because it takes pages of their interleaved nodes. Returns the
 * reach once it runs: one that is neither bound nor interleaves displaces others by its own pages only. */
static Reach share_out(Admission *admission, const Starter *starter) {
        const Topology *topology = admission->reach.promises->topology;
        bool is_in_turn = starter->policy.kind == MEMORY_POLICY_INTERLEAVE;
        bool displaces = starter->is_now &&
                         (is_in_turn || starter->policy.kind == MEMORY_POLICY_BIND);
        Reach with = admission->reach;

        if (displaces) {
                uint64_t *more = ARENA_ARRAY(admission->arena, uint64_t, topology->n_nodes);

                for (size_t i = 0; i < topology->n_nodes; i++)
                        if (id_set_has(&starter->policy.nodes, topology->nodes[i].id))
                                more[i] = is_in_turn ? turn_of(starter) : starter->pages;
                with = reach_beside(admission->arena, &admission->reach, more);
        }
        VEC_FOREACH(set, &admission->sets) {
                uint64_t taken = displaces ? taken_in(&with, &set->nodes, NULL) : set->taken_pages;

                set->share_pages =
                        MIN(starter->pages, add_saturated(share_in(admission, starter, &set->nodes),
                                                          sub_floored(taken, set->taken_pages)));
                set->taken_pages = taken;
        }
        return with;
}

/* Finds the unit, other than SELF, that may take most of NODES, and returns how many pages; NULL if no unit may take
 * more than PAGES, which have no known owner. A unit that is bound to NODES has its own pages there, and ranks
 * behind all units that could take theirs elsewhere. */
static uint64_t find_taker(const Reach *reach, const IdSet *nodes, const Promise *self,
                           uint64_t pages, const char **ret_unit, bool *ret_is_kept) {
        const Promise *taker = NULL;
        bool is_confined = false;
        uint64_t most = 0;

        VEC_FOREACH(row, &reach->promises->list) {
                uint64_t here = row->unit && row != self ? reach_most(reach, row, nodes) : 0;
                bool is_bound = row->policy.kind == MEMORY_POLICY_BIND &&
                                id_set_is_subset(&row->policy.nodes, nodes);

                if (here == 0 || (taker && (is_bound == is_confined ? here <= most : is_bound)))
                        continue;
                taker = row;
                most = here;
                is_confined = is_bound;
        }
        if (most <= pages || (is_confined && pages > 0))
                taker = NULL;
        *ret_unit = taker ? taker->unit : NULL;
        *ret_is_kept = taker && (taker->policy.kind == MEMORY_POLICY_BIND ||
                                 taker->policy.kind == MEMORY_POLICY_INTERLEAVE);
        return taker ? most : pages;
}

/* Returns the pages of the starter's own mount that taken_in() counts on NODES. */
static uint64_t own_mount_in(const Admission *admission, const Starter *starter,
                             const IdSet *nodes) {
        return starter->has_mount ? taken_in(&admission->reach, nodes, NULL) -
                                            taken_in(&admission->reach, nodes, starter->instance)
                                  : 0;
}

/* Returns what STARTER lacks in the set where it lacks most. */
static Lack find_lack(const Admission *admission, const Starter *starter) {
        Lack worst = {};

        VEC_FOREACH(set, &admission->sets) {
                /* Pages taken there affect no other unit. */
                if (!set->is_needed &&
                    !confines_to(admission, &starter->policy, starter->pages, &set->nodes))
                        continue;
                uint64_t needed = sub_floored(set->needed_pages,
                                              own_mount_in(admission, starter, &set->nodes));
                uint64_t lack =
                        MIN(set->share_pages,
                            sub_floored(add_saturated(needed, set->share_pages), set->free_pages));

                if (lack > worst.pages)
                        worst = (Lack){
                                .pages = lack,
                                .nodes = set->nodes,
                                .free_pages = set->free_pages,
                                .taken_pages = MIN(needed, set->free_pages),
                                .is_others = share_in(admission, starter, &set->nodes) == 0,
                        };
        }
        if (worst.pages > 0) {
                uint64_t unknown =
                        left_for(&admission->reach, &worst.nodes, reach_unknown(&admission->reach));

                /* A unit that cannot take pages of the starter's own nodes does not compete with it. */
                const IdSet own = starter->policy.kind == MEMORY_POLICY_BIND
                                          ? id_set_common(&starter->policy.nodes, &worst.nodes)
                                          : worst.nodes;

                worst.taker_pages =
                        MIN(worst.taken_pages, find_taker(&admission->reach, &own, NULL, unknown,
                                                          &worst.taker, &worst.is_taker_kept));
        }
        return worst;
}

void promises_admit(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                    const Starter *starters, size_t n, Lack *ret_lacks) {
        Admission admission = {
                .arena = arena,
                .reach = reach_new(arena, promises, free_pages, true),
                .all = topology_all_nodes(promises->topology),
        };

        add_admission_set(&admission, &admission.all);
        VEC_FOREACH(row, &promises->list)
                if (memory_policy_bound_to(&row->policy))
                        add_admission_set(&admission, &row->policy.nodes);
        for (size_t i = 0; i < n; i++)
                if (starters[i].policy.kind == MEMORY_POLICY_BIND)
                        add_admission_set(&admission, &starters[i].policy.nodes);
        for (size_t i = 0; i < n; i++) {
                const Reach with = share_out(&admission, &starters[i]);

                ret_lacks[i] = find_lack(&admission, &starters[i]);
                VEC_FOREACH(set, &admission.sets) {
                        uint64_t more = sub_floored(
                                sub_floored(set->share_pages,
                                            own_mount_in(&admission, &starters[i], &set->nodes)),
                                ret_lacks[i].pages);

                        set->needed_pages = add_saturated(set->needed_pages, more);
                        set->is_needed |= confines_to(&admission, &starters[i].policy,
                                                      starters[i].pages, &set->nodes);
                }
                admission.reach = with;
        }
}

/* ---- exposures ---- */

/* Returns how many pages that ROW, which is bound, was promised others have taken already. */
static uint64_t lost_pages(const Reach *reach, const Promise *row) {
        uint64_t only_here =
                VEC_SUM(other, &reach->promises->list,
                        other->policy.kind == MEMORY_POLICY_BIND &&
                                        id_set_is_subset(&other->policy.nodes, &row->policy.nodes)
                                ? other->pages
                                : 0);

        return MIN(row->pages, sub_floored(only_here, reach_free(reach, &row->policy.nodes)));
}

uint64_t promises_lost_pages(const Promises *promises, const char *unit,
                             const uint64_t *free_pages) {
        const Reach reach = {.promises = promises, .free_pages = free_pages};
        const Promise *row = promises_find(promises, unit);

        return row && row->policy.kind == MEMORY_POLICY_BIND ? lost_pages(&reach, row) : 0;
}

Exposures promises_exposures(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                             bool with_coming) {
        Reach reach = reach_new(arena, promises, free_pages, with_coming);
        const NodeSets sets = reach_sets(arena, &reach);
        Exposures exposures = {};

        VEC_FOREACH(row, &promises->list) {
                uint64_t pages = with_coming ? reach_rest(&reach, row) : row->pages;

                if (!row->unit || row->policy.kind != MEMORY_POLICY_BIND || pages == 0)
                        continue;
                const NodeSet *set =
                        VEC_FIND(each, &sets, id_set_equals(&each->nodes, &row->policy.nodes));
                uint64_t missing = sub_floored(set->needed_pages, set->free_pages);
                uint64_t lost = with_coming || missing == 0 ? 0 : lost_pages(&reach, row);
                Exposure exposure = {
                        .unit = row->unit,
                        .page_size_bytes = promises->topology->page_sizes[promises->size].bytes,
                        .nodes = set->nodes,
                        .pages = MIN(missing, pages - lost),
                        .missing_pages = missing,
                };

                if (exposure.pages == 0)
                        continue;
                exposure.taker_pages = find_taker(&reach, &set->nodes, row, reach_unknown(&reach),
                                                  &exposure.taker, &exposure.is_taker_kept);
                *vec_push(arena, &exposures) = exposure;
        }
        return exposures;
}

static void add_covered(Arena *arena, Exposures *covers, const Promises *promises,
                        const uint64_t *cover_pages, Exposure cover) {
        const Reach covered = {.promises = promises, .free_pages = cover_pages};

        cover.page_size_bytes = promises->topology->page_sizes[promises->size].bytes;
        cover.pages = MIN(cover.pages, reach_free(&covered, &cover.nodes));
        if (cover.pages > 0)
                *vec_push(arena, covers) = cover;
}

Exposures promises_covered(Arena *arena, const Promises *promises, const uint64_t *free_pages,
                           const uint64_t *cover_pages, const Starter *starters, const Lack *lacks,
                           size_t n) {
        const Topology *topology = promises->topology;
        uint64_t *bare_pages = ARENA_ARRAY(arena, uint64_t, topology->n_nodes);
        Lack *bare_lacks = ARENA_ARRAY(arena, Lack, n);
        Exposures covers = {};
        IdSet nodes = {};

        for (size_t i = 0; i < topology->n_nodes; i++) {
                bare_pages[i] = sub_floored(free_pages[i], cover_pages[i]);
                if (cover_pages[i] > 0)
                        id_set_add(&nodes, topology->nodes[i].id);
        }
        if (id_set_is_empty(&nodes))
                return covers;
        const Exposures left = promises_exposures(arena, promises, free_pages, true);
        const Exposures exposures = promises_exposures(arena, promises, bare_pages, true);

        VEC_FOREACH(exposure, &exposures) {
                const Exposure *still =
                        VEC_FIND(each, &left, text_equals(each->unit, exposure->unit));
                Exposure cover = *exposure;

                cover.pages = sub_floored(cover.pages, still ? still->pages : 0);
                add_covered(arena, &covers, promises, cover_pages, cover);
        }
        promises_admit(arena, promises, bare_pages, starters, n, bare_lacks);
        for (size_t i = 0; i < n; i++)
                add_covered(arena, &covers, promises, cover_pages,
                            (Exposure){.unit = starters[i].unit ? starters[i].unit
                                                                : starters[i].instance,
                                       .nodes = bare_lacks[i].nodes,
                                       .pages = sub_floored(bare_lacks[i].pages, lacks[i].pages),
                                       .taker = bare_lacks[i].taker,
                                       .taker_pages = bare_lacks[i].taker_pages});
        if (covers.n == 0)
                add_covered(arena, &covers, promises, cover_pages,
                            (Exposure){.nodes = nodes, .pages = UINT64_MAX});
        return covers;
}
