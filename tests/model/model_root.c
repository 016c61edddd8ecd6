/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every function of host/root.h. A path is looked up in the model first, then in the files in memory. */
#include "model/model_root.h"

#include "base/text.h"
#include "model/kernel_files.h"
#include "model/names.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_PAGE = 4096 };

typedef enum EntryKind { ENTRY_DIRECTORY, ENTRY_FILE } EntryKind;

/* A file or directory in memory, with its absolute path. */
typedef struct Entry {
        EntryKind kind;
        const char *path;
        size_t path_length;
        char *text;
        size_t size;
        uint64_t id, changed_at;
        bool is_gone;
} Entry;

struct Root {
        Arena *arena;
        Kernel *kernel;
        VEC(Entry *) entries;
        uint64_t next_id, clock;
        ModelRootHooks hooks;
        uint64_t n_changes, die_at; /* UINT64_MAX: never */
        bool is_dead;
        uint64_t n_reads, fail_read_at, fail_reads; /* the first read that fails, and how many do */
        int fail_read_error;
        const char *broken_path, *full_path; /* NULL: none */
        int broken_error, fault_error;
        char fault_path[512];
};

/* What is at a path. */
typedef struct Found {
        const char *path;
        KernelFileKind kernel; /* NONE: see `entry` */
        Entry *entry;          /* NULL: nothing */
        bool is_mount;
} Found;

/* Const as in root.h: the daemon may not change a root, but hosts change. */
static Root *mutable(const Root *root) {
        return (Root *) root;
}

/* ---- entries ---- */

/* Also finds entries that are gone. Called very often, hence the comparison of lengths first. */
static Entry *find_place(const Root *root, const char *path) {
        size_t length = strlen(path);

        VEC_FOREACH(entry, &root->entries)
                if ((*entry)->path_length == length && memcmp((*entry)->path, path, length) == 0)
                        return *entry;
        return NULL;
}

static Entry *find_entry(const Root *root, const char *path) {
        Entry *entry = find_place(root, path);

        return entry && !entry->is_gone ? entry : NULL;
}

static void touch(Root *root, Entry *entry) {
        entry->changed_at = ++root->clock;
}

static void set_bytes(Entry *entry, const char *bytes, size_t size) {
        char *copy = calloc(1, size + 1); /* test_read_faults.c lets malloc(3) fail */

        if (!copy)
                abort();
        memcpy(copy, bytes, size);
        free(entry->text);
        entry->text = copy;
        entry->size = size;
}

static void set_text(Entry *entry, const char *text) {
        set_bytes(entry, text, strlen(text));
}

static const char *parent_path(Arena *arena, const char *path) {
        const char *slash = strrchr(path, '/');

        return slash == path ? "/" : arena_strndup(arena, path, (size_t) (slash - path));
}

/* Replaces the entry at PATH. Its memory is used again, because a history writes the same few files over and over. */
static Entry *put(Root *root, EntryKind kind, const char *path, const char *text) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Entry *entry = find_place(root, path), *parent;

        if (!entry) {
                entry = ARENA_NEW(root->arena, Entry);
                entry->path = arena_strdup(root->arena, path);
                entry->path_length = strlen(path);
                *vec_push(root->arena, &root->entries) = entry;
        }
        set_text(entry, text ? text : "");
        entry->kind = kind;
        entry->id = ++root->next_id;
        entry->is_gone = false;
        touch(root, entry);
        parent = find_entry(root, parent_path(arena, path));
        if (parent)
                touch(root, parent);
        return entry;
}

/* ---- paths ---- */

static KernelFileKind kernel_kind(const Root *root, const char *path) {
        return root->kernel ? kernel_file_kind(root->kernel, path) : KERNEL_FILE_NONE;
}

static const KernelMount *mount_at(const Root *root, const char *path) {
        return root->kernel ? kernel_mount_at(root->kernel, path) : NULL;
}

static Found look(const Root *root, const char *path) {
        return (Found){
                .path = path,
                .kernel = kernel_kind(root, path),
                .entry = find_entry(root, path),
                .is_mount = mount_at(root, path) != NULL,
        };
}

static bool is_directory(const Found *found) {
        return found->kernel == KERNEL_FILE_DIRECTORY || found->is_mount ||
               (found->entry && found->entry->kind == ENTRY_DIRECTORY);
}

static bool is_there(const Found *found) {
        return found->kernel != KERNEL_FILE_NONE || found->is_mount || found->entry;
}

