/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `verify`: whether running databases use their huge pages, and what is wasted. */
#include "base/text.h"
#include "check/idle_pages.h"
#include "ctl/observe/journal_read.h"
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "demand/seen.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "inspect/gather.h"
#include "inspect/pages/page_users.h"
#include "inspect/pages/server_look.h"
#include "inspect/setting_sources.h"
#include "model/exit_code.h"
#include "read/unit_file.h"
#include "render/views.h"
#include "runtime/clock.h"

#include <stdio.h>

typedef struct Verification {
        Command *command;
        Arena *arena;
        const Config *config;
        const Topology *topology;
        Index *starters; /* unit_file_starters(); NULL: not read yet */
        Proofs proofs;
} Verification;

/* Reads the database's own settings, which explain a fall back and limit its sessions; what they need; and why the
 * database takes no huge pages with them. */
static void read_settings(const Verification *verification, ProofInput *input, ServerLook *look) {
        const InstanceConfig *config = input->config;
        const StatusInstance *instance = input->instance;
        OwnerGatherer owner = gather_as_owner(verification->command->root);
        EngineTarget target;
        Figures figures = {};

        if (!config || config->refusal || !config->engine->has_auto)
                return;
        target = figures_target(config, verification->topology);
        owner.gatherer.gather(&owner.gatherer, verification->arena, config->engine, &target,
                              &instance->page_size_bytes, instance->page_size_bytes > 0, &figures);
        if (figures.n == 0)
                return;
        const Gathered *gathered = figures.items[0].gathered;

        input->settings = &gathered->settings;
        input->wrong = figures.items[0].wrong;
        input->sizing = input->wrong ? NULL : &figures.items[0].sizing;
        input->n_sessions_max = engine_sessions(config->engine, gathered);
        if (gathered->incomplete && engine_reader(config->engine)->sessions_setting)
                *vec_push(verification->arena, &look->missing) = arena_printf(
                        verification->arena, "sessions (%s): %s",
                        engine_reader(config->engine)->sessions_setting, gathered->incomplete);
}

static UnitStart find_start(Verification *verification, const char *unit) {
        HostSources sources = host_sources(verification->command->root, verification->arena);
        const UnitFile *file = unit_file_read(verification->arena, &sources.sources, unit);

        if (!file->fragment_path || file->is_masked)
                return UNIT_START_GONE;
        if (!verification->starters)
                verification->starters = unit_file_starters(verification->arena, &sources.sources);
        return index_find(verification->starters, unit) ? UNIT_START_WANTED : UNIT_START_DISABLED;
}

/* True also if the need is not known, because the file is broken or the size is unknown. */
static bool is_reserving(const StatusInstance *instance) {
        const Engine *engine = instance->engine ? engine_find(instance->engine) : NULL;

        return !engine || engine->reserves;
}

/* Returns whether `status NAME` asks for it, for people to read. */
static bool is_asked_for(const Command *command, const StatusInstance *instance) {
        return command->n_arguments == 1 && command->json == JSON_OFF && !command->is_plugin &&
               text_equals(instance->name, command->arguments[0]);
}

/* At a glance, the settings are read only if small memory needs an explanation. */
static const Proof *prove(Verification *verification, const StatusInstance *instance,
                          bool is_glance) {
        Arena *arena = verification->arena;
        const Engine *engine = instance->engine ? engine_find(instance->engine) : NULL;
        ServerLook *look = ARENA_NEW(arena, ServerLook);
        Proof *proof = ARENA_NEW(arena, Proof);
        ProofInput input = {.instance = instance,
                            .look = look,
                            .base_page_bytes = verification->topology->base_page_bytes};

        *look = server_look(verification->command->root, arena, verification->topology, engine,
                            instance->unit, is_glance);
        /* If the controller does not count for an instance that is asked for, a glance is not enough. */
        if (is_glance && look->is_running && !look->is_counted &&
            is_asked_for(verification->command, instance))
                *look = server_look(verification->command->root, arena, verification->topology,
                                    engine, instance->unit, false);
        if (!is_glance || proof_wants_settings(engine, look)) {
                if (!verification->config) {
                        verification->config = read_config(verification->command);
                        verification->topology = probe_topology(verification->command->root, arena);
                }
                input.config = config_find(verification->config, instance->name);
                input.small_tables = input.config ? seen_small_tables(input.config) : NULL;
                if (look->is_running)
                        read_settings(verification, &input, look);
        }
        *proof = proof_judge(arena, &input);
        return proof;
}

static void find_waste(Verification *verification) {
        VEC_FOREACH(proof, &verification->proofs.list) {
                const StatusInstance *instance = proof->instance;
                UnitStart start = proof->look->is_running || !instance->unit
                                          ? UNIT_START_WANTED
                                          : find_start(verification, instance->unit);

                waste_add_instance(verification->arena, proof,
                                   config_find(verification->config, instance->name), start,
                                   &verification->proofs.waste);
        }
}

