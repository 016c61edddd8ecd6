/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Oracle's files that tell of the whole host: oratab, which belongs to Oracle's owner, is read as he may
 * read it (inspect/reader.h); and its alert logs, BASE/diag/rdbms/NAME/SID/trace/alert_SID.log, of which the ends are
 * read. The base is where the home of oratab(5) leads up to: .../BASE/product/VERSION/HOME. */

#include "check/host_facts.h"
#include "host/host_sources.h"
#include "host/root.h"
#include "read/overlay.h"

#include <jansson.h>

/* Lays over each oratab of the running host its entries, and nothing else that stands in it; line numbers
 * stay. Of a captured host it is as it is. */
void oracle_files_add(const Root *root, Arena *arena, Overlay *overlay);

/* The text of the oratab PATH that has the entries of LIST, which whoever wrote that file may have made, as
 * lines where they stood; what can be no entry of it is left out. */
char *oracle_entries_write(Arena *arena, const json_t *list, const char *path);

/* Adds what is found to FACTS, which has the instances of oratab. */
void alert_logs_read(const Root *root, Arena *arena, HostFacts *facts);

/* On the way from the owner's process, which whoever wrote the log may have: false for what no log can
 * say. */
json_t *alert_to_json(Arena *arena, const OracleAlert *alert);
bool alert_from_json(Arena *arena, json_t *json, const char *sid, OracleAlert *ret);
