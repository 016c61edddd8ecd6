/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Failing system calls of host/root.c. An unreadable file or directory is not empty, and a file that must survive a
 * power cut is on disk before its name is. This program replaces the library's calls. */

#include "model/names.h"
#include "support/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum Call { CALL_NONE, CALL_READ, CALL_READDIR, CALL_OPEN, CALL_FSYNC, CALL_RENAME } Call;

static Text *calls;      /* calls on files and directories; NULL: not recorded */
static Call failing;     /* the call that fails, */
static unsigned fail_at; /* its number from 1, */
static int fail_error;   /* and the errno; 0: a partial read or write */
static unsigned n_calls;

static void arm(Call call, unsigned at, int error) {
        failing = call;
        fail_at = at;
        fail_error = error;
        n_calls = 0;
}

/* Replaces a file before it is opened again. */
static const char *other, *exchanged;
static unsigned n_opened;

static void exchange(void) {
        if (exchanged && ++n_opened == 2)
                assert_int_equal(rename(other, exchanged), 0);
}

static bool fails(Call call) {
        if (call != failing || ++n_calls != fail_at)
                return false;
        errno = fail_error;
        return true;
}

static void note(const char *what, const char *name) {
        if (calls)
                text_printf(calls, "%s%s%s%s", calls->length > 0 ? ", " : "", what,
                            *name ? " " : "", name);
}

