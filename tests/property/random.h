/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Reproducible random numbers: one seed determines all. HUGEPLAN_SEEDS is the number of seeds that a test tries instead of
 * 5,000; tests with a smaller default are scaled accordingly. HUGEPLAN_SEED tries one seed, which a failure has
 * printed. */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct Random {
        uint64_t state;
} Random;

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators". */
static inline uint64_t random_bits(Random *random) {
        uint64_t z = (random->state += UINT64_C(0x9E3779B97F4A7C15));

        z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
        return z ^ (z >> 31);
}

/* FIRST and LAST are included. */
static inline uint64_t random_between(Random *random, uint64_t first, uint64_t last) {
        return first + random_bits(random) % (last - first + 1);
}

static inline bool random_chance(Random *random, unsigned percent) {
        return random_between(random, 0, 99) < percent;
}

static inline void random_for_each_seed(uint64_t n_default, void (*check)(uint64_t seed)) {
        const char *one = getenv("HUGEPLAN_SEED"), *many = getenv("HUGEPLAN_SEEDS");
        uint64_t n = many ? (strtoull(many, NULL, 10) * n_default + 4999) / 5000 : n_default;

        if (one) {
                check(strtoull(one, NULL, 10));
                return;
        }
        for (uint64_t seed = 1; seed <= n; seed++)
                check(seed);
}
