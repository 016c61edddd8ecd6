/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is written, and what is made of the answer: pools, transparent huge pages, the ledger on disk,
 * and who belongs to a unit. The test plays the kernel between writing and reading back. */

#include "apply/apply.h"
#include "apply/host_apply.h"
#include "base/size.h"
#include "host/probe.h"
#include "host/state.h"
#include "host/unit_cgroup.h"
#include "model/names.h"
#include "support/testing.h"
#include "support/tree.h"

#include <sys/resource.h>

static const char pool_format[] = "/sys/devices/system/node/node%u/hugepages/hugepages-%ukB/%s";

static char *pool_path(const Tree *tree, unsigned node, unsigned kib, const char *attribute) {
        return arena_printf(tree->arena, pool_format, node, kib, attribute);
}

static void set_pool(const Tree *tree, unsigned node, unsigned kib, uint64_t pages) {
        const char *text = arena_printf(tree->arena, "%" PRIu64 "\n", pages);

        tree_write(tree, pool_path(tree, node, kib, "nr_hugepages"), text);
        tree_write(tree, pool_path(tree, node, kib, "free_hugepages"), text);
        tree_write(tree, pool_path(tree, node, kib, "surplus_hugepages"), "0\n");
}

/* On top of what is there. */
static void set_surplus(const Tree *tree, unsigned node, uint64_t surplus) {
        uint64_t pages = 0;

        if (surplus == 0)
                return;
        assert_int_equal(
                root_read_u64(tree->root, pool_path(tree, node, 2048, "nr_hugepages"), &pages), 0);
        tree_write(tree, pool_path(tree, node, 2048, "nr_hugepages"),
                   arena_printf(tree->arena, "%" PRIu64 "\n", pages + surplus));
        tree_write(tree, pool_path(tree, node, 2048, "surplus_hugepages"),
                   arena_printf(tree->arena, "%" PRIu64 "\n", surplus));
}

static void set_free(const Tree *tree, unsigned node, uint64_t bytes) {
        tree_write(tree, arena_printf(tree->arena, "/sys/devices/system/node/node%u/meminfo", node),
                   arena_printf(tree->arena,
                                "Node %u MemTotal: 16777216 kB\n"
                                "Node %u MemFree: %" PRIu64 " kB\n",
                                node, node, bytes / KIB));
}

static void make_host(const Tree *tree) {
        for (unsigned node = 0; node < 2; node++) {
                set_pool(tree, node, 2048, 0);
                set_pool(tree, node, 1048576, 0);
                set_free(tree, node, 12 * GIB);
                tree_write(
                        tree,
                        arena_printf(tree->arena, "/sys/devices/system/node/node%u/compact", node),
                        "");
        }
        for (size_t i = 0; i < 2; i++)
                tree_write(tree,
                           arena_printf(tree->arena,
                                        "/sys/kernel/mm/hugepages/hugepages-%skB/resv_hugepages",
                                        i == 0 ? "2048" : "1048576"),
                           "0\n");
}

typedef struct Run {
        const Tree *tree;
        const Config *config;
        const Topology *topology;
        Ledger *ledger;
        Plan *plan;
        Apply *apply;
        Text trace;          /* "1G@0:w2 2M@1:w512 ..." */
        uint64_t free_bytes; /* of the node that is written to; 0: more than enough */
        uint64_t most_pages; /* a kernel that gives no more than this of 2M pages on a node */
} Run;

/* With a plan that is made beside RUNNING, or within LIMITS; either may be NULL. */
static Run run_of(const Tree *tree, const Config *config, Ledger *ledger, const Running *running,
                  const PoolLimits *limits) {
        Run run = {
                .tree = tree,
                .config = config,
                .topology = probe_topology(tree->root, tree->arena),
                .ledger = ledger,
                .trace = text_in(tree->arena),
                .most_pages = UINT64_MAX,
        };

        run.plan = running ? plan_beside(tree->arena, config, run.topology, ledger, running)
                           : plan_with(tree->arena, config, run.topology, ledger, limits);
        const ApplyInput input = {
                .root = tree->root,
                .config = config,
                .topology = run.topology,
                .ledger = ledger,
                .plan = run.plan,
                .deadline_usec = UINT64_MAX,
        };

        run.apply = apply_new(tree->arena, &input);
        return run;
}

