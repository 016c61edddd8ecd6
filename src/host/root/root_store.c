/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing files so that readers see the old text or the new one. */
#include "host/root/root_inside.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* FOR_GOOD: files and directories are synced to disk before the function returns. */
typedef enum Lasting { FOR_THIS_BOOT, FOR_GOOD } Lasting;

static int sync_fd(int fd) {
        return TEMP_FAILURE_RETRY(fsync(fd)) < 0 ? -errno : 0;
}

/* Syncs what was created or renamed in DIRECTORY. Some file systems do not support this and return EINVAL. */
static int sync_directory(int directory) {
        CLEANUP(close_fd) int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = fd < 0 ? -errno : sync_fd(fd);

        return r == -EINVAL ? 0 : r;
}

static int make_directories(const Root *root, const char *path, Lasting lasting) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(close_fd) int fd = root_open_below(root, path, O_PATH | O_DIRECTORY);

        if (fd >= 0) /* the usual case */
                return 0;
        for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
                char *part = arena_strdup_to(arena, path, slash);
                const char *name;
                CLEANUP(close_fd) int parent = root_open_parent(root, part, &name);

                if (parent < 0)
                        return parent;
                int r = mkdirat(parent, name, 0755) < 0 ? -errno : 0;

                if (r == 0 && fchmodat(parent, name, 0755, 0) < 0) /* independent of the umask */
                        r = -errno;
                if (r == 0 && lasting == FOR_GOOD)
                        r = sync_directory(parent);
                if (r < 0 && r != -EEXIST)
                        return r;
                if (!slash)
                        return 0;
        }
}

int root_make_directory(const Root *root, const char *path) {
        return make_directories(root, path, FOR_THIS_BOOT);
}

typedef struct NewFile {
        const char *text;
        Lasting lasting;
        bool is_new; /* -EEXIST if the name exists */
} NewFile;

/* Writes the text to NAME in DIRECTORY; on failure the file is removed. */
static int write_text(int directory, const char *name, const NewFile *file) {
        int fd = openat(directory, name, ROOT_NEW_FILE, ROOT_FILE_MODE);

        if (fd < 0)
                return -errno;
        int r = write_all(fd, file->text);

        if (r == 0 && fchmod(fd, ROOT_FILE_MODE) < 0) /* independent of the umask */
                r = -errno;
        /* Synced before the rename: otherwise a power failure may leave an empty file in place of the old one. */
        if (r == 0 && file->lasting == FOR_GOOD)
                r = sync_fd(fd);
        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r < 0)
                unlinkat(directory, name, 0);
        return r;
}

static int write_file(const Root *root, const char *path, const NewFile *file) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *name;
        CLEANUP(close_fd) int parent = root_open_parent(root, path, &name);

        if (parent == -ENOENT) {
                parent = make_directories(root, arena_strdup_to(arena, path, name - 1),
                                          file->lasting);
                if (parent == 0)
                        parent = root_open_parent(root, path, &name);
        }
        if (parent < 0)
                return parent;
        const char *draft = arena_printf(arena, ".#%s.%d", name, (int) getpid());
        int r = write_text(parent, draft, file);

        if (r < 0)
                return r;
        /* The complete draft gets the name; link(2) does not replace an existing file. */
        if (file->is_new)
                r = linkat(parent, draft, parent, name, 0) < 0 ? -errno : 0;
        else
                r = renameat(parent, draft, parent, name) < 0 ? -errno : 0;
        if (r < 0 || file->is_new)
                unlinkat(parent, draft, 0);
        return r == 0 && file->lasting == FOR_GOOD ? sync_directory(parent) : r;
}

int root_write_file(const Root *root, const char *path, const char *text) {
        return write_file(root, path, &(NewFile){.text = text});
}

int root_store_file(const Root *root, const char *path, const char *text) {
        return write_file(root, path, &(NewFile){.text = text, .lasting = FOR_GOOD});
}

int root_create_file(const Root *root, const char *path, const char *text) {
        return write_file(root, path,
                          &(NewFile){.text = text, .lasting = FOR_GOOD, .is_new = true});
}

int root_overwrite_file(const Root *root, const char *path, const char *text) {
        CLEANUP(close_fd)
        int fd = root_open_below(root, path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fd < 0 ? fd : -errno;
        if (!S_ISREG(st.st_mode) || (size_t) st.st_size != strlen(text))
                return -ENOENT;
        int r = write_all(fd, text);

        return r < 0 ? r : sync_fd(fd);
}

int root_remove(const Root *root, const char *path) {
        const char *name;
        CLEANUP(close_fd) int parent = root_open_parent(root, path, &name);

        if (parent < 0)
                return parent;
        return unlinkat(parent, name, 0) < 0 ? -errno : 0;
}

int root_symlink(const Root *root, const char *target, const char *path) {
        const char *name;
        CLEANUP(close_fd) int parent = root_open_parent(root, path, &name);

        if (parent < 0)
                return parent;
        int r = symlinkat(target, parent, name);

        if (r < 0 && errno == EEXIST && (r = unlinkat(parent, name, 0)) == 0)
                r = symlinkat(target, parent, name);
        return r < 0 ? -errno : 0;
}
