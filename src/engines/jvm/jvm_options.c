/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/jvm/jvm_options.h"

#include "base/size.h"
#include "base/text.h"
#include "model/problem.h"

enum { NOTES_MAX = 10, VALUE_LENGTH_MAX = 64 };

static void add_option(Arena *arena, const char *text, const char *origin, JvmOptions *options) {
        if (*text == '-')
                *vec_push(arena, options) = (JvmOption){text, origin};
}

/* ---- one option to a line ---- */

/* Takes the number at the beginning off *LINE; false where there is none. */
static bool take_number(Arena *arena, const char **line, uint64_t *ret) {
        size_t n = strspn(*line, "0123456789");

        if (n == 0 || parse_u64(arena_strndup(arena, *line, n), ret) < 0)
                return false;
        *line += n;
        return true;
}

/* Takes "8:", "8-:" or "8-13:" off *LINE. False where it is none of these. */
static bool take_range(Arena *arena, const char **line, uint64_t *ret_first, uint64_t *ret_last) {
        if (!take_number(arena, line, ret_first))
                return false;
        *ret_last = *ret_first;
        if (**line == '-') {
                (*line)++;
                *ret_last = UINT64_MAX;
                if (**line != ':' && !take_number(arena, line, ret_last))
                        return false;
        }
        if (**line != ':' || *ret_last < *ret_first)
                return false;
        (*line)++;
        return true;
}

void jvm_options_read_lines(Arena *arena, const SourceText *text, const char *path,
                            uint64_t java_major, JvmOptions *ret, Diags *problems) {
        uint64_t major = java_major > 0 ? java_major : UINT64_MAX;
        SourceLines lines = source_lines(text);
        size_t n_notes = 0;
        char *line;

        while ((line = source_line(arena, &lines))) {
                const char *option = line;
                uint64_t first = 0, last = UINT64_MAX;

                if (*line == '#' || *text_strip(arena, line) == '\0')
                        continue;
                if ((*line == '-' || take_range(arena, &option, &first, &last)) && *option == '-') {
                        if (first <= major && major <= last)
                                add_option(arena, text_strip(arena, option),
                                           source_origin(arena, path, lines.number), ret);
                } else if (n_notes++ < NOTES_MAX) {
                        diags_add(problems,
                                  &(Diag){.severity = SEVERITY_WARNING,
                                          .id = problem_id(PROBLEM_DATABASE_FILES),
                                          .file = path,
                                          .line = lines.number,
                                          .text = "this is no option, and is passed over",
                                          .remedy = "begin the line with '-', with versions as in "
                                                    "'8-13:-', or with '#'"});
                }
        }
}

/* ---- argument files and variables ---- */

typedef struct Words {
        Arena *arena;
        const char *at;
        unsigned line;
} Words;

static bool is_blank(char byte) {
        return byte != '\0' && strchr(" \t\r\n\f\v", byte);
}

static void skip_whitespace(Words *words) {
        while (is_blank(*words->at) || *words->at == '#') {
                if (*words->at == '#')
                        words->at += strcspn(words->at, "\n");
                words->line += *words->at == '\n';
                words->at += *words->at != '\0';
        }
}

/* In quotes a backslash takes the next byte as it is; before the end of a line it joins the next. */
static bool take_quoted(Words *words, Text *word) {
        char quote = *words->at++;

        while (*words->at && *words->at != quote && *words->at != '\n') {
                if (*words->at == '\\' && words->at[1]) {
                        words->at++;
                        if (*words->at == '\n') {
                                words->line++;
                                words->at++;
                                words->at += strspn(words->at, " \t\f");
                                continue;
                        }
                }
                text_add_n(word, words->at++, 1);
        }
        if (*words->at != quote)
                return false;
        words->at++;
        return true;
}

/* NULL behind the last, and where a quote is not closed. */
static const char *take_word(Words *words) {
        Text word = text_in(words->arena);

        skip_whitespace(words);
        if (!*words->at)
                return NULL;
        while (*words->at && !is_blank(*words->at)) {
                if (*words->at != '"' && *words->at != '\'')
                        text_add_n(&word, words->at++, 1);
                else if (!take_quoted(words, &word))
                        return NULL;
        }
        return text_string(&word);
}

void jvm_options_read_arguments(Arena *arena, const SourceText *text, const char *path,
                                JvmOptions *ret) {
        Words words = {arena, text->text ? text->text : "", 1};
        const char *word;

        while ((word = take_word(&words)))
                add_option(arena, word, source_origin(arena, path, words.line), ret);
}

