/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/boot/boot_steps.h"

#include "base/text.h"

const BootLoaderName boot_loader_names[] = {
        [BOOT_LOADER_UNKNOWN] = {"unknown", "unknown"},
        [BOOT_LOADER_GRUB] = {"grub", "GRUB"},
        [BOOT_LOADER_GRUB_ENTRIES] = {"grub-entries", "GRUB with boot entries"},
        [BOOT_LOADER_SYSTEMD_BOOT] = {"systemd-boot", "systemd-boot"},
        [BOOT_LOADER_UKI] = {"uki", "unified kernel image"},
        [BOOT_LOADER_EXTLINUX] = {"extlinux", "extlinux"},
};

/* Returns one change to be made by hand. */
static const char *edit(Arena *arena, const KernelChange *change, const char *place) {
        if (!change->from)
                return arena_printf(arena, "in %s: add '%s'", place, change->to);
        if (change->is_unclear)
                return arena_printf(arena, "in %s: fix '%s' as described above", place,
                                    change->from);
        if (!change->to)
                return arena_printf(arena, "in %s: take '%s' out", place, change->from);
        return arena_printf(arena, "in %s: replace '%s' with '%s'", place, change->from,
                            change->to);
}

/* grubby replaces all arguments that have the name of one to be added, so the pairs of other sizes are added again. */
static const char *grubby_command(Arena *arena, const KernelAdvice *advice) {
        Text add = text_in(arena), remove = text_in(arena), pages = text_in(arena);

        VEC_FOREACH(phrase, &advice->phrases) {
                const KernelChange *change =
                        VEC_FIND(each, &advice->changes,
                                 !each->is_unclear && text_equals(each->from, *phrase));

                bool is_pages = text_starts_with(*phrase, "hugepages");

                if (change)
                        text_add_word(is_pages ? &pages : &remove, *phrase);
                if (change || is_pages)
                        text_add_word(&add, change ? change->to : *phrase);
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

Instructions boot_loader_instruct(Arena *arena, const BootLoader *loader,
                                  const KernelAdvice *advice) {
        bool has_entries = loader->kind == BOOT_LOADER_GRUB_ENTRIES;
        const char *command = has_entries ? grubby_command(arena, advice) : loader->command;
        Instructions steps = {};

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
