/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sources overlaid with other files: readers see a host as it would be with these. */

#include "read/source.h"

typedef struct OverlayFile {
        const char *path;
        const char *text; /* NULL: there is no such file */
} OverlayFile;

typedef struct Overlay {
        Sources sources; /* give a pointer to this */
        const Sources *below;
        VEC(OverlayFile) files; /* the last one of a path is in effect */
} Overlay;

/* Returns an empty overlay over BELOW, which must outlive it. */
Overlay overlay_over(const Sources *below);

/* Makes the file PATH contain TEXT, and the directories above it exist; with a TEXT of NULL the file does not exist,
 * but its directory still does. */
void overlay_put(Arena *arena, Overlay *overlay, const char *path, const char *text);
