/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was measured on kernels, of the model: what a write does, what is reserved for whom, whose page is
 * whose. That the model does as kernels do beyond these cases, model/kernel_script.c tells. */

#include "model/kernel_model.h"
#include "model/script_model.h"
#include "support/testing.h"

#define TWO_NODES "node 0 total=4G free=3G\nnode 1 total=4G free=3G\n"
#define OLD       "release 6.1.176\n"
#define NEW       "release 6.12.117\n"

enum { PAGE_MIB = 2 };

static const uint64_t page = PAGE_MIB * MIB;

/* ---- in few words ---- */

static int set_node(Kernel *kernel, int node, uint64_t n) {
        return kernel_set_pool(kernel, NULL, node, page, n);
}

static int set_host(Kernel *kernel, uint64_t n) {
        return kernel_set_pool(kernel, NULL, KERNEL_HOST, page, n);
}

/* "TOTAL/FREE/SURPLUS" of a node. */
static char *node_text(Arena *arena, const Kernel *kernel, int node) {
        KernelPool pool = kernel_pool(kernel, node, page);

        return arena_printf(arena, "%" PRIu64 "/%" PRIu64 "/%" PRIu64, pool.total_pages,
                            pool.free_pages, pool.surplus_pages);
}

/* Of the first two nodes, and what is reserved on the host. */
static char *pools_text(Arena *arena, const Kernel *kernel) {
        return arena_printf(arena, "%s %s %" PRIu64, node_text(arena, kernel, 0),
                            node_text(arena, kernel, 1),
                            kernel_pool(kernel, KERNEL_HOST, page).reserved_pages);
}

#define assert_pools(kernel, expected)                                 \
        do {                                                           \
                assert_text(pools_text(arena, (kernel)), (expected));  \
                assert_null(kernel_check_invariants((kernel), arena)); \
        } while (0)

static KernelProcess *spawn(Kernel *kernel, KernelPolicy policy, unsigned cpu_node) {
        return kernel_spawn(kernel, &(KernelSpawn){.policy = policy, .cpu_node = cpu_node});
}

static KernelProcess *spawn_in(Kernel *kernel, const char *group) {
        return kernel_spawn(kernel, &(KernelSpawn){.group = group});
}

static int map(KernelProcess *process, uint64_t n, KernelMapping **ret) {
        return kernel_map(process, &(KernelMap){.n_pages = n}, ret);
}

static KernelMapping *mapped(KernelProcess *process, uint64_t n) {
        KernelMapping *mapping = NULL;

        assert_int_equal(map(process, n, &mapping), 0);
        return mapping;
}

static KernelMapping *mapped_as(KernelProcess *process, KernelMap preference) {
        KernelMapping *mapping = NULL;

        assert_int_equal(kernel_map(process, &preference, &mapping), 0);
        return mapping;
}

static const KernelPolicy no_policy;

/* ---- what a write does ---- */

TEST(short_write_succeeds) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=1G free=600M keep=40M\n");

        assert_int_equal(set_node(kernel, 0, 1000), 0);
        assert_pools(kernel, "280/280/0 0/0/0 0");
        assert_int_equal(kernel_pool(kernel, KERNEL_HOST, page).max_pages, 280);
        /* Asked for too much: nothing is left but what the node keeps. */
        assert_int_equal(kernel_free_bytes(kernel, 0), 40 * MIB);
        assert_int_equal(set_node(kernel, 0, 0), 0);
        assert_int_equal(set_node(kernel, 0, UINT64_MAX), 0);
        assert_pools(kernel, "280/280/0 0/0/0 0");
}

TEST(reclaim_and_compact) {
        CLEANUP(kernel_freep)
        Kernel *kernel =
                kernel_new("node 0 total=1G free=300M scattered=200M pinned=20M cache=500M\n");

        set_node(kernel, 0, 390);
        assert_pools(kernel, "50/50/0 0/0/0 0");
        set_node(kernel, 0, 390);
        assert_pools(kernel, "50/50/0 0/0/0 0");
        assert_int_equal(kernel_reclaim(kernel, 0, 600 * MIB), -EAGAIN);
        set_node(kernel, 0, 390);
        assert_pools(kernel, "50/50/0 0/0/0 0");
        kernel_compact(kernel, 0);
        set_node(kernel, 0, 400);
        assert_pools(kernel, "390/390/0 0/0/0 0");
}

TEST(drop_caches) {
        CLEANUP(kernel_freep)
        Kernel *kernel =
                kernel_new("node 0 total=1G free=0 cache=100M\nnode 1 total=1G free=0 cache=50M\n");

        kernel_drop_caches(kernel);
        kernel_compact(kernel, KERNEL_HOST);
        set_host(kernel, 100);
        assert_pools(kernel, "50/50/0 25/25/0 0");
        assert_int_equal(kernel_take_memory(kernel, 0, GIB), 0);
        set_host(kernel, 0);
        assert_int_equal(kernel_take_memory(kernel, 0, 30 * MIB), 30 * MIB);
        set_host(kernel, 100);
        assert_pools(kernel, "35/35/0 25/25/0 0");
        kernel_give_memory(kernel, 0, 20 * MIB);
        set_host(kernel, 100);
        assert_pools(kernel, "45/45/0 25/25/0 0");
}

