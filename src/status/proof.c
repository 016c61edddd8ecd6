/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/proof.h"

#include "base/text.h"
#include "engines/reader.h"

/* A server without huge pages by then never maps any: PostgreSQL, MariaDB and Java map them before they listen. */
static const uint64_t settled_usec = 60 * USEC_PER_SEC;

static const uint64_t day_usec = 24 * 60 * 60 * USEC_PER_SEC;

/* Engines' rules are upper bounds, which may be too high by this many pages. */
enum { RULE_PAGES = 9 };

/* If the chunk size is not known, small memory is taken for a fallback only if at least this much is missing. */
static const uint64_t private_bytes_min = 64 * MIB;

/* ---- figures ---- */

static Proof take_figures(const ProofInput *input) {
        const StatusHold *hold = input->instance->until_restart;
        const ServerLook *look = input->look;
        Proof proof = {
                .instance = input->instance,
                .look = look,
                .page_size_bytes = hold ? hold->page_size_bytes : input->instance->page_size_bytes,
                .wanted_pages = hold ? hold->pages : input->instance->pages_wanted,
                /* No more can be mapped than was seen. If the mappings are not known, the hugetlb controller's count is
                 * complete if it has counted since the unit's start. */
                .is_mapped_known = look->has_map ? look->is_all_mapped
                                                 : look->is_counted && input->instance->is_counted,
                .small_bytes = look->has_map ? memory_map_small_bytes(&look->map) : 0,
        };

        proof.own = VEC_FIND(user, &look->pages, user->page_size_bytes == proof.page_size_bytes);
        if (proof.own) {
                proof.mapped_pages = page_user_kept_pages(proof.own);
                proof.touched_pages = proof.own->pages;
                proof.is_lower_bound = proof.own->is_lower_bound;
        }
        return proof;
}

/* Returns the bytes in huge pages; only those in the server's own mappings if the total is not known. */
static uint64_t huge_bytes(const Proof *proof) {
        return proof->is_mapped_known ? mul_saturated(proof->mapped_pages, proof->page_size_bytes)
                                      : proof->look->map.huge_bytes;
}

/* ---- small pages in the place of huge ones ---- */

static const Engine *engine_of(const StatusInstance *instance) {
        return instance->engine ? engine_find(instance->engine) : NULL;
}

/* If all main memory of the engine is shared, private memory does not replace huge pages. */
static uint64_t private_bytes(const Engine *engine, const MemoryMap *map) {
        return engine && engine->maps_all_at_start ? 0 : map->private_bytes;
}

bool proof_wants_settings(const Engine *engine, const ServerLook *look) {
        return look->is_running && look->has_map &&
               (look->map.shared_bytes > 0 || private_bytes(engine, &look->map) > 0);
}

/* Returns what the settings in the database's files need; NULL: not known, or the server has to restart for them. */
static const Sizing *find_need(const ProofInput *input, const Proof *proof) {
        return input->sizing && !proof->instance->until_restart &&
                               input->sizing->page_size_bytes == proof->page_size_bytes
                       ? input->sizing
                       : NULL;
}

static uint64_t missing_bytes(const Proof *proof, uint64_t pages) {
        return sub_floored(mul_saturated(pages, proof->page_size_bytes), huge_bytes(proof));
}

static bool find_stand_in(const ProofInput *input, const Proof *proof) {
        const MemoryMap *map = &proof->look->map;
        const Engine *engine = engine_of(input->instance);
        const Sizing *need = find_need(input, proof);
        uint64_t small = private_bytes(engine, map);
        uint64_t missing = missing_bytes(proof, MAX(proof->wanted_pages, need ? need->pages : 0));

        /* The engine has one segment, which is wholly in huge pages or in small pages. */
        if (map->shared_bytes > 0 && huge_bytes(proof) == 0 && engine && engine->maps_all_at_start)
                return true;
        if (map->shared_bytes > 0 && map->shared_bytes >= missing / 2 &&
            missing > mul_saturated(RULE_PAGES, proof->page_size_bytes))
                return true;
        /* A small mapping may be smaller than the heap: Java takes some pages from its class archive. */
        if (need && need->mapping_bytes > 0)
                return small > 0 && missing_bytes(proof, need->pages) >= need->mapping_bytes &&
                       map->private_largest_bytes >= need->mapping_bytes - need->mapping_bytes / 16;
        /* Chunks in small pages are not rounded up to whole huge pages. */
        return missing >= private_bytes_min && small >= missing - missing / 16;
}

