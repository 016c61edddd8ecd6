/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/proof.h"

#include "base/text.h"
#include "engines/reader.h"

/* Who maps none after this long does not any more; PostgreSQL, MariaDB and Java do before they listen. */
static const uint64_t settled_usec = 60 * USEC_PER_SEC;

static const uint64_t day_usec = 24 * 60 * 60 * USEC_PER_SEC;

/* What is of huge pages; by the server's mappings alone where nothing else counts them. */
static uint64_t huge_bytes(const Proof *proof) {
        return proof->is_mapped_known ? mul_saturated(proof->mapped_pages, proof->page_size_bytes)
                                      : proof->look->map.huge_bytes;
}

/* ---- why ---- */

static const EngineReader *reader_of(const ProofInput *input) {
        const Engine *engine = input->instance->engine ? engine_find(input->instance->engine)
                                                       : NULL;

        return engine_reader(engine);
}

static bool has_value(const Settings *settings, const EngineFallback *cause) {
        const Setting *setting = settings ? settings_find(settings, cause->setting) : NULL;

        return setting && text_has_word(cause->values, setting->value);
}

static const EngineFallback *find_cause(const ProofInput *input) {
        const EngineReader *reader = reader_of(input);

        return ARRAY_FIND(each, reader->fallbacks, reader->n_fallbacks,
                          !each->values || has_value(input->settings, each));
}

/* Why the database takes no huge pages, as its files are now. What is wrong with something else is no reason. */
static const char *find_refusal(const ProofInput *input, const Proof *proof) {
        const EngineFallback *cause = find_cause(input);

        if (huge_bytes(proof) > 0) /* it was started otherwise */
                return NULL;
        if (cause && cause->setting && input->wrong && strstr(input->wrong, cause->setting))
                return input->wrong;
        return cause && cause->is_refusal ? cause->why : NULL;
}

static void explain(Arena *arena, const ProofInput *input, Proof *proof) {
        const char *refusal = find_refusal(input, proof);
        const EngineFallback *cause = find_cause(input);
        bool is_sysv = proof->look->map.sysv_bytes > 0;

        if (refusal) {
                proof->why = text_printable(arena, refusal);
                proof->remedy = "fix that, and restart it";
        } else if (cause) {
                proof->why = cause->why;
                proof->remedy = cause->remedy;
        } else {
                proof->why = is_sysv ? "its System V segments were made without SHM_HUGETLB"
                                     : "it has not asked for them, or could not have them";
                proof->remedy =
                        is_sysv ? "have it ask for huge pages; its owner needs the group 'hugetlb'"
                                : "look into its log for why; restart it when that is fixed";
        }
}

/* ---- figures ---- */

/* Whether more cannot be mapped than was seen. Without the mappings themselves the controller's word counts
 * where it has counted since the start. */
static bool is_all_seen(const Proof *proof) {
        const ServerLook *look = proof->look;

        return look->has_map ? look->is_all_mapped
                             : look->is_counted && proof->instance->is_counted;
}

static void take_figures(Proof *proof) {
        const StatusHold *hold = proof->instance->until_restart;
        uint64_t bytes = hold ? hold->page_size_bytes : proof->instance->page_size_bytes;
        const PageUser *own = VEC_FIND(user, &proof->look->pages, user->page_size_bytes == bytes);

        proof->page_size_bytes = bytes;
        proof->is_mapped_known = is_all_seen(proof);
        proof->wanted_pages = hold ? hold->pages : proof->instance->pages_wanted;
        proof->own = own;
        if (own) {
                proof->mapped_pages = page_user_kept_pages(own);
                proof->touched_pages = own->pages;
                proof->is_lower_bound = own->is_lower_bound;
        }
        if (proof->look->has_map)
                proof->small_bytes = memory_map_small_bytes(&proof->look->map);
}

/* Engines' upper bounds are some percent too high, of small databases more. Shared memory in small pages is
 * what should have been in huge ones; private memory may be another thing, so that more has to be missing. */
