/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What can go wrong with PostgreSQL and huge pages. Sources: src/backend/port/sysv_shmem.c and storage/ipc/ipci.c
 * (InitializeShmemGUCs), documentation of huge_pages; figures were measured on 15, 17 and 18. */

#include "base/text.h"
#include "check/rule_run.h"
#include "model/names.h"

#include <string.h>

static const char postgres_asks[] =
        "the exact number: postgres -C shared_memory_size_in_huge_pages, with the server stopped";

static bool is_value(const RuleInstance *instance, const char *name, const char *value) {
        const Setting *setting = rule_setting(instance, name);

        return setting && setting->value && strcasecmp(setting->value, value) == 0;
}

static bool takes_none(const RuleInstance *instance) {
        const Setting *setting = rule_setting(instance, "huge_pages");
        bool is_on;

        return setting && parse_boolean(setting->value, &is_on) == 0 && !is_on;
}

static void find_try(RuleRun *run, const RuleInstance *instance) {
        if (!instance->gathered ||
            (rule_setting(instance, "huge_pages") && !is_value(instance, "huge_pages", "try")))
                return;
        rule_report(
                run, rule_at_name(run, instance, "huge_pages"),
                "write huge_pages = on, so that the server refuses instead",
                "%s has huge_pages=try%s: if its %s are not available it starts with small pages, and logs nothing at the default level",
                instance->config->name,
                rule_setting(instance, "huge_pages") ? "" : ", which is the default",
                rule_planned_pages(run->arena, instance));
}

static void find_off(RuleRun *run, const RuleInstance *instance) {
        if (!takes_none(instance) || instance->planned->pages_wanted == 0)
                return;
        rule_report(
                run, rule_at_name(run, instance, "huge_pages"),
                "write huge_pages = on, or remove the instance",
                "%s has huge_pages=off: the %s reserved for it stay unused, and it takes the same amount in small pages",
                instance->config->name, rule_planned_pages(run->arena, instance));
}

/* ---- how many ---- */

/* Returns the pages of shared_buffers alone: the server always needs more. 0: not known. */
static uint64_t naive_pages(const RuleInstance *instance) {
        uint64_t bytes = rule_step_bytes(instance, "shared_buffers");

        return bytes > 0 ? div_round_up(bytes, instance->planned->page_size_bytes) : 0;
}

static void find_naive(RuleRun *run, const RuleInstance *instance) {
        uint64_t naive = naive_pages(instance);

        if (naive == 0 || instance->planned->pages_wanted != naive)
                return;
        rule_report(
                run, rule_at_size(instance),
                arena_printf(run->arena, "write Memory=auto, or Pages=%" PRIu64 "; %s",
                             instance->sizing->pages, postgres_asks),
                "%s plans %s, which is shared_buffers divided by the page size; with descriptors, WAL buffers and locks it is %s pages by hugeplan's upper bound: it would not start with huge_pages=on",
                instance->config->name, rule_planned_pages(run->arena, instance),
                format_count(run->arena, instance->sizing->pages));
}

/* A running server's mapped pages were right for its settings at its start. Rules do not ask the server: postgres -C
 * makes a postmaster.pid of its own, and a server that starts at that moment would fail. */
static uint64_t mapped_pages(const RuleInstance *instance) {
        return instance->page_user && instance->page_user->page_size_bytes > 0
                       ? instance->page_user->mapped_pages
                       : 0;
}

static void find_short(RuleRun *run, const RuleInstance *instance) {
        uint64_t planned = instance->planned->pages_wanted, naive = naive_pages(instance);
        uint64_t mapped = mapped_pages(instance), needed = 0;
        Arena *arena = run->arena;
        const char *evidence = "";

        if (instance->config->memory_kind == MEMORY_AUTO || planned == 0 || planned == naive)
                return;
        if (mapped > planned) {
                needed = mapped;
                evidence = arena_printf(arena, "its server has mapped %s since it was started",
                                        format_count(arena, mapped));
        } else if (instance->sizing && naive > planned) {
                needed = instance->sizing->pages;
                evidence = arena_printf(arena, "shared_buffers alone take %s",
                                        format_count(arena, naive));
        }
        if (needed > 0)
                rule_report(run, rule_at_size(instance),
                            arena_printf(arena, "write Memory=auto, or Pages=%" PRIu64 "; %s",
                                         needed, postgres_asks),
                            "%s plans %s, but %s: it would not start", instance->config->name,
                            rule_planned_pages(arena, instance), evidence);
}

