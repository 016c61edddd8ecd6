/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The steps to change the kernel command line, for each boot loader. */

#include "check/boot/boot_steps.h"
#include "support/testing.h"

static char *instruct(Arena *arena, BootLoader *loader, KernelAdvice *advice) {
        Text text = text_in(arena);

        advice->verdict = KERNEL_LINE_CHANGE;
        Instructions list = boot_loader_instruct(arena, loader, advice);

        VEC_FOREACH(one, &list)
                text_printf(&text, "%s\n", *one);
        return arena_strdup(arena, text_string(&text));
}

/* PHRASES: those of the line that is changed, parted by "|". */
static KernelAdvice advice_of(Arena *arena, const char *phrases, const KernelChange *changes,
                              size_t n) {
        KernelAdvice advice = {};
        char *phrase;

        while ((phrase = text_next_word(arena, &phrases, "|")))
                *vec_push(arena, &advice.phrases) = phrase;
        for (size_t i = 0; i < n; i++)
                *vec_push(arena, &advice.changes) = changes[i];
        return advice;
}

static const char gigantic[] = "hugepagesz=1G hugepages=0:2";
static const KernelChange add_gigantic[] = {{.to = gigantic}};
static const KernelChange three[] = {
        {.from = "hugepagesz=1G hugepages=4", .to = gigantic},
        {.from = "numa=off"},
        {.from = "transparent_hugepage=no", .is_unclear = true},
};

TEST(instruct_grub) {
        BootLoader loader = {.kind = BOOT_LOADER_GRUB, .grub_config = "/boot/grub2/grub.cfg"};
        KernelAdvice add = advice_of(arena, "", add_gigantic, 1);
        KernelAdvice change = advice_of(arena, "", three, 3);

        assert_text(instruct(arena, &loader, &add),
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub: add 'hugepagesz=1G "
                    "hugepages=0:2'\ngrub2-mkconfig -o /boot/grub2/grub.cfg\nreboot\n");
        loader.has_update_grub = true;
        assert_text(instruct(arena, &loader, &add),
                    "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX hugepagesz=1G "
                    "hugepages=0:2\"' > /etc/default/grub.d/50-hugeplan.cfg\nupdate-grub\n"
                    "reboot\n");
        assert_text(instruct(arena, &loader, &change),
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub or a file in /etc/default/grub.d: "
                    "replace 'hugepagesz=1G hugepages=4' with 'hugepagesz=1G hugepages=0:2'\n"
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub or a file in /etc/default/grub.d: "
                    "take 'numa=off' out\n"
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub or a file in /etc/default/grub.d: "
                    "fix 'transparent_hugepage=no' as described above\nupdate-grub\nreboot\n");
}

TEST(instruct_extlinux) {
        BootLoader loader = {.kind = BOOT_LOADER_EXTLINUX,
                             .extlinux_place = "U_BOOT_PARAMETERS of /etc/default/u-boot",
                             .extlinux_tool = "u-boot-update"};
        KernelAdvice add = advice_of(arena, "", add_gigantic, 1);

        assert_text(instruct(arena, &loader, &add),
                    "in U_BOOT_PARAMETERS of /etc/default/u-boot: add 'hugepagesz=1G "
                    "hugepages=0:2'\nu-boot-update\nreboot\n");
        loader.extlinux_tool = NULL;
        loader.extlinux_place = "the append line of /boot/extlinux/extlinux.conf";
        KernelAdvice change = advice_of(arena, "", three, 2);

        assert_text(instruct(arena, &loader, &change),
                    "in the append line of /boot/extlinux/extlinux.conf: replace 'hugepagesz=1G "
                    "hugepages=4' with 'hugepagesz=1G hugepages=0:2'\nin the append line of "
                    "/boot/extlinux/extlinux.conf: take 'numa=off' out\nreboot\n");
}

