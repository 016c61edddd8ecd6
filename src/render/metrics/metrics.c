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

/* Adds a sample to the last family. */
static void add_sample(Maker *maker, MetricLabels labels, uint64_t value) {
        *vec_push(maker->arena, &maker->family->samples) = (MetricSample){labels, value};
}

static bool labels_are_equal(const MetricLabels *a, const MetricLabels *b) {
        for (size_t i = 0; i < MAX(a->n, b->n); i++)
                if (!text_equals(a->items[i].value, b->items[i].value))
                        return false;
        return true;
}

/* Adds to the value of the sample with the same labels, because a family has each set of labels once. */
static void count_sample(Maker *maker, MetricLabels labels, uint64_t value) {
        MetricSample *sample =
                VEC_FIND(each, &maker->family->samples, labels_are_equal(&each->labels, &labels));

        if (sample)
                sample->value = add_saturated(sample->value, value);
        else
                add_sample(maker, labels, value);
}

static MetricLabels with_label(MetricLabels labels, const char *name, const char *value) {
        labels.items[labels.n++] = (MetricLabel){name, value ? value : ""};
        return labels;
}

static MetricLabels with_size(const Maker *maker, MetricLabels labels, uint64_t page_size_bytes) {
        return with_label(labels, "page_size", format_page_size(maker->arena, page_size_bytes));
}

static MetricLabels with_node(const Maker *maker, MetricLabels labels, unsigned node) {
        return with_label(labels, "node", arena_printf(maker->arena, "%u", node));
}

/* ---- pools ---- */

