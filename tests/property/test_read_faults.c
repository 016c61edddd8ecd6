/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Unreadable is not empty. On the model of the kernel, each read of a start, a round, a look, a reload and a gate fails:
 * once, three times, or from then on. No pool is lowered, no unit loses pages, a lasting fault is reported with path and
 * errno, and once the host can be read again, everything is as without the fault. The same holds for an exhausted heap:
 * this program is linked with --wrap=malloc.
 *
 *     test-read-faults [STRIDE]      every STRIDE-th read and allocation; default: every read and some allocations,
 *                                    or some of both with HUGEPLAN_FAULTS=few */

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "host/state.h"
#include "keeper/keeper.h"
#include "model/model_root.h"
#include "model/names.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 2 };

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

/* From allocation number `at` on, `times` allocations fail. */
static struct { uint64_t n, at, times; } heap = {.at = UINT64_MAX};

void *__wrap_malloc(size_t size) {
        heap.n++;
        return heap.n >= heap.at && heap.n - heap.at < heap.times ? NULL : __real_malloc(size);
}

typedef struct Host {
        Arena *arena;
        Kernel *kernel;
        Root *root;
        Keeper *keeper;
        uint64_t now_usec;
        bool may_lower; /* a reload gives pages back */
        uint64_t pages[NODES];
        Text reported;
        const char *what;
} Host;

static unsigned stride = 1;
static unsigned heap_stride = 13;
static uint64_t n_runs;

static void require(const Host *host, bool holds, const char *why) {
        if (holds)
                return;
        printf("%s: %s\nreported: %s\n", host->what, why, text_string(&host->reported));
        for (unsigned node = 0; node < NODES; node++)
                printf("node %u: %" PRIu64 " pages, had %" PRIu64 "\n", node,
                       kernel_pool(host->kernel, (int) node, 2 * MIB).total_pages,
                       host->pages[node]);
        exit(1);
}

static void listen(void *userdata, const HistoryEntry *entry) {
        Host *host = userdata;

        if (entry->level.value <= 4 /* LOG_WARNING */)
                text_printf(&host->reported, "%s\n", entry->text ? entry->text : "drift");
}

/* Called after every change. */
static void watch_pools(void *userdata, const char *path UNUSED, const char *text UNUSED,
                        int error UNUSED) {
        const Host *host = userdata;

        for (unsigned node = 0; node < NODES && !host->may_lower; node++)
                require(host,
                        kernel_pool(host->kernel, (int) node, 2 * MIB).total_pages >=
                                host->pages[node],
                        "a pool was lowered");
}

/* ---- the host ---- */

static void describe(Host *host, const char *name, const char *lines) {
        root_write_file(host->root, arena_printf(host->arena, "/etc/hugeplan.d/%s.conf", name),
                        arena_printf(host->arena, "[Instance]\n%s", lines));
}

static void note_pools(Host *host) {
        for (unsigned node = 0; node < NODES; node++)
                host->pages[node] = kernel_pool(host->kernel, (int) node, 2 * MIB).total_pages;
}

static void work(Host *host) {
        ApplyOperation operation;

        while (keeper_next(host->keeper, host->now_usec, &operation)) {
                int r = apply_perform(host->root, &operation);

                host->now_usec += 1000;
                keeper_done(host->keeper, &operation, r, 1000);
        }
}

static void start(Host *host) {
        keeper_free(host->keeper);
        host->keeper = keeper_new(host->root, listen, host);
        keeper_start(host->keeper);
        keeper_begin(host->keeper, KEEPER_START, host->now_usec);
        work(host);
}

static void retry(Host *host) {
        for (unsigned i = 0; i < 6 && keeper_wants_retry(host->keeper, host->now_usec); i++) {
                host->now_usec += 10 * USEC_PER_SEC;
                keeper_begin(host->keeper, KEEPER_RETRY, host->now_usec);
                work(host);
        }
}

/* Three instances: one with a name of its own, one whose unit runs, and one with a learned size. One pool has existing
 * pages. */
