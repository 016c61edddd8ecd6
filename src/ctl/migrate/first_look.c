/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What `status` shows beside nothing: a host of which no instance is described yet. */
#include "check/first_look.h"
#include "ctl/verbs.h"
#include "host/probe.h"
#include "inspect/setting_sources.h"

const FirstLook *first_look_now(Command *command, const Status *status) {
        Arena *arena = command->arena;
        Suggestions *suggestions = ARENA_NEW(arena, Suggestions);
        SetPagesList *set_pages = ARENA_NEW(arena, SetPagesList);
        FirstLook *look = ARENA_NEW(arena, FirstLook);

        if (status->n_instances > 0)
                return NULL;
        /* Files that the daemon has not read yet: the next step is in the status. */
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
                .topology = topology,
                .tables_bytes = probe_page_tables(command->root, arena),
        };
        return look;
}
