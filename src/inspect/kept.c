/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/kept.h"

#include "base/text.h"
#include "engines/reader.h"
#include "model/names.h"
#include "read/kernel_line.h"
#include "read/setting_source.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

/* The state of a pass over one text. */
typedef struct Reading {
        Kept *kept;
        Arena *scratch;
        const char *path;
        unsigned rows; /* of the table of names that apply to files at `path`, as bits */
        const char *bytes;
        char *out;
} Reading;

static void keep(const Reading *reading, const char *from, const char *to) {
        memcpy(reading->out + (from - reading->bytes), from, (size_t) (to - from));
}

enum { NO_WORD, MARK, LETTER };

/* The class of each byte; a table, because every byte of every file is classified several times. */
static const unsigned char byte_classes[256] = {['0' ... '9'] = LETTER,
                                                ['A' ... 'Z'] = LETTER,
                                                ['a' ... 'z'] = LETTER,
                                                [0x80 ... 0xff] = LETTER,
                                                ['!'] = MARK,
                                                ['%'] = MARK,
                                                ['*' ... '+'] = MARK,
                                                ['-' ... '/'] = MARK,
                                                ['?'] = MARK,
                                                ['^' ... '_'] = MARK,
                                                ['~'] = MARK};

static bool is_letter(char c) {
        return byte_classes[(unsigned char) c] == LETTER;
}

static bool is_word_byte(char c) {
        return byte_classes[(unsigned char) c] != NO_WORD;
}

/* ---- words ---- */

/* The names that hugeplan reads in files of no engine. FILES is a pattern of paths. */
static const struct {
        const char *files;
        Reads reads;
        const char *names;
} rows[] = {
        {"*/systemd/*", READS_REST,
         "User Group SupplementaryGroups Slice NUMAPolicy NUMAMask AllowedMemoryNodes "
         "AmbientCapabilities WorkingDirectory ConditionPathExists ConditionPathIsDirectory "
         "AssertPathExists EnvironmentFile LimitMEMLOCK MemoryMax MemoryHigh RemoveIPC Image "
         "ServiceName Requires Wants BindsTo Upholds OnSuccess OnFailure Unit Service Accept "
         "RestrictAddressFamilies"},
        {"*/systemd/*", READS_COMMAND, "ExecStart ExecStartPre ExecStartPost"},
        {"*/systemd/*", READS_WORD,
         "Slice Login Container Description Environment Timer Path Socket"},
        {"*/nsswitch.conf", READS_REST, "passwd group"},
        {"*/tuned/*", READS_REST, "type enabled replace include"},
        {"*/tuned/*", READS_WORD, "main sysctl sysfs vm bootloader"},
        {"/proc/*/status", READS_REST,
         "Name PPid Uid VmPeak VmSize VmRSS VmPTE RssShmem HugetlbPages"},
        {"*", READS_PATH, ". source"},
        /* Shell keywords, and commands that run other commands. */
        {"*", READS_WORD,
         "if then else elif fi case esac for in while until do done function export local readonly "
         "declare exec nohup command test true false sudo numactl taskset nice "
         "ionice chrt prlimit setpriv env stdbuf runuser su gosu chpst sh bash dash ksh zsh docker "
         "podman nerdctl compose"},
};

typedef struct Line {
        const Reading *reading;
        const char *begin, *end;
        const char *command, *command_end; /* ";" or "&" */
        unsigned n_commands; /* the number of next words that may be programs, whose paths are kept */
        bool is_about;       /* the command sets a setting that hugeplan manages */
        bool is_writing;     /* by writing to a file */
        bool is_container;   /* the command starts a container image */
        bool is_server;      /* a database's program was named, and its options follow */
} Line;

typedef struct Word {
        const char *begin, *end;
        const char *name; /* without its prefix: "--", "+", "*." */
} Word;

static bool is_comment(const char *at, const char *end) {
        return at < end && (*at == '#' || *at == ';' || text_starts_with(at, "-- ") ||
                            text_starts_with(at, "//"));
}

