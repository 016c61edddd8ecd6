/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Queries to systemd, which a thread plays that speaks D-Bus on a socket below the test's root. */

#include "base/size.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "support/tree.h"
#include "systemd/unit_manager.h"

#include <linux/mempolicy.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define UNIT_INTERFACE    "org.freedesktop.systemd1.Unit"
#define SERVICE_INTERFACE "org.freedesktop.systemd1.Service"
#define MANAGER_OBJECT    "/org/freedesktop/systemd1"
#define OBJECTS           MANAGER_OBJECT "/unit"

enum { CLIENTS_MAX = 2 };

typedef enum Mood {
        MOOD_KIND,
        MOOD_MUTE, /* accepts no connection, as while it reads units */
        MOOD_CURT, /* hangs up at the first message */
} Mood;

typedef struct Played {
        const Tree *tree;
        int fd; /* listens */
        Mood mood;
        int stop[2];
        pthread_t thread;
} Played;

/* ---- what it says ---- */

/* A property of units whose name has UNIT; the first that fits counts. */
typedef struct Value {
        const char *unit, *property, *type;
        const char *text; /* of several: separated by '|' */
        uint64_t number;
} Value;

static const Value values[] = {
        {"none", "LoadState", "s", "not-found", 0},
        {"", "LoadState", "s", "loaded", 0},
        {"none", "ActiveState", "s", "inactive", 0},
        {"", "ActiveState", "s", "activating", 0},
        {"none", "SubState", "s", "dead", 0},
        {"", "SubState", "s", "start-pre", 0},
        {"none", "ControlGroup", "s", "", 0},
        {"", "ControlGroup", "s", "/system.slice/a.service", 0},
        {"", "User", "s", "db", 0},
        {"", "Group", "s", "", 0},
        {"", "DropInPaths", "as", "/a/10-hugeplan.conf|/b/zz.conf", 0},
        {"", "After", "as", "hugeplan.service", 0},
        {"", "Documentation", "as", "man:a(1)", 0},
        {"", "SupplementaryGroups", "as", "hugetlb", 0},
        {"", "ExecStartPre", "a(sasbttttuii)",
         "/bin/mkdir mkdir /run/x|/usr/bin/hugeplanctl /usr/bin/hugeplanctl wait a", 0},
        {"", "ExecStart", "a(sasbttttuii)",
         "/usr/bin/pg_ctlcluster postgresql@15-main 15-main start", 0},
        {"", "NeedDaemonReload", "b", NULL, 1},
        {"", "AmbientCapabilities", "t", NULL, UINT64_C(1) << 14},
        {"", "LimitMEMLOCKSoft", "t", NULL, 65536},
        {"none", "UID", "u", NULL, UINT32_MAX},
        {"", "UID", "u", NULL, 26},
        {"none", "MainPID", "u", NULL, 0},
        {"", "MainPID", "u", NULL, 20},
        {"none", "ControlPID", "u", NULL, 0},
        {"", "ControlPID", "u", NULL, 10},
        {"none", "NUMAMask", "ay", "", 0},
        {"unset", "NUMAMask", "ay", "", 0},
        {"", "NUMAMask", "ay", "\x05\x01", 2},
        {"none", "InvocationID", "ay", "", 0},
        {"", "InvocationID", "ay", "\x01\xab\0\0\0\0\0\0\0\0\0\0\0\0\0\xff", 16},
        /* The values of <linux/mempolicy.h>. */
        {"none", "NUMAPolicy", "i", NULL, UINT32_MAX},
        {"unset", "NUMAPolicy", "i", NULL, UINT32_MAX},
        {"default", "NUMAPolicy", "i", NULL, 0},
        {"preferred", "NUMAPolicy", "i", NULL, 1},
        {"interleave", "NUMAPolicy", "i", NULL, 3},
        {"local", "NUMAPolicy", "i", NULL, 4},
        {"weighted", "NUMAPolicy", "i", NULL, 6},
        {"", "NUMAPolicy", "i", NULL, 2}, /* bind */
};

/* The program and its arguments. */
static int append_command(sd_bus_message *reply, const char *command) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *program = text_next_word(arena, &command, " ");
        char *word;

        sd_bus_message_open_container(reply, 'r', "sasbttttuii");
        sd_bus_message_append(reply, "s", program);
        sd_bus_message_open_container(reply, 'a', "s");
        while ((word = text_next_word(arena, &command, " ")))
                sd_bus_message_append(reply, "s", word);
        sd_bus_message_close_container(reply);
        sd_bus_message_append(reply, "bttttuii", 1, UINT64_C(1), UINT64_C(2), UINT64_C(3),
                              UINT64_C(4), 5, 0, 0);
        return sd_bus_message_close_container(reply);
}

