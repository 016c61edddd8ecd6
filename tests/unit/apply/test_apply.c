/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writes and their results, the ledger on disk, and the processes of a unit (apply.stories). The test plays the kernel
 * between writing and reading back.
 *
 *     config a Pages=4 PageSize=1G     a line for config_line()
 *     pool 1 2M 100                    the pool has so many free pages; `ours`: added by hugeplan
 *     hold, unit                       lines of running_make()
 *     plan -> 1:2M:0->4                makes a plan; answers its steps
 *     most 40, room 61, reserved 30    a pool gets so many pages of 2M at most; free MiB; pages reserved by others
 *     after-write reserved=1 surplus=5 counts after the next write
 *     all -> 1G@0:write1               applies the plan; answers all moves; `next`, `perform` and `done EPERM`: one move
 */

#include "apply/apply.h"
#include "apply/host_apply.h"
#include "base/size.h"
#include "host/probe.h"
#include "host/state.h"
#include "host/unit_cgroup.h"
#include "model/names.h"
#include "support/story.h"
#include "support/tree.h"

#include <sys/resource.h>

static const char pool_format[] = "/sys/devices/system/node/node%u/hugepages/hugepages-%ukB/%s";

static char *pool_path(const Tree *tree, unsigned node, unsigned kib, const char *attribute) {
        return arena_printf(tree->arena, pool_format, node, kib, attribute);
}

static void set_pool(const Tree *tree, unsigned node, unsigned kib, uint64_t pages) {
        const char *text = arena_printf(tree->arena, "%" PRIu64 "\n", pages);

        tree_write(tree, pool_path(tree, node, kib, "nr_hugepages"), text);
        tree_write(tree, pool_path(tree, node, kib, "free_hugepages"), text);
        tree_write(tree, pool_path(tree, node, kib, "surplus_hugepages"), "0\n");
}

/* Added to the present counts. */
static void add_surplus(const Tree *tree, unsigned node, uint64_t surplus) {
        uint64_t pages = 0;

        if (surplus == 0)
                return;
        assert_int_equal(
                root_read_u64(tree->root, pool_path(tree, node, 2048, "nr_hugepages"), &pages), 0);
        tree_write(tree, pool_path(tree, node, 2048, "nr_hugepages"),
                   arena_printf(tree->arena, "%" PRIu64 "\n", pages + surplus));
        tree_write(tree, pool_path(tree, node, 2048, "surplus_hugepages"),
                   arena_printf(tree->arena, "%" PRIu64 "\n", surplus));
}

static void set_free(const Tree *tree, unsigned node, uint64_t bytes) {
        tree_write(tree, arena_printf(tree->arena, "/sys/devices/system/node/node%u/meminfo", node),
                   arena_printf(tree->arena,
                                "Node %u MemTotal: 16777216 kB\n"
                                "Node %u MemFree: %" PRIu64 " kB\n",
                                node, node, bytes / KIB));
}

static void make_host(const Tree *tree) {
        for (unsigned node = 0; node < 2; node++) {
                set_pool(tree, node, 2048, 0);
                set_pool(tree, node, 1048576, 0);
                set_free(tree, node, 12 * GIB);
                tree_write(
                        tree,
                        arena_printf(tree->arena, "/sys/devices/system/node/node%u/compact", node),
                        "");
        }
        for (size_t i = 0; i < 2; i++)
                tree_write(tree,
                           arena_printf(tree->arena,
                                        "/sys/kernel/mm/hugepages/hugepages-%skB/resv_hugepages",
                                        i == 0 ? "2048" : "1048576"),
                           "0\n");
}

static void set_reserved(const Tree *tree, uint64_t pages) {
        tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages",
                   arena_printf(tree->arena, "%" PRIu64 "\n", pages));
}

typedef struct Story {
        Arena *arena;
        const Tree *tree;
        const char *config; /* NULL: none */
        Text running;
        Ledger *ledger;
        PoolLimits limits; /* of the plan */
        Plan *plan;
        Apply *apply;
        ApplyOperation operation;
        uint64_t most_pages; /* pages that a pool of 2M gets at most */
        uint64_t free_bytes; /* of the node that is written to; 0: more than enough */
        uint64_t reserved_after, surplus_after;
        bool is_after;
        HostWrites host_writes;
} Story;

#define VERB(name, words) STORY_VERB(name, words, Story, story)

static void begin_story(void *context) {
        Story *story = context;

        story->tree = tree_new();
        story->most_pages = UINT64_MAX;
        story->ledger = ledger_new(story->arena, "boot");
        story->running = text_in(story->arena);
        make_host(story->tree);
}

static void end_story(void *context) {
        const Story *story = context;

        tree_free(story->tree);
}

/* ---- what there is ---- */

static unsigned node_at(const StoryLine *line) {
        return (unsigned) story_number_at(line, 1);
}

VERB(do_config, "config") {
        story->config = line->rest;
        return NULL;
}