static bool is_directory(int fd) {
        struct stat st;

        return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static int gone_fd = -1; /* of a node that was removed: reading fails from then on */

ssize_t pread(int fd, void *buffer, size_t size, off_t at) {
        bool fails_now = fails(CALL_READ);

        if (fails_now && fail_error == ENODEV)
                gone_fd = fd;
        if (fd == gone_fd)
                errno = ENODEV;
        if (fd == gone_fd || (fails_now && fail_error > 0))
                return -1;
        if (fails_now)
                size = 1;
        return syscall(SYS_pread64, fd, buffer, size, at);
}

ssize_t getdents64(int directory, void *buffer, size_t size) {
        return fails(CALL_READDIR) ? -1 : syscall(SYS_getdents64, directory, buffer, size);
}

int openat(int directory, const char *path, int flags, ...) {
        va_list arguments;

        va_start(arguments, flags);
        unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;

        va_end(arguments);
        exchange();
        return fails(CALL_OPEN) ? -1 : (int) syscall(SYS_openat, directory, path, flags, mode);
}

int open(const char *path, int flags, ...) {
        exchange();
        return fails(CALL_OPEN) ? -1 : (int) syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

/* Calls without a mode, with _FORTIFY_SOURCE, as packages are built. */
#if __USE_FORTIFY_LEVEL > 0
int __openat_2(int directory, const char *path, int flags) {
        return openat(directory, path, flags);
}

int __open_2(const char *path, int flags) {
        return open(path, flags);
}
#endif

int dup3(int from, int to, int flags) {
        if (to == gone_fd)
                gone_fd = -1;
        return (int) syscall(SYS_dup3, from, to, flags);
}

int fsync(int fd) {
        if (fails(CALL_FSYNC))
                return -1;
        note(is_directory(fd) ? "sync directory" : "sync file", "");
        return (int) syscall(SYS_fsync, fd);
}

int mkdirat(int directory, const char *path, mode_t mode) {
        int r = (int) syscall(SYS_mkdirat, directory, path, mode);

        if (r == 0)
                note("make", path);
        return r;
}

int renameat(int from, const char *path, int to, const char *name) {
        if (fails(CALL_RENAME))
                return -1;
        note("name", name);
        return (int) syscall(SYS_renameat2, from, path, to, name, 0);
}

int linkat(int from, const char *path, int to, const char *name, int flags) {
        note("name", name);
        return (int) syscall(SYS_linkat, from, path, to, name, flags);
}

/* ---- reading ---- */

static const int errors[] = {EIO, EMFILE, ENFILE, ENOMEM, ESTALE};

/* On the running host all files are opened by openat(2) and open(2). */
static Root *open_host(void) {
        Root *root = NULL;

        assert_int_equal(root_open("/", &root), 0);
        return root;
}

/* A failing directory looks like one that ends. */
TREE_TEST(a_directory_that_cannot_be_read) {
        CLEANUP(root_freep) Root *host = open_host();
        Names names = {};

        tree_write(tree, "/d/a", "");
        tree_write(tree, "/d/b", "");
        for (size_t i = 0; i < ARRAY_LEN(errors); i++)
                for (unsigned at = 1; at <= 2; at++) { /* the names, and the end of the directory */
                        arm(CALL_READDIR, at, errors[i]);
                        assert_int_equal(root_list(tree->root, tree->arena, "/d", &names),
                                         -errors[i]);
                        assert_int_equal(names.n, 0);
                }
        /* An errno of an earlier call does not count. */
        arm(CALL_NONE, 0, 0);
        errno = EIO;
        assert_int_equal(root_list(tree->root, tree->arena, "/d", &names), 0);
        assert_int_equal(names.n, 2);
        for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
                arm(CALL_OPEN, 1, errors[i]);
                assert_int_equal(root_list(host, tree->arena, tree_path(tree, "/d"), &names),
                                 -errors[i]);
        }
        arm(CALL_NONE, 0, 0);
}

/* Continues after EINTR. */
TREE_TEST(an_interrupted_call) {
        CLEANUP(root_freep) Root *host = open_host();
        char *text = NULL;
        Names names = {};

        tree_write(tree, "/d/a", "x");
        for (unsigned at = 1; at <= 3; at++) {
                arm(CALL_READDIR, at, EINTR);
                assert_int_equal(root_list(tree->root, tree->arena, "/d", &names), 0);
                assert_int_equal(names.n, 1);
                arm(CALL_OPEN, at, EINTR);
                assert_int_equal(
                        root_read_file(host, tree->arena, tree_path(tree, "/d/a"), 10, &text, NULL),
                        0);
                assert_text(text, "x");
                arm(CALL_READ, at, EINTR);
                assert_int_equal(root_read_file(tree->root, tree->arena, "/d/a", 10, &text, NULL),
                                 0);
                assert_text(text, "x");
                arm(CALL_FSYNC, at, EINTR);
                assert_int_equal(root_store_file(tree->root, "/d/c/e", "x"), 0);
                remove(tree_path(tree, "/d/c/e"));
                remove(tree_path(tree, "/d/c"));
        }
        arm(CALL_NONE, 0, 0);
}

/* More than one read(2) returns. */
static const char *long_text(const Tree *tree) {
        Text text = text_in(tree->arena);

        text_repeat(&text, 'x', 6000);
        return text_string(&text);
}

TREE_TEST(a_file_that_cannot_be_read) {
        CLEANUP(root_freep) Root *host = open_host();
        char *text = NULL;
        uint64_t number = 7;

        tree_write(tree, "/sys/nr", "1234\n");
        tree_write(tree, "/sys/large", long_text(tree));
        for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
                arm(CALL_READ, 1, errors[i]);
                assert_int_equal(
                        root_read_file(tree->root, tree->arena, "/sys/nr", 10, &text, NULL),
                        -errors[i]);
                arm(CALL_READ, 1, errors[i]);
                assert_int_equal(root_read_u64(tree->root, "/sys/nr", &number), -errors[i]);
                for (unsigned at = 1; at <= 2; at++) {
                        arm(CALL_READ, at, errors[i]);
                        assert_int_equal(root_read_file(tree->root, tree->arena, "/sys/large", 8000,
                                                        &text, NULL),
                                         -errors[i]);
                        arm(CALL_READ, at, errors[i]);
                        assert_int_equal(
                                root_read_attribute(tree->root, tree->arena, "/sys/large", &text),
                                -errors[i]);
                        arm(CALL_OPEN, at, errors[i]);
                        assert_int_equal(root_read_file(host, tree->arena,
                                                        tree_path(tree, "/sys/nr"), 10, &text,
                                                        NULL),
                                         -errors[i]);
                }
        }
        arm(CALL_NONE, 0, 0);
        assert_null(text);
        assert_true(number == 7);
}

/* "1234" must not become 1. */
TREE_TEST(short_reads) {
        uint64_t number = 7;

        tree_write(tree, "/sys/nr", "1234\n");
        for (unsigned at = 1; at <= 2; at++) {
                arm(CALL_READ, at, 0);
                assert_int_equal(root_read_u64(tree->root, "/sys/nr", &number), 0);
                assert_true(number == 1234);
        }
        arm(CALL_NONE, 0, 0);
}

/* A kept file descriptor is used again, unless reading fails because the node was removed; then the new file is
 * kept. */
