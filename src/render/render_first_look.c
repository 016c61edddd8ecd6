/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/views.h"

#include "base/json.h"
#include "base/size.h"
#include "engines/reader.h"

/* The cells for one database. */
typedef struct FirstLookRow {
        const char *needs;           /* "2.1G" */
        const char *memory;          /* "1.9G small" */
        const char *tables;          /* page tables now: "4.4M" */
        const char *tables_at_worst; /* "4.1G (1,000 sessions)" */
} FirstLookRow;

/* The next command and what it does. */
typedef struct FirstLookNext {
        const char *command; /* NULL: there is none */
        const char *what;
} FirstLookNext;

/* The memory mappings of a unit's processes. */
typedef struct UnitMemory {
        bool is_running;
        uint64_t tables_bytes; /* page tables of all processes */
        uint64_t small_bytes;  /* shared memory in small pages, of the process with the most */
        uint64_t huge_bytes;   /* likewise in huge pages */
} UnitMemory;

static UnitMemory memory_of(const FirstLook *look, const char *unit) {
        UnitMemory memory = {};

        VEC_FOREACH(process, &look->suggestions->processes) {
                if (!unit || !text_equals(process->unit, unit))
                        continue;
                memory.is_running = true;
                memory.tables_bytes = add_saturated(memory.tables_bytes, process->tables_bytes);
                memory.small_bytes = MAX(memory.small_bytes, process->shared_bytes);
                memory.huge_bytes = MAX(memory.huge_bytes, process->huge_bytes);
        }
        return memory;
}

static const char *runs_on(Arena *arena, const Suggestion *suggestion, const UnitMemory *memory) {
        if (!memory->is_running)
                return suggestion->unit ? "does not run" : "-";
        if (memory->huge_bytes > 0)
                return arena_printf(arena, "%s huge%s", format_size(arena, memory->huge_bytes),
                                    memory->small_bytes > memory->huge_bytes ? ", and small" : "");
        return memory->small_bytes > 0
                       ? arena_printf(arena, "%s small", format_size(arena, memory->small_bytes))
                       : "runs";
}

static uint64_t needed_bytes(const FirstLook *look, const Suggestion *suggestion) {
        return mul_saturated(suggestion->pages, topology_usual_page_size(look->topology));
}

/* Returns the page tables of a session that touches the whole segment; 0: not known. */
static uint64_t tables_of_session(const FirstLook *look, const Suggestion *suggestion) {
        return page_tables_bytes(needed_bytes(look, suggestion), look->topology->base_page_bytes);
}

/* Returns whether all sessions share one page table: they are threads. */
static bool has_one_table(const Suggestion *suggestion) {
        return !engine_reader(suggestion->engine)->sessions_setting;
}

