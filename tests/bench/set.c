/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor of a reservation: open, write, read back, close.
 *
 *     bench-set FILE TEXT [CLOCK-FILE]
 *
 * With CLOCK-FILE, the nanoseconds of CPU that the write took are appended to it, as
 * write_clock.c does for other programs. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

int main(int argc, char **argv) {
        char found[64];
        size_t length;

        if (argc < 3)
                return 2;
        int fd = open(argv[1], O_RDWR | O_CLOEXEC);

        if (fd < 0)
                return 1;
        length = strlen(argv[2]);
        long long start = cpu_nsec();
        ssize_t n_written = write(fd, argv[2], length);

        if (argc > 3)
                append_time(argv[3], cpu_nsec() - start);
        ssize_t n_read = pread(fd, found, sizeof(found), 0);

        close(fd);
        return n_written == (ssize_t) length && n_read == (ssize_t) length + 1 &&
                               memcmp(found, argv[2], length) == 0
                       ? 0
                       : 1;
}