TEST(signal_cuts_a_write) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);

        kernel_interrupt_growth(kernel, 140);
        assert_int_equal(set_node(kernel, 0, 600), 0);
        assert_pools(kernel, "140/140/0 0/0/0 0");
        set_node(kernel, 0, 600);
        assert_pools(kernel, "600/600/0 0/0/0 0");
}

/* cpuset wins over the documentation, a policy does not. */
TEST(cpuset_of_the_writer) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);

        kernel_group_make(kernel, "/near");
        kernel_group_write(kernel, "/", "cgroup.subtree_control", "+cpuset");
        assert_int_equal(kernel_group_write(kernel, "/near", "cpuset.mems", "0"), 0);
        KernelProcess *writer = spawn_in(kernel, "/near");

        assert_int_equal(kernel_set_pool(kernel, writer, 1, page, 10), 0);
        assert_pools(kernel, "0/0/0 0/0/0 0");
        kernel_set_pool(kernel, writer, KERNEL_HOST, page, 10);
        assert_pools(kernel, "10/10/0 0/0/0 0");
        set_node(kernel, 1, 10);
        kernel_set_pool(kernel, writer, 1, page, 4);
        assert_pools(kernel, "10/10/0 4/4/0 0");
        writer = spawn(kernel, kernel_bind(0), 0);
        kernel_set_pool(kernel, writer, 1, page, 8);
        assert_pools(kernel, "10/10/0 8/8/0 0");
        kernel_set_pool_by_policy(kernel, writer, page, 10);
        assert_pools(kernel, "2/2/0 8/8/0 0");
}

/* A later vm.nr_hugepages destroys the plan, unless it is the sum. */
TEST(sysctl_moves_pages) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);

        set_node(kernel, 0, 10);
        set_node(kernel, 1, 30);
        assert_int_equal(kernel_pool(kernel, KERNEL_HOST, page).max_pages, 40);
        set_host(kernel, 40);
        assert_pools(kernel, "10/10/0 30/30/0 0");
        set_host(kernel, 20);
        assert_pools(kernel, "0/0/0 20/20/0 0");
        set_node(kernel, 0, 50);
        set_node(kernel, 1, 150);
        set_host(kernel, 260);
        assert_pools(kernel, "80/80/0 180/180/0 0");
        set_host(kernel, 100);
        assert_pools(kernel, "0/0/0 100/100/0 0");
}

/* The file reads the total, and sets what is persistent. */
TEST(total_and_persistent) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");

        set_node(kernel, 0, 12);
        kernel_touch_all(mapped(spawn(kernel, no_policy, 0), 12));
        set_node(kernel, 0, 5);
        assert_pools(kernel, "12/0/7 0/0/0 0");
        assert_int_equal(kernel_pool(kernel, KERNEL_HOST, page).max_pages, 5);
        set_node(kernel, 0, 12);
        assert_pools(kernel, "12/0/0 0/0/0 0");
}

TEST(surplus_goes_when_it_comes_free) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
        KernelProcess *first = spawn(kernel, no_policy, 0), *second = spawn(kernel, no_policy, 0);

        set_node(kernel, 0, 10);
        kernel_touch_all(mapped(first, 4));
        kernel_touch_all(mapped(second, 4));
        set_node(kernel, 0, 2);
        assert_pools(kernel, "8/0/6 0/0/0 0");
        kernel_exit(first);
        assert_pools(kernel, "4/0/2 0/0/0 0");
        kernel_exit(second);
        assert_pools(kernel, "2/2/0 0/0/0 0");
        assert_int_equal(kernel_free_bytes(kernel, 0), 3 * GIB - 2 * page);
        assert_null(kernel_check_invariants(kernel, arena));
}

/* Before 6.7 a write to one node added the surplus of the others. */
TEST(surplus_elsewhere) {
        static const struct {
                const char *release, *expects;
        } kernels[] = {
                {OLD, "30/30/0 20/0/20 0"},
                {"release 6.6.12\n", "30/30/0 20/0/20 0"},
                {"release 6.7.0\n", "10/10/0 20/0/20 0"},
                {NEW, "10/10/0 20/0/20 0"},
        };

        for (size_t i = 0; i < ARRAY_LEN(kernels); i++) {
                CLEANUP(kernel_freep)
                Kernel *kernel =
                        kernel_new(arena_printf(arena, "%s" TWO_NODES, kernels[i].release));

                set_node(kernel, 1, 20);
                kernel_touch_all(mapped(spawn(kernel, no_policy, 1), 20));
                set_node(kernel, 1, 0);
                set_node(kernel, 0, 10);
                assert_pools(kernel, kernels[i].expects);
        }
}

