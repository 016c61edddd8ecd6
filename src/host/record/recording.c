/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/record/recording.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum {
        LINKS_MAX = 40, /* in one path, as in the kernel */
        BLOCK = 512,
};

static void add(Recorder *recorder, RecordedKind kind, const char *path, const char *bytes,
                size_t size) {
        Recording *recording = (Recording *) recorder; /* the recorder is the first member */
        Index *index = kind == RECORDED_FILE ? recording->files : recording->names;

        if (index_find(index, path))
                return;
        if (recording->bytes + size + strlen(path) > RECORDING_BYTES_MAX) {
                recording->is_full = true;
                return;
        }
        recording->bytes += size + strlen(path);
        char *copy = arena_alloc(recording->arena, size + 1);
        Recorded *recorded = ARENA_NEW(recording->arena, Recorded);

        memcpy(copy, size > 0 ? bytes : "", size);
        *recorded = (Recorded){kind, arena_strdup(recording->arena, path), copy, size,
                               recording->list.n};
        *vec_push(recording->arena, &recording->list) = recorded;
        index_add(index, recorded->path, recorded);
}

static bool has_name(const Recorder *recorder, const char *path) {
        return index_find(((const Recording *) recorder)->names, path);
}

Recording recording_in(Arena *arena) {
        return (Recording){.recorder = {add, has_name},
                           .arena = arena,
                           .names = index_new(arena),
                           .files = index_new(arena)};
}

/* ---- the tree ---- */

static const Recorded *find_link(const Recording *recording, const char *path) {
        const Recorded *found = index_find(recording->names, path);

        return found && found->kind == RECORDED_LINK ? found : NULL;
}

/* Resolves PATH; returns "" for the top, or NULL for a loop of links. Follows the last part only if FOLLOWS_LAST. */
static char *resolve(Arena *arena, const Recording *recording, const char *path,
                     bool follows_last) {
        const char *rest = path, *part;
        char *at = arena_strdup(arena, "");
        unsigned n_links = 0;

        while ((part = text_next_word(arena, &rest, "/"))) {
                bool is_last = rest[strspn(rest, "/")] == '\0';

                if (text_equals(part, "."))
                        continue;
                if (text_equals(part, "..")) {
                        /* "/a/b" for "/a/b/c"; the parent of the top is the top */
                        at = arena_strdup_to(arena, at, strrchr(at, '/') ?: at);
                        continue;
                }
                char *next = arena_printf(arena, "%s/%s", at, part);
                const Recorded *link = !is_last || follows_last ? find_link(recording, next) : NULL;

                if (!link) {
                        at = next;
                        continue;
                }
                if (n_links++ == LINKS_MAX)
                        return NULL;
                at = *link->bytes == '/' ? arena_strdup(arena, "") : at;
                rest = arena_printf(arena, "%s/%s", link->bytes, rest);
        }
        return at;
}

static int compare(const void *a, const void *b) {
        const Recorded *first = a, *second = b;
        int r = strcmp(first->path, second->path);

        if (r != 0)
                return r;
        return first->kind != second->kind    ? (int) second->kind - (int) first->kind
               : first->order < second->order ? -1
                                              : first->order > second->order;
}

RecordedTree recording_tree(Arena *arena, const Recording *recording) {
        RecordedTree tree = {};
        const char *last = "";

        VEC_FOREACH(each, &recording->list) {
                Recorded entry = **each;

                entry.path = resolve(arena, recording, entry.path, entry.kind == RECORDED_FILE);
                if (entry.path && *entry.path)
                        *vec_push(arena, &tree) = entry;
        }
        vec_sort(&tree, compare);
        VEC_KEEP(entry, &tree,
                 !text_equals(entry->path, last) ? (last = entry->path, true) : false);
        return tree;
}

/* ---- the archive ---- */

typedef struct __attribute__((packed)) Header {
        char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
        char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155];
        char unused[12];
} Header;
_Static_assert(sizeof(Header) == BLOCK, "a header of ustar is a block");

static void add_header(Text *archive, const char *name, const char *link, char type, size_t size) {
        Header header = {.type = type, .magic = "ustar", .version = {'0', '0'}};
        unsigned sum = 0;

        memcpy(header.name, name, strnlen(name, sizeof(header.name)));
        memcpy(header.link, link, strnlen(link, sizeof(header.link)));
        snprintf(header.mode, sizeof(header.mode), "%07o", type == '5' ? 0755U : 0644U);
        snprintf(header.uid, sizeof(header.uid), "%07o", 0U);
        snprintf(header.gid, sizeof(header.gid), "%07o", 0U);
        snprintf(header.size, sizeof(header.size), "%011zo", size);
        snprintf(header.mtime, sizeof(header.mtime), "%011o", 0U);
        memset(header.checksum, ' ', sizeof(header.checksum));
        for (size_t i = 0; i < sizeof(header); i++)
                sum += ((const unsigned char *) &header)[i];
        snprintf(header.checksum, sizeof(header.checksum), "%06o", sum);
        text_add_n(archive, (const char *) &header, sizeof(header));
}

static void add_contents(Text *archive, const char *bytes, size_t size) {
        text_add_n(archive, bytes, size);
        text_repeat(archive, '\0', (BLOCK - size % BLOCK) % BLOCK);
}

/* "30 path=usr/lib/...\n": the length includes its own digits. */
static void add_pax(Text *records, const char *key, const char *value) {
        size_t length = strlen(key) + strlen(value) + strlen(" =\n"), digits = 1;

        while ((size_t) snprintf(NULL, 0, "%zu", length + digits) != digits)
                digits++;
        text_printf(records, "%zu %s=%s\n", length + digits, key, value);
}

static void add_entry(Text *archive, const Recorded *entry) {
        static const char types[] = {
                [RECORDED_NAME] = '0',
                [RECORDED_DIRECTORY] = '5',
                [RECORDED_LINK] = '2',
                [RECORDED_FILE] = '0',
        };
        bool is_link = entry->kind == RECORDED_LINK;
        const char *name = entry->path + 1, *link = is_link ? entry->bytes : "";
        size_t size = entry->kind == RECORDED_FILE ? entry->size : 0;
        Text records = text_in(archive->arena);

        if (strlen(name) > sizeof(((Header *) NULL)->name))
                add_pax(&records, "path", name);
        if (strlen(link) > sizeof(((Header *) NULL)->link))
                add_pax(&records, "linkpath", link);
        if (records.length > 0) {
                add_header(archive, "pax", "", 'x', records.length);
                add_contents(archive, records.string, records.length);
        }
        add_header(archive, name, link, types[entry->kind], size);
        add_contents(archive, entry->bytes, size);
}

char *recording_archive(Arena *arena, const RecordedTree *tree, size_t *ret_size) {
        Text archive = text_in(arena);

        VEC_FOREACH(entry, tree)
                add_entry(&archive, entry);
        text_repeat(&archive, '\0', (size_t) 2 * BLOCK);
        *ret_size = archive.length;
        return archive.string;
}
