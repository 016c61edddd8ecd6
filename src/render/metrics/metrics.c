/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/metrics/metrics.h"

#include "base/json.h"
#include "model/names.h"
#include "status/json_value.h"

#include <ctype.h>

typedef struct Maker {
        Arena *arena;
        Metrics metrics;
        MetricFamily *family; /* the one that samples are added to */
} Maker;

/* Adds a sample to the last family, or VALUE to its sample with the same labels. The labels are pairs of a name and a
 * value, up to NULL. */
static void __attribute__((sentinel)) add(Maker *maker, uint64_t value, ...) {
        MetricFamily *family = maker->family;
        MetricLabels labels = {};
        va_list pairs;

        va_start(pairs, value);
        for (const char *name; (name = va_arg(pairs, const char *));) {
                const char *text = va_arg(pairs, const char *);

                labels.items[labels.n++] = (MetricLabel){name, text ? text : ""};
        }
        va_end(pairs);
        MetricSample *same =
                !family->adds_up
                        ? NULL
                        : VEC_FIND(
                                  sample, &family->samples,
                                  !ARRAY_ANY(label, labels.items, labels.n,
                                             !text_equals(label->value,
                                                          sample->labels.items[label - labels.items]
                                                                  .value)));

        if (same)
                same->value = add_saturated(same->value, value);
        else
                *vec_push(maker->arena, &family->samples) = (MetricSample){labels, value};
}

static MetricFamily *add_family(Maker *maker, const char *name, const char *help) {
        maker->family = vec_push(maker->arena, &maker->metrics);
        *maker->family = (MetricFamily){.name = name, .help = help};
        return maker->family;
}

/* The same for pages, in bytes, with their size as a label. */
#define ADD_PAGES(maker, pages, size_bytes, ...)                                     \
        add((maker), mul_saturated((pages), (size_bytes)), __VA_ARGS__, "page_size", \
            format_page_size((maker)->arena, (size_bytes)), NULL)

static const char *node_of(const Maker *maker, unsigned node) {
        return arena_printf(maker->arena, "%u", node);
}

static void add_pools_and_plan(Maker *maker, const Status *status) {
        static const struct {
                const char *name, *help;
                size_t offset;
        } families[] = {
                {"pool_bytes", "Huge pages in the pool.", offsetof(StatusPool, total_pages)},
                {"pool_free_bytes", "Free memory of the pool, including reserved pages.",
                 offsetof(StatusPool, free_pages)},
                {"pool_surplus_bytes",
                 "Surplus pages of the pool, which disappear when they are freed.",
                 offsetof(StatusPool, surplus_pages)},
                {"pool_owned_bytes", "Pages of the pool for instances.",
                 offsetof(StatusPool, owned_pages)},
                {"pool_cover_bytes",
                 "Pages of the pool beyond the plan, which protect reserved pages of bound units.",
                 offsetof(StatusPool, cover_pages)},
                {"pool_foreign_bytes", "Pages of the pool for no instance.",
                 offsetof(StatusPool, foreign_pages)},
        };

        ARRAY_FOREACH(family, families, ARRAY_LEN(families)) {
                add_family(maker, family->name, family->help);
                ARRAY_FOREACH(pool, status->pools, status->n_pools)
                        ADD_PAGES(maker, *(const uint64_t *) ((const char *) pool + family->offset),
                                  pool->page_size_bytes, "node", node_of(maker, pool->node));
        }
        /* Reserved pages are neither lost nor free, so they have a family that names their unit. */
        add_family(maker, "reserved_bytes",
                   "Huge pages that are reserved by a unit and not touched yet.")
                ->adds_up = true;
        VEC_FOREACH(reserved, &status->reserved)
                ADD_PAGES(maker, reserved->pages, reserved->page_size_bytes, "unit", reserved->unit,
                          "database", reserved->instance, "nodes",
                          id_set_is_empty(&reserved->nodes)
                                  ? "any"
                                  : id_set_format(maker->arena, &reserved->nodes));
        add_family(maker, "database_verdict", "The verdict on the instance.")->states = "verdict";
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                for (Verdict verdict = VERDICT_READY; verdict <= VERDICT_LOST; verdict++)
                        add(maker, instance->verdict == verdict, "database", instance->name,
                            "verdict", verdict_name(verdict), NULL);
        add_family(maker, "database_wanted_bytes", "Huge pages that the instance needs.");
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                if (instance->page_size_bytes > 0)
                        ADD_PAGES(maker, instance->pages_wanted, instance->page_size_bytes,
                                  "database", instance->name);
        add_family(maker, "database_granted_bytes",
                   "Huge pages that the plan grants it on a node.");
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                VEC_FOREACH(node, &instance->nodes)
                        ADD_PAGES(maker, node->pages, instance->page_size_bytes, "database",
                                  instance->name, "node", node_of(maker, node->node));
}

static void add_outcomes(Maker *maker, const Proofs *proofs) {
        add_family(maker, "database_outcome", "Whether its server uses its huge pages.")->states =
                "outcome";
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
                "Huge pages of a node that its server has touched; a lower bound if they are not counted.");
        VEC_FOREACH(proof, &proofs->list)
                VEC_FOREACH(user, &proof->look->pages)
                        VEC_FOREACH(node, &user->nodes)
                                ADD_PAGES(maker, node->pages, user->page_size_bytes, "database",
                                          proof->instance->name, "node",
                                          node_of(maker, node->node));
        add_family(maker, "database_page_table_bytes", "Page tables of all its processes (VmPTE).");
        VEC_FOREACH(proof, &proofs->list)
                if (proof->look->page_table_bytes > 0)
                        add(maker, proof->look->page_table_bytes, "database", proof->instance->name,
                            NULL);
        add_family(maker, "wasted_bytes", "Huge pages that are not used.")->adds_up = true;
        VEC_FOREACH(row, &proofs->waste)
                ADD_PAGES(maker, row->pages, row->page_size_bytes, "database", row->instance,
                          "kind", waste_kind_names[row->kind]);
}

