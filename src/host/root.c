/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/root/root_inside.h"

#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "model/names.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { KEPT_MAX = 128 }; /* the highest descriptor that is kept: others are for clients */

int root_open(const char *path, Root **ret) {
        char found[PATH_MAX];
        int fd =
                retried(realpath(path, found) ? open(found, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);

        if (fd < 0)
                return -errno;
        Root *root = memory_new(sizeof(Root));

        root->fd = fd;
        root->fault = memory_new(2 * sizeof(Noted));
        root->aside = root->fault + 1;
        root->path = memory_new(strlen(found) + 1);
        strcpy(root->path, found);
        *ret = root;
        return 0;
}

Root *root_free(Root *root) {
        if (!root)
                return NULL;
        close_fd(&root->fd);
        arena_free(root->kept_in);
        memory_free(root->fault);
        memory_free(root->path);
        memory_free(root);
        return NULL;
}

void root_freep(Root **root) {
        *root = root_free(*root);
}

bool root_is_host(const Root *root) {
        return text_equals(root->path, "/");
}

char *root_path(Arena *arena, const Root *root, const char *path) {
        return root_is_host(root) ? arena_strdup(arena, path)
                                  : arena_printf(arena, "%s%s", root->path, path);
}

/* ---- what is recorded ---- */

static void record(const Root *root, RecordedKind kind, const char *path, const char *bytes,
                   size_t size) {
        if (root->recorder)
                root->recorder->add(root->recorder, kind, path, bytes, size);
}

void root_record_text(const Root *root, const char *path, const char *text) {
        record(root, RECORDED_FILE, path, text, strlen(text));
}

/* NAMES: the entries of PATH, or NULL. */
static void record_name(const Root *root, const char *path, const Names *names) {
        if (root->record_name)
                root->record_name(root, path, names);
}

/* Kernels before 5.6 have no openat2(2): links of a captured host then lead to the running host's files.
 * openat2(2) rejects O_LARGEFILE, which libc adds to openat(2) on 32 bit, together with O_PATH. */
int root_open_below(const Root *root, const char *path, int flags) {
        const char *relative = path + strspn(path, "/");
        struct open_how how = {
                .flags = (uint64_t) (flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_LARGEFILE)),
                .resolve = RESOLVE_IN_ROOT,
        };
        int fd;

        if (!*relative)
                relative = ".";
        if (!root_is_host(root)) {
                fd = retried(syscall(SYS_openat2, root->fd, relative, &how, sizeof(how)));
                if (fd >= 0 || errno != ENOSYS)
                        return fd >= 0 ? fd : -errno;
        }
        fd = retried(openat(root->fd, relative, flags | O_CLOEXEC));
        return fd >= 0 ? fd : -errno;
}

int root_open_parent(const Root *root, const char *path, const char **ret_name) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *slash = strrchr(path, '/');

        if (!slash || !slash[1])
                return -EINVAL;
        *ret_name = slash + 1;
        return root_open_below(root, arena_strdup_to(arena, path, slash + 1), O_PATH | O_DIRECTORY);
}

/* ---- opening ---- */

/* Returns -EINVAL if FD is in a file system whose files the kernel makes up when they are read, or acts on. */
static int check_file_system(int fd) {
        static const uint32_t types[] = {
                PROC_SUPER_MAGIC,      SYSFS_MAGIC,
                CGROUP_SUPER_MAGIC,    CGROUP2_SUPER_MAGIC,
                DEBUGFS_MAGIC,         TRACEFS_MAGIC,
                SECURITYFS_MAGIC,      SELINUX_MAGIC,
                SMACK_MAGIC,           BPF_FS_MAGIC,
                EFIVARFS_MAGIC,        PSTOREFS_MAGIC,
                BINFMTFS_MAGIC,        NSFS_MAGIC,
                RDTGROUP_SUPER_MAGIC,  XENFS_SUPER_MAGIC,
                USBDEVICE_SUPER_MAGIC, DEVPTS_SUPER_MAGIC,
        };
        struct statfs found;

        if (fstatfs(fd, &found) < 0)
                return -errno;
        return ARRAY_FIND(type, types, ARRAY_LEN(types), *type == (uint32_t) found.f_type) ? -EINVAL
                                                                                           : 0;
}

/* Opens the file of FOUND (O_PATH) without resolving its path again, so that no other file can take its place. */
static int open_again(int found, int flags) {
        char path[sizeof("/proc/self/fd/") + 10];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
        int fd = retried(open(path, flags | O_CLOEXEC));

        return fd >= 0           ? fd
               : errno == ENOENT ? -ENOSYS /* no /proc: the file may exist */
                                 : -errno;
}

