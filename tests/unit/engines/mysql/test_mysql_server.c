/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Memory=auto of MariaDB and MySQL on hosts of Debian, Red Hat and the vendors. */

#include "engines/reader.h"
#include "support/sources.h"
#include "support/testing.h"

#define USR "/usr/lib/systemd/system/"
/* ---- what is refused ---- */

/* Up to 10.4.5 MariaDB's program is called mysqld. */
TEST(program_that_tells_the_version) {
        const EngineTarget target = {.instance = "db", .unit = "mariadb.service"};
        const Sources *sources = TEST_SOURCES(
                arena, {USR "mariadb.service", "[Service]\nExecStart=/usr/libexec/mysqld\n"});
        Question question = {};

        version_ask(arena, engine_find("mariadb"), &target, sources, NULL, &question);
        const char *last = question.program.items[question.program.n - 1];

        assert_true(VEC_ANY(path, &question.program, text_equals(*path, "/usr/sbin/mariadbd")));
        assert_true(VEC_ANY(path, &question.program, text_equals(*path, "/usr/libexec/mysqld")));
        assert_text(last, "/usr/libexec/mysqld");
}
