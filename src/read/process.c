/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/process.h"

#include "base/size.h"
#include "base/text.h"

#include <string.h>

char *process_find_field(Arena *arena, const char *text, const char *key) {
        size_t length = strlen(key);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (text_starts_with(line, key) && line[length] == ':') {
                        const char *value = line + length + 1;

                        return text_strip(arena, arena_strndup(arena, value, strcspn(value, "\n")));
                }
        }
        return NULL;
}

/* "   14336 kB" */
uint64_t process_find_bytes(Arena *arena, const char *text, const char *key) {
        const char *value = process_find_field(arena, text, key);
        const char *number = value ? text_next_word(arena, &value, " ") : NULL;
        uint64_t kib;

        return number && parse_u64(number, &kib) == 0 && text_equals(value, " kB")
                       ? mul_saturated(kib, KIB)
                       : 0;
}

/* proc_pid_stat(5): "812 (a name (of any kind)) S 1 ..."; the start time is in clock ticks since boot, of which user
 * space sees 100 per second on every current architecture. */
int process_parse_age(Arena *arena, const char *stat, const char *uptime, uint64_t *ret_usec) {
        enum { START_FIELD = 20, TICKS = 100 }; /* after the name */
        const char *rest = strrchr(stat, ')'), *field = NULL;
        uint64_t ticks, seconds;

        if (!rest)
                return -EINVAL;
        rest++;
        for (size_t i = 0; i < START_FIELD; i++)
                field = text_next_word(arena, &rest, " ");
        if (!field || parse_u64(field, &ticks) < 0 || take_digits(&uptime, &seconds) < 0)
                return -EINVAL;
        *ret_usec = mul_saturated(sub_floored(seconds, ticks / TICKS), USEC_PER_SEC);
        return 0;
}

int process_compare_units(const Process *a, const Process *b) {
        if (!a->unit || !b->unit)
                return (a->unit != NULL) - (b->unit != NULL);
        return strcmp(a->unit, b->unit);
}

/* ---- status ---- */

int process_parse_status(Arena *arena, const char *text, Process *ret) {
        const char *command = process_find_field(arena, text, "Name");
        const char *parent = process_find_field(arena, text, "PPid");

        if (!command)
                return -EINVAL;
        ret->command = text_printable(arena, command);
        ret->huge_bytes = process_find_bytes(arena, text, "HugetlbPages");
        ret->size_bytes = process_find_bytes(arena, text, "VmSize");
        ret->resident_bytes = process_find_bytes(arena, text, "VmRSS");
        ret->tables_bytes = process_find_bytes(arena, text, "VmPTE");
        ret->parent_pid = 0;
        if (parent)
                parse_u64(parent, &ret->parent_pid);
        return 0;
}

/* ---- numa_maps ---- */

/* "7f6957600000 default file=/anon_hugepage\040(deleted) huge dirty=3 N0=3 kernelpagesize_kB=2048"; whitespace in file
 * names is escaped. */
HugeMappings process_parse_numa_maps(Arena *arena, const char *text) {
        static const char size_key[] = "kernelpagesize_kB=";
        HugeMappings mappings = {};

        TEXT_FOREACH(line, arena, text, "\n") {
                HugeMapping mapping = {};
                const char *address;
                bool is_huge = false;
                NodePages here;
                uint64_t kib;

                if (!strstr(line, " huge") || !(address = text_next_word(arena, &line, " ")) ||
                    parse_hex_u64(address, &mapping.address) < 0)
                        continue;
                TEXT_FOREACH(word, arena, line, " ") {
                        if (text_equals(word, "huge"))
                                is_huge = true;
                        else if (process_parse_node_pages(arena, word, &here)) {
                                *vec_push(arena, &mapping.nodes) = here;
                                mapping.pages = add_saturated(mapping.pages, here.pages);
                        } else if (text_starts_with(word, size_key) &&
                                   parse_u64(word + strlen(size_key), &kib) == 0)
                                mapping.page_size_bytes = mul_saturated(kib, KIB);
                }
                /* Until maps is read, each mapping counts as a separate part of one unknown segment. */
                mapping.offset_bytes = mapping.address;
                if (is_huge)
                        *vec_push(arena, &mappings) = mapping;
        }
        return mappings;
}

