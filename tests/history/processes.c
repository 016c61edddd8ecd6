/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Units that systemd starts and stops, and other processes. */
#include "history/history.h"

#include "base/size.h"
#include "base/text.h"
#include "model/kernel_files.h"
#include "model/names.h"

/* ---- units ---- */

KernelPolicy kernel_policy(const History *history, const MemoryPolicy *policy) {
        uint64_t there = kernel_memory_nodes(history->kernel);

        switch (policy->kind) {
        case MEMORY_POLICY_BIND:
                return (KernelPolicy){KERNEL_POLICY_BIND, policy->nodes.words[0] & there};
        case MEMORY_POLICY_INTERLEAVE:
                return (KernelPolicy){KERNEL_POLICY_INTERLEAVE, policy->nodes.words[0] & there};
        default:
                return (KernelPolicy){};
        }
}

static unsigned random_cpu_node(History *history) {
        uint64_t nodes = kernel_cpu_nodes(history->kernel);
        unsigned node;

        do
                node = (unsigned) draw(history, 0, history->n_nodes - 1);
        while (!(nodes & (UINT64_C(1) << node)));
        return node;
}

/* In one or several mappings, as servers do. */
static int map_claim(KernelProcess *process, const Claim *claim, bool is_private, Random *random) {
        uint64_t left = claim->pages - claim->mapped;

        while (left > 0) {
                uint64_t n = random_chance(random, 60) ? left : random_between(random, 1, left);
                KernelMapping *mapping;
                int r = kernel_map(process,
                                   &(KernelMap){.page_bytes = claim->page_bytes,
                                                .n_pages = n,
                                                .is_private = is_private},
                                   &mapping);

                if (r < 0)
                        return r;
                left -= n;
        }
        return 0;
}

KernelSegment *mount_file(Kernel *kernel, const char *path) {
        return kernel_open((KernelMount *) kernel_mount_at(kernel, path), "memory");
}

static int map_in_mount(Kernel *kernel, KernelProcess *process, const Claim *claim) {
        KernelMapping *mapping;

        return kernel_map(
                process,
                &(KernelMap){.n_pages = claim->pages, .segment = mount_file(kernel, claim->mount)},
                &mapping);
}

