/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A status as metrics: text that is OpenMetrics 1.0 and, with nothing but gauges in it, the older format of
 * Prometheus as well, which is what node_exporter's textfile collector reads.
 * Sources: OpenMetrics 1.0.0 (ABNF, MetricFamily), prometheus.io/docs/practices/naming. */

#include "render/render.h"
#include "status/waste.h"

/* PROOFS: of the instances whose units could be looked at. IS_REACHED: the daemon has said so itself. */
char *render_metrics(Arena *arena, const Status *status, const Proofs *proofs, bool is_reached);
