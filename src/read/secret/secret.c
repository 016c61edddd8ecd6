/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/secret/secret.h"

#include "base/size.h"
#include "model/names.h"

#include <string.h>

typedef struct Masker {
        Text out;
        size_t n_masked;
        bool keeps_length;   /* the text is binary: its offsets count */
        bool has_comments;   /* "#" begins one */
        bool is_mysql;       /* -pSECRET is a password */
        bool continues;      /* the line before ended in a backslash, and its value was left out */
        size_t below_indent; /* lines further in belong to a key whose value was left out; 0: none */
} Masker;

/* Anywhere in a name, of any case. */
static const char *const secret_words[] = {
        "pass",        "pwd",        "secret",  "token",      "credential",
        "conninfo",    "apikey",     "api_key", "api-key",    "accesskey",
        "access_key",  "auth",       "cookie",  "privatekey", "private_key",
        "private-key", "identified", "dsn",     "signature",
};

/* Those behind which any number of words belong to the value. */
static const char *const long_words[] = {"identified", "conninfo", "dsn", "cookie"};

/* Whose arguments tell of a database. */
static const char databases[] =
        "postgres postmaster edb-postgres mysqld mariadbd mysqld_safe mariadbd-safe java oracle mongod "
        "redis-server valkey-server memcached clickhouse-server sqlservr patroni";

static void emit(Masker *masker, const char *from, const char *to) {
        text_add_n(&masker->out, from, (size_t) (to - from));
}

static void mask(Masker *masker, const char *from, const char *to) {
        if (from == to)
                return;
        if (masker->keeps_length)
                text_repeat(&masker->out, 'x', (size_t) (to - from));
        else
                text_add(&masker->out, SECRET_MASK);
        masker->n_masked++;
}

/* ---- finding names ---- */

static bool is_name_byte(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               strchr("_-.", c);
}

typedef struct Name {
        const char *begin, *end;
        bool is_long;
} Name;

static bool contains(const char *begin, const char *end, const char *word) {
        const char *found = strcasestr(begin, word);

        return found && found + strlen(word) <= end;
}

/* "AWS_KEY=..."; a key of a keyboard or a primary one has nothing behind it that is given to it. Nor is
 * "valkey/valkey:8" one. */
static bool is_key_of_something(const char *begin, const char *end) {
        size_t length = (size_t) (end - begin);

        return length >= 3 && strncasecmp(end - 3, "key", 3) == 0 && (*end == '=' || *end == ':') &&
               !(length >= 6 && strncasecmp(end - 6, "valkey", 6) == 0);
}

/* The next name from AT on that speaks of a secret. */
static bool find_name(const char *at, Name *ret) {
        while (*at) {
                const char *begin = at;

                while (*at && is_name_byte(*at))
                        at++;
                *ret = (Name){begin, at, false};
                for (size_t i = 0; i < ARRAY_LEN(long_words); i++)
                        ret->is_long = ret->is_long || contains(begin, at, long_words[i]);
                for (size_t i = 0; i < ARRAY_LEN(secret_words); i++)
                        if (contains(begin, at, secret_words[i]))
                                return true;
                if (is_key_of_something(begin, at))
                        return true;
                at += *at && at == begin ? 1 : 0;
        }
        return false;
}

/* The quote in which AT stands; '\0': in none. */
static char quote_at(const char *line, const char *at) {
        char quote = '\0';

        for (const char *c = line; c < at; c++)
                if (*c == '\\' && c + 1 < at)
                        c++;
                else if (quote ? *c == quote : *c == '"' || *c == '\'')
                        quote = quote ? '\0' : *c;
        return quote;
}

/* The end of what stands in quotes. */
static const char *find_quote(const char *at, char quote) {
        while (*at && *at != quote)
                at += *at == '\\' && at[1] ? 2 : 1;
        return at;
}

/* ---- one line ---- */

