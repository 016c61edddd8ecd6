/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Verifies that the gates are in effect: systemd may have loaded older files than those on disk (units/loaded_unit.h).
 *
 * systemd's units change only when it reads them again, and then its generators write their directory anew. So systemd
 * is queried at startup, without waiting, after a reload, and when a client wants the status and that directory has
 * changed. systemd never waits for hugepland, but does not answer while it reads units: hence the time limit. */
#include "daemon/units.h"
#include "base/text.h"
#include "config/config.h"
#include "host/unit_facts.h"
#include "model/names.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "systemd/dropin_check.h"

#include <string.h>

static const uint64_t start_limit_usec = 60 * USEC_PER_SEC;
static const uint64_t wait_limit_usec = USEC_PER_SEC;
/* After a query without an answer, clients do not wait for another one for so long. */
static const uint64_t pause_usec = 10 * USEC_PER_SEC;

/* ---- answers ---- */

static void cancel(Units *units) {
        units->query.pending = unit_query_free(units->query.pending);
        units->query.arena = arena_free(units->query.arena);
}

/* Takes ownership of ARENA, which has LOADED and KEY. */
static void accept(Units *units, Arena *arena, const char *key, LoadedUnits loaded) {
        dropin_explain(units->root, arena, keeper_config(units->keeper), &loaded);
        arena_free(units->answer.arena);
        units->answer.arena = arena;
        units->answer.loaded = loaded;
        units->answer.generated = arena_printf(arena, "%.*s", (int) strcspn(key, " "), key);
        /* A missing unit may appear, and an outdated one be corrected, without systemd reading all units again. */
        units->answer.key =
                VEC_FIND(unit, &loaded,
                         unit->is_outdated || text_equals(unit->load_state, "not-found"))
                        ? NULL
                        : key;
        units->answer.failed_usec = 0;
}

/* The earlier answer may be outdated. */
static void give_up(Units *units, int error) {
        if (units->answer.failed_usec == 0)
                log_line(LOG_INFO,
                         "systemd cannot be asked what it has loaded (%s): it is not verified that "
                         "the gates are in effect",
                         strerror(-error));
        units->answer.failed_usec = clock_now_usec();
        units->answer.loaded = (LoadedUnits){};
        units->answer.key = NULL;
}

/* ---- without waiting ---- */

static void on_answered(void *userdata, int error, const LoadedUnits *loaded) {
        Units *units = userdata;

        accept(units, TAKE_PTR(units->query.arena), units->query.key,
               error < 0 ? (LoadedUnits){} : *loaded);
        if (error < 0)
                give_up(units, error);
        cancel(units);
        units->listener(units->userdata);
}

void units_begin(Units *units) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const SourceNames names = dropin_units(arena, keeper_config(units->keeper));

        if (!unit_manager_exists(units->root) || names.n == 0)
                return;
        cancel(units);
        units->query.key = dropin_key(units->root, arena, &names);
        int r = unit_query_new(units->root, arena, &names, UNIT_QUERY_LOADED,
                               &units->query.pending);

        if (r >= 0)
                r = unit_query_attach(units->query.pending, units->loop, start_limit_usec,
                                      on_answered, units);
        units->query.arena = TAKE_PTR(arena);
        if (r >= 0)
                return;
        give_up(units, r);
        cancel(units);
}

bool units_are_generated(Units *units) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (!unit_manager_exists(units->root) ||
            text_equals(root_identity(units->root, arena, PATH_GENERATOR_DIR),
                        units->answer.generated))
                return true;
        if (!units->query.pending)
                units_begin(units);
        return !units->query.pending;
}

/* ---- waiting ---- */

/* The key is read before the query: if systemd reads its units in between, the next key differs. */
void units_refresh(Units *units) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        CLEANUP(unit_query_freep) UnitQuery *query = NULL;
        LoadedUnits loaded = {};
        bool is_paused = units->answer.failed_usec > 0 &&
                         clock_now_usec() - units->answer.failed_usec < pause_usec;

        if (!unit_manager_exists(units->root) || (is_paused && !units->answer.is_expired))
                return;
        const SourceNames names = dropin_units(arena, keeper_config(units->keeper));
        const char *key = dropin_key(units->root, arena, &names);

        if (text_equals(key, units->answer.key) && !units->answer.is_expired)
                return;
        cancel(units);
        units->answer.is_expired = false;
        int r = names.n > 0 ? unit_query_new(units->root, arena, &names, UNIT_QUERY_LOADED, &query)
                            : 0;

        if (r >= 0 && query)
                r = unit_query_wait(query, wait_limit_usec, &loaded);
        if (r < 0)
                give_up(units, r);
        else
                accept(units, TAKE_PTR(arena), key, loaded);
}