/* grubby is given every pair, for it takes out all arguments of a name that it is given. */
TEST(instruct_grubby) {
        static const char check[] =
                "hugeplanctl cmdline  # grubby of old releases keeps one page size only\nreboot\n";
        BootLoader loader = {.kind = BOOT_LOADER_GRUB_ENTRIES};
        KernelAdvice add =
                advice_of(arena, "numa_balancing=0|hugepagesz=2M hugepages=5", add_gigantic, 1);
        KernelAdvice remove = advice_of(arena, "hugepages=5|numa=off", three + 1, 1);
        KernelAdvice change = advice_of(
                arena, "hugepages=5|hugepagesz=1G hugepages=4|numa=off|transparent_hugepage=no",
                three, 3);

        assert_text(instruct(arena, &loader, &add),
                    arena_printf(arena,
                                 "grubby --update-kernel=ALL --args=\"hugepagesz=2M hugepages=5 "
                                 "hugepagesz=1G hugepages=0:2\"\n%s",
                                 check));
        assert_text(
                instruct(arena, &loader, &change),
                arena_printf(
                        arena,
                        "in the boot entries: fix 'transparent_hugepage=no' as described above\n"
                        "grubby --update-kernel=ALL --remove-args=\"numa=off\"\n"
                        "grubby --update-kernel=ALL --args=\"hugepages=5 hugepagesz=1G "
                        "hugepages=0:2\"\n%s",
                        check));
        assert_text(instruct(arena, &loader, &remove),
                    arena_printf(arena, "grubby --update-kernel=ALL --remove-args=\"numa=off\"\n%s",
                                 check));
        const KernelChange unclear = {.from = "hugepages=x", .is_unclear = true};
        KernelAdvice by_hand = advice_of(arena, "hugepages=x", &unclear, 1);

        assert_text(instruct(arena, &loader, &by_hand),
                    arena_printf(arena,
                                 "in the boot entries: fix 'hugepages=x' as described above\n%s",
                                 check));
        loader.has_kernel_cmdline = true;
        assert_text(instruct(arena, &loader, &add),
                    arena_printf(arena,
                                 "grubby --update-kernel=ALL --args=\"hugepagesz=2M hugepages=5 "
                                 "hugepagesz=1G hugepages=0:2\"\n"
                                 "in /etc/kernel/cmdline: add 'hugepagesz=1G hugepages=0:2'\n%s",
                                 check));
}

TEST(instruct_others) {
        BootLoader loader = {.kind = BOOT_LOADER_SYSTEMD_BOOT,
                             .kernel_release = "6.1",
                             .has_image_in_modules = true};
        KernelAdvice add = advice_of(arena, "", add_gigantic, 1);
        KernelAdvice none = {.verdict = KERNEL_LINE_SERVES};

        assert_text(instruct(arena, &loader, &add),
                    "write the kernel command line into /etc/kernel/cmdline (/proc/cmdline has the "
                    "present one)\nin /etc/kernel/cmdline: add 'hugepagesz=1G hugepages=0:2'\n"
                    "kernel-install add 6.1 /lib/modules/6.1/vmlinuz\nreboot\n");
        loader.has_image_in_modules = false;
        loader.has_kernel_cmdline = true;
        KernelAdvice change = advice_of(arena, "", three, 1);

        assert_text(instruct(arena, &loader, &change),
                    "in /etc/kernel/cmdline: replace 'hugepagesz=1G hugepages=4' with "
                    "'hugepagesz=1G hugepages=0:2'\nkernel-install add 6.1 /boot/vmlinuz-6.1\n"
                    "reboot\n");
        loader.kind = BOOT_LOADER_UKI;
        loader.esp = "/boot/efi";
        assert_contains(instruct(arena, &loader, &add),
                        "ukify build --cmdline='hugepagesz=1G hugepages=0:2' "
                        "--output=/boot/efi/loader/addons/hugeplan.addon.efi\n");
        assert_contains(instruct(arena, &loader, &change), "kernel-install add");
        loader.kind = BOOT_LOADER_UNKNOWN;
        assert_contains(instruct(arena, &loader, &change),
                        "virtual machine, PXE): replace 'hugepagesz=1G hugepages=4' with");
        assert_int_equal(boot_loader_instruct(arena, &loader, &none).n, 0);
}
