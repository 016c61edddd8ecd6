/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>

#include "base/arena.h"
#include "base/text.h"
#include "ipc/varlink_frame.h"
#include "support/story.h"

#include <sys/socket.h>
#include <unistd.h>

static void feed(VarlinkReader *reader, const char *bytes, size_t length) {
        while (length > 0) {
                char *space;
                size_t size;

                assert_int_equal(varlink_reader_space(reader, &space, &size), 0);
                size = MIN(size, length);
                memcpy(space, bytes, size);
                varlink_reader_filled(reader, size);
                bytes += size;
                length -= size;
        }
}

static void assert_next(VarlinkReader *reader, const char *expected) {
        const char *bytes;
        size_t length;

        assert_int_equal(varlink_reader_next(reader, &bytes, &length), 1);
        assert_int_equal(length, strlen(expected));
        assert_memory_equal(bytes, expected, length);
}

static void assert_nothing(VarlinkReader *reader) {
        const char *bytes;
        size_t length;

        assert_int_equal(varlink_reader_next(reader, &bytes, &length), 0);
}

TEST(reader_cuts_messages) {
        static const char stream[] = "{}\0\0{\"a\":1}\0rest";
        VarlinkReader reader = varlink_reader_make(100);

        assert_nothing(&reader);
        feed(&reader, stream, sizeof(stream) - 1);
        assert_next(&reader, "{}");
        assert_next(&reader, "");
        assert_next(&reader, "{\"a\":1}");
        assert_nothing(&reader);
        feed(&reader, "", 1);
        assert_next(&reader, "rest");
        assert_nothing(&reader);
        varlink_reader_trim(&reader);
        assert_null(reader.buffer.bytes);
        feed(&reader, "x", 2);
        assert_next(&reader, "x");
        varlink_reader_done(&reader);
}

TEST(reader_takes_single_bytes) {
        static const char stream[] = "{\"method\":\"a.B\"}\0{}";
        VarlinkReader reader = varlink_reader_make(16);

        for (size_t i = 0; i < sizeof(stream); i++) {
                feed(&reader, stream + i, 1);
                if (i == 16)
                        assert_next(&reader, "{\"method\":\"a.B\"}");
                else if (i == sizeof(stream) - 1)
                        assert_next(&reader, "{}");
                else
                        assert_nothing(&reader);
        }
        varlink_reader_done(&reader);
}

/* The limit is for the message without its NUL; memory never grows beyond it. */
TEST(reader_keeps_its_limit) {
        enum { LIMIT = 70000 };
        char *message = calloc(1, LIMIT + 2);
        const char *bytes;
        size_t length;
        char *space;
        VarlinkReader reader = varlink_reader_make(LIMIT);

        memset(message, 'x', LIMIT);
        feed(&reader, message, LIMIT);
        assert_nothing(&reader);
        feed(&reader, "", 1);
        assert_next(&reader, message);
        assert_nothing(&reader);

        message[LIMIT] = 'x';
        feed(&reader, message, LIMIT + 1);
        for (int i = 0; i < 2; i++)
                assert_int_equal(varlink_reader_next(&reader, &bytes, &length), -EMSGSIZE);
        assert_int_equal(varlink_reader_space(&reader, &space, &length), -EMSGSIZE);
        assert_true(reader.buffer.capacity <= LIMIT + 1);
        varlink_reader_done(&reader);
        free(message);
}

TEST(reader_and_writer_use_sockets) {
        int fds[2];
        VarlinkReader reader = varlink_reader_make(1000);
        VarlinkWriter writer = varlink_writer_make(1000);
        json_t *message = varlink_request_make("a.B", NULL, true);

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(varlink_reader_receive(&reader, fds[0]), -EAGAIN);
        assert_int_equal(varlink_writer_add(&writer, message), 0);
        assert_int_equal(varlink_writer_send(&writer, fds[1]), 0);
        assert_int_equal(varlink_writer_unsent(&writer), 0);
        assert_int_equal(varlink_reader_receive(&reader, fds[0]), 29);
        assert_next(&reader, "{\"method\":\"a.B\",\"more\":true}");
        close(fds[1]);
        assert_int_equal(varlink_reader_receive(&reader, fds[0]), 0);
        assert_int_equal(varlink_writer_add(&writer, message), 0);
        assert_int_equal(varlink_writer_send(&writer, fds[0]), -EPIPE); /* and no signal */
        close(fds[0]);
        json_decref(message);
        varlink_reader_done(&reader);
        varlink_writer_done(&writer);
}

TEST(writer_keeps_its_limit) {
        json_t *message = json_pack("{s:s}", "key", "0123456789"); /* 20 bytes and the NUL */
        VarlinkWriter writer = varlink_writer_make(2 * 21 + 20);
        char expected[] = "{\"key\":\"0123456789\"}\0{\"key\":\"0123456789\"}";

        assert_int_equal(varlink_writer_add(&writer, message), 0);
        assert_int_equal(varlink_writer_add(&writer, message), 0);
        assert_int_equal(varlink_writer_add(&writer, message), -ENOBUFS);
        assert_int_equal(varlink_writer_unsent(&writer), sizeof(expected));
        assert_memory_equal(writer.bytes, expected, sizeof(expected));
        varlink_writer_done(&writer);
        assert_int_equal(varlink_writer_unsent(&writer), 0);
        assert_int_equal(varlink_writer_add(&writer, message), 0);
        varlink_writer_done(&writer);
        json_decref(message);
}

