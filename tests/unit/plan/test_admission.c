/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Who may start beside those that run, and who may take whose pages. That they can touch them all in any
 * order is in property/. */

#include "base/size.h"
#include "plan/promise/admission.h"
#include "support/testing.h"

enum { NODES_MAX = 4, STARTERS_MAX = 4 };

typedef struct Scene {
        Arena *arena;
        Topology *topology;
        Running running;
        Promises promises;
        uint64_t free_pages[NODES_MAX];
} Scene;

/* Nodes with so many FREE pages of 2M ("40/30"), of which RESERVED are mapped, and who runs there. */
static Scene *scene_new(Arena *arena, const char *free, unsigned reserved, const char *running) {
        Scene *scene = ARENA_NEW(arena, Scene);
        Text host = text_in(arena);
        const char *word;
        size_t n = 0;

        text_printf(&host, "sizes 2M\nreserved 2M=%u\n", reserved);
        while ((word = text_next_word(arena, &free, "/"))) {
                assert_int_equal(parse_u64(word, &scene->free_pages[n]), 0);
                text_printf(&host, "node %zu total=20G 2M=%s\n", n++, word);
        }
        scene->arena = arena;
        scene->topology = host_make(arena, text_string(&host));
        scene->running = running_make(arena, running);
        scene->promises = promises_make(arena, scene->topology, 0, &scene->running.holds,
                                        &scene->running.use,
                                        ledger_of_idle(arena, scene->topology));
        return scene;
}

/* "a 40 bind=1 now", "b 20 plan=0:10/1:10 mount" */
static Starter starter_make(Arena *arena, const char *text) {
        Starter starter = {.policy = {.kind = MEMORY_POLICY_ANY}};
        const char *word;

        starter.instance = text_next_word(arena, &text, " ");
        assert_int_equal(parse_u64(text_next_word(arena, &text, " "), &starter.pages), 0);
        while ((word = text_next_word(arena, &text, " "))) {
                if (text_equals(word, "now"))
                        starter.is_now = true;
                else if (text_equals(word, "mount"))
                        starter.has_mount = true;
                else if (text_starts_with(word, "plan=")) {
                        const Running planned = running_make(
                                arena, arena_printf(arena, "hold x x 2M=%s\n", word + 5));

                        starter.grants = planned.holds.items[0].granted.grants.items;
                        starter.n_grants = planned.holds.items[0].granted.grants.n;
                } else
                        starter.policy =
                                running_make(arena, arena_printf(arena, "hold x x %s\n", word))
                                        .holds.items[0]
                                        .policy;
        }
        return starter;
}

/* "15 on 1: 30 free, 40 taken by c.service"; "-": nothing. */
static char *lack_text(Arena *arena, const Lack *lack) {
        if (lack->pages == 0)
                return arena_strdup(arena, "-");
        return arena_printf(arena, "%" PRIu64 " on %s: %" PRIu64 " free, %" PRIu64 " taken by %s",
                            lack->pages, id_set_format(arena, &lack->nodes), lack->free_pages,
                            lack->taken_pages, lack->taker ? lack->taker : "?");
}

/* What those in STARTERS lack, one to a line in both. */
static char *admit(const Scene *scene, const char *starters) {
        Arena *arena = scene->arena;
        Starter list[STARTERS_MAX];
        Lack lacks[STARTERS_MAX];
        Text text = text_in(arena);
        const char *line;
        size_t n = 0;

        while ((line = text_next_word(arena, &starters, "\n")))
                list[n++] = starter_make(arena, line);
        promises_admit(arena, &scene->promises, scene->free_pages, list, n, lacks);
        for (size_t i = 0; i < n; i++)
                text_printf(&text, "%s%s", i > 0 ? "\n" : "", lack_text(arena, &lacks[i]));
        return arena_strdup(arena, text_string(&text));
}

typedef struct Case {
        const char *free;
        unsigned reserved;
        const char *running, *starters, *lacks;
} Case;

static void assert_cases(Arena *arena, const Case *cases, size_t n) {
        for (size_t i = 0; i < n; i++)
                assert_text(
                        admit(scene_new(arena, cases[i].free, cases[i].reserved, cases[i].running),
                              cases[i].starters),
                        cases[i].lacks);
}

