/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/observe/progress.h"

#include "base/text.h"
#include "host/probe.h"
#include "host/state.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "status/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Most calls are shorter, and show no progress. */
static const uint64_t silent_usec = USEC_PER_SEC;
static const uint64_t line_usec = 10 * USEC_PER_SEC;

struct Progress {
        Command *command;
        bool is_terminal; /* one that can rewrite a line */
        bool is_shown;
        uint64_t begun_usec, next_line_usec;
        const Topology *before;
};

void progress_begin(Command *command) {
        bool is_terminal = isatty(STDERR_FILENO);

        if (log_is_journal() || !(is_terminal || command->is_changing))
                return;
        Progress *progress = ARENA_NEW(command->arena, Progress);

        *progress = (Progress){
                .command = command,
                .is_terminal = is_terminal && !text_equals(getenv("TERM"), "dumb"),
                .begun_usec = clock_now_usec(),
                .before = probe_topology(command->root, command->arena),
        };
        progress->next_line_usec = progress->begun_usec + line_usec;
        command->progress = progress;
}

static uint64_t persistent_pages(const Topology *topology, const LedgerPool *pool) {
        const Pool *found = topology_pool(topology, pool->node, pool->page_size_bytes);

        return found ? pool_persistent_pages(found) : 0;
}

static uint64_t way(uint64_t from, uint64_t to, bool is_up) {
        return is_up ? sub_floored(to, from) : sub_floored(from, to);
}

/* Returns whether there is anything to be written; the outputs are in bytes. */
static bool measure(const Progress *progress, Arena *arena, uint64_t *ret_done, uint64_t *ret_all) {
        const Root *root = progress->command->root;
        const Topology *now = probe_topology(root, arena);
        const char *wrong;
        const Ledger *ledger = state_load(root, arena, now->boot_id, &wrong);

        *ret_done = *ret_all = 0;
        VEC_FOREACH(pool, &ledger->pools) {
                uint64_t before = persistent_pages(progress->before, pool);
                bool is_up = pool->set_pages > before;
                uint64_t all = way(before, pool->set_pages, is_up);
                uint64_t done = way(before, persistent_pages(now, pool), is_up);

                *ret_all += mul_saturated(all, pool->page_size_bytes);
                *ret_done += mul_saturated(MIN(all, done), pool->page_size_bytes);
        }
        return *ret_all > 0;
}

/* Returns "12.1G of 120G, 3.2G a second, 34 s left", or NULL. */
static const char *describe(const Progress *progress, Arena *arena) {
        uint64_t done, all, usec = clock_now_usec() - progress->begun_usec;
        Text text = text_in(arena);

        if (!measure(progress, arena, &done, &all))
                return NULL;
        text_printf(&text, "%s of %s", format_size(arena, done), format_size(arena, all));
        if (done > 0 && done < all)
                text_printf(&text, ", %s a second, %s left",
                            format_size(arena, mul_div(done, USEC_PER_SEC, usec)),
                            proof_format_age(arena, mul_div(all - done, usec, done)));
        return text.string;
}

void progress_show(Progress *progress) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        uint64_t now_usec = clock_now_usec();

        if (now_usec - progress->begun_usec < silent_usec ||
            (!progress->is_terminal && now_usec < progress->next_line_usec))
                return;
        progress->next_line_usec = now_usec + line_usec;
        const char *words = describe(progress, arena);

        if (!words)
                return;
        if (!progress->is_terminal)
                log_line(LOG_NOTICE, "reserving: %s", words);
        else
                fprintf(stderr, "\rreserving: %s\033[K", words);
        progress->is_shown = progress->is_terminal;
}

void progress_hide(Progress *progress) {
        if (progress && progress->is_shown)
                fputs("\r\033[K", stderr);
        if (progress)
                progress->is_shown = false;
}
