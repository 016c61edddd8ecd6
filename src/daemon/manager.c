/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/manager.h"

#include "apply/guard.h"
#include "apply/host_apply.h"
#include "base/text.h"
#include "daemon/journal.h"
#include "host/boot_guard_file.h"
#include "host/clock.h"
#include "host/config_load.h"
#include "host/host_sources.h"
#include "host/log.h"
#include "host/mounts.h"
#include "host/probe.h"
#include "host/state.h"
#include "model/names.h"
#include "model/problem.h"
#include "systemd/dropin_check.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

enum { REPLANS_MAX = 8, EFFORTS_MAX = 200 };

static const uint64_t retry_delay_min_usec = 5 * USEC_PER_SEC;
static const uint64_t retry_delay_max_usec = 60 * USEC_PER_SEC;

static void continue_round(Manager *manager);
static Status *judge(const Manager *manager, Arena *arena, const Topology *now);

/* ---- telling the service manager ---- */

static char *summary(Arena *arena, const Status *status) {
        Text text = text_in(arena);
        size_t n_start = 0;

        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &status->instances[i];

                if (verdict_lets_start(instance->verdict))
                        n_start++;
                if (instance->verdict != VERDICT_READY)
                        text_printf(&text, "; %s %s", instance->name,
                                    verdict_name(instance->verdict));
        }
        return arena_printf(arena, "%zu of %zu instances may start%s", n_start, status->n_instances,
                            text_string(&text));
}

static void tell_progress(const Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        uint64_t done, all;

        apply_progress(manager->apply, &done, &all);
        sd_notifyf(0, "STATUS=Reserving: %s of %s pages", format_count(arena, done),
                   format_count(arena, all));
}

static void tell_ready(Manager *manager, const Status *status) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        sd_notifyf(0, "READY=1\nSTATUS=%s", summary(arena, status));
        manager->is_ready_sent = true;
        manager->boot_timer = sd_event_source_disable_unref(manager->boot_timer);
}

/* ---- the ledger ---- */

/* After boots that failed in a row, this one gets only what is proven; a reload opens the guard. */
static void decide_boot_guard(const Manager *manager, Arena *arena) {
        const BootGuard *guard = boot_guard_load(manager->root, arena);
        bool is_closed = boot_guard_is_closed(guard, manager->ledger);

        manager->ledger->guard = is_closed ? LEDGER_GUARD_CLOSED : LEDGER_GUARD_OPEN;
        if (is_closed)
                journal_event(
                        LOG_ALERT, reason_id(REASON_BOOT_GUARD), NULL,
                        arena_printf(
                                arena,
                                "%d boots in a row have failed: only what the last good boot reserved is planned; 'hugeplanctl reload' plans everything again",
                                BOOT_GUARD_FAILURES));
}

/* How long after pages were put back they may still turn up elsewhere. */
static const uint64_t aftermath_usec = 10 * USEC_PER_SEC;

static bool is_of_late(uint64_t usec) {
        return usec > 0 && clock_now_usec() - usec < aftermath_usec;
}

uint64_t manager_observe(Manager *manager, const Topology *now) {
        if (!is_of_late(manager->restored_usec))
                ledger_forget_restored(manager->ledger);
        return ledger_observe(manager->round_arena, manager->ledger, now);
}

static void load_ledger(Manager *manager, Arena *arena) {
        const char *text = NULL;

        if (manager->ledger) {
                manager->ledger = ledger_copy(arena, manager->ledger);
        } else {
                manager->ledger =
                        state_load(manager->root, arena, manager->topology->boot_id, &text);
                decide_boot_guard(manager, arena);
        }
        if (text)
                log_line(LOG_WARNING, "%s", text);
        manager_observe(manager, manager->topology);
}

static void save_ledger(const Manager *manager) {
        int r = state_save(manager->root, manager->ledger);

        if (r < 0)
                log_line(LOG_WARNING, "cannot write " PATH_STATE ": %s", strerror(-r));
}

/* Of what the pool is raised by, this much we had set before. Who has set the pools of all nodes may
 * do so again at once, as tuned does what sysctl.d says after its own; then what we put back on one
 * node comes to another. */
