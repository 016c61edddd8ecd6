/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/mounts.h"

#include "base/size.h"
#include "base/text.h"
#include "host/host_sources.h"
#include "model/names.h"

MountUnits mounts_of(const Root *root, Arena *arena, const Config *config,
                     const Topology *topology) {
        if (!mount_is_wanted(config))
                return (MountUnits){};
        HostSources sources = host_sources(root, arena);
        Accounts accounts = accounts_read(arena, &sources.sources);

        return mount_units_make(arena, config, topology, &accounts);
}

/* ---- what is there ---- */

/* A generated unit would override unit files of packages, and the other directories override it: systemd.unit(5). */
static const char *find_unit_file(const Root *root, Arena *arena, const char *name) {
        static const char *const directories[] = {
                "/etc/systemd/system.control",  "/run/systemd/system.control",
                "/run/systemd/transient",       PATH_UNITS_ETC,
                "/etc/systemd/system.attached", "/run/systemd/system",
                "/run/systemd/system.attached", "/usr/local/lib/systemd/system",
                "/usr/lib/systemd/system",      "/lib/systemd/system",
        };

        ARRAY_FOREACH(directory, directories, ARRAY_LEN(directories)) {
                const char *path = arena_printf(arena, "%s/%s", *directory, name);
                char *target;

                if (root_exists(root, path) || root_read_link(root, arena, path, &target) == 0)
                        return path;
        }
        return NULL;
}

MountTable mounts_read(const Root *root, Arena *arena) {
        char *text = NULL;

        if (root_read_kernel_file(root, arena, PATH_SELF_MOUNTINFO, SOURCE_BYTES_MAX, &text, NULL) <
            0)
                return (MountTable){};
        return mount_table_parse(arena, text);
}

MountSight mounts_look(const Root *root, Arena *arena, const MountTable *table,
                       const MountUnit *unit) {
        const char *path = unit->instance->mount->path;
        MountSight sight = {.table = table, .unit_file = find_unit_file(root, arena, unit->name)};
        char *fstab = NULL;
        Names names = {};

        if (root_read_file(root, arena, PATH_FSTAB, SOURCE_BYTES_MAX, &fstab, NULL) == 0)
                sight.fstab_line = mount_fstab_line(arena, fstab, path);
        if (!mount_table_find(table, path))
                sight.is_directory_used = root_list(root, arena, path, &names) == 0 && names.n > 0;
        return sight;
}

const Diag *mounts_obstacle(const Root *root, Arena *arena, const MountUnit *unit) {
        MountTable table = mounts_read(root, arena);
        MountSight sight = mounts_look(root, arena, &table, unit);

        sight.is_directory_used = false;
        return mount_obstacle(arena, unit, &sight);
}