/* A node with more surplus than pages, and 6.7 or later: the next write to any node's file takes all. */
TEST(surplus_without_pages) {
        static const struct {
                const char *release;
                int node;
                uint64_t expects;
        } writes[] = {{OLD, 0, 8}, {OLD, 1, 11}, {NEW, 0, 0}, {NEW, 1, 0}};

        for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
                CLEANUP(kernel_freep)
                Kernel *kernel = kernel_new(arena_printf(arena, "%s" TWO_NODES, writes[i].release));

                set_node(kernel, 0, 3);
                mapped(spawn(kernel, no_policy, 0), 3);
                set_node(kernel, 0, 0);
                assert_pools(kernel, "3/3/3 0/0/0 3");
                set_node(kernel, 1, 10);
                set_host(kernel, 5);
                assert_text(node_text(arena, kernel, 0), "0/0/3");
                set_node(kernel, writes[i].node, 8);
                if (writes[i].expects > 0)
                        assert_int_equal(kernel_pool(kernel, writes[i].node, page).total_pages,
                                         writes[i].expects);
                else
                        assert_int_equal(kernel_free_bytes(kernel, (unsigned) writes[i].node), 0);
                assert_null(kernel_check_invariants(kernel, arena));
        }
}

/* "with 20+20 pages and 20 reserved, 0 for node 0 frees node 0 entirely" */
TEST(shrinking_looks_at_the_host) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);

        set_host(kernel, 40);
        mapped(spawn(kernel, no_policy, 0), 20);
        assert_pools(kernel, "20/20/0 20/20/0 20");
        set_node(kernel, 0, 0);
        assert_pools(kernel, "0/0/0 20/20/0 20");
        /* All that is left is promised: it stays, as surplus. */
        set_node(kernel, 1, 0);
        assert_pools(kernel, "0/0/0 20/20/20 20");
}

TEST(nodes) {
        CLEANUP(kernel_freep)
        Kernel *kernel =
                kernel_new("node 0 total=4G free=3G\nnode 1\nnode 3 total=1G free=1G nocpu\n");

        assert_int_equal(set_node(kernel, 1, 5), 0);
        assert_int_equal(set_node(kernel, 2, 5), -ENOENT);
        assert_int_equal(set_node(kernel, 3, 5), 0);
        assert_int_equal(kernel_set_pool(kernel, NULL, 0, GIB, 1), -ENOENT);
        assert_int_equal(kernel_pool(kernel, 1, page).total_pages, 0);
        assert_int_equal(kernel_pool(kernel, 3, page).total_pages, 5);
        assert_int_equal(kernel_memory_nodes(kernel), 0x9);
        assert_int_equal(kernel_cpu_nodes(kernel), 0x3);
        assert_null(kernel_check_invariants(kernel, arena));
}

/* ---- 1G ---- */

TEST(demote) {
        CLEANUP(kernel_freep)
        Kernel *kernel = kernel_new("sizes 1G 2M\nnode 0 total=8G free=6G 1G=2\n");

        assert_int_equal(kernel_demote(kernel, 0, GIB, 1), 0); /* there is none */
        assert_int_equal(kernel_set_pool(kernel, NULL, 0, GIB, 4), 0);
        assert_int_equal(kernel_pool(kernel, 0, GIB).total_pages, 2);
        assert_int_equal(kernel_demote(kernel, 0, GIB, 1), 0);
        assert_int_equal(kernel_pool(kernel, 0, GIB).total_pages, 1);
        assert_pools(kernel, "512/512/0 0/0/0 0");
        assert_int_equal(kernel_demote(kernel, 0, page, 1), -ENOENT);
        assert_int_equal(kernel_set_overcommit(kernel, GIB, 1), -EINVAL);
        assert_null(kernel_check_invariants(kernel, arena));
}

/* A node's free pages are held against what is promised on the whole host, and that unsigned: where
 * they are fewer, they are enough. Since 6.12 only the first page is looked at. */
TEST(demote_breaks_promises) {
        static const struct {
                const char *release;
                uint64_t n;
                bool breaks;
        } cases[] = {{OLD, 1, false}, {NEW, 1, false}, {OLD, 2, false}, {NEW, 2, true}};

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                CLEANUP(kernel_freep)
                Kernel *kernel = kernel_new(arena_printf(
                        arena, "%ssizes 1G 2M\nnode 0 total=8G free=6G\n", cases[i].release));
                KernelProcess *process = spawn(kernel, no_policy, 0);

                kernel_set_pool(kernel, NULL, 0, GIB, 2);
                KernelMapping *memory =
                        mapped_as(process, (KernelMap){.page_bytes = GIB, .n_pages = 1});

                assert_int_equal(kernel_demote(kernel, 0, GIB, cases[i].n), 0);
                assert_int_equal(kernel_broke_promise(kernel), cases[i].breaks);
                assert_null(kernel_check_invariants(kernel, arena));
                assert_int_equal(kernel_touch(memory, 0), !cases[i].breaks);
        }
}

TEST(demote_on_a_node) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("sizes 1G 2M\n" TWO_NODES);
        KernelProcess *process = spawn(kernel, kernel_bind(0), 0);
        KernelProcess *other = spawn(kernel, kernel_bind(1), 1);

        kernel_set_pool(kernel, NULL, 0, GIB, 1);
        kernel_set_pool(kernel, NULL, 1, GIB, 2);
        KernelMapping *memory = mapped_as(process, (KernelMap){.page_bytes = GIB, .n_pages = 1});

        mapped_as(other, (KernelMap){.page_bytes = GIB, .n_pages = 2});
        assert_int_equal(kernel_demote(kernel, 0, GIB, 1), 0);
        assert_int_equal(kernel_pool(kernel, 0, GIB).total_pages, 0);
        assert_false(kernel_touch(memory, 0));
        assert_null(kernel_check_invariants(kernel, arena));
}

