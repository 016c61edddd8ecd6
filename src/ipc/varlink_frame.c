/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ipc/varlink_frame.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_FIRST_BYTES = 4096 };

static const VarlinkParameter request_keys[] = {
        {"method", VARLINK_STRING},
        {"parameters", VARLINK_OBJECT, .is_nullable = true},
        {"more", VARLINK_BOOL, .is_optional = true},
        {"oneway", VARLINK_BOOL, .is_optional = true},
        {"upgrade", VARLINK_BOOL, .is_optional = true},
        {0},
};

/* ---- the queue of bytes ---- */

static size_t buffer_length(const VarlinkBuffer *buffer) {
        return buffer->end - buffer->start;
}

static void buffer_free(VarlinkBuffer *buffer) {
        free(buffer->bytes);
        *buffer = (VarlinkBuffer){.limit = buffer->limit};
}

/* Moves the content to the front and makes room for MORE bytes behind it. -ENOBUFS over the limit,
 * -ENOMEM. */
static int buffer_reserve(VarlinkBuffer *buffer, size_t more) {
        size_t length = buffer_length(buffer);

        if (buffer->capacity - buffer->end >= more)
                return 0;
        if (more > buffer->limit - length)
                return -ENOBUFS;
        if (buffer->start > 0)
                memmove(buffer->bytes, buffer->bytes + buffer->start, length);
        buffer->start = 0;
        buffer->end = length;
        if (buffer->capacity - length >= more)
                return 0;

        size_t doubled = MAX(buffer->capacity * 2, (size_t) BUFFER_FIRST_BYTES);
        size_t wanted = MAX(length + more, doubled);
        size_t capacity = MIN(wanted, buffer->limit);
        char *bytes = realloc(buffer->bytes, capacity);

        if (!bytes)
                return -ENOMEM;
        buffer->bytes = bytes;
        buffer->capacity = capacity;
        return 0;
}

/* ---- reading ---- */

VarlinkReader varlink_reader_make(size_t message_max) {
        return (VarlinkReader){.buffer.limit = message_max + 1};
}

void varlink_reader_done(VarlinkReader *reader) {
        buffer_free(&reader->buffer);
        reader->scanned = 0;
}

int varlink_reader_space(VarlinkReader *reader, char **ret_bytes, size_t *ret_size) {
        VarlinkBuffer *buffer = &reader->buffer;
        size_t scanned = reader->scanned - buffer->start;
        int r = buffer_reserve(buffer, 1);

        if (r < 0)
                return r == -ENOBUFS ? -EMSGSIZE : r;
        reader->scanned = buffer->start + scanned;
        *ret_bytes = buffer->bytes + buffer->end;
        *ret_size = buffer->capacity - buffer->end;
        return 0;
}

void varlink_reader_filled(VarlinkReader *reader, size_t size) {
        reader->buffer.end += size;
}

ssize_t varlink_reader_receive(VarlinkReader *reader, int fd) {
        char *bytes;
        size_t size;
        ssize_t n;
        int r = varlink_reader_space(reader, &bytes, &size);

        if (r < 0)
                return r;
        n = TEMP_FAILURE_RETRY(recv(fd, bytes, size, MSG_DONTWAIT));
        if (n < 0)
                return -errno;
        varlink_reader_filled(reader, (size_t) n);
        return n;
}

int varlink_reader_next(VarlinkReader *reader, const char **ret_bytes, size_t *ret_length) {
        VarlinkBuffer *buffer = &reader->buffer;
        size_t left = buffer->end - reader->scanned;
        const char *nul = left > 0 ? memchr(buffer->bytes + reader->scanned, '\0', left) : NULL;

        reader->scanned = nul ? (size_t) (nul - buffer->bytes) : buffer->end;
        if (!nul)
                return buffer_length(buffer) < buffer->limit ? 0 : -EMSGSIZE;
        *ret_bytes = buffer->bytes + buffer->start;
        *ret_length = reader->scanned - buffer->start;
        buffer->start = ++reader->scanned;
        return 1;
}

void varlink_reader_trim(VarlinkReader *reader) {
        if (buffer_length(&reader->buffer) == 0)
                varlink_reader_done(reader);
}

/* ---- writing ---- */

