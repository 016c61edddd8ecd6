/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/size.h"
#include "base/text.h"
#include "model/problem.h"
#include "status/status.h"

void status_add_exposure(const Exposure *exposure, Diags *problems) {
        Arena *arena = problems->arena;
        const char *taker = exposure->taker ? exposure->taker
                                            : "processes of no unit that is known";
        bool has_others = exposure->pages > exposure->taker_pages;

        diags_tell(
                problems,
                (Diag){.severity = SEVERITY_WARNING,
                       .id = problem_id(PROBLEM_PAGES_EXPOSED),
                       .remedy =
                               exposure->is_taker_kept
                                       ? "free memory there and run 'hugeplanctl reload'"
                               : exposure->taker
                                       ? arena_printf(
                                                 arena,
                                                 "restart %s, which then keeps to its own nodes; see RESERVED PAGES in hugeplan.d(5)",
                                                 exposure->taker)
                                       : "see who uses huge pages in 'hugeplanctl status --all', and describe that program in /etc/hugeplan.d too"},
                "%s pages of %s that %s has reserved on %s and not touched yet may be taken by %s%s%s may take %s there",
                format_count(arena, exposure->pages),
                format_page_size(arena, exposure->page_size_bytes), exposure->unit,
                topology_format_nodes(arena, &exposure->nodes), has_others ? "others: " : "", taker,
                has_others ? "" : ", which", format_count(arena, exposure->taker_pages));
}
