/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What goes wrong with hugetlb limits (units/hugetlb_limit.h): units that run without theirs or with that of an
 * earlier plan, and consumers of the pools that nothing keeps from the pages of instances. */

#include "base/text.h"
#include "check/rule_run.h"
#include "units/hugetlb_limit.h"

#include <string.h>

/* ---- units that should have one ---- */

/* The first instance of a unit stands for all that share it. */
static bool is_first_of_unit(const RuleRun *run, const RuleInstance *instance) {
        for (const RuleInstance *other = run->instances; other < instance; other++)
                if (text_equals(other->config->unit, instance->config->unit))
                        return false;
        return true;
}

/* One whose hugetlb limit could be looked for: it runs, on a host that has the controller. */
static const UnitFacts *fenced_unit(const RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = instance->facts->unit;

        return unit && unit->is_running && run->input->facts->has_hugetlb_limits &&
                               is_first_of_unit(run, instance) &&
                               hugetlb_limit_preference(run->input->config,
                                                        instance->config->unit) != TRI_NO
                       ? unit
                       : NULL;
}

static const char *own_file(const RuleRun *run, const UnitFacts *unit, uint64_t page_size_bytes) {
        return hugetlb_limit_path(
                run->arena,
                arena_printf(run->arena, "%s%s", run->input->facts->hierarchy, unit->group),
                page_size_bytes);
}

static bool find_own_limit(const UnitFacts *unit, const char *file, uint64_t *ret_bytes) {
        VEC_FOREACH(limit, &unit->limits)
                if (text_equals(limit->file, file) && hugetlb_limit_is_limit(limit->bytes)) {
                        *ret_bytes = limit->bytes;
                        return true;
                }
        return false;
}

/* What all instances of the unit were granted. */
static uint64_t planned_bytes(const RuleRun *run, const char *unit, uint64_t page_size_bytes) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < run->n_instances; i++) {
                const PlanInstance *planned = run->instances[i].planned;

                if (text_equals(run->instances[i].config->unit, unit) &&
                    planned->page_size_bytes == page_size_bytes)
                        bytes = add_saturated(
                                bytes, mul_saturated(planned->pages_granted, page_size_bytes));
        }
        return bytes;
}

static void find_missing(RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = fenced_unit(run, instance);
        uint64_t page_size_bytes = instance->planned->page_size_bytes, bytes;

        /* The hugetlb limit comes with the first start after the plan was applied. */
        if (!unit || page_size_bytes == 0 || !rule_is_reserved(run, instance))
                return;
        const char *file = own_file(run, unit, page_size_bytes);

        if (find_own_limit(unit, file, &bytes))
                return;
        rule_tell(
                run, (Diag){.file = file},
                "restart it: hugeplan sets the hugetlb limit at each start; "
                "its log says why where it does not",
                "%s runs without a hugetlb limit: it may take pages of %s that are reserved for others",
                unit->name, format_page_size(run->arena, page_size_bytes));
}

static void add_wrong(RuleRun *run, const UnitFacts *unit, const char *file, uint64_t bytes,
                      uint64_t planned) {
        rule_tell(run, (Diag){.file = file},
                  "restart it: its hugetlb limit is set anew at each start",
                  "the hugetlb limit of %s is at %s, and the plan has %s for it", unit->name,
                  format_size(run->arena, bytes), format_size(run->arena, planned));
}

static void find_wrong(RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = fenced_unit(run, instance);
        const Topology *topology = run->input->topology;

        for (size_t i = 0; unit && i < topology->n_page_sizes; i++) {
                uint64_t page_size_bytes = topology->page_sizes[i].bytes, bytes;
                uint64_t planned = planned_bytes(run, unit->name, page_size_bytes);
                const char *file = own_file(run, unit, page_size_bytes);

                if (find_own_limit(unit, file, &bytes) && bytes != planned)
                        add_wrong(run, unit, file, bytes, planned);
        }
}

/* ---- who has none ---- */

static bool has_hugetlb_limits(const RuleRun *run) {
        for (size_t i = 0; i < run->n_instances; i++)
                if (run->instances[i].config->unit &&
                    hugetlb_limit_preference(run->input->config, run->instances[i].config->unit) !=
                            TRI_NO)
                        return true;
        return false;
}

/* Where they have taken too many already, another rule says so. */
static void find_unfenced(RuleRun *run) {
        if (!run->input->page_users || !run->input->facts->has_hugetlb_limits ||
            !has_hugetlb_limits(run))
                return;
        VEC_FOREACH(page_user, &run->input->page_users->list) {
                if (page_user->is_limited || page_user_kept_pages(page_user) == 0 ||
                    rule_wanted_pages(run, page_user->page_size_bytes) == 0 ||
                    !rule_is_other_program(run, page_user) || rule_is_in_need(run, page_user))
                        continue;
                rule_tell(
                        run, (Diag){},
                        "describe it in /etc/hugeplan.d with its Unit=, so that "
                        "it has pages and a hugetlb limit of its own",
                        "%s are no instance's, and no hugetlb limit keeps it from taking more: the instances' own do not keep others out",
                        page_user_format(run->arena, page_user));
        }
}

static const RuleRow rows[] = {
        {RULE_HUGETLB_LIMIT_MISSING, NULL, find_missing, NULL},
        {RULE_HUGETLB_LIMIT_WRONG, NULL, find_wrong, NULL},
        {RULE_HUGETLB_UNLIMITED, NULL, NULL, find_unfenced},
};

const RuleFamily rules_hugetlb_limit = {rows, ARRAY_LEN(rows)};
