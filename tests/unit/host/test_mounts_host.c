/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The mounts of instances on a host (mounts_host.stories).
 *
 *     generate                    the unit of a mount at /mnt/a, as the generator writes it
 *     problems MOUNT -> TEXT      of an instance with Mount=MOUNT min_size=4M
 *     use PATH -> 2M 2 0          the page size, and earmarked and used pages, of a mount there
 */

#include "base/size.h"
#include "host/mounts.h"
#include "host/unit_facts.h"
#include "support/tree_story.h"

static const Config *config_of(Arena *arena, const char *mount) {
        return config_make(
                arena, "a.conf",
                arena_printf(arena, "[Instance]\nPages=10\nUser=db\nMount=%s min_size=4M\n", mount),
                NULL);
}

static MountUnits units_of(const Tree *tree, const char *mount) {
        tree_write(tree, "/etc/passwd", "db:x:109:117::/:/bin/sh\n");
        tree_write(tree, "/run/systemd/system/x.service", "");
        return mounts_of(tree->root, tree->arena, config_of(tree->arena, mount),
                         host_make(tree->arena, "sizes 2M\nnode 0 total=64G free=60G\n"));
}

TREE_VERB(do_generate, "generate") {
        const MountUnits units = units_of(story->tree, "/mnt/a");

        tree_write(story->tree, "/run/systemd/generator.late/mnt-a.mount", units.items[0].text);
        return NULL;
}

TREE_VERB(do_problems, "problems") {
        MountUnits units = units_of(story->tree, line->rest);
        Diags problems = diags_in(line->arena);

        assert_int_equal(units.n, 1);
        mounts_check(story->tree->root, &units, &problems);
        return problems_text(line->arena, &problems);
}

TREE_VERB(do_use, "use") {
        const MountUse use = mounts_use(story->tree->root,
                                        &config_of(line->arena, line->words[1])->instances[0]);

        return use.page_size_bytes == 0
                       ? NULL
                       : arena_printf(line->arena, "%s %" PRIu64 " %" PRIu64,
                                      format_page_size(line->arena, use.page_size_bytes),
                                      use.earmarked_pages, use.used_pages);
}

STORY_TEST(stories, "unit/host/mounts_host", TREE_TELLER)
