/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Outcomes from the observations of a server, as stories (proof.stories): each outcome with the evidence that it needs, and
 * without it.
 *
 *     server 139 100               PostgreSQL with so many pages of 2M mapped and touched, counted, with the expected
 *                                  mappings, and a grant of 139 pages on node 0
 *     set engine=jvm age=59s       differences: see do_set()
 *     wrong TEXT, missing TEXT     a mistake in its files; what could not be read
 *     setting huge_pages off       in its files
 *     on 0:9 2:50, planned 2:99    the nodes of its pages, and the planned ones
 *     judge -> in-use, as planned  the outcome; why, remedy, cause, word, places, deviations: parts of it
 *     waste disabled               the waste if the unit is started in this way
 */

#include "engines/engine.h"
#include "render/render.h"
#include "status/waste.h"
#include "support/story.h"

typedef struct Case {
        Arena *arena;
        StatusInstance instance;
        ServerLook look;
        ProofInput input;
        Settings settings;
        Sizing sizing;
        InstanceConfig config;
        StatusHold hold;
        NodePages granted, used[2];
} Case;

#define VERB(name, words) STORY_VERB(name, words, Case, c)

VERB(do_server, "server") {
        uint64_t mapped = story_number_at(line, 1);

        *c = (Case){.arena = c->arena, .granted = {0, 139}, .used = {{0, 139}}};
        c->config = (InstanceConfig){.engine = engine_find("postgresql")};
        c->instance = (StatusInstance){.name = "pg",
                                       .engine = "postgresql",
                                       .unit = "pg.service",
                                       .file = "/etc/hugeplan.d/pg.conf",
                                       .page_size_bytes = 2 * MIB,
                                       .pages_wanted = 139,
                                       .pages_granted = 139,
                                       .nodes = {&c->granted, 1, 0}};
        c->look = (ServerLook){.is_running = true,
                               .pid = 812,
                               .command = "postgres",
                               .age_usec = 3600 * USEC_PER_SEC,
                               .n_processes = 10,
                               .is_counted = true,
                               .has_map = true,
                               .is_all_mapped = true,
                               .map = {.huge_bytes = mapped * 2 * MIB}};
        c->sizing = (Sizing){.page_size_bytes = 2 * MIB};
        if (mapped > 0)
                *vec_push(c->arena, &c->look.pages) = (PageUser){.page_size_bytes = 2 * MIB,
                                                                 .pages = story_number_at(line, 2),
                                                                 .mapped_pages = mapped,
                                                                 .nodes = {c->used, 1, 0}};
        c->input = (ProofInput){
                .instance = &c->instance, .look = &c->look, .base_page_bytes = 4 * KIB};
        return NULL;
}

/* NAME=VALUE: a size, a duration or a number. */
VERB(do_set, "set") {
        MemoryMap *map = &c->look.map;
        PageUser none = {}, *pages = c->look.pages.n > 0 ? &c->look.pages.items[0] : &none;
        uint64_t needed_pages = c->sizing.pages;
        const struct {
                const char *name;
                uint64_t *number; /* NULL: this is one of the others */
                bool *flag;
        } fields[] = {
                {"age", &c->look.age_usec},
                {"base-page", &c->input.base_page_bytes},
                {"doubtful", &map->doubtful_bytes},
                {"granted", &c->instance.pages_granted},
                {"largest", &map->private_largest_bytes},
                {"needed", &needed_pages},
                {"page-size", &c->instance.page_size_bytes},
                {"piece", &c->sizing.mapping_bytes},
                {"private", &map->private_bytes},
                {"sessions", &c->input.n_sessions_max},
                {"shared", &map->shared_bytes},
                {"sysv", &map->sysv_bytes},
                {"tables", &c->look.page_table_bytes},
                {"touched", &pages->pages},
                {"wanted", &c->instance.pages_wanted},
                {"all-mapped", NULL, &c->look.is_all_mapped},
                {"counted", NULL, &c->look.is_counted},
                {"counted-from-the-start", NULL, &c->instance.is_counted},
                {"let-start", NULL, &c->instance.was_let_start},
                {"lower-bound", NULL, &pages->is_lower_bound},
                {"map", NULL, &c->look.has_map},
                {"running", NULL, &c->look.is_running},
                {"unit-shared", NULL, &c->input.is_unit_shared},
        };

        for (size_t i = 1; line->words[i]; i++) {
                char *value = strchr(line->words[i], '=');
                size_t k = 0;

                *value++ = '\0';
                if (text_equals(line->words[i], "engine")) {
                        c->instance.engine = value;
                        continue;
                }
                if (text_equals(line->words[i], "processes")) {
                        c->look.n_processes = strtoul(value, NULL, 10);
                        continue;
                }
                while (!text_equals(fields[k].name, line->words[i]))
                        assert_true(++k < ARRAY_LEN(fields));
                if (fields[k].flag)
                        assert_int_equal(parse_boolean(value, fields[k].flag), 0);
                else if (text_equals(line->words[i], "age"))
                        assert_int_equal(parse_duration_usec(value, fields[k].number), 0);
                else
                        assert_int_equal(parse_size_bytes(value, fields[k].number), 0);
        }
        c->sizing.pages = needed_pages;
        c->sizing.bytes = needed_pages * 2 * MIB;
        c->input.sizing = needed_pages > 0 ? &c->sizing : NULL;
        return NULL;
}