/* ---- maps ---- */

/* "00:11", in hexadecimal in maps and in decimal in mountinfo. */
static int parse_device(Arena *arena, const char *word, int (*parse)(const char *, uint64_t *),
                        uint64_t *ret) {
        const char *colon = strchr(word, ':');
        uint64_t major, minor;

        if (!colon || parse(arena_strdup_to(arena, word, colon), &major) < 0 ||
            parse(colon + 1, &minor) < 0 || major > UINT32_MAX || minor > UINT32_MAX)
                return -EINVAL;
        *ret = major << 32 | minor;
        return 0;
}

/* "7f6957600000-7f6958600000 rw-s 00000000 00:11 454962     /anon_hugepage (deleted)". */
bool process_next_map(Arena *arena, const char **text, MapsLine *ret) {
        const char *line;

        while ((line = text_next_word(arena, text, "\n"))) {
                const char *start = text_next_word(arena, &line, "-");
                const char *end = text_next_word(arena, &line, "- ");
                const char *rights = text_next_word(arena, &line, " ");
                const char *offset = text_next_word(arena, &line, " ");
                const char *device = text_next_word(arena, &line, " ");
                const char *inode = text_next_word(arena, &line, " ");

                if (!inode || parse_hex_u64(start, &ret->start) < 0 ||
                    parse_hex_u64(end, &ret->end) < 0 || parse_hex_u64(offset, &ret->offset) < 0 ||
                    parse_device(arena, device, parse_hex_u64, &ret->device) < 0 ||
                    parse_u64(inode, &ret->inode) < 0 || ret->end <= ret->start)
                        continue;
                ret->is_private = text_ends_with(rights, "p");
                ret->is_writable = strchr(rights, 'w') != NULL;
                ret->path = line + strspn(line, " ");
                return true;
        }
        return false;
}

void process_add_maps(Arena *arena, const char *text, HugeMappings *mappings) {
        MapsLine maps;
        size_t i = 0;

        /* Both lists are in the order of addresses. */
        while (i < mappings->n && process_next_map(arena, &text, &maps)) {
                while (i < mappings->n && mappings->items[i].address < maps.start)
                        i++;
                if (i == mappings->n || mappings->items[i].address != maps.start)
                        continue;
                mappings->items[i].device = maps.device;
                mappings->items[i].inode = maps.inode;
                mappings->items[i].offset_bytes = maps.offset;
                mappings->items[i].length_bytes = maps.end - maps.start;
                mappings->items[i].is_private = maps.is_private;
        }
}

void process_keep_mappings(Arena *arena, const HugeMappings *mappings, Process *process) {
        VEC_FOREACH(mapping, mappings) {
                HugeMapping *kept = vec_push(arena, &process->mappings);

                *kept = *mapping;
                kept->nodes = pages_by_node_copy(arena, &mapping->nodes);
        }
        process->is_detailed = true;
}

/* "29 1 0:25 / /dev/hugepages rw,relatime shared:9 - hugetlbfs hugetlbfs rw,pagesize=2M". */
Devices process_parse_hugetlbfs(Arena *arena, const char *text) {
        Devices devices = {};
        char *line;

        while ((line = text_next_word(arena, &text, "\n"))) {
                const char *rest = line, *word = NULL;
                uint64_t device;

                if (!strstr(line, " - hugetlbfs "))
                        continue;
                for (int i = 0; i < 3; i++)
                        word = text_next_word(arena, &rest, " ");
                if (word && parse_device(arena, word, parse_u64, &device) == 0)
                        *vec_push(arena, &devices) = device;
        }
        return devices;
}
