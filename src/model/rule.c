/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/rule.h"

#include "base/text.h"
#include "model/problem.h"
#include "model/reason.h"

#include <string.h>

const Rule rules[RULE_KINDS] = {
        [RULE_PG_TRY] = {"pg-try", SEVERITY_WARNING, false,
                         "PostgreSQL falls back to small pages and says nothing"},
        [RULE_PG_OFF] = {"pg-off", SEVERITY_WARNING, true,
                         "PostgreSQL does not take the pages that are reserved for it"},
        [RULE_PG_SHORT] = {"pg-short", SEVERITY_ERROR, true,
                           "PostgreSQL needs more pages than are planned"},
        [RULE_PG_NAIVE] = {"pg-naive", SEVERITY_ERROR, true,
                           "the plan is shared_buffers alone, which is never enough"},
        [RULE_PG_TIGHT] = {"pg-tight", SEVERITY_NOTICE, false,
                           "the planned pages may be too few for PostgreSQL"},
        [RULE_PG_CMDLINE] = {"pg-cmdline", SEVERITY_NOTICE, false,
                             "settings on PostgreSQL's command line change its size"},
        [RULE_PG_SYSV] = {"pg-sysv", SEVERITY_ERROR, true,
                          "PostgreSQL takes no huge pages for System V shared memory"},
        [RULE_PG_STATUS] = {"pg-status", SEVERITY_WARNING, true,
                            "PostgreSQL runs without huge pages"},
        [RULE_PG_PAGESIZE] = {"pg-pagesize", SEVERITY_ERROR, true,
                              "PostgreSQL takes pages of another size than the plan has"},
        [RULE_PG_DASH] = {"pg-dash", SEVERITY_NOTICE, false,
                          "the unit hides that PostgreSQL did not start"},
        [RULE_PG_VERSION] = {"pg-version", SEVERITY_WARNING, true,
                             "the size was learned from another major version"},
        [RULE_PG_IO] = {"pg-io", SEVERITY_NOTICE, false,
                        "asynchronous I/O changes how much PostgreSQL needs"},

        [RULE_ORA_AMM] = {"ora-amm", SEVERITY_ERROR, true,
                          "Oracle's automatic memory management takes no huge pages"},
        [RULE_ORA_FALSE] = {"ora-false", SEVERITY_WARNING, true,
                            "Oracle does not take the pages that are reserved for it"},
        [RULE_ORA_TRUE] = {"ora-true", SEVERITY_WARNING, false,
                           "Oracle starts with whatever huge pages there are"},
        [RULE_ORA_AUTO] = {"ora-auto", SEVERITY_WARNING, true, "Oracle resizes the pool itself"},
        [RULE_ORA_SHORT] = {"ora-short", SEVERITY_WARNING, true,
                            "the SGA needs more pages than are planned"},
        [RULE_ORA_MEMLOCK] = {"ora-memlock", SEVERITY_ERROR, true,
                              "the unit's memlock limit is below the shared memory"},
        [RULE_ORA_MEMLOCK_UNIT] = {"ora-memlock-unit", SEVERITY_WARNING, true,
                                   "limits.conf does not count for services"},
        [RULE_ORA_GROUP] = {"ora-group", SEVERITY_ERROR, true,
                            "the kernel refuses System V huge pages to this owner"},
        [RULE_ORA_SHM] = {"ora-shm", SEVERITY_ERROR, true,
                          "the kernel's limits for shared memory are too low"},
        [RULE_ORA_ASM] = {"ora-asm", SEVERITY_NOTICE, false,
                          "an ASM or repository instance is not planned for"},
        [RULE_ORA_THP] = {"ora-thp", SEVERITY_NOTICE, false,
                          "Oracle recommends madvise for this kernel and version"},
        [RULE_ORA_70] = {"ora-70", SEVERITY_WARNING, false,
                         "huge pages are more than Oracle recommends"},
        [RULE_ORA_ALERT] = {"ora-alert", SEVERITY_WARNING, true,
                            "Oracle's last start found too few huge pages"},

        [RULE_MY_OFF] = {"my-off", SEVERITY_WARNING, true,
                         "the server does not take the pages that are reserved for it"},
        [RULE_MY_POOL_ONLY] = {"my-pool-only", SEVERITY_ERROR, true,
                               "the plan is the buffer pool alone, which is never enough"},
        [RULE_MY_SHORT] = {"my-short", SEVERITY_WARNING, true,
                           "the server needs more pages than are planned"},
        [RULE_MARIA_1G] = {"maria-1g", SEVERITY_WARNING, true,
                           "MariaDB takes others' gigantic pages first"},
        [RULE_MARIA_SILENT] = {"maria-silent", SEVERITY_WARNING, true,
                               "the server runs without huge pages"},
        [RULE_MARIA_MEMLOCK] = {"maria-memlock", SEVERITY_WARNING, true,
                                "the server may not lock its memory"},
        [RULE_MYSQL_CHUNK] = {"mysql-chunk", SEVERITY_NOTICE, false,
                              "small chunks of the buffer pool waste huge pages"},
        [RULE_MY_MEMLOCK_BYTES] = {"my-memlock-bytes", SEVERITY_NOTICE, false,
                                   "the unit's memlock limit is in bytes, not in kB"},
        [RULE_MY_RESIZE] = {"my-resize", SEVERITY_NOTICE, false,
                            "the buffer pool cannot be resized online"},

        [RULE_THP_ALWAYS] = {"thp-always", SEVERITY_WARNING, true,
                             "transparent huge pages harm this database"},
        [RULE_THP_NEVER] = {"thp-never", SEVERITY_WARNING, false,
                            "this database wants transparent huge pages"},

        [RULE_NODE_EXCEEDED] = {"node-exceeded", SEVERITY_ERROR, true,
                                "the instances together want more than there is"},
        [RULE_PLAN_70] = {"plan-70", SEVERITY_NOTICE, false,
                          "most of the memory becomes huge pages"},
        [RULE_IDLE_PAGES] = {"idle-pages", SEVERITY_WARNING, false,
                             "pages that nobody asked for lie idle"},
        [RULE_BOOT_PAGES] = {"boot-pages", SEVERITY_WARNING, false,
                             "the kernel command line reserves pages beside the plan"},
        [RULE_OVERCOMMIT_PAGES] = {"overcommit-pages", SEVERITY_WARNING, false,
                                   "surplus pages hide a shortage until it hurts"},
        [RULE_POOL_UNUSED] = {"pool-unused", SEVERITY_WARNING, true,
                              "the database runs and takes none of its pages"},
        [RULE_POOL_TAKEN] = {"pool-taken", SEVERITY_WARNING, true,
                             "others use the instances' pages"},
        [RULE_SYSV_LEFT] = {"sysv-left", SEVERITY_WARNING, true,
                            "a segment that nobody uses holds huge pages"},
        [RULE_NODE_POLICY] = {"node-policy", SEVERITY_ERROR, true,
                              "the unit may not use the nodes where its pages are"},
        [RULE_CGROUP_MAX] = {"cgroup-max", SEVERITY_ERROR, true,
                             "a control group allows fewer huge pages than are planned"},
        [RULE_HUGETLB_LIMIT_MISSING] = {"hugetlb-limit-missing", SEVERITY_WARNING, false,
                                        "a unit runs without the hugetlb limit that it should have"},
        [RULE_HUGETLB_LIMIT_WRONG] = {"hugetlb-limit-wrong", SEVERITY_WARNING, false,
                                      "the hugetlb limit of a running unit is not as planned"},
        [RULE_HUGETLB_UNLIMITED] = {"hugetlb-unlimited", SEVERITY_NOTICE, false,
                                    "somebody who is no instance may take the instances' pages"},
        [RULE_MEMORY_MAX] = {"memory-max", SEVERITY_ERROR, true,
                             "huge pages count against a memory limit that is too low"},
        [RULE_LEARNED_STALE] = {"learned-stale", SEVERITY_WARNING, true,
                                "the settings ask for more than was learned"},
        [RULE_LIMITS_MEMLOCK] = {"limits-memlock", SEVERITY_WARNING, false,
                                 "a memlock limit of logins makes no sense"},
        [RULE_REMOVE_IPC] = {"remove-ipc", SEVERITY_WARNING, false,
                             "a logout may remove the database's shared memory"},
};

