/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon's code on the model: what it reads, and the effects of its writes. Every function of root.h is defined
 * twice; that this program links shows that the linker takes no root.o from the library. */

#include "apply/apply.h"
#include "host/cgroup_limit.h"
#include "host/mounts.h"
#include "host/probe.h"
#include "keeper/look.h"
#include "model/model_root.h"
#include "model/names.h"
#include "support/root_story.h"

#include <linux/magic.h>

#define SLICE "/system.slice"
#define UNIT  SLICE "/pg.service"

static const char host[] = "release 6.12.117\n"
                           "sizes 1G 2M\n"
                           "node 0 total=4G free=3G cache=512M\n"
                           "node 1 total=8G free=6G scattered=1G\n"
                           "node 2 nocpu\n";

typedef struct Fixture {
        Arena *arena;
        Kernel *kernel;
        Root *root;
} Fixture;

static Fixture *fixture_new(void) {
        Arena *arena = arena_new();
        Fixture *fixture = ARENA_NEW(arena, Fixture);

        *fixture = (Fixture){arena, kernel_new(host), NULL};
        fixture->root = model_root_new(fixture->kernel);
        return fixture;
}

static void fixture_free(const Fixture *fixture) {
        root_free(fixture->root);
        kernel_free(fixture->kernel);
        arena_free(fixture->arena);
}

#define ROOT_TEST(name) TEST_WITH(name, const Fixture, fixture_new, fixture_free, fixture)

static const char *content(const Fixture *fixture, const char *path) {
        char *text;

        return root_read_file(fixture->root, fixture->arena, path, 4096, &text, NULL) < 0 ? NULL
                                                                                          : text;
}

/* ---- files in memory ---- */

/* The same stories as those of the Root on a directory. */
typedef struct Story {
        Arena *arena;
        Root *root;
} Story;

static void begin_story(void *context) {
        ((Story *) context)->root = model_root_new(NULL);
}

static void end_story(void *context) {
        root_free(((Story *) context)->root);
}

static const char *perform(void *context, const StoryLine *line) {
        return root_story_perform(((Story *) context)->root, line);
}

STORY_TEST(stories, "unit/host/root", .size = sizeof(Story), .begin = begin_story, .end = end_story,
           .otherwise = perform)

ROOT_TEST(identity) {
        const Root *root = fixture->root;
        const char *first, *second, *directory;

        assert_text(root_identity(root, fixture->arena, "/etc/a"), "?");
        root_write_file(root, "/etc/a", "1");
        first = root_identity(root, fixture->arena, "/etc/a");
        directory = root_identity(root, fixture->arena, "/etc");
        assert_text(root_identity(root, fixture->arena, "/etc/a"), first);
        root_write_file(root, "/etc/a", "1");
        second = root_identity(root, fixture->arena, "/etc/a");
        assert_string_not_equal(first, second);
        assert_string_not_equal(root_identity(root, fixture->arena, "/etc"), directory);
        root_write_attribute(root, "/etc/a", "2");
        assert_string_not_equal(root_identity(root, fixture->arena, "/etc/a"), second);
}

/* ---- what is probed ---- */

