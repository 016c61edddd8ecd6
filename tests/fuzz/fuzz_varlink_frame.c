/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bytes of a client, which are split into messages, parsed, printed and parsed again. The first byte is the size of the
 * pieces in which the rest arrives, which must not change the messages. */

#include "fuzz/fuzz.h"
#include "ipc/varlink_frame.h"

enum { MESSAGE_MAX = 512, OUTPUT_MAX = 8 * MESSAGE_MAX };

/* An accepted message is the same after it was written and read again. */
static void check_round_trip(const json_t *message, bool is_request) {
        VarlinkWriter writer = varlink_writer_make(OUTPUT_MAX);
        int r = varlink_writer_add(&writer, message);

        require(r == 0);
        size_t length = varlink_writer_unsent(&writer) - 1;
        VarlinkRequest request = {0};
        VarlinkReply reply = {0};

        require(memchr(writer.bytes, '\0', length) == NULL);
        if (is_request)
                r = varlink_request_parse(writer.bytes, length, &request);
        else
                r = varlink_reply_parse(writer.bytes, length, &reply);
        require(r == 0);
        require(json_equal(message, is_request ? request.message : reply.message));
        varlink_request_done(&request);
        varlink_reply_done(&reply);
        varlink_writer_done(&writer);
}

/* Compares with a plain split of DATA at its NULs; *USED is the beginning of the next message. */
static void check_against_data(const char *bytes, size_t length, const uint8_t *data, size_t size,
                               size_t *used) {
        const uint8_t *nul = memchr(data + *used, '\0', size - *used);

        require(nul && (size_t) (nul - data) - *used == length);
        require(length <= MESSAGE_MAX && memcmp(data + *used, bytes, length) == 0);
        *used += length + 1;
}

/* Whether the reader accepts more bytes. */
static bool take_messages(VarlinkReader *reader, const uint8_t *data, size_t size, size_t *used) {
        const char *bytes;
        size_t length;
        int r;

        while ((r = varlink_reader_next(reader, &bytes, &length)) > 0) {
                check_against_data(bytes, length, data, size, used);
                VarlinkRequest request;
                VarlinkReply reply;

                if (varlink_request_parse(bytes, length, &request) == 0) {
                        require(request.method && json_is_object(request.parameters));
                        require(request.more + request.oneway + request.upgrade <= 1);
                        check_round_trip(request.message, true);
                        varlink_request_done(&request);
                }
                if (varlink_reply_parse(bytes, length, &reply) == 0) {
                        require(json_is_object(reply.parameters));
                        check_round_trip(reply.message, false);
                        varlink_reply_done(&reply);
                }
        }
        require(r == 0 || r == -EMSGSIZE);
        return r == 0;
}

FUZZ(arena, data, size) {
        VarlinkReader reader = varlink_reader_make(MESSAGE_MAX);
        size_t piece = size > 0 ? (size_t) data[0] + 1 : 1, used = 0;

        if (size > 0) {
                data++;
                size--;
        }
        for (size_t fed = 0; fed < size && take_messages(&reader, data, size, &used);) {
                char *space;
                size_t n;

                require(varlink_reader_space(&reader, &space, &n) == 0);
                n = MIN(n, piece);
                n = MIN(n, size - fed);
                memcpy(space, data + fed, n);
                varlink_reader_filled(&reader, n);
                fed += n;
        }
        take_messages(&reader, data, size, &used);
        require(reader.buffer.capacity <= MESSAGE_MAX + 1);
        varlink_reader_done(&reader);
}
