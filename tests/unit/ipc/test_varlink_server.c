/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A real server on a real socket in this process: whenever its descriptor is readable it is dispatched, as by an
 * event loop. Clients are bare sockets, so that they can misbehave; for the client module there is a thread.
 * varlink_server.stories has what clients send and receive; varlink_users.stories, run by root, has clients of
 * several users. */

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "ipc/varlink_client.h"
#include "ipc/varlink_server.h"
#include "support/story.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
        CALLS_MAX = 1100,
        CLIENTS_MAX = 1000,
        CLIENTS_NAMED_MAX = 64,
        DISPATCHES_MAX = 200000, /* more without a pause is a busy loop */
        OTHER_UID = 65534,
        ANOTHER_UID = 65533,
};

typedef struct Fixture {
        Arena *arena;
        VarlinkServer *server;
        char directory[64];
        const char *path;
        VarlinkCall *kept[CALLS_MAX]; /* by Keep; NULL if closed */
        size_t n_kept, n_closed, n_counted, n_drained;
        size_t n_dispatches;
        int clients[CALLS_MAX]; /* -1: hung up */
        size_t n_clients;
        Text order; /* by Log */
} Fixture;

/* ---- the served interface ---- */

static void handle_echo(VarlinkCall *call, json_t *parameters, void *userdata UNUSED) {
        varlink_call_reply(call, json_incref(parameters));
}

static void handle_log(VarlinkCall *call, json_t *parameters, void *userdata) {
        Fixture *f = userdata;

        text_printf(&f->order, "%s ", json_string_value(json_object_get(parameters, "a")));
        varlink_call_reply(call, json_object());
}

static void handle_count(VarlinkCall *call, json_t *parameters UNUSED, void *userdata) {
        Fixture *f = userdata;

        f->n_counted++;
        varlink_call_reply(call, json_object());
}

static void on_closed(VarlinkCall *call, void *userdata) {
        Fixture *f = userdata;

        f->n_closed++;
        for (size_t i = 0; i < f->n_kept; i++)
                if (f->kept[i] == call)
                        f->kept[i] = NULL;
}

static void on_drained(VarlinkCall *call, void *userdata) {
        Fixture *f = userdata;

        assert_false(varlink_call_is_congested(call));
        f->n_drained++;
}

static void handle_keep(VarlinkCall *call, json_t *parameters UNUSED, void *userdata) {
        Fixture *f = userdata;

        assert_true(f->n_kept < CALLS_MAX);
        f->kept[f->n_kept++] = call;
        varlink_call_set_closed_handler(call, on_closed, f);
        varlink_call_set_drained_handler(call, on_drained, f);
}

static void handle_forget(VarlinkCall *call UNUSED, json_t *parameters UNUSED,
                          void *userdata UNUSED) {
}

static void handle_fail(VarlinkCall *call, json_t *parameters UNUSED, void *userdata UNUSED) {
        varlink_call_error(call, "org.example.Test.Failed", json_pack("{s:i}", "code", 17));
}

static void handle_refuse_name(VarlinkCall *call, json_t *parameters UNUSED,
                               void *userdata UNUSED) {
        varlink_call_error_invalid_parameter(call, "name");
}

static void handle_break(VarlinkCall *call, json_t *parameters UNUSED, void *userdata UNUSED) {
        varlink_call_reply(call, json_pack("{s:s}", "text", "\xff")); /* NULL: not UTF-8 */
}

static void handle_big(VarlinkCall *call, json_t *parameters, void *userdata) {
        Fixture *f = userdata;
        Text text = text_in(f->arena);

        text_repeat(&text, 'x', (size_t) json_integer_value(json_object_get(parameters, "bytes")));
        varlink_call_reply(call, json_pack("{s:s}", "text", text_string(&text)));
}

static void handle_who(VarlinkCall *call, json_t *parameters UNUSED, void *userdata UNUSED) {
        varlink_call_reply(call, json_pack("{s:i, s:b}", "uid", (int) varlink_call_peer_uid(call),
                                           "isParent", varlink_call_peer_pid(call) == getpid()));
}

static int reply_continues(VarlinkCall *call, json_t *parameters) {
        char *text = varlink_text_new(parameters, false);
        int r = varlink_call_reply_text_continues(call, text);

        memory_free(text);
        return r;
}

static void handle_stream(VarlinkCall *call, json_t *parameters UNUSED, void *userdata UNUSED) {
        for (int i = 0; i < 2; i++)
                reply_continues(call, json_pack("{s:i}", "i", i));
        varlink_call_reply(call, json_pack("{s:i}", "i", 2));
}

static const VarlinkParameter typed_parameters[] = {
        {"name", VARLINK_STRING, false},
        {"count", VARLINK_INT, true},
        {"flag", VARLINK_BOOL, true},
        {"share", VARLINK_FLOAT, true},
        {"list", VARLINK_ARRAY, true},
        {"map", VARLINK_OBJECT, true},
        {0},
};

