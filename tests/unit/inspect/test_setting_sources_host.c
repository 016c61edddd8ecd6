/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Places of settings, hugeplan's guard against them, and the boot loader of a host. */

#include "apply/host_apply.h"
#include "inspect/boot_loader.h"
#include "inspect/setting_sources.h"
#include "support/testing.h"
#include "support/tree.h"

#include <sys/stat.h>
#include <unistd.h>

/* All entries, one per line; "!" before one that is overruled. */
static char *find_text(const Tree *tree) {
        const SettingSources *setting_sources = setting_sources_find(
                tree->root, tree->arena,
                host_make(tree->arena, "sizes 1G 2M\nnode 0 total=64G free=60G\nthp never\n"));
        Text text = text_in(tree->arena);

        VEC_FOREACH(entry, &setting_sources->list)
                text_printf(&text, "%s%s\n", entry->is_effective ? "" : "!",
                            setting_source_format(tree->arena, entry));
        return arena_strdup(tree->arena, text_string(&text));
}

static void write_pages(const Tree *tree, const char *path, const char *pages) {
        tree_write(tree, path, arena_printf(tree->arena, "vm.nr_hugepages=%s\n", pages));
}

/* ---- sysctl.d ---- */

TREE_TEST(nothing) {
        assert_text(find_text(tree), "");
}

TREE_TEST(sysctl_order) {
        write_pages(tree, "/usr/lib/sysctl.d/10-a.conf", "1");
        write_pages(tree, "/etc/sysctl.d/05-b.conf", "2");
        write_pages(tree, "/run/sysctl.d/20-c.conf", "3");
        write_pages(tree, "/usr/local/lib/sysctl.d/15-d.conf", "4");
        write_pages(tree, "/lib/sysctl.d/07-e.conf", "5");
        write_pages(tree, "/etc/sysctl.d/not-read.txt", "6");
        assert_text(find_text(tree), "!vm.nr_hugepages=2 in /etc/sysctl.d/05-b.conf:1\n"
                                     "!vm.nr_hugepages=5 in /lib/sysctl.d/07-e.conf:1\n"
                                     "!vm.nr_hugepages=1 in /usr/lib/sysctl.d/10-a.conf:1\n"
                                     "!vm.nr_hugepages=4 in /usr/local/lib/sysctl.d/15-d.conf:1\n"
                                     "vm.nr_hugepages=3 in /run/sysctl.d/20-c.conf:1\n");
}

TREE_TEST(sysctl_precedence) {
        write_pages(tree, "/usr/lib/sysctl.d/a.conf", "1");
        write_pages(tree, "/usr/local/lib/sysctl.d/a.conf", "2");
        assert_text(find_text(tree), "vm.nr_hugepages=2 in /usr/local/lib/sysctl.d/a.conf:1\n");
        write_pages(tree, "/run/sysctl.d/a.conf", "3");
        assert_text(find_text(tree), "vm.nr_hugepages=3 in /run/sysctl.d/a.conf:1\n");
        write_pages(tree, "/etc/sysctl.d/a.conf", "4");
        assert_text(find_text(tree), "vm.nr_hugepages=4 in /etc/sysctl.d/a.conf:1\n");
        unlink(tree_path(tree, "/etc/sysctl.d/a.conf"));
        tree_link(tree, "/dev/null", "/etc/sysctl.d/a.conf");
        assert_text(find_text(tree), "");
}

/* On most hosts /lib is /usr/lib: found once. */
TREE_TEST(merged_usr) {
        write_pages(tree, "/usr/lib/sysctl.d/a.conf", "1");
        tree_link(tree, "usr/lib", "/lib");
        assert_text(find_text(tree), "vm.nr_hugepages=1 in /usr/lib/sysctl.d/a.conf:1\n");
}

