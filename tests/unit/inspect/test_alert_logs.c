/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Alert logs on their way from the process that reads them as their owner. */

#include "inspect/oracle_files.h"
#include "support/testing.h"
#include "support/tree.h"

#define LOG "/u01/diag/rdbms/orcl/ORCL/trace/alert_ORCL.log"

static const char log_text[] =
        "  PAGESIZE  AVAILABLE_PAGES  EXPECTED_PAGES  ALLOCATED_PAGES  ERROR(s)\n"
        "     2048K             1765            9665               0        NONE\n";

TREE_TEST(found) {
        HostFacts facts = {};

        tree_write(tree, LOG, log_text);
        *vec_push(tree->arena, &facts.sids) =
                (OracleInstance){.sid = "ORCL", .home = "/u01/product/19/db"};
        *vec_push(tree->arena, &facts.sids) =
                (OracleInstance){.sid = "../ORCL", .home = "/u01/product/19/db"};
        *vec_push(tree->arena, &facts.sids) = (OracleInstance){.sid = "ORCL", .home = "/u01/db"};
        alert_logs_read(tree->root, tree->arena, &facts);
        assert_int_equal(facts.alerts.n, 1);
        assert_text(facts.alerts.items[0].file, LOG);
        assert_int_equal(facts.alerts.items[0].available_pages, 1765);
        assert_int_equal(facts.alerts.items[0].expected_pages, 9665);
        assert_null(facts.alerts.items[0].error);
}

static void check_round_trip(Arena *arena, const char *error, const char *shown) {
        const OracleAlert alert = {"ORCL", 2 << 20, 1765, 9665, error, LOG};
        json_t *json = alert_to_json(arena, &alert);
        OracleAlert told;

        assert_true(alert_from_json(arena, json, "ORCL", &told));
        assert_text(told.sid, "ORCL");
        assert_text(told.file, LOG);
        assert_text(told.error, shown);
        assert_int_equal(told.page_size_bytes, 2 << 20);
        assert_int_equal(told.available_pages, 1765);
        assert_int_equal(told.expected_pages, 9665);
        json_decref(json);
}

TEST(told) {
        check_round_trip(arena, NULL, NULL);
        check_round_trip(arena, "ORA-27125: no memory", "ORA-27125: no memory");
        check_round_trip(arena, "ORA-\033[31m", "ORA-?[31m");
}

/* Whoever wrote the log may have the process that tells. */
TEST(refused) {
        static const char *const rows[] = {
                "{}",
                "[]",
                "[\"/a\",2097152,1,1]",
                "[\"/a\",2097152,1,1,7]",
                "[\"/a\",2097152,1,1,null,null]",
                "[null,2097152,1,1,null]",
                "[\"/a\",0,1,1,null]",
                "[\"/a\",-1,1,1,null]",
                "[\"/a\",2097152,-1,1,null]",
                "[\"/a\",2097152,1,0,null]",
                "[\"/a\",2097152,1,1.5,null]",
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                json_t *json = json_loads(rows[i], 0, NULL);
                OracleAlert alert;

                assert_non_null(json);
                assert_false(alert_from_json(arena, json, "ORCL", &alert));
                json_decref(json);
        }
}
