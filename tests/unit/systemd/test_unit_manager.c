/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Queries to systemd, which a thread plays that speaks D-Bus on a socket below the test's root. */

#include "apply/host_apply.h"
#include "base/size.h"
#include "daemon/after_stop.h"
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
#define MANAGER_INTERFACE "org.freedesktop.systemd1.Manager"
#define JOB_INTERFACE     "org.freedesktop.systemd1.Job"
#define MANAGER_OBJECT    "/org/freedesktop/systemd1"
#define OBJECTS           MANAGER_OBJECT "/unit"
#define JOBS              MANAGER_OBJECT "/job"

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
        const char *state;    /* of the host; NULL: "running" */
        const char *job_type; /* the job of hugeplan.service; NULL: none */
        int stop[2];
        pthread_t thread;
} Played;

/* ---- what it says ---- */

static int get_text(sd_bus *bus, const char *path, const char *interface, const char *property,
                    sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        bool is_there = !strstr(path, "none");

        (void) bus, (void) interface, (void) userdata, (void) error;
        if (strcmp(property, "LoadState") == 0)
                return sd_bus_message_append(reply, "s", is_there ? "loaded" : "not-found");
        if (strcmp(property, "ActiveState") == 0)
                return sd_bus_message_append(reply, "s", is_there ? "activating" : "inactive");
        if (strcmp(property, "SubState") == 0)
                return sd_bus_message_append(reply, "s", is_there ? "start-pre" : "dead");
        if (strcmp(property, "ControlGroup") == 0)
                return sd_bus_message_append(reply, "s", is_there ? "/system.slice/a.service" : "");
        return sd_bus_message_append(reply, "s", strcmp(property, "User") == 0 ? "db" : "");
}

static int get_texts(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) userdata, (void) error;
        if (strcmp(property, "DropInPaths") == 0)
                return sd_bus_message_append(reply, "as", 2, "/a/10-hugeplan.conf", "/b/zz.conf");
        if (strcmp(property, "After") == 0)
                return sd_bus_message_append(reply, "as", 1, "hugeplan.service");
        return sd_bus_message_append(reply, "as", 1, "hugetlb");
}

static int get_commands(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) property, (void) userdata, (void) error;
        return sd_bus_message_append(reply, "a(sasbttttuii)", 2, "/bin/mkdir", 2, "mkdir", "/run/x",
                                     1, UINT64_C(1), UINT64_C(2), UINT64_C(3), UINT64_C(4), 5, 0, 0,
                                     "/usr/bin/hugeplanctl", 3, "/usr/bin/hugeplanctl", "wait", "a",
                                     0, UINT64_C(0), UINT64_C(0), UINT64_C(0), UINT64_C(0), 0, 0,
                                     0);
}

/* The values of <linux/mempolicy.h>; a unit's name selects one. */
static int32_t find_policy(const char *path) {
        static const struct {
                const char *name;
                int32_t policy;
        } policies[] = {{"none", -1},      {"unset", -1}, {"default", 0}, {"preferred", 1},
                        {"interleave", 3}, {"local", 4},  {"weighted", 6}};

        for (size_t i = 0; i < ARRAY_LEN(policies); i++)
                if (strstr(path, policies[i].name))
                        return policies[i].policy;
        return 2; /* bind */
}

static int get_start(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) property, (void) userdata, (void) error;
        return sd_bus_message_append(reply, "a(sasbttttuii)", 1, "/usr/bin/pg_ctlcluster", 3,
                                     "postgresql@15-main", "15-main", "start", 1, UINT64_C(1),
                                     UINT64_C(2), UINT64_C(3), UINT64_C(4), 5, 0, 0);
}

static int get_number(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) path, (void) interface, (void) userdata, (void) error;
        if (strcmp(property, "NeedDaemonReload") == 0)
                return sd_bus_message_append(reply, "b", 1);
        if (strcmp(property, "NUMAPolicy") == 0)
                return sd_bus_message_append(reply, "i", find_policy(path));
        if (strcmp(property, "AmbientCapabilities") == 0)
                return sd_bus_message_append(reply, "t", UINT64_C(1) << 14);
        return sd_bus_message_append(reply, "t", UINT64_C(65536));
}

