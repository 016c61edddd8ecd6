/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is kept of what was seen. */
#include "demand/seen.h"

#include "base/size.h"
#include "base/text.h"
#include "demand/page_counts.h"

static bool are_same_counts(const PageCounts *a, const PageCounts *b) {
        return a->n == b->n &&
               !VEC_ANY(count, a, page_counts_find(b, count->page_size_bytes) != count->pages);
}

static bool holds_for_same(const Seen *a, const Seen *b) {
        return are_same_counts(&a->base, &b->base) && text_equals(a->unit, b->unit) &&
               text_equals(a->version, b->version) && text_equals(a->settings, b->settings);
}

bool seen_is_same(const Seen *a, const Seen *b) {
        return are_same_counts(&a->pages, &b->pages) && holds_for_same(a, b) &&
               a->is_exact == b->is_exact && a->small_tables.bytes == b->small_tables.bytes &&
               a->small_tables.n_processes == b->small_tables.n_processes;
}

static bool has_more(const Seen *a, const Seen *b) {
        return VEC_ANY(count, &a->pages,
                       count->pages > page_counts_find(&b->pages, count->page_size_bytes));
}

/* An estimate of what it would have mapped, and all that it did. */
static bool is_overestimate(const InstanceConfig *instance, const Seen *now) {
        const PageCount *count = now->pages.items;

        return !instance->learned.seen.is_exact && now->pages.n == 1 &&
               seen_is_all(instance, now, count->page_size_bytes,
                           page_counts_find(&now->base, count->page_size_bytes));
}

static Seen merge_pages(const InstanceConfig *instance, const Seen *now) {
        const Seen *before = &instance->learned.seen;

        if (now->pages.n == 0 && before->pages.n > 0)
                return *before;
        if (before->pages.n == 0 || !holds_for_same(before, now) || has_more(now, before))
                return *now;
        if (!has_more(before, now)) /* the same: what says more is better */
                return now->is_exact ? *now : *before;
        return is_overestimate(instance, now) ? *now : *before;
}

static SmallTables merge_tables(const Seen *before, const Seen *now) {
        if (now->small_tables.bytes == 0)
                return text_equals(before->unit, now->unit) ? before->small_tables
                                                            : (SmallTables){};
        return holds_for_same(before, now) && before->small_tables.bytes > now->small_tables.bytes
                       ? before->small_tables
                       : now->small_tables;
}

Seen seen_merge(const InstanceConfig *instance, const Seen *now) {
        Seen kept = merge_pages(instance, now);

        kept.small_tables = merge_tables(&instance->learned.seen, now);
        return kept;
}

/* ---- as text ---- */

/* "139 pages of 2M", "page tables of 8.1G with small pages (402 processes)", or both. */
char *seen_describe(Arena *arena, const Seen *seen) {
        const SmallTables *tables = &seen->small_tables;
        Text text = text_in(arena);

        if (seen->pages.n > 0)
                text_printf(&text, "it has mapped %s%s", page_counts_format(arena, &seen->pages),
                            seen->is_exact ? "" : ", an estimate");
        if (tables->bytes > 0)
                text_printf(&text, "%spage tables of %s with small pages (%" PRIu64 " process%s)",
                            text.length > 0 ? "; " : "", format_size(arena, tables->bytes),
                            tables->n_processes, tables->n_processes == 1 ? "" : "es");
        return text.string;
}
