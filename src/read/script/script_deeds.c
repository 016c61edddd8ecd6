/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/script/script_deeds.h"

#include "base/size.h"
#include "base/text.h"

#include <string.h>

enum {
        DEPTH_MAX = 4,       /* functions within functions, sh -c within sh -c */
        COMMANDS_MAX = 4096, /* of one script, those of functions each time they are called */
        WORD_MAX = 8 << 10,  /* bytes of a word; longer ones are unknown */
        DEEDS_MAX = 256,
};

typedef struct Line {
        const char *text;
        unsigned number;
} Line;

typedef VEC(Line) Lines;

typedef struct Function {
        const char *name;
        Lines body;
} Function;

typedef struct Script {
        Arena *arena;
        ScriptDeeds deeds;
        Variables variables; /* values may be unknown, in part too; NULL: wholly */
        VEC(Function) functions;
        size_t n_commands;
} Script;

/* One simple command: words, with what its output goes to and what it is given. */
typedef struct Command {
        SourceNames words;
        const char *target; /* behind ">"; NULL: none */
        const char *input;  /* what the echo before the "|" prints; NULL: none */
        const char *text;   /* the line it stands in */
        unsigned line;
        const SourceNames *arguments; /* $1 and so on; NULL: not known */
        unsigned depth;
} Command;

/* ---- words ---- */

/* Whose words are taken: variables are the script's, arguments the command's. */
typedef struct Scope {
        const Script *script;
        const Command *command;
} Scope;

/* ${X:-3} and the like are not known. */
static const char *variable(void *userdata, const char *name, const char *more) {
        const Scope *scope = userdata;
        const SourceNames *arguments = scope->command->arguments;
        uint64_t n;

        if (*more)
                return NULL;
        if (parse_u64(name, &n) == 0)
                return arguments && n > 0 && n <= arguments->n ? arguments->items[n - 1] : NULL;
        const Variable *known =
                VEC_FIND(each, &scope->script->variables, text_equals(each->name, name));

        return known ? known->value : NULL;
}

/* The next word; NULL where an operator, a comment or the end follows. */
static const char *take_word(Script *script, const Command *command, const char **at) {
        Scope scope = {script, command};
        const ShellWords words = {script->arena, " \t;&|<>()", WORD_MAX, variable, &scope};
        const char *begin = *at += strspn(*at, " \t");
        const char *word = *begin == '#' ? NULL : shell_take_word(&words, at);

        return *at == begin ? NULL : word;
}

/* What has one value here and another there depends on conditions: it is not known. NULL: likewise. */
static void set_variable(Script *script, const char *name, const char *value) {
        Variable *known = VEC_FIND(each, &script->variables, text_equals(each->name, name));

        if (!known)
                *vec_push(script->arena, &script->variables) = (Variable){name, value, NULL};
        else if (!text_equals(known->value, value) && shell_is_known(known->value))
                known->value = arena_printf(script->arena, SHELL_UNKNOWN "%s",
                                            value ? value : known->value);
}

/* NAME=VALUE */
static bool take_assignment(Script *script, const char *word) {
        size_t length = shell_name_length(word);

        if (length == 0 || word[length] != '=')
                return false;
        set_variable(script, arena_strndup(script->arena, word, length), word + length + 1);
        return true;
}

/* ---- what a command does ---- */

static void add_deed(Script *script, const Command *command, ScriptDoes does, const char *key,
                     const char *value) {
        if (script->deeds.n < DEEDS_MAX)
                *vec_push(script->arena, &script->deeds) =
                        (ScriptDeed){does, command->line, key, value};
}

static bool is_about_huge_pages(const char *text) {
        return strstr(text, "hugepage") || strstr(text, "hugeadm") || strstr(text, "hugetlb");
}

/* Told where it has to do with huge pages by what it says, or by what VARIABLES made of it. */
static void add_unclear(Script *script, const Command *command, const char *word) {
        if (is_about_huge_pages(command->text) || (word && is_about_huge_pages(word)))
                add_deed(script, command, SCRIPT_IS_UNCLEAR,
                         text_strip(script->arena, command->text), NULL);
}

/* "/sys//x" is "/sys/x". */
static char *without_double_slashes(Arena *arena, const char *path) {
        char *copy = arena_strdup(arena, path), *to = copy;

        for (const char *at = path; *at; at++)
                if (!(at[0] == '/' && at[1] == '/'))
                        *to++ = *at;
        *to = '\0';
        return copy;
}

static void take_write(Script *script, const Command *command, const char *path,
                       const char *value) {
        if (shell_is_known(path) && shell_is_known(value))
                add_deed(script, command, SCRIPT_WRITES_FILE,
                         without_double_slashes(script->arena, path), value);
        else
                add_unclear(script, command, path);
}

