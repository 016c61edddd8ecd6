/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A client: who waits for an answer of the manager. Its call is answered by the method that made it. */

#include "daemon/manager.h"
#include "ipc/varlink_server.h"
#include "units/loaded_unit.h"

/* A client that waits for an answer: a gate, a reload, or one that wants every change. */
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
                CLIENT_DESCRIBED, /* wants the status once */
        } kind;
        const char *instance; /* of a gate, a release or what was learned */
        Gate gate;
        bool may_try;            /* a round may be run for this gate */
        bool is_restart;         /* its database starts again, and its unit need not */
        json_t *learned;         /* what a gate says that its database takes; NULL: nothing */
        bool is_believed;        /* that is yet to count (see below): */
        const Learned *believed; /* NULL: what stands in the instance's file */
        const char *unit;        /* of which systemd is asked; NULL: who calls is not in it */
        UnitQuery *query;        /* under way */
        bool is_queued;          /* it follows when the one for the same unit is answered */
        bool is_riding; /* it was there before that was sent, so that its answer is for this one, too */
        bool is_due;      /* it is tried, or told, together with all others who have come by then */
        bool is_answered; /* a gate, whose answer goes out when what was noted for it is on disk: */
        json_t *answer;
        const char *error; /* which that is; NULL: it may start */
        uint64_t stored; /* the number of what is on its way to the disk for it (store.h); 0: nothing */
        const char *unkept; /* why it is not there; NULL: it is */
        LoopTimer timer, patience;
        void (*on_end)(Client *client); /* NULL: nobody has to know */
};

/* For CALL; INSTANCE may be NULL. */
Client *client_new(Manager *manager, VarlinkCall *call, const char *instance);
/* Forgets the client; its call must have been answered or be gone. */
void client_end(Client *client);
/* It is tried, or told, as soon as all are heard who have something to say now. */
void client_make_due(Client *client);
/* A reload has removed its instance. */
void client_end_gone(Client *client);
/* There is no such instance; ends CALL. */
void client_refuse_name(VarlinkCall *call, const char *instance);

/* Ends all clients without an answer, when the daemon stops. */
void clients_drop(Manager *manager);

/* ---- gates: clients who wait until their instance's pages stand (gates.c) ---- */

/* The method Wait. */
void gate_wait(VarlinkCall *call, json_t *parameters, void *userdata);
/* Before the first of those is tried who are tried in one go, for each of them. */
void gate_begin(Client *client);
/* Units have been read anew: who starts is asked of systemd again, with the policy that it starts with now. */
void gates_ask_again(Manager *manager);
/* Looks whether the gate can be answered; else it waits on. True: a round is wanted for it. CLIENT may be gone then. */
bool gate_try(Client *client, GateView *view);
/* After the last, for those who are answered; ends the client. Whether it starts. */
bool gate_answer(Client *client);

/* ---- beliefs (belief.c) ---- */

/* What is said of how much a database takes, and who is believed: of a unit that starts, the process that systemd has
 * as its control or main process, once for each start; of a database that starts again within its unit, a process of
 * that unit and of its user, at most every ten seconds; and root. Everybody else waits like anybody, and what he says
 * counts for nothing. */

/* CLIENT is a gate, and UNIT, where it starts or runs, what systemd says of it (NULL: of its group there is no more than
 * that it starts): what CLIENT has said counts from beliefs_adopt() on, or is told to be ignored. */
void belief_take(Client *client, const LoadedUnit *unit);

/* What clients were believed since the last time counts from now on, and a round is run where that takes one, so that
 * clients may be gone then. It is kept, by the files of the configuration, at which one look is for all of them. */
void beliefs_adopt(Manager *manager);

/* Somebody has said it who does not start. */
void belief_ignore(const Client *client, const char *why);

/* The method Learn. */
void belief_learn(VarlinkCall *call, json_t *parameters, void *userdata);