VERB(do_pool, "ours pool surplus") {
        const Tree *tree = story->tree;
        bool is_large = text_equals(line->words[2], "1G");
        uint64_t pages = story_number_at(line, 3);

        if (text_equals(line->words[0], "surplus"))
                tree_write(tree, pool_path(tree, node_at(line), 2048, "surplus_hugepages"),
                           arena_printf(line->arena, "%" PRIu64 "\n", pages));
        else
                set_pool(tree, node_at(line), is_large ? 1048576 : 2048, pages);
        if (text_equals(line->words[0], "ours"))
                *vec_push(line->arena, &story->ledger->pools) =
                        (LedgerPool){node_at(line), 2 * MIB, 0, pages};
        return NULL;
}

VERB(do_running, "hold unit") {
        text_printf(&story->running, "%s %s\n", line->words[0], line->rest);
        return NULL;
}

/* Memory is too fragmented for more pages of 2M. */
VERB(do_fragmented, "fragmented") {
        *vec_push(line->arena, &story->limits) =
                (PoolLimit){.page_size_bytes = 2 * MIB, .reason = {.kind = REASON_FRAGMENTED}};
        return NULL;
}

VERB(do_number, "most reserved room") {
        uint64_t n = story_number_at(line, 1);

        if (text_equals(line->words[0], "most"))
                story->most_pages = n;
        else if (text_equals(line->words[0], "room"))
                set_free(story->tree, 0, story->free_bytes = n * MIB);
        else
                set_reserved(story->tree, n);
        return NULL;
}

VERB(do_after_write, "after-write") {
        story->is_after = true;
        assert_int_equal(sscanf(line->rest, "reserved=%" SCNu64 " surplus=%" SCNu64,
                                &story->reserved_after, &story->surplus_after),
                         2);
        return NULL;
}

VERB(do_file, "link read remove write") {
        const Tree *tree = story->tree;

        if (text_equals(line->words[0], "read"))
                return tree_read(tree, line->words[1]);
        if (text_equals(line->words[0], "link"))
                tree_link(tree, line->words[2], line->words[1]);
        else if (text_equals(line->words[0], "remove"))
                assert_int_equal(remove(tree_path(tree, line->words[1])), 0);
        else
                tree_write(tree, line->words[1], story_text(line, 1));
        return NULL;
}

/* ---- what is done ---- */

VERB(do_plan, "plan") {
        Arena *arena = line->arena;
        const Config *config = story->config ? config_line(arena, "%s", story->config)
                                             : config_make(arena, NULL);
        const Topology *topology = probe_topology(story->tree->root, arena, NULL);
        const Running running = running_make(arena, text_string(&story->running));

        story->ledger->holds = running.holds;
        story->plan = story->running.length > 0 && running.use.units.n > 0
                              ? plan_beside(arena, config, topology, story->ledger, &running)
                              : plan_with(arena, config, topology, story->ledger, &story->limits);
        const ApplyInput input = {
                .root = story->tree->root,
                .config = config,
                .topology = topology,
                .ledger = story->ledger,
                .plan = story->plan,
                .deadline_usec = UINT64_MAX,
        };

        story->apply = apply_new(arena, &input);
        return steps_text(arena, story->plan);
}

static const char *operation_text(const Story *story) {
        const ApplyOperation *operation = &story->operation;
        bool is_write = operation->move.action == ESCALATION_WRITE;

        return arena_printf(story->arena, "%s@%u:%s%s%s",
                            format_page_size(story->arena, operation->page_size_bytes),
                            operation->node, escalation_action_name(operation->move.action),
                            is_write ? arena_printf(story->arena, "%" PRIu64, operation->move.pages)
                                     : "",
                            operation->is_adopting_surplus ? " of all nodes" : "");
}

VERB(do_next, "next") {
        return apply_next(story->apply, 0, &story->operation) ? operation_text(story) : "-";
}

VERB(do_perform, "perform") {
        int r = apply_perform(story->tree->root, &story->operation);

        return r < 0 ? strerrorname_np(-r) : "ok";
}

VERB(do_done, "done") {
        int error = 0;

        while (line->words[1] && !text_equals(strerrorname_np(error), line->words[1]))
                error++;
        apply_done(story->apply, &story->operation, -error, 1000);
        return NULL;
}

/* The kernel: a write that gets fewer pages succeeds. */
static void react(Story *story) {
        const ApplyOperation *operation = &story->operation;
        uint64_t pages = operation->move.pages;

        if (story->is_after)
                set_reserved(story->tree, story->reserved_after);
        if (operation->move.action != ESCALATION_WRITE || operation->page_size_bytes != 2 * MIB)
                return;
        pages = MIN(pages, story->most_pages);
        set_pool(story->tree, operation->node, 2048, pages);
        if (story->free_bytes > 0) {
                story->free_bytes -= (pages - operation->pages_before) * 2 * MIB;
                set_free(story->tree, operation->node, story->free_bytes);
        }
        add_surplus(story->tree, operation->node, story->surplus_after);
}

