/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A file of settings that is looked at for itself, as `size --from=` names one: in the product's own form, or in
 * one that every engine takes, a flat mapping of JSON or YAML. */

#include "engines/reader.h"

/* As the `gather` of a reader, of TARGET's config_file alone. */
const char *settings_file_gather(Arena *arena, const Engine *engine, const EngineTarget *target,
                                 const Sources *sources, Gathered *ret);
