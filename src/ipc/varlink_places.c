/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ipc/varlink_places.h"

#include "base/size.h"

#include <stdlib.h>

/* ---- lists ---- */

static void list_add(VarlinkPlaceList *list, VarlinkPlace *place, VarlinkLinkKind kind) {
        place->links[kind] = (VarlinkLink){.previous = list->last};
        *(list->last ? &list->last->links[kind].next : &list->first) = place;
        list->last = place;
        list->n++;
}

static void list_remove(VarlinkPlaceList *list, VarlinkPlace *place, VarlinkLinkKind kind) {
        const VarlinkLink link = place->links[kind];

        *(link.previous ? &link.previous->links[kind].next : &list->first) = link.next;
        *(link.next ? &link.next->links[kind].previous : &list->last) = link.previous;
        list->n--;
}

/* ---- users ---- */

static VarlinkUser *find_user(const VarlinkPlaces *places, uid_t uid) {
        for (VarlinkUser *user = places->users; user; user = user->next)
                if (user->uid == uid)
                        return user;
        return NULL;
}

/* ---- places ---- */

int varlink_places_enter(VarlinkPlaces *places, VarlinkPlace *place, void *owner, uid_t uid,
                         bool is_trusted) {
        VarlinkUser *user = find_user(places, uid);

        if (!user) {
                user = calloc(1, sizeof(*user));
                if (!user)
                        return -ENOMEM;
                *user = (VarlinkUser){.uid = uid,
                                      .is_trusted = is_trusted,
                                      .spent_usec = places->spent_usec,
                                      .next = places->users};
                places->users = user;
        }
        *place = (VarlinkPlace){.owner = owner, .user = user, .since = ++places->n_changes};
        list_add(&user->places[VARLINK_PLACE_IDLE], place, VARLINK_OF_KIND);
        user->n_places++;
        places->n += !user->is_trusted;
        return 0;
}

void varlink_places_leave(VarlinkPlaces *places, VarlinkPlace *place) {
        VarlinkUser *user = place->user;

        if (!user)
                return;
        varlink_places_unqueue(places, place);
        list_remove(&user->places[place->kind], place, VARLINK_OF_KIND);
        places->n -= !user->is_trusted;
        place->user = NULL;
        if (--user->n_places == 0) {
                /* A user without connections is forgotten. If it comes back, it counts like a new user, whose calls
                 * come after those that wait already. */
                VarlinkUser **at = &places->users;

                while (*at != user)
                        at = &(*at)->next;
                *at = user->next;
                free(user);
        }
}

void varlink_places_set_kind(VarlinkPlaces *places, VarlinkPlace *place, VarlinkPlaceKind kind) {
        VarlinkUser *user = place->user;

        if (!user || place->kind == kind)
                return;
        if (kind == VARLINK_PLACE_KEPT &&
            user->places[VARLINK_PLACE_KEPT].n >= places->kept_per_user && !user->is_trusted)
                return;
        list_remove(&user->places[place->kind], place, VARLINK_OF_KIND);
        place->kind = kind;
        place->since = ++places->n_changes;
        list_add(&user->places[kind], place, VARLINK_OF_KIND);
}

/* The oldest place of the lowest kind. */
static VarlinkPlace *takeable_of(const VarlinkUser *user) {
        for (unsigned kind = 0; kind < VARLINK_PLACE_KEPT; kind++)
                if (user->places[kind].first)
                        return user->places[kind].first;
        return NULL;
}

/* The place to be taken from the user with most places; among users with the same number, the lowest kind. */
static VarlinkPlace *find_spare(const VarlinkPlaces *places) {
        VarlinkPlace *spare = NULL;
        size_t most = 0;

        for (const VarlinkUser *user = places->users; user; user = user->next) {
                size_t n = user->is_trusted ? 0
                                            : user->n_places - user->places[VARLINK_PLACE_KEPT].n;
                VarlinkPlace *place = n > 0 && n >= most ? takeable_of(user) : NULL;

                if (!place ||
                    (n == most && (place->kind != spare->kind ? place->kind > spare->kind
                                                              : place->since >= spare->since)))
                        continue;
                spare = place;
                most = n;
        }
        return spare;
}

/* Users with the same number do not take places from each other: each pays with its own. */
static VarlinkPlace *find_price(const VarlinkPlaces *places, const VarlinkUser *user) {
        VarlinkPlace *own = user ? takeable_of(user) : NULL;
        VarlinkPlace *spare = find_spare(places);

        return own && (!spare || spare->user->n_places <= user->n_places + 1) ? own : spare;
}

bool varlink_places_find_room(const VarlinkPlaces *places, uid_t uid, VarlinkPlace **ret) {
        const VarlinkUser *user = find_user(places, uid);
        bool has_all = user && user->n_places >= places->per_user;

        *ret = has_all                      ? takeable_of(user)
               : places->n >= places->n_max ? find_price(places, user)
                                            : NULL;
        return *ret || (!has_all && places->n < places->n_max);
}

VarlinkPlace *varlink_places_subscription_too_many(const VarlinkPlaces *places,
                                                   const VarlinkUser *user) {
        const VarlinkPlaceList *list = &user->places[VARLINK_PLACE_SUBSCRIBED];

        return !user->is_trusted && list->n > places->subscriptions ? list->first : NULL;
}

/* ---- turns ---- */

/* A user without calls gains no advantage by waiting. */
void varlink_places_queue(VarlinkPlaces *places, VarlinkPlace *place) {
        VarlinkUser *user = place->user;

        if (!user || place->is_queued)
                return;
        if (user->queue.n == 0)
                user->spent_usec = MAX(user->spent_usec, places->spent_usec);
        place->is_queued = true;
        list_add(&user->queue, place, VARLINK_OF_QUEUE);
        places->n_queued++;
}

void varlink_places_unqueue(VarlinkPlaces *places, VarlinkPlace *place) {
        if (!place->user || !place->is_queued)
                return;
        list_remove(&place->user->queue, place, VARLINK_OF_QUEUE);
        place->is_queued = false;
        places->n_queued--;
}

VarlinkPlace *varlink_places_next(VarlinkPlaces *places) {
        const VarlinkUser *next = NULL;

        for (const VarlinkUser *user = places->users; user; user = user->next)
                if (user->queue.n > 0 && (!next || user->spent_usec < next->spent_usec))
                        next = user;
        return next ? next->queue.first : NULL;
}

/* Even the shortest turn counts. */
void varlink_places_charge(VarlinkPlaces *places, uid_t uid, uint64_t usec) {
        VarlinkUser *user = find_user(places, uid);

        if (!user)
                return;
        places->spent_usec = MAX(places->spent_usec, user->spent_usec);
        user->spent_usec += usec + 1;
}
