/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Metrics: the requirements of the format, for any name of a unit. tests/cases/verify has complete ones. */

#include "render/metrics/metrics.h"
#include "support/testing.h"

/* Each sample follows its family, each set of labels occurs once, and the end is marked. */
static void assert_well_formed(Arena *arena, const char *text) {
        const char *rest = text, *family = "";
        SourceNames seen = {};
        char *line;

        while ((line = text_next_word(arena, &rest, "\n"))) {
                const char *words = line, *name;

                if (text_starts_with(line, "# TYPE ")) {
                        words += strlen("# TYPE ");
                        family = text_next_word(arena, &words, " ");
                        assert_text(words, " gauge");
                } else if (*line != '#') {
                        name = arena_strndup(arena, line, strcspn(line, "{ "));
                        assert_text(name, family);
                        line[(size_t) (strrchr(line, ' ') - line)] = '\0';
                        assert_false(source_names_have(&seen, line));
                        *vec_push(arena, &seen) = line;
                }
        }
        assert_true(text_ends_with(text, "\n# EOF\n"));
}

TEST(labels) {
        Status status = {};
        Proofs proofs = {};
        const StatusReserved reserved = {
                .unit = "pg\\x2dmain.service \"x\"\n", .page_size_bytes = 2 * MIB, .pages = 3};

        for (size_t i = 0; i < 2; i++) {
                *vec_push((Arena *) arena, &status.reserved) = reserved;
                *vec_push((Arena *) arena, &proofs.waste) =
                        (Waste){.kind = WASTE_SEGMENT, .page_size_bytes = 2 * MIB, .pages = 16};
        }
        const Metrics metrics = metrics_of(arena, &status, &proofs, true);
        char *text = metrics_to_text(arena, &metrics);

        assert_well_formed(arena, text);
        assert_contains(text, "\nhugeplan_daemon_reached 1\n");
        assert_contains(
                text,
                "\nhugeplan_reserved_bytes{unit=\"pg\\\\x2dmain.service \\\"x\\\"\\n\",database=\"\","
                "nodes=\"any\",page_size=\"2M\"} 12582912\n");
        assert_contains(text,
                        "\nhugeplan_wasted_bytes{database=\"\",kind=\"segment\",page_size=\"2M\"} "
                        "67108864\n");
}

/* systemd's form: metrics that do not apply are missing, and bytes that would break JSON are replaced. */
TEST(for_systemd) {
        StatusInstance instances[] = {{.name = "pg", .verdict = VERDICT_LOST},
                                      {.name = "ora", .verdict = VERDICT_READY}};
        Status status = {.instances = instances, .n_instances = 2};
        const Proofs proofs = {};

        *vec_push((Arena *) arena, &status.reserved) =
                (StatusReserved){.unit = "pg\xff.service", .page_size_bytes = 2 * MIB, .pages = 3};
        const Metrics metrics = metrics_of(arena, &status, &proofs, false);
        json_t *samples = metrics_to_json(&metrics), *families = metric_families_to_json(&metrics);
        char *text = json_dumps(samples, JSON_COMPACT),
             *described = json_dumps(families, JSON_COMPACT);

        assert_contains(text, "{\"name\":\"org.hugeplan.Manager.DaemonReached\",\"value\":0}");
        assert_contains(text, "{\"name\":\"org.hugeplan.Manager.DatabaseVerdict\",\"object\":"
                              "\"pg\",\"value\":\"lost\"},{\"name\":\"org.hugeplan.Manager."
                              "DatabaseVerdict\",\"object\":\"ora\",\"value\":\"ready\"}");
        assert_contains(text, "{\"name\":\"org.hugeplan.Manager.ReservedBytes\",\"value\":6291456,"
                              "\"fields\":{\"unit\":\"pg?.service\",\"nodes\":\"any\",\"pageSize\":"
                              "\"2M\"}}");
        assert_contains(
                described,
                "{\"name\":\"org.hugeplan.Manager.DatabaseVerdict\",\"description\":\"The verdict on the instance.\",\"type\":\"string\"}");
        assert_int_equal(json_array_size(families), metrics.n);
        free(text);
        free(described);
        json_decref(samples);
        json_decref(families);
}

/* Unknown values are missing, because zero would be a figure. */
TEST(unknown) {
        StatusInstance instance = {.name = "pg", .verdict = VERDICT_REFUSED};
        Status status = {.instances = &instance, .n_instances = 1};
        const ServerLook look = {.is_running = true};
        Proofs proofs = {};

        *vec_push((Arena *) arena, &proofs.list) =
                (Proof){.instance = &instance, .look = &look, .outcome = OUTCOME_UNKNOWN};
        const Metrics metrics = metrics_of(arena, &status, &proofs, false);
        char *text = metrics_to_text(arena, &metrics);

        assert_well_formed(arena, text);
        assert_contains(text, "hugeplan_database_verdict{database=\"pg\",verdict=\"refused\"} 1\n");
        assert_contains(text, "hugeplan_database_verdict{database=\"pg\",verdict=\"ready\"} 0\n");
        assert_contains(text, "hugeplan_database_outcome{database=\"pg\",outcome=\"unknown\"} 1\n");
        assert_null(strstr(text, "_wanted_bytes{"));
        assert_null(strstr(text, "_mapped_bytes{"));
        assert_null(strstr(text, "_page_table_bytes{"));
}
