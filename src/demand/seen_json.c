/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/seen_json.h"

#include "base/json.h"
#include "demand/figure_json.h"
#include "demand/page_counts.h"
#include "demand/seen.h"

#include <string.h>

/* A program's name, which was cut, and a fingerprint. */
enum { COMMAND_BYTES_MAX = 200 };

json_t *seen_to_json(Arena *arena, const Seen *seen, bool is_last) {
        return json_pack("{so sb sb so so so sb}", "pages", page_counts_to_json(&seen->pages),
                         "exact", seen->is_exact, "whole", seen->is_whole, "command",
                         figure_string_to_json(arena, seen->command), "tables",
                         count_to_json(seen->small_tables.bytes), "processes",
                         count_to_json(seen->small_tables.n_processes), "last", is_last);
}

int seen_from_json(Arena *arena, const json_t *json, const InstanceConfig *instance,
                   const Topology *topology, Seen *ret, bool *ret_is_last) {
        const json_t *pages, *exact, *whole, *command, *tables, *processes, *last;
        Seen seen = seen_of_unit(instance);

        if (json_unpack((json_t *) json, "{s:o, s:o, s:o, s:o, s:o, s:o, s:o !}", "pages", &pages,
                        "exact", &exact, "whole", &whole, "command", &command, "tables", &tables,
                        "processes", &processes, "last", &last) < 0 ||
            figure_count_from_json(tables, &seen.small_tables.bytes) < 0 ||
            figure_count_from_json(processes, &seen.small_tables.n_processes) < 0 ||
            page_counts_from_json(arena, pages, topology, &seen.pages) < 0 ||
            VEC_ANY(count, &seen.pages, page_count_beyond(arena, count, topology)) ||
            !json_is_boolean(exact) || !json_is_boolean(whole) ||
            figure_string_from_json(arena, command, &seen.command) < 0 || !json_is_boolean(last) ||
            !seen_is_any(&seen) || (seen.command && strlen(seen.command) > COMMAND_BYTES_MAX))
                return -EINVAL;
        seen.is_exact = json_is_true(exact);
        seen.is_whole = json_is_true(whole);
        /* An estimate never stands alone, nor do processes without the tables that they are counted for. */
        if ((seen.is_whole && !seen.is_exact) ||
            (seen.small_tables.n_processes > 0 && seen.small_tables.bytes == 0))
                return -EINVAL;
        *ret = seen;
        *ret_is_last = json_is_true(last);
        return 0;
}