/* Returns the path without "." and "..". -ENOTDIR if it leads through a file. */
static int resolve(const Root *root, Arena *arena, const char *path, const char **ret) {
        const char *here = "/", *rest = path;
        char *part;

        if (root->is_dead)
                return -EIO;
        while ((part = text_next_word(arena, &rest, "/"))) {
                if (text_equals(part, "."))
                        continue;
                here = text_equals(part, "..")  ? parent_path(arena, here)
                       : text_equals(here, "/") ? arena_printf(arena, "/%s", part)
                                                : arena_printf(arena, "%s/%s", here, part);
                Found found = look(root, here);
                bool is_last = rest[strspn(rest, "/")] == '\0';

                if (!is_last && !is_there(&found))
                        return -ENOENT;
                if (!is_last && !is_directory(&found))
                        return -ENOTDIR;
        }
        *ret = here;
        return 0;
}

/* A fast lookup, without resolving the path. */
static bool find_directly(const Root *root, const char *path, Found *ret) {
        *ret = (Found){.path = path, .entry = find_entry(root, path)};
        if (mount_at(root, path))
                return false;
        if (!ret->entry || ret->entry->kind == ENTRY_DIRECTORY)
                ret->kernel = kernel_kind(root, path);
        return is_there(ret);
}

static int find(const Root *root, Arena *arena, const char *path, Found *ret) {
        if (root->is_dead)
                return -EIO;
        if (find_directly(root, path, ret))
                return 0;
        int r = resolve(root, arena, path, &path);

        if (r == 0)
                *ret = look(root, path);
        return r == 0 && !is_there(ret) ? -ENOENT : r;
}

/* ---- making, ending ---- */

static const struct {
        const char *path, *text;
} first_files[] = {
        {PATH_CMDLINE, "root=/dev/vda1 ro\n"},
        {PATH_BOOT_ID, "5d9e5b7c-0b7e-4e6c-9b3a-0c0d7d3f6a11\n"},
        {PATH_SHMMAX, "18446744073692774399\n"},
        {PATH_SHMALL, "18446744073692774399\n"},
        {PATH_MIN_FREE, "67584\n"},
        {PATH_HUGETLB_SHM_GROUP, "0\n"},
        {PATH_THP_ENABLED, "always [madvise] never\n"},
        {PATH_THP_SHMEM, "always within_size advise [never] deny force\n"},
        {PATH_THP_DEFRAG, "always defer defer+madvise [madvise] never\n"},
        {PATH_THP_MAX_PTES_NONE, "511\n"},
};

static int make_directories(Root *root, const char *path);

Root *model_root_new(Kernel *kernel) {
        Arena *arena = arena_new();
        Root *root = ARENA_NEW(arena, Root);

        *root = (Root){
                .arena = arena, .kernel = kernel, .die_at = UINT64_MAX, .fail_read_at = UINT64_MAX};
        put(root, ENTRY_DIRECTORY, "/", NULL);
        for (size_t i = 0; kernel && i < ARRAY_LEN(first_files); i++) {
                make_directories(root, parent_path(arena, first_files[i].path));
                put(root, ENTRY_FILE, first_files[i].path, first_files[i].text);
        }
        return root;
}

int root_open(const char *path UNUSED, Root **ret UNUSED) {
        return -ENOENT;
}

Root *root_free(Root *root) {
        if (!root)
                return NULL;
        VEC_FOREACH(entry, &root->entries)
                free((*entry)->text);
        arena_free(root->arena);
        return NULL;
}

void root_freep(Root **root) {
        *root = root_free(*root);
}

bool root_is_host(const Root *root UNUSED) {
        return false;
}

Recorder *root_recorder(const Root *root UNUSED) {
        return NULL;
}

void root_record_text(const Root *root UNUSED, const char *path UNUSED, const char *text UNUSED) {
}

char *root_path(Arena *arena, const Root *root UNUSED, const char *path) {
        return arena_printf(arena, "(model)%s", path);
}

/* ---- hooks, failures ---- */

void model_root_set_hooks(Root *root, const ModelRootHooks *hooks) {
        root->hooks = *hooks;
}

void model_root_die(Root *root, uint64_t n) {
        root->die_at = root->n_changes + n;
}

bool model_root_is_dead(const Root *root) {
        return root->is_dead;
}

void model_root_revive(Root *root) {
        root->is_dead = false;
        root->die_at = UINT64_MAX;
}

void model_root_fill(Root *root, const char *path) {
        root->full_path = path;
}

