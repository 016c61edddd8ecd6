/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A client: who waits for an answer of the manager. Its call is answered by the method that made it. */

#include "daemon/manager.h"
#include "ipc/varlink_server.h"

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
        bool is_believed;        /* that is yet to count (belief.h): */
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