/* Checks the type before the file is opened, because opening starts a watchdog or waits for the writer of a FIFO. */
static int pin_regular(const Root *root, const char *path, struct stat *ret) {
        int found = root_open_below(root, path, O_PATH);
        int r = found < 0               ? found
                : fstat(found, ret) < 0 ? -errno
                : S_ISDIR(ret->st_mode) ? -EISDIR
                : S_ISREG(ret->st_mode) ? 0
                                        : -EINVAL;

        if (r < 0)
                close_fd(&found);
        return r < 0 ? r : found;
}

/* JUDGE may be NULL. Only file systems without a block device (major 0) can be the kernel's. */
static int open_regular(const Root *root, const char *path, RootJudge judge, void *userdata,
                        struct stat *ret) {
        CLEANUP(close_fd) int found = pin_regular(root, path, ret);

        if (found < 0)
                return found;
        int r = major(ret->st_dev) == 0 ? check_file_system(found) : 0;

        if (r == 0 && judge)
                r = judge(userdata, ret);

        return r < 0 ? r : open_again(found, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/* ---- reading ---- */

typedef struct Reading {
        const Root *root;
        Arena *arena;
        const char *path;
        size_t max;
        off_t size; /* of a regular file; negative: not known */
} Reading;

/* Returns whether the end is reached after a short read, so that no further read(2) is needed. A regular file ends at
 * the size that fstat(2) has returned. The kernel formats an attribute once, at the first read (sysfs.rst; likewise
 * sysctls): one whole line is all of it, and of a node's file, which may have more lines, what one read returns. */
static bool is_end(const Reading *reading, const Text *text) {
        const char *newline;

        if (reading->size >= 0)
                return (size_t) reading->size == text->length;
        return text_starts_with(reading->path, PATH_NODES) ||
               ((text_starts_with(reading->path, PATH_SYS "/") ||
                 text_starts_with(reading->path, PATH_PROC_SYS)) &&
                (newline = memchr(text->string, '\n', text->length)) &&
                newline == text->string + text->length - 1);
}

/* Reads to the end of the file. */
static int read_all(const Reading *reading, int fd, char **ret, size_t *ret_size) {
        Text text = text_in(reading->arena);
        char buffer[4096];

        for (;;) {
                ssize_t n =
                        TEMP_FAILURE_RETRY(pread(fd, buffer, sizeof(buffer), (off_t) text.length));

                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                if (text.length + (size_t) n > reading->max)
                        return -EFBIG;
                text_add_n(&text, buffer, (size_t) n);
                if ((size_t) n < sizeof(buffer) && is_end(reading, &text))
                        break;
        }
        text_add(&text, "");
        *ret = text.string;
        if (ret_size)
                *ret_size = text.length;
        record(reading->root, RECORDED_FILE, reading->path, text.string, text.length);
        return 0;
}

int root_read_judged(const Root *root, Arena *arena, const char *path, size_t max, RootJudge judge,
                     void *userdata, char **ret, size_t *ret_size) {
        struct stat st;
        CLEANUP(close_fd) int fd = open_regular(root, path, judge, userdata, &st);
        const Reading reading = {root, arena, path, max, fd < 0 ? -1 : st.st_size};

        return root_note(root, path, fd < 0 ? fd : read_all(&reading, fd, ret, ret_size));
}

static int keep_stat(void *userdata, const struct stat *st) {
        *(struct stat *) userdata = *st;
        return 0;
}

int root_read_in(const Root *root, Arena *arena, const RootFolder *folder, const char *path,
                 size_t max, struct stat *ret_st, char **ret, size_t *ret_size) {
        const char *name = text_base_name(path);
        CLEANUP(close_fd) int fd = -1;

        if (folder->fd >= 0 && index_find(folder->files, name))
                fd = retried(openat(folder->fd, name,
                                    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
        if (fd < 0 || fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode))
                return root_read_judged(root, arena, path, max, keep_stat, ret_st, ret, ret_size);
        const Reading reading = {root, arena, path, max, ret_st->st_size};

        return root_note(root, path, read_all(&reading, fd, ret, ret_size));
}

int root_read_kernel_file(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                          size_t *ret_size) {
        const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
        CLEANUP(close_fd) int fd = -EINVAL;
        CLEANUP(close_fd) int found = -1;
        const Reading reading = {root, arena, path, max, -1};
        const int *kept = root->kept ? index_find(root->kept, path) : NULL;
        struct stat st;

        /* Reading fails if the node was removed, even if it is there again: then its new file is kept. */
        if (kept && read_all(&reading, *kept, ret, ret_size) == 0)
                return 0;
        if (text_starts_with(path, PATH_PROC "/") || text_starts_with(path, PATH_SYS "/") ||
            text_starts_with(path, PATH_CGROUP_WRITABLE "/")) {
                /* On the running host only the kernel provides these files. Below another root the path may be a
                 * captured file, or the kernel's if /proc or /sys is mounted there. */
                if (root_is_host(root))
                        fd = root_open_below(root, path, flags);
                else
                        fd = (found = pin_regular(root, path, &st)) < 0 ? found
                                                                        : open_again(found, flags);
        }
        int r = fd < 0 ? fd : read_all(&reading, fd, ret, ret_size);

        if (kept && r == 0)
                dup3(fd, *kept, O_CLOEXEC);
        if (root->kept && r == 0 && !kept && fd < KEPT_MAX &&
            (text_starts_with(path, PATH_NODES) || text_starts_with(path, PATH_HUGEPAGES) ||
             text_starts_with(path, PATH_THP) || text_starts_with(path, PATH_PROC_SYS))) {
                index_add(root->kept, arena_strdup(root->kept_in, path),
                          arena_memdup(root->kept_in, &fd, sizeof(fd)));
                fd = -1;
        }
        return root_note(root, path, r);
}

/* ---- what is there ---- */

static bool can_open(const Root *root, const char *path, int flags) {
        CLEANUP(close_fd) int fd = root_open_below(root, path, flags);

        record_name(root, path, NULL);
        return root_note(root, path, fd) >= 0;
}

bool root_exists(const Root *root, const char *path) {
        return can_open(root, path, O_PATH);
}

bool root_is_directory(const Root *root, const char *path) {
        return can_open(root, path, O_PATH | O_DIRECTORY);
}

int root_stat(const Root *root, const char *path, struct stat *ret) {
        bool is_host = root_is_host(root);
        CLEANUP(close_fd) int fd = is_host ? -1 : root_open_below(root, path, O_PATH);
        int r = is_host  ? fstatat(root->fd, path + strspn(path, "/"), ret, 0)
                : fd < 0 ? fd
                         : fstat(fd, ret);

        if (r == -1)
                r = -errno;
        record_name(root, path, NULL);
        return root_note(root, path, r);
}

int root_read_link(const Root *root, Arena *arena, const char *path, char **ret) {
        char target[4096];
        const char *name;
        CLEANUP(close_fd) int parent = root_open_parent(root, path, &name);

        if (parent < 0)
                return root_note(root, path, parent);
        ssize_t n = readlinkat(parent, name, target, sizeof(target));

        if (n < 0)
                return root_note(root, path, -errno);
        *ret = arena_strndup(arena, target, (size_t) n);
        record(root, RECORDED_LINK, path, *ret, (size_t) n);
        return 0;
}

/* Does not use opendir(3), which fails if it cannot allocate memory. */
static int read_names(Arena *arena, RootFolder *folder) {
        _Alignas(struct dirent64) char entries[8192];
        Names names = {};
        ssize_t n;

        while ((n = getdents64(folder->fd, entries, sizeof(entries))) != 0) {
                if (n < 0)
                        return -errno;
                for (ssize_t at = 0; at < n;) {
                        const struct dirent64 *entry = (const void *) (entries + at);

                        at += entry->d_reclen;
                        if (TEXT_IS_ANY(entry->d_name, ".", ".."))
                                continue;
                        char *name = *vec_push(arena, &names) = arena_strdup(arena, entry->d_name);

                        if (folder->files && entry->d_type == DT_REG)
                                index_add(folder->files, name, name);
                }
        }
        vec_sort(&names, text_compare);
        folder->names = names;
        return 0;
}

static int list(const Root *root, Arena *arena, const char *path, RootFolder *ret) {
        int r;

        do {
                root_close_folder(ret);
                ret->fd = root_open_below(root, path, O_RDONLY | O_DIRECTORY);
                r = ret->fd < 0 ? ret->fd : read_names(arena, ret);
        } while (r == -EINTR);
        record_name(root, path, r >= 0 ? &ret->names : NULL);
        return root_note(root, path, r);
}

int root_list(const Root *root, Arena *arena, const char *path, Names *ret) {
        RootFolder folder = {.fd = -1};
        int r = list(root, arena, path, &folder);

        root_close_folder(&folder);
        if (r == 0)
                *ret = folder.names;
        return r;
}

int root_open_folder(const Root *root, Arena *arena, const char *path, RootFolder *ret) {
        const struct stat *st = &ret->st;

        *ret = (RootFolder){.fd = -1, .files = index_new(arena)};
        int r = list(root, arena, path, ret);

        /* An access control list that lets others write sets the group's write bit: acl(5). */
        if (r < 0 || fstat(ret->fd, &ret->st) < 0 || (st->st_uid != 0 && st->st_uid != geteuid()) ||
            (st->st_mode & (S_IWGRP | S_IWOTH)) || check_file_system(ret->fd) < 0)
                root_close_folder(ret);
        return r;
}

void root_close_folder(RootFolder *folder) {
        close_fd(&folder->fd);
        folder->fd = -1;
}
