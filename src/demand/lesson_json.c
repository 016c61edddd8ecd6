/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/lesson_json.h"

#include "demand/figure_json.h"

#include <string.h>

enum { VERSION_LENGTH_MAX = 40 };

/* ---- out ---- */

json_t *lesson_to_json(Arena *arena, const Lesson *lesson) {
        bool has_figures = !lesson->wrong && lesson->figures.n > 0;
        bool has_rule = has_figures && lesson->by_rule.n > 0;
        Gathered *nothing = ARENA_NEW(arena, Gathered);
        Figures bare = {};

        /* They were made from what the others say that they were made from: once is enough. */
        nothing->problems = diags_in(arena);
        vec_push_all(arena, &bare, &lesson->figures);
        VEC_FOREACH(figure, &bare)
                figure->gathered = has_rule ? nothing : figure->gathered;
        return json_pack(
                "{so so so so so}", "wrong", figure_string_to_json(arena, lesson->wrong), "unasked",
                figure_string_to_json(arena, lesson->wrong ? NULL : lesson->unasked), "version",
                figure_string_to_json(arena, lesson->wrong || has_figures ? NULL : lesson->version),
                "byRule", has_rule ? figures_to_json(arena, &lesson->by_rule) : json_null(),
                "figures", has_figures ? figures_to_json(arena, &bare) : json_null());
}

/* ---- in: each returns 0 or -EINVAL ---- */

/* What is wrong is said instead of them. */
static int take_figures(Arena *arena, const json_t *json, const InstanceConfig *instance,
                        const uint64_t *page_sizes, size_t n_page_sizes, Figures *ret) {
        if (n_page_sizes == 0 ||
            figures_from_json(arena, json, instance->name, page_sizes, n_page_sizes, ret) < 0)
                return -EINVAL;
        VEC_FOREACH(figure, ret)
                if (figure->wrong)
                        return -EINVAL;
        return 0;
}

int lesson_from_json(Arena *arena, const json_t *json, const InstanceConfig *instance,
                     const uint64_t *page_sizes, size_t n_page_sizes, Lesson *ret) {
        const json_t *wrong, *unasked, *version, *by_rule, *figures;
        Lesson lesson = {.instance = instance};

        if (json_unpack((json_t *) json, "{s:o, s:o, s:o, s:o, s:o !}", "wrong", &wrong, "unasked",
                        &unasked, "version", &version, "byRule", &by_rule, "figures",
                        &figures) < 0 ||
            figure_string_from_json(arena, wrong, &lesson.wrong) < 0 ||
            figure_string_from_json(arena, unasked, &lesson.unasked) < 0 ||
            figure_string_from_json(arena, version, &lesson.version) < 0)
                return -EINVAL;
        bool has_figures = !lesson.wrong && instance_learns_size(instance);
        bool has_rule = has_figures && !json_is_null(by_rule);

        if (!has_figures && (!json_is_null(by_rule) || !json_is_null(figures)))
                return -EINVAL;
        if (has_figures &&
            (lesson.version ||
             (has_rule && take_figures(arena, by_rule, instance, page_sizes, n_page_sizes,
                                       &lesson.by_rule) < 0) ||
             take_figures(arena, figures, instance, page_sizes, n_page_sizes, &lesson.figures) < 0))
                return -EINVAL;
        if (lesson.wrong && (lesson.unasked || lesson.version))
                return -EINVAL;
        size_t length = lesson.version ? strlen(lesson.version) : 0;

        /* All that is found of an instance whose size is not asked for. */
        if (!lesson.wrong && !has_figures &&
            (length == 0 || length >= VERSION_LENGTH_MAX ||
             strspn(lesson.version, "0123456789.") != length || lesson.unasked))
                return -EINVAL;
        if (has_figures) {
                lesson.gathered = (has_rule ? &lesson.by_rule : &lesson.figures)->items[0].gathered;
                lesson.version = lesson.gathered->version;
                lesson.is_exact = true;
                VEC_FOREACH(figure, &lesson.figures) {
                        /* What the rule does not say exactly, the server has. */
                        figure->sizing.source = figure->sizing.is_exact &&
                                                                instance->engine->can_be_asked
                                                        ? SIZING_WORD
                                                        : SIZING_RULE;
                        lesson.is_exact = lesson.is_exact && figure->sizing.is_exact;
                        figure->gathered = lesson.gathered;
                }
                /* Without a rule there is but the server's word. */
                if (!has_rule && !(lesson.is_exact && instance->engine->can_be_asked))
                        return -EINVAL;
        }
        *ret = lesson;
        return 0;
}
