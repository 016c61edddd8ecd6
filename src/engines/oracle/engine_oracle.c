/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Oracle Database: the SGA of an instance, in SysV segments with SHM_HUGETLB. The PGA never takes
 * huge pages, pluggable databases add nothing of their own.
 *
 * One unit often starts several instances (dbstart). Then settings are named as in a parameter file
 * that instances share: SID.NAME for one of them, *.NAME or NAME for all, and the sizes are added up.
 *
 * Source: Oracle Database Reference (SGA_MAX_SIZE, SGA_TARGET, MEMORY_TARGET, USE_LARGE_PAGES) and
 * public alert logs. The row "2048K" under EXPECTED_PAGES of the alert log is the exact answer once
 * the instance has been started. */

#include "base/text.h"
#include "engines/engine_rows.h"
#include "engines/oracle/oracle_instances.h"
#include "engines/oracle/oracle_parameters.h"
#include "read/unit_file.h"

#include <strings.h>

enum {
        SERVER_VERSION,
        MEMORY_TARGET,
        MEMORY_MAX_TARGET,
        SGA_MAX_SIZE,
        SGA_TARGET,
        USE_LARGE_PAGES,
        SPFILE,
        SIZED_PARAMETERS,
};

/* Small segments (fixed SGA, redo, the 24 KiB one) that round up to a page each: one or two were
 * seen in alert logs; five is the customary allowance. */
enum { SMALL_SEGMENTS = 5 };

/* The documented lower end of SGA_TARGET; less is a forgotten unit. */
#define SGA_MIN_BYTES (64 * MIB)

static int parse_oracle_size(const char *value, uint64_t *ret_bytes) {
        return parse_suffixed_bytes(value, "KkMmGgTtPpEe", ret_bytes);
}

enum { LARGE_PAGES_FALSE, LARGE_PAGES_TRUE, LARGE_PAGES_ONLY, LARGE_PAGES_AUTO };

static int parse_use_large_pages(const char *value, uint64_t *ret) {
        static const char *const words[] = {"false", "true", "only", "auto", "auto_only"};

        return parse_word(value, words, ARRAY_LEN(words), ret);
}

static const char expects_size[] = "write a size such as 180G (K, M, G, T; none: bytes)";
static const char within_sga[] = "part of the SGA";
static const char in_pga[] = "private memory of the sessions";

static const Parameter parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        [MEMORY_TARGET] = {"memory_target", parse_oracle_size, expects_size},
        [MEMORY_MAX_TARGET] = {"memory_max_target", parse_oracle_size, expects_size},
        [SGA_MAX_SIZE] = {"sga_max_size", parse_oracle_size, expects_size},
        [SGA_TARGET] = {"sga_target", parse_oracle_size, expects_size},
        [USE_LARGE_PAGES] = {"use_large_pages", parse_use_large_pages,
                             "write ONLY, TRUE, AUTO or AUTO_ONLY", LARGE_PAGES_TRUE},
        [SPFILE] = {.name = "spfile", .takes_nothing = "where the parameters stand"},
        {.name = "db_cache_size", .takes_nothing = within_sga},
        {.name = "db_keep_cache_size", .takes_nothing = within_sga},
        {.name = "shared_pool_size", .takes_nothing = within_sga},
        {.name = "large_pool_size", .takes_nothing = within_sga},
        {.name = "java_pool_size", .takes_nothing = within_sga},
        {.name = "streams_pool_size", .takes_nothing = within_sga},
        {.name = "inmemory_size", .takes_nothing = within_sga},
        {.name = "log_buffer", .takes_nothing = within_sga},
        {.name = "processes", .takes_nothing = within_sga},
        {.name = "sessions", .takes_nothing = within_sga},
        {.name = "pga_aggregate_target", .takes_nothing = in_pga},
        {.name = "pga_aggregate_limit", .takes_nothing = in_pga},
        {.name = "lock_sga", .takes_nothing = "huge pages are locked as they are"},
};

static const ParameterTable table = {&engine_oracle, parameters, ARRAY_LEN(parameters)};

