/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How the size of an instance, or of settings, comes about. */

#include "demand/learned.h"
#include "render/render.h"

/* What the generator writes for an instance. */
typedef struct GeneratedFile {
        const char *name; /* "mariadb.service.d/10-hugeplan.conf", "mnt-huge.mount" */
        const char *text;
} GeneratedFile;

typedef VEC(GeneratedFile) GeneratedFiles;

/* How the size of an instance came about, where its pages go, and what its units are told. LESSON is
 * what its database says now, of an instance with Memory=auto, and NOW what that has mapped; else NULL. */
char *render_explain(Arena *arena, const PlanInstance *planned, const Topology *topology,
                     const Lesson *lesson, const Seen *now, const GeneratedFiles *files,
                     const RenderOptions *options);

/* A derivation alone, as `size` prints it. */
char *render_sizing(Arena *arena, const Sizing *sizing, const RenderOptions *options);

/* The same for an engine that reserves nothing: its preference for transparent huge pages. VERSION may be
 * NULL. */
char *render_thp_preference(Arena *arena, const Engine *engine, const char *version,
                            ThpPolicy preference);