/* ---- what is reserved ---- */

TEST(reserving) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
        KernelProcess *process = spawn(kernel, no_policy, 0);
        KernelMapping *second;

        set_node(kernel, 0, 10);
        KernelMapping *first = mapped(process, 6);

        assert_pools(kernel, "10/10/0 0/0/0 6");
        assert_int_equal(map(process, 5, &second), -ENOMEM);
        assert_pools(kernel, "10/10/0 0/0/0 6");
        kernel_touch(first, 3);
        kernel_touch(first, 3);
        assert_pools(kernel, "10/9/0 0/0/0 5");
        assert_int_equal(kernel_mapping_untouched(first), 5);
        assert_true(kernel_touch_one_of(first, 7)); /* the third of them */
        assert_pools(kernel, "10/8/0 0/0/0 4");
        kernel_unmap(first);
        assert_int_equal(kernel_unmap(first), -EINVAL);
        assert_pools(kernel, "10/10/0 0/0/0 0");
        assert_int_equal(map(process, 0, &second), -EINVAL);
        kernel_exit(process);
        assert_int_equal(map(process, 1, &second), -ESRCH);
        assert_null(kernel_check_invariants(kernel, arena));
}

TEST(noreserve) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
        KernelProcess *process = spawn(kernel, no_policy, 0);

        set_node(kernel, 0, 3);
        mapped(spawn(kernel, no_policy, 0), 2);
        KernelMapping *memory = mapped_as(process, (KernelMap){.n_pages = 3, .is_noreserve = true});

        assert_pools(kernel, "3/3/0 0/0/0 2");
        assert_true(kernel_touch(memory, 2));
        assert_false(kernel_touch_all(memory));
        assert_false(kernel_is_alive(process));
        assert_int_equal(kernel_death(process)->page, 0);
        assert_false(kernel_death(process)->was_promised);
        assert_pools(kernel, "3/3/0 0/0/0 2");
}

/* "Private + fork + write with no free page: the parent wins, the child is killed" */
TEST(fork) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
        KernelProcess *parent = spawn(kernel, no_policy, 0);

        set_node(kernel, 0, 3);
        KernelMapping *memory = mapped_as(parent, (KernelMap){.n_pages = 3, .is_private = true});

        kernel_touch(memory, 0);
        kernel_touch(memory, 1);
        KernelProcess *child = kernel_fork(parent, "child");
        KernelMapping *copy = kernel_mapping_at(child, 0);

        assert_int_equal(kernel_process_pages(child, page, 0), 2);
        assert_pools(kernel, "3/1/0 0/0/0 1");
        assert_true(kernel_touch(memory, 0)); /* no page for a copy: it keeps its own */
        assert_int_equal(kernel_process_pages(child, page, 0), 1);
        assert_true(kernel_touch(memory, 2));
        assert_false(kernel_touch(copy, 0));
        assert_true(kernel_is_alive(parent));
        assert_pools(kernel, "3/0/0 0/0/0 0");
        kernel_exit(parent);
        assert_pools(kernel, "3/3/0 0/0/0 0");
}

TEST(fork_shares_shared_pages) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
        KernelProcess *parent = spawn(kernel, no_policy, 0);

        set_node(kernel, 0, 3);
        KernelMapping *memory = mapped(parent, 3);

        kernel_touch(memory, 0);
        KernelProcess *child = kernel_fork(parent, "child");
        KernelMapping *same = kernel_mapping_at(child, 0);

        assert_int_equal(kernel_process_pages(child, page, KERNEL_HOST), 0);
        assert_true(kernel_touch_all(same));
        assert_pools(kernel, "3/0/0 0/0/0 0");
        kernel_exit(parent);
        assert_pools(kernel, "3/0/0 0/0/0 0");
        kernel_exit(child);
        assert_pools(kernel, "3/3/0 0/0/0 0");
}

/* Since 6.9, until it was mended: the owner goes before a child that has its pages, and the host's
 * reservations are fewer than none. */
TEST(reservations_below_zero) {
        static const struct {
                const char *release;
                uint64_t reserved;
        } kernels[] = {{OLD, 0}, {"release 6.12.107\n", -UINT64_C(3)}, {NEW, 0}};

        for (size_t i = 0; i < ARRAY_LEN(kernels); i++) {
                CLEANUP(kernel_freep)
                Kernel *kernel = kernel_new(
                        arena_printf(arena, "%snode 0 total=4G free=3G\n", kernels[i].release));
                KernelProcess *parent = spawn(kernel, no_policy, 0);

                set_node(kernel, 0, 10);
                kernel_touch_all(mapped_as(parent, (KernelMap){.n_pages = 3, .is_private = true}));
                KernelProcess *child = kernel_fork(parent, "child");

                kernel_exit(parent);
                assert_int_equal(kernel_pool(kernel, KERNEL_HOST, page).reserved_pages,
                                 kernels[i].reserved);
                assert_int_equal(kernel_broke_promise(kernel), kernels[i].reserved != 0);
                assert_null(kernel_check_invariants(kernel, arena));
                kernel_exit(child);
                assert_int_equal(kernel_pool(kernel, KERNEL_HOST, page).reserved_pages, 0);
        }
}

