/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Boot loaders' texts: the command line of the next boot, and the steps to change it. */

#include "check/boot_entry.h"
#include "support/testing.h"

/* ---- grub.cfg ---- */

/* As Debian's grub-mkconfig writes it, shortened. */
#define GRUB_MENU                                                                                   \
        "menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-1' "     \
        "{\n"                                                                                       \
        "\tload_video\n"                                                                            \
        "\tif [ x$grub_platform = xxen ]; then insmod xzio; insmod lzopio; fi\n"                    \
        "\tlinux\t/boot/vmlinuz-6.1 root=UUID=1 ro first quiet\n"                                   \
        "\tinitrd\t/boot/initrd.img-6.1\n"                                                          \
        "}\n"                                                                                       \
        "submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-1' {\n"                 \
        "\tmenuentry 'Debian, with Linux 6.1' $menuentry_id_option 'gnulinux-6.1-advanced-1' {\n"   \
        "\t\tlinux\t/boot/vmlinuz-6.1 root=UUID=1 ro second\n"                                      \
        "\t}\n"                                                                                     \
        "\tmenuentry 'Debian, with Linux 5.10' $menuentry_id_option 'gnulinux-5.10-advanced-1' {\n" \
        "\t\tlinux\t/boot/vmlinuz-5.10 root=UUID=1 ro third\n"                                      \
        "\t}\n"                                                                                     \
        "}\n"                                                                                       \
        "menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {\n"               \
        "\tfwsetup\n"                                                                               \
        "}\n"                                                                                       \
        "menuentry \"Other\" {\n"                                                                   \
        "\tlinux16 /vmlinuz fourth\n"                                                               \
        "}\n"

#define GRUB_NEXT                                                                   \
        "if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\nelse\n" \
        "   set default=\""
#define GRUB_END "\"\nfi\n"

static const struct {
        const char *text, *environment, *expected;
} grub_cases[] = {
        {GRUB_NEXT "0" GRUB_END GRUB_MENU, NULL, "root=UUID=1 ro first quiet"},
        {GRUB_MENU, NULL, "root=UUID=1 ro first quiet"},
        {GRUB_NEXT "1" GRUB_END GRUB_MENU, NULL, "root=UUID=1 ro second"},
        {GRUB_NEXT "3" GRUB_END GRUB_MENU, NULL, "fourth"},
        {GRUB_NEXT "2" GRUB_END GRUB_MENU, NULL, "root=UUID=1 ro first quiet"},
        {GRUB_NEXT "1>1" GRUB_END GRUB_MENU, NULL, "root=UUID=1 ro second"},
        {GRUB_NEXT "gnulinux-advanced-1>gnulinux-5.10-advanced-1" GRUB_END GRUB_MENU, NULL,
         "root=UUID=1 ro third"},
        {GRUB_NEXT "Other" GRUB_END GRUB_MENU, NULL, "fourth"},
        {GRUB_NEXT "${saved_entry}" GRUB_END GRUB_MENU,
         "# GRUB Environment Block\nsaved_entry=gnulinux-5.10-advanced-1\n####",
         "root=UUID=1 ro third"},
        {GRUB_NEXT "${saved_entry}" GRUB_END GRUB_MENU, "# GRUB Environment Block\n",
         "root=UUID=1 ro first quiet"},
        {GRUB_NEXT "0" GRUB_END GRUB_MENU, "next_entry=Other\n", "fourth"},
        {GRUB_NEXT "0" GRUB_END GRUB_MENU, "next_entry=\n", "root=UUID=1 ro first quiet"},
        {"set tuned_params=\"isolcpus=1\"\nmenuentry 'a' {\nlinux /v ro $tuned_params ${x} $y q\n}\n",
         "x=5\n", "ro isolcpus=1 5  q"},
        {GRUB_NEXT "Debian, with Linux 5.10" GRUB_END GRUB_MENU, NULL, "root=UUID=1 ro third"},
        {"set default=3\nset defaultx=\"0\"\nset timeout=1\n" GRUB_MENU, NULL, "fourth"},
        {"menuentry 'a' {\nlinux /v $x}\n}\n", "x=5", "5}"},
        {"menuentry 'a' {\n}\n", NULL, NULL},
        {"linux /v ro\n", NULL, NULL},
        {"", NULL, NULL},
        {"menuentry 'a\nlinux /v ro\n}}}\n", NULL, "ro"},
        {"menuentry 'a' {\nlinux\n}\n", NULL, ""},
};

