/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/overlay.h"

#include "base/text.h"

typedef struct OverlayFile {
        const char *path;
        const char *text; /* NULL: there is no such file */
} OverlayFile;

/* The sources are the first member. */
static const Overlay *overlay_of(const Sources *sources) {
        return (const Overlay *) sources;
}

static SourceText read_overlaid(const Sources *sources, Arena *arena, const char *path) {
        const OverlayFile *file = index_find(overlay_of(sources)->files, path);

        if (!file)
                return source_read(overlay_of(sources)->below, arena, path);
        if (!file->text)
                return (SourceText){.error = -ENOENT};
        return (SourceText){.text = file->text, .size = strlen(file->text)};
}

/* The overlay may contain proposed values of the kernel's files. */
static SourceText read_kernel_overlaid(const Sources *sources, Arena *arena, const char *path) {
        return index_find(overlay_of(sources)->files, path)
                       ? read_overlaid(sources, arena, path)
                       : source_read_kernel(overlay_of(sources)->below, arena, path);
}

/* ---- directories ---- */

static const SourceListed *list_once(const Overlay *overlay, const char *path) {
        Arena *arena = overlay->arena;
        SourceListed *list = ARENA_NEW(arena, SourceListed);
        Index *changed = index_new(arena);
        SourceNames below = {};

        list->error = overlay->below->list(overlay->below, arena, path, &below);
        INDEX_FOREACH(entry, overlay->inside, path) {
                const OverlayFile *file = entry->value;
                /* The file's name, or that of the next directory on its path. */
                const char *rest = file->path + strlen(path) + 1;
                const char *name = arena_strndup(arena, rest, strcspn(rest, "/"));

                list->error = file->text ? 0 : list->error;
                if ((!file->text && strchr(rest, '/')) || index_find(changed, name))
                        continue;
                index_add(changed, name, file);
                if (file->text)
                        *vec_push(arena, &list->names) = name;
        }
        VEC_FOREACH(name, &below)
                if (!index_find(changed, *name))
                        *vec_push(arena, &list->names) = *name;
        vec_sort(&list->names, text_compare);
        index_add(overlay->lists, arena_strdup(arena, path), list);
        return list;
}

static int list_overlaid(const Sources *sources, Arena *arena UNUSED, const char *path,
                         SourceNames *ret) {
        const Overlay *overlay = overlay_of(sources);
        const SourceListed *list = index_find(overlay->lists, path) ?: list_once(overlay, path);

        *ret = list->names;
        return list->error;
}

static const char *link_overlaid(const Sources *sources, Arena *arena, const char *path) {
        const Overlay *overlay = overlay_of(sources);

        return index_find(overlay->files, path) ? NULL : source_link(overlay->below, arena, path);
}

Overlay overlay_over(Arena *arena, const Sources *below) {
        return (Overlay){
                .sources = {.read = read_overlaid,
                            .read_kernel = read_kernel_overlaid,
                            .list = list_overlaid,
                            .link = link_overlaid},
                .below = below,
                .arena = arena,
                .files = index_new(arena),
                .inside = index_new(arena),
                .lists = index_new(arena),
        };
}

void overlay_put(Overlay *overlay, const char *path, const char *text) {
        OverlayFile *file = (OverlayFile *) index_find(overlay->files, path);

        overlay->lists = index_new(overlay->arena);
        if (!file) {
                file = ARENA_NEW(overlay->arena, OverlayFile);
                file->path = path;
                index_add(overlay->files, path, file);
                for (const char *end = path + strlen(path); end > path; end--)
                        if (*end == '/')
                                index_add(overlay->inside,
                                          arena_strdup_to(overlay->arena, path, end), file);
        }
        file->text = text;
}
