/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Root: the directory below which all files of a host are read and written.
 *
 * "/" is the running host; any other directory is a captured or made-up host. Only this module makes file system
 * calls. Paths begin with "/" and are resolved below the root, symbolic links too (openat2(2), RESOLVE_IN_ROOT), so
 * that a captured host cannot lead out of its directory. Functions that return int return 0 or a negative errno. */

#include "base/index.h"
#include "base/vec.h"
#include "host/record/recording.h"
#include "model/read_fault.h"

#include <sys/stat.h>
#include <sys/statfs.h>

typedef struct Root Root;

typedef VEC(char *) Names;

int root_open(const char *path, Root **ret);
Root *root_free(Root *root); /* takes NULL, returns NULL */
void root_freep(Root **root);

/* Returns true for "/". */
bool root_is_host(const Root *root);

/* Returns the path as seen from outside the root, for sockets and for messages about a captured host. */
char *root_path(Arena *arena, const Root *root, const char *path);

/* Passes everything that is read, listed or looked up to RECORDER; NULL ends this. */
void root_record(Root *root, Recorder *recorder);
Recorder *root_recorder(const Root *root); /* NULL: nothing is recorded */

/* Records TEXT as the contents of PATH, for a value that is read by a call here and from a file on a captured host. */
void root_record_text(const Root *root, const char *path, const char *text);

/* ---- reading ---- */

/* A caller that decides by many reads, each of which may find nothing, calls root_fault() at the end: it returns the
 * first fault (model/read_fault.h) since root_forget_fault(), allocated in ARENA; its error is 0 if there was none. A
 * Root must not be shared between threads. */
void root_forget_fault(const Root *root);
ReadFault root_fault(const Root *root, Arena *arena);

/* Drops the fault for good, because the caller repeats the read: root_any_fault() does not return it either. */
void root_drop_fault(const Root *root);

/* Returns whether to repeat at once what ended with ERROR: if ERROR is a fault, which is then dropped, and *N_TRIES,
 * which starts at 0 and is counted here, is below the limit. */
bool root_try_again(const Root *root, int error, unsigned *n_tries);

/* Returns the first fault of this Root that was not dropped, including forgotten ones: for reports of what was read. */
ReadFault root_any_fault(const Root *root, Arena *arena);

/* Reads a regular file of at most MAX bytes, NUL-terminated; RET_SIZE may be NULL. Returns -EFBIG if it is larger.
 * Returns -EINVAL for anything but a regular file, and for files of the kernel (/proc, /sys), to which a link may lead;
 * these are never opened, because opening may act on a device or wait for a FIFO. */
int root_read_file(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                   size_t *ret_size);

/* Returns whether PATH is a regular file with exactly this TEXT. */
static inline bool root_has_text(const Root *root, const char *path, const char *text) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *present;

        return root_read_file(root, arena, path, strlen(text), &present, NULL) == 0 &&
               strcmp(present, text) == 0;
}

/* The same as root_read_file(), if JUDGE, which gets the file's status before the file is opened, returns 0; otherwise
 * returns JUDGE's negative errno. */
typedef int (*RootJudge)(void *userdata, const struct stat *st);
int root_read_judged(const Root *root, Arena *arena, const char *path, size_t max, RootJudge judge,
                     void *userdata, char **ret, size_t *ret_size);

/* Reads a whole file of the kernel, by a path of model/names.h. Returns -EINVAL for other paths. */
int root_read_kernel_file(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                          size_t *ret_size);

/* Keeps open what each status reads of the running host, until the process ends: opening a file takes seven times as
 * long as reading it again. */
void root_keep_open(Root *root);

/* Reads an attribute of the kernel of at most 64 KiB, without whitespace at the end. */
int root_read_attribute(const Root *root, Arena *arena, const char *path, char **ret);

/* Reads an attribute that is one decimal number. */
int root_read_u64(const Root *root, const char *path, uint64_t *ret);

/* ---- writing ---- */

/* Writes an existing attribute by one write(2). Success does not mean that the kernel has changed anything. */
int root_write_attribute(const Root *root, const char *path, const char *text);

/* Replaces a file atomically, with mode 0644, and creates missing directories with mode 0755. Does not sync: for files
 * that need not outlive the boot, such as those below /run. */
int root_write_file(const Root *root, const char *path, const char *text);

/* As root_write_file(), for files that outlive the boot: file and directories are on disk if it returns 0. */
int root_store_file(const Root *root, const char *path, const char *text);

/* Overwrites a file with TEXT, which is as long, in place, without allocating disk space. TEXT is on disk if it returns
 * 0. Returns -ENOENT if there is no regular file of that size. */
int root_overwrite_file(const Root *root, const char *path, const char *text);

/* As root_store_file(), but returns -EEXIST if the file exists. */
int root_create_file(const Root *root, const char *path, const char *text);

int root_make_directory(const Root *root, const char *path); /* with its parents */
int root_remove(const Root *root, const char *path);
int root_symlink(const Root *root, const char *target, const char *path); /* replaces a link */

/* Add the file NAME, with mode 0644 less the umask, or the link NAME to the DIRECTORY, both plain names. An existing link
 * stays as it is. For a ROOT that systemd has made for a generator and reads when the generator has ended
 * (systemd.generator(7)): symbolic links are not checked, and no draft is renamed. */
int root_add_file(const Root *root, const char *directory, const char *name, const char *text);
int root_add_link(const Root *root, const char *directory, const char *name, const char *target);

/* ---- what is there ---- */

bool root_exists(const Root *root, const char *path);
bool root_is_directory(const Root *root, const char *path);

/* Returns device, inode and modification time as text, which changes when a file is replaced or written, or when
 * entries of a directory change. Returns "?" if PATH does not exist. */
char *root_identity(const Root *root, Arena *arena, const char *path);

/* A value that changes when one of several files is replaced or written: a hash of each file's device, inode, size,
 * modification time and status change time. */
typedef struct RootStamp {
        uint64_t hash;
        uint64_t settled_usec; /* since the epoch: a file that changes later gets other times */
} RootStamp;

void root_stamp(const Root *root, const char *path, RootStamp *stamp);
void root_stamp_add(RootStamp *stamp, const struct stat *st); /* NULL: the file does not exist */

/* stat(2): follows symbolic links. */
int root_stat(const Root *root, const char *path, struct stat *ret);

/* Reads a symbolic link. Returns -EINVAL for anything else. */
int root_read_link(const Root *root, Arena *arena, const char *path, char **ret);

/* statfs(2) of a directory, which needs no permission to read the directory itself. */
int root_statfs(const Root *root, const char *path, struct statfs *ret);

/* Lists the names in a directory, sorted by bytes, without "." and "..". */
int root_list(const Root *root, Arena *arena, const char *path, Names *ret);

/* A directory whose files are read one after another. If only root or the calling user can write to the directory, a
 * file that was listed as regular still is when it is opened, and needs no check before. */
typedef struct RootFolder {
        int fd;         /* -1: others can write, or that is not known */
        struct stat st; /* after it was listed */
        Names names;
        Index *files; /* the names of regular files */
} RootFolder;

/* As root_list(). The caller closes *RET, also after a failure. */
int root_open_folder(const Root *root, Arena *arena, const char *path, RootFolder *ret);
void root_close_folder(RootFolder *folder);

/* As root_read_file(), for PATH in FOLDER. *RET_ST is untouched if PATH does not exist. */
int root_read_in(const Root *root, Arena *arena, const RootFolder *folder, const char *path,
                 size_t max, struct stat *ret_st, char **ret, size_t *ret_size);