static int get_process(sd_bus *bus, const char *path, const char *interface, const char *property,
                       sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        (void) bus, (void) interface, (void) userdata, (void) error;
        if (strcmp(property, "UID") == 0)
                return sd_bus_message_append(reply, "u", strstr(path, "none") ? UINT32_MAX : 26);
        if (strstr(path, "none"))
                return sd_bus_message_append(reply, "u", 0);
        return sd_bus_message_append(reply, "u", strcmp(property, "MainPID") == 0 ? 20 : 10);
}

static int get_nodes(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        static const uint8_t nodes[] = {0x05, 0x01};

        (void) bus, (void) interface, (void) property, (void) userdata, (void) error;
        return sd_bus_message_append_array(reply, 'y', nodes,
                                           find_policy(path) < 0 ? 0 : sizeof(nodes));
}

static int get_run(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        static const uint8_t id[16] = {0x01, 0xab, [15] = 0xff};

        (void) bus, (void) interface, (void) property, (void) userdata, (void) error;
        return sd_bus_message_append_array(reply, 'y', id, strstr(path, "none") ? 0 : sizeof(id));
}

static int get_state(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Played *played = userdata;

        (void) bus, (void) path, (void) interface, (void) property, (void) error;
        return sd_bus_message_append(reply, "s", played->state ? played->state : "running");
}

static int get_job(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Played *played = userdata;

        (void) bus, (void) interface, (void) property, (void) error;
        if (!played->job_type || strcmp(path, OBJECTS "/hugeplan_2eservice") != 0)
                return sd_bus_message_append(reply, "(uo)", 0, "/");
        return sd_bus_message_append(reply, "(uo)", 4711, JOBS "/4711");
}

static int get_job_type(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Played *played = userdata;

        (void) bus, (void) interface, (void) property, (void) error;
        return strcmp(path, JOBS "/4711") == 0 ? sd_bus_message_append(reply, "s", played->job_type)
                                               : -EINVAL;
}

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("SystemState", "s", get_state, 0, 0),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable job_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("JobType", "s", get_job_type, 0, 0),
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable unit_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("LoadState", "s", get_text, 0, 0),
        SD_BUS_PROPERTY("NeedDaemonReload", "b", get_number, 0, 0),
        SD_BUS_PROPERTY("DropInPaths", "as", get_texts, 0, 0),
        SD_BUS_PROPERTY("After", "as", get_texts, 0, 0),
        SD_BUS_PROPERTY("ActiveState", "s", get_text, 0, 0),
        SD_BUS_PROPERTY("SubState", "s", get_text, 0, 0),
        SD_BUS_PROPERTY("InvocationID", "ay", get_run, 0, 0),
        SD_BUS_PROPERTY("Job", "(uo)", get_job, 0, 0),
        SD_BUS_PROPERTY("Documentation", "as", get_texts, 0, 0), /* not requested */
        SD_BUS_VTABLE_END,
};

static const sd_bus_vtable service_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("ExecStartPre", "a(sasbttttuii)", get_commands, 0, 0),
        SD_BUS_PROPERTY("ExecStart", "a(sasbttttuii)", get_start, 0, 0),
        SD_BUS_PROPERTY("LimitMEMLOCKSoft", "t", get_number, 0, 0),
        SD_BUS_PROPERTY("AmbientCapabilities", "t", get_number, 0, 0),
        SD_BUS_PROPERTY("NUMAPolicy", "i", get_number, 0, 0),
        SD_BUS_PROPERTY("NUMAMask", "ay", get_nodes, 0, 0),
        SD_BUS_PROPERTY("ControlGroup", "s", get_text, 0, 0),
        SD_BUS_PROPERTY("ControlPID", "u", get_process, 0, 0),
        SD_BUS_PROPERTY("MainPID", "u", get_process, 0, 0),
        SD_BUS_PROPERTY("UID", "u", get_process, 0, 0),
        SD_BUS_PROPERTY("User", "s", get_text, 0, 0),
        SD_BUS_PROPERTY("Group", "s", get_text, 0, 0),
        SD_BUS_PROPERTY("SupplementaryGroups", "as", get_texts, 0, 0),
        SD_BUS_VTABLE_END,
};

/* ---- playing it ---- */

