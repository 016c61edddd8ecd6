/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/play.h"

#include "base/size.h"
#include "host/state.h"

#include <fcntl.h>
#include <signal.h>
#include <syslog.h>
#include <unistd.h>

/* ---- the kernel ---- */

void show_host(const Play *play) {
        const Tree *tree = play->tree;

        for (unsigned node = 0; node < NODES; node++) {
                const PlayedPool *pool = &play->pools[node];
                uint64_t free_kib = (NODE_PAGES - MIN(pool->total, (uint64_t) NODE_PAGES)) * 2048 +
                                    1024 * 1024 - pool->lost * 2048; /* KeepFree=1G */

                tree_write(tree, arena_printf(tree->arena, POOL_FORMAT, node, "nr_hugepages"),
                           arena_printf(tree->arena, "%" PRIu64 "\n", pool->total));
                tree_write(tree, arena_printf(tree->arena, POOL_FORMAT, node, "free_hugepages"),
                           arena_printf(tree->arena, "%" PRIu64 "\n", pool->total - pool->used));
                tree_write(tree, arena_printf(tree->arena, POOL_FORMAT, node, "surplus_hugepages"),
                           "0\n");
                tree_write(tree, arena_printf(tree->arena, NODE_FORMAT "meminfo", node),
                           arena_printf(tree->arena,
                                        "Node %u MemTotal: 16777216 kB\nNode %u MemFree: %" PRIu64
                                        " kB\n",
                                        node, node, free_kib));
        }
        tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                   arena_printf(tree->arena, "%" PRIu64 "\n",
                                play->pools[0].total + play->pools[1].total));
        tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages",
                   arena_printf(tree->arena, "%" PRIu64 "\n", play->reserved));
}

void react(Play *play, const ApplyOperation *operation) {
        PlayedPool *pool = &play->pools[operation->node];

        if (operation->move.action != ESCALATION_WRITE)
                return;
        text_printf(&play->writes, "%s%u:%" PRIu64, play->writes.length > 0 ? " " : "",
                    operation->node, operation->move.pages);
        pool->most = add_saturated(pool->most, pool->more);
        pool->total = MAX(MIN(operation->move.pages, MAX(pool->most, pool->total)), pool->used);
        show_host(play);
}

HostFiles break_host(void) {
        HostFiles before;

        getrlimit(RLIMIT_NOFILE, &before);
        setrlimit(RLIMIT_NOFILE, &(HostFiles){0, before.rlim_max}); /* EMFILE */
        return before;
}

void mend_host(const HostFiles *before) {
        setrlimit(RLIMIT_NOFILE, before);
}

int lease_file(const Play *play, const char *path) {
        int fd = open(tree_path(play->tree, path), O_RDWR | O_CLOEXEC);

        signal(SIGIO, SIG_IGN);
        if (fd >= 0 && fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
                close(fd);
                return -1;
        }
        return fd;
}

void set_pool(Play *play, unsigned node, uint64_t pages) {
        play->pools[node].total = pages;
        show_host(play);
}

/* ---- systemd ---- */

void start_unit(Play *play, const char *unit, uint64_t mapped, uint64_t used) {
        const Tree *tree = play->tree;
        const char *group = arena_printf(tree->arena, GROUPS "%s", unit);

        tree_write(tree, arena_printf(tree->arena, "%s/cgroup.procs", group), "100\n");
        tree_write(tree, arena_printf(tree->arena, "%s/hugetlb.2MB.rsvd.current", group),
                   arena_printf(tree->arena, "%" PRIu64 "\n", mapped * 2 * MIB));
        tree_write(tree, arena_printf(tree->arena, "%s/hugetlb.2MB.numa_stat", group),
                   arena_printf(tree->arena, "total=%" PRIu64 " N0=%" PRIu64 " N1=0\n",
                                used * 2 * MIB, used * 2 * MIB));
        tree_write(tree, arena_printf(tree->arena, "%s/hugetlb.2MB.rsvd.max", group), "max\n");
        tree_write(tree, arena_printf(tree->arena, "%s/hugetlb.2MB.events", group), "max 0\n");
        play->reserved += mapped - used;
        play->pools[0].used += used;
        show_host(play);
}