/* What is found by others than the rules, and may be silenced as well. */
static const struct {
        ProblemKind kind;
        bool hurts;
} others[] = {
        {PROBLEM_DATABASE_FILES, false},
        {PROBLEM_RELOAD_PENDING, false},
        {PROBLEM_NO_UNIT, false},
        {PROBLEM_DROPIN_MISSING, true},
        {PROBLEM_GATE_MISSING, true},
        {PROBLEM_GATE_MASKED, false},
        {PROBLEM_UNIT_NOT_LOADED, true},
        {PROBLEM_UNIT_WRONG, true},
        {PROBLEM_UNIT_SHARED, false},
        {PROBLEM_THP_CONFLICT, false},
        {PROBLEM_SHM_GROUP_MISSING, true},
        {PROBLEM_SHM_GROUP_REPLACED, true},
        {PROBLEM_MOUNT_TAKEN, true},
        {PROBLEM_MOUNT_OUTDATED, true},
        {PROBLEM_CONFLICT_COMMAND_LINE, true},
        {PROBLEM_CONFLICT_SYSCTL, true},
        {PROBLEM_CONFLICT_TMPFILES, true},
        {PROBLEM_CONFLICT_TUNED, true},
        {PROBLEM_CMDLINE_TYPO, true},
        {PROBLEM_CMDLINE_BAD_VALUE, true},
        {PROBLEM_CMDLINE_ORDER, true},
        {PROBLEM_CMDLINE_DUPLICATE, true},
        {PROBLEM_CMDLINE_NO_SUCH_SIZE, true},
        {PROBLEM_CMDLINE_INVALID_NODE, true},
        {PROBLEM_CMDLINE_NUMA_OFF, true},
        {PROBLEM_CMDLINE_CMA, true},
        {PROBLEM_CMDLINE_SPREAD, false},
        {PROBLEM_CMDLINE_SHORT, true},
        {PROBLEM_CMDLINE_RUN_TIME, true},
        {PROBLEM_CMDLINE_BEYOND_PLAN, false},
        {PROBLEM_EXISTING_PAGES_KEPT, false},
};

