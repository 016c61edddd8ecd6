/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `import`: the databases found and the settings of other programs, as drop-ins; and the lines to be removed. */
#include "base/json.h"
#include "base/text.h"
#include "check/migrate/import.h"
#include "config/config.h"
#include "ctl/observe/journal_read.h"
#include "ctl/verbs.h"
#include "host/config_dirs.h"
#include "host/host_sources.h"
#include "inspect/pages/page_users.h"
#include "inspect/setting_sources.h"
#include "model/exit_code.h"
#include "plan/host_plan.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static Import find_import(Command *command, const Look *look) {
        Arena *arena = command->arena;
        const HostSources sources = host_sources(command->root, arena);
        Suggestions *suggestions = ARENA_NEW(arena, Suggestions);
        HostView view = local_view(look);

        *suggestions = suggestions_find(command);
        view.setting_sources = setting_sources_find(command->root, arena, look->topology);
        view.facts = host_facts_read(arena, &sources.sources, look->config, look->topology,
                                     &(Figures){});
        view.page_users = page_users_find(command->root, arena, look->topology);
        view.history = journal_read(command);
        return import_make(arena, &view, suggestions);
}

/* Returns the plan for transparent huge pages with the files of IMPORT in place. */
static ThpPlan plan_thp(Command *command, const Topology *topology, const Import *import) {
        Arena *arena = command->arena;
        Diags problems = diags_in(arena);
        ConfigTrace trace = {};
        ConfigFiles *files =
                config_dirs_read(command->root, arena, command->draft, NULL, &problems, &trace);

        VEC_FOREACH(file, &import->files)
                *vec_push(arena, files) = (ConfigFile){.path = file->path,
                                                       .name = text_base_name(file->path),
                                                       .text = file->text,
                                                       .size = strlen(file->text)};
        return thp_plan_make(arena, config_parse(arena, files), topology, 0, &problems);
}

/* ---- text ---- */

static void print_thp(Command *command, const Topology *topology, const Import *import) {
        if (import->files.n == 0)
                return;
        const ThpPlan thp = plan_thp(command, topology, import);

        if (thp.writes.n == 0)
                return;
        puts("# With them hugeplan sets transparent huge pages for the whole host (TransparentHugePages=keep in\n"
             "# [Host] leaves them as they are):");
        VEC_FOREACH(write, &thp.writes)
                printf("#   %s\n", host_write_format(command->arena, write));
}

static void print_wrapped(const Command *command, const char *first, const char *indent,
                          const char *paragraph) {
        Text text = text_in(command->arena);

        text_add_wrapped(&text, first, indent, paragraph,
                         command->render.width > 0 ? command->render.width : 100);
        fputs(text_string(&text), stdout);
}

static void print_pages(Command *command, const Import *import) {
        Arena *arena = command->arena;

        VEC_FOREACH(pages, &import->pages) {
                printf("# %s %s; %s for instances and databases found; %s for others.\n",
                       format_page_count(arena, pages->set_pages, pages->page_size_bytes),
                       pages->who ? "stand" : "set today", format_count(arena, pages->known_pages),
                       format_count(arena, pages->rest_pages));
                if (pages->who)
                        print_wrapped(command, "#   ", "#     ", pages->who);
        }
}

/* Warns before anything is written if the plan would refuse it. */
static void print_excess(Command *command, const ImportExcess *excess) {
        Arena *arena = command->arena;

        if (excess->wanted_bytes == 0)
                return;
        printf("# This does not fit: instances and proposals come to %s, and this host has %s beyond KeepFree=.\n",
               format_size(arena, excess->wanted_bytes), format_size(arena, excess->most_bytes));
        if (!excess->largest)
                puts("# Remove what is not needed; each such file says what it is for.");
        else if (excess->largest_pages == 0)
                printf("# The others alone leave nothing for %s.\n", excess->largest->title);
        else
                printf("# The others leave %s pages for %s. The largest settings for so many:\n"
                       "#   hugeplanctl size %s --pages=%" PRIu64 "\n",
                       format_count(arena, excess->largest_pages), excess->largest->title,
                       excess->largest->engine->name, excess->largest_pages);
}

static void print_lines(Command *command, const Import *import, ImportAction action,
                        const char *title) {
        bool is_first = true;

        VEC_FOREACH(line, &import->lines) {
                if (line->action != action)
                        continue;
                printf("%s#   %s: %s\n", is_first ? title : "",
                       line->line > 0 ? source_origin(command->arena, line->file, line->line)
                                      : line->file,
                       text_printable(command->arena, line->text));
                print_wrapped(command, "#       ", "#       ", line->advice);
                is_first = false;
        }
}

static void print_unproposed(const Command *command, const Suggestion *suggestion) {
        Arena *arena = command->arena;
        const char *first = arena_printf(arena, "# %s (%s): ", suggestion->title,
                                         suggestion->unit ? suggestion->unit : suggestion->found);

        if (suggestion->described) {
                printf("%sdescribed by %s\n", first, suggestion->described);
                return;
        }
        Text why = text_in(arena);

        text_printf(&why, "not proposed: %s", suggestion->why_not);
        if (suggestion->peak_bytes > 0)
                text_printf(&why, " (its process had at most %s mapped so far)",
                            format_size(arena, suggestion->peak_bytes));
        print_wrapped(command, first, "#     ", why.string);
}

