/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The only module that opens files: no path leads out of the root, no read hangs, no file is half written. */

#include "support/testing.h"
#include "support/tree.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

TREE_TEST(open) {
        Root *root = NULL;

        assert_int_equal(root_open("/no/such/directory", &root), -ENOENT);
        assert_null(root);
        tree_write(tree, "/file", "x");
        assert_int_equal(root_open(tree_path(tree, "/file"), &root), -ENOTDIR);
        assert_int_equal(root_open("/", &root), 0);
        assert_true(root_is_host(root));
        assert_text(root_path(tree->arena, root, "/a/b"), "/a/b");
        root = root_free(root);
        assert_null(root);
        assert_null(root_free(NULL));
        assert_false(root_is_host(tree->root));
        assert_text(root_path(tree->arena, tree->root, "/a"), tree_path(tree, "/a"));
        /* Other names of "/". */
        assert_int_equal(root_open("/../.", &root), 0);
        assert_true(root_is_host(root));
        root_free(root);
}

TREE_TEST(read_file) {
        char *text = NULL;
        size_t size = 77;

        tree_write_bytes(tree, "/a/b", "x\0y\n", 4);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/a/b", 100, &text, &size), 0);
        assert_int_equal(size, 4);
        assert_memory_equal(text, "x\0y\n", 5); /* followed by NUL */
        tree_write(tree, "/empty", "");
        assert_int_equal(root_read_file(tree->root, tree->arena, "/empty", 100, &text, NULL), 0);
        assert_text(text, "");
}

TREE_TEST(read_file_limits) {
        char *text = NULL, *big = arena_alloc(tree->arena, 10001);

        memset(big, 'x', 10000);
        tree_write(tree, "/big", big);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/big", 10000, &text, NULL), 0);
        assert_int_equal(strlen(text), 10000);
        text = NULL;
        assert_int_equal(root_read_file(tree->root, tree->arena, "/big", 9999, &text, NULL),
                         -EFBIG);
        assert_null(text);
        /* A file without an end. */
        assert_int_equal(mknod(tree_path(tree, "/zero"), S_IFREG | 0644, 0), 0);
        assert_int_equal(truncate(tree_path(tree, "/zero"), (off_t) 1 << 40), 0);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/zero", 65536, &text, NULL),
                         -EFBIG);
}

/* A FIFO without a writer, a socket, a device: refused without waiting. */
TREE_TEST(special_files) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char *text = NULL;

        alarm(10); /* instead of hanging */
        assert_int_equal(mkfifo(tree_path(tree, "/fifo"), 0644), 0);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/fifo", 100, &text, NULL),
                         -EINVAL);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", tree_path(tree, "/socket"));
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/socket", 100, &text, NULL),
                         -EINVAL);
        close(fd);
        tree_mkdir(tree, "/directory");
        assert_int_equal(root_read_file(tree->root, tree->arena, "/directory", 100, &text, NULL),
                         -EISDIR);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/none", 100, &text, NULL),
                         -ENOENT);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/fifo/x", 100, &text, NULL),
                         -ENOTDIR);
        assert_null(text);
        alarm(0);
}

typedef struct Writer {
        const char *path;
        int fd;
        atomic_bool is_let_in;
} Writer;

static void *open_for_writing(void *argument) {
        Writer *writer = argument;

        writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC);
        writer->is_let_in = true;
        return NULL;
}

/* Opening a FIFO wakes its writer, and opening a watchdog starts it. Anything but a regular file is therefore not
 * opened. */
TREE_TEST(looks_before_it_opens) {
        Writer writer = {.path = tree_path(tree, "/fifo"), .fd = -1};
        char *text = NULL;
        pthread_t thread;

        alarm(10);
        assert_int_equal(mkfifo(writer.path, 0644), 0);
        assert_int_equal(pthread_create(&thread, NULL, open_for_writing, &writer), 0);
        usleep(20000); /* it has probably reached the FIFO */
        assert_int_equal(root_read_file(tree->root, tree->arena, "/fifo", 100, &text, NULL),
                         -EINVAL);
        usleep(20000);
        assert_false(writer.is_let_in);
        int fd = open(writer.path, O_RDONLY | O_CLOEXEC);

        pthread_join(thread, NULL);
        close(fd);
        close(writer.fd);
        alarm(0);
}

