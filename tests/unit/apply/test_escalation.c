/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Escalation against kernels that follow a script. The numbers are those of facts about real ones:
 * a write that gets fewer pages succeeds; writing again at once brings nothing; compaction moves
 * what is movable; reclaim frees what compaction then puts together. */

#include "apply/escalation.h"
#include "base/size.h"
#include "support/testing.h"

/* A node that gives what it has in one piece. */
typedef struct Kernel {
        uint64_t persistent;    /* of the pool */
        uint64_t whole;         /* pages that can be had as memory is now */
        uint64_t scattered;     /* pages' worth of free memory in pieces: compaction mends it */
        uint64_t cached;        /* pages' worth of page cache: reclaim makes it scattered */
        uint64_t pinned;        /* pages' worth that nothing brings back */
        uint64_t compact_limit; /* how much one compaction mends */
        uint64_t spoilt_in_10;  /* of ten reclaimed pages so many lie beside pinned memory */
        uint64_t keep_pages;    /* not part of the room */
        uint64_t usec_per_page;
        uint64_t now_usec;
        int write_error;
        uint64_t to_pages;                /* what it is to have; 0: 100 */
        const EscalationOptions *options; /* NULL: the usual ones */
        /* What was seen. */
        uint64_t reclaimed_bytes;
        Text trace; /* "w100 r c w100" */
} Kernel;

static const uint64_t page_bytes = 2 * MIB;

static const EscalationOptions usual = {true, true, false, UINT64_MAX};

static uint64_t room_pages(const Kernel *kernel) {
        return sub_floored(kernel->whole + kernel->scattered + kernel->cached, kernel->keep_pages);
}

static EscalationView look(const Kernel *kernel) {
        return (EscalationView){
                .persistent_pages = kernel->persistent,
                .room_bytes = room_pages(kernel) * page_bytes,
                .free_bytes = (kernel->whole + kernel->scattered) * page_bytes,
                .reclaimable_bytes = kernel->cached * page_bytes,
                .now_usec = kernel->now_usec,
        };
}

static void do_write(Kernel *kernel, uint64_t pages) {
        if (kernel->write_error < 0)
                return;
        if (pages < kernel->persistent) {
                kernel->whole += kernel->persistent - pages;
                kernel->persistent = pages;
                return;
        }
        uint64_t got = MIN(pages - kernel->persistent, kernel->whole);

        kernel->persistent += got;
        kernel->whole -= got;
        kernel->now_usec += got * kernel->usec_per_page;
}

static void do_compact(Kernel *kernel) {
        uint64_t pages = MIN(kernel->scattered, kernel->compact_limit);

        kernel->scattered -= pages;
        kernel->whole += pages;
        kernel->now_usec += USEC_PER_SEC / 10;
}

static void perform(Kernel *kernel, const EscalationMove *move) {
        static const char letters[] = "wrcd";

        text_printf(&kernel->trace, "%s%c", kernel->trace.length > 0 ? " " : "",
                    letters[move->action]);
        switch (move->action) {
        case ESCALATION_WRITE:
                text_printf(&kernel->trace, "%" PRIu64, move->pages);
                do_write(kernel, move->pages);
                break;
        case ESCALATION_RECLAIM: {
                uint64_t pages = MIN(move->bytes / page_bytes, kernel->cached);

                kernel->reclaimed_bytes += move->bytes;
                kernel->cached -= pages;
                kernel->pinned += pages * kernel->spoilt_in_10 / 10;
                kernel->scattered += pages - pages * kernel->spoilt_in_10 / 10;
                break;
        }
        case ESCALATION_COMPACT:
                do_compact(kernel);
                break;
        default:
                kernel->scattered += kernel->cached;
                kernel->cached = 0;
                break;
        }
}

