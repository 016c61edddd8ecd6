/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/boot_guard.h"

#include "support/testing.h"

static const char host_text[] = "sizes 1G 2M\nnode 0 total=16G free=15G\n";

static BootGuard *guard_of(Arena *arena, uint64_t failed_boots, const char *boot_id) {
        BootGuard *guard = ARENA_NEW(arena, BootGuard);

        *guard = (BootGuard){.failed_boots = failed_boots, .boot_id = boot_id};
        *vec_push(arena, &guard->proven) = (ProvenInstance){"pg", 2 * MIB, 100};
        return guard;
}

static const Plan *plan_of(Arena *arena, const BootGuard *guard, const Config *config,
                           const Ledger *ledger, bool is_reload, Diags *problems) {
        return boot_guard_plan(arena,
                               &(GuardedPlanInput){.guard = guard,
                                                   .config = config,
                                                   .plan = {.topology = host_make(arena, host_text),
                                                            .ledger = ledger},
                                                   .is_reload = is_reload},
                               problems);
}

TEST(counting) {
        BootGuard *guard = guard_of(arena, 0, "");
        Ledger *ledger = ledger_new(arena, "d");

        boot_guard_begin(arena, guard, "a");
        boot_guard_begin(arena, guard, "a"); /* the daemon was restarted */
        boot_guard_begin(arena, guard, "b");
        assert_int_equal(guard->failed_boots, 2);
        boot_guard_begin(arena, guard, "c");
        assert_true(boot_guard_is_closed(guard, ledger)); /* three have failed before this one */
        boot_guard_begin(arena, guard, "d");
        assert_true(boot_guard_is_closed(guard, ledger)); /* this boot counts for the next one */
        ledger->guard = LEDGER_GUARD_OPEN;                /* a reload */
        assert_true(boot_guard_succeed(arena, guard, ledger));
        assert_int_equal(guard->failed_boots, 0);
        assert_int_equal(guard->proven.n, 0);
        assert_false(boot_guard_is_closed(guard, ledger));
}

/* The daemon failed, and starts later: the boot continued without it. */
TEST(no_plan) {
        BootGuard *guard = guard_of(arena, 2, "a");
        Ledger *ledger = ledger_new(arena, "b");

        boot_guard_begin(arena, guard, "b");
        assert_int_equal(guard->failed_boots, 3);
        assert_false(boot_guard_succeed(arena, guard, ledger));
        assert_int_equal(guard->failed_boots, 2);
        assert_int_equal(guard->proven.n, 1);
        assert_false(boot_guard_is_closed(guard, ledger)); /* when it starts at last */
        assert_false(boot_guard_succeed(arena, guard, ledger));
        assert_int_equal(guard->failed_boots, 2); /* it is no longer counted */
        boot_guard_begin(arena, guard, "c");
        assert_true(boot_guard_is_closed(guard, ledger_new(arena, "d")));
}

/* A successful boot proves its grants. */
TEST(proven) {
        static const uint64_t pages[] = {1, 0, 50};
        BootGuard *guard = guard_of(arena, 2, "a");
        Ledger *ledger = ledger_new(arena, "b");

        for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
                LedgerInstance *instance = vec_push((Arena *) arena, &ledger->instances);

                *instance = (LedgerInstance){.name = arena_printf(arena, "%zu", i),
                                             .page_size_bytes = 2 * MIB};
                *vec_push((Arena *) arena, &instance->grants) = (NodePages){0, pages[i]};
        }
        ledger->guard = LEDGER_GUARD_OPEN;
        assert_true(boot_guard_succeed(arena, guard, ledger));
        assert_int_equal(guard->failed_boots, 0);
        assert_text(guard->boot_id, "b");
        assert_int_equal(guard->proven.n, 2);
        assert_text(guard->proven.items[0].name, "0");
        assert_int_equal(guard->proven.items[0].pages, 1);
        assert_text(guard->proven.items[1].name, "2");
        assert_int_equal(guard->proven.items[1].pages, 50);
        assert_true(guard->proven.items[1].page_size_bytes == 2 * MIB);
}

TEST(too_few) {
        Ledger *ledger = ledger_new(arena, "c");

        assert_false(boot_guard_is_closed(guard_of(arena, 0, "c"), ledger));
        assert_false(boot_guard_is_closed(guard_of(arena, 2, "b"), ledger));
        assert_false(boot_guard_is_closed(guard_of(arena, 3, "c"), ledger));
        assert_true(boot_guard_is_closed(guard_of(arena, 3, "b"), ledger));
}

/* After the decision, neither the count nor a restart changes it in this boot; a reload does. */
TEST(decided) {
        Ledger *ledger = ledger_new(arena, "now");

        ledger->guard = LEDGER_GUARD_CLOSED;
        assert_true(boot_guard_is_closed(guard_of(arena, 0, "now"), ledger));
        ledger_reload(ledger);
        assert_false(boot_guard_is_closed(guard_of(arena, 9, "b"), ledger));
}

