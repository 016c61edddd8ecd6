/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What would be written. */

#include "plan/host_plan.h"
#include "render/render.h"

/* HOST is what is to be written besides the pools. */
char *render_plan(Arena *arena, const Plan *plan, const HostPlan *host, const Config *config,
                  const RenderOptions *options);