/* FOLDER may be NULL. */
static bool is_in(const char *folder, const char *path) {
        size_t length = folder ? strlen(folder) : 0;

        return length > 0 && strncmp(path, folder, length) == 0 &&
               (path[length] == '\0' || path[length] == '/');
}

/* Returns an error if the change must fail. */
static int begin_change(Root *root, const char *path, const char *text) {
        if (root->is_dead)
                return -EIO;
        if (root->hooks.before)
                root->hooks.before(root->hooks.userdata, path, text);
        root->n_changes++;
        if (root->n_changes >= root->die_at)
                root->is_dead = true;
        if (root->is_dead)
                return -EIO;
        if (text && is_in(root->full_path, path))
                return -ENOSPC;
        return 0;
}

static int end_change(Root *root, const char *path, const char *text, int r) {
        if (root->hooks.after && !root->is_dead)
                root->hooks.after(root->hooks.userdata, path, text, r);
        return r;
}

/* ---- reading ---- */

uint64_t model_root_reads(const Root *root) {
        return root->n_reads;
}

void model_root_fail_reads(Root *root, uint64_t n, uint64_t times, int error) {
        root->fail_read_at = root->n_reads + n;
        root->fail_reads = times;
        root->fail_read_error = error;
}

void model_root_break(Root *root, const char *path, int error) {
        root->broken_path = path;
        root->broken_error = error;
}

void root_forget_fault(const Root *root) {
        mutable(root)->fault_error = 0;
}

void root_drop_fault(const Root *root) {
        root_forget_fault(root);
}

ReadFault root_fault(const Root *root, Arena *arena) {
        return (ReadFault){root->fault_error,
                           root->fault_error < 0 ? arena_strdup(arena, root->fault_path) : NULL};
}

static int noted(const Root *const_root, const char *path, int r) {
        Root *root = mutable(const_root);

        if (error_is_fault(r) && root->fault_error == 0) {
                root->fault_error = r;
                snprintf(root->fault_path, sizeof(root->fault_path), "%s", path);
        }
        return r;
}

/* Finds what is read; returns an error if the read must fail. */
static int begin_read(const Root *const_root, Arena *arena, const char *path, Found *ret) {
        Root *root = mutable(const_root);
        uint64_t n = ++root->n_reads;
        int r = 0;

        if (n >= root->fail_read_at && n - root->fail_read_at < root->fail_reads)
                r = root->fail_read_error;
        if (is_in(root->broken_path, path))
                r = root->broken_error;
        return noted(root, path, r == 0 ? find(root, arena, path, ret) : r);
}

static int read_whole(const Root *root, Arena *arena, const char *path, char **ret,
                      size_t *ret_size) {
        Found found;
        int r = begin_read(root, arena, path, &found);

        if (r < 0)
                return r;
        if (is_directory(&found))
                return -EISDIR;
        if (found.kernel == KERNEL_FILE_ATTRIBUTE) {
                r = kernel_file_read(root->kernel, arena, found.path, ret);
                if (r == 0)
                        *ret_size = strlen(*ret);
                return r;
        }
        *ret = arena_memdup(arena, found.entry->text, found.entry->size + 1);
        *ret_size = found.entry->size;
        return 0;
}

int root_read_kernel_file(const Root *root, Arena *arena, const char *path, size_t max, char **ret,
                          size_t *ret_size) {
        return root_read_file(root, arena, path, max, ret, ret_size);
}

/* All files belong to root, so there is nothing to judge. */
int root_read_judged(const Root *root, Arena *arena, const char *path, size_t max,
                     RootJudge judge UNUSED, void *userdata UNUSED, char **ret, size_t *ret_size) {
        size_t size = 0;
        char *text = NULL;
        int r = read_whole(root, arena, path, &text, &size);

        if (r == 0 && size > max)
                r = -EFBIG;
        if (r < 0)
                return r;
        *ret = text;
        if (ret_size)
                *ret_size = size;
        return 0;
}

bool root_exists(const Root *root, const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Found found;

        return begin_read(root, arena, path, &found) == 0;
}

bool root_is_directory(const Root *root, const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Found found;

        return begin_read(root, arena, path, &found) == 0 && is_directory(&found);
}