static bool is_blank(char c) {
        return c == '\0' || strchr(" \t\r", c);
}

static bool is_quote(char c) {
        return c == '"' || c == '\'';
}

/* ---- names ---- */

/* Adds each "$NAME" and "${NAME}" between FROM and TO. */
static void add_variables(Kept *kept, Index *names, const char *from, const char *to) {
        while (from < to && (from = memchr(from, '$', (size_t) (to - from)))) {
                const char *end = from += 1 + (from + 1 < to && from[1] == '{');

                while (end < to && (isalnum((unsigned char) *end) || *end == '_'))
                        end++;
                const char *name = arena_strdup_to(kept->arena, from, end);

                if (*name == '\0' || index_find(names, name))
                        continue;
                index_add(names, name, name);
                kept->n_names++;
        }
}

static bool is_about(const char *word) {
        static const char *const parts[] = {"huge", "shmmax", "shmall", "vm.nr_", "vm/nr_"};

        return setting_source_is_mention(word) ||
               ARRAY_ANY(part, parts, ARRAY_LEN(parts), strstr(word, *part) != NULL);
}

/* Facts about a word that do not depend on its position. */
typedef struct Known {
        unsigned rows; /* rows of the table of names that contain the word */
        Reads engine;
        bool is_about;
} Known;

/* Cached, because most words occur in many files, and files are passed over several times. */
static const Known *known_of(Kept *kept, const char *word) {
        const Known *found = index_find(kept->known, word);

        if (found)
                return found;
        Known known = {.engine = engine_reads(word), .is_about = is_about(word)};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (text_has_word(rows[i].names,
                                  rows[i].reads == READS_WORD ? text_base_name(word) : word))
                        known.rows |= 1U << i;
        found = arena_memdup(kept->arena, &known, sizeof(known));
        index_add(kept->known, arena_strdup(kept->arena, word), found);
        return found;
}

/* Keeps a single letter or digit, versions before an option, words about huge pages and the values written there,
 * variables, and paths that contain an instance's name. */
static bool is_kept_word(const Line *line, const Word *word) {
        const char *name = word->name;
        size_t n_letters = 0;

        for (const char *c = word->begin; c < word->end; c++)
                n_letters += is_letter(*c);
        bool is_range = word->begin == line->begin && text_starts_with(word->end, ":-") &&
                        word->begin + strspn(word->begin, "0123456789-") ==
                                word->end; /* "8-13:-Xmx4g" */

        return n_letters <= 1 || is_range || known_of(line->reading->kept, name)->is_about ||
               index_find(line->reading->kept->words, name) ||
               (line->is_writing &&
                /* values of settings of transparent huge pages, and numbers */
                (text_is_digit(*name) ||
                 TEXT_IS_ANY(name, "always", "never", "madvise", "defer", "advise", "within_size",
                             "inherit", "DEFAULT", "on", "off", "yes", "no", "true", "false"))) ||
               (line->is_about && text_starts_with(name, PATH_SYS "/")) ||
               (*word->begin == '/' && strcasestr(name, "%i"));
}

static Reads reads_of(const Line *line, const Word *word) {
        const Reading *reading = line->reading;
        const char *name = word->name;
        const Known *known = known_of(reading->kept, name);
        unsigned found = reading->rows & known->rows;
        bool is_kernels = text_starts_with(reading->path, "/etc/tuned/") ||
                          text_starts_with(reading->path, "/usr/lib/tuned/") ||
                          text_equals(reading->path, PATH_CMDLINE);
        Reads reads = READS_NOT;

        if (found != 0)
                reads = rows[__builtin_ctz(found)].reads;
        else if (is_kernels && text_starts_with(name, "cmdline"))
                reads = READS_WORD;
        else if (is_kernels && kernel_line_has(name))
                reads = READS_VALUE;
        if (reads == READS_PATH && word->begin != line->command)
                reads = READS_WORD;
        if (reads == READS_NOT &&
            (strlen(name) > 1 || *word->begin == '-')) /* "-D", but not "u:x" */
                reads = known->engine;
        if (reads == READS_NOT && ((index_find(reading->kept->values, name) && *word->end == '=') ||
                                   (known->is_about && word->end[strspn(word->end, " \t")] == '=')))
                reads = READS_VALUE;
        if (reads == READS_NOT && is_kept_word(line, word))
                reads = READS_WORD;
        return reads;
}

