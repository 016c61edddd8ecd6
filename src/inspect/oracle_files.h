/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Oracle's files that tell of the whole host: oratab, which belongs to Oracle's owner, is read as he may
 * read it (inspect/reader.h). */

#include "host/host_sources.h"
#include "read/overlay.h"

#include <jansson.h>

/* Lays over each oratab of the running host its entries, and nothing else that stands in it; line numbers
 * stay. Of a captured host it is as it is. */
void oracle_files_add(const Root *root, Arena *arena, Overlay *overlay);

/* The text of the oratab PATH that has the entries of LIST, which whoever wrote that file may have made, as
 * lines where they stood; what can be no entry of it is left out. */
char *oracle_entries_write(Arena *arena, const json_t *list, const char *path);
