/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Preloaded into a database server (LD_PRELOAD): records the shared memory and the huge pages that the server requests, so
 * that thousands of settings can be measured without a pool and without root.
 *
 * Each request becomes a line of the file SIZE_METER_FILE: "shared BYTES" for an anonymous shared mapping of more than 1 MiB
 * (PostgreSQL 18 tests io_uring with one of 1 MiB), "huge BYTES" for a mapping of huge pages, "segment BYTES" for a System V
 * segment of huge pages, and "held BYTES" whenever the program has more pages of 2M than ever before: those of its mappings,
 * less those that it unmaps or maps again, of a file of huge pages that it has mapped or allocated, and of its segments.
 * SIZE_METER is the reaction:
 *   stop    the first "shared" ends the program
 *   refuse  requests for huge pages fail, as on a kernel without any
 *   play    requests for pages of 2M get small pages; requests for other sizes fail
 * SIZE_METER_CPUS, if set, is the number of CPUs that the program sees, but at least the real number. */

/* Otherwise the compiler would call mmap mmap64. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum {
        SHARED_MIN_BYTES = 1 << 20,
        PAGE_SHIFT = 21,
        PAGE_BYTES = 1 << PAGE_SHIFT,
        /* Addresses have 47 bits; the pages of files are above them. */
        PAGES_MAX = 1 << (48 - PAGE_SHIFT),
        FILES_FROM = PAGES_MAX / 2,
        SEGMENTS_FROM = FILES_FROM / 2 * 3,
};

/* The symbol of glibc before 2.34, because servers come with a C library of their own. */
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");

