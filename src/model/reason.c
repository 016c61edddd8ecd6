/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/reason.h"

#include "base/text.h"

#define REASON_ID(name, id) id,
static const char *const reason_ids[] = {REASONS(REASON_ID)};

Reason reason_make(Arena *arena, ReasonKind kind, const char *remedy, const char *format, ...) {
        Reason reason = {.kind = kind, .remedy = remedy};
        va_list arguments;

        va_start(arguments, format);
        reason.text = arena_vprintf(arena, format, arguments);
        va_end(arguments);
        return reason;
}

const char *reason_id(ReasonKind kind) {
        return reason_ids[kind];
}

int reason_from_id(const char *id, ReasonKind *ret) {
        return TEXT_TO_ENUM(reason_ids, id, ret);
}