TREE_TEST(a_file_that_is_kept_open) {
        /* skip() does not return and so frees nothing. */
        if (access(PATH_THP_ENABLED, R_OK) < 0)
                skip();
        CLEANUP(root_freep) Root *host = open_host();
        char *first, *text;

        root_keep_open(host);
        assert_true(root_read_attribute(host, tree->arena, PATH_THP_ENABLED, &first) == 0);
        for (int i = 0; i < 3; i++) {
                arm(i == 1 ? CALL_READ : CALL_OPEN, 1, ENODEV);
                assert_true(root_read_attribute(host, tree->arena, PATH_THP_ENABLED, &text) == 0);
                assert_text(text, first);
        }
        arm(CALL_NONE, 0, 0);
}

/* The file that was checked is read, even if it is replaced in between. */
TREE_TEST(an_exchanged_file) {
        CLEANUP(root_freep) Root *host = open_host();
        char *text = NULL;

        tree_write(tree, "/looked-at", "harmless");
        tree_write(tree, "/other", "never looked at");
        other = tree_path(tree, "/other");
        exchanged = tree_path(tree, "/looked-at");
        assert_int_equal(root_read_file(host, tree->arena, exchanged, 100, &text, NULL), 0);
        exchanged = NULL;
        assert_int_equal(n_opened, 2);
        assert_text(text, "harmless");
        assert_text(tree_read(tree, "/looked-at"), "never looked at");
}

/* ---- writing ---- */

static const char *stored(const Tree *tree, int (*write)(const Root *, const char *, const char *),
                          const char *path) {
        Text text = text_in(tree->arena);

        calls = &text;
        assert_int_equal(write(tree->root, path, "x"), 0);
        calls = NULL;
        return text_string(&text);
}

/* The content is on disk before the name, and the name before success is returned; new directories likewise. */
TREE_TEST(order_on_disk) {
        assert_text(stored(tree, root_store_file, "/etc/d/learned.conf"),
                    "make etc, sync directory, make d, sync directory, "
                    "sync file, name learned.conf, sync directory");
        assert_text(stored(tree, root_store_file, "/etc/d/learned.conf"),
                    "sync file, name learned.conf, sync directory");
        assert_text(stored(tree, root_create_file, "/etc/d/20-pg.conf"),
                    "sync file, name 20-pg.conf, sync directory");
        /* Files that end with the boot need no fsync(2). */
        assert_text(stored(tree, root_write_file, "/run/state.json"), "make run, name state.json");
}

/* A file that is overwritten in place takes no more space: no new file and no new name. */
TREE_TEST(overwrite) {
        Text text = text_in(tree->arena);

        assert_int_equal(root_overwrite_file(tree->root, "/etc/f", "new"), -ENOENT);
        tree_write(tree, "/etc/f", "one\ntwo\n.");
        calls = &text;
        assert_int_equal(root_overwrite_file(tree->root, "/etc/f", "one\n2.0\n."), 0);
        calls = NULL;
        assert_text(text_string(&text), "sync file");
        assert_text(tree_read(tree, "/etc/f"), "one\n2.0\n.");
        assert_int_equal(root_overwrite_file(tree->root, "/etc/f", "one\n2.0\n.."), -ENOENT);
        assert_int_equal(root_overwrite_file(tree->root, "/etc", "one"), -EISDIR);
        arm(CALL_FSYNC, 1, EIO);
        assert_int_equal(root_overwrite_file(tree->root, "/etc/f", "one\n3.0\n."), -EIO);
        arm(CALL_NONE, 0, 0);
}

TREE_TEST(a_store_that_fails) {
        Names names;

        tree_write(tree, "/etc/f", "old");
        arm(CALL_FSYNC, 1, EIO);
        assert_int_equal(root_store_file(tree->root, "/etc/f", "new"), -EIO);
        assert_text(tree_read(tree, "/etc/f"), "old");
        arm(CALL_RENAME, 1, ENOSPC);
        assert_int_equal(root_store_file(tree->root, "/etc/f", "new"), -ENOSPC);
        assert_text(tree_read(tree, "/etc/f"), "old");
        /* The file exists, but may not survive: success is not returned. */
        arm(CALL_FSYNC, 2, EIO);
        assert_int_equal(root_store_file(tree->root, "/etc/f", "new"), -EIO);
        /* File systems that cannot sync directories. */
        arm(CALL_FSYNC, 2, EINVAL);
        assert_int_equal(root_store_file(tree->root, "/etc/f", "newer"), 0);
        arm(CALL_NONE, 0, 0);
        assert_text(tree_read(tree, "/etc/f"), "newer");
        assert_int_equal(root_list(tree->root, tree->arena, "/etc", &names), 0);
        assert_int_equal(names.n, 1); /* no drafts */
}
