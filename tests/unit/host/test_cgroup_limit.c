/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "host/cgroup_limit.h"
#include "inspect/pages/page_users.h"
#include "inspect/process_files.h"
#include "support/tree_story.h"

static const char *reason_text(Arena *arena, const Reason *reason) {
        if (reason->kind == REASON_NONE)
                return "ok";
        return arena_printf(arena, "%s: %s; %s", reason_id(reason->kind), reason->text,
                            reason->remedy ? reason->remedy : "-");
}

/* Whether a limit can be set on this host. */
TREE_VERB(do_judge, "judge") {
        const Reason reason = cgroup_limit_judge(story->tree->root);

        return reason_text(line->arena, &reason);
}

/* UNIT [LINE of /proc/self/cgroup]: the unit's group, if this process is in it; "(version 1)": in a hierarchy that
 * counts no pages. */
TREE_VERB(do_own, "own") {
        const Tree *tree = story->tree;

        if (line->words[2])
                tree_write(tree, "/proc/self/cgroup", story_lines(line, 2));
        const char *group = unit_cgroup_own(tree->root, line->arena, line->words[1]);
        bool is_own = unit_cgroup_is_own(tree->root, line->words[1]);

        assert_true(is_own || !group);
        return is_own && !group ? "(version 1)" : group;
}

/* GROUP: no pages of 1G, 140 of 2M; "count": only counts. */
TREE_VERB(do_set, "count set") {
        static PageCount counts[] = {{GIB, 0}, {2 * MIB, 140}};
        static const PageCounts limits = {.items = counts, .n = ARRAY_LEN(counts)};
        const Tree *tree = story->tree;
        const char *group = line->words[1];
        const Reason reason = text_equals(line->words[0], "count")
                                      ? cgroup_limit_count(tree->root, line->arena, group)
                                      : cgroup_limit_set(tree->root, line->arena, group, &limits);

        return reason_text(line->arena, &reason);
}

/* The only unit that uses pages, and whether it has a limit. */
TREE_VERB(do_user, "user") {
        const Topology *host =
                host_make(line->arena, "sizes 2M\nnode 0 total=4G free=3G 2M=9/0/0\n");
        const PageUsers *page_users = page_users_find(story->tree->root, line->arena, host);

        assert_int_equal(page_users->list.n, 1);
        return arena_printf(line->arena, "%s %s", page_users->list.items[0].unit,
                            page_users->list.items[0].is_limited ? "limited" : "unlimited");
}

STORY_TEST(stories, "unit/host/cgroup_limit", TREE_TELLER)
