/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Clients of the real server, over real sockets. An input is a list of actions, each of which begins with a byte:
 *
 *   '0' to '3'   the client sends the bytes up to the next NUL, and the NUL
 *   'a' to 'd'   the client sends them without the NUL, so that the message is incomplete
 *   'A' to 'D'   the client closes its connection
 *   'E' to 'H'   the client shuts down its sending side
 *   'k' 'm' 'f'  the oldest kept call gets a reply, one of several replies, or an error
 *
 * Conditions: the server never fails, its replies are Varlink, a kept call ends once, and after all clients have left
 * no connection is left. */

#include "base/memory.h"
#include "base/size.h"
#include "fuzz/fuzz.h"
#include "ipc/varlink_frame.h"
#include "ipc/varlink_server.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLIENTS = 4, KEPT_MAX = 64, ACTIONS_MAX = 256, DISPATCHES_MAX = 10000 };

typedef struct Client {
        int fd; /* -1: not connected */
        VarlinkReader reader;
} Client;

typedef struct Stage {
        VarlinkServer *server;
        Client clients[CLIENTS];
        VarlinkCall *kept[KEPT_MAX];
        size_t n_kept;
} Stage;

/* ---- methods ---- */

static Stage stage;
static char socket_path[64];

static void forget(size_t i) {
        memmove(&stage.kept[i], &stage.kept[i + 1], (--stage.n_kept - i) * sizeof(stage.kept[0]));
}

static void on_closed(VarlinkCall *call, void *userdata UNUSED) {
        size_t i = 0;

        while (i < stage.n_kept && stage.kept[i] != call)
                i++;
        require(i < stage.n_kept);
        forget(i);
}

static void handle_echo(VarlinkCall *call, json_t *parameters, void *userdata UNUSED) {
        require(json_is_object(parameters));
        varlink_call_reply(call, json_incref(parameters));
}

static void handle_keep(VarlinkCall *call, json_t *parameters UNUSED, void *userdata UNUSED) {
        require(varlink_call_peer_uid(call) == getuid());
        if (stage.n_kept == KEPT_MAX) {
                varlink_call_error_invalid_parameter(call, "all");
                return;
        }
        stage.kept[stage.n_kept++] = call;
        varlink_call_set_closed_handler(call, on_closed, NULL);
}

static void handle_big(VarlinkCall *call, json_t *parameters UNUSED, void *userdata UNUSED) {
        static char text[20000];

        memset(text, 'x', sizeof(text) - 1);
        varlink_call_reply(call, json_pack("{ss}", "text", text));
}

static const VarlinkParameter typed[] = {
        {"instance", VARLINK_STRING, false},
        {"count", VARLINK_INT, true},
        {"flag", VARLINK_BOOL, true},
        {"share", VARLINK_FLOAT, true},
        {"list", VARLINK_ARRAY, true},
        {"map", VARLINK_OBJECT, true},
        {0},
};

static const VarlinkMethod methods[] = {
        {"Echo", handle_echo, 0, NULL},
        {"Keep", handle_keep, 0, NULL},
        {"Watch", handle_keep, VARLINK_MORE_ONLY, varlink_no_parameters},
        {"Typed", handle_echo, 0, typed},
        {"Big", handle_big, 0, NULL},
        {"Secret", handle_echo, VARLINK_ROOT_ONLY, NULL},
        {"Nothing", NULL, 0, NULL},
};

static const VarlinkInterface made_up = {
        .name = "org.example.Test",
        .description = "interface org.example.Test\nmethod Echo() -> ()\n",
        .methods = methods,
        .n_methods = ARRAY_LEN(methods),
};
/* ---- the stage: one server for all inputs ---- */

static void end_stage(void) {
        varlink_server_free(stage.server);
        unlink(socket_path);
}

static void begin_stage(void) {
        if (stage.server)
                return;
        snprintf(socket_path, sizeof(socket_path), "/tmp/hugeplan-fuzz-server.%d", (int) getpid());
        stage.server = varlink_server_new(&made_up, NULL);
        require(stage.server != NULL);
        int fd = varlink_bind_socket(socket_path);

        require(fd >= 0 && varlink_server_listen_fd(stage.server, fd) == 0);
        for (size_t i = 0; i < CLIENTS; i++)
                stage.clients[i].fd = -1;
        atexit(end_stage);
}