/* ---- values ---- */

/* Returns the end of the quoted text, or of the line. */
static const char *find_quote(const Line *line, const char *at, char quote) {
        while (at < line->end && *at != quote)
                at += *at == '\\' && at + 1 < line->end ? 2 : 1;
        return MIN(at, line->end);
}

static const char *value_end(const Line *line, const Word *word, const char *at, bool is_rest) {
        bool is_quoted = word->begin > line->begin && is_quote(word->begin[-1]) &&
                         !is_quote(*word->end); /* "NAME=VALUE" */

        if (at < line->end && is_quote(*at))
                return find_quote(line, at + 1, *at);
        if (is_quoted)
                return find_quote(line, at, word->begin[-1]);
        if (at < line->end && *at == '{')
                return find_quote(line, at, '}');
        while (at < line->end && *at != '#' && *at != ';' &&
               (is_rest || (!is_blank(*at) && !is_quote(*at))))
                at++;
        return at;
}

/* Returns the start of WORD's value, or NULL if it has none. */
static const char *find_value(const Line *line, const Word *word, Reads reads) {
        const char *at = word->end, *before = word->begin - 1;
        bool is_first = word->begin == line->begin, is_quoted = at < line->end && is_quote(*at);
        bool is_letter = word->end - word->begin == 2 && *word->begin == '-';

        /* A word that names a value stands alone and is no part of an address. */
        if (!is_first && !is_blank(*before) && !is_quote(*before) && !strchr("{[(,=", *before) &&
            !(*before == ':' && strchr("-+", *word->begin)) &&
            !(before - line->begin >= 4 && strncmp(before - 3, "-XX:", 4) == 0))
                return NULL;
        at += is_quoted; /* "name": value */
        while (at < line->end && is_blank(*at))
                at++;
        /* "name: value" must begin a line, because elsewhere it may be "user:password". */
        if (at < line->end && !is_letter &&
            (*at == '=' || (*at == ':' && (is_first || is_quoted || line->is_container)))) {
                at++;
                while (at < line->end && is_blank(*at))
                        at++;
                return at;
        }
        if (at == word->end || at == line->end || *at == '-')
                return NULL;
        at += is_quote(*at);
        if (reads == READS_NEXT)
                return line->is_server || *at == '/' || text_is_digit(*at) ? at : NULL;
        return is_first || reads == READS_PATH ? at : NULL;
}

/* ---- lines ---- */

/* Takes the next word from AT on, including the name after a "$". */
static bool take_word(const Line *line, const char *at, Word *ret) {
        Arena *arena = line->reading->scratch;

        while (at < line->end && !is_word_byte(*at))
                at++;
        *ret = (Word){.begin = at};
        while (at < line->end && is_word_byte(*at))
                at++;
        ret->end = at;
        for (at = ret->begin; at < ret->end && strchr("-+!*", *at);)
                at++;
        ret->name = arena_strdup_to(
                arena, at + (at > ret->begin && at < ret->end && *at == '.' && at[-1] == '*'),
                ret->end);
        return ret->begin < ret->end;
}

