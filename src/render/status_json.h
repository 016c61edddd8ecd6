/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Status and plan as JSON: the objects of org.hugeplan.Manager and of --json. Fields are only added, never removed. */

#include "plan/host_plan.h"
#include "status/status.h"

#include <jansson.h>

/* New references, owned by the caller. */
json_t *status_to_json(const Status *status, bool is_brief); /* see Describe */
json_t *status_instance_to_json(const StatusInstance *instance);
json_t *problem_to_json(const Diag *problem);
json_t *problems_to_json(const Diags *problems);
json_t *host_writes_to_json(const HostWrites *writes);
json_t *plan_to_json(const Plan *plan, const HostPlan *host, const Diags *problems);

/* The same with the page users, which hugeplanctl adds. */
json_t *status_seen_to_json(const Status *status);

/* Returns the status that a daemon has sent, in ARENA, without unknown fields; NULL if JSON is not a status. */
Status *status_from_json(Arena *arena, const json_t *json);

/* Returns a list of problems; items that are not problems are ignored. */
Diags problems_from_json(Arena *arena, const json_t *json);

/* Reads one instance of a status. Returns -EPROTO if JSON is not an instance. */
int status_instance_from_json(Arena *arena, const json_t *json, StatusInstance *ret);
