/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "check/suggest.h"
#include "render/render.h"

/* As tables and sentences, with the next command at the end. */
char *render_first_look(Arena *arena, const FirstLook *look, const RenderOptions *options);

json_t *first_look_to_json(Arena *arena, const FirstLook *look);