static int get(sd_bus *bus, const char *path, const char *interface, const char *property,
               sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Value *value = values;

        (void) bus, (void) interface, (void) userdata, (void) error;
        while (!text_equals(value->property, property) || !strstr(path, value->unit))
                value++;
        const char *texts = value->text;
        char *text;

        if (text_equals(value->type, "ay"))
                return sd_bus_message_append_array(reply, 'y', texts, value->number);
        if (text_equals(value->type, "s"))
                return sd_bus_message_append(reply, "s", texts);
        if (text_equals(value->type, "t"))
                return sd_bus_message_append(reply, "t", value->number);
        if (!texts)
                return sd_bus_message_append(reply, value->type, (uint32_t) value->number);
        sd_bus_message_open_container(reply, 'a', value->type + 1);
        while ((text = text_next_word(arena, &texts, "|")))
                if (text_equals(value->type, "as"))
                        sd_bus_message_append(reply, "s", text);
                else
                        append_command(reply, text);
        return sd_bus_message_close_container(reply);
}

static const sd_bus_vtable unit_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("LoadState", "s", get, 0, 0),
        SD_BUS_PROPERTY("NeedDaemonReload", "b", get, 0, 0),
        SD_BUS_PROPERTY("DropInPaths", "as", get, 0, 0),
        SD_BUS_PROPERTY("After", "as", get, 0, 0),
        SD_BUS_PROPERTY("ActiveState", "s", get, 0, 0),
        SD_BUS_PROPERTY("SubState", "s", get, 0, 0),
        SD_BUS_PROPERTY("InvocationID", "ay", get, 0, 0),
        SD_BUS_PROPERTY("Documentation", "as", get, 0, 0), /* not requested */
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable service_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("ExecStartPre", "a(sasbttttuii)", get, 0, 0),
        SD_BUS_PROPERTY("ExecStart", "a(sasbttttuii)", get, 0, 0),
        SD_BUS_PROPERTY("LimitMEMLOCKSoft", "t", get, 0, 0),
        SD_BUS_PROPERTY("AmbientCapabilities", "t", get, 0, 0),
        SD_BUS_PROPERTY("NUMAPolicy", "i", get, 0, 0),
        SD_BUS_PROPERTY("NUMAMask", "ay", get, 0, 0),
        SD_BUS_PROPERTY("ControlGroup", "s", get, 0, 0),
        SD_BUS_PROPERTY("ControlPID", "u", get, 0, 0),
        SD_BUS_PROPERTY("MainPID", "u", get, 0, 0),
        SD_BUS_PROPERTY("UID", "u", get, 0, 0),
        SD_BUS_PROPERTY("User", "s", get, 0, 0),
        SD_BUS_PROPERTY("Group", "s", get, 0, 0),
        SD_BUS_PROPERTY("SupplementaryGroups", "as", get, 0, 0),
        SD_BUS_VTABLE_END,
};

/* ---- playing it ---- */

static sd_bus *serve_client(int fd) {
        sd_bus *bus = NULL;

        sd_bus_new(&bus);
        sd_bus_set_fd(bus, fd, fd);
        sd_bus_set_server(bus, 1, SD_ID128_MAKE(1, 2, 3, 4, 5, 6, 7, 8, 9, a, b, c, d, e, f, 0));
        sd_bus_add_fallback_vtable(bus, NULL, OBJECTS, UNIT_INTERFACE, unit_vtable, NULL, NULL);
        sd_bus_add_fallback_vtable(bus, NULL, OBJECTS, SERVICE_INTERFACE, service_vtable, NULL,
                                   NULL);
        sd_bus_start(bus);
        return bus;
}

/* Until the client has left, or the test has ended. */
static void converse(const Played *played, sd_bus *bus) {
        int r = 0;

        while (r >= 0) {
                r = sd_bus_process(bus, NULL);
                if (r != 0)
                        continue;
                struct pollfd fds[] = {
                        {.fd = sd_bus_get_fd(bus), .events = (short) sd_bus_get_events(bus)},
                        {.fd = played->stop[0], .events = POLLIN},
                };

                if (poll(fds, ARRAY_LEN(fds), -1) < 0 || fds[1].revents)
                        break;
        }
}

static void *play(void *userdata) {
        const Played *played = userdata;
        struct pollfd fds[] = {
                {.fd = played->mood == MOOD_MUTE ? -1 : played->fd, .events = POLLIN},
                {.fd = played->stop[0], .events = POLLIN},
        };

        while (poll(fds, ARRAY_LEN(fds), -1) > 0 && !fds[1].revents) {
                int fd = accept4(played->fd, NULL, NULL, SOCK_CLOEXEC);

                if (played->mood == MOOD_CURT) {
                        char byte;

                        while (read(fd, &byte, 1) < 0)
                                ;
                        close(fd);
                        continue;
                }
                sd_bus *bus = serve_client(fd);

                converse(played, bus);
                sd_bus_close_unref(bus);
        }
        return NULL;
}

