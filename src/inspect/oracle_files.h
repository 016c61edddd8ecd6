/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Oracle's files about the whole host: oratab, which belongs to Oracle's owner and is read with the owner's rights
 * (inspect/confine.h); and its alert logs, BASE/diag/rdbms/NAME/SID/trace/alert_SID.log, of which the ends are read. The
 * base is the part of an oratab(5) home before "/product/": .../BASE/product/VERSION/HOME. */

#include "check/host_facts.h"
#include "host/host_sources.h"
#include "host/root.h"
#include "read/overlay.h"

#include <jansson.h>

/* Overlays each oratab of the running host with its entries only, on their original lines. On a captured host oratab is
 * read unchanged. */
void oracle_files_add(const Root *root, Arena *arena, Overlay *overlay);

/* Returns the text of the oratab PATH with the entries of LIST on their original lines. LIST is untrusted, because the
 * writer of that file may have forged it: invalid entries are left out. */
char *oracle_entries_write(Arena *arena, const json_t *list, const char *path);

/* Adds the findings to FACTS, which has the instances of oratab. */
void alert_logs_read(const Root *root, Arena *arena, HostFacts *facts);

/* Transfer an alert from the owner's process, whose answer is untrusted. alert_from_json() returns false for values
 * that no log can have. */
json_t *alert_to_json(Arena *arena, const OracleAlert *alert);
bool alert_from_json(Arena *arena, json_t *json, const char *sid, OracleAlert *ret);
