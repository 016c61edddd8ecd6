/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/mysql/mysql_options.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

/* ---- lines ---- */

/* Cuts LINE at a "#" outside quotes. */
static void cut_comment(char *line) {
        char quote = '\0';
        bool is_escaped = false;

        for (; *line; line++) {
                if (strchr("'\"", *line) && !is_escaped)
                        quote = !quote ? *line : quote == *line ? '\0' : quote;
                if (!quote && *line == '#')
                        break;
                is_escaped = quote && *line == '\\' && !is_escaped;
        }
        *line = '\0';
}

static void add_escaped(Text *text, char escaped) {
        static const char letters[] = "ntrbs\"'\\", bytes[] = "\n\t\r\b \"'\\";
        const char *letter = strchr(letters, escaped);

        if (letter)
                text_add_n(text, &bytes[letter - letters], 1);
        else
                text_add_n(text, (const char[]){'\\', escaped}, 2);
}

/* Takes off the quotes around the whole of it, and resolves backslashes. */
static const char *option_value(Arena *arena, const char *raw) {
        const char *value = text_strip(arena, raw), *end = value + strlen(value);
        Text text = text_in(arena);

        if (end - value > 1 && (*value == '"' || *value == '\'') && *value == end[-1]) {
                value++;
                end--;
        }
        for (; value < end; value++)
                if (*value == '\\' && value + 1 < end)
                        add_escaped(&text, *++value);
                else
                        text_add_n(&text, value, 1);
        return text_string(&text);
}

void mysql_option_take(Arena *arena, const char *group, char *line, const char *origin,
                       MysqlFiles *files) {
        MysqlOption *option = vec_push(arena, &files->options);
        char *equals;

        cut_comment(line);
        equals = strchr(line, '=');
        *option = (MysqlOption){
                .group = group,
                .value = equals ? option_value(arena, equals + 1) : NULL,
                .origin = origin,
        };
        if (equals)
                *equals = '\0';
        option->name = text_strip(arena, line);
}

/* ---- settings ---- */

/* How many bytes of GIVEN and NAME are the same, by the rules for names. */
static size_t common_length(const char *given, const char *name) {
        size_t n = 0;

        while (given[n] && setting_fold(given[n]) == name[n])
                n++;
        return n;
}

static const MysqlName *find_name(const MysqlNames *names, const char *given) {
        for (const MysqlName *name = names->items; name < names->items + names->n; name++) {
                size_t n = common_length(given, name->name);

                if (!given[n] &&
                    (!name->name[n] || (name->shortest && n >= strlen(name->shortest))))
                        return name;
        }
        return NULL;
}

typedef enum Prefix {
        PREFIX_SKIP,
        PREFIX_DISABLE,
        PREFIX_ENABLE,
        PREFIX_MAXIMUM, /* InnoDB's variables are set by it */
        PREFIX_LOOSE,
        PREFIX_NONE,
} Prefix;

static const char *const prefixes[] = {"skip", "disable", "enable", "maximum", "loose"};

/* Takes a prefix with its "-" or "_" off *GIVEN. */
static Prefix take_prefix(const char **given) {
        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
                size_t n = strlen(prefixes[i]);

                if (common_length(*given, prefixes[i]) == n && setting_fold((*given)[n]) == '_') {
                        *given += n + 1;
                        return (Prefix) i;
                }
        }
        return PREFIX_NONE;
}

/* --skip-X=0 is on again. */
static const char *switched_value(Prefix prefix, const char *value) {
        bool is_zero = value && text_equals(value, "0");

        if (prefix == PREFIX_SKIP || prefix == PREFIX_DISABLE)
                return is_zero ? "1" : "0";
        if (prefix == PREFIX_ENABLE)
                return is_zero ? "0" : "1";
        return value;
}

/* Whatever else is written counts as off, "yes" too. */
static const char *switch_value(const char *value) {
        static const char *const on[] = {"1", "on", "true"};

        for (size_t i = 0; value && i < ARRAY_LEN(on); i++)
                if (strcasecmp(value, on[i]) == 0)
                        return "ON";
        return value ? "OFF" : "ON";
}

