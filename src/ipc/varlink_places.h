/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Who has a place at the server, who loses it when all are taken, and whose turn is next. Decisions only:
 * the sockets are the server's.
 *
 * Users share, not connections, for of connections anybody can have as many as he likes. When a place is
 * wanted and none is left, it is taken from the user who has most of those that can be taken: first what is
 * idle, the longest first; then subscriptions; then calls that wait. A place that is kept is never taken,
 * nor is one of a trusted user.
 *
 * A call is run by its class, lower ones first; within a class the user is next who has used least time of
 * late, and of his connections the one that has waited longest. */

#include "base/macros.h"

#include <sys/types.h>

typedef enum VarlinkPlaceKind {
        VARLINK_PLACE_IDLE,       /* nothing is asked */
        VARLINK_PLACE_SUBSCRIBED, /* a call with several replies */
        VARLINK_PLACE_WAITING,    /* for its turn, or for an answer */
        VARLINK_PLACE_KEPT,       /* the same, and it is not taken away */
        VARLINK_PLACE_KINDS,
} VarlinkPlaceKind;

enum { VARLINK_CALL_CLASSES = 3 };

typedef struct VarlinkUser VarlinkUser;
typedef struct VarlinkPlace VarlinkPlace;

typedef struct VarlinkPlaceList {
        VarlinkPlace *first, *last;
        size_t n;
} VarlinkPlaceList;

/* The lists that a place is in: of its kind, and of its class where it is queued. */
typedef enum VarlinkLinkKind {
        VARLINK_OF_KIND,
        VARLINK_OF_QUEUE,
        VARLINK_LINK_KINDS
} VarlinkLinkKind;

typedef struct VarlinkLink {
        VarlinkPlace *previous, *next;
} VarlinkLink;

/* One connection's. */
struct VarlinkPlace {
        void *owner;
        VarlinkUser *user; /* NULL: it has none, or none any more */
        VarlinkPlaceKind kind;
        uint64_t since; /* a number that grows: when it became what it is */
        bool is_queued;
        unsigned class; /* of the call that waits for its turn */
        VarlinkLink links[VARLINK_LINK_KINDS];
};

struct VarlinkUser {
        uid_t uid;
        bool is_trusted;
        VarlinkPlaceList places[VARLINK_PLACE_KINDS];
        size_t n_places;
        VarlinkPlaceList queues[VARLINK_CALL_CLASSES];
        size_t n_queued;
        uint64_t spent_usec; /* that his calls took; never far behind that of others */
        VarlinkUser *next;
};

typedef struct VarlinkPlaces {
        size_t n_max;         /* places of all, but those of trusted users */
        size_t per_user;      /* of one who is not trusted */
        size_t kept_per_user; /* of these, that are kept */
        size_t subscriptions; /* of one who is not trusted */
        size_t n, n_queued;
        uint64_t n_changes;
        uint64_t spent_usec; /* of the user whose turn was last */
        VarlinkUser *users;
} VarlinkPlaces;

/* Gives PLACE to OWNER, a connection of UID, as the newest idle one. -ENOMEM. */
int varlink_places_enter(VarlinkPlaces *places, VarlinkPlace *place, void *owner, uid_t uid,
                         bool is_trusted);
/* Also from the queue; nothing happens where it has none. */
void varlink_places_leave(VarlinkPlaces *places, VarlinkPlace *place);

/* What it is from now on; KEPT is WAITING where its user has enough of them. */
void varlink_places_set_kind(VarlinkPlaces *places, VarlinkPlace *place, VarlinkPlaceKind kind);

/* Which place another connection of UID, who is not trusted, would cost; NULL: there is room, or nothing
 * that could be taken. */
VarlinkPlace *varlink_places_price(const VarlinkPlaces *places, uid_t uid);
/* Which place is to be taken away: NEWCOMER, which has one, is one too many. It may be NEWCOMER; NULL: none. */
VarlinkPlace *varlink_places_one_too_many(const VarlinkPlaces *places, VarlinkPlace *newcomer);
/* Any place that can be taken away, for want of something else; NULL: there is none. */
VarlinkPlace *varlink_places_spare(const VarlinkPlaces *places);
/* The oldest subscription of a user who has too many; NULL: he has not. */
VarlinkPlace *varlink_places_subscription_too_many(const VarlinkPlaces *places,
                                                   const VarlinkUser *user);

/* Its call waits for its turn, as the last of its user and class. */
void varlink_places_queue(VarlinkPlaces *places, VarlinkPlace *place, unsigned class);
void varlink_places_unqueue(VarlinkPlaces *places, VarlinkPlace *place);
/* Whose turn it is, still queued; NULL: nobody's. */
VarlinkPlace *varlink_places_next(VarlinkPlaces *places);
/* What a turn of UID took, who may have left with it. */
void varlink_places_charge(VarlinkPlaces *places, uid_t uid, uint64_t usec);
