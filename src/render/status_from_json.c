/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The JSON of a status that only hugeplanctl uses: reading what the daemon has sent, and writing the page users, which
 * hugeplanctl adds. */
#include "base/json.h"
#include "base/text.h"
#include "render/status_json.h"
#include "status/json_value.h"

/* Returns "nodes" of OBJECT. */
static PagesByNode node_pages_from_json(Arena *arena, const json_t *object) {
        const json_t *array = json_object_get(object, "nodes");
        PagesByNode nodes = {};

        for (size_t i = 0; i < json_array_size(array); i++) {
                const json_t *item = json_array_get(array, i);

                *vec_push(arena, &nodes) = (NodePages){(unsigned) count_from_json(item, "node"),
                                                       count_from_json(item, "pages")};
        }
        return nodes;
}

static bool hold_from_json(Arena *arena, const json_t *json, StatusHold *ret) {
        *ret = (StatusHold){
                .instance = text_from_json(arena, json, "instance"),
                .unit = text_from_json(arena, json, "unit"),
                .page_size_bytes = count_from_json(json, "pageSizeBytes"),
                .pages = count_from_json(json, "pages"),
                .nodes = node_pages_from_json(arena, json),
        };
        return ret->instance && ret->unit;
}

static IdSet nodes_from_json(const json_t *json) {
        const json_t *nodes = json_object_get(json, "nodes");
        IdSet set = {};

        for (size_t i = 0; i < json_array_size(nodes); i++) {
                json_int_t node = json_integer_value(json_array_get(nodes, i));

                if (node >= 0 && node < ID_SET_MAX)
                        id_set_add(&set, (unsigned) node);
        }
        return set;
}

int status_instance_from_json(Arena *arena, const json_t *json, StatusInstance *ret) {
        StatusInstance instance = {
                .name = text_from_json(arena, json, "name"),
                .engine = text_from_json(arena, json, "engine"),
                .unit = text_from_json(arena, json, "unit"),
                .file = text_from_json(arena, json, "file"),
                .page_size_bytes = count_from_json(json, "pageSizeBytes"),
                .pages_wanted = count_from_json(json, "pagesWanted"),
                .pages_granted = count_from_json(json, "pagesGranted"),
                .priority = (unsigned) count_from_json(json, "priority"),
                .shortage = text_equals(text_from_json(arena, json, "shortage"), "degrade")
                                    ? SHORTAGE_DEGRADE
                                    : SHORTAGE_REFUSE,
                .reason = {.text = text_from_json(arena, json, "reason"),
                           .remedy = text_from_json(arena, json, "remedy")},
                .fingerprint = text_from_json(arena, json, "configuration"),
                .nodes = node_pages_from_json(arena, json),
        };

        if (!instance.name ||
            verdict_from_name(text_from_json(arena, json, "verdict"), &instance.verdict) < 0)
                return -EPROTO;
        reason_from_id(text_from_json(arena, json, "reasonId"), &instance.reason.kind);
        instance.is_running = json_is_true(json_object_get(json, "running"));
        instance.was_let_start = json_is_true(json_object_get(json, "letStart"));
        instance.is_counted = json_is_true(json_object_get(json, "counted"));
        StatusHold until;

        if (hold_from_json(arena, json_object_get(json, "untilRestart"), &until))
                instance.until_restart = arena_memdup(arena, &until, sizeof(until));
        *ret = instance;
        return 0;
}

static PagesByNode nodes_from_row(Arena *arena, const char *words) {
        PagesByNode nodes = {};
        NodePages pages;

        TEXT_FOREACH(word, arena, words, ",")
                if (process_parse_node_pages(arena, word, &pages))
                        *vec_push(arena, &nodes) = pages;
        return nodes;
}

/* Reads what add_row() has made, and splits ROW. */
static bool instance_from_row(Arena *arena, char *row, StatusInstance *ret) {
        enum { N_ALL = 5, N_OF_UNIT = 12 };
        char *name = strsep(&row, "\t"), *rest = row ? text_printable(arena, row) : NULL;
        char *words[N_OF_UNIT];
        StatusHold until = {};
        size_t n = 0;

        while (n < N_OF_UNIT && rest)
                words[n++] = strsep(&rest, " ");
        if (n < N_ALL || verdict_from_name(words[0], &ret->verdict) < 0 ||
            parse_u64(words[1], &ret->page_size_bytes) < 0 ||
            parse_u64(words[2], &ret->pages_wanted) < 0 ||
            parse_u64(words[3], &ret->pages_granted) < 0)
                return false;
        ret->name = text_printable(arena, name);
        ret->nodes = nodes_from_row(arena, words[4]);
        if (n < N_OF_UNIT)
                return true;
        ret->unit = words[5];
        ret->engine = words[6];
        ret->was_let_start = text_equals(words[7], "1");
        ret->is_counted = text_equals(words[8], "1");
        ret->file = rest;
        if (parse_u64(words[9], &until.page_size_bytes) < 0 ||
            parse_u64(words[10], &until.pages) < 0)
                return false;
        until.instance = ret->name;
        until.unit = ret->unit;
        until.nodes = nodes_from_row(arena, words[11]);
        if (until.page_size_bytes > 0)
                ret->until_restart = arena_memdup(arena, &until, sizeof(until));
        return true;
}

