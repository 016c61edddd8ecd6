/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finds the instances that a unit starts, and reads their parameters. */

#include "base/text.h"

#include "engines/oracle/oracle.h"

#include <string.h>

typedef struct Search {
        Arena *arena;
        const EngineTarget *target;
        const Sources *sources;
        const UnitFile *unit; /* NULL: not known */
        OracleInstances all;  /* of this host */
        Gathered *ret;
} Search;

static const char *environment(const Search *search, const char *variable) {
        return unit_file_environment(search->unit, variable, NULL);
}

/* DataDirectory= is ORACLE_HOME, or its "dbs". NULL: not known. */
static const char *find_home(const Search *search) {
        const char *home = search->target->data_directory;

        if (!home)
                home = environment(search, "ORACLE_HOME");
        if (!home || *home != '/')
                return NULL;
        home = text_without_slashes(search->arena, home);
        return text_ends_with(home, "/dbs")
                       ? arena_strndup(search->arena, home, strlen(home) - strlen("/dbs"))
                       : home;
}

/* ".../product/19.0.0/dbhome_1" -> "19.0.0": the directory layout of Oracle's installers. */
static const char *version_of(Arena *arena, const char *home) {
        const char *product = home ? strstr(home, "/product/") : NULL;
        const char *version = product ? product + strlen("/product/") : "";
        uint64_t major;

        version = arena_strndup(arena, version, strcspn(version, "/"));
        return text_is_digit(*version) && parse_major_version(version, &major) == 0 ? version
                                                                                    : NULL;
}

static const char missing_remedy[] =
        "run CREATE PFILE='/etc/oracle/initSID.ora' FROM SPFILE in "
        "SQL*Plus and name that file in ConfigFile=, or set the size by "
        "Memory=";

/* Adds the settings of one instance that affect its size, as SID.NAME if IS_ONE_OF_SEVERAL. */
static const char *add_file(const Search *search, const OracleFile *file, bool is_one_of_several) {
        static const char *const sizes[] = {"memory_target", "memory_max_target", "sga_max_size",
                                            "sga_target"};
        Arena *arena = search->arena;
        Settings *settings = &search->ret->settings;
        const char *sid = file->sid;
        Settings read;
        const char *wrong =
                oracle_parameters_read(arena, search->sources, file, &read, &search->ret->problems);

        VEC_KEEP(parameter, &read, parameters_have(&oracle_parameter_table, parameter->name));
        const SourceNames sids = oracle_sids_of(arena, &read);

        if (!sid && sids.n == 1)
                sid = sids.items[0];
        else if (!wrong && !sid)
                wrong = arena_printf(
                        arena,
                        "%s: this is for several instances; name one by "
                        "Environment=ORACLE_SID= in the unit, or by a file that is named "
                        "initSID.ora",
                        file->path);
        search->ret->is_read |= !wrong;
        /* Without any of them Oracle adds up its pools, whose defaults depend on the host. */
        if (!wrong && !ARRAY_ANY(name, sizes, ARRAY_LEN(sizes),
                                 oracle_parameter_find(&read, sid, *name) != NULL))
                wrong = arena_printf(
                        arena,
                        "%s: neither sga_max_size nor sga_target is set; set one of them, "
                        "or set the size by Memory=",
                        file->path);
        if (wrong)
                return wrong;
        const char *prefix = is_one_of_several && sid ? arena_printf(arena, "%s.", sid) : "";

        for (size_t i = 1; i < oracle_parameter_table.n; i++) {
                const char *name = oracle_parameter_table.rows[i].name;
                const Setting *parameter = oracle_parameter_find(&read, sid, name);

                if (parameter)
                        settings_add(arena, settings, arena_printf(arena, "%s%s", prefix, name),
                                     parameter->value, parameter->origin);
        }
        return NULL;
}

static const char *find_file(const Search *search, const OracleInstance *instance) {
        SourceNames directories = oracle_parameter_directories(
                search->arena, search->sources, instance->home, environment(search, "ORACLE_BASE"));

        return oracle_parameter_file(search->arena, search->sources, &directories, instance->sid);
}

static const char *add_instance(const Search *search, const OracleInstance *instance,
                                bool is_one_of_several) {
        Arena *arena = search->arena;
        const char *path = find_file(search, instance);

        if (!path)
                return arena_printf(arena, "%s%s%s%s: it has no parameter file in %s/dbs; %s",
                                    instance->sid, instance->origin ? " (" : "",
                                    instance->origin ? instance->origin : "",
                                    instance->origin ? ")" : "", instance->home, missing_remedy);
        search->ret->config_file = is_one_of_several ? NULL : path;
        search->ret->version = version_of(arena, instance->home);
        return add_file(search, &(OracleFile){path, instance->home, instance->sid},
                        is_one_of_several);
}

/* ---- which instances ---- */

/* By default ASM manages its memory automatically and takes no huge pages; MEMORY_TARGET=0 disables that. If ASM's
 * parameter file is missing or cannot be read, the default is assumed. */
static bool asm_takes_pages(const Search *search, const OracleInstance *instance) {
        const char *path = find_file(search, instance);
        Diags unused = diags_in(search->arena);
        Settings read;
        uint64_t bytes;

        if (!path || oracle_parameters_read(search->arena, search->sources,
                                            &(OracleFile){path, instance->home, instance->sid},
                                            &read, &unused))
                return false;
        const Setting *target = oracle_parameter_find(&read, instance->sid, "memory_target");

        return target && parse_lettered_bytes(target->value, &bytes) == 0 && bytes == 0;
}

