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

#define KERNEL_CMDLINE "/etc/kernel/cmdline"
#define KERNEL_PLACE   KERNEL_CMDLINE " (if it is missing: all of /proc/cmdline)"

/* How the arguments are changed with each boot loader. The first row of the kind whose file exists applies. */
static const struct {
        BootLoaderKind kind;
        const char *file; /* NULL: any host */
        const char *place, *command;
} steps[] = {
        {BOOT_LOADER_UNKNOWN, NULL,
         "the kernel command line, where this machine's boot is set up (boot loader, virtual "
         "machine, PXE)",
         NULL},
        {BOOT_LOADER_GRUB, "/usr/sbin/update-grub",
         "GRUB_CMDLINE_LINUX of /etc/default/grub or a file in /etc/default/grub.d", "update-grub"},
        {BOOT_LOADER_GRUB, "/sbin/update-grub",
         "GRUB_CMDLINE_LINUX of /etc/default/grub or a file in /etc/default/grub.d", "update-grub"},
        {BOOT_LOADER_GRUB, "/boot/grub/grub.cfg", "GRUB_CMDLINE_LINUX of /etc/default/grub",
         "grub-mkconfig -o /boot/grub/grub.cfg"},
        {BOOT_LOADER_GRUB, NULL, "GRUB_CMDLINE_LINUX of /etc/default/grub",
         "grub2-mkconfig -o /boot/grub2/grub.cfg"},
        {BOOT_LOADER_GRUB_ENTRIES, KERNEL_CMDLINE, KERNEL_CMDLINE, NULL},
        {BOOT_LOADER_SYSTEMD_BOOT, "/etc/debian_version", KERNEL_PLACE,
         "kernel-install add $(uname -r) /boot/vmlinuz-$(uname -r)"},
        {BOOT_LOADER_SYSTEMD_BOOT, NULL, KERNEL_PLACE,
         "kernel-install add $(uname -r) /lib/modules/$(uname -r)/vmlinuz"},
        {BOOT_LOADER_UKI, "/etc/debian_version", KERNEL_PLACE,
         "kernel-install add $(uname -r) /boot/vmlinuz-$(uname -r)"},
        {BOOT_LOADER_UKI, NULL, KERNEL_PLACE,
         "kernel-install add $(uname -r) /lib/modules/$(uname -r)/vmlinuz"},
        {BOOT_LOADER_EXTLINUX, "/usr/sbin/u-boot-update",
         "U_BOOT_PARAMETERS of /etc/default/u-boot", "u-boot-update"},
        {BOOT_LOADER_EXTLINUX, "/usr/sbin/extlinux-update",
         "EXTLINUX_PARAMETERS of /etc/default/extlinux", "extlinux-update"},
        {BOOT_LOADER_EXTLINUX, "/sbin/update-extlinux",
         "default_kernel_opts of /etc/update-extlinux.conf", "update-extlinux"},
        {BOOT_LOADER_EXTLINUX, NULL, "the append line of extlinux.conf", NULL},
};

static BootLoaderKind find_kind(const Root *root, Arena *arena) {
        static const char *const grub_configs[] = {"/boot/grub2/grub.cfg", "/boot/grub/grub.cfg"};
        static const char *const extlinux_configs[] = {
                "/boot/extlinux/extlinux.conf",
                "/extlinux/extlinux.conf",
                "/boot/extlinux.conf",
                "/boot/syslinux/syslinux.cfg",
        };
        const char *entries = find_partition(root, arena, "loader/entries", ".conf");
        const char *const *config =
                ARRAY_FIND(each, grub_configs, ARRAY_LEN(grub_configs), root_exists(root, *each));
        bool has_grub = config || root_exists(root, "/etc/default/grub");
        char *text;

        /* GRUB reads boot entries if it has the command blscfg; grubby then changes them. */
        if (entries &&
            (root_exists(root, "/usr/sbin/grubby") || root_exists(root, "/usr/bin/grubby") ||
             (config && root_read_file(root, arena, *config, FILE_BYTES_MAX, &text, NULL) == 0 &&
              strstr(text, "blscfg"))))
                return BOOT_LOADER_GRUB_ENTRIES;
        if (entries &&
            (!has_grub || root_exists(root, arena_printf(arena, "%s/loader/loader.conf", entries))))
                return BOOT_LOADER_SYSTEMD_BOOT;
        if (has_grub)
                return BOOT_LOADER_GRUB;
        if (find_partition(root, arena, "EFI/Linux", ".efi"))
                return BOOT_LOADER_UKI;
        return ARRAY_ANY(each, extlinux_configs, ARRAY_LEN(extlinux_configs),
                         root_exists(root, *each))
                       ? BOOT_LOADER_EXTLINUX
                       : BOOT_LOADER_UNKNOWN;
}

BootLoader boot_loader_find(const Root *root, Arena *arena) {
        BootLoader loader = {.kind = find_kind(root, arena)};
        const typeof(steps[0]) *row = ARRAY_FIND(
                each, steps, ARRAY_LEN(steps),
                each->kind == loader.kind && (!each->file || root_exists(root, each->file)));

        if (row) {
                loader.place = row->place;
                loader.command = row->command;
        }
        return loader;
}
