/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/look.h"

#include "base/text.h"
#include "host/host_use.h"
#include "host/probe.h"
#include "host/state.h"
#include "host/unit_facts.h"
#include "model/names.h"
#include "model/problem.h"

#include <string.h>

/* A ledger that could not be stored has holds of earlier runs. */
static bool is_of_this_run(const Root *root, Arena *arena, const LedgerHold *hold) {
        char *run;

        return !*hold->run ||
               root_read_link(root, arena, arena_printf(arena, PATH_SYSTEMD_RUN "%s", hold->unit),
                              &run) < 0 ||
               text_equals(run, hold->run);
}

static Look *look_once(Arena *arena, const LookInput *input) {
        const Root *root = input->root;
        const Look *seen = input->seen;
        Look *look = ARENA_NEW(arena, Look);

        root_forget_fault(root);
        look->config = input->config;
        look->starting = input->starting;
        look->topology = seen ? seen->topology
                         : input->known
                                 ? probe_topology_again(root, arena, input->config, input->known)
                                 : probe_topology(root, arena, input->config);
        look->ledger = input->ledger
                               ? ledger_copy(arena, input->ledger)
                               : state_load(root, arena, look->topology->boot_id, &look->state);
        /* Without a file this is an empty ledger, from which no plan is made because its boot guard is undecided. */
        look->stored = input->ledger || look->state ? NULL : ledger_copy(arena, look->ledger);
        if (!input->ledger)
                VEC_KEEP(hold, &look->ledger->holds, is_of_this_run(root, arena, hold));
        /* The previous run of a starting unit has ended. */
        if (input->starting)
                VEC_FOREACH(starting, input->starting)
                        if (!starting->is_refused)
                                ledger_end(look->ledger, starting->unit, starting->run,
                                           starting->instance);
        look->use = seen ? seen->use
                         : host_use_read(root, arena, input->config, look->ledger, look->topology);
        look->moved_pages = ledger_observe(arena, look->ledger, look->topology, look->use);
        look->fault = root_fault(root, arena);
        if (look->topology->has_no_sysfs)
                look->fault = (ReadFault){-ENOENT, PATH_CPUS_ONLINE};
        return look;
}

Look *look_at_host(Arena *arena, const LookInput *input) {
        unsigned n_tries = 0;
        Look *look;

        do
                look = look_once(arena, input);
        while (root_try_again(input->root, look->fault.error, &n_tries));
        return look;
}

static GuardedPlanInput guarded_input(Arena *arena, const Root *root, const Look *look) {
        return (GuardedPlanInput){
                .guard = look->ledger->guard == LEDGER_GUARD_OPEN ? NULL
                                                                  : boot_guard_load(root, arena),
                .config = look->config,
                .figures = &look->figures,
                .plan = {.topology = look->topology,
                         .ledger = look->ledger,
                         .use = look->use,
                         .starting = look->starting,
                         .demand = look->plan ? look->plan->demand : NULL},
        };
}

void look_complete(Arena *arena, const LookInput *input, Look *look) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();

        /* Only a plan depends on the memory that is free. */
        if (input->known)
                probe_memory_again(input->root, look->topology);
        look->figures = (Figures){};
        look->guard_problems = diags_in(arena);
        look->host_problems = diags_in(arena);

        if (input->found)
                vec_push_all(arena, &look->figures, input->found);
        GuardedPlanInput guarded = guarded_input(arena, input->root, look);

        guarded.plan.limits = input->limits;
        guarded.is_reload = input->is_reload;
        look->plan = boot_guard_plan(arena, &guarded, &look->guard_problems);
        const Accounts accounts = accounts_for_limits(input->root, scratch, input->config);
        const HostPlanInput host = {
                .config = input->config,
                .plan = look->plan,
                .topology = look->topology,
                .systemd_version = systemd_version(input->root, input->config),
                .accounts = &accounts,
        };

        look->host = host_plan_make(arena, &host, &look->host_problems);
        if (look->fault.error == 0)
                look->fault = root_fault(input->root, arena);
}

const Plan *look_plan_restarted(Arena *arena, const Root *root, const Look *look) {
        GuardedPlanInput input = guarded_input(arena, root, look);
        Diags problems = diags_in(arena);

        input.is_reload = input.plan.is_restarted = true;
        return boot_guard_plan(arena, &input, &problems);
}

Look *look_make(Arena *arena, const LookInput *input) {
        LookInput with_derived = *input;
        unsigned n_tries = 0;
        Look *look;

        do {
                Figures found = {};

                look = look_at_host(arena, input);
                if (input->derive) {
                        const Figures derived = input->derive(arena, input->config, look->topology,
                                                              input->gatherer, FIGURES_UNLEARNED);

                        if (input->found)
                                vec_push_all(arena, &found, input->found);
                        vec_push_all(arena, &found, &derived);
                        with_derived.found = &found;
                }
                look_complete(arena, &with_derived, look);
        } while (root_try_again(input->root, look->fault.error, &n_tries));
        return look;
}

void look_add_problems(const Look *look, Diags *problems) {
        diags_add_all(problems, &look->config->problems);
        diags_add_all(problems, &look->host_problems);
        diags_add_all(problems, &look->guard_problems);
        VEC_FOREACH(exposure, &look->plan->exposures)
                status_add_exposure(exposure, problems);
}

Diag look_fault_diag(Arena *arena, const ReadFault *fault) {
        Diag diag = {.severity = SEVERITY_ERROR, .id = problem_id(PROBLEM_HOST_UNREADABLE)};

        if (fault->path) {
                diag.file = arena_strdup(arena, fault->path);
                diag.text = arena_printf(arena,
                                         "cannot be read: %s; plan and pages stay as they are",
                                         strerror(-fault->error));
                diag.remedy =
                        "find out what is wrong with the file or the host; hugeplan tries again";
        } else { /* out of memory, no file is at fault */
                diag.text =
                        "memory is exhausted, and the host cannot be read; plan and pages stay as they are";
                diag.remedy = "see /proc/meminfo (CommitLimit, MemAvailable) for what is left; "
                              "hugeplan tries again";
        }
        return diag;
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
