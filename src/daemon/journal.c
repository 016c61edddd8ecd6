/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/journal.h"
#include "render/render.h"

#include "base/text.h"
#include "runtime/log.h"
#include "runtime/service.h"
#include "status/messages.h"

static bool send_entry(Arena *arena, const HistoryEntry *entry) {
        const Message *message = message_find(entry->kind);
        SourceNames fields = history_to_fields(arena, entry);

        if (message)
                *vec_push(arena, &fields) = arena_printf(arena, "MESSAGE_ID=%s", message->id);
        return service_journal_send(fields.items, fields.n) >= 0;
}

/* The journal is for services; who runs the daemon by hand reads its standard error. */
void journal_entry(const HistoryEntry *entry) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (!log_is_journal() || !send_entry(arena, entry))
                log_line((int) entry->level.value, "%s", entry->text);
}

void journal_verdict(const StatusInstance *instance) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        HistoryEntry entry = {
                .level =
                        HISTORY_NUMBER(instance->verdict == VERDICT_READY ? LOG_INFO : LOG_WARNING),
                .event = verdict_name(instance->verdict),
                .kind = message_kind(instance),
                .text = render_verdict(arena, instance),
                .unit = instance->unit,
                .figures =
                        {
                                .page_size_bytes = {instance->page_size_bytes > 0,
                                                    instance->page_size_bytes},
                                .pages = HISTORY_NUMBER(instance->pages_granted),
                                .pages_wanted = HISTORY_NUMBER(instance->pages_wanted),
                        },
        };

        *vec_push(arena, &entry.instances) = instance->name;
        journal_entry(&entry);
}

void journal_diag(const Diag *diag) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        journal_entry(&(HistoryEntry){
                .level = HISTORY_NUMBER((uint64_t) log_level_of(diag->severity)),
                .event = history_event_name(HISTORY_PROBLEM),
                .kind = diag->id,
                .text = diag_format(arena, diag),
                .file = diag->file,
                .line = {diag->line > 0, diag->line},
        });
}
