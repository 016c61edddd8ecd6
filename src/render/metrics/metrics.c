/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/metrics/metrics.h"

typedef struct Maker {
        Arena *arena;
        Metrics metrics;
        MetricFamily *family; /* the one that samples are added to */
} Maker;

static void add_family(Maker *maker, const char *name, const char *help) {
        maker->family = vec_push(maker->arena, &maker->metrics);
        *maker->family = (MetricFamily){.name = name, .help = help};
}

static bool labels_are_equal(const MetricLabels *a, const MetricLabels *b) {
        for (size_t i = 0; i < MAX(a->n, b->n); i++)
                if (!text_equals(a->items[i].value, b->items[i].value))
                        return false;
        return true;
}

/* Adds a sample to the last family, or VALUE to its sample with the same labels. The labels are pairs of a name and a
 * value, up to NULL. */
static void __attribute__((sentinel)) add(Maker *maker, uint64_t value, ...) {
        MetricLabels labels = {};
        va_list pairs;

        va_start(pairs, value);
        for (const char *name; (name = va_arg(pairs, const char *));) {
                const char *text = va_arg(pairs, const char *);

                labels.items[labels.n++] = (MetricLabel){name, text ? text : ""};
        }
        va_end(pairs);
        MetricSample *sample = !maker->family->adds_up
                                       ? NULL
                                       : VEC_FIND(each, &maker->family->samples,
                                                  labels_are_equal(&each->labels, &labels));

        if (sample)
                sample->value = add_saturated(sample->value, value);
        else
                *vec_push(maker->arena, &maker->family->samples) = (MetricSample){labels, value};
}

/* The same for pages, in bytes, with their size as a label. */
#define ADD_PAGES(maker, pages, size_bytes, ...)                                     \
        add((maker), mul_saturated((pages), (size_bytes)), __VA_ARGS__, "page_size", \
            format_page_size((maker)->arena, (size_bytes)), NULL)

static const char *node_of(const Maker *maker, unsigned node) {
        return arena_printf(maker->arena, "%u", node);
}

/* ---- pools ---- */

static void add_pools(Maker *maker, const Status *status) {
        static const struct {
                const char *name, *help;
                size_t offset;
        } families[] = {
                {"pool_bytes", "Huge pages in the pool.", offsetof(StatusPool, total_pages)},
                {"pool_free_bytes", "Free memory of the pool, including reserved pages.",
                 offsetof(StatusPool, free_pages)},
                {"pool_surplus_bytes", "Of the pool, surplus pages: they vanish when given back.",
                 offsetof(StatusPool, surplus_pages)},
                {"pool_owned_bytes", "Of the pool, for instances.",
                 offsetof(StatusPool, owned_pages)},
                {"pool_cover_bytes",
                 "Of the pool, beyond the plan, so that nobody takes what a bound unit depends on.",
                 offsetof(StatusPool, cover_pages)},
                {"pool_foreign_bytes", "Of the pool, for no instance.",
                 offsetof(StatusPool, foreign_pages)},
        };

        ARRAY_FOREACH(family, families, ARRAY_LEN(families)) {
                add_family(maker, family->name, family->help);
                ARRAY_FOREACH(pool, status->pools, status->n_pools)
                        ADD_PAGES(maker, *(const uint64_t *) ((const char *) pool + family->offset),
                                  pool->page_size_bytes, "node", node_of(maker, pool->node));
        }
}

/* Reserved pages are neither lost nor free, so they have a family that names their unit. */
static void add_reserved(Maker *maker, const Status *status) {
        add_family(maker, "reserved_bytes",
                   "Huge pages that are reserved by a unit, and not touched yet.");
        maker->family->adds_up = true;
        VEC_FOREACH(reserved, &status->reserved)
                ADD_PAGES(maker, reserved->pages, reserved->page_size_bytes, "unit", reserved->unit,
                          "database", reserved->instance, "nodes",
                          id_set_is_empty(&reserved->nodes)
                                  ? "any"
                                  : id_set_format(maker->arena, &reserved->nodes));
}

