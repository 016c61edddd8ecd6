/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/jvm/jvm_script.h"

#include "base/text.h"

#include <string.h>

/* A variable may take itself in again and again: what is beyond these is not read. */
enum {
        FILES_MAX = 8,
        BLOCKS_MAX = 64,
        VARIABLES_MAX = 1024,
        VALUE_BYTES_MAX = 64 << 10,
        VALUE_BYTES_IN_ALL = 4 << 20,
};

/* Whether the lines of an "if", "case", loop or function count. */
typedef enum Block { BLOCK_COUNTS, BLOCK_SKIPPED, BLOCK_UNKNOWN } Block;

typedef struct Reading {
        JvmScript *script;
        const char *path;
        unsigned line;
        Block blocks[BLOCKS_MAX];
        size_t n_blocks;
} Reading;

static Variable *find(JvmScript *script, const char *name) {
        return VEC_FIND(known, &script->variables, text_equals(known->name, name));
}

void jvm_script_set(JvmScript *script, const char *name, const char *value, const char *origin) {
        Variable *variable = find(script, name);

        if (!variable && script->variables.n < VARIABLES_MAX)
                variable = vec_push(script->arena, &script->variables);
        if (variable)
                *variable = (Variable){name, value, origin};
}

const Variable *jvm_script_find(JvmScript *script, const char *name) {
        static const Variable too_many = {.name = "", .value = ""};
        const Variable *variable = find(script, name);
        const char *origin = NULL, *value;

        if (variable)
                return variable;
        value = unit_file_environment(script->arena, script->unit, script->sources, name, &origin);
        jvm_script_set(script, name, value ? value : "", origin);
        variable = find(script, name);
        return variable ? variable : &too_many;
}

/* ---- values ---- */

/* "$NAME", "${NAME:-text}"; what the script is called with nobody knows. */
static const char *value_of(void *userdata, const char *name, const char *more) {
        JvmScript *script = userdata;

        if (shell_name_length(name) == 0)
                return NULL;
        const char *value = jvm_script_find(script, name)->value;

        return *value ? value : more + strspn(more, ":-=");
}

/* The word at AT. */
static const char *take_value(JvmScript *script, const char *at) {
        const ShellWords words = {script->arena, " \t;&|", VALUE_BYTES_MAX, value_of, script};
        const char *value = shell_take_word(&words, &at);

        script->bytes += strlen(value);
        return value;
}

const char *jvm_script_expand(JvmScript *script, const char *text) {
        return take_value(script, arena_printf(script->arena, "\"%s\"", text));
}

/* ---- lines ---- */

static bool is_within(const Reading *reading, Block kind) {
        return ARRAY_ANY(block, reading->blocks, reading->n_blocks, *block == kind);
}

static void assign(Reading *reading, const char *name, const char *value, bool is_appended) {
        JvmScript *script = reading->script;
        JvmScript nothing = {.arena = script->arena, .sources = script->sources};
        const char *origin = source_origin(script->arena, reading->path, reading->line);
        const char *before = is_appended ? jvm_script_find(script, name)->value : "";

        if (is_within(reading, BLOCK_SKIPPED))
                return;
        if (is_within(reading, BLOCK_UNKNOWN))
                *vec_push(script->arena, &script->conditional) =
                        (Variable){name, take_value(&nothing, value), origin};
        else
                jvm_script_set(
                        script, name,
                        arena_printf(script->arena, "%s%s", before, take_value(script, value)),
                        origin);
}

/* What "if [ -z "$NAME" ]" and "if [ "x$NAME" = "x" ]" come to. */
static Block judge_condition(JvmScript *script, const char *line) {
        static const char *const beyond[] = {"`", "$(", "&&", "||", " -a ", " -o ", "!"};
        const char *dollar = strchr(line, '$');
        bool asks = strstr(line, "-z ") ||
                    (strstr(line, "\"x$") && (strstr(line, "= \"x\"") || strstr(line, "= x ")));

        if (!asks || !dollar || strchr(dollar + 1, '$') ||
            ARRAY_ANY(other, beyond, ARRAY_LEN(beyond), strstr(line, *other) != NULL))
                return BLOCK_UNKNOWN;
        dollar += 1 + (dollar[1] == '{');
        const char *name = arena_strndup(script->arena, dollar, shell_name_length(dollar));

        return *jvm_script_find(script, name)->value ? BLOCK_SKIPPED : BLOCK_COUNTS;
}

