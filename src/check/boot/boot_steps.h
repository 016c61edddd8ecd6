/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Boot steps: how an administrator changes the kernel command line with the host's boot loader.
 *
 * Sources: GRUB's manual (GRUB_CMDLINE_LINUX), grubby(8), kernel-install(8), u-boot-update(8). Pure: values in, texts
 * out. The contents of boot entries are left to the boot loader. */

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
        const char *
                place; /* of the arguments: "GRUB_CMDLINE_LINUX of /etc/default/grub"; NULL: the command sets them */
        const char *command; /* has them take effect at the next boot; NULL: none is needed */
} BootLoader;

typedef struct BootLoaderName {
        const char *name;  /* for scripts */
        const char *title; /* for people */
} BootLoaderName;

extern const BootLoaderName boot_loader_names[];

typedef VEC(const char *) Instructions;

/* Returns the steps that make the changes of ADVICE, in order: commands, or sentences if a file has to be edited by
 * hand. Empty if there are no changes. */
Instructions boot_loader_instruct(Arena *arena, const BootLoader *loader,
                                  const KernelAdvice *advice);
