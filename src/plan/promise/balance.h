/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Balances free pages against promises in the worst case, to find how many pages may be given back. */

#include "plan/promise/promise.h"

typedef struct Balance Balance;

/* Returns a balance, in ARENA, that refers to PROMISES. FREE_PAGES is by index of the node. */
Balance *balance_new(Arena *arena, const Promises *promises, const uint64_t *free_pages);

/* Returns how many free pages of a node (by index) can be given back without breaking a promise. */
uint64_t balance_spare_pages(const Balance *balance, size_t node);

/* Returns how many more free pages a node needs so that no promise is broken. */
uint64_t balance_missing_pages(const Balance *balance, size_t node);

/* Takes FEWER free pages from the node, and adds MORE. */
void balance_change(Balance *balance, size_t node, uint64_t fewer, uint64_t more);
