/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor of a status: reads and prints every counter of every pool of every node. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char nodes[] = "/sys/devices/system/node";

static void print_file(int directory, const char *name) {
        char text[64];
        int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

        if (n > 0)
                printf("%s %.*s", name, (int) n, text);
        if (fd >= 0)
                close(fd);
}

static void print_pools(const char *node) {
        char path[512];

        snprintf(path, sizeof(path), "%s/%s/hugepages", nodes, node);
        DIR *directory = opendir(path);

        if (!directory)
                return;
        for (struct dirent *entry; (entry = readdir(directory));) {
                if (strncmp(entry->d_name, "hugepages-", strlen("hugepages-")) != 0)
                        continue;
                int pool = openat(dirfd(directory), entry->d_name, O_PATH | O_CLOEXEC);

                printf("%s %s\n", node, entry->d_name);
                print_file(pool, "nr_hugepages");
                print_file(pool, "free_hugepages");
                print_file(pool, "surplus_hugepages");
                close(pool);
        }
        closedir(directory);
}

int main(void) {
        DIR *directory = opendir(nodes);

        if (!directory)
                return 1;
        for (struct dirent *entry; (entry = readdir(directory));)
                if (strncmp(entry->d_name, "node", strlen("node")) == 0)
                        print_pools(entry->d_name);
        closedir(directory);
        return 0;
}
