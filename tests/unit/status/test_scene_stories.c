/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stories (support/story.h) about plans and statuses.
 *
 *     config a Pages=10; b Pages=1     for config_line()
 *     node 0 total=20G free=4G 2M=100  a line of host_make(); `host`: another host, `even`: two nodes with room for 1000
 *                                      pages each
 *     hold a.service a 2M=0:10         a line of running_make(); `no-units` removes all
 *     starting c c.service bind=1      a start in progress; default policy: any
 *     pool 0 EXISTING SET [OTHERS]     of the ledger; granted a WANTED 0:10 1:10 [complete] [ready] [released] [1G]
 *     grants a -> 0:5 1:5              a question about the plan, which is made for the first one
 *     judge                            makes the status, for later questions
 *     drifts                           of the host against the plan that was recorded last
 *
 * and, without a plan, about promises on pages of 2M.
 *
 *     free 60/40 30                    nodes with so many pages, all free, of which 30 are reserved
 *     crowded                          nodes with 100 and 80 pages, of which 40 and 50 are free, and 50 reserved
 *     maps b 1:30 bind=1               b.service was started with these pages, and has mapped and not touched them
 *     promises, spare, missing, exposures, lost b.service, admit a 40 bind=1 now; b 20 plan=0:10/1:10 mount
 *
 * A ledger stays until `forget`. */

#include "base/size.h"
#include "plan/drift.h"
#include "plan/idle.h"
#include "plan/promise/admission.h"
#include "plan/promise/balance.h"
#include "status/status.h"
#include "support/story.h"

typedef struct Scene {
        Arena *arena;
        const char *config_text;
        const Config *config;
        Text host, running_lines;
        Topology *topology;
        Running running;
        Ledger *ledger;
        PoolLimits limits;
        PlanStartings starting;
        HostPlan host_plan;
        bool is_incomplete, is_restarted, is_assumed, is_moving, is_unread;
        PlanInput input;
        const Plan *plan; /* NULL: to be made again */
        const Plan *recorded;
        const Status *status;
} Scene;

#define VERB(name, words) STORY_VERB(name, words, Scene, scene)

/* ---- what there is ---- */

/* The plan must be made again. */
static Scene *changed(Scene *scene) {
        scene->plan = NULL;
        return scene;
}

VERB(do_config, "config") {
        changed(scene);
        scene->config = NULL;
        scene->config_text = *line->rest ? line->rest : NULL;
        return NULL;
}

static void add_line(Text *text, const StoryLine *line) {
        if (!text->arena)
                *text = text_in(line->arena);
        text_printf(text, "%s %s\n", line->words[0], line->rest);
}

VERB(do_host_line, "sizes node reserved commit thp") {
        changed(scene);
        add_line(&scene->host, line);
        scene->topology = NULL;
        return NULL;
}

VERB(do_host, "host even crowded") {
        changed(scene);
        scene->host = text_in(line->arena);
        if (text_equals(line->words[0], "even"))
                text_add(&scene->host, "sizes 1G 2M\nnode 0 total=20G free=4048M\n"
                                       "node 1 total=20G free=4048M\n");
        if (text_equals(line->words[0], "crowded"))
                text_add(&scene->host, "sizes 1G 2M\nnode 0 total=20G 2M=100/40\n"
                                       "node 1 total=20G 2M=80/50\nnode 2\nreserved 2M=50\n");
        scene->topology = NULL;
        return NULL;
}

VERB(do_running_line, "hold unit mount") {
        add_line(&changed(scene)->running_lines, line);
        return NULL;
}

VERB(do_no_units, "no-units") {
        changed(scene);
        scene->running_lines = text_in(line->arena);
        if (scene->ledger)
                scene->ledger->holds = (LedgerHolds){};
        return NULL;
}

static Topology *topology_of(Scene *scene) {
        if (!scene->topology)
                scene->topology = host_make(scene->arena, text_string(&scene->host));
        return scene->topology;
}

static Ledger *ledger_of(Scene *scene) {
        changed(scene);
        if (!scene->ledger)
                scene->ledger = ledger_new(scene->arena, "boot");
        return scene->ledger;
}

VERB(do_forget, "forget") {
        changed(scene)->ledger = NULL;
        return NULL;
}

static uint64_t size_of(const StoryLine *line) {
        return story_has_word(line, "1G") ? GIB : story_has_word(line, "16G") ? 16 * GIB : 2 * MIB;
}

