/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The life of a connection:
 *
 * It gets a *turn* when epoll reports it: what is unsent is sent, at most CALLS_PER_TURN messages are
 * taken, answers are sent. Then it is *settled*: what to watch for follows from its state alone.
 * Input is watched only while nothing is pending, so a client is held back by its own unanswered
 * calls and untaken replies. Complete messages left over for the next turn are waited for with
 * EPOLLOUT: the socket is writable, so the next dispatch comes at once, after the others' turns.
 *
 * A connection is closed in its own turn or by the timer, never from within varlink_call_*(), which
 * owners call while walking their lists of calls. What fails there *dooms* the connection: the socket
 * is shut down, which epoll reports as a hang-up, and that turn closes it.
 *
 * epoll(7); unix(7): a closed peer is reported as EPOLLHUP, a half-closed one is not. */

#include "ipc/varlink_server.h"

#include "base/size.h"
#include "ipc/varlink_frame.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
        EVENTS_PER_DISPATCH = 16,
        CALLS_PER_TURN = 4,
        ACCEPTS_PER_TURN = 16,
        OUTPUT_LOW_BYTES = 64 * 1024, /* no further call is taken above it */
};

typedef struct Source Source;
typedef struct Listener Listener;
typedef struct Connection Connection;

/* One descriptor in the epoll set; the first member of what it belongs to. */
struct Source {
        int fd;
        uint32_t interest;
        void (*dispatch)(VarlinkServer *server, Source *source, uint32_t events);
};

struct Listener {
        Source source;
        Listener *next;
};

struct Connection {
        Source source;
        VarlinkServer *server;
        Connection *previous, *next;
        struct ucred peer;
        VarlinkReader reader;
        VarlinkWriter writer;
        VarlinkCall *call;        /* in progress */
        uint64_t idle_since_usec; /* meaningful without one */
        bool is_idle;             /* counted in n_idle */
        bool is_at_end;           /* nothing more can be read */
        bool is_in_turn;
        bool is_doomed;
};

struct VarlinkCall {
        Connection *connection;
        bool more, oneway;
        VarlinkCallHandler closed, drained;
        void *closed_userdata, *drained_userdata;
};

struct VarlinkServer {
        int epoll_fd;
        Source timer;
        uint64_t timer_usec;  /* what the timer is set to; 0: it is not */
        bool timer_fired;     /* in this dispatch */
        uint64_t resume_usec; /* listeners are not watched until then; 0: they are */
        Listener *listeners;
        Connection *connections;
        size_t n_connections, n_other_connections; /* other than root's */
        size_t n_idle;
        VarlinkLimits limits;
        VarlinkServerInfo info;
        uid_t own_uid;
        void *userdata;
        size_t n_interfaces;
        const VarlinkInterface *interfaces[]; /* org.varlink.service is the first */
};

static uint64_t now_usec(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * USEC_PER_SEC + (uint64_t) now.tv_nsec / 1000;
}

/* ---- the epoll set ---- */

static int source_add(VarlinkServer *server, Source *source, uint32_t interest) {
        struct epoll_event event = {.events = interest, .data.ptr = source};

        source->interest = interest;
        return epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0 ? -errno : 0;
}

static int source_watch(VarlinkServer *server, Source *source, uint32_t interest) {
        struct epoll_event event = {.events = interest, .data.ptr = source};

        if (source->interest == interest)
                return 0;
        source->interest = interest;
        return epoll_ctl(server->epoll_fd, EPOLL_CTL_MOD, source->fd, &event) < 0 ? -errno : 0;
}

