/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Oracle's parameter files: the grammar of the text form, includes, and the server parameter file, whose lines cross
 * its blocks. */

#include "engines/oracle/oracle.h"
#include "support/sources.h"
#include "support/spfile.h"
#include "support/story.h"

#define DBS "/u01/app/oracle/product/19.0.0/dbhome_1/dbs/"

static const char *read_with(Arena *arena, const Sources *sources, const OracleFile *file,
                             Settings *ret, Diags *problems) {
        *problems = diags_in(arena);
        return oracle_parameters_read(arena, sources, file, ret, problems);
}

/* "SID.name=value" of each, separated by bars; or the message. */
static const char *read_text(Arena *arena, const char *text, const char *sid) {
        const Sources *sources = TEST_SOURCES(arena, {"/p.ora", text});
        Settings read;
        Diags problems;
        const char *wrong = read_with(arena, sources, &(OracleFile){.path = "/p.ora", .sid = sid},
                                      &read, &problems);
        Text found = text_in(arena);

        if (wrong)
                return wrong;
        VEC_FOREACH(parameter, &read)
                text_printf(&found, "%s%s=%s", found.length > 0 ? "|" : "", parameter->name,
                            parameter->value);
        VEC_FOREACH(problem, &problems.list)
                text_printf(&found, "!%u", problem->line);
        return text_string(&found);
}

PLAIN_VERB(do_read, "read") {
        return read_text(line->arena, story_unescape(line->arena, line->rest), NULL);
}

STORY_TEST(grammar, "unit/engines/oracle/grammar")

/* Lines of other instances are ignored, even their includes. */
TEST(of_another_instance) {
        assert_text(read_text(arena, "b.ifile=/none\na.x=1\n*.y=2\nx=3", "a"), "a.x=1|y=2|x=3");
}

static const char *value_of(const Settings *read, const char *sid, const char *name) {
        const Setting *found = oracle_parameter_find(read, sid, name);

        return found ? found->value : NULL;
}

/* SID.NAME has precedence over NAME, in any order; of equal names the last one counts. */
TEST(precedence) {
        const Sources *sources = TEST_SOURCES(
                arena, {"/p.ora", "orcl1.sga_target=4G\n*.SGA_Target=2G\nsga_target=3G\n"
                                  "orcl2.sga_target=5G\norcl2.sga_target=6G\n"
                                  "orcl1.__sga_target=9G\n"});
        Settings read;
        Diags problems;

        assert_null(read_with(arena, sources, &(OracleFile){.path = "/p.ora"}, &read, &problems));
        assert_text(value_of(&read, "orcl1", "sga_target"), "4G");
        assert_text(value_of(&read, "orcl2", "sga_target"), "6G");
        assert_text(value_of(&read, "orcl3", "sga_target"), "3G");
        assert_text(value_of(&read, NULL, "sga_target"), "3G");
        assert_null(oracle_parameter_find(&read, "orcl1", "sga_max_size"));
        assert_text(oracle_parameter_find(&read, "orcl2", "sga_target")->origin, "/p.ora:5");
}

/* ---- includes ---- */

TEST(includes) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {DBS "initorcl.ora", "sga_target=1G\nifile='?/dbs/site@.ora'\nprocesses=100\n"},
                {DBS "siteorcl.ora", "sga_target=2G\nprocesses=50\nIFILE=more.ora"},
                {DBS "more.ora", "sga_max_size=3G"});
        Settings read;
        Diags problems;

        assert_null(read_with(arena, sources, &(OracleFile){DBS "initorcl.ora", NULL, "orcl"},
                              &read, &problems));
        assert_text(value_of(&read, "orcl", "sga_target"), "2G");
        assert_text(value_of(&read, "orcl", "processes"), "100");
        assert_text(value_of(&read, "orcl", "sga_max_size"), "3G");
        assert_text(oracle_parameter_find(&read, "orcl", "sga_max_size")->origin, DBS "more.ora:1");
        assert_null(value_of(&read, NULL, "spfile"));
}

TEST(bad_includes) {
        const Sources *sources = TEST_SOURCES(
                arena, {"/self.ora", "x=1\nifile=/self.ora\n"}, {"/gone.ora", "ifile=/none.ora\n"},
                {"/locked.ora", "ifile=secret.ora"}, {"/secret.ora", NULL},
                {"/asm.ora", "SPFILE='+DATA/ORCL/PARAMETERFILE/spfile.269.1002'\n"},
                {"/home.ora", "x=1\nspfile=?/dbs/spfile.ora\n"},
                {"/many.ora", "ifile=/x ifile=/x ifile=/x ifile=/x ifile=/x ifile=/x ifile=/x "
                              "ifile=/x ifile=/x"},
                {"/x", ""});
        static const struct {
                const char *path, *sentence[3];
        } rows[] = {
                {"/self.ora", {"/self.ora:2: ", "in a circle"}},
                {"/many.ora", {"/many.ora:1: ", "in a circle"}},
                {"/gone.ora", {"/gone.ora:1: ", "/none.ora", "No such file"}},
                {"/locked.ora", {"/locked.ora:1: ", "/secret.ora", "Permission denied"}},
                {"/asm.ora", {"/asm.ora:1: ", "in ASM", "CREATE PFILE"}},
                {"/home.ora", {"/home.ora:2: ", "ORACLE_HOME", "whole path"}},
                {"/none", {"/none cannot be read: No such file"}},
        };
        Settings read;
        Diags problems;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const char *wrong = read_with(arena, sources, &(OracleFile){.path = rows[i].path},
                                              &read, &problems);

                assert_non_null(wrong);
                for (size_t j = 0; j < 3 && rows[i].sentence[j]; j++)
                        assert_contains(wrong, rows[i].sentence[j]);
        }
}