/* A database's file may be a link to anything. */
TREE_TEST(links_to_special_files) {
        static const char *const targets[] = {"/dev/zero",
                                              "/dev/null",
                                              "/proc/version",
                                              "/proc/self/environ",
                                              "/sys/kernel/mm/hugepages",
                                              "/sys/kernel/fscaps"};
        CLEANUP(root_freep) Root *host = NULL;
        char *text = NULL;

        assert_int_equal(root_open("/", &host), 0);
        for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
                const char *path = tree_path(tree, arena_printf(tree->arena, "/link%zu", i));

                if (access(targets[i], F_OK) != 0)
                        continue;
                assert_int_equal(symlink(targets[i], path), 0);
                int r = root_read_file(host, tree->arena, path, 1 << 20, &text, NULL);

                assert_true(r == -EINVAL || r == -EISDIR);
                assert_int_equal(
                        root_read_file(host, tree->arena, targets[i], 1 << 20, &text, NULL), r);
        }
        assert_null(text);
        /* Through a link to a directory of the kernel's, too. */
        assert_int_equal(symlink("/proc", tree_path(tree, "/etc")), 0);
        assert_int_equal(root_read_file(host, tree->arena, tree_path(tree, "/etc/version"), 1 << 20,
                                        &text, NULL),
                         -EINVAL);
        tree_write(tree, "/file", "x");
        assert_int_equal(
                root_read_file(host, tree->arena, tree_path(tree, "/file"), 10, &text, NULL), 0);
        assert_text(text, "x");
}

/* Functions for the kernel's files read nothing else. */
TREE_TEST(kernel_files) {
        CLEANUP(root_freep) Root *host = NULL;
        char *text = NULL;
        uint64_t number;

        assert_int_equal(root_open("/", &host), 0);
        assert_int_equal(
                root_read_kernel_file(host, tree->arena, "/proc/version", 1 << 20, &text, NULL), 0);
        assert_true(strlen(text) > 0);
        assert_int_equal(root_read_kernel_file(host, tree->arena, "/proc/version", 1, &text, NULL),
                         -EFBIG);
        tree_write(tree, "/etc/number", "12\n");
        assert_int_equal(root_read_attribute(tree->root, tree->arena, "/etc/number", &text),
                         -EINVAL);
        assert_int_equal(root_read_u64(tree->root, "/etc/number", &number), -EINVAL);
        /* On a recorded host they are regular files. */
        tree_mkdir(tree, "/proc");
        assert_int_equal(mkfifo(tree_path(tree, "/proc/version"), 0644), 0);
        assert_int_equal(root_read_attribute(tree->root, tree->arena, "/proc/version", &text),
                         -EINVAL);
}

/* Absolute links and ".." of a recorded host stay within its root. */
TREE_TEST(resolve_in_root) {
        char *text = NULL;

        tree_write(tree, "/etc/os", "inside");
        tree_link(tree, "/etc", "/link");
        tree_link(tree, "/etc/os", "/absolute");
        tree_link(tree, "../../../../../../etc/os", "/a/b/relative");
        tree_link(tree, "/etc/passwd", "/outside");
        tree_link(tree, "/proc/self/root/etc/passwd", "/magic");
        tree_link(tree, "/loop", "/loop");
        static const char *const inside[] = {"/absolute", "/link/os", "/a/b/relative",
                                             "/../../etc/os", "/etc/../etc/os"};

        for (size_t i = 0; i < ARRAY_LEN(inside); i++) {
                assert_int_equal(
                        root_read_file(tree->root, tree->arena, inside[i], 100, &text, NULL), 0);
                assert_text(text, "inside");
        }
        assert_int_equal(root_read_file(tree->root, tree->arena, "/outside", 1 << 20, &text, NULL),
                         -ENOENT);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/magic", 1 << 20, &text, NULL),
                         -ENOENT);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/loop", 100, &text, NULL),
                         -ELOOP);
}

