/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "render/status_json.h"
#include "render/views.h"
#include "status/json_value.h"

/* ---- JSON ---- */

static json_t *history_number_to_json(HistoryNumber number) {
        return number.is_known ? count_to_json(number.value) : json_null();
}

static json_t *entry_to_json(const HistoryEntry *entry) {
        const HistoryFigures *figures = &entry->figures;

        return json_pack("{so ss so ss ss? ss? so so so so so so ss? ss? so}", "atUSec",
                         count_to_json(entry->at_usec), "at", entry->at, "priority",
                         history_number_to_json(entry->level), "event", entry->event, "kind",
                         entry->kind, "text", entry->text, "instances",
                         VEC_TO_JSON(name, &entry->instances, json_string(*name)), "node",
                         history_number_to_json(figures->node), "pageSizeBytes",
                         history_number_to_json(figures->page_size_bytes), "pagesBefore",
                         history_number_to_json(figures->pages_before), "pages",
                         history_number_to_json(figures->pages), "pagesWanted",
                         history_number_to_json(figures->pages_wanted), "unit", entry->unit, "file",
                         entry->file, "line", history_number_to_json(entry->line));
}

/* ---- where sizes come from ---- */

json_t *setting_to_json(Arena *arena, const Setting *setting) {
        return setting ? json_pack("{so so so}", "name", text_to_json(arena, setting->name),
                                   "value", text_to_json(arena, setting->value), "origin",
                                   text_to_json(arena, setting->origin))
                       : json_null();
}

/* Returns the setting that decides most of the database's size. */
static const Setting *main_setting(const Report *report, const InstanceConfig *config) {
        const char *name = config->engine->memory_setting;
        const Figure *figure =
                name ? VEC_FIND(each, report->view.figures,
                                text_equals(each->instance, config->name) && each->gathered)
                     : NULL;

        return figure ? settings_find(&figure->gathered->settings, name) : NULL;
}

static json_t *size_to_json(Arena *arena, const Report *report, const StatusInstance *instance,
                            const InstanceConfig *config) {
        bool is_valid = !config->refusal && config->engine->reserves;
        const PlanInstance *planned = plan_find(report->view.plan, instance->name);
        bool is_auto = is_valid && config->memory_kind == MEMORY_AUTO;
        /* With the page size of the instance; NULL: not known. */
        const DemandOption *option =
                planned && is_valid
                        ? ARRAY_FIND(each, planned->demand->options, planned->demand->n_options,
                                     each->page_size_bytes == instance->page_size_bytes)
                        : NULL;
        const Sizing *sizing = option ? &option->sizing : NULL;
        const char *key = config->pages.n > 0         ? "Pages"
                          : config->n_node_memory > 0 ? "NodeMemory"
                                                      : "Memory";
        const ConfigOrigin *origin = is_valid ? config_find_origin(config, key) : NULL;

        return json_pack("{ss ss? ss sb ss? so so so ss? so so}", "instance", instance->name,
                         "engine", config->engine ? config->engine->title : instance->engine,
                         "state",
                         config->refusal ? "broken"
                         : is_valid      ? "valid"
                                         : "no-pages",
                         "auto", is_auto, "key", origin ? key : NULL, "value",
                         text_to_json(arena, origin ? origin->value : NULL), "file",
                         text_to_json(arena, origin ? origin->file : NULL), "line",
                         origin ? count_to_json(origin->line) : json_null(), "source",
                         sizing ? sizing_source_name(sizing->source) : NULL, "exact",
                         sizing ? json_boolean(sizing->is_exact) : json_null(), "setting",
                         setting_to_json(arena, is_auto ? main_setting(report, config) : NULL));
}

/* ---- the whole report ---- */

