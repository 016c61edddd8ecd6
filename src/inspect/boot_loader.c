/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/boot_loader.h"

#include "base/text.h"
#include "read/culprit.h"

#include <string.h>

enum { FILE_BYTES_MAX = 256 * 1024, FILES_MAX = 256 };

#define PATH_KERNEL_CMDLINE "/etc/kernel/cmdline"
#define PATH_DEFAULT_GRUB   "/etc/default/grub"
#define PATH_DEFAULT_GRUB_D "/etc/default/grub.d"
#define GRUB_ASSIGNMENT     "GRUB_CMDLINE_LINUX"

/* Where boot entries and images are: on the boot or EFI system partition. */
static const char *const partitions[] = {"/boot", "/efi", "/boot/efi"};
static const char *const grub_dirs[] = {"/boot/grub2", "/boot/grub"};

typedef struct Finder {
        const Root *root;
        Arena *arena;
        BootLoader *loader;
        const char *environment; /* text of grubenv; NULL: none */
        const char *extlinux;    /* path of extlinux.conf; NULL: none */
        const char *entries_dir; /* with at least one entry; NULL: none */
        const char *partition;   /* on which that is */
} Finder;

static char *read_text(const Finder *finder, const char *path) {
        char *text;

        return root_read_file(finder->root, finder->arena, path, FILE_BYTES_MAX, &text, NULL) < 0
                       ? NULL
                       : text;
}

/* ---- GRUB ---- */

static void find_grub(Finder *finder) {
        for (size_t i = 0; i < ARRAY_LEN(grub_dirs); i++) {
                const char *config = arena_printf(finder->arena, "%s/grub.cfg", grub_dirs[i]);

                if (!finder->environment)
                        finder->environment = read_text(
                                finder, arena_printf(finder->arena, "%s/grubenv", grub_dirs[i]));
                if (!finder->loader->grub_config && root_exists(finder->root, config))
                        finder->loader->grub_config = config;
        }
        finder->loader->has_update_grub = root_exists(finder->root, "/usr/sbin/update-grub") ||
                                          root_exists(finder->root, "/sbin/update-grub");
}

/* The lines that begin with NAME; NULL: all. */
static void add_source_file(Finder *finder, const char *path, const char *name) {
        const char *text = read_text(finder, path);

        if (text)
                boot_loader_add_sources(finder->arena, finder->loader,
                                        text_printable(finder->arena, path), text, name);
}

static void add_grub_sources(Finder *finder) {
        Names names = {};
        size_t n = 0;

        add_source_file(finder, PATH_DEFAULT_GRUB, GRUB_ASSIGNMENT);
        root_list(finder->root, finder->arena, PATH_DEFAULT_GRUB_D, &names);
        VEC_FOREACH(name, &names)
                if (text_ends_with(*name, ".cfg") && n++ < FILES_MAX)
                        add_source_file(
                                finder,
                                arena_printf(finder->arena, PATH_DEFAULT_GRUB_D "/%s", *name),
                                GRUB_ASSIGNMENT);
}

static void read_grub(Finder *finder) {
        BootLoader *loader = finder->loader;
        const char *text = loader->grub_config ? read_text(finder, loader->grub_config) : NULL;

        add_grub_sources(finder);
        loader->next_line =
                text ? grub_config_command_line(finder->arena, text, finder->environment) : NULL;
        loader->next_file = loader->grub_config;
}

/* ---- entries ---- */

static Names list_entries(const Finder *finder, const char *directory) {
        Names names = {}, entries = {};

        root_list(finder->root, finder->arena, directory, &names);
        VEC_FOREACH(name, &names)
                if (text_ends_with(*name, ".conf") && entries.n < FILES_MAX)
                        *vec_push(finder->arena, &entries) = *name;
        return entries;
}

static void find_entries(Finder *finder) {
        for (size_t i = 0; i < ARRAY_LEN(partitions) && !finder->entries_dir; i++) {
                const char *directory =
                        arena_printf(finder->arena, "%s/loader/entries", partitions[i]);

                if (list_entries(finder, directory).n == 0)
                        continue;
                finder->entries_dir = directory;
                finder->partition = partitions[i];
        }
}

/* The pattern of "default PATTERN" in loader.conf; NULL where there is none. */
static const char *loader_default(const Finder *finder) {
        const char *text = read_text(
                finder, arena_printf(finder->arena, "%s/loader/loader.conf", finder->partition));
        char *line;

        while (text && (line = text_next_word(finder->arena, &text, "\r\n"))) {
                const char *rest = line;

                if (text_equals(text_next_word(finder->arena, &rest, " \t"), "default"))
                        return text_next_word(finder->arena, &rest, " \t");
        }
        return NULL;
}

/* The default one where it is named, else the newest by version. */
static const char *choose_entry(const Finder *finder, const Names *names) {
        bool is_grub = finder->loader->kind == BOOT_LOADER_GRUB_ENTRIES;
        const char *pattern =
                is_grub ? grub_environment_get(finder->arena, finder->environment, "saved_entry")
                        : loader_default(finder);
        const char *newest = NULL, *named = NULL;

        VEC_FOREACH(name, names) {
                const char *id =
                        arena_strndup(finder->arena, *name, strlen(*name) - strlen(".conf"));
                bool is_named = pattern &&
                                (text_equals(pattern, id) || culprit_path_matches(pattern, id) ||
                                 culprit_path_matches(pattern, *name));

                if (is_named && (!named || strverscmp(*name, named) > 0))
                        named = *name;
                if (!newest || strverscmp(*name, newest) > 0)
                        newest = *name;
        }
        return named ? named : newest;
}

