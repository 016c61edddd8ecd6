/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading values from JSON: the second half of json_value.h. */
#include "base/text.h"
#include "status/json_value.h"

uint64_t count_from_json(const json_t *object, const char *key) {
        json_int_t value = json_integer_value(json_object_get(object, key));

        return value > 0 ? (uint64_t) value : 0;
}

const char *text_from_json(Arena *arena, const json_t *object, const char *key) {
        const char *string = json_string_value(json_object_get(object, key));

        return string ? text_printable(arena, string) : NULL;
}

json_t *text_to_json(Arena *arena, const char *string) {
        return string ? json_string(text_printable(arena, string)) : json_null();
}

NodePages *node_pages_from_json(Arena *arena, const json_t *array, size_t *ret_n) {
        size_t n = json_array_size(array);
        NodePages *nodes = ARENA_ARRAY(arena, NodePages, n + 1);

        for (size_t i = 0; i < n; i++) {
                const json_t *item = json_array_get(array, i);

                nodes[i] = (NodePages){(unsigned) count_from_json(item, "node"),
                                       count_from_json(item, "pages")};
        }
        *ret_n = n;
        return nodes;
}
