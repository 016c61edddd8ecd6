/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The host that a script is performed on: its files, and what it is like. */

#include "model/script.h"

/* Says it on standard error and ends with status 2. */
__attribute__((noreturn, format(printf, 1, 2))) void host_fail(const char *format, ...);

/* One write(2); -EIO where only a part was taken. */
int host_write(const char *path, const char *text);
/* "" where it cannot be read; 0; the empty set. */
char *host_read(Arena *arena, const char *path);
uint64_t host_read_number(const char *path);
uint64_t host_read_set(const char *path);
bool host_has_word(const char *path, const char *word);

char *host_pool_path(Arena *arena, int node, uint64_t page_bytes, const char *attribute);
KernelPool host_pool(int node, uint64_t page_bytes);
uint64_t host_memory_nodes(void);
/* From the largest down; how many there are. */
unsigned host_page_sizes(Arena *arena, uint64_t sizes[KERNEL_SIZES_MAX]);

/* Where control groups of version 2 are, NULL: nowhere; and which controllers can be had there. */
typedef struct HostGroups {
        const char *hierarchy;
        bool has_hugetlb, has_cpuset;     /* the latter not without the former */
        bool gives_hugetlb, gives_cpuset; /* to the groups below the root, as it is now */
} HostGroups;

HostGroups host_groups(Arena *arena);

/* Whether node 0 can be given so many pages of this size now, and node 1, if there is one, one of them:
 * tries it. */
bool host_can_have(Arena *arena, uint64_t page_bytes, uint64_t n_pages);

/* This host for kernel_new(). */
char *host_describe(Arena *arena);