static void note_restored(Manager *manager, const LedgerPool *known, const PlanPool *planned) {
        uint64_t pages = sub_floored(MIN(known->set_pages, planned->to_pages), planned->from_pages);

        if (pages == 0 || !is_of_late(manager->watch.host_written_usec))
                return;
        ledger_restore(manager->round_arena, manager->ledger, planned->page_size_bytes, pages);
        manager->restored_usec = clock_now_usec();
}

/* What is about to be written stands in the ledger first: a daemon that is killed in between finds
 * its own pages again and does not take them for another's. */
static void record_intent(Manager *manager) {
        plan_record(manager->round_arena, manager->plan, manager->ledger);
        for (size_t i = 0; i < manager->plan->n_pools; i++) {
                const PlanPool *pool = &manager->plan->pools[i];
                LedgerPool *known = ledger_pool(manager->ledger, pool->node, pool->page_size_bytes);

                if (!known)
                        continue;
                note_restored(manager, known, pool);
                known->set_pages = MAX(MAX(pool->from_pages, pool->to_pages), known->found_pages);
        }
        save_ledger(manager);
}

/* What came from splitting found pages was found, too. */
static void record_split(const Manager *manager, const ApplyResult *result) {
        const PlanStep *step = &result->step;
        LedgerPool *large =
                ledger_pool(manager->ledger, step->pool->node, step->pool->page_size_bytes);
        LedgerPool *small = ledger_pool(manager->ledger, step->pool->node, step->split_into_bytes);

        if (result->split_pages == 0 || !large || !small)
                return;
        large->found_pages = sub_floored(large->found_pages, result->split_pages);
        small->found_pages += result->split_pages *
                              (step->pool->page_size_bytes / step->split_into_bytes);
}

static void record_outcome(Manager *manager, const Topology *now) {
        size_t n;
        const ApplyResult *results = apply_results(manager->apply, &n);

        for (size_t i = 0; i < n; i++)
                record_split(manager, &results[i]);
        for (size_t i = 0; i < manager->plan->n_pools; i++) {
                const PlanPool *planned = &manager->plan->pools[i];
                const Pool *pool = topology_pool(now, planned->node, planned->page_size_bytes);
                LedgerPool *known =
                        ledger_pool(manager->ledger, planned->node, planned->page_size_bytes);

                if (!known || !pool ||
                    (planned->from_pages == planned->to_pages && planned->split_pages == 0))
                        continue;
                known->found_pages = MIN(known->found_pages, pool_persistent_pages(pool));
                known->set_pages = MAX(pool_persistent_pages(pool), known->found_pages);
        }
        save_ledger(manager);
}

/* ---- one round ---- */

/* Read anew in every round: at early boot the databases' files may not be mounted yet. */
Figures *manager_figures(const Manager *manager, Arena *arena, const Topology *topology) {
        HostSources sources = host_sources(manager->root);
        Figures *figures = ARENA_NEW(arena, Figures);

        VEC_FOREACH(figure, &manager->grown)
                *vec_push(arena, figures) = *figure;
        Figures derived = figures_derive(arena, manager->config, topology, &sources.sources,
                                         FIGURES_UNLEARNED);

        VEC_FOREACH(figure, &derived)
                *vec_push(arena, figures) = *figure;
        return figures;
}

static void set_grown(Manager *manager, const char *instance, const PageCount *count) {
        Figure figure = {
                .instance = instance,
                .sizing =
                        {
                                .page_size_bytes = count->page_size_bytes,
                                .pages = count->pages,
                                .bytes = mul_saturated(count->pages, count->page_size_bytes),
                                .caveat = "As its gate found out before the last start.",
                        },
        };

        VEC_FOREACH(known, &manager->grown)
                if (text_equals(known->instance, instance) &&
                    known->sizing.page_size_bytes == count->page_size_bytes) {
                        *known = figure;
                        return;
                }
        *vec_push(manager->config_arena, &manager->grown) = figure;
}

/* Whether the plan that holds was made for these numbers. */
static bool is_planned(const PlanInstance *planned, const PageCounts *pages) {
        if (!planned || planned->demand->n_options == 0)
                return false;
        for (size_t i = 0; i < planned->demand->n_options; i++) {
                const DemandOption *option = &planned->demand->options[i];

                if (page_counts_find(pages, option->page_size_bytes) != option->pages)
                        return false;
        }
        return true;
}

