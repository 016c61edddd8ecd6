/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/render_metrics.h"

/* ---- the format ---- */

static void add_family(Text *text, const char *name, const char *help) {
        text_printf(text, "# TYPE hugeplan_%s gauge\n", name);
        if (text_ends_with(name, "_bytes") || text_ends_with(name, "_seconds"))
                text_printf(text, "# UNIT hugeplan_%s %s\n", name, strrchr(name, '_') + 1);
        text_printf(text, "# HELP hugeplan_%s %s\n", name, help);
}

/* The value of a label, in which these three are escaped. */
static char *escape(Arena *arena, const char *value) {
        Text text = text_in(arena);

        for (; value && *value; value++)
                if (*value == '\n')
                        text_add(&text, "\\n");
                else
                        text_printf(&text, "%s%c", *value == '\\' || *value == '"' ? "\\" : "",
                                    *value);
        return arena_strdup(arena, text_string(&text));
}

/* LABELS as with_label() makes them. */
static void add_sample(Text *text, const char *name, const char *labels, uint64_t value) {
        text_printf(text, "hugeplan_%s%s %" PRIu64 "\n", name,
                    *labels ? arena_printf(text->arena, "{%s}", labels) : "", value);
}

/* What would be two samples of the same labels is one. */
typedef struct Sample {
        const char *labels;
        uint64_t value;
} Sample;

typedef VEC(Sample) Samples;

static void count_sample(Arena *arena, Samples *samples, const char *labels, uint64_t value) {
        Sample *sample = VEC_FIND(each, samples, text_equals(each->labels, labels));

        if (!sample) {
                sample = vec_push(arena, samples);
                sample->labels = labels;
        }
        sample->value = add_saturated(sample->value, value);
}

static void add_samples(Text *text, const char *name, const Samples *samples) {
        VEC_FOREACH(sample, samples)
                add_sample(text, name, sample->labels, sample->value);
}

static char *with_label(Arena *arena, const char *labels, const char *name, const char *value) {
        return arena_printf(arena, "%s%s%s=\"%s\"", labels, *labels ? "," : "", name,
                            escape(arena, value));
}

static char *with_size(Arena *arena, const char *labels, uint64_t page_size_bytes) {
        return with_label(arena, labels, "page_size", format_page_size(arena, page_size_bytes));
}

static char *with_node(Arena *arena, const char *labels, unsigned node) {
        return with_label(arena, labels, "node", arena_printf(arena, "%u", node));
}

/* ---- pools ---- */

static void add_pools(Text *text, const Status *status) {
        static const struct {
                const char *name, *help;
                size_t offset;
        } families[] = {
                {"pool_bytes", "Huge pages in the pool.", offsetof(StatusPool, total_pages)},
                {"pool_free_bytes", "Of these, in use by nobody; reserved ones are among them.",
                 offsetof(StatusPool, free_pages)},
                {"pool_surplus_bytes", "Of these, beyond the pool: they vanish when given back.",
                 offsetof(StatusPool, surplus_pages)},
                {"pool_owned_bytes", "Of these, for instances.", offsetof(StatusPool, owned_pages)},
                {"pool_foreign_bytes", "Of these, for no instance.",
                 offsetof(StatusPool, foreign_pages)},
        };

        ARRAY_FOREACH(family, families, ARRAY_LEN(families)) {
                add_family(text, family->name, family->help);
                ARRAY_FOREACH(pool, status->pools, status->n_pools) {
                        const char *labels = with_size(text->arena,
                                                       with_node(text->arena, "", pool->node),
                                                       pool->page_size_bytes);

                        add_sample(text, family->name, labels,
                                   mul_saturated(*(const uint64_t *) ((const char *) pool +
                                                                      family->offset),
                                                 pool->page_size_bytes));
                }
        }
}

static char *labels_of_reserved(Arena *arena, const StatusReserved *reserved) {
        const char *labels = with_label(arena, "", "unit", reserved->unit);

        labels = with_label(arena, labels, "database", reserved->instance);
        labels = with_label(
                arena, labels, "nodes",
                id_set_is_empty(&reserved->nodes) ? "any" : id_set_format(arena, &reserved->nodes));
        return with_size(arena, labels, reserved->page_size_bytes);
}

/* Reserved memory is no memory lost, nor free: whose it is. */
static void add_reserved(Text *text, const Status *status) {
        Samples samples = {};

        VEC_FOREACH(reserved, &status->reserved)
                count_sample(text->arena, &samples, labels_of_reserved(text->arena, reserved),
                             mul_saturated(reserved->pages, reserved->page_size_bytes));
        add_family(text, "reserved_bytes",
                   "Huge pages that are reserved by a unit, and not touched yet.");
        add_samples(text, "reserved_bytes", &samples);
}

/* ---- instances ---- */

/* "instance" is Prometheus' own word for what it scrapes. */
static char *labels_of(Arena *arena, const StatusInstance *instance) {
        return with_label(arena, "", "database", instance->name);
}