static const char *keep_word(Line *line, const Word *word) {
        Reads reads = reads_of(line, word);
        bool is_command = line->n_commands > 0;
        const char *path = word->begin + strspn(word->begin, "-@:+!|");

        line->n_commands -= is_command;
        if (reads == READS_WORD && line->begin == word->begin - 1 && *line->begin == '[') {
                const char *to = find_quote(line, word->end, ']'); /* "[mysqld@reports]" */

                keep(line->reading, word->begin, to);
                return to;
        }
        if (reads == READS_NOT && *path == '/' &&
            (is_command || index_find(line->reading->kept->paths, word->name)))
                reads = READS_WORD;
        if (reads == READS_NOT && word->begin > line->begin &&
            (word->begin[-1] == '$' || word->begin[-1] == '{'))
                reads = READS_WORD;
        if (reads == READS_NOT)
                return word->end;
        keep(line->reading, word->begin, word->end);
        line->is_container = line->is_container ||
                             text_has_word("docker podman nerdctl", text_base_name(word->name));
        line->is_server = line->is_server || reads == READS_SERVER;
        if (reads == READS_COMMAND)
                line->n_commands = 2;
        if (line->is_container && *word->end == ':' &&
            known_of(line->reading->kept, word->name)->engine != READS_NOT &&
            strlen(word->name) > 1) /* an image, with its version */
                reads = READS_VALUE;
        if (*word->end == '$') /* -Xmx$HEAP */
                add_variables(line->reading->kept, line->reading->kept->values, word->end,
                              word->end + strcspn(word->end, " \t\n\"'"));
        if (reads == READS_WORD || reads == READS_SERVER || reads == READS_COMMAND)
                return word->end;
        const char *from = find_value(line, word, reads);

        if (!from)
                return word->end;
        const char *to = value_end(line, word, from, reads == READS_REST);

        keep(line->reading, from, to);
        add_variables(line->reading->kept, line->reading->kept->values, from, to);
        return to;
}

/* Keeps the words of a line that are read, and their values. */
static void keep_words(Reading *reading, const char *begin, const char *end) {
        char quote = '\0';

        while (begin < end && (is_blank(*begin) || is_quote(*begin)))
                begin++;
        if (is_comment(begin, end))
                return;
        Line line = {.reading = reading, .begin = begin, .command_end = begin, .end = begin};
        Word word;

        for (; line.end < end; line.end++) { /* up to a comment */
                const char *at = line.end;

                if (quote ? *at == quote : is_quote(*at))
                        quote = quote ? '\0' : *at;
                else if (!quote && *at == '#' && at > begin && is_blank(at[-1]))
                        break;
        }
        for (const char *at = begin; take_word(&line, at, &word);) {
                if (word.begin >= line.command_end) { /* the next command */
                        line.command = word.begin;
                        line.command_end = word.begin;
                        while (line.command_end < line.end && !strchr(";&", *line.command_end))
                                line.command_end++;
                        line.is_about = is_about(
                                arena_strdup_to(reading->scratch, line.command, line.command_end));
                        line.is_writing = line.is_about &&
                                          fnmatch("*/tmpfiles.d/*", reading->path, 0) == 0;
                        add_variables(reading->kept, reading->kept->words, line.command,
                                      line.command_end);
                }
                at = keep_word(&line, &word);
        }
}

/* ---- files ---- */

/* How files are read that no engine reads as a whole; the first match applies. */
typedef enum Kind {
        KIND_WORDS,
        KIND_WHOLE,  /* written only by the kernel or hugeplan */
        KIND_OURS,   /* whole lines, without comments */
        KIND_FIELDS, /* lines of fields */
        KIND_MAPS,   /* addresses, and the kind of memory mapped */
} Kind;

typedef struct FileKind {
        const char *files;
        Kind kind;
        const char *separators;
        unsigned fields;  /* the fields that are read, numbered from 0 */
        const char *more; /* a line that contains it is kept whole */
} FileKind;

