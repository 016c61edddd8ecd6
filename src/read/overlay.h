/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sources overlaid with other files: readers see a host as it would be with these. */

#include "base/index.h"
#include "read/source.h"

typedef struct Overlay {
        Sources sources; /* give a pointer to this */
        const Sources *below;
        Arena *arena;
        Index *files;  /* by path */
        Index *inside; /* files by each directory above them */
        Index *lists;  /* by directory: what was listed since the last change */
} Overlay;

/* Returns an empty overlay over BELOW, which must outlive it. */
Overlay overlay_over(Arena *arena, const Sources *below);

/* Makes the file PATH contain TEXT, and the directories above it exist; with a TEXT of NULL the file does not exist,
 * but its directory still does. */
void overlay_put(Overlay *overlay, const char *path, const char *text);