/* Granules by the size of the SGA: Oracle Database 18c, Introduction to Automatic SGA management
 * (ssdbi), "Granule Size". Each bound is a multiple of the next granule, so that a larger SGA never
 * comes out smaller. */
static uint64_t granule_bytes(uint64_t sga_bytes) {
        static const struct {
                uint64_t up_to_bytes, granule_bytes;
        } granules[] = {
                {1 * GIB, 4 * MIB},   {8 * GIB, 16 * MIB},   {16 * GIB, 32 * MIB},
                {32 * GIB, 64 * MIB}, {64 * GIB, 128 * MIB}, {128 * GIB, 256 * MIB},
        };

        for (size_t i = 0; i < ARRAY_LEN(granules); i++)
                if (sga_bytes <= granules[i].up_to_bytes)
                        return granules[i].granule_bytes;
        return 512 * MIB;
}

/* Automatic memory management puts the SGA into /dev/shm (ORA-00845 when that is too small). */
static const char *check_no_amm(Arena *arena, const ParameterValue *value) {
        if (value->number == 0)
                return NULL;
        return setting_refuse(arena, value->setting,
                              "automatic memory management cannot use huge pages; set it to 0, and "
                              "sga_target and pga_aggregate_target instead");
}

static const char *check_sga(Arena *arena, const ParameterValue *value) {
        if (value->number == 0 || value->number >= SGA_MIN_BYTES)
                return NULL;
        return setting_refuse(arena, value->setting, "'%s' is less than 64M; %s",
                              value->setting->value, expects_size);
}

static const char *check(Arena *arena, const ParameterValue *values) {
        const char *wrong = check_no_amm(arena, &values[MEMORY_TARGET]);

        if (!wrong)
                wrong = check_no_amm(arena, &values[MEMORY_MAX_TARGET]);
        if (!wrong)
                wrong = check_sga(arena, &values[SGA_MAX_SIZE]);
        if (!wrong)
                wrong = check_sga(arena, &values[SGA_TARGET]);
        if (!wrong && values[SGA_MAX_SIZE].number == 0 && values[SGA_TARGET].number == 0)
                wrong = "sga_max_size and sga_target are both missing or 0; write one of them, "
                        "such as sga_max_size=180G";
        if (!wrong && values[USE_LARGE_PAGES].number == LARGE_PAGES_FALSE)
                wrong = setting_refuse(arena, values[USE_LARGE_PAGES].setting,
                                       "with this Oracle takes no huge pages; write ONLY");
        return wrong;
}

static const char *caveat(const ParameterValue *values) {
        if (values[USE_LARGE_PAGES].number >= LARGE_PAGES_AUTO)
                return "an estimate; with use_large_pages=AUTO or AUTO_ONLY Oracle changes the "
                       "pools by itself: ONLY leaves them to hugeplan";
        if (values[SPFILE].setting && values[SPFILE].setting->origin)
                return "an estimate from a server parameter file, whose format Oracle does not "
                       "document; to be sure, CREATE PFILE FROM SPFILE and name that by "
                       "ConfigFile=, or compare with EXPECTED_PAGES in the alert log";
        return "an estimate: five pages are allowed for small segments; EXPECTED_PAGES in the "
               "alert log is exact";
}

/* ---- several instances ---- */

/* The SID of "SID.NAME"; NULL: the setting is for all. */
static const char *sid_of(Arena *arena, const Setting *setting) {
        const char *dot = strchr(setting->name, '.');

        if (!dot || (dot == setting->name + 1 && *setting->name == '*'))
                return NULL;
        return arena_strndup(arena, setting->name, (size_t) (dot - setting->name));
}

static bool has_name(const SourceNames *names, const char *name) {
        VEC_FOREACH(other, names)
                if (text_equals(*other, name))
                        return true;
        return false;
}

/* In the order in which they come; a single NULL where no setting names one. */
static SourceNames sids_of(Arena *arena, const Settings *settings) {
        SourceNames sids = {};

        VEC_FOREACH(setting, settings) {
                const char *sid = sid_of(arena, setting);

                if (sid && !has_name(&sids, sid))
                        *vec_push(arena, &sids) = sid;
        }
        if (sids.n == 0)
                *vec_push(arena, &sids) = NULL;
        return sids;
}