static void source_remove(VarlinkServer *server, Source *source) {
        epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

static void source_close(VarlinkServer *server, Source *source) {
        source_remove(server, source);
        close(source->fd);
}

/* ---- the timer: idle connections and paused listeners ---- */

static uint64_t server_next_deadline(const VarlinkServer *server) {
        uint64_t earliest = server->resume_usec ? server->resume_usec : UINT64_MAX;

        for (const Connection *c = server->connections; c; c = c->next)
                if (c->is_idle)
                        earliest = MIN(earliest,
                                       add_saturated(c->idle_since_usec, server->limits.idle_usec));
        return earliest;
}

/* A timer that is set is left alone, for deadlines only move away: it is set anew when it fires. */
static void server_schedule(VarlinkServer *server) {
        bool is_needed = server->n_idle > 0 || server->resume_usec > 0;
        struct itimerspec spec = {0};

        if (is_needed == (server->timer_usec > 0))
                return;
        server->timer_usec = is_needed ? MAX(server_next_deadline(server), UINT64_C(1)) : 0;
        spec.it_value.tv_sec = (time_t) (server->timer_usec / USEC_PER_SEC);
        spec.it_value.tv_nsec = (long) (server->timer_usec % USEC_PER_SEC * 1000);
        timerfd_settime(server->timer.fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* Other sources of the same dispatch may be about to have their turn, so closing waits. */
static void timer_turn(VarlinkServer *server, Source *source, uint32_t events) {
        uint64_t n_expirations;

        (void) events;
        if (read(source->fd, &n_expirations, sizeof(n_expirations)) > 0)
                server->timer_fired = true;
}

/* ---- listeners ---- */

/* Without descriptors accept(2) fails for as long as clients wait, and epoll would report them for
 * as long: the listeners leave the set until a connection is closed or some time has passed. */
static void server_pause(VarlinkServer *server) {
        if (server->resume_usec)
                return;
        for (Listener *listener = server->listeners; listener; listener = listener->next)
                source_remove(server, &listener->source);
        server->resume_usec = add_saturated(now_usec(), server->limits.accept_retry_usec);
        server->timer_usec = 0; /* it may be set too late */
}

static void server_resume(VarlinkServer *server) {
        int r = 0;

        if (!server->resume_usec)
                return;
        server->resume_usec = 0;
        for (Listener *listener = server->listeners; r == 0 && listener; listener = listener->next)
                r = source_add(server, &listener->source, EPOLLIN);
        if (r < 0)
                server_pause(server);
}

static bool server_has_room(const VarlinkServer *server, uid_t uid) {
        const VarlinkLimits *limits = &server->limits;
        size_t n_of_user = 0;

        if (server->n_connections >= limits->connections)
                return false;
        if (uid == 0)
                return true;
        for (const Connection *c = server->connections; c; c = c->next)
                n_of_user += c->peer.uid == uid;
        return n_of_user < limits->per_uid &&
               server->n_other_connections + limits->kept_for_root < limits->connections;
}

/* ---- connections ---- */

static void connection_dispatch(VarlinkServer *server, Source *source, uint32_t events);

static void server_link(VarlinkServer *server, Connection *c) {
        c->next = server->connections;
        if (c->next)
                c->next->previous = c;
        server->connections = c;
        server->n_connections++;
        server->n_other_connections += c->peer.uid != 0;
}

static void server_unlink(VarlinkServer *server, Connection *c) {
        if (c->previous)
                c->previous->next = c->next;
        else
                server->connections = c->next;
        if (c->next)
                c->next->previous = c->previous;
        server->n_connections--;
        server->n_other_connections -= c->peer.uid != 0;
        server->n_idle -= c->is_idle;
}

/* Owns FD, also when it fails. */
static Connection *connection_new(VarlinkServer *server, int fd, const struct ucred *peer) {
        Connection *c = calloc(1, sizeof(*c));

        if (!c) {
                close(fd);
                return NULL;
        }
        *c = (Connection){
                .source = {.fd = fd, .dispatch = connection_dispatch},
                .server = server,
                .peer = *peer,
                .reader = varlink_reader_make(server->limits.message_bytes),
                .writer = varlink_writer_make(server->limits.output_bytes),
                .idle_since_usec = now_usec(),
        };
        if (source_add(server, &c->source, EPOLLIN) < 0) {
                close(fd);
                free(c);
                return NULL;
        }
        server_link(server, c);
        return c;
}

/* The owner of a call in progress is told; should it answer nevertheless, nothing happens. */
static void connection_close(Connection *c) {
        VarlinkServer *server = c->server;
        VarlinkCall *call = c->call;

        c->is_doomed = true;
        server_unlink(server, c);
        source_close(server, &c->source);
        if (call && call->closed)
                call->closed(call, call->closed_userdata);
        free(c->call);
        varlink_reader_done(&c->reader);
        varlink_writer_done(&c->writer);
        free(c);
        server_resume(server);
}

static void connection_doom(Connection *c) {
        if (c->is_doomed)
                return;
        c->is_doomed = true;
        varlink_writer_clear(&c->writer);
        shutdown(c->source.fd, SHUT_RDWR);
}

/* Whether nothing is left unsent. */
static bool connection_send(Connection *c) {
        size_t before = varlink_writer_unsent(&c->writer);
        int r = c->is_doomed ? 0 : varlink_writer_send(&c->writer, c->source.fd);

        if (r < 0 && r != -EAGAIN)
                connection_doom(c);
        if (varlink_writer_unsent(&c->writer) < before)
                c->idle_since_usec = now_usec();
        return varlink_writer_unsent(&c->writer) == 0;
}

static uint32_t connection_interest(Connection *c) {
        if (varlink_writer_unsent(&c->writer) > 0)
                return EPOLLOUT;
        if (c->call)
                return 0; /* a hang-up is reported all the same */
        return varlink_reader_has_message(&c->reader) || c->is_at_end ? EPOLLOUT : EPOLLIN;
}

static void connection_settle(Connection *c) {
        VarlinkServer *server = c->server;
        bool is_idle = !c->call;

        server->n_idle += is_idle;
        server->n_idle -= c->is_idle;
        c->is_idle = is_idle;
        varlink_reader_trim(&c->reader);
        if (!c->is_doomed && source_watch(server, &c->source, connection_interest(c)) < 0)
                connection_doom(c);
        server_schedule(server);
}

/* After answers given outside the connection's turn. */
static void connection_kick(Connection *c) {
        if (c->is_in_turn || c->is_doomed)
                return;
        connection_send(c);
        connection_settle(c);
}

/* ---- calls ---- */

static void call_send(VarlinkCall *call, json_t *message) {
        Connection *c = call->connection;

        if (!call->oneway && !c->is_doomed &&
            (!message || varlink_writer_add(&c->writer, message) < 0))
                connection_doom(c);
        json_decref(message);
}

static void call_end(VarlinkCall *call, json_t *message) {
        Connection *c = call->connection;

        call_send(call, message);
        c->call = NULL;
        c->idle_since_usec = now_usec();
        free(call);
        connection_kick(c);
}

void varlink_call_reply(VarlinkCall *call, json_t *parameters) {
        call_end(call, parameters ? varlink_reply_make(parameters, false) : NULL);
}

void varlink_call_error(VarlinkCall *call, const char *error, json_t *parameters) {
        call_end(call, varlink_error_make(error, parameters));
}

/* An error that names one thing. */
static void call_error_about(VarlinkCall *call, const char *error, const char *key,
                             const char *value) {
        varlink_call_error(call, error, json_pack("{s:s}", key, value));
}

void varlink_call_error_invalid_parameter(VarlinkCall *call, const char *name) {
        call_error_about(call, VARLINK_ERROR_INVALID_PARAMETER, "parameter", name);
}

int varlink_call_reply_continues(VarlinkCall *call, json_t *parameters) {
        if (!call->more) {
                json_decref(parameters);
                return -ENOTSUP;
        }
        call_send(call, parameters ? varlink_reply_make(parameters, true) : NULL);
        connection_kick(call->connection);
        return 0;
}

bool varlink_call_wants_more(const VarlinkCall *call) {
        return call->more;
}

bool varlink_call_is_congested(const VarlinkCall *call) {
        return varlink_writer_unsent(&call->connection->writer) > 0;
}

void varlink_call_set_closed_handler(VarlinkCall *call, VarlinkCallHandler function,
                                     void *userdata) {
        call->closed = function;
        call->closed_userdata = userdata;
}

void varlink_call_set_drained_handler(VarlinkCall *call, VarlinkCallHandler function,
                                      void *userdata) {
        call->drained = function;
        call->drained_userdata = userdata;
}

uid_t varlink_call_peer_uid(const VarlinkCall *call) {
        return call->connection->peer.uid;
}

pid_t varlink_call_peer_pid(const VarlinkCall *call) {
        return call->connection->peer.pid;
}

bool varlink_call_peer_is_privileged(const VarlinkCall *call) {
        uid_t uid = varlink_call_peer_uid(call);

        return uid == 0 || uid == call->connection->server->own_uid;
}

/* ---- finding the method ---- */

const VarlinkParameter varlink_no_parameters[] = {{0}};

static bool parameter_fits(const VarlinkParameter *parameter, const json_t *value) {
        static const unsigned json_types[] = {
                [VARLINK_BOOL] = 1 << JSON_TRUE | 1 << JSON_FALSE,
                [VARLINK_INT] = 1 << JSON_INTEGER,
                [VARLINK_FLOAT] = 1 << JSON_REAL | 1 << JSON_INTEGER,
                [VARLINK_STRING] = 1 << JSON_STRING,
                [VARLINK_ARRAY] = 1 << JSON_ARRAY,
                [VARLINK_OBJECT] = 1 << JSON_OBJECT,
        };

        if (!value || json_is_null(value))
                return parameter->is_nullable;
        return 1U << json_typeof(value) & json_types[parameter->type];
}

static bool parameters_have(const VarlinkParameter *parameters, const char *name) {
        for (; parameters->name; parameters++)
                if (strcmp(parameters->name, name) == 0)
                        return true;
        return false;
}

/* The name of the first parameter that is not as declared, or NULL. */
static const char *parameters_find_fault(const VarlinkParameter *parameters, json_t *values) {
        const char *name;
        json_t *value;

        for (const VarlinkParameter *p = parameters; p->name; p++)
                if (!parameter_fits(p, json_object_get(values, p->name)))
                        return p->name;
        json_object_foreach(values, name, value) {
                if (!parameters_have(parameters, name))
                        return name;
        }
        return NULL;
}

static const VarlinkInterface *server_find_interface(const VarlinkServer *server, const char *name,
                                                     size_t length) {
        for (size_t i = 0; i < server->n_interfaces; i++)
                if (strlen(server->interfaces[i]->name) == length &&
                    memcmp(server->interfaces[i]->name, name, length) == 0)
                        return server->interfaces[i];
        return NULL;
}

static const VarlinkMethod *interface_find_method(const VarlinkInterface *interface,
                                                  const char *name) {
        for (size_t i = 0; i < interface->n_methods; i++)
                if (strcmp(interface->methods[i].name, name) == 0)
                        return &interface->methods[i];
        return NULL;
}

/* What the method's row demands of its calls. */
static void call_run(VarlinkCall *call, const VarlinkMethod *method,
                     const VarlinkRequest *request) {
        const char *fault = NULL;

        if (!method->handler || request->upgrade)
                return; /* NotImplemented follows */
        if (method->flags & VARLINK_ROOT_ONLY && !varlink_call_peer_is_privileged(call)) {
                varlink_call_error(call, VARLINK_ERROR_PERMISSION_DENIED, NULL);
                return;
        }
        if (method->flags & VARLINK_MORE_ONLY && !call->more) {
                varlink_call_error(call, VARLINK_ERROR_EXPECTED_MORE, NULL);
                return;
        }
        if (method->parameters)
                fault = parameters_find_fault(method->parameters, request->parameters);
        if (fault)
                varlink_call_error_invalid_parameter(call, fault);
        else
                method->handler(call, request->parameters, call->connection->server->userdata);
}

static void call_find_and_run(VarlinkCall *call, const VarlinkRequest *request) {
        const VarlinkServer *server = call->connection->server;
        const char *dot = strrchr(request->method, '.');
        int length = dot ? (int) (dot - request->method) : 0;
        const VarlinkInterface *interface =
                server_find_interface(server, request->method, (size_t) length);
        const VarlinkMethod *method = interface ? interface_find_method(interface, dot + 1) : NULL;

        if (method)
                call_run(call, method, request);
        else if (interface || !dot)
                call_error_about(call, VARLINK_ERROR_METHOD_NOT_FOUND, "method", request->method);
        else
                varlink_call_error(call, VARLINK_ERROR_INTERFACE_NOT_FOUND,
                                   json_pack("{s:s#}", "interface", request->method, length));
}

/* ---- turns ---- */

static void connection_take_call(Connection *c, const char *bytes, size_t length) {
        VarlinkRequest request = {0};
        VarlinkCall *call = NULL;

        if (varlink_request_parse(bytes, length, &request) == 0)
                call = calloc(1, sizeof(*call));
        if (!call) {
                connection_send(c); /* what was answered before is still the client's */
                connection_doom(c);
                varlink_request_done(&request);
                return;
        }
        *call = (VarlinkCall){.connection = c, .more = request.more, .oneway = request.oneway};
        c->call = call;
        call_find_and_run(call, &request);
        if (c->call && !c->call->closed)
                call_error_about(c->call, VARLINK_ERROR_METHOD_NOT_IMPLEMENTED, "method",
                                 request.method);
        varlink_request_done(&request);
}

/* Whether something was read. */
static bool connection_receive(Connection *c) {
        ssize_t n = varlink_reader_receive(&c->reader, c->source.fd);

        if (n == 0)
                c->is_at_end = true;
        else if (n < 0 && n != -EAGAIN)
                connection_doom(c);
        return n > 0;
}

static bool connection_can_take_call(const Connection *c) {
        return !c->is_doomed && !c->call && varlink_writer_unsent(&c->writer) < OUTPUT_LOW_BYTES;
}

/* Reads once at most: a client that sends without end gets the same share as others. */
static void connection_take_calls(Connection *c) {
        bool may_read = !c->is_at_end;

        for (size_t n = 0; n < CALLS_PER_TURN && connection_can_take_call(c);) {
                const char *bytes;
                size_t length;
                int r = varlink_reader_next(&c->reader, &bytes, &length);

                if (r > 0) {
                        connection_take_call(c, bytes, length);
                        n++;
                } else if (r < 0) {
                        connection_send(c);
                        connection_doom(c);
                } else if (!may_read || !connection_receive(c)) {
                        return;
                } else {
                        may_read = false;
                }
        }
}

static void connection_tell_drained(Connection *c) {
        VarlinkCall *call = c->call;

        if (call && call->drained)
                call->drained(call, call->drained_userdata);
}

static bool connection_is_over(Connection *c) {
        if (c->is_doomed)
                return true;
        return c->is_at_end && !c->call && varlink_writer_unsent(&c->writer) == 0 &&
               !varlink_reader_has_message(&c->reader);
}

static void connection_turn(Connection *c, uint32_t events) {
        bool is_congested = varlink_writer_unsent(&c->writer) > 0;

        /* A client that is gone wants no answer; but what it sent before it left, perhaps one-way,
         * is still read. */
        if (events & (EPOLLHUP | EPOLLERR) && c->call)
                connection_doom(c);
        c->is_in_turn = true;
        if (connection_send(c)) {
                if (is_congested && !c->is_doomed)
                        connection_tell_drained(c);
                connection_take_calls(c);
                connection_send(c);
        }
        c->is_in_turn = false;
        if (connection_is_over(c))
                connection_close(c);
        else
                connection_settle(c);
}

static void connection_dispatch(VarlinkServer *server, Source *source, uint32_t events) {
        (void) server;
        connection_turn((Connection *) source, events);
}

/* Owns FD. A client beyond the limits is told by a closed connection: whatever it would be told in
 * words would have to be kept for it. */
static void server_admit(VarlinkServer *server, int fd) {
        struct ucred peer = {0};
        socklen_t size = sizeof(peer);
        Connection *c;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
            !server_has_room(server, peer.uid)) {
                close(fd);
                return;
        }
        c = connection_new(server, fd, &peer);
        if (c)
                connection_turn(c, EPOLLIN); /* most clients have sent their call already */
}

static void listener_turn(VarlinkServer *server, Source *source, uint32_t events) {
        (void) events;
        for (size_t n = 0; n < ACCEPTS_PER_TURN; n++) {
                int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

                if (fd >= 0) {
                        server_admit(server, fd);
                        continue;
                }
                if (errno == EINTR || errno == ECONNABORTED)
                        continue;
                if (errno != EAGAIN)
                        server_pause(server);
                return;
        }
}

static void server_handle_timer(VarlinkServer *server) {
        uint64_t now = now_usec();

        server->timer_fired = false;
        server->timer_usec = 0;
        for (Connection *c = server->connections, *next; c; c = next) {
                next = c->next;
                if (c->is_idle &&
                    add_saturated(c->idle_since_usec, server->limits.idle_usec) <= now)
                        connection_close(c);
        }
        if (server->resume_usec <= now)
                server_resume(server);
}

int varlink_server_dispatch(VarlinkServer *server) {
        struct epoll_event events[EVENTS_PER_DISPATCH];
        int n = epoll_wait(server->epoll_fd, events, EVENTS_PER_DISPATCH, 0);

        if (n < 0)
                return errno == EINTR ? 0 : -errno;
        for (int i = 0; i < n; i++) {
                Source *source = events[i].data.ptr;

                source->dispatch(server, source, events[i].events);
        }
        if (server->timer_fired)
                server_handle_timer(server);
        server_schedule(server);
        return 0;
}

/* ---- org.varlink.service ---- */

static void service_get_info(VarlinkCall *call, json_t *parameters, void *userdata) {
        const VarlinkServer *server = call->connection->server;
        json_t *names = json_array();

        (void) parameters;
        (void) userdata;
        for (size_t i = 0; i < server->n_interfaces; i++)
                json_array_append_new(names, json_string(server->interfaces[i]->name));
        varlink_call_reply(call, json_pack("{s:s, s:s, s:s, s:s, s:o}", "vendor",
                                           server->info.vendor, "product", server->info.product,
                                           "version", server->info.version, "url", server->info.url,
                                           "interfaces", names));
}

static void service_get_interface_description(VarlinkCall *call, json_t *parameters,
                                              void *userdata) {
        const char *name = json_string_value(json_object_get(parameters, "interface"));
        const VarlinkInterface *interface =
                server_find_interface(call->connection->server, name, strlen(name));

        (void) userdata;
        if (interface)
                varlink_call_reply(call, json_pack("{s:s}", "description", interface->description));
        else
                call_error_about(call, VARLINK_ERROR_INTERFACE_NOT_FOUND, "interface", name);
}

static const VarlinkParameter get_interface_description_parameters[] = {
        {"interface", VARLINK_STRING, false},
        {0},
};

static const VarlinkMethod service_methods[] = {
        {"GetInfo", service_get_info, 0, varlink_no_parameters},
        {"GetInterfaceDescription", service_get_interface_description, 0,
         get_interface_description_parameters},
};

static const char service_description[] =
        "# What every Varlink service tells about itself.\n"
        "interface org.varlink.service\n"
        "\n"
        "# Who made this service, and which interfaces it has.\n"
        "method GetInfo() -> (\n"
        "        vendor: string,\n"
        "        product: string,\n"
        "        version: string,\n"
        "        url: string,\n"
        "        interfaces: []string\n"
        ")\n"
        "\n"
        "# The definition of one of its interfaces.\n"
        "method GetInterfaceDescription(interface: string) -> (description: string)\n"
        "\n"
        "# The service has no such interface.\n"
        "error InterfaceNotFound(interface: string)\n"
        "\n"
        "# The interface has no such method.\n"
        "error MethodNotFound(method: string)\n"
        "\n"
        "# The interface has the method, this service does not do it.\n"
        "error MethodNotImplemented(method: string)\n"
        "\n"
        "# A parameter is missing, unknown or of the wrong type or value.\n"
        "error InvalidParameter(parameter: string)\n"
        "\n"
        "# The client may not call this method.\n"
        "error PermissionDenied()\n"
        "\n"
        "# The method gives several replies and has to be called with 'more'.\n"
        "error ExpectedMore()\n";

static const VarlinkInterface service_interface = {
        .name = VARLINK_SERVICE,
        .description = service_description,
        .methods = service_methods,
        .n_methods = ARRAY_LEN(service_methods),
};

/* ---- the server ---- */

VarlinkLimits varlink_limits_default(void) {
        return (VarlinkLimits){
                .connections = 256,
                .kept_for_root = 32,
                .per_uid = 64,
                .message_bytes = 64 * KIB,
                .output_bytes = MIB,
                .idle_usec = 45 * USEC_PER_SEC,
                .accept_retry_usec = USEC_PER_SEC,
        };
}

void varlink_server_set_limits(VarlinkServer *server, const VarlinkLimits *limits) {
        server->limits = *limits;
}

static int server_open(VarlinkServer *server) {
        server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (server->epoll_fd < 0)
                return -errno;
        server->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (server->timer.fd < 0)
                return -errno;
        return source_add(server, &server->timer, EPOLLIN);
}

VarlinkServer *varlink_server_new(const VarlinkInterface *const *interfaces, size_t n,
                                  const VarlinkServerInfo *info, void *userdata) {
        VarlinkServer *server = calloc(1, sizeof(*server) + (n + 1) * sizeof(*interfaces));
        int r;

        if (!server)
                return NULL;
        server->epoll_fd = -1;
        server->timer = (Source){.fd = -1, .dispatch = timer_turn};
        server->limits = varlink_limits_default();
        server->info = *info;
        server->own_uid = geteuid();
        server->userdata = userdata;
        server->interfaces[0] = &service_interface;
        if (n > 0)
                memcpy(server->interfaces + 1, interfaces, n * sizeof(*interfaces));
        server->n_interfaces = n + 1;
        r = server_open(server);
        if (r < 0) {
                varlink_server_free(server);
                errno = -r;
                return NULL;
        }
        return server;
}

VarlinkServer *varlink_server_free(VarlinkServer *server) {
        if (!server)
                return NULL;
        while (server->connections)
                connection_close(server->connections);
        for (Listener *listener = server->listeners, *next; listener; listener = next) {
                next = listener->next;
                source_close(server, &listener->source);
                free(listener);
        }
        if (server->timer.fd >= 0)
                close(server->timer.fd);
        if (server->epoll_fd >= 0)
                close(server->epoll_fd);
        free(server);
        return NULL;
}

void varlink_server_freep(VarlinkServer **server) {
        *server = varlink_server_free(*server);
}

int varlink_server_fd(const VarlinkServer *server) {
        return server->epoll_fd;
}

size_t varlink_server_n_connections(const VarlinkServer *server) {
        return server->n_connections;
}

static int socket_option(int fd, int option, int *ret) {
        socklen_t size = sizeof(*ret);

        return getsockopt(fd, SOL_SOCKET, option, ret, &size) < 0 ? -errno : 0;
}

/* 0, or why FD cannot be listened on. */
static int check_listening_socket(int fd) {
        static const struct {
                int option, value;
        } demands[] = {
                {SO_DOMAIN, AF_UNIX},
                {SO_TYPE, SOCK_STREAM},
                {SO_ACCEPTCONN, 1},
        };

        for (size_t i = 0; i < ARRAY_LEN(demands); i++) {
                int value;
                int r = socket_option(fd, demands[i].option, &value);

                if (r < 0)
                        return r;
                if (value != demands[i].value)
                        return -EINVAL;
        }
        return 0;
}

static int make_nonblocking(int fd) {
        int flags = fcntl(fd, F_GETFL);

        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
}

int varlink_server_listen_fd(VarlinkServer *server, int fd) {
        Listener *listener;
        int r = check_listening_socket(fd);

        if (r == 0)
                r = make_nonblocking(fd);
        if (r < 0)
                return r;
        listener = calloc(1, sizeof(*listener));
        if (!listener)
                return -ENOMEM;
        listener->source = (Source){.fd = fd, .dispatch = listener_turn};
        if (!server->resume_usec)
                r = source_add(server, &listener->source, EPOLLIN);
        if (r < 0) {
                free(listener);
                return r;
        }
        listener->next = server->listeners;
        server->listeners = listener;
        return 0;
}

/* ---- binding ---- */

/* Where a path is too long for sun_path, the address goes through DIRECTORY_FD, which the caller
 * keeps open while it uses it. -ENAMETOOLONG when not even the name fits. */
static int address_of_path(const char *path, int directory_fd, struct sockaddr_un *ret) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);

        if ((size_t) n >= sizeof(address.sun_path))
                n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
                             directory_fd, strrchr(path, '/') + 1);
        if ((size_t) n >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        *ret = address;
        return 0;
}