/* Writes stay within the root, too. */
TREE_TEST(writes_stay_inside) {
        char *outside = arena_printf(tree->arena, "%s-outside", tree->path);

        tree_mkdir(tree, "/run");
        tree_link(tree, outside, "/escape"); /* an absolute link to a directory outside */
        assert_int_equal(mkdir(outside, 0755), 0);
        assert_true(root_write_file(tree->root, "/escape/file", "x") < 0);
        assert_true(root_write_attribute(tree->root, "/escape/file", "x") < 0);
        assert_true(root_make_directory(tree->root, "/escape/sub") < 0);
        assert_true(root_symlink(tree->root, "x", "/escape/l") < 0);
        assert_true(root_remove(tree->root, "/escape/file") < 0);
        assert_int_equal(rmdir(outside), 0); /* still empty */
}

TREE_TEST(attribute) {
        char *text = NULL;
        uint64_t number = 7;

        tree_write(tree, "/sys/nr", "  12 \n\n");
        assert_int_equal(root_read_attribute(tree->root, tree->arena, "/sys/nr", &text), 0);
        assert_text(text, "  12");
        assert_int_equal(root_read_u64(tree->root, "/sys/nr", &number), -EINVAL);
        assert_true(number == 7);
        tree_write(tree, "/sys/nr", "540\n");
        assert_int_equal(root_read_u64(tree->root, "/sys/nr", &number), 0);
        assert_true(number == 540);
        tree_write(tree, "/sys/nr", "");
        assert_int_equal(root_read_u64(tree->root, "/sys/nr", &number), -EINVAL);
        assert_int_equal(root_read_u64(tree->root, "/sys/none", &number), -ENOENT);
        assert_true(number == 540);
}

/* An attribute is written, never created; a shorter value replaces all of a longer one. */
TREE_TEST(write_attribute) {
        assert_int_equal(root_write_attribute(tree->root, "/nr", "1\n"), -ENOENT);
        assert_null(tree_read(tree, "/nr"));
        tree_write(tree, "/nr", "123456\n");
        assert_int_equal(root_write_attribute(tree->root, "/nr", "7\n"), 0);
        assert_text(tree_read(tree, "/nr"), "7\n");
        tree_mkdir(tree, "/directory");
        assert_int_equal(root_write_attribute(tree->root, "/directory", "7\n"), -EISDIR);
        if (access("/dev/full", W_OK) == 0) {
                Root *host = NULL;

                assert_int_equal(root_open("/", &host), 0);
                assert_int_equal(root_write_attribute(host, "/dev/full", "7\n"), -ENOSPC);
                root_free(host);
        }
}

static mode_t mode_of(const Tree *tree, const char *path) {
        struct stat st;

        assert_int_equal(lstat(tree_path(tree, path), &st), 0);
        return st.st_mode & 07777;
}

TREE_TEST(write_file) {
        mode_t mask = umask(0077);

        assert_int_equal(root_write_file(tree->root, "/run/x/state.json", "one"), 0);
        assert_text(tree_read(tree, "/run/x/state.json"), "one");
        assert_int_equal(mode_of(tree, "/run/x/state.json"), 0644); /* with any umask */
        assert_int_equal(root_write_file(tree->root, "/run/x/state.json", "2"), 0);
        assert_text(tree_read(tree, "/run/x/state.json"), "2");
        umask(mask);
        assert_int_equal(root_write_file(tree->root, "/top", "3"), 0);
        assert_text(tree_read(tree, "/top"), "3");
}

/* A reader with the old file open keeps its content, because the new file gets its name. */
/* An existing file stays, and no other file is left beside it. */
TREE_TEST(create_file) {
        Names names;

        assert_int_equal(root_create_file(tree->root, "/etc/a.d/x.conf", "one"), 0);
        assert_text(tree_read(tree, "/etc/a.d/x.conf"), "one");
        assert_int_equal(root_create_file(tree->root, "/etc/a.d/x.conf", "two"), -EEXIST);
        assert_text(tree_read(tree, "/etc/a.d/x.conf"), "one");
        tree_link(tree, "/dev/null", "/etc/a.d/y.conf");
        assert_int_equal(root_create_file(tree->root, "/etc/a.d/y.conf", "two"), -EEXIST);
        assert_int_equal(root_list(tree->root, tree->arena, "/etc/a.d", &names), 0);
        assert_int_equal(names.n, 2);
}

