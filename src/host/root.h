/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Root: the directory below which all files of a host are read and written.
 *
 * "/" is the running host; any other directory is a captured or made-up one. The one module that
 * owns the file syscalls. Paths begin with "/" and are resolved below the root, links too
 * (openat2(2), RESOLVE_IN_ROOT), so that a captured host cannot reach out of its directory. All
 * functions return 0 or a negative errno. */

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

/* True for "/". */
bool root_is_host(const Root *root);

/* The path as seen from outside: for sockets, and for messages about a captured host. */
char *root_path(Arena *arena, const Root *root, const char *path);

/* From now on RECORDER hears of all that is read, listed or looked for; NULL: no longer. */
void root_record(Root *root, Recorder *recorder);
Recorder *root_recorder(const Root *root); /* NULL: nobody hears of it */

/* RECORDER hears that TEXT stands in the file PATH: for what a captured host tells by a file, and this one by a call. */
void root_record_text(const Root *root, const char *path, const char *text);

/* ---- reading ---- */

/* Whoever decides by many reads, of which each may find nothing, asks in the end whether one has failed:
 * the first fault (model/read_fault.h) since root_forget_fault(), in ARENA; its error is 0 where there was
 * none. A thread that reads beside others has a root of its own. */
void root_forget_fault(const Root *root);
ReadFault root_fault(const Root *root, Arena *arena);

/* What has failed is tried again: it counts for nobody. */
void root_drop_fault(const Root *root);

/* Whether what ended with ERROR is to be done again, at once: it was a fault (which is dropped), and *N_TRIES,
 * at first 0, is not too many. */
bool root_try_again(const Root *root, int error, unsigned *n_tries);

/* Else whoever tells somebody what was read, asks for any fault of all this time, forgotten ones among them. */
ReadFault root_any_fault(const Root *root, Arena *arena);

/* The whole of a regular file of at most MAX bytes (-EFBIG), NUL-terminated; *ret_size may be
 * NULL. -EINVAL for what is none, which is never opened: a device may act on that, a FIFO waits. Nor is
 * what the kernel makes up (/proc, /sys), to which a link may lead. */
int root_read_file(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                   size_t *ret_size);

/* The same where it matters whose file it is: JUDGE looks at what was found, and says 0 or a negative errno,
 * before that is opened. */
typedef int (*RootJudge)(void *userdata, const struct stat *st);
int root_read_judged(const Root *root, Arena *arena, const char *path, size_t max, RootJudge judge,
                     void *userdata, char **ret, size_t *ret_size);

/* Its last MAX bytes: for logs, which may be large. */
int root_read_end(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                  size_t *ret_size);

/* The whole of one of the kernel's own files, by a path of model/names.h; -EINVAL for other paths. */
int root_read_kernel_file(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                          size_t *ret_size);

/* Likewise an attribute: at most 64 KiB, whitespace at the end taken off. */
int root_read_attribute(const Root *root, Arena *arena, const char *path, char **ret);

/* An attribute that is one decimal number. */
int root_read_u64(const Root *root, const char *path, uint64_t *ret);

/* ---- writing ---- */

/* One write(2) to an attribute that exists. Success says nothing about what the kernel did. */
int root_write_attribute(const Root *root, const char *path, const char *text);

/* Replaces a file atomically, making missing directories (mode 0755). For what need not outlive the
 * boot: below /run. */
int root_write_file(const Root *root, const char *path, const char *text, unsigned mode);

/* The same, of mode 0644 as far as the umask lets it, in a DIRECTORY of ROOT itself, by their names, where all that is
 * there is ours: no link is looked out for, which is half of the work. */
int root_add_file(const Root *root, const char *directory, const char *name, const char *text);

/* The same for what must: file and directories are on disk when it returns, or it has failed. */
int root_store_file(const Root *root, const char *path, const char *text, unsigned mode);

/* Writes TEXT over a part of a file of ours of SIZE bytes, from AT on: on disk when it returns, and without taking more
 * room there. -ENOENT: there is none of that size. What is cut short leaves that part torn. */
int root_overwrite_file(const Root *root, const char *path, size_t size, off_t at,
                        const char *text);

/* Likewise, but -EEXIST where the file is there already. */
int root_create_file(const Root *root, const char *path, const char *text, unsigned mode);

int root_make_directory(const Root *root, const char *path); /* with its parents */
int root_remove(const Root *root, const char *path);
int root_symlink(const Root *root, const char *target, const char *path); /* replaces a link */

/* ---- what is there ---- */

bool root_exists(const Root *root, const char *path);
bool root_is_directory(const Root *root, const char *path);

/* What changes when a file is replaced or written, or the entries of a directory change: device, inode
 * and time of the last change; "-" where nothing is there. */
char *root_identity(const Root *root, Arena *arena, const char *path);

/* What changes when one of some files is another file, or is written to: of each device, inode, size and both
 * times of the last change, of which the latest so far is noted. */
typedef struct RootStamp {
        uint64_t hash;
        uint64_t newest_usec; /* since the epoch */
} RootStamp;

void root_stamp(const Root *root, const char *path, RootStamp *stamp);
void root_stamp_add(RootStamp *stamp, const struct stat *st); /* NULL: there is nothing */

/* Of what PATH leads to. */
int root_stat(const Root *root, const char *path, struct stat *ret);

/* What a symbolic link holds; -EINVAL for what is none. */
int root_read_link(const Root *root, Arena *arena, const char *path, char **ret);

/* The file system of a directory that may be out of bounds but for its name: statfs(2). */
int root_statfs(const Root *root, const char *path, struct statfs *ret);

/* The names in a directory, sorted by bytes, without "." and "..". */
int root_list(const Root *root, Arena *arena, const char *path, Names *ret);

/* A directory whose files are read one after another. Where nobody but root, or who runs this, can put anything there,
 * what was a regular file when it was listed is one when it is opened: it need not be looked at before. */
typedef struct RootFolder {
        int fd; /* -1: others may, or it is not known */
        Names names;
        Index *files; /* those of them that are regular files, by name */
} RootFolder;

/* As root_list(). To be closed, also where it failed. */
int root_open_folder(const Root *root, Arena *arena, const char *path, RootFolder *ret);
void root_close_folder(RootFolder *folder);

/* As root_read_file(), of PATH, which is in FOLDER; *RET_ST is untouched where nothing was found. */
int root_read_in(const Root *root, Arena *arena, const RootFolder *folder, const char *path,
                 size_t max, struct stat *ret_st, char **ret, size_t *ret_size);
