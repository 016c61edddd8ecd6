/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What must hold of an escalation on any kernel: it ends, never asks for more pages than planned or than there is room
 * for, and gets at least as many as a single write. */

#include "property/random.h"

#include "apply/escalation.h"
#include "base/size.h"
#include "support/testing.h"

enum { MOVES_MAX = 3000 };

/* Memory in units of pages: `whole` can become huge pages immediately, `scattered` after compaction, `cached` after
 * reclaim, `pinned` never. */
typedef struct Memory {
        uint64_t persistent, whole, scattered, cached, pinned;
} Memory;

typedef struct Kernel {
        uint64_t seed;
        Random random;
        Memory memory;
        uint64_t page_bytes;
        uint64_t compact_percent; /* of the scattered memory, per compaction */
        uint64_t keep_pages;      /* KeepFree= */
        bool is_disturbed;        /* writes may fail partly; other programs take and free memory */
        uint64_t now_usec;
} Kernel;

#define REQUIRE(kernel, holds)                                                                  \
        do {                                                                                    \
                if (!(holds)) {                                                                 \
                        print_error("HUGEPLAN_SEED=%" PRIu64 ": %s\n", (kernel)->seed, #holds); \
                        _fail(__FILE__, __LINE__);                                              \
                }                                                                               \
        } while (0)

static Kernel kernel_make(uint64_t seed, bool is_disturbed) {
        Kernel kernel = {.seed = seed, .random = {seed}, .is_disturbed = is_disturbed};
        Random *random = &kernel.random;
        uint64_t *parts[] = {&kernel.memory.persistent, &kernel.memory.whole,
                             &kernel.memory.scattered, &kernel.memory.cached,
                             &kernel.memory.pinned};

        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
                *parts[i] =
                        random_chance(random, 30)
                                ? 0
                                : random_between(random, 0, random_chance(random, 50) ? 50 : 20000);
        kernel.page_bytes = random_chance(random, 20) ? GIB : 2 * MIB;
        kernel.compact_percent = random_between(random, 0, 100);
        kernel.keep_pages = random_between(random, 0, 200);
        return kernel;
}

static uint64_t room_pages(const Kernel *kernel) {
        const Memory *memory = &kernel->memory;

        return sub_floored(memory->whole + memory->scattered + memory->cached, kernel->keep_pages);
}

static void do_write(Kernel *kernel, uint64_t pages) {
        Memory *memory = &kernel->memory;

        if (pages < memory->persistent) {
                memory->whole += memory->persistent - pages;
                memory->persistent = pages;
                return;
        }
        uint64_t got = MIN(pages - memory->persistent, memory->whole);

        if (kernel->is_disturbed && random_chance(&kernel->random, 50))
                got = random_between(&kernel->random, 0, got);
        memory->persistent += got;
        memory->whole -= got;
}

static void move_pages(uint64_t *from, uint64_t *to, uint64_t n) {
        n = MIN(n, *from);
        *from -= n;
        *to += n;
}

static void perform(Kernel *kernel, const EscalationMove *move) {
        Memory *memory = &kernel->memory;

        kernel->now_usec += random_between(&kernel->random, 1, 500000);
        switch (move->action) {
        case ESCALATION_WRITE:
                do_write(kernel, move->pages);
                break;
        case ESCALATION_RECLAIM:
                move_pages(&memory->cached, &memory->scattered, move->bytes / kernel->page_bytes);
                break;
        case ESCALATION_COMPACT:
                move_pages(&memory->scattered, &memory->whole,
                           memory->scattered * kernel->compact_percent / 100);
                break;
        default:
                move_pages(&memory->cached, &memory->scattered, memory->cached);
                break;
        }
        if (!kernel->is_disturbed || !random_chance(&kernel->random, 20))
                return;
        /* Other programs take and free memory. */
        if (random_chance(&kernel->random, 50))
                memory->whole /= 2;
        else
                memory->scattered += random_between(&kernel->random, 0, 100);
        if (random_chance(&kernel->random, 10))
                move_pages(&memory->persistent, &memory->scattered, 3);
}

static EscalationOptions random_options(Kernel *kernel) {
        Random *random = &kernel->random;

        return (EscalationOptions){
                .may_compact = random_chance(random, 80),
                .may_reclaim = random_chance(random, 80),
                .may_drop_caches = random_chance(random, 30),
                .deadline_usec = random_chance(random, 70)
                                         ? UINT64_MAX
                                         : random_between(random, 0, 20 * USEC_PER_SEC),
        };
}

static void check_move(const Kernel *kernel, const EscalationOptions *options,
                       const EscalationMove *move, uint64_t to_pages) {
        uint64_t now = kernel->memory.persistent;

        switch (move->action) {
        case ESCALATION_WRITE:
                REQUIRE(kernel, move->pages > now);
                REQUIRE(kernel, move->pages <= to_pages);
                REQUIRE(kernel, move->pages - now <= room_pages(kernel));
                break;
        case ESCALATION_RECLAIM:
                REQUIRE(kernel, options->may_reclaim);
                REQUIRE(kernel, move->bytes > 0);
                /* At most eight times the missing pages plus an eighth, and no more than can be reclaimed. */
                REQUIRE(kernel, move->bytes <= (to_pages - now) * kernel->page_bytes * 9);
                REQUIRE(kernel, move->bytes <= kernel->memory.cached * kernel->page_bytes);
                break;
        case ESCALATION_COMPACT:
                REQUIRE(kernel, options->may_compact);
                break;
        case ESCALATION_DROP_CACHES:
                REQUIRE(kernel, options->may_drop_caches);
                break;
        default:
                break;
        }
}

static Escalation escalate(Arena *arena, Kernel *kernel, uint64_t to_pages,
                           const EscalationOptions *options) {
        Escalation escalation = escalation_new(arena, kernel->page_bytes, to_pages, options);
        size_t n_drops = 0;

        for (size_t n = 0;; n++) {
                const Memory *memory = &kernel->memory;

                EscalationView view = (EscalationView){
                        .persistent_pages = memory->persistent,
                        .room_bytes = room_pages(kernel) * kernel->page_bytes,
                        .free_bytes = (memory->whole + memory->scattered) * kernel->page_bytes,
                        .reclaimable_bytes = memory->cached * kernel->page_bytes,
                        .now_usec = kernel->now_usec,
                };
                EscalationMove move = escalation_next(&escalation, &view);
                uint64_t before = kernel->memory.persistent, start = kernel->now_usec;

                REQUIRE(kernel, n < MOVES_MAX);
                if (move.action == ESCALATION_DONE)
                        return escalation;
                check_move(kernel, options, &move, to_pages);
                n_drops += move.action == ESCALATION_DROP_CACHES;
                REQUIRE(kernel, n_drops <= 1);
                perform(kernel, &move);
                escalation_report(&escalation, &move,
                                  &(EscalationRecord){.action = move.action,
                                                      .pages_before = before,
                                                      .pages_after = kernel->memory.persistent,
                                                      .usec = kernel->now_usec - start});
        }
}

static void check_steady_kernel(uint64_t seed) {
        Kernel kernel = kernel_make(seed, false);
        EscalationOptions options = random_options(&kernel);
        uint64_t to_pages = random_between(&kernel.random, 0, 30000);
        /* The result of one write of the target, limited by the room. */
        Kernel other = kernel;
        uint64_t most = other.memory.persistent + room_pages(&other);

        do_write(&other, MAX(MIN(to_pages, most), other.memory.persistent));
        uint64_t single = other.memory.persistent;
        uint64_t before = kernel.memory.persistent;
        bool can_reclaim = options.may_reclaim && kernel.memory.cached > 0;
        Arena *arena = arena_new();
        Escalation escalation = escalate(arena, &kernel, to_pages, &options);

        if (single >= to_pages) {
                REQUIRE(&kernel, kernel.memory.persistent == MAX(to_pages, before));
        } else {
                REQUIRE(&kernel, kernel.memory.persistent >= single);
                REQUIRE(&kernel, kernel.memory.persistent <= to_pages);
        }
        /* If pages are missing although there was room, everything that is allowed was tried. */
        if (kernel.memory.persistent < to_pages && !escalation.is_clamped &&
            options.deadline_usec == UINT64_MAX && escalation.n_rounds < 64) {
                bool has_compacted = false, has_reclaimed = false, has_dropped = false;

                VEC_FOREACH(record, &escalation.records) {
                        has_compacted = has_compacted || record->action == ESCALATION_COMPACT;
                        has_reclaimed = has_reclaimed || record->action == ESCALATION_RECLAIM;
                        has_dropped = has_dropped || record->action == ESCALATION_DROP_CACHES;
                }
                REQUIRE(&kernel, has_compacted == options.may_compact);
                REQUIRE(&kernel, has_reclaimed == can_reclaim);
                REQUIRE(&kernel, has_dropped == options.may_drop_caches);
        }
        arena_free(arena);
}

/* If compaction works, all memory that is free or reclaimable becomes pages. */
static void check_good_compaction(uint64_t seed) {
        static const EscalationOptions usual = {true, true, false, UINT64_MAX};
        Kernel kernel = kernel_make(seed, false);
        uint64_t to_pages;
        Arena *arena = arena_new();

        kernel.compact_percent = 100;
        to_pages = kernel.memory.persistent + random_between(&kernel.random, 0, 30000);
        uint64_t room = room_pages(&kernel), start = kernel.memory.persistent;

        escalate(arena, &kernel, to_pages, &usual);
        REQUIRE(&kernel, kernel.memory.persistent == MIN(to_pages, start + room));
        arena_free(arena);
}

static void check_disturbed_kernel(uint64_t seed) {
        Kernel kernel = kernel_make(seed, true);
        EscalationOptions options = random_options(&kernel);
        Arena *arena = arena_new();

        escalate(arena, &kernel, random_between(&kernel.random, 0, 30000), &options);
        arena_free(arena);
}

TEST(steady_kernels) {
        random_for_each_seed(5000, check_steady_kernel);
}

TEST(good_compaction) {
        random_for_each_seed(5000, check_good_compaction);
}

TEST(disturbed_kernels) {
        random_for_each_seed(5000, check_disturbed_kernel);
}