static const char *tables_at_worst(Arena *arena, const FirstLook *look,
                                   const Suggestion *suggestion) {
        uint64_t bytes = tables_of_session(look, suggestion);

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

static FirstLookRow first_look_row(Arena *arena, const FirstLook *look,
                                   const Suggestion *suggestion) {
        const UnitMemory memory = memory_of(look, suggestion->unit);

        return (FirstLookRow){
                .needs = render_size(arena, suggestion->pages,
                                     topology_usual_page_size(look->topology)),
                .memory = runs_on(arena, suggestion, &memory),
                .tables = memory.is_running ? format_size(arena, memory.tables_bytes) : "-",
                .tables_at_worst = tables_at_worst(arena, look, suggestion),
        };
}

static FirstLookNext first_look_next(const FirstLook *look) {
        if (look->set_pages->n > 0 || VEC_ANY(suggestion, look->suggestions, suggestion->path))
                return (FirstLookNext){"hugeplanctl import",
                                       "what it would write for all this; --write creates it"};
        return (FirstLookNext){NULL, "describe an instance in /etc/hugeplan.d; see hugeplan.d(5)"};
}

static void add_databases(Text *text, const FirstLook *look, const RenderOptions *options) {
        Arena *arena = text->arena;
        Table *table =
                table_new(arena, "DATABASE|>NEEDS|MEMORY NOW|>TABLES NOW|TABLES AT WORST|UNIT");

        VEC_FOREACH(suggestion, look->suggestions) {
                const FirstLookRow row = first_look_row(arena, look, suggestion);

                if (!suggestion->engine->reserves)
                        continue;
                table_add(table, suggestion->title);
                table_add(table, row.needs);
                table_add(table, row.memory);
                table_add(table, row.tables);
                table_add(table, row.tables_at_worst);
                table_add(table, suggestion->unit ? suggestion->unit : "-");
        }
        if (table_rows(table) == 0) {
                text_add(
                        text,
                        "\nNo databases were found that take huge pages and that hugeplan knows.\n");
                return;
        }
        text_add(text, "\n");
        table_print(table, text, "", options->is_colored);
        text_add(
                text,
                "\nTABLES: page tables, next to nothing with huge pages; at worst, where every session\n"
                "touches all of the memory that the database shares.\n");
        if (look->tables_bytes > 0)
                text_printf(text, "All page tables of this host take %s now.\n",
                            format_size(arena, look->tables_bytes));
}

static void add_set_pages(Text *text, const FirstLook *look) {
        Arena *arena = text->arena;

        VEC_FOREACH(set, look->set_pages) {
                text_printf(text, "\nSet by others: %s\n",
                            format_page_count_and_size(arena, set->pages, set->page_size_bytes));
                VEC_FOREACH(source, &set->sources)
                        text_printf(text, "  %s\n",
                                    text_printable(arena, setting_source_format(arena, *source)));
                if (set->is_unexplained)
                        text_printf(text, "  " SET_PAGES_UNEXPLAINED "\n  %s\n",
                                    history_say_who(arena, look->history, set->page_size_bytes));
        }
}

char *render_first_look(Arena *arena, const FirstLook *look, const RenderOptions *options) {
        const FirstLookNext next = first_look_next(look);
        Text text = text_in(arena);

        add_databases(&text, look, options);
        add_set_pages(&text, look);
        if (next.command)
                text_printf(&text, "\nNext: %-22s %s\n", next.command, next.what);
        else
                text_printf(&text, "\nNext: %s\n", next.what);
        return text.string;
}

/* ---- JSON ---- */

static json_t *database_to_json(const FirstLook *look, const Suggestion *suggestion) {
        const UnitMemory memory = memory_of(look, suggestion->unit);
        json_t *now = json_null();

        if (memory.is_running)
                now = json_pack("{so so so}", "smallBytes", count_to_json(memory.small_bytes),
                                "hugeBytes", count_to_json(memory.huge_bytes), "pageTableBytes",
                                count_to_json(memory.tables_bytes));
        return json_pack(
                "{ss ss ss? so so so so so}", "title", suggestion->title, "engine",
                suggestion->engine->name, "unit", suggestion->unit, "neededBytes",
                known_to_json(needed_bytes(look, suggestion)), "sessionsMax",
                known_to_json(suggestion->sessions), "sessionPageTableBytes",
                known_to_json(has_one_table(suggestion) ? 0 : tables_of_session(look, suggestion)),
                "worstPageTableBytes",
                known_to_json(mul_saturated(tables_of_session(look, suggestion),
                                            has_one_table(suggestion) ? 1 : suggestion->sessions)),
                "now", now);
}

static json_t *set_pages_to_json(Arena *arena, const FirstLook *look, const SetPages *set) {
        return json_pack(
                "{so so so ss?}", "pageSizeBytes", count_to_json(set->page_size_bytes), "pages",
                count_to_json(set->pages), "sources",
                VEC_TO_JSON(
                        source, &set->sources,
                        json_string(text_printable(arena, setting_source_format(arena, *source)))),
                "who",
                set->is_unexplained ? history_say_who(arena, look->history, set->page_size_bytes)
                                    : NULL);
}

json_t *first_look_to_json(Arena *arena, const FirstLook *look) {
        json_t *databases = json_array();

        VEC_FOREACH(suggestion, look->suggestions)
                if (suggestion->engine->reserves)
                        json_array_append_new(databases, database_to_json(look, suggestion));
        return json_pack("{so so so ss?}", "databases", databases, "setByOthers",
                         VEC_TO_JSON(set, look->set_pages, set_pages_to_json(arena, look, set)),
                         "pageTableBytes", known_to_json(look->tables_bytes), "next",
                         first_look_next(look).command);
}
