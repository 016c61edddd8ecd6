/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/gate_size.h"

#include "demand/learned.h"
#include "demand/seen.h"
#include "host/config_load.h"
#include "runtime/log.h"

/* What it was seen to have may be less than it takes now: that is no figure to write down. */
static void warn(Command *command, const StatusInstance *instance, bool is_its_word,
                 const char *who, uint64_t pages) {
        Arena *arena = command->arena;
        const char *page_size = format_page_size(arena, instance->page_size_bytes);

        log_line(
                LOG_WARNING,
                "%s: too little: %s %s pages of %s, and its size as given makes %s; it does not start with them, or does without any; write Memory=auto%s",
                instance->name, who, format_count(arena, pages), page_size,
                format_count(arena, instance->pages_wanted),
                is_its_word ? arena_printf(arena, ", or Pages=%s:%" PRIu64, page_size, pages) : "");
}

/* A gate of many need not read all drop-ins: of one of which nothing was found out, or where that is what counts, as the
 * files tell that are called as it is, there is nothing to warn of. */
static bool may_differ(const Command *command, const StatusInstance *instance) {
        const InstanceConfig named = {.file = instance->file};

        if (!root_exists(command->root, learned_path(command->arena, &named)) &&
            !root_exists(command->root, learned_old_path(command->arena, &named)))
                return false;
        const Config *called =
                config_load_called(command->root, command->arena, command->draft, instance->name);
        const InstanceConfig *config = config_find(called, instance->name);

        return !config || config->refusal || config->memory_kind != MEMORY_AUTO;
}

void gate_warn_of_size(Command *command, const StatusInstance *instance) {
        if (!instance->file || !may_differ(command, instance))
                return;
        const InstanceConfig *config = config_find(read_config(command), instance->name);

        if (!config || config->refusal || config->memory_kind == MEMORY_AUTO ||
            instance->pages_wanted == 0)
                return;
        const Learned *learned = &config->learned;
        uint64_t asked = learned->is_exact
                                 ? page_counts_find(&learned->pages, instance->page_size_bytes)
                                 : 0;
        uint64_t seen = seen_is_known(config)
                                ? page_counts_find(&learned->seen.pages, instance->page_size_bytes)
                                : 0;

        if (asked > instance->pages_wanted)
                warn(command, instance, true,
                     arena_printf(command->arena, "%s itself says that it takes",
                                  config->engine->title),
                     asked);
        /* With other settings it may take less now; the server's word tells. */
        else if (seen > instance->pages_wanted && asked == 0)
                warn(command, instance, false, "it was seen to have mapped", seen);
}
