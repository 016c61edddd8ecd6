/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A recording as JSON, sent by a process that reads as another user. */

#include "host/record/recording.h"

#include <jansson.h>

json_t *recording_to_json(Arena *arena, const Recording *recording);

/* Adds the records in LIST, which is not trusted, to RECORDER. Records whose path is not absolute, or is the kernel's,
 * are left out. */
void recorded_from_json(Recorder *recorder, Arena *arena, const json_t *list);
