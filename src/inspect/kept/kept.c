/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/kept/kept.h"
#include "base/text.h"
#include "check/host_facts.h"
#include "engines/reader.h"
#include "model/names.h"

#include <ctype.h>
#include <fnmatch.h>

/* How files are read that no engine reads as a whole; the first match applies. */
typedef enum Kind {
        KIND_WORDS,
        KIND_WHOLE,  /* written only by the kernel or hugeplan */
        KIND_OURS,   /* whole lines, without comments */
        KIND_FIELDS, /* lines of fields */
        KIND_MAPS,   /* addresses, and the kind of memory mapped */
        KIND_ALERTS, /* an alert log */
} Kind;

typedef struct FileKind {
        const char *files;
        Kind kind;
        const char *separators;
        unsigned fields;  /* the fields that are read, numbered from 0 */
        const char *more; /* a line that contains it is kept whole */
} FileKind;

static const FileKind kinds[] = {
        {PATH_CMDLINE, KIND_WORDS},
        {"/proc/*/cmdline", KIND_WORDS},
        {"/proc/*/status", KIND_WORDS},
        {"/proc/*maps", KIND_MAPS},
        {"/proc/*mountinfo", KIND_FIELDS, " ", 0x1F, "hugetlbfs"},
        {"/proc/*mounts", KIND_FIELDS, " ", 1U << 1 | 1U << 2, "cgroup2"},
        {"/proc/*", KIND_WHOLE},
        {"/sys/*", KIND_WHOLE},
        {"/run/hugeplan/*", KIND_WHOLE},
        {PATH_SYSCTL_GUARD, KIND_WHOLE},
        {PATH_PAM_LIMITS, KIND_WHOLE},
        {"*/hugeplan.d/*", KIND_OURS},
        {"*/tuned/*_profile", KIND_OURS},
        {"*/passwd", KIND_FIELDS, ":", 1U << 0 | 1U << 2 | 1U << 3 | 1U << 5},
        {"*/group", KIND_FIELDS, ":", 1U << 0 | 1U << 2 | 1U << 3},
        {"*/oratab", KIND_FIELDS, ":# \t", 1U << 0 | 1U << 1 | 1U << 2},
        {"*/orabasetab", KIND_FIELDS, ":# \t", 1U << 0 | 1U << 1 | 1U << 3},
        {PATH_FSTAB, KIND_FIELDS, " \t", 1U << 1},
        {"/etc/security/*", KIND_FIELDS, "#", 0, "memlock"},
        {"*/alert_*.log", KIND_ALERTS},
        {"*", KIND_WORDS},
};

enum { PASSES_MAX = 8 }; /* over files that refer to each other */

Kept kept_in(Arena *arena) {
        return (Kept){.arena = arena,
                      .words = index_new(arena),
                      .values = index_new(arena),
                      .paths = index_new(arena),
                      .known = index_new(arena)};
}

static void keep_fields(const Reading *reading, const FileKind *kind, const char *at,
                        const char *end) {
        const char *line = arena_strdup_to(reading->scratch, at, end);

        if (kept_is_comment(line, line + strlen(line)))
                return;
        if (kind->more && strstr(line, kind->more)) {
                kept_keep(reading, at, at + strcspn(line, "#"));
                return;
        }
        for (unsigned i = 0; i < 32 && at < end; i++) {
                const char *from = at;

                while (at < end && !strchr(kind->separators, *at))
                        at++;
                /* The type of a file system follows a "-". */
                if (kind->fields & 1U << i ||
                    (from - reading->bytes > 1 && from[-1] == ' ' && from[-2] == '-'))
                        kept_keep(reading, from, at);
                if (at < end && *at == '#')
                        return;
                at += at < end;
        }
}

/* "7f69-7f6a rw-s 00000000 00:11 454962 /anon_hugepage (deleted)"; in numa_maps " file=/anon_hugepage\040(deleted)
 * huge". */
static void keep_map(const Reading *reading, const char *at, const char *end) {
        static const char *const memory[] = {"/anon_hugepage", "/SYSV",
                                             "/memfd:", "/dev/zero (deleted)"};
        const char *path = memchr(at, '/', (size_t) (end - at)), *behind = end;

        if (path && path > at && path[-1] == '=')
                behind = MIN(end, path + strcspn(path, " \n"));
        kept_keep(reading, at, path ? path : end);
        kept_keep(reading, behind, end);
        ARRAY_FOREACH(name, memory, path ? ARRAY_LEN(memory) : 0)
                if (text_starts_with(path, *name))
                        kept_keep(reading, path, path + strlen(*name));
}

static void keep_by_kind(Reading *reading, const FileKind *kind, const char *at, const char *end) {
        switch (kind->kind) {
        case KIND_WHOLE:
                kept_keep(reading, at, end);
                break;
        case KIND_OURS:
                if (!kept_is_comment(at + strspn(at, " \t"), end))
                        kept_keep(reading, at, end);
                else if (!text_is_utf8(at, (size_t) (end - at))) /* reported as an error */
                        reading->out[end - 1 - reading->bytes] = '\xff';
                break;
        case KIND_FIELDS:
                keep_fields(reading, kind, at, end);
                break;
        case KIND_MAPS:
                keep_map(reading, at, end);
                break;
        case KIND_ALERTS:
                if (host_facts_is_alert(reading->scratch,
                                        arena_strdup_to(reading->scratch, at, end)))
                        kept_keep(reading, at, end);
                break;
        case KIND_WORDS:
                kept_line(reading, at, end);
        }
}

