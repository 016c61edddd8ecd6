/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The memory policy that a unit gets: by its own preference, or for the sake of a neighbour. */

#include "demand/unit_policy.h"

#include "support/testing.h"

#define BOUND "Unit=b.service\nPages=1\nNodes=1\nPlacement=bind"

/* Lines of instances, the first of a.service; what it gets ("any", "bind 0-1", "interleave all"), and whom for. */
typedef struct Case {
        const char *a, *b, *c;
        const char *policy, *neighbour;
} Case;

static const Config *config_of(Arena *arena, const Case *row) {
        const char *texts[] = {row->a, row->b, row->c};

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                texts[i] = texts[i] ? arena_printf(arena, "[Instance]\n%s\n", texts[i]) : NULL;
        return config_make(arena, "a.conf", texts[0], texts[1] ? "b.conf" : NULL, texts[1],
                           texts[2] ? "c.conf" : NULL, texts[2], NULL);
}

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

static void assert_cases(Arena *arena, const Case *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const Config *config = config_of(arena, &cases[i]);
                MemoryPolicy policy = unit_policy(config, "a.service");
                const InstanceConfig *neighbour = unit_policy_neighbour(config, "a.service");

                if (!text_equals(policy_text(arena, &policy), cases[i].policy) ||
                    !text_equals(neighbour ? neighbour->name : NULL, cases[i].neighbour))
                        fail_msg("%s | %s: %s for %s", cases[i].a, cases[i].b ? cases[i].b : "-",
                                 policy_text(arena, &policy),
                                 neighbour ? neighbour->name : "nobody");
        }
}

TEST(own_preference) {
        static const Case cases[] = {
                {"Unit=a.service\nPages=1", NULL, NULL, "any", NULL},
                {"Unit=a.service\nPages=1\nNodes=0", NULL, NULL, "any", NULL},
                {"Unit=a.service\nPages=1\nPlacement=pack", NULL, NULL, "any", NULL},
                {"Unit=a.service\nPages=1\nPlacement=bind\nNodes=0,2", NULL, NULL, "bind 0,2",
                 NULL},
                {"Unit=a.service\nNodeMemory=0:1G 3:1G\nPlacement=bind", NULL, NULL, "bind 0,3",
                 NULL},
                {"Unit=a.service\nPages=1\nPlacement=interleave", NULL, NULL, "interleave all",
                 NULL},
                {"Unit=a.service\nPages=1\nPlacement=interleave\nNodes=0-1", NULL, NULL,
                 "interleave 0-1", NULL},
                {"Unit=other.service\nPages=1\nPlacement=bind\nNodes=0", NULL, NULL, "any", NULL},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* A policy holds for all of a unit's processes: there is one only where its instances agree. */
TEST(shared_unit) {
        static const char bound_to_0[] = "Unit=a.service\nPages=1\nPlacement=bind\nNodes=0";
        static const Case cases[] = {
                {bound_to_0, "Unit=a.service\nPages=1\nPlacement=bind\nNodes=2", NULL, "bind 0,2",
                 NULL},
                {bound_to_0, "Unit=a.service\nPages=1", NULL, "any", NULL},
                {bound_to_0, "Unit=a.service\nPages=1\nPlacement=interleave\nNodes=0", NULL, "any",
                 NULL},
                {"Unit=a.service\nPages=1\nPlacement=interleave\nNodes=0",
                 "Unit=a.service\nPages=1\nPlacement=interleave\nNodes=1", NULL, "interleave 0-1",
                 NULL},
                /* A broken file speaks for nobody, and what it meant is not known. */
                {bound_to_0, "Unit=a.service\nPages=x\nPlacement=bind\nNodes=0", NULL, "any", NULL},
                /* A neighbour within the unit is none. */
                {"Unit=a.service\nPages=1", "Unit=a.service\nPages=1", BOUND, "interleave all",
                 "c"},
                {"Unit=a.service\nPages=1\nNodes=0", "Unit=a.service\nPages=1\nNodes=1", BOUND,
                 "interleave 0-1", "c"},
                {"Unit=a.service\nPages=1", "Unit=a.service\nPages=1\nPlacement=pack", BOUND, "any",
                 NULL},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

/* Beside one that is bound to some of the nodes, who is spread takes his pages in turn. */
TEST(beside_bound) {
        static const Case cases[] = {
                {"Unit=a.service\nPages=1", BOUND, NULL, "interleave all", "b"},
                {"Unit=a.service\nPages=1\nNodes=0-1", BOUND, NULL, "interleave 0-1", "b"},
                {"Unit=a.service\nPages=1", "Nodes=1\nPages=1\nPlacement=bind", NULL,
                 "interleave all", "b"}, /* who is not a unit takes pages all the same */
                {"Unit=a.service\nPages=1", "Unit=b.service\nPages=1", BOUND, "interleave all",
                 "c"},
                /* The first by name. */
                {"Unit=a.service\nPages=1", BOUND,
                 "Unit=c.service\nPages=1\nNodes=0\nPlacement=bind", "interleave all", "b"},
                /* In turn means evenly, and that is something else. */
                {"Unit=a.service\nNodeMemory=0:1G 1:3G", BOUND, NULL, "any", NULL},
                {"Unit=a.service\nPages=1\nPlacement=pack", BOUND, NULL, "any", NULL},
                {"Unit=a.service\nPages=1\nPlacement=interleave", BOUND, NULL, "interleave all",
                 NULL},
                /* Who reserves nothing takes nothing, and is taken nothing from. */
                {"Unit=a.service\nEngine=mongodb", BOUND, NULL, "any", NULL},
                {"Unit=a.service\nPages=1", "Unit=b.service\nPages=x\nNodes=1\nPlacement=bind",
                 NULL, "any", NULL},
                /* Pages of another size are no matter; "default" may be any. */
                {"Unit=a.service\nPages=1\nPageSize=1G", BOUND "\nPageSize=2M", NULL, "any", NULL},
                {"Unit=a.service\nPages=1\nPageSize=1G", BOUND, NULL, "interleave all", "b"},
                {"Unit=a.service\nPages=1\nPageSize=1G,2M", BOUND "\nPageSize=2M", NULL,
                 "interleave all", "b"},
        };

        assert_cases(arena, cases, ARRAY_LEN(cases));
}

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
