/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/mounts.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "model/problem.h"

#include <linux/magic.h>

static MountTable mounts_read(const Root *root, Arena *arena) {
        char *text = NULL;

        if (root_read_kernel_file(root, arena, PATH_SELF_MOUNTINFO, SOURCE_BYTES_MAX, &text, NULL) <
            0)
                return (MountTable){};
        return mount_table_parse(arena, text);
}

/* ---- use ---- */

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

Reason mounts_judge_start(const Root *root, Arena *arena, const InstanceConfig *instance,
                          const Reason *shortage) {
        const MountConfig *mount = instance->mount;

        if (!mount || (shortage && (mount->min_size_bytes == 0 || shortage->kind == REASON_NONE)))
                return (Reason){};
        const ConfigOrigin *origin = config_find_origin(instance, "Mount");
        const char *path = mount->path;
        MountTable table = mounts_read(root, arena);

        if (mount_table_find(&table, path))
                return (Reason){};
        if (shortage)
                return *shortage;
        return reason_make(
                arena, REASON_MOUNT_MISSING,
                arena_printf(arena, "see why: systemctl status %s", mount_unit_name(arena, path)),
                "nothing is mounted at %s (Mount= in %s:%u)", path,
                origin ? origin->file : instance->file, origin ? origin->line : 0);
}

/* ---- what is wrong ---- */

/* The unit is in generator.late, which every directory of systemd.unit(5) overrides; a line of fstab becomes a unit in
 * generator. */
static const char *find_unit_file(const Root *root, Arena *arena, const char *name) {
        static const char *const directories[] = {
                "/etc/systemd/system.control",   "/run/systemd/system.control",
                "/run/systemd/transient",        PATH_UNITS_ETC,
                "/etc/systemd/system.attached",  "/run/systemd/system",
                "/run/systemd/system.attached",  PATH_GENERATOR_DIR,
                "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                "/lib/systemd/system",
        };

        ARRAY_FOREACH(directory, directories, ARRAY_LEN(directories)) {
                const char *path = arena_printf(arena, "%s/%s", *directory, name);
                char *target;

                if (root_exists(root, path) || root_read_link(root, arena, path, &target) == 0)
                        return path;
        }
        return NULL;
}

static MountSight look(const Root *root, Arena *arena, const MountTable *table,
                       const MountUnit *unit) {
        const char *path = unit->instance->mount->path;
        Names names = {};

        return (MountSight){
                .table = table,
                .unit_file = find_unit_file(root, arena, unit->name),
                .is_directory_used = !mount_table_find(table, path) &&
                                     root_list(root, arena, path, &names) == 0 && names.n > 0,
        };
}

static const Diag *say_taken(Arena *arena, const MountUnit *unit, Diag diag) {
        diag.id = problem_id(PROBLEM_MOUNT_TAKEN);
        diag.text = arena_printf(arena, "%s, so the mount of %s at %s is left to it", diag.text,
                                 unit->instance->name, unit->instance->mount->path);
        return arena_memdup(arena, &diag, sizeof(diag));
}

/* A unit for the same path is deliberate, and a notice; anything else there is probably a mistake,
 * and is reported at the line of Mount=. */
const Diag *mount_obstacle(Arena *arena, const MountUnit *unit, const MountSight *sight) {
        const MountEntry *entry = mount_table_find(sight->table, unit->instance->mount->path);

        if (sight->unit_file)
                return say_taken(arena, unit,
                                 (Diag){.severity = SEVERITY_NOTICE,
                                        .file = sight->unit_file,
                                        .text = "this unit mounts the same path",
                                        .remedy = "remove the unit or its line in /etc/fstab, or "
                                                  "remove Mount="});
        if (entry && !text_equals(entry->type, "hugetlbfs"))
                return say_taken(
                        arena, unit,
                        config_diag(unit->instance, PROBLEM_MOUNT_TAKEN, "Mount",
                                    arena_printf(arena, "a file system of type %s is mounted",
                                                 text_printable(arena, entry->type)),
                                    "unmount it and run 'systemctl daemon-reload', or give Mount= "
                                    "another path"));
        if (!entry && sight->is_directory_used)
                return say_taken(arena, unit,
                                 config_diag(unit->instance, PROBLEM_MOUNT_TAKEN, "Mount",
                                             "the directory contains files",
                                             "move them away, or give Mount= a path of its own"));
        return NULL;
}

const Diag *mount_difference(Arena *arena, const MountUnit *unit, const MountSight *sight) {
        const MountEntry *entry = mount_table_find(sight->table, unit->instance->mount->path);
        HugeMount is;

        if (!entry || !mount_entry_read(arena, entry, &is) || huge_mount_equals(&is, &unit->wanted))
                return NULL;
        Diag diag = problem_of(
                PROBLEM_MOUNT_OUTDATED, NULL,
                arena_printf(arena,
                             "stop %s, then 'systemctl daemon-reload' and 'systemctl restart %s'; "
                             "a remount does not change min_size=",
                             unit->instance->unit ? unit->instance->unit : "what uses it",
                             unit->name));

        diag.text = arena_printf(arena, "%s, the mount of %s, has %s instead of %s", entry->path,
                                 unit->instance->name, huge_mount_format(arena, &is),
                                 huge_mount_format(arena, &unit->wanted));
        return arena_memdup(arena, &diag, sizeof(diag));
}

static const Diag *find_problem(const Root *root, Arena *arena, const MountTable *table,
                                const MountUnit *unit) {
        const MountSight sight = look(root, arena, table, unit);
        const Diag *found = mount_obstacle(arena, unit, &sight);
        const char *path = arena_printf(arena, PATH_GENERATOR_LATE "/%s", unit->name);

        if (found)
                return found;
        if (root_has_text(root, path, unit->text))
                return mount_difference(arena, unit, &sight);
        Diag missing = problem_of(PROBLEM_DROPIN_MISSING, path, "run 'systemctl daemon-reload'");

        missing.text = arena_printf(arena, "systemd has not loaded the current mount of %s",
                                    unit->instance->name);
        return arena_memdup(arena, &missing, sizeof(missing));
}

void mounts_check(const Root *root, const MountUnits *units, Diags *problems) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (units->n == 0 || !root_is_directory(root, PATH_SYSTEMD_RUNS))
                return;
        MountTable table = mounts_read(root, arena);

        VEC_FOREACH(unit, units) {
                const Diag *problem = find_problem(root, arena, &table, unit);

                if (problem)
                        diags_add(problems, problem);
        }
}
