/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Databases' files are read as their owner, whatever files their settings name. */

#include "demand/figures.h"
#include "inspect/gather.h"
#include "inspect/owner.h"
#include "support/testing.h"
#include "support/tree.h"

#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static const uint64_t page_size = 2 * MIB;

static void give_away(const Tree *tree, const char *path) {
        if (geteuid() == 0)
                assert_int_equal(chown(tree_path(tree, path), NOBODY, NOBODY), 0);
}

/* The figure of a PostgreSQL with this in its postgresql.conf. */
static const Figure *gather(const Tree *tree, const char *settings) {
        const Engine *engine = engine_find("postgresql");
        Figure *figure = ARENA_NEW(tree->arena, Figure);
        const EngineTarget target = {
                .instance = "pg",
                .data_directory = tree_path(tree, "/data"),
        };
        Root *host;

        assert_int_equal(chmod(tree_path(tree, "/"), 0755), 0);
        tree_write(tree, "/data/postgresql.conf", settings);
        tree_write(tree, "/data/PG_VERSION", "15\n");
        give_away(tree, "/data");
        give_away(tree, "/data/postgresql.conf");
        assert_int_equal(chmod(tree_path(tree, "/data/postgresql.conf"), 0600), 0);
        assert_int_equal(root_open("/", &host), 0);
        const OwnerGatherer owner = gather_as_owner(host);

        *figure = gathered_figure(
                tree->arena, engine, &target,
                owner.gatherer.gather(&owner.gatherer, tree->arena, engine, &target), page_size);
        root_free(host);
        return figure;
}

TREE_TEST(own_files) {
        const Figure *figure =
                gather(tree, "shared_buffers = 1GB\nhuge_pages = on\nmax_connections = 100\n");

        assert_null(figure->wrong);
        assert_text(figure->instance, "pg");
        assert_true(figure->sizing.pages >= 512 && figure->sizing.pages < 700);
        assert_text(settings_find(&figure->gathered->settings, "shared_buffers")->value, "1GB");
        assert_text(settings_find(&figure->gathered->settings, "shared_buffers")->origin,
                    arena_printf(tree->arena, "%s:1", tree_path(tree, "/data/postgresql.conf")));
        /* PG_VERSION is 15; the program tells the minor version. */
        const char *version = figure->gathered->version;

        if (access("/usr/lib/postgresql/15/bin/postgres", X_OK) < 0)
                assert_text(version, "15");
        else if (!text_starts_with(version, "15."))
                fail_msg("its program was not asked: version %s", version);
        assert_null(figure->gathered->untrusted);
        assert_true(figure->sizing.steps.n > 0);
}

/* A snapshot asks for the version that was read, and computes no size. */
TREE_TEST(no_sizes) {
        static const char *const names[] = {"postgresql", "mariadb", "mysql", "jvm", "oracle"};
        Root *host;

        assert_int_equal(chmod(tree_path(tree, "/"), 0755), 0);
        tree_write(tree, "/data/my.cnf", "[mysqld]\nlarge-pages\ninnodb_buffer_pool_size = 64M\n");
        give_away(tree, "/data");
        give_away(tree, "/data/my.cnf");
        assert_int_equal(root_open("/", &host), 0);
        const OwnerGatherer owner = gather_as_owner(host);

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                const EngineTarget target = {
                        .instance = "db",
                        .user = geteuid() == 0 ? "nobody" : NULL,
                        .data_directory = tree_path(tree, "/data"),
                        .config_file = tree_path(tree, "/data/my.cnf"),
                };
                const Engine *engine = engine_find(names[i]);
                const Figure figure = gathered_figure(
                        tree->arena, engine, &target,
                        owner.gatherer.gather(&owner.gatherer, tree->arena, engine, &target), 0);

                assert_int_equal(figure.sizing.pages, 0);
        }
        root_free(host);
}

/* If a file cannot be read, later files are unknown: the number of sessions is unknown then, even the server's
 * default. */
