/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Escalations on a simple kernel that behaves like real ones: a write may get fewer pages and succeed; writing again
 * gets none; compaction moves movable pages; compaction can use what reclaim has freed. */

#include "apply/escalation.h"
#include "base/size.h"
#include "support/story.h"

/* A node's memory. */
typedef struct Kernel {
        uint64_t persistent;
        uint64_t whole;         /* pages that fit into the memory as it is */
        uint64_t scattered;     /* free memory in pieces, in pages: compaction makes it whole */
        uint64_t cached;        /* page cache, in pages: reclaim makes it scattered */
        uint64_t pinned;        /* memory that never becomes free, in pages */
        uint64_t compact_limit; /* how much one compaction makes whole */
        uint64_t spoilt_in_10;  /* so many of ten reclaimed pages are beside pinned memory */
        uint64_t keep_pages;    /* not part of the room */
        uint64_t usec_per_page;
        uint64_t now_usec;
        int write_error;
        uint64_t to_pages;                /* the target; 0: 100 */
        const EscalationOptions *options; /* NULL: the usual ones */
        /* Results. */
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

/* Runs to the end, and checks every step. */
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
                /* A move has no other fields. */
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

/* "w100 c w100: 100 pages, 1 rounds, 0 idle", and other unusual results. */
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

PLAIN_VERB(do_escalate, "escalate") {
        EscalationOptions options = {!story_has_word(line, "without-compact"),
                                     !story_has_word(line, "without-reclaim"),
                                     story_has_word(line, "drop"), UINT64_MAX};
        Kernel kernel = {.options = &options};
        const struct {
                const char *name;
                uint64_t *value;
        } fields[] = {{"persistent", &kernel.persistent},
                      {"whole", &kernel.whole},
                      {"scattered", &kernel.scattered},
                      {"cached", &kernel.cached},
                      {"compact", &kernel.compact_limit},
                      {"spoilt", &kernel.spoilt_in_10},
                      {"keep", &kernel.keep_pages},
                      {"usec", &kernel.usec_per_page},
                      {"now", &kernel.now_usec},
                      {"until", &options.deadline_usec},
                      {"to", &kernel.to_pages}};

        for (size_t i = 1; line->words[i]; i++) {
                const char *value = strchr(line->words[i], '=');
                size_t k = 0;

                if (!value)
                        continue;
                const char *name = arena_strndup(line->arena, line->words[i],
                                                 (size_t) (value++ - line->words[i]));

                if (text_equals(name, "error")) {
                        while (!text_equals(strerrorname_np(-kernel.write_error), value))
                                kernel.write_error--;
                        continue;
                }
                while (!text_equals(fields[k].name, name))
                        assert_true(++k < ARRAY_LEN(fields));
                assert_int_equal(parse_u64(value, fields[k].value), 0);
        }
        return escalated(line->arena, &kernel);
}

STORY_TEST(stories, "unit/apply/escalation")

/* After a slice that took about the expected time, the next one has the same size; after a quick slice eight times
 * that, after a slow one a quarter, but at least one page. */
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

/* Memory that disappears between two slices is not requested. */
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

/* A failed reclaim or compaction does not end the escalation: EAGAIN means "not all". */
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

/* Pages that others add end the escalation, even beyond the target. */
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