void stop_unit(Play *play, const char *unit, uint64_t mapped, uint64_t used) {
        static const char *const files[] = {"cgroup.procs", "hugetlb.2MB.rsvd.current",
                                            "hugetlb.2MB.numa_stat", "hugetlb.2MB.rsvd.max",
                                            "hugetlb.2MB.events"};
        const Tree *tree = play->tree;
        const char *group = arena_printf(tree->arena, GROUPS "%s", unit);

        for (size_t i = 0; i < ARRAY_LEN(files); i++)
                remove(tree_path(tree, arena_printf(tree->arena, "%s/%s", group, files[i])));
        assert_int_equal(remove(tree_path(tree, group)), 0);
        play->reserved -= mapped - used;
        play->pools[0].used -= used;
        show_host(play);
}

void use_pages(Play *play, const char *unit, uint64_t mapped, uint64_t used) {
        play->reserved -= play->unit_mapped - play->unit_used;
        play->pools[0].used -= play->unit_used;
        start_unit(play, unit, mapped, used);
        play->unit_mapped = mapped;
        play->unit_used = used;
}

/* ---- the owner of a keeper ---- */

size_t count(const Text *text, const char *needle) {
        size_t n = 0;

        for (const char *at = text_string(text); (at = strstr(at, needle)); at++)
                n++;
        return n;
}

static void listen(void *userdata, const HistoryEntry *entry) {
        Play *play = userdata;

        bool is_of_pool = entry->figures.node.is_known;

        text_printf(entry->level.value <= LOG_WARNING ? &play->warnings : &play->notices, "%s%s\n",
                    entry->instances.n > 0 && !is_of_pool ? entry->instances.items[0] : "",
                    entry->text);
        if (is_of_pool)
                play->moved = entry->figures;
}

void write_config(const Play *play, const char *name, const char *lines) {
        tree_write(play->tree, arena_printf(play->tree->arena, "/etc/hugeplan.d/%s.conf", name),
                   arena_printf(play->tree->arena, "[Instance]\n%s\n", lines));
}

void remove_config(const Play *play, const char *name) {
        const char *path = arena_printf(play->tree->arena, "/etc/hugeplan.d/%s.conf", name);

        assert_int_equal(remove(tree_path(play->tree, path)), 0);
}

void boot(Play *play) {
        keeper_free(play->keeper);
        play->keeper = keeper_new(play->tree->root, listen, play);
        keeper_start(play->keeper);
}

Play *play_new(void) {
        const Tree *tree = tree_new();
        Play *play = ARENA_NEW(tree->arena, Play);

        *play = (Play){.tree = tree,
                       .writes = text_in(tree->arena),
                       .warnings = text_in(tree->arena),
                       .notices = text_in(tree->arena)};
        for (unsigned node = 0; node < NODES; node++) {
                play->pools[node].most = UINT64_MAX;
                tree_write(tree, arena_printf(tree->arena, NODE_FORMAT "compact", node), "");
        }
        tree_write(tree, "/proc/sys/kernel/random/boot_id", "boot\n");
        tree_write(tree, "/etc/hugeplan.d/00.conf", "[Host]\nKeepFree=1G\n");
        tree_write(tree, "/sys/fs/cgroup/cgroup.controllers", "hugetlb\n");
        tree_write(tree, "/sys/fs/cgroup/cgroup.subtree_control", "hugetlb\n");
        tree_write(tree, GROUPS "cgroup.subtree_control", "hugetlb\n");
        show_host(play);
        return play;
}

void play_free(Play *play) {
        keeper_free(play->keeper);
        tree_free(play->tree);
}

const char *run(Play *play) {
        ApplyOperation operation;

        play->writes = text_in(play->tree->arena);
        while (keeper_next(play->keeper, play->now_usec, &operation)) {
                int r = apply_perform(play->tree->root, &operation);

                react(play, &operation);
                keeper_done(play->keeper, &operation, r, 1000);
                play->now_usec += 1000;
        }
        assert_false(keeper_is_working(play->keeper));
        return arena_strdup(play->tree->arena,
                            play->writes.length > 0 ? text_string(&play->writes) : "-");
}

const char *round_of(Play *play) {
        keeper_begin(play->keeper, KEEPER_FRESH, play->now_usec);
        return run(play);
}

void begin(Play *play, const char *a, const char *b) {
        write_config(play, "a", a);
        if (b)
                write_config(play, "b", b);
        boot(play);
}