/* "1GB" is 1G to the servers, "64M;x" is 64M, "" is 0. */
static const char *number_value(Arena *arena, const char *value) {
        size_t sign, digits;

        if (!value)
                return "";
        sign = *value == '+';
        digits = strspn(value + sign, "0123456789");
        if (!*value)
                return "0";
        if (digits > 0 && value[sign + digits] && strchr("KkMmGgTtPpEe", value[sign + digits]))
                digits++;
        else if (digits == 0 || value[sign + digits])
                return value; /* the engine refuses it, as the server does */
        return arena_strndup(arena, value + sign, digits);
}

static const char *setting_value(Arena *arena, const MysqlName *name, const char *value) {
        switch (name->kind) {
        case MYSQL_NUMBER:
                return number_value(arena, value);
        case MYSQL_SWITCH:
                return switch_value(value);
        case MYSQL_TEXT:
                break;
        }
        return value ? value : "";
}

/* The last prefix counts, and a name is looked for before a prefix is taken off. */
static const MysqlName *find_prefixed(const MysqlNames *names, const char *given, Prefix *ret) {
        const MysqlName *name;

        *ret = PREFIX_NONE;
        while (!(name = find_name(names, given))) {
                *ret = take_prefix(&given);
                if (*ret == PREFIX_NONE)
                        return NULL;
        }
        return name;
}

/* "hot.key_buffer_size": the part with the point, "" where there is none. The cache without a name
 * is called "default". */
static const char *key_cache_of(Arena *arena, const char **given) {
        const char *point = strchr(*given, '.');
        const char *cache = "";

        if (!point)
                return cache;
        cache = arena_strdup_to(arena, *given, point + 1);
        *given = point + 1;
        return strcasecmp(cache, "default.") == 0 ? "" : cache;
}

bool mysql_option_set(Arena *arena, const MysqlOption *option, const MysqlNames *names,
                      Settings *settings) {
        const char *given = option->name, *cache = key_cache_of(arena, &given);
        Prefix prefix;
        const MysqlName *name = find_prefixed(names, given, &prefix);

        if (!name || (given != option->name && !name->of_key_cache))
                return false;
        settings_add(arena, settings, arena_printf(arena, "%s%s", cache, name->name),
                     setting_value(arena, name, switched_value(prefix, option->value)),
                     option->origin);
        return true;
}

Reads mysql_option_reads(const MysqlNames *names, const char *given) {
        const char *point = strchr(given, '.');
        Prefix prefix;
        const MysqlName *name = find_prefixed(names, point ? point + 1 : given, &prefix);

        if (!name)
                name = ARRAY_FIND(each, names->items, names->n,
                                  each->letter && each->letter == given[0] && !given[1]);
        if (!name || (point && !name->of_key_cache))
                return READS_NOT;
        return name->kind == MYSQL_SWITCH ? READS_VALUE : READS_NEXT;
}

/* ---- command lines ---- */

/* "--name", "--name=value"; false for other words. */
static bool read_long(Arena *arena, const char *word, MysqlOption *ret) {
        const char *equals = strchr(word, '=');

        if (!text_starts_with(word, "--") || !word[2])
                return false;
        ret->name = equals ? arena_strdup_to(arena, word + 2, equals)
                           : arena_strdup(arena, word + 2);
        ret->value = equals ? arena_strdup(arena, equals + 1) : NULL;
        return true;
}

static bool read_short(const char *word, const MysqlNames *names, MysqlOption *ret) {
        if (*word != '-')
                return false;
        const MysqlName *name =
                ARRAY_FIND(each, names->items, names->n, each->letter && each->letter == word[1]);

        if (!name)
                return false;
        ret->name = name->name;
        ret->value = word[2] ? word + 2 : NULL;
        return true;
}

static bool takes_value(const MysqlNames *names, const MysqlOption *option) {
        Prefix prefix;
        const MysqlName *name = find_prefixed(names, option->name, &prefix);

        return name && name->kind != MYSQL_SWITCH && !option->value;
}

MysqlOptions mysql_options_of_words(Arena *arena, const char *const *words, size_t n,
                                    const MysqlNames *names, const char *origin) {
        MysqlOptions options = {};

        for (size_t i = 0; i < n; i++) {
                MysqlOption option = {.origin = origin};

                if (text_equals(words[i], "--"))
                        break;
                if (!read_long(arena, words[i], &option) && !read_short(words[i], names, &option))
                        continue;
                if (takes_value(names, &option) && i + 1 < n && *words[i + 1] != '-')
                        option.value = words[++i];
                *vec_push(arena, &options) = option;
        }
        return options;
}
