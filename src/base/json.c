/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/json.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

typedef struct Writer {
        json_dump_callback_t add;
        void *data;
        bool has_failed;
        size_t n;
        char bytes[1024];
} Writer;

static void flush(Writer *writer) {
        if (writer->n > 0 && !writer->has_failed)
                writer->has_failed = writer->add(writer->bytes, writer->n, writer->data) != 0;
        writer->n = 0;
}

static void put_n(Writer *writer, const char *bytes, size_t n) {
        while (n > 0) {
                size_t part = MIN(n, sizeof(writer->bytes) - writer->n);

                memcpy(writer->bytes + writer->n, bytes, part);
                writer->n += part;
                bytes += part;
                n -= part;
                if (writer->n == sizeof(writer->bytes))
                        flush(writer);
        }
}

/* UTF-8, as jansson has made sure; RFC 8259, section 7. */
static void put_string(Writer *writer, const char *string, size_t length) {
        static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";
        const char *end = string + length;

        put_n(writer, "\"", 1);
        while (string < end) {
                const char *plain = string;
                char escape[8];

                while (string < end && (unsigned char) *string >= ' ' && *string != '"' &&
                       *string != '\\')
                        string++;
                put_n(writer, plain, (size_t) (string - plain));
                if (string == end)
                        break;
                const char *known = *string ? strchr(letters, *string) : NULL;
                int n = known ? snprintf(escape, sizeof(escape), "\\%c", known[1])
                              : snprintf(escape, sizeof(escape), "\\u%04X", *string);

                put_n(writer, escape, (size_t) n);
                string++;
        }
        put_n(writer, "\"", 1);
}

static void put_value(Writer *writer, const json_t *json);

static void put_object(Writer *writer, json_t *json) {
        bool is_first = true;

        put_n(writer, "{", 1);
        for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at)) {
                const char *key = json_object_iter_key(at);

                put_n(writer, ",", !is_first);
                put_string(writer, key, strlen(key));
                put_n(writer, ":", 1);
                put_value(writer, json_object_iter_value(at));
                is_first = false;
        }
        put_n(writer, "}", 1);
}

static void put_array(Writer *writer, const json_t *json) {
        put_n(writer, "[", 1);
        for (size_t i = 0; i < json_array_size(json); i++) {
                put_n(writer, ",", i > 0);
                put_value(writer, json_array_get(json, i));
        }
        put_n(writer, "]", 1);
}

static void put_integer(Writer *writer, json_int_t number) {
        char digits[24], *at = digits + sizeof(digits);
        uint64_t left = number < 0 ? -(uint64_t) number : (uint64_t) number;

        do
                *--at = (char) ('0' + left % 10);
        while (left /= 10);
        if (number < 0)
                *--at = '-';
        put_n(writer, at, (size_t) (digits + sizeof(digits) - at));
}

static void put_value(Writer *writer, const json_t *json) {
        if (json_is_object(json)) {
                put_object(writer, (json_t *) json);
        } else if (json_is_array(json)) {
                put_array(writer, json);
        } else if (json_is_string(json)) {
                put_string(writer, json_string_value(json), json_string_length(json));
        } else if (json_is_integer(json)) {
                put_integer(writer, json_integer_value(json));
        } else if (!json_is_real(json)) {
                const char *word = json_is_true(json)    ? "true"
                                   : json_is_false(json) ? "false"
                                                         : "null";

                put_n(writer, word, strlen(word));
        } else {
                char *text = json_dumps(json, JSON_ENCODE_ANY);

                writer->has_failed = writer->has_failed || !text;
                put_n(writer, text, text ? strlen(text) : 0);
                memory_free(text);
        }
}

int json_write(const json_t *json, json_dump_callback_t add, void *data) {
        Writer writer = {.add = add, .data = data};

        put_value(&writer, json);
        flush(&writer);
        return writer.has_failed ? -1 : 0;
}
