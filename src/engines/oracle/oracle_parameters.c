/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/oracle/oracle.h"

#include "base/text.h"
#include "model/problem.h"

#include <strings.h>

/* Oracle allows three levels of IFILE=; the other limits are ours, far beyond common use. */
enum {
        DEPTH_MAX = 4,
        FILES_MAX = 8,
        FILE_BYTES_MAX = 128 * 1024,
        NOTES_MAX = 10,
        VALUE_LENGTH_MAX = 4095,
};

typedef struct Reader {
        Arena *arena;
        const Sources *sources;
        const OracleFile *start;
        Settings *parameters;
        Diags *problems;
        unsigned n_files, n_notes;
} Reader;

/* ---- server parameter files ---- */

/* Seen in dumps: blocks of 512 bytes, each with a head of 20 bytes that begins with the mark C", 488 bytes of text and
 * a tail of 4 bytes. A line continues from one block to the next, even within a word, which is why strings(1) can find
 * "sga_max_size=2" in place of 2560M. NULs fill the unused space. */
enum { SPFILE_BLOCK = 512, SPFILE_HEAD = 20, SPFILE_TAIL = 4 };

static const char spfile_mark[] = {'C', '"'};

static bool has_mark(const char *block) {
        return memcmp(block, spfile_mark, sizeof(spfile_mark)) == 0;
}

/* Returns the text of the blocks; NULL if a block is damaged, or if the last line may continue in a missing one. */
static char *spfile_text(Arena *arena, const SourceText *file, size_t *ret_size) {
        char *text = arena_alloc(arena, file->size + 1);
        bool has_end = false;
        size_t size = 0;

        if (file->size % SPFILE_BLOCK != 0)
                return NULL;
        for (size_t at = 0; at < file->size; at += SPFILE_BLOCK) {
                const char *block = file->text + at;

                if (!*block && memcmp(block, block + 1, SPFILE_BLOCK - 1) == 0) /* unused */
                        continue;
                if (!has_mark(block))
                        return NULL;
                for (size_t i = SPFILE_HEAD; i < SPFILE_BLOCK - SPFILE_TAIL; i++)
                        if (block[i] != '\0')
                                text[size++] = block[i];
                has_end = block[SPFILE_BLOCK - SPFILE_TAIL - 1] == '\0';
        }
        *ret_size = size;
        return has_end || (size > 0 && text[size - 1] == '\n') ? text : NULL;
}

void oracle_spfile_pieces(Arena *arena, const SourceText *file, Pieces *ret) {
        if (file->size < SPFILE_HEAD || !has_mark(file->text))
                return;
        for (size_t at = 0; at + SPFILE_BLOCK <= file->size; at += SPFILE_BLOCK) {
                *vec_push(arena, ret) = (Piece){at, sizeof(spfile_mark), false};
                for (size_t i = at + SPFILE_HEAD; i < at + SPFILE_BLOCK - SPFILE_TAIL; i++)
                        if (file->text[i])
                                *vec_push(arena, ret) = (Piece){i, 1, true};
        }
}

/* ---- words ---- */

typedef struct Token {
        char kind; /* one of "=,()", or one of the following */
        const char *word;
        unsigned line;
        bool begins_line; /* false behind a line that ends with a backslash */
} Token;

enum { TOKEN_END, TOKEN_WORD, TOKEN_UNCLOSED /* a quote that is not closed in its line */ };

typedef struct Scanner {
        Arena *arena;
        const char *path;
        const char *at, *end;
        unsigned line, noted_line;
        bool begins_line;
        Token next; /* scanned, but not taken yet */
} Scanner;

