/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Oracle's list of a host's instances, oratab, which belongs to Oracle's owner and is read with the owner's rights
 * (inspect/confine.h). */

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