VarlinkWriter varlink_writer_make(size_t output_max) {
        return (VarlinkWriter){.limit = output_max};
}

void varlink_writer_done(VarlinkWriter *writer) {
        buffer_free(writer);
}

static int append(VarlinkWriter *writer, const char *bytes, size_t size) {
        int r = buffer_reserve(writer, size);

        if (r < 0)
                return r;
        memcpy(writer->bytes + writer->end, bytes, size);
        writer->end += size;
        return 0;
}

int varlink_writer_add(VarlinkWriter *writer, const json_t *message) {
        char *text = json_dumps(message, JSON_COMPACT);
        int r = text ? append(writer, text, strlen(text) + 1) : -ENOMEM;

        memory_free(text);
        return r;
}

static ssize_t send_some(int fd, const char *bytes, size_t size) {
        return TEMP_FAILURE_RETRY(send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL));
}

int varlink_writer_pass(VarlinkWriter *writer, const char *text, int fd) {
        size_t size = strlen(text) + 1;
        ssize_t n = buffer_length(writer) == 0 ? send_some(fd, text, size) : 0;
        size_t sent = n > 0 ? (size_t) n : 0;

        return sent == size ? 0 : append(writer, text + sent, size - sent);
}

size_t varlink_writer_unsent(const VarlinkWriter *writer) {
        return buffer_length(writer);
}

int varlink_writer_send(VarlinkWriter *writer, int fd) {
        while (buffer_length(writer) > 0) {
                ssize_t n = send_some(fd, writer->bytes + writer->start, buffer_length(writer));

                if (n < 0)
                        return -errno;
                writer->start += (size_t) n;
        }
        varlink_writer_done(writer);
        return 0;
}

/* ---- messages ---- */

json_t *varlink_message_parse(const char *bytes, size_t length, const VarlinkParameter *keys) {
        json_t *message = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, NULL);

        if (json_is_object(message) && !varlink_parameters_find_fault(keys, message) &&
            (json_is_object(json_object_get(message, "parameters")) ||
             json_object_set_new(message, "parameters", json_object()) == 0))
                return message;
        json_decref(message);
        return NULL;
}

int varlink_request_parse(const char *bytes, size_t length, VarlinkRequest *ret) {
        json_t *message = varlink_message_parse(bytes, length, request_keys);

        if (!message)
                return -EPROTO;
        VarlinkRequest request = {
                .message = message,
                .text = strndup(bytes, length),
                .method = json_string_value(json_object_get(message, "method")),
                .parameters = json_object_get(message, "parameters"),
                .more = json_is_true(json_object_get(message, "more")),
                .oneway = json_is_true(json_object_get(message, "oneway")),
                .upgrade = json_is_true(json_object_get(message, "upgrade")),
        };

        if (request.more + request.oneway + request.upgrade > 1) {
                varlink_request_done(&request);
                return -EPROTO;
        }
        *ret = request;
        return 0;
}

void varlink_request_done(VarlinkRequest *request) {
        json_decref(request->message);
        free(request->text);
        *request = (VarlinkRequest){0};
}

json_t *varlink_reply_make(json_t *parameters, bool continues) {
        return json_pack("{so so*}", "parameters", parameters ? parameters : json_object(),
                         "continues", continues ? json_true() : NULL);
}

json_t *varlink_error_make(const char *error, json_t *parameters) {
        return json_pack("{ss so}", "error", error, "parameters",
                         parameters ? parameters : json_object());
}

/* ---- members of an object ---- */

const VarlinkParameter varlink_no_parameters[] = {{0}};

const char *varlink_parameters_find_fault(const VarlinkParameter *parameters, json_t *values) {
        const VarlinkParameter *p;
        const char *name;
        json_t *value;

        for (p = parameters; p->name; p++) {
                value = json_object_get(values, p->name);
                if (value ? !(p->is_nullable && json_is_null(value)) &&
                                    !(1U << json_typeof(value) & p->type)
                          : !p->is_nullable && !p->is_optional)
                        return p->name;
        }
        json_object_foreach(values, name, value) {
                for (p = parameters; p->name && strcmp(p->name, name) != 0; p++)
                        ;
                if (!p->name)
                        return name;
        }
        return NULL;
}