int claims_map(Kernel *kernel, KernelProcess *process, const Unit *unit, Random *random) {
        for (size_t i = 0; i < unit->n_claims; i++) {
                int r = unit->claims[i].mount
                                ? map_in_mount(kernel, process, &unit->claims[i])
                                : map_claim(process, &unit->claims[i], unit->is_private, random);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* ---- mounts ---- */

static Mounted *find_mounted(const History *history, const char *instance) {
        return ARRAY_FIND(mounted, (Mounted *) history->mounts, MOUNTS,
                          mounted->mount && text_equals(mounted->instance, instance));
}

const char *mount_of(const History *history, const char *instance) {
        const Mounted *mounted = find_mounted(history, instance);

        return mounted ? mounted->path : NULL;
}

bool mount_may_differ(const History *history, const char *instance) {
        const Mounted *mounted = find_mounted(history, instance);

        return mounted && (history->is_edited || mounted->is_outdated);
}

static void unmount(History *history, Mounted *mounted) {
        trace(history, "      umount %s", mounted->path);
        if (kernel_unmount(mounted->mount) == 0)
                mounted->mount = NULL;
        history->is_settled = false;
}

void mount_outdate(History *history, const char *instance) {
        Mounted *mounted = find_mounted(history, instance);

        if (!mounted)
                return;
        if (history->units[mounted->unit].state == UNIT_DOWN)
                unmount(history, mounted);
        else
                mounted->is_outdated = true;
}

/* Returns false if the gate before the mount or mount(2) fails. The unit then does not start. */
static bool make_mount(History *history, const Described *described) {
        Mounted *place = ARRAY_FIND(mounted, history->mounts, MOUNTS, !mounted->mount);
        Gate gate = {.instance = described->name, .run = ""};
        Verdict verdict;

        if (!place || !daemon_admits(history, &gate, &verdict))
                return false;
        const char *path = arena_printf(history->arena, "/mnt/%s", described->name);
        int r = kernel_mount(history->kernel, NULL, path, described->page_bytes,
                             described->mount_min > 0 ? described->mount_min : UINT64_MAX,
                             described->pages, &place->mount);

        trace(history, "      mount %s size=%" PRIu64 " min_size=%" PRIu64 "%s", path,
              described->pages, described->mount_min, r < 0 ? ": ENOMEM" : "");
        if (r < 0) {
                place->mount = NULL;
                return false;
        }
        place->instance = described->name;
        place->path = path;
        place->unit = described->unit;
        place->is_outdated = false;
        return true;
}

/* systemd mounts before it makes the unit's control group. */
static bool make_mounts(History *history, const Unit *unit) {
        for (size_t i = 0; i < DESCRIBED; i++) {
                const Described *described = &history->described[i];

                if (described->name && described->has_mount &&
                    described->unit == unit - history->units &&
                    !find_mounted(history, described->name) && !make_mount(history, described))
                        return false;
        }
        return true;
}

/* Some servers remove their files when they stop. */
static void leave_mounts(History *history, const Unit *unit) {
        for (size_t i = 0; i < MOUNTS; i++) {
                Mounted *mounted = &history->mounts[i];

                if (!mounted->mount || mounted->unit != unit - history->units)
                        continue;
                if (mounted->is_outdated)
                        unmount(history, mounted);
                else if (chance(history, 50))
                        kernel_remove_segment(mount_file(history->kernel, mounted->path));
                else
                        trace(history, "      the file in %s stays", mounted->path);
        }
}

/* ---- starting, stopping ---- */

static void remove_unit(History *history, Unit *unit) {
        if (unit->process)
                kernel_exit(unit->process);
        unit->process = NULL;
        unit->state = UNIT_DOWN;
        unit->is_starting = false;
        unit->n_claims = 0;
        kernel_group_remove(history->kernel, unit->group);
        leave_mounts(history, unit);
        history->is_settled = false;
}

void unit_stop(History *history, Unit *unit) {
        trace(history, "      %s stops", unit->name);
        remove_unit(history, unit);
}

/* With KillMode=process the unit's process continues in the unit's group, as another process. */
bool unit_leave_behind(History *history, Unit *unit) {
        OtherProcess *other = ARRAY_FIND(each, history->others, OTHERS, !each->process);

        if (!history->options->leaves_processes || !other || !chance(history, 50))
                return false;
        trace(history, "      %s stops, and pid %" PRIu64 " continues", unit->name,
              kernel_pid(unit->process));
        *other = (OtherProcess){.process = TAKE_PTR(unit->process),
                                .policy = kernel_policy(history, &unit->run_policy),
                                .is_reserved = true};
        remove_unit(history, unit);
        return true;
}

/* One by one. FIRST: how many have passed already. */
static bool pass_gates(History *history, Unit *unit, size_t first) {
        for (size_t i = first; i < unit->n_gates; i++) {
                StartGate gate = {unit, unit->gates[i]};

                daemon_gates(history, &gate, 1);
                if (!gate.has_passed || history->failure)
                        return false;
        }
        return true;
}

void unit_make_group(History *history, const Unit *unit) {
        kernel_group_make(history->kernel, unit->group);
        kernel_group_write(
                history->kernel, unit->group, "cpuset.mems",
                unit->nodes == 0 ? ""
                                 : id_set_format(history->arena, &(IdSet){.words = {unit->nodes}}));
}

static void begin_start(History *history, Unit *unit) {
        unit->run = arena_printf(history->arena, "r%u", ++unit->n_runs);
        if (history->options->fills_run)
                model_root_add(history->root,
                               arena_printf(history->arena, PATH_SYSTEMD_RUN "%s", unit->name),
                               unit->run, strlen(unit->run));
        unit->run_policy = unit->policy;
        unit->n_claims = 0;
        unit->is_short = false;
        unit->is_starting = true;
        unit->was_gated = unit->n_gates > 0;
        history->is_settled = false;
}

void unit_start(History *history, Unit *unit) {
        begin_start(history, unit);
        unit->was_gated = unit->was_gated && !chance(history, 4);
        /* The daemon notices the end of the previous run before this start. Otherwise it would learn of it at the
         * gate only. */
        if (!unit->was_gated)
                daemon_verify(history, false);
        trace(history, "      %s starts%s", unit->name, unit->was_gated ? "" : " without a gate");
        bool has_mounts = !unit->was_gated || make_mounts(history, unit);

        unit_make_group(history, unit);
        if (unit->was_gated && (!has_mounts || history->failure || !pass_gates(history, unit, 0))) {
                remove_unit(history, unit);
                return;
        }
        if (!unit->was_gated) {
                /* The unit maps what its settings say, without the daemon. */
                unit->n_claims = 0;
                for (size_t i = 0; i < DESCRIBED && unit->n_claims < CLAIMS; i++) {
                        const Described *described = &history->described[i];

                        if (described->name && described->unit == unit - history->units)
                                unit->claims[unit->n_claims++] =
                                        (Claim){described->page_bytes, described->pages, NULL, 0};
                }
        }
        unit->state = UNIT_ADMITTED;
}

bool some_unit_starts_or_stops(History *history) {
        Unit *unit = &history->units[draw(history, 0, UNITS - 1)];

        if ((unit->is_starting && unit->state == UNIT_DOWN) || history->options->has_mounts)
                return false;
        history->is_in_round = true;
        if (unit->state == UNIT_UP)
                unit_stop(history, unit);
        else if (unit->state == UNIT_DOWN && unit->n_gates > 0)
                unit_start(history, unit);
        history->is_in_round = false;
        return true;
}

/* The first gates of all units run at the same time; a unit's further gates run one by one afterwards. */
size_t units_start(History *history) {
        StartGate gates[UNITS];
        size_t n = 0;

        for (size_t i = 0; i < UNITS; i++) {
                Unit *unit = &history->units[i];

                if (unit->state != UNIT_DOWN || unit->n_gates == 0 || !chance(history, 80))
                        continue;
                begin_start(history, unit);
                trace(history, "      %s starts at the same time as others", unit->name);
                bool has_mounts = make_mounts(history, unit);

                unit_make_group(history, unit);
                if (has_mounts && !history->failure)
                        gates[n++] = (StartGate){unit, unit->gates[0]};
                else
                        remove_unit(history, unit);
        }
        if (n > 0)
                daemon_gates(history, gates, n);
        for (size_t i = 0; i < n; i++) {
                Unit *unit = gates[i].unit;

                if (gates[i].has_passed && !history->failure && pass_gates(history, unit, 1))
                        unit->state = UNIT_ADMITTED;
                else
                        remove_unit(history, unit);
        }
        return n;
}

static const char *policy_text(const History *history, const KernelPolicy *policy) {
        static const char *const names[] = {"any", "bind", "interleave", "preferred"};

        return policy->mode == KERNEL_POLICY_LOCAL
                       ? names[0]
                       : arena_printf(
                                 history->arena, "%s %s", names[policy->mode],
                                 id_set_format(history->arena, &(IdSet){.words = {policy->nodes}}));
}

void unit_map(History *history, Unit *unit) {
        KernelPolicy policy = kernel_policy(history, &unit->run_policy);
        Unit part = *unit;
        int r;

        if (!unit->process)
                unit->process = kernel_spawn(history->kernel,
                                             &(KernelSpawn){.name = unit->name,
                                                            .group = unit->group,
                                                            .policy = policy,
                                                            .cpu_node = random_cpu_node(history)});
        unit->state = UNIT_UP;
        history->is_settled = false;
        ARRAY_FOREACH(claim, part.claims, part.n_claims)
                if (history->options->maps_in_parts && unit->was_gated && chance(history, 50))
                        claim->pages = draw(history, claim->mapped, claim->pages);
        r = claims_map(history->kernel, unit->process, &part, &history->random);
        for (size_t i = 0; i < unit->n_claims; i++) {
                trace(history, "      %s maps %" PRIu64 " pages of %s (%s)%s", unit->name,
                      part.claims[i].pages - part.claims[i].mapped,
                      format_page_size(history->arena, unit->claims[i].page_bytes),
                      policy_text(history, &policy), r < 0 ? ": ENOMEM" : "");
                unit->claims[i].mapped = part.claims[i].pages;
        }
        if (r < 0 && unit->was_gated && !unit->is_short &&
            !(history->unsafe & unit_bit(history, unit)))
                report_failure(history, "no pages", "%s was admitted and cannot map its pages",
                               unit->name);
        /* Before 6.15 the kernel miscounts a mount's reservation if mapping one of its files fails. */
        for (size_t i = 0; i < unit->n_claims && r < 0; i++)
                history->is_over = history->is_over || unit->claims[i].mount;
        if (r < 0)
                remove_unit(history, unit);
}

bool unit_maps_more(const Unit *unit) {
        return unit->state == UNIT_UP &&
               ARRAY_ANY(claim, unit->claims, unit->n_claims, claim->mapped < claim->pages);
}

bool unit_unmap(History *history, Unit *unit) {
        KernelMapping *mapping =
                unit->n_claims == 1 ? kernel_mapping_at(unit->process, draw(history, 0, 2)) : NULL;

        if (!mapping)
                return false;
        uint64_t pages = kernel_mapping_pages(mapping);

        trace(history, "      %s unmaps %" PRIu64 " pages", unit->name, pages);
        kernel_unmap(mapping);
        unit->claims[0].mapped -= pages;
        history->is_settled = false;
        return true;
}

void unit_restart_database(History *history, Unit *unit) {
        trace(history, "      the database of %s ends, and its supervisor asks", unit->name);
        kernel_exit(unit->process);
        unit->process = NULL;
        unit->is_short = false;
        history->is_settled = false;
        /* The supervisor names what its unit was started with, even if that is no longer described. */
        const LedgerHolds started =
                ledger_copy(history->arena, keeper_look(history->keeper)->ledger)->holds;

        VEC_FOREACH(hold, &started) {
                Gate gate = {
                        .instance = hold->granted.name,
                        .is_restarting = true,
                        .unit = unit->name,
                        .policy = unit->run_policy,
                        .group = arena_printf(history->arena, PATH_CGROUP "%s", unit->group),
                        .run = unit->run,
                };
                Verdict verdict = VERDICT_INVALID;

                if (!text_equals(hold->unit, unit->name))
                        continue;
                if (!is_starting(history, unit, gate.instance) ||
                    !daemon_admits(history, &gate, &verdict)) {
                        trace(history, "        it may not start: %s", verdict_name(verdict));
                        remove_unit(history, unit);
                        return;
                }
                unit->is_short = unit->is_short || verdict != VERDICT_READY;
        }
        unit->n_claims = 0;
        VEC_FOREACH(hold, &keeper_look(history->keeper)->ledger->holds)
                if (text_equals(hold->unit, unit->name) && unit->n_claims < CLAIMS)
                        unit->claims[unit->n_claims++] =
                                (Claim){hold->granted.page_size_bytes,
                                        ledger_granted_pages(&hold->granted), NULL, 0};
        unit->state = UNIT_ADMITTED;
}

/* ---- touching ---- */

static uint64_t count_untouched(const KernelProcess *process) {
        KernelMapping *mapping;
        uint64_t n = 0;

        for (size_t i = 0; (mapping = kernel_mapping_at(process, i)); i++)
                n += kernel_mapping_untouched(mapping);
        return n;
}

static void touch(History *history, KernelProcess *process) {
        uint64_t n = chance(history, 20) ? UINT64_MAX : draw(history, 1, 20), done = 0;
        bool is_from_start = chance(history, 50);
        KernelMapping *mapping;

        kernel_run_on(process, random_cpu_node(history));
        for (size_t i = 0; (mapping = kernel_mapping_at(process, i)) && done < n; i++)
                while (done < n && kernel_is_alive(process) &&
                       kernel_mapping_untouched(mapping) > 0) {
                        kernel_touch_one_of(mapping, is_from_start ? 0 : draw(history, 0, 1000));
                        done++;
                }
        trace(history, "      pid %" PRIu64 " touches %" PRIu64 " pages%s", kernel_pid(process),
              done, kernel_is_alive(process) ? "" : ", and dies");
        history->is_settled = history->is_settled && kernel_is_alive(process);
}

static void touch_of_unit(History *history, Unit *unit) {
        touch(history, unit->process);
        if (kernel_is_alive(unit->process))
                return;
        if (unit->was_gated && !(history->unsafe & unit_bit(history, unit)))
                report_failure(history, "killed", "%s was safe: %s", unit->name,
                               kernel_death(unit->process)->text);
        remove_unit(history, unit);
}

bool some_process_touches(History *history, Actor *ret_actor) {
        size_t i = draw(history, 0, UNITS + OTHERS - 1);

        *ret_actor = ACTOR_OTHER;
        if (i < UNITS) {
                Unit *unit = &history->units[i];

                if (unit->state != UNIT_UP || count_untouched(unit->process) == 0)
                        return false;
                trace(history, "      %s:", unit->name);
                if (unit->was_gated)
                        *ret_actor = ACTOR_UNIT;
                touch_of_unit(history, unit);
                return true;
        }
        OtherProcess *other = &history->others[i - UNITS];

        if (!other->process || count_untouched(other->process) == 0)
                return false;
        touch(history, other->process);
        if (!kernel_is_alive(other->process))
                other->process = NULL;
        return true;
}

/* ---- other processes ---- */

static KernelPolicy random_policy(History *history) {
        uint64_t nodes = draw(history, 1, (1u << history->n_nodes) - 1);

        switch (draw(history, 0, 4)) {
        case 0:
                return kernel_bind((unsigned) draw(history, 0, history->n_nodes - 1));
        case 1:
                return (KernelPolicy){KERNEL_POLICY_INTERLEAVE, nodes};
        default:
                return (KernelPolicy){};
        }
}

bool other_process_starts(History *history) {
        OtherProcess *other = &history->others[draw(history, 0, OTHERS - 1)];
        uint64_t n = draw(history, 1, 40);
        bool is_noreserve = chance(history, 20);
        KernelMapping *mapping;

        if (other->process)
                return false;
        bool is_in_vm = chance(history, 30);

        other->policy = random_policy(history);
        other->nodes = is_in_vm ? history->vm_nodes : 0;
        other->is_reserved = !is_noreserve;
        other->process =
                kernel_spawn(history->kernel,
                             &(KernelSpawn){.name = "other",
                                            .group = is_in_vm ? "/machine.slice/vm" : "/user.slice",
                                            .policy = other->policy,
                                            .cpu_node = random_cpu_node(history)});
        history->is_settled = false;
        int r = kernel_map(other->process,
                           &(KernelMap){.page_bytes = 2 * MIB,
                                        .n_pages = n,
                                        .is_private = is_noreserve || chance(history, 30),
                                        .is_noreserve = is_noreserve},
                           &mapping);

        trace(history, "      another process (pid %" PRIu64 ", %s) maps %" PRIu64 " pages%s%s",
              kernel_pid(other->process), policy_text(history, &other->policy), n,
              is_noreserve ? ", not reserved" : "", r < 0 ? ": ENOMEM" : "");
        if (r == 0)
                return true;
        kernel_exit(other->process);
        other->process = NULL;
        return true;
}

bool other_process_ends(History *history) {
        OtherProcess *other = &history->others[draw(history, 0, OTHERS - 1)];

        if (!other->process)
                return false;
        trace(history, "      the other process with pid %" PRIu64 " ends",
              kernel_pid(other->process));
        kernel_exit(other->process);
        other->process = NULL;
        ARRAY_FOREACH(unit, history->units, UNITS)
                if (unit->state == UNIT_DOWN)
                        kernel_group_remove(history->kernel, unit->group);
        history->is_settled = false;
        return true;
}

void limit_existing(History *history) {
        PoolCounts now = pool_counts(history);

        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++)
                        history->existing[i][node] =
                                MIN(history->existing[i][node], now.persistent[i][node]);
}

/* Notes pools that were lowered below what instances were granted. Only the keeper may raise them again. */
static void note_lowered(History *history, const PoolCounts *before) {
        const Plan *plan = keeper_look(history->keeper)->plan;
        PoolCounts now = pool_counts(history);

        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++) {
                        const PlanPool *pool =
                                plan_pool(plan, node, kernel_page_bytes(history->kernel, i));
                        uint64_t granted = pool ? pool->granted_pages : 0;
                        uint64_t persistent = now.persistent[i][node];

                        if (persistent >= granted)
                                history->lowered[i][node] = 0;
                        else if (persistent < before->persistent[i][node])
                                history->lowered[i][node] = persistent + 1;
                }
}

