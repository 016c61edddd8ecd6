/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/conflict.h"

#include "base/size.h"
#include "base/text.h"
#include "model/problem.h"
#include "plan/limits.h"

#include <string.h>

typedef struct Conflict {
        Arena *arena;
        const ConflictInput *input;
        const Culprit *culprit;
} Conflict;

static const struct {
        ProblemKind problem;
        const char *acts; /* when the reader of an entry does */
} sources[] = {
        [CULPRIT_KERNEL_COMMAND_LINE] = {PROBLEM_CONFLICT_COMMAND_LINE,
                                         "the kernel applies it at every boot"},
        [CULPRIT_SYSCTL] = {PROBLEM_CONFLICT_SYSCTL,
                            "systemd-sysctl applies it again whenever a package triggers it"},
        [CULPRIT_TMPFILES] = {PROBLEM_CONFLICT_TMPFILES,
                              "systemd-tmpfiles applies it at every boot, after hugeplan"},
        [CULPRIT_TUNED] = {PROBLEM_CONFLICT_TUNED,
                           "tuned applies it whenever it starts, after hugeplan"},
};

static const struct {
        const char *does; /* NULL: made up for the case */
        const char *harm;
        const char *instead;
} kind_texts[] = {
        [CULPRIT_NR_HUGEPAGES] = {"sets the huge page pool of the whole host",
                                  "takes pages from nodes the plan gave them to",
                                  "hugeplan reserves per node"},
        [CULPRIT_NR_HUGEPAGES_MEMPOLICY] = {"sets the huge page pool of the whole host",
                                            "takes pages from nodes the plan gave them to",
                                            "hugeplan reserves per node"},
        [CULPRIT_SIZE_POOL] = {"sets the pool of a page size for the whole host",
                               "takes pages from nodes the plan gave them to",
                               "hugeplan reserves per node"},
        [CULPRIT_NODE_POOL] = {"sets the huge page pool of nodes", "overwrites what the plan set",
                               "hugeplan reserves what the instances need"},
        [CULPRIT_NR_OVERCOMMIT_HUGEPAGES] = {"lets programs take huge pages beyond the pools",
                                             "takes memory that the plan leaves free",
                                             "hugeplan reserves what the instances need"},
        [CULPRIT_HUGETLB_SHM_GROUP] = {"sets the one group that may use SysV huge pages",
                                       "shuts out instances of other groups",
                                       "hugeplan sets the group"},
        [CULPRIT_SHMMAX] = {NULL, "keeps the database from attaching its memory",
                            "hugeplan raises it where it has to"},
        [CULPRIT_SHMALL] = {NULL, "keeps the database from attaching its memory",
                            "hugeplan raises it where it has to"},
        [CULPRIT_THP] = {NULL, "undoes what the plan set", NULL},
        [CULPRIT_THP_SIZE] = {NULL, "undoes what the plan set", NULL},
        [CULPRIT_THP_OTHER] = {NULL, NULL, NULL},
};

/* ---- which ---- */

static bool is_reserving(const Plan *plan) {
        for (size_t i = 0; i < plan->n_instances; i++)
                if (plan->instances[i].pages_wanted > 0)
                        return true;
        return false;
}

/* Bytes of SysV shared memory that the plan stands for: the largest instance's, or all. */
static uint64_t sysv_bytes(const Plan *plan, bool is_sum) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < plan->n_instances; i++) {
                const PlanInstance *planned = &plan->instances[i];

                if (!limits_needs_group(planned->demand->config))
                        continue;
                uint64_t own = mul_saturated(planned->pages_wanted, planned->page_size_bytes);

                bytes = is_sum ? add_saturated(bytes, own) : MAX(bytes, own);
        }
        return bytes;
}

/* What kernel.shmmax (bytes) or kernel.shmall (base pages) has to be at least. */
static uint64_t needed_limit(const Conflict *conflict) {
        const ConflictInput *input = conflict->input;

        if (conflict->culprit->what == CULPRIT_SHMMAX)
                return sysv_bytes(input->plan, false);
        return div_round_up(sysv_bytes(input->plan, true),
                            MAX(input->topology->base_page_bytes, (uint64_t) 1));
}

static bool is_limit_too_low(const Conflict *conflict) {
        uint64_t limit;

        return !conflict->input->config->host.keep_shared_memory_limits &&
               kernel_number_parse(conflict->culprit->value, &limit, NULL) == 0 &&
               limit < needed_limit(conflict);
}

static bool is_thp_against_plan(const Conflict *conflict) {
        const Culprit *culprit = conflict->culprit;
        ThpPolicy policy = conflict->input->thp->policy;

        if (policy == THP_KEEP || policy == THP_AUTO ||
            text_equals(culprit->value, thp_policy_name(policy)))
                return false;
        return culprit->what == CULPRIT_THP ||
               !(text_equals(culprit->value, "never") || text_equals(culprit->value, "inherit"));
}

/* Pages that the kernel itself reserved at boot count for the plan. */
static bool is_boot_reservation(const Culprit *culprit) {
        return culprit->source == CULPRIT_KERNEL_COMMAND_LINE &&
               !text_starts_with(culprit->key, "sysctl");
}