/* The times of the kernel's files do not change. */
int root_stat(const Root *root, const char *path, struct stat *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Found found;
        int r = begin_read(root, arena, path, &found);

        if (r < 0)
                return r;
        *ret = found.entry ? (struct stat){.st_dev = 2,
                                           .st_ino = found.entry->id,
                                           .st_mtim.tv_nsec = (long) found.entry->changed_at}
                           : (struct stat){.st_dev = 1,
                                           .st_ino = text_fold(TEXT_FOLD_START, found.path)};
        return 0;
}

int root_read_link(const Root *root, Arena *arena, const char *path, char **ret) {
        Found found;
        int r = begin_read(root, arena, path, &found);

        if (r < 0 || !text_starts_with(path, PATH_SYSTEMD_RUN))
                return r < 0 ? r : -EINVAL;
        *ret = arena_strdup(arena, found.entry->text);
        return 0;
}

int root_statfs(const Root *root, const char *path, struct statfs *ret) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        uint64_t bytes, blocks, free_blocks;
        Found found;
        int r = begin_read(root, arena, path, &found);

        if (r < 0)
                return r;
        if (!is_directory(&found))
                return -ENOTDIR;
        *ret = (struct statfs){.f_type = TMPFS_MAGIC, .f_bsize = SMALL_PAGE};
        if (!found.is_mount)
                return 0;
        kernel_mount_blocks(kernel_mount_at(root->kernel, found.path), &bytes, &blocks,
                            &free_blocks);
        *ret = (struct statfs){
                .f_type = HUGETLBFS_MAGIC,
                .f_bsize = (typeof(ret->f_bsize)) bytes,
                .f_blocks = (typeof(ret->f_blocks)) blocks,
                .f_bfree = (typeof(ret->f_bfree)) free_blocks,
                .f_bavail = (typeof(ret->f_bavail)) free_blocks,
        };
        return 0;
}

/* The name of PATH in DIRECTORY; NULL if PATH is not directly below. */
static const char *name_below(const char *directory, const char *path) {
        size_t length = text_equals(directory, "/") ? 0 : strlen(directory);

        if (strncmp(path, directory, length) != 0 || path[length] != '/' || !path[length + 1])
                return NULL;
        return strchr(path + length + 1, '/') ? NULL : path + length + 1;
}

int root_list(const Root *root, Arena *arena, const char *path, Names *ret) {
        KernelNames all = {};
        Names names = {};
        Found found;
        int r = begin_read(root, arena, path, &found);

        if (r < 0)
                return r;
        if (!is_directory(&found))
                return -ENOTDIR;
        if (root->kernel)
                kernel_file_list(root->kernel, arena, found.path, &all);
        VEC_FOREACH(entry, &root->entries) {
                const char *name = (*entry)->is_gone ? NULL
                                                     : name_below(found.path, (*entry)->path);

                if (name)
                        *vec_push(arena, &all) = arena_strdup(arena, name);
        }
        if (all.n > 0)
                qsort(all.items, all.n, sizeof(char *), text_compare);
        VEC_FOREACH(name, &all)
                if (names.n == 0 || !text_equals(names.items[names.n - 1], *name))
                        *vec_push(arena, &names) = *name;
        *ret = names;
        return 0;
}

/* ---- changing ---- */

/* Moves the brackets of "always [madvise] never". */
static int choose(Root *root, Entry *entry, const char *preference) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *rest = entry->text, *chosen = text_strip(arena, preference);
        Text text = text_in(arena);
        bool is_known = false;
        char *word;

        chosen = arena_strndup(arena, chosen, strcspn(chosen, "\n"));
        while ((word = text_next_word(arena, &rest, " []\n"))) {
                bool is_chosen = text_equals(word, chosen);

                is_known = is_known || is_chosen;
                text_printf(&text, "%s%s%s%s", text.length > 0 ? " " : "", is_chosen ? "[" : "",
                            word, is_chosen ? "]" : "");
        }
        if (!is_known)
                return -EINVAL;
        text_add(&text, "\n");
        put(root, ENTRY_FILE, entry->path, text.string);
        return 0;
}

static int write_found(Root *root, const Found *found, const char *text) {
        if (is_directory(found))
                return -EISDIR;
        if (found->kernel == KERNEL_FILE_ATTRIBUTE)
                return kernel_file_write(root->kernel, kernel_self(root->kernel), found->path,
                                         text);
        if (text_starts_with(found->path, PATH_THP "/") && strchr(found->entry->text, '['))
                return choose(root, found->entry, text);
        set_text(found->entry, text);
        touch(root, found->entry);
        return 0;
}

