/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Looks for commands that set huge pages at boot: in services, rc.local and cron's @reboot lines, and in
 * the scripts that these run. Of services that a package brought only those are looked at that mention huge
 * pages themselves. Only files of root are read on the running host (host/host_sources.h). */

#include "inspect/setting_sources.h"

#include "base/text.h"
#include "host/host_sources.h"
#include "model/names.h"
#include "read/unit_file.h"

#include <string.h>

enum { UNITS_MAX = 4096 };

/* The administrator's own come first; of packages' those that speak of huge pages. */
static const struct {
        const char *path;
        bool is_local;
} unit_directories[] = {
        {"/etc/systemd/system", true},           {"/run/systemd/system", true},
        {"/usr/local/lib/systemd/system", true}, {"/usr/lib/systemd/system", false},
        {"/lib/systemd/system", false},
};

typedef struct Finder {
        Arena *arena;
        const Sources *sources;
        SettingSources *entries;
        SourceNames wanted; /* units that something starts */
        SourceNames units;  /* that were looked at */
} Finder;

/* Where a command stands, and with what it is run. */
typedef struct Caller {
        const char *path;
        unsigned line;
        const char *unit; /* NULL: none */
        Variables variables;
        bool is_dormant;
} Caller;

static void add_text(const Finder *finder, const Caller *caller, const char *path, const char *text,
                     unsigned line) {
        setting_sources_add_file(finder->entries, &(SettingSourceFile){
                                                          .source = SETTING_SOURCE_SCRIPT,
                                                          .path = path,
                                                          .text = text,
                                                          .size = strlen(text),
                                                          .line = line,
                                                          .unit = caller->unit,
                                                          .variables = &caller->variables,
                                                          .is_dormant = caller->is_dormant,
                                                  });
}

/* The program of a command, where that is a script. */
static void add_script(const Finder *finder, const Caller *caller, const char *path) {
        const SourceText text = source_read(finder->sources, finder->arena, path);

        if (text.text && text_starts_with(text.text, "#!"))
                add_text(finder, caller, path, text.text, 1);
}

/* A command, and the script that it runs. */
static void add_command(const Finder *finder, const Caller *caller, const SourceNames *words) {
        Text text = text_in(finder->arena);

        VEC_FOREACH(word, words) {
                text_add(&text, "'");
                for (const char *at = *word; *at; at++)
                        if (*at == '\'')
                                text_add(&text, "'\\''");
                        else
                                text_add_n(&text, at, 1);
                text_add(&text, "' ");
        }
        add_text(finder, caller, caller->path, text_string(&text), caller->line);
        /* The program itself, or what a shell is to read. */
        ARRAY_FOREACH(word, words->items, MIN(words->n, (size_t) 2))
                if (**word == '/')
                        add_script(finder, caller, *word);
}

/* ---- units ---- */

static void add_unit(Finder *finder, const char *name) {
        static const char *const keys[] = {"ExecStartPre", "ExecStart", "ExecStartPost"};
        const UnitFile *unit = unit_file_read(finder->arena, finder->sources, name);

        if (source_names_have(&finder->units, unit->name))
                return;
        *vec_push(finder->arena, &finder->units) = unit->name;
        Caller caller = {.unit = unit->name,
                         .variables = unit_file_variables(finder->arena, unit, finder->sources),
                         .is_dormant = !source_names_have(&finder->wanted, unit->name)};

        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
                const UnitAssignments list =
                        unit_file_list(finder->arena, unit, "Service", keys[i]);

                VEC_FOREACH(assignment, &list) {
                        const SourceNames words = unit_file_command(
                                finder->arena, unit, finder->sources, (*assignment)->value);

                        caller.path = (*assignment)->file;
                        caller.line = (*assignment)->line;
                        add_command(finder, &caller, &words);
                }
        }
}

static bool mentions_huge_pages(const Finder *finder, const char *directory, const char *name) {
        const SourceText text = source_read(finder->sources, finder->arena,
                                            arena_printf(finder->arena, "%s/%s", directory, name));

        return text.text && strcasestr(text.text, "huge");
}

static void find_in_units(Finder *finder) {
        finder->wanted = unit_file_wanted(finder->arena, finder->sources);
        ARRAY_FOREACH(directory, unit_directories, ARRAY_LEN(unit_directories)) {
                const SourceNames names =
                        source_list(finder->sources, finder->arena, directory->path);

                VEC_FOREACH(name, &names)
                        if (text_ends_with(*name, ".service") && !strstr(*name, "@.") &&
                            !text_starts_with(*name, "hugeplan") && finder->units.n < UNITS_MAX &&
                            (directory->is_local ||
                             mentions_huge_pages(finder, directory->path, *name)))
                                add_unit(finder, *name);
        }
}

/* ---- rc.local, cron ---- */

static void find_in_rc_local(Finder *finder) {
        static const char *const paths[] = {"/etc/rc.local", "/etc/rc.d/rc.local"};

        /* The one is a link to the other on some hosts. */
        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
                const SourceText text = source_read(finder->sources, finder->arena, paths[i]);

                if (text.text && !source_link(finder->sources, finder->arena, paths[i]))
                        add_text(finder, &(Caller){}, paths[i], text.text, 1);
        }
}

/* "@reboot root /usr/local/sbin/pages.sh"; in a user's own table nobody is named. crontab(5) */
static void add_cron_table(const Finder *finder, const char *path, bool has_user) {
        const SourceText text = source_read(finder->sources, finder->arena, path);
        SourceLines lines = source_lines(&text);

        for (char *line; (line = source_line(finder->arena, &lines));) {
                const char *rest = line, *word;

                if (!text_equals(text_next_word(finder->arena, &rest, " \t"), "@reboot") ||
                    (has_user && !text_next_word(finder->arena, &rest, " \t")))
                        continue;
                const Caller caller = {.path = path, .line = lines.number};

                add_text(finder, &caller, path, rest, lines.number);
                if ((word = text_next_word(finder->arena, &rest, " \t")) && *word == '/')
                        add_script(finder, &caller, word);
        }
}

static void find_in_cron(Finder *finder) {
        const SourceNames names = source_list(finder->sources, finder->arena, "/etc/cron.d");

        add_cron_table(finder, "/etc/crontab", true);
        VEC_FOREACH(name, &names)
                if (**name != '.')
                        add_cron_table(finder, arena_printf(finder->arena, "/etc/cron.d/%s", *name),
                                       true);
        add_cron_table(finder, "/var/spool/cron/crontabs/root", false);
        add_cron_table(finder, "/var/spool/cron/root", false);
}

/* What nothing starts at boot is not effective. */
void setting_scripts_add(const Root *root, SettingSources *entries) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        HostSources sources = host_sources(root, arena);
        Finder finder = {.arena = arena, .sources = &sources.sources, .entries = entries};

        find_in_units(&finder);
        find_in_rc_local(&finder);
        find_in_cron(&finder);
}
