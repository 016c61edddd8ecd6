/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plays the kernel on a host that is a directory of plain files: preloaded into hugepland by run_daemon.py, this shim
 * changes the other counts of a pool before a write to its nr_hugepages returns, and makes a policy of transparent huge
 * pages show all words.
 *
 * ".known" beside nr_hugepages is the value to which the other counts correspond. ".pending" has the next values of
 * nr_hugepages and free_hugepages, in case the program is killed during the change. run_daemon.py does the same for writes
 * of tests. Each write to a pool takes SHIM_PAUSE_MS longer. */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { TEXT_MAX = 65536 };

static const char pool_file[] = "/nr_hugepages";
static const char nodes[] = "/sys/devices/system/node/";

static char *read_text(const char *path) {
        static char text[TEXT_MAX];
        FILE *file = fopen(path, "re");
        size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

        if (file)
                fclose(file);
        text[n] = '\0';
        return file ? text : NULL;
}

static char *join(const char *directory, const char *name) {
        char *path;

        if (asprintf(&path, "%s/%s", directory, name) < 0)
                abort();
        return path;
}

static long read_count(const char *directory, const char *name, long otherwise) {
        char *path = join(directory, name);
        const char *text = read_text(path);

        free(path);

        return text && *text ? strtol(text, NULL, 10) : otherwise;
}

/* Atomically. */
static void replace(const char *directory, const char *name, const char *text) {
        char *path = join(directory, name), *draft = join(directory, ".draft");
        FILE *file = fopen(draft, "we");

        if (file) {
                fputs(text, file);
                fclose(file);
                rename(draft, path);
        }
        free(path);
        free(draft);
}

static void add_count(const char *directory, const char *name, long more) {
        char text[32];

        snprintf(text, sizeof(text), "%ld\n", read_count(directory, name, 0) + more);
        replace(directory, name, text);
}

/* "Node 0 MemFree:   123 kB" */
static void take_memory(const char *node, long kib) {
        static char text[TEXT_MAX];
        char *path = join(node, "meminfo"), *end;
        const char *before = read_text(path), *at = before ? strstr(before, "MemFree:") : NULL;

        free(path);

        if (!at)
                return;
        at += strlen("MemFree:");
        at += strspn(at, " ");
        long left = strtol(at, &end, 10) - kib;

        snprintf(text, sizeof(text), "%.*s%ld%s", (int) (at - before), before, left > 0 ? left : 0,
                 end);
        replace(node, "meminfo", text);
}

/* PATH is ROOT/sys/devices/system/node/nodeN/hugepages/hugepages-XkB/nr_hugepages. */
static void set_pool(char *path, const char *value) {
        char *hugepages, *size, *host, text[32];
        char *root_end = strstr(path, nodes);
        long pages = strtol(value, NULL, 10);

        *strrchr(path, '/') = '\0';
        long more = pages - read_count(path, ".known", 0);
        char *pending = join(path, ".pending");

        snprintf(text, sizeof(text), "%ld %ld\n", pages,
                 read_count(path, "free_hugepages", 0) + more);
        replace(path, ".pending", text);
        snprintf(text, sizeof(text), "%ld\n", pages);
        replace(path, ".known", text);
        add_count(path, "free_hugepages", more);
        unlink(pending);
        free(pending);
        size = strrchr(path, '/') + 1;
        if (asprintf(&host, "%.*s/sys/kernel/mm/hugepages/%s", (int) (root_end - path), path,
                     size) < 0)
                abort();
        add_count(host, "free_hugepages", more);
        add_count(host, "nr_hugepages", more);
        free(host);
        more *= strtol(size + strlen("hugepages-"), NULL, 10);
        size[-1] = '\0';
        hugepages = strrchr(path, '/');
        *hugepages = '\0';
        take_memory(path, more);
}

/* Sets PATH, of PATH_MAX bytes, to the path of FD or to "". */
static void path_of(int fd, char *path) {
        char link[64];

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, PATH_MAX - 1);

        path[n > 0 ? n : 0] = '\0';
}

static bool ends_with(const char *path, const char *end) {
        return strlen(path) >= strlen(end) && strcmp(path + strlen(path) - strlen(end), end) == 0;
}

/* Sets TEXT to what a policy of transparent huge pages shows once VALUE is written to PATH. Returns false if it is none. */
static bool make_policy_text(const char *path, const char *value, char text[64]) {
        static const char *const words[] = {"always", "inherit", "madvise", "never"};
        bool is_of_size = strstr(path, "/hugepages-"), is_any = false;

        if (!strstr(path, "/sys/kernel/mm/transparent_hugepage/") || !ends_with(path, "/enabled"))
                return false;
        *text = '\0';
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
                bool is_chosen = strncmp(value, words[i], strlen(words[i])) == 0;

                if (i == 1 && !is_of_size)
                        continue;
                is_any |= is_chosen;
                snprintf(text + strlen(text), 64 - strlen(text), "%s%s%s%s", *text ? " " : "",
                         is_chosen ? "[" : "", words[i], is_chosen ? "]" : "");
        }
        strcat(text, "\n");
        return is_any;
}

/* Returns false if the file is no pool. */
static bool set(char *path, const char *value) {
        char *at = strstr(path, nodes), *lock;

        if (!at || !ends_with(path, pool_file))
                return false;
        if (asprintf(&lock, "%.*s/.lock", (int) (at - path), path) < 0)
                abort();
        int locked = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        free(lock);

        flock(locked, LOCK_EX);
        set_pool(path, value);
        close(locked);
        return true;
}

/* A disk that hangs while the file named by SHIM_HUNG exists. */
int fsync(int fd) {
        static int (*next)(int);
        const char *hung = getenv("SHIM_HUNG");

        if (!next)
                *(void **) &next = dlsym(RTLD_NEXT, "fsync");
        while (hung && access(hung, F_OK) == 0)
                usleep(10000);
        return next(fd);
}

/* In fault_shim.c, if that is preloaded before this shim. */
__attribute__((weak)) void fault_pause(bool is_paused);

ssize_t write(int fd, const void *bytes, size_t n) {
        static ssize_t (*next)(int, const void *, size_t);
        char value[32] = "", path[PATH_MAX], text[64];

        if (!next)
                *(void **) &next = dlsym(RTLD_NEXT, "write");
        memcpy(value, bytes, n < sizeof(value) ? n : sizeof(value) - 1);
        if (fault_pause)
                fault_pause(true);
        path_of(fd, path);
        bool is_policy = make_policy_text(path, value, text), is_pool = set(path, value);

        if (fault_pause)
                fault_pause(false);
        ssize_t written = is_policy ? next(fd, text, strlen(text)) : next(fd, bytes, n);

        written = is_policy && written > 0 ? (ssize_t) n : written;
        const char *pause_ms = is_pool ? getenv("SHIM_PAUSE_MS") : NULL;

        if (pause_ms)
                usleep((useconds_t) (1000 * strtol(pause_ms, NULL, 10)));
        return written;
}
