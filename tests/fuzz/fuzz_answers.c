/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answers of processes that have read files of a database's owner, or that are the owner's programs, and may therefore be
 * under the owner's control. The first byte is the kind: JSON of a reader ('f') or of a gate ('l');
 * the output of postgres -C ('p') or of a server's --version ('v').
 *
 * Conditions: an answer is refused; or it can be printed, is read from its own JSON as the same, and adds no lines of its
 * own to the file that stores it. */

#include "base/size.h"
#include "demand/figures.h"
#include "demand/learned.h"
#include "engines/reader.h"
#include "fuzz/fuzz.h"
#include "render/views.h"
#include "support/testing.h"

#define INSTANCE_TEXT "[Instance]\nEngine=postgresql\nMemory=auto\nUnit=db.service\n"

static const uint64_t page_sizes[] = {GIB, 2 * MIB};

/* ---- gathered settings ---- */

static void check_settings(const Settings *settings) {
        VEC_FOREACH(setting, settings) {
                require(setting->name && setting->value);
                require_printable(setting->name);
                require_printable(setting->value);
                require_printable(setting->origin);
        }
}

static void check_gathered(Arena *arena, const Gathered *gathered) {
        check_settings(&gathered->settings);
        check_settings(&gathered->options);
        require_printable(gathered->version);
        require_printable(gathered->data_directory);
        require_printable(gathered->config_file);
        require_printable(gathered->user);
        require_printable(gathered->program);
        require_printable(gathered->untrusted);
        require_printable(gathered->incomplete);
        VEC_FOREACH(problem, &gathered->problems.list)
                require_printable(diag_format(arena, problem));
}

static void check_round_trip(Arena *arena, const Gathered *gathered) {
        json_t *json = gathered_to_json(arena, gathered), *same;
        Gathered again;

        require(json && gathered_from_json(arena, json, &again) == 0);
        same = gathered_to_json(arena, &again);
        require(json_equal(json, same));
        json_decref(json);
        json_decref(same);
}

/* The instance before the answer, made once. */
static const InstanceConfig *instance_before(void) {
        static const InstanceConfig *instance;

        if (!instance)
                instance = config_find(
                        config_make(fuzz_lasting(), "20-pg.conf", INSTANCE_TEXT, NULL), "pg");
        return instance;
}

/* No part of the answer begins a line of its own in the file of learned sizes. */
static void check_lesson(Arena *arena, const Figures *figures) {
        Lesson lesson = {.instance = instance_before(),
                         .by_rule = *figures,
                         .figures = *figures,
                         .gathered = figures->items[0].gathered,
                         .version = figures->items[0].gathered->version};

        VEC_FOREACH(figure, figures)
                if (figure->wrong || !figure->sizing.pages)
                        return;
        const Learned known = learned_of(arena, &lesson);
        const char *text = learned_format(arena, lesson.instance, &known, "a day");
        const Config *after = config_make(arena, "20-pg.conf", INSTANCE_TEXT,
                                          "20-pg.conf.d/90-learned.conf", text, NULL);
        const InstanceConfig *learned = config_find(after, "pg");

        require(diags_count(&after->problems, SEVERITY_ERROR) == 0 && after->n_instances == 1);
        require(!learned->refusal && learned->learned.pages.n == figures->n);
        lesson.instance = learned;
        require(lesson_use(&lesson) == LESSON_SAME);
}

static void read_gathered(Arena *arena, const json_t *json) {
        const EngineTarget target = {.instance = "pg", .base_page_bytes = 4 * KIB};
        Gathered gathered;
        Figures figures = {};

        if (gathered_from_json(arena, json, &gathered) < 0)
                return;
        check_gathered(arena, &gathered);
        for (size_t i = 0; i < ARRAY_LEN(page_sizes); i++) {
                const Figure figure = gathered_figure(arena, instance_before()->engine, &target,
                                                      &gathered, page_sizes[i]);

                *vec_push(arena, &figures) = figure;
                require_printable(figure.wrong);
                if (!figure.wrong)
                        require(*render_sizing(arena, &figure.sizing, &(RenderOptions){}));
        }
        check_round_trip(arena, &gathered);
        check_lesson(arena, &figures);
}

static const Topology *topology_here(void) {
        static PageSize sizes[] = {{.bytes = GIB}, {.bytes = 2 * MIB}};
        static const Topology topology = {.page_sizes = sizes,
                                          .n_page_sizes = ARRAY_LEN(sizes),
                                          .default_page_size_bytes = 2 * MIB};

        return &topology;
}

/* A gate's answer is stored without lines of its own, and is read again as the same. */
static void read_learned(Arena *arena, const json_t *json) {
        Learned learned, again;

        if (learned_from_json(arena, json, instance_before(), topology_here(), &learned) < 0)
                return;
        require(learned.pages.n > 0);
        const char *text = learned_format(arena, instance_before(), &learned, "a day");
        const Config *after = config_make(arena, "20-pg.conf", INSTANCE_TEXT,
                                          "20-pg.conf.d/90-learned.conf", text, NULL);
        const InstanceConfig *instance = config_find(after, "pg");

        require(after->problems.list.n == 0 && after->n_instances == 1 && !instance->refusal);
        require(learned_is_kept(instance, &learned));
        json_t *same = learned_to_json(&learned);

        require(learned_from_json(arena, same, instance_before(), topology_here(), &again) == 0);
        require(learned_is_kept(instance, &again));
        json_decref(same);
}

/* ---- all JSON ---- */

static void read_json(Arena *arena, char kind, const void *bytes, size_t size) {
        json_t *json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);

        if (json && kind == 'f')
                read_gathered(arena, json);
        else if (json && kind == 'l')
                read_learned(arena, json);
        json_decref(json);
}

/* ---- programs ---- */

static void read_size(Arena *arena, const char *output) {
        const Engine *engine = engine_find("postgresql");
        const Gathered gathered = {.problems = diags_in(arena)};

        for (size_t i = 0; i < ARRAY_LEN(page_sizes); i++) {
                Sizing sizing = {};
                const char *wrong = engine_reader(engine)->answer(arena, &gathered, output,
                                                                  page_sizes[i], &sizing);

                require_printable(wrong);
                require(wrong || (sizing.is_exact && sizing.page_size_bytes == page_sizes[i]));
        }
}

FUZZ(arena, data, size) {
        if (size == 0)
                return;
        if (strchr("fl", *data))
                read_json(arena, (char) *data, data + 1, size - 1);
        else if (*data == 'p')
                read_size(arena, fuzz_text(arena, data + 1, size - 1));
        else {
                const char *output = fuzz_text(arena, data + 1, size - 1);
                for (size_t i = 0; i < n_engines; i++) {
                        const char *version = NULL, *wrong;

                        if (!engine_reader(engines[i])->version_mark)
                                continue;
                        wrong = version_answer(arena, output,
                                               engine_reader(engines[i])->version_mark, &version);
                        require(!wrong != !version);
                        require_printable(wrong);
                        require_printable(version);
                }
        }
}
