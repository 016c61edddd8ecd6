/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Random histories of a host under hugepland: see history/history.h.
 *
 *   test-histories [HISTORIES=N] [FROM=SEED] [EVERY=M] [STEPS=N]   runs the histories of N seeds, SEED, SEED + M...
 *   test-histories SEED=N [STEPS=N] [LEFT_OUT=MASK]        runs one history and prints every step
 *
 * The values can also be set in the environment. A failing history is reduced to the steps that it needs, and
 * printed. */

#include "history/history.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORIES = 2000, STEPS = 12 };

/* In every fourth history some instances have a mount; in another fourth, units start and stop during rounds. In
 * every eighth, units that restart may leave a process running; the other options have eighths and a sixteenth, too. */
static HistoryOptions options_of(const HistoryOptions *options, uint64_t seed) {
        HistoryOptions own = *options;

        own.seed = seed;
        own.has_mounts = seed % 4 == 1;
        own.has_gates_in_rounds = seed % 4 == 2;
        own.leaves_processes = seed % 8 == 3;
        own.maps_in_parts = seed % 8 == 7;
        own.learns = seed % 8 == 4 || seed % 256 == 80;
        own.changes_host = seed % 16 == 8;
        own.fills_run = seed % 128 == 16;
        own.swaps_units = seed % 128 == 32;
        own.changes_cpusets = seed % 128 == 48;
        own.toggles_controller = seed % 128 == 80;
        own.hotplugs = seed % 128 == 112;
        return own;
}

static bool fails(const HistoryOptions *options, const char *kind) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *found_kind = NULL;

        return history_run(arena, options, &found_kind) && (!kind || text_equals(kind, found_kind));
}

static void run_traced(const HistoryOptions *options) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        HistoryOptions loud = *options;
        const char *kind;

        loud.is_traced = true;
        history_run(arena, &loud, &kind);
}

/* Leaves out each step without which the same failure happens. */
static void shrink(HistoryOptions *options, const char *kind) {
        while (options->n_steps > 1) {
                HistoryOptions fewer = *options;

                fewer.n_steps--;
                if (!fails(&fewer, kind))
                        break;
                *options = fewer;
        }
        for (unsigned pass = 0; pass < 2; pass++)
                for (unsigned i = options->n_steps; i > 0; i--) {
                        HistoryOptions fewer = *options;

                        fewer.left_out |= UINT64_C(1) << i;
                        if (fails(&fewer, kind))
                                *options = fewer;
                }
}

/* Returns whether all checks held. */
static bool try_one(HistoryOptions options) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *kind, *failure = history_run(arena, &options, &kind);

        if (!failure)
                return true;
        printf("---- seed %" PRIu64 ": %s: %s\n", options.seed, kind, failure);
        fflush(stdout);
        shrink(&options, kind);
        run_traced(&options);
        printf("again: SEED=%" PRIu64 " STEPS=%" PRIu64 " LEFT_OUT=%" PRIu64 "\n", options.seed,
               options.n_steps, options.left_out);
        fflush(stdout);
        return false;
}

/* Takes KEY=NUMBER from the arguments, or else from the environment. */
static bool take(uint64_t *value, const char *key, int argc, char **argv) {
        const char *text = getenv(key);
        size_t length = strlen(key);

        for (int i = 1; i < argc; i++)
                if (text_starts_with(argv[i], key) && argv[i][length] == '=')
                        text = argv[i] + length + 1;
        if (text)
                *value = strtoull(text, NULL, 10);
        return text != NULL;
}

int main(int argc, char **argv) {
        HistoryOptions options = {.n_steps = STEPS};
        uint64_t first = 1, n = HISTORIES, every = 1, n_failed = 0;

        take(&n, "HISTORIES", argc, argv);
        take(&first, "FROM", argc, argv);
        take(&every, "EVERY", argc, argv);
        take(&options.n_steps, "STEPS", argc, argv);
        take(&options.left_out, "LEFT_OUT", argc, argv);
        if (take(&first, "SEED", argc, argv)) {
                options = options_of(&options, first);
                run_traced(&options);
                return 0;
        }
        printf("seeds %" PRIu64 " to %" PRIu64 "\n", first, first + (n - 1) * every);
        for (uint64_t i = 0; i < n; i++)
                n_failed += !try_one(options_of(&options, first + i * every));
        printf("%" PRIu64 " histories, %" PRIu64 " failed\n", n, n_failed);
        return n_failed > 0;
}