/* What the next plan is told of pools that stay below their targets. */
static PoolLimits limits_of(const Run *run) {
        return apply_limits(run->tree->arena, run->apply,
                            probe_topology(run->tree->root, run->tree->arena));
}

static const Config *config_of(const Tree *tree, const char *lines) {
        return config_line(tree->arena, "a %s", lines);
}

static Run run_new(const Tree *tree, const char *lines) {
        return run_of(tree, config_of(tree, lines), ledger_new(tree->arena, ""), NULL, NULL);
}

static void note(Run *run, const ApplyOperation *operation) {
        text_printf(&run->trace, "%s%s@%u:%s", run->trace.length > 0 ? " " : "",
                    format_page_size(run->tree->arena, operation->page_size_bytes), operation->node,
                    escalation_action_name(operation->move.action));
        if (operation->move.action == ESCALATION_WRITE)
                text_printf(&run->trace, "%" PRIu64, operation->move.pages);
}

/* The kernel: a write that gets fewer pages succeeds. */
static void react(Run *run, const ApplyOperation *operation) {
        uint64_t pages = MIN(operation->move.pages, run->most_pages);

        if (operation->move.action != ESCALATION_WRITE || operation->page_size_bytes != 2 * MIB)
                return;
        set_pool(run->tree, operation->node, 2048, pages);
        if (run->free_bytes > 0) {
                run->free_bytes -= (pages - operation->pages_before) * 2 * MIB;
                set_free(run->tree, operation->node, run->free_bytes);
        }
}

static void run_all(Run *run) {
        ApplyOperation operation;

        while (apply_next(run->apply, 0, &operation)) {
                note(run, &operation);
                int r = apply_perform(run->tree->root, &operation);

                react(run, &operation);
                apply_done(run->apply, &operation, r, 1000);
        }
}

TREE_TEST(order) {
        const Config *config =
                config_line(tree->arena, "a Pages=4 PageSize=1G; b Pages=10 PageSize=2M");

        make_host(tree);
        Run run = run_of(tree, config, ledger_new(tree->arena, ""), NULL, NULL);

        run_all(&run);
        /* The largest pages first, node by node. */
        assert_text(run.trace.string, "1G@0:write1 1G@0:write2 1G@1:write1 1G@1:write2 "
                                      "2M@0:write5 2M@1:write5");
        assert_text(tree_read(tree, pool_path(tree, 1, 1048576, "nr_hugepages")), "2\n");
        assert_text(tree_read(tree, pool_path(tree, 0, 2048, "nr_hugepages")), "5\n");
}

TREE_TEST(lowered_first) {
        Ledger *ledger = ledger_new(tree->arena, "");

        make_host(tree);
        set_pool(tree, 1, 2048, 100);
        *vec_push(tree->arena, &ledger->pools) = (LedgerPool){1, 2 * MIB, 0, 100};
        Run run =
                run_of(tree, config_of(tree, "Pages=1\nPageSize=1G\nNodes=0"), ledger, NULL, NULL);

        run_all(&run);
        assert_text(run.trace.string, "2M@1:write0 1G@0:write1");
}

/* What is tried where memory is in pieces: by the files of the node that is short, and of the host. */
TREE_TEST(attempts) {
        static const char compact[] = "/sys/devices/system/node/node%u/compact";
        const Config *config = config_line(
                tree->arena, "00 [Host] DropCaches=yes; a Pages=100 PageSize=2M Nodes=1");

        make_host(tree);
        tree_write(tree, PATH_DROP_CACHES, "");
        Run run = run_of(tree, config, ledger_new(tree->arena, ""), NULL, NULL);

        run.most_pages = 40;
        run_all(&run);
        assert_text(tree_read(tree, PATH_DROP_CACHES), "1");
        assert_text(tree_read(tree, arena_printf(tree->arena, compact, 1)), "1");
        assert_text(tree_read(tree, arena_printf(tree->arena, compact, 0)), "");
}

/* The node, or its memory, has gone meanwhile: nothing is written, and it is told why. */
TREE_TEST(gone) {
        static const char *const files[] = {
                "/sys/devices/system/node/node1/meminfo",
                "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages",
        };
        ApplyOperation operation;
        size_t n;

        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                make_host(tree);
                Run run = run_new(tree, "Pages=100\nPageSize=2M\nNodes=1");

                remove(tree_path(tree, files[i]));
                assert_false(apply_next(run.apply, 0, &operation));
                const ApplyResult *results = apply_results(run.apply, &n);

                assert_int_equal(n, 1);
                assert_int_equal(results[0].error, -ENOENT);
        }
}

