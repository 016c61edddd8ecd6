/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ipc/varlink_client.h"

#include "base/memory.h"
#include "base/size.h"
#include "ipc/varlink_frame.h"
#include "runtime/deadline.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* The server's own limits, seen from the other side. */
#define REQUEST_BYTES_MAX (64 * KIB + 1)
#define REPLY_BYTES_MAX   MIB

typedef enum ClientState {
        CLIENT_IDLE,
        CLIENT_STREAM, /* replies follow until one is the last, perhaps the first */
        CLIENT_BROKEN,
} ClientState;

struct VarlinkClient {
        int fd;
        ClientState state;
        bool more; /* of the last call */
        VarlinkReader reader;
        VarlinkWriter writer;
};

/* ---- connecting ---- */

/* Connecting waits while the server's backlog is full; SO_SNDTIMEO bounds that, while poll(2) does
 * not know of it. socket(7), unix(7). */
static int connect_until(int fd, const struct sockaddr_un *address, uint64_t deadline_usec) {
        for (;;) {
                uint64_t left_usec = deadline_left_usec(deadline_usec);
                struct timeval left = {
                        .tv_sec = (time_t) (left_usec / USEC_PER_SEC),
                        .tv_usec = (suseconds_t) (left_usec % USEC_PER_SEC),
                };

                if (left_usec == 0)
                        return -ETIMEDOUT;
                if (left_usec != UINT64_MAX &&
                    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left)) < 0)
                        return -errno;
                if (connect(fd, (const struct sockaddr *) address, sizeof(*address)) == 0)
                        return 0;
                if (errno != EINTR && errno != EAGAIN)
                        return -errno;
        }
}

static int open_connection(const char *path, uint64_t deadline_usec) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (path[0] == '\0')
                return -ENOENT;
        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        int r = connect_until(fd, &address, deadline_usec);

        if (r < 0)
                close(fd);
        return r < 0 ? r : fd;
}

int varlink_client_connect(const char *path, uint64_t timeout_usec, VarlinkClient **ret) {
        VarlinkClient *client;
        int fd = open_connection(path, deadline_in(timeout_usec));

        if (fd < 0)
                return fd;
        client = memory_new(sizeof(*client));
        *client = (VarlinkClient){
                .fd = fd,
                .reader = varlink_reader_make(REPLY_BYTES_MAX),
                .writer = varlink_writer_make(REQUEST_BYTES_MAX),
        };
        *ret = client;
        return 0;
}

VarlinkClient *varlink_client_free(VarlinkClient *client) {
        if (!client)
                return NULL;
        close(client->fd);
        varlink_reader_done(&client->reader);
        varlink_writer_done(&client->writer);
        memory_free(client);
        return NULL;
}

void varlink_client_freep(VarlinkClient **client) {
        *client = varlink_client_free(*client);
}

/* ---- messages ---- */

static const VarlinkParameter reply_keys[] = {
        {"parameters", VARLINK_OBJECT, .is_nullable = true},
        {"continues", VARLINK_BOOL, .is_optional = true},
        {"error", VARLINK_STRING, .is_optional = true},
        {0},
};

/* sd-varlink leaves the key out, too, if there are no PARAMETERS. */
json_t *varlink_request_make(const char *method, json_t *parameters, bool more) {
        return json_pack("{ss so* so*}", "method", method, "parameters", parameters, "more",
                         more ? json_true() : NULL);
}