static const FileKind kinds[] = {
        {PATH_CMDLINE, KIND_WORDS},
        {"/proc/*/cmdline", KIND_WORDS},
        {"/proc/*/status", KIND_WORDS},
        {"/proc/*maps", KIND_MAPS},
        {"/proc/*mountinfo", KIND_FIELDS, " ", 0x1F, "hugetlbfs"},
        {"/proc/*mounts", KIND_FIELDS, " ", 1U << 1 | 1U << 2, "cgroup2"},
        {"/proc/*", KIND_WHOLE},
        {"/sys/*", KIND_WHOLE},
        {"/run/hugeplan/*", KIND_WHOLE},
        {PATH_SYSCTL_GUARD, KIND_WHOLE},
        {PATH_PAM_LIMITS, KIND_WHOLE},
        {"*/hugeplan.d/*", KIND_OURS},
        {"*/tuned/*_profile", KIND_OURS},
        {"*/passwd", KIND_FIELDS, ":", 1U << 0 | 1U << 2 | 1U << 3 | 1U << 5},
        {"*/group", KIND_FIELDS, ":", 1U << 0 | 1U << 2 | 1U << 3},
        {"*/oratab", KIND_FIELDS, ":# \t", 1U << 0 | 1U << 1 | 1U << 2},
        {"*/orabasetab", KIND_FIELDS, ":# \t", 1U << 0 | 1U << 1 | 1U << 3},
        {"/etc/security/*", KIND_FIELDS, "#", 0, "memlock"},
        {"*", KIND_WORDS},
};

enum { PASSES_MAX = 8 }; /* over files that refer to each other */

Kept kept_in(Arena *arena) {
        return (Kept){.arena = arena,
                      .words = index_new(arena),
                      .values = index_new(arena),
                      .paths = index_new(arena),
                      .known = index_new(arena)};
}

static void keep_fields(const Reading *reading, const FileKind *kind, const char *at,
                        const char *end) {
        const char *line = arena_strdup_to(reading->scratch, at, end);

        if (is_comment(line, line + strlen(line)))
                return;
        if (kind->more && strstr(line, kind->more)) {
                keep(reading, at, at + strcspn(line, "#"));
                return;
        }
        for (unsigned i = 0; i < 32 && at < end; i++) {
                const char *from = at;

                while (at < end && !strchr(kind->separators, *at))
                        at++;
                /* The type of a file system follows a "-". */
                if (kind->fields & 1U << i ||
                    (from - reading->bytes > 1 && from[-1] == ' ' && from[-2] == '-'))
                        keep(reading, from, at);
                if (at < end && *at == '#')
                        return;
                at += at < end;
        }
}

/* "7f69-7f6a rw-s 00000000 00:11 454962 /anon_hugepage (deleted)"; in numa_maps " file=/anon_hugepage\040(deleted)
 * huge". */
static void keep_map(const Reading *reading, const char *at, const char *end) {
        static const char *const memory[] = {"/anon_hugepage", "/SYSV",
                                             "/memfd:", "/dev/zero (deleted)"};
        const char *path = memchr(at, '/', (size_t) (end - at)), *behind = end;

        if (path && path > at && path[-1] == '=')
                behind = MIN(end, path + strcspn(path, " \n"));
        keep(reading, at, path ? path : end);
        keep(reading, behind, end);
        ARRAY_FOREACH(name, memory, path ? ARRAY_LEN(memory) : 0)
                if (text_starts_with(path, *name))
                        keep(reading, path, path + strlen(*name));
}

static void keep_lines(Reading *reading, const FileKind *kind, size_t size) {
        const char *last = reading->bytes + size;

        for (const char *at = reading->bytes; at < last; at++) {
                const char *newline = memchr(at, '\n', (size_t) (last - at));
                const char *end = newline ? newline : last;

                switch (kind->kind) {
                case KIND_WHOLE: /* keep_text() has returned it */
                        break;
                case KIND_OURS:
                        if (!is_comment(at + strspn(at, " \t"), end))
                                keep(reading, at, end);
                        else if (!text_is_utf8(at, (size_t) (end - at))) /* reported as an error */
                                reading->out[end - 1 - reading->bytes] = '\xff';
                        break;
                case KIND_FIELDS:
                        keep_fields(reading, kind, at, end);
                        break;
                case KIND_MAPS:
                        keep_map(reading, at, end);
                        break;
                case KIND_WORDS:
                        keep_words(reading, at, end);
                }
                at = end;
        }
}