static void find_tight(RuleRun *run, const RuleInstance *instance) {
        const Sizing *sizing = instance->sizing;
        uint64_t planned = instance->planned->pages_wanted;

        /* A server that runs on the planned pages shows that they suffice. */
        if (instance->config->memory_kind == MEMORY_AUTO || !sizing ||
            planned <= naive_pages(instance) || planned >= sizing->pages ||
            mapped_pages(instance) > 0)
                return;
        rule_report(run, rule_at_size(instance),
                    arena_printf(run->arena, "compare with %s", postgres_asks),
                    "%s plans %s; its settings may take up to %s, by hugeplan's upper bound",
                    instance->config->name, rule_planned_pages(run->arena, instance),
                    format_count(run->arena, sizing->pages));
}

/* ---- where the settings come from ---- */

/* Options from postmaster.opts, the unit or pg_ctl.conf, not from a file of settings. */
static void find_cmdline(RuleRun *run, const RuleInstance *instance) {
        static const char always[] =
                "shared_buffers max_connections max_worker_processes max_wal_senders "
                "max_prepared_transactions max_locks_per_transaction max_replication_slots "
                "autovacuum_max_workers wal_buffers huge_page_size min_dynamic_shared_memory";
        Text names = text_in(run->arena);
        const Setting *first = NULL;

        if (!instance->gathered)
                return;
        VEC_FOREACH(setting, &instance->gathered->settings) {
                const char *origin = setting->origin ? setting->origin : "";
                bool changes_size = text_has_word(always, setting->name) ||
                                    rule_step_bytes(instance, setting->name) > 0;

                if (!changes_size || !(strstr(origin, "postmaster.opts") ||
                                       strstr(origin, ".service") || strstr(origin, "pg_ctl.conf")))
                        continue;
                text_add_item(&names,
                              arena_printf(run->arena, "%s=%s", setting->name, setting->value));
                first = first ? first : setting;
        }
        if (!first)
                return;
        rule_report(
                run, rule_at_setting(run, first),
                "give the same options to postgres -C, or write them into postgresql.conf; "
                "hugeplan counts them",
                "%s gets %s on its command line, as Patroni does; postgres -C does not see that, so its answer is wrong for this server",
                instance->config->name, text_string(&names));
}

static void find_sysv(RuleRun *run, const RuleInstance *instance) {
        if (!is_value(instance, "shared_memory_type", "sysv") || takes_none(instance))
                return;
        rule_report(run, rule_at_name(run, instance, "shared_memory_type"),
                    "write shared_memory_type = mmap, which is the default",
                    "%s has shared_memory_type=sysv, with which PostgreSQL uses no huge pages: %s",
                    instance->config->name,
                    is_value(instance, "huge_pages", "on") ? "with huge_pages=on it does not start"
                                                           : "it silently takes small ones");
}

/* ---- the page size ---- */

static void find_pagesize(RuleRun *run, const RuleInstance *instance) {
        const Setting *setting = rule_setting(instance, "huge_page_size");
        uint64_t planned = instance->planned->page_size_bytes, bytes = 0;

        if (!instance->gathered || planned == 0 || takes_none(instance))
                return;
        if (setting) { /* in kB without a unit; 0 is the kernel's default size */
                const char *size = text_strip(run->arena, setting->value);
                bool is_number = *size && size[strspn(size, "0123456789")] == '\0';

                if (is_number)
                        size = arena_printf(run->arena, "%sK", size);
                if (parse_size_bytes(size, &bytes) < 0)
                        return;
        }
        if (bytes == 0)
                bytes = run->input->topology->default_page_size_bytes;
        if (bytes == planned)
                return;
        rule_report(run, rule_at_name(run, instance, "huge_page_size"),
                    arena_printf(run->arena,
                                 "write PageSize=%s in %s, or huge_page_size = %" PRIu64
                                 "MB (from 14 on)",
                                 format_page_size(run->arena, bytes), instance->config->file,
                                 planned / MIB),
                    "%s will ask for pages of %s%s, and the plan has pages of %s for it",
                    instance->config->name, format_page_size(run->arena, bytes),
                    setting ? "" : ", the kernel's default", format_page_size(run->arena, planned));
}

/* ---- the unit ---- */

static void find_dash(RuleRun *run, const RuleInstance *instance) {
        const UnitFacts *unit = instance->facts->unit;

        if (!unit)
                return;
        UnitAssignments commands = unit_file_list(unit->file, "Service", "ExecStart");

        VEC_FOREACH(item, &commands) {
                if ((*item)->value[strspn((*item)->value, "@:+!|")] != '-')
                        continue;
                rule_report(
                        run, rule_at_unit(*item),
                        "check the server's own log and pg_lsclusters, not only systemctl; "
                        "a refusal of the gate is still shown",
                        "'-' before the command: systemd considers %s started even if %s could not map its huge pages",
                        unit->name, instance->config->name);
        }
}

