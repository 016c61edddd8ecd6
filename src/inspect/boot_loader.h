/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds the boot loader of a host by the existing files, and says how an administrator changes the kernel command line
 * with it. Only reads, never accesses the firmware, and leaves the contents of boot entries to the boot loader.
 *
 * Sources: GRUB's manual (GRUB_CMDLINE_LINUX), grubby(8), kernel-install(8), u-boot-update(8). */

#include "check/kernel_args.h"
#include "host/root.h"

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
        /* Of the arguments: "GRUB_CMDLINE_LINUX of /etc/default/grub"; NULL: the command sets them. */
        const char *place;
        const char *command; /* has them take effect at the next boot; NULL: none is needed */
        const char *file;    /* by which it is known; NULL: none */
} BootLoader;

typedef struct BootLoaderName {
        const char *name;  /* for scripts */
        const char *title; /* for people */
} BootLoaderName;

extern const BootLoaderName boot_loader_names[];

/* Never fails; what cannot be read (often for lack of permission) counts as unknown. */
BootLoader boot_loader_find(const Root *root, Arena *arena);

/* Returns the steps that make the changes of ADVICE, in order: commands, or sentences if a file has to be edited by
 * hand. Empty if there are no changes. */
SourceNames boot_loader_instruct(Arena *arena, const BootLoader *loader,
                                 const KernelAdvice *advice);
