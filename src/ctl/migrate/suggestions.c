/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the databases of this host, and what `status` shows if there are no instances. */
#include "check/suggest.h"
#include "ctl/observe/journal_read.h"
#include "ctl/verbs.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "inspect/gather.h"
#include "inspect/oracle_files.h"
#include "inspect/pages/server_look.h"
#include "inspect/processes.h"
#include "inspect/setting_sources.h"
#include "model/names.h"

enum { SEGMENTS_BYTES_MAX = 1 << 20 };

static bool is_server(Arena *arena, const RunningProcess *process) {
        const char *program = finder_program(arena, process);

        return ARRAY_ANY(engine, engines, n_engines,
                         (*engine)->servers && text_has_word((*engine)->servers, program));
}

/* Reads the mapped bytes of servers whose files are not read. */
static void look_elsewhere(const Command *command, RunningProcesses *processes) {
        VEC_FOREACH(process, processes)
                if (process->is_elsewhere && is_server(command->arena, process))
                        process->mapped_bytes = server_mapped_bytes(command->root, process->pid);
}

Suggestions suggestions_find(Command *command) {
        Arena *arena = command->arena;
        HostSources sources = host_sources(command->root, arena);
        OwnerGatherer owner = gather_as_owner(command->root);
        Overlay overlay = overlay_over(&sources.sources);
        RunningProcesses processes = processes_list(command->root, arena);
        char *segments = NULL;

        root_read_kernel_file(command->root, arena, PATH_SYSV_SHM, SEGMENTS_BYTES_MAX, &segments,
                              NULL);
        look_elsewhere(command, &processes);
        oracle_files_add(command->root, arena, &overlay);
        const SuggestInput input = {
                .config = read_config(command),
                .topology = probe_topology(command->root, arena),
                .sources = &overlay.sources,
                .gatherer = &owner.gatherer,
                .processes = &processes,
                .sysv_segments = segments,
        };

        return suggest(arena, &input);
}

/* ---- a host without instances ---- */

const FirstLook *first_look_now(Command *command, const Status *status) {
        Arena *arena = command->arena;
        Suggestions *suggestions = ARENA_NEW(arena, Suggestions);
        SetPagesList *set_pages = ARENA_NEW(arena, SetPagesList);
        FirstLook *look = ARENA_NEW(arena, FirstLook);

        if (status->n_instances > 0)
                return NULL;
        /* The daemon has not read the files yet: the status names the next step. */
        if (status->problems.list.n > 0 && read_config(command)->n_instances > 0)
                return NULL;
        const Look *now = local_load(command);
        const Topology *topology = now->topology;

        *set_pages = set_pages_find(arena, setting_sources_find(command->root, arena, topology),
                                    topology, now->plan);
        *suggestions = suggestions_find(command);
        *look = (FirstLook){
                .suggestions = suggestions,
                .set_pages = set_pages,
                .history = VEC_ANY(set, set_pages, set->is_unexplained) ? journal_read(command)
                                                                        : NULL,
                .topology = topology,
                .tables_bytes = probe_page_tables(command->root, arena),
        };
        return look;
}