/* ---- giving back ---- */

static void set_reserved(const Tree *tree, uint64_t pages) {
        tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages",
                   arena_printf(tree->arena, "%" PRIu64 "\n", pages));
}

/* 100 pages of 2M on each node, which are ours to give back. */
static Run lowering_run(const Tree *tree, const char *holds) {
        Ledger *ledger = ledger_new(tree->arena, "");

        make_host(tree);
        for (unsigned node = 0; node < 2; node++) {
                set_pool(tree, node, 2048, 100);
                *vec_push(tree->arena, &ledger->pools) = (LedgerPool){node, 2 * MIB, 0, 100};
        }
        ledger->holds = running_make(tree->arena, holds).holds;
        return run_of(tree, config_make(tree->arena, NULL), ledger, NULL, NULL);
}

/* In one write: slices of it would be as many looks at what is promised. */
TREE_TEST(lowering) {
        Run run = lowering_run(tree, "");

        run_all(&run);
        assert_text(run.trace.string, "2M@0:write0 2M@1:write0");
}

/* Somebody has mapped pages since the plan was made. */
TREE_TEST(lowering_is_clamped) {
        Run run = lowering_run(tree, "");

        assert_text(steps_text(tree->arena, run.plan), "0:2M:100->0 1:2M:100->0");
        set_reserved(tree, 30);
        run_all(&run);
        /* Nobody knows where he may take them. */
        assert_text(run.trace.string, "2M@0:write30 2M@1:write30");
        run = lowering_run(tree, "");
        set_reserved(tree, 100);
        run_all(&run);
        assert_text(text_string(&run.trace), "");
}

/* Whose they are, the control group tells: then they are kept where he can take them. */
TREE_TEST(lowering_beside_unit) {
        static const char group[] = "/sys/fs/cgroup/system.slice/a.service";
        Run run = lowering_run(tree, "hold a.service a 2M= bind=1 counted\n");

        set_reserved(tree, 30);
        tree_write(tree, arena_printf(tree->arena, "%s/hugetlb.2MB.rsvd.current", group),
                   "62914560\n");
        tree_write(tree, arena_printf(tree->arena, "%s/hugetlb.2MB.numa_stat", group),
                   "total=0 N0=0 N1=0\n");
        run_all(&run);
        assert_text(run.trace.string, "2M@0:write0 2M@1:write30");
}

/* Somebody maps pages in the very moment in which they are given back: they are taken back at once, as
 * many as he was promised and no more than there were. */
