/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What can go wrong with MariaDB and MySQL. Sources: MariaDB's my_largepage.c and buf0buf.cc, MySQL's
 * large_page_alloc-linux.h, the packages' units; figures were measured on MariaDB 10.11 and 11.8 and MySQL 9.7. Both
 * map huge pages anonymously, which needs neither a limit nor a group. */

#include "base/text.h"
#include "check/rule_run.h"

#include <string.h>

static const uint64_t pool_default_bytes = 128 * MIB, chunk_default_bytes = 128 * MIB;

static bool is_mariadb(const RuleInstance *instance) {
        return text_equals(instance->config->engine->name, "mariadb");
}

static uint64_t setting_bytes(const RuleInstance *instance, const char *name, uint64_t initial) {
        const Setting *setting = rule_setting(instance, name);
        uint64_t bytes;

        return setting && parse_size_bytes(setting->value, &bytes) == 0 ? bytes : initial;
}

static uint64_t buffer_pool_bytes(const RuleInstance *instance) {
        return setting_bytes(instance, "innodb_buffer_pool_size", pool_default_bytes);
}

/* large_pages is off by default in both products. */
static bool is_large(const RuleInstance *instance) {
        return instance->gathered && rule_is_on(instance, "large_pages");
}

static void find_off(RuleRun *run, const RuleInstance *instance) {
        const Setting *setting = rule_setting(instance, "large_pages");

        if (!instance->gathered || is_large(instance) || instance->planned->pages_wanted == 0)
                return;
        rule_report(
                run, rule_at_name(run, instance, "large_pages"),
                "write large-pages = ON in the group [mysqld], or remove the "
                "instance",
                "%s has large-pages off%s: the %s reserved for it stay unused, and it takes the same amount in small pages",
                instance->config->name, setting ? "" : ", which is the default",
                rule_planned_pages(run->arena, instance));
}

/* ---- how many ---- */

static bool is_pool_only(const RuleInstance *instance) {
        uint64_t page = instance->planned->page_size_bytes;

        return is_large(instance) && page > 0 && instance->planned->pages_wanted > 0 &&
               instance->config->memory_kind != MEMORY_AUTO &&
               instance->planned->pages_wanted == div_round_up(buffer_pool_bytes(instance), page);
}

/* Sets *RET_NEEDED to ", 70 in all", or "" if that is not known. */
static const char *size_remedy(RuleRun *run, const RuleInstance *instance,
                               const char **ret_needed) {
        const Sizing *sizing = instance->sizing;

        *ret_needed = sizing ? arena_printf(run->arena, ", %s in all",
                                            format_count(run->arena, sizing->pages))
                             : "";
        return sizing ? arena_printf(run->arena, "write Memory=auto, or Pages=%" PRIu64,
                                     sizing->pages)
                      : "write Memory=auto";
}

static void find_pool_only(RuleRun *run, const RuleInstance *instance) {
        const char *needed, *remedy = size_remedy(run, instance, &needed);

        if (!is_pool_only(instance))
                return;
        rule_report(
                run, rule_at_size(instance), remedy,
                "%s plans %s, which is the buffer pool alone; %s%s: %s", instance->config->name,
                rule_planned_pages(run->arena, instance),
                is_mariadb(instance) ? "alignment, log buffers and key caches take more"
                                     : "every chunk of the pool also takes descriptors",
                needed,
                is_mariadb(instance)
                        ? "the key caches are allocated first, and the buffer pool then silently gets none at all"
                        : "the last chunks fall back to small pages");
}

static void find_short(RuleRun *run, const RuleInstance *instance) {
        static const uint64_t alignment_bytes = 8 * MIB;
        const Sizing *sizing = instance->sizing;
        uint64_t planned = instance->planned->pages_wanted, caches, least;
        const char *needed, *remedy = size_remedy(run, instance, &needed);

        if (!is_large(instance) || !sizing || is_pool_only(instance) || planned == 0 ||
            instance->config->memory_kind == MEMORY_AUTO)
                return;
        /* The lowest sufficient number: for MariaDB without what alignment and key caches may leave unused. */
        caches = add_saturated(rule_step_bytes(instance, "Aria page cache"),
                               rule_step_bytes(instance, "MyISAM key buffer"));
        least = !is_mariadb(instance)
                        ? sizing->pages
                        : sub_floored(sizing->bytes, add_saturated(alignment_bytes, caches / 5)) /
                                  sizing->page_size_bytes;
        if (planned < least)
                rule_report(run, rule_at_size(instance), remedy,
                            "%s plans %s, and its settings take up to %s: %s",
                            instance->config->name, rule_planned_pages(run->arena, instance),
                            format_count(run->arena, sizing->pages),
                            is_mariadb(instance)
                                    ? "the buffer pool, one mapping, silently gets none at all"
                                    : "the last chunks of the pool fall back to small pages");
}