/* An instance's label is "database", because "instance" is Prometheus' own label for a scraped target. */
Metrics metrics_of(Arena *arena, const Status *status, const Proofs *proofs, bool is_reached) {
        Maker maker = {.arena = arena};

        add_family(
                &maker, "daemon_reached",
                "Whether hugepland has answered; if not, the metrics are from the kernel's files.");
        add(&maker, is_reached, NULL);
        add_pools_and_plan(&maker, status);
        add_outcomes(&maker, proofs);
        add_family(&maker, "problems", "Problems that status lists, by severity.");
        for (Severity severity = SEVERITY_ERROR; severity <= SEVERITY_NOTICE; severity++)
                add(&maker, diags_count(&status->problems, severity), "severity",
                    severity_name(severity), NULL);
        return maker.metrics;
}

/* ---- as text: OpenMetrics 1.0 ---- */

/* Adds `, name="value"`, with three characters escaped. */
static void add_label(Text *text, const char *before, const MetricLabel *label) {
        text_printf(text, "%s%s=\"", before, label->name);
        for (const char *value = label->value; *value; value++)
                if (*value == '\n') {
                        text_add(text, "\\n");
                } else {
                        text_add(text, *value == '\\' || *value == '"' ? "\\" : "");
                        text_add_n(text, value, 1);
                }
        text_add(text, "\"");
}

char *metrics_to_text(Arena *arena, const Metrics *metrics) {
        Text text = text_in(arena);

        VEC_FOREACH(family, metrics) {
                const char *name = family->name, *states = family->states;

                text_printf(&text, "# TYPE hugeplan_%s gauge\n", name);
                if (text_ends_with(name, "_bytes"))
                        text_printf(&text, "# UNIT hugeplan_%s bytes\n", name);
                text_printf(&text, "# HELP hugeplan_%s %s%s%s%s\n", name, family->help,
                            states ? " By " : "", states ? states : "",
                            states ? ": 1 for the current one." : "");
                VEC_FOREACH(sample, &family->samples) {
                        const MetricLabels *labels = &sample->labels;

                        text_printf(&text, "hugeplan_%s", name);
                        ARRAY_FOREACH(label, labels->items, labels->n)
                                add_label(&text, label == labels->items ? "{" : ",", label);
                        text_printf(&text, "%s %" PRIu64 "\n", labels->n > 0 ? "}" : "",
                                    sample->value);
                }
        }
        text_add(&text, "# EOF\n");
        return text.string;
}

/* ---- as JSON ---- */

/* Metrics for systemd's interface io.systemd.Metrics. By the checks of systemd-report (systemd 260 and later,
 * src/report/report.c) a name is the name of the socket's file, a dot, and a word that is valid for a Varlink field;
 * fields are strings. systemd's own names are words such as PoolFreeBytes. */
static const char object_label[] = "database"; /* the object of a metric */

/* Returns "PoolFreeBytes" for "pool_free_bytes", or "poolFreeBytes" for a field. */
static char *camel_case(Arena *arena, const char *name, bool is_upper) {
        char *word = arena_strdup(arena, name), *to = word;

        for (const char *from = word; *from; from++)
                if (*from == '_') {
                        is_upper = true;
                } else {
                        *to++ = is_upper ? (char) toupper((unsigned char) *from) : *from;
                        is_upper = false;
                }
        *to = '\0';
        return word;
}

static json_t *name_to_json(Arena *arena, const MetricFamily *family) {
        return json_string(
                arena_printf(arena, NAME_SOCKET ".%s", camel_case(arena, family->name, true)));
}

/* Returns the sample without labels that are not applicable. */
static json_t *sample_to_json(Arena *arena, const MetricFamily *family,
                              const MetricSample *sample) {
        json_t *json = json_pack("{so}", "name", name_to_json(arena, family));
        json_t *value = count_to_json(sample->value), *fields = json_object();

        ARRAY_FOREACH(label, sample->labels.items, sample->labels.n) {
                if (!*label->value)
                        continue;
                json_t *text = text_to_json(arena, label->value);

                if (text_equals(label->name, object_label)) {
                        json_object_set_new(json, "object", text);
                } else if (text_equals(label->name, family->states)) {
                        json_decref(value);
                        value = text;
                } else {
                        json_object_set_new(fields, camel_case(arena, label->name, false), text);
                }
        }
        json_object_set_new(json, "value", value);
        if (json_object_size(fields) > 0)
                json_object_set(json, "fields", fields);
        json_decref(fields);
        return json;
}

json_t *metrics_to_json(const Metrics *metrics) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        json_t *list = json_array();

        VEC_FOREACH(family, metrics)
                VEC_FOREACH(sample, &family->samples)
                        if (!family->states || sample->value > 0)
                                json_array_append_new(list, sample_to_json(arena, family, sample));
        return list;
}

json_t *metric_families_to_json(const Metrics *metrics) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return VEC_TO_JSON(family, metrics,
                           json_pack("{so ss ss}", "name", name_to_json(arena, family),
                                     "description", family->help, "type",
                                     family->states ? "string" : "gauge"));
}