/* Dispatches until no event is pending. */
static void pump(void) {
        struct pollfd poll_fd = {.fd = varlink_server_fd(stage.server), .events = POLLIN};
        size_t n = 0;

        while (poll(&poll_fd, 1, 0) > 0) {
                require(varlink_server_dispatch(stage.server) == 0);
                require(++n < DISPATCHES_MAX);
        }
}

/* ---- clients ---- */

static void connect_client(Client *client) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (client->fd >= 0)
                return;
        strcpy(address.sun_path, socket_path);
        client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        require(client->fd >= 0);
        require(connect(client->fd, (const struct sockaddr *) &address, sizeof(address)) == 0);
        client->reader = varlink_reader_make(MIB);
}

static void hang_up(Client *client) {
        if (client->fd < 0)
                return;
        close(client->fd);
        client->fd = -1;
        varlink_reader_done(&client->reader);
}

/* Each message is a reply. */
static void take_replies(Client *client) {
        const char *bytes;
        size_t length;

        while (client->fd >= 0) {
                VarlinkReply reply;

                while (varlink_reader_next(&client->reader, &bytes, &length) > 0) {
                        require(varlink_reply_parse(bytes, length, &reply) == 0);
                        varlink_reply_done(&reply);
                }
                ssize_t n = varlink_reader_receive(&client->reader, client->fd);

                if (n == 0 || (n < 0 && n != -EAGAIN))
                        hang_up(client);
                if (n <= 0)
                        return;
        }
}

/* The server may have closed the connection. */
static void send_bytes(Client *client, const uint8_t *bytes, size_t size) {
        connect_client(client);
        (void) !send(client->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- actions ---- */

static void answer(char how) {
        VarlinkCall *call = stage.n_kept > 0 ? stage.kept[0] : NULL;

        if (!call)
                return;
        if (how == 'm') {
                char *text = varlink_text_new(json_pack("{si}", "n", 1), false);
                int r = varlink_call_reply_text_continues(call, text);

                memory_free(text);

                require(r == 0 || (r == -ENOTSUP && !varlink_call_wants_more(call)));
                return;
        }
        forget(0);
        if (how == 'k')
                varlink_call_reply(call, json_object());
        else
                varlink_call_error(call, "org.example.Test.Failed", NULL);
}

/* Returns the number of bytes of the action. */
static size_t perform(const uint8_t *data, size_t size) {
        const uint8_t *nul = memchr(data, '\0', size);
        size_t length = nul ? (size_t) (nul - data) : size;
        uint8_t action = data[0];

        if (action >= '0' && action < '0' + CLIENTS) {
                send_bytes(&stage.clients[action - '0'], data + 1, nul ? length : size - 1);
                return length + (nul != NULL);
        }
        if (action >= 'a' && action < 'a' + CLIENTS && length > 1) {
                send_bytes(&stage.clients[action - 'a'], data + 1, length - 1);
                return length + (nul != NULL);
        }
        if (action >= 'A' && action < 'A' + CLIENTS)
                hang_up(&stage.clients[action - 'A']);
        else if (action >= 'E' && action < 'E' + CLIENTS && stage.clients[action - 'E'].fd >= 0)
                shutdown(stage.clients[action - 'E'].fd, SHUT_WR);
        else
                answer((char) action);
        return 1;
}

FUZZ(arena, data, size) {
        begin_stage();
        for (size_t at = 0, n = 0; at < size && n < ACTIONS_MAX; n++) {
                at += perform(data + at, size - at);
                pump();
                for (size_t i = 0; i < CLIENTS; i++)
                        take_replies(&stage.clients[i]);
        }
        for (size_t i = 0; i < CLIENTS; i++)
                hang_up(&stage.clients[i]);
        pump();
        require(varlink_server_n_connections(stage.server) == 0 && stage.n_kept == 0);
}