static void find_1g(RuleRun *run, const RuleInstance *instance) {
        int i = topology_page_size_index(run->input->topology, GIB);
        uint64_t pool = buffer_pool_bytes(instance), found;

        if (!is_large(instance) || i < 0 || pool < GIB || instance->planned->pages_wanted == 0 ||
            instance->planned->page_size_bytes == GIB)
                return;
        found = run->input->topology->page_sizes[i].total_pages;
        for (size_t k = 0; k < run->n_instances && found == 0; k++)
                if (run->instances[k].planned->page_size_bytes == GIB)
                        found = run->instances[k].planned->pages_wanted;
        if (found == 0)
                return;
        rule_report(
                run, (Diag){.file = instance->config->file, .key = "PageSize"},
                "give it PageSize=1G and pages of its own, or limit it: systemd "
                "cannot, a hugetlb control group can (hugetlb.1GB.rsvd.max = 0)",
                "%s takes the largest pages first, and this host has or plans %s pages of 1G: its pool of %s takes up to %s of those from their instances, and its own %s stay unused",
                instance->config->name, format_count(run->arena, found),
                format_size(run->arena, pool),
                format_count(run->arena, MIN(found, div_round_up(pool, GIB))),
                rule_planned_pages(run->arena, instance));
}

static void find_memlock(RuleRun *run, const RuleInstance *instance) {
        const Setting *setting = rule_setting(instance, "memlock");
        const UnitAssignment *limit;

        if (!setting || !rule_is_on(instance, "memlock") || !instance->facts->unit ||
            rule_may_lock(instance) || rule_memlock_bytes(run, instance, &limit) == UINT64_MAX)
                return;
        rule_report(
                run, rule_at_setting(run, setting),
                arena_printf(
                        run->arena,
                        "remove memlock (huge pages are never swapped), or systemctl edit %s: [Service] AmbientCapabilities=CAP_IPC_LOCK",
                        instance->config->unit),
                "%s has memlock on, and %s gives neither CAP_IPC_LOCK nor LimitMEMLOCK=infinity: 'Failed to lock memory', errno 12",
                instance->config->name, instance->config->unit);
}

static void find_chunk(RuleRun *run, const RuleInstance *instance) {
        const Setting *setting = rule_setting(instance, "innodb_buffer_pool_chunk_size");
        uint64_t chunk =
                setting_bytes(instance, "innodb_buffer_pool_chunk_size", chunk_default_bytes);
        uint64_t pool = buffer_pool_bytes(instance), lost;

        if (!is_large(instance) || !instance->sizing || chunk > chunk_default_bytes ||
            pool < 8 * GIB)
                return;
        lost = sub_floored(instance->sizing->bytes, pool);
        rule_report(
                run, rule_at_name(run, instance, "innodb_buffer_pool_chunk_size"),
                "write innodb_buffer_pool_chunk_size = 1G, where the pool is a multiple of it "
                "times innodb_buffer_pool_instances",
                "%s has its pool of %s in chunks of %s%s, each rounded up to whole pages: %s more than the pool",
                instance->config->name, format_size(run->arena, pool),
                format_size(run->arena, chunk), setting ? "" : " (the default)",
                format_size(run->arena, lost));
}

/* Debian's mariadb.service has LimitMEMLOCK=524288, which is 512K; 512M was intended. */
static void find_memlock_bytes(RuleRun *run, const RuleInstance *instance) {
        const UnitAssignment *limit;
        uint64_t bytes = rule_memlock_bytes(run, instance, &limit);

        if (!limit || limit->value[strspn(limit->value, "0123456789:")] != '\0' ||
            bytes >= 64 * MIB)
                return;
        rule_report(
                run, rule_at_unit(limit),
                arena_printf(run->arena,
                             "systemctl edit %s: [Service] LimitMEMLOCK=%s, if that is intended",
                             instance->facts->unit->name,
                             format_size(run->arena, mul_saturated(bytes, KIB))),
                "a bare number is bytes here, %s in all; in limits.conf it would be kB (%s). Huge pages do not need it, memlock and io_uring do",
                format_size(run->arena, bytes), format_size(run->arena, mul_saturated(bytes, KIB)));
}

static void find_resize(RuleRun *run, const RuleInstance *instance) {
        const Setting *setting = rule_setting(instance, "innodb_buffer_pool_size_max");
        uint64_t bytes = setting_bytes(instance, "innodb_buffer_pool_size_max", 0);

        if (!is_large(instance) || !setting || bytes <= buffer_pool_bytes(instance))
                return;
        rule_report(
                run, rule_at_setting(run, setting),
                "change innodb_buffer_pool_size in the file, reload hugeplan and restart the "
                "server",
                "%s may grow its pool to %s online, but not with large-pages: MariaDB then refuses SET GLOBAL innodb_buffer_pool_size",
                instance->config->name, format_size(run->arena, bytes));
}

static const RuleRow rows[] = {
        {RULE_MY_OFF, "mariadb mysql", find_off, NULL},
        {RULE_MY_POOL_ONLY, "mariadb mysql", find_pool_only, NULL},
        {RULE_MY_SHORT, "mariadb mysql", find_short, NULL},
        {RULE_MARIA_1G, "mariadb", find_1g, NULL},
        {RULE_MARIA_MEMLOCK, "mariadb mysql", find_memlock, NULL},
        {RULE_MYSQL_CHUNK, "mysql", find_chunk, NULL},
        {RULE_MY_MEMLOCK_BYTES, "mariadb mysql", find_memlock_bytes, NULL},
        {RULE_MY_RESIZE, "mariadb", find_resize, NULL},
};

const RuleFamily rules_mysql = {rows, ARRAY_LEN(rows)};