static sd_bus *serve_client(const Played *played, int fd) {
        void *userdata = (void *) (uintptr_t) played;
        sd_bus *bus = NULL;

        sd_bus_new(&bus);
        sd_bus_set_fd(bus, fd, fd);
        sd_bus_set_server(bus, 1, SD_ID128_MAKE(1, 2, 3, 4, 5, 6, 7, 8, 9, a, b, c, d, e, f, 0));
        sd_bus_add_object_vtable(bus, NULL, MANAGER_OBJECT, MANAGER_INTERFACE, manager_vtable,
                                 userdata);
        sd_bus_add_fallback_vtable(bus, NULL, JOBS, JOB_INTERFACE, job_vtable, NULL, userdata);
        sd_bus_add_fallback_vtable(bus, NULL, OBJECTS, UNIT_INTERFACE, unit_vtable, NULL, userdata);
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
                sd_bus *bus = serve_client(played, fd);

                converse(played, bus);
                sd_bus_close_unref(bus);
        }
        return NULL;
}

static void begin_in(Played *played, const Tree *tree, Mood mood, const char *state,
                     const char *job_type) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        const char *path = tree_path(tree, PATH_SYSTEMD_PRIVATE);

        *played = (Played){.tree = tree, .mood = mood, .state = state, .job_type = job_type};
        tree_write(tree, "/run/systemd/anything", ""); /* for its directory */
        assert_uint_in_range(strlen(path), 1, sizeof(address.sun_path) - 1);
        memcpy(address.sun_path, path, strlen(path) + 1);
        played->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(played->fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(listen(played->fd, CLIENTS_MAX), 0);
        assert_int_equal(pipe(played->stop), 0);
        assert_int_equal(pthread_create(&played->thread, NULL, play, played), 0);
}