/* Debian links sysctl.conf, so that both programs read it in one place. Without the link only procps reads it. */
TREE_TEST(sysctl_conf) {
        write_pages(tree, "/etc/sysctl.conf", "1");
        write_pages(tree, "/etc/sysctl.d/50-a.conf", "2");
        assert_text(find_text(tree), "vm.nr_hugepages=2 in /etc/sysctl.d/50-a.conf:1\n"
                                     "vm.nr_hugepages=1 in /etc/sysctl.conf:1\n");
        tree_link(tree, "../sysctl.conf", "/etc/sysctl.d/99-sysctl.conf");
        assert_text(find_text(tree), "!vm.nr_hugepages=2 in /etc/sysctl.d/50-a.conf:1\n"
                                     "vm.nr_hugepages=1 in /etc/sysctl.d/99-sysctl.conf:1\n");
        unlink(tree_path(tree, "/etc/sysctl.d/99-sysctl.conf"));
        tree_link(tree, "/etc/sysctl.conf", "/etc/sysctl.d/01-other.conf");
        assert_text(find_text(tree), "!vm.nr_hugepages=1 in /etc/sysctl.d/01-other.conf:1\n"
                                     "vm.nr_hugepages=2 in /etc/sysctl.d/50-a.conf:1\n");
}

/* ---- the guard ---- */

