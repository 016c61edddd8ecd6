/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/notes/counts.h"

#include "base/size.h"
#include "base/text.h"
#include "runtime/clock.h"

static const uint64_t rest_usec = 4 * USEC_PER_SEC;

void counts_begin(Counts *counts, const char *unit) {
        VEC_KEEP(counted, &counts->list, !text_equals(counted->unit, unit));
        *vec_push(counts->arena, &counts->list) =
                (Counted){.unit = arena_strdup(counts->arena, unit)};
}

bool counts_add(Counts *next, const Counts *before, const UnitUse *unit, uint64_t now_usec) {
        const Counted *known =
                VEC_FIND(counted, &before->list, text_equals(counted->unit, unit->unit));
        uint64_t bytes = VEC_SUM(charge, &unit->charges,
                                 mul_saturated(charge->reserved_pages, charge->page_size_bytes));
        bool is_same = known && known->bytes == bytes;
        uint64_t since_usec = is_same ? known->since_usec : now_usec;
        bool is_at_rest = is_same && bytes > 0 && now_usec - since_usec >= rest_usec;

        *vec_push(next->arena, &next->list) =
                (Counted){arena_strdup(next->arena, unit->unit), bytes, since_usec, is_at_rest};
        return is_at_rest && !known->is_at_rest;
}

bool counts_are_pending(const Counts *counts, bool is_early) {
        return VEC_ANY(counted, &counts->list,
                       !counted->is_at_rest && (is_early || counted->bytes > 0));
}
