/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Oracle Database: the SGA of an instance, in System V segments with SHM_HUGETLB. The PGA never takes huge pages;
 * pluggable databases add nothing of their own.
 *
 * One unit often starts several instances (dbstart). Their settings are named as in a parameter file that instances
 * share: SID.NAME for one of them, *.NAME or NAME for all; the sizes are added up.
 *
 * Source: Oracle Database Reference (SGA_MAX_SIZE, SGA_TARGET, MEMORY_TARGET, USE_LARGE_PAGES) and public alert logs.
 * The row "2048K" under EXPECTED_PAGES of the alert log is the exact answer once the instance has been started. */

#include "base/text.h"
#include "engines/oracle/oracle.h"

#include <strings.h>

enum {
        SERVER_VERSION,
        MEMORY_TARGET,
        MEMORY_MAX_TARGET,
        SGA_MAX_SIZE,
        SGA_TARGET,
        USE_LARGE_PAGES,
        SPFILE,
        SHARED_SEGMENTS,
};

/* The SGA's segments (fixed, variable, redo, one of 24 KiB; more if kernel.shmmax is smaller); each ends within a page.
 * Alert logs show one or two pages more than the SGA; five is the customary allowance. */
enum { SEGMENTS = 5 };

/* The documented minimum of SGA_TARGET; a smaller value probably lacks its unit. */
#define SGA_MIN_BYTES (64 * MIB)

enum { LARGE_PAGES_FALSE, LARGE_PAGES_TRUE, LARGE_PAGES_ONLY, LARGE_PAGES_AUTO };

static const char expects_size[] = "write a size such as 180G (K, M, G, T; none: bytes)";

static const Parameter parameters[] = {
        [SERVER_VERSION] = PARAMETER_SERVER_VERSION,
        [MEMORY_TARGET] = {"memory_target", parse_lettered_bytes, expects_size},
        [MEMORY_MAX_TARGET] = {"memory_max_target", parse_lettered_bytes, expects_size},
        [SGA_MAX_SIZE] = {"sga_max_size", parse_lettered_bytes, expects_size},
        [SGA_TARGET] = {"sga_target", parse_lettered_bytes, expects_size},
        [USE_LARGE_PAGES] = {"use_large_pages", NULL, "write ONLY, TRUE, AUTO or AUTO_ONLY",
                             LARGE_PAGES_TRUE,
                             PARAMETER_WORDS("false", "true", "only", "auto", "auto_only")},
        [SPFILE] = {.name = "spfile"}, /* the place of the parameters */
        /* Not a parameter of Oracle's: see `ipcs -m`, or "Dump of system resources" in the alert log. */
        [SHARED_SEGMENTS] = {"segments", parse_u64, "write how many the SGA has, such as 4",
                             SEGMENTS, .minimum = 1, .maximum = 4096},
        {.name = "processes"}, /* how many sessions there may be */
};

const ParameterTable oracle_parameter_table = {parameters, ARRAY_LEN(parameters),
                                               .has_prefixes = true};

/* Granules by the size of the SGA: Oracle Database 18c, Introduction to Automatic SGA management (ssdbi), "Granule
 * Size". Each bound is a multiple of the next granule, so that a larger SGA never gets a smaller size. */
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

static const char *check(Arena *arena, const ParameterValue *values) {
        static const unsigned targets[] = {MEMORY_TARGET, MEMORY_MAX_TARGET},
                              sizes[] = {SGA_MAX_SIZE, SGA_TARGET};

        /* Automatic memory management puts the SGA into /dev/shm (ORA-00845 if /dev/shm is too small). */
        ARRAY_FOREACH(i, targets, ARRAY_LEN(targets))
                if (values[*i].number > 0)
                        return setting_refuse(
                                arena, values[*i].setting,
                                "automatic memory management cannot use huge pages; set it to 0, "
                                "and sga_target and pga_aggregate_target instead");
        ARRAY_FOREACH(i, sizes, ARRAY_LEN(sizes))
                if (values[*i].number > 0 && values[*i].number < SGA_MIN_BYTES)
                        return setting_refuse(arena, values[*i].setting,
                                              "'%s' is less than 64M; %s",
                                              values[*i].setting->value, expects_size);
        if (values[SGA_MAX_SIZE].number == 0 && values[SGA_TARGET].number == 0)
                return "sga_max_size and sga_target are both missing or 0; write one of them, "
                       "such as sga_max_size=180G";
        if (values[USE_LARGE_PAGES].number == LARGE_PAGES_FALSE)
                return setting_refuse(arena, values[USE_LARGE_PAGES].setting,
                                      "with this Oracle takes no huge pages; write ONLY");
        return NULL;
}

