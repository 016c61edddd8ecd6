/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which unit starts an instance of Oracle, under any name. */

#include "engines/finder.h"
#include "engines/oracle/oracle.h"
#include "support/sources.h"
#include "support/testing.h"

#define UNIT "/etc/systemd/system/"

static const OracleInstance orcl = {.sid = "orcl", .home = "/u01/home", .is_started = true};

TEST(unit) {
        const TestFile other = {UNIT "other.service", "[Service]\nExecStart=/bin/x\n"};
        const TestFile named = {
                UNIT "sales.service",
                "[Service]\nEnvironment=ORACLE_SID=orcl\nExecStart=/opt/start.sh\n"};
        const TestFile listener = {
                UNIT "tns.service",
                "[Service]\nEnvironment=ORACLE_SID=orcl\nExecStart=/u01/home/bin/lsnrctl start\n"};
        const TestFile all = {
                UNIT "dbora.service",
                "[Service]\nExecStart=/bin/su oracle -c '/u01/home/bin/dbstart /u01/home'\n"};
        const TestFile named_too = {
                UNIT "sales2.service",
                "[Service]\nEnvironment=ORACLE_SID=orcl\nExecStart=/opt/start2.sh\n"};
        const TestFile of_template[] = {
                {UNIT "db@.service", "[Service]\nExecStart=/opt/start.sh %i\n"},
                {UNIT "multi-user.target.wants/db@orcl.service", "-> ../db@.service"},
        };

        assert_text(oracle_unit_of(arena, TEST_SOURCES(arena, other, listener), &orcl), NULL);
        assert_text(oracle_unit_of(arena, TEST_SOURCES(arena, other, named, listener), &orcl),
                    "sales.service");
        assert_text(
                oracle_unit_of(arena, TEST_SOURCES(arena, of_template[0], of_template[1]), &orcl),
                "db@orcl.service");
        assert_text(oracle_unit_of(arena, TEST_SOURCES(arena, all), &orcl), NULL);
        /* With two units the answer is unknown. */
        assert_text(oracle_unit_of(arena, TEST_SOURCES(arena, all, named), &orcl), "sales.service");
        assert_text(oracle_unit_of(arena, TEST_SOURCES(arena, named, named_too), &orcl), NULL);
}

/* Several instances started by one unit are one instance, with the sum of the sizes. */
TEST(found) {
        const Processes no_processes = {};
        Finder finder = {
                .arena = arena,
                .processes = &no_processes,
                .sources = TEST_SOURCES(
                        arena,
                        {"/etc/oratab",
                         "a:/u01/home:Y\nb:/u01/home:Y\nc:/u01/home:N\n+ASM:/u01/g:Y\n"},
                        {UNIT "dbora.service", "[Service]\nExecStart=/u01/home/bin/dbstart\n"}),
        };

        engines_find(&finder);
        assert_int_equal(finder.candidates.n, 2);
        const Candidate *both = &finder.candidates.items[0], *one = &finder.candidates.items[1];

        assert_text(both->name, "dbora");
        assert_text(both->target.unit, "dbora.service");
        assert_null(both->target.config_file);
        assert_text(one->name, "oracle-c");
        assert_null(one->target.unit);
        assert_text(one->target.config_file, "/u01/home/dbs/initc.ora");
}
