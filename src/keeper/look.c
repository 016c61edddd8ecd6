/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/look.h"

#include "base/size.h"
#include "host/boot_guard_file.h"
#include "host/host_plan_read.h"
#include "host/host_sources.h"
#include "host/host_use.h"
#include "host/probe.h"
#include "host/state.h"
#include "model/problem.h"

#include <string.h>

enum { TRIES = 3 };

static Look *look_once(Arena *arena, const LookInput *input) {
        Look *look = ARENA_NEW(arena, Look);

        root_forget_fault(input->root);

        *look = (Look){
                .config = input->config,
                .topology = probe_topology(input->root, arena),
                .guard_problems = diags_in(arena),
                .host_problems = diags_in(arena),
        };
        look->ledger = input->ledger ? ledger_copy(arena, input->ledger)
                                     : state_load(input->root, arena, look->topology->boot_id,
                                                  &look->state);
        /* Who starts has ended before. */
        if (input->starting)
                VEC_FOREACH(starting, input->starting)
                        ledger_end(look->ledger, starting->unit, starting->run, starting->instance);
        look->starting = input->starting;
        look->use = host_use_read(input->root, arena, input->config, look->ledger, look->topology);
        look->moved_pages = ledger_observe(arena, look->ledger, look->topology, look->use);
        look->fault = root_fault(input->root, arena);
        return look;
}

Look *look_at_host(Arena *arena, const LookInput *input) {
        Look *look = look_once(arena, input);

        for (unsigned i = 1; i < TRIES && look->fault.error < 0; i++)
                look = look_once(arena, input);
        return look;
}

/* From files of which one could not be read too little may follow: then it wants what it wanted before. */
static bool keep_figure(Arena *arena, Look *look, const InstanceConfig *instance) {
        const LedgerInstance *before = ledger_instance(look->ledger, instance->name);

        if (!before || before->pages_wanted == 0)
                return false;
        *vec_push(arena, &look->figures) = (Figure){
                .instance = instance->name,
                .sizing =
                        {
                                .page_size_bytes = before->page_size_bytes,
                                .pages = before->pages_wanted,
                                .bytes = mul_saturated(before->pages_wanted,
                                                       before->page_size_bytes),
                                .caveat = "As it was before: its files cannot be read now.",
                        },
        };
        return true;
}

/* One by one: whose files fail keeps nobody else from his size. */
static void find_figures_of(Arena *arena, const LookInput *input, Look *look,
                            const Sources *sources, size_t i) {
        const Config alone = {.instances = &input->config->instances[i], .n_instances = 1};

        root_forget_fault(input->root);
        Figures derived = figures_derive(arena, &alone, look->topology, sources, FIGURES_UNLEARNED);

        if (derived.n > 0 && root_fault(input->root, arena).error < 0 &&
            keep_figure(arena, look, alone.instances))
                return;
        VEC_FOREACH(figure, &derived)
                *vec_push(arena, &look->figures) = *figure;
}

/* Read anew each time: at early boot the databases' files may not be mounted yet. */
static void find_figures(Arena *arena, const LookInput *input, Look *look) {
        HostSources sources = host_sources(input->root);

        if (input->found)
                VEC_FOREACH(figure, input->found)
                        *vec_push(arena, &look->figures) = *figure;
        for (size_t i = 0; i < input->config->n_instances; i++)
                find_figures_of(arena, input, look, &sources.sources, i);
}

static Look *make_once(Arena *arena, const LookInput *input) {
        Look *look = look_at_host(arena, input);

        find_figures(arena, input, look);
        /* Of the databases' own files, which their owners could have fail for ever. */
        root_forget_fault(input->root);
        const GuardedPlanInput plan = {
                .guard = boot_guard_load(input->root, arena),
                .config = input->config,
                .topology = look->topology,
                .figures = &look->figures,
                .ledger = look->ledger,
                .use = look->use,
                .limits = input->limits,
                .starting = input->starting,
                .is_restarted = input->is_restarted,
        };
        GuardedPlan guarded = boot_guard_plan(arena, &plan, &look->guard_problems);

        look->plan = guarded.plan;
        look->demand = guarded.plan->demand;
        look->after_reload = guarded.after_reload;
        look->host = host_plan_read(input->root, arena, input->config, look->plan, look->topology,
                                    &look->host_problems);
        if (look->fault.error == 0)
                look->fault = root_fault(input->root, arena);
        return look;
}

Look *look_make(Arena *arena, const LookInput *input) {
        Look *look = make_once(arena, input);

        for (unsigned i = 1; i < TRIES && look->fault.error < 0; i++)
                look = make_once(arena, input);
        return look;
}

Diag look_fault_diag(Arena *arena, const ReadFault *fault) {
        return (Diag){
                .severity = SEVERITY_ERROR,
                .id = problem_id(PROBLEM_HOST_UNREADABLE),
                .file = arena_strdup(arena, fault->path),
                .text = arena_printf(arena, "cannot be read: %s; plan and pages stay as they are",
                                     strerror(-fault->error)),
                .remedy = "find out what is wrong with the file or the host; it is tried again"};
}

StatusInput look_status_input(const Look *look, const Plan *plan) {
        return (StatusInput){
                .config = look->config,
                .plan = plan,
                .topology = look->topology,
                .use = look->use,
                .ledger = look->ledger,
                .starting = look->starting,
        };
}