void settle(Play *play, const char *a, const char *b) {
        begin(play, a, b);
        round_of(play);
}

bool verify_as(Play *play, bool has_memory, bool may_repair) {
        return keeper_verify(play->keeper, has_memory, may_repair, play->now_usec,
                             &play->wants_repair);
}

bool verify(Play *play) {
        return verify_as(play, false, true);
}

const StatusInstance *status_of(const Play *play, const char *name) {
        return status_find(keeper_judge(play->keeper, play->tree->arena, false), name);
}

const char *problems_of(const Play *play) {
        return problems_text(play->tree->arena,
                             &keeper_judge(play->keeper, play->tree->arena, false)->problems);
}

const char *state_text(const Play *play) {
        static const char *const policies[] = {"unknown", "any", "bind", "interleave"};
        const char *wrong = NULL;
        Arena *arena = play->tree->arena;
        const Ledger *ledger = state_load(play->tree->root, arena, "boot", &wrong);
        Text text = text_in(arena);

        assert_null(wrong);
        VEC_FOREACH(instance, &ledger->instances) {
                text_printf(&text, "%s%s%s", text.length > 0 ? "; " : "", instance->name,
                            instance->is_released ? " released" : "");
                VEC_FOREACH(grant, &instance->grants)
                        text_printf(&text, "%s%u:%" PRIu64,
                                    grant == instance->grants.items ? " " : "/", grant->node,
                                    grant->pages);
        }
        VEC_FOREACH(hold, &ledger->holds)
                text_printf(&text,
                            "%s"
                            "hold %s/%s %" PRIu64 " %s%s%s%s",
                            text.length > 0 ? "; " : "", hold->unit, hold->granted.name,
                            ledger_granted_pages(&hold->granted), policies[hold->policy.kind],
                            hold->is_counted ? " counted"
                            : hold->earlier  ? arena_printf(play->tree->arena, " beside %" PRIu64,
                                                            hold->earlier->reserved_pages)
                                             : "",
                            *hold->run ? " run " : "", hold->run);
        return arena_strdup(arena, text.length > 0 ? text_string(&text) : "-");
}

const LedgerPool *pool_on_disk(const Play *play, unsigned node) {
        const char *wrong;

        return ledger_pool(state_load(play->tree->root, play->tree->arena, "boot", &wrong), node,
                           2 * MIB);
}

/* ---- gates ---- */

Gate starting_as(const Play *play, const char *instance, const char *unit, const char *run) {
        Arena *arena = play->tree->arena;

        return (Gate){.instance = instance,
                      .is_starting = true,
                      .unit = unit ? unit : arena_printf(arena, "%s.service", instance),
                      .policy = {.kind = MEMORY_POLICY_ANY},
                      .group = unit ? arena_printf(arena, GROUPS "%s", unit) : NULL,
                      .run = run};
}

Gate starting(const Play *play, const char *instance, const char *unit) {
        return starting_as(play, instance, unit, "r1");
}

const char *try_gate(Play *play, Gate *gate, bool may_try) {
        Arena *arena = play->tree->arena;
        StatusInstance instance = {};
        Reason reason = {};

        GateView view = {};
        GateAnswer answer = keeper_try_gate(play->keeper, &view, gate, may_try, &instance, &reason);

        reason.text = arena_strdup(arena, reason.text);
        keeper_end_gates(play->keeper, &view);
        switch (answer) {
        case GATE_PASS:
                return instance.verdict == VERDICT_DEGRADED ? "degraded" : "pass";
        case GATE_WAIT:
                return "wait";
        case GATE_PENDING:
                return arena_printf(arena, "pending: %s", reason.text);
        case GATE_REFUSE:
                return arena_printf(arena, "refuse: %s", reason.text);
        case GATE_GONE:
                return "gone";
        }
        return NULL;
}

const char *pass_gate(Play *play, Gate *gate) {
        const char *answer;

        for (play->n_rounds = 0; text_equals(answer = try_gate(play, gate, true), "wait");
             play->n_rounds++) {
                assert_uint_in_range(play->n_rounds, 0, 20);
                round_of(play);
        }
        return answer;
}

const char *let_start(Play *play, Gate *gate) {
        start_unit(play, gate->group + strlen(GROUPS), 0, 0);
        return pass_gate(play, gate);
}
