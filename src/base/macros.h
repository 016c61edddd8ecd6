/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Small helpers of the language: cleanup on leaving scope, array length, minimum and maximum. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#define UNIQUE_NAME_(name, id) name##id
#define UNIQUE_NAME(name, id)  UNIQUE_NAME_(name, id)

#define COMPARE_ONCE_(a, operator, b, a_name, b_name)     \
        ({                                                \
                typeof(a) a_name = (a);                   \
                typeof(b) b_name = (b);                   \
                a_name operator b_name ? a_name : b_name; \
        })
#define COMPARE_ONCE(a, operator, b, id) \
        COMPARE_ONCE_(a, operator, b, UNIQUE_NAME(first_, id), UNIQUE_NAME(second_, id))

/* Each evaluates its arguments once; both must have the same type. */
#define MIN(a, b) COMPARE_ONCE(a, <, b, __COUNTER__)
#define MAX(a, b) COMPARE_ONCE(a, >, b, __COUNTER__)

/* Calls FUNCTION with the address of the variable when it leaves its scope. */
#define CLEANUP(function) __attribute__((cleanup(function)))

/* Moves a pointer to a new owner and sets the variable to NULL. */
#define TAKE_PTR(pointer)                              \
        ({                                             \
                typeof(pointer) *take_p_ = &(pointer); \
                typeof(pointer) take_v_ = *take_p_;    \
                *take_p_ = NULL;                       \
                take_v_;                               \
        })

/* Marks a callback's parameter that is not used. */
#define UNUSED __attribute__((unused))

#define PRINTF_LIKE(format_at, arguments_at) \
        __attribute__((format(printf, format_at, arguments_at)))