Diags problems_from_json(Arena *arena, const json_t *json) {
        Diags problems = diags_in(arena);

        for (size_t i = 0; i < json_array_size(json); i++) {
                const json_t *item = json_array_get(json, i);
                Diag problem = {
                        .severity = SEVERITY_ERROR,
                        .id = text_from_json(arena, item, "id"),
                        .file = text_from_json(arena, item, "file"),
                        .line = (unsigned) count_from_json(item, "line"),
                        .key = text_from_json(arena, item, "key"),
                        .text = text_from_json(arena, item, "text"),
                        .remedy = text_from_json(arena, item, "remedy"),
                };

                severity_from_name(text_from_json(arena, item, "severity"), &problem.severity);
                if (problem.text)
                        diags_add(&problems, &problem);
        }
        return problems;
}

Status *status_from_json(Arena *arena, const json_t *json) {
        const json_t *host = json_object_get(json, "host");
        const json_t *pools = json_object_get(json, "pools");
        const json_t *instances = json_object_get(json, "instances");
        const json_t *problems = json_object_get(json, "problems");
        const json_t *rows = json_object_get(json, "rows"), *item;
        Status *status = ARENA_NEW(arena, Status);
        StatusHold hold;
        Attempt attempt;
        char *text = arena_strdup(arena, json_string_value(rows)), *row;
        size_t i, n_rows = 1;

        if (!json_is_array(pools) || !json_is_array(instances) || !json_is_array(problems) ||
            (rows && !text) ||
            verdict_from_name(text_from_json(arena, host, "verdict"), &status->verdict) < 0)
                return NULL;
        status->thp = text_from_json(arena, host, "transparentHugePages");
        status->phase = text_from_json(arena, host, "phase");
        status->boot_id = text_from_json(arena, host, "bootId");
        status->fingerprint = text_from_json(arena, host, "configuration");
        status->pools = ARENA_ARRAY(arena, StatusPool, json_array_size(pools) + 1);
        json_array_foreach(pools, i, item)
                status->pools[status->n_pools++] = (StatusPool){
                        .node = (unsigned) count_from_json(item, "node"),
                        .page_size_bytes = count_from_json(item, "pageSizeBytes"),
                        .total_pages = count_from_json(item, "total"),
                        .free_pages = count_from_json(item, "free"),
                        .surplus_pages = count_from_json(item, "surplus"),
                        .foreign_pages = count_from_json(item, "foreign"),
                        .owned_pages = count_from_json(item, "owned"),
                        .cover_pages = count_from_json(item, "cover"),
                };
        for (row = text; row && *row; row++)
                n_rows += *row == '\n';
        status->instances = ARENA_ARRAY(arena, StatusInstance, json_array_size(instances) + n_rows);
        json_array_foreach(instances, i, item)
                if (status_instance_from_json(arena, item,
                                              &status->instances[status->n_instances++]) < 0)
                        return NULL;
        while ((row = strsep(&text, "\n")) && text)
                if (!instance_from_row(arena, row, &status->instances[status->n_instances++]))
                        return NULL;
        status->problems = problems_from_json(arena, problems);
        json_array_foreach(json_object_get(json, "reserved"), i, item)
                *vec_push(arena, &status->reserved) = (StatusReserved){
                        .unit = text_from_json(arena, item, "unit"),
                        .instance = text_from_json(arena, item, "instance"),
                        .page_size_bytes = count_from_json(item, "pageSizeBytes"),
                        .pages = count_from_json(item, "pages"),
                        .nodes = nodes_from_json(item),
                        .is_likely = json_is_true(json_object_get(item, "likely")),
                };
        json_array_foreach(json_object_get(json, "covers"), i, item)
                *vec_push(arena, &status->covers) = (Exposure){
                        .unit = text_from_json(arena, item, "unit"),
                        .page_size_bytes = count_from_json(item, "pageSizeBytes"),
                        .nodes = nodes_from_json(item),
                        .pages = count_from_json(item, "pages"),
                        .taker = text_from_json(arena, item, "taker"),
                        .taker_pages = count_from_json(item, "takerPages"),
                };
        json_array_foreach(json_object_get(json, "kept"), i, item)
                if (hold_from_json(arena, item, &hold))
                        *vec_push(arena, &status->left) = hold;
        json_array_foreach(json_object_get(json, "attempts"), i, item)
                if (attempt_from_json(item, &attempt) == 0)
                        *vec_push(arena, &status->attempts) = attempt;
        return status;
}

/* ---- with page users ---- */

json_t *status_seen_to_json(const Status *status) {
        json_t *json = status_to_json(status, false);

        if (!status->page_users)
                return json;
        json_t *users = json_array();

        VEC_FOREACH(user, &status->page_users->list) {
                const StatusInstance *of = status_find_unit(status, user->unit);

                json_array_append_new(users, page_user_to_json(user, of ? of->name : NULL));
        }
        json_object_set_new(json, "pageUsers", users);
        return json;
}
