/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/vec.h"
#include "support/testing.h"

typedef VEC(uint64_t) Numbers;

static Numbers numbers(Arena *arena, uint64_t n) {
        Numbers all = {};

        for (uint64_t i = 0; i < n; i++)
                *vec_push(arena, &all) = i;
        return all;
}

static int downwards(const void *a, const void *b) {
        const uint64_t *first = a, *second = b;

        return *first > *second ? -1 : *first < *second;
}

TEST(nothing) {
        Numbers none = {};
        uint64_t *array = NULL;

        assert_null(VEC_FIND(number, &none, *number == 0));
        assert_false(ARRAY_ANY(number, array, 0, *number == 0));
        assert_int_equal(VEC_SUM(number, &none, *number), 0);
        VEC_KEEP(number, &none, *number > 0);
        vec_sort(&none, downwards);
        assert_int_equal(none.n, 0);
}

TEST(find) {
        Numbers all = numbers(arena, 20);

        assert_ptr_equal(VEC_FIND(number, &all, *number > 7), &all.items[8]);
        assert_null(VEC_FIND(number, &all, *number > 19));
        assert_true(VEC_ANY(number, &all, *number == 19));
        /* One within the other. */
        assert_int_equal(
                *VEC_FIND(number, &all, VEC_ANY(other, &all, *other > 0 && *number == *other * 13)),
                13);
}

TEST(sum) {
        Numbers all = numbers(arena, 5);

        assert_int_equal(VEC_SUM(number, &all, *number > 1 ? *number : 0), 9);
        assert_int_equal(ARRAY_SUM(number, all.items, 2, *number), 1);
        *vec_push(arena, &all) = UINT64_MAX;
        assert_true(VEC_SUM(number, &all, *number) == UINT64_MAX);
}

TEST(keep) {
        Numbers all = numbers(arena, 10), more = numbers(arena, 3);

        VEC_KEEP(number, &all, *number % 4 == 1);
        vec_push_all(arena, &all, &more);
        assert_int_equal(all.n, 6);
        assert_int_equal(all.items[2], 9);
        assert_int_equal(all.items[3], 0);
        assert_int_equal(all.items[5], 2);
}

TEST(seek) {
        Numbers all = numbers(arena, 9);
        uint64_t *array = NULL;

        for (uint64_t i = 0; i < 9; i++)
                assert_ptr_equal(VEC_SEEK(number, &all, i < *number ? -1 : i > *number),
                                 &all.items[i]);
        assert_null(VEC_SEEK(number, &all, 1 + (int) *number));
        assert_null(ARRAY_SEEK(number, array, 0, 0));
        /* An unsorted array is searched, too. */
        all.items[8] = 0;
        all.items[0] = 8;
        assert_ptr_equal(VEC_SEEK(number, &all, 8 < *number ? -1 : 8 > *number), &all.items[0]);
}

TEST(sort) {
        Numbers all = numbers(arena, 9);

        vec_sort(&all, downwards);
        assert_int_equal(all.items[0], 8);
        assert_int_equal(all.items[8], 0);
}
