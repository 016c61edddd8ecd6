/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What scenarios do to a guest's memory; linked statically and laid into the guest as /vm/pages.
 *
 *   pages hold N [PAGE-KIB [NODE]]        maps and touches N huge pages and keeps them
 *   pages reserve N [PAGE-KIB [NODE]]     maps N huge pages and touches them at SIGUSR1 only
 *   pages shm N [PAGE-KIB [NODE]]         as hold, in a System V segment
 *   pages fragment MIB KEEP [PIN [NODE]]  fills MIB with small pages and frees all but one in KEEP,
 *                                         scattered; one in PIN of those cannot be moved
 *   pages cache FILE [NODE]               reads a file, so that memory is full of its pages
 *   pages lowest FILE...                  reads counters without pause; at SIGTERM one line each:
 *                                         "FILE LOWEST HIGHEST READINGS"
 *
 * Each prints "ready" when it is done, tells the service manager, and stays until it is killed.
 * NODE: memory of that node only. Without PAGE-KIB: pages of 2 MiB. Whatever fails is said, and ends
 * with status 1. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum { SMALL_PAGE = 4096, PIPE_PAGES = 16, FILES_MAX = 16 };

static void fail(const char *what) {
        fprintf(stderr, "pages: %s: %s\n", what, strerror(errno));
        exit(1);
}

static unsigned long number(char **arguments, int i, int n, unsigned long otherwise) {
        return i < n ? strtoul(arguments[i], NULL, 10) : otherwise;
}

static void bind_to(unsigned long node) {
        unsigned long mask = 1ul << node;

        if (syscall(SYS_set_mempolicy, MPOL_BIND, &mask, sizeof(mask) * 8) < 0)
                fail("set_mempolicy");
}

/* sd_notify(3), where a service manager waits for it. */
static void notify(void) {
        const char *path = getenv("NOTIFY_SOCKET");
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (!path)
                return;
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        size_t n = strnlen(path, sizeof(address.sun_path));

        memcpy(address.sun_path, path, n);
        if (*path == '@')
                address.sun_path[0] = '\0';
        if (fd < 0 || sendto(fd, "READY=1", 7, 0, (struct sockaddr *) &address,
                             (socklen_t) (offsetof(struct sockaddr_un, sun_path) + n)) < 0)
                fail("notify");
        close(fd);
}

static void say_ready(void) {
        puts("ready");
        fflush(stdout);
        notify();
}

static void stay(void) {
        say_ready();
        for (;;)
                pause();
}

static char *map_huge(size_t size, size_t page) {
        int size_flag = __builtin_ctzl(page) << MAP_HUGE_SHIFT;
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | size_flag, -1, 0);

        if (memory == MAP_FAILED)
                fail("mmap");
        return memory;
}

/* The segment goes with its last process. */
static char *attach_huge(size_t size, size_t page) {
        int size_flag = __builtin_ctzl(page) << MAP_HUGE_SHIFT; /* as SHM_HUGE_SHIFT */
        int id = shmget(IPC_PRIVATE, size, IPC_CREAT | SHM_HUGETLB | size_flag | 0600);

        if (id < 0)
                fail("shmget");
        char *memory = shmat(id, NULL, 0);

        if (shmctl(id, IPC_RMID, NULL) < 0)
                fail("shmctl");
        if (memory == (char *) -1)
                fail("shmat");
        return memory;
}

static void use_huge(const char *verb, size_t n, size_t page) {
        size_t size = n * page;
        char *memory = strcmp(verb, "shm") == 0 ? attach_huge(size, page) : map_huge(size, page);

        if (strcmp(verb, "reserve") == 0) {
                sigset_t awaited;
                int got;

                sigemptyset(&awaited);
                sigaddset(&awaited, SIGUSR1);
                sigprocmask(SIG_BLOCK, &awaited, NULL);
                say_ready();
                sigwait(&awaited, &got);
        }
        for (size_t at = 0; at < size; at += page)
                memory[at] = 1;
        stay();
}

/* A page that a pipe refers to is where it is for good, though it lies among movable ones. */
static void pin(char *page) {
        static int pipe_fds[2], room;
        struct iovec vector = {page, SMALL_PAGE};

        if (room == 0 && pipe(pipe_fds) < 0)
                fail("pipe");
        if (room == 0)
                room = PIPE_PAGES;
        if (vmsplice(pipe_fds[1], &vector, 1, 0) != SMALL_PAGE)
                fail("vmsplice");
        room--;
}

