/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Oracle's list of a host's instances, oratab, which belongs to Oracle's owner and is read with the owner's rights
 * (inspect/confine.h). */

#include "host/host_sources.h"
#include "host/root.h"
#include "read/overlay.h"

/* Overlays each oratab of the running host with its text. On a captured host oratab is read unchanged. */
void oracle_files_add(const Root *root, Arena *arena, Overlay *overlay);