bool manager_grow(Manager *manager, const InstanceConfig *instance, const PageCounts *pages) {
        VEC_FOREACH(count, pages)
                set_grown(manager, instance->name, count);
        if (is_planned(plan_find(manager->plan, instance->name), pages))
                return manager->phase == PHASE_RESERVING;
        manager_begin_round_after(manager);
        return true;
}

/* After a reload, what was learned stands in the configuration; what could not be written there is
 * still known here. */
static void keep_grown(Manager *manager, Arena *arena, const Config *config) {
        Figures kept = {};

        VEC_FOREACH(figure, &manager->grown) {
                const InstanceConfig *instance = config_find(config, figure->instance);

                if (!instance || instance->refusal || instance->memory_kind != MEMORY_AUTO ||
                    instance->learned.pages.n > 0)
                        continue;
                figure->instance = instance->name;
                *vec_push(arena, &kept) = *figure;
        }
        manager->grown = kept;
}

static PlanInput plan_input(Manager *manager, Arena *arena) {
        Demand *demand = demand_compute(arena, manager->config, manager->topology,
                                        manager_figures(manager, arena, manager->topology));

        manager->guard_problems = diags_in(arena);
        if (manager->ledger->guard == LEDGER_GUARD_CLOSED)
                boot_guard_limit(arena, boot_guard_load(manager->root, arena), demand,
                                 &manager->guard_problems);
        return (PlanInput){
                .host = &manager->config->host,
                .demand = demand,
                .topology = manager->topology,
                .ledger = manager->ledger,
                .limits = &manager->limits,
        };
}

static void set_thp(Manager *manager, const ThpPlan *plan) {
        const char *path = NULL;

        int r = thp_apply(manager->root, plan, &path);

        if (plan->writes.n > 0 && r == 0)
                log_line(LOG_INFO, "transparent huge pages are now '%s'",
                         thp_policy_name(plan->policy));
        if (r < 0)
                diags_add(
                        &manager->host_problems,
                        &(Diag){.severity = SEVERITY_ERROR,
                                .id = problem_id(PROBLEM_THP_WRITE),
                                .text = arena_printf(
                                        manager->round_arena,
                                        "cannot set transparent huge pages to '%s': %s: %s",
                                        thp_policy_name(plan->policy), path, strerror(-r)),
                                .remedy =
                                        "run hugepland as root with /sys writable, or write TransparentHugePages=keep"});
}

static void set_limits(Manager *manager, const LimitsPlan *plan) {
        const char *path = NULL;
        int r = limits_apply(manager->root, plan, &path);

        if (r < 0)
                diags_add(&manager->host_problems,
                          &(Diag){.severity = SEVERITY_ERROR,
                                  .id = problem_id(PROBLEM_LIMIT_WRITE),
                                  .text = arena_printf(manager->round_arena, "cannot set %s: %s",
                                                       path, strerror(-r)),
                                  .remedy = "run hugepland as root with /proc/sys writable"});
        else
                VEC_FOREACH(write, &plan->writes)
                        log_line(LOG_INFO, "%s is now %s", write->path, write->value);
}

/* Before the pools: a gate may let its instance through between two writes to them. */
static void set_host(Manager *manager) {
        HostPlan plan = host_plan_read(manager->root, manager->round_arena, manager->config,
                                       manager->plan, manager->topology, &manager->host_problems);

        set_thp(manager, &plan.thp);
        set_limits(manager, &plan.limits);
}

static void begin_apply(Manager *manager) {
        manager->apply = apply_new(manager->round_arena, manager->root, &manager->config->host,
                                   manager->topology, manager->plan, manager->effort_until_usec);
        manager->phase = PHASE_RESERVING;
        manager_alive_begin(manager);
        continue_round(manager);
}

/* Looks at the host and plans. The old round's values are dropped once the new ones no longer refer
 * to them. */
static void make_plan(Manager *manager) {
        Arena *arena = arena_new(), *old = manager->round_arena;

        manager->round_arena = arena;
        manager->limits = (PoolLimits){};
        manager->n_replans = 0;
        manager->host_problems = diags_in(arena);
        manager->guard_problems = diags_in(arena);
        manager->topology = probe_topology(manager->root, arena);
        load_ledger(manager, arena);
        arena_free(old);
        PlanInput input = plan_input(manager, arena);

        manager->plan = plan_make(arena, &input);
}

