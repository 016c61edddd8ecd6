/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Failing calls: preloaded into a program by run_faults.py, this shim makes the n-th call of some functions of the C
 * library fail, or every call from the n-th on.
 *
 *   FAULT_CALLS   "memory", or a list of names of the functions below: "open,read"; their calls are counted together
 *   FAULT_AT      the number of the call that fails, from 1; 0: calls are counted only
 *   FAULT_FOREVER all later calls fail, too
 *   FAULT_ERROR   the errno; 0: the call reads or writes half of the bytes
 *   FAULT_LOG     the file for the first failed call, or for the number of all calls at the end (FAULT_AT=0)
 *
 * Calls on files fail only for paths below FAULT_ROOT, and descriptors of such files, so that the loader, the locale and
 * the like are not affected. */
/* The shim defines both names of functions for large files. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <unistd.h>

static struct {
        char calls[256]; /* ",open,read," */
        char root[PATH_MAX];
        char log[PATH_MAX];
        long at;
        int error;
        bool is_forever, is_on;
        atomic_long n;
} fault;

static _Thread_local bool is_paused;

static void copy(char *to, size_t size, const char *name) {
        const char *value = getenv(name);

        snprintf(to, size, "%s", value ? value : "");
}

/* Runs after the loader's own allocations. */
__attribute__((constructor)) static void begin(void) {
        char calls[254], number[32];

        copy(calls, sizeof(calls), "FAULT_CALLS");
        snprintf(fault.calls, sizeof(fault.calls), ",%s,", calls);
        copy(fault.root, sizeof(fault.root), "FAULT_ROOT");
        copy(fault.log, sizeof(fault.log), "FAULT_LOG");
        copy(number, sizeof(number), "FAULT_AT");
        fault.at = strtol(number, NULL, 10);
        copy(number, sizeof(number), "FAULT_ERROR");
        fault.error = (int) strtol(number, NULL, 10);
        fault.is_forever = getenv("FAULT_FOREVER");
        fault.is_on = *calls;
}

static void note(const char *text) {
        int fd = (int) syscall(SYS_openat, AT_FDCWD, fault.log,
                               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

        if (fd >= 0) {
                syscall(SYS_write, fd, text, strlen(text));
                syscall(SYS_close, fd);
        }
}

__attribute__((destructor)) static void end(void) {
        char text[32];

        if (fault.is_on && fault.at == 0) {
                snprintf(text, sizeof(text), "%ld\n", atomic_load(&fault.n));
                note(text);
        }
}

/* Whether this call of NAME fails. */
static bool fails(const char *name) {
        char word[64], text[96];

        if (!fault.is_on || is_paused)
                return false;
        snprintf(word, sizeof(word), ",%s,", name);
        if (!strstr(fault.calls, word))
                return false;
        long n = atomic_fetch_add(&fault.n, 1) + 1;

        if (fault.at == 0 || n < fault.at || (n > fault.at && !fault.is_forever))
                return false;
        if (n == fault.at) {
                int error = errno;

                snprintf(text, sizeof(text), "%s %ld\n", name, n);
                note(text);
                errno = error;
        }
        return true;
}

static int fail(void) {
        errno = fault.error;
        return -1;
}

/* Called by kernel_shim.c: calls that play the kernel do not fail, and are not counted. */
void fault_pause(bool is_paused);

void fault_pause(bool paused) {
        is_paused = paused;
}

/* ---- memory ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);

static bool has_no_memory(void) {
        if (!fails("memory"))
                return false;
        errno = ENOMEM;
        return true;
}

void *malloc(size_t size) {
        return has_no_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
        return has_no_memory() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size) {
        return has_no_memory() ? NULL : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t n, size_t size) {
        size_t total;

        if (__builtin_mul_overflow(n, size, &total)) {
                errno = ENOMEM;
                return NULL;
        }
        return realloc(memory, total);
}

/* ---- files ---- */

/* Whether a path, or the file of a descriptor, is below FAULT_ROOT. */
static bool is_below_root(int directory, const char *path) {
        char link[64], found[PATH_MAX];
        const char *at = path;

        if (!fault.is_on)
                return false;
        if (!path || *path != '/') {
                snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
                ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, found, sizeof(found) - 1);

                if (n <= 0)
                        return false;
                found[n] = '\0';
                at = found;
        } else if (strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/")) == 0) {
                return is_below_root((int) strtol(path + strlen("/proc/self/fd/"), NULL, 10), NULL);
        }
        return *fault.root && strncmp(at, fault.root, strlen(fault.root)) == 0;
}

