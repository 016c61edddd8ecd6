/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Varlink messages on a byte stream: one JSON object and one NUL byte each.
 *
 * https://varlink.org/Method-Call. Stricter than the text of the protocol, as sd-varlink is: unknown
 * or repeated keys, wrong types and contradicting flags are refused, never ignored, and so is nesting
 * that is too deep for jansson (JSON_PARSER_MAX_DEPTH). All sizes are bytes. Nothing here blocks, and
 * nothing grows beyond the limit it was made with. */

#include "base/macros.h"

#include <jansson.h>

/* ---- the members of a JSON object that are taken, and no others: parameters of a method, keys of a message ---- */

/* Sets of jansson's types. */
typedef enum VarlinkType {
        VARLINK_BOOL = 1 << JSON_TRUE | 1 << JSON_FALSE,
        VARLINK_INT = 1 << JSON_INTEGER,
        VARLINK_FLOAT = 1 << JSON_REAL | 1 << JSON_INTEGER,
        VARLINK_STRING = 1 << JSON_STRING,
        VARLINK_ARRAY = 1 << JSON_ARRAY,
        VARLINK_OBJECT = 1 << JSON_OBJECT,
} VarlinkType;

typedef struct VarlinkParameter {
        const char *name; /* NULL ends a list of them */
        VarlinkType type;
        bool is_nullable; /* may be null or left out */
        bool is_optional; /* may be left out */
} VarlinkParameter;

/* For methods that take none. */
extern const VarlinkParameter varlink_no_parameters[];

/* The name of the first of VALUES, an object, that is not as PARAMETERS have it; NULL: there is none. */
const char *varlink_parameters_find_fault(const VarlinkParameter *parameters, json_t *values);

/* ---- bytes and messages ---- */

/* A bounded queue of bytes. */
typedef struct VarlinkBuffer {
        char *bytes;
        size_t capacity;
        size_t start, end; /* the bytes in the queue are [start, end) */
        size_t limit;      /* capacity never exceeds it */
} VarlinkBuffer;

/* Cuts what arrives into messages. */
typedef struct VarlinkReader {
        VarlinkBuffer buffer;
        size_t scanned; /* no NUL in [start, scanned): every byte is looked at once */
} VarlinkReader;

/* Keeps what is still to be sent. */
typedef VarlinkBuffer VarlinkWriter;

/* {"method": ..., "parameters": ..., "more" | "oneway" | "upgrade": true} */
typedef struct VarlinkRequest {
        json_t *message; /* owns what the others point to */
        char *text;      /* the bytes that it was parsed from */
        const char *method;
        json_t *parameters; /* an object; an empty one when they were left out or null */
        bool more, oneway, upgrade;
} VarlinkRequest;

/* {"parameters": ..., "continues": true} or {"error": ..., "parameters": ...} */
typedef struct VarlinkReply {
        json_t *message;    /* owns what the others point to */
        const char *error;  /* NULL: no error */
        json_t *parameters; /* as above */
        bool continues;
} VarlinkReply;

/* Reading. A message may have MESSAGE_MAX bytes, its NUL not counted. */
VarlinkReader varlink_reader_make(size_t message_max);
void varlink_reader_done(VarlinkReader *reader);

/* Room for at least one more byte; then tell how many were put there. -ENOMEM; -EMSGSIZE when the
 * message at hand is over the limit. */
int varlink_reader_space(VarlinkReader *reader, char **ret_bytes, size_t *ret_size);
void varlink_reader_filled(VarlinkReader *reader, size_t size);

/* One recv(2) that does not wait. The number of bytes, 0 at the end of the stream, -EAGAIN, or
 * another negative errno of recv(2) or varlink_reader_space(). */
ssize_t varlink_reader_receive(VarlinkReader *reader, int fd);

/* 1 and the next message without its NUL, valid until more is read; 0 when it is not complete yet;
 * -EMSGSIZE when it is over the limit, from then on for ever. */
int varlink_reader_next(VarlinkReader *reader, const char **ret_bytes, size_t *ret_length);

/* Gives the memory back when nothing is held. */
void varlink_reader_trim(VarlinkReader *reader);

/* Writing. At most OUTPUT_MAX unsent bytes are kept. */
VarlinkWriter varlink_writer_make(size_t output_max);

/* Appends MESSAGE (borrowed) and its NUL: whole, or not at all. -ENOBUFS when the limit would be
 * exceeded; -ENOMEM. */
int varlink_writer_add(VarlinkWriter *writer, const json_t *message);

/* Sends the message TEXT after what is unsent in WRITER. Only what does not fit without waiting is copied, to WRITER.
 * Errors as above; those of send(2) are those of the next varlink_writer_send(). */
int varlink_writer_pass(VarlinkWriter *writer, const char *text, int fd);

size_t varlink_writer_unsent(const VarlinkWriter *writer);

/* Sends what fits without waiting. 0 when all is sent, -EAGAIN when something is left, or another
 * negative errno of send(2). Raises no SIGPIPE. */
int varlink_writer_send(VarlinkWriter *writer, int fd);

/* Drops what is unsent and gives the memory back; the writer can be used again. */
void varlink_writer_done(VarlinkWriter *writer);

/* The object of BYTES with these KEYS only and with "parameters" present, or NULL. */
json_t *varlink_message_parse(const char *bytes, size_t length, const VarlinkParameter *keys);

/* Messages. -EPROTO for what is none; *ret is then untouched. Free with ..._done(). */
int varlink_request_parse(const char *bytes, size_t length, VarlinkRequest *ret);
void varlink_request_done(VarlinkRequest *request);

/* A reply as a new message, and an error; steal PARAMETERS, which may be NULL. NULL when out of memory. */
json_t *varlink_reply_make(json_t *parameters, bool continues);
json_t *varlink_error_make(const char *error, json_t *parameters);

/* Likewise what a client reads and makes (varlink_client.c). NULL also when METHOD is not UTF-8. */
int varlink_reply_parse(const char *bytes, size_t length, VarlinkReply *ret);
void varlink_reply_done(VarlinkReply *reply);
json_t *varlink_request_make(const char *method, json_t *parameters, bool more);
