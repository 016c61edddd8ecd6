/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Numbers of pages as text. */

#include "config/config.h"

/* "1,081 pages of 2M"; several sizes with commas between. */
char *page_counts_format(Arena *arena, const PageCounts *counts);

/* "2M:1081 1G:3": as a configuration has it, with its size each, for PageSize= may be changed. */
char *page_counts_value(Arena *arena, const PageCounts *counts);
