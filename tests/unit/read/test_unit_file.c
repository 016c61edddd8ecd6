/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Units of Debian, PGDG and administrators; systemd's rules of precedence, words and variables; malformed files. */

#include "read/unit_file.h"
#include "support/sources.h"
#include "support/story.h"

#define ETC "/etc/systemd/system/"
#define USR "/usr/lib/systemd/system/"
static const char *value_of(const UnitFile *unit, const char *key) {
        const UnitAssignment *found = unit_file_find(unit, "Service", key);

        return found ? found->value : NULL;
}

/* Words separated by bars. */
static const char *join(Arena *arena, SourceNames words) {
        Text text = text_in(arena);

        VEC_FOREACH(word, &words)
                text_printf(&text, "%s%s", text.length > 0 ? "|" : "", *word);
        return text_string(&text);
}

/* ---- which file ---- */

TEST(template) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {USR "postgresql@.service",
                 "# systemd service template for PostgreSQL clusters.\n[Unit]\n"
                 "Description=PostgreSQL Cluster %i\n"
                 "AssertPathExists=/etc/postgresql/%I/postgresql.conf\n[Service]\n"
                 "Type=forking\nExecStart=-/usr/bin/pg_ctlcluster --skip-systemctl-redirect %i "
                 "start\n"},
                {"/run/systemd/generator/postgresql.service.wants/postgresql@15-main.service",
                 "-> /lib/systemd/system/postgresql@.service"});
        UnitFile *unit = unit_file_read(arena, sources, "postgresql@15-main.service");
        const UnitAssignment *start = unit_file_find(unit, "Service", "ExecStart");

        assert_text(unit->fragment_path, USR "postgresql@.service");
        assert_false(unit->is_masked);
        assert_text(start->value,
                    "-/usr/bin/pg_ctlcluster --skip-systemctl-redirect 15-main start");
        assert_text(start->file, USR "postgresql@.service");
        assert_int_equal(start->line, 7);
        assert_text(unit_file_find(unit, "Unit", "AssertPathExists")->value,
                    "/etc/postgresql/15/main/postgresql.conf");
        assert_text(join(arena, unit_file_command(unit, start->value)),
                    "/usr/bin/pg_ctlcluster|--skip-systemctl-redirect|15-main|start");
}

/* ---- syntax ---- */

TEST(syntax) {
        const Sources *sources = TEST_SOURCES(arena, {ETC "a.service", "Before=any section\n"
                                                                       "; a comment\r\n"
                                                                       "  [Service]\t\r\n"
                                                                       "  Key \t=  a value  \r\n"
                                                                       "Long=one \\\n"
                                                                       "   # a comment within\n"
                                                                       "   two\\\n"
                                                                       "\n"
                                                                       "Even=back\\\\\n"
                                                                       "nonsense\n"
                                                                       "=no key\n"
                                                                       "Latin=\xE4\n"
                                                                       "[X-Own]\n"
                                                                       "Key=other\n"
                                                                       "Open=to the end \\"});
        UnitFile *unit = unit_file_read(arena, sources, "a.service");

        assert_null(unit_file_find(unit, "", "Before"));
        assert_text(value_of(unit, "Key"), "a value");
        assert_int_equal(unit_file_find(unit, "Service", "Key")->line, 4);
        assert_text(value_of(unit, "Long"), "one  two");
        assert_int_equal(unit_file_find(unit, "Service", "Long")->line, 5);
        assert_text(value_of(unit, "Even"), "back\\\\");
        assert_null(value_of(unit, "Latin"));
        assert_text(unit_file_find(unit, "X-Own", "Key")->value, "other");
        assert_text(unit_file_find(unit, "X-Own", "Open")->value, "to the end");
}

/* ---- command lines ---- */

static const char *command(Arena *arena, const char *line) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {ETC "a.service", "[Service]\nEnvironment=ONE=1 \"TWO=a  'b c'\" EMPTY=\n"
                                  "Environment=HOME=/var/lib/x PGDATA=/not/this\n"
                                  "EnvironmentFile=-/etc/missing\n"
                                  "EnvironmentFile=/etc/default/x\n"},
                {"/etc/default/x", "PGDATA=/data\n"});

        return join(arena, unit_file_command(unit_file_read(arena, sources, "a.service"), line));
}

