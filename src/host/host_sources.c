/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/host_sources.h"

static const size_t bytes_in_all_max = 16 * SOURCE_BYTES_MAX;

/* The sources are the first member. */
static HostSources *host_of(const Sources *sources) {
        return (HostSources *) sources;
}

typedef int (*Reader)(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                      size_t *ret_size);

static SourceText read_with(const Sources *sources, Arena *arena, const char *path, Reader reader) {
        HostSources *host = host_of(sources);
        SourceText text = {};
        char *string = NULL;

        text.error = reader(host->root, arena, path, SOURCE_BYTES_MAX, &string, &text.size);
        if (text.error == 0 && text.size > host->bytes_left)
                text.error = -E2BIG;
        if (text.error < 0)
                return (SourceText){.error = text.error};
        host->bytes_left -= text.size;
        text.text = string;
        return text;
}

static SourceText read_file(const Sources *sources, Arena *arena, const char *path) {
        return read_with(sources, arena, path, root_read_file);
}

static SourceText read_kernel_file(const Sources *sources, Arena *arena, const char *path) {
        return read_with(sources, arena, path, root_read_kernel_file);
}

static int list_directory(const Sources *sources, Arena *arena, const char *path,
                          SourceNames *ret) {
        HostSources *host = host_of(sources);
        Names names = {};
        size_t bytes = 0;
        int r = root_list(host->root, arena, path, &names);

        if (r < 0)
                return r;
        VEC_FOREACH(name, &names)
                bytes += strlen(*name) + 1;
        if (bytes > host->bytes_left)
                return -E2BIG;
        host->bytes_left -= bytes;
        VEC_FOREACH(name, &names)
                *vec_push(arena, ret) = *name;
        return 0;
}

static const char *read_link(const Sources *sources, Arena *arena, const char *path) {
        char *target = NULL;

        return root_read_link(host_of(sources)->root, arena, path, &target) < 0 ? NULL : target;
}

HostSources host_sources(const Root *root) {
        return (HostSources){
                .sources = {.read = read_file,
                            .read_kernel = read_kernel_file,
                            .list = list_directory,
                            .link = read_link},
                .root = root,
                .bytes_left = bytes_in_all_max,
        };
}
