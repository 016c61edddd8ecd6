/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The host on which a script is performed. */

#include "model/script.h"

/* Prints a message to standard error and exits with status 2. */
__attribute__((noreturn, format(printf, 1, 2))) void host_fail(const char *format, ...);

/* One write(2); -EIO for a partial write. */
int host_write(const char *path, const char *text);
/* An unreadable file reads as "", 0 or the empty set. */
char *host_read(Arena *arena, const char *path);
uint64_t host_read_number(const char *path);
uint64_t host_read_set(const char *path);
bool host_has_word(const char *path, const char *word);

char *host_pool_path(Arena *arena, int node, uint64_t page_bytes, const char *attribute);
KernelPool host_pool(int node, uint64_t page_bytes);
uint64_t host_memory_nodes(void);
/* Largest first. Returns how many. */
unsigned host_page_sizes(Arena *arena, uint64_t sizes[KERNEL_SIZES_MAX]);

/* Control groups of version 2. */
typedef struct HostGroups {
        const char *hierarchy;        /* NULL: not mounted */
        bool has_hugetlb, has_cpuset; /* available controllers; has_cpuset implies has_hugetlb */
        bool gives_hugetlb, gives_cpuset; /* enabled now for the groups below the root */
} HostGroups;

HostGroups host_groups(Arena *arena);

/* Tries to allocate N_PAGES pages of this size on node 0, and one page on node 1 if it exists. Returns whether that
 * succeeded. */
bool host_can_have(Arena *arena, uint64_t page_bytes, uint64_t n_pages);

/* Describes this host for kernel_new(). */
char *host_describe(Arena *arena);
