/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/memory_root.h"

#include "base/size.h"
#include "base/text.h"

struct Root {
        Arena *arena;
        const Sources *sources;
        ReadFault fault;
};

Root *memory_root(Arena *arena, const Sources *sources) {
        Root *root = ARENA_NEW(arena, Root);

        *root = (Root){arena, sources, {}};
        return root;
}

int root_open(const char *path, Root **ret) {
        (void) path;
        (void) ret;
        return -ENOSYS;
}

Root *root_free(Root *root) {
        (void) root;
        return NULL;
}

void root_freep(Root **root) {
        *root = NULL;
}

bool root_is_host(const Root *root) {
        (void) root;
        return false;
}

void root_record_text(const Root *root, const char *path, const char *text) {
        (void) root;
        (void) path;
        (void) text;
}

char *root_path(Arena *arena, const Root *root, const char *path) {
        (void) root;
        return arena_printf(arena, "/memory%s", path);
}

/* ---- reading ---- */

/* Const as in root.h. */
static Root *mutable(const Root *root) {
        return (Root *) root;
}

void root_forget_fault(const Root *root) {
        mutable(root)->fault = (ReadFault){};
}

void root_drop_fault(const Root *root) {
        root_forget_fault(root);
}

ReadFault root_fault(const Root *root, Arena *arena) {
        (void) arena;
        return root->fault;
}

static int noted(const Root *root, const char *path, int r) {
        if (error_is_fault(r) && root->fault.error == 0)
                mutable(root)->fault = (ReadFault){r, arena_strdup(root->arena, path)};
        return r;
}

static bool has_names(const Root *root, const char *path) {
        return source_list(root->sources, root->arena, path).n > 0;
}

/* A copy, which ends where it ends: callers may write to it. */
static int read_file(const Root *root, Arena *arena, const char *path, char **ret,
                     size_t *ret_size) {
        SourceText text = source_read(root->sources, arena, path);

        if (!text.text)
                return text.error == -ENOENT && has_names(root, path) ? -EISDIR : text.error;
        char *copy = arena_alloc(arena, text.size + 1);

        memcpy(copy, text.text, text.size);
        *ret = copy;
        *ret_size = text.size;
        return 0;
}

/* Everything is root's. */
int root_read_judged(const Root *root, Arena *arena, const char *path, size_t max, RootJudge judge,
                     void *userdata, char **ret, size_t *ret_size) {
        const struct stat st = {.st_mode = S_IFREG | 0644};
        size_t size = 0;
        char *text = NULL;
        int r = judge ? judge(userdata, &st) : 0;

        if (r < 0)
                return r;
        r = read_file(root, arena, path, &text, &size);
        if (r == 0 && size > max)
                r = -EFBIG;
        if (r < 0)
                return noted(root, path, r);
        *ret = text;
        if (ret_size)
                *ret_size = size;
        return 0;
}

int root_read_end(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                  size_t *ret_size) {
        size_t size = 0;
        char *text = NULL;
        int r = read_file(root, arena, path, &text, &size);

        if (r < 0)
                return noted(root, path, r == -EISDIR ? -EINVAL : r);
        *ret = text + sub_floored(size, max);
        *ret_size = MIN(size, max);
        return 0;
}

int root_read_kernel_file(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                          size_t *ret_size) {
        return root_read_file(root, arena, path, max, ret, ret_size);
}

int root_read_link(const Root *root, Arena *arena, const char *path, char **ret) {
        const char *target = source_link(root->sources, arena, path);

        if (!target)
                return root_exists(root, path) ? -EINVAL : -ENOENT;
        *ret = arena_strdup(arena, target);
        return 0;
}

int root_list(const Root *root, Arena *arena, const char *path, Names *ret) {
        SourceNames names = {};
        Names copies = {};
        int r = root->sources->list(root->sources, arena, path, &names);

        if (r < 0)
                return noted(root, path, r);
        VEC_FOREACH(name, &names)
                *vec_push(arena, &copies) = arena_strdup(arena, *name);
        *ret = copies;
        return 0;
}

bool root_exists(const Root *root, const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return source_read(root->sources, arena, path).error != -ENOENT || has_names(root, path);
}

bool root_is_directory(const Root *root, const char *path) {
        return has_names(root, path);
}

int root_stat(const Root *root, const char *path, struct stat *ret) {
        if (!root_exists(root, path))
                return -ENOENT;
        *ret = (struct stat){.st_ino = text_fold(TEXT_FOLD_START, path)};
        return 0;
}

int root_statfs(const Root *root, const char *path, struct statfs *ret) {
        (void) root;
        (void) path;
        (void) ret;
        return -ENOENT;
}

/* ---- changing ---- */

int root_write_attribute(const Root *root, const char *path, const char *text) {
        (void) root;
        (void) path;
        (void) text;
        return -EROFS;
}

int root_write_file(const Root *root, const char *path, const char *text, unsigned mode) {
        (void) mode;
        return root_write_attribute(root, path, text);
}

int root_overwrite_file(const Root *root UNUSED, const char *path UNUSED, size_t size UNUSED,
                        off_t at UNUSED, const char *text UNUSED) {
        return -ENOENT;
}

int root_store_file(const Root *root, const char *path, const char *text, unsigned mode) {
        return root_write_file(root, path, text, mode);
}

int root_create_file(const Root *root, const char *path, const char *text, unsigned mode) {
        return root_write_file(root, path, text, mode);
}

int root_make_directory(const Root *root, const char *path) {
        return root_write_attribute(root, path, NULL);
}

int root_remove(const Root *root, const char *path) {
        return root_write_attribute(root, path, NULL);
}

int root_symlink(const Root *root, const char *target, const char *path) {
        return root_write_attribute(root, path, target);
}

/* ---- directories whose files are read ---- */

int root_open_folder(const Root *root, Arena *arena, const char *path, RootFolder *ret) {
        *ret = (RootFolder){.fd = -1};
        return root_list(root, arena, path, &ret->names);
}

void root_close_folder(RootFolder *folder UNUSED) {
}

int root_read_in(const Root *root, Arena *arena, const RootFolder *folder UNUSED, const char *path,
                 size_t max, struct stat *ret_st UNUSED, char **ret, size_t *ret_size) {
        return root_read_judged(root, arena, path, max, NULL, NULL, ret, ret_size);
}
