/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The processes of a host. */

#include "inspect/process_files.h"
#include "support/testing.h"
#include "support/tree.h"

#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void write_process(const Tree *tree, const char *pid, const char *unit) {
        static const char arguments[] = "postgres\0-D\0/srv/pg";
        const char *directory = arena_printf(tree->arena, "/proc/%s", pid);

        tree_write_bytes(tree, arena_printf(tree->arena, "%s/cmdline", directory), arguments,
                         sizeof(arguments));
        tree_write(tree, arena_printf(tree->arena, "%s/status", directory),
                   arena_printf(tree->arena,
                                "Name:\tpostgres\nState:\tS (sleeping)\nPid:\t%s\nPPid:\t1\n"
                                "Uid:\t112\t112\t112\t112\nVmPeak:\t 2048 kB\n",
                                pid));
        tree_write(tree, arena_printf(tree->arena, "%s/cgroup", directory),
                   arena_printf(tree->arena, "0::/system.slice/%s\n", unit));
}

TREE_TEST(seen) {
        write_process(tree, "5000001", "pg.service");
        tree_link(tree, "/", "/proc/5000001/root");
        write_process(tree, "5000002", "libpod-1.scope");
        tree_link(tree, "/srv/containers/1", "/proc/5000002/root");
        write_process(tree, "5000003", "pg.service");
        tree_write(tree, "/proc/meminfo", "");
        Processes processes = processes_list(tree->root, tree->arena);

        assert_int_equal(processes.n, 3);
        const Process *one = &processes.items[0];

        assert_int_equal(one->pid, 5000001);
        assert_int_equal(one->uid, 112);
        assert_text(one->command, "postgres");
        assert_int_equal(one->arguments.n, 3);
        assert_text(one->arguments.items[2], "/srv/pg");
        assert_text(one->unit, "pg.service");
        assert_true(one->peak_bytes == 2 << 20);
        assert_false(one->is_elsewhere);
        assert_true(processes.items[1].is_elsewhere);
        /* A process with an unreadable link counts as one of this host, */
        assert_false(processes.items[2].is_elsewhere);
        assert_null(processes.items[2].container);
}

/* unless its control group is a container's. */
TREE_TEST(containers) {
        static const struct {
                const char *group, *container;
        } rows[] = {
                {"libpod-" ID ".scope/container", "Podman container 0123456789ab"},
                {"pg.service/libpod-payload-" ID, "Podman container 0123456789ab"},
                {"pg.service/libpod-conmon-" ID, NULL},
                {"docker-" ID ".scope", "Docker container 0123456789ab"},
                {"docker/" ID, "Docker container 0123456789ab"},
                {"kubepods.slice/cri-containerd-" ID ".scope", "Kubernetes container 0123456789ab"},
                {"lxc.payload.db1/system.slice/pg.service", "LXC container db1"},
                {"docker.service", NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                write_process(tree, "5000003", rows[i].group);
                if (i == 0)
                        tree_link(tree, "/srv/data", "/proc/5000003/cwd");
                Processes processes = processes_list(tree->root, tree->arena);

                assert_text(processes.items[0].container, rows[i].container);
                assert_int_equal(processes.items[0].is_elsewhere, rows[i].container != NULL);
                assert_text(processes.items[0].directory, "/srv/data");
        }
}

/* This process on the running host. */
TEST(here) {
        CLEANUP(root_freep) Root *root = NULL;

        assert_int_equal(root_open("/", &root), 0);
        Processes processes = processes_list(root, arena);
        bool is_seen = false;

        VEC_FOREACH(process, &processes)
                if (process->pid == (uint64_t) getpid()) {
                        assert_false(process->is_elsewhere);
                        is_seen = true;
                }
        assert_true(is_seen);
}