TEST(segments) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
        KernelProcess *process = spawn(kernel, no_policy, 0);
        KernelSegment *segment, *other;

        set_node(kernel, 0, 8);
        assert_int_equal(kernel_shmget(process, 0, 5, false, &segment), 0);
        assert_int_equal(kernel_shmget(process, 0, 4, false, &other), -ENOMEM);
        assert_pools(kernel, "8/8/0 0/0/0 5");
        kernel_touch(mapped_as(process, (KernelMap){.segment = segment}), 0);
        kernel_exit(process);
        assert_pools(kernel, "8/7/0 0/0/0 4");
        process = spawn(kernel, no_policy, 0);
        kernel_touch_all(mapped_as(process, (KernelMap){.segment = segment}));
        kernel_remove_segment(segment);
        assert_pools(kernel, "8/3/0 0/0/0 0");
        kernel_exit(process);
        assert_pools(kernel, "8/8/0 0/0/0 0");
}

/* ---- mounts ---- */

TEST(earmark) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
        KernelProcess *process = spawn(kernel, no_policy, 0);
        KernelMount *mount, *other;
        KernelMapping *memory;

        set_node(kernel, 0, 40);
        assert_int_equal(kernel_mount(kernel, NULL, "/mnt/pg", page, 20, 30, &mount), 0);
        assert_pools(kernel, "40/40/0 0/0/0 20");
        assert_int_equal(map(process, 25, &memory), -ENOMEM);
        assert_int_equal(kernel_mount(kernel, NULL, "/mnt/b", page, 21, UINT64_MAX, &other),
                         -ENOMEM);
        assert_int_equal(kernel_mount(kernel, NULL, "/mnt/b", page, 3, 2, &other), -EINVAL);
        KernelSegment *file = kernel_open(mount, "a");

        memory = mapped_as(process, (KernelMap){.segment = file, .n_pages = 20});
        assert_pools(kernel, "40/40/0 0/0/0 20");
        assert_int_equal(kernel_map(process, &(KernelMap){.segment = file, .n_pages = 31}, &memory),
                         -ENOMEM);
        memory = mapped_as(process, (KernelMap){.segment = kernel_open(mount, "b"), .n_pages = 10});
        assert_pools(kernel, "40/40/0 0/0/0 30");
        kernel_touch_all(memory);
        assert_int_equal(kernel_unmount(mount), -EBUSY);
        kernel_exit(process);
        assert_pools(kernel, "40/30/0 0/0/0 20"); /* files stay */
        assert_int_equal(kernel_unmount(mount), 0);
        assert_pools(kernel, "40/40/0 0/0/0 0");
}

/* What was reserved for the mount is not looked at again: the wrong node shows at the touch. */
TEST(earmark_and_policy) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
        KernelProcess *process = spawn(kernel, kernel_bind(1), 1);
        KernelMount *mount;
        KernelMapping *memory;

        set_node(kernel, 0, 8);
        assert_int_equal(map(process, 4, &memory), -ENOMEM);
        kernel_mount(kernel, NULL, "/mnt/pg", page, 4, UINT64_MAX, &mount);
        memory = mapped_as(process, (KernelMap){.segment = kernel_open(mount, "a"), .n_pages = 4});
        assert_false(kernel_touch(memory, 0));
        assert_true(kernel_death(process)->was_promised);
        assert_int_equal(kernel_death(process)->nodes, 0x2);
        assert_null(kernel_check_invariants(kernel, arena));
}

TEST(earmark_and_shrinking) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
        KernelMount *mount;

        set_node(kernel, 0, 10);
        kernel_mount(kernel, NULL, "/mnt/pg", page, 6, UINT64_MAX, &mount);
        set_node(kernel, 0, 2);
        assert_pools(kernel, "6/6/4 0/0/0 6");
        kernel_unmount(mount);
        assert_pools(kernel, "2/2/0 0/0/0 0");
}

/* ---- beyond the pool ---- */

TEST(overcommit) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");
        KernelProcess *process = spawn(kernel, no_policy, 0);
        KernelMapping *memory;

        set_node(kernel, 0, 4);
        kernel_set_overcommit(kernel, page, 5);
        assert_int_equal(map(process, 10, &memory), -ENOMEM);
        assert_pools(kernel, "4/4/0 0/0/0 0");
        memory = mapped(process, 9);
        assert_pools(kernel, "9/9/5 0/0/0 9");
        kernel_touch(memory, 0);
        /* What is in use becomes persistent, and the total reads as asked. */
        set_node(kernel, 0, 7);
        assert_pools(kernel, "9/8/2 0/0/0 8");
        kernel_exit(process);
        assert_pools(kernel, "7/7/0 0/0/0 0");
}

/* "Bound + overcommit still failed ENOMEM while other nodes had free pages" */
TEST(overcommit_and_bind) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
        KernelMapping *memory;

        set_node(kernel, 0, 10);
        kernel_set_overcommit(kernel, page, 10);
        assert_int_equal(map(spawn(kernel, kernel_bind(1), 1), 4, &memory), -ENOMEM);
        assert_pools(kernel, "10/10/0 0/0/0 0");
}