TEST(writer_sends_what_fits) {
        enum { TEXT_BYTES = 900000 };
        int fds[2];
        char *text = calloc(1, TEXT_BYTES + 1);
        VarlinkReader reader = varlink_reader_make(2 * TEXT_BYTES);
        VarlinkWriter writer = varlink_writer_make(2 * TEXT_BYTES);
        VarlinkReply reply;
        const char *bytes;
        size_t length;

        memset(text, 'x', TEXT_BYTES);
        json_t *message = varlink_reply_make(json_pack("{s:s}", "text", text), false);

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(varlink_writer_add(&writer, message), 0);
        assert_int_equal(varlink_writer_send(&writer, fds[0]), -EAGAIN);
        assert_uint_in_range(varlink_writer_unsent(&writer), 1, TEXT_BYTES);
        while (varlink_writer_send(&writer, fds[0]) == -EAGAIN)
                while (varlink_reader_receive(&reader, fds[1]) > 0)
                        ;
        while (varlink_reader_receive(&reader, fds[1]) > 0)
                ;
        assert_int_equal(varlink_reader_next(&reader, &bytes, &length), 1);
        assert_int_equal(varlink_reply_parse(bytes, length, &reply), 0);
        assert_string_equal(json_string_value(json_object_get(reply.parameters, "text")), text);
        varlink_reply_done(&reply);
        varlink_reader_done(&reader);
        varlink_writer_done(&writer);
        json_decref(message);
        close(fds[0]);
        close(fds[1]);
        free(text);
}

static const char *dump(Arena *arena, const json_t *json) {
        char *text = json_dumps(json, JSON_COMPACT);
        const char *copy = arena_strdup(arena, text);

        free(text);
        return copy;
}

/* "METHOD PARAMETERS more" */
PLAIN_VERB(do_request, "request") {
        VarlinkRequest request = {.method = "untouched"};
        const char *text = story_unescape(line->arena, line->rest);
        int r = varlink_request_parse(text, strlen(text), &request);

        if (r < 0) {
                assert_text(request.method, "untouched");
                return strerrorname_np(-r);
        }
        const char *answer =
                arena_printf(line->arena, "%s %s%s%s%s", request.method,
                             dump(line->arena, request.parameters), request.more ? " more" : "",
                             request.oneway ? " oneway" : "", request.upgrade ? " upgrade" : "");

        varlink_request_done(&request);
        return answer;
}

/* "ERROR PARAMETERS continues"; without an error: "ok". */
PLAIN_VERB(do_reply, "reply") {
        VarlinkReply reply;
        const char *text = story_unescape(line->arena, line->rest);
        int r = varlink_reply_parse(text, strlen(text), &reply);

        if (r < 0)
                return strerrorname_np(-r);
        const char *answer = arena_printf(line->arena, "%s %s%s", reply.error ? reply.error : "ok",
                                          dump(line->arena, reply.parameters),
                                          reply.continues ? " continues" : "");

        varlink_reply_done(&reply);
        return answer;
}

STORY_TEST(stories, "unit/ipc/varlink_frame")

/* {"method": ..., "parameters": {"x": [[...]]}} with DEPTH levels in all. */
static int parse_nested(size_t depth, const char *innermost) {
        Arena *arena = arena_new();
        Text text = text_in(arena);
        VarlinkRequest request;
        int r;

        text_add(&text, "{\"method\":\"a.B\",\"parameters\":{\"x\":");
        text_repeat(&text, '[', depth - 2);
        text_add(&text, innermost);
        text_repeat(&text, ']', depth - 2);
        text_add(&text, "}}");
        r = varlink_request_parse(text.string, text.length, &request);
        if (r == 0)
                varlink_request_done(&request);
        arena_free(arena);
        return r;
}

TEST(depth_is_limited) {
        assert_int_equal(parse_nested(100, ""), 0);
        assert_int_equal(parse_nested(60000, ""), -EPROTO);
}

static void assert_made(json_t *message, const char *expected) {
        char *text = json_dumps(message, JSON_COMPACT);

        assert_string_equal(text, expected);
        free(text);
        json_decref(message);
}

TEST(messages_are_made) {
        assert_made(varlink_request_make("a.B", NULL, false), "{\"method\":\"a.B\"}");
        assert_made(varlink_request_make("a.B", json_object(), true),
                    "{\"method\":\"a.B\",\"parameters\":{},\"more\":true}");
        assert_made(varlink_reply_make(NULL, false), "{\"parameters\":{}}");
        assert_made(varlink_reply_make(json_object(), true),
                    "{\"parameters\":{},\"continues\":true}");
        assert_made(varlink_error_make("a.B", NULL), "{\"error\":\"a.B\",\"parameters\":{}}");
        assert_null(varlink_request_make("\xff", json_object(), true));
        assert_null(varlink_error_make("\xff", json_object()));
}
