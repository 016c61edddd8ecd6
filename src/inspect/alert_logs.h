/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds Oracle's alert logs, BASE/diag/rdbms/NAME/SID/trace/alert_SID.log, and reads their ends. Only
 * reads. The base is where the home of oratab(5) leads up to: .../BASE/product/VERSION/HOME. */

#include "check/host_facts.h"
#include "host/root.h"

#include <jansson.h>

/* Adds what is found to FACTS, which has the instances of oratab. */
void alert_logs_read(const Root *root, Arena *arena, HostFacts *facts);

/* On the way from the owner's process, which whoever wrote the log may have: false for what no log can
 * say. */
json_t *alert_to_json(Arena *arena, const OracleAlert *alert);
bool alert_from_json(Arena *arena, json_t *json, const char *sid, OracleAlert *ret);