ROOT_TEST(topology) {
        kernel_set_pool(fixture->kernel, NULL, 1, 2 * MIB, 10);
        kernel_set_pool(fixture->kernel, NULL, 0, GIB, 1);
        KernelProcess *process = kernel_spawn(fixture->kernel, &(KernelSpawn){.cpu_node = 1});
        KernelMapping *memory;

        kernel_map(process, &(KernelMap){.n_pages = 4}, &memory);
        kernel_touch(memory, 0);
        const Topology *topology = probe_topology(fixture->root, fixture->arena, NULL);

        assert_true(topology->is_numa);
        assert_int_equal(topology->n_nodes, 3);
        assert_int_equal(topology->n_page_sizes, 2);
        assert_int_equal(topology->page_sizes[1].bytes, 2 * MIB);
        assert_int_equal(topology->page_sizes[1].total_pages, 10);
        assert_int_equal(topology->page_sizes[1].free_pages, 9);
        assert_int_equal(topology->page_sizes[1].reserved_pages, 3);
        assert_int_equal(topology->default_page_size_bytes, 2 * MIB);
        assert_int_equal(topology_pool(topology, 1, 2 * MIB)->free_pages, 9);
        assert_int_equal(topology_pool(topology, 0, GIB)->total_pages, 1);
        assert_int_equal(topology_pool(topology, 0, GIB)->demote_to_bytes, 2 * MIB);
        assert_int_equal(topology->nodes[0].memory_bytes, 4 * GIB);
        assert_int_equal(topology->nodes[0].free_bytes, 2 * GIB);
        assert_int_equal(topology->nodes[0].reclaimable_bytes, 512 * MIB);
        assert_int_equal(topology->nodes[1].free_blocks[0], GIB / (4 * KIB));
        assert_int_equal(topology->nodes[1].free_blocks[10], (5 * GIB - 20 * MIB) / (4 * MIB));
        assert_true(topology->nodes[0].can_compact);
        assert_false(topology->nodes[0].can_reclaim); /* since 6.17 */
        assert_true(topology->can_reclaim);
        assert_false(topology->nodes[2].has_memory);
        assert_text(topology->kernel_release, "6.12.117");
        assert_text(topology->thp_enabled, "madvise");
        assert_int_equal(topology->limits.shm_group, 0);
        assert_true(id_set_has(&topology->allowed_nodes, 1));
        assert_int_equal(topology->no_hugetlb_limit.kind, REASON_NONE);
}

ROOT_TEST(reclaim_file) {
        CLEANUP(kernel_freep)
        Kernel *kernel = kernel_new("release 6.18.0\nnode 0 total=1G free=1G\n");
        CLEANUP(root_freep) Root *root = model_root_new(kernel);

        assert_true(probe_topology(root, fixture->arena, NULL)->nodes[0].can_reclaim);
}

ROOT_TEST(own_cpuset) {
        kernel_group_make(fixture->kernel, "/hugeplan.service");
        root_write_attribute(fixture->root, PATH_CGROUP "/cgroup.subtree_control", "+cpuset");
        root_write_attribute(fixture->root, PATH_CGROUP "/hugeplan.service/cpuset.mems", "1");
        kernel_move(kernel_self(fixture->kernel), "/hugeplan.service");
        const Topology *topology = probe_topology(fixture->root, fixture->arena, NULL);

        assert_false(id_set_has(&topology->allowed_nodes, 0));
        assert_true(id_set_has(&topology->allowed_nodes, 1));
        assert_text(content(fixture, PATH_CGROUP "/hugeplan.service/cpuset.mems.effective"), "1\n");
        /* There it gets nothing. */
        root_write_attribute(fixture->root,
                             PATH_NODES "/node0/hugepages/hugepages-2048kB/nr_hugepages", "7\n");
        assert_int_equal(kernel_pool(fixture->kernel, 0, 2 * MIB).total_pages, 0);
}

/* ---- what is written ---- */

#define POOL_0 PATH_NODES "/node0/hugepages/hugepages-2048kB/"
#define POOL_1 PATH_NODES "/node1/hugepages/hugepages-2048kB/"

ROOT_TEST(writes) {
        static const struct {
                const char *path, *text;
                int error;
                uint64_t on_0;
        } writes[] = {
                {POOL_0 "nr_hugepages", "12\n", 0, 12},
                {POOL_0 "nr_hugepages", "", 0, 12},
                {POOL_0 "nr_hugepages", "+14", 0, 14},
                {POOL_0 "nr_hugepages", "010", 0, 10},
                {POOL_0 "nr_hugepages", "0x10", -EINVAL, 10},
                {POOL_0 "nr_hugepages", "16k", -EINVAL, 10},
                {POOL_0 "nr_hugepages", " 16", -EINVAL, 10},
                {POOL_0 "nr_hugepages", "16\n\n", -EINVAL, 10},
                {POOL_0 "nr_hugepages", "18446744073709551616", -ERANGE, 10},
                {POOL_0 "free_hugepages", "1", -EACCES, 10},
                {POOL_0 "no_hugepages", "1", -ENOENT, 10},
                {POOL_0, "1", -EISDIR, 10},
                {PATH_MEMINFO, "1", -EACCES, 10},
                {PATH_DROP_CACHES, "9", -EINVAL, 10},
                {PATH_COMPACT, "1", 0, 10},
                {PATH_NODES "/node0/reclaim", "1M", -ENOENT, 10},
                {PATH_CGROUP_RECLAIM, "1073741824 swappiness=0", -EAGAIN, 10},
        };

        for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
                assert_int_equal(
                        root_write_attribute(fixture->root, writes[i].path, writes[i].text),
                        writes[i].error);
                assert_int_equal(kernel_pool(fixture->kernel, 0, 2 * MIB).total_pages,
                                 writes[i].on_0);
        }
        assert_text(content(fixture, POOL_0 "demote"), NULL);
        assert_int_equal(root_write_file(fixture->root, POOL_0 "nr_hugepages", "3"), -EACCES);
        assert_int_equal(root_remove(fixture->root, POOL_0 "nr_hugepages"), -EPERM);
}