/* Returns whether small memory may be in the place of huge pages; if so, the server may take more at its next start. */
static bool may_stand_in(const ProofInput *input, const Proof *proof) {
        const MemoryMap *map = &proof->look->map;
        const Sizing *need = find_need(input, proof);
        uint64_t small = private_bytes(engine_of(input->instance), map);

        return !proof->look->has_map || map->shared_bytes > 0 ||
               (small > 0 &&
                (!need || missing_bytes(proof, sub_floored(need->pages, RULE_PAGES)) > 0));
}

/* ---- the outcome ---- */

static const EngineFallback *find_fallback(const ProofInput *input) {
        const EngineReader *reader = engine_reader(engine_of(input->instance));

        ARRAY_FOREACH(each, reader->fallbacks, reader->n_fallbacks) {
                const Setting *setting = each->values && input->settings
                                                 ? settings_find(input->settings, each->setting)
                                                 : NULL;

                if (!each->values || (setting && text_has_word(each->values, setting->value)))
                        return each;
        }
        return NULL;
}

/* Returns why the database takes no huge pages by its files as they are, or NULL. Other mistakes are no reason. */
static const char *find_refusal(const ProofInput *input, const Proof *proof) {
        const EngineFallback *fallback = find_fallback(input);

        if (huge_bytes(proof) > 0) /* it was started with other settings */
                return NULL;
        if (fallback && fallback->is_refusal)
                return fallback->how;
        return fallback && fallback->setting && input->wrong &&
                               strstr(input->wrong, fallback->setting)
                       ? input->wrong
                       : NULL;
}

static Outcome judge_outcome(const ProofInput *input, const Proof *proof) {
        const ServerLook *look = proof->look;
        uint64_t any = VEC_SUM(user, &look->pages, page_user_kept_bytes(user));

        if (!look->is_running)
                return OUTCOME_NOT_STARTED;
        if (!proof->is_mapped_known && (!look->has_map || look->map.doubtful_bytes > 0))
                return any > 0 ? OUTCOME_IN_USE : OUTCOME_UNKNOWN;
        if (find_stand_in(input, proof))
                return OUTCOME_FELL_BACK;
        if (any == 0 && huge_bytes(proof) == 0)
                return look->age_usec >= settled_usec || find_refusal(input, proof)
                               ? OUTCOME_FELL_BACK
                               : OUTCOME_STARTING;
        return look->age_usec >= day_usec && !proof->is_lower_bound &&
                               proof->touched_pages < proof->mapped_pages / 2
                       ? OUTCOME_IDLE
                       : OUTCOME_IN_USE;
}

/* ---- why, and what to do ---- */

static void explain_short(Arena *arena, const ProofInput *input, uint64_t taken, uint64_t needed,
                          Proof *proof) {
        const StatusInstance *instance = proof->instance;
        const Engine *engine = engine_of(instance);
        bool is_auto = input->config && input->config->memory_kind == MEMORY_AUTO;

        proof->cause = FALL_SHORT;
        proof->why = arena_printf(
                arena, "%s %s, more than the %s planned for it",
                taken > 0 ? "it takes" : "by its settings it takes up to",
                format_page_count(arena, taken > 0 ? taken : needed, proof->page_size_bytes),
                format_count(arena, proof->wanted_pages));
        if (is_auto)
                proof->remedy = arena_printf(arena,
                                             "hugeplanctl learn %s, then: systemctl restart %s",
                                             instance->name, instance->unit);
        else
                proof->remedy = arena_printf(
                        arena,
                        "write %sPages=%s:%" PRIu64
                        " into %s, then: hugeplanctl reload, and: systemctl restart %s",
                        engine && engine->has_auto ? "Memory=auto or " : "",
                        format_page_size(arena, proof->page_size_bytes), MAX(taken, needed),
                        instance->file, instance->unit);
}

