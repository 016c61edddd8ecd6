/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `explain`: how an instance's size comes about, from its files and, with Memory=auto, from the database's. */
#include "base/json.h"
#include "base/text.h"
#include "ctl/learn/learn.h"
#include "ctl/verbs.h"
#include "demand/learned.h"
#include "host/mounts.h"
#include "host/unit_facts.h"
#include "model/exit_code.h"
#include "model/names.h"
#include "plan/thp_plan.h"
#include "render/status_json.h"
#include "render/views.h"
#include "status/json_value.h"
#include "units/dropin.h"

#include <stdio.h>

static json_t *sizings_to_json(const Figures *figures) {
        json_t *list = json_array();

        VEC_FOREACH(figure, figures)
                if (!figure->wrong)
                        json_array_append_new(list, sizing_to_json(&figure->sizing));
        return list;
}

static json_t *lesson_to_json(Arena *arena, const Lesson *lesson) {
        const Figures next = lesson_figures(arena, lesson);
        const Gathered none = {}, *gathered = lesson->gathered ? lesson->gathered : &none;

        return json_pack(
                "{so so so so so sb so so so}", "version", text_to_json(arena, lesson->version),
                "settings", settings_to_json(arena, &gathered->settings), "problems",
                problems_to_json(&gathered->problems), "byRule", sizings_to_json(&lesson->by_rule),
                "sizes", sizings_to_json(&lesson->figures), "exact", lesson->is_exact, "next",
                sizings_to_json(&next), "unasked", text_to_json(arena, lesson->unasked), "wrong",
                text_to_json(arena, lesson->wrong));
}

static json_t *explain_to_json(Arena *arena, const PlanInstance *planned, const Lesson *lesson,
                               const Seen *now, const GeneratedFiles *files) {
        const DemandInstance *demand = planned->demand;
        const InstanceConfig *config = demand->config;
        const Learned *learned = &config->learned;
        const Seen *seen = &learned->seen;
        const char *file = learned_path(arena, config);
        ThpPolicy preference = thp_preference_of(config);
        json_t *found = json_null(), *known = json_null(), *seen_json = json_null();

        if (lesson)
                found = lesson_to_json(arena, lesson);
        if (lesson && learned->pages.n > 0)
                known = json_pack("{ss so sb so sb}", "file", file, "pages",
                                  page_counts_to_json(&learned->pages), "exact", learned->is_exact,
                                  "version", text_to_json(arena, learned->version), "holds",
                                  lesson_use(lesson) != LESSON_LEARN);
        if (lesson && (seen->pages.n > 0 || now->pages.n > 0))
                seen_json = json_pack("{ss so sb sb so so}", "file", file, "pages",
                                      page_counts_to_json(&seen->pages), "exact", seen->is_exact,
                                      "holds", seen_is_known(config), "unit",
                                      text_to_json(arena, seen->unit), "now",
                                      page_counts_to_json(&now->pages));
        json_t *inputs =
                VEC_TO_JSON(origin, &config->origins,
                            json_pack("{ss ss ss si}", "key", origin->key, "value", origin->value,
                                      "file", origin->file, "line", (int) origin->line));
        json_t *sizes = ARRAY_TO_JSON(option, demand->options, demand->n_options,
                                      sizing_to_json(&option->sizing));
        json_t *generated = VEC_TO_JSON(
                each, files, json_pack("{ss ss}", "name", each->name, "text", each->text));

        return json_pack("{ss ss ss so so ss? ss? ss? so so so so}", "name", config->name, "engine",
                         config->engine->name, "file", config->file, "inputs", inputs, "sizes",
                         sizes, "transparentHugePages",
                         preference == THP_AUTO ? NULL : thp_policy_name(preference), "reason",
                         planned->reason.text, "remedy", planned->reason.remedy, "found", found,
                         "learned", known, "seen", seen_json, "generated", generated);
}

int verb_explain(Command *command) {
        Arena *arena = command->arena;
        const Look *look = local_load(command, true, NULL);
        const PlanInstance *planned = plan_find(look->plan, command->arguments[0]);

        if (!planned)
                return fail_no_instance(command, command->arguments[0], look->config);
        const InstanceConfig *config = planned->demand->config;
        bool is_automatic = !config->refusal && config->memory_kind == MEMORY_AUTO;
        Lesson lesson = is_automatic ? learn_find(command, config, look->topology) : (Lesson){};
        const Lesson *found = is_automatic ? &lesson : NULL;
        const char *why;
        const Seen now = is_automatic ? look_at_unit(command, config, look->topology, &why)
                                      : (Seen){};
        const DropinInput input = dropin_input(command->root, arena, look->config, HUGEPLANCTL);
        const Dropins dropins = dropins_make(arena, &input);
        const MountUnits mounts = mounts_of(command->root, arena, look->config, look->topology);
        Diags withheld = diags_in(arena);
        GeneratedFiles files = {};

        /* The drop-in of its unit, which other instances may share, and its mount unit. */
        VEC_FOREACH(dropin, &dropins)
                if (text_equals(dropin->unit, config->unit))
                        *vec_push(arena, &files) = (GeneratedFile){
                                arena_printf(arena, "%s.d/" NAME_DROPIN, dropin->unit),
                                dropin->text};
        VEC_FOREACH(mount, &mounts)
                if (mount->instance == config)
                        *vec_push(arena, &files) = (GeneratedFile){mount->name, mount->text};
        /* Why it, or the whole host, is not planned before a reload. */
        VEC_FOREACH(problem, &look->guard_problems.list)
                if (!problem->file || text_equals(problem->file, config->file))
                        diags_add(&withheld, problem);
        if (command->json != JSON_OFF) {
                print_json(command, explain_to_json(arena, planned, found, &now, &files));
        } else {
                fputs(render_explain(arena, planned, look->topology, found, &now, &files,
                                     &command->render),
                      stdout);
                if (withheld.list.n > 0)
                        printf("\n%s", render_problems(arena, &withheld, &command->render));
        }
        return config->refusal ? EXIT_FAILED : EXIT_DONE;
}