TREE_TEST(sessions) {
        const Engine *engine = engine_find("postgresql");
        const Figure *figure = gather(tree, "max_connections = 400\n");

        assert_int_equal(engine_sessions(engine, figure->gathered), 400);
        assert_int_equal(engine_sessions(engine, gather(tree, "port = 1\n")->gathered), 100);
        assert_int_equal(engine_sessions(engine_find("mariadb"), figure->gathered), 0);
        assert_int_equal(mkfifo(tree_path(tree, "/fifo"), 0666), 0);
        figure = gather(tree, arena_printf(tree->arena, "max_connections = 400\ninclude '%s'\n",
                                           tree_path(tree, "/fifo")));
        assert_contains(figure->gathered->incomplete, "/fifo");
        assert_int_equal(engine_sessions(engine, figure->gathered), 0);
}

/* The watchdog, the kernel's log, endless files. */
TREE_TEST(no_regular_files) {
        assert_int_equal(mkfifo(tree_path(tree, "/fifo"), 0666), 0);
        assert_contains(
                gather(tree, arena_printf(tree->arena, "include '%s'\n", tree_path(tree, "/fifo")))
                        ->wrong,
                "/fifo");
        assert_non_null(gather(tree, "include '/dev/zero'\n")->wrong);
        assert_non_null(gather(tree, "include '/proc/self/status'\n")->wrong);
        assert_non_null(gather(tree, "include '/sys/kernel/mm/hugepages'\n")->wrong);
}

TREE_TEST(files_of_other_users) {
        if (geteuid() != 0) {
                print_message("skipped: needs root to have files that others cannot read\n");
                skip();
        }
        tree_write(tree, "/secret", "shared_buffers = 3GB\n");
        assert_int_equal(chmod(tree_path(tree, "/secret"), 0600), 0);
        assert_contains(gather(tree, arena_printf(tree->arena, "include '%s'\n",
                                                  tree_path(tree, "/secret")))
                                ->wrong,
                        "Permission denied");
        /* A third party's settings determine the size, but no program is run with them. */
        tree_write(tree, "/third", "shared_buffers = 3GB\nhuge_pages = on\n");
        assert_int_equal(chown(tree_path(tree, "/third"), 7, 7), 0);
        const Figure *figure = gather(
                tree, arena_printf(tree->arena, "include '%s'\n", tree_path(tree, "/third")));

        assert_null(figure->wrong);
        assert_contains(figure->gathered->untrusted, "/third belongs to user 7");
}

/* ---- a file that the caller names, or hands over ---- */

static const Gathered *gather_alone(const Tree *tree, const char *path, const SourceText *input) {
        const EngineTarget target = {.config_file = path, .is_alone = true};
        Root *host;

        assert_int_equal(root_open("/", &host), 0);
        OwnerGatherer owner = gather_as_owner(host);

        owner.input = input;
        const Gathered *gathered = owner.gatherer.gather(&owner.gatherer, tree->arena,
                                                         engine_find("postgresql"), &target);

        root_free(host);
        return gathered;
}

static const char *value_of(const Gathered *gathered, const char *name) {
        assert_null(gathered->incomplete);
        return settings_find(&gathered->settings, name)->value;
}

/* With the rights of its owner; for root's files, root passes a file that only root can read to a process without
 * rights, which parses it. */