void jvm_options_read_variable(Arena *arena, const char *value, const char *origin,
                               JvmOptions *ret) {
        const char *word;

        while ((word = text_next_word(arena, &value, " \t\r\n\f\v\"'")))
                add_option(arena, word, origin, ret);
}

/* ---- settings ---- */

/* Words of the command line and the settings they are; a value of NULL is what stands behind the word. */
static const struct {
        const char *option, *setting, *value;
} known[] = {
        {"-Xmx", "Xmx", NULL},
        {"-Xint", "Xint", "true"},
        {"-Xmixed", "Xint", "false"},
        {"-Xcomp", "Xint", "false"},
        {"-XX:MaxHeapSize=", "Xmx", NULL},
        {"-Xms", "Xms", NULL},
        {"-XX:InitialHeapSize=", "Xms", NULL},
        {"-XX:+UseG1GC", "gc", "g1"},
        {"-XX:+UseParallelGC", "gc", "parallel"},
        {"-XX:+UseParallelOldGC", "gc", "parallel"},
        {"-XX:+UseSerialGC", "gc", "serial"},
        {"-XX:+UseShenandoahGC", "gc", "shenandoah"},
        {"-XX:+UseZGC", "gc", "zgc"},
        {"-XX:+UseConcMarkSweepGC", "gc", "cms"},
};

/* -XX:NAME=VALUE, -XX:+NAME and -XX:-NAME are settings of the same name. */
static const char *const flags[] = {
        "CompilationMode",         "G1HeapRegionSize",        "GCCardSizeInBytes",
        "HeapBaseMinAddress",      "LargePageSizeInBytes",    "MarkStackSize",
        "NonNMethodCodeHeapSize",  "NonProfiledCodeHeapSize", "ObjectAlignmentInBytes",
        "ProfiledCodeHeapSize",    "ReservedCodeCacheSize",   "SegmentedCodeCache",
        "ShenandoahRegionSize",    "TieredCompilation",       "TieredStopAtLevel",
        "UseCompressedOops",       "UseLargePages",           "UseLargePagesInMetaspace",
        "UseTransparentHugePages",
};

static const char *readable(const char *value) {
        size_t length = strlen(value);

        return length <= VALUE_LENGTH_MAX && text_is_utf8(value, length) ? value : "(not readable)";
}

static void add_known(Arena *arena, const JvmOption *option, Settings *ret) {
        for (size_t i = 0; i < ARRAY_LEN(known); i++) {
                const char *rest = option->text + strlen(known[i].option);

                if (text_starts_with(option->text, known[i].option) && (!known[i].value || !*rest))
                        settings_add(arena, ret, known[i].setting,
                                     known[i].value ? known[i].value : readable(rest),
                                     option->origin);
        }
}

/* The value of the flag FLAG that TEXT, behind "-XX:", gives; NULL where it gives another. */
static const char *flag_value(const char *text, const char *flag) {
        bool is_on = *text == '+', is_switch = is_on || *text == '-';
        const char *rest;

        text += is_switch;
        if (!text_starts_with(text, flag))
                return NULL;
        rest = text + strlen(flag);
        if (is_switch)
                return *rest ? NULL : is_on ? "true" : "false";
        return *rest == '=' ? readable(rest + 1) : NULL;
}

static void add_flag(Arena *arena, const JvmOption *option, Settings *ret) {
        for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
                const char *value = flag_value(option->text + strlen("-XX:"), flags[i]);

                if (value)
                        settings_add(arena, ret, flags[i], value, option->origin);
        }
}

void jvm_options_settings(Arena *arena, const JvmOptions *options, Settings *ret) {
        VEC_FOREACH(option, options) {
                add_known(arena, option, ret);
                if (text_starts_with(option->text, "-XX:"))
                        add_flag(arena, option, ret);
        }
}

Reads jvm_option_reads(const char *option) {
        ARRAY_FOREACH(each, known, ARRAY_LEN(known)) {
                const char *name = each->option + strspn(each->option, "-XX:+");

                if (text_starts_with(each->option, "-XX:")
                            ? strncmp(option, name, strcspn(name, "=")) == 0 &&
                                      !option[strcspn(name, "=")]
                            : text_starts_with(option, each->option + 1))
                        return READS_VALUE;
        }
        return text_index(flags, ARRAY_LEN(flags), option) >= 0 ? READS_VALUE : READS_NOT;
}

uint64_t jvm_major_version(const char *version) {
        size_t n = strspn(version, "0123456789");
        char digits[24] = {};
        uint64_t major = 0;

        if (text_starts_with(version, "1."))
                return jvm_major_version(version + 2);
        if (n < sizeof(digits)) {
                memcpy(digits, version, n);
                parse_u64(digits, &major);
        }
        return major;
}