static void begin_round(Manager *manager) {
        manager->retry_timer = sd_event_source_disable_unref(manager->retry_timer);
        manager->is_held_back = false;
        make_plan(manager);
        set_host(manager);
        record_intent(manager);
        begin_apply(manager);
}

/* In a rescue shell memory is for the administrator: nothing is reserved before somebody asks for it,
 * by a reload or by starting a database. */
static void hold_back(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        manager->is_held_back = true;
        make_plan(manager);
        journal_event(
                LOG_NOTICE, problem_id(PROBLEM_HELD_BACK), NULL,
                "rescue mode: nothing is reserved before a reload, or the start of a database");
        tell_ready(manager, manager_judge(manager, arena));
}

void manager_begin_round(Manager *manager) {
        if (manager->phase == PHASE_RESERVING)
                return;
        manager->retry_delay_usec = retry_delay_min_usec;
        manager->effort_until_usec =
                add_saturated(clock_now_usec(), manager->config->host.reserve_timeout_usec);
        begin_round(manager);
}

void manager_begin_round_after(Manager *manager) {
        if (manager->phase != PHASE_RESERVING) {
                manager_begin_round(manager);
                return;
        }
        manager->is_round_wanted = true;
        apply_hurry(manager->apply);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        (void) source;
        (void) usec;
        begin_round(manager);
        return 0;
}

/* Something is short: try again later, less and less often, until ReserveTimeout= is over. */
static void schedule_retry(Manager *manager) {
        uint64_t now = clock_now_usec(), delay = manager->retry_delay_usec;

        if (!plan_is_short(manager->plan) ||
            add_saturated(now, delay) >= manager->effort_until_usec)
                return;
        if (sd_event_add_time_relative(manager->event, &manager->retry_timer, CLOCK_BOOTTIME, delay,
                                       USEC_PER_SEC, on_retry, manager) < 0)
                return;
        manager->retry_delay_usec = MIN(delay * 2, retry_delay_max_usec);
        manager->phase = PHASE_RETRYING;
}

/* What was said of an instance already is not said again, round after round. */
static bool was_said(const Manager *manager, const StatusInstance *instance) {
        VEC_FOREACH(said, &manager->said)
                if (text_equals(said->instance, instance->name))
                        return said->verdict == instance->verdict &&
                               said->reason == instance->reason.kind;
        return false;
}

/* Reasons stand with the verdicts; mistakes of the configuration are told when it is read. */
static bool is_told_elsewhere(const Diag *problem) {
        ReasonKind reason;

        return reason_from_id(problem->id, &reason) == 0 ||
               text_starts_with(problem->id, "config-");
}

static bool was_problem_said(const Manager *manager, const char *text) {
        VEC_FOREACH(said, &manager->said_problems)
                if (text_equals(*said, text))
                        return true;
        return false;
}

/* Each once, and again only after it had gone. In ARENA: what stands now. */
static void log_problems(Manager *manager, Arena *arena, const Diags *problems) {
        typeof(manager->said_problems) said = {};

        VEC_FOREACH(problem, &problems->list) {
                const char *text = diag_format(arena, problem);

                if (is_told_elsewhere(problem))
                        continue;
                if (!was_problem_said(manager, text))
                        journal_diag(problem);
                *vec_push(arena, &said) = text;
        }
        manager->said_problems = said;
}

static void log_outcome(Manager *manager, const Status *status) {
        Arena *arena = arena_new();
        typeof(manager->said) said = {};

        log_problems(manager, arena, &status->problems);

        for (size_t i = 0; i < status->n_instances; i++) {
                const StatusInstance *instance = &status->instances[i];

                if (!was_said(manager, instance))
                        journal_verdict(instance);
                *vec_push(arena, &said) = (Said){arena_strdup(arena, instance->name),
                                                 instance->verdict, instance->reason.kind};
        }
        arena_free(manager->said_arena);
        manager->said_arena = arena;
        manager->said = said;
}

