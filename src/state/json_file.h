/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* hugeplan's own small JSON files. */

#include "host/root.h"

#include <jansson.h>

/* Reads PATH into a new reference. Returns a negative errno if it cannot be read, -EBADMSG if it is not JSON. */
int json_file_read(const Root *root, Arena *arena, const char *path, json_t **ret);

/* Writes JSON (stolen) to PATH, atomically, and to disk if IS_LASTING. Returns a negative errno on failure. */
int json_file_write(const Root *root, const char *path, json_t *json, bool is_lasting);
