/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Boot steps: how an administrator changes the kernel command line with the host's boot loader.
 *
 * Sources: GRUB's manual (GRUB_CMDLINE_LINUX), grubby(8), kernel-install(8), ukify(1), systemd-stub(7),
 * u-boot-update(8). Pure: values in, texts out. The contents of boot entries are left to the boot loader. */

#include "check/boot/kernel_args.h"

typedef enum BootLoaderKind {
        BOOT_LOADER_UNKNOWN,
        BOOT_LOADER_GRUB,         /* grub.cfg made by grub-mkconfig */
        BOOT_LOADER_GRUB_ENTRIES, /* GRUB that reads /boot/loader/entries; changed by grubby */
        BOOT_LOADER_SYSTEMD_BOOT, /* entries made by kernel-install */
        BOOT_LOADER_UKI,          /* the command line is part of the kernel image */
        BOOT_LOADER_EXTLINUX,     /* extlinux.conf, also read by U-Boot */
} BootLoaderKind;

typedef struct BootLoader {
        BootLoaderKind kind;
        bool has_update_grub;       /* Debian's, which also reads /etc/default/grub.d */
        bool has_kernel_cmdline;    /* /etc/kernel/cmdline, the source of entries and images */
        bool has_image_in_modules;  /* /lib/modules/RELEASE/vmlinuz */
        const char *kernel_release; /* of the running kernel */
        const char *grub_config;    /* "/boot/grub2/grub.cfg" */
        const char *esp;            /* mount point of the EFI system partition */
        const char *extlinux_place; /* "U_BOOT_PARAMETERS of /etc/default/u-boot" */
        const char *extlinux_tool;  /* makes extlinux.conf from it; NULL: it is edited directly */
} BootLoader;

typedef VEC(const char *) Instructions;

/* Returns "GRUB", "GRUB with boot entries", "systemd-boot", "unified kernel image", "extlinux" or "unknown". */
const char *boot_loader_title(BootLoaderKind kind);

/* For scripts: returns "grub", "grub-entries", "systemd-boot", "uki", "extlinux" or "unknown". */
const char *boot_loader_name(BootLoaderKind kind);

/* Returns the steps that make the changes of ADVICE, in order: commands, or sentences if a file has to be edited by
 * hand. Empty if there are no changes. */
Instructions boot_loader_instruct(Arena *arena, const BootLoader *loader,
                                  const KernelAdvice *advice);