/* For the log, and for `hugeplanctl status NAME`; the last ones are kept. */
static void note_efforts(Manager *manager, const ApplyResult *result) {
        VEC_FOREACH(record, &result->ladder.records) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                const Effort effort = {result->step.pool->node, result->step.pool->page_size_bytes,
                                       *record};

                log_line(record->error < 0 ? LOG_WARNING : LOG_INFO, "%s",
                         effort_format(arena, &effort));
                if (manager->efforts.n == EFFORTS_MAX)
                        memmove(manager->efforts.items, manager->efforts.items + 1,
                                --manager->efforts.n * sizeof(Effort));
                *vec_push(manager->efforts_arena, &manager->efforts) = effort;
        }
}

static void forget_efforts(Manager *manager) {
        arena_free(manager->efforts_arena);
        manager->efforts_arena = arena_new();
        manager->efforts = (Efforts){};
}

/* Where instances have pages of the default size, keeps systemd-sysctl from moving them. */
static void guard_pool(const Manager *manager, const Topology *now) {
        int i = topology_page_size_index(now, now->default_page_size_bytes);
        bool is_used = false;

        for (size_t k = 0; k < manager->plan->n_pools; k++)
                is_used = is_used ||
                          (manager->plan->pools[k].granted_pages > 0 &&
                           manager->plan->pools[k].page_size_bytes == now->default_page_size_bytes);
        int r = is_used && i >= 0 ? guard_write(manager->root,
                                                page_size_persistent_pages(&now->page_sizes[i]))
                                  : guard_remove(manager->root);

        if (r < 0)
                log_line(LOG_WARNING, "cannot keep " PATH_SYSCTL_GUARD " up to date: %s",
                         strerror(-r));
}

static void end_round(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        manager->apply = NULL;
        manager->phase = PHASE_IDLE;
        manager->round_ended_usec = clock_now_usec();
        if (manager->is_reload_wanted) {
                manager_reload(manager);
                return;
        }
        if (manager->is_round_wanted) {
                manager->is_round_wanted = false;
                manager_begin_round(manager);
                return;
        }
        schedule_retry(manager);
        manager_watch_refresh(manager);
        guard_pool(manager, manager->now);
        Status *status = judge(manager, arena, manager->now);

        manager_notify_gates(manager); /* no database waits for what systemd says */
        manager_units_refresh_expired(manager);
        manager_units_judge(manager, arena, &status->problems);
        log_outcome(manager, status);
        tell_ready(manager, status);
        manager_notify_clients(manager);
        /* A round leaves holes in the heap; what follows is a long quiet time. */
        malloc_trim(0);
}

/* Pools that stayed short become limits, and the plan is made anew within them: an instance that
 * cannot be whole gives its pages to the next. */
static bool replan(Manager *manager, const PoolLimits *limits) {
        Arena *arena = manager->round_arena;

        if (limits->n == 0 || ++manager->n_replans > REPLANS_MAX)
                return false;
        VEC_FOREACH(limit, limits)
                *vec_push(arena, &manager->limits) = *limit;
        manager->topology = probe_topology(manager->root, arena);
        manager_observe(manager, manager->topology);
        PlanInput input = plan_input(manager, arena);

        manager->plan = plan_make(arena, &input);
        record_intent(manager);
        return plan_count_changed(manager->plan) > 0;
}

static void finish_apply(Manager *manager) {
        const Topology *now = probe_topology(manager->root, manager->round_arena);

        manager->now = now;
        PoolLimits limits = apply_limits(manager->round_arena, manager->apply, now);
        size_t n;
        const ApplyResult *results = apply_results(manager->apply, &n);

        if (manager->n_replans == 0 && n > 0)
                forget_efforts(manager);
        for (size_t i = 0; i < n; i++)
                note_efforts(manager, &results[i]);
        record_outcome(manager, now);
        if (!manager->is_reload_wanted && !manager->is_round_wanted && replan(manager, &limits))
                begin_apply(manager);
        else
                end_round(manager);
}

static void continue_round(Manager *manager) {
        if (!apply_next(manager->apply, clock_now_usec(), &manager->operation)) {
                finish_apply(manager);
                return;
        }
        tell_progress(manager);
        int r = write_worker_start(manager->worker, manager->root, &manager->operation);

        if (r == 0)
                return;
        /* Without a thread the write is done here: clients wait, the database does not. */
        uint64_t start = clock_now_usec();

        r = apply_perform(manager->root, &manager->operation);
        apply_done(manager->apply, &manager->operation, r, clock_now_usec() - start);
        continue_round(manager);
}