static int open_directory_of(const char *path) {
        const char *slash = strrchr(path, '/');
        char directory[PATH_MAX];
        int fd;

        if (path[0] != '/' || slash[1] == '\0')
                return -EINVAL;
        if ((size_t) (slash - path) >= sizeof(directory))
                return -ENAMETOOLONG;
        snprintf(directory, sizeof(directory), "%.*s/", (int) (slash - path), path);
        fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* A socket nobody listens on refuses connections; one that is alive, or no socket at all, does
 * not. */
static bool address_is_stale(const struct sockaddr_un *address) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        bool is_stale = false;
        struct stat status;

        if (fd < 0)
                return false;
        if (lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode))
                is_stale = connect(fd, (const struct sockaddr *) address, sizeof(*address)) < 0 &&
                           errno == ECONNREFUSED;
        close(fd);
        return is_stale;
}

/* The mode is set on the socket before, which bind(2) uses less the umask, and on the file after:
 * it is never wider than asked. */
static int bind_and_listen(int fd, const struct sockaddr_un *address, mode_t mode) {
        const struct sockaddr *generic = (const struct sockaddr *) address;

        if (fchmod(fd, mode) < 0)
                return -errno;
        if (bind(fd, generic, sizeof(*address)) < 0) {
                if (errno != EADDRINUSE || !address_is_stale(address))
                        return -errno;
                if (unlink(address->sun_path) < 0 || bind(fd, generic, sizeof(*address)) < 0)
                        return -errno;
        }
        if (chmod(address->sun_path, mode) < 0 || listen(fd, SOMAXCONN) < 0)
                return -errno;
        return 0;
}

int varlink_bind_socket(const char *path, mode_t mode) {
        struct sockaddr_un address;
        int directory_fd = open_directory_of(path), fd = -1, r;

        if (directory_fd < 0)
                return directory_fd;
        r = address_of_path(path, directory_fd, &address);
        if (r == 0) {
                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                r = fd < 0 ? -errno : bind_and_listen(fd, &address, mode);
        }
        close(directory_fd);
        if (r < 0 && fd >= 0)
                close(fd);
        return r < 0 ? r : fd;
}
