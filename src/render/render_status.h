/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Verdicts, pools and who holds them, as they are. */

#include "render/render.h"

/* The whole host. */
char *render_status(Arena *arena, const Status *status, const RenderOptions *options);

/* One instance with all that is known about it. */
char *render_status_instance(Arena *arena, const Status *status, const StatusInstance *instance,
                             const RenderOptions *options);
