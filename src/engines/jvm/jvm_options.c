/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/jvm/jvm.h"

#include "base/text.h"
#include "engines/parameters.h"
#include "model/problem.h"

#include <strings.h>

enum { NOTES_MAX = 10, VALUE_LENGTH_MAX = 64 };

static void add_option(Arena *arena, const char *text, const char *origin, JvmOptions *options) {
        if (*text == '-')
                *vec_push(arena, options) = (JvmOption){text, origin};
}

/* ---- one option per line ---- */

/* Takes "8:", "8-:" or "8-13:" off *LINE; returns false if it begins with none of these. */
static bool take_range(const char **line, uint64_t *ret_first, uint64_t *ret_last) {
        if (take_digits(line, ret_first) < 0)
                return false;
        *ret_last = *ret_first;
        if (**line == '-') {
                *ret_last = UINT64_MAX;
                if (*++*line != ':' && take_digits(line, ret_last) < 0)
                        return false;
        }
        return *(*line)++ == ':' && *ret_last >= *ret_first;
}

void jvm_options_read_lines(Arena *arena, const SourceText *text, const char *path,
                            uint64_t java_major, JvmOptions *ret, Diags *problems) {
        uint64_t major = java_major > 0 ? java_major : UINT64_MAX;
        size_t n_notes = 0;

        SOURCE_FOREACH(line, arena, lines, text) {
                const char *option = line;
                uint64_t first = 0, last = UINT64_MAX;

                if (*line == '#' || *text_strip(arena, line) == '\0')
                        continue;
                if ((*line == '-' || take_range(&option, &first, &last)) && *option == '-') {
                        if (first <= major && major <= last)
                                *vec_push(arena, ret) =
                                        (JvmOption){text_strip(arena, option),
                                                    source_origin(arena, path, lines.number)};
                } else if (n_notes++ < NOTES_MAX) {
                        Diag diag = problem_of(PROBLEM_DATABASE_FILES, path,
                                               "begin the line with '-', with versions as in "
                                               "'8-13:-', or with '#'");

                        diag.line = lines.number;
                        diags_report(problems, diag, "this is not an option, and is ignored");
                }
        }
}

/* ---- argument files and variables ---- */

static bool is_blank(char byte) {
        return byte != '\0' && strchr(" \t\r\n\f\v", byte);
}

/* Within quotes a backslash makes the next byte literal; at the end of a line it joins the next line. A quote that is
 * not closed in its line ends the reading. */
void jvm_options_read_arguments(Arena *arena, const SourceText *text, const char *path,
                                JvmOptions *ret) {
        const char *at = text->text ? text->text : "";
        unsigned line = 1;

        for (;;) {
                Text word = text_in(arena);
                char quote = '\0';

                for (; is_blank(*at) || *at == '#'; at += *at != '\0') {
                        if (*at == '#')
                                at += strcspn(at, "\n");
                        line += *at == '\n';
                }
                if (!*at)
                        return;
                for (; *at && (quote ? *at != '\n' : !is_blank(*at)); at++) {
                        if (quote ? *at == quote : *at == '"' || *at == '\'') {
                                quote = quote ? '\0' : *at;
                        } else if (quote && *at == '\\' && at[1] == '\n') {
                                line++;
                                at++;
                                at += strspn(at + 1, " \t\f");
                        } else {
                                at += quote && *at == '\\' && at[1];
                                text_add_n(&word, at, 1);
                        }
                }
                if (quote)
                        return;
                add_option(arena, text_string(&word), source_origin(arena, path, line), ret);
        }
}

void jvm_options_read_variable(Arena *arena, const char *value, const char *origin,
                               JvmOptions *ret) {
        TEXT_FOREACH(word, arena, value, " \t\r\n\f\v\"'")
                add_option(arena, word, origin, ret);
}

/* ---- settings ---- */

/* Words of the command line and their settings; if `value` is NULL, the value is the rest of the word. */
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