/* What echo prints; NULL for other programs. */
static const char *echoed(Script *script, const Command *command, size_t first) {
        Text text = text_in(script->arena);

        if (first >= command->words.n ||
            !text_equals(text_base_name(command->words.items[first]), "echo"))
                return NULL;
        for (size_t i = first + 1; i < command->words.n; i++)
                if (!text_equals(command->words.items[i], "-n"))
                        text_add_word(&text, command->words.items[i]);
        return text_string(&text);
}

static void take_echo(Script *script, const Command *command, size_t first) {
        if (command->target)
                take_write(script, command, command->target, echoed(script, command, first));
}

static void take_tee(Script *script, const Command *command, size_t first) {
        for (size_t i = first + 1; i < command->words.n; i++)
                if (*command->words.items[i] != '-')
                        take_write(script, command, command->words.items[i], command->input);
}

static void take_sysctl(Script *script, const Command *command, size_t first) {
        for (size_t i = first + 1; i < command->words.n; i++) {
                const char *word = command->words.items[i], *equals = strchr(word, '=');

                if (*word == '-' || !equals)
                        continue;
                if (shell_is_known(word))
                        add_deed(script, command, SCRIPT_SETS_SYSCTL,
                                 arena_strdup_to(script->arena, word, equals), equals + 1);
                else
                        add_unclear(script, command, word);
        }
}

/* Options whose value may stand behind "=", or be the next word. */
static void take_hugeadm(Script *script, const Command *command, size_t first) {
        const SourceNames *words = &command->words;

        for (size_t i = first + 1; i < words->n; i++) {
                const char *word = words->items[i], *equals = strchr(word, '=');
                const char *value = equals ? equals + 1 : NULL;

                if (!text_starts_with(word, "--"))
                        continue;
                if (!equals && i + 1 < words->n && *words->items[i + 1] != '-')
                        value = words->items[++i];
                if (shell_is_known(word) && (!value || shell_is_known(value)))
                        add_deed(script, command, SCRIPT_SETS_HUGEADM,
                                 arena_strdup_to(script->arena, word, equals), value);
                else
                        add_unclear(script, command, word);
        }
}

static void run_text(Script *script, const char *text, const Command *caller,
                     const SourceNames *arguments);

/* sh -c 'echo 20 > /proc/sys/vm/nr_hugepages' */
static void take_shell(Script *script, const Command *command, size_t first) {
        const SourceNames *words = &command->words;

        for (size_t i = first + 1; i + 1 < words->n; i++)
                if (*words->items[i] == '-' && strchr(words->items[i], 'c')) {
                        run_text(script, words->items[i + 1], command, NULL);
                        return;
                }
}

/* What a loop or read gives a variable nobody knows. */
static void take_loop(Script *script, const Command *command, size_t first) {
        for (size_t i = first + 1; i < command->words.n; i++)
                set_variable(script, command->words.items[i], NULL);
}

static const struct {
        const char *program;
        void (*take)(Script *script, const Command *command, size_t first);
} programs[] = {
        {"echo", take_echo},       {"tee", take_tee},   {"sysctl", take_sysctl},
        {"hugeadm", take_hugeadm}, {"sh", take_shell},  {"bash", take_shell},
        {"for", take_loop},        {"read", take_loop},
};

/* ---- running ---- */

/* Words before the program itself. */
static size_t skip_prefixes(Script *script, const Command *command) {
        size_t i = 0;

        for (; i < command->words.n; i++) {
                const char *word = command->words.items[i];

                if (!take_assignment(script, word) &&
                    !TEXT_IS_ANY(word, "if", "then", "else", "elif", "do", "while", "until", "!",
                                 "{", "sudo", "exec", "nohup", "command", "export", "local",
                                 "readonly", "declare", "numactl", "[", "test") &&
                    !(i > 0 && (*word == '-' || text_is_digit(*word))))
                        break;
        }
        return i;
}

static void run_command(Script *script, const Command *command) {
        size_t first = skip_prefixes(script, command);

        if (first == command->words.n || script->n_commands++ >= COMMANDS_MAX)
                return;
        const char *name = command->words.items[first];
        const Function *function =
                VEC_FIND(each, &script->functions, text_equals(each->name, name));

        ARRAY_FOREACH(program, programs, ARRAY_LEN(programs))
                if (text_equals(text_base_name(name), program->program)) {
                        program->take(script, command, first);
                        return;
                }
        if (!function && command->target && !shell_is_known(command->target))
                add_unclear(script, command, command->target);
        if (!function || command->depth == DEPTH_MAX)
                return;
        SourceNames arguments = {};
        Command inner = *command;

        for (size_t i = first + 1; i < command->words.n; i++)
                *vec_push(script->arena, &arguments) = command->words.items[i];
        const Lines body = function->body; /* it may define functions itself */

        VEC_FOREACH(line, &body) {
                inner.line = command->line; /* the call says how many */
                run_text(script, line->text, &inner, &arguments);
        }
}