static void open_block(Reading *reading, Block block) {
        if (reading->n_blocks < BLOCKS_MAX)
                reading->blocks[reading->n_blocks++] = block;
}

/* "else", "elif": the other branch. */
static void turn_block(Reading *reading, bool is_else) {
        if (reading->n_blocks == 0)
                return;
        Block *block = &reading->blocks[reading->n_blocks - 1];

        if (!is_else || *block == BLOCK_UNKNOWN)
                *block = BLOCK_UNKNOWN;
        else
                *block = *block == BLOCK_COUNTS ? BLOCK_SKIPPED : BLOCK_COUNTS;
}

static bool is_function(const char *line) {
        const char *end = line + shell_name_length(line);

        end += strspn(end, " ");
        return end > line && text_starts_with(end, "()") && !text_ends_with(line, "}");
}

/* Takes note of what begins and ends blocks; true for such a line. */
static bool read_block(Reading *reading, const char *line, const char *first) {
        static const char openers[] = "if case for while until", closers[] = "fi esac done }";
        const char *last = strrchr(line, ' ');

        if (text_has_word(openers, first)) {
                /* Of one line only, or to be ended by another. */
                if (!last || !text_has_word(closers, last + 1))
                        open_block(reading, text_equals(first, "if")
                                                    ? judge_condition(reading->script, line)
                                                    : BLOCK_UNKNOWN);
        } else if (text_has_word(closers, first)) {
                reading->n_blocks -= reading->n_blocks > 0;
        } else if (text_equals(first, "else") || text_equals(first, "elif")) {
                turn_block(reading, text_equals(first, "else"));
        } else if (text_equals(first, "function") || is_function(line)) {
                open_block(reading, BLOCK_UNKNOWN);
        } else {
                return false;
        }
        return true;
}

/* ". FILE", also behind a test whether it is there. */
static void source_file(Reading *reading, const char *line) {
        const char *behind = strstr(line, "&& . ");
        const char *at = behind && *line == '[' ? behind + strlen("&& ") : line;

        at = text_starts_with(at, ". ")        ? at + strlen(". ")
             : text_starts_with(at, "source ") ? at + strlen("source ")
                                               : NULL;
        if (!at || is_within(reading, BLOCK_UNKNOWN) || is_within(reading, BLOCK_SKIPPED))
                return;
        const char *path = take_value(reading->script, at + strspn(at, " "));

        if (*path == '/' && !strstr(path, SHELL_UNKNOWN))
                jvm_script_read(reading->script, path);
}

static void read_line(Reading *reading, const char *line) {
        const char *rest = line;
        const char *first = text_next_word(reading->script->arena, &rest, " \t;");

        if (!first || *first == '#' || read_block(reading, line, first))
                return;
        if (text_equals(first, "export"))
                line = rest + strspn(rest, " \t");
        size_t length = shell_name_length(line);
        bool is_appended = line[length] == '+';

        if (length > 0 && line[length + is_appended] == '=')
                assign(reading, arena_strndup(reading->script->arena, line, length),
                       line + length + is_appended + 1, is_appended);
        else
                source_file(reading, line);
}

int jvm_script_read(JvmScript *script, const char *path) {
        SourceText text = source_read(script->sources, script->arena, path);
        SourceLines lines = source_lines(&text);
        Reading reading = {.script = script, .path = path};
        const char *line;

        if (text.error < 0)
                return text.error;
        script->is_cut = script->is_cut || script->n_files++ >= FILES_MAX;
        while (!script->is_cut &&
               (line = shell_take_line(script->arena, &lines, true, &reading.line))) {
                read_line(&reading, text_strip(script->arena, line));
                script->is_cut = script->is_cut || script->bytes >= VALUE_BYTES_IN_ALL ||
                                 script->variables.n >= VARIABLES_MAX;
        }
        return 0;
}