/* ---- the version ---- */

/* "9.6.24" -> "9.6"; "15.18" -> "15". */
static char *major_of(Arena *arena, const char *version) {
        size_t n = strspn(version, "0123456789");

        if (n == 1 && version[n] == '.')
                n += 1 + strspn(version + n + 1, "0123456789");
        return arena_strndup(arena, version, n);
}

static void find_version(RuleRun *run, const RuleInstance *instance) {
        const char *learned = instance->config->learned.version;
        const char *now = instance->gathered ? instance->gathered->version : NULL;

        if (instance->config->memory_kind != MEMORY_AUTO || !learned || !now ||
            text_equals(major_of(run->arena, learned), major_of(run->arena, now)))
                return;
        rule_report(
                run, (Diag){.file = instance->config->file},
                "start it once before the next reboot: its gate determines and "
                "stores the new size",
                "%s: the %s it gets at boot were learned from version %s, and version %s is installed for it now, which needs more or less for the same settings",
                instance->config->name, rule_planned_pages(run->arena, instance), learned, now);
}

static void find_io(RuleRun *run, const RuleInstance *instance) {
        static const char *const names[] = {"io_max_concurrency", "io_method",
                                            "io_max_combine_limit"};
        const char *version = instance->gathered ? instance->gathered->version : NULL;
        const Setting *setting = NULL;
        uint64_t major = 0;

        if (!version || parse_major_version(version, &major) < 0 || major < 18 ||
            instance->config->memory_kind == MEMORY_AUTO)
                return;
        for (size_t i = 0; i < ARRAY_LEN(names) && !setting; i++)
                setting = rule_setting(instance, names[i]);
        if (setting)
                rule_report(
                        run, rule_at_setting(run, setting),
                        "write Memory=auto, which follows the settings",
                        "%s has %s=%s: from 18 on this changes how many pages it needs, and its size is fixed in %s",
                        instance->config->name, setting->name, setting->value,
                        instance->config->file);
}

/* PostgreSQL writes through the page cache. By default the kernel lets a share of all memory accumulate there before it
 * writes, gigabytes on a large host, and the fsync(2) of a checkpoint waits for all of it. Values in bytes: a 256th of
 * the memory, at most 1G, and four times that before writing processes must wait. Sources: admin-guide/sysctl/vm.rst;
 * PostgreSQL's manual, WAL Configuration. */
static void find_writeback(RuleRun *run) {
        uint64_t memory = topology_memory_bytes(run->input->topology);
        uint64_t rest = sub_floored(memory, ARRAY_SUM(instance, run->instances, run->n_instances,
                                                      rule_planned_bytes(instance)));
        uint64_t percent = run->input->facts->dirty_background_percent;
        uint64_t gathers = mul_saturated(rest / 100, percent);
        uint64_t better = MIN(memory / 256 / MIB * MIB, GIB);

        if (gathers < 4 * GIB || !rule_has_engine(run, "postgresql"))
                return;
        rule_report(
                run, (Diag){.file = PATH_DIRTY_BACKGROUND},
                arena_printf(run->arena,
                             "write vm.dirty_background_bytes=%" PRIu64
                             " and vm.dirty_bytes=%" PRIu64 " into a file of /etc/sysctl.d",
                             better, 4 * better),
                "up to %s of written pages gather before the kernel begins to write them (%" PRIu64
                "%% of the %s that are no huge pages), and a checkpoint waits for them",
                format_size(run->arena, gathers), percent, format_size(run->arena, rest));
}

static const RuleRow rows[] = {
        {RULE_PG_TRY, "postgresql", find_try, NULL},
        {RULE_PG_OFF, "postgresql", find_off, NULL},
        {RULE_PG_NAIVE, "postgresql", find_naive, NULL},
        {RULE_PG_SHORT, "postgresql", find_short, NULL},
        {RULE_PG_TIGHT, "postgresql", find_tight, NULL},
        {RULE_PG_CMDLINE, "postgresql", find_cmdline, NULL},
        {RULE_PG_SYSV, "postgresql", find_sysv, NULL},
        {RULE_PG_PAGESIZE, "postgresql", find_pagesize, NULL},
        {RULE_PG_DASH, "postgresql", find_dash, NULL},
        {RULE_PG_VERSION, "postgresql", find_version, NULL},
        {RULE_PG_IO, "postgresql", find_io, NULL},
        {RULE_PG_WRITEBACK, NULL, NULL, find_writeback},
};

const RuleFamily rules_postgresql = {rows, ARRAY_LEN(rows)};