static int on_worker(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Manager *manager = userdata;
        uint64_t usec;

        (void) source;
        (void) fd;
        (void) events;
        int r = write_worker_finish(manager->worker, &usec);

        apply_done(manager->apply, &manager->operation, r, usec);
        manager_notify_gates(manager);
        continue_round(manager);
        return 0;
}

/* ---- configuration ---- */

/* Reads the configuration. At start, files with mistakes are refused and the others apply; once a
 * plan stands, mistakes leave it standing, and false is returned. */
static bool load_config(Manager *manager) {
        Arena *arena = arena_new();
        Config *config = config_load(manager->root, arena, NULL);

        VEC_FOREACH(problem, &config->problems.list)
                journal_diag(problem);
        if (manager->config && diags_count(&config->problems, SEVERITY_ERROR) > 0) {
                arena_free(manager->rejected_arena);
                manager->rejected_arena = arena;
                manager->rejected = &config->problems;
                log_line(LOG_ERR, "the configuration has mistakes; the plan stays as it was");
                return false;
        }
        manager->rejected_arena = arena_free(manager->rejected_arena);
        manager->rejected = NULL;
        keep_grown(manager, arena, config);
        /* The old plan refers to the old configuration; a round follows at once. */
        manager->plan = NULL;
        arena_free(manager->config_arena);
        manager->config_arena = arena;
        manager->config = config;
        return true;
}

static int on_boot_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Manager *manager = userdata;

        (void) source;
        (void) usec;
        log_line(LOG_NOTICE,
                 "BootTimeout= is used up; the rest is reserved while the boot goes on");
        tell_ready(manager, manager_judge(manager, arena));
        return 0;
}

void manager_start(Manager *manager) {
        manager_alive_begin(manager);
        load_config(manager);
        manager_watch_start(manager);
        if (manager->config->host.boot_timeout_usec != UINT64_MAX)
                sd_event_add_time_relative(manager->event, &manager->boot_timer, CLOCK_BOOTTIME,
                                           manager->config->host.boot_timeout_usec, 0,
                                           on_boot_timeout, manager);
        if (kernel_command_line_is_rescue(
                    probe_kernel_command_line(manager->root, manager->config_arena)))
                hold_back(manager);
        else
                manager_begin_round(manager);
        manager_units_begin(manager);
}

void manager_reload(Manager *manager) {
        if (manager->phase == PHASE_RESERVING) {
                manager->is_reload_wanted = true;
                apply_hurry(manager->apply);
                return;
        }
        manager->is_reload_wanted = false;
        manager_units_expire(manager);
        arena_free(manager->before_arena);
        manager->before_arena = arena_new();
        manager->before = ledger_copy(manager->before_arena, manager->ledger);
        sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_read_usec(CLOCK_MONOTONIC));
        if (load_config(manager))
                ledger_reload(manager->ledger);
        manager_begin_round(manager);
}

/* Mistakes that a reload found on disk, while the plan of before stands. */
static void add_rejected(const Manager *manager, Diags *problems) {
        if (!manager->rejected)
                return;
        diags_add_all(problems, manager->rejected);
        diags_add(problems,
                  &(Diag){.severity = SEVERITY_WARNING,
                          .id = problem_id(PROBLEM_CONFIG_REJECTED),
                          .text = "the last reload found mistakes; the plan of before stands",
                          .remedy = "mend the files and run 'hugeplanctl reload'"});
}

/* All but what systemd says of the units. */
static Status *judge(const Manager *manager, Arena *arena, const Topology *now) {
        static const char *const phases[] = {
                [PHASE_IDLE] = "idle",
                [PHASE_RESERVING] = "reserving",
                [PHASE_RETRYING] = "retrying",
        };
        const StatusInput input = {
                .config = manager->config,
                .plan = manager->plan,
                .topology = now,
                .ledger = manager->ledger,
                .phase = manager->is_held_back ? "held back (rescue mode)" : phases[manager->phase],
                .is_working = manager->phase != PHASE_IDLE,
                .efforts = &manager->efforts,
        };
        Status *status = status_judge(arena, &input);

        diags_add_all(&status->problems, &manager->host_problems);
        diags_add_all(&status->problems, &manager->guard_problems);
        add_rejected(manager, &status->problems);
        const DropinInput dropin = dropin_input(manager->root, arena, manager->config, HUGEPLANCTL);
        Dropins dropins = dropins_make(arena, &dropin);

        dropin_check(manager->root, &dropins, &status->problems);
        MountUnits mounts = mounts_of(manager->root, arena, manager->config, now);

        mounts_check(manager->root, &mounts, &status->problems);
        return status;
}

