/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Boot entries: which kernel command line the next boot gets, and how it is changed.
 *
 * Sources: GRUB's manual (grub.cfg, grubenv, GRUB_CMDLINE_LINUX), the Boot Loader Specification
 * (UAPI.1), grubby-bls, kernel-install(8), ukify(1), systemd-stub(7), syslinux's and U-Boot's
 * documents on extlinux.conf. Pure: texts in, texts out. */

#include "check/kernel_args.h"

typedef enum BootLoaderKind {
        BOOT_LOADER_UNKNOWN,
        BOOT_LOADER_GRUB,         /* grub.cfg made by grub-mkconfig */
        BOOT_LOADER_GRUB_ENTRIES, /* GRUB that reads /boot/loader/entries; changed by grubby */
        BOOT_LOADER_SYSTEMD_BOOT, /* entries made by kernel-install */
        BOOT_LOADER_UKI,          /* the command line is part of the kernel image */
        BOOT_LOADER_EXTLINUX,     /* extlinux.conf, read by U-Boot too */
} BootLoaderKind;

/* A line of settings from which command lines are made. */
typedef struct BootSource {
        const char *file;
        unsigned line;
        const char *text;
} BootSource;

typedef struct BootLoader {
        BootLoaderKind kind;
        const char *next_line; /* the command line of the entry that boots next; NULL: not known */
        const char *next_file;
        VEC(BootSource) sources;
        bool has_update_grub;       /* Debian's, which reads /etc/default/grub.d too */
        const char *grub_config;    /* "/boot/grub2/grub.cfg" */
        const char *esp;            /* where the EFI system partition is mounted */
        const char *kernel_release; /* of the running kernel */
        bool has_image_in_modules;  /* /lib/modules/RELEASE/vmlinuz */
        const char *extlinux_place; /* "U_BOOT_PARAMETERS of /etc/default/u-boot" */
        const char *extlinux_tool;  /* makes extlinux.conf of that; NULL: it is edited itself */
} BootLoader;

typedef VEC(const char *) Instructions;

/* "GRUB", "GRUB with boot entries", "systemd-boot", "unified kernel image", "extlinux", "unknown". */
const char *boot_loader_title(BootLoaderKind kind);

/* For scripts: "grub", "grub-entries", "systemd-boot", "uki", "extlinux", "unknown". */
const char *boot_loader_name(BootLoaderKind kind);

/* The value of a variable in GRUB's environment block; NULL where there is none. */
char *grub_environment_get(Arena *arena, const char *environment, const char *name);

/* The kernel command line of the entry that grub.cfg (TEXT) boots by default, without the kernel's
 * own path; NULL where no entry has one. ENVIRONMENT: the text of grubenv; may be NULL. */
char *grub_config_command_line(Arena *arena, const char *text, const char *environment);

/* The options of a boot entry; $kernelopts and $tuned_params are looked up in ENVIRONMENT. */
char *boot_entry_command_line(Arena *arena, const char *text, const char *environment);

/* The kernel command line of the label that extlinux.conf boots by default; NULL where it has no
 * label. */
char *extlinux_command_line(Arena *arena, const char *text);

/* The settings lines of a file, those that hold kernel arguments: the ones that begin with NAME,
 * whatever the case ("GRUB_CMDLINE_LINUX", "append"); NULL: all but comments, as in
 * /etc/kernel/cmdline. */
void boot_loader_add_sources(Arena *arena, BootLoader *loader, const char *file, const char *text,
                             const char *name);

/* What an administrator does to make CHANGES, one step after the other: commands, and sentences
 * where a file has to be edited by hand. None when there is nothing to be done. */
Instructions boot_loader_instruct(Arena *arena, const BootLoader *loader,
                                  const KernelAdvice *advice);
