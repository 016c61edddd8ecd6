/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Clients from within: their methods (clients.c), and those of them that are gates (gates.c). */

#include "daemon/clients.h"

/* A client that waits for an answer: a gate, a reload, or one that wants every change. */
struct Client {
        Client *next;
        Manager *manager;
        Arena *arena;
        VarlinkCall *call;
        enum { CLIENT_GATE, CLIENT_RELOAD, CLIENT_RELEASE, CLIENT_GROW, CLIENT_SUBSCRIBER } kind;
        const char *instance; /* of a gate, a release or a growth */
        Gate gate;
        bool may_try;     /* a round may be run for this gate */
        bool is_restart;  /* its database starts again, and its unit need not */
        const char *unit; /* of which systemd is asked; NULL: who calls is not in it */
        UnitQuery *query; /* under way */
        bool is_queued;   /* it follows when the one for the same unit is answered */
        bool is_riding; /* it was there before that was sent, so that its answer is for this one, too */
        bool is_told; /* what systemd says, just now */
        sd_event_source *timer;
};

/* ---- clients.c ---- */

/* For CALL; INSTANCE may be NULL. */
Client *client_new(Manager *manager, VarlinkCall *call, const char *instance);
/* Forgets the client; its call must have been answered or be gone. */
void client_end(Client *client);
/* A reload has removed its instance. */
void client_end_gone(Client *client);
/* There is no such instance; ends CALL. */
void client_refuse_name(VarlinkCall *call, const char *instance);
/* Tries the gates of whom systemd has just said whether they start. */
void clients_notify_told(Manager *manager);

/* ---- gates.c ---- */

/* The method Wait. */
void gate_wait(VarlinkCall *call, json_t *parameters, void *userdata);
/* VIEW is for all gates that are tried in one go, {} before the first. */
void gate_view_done(GateView *view); /* for CLEANUP() */
/* Looks whether the gate can be answered. While it has to wait the client lives on; true: a round is
 * wanted for it. */
bool gate_try(Client *client, GateView *view);
/* The client is gone: systemd is asked for those who come after. */
void gate_forget(Client *client);
