/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Whether databases run with their huge pages, and what is wasted. */

#include "render/render.h"
#include "status/waste.h"

/* All instances; what is wasted, whose, and since when. */
char *render_proofs(Arena *arena, const Proofs *proofs, const RenderOptions *options);

/* One instance with all that is known about it. */
char *render_proof(Arena *arena, const Proof *proof, const WasteList *waste,
                   const RenderOptions *options);

/* The instances alone, and the fields of each that make a row. */
json_t *proofs_to_rows(const Proofs *proofs);
#define PROOF_COLUMNS                                                           \
        "name|outcome|asPlanned|unit|>pageSizeBytes|>pagesWanted|>mappedBytes|" \
        ">touchedBytes|touchedLowerBound|>smallBytes|>pageTableBytes|"          \
        ">smallPageTableBytes|>sessionsMax|>worstPageTableBytes"

json_t *proofs_to_json(const Proofs *proofs);
json_t *proof_to_json(const Proof *proof);