/* In what speaks of no secret by name: "//user:secret@host", and "-psecret" of MariaDB's and MySQL's programs. */
static void emit_plain(Masker *masker, const char *from, const char *to) {
        static const char white[] = " \t\"'";

        for (const char *at = from; at < to; at++) {
                bool is_word = at == from || strchr(white, at[-1]);
                size_t length = strcspn(at, white);
                const char *end = at + MIN(length, (size_t) (to - at));
                const char *sign = memrchr(at, '@', (size_t) (end - at));
                const char *colon = memchr(at, ':', (size_t) (end - at));

                if (masker->is_mysql && is_word && at[0] == '-' && at[1] == 'p' && end > at + 2) {
                        emit(masker, from, at + 2);
                        mask(masker, at + 2, end);
                } else if (text_starts_with(at, "//") && sign &&
                           (colon = memchr(at, ':', (size_t) (sign - at)))) {
                        emit(masker, from, colon + 1);
                        mask(masker, colon + 1, sign);
                        end = sign;
                } else {
                        continue;
                }
                from = end;
                at = end - 1;
        }
        emit(masker, from, to);
}

/* Where the value ends that begins at VALUE. */
static const char *value_end(const char *value, const Name *name, char quote, bool is_key) {
        if (name->is_long || is_key || strchr("{[", *value))
                return value + strlen(value);
        bool is_option = *name->begin == '-'; /* in quotes or not, another word may follow */
        const char *outer = quote ? find_quote(value, quote) : value + strlen(value);
        const char *end = value + strcspn(value, " \t");

        if (quote && !is_option)
                return outer;
        if (strchr("\"'", *value) && value < outer) {
                end = find_quote(value + 1, *value);
                end += *end != '\0';
        }
        return MIN(end, outer);
}

static void mask_names(Masker *masker, const char *line) {
        const char *at = line;
        Name name;

        while (find_name(at, &name)) {
                bool is_key = strspn(line, " \t\"'{,*.$@-") >= (size_t) (name.begin - line);
                char quote = quote_at(line, name.begin);
                const char *value = name.end;

                if (quote && *value == quote) { /* "name": value */
                        value++;
                        quote = '\0';
                }
                value += strspn(value, " \t");
                value += *value == '=' || *value == ':';
                value += strspn(value, " \t");
                const char *end = value_end(value, &name, quote, is_key);

                emit_plain(masker, at, value);
                mask(masker, value, end);
                if (is_key) {
                        masker->below_indent = strspn(line, " \t") + 1;
                        masker->continues = text_ends_with(line, "\\");
                }
                at = end;
        }
        emit_plain(masker, at, at + strlen(at));
}

/* LINE without its comment. */
static char *without_comment(Arena *arena, const char *line) {
        const char *at = line + strspn(line, " \t");

        if (*at == '#' || *at == ';' || text_starts_with(at, "-- ") || text_starts_with(at, "//"))
                return arena_strdup_to(arena, line, at + 1);
        for (; (at = strchr(at, '#')); at++)
                if (strchr(" \t", at[-1]) && !quote_at(line, at))
                        return arena_strdup_to(arena, line, at);
        return arena_strdup(arena, line);
}

static void mask_line(Masker *masker, const char *line, bool is_first) {
        size_t indent = strspn(line, " \t");
        bool was_continued = masker->continues;

        if (masker->has_comments && !(is_first && text_starts_with(line, "#!")))
                line = without_comment(masker->out.arena, line);
        masker->continues = false;
        masker->is_mysql = strstr(line, "mysql") || strstr(line, "maria");
        if (was_continued ||
            (masker->below_indent > 0 && indent >= masker->below_indent && line[indent])) {
                masker->continues = text_ends_with(line, "\\");
                emit(masker, line, line + indent);
                mask(masker, line + indent, line + strlen(line));
                return;
        }
        masker->below_indent = line[indent] ? 0 : masker->below_indent;
        mask_names(masker, line);
}

/* Lines, and in binary texts what NULs part. */
static void mask_lines(Masker *masker, const char *bytes, size_t size) {
        bool is_key = false; /* -----BEGIN ... PRIVATE KEY----- */

        for (const char *at = bytes, *end = bytes + size; at < end;) {
                const char *stop = at;

                while (stop < end && *stop && *stop != '\n')
                        stop++;
                CLEANUP(arena_freep) Arena *scratch = arena_new();
                const char *line = arena_strdup_to(scratch, at, stop);

                is_key = is_key || strstr(line, "-----BEGIN");
                if (is_key)
                        mask(masker, at, stop);
                else
                        mask_line(masker, line, at == bytes);
                is_key = is_key && !strstr(line, "-----END");
                if (stop < end)
                        text_add_n(&masker->out, stop, 1);
                at = stop + 1;
        }
}

