/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/kept/kept_line.h"

#include "base/text.h"
#include "engines/reader.h"
#include "model/names.h"
#include "read/kernel_line.h"
#include "read/setting_source.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

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
         "ServiceName Requires Wants BindsTo Upholds OnSuccess OnFailure Unit Service Accept"},
        {"*/systemd/*", READS_COMMAND, "ExecStart ExecStartPre ExecStartPost"},
        {"*/systemd/*", READS_WORD,
         "Slice Login Container Description Environment Timer Path Socket"},
        {"*/nsswitch.conf", READS_REST, "passwd group"},
        {"*/tuned/*", READS_REST, "type enabled replace include"},
        {"*/tuned/*", READS_WORD, "main sysctl sysfs vm bootloader"},
        {"/proc/*/status", READS_REST,
         "Name PPid Uid VmPeak VmSize VmRSS VmPTE RssShmem HugetlbPages THP_enabled Mems_allowed "
         "Mems_allowed_list"},
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

bool kept_is_comment(const char *at, const char *end) {
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

unsigned kept_rows(const char *path) {
        unsigned found = 0;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (fnmatch(rows[i].files, path, 0) == 0)
                        found |= 1U << i;
        return found;
}

static void add_name(Kept *kept, Index *names, const char *from, const char *to) {
        const char *name = arena_strdup_to(kept->arena, from, to);

        if (from == to || index_find(names, name))
                return;
        index_add(names, name, name);
        kept->n_names++;
}

/* Adds each "$NAME" and "${NAME}" between FROM and TO. */
static void add_variables(Kept *kept, Index *names, const char *from, const char *to) {
        while (from < to && (from = memchr(from, '$', (size_t) (to - from)))) {
                const char *end = from += 1 + (from + 1 < to && from[1] == '{');

                while (end < to && (isalnum((unsigned char) *end) || *end == '_'))
                        end++;
                add_name(kept, names, from, end);
        }
}

static bool is_about(const char *word) {
        static const char *const parts[] = {"huge", "shmmax", "shmall", "vm.nr_", "vm/nr_"};

        return setting_source_is_mention(word) ||
               ARRAY_ANY(part, parts, ARRAY_LEN(parts), strstr(word, *part) != NULL);
}

/* Returns whether WORD is a value of a setting of transparent huge pages. */
static bool is_state(const char *word) {
        return TEXT_IS_ANY(word, "always", "never", "madvise", "defer", "advise", "within_size",
                           "inherit", "DEFAULT", "on", "off", "yes", "no", "true", "false");
}

/* Facts about a word that do not depend on its position. */
typedef struct Known {
        unsigned rows; /* rows of the table of names that contain the word */
        Reads engine;
        bool is_about;
} Known;

static unsigned rows_with(const char *name) {
        unsigned found = 0;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (text_has_word(rows[i].names,
                                  rows[i].reads == READS_WORD ? text_base_name(name) : name))
                        found |= 1U << i;
        return found;
}

/* Cached, because most words occur in many files, and files are passed over several times. */
static const Known *known_of(Kept *kept, const char *word) {
        const Known *known = index_find(kept->known, word);

        if (known)
                return known;
        known = arena_memdup(kept->arena,
                             &(Known){rows_with(word), engine_reads(word), is_about(word)},
                             sizeof(Known));
        index_add(kept->known, arena_strdup(kept->arena, word), known);
        return known;
}

static Reads reads_here(const Reading *reading, const Known *known, const char *name) {
        bool is_tuned = text_starts_with(reading->path, "/etc/tuned/") ||
                        text_starts_with(reading->path, "/usr/lib/tuned/");
        unsigned found = reading->rows & known->rows;

        if (found != 0)
                return rows[__builtin_ctz(found)].reads;
        if (!is_tuned && !text_equals(reading->path, PATH_CMDLINE))
                return READS_NOT;
        return text_starts_with(name, "cmdline")         ? READS_WORD
               : kernel_line_has(reading->scratch, name) ? READS_VALUE
                                                         : READS_NOT;
}

/* "8-13:-Xmx4g" */
static bool is_range(const Line *line, const Word *word) {
        return word->begin == line->begin && text_starts_with(word->end, ":-") &&
               word->begin + strspn(word->begin, "0123456789-") == word->end;
}

/* Keeps a single letter or digit, versions before an option, words about huge pages and the values written there,
 * variables, and paths that contain an instance's name. */
static bool is_kept_word(const Line *line, const Word *word) {
        size_t n_letters = 0;

        for (const char *c = word->begin; c < word->end; c++)
                n_letters += kept_is_letter(*c);
        return n_letters <= 1 || is_range(line, word) ||
               known_of(line->reading->kept, word->name)->is_about ||
               index_find(line->reading->kept->words, word->name) ||
               (line->is_writing && (is_state(word->name) || text_is_digit(*word->name))) ||
               (line->is_about && text_starts_with(word->name, PATH_SYS "/")) ||
               (*word->begin == '/' && strcasestr(word->name, "%i"));
}

static Reads reads_of(const Line *line, const Word *word) {
        const Reading *reading = line->reading;
        const char *name = word->name;
        const Known *known = known_of(reading->kept, name);
        Reads reads = reads_here(reading, known, name);

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
static const char *find_quote(const char *at, const char *end, char quote) {
        while (at < end && *at != quote)
                at += *at == '\\' && at + 1 < end ? 2 : 1;
        return MIN(at, end);
}

static const char *value_end(const Line *line, const Word *word, const char *at, bool is_rest) {
        bool is_quoted = word->begin > line->begin && is_quote(word->begin[-1]) &&
                         !is_quote(*word->end); /* "NAME=VALUE" */

        if (at < line->end && is_quote(*at))
                return find_quote(at + 1, line->end, *at);
        if (is_quoted)
                return find_quote(at, line->end, word->begin[-1]);
        if (at < line->end && *at == '{')
                return find_quote(at, line->end, '}');
        while (at < line->end && *at != '#' && *at != ';' &&
               (is_rest || (!is_blank(*at) && !is_quote(*at))))
                at++;
        return at;
}

/* Returns whether WORD can name a value: it stands alone and is no part of an address. */
static bool may_have_value(const Line *line, const Word *word) {
        const char *before = word->begin - 1;

        return word->begin == line->begin || is_blank(*before) || is_quote(*before) ||
               strchr("{[(,=", *before) || (*before == ':' && strchr("-+", *word->begin)) ||
               (before - line->begin >= 4 && strncmp(before - 3, "-XX:", 4) == 0);
}

/* Returns the start of WORD's value, or NULL if it has none. */
static const char *find_value(const Line *line, const Word *word, Reads reads) {
        const char *at = word->end;
        bool is_first = word->begin == line->begin, is_quoted = at < line->end && is_quote(*at);
        bool is_letter = word->end - word->begin == 2 && *word->begin == '-';

        if (!may_have_value(line, word))
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

static const char *keep_value(const Line *line, const Word *word, Reads reads) {
        const char *from = find_value(line, word, reads);

        if (!from)
                return word->end;
        const char *to = value_end(line, word, from, reads == READS_REST);

        kept_keep(line->reading, from, to);
        add_variables(line->reading->kept, line->reading->kept->values, from, to);
        return to;
}

/* ---- lines ---- */

/* Takes the next word from AT on, including the name after a "$". */
static bool take_word(const Line *line, const char *at, Word *ret) {
        Arena *arena = line->reading->scratch;

        while (at < line->end && !kept_is_word_byte(*at))
                at++;
        *ret = (Word){.begin = at};
        while (at < line->end && kept_is_word_byte(*at))
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
                const char *to = find_quote(word->end, line->end, ']'); /* "[mysqld@reports]" */

                kept_keep(line->reading, word->begin, to);
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
        kept_keep(line->reading, word->begin, word->end);
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
        return keep_value(line, word, reads);
}

/* Returns the start of LINE's comment, or the end of LINE. */
static const char *find_comment(const Line *line) {
        char quote = '\0';

        for (const char *at = line->begin; at < line->end; at++) {
                if (quote ? *at == quote : is_quote(*at))
                        quote = quote ? '\0' : *at;
                else if (!quote && *at == '#' && at > line->begin && is_blank(at[-1]))
                        return at;
        }
        return line->end;
}

static void begin_command(Line *line, const char *at) {
        const Reading *reading = line->reading;
        Kept *kept = reading->kept;

        line->command = line->command_end = at;
        while (line->command_end < line->end && !strchr(";&", *line->command_end))
                line->command_end++;
        const char *command = arena_strdup_to(reading->scratch, at, line->command_end);

        line->is_about = is_about(command);
        line->is_writing = line->is_about && fnmatch("*/tmpfiles.d/*", reading->path, 0) == 0;
        add_variables(kept, kept->words, at, line->command_end);
}

void kept_line(Reading *reading, const char *begin, const char *end) {
        while (begin < end && (is_blank(*begin) || is_quote(*begin)))
                begin++;
        if (kept_is_comment(begin, end))
                return;
        Line line = {.reading = reading, .begin = begin, .command_end = begin, .end = end};
        Word word;

        line.end = find_comment(&line);
        for (const char *at = begin; take_word(&line, at, &word);) {
                if (word.begin >= line.command_end)
                        begin_command(&line, word.begin);
                at = keep_word(&line, &word);
        }
}