/* Behind ">" or "<": a target counts where it is that of standard output. */
static const char *take_redirection(Script *script, Command *command, const char *at,
                                    bool is_numbered) {
        bool is_output = *at == '>';
        const char *last = command->words.n > 0 ? command->words.items[command->words.n - 1] : NULL;

        is_numbered = is_numbered && last && strlen(last) == 1;
        command->words.n -= is_numbered; /* "2>": the digit is no argument */
        at += strspn(at, "<>&|");
        const char *target = take_word(script, command, &at);

        if (is_output && target && !(is_numbered && *last != '1'))
                command->target = target;
        return at;
}

/* The commands of one line. */
static void run_line(Script *script, const char *text, Command command) {
        const char *at = text;

        command.text = text;
        for (;;) {
                const char *word;

                command.words = (SourceNames){};
                command.target = NULL;
                while ((at += strspn(at, " \t"), *at) && !strchr(";&|()#", *at))
                        if (*at == '<' || *at == '>')
                                at = take_redirection(script, &command, at,
                                                      at > text && text_is_digit(at[-1]));
                        else if ((word = take_word(script, &command, &at)))
                                *vec_push(script->arena, &command.words) = word;
                        else
                                break;
                run_command(script, &command);
                if (!*at || *at == '#')
                        return;
                command.input = *at == '|' && at[1] != '|'
                                        ? echoed(script, &command, skip_prefixes(script, &command))
                                        : NULL;
                at += strspn(at, ";&|()");
        }
}

/* "name() {", "function name": what is behind the parentheses; NULL where the line is none. */
static const char *function_head(Arena *arena, const char *line, const char **ret_name) {
        const char *at = line + strspn(line, " \t");

        if (text_starts_with(at, "function "))
                at += strlen("function ");
        else if (!strstr(at, "()"))
                return NULL;
        size_t length = shell_name_length(at);
        const char *behind = at + length + strspn(at + length, " \t");

        if (length == 0 || (*behind && *behind != '(' && *behind != '{'))
                return NULL;
        *ret_name = arena_strndup(arena, at, length);
        return behind + strspn(behind, "() \t{");
}

static Lines lines_of(Arena *arena, const SourceText *text) {
        SourceLines source = source_lines(text);
        Lines lines = {};
        const char *line;
        unsigned number;

        while ((line = shell_take_line(arena, &source, false, &number)))
                *vec_push(arena, &lines) = (Line){line, number};
        return lines;
}

static void run_lines(Script *script, const Lines *lines, Command command, unsigned first_line) {
        Function *function = NULL;

        VEC_FOREACH(line, lines) {
                const char *name, *text = text_strip(script->arena, line->text);
                const char *behind = function ? NULL : function_head(script->arena, text, &name);

                if (behind) {
                        function = vec_push(script->arena, &script->functions);
                        *function = (Function){.name = name};
                        text = behind;
                }
                bool is_end = function && text_ends_with(text, "}");

                if (function)
                        *vec_push(script->arena, &function->body) =
                                (Line){arena_strndup(script->arena, text, strlen(text) - is_end),
                                       line->number};
                else if (first_line > 0) {
                        command.line = first_line + line->number - 1;
                        run_line(script, text, command);
                } else {
                        run_line(script, text, command);
                }
                if (is_end)
                        function = NULL;
        }
}

/* Of a function, or behind sh -c: its lines are those of who calls. */
static void run_text(Script *script, const char *text, const Command *caller,
                     const SourceNames *arguments) {
        Command command = {
                .line = caller->line, .arguments = arguments, .depth = caller->depth + 1};

        if (command.depth > DEPTH_MAX)
                return;
        const Lines lines =
                lines_of(script->arena, &(SourceText){.text = text, .size = strlen(text)});

        run_lines(script, &lines, command, 0);
}

ScriptDeeds script_deeds_read(Arena *arena, const SourceText *text, const Variables *variables,
                              unsigned line) {
        Script script = {.arena = arena};
        const Lines lines = lines_of(arena, text);

        if (variables)
                vec_push_all(arena, &script.variables, variables);
        run_lines(&script, &lines, (Command){}, line);
        return script.deeds;
}
