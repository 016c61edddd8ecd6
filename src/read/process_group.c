/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Control groups: which unit a process belongs to. */

#include "base/text.h"
#include "model/name_check.h"
#include "read/process.h"

#include <string.h>

/* ---- the group of a process ---- */

char *process_unit_of_group(Arena *arena, const char *path, size_t *ret_length) {
        const char *rest = path;
        char *name;

        while ((name = text_next_word(arena, &rest, "/")) && text_ends_with(name, ".slice"))
                ;
        /* systemd prefixes names that could clash with the kernel's files with "_". */
        if (name && *name == '_')
                name++;
        if (!name || !name_is_unit(name) ||
            !(text_ends_with(name, ".service") || text_ends_with(name, ".scope")))
                return NULL;
        *ret_length = (size_t) (rest - path);
        return name;
}

void process_parse_cgroup(Arena *arena, const char *text, Process *ret) {
        char *line;

        ret->unit = ret->unit_group = NULL;
        while ((line = text_next_word(arena, &text, "\n"))) {
                /* "1:name=systemd:/...", which is authoritative on a hybrid host, or "0::/...". */
                const char *controllers = strchr(line, ':'), *path;
                bool is_unified = controllers && text_starts_with(controllers, "::");
                size_t length;
                char *unit;

                if (!is_unified &&
                    !(controllers && text_starts_with(controllers, ":name=systemd:")))
                        continue;
                path = strchr(controllers + 1, ':') + 1;
                if (!(unit = process_unit_of_group(arena, path, &length)))
                        continue;
                if (is_unified)
                        ret->unit_group = arena_strndup(arena, path, length);
                if (!is_unified || !ret->unit)
                        ret->unit = unit;
        }
}

/* The makers of containers, by the prefixes of their control groups; "docker" is a directory of groups. Sources:
 * podman-systemd.unit(5) and podman-run(1) (--cgroups=split), Docker's and CRI-O's systemd drivers,
 * lxc.container.conf(5), systemd-nspawn(1). */
static const struct {
        const char *prefix, *title;
} container_groups[] = {
        {"libpod-payload-", "Podman container"}, {"libpod-", "Podman container"},
        {"docker-", "Docker container"},         {"docker/", "Docker container"},
        {"crio-", "Kubernetes container"},       {"cri-containerd-", "Kubernetes container"},
        {"kubepods/", "Kubernetes pod"},         {"lxc.payload.", "LXC container"},
        {"systemd-nspawn@", "container"},
};

const char *process_container(Arena *arena, const char *text) {
        for (const char *at = strchr(text, '/'); at; at = strchr(at + 1, '/'))
                ARRAY_FOREACH(group, container_groups, ARRAY_LEN(container_groups)) {
                        if (!text_starts_with(at + 1, group->prefix) ||
                            text_starts_with(at + 1, "libpod-conmon-"))
                                continue;
                        const char *name = at + 1 + strlen(group->prefix);
                        /* Shorten an identifier like the products' own lists do. */
                        bool is_id = strspn(name, "0123456789abcdef") >= 64;

                        name = arena_strndup(arena, name, is_id ? 12 : strcspn(name, "/\n"));
                        return arena_printf(arena, "%s %s", group->title,
                                            text_printable(arena, name));
                }
        return NULL;
}
