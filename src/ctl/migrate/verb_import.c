/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `import`: the databases found and the settings of other programs, as drop-ins; and the lines to be removed. What
 * `status` shows if there are no instances is found in the same way. */
#include "base/json.h"
#include "base/text.h"
#include "check/import.h"
#include "config/config.h"
#include "ctl/observe/observe.h"
#include "ctl/verbs.h"
#include "host/config_load.h"
#include "host/host_sources.h"
#include "host/probe.h"
#include "inspect/gather.h"
#include "inspect/pages/page_users.h"
#include "inspect/pages/server_look.h"
#include "inspect/process_files.h"
#include "inspect/setting_sources.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "plan/host_plan.h"
#include "runtime/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SEGMENTS_BYTES_MAX = 1 << 20 };

static const Suggestions *suggestions_find(Command *command) {
        Arena *arena = command->arena;
        Suggestions *suggestions = ARENA_NEW(arena, Suggestions);
        HostSources sources = host_sources(command->root, arena);
        OwnerGatherer owner = gather_as_owner(command->root);
        Overlay overlay = overlay_over(arena, &sources.sources);
        Processes processes = processes_list(command->root, arena);
        char *segments = NULL;

        root_read_kernel_file(command->root, arena, PATH_SYSV_SHM, SEGMENTS_BYTES_MAX, &segments,
                              NULL);
        /* The mapped bytes of servers whose files are not read. */
        VEC_FOREACH(process, &processes)
                if (process->is_elsewhere &&
                    ARRAY_ANY(engine, engines, n_engines,
                              (*engine)->servers && text_has_word((*engine)->servers,
                                                                  finder_program(arena, process))))
                        process->mapped_bytes = server_mapped_bytes(command->root, process->pid);
        gather_oratab(command->root, arena, &overlay);
        const SuggestInput input = {
                .arena = arena,
                .config = read_config(command),
                .topology = probe_topology(command->root, arena, NULL),
                .sources = &overlay.sources,
                .gatherer = &owner.gatherer,
                .processes = &processes,
                .sysv_segments = segments,
        };

        *suggestions = suggest(&input);
        return suggestions;
}

/* ---- a host without instances ---- */

bool first_look_add(Command *command, const Status *status, HostView *view) {
        Arena *arena = command->arena;

        /* A snapshot has what is found on any host. If the daemon has not read the files yet, the status names the next
         * step. */
        if (!root_recorder(command->root) &&
            (status->n_instances > 0 ||
             (status->problems.list.n > 0 && read_config(command)->n_instances > 0)))
                return false;
        if (!view->plan)
                *view = local_view(local_load(command, true, NULL));
        if (!view->setting_sources)
                view->setting_sources = setting_sources_find(command->root, arena, view->topology);
        view->suggestions = suggestions_find(command);
        view->tables_bytes = probe_page_tables(command->root, arena);
        const SetPagesList set_pages = set_pages_find(arena, view);

        if (!view->history && VEC_ANY(set, &set_pages, set->is_unexplained))
                view->history = journal_read(command);
        return true;
}

/* ---- text ---- */

static void print_wrapped(const Command *command, const char *first, const char *indent,
                          const char *paragraph) {
        Text text = text_in(command->arena);

        render_paragraph(&text, &command->render, first, indent, paragraph);
        fputs(text_string(&text), stdout);
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

        Text why = text_in(arena);

        text_printf(&why, "%s%s", suggestion->described ? "described by " : "not proposed: ",
                    suggestion->described ?: suggestion->why_not);
        if (!suggestion->described && suggestion->peak_bytes > 0)
                text_printf(&why, " (its process had at most %s mapped so far)",
                            format_size(arena, suggestion->peak_bytes));
        print_wrapped(command, first, "#     ", why.string);
}

/* Shows what was skipped, and where lines were searched, for an administrator who misses one. */
static void print_places(const Command *command, const Suggestions *suggestions) {
        Arena *arena = command->arena;

        if (suggestions->passed_over.n > 0)
                puts("# Skipped:");
        VEC_FOREACH(passed, &suggestions->passed_over)
                print_wrapped(command, "#   ", "#     ",
                              arena_printf(arena, "%s: %s", text_printable(arena, passed->name),
                                           passed->why));
        print_wrapped(
                command, "# Looked for lines that set huge pages in: ", "#   ",
                "the kernel command line, sysctl.d, tmpfiles.d, tuned, boot loaders, modprobe.d, udev's rules, sysfs.conf, units, rc.local, init.d, cron, cloud-init, hooks of network and libvirt, /etc/dpdk, and the scripts that these run. Not in: binary programs, containers.");
        if (root_is_host(command->root) && geteuid() != 0)
                puts("# Root would see more.");
}