int varlink_reply_parse(const char *bytes, size_t length, VarlinkReply *ret) {
        static const char letters[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
        json_t *message = varlink_message_parse(bytes, length, reply_keys);

        if (!message)
                return -EPROTO;
        VarlinkReply reply = {
                .message = message,
                .error = json_string_value(json_object_get(message, "error")),
                .parameters = json_object_get(message, "parameters"),
                .continues = json_is_true(json_object_get(message, "continues")),
        };

        /* An error has a name, which people are shown, and ends a stream. */
        if (reply.error && (reply.continues || !*reply.error ||
                            strspn(reply.error, letters) != strlen(reply.error))) {
                json_decref(message);
                return -EPROTO;
        }
        *ret = reply;
        return 0;
}

void varlink_reply_done(VarlinkReply *reply) {
        json_decref(reply->message);
        *reply = (VarlinkReply){0};
}

/* ---- calling ---- */

/* What callers need to tell apart. */
static int client_fail(VarlinkClient *client, int r) {
        client->state = CLIENT_BROKEN;
        return r == -EPIPE ? -ECONNRESET : r == -EMSGSIZE ? -EPROTO : r;
}

static int client_receive(VarlinkClient *client, uint64_t deadline_usec, VarlinkReply *ret) {
        const char *bytes;
        size_t length;
        int r;

        while ((r = varlink_reader_next(&client->reader, &bytes, &length)) == 0) {
                ssize_t n = varlink_reader_receive(&client->reader, client->fd);

                if (n == 0)
                        return -ECONNRESET;
                r = n == -EAGAIN ? deadline_poll(client->fd, POLLIN, deadline_usec)
                                 : (int) MIN(n, 0);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : varlink_reply_parse(bytes, length, ret);
}

int varlink_client_send(VarlinkClient *client, const char *method, json_t *parameters, bool more,
                        uint64_t timeout_usec) {
        uint64_t deadline_usec = deadline_in(timeout_usec);

        if (client->state != CLIENT_IDLE) {
                json_decref(parameters);
                return client->state == CLIENT_BROKEN ? -ENOTCONN : -EBUSY;
        }
        json_t *message = varlink_request_make(method, parameters, more);
        int r = message ? varlink_writer_add(&client->writer, message) : -ENOMEM;

        json_decref(message);
        while (r == 0 && varlink_writer_unsent(&client->writer) > 0) {
                r = varlink_writer_send(&client->writer, client->fd);
                if (r == -EAGAIN)
                        r = deadline_poll(client->fd, POLLOUT, deadline_usec);
        }
        if (r < 0)
                return client_fail(client, r);
        client->state = CLIENT_STREAM;
        client->more = more;
        return 0;
}

int varlink_client_next(VarlinkClient *client, uint64_t timeout_usec, json_t **ret_parameters,
                        char **ret_error_name) {
        VarlinkReply reply = {};
        char *error_name = NULL;

        if (client->state != CLIENT_STREAM)
                return client->state == CLIENT_BROKEN ? -ENOTCONN : -ENODATA;
        int r = client_receive(client, deadline_in(timeout_usec), &reply);

        if (r == -ETIMEDOUT)
                return r;
        if (r == 0 && reply.continues && !client->more)
                r = -EPROTO;
        if (r == 0 && reply.error && !(error_name = strdup(reply.error)))
                r = -ENOMEM;
        if (r == 0) {
                r = reply.continues;
                client->state = r > 0 ? CLIENT_STREAM : CLIENT_IDLE;
                *ret_parameters = json_incref(reply.parameters);
                *ret_error_name = error_name;
        }
        varlink_reply_done(&reply);
        return r < 0 ? client_fail(client, r) : r;
}

int varlink_ping(const char *path, uint64_t timeout_usec) {
        CLEANUP(varlink_client_freep) VarlinkClient *client = NULL;
        uint64_t deadline_usec = deadline_in(timeout_usec);
        json_t *parameters = NULL;
        char *error_name = NULL;
        int r = varlink_client_connect(path, timeout_usec, &client);

        if (r == 0)
                r = varlink_client_send(client, "org.varlink.service.GetInfo", NULL, false,
                                        deadline_left_usec(deadline_usec));
        if (r == 0)
                r = varlink_client_next(client, deadline_left_usec(deadline_usec), &parameters,
                                        &error_name);
        free(error_name);
        json_decref(parameters);
        return r;
}