static bool sets_group(const Culprit *culprit, uint64_t gid) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        return gid > 0 && culprit_explains(culprit, arena_printf(arena, "%" PRIu64, gid));
}

static bool is_conflict(const Conflict *conflict) {
        const Culprit *culprit = conflict->culprit;

        switch (culprit->what) {
        case CULPRIT_NR_HUGEPAGES:
        case CULPRIT_NR_HUGEPAGES_MEMPOLICY:
        case CULPRIT_SIZE_POOL:
        case CULPRIT_NODE_POOL:
                return is_reserving(conflict->input->plan) && !is_boot_reservation(culprit);
        case CULPRIT_NR_OVERCOMMIT_HUGEPAGES:
                return is_reserving(conflict->input->plan) && !culprit_explains(culprit, "0");
        case CULPRIT_HUGETLB_SHM_GROUP:
                return sysv_bytes(conflict->input->plan, false) > 0 &&
                       !sets_group(culprit, conflict->input->own_group) &&
                       !sets_group(culprit, conflict->input->replaced_group);
        case CULPRIT_SHMMAX:
        case CULPRIT_SHMALL:
                return is_limit_too_low(conflict);
        case CULPRIT_THP:
        case CULPRIT_THP_SIZE:
                return is_thp_against_plan(conflict);
        default:
                return false;
        }
}

/* ---- in words ---- */

static const char *does_text(const Conflict *conflict) {
        Arena *arena = conflict->arena;
        const Culprit *culprit = conflict->culprit;

        switch (culprit->what) {
        case CULPRIT_NR_HUGEPAGES:
                /* The usual case, by the name that everybody knows. */
                return strstr(culprit->key, "nr_hugepages") && !strchr(culprit->key, '/')
                               ? "sets vm.nr_hugepages for the whole host"
                               : kind_texts[culprit->what].does;
        case CULPRIT_SHMMAX:
                return arena_printf(arena, "sets kernel.shmmax to %s, while %s is needed",
                                    culprit->value, format_size(arena, needed_limit(conflict)));
        case CULPRIT_SHMALL:
                return arena_printf(arena, "sets kernel.shmall to %s, while %s pages are needed",
                                    culprit->value, format_count(arena, needed_limit(conflict)));
        case CULPRIT_THP:
        case CULPRIT_THP_SIZE:
                return arena_printf(arena,
                                    "sets transparent huge pages to %s, while the plan has %s",
                                    culprit->value, thp_policy_name(conflict->input->thp->policy));
        default:
                return kind_texts[culprit->what].does;
        }
}

/* A file that a package owns comes back with the next update. */
static bool is_packaged(const Culprit *culprit) {
        return text_starts_with(culprit->file, "/usr/lib/") ||
               text_starts_with(culprit->file, "/lib/");
}

static const char *place_remedy(const Conflict *conflict) {
        const Culprit *culprit = conflict->culprit;
        const char *slash = strrchr(culprit->file, '/');

        if (culprit->source == CULPRIT_KERNEL_COMMAND_LINE)
                return "take it off the kernel command line";
        if (!is_packaged(culprit) || !slash)
                return "delete the line";
        if (culprit->source == CULPRIT_TUNED)
                return "copy the profile to /etc/tuned and delete the line there";
        return arena_printf(conflict->arena, "put a copy without the line into /etc/%s.d/%s",
                            culprit_source_name(culprit->source), slash + 1);
}

static const char *remedy_of(const Conflict *conflict) {
        const Culprit *culprit = conflict->culprit;
        const char *instead = kind_texts[culprit->what].instead;

        if (instead)
                return arena_printf(conflict->arena, "%s; %s", place_remedy(conflict), instead);
        if (culprit->what == CULPRIT_THP)
                return arena_printf(conflict->arena,
                                    "%s, or write TransparentHugePages=%s in [Host]",
                                    place_remedy(conflict), culprit->value);
        return place_remedy(conflict);
}

static void add_conflict(const Conflict *conflict, Diags *problems) {
        const Culprit *culprit = conflict->culprit;
        const char *text =
                culprit->is_effective
                        ? arena_printf(conflict->arena, "%s; %s, and %s", does_text(conflict),
                                       sources[culprit->source].acts,
                                       kind_texts[culprit->what].harm)
                        : arena_printf(conflict->arena,
                                       "%s, though another line overrules it as things are",
                                       does_text(conflict));

        diags_add(problems,
                  &(Diag){.severity = culprit->is_effective ? SEVERITY_WARNING : SEVERITY_NOTICE,
                          .id = problem_id(sources[culprit->source].problem),
                          .file = culprit->file,
                          .line = culprit->line,
                          .key = culprit->key,
                          .text = text,
                          .remedy = remedy_of(conflict)});
}

void conflicts_add(Arena *arena, const ConflictInput *input, Diags *problems) {
        for (size_t i = 0; input->config->n_instances > 0 && i < culprits_count(input->culprits);
             i++) {
                const Conflict conflict = {arena, input, culprits_get(input->culprits, i)};

                if (is_conflict(&conflict))
                        add_conflict(&conflict, problems);
        }
}
