/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/group_traps.h"

#include "base/text.h"
#include "units/hugetlb_limit.h"

#include <string.h>

/* kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope, in a slice */
#define DEPTH_MAX 6

typedef struct Search {
        Arena *arena;
        const Sources *sources;
        const Topology *topology;
        GroupLimits found;
} Search;

/* Of a group's files each name has a dot; of the groups below, those that systemd has made end so, and
 * others' have none, but those of LXC. */
static bool is_group(const char *name) {
        static const char *const suffixes[] = {".slice", ".scope", ".service"};

        return !strchr(name, '.') || text_starts_with(name, "lxc.") ||
               ARRAY_ANY(suffix, suffixes, ARRAY_LEN(suffixes), text_ends_with(name, *suffix));
}

static bool read_limit(const Search *search, const char *file, uint64_t *ret_bytes) {
        SourceText text = source_read_kernel(search->sources, search->arena, file);

        return text.text && parse_u64(text_strip(search->arena, text.text), ret_bytes) == 0 &&
               hugetlb_limit_is_limit(*ret_bytes);
}

static void look_at(Search *search, const char *group) {
        Arena *arena = search->arena;

        ARRAY_FOREACH(size, search->topology->page_sizes, search->topology->n_page_sizes) {
                GroupLimit limit = {
                        .file = arena_printf(arena, "%s/hugetlb.%s.max", group,
                                             hugetlb_limit_size_name(arena, size->bytes)),
                        .page_size_bytes = size->bytes,
                };
                uint64_t reserved;

                if (read_limit(search, limit.file, &limit.bytes) &&
                    !(read_limit(search, hugetlb_limit_path(arena, group, size->bytes),
                                 &reserved) &&
                      reserved <= limit.bytes))
                        *vec_push(arena, &search->found) = limit;
        }
}

static void walk(Search *search, const char *directory, unsigned depth) {
        SourceNames names = source_list(search->sources, search->arena, directory);

        VEC_FOREACH(name, &names) {
                if (!is_group(*name))
                        continue;
                const char *group = arena_printf(search->arena, "%s/%s", directory, *name);

                look_at(search, group);
                if (depth < DEPTH_MAX)
                        walk(search, group, depth + 1);
        }
}

GroupLimits group_traps_find(Arena *arena, const Sources *sources, const char *hierarchy,
                             const Topology *topology) {
        Search search = {.arena = arena, .sources = sources, .topology = topology};

        walk(&search, hierarchy, 1);
        return search.found;
}