/* What counts for SID, under plain names: what is for all, then its own. */
static Settings settings_for(Arena *arena, const Settings *settings, const char *sid) {
        Settings plain = {};

        for (int is_own = 0; is_own < 2; is_own++)
                VEC_FOREACH(setting, settings) {
                        const char *dot = strchr(setting->name, '.');
                        const char *of = sid_of(arena, setting);

                        if (is_own ? of && text_equals(of, sid) : !of)
                                *vec_push(arena, &plain) = (Setting){dot ? dot + 1 : setting->name,
                                                                     setting->value,
                                                                     setting->origin};
                }
        return plain;
}

static const char *label(Arena *arena, const char *sid, const char *what) {
        return sid ? arena_printf(arena, "%s: %s", sid, what) : what;
}

/* Adds one instance; SID is NULL where it is the only one. */
static const char *add_sga(Arena *arena, const Settings *settings, const char *sid,
                           Sizing *sizing) {
        ParameterValue values[ARRAY_LEN(parameters)];
        uint64_t page_size_bytes = sizing->page_size_bytes;
        const char *wrong = parameters_read(arena, &table, settings, values);

        if (!wrong)
                wrong = check(arena, values);
        if (wrong)
                return label(arena, sid, wrong);

        uint64_t sga_bytes = MAX(values[SGA_MAX_SIZE].number, values[SGA_TARGET].number);
        uint64_t granule = granule_bytes(sga_bytes);
        uint64_t rounded_bytes = round_up_saturated(sga_bytes, granule);

        sizing_add(arena, sizing, label(arena, sid, "SGA"),
                   "the larger of sga_max_size and sga_target", sga_bytes);
        sizing_add_positive(
                arena, sizing, label(arena, sid, "rounding to granules"),
                arena_printf(arena, "whole granules of %s", format_page_size(arena, granule)),
                rounded_bytes - sga_bytes);
        if (sid)
                sizing_add_positive(arena, sizing, label(arena, sid, "rounding to pages"),
                                    "no page is shared between instances",
                                    round_up_saturated(rounded_bytes, page_size_bytes) -
                                            rounded_bytes);
        sizing_add(arena, sizing, label(arena, sid, "small segments"), "5 pages",
                   mul_saturated(SMALL_SEGMENTS, page_size_bytes));
        sizing_add_idle(arena, sizing, &table, settings);
        sizing->caveat = caveat(values);
        return NULL;
}

static const char *size_oracle(Arena *arena, const Settings *settings, uint64_t page_size_bytes,
                               Sizing *ret) {
        Sizing sizing = {.page_size_bytes = page_size_bytes};
        SourceNames sids = sids_of(arena, settings);

        VEC_FOREACH(sid, &sids) {
                Settings own = settings_for(arena, settings, *sid);
                const char *wrong = add_sga(arena, &own, sids.n > 1 ? *sid : NULL, &sizing);

                if (wrong)
                        return wrong;
        }
        sizing_finish(&sizing);
        *ret = sizing;
        return NULL;
}

/* ---- Memory=auto ---- */

typedef struct Finder {
        Arena *arena;
        const EngineTarget *target;
        const Sources *sources;
        const UnitFile *unit; /* NULL: not known */
        OracleInstances all;  /* of this host */
        Gathered *ret;
} Finder;

static const char *environment(const Finder *finder, const char *variable) {
        const char *value = finder->unit ? unit_file_environment(finder->arena, finder->unit,
                                                                 finder->sources, variable, NULL)
                                         : NULL;

        return value && *value ? value : NULL;
}

/* DataDirectory= is ORACLE_HOME, or its "dbs". NULL: not known. */
static const char *find_home(const Finder *finder) {
        const char *home = finder->target->data_directory;

        if (!home)
                home = environment(finder, "ORACLE_HOME");
        if (!home || *home != '/')
                return NULL;
        size_t length = strlen(home);

        while (length > 1 && home[length - 1] == '/')
                length--;
        home = arena_strndup(finder->arena, home, length);
        return text_ends_with(home, "/dbs") ? arena_strndup(finder->arena, home, length - 4) : home;
}