/* Masks all text; words, lines and the marks at the start of a word, which determine its meaning, stay. */
static char *mask(Arena *arena, const char *bytes, size_t size, bool is_binary) {
        char *out = arena_alloc(arena, size + 1);

        for (size_t i = 0; i < size; i++) {
                char c = bytes[i];
                bool is_masked = is_binary || is_letter(c) ||
                                 (is_word_byte(c)
                                          ? i > 0 && is_word_byte(bytes[i - 1]) && out[i - 1] == 'x'
                                          : iscntrl((unsigned char) c) && !strchr("\t\n\r\v\f", c));

                out[i] = c && is_masked ? 'x' : c;
        }
        return out;
}

static const char *keep_text(Kept *kept, Arena *arena, const char *path, const char *bytes,
                             size_t size) {
        const FileKind *kind =
                ARRAY_FIND(each, kinds, ARRAY_LEN(kinds), fnmatch(each->files, path, 0) == 0);

        if (kind->kind == KIND_WHOLE)
                return bytes;
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Reading reading = {.kept = kept,
                           .scratch = scratch,
                           .path = path,
                           .bytes = bytes,
                           .out = mask(arena, bytes, size, false)};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (fnmatch(rows[i].files, path, 0) == 0)
                        reading.rows |= 1U << i;
        bool is_generated = text_starts_with(path, PATH_GENERATOR_DIR) &&
                            text_starts_with(bytes, "# Generated by hugeplan-generator");

        if (is_generated)
                keep(&reading, bytes, bytes + size);
        else if (engines_read_whole(text_base_name(path))) /* a version in a line, or JSON */
                keep(&reading, bytes, bytes + (*bytes == '{' ? size : strcspn(bytes, "\n")));
        else
                keep_lines(&reading, kind, size);
        return reading.out;
}

/* Keeps the bytes of a binary file that an engine reads. */
static char *keep_binary(Kept *kept, Arena *arena, const char *path, const char *bytes,
                         size_t size) {
        char *out = mask(arena, bytes, size, true);
        Pieces pieces = {};
        Text text = text_in(arena);

        engines_read_pieces(arena, &(SourceText){.text = bytes, .size = size}, &pieces);
        VEC_FOREACH(piece, &pieces)
                text_add_n(&text, bytes + piece->at, piece->is_text ? piece->size : 0);
        const char *stays = keep_text(kept, arena, path, text_string(&text), text.length);

        VEC_FOREACH(piece, &pieces) {
                memcpy(out + piece->at, piece->is_text ? stays : bytes + piece->at, piece->size);
                stays += piece->is_text ? piece->size : 0;
        }
        return out;
}

const char *kept_text(Kept *kept, Arena *arena, const char *path, const char *bytes, size_t size) {
        bool is_arguments = fnmatch("/proc/*/cmdline", path, 0) == 0;
        bool is_kernels = text_starts_with(path, PATH_PROC "/") ||
                          text_starts_with(path, PATH_SYS "/");

        return memchr(bytes, '\0', size) && !is_kernels && !is_arguments
                       ? keep_binary(kept, arena, path, bytes, size)
                       : keep_text(kept, arena, path, bytes, size);
}

/* ---- all files ---- */

/* A text can refer to names in a text of an earlier position, so that several passes are needed before the last one;
 * only a text with a "$" refers to names. */
void kept_tree(Arena *arena, const RecordedTree *tree) {
        Kept kept = kept_in(arena);
        size_t n_names = SIZE_MAX;

        VEC_FOREACH(entry, tree)
                if (entry->kind == RECORDED_FILE)
                        index_add(kept.paths, entry->path, entry);
        for (int i = 0; i < PASSES_MAX && kept.n_names != n_names; i++) {
                CLEANUP(arena_freep) Arena *scratch = arena_new();

                n_names = kept.n_names;
                VEC_FOREACH(entry, tree)
                        if (entry->kind == RECORDED_FILE && memchr(entry->bytes, '$', entry->size))
                                kept_text(&kept, scratch, entry->path, entry->bytes, entry->size);
        }
        VEC_FOREACH(entry, tree)
                if (entry->kind == RECORDED_FILE)
                        entry->bytes =
                                kept_text(&kept, arena, entry->path, entry->bytes, entry->size);
}
