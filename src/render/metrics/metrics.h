/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A status as metrics: families of samples, made once and written in two forms. Each has its own way with names,
 * units, and what is one of several words. */

#include "render/render.h"
#include "status/waste.h"

#include <jansson.h>

enum { METRIC_LABELS_MAX = 4 };

typedef struct MetricLabel {
        const char *name;
        const char *value; /* "": it does not apply */
} MetricLabel;

typedef struct MetricLabels {
        MetricLabel items[METRIC_LABELS_MAX];
        size_t n;
} MetricLabels;

typedef struct MetricSample {
        MetricLabels labels; /* no other sample of the family has the same */
        uint64_t value;
} MetricSample;

/* All are gauges. */
typedef struct MetricFamily {
        const char *name; /* as "pool_free_bytes": the unit stands at the end */
        const char *help; /* a sentence */
        /* The label whose values are words of which one holds: that sample has the value 1, the others 0. NULL: the
         * samples are figures. */
        const char *states;
        VEC(MetricSample) samples;
} MetricFamily;

typedef VEC(MetricFamily) Metrics;

/* PROOFS: of the instances whose units could be looked at. IS_REACHED: the daemon has said so itself. */
Metrics metrics_of(Arena *arena, const Status *status, const Proofs *proofs, bool is_reached);

/* As "hugeplan_pool_free_bytes": text that is OpenMetrics 1.0 and, with nothing but gauges in it, the older format of
 * Prometheus as well, which is what node_exporter's textfile collector reads.
 * Sources: OpenMetrics 1.0.0 (ABNF, MetricFamily), prometheus.io/docs/practices/naming. */
char *metrics_to_text(Arena *arena, const Metrics *metrics);

/* As "org.hugeplan.Manager.PoolFreeBytes", the way of systemd's interface io.systemd.Metrics: of each sample what
 * List() replies, and of each family what Describe() does. What is one of several words is that word. Never empty. */
json_t *metrics_to_json(const Metrics *metrics);
json_t *metric_families_to_json(const Metrics *metrics);
