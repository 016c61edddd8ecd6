/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds Oracle's alert logs, BASE/diag/rdbms/NAME/SID/trace/alert_SID.log, and reads their ends. Only
 * reads. The base is where the home of oratab(5) leads up to: .../BASE/product/VERSION/HOME. */

#include "check/host_facts.h"
#include "host/root.h"

/* Adds what is found to FACTS, which has the instances of oratab. */
void alert_logs_read(const Root *root, Arena *arena, HostFacts *facts);