TREE_TEST(guard) {
        const char *path = "/run/sysctl.d/zz-hugeplan.conf";
        struct stat before, after;

        write_pages(tree, "/etc/sysctl.d/99-db.conf", "20");
        assert_int_equal(guard_remove(tree->root), 0);
        assert_int_equal(guard_write(tree->root, 50), 0);
        assert_contains(tree_read(tree, path), "\nvm.nr_hugepages = 50\n");
        /* The guard is no source of a setting, and masks none. */
        assert_text(find_text(tree), "vm.nr_hugepages=20 in /etc/sysctl.d/99-db.conf:1\n");
        /* Writing the same again does nothing. */
        assert_int_equal(stat(tree_path(tree, path), &before), 0);
        assert_int_equal(before.st_mode & 0777, 0644);
        assert_int_equal(guard_write(tree->root, 50), 0);
        assert_int_equal(stat(tree_path(tree, path), &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(guard_write(tree->root, 51), 0);
        assert_contains(tree_read(tree, path), "\nvm.nr_hugepages = 51\n");
        assert_int_equal(guard_remove(tree->root), 0);
        assert_null(tree_read(tree, path));
}

/* A file of the same name in another directory is not hugeplan's. */
TREE_TEST(not_our_guard) {
        write_pages(tree, "/etc/sysctl.d/zz-hugeplan.conf", "7");
        assert_text(find_text(tree), "vm.nr_hugepages=7 in /etc/sysctl.d/zz-hugeplan.conf:1\n");
}

/* ---- the others ---- */

TREE_TEST(tmpfiles_and_command_line) {
        tree_write(tree, "/proc/cmdline", "quiet transparent_hugepage=never\n");
        tree_write(tree, "/etc/tmpfiles.d/thp.conf",
                   "w /sys/kernel/mm/transparent_hugepage/enabled - - - - always\n");
        assert_text(find_text(tree), "transparent_hugepage=never in /proc/cmdline\n"
                                     "/sys/kernel/mm/transparent_hugepage/enabled=always in "
                                     "/etc/tmpfiles.d/thp.conf:1\n");
}

static void write_profile(const Tree *tree, const char *directory, const char *include,
                          const char *pages) {
        tree_write(tree, arena_printf(tree->arena, "%s/tuned.conf", directory),
                   arena_printf(tree->arena, "[main]\ninclude=%s\n[sysctl]\nvm.nr_hugepages=%s\n",
                                include, pages));
}

/* ---- scripts ---- */

static void write_unit(const Tree *tree, const char *path, const char *service, bool is_enabled) {
        tree_write(tree, path, arena_printf(tree->arena, "[Service]\nType=oneshot\n%s\n", service));
        if (is_enabled)
                tree_link(tree, path,
                          arena_printf(tree->arena, "/etc/systemd/system/sysinit.target.wants/%s",
                                       text_base_name(path)));
}

TREE_TEST(units) {
        tree_mkdir(tree, "/etc/systemd/system/sysinit.target.wants");
        write_unit(tree, "/etc/systemd/system/a.service",
                   "# ExecStart=hugeadm\nExecStartPre=-/usr/bin/hugeadm --pool-pages-min 2M:1\n"
                   "ExecStart=/bin/sh -c 'x; \\\n  echo 2 > /proc/sys/vm/nr_hugepages'",
                   true);
        /* OpenShift's unit: the script takes its figures from it. */
        write_unit(tree, "/etc/systemd/system/b.service",
                   "EnvironmentFile=-/etc/default/b\nExecStart=/usr/local/bin/b.sh", false);
        tree_write(tree, "/etc/default/b", "NR_HUGEPAGES=7\n");
        tree_write(tree, "/usr/local/bin/b.sh",
                   "#!/bin/bash\n. /usr/local/lib/b.inc\n"
                   "file=\"/sys/kernel/mm/hugepages/hugepages-${SIZE}kB/nr_hugepages\"\n");
        tree_write(tree, "/usr/local/lib/b.inc", "/opt/c\n");
        tree_write(tree, "/opt/c", "#!/bin/sh\n/opt/c /usr/local/bin/b.sh nr_hugepages\n");
        /* A script of the distribution. */
        write_unit(tree, "/usr/lib/systemd/system/d.service",
                   "Slice=hugepages.slice\nExecStart=/usr/lib/systemd/d.sh", true);
        write_unit(tree, "/usr/lib/systemd/system/e@.service", "ExecStart=/usr/bin/e", true);
        tree_write(tree, "/usr/lib/systemd/d.sh", "#!/bin/sh\nhugeadm\n");
        tree_write(tree, "/usr/bin/e", "#!/bin/sh\nhugeadm\n");
        /* Drop-ins of other programs, masked and replaced files. */
        tree_write(tree, "/run/systemd/system/e@1.service.d/f.conf",
                   "[Service]\nExecStartPre=+virsh allocpages 2M 5\n");
        write_unit(tree, "/usr/lib/systemd/system/a.service", "ExecStart=hugeadm", false);
        write_unit(tree, "/usr/lib/systemd/system/g.service", "ExecStart=hugeadm", false);
        tree_link(tree, "/dev/null", "/etc/systemd/system/g.service");
        assert_text(find_text(tree),
                    "/usr/bin/hugeadm in /etc/systemd/system/a.service:4\n"
                    "/proc/sys/vm/nr_hugepages in /etc/systemd/system/a.service:6\n"
                    "NR_HUGEPAGES=7 in /etc/default/b:1\n"
                    "/sys/kernel/mm/hugepages/hugepages- in /usr/local/bin/b.sh:3\n"
                    "nr_hugepages in /opt/c:2\n"
                    "hugeadm in /usr/lib/systemd/d.sh:2\n"
                    "allocpages in /run/systemd/system/e@1.service.d/f.conf:2\n");
}

TREE_TEST(rc_local_and_cron) {
        tree_write(tree, "/etc/rc.d/rc.local", "#!/bin/sh\nhugeadm --pool-pages-min 2M:1\n");
        tree_link(tree, "rc.d/rc.local", "/etc/rc.local");
        tree_write(tree, "/etc/crontab",
                   "SHELL=/bin/sh\n*/5 1 * * * root sysctl vm.nr_hugepages=9\n"
                   "@reboot root sysctl vm.nr_hugepages=2\n");
        tree_write(tree, "/etc/cron.d/pages", "@reboot root /opt/pages.sh >/dev/null 2>&1\n");
        tree_write(tree, "/opt/pages.sh", "#!/bin/sh\necho 3 > /proc/sys/vm/nr_hugepages\n");
        tree_write(tree, "/var/spool/cron/crontabs/root",
                   "@reboot echo 4 > /proc/sys/vm/nr_hugepages\n");
        assert_text(find_text(tree),
                    "hugeadm in /etc/rc.d/rc.local:2\n"
                    "vm.nr_hugepages=9 in /etc/crontab:2\n"
                    "vm.nr_hugepages=2 in /etc/crontab:3\n"
                    "/proc/sys/vm/nr_hugepages in /opt/pages.sh:2\n"
                    "/proc/sys/vm/nr_hugepages in /var/spool/cron/crontabs/root:1\n");
}

TREE_TEST(tuned) {
        write_profile(tree, "/usr/lib/tuned/base", "", "1");
        write_profile(tree, "/usr/lib/tuned/profiles/mid", "base", "2");
        write_profile(tree, "/etc/tuned/db", "mid", "3");
        write_profile(tree, "/etc/tuned/profiles/post", "", "4");
        write_profile(tree, "/etc/tuned/idle", "", "5");
        assert_text(find_text(tree), ""); /* none is active */
        tree_write(tree, "/etc/tuned/active_profile", "db\n");
        assert_text(find_text(tree), "!vm.nr_hugepages=1 in /usr/lib/tuned/base/tuned.conf:4\n"
                                     "!vm.nr_hugepages=2 in /usr/lib/tuned/profiles/mid/tuned.conf:"
                                     "4\nvm.nr_hugepages=3 in /etc/tuned/db/tuned.conf:4\n");
        tree_write(tree, "/etc/tuned/active_profile", "base idle\n");
        tree_write(tree, "/etc/tuned/post_loaded_profile", "post\n");
        assert_text(find_text(tree),
                    "!vm.nr_hugepages=1 in /usr/lib/tuned/base/tuned.conf:4\n"
                    "!vm.nr_hugepages=5 in /etc/tuned/idle/tuned.conf:4\n"
                    "vm.nr_hugepages=4 in /etc/tuned/profiles/post/tuned.conf:4\n");
}

/* Of an active profile. tuned's own library only shows what profiles could call. */
TREE_TEST(tuned_scripts) {
        tree_write(tree, "/usr/lib/tuned/functions", "#!/bin/sh\nhugeadm --pool-pages-max 2MB:9\n");
        tree_write(tree, "/usr/lib/tuned/db/script.sh",
                   "#!/bin/sh\n. /usr/lib/tuned/functions\nhugeadm --pool-pages-min 2MB:64\n");
        tree_write(tree, "/usr/lib/tuned/db/tuned.conf", "[script]\nscript=script.sh\n");
        assert_text(find_text(tree), "");
        tree_write(tree, "/etc/tuned/active_profile", "db\n");
        assert_text(find_text(tree), "hugeadm in /usr/lib/tuned/db/script.sh:3\n");
}

/* A profile in /etc has precedence, and may include the one with its own name below /usr. */
TREE_TEST(tuned_same_name) {
        write_profile(tree, "/usr/lib/tuned/db", "", "1");
        write_profile(tree, "/etc/tuned/db", "db", "2");
        tree_write(tree, "/etc/tuned/active_profile", "db");
        assert_text(find_text(tree), "!vm.nr_hugepages=1 in /usr/lib/tuned/db/tuned.conf:4\n"
                                     "vm.nr_hugepages=2 in /etc/tuned/db/tuned.conf:4\n");
}

TREE_TEST(tuned_hostile) {
        /* Cycles, and names that lead out of the directory. */
        write_profile(tree, "/etc/tuned/a", "b, ../../x, b/../../../x, ${f:exec:x}, -c", "1");
        write_profile(tree, "/etc/tuned/b", "a", "2");
        write_profile(tree, "/etc/tuned/c", "c", "3");
        write_profile(tree, "/x", "", "4");
        tree_write(tree, "/etc/tuned/active_profile", "a .. ../../x");
        assert_text(find_text(tree), "!vm.nr_hugepages=2 in /etc/tuned/b/tuned.conf:4\n"
                                     "!vm.nr_hugepages=3 in /etc/tuned/c/tuned.conf:4\n"
                                     "vm.nr_hugepages=1 in /etc/tuned/a/tuned.conf:4\n");
        /* Directories instead of files. */
        tree_mkdir(tree, "/etc/tuned/dir/tuned.conf");
        tree_write(tree, "/etc/tuned/active_profile", "dir");
        assert_text(find_text(tree), "");
        unlink(tree_path(tree, "/etc/tuned/active_profile"));
        tree_mkdir(tree, "/etc/tuned/active_profile");
        assert_text(find_text(tree), "");
        rmdir(tree_path(tree, "/etc/tuned/active_profile"));
        /* An endless chain of includes. */
        for (int i = 0; i < 60; i++)
                write_profile(tree, arena_printf(tree->arena, "/etc/tuned/p%d", i),
                              arena_printf(tree->arena, "p%d", i + 1), "1");
        tree_write(tree, "/etc/tuned/active_profile", "p0");
        assert_contains(find_text(tree), "/etc/tuned/p0/");
        assert_null(strstr(find_text(tree), "/etc/tuned/p40/"));
}

/* Unreadable files are skipped, and nothing hangs. */
TREE_TEST(hostile_files) {
        Text large = text_in(tree->arena);

        write_pages(tree, "/etc/sysctl.d/50-good.conf", "1");
        tree_mkdir(tree, "/etc/sysctl.d/10-directory.conf");
        tree_link(tree, "11-loop.conf", "/etc/sysctl.d/11-loop.conf");
        assert_int_equal(mkfifo(tree_path(tree, "/etc/sysctl.d/12-fifo.conf"), 0644), 0);
        text_repeat(&large, '#', 300 * 1024);
        text_add(&large, "\nvm.nr_hugepages=9\n");
        tree_write(tree, "/etc/sysctl.d/13-large.conf", large.string);
        tree_write_bytes(tree, "/etc/sysctl.d/14-nul.conf", "\0\0vm.nr_hugepages=2\0x", 22);
        assert_text(find_text(tree), "vm.nr_hugepages=1 in /etc/sysctl.d/50-good.conf:1\n");
}

/* ---- boot loaders ---- */

static BootLoader find_loader(const Tree *tree) {
        return boot_loader_find(tree->root, tree->arena);
}

static void assert_loader(const Tree *tree, const char *name) {
        assert_text(boot_loader_names[find_loader(tree).kind].name, name);
}

TREE_TEST(no_loader) {
        assert_loader(tree, "unknown");
        assert_null(find_loader(tree).command);
}

TREE_TEST(grub) {
        tree_write(tree, "/etc/default/grub", "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX=\"a\"\n");
        assert_loader(tree, "grub");
        assert_text(find_loader(tree).command, "grub2-mkconfig -o /boot/grub2/grub.cfg");
        tree_write(tree, "/boot/grub/grub.cfg", "menuentry 'a' {\n linux /v ro a\n}\n");
        assert_text(find_loader(tree).command, "grub-mkconfig -o /boot/grub/grub.cfg");
        tree_write(tree, "/usr/sbin/update-grub", "");
        assert_loader(tree, "grub");
        assert_text(find_loader(tree).command, "update-grub");
}

TREE_TEST(entries) {
        tree_write(tree, "/boot/loader/entries/z-7.conf.bak", "options backup\n");
        assert_loader(tree, "unknown");
        tree_write(tree, "/boot/loader/entries/m-6.9.conf", "options old\n");
        assert_loader(tree, "systemd-boot");
        assert_contains(find_loader(tree).place, "/etc/kernel/cmdline");
        assert_contains(find_loader(tree).command, "/lib/modules/$(uname -r)/vmlinuz");
        tree_write(tree, "/etc/debian_version", "12\n");
        assert_contains(find_loader(tree).command, "/boot/vmlinuz-$(uname -r)");
        tree_write(tree, "/boot/loader/loader.conf", "timeout 3\ndefault m-6.9*\n");
        assert_loader(tree, "systemd-boot");
        /* Red Hat's. */
        tree_write(tree, "/usr/sbin/grubby", "");
        tree_write(tree, "/boot/grub2/grub.cfg", "blscfg\n");
        assert_loader(tree, "grub-entries");
        assert_null(find_loader(tree).place);
        tree_write(tree, "/etc/kernel/cmdline", "root=x\n");
        assert_text(find_loader(tree).place, "/etc/kernel/cmdline");
        unlink(tree_path(tree, "/usr/sbin/grubby"));
        assert_loader(tree, "grub-entries");
        /* A GRUB that does not read them, on a host where they were left behind. */
        tree_write(tree, "/boot/grub2/grub.cfg", "menuentry 'a' {\nlinux /v ro\n}\n");
        unlink(tree_path(tree, "/boot/loader/loader.conf"));
        assert_loader(tree, "grub");
}

TREE_TEST(uki) {
        tree_write(tree, "/boot/efi/EFI/Linux/m-6.1.efi", "");
        assert_loader(tree, "uki");
        assert_contains(find_loader(tree).command, "kernel-install add");
        tree_write(tree, "/etc/default/grub", "");
        assert_loader(tree, "grub");
}

TREE_TEST(extlinux) {
        tree_write(tree, "/usr/sbin/u-boot-update", "");
        assert_loader(tree, "unknown");
        tree_write(tree, "/extlinux/extlinux.conf", "");
        assert_loader(tree, "extlinux");
        assert_text(find_loader(tree).place, "U_BOOT_PARAMETERS of /etc/default/u-boot");
        assert_text(find_loader(tree).command, "u-boot-update");
        unlink(tree_path(tree, "/usr/sbin/u-boot-update"));
        assert_text(find_loader(tree).place, "the append line of extlinux.conf");
        assert_null(find_loader(tree).command);
}
