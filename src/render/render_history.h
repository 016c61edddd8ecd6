/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What happened, and when. */

#include "render/render.h"
#include "status/history.h"

/* A line for each entry, in their order; "" for none. */
char *render_history(Arena *arena, const HistoryEntries *history, const RenderOptions *options);

/* The fields of an event that make a row. */
#define HISTORY_COLUMNS                                                        \
        ">atUSec|at|boot|>bootsAgo|event|kind|instances|>node|>pageSizeBytes|" \
        ">pagesBefore|>pages|>pagesWanted|by|text"

json_t *history_to_json(const HistoryEntries *history);