/* ---- what is no text of lines ---- */

/* "/usr/lib/jvm/bin/java", "postgres:", "/usr/bin/python3 /usr/bin/patroni". */
static bool is_database(Arena *arena, const char *bytes, size_t size) {
        const char *second = bytes + MIN(strlen(bytes) + 1, size);
        const char *const words[] = {bytes, second};

        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
                const char *name = text_base_name(words[i]);

                if (text_has_word(databases, arena_strndup(arena, name, strcspn(name, ": "))))
                        return true;
        }
        return text_starts_with(bytes, "ora_");
}

/* /proc/PID/cmdline: words that NULs end. What is named by one word may be the next. */
static void mask_arguments(Masker *masker, const char *bytes, size_t size) {
        bool is_value = false, keeps = is_database(masker->out.arena, bytes, size);

        for (size_t at = 0; at < size && (at == 0 || keeps); at += strlen(bytes + at) + 1) {
                const char *word = bytes + at;
                size_t length = strlen(word);
                Name name;

                masker->is_mysql = true;
                if (is_value)
                        mask(masker, word, word + length);
                else
                        mask_names(masker, word);
                is_value = at > 0 && !is_value && find_name(word, &name) && *name.end == '\0';
                text_add_n(&masker->out, "", 1);
        }
        masker->n_masked += !keeps && size > strlen(bytes) + 1;
}

/* passwd(5), group(5): the fields with these numbers, from 0. */
static void mask_accounts(Masker *masker, const char *bytes, size_t size, unsigned hidden) {
        unsigned field = 0;

        for (size_t i = 0; i < size; i++) {
                field = bytes[i] == '\n' ? 0 : field + (bytes[i] == ':');
                if (bytes[i] == ':' || bytes[i] == '\n' || !(hidden & 1U << field))
                        text_add_n(&masker->out, &bytes[i], 1);
                if (bytes[i] == ':' && field == 1)
                        text_add(&masker->out, "x");
        }
}

/* Of crontab(5) the lines for the start of the host. */
static void mask_cron(Masker *masker, const char *bytes, size_t size) {
        masker->has_comments = true;
        for (const char *at = bytes, *end = bytes + size; at < end;) {
                const char *newline = memchr(at, '\n', (size_t) (end - at));
                const char *stop = newline ? newline : end;
                char *line = arena_strdup_to(masker->out.arena, at, stop);

                if (text_starts_with(line + strspn(line, " \t"), "@reboot"))
                        mask_line(masker, line, false);
                else
                        masker->n_masked += line[strspn(line, " \t")] != '\0';
                if (newline)
                        text_add(&masker->out, "\n");
                at = stop + 1;
        }
}

static bool is_kernels(const char *path) {
        return text_starts_with(path, PATH_PROC "/") || text_starts_with(path, PATH_SYS "/");
}

MaskedText secret_mask(Arena *arena, const char *path, const char *bytes, size_t size) {
        Masker masker = {.out = text_in(arena),
                         .keeps_length = size > 0 && memchr(bytes, '\0', size)};

        if (text_starts_with(path, PATH_PROC "/") && text_ends_with(path, "/cmdline") &&
            !text_equals(path, PATH_CMDLINE)) {
                masker.keeps_length = false;
                mask_arguments(&masker, bytes, size);
        } else if (is_kernels(path) && !text_equals(path, PATH_CMDLINE)) {
                return (MaskedText){bytes, size, 0};
        } else if (text_ends_with(path, "/passwd")) {
                mask_accounts(&masker, bytes, size, 1U << 1 | 1U << 4);
        } else if (text_ends_with(path, "/group")) {
                mask_accounts(&masker, bytes, size, 1U << 1);
        } else if (strstr(path, "/cron")) {
                mask_cron(&masker, bytes, size);
        } else {
                /* Ours are told of where they have mistakes. */
                masker.has_comments = !masker.keeps_length && !text_equals(path, PATH_CMDLINE) &&
                                      !strstr(path, "/" NAME_CONFIG_DIR "/");
                mask_lines(&masker, bytes, size);
        }
        return (MaskedText){text_string(&masker.out), masker.out.length, masker.n_masked};
}
