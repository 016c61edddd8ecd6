/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/oracle/oracle_parameters.h"

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
        OracleParameters *parameters;
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

static bool is_unused(const char *block) {
        for (size_t i = 0; i < SPFILE_BLOCK; i++)
                if (block[i] != '\0')
                        return false;
        return true;
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

                if (is_unused(block))
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

typedef enum TokenKind {
        TOKEN_END,
        TOKEN_WORD,
        TOKEN_EQUALS,
        TOKEN_COMMA,
        TOKEN_OPEN,
        TOKEN_CLOSE,
        TOKEN_UNCLOSED, /* a quote that is not closed in its line */
} TokenKind;

typedef struct Token {
        TokenKind kind;
        const char *word;
        unsigned line;
        bool begins_line; /* false behind a line that ends with a backslash */
} Token;

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

/* Adds a quoted text, in which two quotes in a row are one quote. */
static bool scan_quoted(Scanner *scanner, Text *word) {
        char quote = *scanner->at++;

        while (scanner->at < scanner->end && *scanner->at != '\n') {
                size_t joined = continuation(scanner);

                if (joined > 0) {
                        scanner->at += joined;
                        scanner->line++;
                        continue;
                }
                if (*scanner->at == quote) {
                        scanner->at++;
                        if (scanner->at == scanner->end || *scanner->at != quote)
                                return true;
                }
                text_add_n(word, scanner->at++, 1);
        }
        return false;
}

static Token scan_word(Scanner *scanner, Token token) {
        Text word = text_in(scanner->arena);

        token.kind = TOKEN_WORD;
        while (scanner->at < scanner->end && !strchr(" \t\r\f\v\n=,()#", *scanner->at)) {
                size_t joined = continuation(scanner);

                scanner->at += joined;
                scanner->line += joined > 0;
                if (joined > 0)
                        continue;
                if (*scanner->at != '\'' && *scanner->at != '"')
                        text_add_n(&word, scanner->at++, 1);
                else if (!scan_quoted(scanner, &word))
                        token.kind = TOKEN_UNCLOSED;
        }
        token.word = text_string(&word);
        return token;
}

static Token scan(Scanner *scanner) {
        static const char marks[] = "=,()";
        static const TokenKind kinds[] = {TOKEN_EQUALS, TOKEN_COMMA, TOKEN_OPEN, TOKEN_CLOSE};

        skip_whitespace(scanner);
        Token token = {.line = scanner->line, .begins_line = scanner->begins_line};

        scanner->begins_line = false;
        if (scanner->at == scanner->end)
                return token;
        const char *mark = strchr(marks, *scanner->at);

        if (!mark)
                return scan_word(scanner, token);
        scanner->at++;
        token.kind = kinds[mark - marks];
        return token;
}

static Token take(Scanner *scanner) {
        Token token = scanner->next;

        scanner->next = scan(scanner);
        return token;
}

/* ---- assignments ---- */

static void note(Reader *reader, Scanner *scanner, unsigned line, const char *text) {
        if (reader->n_notes >= NOTES_MAX || scanner->noted_line == line)
                return;
        reader->n_notes++;
        scanner->noted_line = line;
        diags_add(reader->problems,
                  &(Diag){.severity = SEVERITY_WARNING,
                          .id = problem_id(PROBLEM_DATABASE_FILES),
                          .file = scanner->path,
                          .line = line,
                          .text = text,
                          .remedy = "write NAME=VALUE; a value with whitespace or "
                                    "signs goes in quotes"});
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
                if (token.kind == TOKEN_OPEN)
                        depth++;
                if (token.kind == TOKEN_CLOSE)
                        depth--;
        }
        return depth > 0 ? NULL : first ? first : "";
}

static const char *take_one(Scanner *scanner) {
        Token token = take(scanner);

        return token.kind == TOKEN_OPEN ? take_list(scanner) : token.word;
}

static bool begins_value(const Token *token) {
        return token->kind == TOKEN_OPEN || (token->kind == TOKEN_WORD && !token->begins_line);
}

/* Takes the value behind "=": a word, a list in brackets, or several of them separated by commas. Returns the first;
 * NULL: a bracket stays open. */