ROOT_TEST(thp) {
        assert_int_equal(root_write_attribute(fixture->root, PATH_THP_ENABLED, "never\n"), 0);
        assert_text(content(fixture, PATH_THP_ENABLED), "always madvise [never]\n");
        assert_int_equal(root_write_attribute(fixture->root, PATH_THP_ENABLED, "inherit"), -EINVAL);
        assert_int_equal(root_write_attribute(fixture->root, PATH_THP_MAX_PTES_NONE, "0"), 0);
        assert_text(content(fixture, PATH_THP_MAX_PTES_NONE), "0");
}

/* ---- processes and groups ---- */

static KernelProcess *database(const Fixture *fixture, const char *group, KernelPolicy policy) {
        return kernel_spawn(fixture->kernel, &(KernelSpawn){.name = "postgres",
                                                            .group = group,
                                                            .policy = policy,
                                                            .cpu_node = 1});
}

ROOT_TEST(hugetlb_limit) {
        static PageCount counts[] = {{GIB, 0}, {2 * MIB, 3}};
        const PageCounts limits = {.items = counts, .n = ARRAY_LEN(counts)};
        KernelProcess *process = database(fixture, UNIT, (KernelPolicy){});
        KernelMapping *memory;

        kernel_set_pool(fixture->kernel, NULL, 1, 2 * MIB, 20);
        assert_int_equal(
                cgroup_limit_set(fixture->root, fixture->arena, PATH_CGROUP UNIT, &limits).kind,
                REASON_NONE);
        assert_int_equal(kernel_map(process, &(KernelMap){.n_pages = 4}, &memory), -ENOMEM);
        assert_int_equal(kernel_map(process, &(KernelMap){.n_pages = 3}, &memory), 0);
        kernel_touch(memory, 0);
        assert_text(content(fixture, PATH_CGROUP UNIT "/hugetlb.2MB.rsvd.current"), "6291456\n");
        assert_text(content(fixture, PATH_CGROUP UNIT "/hugetlb.2MB.current"), "2097152\n");
        assert_text(content(fixture, PATH_CGROUP UNIT "/hugetlb.2MB.numa_stat"),
                    "total=2097152 N0=0 N1=2097152\n");
        assert_text(content(fixture, PATH_CGROUP UNIT "/hugetlb.2MB.events"), "max 1\n");
        assert_text(content(fixture, PATH_CGROUP "/hugetlb.2MB.current"), NULL);
        counts[1].pages = 2;
        assert_contains(
                cgroup_limit_set(fixture->root, fixture->arena, PATH_CGROUP UNIT, &limits).text,
                "Device or resource busy");
        counts[1].pages = 3;
}

