/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The program of a folder of tests, of which TEST_FILES(ROW) names the files: runs those that are named, or all. */

#include "base/macros.h"

#include <stdio.h>
#include <string.h>

#define ROW(name) int test_file_##name(void);
TEST_FILES(ROW)
#undef ROW

static const struct {
        const char *name;
        int (*run)(void);
} files[] = {
#define ROW(name) {#name, test_file_##name},
        TEST_FILES(ROW)
#undef ROW
};

static int run(const char *name) {
        int n_failed = 0, n_run = 0;

        for (size_t i = 0; i < ARRAY_LEN(files); i++)
                if (!name || strcmp(files[i].name, name) == 0) {
                        n_failed += files[i].run();
                        n_run++;
                }
        if (n_run == 0)
                fprintf(stderr, "there is no file test_%s.c in this program\n", name);
        return n_run == 0 ? 1 : n_failed;
}

int main(int argc, char **argv) {
        int n_failed = 0;

        if (argc == 1)
                return run(NULL) > 0;
        for (int i = 1; i < argc; i++)
                n_failed += run(argv[i]);
        return n_failed > 0;
}