static const char *take_value(Scanner *scanner) {
        if (!begins_value(&scanner->next))
                return "";
        const char *value = take_one(scanner);

        while (value && scanner->next.kind == TOKEN_COMMA) {
                take(scanner);
                if (scanner->next.kind != TOKEN_WORD && scanner->next.kind != TOKEN_OPEN)
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

static const char *include(Reader *reader, const Scanner *scanner, const OracleParameter *parameter,
                           unsigned depth) {
        const char *path = fill_in(reader, scanner->path, parameter->value);

        if (*parameter->value == '+')
                return refuse(
                        reader, parameter->origin,
                        "the parameters are in ASM, which Oracle alone can read; have SQL*Plus "
                        "CREATE PFILE='/etc/oracle/initSID.ora' FROM SPFILE and name that file "
                        "by ConfigFile=, give the size by Memory=, or let it start once with "
                        "Shortage=degrade: what it then maps is seen");
        if (!path)
                return refuse(
                        reader, parameter->origin,
                        "what '?' (ORACLE_HOME) or '@' (the SID) stands for is not known; write "
                        "the whole path");
        return read_file(reader, path, parameter->origin, depth + 1);
}

/* SID.NAME, *.NAME or NAME. */
static OracleParameter make_parameter(Arena *arena, const char *path, const Token *name,
                                      const char *value) {
        OracleParameter parameter = {.name = name->word,
                                     .value = value,
                                     .origin = source_origin(arena, path, name->line)};
        const char *dot = strchr(name->word, '.');

        if (dot) {
                parameter.name = dot + 1;
                parameter.sid = arena_strdup_to(arena, name->word, dot);
                if (text_equals(parameter.sid, "*"))
                        parameter.sid = NULL;
        }
        return parameter;
}

static const char *add_parameter(Reader *reader, const Scanner *scanner, const Token *name,
                                 const char *value, unsigned depth) {
        OracleParameter parameter = make_parameter(reader->arena, scanner->path, name, value);
        size_t length = strlen(value);

        if (parameter.sid && reader->start->sid && !text_equals(parameter.sid, reader->start->sid))
                return NULL;
        if (length > VALUE_LENGTH_MAX || !text_is_utf8(value, length))
                parameter.value = "(not readable)";
        *vec_push(reader->arena, &reader->parameters->list) = parameter;
        if (strcasecmp(parameter.name, "ifile") == 0 || strcasecmp(parameter.name, "spfile") == 0)
                return include(reader, scanner, &parameter, depth);
        return NULL;
}

static const char *read_assignment(Reader *reader, Scanner *scanner, unsigned depth) {
        Token name = take(scanner);
        const char *origin = source_origin(reader->arena, scanner->path, name.line);

        if (name.kind == TOKEN_UNCLOSED)
                return refuse(reader, origin, "a quote is not closed in its line");
        if (name.kind != TOKEN_WORD || scanner->next.kind != TOKEN_EQUALS) {
                note(reader, scanner, name.line, "this is no assignment, and is passed over");
                return NULL;
        }
        take(scanner);
        const char *value = take_value(scanner);

        if (!value)
                return refuse(reader, origin, "a bracket is not closed");
        if (scanner->next.kind == TOKEN_UNCLOSED)
                return NULL;
        return add_parameter(reader, scanner, &name, value, depth);
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

static const char *read_spfile(Reader *reader, const char *path, const SourceText *file,
                               unsigned depth) {
        size_t size = 0;
        const char *text = spfile_text(reader->arena, file, &size);

        if (!text)
                return arena_printf(
                        reader->arena,
                        "%s: this server parameter file is cut off or damaged; have "
                        "SQL*Plus CREATE PFILE='/etc/oracle/initSID.ora' FROM SPFILE and "
                        "name that file by ConfigFile=",
                        path);
        reader->parameters->spfile = path;
        return read_text(reader, path, text, size, depth);
}

/* ORIGIN is the line that names the file; NULL for the first file. */
static const char *read_file(Reader *reader, const char *path, const char *origin, unsigned depth) {
        SourceText file;

        if (depth >= DEPTH_MAX || ++reader->n_files > FILES_MAX)
                return refuse(reader, origin,
                              "files are included more than three deep, or in a circle");
        file = source_read(reader->sources, reader->arena, path);
        if (file.error < 0)
                return arena_printf(reader->arena, "%s%s%s cannot be read: %s",
                                    origin ? origin : "", origin ? ": " : "", path,
                                    strerror(-file.error));
        if (file.size > FILE_BYTES_MAX)
                return arena_printf(reader->arena, "%s: this is too large for a parameter file",
                                    path);
        if (file.size >= SPFILE_HEAD && has_mark(file.text))
                return read_spfile(reader, path, &file, depth);
        return read_text(reader, path, file.text, file.size, depth);
}

const char *oracle_parameters_read(Arena *arena, const Sources *sources, const OracleFile *file,
                                   OracleParameters *ret, Diags *problems) {
        Reader reader = {
                .arena = arena,
                .sources = sources,
                .start = file,
                .parameters = ret,
                .problems = problems,
        };

        *ret = (OracleParameters){};
        return read_file(&reader, file->path, NULL, 0);
}

const OracleParameter *oracle_parameter_find(const OracleParameters *parameters, const char *sid,
                                             const char *name) {
        const OracleParameter *found = NULL;

        VEC_FOREACH(parameter, &parameters->list) {
                if (strcasecmp(parameter->name, name) != 0 ||
                    (parameter->sid && !text_equals(parameter->sid, sid)))
                        continue;
                if (parameter->sid || !found || !found->sid)
                        found = parameter;
        }
        return found;
}
