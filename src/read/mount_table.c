/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/mount_table.h"

#include "base/size.h"
#include "base/text.h"

#include <string.h>

/* "\040" -> " ": mountinfo escapes spaces, tabs, line ends and backslashes like this. */
static char *unescape(Arena *arena, const char *field) {
        char *copy = arena_strdup(arena, field), *to = copy;

        for (const char *from = field; *from; to++) {
                bool is_octal = from[0] == '\\' && strspn(from + 1, "01234567") >= 3 &&
                                from[1] <= '3';

                *to = is_octal ? (char) ((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0')
                               : *from;
                from += is_octal ? 4 : 1;
        }
        *to = '\0';
        return copy;
}

/* "29 1 0:25 / /dev/hugepages rw,relatime shared:9 - hugetlbfs none rw,pagesize=2M". */
MountTable mount_table_parse(Arena *arena, const char *text) {
        MountTable table = {};
        const char *line;

        while ((line = text_next_word(arena, &text, "\n"))) {
                const char *path = NULL, *word = NULL;

                for (int i = 0; i < 5; i++)
                        path = text_next_word(arena, &line, " ");
                while (path && (word = text_next_word(arena, &line, " ")) &&
                       !text_equals(word, "-"))
                        ;
                const char *type = word ? text_next_word(arena, &line, " ") : NULL;
                const char *source = type ? text_next_word(arena, &line, " ") : NULL;
                const char *options = source ? text_next_word(arena, &line, " ") : NULL;

                if (options)
                        *vec_push(arena, &table) =
                                (MountEntry){unescape(arena, path), type, options};
        }
        return table;
}

const MountEntry *mount_table_find(const MountTable *table, const char *path) {
        const MountEntry *found = NULL;

        VEC_FOREACH(entry, table)
                if (text_equals(entry->path, path))
                        found = entry;
        return found;
}

/* ---- hugetlbfs ---- */

bool mount_entry_read(Arena *arena, const MountEntry *entry, HugeMount *ret) {
        HugeMount mount = {.mode = 0755}; /* the default, which the kernel does not show */
        const struct {
                const char *name;
                uint64_t *value;
        } numbers[] = {
                {"pagesize=", &mount.page_size_bytes},
                {"uid=", &mount.uid},
                {"gid=", &mount.gid},
                {"size=", &mount.size_bytes},
                {"min_size=", &mount.min_size_bytes},
        };

        if (!text_equals(entry->type, "hugetlbfs"))
                return false;
        TEXT_FOREACH(word, arena, entry->options, ",") {
                ARRAY_FOREACH(number, numbers, ARRAY_LEN(numbers))
                        if (text_starts_with(word, number->name))
                                parse_size_bytes(word + strlen(number->name), number->value);
                if (!text_starts_with(word, "mode="))
                        continue;
                mount.mode = 0;
                for (word += strlen("mode="); *word >= '0' && *word <= '7' && mount.mode < 01000;
                     word++)
                        mount.mode = mount.mode * 8 + (unsigned) (*word - '0');
        }
        *ret = mount;
        return true;
}

bool huge_mount_equals(const HugeMount *a, const HugeMount *b) {
        return a->page_size_bytes == b->page_size_bytes && a->uid == b->uid && a->gid == b->gid &&
               a->mode == b->mode && a->size_bytes == b->size_bytes &&
               a->min_size_bytes == b->min_size_bytes;
}
