/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which connection loses its place, and whose call is next, without sockets. */

#include "ipc/varlink_places.h"

#include "support/testing.h"

enum { ROOT, A, B, C, USERS, MANY = 40 };

typedef struct Play {
        VarlinkPlaces places;
        VarlinkPlace of[USERS][MANY];
        size_t n[USERS];
} Play;

static Play play_of(size_t n_max, size_t per_user) {
        return (Play){.places = {.n_max = n_max,
                                 .per_user = per_user,
                                 .kept_per_user = per_user / 2,
                                 .subscriptions = 3}};
}

static VarlinkPlace *enter(Play *play, unsigned user) {
        VarlinkPlace *place = &play->of[user][play->n[user]++];

        assert_int_equal(
                varlink_places_enter(&play->places, place, place, (uid_t) user, user == ROOT), 0);
        return place;
}

static void enter_many(Play *play, unsigned user, size_t n, VarlinkPlaceKind kind) {
        for (size_t i = 0; i < n; i++)
                varlink_places_set_kind(&play->places, enter(play, user), kind);
}

/* The place that a connection of another user costs if there is no room. */
static VarlinkPlace *spare(Play *play) {
        VarlinkPlace *price;

        play->places.n_max = play->places.n;
        varlink_places_find_room(&play->places, USERS, &price);
        return price;
}

static void leave_all(Play *play) {
        for (unsigned user = 0; user < USERS; user++)
                for (size_t i = 0; i < play->n[user]; i++)
                        varlink_places_leave(&play->places, &play->of[user][i]);
        assert_null(play->places.users);
        assert_int_equal(play->places.n, 0);
        assert_int_equal(play->places.n_queued, 0);
}

/* The place that another connection of USER costs; NULL: none. */
static VarlinkPlace *price_for(const Play *play, unsigned user) {
        VarlinkPlace *price;

        assert_true(varlink_places_find_room(&play->places, (uid_t) user, &price));
        return price;
}

TEST(room) {
        Play play = play_of(4, 3);
        VarlinkPlace *price;

        enter_many(&play, ROOT, 10, VARLINK_PLACE_IDLE);
        for (size_t i = 0; i < 3; i++) {
                assert_null(price_for(&play, A));
                enter(&play, A);
        }
        assert_ptr_equal(price_for(&play, A), &play.of[A][0]);
        assert_null(price_for(&play, B));
        enter(&play, B);
        assert_ptr_equal(price_for(&play, B), &play.of[A][0]);
        for (size_t i = 0; i < 3; i++)
                varlink_places_set_kind(&play.places, &play.of[A][i], VARLINK_PLACE_KEPT);
        assert_ptr_equal(price_for(&play, A), &play.of[A][1]); /* one is kept, see play_of() */
        varlink_places_leave(&play.places, &play.of[A][1]);
        varlink_places_leave(&play.places, &play.of[A][2]);
        play.places.n_max = play.places.n = 2;
        varlink_places_set_kind(&play.places, &play.of[B][0], VARLINK_PLACE_KEPT);
        assert_false(varlink_places_find_room(&play.places, C, &price));
        assert_null(price);
        leave_all(&play);
}

/* The user with the most places; of users with equally many, the least valuable connection. */
TEST(which_place_is_lost) {
        Play play = play_of(30, 20);

        enter_many(&play, A, 5, VARLINK_PLACE_WAITING);
        enter_many(&play, B, 4, VARLINK_PLACE_IDLE);
        assert_ptr_equal(spare(&play), &play.of[A][0]);
        enter_many(&play, B, 1, VARLINK_PLACE_SUBSCRIBED);
        assert_ptr_equal(spare(&play), &play.of[B][0]);
        enter_many(&play, C, 10, VARLINK_PLACE_KEPT);
        assert_ptr_equal(spare(&play), &play.of[B][0]);
        enter_many(&play, ROOT, 20, VARLINK_PLACE_IDLE);
        assert_ptr_equal(spare(&play), &play.of[B][0]);
        leave_all(&play);
        assert_null(spare(&play));
}

