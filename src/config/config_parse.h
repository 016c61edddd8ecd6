/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* From files to a configuration: which make up an instance, and what is wrong with them as a whole. */

#include "config/config.h"

/* Parses FILES (sorted by name as they are to be read). Never fails: what is wrong stands in
 * `problems` and in the instances' `refusal`. */
Config *config_parse(Arena *arena, const ConfigFiles *files);
