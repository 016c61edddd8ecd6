/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Recording of names; daemon and generator, which record nothing, are linked without it. */
#include "base/text.h"
#include "host/root/root_inside.h"
#include "model/names.h"

/* Records that PATH exists, and its kind. */
static void record_one(const Root *root, const char *path) {
        CLEANUP(close_fd) int fd = -1;
        struct stat st;
        char target[4096];
        ssize_t n = 0;

        if (root->recorder->has_name(root->recorder, path) ||
            (fd = root_open_below(root, path, O_PATH | O_NOFOLLOW)) < 0 || fstat(fd, &st) < 0)
                return;
        RecordedKind kind = S_ISDIR(st.st_mode)   ? RECORDED_DIRECTORY
                            : S_ISLNK(st.st_mode) ? RECORDED_LINK
                                                  : RECORDED_NAME;

        if (kind == RECORDED_LINK && (n = readlinkat(fd, "", target, sizeof(target))) < 0)
                return;
        root->recorder->add(root->recorder, kind, path, target, (size_t) n);
}

/* The entries of /proc, which are processes, are left out. */
static void record_name(const Root *root, const char *path, const Names *names) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        record_one(root, path);
        if (!names || text_equals(path, PATH_PROC))
                return;
        VEC_FOREACH(name, names)
                record_one(root, arena_printf(arena, "%s/%s", path, *name));
}

void root_record(Root *root, Recorder *recorder) {
        root->recorder = recorder;
        root->record_name = recorder ? record_name : NULL;
}

Recorder *root_recorder(const Root *root) {
        return root->recorder;
}