__attribute__((format(printf, 1, 2))) static Host *host_new(const char *what, ...) {
        Arena *arena = arena_new();
        Host *host = ARENA_NEW(arena, Host);
        va_list arguments;

        *host = (Host){.arena = arena,
                       .kernel = kernel_new("release 6.1.176\nsizes 2M\nnode 0 total=4G free=3G\n"
                                            "node 1 total=4G free=3G\n"),
                       .now_usec = USEC_PER_SEC,
                       .reported = text_in(arena),
                       .may_lower = true};
        va_start(arguments, what);
        host->what = arena_vprintf(arena, what, arguments);
        va_end(arguments);
        host->root = model_root_new(host->kernel);
        root_write_attribute(host->root,
                             PATH_NODES "/node0/hugepages/hugepages-2048kB/nr_hugepages", "10");
        root_write_file(host->root, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=512M\n");
        describe(host, "20-file", "Name=other\nPages=100\n");
        describe(host, "30-b", "Pages=60\nNodes=1\nUnit=b.service\n");
        describe(host, "40-my", "Engine=mysql\nMemory=auto\n");
        root_write_file(host->root, "/etc/hugeplan.d/40-my.conf.d/90-learned.conf",
                        "[Instance]\nPages=2M:70\nX-Exact=yes\nX-Rule=2M:70\n");
        kernel_group_make(host->kernel, "/system.slice/b.service");
        start(host);
        note_pools(host);
        host->reported.length = 0;
        host->may_lower = false;
        model_root_set_hooks(host->root, &(ModelRootHooks){.after = watch_pools, .userdata = host});
        return host;
}

static void host_free(Host *host) {
        keeper_free(host->keeper);
        root_free(host->root);
        kernel_free(host->kernel);
        arena_free(host->arena);
        n_runs++;
}

/* ---- operations during which reads fail ---- */

static void start_again(Host *host) {
        start(host);
}

static void begin_again(Host *host) {
        keeper_begin(host->keeper, KEEPER_FRESH, host->now_usec);
        work(host);
}

static void verify(Host *host) {
        bool wants_repair;

        if (keeper_verify(host->keeper, false, true, host->now_usec, &wants_repair))
                work(host);
}

static void reload(Host *host) {
        keeper_reload(host->keeper, false, host->now_usec);
        work(host);
}

static void pass_gate(Host *host) {
        Gate gate = {.instance = "b",
                     .is_starting = true,
                     .unit = "b.service",
                     .group = PATH_CGROUP "/system.slice/b.service",
                     .run = "1"};

        for (unsigned i = 0; i < 4; i++) {
                StatusInstance instance;
                Reason reason;
                GateView view = {};
                GateAnswer answer =
                        keeper_try_gate(host->keeper, &view, &gate, true, &instance, &reason);

                keeper_end_gates(host->keeper, &view);
                require(host, answer != GATE_GONE,
                        "a gate gets the answer that there is no instance");
                require(host, answer != GATE_REFUSE, "a gate is refused because of a failed read");
                if (answer == GATE_PASS)
                        return;
                keeper_begin(host->keeper, KEEPER_FRESH, host->now_usec);
                work(host);
        }
}

static const struct {
        const char *name;
        void (*act)(Host *host);
} acts[] = {
        {"start", start_again}, {"round", begin_again}, {"verify", verify},
        {"reload", reload},     {"gate", pass_gate},
};

static const struct {
        const char *name;
        uint64_t times;
} lengths[] = {{"once", 1}, {"three times", 3}, {"for good", UINT64_MAX}};

static const int errors[] = {-EIO, -EMFILE, -ENOMEM, -EINTR, -ENFILE};

/* ---- properties ---- */

static void check_end(Host *host, void (*act)(Host *host)) {
        model_root_fail_reads(host->root, UINT64_MAX / 2, 1, 0);
        retry(host);
        if (act == reload || act == pass_gate)
                act(host);
        retry(host);
        watch_pools(host, NULL, NULL, 0);
        for (unsigned node = 0; node < NODES; node++)
                require(host,
                        kernel_pool(host->kernel, (int) node, 2 * MIB).total_pages ==
                                host->pages[node],
                        "the pools are not as they were");
        Status *status = keeper_judge(host->keeper, host->arena, false);

        require(host, status->n_instances == 3, "instances are missing");
        for (size_t i = 0; i < status->n_instances; i++)
                require(host, status->instances[i].verdict == VERDICT_READY,
                        arena_printf(host->arena, "%s: %s", status->instances[i].name,
                                     status->instances[i].reason.text));
        VEC_FOREACH(problem, &status->problems.list)
                require(host, problem->severity != SEVERITY_ERROR, problem->text);
        require(host, plan_count_changed(keeper_look(host->keeper)->plan) == 0,
                "the plan wants more");
        const LedgerPool *pool = ledger_pool(keeper_look(host->keeper)->ledger, 0, 2 * MIB);

        require(host, pool && pool->found_pages == 10, "the existing pages are forgotten");
}

/* How many reads and allocations there are without a fault. */
typedef struct Counts {
        uint64_t reads, allocations;
} Counts;

static Counts count(void (*act)(Host *host)) {
        Host *host = host_new("undisturbed");
        uint64_t reads = model_root_reads(host->root), allocations = heap.n;

        act(host);
        Counts counts = {model_root_reads(host->root) - reads, heap.n - allocations};

        host_free(host);
        return counts;
}

static void test_every_read(void) {
        for (size_t a = 0; a < ARRAY_LEN(acts); a++) {
                uint64_t n_reads = count(acts[a].act).reads;

                for (size_t k = 0; k < ARRAY_LEN(lengths); k++)
                        for (uint64_t n = 1 + k % stride; n <= n_reads; n += stride) {
                                int error = errors[n % ARRAY_LEN(errors)];
                                Host *host = host_new("%s: read %" PRIu64 " fails %s (%d)",
                                                      acts[a].name, n, lengths[k].name, error);

                                model_root_fail_reads(host->root, n, lengths[k].times, error);
                                acts[a].act(host);
                                check_end(host, acts[a].act);
                                host_free(host);
                        }
                printf("%s: %" PRIu64 " reads\n", acts[a].name, n_reads);
        }
}

/* Values that used the reserve are dropped, and made again when there is memory. */
static void run_without_memory(size_t a, uint64_t n, size_t length) {
        Host *host = host_new("%s: allocation %" PRIu64 " fails %s", acts[a].name, n,
                              lengths[length].name);
        unsigned n_shortages = memory_shortages();

        heap.times = lengths[length].times;
        heap.at = heap.n + n;
        acts[a].act(host);
        heap.at = UINT64_MAX;
        require(host, memory_shortages() != n_shortages, "the reserve was not needed");
        if (n == 1 && heap.times == UINT64_MAX && acts[a].act != start_again)
                require(host, strstr(text_string(&host->reported), "there is no memory"),
                        "the lack of memory is not reported");
        check_end(host, acts[a].act);
        host_free(host);
}

/* Each relevant file and directory, permanently unreadable: the fault is reported with the path, and nothing is done. */
static void test_fault_is_reported(void) {
        static const char *const paths[] = {
                PATH_CONFIG_ETC,
                PATH_CONFIG_ETC "/20-file.conf",
                PATH_HUGEPAGES,
                PATH_NODES,
                PATH_NODES "/node1/hugepages",
                PATH_NODES "/node1/hugepages/hugepages-2048kB/nr_hugepages",
                PATH_NODES "/node0/hugepages/hugepages-2048kB/free_hugepages",
                PATH_NODES "/node0/meminfo",
                PATH_MEMINFO,
                PATH_BOOT_ID,
                PATH_LEDGER,
                PATH_BOOT_COUNT,
                PATH_BOOT_PROVEN,
                PATH_CGROUP,
                PATH_SYS,
                PATH_PROC,
        };

        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
                for (size_t a = 0; a < ARRAY_LEN(acts); a++) {
                        Host *host = host_new("%s: %s is broken", acts[a].name, paths[i]);
                        bool is_config = strncmp(paths[i], "/etc/hugeplan.d", 15) == 0 &&
                                         !strstr(paths[i], "/.");
                        /* Only a start reads these files, and decides about the boot guard. */
                        bool is_of_start = strcmp(paths[i], PATH_LEDGER) == 0 ||
                                           strcmp(paths[i], PATH_BOOT_COUNT) == 0 ||
                                           strcmp(paths[i], PATH_BOOT_PROVEN) == 0;
                        bool is_read = (acts[a].act == start_again || acts[a].act == reload ||
                                        !is_config) &&
                                       (acts[a].act == start_again || !is_of_start);

                        model_root_break(host->root, paths[i], -EIO);
                        acts[a].act(host);
                        if (is_read) {
                                const char *reported = text_string(&host->reported);

                                require(host, strstr(reported, paths[i]) != NULL,
                                        "the path is not reported");
                                require(host, strstr(reported, strerror(EIO)) != NULL,
                                        "the error is not reported");
                        }
                        if (is_read && acts[a].act == reload)
                                require(host,
                                        keeper_reload_result(host->keeper).state ==
                                                KEEPER_RELOAD_REJECTED,
                                        "the reload is not rejected");
                        retry(host);
                        model_root_break(host->root, NULL, 0);
                        check_end(host, acts[a].act);
                        host_free(host);
                }
}

/* A reload that removes an instance takes effect as a whole, or is rejected and changes nothing. */
static void test_reload_gives_back_whole(void) {
        uint64_t n_reads = 0, n_rejected = 0;

        for (uint64_t n = 0; n == 0 || n <= n_reads; n += n == 0 ? 1 : stride) {
                Host *host = host_new("reload without b: read %" PRIu64 " fails for good", n);
                uint64_t before = model_root_reads(host->root);

                root_remove(host->root, "/etc/hugeplan.d/30-b.conf");
                kernel_group_remove(host->kernel, "/system.slice/b.service");
                host->may_lower = true;
                if (n > 0)
                        model_root_fail_reads(host->root, n, UINT64_MAX, -EIO);
                reload(host);
                if (n == 0)
                        n_reads = model_root_reads(host->root) - before;
                KeeperReloadResult result = keeper_reload_result(host->keeper);
                uint64_t now = kernel_pool(host->kernel, 1, 2 * MIB).total_pages;

                if (result.state == KEEPER_RELOAD_REJECTED) {
                        n_rejected++;
                        require(host, result.problems.list.n > 0, "rejected without a reason");
                        require(host, now == host->pages[1], "rejected, and pages are missing");
                        model_root_fail_reads(host->root, UINT64_MAX / 2, 1, 0);
                        host->may_lower = false;
                        retry(host);
                        note_pools(host);
                        require(host, host->pages[1] == now, "rejected, and done later");
                        host->may_lower = true;
                        reload(host);
                } else {
                        require(host, result.state == KEEPER_RELOAD_APPLIED,
                                "neither applied nor rejected");
                        model_root_fail_reads(host->root, UINT64_MAX / 2, 1, 0);
                        retry(host);
                }
                require(host,
                        keeper_reload_result(host->keeper).state == KEEPER_RELOAD_APPLIED &&
                                kernel_pool(host->kernel, 1, 2 * MIB).total_pages < host->pages[1],
                        "the pages of the removed instance are still there");
                require(host, kernel_pool(host->kernel, 0, 2 * MIB).total_pages == host->pages[0],
                        "other instances lost pages");
                host_free(host);
        }
        printf("reload without b: %" PRIu64 " reads, %" PRIu64 " rejected\n", n_reads, n_rejected);
}

/* While pages that others removed are restored, counts cannot be read: the existing pages stay known. */
static void test_a_count_unread_between_writes(void) {
        for (uint64_t n = 1; n<1200; n += stride> 10 ? 7 : 1) {
                Host *host = host_new("pages are put back: read %" PRIu64 " fails", n);

                host->may_lower = true;
                root_write_attribute(host->root,
                                     PATH_NODES "/node0/hugepages/hugepages-2048kB/nr_hugepages",
                                     "12");
                model_root_fail_reads(host->root, n, 3 + n % 2 * 20, -EIO);
                begin_again(host);
                model_root_fail_reads(host->root, UINT64_MAX / 2, 1, 0);
                for (unsigned i = 0; i < 3; i++) {
                        retry(host);
                        verify(host);
                }
                check_end(host, begin_again);
                host_free(host);
        }
}

/* As in a boot after three failed ones, before it was counted. */
static void fail_boots(Host *host) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Ledger *proven = ledger_new(arena, "");
        const BootGuard guard = {.failed_boots = 3, .boot_id = "earlier", .proven = proven};
        LedgerInstance *instance = vec_push(arena, &proven->instances);

        *instance = (LedgerInstance){.name = "b", .page_size_bytes = 2 * MIB};
        pages_add_on(arena, &instance->grants, 0, 60);
        root_remove(host->root, PATH_LEDGER);
        boot_count_save(host->root, arena, &guard);
        boot_proven_save(host->root, arena, &guard);
}

