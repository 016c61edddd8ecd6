/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/cgroup_limit.h"

#include "base/size.h"
#include "base/text.h"
#include "host/unit_cgroup.h"
#include "model/names.h"
#include "units/hugetlb_limit.h"

#include <string.h>

#define CONTROLLER "hugetlb"

static bool has_controller(const Root *root, const char *group, const char *attribute) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *text;

        return root_read_attribute(root, arena, arena_printf(arena, "%s/%s", group, attribute),
                                   &text) == 0 &&
               text_has_word(text, CONTROLLER);
}

/* systemd creates no control groups for units in the legacy hierarchy of a controller that it does not support. */
Reason cgroup_limit_judge(const Root *root) {
        const char *hierarchy = unit_cgroup_hierarchy(root);

        if (hierarchy && has_controller(root, hierarchy, "cgroup.controllers"))
                return (Reason){};
        if (root_is_directory(root, PATH_CGROUP "/" CONTROLLER) ||
            (!hierarchy && root_is_directory(root, PATH_CGROUP "/systemd")))
                return (Reason){
                        REASON_NO_HUGETLB_LIMIT,
                        "units have no groups of the hugetlb controller in the legacy hierarchy (cgroup v1)",
                        "boot with systemd.unified_cgroup_hierarchy=1, or remove Isolate=yes"};
        if (hierarchy)
                return (Reason){
                        REASON_NO_HUGETLB_LIMIT,
                        "the kernel has no hugetlb controller for control groups",
                        "boot one with CONFIG_CGROUP_HUGETLB and without cgroup_disable=hugetlb, or remove Isolate=yes"};
        return (Reason){};
}

static Reason failed(Arena *arena, const char *path, int error, const char *remedy) {
        return reason_make(arena, REASON_NO_HUGETLB_LIMIT, remedy, "%s: %s", path,
                           strerror(-error));
}

/* In the daemon's sandbox the same files are writable at PATH_CGROUP_WRITABLE only. */
static int write_attribute(const Root *root, Arena *arena, const char *path, const char *text) {
        int r = root_write_attribute(root, path, text);

        if (r != -EROFS || !text_starts_with(path, PATH_CGROUP))
                return r;
        return root_write_attribute(
                root, arena_printf(arena, "%s%s", PATH_CGROUP_WRITABLE, path + strlen(PATH_CGROUP)),
                text);
}

Reason cgroup_limit_count(const Root *root, Arena *arena, const char *group) {
        const char *hierarchy = unit_cgroup_hierarchy(root);

        if (!hierarchy || !text_starts_with(group, hierarchy))
                return failed(arena, group, -ENOENT, NULL);
        for (const char *slash = group + strlen(hierarchy); slash; slash = strchr(slash + 1, '/')) {
                const char *above = arena_strdup_to(arena, group, slash);
                const char *path = arena_printf(arena, "%s/cgroup.subtree_control", above);

                if (has_controller(root, above, "cgroup.subtree_control"))
                        continue;
                int r = write_attribute(root, arena, path, "+" CONTROLLER);

                if (r == 0 && !has_controller(root, above, "cgroup.subtree_control"))
                        r = -EIO;
                /* A group with processes of its own cannot enable controllers for the groups below. */
                if (r < 0)
                        return failed(arena, path, r,
                                      "look for processes in exactly that group (systemd-cgls)");
        }
        return (Reason){};
}

static Reason limit(const Root *root, Arena *arena, const char *group, const PageCount *count) {
        const char *path = hugetlb_limit_path(arena, group, count->page_size_bytes);
        uint64_t bytes = mul_saturated(count->pages, count->page_size_bytes), now;
        int r = write_attribute(root, arena, path, arena_printf(arena, "%" PRIu64 "\n", bytes));

        if (r == 0)
                r = root_read_u64(root, path, &now);
        if (r < 0)
                return failed(arena, path, r,
                              r == -ENOENT  ? "kernels have it from 5.7 on"
                              : r == -EBUSY ? "the unit's processes already use more; stop them"
                                            : NULL);
        if (now != bytes)
                return reason_make(arena, REASON_NO_HUGETLB_LIMIT, NULL,
                                   "%s: wrote %" PRIu64 ", and read %" PRIu64, path, bytes, now);
        return (Reason){};
}

Reason cgroup_limit_set(const Root *root, Arena *arena, const char *group,
                        const PageCounts *limits) {
        Reason reason = cgroup_limit_count(root, arena, group);

        VEC_FOREACH(count, limits)
                if (reason.kind == REASON_NONE)
                        reason = limit(root, arena, group, count);
        return reason;
}

void cgroup_limit_widen(const Root *root, Arena *arena, const char *group,
                        const PageCounts *limits) {
        VEC_FOREACH(count, limits) {
                const char *path = hugetlb_limit_path(arena, group, count->page_size_bytes);
                uint64_t now;

                /* The file reads "max" if there is no limit. */
                if (root_read_u64(root, path, &now) == 0 &&
                    now < mul_saturated(count->pages, count->page_size_bytes))
                        write_attribute(root, arena, path, "max");
        }
}
