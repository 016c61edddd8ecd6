/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/unit_facts.h"

#include "base/size.h"
#include "base/text.h"
#include "config/config.h"
#include "model/names.h"

#include <string.h>

/* "libsystemd-shared-252.so", "libsystemd-shared-257.9-1~deb13u1.so". */
static unsigned version_in(const Root *root, Arena *arena, const char *directory) {
        static const char prefix[] = "libsystemd-shared-";
        unsigned version = 0;
        Names names = {};

        root_list(root, arena, directory, &names);
        VEC_FOREACH(name, &names) {
                uint64_t found;

                if (!text_starts_with(*name, prefix))
                        continue;
                const char *number = *name + strlen(prefix);

                if (take_digits(&number, &found) == 0 && found < 10000)
                        version = MAX(version, (unsigned) found);
        }
        return version;
}

/* The library is in /usr/lib/systemd, or, on Debian, below the architecture's directory. */
unsigned systemd_version(const Root *root, const Config *config) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Names names = {};

        /* MemoryTHP= can only restrict the host's policy. */
        if (thp_resolve(config) != THP_ALWAYS)
                return 0;
        unsigned version = version_in(root, arena, PATH_SYSTEMD_LIBRARIES);

        if (version == 0)
                root_list(root, arena, PATH_USR_LIB, &names);
        VEC_FOREACH(name, &names)
                if (strstr(*name, "-linux-"))
                        version = MAX(
                                version,
                                version_in(root, arena,
                                           arena_printf(arena, PATH_USR_LIB "/%s/systemd", *name)));
        return version;
}

typedef struct AccountFiles {
        Sources sources; /* the first member */
        const Root *root;
} AccountFiles;

static SourceText read_file(const Sources *sources, Arena *arena, const char *path) {
        const Root *root = ((const AccountFiles *) sources)->root;
        SourceText text = {};
        char *string = NULL;

        text.error = root_read_file(root, arena, path, SOURCE_BYTES_MAX, &string, &text.size);
        text.text = string;
        return text;
}

Accounts accounts_of(const Root *root, Arena *arena) {
        const AccountFiles files = {{.read = read_file}, root};

        return accounts_read(arena, &files.sources);
}

Accounts accounts_for_limits(const Root *root, Arena *arena, const Config *config) {
        return config_needs_group(config) ? accounts_of(root, arena) : (Accounts){};
}

MountUnits mounts_of(const Root *root, Arena *arena, const Config *config,
                     const Topology *topology) {
        if (!mount_is_wanted(config))
                return (MountUnits){};
        const Accounts accounts = accounts_of(root, arena);

        return mount_units_make(arena, config, topology, &accounts);
}

/* Returns NULL if the kernel has no such file: a kernel without NUMA ignores policies. */
static const IdSet *memory_nodes(const Root *root, Arena *arena) {
        IdSet *nodes = ARENA_NEW(arena, IdSet);
        char *text = NULL;

        return root_read_attribute(root, arena, PATH_NODES "/has_memory", &text) == 0 &&
                               id_set_parse(text, nodes) == 0
                       ? nodes
                       : NULL;
}

DropinInput dropin_input(const Root *root, Arena *arena, const Config *config, const char *ctl) {
        const Accounts accounts = accounts_for_limits(root, arena, config);

        return (DropinInput){
                .config = config,
                .ctl = ctl,
                .systemd_version = systemd_version(root, config),
                .has_group = account_find_group(arena, &accounts, NAME_HUGETLB_GROUP),
                .memory_nodes = memory_nodes(root, arena),
        };
}
