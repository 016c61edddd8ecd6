/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any string as a number, a size, a share, a time span, a boolean, a list of nodes: it is refused without an effect, or its
 * value is printed and read again as the same. */

#include "base/id_set.h"
#include "base/size.h"
#include "base/text.h"
#include "fuzz/fuzz.h"
#include "units/mount_unit.h"

enum { UNTOUCHED = 4711 };

/* The value, if the parser accepts STRING. */
static bool try_parse(int (*parse)(const char *, uint64_t *), const char *string, uint64_t *ret) {
        *ret = UNTOUCHED;
        int r = parse(string, ret);

        require(r == 0 || ((r == -EINVAL || r == -ERANGE) && *ret == UNTOUCHED));
        return r == 0;
}

static void check_numbers(Arena *arena, const char *string) {
        uint64_t value, again;

        if (try_parse(parse_u64, string, &value)) {
                require(strspn(string, "0123456789") == strlen(string) && *string);
                require(try_parse(parse_size_bytes, string, &again) && again == value);
                require(try_parse(parse_u64, arena_printf(arena, "%" PRIu64, value), &again) &&
                        again == value);
        }
        if (try_parse(parse_size_bytes, string, &value)) {
                require(try_parse(parse_size_bytes, format_page_size(arena, value), &again) &&
                        again == value);
                require(*format_size(arena, value));
        }
        if (try_parse(parse_percent_hundredths, string, &value))
                require(value <= 10000 && text_ends_with(string, "%"));
        if (try_parse(parse_duration_usec, string, &value)) {
                require(*format_duration(arena, value));
                require((value == UINT64_MAX) == text_equals(string, "infinity"));
        }
        require(*format_count(arena, value));
}

static void check_set(Arena *arena, const char *string) {
        IdSet set = {}, again;

        if (id_set_parse(string, &set) < 0) {
                require(id_set_is_empty(&set));
                return;
        }
        require(id_set_parse(id_set_format(arena, &set), &again) == 0);
        require(memcmp(&set, &again, sizeof(set)) == 0);
        unsigned n = 0;

        ID_SET_FOREACH(id, &set)
                n += id_set_has(&set, id);
        require(n == id_set_count(&set));
}

/* No line is wider than the limit, unless it is one long word; no word is lost. */
static void check_wrapping(Arena *arena, const char *string) {
        Text text = text_in(arena);
        const char *words = string, *wrapped;
        char *word, *same;

        if (!text_is_utf8(string, strlen(string)) || strpbrk(string, "\n"))
                return;
        text_add_wrapped(&text, "", "", string, 20);
        wrapped = text.string;
        while ((word = text_next_word(arena, &words, " "))) {
                same = text_next_word(arena, &wrapped, " \n");
                require(text_equals(word, same));
        }
        require(!text_next_word(arena, &wrapped, " \n"));
        for (const char *line = text.string; *line; line += strcspn(line, "\n") + 1) {
                const char *one = arena_strndup(arena, line, strcspn(line, "\n"));

                require(text_width(one) <= 20 || !strchr(one, ' '));
        }
}

FUZZ(arena, data, size) {
        const char *string = fuzz_text(arena, data, size);
        bool yes = true, no = false;

        check_numbers(arena, string);
        check_set(arena, string);
        check_wrapping(arena, string);
        /* As mountinfo: a mount that was read is found, and is the same when read again. */
        const MountTable table = mount_table_parse(arena, string);
        HugeMount mount, again;

        VEC_FOREACH(entry, &table) {
                require(entry->path && entry->type && entry->options);
                require(text_equals(mount_table_find(&table, entry->path)->path, entry->path));
                if (!mount_entry_read(arena, entry, &mount) || mount.mode > 01777)
                        continue;
                const MountEntry copy = {entry->path, "hugetlbfs",
                                         huge_mount_format(arena, &mount)};

                require(mount_entry_read(arena, &copy, &again));
                require(again.uid == mount.uid && again.mode == mount.mode &&
                        again.min_size_bytes == mount.min_size_bytes);
        }
        require(parse_boolean(string, &yes) == parse_boolean(string, &no));
        require(yes == no || (yes && !no));
        text_is_utf8((const char *) data, size);
}