/* A user with as many as the largest one loses its own. */
TEST(among_equals) {
        Play play = play_of(10, 8);

        enter_many(&play, A, 5, VARLINK_PLACE_IDLE);
        enter_many(&play, B, 5, VARLINK_PLACE_IDLE);
        assert_ptr_equal(price_for(&play, A), &play.of[A][0]);
        assert_ptr_equal(price_for(&play, B), &play.of[B][0]);
        assert_ptr_equal(price_for(&play, C), &play.of[A][0]);
        leave_all(&play);
}

/* So many are kept, and no more. */
TEST(kept) {
        Play play = play_of(10, 8);

        enter_many(&play, A, 6, VARLINK_PLACE_WAITING);
        for (size_t i = 0; i < 6; i++)
                varlink_places_set_kind(&play.places, &play.of[A][i], VARLINK_PLACE_KEPT);
        assert_ptr_equal(spare(&play), &play.of[A][4]);
        enter_many(&play, B, 4, VARLINK_PLACE_KEPT);
        assert_ptr_equal(price_for(&play, C), &play.of[A][4]);
        varlink_places_leave(&play.places, &play.of[A][4]);
        varlink_places_leave(&play.places, &play.of[A][5]);
        enter_many(&play, ROOT, 1, VARLINK_PLACE_KEPT);
        assert_null(spare(&play));
        leave_all(&play);
}

TEST(subscriptions) {
        Play play = play_of(100, 50);

        for (size_t i = 0; i < 5; i++) {
                enter_many(&play, A, 1, VARLINK_PLACE_SUBSCRIBED);
                enter_many(&play, ROOT, 1, VARLINK_PLACE_SUBSCRIBED);
                VarlinkPlace *place =
                        varlink_places_subscription_too_many(&play.places, play.of[A][i].user);

                assert_ptr_equal(place, i < 3 ? NULL : &play.of[A][i - 3]);
                if (place)
                        varlink_places_leave(&play.places, place);
                assert_null(
                        varlink_places_subscription_too_many(&play.places, play.of[ROOT][i].user));
        }
        leave_all(&play);
}

/* Takes the next turn, which takes USEC. */
static VarlinkPlace *turn(Play *play, uint64_t usec) {
        VarlinkPlace *place = varlink_places_next(&play->places);

        if (!place)
                return NULL;
        uid_t uid = place->user->uid;

        varlink_places_unqueue(&play->places, place);
        varlink_places_charge(&play->places, uid, usec);
        return place;
}

/* Each user gets a share of the time, whatever the number and duration of others' calls, and a new user waits for
 * one call at most. */
TEST(shares) {
        Play play = play_of(100, 50);
        uint64_t usec[USERS] = {};

        for (size_t i = 0; i < MANY; i++)
                varlink_places_queue(&play.places, enter(&play, A));
        varlink_places_queue(&play.places, enter(&play, B));
        for (size_t i = 0; i < 1000; i++) {
                VarlinkPlace *place = varlink_places_next(&play.places);
                bool is_a = place->user->uid == A;

                usec[place->user->uid] += is_a ? 900 : 300;
                turn(&play, is_a ? 900 : 300);
                varlink_places_queue(&play.places, place);
        }
        assert_uint_in_range(usec[A], usec[B] * 9 / 10, usec[B] * 11 / 10);
        /* A silent user has saved nothing. */
        VarlinkPlace *newcomer = enter(&play, C);

        varlink_places_queue(&play.places, newcomer);
        for (size_t i = 0; i < 3 && newcomer->is_queued; i++)
                turn(&play, 900);
        assert_false(newcomer->is_queued);
        leave_all(&play);
}

/* A user leaves while its call is queued. */
TEST(leaving) {
        Play play = play_of(100, 50);

        for (size_t i = 0; i < 3; i++)
                varlink_places_queue(&play.places, enter(&play, A));
        varlink_places_leave(&play.places, &play.of[A][1]);
        varlink_places_leave(&play.places, &play.of[A][1]); /* no call left */
        assert_ptr_equal(turn(&play, 1), &play.of[A][0]);
        assert_ptr_equal(turn(&play, 1), &play.of[A][2]);
        assert_null(turn(&play, 1));
        varlink_places_charge(&play.places, C, 5); /* of an unknown user */
        leave_all(&play);
}
