/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parameter files of Oracle. The first byte is the kind of the rest: 't' a text, which must have the same parameters as a
 * text file and as a server parameter file; otherwise the bytes of a file.
 *
 * Conditions: the function returns, and values are bounded and valid UTF-8. */

#include "base/text.h"
#include "engines/oracle/oracle.h"
#include "fuzz/fuzz.h"
#include "support/sources.h"
#include "support/spfile.h"

static bool read_file(Arena *arena, const char *bytes, size_t size, Settings *ret) {
        const TestFile file = {.path = "/dbs/initorcl.ora", .text = bytes, .size = size};
        const OracleFile start = {.path = file.path, .sid = "orcl"};
        Diags problems = diags_in(arena);

        if (size == 0 ||
            oracle_parameters_read(arena, test_sources(arena, &file, 1), &start, ret, &problems))
                return false;
        require(problems.list.n <= 10);
        VEC_FOREACH(parameter, ret) {
                size_t length = strlen(parameter->value);

                require(length <= 4095 && text_is_utf8(parameter->value, length));
                require(parameter->name && parameter->origin);
        }
        return true;
}

static void read_both(Arena *arena, const char *text) {
        size_t size;
        const char *bytes = spfile_make(arena, text, &size);
        Settings as_text, as_spfile;

        /* A text that begins with the mark is itself a server parameter file. */
        if (text_starts_with(text, "C\"") || !read_file(arena, text, strlen(text), &as_text) ||
            size > 128 << 10)
                return;
        require(read_file(arena, bytes, size, &as_spfile));
        require(as_text.n + 1 == as_spfile.n && text_equals(as_spfile.items[0].name, "spfile"));
        for (size_t i = 0; i < as_text.n; i++) {
                const Setting *a = &as_text.items[i], *b = &as_spfile.items[i + 1];

                require(text_equals(a->name, b->name));
                require(text_equals(a->value, b->value) && text_equals(a->origin, b->origin));
        }
}

FUZZ(arena, data, size) {
        const char *rest = size > 0 ? fuzz_text(arena, data + 1, size - 1) : "";
        Settings read;

        if (size > 0 && *data == 't')
                read_both(arena, rest);
        else if (size > 0)
                read_file(arena, rest, size - 1, &read);
}
