/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Places of connections: which connection has one, which loses it when all are taken, and whose call is run next. Only
 * decisions; the sockets are the server's.
 *
 * Places are shared between users, because any user can open any number of connections. If no place is left, one is
 * taken from the user with most places that can be taken: the longest idle connection first, then subscriptions, then
 * waiting calls. A kept place is never taken, nor that of a trusted user.
 *
 * Calls are run by user: the one that has used least time recently is next, with the connection that has waited
 * longest. */

#include "base/macros.h"

#include <sys/types.h>

typedef enum VarlinkPlaceKind {
        VARLINK_PLACE_IDLE,       /* no call */
        VARLINK_PLACE_SUBSCRIBED, /* a call with several replies */
        VARLINK_PLACE_WAITING,    /* for its turn, or for an answer */
        VARLINK_PLACE_KEPT,       /* the same, and the place is not taken */
        VARLINK_PLACE_KINDS,
} VarlinkPlaceKind;

typedef struct VarlinkUser VarlinkUser;
typedef struct VarlinkPlace VarlinkPlace;

typedef struct VarlinkPlaceList {
        VarlinkPlace *first, *last;
        size_t n;
} VarlinkPlaceList;

/* The lists of a place: of its kind and, if it is queued, of the user's calls. */
typedef enum VarlinkLinkKind {
        VARLINK_OF_KIND,
        VARLINK_OF_QUEUE,
        VARLINK_LINK_KINDS
} VarlinkLinkKind;

typedef struct VarlinkLink {
        VarlinkPlace *previous, *next;
} VarlinkLink;

/* The place of one connection. */
struct VarlinkPlace {
        void *owner;
        VarlinkUser *user; /* NULL: the connection has no place */
        VarlinkPlaceKind kind;
        uint64_t since; /* the order in which places became their kind */
        bool is_queued;
        VarlinkLink links[VARLINK_LINK_KINDS];
};

struct VarlinkUser {
        uid_t uid;
        bool is_trusted;
        VarlinkPlaceList places[VARLINK_PLACE_KINDS];
        size_t n_places;
        VarlinkPlaceList queue;
        uint64_t spent_usec; /* of its calls; never far behind that of other users */
        VarlinkUser *next;
};

typedef struct VarlinkPlaces {
        size_t n_max;         /* of all untrusted users */
        size_t per_user;      /* of one who is not trusted */
        size_t kept_per_user; /* of one untrusted user, kept */
        size_t subscriptions; /* of one who is not trusted */
        size_t n, n_queued;
        uint64_t n_changes;
        uint64_t spent_usec; /* of the user whose call was run last */
        VarlinkUser *users;
} VarlinkPlaces;

/* Gives PLACE to OWNER, a connection of UID, as the newest idle one. -ENOMEM. */
int varlink_places_enter(VarlinkPlaces *places, VarlinkPlace *place, void *owner, uid_t uid,
                         bool is_trusted);
/* Removes PLACE, also from the queue; no effect if it is not in use. */
void varlink_places_leave(VarlinkPlaces *places, VarlinkPlace *place);

/* Sets the kind; KEPT becomes WAITING if the user has too many kept places. */
void varlink_places_set_kind(VarlinkPlaces *places, VarlinkPlace *place, VarlinkPlaceKind kind);

/* Returns whether another connection of UID, an untrusted user, can have a place, and in *RET the place to be taken for
 * it; NULL: there is room. */
bool varlink_places_find_room(const VarlinkPlaces *places, uid_t uid, VarlinkPlace **ret);
/* The oldest subscription of USER if it has too many; else NULL. */
VarlinkPlace *varlink_places_subscription_too_many(const VarlinkPlaces *places,
                                                   const VarlinkUser *user);

/* Queues the place's call as the last of its user. */
void varlink_places_queue(VarlinkPlaces *places, VarlinkPlace *place);
void varlink_places_unqueue(VarlinkPlaces *places, VarlinkPlace *place);
/* The place whose call is next, which stays queued; NULL: none. */
VarlinkPlace *varlink_places_next(VarlinkPlaces *places);
/* Adds the time of a turn to UID, which may have no place any more. */
void varlink_places_charge(VarlinkPlaces *places, uid_t uid, uint64_t usec);
