/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `verify`: whether running databases use their huge pages, and what is wasted. */
#include "base/json.h"
#include "base/text.h"
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "demand/learned.h"
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
        const Config *config; /* NULL: not read yet */
        const Index *by_unit; /* the status's instances; NULL: not made yet */
        ServerHost host;
} Verification;

/* Reads the database's own settings, which explain a fall back and limit its sessions; what they need; and why the
 * database takes no huge pages with them. */
static void read_settings(const Verification *verification, ProofInput *input, ServerLook *look) {
        const InstanceConfig *config = input->config;
        const StatusInstance *instance = input->instance;
        OwnerGatherer owner = gather_as_owner(verification->command->root);
        Arena *arena = verification->command->arena;

        if (!config || config->refusal || !config->engine->has_auto)
                return;
        const EngineTarget target = figures_target(config, verification->host.topology);
        const Gathered *gathered =
                owner.gatherer.gather(&owner.gatherer, arena, config->engine, &target);
        Figure *figure = ARENA_NEW(arena, Figure);

        *figure = gathered_figure(arena, config->engine, &target, gathered,
                                  instance->page_size_bytes);
        input->settings = &gathered->settings;
        input->wrong = figure->wrong;
        input->sizing = figure->wrong ? NULL : &figure->sizing;
        input->n_sessions_max = engine_sessions(config->engine, gathered);
        if (gathered->incomplete && engine_reader(config->engine)->sessions_setting)
                *vec_push(arena, &look->missing) = arena_printf(
                        arena, "sessions (%s): %s", engine_reader(config->engine)->sessions_setting,
                        gathered->incomplete);
}

/* At a glance, the settings are read only if small memory needs an explanation. */
static const Proof *prove(Verification *verification, const Status *status,
                          const StatusInstance *instance, bool is_glance) {
        Command *command = verification->command;
        Arena *arena = command->arena;
        const Engine *engine = instance->engine ? engine_find(instance->engine) : NULL;
        ServerLook *look = ARENA_NEW(arena, ServerLook);
        Proof *proof = ARENA_NEW(arena, Proof);
        ProofInput input = {.instance = instance,
                            .look = look,
                            .base_page_bytes = verification->host.topology->base_page_bytes};

        *look = server_look(&verification->host, engine, instance->unit, is_glance);
        /* If the controller does not count for an instance that `status NAME` asks for, for people to read, a glance
         * is not enough. */
        if (is_glance && look->is_running && !look->is_counted && command->n_arguments == 1 &&
            command->json == JSON_OFF && !command->is_plugin &&
            text_equals(instance->name, command->arguments[0]))
                *look = server_look(&verification->host, engine, instance->unit, false);
        if (!is_glance || proof_wants_settings(engine, look)) {
                if (!verification->config) {
                        verification->config = read_config(command);
                        verification->host.topology = probe_topology(command->root, arena, NULL);
                }
                input.config = config_find(verification->config, instance->name);
                if (look->is_running)
                        read_settings(verification, &input, look);
        }
        if (!verification->by_unit)
                verification->by_unit =
                        INDEX_OF(arena, each, status->instances, status->n_instances, each->unit);
        input.is_unit_shared =
                !index_find_only(verification->by_unit, instance->unit) ||
                VEC_ANY(hold, &status->left, text_equals(hold->unit, instance->unit));
        *proof = proof_judge(arena, &input);
        return proof;
}

/* Adds the pages of no instance, which need a look at the whole host. */
static void find_ownerless(Command *command, const Look *look, WasteList *waste) {
        Arena *arena = command->arena;
        HostView view = local_view(look);

        view.page_users = page_users_find(command->root, arena, look->topology);
        view.setting_sources = setting_sources_find(command->root, arena, look->topology);
        ARRAY_FOREACH(size, look->topology->page_sizes, look->topology->n_page_sizes) {
                const IdlePages idle = idle_pages_find(arena, &view, size->bytes);

                if (idle.pages == 0)
                        continue;
                const char *origin =
                        idle.origin ?: history_say_who(arena, journal_read(command), size->bytes);

                *vec_push(arena, waste) = (Waste){
                        .kind = WASTE_IDLE,
                        .page_size_bytes = size->bytes,
                        .pages = idle.pages,
                        .what = arena_printf(arena,
                                             "planned for no instance and not in use (%s); %s",
                                             idle.where, origin),
                        .command = idle.command,
                };
        }
        waste_add_segments(arena, view.page_users, waste);
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
        Verification verification = {.command = command};
        Diags problems = diags_in(command->arena);
        size_t n = 0;

        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                if (!instance->unit || instance->pages_wanted == 0)
                        continue;
                if (!verification.host.root)
                        verification.host = server_host(command->root, command->arena,
                                                        page_sizes_of(command, status));
                instance->proof = prove(&verification, status, instance, true);
                instance->outcome = outcome_name(instance->proof->outcome);
                if (instance->proof->outcome != OUTCOME_UNKNOWN)
                        proof_add_problems(instance->proof, SEVERITY_WARNING, &problems);
                for (; n < problems.list.n; n++)
                        problems.list.items[n].file = instance->file;
        }
        diags_add_all(&status->problems, &problems);
}