/* ---- instances ---- */

/* The label is "database", because "instance" is Prometheus' own label for a scraped target. */
static void add_verdicts(Maker *maker, const Status *status) {
        add_family(maker, "database_verdict", "What hugeplan says of the instance.");
        maker->family->states = "verdict";
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                for (Verdict verdict = VERDICT_READY; verdict <= VERDICT_LOST; verdict++)
                        add(maker, instance->verdict == verdict, "database", instance->name,
                            "verdict", verdict_name(verdict), NULL);
}

static void add_plan(Maker *maker, const Status *status) {
        add_family(maker, "database_wanted_bytes", "Huge pages that the instance wants.");
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                if (instance->page_size_bytes > 0)
                        ADD_PAGES(maker, instance->pages_wanted, instance->page_size_bytes,
                                  "database", instance->name);
        add_family(maker, "database_granted_bytes", "Huge pages that the plan gives it on a node.");
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                ARRAY_FOREACH(node, instance->nodes, instance->n_nodes)
                        ADD_PAGES(maker, node->pages, instance->page_size_bytes, "database",
                                  instance->name, "node", node_of(maker, node->node));
}

static void add_outcomes_of(Maker *maker, const Proofs *proofs) {
        add_family(maker, "database_outcome", "What its server makes of its huge pages.");
        maker->family->states = "outcome";
        VEC_FOREACH(proof, &proofs->list)
                for (Outcome outcome = OUTCOME_UNKNOWN; outcome <= OUTCOME_FELL_BACK; outcome++)
                        add(maker, proof->outcome == outcome, "database", proof->instance->name,
                            "outcome", outcome_name(outcome), NULL);
        add_family(maker, "database_mapped_bytes", "Huge pages that its server has mapped.");
        VEC_FOREACH(proof, &proofs->list)
                if (proof->is_mapped_known)
                        VEC_FOREACH(user, &proof->look->pages)
                                add(maker, page_user_kept_bytes(user), "database",
                                    proof->instance->name, "page_size",
                                    format_page_size(maker->arena, user->page_size_bytes), NULL);
        add_family(
                maker, "database_touched_bytes",
                "Huge pages of a node that its server has touched; a lower bound where nothing counts them.");
        VEC_FOREACH(proof, &proofs->list)
                VEC_FOREACH(user, &proof->look->pages)
                        ARRAY_FOREACH(node, user->nodes, user->n_nodes)
                                ADD_PAGES(maker, node->pages, user->page_size_bytes, "database",
                                          proof->instance->name, "node",
                                          node_of(maker, node->node));
        add_family(maker, "database_page_table_bytes", "Page tables of all its processes (VmPTE).");
        VEC_FOREACH(proof, &proofs->list)
                if (proof->look->page_table_bytes > 0)
                        add(maker, proof->look->page_table_bytes, "database", proof->instance->name,
                            NULL);
}

/* ---- all ---- */

Metrics metrics_of(Arena *arena, const Status *status, const Proofs *proofs, bool is_reached) {
        Maker maker = {.arena = arena};

        add_family(&maker, "daemon_reached",
                   "Whether hugepland has answered; if not, this is what the files say.");
        add(&maker, is_reached, NULL);
        add_pools(&maker, status);
        add_reserved(&maker, status);
        add_verdicts(&maker, status);
        add_plan(&maker, status);
        add_outcomes_of(&maker, proofs);
        add_family(&maker, "wasted_bytes", "Huge pages that nothing uses.");
        maker.family->adds_up = true;
        VEC_FOREACH(row, &proofs->waste)
                ADD_PAGES(&maker, row->pages, row->page_size_bytes, "database", row->instance,
                          "kind", waste_kind_name(row->kind));
        add_family(&maker, "problems", "Problems that status lists, by severity.");
        for (Severity severity = SEVERITY_ERROR; severity <= SEVERITY_NOTICE; severity++)
                add(&maker, diags_count(&status->problems, severity), "severity",
                    severity_name(severity), NULL);
        return maker.metrics;
}