int root_write_attribute(const Root *const_root, const char *path, const char *text) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Root *root = mutable(const_root);
        Found found;
        int r = begin_change(root, path, text);

        if (r == 0)
                r = find(root, arena, path, &found);
        if (r == 0)
                r = write_found(root, &found, text);
        return end_change(root, path, text, r);
}

/* Makes missing directories in memory or among the control groups. */
static int make_directories(Root *root, const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        for (const char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
                const char *part = slash ? arena_strndup(arena, path, (size_t) (slash - path))
                                         : path;
                int r = text_equals(path, "/") ? 0 : resolve(root, arena, part, &part);
                Found found = look(root, part);

                if (r < 0)
                        return r;
                if (!is_there(&found) &&
                    (!root->kernel || kernel_file_make_directory(root->kernel, part) < 0))
                        put(root, ENTRY_DIRECTORY, part, NULL);
                else if (is_there(&found) && slash && !is_directory(&found))
                        return -ENOTDIR;
                if (!slash || text_equals(path, "/"))
                        return 0;
        }
}

int root_make_directory(const Root *const_root, const char *path) {
        Root *root = mutable(const_root);
        int r = begin_change(root, path, NULL);

        if (r == 0)
                r = make_directories(root, path);
        return end_change(root, path, NULL, r);
}

/* Finds the place of a file, and makes missing directories above it. */
static int place(Root *root, Arena *arena, const char *path, Found *ret) {
        int r = path[strlen(path) - 1] == '/' ? -EINVAL
                                              : make_directories(root, parent_path(arena, path));

        if (r == 0)
                r = resolve(root, arena, path, &path);
        if (r == 0)
                *ret = look(root, path);
        return r;
}

void model_root_add(Root *root, const char *path, const char *bytes, size_t size) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Found found;

        if (place(root, arena, path, &found) == 0 && !is_directory(&found))
                set_bytes(put(root, ENTRY_FILE, found.path, NULL), bytes, size);
}

static int write_file(const Root *const_root, const char *path, const char *text, bool is_new) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Root *root = mutable(const_root);
        Found found;
        int r = begin_change(root, path, text);

        if (r == 0)
                r = place(root, arena, path, &found);
        if (r == 0 && is_new && is_there(&found))
                r = -EEXIST;
        /* The kernel's file systems do not allow rename(2). */
        if (r == 0 && found.kernel == KERNEL_FILE_ATTRIBUTE)
                r = -EACCES;
        if (r == 0 && is_directory(&found))
                r = -EISDIR;
        if (r == 0)
                put(root, ENTRY_FILE, found.path, text);
        return end_change(root, path, text, r);
}

int root_write_file(const Root *root, const char *path, const char *text) {
        return write_file(root, path, text, false);
}

int root_store_file(const Root *root, const char *path, const char *text) {
        return root_write_file(root, path, text);
}

/* -ENOENT makes callers write a new file, which is equivalent here, because disks are never full. */
int root_overwrite_file(const Root *root UNUSED, const char *path UNUSED, const char *text UNUSED) {
        return -ENOENT;
}

int root_create_file(const Root *root, const char *path, const char *text) {
        return write_file(root, path, text, true);
}

int root_remove(const Root *const_root, const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Root *root = mutable(const_root);
        Found found;
        int r = begin_change(root, path, NULL);

        if (r == 0)
                r = find(root, arena, path, &found);
        if (r == 0 && is_directory(&found))
                r = -EISDIR;
        if (r == 0 && found.kernel != KERNEL_FILE_NONE)
                r = -EPERM;
        if (r == 0) {
                Entry *parent = find_entry(root, parent_path(arena, found.path));

                found.entry->is_gone = true;
                if (parent)
                        touch(root, parent);
        }
        return end_change(root, path, NULL, r);
}

int root_symlink(const Root *root UNUSED, const char *target UNUSED, const char *path UNUSED) {
        return -EPERM;
}

/* ---- folders ---- */

int root_open_folder(const Root *root, Arena *arena, const char *path, RootFolder *ret) {
        *ret = (RootFolder){.fd = -1};
        root_stat(root, path, &ret->st);
        return root_list(root, arena, path, &ret->names);
}

void root_close_folder(RootFolder *folder UNUSED) {
}

int root_read_in(const Root *root, Arena *arena, const RootFolder *folder UNUSED, const char *path,
                 size_t max, struct stat *ret_st UNUSED, char **ret, size_t *ret_size) {
        return root_read_judged(root, arena, path, max, NULL, NULL, ret, ret_size);
}