/* Runs to the end; checks at every step what must never happen. */
static Escalation escalate(Arena *arena, Kernel *kernel) {
        uint64_t to_pages = kernel->to_pages > 0 ? kernel->to_pages : 100;
        Escalation escalation = escalation_new(arena, page_bytes, to_pages,
                                               kernel->options ? kernel->options : &usual);

        kernel->trace = text_in(arena);
        for (unsigned step = 0;; step++) {
                EscalationView view = look(kernel);
                EscalationMove move = escalation_next(&escalation, &view);
                uint64_t before = kernel->persistent, start = kernel->now_usec;

                assert_true(step < 500);
                /* It says no more than what is to be done. */
                assert_true(move.action == ESCALATION_WRITE || move.pages == 0);
                assert_true(move.action == ESCALATION_RECLAIM || move.bytes == 0);
                if (move.action == ESCALATION_DONE) {
                        assert_int_equal(escalation.records.n, step);
                        return escalation;
                }
                if (move.action == ESCALATION_WRITE) {
                        assert_true(move.pages <= MAX(to_pages, before));
                        if (move.pages > before)
                                assert_true(move.pages - before <= room_pages(kernel));
                }
                perform(kernel, &move);
                escalation_report(&escalation, &move,
                                  &(EscalationRecord){.action = move.action,
                                                      .pages_before = before,
                                                      .pages_after = kernel->persistent,
                                                      .usec = kernel->now_usec - start,
                                                      .error = move.action == ESCALATION_WRITE
                                                                       ? kernel->write_error
                                                                       : 0});
        }
}

/* "w100 c w100: 100 pages, 1 rounds, 0 idle", and what is not as usual. */
static const char *escalated(Arena *arena, const Kernel *before) {
        Kernel kernel = *before;
        const Escalation escalation = escalate(arena, &kernel);
        Text text = text_in(arena);

        text_printf(&text, "%s: %" PRIu64 " pages, %u rounds, %u idle",
                    text_excerpt(arena, text_string(&kernel.trace), 90), kernel.persistent,
                    escalation.n_rounds, escalation.idle_rounds);
        if (kernel.reclaimed_bytes > 0)
                text_printf(&text, ", %" PRIu64 " reclaimed", kernel.reclaimed_bytes / page_bytes);
        if (escalation.is_clamped)
                text_add(&text, ", clamped");
        if (escalation.write_error < 0)
                text_printf(&text, ", %s", strerrorname_np(-escalation.write_error));
        return text_string(&text);
}

