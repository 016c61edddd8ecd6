/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/mysql/mysql_command.h"

#include "base/text.h"
#include "read/shell_words.h"

#include <string.h>

/* mysqld_safe passes on what it is given. */
static bool is_server(const char *word) {
        return TEXT_IS_ANY(text_base_name(word), "mariadbd", "mysqld", "mariadbd-safe",
                           "mysqld_safe", "mysqld-debug", "mariadbd-debug", "mariadbd_safe");
}

/* ---- scripts ---- */

static const char operators[] = ";&|()<>";

/* TEXT as a shell takes it apart, roughly: an operator is a word of its own. What the script itself sets is not known and
 * counts as empty, for the scripts in use hold there what does not concern sizes (--wsrep_start_position). */
static SourceNames script_words(Arena *arena, const Variables *variables, const char *text) {
        static const char whitespace[] = " \t\n";
        SourceNames words = {};

        while (*(text += strspn(text, whitespace))) {
                /* A value outside quotes falls into words. */
                bool is_bare = *text == '$';
                const char *word =
                        strchr(operators, *text)
                                ? arena_strndup(arena, text++, 1)
                                : shell_take_word(arena, &text, " \t\n;&|()<>", variables);
                const char *part;

                if (!is_bare)
                        *vec_push(arena, &words) = word;
                else
                        while ((part = text_next_word(arena, &word, whitespace)))
                                *vec_push(arena, &words) = part;
        }
        return words;
}

static bool is_operator(const char *word) {
        return word[0] && !word[1] && strchr(operators, word[0]);
}

/* ---- command lines ---- */

/* The words behind the last server that is named, up to the next operator. */
static bool find_arguments(Arena *arena, const SourceNames *words, SourceNames *ret) {
        size_t i = words->n;

        while (i > 0 && !is_server(words->items[i - 1]))
                i--;
        if (i == 0)
                return false;
        for (; i < words->n && !is_operator(words->items[i]); i++)
                *vec_push(arena, ret) = words->items[i];
        return true;
}

/* The script of sh -c, NULL where it is none. */
static const char *shell_script(const SourceNames *words) {
        if (words->n == 0 || !TEXT_IS_ANY(text_base_name(words->items[0]), "sh", "bash", "dash"))
                return NULL;
        for (size_t i = 1; i + 1 < words->n; i++)
                if (text_equals(words->items[i], "-c"))
                        return words->items[i + 1];
        return NULL;
}

static bool read_command_line(Arena *arena, const UnitFile *unit, const Sources *sources,
                              const char *command_line, SourceNames *ret) {
        SourceNames words = unit_file_command(arena, unit, sources, command_line);
        const char *text = shell_script(&words);

        if (text) {
                Variables variables = unit_file_variables(arena, unit, sources);

                words = script_words(arena, &variables, text);
        }
        return find_arguments(arena, &words, ret);
}

MysqlCommand mysql_command_read(Arena *arena, const UnitFile *unit, const Sources *sources) {
        UnitAssignments commands = unit_file_list(arena, unit, "Service", "ExecStart");
        MysqlCommand command = {};

        VEC_FOREACH(each, &commands) {
                SourceNames arguments = {};

                if (read_command_line(arena, unit, sources, (*each)->value, &arguments))
                        command =
                                (MysqlCommand){true, arguments,
                                               source_origin(arena, (*each)->file, (*each)->line)};
        }
        return command;
}
