/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A growing array in an arena: VEC(Type) is a struct of `items` and `n`. */

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define VEC(type)                \
        struct {                 \
                type *items;     \
                size_t n;        \
                size_t capacity; \
        }

/* Appends a zeroed element and gives its address, valid until the next push. */
#define vec_push(arena, vec)                                                                      \
        ({                                                                                        \
                typeof(vec) push_vec_ = (vec);                                                    \
                if (push_vec_->n == push_vec_->capacity) {                                        \
                        size_t capacity_ = push_vec_->capacity ? push_vec_->capacity * 2 : 8;     \
                        typeof(push_vec_->items) items_ =                                         \
                                arena_alloc_array((arena), capacity_, sizeof(*push_vec_->items)); \
                        if (push_vec_->n > 0)                                                     \
                                memcpy(items_, push_vec_->items, push_vec_->n * sizeof(*items_)); \
                        push_vec_->items = items_;                                                \
                        push_vec_->capacity = capacity_;                                          \
                }                                                                                 \
                &push_vec_->items[push_vec_->n++];                                                \
        })

/* Walks an array, or a vector: VEC_FOREACH(item, vec) { item is a pointer to the element }. The vector must
 * not grow meanwhile. */
#define ARRAY_FOREACH(item, array, count)                                                          \
        for (typeof(*(array)) *item = (array), *item##_end_ = (count) > 0 ? item + (count) : item; \
             item < item##_end_; item++)
#define VEC_FOREACH(item, vec) ARRAY_FOREACH(item, (vec)->items, (vec)->n)

/* The first ITEM for which CONDITION holds, by its address; NULL: there is none. */
#define ARRAY_FIND(item, array, count, condition)       \
        ({                                              \
                typeof(*(array)) *item##_found_ = NULL; \
                ARRAY_FOREACH(item, array, count)       \
                        if (condition) {                \
                                item##_found_ = item;   \
                                break;                  \
                        }                               \
                item##_found_;                          \
        })
#define VEC_FIND(item, vec, condition) ARRAY_FIND(item, (vec)->items, (vec)->n, condition)

/* Drops all but the items for which CONDITION holds. */
#define VEC_KEEP(item, vec, condition)                                \
        do {                                                          \
                size_t item##_kept_ = 0;                              \
                VEC_FOREACH(item, vec)                                \
                        if (condition)                                \
                                (vec)->items[item##_kept_++] = *item; \
                (vec)->n = item##_kept_;                              \
        } while (0)

/* COMPARE as for qsort(3), which takes no empty array. */
#define VEC_SORT(vec, compare)                                                           \
        do {                                                                             \
                if ((vec)->n > 0)                                                        \
                        qsort((vec)->items, (vec)->n, sizeof(*(vec)->items), (compare)); \
        } while (0)
