/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/script_host.h"

#include "base/id_set.h"
#include "model/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 16 };

/* ---- files ---- */

void host_fail(const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        fputs("kernel-script: ", stderr);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputs("\n", stderr);
        exit(2);
}

int host_write(const char *path, const char *text) {
        int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

        if (fd < 0)
                return -errno;
        ssize_t n = write(fd, text, strlen(text));
        int r = n < 0 ? -errno : (size_t) n == strlen(text) ? 0 : -EIO;

        close(fd);
        return r;
}

char *host_read(Arena *arena, const char *path) {
        char *text = arena_alloc(arena, FILE_BYTES_MAX);
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        size_t length = 0;
        ssize_t n;

        if (fd < 0)
                return text;
        while (length + 1 < FILE_BYTES_MAX &&
               (n = read(fd, text + length, FILE_BYTES_MAX - 1 - length)) > 0)
                length += (size_t) n;
        close(fd);
        return text;
}

uint64_t host_read_number(const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        uint64_t number;

        return parse_u64(text_strip(arena, host_read(arena, path)), &number) < 0 ? 0 : number;
}

char *host_pool_path(Arena *arena, int node, uint64_t page_bytes, const char *attribute) {
        const char *base = node == KERNEL_HOST
                                   ? PATH_HUGEPAGES
                                   : arena_printf(arena, PATH_NODES "/node%d/hugepages", node);

        return arena_printf(arena, "%s/" NAME_HUGEPAGES_DIR "%" PRIu64 "kB/%s", base,
                            page_bytes / KIB, attribute);
}

static uint64_t read_pool(int node, uint64_t page_bytes, const char *attribute) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return host_read_number(host_pool_path(arena, node, page_bytes, attribute));
}

uint64_t host_read_set(const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        IdSet set = {};

        id_set_parse(text_strip(arena, host_read(arena, path)), &set);
        return set.words[0];
}

bool host_has_word(const char *path, const char *word) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return text_has_word(host_read(arena, path), word);
}

/* ---- pools ---- */

KernelPool host_pool(int node, uint64_t page_bytes) {
        KernelPool pool = {
                .total_pages = read_pool(node, page_bytes, "nr_hugepages"),
                .free_pages = read_pool(node, page_bytes, "free_hugepages"),
                .surplus_pages = read_pool(node, page_bytes, "surplus_hugepages"),
        };

        if (node == KERNEL_HOST) {
                pool.reserved_pages = read_pool(node, page_bytes, "resv_hugepages");
                pool.overcommit_pages = read_pool(node, page_bytes, "nr_overcommit_hugepages");
        }
        return pool;
}

uint64_t host_memory_nodes(void) {
        return host_read_set(PATH_NODES "/has_memory");
}

unsigned host_page_sizes(Arena *arena, uint64_t sizes[KERNEL_SIZES_MAX]) {
        unsigned n = 0;

        for (uint64_t bytes = 16 * GIB; bytes >= 64 * KIB && n < KERNEL_SIZES_MAX; bytes /= 2)
                if (access(host_pool_path(arena, KERNEL_HOST, bytes, "nr_hugepages"), F_OK) == 0)
                        sizes[n++] = bytes;
        return n;
}

bool host_can_have(Arena *arena, uint64_t page_bytes, uint64_t n_pages) {
        uint64_t nodes = host_memory_nodes();
        bool can = true;

        for (int node = 0; node < 2; node++) {
                uint64_t n = node == 0 ? n_pages : 1;
                const char *path = host_pool_path(arena, node, page_bytes, "nr_hugepages");

                if (!(nodes & UINT64_C(1) << node))
                        continue;
                host_write(arena_printf(arena, PATH_NODES "/node%d/compact", node), "1");
                can = host_write(path, arena_printf(arena, "%" PRIu64, n)) == 0 &&
                      host_read_number(path) == n && can;
        }
        for (int node = 0; node < 2; node++)
                if (nodes & UINT64_C(1) << node)
                        host_write(host_pool_path(arena, node, page_bytes, "nr_hugepages"), "0");
        return can;
}

/* ---- control groups ---- */

HostGroups host_groups(Arena *arena) {
        static const char *const mounts[] = {PATH_CGROUP, PATH_CGROUP "/unified"};
        HostGroups groups = {};

        for (size_t i = 0; i < ARRAY_LEN(mounts) && !groups.hierarchy; i++)
                if (access(arena_printf(arena, "%s/cgroup.controllers", mounts[i]), F_OK) == 0)
                        groups.hierarchy = mounts[i];
        if (!groups.hierarchy)
                return groups;
        const char *there = arena_printf(arena, "%s/cgroup.controllers", groups.hierarchy);
        const char *given = arena_printf(arena, "%s/cgroup.subtree_control", groups.hierarchy);

        groups.has_hugetlb = host_has_word(there, "hugetlb");
        groups.has_cpuset = groups.has_hugetlb && host_has_word(there, "cpuset");
        groups.gives_hugetlb = host_has_word(given, "hugetlb");
        groups.gives_cpuset = host_has_word(given, "cpuset");
        return groups;
}

/* ---- description for the model ---- */

/* "Node 0 MemFree:        123456 kB" in bytes. */
static uint64_t node_memory(Arena *arena, unsigned node, const char *key) {
        const char *text =
                host_read(arena, arena_printf(arena, PATH_NODES "/node%u/meminfo", node));
        const char *found = strstr(text, arena_printf(arena, "%s:", key));
        uint64_t kib;
        char *word;

        if (!found)
                return 0;
        found += strlen(key) + 1;
        word = text_next_word(arena, &found, " ");
        return word && parse_u64(word, &kib) == 0 ? kib * KIB : 0;
}

static void describe_node(Arena *arena, unsigned node, bool has_memory, bool has_cpus, Text *text) {
        const char *distances =
                host_read(arena, arena_printf(arena, PATH_NODES "/node%u/distance", node));
        const char *separator = "";
        char *word;

        text_printf(text, "node %u", node);
        if (has_memory)
                text_printf(text, " total=%" PRIu64 " free=%" PRIu64,
                            node_memory(arena, node, "MemTotal"),
                            node_memory(arena, node, "MemFree"));
        text_add(text, has_cpus ? "" : " nocpu");
        text_add(text, " distance=");
        while ((word = text_next_word(arena, &distances, " \n"))) {
                text_printf(text, "%s%s", separator, word);
                separator = ",";
        }
        text_add(text, "\n");
}

char *host_describe(Arena *arena) {
        uint64_t with_memory = host_memory_nodes();
        uint64_t with_cpus = host_read_set(PATH_NODES "/has_cpu");
        uint64_t sizes[KERNEL_SIZES_MAX];
        unsigned n_sizes = host_page_sizes(arena, sizes);
        Text text = text_in(arena);
        struct utsname name;

        uname(&name);
        text_printf(&text, "release %s\nsizes", name.release);
        for (unsigned i = 0; i < n_sizes; i++)
                text_printf(&text, " %s", format_page_size(arena, sizes[i]));
        text_add(&text, "\n");
        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                if ((with_memory | with_cpus) & UINT64_C(1) << node)
                        describe_node(arena, node, with_memory & UINT64_C(1) << node,
                                      with_cpus & UINT64_C(1) << node, &text);
        return text.string;
}
