/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The only module that opens files: no path leads out of the root, no read hangs, no file is half written. */

#include "support/root_story.h"
#include "support/tree_story.h"

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
}

/* Refused without waiting. */
TREE_TEST(socket_in_place_of_a_file) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char *text = NULL;

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", tree_path(tree, "/socket"));
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(root_read_file(tree->root, tree->arena, "/socket", 100, &text, NULL),
                         -EINVAL);
        assert_null(text);
        close(fd);
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

TREE_TEST(kernel_files_of_this_host) {
        CLEANUP(root_freep) Root *host = NULL;
        char *text = NULL;

        assert_int_equal(root_open("/", &host), 0);
        assert_int_equal(
                root_read_kernel_file(host, tree->arena, "/proc/version", 1 << 20, &text, NULL), 0);
        assert_true(strlen(text) > 0);
        assert_int_equal(root_read_kernel_file(host, tree->arena, "/proc/version", 1, &text, NULL),
                         -EFBIG);
        if (access("/dev/full", W_OK) == 0)
                assert_int_equal(root_write_attribute(host, "/dev/full", "7\n"), -ENOSPC);
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

static mode_t mode_of(const Tree *tree, const char *path) {
        struct stat st;

        assert_int_equal(lstat(tree_path(tree, path), &st), 0);
        return st.st_mode & 07777;
}

/* With any umask. */
TREE_TEST(modes) {
        mode_t mask = umask(0077);

        assert_int_equal(root_write_file(tree->root, "/run/x/state.json", "one"), 0);
        assert_int_equal(mode_of(tree, "/run/x/state.json"), 0644);
        umask(mask);
        assert_int_equal(root_make_directory(tree->root, "/a/b/c"), 0);
        assert_int_equal(mode_of(tree, "/a/b") & 0022, 0);
}

/* A reader with the old file open keeps its content, because the new file gets its name. */
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

TREE_TEST(has_text) {
        tree_write(tree, "/f", "text");
        assert_true(root_has_text(tree->root, "/f", "text"));
        assert_false(root_has_text(tree->root, "/f", "tex"));
        assert_false(root_has_text(tree->root, "/f", "texts"));
        assert_false(root_has_text(tree->root, "/none", ""));
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

        root_make_directory(tree->root, "/a/b");
        root_write_file(tree->root, "/a/file", "");
        root_remove(tree->root, "/a/file");
        root_remove(tree->root, "/a/file");
        root_read_file(tree->root, tree->arena, "/a", 10, &(char *){NULL}, NULL);
        root_read_file(tree->root, tree->arena, "/none", 10, &(char *){NULL}, NULL);
        root_list(tree->root, tree->arena, "/a", &(Names){});
        root_write_file(tree->root, "/a/b", "x");
        root_write_file(tree->root, "/a/y", "x");
        root_symlink(tree->root, "x", "/a/l");
        root_symlink(tree->root, "x", "/a/b");
        assert_int_equal(count_fds(), before);
}

/* ---- stories ---- */

static const char *perform(void *context, const StoryLine *line) {
        const char *answer = root_story_perform(((TreeStory *) context)->tree->root, line);

        return answer ? answer : tree_story_perform(context, line);
}

TEST(stories) {
        static const StoryTeller teller = {.file = __FILE__,
                                           .size = sizeof(TreeStory),
                                           .begin = tree_story_begin,
                                           .end = tree_story_end,
                                           .otherwise = perform};

        alarm(10); /* instead of hanging */
        story_tell("unit/host/root", &teller);
        story_tell("unit/host/root_tree", &teller);
        alarm(0);
}
