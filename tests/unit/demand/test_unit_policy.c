/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The memory policy of a unit: its own preference, or because of a neighbour. */

#include "demand/unit_policy.h"

#include "support/story.h"

static const char *policy_text(Arena *arena, const MemoryPolicy *policy) {
        const char *nodes = id_set_count(&policy->nodes) == ID_SET_MAX
                                    ? "all"
                                    : id_set_format(arena, &policy->nodes);

        switch (policy->kind) {
        case MEMORY_POLICY_BIND:
                return arena_printf(arena, "bind %s", nodes);
        case MEMORY_POLICY_INTERLEAVE:
                return arena_printf(arena, "interleave %s", nodes);
        case MEMORY_POLICY_ANY:
                return "any";
        default:
                return "unknown";
        }
}

PLAIN_VERB(do_policy, "policy") {
        const Config *config = config_line(line->arena, "%s", line->rest);
        const MemoryPolicy policy = unit_policy(config, "a.service");
        const InstanceConfig *neighbour = unit_policy_neighbour(config, "a.service");

        return arena_printf(line->arena, "%s%s%s", policy_text(line->arena, &policy),
                            neighbour ? " for " : "", neighbour ? neighbour->name : "");
}

STORY_TEST(policy, "unit/demand/unit_policy")

TEST(page_sizes) {
        static const struct {
                const char *a, *b;
                bool is_shared;
        } cases[] = {
                {"2M", "2M", true},      {"2M", "1G", false},     {"1G,2M", "2M", true},
                {"default", "1G", true}, {"1G", "default", true}, {"64K,1G", "2M,32M", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const Config *config =
                        config_line(arena, "a Memory=1G PageSize=%s; b Memory=1G PageSize=%s",
                                    cases[i].a, cases[i].b);

                assert_int_equal(
                        instances_share_page_size(&config->instances[0], &config->instances[1]),
                        cases[i].is_shared);
        }
}
