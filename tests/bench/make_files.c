/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor of the generator: reads each file of a directory, and makes a directory with one file for it.
 *
 *     bench-make-files FROM INTO */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
        static char text[4096];
        char name[512];
        DIR *from = argc > 2 ? opendir(argv[1]) : NULL;
        int into = from ? open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

        if (into < 0)
                return 1;
        for (struct dirent *entry; (entry = readdir(from));) {
                int fd = openat(dirfd(from), entry->d_name, O_RDONLY | O_CLOEXEC);
                ssize_t n = entry->d_name[0] == '.' ? -1 : read(fd, text, sizeof(text));

                close(fd);
                if (n < 0)
                        continue;
                snprintf(name, sizeof(name), "%s.service.d", entry->d_name);
                mkdirat(into, name, 0755);
                snprintf(name, sizeof(name), "%s.service.d/10-hugeplan.conf", entry->d_name);
                fd = openat(into, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
                memset(text, 'x', 1024);
                if (write(fd, text, 1024) < 0)
                        return 1;
                close(fd);
        }
        return 0;
}
