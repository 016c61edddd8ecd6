/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls: finds and runs their methods and sends the answers. Implements org.varlink.service. */
#include "ipc/varlink_call.h"

#include "base/text.h"
#include "base/vec.h"
#include "ipc/interface_texts.h"
#include "ipc/varlink_server_inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

static void call_finish(VarlinkCall *call) {
        Connection *c = call->connection;

        c->call = NULL;
        c->idle.since_usec = clock_now_usec();
        free(call);
        connection_kick(c);
}

static void call_end(VarlinkCall *call, json_t *message) {
        Connection *c = call->connection;

        if (!call->oneway && c->end.state == CONNECTION_OPEN &&
            (!message || varlink_writer_add(&c->writer, message) < 0))
                connection_doom(c);
        json_decref(message);
        call_finish(call);
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

/* ---- one answer for many ---- */

char *varlink_text_new(json_t *parameters, bool is_last) {
        json_t *message = parameters ? varlink_reply_make(parameters, !is_last) : NULL;
        char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

        json_decref(message);
        return text;
}

static void call_send_text(VarlinkCall *call, const char *text) {
        Connection *c = call->connection;

        if (!call->oneway && c->end.state == CONNECTION_OPEN &&
            (!text || varlink_writer_pass(&c->writer, text, c->io.fd) < 0))
                connection_doom(c);
}

void varlink_call_reply_text(VarlinkCall *call, const char *text) {
        call_send_text(call, text);
        call_finish(call);
}

int varlink_call_reply_text_continues(VarlinkCall *call, const char *text) {
        if (!call->more)
                return -ENOTSUP;
        call_send_text(call, text);
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
        return call->connection->peer.credentials.uid;
}

pid_t varlink_call_peer_pid(const VarlinkCall *call) {
        return call->connection->peer.credentials.pid;
}

void varlink_call_keep_place(VarlinkCall *call) {
        call->is_kept = true;
        connection_kick(call->connection);
}

/* ---- finding the method ---- */

static const VarlinkInterface *server_find_interface(const VarlinkServer *server, const char *name,
                                                     size_t length) {
        for (size_t i = 0; i < ARRAY_LEN(server->interfaces); i++)
                if (strlen(server->interfaces[i]->name) == length &&
                    memcmp(server->interfaces[i]->name, name, length) == 0)
                        return server->interfaces[i];
        return NULL;
}

/* Runs the method if the call meets the demands of its row. */
static void call_run(VarlinkCall *call, const VarlinkMethod *method,
                     const VarlinkRequest *request) {
        const char *fault = NULL;

        if (!method->handler || request->upgrade)
                return; /* NotImplemented follows */
        if (method->flags & VARLINK_ROOT_ONLY && !call->connection->peer.is_trusted) {
                varlink_call_error(call, VARLINK_ERROR_PERMISSION_DENIED, NULL);
                return;
        }
        if (method->flags & VARLINK_MORE_ONLY && !call->more) {
                varlink_call_error(call, VARLINK_ERROR_EXPECTED_MORE, NULL);
                return;
        }
        if (method->parameters)
                fault = varlink_parameters_find_fault(method->parameters, request->parameters);
        if (fault)
                varlink_call_error_invalid_parameter(call, fault);
        else
                method->handler(call, request->parameters,
                                call->connection->server->served.userdata);
}

static void call_find_and_run(VarlinkCall *call, const VarlinkRequest *request) {
        const VarlinkServer *server = call->connection->server;
        const char *dot = strrchr(request->method, '.');
        const VarlinkInterface *interface = server_find_interface(
                server, request->method, dot ? (size_t) (dot - request->method) : 0);
        const VarlinkMethod *method = interface ? ARRAY_FIND(each, interface->methods,
                                                             interface->n_methods,
                                                             text_equals(each->name, dot + 1))
                                                : NULL;

        if (method)
                call_run(call, method, request);
        else if (interface || !dot)
                call_error_about(call, VARLINK_ERROR_METHOD_NOT_FOUND, "method", request->method);
        else
                varlink_call_error(call, VARLINK_ERROR_INTERFACE_NOT_FOUND,
                                   json_pack("{s:s#}", "interface", request->method,
                                             (int) (dot - request->method)));
}

/* Returns the request in MESSAGE, valid until the next one is taken; NULL: it is none. Most clients send the same bytes
 * again and again, and parsing them is most of the work for a small reply. */
static const VarlinkRequest *parse_unless_last(VarlinkRequest *last, const char *message) {
        if (!last->text || strcmp(last->text, message) != 0) {
                varlink_request_done(last);
                varlink_request_parse(message, strlen(message), last);
        }
        return last->message ? last : NULL;
}

/* After a hang-up only one-way calls and calls of trusted users are run, because the others are of use only by their
 * answer. */
void call_take(Connection *c, const char *message) {
        const VarlinkRequest *request = parse_unless_last(&c->server->last_request, message);
        VarlinkCall *call = NULL;

        if (request && (!c->end.is_gone || request->oneway || c->peer.is_trusted))
                call = calloc(1, sizeof(*call));
        if (!call) {
                connection_send(c); /* earlier answers are still sent */
                connection_doom(c);
                return;
        }
        *call = (VarlinkCall){.connection = c, .more = request->more, .oneway = request->oneway};
        c->call = call;
        call_find_and_run(call, request);
        if (c->call && !c->call->closed)
                call_error_about(c->call, VARLINK_ERROR_METHOD_NOT_IMPLEMENTED, "method",
                                 request->method);
        if (c->call && c->call->more) {
                /* If the user has too many subscriptions, the newest replaces the oldest. */
                VarlinkPlaces *places = &c->server->places;
                VarlinkPlace *place;

                varlink_places_set_kind(places, &c->place, VARLINK_PLACE_SUBSCRIBED);
                place = c->place.user ? varlink_places_subscription_too_many(places, c->place.user)
                                      : NULL;
                if (place)
                        connection_evict(place->owner);
        }
}

/* ---- org.varlink.service ---- */

static void service_get_info(VarlinkCall *call, json_t *parameters UNUSED, void *userdata UNUSED) {
        VarlinkServer *server = call->connection->server;

        if (!server->served.info_text)
                server->served.info_text = varlink_text_new(
                        json_pack("{ss ss ss ss s[ss]}", "vendor", "The hugeplan project",
                                  "product", "hugeplan", "version", HUGEPLAN_VERSION, "url",
                                  "man:hugepland(8)", "interfaces", server->interfaces[0]->name,
                                  server->interfaces[1]->name),
                        true);
        varlink_call_reply_text(call, server->served.info_text);
}

static void service_get_interface_description(VarlinkCall *call, json_t *parameters,
                                              void *userdata UNUSED) {
        const char *name = json_string_value(json_object_get(parameters, "interface"));
        const VarlinkInterface *interface =
                server_find_interface(call->connection->server, name, strlen(name));

        if (interface)
                varlink_call_reply(call, json_pack("{s:s}", "description", interface->description));
        else
                call_error_about(call, VARLINK_ERROR_INTERFACE_NOT_FOUND, "interface", name);
}

static const VarlinkMethod service_methods[] = {
        {"GetInfo", service_get_info, 0, varlink_no_parameters},
        {"GetInterfaceDescription", service_get_interface_description, 0,
         (const VarlinkParameter[]){{"interface", VARLINK_STRING}, {}}},
};

const VarlinkInterface varlink_service_interface = {
        .name = VARLINK_SERVICE,
        .description = SERVICE_DESCRIPTION,
        .methods = service_methods,
        .n_methods = ARRAY_LEN(service_methods),
};
