/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A settings file that is read on its own, such as `size --from=FILE`: in the product's own format, or as a flat
 * mapping of JSON or YAML, which every engine accepts. */

#include "engines/reader.h"

/* Like the `gather` of a reader, but reads only TARGET's config_file. */
const char *settings_file_gather(Arena *arena, const Engine *engine, const EngineTarget *target,
                                 const Sources *sources, Gathered *ret);
