/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What goes wrong with hugetlb limits (units/hugetlb_limit.h): units that run without theirs or with that of an
 * earlier plan, and consumers of the pools that nothing keeps from the pages of instances. */

#include "base/text.h"
#include "check/rule_run.h"
#include "units/hugetlb_limit.h"

/* ---- units that should have one ---- */

/* One whose hugetlb limit could be looked for: it runs, on a host that has the controller. */
static const UnitFacts *limited_unit(const RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = instance->facts->unit;

        /* The first instance of a unit stands for all that share it. */
        if (!unit || !unit->is_running || !run->input->facts->has_hugetlb_limits ||
            hugetlb_limit_preference(run->input->config, instance->config->unit) == TRI_NO ||
            ARRAY_FIND(other, run->instances, run->n_instances,
                       text_equals(other->config->unit, instance->config->unit)) != instance)
                return NULL;
        return unit;
}

static const GroupLimit *find_own_limit(const UnitFacts *unit, const char *file) {
        return VEC_FIND(limit, &unit->limits,
                        text_equals(limit->file, file) && hugetlb_limit_is_limit(limit->bytes));
}

/* What all instances of the unit were granted. */
static uint64_t planned_bytes(const RuleRun *run, const char *unit, uint64_t page_size_bytes) {
        return ARRAY_SUM(instance, run->instances, run->n_instances,
                         text_equals(instance->config->unit, unit) &&
                                         instance->planned->page_size_bytes == page_size_bytes
                                 ? mul_saturated(instance->planned->pages_granted, page_size_bytes)
                                 : 0);
}

static void find_missing(RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = limited_unit(run, instance);
        uint64_t page_size_bytes = instance->planned->page_size_bytes;

        /* The hugetlb limit comes with the first start after the plan was applied. */
        if (!unit || page_size_bytes == 0 || !rule_is_reserved(run, instance))
                return;
        const char *file = rule_limit_file(run, unit, page_size_bytes);

        if (find_own_limit(unit, file))
                return;
        rule_tell(
                run, (Diag){.file = file},
                "restart it: hugeplan sets the hugetlb limit at each start; "
                "its log says why where it does not",
                "%s runs without a hugetlb limit: it may take pages of %s that are reserved for others",
                unit->name, format_page_size(run->arena, page_size_bytes));
}

static void find_wrong(RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = limited_unit(run, instance);
        const Topology *topology = run->input->topology;

        for (size_t i = 0; unit && i < topology->n_page_sizes; i++) {
                uint64_t page_size_bytes = topology->page_sizes[i].bytes;
                uint64_t planned = planned_bytes(run, unit->name, page_size_bytes);
                const char *file = rule_limit_file(run, unit, page_size_bytes);
                const GroupLimit *limit = find_own_limit(unit, file);

                if (limit && limit->bytes != planned)
                        rule_tell(run, (Diag){.file = file},
                                  "restart it: its hugetlb limit is set anew at each start",
                                  "the hugetlb limit of %s is at %s, and the plan has %s for it",
                                  unit->name, format_size(run->arena, limit->bytes),
                                  format_size(run->arena, planned));
        }
}

/* ---- who has none ---- */

/* Where they have taken too many already, another rule says so. */
static void find_unlimited(RuleRun *run) {
        if (!run->input->page_users || !run->input->facts->has_hugetlb_limits ||
            !ARRAY_ANY(instance, run->instances, run->n_instances,
                       instance->config->unit &&
                               hugetlb_limit_preference(run->input->config,
                                                        instance->config->unit) != TRI_NO))
                return;
        VEC_FOREACH(user, &run->input->page_users->list) {
                if (user->is_limited || page_user_kept_pages(user) == 0 ||
                    rule_wanted_pages(run, user->page_size_bytes) == 0 ||
                    !rule_is_other_program(run, user) || rule_is_in_need(run, user))
                        continue;
                rule_tell(
                        run, (Diag){},
                        "describe it in /etc/hugeplan.d with its Unit=, so that "
                        "it has pages and a hugetlb limit of its own",
                        "%s belong to no instance, and no hugetlb limit keeps it from taking more: the instances' own limits do not keep others out",
                        page_user_format(run->arena, user));
        }
}

/* ---- who is killed by one ---- */

/* It hurts as soon as the host has pages of that size; units of instances have a rule of their own. */
static bool does_hurt(const RuleRun *run, const GroupLimit *limit) {
        const Topology *topology = run->input->topology;
        bool has_pages = rule_wanted_pages(run, limit->page_size_bytes) > 0 ||
                         ARRAY_ANY(size, topology->page_sizes, topology->n_page_sizes,
                                   size->bytes == limit->page_size_bytes && size->total_pages > 0);

        return has_pages &&
               !ARRAY_ANY(instance, run->instances, run->n_instances,
                          instance->facts->unit && VEC_ANY(own, &instance->facts->unit->limits,
                                                           text_equals(own->file, limit->file)));
}

static void find_sigbus(RuleRun *run) {
        const GroupLimits *traps = &run->input->facts->group_traps;
        const GroupLimit *first = VEC_FIND(limit, traps, does_hurt(run, limit));
        size_t n_others = VEC_SUM(limit, traps, limit != first && does_hurt(run, limit));

        if (first)
                rule_tell(
                        run, (Diag){.file = first->file},
                        "have whatever set it limit what is reserved, too (hugetlb.SIZE.rsvd.max; runc does so from "
                        "1.1.10 on), or switch huge pages off in there",
                        "whoever runs in here%s may reserve huge pages, and is killed by SIGBUS when it touches more "
                        "than %s of them; PostgreSQL does so by default, initdb too",
                        n_others > 0 ? arena_printf(run->arena, ", and in %zu other group%s,",
                                                    n_others, n_others == 1 ? "" : "s")
                                     : "",
                        format_size(run->arena, first->bytes));
}

static const RuleRow rows[] = {
        {RULE_HUGETLB_LIMIT_MISSING, NULL, find_missing, NULL},
        {RULE_HUGETLB_LIMIT_WRONG, NULL, find_wrong, NULL},
        {RULE_HUGETLB_UNLIMITED, NULL, NULL, find_unlimited},
        {RULE_HUGETLB_SIGBUS, NULL, NULL, find_sigbus},
};

const RuleFamily rules_hugetlb_limit = {rows, ARRAY_LEN(rows)};