/* Explains a fall back for which enough pages were planned. */
static void explain_lost(Arena *arena, Proof *proof) {
        const StatusInstance *instance = proof->instance;
        bool is_there = verdict_lets_start(instance->verdict) &&
                        instance->pages_granted >= instance->pages_wanted;

        proof->cause = FALL_LOST;
        proof->why = instance->was_let_start
                             ? arena_printf(arena, "it was allowed to start with %s, and got %s%s",
                                            format_page_count(arena, proof->wanted_pages,
                                                              proof->page_size_bytes),
                                            proof->is_mapped_known ? "" : "at least ",
                                            format_count(arena, proof->mapped_pages))
                             : "it has run since before its pages were reserved";
        proof->remedy =
                is_there
                        ? arena_printf(arena, "systemctl restart %s", instance->unit)
                        : arena_printf(
                                  arena,
                                  "its pages are not available now: hugeplanctl status %s says why; "
                                  "once they are: systemctl restart %s",
                                  instance->name, instance->unit);
}

static void explain(Arena *arena, const ProofInput *input, Proof *proof) {
        const StatusInstance *instance = proof->instance;
        const MemoryMap *map = &proof->look->map;
        const char *refusal = find_refusal(input, proof);
        const EngineFallback *fallback = find_fallback(input);
        const Sizing *need = find_need(input, proof);
        const char *how = fallback ? fallback->how
                          : map->sysv_bytes > 0
                                  ? "its System V segments were made without SHM_HUGETLB"
                                  : "it has not requested them, or could not get them";

        if (instance->verdict == VERDICT_ASIDE ||
            (instance->reason.text && proof->page_size_bytes == 0)) {
                proof->cause = FALL_LOST;
                proof->why = instance->reason.text;
                proof->remedy = instance->reason.remedy;
                return;
        }
        if (refusal) {
                proof->cause = FALL_OFF;
                proof->why = text_printable(arena, refusal);
                proof->remedy = arena_printf(
                        arena,
                        "enable them in its settings, then: systemctl restart %s; or, if it is to run without them, remove %s, then: hugeplanctl reload",
                        instance->unit, instance->file);
                return;
        }
        /* The pages that it takes with its shared memory, all of which is seen, if more than planned. */
        uint64_t taken = div_round_up(add_saturated(huge_bytes(proof), map->shared_bytes),
                                      MAX(proof->page_size_bytes, UINT64_C(1)));

        if (map->shared_bytes == 0 || taken <= proof->wanted_pages)
                taken = 0;
        /* The pages that its settings need, if the need and the memory seen both exceed the plan. */
        uint64_t seen_bytes = add_saturated(huge_bytes(proof), proof->small_bytes);
        uint64_t given_bytes = mul_saturated(add_saturated(proof->wanted_pages, RULE_PAGES),
                                             proof->page_size_bytes);
        uint64_t needed = need && MIN(seen_bytes, need->bytes) > given_bytes ? need->pages : 0;

        if (taken > 0 || (needed > 0 && map->shared_bytes == 0))
                explain_short(arena, input, taken, needed, proof);
        else
                explain_lost(arena, proof);
        proof->why = arena_printf(arena, "%s; %s", proof->why, how);
        const char *advice = fallback              ? fallback->advice
                             : map->sysv_bytes > 0 ? "its owner needs the group 'hugetlb'"
                                                   : "see its log";
        if (advice)
                proof->remedy = arena_printf(arena, "%s; %s", proof->remedy, advice);
}

/* ---- page tables ---- */

/* Page tables of a process's other memory, such as its heap and libraries, are contained in the present ones. */
static void reckon_tables(const ProofInput *input, Proof *proof) {
        const ServerLook *look = proof->look;
        uint64_t base = input->base_page_bytes, page_size = proof->page_size_bytes;
        uint64_t wanted = mul_saturated(proof->wanted_pages, page_size);
        uint64_t huge = MAX(huge_bytes(proof), mul_saturated(proof->mapped_pages, page_size));
        uint64_t each =
                page_tables_bytes(MAX(wanted, add_saturated(huge, proof->small_bytes)), base);
        uint64_t beside_now = mul_saturated(page_tables_bytes(huge, base), look->n_processes);

        proof->n_sessions_max = input->n_sessions_max;
        proof->worst_tables_bytes = mul_saturated(each, proof->n_sessions_max);
        if (base > 0)
                proof->small_tables_bytes = MAX(mul_saturated(each, look->n_processes),
                                                add_saturated(look->page_table_bytes, beside_now));
}

