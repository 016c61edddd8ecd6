/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* systemd's interface io.systemd.Metrics, by which systemd-report (systemd 260 and later) asks whoever has a socket in
 * /run/systemd/report. Source: systemd's src/shared/varlink-io.systemd.Metrics.c. */

#define METRICS_INTERFACE "io.systemd.Metrics"

/* In the interface definition language. */
extern const char metrics_interface_description[];