static const VarlinkMethod test_methods[] = {
        {"Echo", handle_echo, 0, NULL},
        {"Count", handle_count, 0, varlink_no_parameters},
        {"Log", handle_log, 0, NULL},
        {"Keep", handle_keep, 0, NULL},
        {"Watch", handle_keep, VARLINK_MORE_ONLY, NULL},
        {"Forget", handle_forget, 0, NULL},
        {"Nothing", NULL, 0, NULL},
        {"Fail", handle_fail, 0, NULL},
        {"RefuseName", handle_refuse_name, 0, NULL},
        {"Break", handle_break, 0, NULL},
        {"Big", handle_big, 0, NULL},
        {"Who", handle_who, 0, NULL},
        {"Stream", handle_stream, 0, NULL},
        {"Secret", handle_count, VARLINK_ROOT_ONLY, NULL},
        {"Typed", handle_echo, 0, typed_parameters},
};

static const VarlinkInterface test_interface = {
        .name = "org.example.Test",
        .description = "interface org.example.Test\nmethod Echo() -> ()\n",
        .methods = test_methods,
        .n_methods = ARRAY_LEN(test_methods),
};

/* ---- the fixture ---- */

static Fixture *fixture_new(void) {
        Fixture *f = calloc(1, sizeof(*f));
        int fd;

        f->arena = arena_new();
        f->order = text_in(f->arena);
        strcpy(f->directory, "/tmp/varlink-test-XXXXXX");
        assert_non_null(mkdtemp(f->directory));
        assert_int_equal(chmod(f->directory, 0711), 0);
        f->path = arena_printf(f->arena, "%s/socket", f->directory);
        f->server = varlink_server_new(&test_interface, f);
        assert_non_null(f->server);
        fd = varlink_bind_socket(f->path);
        assert_true(fd >= 0);
        assert_int_equal(varlink_server_listen_fd(f->server, fd), 0);
        return f;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
        (void) status;
        (void) type;
        (void) walk;
        return remove(path);
}

static uint64_t now_msec(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000 + (uint64_t) now.tv_nsec / 1000000;
}

static bool server_is_ready(const Fixture *f, int timeout_msec) {
        struct pollfd poll_fd = {.fd = varlink_server_fd(f->server), .events = POLLIN};

        return poll(&poll_fd, 1, timeout_msec) > 0;
}

static void dispatch(Fixture *f) {
        assert_int_equal(varlink_server_dispatch(f->server), 0);
        assert_true(++f->n_dispatches < DISPATCHES_MAX);
}

/* Until there is nothing left to do. */
static void pump(Fixture *f) {
        f->n_dispatches = 0;
        while (server_is_ready(f, 0))
                dispatch(f);
}

static void pump_for(Fixture *f, uint64_t msec) {
        uint64_t end = now_msec() + msec;

        f->n_dispatches = 0;
        for (uint64_t now; (now = now_msec()) < end;)
                if (server_is_ready(f, (int) (end - now)))
                        dispatch(f);
        /* Timers that expired while the machine was busy. */
        while (server_is_ready(f, 0))
                dispatch(f);
}

static struct sockaddr_un address_of(const Fixture *f) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", f->path);
        return address;
}

static int open_client(Fixture *f) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_true(fd >= 0);
        assert_true(f->n_clients < ARRAY_LEN(f->clients));
        f->clients[f->n_clients++] = fd;
        return fd;
}

static void hang_up(Fixture *f, int fd) {
        for (size_t i = 0; i < f->n_clients; i++)
                if (f->clients[i] == fd)
                        f->clients[i] = -1;
        close(fd);
}

static void close_all(Fixture *f, const int *fds, size_t n) {
        for (size_t i = 0; i < n; i++)
                hang_up(f, fds[i]);
}

static void connect_to(Fixture *f, int fd) {
        struct sockaddr_un address = address_of(f);

        while (connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0) {
                assert_int_equal(errno, EAGAIN); /* the backlog is full */
                dispatch(f);
        }
}

static int connect_client(Fixture *f) {
        int fd = open_client(f);

        connect_to(f, fd);
        return fd;
}

/* Only root can be another user. */
static int connect_as(Fixture *f, uid_t uid) {
        if (geteuid() != 0)
                skip();
        int fd = open_client(f);

        assert_int_equal(seteuid(uid), 0);
        connect_to(f, fd);
        assert_int_equal(seteuid(0), 0);
        return fd;
}

