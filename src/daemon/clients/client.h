/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Clients that wait for the manager. A call is answered by the method that created its client. */

#include "daemon/manager.h"
#include "ipc/varlink_server.h"
#include "units/loaded_unit.h"

/* A gate's answer, which is sent after its hold is on disk. */
typedef struct ClientAnswer {
        bool is_ready;
        const char *error; /* the refusal; NULL: the unit may start */
        json_t *parameters;
} ClientAnswer;

/* A client that waits for an answer: a gate, a reload, or a subscriber. */
struct Client {
        Client *previous, *next;
        Manager *manager;
        Arena *arena;
        VarlinkCall *call;
        enum {
                CLIENT_GATE,
                CLIENT_RELOAD,
                CLIENT_RELEASE,
                CLIENT_LEARN,
                CLIENT_SUBSCRIBER,
                CLIENT_DESCRIBED, /* waits for one status */
                CLIENT_PLANNED,   /* waits for the plan */
        } kind;
        const char *instance; /* of a gate, a release or a learned size */
        bool is_due;          /* to be tried together with all clients that have called by then */
        bool is_brief;        /* is told little of each instance */
        /* A call of Wait. */
        struct {
                Gate gate;
                bool may_try;    /* a round may be run for this gate */
                bool is_restart; /* the database restarts within its running unit */
                LoopTimer timer; /* its timeout */
                ClientAnswer answer;
        } wait;
        /* The query whether the unit of a gate is starting, if the caller is in it. One is sent at a time for each unit. */
        struct {
                UnitQuery *query; /* pending */
                bool is_queued;   /* waits for the query for the same unit */
                bool is_riding; /* came before that query was sent, so that the answer is valid for it, too */
                void (*on_end)(Client *client); /* NULL: there is none to be withdrawn */
        } asking;
        /* The size that a gate or `hugeplanctl learn` reports (belief.c). */
        struct {
                json_t *reported;        /* NULL: none */
                const Learned *accepted; /* and not in effect yet; NULL: none */
                bool is_in_file; /* none is reported, and the one in the file is not in effect yet */
                uint64_t stored;    /* the number of its pending write (store.h); 0: none */
                LoopTimer patience; /* limits the wait for that write */
                const char *unkept; /* why the size is not stored; NULL: it is */
        } size;
};

/* Creates a client for CALL; INSTANCE may be NULL. */
Client *client_new(Manager *manager, VarlinkCall *call, const char *instance);
/* Frees the client; its call must have been answered or have ended. */
void client_end(Client *client);
/* Has the client tried as soon as all pending messages have been read. */
void client_make_due(Client *client);
/* Answers that a reload has removed the instance. */
void client_end_gone(Client *client);
/* Ends CALL with NoSuchInstance. */
void client_refuse_name(VarlinkCall *call, const char *instance);

/* Frees all clients without an answer, when the daemon stops. */
void clients_drop(Manager *manager);

/* ---- gates: clients who wait until their instance's pages stand (gates.c) ---- */

/* The method Wait. */
void gate_wait(VarlinkCall *call, json_t *parameters, void *userdata);
/* Called for each of the gates that are tried together, before the first is tried. */
void gate_begin(Client *client);
/* systemd has read its units again: queries it again for starting units, which may have another memory policy now. */
void gates_ask_again(Manager *manager);
/* Answers the gate if that is possible. Returns true if a round is wanted for it. CLIENT may be freed. */
bool gate_try(Client *client, GateView *view);
/* Sends the answer and frees the client, after the last gate was tried. Returns whether the unit starts. */
bool gate_answer(Client *client);

/* ---- beliefs (belief.c) ---- */

/* Reported sizes are accepted only from the control or main process of a unit that is starting, once for each start;
 * from a process of the unit and its user for a restart within the unit, at most every ten seconds; and from root. A
 * report of any other caller is ignored, and the caller waits like a query. */

/* Accepts the report of the gate CLIENT, with effect from beliefs_adopt() on, or logs that it is ignored. UNIT is what
 * systemd says of the unit; NULL: only that it is starting is known. */
void belief_take(Client *client, const LoadedUnit *unit);

/* Puts all accepted reports into effect and stores them; runs a round if that is necessary, by which clients may be
 * freed. */
void beliefs_adopt(Manager *manager);

/* Logs that the report of a client that is not starting is ignored. */
void belief_ignore(const Client *client, const char *why);

/* The method Learn. */
void belief_learn(VarlinkCall *call, json_t *parameters, void *userdata);

/* ---- all clients (clients.c) ---- */

/* The methods of org.hugeplan.Manager. */
extern const VarlinkInterface manager_interface;

/* The manager's listener: between two writes it answers gates whose instance has all its pages already; it informs
 * subscribers; and it answers clients when a round has ended. */
void clients_notify(Manager *manager, ManagerNews news);