VERB(do_pool, "pool") {
        Ledger *ledger = ledger_of(scene);

        *vec_push(line->arena, &ledger->pools) = (LedgerPool){
                .node = (unsigned) story_number_at(line, 1),
                .page_size_bytes = 2 * MIB,
                .found_pages = story_number_at(line, 2),
                .set_pages = story_number_at(line, 3),
                .others_pages = story_number_at(line, 4),
        };
        return NULL;
}

VERB(do_granted, "granted") {
        Ledger *ledger = ledger_of(scene);
        LedgerInstance *instance = vec_push(line->arena, &ledger->instances);

        *instance = (LedgerInstance){
                .name = line->words[1],
                .page_size_bytes = size_of(line),
                .pages_wanted = story_number_at(line, 2),
                .was_complete = story_has_word(line, "complete"),
                .was_ready = story_has_word(line, "ready"),
                .is_released = story_has_word(line, "released"),
                .is_unitless = story_has_word(line, "unitless"),
        };
        for (size_t i = 3; line->words[i]; i++) {
                unsigned node;
                uint64_t pages;

                if (sscanf(line->words[i], "%u:%" SCNu64, &node, &pages) == 2)
                        *vec_push(line->arena, &instance->grants) = (NodePages){node, pages};
        }
        return NULL;
}

VERB(do_limit, "limit") {
        *vec_push(line->arena, &changed(scene)->limits) = (PoolLimit){
                .node = (unsigned) story_number_at(line, 1),
                .page_size_bytes = size_of(line),
                .persistent_pages = story_number_at(line, 2),
                .cannot_demote = story_has_word(line, "unsplittable"),
                .reason = {REASON_FRAGMENTED, "in small pieces", "reboot"},
        };
        return NULL;
}

VERB(do_flag, "incomplete restarted unlimited splits no-hugetlb-limit assumed moving unread") {
        changed(scene);
        const char *flag = line->words[0];

        if (text_equals(flag, "incomplete"))
                scene->is_incomplete = true;
        else if (text_equals(flag, "assumed"))
                scene->is_assumed = true;
        else if (text_equals(flag, "moving"))
                scene->is_moving = true;
        else if (text_equals(flag, "unread"))
                scene->is_unread = true;
        else if (text_equals(flag, "restarted"))
                scene->is_restarted = true;
        else if (text_equals(flag, "unlimited"))
                scene->limits = (PoolLimits){};
        else if (text_equals(flag, "no-hugetlb-limit"))
                topology_of(scene)->no_hugetlb_limit =
                        (Reason){REASON_NO_HUGETLB_LIMIT, "no such controller", "boot another"};
        else /* "splits" */
                for (size_t i = 0; i < topology_of(scene)->n_nodes; i++)
                        for (size_t k = 0; k + 1 < topology_of(scene)->n_page_sizes; k++)
                                topology_of(scene)->nodes[i].pools[k].demote_to_bytes = 2 * MIB;
        return NULL;
}

/* "any", or a word of a hold. */
static MemoryPolicy policy_of(Arena *arena, const char *word) {
        return text_equals(word, "any")
                       ? (MemoryPolicy){.kind = MEMORY_POLICY_ANY}
                       : running_make(arena, arena_printf(arena, "hold x x %s\n", word))
                                 .holds.items[0]
                                 .policy;
}

VERB(do_starting, "starting") {
        changed(scene);
        scene->starting = (PlanStartings){};
        *vec_push(line->arena, &scene->starting) = (PlanStarting){
                line->words[1], line->words[2], "", policy_of(line->arena, line->words[3])};
        return NULL;
}

VERB(do_writes, "writes") {
        *vec_push(line->arena, &scene->host_plan.writes) =
                (HostWrite){.path = line->words[1], .value = line->words[2]};
        return NULL;
}

/* ---- what happens ---- */

static const Plan *plan_of(Scene *scene) {
        Ledger *ledger = scene->ledger ? scene->ledger : ledger_new(scene->arena, "boot");
        bool has_use = scene->running_lines.arena;

        if (scene->plan)
                return scene->plan;
        if (!scene->config)
                scene->config = scene->config_text
                                        ? config_line(scene->arena, "%s", scene->config_text)
                                        : config_make(scene->arena, NULL);
        scene->running = running_make(scene->arena, text_string(&scene->running_lines));
        VEC_FOREACH(hold, &scene->running.holds)
                if (!ledger_hold(ledger, hold->unit, hold->granted.name))
                        *vec_push(scene->arena, &ledger->holds) = *hold;
        ledger_observe(scene->arena, ledger, topology_of(scene),
                       has_use ? &scene->running.use : NULL);
        scene->input = (PlanInput){
                .host = &scene->config->host,
                .demand = demand_compute(scene->arena, scene->config, scene->topology, NULL),
                .topology = scene->topology,
                .ledger = ledger,
                .use = has_use ? &scene->running.use : NULL,
                .limits = &scene->limits,
                .starting = &scene->starting,
                .is_incomplete = scene->is_incomplete,
                .is_restarted = scene->is_restarted,
        };
        scene->ledger = ledger;
        scene->plan = plan_make(scene->arena, &scene->input);
        return scene->plan;
}

