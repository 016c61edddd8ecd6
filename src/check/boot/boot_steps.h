/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Boot steps: what an administrator does to change the kernel command line with the boot loader of
 * the host.
 *
 * Sources: GRUB's manual (GRUB_CMDLINE_LINUX), grubby(8), kernel-install(8), ukify(1),
 * systemd-stub(7), u-boot-update(8). Pure: values in, texts out. What the boot entries say is left
 * to the boot loader. */

#include "check/boot/kernel_args.h"

typedef enum BootLoaderKind {
        BOOT_LOADER_UNKNOWN,
        BOOT_LOADER_GRUB,         /* grub.cfg made by grub-mkconfig */
        BOOT_LOADER_GRUB_ENTRIES, /* GRUB that reads /boot/loader/entries; changed by grubby */
        BOOT_LOADER_SYSTEMD_BOOT, /* entries made by kernel-install */
        BOOT_LOADER_UKI,          /* the command line is part of the kernel image */
        BOOT_LOADER_EXTLINUX,     /* extlinux.conf, read by U-Boot too */
} BootLoaderKind;

typedef struct BootLoader {
        BootLoaderKind kind;
        bool has_update_grub;      /* Debian's, which reads /etc/default/grub.d too */
        bool has_kernel_cmdline;   /* /etc/kernel/cmdline, from which entries and images are made */
        bool has_image_in_modules; /* /lib/modules/RELEASE/vmlinuz */
        const char *kernel_release; /* of the running kernel */
        const char *grub_config;    /* "/boot/grub2/grub.cfg" */
        const char *esp;            /* where the EFI system partition is mounted */
        const char *extlinux_place; /* "U_BOOT_PARAMETERS of /etc/default/u-boot" */
        const char *extlinux_tool;  /* makes extlinux.conf of that; NULL: it is edited itself */
} BootLoader;

typedef VEC(const char *) Instructions;

/* "GRUB", "GRUB with boot entries", "systemd-boot", "unified kernel image", "extlinux", "unknown". */
const char *boot_loader_title(BootLoaderKind kind);

/* For scripts: "grub", "grub-entries", "systemd-boot", "uki", "extlinux", "unknown". */
const char *boot_loader_name(BootLoaderKind kind);

/* What to do to make the changes of ADVICE, one step after the other: commands, and sentences where
 * a file has to be edited by hand. None when there is nothing to be done. */
Instructions boot_loader_instruct(Arena *arena, const BootLoader *loader,
                                  const KernelAdvice *advice);