/* Scattered, not every KEEP-th: the kernel looks at every 2nd, 4th, ... 32nd page when it searches for
 * free ones, and finds none in a pattern of that kind. The same numbers in every run. */
static unsigned long random_below(unsigned long n) {
        static unsigned long state = 88172645463325252ul;

        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state % n;
}

static void fragment(size_t mib, size_t keep, size_t pin_one_in) {
        size_t size = mib << 20;
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                fail("mmap");
        /* Kernels without transparent huge pages refuse this, and need it not. */
        madvise(memory, size, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < size; at += SMALL_PAGE)
                memory[at] = 1;
        for (size_t at = 0, free_from = 0; at <= size; at += SMALL_PAGE) {
                if (at < size && random_below(keep) > 0)
                        continue;
                if (at > free_from &&
                    madvise(memory + free_from, at - free_from, MADV_DONTNEED) < 0)
                        fail("madvise");
                free_from = at + SMALL_PAGE;
                if (at < size && pin_one_in > 0 && random_below(pin_one_in) == 0)
                        pin(memory + at);
        }
        stay();
}

static void cache(const char *name) {
        static char part[1 << 20];
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd;

        while (fd >= 0 && (n = read(fd, part, sizeof(part))) > 0)
                ;
        if (n < 0)
                fail(name);
        stay();
}

static unsigned long read_counter(int fd, const char *name) {
        char text[32];
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

        if (n <= 0)
                fail(name);
        text[n] = '\0';
        return strtoul(text, NULL, 10);
}

static volatile sig_atomic_t is_over;

static void on_signal(int number) {
        (void) number;
        is_over = 1;
}

static void lowest(char **names, int n) {
        unsigned long low[FILES_MAX], high[FILES_MAX], readings = 0;
        int fds[FILES_MAX];

        if (n > FILES_MAX) {
                errno = E2BIG;
                fail("lowest");
        }
        signal(SIGTERM, on_signal);
        for (int i = 0; i < n; i++) {
                fds[i] = open(names[i], O_RDONLY | O_CLOEXEC);
                if (fds[i] < 0)
                        fail(names[i]);
                low[i] = high[i] = read_counter(fds[i], names[i]);
        }
        say_ready();
        for (; !is_over; readings++)
                for (int i = 0; i < n; i++) {
                        unsigned long now = read_counter(fds[i], names[i]);

                        if (now < low[i])
                                low[i] = now;
                        if (now > high[i])
                                high[i] = now;
                }
        for (int i = 0; i < n; i++)
                printf("%s %lu %lu %lu\n", names[i], low[i], high[i], readings);
}

int main(int argc, char **argv) {
        const char *verb = argc > 1 ? argv[1] : "";
        char **arguments = argv + 2;
        int n = argc - 2;
        int is_fragment = strcmp(verb, "fragment") == 0;
        int is_cache = strcmp(verb, "cache") == 0;
        int is_huge = strcmp(verb, "hold") == 0 || strcmp(verb, "reserve") == 0 ||
                      strcmp(verb, "shm") == 0;
        int node_at = is_fragment ? 3 : is_cache ? 1 : 2;

        if (strcmp(verb, "lowest") == 0 && n > 0) {
                lowest(arguments, n);
                return 0;
        }
        /* Two descriptors for every PIPE_PAGES pages. */
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                fail("getrlimit");
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                fail("setrlimit");
        if (n > node_at)
                bind_to(number(arguments, node_at, n, 0));
        if (n > 0 && is_huge)
                use_huge(verb, number(arguments, 0, n, 0), number(arguments, 1, n, 2048) * 1024);
        if (n > 1 && is_fragment && number(arguments, 1, n, 0) > 0)
                fragment(number(arguments, 0, n, 0), number(arguments, 1, n, 0),
                         number(arguments, 2, n, 0));
        if (n > 0 && is_cache)
                cache(arguments[0]);
        fputs("pages: see the head of tests/vm/tools/pages.c for what to say\n", stderr);
        return 2;
}
