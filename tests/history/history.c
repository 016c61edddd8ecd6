/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "history/history.h"

#include "base/size.h"
#include "base/text.h"

#include <stdio.h>

/* ---- trace ---- */

void trace(History *history, const char *format, ...) {
        va_list arguments;

        if (!history->options->is_traced)
                return;
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        putchar('\n');
        fflush(stdout);
}

void trace_pools(History *history) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        for (unsigned i = 0; i < history->n_sizes && history->options->is_traced; i++) {
                uint64_t bytes = kernel_page_bytes(history->kernel, i);
                KernelPool host = kernel_pool(history->kernel, KERNEL_HOST, bytes);
                Text text = text_in(arena);

                for (unsigned node = 0; node < history->n_nodes; node++) {
                        KernelPool pool = kernel_pool(history->kernel, (int) node, bytes);

                        text_printf(&text, " | %u: %" PRIu64 " free %" PRIu64, node,
                                    pool.total_pages, pool.free_pages);
                        if (pool.surplus_pages > 0)
                                text_printf(&text, " surplus %" PRIu64, pool.surplus_pages);
                }
                if (host.total_pages > 0 || host.overcommit_pages > 0)
                        trace(history, "        %s%s | reserved %" PRIu64 "%s",
                              format_page_size(arena, bytes), text_string(&text),
                              host.reserved_pages,
                              host.overcommit_pages > 0 ? " | may overcommit" : "");
        }
}

void report_failure(History *history, const char *kind, const char *format, ...) {
        va_list arguments;

        if (history->failure)
                return;
        va_start(arguments, format);
        history->failure = arena_vprintf(history->arena, format, arguments);
        va_end(arguments);
        history->failure_kind = kind;
        trace(history, "!!! %s: %s", kind, history->failure);
}

/* ---- random draws ---- */

uint64_t draw(History *history, uint64_t first, uint64_t last) {
        return random_between(&history->random, first, last);
}

bool chance(History *history, unsigned percent) {
        return random_chance(&history->random, percent);
}

static Random random_of_step(uint64_t seed, unsigned step) {
        Random random = {seed * 1000003 + step};

        random_bits(&random);
        return random;
}

/* ---- counts ---- */

unsigned size_index(const History *history, uint64_t page_bytes) {
        unsigned i = 0;

        while (i < history->n_sizes && kernel_page_bytes(history->kernel, i) != page_bytes)
                i++;
        return i;
}

PoolCounts pool_counts(const History *history) {
        PoolCounts counts = {};

        for (unsigned i = 0; i < history->n_sizes; i++)
                for (unsigned node = 0; node < history->n_nodes; node++) {
                        KernelPool pool = kernel_pool(history->kernel, (int) node,
                                                      kernel_page_bytes(history->kernel, i));

                        counts.persistent[i][node] =
                                sub_floored(pool.total_pages, pool.surplus_pages);
                        counts.surplus[i][node] = pool.surplus_pages;
                }
        return counts;
}

/* ---- run ---- */

const char *history_run(Arena *arena, const HistoryOptions *options, const char **ret_kind) {
        History *history = ARENA_NEW(arena, History);

        *history = (History){
                .options = options,
                .arena = arena,
                .random = random_of_step(options->seed, 0),
        };
        world_make(history);
        daemon_boot(history);
        check_after(history, ACTOR_HUGEPLAN);
        for (unsigned i = 1; i <= options->n_steps && !history->failure && !history->is_over; i++) {
                if (i < STEPS_MAX && options->left_out & (UINT64_C(1) << i))
                        continue;
                history->step = i;
                kernel_free(TAKE_PTR(history->before_lowering));
                history->random = random_of_step(options->seed, i);
                step(history);
        }
        keeper_free(history->keeper);
        root_free(history->root);
        kernel_free(history->last_checked);
        kernel_free(history->before_lowering);
        kernel_free(history->kernel);
        *ret_kind = history->failure_kind;
        return history->failure;
}
