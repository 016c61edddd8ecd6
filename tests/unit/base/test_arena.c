/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Arenas, vectors and the diagnostics that live in them. */

#include "base/diag.h"
#include "support/testing.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(alignment_and_zero) {
        for (size_t size = 0; size < 300; size++) {
                unsigned char *bytes = arena_alloc(arena, size);

                assert_int_equal((uintptr_t) bytes % _Alignof(max_align_t), 0);
                for (size_t i = 0; i < size; i++)
                        assert_int_equal(bytes[i], 0);
                memset(bytes, 0xFF, size);
        }
}

/* Large objects go behind the current block. No objects overlap. */
TEST(large_objects) {
        enum { N = 64 };
        unsigned char *objects[N];
        size_t sizes[N];

        for (size_t i = 0; i < N; i++) {
                sizes[i] = i % 3 == 0 ? 100000 + i : 40 + i;
                objects[i] = arena_alloc(arena, sizes[i]);
                memset(objects[i], (int) i, sizes[i]);
        }
        for (size_t i = 0; i < N; i++)
                for (size_t k = 0; k < sizes[i]; k++)
                        assert_int_equal(objects[i][k], i);
}

TEST(copies) {
        char unterminated[3] = {'a', 'b', 'c'};

        assert_text(arena_strdup(arena, "abc"), "abc");
        assert_null(arena_strdup(arena, NULL));
        assert_text(arena_strndup(arena, unterminated, 3), "abc");
        assert_text(arena_strndup(arena, "ab", 100), "ab");
        assert_text(arena_strndup(arena, "ab", 0), "");
        assert_text(arena_printf(arena, "%s-%d", "x", 42), "x-42");
        assert_memory_equal(arena_memdup(arena, "a\0b", 3), "a\0b", 3);
        assert_non_null(arena_memdup(arena, NULL, 0));
}

/* An object is whole, and the memory after it is empty, whether or not it fits into the block. */
TEST(print) {
        enum { LENGTHS = 9000 };

        for (int length = 0; length < LENGTHS; length += 1 + length / 7) {
                const char *text = arena_printf(arena, "%*s", length, "");
                const char *again = arena_printf(arena, "%*d", length, 1);
                const unsigned char *after = arena_alloc(arena, 24);

                assert_int_equal(strlen(text), length);
                assert_int_equal(strlen(again), MAX(length, 1));
                assert_int_equal(again[MAX(length, 1) - 1], '1');
                for (size_t i = 0; i < 24; i++)
                        assert_int_equal(after[i], 0);
        }
}

TEST(freeing) {
        Arena *freed = arena_new();

        arena_alloc(freed, 10);
        assert_null(arena_free(freed));
        assert_null(arena_free(NULL));
}

/* An array whose size overflows ends the process. */
TEST(overflow_ends) {
        const struct rlimit no_core = {0, 0};
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                signal(SIGABRT, SIG_DFL);
                setrlimit(RLIMIT_CORE, &no_core);
                close(STDERR_FILENO);
                arena_alloc_array(arena, SIZE_MAX / 2, 4);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
}

TEST(vector) {
        VEC(uint64_t) numbers = {};
        uint64_t n = 0;

        for (uint64_t i = 0; i < 1000; i++) {
                uint64_t *slot = vec_push(arena, &numbers);

                assert_true(*slot == 0);
                *slot = i;
        }
        assert_int_equal(numbers.n, 1000);
        VEC_FOREACH(number, &numbers)
                assert_true(*number == n++);
        assert_int_equal(n, 1000);
}

TEST(diag_format) {
        const Diag full = {.file = "/etc/x.conf",
                           .line = 7,
                           .key = "Memory",
                           .text = "is odd",
                           .remedy = "write 8G"};
        Diag some = full;

        assert_text(diag_format(arena, &full), "/etc/x.conf:7: Memory: is odd; write 8G");
        some.line = 0;
        assert_text(diag_format(arena, &some), "/etc/x.conf: Memory: is odd; write 8G");
        some.key = NULL;
        assert_text(diag_format(arena, &some), "/etc/x.conf: is odd; write 8G");
        some.file = NULL;
        assert_text(diag_format(arena, &some), "is odd; write 8G");
        some.remedy = NULL;
        assert_text(diag_format(arena, &some), "is odd");
}

/* Diagnostics are copies, so the caller's strings may change. */
TEST(diags_copy) {
        Diags diags = diags_in(arena);
        char text[] = "before";

        diags_add(&diags, &(Diag){.severity = SEVERITY_WARNING, .id = "x", .text = text});
        diags_add(&diags, &(Diag){.severity = SEVERITY_ERROR, .id = "y", .text = "z"});
        memcpy(text, "after!", 6);
        assert_text(diags.list.items[0].text, "before");
        assert_int_equal(diags_count(&diags, SEVERITY_WARNING), 1);
        assert_int_equal(diags_count(&diags, SEVERITY_ERROR), 1);
        assert_int_equal(diags_count(&diags, SEVERITY_NOTICE), 0);
}

TEST(severity_names) {
        Severity severity = SEVERITY_NOTICE;

        for (int i = SEVERITY_ERROR; i <= SEVERITY_NOTICE; i++) {
                assert_int_equal(severity_from_name(severity_name((Severity) i), &severity), 0);
                assert_int_equal(severity, i);
        }
        assert_int_equal(severity_from_name("fatal", &severity), -EINVAL);
        assert_int_equal(severity, SEVERITY_NOTICE);
}

TEST(macros) {
        int calls = 0;
        Arena *pointer = arena, *taken = TAKE_PTR(pointer);

        assert_int_equal(MIN(calls++, 5), 0);
        assert_int_equal(calls, 1);
        assert_int_equal(MAX(MIN(3, 4), MAX(1, 2)), 3);
        assert_null(pointer);
        assert_ptr_equal(taken, arena);
}
