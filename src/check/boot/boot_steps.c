/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/boot/boot_steps.h"

#include "base/text.h"

#define KERNEL_CMDLINE "/etc/kernel/cmdline"

typedef struct Instructor {
        Arena *arena;
        const BootLoader *loader;
        const KernelAdvice *advice;
        Instructions list;
} Instructor;

PRINTF_LIKE(2, 3)
static void say(Instructor *instructor, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        *vec_push(instructor->arena, &instructor->list) =
                arena_vprintf(instructor->arena, format, arguments);
        va_end(arguments);
}

/* Adds one change to be made by hand. */
static void say_edit(Instructor *instructor, const KernelChange *change, const char *place) {
        if (!change->from)
                say(instructor, "in %s: add '%s'", place, change->to);
        else if (change->is_unclear)
                say(instructor, "in %s: fix '%s' as described above", place, change->from);
        else if (!change->to)
                say(instructor, "in %s: take '%s' out", place, change->from);
        else
                say(instructor, "in %s: replace '%s' with '%s'", place, change->from, change->to);
}

static void say_edits(Instructor *instructor, const char *place) {
        VEC_FOREACH(change, &instructor->advice->changes)
                say_edit(instructor, change, place);
}

/* ---- boot loaders ---- */

static void say_unknown(Instructor *instructor) {
        say_edits(instructor, "the kernel command line, where this machine's boot is set up (boot "
                              "loader, virtual machine, PXE)");
}

static void say_grub(Instructor *instructor) {
        const BootLoader *loader = instructor->loader;
        Text added = text_in(instructor->arena);

        VEC_FOREACH(change, &instructor->advice->changes)
                if (!change->from && loader->has_update_grub)
                        text_printf(&added, " %s", change->to);
                else
                        say_edit(instructor, change,
                                 loader->has_update_grub
                                         ? "GRUB_CMDLINE_LINUX of /etc/default/grub or a file in "
                                           "/etc/default/grub.d"
                                         : "GRUB_CMDLINE_LINUX of /etc/default/grub");
        if (added.length > 0)
                say(instructor,
                    "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX%s\"' > "
                    "/etc/default/grub.d/50-hugeplan.cfg",
                    added.string);
        if (loader->has_update_grub)
                say(instructor, "update-grub");
        else
                say(instructor, "grub2-mkconfig -o %s",
                    loader->grub_config ? loader->grub_config : "/boot/grub2/grub.cfg");
}

static bool is_page_words(const char *words) {
        return text_starts_with(words, "hugepages=") || text_starts_with(words, "hugepagesz=");
}

/* Adds all wanted pairs of hugepagesz= and hugepages=. */
static void add_pairs(Text *text, const KernelAdvice *advice) {
        VEC_FOREACH(phrase, &advice->phrases) {
                const char *words = is_page_words(*phrase) ? *phrase : NULL;

                VEC_FOREACH(change, &advice->changes)
                        if (words && !change->is_unclear && text_equals(change->from, *phrase))
                                words = change->to;
                text_add_word(text, words);
        }
        VEC_FOREACH(change, &advice->changes)
                if (!change->from)
                        text_add_word(text, change->to);
}

static void say_grubby(Instructor *instructor) {
        Text add = text_in(instructor->arena), remove = text_in(instructor->arena);
        bool has_pages = false;

        VEC_FOREACH(change, &instructor->advice->changes)
                if (change->is_unclear)
                        say_edit(instructor, change, "the boot entries");
                else if (is_page_words(change->from ? change->from : change->to))
                        has_pages = true;
                else {
                        text_add_word(&remove, change->from);
                        text_add_word(&add, change->to);
                }
        /* grubby removes all arguments with a given name, so the pairs of other sizes have to be added again. */
        if (has_pages)
                add_pairs(&add, instructor->advice);
        if (remove.length > 0)
                say(instructor, "grubby --update-kernel=ALL --remove-args=\"%s\"", remove.string);
        if (add.length > 0)
                say(instructor, "grubby --update-kernel=ALL --args=\"%s\"", add.string);
        /* New kernels take theirs from this file. */
        if (instructor->loader->has_kernel_cmdline)
                say_edits(instructor, KERNEL_CMDLINE);
        say(instructor, "hugeplanctl cmdline  # grubby of old releases keeps one page size only");
}

static void say_kernel_install(Instructor *instructor) {
        const BootLoader *loader = instructor->loader;
        const char *release = loader->kernel_release ? loader->kernel_release : "$(uname -r)";

        if (!loader->has_kernel_cmdline)
                say(instructor, "write the kernel command line into " KERNEL_CMDLINE
                                " (/proc/cmdline has the present one)");
        say_edits(instructor, KERNEL_CMDLINE);
        if (loader->has_image_in_modules)
                say(instructor, "kernel-install add %s /lib/modules/%s/vmlinuz", release, release);
        else
                say(instructor, "kernel-install add %s /boot/vmlinuz-%s", release, release);
}

static void say_uki(Instructor *instructor) {
        Text added = text_in(instructor->arena);

        VEC_FOREACH(change, &instructor->advice->changes) {
                if (change->from) { /* an addon can only add: the image has to be made again */
                        say_kernel_install(instructor);
                        return;
                }
                text_add_word(&added, change->to);
        }
        say(instructor, "ukify build --cmdline='%s' --output=%s/loader/addons/hugeplan.addon.efi",
            text_string(&added), instructor->loader->esp ? instructor->loader->esp : "/efi");
        say(instructor, "with Secure Boot, sign it: ukify's --secureboot-private-key= and "
                        "--secureboot-certificate=");
}

static void say_extlinux(Instructor *instructor) {
        say_edits(instructor, instructor->loader->extlinux_place);
        if (instructor->loader->extlinux_tool)
                say(instructor, "%s", instructor->loader->extlinux_tool);
}

/* ---- all ---- */

static const struct {
        const char *name, *title;
        void (*say)(Instructor *instructor);
} kinds[] = {
        [BOOT_LOADER_UNKNOWN] = {"unknown", "unknown", say_unknown},
        [BOOT_LOADER_GRUB] = {"grub", "GRUB", say_grub},
        [BOOT_LOADER_GRUB_ENTRIES] = {"grub-entries", "GRUB with boot entries", say_grubby},
        [BOOT_LOADER_SYSTEMD_BOOT] = {"systemd-boot", "systemd-boot", say_kernel_install},
        [BOOT_LOADER_UKI] = {"uki", "unified kernel image", say_uki},
        [BOOT_LOADER_EXTLINUX] = {"extlinux", "extlinux", say_extlinux},
};

const char *boot_loader_title(BootLoaderKind kind) {
        return kinds[kind].title;
}

const char *boot_loader_name(BootLoaderKind kind) {
        return kinds[kind].name;
}

Instructions boot_loader_instruct(Arena *arena, const BootLoader *loader,
                                  const KernelAdvice *advice) {
        Instructor instructor = {.arena = arena, .loader = loader, .advice = advice};

        if (advice->changes.n > 0) {
                kinds[loader->kind].say(&instructor);
                say(&instructor, "reboot");
        }
        return instructor.list;
}