json_t *report_to_json(Arena *arena, const Report *report) {
        static const char *const verdicts[] = {
                [REPORT_NOT_PLANNED] = "not-planned",
                [REPORT_AS_PLANNED] = "as-planned",
                [REPORT_ATTENTION] = "attention",
                [REPORT_NOT_AS_PLANNED] = "not-as-planned",
        };
        const HostView *view = &report->view;
        const Status *now = report->status;
        json_t *status = status_to_json(now, false);
        json_t *nodes = json_array(), *findings = json_array();
        json_t *before = view->no_before ? json_null() : json_array(), *sizes = json_array();

        ARRAY_FOREACH(node, view->topology->nodes, view->topology->n_nodes)
                if (node->has_memory)
                        json_array_append_new(nodes, json_pack("{si so}", "node", (int) node->id,
                                                               "memoryBytes",
                                                               count_to_json(node->memory_bytes)));
        VEC_FOREACH(finding, &report->findings) {
                json_t *problem = problem_to_json(&finding->diag);

                json_object_set_new(problem, "hurts", json_boolean(rule_hurts(&finding->diag)));
                json_array_append_new(findings, problem);
        }
        /* The pages that existed when hugeplan first read the pools in this boot, and those added by others since. */
        ARRAY_FOREACH(pool, now->pools, view->no_before ? 0 : now->n_pools) {
                const LedgerPool *known =
                        ledger_pool(view->ledger, pool->node, pool->page_size_bytes);

                if (known)
                        json_array_append_new(
                                before,
                                json_pack("{si so so}", "node", (int) pool->node, "pageSizeBytes",
                                          count_to_json(pool->page_size_bytes), "pages",
                                          count_to_json(known->found_pages)));
        }
        ARRAY_FOREACH(instance, now->instances, now->n_instances) {
                const InstanceConfig *config = config_find(view->config, instance->name);

                if (config)
                        json_array_append_new(sizes, size_to_json(arena, report, instance, config));
        }
        if (view->suggestions)
                json_object_set_new(status, "firstLook", first_look_to_json(arena, view));
        return json_pack(
                "{so ss? so so so ss ss so so so so so so so}", "host",
                text_to_json(arena, report->host), "at", report->when, "kernel",
                text_to_json(arena, view->topology->kernel_release), "nodes", nodes,
                "pageTableBytes", known_to_json(view->tables_bytes), "verdict",
                verdicts[report->verdict], "sentence", report->sentence, "findings", findings,
                "before", before, "sizes", sizes, "history",
                view->history->missing ? json_null()
                                       : VEC_TO_JSON(entry, view->history, entry_to_json(entry)),
                "leftOut", VEC_TO_JSON(sentence, &report->left_out, json_string(*sentence)),
                "status", status, "verify", proofs_to_json(&report->proofs));
}

/* ---- the page ---- */

/* A script element in HTML has no escapes, and "</script" or "<!--" would end it. Only strings of the JSON can contain
 * these characters, and JSON has escapes for them there. */
static void add_for_script(Text *page, const char *json) {
        for (size_t n; *json; json += n) {
                n = strcspn(json, "<>&");
                text_add_n(page, json, n);
                if (json[n])
                        text_printf(page, "\\u%04x", (unsigned) json[n++]);
        }
}

char *report_to_page(Arena *arena, const char *template, const json_t *json) {
        static const char begin[] = "<script type=\"application/json\" id=\"report\">";
        const char *before = strstr(template, begin),
                   *after = before ? strstr(before, "</script>") : NULL;
        char *dump = json_dumps(json, JSON_PRESERVE_ORDER | JSON_COMPACT | JSON_ENSURE_ASCII);
        Text page = text_in(arena);

        if (after && dump) {
                text_add_n(&page, template, (size_t) (before - template) + strlen(begin));
                add_for_script(&page, dump);
                text_add(&page, after);
        }
        memory_free(dump);
        return page.string;
}

/* ---- findings ---- */

static void add_headline(Text *text, const Findings *findings, const RenderOptions *options) {
        static const char *const words[] = {
                [MARK_GOOD] = "fine", [MARK_DOUBT] = "incomplete", [MARK_BAD] = "not fine"};
        size_t n_mistakes = findings_count_mistakes(findings);
        size_t n_hurting = findings_count_hurting(findings);
        Mark mark = n_mistakes + n_hurting > 0 ? MARK_BAD
                    : findings->is_incomplete  ? MARK_DOUBT
                                               : MARK_GOOD;

        render_add_marked(text, options, mark, words[mark]);
        text_printf(text, "  mistakes: %zu, hurting at the next start: %zu, others: %zu%s\n",
                    n_mistakes, n_hurting, findings->list.n - n_mistakes - n_hurting,
                    findings->is_incomplete ? "; root sees more" : "");
}

char *render_findings(Arena *arena, const Findings *findings, const RenderOptions *options) {
        Text text = text_in(arena);
        Diags problems = diags_in(arena);

        if (findings->list.n == 0 && !findings->is_incomplete)
                text_add(&text, "No problems found.\n");
        else
                add_headline(&text, findings, options);
        VEC_FOREACH(finding, &findings->list)
                diags_add(&problems, &finding->diag);
        text_add(&text, render_problems(arena, &problems, true, options));
        if (VEC_ANY(finding, &findings->list, rule_may_be_silenced(finding->diag.id)))
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
                text_printf(&text, "\nFindings silenced by SilenceRules= in %s: %zu\n",
                            places.string, findings->silenced.n);
        return text.string;
}

static json_t *finding_to_json(Arena *arena, const Finding *finding) {
        json_t *json = problem_to_json(&finding->diag);

        json_object_set_new(json, "instances", json_pack("[s*]", finding->instance));
        json_object_set_new(json, "hurts", json_boolean(rule_hurts(&finding->diag)));
        json_object_set_new(
                json, "documentation",
                json_string(arena_printf(arena, "hugeplan-rules(7), %s", finding->diag.id)));
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
