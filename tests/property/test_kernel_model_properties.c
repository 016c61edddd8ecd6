/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Random scripts on models of random hosts. All counts are right after every line, and no page is left when all processes
 * have ended. A failure prints its seed and the host. */

#include "model/script_model.h"
#include "model/script_random.h"
#include "property/random.h"
#include "support/testing.h"

enum { SEEDS = 60, LINES = 200, NODES_MAX = 4 };

/* Kernels on each side of every change. */
static const char *const releases[] = {
        "5.10.0", "6.1.176",  "6.6.60",   "6.7.0",   "6.8.12",
        "6.9.0",  "6.12.107", "6.12.117", "6.18.44", "7.2.12",
};

static char *random_distances(Arena *arena, Random *random, unsigned node, unsigned n_nodes) {
        Text text = text_in(arena);

        for (unsigned i = 0; i < n_nodes; i++)
                text_printf(&text, "%s%u", i > 0 ? "," : "",
                            i == node ? 10 : 11 + (unsigned) random_between(random, 0, 3) * 10);
        return text.string;
}

static char *random_host(Arena *arena, Random *random) {
        unsigned n_nodes = 1 + (unsigned) random_between(random, 0, NODES_MAX - 1);
        Text text = text_in(arena);

        text_printf(&text, "release %s\nsizes 1G 2M\n",
                    releases[random_between(random, 0, ARRAY_LEN(releases) - 1)]);
        for (unsigned node = 0; node < n_nodes; node++) {
                bool has_memory = node == 0 || random_chance(random, 85);
                bool has_cpus = node == 0 || random_chance(random, 80);
                const char *distances = random_distances(arena, random, node, n_nodes);

                text_printf(&text, "node %u%s%s distance=%s\n", node,
                            has_memory ? " total=1G free=800M" : "", has_cpus ? "" : " nocpu",
                            distances);
        }
        return text.string;
}

static void fail_with(uint64_t seed, const char *host, const char *line, const char *what) {
        print_message("seed %llu, host\n%s%s:\n%s\n", (unsigned long long) seed, host, line, what);
        fail();
}

static void perform(Script *script, const Kernel *kernel, uint64_t seed, const char *host,
                    const char *line) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Text out = text_in(arena);

        if (script_step(script, line, &out) < 0)
                fail_with(seed, host, line, text_string(&out));
        const char *broken = kernel_check_invariants(kernel, arena);

        if (broken)
                fail_with(seed, host, line, broken);
}

static void check(uint64_t seed) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Random random = {seed};
        const char *host = random_host(arena, &random);
        CLEANUP(kernel_freep) Kernel *kernel = kernel_new(host);
        Script *script = script_new(arena, &script_model, script_model_new(arena, kernel));
        ScriptRandomOptions options = {.seed = seed, .host = host};

        options.has_groups = random_chance(&random, 80);
        options.has_cpusets = random_chance(&random, 60);
        options.has_mounts = random_chance(&random, 50);
        ScriptRandom *lines = script_random_new(arena, &options);
        ScriptNames rest = {};

        for (unsigned i = 0; i < LINES; i++)
                perform(script, kernel, seed, host, script_random_line(lines));
        script_random_free(lines);
        script_end(script, arena, &rest);
        VEC_FOREACH(line, &rest)
                perform(script, kernel, seed, host, *line);
        /* No persistent page is left. Free surplus pages may remain if a pool was lowered below its reservations,
         * because return_unused_surplus_pages() frees only as many pages as a reservation has. Kernels that have
         * miscounted may keep pages. */
        for (size_t i = 0; kernel_page_bytes(kernel, i) > 0; i++) {
                uint64_t bytes = kernel_page_bytes(kernel, i);
                KernelPool pool = kernel_pool(kernel, KERNEL_HOST, bytes);

                if (pool.total_pages != pool.free_pages)
                        fail_with(seed, host, "the end", "pages are in use");
                if (kernel_has_miscounted(kernel))
                        continue;
                if (pool.reserved_pages > 0 || pool.max_pages > 0 ||
                    pool.total_pages != pool.surplus_pages)
                        fail_with(seed, host, "the end", "pages are left");
        }
}

TEST(counts) {
        random_for_each_seed(SEEDS, check);
}