static bool is_partly_small(const Proof *proof) {
        uint64_t wanted_bytes = mul_saturated(proof->wanted_pages, proof->page_size_bytes);
        uint64_t missing = sub_floored(wanted_bytes, huge_bytes(proof));
        uint64_t rounding = mul_saturated(proof->page_size_bytes, 8);

        return (missing > add_saturated(wanted_bytes / 16, rounding) &&
                proof->look->map.shared_bytes >= missing / 2) ||
               (missing > add_saturated(wanted_bytes / 4, rounding) &&
                proof->small_bytes >= missing / 2);
}

static bool is_idle(const Proof *proof) {
        return proof->look->age_usec >= day_usec && !proof->is_lower_bound &&
               proof->touched_pages < proof->mapped_pages / 2;
}

static Outcome judge_outcome(const ProofInput *input, const Proof *proof) {
        const ServerLook *look = proof->look;
        uint64_t any = VEC_SUM(user, &look->pages, page_user_kept_bytes(user));

        if (!look->is_running)
                return OUTCOME_NOT_STARTED;
        if (!proof->is_mapped_known && (!look->has_map || look->map.doubtful_bytes > 0))
                return any > 0 ? OUTCOME_IN_USE : OUTCOME_UNKNOWN;
        if (is_partly_small(proof))
                return OUTCOME_FELL_BACK;
        if (any == 0 && huge_bytes(proof) == 0)
                return look->age_usec >= settled_usec || find_refusal(input, proof)
                               ? OUTCOME_FELL_BACK
                               : OUTCOME_STARTING;
        return is_idle(proof) ? OUTCOME_IDLE : OUTCOME_IN_USE;
}

/* ---- page tables ---- */

/* What a process has besides its database's memory, heap and libraries, is in the tables of now. */
static void reckon_tables(const ProofInput *input, Proof *proof) {
        const ServerLook *look = proof->look;
        uint64_t base = input->base_page_bytes, page_size = proof->page_size_bytes;
        uint64_t wanted = mul_saturated(proof->wanted_pages, page_size);
        uint64_t huge = MAX(huge_bytes(proof), mul_saturated(proof->mapped_pages, page_size));
        uint64_t each =
                page_tables_bytes(MAX(wanted, add_saturated(huge, proof->small_bytes)), base);
        uint64_t beside_now = mul_saturated(page_tables_bytes(huge, base), look->n_processes);

        proof->seen_tables = input->small_tables;
        proof->n_sessions_max = input->n_sessions_max;
        proof->worst_tables_bytes = mul_saturated(each, proof->n_sessions_max);
        if (base > 0)
                proof->small_tables_bytes = MAX(mul_saturated(each, look->n_processes),
                                                add_saturated(look->page_table_bytes, beside_now));
}

/* ---- beside the plan ---- */

static void add_deviations(Arena *arena, Proof *proof) {
        const StatusHold *hold = proof->instance->until_restart;
        const NodePages *planned = hold ? hold->nodes : proof->instance->nodes;
        size_t n = hold ? hold->n_nodes : proof->instance->n_nodes;

        if (proof->page_size_bytes == 0) /* what it wants is not known */
                return;
        VEC_FOREACH(user, &proof->look->pages) {
                uint64_t pages = page_user_kept_pages(user);

                if (user->page_size_bytes != proof->page_size_bytes) {
                        if (user->page_size_bytes > 0 && pages > 0)
                                *vec_push(arena, &proof->deviations) = arena_printf(
                                        arena, "it has taken %s, a size that it was not given",
                                        format_page_count_and_size(arena, pages,
                                                                   user->page_size_bytes));
                        continue;
                }
                if (pages > proof->wanted_pages)
                        *vec_push(arena, &proof->deviations) =
                                arena_printf(arena, "it has taken %s more than it was given",
                                             format_page_count(arena, pages - proof->wanted_pages,
                                                               user->page_size_bytes));
                ARRAY_FOREACH(node, user->nodes, user->n_nodes)
                        if (n > 0 && node->pages > 0 &&
                            !ARRAY_ANY(grant, planned, n, grant->node == node->node))
                                *vec_push(arena, &proof->deviations) = arena_printf(
                                        arena, "%s are on node %u, where it was given none",
                                        format_page_count(arena, node->pages,
                                                          user->page_size_bytes),
                                        node->node);
        }
}

