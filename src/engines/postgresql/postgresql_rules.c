/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What can go wrong with PostgreSQL and huge pages. Sources: src/backend/port/sysv_shmem.c and storage/ipc/ipci.c
 * (InitializeShmemGUCs), documentation of huge_pages; figures were measured on 15, 17 and 18. */

#include "check/rule_run.h"
#include "engines/postgresql/postgresql.h"

static const char postgres_asks[] =
        "the exact number: postgres -C shared_memory_size_in_huge_pages, with the server stopped";

/* Returns the value of a row of the formula's parameters; the server's default if it is not set or wrong. */
static uint64_t value_of(const RuleInstance *instance, size_t row) {
        const Parameter *parameter = &postgresql_parameters.rows[row];
        const Setting *setting = rule_setting(instance, parameter->name);
        uint64_t value = parameter->initial;

        if (setting)
                parameter_parse(parameter, setting->value, &value);
        return value;
}

static bool takes_none(const RuleInstance *instance) {
        return value_of(instance, HUGE_PAGES) == HUGE_PAGES_OFF;
}

static void find_try(RuleRun *run, const RuleInstance *instance) {
        if (!instance->gathered || value_of(instance, HUGE_PAGES) != HUGE_PAGES_TRY)
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

/* A running server's mapped pages were right for its settings at its start. Rules do not ask the server: postgres -C
 * makes a postmaster.pid of its own, and a server that starts at that moment would fail. */
static uint64_t mapped_pages(const RuleInstance *instance) {
        return instance->page_user && instance->page_user->page_size_bytes > 0
                       ? instance->page_user->mapped_pages
                       : 0;
}

static void find_short(RuleRun *run, const RuleInstance *instance) {
        uint64_t planned = instance->planned->pages_wanted;
        uint64_t mapped = mapped_pages(instance), needed = 0;
        Arena *arena = run->arena;
        const char *evidence = "";

        if (instance->config->memory_kind == MEMORY_AUTO || planned == 0)
                return;
        /* The server always needs more than that. */
        uint64_t naive = div_round_up(rule_step_bytes(instance, "shared_buffers"),
                                      instance->planned->page_size_bytes);
        if (mapped > planned) {
                needed = mapped;
                evidence = arena_printf(arena, "its server has mapped %s since it was started",
                                        format_count(arena, mapped));
        } else if (naive >= planned) {
                needed = instance->sizing->pages;
                evidence = arena_printf(arena,
                                        "shared_buffers alone take %s, and its settings up to %s",
                                        format_count(arena, naive), format_count(arena, needed));
        }
        if (needed > 0)
                rule_report(run, rule_at_size(instance),
                            arena_printf(arena, "write Memory=auto, or Pages=%" PRIu64 "; %s",
                                         needed, postgres_asks),
                            "%s plans %s, but %s: it would not start with huge_pages=on",
                            instance->config->name, rule_planned_pages(arena, instance), evidence);
}

static void find_sysv(RuleRun *run, const RuleInstance *instance) {
        if (value_of(instance, SHARED_MEMORY_TYPE) != SHARED_MEMORY_TYPE_SYSV ||
            takes_none(instance))
                return;
        rule_report(run, rule_at_name(run, instance, "shared_memory_type"),
                    "write shared_memory_type = mmap, which is the default",
                    "%s has shared_memory_type=sysv, with which PostgreSQL uses no huge pages: %s",
                    instance->config->name,
                    value_of(instance, HUGE_PAGES) == HUGE_PAGES_ON
                            ? "with huge_pages=on it does not start"
                            : "it silently takes small ones");
}

/* ---- the page size ---- */

static void find_pagesize(RuleRun *run, const RuleInstance *instance) {
        const Setting *setting = rule_setting(instance, "huge_page_size");
        uint64_t planned = instance->planned->page_size_bytes;
        uint64_t bytes = value_of(instance, HUGE_PAGE_SIZE); /* 0: the kernel's default size */

        if (bytes == 0)
                bytes = run->input->topology->default_page_size_bytes;
        if (!instance->gathered || planned == 0 || takes_none(instance) || bytes == planned)
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

static const RuleRow rows[] = {
        {RULE_PG_TRY, "postgresql", find_try, NULL},
        {RULE_PG_OFF, "postgresql", find_off, NULL},
        {RULE_PG_SHORT, "postgresql", find_short, NULL},
        {RULE_PG_SYSV, "postgresql", find_sysv, NULL},
        {RULE_PG_PAGESIZE, "postgresql", find_pagesize, NULL},
};

const RuleFamily rules_postgresql = {rows, ARRAY_LEN(rows)};
