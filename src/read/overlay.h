/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Sources with other files laid over them: a host as it will be, for who reads it as it is. */

#include "read/source.h"

typedef struct OverlayFile {
        const char *path;
        const char *text; /* NULL: there is no such file */
} OverlayFile;

typedef struct Overlay {
        Sources sources; /* give a pointer to this */
        const Sources *below;
        VEC(OverlayFile) files; /* the last of a path counts */
} Overlay;

/* Shows what BELOW shows, which must outlive it. */
Overlay overlay_over(const Sources *below);

/* From now on the file PATH holds TEXT, and the directories above it are there; with a TEXT of NULL
 * there is no such file, though its directory still is. */
void overlay_put(Arena *arena, Overlay *overlay, const char *path, const char *text);