ProofList prove_all(Command *command, const Status *status, const char *name, const Config *config,
                    const Topology *topology) {
        Verification verification = {command, config, NULL,
                                     server_host(command->root, command->arena, topology)};
        ProofList proofs = {};

        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                const Engine *engine = instance->engine ? engine_find(instance->engine) : NULL;

                /* If the file is broken or the size is unknown, the need is not known. */
                if (name ? text_equals(instance->name, name) : !engine || engine->reserves)
                        *vec_push(command->arena, &proofs) =
                                *prove(&verification, status, instance, false);
        }
        return proofs;
}

Proofs observe(Command *command, const Status *status, const char *name) {
        Arena *arena = command->arena;
        const Look *look = name ? NULL : local_load(command, false, NULL);
        const Config *config = look ? look->config : read_config(command);
        const Topology *topology = look ? look->topology
                                        : probe_topology(command->root, arena, NULL);
        HostSources sources = host_sources(command->root, arena);
        Proofs proofs = {.list = prove_all(command, status, name, config, topology)};
        const Index *starters = NULL; /* not read yet */

        VEC_FOREACH(proof, &proofs.list) {
                const char *unit = proof->instance->unit;
                UnitStart start = UNIT_START_WANTED;

                if (unit && !proof->look->is_running) {
                        const UnitFile *file = unit_file_read(arena, &sources.sources, unit);

                        if (!file->fragment_path || file->is_masked) {
                                start = UNIT_START_GONE;
                        } else {
                                if (!starters)
                                        starters = unit_file_starters(arena, &sources.sources);
                                if (!index_find(starters, unit))
                                        start = UNIT_START_DISABLED;
                        }
                }
                waste_add_instance(arena, proof, config_find(config, proof->instance->name), start,
                                   &proofs.waste);
        }
        if (look)
                find_ownerless(command, look, &proofs.waste);
        return proofs;
}

int verb_verify(Command *command) {
        Arena *arena = command->arena;
        const char *name = command->n_arguments == 1 ? command->arguments[0] : NULL;
        const HistoryEntries *history = NULL;
        const Config *config;
        const Status *status = status_now(command, &config);

        if (name && !status_find(status, name))
                return fail_no_instance(command, name, config ? config : read_config(command));
        Proofs proofs = observe(command, status, name);
        const Proof *only = name ? &proofs.list.items[0] : NULL;

        /* The kernel does not tell since when pages wait for a unit that does not start, but the journal may. */
        VEC_FOREACH(row, &proofs.waste) {
                if (row->kind != WASTE_DISABLED && row->kind != WASTE_NO_UNIT)
                        continue;
                history = history ? history : journal_read(command);
                uint64_t since_usec = history_unused_since(history, row->instance);

                if (since_usec > 0)
                        row->age_usec = sub_floored(clock_read_usec(CLOCK_REALTIME), since_usec);
        }
        if (command->output != OUTPUT_TEXT)
                print_columns(command, VEC_TO_JSON(proof, &proofs.list, proof_to_json(proof)),
                              PROOF_COLUMNS);
        else if (command->json != JSON_OFF)
                print_json(command, only ? proof_to_json(only) : proofs_to_json(&proofs));
        else
                fputs(render_proofs(arena, &proofs, only, &command->render), stdout);
        return VEC_ANY(proof, &proofs.list, !proof->is_as_planned) ? EXIT_NOT_READY : EXIT_DONE;
}
