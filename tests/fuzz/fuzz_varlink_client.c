/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Replies of a server to hugeplanctl, over a real socket. The first byte is the kind of call: 'c' for one reply, 's' for one
 * reply without waiting, otherwise for several. The rest is all that the server sends before it closes the connection.
 *
 * Conditions: each call ends at once, with a result of varlink_client.h; a broken connection stays broken; and an accepted
 * status can be rendered. */

#include "base/size.h"
#include "fuzz/fuzz.h"
#include "ipc/manager_interface.h"
#include "ipc/varlink_client.h"
#include "render/status_json.h"
#include "render/views.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { REPLIES_MAX = 64, WAIT_USEC = 5 * USEC_PER_SEC };

/* ---- the server: one socket for all inputs ---- */

static char socket_path[64];
static int listen_fd = -1;

static void remove_socket(void) {
        unlink(socket_path);
}

static void listen_once(void) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (listen_fd >= 0)
                return;
        snprintf(socket_path, sizeof(socket_path), "/tmp/hugeplan-fuzz-client.%d", (int) getpid());
        strcpy(address.sun_path, socket_path);
        listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        require(listen_fd >= 0);
        require(bind(listen_fd, (const struct sockaddr *) &address, sizeof(address)) == 0);
        require(listen(listen_fd, 4) == 0);
        atexit(remove_socket);
}

/* Sends all bytes that fit into the socket. The socket stays open, because closing it with unread data would reset the
 * connection. */
static int answer_all(const uint8_t *data, size_t size) {
        int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

        require(fd >= 0);
        require(size == 0 || send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0);
        require(shutdown(fd, SHUT_WR) == 0);
        return fd;
}

/* ---- replies ---- */

static void check_status(Arena *arena, const json_t *reply) {
        Status *status = status_from_json(arena, reply);

        if (!status)
                return;
        const char *text = render_status(arena, status, &(RenderOptions){});

        require(text_is_utf8(text, strlen(text)) && !strpbrk(text, "\033\r\t"));
        for (size_t i = 0; i < MIN(status->n_instances, (size_t) 4); i++) {
                render_status_instance(arena, status, &status->instances[i], &(RenderOptions){});
                require_printable(render_verdict(arena, &status->instances[i]));
        }
        json_t *json = status_to_json(status, false), *same;

        require(json && (status = status_from_json(arena, json)));
        same = status_to_json(status, false);
        require(json_equal(json, same));
        json_decref(json);
        json_decref(same);
}

/* Frees both. */
static void check_reply(json_t *reply, char *error_name) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        require(json_is_object(reply));
        require(!error_name || *error_name);
        check_status(arena, reply);
        const Diags problems = problems_from_json(arena, json_object_get(reply, "problems"));
        StatusInstance instance;

        VEC_FOREACH(problem, &problems.list)
                require_printable(diag_format(arena, problem));
        if (status_instance_from_json(arena, json_object_get(reply, "instance"), &instance) == 0)
                require_printable(render_verdict(arena, &instance));
        json_decref(reply);
        free(error_name);
}

/* ---- calls ---- */

static int read_replies(VarlinkClient *client) {
        int r = 1;

        for (size_t i = 0; i < REPLIES_MAX && r > 0; i++) {
                json_t *reply = NULL;
                char *error_name = NULL;

                r = varlink_client_next(client, WAIT_USEC, &reply, &error_name);
                require((r < 0) == !reply);
                if (r >= 0)
                        check_reply(reply, error_name);
        }
        return r;
}

/* The request goes into the socket's buffer; nobody needs to read it. */
static int ask(VarlinkClient *client, char how) {
        bool is_one = how == 'c' || how == 's';

        require(varlink_client_send(client, is_one ? MANAGER_DESCRIBE : MANAGER_WAIT, NULL, !is_one,
                                    WAIT_USEC) == 0);
        return read_replies(client);
}

FUZZ(arena, data, size) {
        CLEANUP(varlink_client_freep) VarlinkClient *client = NULL;

        if (size == 0)
                return;
        listen_once();
        require(varlink_client_connect(socket_path, WAIT_USEC, &client) == 0);
        int fd = answer_all(data + 1, size - 1);
        int r = ask(client, (char) data[0]);

        if (r < 0) {
                json_t *reply = NULL;
                char *error_name = NULL;

                require(r == -ECONNRESET || r == -EPROTO);
                require(varlink_client_send(client, MANAGER_DESCRIBE, NULL, false, WAIT_USEC) ==
                        -ENOTCONN);
                require(varlink_client_next(client, WAIT_USEC, &reply, &error_name) == -ENOTCONN);
                require(!reply && !error_name);
        }
        close(fd);
}
