/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/diag.h"

#include "base/text.h"

static const char *const severity_names[] = {
        [SEVERITY_ERROR] = "error",
        [SEVERITY_WARNING] = "warning",
        [SEVERITY_NOTICE] = "notice",
};

const char *severity_name(Severity severity) {
        return severity_names[severity];
}

int severity_from_name(const char *name, Severity *ret) {
        return TEXT_TO_ENUM(severity_names, name, ret);
}

void diags_add(Diags *diags, const Diag *diag) {
        Arena *arena = diags->arena;

        *vec_push(arena, &diags->list) = (Diag){
                .severity = diag->severity,
                .id = arena_strdup(arena, diag->id),
                .file = arena_strdup(arena, diag->file),
                .line = diag->line,
                .key = arena_strdup(arena, diag->key),
                .text = arena_strdup(arena, diag->text),
                .remedy = arena_strdup(arena, diag->remedy),
        };
}

void diags_report(Diags *diags, Diag diag, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        diag.text = arena_vprintf(diags->arena, format, arguments);
        va_end(arguments);
        diags_add(diags, &diag);
}

void diags_add_all(Diags *diags, const Diags *more) {
        VEC_FOREACH(diag, &more->list)
                diags_add(diags, diag);
}

size_t diags_count(const Diags *diags, Severity severity) {
        return VEC_SUM(diag, &diags->list, diag->severity == severity);
}

char *diag_format(Arena *arena, const Diag *diag) {
        Text text = text_in(arena);

        if (diag->file)
                text_printf(&text, diag->line > 0 ? "%s:%u: " : "%s: ", diag->file, diag->line);
        if (diag->key)
                text_printf(&text, "%s: ", diag->key);
        text_add(&text, diag->text);
        if (diag->remedy)
                text_printf(&text, "; %s", diag->remedy);
        return text.string;
}
