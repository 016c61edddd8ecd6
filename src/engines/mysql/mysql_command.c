/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/mysql/mysql_command.h"

#include "base/text.h"

#include <string.h>

/* mysqld_safe passes on what it is given. */
static bool is_server(const char *word) {
        return TEXT_IS_ANY(text_base_name(word), "mariadbd", "mysqld", "mariadbd-safe",
                           "mysqld_safe", "mysqld-debug", "mariadbd-debug", "mariadbd_safe");
}

/* ---- scripts ---- */

typedef struct Script {
        Arena *arena;
        const UnitFile *unit;
        const Sources *sources;
        SourceNames words;
        Text word;
        bool has_word; /* an empty one too: "" */
} Script;

static void end_word(Script *script) {
        if (script->has_word)
                *vec_push(script->arena, &script->words) =
                        arena_strdup(script->arena, text_string(&script->word));
        script->word = text_in(script->arena);
        script->has_word = false;
}

static void add_byte(Script *script, char byte) {
        text_add_n(&script->word, &byte, 1);
        script->has_word = true;
}

/* $NAME or ${NAME} at AT, which stands on the "$": gives where it ends. What the script itself sets
 * is not known and counts as empty, for the scripts in use hold there what does not concern sizes
 * (--wsrep_start_position). */
static const char *add_variable(Script *script, const char *at, bool is_quoted) {
        static const char letters[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        bool has_brace = at[1] == '{';
        const char *name = at + 1 + has_brace;
        size_t length = strspn(name, letters);
        const char *value;

        if (length == 0) {
                add_byte(script, '$');
                return at + 1;
        }
        value = unit_file_environment(script->arena, script->unit, script->sources,
                                      arena_strndup(script->arena, name, length), NULL);
        /* A value outside quotes falls into words. */
        for (; value && *value; value++)
                if (!is_quoted && strchr(" \t\n", *value))
                        end_word(script);
                else
                        add_byte(script, *value);
        return name + length + (has_brace && name[length] == '}');
}

/* Takes what stands at AT, within the quotes QUOTE (NUL: none); gives where the next begins. */
static const char *add_next(Script *script, const char *at, char *quote) {
        if (*quote ? *at == *quote : *at == '"' || *at == '\'') {
                *quote = *quote ? '\0' : *at;
                script->has_word = true;
                return at + 1;
        }
        if (*at == '$' && *quote != '\'')
                return add_variable(script, at, *quote);
        if (*at == '\\' && *quote != '\'' && at[1]) {
                add_byte(script, at[1]);
                return at + 2;
        }
        if (!*quote && strchr(" \t\n", *at)) {
                end_word(script);
        } else if (!*quote && strchr(";&|()`<>", *at)) {
                end_word(script);
                add_byte(script, *at);
                end_word(script);
        } else {
                add_byte(script, *at);
        }
        return at + 1;
}

/* TEXT as a shell takes it apart, roughly: no patterns, no commands within. An operator is a word of
 * its own. */
static SourceNames script_words(Script *script, const char *text) {
        char quote = '\0';

        script->word = text_in(script->arena);
        while (*text)
                text = add_next(script, text, &quote);
        end_word(script);
        return script->words;
}

static bool is_operator(const char *word) {
        return word[0] && !word[1] && strchr(";&|()`<>", word[0]);
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
        Script script = {.arena = arena, .unit = unit, .sources = sources};
        SourceNames words = unit_file_command(arena, unit, sources, command_line);
        const char *text = shell_script(&words);

        if (text)
                words = script_words(&script, text);
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
