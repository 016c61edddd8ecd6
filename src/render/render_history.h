/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What happened, and when. */

#include "render/render.h"
#include "status/history.h"

/* A line for each entry, in their order; "" for none. */
char *render_history(Arena *arena, const HistoryEntries *history, const RenderOptions *options);

json_t *history_to_json(const HistoryEntries *history);