static void test_grub(void **state) {
        for (size_t i = 0; i < ARRAY_LEN(grub_cases); i++) {
                char *is = grub_config_command_line(*state, grub_cases[i].text,
                                                    grub_cases[i].environment);

                if (!text_equals(is, grub_cases[i].expected))
                        print_error("case %zu\n", i);
                assert_text(is, grub_cases[i].expected);
        }
}

static void test_entry(void **state) {
        static const struct {
                const char *text, *environment, *expected;
        } cases[] = {
                {"title x\nversion 1\noptions root=x ro\n", NULL, "root=x ro"},
                {"options a\noptions  b c\n", NULL, "a b c"},
                {"options $kernelopts $tuned_params\n", "kernelopts=root=y ro\ntuned_params=t\n",
                 "root=y ro t"},
                {"options $kernelopts\n", NULL, ""},
                {"optionsx a\n", NULL, NULL},
                {"", NULL, NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(boot_entry_command_line(*state, cases[i].text, cases[i].environment),
                            cases[i].expected);
}

/* ---- instructions ---- */

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
                *vec_push(arena, &advice.next_phrases) = phrase;
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

static void test_instruct_grub(void **state) {
        BootLoader loader = {.kind = BOOT_LOADER_GRUB, .grub_config = "/boot/grub2/grub.cfg"};
        KernelAdvice add = advice_of(*state, "", add_gigantic, 1);
        KernelAdvice change = advice_of(*state, "", three, 3);

        assert_text(instruct(*state, &loader, &add),
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub: add 'hugepagesz=1G "
                    "hugepages=0:2'\ngrub2-mkconfig -o /boot/grub2/grub.cfg\nreboot\n");
        loader.has_update_grub = true;
        assert_text(instruct(*state, &loader, &add),
                    "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX hugepagesz=1G "
                    "hugepages=0:2\"' > /etc/default/grub.d/50-hugeplan.cfg\nupdate-grub\n"
                    "reboot\n");
        boot_loader_add_sources(*state, &loader, "/etc/default/grub",
                                "# GRUB_CMDLINE_LINUX=\"numa=off\"\n"
                                "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet xnuma=off numa=offx\"\n"
                                "GRUB_CMDLINE_LINUX=\"hugepagesz=1G hugepages=4 numa=off\"\n",
                                "GRUB_CMDLINE_LINUX");
        assert_text(instruct(*state, &loader, &change),
                    "in /etc/default/grub, line 3: replace 'hugepagesz=1G hugepages=4' with "
                    "'hugepagesz=1G hugepages=0:2'\n"
                    "in /etc/default/grub, line 3: take 'numa=off' out\n"
                    "in GRUB_CMDLINE_LINUX of /etc/default/grub: put 'transparent_hugepage=no' "
                    "right as said above\nupdate-grub\nreboot\n");
        /* Written already, but not made into grub.cfg yet. */
        boot_loader_add_sources(*state, &loader, "/etc/default/grub.d/x.cfg",
                                "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX hugepagesz=1G "
                                "hugepages=0:2\"\n",
                                "GRUB_CMDLINE_LINUX");
        assert_text(instruct(*state, &loader, &add), "update-grub\nreboot\n");
        const KernelChange put_right = {.from = "hugepagesz=1G hugepages=9", .to = gigantic};
        KernelAdvice done = advice_of(*state, "", &put_right, 1);

        assert_text(instruct(*state, &loader, &done), "update-grub\nreboot\n");
}

/* Written for another number of pages, but not made into grub.cfg: a second pair would be ignored. */
static void test_instruct_outdated(void **state) {
        BootLoader loader = {.kind = BOOT_LOADER_GRUB, .has_update_grub = true};
        KernelAdvice add = advice_of(*state, "", add_gigantic, 1);

        boot_loader_add_sources(*state, &loader, "/etc/default/grub",
                                "GRUB_CMDLINE_LINUX=\"hugepagesz=2M hugepages=9 "
                                "hugepagesz=1024M hugepages=7 quiet\"\n",
                                "GRUB_CMDLINE_LINUX");
        assert_text(instruct(*state, &loader, &add),
                    "in /etc/default/grub, line 1: replace 'hugepagesz=1024M hugepages=7' with "
                    "'hugepagesz=1G hugepages=0:2'\nupdate-grub\nreboot\n");
}

static void test_extlinux(void **state) {
        static const struct {
                const char *text, *line;
        } cases[] = {
                {"", NULL},
                {"default x\nprompt 0\n", NULL},
                {"label a\n\tappend root=a\nlabel b\n append root=b\n", "root=a"},
                {"DEFAULT b\nLABEL a\nAPPEND root=a\nLABEL b\nAPPEND  root=b quiet \n",
                 "root=b quiet"},
                {"default menu.c32\nlabel a\nappend a\nlabel b\nmenu default\nappend b\n", "b"},
                {"default a\nontimeout b\nlabel a\nappend a\nlabel b\nappend b\n", "b"},
                {"append all\nlabel a\nlinux /vmlinuz\n", "all"},
                {"append all\nlabel a\nappend -\n", ""},
                {"label a\nlinux /vmlinuz\n", ""},
                {"labels a\nlabel\nlabel c\nappendix x\nappend y\n", "y"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(extlinux_command_line(*state, cases[i].text), cases[i].line);
}

static void test_instruct_extlinux(void **state) {
        BootLoader loader = {.kind = BOOT_LOADER_EXTLINUX,
                             .extlinux_place = "U_BOOT_PARAMETERS of /etc/default/u-boot",
                             .extlinux_tool = "u-boot-update"};
        KernelAdvice add = advice_of(*state, "", add_gigantic, 1);

        assert_text(instruct(*state, &loader, &add),
                    "in U_BOOT_PARAMETERS of /etc/default/u-boot: add 'hugepagesz=1G "
                    "hugepages=0:2'\nu-boot-update\nreboot\n");
        loader.extlinux_tool = NULL;
        boot_loader_add_sources(*state, &loader, "/boot/extlinux/extlinux.conf",
                                "label a\n\tAPPEND hugepagesz=1G hugepages=4 numa=off\n", "append");
        KernelAdvice change = advice_of(*state, "", three, 2);

        assert_text(instruct(*state, &loader, &change),
                    "in /boot/extlinux/extlinux.conf, line 2: replace 'hugepagesz=1G hugepages=4' "
                    "with 'hugepagesz=1G hugepages=0:2'\nin /boot/extlinux/extlinux.conf, line 2: "
                    "take 'numa=off' out\nreboot\n");
}

static void test_sources(void **state) {
        BootLoader loader = {};

        boot_loader_add_sources(*state, &loader, "/etc/kernel/cmdline", "\n# c\n  root=x \n\n",
                                NULL);
        assert_int_equal(loader.sources.n, 1);
        assert_text(loader.sources.items[0].text, "root=x");
        assert_int_equal(loader.sources.items[0].line, 3);
}

/* grubby is given every pair, for it takes out all arguments of a name that it is given. */
static void test_instruct_grubby(void **state) {
        static const char check[] =
                "hugeplanctl cmdline  # grubby of old releases keeps one page size only\nreboot\n";
        BootLoader loader = {.kind = BOOT_LOADER_GRUB_ENTRIES};
        KernelAdvice add =
                advice_of(*state, "numa_balancing=0|hugepagesz=2M hugepages=5", add_gigantic, 1);
        KernelAdvice remove = advice_of(*state, "hugepages=5|numa=off", three + 1, 1);
        KernelAdvice change = advice_of(
                *state, "hugepages=5|hugepagesz=1G hugepages=4|numa=off|transparent_hugepage=no",
                three, 3);

        assert_text(instruct(*state, &loader, &add),
                    arena_printf(*state,
                                 "grubby --update-kernel=ALL --args=\"hugepagesz=2M hugepages=5 "
                                 "hugepagesz=1G hugepages=0:2\"\n%s",
                                 check));
        assert_text(instruct(*state, &loader, &change),
                    arena_printf(*state,
                                 "in the boot entries: put 'transparent_hugepage=no' right as said "
                                 "above\n"
                                 "grubby --update-kernel=ALL --remove-args=\"numa=off\"\n"
                                 "grubby --update-kernel=ALL --args=\"hugepages=5 hugepagesz=1G "
                                 "hugepages=0:2\"\n%s",
                                 check));
        assert_text(instruct(*state, &loader, &remove),
                    arena_printf(*state,
                                 "grubby --update-kernel=ALL --remove-args=\"numa=off\"\n%s",
                                 check));
        const KernelChange unclear = {.from = "hugepages=x", .is_unclear = true};
        KernelAdvice by_hand = advice_of(*state, "hugepages=x", &unclear, 1);

        assert_text(instruct(*state, &loader, &by_hand),
                    arena_printf(*state,
                                 "in the boot entries: put 'hugepages=x' right as said above\n%s",
                                 check));
        boot_loader_add_sources(*state, &loader, "/etc/kernel/cmdline", "root=x ro\n", NULL);
        assert_text(instruct(*state, &loader, &add),
                    arena_printf(*state,
                                 "grubby --update-kernel=ALL --args=\"hugepagesz=2M hugepages=5 "
                                 "hugepagesz=1G hugepages=0:2\"\n"
                                 "in /etc/kernel/cmdline: add 'hugepagesz=1G hugepages=0:2'\n%s",
                                 check));
}

static void test_instruct_others(void **state) {
        BootLoader loader = {.kind = BOOT_LOADER_SYSTEMD_BOOT,
                             .kernel_release = "6.1",
                             .has_image_in_modules = true};
        KernelAdvice add = advice_of(*state, "", add_gigantic, 1);
        KernelAdvice none = {.verdict = KERNEL_LINE_REBOOT};

        assert_text(instruct(*state, &loader, &add),
                    "write the kernel command line into /etc/kernel/cmdline (/proc/cmdline has the "
                    "present one)\nin /etc/kernel/cmdline: add 'hugepagesz=1G hugepages=0:2'\n"
                    "kernel-install add 6.1 /lib/modules/6.1/vmlinuz\nreboot\n");
        loader.has_image_in_modules = false;
        boot_loader_add_sources(*state, &loader, "/etc/kernel/cmdline",
                                "root=x hugepagesz=1G hugepages=4\n", NULL);
        KernelAdvice change = advice_of(*state, "", three, 1);

        assert_text(instruct(*state, &loader, &change),
                    "in /etc/kernel/cmdline, line 1: replace 'hugepagesz=1G hugepages=4' with "
                    "'hugepagesz=1G hugepages=0:2'\nkernel-install add 6.1 /boot/vmlinuz-6.1\n"
                    "reboot\n");
        loader.kind = BOOT_LOADER_UKI;
        loader.esp = "/boot/efi";
        assert_contains(instruct(*state, &loader, &add),
                        "ukify build --cmdline='hugepagesz=1G hugepages=0:2' "
                        "--output=/boot/efi/loader/addons/hugeplan.addon.efi\n");
        assert_contains(instruct(*state, &loader, &change), "kernel-install add");
        loader.kind = BOOT_LOADER_UNKNOWN;
        assert_contains(instruct(*state, &loader, &change),
                        "virtual machine, PXE): replace 'hugepagesz=1G hugepages=4' with");
        Instructions list = boot_loader_instruct(*state, &loader, &none);

        assert_int_equal(list.n, 1);
        assert_text(list.items[0], "reboot");
        loader.kind = BOOT_LOADER_GRUB;
        assert_int_equal(boot_loader_instruct(*state, &loader, &none).n, 1);
        none.verdict = KERNEL_LINE_SERVES;
        assert_int_equal(boot_loader_instruct(*state, &loader, &none).n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_grub),
                TEST(test_entry),
                TEST(test_instruct_outdated),
                TEST(test_extlinux),
                TEST(test_instruct_extlinux),
                TEST(test_sources),
                TEST(test_instruct_grub),
                TEST(test_instruct_grubby),
                TEST(test_instruct_others),
        };

        return RUN_TESTS(tests);
}
