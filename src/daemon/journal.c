/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/journal.h"
#include "render/render.h"

#include "base/text.h"
#include "runtime/log.h"
#include "status/messages.h"

#include <string.h>
#include <systemd/sd-journal.h>

enum { FIELDS_MAX = 16 };

typedef struct Entry {
        Arena *arena;
        struct iovec fields[FIELDS_MAX];
        int n;
} Entry;

/* NAME=VALUE; nothing for a missing value. */
static void add_field(Entry *entry, const char *name, const char *value) {
        if (!value || entry->n == FIELDS_MAX)
                return;
        char *field = arena_printf(entry->arena, "%s=%s", name, value);

        entry->fields[entry->n++] = (struct iovec){field, strlen(field)};
}

static void add_number(Entry *entry, const char *name, uint64_t number) {
        add_field(entry, name, arena_printf(entry->arena, "%" PRIu64, number));
}

/* The journal is for services; who runs the daemon by hand reads its standard error. */
static void send_entry(Entry *entry, int level, const char *kind, const char *text) {
        const Message *message = message_find(kind);

        add_field(entry, "MESSAGE", text);
        add_number(entry, "PRIORITY", (uint64_t) level);
        add_field(entry, "MESSAGE_ID", message ? message->id : NULL);
        add_field(entry, "HUGEPLAN_KIND", kind);
        if (!log_is_journal() || sd_journal_sendv(entry->fields, entry->n) < 0)
                log_line(level, "%s", text);
}

void journal_event(int level, const char *kind, const char *instance, const char *text) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Entry entry = {.arena = arena};

        add_field(&entry, "HUGEPLAN_INSTANCE", instance);
        send_entry(&entry, level, kind, text);
}

void journal_verdict(const StatusInstance *instance) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Entry entry = {.arena = arena};

        add_field(&entry, "HUGEPLAN_INSTANCE", instance->name);
        add_field(&entry, "HUGEPLAN_VERDICT", verdict_name(instance->verdict));
        add_number(&entry, "HUGEPLAN_PAGE_SIZE", instance->page_size_bytes);
        add_number(&entry, "HUGEPLAN_PAGES_WANTED", instance->pages_wanted);
        add_number(&entry, "HUGEPLAN_PAGES_GOT", instance->pages_granted);
        add_field(&entry, "UNIT", instance->unit);
        send_entry(&entry, instance->verdict == VERDICT_READY ? LOG_INFO : LOG_WARNING,
                   message_kind(instance), render_verdict(arena, instance));
}

void journal_diag(const Diag *diag) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Entry entry = {.arena = arena};

        add_field(&entry, "CONFIG_FILE", diag->file);
        if (diag->line > 0)
                add_number(&entry, "CONFIG_LINE", diag->line);
        send_entry(&entry, log_level_of(diag->severity), diag->id, diag_format(arena, diag));
}