PLAIN_VERB(do_command, "command") {
        return command(line->arena, story_unescape(line->arena, line->rest));
}

STORY_TEST(commands, "unit/read/commands")

/* ---- environment ---- */

TEST(environment) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {ETC "a.service", "[Service]\nEnvironment=PGDATA=/one\nEnvironment=\"A=x y\" B=z\n"
                                  "EnvironmentFile=/etc/sysconfig/pgsql/*.env\n"
                                  "EnvironmentFile=relative\n"},
                {"/etc/sysconfig/pgsql/b.env", "# a comment\nPGDATA=/three\n"},
                {"/etc/sysconfig/pgsql/a.env", "PGDATA=/two\nC=only\n"},
                {"/etc/sysconfig/pgsql/c.conf", "PGDATA=/not/this\n"});
        UnitFile *unit = unit_file_read(arena, sources, "a.service");
        const char *origin = "untouched";

        assert_text(unit_file_environment(unit, "PGDATA", &origin), "/three");
        assert_text(origin, "/etc/sysconfig/pgsql/b.env:2");
        assert_text(unit_file_environment(unit, "A", &origin), "x y");
        assert_text(origin, ETC "a.service:3");
        assert_text(unit_file_environment(unit, "C", NULL), "only");
        assert_null(unit_file_environment(unit, "D", &origin));
        assert_text(origin, ETC "a.service:3");
}

TEST(environment_file) {
        const Sources *sources =
                TEST_SOURCES(arena, {ETC "a.service", "[Service]\nEnvironmentFile=/e\n"},
                             {"/e", "\n; comment\n  A = plain text  \n"
                                    "B='single \"\\n' \"double \\\"\\$\\n\" tail\\ \n"
                                    "C=one\\\ntwo\nnonsense\nD=\nE=\"a\nb\"\nF=\xE4\nG=\"open\n"});
        UnitFile *unit = unit_file_read(arena, sources, "a.service");
        static const struct {
                const char *name, *value;
        } cases[] = {{"A", "plain text"}, {"B", "single \"\\ndouble \"$\\ntail "},
                     {"C", "onetwo"},     {"D", ""},
                     {"E", "a\nb"},       {"F", NULL},
                     {"G", "open\n"}};
        const char *origin;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(unit_file_environment(unit, cases[i].name, NULL), cases[i].value);
        unit_file_environment(unit, "D", &origin);
        assert_text(origin, "/e:8");
}

/* ---- names ---- */

TEST(names) {
        const Sources *sources = TEST_SOURCES(
                arena, {USR "postgresql.service", "x"}, {ETC "postgresql.service", "x"},
                {USR "postgresql@.service", "x"}, {USR "postgresql-16.service", "x"},
                {ETC "postgresql-16.service.d/a.conf", "x"}, {USR "postgresql.socket", "x"},
                {"/run/systemd/generator/postgresql.service.wants/postgresql@15-main.service", "x"},
                {ETC "x.target.requires/postgresql@16-b.service", "x"}, {USR "ssh.service", "x"});
        SourceNames names = unit_file_names(arena, sources, "postgresql*.service");

        assert_text(join(arena, names),
                    "postgresql-16.service|postgresql.service|postgresql@15-main.service|"
                    "postgresql@16-b.service");
        assert_int_equal(unit_file_names(arena, sources, "nobody*").n, 0);
}

TEST(templates) {
        const Sources *sources =
                TEST_SOURCES(arena, {USR "db@.service", "x"}, {ETC "db@.service", "x"},
                             {USR "db.service", "x"}, {USR "db@a.service", "x"},
                             {ETC "db@b.service.d/x.conf", "x"}, {ETC "db@.service.d/x.conf", "x"},
                             {ETC "db.service.d/x.conf", "x"}, {USR "web@.service", "x"});

        assert_text(join(arena, unit_file_names(arena, sources, "db*@.service")), "db@.service");
        assert_text(join(arena, unit_file_names(arena, sources, "db*@?*.service.d")),
                    "db@b.service.d");
        assert_text(join(arena, unit_file_names(arena, sources, "db*.service")),
                    "db.service|db@a.service");
}

