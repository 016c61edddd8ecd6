/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Random histories of a host under hugepland: see history/history.h.
 *
 *   test-histories [HISTORIES=N] [FROM=SEED] [STEPS=N]     N seeds, from this one on
 *   test-histories SEED=N [STEPS=N] [LEFT_OUT=MASK]        this one, told step by step
 *
 * The same by the environment.
 * One in which something does not hold is cut down to the steps that it takes, and told. */

#include "history/history.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORIES = 2000, STEPS = 12 };

/* In every fourth history some instances have a mount; in another one, gates come and go in the middle of rounds. In
 * every eighth, units that start again leave a process behind. */
static HistoryOptions options_of(const HistoryOptions *options, uint64_t seed) {
        HistoryOptions own = *options;

        own.seed = seed;
        own.has_mounts = seed % 4 == 1;
        own.is_hurried = seed % 4 == 2;
        own.leaves_behind = seed % 8 == 3;
        return own;
}

static bool is_broken(const HistoryOptions *options, const char *kind) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *found_kind = NULL;

        return history_run(arena, options, &found_kind) && (!kind || text_equals(kind, found_kind));
}

static void tell(const HistoryOptions *options) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        HistoryOptions loud = *options;
        const char *kind;

        loud.is_loud = true;
        history_run(arena, &loud, &kind);
}

/* Leaves out each step that the same thing happens without. */
static void shrink(HistoryOptions *options, const char *kind) {
        while (options->n_steps > 1) {
                HistoryOptions fewer = *options;

                fewer.n_steps--;
                if (!is_broken(&fewer, kind))
                        break;
                *options = fewer;
        }
        for (unsigned pass = 0; pass < 2; pass++)
                for (unsigned i = options->n_steps; i > 0; i--) {
                        HistoryOptions fewer = *options;

                        fewer.left_out |= UINT64_C(1) << i;
                        if (is_broken(&fewer, kind))
                                *options = fewer;
                }
}

/* True: all has held. */
static bool try_one(HistoryOptions options) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *kind, *broken = history_run(arena, &options, &kind);

        if (!broken)
                return true;
        printf("---- seed %" PRIu64 ": %s: %s\n", options.seed, kind, broken);
        fflush(stdout);
        shrink(&options, kind);
        tell(&options);
        printf("again: SEED=%" PRIu64 " STEPS=%" PRIu64 " LEFT_OUT=%" PRIu64 "\n", options.seed,
               options.n_steps, options.left_out);
        fflush(stdout);
        return false;
}

/* KEY=NUMBER, of the arguments or else of the environment. */
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
        uint64_t first = 1, n = HISTORIES, n_broken = 0;

        take(&n, "HISTORIES", argc, argv);
        take(&first, "FROM", argc, argv);
        take(&options.n_steps, "STEPS", argc, argv);
        take(&options.left_out, "LEFT_OUT", argc, argv);
        if (take(&first, "SEED", argc, argv)) {
                options = options_of(&options, first);
                tell(&options);
                return 0;
        }
        printf("seeds %" PRIu64 " to %" PRIu64 "\n", first, first + n - 1);
        for (uint64_t seed = first; seed < first + n; seed++)
                n_broken += !try_one(options_of(&options, seed));
        printf("%" PRIu64 " histories, %" PRIu64 " broken\n", n, n_broken);
        return n_broken > 0;
}
