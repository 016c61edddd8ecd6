/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The steps to change the kernel command line, for each boot loader. */

#include "inspect/boot_loader.h"
#include "support/testing.h"

static char *instruct(Arena *arena, BootLoader *loader, KernelAdvice *advice) {
        Text text = text_in(arena);

        advice->verdict = KERNEL_LINE_CHANGE;
        SourceNames list = boot_loader_instruct(arena, loader, advice);

        VEC_FOREACH(one, &list)
                text_printf(&text, "%s\n", *one);
        return arena_strdup(arena, text_string(&text));
}

/* PHRASES of the changed line, separated by "|". */
static KernelAdvice advice_of(Arena *arena, const char *phrases, const KernelChange *changes,
                              size_t n) {
        KernelAdvice advice = {};
        char *phrase;

        while ((phrase = text_next_word(arena, &phrases, "|")))
                *vec_push(arena, &advice.phrases) = (KernelPhrase){.words = phrase};
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

/* By hand in the loader's files, and with one command. */
TEST(instruct_by_hand) {
        BootLoader loader = {.kind = BOOT_LOADER_GRUB,
                             .place = "GRUB_CMDLINE_LINUX of /etc/default/grub",
                             .command = "update-grub"};
        KernelAdvice add = advice_of(arena, "", add_gigantic, 1);
        KernelAdvice change = advice_of(arena, "", three, 3);
        KernelAdvice none = {.verdict = KERNEL_LINE_SERVES};

        assert_text(instruct(arena, &loader, &add),
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub: add 'hugepagesz=1G "
                    "hugepages=0:2'\nupdate-grub\nreboot\n");
        assert_text(instruct(arena, &loader, &change),
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub: "
                    "replace 'hugepagesz=1G hugepages=4' with 'hugepagesz=1G hugepages=0:2'\n"
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub: remove 'numa=off'\n"
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub: "
                    "fix 'transparent_hugepage=no' as described above\nupdate-grub\nreboot\n");
        loader.command = NULL;
        assert_text(instruct(arena, &loader, &add),
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub: add 'hugepagesz=1G "
                    "hugepages=0:2'\nreboot\n");
        assert_int_equal(boot_loader_instruct(arena, &loader, &none).n, 0);
}

/* grubby gets every pair, because it removes all arguments with a name that it gets. */
TEST(instruct_grubby) {
        static const char hint[] =
                "  # old releases keep one page size only: see grubby --info=ALL\nreboot\n";
        BootLoader loader = {.kind = BOOT_LOADER_GRUB_ENTRIES};
        KernelAdvice add =
                advice_of(arena, "numa_balancing=0|hugepagesz=2M hugepages=5", add_gigantic, 1);
        KernelAdvice remove = advice_of(arena, "numa=off", three + 1, 1);
        KernelAdvice change = advice_of(
                arena, "hugepages=5|hugepagesz=1G hugepages=4|numa=off|transparent_hugepage=no",
                three, 3);

        assert_text(instruct(arena, &loader, &add),
                    arena_printf(arena,
                                 "grubby --update-kernel=ALL --args=\"hugepagesz=2M hugepages=5 "
                                 "hugepagesz=1G hugepages=0:2\"%s",
                                 hint));
        assert_text(
                instruct(arena, &loader, &change),
                arena_printf(
                        arena,
                        "in the boot entries: fix 'transparent_hugepage=no' as described above\n"
                        "grubby --update-kernel=ALL --remove-args=\"numa=off\" "
                        "--args=\"hugepages=5 hugepagesz=1G hugepages=0:2\"%s",
                        hint));
        assert_text(instruct(arena, &loader, &remove),
                    arena_printf(arena, "grubby --update-kernel=ALL --remove-args=\"numa=off\"%s",
                                 hint));
        const KernelChange unclear = {.from = "transparent_hugepage=x", .is_unclear = true};
        KernelAdvice by_hand = advice_of(arena, "transparent_hugepage=x", &unclear, 1);

        assert_text(instruct(arena, &loader, &by_hand),
                    "in the boot entries: fix 'transparent_hugepage=x' as described above\n"
                    "reboot\n");
        loader.place = "/etc/kernel/cmdline";
        assert_text(instruct(arena, &loader, &add),
                    arena_printf(arena,
                                 "in /etc/kernel/cmdline: add 'hugepagesz=1G hugepages=0:2'\n"
                                 "grubby --update-kernel=ALL --args=\"hugepagesz=2M hugepages=5 "
                                 "hugepagesz=1G hugepages=0:2\"%s",
                                 hint));
}