/* "record-only" does not record which instances are ready; "perform" also writes. */
VERB(do_record, "record record-only perform") {
        const Plan *plan = plan_of(scene);

        plan_record(scene->arena, plan, scene->ledger);
        scene->recorded = plan;
        if (text_equals(line->words[0], "perform")) {
                host_apply(scene->topology, plan);
                scene->plan = NULL;
        } else if (!text_equals(line->words[0], "record-only"))
                plan_note_ready(plan, scene->ledger);
        return NULL;
}

/* Like the daemon: records, writes, records the written counts, and records the result by a new plan; the previous
 * plan stays. */
VERB(do_apply, "apply") {
        const Plan *plan = plan_of(scene);

        plan_record(scene->arena, plan, scene->ledger);
        host_apply(scene->topology, plan);
        for (size_t i = 0; i < plan->n_pools; i++)
                ledger_pool(scene->ledger, plan->pools[i].node, plan->pools[i].page_size_bytes)
                        ->set_pages = plan->pools[i].to_pages;
        scene->plan = NULL;
        do_record(scene, line);
        scene->plan = plan;
        return NULL;
}

/* Changes since the plan was made, before the status. */
VERB(do_now, "now-hold now-mount now-unit") {
        if (!text_equals(line->words[0], "now-unit"))
                scene->running_lines = text_in(line->arena);
        text_printf(&scene->running_lines, "%s %s\n", line->words[0] + strlen("now-"), line->rest);
        scene->running = running_make(line->arena, text_string(&scene->running_lines));
        scene->ledger->holds = scene->running.holds;
        return NULL;
}

VERB(do_plan, "plan") {
        plan_of(changed(scene));
        return NULL;
}

/* Of the pool of 2M: others remove pages, or use them, or have surplus ones. */
VERB(do_change, "lose take surplus") {
        Pool *pool = (Pool *) topology_pool(topology_of(scene), (unsigned) story_number_at(line, 1),
                                            2 * MIB);
        uint64_t pages = story_number_at(line, 2);

        if (text_equals(line->words[0], "lose"))
                pool->total_pages -= pages;
        if (text_equals(line->words[0], "surplus"))
                pool->surplus_pages = pages;
        pool->free_pages -= pages;
        return NULL;
}

/* Another host, after the plan was made on the present one. */
VERB(do_now_host, "now-host") {
        plan_of(scene);
        scene->topology = host_make(scene->arena, story_text(line, 0));
        return NULL;
}

/* An instance was ready with so many pages; "unrecorded": the ledger has no instance. */
VERB(do_was_ready, "was-ready unrecorded") {
        if (text_equals(line->words[0], "unrecorded")) {
                scene->ledger->instances.n = 0;
                return NULL;
        }
        LedgerInstance *instance = ledger_instance(scene->ledger, line->words[1]);

        instance->was_ready = true;
        instance->pages_wanted = story_number_at(line, 2);
        return NULL;
}

static StatusInput status_input(Scene *scene) {
        const Plan *plan = plan_of(scene);

        return (StatusInput){.config = scene->config,
                             .plan = plan,
                             .topology = topology_of(scene),
                             .use = &scene->running.use,
                             .ledger = scene->ledger,
                             .phase = "idle"};
}

VERB(do_judge, "judge") {
        StatusInput input = status_input(scene);

        scene->running.use.is_moving = story_has_word(line, "moving");
        input.is_working = story_has_word(line, "working");
        if (input.is_working)
                input.phase = "reserving";
        scene->status = status_judge(scene->arena, &input);
        return NULL;
}

/* ---- what is planned ---- */

