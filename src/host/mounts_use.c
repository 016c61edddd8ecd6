/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pages that a mount keeps for its instance, and whether the mount exists. */
#include "host/mounts.h"

#include "base/size.h"

#include <linux/magic.h>

/* Without a limit the kernel does not count used pages: all blocks are free, or -1. */
static uint64_t used_pages(const Root *root, const char *path, uint64_t page_size_bytes) {
        struct statfs now;

        if (root_statfs(root, path, &now) < 0 || (uint32_t) now.f_type != HUGETLBFS_MAGIC ||
            (uint64_t) now.f_bsize != page_size_bytes || now.f_blocks > INT64_MAX)
                return 0;
        return sub_floored(now.f_blocks, now.f_bfree);
}

MountUse mounts_use(const Root *root, const InstanceConfig *instance) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        HugeMount mount;

        if (!instance->mount)
                return (MountUse){};
        MountTable table = mounts_read(root, arena);
        const MountEntry *entry = mount_table_find(&table, instance->mount->path);

        if (!entry || !mount_entry_read(arena, entry, &mount) || mount.page_size_bytes == 0)
                return (MountUse){};
        return (MountUse){
                .instance = instance->name,
                .page_size_bytes = mount.page_size_bytes,
                .earmarked_pages = mount.min_size_bytes / mount.page_size_bytes,
                .used_pages = used_pages(root, instance->mount->path, mount.page_size_bytes),
        };
}

Reason mounts_judge_start(const Root *root, Arena *arena, const InstanceConfig *instance) {
        if (!instance->mount)
                return (Reason){};
        const ConfigOrigin *origin = config_find_origin(instance, "Mount");
        const char *path = instance->mount->path;
        MountTable table = mounts_read(root, arena);

        if (mount_table_find(&table, path))
                return (Reason){};
        return reason_make(
                arena, REASON_MOUNT_MISSING,
                arena_printf(arena, "see why: systemctl status %s", mount_unit_name(arena, path)),
                "nothing is mounted at %s (Mount= in %s:%u)", path,
                origin ? origin->file : instance->file, origin ? origin->line : 0);
}
