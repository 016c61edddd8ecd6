/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/reason.h"

#include "base/text.h"

#define REASON_ID(name, id) id,
static const char *const reason_ids[] = {REASONS(REASON_ID)};

const char *reason_id(ReasonKind kind) {
        return reason_ids[kind];
}

int reason_from_id(const char *id, ReasonKind *ret) {
        return TEXT_TO_ENUM(reason_ids, id, ret);
}
