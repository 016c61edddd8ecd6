/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `status` shows beside nothing: a host of which no instance is described yet. */
#include "check/first_look.h"
#include "ctl/verbs.h"
#include "host/probe.h"
#include "inspect/setting_sources.h"
#include "model/names.h"
#include "read/process.h"
#include "render/render_first_look.h"

#include <stdio.h>

void print_first_look(Command *command, const Status *status) {
        Arena *arena = command->arena;
        const Topology *topology = probe_topology(command->root, arena);
        const SettingSources *sources;
        char *memory;

        /* Files that the daemon has not read yet: the next step is in the status. */
        if (status->problems.list.n > 0 && read_config(command)->n_instances > 0)
                return;
        sources = setting_sources_find(command->root, arena, topology);
        const Suggestions suggestions = suggestions_find(command);
        const SetPagesList set_pages = set_pages_find(arena, sources, topology);
        bool has_memory = root_read_attribute(command->root, arena, PATH_MEMINFO, &memory) >= 0;
        const FirstLook look = {
                .suggestions = &suggestions,
                .set_pages = &set_pages,
                .default_page_size_bytes = topology->default_page_size_bytes,
                .tables_bytes = has_memory ? process_find_bytes(arena, memory, "PageTables") : 0,
        };

        fputs(render_first_look(arena, &look, &command->render), stdout);
}