ROOT_TEST(mount_use) {
        const Config *config = config_line(fixture->arena, "a Pages=10 User=db Mount=/mnt/pg");
        KernelProcess *process = database(fixture, UNIT, (KernelPolicy){});
        KernelMapping *memory;
        KernelMount *mount;
        struct statfs now;

        kernel_set_pool(fixture->kernel, NULL, 1, 2 * MIB, 20);
        assert_int_equal(mounts_use(fixture->root, &config->instances[0]).earmarked_pages, 0);
        kernel_mount(fixture->kernel, NULL, "/mnt/pg", 2 * MIB, 8, 10, &mount);
        kernel_map(process, &(KernelMap){.segment = kernel_open(mount, "a"), .n_pages = 5},
                   &memory);
        MountUse use = mounts_use(fixture->root, &config->instances[0]);

        assert_int_equal(use.page_size_bytes, 2 * MIB);
        assert_int_equal(use.earmarked_pages, 8);
        assert_int_equal(use.used_pages, 5);
        assert_int_equal(root_statfs(fixture->root, "/mnt/pg", &now), 0);
        assert_int_equal((uint32_t) now.f_type, HUGETLBFS_MAGIC);
        assert_int_equal(root_statfs(fixture->root, "/proc", &now), 0);
        assert_int_not_equal((uint32_t) now.f_type, HUGETLBFS_MAGIC);
        assert_int_equal(root_statfs(fixture->root, PATH_MEMINFO, &now), -ENOTDIR);
}

/* ---- applying ---- */

static Apply *begin(const Fixture *fixture, const char *lines) {
        const Config *config =
                config_line(fixture->arena, "00-host [Host] KeepFree=1M; a %s", lines);
        const Topology *topology = probe_topology(fixture->root, fixture->arena, NULL);

        const ApplyInput input = {
                .root = fixture->root,
                .config = config,
                .topology = topology,
                .ledger = ledger_of_idle(fixture->arena, topology),
                .plan = plan_simple(fixture->arena, config, topology),
                .deadline_usec = UINT64_MAX,
        };

        return apply_new(fixture->arena, &input);
}

static void run_all(const Fixture *fixture, Apply *apply) {
        ApplyOperation operation;

        while (apply_next(apply, 0, &operation))
                apply_done(apply, &operation, apply_perform(fixture->root, &operation), 1);
}

ROOT_TEST(apply) {
        run_all(fixture, begin(fixture, "NodeMemory=0:200M 1:300M"));
        assert_int_equal(kernel_pool(fixture->kernel, 0, 2 * MIB).total_pages, 100);
        assert_int_equal(kernel_pool(fixture->kernel, 1, 2 * MIB).total_pages, 150);
        assert_null(kernel_check_invariants(fixture->kernel, fixture->arena));
}

/* Scattered memory and page cache become pages by compaction and reclaim. */
ROOT_TEST(apply_tries_hard) {
        CLEANUP(kernel_freep)
        Kernel *kernel = kernel_new("node 0 total=1G free=400M scattered=300M cache=400M\n");
        CLEANUP(root_freep) Root *root = model_root_new(kernel);
        Fixture poor = {fixture->arena, kernel, root};

        run_all(&poor, begin(&poor, "Pages=340"));
        assert_int_equal(kernel_pool(kernel, 0, 2 * MIB).total_pages, 340);
}

/* ---- hooks and failures ---- */

typedef struct Thief {
        const Fixture *fixture;
        uint64_t on_write;
        uint64_t n_writes, n_failed;
        KernelMapping *memory;
} Thief;

static void take_pages(void *userdata, const char *path, const char *text) {
        Thief *thief = userdata;
        KernelMapping *memory;

        assert_true(text_ends_with(path, "nr_hugepages"));
        assert_non_null(text);
        if (++thief->n_writes != thief->on_write)
                return;
        kernel_map(database(thief->fixture, NULL, (KernelPolicy){}),
                   &(KernelMap){.n_pages = 8, .is_noreserve = true}, &memory);
        kernel_touch_all(memory);
}

static void count_failures(void *userdata, const char *path, const char *text, int error) {
        Thief *thief = userdata;

        (void) path;
        (void) text;
        thief->n_failed += error < 0;
}

/* A bound process reserves all pages that are being given back: they are added again. */
static void reserve_pages(void *userdata, const char *path, const char *text) {
        Thief *thief = userdata;

        (void) path;
        (void) text;
        if (++thief->n_writes == 1)
                kernel_map(database(thief->fixture, NULL, kernel_bind(1)),
                           &(KernelMap){.n_pages = 40}, &thief->memory);
}