static void read_entries(Finder *finder) {
        Names names = list_entries(finder, finder->entries_dir);
        const char *name = choose_entry(finder, &names);
        const char *path = arena_printf(finder->arena, "%s/%s", finder->entries_dir, name);
        const char *text = read_text(finder, path);

        add_source_file(finder, PATH_KERNEL_CMDLINE, NULL);
        finder->loader->next_line =
                text ? boot_entry_command_line(finder->arena, text, finder->environment) : NULL;
        finder->loader->next_file = text_printable(finder->arena, path);
}

/* ---- unified kernel images ---- */

static bool find_images(Finder *finder) {
        for (size_t i = 0; i < ARRAY_LEN(partitions); i++) {
                Names names = {};

                root_list(finder->root, finder->arena,
                          arena_printf(finder->arena, "%s/EFI/Linux", partitions[i]), &names);
                VEC_FOREACH(name, &names)
                        if (text_ends_with(*name, ".efi")) {
                                finder->loader->esp = partitions[i];
                                return true;
                        }
        }
        return false;
}

/* ---- extlinux ---- */

/* Where distributions keep the arguments, and what makes extlinux.conf of them. */
static const struct {
        const char *file, *name, *tool, *tool_path;
} extlinux_settings[] = {
        {"/etc/default/u-boot", "U_BOOT_PARAMETERS", "u-boot-update", "/usr/sbin/u-boot-update"},
        {"/etc/default/extlinux", "EXTLINUX_PARAMETERS", "extlinux-update",
         "/usr/sbin/extlinux-update"},
        {"/etc/update-extlinux.conf", "default_kernel_opts", "update-extlinux",
         "/sbin/update-extlinux"},
};

static void find_extlinux(Finder *finder) {
        static const char *const paths[] = {
                "/boot/extlinux/extlinux.conf",
                "/extlinux/extlinux.conf",
                "/boot/extlinux.conf",
                "/boot/syslinux/syslinux.cfg",
        };

        for (size_t i = 0; i < ARRAY_LEN(paths) && !finder->extlinux; i++)
                if (root_exists(finder->root, paths[i]))
                        finder->extlinux = paths[i];
}

static void read_extlinux(Finder *finder) {
        BootLoader *loader = finder->loader;
        const char *text = read_text(finder, finder->extlinux);

        loader->next_line = text ? extlinux_command_line(finder->arena, text) : NULL;
        loader->next_file = finder->extlinux;
        for (size_t i = 0; i < ARRAY_LEN(extlinux_settings); i++) {
                if (!root_exists(finder->root, extlinux_settings[i].tool_path))
                        continue;
                add_source_file(finder, extlinux_settings[i].file, extlinux_settings[i].name);
                loader->extlinux_place = arena_printf(finder->arena, "%s of %s",
                                                      extlinux_settings[i].name,
                                                      extlinux_settings[i].file);
                loader->extlinux_tool = extlinux_settings[i].tool;
                return;
        }
        add_source_file(finder, finder->extlinux, "append");
        loader->extlinux_place =
                arena_printf(finder->arena, "the append line of %s", finder->extlinux);
}

/* ---- which ---- */

/* GRUB reads entries where it has the command for it, and is then changed by grubby. */
static bool does_grub_read_entries(const Finder *finder) {
        const char *text =
                finder->loader->grub_config ? read_text(finder, finder->loader->grub_config) : NULL;

        return root_exists(finder->root, "/usr/sbin/grubby") ||
               root_exists(finder->root, "/usr/bin/grubby") || (text && strstr(text, "blscfg"));
}

static BootLoaderKind find_kind(Finder *finder) {
        bool has_grub = finder->loader->grub_config || root_exists(finder->root, PATH_DEFAULT_GRUB);
        const char *loader_conf =
                finder->partition
                        ? arena_printf(finder->arena, "%s/loader/loader.conf", finder->partition)
                        : NULL;

        if (finder->entries_dir && does_grub_read_entries(finder))
                return BOOT_LOADER_GRUB_ENTRIES;
        if (finder->entries_dir && (!has_grub || root_exists(finder->root, loader_conf)))
                return BOOT_LOADER_SYSTEMD_BOOT;
        if (find_images(finder) && !has_grub)
                return BOOT_LOADER_UKI;
        if (has_grub)
                return BOOT_LOADER_GRUB;
        if (finder->extlinux)
                return BOOT_LOADER_EXTLINUX;
        return BOOT_LOADER_UNKNOWN;
}

BootLoader boot_loader_find(const Root *root, Arena *arena, const Topology *topology) {
        const char *release = topology->kernel_release;
        BootLoader loader = {.kernel_release = release};
        Finder finder = {.root = root, .arena = arena, .loader = &loader};

        loader.has_image_in_modules =
                release &&
                root_exists(root, arena_printf(arena, "/lib/modules/%s/vmlinuz", release));
        find_grub(&finder);
        find_entries(&finder);
        find_extlinux(&finder);
        loader.kind = find_kind(&finder);
        if (loader.kind == BOOT_LOADER_GRUB)
                read_grub(&finder);
        else if (loader.kind == BOOT_LOADER_EXTLINUX)
                read_extlinux(&finder);
        else if (finder.entries_dir && loader.kind != BOOT_LOADER_UKI)
                read_entries(&finder);
        else
                add_source_file(&finder, PATH_KERNEL_CMDLINE, NULL);
        return loader;
}
