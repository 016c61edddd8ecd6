/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/boot_loader.h"

#include "base/text.h"

#include <string.h>

enum { FILE_BYTES_MAX = 256 * 1024 };

/* Mount points of the boot or EFI system partition, which has the boot entries and images. */
static const char *const partitions[] = {"/boot", "/efi", "/boot/efi"};

/* Returns the first partition that has a file with that SUFFIX in DIRECTORY, or NULL. */
static const char *find_partition(const Root *root, Arena *arena, const char *directory,
                                  const char *suffix) {
        ARRAY_FOREACH(partition, partitions, ARRAY_LEN(partitions)) {
                Names names = {};

                root_list(root, arena, arena_printf(arena, "%s/%s", *partition, directory), &names);
                VEC_FOREACH(name, &names)
                        if (text_ends_with(*name, suffix))
                                return *partition;
        }
        return NULL;
}

/* Finds extlinux.conf, and the tool, if any, that generates it from the distribution's settings. */
static bool find_extlinux(const Root *root, Arena *arena, BootLoader *loader) {
        static const char *const paths[] = {
                "/boot/extlinux/extlinux.conf",
                "/extlinux/extlinux.conf",
                "/boot/extlinux.conf",
                "/boot/syslinux/syslinux.cfg",
        };
        static const struct {
                const char *place, *tool, *tool_path;
        } settings[] = {
                {"U_BOOT_PARAMETERS of /etc/default/u-boot", "u-boot-update",
                 "/usr/sbin/u-boot-update"},
                {"EXTLINUX_PARAMETERS of /etc/default/extlinux", "extlinux-update",
                 "/usr/sbin/extlinux-update"},
                {"default_kernel_opts of /etc/update-extlinux.conf", "update-extlinux",
                 "/sbin/update-extlinux"},
        };
        const char *const *path =
                ARRAY_FIND(each, paths, ARRAY_LEN(paths), root_exists(root, *each));

        if (!path)
                return false;
        loader->extlinux_place = arena_printf(arena, "the append line of %s", *path);
        ARRAY_FOREACH(setting, settings, ARRAY_LEN(settings))
                if (!loader->extlinux_tool && root_exists(root, setting->tool_path)) {
                        loader->extlinux_place = setting->place;
                        loader->extlinux_tool = setting->tool;
                }
        return true;
}

static BootLoaderKind find_kind(const Root *root, Arena *arena, BootLoader *loader) {
        const char *entries = find_partition(root, arena, "loader/entries", ".conf");
        char *text;
        bool has_grub = loader->grub_config || root_exists(root, "/etc/default/grub");

        /* GRUB reads boot entries if it has the command blscfg; grubby then changes them. */
        if (entries &&
            (root_exists(root, "/usr/sbin/grubby") || root_exists(root, "/usr/bin/grubby") ||
             (loader->grub_config &&
              root_read_file(root, arena, loader->grub_config, FILE_BYTES_MAX, &text, NULL) == 0 &&
              strstr(text, "blscfg"))))
                return BOOT_LOADER_GRUB_ENTRIES;
        if (entries &&
            (!has_grub || root_exists(root, arena_printf(arena, "%s/loader/loader.conf", entries))))
                return BOOT_LOADER_SYSTEMD_BOOT;
        if (has_grub)
                return BOOT_LOADER_GRUB;
        if ((loader->esp = find_partition(root, arena, "EFI/Linux", ".efi")))
                return BOOT_LOADER_UKI;
        return find_extlinux(root, arena, loader) ? BOOT_LOADER_EXTLINUX : BOOT_LOADER_UNKNOWN;
}

BootLoader boot_loader_find(const Root *root, Arena *arena, const Topology *topology) {
        static const char *const grub_configs[] = {"/boot/grub2/grub.cfg", "/boot/grub/grub.cfg"};
        const char *release = topology->kernel_release;
        BootLoader loader = {
                .has_update_grub = root_exists(root, "/usr/sbin/update-grub") ||
                                   root_exists(root, "/sbin/update-grub"),
                .has_kernel_cmdline = root_exists(root, "/etc/kernel/cmdline"),
                .has_image_in_modules =
                        release &&
                        root_exists(root, arena_printf(arena, "/lib/modules/%s/vmlinuz", release)),
                .kernel_release = release,
        };

        for (size_t i = 0; i < ARRAY_LEN(grub_configs) && !loader.grub_config; i++)
                if (root_exists(root, grub_configs[i]))
                        loader.grub_config = grub_configs[i];
        loader.kind = find_kind(root, arena, &loader);
        return loader;
}
