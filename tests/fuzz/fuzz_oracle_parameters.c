/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parameter files of Oracle. The first byte is the kind of the rest: 't' a text, which must have the same parameters as a
 * text file and as a server parameter file; 'b' the bytes of a file; otherwise files of a host, packed as in
 * support/sources.h, with an instance in oracle.service, /etc/oratab and its parameter files.
 *
 * Conditions: the function returns, and values are bounded and valid UTF-8. */

#include "base/text.h"
#include "engines/oracle/oracle.h"
#include "engines/reader.h"
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

static void find(Arena *arena, const Sources *sources, const EngineTarget *target) {
        Gathered gathered = {.problems = diags_in(arena)};
        const Engine *oracle = engine_find("oracle");
        Sizing sizing;

        if (engine_reader(oracle)->gather(arena, oracle, target, sources, &gathered))
                return;
        VEC_FOREACH(setting, &gathered.settings)
                require(setting->name && setting->value && setting->origin);
        if (!engine_size(oracle, arena, &gathered.settings, 2 << 20, &sizing))
                require(sizing.pages > 0 && !sizing.is_exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Settings read;

        if (size == 0)
                return 0;
        const char *rest = fuzz_text(arena, data + 1, size - 1);

        if (*data == 't') {
                read_both(arena, rest);
        } else if (*data == 'b') {
                read_file(arena, rest, size - 1, &read);
        } else {
                const Sources *sources = test_sources_unpack(arena, data, size);

                find(arena, sources, &(EngineTarget){.unit = "oracle.service"});
                find(arena, sources, &(EngineTarget){.data_directory = "/h"});
                find(arena, sources, &(EngineTarget){.config_file = "/p.ora"});
        }
        return 0;
}