/* From where it runs; since 6.12 from the first of its nodes. */
TEST(overcommit_places) {
        static const struct {
                const char *release, *expects;
        } kernels[] = {{OLD, "0/0/0 3/3/3 3"}, {NEW, "3/3/3 0/0/0 3"}};

        for (size_t i = 0; i < ARRAY_LEN(kernels); i++) {
                CLEANUP(kernel_freep)
                Kernel *kernel =
                        kernel_new(arena_printf(arena, "%s" TWO_NODES, kernels[i].release));

                kernel_set_overcommit(kernel, page, 3);
                mapped(spawn(kernel, no_policy, 1), 3);
                assert_pools(kernel, kernels[i].expects);
        }
}

/* ---- promises and nodes ---- */

/* The host counts what is promised, and lowering a node looks at the host: SIGBUS, not ENOMEM. */
TEST(promise_is_taken_away) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
        KernelProcess *database = spawn(kernel, kernel_bind(1), 1);

        set_host(kernel, 40);
        KernelMapping *memory = mapped(database, 15);

        kernel_touch(memory, 14);
        set_node(kernel, 1, 3);
        assert_pools(kernel, "20/20/0 3/2/0 14");
        assert_true(kernel_touch(memory, 0));
        assert_true(kernel_touch(memory, 1));
        assert_false(kernel_touch(memory, 2));
        const KernelDeath *death = kernel_death(database);

        assert_ptr_equal(death->mapping, memory);
        assert_int_equal(death->page, 2);
        assert_int_equal(death->nodes, 0x2);
        assert_true(death->was_promised);
        assert_contains(death->text, "SIGBUS at page 2 of 15, which it had been promised");
        assert_pools(kernel, "20/20/0 3/3/0 0");
}

/* Two that are bound to one node are both promised its pages. */
TEST(promised_twice) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
        KernelProcess *first = spawn(kernel, kernel_bind(1), 1);
        KernelProcess *second = spawn(kernel, kernel_bind(1), 1);

        set_host(kernel, 16);
        KernelMapping *one = mapped(first, 8), *two = mapped(second, 8);

        assert_pools(kernel, "8/8/0 8/8/0 16");
        assert_true(kernel_touch_all(one));
        assert_false(kernel_touch(two, 0));
        assert_null(kernel_check_invariants(kernel, arena));
}

TEST(bound_without_pages) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
        KernelProcess *process = spawn(kernel, kernel_bind(1), 1);
        KernelMapping *memory;

        set_node(kernel, 0, 8);
        set_node(kernel, 1, 3);
        assert_int_equal(map(process, 4, &memory), -ENOMEM);
        memory = mapped(process, 3);
        /* Another takes its node first. */
        assert_true(kernel_touch_all(mapped(spawn(kernel, no_policy, 1), 3)));
        assert_false(kernel_touch(memory, 0));
        /* What is bound after it was mapped is not looked at. */
        process = spawn(kernel, no_policy, 0);
        memory = mapped(process, 2);
        assert_int_equal(kernel_set_mapping_policy(memory, kernel_bind(1)), 0);
        assert_false(kernel_touch(memory, 0));
        process = spawn(kernel, no_policy, 0);
        memory = mapped(process, 2);
        assert_int_equal(kernel_set_policy(process, kernel_bind(1)), 0);
        assert_false(kernel_touch(memory, 1));
        assert_int_equal(kernel_set_policy(spawn(kernel, no_policy, 0), kernel_bind(7)), -EINVAL);
        assert_null(kernel_check_invariants(kernel, arena));
}

TEST(cpuset_of_a_process) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
        KernelMapping *memory;

        kernel_group_make(kernel, "/near/in");
        kernel_group_write(kernel, "/", "cgroup.subtree_control", "+cpuset");
        kernel_group_write(kernel, "/near", "cpuset.mems", "0");
        set_node(kernel, 0, 4);
        set_node(kernel, 1, 4);
        KernelProcess *process = spawn_in(kernel, "/near/in");

        assert_int_equal(map(process, 5, &memory), -ENOMEM);
        memory = mapped(process, 4);
        kernel_touch_all(mapped(spawn(kernel, no_policy, 0), 3));
        assert_true(kernel_touch(memory, 0));
        assert_false(kernel_touch(memory, 1));
        assert_null(kernel_check_invariants(kernel, arena));
}

/* Its own node first, and so the one that a bound neighbour depends on. */
TEST(places) {
        static const struct {
                KernelPolicy policy;
                unsigned cpu_node;
                uint64_t on_0, on_1;
        } cases[] = {
                {{KERNEL_POLICY_LOCAL, 0}, 0, 6, 2},
                {{KERNEL_POLICY_LOCAL, 0}, 1, 2, 6},
                {{KERNEL_POLICY_BIND, 0x3}, 1, 2, 6},
                {{KERNEL_POLICY_PREFERRED, 0x2}, 0, 2, 6},
                {{KERNEL_POLICY_INTERLEAVE, 0x3}, 1, 4, 4},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
                KernelProcess *process = spawn(kernel, cases[i].policy, cases[i].cpu_node);

                set_host(kernel, 12);
                assert_true(kernel_touch_all(mapped(process, 8)));
                assert_int_equal(kernel_process_pages(process, page, 0), cases[i].on_0);
                assert_int_equal(kernel_process_pages(process, page, 1), cases[i].on_1);
                assert_null(kernel_check_invariants(kernel, arena));
        }
}