/* ".../product/19.0.0/dbhome_1" -> "19.0.0": the layout that Oracle's own installers make. */
static const char *version_of(Arena *arena, const char *home) {
        const char *product = home ? strstr(home, "/product/") : NULL;
        const char *version = product ? product + strlen("/product/") : "";
        uint64_t major;

        version = arena_strndup(arena, version, strcspn(version, "/"));
        return *version >= '0' && *version <= '9' && parse_major_version(version, &major) == 0
                       ? version
                       : NULL;
}

static const char missing_remedy[] =
        "have SQL*Plus CREATE PFILE='/etc/oracle/initSID.ora' FROM SPFILE and name that file by "
        "ConfigFile=, or give the size by Memory=";

/* The SID whose own parameters are in the file; NULL: none. False: of several. */
static bool infer_sid(const OracleParameters *read, const char **ret_sid) {
        *ret_sid = NULL;
        for (size_t i = MEMORY_TARGET; i < ARRAY_LEN(parameters); i++)
                VEC_FOREACH(parameter, &read->list) {
                        if (!parameter->sid || strcasecmp(parameter->name, parameters[i].name) != 0)
                                continue;
                        if (*ret_sid && !text_equals(*ret_sid, parameter->sid))
                                return false;
                        *ret_sid = parameter->sid;
                }
        return true;
}

/* Without any of them Oracle adds up its pools, whose defaults hang on the host. */
static const char *check_has_size(Arena *arena, const OracleParameters *read, const char *sid,
                                  const char *path) {
        for (size_t i = MEMORY_TARGET; i <= SGA_TARGET; i++)
                if (oracle_parameter_find(read, sid, parameters[i].name))
                        return NULL;
        return arena_printf(arena,
                            "%s: neither sga_max_size nor sga_target is set; set one of them, or "
                            "give the size by Memory=",
                            path);
}

static void add_setting(const Finder *finder, const char *sid, const char *name, const char *value,
                        const char *origin) {
        settings_add(finder->arena, &finder->ret->settings,
                     sid ? arena_printf(finder->arena, "%s.%s", sid, name) : name, value, origin);
}

/* Adds the settings of one instance that matter here, as SID.NAME where IS_ONE_OF_SEVERAL. */
static const char *add_file(const Finder *finder, const OracleFile *file, bool is_one_of_several) {
        Arena *arena = finder->arena;
        const char *sid = file->sid;
        OracleParameters read;
        const char *wrong =
                oracle_parameters_read(arena, finder->sources, file, &read, &finder->ret->problems);

        if (!wrong && !sid && !infer_sid(&read, &sid))
                wrong = arena_printf(arena,
                                     "%s: this is for several instances; say which by "
                                     "Environment=ORACLE_SID= in the unit, or by a file that is "
                                     "called initSID.ora",
                                     file->path);
        if (!wrong)
                wrong = check_has_size(arena, &read, sid, file->path);
        if (wrong)
                return wrong;
        const char *prefix = is_one_of_several ? sid : NULL;

        for (size_t i = MEMORY_TARGET; i < ARRAY_LEN(parameters); i++) {
                const char *name = parameters[i].name;
                const OracleParameter *parameter = oracle_parameter_find(&read, sid, name);

                if (parameter && i != SPFILE)
                        add_setting(finder, prefix, name, parameter->value, parameter->origin);
        }
        if (read.spfile)
                add_setting(finder, prefix, "spfile", read.spfile, read.spfile);
        return NULL;
}

static const char *find_file(const Finder *finder, const OracleInstance *instance) {
        SourceNames directories = oracle_parameter_directories(
                finder->arena, finder->sources, instance->home, environment(finder, "ORACLE_BASE"));

        return oracle_parameter_file(finder->arena, finder->sources, &directories, instance->sid);
}

static const char *add_instance(const Finder *finder, const OracleInstance *instance,
                                bool is_one_of_several) {
        Arena *arena = finder->arena;
        const char *path = find_file(finder, instance);

        if (!path)
                return arena_printf(arena, "%s%s%s%s: it has no parameter file in %s/dbs; %s",
                                    instance->sid, instance->origin ? " (" : "",
                                    instance->origin ? instance->origin : "",
                                    instance->origin ? ")" : "", instance->home, missing_remedy);
        finder->ret->config_file = is_one_of_several ? NULL : path;
        finder->ret->version = version_of(arena, instance->home);
        return add_file(finder, &(OracleFile){path, instance->home, instance->sid},
                        is_one_of_several);
}

