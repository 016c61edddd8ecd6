/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How many free pages may go. That nobody dies of it in any order is in property/. */

#include "base/size.h"
#include "plan/promise/balance.h"
#include "support/testing.h"

typedef struct Scene {
        Topology *topology;
        Running running;
        Promises promises;
        Balance *balance;
} Scene;

/* Nodes with so many FREE pages of 2M ("40/30"), of which RESERVED are mapped, and who runs there. */
static Scene *scene_new(Arena *arena, const char *free, unsigned reserved, const char *running) {
        Scene *scene = ARENA_NEW(arena, Scene);
        Text host = text_in(arena);
        uint64_t free_pages[4];
        const char *word;
        size_t n = 0;

        text_printf(&host, "sizes 2M\nreserved 2M=%u\n", reserved);
        while ((word = text_next_word(arena, &free, "/"))) {
                assert_int_equal(parse_u64(word, &free_pages[n]), 0);
                text_printf(&host, "node %zu total=20G 2M=%s\n", n++, word);
        }
        scene->topology = host_make(arena, text_string(&host));
        scene->running = running_make(arena, running);
        scene->promises = promises_make(arena, scene->topology, 0, &scene->running.holds,
                                        &scene->running.use,
                                        ledger_of_idle(arena, scene->topology));
        scene->balance = balance_new(arena, &scene->promises, free_pages);
        return scene;
}

/* "40/30" */
static char *counts_text(Arena *arena, const Scene *scene,
                         uint64_t (*count)(const Balance *balance, size_t node)) {
        Text text = text_in(arena);

        for (size_t i = 0; i < scene->topology->n_nodes; i++)
                text_printf(&text, "%s%" PRIu64, i > 0 ? "/" : "", count(scene->balance, i));
        return arena_strdup(arena, text_string(&text));
}

#define assert_spare(scene, text) \
        assert_text(counts_text((arena), (scene), balance_spare_pages), (text))
#define assert_missing(scene, text) \
        assert_text(counts_text((arena), (scene), balance_missing_pages), (text))

typedef struct Case {
        const char *free;
        unsigned reserved;
        const char *running, *spare, *missing;
} Case;

static void assert_cases(Arena *arena, const Case *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const Scene *scene =
                        scene_new(arena, cases[i].free, cases[i].reserved, cases[i].running);

                assert_spare(scene, cases[i].spare);
                assert_missing(scene, cases[i].missing);
        }
}

/* It takes its nodes' pages in turn, so half of them of each, but for an odd page of each mapping; none of
 * the nodes must run out for it. */
TEST(interleaved) {
        static const char both[] =
                "hold b.service b 2M=1:30 bind=1 counted\nunit b.service 2M=30\n"
                "hold i.service i 2M=0:50/1:50 interleave=0-1 counted\nunit i.service 2M=100\n";
        static const char half_used[] =
                "hold b.service b 2M=1:30 bind=1 counted\nunit b.service 2M=30\n"
                "hold i.service i 2M=0:50/1:50 interleave=0-1 counted\n"
                "unit i.service 2M=100/0:25/1:25\n";
        static const char strayed[] =
                "hold b.service b 2M=1:30 bind=1 counted\nunit b.service 2M=30\n"
                "hold i.service i 2M=0:50/1:50 interleave=0-1 counted\n"
                "unit i.service 2M=100/0:35/1:15\n";
        static const Case cases[] = {
                {"100/100", 130, both, "50/12", "0/0"},
                {"50/88", 130, both, "0/0", "0/0"},
                {"100/85", 130, both, "50/0", "0/3"},
                {"25/63", 80, half_used, "0/0", "0/0"},
                {"30/70", 80, half_used, "5/7", "0/0"},
                /* Twenty more than half of what is left may be for node 1. */
                {"15/93", 80, strayed, "0/13", "0/0"},
                /* It runs out of node 0, and goes on to node 1: there all 100 may be taken. */
                {"40/130", 130, both, "0/0", "10/0"},
                {"40/129", 130, both, "0/0", "10/1"},
                /* Nor must it for somebody who is bound to all nodes. */
                {"60/100", 130,
                 "hold b.service b 2M=1:30 bind=0-1 counted\nunit b.service 2M=30\n"
                 "hold i.service i 2M=0:50/1:50 interleave=0-1 counted\nunit i.service 2M=100\n",
                 "0/20", "20/0"},
                /* Where nobody is bound it does no harm. */
                {"40/90", 100,
                 "hold i.service i 2M=0:50/1:50 interleave=0-1 counted\nunit i.service 2M=100\n",
                 "30/30", "0/0"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* What is lowered beyond what is reserved would become surplus, and vanish later. */
TEST(surplus) {
        const Topology *topology = host_make(arena, "sizes 2M\nreserved 2M=40\n"
                                                    "node 0 total=20G 2M=60/60/0\n"
                                                    "node 1 total=20G 2M=30/10/20\n");
        const Promises promises = promises_make(arena, topology, 0, &(LedgerHolds){}, NULL,
                                                ledger_of_idle(arena, topology));
        const uint64_t free_pages[] = {60, 10};
        Balance *balance = balance_new(arena, &promises, free_pages);

        assert_int_equal(balance_spare_pages(balance, 0), 10);
        balance_change(balance, 0, 10, 0);
        assert_int_equal(balance_spare_pages(balance, 0), 0);
        /* 40 are reserved, and 60 free: nobody is short. */
        assert_int_equal(balance_missing_pages(balance, 0), 0);
}