#define ANY_40   "hold c.service c 2M=0:40 counted\nunit c.service 2M=40\n"
#define BOUND_70 "hold d.service d 2M=1:70 bind=1 counted\nunit d.service 2M=70\n"
#define BOUND_30 "hold b.service b 2M=1:30 bind=1 counted\nunit b.service 2M=30\n"

/* ---- one starter ---- */

/* Any node's pages will do for it, but those that others were promised. */
TEST(unbound) {
        static const Case cases[] = {
                {"60/40", 0, "", "a 100 now", "-"},
                {"60/40", 0, "", "a 101 now", "1 on 0-1: 100 free, 0 taken by ?"},
                {"60/40", 40, ANY_40, "a 60 now", "-"},
                {"60/40", 40, ANY_40, "a 70 now", "10 on 0-1: 100 free, 40 taken by c.service"},
                {"60/40", 30, "", "a 80 now", "10 on 0-1: 100 free, 30 taken by ?"},
                /* What was granted and is not even mapped is no more to be had. */
                {"60/40", 10, "hold c.service c 2M=0:40 counted\nunit c.service 2M=10\n",
                 "a 61 now", "1 on 0-1: 100 free, 40 taken by c.service"},
                /* It takes its own node's pages first, and one neighbour depends on them. */
                {"60/40", 30, BOUND_30, "a 10 now", "-"},
                {"60/40", 30, BOUND_30, "a 11 now", "1 on 1: 40 free, 30 taken by b.service"},
                {"200/40", 30, BOUND_30, "a 100 now", "90 on 1: 40 free, 30 taken by b.service"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* Its nodes' pages will do, whoever else may take them. */
TEST(bound) {
        static const Case cases[] = {
                {"60/40", 0, "", "a 40 bind=1 now", "-"},
                {"60/40", 0, "", "a 41 bind=1 now", "1 on 1: 40 free, 0 taken by ?"},
                {"60/40", 40, ANY_40, "a 10 bind=1 now", "10 on 1: 40 free, 40 taken by c.service"},
                {"60/50", 40, ANY_40, "a 10 bind=1 now", "-"},
                {"60/40", 30, BOUND_30, "a 10 bind=1 now", "-"},
                {"60/40", 30, BOUND_30, "a 60 bind=0 now", "-"},
                {"60/40", 30, BOUND_30, "a 61 bind=0 now", "1 on 0: 60 free, 0 taken by ?"},
                /* It may take them all of the node to which the other one is bound. */
                {"60/40", 30, BOUND_30, "a 70 bind=0-1 now",
                 "60 on 1: 40 free, 30 taken by b.service"},
                {"60/40", 30, BOUND_30, "a 20 bind=0-1 now",
                 "10 on 1: 40 free, 30 taken by b.service"},
                /* It lacks no more than it wants. */
                {"60/0", 30, BOUND_30, "a 7 bind=1 now", "7 on 1: 0 free, 0 taken by b.service"},
                /* Of the neighbours the one that might take others' pages there, and not who cannot. */
                {"40/130", 110, ANY_40 BOUND_70, "a 60 bind=1 now",
                 "40 on 1: 130 free, 110 taken by c.service"},
                {"60/100", 110, ANY_40 BOUND_70, "a 60 bind=0 now",
                 "40 on 0: 60 free, 40 taken by c.service"},
                {"60/50", 110, ANY_40 BOUND_70, "a 60 bind=0 now",
                 "60 on 0-1: 110 free, 110 taken by c.service"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* It takes them in turn, if none of its nodes runs out; else anywhere. */
TEST(interleaved) {
        static const Case cases[] = {
                {"60/60", 30, BOUND_30, "a 40 interleave=0-1 now", "-"},
                {"60/60", 30, BOUND_30, "a 44 interleave=0-1 now", "-"},
                {"60/60", 30, BOUND_30, "a 45 interleave=0-1 now",
                 "1 on 1: 60 free, 30 taken by b.service"}, /* 23, and 8 for odd pages */
                /* Node 0 runs out, and all of it may be on node 1. */
                {"21/60", 30, BOUND_30, "a 44 interleave=0-1 now",
                 "14 on 1: 60 free, 30 taken by b.service"},
                {"60/60", 30, BOUND_30, "a 60 interleave=0 now", "-"},
                {"60/60", 30, BOUND_30, "a 61 interleave=0 now",
                 "31 on 1: 60 free, 30 taken by b.service"},
                {"21/60", 0, "", "a 80 interleave=0-1 now", "-"},
                {"21/60", 0, "", "a 82 interleave=0-1 now", "1 on 0-1: 81 free, 0 taken by ?"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* Beside one that interleaves: its turns are reckoned with, as long as none of its nodes can run out. */
TEST(beside_interleaved) {
        static const char running[] =
                "hold i.service i 2M=0:40/1:40 interleave=0-1 counted\nunit i.service 2M=80\n";
        static const Case cases[] = {
                {"60/60", 80, running, "a 12 bind=1 now", "-"},
                {"60/60", 80, running, "a 13 bind=1 now", "1 on 1: 60 free, 48 taken by i.service"},
                {"60/60", 80, running, "a 20 bind=0 now", "8 on 0: 60 free, 48 taken by i.service"},
                {"39/90", 80, running, "a 10 bind=1 now", "-"},
                {"39/90", 80, running, "a 11 bind=1 now", "1 on 1: 90 free, 80 taken by i.service"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* It takes no page of node 2; but where it takes all of node 0, whose turn it was there goes on to node 2. */
TEST(pushing_others) {
        static const char running[] =
                "hold i.service i 2M=0:20/1:20 interleave=0-1 counted\nunit i.service 2M=40\n"
                "hold b.service b 2M=2:10 bind=2 counted\nunit b.service 2M=10\n";
        static const Case cases[] = {
                {"40/40/18", 50, running, "a 40 bind=0-1 now",
                 "32 on 2: 18 free, 18 taken by i.service"},
                {"40/40/50", 50, running, "a 40 bind=0-1 now", "-"},
                {"60/60/18", 50, running, "a 40 bind=0-1 now", "-"},
                /* Each of the two by itself takes less than there is. */
                {"60/60/18", 50, running, "a 20 bind=0-1 now\nc 21 bind=0-1 now",
                 "-\n21 on 2: 18 free, 18 taken by i.service"},
                {"40/40/18", 50, running, "a 40 bind=0-1 plan=0:20/1:20", "-"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* Who is not there yet will be asked when it comes: till then it has what was planned for it. */
TEST(planned) {
        static const Case cases[] = {
                {"60/40", 30, BOUND_30, "a 70 plan=0:60/1:10", "-"},
                {"60/40", 30, BOUND_30, "a 70 plan=0:59/1:11",
                 "1 on 1: 40 free, 30 taken by b.service"},
                {"60/40", 30, BOUND_30, "a 20 bind=0-1 plan=0:20", "-"},
                {"40/60", 30, "hold b.service b 2M=0:30 bind=0 counted\nunit b.service 2M=30\n",
                 "a 20 plan=0:20", "10 on 0: 40 free, 30 taken by b.service"},
                {"60/40", 40, ANY_40, "a 10 bind=1 plan=1:10",
                 "10 on 1: 40 free, 40 taken by c.service"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* Where nobody is bound who has still something to touch, it is nobody's harm where pages are taken. */
TEST(nobody_to_harm) {
        static const Case cases[] = {
                {"60/40", 0, "hold b.service b 2M=1:30 bind=1 counted\nunit b.service 2M=30/1:30\n",
                 "a 100 now", "-"},
                {"60/40", 1, "hold b.service b 2M=1:30 bind=1 counted\nunit b.service 2M=30/1:29\n",
                 "a 99 now", "60 on 1: 40 free, 1 taken by b.service"},
                /* Who comes later is not there to be harmed: it is he who lacks something. */
                {"60/40", 0, "", "a 100 now\nb 1 bind=1 now",
                 "-\n1 on 0-1: 100 free, 100 taken by ?"},
                {"60/40", 0, "", "b 1 bind=1 now\na 99 now", "-\n60 on 1: 40 free, 1 taken by ?"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* ---- several ---- */

/* Each after those before it. */
TEST(in_order) {
        static const Case cases[] = {
                {"60/40", 0, "", "a 60 now\nb 50 now", "-\n10 on 0-1: 100 free, 60 taken by ?"},
                {"60/40", 0, "", "b 50 now\na 60 now", "-\n10 on 0-1: 100 free, 50 taken by ?"},
                {"60/40", 0, "", "a 30 plan=0:15/1:15\nb 30 bind=1 now",
                 "-\n5 on 1: 40 free, 15 taken by ?"},
                {"60/40", 0, "", "a 30 now\nb 30 bind=1 now", "-\n20 on 1: 40 free, 30 taken by ?"},
                /* What somebody lacks he has taken from nobody. */
                {"60/40", 0, "", "a 120 now\nb 10 now\nc 1 bind=0 now",
                 "20 on 0-1: 100 free, 0 taken by ?\n10 on 0-1: 100 free, 100 taken by ?\n"
                 "1 on 0-1: 100 free, 100 taken by ?"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* ---- promises of nobody who is known ---- */

/* They are held against somebody who is bound only as far as other nodes cannot serve them; the rest is an
 * exposure. */
TEST(unknown) {
        static const Case cases[] = {
                {"60/40", 60, "", "a 40 bind=1 now", "-"},
                {"60/40", 61, "", "a 40 bind=1 now", "1 on 0-1: 100 free, 61 taken by ?"},
                {"60/40", 60, "", "a 41 now", "1 on 0-1: 100 free, 60 taken by ?"},
                {"0/40", 20, "", "a 30 bind=1 now", "10 on 0-1: 40 free, 20 taken by ?"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* Where nobody counts for a unit that runs, its pages are likely among them: they count once, and as
 * its own. */
TEST(likely) {
        static const Case cases[] = {
                {"60/40", 40, "hold b.service b 2M=1:30 bind=1\nunit b.service\n", "a 60 now",
                 "50 on 1: 40 free, 30 taken by b.service"},
                {"60/40", 40, "hold b.service b 2M=1:30 bind=1\nunit b.service\n", "a 10 now", "-"},
                {"60/40", 40, "hold b.service b 2M=0:30\nunit b.service\n", "a 60 now", "-"},
                {"60/40", 40, "hold b.service b 2M=0:30\nunit b.service\n", "a 61 now",
                 "1 on 0-1: 100 free, 40 taken by b.service"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* ---- mounts ---- */

/* What is earmarked is for whom the mount is, and nobody else. */
TEST(mount_of_ones_own) {
        static const Case cases[] = {
                {"60/40", 50, "mount a 2M=50/0\n", "a 100 now mount", "-"},
                {"60/40", 50, "mount a 2M=50/0\n", "a 100 now",
                 "50 on 0-1: 100 free, 50 taken by ?"},
                {"60/40", 50, "mount b 2M=50/0\n", "a 100 now mount",
                 "50 on 0-1: 100 free, 50 taken by ?"},
                {"60/40", 70, "mount a 2M=50/0\nmount b 2M=20/0\n", "a 100 now mount",
                 "20 on 0-1: 100 free, 20 taken by ?"},
                /* The earmark is of no node. */
                {"60/40", 50, "mount a 2M=50/0\n", "a 40 bind=1 now mount", "-"},
                {"60/40", 50, "mount a 2M=50/0\n", "a 50 bind=1 now mount",
                 "10 on 1: 40 free, 0 taken by ?"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* ---- exposures and losses ---- */

/* "15 of b.service on 1 by c.service (40)", one to a line; "-": none. */
static char *exposures_text(const Scene *scene) {
        Exposures exposures =
                promises_exposures(scene->arena, &scene->promises, scene->free_pages, false);
        Text text = text_in(scene->arena);

        VEC_FOREACH(exposure, &exposures)
                text_printf(&text, "%s%" PRIu64 " of %s on %s by %s (%" PRIu64 ")",
                            text.length > 0 ? "\n" : "", exposure->pages, exposure->unit,
                            id_set_format(scene->arena, &exposure->nodes),
                            exposure->taker ? exposure->taker : "?", exposure->taker_pages);
        return arena_strdup(scene->arena, text.length > 0 ? text_string(&text) : "-");
}

TEST(exposures) {
        static const struct {
                const char *free;
                unsigned reserved;
                const char *running, *exposures;
        } cases[] = {
                {"60/70", 70, BOUND_30 ANY_40, "-"},
                {"60/69", 70, BOUND_30 ANY_40, "1 of b.service on 1 by c.service (40)"},
                {"60/30", 70, BOUND_30 ANY_40, "30 of b.service on 1 by c.service (40)"},
                /* A neighbour that is confined to the node has there what is its own. */
                {"60/90", 120,
                 BOUND_30 ANY_40 "hold d.service d 2M=1:50 bind=1 counted\nunit d.service 2M=50\n",
                 "30 of b.service on 1 by c.service (40)\n30 of d.service on 1 by c.service (40)"},
                {"60/90", 100,
                 BOUND_30 "hold d.service d 2M=1:50 bind=1 counted\nunit d.service 2M=50\n",
                 "10 of b.service on 1 by ? (20)\n10 of d.service on 1 by ? (20)"},
                /* Of nobody who is known there are more. */
                {"60/40", 80, BOUND_30, "30 of b.service on 1 by ? (50)"},
                {"60/40", 105, BOUND_30 ANY_40, "30 of b.service on 1 by c.service (40)"},
                {"60/40", 115, BOUND_30 ANY_40, "30 of b.service on 1 by ? (45)"},
                /* What is not mapped yet cannot be lost; it may still be refused. */
                {"60/40", 40,
                 "hold b.service b 2M=1:30 bind=1 counted\nunit b.service 2M=0\n" ANY_40, "-"},
                /* Two are bound to one node: there is too little for both. */
                {"60/40", 40,
                 BOUND_30 "hold d.service d 2M=1:30 bind=1 counted\nunit d.service 2M=10\n",
                 "20 of b.service on 1 by d.service (30)\n10 of d.service on 1 by b.service (30)"},
                /* Two may take as much: the first is named. */
                {"60/40", 110,
                 BOUND_30 ANY_40 "hold d.service d 2M=0:40 counted\nunit d.service 2M=40\n",
                 "30 of b.service on 1 by c.service (40)"},
                /* What is lost already is none. */
                {"60/20", 70, BOUND_30 ANY_40, "20 of b.service on 1 by c.service (40)"},
                {"60/0", 30, BOUND_30, "-"},
                /* Who is bound to nothing loses nothing. */
                {"10/0", 70, ANY_40, "-"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(exposures_text(scene_new(arena, cases[i].free, cases[i].reserved,
                                                     cases[i].running)),
                            cases[i].exposures);
}

/* Pages that were promised, and that nothing can serve any more. */
TEST(lost) {
        static const char nested[] =
                "hold a.service a 2M=0:30 bind=0-1 counted\nunit a.service 2M=30\n"
                "hold b.service b 2M=1:30 bind=1 counted\nunit b.service 2M=30\n";
        static const struct {
                const char *free, *running, *unit;
                uint64_t lost;
        } cases[] = {
                {"60/30", BOUND_30, "b.service", 0},
                {"60/29", BOUND_30, "b.service", 1},
                {"60/0", BOUND_30, "b.service", 30},
                {"60/0", BOUND_30, "x.service", 0},
                {"0/0", ANY_40, "c.service", 0},
                /* Only promises that these nodes alone can serve stand against them. */
                {"60/20", nested, "b.service", 10},
                {"60/20", nested, "a.service", 0},
                {"20/30", nested, "a.service", 10},
                {"20/30", nested, "b.service", 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Scene *scene = scene_new(arena, cases[i].free, 100, cases[i].running);

                assert_int_equal(
                        promises_lost_pages(&scene->promises, cases[i].unit, scene->free_pages),
                        cases[i].lost);
        }
}
