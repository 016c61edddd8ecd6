/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A recording on its way from a process that reads as somebody else. */

#include "host/record/recording.h"

#include <jansson.h>

json_t *recording_to_json(Arena *arena, const Recording *recording);

/* Has RECORDER hear of what LIST, which a stranger may have made, says was read. What has no proper path, or is
 * the kernel's, is left out. */
void recorded_from_json(Recorder *recorder, Arena *arena, const json_t *list);