TREE_TEST(named_file) {
        const char *path = tree_path(tree, "/x.conf");
        const SourceText input = {.text = "{\"shared_buffers\": \"2GB\"}", .size = 25};
        const char *include = arena_printf(tree->arena, "include '%s'\n", path);

        assert_int_equal(chmod(tree_path(tree, "/"), 0755), 0);
        tree_write(tree, "/x.conf", "shared_buffers = 3GB\n");
        assert_text(value_of(gather_alone(tree, path, NULL), "shared_buffers"), "3GB");
        assert_int_equal(chmod(path, 0600), 0);
        const Gathered *gathered = gather_alone(tree, path, NULL);

        if (geteuid() == 0) {
                Figure figure = {.gathered = gathered, .wrong = gathered->incomplete};

                assert_contains(figure.wrong, "x.conf: cannot be read: Permission denied");
                assert_true(gather_was_denied(&(Figures){.items = &figure, .n = 1}));
                assert_contains(
                        gather_alone(tree, "/dev/stdin", &(SourceText){include, strlen(include), 0})
                                ->incomplete,
                        "Permission denied");
                give_away(tree, "/x.conf");
                gathered = gather_alone(tree, path, NULL);
        }
        assert_text(value_of(gathered, "shared_buffers"), "3GB");
        assert_text(value_of(gather_alone(tree, "/dev/stdin", &input), "shared_buffers"), "2GB");
        assert_contains(
                gather_alone(tree, "/dev/stdin", &(SourceText){.error = -EFBIG})->incomplete,
                "/dev/stdin: cannot be read: it is larger than 1M");
        assert_int_equal(mkfifo(tree_path(tree, "/fifo"), 0666), 0);
        assert_contains(gather_alone(tree, tree_path(tree, "/fifo"), NULL)->incomplete,
                        "it is not a regular file");
}

/* ---- whether we are the owner, for our own unit ---- */

static const char *why_not_us(const Tree *tree, const EngineTarget *target) {
        bool is_guess;

        return owner_why_not_us(tree->root, tree->arena, engine_find("postgresql"), target,
                                &is_guess);
}

TREE_TEST(owners) {
        bool is_root = geteuid() == 0;
        Gathered gathered = {.config_file = tree_path(tree, "/x.conf")};
        const EngineTarget ours = {.user = arena_printf(tree->arena, "%u", geteuid())};
        const EngineTarget others = {.user = geteuid() == 1 ? "2" : "1"};

        assert_contains(why_not_us(tree, &others), "name the owner in User=");
        if (is_root)
                assert_contains(why_not_us(tree, &ours),
                                "it belongs to root, as whom no database is asked");
        else
                assert_null(why_not_us(tree, &ours));
        assert_contains(why_not_us(tree, &(EngineTarget){.user = "no-such-user-here"}),
                        "there is no user");
        /* The files belong to the calling user, or to another one. */
        tree_write(tree, "/x.conf", "");
        assert_null(gather_whose(tree->arena, &gathered));
        if (is_root) {
                assert_int_equal(chown(tree_path(tree, "/x.conf"), 7, 7), 0);
                assert_contains(gather_whose(tree->arena, &gathered), "it belongs to ");
        }
}

/* ---- the answer of one who has the reader ---- */

#define GATHERED(settings, is_read, rest)                                                       \
        "{\"settings\":" settings ",\"problems\":[],\"version\":\"15\",\"dataDirectory\":null," \
        "\"configFile\":null,\"read\":" is_read ",\"user\":null,\"options\":[],"                \
        "\"program\":null,\"untrusted\":null,\"incomplete\":null" rest "}"

TREE_TEST(answers) {
        static const struct {
                const char *text;
                int r;
        } answers[] = {
                {GATHERED("[]", "false", ""), 0},
                {GATHERED("[[\"a\",\"1\",\"/f:1\"]]", "true", ""), 0},
                {GATHERED("[[\"a\",\"1\",null]]", "true", ""), -EINVAL},
                {GATHERED("[[\"a\",\"1\"]]", "true", ""), -EINVAL},
                {GATHERED("[[\"a\",null,null]]", "true", ""), -EINVAL},
                {GATHERED("{}", "true", ""), -EINVAL},
                {GATHERED("null", "true", ""), -EINVAL},
                {GATHERED("[]", "1", ""), -EINVAL},
                {GATHERED("[]", "false", ",\"more\":1"), -EINVAL},
                {"{\"settings\":[]}", -EINVAL},
                {"{}", -EINVAL},
                {"[]", -EINVAL},
        };

        ARRAY_FOREACH(answer, answers, ARRAY_LEN(answers)) {
                json_t *json = json_loads(answer->text, 0, NULL);
                Gathered gathered;

                assert_non_null(json);
                if (gathered_from_json(((const Tree *) tree)->arena, json, &gathered) != answer->r)
                        fail_msg("not as it should: %s", answer->text);
                json_decref(json);
        }
}
