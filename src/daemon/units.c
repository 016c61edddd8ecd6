/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Verifies that the gates are in effect: their files may be there, and what systemd has loaded still
 * differ (units/loaded_unit.h).
 *
 * That changes when it reads its units again, and then it has the generators make their directory anew.
 * So it is asked at start, after a reload of ours, and when somebody wants the status and that
 * directory is another one; never by the clock. At start it has its hands full, and nobody waits for
 * the answer. Later somebody does, who wants to know what is so now: systemd never waits for us, so
 * that cannot end in a deadlock; but while it reads units it does not answer, hence the limit. */
#include "base/text.h"
#include "daemon/manager.h"
#include "host/host_sources.h"
#include "host/unit_facts.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "systemd/dropin_check.h"

static const uint64_t start_limit_usec = 60 * USEC_PER_SEC;
static const uint64_t wait_limit_usec = USEC_PER_SEC;
/* After it did not answer, clients are not made to wait for it again at once. */
static const uint64_t pause_usec = 10 * USEC_PER_SEC;

/* ---- answers ---- */

/* A unit may appear, and a change be taken back, without systemd reading all units again. */
static bool may_change(const LoadedUnits *units) {
        VEC_FOREACH(unit, units)
                if (unit->is_outdated || text_equals(unit->load_state, "not-found"))
                        return true;
        return false;
}

static void cancel(Units *units) {
        units->query = unit_query_free(units->query);
        units->query_arena = arena_free(units->query_arena);
}

/* LOADED and KEY are in ARENA, which is taken. */
static void accept(Manager *manager, Arena *arena, const char *key, LoadedUnits loaded) {
        Units *units = &manager->units;

        dropin_explain(manager->root, arena, keeper_config(manager->keeper), &loaded);
        arena_free(units->arena);
        units->arena = arena;
        units->loaded = loaded;
        units->key = may_change(&loaded) ? NULL : key;
        units->failed_usec = 0;
}

/* What was known before may be so no longer. */
static void give_up(Manager *manager, int error) {
        Units *units = &manager->units;

        if (units->failed_usec == 0)
                log_line(LOG_INFO,
                         "systemd cannot be asked what it has loaded (%s): it is not verified that "
                         "the gates are in effect",
                         strerror(-error));
        units->failed_usec = clock_now_usec();
        units->loaded = (LoadedUnits){};
        units->key = NULL;
}

/* ---- without waiting ---- */

static void on_answered(void *userdata, int error, const LoadedUnits *loaded) {
        Manager *manager = userdata;
        Units *units = &manager->units;

        if (error < 0)
                give_up(manager, error);
        else
                accept(manager, TAKE_PTR(units->query_arena), units->query_key, *loaded);
        cancel(units);
        manager_tell_news(manager);
}

void units_begin(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Units *units = &manager->units;
        const SourceNames names = dropin_units(arena, keeper_config(manager->keeper));

        if (!unit_manager_exists(manager->root) || names.n == 0)
                return;
        cancel(units);
        units->query_key = dropin_key(manager->root, arena, &names);
        int r = unit_query_new(manager->root, arena, &names, UNIT_QUERY_LOADED, &units->query);

        if (r >= 0)
                r = unit_query_attach(units->query, manager->event, start_limit_usec, on_answered,
                                      manager);
        units->query_arena = TAKE_PTR(arena);
        if (r >= 0)
                return;
        give_up(manager, r);
        cancel(units);
}

/* ---- waiting ---- */

static bool is_paused(const Units *units) {
        return units->failed_usec > 0 && clock_now_usec() - units->failed_usec < pause_usec;
}

/* The key is read before systemd is asked: should it read its units in between, the next key is
 * another one. */
void units_refresh(Manager *manager) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(unit_query_freep) UnitQuery *query = NULL;
        Units *units = &manager->units;
        LoadedUnits loaded = {};

        if (!unit_manager_exists(manager->root) || (is_paused(units) && !units->is_expired))
                return;
        const SourceNames names = dropin_units(arena, keeper_config(manager->keeper));
        const char *key = dropin_key(manager->root, arena, &names);

        if (text_equals(key, units->key) && !units->is_expired)
                return;
        cancel(units);
        units->is_expired = false;
        int r = names.n > 0
                        ? unit_query_new(manager->root, arena, &names, UNIT_QUERY_LOADED, &query)
                        : 0;

        if (r >= 0 && query)
                r = unit_query_wait(query, wait_limit_usec, &loaded);
        if (r < 0)
                give_up(manager, r);
        else
                accept(manager, TAKE_PTR(arena), key, loaded);
}

void units_refresh_expired(Manager *manager) {
        if (manager->units.is_expired)
                units_refresh(manager);
}

void units_expire(Manager *manager) {
        manager->units.is_expired = true;
}

/* ---- what is wrong ---- */

/* Those of which the files say the same still; of others it is told that they have yet to be read. */
static Config *find_unchanged(Arena *arena, const Config *config, const Config *files) {
        Config *unchanged = arena_memdup(arena, config, sizeof(*config));

        unchanged->instances = ARENA_ARRAY(arena, InstanceConfig, config->n_instances + 1);
        unchanged->n_instances = 0;
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];
                const InstanceConfig *file = config_find(files, instance->name);

                if (file && text_equals(file->fingerprint, instance->fingerprint))
                        unchanged->instances[unchanged->n_instances++] = *instance;
        }
        return unchanged;
}

void units_judge(const Manager *manager, Arena *arena, const Config *files, Diags *problems) {
        if (manager->units.loaded.n == 0)
                return;
        const Config *config = find_unchanged(arena, keeper_config(manager->keeper), files);
        const Accounts accounts = accounts_for_limits(manager->root, arena, config);
        HostSources sources = host_sources(manager->root);
        const LoadedUnitInput input = {
                .config = config,
                .plan = keeper_plan(manager->keeper),
                .topology = keeper_look(manager->keeper)->topology,
                .accounts = &accounts,
                .sources = &sources.sources,
        };

        loaded_units_judge(&input, &manager->units.loaded, problems);
}

void units_free(Manager *manager) {
        cancel(&manager->units);
        manager->units.arena = arena_free(manager->units.arena);
}
