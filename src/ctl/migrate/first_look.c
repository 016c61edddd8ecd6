/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `status` shows beside nothing: a host of which no instance is described yet. */
#include "base/text.h"
#include "ctl/verbs.h"
#include "host/probe.h"
#include "inspect/pages/unit_memory.h"
#include "inspect/setting_sources.h"
#include "model/names.h"

#include <string.h>

/* "PageTables:  3176 kB" */
static uint64_t host_tables_bytes(Command *command) {
        char *text = NULL;
        const char *at;
        uint64_t kib = 0;

        if (root_read_attribute(command->root, command->arena, PATH_MEMINFO, &text) < 0 ||
            !(at = strstr(text, "\nPageTables:")))
                return 0;
        at += strlen("\nPageTables:");
        const char *word = text_next_word(command->arena, &at, " \t\n");

        return word && parse_u64(word, &kib) == 0 ? mul_saturated(kib, KIB) : 0;
}

const FirstLook *take_first_look(Command *command, const Status *status) {
        Arena *arena = command->arena;
        Suggestions *suggestions = ARENA_NEW(arena, Suggestions);
        UnitMemories *memories = ARENA_NEW(arena, UnitMemories);
        SetPagesList *set_pages = ARENA_NEW(arena, SetPagesList);
        FirstLook *look = ARENA_NEW(arena, FirstLook);

        if (status->n_instances > 0)
                return NULL;
        /* Files that the daemon has not read yet: the next step is in the status. */
        if (status->problems.list.n > 0 && read_config(command)->n_instances > 0)
                return NULL;
        const Topology *topology = probe_topology(command->root, arena);

        *suggestions = suggestions_find(command);
        *memories = unit_memories_read(command->root, arena);
        *set_pages = set_pages_find(arena, setting_sources_find(command->root, arena, topology),
                                    topology);
        *look = (FirstLook){
                .suggestions = suggestions,
                .memories = memories,
                .set_pages = set_pages,
                .default_page_size_bytes = topology->default_page_size_bytes,
                .tables_bytes = host_tables_bytes(command),
        };
        return look;
}
