/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reports: the verdict in one sentence, each finding once, what is unknown. */

#include "check/report.h"
#include "support/testing.h"

typedef struct Scene {
        Arena *arena;
        Status status;
        Proofs proofs;
        Findings findings;
        HistoryEntries history;
        bool is_captured; /* the host's name and the time are not known */
        HostView view;
        Report report;
} Scene;

static Scene *scene_new(Arena *arena) {
        Scene *scene = ARENA_NEW(arena, Scene);

        scene->arena = arena;
        scene->status.problems = diags_in(arena);
        scene->status.instances = ARENA_ARRAY(arena, StatusInstance, 8);
        scene->view.history = &scene->history;
        return scene;
}

static const Report *judge(Scene *scene) {
        scene->report = (Report){
                .host = scene->is_captured ? NULL : "db7",
                .when = scene->is_captured ? NULL : "now",
                .status = &scene->status,
                .proofs = scene->proofs,
                .checked = scene->findings,
                .view = scene->view,
        };
        report_judge(scene->arena, &scene->report);
        return &scene->report;
}

static Proof *add_instance(Scene *scene, const char *name, Verdict verdict, Outcome outcome) {
        StatusInstance *instance = &scene->status.instances[scene->status.n_instances++];
        ServerLook *look = ARENA_NEW(scene->arena, ServerLook);
        Proof *proof = vec_push(scene->arena, &scene->proofs.list);

        *instance = (StatusInstance){
                .name = name, .verdict = verdict, .page_size_bytes = 2 * MIB, .pages_wanted = 100};
        look->is_running = outcome != OUTCOME_NOT_STARTED;
        *proof = (Proof){.instance = instance,
                         .look = look,
                         .outcome = outcome,
                         .page_size_bytes = 2 * MIB,
                         .is_as_planned = outcome != OUTCOME_FELL_BACK &&
                                          outcome != OUTCOME_UNKNOWN};
        return proof;
}

TEST(all_is_well) {
        Scene *scene = scene_new(arena);

        add_instance(scene, "a", VERDICT_READY, OUTCOME_IN_USE);
        add_instance(scene, "b", VERDICT_READY, OUTCOME_IN_USE);
        add_instance(scene, "c", VERDICT_READY, OUTCOME_NOT_STARTED);
        const Report *report = judge(scene);

        assert_int_equal(report->verdict, REPORT_AS_PLANNED);
        assert_text(report->sentence, "Instances: 3, all as planned.");
        assert_int_equal(report->findings.n, 0);
        assert_int_equal(report->left_out.n, 0);
}

TEST(verdicts) {
        Scene *scene = scene_new(arena);

        add_instance(scene, "a", VERDICT_READY, OUTCOME_UNKNOWN);
        const Report *report = judge(scene);

        assert_int_equal(report->verdict, REPORT_ATTENTION);
        assert_text(report->sentence, "Instances: 1; cannot be judged: 1.");
        add_instance(scene, "b", VERDICT_DEGRADED, OUTCOME_FELL_BACK);
        *vec_push((Arena *) arena, &scene->proofs.waste) =
                (Waste){.page_size_bytes = 2 * MIB, .pages = 512};
        *vec_push((Arena *) arena, &scene->findings.list) =
                (Finding){.diag = {.severity = SEVERITY_ERROR, .id = "pg-short", .text = "x"}};
        report = judge(scene);
        assert_int_equal(report->verdict, REPORT_NOT_AS_PLANNED);
        assert_text(
                report->sentence,
                "Instances: 2; start without all of their pages: 1; do not use their pages as planned: 1; "
                "cannot be judged: 1; 1G of huge pages are not used; findings that hurt at the next start: 1.");
        add_instance(scene, "c", VERDICT_REFUSED, OUTCOME_NOT_STARTED);
        report = judge(scene);
        assert_contains(report->sentence, "Instances: 3; may not start: 1; ");
}

/* Status, proofs and check may have the same finding. */
TEST(findings_once) {
        Scene *scene = scene_new(arena);
        const Diag same = {.severity = SEVERITY_WARNING, .id = "x", .text = "the same"};

        diags_add(&scene->status.problems, &same);
        *vec_push((Arena *) arena, &scene->findings.list) = (Finding){.diag = same};
        Proof *proof = add_instance(scene, "db", VERDICT_READY, OUTCOME_UNKNOWN);

        proof->why = "it cannot be seen";
        const Report *report = judge(scene);

        assert_int_equal(report->findings.n, 2);
        assert_text(report->findings.items[0].diag.text, "the same");
        assert_text(report->findings.items[1].diag.text, "db cannot be judged: it cannot be seen");
}

/* An unreadable ledger is not an empty one. */
TEST(left_out) {
        Scene *scene = scene_new(arena);

        scene->view.no_before = "it cannot be read";
        scene->history.missing = "there is no journal";
        scene->is_captured = true;
        const Report *report = judge(scene);

        assert_int_equal(report->left_out.n, 4);
        assert_text(report->left_out.items[2], "Pages before hugeplan: it cannot be read");
}
