/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "render/views.h"

#include "status/json_value.h"

/* ---- text ---- */

static void add_headline(Text *text, const Proofs *proofs, const RenderOptions *options) {
        size_t n_running = 0, n_used = 0, n_unknown = 0, n_wrong = 0;

        VEC_FOREACH(proof, &proofs->list) {
                n_running += proof->look->is_running;
                n_used += proof->outcome == OUTCOME_IN_USE || proof->outcome == OUTCOME_IDLE;
                n_unknown += proof->outcome == OUTCOME_UNKNOWN;
                n_wrong += !proof->is_as_planned;
        }
        render_add_marked(text, options, n_wrong == 0 ? MARK_GOOD : MARK_BAD,
                          n_wrong == 0 ? "as planned" : "not as planned");
        if (proofs->list.n == 0)
                text_add(text, "  no instances are described in /etc/hugeplan.d");
        else if (n_running == 0)
                text_add(text, "  none of the databases that are described runs");
        else
                text_printf(text, "  %zu of %zu running %s huge pages", n_used, n_running,
                            n_running == 1 ? "database uses its" : "databases use their");
        if (n_unknown > 0)
                text_printf(text, ", %zu cannot be judged", n_unknown);
        text_add(text, "\n");
}

static void add_instances(Text *text, const Proofs *proofs, const RenderOptions *options) {
        Arena *arena = text->arena;
        Table *table = table_new(
                arena,
                "OUTCOME|INSTANCE|>WANTED|>MAPPED|>TOUCHED|>OF|NODES|>TABLES|>PID|>RUNS FOR");

        VEC_FOREACH(proof, &proofs->list) {
                const ServerLook *look = proof->look;
                uint64_t wanted = proof->wanted_pages, size_bytes = proof->page_size_bytes;
                uint64_t tables_bytes = look->page_table_bytes;
                bool is_unknown = proof->outcome == OUTCOME_UNKNOWN;

                table_add_colored(table, proof_word(arena, proof),
                                  proof->is_as_planned ? NULL
                                  : is_unknown         ? RENDER_YELLOW
                                                       : RENDER_RED);
                table_add(table, proof->instance->name);
                table_add(table, wanted > 0 ? format_count(arena, wanted) : NULL);
                table_add(table, look->is_running && proof->is_mapped_known
                                         ? format_count(arena, proof->mapped_pages)
                                         : NULL);
                if (look->is_running && !is_unknown)
                        table_printf(table, "%s%s", format_count(arena, proof->touched_pages),
                                     proof->is_lower_bound ? "+" : "");
                else
                        table_add(table, NULL);
                table_add(table, size_bytes > 0 ? format_page_size(arena, size_bytes) : NULL);
                table_add(table, proof->own ? render_nodes(arena, &proof->own->nodes) : NULL);
                table_add(table, tables_bytes > 0 ? format_size(arena, tables_bytes) : NULL);
                table_add(table, look->pid > 0 ? arena_printf(arena, "%" PRIu64, look->pid) : NULL);
                table_add(table,
                          look->age_usec > 0 ? proof_format_age(arena, look->age_usec) : NULL);
        }
        render_table(text, options, table, NULL);
}

static void add_waste(Text *text, const WasteList *waste, const RenderOptions *options) {
        Arena *arena = text->arena;
        uint64_t bytes = VEC_SUM(row, waste, mul_saturated(row->pages, row->page_size_bytes));

        if (waste->n == 0)
                return;
        text_printf(text, "\nWasted: %s of huge pages are not used.\n", format_size(arena, bytes));
        VEC_FOREACH(row, waste) {
                const char *since = row->age_usec > 0
                                            ? arena_printf(arena, ", for %s",
                                                           proof_format_age(arena, row->age_usec))
                                            : "";
                const char *pages =
                        format_page_count_and_size(arena, row->pages, row->page_size_bytes);

                render_paragraph(text, options, "  ", "    ",
                                 arena_printf(arena, "%s%s%s: %s%s",
                                              row->instance ? row->instance : "",
                                              row->instance ? ": " : "", pages, row->what, since));
                render_paragraph(text, options,
                                 row->kind == WASTE_FELL_BACK ? "    to use them: "
                                                              : "    to give them back: ",
                                 "      ", row->command);
        }
}

/* Adds the page tables: those of now, and those with small pages, at worst. */
static void add_tables(Text *text, const Proof *proof, const RenderOptions *options) {
        Arena *arena = text->arena;
        const ServerLook *look = proof->look;
        uint64_t worst_bytes = MAX(proof->worst_tables_bytes, proof->small_tables_bytes);
        Text line = text_in(arena);

        if (look->page_table_bytes > 0)
                text_add_item(&line, arena_printf(arena, "%s now (processes: %s)",
                                                  format_size(arena, look->page_table_bytes),
                                                  format_count(arena, look->n_processes)));
        if (worst_bytes > 0)
                text_add_item(&line, arena_printf(arena, "up to %s with small pages",
                                                  format_size(arena, worst_bytes)));
        render_field(text, options, "Tables", line.string);
}

