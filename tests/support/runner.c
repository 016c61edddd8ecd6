/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The main() of test programs: runs the tests of the named files ("size" for test_size.c), or all. */

#include "base/macros.h"
#include "support/testing.h"

enum { TESTS_MAX = 1024 /* in one program */ };

typedef struct RegisteredTest {
        const char *path;
        struct CMUnitTest test;
} RegisteredTest;

static RegisteredTest registered[TESTS_MAX];
static size_t n_registered;

void testing_register(const char *path, const struct CMUnitTest *test) {
        if (n_registered == TESTS_MAX)
                abort();
        registered[n_registered++] = (RegisteredTest){path, *test};
}

static bool is_file(const char *path, const char *name) {
        const char *slash = strrchr(path, '/');
        size_t length = strlen(name);

        path = slash ? slash + 1 : path;
        return strncmp(path, "test_", 5) == 0 && strncmp(path + 5, name, length) == 0 &&
               strcmp(path + 5 + length, ".c") == 0;
}

static int run(const char *name) {
        static struct CMUnitTest tests[TESTS_MAX];
        size_t n = 0;

        for (size_t i = 0; i < n_registered; i++)
                if (!name || is_file(registered[i].path, name))
                        tests[n++] = registered[i].test;
        if (n == 0)
                fprintf(stderr, "there is no file test_%s.c in this program\n", name ? name : "*");
        return n == 0 ? 1 : _cmocka_run_group_tests(name ? name : "all", tests, n, NULL, NULL);
}

int main(int argc, char **argv) {
        int n_failed = 0;

        if (argc == 1)
                return run(NULL) > 0;
        for (int i = 1; i < argc; i++)
                n_failed += run(argv[i]);
        return n_failed > 0;
}
