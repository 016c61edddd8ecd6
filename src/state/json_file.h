/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Our own small JSON files. */

#include "host/root.h"

#include <jansson.h>

/* Reads PATH; a new reference. Negative errno of reading, -EBADMSG when it is no JSON. */
int json_file_read(const Root *root, Arena *arena, const char *path, json_t **ret);

/* Writes JSON (stolen) to PATH, atomically; what is to outlive the boot is on disk then. Negative errno. */
int json_file_write(const Root *root, const char *path, json_t *json, bool is_lasting);