static void begin(Played *played, const Tree *tree, Mood mood) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        const char *path = tree_path(tree, PATH_SYSTEMD_PRIVATE);

        *played = (Played){.tree = tree, .mood = mood};
        tree_write(tree, "/run/systemd/anything", ""); /* for its directory */
        assert_uint_in_range(strlen(path), 1, sizeof(address.sun_path) - 1);
        memcpy(address.sun_path, path, strlen(path) + 1);
        played->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(played->fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(listen(played->fd, CLIENTS_MAX), 0);
        assert_int_equal(pipe(played->stop), 0);
        assert_int_equal(pthread_create(&played->thread, NULL, play, played), 0);
}

static void end(Played *played) {
        assert_int_equal(write(played->stop[1], "", 1), 1);
        pthread_join(played->thread, NULL);
        close(played->stop[0]);
        close(played->stop[1]);
        close(played->fd);
        unlink(tree_path(played->tree, PATH_SYSTEMD_PRIVATE));
}

static int begin_query(const Tree *tree, const char *first, const char *second, unsigned wanted,
                       UnitQuery **ret) {
        SourceNames names = {};

        *vec_push(tree->arena, &names) = first;
        *vec_push(tree->arena, &names) = second;
        return unit_query_new(tree->root, tree->arena, &names, wanted, ret);
}

/* Everything about the units, one per line; the policy's kind is a MemoryPolicyKind. */
static const char *units_text(Arena *arena, const LoadedUnits *units) {
        Text text = text_in(arena);

        VEC_FOREACH(unit, units) {
                const SourceNames *const lists[] = {&unit->dropins, &unit->after, &unit->pre_starts,
                                                    &unit->starts, &unit->groups};

                text_printf(&text,
                            "%s: '%s' '%s/%s' user '%s:%s' uid %" PRId64
                            " pids %u/%u run '%s' group '%s' policy %d:%s",
                            unit->name, unit->load_state, unit->active_state, unit->sub_state,
                            unit->user, unit->group, (int64_t) unit->uid,
                            (unsigned) unit->control_pid, (unsigned) unit->main_pid, unit->run,
                            unit->control_group, unit->policy.kind,
                            id_set_format(arena, &unit->policy.nodes));
                text_printf(&text, "%s%s locks %" PRIu64, unit->is_outdated ? " outdated" : "",
                            unit->may_lock ? " may-lock" : "", unit->memory_lock_bytes);
                for (size_t i = 0; i < ARRAY_LEN(lists); i++)
                        VEC_FOREACH(each, lists[i])
                                text_printf(&text, "%s%s", each == lists[i]->items ? "; " : ", ",
                                            *each);
                text_add(&text, "\n");
        }
        return text_string(&text);
}

/* What a query for FIRST and none.service finds out, or its error, for which there are no units. */
static const char *ask(const Tree *tree, const char *first, unsigned wanted, uint64_t limit_usec) {
        CLEANUP(unit_query_freep) UnitQuery *query = NULL;
        LoadedUnits units = {};
        int r = begin_query(tree, first, "none.service", wanted, &query);

        if (r >= 0)
                r = unit_query_wait(query, limit_usec, &units);
        assert_int_equal(units.n, r < 0 ? 0 : 2);
        return r < 0 ? strerrorname_np(-r) : units_text(tree->arena, &units);
}

static const char *ask_in(const Tree *tree, Mood mood, const char *first, unsigned wanted,
                          uint64_t limit_usec) {
        Played played;

        begin(&played, tree, mood);
        const char *answer = ask(tree, first, wanted, limit_usec);

        end(&played);
        return answer;
}

/* The same in a loop, which does other things at the same time. */
typedef struct Looped {
        Loop *loop;
        UnitQuery *query;
        int error;
        LoadedUnits units;
} Looped;

static void on_end(void *userdata, int error, const LoadedUnits *units) {
        Looped *looped = userdata;

        looped->error = error;
        if (error == 0)
                looped->units = *units;
        looped->query = unit_query_free(looped->query);
        loop_end(looped->loop, 0);
}

static Looped ask_in_loop(const Tree *tree, uint64_t limit_usec) {
        Looped looped = {.error = 1};

        assert_int_equal(loop_new(&looped.loop), 0);
        assert_true(begin_query(tree, "a.service", "none.service", UNIT_QUERY_LOADED,
                                &looped.query) >= 0);
        assert_int_equal(unit_query_attach(looped.query, looped.loop, limit_usec, on_end, &looped),
                         0);
        assert_int_equal(loop_run(looped.loop), 0);
        assert_null(looped.query);
        looped.loop = loop_free(looped.loop);
        return looped;
}