/* Returns the SID of the only instance in question; NULL: the instances of oratab. dbstart uses oratab, whatever its
 * environment. */
static const char *find_sid(const Search *search) {
        const char *sid = environment(search, "ORACLE_SID");
        const char *named = search->target->unit
                                    ? oracle_unit_instance(search->arena, search->target->unit)
                                    : search->target->instance;

        if (sid && !(search->unit && started_by_unit(search->unit, "dbstart") &&
                     VEC_ANY(instance, &search->all,
                             instance->is_started && !oracle_is_asm(instance->sid))))
                return sid;
        return named && oracle_instances_find(&search->all, named) ? named : NULL;
}

static const char *choose_sid(const Search *search, const char *sid, const char *home,
                              OracleInstances *chosen) {
        const OracleInstance *known = oracle_instances_find(&search->all, sid);

        if (!oracle_sid_is_valid(sid))
                return "ORACLE_SID in the unit is not valid: letters, digits and _ $ # + - are expected";
        if (!home && !known)
                return arena_printf(
                        search->arena,
                        "%s is not in /etc/oratab, so its ORACLE_HOME is not known; add it "
                        "there, or write ConfigFile= or DataDirectory= (ORACLE_HOME)",
                        sid);
        *vec_push(search->arena, chosen) = (OracleInstance){
                .sid = sid,
                .home = home ? home : known->home,
                .origin = known ? known->origin : NULL,
        };
        return NULL;
}

static const char *choose(const Search *search, OracleInstances *chosen) {
        Arena *arena = search->arena;
        const char *home = find_home(search), *sid = find_sid(search);
        bool is_one_home = search->target->data_directory && home;
        const OracleInstance *only = NULL;
        size_t n = 0;

        if (sid)
                return choose_sid(search, sid, home, chosen);
        /* Those that dbstart starts; if there are none, the only one. */
        VEC_FOREACH(instance, &search->all) {
                if (oracle_is_asm(instance->sid) ||
                    (is_one_home && !text_equals(instance->home, home)))
                        continue;
                only = instance;
                n++;
                if (instance->is_started)
                        *vec_push(arena, chosen) = *instance;
        }
        if (chosen->n == 0 && n == 1)
                *vec_push(arena, chosen) = *only;
        if (chosen->n > 0) {
                /* The cluster software starts ASM, whatever its flag. */
                VEC_FOREACH(instance, &search->all)
                        if (!search->target->data_directory && oracle_is_asm(instance->sid) &&
                            asm_takes_pages(search, instance))
                                *vec_push(arena, chosen) = *instance;
                return NULL;
        }
        if (home) {
                SourceNames directories = oracle_parameter_directories(
                        arena, search->sources, home, environment(search, "ORACLE_BASE"));

                sid = oracle_only_sid(arena, search->sources, &directories);
                if (sid)
                        return choose_sid(search, sid, home, chosen);
        }
        return search->all.n > 0
                       ? "no instance in /etc/oratab has the flag Y, which dbstart "
                         "requires; set it, or name the instance by Environment=ORACLE_SID= "
                         "in the unit or by ConfigFile="
                       : "the instance is not known, because there is no /etc/oratab; write "
                         "ConfigFile= (initSID.ora), or Environment=ORACLE_SID= and "
                         "ORACLE_HOME= in the unit";
}

static const char *gather_oracle(Arena *arena, const Engine *engine UNUSED,
                                 const EngineTarget *target, const Sources *sources,
                                 Gathered *ret) {
        const char *path = target->config_file, *wrong;
        Search search = {
                .arena = arena,
                .target = target,
                .sources = sources,
                .unit = target->unit ? unit_file_read(arena, sources, target->unit) : NULL,
                .all = oracle_instances_read(arena, sources),
                .ret = ret,
        };
        OracleInstances chosen = {};

        ret->user = target->user ? target->user : unit_file_value(search.unit, "Service", "User");
        if (path) {
                const char *sid = oracle_sid_of_file(arena, path), *home = find_home(&search);

                ret->config_file = path;
                ret->version = version_of(arena, home ? home : path);
                return add_file(
                        &search,
                        &(OracleFile){path, home, sid ? sid : environment(&search, "ORACLE_SID")},
                        false);
        }
        wrong = choose(&search, &chosen);
        for (size_t i = 0; i < chosen.n && !wrong; i++)
                wrong = add_instance(&search, &chosen.items[i], chosen.n > 1);
        return wrong;
}

static const EngineFallback fallback = {
        NULL, NULL,
        "its segments were made without SHM_HUGETLB, as USE_LARGE_PAGES=TRUE does when the pages, or the right to them, are missing",
        "hugeplanctl check names what is missing (ora-true, ora-group, unit-setting)"};

static Reads reads(const Engine *engine UNUSED, const char *word) {
        if (text_starts_with(word, "ora_pmon_")) /* a process */
                return READS_WORD;
        return text_has_word("ifile IFILE spfile SPFILE ORACLE_SID ORACLE_HOME ORACLE_BASE", word)
                       ? READS_VALUE
                       : READS_NOT;
}

const EngineReader reader_oracle = {.gather = gather_oracle,
                                    .reads = reads,
                                    .pieces = oracle_spfile_pieces,
                                    .fallbacks = &fallback,
                                    .n_fallbacks = 1,
                                    .sessions_setting = "processes"};
