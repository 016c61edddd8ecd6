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
        /* What was seen. */
        uint64_t most_asked, n_writes, n_reclaims, n_compacts, n_drops, reclaimed_bytes;
        Text trace; /* "w100 r c w100" */
} Kernel;

static const uint64_t page_bytes = 2 * MIB;

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
        kernel->n_writes++;
        kernel->most_asked = MAX(kernel->most_asked, pages);
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

        kernel->n_compacts++;
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

                kernel->n_reclaims++;
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
                kernel->n_drops++;
                kernel->scattered += kernel->cached;
                kernel->cached = 0;
                break;
        }
}

/* Runs to the end; checks at every step what must never happen. */
static Escalation escalate(Arena *arena, Kernel *kernel, uint64_t to_pages,
                           const EscalationOptions *options) {
        Escalation escalation = escalation_new(arena, page_bytes, to_pages, options);

        kernel->trace = text_in(arena);
        for (unsigned step = 0;; step++) {
                EscalationView view = look(kernel);
                EscalationMove move = escalation_next(&escalation, &view);
                uint64_t before = kernel->persistent, start = kernel->now_usec;

                assert_true(step < 500);
                /* It says no more than what is to be done. */
                assert_true(move.action == ESCALATION_WRITE || move.pages == 0);
                assert_true(move.action == ESCALATION_RECLAIM || move.bytes == 0);
                if (move.action == ESCALATION_DONE)
                        return escalation;
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

static const EscalationOptions everything = {true, true, true, UINT64_MAX};
static const EscalationOptions usual = {true, true, false, UINT64_MAX};
static const EscalationOptions nothing = {false, false, false, UINT64_MAX};

TEST(nothing_to_do) {
        Kernel kernel = {.persistent = 10, .whole = 100};

        escalate(arena, &kernel, 10, &usual);
        assert_text(text_string(&kernel.trace), "");
}

TEST(one_write) {
        Kernel kernel = {.persistent = 0, .whole = 1000};
        Escalation escalation = escalate(arena, &kernel, 100, &usual);

        assert_text(text_string(&kernel.trace), "w100");
        assert_int_equal(escalation.records.n, 1);
        assert_int_equal(escalation.n_rounds, 0);
        assert_false(escalation.is_clamped);
}

TEST(slices) {
        Kernel kernel = {.whole = 100000};

        /* 1 GiB first; quick slices grow. */
        escalate(arena, &kernel, 20000, &usual);
        assert_text(text_string(&kernel.trace), "w512 w4608 w20000");
        assert_int_equal(kernel.persistent, 20000);
}

TEST(slow_slices_shrink) {
        Kernel kernel = {.whole = 10000, .usec_per_page = 20000}; /* 50 pages a second */

        escalate(arena, &kernel, 1000, &usual);
        assert_text(text_string(&kernel.trace),
                    "w512 w640 w672 w704 w736 w768 w800 w832 w864 w896 w928 w960 w992 w1000");
        assert_int_equal(kernel.persistent, 1000);
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

TEST(gives_back_once) {
        Kernel kernel = {.persistent = 100};

        escalate(arena, &kernel, 40, &usual);
        assert_text(text_string(&kernel.trace), "w40");
        /* What is in use stays; it is not tried twice. */
        kernel = (Kernel){.persistent = 100, .write_error = -EBUSY};
        escalate(arena, &kernel, 40, &usual);
        assert_text(text_string(&kernel.trace), "w40");
        assert_int_equal(kernel.persistent, 100);
}

/* 40 of 100 pages at once, the rest free but scattered: compaction alone. */
TEST(fragmented) {
        Kernel kernel = {.whole = 40, .scattered = 200, .compact_limit = 1000};
        Escalation escalation = escalate(arena, &kernel, 100, &usual);

        assert_text(text_string(&kernel.trace), "w100 c w100");
        assert_int_equal(kernel.persistent, 100);
        assert_int_equal(escalation.n_rounds, 1);
}

/* Full of page cache: reclaim what is missing and an eighth, compact, write. */
TEST(page_cache) {
        Kernel kernel = {.whole = 20, .cached = 500, .compact_limit = 1000};

        escalate(arena, &kernel, 100, &usual);
        assert_text(text_string(&kernel.trace), "w100 r c w100");
        assert_int_equal(kernel.persistent, 100);
        assert_true(kernel.reclaimed_bytes == 80 * page_bytes / 8 * 9);
}

/* Where twice as much is free as is missing, compaction is to put it together, and the cache stays. */
TEST(reclaims_where_little_is_free) {
        Kernel kernel = {.scattered = 200, .cached = 500, .compact_limit = 1000};

        escalate(arena, &kernel, 100, &usual);
        assert_text(text_string(&kernel.trace), "w100 c w100");
        kernel = (Kernel){.scattered = 199, .cached = 500, .compact_limit = 1000};
        escalate(arena, &kernel, 100, &usual);
        assert_text(text_string(&kernel.trace), "w100 r c w100");
}

/* As long as rounds bring pages they go on. */
TEST(rounds_that_gain) {
        Kernel kernel = {.whole = 10, .scattered = 200, .compact_limit = 20};
        Escalation escalation = escalate(arena, &kernel, 100, &usual);

        assert_int_equal(kernel.persistent, 100);
        assert_int_equal(escalation.n_rounds, 5);
        assert_int_equal(kernel.n_compacts, 5);
}

TEST(three_idle_rounds_end_it) {
        Kernel kernel = {.whole = 30, .scattered = 300, .cached = 300};
        Escalation escalation = escalate(arena, &kernel, 100, &usual);

        /* The second round reclaims although memory is free, for compaction brought nothing. */
        assert_text(text_string(&kernel.trace), "w100 c w100 r c w100 r c w100");
        assert_int_equal(escalation.n_rounds, 3);
        assert_int_equal(kernel.persistent, 30);
        assert_false(escalation.is_clamped);
}

TEST(no_reclaim_without_cache) {
        Kernel kernel = {.whole = 30, .scattered = 300};

        escalate(arena, &kernel, 100, &usual);
        assert_text(text_string(&kernel.trace), "w100 c w100 c w100");
}

/* Most of what is reclaimed lies beside pinned memory: the second reclaim asks for twice as much,
 * the third for four times, and so on up to eight times what is missing. */
TEST(reclaim_grows) {
        Kernel kernel = {.whole = 20, .cached = 2000, .compact_limit = 1000, .spoilt_in_10 = 9};

        escalate(arena, &kernel, 100, &usual);
        assert_int_equal(kernel.persistent, 100);
        assert_true(kernel.n_reclaims <= 6);
        /* Where it brings nothing at all, it ends with four times what is missing. */
        kernel = (Kernel){.whole = 20, .cached = 2000, .compact_limit = 1000, .spoilt_in_10 = 10};
        escalate(arena, &kernel, 100, &usual);
        assert_true(kernel.reclaimed_bytes == (1 + 2 + 4) * (80 * page_bytes / 8 * 9));
        /* Never more than there is. */
        kernel = (Kernel){.whole = 20, .cached = 100, .compact_limit = 1000, .spoilt_in_10 = 10};
        escalate(arena, &kernel, 100, &usual);
        assert_true(kernel.reclaimed_bytes == 100 * page_bytes);
}

/* A gain in between begins the count anew. */
TEST(idle_rounds_in_a_row) {
        Kernel kernel = {.whole = 30, .scattered = 5, .cached = 300, .compact_limit = 5};
        Escalation escalation = escalate(arena, &kernel, 45, &usual);

        assert_int_equal(kernel.persistent, 45);
        assert_int_equal(escalation.idle_rounds, 0);
        assert_true(escalation.n_rounds >= 3);
}

TEST(drop_caches_once) {
        Kernel kernel = {.whole = 30, .scattered = 500, .cached = 50, .compact_limit = 0};
        Escalation escalation = escalate(arena, &kernel, 100, &everything);

        assert_text(text_string(&kernel.trace), "w100 c w100 r c w100 d c w100 c w100");
        assert_int_equal(kernel.n_drops, 1);
        assert_int_equal(escalation.n_rounds, 4);
        assert_int_equal(kernel.persistent, 30);
}

TEST(drop_caches_is_last) {
        static const EscalationOptions only_drop = {false, false, true, UINT64_MAX};
        Kernel kernel = {.whole = 40, .scattered = 200, .compact_limit = 1000};

        escalate(arena, &kernel, 100, &everything);
        assert_int_equal(kernel.n_drops, 0); /* compaction did it */
        kernel = (Kernel){.whole = 30, .scattered = 500};
        escalate(arena, &kernel, 100, &only_drop);
        assert_int_equal(kernel.n_drops, 1);
        assert_int_equal(kernel.n_compacts, 0);
        assert_int_equal(kernel.n_reclaims, 0);
}

TEST(no_attempt_allowed) {
        Kernel kernel = {.whole = 30, .scattered = 300, .compact_limit = 1000};
        Escalation escalation = escalate(arena, &kernel, 100, &nothing);

        assert_text(text_string(&kernel.trace), "w100");
        assert_int_equal(escalation.n_rounds, 0);
        assert_int_equal(kernel.persistent, 30);
}

TEST(options_one_by_one) {
        static const EscalationOptions no_compact = {false, true, false, UINT64_MAX};
        static const EscalationOptions no_reclaim = {true, false, false, UINT64_MAX};
        Kernel kernel = {.whole = 30, .cached = 300, .compact_limit = 1000};

        escalate(arena, &kernel, 100, &no_compact);
        assert_int_equal(kernel.n_compacts, 0);
        assert_true(kernel.n_reclaims > 0);
        kernel = (Kernel){.whole = 30, .cached = 300, .compact_limit = 1000};
        escalate(arena, &kernel, 100, &no_reclaim);
        assert_int_equal(kernel.n_reclaims, 0);
        assert_true(kernel.n_compacts > 0);
}

/* Never more than there is room for, however much was planned. */
TEST(clamped) {
        Kernel kernel = {.whole = 100, .keep_pages = 40};
        Escalation escalation = escalate(arena, &kernel, 90, &usual);

        assert_int_equal(kernel.most_asked, 60);
        assert_int_equal(kernel.persistent, 60);
        assert_true(escalation.is_clamped);
        kernel = (Kernel){.whole = 100, .keep_pages = 200};
        escalation = escalate(arena, &kernel, 90, &usual);
        assert_text(text_string(&kernel.trace), "");
        assert_true(escalation.is_clamped);
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

TEST(deadline) {
        EscalationOptions options = usual;
        Kernel kernel = {.whole = 10, .scattered = 10000, .compact_limit = 10};

        /* Compacting takes 0.1 s: three rounds begin before the deadline. */
        options.deadline_usec = 250 * USEC_PER_MSEC;
        Escalation escalation = escalate(arena, &kernel, 1000, &options);

        assert_int_equal(escalation.n_rounds, 3);
        assert_int_equal(kernel.persistent, 40);
        /* And none when it has come. */
        options.deadline_usec = 200 * USEC_PER_MSEC;
        kernel = (Kernel){.whole = 10, .scattered = 10000, .compact_limit = 10};
        assert_int_equal(escalate(arena, &kernel, 1000, &options).n_rounds, 2);
        /* A deadline that is over still lets the plain writes happen. */
        kernel = (Kernel){.whole = 5000, .now_usec = 10 * USEC_PER_SEC};
        escalate(arena, &kernel, 1000, &options);
        assert_int_equal(kernel.persistent, 1000);
        kernel = (Kernel){.whole = 50,
                          .scattered = 5000,
                          .compact_limit = 1000,
                          .now_usec = 10 * USEC_PER_SEC};
        escalate(arena, &kernel, 1000, &options);
        assert_text(text_string(&kernel.trace), "w512");
}

/* As long as each brings a page, but not for ever: others wait to be served. */
TEST(rounds_are_bounded) {
        EscalationOptions options = usual;
        Kernel kernel = {.scattered = 10000, .compact_limit = 1};

        options.deadline_usec = UINT64_MAX;
        assert_int_equal(escalate(arena, &kernel, 1000, &options).n_rounds, 64);
        assert_int_equal(kernel.persistent, 64);
}

TEST(refused_write) {
        Kernel kernel = {.whole = 1000, .write_error = -EINVAL};
        Escalation escalation = escalate(arena, &kernel, 100, &everything);

        assert_text(text_string(&kernel.trace), "w100");
        assert_int_equal(escalation.write_error, -EINVAL);
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
