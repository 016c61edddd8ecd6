/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What people read: status, plan, problems and derivations as text. The verdict first, the remedy
 * last. */

#include "base/text.h"
#include "core/host_plan.h"
#include "core/learned.h"
#include "core/ledger.h"
#include "core/status.h"

typedef struct RenderOptions {
        bool is_colored;
        size_t width; /* columns; 0: 100 */
} RenderOptions;

/* Adds STRING between COLOR (an escape sequence) and its end, where colour is wanted. */
void render_colored(Text *text, const RenderOptions *options, const char *color,
                    const char *string);

/* The whole host. */
char *render_status(Arena *arena, const Status *status, const RenderOptions *options);

/* One instance with all that is known about it. */
char *render_status_instance(Arena *arena, const Status *status, const StatusInstance *instance,
                             const RenderOptions *options);

/* HOST is what is to be written besides the pools. */
char *render_plan(Arena *arena, const Plan *plan, const HostPlan *host, const Config *config,
                  const RenderOptions *options);

/* What a reload would make of it, where the boot guard keeps the plan back. */
char *render_plan_after_reload(Arena *arena, const Plan *plan, const RenderOptions *options);

/* "FILE:LINE: KEY: text; remedy", one to a line, errors first. */
char *render_problems(Arena *arena, const Diags *problems, const RenderOptions *options);

/* What the generator writes for an instance. */
typedef struct GeneratedFile {
        const char *name; /* "mariadb.service.d/10-hugeplan.conf", "mnt-huge.mount" */
        const char *text;
} GeneratedFile;

typedef VEC(GeneratedFile) GeneratedFiles;

/* How the size of an instance came about, where its pages go, and what its units are told. LESSON is
 * what its database says now, of an instance with Memory=auto; else NULL. */
char *render_explain(Arena *arena, const PlanInstance *planned, const Topology *topology,
                     const Lesson *lesson, const GeneratedFiles *files,
                     const RenderOptions *options);

/* Settings, derivation, the server's own word, and what was learned. */
char *render_lesson(Arena *arena, const Lesson *lesson, const RenderOptions *options);

/* A derivation alone, as `size` prints it. */
char *render_sizing(Arena *arena, const Sizing *sizing, const RenderOptions *options);

/* The same for an engine that reserves nothing: its wish for transparent huge pages. VERSION may be
 * NULL. */
char *render_thp_wish(Arena *arena, const Engine *engine, const char *version, ThpPolicy wish);

/* One line on an instance's verdict, for a gate's log: "pg-main: ready: 1,081 pages ...". */
char *render_verdict(Arena *arena, const StatusInstance *instance);
