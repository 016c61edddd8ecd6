/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/alert_logs.h"

#include "base/text.h"

#include <string.h>

enum {
        LOG_BYTES_MAX = 1 << 20, /* of the end: some hundred starts */
        SIDS_MAX = 64,
        NAMES_MAX = 256,
};

/* A SID is a name; with a slash in it, it would lead elsewhere. */
static bool is_name(const char *sid) {
        return *sid != '\0' && *sid != '.' && !strchr(sid, '/');
}

static bool read_log(const Root *root, Arena *arena, const char *path, const char *sid,
                     HostFacts *facts) {
        SourceText text = {};
        char *bytes;

        if (root_read_end(root, arena, path, LOG_BYTES_MAX, &bytes, &text.size) < 0)
                return false;
        text.text = bytes;
        host_facts_add_alert(arena, facts, sid, path, &text);
        return true;
}

/* NAME is DB_UNIQUE_NAME, which nothing here tells: every one that has the SID is tried. */
static void read_logs_of(const Root *root, Arena *arena, const OracleSid *sid, HostFacts *facts) {
        const char *product = strstr(sid->home, "/product/");
        Names names = {};
        size_t n = 0;

        if (!product || !is_name(sid->sid) || *sid->home != '/')
                return;
        const char *directory =
                arena_printf(arena, "%.*s/diag/rdbms", (int) (product - sid->home), sid->home);

        root_list(root, arena, directory, &names);
        VEC_FOREACH(name, &names)
                if (n++ == NAMES_MAX || read_log(root, arena,
                                                 arena_printf(arena, "%s/%s/%s/trace/alert_%s.log",
                                                              directory, *name, sid->sid, sid->sid),
                                                 sid->sid, facts))
                        return;
}

void alert_logs_read(const Root *root, Arena *arena, HostFacts *facts) {
        for (size_t i = 0; i < MIN(facts->sids.n, (size_t) SIDS_MAX); i++)
                read_logs_of(root, arena, &facts->sids.items[i], facts);
}