/* A read that fails at the daemon's start does not change what the boot guard decides from the count. */
static void test_guard_is_decided_by_what_is_read(void) {
        uint64_t n_reads = 0;

        for (uint64_t n = 0; n == 0 || n <= n_reads; n += n == 0 ? 1 : stride) {
                Host *host = host_new("start after failed boots: read %" PRIu64 " fails", n);
                uint64_t before = model_root_reads(host->root);

                fail_boots(host);
                if (n > 0)
                        model_root_fail_reads(host->root, n, 1 + n % 2 * 3, -EIO);
                start(host);
                if (n == 0)
                        n_reads = model_root_reads(host->root) - before;
                model_root_fail_reads(host->root, UINT64_MAX / 2, 1, 0);
                retry(host);
                require(host, keeper_look(host->keeper)->ledger->guard == LEDGER_GUARD_CLOSED,
                        "the guard was opened");
                Status *status = keeper_judge(host->keeper, host->arena, false);

                for (size_t i = 0; i < status->n_instances; i++)
                        require(host,
                                (status->instances[i].verdict == VERDICT_READY) ==
                                        text_equals(status->instances[i].name, "b"),
                                arena_printf(host->arena, "%s: %s", status->instances[i].name,
                                             status->instances[i].reason.text));
                host_free(host);
        }
        printf("start after failed boots: %" PRIu64 " reads\n", n_reads);
}