TEST(hostile) {
        size_t size = 200000;
        char *many = arena_alloc(arena, size + 1), *quoted = arena_alloc(arena, size + 1);
        const Sources *sources = test_sources(
                arena, (const TestFile[]){{"/many.ora", many}, {"/quoted.ora", quoted}}, 2);
        Settings read;
        Diags problems;

        memset(many, 'x', size);
        assert_contains(
                read_with(arena, sources, &(OracleFile){.path = "/many.ora"}, &read, &problems),
                "/many.ora: this is too large");
        /* Of many lines that are no assignments a few are named. */
        for (size_t i = 0; i < 100000; i++)
                quoted[i] = i % 2 ? '\n' : 'x';
        quoted[100000] = '\0';
        assert_null(
                read_with(arena, sources, &(OracleFile){.path = "/quoted.ora"}, &read, &problems));
        assert_int_equal(problems.list.n, 10);
        assert_int_equal(read.n, 0);
        /* A value that is not text is not shown. */
        assert_text(read_text(arena, "sga_target=\xff\xfe", NULL), "sga_target=(not readable)");
}

/* ---- server parameter files ---- */

static const char *read_bytes(Arena *arena, const char *bytes, size_t size, Settings *ret) {
        Diags problems;
        const Sources *sources = test_sources(
                arena, (const TestFile[]){{.path = "/s.ora", .text = bytes, .size = size}}, 1);

        return read_with(arena, sources, &(OracleFile){.path = "/s.ora", .sid = "orcl"}, ret,
                         &problems);
}

/* A value across the end of a block is whole at every possible place. */
TEST(spfile_across_blocks) {
        static const char value[] = "*.sga_max_size=2560M\n";

        for (size_t filled = SPFILE_BLOCK_TEXT - strlen(value) - 2; filled <= SPFILE_BLOCK_TEXT + 2;
             filled++) {
                char *padding = arena_alloc(arena, filled + 1);
                Settings read;
                size_t size;

                memset(padding, 'x', filled);
                memcpy(padding, "*.a='", 5);
                memcpy(padding + filled - 2, "'\n", 2);
                const char *bytes = spfile_make(
                        arena, arena_printf(arena, "%s%s*.z=1\n", padding, value), &size);

                assert_null(read_bytes(arena, bytes, size, &read));
                assert_text(value_of(&read, "orcl", "sga_max_size"), "2560M");
                assert_text(value_of(&read, "orcl", "z"), "1");
                assert_text(value_of(&read, NULL, "spfile"), "/s.ora");
        }
}

/* A file cut after any number of bytes has the whole value or none. */
TEST(spfile_cut) {
        char filling[SPFILE_BLOCK_TEXT - 16] = "*.a=";
        size_t size, n_refused = 0;

        memset(filling + 4, 'x', sizeof(filling) - 5);
        filling[sizeof(filling) - 1] = '\0';
        const char *bytes = spfile_make(
                arena, arena_printf(arena, "%s\n*.sga_max_size=2560M\n", filling), &size);

        assert_int_equal(size, 1024);
        for (size_t cut = 20; cut < size; cut++) {
                Settings read;
                const char *wrong = read_bytes(arena, arena_memdup(arena, bytes, cut), cut, &read);

                assert_contains(wrong, "cut off or damaged");
                assert_contains(wrong, "CREATE PFILE");
                n_refused++;
        }
        assert_int_equal(n_refused, size - 20);
}

TEST(spfile_damaged) {
        size_t size;
        Settings read;
        char *bytes = spfile_make(arena, "*.sga_target=1G\n*.sga_max_size=2G\n", &size);

        assert_int_equal(size, 512);
        assert_null(read_bytes(arena, bytes, size, &read));
        /* Unused blocks. */
        char *longer = arena_alloc(arena, size + 1024);

        memcpy(longer, bytes, size);
        assert_null(read_bytes(arena, longer, size + 1024, &read));
        assert_text(value_of(&read, "orcl", "sga_max_size"), "2G");
        memset(longer + size, 'z', 512);
        assert_contains(read_bytes(arena, longer, size + 1024, &read), "damaged");
        bytes[25] = '\x02';
        assert_contains(read_bytes(arena, bytes, size, &read), "/s.ora:1: ");
        assert_contains(read_bytes(arena, "C\"", 2, &read), "not closed");
}

/* A file named by a pfile is read in its place; later lines have precedence. */
TEST(spfile_by_name) {
        size_t size;
        const char *bytes = spfile_make(arena, "*.sga_target=1G\n*.processes=300\n", &size);
        const Sources *sources = test_sources(
                arena,
                (const TestFile[]){{DBS "initorcl.ora",
                                    "processes=100\nSPFILE='/u02/spfileorcl.ora'\nsga_target=2G\n"},
                                   {"/u02/spfileorcl.ora", bytes, size}},
                2);
        Settings read;
        Diags problems;

        assert_null(read_with(arena, sources, &(OracleFile){.path = DBS "initorcl.ora"}, &read,
                              &problems));
        assert_text(value_of(&read, NULL, "sga_target"), "2G");
        assert_text(value_of(&read, NULL, "processes"), "300");
        assert_text(value_of(&read, NULL, "spfile"), "/u02/spfileorcl.ora");
}
