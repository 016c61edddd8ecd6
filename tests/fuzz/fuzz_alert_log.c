/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The end of an Oracle alert log, as its owner's process reads it and tells it to who asked.
 *
 * Whatever it holds: at most one start is told, by numbers that stay what they are on the way, and with an
 * error that can be printed. */

#include "base/size.h"
#include "check/host_facts.h"
#include "fuzz/fuzz.h"
#include "inspect/oracle_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const SourceText text = {.text = fuzz_text(arena, data, size), .size = size};
        HostFacts facts = {};

        host_facts_add_alert(arena, &facts, "DB", "/diag/alert_DB.log", &text);
        require(facts.alerts.n <= 1);
        VEC_FOREACH(alert, &facts.alerts) {
                json_t *json = alert_to_json(arena, alert);
                OracleAlert told;

                require(alert->expected_pages > 0);
                require(json &&
                        alert_from_json(arena, json, "DB", &told) == (alert->page_size_bytes > 0));
                if (alert->page_size_bytes > 0) {
                        require(told.expected_pages ==
                                MIN(alert->expected_pages, (uint64_t) INT64_MAX));
                        require(told.available_pages ==
                                MIN(alert->available_pages, (uint64_t) INT64_MAX));
                        require(!told.error == !alert->error);
                        require_printable(told.error);
                        require_printable(told.file);
                }
                json_decref(json);
        }
        return 0;
}