/* Whether a file is in /sys or /proc of the host's tree, which is a directory below FAULT_ROOT. */
static bool is_of_kernel(int fd) {
        char link[64], found[PATH_MAX];

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, found, sizeof(found) - 1);

        found[n > 0 ? n : 0] = '\0';
        const char *host = found + strnlen(fault.root, (size_t) (n > 0 ? n : 0));
        const char *below = *host == '/' ? strchr(host + 1, '/') : NULL;

        return below && (strncmp(below, "/sys/", 5) == 0 || strncmp(below, "/proc/", 6) == 0);
}

/* Attributes are files here, which O_TRUNC truncates. A real attribute keeps its value if the write fails, so the value is
 * saved for that case. */
static _Thread_local struct {
        int fd;
        ssize_t size;
        char text[4096];
} attribute = {.fd = -1};

static void save_attribute(int directory, const char *path, int flags) {
        attribute.fd = -1;
        attribute.size = -1;
        if (!(flags & O_TRUNC) || !is_below_root(directory, path))
                return;
        int fd = (int) syscall(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return;
        if (is_of_kernel(fd))
                attribute.size = syscall(SYS_read, fd, attribute.text, sizeof(attribute.text));
        syscall(SYS_close, fd);
}

#define NEXT(name)                 \
        static typeof(name) *next; \
        if (!next)                 \
        *(void **) &next = dlsym(RTLD_NEXT, #name)

#define FAIL_BELOW(name, directory, path)                   \
        if (is_below_root(directory, path) && fails(#name)) \
        return fail()

#define OPENER(name, directory, parameters, ...)                                                 \
        int name(parameters, int flags, ...) {                                                   \
                NEXT(name);                                                                      \
                va_list arguments;                                                               \
                                                                                                 \
                va_start(arguments, flags);                                                      \
                unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, unsigned) : 0; \
                                                                                                 \
                va_end(arguments);                                                               \
                FAIL_BELOW(open, directory, path);                                               \
                save_attribute(directory, path, flags);                                          \
                return attribute.fd = next(__VA_ARGS__, flags, mode);                            \
        }

#define PATH_ONLY   const char *path
#define PATH_WITHIN int directory, const char *path

OPENER(open, AT_FDCWD, PATH_ONLY, path)
OPENER(open64, AT_FDCWD, PATH_ONLY, path)
OPENER(openat, directory, PATH_WITHIN, directory, path)
OPENER(openat64, directory, PATH_WITHIN, directory, path)

/* The C library has no openat2(2). */
long syscall(long number, ...) {
        static long (*next)(long, ...);
        va_list arguments;
        long a[6];

        if (!next)
                *(void **) &next = dlsym(RTLD_NEXT, "syscall");
        va_start(arguments, number);
        for (size_t i = 0; i < 6; i++)
                a[i] = va_arg(arguments, long);
        va_end(arguments);
#ifdef SYS_openat2
        if (number == SYS_openat2 && is_below_root((int) a[0], (const char *) a[1]) &&
            fails("open"))
                return fail();
        if (number == SYS_openat2) {
                save_attribute((int) a[0], (const char *) a[1],
                               (int) ((const struct open_how *) a[2])->flags);
                return attribute.fd = (int) next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
        }
#endif
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- what is open ---- */

/* How many of SIZE bytes are read or written: all, half of them, or -1. */
static ssize_t part(const char *name, int fd, size_t size) {
        if (!is_below_root(fd, NULL) || !fails(name))
                return (ssize_t) size;
        if (fault.error != 0)
                return fail();
        return size < 2 ? (ssize_t) size : (ssize_t) (size / 2);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t at) {
        NEXT(pread64);
        ssize_t n = part("read", fd, size);

        return n < 0 ? n : next(fd, bytes, (size_t) n, at);
}

/* A write to an attribute is never partial. */
ssize_t write(int fd, const void *bytes, size_t size) {
        NEXT(write);
        ssize_t n = part("write", fd, size);

        if (n > 0 && is_of_kernel(fd))
                n = (ssize_t) size;
        else if (n < 0) {
                int error = errno;

                if (fd == attribute.fd && attribute.size > 0)
                        syscall(SYS_pwrite64, fd, attribute.text, (size_t) attribute.size, 0);
                errno = error;
        }
        return n < 0 ? n : next(fd, bytes, (size_t) n);
}

/* The descriptor is closed even if the call fails. */
int close(int fd) {
        NEXT(close);
        bool is_failing = is_below_root(fd, NULL) && fails("close");
        int r = next(fd);

        return is_failing ? fail() : r;
}

#define BY_FD(type, name, call, parameters, arguments) \
        type name parameters {                         \
                NEXT(name);                            \
                FAIL_BELOW(call, fd, NULL);            \
                return next arguments;                 \
        }

BY_FD(int, fsync, fsync, (int fd), (fd))
BY_FD(int, fchmod, fchmod, (int fd, mode_t mode), (fd, mode))
BY_FD(int, fstat, fstat, (int fd, struct stat *ret), (fd, ret))
BY_FD(int, fstat64, fstat, (int fd, struct stat64 *ret), (fd, ret))
BY_FD(int, fstatfs, fstatfs, (int fd, struct statfs *ret), (fd, ret))
BY_FD(int, fstatfs64, fstatfs, (int fd, struct statfs64 *ret), (fd, ret))

ssize_t getdents64(int fd, void *entries, size_t size) {
        NEXT(getdents64);
        FAIL_BELOW(getdents64, fd, NULL);
        return next(fd, entries, size);
}

/* ---- names ---- */

#define BY_NAME(type, name, call, directory, path, parameters, arguments) \
        type name parameters {                                            \
                NEXT(name);                                               \
                FAIL_BELOW(call, directory, path);                        \
                return next arguments;                                    \
        }

BY_NAME(int, mkdirat, mkdir, at, path, (int at, const char *path, mode_t mode), (at, path, mode))
BY_NAME(int, unlinkat, unlink, at, path, (int at, const char *path, int flags), (at, path, flags))
BY_NAME(int, unlink, unlink, AT_FDCWD, path, (const char *path), (path))
BY_NAME(int, symlinkat, symlink, at, path, (const char *target, int at, const char *path),
        (target, at, path))
BY_NAME(int, renameat, rename, at, path, (int at, const char *path, int to, const char *name),
        (at, path, to, name))
BY_NAME(int, linkat, link, at, path,
        (int at, const char *path, int to, const char *name, int flags),
        (at, path, to, name, flags))
BY_NAME(ssize_t, readlinkat, readlink, at, path, (int at, const char *path, char *ret, size_t size),
        (at, path, ret, size))
BY_NAME(int, inotify_add_watch, inotify_add_watch, AT_FDCWD, path,
        (int fd, const char *path, uint32_t mask), (fd, path, mask))

/* ---- calls without files ---- */

#define ANY(type, name, call, parameters, arguments) \
        type name parameters {                       \
                NEXT(name);                          \
                if (fails(#call))                    \
                        return fail();               \
                return next arguments;               \
        }

ANY(int, socket, socket, (int domain, int type, int protocol), (domain, type, protocol))
ANY(int, bind, bind, (int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
ANY(int, listen, listen, (int fd, int n), (fd, n))
ANY(int, connect, connect, (int fd, const struct sockaddr *address, socklen_t size),
    (fd, address, size))
ANY(int, accept4, accept, (int fd, struct sockaddr *address, socklen_t *size, int flags),
    (fd, address, size, flags))
ANY(int, setsockopt, setsockopt, (int fd, int level, int name, const void *value, socklen_t size),
    (fd, level, name, value, size))
ANY(int, getsockopt, getsockopt, (int fd, int level, int name, void *value, socklen_t *size),
    (fd, level, name, value, size))
ANY(int, epoll_create1, epoll, (int flags), (flags))
ANY(int, epoll_ctl, epoll, (int fd, int what, int of, struct epoll_event *event),
    (fd, what, of, event))
ANY(int, eventfd, descriptor, (unsigned n, int flags), (n, flags))
ANY(int, inotify_init1, descriptor, (int flags), (flags))
ANY(int, timerfd_create, descriptor, (clockid_t clock, int flags), (clock, flags))
ANY(int, timerfd_settime, timerfd,
    (int fd, int flags, const struct itimerspec *to, struct itimerspec *was), (fd, flags, to, was))
ANY(int, pipe2, descriptor, (int fds[2], int flags), (fds, flags))
ANY(pid_t, fork, fork, (void), ())

#define SOME(name, call, parameters, arguments)            \
        ssize_t name parameters {                          \
                NEXT(name);                                \
                if (fails(#call)) {                        \
                        if (fault.error != 0)              \
                                return fail();             \
                        size = size > 1 ? size / 2 : size; \
                }                                          \
                return next arguments;                     \
        }

SOME(send, send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags))
SOME(recv, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))

int pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*work)(void *),
                   void *argument) {
        NEXT(pthread_create);
        return fails("thread") ? EAGAIN : next(ret, attributes, work, argument);
}