/* ---- tests ---- */

TREE_TEST(read_loaded_unit) {
        assert_text(
                ask_in(tree, MOOD_KIND, "postgresql@15-main.service", UNIT_QUERY_LOADED,
                       20 * USEC_PER_SEC),
                "postgresql@15-main.service: 'loaded' '/' user 'db:' uid 4294967295 pids 0/0 run '' "
                "group '' policy 2:0,2,8 outdated may-lock locks 65536; /a/10-hugeplan.conf, "
                "/b/zz.conf; hugeplan.service; /bin/mkdir /run/x, /usr/bin/hugeplanctl wait a; "
                "/usr/bin/pg_ctlcluster 15-main start; hugetlb\n"
                "none.service: 'not-found' '/' user 'db:' uid 4294967295 pids 0/0 run '' group "
                "'' policy 1: outdated may-lock locks 65536; /a/10-hugeplan.conf, "
                "/b/zz.conf; hugeplan.service; /bin/mkdir /run/x, /usr/bin/hugeplanctl wait a; "
                "/usr/bin/pg_ctlcluster 15-main start; hugetlb\n");
        assert_false(unit_manager_exists(tree->root));
}

/* A gate's questions about a starting unit, and only these. */
TREE_TEST(read_starting_unit) {
        assert_text(
                ask_in(tree, MOOD_KIND, "a.service", UNIT_QUERY_RUN, 20 * USEC_PER_SEC),
                "a.service: '' 'activating/start-pre' user ':' uid 26 pids 10/20 run "
                "'01ab00000000000000000000000000ff' group '/system.slice/a.service' policy "
                "2:0,2,8 locks 0; /usr/bin/pg_ctlcluster 15-main start\n"
                "none.service: '' 'inactive/dead' user ':' uid 4294967295 pids 0/0 run '' group "
                "'' policy 1: locks 0; /usr/bin/pg_ctlcluster 15-main start\n");
}

/* A policy that prefers nodes allows others, too. Weights are not used. A unit without a policy has the service manager's,
 * as this process has. A kernel without NUMA has none. */
TREE_TEST(policies) {
        unsigned long node_0 = 1;
        const bool has_numa = syscall(SYS_set_mempolicy, MPOL_BIND, &node_0, 8UL) == 0;
        const struct {
                const char *unit, *expected;
        } cases[] = {
                {"unset.service", has_numa ? "policy 2:0 " : "policy 1:"},
                {"default.service", "policy 1:"},
                {"preferred.service", "policy 1:"},
                {"bind.service", "policy 2:0,2,8 "},
                {"interleave.service", "policy 3:0,2,8 "},
                {"local.service", "policy 1:"},
                {"weighted.service", "policy 1:"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *answer = ask_in(tree, MOOD_KIND, cases[i].unit,
                                            UNIT_QUERY_LOADED | UNIT_QUERY_RUN, 20 * USEC_PER_SEC);

                assert_contains(answer, cases[i].expected);
                assert_contains(answer, "'loaded'");
        }
        syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL);
}

TREE_TEST(loop) {
        static const struct {
                Mood mood;
                uint64_t limit_usec;
                int error;
        } cases[] = {
                {MOOD_KIND, 20 * USEC_PER_SEC, 0},
                {MOOD_MUTE, 50 * USEC_PER_MSEC, -ETIMEDOUT},
                {MOOD_CURT, 20 * USEC_PER_SEC, -ECONNRESET},
        };
        Played played;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                begin(&played, tree, cases[i].mood);
                assert_true(unit_manager_exists(tree->root));
                const Looped looped = ask_in_loop(tree, cases[i].limit_usec);
                const char *waited = ask(tree, "a.service", UNIT_QUERY_LOADED, cases[i].limit_usec);

                end(&played);
                assert_int_equal(looped.error, cases[i].error);
                assert_text(cases[i].error ? strerrorname_np(-looped.error)
                                           : units_text(tree->arena, &looped.units),
                            waited);
        }
}

/* A recorded host has no manager, and the running host's is not asked. */
TREE_TEST(no_manager) {
        assert_false(unit_manager_exists(tree->root));
        assert_text(ask(tree, "a.service", UNIT_QUERY_LOADED, USEC_PER_SEC), "ENOENT");
}

/* A manager that does not answer is not waited for. */
TREE_TEST(mute_manager) {
        uint64_t start = clock_now_usec();

        assert_text(ask_in(tree, MOOD_MUTE, "a.service", UNIT_QUERY_LOADED, 50 * USEC_PER_MSEC),
                    "ETIMEDOUT");
        assert_uint_in_range(clock_now_usec() - start, 50 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
}