/* ---- deviations from the plan ---- */

static void deviate(Arena *arena, Proof *proof, char *text, char *remedy) {
        *vec_push(arena, &proof->deviations) = (Deviation){text, remedy};
}

static void add_deviations(Arena *arena, Proof *proof) {
        const StatusInstance *instance = proof->instance;
        const StatusHold *hold = instance->until_restart;
        const PagesByNode *planned = hold ? &hold->nodes : &instance->nodes;

        if (proof->page_size_bytes == 0) /* the planned page size is not known */
                return;
        VEC_FOREACH(user, &proof->look->pages) {
                uint64_t pages = page_user_kept_pages(user), bytes = user->page_size_bytes;

                if (bytes != proof->page_size_bytes) {
                        if (bytes > 0 && pages > 0)
                                deviate(arena, proof,
                                        arena_printf(
                                                arena,
                                                "it has taken %s, a size that was not planned for it",
                                                format_page_count_and_size(arena, pages, bytes)),
                                        arena_printf(arena, "see PageSize= in %s", instance->file));
                        continue;
                }
                if (pages > proof->wanted_pages)
                        deviate(arena, proof,
                                arena_printf(arena, "it has taken %s more than planned",
                                             format_page_count(arena, pages - proof->wanted_pages,
                                                               bytes)),
                                arena_printf(arena, "raise its size in %s", instance->file));
                VEC_FOREACH(node, &user->nodes)
                        if (planned->n > 0 && node->pages > 0 &&
                            !pages_find_on(planned, node->node))
                                deviate(arena, proof,
                                        arena_printf(
                                                arena,
                                                "it has %s on node %u, where none were planned",
                                                format_page_count(arena, node->pages, bytes),
                                                node->node),
                                        arena_printf(
                                                arena,
                                                "the kernel moves pages away from memory that goes offline; a "
                                                "restart takes them from the planned nodes again: systemctl "
                                                "restart %s",
                                                instance->unit));
        }
}

PagesByNode proof_places(Arena *arena, const Proof *proof) {
        const StatusInstance *instance = proof->instance;
        const PageUser *own = proof->own;
        PagesByNode places = {};
        IdSet nodes = {};

        if (!own || own->is_lower_bound || own->nodes.n == 0)
                return instance->nodes;
        VEC_FOREACH(each, &own->nodes)
                id_set_add(&nodes, each->node);
        VEC_FOREACH(each, &instance->nodes)
                id_set_add(&nodes, each->node);
        uint64_t left = sub_floored(instance->pages_granted, own->pages);

        ID_SET_FOREACH(node, &nodes) {
                uint64_t used = pages_on(&own->nodes, node);
                uint64_t granted = pages_on(&instance->nodes, node);
                uint64_t untouched = MIN(sub_floored(granted, used), left);

                left -= untouched;
                if (used + untouched > 0)
                        *vec_push(arena, &places) = (NodePages){node, used + untouched};
        }
        return places;
}

/* ---- all ---- */

Proof proof_judge(Arena *arena, const ProofInput *input) {
        Proof proof = take_figures(input);

        proof.outcome = judge_outcome(input, &proof);
        proof.may_stand_in = may_stand_in(input, &proof);
        if (proof.outcome == OUTCOME_FELL_BACK)
                explain(arena, input, &proof);
        if (proof.outcome == OUTCOME_UNKNOWN) {
                proof.why = input->look->missing.n > 0 ? input->look->missing.items[0]
                                                       : "its mappings cannot be seen";
                proof.remedy = "run hugeplanctl again, as root";
        }
        if (!input->is_unit_shared)
                add_deviations(arena, &proof);
        reckon_tables(input, &proof);
        proof.is_as_planned = proof.deviations.n == 0 && proof.outcome != OUTCOME_FELL_BACK &&
                              proof.outcome != OUTCOME_UNKNOWN;
        return proof;
}