Status *manager_judge(const Manager *manager, Arena *arena) {
        Status *status = judge(manager, arena, probe_topology(manager->root, arena));

        manager_units_judge(manager, arena, &status->problems);
        return status;
}

void manager_tell_news(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        /* A round tells it when it has ended. */
        if (manager->phase == PHASE_RESERVING || manager->is_held_back)
                return;
        log_outcome(manager, manager_judge(manager, arena));
        manager_notify_subscribers(manager);
}

/* ---- sockets ---- */

static int on_server(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Manager *manager = userdata;

        (void) source;
        (void) fd;
        (void) events;
        return varlink_server_dispatch(manager->server);
}

/* Without systemd's socket unit: the same socket, and the same link in the registry. */
static int bind_socket(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        int r = root_make_directory(manager->root, PATH_RUNTIME);

        if (r < 0)
                return r;
        int fd = varlink_bind_socket(root_path(arena, manager->root, PATH_SOCKET), 0666);

        manager->is_socket_ours = fd >= 0;
        if (fd >= 0 && root_make_directory(manager->root, PATH_VARLINK_REGISTRY) == 0)
                root_symlink(manager->root, PATH_SOCKET, PATH_VARLINK_LINK);
        return fd;
}

static void remove_socket(const Manager *manager) {
        if (!manager->is_socket_ours)
                return;
        root_remove(manager->root, PATH_SOCKET);
        root_remove(manager->root, PATH_VARLINK_LINK);
}

int manager_listen(Manager *manager, int fd) {
        if (fd < 0)
                fd = bind_socket(manager);
        if (fd < 0)
                return fd;
        int r = varlink_server_listen_fd(manager->server, fd);

        if (r < 0)
                close(fd);
        else
                manager_socket_keep(manager);
        return r;
}

int manager_new(const Root *root, sd_event *event, Manager **ret) {
        static const VarlinkInterface *const interfaces[] = {&manager_interface};
        static const VarlinkServerInfo info = {
                .vendor = "The hugeplan project",
                .product = "hugeplan",
                .version = HUGEPLAN_VERSION,
                .url = "",
        };
        CLEANUP(manager_freep) Manager *manager = calloc(1, sizeof(Manager));

        if (!manager)
                return -ENOMEM;
        manager->root = root;
        manager->event = event;
        manager->started_usec = clock_now_usec();
        manager->server = varlink_server_new(interfaces, ARRAY_LEN(interfaces), &info, manager);
        manager->worker = write_worker_new();
        if (!manager->server || !manager->worker)
                return -errno;
        int r = sd_event_add_io(event, &manager->server_source, varlink_server_fd(manager->server),
                                EPOLLIN, on_server, manager);

        if (r >= 0)
                r = sd_event_add_io(event, &manager->worker_source,
                                    write_worker_fd(manager->worker), EPOLLIN, on_worker, manager);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(manager);
        return 0;
}

Manager *manager_free(Manager *manager) {
        if (!manager)
                return NULL;
        sd_event_source_disable_unref(manager->server_source);
        sd_event_source_disable_unref(manager->worker_source);
        sd_event_source_disable_unref(manager->boot_timer);
        sd_event_source_disable_unref(manager->retry_timer);
        sd_event_source_disable_unref(manager->alive_timer);
        sd_event_source_disable_unref(manager->socket_watch);
        manager_watch_stop(manager);
        manager_units_free(manager);
        manager_drop_clients(manager);
        remove_socket(manager);
        varlink_server_free(manager->server);
        write_worker_free(manager->worker);
        arena_free(manager->round_arena);
        arena_free(manager->config_arena);
        arena_free(manager->said_arena);
        arena_free(manager->rejected_arena);
        arena_free(manager->efforts_arena);
        arena_free(manager->before_arena);
        free(manager);
        return NULL;
}

void manager_freep(Manager **manager) {
        *manager = manager_free(*manager);
}
