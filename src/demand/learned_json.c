/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "demand/learned.h"

#include "base/text.h"
#include "demand/unit_policy.h"

#include <string.h>

/* Each function returns 0 or -EINVAL. A member that is missing or null is not known. */

static int take_counts(Arena *arena, const json_t *json, const InstanceConfig *instance,
                       const Topology *topology, PageCounts *ret) {
        const uint64_t *sizes;
        size_t n = instance_page_sizes(arena, instance, topology, &sizes);

        if (!json || json_is_null(json))
                return 0;
        if (page_counts_from_json(arena, json, topology, ret) < 0 ||
            VEC_ANY(count, ret, !ARRAY_ANY(size, sizes, n, *size == count->page_size_bytes)))
                return -EINVAL;
        return 0;
}

static int take_flag(const json_t *json, bool *ret) {
        *ret = json_is_true(json);
        return !json || json_is_null(json) || json_is_boolean(json) ? 0 : -EINVAL;
}

/* Reads a word that becomes a line of a file that every user may read. CHARACTERS: NULL: all that are printable. */
static int take_word(Arena *arena, const json_t *json, size_t bytes_max, const char *characters,
                     const char **ret) {
        const char *word = json_string_value(json);

        if (!json || json_is_null(json))
                return 0;
        if (!word || !*word || strlen(word) != json_string_length(json) ||
            !text_equals(text_excerpt(arena, word, bytes_max), word) ||
            (characters && word[strspn(word, characters)]))
                return -EINVAL;
        *ret = arena_strdup(arena, word);
        return 0;
}

int learned_from_json(Arena *arena, const json_t *json, const InstanceConfig *instance,
                      const Topology *topology, Learned *ret) {
        const json_t *pages = NULL, *by_rule = NULL, *exact = NULL, *fixed = NULL, *running = NULL,
                     *version = NULL, *settings = NULL;
        bool has_size = instance_learns_size(instance);
        Learned learned = {};

        if (json_unpack((json_t *) json, "{s:o, s:o, s?o, s?o, s?o, s?o, s?o !}", "pages", &pages,
                        "exact", &exact, "byRule", &by_rule, "fixed", &fixed, "running", &running,
                        "version", &version, "settings", &settings) < 0 ||
            take_counts(arena, pages, instance, topology, &learned.pages) < 0 ||
            take_counts(arena, by_rule, instance, topology, &learned.by_rule) < 0 ||
            take_flag(exact, &learned.is_exact) < 0 || take_flag(fixed, &learned.is_fixed) < 0 ||
            take_flag(running, &learned.is_of_running) < 0 ||
            take_word(arena, version, LEARNED_VERSION_BYTES_MAX, has_size ? NULL : "0123456789.",
                      &learned.version) < 0 ||
            take_word(arena, settings, LEARNED_SETTINGS_BYTES_MAX, "0123456789abcdef",
                      &learned.settings) < 0)
                return -EINVAL;
        /* Without a size only the version is learned. */
        if (has_size != (learned.pages.n > 0) ||
            (!has_size && (!learned.version || learned.by_rule.n > 0)))
                return -EINVAL;
        learned.thp = learned_thp(instance->engine, learned.version);
        *ret = learned;
        return 0;
}