/* Of an instance. */
VERB(do_planned,
     "grants reason why remedy exposed exposed-why exposed-remedy size wanted given held waits plan-verdict runs") {
        const Plan *plan = plan_of(scene);
        const PlanInstance *planned = plan_find(plan, line->words[1]);
        const char *what = line->words[0];

        if (text_equals(what, "grants"))
                return grants_text(line->arena, plan, line->words[1]);
        const Reason *reason = text_starts_with(what, "exposed") ? &planned->exposed
                                                                 : &planned->reason;

        if (text_equals(what, "reason") || text_equals(what, "exposed"))
                return reason_id(reason->kind);
        if (text_ends_with(what, "why"))
                return reason->text;
        if (text_ends_with(what, "remedy"))
                return reason->remedy;
        if (text_equals(what, "size"))
                return format_page_size(line->arena, planned->page_size_bytes);
        if (text_equals(what, "wanted"))
                return story_number(line, planned->pages_wanted);
        if (text_equals(what, "given"))
                return story_number(line, planned->pages_granted);
        if (text_equals(what, "held"))
                return planned->hold ? planned->hold->unit : NULL;
        if (text_equals(what, "waits"))
                return story_yes(planned->hold && plan_waits_for_restart(planned, planned->hold));
        if (text_equals(what, "plan-verdict"))
                return verdict_name(plan_verdict(planned));
        /* "runs" */
        return story_yes(plan_find_running(line->arena, &scene->input, plan,
                                           NULL)[planned - plan->instances]);
}

/* "40 now, mount": the pages of a starter. */
VERB(do_starter, "starter") {
        const Plan *plan = plan_of(scene);
        const Starter starter = plan_starter(&scene->input,
                                             plan_promises(line->arena, &scene->input),
                                             plan_find(plan, line->words[1]));

        return arena_printf(line->arena, "%" PRIu64 "%s%s", starter.pages,
                            starter.is_now ? " now" : "", starter.has_mount ? " mount" : "");
}

/* "0 repair: node 0 has 99 pages of 2M instead of 100" */
VERB(do_drifts, "drifts") {
        const Drifts drifts = drift_find(line->arena, scene->recorded, scene->ledger,
                                         topology_of(scene), &scene->host_plan);
        Text text = text_in(line->arena);

        VEC_FOREACH(drift, &drifts)
                text_printf(&text, "%s%d%s: %s", text.length > 0 ? "; " : "", (int) drift->kind,
                            drift_wants_repair(drift) ? " repair" : "",
                            drift_format(line->arena, drift));
        return text_string(&text);
}

VERB(do_steps, "steps") {
        return steps_text(line->arena, plan_of(scene));
}

VERB(do_pool_pages, "others split gained planned beyond") {
        const PlanPool *pool =
                plan_pool(plan_of(scene), (unsigned) story_number_at(line, 1), size_of(line));
        const char *what = line->words[0];

        return story_number(line, text_equals(what, "others")   ? pool->others_pages
                                  : text_equals(what, "split")  ? pool->demoted_pages
                                  : text_equals(what, "gained") ? pool->gained_pages
                                  : text_equals(what, "beyond")
                                          ? plan_held_by_others(plan_of(scene), size_of(line))
                                          : pool->granted_pages);
}

/* The ledger's entry of an instance. */
VERB(do_recorded, "recorded") {
        const LedgerInstance *instance = ledger_instance(scene->ledger, line->words[1]);

        if (!instance)
                return NULL;
        return arena_printf(line->arena, "%" PRIu64 " %s%s%s", ledger_granted_pages(instance),
                            placement_names[instance->placement],
                            instance->was_complete ? ", complete" : "",
                            instance->was_ready ? ", ready" : "");
}

VERB(do_held_pages, "held-pages") {
        VEC_FOREACH(hold, &scene->ledger->holds)
                if (text_equals(hold->granted.name, line->words[1]))
                        return story_number(line, ledger_granted_pages(&hold->granted));
        return NULL;
}

VERB(do_keep_free, "keep-free") {
        return arena_printf(line->arena, "%.17gM", (double) plan_of(scene)->keep_free_bytes / MIB);
}

VERB(do_planned_covers, "planned-covers") {
        const Plan *plan = plan_of(scene);
        Text text = text_in(line->arena);

        VEC_FOREACH(cover, &plan->covers)
                text_printf(&text, "%s%s by %s %" PRIu64, text.length > 0 ? "; " : "", cover->unit,
                            cover->taker, cover->taker_pages);
        return text_string(&text);
}

