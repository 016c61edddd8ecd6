/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/render_history.h"

#include "base/json.h"
#include "base/text.h"

#include <syslog.h>

/* ---- text ---- */

static const char *entry_color(const HistoryEntry *entry) {
        return !entry->level.is_known              ? NULL
               : entry->level.value <= LOG_ERR     ? RENDER_RED
               : entry->level.value <= LOG_WARNING ? RENDER_YELLOW
                                                   : NULL;
}

/* "orders", "orders, sales", "orders, 7 more". */
static const char *whom(Arena *arena, const HistoryEntry *entry) {
        const SourceNames *names = &entry->instances;
        Text text = text_in(arena);

        for (size_t i = 0; i < MIN(names->n, names->n > 2 ? 1U : 2U); i++)
                text_add_item(&text, names->items[i]);
        if (names->n > 2)
                text_add_item(&text, arena_printf(arena, "%zu more", names->n - 1));
        return text.string;
}

static const char *boot_name(Arena *arena, const HistoryEntry *entry) {
        if (!entry->boots_ago.is_known)
                return NULL;
        return entry->boots_ago.value == 0
                       ? "0"
                       : arena_printf(arena, "-%" PRIu64, entry->boots_ago.value);
}

char *render_history(Arena *arena, const HistoryEntries *history, const RenderOptions *options) {
        Table *table = table_new(arena, "WHEN|>BOOT|EVENT|INSTANCE|>NODE|WHAT HAPPENED");
        Text text = text_in(arena);

        VEC_FOREACH(entry, history) {
                const HistoryNumber node = entry->figures.node;

                table_add(table, entry->at);
                table_add(table, boot_name(arena, entry));
                table_add_colored(table, entry->event, entry_color(entry));
                table_add(table, whom(arena, entry));
                table_add(table,
                          node.is_known ? arena_printf(arena, "%" PRIu64, node.value) : NULL);
                table_add(table, entry->text);
        }
        if (table_rows(table) > 0)
                table_print(table, &text, "", options->is_colored);
        return arena_strdup(arena, text_string(&text));
}

/* ---- JSON ---- */

static json_t *number_to_json(HistoryNumber number) {
        return number.is_known ? count_to_json(number.value) : NULL;
}

static json_t *entry_to_json(const HistoryEntry *entry) {
        const HistoryFigures *figures = &entry->figures;
        json_t *instances = VEC_TO_JSON(name, &entry->instances, json_string(*name));

        return json_pack(
                "{so ss? ss? so* ss? ss* ss? so so* so* so* so* so* ss* ss* ss* so*}", "atUSec",
                count_to_json(entry->at_usec), "at", entry->at, "boot", entry->boot, "bootsAgo",
                number_to_json(entry->boots_ago), "event", entry->event, "kind", entry->kind,
                "text", entry->text, "instances", instances, "node", number_to_json(figures->node),
                "pageSizeBytes", number_to_json(figures->page_size_bytes), "pagesBefore",
                number_to_json(figures->pages_before), "pages", number_to_json(figures->pages),
                "pagesWanted", number_to_json(figures->pages_wanted), "by", entry->by, "unit",
                entry->unit, "file", entry->file, "line", number_to_json(entry->line));
}

json_t *history_to_json(const HistoryEntries *history) {
        return VEC_TO_JSON(entry, history, entry_to_json(entry));
}
