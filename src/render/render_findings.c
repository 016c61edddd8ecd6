/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/views.h"

#include "base/json.h"
#include "base/text.h"
#include "render/status_json.h"

/* ---- text ---- */

static char *count_of(Arena *arena, size_t n, const char *noun) {
        return arena_printf(arena, "%zu %s%s", n, noun, n == 1 ? "" : "s");
}

static void add_headline(Text *text, const Findings *findings, const RenderOptions *options) {
        Arena *arena = text->arena;
        size_t n = findings->list.n, n_mistakes = findings_count_mistakes(findings);
        size_t n_hurting = findings_count_hurting(findings);
        bool is_fine = n_mistakes + n_hurting == 0;
        size_t n_rest = n - n_mistakes - n_hurting;
        Text line = text_in(arena);

        if (n_mistakes > 0)
                text_printf(&line, "%s in the configuration",
                            count_of(arena, n_mistakes, "mistake"));
        if (n_hurting > 0)
                text_printf(&line, "%s%s at the next start", n_mistakes > 0 ? ", " : "",
                            n_hurting == 1 ? "1 finding hurts"
                                           : arena_printf(arena, "%zu findings hurt", n_hurting));
        if (is_fine)
                text_printf(&line, "nothing %s hurts at the next start",
                            findings->is_incomplete ? "seen" : "found");
        if (n_rest > 0)
                text_printf(&line, "; %s",
                            count_of(arena, n_rest, is_fine ? "finding" : "more finding"));
        if (findings->is_incomplete)
                text_add(&line, "; root sees more");
        render_add_marked(text, options,
                          !is_fine                  ? RENDER_RED
                          : findings->is_incomplete ? RENDER_YELLOW
                                                    : RENDER_GREEN,
                          is_fine ? RENDER_FULL : RENDER_CROSS,
                          !is_fine                  ? "not fine"
                          : findings->is_incomplete ? "incomplete"
                                                    : "fine");
        text_printf(text, "  %s\n", text_string(&line));
}

char *render_findings(Arena *arena, const Findings *findings, const RenderOptions *options) {
        Text text = text_in(arena);
        bool has_rule = false;

        if (findings->list.n == 0 && !findings->is_incomplete)
                text_add(&text, "No problems found.\n");
        else
                add_headline(&text, findings, options);
        VEC_FOREACH(finding, &findings->list) {
                text_add(&text, "\n");
                render_problem(&text, &finding->diag,
                               arena_printf(arena, " [%s]%s: ", finding->diag.id,
                                            finding->hurts ? " (hurts)" : ""),
                               options);
                has_rule = has_rule || rule_may_be_silenced(finding->diag.id);
        }
        if (has_rule)
                text_add(&text, "\nhugeplan-rules(7) explains the ids in brackets\n");
        Text places = text_in(arena);
        const SilencedRule *last = NULL;

        VEC_FOREACH(silenced, &findings->silenced) {
                const SilencedRule *by = silenced->silenced_by;

                if (!last || last->line != by->line || !text_equals(last->file, by->file))
                        text_add_item(&places, arena_printf(arena, "%s:%u", by->file, by->line));
                last = by;
        }
        if (last)
                text_printf(&text, "\n%s silenced by SilenceRules= in %s\n",
                            count_of(arena, findings->silenced.n, "finding"), places.string);
        return text.string;
}

/* ---- JSON ---- */

static json_t *finding_to_json(Arena *arena, const Finding *finding) {
        json_t *json = problem_to_json(&finding->diag);

        json_object_set_new(json, "instances",
                            VEC_TO_JSON(name, &finding->instances, json_string(*name)));
        json_object_set_new(json, "hurts", json_boolean(finding->hurts));
        json_object_set_new(json, "documentation",
                            json_string(rule_documentation(arena, finding->diag.id)));
        if (finding->silenced_by)
                json_object_set_new(json, "silencedBy",
                                    json_pack("{ss si}", "file", finding->silenced_by->file, "line",
                                              (int) finding->silenced_by->line));
        return json;
}

json_t *findings_to_json(const Findings *findings) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        json_t *problems = VEC_TO_JSON(finding, &findings->list, finding_to_json(arena, finding));

        return json_pack("{so so sb}", "problems", problems, "silenced",
                         VEC_TO_JSON(finding, &findings->silenced, finding_to_json(arena, finding)),
                         "complete", !findings->is_incomplete);
}