static void send_bytes(int fd, const char *bytes, size_t size) {
        assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

static void send_message(int fd, const char *message) {
        send_bytes(fd, message, strlen(message) + 1);
}

/* {"method":"org.example.Test.NAME", REST} */
static void call(Fixture *f, int fd, const char *name, const char *rest) {
        send_message(fd,
                     arena_printf(f->arena, "{\"method\":\"org.example.Test.%s\"%s}", name, rest));
}

/* The next message for FD, which must be there already; NULL if the server hung up. */
static const char *receive_message(Fixture *f, int fd) {
        Text text = text_in(f->arena);

        for (;;) {
                char bytes[65536];
                ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_PEEK);

                if (n < 0 && errno == EAGAIN) {
                        assert_true(server_is_ready(f, 0));
                        dispatch(f);
                        continue;
                }
                if (n <= 0)
                        return NULL;
                size_t used = strnlen(bytes, (size_t) n);
                bool is_complete = used < (size_t) n;

                text_add_n(&text, bytes, used);
                assert_int_equal(recv(fd, bytes, used + is_complete, 0), used + is_complete);
                if (is_complete)
                        return text_string(&text);
        }
}

static void assert_receives(Fixture *f, int fd, const char *expected) {
        const char *message = receive_message(f, fd);

        assert_non_null(message);
        assert_string_equal(message, expected);
}

static void assert_hung_up(Fixture *f, int fd) {
        assert_null(receive_message(f, fd));
}

static void assert_silent(Fixture *f, int fd) {
        char byte;

        pump(f);
        assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), -1);
        assert_int_equal(errno, EAGAIN);
}

static void assert_connections(Fixture *f, size_t n) {
        pump(f);
        assert_int_equal(varlink_server_n_connections(f->server), n);
}

/* Every client leaves, and the server notices. */
static void fixture_free(Fixture *f) {
        close_all(f, f->clients, f->n_clients);
        if (f->server)
                assert_connections(f, 0);
        varlink_server_free(f->server);
        nftw(f->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        arena_free(f->arena);
        free(f);
}

#define SERVER_TEST(name) TEST_WITH(name, Fixture, fixture_new, fixture_free, f)

static bool can_open(rlim_t n) {
        struct rlimit files;

        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max < n)
                return false;
        files.rlim_cur = MAX(files.rlim_cur, n);
        return setrlimit(RLIMIT_NOFILE, &files) == 0;
}

/* ---- stories ---- */