VERB(do_all, "all") {
        Text trace = text_in(line->arena);

        while (apply_next(story->apply, 0, &story->operation)) {
                text_printf(&trace, "%s%s", trace.length > 0 ? " " : "", operation_text(story));
                int r = apply_perform(story->tree->root, &story->operation);

                react(story);
                apply_done(story->apply, &story->operation, r, 1000);
        }
        return text_string(&trace);
}

VERB(do_stop_early, "stop-early") {
        apply_stop_early(story->apply);
        return NULL;
}

/* ---- what came of it ---- */

VERB(do_text, "path text") {
        return text_equals(line->words[0], "path") ? story->operation.path : story->operation.text;
}

/* "NODE SIZE: 37 pages, demoted 1, write 0, ENOENT, finished; ..." */
VERB(do_results, "results") {
        Text text = text_in(line->arena);
        size_t n;
        const ApplyResult *results = apply_results(story->apply, &n);

        ARRAY_FOREACH(result, results, n) {
                text_printf(&text, "%s%u %s: %" PRIu64 " pages", text.length > 0 ? "; " : "",
                            result->step.pool->node,
                            format_page_size(line->arena, result->step.pool->page_size_bytes),
                            result->reached_pages);
                if (result->demoted_pages > 0)
                        text_printf(&text, ", demoted %" PRIu64, result->demoted_pages);
                VEC_FOREACH(record, &result->escalation.records)
                        text_printf(&text, ", %s %d", escalation_action_name(record->action),
                                    record->error);
                if (result->error < 0)
                        text_printf(&text, ", %s", strerrorname_np(-result->error));
                text_add(&text, result->is_finished ? ", finished" : "");
        }
        return text_string(&text);
}

/* The limits for the next plan, of pools that stay below their targets. */
VERB(do_limits, "limits") {
        Text text = text_in(line->arena);
        const PoolLimits limits = apply_limits(
                line->arena, story->apply, probe_topology(story->tree->root, line->arena, NULL));

        VEC_FOREACH(limit, &limits)
                text_printf(&text, "%u %s: %" PRIu64 ", %s%s%s%s\n", limit->node,
                            format_page_size(line->arena, limit->page_size_bytes),
                            limit->persistent_pages, reason_id(limit->reason.kind),
                            limit->cannot_demote ? ", cannot be split" : "",
                            limit->reason.text ? ": " : "",
                            limit->reason.text ? limit->reason.text : "");
        return text_string(&text);
}

VERB(do_progress, "progress") {
        uint64_t done, all;

        apply_progress(story->apply, &done, &all);
        return arena_printf(line->arena, "%" PRIu64 " of %" PRIu64, done, all);
}

VERB(do_adopted, "adopted") {
        return story_number(line, apply_adopted_bytes(story->apply));
}

/* ---- other files ---- */

VERB(do_perform_on, "perform-on") {
        const ApplyOperation operation = {.path = line->words[1], .text = "1"};

        return strerrorname_np(-apply_perform(story->tree->root, &operation));
}

VERB(do_host_write, "host-write") {
        *vec_push(line->arena, &story->host_writes) = (HostWrite){line->words[1], line->words[2]};
        return NULL;
}

/* Performs them: "ok", or "ERROR PATH". With a number, files can have so many bytes. */
VERB(do_host_writes, "host-writes") {
        const char *path = NULL;
        struct rlimit before;

        getrlimit(RLIMIT_FSIZE, &before);
        if (line->words[1])
                setrlimit(RLIMIT_FSIZE,
                          &(struct rlimit){story_number_at(line, 1), before.rlim_max});
        int r = host_writes_apply(story->tree->root, &story->host_writes, &path);

        setrlimit(RLIMIT_FSIZE, &before);
        assert_true(r < 0 || !path);
        return r < 0 ? arena_printf(line->arena, "%s %s", strerrorname_np(-r), path) : "ok";
}

/* Stores a ledger with so many pools. */
VERB(do_save, "save") {
        Ledger *ledger = ledger_new(line->arena, "boot");

        for (unsigned i = 0; i < story_number_at(line, 1); i++)
                *vec_push(line->arena, &ledger->pools) = (LedgerPool){i, 2 * MIB, 1, 2};
        assert_int_equal(state_save(story->tree->root, ledger), 0);
        return NULL;
}

/* BOOT: "1 pools", and the message. */
VERB(do_load, "load") {
        const char *wrong = "not set";
        const Ledger *ledger = state_load(story->tree->root, line->arena, line->words[1], &wrong);

        return arena_printf(line->arena, "%zu pools%s%s", (size_t) ledger->pools.n,
                            wrong ? "; " : "", wrong ? wrong : "");
}

VERB(do_has_process, "has-process") {
        return story_yes(unit_cgroup_has_process(story->tree->root, line->words[1],
                                                 story_number_at(line, 2)));
}

VERB(do_group, "group") {
        return unit_cgroup_find(story->tree->root, line->arena, line->words[1]);
}

VERB(do_is_populated, "is-populated") {
        return story_yes(unit_cgroup_is_populated(story->tree->root, line->words[1]));
}

STORY_TEST(stories, "unit/apply/apply", .size = sizeof(Story), .begin = begin_story,
           .end = end_story)