TREE_TEST(lowering_is_undone) {
        static const struct {
                uint64_t reserved;
                const char *trace;
                uint64_t surplus; /* of others, who take them after the write */
        } cases[] = {
                {0, "2M@0:write0 2M@1:write0"},
                {0, "2M@0:write0 2M@1:write5",
                 5}, /* as many stay free as the host has surplus pages */
                {1, "2M@0:write0 2M@0:write1 2M@1:write1"},
                {40, "2M@0:write0 2M@0:write40 2M@1:write40"},
                {100, "2M@0:write0 2M@0:write100"},
                {170, "2M@0:write0 2M@0:write100"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Run run = lowering_run(tree, "");
                ApplyOperation operation;

                while (apply_next(run.apply, 0, &operation)) {
                        note(&run, &operation);
                        assert_int_equal(apply_perform(tree->root, &operation), 0);
                        set_reserved(tree, cases[i].reserved);
                        react(&run, &operation);
                        set_surplus(tree, operation.node, cases[i].surplus);
                        apply_done(run.apply, &operation, 0, 1000);
                }
                assert_text(run.trace.string, cases[i].trace);
        }
}

/* Where the kernel does not give back as many, it is not asked again. */
TREE_TEST(lowering_is_undone_once) {
        Run run = lowering_run(tree, "");
        ApplyOperation operation;

        run.most_pages = 20;
        while (apply_next(run.apply, 0, &operation)) {
                note(&run, &operation);
                set_reserved(tree, 40);
                react(&run, &operation);
                apply_done(run.apply, &operation, 0, 1000);
        }
        assert_text(run.trace.string, "2M@0:write0 2M@0:write40 2M@1:write40 2M@1:write40");
}

TREE_TEST(nothing_to_do) {
        make_host(tree);
        set_pool(tree, 0, 2048, 5);
        set_pool(tree, 1, 2048, 5);
        Run run = run_new(tree, "Pages=10\nPageSize=2M");

        run_all(&run);
        assert_text(text_string(&run.trace), "");
}

/* A success of write(2) means nothing: what was read back is believed. */
TREE_TEST(short_write) {
        uint64_t done, all;
        size_t n;

        make_host(tree);
        Run run = run_new(tree, "Pages=100\nPageSize=2M\nNodes=1");

        run.most_pages = 37;
        run_all(&run);
        assert_text(run.trace.string, "2M@1:write100 2M@1:compact 2M@1:write100 2M@1:compact "
                                      "2M@1:write100");
        const ApplyResult *results = apply_results(run.apply, &n);

        assert_int_equal(n, 1);
        assert_int_equal(results[0].reached_pages, 37);
        assert_true(results[0].is_finished);
        apply_progress(run.apply, &done, &all);
        assert_int_equal(done, 37);
        assert_int_equal(all, 100);
        const PoolLimits limits = limits_of(&run);

        assert_int_equal(limits.n, 1);
        assert_int_equal(limits.items[0].node, 1);
        assert_int_equal(limits.items[0].persistent_pages, 37);
        assert_int_equal(limits.items[0].reason.kind, REASON_FRAGMENTED);
        assert_contains(limits.items[0].reason.text, "37 of 100 pages of 2M");
        assert_non_null(limits.items[0].reason.remedy);
}

/* Memory that went between planning and writing is not asked for. */
TREE_TEST(clamped) {
        make_host(tree);
        Run run = run_new(tree, "Pages=100\nPageSize=2M\nNodes=0");

        /* 10% of 16 GiB are kept, 20 pages are left. */
        run.free_bytes = 16 * GIB / 10 + 41 * MIB;
        set_free(tree, 0, run.free_bytes);
        run_all(&run);
        assert_text(run.trace.string, "2M@0:write20");
        const PoolLimits limits = limits_of(&run);

        assert_int_equal(limits.items[0].reason.kind, REASON_NOT_ENOUGH_MEMORY);
}

/* Surplus pages are no persistent ones: never written back as such. */
TREE_TEST(surplus) {
        make_host(tree);
        set_pool(tree, 0, 2048, 30);
        tree_write(tree, pool_path(tree, 0, 2048, "surplus_hugepages"), "20\n");
        tree_write(tree, pool_path(tree, 0, 2048, "free_hugepages"), "0\n");
        const char *lines = "Pages=12\nPageSize=2M\nNodes=0\nUnit=a.service";
        const Running own = running_make(tree->arena, "hold a.service a 2M=0:12 counted\n"
                                                      "unit a.service 2M=30/0:30\n");
        Run run = run_of(tree, config_of(tree, lines), ledger_new(tree->arena, ""), &own, NULL);

        run_all(&run);
        assert_text(run.trace.string, "2M@0:write12");
        /* Where they are others', they are made up for, and the instance has its own on top. */
        set_pool(tree, 0, 2048, 30);
        tree_write(tree, pool_path(tree, 0, 2048, "surplus_hugepages"), "20\n");
        tree_write(tree, pool_path(tree, 0, 2048, "free_hugepages"), "0\n");
        run = run_new(tree, lines);
        run_all(&run);
        assert_text(run.trace.string, "2M@0:write42");
}

/* Kernels before 6.7 add the surplus of other nodes to what a node's file is given; and since then the count of any node
 * would have the kernel take all memory where a node has more surplus pages than pages. The host's count is set first,
 * to what is there. */
TREE_TEST(surplus_elsewhere) {
        static const char host_file[] = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
        static const struct {
                const char *release;
                uint64_t pages;
                const char *surplus, *adopted; /* the text; NULL: it is not done */
        } kernels[] = {
                {"6.1.0-30-amd64\n", 30, "20\n", "34\n"},
                {"6.1.0-30-amd64\n", 30, "5\n", "34\n"},
                {"6.1.0-30-amd64\n", 30, "0\n", NULL},
                {"6.7.0\n", 30, "20\n", NULL},
                {"6.18.0\n", 3, "3\n", NULL},
                {"6.1.0-30-amd64\n", 3, "5\n", "7\n"},
                {"6.18.0\n", 3, "5\n", "7\n"},
        };
        ApplyOperation operation;

        make_host(tree);
        for (size_t i = 0; i < ARRAY_LEN(kernels); i++) {
                tree_write(tree, PATH_OSRELEASE, kernels[i].release);
                set_pool(tree, 0, 2048, 4);
                set_pool(tree, 1, 2048, kernels[i].pages);
                tree_write(tree, host_file, "7\n");
                tree_write(tree, pool_path(tree, 1, 2048, "surplus_hugepages"), kernels[i].surplus);
                Run run = run_new(tree, "Pages=12\nPageSize=2M\nNodes=0");
                bool is_adopting = kernels[i].adopted != NULL;

                assert_true(apply_next(run.apply, 0, &operation));
                assert_int_equal(operation.is_adopting_surplus, is_adopting);
                assert_text(operation.path,
                            is_adopting ? host_file : pool_path(tree, 0, 2048, "nr_hugepages"));
                assert_text(operation.text, is_adopting ? kernels[i].adopted : "12\n");
        }
        /* Then nothing was learned, and nothing else is written by this plan; or, where that fails, of this
         * size nothing at all. */
        tree_write(tree, host_file, "0\n");
        Run run = run_new(tree, "Pages=12\nPageSize=2M\nNodes=0");

        assert_true(apply_next(run.apply, 0, &operation));
        assert_int_equal(apply_perform(tree->root, &operation), 0);
        assert_text(tree_read(tree, host_file), "7\n");
        apply_done(run.apply, &operation, 0, 0);
        assert_false(apply_next(run.apply, 0, &operation));
        assert_true(apply_adopted_bytes(run.apply) == 2 * MIB);
        run = run_new(tree, "Pages=12\nPageSize=2M\nNodes=0");
        assert_true(apply_next(run.apply, 0, &operation));
        apply_done(run.apply, &operation, -EPERM, 0);
        assert_false(apply_next(run.apply, 0, &operation));
        assert_true(apply_adopted_bytes(run.apply) == 0);
        size_t n;
        const ApplyResult *results = apply_results(run.apply, &n);

        assert_int_equal(n, 1);
        assert_int_equal(results[0].error, -EPERM);
}

/* What all nodes have together must be known for that: a node that cannot be read would lose its pages. */
TREE_TEST(more_surplus_than_is_known) {
        ApplyOperation operation;

        make_host(tree);
        tree_write(tree, PATH_OSRELEASE, "6.18.0\n");
        set_pool(tree, 1, 2048, 3);
        tree_write(tree, pool_path(tree, 1, 2048, "surplus_hugepages"), "5\n");
        set_pool(tree, 2, 2048, 100);
        set_pool(tree, 2, 1048576, 0);
        set_free(tree, 2, 12 * GIB);
        Run run = run_new(tree, "Pages=12\nPageSize=2M\nNodes=0");

        assert_true(apply_next(run.apply, 0, &operation));
        assert_true(operation.is_adopting_surplus);
        assert_text(operation.text, "103\n");
        run = run_new(tree, "Pages=12\nPageSize=2M\nNodes=0");
        remove(tree_path(tree, pool_path(tree, 2, 2048, "nr_hugepages")));
        assert_true(apply_next(run.apply, 0, &operation));
        assert_false(operation.is_adopting_surplus);
}

/* 1G pages that can be split, three of which are found; 2M pages are too fragmented to be had. */
static Run splitting_run(const Tree *tree) {
        const Config *config = config_line(
                tree->arena, "big Pages=3 PageSize=1G Nodes=0; small Pages=100 PageSize=2M Nodes=0 "
                             "Priority=90");
        PoolLimits limits = {};

        make_host(tree);
        set_pool(tree, 0, 1048576, 3);
        tree_write(tree, pool_path(tree, 0, 1048576, "demote"), "");
        tree_write(tree, pool_path(tree, 0, 1048576, "demote_size"), "2048kB\n");
        *vec_push(tree->arena, &limits) =
                (PoolLimit){.page_size_bytes = 2 * MIB, .reason = {.kind = REASON_FRAGMENTED}};
        return run_of(tree, config, ledger_new(tree->arena, "boot"), NULL, &limits);
}

/* Split first, then grown again: the pool ends with as many pages as it began with. */
TREE_TEST(split_and_grown) {
        Run run = splitting_run(tree);
        ApplyOperation operation;
        size_t n;

        assert_true(apply_next(run.apply, 0, &operation));
        note(&run, &operation);
        assert_text(operation.path, pool_path(tree, 0, 1048576, "demote"));
        assert_text(operation.text, "1\n");
        set_pool(tree, 0, 1048576, 2);
        set_pool(tree, 0, 2048, 512);
        apply_done(run.apply, &operation, 0, 1000);
        assert_true(apply_next(run.apply, 0, &operation));
        note(&run, &operation);
        assert_text(operation.path, pool_path(tree, 0, 1048576, "nr_hugepages"));
        set_pool(tree, 0, 1048576, 3);
        apply_done(run.apply, &operation, 0, 1000);
        assert_false(apply_next(run.apply, 0, &operation)); /* 2M pages have come by splitting */
        assert_text(run.trace.string, "1G@0:demote 1G@0:write3");

        const ApplyResult *results = apply_results(run.apply, &n);

        assert_int_equal(n, 3);
        assert_int_equal(results[0].demoted_pages, 1);
        assert_int_equal(results[0].escalation.records.items[0].action, ESCALATION_DEMOTE);
        assert_int_equal(limits_of(&run).n, 0);
}

/* A kernel that does not split is not asked twice, and the next plan knows. */
TREE_TEST(split_refused) {
        Run run = splitting_run(tree);
        ApplyOperation operation;

        run.most_pages = 0;
        assert_true(apply_next(run.apply, 0, &operation));
        apply_done(run.apply, &operation, -EINVAL, 1000);
        run_all(&run);
        assert_null(strstr(run.trace.string, "demote"));
        const PoolLimits limits = limits_of(&run);

        assert_int_equal(limits.n, 2);
        assert_true(limits.items[0].cannot_demote);
        assert_true(limits.items[0].page_size_bytes == GIB);
        assert_false(limits.items[1].cannot_demote);
        assert_true(limits.items[1].page_size_bytes == 2 * MIB);
}

TREE_TEST(node_goes_away) {
        ApplyOperation operation;
        size_t n;

        make_host(tree);
        Run run = run_new(tree, "Pages=10\nPageSize=2M");

        assert_int_equal(root_remove(tree->root, pool_path(tree, 0, 2048, "nr_hugepages")), 0);
        assert_true(apply_next(run.apply, 0, &operation));
        assert_int_equal(operation.node, 1);
        const ApplyResult *results = apply_results(run.apply, &n);

        assert_int_equal(results[0].error, -ENOENT);
        assert_true(results[0].is_finished);
}

TREE_TEST(refused_write) {
        ApplyOperation operation;
        size_t n;

        make_host(tree);
        Run run = run_new(tree, "Pages=10\nPageSize=2M\nNodes=0");

        assert_true(apply_next(run.apply, 0, &operation));
        apply_done(run.apply, &operation, -EACCES, 10);
        assert_false(apply_next(run.apply, 0, &operation));
        assert_int_equal(apply_results(run.apply, &n)[0].error, -EACCES);
        const PoolLimits limits = limits_of(&run);

        assert_int_equal(limits.items[0].reason.kind, REASON_WRITE_FAILED);
        assert_contains(limits.items[0].reason.text, "Permission denied");
}

/* A run on a node that is full of page cache, of which 100 pages came by the first write. */
static Run run_short_of(const Tree *tree, ApplyOperation *ret) {
        make_host(tree);
        tree_write(tree, "/sys/devices/system/node/node0/meminfo",
                   "Node 0 MemTotal: 16777216 kB\n"
                   "Node 0 MemFree: 1048576 kB\n"
                   "Node 0 Inactive(file): 12582912 kB\n");
        Run run = run_new(tree, "Pages=2000\nPageSize=2M\nNodes=0");

        assert_true(apply_next(run.apply, 0, ret));
        set_pool(tree, 0, 2048, 100);
        apply_done(run.apply, ret, 0, 1000);
        assert_true(apply_next(run.apply, 0, ret));
        assert_int_equal(ret->move.action, ESCALATION_RECLAIM);
        return run;
}

/* The node's own file knows swappiness=; the control group's may not, and is told only where there is swap. */
TREE_TEST(reclaim_swaps_nothing) {
        static const char own[] = "/sys/devices/system/node/node0/reclaim";
        static const struct {
                bool can_reclaim;
                uint64_t swap_bytes;
                const char *path, *more;
        } cases[] = {
                {true, 0, own, " swappiness=0"},
                {true, GIB, own, " swappiness=0"},
                {false, 0, PATH_CGROUP_RECLAIM, ""},
                {false, GIB, PATH_CGROUP_RECLAIM, " swappiness=0"},
        };
        ApplyOperation operation;

        tree_write(tree, PATH_CGROUP_RECLAIM, "");
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                if (cases[i].can_reclaim)
                        tree_write(tree, own, "");
                else
                        remove(tree_path(tree, own));
                tree_write(tree, PATH_MEMINFO,
                           arena_printf(tree->arena, "SwapTotal: %" PRIu64 " kB\n",
                                        cases[i].swap_bytes / KIB));
                run_short_of(tree, &operation);
                assert_text(operation.path, cases[i].path);
                assert_text(operation.text, arena_printf(tree->arena, "%" PRIu64 "%s\n",
                                                         operation.move.bytes, cases[i].more));
        }
}