/* ---- what comes and goes ---- */

/* Whether the generator's file is not as NOW; unknown for units that the administrator has configured. */
static bool is_outdated(const Units *units, Arena *arena, const Dropin *now) {
        const char *path = arena_printf(arena, PATH_GENERATOR_DIR "/%s.d/" NAME_DROPIN, now->unit);
        char *text = NULL;

        return root_read_file(units->root, arena, path, SOURCE_BYTES_MAX, &text, NULL) == 0 &&
               dropin_is_outdated(now, text);
}

static void on_reread(void *userdata, int error, const LoadedUnits *none UNUSED) {
        Units *units = userdata;

        units->reread = unit_query_free(units->reread);
        units->answer.is_expired = true;
        if (error < 0)
                log_line(LOG_WARNING,
                         "systemd has not read its units again (%s): units start without "
                         "the memory policy or the group of their instances, or not at all; "
                         "run 'systemctl daemon-reload'",
                         strerror(-error));
        units->on_reread(units->userdata);
}

void units_follow_host(Units *units) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Config *config = keeper_config(units->keeper);
        const Look *look = keeper_look(units->keeper);
        IdSet nodes = look ? topology_memory_nodes(look->topology) : units->lines.nodes;
        const Accounts accounts = accounts_for_limits(units->root, arena, config);
        const DropinInput now = {
                .config = config,
                .ctl = "",
                .has_group = account_find_group(arena, &accounts, NAME_HUGETLB_GROUP),
                .memory_nodes = &nodes,
        };

        if (units->reread ||
            (id_set_equals(&nodes, &units->lines.nodes) && now.has_group == units->lines.has_group))
                return;
        units->lines.nodes = nodes;
        units->lines.has_group = now.has_group;
        if (!unit_manager_exists(units->root))
                return;
        const Dropins dropins = dropins_make(arena, &now);

        if (!VEC_ANY(dropin, &dropins, is_outdated(units, arena, dropin)))
                return;
        log_line(LOG_NOTICE,
                 "the nodes with memory are now %s%s: requesting a daemon-reload, "
                 "for the memory policy of units that are bound to nodes%s",
                 id_set_format(arena, &nodes),
                 !config_needs_group(config) ? ""
                 : now.has_group             ? ", and there is a group '" NAME_HUGETLB_GROUP "'"
                                             : ", and there is no group '" NAME_HUGETLB_GROUP "'",
                 config_needs_group(config) ? ", and their groups" : "");
        int r = unit_query_reload(units->root, &units->reread);

        if (r >= 0)
                r = unit_query_attach(units->reread, units->loop, start_limit_usec, on_reread,
                                      units);
        if (r < 0)
                on_reread(units, r, NULL);
}

/* ---- what is wrong ---- */

void units_judge(const Units *units, Arena *arena, const Config *files, Diags *problems) {
        if (units->answer.loaded.n == 0)
                return;
        const Config *all = keeper_config(units->keeper);
        Config *config = arena_memdup(arena, all, sizeof(*all));

        /* Only instances whose files have not changed; for the others the status says that they are not read yet. */
        config->instances = ARENA_ARRAY(arena, InstanceConfig, all->n_instances + 1);
        config->n_instances = 0;
        ARRAY_FOREACH(instance, all->instances, all->n_instances) {
                const InstanceConfig *file = config_find(files, instance->name);

                if (file && text_equals(file->fingerprint, instance->fingerprint))
                        config->instances[config->n_instances++] = *instance;
        }
        const Accounts accounts = accounts_for_limits(units->root, arena, config);
        const LoadedUnitInput input = {
                .config = config,
                .plan = keeper_look(units->keeper)->plan,
                .topology = keeper_look(units->keeper)->topology,
                .accounts = &accounts,
        };

        loaded_units_judge(&input, &units->answer.loaded, problems);
}

void units_free(Units *units) {
        cancel(units);
        units->reread = unit_query_free(units->reread);
        units->answer.arena = arena_free(units->answer.arena);
}
