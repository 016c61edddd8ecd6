/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/views.h"

#include "base/json.h"
#include "base/size.h"
#include "engines/reader.h"

/* The memory mappings of a unit's processes. */
typedef struct UnitMemory {
        bool is_running;
        uint64_t tables_bytes; /* page tables of all processes */
        uint64_t small_bytes;  /* shared memory in small pages, of the process with the most */
        uint64_t huge_bytes;   /* likewise in huge pages */
} UnitMemory;

static UnitMemory memory_of(const HostView *view, const char *unit) {
        UnitMemory memory = {};

        VEC_FOREACH(process, &view->suggestions->processes) {
                if (!unit || !text_equals(process->unit, unit))
                        continue;
                memory.is_running = true;
                memory.tables_bytes = add_saturated(memory.tables_bytes, process->tables_bytes);
                memory.small_bytes = MAX(memory.small_bytes, process->shared_bytes);
                memory.huge_bytes = MAX(memory.huge_bytes, process->huge_bytes);
        }
        return memory;
}

static uint64_t needed_bytes(const HostView *view, const Suggestion *suggestion) {
        return mul_saturated(suggestion->pages, topology_usual_page_size(view->topology));
}

/* Returns the page tables of a session that touches the whole segment; 0: not known. */
static uint64_t tables_of_session(const HostView *view, const Suggestion *suggestion) {
        return page_tables_bytes(needed_bytes(view, suggestion), view->topology->base_page_bytes);
}

/* Returns whether all sessions share one page table: they are threads. */
static bool has_one_table(const Suggestion *suggestion) {
        return !engine_reader(suggestion->engine)->sessions_setting;
}

static const char *tables_at_worst(Arena *arena, const HostView *view,
                                   const Suggestion *suggestion) {
        uint64_t bytes = tables_of_session(view, suggestion);

        if (bytes == 0)
                return "-";
        if (has_one_table(suggestion))
                return format_size(arena, bytes);
        if (suggestion->sessions == 0)
                return arena_printf(arena, "%s a session", format_size(arena, bytes));
        return arena_printf(arena, "%s (%s sessions)",
                            format_size(arena, mul_saturated(bytes, suggestion->sessions)),
                            format_count(arena, suggestion->sessions));
}

/* Returns the next command; NULL: there is none. */
static const char *next_command(const HostView *view, const SetPagesList *set_pages) {
        return set_pages->n > 0 || VEC_ANY(suggestion, view->suggestions, suggestion->path)
                       ? "hugeplanctl import"
                       : NULL;
}

static void add_databases(Text *text, const HostView *view, const RenderOptions *options) {
        Arena *arena = text->arena;
        Table *table =
                table_new(arena, "DATABASE|>NEEDS|MEMORY NOW|>TABLES NOW|TABLES AT WORST|UNIT");

        VEC_FOREACH(suggestion, view->suggestions) {
                const UnitMemory memory = memory_of(view, suggestion->unit);
                uint64_t huge = memory.huge_bytes, small = memory.small_bytes;

                if (!suggestion->engine->reserves)
                        continue;
                table_add(table, suggestion->title);
                table_add(table, render_size(arena, suggestion->pages,
                                             topology_usual_page_size(view->topology)));
                if (!memory.is_running)
                        table_add(table, suggestion->unit ? "does not run" : NULL);
                else if (huge > 0)
                        table_printf(table, "%s huge%s", format_size(arena, huge),
                                     small > huge ? ", and small" : "");
                else if (small > 0)
                        table_printf(table, "%s small", format_size(arena, small));
                else
                        table_add(table, "runs");
                table_add(table,
                          memory.is_running ? format_size(arena, memory.tables_bytes) : NULL);
                table_add(table, tables_at_worst(arena, view, suggestion));
                table_add(table, suggestion->unit);
        }
        render_table(text, options, table, "No known database that takes huge pages was found.\n");
        if (table_rows(table) == 0)
                return;
        text_add(
                text,
                "\nTABLES: page tables, next to nothing with huge pages; at worst, where every session\n"
                "touches all of the memory that the database shares.\n");
        if (view->tables_bytes > 0)
                text_printf(text, "All page tables of this host take %s now.\n",
                            format_size(arena, view->tables_bytes));
}

char *render_first_look(Arena *arena, const HostView *view, const RenderOptions *options) {
        const SetPagesList set_pages = set_pages_find(arena, view);
        const char *next = next_command(view, &set_pages);
        Text text = text_in(arena);

        add_databases(&text, view, options);
        VEC_FOREACH(set, &set_pages) {
                text_printf(&text, "\nSet by others: %s\n",
                            format_page_count_and_size(arena, set->pages, set->page_size_bytes));
                VEC_FOREACH(source, &set->sources)
                        text_printf(&text, "  %s\n",
                                    text_printable(arena, setting_source_format(arena, *source)));
                if (set->is_unexplained)
                        text_printf(&text, "  " SET_PAGES_UNEXPLAINED "\n  %s\n", set->who);
        }
        if (next)
                text_printf(&text,
                            "\nNext: %-22s what it would write for all this; --write creates it\n",
                            next);
        else
                text_add(&text,
                         "\nNext: describe an instance in /etc/hugeplan.d; see hugeplan.d(5)\n");
        return text.string;
}

/* ---- JSON ---- */

json_t *first_look_to_json(Arena *arena, const HostView *view) {
        const SetPagesList list = set_pages_find(arena, view);
        json_t *databases = json_array();

        VEC_FOREACH(suggestion, view->suggestions) {
                const UnitMemory memory = memory_of(view, suggestion->unit);
                uint64_t tables_bytes = tables_of_session(view, suggestion);
                bool has_one = has_one_table(suggestion);
                json_t *now = json_null();

                if (!suggestion->engine->reserves)
                        continue;
                if (memory.is_running)
                        now = json_pack("{so so so}", "smallBytes",
                                        count_to_json(memory.small_bytes), "hugeBytes",
                                        count_to_json(memory.huge_bytes), "pageTableBytes",
                                        count_to_json(memory.tables_bytes));
                json_array_append_new(
                        databases,
                        json_pack("{ss ss ss? so so so so so}", "title", suggestion->title,
                                  "engine", suggestion->engine->name, "unit", suggestion->unit,
                                  "neededBytes", known_to_json(needed_bytes(view, suggestion)),
                                  "sessionsMax", known_to_json(suggestion->sessions),
                                  "sessionPageTableBytes",
                                  known_to_json(has_one ? 0 : tables_bytes), "worstPageTableBytes",
                                  known_to_json(mul_saturated(tables_bytes,
                                                              has_one ? 1 : suggestion->sessions)),
                                  "now", now));
        }
        json_t *set_pages = VEC_TO_JSON(
                set, &list,
                json_pack("{so so so ss?}", "pageSizeBytes", count_to_json(set->page_size_bytes),
                          "pages", count_to_json(set->pages), "sources",
                          VEC_TO_JSON(source, &set->sources,
                                      json_string(text_printable(
                                              arena, setting_source_format(arena, *source)))),
                          "who", set->who));

        return json_pack("{so so so ss?}", "databases", databases, "setByOthers", set_pages,
                         "pageTableBytes", known_to_json(view->tables_bytes), "next",
                         next_command(view, &list));
}
