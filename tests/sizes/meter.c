/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Preloaded into a database server (LD_PRELOAD): tells what shared memory and what huge pages it asks for, so
 * that thousands of settings can be measured without a pool and without root.
 *
 * Each request becomes a line of the file that SIZE_METER_FILE names: "shared BYTES" for an anonymous shared
 * mapping of a MiB or more, "huge BYTES" for one of huge pages, "segment BYTES" for a System V segment of them.
 * SIZE_METER says what happens then:
 *   stop    the first "shared" ends the program: what it would do with the memory does not matter
 *   refuse  huge pages are refused, as by a kernel that has none
 *   play    they are given as small pages, as by a kernel that has enough */

/* Else mmap would be called mmap64 here. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

enum { SHARED_MIN_BYTES = 1 << 20 };

typedef void *MapCall(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
typedef int SegmentCall(key_t key, size_t bytes, int flags);

static bool is_mode(const char *mode) {
        const char *given = getenv("SIZE_METER");

        return given && strcmp(given, mode) == 0;
}

static void tell(const char *what, size_t bytes) {
        const char *path = getenv("SIZE_METER_FILE");
        char line[64];
        int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
        int n = snprintf(line, sizeof(line), "%s %zu\n", what, bytes);

        if (fd < 0 || write(fd, line, (size_t) n) != n) {
                fprintf(stderr, "size meter: %s cannot be written: %s\n",
                        path ? path : "SIZE_METER_FILE", strerror(errno));
                _exit(EXIT_FAILURE);
        }
        close(fd);
}

__attribute__((visibility("default"))) void *mmap(void *address, size_t bytes, int protection,
                                                  int flags, int fd, off_t offset) {
        static MapCall *next;

        if (!next)
                next = (MapCall *) dlsym(RTLD_NEXT, "mmap");
        if ((flags & MAP_SHARED) && (flags & MAP_ANONYMOUS) && bytes >= SHARED_MIN_BYTES) {
                tell("shared", bytes);
                if (is_mode("stop"))
                        _exit(EXIT_SUCCESS);
        }
        if (flags & MAP_HUGETLB) {
                tell("huge", bytes);
                if (!is_mode("play")) {
                        errno = ENOMEM;
                        return MAP_FAILED;
                }
                flags &= ~(MAP_HUGETLB | (MAP_HUGE_MASK << MAP_HUGE_SHIFT) | MAP_POPULATE);
                flags |= MAP_NORESERVE;
        }
        return next(address, bytes, protection, flags, fd, offset);
}

__attribute__((visibility("default"))) void *mmap64(void *address, size_t bytes, int protection,
                                                    int flags, int fd, off_t offset) {
        return mmap(address, bytes, protection, flags, fd, offset);
}

__attribute__((visibility("default"))) int shmget(key_t key, size_t bytes, int flags) {
        static SegmentCall *next;

        if (!next)
                next = (SegmentCall *) dlsym(RTLD_NEXT, "shmget");
        if (flags & SHM_HUGETLB) {
                tell("segment", bytes);
                if (!is_mode("play")) {
                        errno = ENOMEM;
                        return -1;
                }
                flags &= ~(SHM_HUGETLB | (MAP_HUGE_MASK << MAP_HUGE_SHIFT));
        }
        return next(key, bytes, flags);
}
