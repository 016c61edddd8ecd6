/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Linked with --wrap=malloc, so that a test can exhaust the heap. */
#include "base/arena.h"
#include "base/memory.h"

#include "support/testing.h"

#include <sys/wait.h>
#include <unistd.h>

enum { PIECES_MAX = 100000, RESERVE_LEAST = 1024 * 1024 };

static bool is_exhausted;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size) {
        return is_exhausted ? NULL : __real_malloc(size);
}

TEST(heap) {
        unsigned before = memory_shortages();
        char *memory = memory_new(0);

        assert_non_null(memory);
        memory_free(memory);
        memory_free(NULL);
        assert_int_equal(memory_shortages(), before);
}

static bool is_zeroed(const char *bytes, size_t size) {
        for (size_t i = 0; i < size; i++)
                if (bytes[i])
                        return false;
        return true;
}

/* How many objects of SIZE the reserve has. Counted in a child process, because one too many ends the process. */
static int count_pieces(size_t size) {
        int output[2], status, n = 0;

        assert_int_equal(pipe(output), 0);
        pid_t child = fork();

        if (child == 0) {
                close(output[0]);
                close(STDERR_FILENO);
                is_exhausted = true;
                for (int i = 0; i < PIECES_MAX; i++) {
                        memory_new(size);
                        (void) !write(output[1], "x", 1);
                }
                _exit(0);
        }
        close(output[1]);
        for (char byte; read(output[0], &byte, 1) == 1;)
                n++;
        close(output[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 1);
        return n;
}

TEST(reserve) {
        assert_uint_in_range(count_pieces(8192), RESERVE_LEAST / 8192, PIECES_MAX);
        assert_uint_in_range(count_pieces(100), RESERVE_LEAST / 150, PIECES_MAX);
        assert_uint_in_range(count_pieces(RESERVE_LEAST), 1, 2);
        assert_int_equal(count_pieces(64 * RESERVE_LEAST), 0);
        assert_int_equal(count_pieces(SIZE_MAX / 4), 0);
}

/* Objects of all sizes are allocated and freed in random order. Each keeps its content, and in the end the reserve
 * is whole again. */
TEST(pieces) {
        struct {
                char *bytes;
                size_t size;
        } pieces[64] = {};
        unsigned seed = 1;
        int before = count_pieces(4096);

        is_exhausted = true;
        for (int i = 0; i < 50000; i++) {
                typeof(pieces[0]) *piece;

                seed = seed * 1103515245 + 12345;
                piece = &pieces[seed >> 16 & 63];
                for (size_t k = 0; k < piece->size; k++)
                        assert_int_equal(piece->bytes[k], 'a' + (piece - pieces) % 26);
                memory_free(piece->bytes);
                piece->size = (seed >> 8) % (i % 3 == 0 ? 20000 : 300);
                piece->bytes = memory_new(piece->size);
                assert_true(is_zeroed(piece->bytes, piece->size));
                memset(piece->bytes, 'a' + (int) (piece - pieces) % 26, piece->size);
        }
        for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
                memory_free(pieces[i].bytes);
        is_exhausted = false;
        assert_int_equal(count_pieces(4096), before);
}

TEST(arena) {
        unsigned before = memory_shortages();

        is_exhausted = true;
        assert_string_equal(arena_printf(arena, "%0200000d", 7) + 199999, "7");
        is_exhausted = false;
        assert_int_not_equal(memory_shortages(), before);
        before = memory_shortages();
        assert_non_null(arena_alloc(arena, 300000));
        assert_int_equal(memory_shortages(), before);
}

static void say_end(void) {
        _exit(42);
}

TEST(end) {
        int status;
        pid_t child = fork();

        if (child == 0) {
                is_exhausted = true;
                memory_set_end(say_end);
                memory_new(SIZE_MAX / 4);
                _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status), 42);
}