static const char *readable(const char *value) {
        size_t length = strlen(value);

        return length <= VALUE_LENGTH_MAX && text_is_utf8(value, length) ? value : "(not readable)";
}

void jvm_options_settings(Arena *arena, const JvmOptions *options, Settings *ret) {
        const SettingNames names = engine_settings(&engine_jvm, arena);

        VEC_FOREACH(option, options) {
                ARRAY_FOREACH(row, known, ARRAY_LEN(known)) {
                        const char *rest = option->text + strlen(row->option);

                        if (text_starts_with(option->text, row->option) && (!row->value || !*rest))
                                settings_add(arena, ret, row->setting,
                                             row->value ? row->value : readable(rest),
                                             option->origin);
                }
                if (!text_starts_with(option->text, "-XX:"))
                        continue;
                /* -XX:NAME=VALUE, -XX:+NAME and -XX:-NAME are settings of the same name. */
                const char *text = option->text + strlen("-XX:"), *value = strchr(text, '=');
                bool is_on = *text == '+', is_switch = is_on || *text == '-';

                text += is_switch;
                const char *name = arena_strndup(arena, text, strcspn(text, "="));

                if (is_switch == !value && VEC_ANY(each, &names, text_equals(*each, name)))
                        settings_add(arena, ret, name,
                                     value   ? readable(value + 1)
                                     : is_on ? "true"
                                             : "false",
                                     option->origin);
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
        return READS_NOT;
}

uint64_t jvm_major_version(const char *version) {
        Version parsed = {};

        parse_version(version, &parsed);
        return parsed.numbers[parsed.numbers[0] == 1];
}

/* ---- virtual machines that map all their huge pages at start ---- */

/* They map the same number at each start, so the observed size is their size. Measured (docs/sizes.md): 11, 17, 21, 25
 * and 26, restarted repeatedly, with more CPUs, and with a filled heap. */
enum { OLDEST = 11, NEWEST = 26 };

static bool has_collector(const Settings *settings, const char *name) {
        const Setting *setting = settings_find(settings, "gc");

        return setting && strcasecmp(setting->value, name) == 0;
}

static uint64_t size_given(const Settings *settings, const char *name) {
        const Setting *setting = settings_find(settings, name);
        uint64_t bytes = 0;

        return setting && parse_suffixed_bytes(setting->value, "KkMmGgTt", &bytes) == 0 ? bytes : 0;
}

/* Java reserves heap, code cache and tables each as a whole, with huge pages. But up to 10 mark stacks grow, versions
 * that were not measured are not known, nor is a collector that Java itself chooses by CPUs and memory. */
bool jvm_is_fixed(const Settings *settings) {
        const Setting *version = settings_find(settings, "server_version");
        const Setting *cache = settings_find(settings, "ReservedCodeCacheSize");
        uint64_t segmented_bytes = 2 * MIB * 128; /* from here on the segment map takes a page */
        uint64_t major = 0, heap = size_given(settings, "Xmx");

        if (!version || parse_major_version(version->value, &major) < 0 || major < OLDEST ||
            major > NEWEST)
                return false;
        /* ZGC takes the heap's pages as the heap grows. For a table that is mapped FIT_WITHIN (jvm_formula.c) the
         * number of pages varies by one. */
        bool is_fixed_collector =
                has_collector(settings, "zgc")
                        ? heap > 0 && size_given(settings, "Xms") >= heap
                        : has_collector(settings, "g1") || has_collector(settings, "shenandoah") ||
                                  (major >= 26 && has_collector(settings, "parallel"));

        /* From 25 on the code heaps' sizes depend on the CPUs, also those of a control group, unless the cache's size
         * is set. */
        return is_fixed_collector && !settings_find(settings, "NonNMethodCodeHeapSize") &&
               !settings_find(settings, "ProfiledCodeHeapSize") &&
               !settings_find(settings, "NonProfiledCodeHeapSize") &&
               size_given(settings, "ReservedCodeCacheSize") < segmented_bytes &&
               (major < 25 || cache);
}
