/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The values of a look belong together. */

#include "keeper/look.h"
#include "support/gatherer.h"
#include "support/testing.h"

#include "base/size.h"
#include "host/host_sources.h"
#include "model/names.h"
#include "model/problem.h"
#include "support/play.h"

#include <errno.h>

static const char mariadb[] = "[mysqld]\nlarge_pages\ninnodb_buffer_pool_size=1G\n";

static LookInput input_of(const Play *play, const char *lines) {
        return (LookInput){
                .root = play->tree->root,
                .config = config_line(play->tree->arena, "a %s", lines),
        };
}

/* A gate's figure is exact; the files' figure is used without one. */
PLAY_TEST(figures) {
        Arena *arena = play->tree->arena;
        LookInput input = input_of(play, "Engine=mariadb\nNodes=0\nMemory=auto");
        HostSources sources = host_sources(play->tree->root, arena);
        const SourcesGatherer gatherer = figures_gatherer(&sources.sources);
        Figures found = {};

        tree_write(play->tree, "/etc/my.cnf", mariadb);
        assert_grants(look_make(arena, &input)->plan, "a", "-");
        LookInput gathering = input;

        gathering.derive = figures_derive;
        gathering.gatherer = &gatherer.gatherer;
        const Look *gathered = look_make(arena, &gathering);
        uint64_t by_rule = plan_find(gathered->plan, "a")->pages_granted;

        assert_uint_in_range(by_rule, 512, 700);
        *vec_push(arena, &found) =
                (Figure){.instance = "a",
                         .sizing = {.page_size_bytes = 2 * MIB, .pages = 333, .bytes = 666 * MIB}};
        input.found = gathering.found = &found;
        gathered = look_make(arena, &gathering);
        assert_grants(gathered->plan, "a", "0:333");
        assert_grants(look_make(arena, &input)->plan, "a", "0:333");
}

/* A unit that starts has ended before: it has no pages, and needs all of them. */
PLAY_TEST(starting) {
        Arena *arena = play->tree->arena;
        LookInput input = input_of(play, "Pages=100\nNodes=0\nUnit=a.service");
        Ledger *ledger = ledger_new(arena, "boot");
        PlanStartings starting = {};

        start_unit(play, "a.service", 0, 0);
        ledger_start(arena, ledger, "a",
                     &(LedgerHold){.unit = "a.service",
                                   .run = "r1",
                                   .granted = {.name = "a", .page_size_bytes = 2 * MIB}});
        input.ledger = ledger;
        input.starting = &starting;
        assert_int_equal(look_at_host(arena, &input)->ledger->holds.n, 1);
        *vec_push(arena, &starting) =
                (PlanStarting){"a", "a.service", "r2", {.kind = MEMORY_POLICY_ANY}};
        const Look *look = look_make(arena, &input);

        assert_int_equal(look->ledger->holds.n, 0);
        assert_null(plan_find(look->plan, "a")->hold);
        const StatusInput judged = look_status_input(look, look->plan);

        assert_false(status_find(status_judge(arena, &judged), "a")->is_running);
        assert_int_equal(ledger->holds.n, 1); /* a copy was asked */
}

/* A problem of the ledger's file is reported, and the present pages are used instead. */
PLAY_TEST(broken_state) {
        Arena *arena = play->tree->arena;
        LookInput input = input_of(play, "Pages=100\nNodes=0");

        assert_null(look_at_host(arena, &input)->state);
        tree_write(play->tree, PATH_LEDGER, "{");
        set_pool(play, 0, 40);
        const Look *look = look_at_host(arena, &input);

        assert_non_null(look->state);
        assert_int_equal(ledger_pool(look->ledger, 0, 2 * MIB)->found_pages, 40);
}

/* Pages that were moved to another node are the same pages. */
PLAY_TEST(moved) {
        Arena *arena = play->tree->arena;
        LookInput input = input_of(play, "Pages=100\nNodes=0");
        Ledger *ledger = ledger_new(arena, "boot");

        for (unsigned node = 0; node < NODES; node++)
                *vec_push(arena, &ledger->pools) =
                        (LedgerPool){node, 2 * MIB, .set_pages = node == 0 ? 100 : 0};
        input.ledger = ledger;
        play->pools[0].total = 60;
        set_pool(play, 1, 40);
        assert_int_equal(look_at_host(arena, &input)->moved_pages, 40);
}

PLAY_TEST(fault) {
        LookInput input = input_of(play, "Pages=100\nNodes=0");
        const HostFiles before = break_host();
        const Look *host = look_at_host(play->tree->arena, &input);
        const Look *look = look_make(play->tree->arena, &input);

        mend_host(&before);
        assert_int_equal(host->fault.error, -EMFILE);
        assert_int_equal(look->fault.error, -EMFILE);
        look = look_make(play->tree->arena, &input);
        assert_int_equal(look->fault.error, 0);
        assert_text(grants_text(play->tree->arena, look->plan, "a"), "0:100");
}

TEST(fault_is_reported) {
        const Diag file = look_fault_diag(arena, &(ReadFault){-EIO, "/proc/meminfo"});
        const Diag memory = look_fault_diag(arena, &(ReadFault){-ENOMEM, NULL});

        assert_text(file.id, problem_id(PROBLEM_HOST_UNREADABLE));
        assert_text(file.file, "/proc/meminfo");
        assert_text(file.text,
                    "cannot be read: Input/output error; plan and pages stay as they are");
        assert_text(memory.id, problem_id(PROBLEM_HOST_UNREADABLE));
        assert_null(memory.file);
        assert_text(
                memory.text,
                "memory is exhausted, and the host cannot be read; plan and pages stay as they are");
}
