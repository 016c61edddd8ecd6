/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor of a boot job: opens, writes, reads back and closes each file, and sends READY=1.
 *
 *     bench-set [--clock=FILE] FILE TEXT [FILE TEXT]...
 *
 * The read must return TEXT, or "[TEXT]" among other words as in the files of transparent huge pages. With --clock the
 * nanoseconds of CPU that the first write took are appended to FILE, as write_clock.c does for other programs. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static long long cpu_nsec(void) {
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void append_time(const char *path, long long nsec) {
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

        if (fd < 0)
                return;
        dprintf(fd, "%lld\n", nsec);
        close(fd);
}

static int set(const char *path, const char *text, const char *clock) {
        size_t length = strlen(text);
        char found[128], word[128];
        int fd = open(path, O_RDWR | O_CLOEXEC);

        if (fd < 0)
                return 0;
        long long start = cpu_nsec();
        ssize_t n_written = write(fd, text, length);

        if (clock)
                append_time(clock, cpu_nsec() - start);
        ssize_t n = pread(fd, found, sizeof(found) - 1, 0);

        close(fd);
        found[n > 0 ? n - 1 : 0] = '\0';
        snprintf(word, sizeof(word), "[%s]", text);
        return n_written == (ssize_t) length && (strcmp(found, text) == 0 || strstr(found, word));
}

static void send_ready(void) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        const char *name = getenv("NOTIFY_SOCKET");
        int fd = name ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

        if (fd < 0)
                return;
        strncpy(address.sun_path + 1, name + 1, sizeof(address.sun_path) - 2);
        sendto(fd, "READY=1", strlen("READY=1"), 0, (struct sockaddr *) &address,
               (socklen_t) (offsetof(struct sockaddr_un, sun_path) + strlen(name)));
        close(fd);
}

int main(int argc, char **argv) {
        const char *clock = argc > 1 && strncmp(argv[1], "--clock=", 8) == 0 ? argv[1] + 8 : NULL;

        for (int i = clock ? 2 : 1; i + 1 < argc; i += 2) {
                if (!set(argv[i], argv[i + 1], clock))
                        return 1;
                clock = NULL;
        }
        send_ready();
        return 0;
}