/* A node that gives up less cache than it was asked for has done what it could. */
TREE_TEST(short_reclaim) {
        ApplyOperation operation;
        size_t n;

        tree_write(tree, "/sys/devices/system/node/node0/reclaim", "");
        const Run run = run_short_of(tree, &operation);

        apply_done(run.apply, &operation, -EAGAIN, 1000);
        const ApplyResult *results = apply_results(run.apply, &n);

        assert_int_equal(results[0].escalation.records.n, 2);
        assert_int_equal(results[0].escalation.records.items[1].error, 0);
}

TREE_TEST(hurry) {
        make_host(tree);
        Run run = run_new(tree, "Pages=100\nPageSize=2M\nNodes=0");

        run.most_pages = 37;
        apply_stop_early(run.apply);
        run_all(&run);
        assert_text(run.trace.string, "2M@0:write100"); /* no round of attempts */
}

TREE_TEST(missing_attribute) {
        const ApplyOperation operation = {.path = "/sys/none", .text = "1"};

        assert_int_equal(apply_perform(tree->root, &operation), -ENOENT);
        assert_null(tree_read(tree, "/sys/none"));
}

/* ---- transparent huge pages ---- */

TREE_TEST(thp) {
        const char *path = NULL;
        ThpPlan plan = {.policy = THP_NEVER};

        tree_write(tree, "/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
        tree_write(tree, "/proc/sys/vm/min_free_kbytes", "67584\n");
        assert_int_equal(host_writes_apply(tree->root, &plan.writes, &path), 0);
        assert_text(tree_read(tree, "/sys/kernel/mm/transparent_hugepage/enabled"),
                    "[always] madvise never\n");
        *vec_push(tree->arena, &plan.writes) =
                (HostWrite){"/sys/kernel/mm/transparent_hugepage/none/enabled", "never"};
        *vec_push(tree->arena, &plan.writes) =
                (HostWrite){"/sys/kernel/mm/transparent_hugepage/enabled", "never"};
        /* The first error is told, the rest is done all the same. */
        assert_int_equal(host_writes_apply(tree->root, &plan.writes, &path), -ENOENT);
        assert_text(path, "/sys/kernel/mm/transparent_hugepage/none/enabled");
        assert_text(tree_read(tree, "/sys/kernel/mm/transparent_hugepage/enabled"), "never");
        assert_text(tree_read(tree, "/proc/sys/vm/min_free_kbytes"), "67584\n");
}

/* Switching changes vm.min_free_kbytes: a link makes the two one file. */
TREE_TEST(thp_min_free) {
        const char *path = NULL;
        ThpPlan plan = {.policy = THP_NEVER};

        tree_write(tree, "/proc/sys/vm/min_free_kbytes", "67584\n");
        tree_link(tree, "/proc/sys/vm/min_free_kbytes", "/enabled");
        *vec_push(tree->arena, &plan.writes) = (HostWrite){"/enabled", "6891"};
        assert_int_equal(host_writes_apply(tree->root, &plan.writes, &path), 0);
        assert_null(path); /* of nothing that has failed */
        assert_text(tree_read(tree, "/proc/sys/vm/min_free_kbytes"), "67584\n");
}

/* What cannot be put back is told, unless something was before it: files hold four bytes here. */
TREE_TEST(thp_min_free_not_restored) {
        static const char broken[] = "/sys/kernel/mm/transparent_hugepage/none/enabled";
        struct rlimit before;

        getrlimit(RLIMIT_FSIZE, &before);
        tree_link(tree, PATH_MIN_FREE, "/enabled");
        for (int i = 0; i < 2; i++) {
                const char *path = NULL;
                ThpPlan plan = {.policy = THP_NEVER};

                if (i > 0)
                        *vec_push(tree->arena, &plan.writes) = (HostWrite){broken, "never"};
                *vec_push(tree->arena, &plan.writes) = (HostWrite){"/enabled", "6891"};
                tree_write(tree, PATH_MIN_FREE, "67584\n");
                setrlimit(RLIMIT_FSIZE, &(struct rlimit){4, before.rlim_max});
                int r = host_writes_apply(tree->root, &plan.writes, &path);

                setrlimit(RLIMIT_FSIZE, &before);
                assert_int_equal(r, i > 0 ? -ENOENT : -EIO);
                assert_text(path, i > 0 ? broken : PATH_MIN_FREE);
        }
}

/* ---- the ledger on disk ---- */

TREE_TEST(state) {
        const char *text = "x";
        Ledger *ledger = state_load(tree->root, tree->arena, "boot", &text);

        assert_null(text); /* the first start in this boot is nothing to speak of */
        assert_int_equal(ledger->pools.n, 0);
        *vec_push(tree->arena, &ledger->pools) = (LedgerPool){0, 2 * MIB, 1, 2};
        assert_int_equal(state_save(tree->root, ledger), 0);
        ledger = state_load(tree->root, tree->arena, "boot", &text);
        assert_null(text);
        assert_int_equal(ledger->pools.n, 1);
        ledger = state_load(tree->root, tree->arena, "another", &text);
        assert_text(text, "/run/hugeplan/ledger is from another boot; a new one is started");
        assert_int_equal(ledger->pools.n, 0);
        tree_write(tree, "/run/hugeplan/ledger", "{");
        ledger = state_load(tree->root, tree->arena, "boot", &text);
        assert_contains(
                text,
                "/run/hugeplan/ledger is broken; the pages that the pools hold now count as existing");
        assert_int_equal(ledger->pools.n, 0);
}

/* ---- who belongs to a unit ---- */

TREE_TEST(unit_cgroup) {
        const char *base = "/sys/fs/cgroup";

        tree_write(tree, arena_printf(tree->arena, "%s/system.slice/pg.service/cgroup.procs", base),
                   "10\n12\n");
        tree_write(
                tree,
                arena_printf(tree->arena, "%s/system.slice/pg.service/.control/cgroup.procs", base),
                "14\n");
        tree_write(tree,
                   arena_printf(tree->arena, "%s/db.slice/db-large.slice/ora.service/cgroup.procs",
                                base),
                   "20\n");
        tree_write(
                tree,
                arena_printf(tree->arena,
                             "%s/user.slice/user-1.slice/user@1.service/pg2.service/cgroup.procs",
                             base),
                "30\n");
        assert_true(unit_cgroup_has_process(tree->root, "pg.service", 10));
        assert_true(unit_cgroup_has_process(tree->root, "pg.service", 12));
        assert_true(unit_cgroup_has_process(tree->root, "pg.service", 14));
        assert_true(unit_cgroup_has_process(tree->root, "ora.service", 20));
        assert_false(unit_cgroup_has_process(tree->root, "pg.service", 1));
        assert_false(unit_cgroup_has_process(tree->root, "pg.service", 20));
        assert_false(unit_cgroup_has_process(tree->root, "none.service", 10));
        /* A user's own control group is no system service. */
        assert_false(unit_cgroup_has_process(tree->root, "pg2.service", 30));

        assert_null(unit_cgroup_running(tree->root, tree->arena, "pg.service")); /* not unified */
        tree_write(tree, "/sys/fs/cgroup/cgroup.controllers", "memory\n");
        tree_write(tree, "/sys/fs/cgroup/db.slice/idle.service/cgroup.procs", "");
        assert_text(unit_cgroup_running(tree->root, tree->arena, "ora.service"),
                    "/sys/fs/cgroup/db.slice/db-large.slice/ora.service");
        assert_null(unit_cgroup_running(tree->root, tree->arena, "idle.service"));
        assert_null(unit_cgroup_running(tree->root, tree->arena, "none.service"));
}