ROOT_TEST(apply_takes_back) {
        Arena *arena = fixture->arena;
        Thief thief = {.fixture = fixture};

        kernel_set_pool(fixture->kernel, NULL, 0, 2 * MIB, 20);
        kernel_set_pool(fixture->kernel, NULL, 1, 2 * MIB, 40);
        const Config *config =
                config_make(arena, "a.conf", "[Instance]\nNodeMemory=0:40M 1:2M\n", NULL);
        const Topology *topology = probe_topology(fixture->root, arena, NULL);
        Ledger *ledger = ledger_of_idle(arena, topology);

        ledger_pool(ledger, 0, 2 * MIB)->found_pages = 0;
        ledger_pool(ledger, 1, 2 * MIB)->found_pages = 0;
        const ApplyInput input = {
                .root = fixture->root,
                .config = config,
                .topology = topology,
                .ledger = ledger,
                .plan = plan_with(arena, config, topology, ledger, NULL),
                .deadline_usec = UINT64_MAX,
        };

        assert_steps(input.plan, "1:2M:40->1");
        model_root_set_hooks(fixture->root, &(ModelRootHooks){reserve_pages, NULL, &thief});
        run_all(fixture, apply_new(arena, &input));
        assert_int_equal(thief.n_writes, 2);
        assert_int_equal(kernel_pool(fixture->kernel, 1, 2 * MIB).free_pages, 40);
        assert_true(kernel_touch_all(thief.memory));
}

/* Another process acts between the read and the write. */
ROOT_TEST(hooks) {
        Thief thief = {.fixture = fixture, .on_write = 1};

        kernel_set_pool(fixture->kernel, NULL, 1, 2 * MIB, 10);
        model_root_set_hooks(fixture->root, &(ModelRootHooks){take_pages, count_failures, &thief});
        assert_int_equal(root_write_attribute(fixture->root, POOL_1 "nr_hugepages", "4"), 0);
        assert_int_equal(kernel_pool(fixture->kernel, 1, 2 * MIB).total_pages, 8);
        assert_int_equal(kernel_pool(fixture->kernel, 1, 2 * MIB).surplus_pages, 4);
        assert_int_equal(root_write_attribute(fixture->root, POOL_1 "nr_hugepages", "x"), -EINVAL);
        assert_int_equal(thief.n_writes, 2);
        assert_int_equal(thief.n_failed, 1);
}

/* The daemon is killed during a round. What it has written stays, and the next one finishes. */
ROOT_TEST(death) {
        const Root *root = fixture->root;
        char *text;

        model_root_die(fixture->root, 2);
        run_all(fixture, begin(fixture, "NodeMemory=0:20M 1:30M"));
        assert_true(model_root_is_dead(root));
        assert_int_equal(kernel_pool(fixture->kernel, KERNEL_HOST, 2 * MIB).total_pages, 10);
        assert_int_equal(root_read_attribute(root, fixture->arena, PATH_MEMINFO, &text), -EIO);
        assert_int_equal(root_write_file(root, "/x", "x"), -EIO);
        model_root_revive(fixture->root);
        run_all(fixture, begin(fixture, "NodeMemory=0:20M 1:30M"));
        assert_int_equal(kernel_pool(fixture->kernel, 0, 2 * MIB).total_pages, 10);
        assert_int_equal(kernel_pool(fixture->kernel, 1, 2 * MIB).total_pages, 15);
}

/* A look is tried three times, and so is its beginning: two failing reads do no harm. */
ROOT_TEST(look_tries) {
        static const struct {
                Look *(*look)(Arena *arena, const LookInput *input);
        } looks[] = {{look_at_host}, {look_make}};
        const LookInput input = {.root = fixture->root,
                                 .config = config_make(fixture->arena, NULL)};

        for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
                uint64_t before = model_root_reads(fixture->root);

                model_root_fail_reads(fixture->root, 1, UINT64_MAX / 2, -EIO);
                assert_int_equal(looks[i].look(fixture->arena, &input)->fault.error, -EIO);
                uint64_t each = (model_root_reads(fixture->root) - before) / 3;

                root_drop_fault(fixture->root);
                model_root_fail_reads(fixture->root, 1, 2 * each, -EIO);
                assert_int_equal(looks[i].look(fixture->arena, &input)->fault.error, 0);
                model_root_fail_reads(fixture->root, 1, 3 * each, -EIO);
                assert_int_equal(looks[i].look(fixture->arena, &input)->fault.error, -EIO);
                root_drop_fault(fixture->root);
        }
}
