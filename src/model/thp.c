/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/thp.h"

#include "base/text.h"

#include <string.h>

static const char *const policy_names[] = {
        [THP_AUTO] = "auto",       [THP_KEEP] = "keep",     [THP_NEVER] = "never",
        [THP_MADVISE] = "madvise", [THP_ALWAYS] = "always",
};

const char *thp_policy_name(ThpPolicy policy) {
        return policy_names[policy];
}

int thp_policy_from_name(const char *name, ThpPolicy *ret) {
        return TEXT_TO_ENUM(policy_names, name, ret);
}

char *thp_selected(Arena *arena, const char *file_text) {
        const char *open = strchr(file_text, '[');
        const char *close = open ? strchr(open, ']') : NULL;

        return close ? arena_strdup_to(arena, open + 1, close) : NULL;
}
