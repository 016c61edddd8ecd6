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

static void test_nothing(void **state) {
        Numbers none = {};
        uint64_t *array = NULL;

        (void) state;
        assert_null(VEC_FIND(number, &none, *number == 0));
        assert_false(ARRAY_ANY(number, array, 0, *number == 0));
        assert_int_equal(VEC_SUM(number, &none, *number), 0);
        VEC_KEEP(number, &none, *number > 0);
        vec_sort(&none, downwards);
        assert_int_equal(none.n, 0);
}

static void test_find(void **state) {
        Numbers all = numbers(*state, 20);

        assert_ptr_equal(VEC_FIND(number, &all, *number > 7), &all.items[8]);
        assert_null(VEC_FIND(number, &all, *number > 19));
        assert_true(VEC_ANY(number, &all, *number == 19));
        /* One within the other. */
        assert_int_equal(
                *VEC_FIND(number, &all, VEC_ANY(other, &all, *other > 0 && *number == *other * 13)),
                13);
}

static void test_sum(void **state) {
        Numbers all = numbers(*state, 5);

        assert_int_equal(VEC_SUM(number, &all, *number > 1 ? *number : 0), 9);
        assert_int_equal(ARRAY_SUM(number, all.items, 2, *number), 1);
        *vec_push(*state, &all) = UINT64_MAX;
        assert_true(VEC_SUM(number, &all, *number) == UINT64_MAX);
}

static void test_keep(void **state) {
        Numbers all = numbers(*state, 10), more = numbers(*state, 3);

        VEC_KEEP(number, &all, *number % 4 == 1);
        vec_push_all(*state, &all, &more);
        assert_int_equal(all.n, 6);
        assert_int_equal(all.items[2], 9);
        assert_int_equal(all.items[3], 0);
        assert_int_equal(all.items[5], 2);
}

static void test_seek(void **state) {
        Numbers all = numbers(*state, 9);
        uint64_t *array = NULL;

        for (uint64_t i = 0; i < 9; i++)
                assert_ptr_equal(VEC_SEEK(number, &all, i < *number ? -1 : i > *number),
                                 &all.items[i]);
        assert_null(VEC_SEEK(number, &all, 1 + (int) *number));
        assert_null(ARRAY_SEEK(number, array, 0, 0));
        /* What is in no order is found too. */
        all.items[8] = 0;
        all.items[0] = 8;
        assert_ptr_equal(VEC_SEEK(number, &all, 8 < *number ? -1 : 8 > *number), &all.items[0]);
}

static void test_sort(void **state) {
        Numbers all = numbers(*state, 9);

        vec_sort(&all, downwards);
        assert_int_equal(all.items[0], 8);
        assert_int_equal(all.items[8], 0);
}

TEST_FILE(vec) {
        const struct CMUnitTest tests[] = {
                TEST(test_nothing), TEST(test_find), TEST(test_sum),
                TEST(test_keep),    TEST(test_seek), TEST(test_sort),
        };

        return RUN_TESTS(tests);
}