TEST(interleave_falls_back) {
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
        KernelProcess *process = spawn(kernel, (KernelPolicy){KERNEL_POLICY_INTERLEAVE, 0x3}, 0);

        set_node(kernel, 0, 5);
        set_node(kernel, 1, 1);
        KernelMapping *memory = mapped(process, 6);

        kernel_touch(memory, 3); /* the second node's turn */
        assert_pools(kernel, "5/5/0 1/0/0 5");
        assert_true(kernel_touch_all(memory));
        assert_int_equal(kernel_process_pages(process, page, 0), 5);
        assert_null(kernel_check_invariants(kernel, arena));
}

/* The nearest, then those with higher numbers, in turns. */
TEST(distances) {
        CLEANUP(kernel_freep)
        Kernel *kernel = kernel_new("node 0 total=1G free=1G distance=10,30,20\n"
                                    "node 1 total=1G free=1G distance=30,10,20\n"
                                    "node 2 total=1G free=1G distance=20,20,10\n");
        KernelProcess *process = spawn(kernel, no_policy, 0);

        set_host(kernel, 6);
        kernel_touch_all(mapped(process, 5));
        assert_int_equal(kernel_process_pages(process, page, 0), 2);
        assert_int_equal(kernel_process_pages(process, page, 1), 1);
        assert_int_equal(kernel_process_pages(process, page, 2), 2);
        assert_null(kernel_check_invariants(kernel, arena));
}

/* ---- control groups ---- */

#define GROUP "/db.slice/pg.service"

static Kernel *limited(void) {
        Kernel *kernel = kernel_new("node 0 total=4G free=3G\n");

        kernel_group_make(kernel, GROUP);
        kernel_group_write(kernel, "/", "cgroup.subtree_control", "+hugetlb");
        kernel_group_write(kernel, "/db.slice", "cgroup.subtree_control", "+hugetlb");
        set_node(kernel, 0, 20);
        return kernel;
}

static KernelCharge charge_of(const Kernel *kernel, const char *path) {
        KernelCharge found = {};

        assert_int_equal(kernel_group_charge(kernel, path, page, &found), 0);
        return found;
}

#define assert_charge(kernel, path, used, reserved)                    \
        do {                                                           \
                KernelCharge charge_ = charge_of((kernel), (path));    \
                assert_int_equal(charge_.current_pages, (used));       \
                assert_int_equal(charge_.reserved_pages, (reserved));  \
                assert_null(kernel_check_invariants((kernel), arena)); \
        } while (0)

/* rsvd.max: ENOMEM where it is mapped, and for what reserves nothing at the touch; max: at the touch. */
TEST(hugetlb_limit) {
        CLEANUP(kernel_freep) Kernel *kernel = limited();
        KernelProcess *process = spawn_in(kernel, GROUP);
        KernelMapping *memory;
        KernelSegment *segment;

        assert_int_equal(kernel_group_write(kernel, GROUP, "hugetlb.2MB.rsvd.max", "8M"), 0);
        assert_int_equal(map(process, 5, &memory), -ENOMEM);
        assert_int_equal(kernel_shmget(process, 0, 5, false, &segment), -ENOMEM);
        assert_int_equal(charge_of(kernel, GROUP).n_refused, 2);
        memory = mapped(process, 3);
        kernel_touch(memory, 0);
        assert_charge(kernel, GROUP, 1, 3);
        assert_charge(kernel, "/db.slice", 1, 3);
        assert_int_equal(charge_of(kernel, GROUP).node_pages[0], 1);
        memory = mapped_as(process, (KernelMap){.n_pages = 2, .is_noreserve = true});
        assert_true(kernel_touch(memory, 0));
        assert_false(kernel_touch(memory, 1));
        assert_charge(kernel, GROUP, 0, 0);

        process = spawn_in(kernel, GROUP);
        kernel_group_write(kernel, GROUP, "hugetlb.2MB.rsvd.max", "max");
        kernel_group_write(kernel, "/db.slice", "hugetlb.2MB.max", "4194304\n");
        memory = mapped(process, 3);
        assert_true(kernel_touch(memory, 0));
        assert_true(kernel_touch(memory, 2));
        assert_false(kernel_touch(memory, 1));
        assert_true(kernel_death(process)->was_promised);
        assert_null(kernel_check_invariants(kernel, arena));
}

TEST(limits_as_written) {
        static const struct {
                const char *text;
                int error;
                uint64_t pages;
        } writes[] = {
                {"3M", 0, 1},
                {"1M", 0, 0},
                {"6291456\n", 0, 3},
                {"max", 0, UINT64_MAX},
                {"-1", -EINVAL, UINT64_MAX},
                {"1.5M", -EINVAL, UINT64_MAX},
                {"4MB", -EINVAL, UINT64_MAX},
                {"", -EINVAL, UINT64_MAX},
                {"1g", 0, 512},
        };
        CLEANUP(kernel_freep) Kernel *kernel = limited();
        KernelProcess *process = spawn_in(kernel, GROUP);

        for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
                assert_int_equal(
                        kernel_group_write(kernel, GROUP, "hugetlb.2MB.rsvd.max", writes[i].text),
                        writes[i].error);
                assert_int_equal(charge_of(kernel, GROUP).reserved_max_pages, writes[i].pages);
        }
        mapped(process, 5);
        assert_int_equal(kernel_group_write(kernel, GROUP, "hugetlb.2MB.rsvd.max", "8M"), -EBUSY);
        assert_int_equal(kernel_group_write(kernel, GROUP, "hugetlb.2MB.max", "8M"), 0);
        assert_int_equal(kernel_group_write(kernel, "/", "hugetlb.2MB.max", "8M"), -ENOENT);
        assert_int_equal(kernel_group_write(kernel, "/x", "hugetlb.2MB.max", "8M"), -ENOENT);
        assert_int_equal(kernel_group_write(kernel, GROUP, "hugetlb.2MB.current", "0"), -EACCES);
        assert_null(kernel_check_invariants(kernel, arena));
}