TREE_TEST(write_is_atomic) {
        struct stat before, after;
        char buffer[16] = "";
        Names names;

        assert_int_equal(root_write_file(tree->root, "/d/f", "old"), 0);
        int fd = open(tree_path(tree, "/d/f"), O_RDONLY | O_CLOEXEC);

        assert_int_equal(fstat(fd, &before), 0);
        assert_int_equal(root_write_file(tree->root, "/d/f", "new!"), 0);
        assert_int_equal(read(fd, buffer, sizeof(buffer)), 3);
        assert_memory_equal(buffer, "old", 3);
        close(fd);
        assert_int_equal(stat(tree_path(tree, "/d/f"), &after), 0);
        assert_true(before.st_ino != after.st_ino);
        /* No drafts are left. */
        assert_int_equal(root_list(tree->root, tree->arena, "/d", &names), 0);
        assert_int_equal(names.n, 1);
}

TREE_TEST(identity) {
        const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
        const char *before;

        assert_text(root_identity(tree->root, tree->arena, "/d"), "?");
        tree_write(tree, "/d/f", "old");
        before = root_identity(tree->root, tree->arena, "/d/f");
        assert_text(root_identity(tree->root, tree->arena, "/d/f"), before);
        assert_int_equal(root_write_file(tree->root, "/d/f", "new"), 0);
        assert_string_not_equal(root_identity(tree->root, tree->arena, "/d/f"), before);
        /* The clock of a file system may not advance between two changes. */
        assert_int_equal(utimensat(AT_FDCWD, tree_path(tree, "/d"), times, 0), 0);
        before = root_identity(tree->root, tree->arena, "/d");
        assert_int_equal(root_remove(tree->root, "/d/f"), 0);
        assert_string_not_equal(root_identity(tree->root, tree->arena, "/d"), before);
}

/* A link in place of the file is replaced, not followed. */
TREE_TEST(write_replaces_links) {
        tree_write(tree, "/precious", "precious");
        tree_link(tree, "/precious", "/d/f");
        assert_int_equal(root_write_file(tree->root, "/d/f", "new"), 0);
        assert_text(tree_read(tree, "/precious"), "precious");
        assert_text(tree_read(tree, "/d/f"), "new");
}

TREE_TEST(write_fails_whole) {
        Names names;

        tree_mkdir(tree, "/d/f");
        assert_int_equal(root_write_file(tree->root, "/d/f", "new"), -EISDIR);
        assert_int_equal(root_list(tree->root, tree->arena, "/d", &names), 0);
        assert_int_equal(names.n, 1);
        tree_write(tree, "/file", "x");
        assert_int_equal(root_write_file(tree->root, "/file/below", "x"), -ENOTDIR);
        assert_int_equal(root_write_file(tree->root, "/", "x"), -EINVAL);
}

TREE_TEST(directories) {
        assert_int_equal(root_make_directory(tree->root, "/a/b/c"), 0);
        assert_int_equal(root_make_directory(tree->root, "/a/b/c"), 0);
        assert_true(root_is_directory(tree->root, "/a/b/c"));
        assert_int_equal(mode_of(tree, "/a/b") & 0022, 0);
        tree_write(tree, "/a/file", "");
        assert_false(root_is_directory(tree->root, "/a/file"));
        assert_true(root_exists(tree->root, "/a/file"));
        assert_false(root_exists(tree->root, "/a/none"));
        assert_int_equal(root_remove(tree->root, "/a/file"), 0);
        assert_int_equal(root_remove(tree->root, "/a/file"), -ENOENT);
}

TREE_TEST(links) {
        char *target = NULL;

        tree_mkdir(tree, "/d");
        assert_int_equal(root_symlink(tree->root, "/one", "/d/l"), 0);
        assert_int_equal(root_symlink(tree->root, "/two", "/d/l"), 0); /* replaces */
        assert_int_equal(root_read_link(tree->root, tree->arena, "/d/l", &target), 0);
        assert_text(target, "/two");
        tree_write(tree, "/d/f", "");
        assert_int_equal(root_read_link(tree->root, tree->arena, "/d/f", &target), -EINVAL);
        assert_int_equal(root_read_link(tree->root, tree->arena, "/d/x", &target), -ENOENT);
}