void others_write_pool(History *history) {
        uint64_t n = draw(history, 0, 90);
        int node = chance(history, 50) ? KERNEL_HOST : (int) draw(history, 0, history->n_nodes - 1);

        history->is_settled = false;
        if (chance(history, 25)) {
                n = chance(history, 50) ? 0 : n;
                trace(history, "      nr_overcommit_hugepages is set to %" PRIu64, n);
                kernel_set_overcommit(history->kernel, 2 * MIB, n);
                return;
        }
        trace(history, "      nr_hugepages of %s is set to %" PRIu64,
              node == KERNEL_HOST ? "the host" : arena_printf(history->arena, "node %d", node), n);
        PoolCounts before = pool_counts(history);

        history->before_lowering = kernel_copy(history->kernel);
        kernel_set_pool(history->kernel, NULL, node, 2 * MIB, n);
        note_lowered(history, &before);
        if (node == KERNEL_HOST)
                keeper_note_host_written(history->keeper, history->now_usec);
        limit_existing(history);
}

bool others_free_idle_pages(History *history) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Look *look = keeper_look(history->keeper);
        const PlanInput input = {
                .host = &look->config->host,
                .demand = look->plan->demand,
                .topology = look->topology,
                .ledger = look->ledger,
                .use = look->use,
                .is_incomplete = look->config->is_incomplete,
        };
        const IdlePools idle = idle_pools_find(arena, &input, look->plan);

        VEC_FOREACH(pool, &idle) {
                int node = (int) pool->planned->node;
                uint64_t bytes = pool->planned->page_size_bytes;
                KernelPool now = kernel_pool(history->kernel, node, bytes);
                uint64_t persistent = now.total_pages - now.surplus_pages;

                trace(history, "      node %d: %" PRIu64 " idle pages of %" PRIu64 "M are freed",
                      node, pool->pages, bytes / MIB);
                kernel_set_pool(history->kernel, NULL, node, bytes,
                                MIN(persistent, pool->planned->to_pages - pool->pages));
        }
        history->is_settled = history->is_settled && idle.n == 0;
        limit_existing(history);
        return idle.n > 0;
}

void others_change_memory(History *history) {
        unsigned node = (unsigned) draw(history, 0, history->n_nodes - 1);
        uint64_t bytes = draw(history, 1, 200) * MIB;

        history->is_settled = false;
        if (chance(history, 50)) {
                trace(history, "      other programs take %" PRIu64 "M of node %u",
                      kernel_take_memory(history->kernel, node, bytes) / MIB, node);
                return;
        }
        trace(history, "      other programs free memory of node %u", node);
        kernel_give_memory(history->kernel, node, bytes);
        /* With free memory the daemon may raise pools for instances that are short, even pools that others lowered. */
        memset(history->lowered, 0, sizeof(history->lowered));
}

/* ---- any process ---- */

bool some_process_maps(History *history, Actor *ret_actor) {
        Unit *unit = &history->units[draw(history, 0, UNITS - 1)];

        *ret_actor = ACTOR_OTHER;
        if (unit->state != UNIT_ADMITTED)
                return other_process_starts(history);
        if (unit->was_gated)
                *ret_actor = ACTOR_UNIT;
        unit_map(history, unit);
        return true;
}