static void keep_lines(Reading *reading, const FileKind *kind, size_t size) {
        const char *end = reading->bytes + size;

        for (const char *at = reading->bytes; at < end; at++) {
                const char *newline = memchr(at, '\n', (size_t) (end - at));
                const char *stop = newline ? newline : end;

                keep_by_kind(reading, kind, at, stop);
                at = stop;
        }
}

/* Masks all text; words, lines and the marks at the start of a word, which determine its meaning, stay. */
static char *mask(Arena *arena, const char *bytes, size_t size, bool is_binary) {
        char *out = arena_alloc(arena, size + 1);

        for (size_t i = 0; i < size; i++) {
                char c = bytes[i];
                bool is_begun = i > 0 && kept_is_word_byte(bytes[i - 1]) && out[i - 1] == 'x';
                bool is_mark = kept_is_word_byte(c) ? !kept_is_letter(c) && !is_begun
                                                    : !iscntrl((unsigned char) c) ||
                                                              (c && strchr("\t\n\r\v\f", c));

                out[i] = c == '\0' || (is_mark && !is_binary) ? c : 'x';
        }
        return out;
}

static char *keep_text(Kept *kept, Arena *arena, const char *path, const char *bytes, size_t size) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const FileKind *kind =
                ARRAY_FIND(each, kinds, ARRAY_LEN(kinds), fnmatch(each->files, path, 0) == 0);
        Reading reading = {.kept = kept,
                           .scratch = scratch,
                           .path = path,
                           .rows = kept_rows(path),
                           .bytes = bytes,
                           .out = mask(arena, bytes, size, false)};

        bool is_generated = text_starts_with(path, PATH_GENERATOR_DIR) &&
                            text_starts_with(bytes, "# Generated by hugeplan-generator");

        if (is_generated)
                kept_keep(&reading, bytes, bytes + size);
        else if (engines_read_whole(text_base_name(path))) /* a version in a line, or JSON */
                kept_keep(&reading, bytes, bytes + (*bytes == '{' ? size : strcspn(bytes, "\n")));
        else
                keep_lines(&reading, kind, size);
        return reading.out;
}

/* Keeps the bytes of a binary file that an engine reads. */
static char *keep_binary(Kept *kept, Arena *arena, const char *path, const char *bytes,
                         size_t size) {
        char *out = mask(arena, bytes, size, true);
        Pieces pieces = {};
        Text text = text_in(arena);

        engines_read_pieces(arena, &(SourceText){.text = bytes, .size = size}, &pieces);
        VEC_FOREACH(piece, &pieces)
                text_add_n(&text, bytes + piece->at, piece->is_text ? piece->size : 0);
        const char *stays = keep_text(kept, arena, path, text_string(&text), text.length);

        VEC_FOREACH(piece, &pieces) {
                memcpy(out + piece->at, piece->is_text ? stays : bytes + piece->at, piece->size);
                stays += piece->is_text ? piece->size : 0;
        }
        return out;
}

char *kept_text(Kept *kept, Arena *arena, const char *path, const char *bytes, size_t size) {
        bool is_arguments = fnmatch("/proc/*/cmdline", path, 0) == 0;
        bool is_kernels = text_starts_with(path, PATH_PROC "/") ||
                          text_starts_with(path, PATH_SYS "/");

        return memchr(bytes, '\0', size) && !is_kernels && !is_arguments
                       ? keep_binary(kept, arena, path, bytes, size)
                       : keep_text(kept, arena, path, bytes, size);
}

/* ---- all files ---- */

static void keep_in_files(Kept *kept, Arena *arena, const RecordedTree *tree) {
        VEC_FOREACH(entry, tree)
                if (entry->kind == RECORDED_FILE)
                        entry->bytes =
                                kept_text(kept, arena, entry->path, entry->bytes, entry->size);
}

/* A text can refer to names in a text of an earlier position, so that several passes are needed. */
void kept_tree(Arena *arena, const RecordedTree *tree) {
        Kept kept = kept_in(arena);
        size_t n_names = SIZE_MAX;

        VEC_FOREACH(entry, tree)
                if (entry->kind == RECORDED_FILE)
                        index_add(kept.paths, entry->path, entry);
        for (int i = 0; i < PASSES_MAX && kept.n_names != n_names; i++) {
                CLEANUP(arena_freep) Arena *scratch = arena_new();
                const RecordedTree first = {
                        arena_memdup(scratch, tree->items, tree->n * sizeof(Recorded)), tree->n,
                        tree->n};

                n_names = kept.n_names;
                keep_in_files(&kept, scratch, &first);
        }
        keep_in_files(&kept, arena, tree);
}