static void add_verdicts(Text *text, const Status *status) {
        add_family(text, "database_verdict", "1 for the verdict that the instance has.");
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                for (int verdict = VERDICT_READY; verdict <= VERDICT_LOST; verdict++)
                        add_sample(text, "database_verdict",
                                   with_label(text->arena, labels_of(text->arena, instance),
                                              "verdict", verdict_name((Verdict) verdict)),
                                   instance->verdict == (Verdict) verdict);
}

static void add_plan(Text *text, const Status *status) {
        Arena *arena = text->arena;

        add_family(text, "database_wanted_bytes", "Huge pages that the instance wants.");
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                if (instance->page_size_bytes > 0)
                        add_sample(
                                text, "database_wanted_bytes",
                                with_size(arena, labels_of(arena, instance),
                                          instance->page_size_bytes),
                                mul_saturated(instance->pages_wanted, instance->page_size_bytes));
        add_family(text, "database_granted_bytes", "Huge pages that the plan gives it on a node.");
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                ARRAY_FOREACH(node, instance->nodes, instance->n_nodes)
                        add_sample(
                                text, "database_granted_bytes",
                                with_size(arena,
                                          with_node(arena, labels_of(arena, instance), node->node),
                                          instance->page_size_bytes),
                                mul_saturated(node->pages, instance->page_size_bytes));
}

static void add_outcomes_of(Text *text, const Proofs *proofs) {
        Arena *arena = text->arena;

        add_family(text, "database_outcome", "1 for what its server makes of its huge pages.");
        VEC_FOREACH(proof, &proofs->list)
                for (int outcome = OUTCOME_UNKNOWN; outcome <= OUTCOME_FELL_BACK; outcome++)
                        add_sample(text, "database_outcome",
                                   with_label(arena, labels_of(arena, proof->instance), "outcome",
                                              outcome_name((Outcome) outcome)),
                                   proof->outcome == (Outcome) outcome);
        add_family(text, "database_mapped_bytes", "Huge pages that its server has mapped.");
        VEC_FOREACH(proof, &proofs->list)
                if (proof->is_mapped_known)
                        VEC_FOREACH(user, &proof->look->pages)
                                add_sample(text, "database_mapped_bytes",
                                           with_size(arena, labels_of(arena, proof->instance),
                                                     user->page_size_bytes),
                                           page_user_kept_bytes(user));
        add_family(
                text, "database_touched_bytes",
                "Huge pages of a node that its server has touched; a lower bound where nothing counts them.");
        VEC_FOREACH(proof, &proofs->list)
                VEC_FOREACH(user, &proof->look->pages)
                        ARRAY_FOREACH(node, user->nodes, user->n_nodes)
                                add_sample(text, "database_touched_bytes",
                                           with_size(arena,
                                                     with_node(arena,
                                                               labels_of(arena, proof->instance),
                                                               node->node),
                                                     user->page_size_bytes),
                                           mul_saturated(node->pages, user->page_size_bytes));
        add_family(text, "database_page_table_bytes", "Page tables of all its processes (VmPTE).");
        VEC_FOREACH(proof, &proofs->list)
                if (proof->look->page_table_bytes > 0)
                        add_sample(text, "database_page_table_bytes",
                                   labels_of(arena, proof->instance),
                                   proof->look->page_table_bytes);
}

/* ---- all ---- */

static void add_waste(Text *text, const WasteList *waste) {
        Arena *arena = text->arena;
        Samples samples = {};

        VEC_FOREACH(row, waste) {
                const char *labels = with_label(arena, "", "database", row->instance);

                labels = with_label(arena, labels, "kind", waste_kind_name(row->kind));
                count_sample(arena, &samples, with_size(arena, labels, row->page_size_bytes),
                             mul_saturated(row->pages, row->page_size_bytes));
        }
        add_family(text, "wasted_bytes", "Huge pages that serve nobody.");
        add_samples(text, "wasted_bytes", &samples);
}

static void add_problems(Text *text, const Status *status) {
        add_family(text, "problems", "Problems that status lists, by severity.");
        for (int severity = SEVERITY_ERROR; severity <= SEVERITY_NOTICE; severity++)
                add_sample(
                        text, "problems",
                        with_label(text->arena, "", "severity", severity_name((Severity) severity)),
                        diags_count(&status->problems, (Severity) severity));
}

char *render_metrics(Arena *arena, const Status *status, const Proofs *proofs, bool is_reached) {
        Text text = text_in(arena);

        add_family(&text, "daemon_reached",
                   "Whether hugepland has answered; if not, this is what the files say.");
        add_sample(&text, "daemon_reached", "", is_reached);
        add_pools(&text, status);
        add_reserved(&text, status);
        add_verdicts(&text, status);
        add_plan(&text, status);
        add_outcomes_of(&text, proofs);
        add_waste(&text, &proofs->waste);
        add_problems(&text, status);
        text_add(&text, "# EOF\n");
        return text.string;
}
