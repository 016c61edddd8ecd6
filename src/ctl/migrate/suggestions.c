/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The databases of this host. */
#include "check/suggest.h"
#include "ctl/verbs.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "inspect/gather.h"
#include "inspect/oracle_files.h"
#include "inspect/pages/unit_mappings.h"
#include "inspect/processes.h"
#include "model/names.h"

enum { SEGMENTS_BYTES_MAX = 1 << 20 };

static bool is_server(Arena *arena, const RunningProcess *process) {
        const char *program = finder_program(arena, process);

        return ARRAY_ANY(engine, engines, n_engines,
                         (*engine)->servers && text_has_word((*engine)->servers, program));
}

/* Of servers whose files are not read. */
static void look_elsewhere(const Command *command, RunningProcesses *processes) {
        VEC_FOREACH(process, processes)
                if (process->is_elsewhere && is_server(command->arena, process))
                        process->mapped_bytes = process_mappings_bytes(command->root, process->pid);
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
