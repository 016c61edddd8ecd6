/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What can go wrong with MariaDB and MySQL. Sources: MariaDB's my_largepage.c and buf0buf.cc, MySQL's
 * large_page_alloc-linux.h, the packages' units; figures were measured on MariaDB 10.11 and 11.8 and MySQL 9.7. Both
 * map huge pages anonymously, which needs neither a limit nor a group. */

#include "base/text.h"
#include "check/rule_run.h"

static const uint64_t pool_default_bytes = 128 * MIB;

static bool is_mariadb(const RuleInstance *instance) {
        return text_equals(instance->config->engine->name, "mariadb");
}

static uint64_t buffer_pool_bytes(const RuleInstance *instance) {
        const Setting *setting = rule_setting(instance, "innodb_buffer_pool_size");
        uint64_t bytes;

        return setting && parse_size_bytes(setting->value, &bytes) == 0 ? bytes
                                                                        : pool_default_bytes;
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

static void find_short(RuleRun *run, const RuleInstance *instance) {
        static const uint64_t alignment_bytes = 8 * MIB;
        const Sizing *sizing = instance->sizing;
        uint64_t planned = instance->planned->pages_wanted, caches, least;

        if (!is_large(instance) || !sizing || planned == 0 ||
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
                rule_report(
                        run, rule_at_size(instance),
                        arena_printf(run->arena, "write Memory=auto, or Pages=%" PRIu64,
                                     sizing->pages),
                        "%s plans %s, and its settings take up to %s: %s", instance->config->name,
                        rule_planned_pages(run->arena, instance),
                        format_count(run->arena, sizing->pages),
                        is_mariadb(instance)
                                ? "the key caches are allocated first, and the buffer pool then silently gets none at all"
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
                "%s takes the largest pages first, and this host has or plans %s: its pool of %s takes up to %s of those from their instances, and its own %s stay unused",
                instance->config->name, format_page_count(run->arena, found, GIB),
                format_size(run->arena, pool),
                format_count(run->arena, MIN(found, div_round_up(pool, GIB))),
                rule_planned_pages(run->arena, instance));
}

static const RuleRow rows[] = {
        {RULE_MY_OFF, "mariadb mysql", find_off, NULL},
        {RULE_MY_SHORT, "mariadb mysql", find_short, NULL},
        {RULE_MARIA_1G, "mariadb", find_1g, NULL},
};

const RuleFamily rules_mysql = {rows, ARRAY_LEN(rows)};