static void begin(Played *played, const Tree *tree, Mood mood) {
        begin_in(played, tree, mood, NULL, NULL);
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

static int ask_for(const Tree *tree, const char *first, const char *second, unsigned wanted,
                   uint64_t limit_usec, LoadedUnits *ret) {
        CLEANUP(unit_query_freep) UnitQuery *query = NULL;
        int r = begin_query(tree, first, second, wanted, &query);

        return r < 0 ? r : unit_query_wait(query, limit_usec, ret);
}

static int ask(const Tree *tree, const char *first, const char *second, uint64_t limit_usec,
               LoadedUnits *ret) {
        return ask_for(tree, first, second, UNIT_QUERY_LOADED, limit_usec, ret);
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

TREE_TEST(read) {
        LoadedUnits units = {};
        Played played;

        begin(&played, tree, MOOD_KIND);
        assert_true(unit_manager_exists(tree->root));
        assert_int_equal(
                ask(tree, "postgresql@15-main.service", "none.service", 20 * USEC_PER_SEC, &units),
                0);
        end(&played);
        assert_int_equal(units.n, 2);
        const LoadedUnit *unit = &units.items[0];

        assert_text(unit->name, "postgresql@15-main.service");
        assert_text(unit->load_state, "loaded");
        assert_true(unit->is_outdated);
        assert_int_equal(unit->dropins.n, 2);
        assert_text(unit->dropins.items[1], "/b/zz.conf");
        assert_int_equal(unit->after.n, 1);
        assert_int_equal(unit->pre_starts.n, 2);
        assert_text(unit->pre_starts.items[0], "/bin/mkdir /run/x");
        assert_text(unit->pre_starts.items[1], "/usr/bin/hugeplanctl wait a");
        assert_int_equal(unit->starts.n, 1);
        assert_text(unit->starts.items[0], "/usr/bin/pg_ctlcluster 15-main start");
        assert_int_equal(unit->memory_lock_bytes, 65536);
        assert_true(unit->may_lock);
        assert_int_equal(unit->policy.kind, MEMORY_POLICY_BIND);
        assert_text(id_set_format(tree->arena, &unit->policy.nodes), "0,2,8");
        assert_text(unit->user, "db");
        assert_text(unit->group, "");
        assert_int_equal(unit->groups.n, 1);
        assert_text(units.items[1].load_state, "not-found");
        /* The run was not requested. */
        assert_text(unit->active_state, "");
        assert_text(unit->run, "");
        assert_text(unit->control_group, "");
}

/* A gate's questions about a starting unit. */
TREE_TEST(run) {
        LoadedUnits units = {};
        Played played;

        begin(&played, tree, MOOD_KIND);
        assert_int_equal(ask_for(tree, "a.service", "none.service", UNIT_QUERY_RUN,
                                 20 * USEC_PER_SEC, &units),
                         0);
        end(&played);
        const LoadedUnit *unit = &units.items[0];

        assert_text(unit->active_state, "activating");
        assert_text(unit->sub_state, "start-pre");
        assert_int_equal(unit->control_pid, 10);
        assert_int_equal(unit->main_pid, 20);
        assert_int_equal(unit->uid, 26);
        assert_text(unit->run, "01ab00000000000000000000000000ff");
        assert_text(unit->control_group, "/system.slice/a.service");
        assert_int_equal(unit->policy.kind, MEMORY_POLICY_BIND);
        assert_text(id_set_format(tree->arena, &unit->policy.nodes), "0,2,8");
        /* Only that. */
        assert_text(unit->load_state, "");
        assert_int_equal(unit->pre_starts.n, 0);
        unit = &units.items[1];
        assert_text(unit->active_state, "inactive");
        assert_text(unit->sub_state, "dead");
        assert_int_equal(unit->control_pid, 0);
        assert_text(unit->run, "");
        assert_text(unit->control_group, "");
        assert_int_equal(unit->policy.kind, MEMORY_POLICY_ANY);
}

/* A policy that prefers nodes allows others, too. Weights are not used. A unit without a policy has the service manager's,
 * as this process has. A kernel without NUMA has none. */
TREE_TEST(policies) {
        unsigned long node_0 = 1;
        const bool has_numa = syscall(SYS_set_mempolicy, MPOL_BIND, &node_0, 8UL) == 0;
        const struct {
                const char *unit;
                MemoryPolicyKind kind;
        } cases[] = {
                {"unset.service", has_numa ? MEMORY_POLICY_BIND : MEMORY_POLICY_ANY},
                {"default.service", MEMORY_POLICY_ANY},
                {"preferred.service", MEMORY_POLICY_ANY},
                {"bind.service", MEMORY_POLICY_BIND},
                {"interleave.service", MEMORY_POLICY_INTERLEAVE},
                {"local.service", MEMORY_POLICY_ANY},
                {"weighted.service", MEMORY_POLICY_ANY},
        };
        Played played;

        begin(&played, tree, MOOD_KIND);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                LoadedUnits units = {};

                assert_int_equal(ask_for(tree, cases[i].unit, "none.service",
                                         UNIT_QUERY_LOADED | UNIT_QUERY_RUN, 20 * USEC_PER_SEC,
                                         &units),
                                 0);
                assert_int_equal(units.items[0].policy.kind, cases[i].kind);
                assert_text(units.items[0].load_state, "loaded");
                if (i == 0 && has_numa)
                        assert_text(id_set_format(tree->arena, &units.items[0].policy.nodes), "0");
        }
        end(&played);
        syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL);
}

TREE_TEST(loop) {
        Played played;

        begin(&played, tree, MOOD_KIND);
        Looped looped = ask_in_loop(tree, 20 * USEC_PER_SEC);

        end(&played);
        assert_int_equal(looped.error, 0);
        assert_int_equal(looped.units.n, 2);
        assert_text(looped.units.items[0].load_state, "loaded");
        assert_int_equal(looped.units.items[0].groups.n, 1);
        assert_text(looped.units.items[1].load_state, "not-found");

        begin(&played, tree, MOOD_MUTE);
        looped = ask_in_loop(tree, 50 * USEC_PER_MSEC);
        end(&played);
        assert_int_equal(looped.error, -ETIMEDOUT);

        begin(&played, tree, MOOD_CURT);
        looped = ask_in_loop(tree, 20 * USEC_PER_SEC);
        end(&played);
        assert_int_equal(looped.error, -ECONNRESET);
}

/* A recorded host has no manager, and the running host's is not asked. */
TREE_TEST(no_manager) {
        LoadedUnits units = {};

        assert_false(unit_manager_exists(tree->root));
        assert_int_equal(ask(tree, "a.service", "b.service", USEC_PER_SEC, &units), -ENOENT);
        assert_int_equal(units.n, 0);
}

