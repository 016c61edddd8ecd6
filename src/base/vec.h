/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A growing array in an arena: VEC(Type) is a struct of `items` and `n`. And macros for all arrays. */

#include "base/size.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)                \
        struct {                 \
                type *items;     \
                size_t n;        \
                size_t capacity; \
        }

/* Reserves room for MORE further elements, so that pushing them leaves no smaller arrays in the arena. */
#define vec_reserve(arena, vec, more)                                               \
        ({                                                                          \
                typeof(vec) reserve_vec_ = (vec);                                   \
                size_t room_ = reserve_vec_->n + (more);                            \
                if (room_ > reserve_vec_->capacity) {                               \
                        typeof(reserve_vec_->items) items_ =                        \
                                arena_alloc_array((arena), room_, sizeof(*items_)); \
                        if (reserve_vec_->n > 0)                                    \
                                memcpy(items_, reserve_vec_->items,                 \
                                       reserve_vec_->n * sizeof(*items_));          \
                        reserve_vec_->items = items_;                               \
                        reserve_vec_->capacity = room_;                             \
                }                                                                   \
        })

/* Appends a zeroed element and returns its address, valid until the next push. */
#define vec_push(arena, vec)                                                               \
        ({                                                                                 \
                typeof(vec) push_vec_ = (vec);                                             \
                if (push_vec_->n == push_vec_->capacity)                                   \
                        vec_reserve((arena), push_vec_, push_vec_->n ? push_vec_->n : 8U); \
                &push_vec_->items[push_vec_->n++];                                         \
        })

/* Appends copies of all elements of MORE to VEC. */
#define vec_push_all(arena, vec, more)                       \
        ({                                                   \
                vec_reserve(arena, vec, (more)->n);          \
                VEC_FOREACH(push_item_, more)                \
                        *vec_push(arena, vec) = *push_item_; \
        })

/* qsort(3), which must not be given NULL. */
#define vec_sort(vec, compare)                                                           \
        ({                                                                               \
                if ((vec)->n > 1)                                                        \
                        qsort((vec)->items, (vec)->n, sizeof(*(vec)->items), (compare)); \
        })

/* Sorts structs that begin with their name. */
#define vec_sort_by_name(vec)                                                       \
        ({                                                                          \
                _Static_assert(offsetof(typeof(*(vec)->items), name) == 0, "name"); \
                vec_sort(vec, text_compare);                                        \
        })

/* Walks N elements, or a vector: VEC_FOREACH(item, vec) { item is a pointer to the element }. The vector must not
 * grow meanwhile. */
#define ARRAY_FOREACH(item, array, n)                                                      \
        for (typeof(*(array)) *item = (array), *item##_end_ = (n) > 0 ? item + (n) : item; \
             item < item##_end_; item++)
#define VEC_FOREACH(item, vec) ARRAY_FOREACH(item, (vec)->items, (vec)->n)

/* The first element that meets CONDITION, or NULL; whether there is one; the sum of AMOUNT over all. */
#define ARRAY_FIND(item, array, n, condition) \
        ARRAY_FIND_(item, array, n, condition, UNIQUE_NAME(found_, __COUNTER__))
#define ARRAY_ANY(item, array, n, condition) (ARRAY_FIND(item, array, n, condition) != NULL)
#define ARRAY_SUM(item, array, n, amount) \
        ARRAY_SUM_(item, array, n, amount, UNIQUE_NAME(sum_, __COUNTER__))
#define VEC_FIND(item, vec, condition) ARRAY_FIND(item, (vec)->items, (vec)->n, condition)
#define VEC_ANY(item, vec, condition)  ARRAY_ANY(item, (vec)->items, (vec)->n, condition)
#define VEC_SUM(item, vec, amount)     ARRAY_SUM(item, (vec)->items, (vec)->n, amount)

/* The element for which ORDER, a comparison of the sought value with ITEM like qsort(3)'s, is 0: by binary search in a
 * sorted array, as nearly all are; else by a walk over all elements. */
#define ARRAY_SEEK(item, array, n, order) \
        ARRAY_SEEK_(item, array, n, order, UNIQUE_NAME(sought_, __COUNTER__))
#define VEC_SEEK(item, vec, order) ARRAY_SEEK(item, (vec)->items, (vec)->n, order)

#define ARRAY_SEEK_(item, array, n, order, sought)                          \
        ({                                                                  \
                typeof(*(array)) *sought = NULL;                            \
                size_t seek_first_ = 0, seek_end_ = (n);                    \
                while (!sought && seek_first_ < seek_end_) {                \
                        size_t seek_at_ = (seek_first_ + seek_end_) / 2;    \
                        typeof(*(array)) *item = &(array)[seek_at_];        \
                        int seek_order_ = (order);                          \
                        if (seek_order_ == 0)                               \
                                sought = item;                              \
                        else if (seek_order_ < 0)                           \
                                seek_end_ = seek_at_;                       \
                        else                                                \
                                seek_first_ = seek_at_ + 1;                 \
                }                                                           \
                sought ? sought : ARRAY_FIND(item, array, n, (order) == 0); \
        })

#define ARRAY_FIND_(item, array, n, condition, found) \
        ({                                            \
                typeof(*(array)) *found = NULL;       \
                ARRAY_FOREACH(item, array, n)         \
                        if (condition) {              \
                                found = item;         \
                                break;                \
                        }                             \
                found;                                \
        })
#define ARRAY_SUM_(item, array, n, amount, sum)             \
        ({                                                  \
                uint64_t sum = 0;                           \
                ARRAY_FOREACH(item, array, n)               \
                        sum = add_saturated(sum, (amount)); \
                sum;                                        \
        })

/* Keeps the elements that meet CONDITION. */
#define VEC_KEEP(item, vec, condition)                         \
        ({                                                     \
                size_t kept_ = 0;                              \
                VEC_FOREACH(item, vec)                         \
                        if (condition)                         \
                                (vec)->items[kept_++] = *item; \
                (vec)->n = kept_;                              \
        })
