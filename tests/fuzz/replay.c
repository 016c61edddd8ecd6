/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs every file of the given directories, or the given files, through a fuzzer's entry point, so that corpora and earlier
 * findings are ordinary tests. A missing or empty corpus fails, because it would test nothing. */

#include "base/arena.h"
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Returns the number of inputs that were run, or a negative errno. */
static int replay_file(const char *path) {
        FILE *file = fopen(path, "re");
        struct stat status;
        uint8_t *data;
        int r = 1;

        if (!file)
                return -errno;
        if (fstat(fileno(file), &status) < 0) {
                r = -errno;
                fclose(file);
                return r;
        }
        /* Of the exact size, so that a sanitizer notices reads beyond the end. */
        data = malloc((size_t) status.st_size);
        if (status.st_size > 0 &&
            (!data || fread(data, 1, (size_t) status.st_size, file) != (size_t) status.st_size))
                r = -EIO;
        else
                LLVMFuzzerTestOneInput(data, (size_t) status.st_size);
        free(data);
        fclose(file);
        return r;
}

static int replay_directory(Arena *arena, const char *path, DIR *directory) {
        const struct dirent *entry;
        int n = 0;

        while ((entry = readdir(directory))) {
                int r;

                if (entry->d_name[0] == '.')
                        continue;
                r = replay_file(arena_printf(arena, "%s/%s", path, entry->d_name));
                if (r < 0)
                        return r;
                n += r;
        }
        return n;
}

static int replay_path(const char *path) {
        Arena *arena CLEANUP(arena_freep) = arena_new();
        DIR *directory = opendir(path);
        int r;

        if (!directory)
                return errno == ENOTDIR ? replay_file(path) : -errno;
        r = replay_directory(arena, path, directory);
        closedir(directory);
        return r;
}

int main(int argc, char **argv) {
        for (int i = 1; i < argc; i++) {
                int n = replay_path(argv[i]);

                if (n <= 0) {
                        fprintf(stderr, "%s: %s\n", argv[i], n < 0 ? strerror(-n) : "no inputs");
                        return EXIT_FAILURE;
                }
                printf("%s: %d inputs\n", argv[i], n);
        }
        if (argc < 2)
                fprintf(stderr, "usage: %s CORPUS...\n", argv[0]);
        return argc < 2 ? EXIT_FAILURE : EXIT_SUCCESS;
}
