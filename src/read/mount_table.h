/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Existing mounts: the text of /proc/self/mountinfo, proc_pid_mountinfo(5). */

#include "base/vec.h"

/* One line of mountinfo. A later line of the same path covers an earlier one. */
typedef struct MountEntry {
        const char *path;
        const char *type;    /* "hugetlbfs" */
        const char *options; /* of the file system: "rw,pagesize=2M,min_size=4194304" */
} MountEntry;

typedef VEC(MountEntry) MountTable;

/* Parses mountinfo; malformed lines are left out. */
MountTable mount_table_parse(Arena *arena, const char *text);

/* Returns the visible mount at PATH, or NULL if nothing is mounted there. */
const MountEntry *mount_table_find(const MountTable *table, const char *path);

/* A hugetlbfs, from its options: fs/hugetlbfs/inode.c, hugetlbfs_show_options(). */
typedef struct HugeMount {
        uint64_t page_size_bytes;
        uint64_t uid, gid;
        unsigned mode;
        uint64_t size_bytes;     /* 0: no limit */
        uint64_t min_size_bytes; /* 0: none is reserved */
} HugeMount;

/* Returns false if ENTRY is no hugetlbfs. */
bool mount_entry_read(Arena *arena, const MountEntry *entry, HugeMount *ret);

bool huge_mount_equals(const HugeMount *a, const HugeMount *b);