/* A backslash at the end of a line joins it with the next. */
static size_t continuation(const Scanner *scanner) {
        const char *at = scanner->at;

        if (scanner->end - at >= 2 && at[0] == '\\' && at[1] == '\n')
                return 2;
        return scanner->end - at >= 3 && at[0] == '\\' && at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

/* Moves the scanner past whitespace, comments and line ends. */
static void skip_whitespace(Scanner *scanner) {
        for (; scanner->at < scanner->end; scanner->at++) {
                size_t joined = continuation(scanner);

                if (*scanner->at == '#') {
                        while (scanner->at < scanner->end && *scanner->at != '\n')
                                scanner->at++;
                        if (scanner->at == scanner->end)
                                return;
                }
                if (joined > 0)
                        scanner->at += joined - 1;
                if (*scanner->at == '\n') {
                        scanner->line++;
                        scanner->begins_line = joined == 0;
                } else if (!strchr(" \t\r\f\v", *scanner->at)) {
                        return;
                }
        }
}

/* Takes the next token; a word may consist of quoted and other parts, and in quotes two quotes in a row are one. */
static Token scan(Scanner *scanner) {
        skip_whitespace(scanner);
        Token token = {.line = scanner->line, .begins_line = scanner->begins_line};
        Text word = text_in(scanner->arena);
        char quote = '\0';

        scanner->begins_line = false;
        if (scanner->at == scanner->end)
                return token;
        if (strchr("=,()", *scanner->at)) {
                token.kind = *scanner->at++;
                return token;
        }
        while (scanner->at < scanner->end &&
               (quote ? *scanner->at != '\n' : !strchr(" \t\r\f\v\n=,()#", *scanner->at))) {
                size_t joined = continuation(scanner);

                if (joined > 0) {
                        scanner->at += joined;
                        scanner->line++;
                        continue;
                }
                char c = *scanner->at++;
                bool is_double = quote && c == quote && scanner->at < scanner->end &&
                                 *scanner->at == quote;

                scanner->at += is_double;
                if (!is_double && (quote ? c == quote : c == '\'' || c == '"'))
                        quote = quote ? '\0' : c;
                else
                        text_add_n(&word, &c, 1);
        }
        token.kind = quote ? TOKEN_UNCLOSED : TOKEN_WORD;
        token.word = text_string(&word);
        return token;
}

static Token take(Scanner *scanner) {
        Token token = scanner->next;

        scanner->next = scan(scanner);
        return token;
}

/* ---- assignments ---- */

static void note(Reader *reader, Scanner *scanner, unsigned line, const char *text) {
        Diag diag = problem_of(PROBLEM_DATABASE_FILES, scanner->path,
                               "write NAME=VALUE; a value with whitespace or signs goes in quotes");

        if (reader->n_notes >= NOTES_MAX || scanner->noted_line == line)
                return;
        reader->n_notes++;
        scanner->noted_line = line;
        diag.line = line;
        diags_report(reader->problems, diag, "%s", text);
}

/* Takes a list with nested lists. Returns the first word ("": none), or NULL if a bracket stays open. */
static const char *take_list(Scanner *scanner) {
        const char *first = NULL;
        size_t depth = 1;

        while (depth > 0 && scanner->next.kind != TOKEN_END &&
               scanner->next.kind != TOKEN_UNCLOSED) {
                Token token = take(scanner);

                if (token.kind == TOKEN_WORD && !first)
                        first = token.word;
                depth += token.kind == '(';
                depth -= token.kind == ')';
        }
        return depth > 0 ? NULL : first ? first : "";
}

static const char *take_one(Scanner *scanner) {
        Token token = take(scanner);

        return token.kind == '(' ? take_list(scanner) : token.word;
}

/* Takes the value behind "=": a word, a list in brackets, or several of them separated by commas. Returns the first;
 * NULL: a bracket stays open. */
static const char *take_value(Scanner *scanner) {
        const Token *next = &scanner->next;

        if (next->kind != '(' && (next->kind != TOKEN_WORD || next->begins_line))
                return "";
        const char *value = take_one(scanner);

        while (value && next->kind == ',') {
                take(scanner);
                if (next->kind != TOKEN_WORD && next->kind != '(')
                        break;
                if (!take_one(scanner))
                        return NULL;
        }
        return value;
}

static const char *refuse(const Reader *reader, const char *origin, const char *text) {
        return arena_printf(reader->arena, "%s: %s", origin, text);
}

static const char *read_file(Reader *reader, const char *path, const char *origin, unsigned depth);

/* Replaces "?" by ORACLE_HOME and "@" by the SID. Returns NULL if one of them is needed but not known. */
static const char *fill_in(const Reader *reader, const char *file, const char *path) {
        const OracleFile *start = reader->start;
        const char *dbs = strstr(file, "/dbs/");
        const char *home = start->home ? start->home
                           : dbs       ? arena_strdup_to(reader->arena, file, dbs)
                                       : NULL;
        Text filled = text_in(reader->arena);

        for (; *path; path++) {
                if ((*path == '?' && !home) || (*path == '@' && !start->sid))
                        return NULL;
                if (*path == '?')
                        text_add(&filled, home);
                else if (*path == '@')
                        text_add(&filled, start->sid);
                else
                        text_add_n(&filled, path, 1);
        }
        return source_relative(reader->arena, file, text_string(&filled));
}

static const char *include(Reader *reader, const Scanner *scanner, const Setting *parameter,
                           unsigned depth) {
        const char *path = fill_in(reader, scanner->path, parameter->value);

        if (*parameter->value == '+')
                return refuse(reader, parameter->origin,
                              "the parameters are in ASM, which only Oracle can read; run CREATE "
                              "PFILE='/etc/oracle/initSID.ora' FROM SPFILE in SQL*Plus and name "
                              "that file in ConfigFile=, set the size by Memory=, or let it "
                              "start once with Shortage=degrade: what it then maps is measured");
        if (!path)
                return refuse(reader, parameter->origin,
                              "the value of '?' (ORACLE_HOME) or '@' (the SID) is not known; "
                              "write the whole path");
        return read_file(reader, path, parameter->origin, depth + 1);
}

/* SID.NAME=VALUE, *.NAME=VALUE or NAME=VALUE. */
static const char *read_assignment(Reader *reader, Scanner *scanner, unsigned depth) {
        Token name = take(scanner);
        const char *origin = source_origin(reader->arena, scanner->path, name.line);

        if (name.kind == TOKEN_UNCLOSED)
                return refuse(reader, origin, "a quote is not closed in its line");
        if (name.kind != TOKEN_WORD || scanner->next.kind != '=') {
                note(reader, scanner, name.line, "this is not an assignment, and is ignored");
                return NULL;
        }
        take(scanner);
        const char *value = take_value(scanner), *own = reader->start->sid;

        if (!value)
                return refuse(reader, origin, "a bracket is not closed");
        if (scanner->next.kind == TOKEN_UNCLOSED)
                return NULL;
        Setting setting = {name.word, value, origin};
        const char *dot = strchr(name.word, '.'), *plain = dot ? dot + 1 : name.word;

        if (text_starts_with(name.word, "*."))
                setting.name = plain;
        else if (dot && own && !text_equals(own, arena_strdup_to(reader->arena, name.word, dot)))
                return NULL;
        if (strlen(value) > VALUE_LENGTH_MAX || !text_is_utf8(value, strlen(value)))
                setting.value = "(not readable)";
        if (strcasecmp(plain, "ifile") == 0 || strcasecmp(plain, "spfile") == 0)
                return include(reader, scanner, &setting, depth);
        *vec_push(reader->arena, reader->parameters) = setting;
        return NULL;
}

/* ---- files ---- */

static const char *read_text(Reader *reader, const char *path, const char *text, size_t size,
                             unsigned depth) {
        unsigned odd_line = reader_binary_line(text, size);
        Scanner scanner = {
                .arena = reader->arena,
                .path = path,
                .at = text,
                .end = text + size,
                .line = 1,
                .begins_line = true,
        };
        const char *wrong = NULL;

        if (odd_line > 0)
                return refuse(reader, source_origin(reader->arena, path, odd_line),
                              "this is neither a text file nor a server parameter file");
        scanner.next = scan(&scanner);
        while (!wrong && scanner.next.kind != TOKEN_END)
                wrong = read_assignment(reader, &scanner, depth);
        return wrong;
}

/* ORIGIN is the line that names the file; NULL for the first file. */
static const char *read_file(Reader *reader, const char *path, const char *origin, unsigned depth) {
        Arena *arena = reader->arena;

        if (depth >= DEPTH_MAX || ++reader->n_files > FILES_MAX)
                return refuse(reader, origin,
                              "files are included more than three deep, or in a circle");
        SourceText file = source_read(reader->sources, arena, path);

        if (file.error < 0)
                return arena_printf(arena, "%s%s%s cannot be read: %s", origin ? origin : "",
                                    origin ? ": " : "", path, strerror(-file.error));
        if (file.size > FILE_BYTES_MAX)
                return arena_printf(arena, "%s: this is too large for a parameter file", path);
        if (file.size < SPFILE_HEAD || !has_mark(file.text))
                return read_text(reader, path, file.text, file.size, depth);
        size_t size = 0;
        const char *text = spfile_text(arena, &file, &size);

        if (!text)
                return arena_printf(
                        arena,
                        "%s: this server parameter file is cut off or damaged; run CREATE "
                        "PFILE='/etc/oracle/initSID.ora' FROM SPFILE in SQL*Plus and name "
                        "that file in ConfigFile=",
                        path);
        settings_add(arena, reader->parameters, "spfile", path, path);
        return read_text(reader, path, text, size, depth);
}

const char *oracle_parameters_read(Arena *arena, const Sources *sources, const OracleFile *file,
                                   Settings *ret, Diags *problems) {
        Reader reader = {
                .arena = arena,
                .sources = sources,
                .start = file,
                .parameters = ret,
                .problems = problems,
        };

        *ret = (Settings){};
        return read_file(&reader, file->path, NULL, 0);
}

const Setting *oracle_parameter_find(const Settings *parameters, const char *sid,
                                     const char *name) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Setting *own =
                sid ? settings_find(parameters, arena_printf(arena, "%s.%s", sid, name)) : NULL;

        return own ? own : settings_find(parameters, name);
}