/* ---- who starts whom ---- */

static const char *join_starters(Arena *arena, const Index *starters, const char *unit) {
        SourceNames names = {};

        INDEX_FOREACH(entry, starters, unit)
                *vec_push(arena, &names) = entry->value;
        return join(arena, names);
}

TEST(starters) {
        const Sources *sources = TEST_SOURCES(
                arena, {ETC "multi-user.target.wants/a.service", "x"},
                {USR "x.target.requires/db@1.service", "x"},
                {ETC "y.target.upholds/up.service", "x"},
                {USR "b.service", "[Unit]\nRequires=c.service d.service\nAfter=e.service\n"},
                {USR "b.service.d/more.conf",
                 "[Unit]\nWants=f.service\n[Service]\nWants=g.service\n"},
                {USR "h.timer", "[Timer]\nOnBootSec=1\n"},
                {USR "i.timer", "[Timer]\nUnit=a.service\n"},
                {USR "j.path", "[Path]\nPathExists=/x\n"},
                {USR "k.socket", "[Socket]\nAccept=yes\n"},
                {USR "l.socket", "[Socket]\nService=m.service\n"}, {USR "n.timer", ""});
        const Index *starters = unit_file_starters(arena, sources);
        static const struct {
                const char *unit, *by;
        } cases[] = {
                {"a.service", "multi-user.target|i.timer"},
                {"db@1.service", "x.target"},
                {"db@.service", "x.target"},
                {"up.service", "y.target"},
                {"c.service", "b.service"},
                {"d.service", "b.service"},
                {"f.service", "b.service"},
                {"h.service", "h.timer"},
                {"i.service", ""},
                {"j.service", "j.path"},
                {"k@.service", "k.socket"},
                {"m.service", "l.socket"},
                {"e.service", ""}, /* After= starts nothing */
                {"g.service", ""},
                {"n.service", ""}, /* its timer is masked */
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(join_starters(arena, starters, cases[i].unit), cases[i].by);
}

/* ---- too much ---- */

static char *repeat(Arena *arena, const char *string, size_t n) {
        Text text = text_in(arena);

        for (size_t i = 0; i < n; i++)
                text_add(&text, string);
        return text.string;
}

TEST(bounds) {
        const Sources *sources = TEST_SOURCES(
                arena,
                {ETC "a@.service",
                 arena_printf(arena,
                              "[Service]\nLine=%s\nMany=%s\nFew=%s\nEnvironment=\"X=%s\"\n%s",
                              repeat(arena, "x", 70000), repeat(arena, "%n", 20000),
                              repeat(arena, "%n", 10), repeat(arena, "a ", 30000),
                              repeat(arena, "K=%n%n%n%n%n%n%n%n\n", 20000))});
        const char *name = arena_printf(arena, "a@%s.service", repeat(arena, "x", 240));
        UnitFile *unit = unit_file_read(arena, sources, name);
        size_t bytes = 0;

        assert_null(value_of(unit, "Line"));
        assert_null(value_of(unit, "Many"));
        assert_int_equal(strlen(value_of(unit, "Few")), 10 * strlen(name));
        VEC_FOREACH(assignment, &unit->assignments)
                bytes += strlen(assignment->value);
        assert_true(bytes <= 1 << 20);
        assert_int_equal(unit_file_command(unit, arena_printf(arena, "/bin/x %s",
                                                              repeat(arena, "$X ", 20000)))
                                 .n,
                         0);
        assert_int_equal(unit_file_command(unit, arena_printf(arena, "/bin/x %s",
                                                              repeat(arena, "${X}", 15000)))
                                 .n,
                         0);
        assert_null(
                unit_file_read(arena, sources, repeat(arena, "a@x.service", 30))->fragment_path);
        unit_file_read(arena, sources,
                       arena_printf(arena, "%s@x.service", repeat(arena, "a-", 120)));
}