VERB(do_number, "number") {
        const Plan *plan = plan_of(scene);
        const Diags *problems = scene->status ? &scene->status->problems : NULL;
        const struct {
                const char *what;
                uint64_t n;
        } answers[] = {
                /* Holds without an instance. */
                {"left", VEC_SUM(hold, &scene->ledger->holds,
                                 !scene->is_restarted &&
                                         !ARRAY_ANY(each, plan->instances, plan->n_instances,
                                                    each->hold == hold))},
                {"changed", plan_count_changed(plan)},
                {"instances", plan->n_instances},
                {"holds", scene->ledger->holds.n},
                {"covers", scene->status ? scene->status->covers.n : plan->covers.n},
                {"pools", scene->status ? scene->status->n_pools : 0},
                {"problems", problems ? problems->list.n : 0},
                {"errors", problems ? diags_count(problems, SEVERITY_ERROR) : 0},
                {"warnings", problems ? diags_count(problems, SEVERITY_WARNING) : 0},
                {"notices", problems ? diags_count(problems, SEVERITY_NOTICE) : 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(answers); i++)
                if (text_equals(answers[i].what, line->words[2]))
                        return story_number(line, answers[i].n);
        fail_msg("number of what?");
        return NULL;
}

/* ---- promises ---- */

VERB(do_free, "free") {
        changed(scene);
        const char *counts = line->words[1], *word;

        scene->host = text_in(line->arena);
        text_printf(&scene->host, "sizes 2M\nreserved 2M=%" PRIu64 "\n", story_number_at(line, 2));
        for (size_t n = 0; (word = text_next_word(line->arena, &counts, "/")); n++)
                text_printf(&scene->host, "node %zu total=20G 2M=%s\n", n, word);
        scene->topology = NULL;
        return NULL;
}

VERB(do_maps, "maps") {
        changed(scene);
        const char *unit = arena_printf(line->arena, "%s.service", line->words[1]);
        const char *hold = arena_printf(line->arena, "hold %s %s 2M=%s %s counted\n", unit,
                                        line->words[1], line->words[2],
                                        line->words[3] ? line->words[3] : "");
        const Running one = running_make(line->arena, hold);

        if (!scene->running_lines.arena)
                scene->running_lines = text_in(line->arena);
        text_printf(&scene->running_lines, "%sunit %s 2M=%" PRIu64 "\n", hold, unit,
                    ledger_granted_pages(&one.holds.items[0].granted));
        return NULL;
}

/* For pools that the story does not set, no page was in use when the last plan was made. */
static const Promises *promises_of(Scene *scene) {
        const Topology *topology = topology_of(scene);
        Promises *promises = ARENA_NEW(scene->arena, Promises);

        scene->running = running_make(scene->arena, text_string(&scene->running_lines));
        scene->running.use.is_moving = scene->is_moving;
        VEC_FOREACH(hold, &scene->running.holds) {
                hold->is_assumed = scene->is_assumed;
                hold->unit = text_equals(hold->unit, "-") ? NULL : hold->unit;
        }
        *promises = promises_make(
                scene->arena, topology, (size_t) topology_page_size_index(topology, 2 * MIB),
                &scene->running.holds, scene->is_unread ? NULL : &scene->running.use,
                scene->ledger ? scene->ledger : ledger_of_idle(scene->arena, topology));
        return promises;
}

/* Of 2M, by node. */
static const uint64_t *free_pages_of(Scene *scene) {
        const Topology *topology = topology_of(scene);
        uint64_t *pages = ARENA_ARRAY(scene->arena, uint64_t, topology->n_nodes);

        for (size_t i = 0; i < topology->n_nodes; i++)
                pages[i] = topology_pool(topology, topology->nodes[i].id, 2 * MIB)->free_pages;
        return pages;
}

static const char *policy_text(Arena *arena, const MemoryPolicy *policy) {
        static const char *const kinds[] = {
                [MEMORY_POLICY_UNKNOWN] = "unknown",
                [MEMORY_POLICY_ANY] = "any",
                [MEMORY_POLICY_BIND] = "bind",
                [MEMORY_POLICY_INTERLEAVE] = "interleave",
        };

        return policy->kind >= MEMORY_POLICY_BIND
                       ? arena_printf(arena, "%s=%s", kinds[policy->kind],
                                      id_set_format(arena, &policy->nodes))
                       : kinds[policy->kind];
}

static void add_used(Text *text, const Topology *topology, const uint64_t *pages) {
        size_t length = text->length;

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (pages[i] > 0)
                        text_printf(text, " %u:%" PRIu64, topology->nodes[i].id, pages[i]);
        text_add(text, text->length == length ? " -" : "");
}

static void add_pages(Text *text, const char *what, uint64_t pages) {
        if (pages > 0)
                text_printf(text, ", %s %" PRIu64, what, pages);
}

/* "a.service any, used 0:3, promised 2, likely 1, owed 5, at most 8" without zeros; others' pages come last. */
VERB(do_promises, "promises") {
        const Promises *promises = promises_of(scene);
        Text text = text_in(line->arena);

        VEC_FOREACH(row, &promises->list) {
                if (row->mount_of)
                        text_printf(&text, "mount of %s, used", row->mount_of);
                else
                        text_printf(&text, "%s%s %s, used", row->unitless ? "unitless " : "",
                                    row->unitless ? row->unitless : row->unit,
                                    policy_text(line->arena, &row->policy));
                add_used(&text, promises->topology, row->used);
                add_pages(&text, "promised", row->pages);
                add_pages(&text, "likely", row->likely_pages);
                add_pages(&text, "owed", row->owed_pages);
                if (row->owed_most_pages != row->owed_pages)
                        add_pages(&text, "at most", row->owed_most_pages);
                text_add(&text, "; ");
        }
        text_add(&text, "others: used");
        add_used(&text, promises->topology, promises->others_used);
        add_pages(&text, "unknown", promises->unknown_pages);
        add_pages(&text, "theirs", promises->others_promised_pages);
        return text_string(&text);
}

/* "interleave=0-1 mems=1": the effective policy of a unit with this policy and cpuset. */
VERB(do_confined, "confined") {
        changed(scene);
        const char *policy = text_equals(line->words[1], "any") ? "" : line->words[1];

        scene->running_lines = text_in(line->arena);
        text_printf(&scene->running_lines,
                    "hold a.service a 2M=0:1 counted %s\nunit a.service 2M=1 %s\n", policy,
                    line->words[2]);
        return policy_text(line->arena, &promises_of(scene)->list.items[0].policy);
}

/* Of an instance without a unit. */
VERB(do_unitless, "unitless") {
        const Promise *row = index_find(promises_of(scene)->by_instance, line->words[1]);

        return story_number(line, row ? row->used_pages + row->likely_pages : 0);
}

VERB(do_finds, "finds") {
        const Promise *found = promises_find(promises_of(scene), line->words[1]);

        return found ? found->unit : NULL;
}

/* "50/12", by node. */
VERB(do_balance, "spare missing") {
        Balance *balance =
                balance_new(line->arena, promises_of(scene), free_pages_of(scene), false);
        bool is_spare = text_equals(line->words[0], "spare");
        Text text = text_in(line->arena);

        /* "spare 0 10": after so many pages of that node were given back. */
        if (line->words[1])
                balance_change(balance, story_number_at(line, 1), story_number_at(line, 2), 0);
        for (size_t i = 0; i < scene->topology->n_nodes; i++)
                text_printf(&text, "%s%" PRIu64, i > 0 ? "/" : "",
                            is_spare ? balance_spare_pages(balance, i)
                                     : balance_missing_pages(balance, i));
        return text_string(&text);
}

/* "15 of b.service on 1 by c.service (40)" */
VERB(do_exposures, "exposures") {
        const Exposures exposures =
                promises_exposures(line->arena, promises_of(scene), free_pages_of(scene), false);
        Text text = text_in(line->arena);

        VEC_FOREACH(exposure, &exposures)
                text_printf(&text, "%s%" PRIu64 " of %s on %s by %s (%" PRIu64 ")",
                            text.length > 0 ? "; " : "", exposure->pages, exposure->unit,
                            id_set_format(line->arena, &exposure->nodes),
                            exposure->taker ? exposure->taker : "?", exposure->taker_pages);
        return text_string(&text);
}

/* Reserved pages that no page can serve any more. */
VERB(do_lost, "lost") {
        return story_number(line, promises_lost_pages(promises_of(scene), line->words[1],
                                                      free_pages_of(scene)));
}

static Starter starter_make(Arena *arena, const char *text) {
        Starter starter = {.policy = {.kind = MEMORY_POLICY_ANY}};
        const char *word;

        starter.instance = text_next_word(arena, &text, " ");
        assert_int_equal(parse_u64(text_next_word(arena, &text, " "), &starter.pages), 0);
        while ((word = text_next_word(arena, &text, " ")))
                if (text_equals(word, "now"))
                        starter.is_now = true;
                else if (text_equals(word, "mount"))
                        starter.has_mount = true;
                else if (text_starts_with(word, "plan=")) {
                        const Running planned = running_make(
                                arena, arena_printf(arena, "hold x x 2M=%s\n", word + 5));

                        starter.grants = planned.holds.items[0].granted.grants;
                } else
                        starter.policy = policy_of(arena, word);
        return starter;
}

/* "ok", or "15 on 1: 30 free, 40 taken by c.service" of each starter after those before it. */
VERB(do_admit, "admit") {
        Text text = text_in(line->arena);
        const char *rest = line->rest, *word;
        VEC(Starter) starters = {};

        while ((word = text_next_word(line->arena, &rest, ";")))
                *vec_push(line->arena, &starters) = starter_make(line->arena, word);
        Lack *lacks = ARENA_ARRAY(line->arena, Lack, starters.n);

        promises_admit(line->arena, promises_of(scene), free_pages_of(scene), starters.items,
                       starters.n, lacks);
        for (size_t i = 0; i < starters.n; i++) {
                const Lack *lack = &lacks[i];

                text_add(&text, i > 0 ? "; " : "");
                if (lack->pages == 0)
                        text_add(&text, "ok");
                else
                        text_printf(&text,
                                    "%" PRIu64 " on %s: %" PRIu64 " free, %" PRIu64 " taken by %s",
                                    lack->pages, id_set_format(line->arena, &lack->nodes),
                                    lack->free_pages, lack->taken_pages,
                                    lack->taker ? lack->taker : "?");
        }
        return text_string(&text);
}

/* ---- what a start lacks ---- */

/* Of a start without a daemon, which comes before all others. */
static Lack lack_alone(Scene *scene, const char *name) {
        StatusInput input = status_input(scene);
        const InstanceConfig *config = config_find(scene->config, name);
        PlanStartings starting = {};

        *vec_push(scene->arena, &starting) =
                (PlanStarting){name, config->unit, "", plan_find(input.plan, name)->demand->policy};
        input.starting = &starting;
        input.is_alone = true;
        return status_find(status_judge(scene->arena, &input), name)->lack;
}

/* "30, alone 0": the pages, in the order of the instances and before all others; "60": the same. */
VERB(do_lack, "lack") {
        const StatusInput input = status_input(scene);
        const char *name = line->words[1];
        uint64_t pages = status_find(status_judge(line->arena, &input), name)->lack.pages;
        uint64_t alone = lack_alone(scene, name).pages;

        return pages == alone
                       ? story_number(line, pages)
                       : arena_printf(line->arena, "%" PRIu64 ", alone %" PRIu64, pages, alone);
}

VERB(do_explain_lack, "taker lack-alone-why") {
        const Lack lack = lack_alone(scene, line->words[1]);

        return text_equals(line->words[0], "taker")
                       ? lack.taker
                       : plan_explain_lack(line->arena, plan_find(plan_of(scene), line->words[1]),
                                           &lack)
                                 .text;
}

/* ASKER VERDICT LACK LACK-OF-A-QUERY [degrade] [exposed] [of-no-size], with an instance that wants 50 pages:
 * "refused, lacks 3: REASON". */
VERB(do_start, "start") {
        static const char *const askers[] = {
                [START_QUERY] = "query", [START_BY_UNIT] = "by-unit", [START_BY_ITSELF] = "by-itself"};
        const PlanInstance planned = {
                .pages_wanted = 50,
                .page_size_bytes = 2 * MIB,
                .exposed = {story_has_word(line, "exposed") ? REASON_TAKEN : REASON_NONE}};
        int asker = text_index(askers, ARRAY_LEN(askers), line->words[1]);
        const Lack of_query = {.pages = story_number_at(line, 4)};
        StatusInstance instance = {.name = "a",
                                   .pages_wanted = story_has_word(line, "of-no-size") ? 0 : 50,
                                   .shortage = story_has_word(line, "degrade") ? SHORTAGE_DEGRADE
                                                                               : SHORTAGE_REFUSE,
                                   .reason = {.text = "the present reason"},
                                   .lack = {.pages = story_number_at(line, 3)}};

        assert_true(asker >= 0);
        assert_int_equal(verdict_from_name(line->words[2], &instance.verdict), 0);
        status_judge_start(line->arena, &planned, (StartAsker) asker, &of_query, &instance);
        return arena_printf(line->arena, "%s, lacks %" PRIu64 ": %s",
                            verdict_name(instance.verdict), instance.lack.pages,
                            instance.reason.text ? instance.reason.text : "no reason");
}

/* ---- the status ---- */

/* Without an instance: of all. */
VERB(do_verdict, "verdict") {
        return verdict_name(line->words[1] ? status_find(scene->status, line->words[1])->verdict
                                           : scene->status->verdict);
}

VERB(do_reported, "has reported reported-reason reported-remedy is-running until-restart") {
        const StatusInstance *instance = status_find(scene->status, line->words[1]);
        const char *what = line->words[0];
        const StatusHold *until = instance->until_restart;

        if (text_equals(what, "has"))
                return story_number(line, instance->pages_granted);
        if (text_equals(what, "reported"))
                return instance->reason.text;
        if (text_equals(what, "reported-reason"))
                return reason_id(instance->reason.kind);
        if (text_equals(what, "reported-remedy"))
                return instance->reason.remedy;
        if (text_equals(what, "is-running"))
                return story_yes(instance->is_running);
        /* "until-restart" */
        return until ? arena_printf(line->arena, "%s %" PRIu64 " on %zu node%s, the first %" PRIu64,
                                    until->unit, until->pages, until->nodes.n,
                                    until->nodes.n == 1 ? "" : "s", until->nodes.items[0].pages)
                     : NULL;
}

/* Without an instance: of the host. */
VERB(do_describes, "describes") {
        const Status *status = scene->status;
        const StatusInstance *instance = line->words[1] ? status_find(status, line->words[1])
                                                        : NULL;

        return instance ? arena_printf(line->arena, "%s %s %s on %zu nodes", instance->unit,
                                       instance->engine, instance->file, instance->nodes.n)
                        : arena_printf(line->arena, "%s, %s, THP %s", status->boot_id,
                                       status->phase, status->thp);
}

VERB(do_problem, "problem") {
        return scene->status->problems.list.items[story_number_at(line, 1)].id;
}

VERB(do_left_behind, "left-behind") {
        Text text = text_in(line->arena);

        VEC_FOREACH(left, &scene->status->left)
                text_printf(&text, "%s%s %s %" PRIu64 " on %zu nodes", text.length > 0 ? "; " : "",
                            left->unit, left->instance, left->pages, left->nodes.n);
        return text_string(&text);
}

VERB(do_problems, "problems") {
        return problems_text(line->arena, &scene->status->problems);
}

/* The I-th pool: "0 2M: 30 total, 20 free, 5 surplus, 0 owned, 0 cover, 30 foreign". */
VERB(do_status_pool, "status-pool") {
        const StatusPool *pool = &scene->status->pools[story_number_at(line, 1)];

        return arena_printf(line->arena,
                            "%u %s: %" PRIu64 " total, %" PRIu64 " free, %" PRIu64
                            " surplus, %" PRIu64 " owned, %" PRIu64 " cover, %" PRIu64 " foreign",
                            pool->node, format_page_size(line->arena, pool->page_size_bytes),
                            pool->total_pages, pool->free_pages, pool->surplus_pages,
                            pool->owned_pages, pool->cover_pages, pool->foreign_pages);
}

/* "b.service 2M:30 on 1; ? 2M:7": the owner, and the nodes that alone can serve the pages. */
VERB(do_reserved, "status-reserved") {
        Text text = text_in(line->arena);

        VEC_FOREACH(reserved, &scene->status->reserved)
                text_printf(&text, "%s%s %s:%" PRIu64 "%s%s", text.length > 0 ? "; " : "",
                            reserved->unit ? reserved->unit : "?",
                            format_page_size(line->arena, reserved->page_size_bytes),
                            reserved->pages, id_set_is_empty(&reserved->nodes) ? "" : " on ",
                            id_set_is_empty(&reserved->nodes)
                                    ? ""
                                    : id_set_format(line->arena, &reserved->nodes));
        return text_string(&text);
}

/* "a.service 40 by c.service (40) on 1": the covered unit, and those that may take its pages. */
VERB(do_covers, "covers") {
        Text text = text_in(line->arena);

        VEC_FOREACH(cover, &scene->status->covers)
                text_printf(&text, "%s%s %" PRIu64 " by %s (%" PRIu64 ") on %s",
                            text.length > 0 ? "; " : "", cover->unit, cover->pages, cover->taker,
                            cover->taker_pages, id_set_format(line->arena, &cover->nodes));
        return text_string(&text);
}

STORY_TEST(plan, "unit/plan/plan", .size = sizeof(Scene))
STORY_TEST(plan_split, "unit/plan/plan_split", .size = sizeof(Scene))
STORY_TEST(plan_reason, "unit/plan/plan_reason", .size = sizeof(Scene))
STORY_TEST(promises, "unit/plan/promises", .size = sizeof(Scene))
STORY_TEST(status, "unit/status/status", .size = sizeof(Scene))

TEST(verdict_names) {
        Verdict verdict = VERDICT_LOST;

        for (int i = VERDICT_READY; i <= VERDICT_LOST; i++) {
                assert_int_equal(verdict_from_name(verdict_name((Verdict) i), &verdict), 0);
                assert_int_equal(verdict, i);
                assert_int_equal(verdict_lets_start(verdict),
                                 i == VERDICT_READY || i == VERDICT_DEGRADED || i == VERDICT_ASIDE);
        }
        assert_int_equal(verdict_from_name("fine", &verdict), -EINVAL);
        assert_int_equal(verdict_from_name(NULL, &verdict), -EINVAL);
        assert_int_equal(verdict, VERDICT_LOST);
}