/* A boot that succeeds with the proven instances proves nothing about the others: the guard stays closed, boot after
 * boot, until an administrator opens it. */
TEST(stays_closed) {
        BootGuard *guard = guard_of(arena, 5, "a");

        for (int i = 0; i < 5; i++) {
                Ledger *ledger = ledger_new(arena, arena_printf(arena, "boot %d", i));

                assert_true(boot_guard_is_closed(guard, ledger));
                ledger->guard = LEDGER_GUARD_CLOSED;
                boot_guard_begin(arena, guard, ledger->boot_id);
                assert_true(boot_guard_succeed(arena, guard, ledger));
                assert_text(guard->boot_id, ledger->boot_id);
                assert_int_equal(guard->proven.n,
                                 1); /* the earlier grants, not those of this boot */
        }
        assert_true(boot_guard_open(guard));
        assert_int_equal(guard->failed_boots, 0);
        assert_false(boot_guard_open(guard));
        assert_false(boot_guard_is_closed(guard, ledger_new(arena, "next")));
}

/* As in the file: the older record stays. */
static char *count_file(Arena *arena, const BootGuard *older, const BootGuard *newer) {
        return arena_printf(arena, "%s%s", boot_count_format(arena, older),
                            boot_count_format(arena, newer));
}

static BootGuard read_count(Arena *arena, const char *bytes, size_t size) {
        BootGuard guard = {};

        boot_count_parse(arena, bytes, size, &guard);
        return guard;
}

TEST(count_read_back) {
        const BootGuard older = {.failed_boots = 1, .boot_id = "", .n_records = 6};
        const BootGuard newer = {.failed_boots = UINT64_MAX, .boot_id = "b", .n_records = 7};
        const char *file = count_file(arena, &older, &newer);
        BootGuard read = read_count(arena, file, strlen(file));

        assert_int_equal(strlen(file), 2 * BOOT_COUNT_BYTES);
        assert_true(read.failed_boots == UINT64_MAX);
        assert_text(read.boot_id, "b");
        assert_int_equal(read.n_records, 7);
        boot_guard_begin(arena, &read, "c");
        assert_true(read.failed_boots == UINT64_MAX); /* a file that was changed */
        read = read_count(arena, count_file(arena, &newer, &older), strlen(file));
        assert_int_equal(read.n_records, 7);
        read = read_count(arena, NULL, 0);
        assert_int_equal(read.failed_boots + read.n_records, 0);
        assert_text(read.boot_id, "");
}

/* Power fails while a record is written, at any byte. The count is then the previous one plus one, because this boot
 * has failed early, or the new one; never less. */
TEST(torn) {
        static const struct {
                uint64_t before, now;
        } rows[] = {{0, 1}, {1, 2}, {2, 3}, {2, 0}, {9, 10}, {99, 0}};

        ARRAY_FOREACH(row, rows, ARRAY_LEN(rows))
                for (size_t cut = 0; cut <= BOOT_COUNT_BYTES; cut++) {
                        CLEANUP(arena_freep) Arena *own = arena_new();
                        const BootGuard oldest = {.boot_id = "before-that", .n_records = 5};
                        const BootGuard older = {row->before, "before", 6};
                        const BootGuard newer = {row->now, "now", 7};
                        char *file = count_file(own, &older, &oldest);

                        memcpy(file + BOOT_COUNT_BYTES, boot_count_format(own, &newer), cut);
                        const BootGuard read = read_count(own, file, 2 * BOOT_COUNT_BYTES);

                        /* The records differ from the ninth byte to the last but one. */
                        if (cut >= BOOT_COUNT_BYTES - 1)
                                assert_int_equal(read.failed_boots, row->now);
                        else
                                assert_int_equal(read.failed_boots, row->before + (cut > 8));
                }
}

/* A file that cannot be read counts as enough failures to close the guard, because its content is unknown. */
TEST(garbled) {
        const BootGuard good = {.failed_boots = 1, .boot_id = "a", .n_records = 1};
        char *file = count_file(arena, &good, &good), *zeros = arena_alloc(arena, 9000);

        memset(zeros, 0, 9000);
        assert_int_equal(read_count(arena, zeros, 8192).failed_boots, BOOT_GUARD_FAILURES);
        assert_int_equal(read_count(arena, "x", 1).failed_boots, BOOT_GUARD_FAILURES);
        assert_int_equal(read_count(arena, file, 4095).failed_boots, BOOT_GUARD_FAILURES);
        assert_int_equal(read_count(arena, file, 4096).failed_boots, 2);
        file[0] = 'B';
        assert_int_equal(read_count(arena, file, 8192).failed_boots, 2);
}

static json_t *proven_json(Arena *arena) {
        return boot_proven_to_json(guard_of(arena, 0, ""));
}