/* Shows where databases were searched, for an administrator who misses one. */
static void print_places(const Command *command, const Suggestions *suggestions) {
        Arena *arena = command->arena;
        Text places = text_in(arena);

        VEC_FOREACH(place, &suggestions->places)
                text_add_item(&places, arena_printf(arena, "%s (%zu)", place->title, place->n));
        print_wrapped(command, "# Databases were looked for at: ", "#   ", text_string(&places));
        if (suggestions->passed_over.n > 0)
                puts("# Passed over:");
        VEC_FOREACH(passed, &suggestions->passed_over)
                print_wrapped(command, "#   ", "#     ",
                              arena_printf(arena, "%s: %s", text_printable(arena, passed->name),
                                           passed->why));
        print_wrapped(command, "# Lines that set huge pages were looked for in: ", "#   ",
                      arena_printf(arena, "%s. Not in: programs that are no scripts, containers.",
                                   setting_places_titles(arena)));
        if (root_is_host(command->root) && geteuid() != 0)
                puts("# As root more would have been seen.");
}

static void print_import(Command *command, const Topology *topology, const Import *import) {
        bool is_empty = import->files.n == 0;

        VEC_FOREACH(file, &import->files)
                if (!command->is_writing)
                        printf("# ---- %s ----\n%s\n", file->path, file->text);
        print_pages(command, import);
        print_excess(command, &import->excess);
        print_thp(command, topology, import);
        print_lines(command, import, IMPORT_REMOVE,
                    "# To be removed, once 'hugeplanctl status' says ready:\n");
        print_lines(command, import, IMPORT_LOOK, "# To be looked at:\n");
        print_lines(command, import, IMPORT_KEEP, "# What may stay:\n");
        VEC_FOREACH(suggestion, import->suggestions)
                if (!suggestion->path)
                        print_unproposed(command, suggestion);
        print_places(command, import->suggestions);
        if (command->is_writing)
                puts(is_empty
                             ? "There is nothing to write."
                             : "Read them, then: hugeplanctl plan; systemctl daemon-reload; hugeplanctl reload");
        else if (is_empty && import->lines.n == 0)
                printf("# Nothing that was looked at sets pools of huge pages%s.\n",
                       import->suggestions->n > 0
                               ? ""
                               : ", and no databases were found that hugeplan knows");
        if (!is_empty && !command->is_writing)
                printf("# 'hugeplanctl import --write' creates %s, and changes nothing else.\n",
                       import->files.n == 1 ? "this file" : "these files");
}

static json_t *database_to_json(const Suggestion *database) {
        return json_pack("{ss ss ss ss? ss? ss? ss? so}", "title", database->title, "found",
                         database->found, "engine", database->engine->name, "unit", database->unit,
                         "path", database->path, "describedBy", database->described, "reason",
                         database->why_not, "pages", count_to_json(database->pages));
}

static json_t *import_to_json(const Import *import) {
        json_t *files = VEC_TO_JSON(file, &import->files,
                                    json_pack("{ss ss}", "path", file->path, "text", file->text));
        json_t *pages = VEC_TO_JSON(each, &import->pages,
                                    json_pack("{so so so so ss?}", "pageSizeBytes",
                                              count_to_json(each->page_size_bytes), "set",
                                              count_to_json(each->set_pages), "known",
                                              count_to_json(each->known_pages), "rest",
                                              count_to_json(each->rest_pages), "who", each->who));
        json_t *lines = VEC_TO_JSON(line, &import->lines,
                                    json_pack("{ss ss si ss ss}", "action",
                                              import_action_names[line->action], "file", line->file,
                                              "line", (int) line->line, "text", line->text,
                                              "advice", line->advice));

        return json_pack(
                "{so so so so so so so}", "files", files, "pages", pages, "tooLarge",
                import->excess.wanted_bytes == 0
                        ? json_null()
                        : json_pack("{so so}", "wantedBytes",
                                    count_to_json(import->excess.wanted_bytes), "mostBytes",
                                    count_to_json(import->excess.most_bytes)),
                "lines", lines, "databases",
                VEC_TO_JSON(each, import->suggestions, database_to_json(each)), "lookedAt",
                VEC_TO_JSON(
                        place, &import->suggestions->places,
                        json_pack("{ss sI}", "place", place->title, "n", (json_int_t) place->n)),
                "passedOver",
                VEC_TO_JSON(passed, &import->suggestions->passed_over,
                            json_pack("{ss ss}", "name", passed->name, "reason", passed->why)));
}

int verb_import(Command *command) {
        const Look *look = local_load(command);
        const Import import = find_import(command, look);
        int code = EXIT_DONE;

        VEC_FOREACH(file, &import.files)
                if (command->is_writing &&
                    create_file(command, file->path, file->text) != EXIT_DONE)
                        code = EXIT_FAILED;
        if (command->json != JSON_OFF)
                print_json(command, import_to_json(&import));
        else if (code == EXIT_DONE)
                print_import(command, look->topology, &import);
        return code;
}
