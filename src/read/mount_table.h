/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What is mounted, and what is to be: the texts of /proc/self/mountinfo, proc_pid_mountinfo(5), and
 * /etc/fstab, fstab(5). */

#include "base/vec.h"

/* One line of mountinfo. Later ones of the same path cover the earlier. */
typedef struct MountEntry {
        const char *path;
        const char *type;    /* "hugetlbfs" */
        const char *options; /* of the file system: "rw,pagesize=2M,min_size=4194304" */
} MountEntry;

typedef VEC(MountEntry) MountTable;

/* Lines that are none are left out. */
MountTable mount_table_parse(Arena *arena, const char *text);

/* What is seen at PATH; NULL: nothing is mounted there. */
const MountEntry *mount_table_find(const MountTable *table, const char *path);

/* The line of an fstab that mounts something at PATH; 0: there is none. */
unsigned mount_fstab_line(Arena *arena, const char *text, const char *path);

/* A hugetlbfs, by its options: fs/hugetlbfs/inode.c, hugetlbfs_show_options(). */
typedef struct HugeMount {
        uint64_t page_size_bytes;
        uint64_t uid, gid;
        unsigned mode;
        uint64_t size_bytes;     /* 0: no limit */
        uint64_t min_size_bytes; /* 0: nothing is earmarked */
} HugeMount;

/* False where ENTRY is no hugetlbfs. */
bool mount_entry_read(Arena *arena, const MountEntry *entry, HugeMount *ret);

bool huge_mount_equals(const HugeMount *a, const HugeMount *b);

/* As for mount(8): "pagesize=2M,uid=109,gid=117,mode=0770,size=...,min_size=...". */
char *huge_mount_format(Arena *arena, const HugeMount *mount);