/* Anything but a record as it is written is refused, and changes nothing. */
TEST(proven_read_back) {
        static const struct {
                const char *key;
                int number; /* -1: no number */
        } bad[] = {{"version", 3}, {"version", -1}, {"proven", -1}, {"other", 1}};
        BootGuard read = {};
        json_t *json = proven_json(arena);
        json_t *proven = json_array_get(json_object_get(json, "proven"), 0);

        json_object_set_new(proven, "pages", json_integer(1));
        json_object_set_new(proven, "pageSizeBytes", json_integer(1));
        assert_int_equal(boot_proven_from_json(arena, json, &read), 0);
        assert_text(read.proven.items[0].name, "pg");
        assert_int_equal(read.proven.items[0].pages, 1);
        assert_int_equal(read.proven.items[0].page_size_bytes, 1);
        json_object_set_new(proven, "pages", json_integer(0));
        assert_int_equal(boot_proven_from_json(arena, json, &read), -EINVAL);
        json_object_set_new(proven, "pages", json_integer(1));
        json_object_set_new(proven, "pageSizeBytes", json_integer(0));
        assert_int_equal(boot_proven_from_json(arena, json, &read), -EINVAL);
        json_decref(json);
        ARRAY_FOREACH(row, bad, ARRAY_LEN(bad)) {
                json = proven_json(arena);
                json_object_set_new(json, row->key,
                                    row->number < 0 ? json_object() : json_integer(row->number));
                assert_int_equal(boot_proven_from_json(arena, json, &read), -EINVAL);
                json_decref(json);
        }
        assert_int_equal(read.proven.n, 1);
}

TEST(plan_open) {
        const Config *config = config_line(arena, "pg Pages=200");
        Ledger *ledger = ledger_new(arena, "now");
        Diags problems = diags_in(arena);
        const BootGuard *guard = guard_of(arena, 0, "");

        for (int is_reload = 0; is_reload <= 1; is_reload++)
                assert_grants(plan_of(arena, guard, config, ledger, is_reload, &problems), "pg",
                              "0:200");
        assert_int_equal(problems.list.n, 0);
}

TEST(plan_closed) {
        const Config *config = config_line(
                arena, "10-new Pages=50; 20-pg Pages=100; 30-part Pages=10 Shortage=degrade; "
                       "40-gone Pages=7; 50-thp Engine=redis");
        Ledger *ledger = ledger_new(arena, "now");
        Diags problems = diags_in(arena);

        ledger_release(arena, ledger, "gone");
        /* Three have failed, and this one is counted. */
        const BootGuard *guard = guard_of(arena, 4, "now");
        const Plan *plan = plan_of(arena, guard, config, ledger, false, &problems);
        const PlanInstance *refused = plan_find(plan, "new");

        assert_grants(plan, "pg", "0:100");
        assert_grants(plan, "new", "-");
        assert_grants(plan, "part", "-"); /* not even the existing pages */
        assert_int_equal(refused->reason.kind, REASON_BOOT_GUARD);
        /* An instance that reserves nothing needs no proof. */
        assert_int_equal(plan_find(plan, "thp")->reason.kind, REASON_NONE);
        assert_int_equal(refused->pages_wanted, 50); /* its demand is still known */
        assert_contains(refused->reason.text, "3 boots in a row");
        assert_contains(refused->reason.text, "no pages");
        assert_false(plan_is_short(plan)); /* trying again would not help */
        assert_int_equal(problems.list.n, 1);
        assert_text(problems.list.items[0].id, "boot-guard");
        /* A reload plans again, and its changes are reported. */
        plan = plan_of(arena, guard, config, ledger, true, &problems);
        assert_int_equal(plan_find(plan, "new")->demand->reason.kind, REASON_NONE);
        assert_steps(plan, "0:2M:0->167");
        assert_grants(plan, "gone", "0:7");
        assert_int_equal(problems.list.n, 3);
        assert_text(problems.list.items[1].id, "boot-guard");
        assert_text(problems.list.items[2].id, "released");
        assert_text(problems.list.items[2].file, "/etc/hugeplan.d/40-gone.conf");
        assert_int_equal(problems.list.items[2].severity, SEVERITY_NOTICE);
        assert_true(ledger_instance(ledger, "gone")->is_released); /* a query changes nothing */
}

TEST(plan_grown) {
        const Config *config = config_line(arena, "pg Pages=101");
        Diags problems = diags_in(arena);
        const Plan *plan = plan_of(arena, guard_of(arena, 3, "b"), config, ledger_new(arena, "now"),
                                   false, &problems);

        assert_grants(plan, "pg", "-");
        assert_contains(plan_find(plan, "pg")->reason.text, "only 100 pages of 2M");
}

/* A page size that the last good boot did not have is as new as an instance. */
TEST(plan_other_size) {
        const Config *config = config_line(arena, "pg Pages=1 PageSize=1G");
        Diags problems = diags_in(arena);
        const Plan *plan = plan_of(arena, guard_of(arena, 3, "b"), config, ledger_new(arena, "now"),
                                   false, &problems);

        assert_grants(plan, "pg", "-");
}
