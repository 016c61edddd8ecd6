/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A balance of free pages against promises, worst case by worst case: how many may be given back. */

#include "promise/promise.h"

typedef struct Balance Balance;

/* FREE_PAGES by index of the node. The balance is in ARENA and refers to PROMISES. */
Balance *balance_new(Arena *arena, const Promises *promises, const uint64_t *free_pages);

/* How many free pages of a node (by index) can go without breaking a promise. */
uint64_t balance_spare_pages(const Balance *balance, size_t node);

/* How many more it should have, so that none is broken. */
uint64_t balance_missing_pages(const Balance *balance, size_t node);

/* So many of the node's free pages go, and others come. */
void balance_change(Balance *balance, size_t node, uint64_t fewer, uint64_t more);
