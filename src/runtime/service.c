/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime/service.h"

#include "base/size.h"
#include "base/text.h"
#include "base/vec.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char journal_socket[] = "/run/systemd/journal/socket";
enum { LISTEN_FD = 3 };

/* Sends to a path, or to a name in the abstract namespace after '@', without a terminating NUL: unix(7). */
static int send_to(const char *name, const char *bytes, size_t n) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        size_t length = strlen(name);

        if (length < 2 || (name[0] != '/' && name[0] != '@') || length >= sizeof(address.sun_path))
                return -EINVAL;
        memcpy(address.sun_path, name, length);
        if (name[0] == '@')
                address.sun_path[0] = '\0';
        socklen_t size =
                (socklen_t) (offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '/'));
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return -errno;
        int r = sendto(fd, bytes, n, MSG_NOSIGNAL, (struct sockaddr *) &address, size) < 0 ? -errno
                                                                                           : 0;

        close(fd);
        return r;
}

/* ---- sd_notify(3) ---- */

void service_notify(const char *format, ...) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *name = getenv("NOTIFY_SOCKET");
        va_list arguments;

        if (!name)
                return;
        va_start(arguments, format);
        char *text = arena_vprintf(arena, format, arguments);

        va_end(arguments);
        send_to(name, text, strlen(text));
}

/* ---- variables ---- */

static uint64_t number_in(const char *name) {
        const char *text = getenv(name);
        uint64_t number;

        return text && parse_u64(text, &number) == 0 ? number : 0;
}

/* Returns false for child processes, which inherit the variable NAME with another process's PID. */
static bool is_for_us(const char *name) {
        return number_in(name) == (uint64_t) getpid();
}

int service_listen_fd(void) {
        uint64_t n = is_for_us("LISTEN_PID") ? number_in("LISTEN_FDS") : 0;

        for (uint64_t i = 0; i < n; i++)
                fcntl(LISTEN_FD + (int) i, F_SETFD, FD_CLOEXEC);
        return n > 0 ? LISTEN_FD : -1;
}

uint64_t service_watchdog_usec(void) {
        return !getenv("WATCHDOG_PID") || is_for_us("WATCHDOG_PID") ? number_in("WATCHDOG_USEC")
                                                                    : 0;
}

/* ---- the journal ---- */

/* A value of several lines follows its length, 64 bits in little endian, instead of '='. */
static void add_field(Text *text, const char *field) {
        const char *sign = strchr(field, '=');

        if (!sign || !strchr(sign, '\n')) {
                text_add(text, field);
        } else {
                size_t length = strlen(sign + 1);

                text_add_n(text, field, (size_t) (sign - field));
                text_add(text, "\n");
                for (unsigned i = 0; i < 8; i++)
                        text_add_n(text, &(char){(char) ((uint64_t) length >> 8 * i)}, 1);
                text_add_n(text, sign + 1, length);
        }
        text_add(text, "\n");
}

int service_journal_send(const char *const *fields, size_t n) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Text text = text_in(arena);

        ARRAY_FOREACH(field, fields, n)
                add_field(&text, *field);
        add_field(&text,
                  arena_printf(arena, "SYSLOG_IDENTIFIER=%s", program_invocation_short_name));
        return send_to(journal_socket, text.string, text.length);
}
