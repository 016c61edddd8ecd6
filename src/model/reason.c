/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/reason.h"

#include "base/text.h"

static const char *const reason_ids[REASON_KINDS] = {
        [REASON_NONE] = "none",
        [REASON_CONFIG] = "config",
        [REASON_NO_HUGETLB] = "no-hugetlb",
        [REASON_NO_PAGE_SIZE] = "no-page-size",
        [REASON_NODE_ABSENT] = "node-absent",
        [REASON_OUTSIDE_CPUSET] = "outside-cpuset",
        [REASON_ENGINE_SIZE] = "engine-size",
        [REASON_NOT_ENOUGH_MEMORY] = "not-enough-memory",
        [REASON_FRAGMENTED] = "fragmented",
        [REASON_WRITE_FAILED] = "write-failed",
        [REASON_TAKEN] = "taken",
        [REASON_POOL_SHRANK] = "pool-shrank",
        [REASON_BOOT_GUARD] = "boot-guard",
        [REASON_RELEASED] = "released",
        [REASON_SIZE_UNKNOWN] = "size-unknown",
        [REASON_NO_HUGETLB_LIMIT] = "no-hugetlb-limit",
        [REASON_MEMORY_LIMIT] = "memory-limit",
};

const char *reason_id(ReasonKind kind) {
        return reason_ids[kind];
}

int reason_from_id(const char *id, ReasonKind *ret) {
        for (size_t i = 0; i < ARRAY_LEN(reason_ids); i++)
                if (text_equals(id, reason_ids[i])) {
                        *ret = (ReasonKind) i;
                        return 0;
                }
        return -EINVAL;
}
