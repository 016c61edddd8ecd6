/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/changes.h"

#include "base/size.h"
#include "base/text.h"

static const char *const kind_names[] = {
        [CHANGE_NONE] = "unchanged", [CHANGE_ADDED] = "added",   [CHANGE_REMOVED] = "removed",
        [CHANGE_GROWN] = "grown",    [CHANGE_SHRUNK] = "shrunk", [CHANGE_MOVED] = "moved",
};

const char *change_kind_name(ChangeKind kind) {
        return kind_names[kind];
}

static uint64_t pages_on(const LedgerInstance *instance, unsigned node) {
        VEC_FOREACH(grant, &instance->grants)
                if (grant->node == node)
                        return grant->pages;
        return 0;
}

static bool is_same_place(const LedgerInstance *before, const LedgerInstance *after) {
        if (before->page_size_bytes != after->page_size_bytes)
                return false;
        VEC_FOREACH(grant, &after->grants)
                if (pages_on(before, grant->node) != grant->pages)
                        return false;
        return true;
}

static Change compare(const LedgerInstance *before, const LedgerInstance *after) {
        Change change = {
                .instance = after ? after->name : before->name,
                .page_size_bytes = after && after->grants.n > 0 ? after->page_size_bytes
                                   : before                     ? before->page_size_bytes
                                                                : 0,
                .pages_before = before ? ledger_granted_pages(before) : 0,
                .pages_after = after ? ledger_granted_pages(after) : 0,
        };

        if (change.pages_before == 0 || change.pages_after == 0)
                change.kind = change.pages_after > 0    ? CHANGE_ADDED
                              : change.pages_before > 0 ? CHANGE_REMOVED
                                                        : CHANGE_NONE;
        else if (before->page_size_bytes == after->page_size_bytes &&
                 change.pages_before != change.pages_after)
                change.kind = change.pages_after > change.pages_before ? CHANGE_GROWN
                                                                       : CHANGE_SHRUNK;
        else
                change.kind = is_same_place(before, after) ? CHANGE_NONE : CHANGE_MOVED;
        return change;
}

Changes changes_between(Arena *arena, const Ledger *before, const Ledger *after) {
        Changes changes = {};

        VEC_FOREACH(instance, &after->instances)
                *vec_push(arena, &changes) =
                        compare(ledger_instance(before, instance->name), instance);
        VEC_FOREACH(instance, &before->instances)
                if (!ledger_instance(after, instance->name))
                        *vec_push(arena, &changes) = compare(instance, NULL);
        return changes;
}

json_t *changes_to_json(const Changes *changes) {
        json_t *array = json_array();

        VEC_FOREACH(change, changes)
                json_array_append_new(
                        array, json_pack("{ss ss sI sI sI}", "instance", change->instance, "change",
                                         change_kind_name(change->kind), "pageSizeBytes",
                                         (json_int_t) change->page_size_bytes, "pagesBefore",
                                         (json_int_t) change->pages_before, "pagesAfter",
                                         (json_int_t) change->pages_after));
        return array;
}

int change_from_json(Arena *arena, const json_t *json, Change *ret) {
        json_int_t size, before, after;
        const char *instance, *kind;

        if (json_unpack((json_t *) json, "{ss ss sI sI sI}", "instance", &instance, "change", &kind,
                        "pageSizeBytes", &size, "pagesBefore", &before, "pagesAfter", &after) < 0)
                return -EPROTO;
        for (size_t i = 0; i < ARRAY_LEN(kind_names); i++)
                if (text_equals(kind, kind_names[i])) {
                        *ret = (Change){arena_strdup(arena, instance), (ChangeKind) i,
                                        (uint64_t) size, (uint64_t) before, (uint64_t) after};
                        return 0;
                }
        return -EPROTO;
}

char *change_format(Arena *arena, const Change *change) {
        const char *size = format_page_size(arena, change->page_size_bytes);
        const char *before = format_count(arena, change->pages_before);
        const char *after = format_count(arena, change->pages_after);

        switch (change->kind) {
        case CHANGE_ADDED:
                return arena_printf(arena, "%s: added, %s pages of %s", change->instance, after,
                                    size);
        case CHANGE_REMOVED:
                return arena_printf(arena, "%s: removed, gave back its %s pages of %s",
                                    change->instance, before, size);
        case CHANGE_GROWN:
        case CHANGE_SHRUNK:
                return arena_printf(arena, "%s: %s from %s to %s pages of %s", change->instance,
                                    change_kind_name(change->kind), before, after, size);
        case CHANGE_MOVED:
                return arena_printf(arena, "%s: moved, %s pages of %s", change->instance, after,
                                    size);
        default:
                return arena_printf(arena, "%s: unchanged", change->instance);
        }
}
