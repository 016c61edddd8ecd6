/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/boot_loader.h"

#include "base/text.h"

#include <string.h>

const BootLoaderName boot_loader_names[] = {
        [BOOT_LOADER_UNKNOWN] = {"unknown", "unknown"},
        [BOOT_LOADER_GRUB] = {"grub", "GRUB"},
        [BOOT_LOADER_GRUB_ENTRIES] = {"grub-entries", "GRUB with boot entries"},
        [BOOT_LOADER_SYSTEMD_BOOT] = {"systemd-boot", "systemd-boot"},
        [BOOT_LOADER_UKI] = {"uki", "unified kernel image"},
        [BOOT_LOADER_EXTLINUX] = {"extlinux", "extlinux"},
};

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
#define INSTALL        "kernel-install add $(uname -r) /lib/modules/$(uname -r)/vmlinuz"
#define INSTALL_DEBIAN "kernel-install add $(uname -r) /boot/vmlinuz-$(uname -r)"

/* How the arguments are changed with each boot loader. The first row of the kind whose file exists applies. */
static const BootLoader loaders[] = {
        {BOOT_LOADER_UNKNOWN,
         "the kernel command line, where this machine's boot is set up (boot loader, virtual "
         "machine, PXE)"},
        {BOOT_LOADER_GRUB,
         "GRUB_CMDLINE_LINUX of /etc/default/grub or a file in /etc/default/grub.d", "update-grub",
         "/usr/sbin/update-grub"},
        {BOOT_LOADER_GRUB,
         "GRUB_CMDLINE_LINUX of /etc/default/grub or a file in /etc/default/grub.d", "update-grub",
         "/sbin/update-grub"},
        {BOOT_LOADER_GRUB, "GRUB_CMDLINE_LINUX of /etc/default/grub",
         "grub-mkconfig -o /boot/grub/grub.cfg", "/boot/grub/grub.cfg"},
        {BOOT_LOADER_GRUB, "GRUB_CMDLINE_LINUX of /etc/default/grub",
         "grub2-mkconfig -o /boot/grub2/grub.cfg"},
        {BOOT_LOADER_GRUB_ENTRIES, KERNEL_CMDLINE, NULL, KERNEL_CMDLINE},
        {BOOT_LOADER_SYSTEMD_BOOT, KERNEL_PLACE, INSTALL_DEBIAN, "/etc/debian_version"},
        {BOOT_LOADER_SYSTEMD_BOOT, KERNEL_PLACE, INSTALL},
        {BOOT_LOADER_UKI, KERNEL_PLACE, INSTALL_DEBIAN, "/etc/debian_version"},
        {BOOT_LOADER_UKI, KERNEL_PLACE, INSTALL},
        {BOOT_LOADER_EXTLINUX, "U_BOOT_PARAMETERS of /etc/default/u-boot", "u-boot-update",
         "/usr/sbin/u-boot-update"},
        {BOOT_LOADER_EXTLINUX, "EXTLINUX_PARAMETERS of /etc/default/extlinux", "extlinux-update",
         "/usr/sbin/extlinux-update"},
        {BOOT_LOADER_EXTLINUX, "default_kernel_opts of /etc/update-extlinux.conf",
         "update-extlinux", "/sbin/update-extlinux"},
        {BOOT_LOADER_EXTLINUX, "the append line of extlinux.conf"},
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
        BootLoaderKind kind = find_kind(root, arena);
        const BootLoader *row =
                ARRAY_FIND(each, loaders, ARRAY_LEN(loaders),
                           each->kind == kind && (!each->file || root_exists(root, each->file)));

        return row ? *row : (BootLoader){.kind = kind};
}

/* ---- how the arguments are changed ---- */

/* Returns one change to be made by hand. */
static const char *edit(Arena *arena, const KernelChange *change, const char *place) {
        if (!change->from)
                return arena_printf(arena, "in %s: add '%s'", place, change->to);
        if (change->is_unclear)
                return arena_printf(arena, "in %s: fix '%s' as described above", place,
                                    change->from);
        if (!change->to)
                return arena_printf(arena, "in %s: remove '%s'", place, change->from);
        return arena_printf(arena, "in %s: replace '%s' with '%s'", place, change->from,
                            change->to);
}

/* grubby replaces all arguments that have the name of one to be added, so the pairs of other sizes are added again. */
static const char *grubby_command(Arena *arena, const KernelAdvice *advice) {
        Text add = text_in(arena), remove = text_in(arena), pages = text_in(arena);

        VEC_FOREACH(phrase, &advice->phrases) {
                const KernelChange *change =
                        VEC_FIND(each, &advice->changes,
                                 !each->is_unclear && text_equals(each->from, phrase->words));

                bool is_pages = text_starts_with(phrase->words, "hugepages");

                if (change)
                        text_add_word(is_pages ? &pages : &remove, phrase->words);
                if (change || is_pages)
                        text_add_word(&add, change ? change->to : phrase->words);
        }
        VEC_FOREACH(change, &advice->changes)
                if (!change->from)
                        text_add_word(&add, change->to);
        if (pages.length > 0 && !strstr(text_string(&add), "hugepages="))
                text_add_word(&remove, pages.string);
        if (remove.length + add.length == 0)
                return NULL;
        return arena_printf(
                arena,
                "grubby --update-kernel=ALL%s%s  # old releases keep one page size only: see grubby --info=ALL",
                remove.length == 0 ? ""
                                   : arena_printf(arena, " --remove-args=\"%s\"", remove.string),
                add.length == 0 ? "" : arena_printf(arena, " --args=\"%s\"", add.string));
}

SourceNames boot_loader_instruct(Arena *arena, const BootLoader *loader,
                                 const KernelAdvice *advice) {
        bool has_entries = loader->kind == BOOT_LOADER_GRUB_ENTRIES;
        const char *command = has_entries ? grubby_command(arena, advice) : loader->command;
        SourceNames steps = {};

        VEC_FOREACH(change, &advice->changes) {
                if (loader->place)
                        *vec_push(arena, &steps) = edit(arena, change, loader->place);
                if (has_entries && change->is_unclear)
                        *vec_push(arena, &steps) = edit(arena, change, "the boot entries");
        }
        if (advice->changes.n > 0 && command)
                *vec_push(arena, &steps) = command;
        if (advice->changes.n > 0)
                *vec_push(arena, &steps) = "reboot";
        return steps;
}