typedef struct Story {
        Arena *arena;
        Fixture *f;
        VarlinkClient *client;                /* of the client module; NULL: none */
        const char *names[CLIENTS_NAMED_MAX]; /* of f->clients */
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static void begin_story(void *context) {
        ((Story *) context)->f = fixture_new();
}

static void end_story(void *context) {
        Story *story = context;

        varlink_client_free(story->client);
        fixture_free(story->f);
}

/* The latest client with this name. */
static int client_at(const Story *story, const StoryLine *line, size_t i) {
        for (size_t n = story->f->n_clients; n > 0; n--)
                if (text_equals(story->names[n - 1], line->words[i]))
                        return story->f->clients[n - 1];
        fail_msg("there is no client %s", line->words[i]);
        return -1;
}

VERB(do_connect, "connect connect-another connect-other") {
        Fixture *f = story->f;

        for (size_t i = 1; line->words[i]; i++) {
                assert_true(f->n_clients < CLIENTS_NAMED_MAX);
                story->names[f->n_clients] = line->words[i];
                if (text_equals(line->words[0], "connect"))
                        connect_client(f);
                else
                        connect_as(f, text_equals(line->words[0], "connect-other") ? OTHER_UID
                                                                                   : ANOTHER_UID);
        }
        return NULL;
}

VERB(do_hang_up, "hang-up") {
        for (size_t i = 1; line->words[i]; i++)
                hang_up(story->f, client_at(story, line, i));
        return NULL;
}

VERB(do_shut_down, "shut-down") {
        return story_yes(shutdown(client_at(story, line, 1), SHUT_WR) == 0);
}

/* The text after the client's name; "send-part": without the end. */
VERB(do_send, "send send-part") {
        const char *text = story_text(line, 1);

        send_bytes(client_at(story, line, 1), text,
                   strlen(text) + text_equals(line->words[0], "send"));
        return NULL;
}

/* CLIENT METHOD [PARAMETERS] [more|oneway|upgrade] */
VERB(do_call, "call") {
        Text rest = text_in(line->arena);

        for (size_t i = 3; line->words[i]; i++)
                text_printf(&rest, *line->words[i] == '{' ? ",\"parameters\":%s" : ",\"%s\":true",
                            line->words[i]);
        call(story->f, client_at(story, line, 1), line->words[2], text_string(&rest));
        return NULL;
}

VERB(do_receive, "receive receive-length") {
        const char *message = receive_message(story->f, client_at(story, line, 1));

        if (!message)
                return "(gone)";
        return text_equals(line->words[0], "receive-length") ? story_number(line, strlen(message))
                                                             : message;
}

VERB(do_ask, "ask") {
        do_call(story, line);
        return do_receive(story, line);
}

VERB(do_describe, "describe") {
        send_message(client_at(story, line, 1),
                     arena_printf(line->arena,
                                  "{\"method\":\"org.varlink.service.GetInterfaceDescription\","
                                  "\"parameters\":{\"interface\":\"%s\"}}",
                                  line->words[2]));
        return do_receive(story, line);
}

VERB(do_silent, "silent") {
        for (size_t i = 1; line->words[i]; i++)
                assert_silent(story->f, client_at(story, line, i));
        return NULL;
}

/* Without a dispatch. */
VERB(do_has_byte, "has-byte") {
        char byte;

        return story_yes(recv(client_at(story, line, 1), &byte, 1, MSG_PEEK) == 1);
}

/* Until there is nothing left to do, or for so many milliseconds. */
VERB(do_pump, "pump") {
        if (line->words[1])
                pump_for(story->f, story_number_at(line, 1));
        else
                pump(story->f);
        return NULL;
}

VERB(do_is_ready, "is-ready") {
        return story_yes(server_is_ready(story->f, (int) story_number_at(line, 1)));
}

VERB(do_n, "n") {
        Fixture *f = story->f;
        uint64_t n = f->n_counted;

        if (story_has_word(line, "connections")) {
                pump(f);
                n = varlink_server_n_connections(f->server);
        } else if (!story_has_word(line, "counted"))
                n = story_has_word(line, "kept") ? f->n_kept : f->n_closed;
        return story_number(line, n);
}

/* Operations on the N-th kept call, and questions about it. */
VERB(do_kept, "continue error is-kept keep-place reply wants-more") {
        VarlinkCall *kept = story->f->kept[story_number_at(line, 1)];
        const char *verb = line->words[0], *what = line->words[2];
        int r = 0;

        if (text_equals(verb, "is-kept"))
                return story_yes(kept);
        if (text_equals(verb, "wants-more"))
                return story_yes(varlink_call_wants_more(kept));
        if (text_equals(verb, "keep-place"))
                varlink_call_keep_place(kept);
        else if (text_equals(verb, "error"))
                varlink_call_error(kept, what, NULL);
        else if (text_equals(verb, "reply"))
                varlink_call_reply(kept, what ? json_loads(what, 0, NULL) : NULL);
        else
                r = reply_continues(kept, json_loads(what, 0, NULL));
        return r == 0 ? "ok" : strerrorname_np(-r);
}

VERB(do_end, "end") {
        Fixture *f = story->f;

        f->server = varlink_server_free(f->server);
        return NULL;
}

/* NAME NUMBER...; limits that are not named are the daemon's. */
VERB(do_limit, "limit") {
        VarlinkLimits limits = varlink_limits_default();
        size_t *const counts[] = {&limits.connections, &limits.per_uid, &limits.kept_per_uid,
                                  &limits.subscriptions_per_uid, &limits.lobby};
        uint64_t *const times[] = {&limits.pause_usec, &limits.idle_usec};
        static const char *const names[] = {
                "connections", "per-user", "kept-per-user", "subscriptions",
                "lobby",       "pause-ms", "idle-ms",
        };

        for (size_t k = 1; line->words[k]; k += 2) {
                size_t i = (size_t) text_index(names, ARRAY_LEN(names), line->words[k]);

                if (i < ARRAY_LEN(counts))
                        *counts[i] = (size_t) story_number_at(line, k + 1);
                else
                        *times[i - ARRAY_LEN(counts)] = story_number_at(line, k + 1) *
                                                        USEC_PER_MSEC;
        }
        varlink_server_set_limits(story->f->server, &limits);
        return NULL;
}

VERB(do_order, "order") {
        return text_string(&story->f->order);
}

/* How many calls of Log came before. */
VERB(do_place, "place") {
        const char *order = do_order(story, line), *word;
        uint64_t n = 0;

        while ((word = text_next_word(line->arena, &order, " ")) &&
               !text_equals(word, line->words[1]))
                n++;
        return story_number(line, n);
}

/* Earlier calls of a client that sends this are answered, later ones are not, and no other client notices. */
VERB(do_malformed, "malformed") {
        Fixture *f = story->f;
        int good = connect_client(f), fd = connect_client(f);

        call(f, fd, "Echo", "");
        send_message(fd, story_text(line, 0));
        call(f, fd, "Count", "");
        assert_receives(f, fd, "{\"parameters\":{}}");
        assert_hung_up(f, fd);
        hang_up(f, fd);
        call(f, good, "Echo", "");
        assert_receives(f, good, "{\"parameters\":{}}");
        assert_connections(f, 1);
        hang_up(f, good);
        assert_int_equal(f->n_counted, 0);
        return NULL;
}

/* ---- stories of the client module, which blocks ---- */

/* One operation, in a thread while the server is dispatched here. Assertions are only made in this thread. */
typedef struct ClientOperation {
        Story *story;
        const char *verb, *method;
        json_t *parameters;
        bool more;
        uint64_t timeout_usec;
        atomic_bool is_done;
        int r;
        json_t *reply;
        char *error_name;
} ClientOperation;

enum { CLIENT_TIMEOUT_USEC = 10 * 1000000 };

static void *client_main(void *argument) {
        ClientOperation *o = argument;
        Story *story = o->story;

        if (text_equals(o->verb, "client-connect"))
                o->r = varlink_client_connect(story->f->path, o->timeout_usec, &story->client);
        else if (text_equals(o->verb, "ping"))
                o->r = varlink_ping(story->f->path, o->timeout_usec);
        else if (!text_equals(o->verb, "client-next"))
                o->r = varlink_client_send(story->client, o->method, o->parameters, o->more,
                                           o->timeout_usec);
        if (o->r == 0 && TEXT_IS_ANY(o->verb, "client-call", "client-next"))
                o->r = varlink_client_next(story->client, o->timeout_usec, &o->reply,
                                           &o->error_name);
        atomic_store(&o->is_done, true);
        return NULL;
}

/* "ERROR REPLY, and more"; a long reply is its length. */
static const char *client_result(Arena *arena, const ClientOperation *o) {
        char *dump = o->reply ? json_dumps(o->reply, JSON_COMPACT) : NULL;
        const char *reply = !dump                 ? "ok"
                            : strlen(dump) > 1000 ? arena_printf(arena, "%zu bytes", strlen(dump))
                                                  : arena_strdup(arena, dump);

        free(dump);
        if (o->r < 0) {
                assert_true(!o->reply && !o->error_name);
                return strerrorname_np(-o->r);
        }
        return arena_printf(arena, "%s%s%s%s", o->error_name ? o->error_name : "",
                            o->error_name ? " " : "", reply, o->r > 0 ? ", and more" : "");
}

/* [METHOD] [PARAMETERS] [more] [MILLISECONDS]; "any": no time-out. */
VERB(do_client, "client-connect client-send client-call client-next ping") {
        Fixture *f = story->f;
        ClientOperation o = {.story = story,
                             .verb = line->words[0],
                             .more = story_has_word(line, "more"),
                             .timeout_usec = CLIENT_TIMEOUT_USEC};
        pthread_t id;

        for (size_t i = 1; line->words[i]; i++)
                if (*line->words[i] == '{')
                        o.parameters = json_loads(line->words[i], 0, NULL);
                else if (text_equals(line->words[i], "any"))
                        o.timeout_usec = UINT64_MAX;
                else if (text_is_digit(*line->words[i]))
                        o.timeout_usec = story_number_at(line, i) * USEC_PER_MSEC;
                else if (i == 1)
                        o.method = strchr(line->words[1], '.')
                                           ? line->words[1]
                                           : arena_printf(line->arena, "org.example.Test.%s",
                                                          line->words[1]);
        assert_int_equal(pthread_create(&id, NULL, client_main, &o), 0);
        f->n_dispatches = 0;
        while (!atomic_load(&o.is_done))
                if (server_is_ready(f, 1))
                        dispatch(f);
        pthread_join(id, NULL);
        const char *result = client_result(line->arena, &o);

        json_decref(o.reply);
        free(o.error_name);
        return result;
}

VERB(do_client_free, "client-free") {
        story->client = varlink_client_free(story->client);
        return NULL;
}

/* What the client's call returns if a server sends this, with an end ("foreign"), or without one. */
VERB(do_foreign, "foreign foreign-part foreign-part-and-gone") {
        const char *path = arena_printf(line->arena, "%s/foreign", story->f->directory);
        const char *text = story_text(line, 0);
        bool is_gone = text_ends_with(line->words[0], "gone");
        int listener = varlink_bind_socket(path), fd, r;
        VarlinkClient *client CLEANUP(varlink_client_freep) = NULL;
        json_t *parameters = NULL;
        char *error_name = NULL;

        assert_int_equal(varlink_client_connect(path, CLIENT_TIMEOUT_USEC, &client), 0);
        fd = accept(listener, NULL, NULL);
        assert_true(fd >= 0);
        send_bytes(fd, text, strlen(text) + text_equals(line->words[0], "foreign"));
        if (is_gone)
                close(fd);
        r = varlink_client_send(client, "a.B", NULL, false, 20000);
        if (r == 0)
                r = varlink_client_next(client, 20000, &parameters, &error_name);
        assert_true(!parameters && !error_name);
        assert_int_equal(varlink_client_next(client, 0, &parameters, &error_name),
                         r == -ETIMEDOUT ? r : -ENOTCONN);
        if (!is_gone)
                close(fd);
        close(listener);
        return strerrorname_np(-r);
}

static void tell(const char *path) {
        static const StoryTeller teller = {
                .file = __FILE__, .size = sizeof(Story), .begin = begin_story, .end = end_story};

        story_tell(path, &teller);
}

TEST(stories) {
        tell("unit/ipc/varlink_server");
}

TEST(stories_of_users) {
        if (geteuid() != 0)
                skip();
        assert_true(can_open(4096));
        tell("unit/ipc/varlink_users");
}

/* ---- order and time of answers ---- */

SERVER_TEST(pipelined_calls_are_answered_in_order) {
        int fd = connect_client(f);

        for (int i = 0; i < 100; i++)
                call(f, fd, "Echo", arena_printf(f->arena, ",\"parameters\":{\"i\":%d}", i));
        for (int i = 0; i < 100; i++)
                assert_receives(f, fd, arena_printf(f->arena, "{\"parameters\":{\"i\":%d}}", i));
        assert_silent(f, fd);
}

/* Later messages of a client with a call in progress stay in the kernel's buffer. */
SERVER_TEST(deferred_call_bounds_the_queue) {
        int fd = connect_client(f);
        size_t n = 0;

        call(f, fd, "Keep", "");
        pump(f);
        while (send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
                pump(f);
                n++;
        }
        assert_int_equal(errno, EAGAIN);
        assert_true(n < 4 * MIB);
        assert_int_equal(f->n_closed, 0);
        varlink_call_reply(f->kept[0], json_object());
        assert_receives(f, fd, "{\"parameters\":{}}");
}

/* ---- streams ---- */

/* One text for all subscribers; a call without "more" gets another. A text that could not be made is no answer. */
SERVER_TEST(text_for_many) {
        int fd = connect_client(f), last = connect_client(f), none = connect_client(f);
        char *more = varlink_text_new(json_pack("{s:i}", "i", 1), false),
             *end = varlink_text_new(json_pack("{s:i}", "i", 2), true);

        call(f, fd, "Watch", ",\"more\":true");
        pump(f);
        call(f, last, "Keep", "");
        pump(f);
        call(f, none, "Keep", "");
        pump(f);
        for (int i = 0; i < 2; i++) {
                assert_int_equal(varlink_call_reply_text_continues(f->kept[0], more), 0);
                assert_receives(f, fd, "{\"parameters\":{\"i\":1},\"continues\":true}");
        }
        assert_int_equal(varlink_call_reply_text_continues(f->kept[1], more), -ENOTSUP);
        varlink_call_reply_text(f->kept[0], end);
        varlink_call_reply_text(f->kept[1], end);
        assert_null(varlink_text_new(NULL, true));
        varlink_call_reply_text(f->kept[2], NULL);
        memory_free(more);
        memory_free(end);
        assert_receives(f, fd, "{\"parameters\":{\"i\":2}}");
        assert_receives(f, last, "{\"parameters\":{\"i\":2}}");
        assert_connections(f, 2);
}

static json_t *state_of(Fixture *f, size_t bytes) {
        Text text = text_in(f->arena);

        text_repeat(&text, 'x', bytes);
        return json_pack("{s:s}", "state", text_string(&text));
}

/* A subscriber that reads nothing is closed at the limit, without effect on others. */
SERVER_TEST(subscriber_that_does_not_read) {
        int fd = connect_client(f), other = connect_client(f);
        size_t n = 0;

        call(f, fd, "Watch", ",\"more\":true");
        pump(f);
        for (; f->n_closed == 0; n++) {
                reply_continues(f->kept[0], state_of(f, 10000));
                pump(f);
                assert_true(n < 1000);
        }
        assert_uint_in_range(n * 10000, MIB - 20000, 3 * MIB);
        assert_connections(f, 1);
        call(f, other, "Echo", "");
        assert_receives(f, other, "{\"parameters\":{}}");
}

SERVER_TEST(congested_subscriber_can_be_spared) {
        int fd = connect_client(f);
        size_t n_sent = 0;

        call(f, fd, "Watch", ",\"more\":true");
        pump(f);
        while (!varlink_call_is_congested(f->kept[0])) {
                reply_continues(f->kept[0], state_of(f, 10000));
                n_sent++;
        }
        pump(f);
        assert_int_equal(f->n_drained, 0);
        for (size_t i = 0; i < n_sent; i++)
                assert_non_null(receive_message(f, fd));
        assert_int_equal(f->n_drained, 1);
        assert_silent(f, fd);
        varlink_call_reply(f->kept[0], json_object());
        assert_receives(f, fd, "{\"parameters\":{}}");
}

/* ---- clients that misbehave ---- */

/* A request of SIZE bytes without its NUL. */
static const char *request_of(Fixture *f, size_t size) {
        static const char head[] = "{\"method\":\"org.example.Test.Count\",\"parameters\":{}";
        Text text = text_in(f->arena);

        text_add(&text, head);
        text_repeat(&text, ' ', size - sizeof(head));
        text_add(&text, "}");
        return text_string(&text);
}

SERVER_TEST(message_limit) {
        int fd = connect_client(f);

        send_message(fd, request_of(f, 64 * KIB));
        send_message(fd, request_of(f, 64 * KIB));
        assert_receives(f, fd, "{\"parameters\":{}}");
        assert_receives(f, fd, "{\"parameters\":{}}");
        send_bytes(fd, request_of(f, 64 * KIB + 1), 64 * KIB + 1); /* need not see its end */
        assert_hung_up(f, fd);
        assert_connections(f, 0);
}

SERVER_TEST(sender_of_single_bytes) {
        static const char request[] = "{\"method\":\"org.example.Test.Echo\"}";
        int fd = connect_client(f), other = connect_client(f);

        for (size_t i = 0; i < sizeof(request); i++) {
                assert_silent(f, fd);
                send_bytes(fd, request + i, 1);
                call(f, other, "Echo", "");
                assert_receives(f, other, "{\"parameters\":{}}");
        }
        assert_receives(f, fd, "{\"parameters\":{}}");
}

/* Sends as much as the server takes. Returns the number of whole calls sent. */
static size_t flood(Fixture *f, int fd) {
        static const char request[] = "{\"method\":\"org.example.Test.Echo\"}";
        size_t n = 0;

        while (send(fd, request, sizeof(request), MSG_NOSIGNAL) == (ssize_t) sizeof(request)) {
                n++;
                if (n % 100 == 0)
                        pump(f);
                assert_true(n < 10000000);
        }
        return n;
}

SERVER_TEST(flood_without_reading) {
        int fd = connect_client(f), other = connect_client(f);
        size_t n_sent = 0, n;

        do { /* until nothing more fits, in either direction */
                n = flood(f, fd);
                n_sent += n;
                pump(f);
        } while (n > 0);
        call(f, other, "Echo", "");
        assert_receives(f, other, "{\"parameters\":{}}");
        assert_connections(f, 2);

        /* Once the client reads, all calls are answered. */
        for (n = 0; n < n_sent; n++)
                assert_receives(f, fd, "{\"parameters\":{}}");
        assert_silent(f, fd);
        hang_up(f, fd);
        assert_connections(f, 1);
}

/* The next dispatches serve every client, however much others send. */
SERVER_TEST(flooding_clients_share) {
        enum { FLOODERS = 40 };
        int fds[FLOODERS], fd;

        for (size_t i = 0; i < FLOODERS; i++) {
                fds[i] = connect_client(f);
                for (int n = 0; n < 200; n++)
                        call(f, fds[i], "Echo", "");
        }
        f->n_dispatches = 0;
        while (varlink_server_n_connections(f->server) < FLOODERS)
                dispatch(f);
        fd = connect_client(f);
        call(f, fd, "Echo", "");
        f->n_dispatches = 0;
        assert_receives(f, fd, "{\"parameters\":{}}");
        assert_true(f->n_dispatches <= 2 * (FLOODERS / 16 + 2));
        for (size_t i = 0; i < FLOODERS; i++)
                for (int n = 0; n < 200; n++)
                        assert_receives(f, fds[i], "{\"parameters\":{}}");
        for (size_t i = 0; i < FLOODERS; i++)
                hang_up(f, fds[i]);
}

/* ---- limits ---- */

SERVER_TEST(silent_connections) {
        VarlinkLimits limits = varlink_limits_default();
        struct rlimit limit;
        int fd;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        if (limit.rlim_max < 2 * CLIENTS_MAX + 100)
                skip();
        limits.connections = limits.per_uid = CLIENTS_MAX + 1;
        varlink_server_set_limits(f->server, &limits);
        for (size_t i = 0; i < CLIENTS_MAX; i++)
                connect_client(f);
        assert_connections(f, CLIENTS_MAX);
        assert_false(server_is_ready(f, 20)); /* silent clients cause no work */
        fd = connect_client(f);
        call(f, fd, "Echo", "");
        f->n_dispatches = 0;
        assert_receives(f, fd, "{\"parameters\":{}}");
        assert_true(f->n_dispatches <= 2);
}

/* Less is kept for other users. */
SERVER_TEST(message_limit_of_others) {
        Text text = text_in(f->arena);
        int fd, root;

        text_repeat(&text, 'x', 5000);
        root = connect_client(f);
        call(f, root, "Echo",
             arena_printf(f->arena, ",\"parameters\":{\"a\":\"%s\"}", text_string(&text)));
        assert_non_null(receive_message(f, root));
        fd = connect_as(f, OTHER_UID);
        call(f, fd, "Echo",
             arena_printf(f->arena, ",\"parameters\":{\"a\":\"%s\"}", text_string(&text)));
        pump(f);
        assert_hung_up(f, fd);
}

SERVER_TEST(no_descriptors_to_accept_with) {
        struct rlimit before, now;
        int fd = open_client(f), lowest;

        lowest = dup(fd);
        close(lowest);
        getrlimit(RLIMIT_NOFILE, &before);
        now = before;
        now.rlim_cur = (rlim_t) lowest;
        setrlimit(RLIMIT_NOFILE, &now);
        connect_to(f, fd);
        call(f, fd, "Echo", "");
        pump(f); /* fails in a busy loop */
        bool is_quiet = !server_is_ready(f, 5);

        pump_for(f, 1500);
        size_t n_retries = f->n_dispatches;

        setrlimit(RLIMIT_NOFILE, &before);
        assert_true(is_quiet);
        assert_uint_in_range(n_retries, 1, 20);
        pump_for(f, 1500);
        assert_receives(f, fd, "{\"parameters\":{}}");
}

/* ---- sockets ---- */

static mode_t mode_of(const char *path) {
        struct stat status;

        assert_int_equal(lstat(path, &status), 0);
        return status.st_mode & 07777;
}

SERVER_TEST(bind) {
        const char *path = arena_printf(f->arena, "%s/bound", f->directory);
        const char *file = arena_printf(f->arena, "%s/file", f->directory);
        mode_t umask_before = umask(077);
        int fd = varlink_bind_socket(path);

        assert_true(fd >= 0);
        assert_int_equal(mode_of(path), 0666);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(varlink_bind_socket(path), -EADDRINUSE); /* alive */
        assert_int_equal(mode_of(path), 0666);
        close(fd);
        umask(0);
        fd = varlink_bind_socket(path); /* left behind */
        assert_true(fd >= 0);
        assert_int_equal(mode_of(path), 0666);
        close(fd);
        umask(umask_before);

        close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        assert_int_equal(varlink_bind_socket(file), -EADDRINUSE);
        assert_int_equal(mode_of(file), 0600);
        assert_int_equal(varlink_bind_socket("relative"), -EINVAL);
        assert_int_equal(varlink_bind_socket(""), -EINVAL);
        assert_int_equal(varlink_bind_socket("/tmp/"), -EINVAL);
        assert_int_equal(varlink_bind_socket("/nonexistent/socket"), -ENOENT);
}

SERVER_TEST(listen_fd_takes_listening_sockets_only) {
        int fds[2], datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        assert_int_equal(varlink_server_listen_fd(f->server, fds[0]), -ENOTSOCK);
        close(fds[0]);
        close(fds[1]);
        assert_int_equal(varlink_server_listen_fd(f->server, fds[0]), -EBADF);
        assert_int_equal(varlink_server_listen_fd(f->server, datagram), -EINVAL);
        close(datagram);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(varlink_server_listen_fd(f->server, fds[0]), -EINVAL);
        close(fds[0]);
        close(fds[1]);
}

/* ---- the client without a server that answers ---- */

SERVER_TEST(a_path_too_long_for_an_address) {
        char path[sizeof(((struct sockaddr_un *) NULL)->sun_path) + 1] = "/";
        VarlinkClient *client;

        memset(path + 1, 'x', sizeof(path) - 2);
        assert_int_equal(varlink_bind_socket(path), -ENAMETOOLONG);
        assert_int_equal(varlink_client_connect(path, 0, &client), -ENAMETOOLONG);
}

SERVER_TEST(client_without_server) {
        const char *path = arena_printf(f->arena, "%s/dead", f->directory);
        VarlinkClient *client = NULL;
        int fd = varlink_bind_socket(path);

        close(fd);
        assert_int_equal(varlink_ping(path, UINT64_MAX), -ECONNREFUSED);
        assert_int_equal(varlink_ping("/nonexistent", UINT64_MAX), -ENOENT);
        assert_int_equal(varlink_client_connect(path, UINT64_MAX, &client), -ECONNREFUSED);
        assert_int_equal(varlink_client_connect("/nonexistent", UINT64_MAX, &client), -ENOENT);
        assert_int_equal(varlink_client_connect("", UINT64_MAX, &client), -ENOENT);
        assert_null(client);
        assert_null(varlink_client_free(client));
}

/* A listening socket without a server: systemd's, for a stopped service. */
SERVER_TEST(ping_of_a_silent_server) {
        const char *path = arena_printf(f->arena, "%s/silent", f->directory);
        int listener = varlink_bind_socket(path);
        uint64_t start = now_msec();

        assert_int_equal(varlink_ping(path, 100000), -ETIMEDOUT);
        assert_uint_in_range(now_msec() - start, 90, 5000);
        close(listener);
}

/* A server that does not accept: the backlog fills up, and connect(2) gives up in time. */
SERVER_TEST(client_of_a_stuck_server) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int listener = open_client(f), waiting[2];
        VarlinkClient *client = NULL;
        uint64_t start;

        snprintf(address.sun_path, sizeof(address.sun_path), "%s/stuck", f->directory);
        assert_int_equal(bind(listener, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(listen(listener, 0), 0);
        for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
                waiting[i] = open_client(f);
                connect(waiting[i], (struct sockaddr *) &address, sizeof(address));
        }
        start = now_msec();
        assert_int_equal(varlink_client_connect(address.sun_path, 100000, &client), -ETIMEDOUT);
        assert_uint_in_range(now_msec() - start, 90, 5000);
}