/* ---- which instances ---- */

/* By default ASM manages its memory automatically and takes no huge pages; MEMORY_TARGET=0 ends
 * that. Where its file is not to be had, the default is assumed. */
static bool asm_takes_pages(const Finder *finder, const OracleInstance *instance) {
        const char *path = find_file(finder, instance);
        Diags unused = diags_in(finder->arena);
        OracleParameters read;
        uint64_t bytes;

        if (!path || oracle_parameters_read(finder->arena, finder->sources,
                                            &(OracleFile){path, instance->home, instance->sid},
                                            &read, &unused))
                return false;
        const OracleParameter *target =
                oracle_parameter_find(&read, instance->sid, "memory_target");

        return target && parse_oracle_size(target->value, &bytes) == 0 && bytes == 0;
}

/* Whether WORD calls dbstart, be it within a line for a shell. */
static bool calls_dbstart(const char *word) {
        static const char name[] = "dbstart";

        for (const char *at = word; (at = strstr(at, name)); at++) {
                bool begins = at == word || strchr("/ \t;&", at[-1]);

                if (begins && strchr(" \t;&'\"", at[strlen(name)]))
                        return true;
        }
        return false;
}

static bool unit_calls_dbstart(const Finder *finder) {
        if (!finder->unit)
                return false;
        UnitAssignments commands =
                unit_file_list(finder->arena, finder->unit, "Service", "ExecStart");

        VEC_FOREACH(command, &commands) {
                UnitWords words = unit_file_command(finder->arena, finder->unit, finder->sources,
                                                    (*command)->value);

                VEC_FOREACH(word, &words)
                        if (calls_dbstart(*word))
                                return true;
        }
        return false;
}

static bool has_started(const OracleInstances *instances) {
        VEC_FOREACH(instance, instances)
                if (instance->is_started && !oracle_is_asm(instance->sid))
                        return true;
        return false;
}

/* "orcl" of "oracle@orcl.service"; NULL. */
static const char *unit_instance(Arena *arena, const char *unit) {
        const char *at = unit ? strchr(unit, '@') : NULL;
        const char *dot = at ? strrchr(at, '.') : NULL;

        return dot ? arena_strndup(arena, at + 1, (size_t) (dot - at - 1)) : NULL;
}

/* The one instance that is meant; NULL: those of oratab. dbstart looks at oratab only, whatever its
 * environment says. */
static const char *find_sid(const Finder *finder) {
        const char *sid = environment(finder, "ORACLE_SID");
        const char *named = finder->target->unit
                                    ? unit_instance(finder->arena, finder->target->unit)
                                    : finder->target->instance;

        if (sid && !(unit_calls_dbstart(finder) && has_started(&finder->all)))
                return sid;
        return named && oracle_instances_find(&finder->all, named) ? named : NULL;
}

static const char *choose_sid(const Finder *finder, const char *sid, const char *home,
                              OracleInstances *chosen) {
        const OracleInstance *known = oracle_instances_find(&finder->all, sid);

        if (!oracle_sid_is_valid(sid))
                return "ORACLE_SID in the unit is none: letters, digits and _ $ # + - are expected";
        if (!home && !known)
                return arena_printf(finder->arena,
                                    "%s is not in /etc/oratab, so that its ORACLE_HOME is not "
                                    "known; add it there, or write ConfigFile= or DataDirectory= "
                                    "(ORACLE_HOME)",
                                    sid);
        *vec_push(finder->arena, chosen) = (OracleInstance){
                .sid = sid,
                .home = home ? home : known->home,
                .origin = known ? known->origin : NULL,
        };
        return NULL;
}

static bool is_of_home(const OracleInstance *instance, const char *home) {
        return !home || text_equals(instance->home, home);
}