char *render_proofs(Arena *arena, const Proofs *proofs, bool has_details,
                    const RenderOptions *options) {
        Diags problems = diags_in(arena);
        Text text = text_in(arena);

        add_headline(&text, proofs, options);
        add_instances(&text, proofs, options);
        /* Fall backs and deviations, in the order of the table. */
        VEC_FOREACH(proof, &proofs->list) {
                proof_add_problems(proof, SEVERITY_ERROR, &problems);
                if (!has_details || !proof->look->is_running)
                        continue;
                text_add(&text, "\n");
                add_tables(&text, proof, options);
                VEC_FOREACH(missing, &proof->look->missing)
                        render_field(&text, options, "Left out", *missing);
        }
        if (problems.list.n > 0)
                text_add(&text, "\n");
        VEC_FOREACH(problem, &problems.list)
                render_problem(&text, problem, ": ", options);
        add_waste(&text, &proofs->waste, options);
        return text.string;
}

/* ---- JSON ---- */

static json_t *look_to_json(const ServerLook *look) {
        json_t *pages = VEC_TO_JSON(
                user, &look->pages,
                json_pack("{so so so sb so}", "pageSizeBytes", count_to_json(user->page_size_bytes),
                          "mappedPages", count_to_json(page_user_kept_pages(user)), "touchedPages",
                          count_to_json(user->pages), "lowerBound", user->is_lower_bound, "nodes",
                          node_pages_to_json(&user->nodes)));

        return json_pack("{so ss? so so so so so so}", "pid", known_to_json(look->pid), "command",
                         look->command, "runsForSec", known_to_json(look->age_usec / USEC_PER_SEC),
                         "processes", count_to_json(look->n_processes), "counted",
                         json_boolean(look->is_counted), "pages", pages, "pageTableBytes",
                         known_to_json(look->page_table_bytes), "missing",
                         VEC_TO_JSON(text, &look->missing, json_string(*text)));
}

json_t *proof_to_json(const Proof *proof) {
        const ServerLook *look = proof->look;
        uint64_t size_bytes = proof->page_size_bytes;
        bool is_seen = proof->outcome != OUTCOME_UNKNOWN && look->is_running;
        json_t *mapped = json_null(), *touched = json_null(), *fell_back = json_null();

        if (proof->outcome != OUTCOME_UNKNOWN)
                fell_back = json_boolean(proof->outcome == OUTCOME_FELL_BACK);
        if (is_seen && proof->is_mapped_known)
                mapped = count_to_json(mul_saturated(proof->mapped_pages, size_bytes));
        if (is_seen)
                touched = count_to_json(mul_saturated(proof->touched_pages, size_bytes));
        return json_pack("{ss ss? ss? ss ss? sb so so so so so so so so ss? ss? so so so so so}",
                         "name", proof->instance->name, "engine", proof->instance->engine, "unit",
                         proof->instance->unit, "outcome", outcome_name(proof->outcome), "cause",
                         fall_cause_names[proof->cause], "asPlanned", proof->is_as_planned,
                         "fellBack", fell_back, "pageSizeBytes", known_to_json(size_bytes),
                         "pagesWanted", count_to_json(proof->wanted_pages), "mappedBytes", mapped,
                         "touchedBytes", touched, "touchedLowerBound",
                         json_boolean(proof->is_lower_bound), "smallBytes",
                         look->has_map ? count_to_json(proof->small_bytes) : json_null(),
                         "pageTableBytes", known_to_json(look->page_table_bytes), "why", proof->why,
                         "remedy", proof->remedy, "deviations",
                         VEC_TO_JSON(deviation, &proof->deviations, json_string(deviation->text)),
                         "smallPageTableBytes",
                         known_to_json(look->is_running ? proof->small_tables_bytes : 0),
                         "sessionsMax", known_to_json(proof->n_sessions_max), "worstPageTableBytes",
                         known_to_json(proof->worst_tables_bytes), "server",
                         look->is_running ? look_to_json(look) : json_null());
}

json_t *proofs_to_json(const Proofs *proofs) {
        json_t *waste = VEC_TO_JSON(
                row, &proofs->waste,
                json_pack("{ss ss? so so so ss ss}", "kind", waste_kind_names[row->kind],
                          "instance", row->instance, "pageSizeBytes",
                          count_to_json(row->page_size_bytes), "pages", count_to_json(row->pages),
                          "sinceSec", known_to_json(row->age_usec / USEC_PER_SEC), "text",
                          row->what, "remedy", row->command));

        return json_pack("{so so}", "instances",
                         VEC_TO_JSON(proof, &proofs->list, proof_to_json(proof)), "waste", waste);
}