static void add_pools(Maker *maker, const Status *status) {
        static const struct {
                const char *name, *help;
                size_t offset;
        } families[] = {
                {"pool_bytes", "Huge pages in the pool.", offsetof(StatusPool, total_pages)},
                {"pool_free_bytes", "Of the pool, in use by nobody; reserved ones are among them.",
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
                ARRAY_FOREACH(pool, status->pools, status->n_pools) {
                        MetricLabels labels = with_node(maker, (MetricLabels){}, pool->node);
                        uint64_t pages = *(const uint64_t *) ((const char *) pool + family->offset);

                        add_sample(maker, with_size(maker, labels, pool->page_size_bytes),
                                   mul_saturated(pages, pool->page_size_bytes));
                }
        }
}

/* Reserved pages are neither lost nor free, so they have a family that names their unit. */
static void add_reserved(Maker *maker, const Status *status) {
        add_family(maker, "reserved_bytes",
                   "Huge pages that are reserved by a unit, and not touched yet.");
        VEC_FOREACH(reserved, &status->reserved) {
                MetricLabels labels = with_label((MetricLabels){}, "unit", reserved->unit);

                labels = with_label(labels, "database", reserved->instance);
                labels = with_label(labels, "nodes",
                                    id_set_is_empty(&reserved->nodes)
                                            ? "any"
                                            : id_set_format(maker->arena, &reserved->nodes));
                count_sample(maker, with_size(maker, labels, reserved->page_size_bytes),
                             mul_saturated(reserved->pages, reserved->page_size_bytes));
        }
}

/* ---- instances ---- */

/* The label is "database", because "instance" is Prometheus' own label for a scraped target. */
static MetricLabels labels_of(const StatusInstance *instance) {
        return with_label((MetricLabels){}, "database", instance->name);
}

static void add_verdicts(Maker *maker, const Status *status) {
        add_family(maker, "database_verdict", "What hugeplan says of the instance.");
        maker->family->states = "verdict";
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                for (int verdict = VERDICT_READY; verdict <= VERDICT_LOST; verdict++)
                        add_sample(maker,
                                   with_label(labels_of(instance), "verdict",
                                              verdict_name((Verdict) verdict)),
                                   instance->verdict == (Verdict) verdict);
}

static void add_plan(Maker *maker, const Status *status) {
        add_family(maker, "database_wanted_bytes", "Huge pages that the instance wants.");
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                if (instance->page_size_bytes > 0)
                        add_sample(
                                maker,
                                with_size(maker, labels_of(instance), instance->page_size_bytes),
                                mul_saturated(instance->pages_wanted, instance->page_size_bytes));
        add_family(maker, "database_granted_bytes", "Huge pages that the plan gives it on a node.");
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                ARRAY_FOREACH(node, instance->nodes, instance->n_nodes) {
                        MetricLabels labels = with_node(maker, labels_of(instance), node->node);

                        add_sample(maker, with_size(maker, labels, instance->page_size_bytes),
                                   mul_saturated(node->pages, instance->page_size_bytes));
                }
}

static void add_touched(Maker *maker, const Proof *proof) {
        VEC_FOREACH(user, &proof->look->pages)
                ARRAY_FOREACH(node, user->nodes, user->n_nodes) {
                        MetricLabels labels =
                                with_node(maker, labels_of(proof->instance), node->node);

                        add_sample(maker, with_size(maker, labels, user->page_size_bytes),
                                   mul_saturated(node->pages, user->page_size_bytes));
                }
}

static void add_outcomes_of(Maker *maker, const Proofs *proofs) {
        add_family(maker, "database_outcome", "What its server makes of its huge pages.");
        maker->family->states = "outcome";
        VEC_FOREACH(proof, &proofs->list)
                for (int outcome = OUTCOME_UNKNOWN; outcome <= OUTCOME_FELL_BACK; outcome++)
                        add_sample(maker,
                                   with_label(labels_of(proof->instance), "outcome",
                                              outcome_name((Outcome) outcome)),
                                   proof->outcome == (Outcome) outcome);
        add_family(maker, "database_mapped_bytes", "Huge pages that its server has mapped.");
        VEC_FOREACH(proof, &proofs->list)
                if (proof->is_mapped_known)
                        VEC_FOREACH(user, &proof->look->pages)
                                add_sample(maker,
                                           with_size(maker, labels_of(proof->instance),
                                                     user->page_size_bytes),
                                           page_user_kept_bytes(user));
        add_family(
                maker, "database_touched_bytes",
                "Huge pages of a node that its server has touched; a lower bound where nothing counts them.");
        VEC_FOREACH(proof, &proofs->list)
                add_touched(maker, proof);
        add_family(maker, "database_page_table_bytes", "Page tables of all its processes (VmPTE).");
        VEC_FOREACH(proof, &proofs->list)
                if (proof->look->page_table_bytes > 0)
                        add_sample(maker, labels_of(proof->instance),
                                   proof->look->page_table_bytes);
}

/* ---- all ---- */

static void add_waste(Maker *maker, const WasteList *waste) {
        add_family(maker, "wasted_bytes", "Huge pages that serve nobody.");
        VEC_FOREACH(row, waste) {
                MetricLabels labels = with_label((MetricLabels){}, "database", row->instance);

                labels = with_label(labels, "kind", waste_kind_name(row->kind));
                count_sample(maker, with_size(maker, labels, row->page_size_bytes),
                             mul_saturated(row->pages, row->page_size_bytes));
        }
}

static void add_problems(Maker *maker, const Status *status) {
        add_family(maker, "problems", "Problems that status lists, by severity.");
        for (int severity = SEVERITY_ERROR; severity <= SEVERITY_NOTICE; severity++)
                add_sample(maker,
                           with_label((MetricLabels){}, "severity",
                                      severity_name((Severity) severity)),
                           diags_count(&status->problems, (Severity) severity));
}

Metrics metrics_of(Arena *arena, const Status *status, const Proofs *proofs, bool is_reached) {
        Maker maker = {.arena = arena};

        add_family(&maker, "daemon_reached",
                   "Whether hugepland has answered; if not, this is what the files say.");
        add_sample(&maker, (MetricLabels){}, is_reached);
        add_pools(&maker, status);
        add_reserved(&maker, status);
        add_verdicts(&maker, status);
        add_plan(&maker, status);
        add_outcomes_of(&maker, proofs);
        add_waste(&maker, &proofs->waste);
        add_problems(&maker, status);
        return maker.metrics;
}
