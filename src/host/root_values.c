/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that only call other functions of Root, which tests may replace by a model of a kernel. */
#include "base/size.h"
#include "host/root.h"

#include <string.h>

enum { ATTRIBUTE_BYTES_MAX = 64 * 1024, READ_TRIES = 3 };

int root_read_file(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                   size_t *ret_size) {
        return root_read_judged(root, arena, path, max, NULL, NULL, ret, ret_size);
}

int root_read_attribute(const Root *root, Arena *arena, const char *path, char **ret) {
        size_t length;
        char *text;
        int r = root_read_kernel_file(root, arena, path, ATTRIBUTE_BYTES_MAX, &text, &length);

        if (r < 0)
                return r;
        while (length > 0 && strchr(" \t\n", text[length - 1]))
                text[--length] = '\0';
        *ret = text;
        return 0;
}

int root_read_u64(const Root *root, const char *path, uint64_t *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *text;
        int r = root_read_attribute(root, arena, path, &text);

        return r < 0 ? r : parse_u64(text, ret);
}

char *root_identity(const Root *root, Arena *arena, const char *path) {
        struct stat st;

        if (root_stat(root, path, &st) < 0)
                return arena_strdup(arena, "?");
        return arena_printf(arena, "%" PRIu64 ":%" PRIu64 ":%" PRId64 ".%09ld",
                            (uint64_t) st.st_dev, (uint64_t) st.st_ino, (int64_t) st.st_mtim.tv_sec,
                            st.st_mtim.tv_nsec);
}

/* Timestamps have the granularity of the kernel's tick, of 10 ms at most; on some file systems of one or two seconds,
 * and then are whole ones. */
void root_stamp_add(RootStamp *stamp, const struct stat *st) {
        static const uint64_t tick_usec = 20 * USEC_PER_MSEC, long_tick_usec = 3 * USEC_PER_SEC;
        static const struct stat none = {};
        const struct stat *at = st ? st : &none;
        const struct timespec *const times[] = {&at->st_mtim, &at->st_ctim};
        uint64_t values[] = {st != NULL, at->st_dev, at->st_ino, (uint64_t) at->st_size, 0, 0};

        for (size_t i = 0; i < ARRAY_LEN(times); i++) {
                values[4 + i] = (uint64_t) times[i]->tv_sec * USEC_PER_SEC * 1000 +
                                (uint64_t) times[i]->tv_nsec;
                stamp->settled_usec = MAX(stamp->settled_usec,
                                          values[4 + i] / 1000 +
                                                  (times[i]->tv_nsec ? tick_usec : long_tick_usec));
        }
        ARRAY_FOREACH(value, values, ARRAY_LEN(values))
                stamp->hash = (stamp->hash ^ *value) * UINT64_C(0x100000001b3);
}

void root_stamp(const Root *root, const char *path, RootStamp *stamp) {
        struct stat st;

        root_stamp_add(stamp, root_stat(root, path, &st) < 0 ? NULL : &st);
}

bool root_try_again(const Root *root, int error, unsigned *n_tries) {
        if (!error_is_fault(error) || ++*n_tries >= READ_TRIES)
                return false;
        root_drop_fault(root);
        return true;
}
