/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A status as metrics: families of samples, made once and written in two formats. The formats differ in names, units,
 * and in how they write one of several states. */

#include "render/render.h"
#include "status/waste.h"

#include <jansson.h>

enum { METRIC_LABELS_MAX = 4 };

typedef struct MetricLabel {
        const char *name;
        const char *value; /* "": not applicable */
} MetricLabel;

typedef struct MetricLabels {
        MetricLabel items[METRIC_LABELS_MAX];
        size_t n;
} MetricLabels;

typedef struct MetricSample {
        MetricLabels labels; /* unique in the family */
        uint64_t value;
} MetricSample;

/* A family of gauges. */
typedef struct MetricFamily {
        const char *name; /* such as "pool_free_bytes", which ends with the unit */
        const char *help; /* a sentence */
        /* The label with the states, one of which holds: its sample has the value 1, the others 0. NULL: samples are
         * figures. */
        const char *states;
        bool adds_up; /* values with the same labels are added up */
        VEC(MetricSample) samples;
} MetricFamily;

typedef VEC(MetricFamily) Metrics;

/* PROOFS are those of instances whose units could be read. IS_REACHED: STATUS comes from the daemon. */
Metrics metrics_of(Arena *arena, const Status *status, const Proofs *proofs, bool is_reached);

/* Returns text with names such as "hugeplan_pool_free_bytes". It is OpenMetrics 1.0 and, because it has gauges only,
 * also the older Prometheus format that node_exporter's textfile collector reads. Sources: OpenMetrics 1.0.0 (ABNF,
 * MetricFamily), prometheus.io/docs/practices/naming. */
char *metrics_to_text(Arena *arena, const Metrics *metrics);

/* Return JSON with names such as "org.hugeplan.Manager.PoolFreeBytes", as in systemd's interface io.systemd.Metrics:
 * replies of List() for the samples, of Describe() for the families. A state is its word. Never empty. */
json_t *metrics_to_json(const Metrics *metrics);
json_t *metric_families_to_json(const Metrics *metrics);