/* Adds the pages of no instance, which need a look at the whole host. */
static void find_ownerless(Verification *verification, const Look *look) {
        Arena *arena = verification->arena;
        HostView view = local_view(look);

        view.page_users = page_users_find(verification->command->root, arena, look->topology);
        view.setting_sources =
                setting_sources_find(verification->command->root, arena, look->topology);
        ARRAY_FOREACH(size, look->topology->page_sizes, look->topology->n_page_sizes) {
                const IdlePages idle = idle_pages_find(arena, &view, size->bytes);

                if (idle.pages > 0)
                        *vec_push(arena, &verification->proofs.waste) = (Waste){
                                .kind = WASTE_IDLE,
                                .page_size_bytes = size->bytes,
                                .pages = idle.pages,
                                .what = arena_printf(
                                        arena, "wanted by no instance and not in use (%s)%s%s",
                                        idle.where, idle.origin ? "; " : "",
                                        idle.origin ? idle.origin : ""),
                                .command = idle.command,
                        };
        }
        waste_add_segments(arena, view.page_users, &verification->proofs.waste);
}

static void print(const Command *command, const Proofs *proofs) {
        const Proof *only = command->n_arguments == 1 ? &proofs->list.items[0] : NULL;

        if (command->output != OUTPUT_TEXT)
                print_columns(command, proofs_to_rows(proofs), PROOF_COLUMNS);
        else if (command->json != JSON_OFF)
                print_json(command, only ? proof_to_json(only) : proofs_to_json(proofs));
        else
                fputs(only ? render_proof(command->arena, only, &proofs->waste, &command->render)
                           : render_proofs(command->arena, proofs, &command->render),
                      stdout);
}

/* Returns the page sizes with the counts of STATUS, which suffice for a glance. */
static Topology *page_sizes_of(const Command *command, const Status *status) {
        Topology *topology = probe_page_sizes(command->root, command->arena);

        ARRAY_FOREACH(pool, status->pools, status->n_pools) {
                int i = topology_page_size_index(topology, pool->page_size_bytes);

                if (i >= 0) {
                        topology->page_sizes[i].total_pages += pool->total_pages;
                        topology->page_sizes[i].free_pages += pool->free_pages;
                }
        }
        return topology;
}

void add_outcomes(Command *command, Status *status) {
        Verification verification = {.command = command, .arena = command->arena};
        Diags problems = diags_in(command->arena);
        size_t n = 0;

        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                if (!instance->unit || instance->pages_wanted == 0)
                        continue;
                if (!verification.topology)
                        verification.topology = page_sizes_of(command, status);
                instance->proof = prove(&verification, instance, true);
                if (instance->proof->outcome != OUTCOME_UNKNOWN)
                        proof_add_problems(instance->proof, SEVERITY_WARNING, &problems);
                for (; n < problems.list.n; n++)
                        problems.list.items[n].file = instance->file;
        }
        diags_add_all(&status->problems, &problems);
}

static void prove_each(Verification *verification, const Status *status, const char *name) {
        ARRAY_FOREACH(instance, status->instances, status->n_instances)
                if (name ? text_equals(instance->name, name) : is_reserving(instance))
                        *vec_push(verification->arena, &verification->proofs.list) =
                                *prove(verification, instance, false);
}

ProofList prove_all(Command *command, const Status *status, const Config *config,
                    const Topology *topology) {
        Verification verification = {
                .command = command,
                .arena = command->arena,
                .config = config,
                .topology = topology,
        };

        prove_each(&verification, status, NULL);
        return verification.proofs.list;
}

Proofs observe(Command *command, const Status *status, const char *name) {
        const Look *look = name ? NULL : local_load_now(command, NULL);
        Verification verification = {
                .command = command,
                .arena = command->arena,
                .config = look ? look->config : read_config(command),
                .topology = look ? look->topology : probe_topology(command->root, command->arena),
        };

        prove_each(&verification, status, name);
        find_waste(&verification);
        if (look)
                find_ownerless(&verification, look);
        return verification.proofs;
}

/* The kernel does not tell since when pages wait for a unit that does not start, but the journal may. */
static void date_waste(Command *command, WasteList *waste) {
        uint64_t now_usec = clock_read_usec(CLOCK_REALTIME);

        if (!VEC_ANY(row, waste, row->kind == WASTE_DISABLED || row->kind == WASTE_NO_UNIT))
                return;
        const HistoryEntries *history = journal_read(command);

        VEC_FOREACH(row, waste) {
                bool is_waiting = row->kind == WASTE_DISABLED || row->kind == WASTE_NO_UNIT;
                uint64_t since_usec = is_waiting ? history_unused_since(history, row->instance) : 0;

                if (since_usec > 0)
                        row->age_usec = sub_floored(now_usec, since_usec);
        }
}

int verb_verify(Command *command) {
        const char *name = command->n_arguments == 1 ? command->arguments[0] : NULL;
        const Config *config;
        const Status *status = status_now(command, &config);

        if (name && !status_find(status, name))
                return fail_no_instance(command, name, config ? config : read_config(command));
        Proofs proofs = observe(command, status, name);

        date_waste(command, &proofs.waste);
        print(command, &proofs);
        return VEC_ANY(proof, &proofs.list, !proof->is_as_planned) ? EXIT_NOT_READY : EXIT_DONE;
}