/* ---- all ---- */

Proof proof_judge(Arena *arena, const ProofInput *input) {
        Proof proof = {.instance = input->instance, .look = input->look};

        take_figures(&proof);
        proof.outcome = judge_outcome(input, &proof);
        if (proof.outcome == OUTCOME_FELL_BACK)
                explain(arena, input, &proof);
        if (proof.outcome == OUTCOME_UNKNOWN) {
                proof.why = input->look->missing.n > 0 ? input->look->missing.items[0]
                                                       : "its mappings cannot be seen";
                proof.remedy = "run it as root";
        }
        add_deviations(arena, &proof);
        reckon_tables(input, &proof);
        proof.is_as_planned = proof.deviations.n == 0 && proof.outcome != OUTCOME_FELL_BACK &&
                              proof.outcome != OUTCOME_UNKNOWN;
        return proof;
}

/* ---- in words ---- */

/* "fell back: 128 of 643 huge pages are mapped, and 1.1G of its memory is in small pages". */
static char *describe_fall(Arena *arena, const Proof *proof) {
        Text text = text_in(arena);

        text_printf(&text, "%s: %s%s huge pages are mapped", proof_word(arena, proof),
                    format_count(arena, proof->mapped_pages),
                    proof->wanted_pages > 0 ? arena_printf(arena, " of %s",
                                                           format_count(arena, proof->wanted_pages))
                                            : "");
        if (proof->small_bytes > 0)
                text_printf(&text, ", and %s of its memory is in small pages",
                            format_size(arena, proof->small_bytes));
        return text.string;
}

void proof_add_problems(const Proof *proof, Diags *problems) {
        const char *name = proof->instance->name;
        bool is_unknown = proof->outcome == OUTCOME_UNKNOWN;

        if (proof->why)
                diags_tell(problems,
                           (Diag){.severity = is_unknown ? SEVERITY_WARNING : SEVERITY_ERROR,
                                  .remedy = proof->remedy},
                           "%s %s: %s", name,
                           is_unknown ? "cannot be judged" : describe_fall(problems->arena, proof),
                           proof->why);
        VEC_FOREACH(deviation, &proof->deviations)
                diags_tell(problems, (Diag){.severity = SEVERITY_WARNING}, "%s: %s", name,
                           *deviation);
}

static const char *const names[] = {
        [OUTCOME_UNKNOWN] = "unknown",   [OUTCOME_NOT_STARTED] = "not-started",
        [OUTCOME_STARTING] = "starting", [OUTCOME_IN_USE] = "in-use",
        [OUTCOME_IDLE] = "idle",         [OUTCOME_FELL_BACK] = "fell-back",
};

const char *outcome_name(Outcome outcome) {
        return names[outcome];
}

char *proof_word(Arena *arena, const Proof *proof) {
        static const char *const words[] = {
                [OUTCOME_UNKNOWN] = "not known", [OUTCOME_NOT_STARTED] = "not started",
                [OUTCOME_STARTING] = "starting", [OUTCOME_IN_USE] = "in use",
                [OUTCOME_IDLE] = "idle",         [OUTCOME_FELL_BACK] = "fell back",
        };

        return proof->outcome == OUTCOME_IDLE
                       ? arena_printf(arena, "idle %s",
                                      proof_format_age(arena, proof->look->age_usec))
                       : arena_strdup(arena, words[proof->outcome]);
}

char *proof_format_age(Arena *arena, uint64_t age_usec) {
        uint64_t minutes = age_usec / (60 * USEC_PER_SEC);

        if (age_usec >= day_usec)
                return arena_printf(arena, "%" PRIu64 " d", age_usec / day_usec);
        if (minutes >= 60)
                return arena_printf(arena, "%" PRIu64 " h", minutes / 60);
        return minutes > 0 ? arena_printf(arena, "%" PRIu64 " min", minutes)
                           : arena_printf(arena, "%" PRIu64 " s", age_usec / USEC_PER_SEC);
}
