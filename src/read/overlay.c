/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/overlay.h"

#include "base/text.h"

/* The sources are the first member. */
static const Overlay *overlay_of(const Sources *sources) {
        return (const Overlay *) sources;
}

static const OverlayFile *find(const Overlay *overlay, const char *path) {
        const OverlayFile *last = NULL;

        VEC_FOREACH(file, &overlay->files)
                if (text_equals(file->path, path))
                        last = file;
        return last;
}

static SourceText read_overlaid(const Sources *sources, Arena *arena, const char *path) {
        const OverlayFile *file = find(overlay_of(sources), path);

        if (!file)
                return source_read(overlay_of(sources)->below, arena, path);
        if (!file->text)
                return (SourceText){.error = -ENOENT};
        return (SourceText){.text = file->text, .size = strlen(file->text)};
}

/* The overlay may contain proposed values of the kernel's files. */
static SourceText read_kernel_overlaid(const Sources *sources, Arena *arena, const char *path) {
        return find(overlay_of(sources), path)
                       ? read_overlaid(sources, arena, path)
                       : source_read_kernel(overlay_of(sources)->below, arena, path);
}

/* ---- directories ---- */

static int list_overlaid(const Sources *sources, Arena *arena, const char *path, SourceNames *ret) {
        const Overlay *overlay = overlay_of(sources);
        size_t length = strlen(path);
        SourceNames names = {};
        int r = overlay->below->list(overlay->below, arena, path, &names);

        VEC_FOREACH(file, &overlay->files) {
                if (!text_starts_with(file->path, path) || file->path[length] != '/')
                        continue;
                /* The file's name, or that of the next directory on its path. */
                const char *rest = file->path + length + 1;
                const char *name = arena_strndup(arena, rest, strcspn(rest, "/"));
                SourceNames others = {};

                r = file->text ? 0 : r;
                if (find(overlay, file->path) != file || (!file->text && strchr(rest, '/')))
                        continue;
                VEC_FOREACH(other, &names)
                        if (!text_equals(*other, name))
                                *vec_push(arena, &others) = *other;
                if (file->text)
                        *vec_push(arena, &others) = name;
                names = others;
        }
        if (r < 0)
                return r;
        vec_sort(&names, text_compare);
        *ret = names;
        return 0;
}

static const char *link_overlaid(const Sources *sources, Arena *arena, const char *path) {
        const Overlay *overlay = overlay_of(sources);

        return find(overlay, path) ? NULL : source_link(overlay->below, arena, path);
}

Overlay overlay_over(const Sources *below) {
        return (Overlay){
                .sources = {.read = read_overlaid,
                            .read_kernel = read_kernel_overlaid,
                            .list = list_overlaid,
                            .link = link_overlaid},
                .below = below,
        };
}

void overlay_put(Arena *arena, Overlay *overlay, const char *path, const char *text) {
        *vec_push(arena, &overlay->files) = (OverlayFile){path, text};
}
