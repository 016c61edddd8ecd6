/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lines that mention huge pages where no format says what they do: commands of units and of scripts, rules of udev,
 * what a boot loader hands over next time. They are listed, never interpreted. */

#include "base/text.h"
#include "read/settings/setting_source_inside.h"

#include <ctype.h>
#include <string.h>

/* Files of the kernel, tools that write them, and variables that tools take, in small letters. */
static const char *const mentions[] = {
        "hugepage", "nr_huge", "hugetlb",     "hugeadm",     "allocpages",
        "nrhuge",   "hugemem", "nr_2m_pages", "nr_1g_pages", "spdk/scripts/setup.sh",
};
/* Of these words the ones that set nothing: mounts, options of programs, /proc/meminfo. */
static const char *const harmless[] = {"/dev/hugepages", "hugetlbfs", "usetransparenthugepages",
                                       "hugepagesize"};

static bool is_word_byte(char c) {
        return isalnum((unsigned char) c) || (unsigned char) c >= 0x80 ||
               (c && strchr("_-./+*%~!?^", c));
}

const char *setting_source_take_word(Arena *arena, const char **at) {
        bool is_variable = false;

        for (; **at && !is_word_byte(**at); (*at)++)
                is_variable = **at == '$';
        const char *begin = *at, *end = begin;

        while (is_word_byte(*end))
                end++;
        *at = end;
        if (begin == end)
                return NULL;
        begin += is_variable ? strcspn(begin, "/") : strspn(begin, "-+!");
        return begin < end ? arena_strdup_to(arena, begin, end) : "";
}

/* NULs are spaces then. */
static char *lower(Arena *arena, const char *text, size_t size) {
        char *copy = arena_alloc(arena, size + 1);

        for (size_t i = 0; i < size; i++)
                copy[i] = (char) (text[i] ? tolower((unsigned char) text[i]) : ' ');
        return copy;
}

/* TEXT is in small letters. */
static bool has_mention(const char *text) {
        return ARRAY_ANY(each, mentions, ARRAY_LEN(mentions), strstr(text, *each) != NULL);
}

bool setting_source_is_mention(const char *word) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *name = lower(arena, word, strlen(word));

        return has_mention(name) &&
               !ARRAY_ANY(each, harmless, ARRAY_LEN(harmless), strstr(name, *each) != NULL);
}

/* The first word of a line that mentions them; transparent huge pages are another matter than pools. */
static void take_line(const SettingSearch *search, const char *line) {
        bool is_tuned = search->file->source == SETTING_SOURCE_TUNED;
        const char *word;

        while ((word = setting_source_take_word(search->arena, &line)) &&
               !setting_source_is_mention(word))
                ;
        if (word && !(is_tuned && strstr(word, "transparent"))) /* there all of these are read */
                setting_source_add_entry(search,
                                         strstr(word, "transparent") ? SETTING_SOURCE_UNCLEAR_THP
                                                                     : SETTING_SOURCE_UNCLEAR,
                                         word, "", "");
}

static bool is_read(const SettingSearch *search) {
        const SettingSourceList *list = &search->entries->list;

        return ARRAY_ANY(entry, list->items + search->n_before, list->n - search->n_before,
                         entry->line == search->line);
}

void setting_source_search_mentions(SettingSearch *search) {
        const SettingSourceFile *file = search->file;
        SourceLines lines = source_lines(&(SourceText){.text = file->text, .size = file->size});
        bool is_command = true, goes_on = false;

        if (!has_mention(lower(search->arena, file->text, file->size))) /* as most do not */
                return;
        search->section = file->runs ? file->runs
                                     : arena_printf(search->arena, "%s applies it",
                                                    setting_source_source_name(file->source));
        for (char *line; (line = source_line(search->arena, &lines));) {
                const char *text = text_strip(search->arena, line);

                /* Of a unit what it runs, not what it depends on. */
                if (file->is_unit && !goes_on)
                        is_command = text_starts_with(text, "Exec") ||
                                     text_starts_with(text, "Environment");
                goes_on = text_ends_with(text, "\\");
                search->line = lines.number;
                if (is_command && *text != '#' && *text != ';' && !is_read(search))
                        take_line(search, text);
        }
}