/* Those of HOME (NULL: all) that dbstart starts; else the only one there is. */
static void choose_started(const Finder *finder, const char *home, OracleInstances *chosen) {
        const OracleInstance *only = NULL;
        size_t n = 0;

        VEC_FOREACH(instance, &finder->all) {
                if (oracle_is_asm(instance->sid) || !is_of_home(instance, home))
                        continue;
                only = instance;
                n++;
                if (instance->is_started)
                        *vec_push(finder->arena, chosen) = *instance;
        }
        if (chosen->n == 0 && n == 1)
                *vec_push(finder->arena, chosen) = *only;
}

/* ASM is started by the cluster software, with whatever flag. */
static void choose_asm(const Finder *finder, OracleInstances *chosen) {
        VEC_FOREACH(instance, &finder->all)
                if (oracle_is_asm(instance->sid) && asm_takes_pages(finder, instance))
                        *vec_push(finder->arena, chosen) = *instance;
}

static const char *choose(const Finder *finder, OracleInstances *chosen) {
        Arena *arena = finder->arena;
        const char *home = find_home(finder), *sid = find_sid(finder);

        if (sid)
                return choose_sid(finder, sid, home, chosen);
        choose_started(finder, finder->target->data_directory ? home : NULL, chosen);
        if (chosen->n > 0) {
                if (!finder->target->data_directory)
                        choose_asm(finder, chosen);
                return NULL;
        }
        if (home) {
                SourceNames directories = oracle_parameter_directories(
                        arena, finder->sources, home, environment(finder, "ORACLE_BASE"));

                sid = oracle_only_sid(arena, finder->sources, &directories);
                if (sid)
                        return choose_sid(finder, sid, home, chosen);
        }
        return finder->all.n > 0
                       ? "no instance in /etc/oratab has the flag Y, by which dbstart goes; set it, "
                         "or say which one it is by Environment=ORACLE_SID= in the unit or by "
                         "ConfigFile="
                       : "nothing says which instance it is: there is no /etc/oratab; write "
                         "ConfigFile= (initSID.ora), or Environment=ORACLE_SID= and ORACLE_HOME= in "
                         "the unit";
}

static const char *gather_file(const Finder *finder) {
        const char *path = finder->target->config_file;
        const char *sid = oracle_sid_of_file(finder->arena, path);
        const char *home = find_home(finder);

        finder->ret->config_file = path;
        finder->ret->version = version_of(finder->arena, home ? home : path);
        return add_file(finder,
                        &(OracleFile){path, home, sid ? sid : environment(finder, "ORACLE_SID")},
                        false);
}

static const char *gather_oracle(Arena *arena, const EngineTarget *target, const Sources *sources,
                                 Gathered *ret) {
        const char *unit = target->unit;
        Finder finder = {
                .arena = arena,
                .target = target,
                .sources = sources,
                .unit = unit ? unit_file_read(arena, sources, unit) : NULL,
                .all = oracle_instances_read(arena, sources),
                .ret = ret,
        };
        const UnitAssignment *user = finder.unit ? unit_file_find(finder.unit, "Service", "User")
                                                 : NULL;
        OracleInstances chosen = {};

        ret->problems = diags_in(arena);
        ret->user = target->user ? target->user : user ? user->value : NULL;
        if (target->config_file)
                return gather_file(&finder);
        const char *wrong = choose(&finder, &chosen);

        for (size_t i = 0; i < chosen.n && !wrong; i++)
                wrong = add_instance(&finder, &chosen.items[i], chosen.n > 1);
        return wrong;
}

/* Transparent huge pages: off up to 19c; from 21c on UEK7 the documentation wants madvise "and not
 * disable". The version is not known here, so the older and more common is assumed; newer instances
 * say TransparentHugePages=madvise. There is no unit that all installations share. */
const Engine engine_oracle = {
        .name = "oracle",
        .title = "Oracle Database",
        .default_user = "oracle",
        .uses_sysv = true,
        .thp_wish = THP_NEVER,
        .reserves = true,
        .memory_setting = "sga_max_size",
        .mebibyte_suffix = "M",
        .size = size_oracle,
        .gather = gather_oracle,
        .programs = "dbstart* dbora* *oracle* srvctl* ohasd* sqlplus* oratab* gcstartup*",
        .units = "*ora*.service *db*.service",
};
