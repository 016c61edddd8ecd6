/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A growing array in an arena: VEC(Type) is a struct of `items` and `n`. */

#include "base/arena.h"

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

/* Walks a vector: VEC_FOREACH(item, vec) { item is a pointer to the element }. The vector must not
 * grow meanwhile. */
#define VEC_FOREACH(item, vec)                                                           \
        for (typeof(*(vec)->items) *item = (vec)->items,                                 \
                                   *item##_end_ = (vec)->n > 0 ? item + (vec)->n : item; \
             item < item##_end_; item++)