TEST(moves) {
        static const EscalationOptions everything = {true, true, true, UINT64_MAX};
        static const EscalationOptions nothing = {false, false, false, UINT64_MAX};
        static const EscalationOptions no_compact = {false, true, false, UINT64_MAX};
        static const EscalationOptions no_reclaim = {true, false, false, UINT64_MAX};
        static const EscalationOptions only_drop = {false, false, true, UINT64_MAX};
        /* Compacting takes 0.1 s: three rounds begin before the one, and none when the other has come. */
        static const EscalationOptions until_250 = {true, true, false, 250 * USEC_PER_MSEC};
        static const EscalationOptions until_200 = {true, true, false, 200 * USEC_PER_MSEC};
        static const struct {
                Kernel kernel;
                const char *escalated;
        } cases[] = {
                {{.persistent = 10, .whole = 100, .to_pages = 10}, ": 10 pages, 0 rounds, 0 idle"},
                {{.whole = 1000}, "w100: 100 pages, 0 rounds, 0 idle"},
                /* 1 GiB first; quick slices grow, slow ones (here of 50 pages a second) shrink. */
                {{.whole = 100000, .to_pages = 20000},
                 "w512 w4608 w20000: 20000 pages, 0 rounds, 0 idle"},
                {{.whole = 10000, .usec_per_page = 20000, .to_pages = 1000},
                 "w512 w640 w672 w704 w736 w768 w800 w832 w864 w896 w928 w960 w992 w1000: 1000 pages, 0 rounds, 0 idle"},
                /* What is in use is not given back; it is not tried twice. */
                {{.persistent = 100, .to_pages = 40}, "w40: 40 pages, 0 rounds, 0 idle"},
                {{.persistent = 100, .write_error = -EBUSY, .to_pages = 40},
                 "w40: 100 pages, 0 rounds, 0 idle, EBUSY"},
                /* 40 of 100 pages at once, the rest free but scattered: compaction alone. */
                {{.whole = 40, .scattered = 200, .compact_limit = 1000},
                 "w100 c w100: 100 pages, 1 rounds, 0 idle"},
                /* Full of page cache: reclaim what is missing and an eighth, compact, write. */
                {{.whole = 20, .cached = 500, .compact_limit = 1000},
                 "w100 r c w100: 100 pages, 1 rounds, 0 idle, 90 reclaimed"},
                /* Where twice as much is free as is missing, compaction is to put it together, and the cache stays. */
                {{.scattered = 200, .cached = 500, .compact_limit = 1000},
                 "w100 c w100: 100 pages, 1 rounds, 0 idle"},
                {{.scattered = 199, .cached = 500, .compact_limit = 1000},
                 "w100 r c w100: 100 pages, 1 rounds, 0 idle, 112 reclaimed"},
                /* As long as rounds bring pages they go on, but not for ever: others wait to be served. */
                {{.whole = 10, .scattered = 200, .compact_limit = 20},
                 "w100 c w100 c w100 c w100 c w100 c w100: 100 pages, 5 rounds, 0 idle"},
                {{.scattered = 10000, .compact_limit = 1, .to_pages = 1000},
                 "w512 c w512 c w513 c w514 c w515 c w516 c w517 c w518 c w519 c w520 c w521 c w522 c w52...: 64 pages, 64 rounds, 0 idle"},
                /* Three idle ones end it; the second reclaims although memory is free, for compaction brought
                 * nothing. */
                {{.whole = 30, .scattered = 300, .cached = 300},
                 "w100 c w100 r c w100 r c w100: 30 pages, 3 rounds, 3 idle, 236 reclaimed"},
                {{.whole = 30, .scattered = 300}, "w100 c w100 c w100: 30 pages, 2 rounds, 2 idle"},
                /* A gain in between begins the count anew. */
                {{.whole = 30, .scattered = 5, .cached = 300, .compact_limit = 5, .to_pages = 45},
                 "w45 r c w45 r c w45 c w45: 45 pages, 3 rounds, 0 idle, 39 reclaimed"},
                /* Most of what is reclaimed lies beside pinned memory: the second reclaim asks for twice as
                 * much, the third for four times, and so on up to eight times what is missing. */
                {{.whole = 20, .cached = 2000, .compact_limit = 1000, .spoilt_in_10 = 9},
                 "w100 r c w100 r c w100 r c w100 r c w100 r c w100: 100 pages, 5 rounds, 0 idle, 794 reclaimed"},
                /* Where it brings nothing at all, it ends with four times what is missing. */
                {{.whole = 20, .cached = 2000, .compact_limit = 1000, .spoilt_in_10 = 10},
                 "w100 r c w100 r c w100 r c w100: 20 pages, 3 rounds, 3 idle, 630 reclaimed"},
                /* Never more than there is. */
                {{.whole = 20, .cached = 100, .compact_limit = 1000, .spoilt_in_10 = 10},
                 "w100 r c w30 r: 20 pages, 2 rounds, 1 idle, 100 reclaimed, clamped"},
                /* Caches are dropped once, and only when nothing else has helped. */
                {{.whole = 30, .scattered = 500, .cached = 50, .options = &everything},
                 "w100 c w100 r c w100 d c w100 c w100: 30 pages, 4 rounds, 2 idle, 50 reclaimed"},
                {{.whole = 40, .scattered = 200, .compact_limit = 1000, .options = &everything},
                 "w100 c w100: 100 pages, 1 rounds, 0 idle"},
                {{.whole = 30, .scattered = 500, .options = &only_drop},
                 "w100 w100 w100 d w100 w100: 30 pages, 4 rounds, 2 idle"},
                {{.whole = 30, .scattered = 300, .compact_limit = 1000, .options = &nothing},
                 "w100: 30 pages, 0 rounds, 0 idle"},
                {{.whole = 30, .cached = 300, .compact_limit = 1000, .options = &no_compact},
                 "w100 r w100 r w100 r w100: 30 pages, 3 rounds, 3 idle, 301 reclaimed"},
                {{.whole = 30, .cached = 300, .compact_limit = 1000, .options = &no_reclaim},
                 "w100 c w100 c w100: 30 pages, 2 rounds, 2 idle"},
                /* Never more than there is room for, however much was planned. */
                {{.whole = 100, .keep_pages = 40, .to_pages = 90},
                 "w60: 60 pages, 0 rounds, 0 idle, clamped"},
                {{.whole = 100, .keep_pages = 200, .to_pages = 90},
                 ": 0 pages, 0 rounds, 0 idle, clamped"},
                {{.whole = 10,
                  .scattered = 10000,
                  .compact_limit = 10,
                  .to_pages = 1000,
                  .options = &until_250},
                 "w512 c w522 c w532 c w542: 40 pages, 3 rounds, 0 idle"},
                {{.whole = 10,
                  .scattered = 10000,
                  .compact_limit = 10,
                  .to_pages = 1000,
                  .options = &until_200},
                 "w512 c w522 c w532: 30 pages, 2 rounds, 0 idle"},
                /* A deadline that is over still lets the plain writes happen. */
                {{.whole = 5000,
                  .now_usec = 10 * USEC_PER_SEC,
                  .to_pages = 1000,
                  .options = &until_200},
                 "w512 w1000: 1000 pages, 0 rounds, 0 idle"},
                {{.whole = 50,
                  .scattered = 5000,
                  .compact_limit = 1000,
                  .now_usec = 10 * USEC_PER_SEC,
                  .to_pages = 1000,
                  .options = &until_200},
                 "w512: 50 pages, 0 rounds, 0 idle"},
                {{.whole = 1000, .write_error = -EINVAL, .options = &everything},
                 "w100: 0 pages, 0 rounds, 0 idle, EINVAL"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_text(escalated(arena, &cases[i].kernel), cases[i].escalated);
}

/* A slice that took about as long as it should is followed by one of its size, a quick one by eight times as
 * much, a slow one by a quarter, but never by less than one page. */
TEST(slices_fit_time) {
        static const struct {
                uint64_t page_size_bytes, usec, first, second;
        } cases[] = {
                {2 * MIB, 50 * USEC_PER_MSEC - 1, 512, 512 + 8 * 512},
                {2 * MIB, 50 * USEC_PER_MSEC, 512, 512 + 512},
                {2 * MIB, 400 * USEC_PER_MSEC, 512, 512 + 512},
                {2 * MIB, 400 * USEC_PER_MSEC + 1, 512, 512 + 128},
                {GIB, USEC_PER_SEC, 1, 2},
                {16 * GIB, USEC_PER_SEC, 1, 2},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                Escalation escalation =
                        escalation_new(arena, cases[i].page_size_bytes, 10000, &usual);
                EscalationView view = {0, UINT64_MAX, UINT64_MAX, 0, 0};
                EscalationMove move = escalation_next(&escalation, &view);

                assert_int_equal(move.pages, cases[i].first);
                escalation_report(
                        &escalation, &move,
                        &(EscalationRecord){ESCALATION_WRITE, 0, move.pages, cases[i].usec, 0});
                view.persistent_pages = move.pages;
                assert_int_equal(escalation_next(&escalation, &view).pages, cases[i].second);
        }
}

/* Memory that goes away between two slices is not asked for. */
TEST(room_is_looked_at_every_time) {
        Escalation escalation = escalation_new(arena, page_bytes, 1000, &usual);
        EscalationView view = {0, 1000 * page_bytes, 1000 * page_bytes, 0, 0};
        EscalationMove move = escalation_next(&escalation, &view);

        assert_int_equal(move.action, ESCALATION_WRITE);
        assert_int_equal(move.pages, 512);
        escalation_report(&escalation, &move,
                          &(EscalationRecord){ESCALATION_WRITE, 0, 512, 1000, 0});
        view = (EscalationView){512, 10 * page_bytes, 1000 * page_bytes, 0, 0};
        move = escalation_next(&escalation, &view);
        assert_int_equal(move.action, ESCALATION_WRITE);
        assert_int_equal(move.pages, 522);
}

/* A reclaim or compaction that fails is no reason to stop: EAGAIN is its way to say "not all". */
TEST(failed_reclaim_goes_on) {
        Escalation escalation = escalation_new(arena, page_bytes, 100, &usual);
        EscalationView view = {0, 1000 * page_bytes, 0, 1000 * page_bytes, 0};
        EscalationMove move = escalation_next(&escalation, &view);

        escalation_report(&escalation, &move, &(EscalationRecord){ESCALATION_WRITE, 0, 10, 1, 0});
        view.persistent_pages = 10;
        move = escalation_next(&escalation, &view);
        assert_int_equal(move.action, ESCALATION_RECLAIM);
        escalation_report(&escalation, &move,
                          &(EscalationRecord){ESCALATION_RECLAIM, 10, 10, 1, -EAGAIN});
        move = escalation_next(&escalation, &view);
        assert_int_equal(move.action, ESCALATION_COMPACT);
        escalation_report(&escalation, &move,
                          &(EscalationRecord){ESCALATION_COMPACT, 10, 10, 1, -EINTR});
        move = escalation_next(&escalation, &view);
        assert_int_equal(move.action, ESCALATION_WRITE);
        assert_int_equal(move.pages, 100);
        assert_int_equal(escalation.write_error, 0);
}

/* Pages that come by themselves (a DBA's echo) end it, also beyond the target. */
TEST(pool_grows_by_itself) {
        Escalation escalation = escalation_new(arena, page_bytes, 100, &usual);
        EscalationView view = {0, 1000 * page_bytes, 1000 * page_bytes, 0, 0};
        EscalationMove move = escalation_next(&escalation, &view);

        escalation_report(&escalation, &move, &(EscalationRecord){ESCALATION_WRITE, 0, 10, 1, 0});
        view.persistent_pages = 100;
        assert_int_equal(escalation_next(&escalation, &view).action, ESCALATION_DONE);
        view.persistent_pages = 150;
        assert_int_equal(escalation_next(&escalation, &view).action, ESCALATION_DONE);
}

TEST(huge_numbers) {
        Escalation escalation = escalation_new(arena, page_bytes, UINT64_MAX, &usual);
        EscalationView view = {5, UINT64_MAX, UINT64_MAX, 0, 0};
        EscalationMove move = escalation_next(&escalation, &view);

        assert_int_equal(move.action, ESCALATION_WRITE);
        assert_true(move.pages == 5 + 512);
        /* Pages larger than a slice: one at a time. */
        escalation = escalation_new(arena, 16 * GIB, 3, &usual);
        view = (EscalationView){0, 64 * GIB, 64 * GIB, 0, 0};
        assert_true(escalation_next(&escalation, &view).pages == 1);
}

TEST(action_names) {
        assert_text(escalation_action_name(ESCALATION_WRITE), "write");
        assert_text(escalation_action_name(ESCALATION_RECLAIM), "reclaim");
        assert_text(escalation_action_name(ESCALATION_COMPACT), "compact");
        assert_text(escalation_action_name(ESCALATION_DROP_CACHES), "drop-caches");
}
