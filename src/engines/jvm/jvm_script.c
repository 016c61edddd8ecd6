/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/jvm/jvm.h"

#include "base/text.h"

#include <string.h>

/* A file may source itself: these limits end the reading. */
enum { FILES_MAX = 8, ASSIGNMENTS_MAX = 1024 };

#define SEPARATORS " \t;&|"

typedef struct Reading {
        JvmScript *script;
        const char *path;
        unsigned line;
        size_t depth;      /* number of open "if", "case", loops and functions */
        const char *asked; /* the variable that the outermost one tests for emptiness; NULL: none */
        bool is_empty;     /* it was empty when that block began */
} Reading;

void jvm_script_set(JvmScript *script, const Variable *variable) {
        Variable *known =
                VEC_FIND(each, &script->variables, text_equals(each->name, variable->name));

        if (!known)
                known = vec_push(script->arena, &script->variables);
        *known = *variable;
}

const Variable *jvm_script_find(const JvmScript *script, const char *name) {
        static const Variable none = {.name = "", .value = ""};
        const Variable *known = VEC_FIND(each, &script->variables, text_equals(each->name, name));

        return known ? known : &none;
}

/* Assigns the value at *AT. */
static void assign(Reading *reading, const char *name, const char **at, bool is_appended) {
        JvmScript *script = reading->script;
        Variables nothing = {};
        bool is_asked = text_equals(reading->asked, name);
        bool is_unknown = reading->depth > is_asked;
        const char *before = is_appended && !is_unknown ? jvm_script_find(script, name)->value : "";
        const char *value = shell_take_word(script->arena, at, SEPARATORS "\n",
                                            is_unknown ? &nothing : &script->variables);
        Variable variable = {name, arena_printf(script->arena, "%s%s", before, value),
                             source_origin(script->arena, reading->path, reading->line)};

        script->is_cut = script->is_cut || script->n_assignments++ >= ASSIGNMENTS_MAX;
        if (is_asked && !reading->is_empty)
                return;
        if (is_unknown)
                *vec_push(script->arena, &script->conditional) = variable;
        else
                jvm_script_set(script, &variable);
}

/* Returns NAME of "if [ -z "$NAME" ]" and "if [ "x$NAME" = "x" ]"; NULL: another condition. */
static const char *asked_name(Arena *arena, const char *line) {
        static const char *const beyond[] = {"`", "$(", "&&", "||", " -a ", " -o ", "!"};
        const char *dollar = strchr(line, '$');
        bool asks = strstr(line, "-z ") ||
                    (strstr(line, "\"x$") && (strstr(line, "= \"x\"") || strstr(line, "= x ")));

        if (!text_starts_with(line, "if ") || !asks || !dollar || strchr(dollar + 1, '$') ||
            ARRAY_ANY(other, beyond, ARRAY_LEN(beyond), strstr(line, *other) != NULL))
                return NULL;
        dollar += 1 + (dollar[1] == '{');
        return arena_strndup(arena, dollar, shell_name_length(dollar));
}

/* Follows the beginnings and ends of blocks; returns true for such a line. */
static bool read_block(Reading *reading, const char *line, const char *first) {
        static const char openers[] = "if case for while until", closers[] = "fi esac done }";
        const char *last = strrchr(line, ' '), *end = line + shell_name_length(line);
        bool opens = text_has_word(openers, first);
        bool is_function = text_equals(first, "function") ||
                           (end > line && text_starts_with(end + strspn(end, " "), "()") &&
                            !text_ends_with(line, "}"));

        if (opens && last && text_has_word(closers, last + 1))
                return true; /* a block on one line */
        if (opens || is_function) {
                if (reading->depth++ > 0)
                        return true;
                reading->asked = asked_name(reading->script->arena, line);
                reading->is_empty = reading->asked &&
                                    !*jvm_script_find(reading->script, reading->asked)->value;
        } else if (text_has_word(closers, first)) {
                reading->depth -= reading->depth > 0;
                reading->asked = reading->depth > 0 ? reading->asked : NULL;
        } else if (TEXT_IS_ANY(first, "else", "elif")) {
                reading->asked = reading->depth == 1 ? NULL : reading->asked;
        } else {
                return false;
        }
        return true;
}

/* ". FILE", also behind a test whether FILE exists. */
static void source_file(Reading *reading, const char *line) {
        const char *behind = *line == '[' ? strstr(line, "&& . ") : NULL;
        const char *at = behind ? behind + strlen("&& ") : line;

        at = text_starts_with(at, ". ")        ? at + strlen(". ")
             : text_starts_with(at, "source ") ? at + strlen("source ")
                                               : NULL;
        if (!at || reading->depth > 0)
                return;
        at += strspn(at, " ");
        const char *path = shell_take_word(reading->script->arena, &at, SEPARATORS,
                                           &reading->script->variables);

        if (*path == '/' && !strstr(path, SHELL_UNKNOWN))
                jvm_script_read(reading->script, path);
}

/* Reads the line at AT. Returns its end, behind the lines that quotes and backslashes join to it. */
static const char *read_line(Reading *reading, const char *at) {
        Arena *arena = reading->script->arena;
        const char *line = text_strip(arena, arena_strndup(arena, at, strcspn(at, "\n")));
        const char *rest = line, *first = text_next_word(arena, &rest, " \t;");

        at += strspn(at, " \t");
        if (first && *first != '#' && !read_block(reading, line, first)) {
                if (text_equals(first, "export"))
                        at += strlen("export") + strspn(at + strlen("export"), " \t");
                size_t length = shell_name_length(at);
                bool is_appended = at[length] == '+';
                const char *name = arena_strndup(arena, at, length);

                if (length > 0 && at[length + is_appended] == '=') {
                        at += length + is_appended + 1;
                        assign(reading, name, &at, is_appended);
                } else {
                        source_file(reading, line);
                }
        }
        while (*at && *at != '\n')
                if (*at == '#') {
                        at += strcspn(at, "\n");
                } else {
                        shell_take_word(arena, &at, SEPARATORS "\n", NULL);
                        at += strspn(at, SEPARATORS);
                }
        return at;
}

int jvm_script_read(JvmScript *script, const char *path) {
        SourceText text = source_read(script->sources, script->arena, path);
        Reading reading = {.script = script, .path = path, .line = 1};

        if (text.error < 0)
                return text.error;
        script->is_cut = script->is_cut || script->n_files++ >= FILES_MAX;
        for (const char *at = text.text; *at && !script->is_cut; at += *at != '\0') {
                const char *end = read_line(&reading, at);

                for (; at < end; at++)
                        reading.line += *at == '\n';
                reading.line++;
        }
        return 0;
}