static const char *caveat(const ParameterValue *values) {
        if (values[USE_LARGE_PAGES].number >= LARGE_PAGES_AUTO)
                return "an estimate; with use_large_pages=AUTO or AUTO_ONLY Oracle changes the "
                       "pools by itself: ONLY leaves them to hugeplan";
        if (values[SPFILE].setting && values[SPFILE].setting->origin)
                return "an estimate from a server parameter file, whose format Oracle "
                       "does not document; to be sure, CREATE PFILE FROM SPFILE and name "
                       "that in ConfigFile=, or compare with EXPECTED_PAGES in the alert "
                       "log";
        return "an estimate: a page is added for each segment of the SGA; "
               "EXPECTED_PAGES in the alert log is exact";
}

/* ---- several instances ---- */

/* Returns the SID of "SID.NAME"; NULL: the setting is for all instances. */
static const char *sid_of(Arena *arena, const Setting *setting) {
        const char *dot = strchr(setting->name, '.');

        if (!dot || (dot == setting->name + 1 && *setting->name == '*'))
                return NULL;
        return arena_strdup_to(arena, setting->name, dot);
}

SourceNames oracle_sids_of(Arena *arena, const Settings *settings) {
        SourceNames sids = {};

        VEC_FOREACH(setting, settings) {
                const char *sid = sid_of(arena, setting);

                if (sid && !source_names_have(&sids, sid))
                        *vec_push(arena, &sids) = sid;
        }
        if (sids.n == 0)
                *vec_push(arena, &sids) = NULL;
        return sids;
}

/* Adds one instance; SID is NULL if there is only one. */
static const char *add_sga(Arena *arena, const Settings *settings, const char *sid,
                           Sizing *sizing) {
        ParameterValue values[ARRAY_LEN(parameters)];
        uint64_t page_size_bytes = sizing->page_size_bytes;
        const char *label = sid ? arena_printf(arena, "%s: ", sid) : "";
        const char *wrong =
                parameters_read(arena, &engine_oracle, &oracle_parameter_table, settings, values);

        if (!wrong)
                wrong = check(arena, values);
        if (wrong)
                return arena_printf(arena, "%s%s", label, wrong);

        uint64_t sga_bytes = MAX(values[SGA_MAX_SIZE].number, values[SGA_TARGET].number);
        uint64_t granule = granule_bytes(sga_bytes);
        uint64_t rounded_bytes = round_up_saturated(sga_bytes, granule);

        sizing_add(arena, sizing, arena_printf(arena, "%sSGA", label),
                   "the larger of sga_max_size and sga_target", sga_bytes);
        sizing_add_positive(
                arena, sizing, arena_printf(arena, "%srounding to granules", label),
                arena_printf(arena, "whole granules of %s", format_page_size(arena, granule)),
                rounded_bytes - sga_bytes);
        if (sid)
                sizing_add_positive(
                        arena, sizing, arena_printf(arena, "%srounding to pages", label),
                        "no page is shared between instances",
                        round_up_saturated(rounded_bytes, page_size_bytes) - rounded_bytes);
        sizing_add(arena, sizing, arena_printf(arena, "%ssegments", label),
                   arena_printf(arena, "%" PRIu64 ", each of which may end within a page",
                                values[SHARED_SEGMENTS].number),
                   mul_saturated(values[SHARED_SEGMENTS].number, page_size_bytes));
        sizing->caveat = caveat(values);
        return NULL;
}

/* What was read is not trusted: a file of many thousand SIDs must not take the host's memory. */
enum { SIDS_MAX = 64 };

/* VALUES are the settings for all instances; each instance's own settings are added to them. */
static const char *add_oracle(Arena *arena, const Settings *settings,
                              const ParameterValue *values UNUSED, Sizing *sizing) {
        SourceNames sids = oracle_sids_of(arena, settings), owners = {};
        const char *wrong = NULL;

        if (sids.n > SIDS_MAX)
                return "its files describe more instances than hugeplan adds up; describe each of "
                       "its units by a file of its own";
        VEC_FOREACH(setting, settings)
                *vec_push(arena, &owners) = sid_of(arena, setting);
        for (size_t i = 0; i < sids.n && !wrong; i++) {
                Settings plain = {}; /* under plain names: first those for all, then its own */

                for (int is_own = 0; is_own < 2; is_own++)
                        VEC_FOREACH(setting, settings) {
                                const char *dot = strchr(setting->name, '.');
                                const char *of = owners.items[setting - settings->items];

                                if (is_own ? of && text_equals(of, sids.items[i]) : !of)
                                        *vec_push(arena, &plain) =
                                                (Setting){dot ? dot + 1 : setting->name,
                                                          setting->value, setting->origin};
                        }
                wrong = add_sga(arena, &plain, sids.n > 1 ? sids.items[i] : NULL, sizing);
        }
        return wrong;
}

const EngineFormula formula_oracle = {add_oracle, &oracle_parameter_table};
