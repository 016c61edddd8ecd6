/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Metrics as text: OpenMetrics 1.0. */
#include "render/metrics/metrics.h"

/* Adds the value of a label, with these three characters escaped. */
static void add_value(Text *text, const char *value) {
        for (; *value; value++)
                if (*value == '\n')
                        text_add(text, "\\n");
                else
                        text_printf(text, "%s%c", *value == '\\' || *value == '"' ? "\\" : "",
                                    *value);
}

static void add_sample(Text *text, const char *name, const MetricSample *sample) {
        const char *before = "{";

        text_printf(text, "hugeplan_%s", name);
        ARRAY_FOREACH(label, sample->labels.items, sample->labels.n) {
                text_printf(text, "%s%s=\"", before, label->name);
                add_value(text, label->value);
                text_add(text, "\"");
                before = ",";
        }
        text_printf(text, "%s %" PRIu64 "\n", sample->labels.n > 0 ? "}" : "", sample->value);
}

static void add_family(Text *text, const MetricFamily *family) {
        const char *name = family->name;

        text_printf(text, "# TYPE hugeplan_%s gauge\n", name);
        if (text_ends_with(name, "_bytes"))
                text_printf(text, "# UNIT hugeplan_%s bytes\n", name);
        text_printf(text, "# HELP hugeplan_%s %s%s%s%s\n", name, family->help,
                    family->states ? " By " : "", family->states ? family->states : "",
                    family->states ? ": 1 for the one that holds." : "");
        VEC_FOREACH(sample, &family->samples)
                add_sample(text, name, sample);
}

char *metrics_to_text(Arena *arena, const Metrics *metrics) {
        Text text = text_in(arena);

        VEC_FOREACH(family, metrics)
                add_family(&text, family);
        text_add(&text, "# EOF\n");
        return text.string;
}
