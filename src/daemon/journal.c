/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/journal.h"
#include "render/render.h"

#include "base/index.h"
#include "base/text.h"
#include "runtime/log.h"
#include "runtime/service.h"
#include "status/history.h"

static bool send_entry(Arena *arena, const HistoryEntry *entry) {
        const Message *message = message_find(entry->kind);
        SourceNames fields = history_to_fields(arena, entry);

        if (message)
                *vec_push(arena, &fields) = arena_printf(arena, "MESSAGE_ID=%s", message->id);
        return service_journal_send(fields.items, fields.n) >= 0;
}

/* journald ignores an entry of more than 1,024 fields: ENTRY_FIELD_COUNT_MAX. */
enum { READY_ENTRIES_MAX = 10, READY_NAMES_MAX = 500 };

/* A message, and outside a service an entry, goes to standard error. */
void journal_listen(void *userdata UNUSED, const HistoryEntry *entry) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (!entry->event || !log_is_journal() || !send_entry(arena, entry))
                log_line((int) entry->level.value, "%s", entry->text);
}

static void log_verdict(const StatusInstance *instance) {
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
        journal_listen(NULL, &entry);
}

/* After a start many instances become ready at once: one entry for up to READY_NAMES_MAX of them. */
static void log_many_ready(const SourceNames *ready) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        for (size_t i = 0; i < ready->n; i += READY_NAMES_MAX) {
                SourceNames some = {.items = ready->items + i,
                                    .n = MIN(ready->n - i, (size_t) READY_NAMES_MAX)};

                HistoryEntry entry = {
                        .level = HISTORY_NUMBER(LOG_INFO),
                        .event = verdict_name(VERDICT_READY),
                        .kind = verdict_name(VERDICT_READY),
                        .text = arena_printf(arena, "%zu instances are ready", some.n),
                        .instances = some,
                };

                journal_listen(NULL, &entry);
        }
}

void logged_update(Logged *logged, const Status *status) {
        if (status->wants_round) /* the end of that round is logged */
                return;
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Logged now = {.arena = arena_new()};

        VEC_FOREACH(problem, &status->problems.list) {
                const char *text = diag_format(now.arena, problem);
                ReasonKind reason;

                /* Reasons are logged with the verdicts, and errors of the configuration when it is read. */
                if (reason_from_id(problem->id, &reason) == 0 ||
                    text_starts_with(problem->id, "config-"))
                        continue;
                const HistoryEntry entry = {
                        .level = HISTORY_NUMBER((uint64_t) log_level_of(problem->severity)),
                        .event = history_events[HISTORY_PROBLEM].name,
                        .kind = problem->id,
                        .text = text,
                        .file = problem->file,
                        .line = {problem->line > 0, problem->line},
                };

                if (!source_names_have(&logged->problems, text))
                        journal_listen(NULL, &entry);
                *vec_push(now.arena, &now.problems) = text;
        }
        const Index *before = INDEX_OF(scratch, known, logged->instances.items, logged->instances.n,
                                       known->instance);
        VEC(const StatusInstance *) changed = {};
        SourceNames ready = {};

        ARRAY_FOREACH(instance, status->instances, status->n_instances) {
                const Said said = {arena_strdup(now.arena, instance->name), instance->verdict,
                                   instance->reason.kind};
                const Said *known = index_find(before, said.instance);

                *vec_push(now.arena, &now.instances) = said;
                if (known && known->verdict == said.verdict && known->reason == said.reason)
                        continue;
                *vec_push(scratch, &changed) = instance;
                if (said.verdict == VERDICT_READY)
                        *vec_push(scratch, &ready) = said.instance;
        }
        bool is_one_entry = ready.n > READY_ENTRIES_MAX;

        VEC_FOREACH(instance, &changed)
                if (!is_one_entry || (*instance)->verdict != VERDICT_READY)
                        log_verdict(*instance);
        if (is_one_entry)
                log_many_ready(&ready);
        arena_free(logged->arena);
        *logged = now;
}