typedef void *MapCall(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
typedef int UnmapCall(void *address, size_t bytes);
typedef int SegmentCall(key_t key, size_t bytes, int flags);
typedef int StatCall(int fd, struct statfs *ret);
typedef long SystemCall(long number, ...);

/* The huge pages that the program has, one bit for each. */
typedef struct Held {
        pthread_mutex_t lock;
        uint64_t bits[PAGES_MAX / 64];
        size_t pages, most;
} Held;

static Held held = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* The program's file of huge pages; it has one at most. */
static int huge_file = -1;

static bool is_mode(const char *mode) {
        const char *given = getenv("SIZE_METER");

        return given && strcmp(given, mode) == 0;
}

static void record(const char *what, size_t bytes) {
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

/* Sets or clears the pages of BYTES bytes from page FIRST on. */
static void hold(size_t first, size_t bytes, bool is_held) {
        size_t end = first + (bytes + PAGE_BYTES - 1) / PAGE_BYTES;

        pthread_mutex_lock(&held.lock);
        for (size_t page = first; page < end && page < PAGES_MAX; page++) {
                uint64_t bit = UINT64_C(1) << (page % 64), *word = &held.bits[page / 64];

                if (((*word & bit) != 0) == is_held)
                        continue;
                *word ^= bit;
                held.pages += is_held ? (size_t) 1 : (size_t) -1;
        }
        if (held.pages > held.most) {
                held.most = held.pages;
                record("held", held.most * PAGE_BYTES);
        }
        pthread_mutex_unlock(&held.lock);
}

static void hold_mapping(const void *address, size_t bytes, bool is_held) {
        hold((uintptr_t) address >> PAGE_SHIFT, bytes, is_held);
}

static void hold_file(off_t offset, size_t bytes, bool is_held) {
        hold(FILES_FROM + ((size_t) offset >> PAGE_SHIFT), bytes, is_held);
}

static bool is_of_2m(unsigned flags) {
        unsigned logarithm = flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;

        return logarithm == 0 || logarithm == PAGE_SHIFT;
}

/* Private mappings are made of an empty file of this name, because Java up to 16 searches /proc/self/maps for
 * "hugepage". */
static int file_of_zeros(void) {
        static int fd = -1;

        if (fd < 0) {
                fd = memfd_create("hugepage", MFD_CLOEXEC);
                if (fd < 0 || ftruncate(fd, (off_t) 1 << 47) < 0)
                        _exit(EXIT_FAILURE);
        }
        return fd;
}

/* The mapping begins at a multiple of 2M, as one of huge pages does. */
static void *map_aligned(MapCall *next, void *address, size_t bytes, int protection, int flags) {
        int fd = flags & MAP_PRIVATE ? file_of_zeros() : -1;
        char *given;
        size_t before;

        if (fd >= 0)
                flags &= ~MAP_ANONYMOUS;
        given = next(address, bytes, protection, flags, fd, 0);
        if (given == MAP_FAILED || (uintptr_t) given % PAGE_BYTES == 0)
                return given;
        munmap(given, bytes);
        given = next(NULL, bytes + PAGE_BYTES, protection, flags, fd, 0);
        if (given == MAP_FAILED)
                return given;
        before = PAGE_BYTES - (uintptr_t) given % PAGE_BYTES;
        munmap(given, before);
        munmap(given + before + bytes, PAGE_BYTES - before);
        return given + before;
}

__attribute__((visibility("default"))) void *mmap(void *address, size_t bytes, int protection,
                                                  int flags, int fd, off_t offset) {
        static MapCall *next;
        bool is_huge = flags & MAP_HUGETLB;
        void *given;

        if (!next)
                next = (MapCall *) dlsym(RTLD_NEXT, "mmap");
        if ((flags & MAP_SHARED) && (flags & MAP_ANONYMOUS) && bytes > SHARED_MIN_BYTES) {
                record("shared", bytes);
                if (is_mode("stop"))
                        _exit(EXIT_SUCCESS);
        }
        if (is_huge) {
                record("huge", bytes);
                if (!is_mode("play") || !is_of_2m((unsigned) flags)) {
                        errno = ENOMEM;
                        return MAP_FAILED;
                }
                flags &= ~(MAP_HUGETLB | (MAP_HUGE_MASK << MAP_HUGE_SHIFT) | MAP_POPULATE);
                flags |= MAP_NORESERVE;
        }
        given = is_huge ? map_aligned(next, address, bytes, protection, flags)
                        : next(address, bytes, protection, flags, fd, offset);
        if (given != MAP_FAILED && fd >= 0 && fd == huge_file)
                hold_file(offset, bytes, true);
        else if (given != MAP_FAILED && (is_huge || (flags & MAP_FIXED)))
                hold_mapping(given, bytes, is_huge);
        return given;
}

__attribute__((visibility("default"))) void *mmap64(void *address, size_t bytes, int protection,
                                                    int flags, int fd, off_t offset) {
        return mmap(address, bytes, protection, flags, fd, offset);
}

__attribute__((visibility("default"))) int munmap(void *address, size_t bytes) {
        static UnmapCall *next;

        if (!next)
                next = (UnmapCall *) dlsym(RTLD_NEXT, "munmap");
        hold_mapping(address, bytes, false);
        return next(address, bytes);
}

__attribute__((visibility("default"))) int shmget(key_t key, size_t bytes, int flags) {
        static SegmentCall *next;

        if (!next)
                next = (SegmentCall *) dlsym(RTLD_NEXT, "shmget");
        if (flags & SHM_HUGETLB) {
                record("segment", bytes);
                if (!is_mode("play")) {
                        errno = ENOMEM;
                        return -1;
                }
                /* Segments get numbers above all files; their removal is not recorded. */
                static atomic_size_t end = SEGMENTS_FROM;
                size_t pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;

                hold(atomic_fetch_add(&end, pages), bytes, true);
                flags &= ~(SHM_HUGETLB | (MAP_HUGE_MASK << MAP_HUGE_SHIFT));
                flags |= SHM_NORESERVE;
        }
        return next(key, bytes, flags);
}

__attribute__((visibility("default"))) int fstatfs(int fd, struct statfs *ret) {
        static StatCall *next;
        int result;

        if (!next)
                next = (StatCall *) dlsym(RTLD_NEXT, "fstatfs");
        result = next(fd, ret);
        if (result == 0 && fd == huge_file) {
                ret->f_type = HUGETLBFS_MAGIC;
                ret->f_bsize = PAGE_BYTES;
        }
        return result;
}

__attribute__((visibility("default"))) int fstatfs64(int fd, struct statfs64 *ret) {
        return fstatfs(fd, (struct statfs *) ret);
}

static long create_huge_file(SystemCall *next, long name, unsigned flags) {
        if (!is_mode("play") || huge_file >= 0 || !is_of_2m(flags)) {
                errno = ENODEV;
                return -1;
        }
        flags &= ~(MFD_HUGETLB | ((unsigned) MAP_HUGE_MASK << MAP_HUGE_SHIFT));
        huge_file = (int) next(SYS_memfd_create, name, (long) flags);
        return huge_file;
}

/* The number of CPUs that the program should see; 0: the real number. */
static unsigned long wanted_cpus(void) {
        const char *given = getenv("SIZE_METER_CPUS");

        return given ? strtoul(given, NULL, 10) : 0;
}

__attribute__((visibility("default"))) int get_nprocs(void) {
        return wanted_cpus() > 0 ? (int) wanted_cpus() : (int) sysconf(_SC_NPROCESSORS_ONLN);
}

__attribute__((visibility("default"))) int sched_getaffinity(pid_t process, size_t bytes,
                                                             cpu_set_t *ret) {
        long n = syscall(SYS_sched_getaffinity, process, bytes, ret);

        for (unsigned long cpu = 0; n > 0 && cpu < wanted_cpus(); cpu++)
                CPU_SET_S(cpu, bytes, ret);
        return n < 0 ? -1 : 0;
}

/* Java's ZGC calls memfd_create and fallocate by number. */
__attribute__((visibility("default"))) long syscall(long number, ...) {
        static SystemCall *next;
        va_list list;
        long v[6];

        va_start(list, number);
        for (size_t i = 0; i < 6; i++)
                v[i] = va_arg(list, long);
        va_end(list);
        if (!next)
                next = (SystemCall *) dlsym(RTLD_NEXT, "syscall");
        if (number == SYS_memfd_create && ((unsigned) v[1] & MFD_HUGETLB))
                return create_huge_file(next, v[0], (unsigned) v[1]);
        if (number != SYS_fallocate || (int) v[0] != huge_file)
                return next(number, v[0], v[1], v[2], v[3], v[4], v[5]);
        hold_file(v[2], (size_t) v[3], !((int) v[1] & FALLOC_FL_PUNCH_HOLE));
        return 0;
}