int main(int argc, char **argv) {
        uint64_t number;

        if (argc > 1 && parse_u64(argv[1], &number) == 0 && number > 0)
                stride = heap_stride = (unsigned) number;
        if (text_equals(getenv("HUGEPLAN_FAULTS"), "few")) {
                stride = MAX(stride, 17u);
                heap_stride = MAX(heap_stride, 40u);
        }
        json_set_alloc_funcs(memory_new_unset, memory_free);
        setvbuf(stdout, NULL, _IOLBF, 0);
        test_fault_is_reported();
        /* A file that stays unreadable during three starts: its instance's pages stay. */
        Host *host = host_new("a file that stays unreadable");

        model_root_break(host->root, PATH_CONFIG_ETC "/20-file.conf", -EIO);
        for (unsigned i = 0; i < 3; i++) {
                start(host);
                retry(host);
                begin_again(host);
                verify(host);
        }
        model_root_break(host->root, NULL, 0);
        check_end(host, reload);
        host_free(host);
        test_a_count_unread_between_writes();
        test_guard_is_decided_by_what_is_read();
        test_every_read();
        for (size_t a = 0; a < ARRAY_LEN(acts); a++) {
                uint64_t n_allocations = count(acts[a].act).allocations;

                for (size_t k = 0; k < ARRAY_LEN(lengths); k++)
                        for (uint64_t n = 1 + k % heap_stride; n <= n_allocations; n += heap_stride)
                                run_without_memory(a, n, k);
                printf("%s: %" PRIu64 " allocations\n", acts[a].name, n_allocations);
        }
        test_reload_gives_back_whole();
        printf("%" PRIu64 " runs\n", n_runs);
        return 0;
}