static void print_import(Command *command, const Suggestions *suggestions, const Import *import) {
        Arena *arena = command->arena;
        bool is_empty = import->files.n == 0;

        VEC_FOREACH(file, &import->files)
                if (!command->is_writing)
                        printf("# ---- %s ----\n%s\n", file->path, file->text);
        VEC_FOREACH(pages, &import->pages) {
                printf("# %s %s; %s for instances and databases found; %s for others.\n",
                       format_page_count(arena, pages->pages, pages->page_size_bytes),
                       pages->who ? "exist" : "set today", format_count(arena, pages->known_pages),
                       format_count(arena, pages->rest_pages));
                if (pages->who)
                        print_wrapped(command, "#   ", "#     ", pages->who);
        }
        print_lines(command, import, IMPORT_REMOVE,
                    "# To be removed, once 'hugeplanctl status' says ready:\n");
        print_lines(command, import, IMPORT_LOOK, "# To be looked at:\n");
        VEC_FOREACH(suggestion, suggestions)
                if (!suggestion->path)
                        print_unproposed(command, suggestion);
        print_places(command, suggestions);
        if (command->is_writing)
                puts(is_empty
                             ? "There is nothing to write."
                             : "Read them, then: hugeplanctl plan; systemctl daemon-reload; hugeplanctl reload");
        else if (is_empty && import->lines.n == 0)
                print_wrapped(
                        command, "# ", "# ",
                        suggestions->n > 0
                                ? "Nothing that was looked at sets pools of huge pages."
                                : "Nothing that was looked at sets pools of huge pages, and no databases were found that hugeplan knows.");
        if (!is_empty && !command->is_writing)
                printf("# 'hugeplanctl import --write' creates %s, and changes nothing else.\n",
                       import->files.n == 1 ? "this file" : "these files");
}

static json_t *import_to_json(const Import *import, const Suggestions *suggestions) {
        json_t *files = VEC_TO_JSON(file, &import->files,
                                    json_pack("{ss ss}", "path", file->path, "text", file->text));
        json_t *pages = VEC_TO_JSON(each, &import->pages,
                                    json_pack("{so so so so ss?}", "pageSizeBytes",
                                              count_to_json(each->page_size_bytes), "set",
                                              count_to_json(each->pages), "known",
                                              count_to_json(each->known_pages), "rest",
                                              count_to_json(each->rest_pages), "who", each->who));
        json_t *lines = VEC_TO_JSON(line, &import->lines,
                                    json_pack("{ss ss si ss ss}", "action",
                                              import_action_names[line->action], "file", line->file,
                                              "line", (int) line->line, "text", line->text,
                                              "advice", line->advice));

        return json_pack(
                "{so so so so so}", "files", files, "pages", pages, "lines", lines, "databases",
                VEC_TO_JSON(each, suggestions,
                            json_pack("{ss ss ss ss? ss? ss? ss? so}", "title", each->title,
                                      "found", each->found, "engine", each->engine->name, "unit",
                                      each->unit, "path", each->path, "describedBy",
                                      each->described, "reason", each->why_not, "pages",
                                      count_to_json(each->pages))),
                "passedOver",
                VEC_TO_JSON(passed, &suggestions->passed_over,
                            json_pack("{ss ss}", "name", passed->name, "reason", passed->why)));
}

/* Creates a drop-in atomically and prints its path; an existing file is not changed. Returns an exit code. */
static int create_file(const Command *command, const char *path, const char *text) {
        int r = root_create_file(command->root, path, text);

        if (r == -EEXIST) {
                log_line(LOG_WARNING, "%s already exists and is not changed", path);
        } else if (r < 0) {
                return log_failure(EXIT_FAILED, "%s: %s", path, strerror(-r));
        } else if (command->json == JSON_OFF) {
                printf("%s: written\n", root_path(command->arena, command->root, path));
        }
        return EXIT_DONE;
}

int verb_import(Command *command) {
        Arena *arena = command->arena;
        const Look *look = local_load(command, true, NULL);
        const HostSources sources = host_sources(command->root, arena);
        HostView view = local_view(look);
        int code = EXIT_DONE;

        view.suggestions = suggestions_find(command);
        view.setting_sources = setting_sources_find(command->root, arena, look->topology);
        view.facts = host_facts_read(arena, &sources.sources, look->config, look->topology,
                                     &(Figures){});
        view.page_users = page_users_find(command->root, arena, look->topology);
        view.history = journal_read(command);
        const Import import = import_make(arena, &view);

        VEC_FOREACH(file, &import.files)
                if (command->is_writing &&
                    create_file(command, file->path, file->text) != EXIT_DONE)
                        code = EXIT_FAILED;
        if (command->json != JSON_OFF)
                print_json(command, import_to_json(&import, view.suggestions));
        else if (code == EXIT_DONE)
                print_import(command, view.suggestions, &import);
        return code;
}