/* Who took it is charged, wherever the process goes, and before the controller was on, the one above. */
TEST(charges_stay) {
        CLEANUP(kernel_freep) Kernel *kernel = limited();
        KernelProcess *process = spawn_in(kernel, GROUP);
        KernelMapping *memory = mapped(process, 4);

        kernel_touch(memory, 0);
        kernel_group_make(kernel, "/other");
        assert_int_equal(kernel_move(process, "/other"), 0);
        kernel_touch(memory, 1);
        assert_charge(kernel, GROUP, 1, 4);
        assert_charge(kernel, "/other", 1, 0);
        assert_int_equal(kernel_group_remove(kernel, GROUP), 0);
        assert_charge(kernel, "/db.slice", 1, 4);
        kernel_exit(process);
        assert_charge(kernel, "/db.slice", 0, 0);

        kernel_group_make(kernel, "/late/a.service");
        process = spawn_in(kernel, "/late/a.service");
        memory = mapped(process, 3);
        assert_false(charge_of(kernel, "/late/a.service").is_counted);
        kernel_group_write(kernel, "/late", "cgroup.subtree_control", "+hugetlb");
        assert_charge(kernel, "/late/a.service", 0, 0);
        kernel_touch(memory, 0);
        assert_charge(kernel, "/late/a.service", 1, 0);
        assert_charge(kernel, "/late", 1, 3);
        kernel_group_write(kernel, "/late", "cgroup.subtree_control", "-hugetlb");
        assert_charge(kernel, "/late", 1, 3);
        assert_false(charge_of(kernel, "/late/a.service").is_counted);
        assert_null(kernel_check_invariants(kernel, arena));
}

TEST(groups) {
        CLEANUP(kernel_freep) Kernel *kernel = limited();
        KernelProcess *process = spawn_in(kernel, GROUP);

        assert_int_equal(kernel_group_remove(kernel, GROUP), -EBUSY);
        assert_int_equal(kernel_group_remove(kernel, "/db.slice"), -EBUSY);
        assert_int_equal(kernel_group_remove(kernel, "/no"), -ENOENT);
        /* A group with processes gives nothing to those below, and who gives takes no processes. */
        assert_int_equal(kernel_group_write(kernel, GROUP, "cgroup.subtree_control", "+hugetlb"),
                         -EBUSY);
        assert_int_equal(kernel_move(process, "/db.slice"), -EBUSY);
        assert_int_equal(kernel_move(process, "/no"), -ENOENT);
        assert_int_equal(kernel_group_write(kernel, "/", "cgroup.subtree_control", "-hugetlb"),
                         -EBUSY);
        assert_int_equal(
                kernel_group_write(kernel, "/db.slice", "cgroup.subtree_control", "+cpuset"),
                -ENOENT);
        assert_int_equal(kernel_group_write(kernel, "/", "cgroup.subtree_control", "+x"), -EINVAL);
        kernel_group_make(kernel, "/b");
        assert_int_equal(
                kernel_group_write(kernel, "/b", "cgroup.procs",
                                   arena_printf(arena, "%" PRIu64 "\n", kernel_pid(process))),
                0);
        assert_int_equal(kernel_group_write(kernel, "/b", "cgroup.procs", "99999"), -ESRCH);
        assert_int_equal(kernel_group_remove(kernel, GROUP), 0);
        assert_int_equal(kernel_group_remove(kernel, "/db.slice"), 0);
}

/* ---- scripts ---- */

TEST(script) {
        static const char *const lines[] = {
                "set node1 4", "run A cpu=1 policy=bind:1", "map A 3",
                "map A:x 2",   "set node1 2 # taken away",  "touch A 0-2",
                "touch A 0",
        };
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(TWO_NODES);
        Script *script = script_new(arena, &script_model, script_model_new(arena, kernel));
        Text out = text_in(arena);

        script_step(script, "set node0 5", &out);
        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                out = text_in(arena);
                assert_int_equal(script_step(script, lines[i], &out), 0);
        }
        assert_text(out.string, "touch A 0: ESRCH\n"
                                "  node0 2M: 5 total, 5 free, 0 surplus\n"
                                "  node1 2M: 2 total, 2 free, 0 surplus\n"
                                "  host 2M: 7 total, 7 free, 0 surplus, 0 reserved, 0 overcommit\n"
                                "  vm.nr_hugepages 7\n"
                                "  A: killed\n");
        out = text_in(arena);
        assert_int_equal(script_step(script, "touch B 0", &out), -EINVAL);
        assert_text(out.string, "touch B 0: no such name\n");
}
