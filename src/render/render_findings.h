/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What `hugeplanctl check` shows: findings as text and as JSON. The verdict first, then what is most
 * severe; of each finding the place, the evidence, and what to do. */

#include "check/rules.h"
#include "render/render.h"

char *render_findings(Arena *arena, const Findings *findings, const RenderOptions *options);

/* A new reference: "problems", each with its "documentation" and whether it "hurts", and "silenced". */
json_t *findings_to_json(const Findings *findings);