/* A manager that does not answer is not waited for. */
TREE_TEST(mute) {
        LoadedUnits units = {};
        Played played;

        begin(&played, tree, MOOD_MUTE);
        uint64_t start = clock_now_usec();
        int r = ask(tree, "a.service", "b.service", 50 * USEC_PER_MSEC, &units);
        uint64_t usec = clock_now_usec() - start;

        end(&played);
        assert_int_equal(r, -ETIMEDOUT);
        assert_uint_in_range(usec, 50 * USEC_PER_MSEC, 20 * USEC_PER_SEC);
        assert_int_equal(units.n, 0);
}

TREE_TEST(curt) {
        LoadedUnits units = {};
        Played played;

        begin(&played, tree, MOOD_CURT);
        int r = ask(tree, "a.service", "b.service", 20 * USEC_PER_SEC, &units);

        end(&played);
        assert_int_equal(r, -ECONNRESET);
        assert_int_equal(units.n, 0);
}

/* ---- what a unit stops for ---- */

TREE_TEST(stop) {
        static const struct {
                const char *state, *job_type;
                UnitStop expected;
        } cases[] = {
                {"running", "stop", UNIT_STOP_FOR_GOOD},
                {"degraded", "stop", UNIT_STOP_FOR_GOOD},
                {"running", "restart", UNIT_STOP_RESTART},
                {"running", "try-restart", UNIT_STOP_RESTART},
                {"starting", "restart", UNIT_STOP_RESTART},
                {"running", NULL, UNIT_STOP_ITSELF},
                {"stopping", "stop", UNIT_STOP_HOST},
                {"stopping", NULL, UNIT_STOP_HOST},
        };
        Played played;

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                UnitStop stop = (UnitStop) 99;

                begin_in(&played, tree, MOOD_KIND, cases[i].state, cases[i].job_type);
                int r = unit_stop_find(tree->root, "hugeplan.service", 20 * USEC_PER_SEC, &stop);

                end(&played);
                assert_int_equal(r, 0);
                assert_int_equal(stop, cases[i].expected);
        }
}

TREE_TEST(stop_unanswered) {
        UnitStop stop = (UnitStop) 99;
        Played played;

        assert_int_equal(unit_stop_find(tree->root, "hugeplan.service", USEC_PER_SEC, &stop),
                         -ENOENT);
        begin(&played, tree, MOOD_MUTE);
        int r = unit_stop_find(tree->root, "hugeplan.service", 50 * USEC_PER_MSEC, &stop);

        end(&played);
        assert_int_equal(r, -ETIMEDOUT);
        assert_int_equal(stop, 99);
}

static bool has_guard_after(const Tree *tree, const char *unit, const char *result) {
        assert_int_equal(guard_write(tree->root, 512), 0);
        assert_int_equal(after_stop(tree->root, unit, result), 0);
        return root_exists(tree->root, PATH_SYSCTL_GUARD);
}

static bool has_guard_after_job(const Tree *tree, const char *job_type, const char *result) {
        Played played;

        begin_in(&played, tree, MOOD_KIND, "running", job_type);
        bool has_guard = has_guard_after(tree, "hugeplan.service", result);

        end(&played);
        return has_guard;
}

/* The guard is removed only if it is certain that no daemon needs it. */
TREE_TEST(guard_after_stop) {
        Played played;

        assert_false(has_guard_after_job(tree, "stop", "success"));
        assert_false(has_guard_after_job(tree, "stop", "timeout")); /* it hung, and was killed */
        assert_false(has_guard_after_job(tree, "stop", NULL));
        assert_false(has_guard_after_job(tree, NULL, "success"));
        assert_true(has_guard_after_job(tree, "restart", "success"));
        assert_true(has_guard_after_job(tree, "restart", "watchdog"));
        assert_true(has_guard_after_job(tree, NULL, "signal"));
        assert_true(has_guard_after_job(tree, NULL, NULL));

        begin_in(&played, tree, MOOD_KIND, "stopping", "stop");
        bool has_guard = has_guard_after(tree, "hugeplan.service", "success");

        end(&played);
        assert_true(has_guard);
        assert_true(has_guard_after(tree, "hugeplan.service", "success")); /* no manager */

        assert_int_equal(guard_remove(tree->root), 0);
        assert_int_equal(after_stop(tree->root, "hugeplan.service", "success"), 0);
}