VERB(do_text, "wrong missing setting") {
        if (text_equals(line->words[0], "wrong"))
                c->input.wrong = line->rest;
        else if (text_equals(line->words[0], "missing"))
                *vec_push(line->arena, &c->look.missing) = line->rest;
        else {
                c->input.settings = &c->settings;
                settings_add(line->arena, &c->settings, line->words[1], line->words[2],
                             "/etc/x.conf:3");
        }
        return NULL;
}

/* "0:9" */
static NodePages place_at(const StoryLine *line, size_t i) {
        NodePages place;

        assert_int_equal(sscanf(line->words[i], "%u:%" SCNu64, &place.node, &place.pages), 2);
        return place;
}

VERB(do_places_of, "on planned") {
        if (text_equals(line->words[0], "planned")) {
                c->granted = place_at(line, 1);
                c->instance.pages_wanted = c->instance.pages_granted = c->granted.pages;
                return NULL;
        }
        for (size_t i = 0; i < 2; i++)
                c->used[i] = place_at(line, i + 1);
        c->look.pages.items[0].nodes.n = 2;
        return NULL;
}

VERB(do_more, "nothing-seen gigantic aside until-restart auto given") {
        if (text_equals(line->words[0], "nothing-seen"))
                c->look.pages.n = 0;
        else if (text_equals(line->words[0], "gigantic"))
                *vec_push(line->arena, &c->look.pages) =
                        (PageUser){.page_size_bytes = GIB, .pages = 1, .mapped_pages = 2};
        else if (text_equals(line->words[0], "aside")) {
                c->instance.verdict = VERDICT_ASIDE;
                c->instance.reason = (Reason){REASON_STANDS_ASIDE, "switched off", "reboot"};
        } else if (text_equals(line->words[0], "until-restart")) {
                c->hold = (StatusHold){
                        .page_size_bytes = 2 * MIB, .pages = 139, .nodes = {&c->granted, 1, 0}};
                c->instance.until_restart = &c->hold;
        } else { /* as configured */
                c->config.memory_kind = text_equals(line->words[0], "auto") ? MEMORY_AUTO
                                                                            : MEMORY_BYTES;
                c->input.config = &c->config;
        }
        return NULL;
}

VERB(do_judge,
     "judge why remedy cause word wanted-pages is-mapped-known small-tables worst-tables places deviations") {
        const char *what = line->words[0];
        const Proof proof = proof_judge(line->arena, &c->input);
        Text text = text_in(line->arena);

        if (text_equals(what, "why"))
                return proof.why;
        if (text_equals(what, "remedy"))
                return proof.remedy;
        if (text_equals(what, "cause"))
                return fall_cause_names[proof.cause];
        if (text_equals(what, "word"))
                return proof_word(line->arena, &proof);
        if (text_equals(what, "wanted-pages"))
                return story_number(line, proof.wanted_pages);
        if (text_equals(what, "is-mapped-known"))
                return story_yes(proof.is_mapped_known);
        if (text_equals(what, "small-tables"))
                return story_number(line, proof.small_tables_bytes);
        if (text_equals(what, "worst-tables"))
                return story_number(line, proof.worst_tables_bytes);
        if (text_equals(what, "places")) {
                const PagesByNode places = proof_places(line->arena, &proof);

                return render_nodes(line->arena, &places);
        }
        if (text_equals(what, "judge"))
                return arena_printf(line->arena, "%s%s", outcome_name(proof.outcome),
                                    proof.is_as_planned ? ", as planned" : "");
        VEC_FOREACH(deviation, &proof.deviations)
                text_printf(&text, "%s\n", deviation->text);
        return text_string(&text);
}

VERB(do_waste, "waste") {
        static const char *const starts[] = {"wanted", "disabled", "gone"};
        const Proof proof = proof_judge(line->arena, &c->input);
        Text text = text_in(line->arena);
        WasteList list = {};

        for (size_t i = 0; i < ARRAY_LEN(starts); i++)
                if (text_equals(line->words[1], starts[i]))
                        waste_add_instance(line->arena,
                                           arena_memdup(line->arena, &proof, sizeof(proof)),
                                           c->input.config, (UnitStart) i, &list);
        VEC_FOREACH(waste, &list)
                text_printf(&text, "%s, %" PRIu64 " pages: %s", waste_kind_names[waste->kind],
                            waste->pages, waste->command);
        return text_string(&text);
}

STORY_TEST(stories, "unit/status/proof", .size = sizeof(Case))

TEST(waste_of_segments) {
        PageUsers users = {};
        WasteList list = {};

        *vec_push((Arena *) arena, &users.list) =
                (PageUser){.command = "System V segment 17, no process attached",
                           .is_segment = true,
                           .segment_id = 17,
                           .page_size_bytes = 2 * MIB,
                           .pages = 64};
        *vec_push((Arena *) arena, &users.list) = (PageUser){
                .command = "a file without a process", .page_size_bytes = 2 * MIB, .pages = 64};
        waste_add_segments(arena, &users, &list);
        assert_int_equal(list.n, 1);
        assert_contains(list.items[0].command, "ipcrm -m 17");
}

TEST(ages) {
        assert_text(proof_format_age(arena, 59 * USEC_PER_SEC), "59 s");
        assert_text(proof_format_age(arena, 3600 * USEC_PER_SEC - 1), "59 min");
        assert_text(proof_format_age(arena, 24 * 3600 * USEC_PER_SEC - 1), "23 h");
        assert_text(proof_format_age(arena, 45 * 24 * 3600 * USEC_PER_SEC), "45 d");
}
