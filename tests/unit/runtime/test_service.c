/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A socket plays the service manager. */

#include "runtime/service.h"
#include "support/testing.h"
#include "support/tree.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Listens on NAME; '@' is the abstract namespace. */
static int listen_at(const char *name) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_uint_in_range(strlen(name), 1, sizeof(address.sun_path) - 1);
        memcpy(address.sun_path, name, strlen(name));
        if (*name == '@')
                address.sun_path[0] = '\0';
        assert_int_equal(bind(fd, (struct sockaddr *) &address,
                              (socklen_t) (offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                         0);
        setenv("NOTIFY_SOCKET", name, 1);
        return fd;
}

/* NULL: no message. */
static const char *heard(const Tree *tree, int fd) {
        char text[256];
        ssize_t size = recv(fd, text, sizeof(text), 0);

        return size < 0 ? NULL : arena_strndup(tree->arena, text, (size_t) size);
}

TREE_TEST(notify) {
        const char *names[] = {tree_path(tree, "/notify"),
                               arena_printf(tree->arena, "@hugeplan-test-%d", (int) getpid())};

        ARRAY_FOREACH(name, names, ARRAY_LEN(names)) {
                int fd = listen_at(*name);

                service_notify("READY=1\nSTATUS=%d of %d", 2, 3);
                assert_text(heard(tree, fd), "READY=1\nSTATUS=2 of 3");
                service_notify("READY=1");
                assert_text(heard(tree, fd), "READY=1");
                setenv("NOTIFY_SOCKET", "relative", 1);
                service_notify("READY=1");
                assert_null(heard(tree, fd));
                unsetenv("NOTIFY_SOCKET");
                service_notify("READY=1");
                assert_null(heard(tree, fd));
                close(fd);
        }
}

static void set(const char *name, long number) {
        char text[32];

        snprintf(text, sizeof(text), "%ld", number);
        setenv(name, text, 1);
}

/* Descriptors for another process are not taken. */
TEST(listen_fd) {
        assert_int_equal(service_listen_fd(), -1);
        set("LISTEN_FDS", 1);
        assert_int_equal(service_listen_fd(), -1);
        set("LISTEN_PID", getpid() + 1);
        assert_int_equal(service_listen_fd(), -1);
        set("LISTEN_PID", getpid());
        int kept = fcntl(3, F_DUPFD_CLOEXEC, 10);
        int before = fcntl(3, F_GETFD);

        assert_int_equal(service_listen_fd(), 3);
        if (before >= 0)
                assert_int_equal(fcntl(3, F_GETFD), FD_CLOEXEC);
        fcntl(3, F_SETFD, before);
        close(kept);
        setenv("LISTEN_FDS", "no number", 1);
        assert_int_equal(service_listen_fd(), -1);
        unsetenv("LISTEN_FDS");
        unsetenv("LISTEN_PID");
}

TEST(watchdog) {
        assert_int_equal(service_watchdog_usec(), 0);
        set("WATCHDOG_USEC", 30000000);
        assert_int_equal(service_watchdog_usec(), 30000000);
        set("WATCHDOG_PID", getpid() + 1);
        assert_int_equal(service_watchdog_usec(), 0);
        set("WATCHDOG_PID", getpid());
        assert_int_equal(service_watchdog_usec(), 30000000);
        unsetenv("WATCHDOG_USEC");
        unsetenv("WATCHDOG_PID");
}