enum { N_IDS = RULE_KINDS + ARRAY_LEN(others) };

static const char *id_at(size_t i) {
        return i < RULE_KINDS ? rules[i].id : problem_id(others[i - RULE_KINDS].kind);
}

/* N_IDS where it is none. */
static size_t find(const char *id) {
        size_t i = 0;

        while (i < N_IDS && !text_equals(id, id_at(i)))
                i++;
        return i;
}

bool rule_hurts(const char *id) {
        size_t i = find(id);
        ReasonKind reason;

        if (i < N_IDS)
                return i < RULE_KINDS ? rules[i].hurts : others[i - RULE_KINDS].hurts;
        return reason_from_id(id, &reason) == 0 && reason != REASON_CONFIG;
}

bool rule_may_be_silenced(const char *id) {
        return find(id) < N_IDS;
}

/* ---- near misses ---- */

enum { DISTANCE_MAX = 3 };

const char *rule_nearest(const char *word) {
        const char *nearest = NULL;
        size_t least = DISTANCE_MAX + 1;

        for (size_t i = 0; i < N_IDS; i++) {
                size_t distance = text_distance(word, id_at(i));

                if (distance < least && distance < strlen(word)) {
                        least = distance;
                        nearest = id_at(i);
                }
        }
        return nearest;
}

char *rule_documentation(Arena *arena, const char *id) {
        ReasonKind reason;

        if (find(id) < RULE_KINDS)
                return arena_printf(arena, "hugeplan-rules(7), %s", id);
        return arena_printf(arena, "hugeplanctl(1), %s",
                            reason_from_id(id, &reason) == 0 ? "REASONS" : "PROBLEMS");
}
