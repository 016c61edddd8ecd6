/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Metrics for systemd's interface io.systemd.Metrics. By the checks of systemd-report (systemd 260 and later,
 * src/report/report.c) a name is the name of the socket's file, a dot, and a word that is valid for a Varlink field;
 * fields are strings. systemd's own names are words such as PoolFreeBytes. */
#include "base/json.h"
#include "model/names.h"
#include "render/metrics/metrics.h"
#include "status/json_value.h"

#include <ctype.h>

static const char object_label[] = "database"; /* the object of a metric */

/* Returns "PoolFreeBytes" for "pool_free_bytes", or "poolFreeBytes" for a field. */
static char *camel_case(Arena *arena, const char *name, bool is_upper) {
        char *word = arena_strdup(arena, name), *to = word;

        for (const char *from = word; *from; from++)
                if (*from == '_') {
                        is_upper = true;
                } else {
                        *to++ = is_upper ? (char) toupper((unsigned char) *from) : *from;
                        is_upper = false;
                }
        *to = '\0';
        return word;
}

static json_t *name_to_json(Arena *arena, const MetricFamily *family) {
        return json_string(
                arena_printf(arena, NAME_SOCKET ".%s", camel_case(arena, family->name, true)));
}

/* Returns the sample without labels that are not applicable. */
static json_t *sample_to_json(Arena *arena, const MetricFamily *family,
                              const MetricSample *sample) {
        json_t *json = json_pack("{so}", "name", name_to_json(arena, family));
        json_t *value = count_to_json(sample->value), *fields = json_object();

        ARRAY_FOREACH(label, sample->labels.items, sample->labels.n) {
                if (!*label->value)
                        continue;
                json_t *text = text_to_json(arena, label->value);

                if (text_equals(label->name, object_label)) {
                        json_object_set_new(json, "object", text);
                } else if (text_equals(label->name, family->states)) {
                        json_decref(value);
                        value = text;
                } else {
                        json_object_set_new(fields, camel_case(arena, label->name, false), text);
                }
        }
        json_object_set_new(json, "value", value);
        if (json_object_size(fields) > 0)
                json_object_set(json, "fields", fields);
        json_decref(fields);
        return json;
}

json_t *metrics_to_json(const Metrics *metrics) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        json_t *list = json_array();

        VEC_FOREACH(family, metrics)
                VEC_FOREACH(sample, &family->samples)
                        if (!family->states || sample->value > 0)
                                json_array_append_new(list, sample_to_json(arena, family, sample));
        return list;
}

json_t *metric_families_to_json(const Metrics *metrics) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return VEC_TO_JSON(family, metrics,
                           json_pack("{so ss ss}", "name", name_to_json(arena, family),
                                     "description", family->help, "type",
                                     family->states ? "string" : "gauge"));
}