TREE_TEST(list) {
        Names names = {};

        tree_write(tree, "/d/b", "");
        tree_write(tree, "/d/a", "");
        tree_write(tree, "/d/.h", "");
        tree_write(tree, "/d/B", "");
        assert_int_equal(root_list(tree->root, tree->arena, "/d", &names), 0);
        assert_int_equal(names.n, 4);
        assert_text(names.items[0], ".h");
        assert_text(names.items[1], "B");
        assert_text(names.items[2], "a");
        assert_text(names.items[3], "b");
        names = (Names){};
        assert_int_equal(root_list(tree->root, tree->arena, "/none", &names), -ENOENT);
        assert_int_equal(root_list(tree->root, tree->arena, "/d/a", &names), -ENOTDIR);
        assert_int_equal(names.n, 0);
        tree_mkdir(tree, "/empty");
        assert_int_equal(root_list(tree->root, tree->arena, "/empty", &names), 0);
        assert_int_equal(names.n, 0);
}

/* No descriptor is left open after any failure. */
static size_t count_fds(void) {
        size_t n = 0;

        for (int fd = 0; fd < 256; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

/* In a directory that only root can write to, a regular file is opened without another check; links are followed,
 * and other files are refused. */
TREE_TEST(folder) {
        const unsigned modes[] = {0755, 0775, 0757};
        RootFolder folder;
        char *text = NULL;
        size_t size;

        tree_mkdir(tree, "/d/directory");
        tree_write(tree, "/d/file", "in it");
        tree_write(tree, "/d/gone", "x");
        tree_write(tree, "/d/other", "x");
        tree_write(tree, "/target", "behind it");
        tree_link(tree, "/target", "/d/link");
        for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
                struct stat st = {};

                assert_int_equal(chmod(tree_path(tree, "/d"), modes[i]), 0);
                assert_int_equal(root_open_folder(tree->root, tree->arena, "/d", &folder), 0);
                assert_int_equal(folder.names.n, 5 - (i > 0));
                assert_true((folder.fd >= 0) == (modes[i] == 0755));
                assert_int_equal(root_read_in(tree->root, tree->arena, &folder, "/d/file", 100, &st,
                                              &text, &size),
                                 0);
                assert_text(text, "in it");
                assert_int_equal(size, 5);
                assert_int_equal(st.st_size, 5);
                assert_int_equal(root_read_in(tree->root, tree->arena, &folder, "/d/link", 100, &st,
                                              &text, &size),
                                 0);
                assert_text(text, "behind it");
                assert_int_equal(root_read_in(tree->root, tree->arena, &folder, "/d/directory", 100,
                                              &st, &text, &size),
                                 -EISDIR);
                assert_int_equal(root_read_in(tree->root, tree->arena, &folder, "/d/file", 4, &st,
                                              &text, &size),
                                 -EFBIG);
                unlink(tree_path(tree, "/d/gone"));
                assert_int_equal(root_read_in(tree->root, tree->arena, &folder, "/d/gone", 100, &st,
                                              &text, &size),
                                 -ENOENT);
                unlink(tree_path(tree, "/d/other"));
                assert_int_equal(mkfifo(tree_path(tree, "/d/other"), 0644), 0);
                assert_int_equal(root_read_in(tree->root, tree->arena, &folder, "/d/other", 100,
                                              &st, &text, &size),
                                 -EINVAL);
                root_close_folder(&folder);
                assert_int_equal(folder.fd, -1);
        }
        assert_int_equal(root_open_folder(tree->root, tree->arena, "/none", &folder), -ENOENT);
        assert_int_equal(folder.fd, -1);
        assert_int_equal(root_open_folder(tree->root, tree->arena, "/target", &folder), -ENOTDIR);
        assert_int_equal(folder.fd, -1);
}

TREE_TEST(no_fd_leaks) {
        size_t before = count_fds();

        test_directories(tree);
        root_read_file(tree->root, tree->arena, "/a", 10, &(char *){NULL}, NULL);
        root_read_file(tree->root, tree->arena, "/none", 10, &(char *){NULL}, NULL);
        root_list(tree->root, tree->arena, "/a", &(Names){});
        root_write_file(tree->root, "/a/b", "x");
        root_write_file(tree->root, "/a/y", "x");
        root_symlink(tree->root, "x", "/a/l");
        root_symlink(tree->root, "x", "/a/b");
        assert_int_equal(count_fds(), before);
}
