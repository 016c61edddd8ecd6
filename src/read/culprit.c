/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/culprit.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"

#include <string.h>

enum {
        SHOWN_MAX = 160,         /* bytes of a key or value that are kept for messages */
        ENTRIES_MAX = 2048,      /* of all files */
        PATTERN_MAX = 1024,      /* bytes of a pattern */
        MATCH_DEPTH = 128,       /* stars and braces within one pattern */
        MATCH_STEPS = 20000,     /* of one pattern against one path */
        SEARCH_STEPS = 40000000, /* of all patterns against all paths: well below a second */
};

/* Files of the kernel that do not depend on the host. */
static const struct {
        const char *path;
        CulpritKind what;
} fixed_targets[] = {
        {PATH_PROC_SYS "vm/nr_hugepages", CULPRIT_NR_HUGEPAGES},
        {PATH_PROC_SYS "vm/nr_hugepages_mempolicy", CULPRIT_NR_HUGEPAGES_MEMPOLICY},
        {PATH_NR_OVERCOMMIT, CULPRIT_NR_OVERCOMMIT_HUGEPAGES},
        {PATH_PROC_SYS "vm/hugetlb_shm_group", CULPRIT_HUGETLB_SHM_GROUP},
        {PATH_PROC_SYS "kernel/shmmax", CULPRIT_SHMMAX},
        {PATH_PROC_SYS "kernel/shmall", CULPRIT_SHMALL},
        {PATH_THP_ENABLED, CULPRIT_THP},
        {PATH_THP "/defrag", CULPRIT_THP_OTHER},
        {PATH_THP "/shmem_enabled", CULPRIT_THP_OTHER},
        {PATH_THP "/use_zero_page", CULPRIT_THP_OTHER},
        {PATH_THP "/khugepaged/defrag", CULPRIT_THP_OTHER},
        {PATH_THP "/khugepaged/scan_sleep_millisecs", CULPRIT_THP_OTHER},
        {PATH_THP "/khugepaged/alloc_sleep_millisecs", CULPRIT_THP_OTHER},
        {PATH_THP "/khugepaged/pages_to_scan", CULPRIT_THP_OTHER},
        {PATH_THP "/khugepaged/max_ptes_none", CULPRIT_THP_OTHER},
};

static const char *const source_names[] = {
        [CULPRIT_KERNEL_COMMAND_LINE] = "command-line",
        [CULPRIT_SYSCTL] = "sysctl",
        [CULPRIT_TMPFILES] = "tmpfiles",
        [CULPRIT_TUNED] = "tuned",
};

/* A file of the kernel that hugeplan manages on this host. */
typedef struct Target {
        const char *path;
        CulpritKind what;
} Target;

struct Culprits {
        Arena *arena;
        const Topology *topology;
        VEC(Target) targets;
        VEC(Culprit) list;
        uint64_t n_steps; /* of matching so far */
};

/* The search of one file; ARENA lives as long as that. */
typedef struct Search {
        Arena *arena;
        Culprits *culprits;
        const CulpritFile *file;
        unsigned line;
        size_t n_before;     /* entries of earlier files */
        const char *section; /* of a tuned profile */
        const char *plugin;  /* what the section is for */
        bool is_off;         /* the section says enabled=no */
        bool is_appending;   /* the line says w+ */
} Search;

const char *culprit_source_name(CulpritSource source) {
        return source_names[source];
}

/* ---- patterns ---- */

typedef struct Matcher {
        unsigned n_steps;
        unsigned depth;
} Matcher;

static bool matches(Matcher *matcher, const char *pattern, const char *path);

/* The end of what stands in braces at PATTERN ("{a,b}"); NULL when they are not closed. */
static const char *closing_brace(const char *pattern) {
        unsigned depth = 0;

        for (; *pattern; pattern++) {
                depth += *pattern == '{';
                if (*pattern == '}' && --depth == 0)
                        return pattern;
        }
        return NULL;
}

/* Tries each alternative, followed by what comes after the braces. */
static bool matches_braces(Matcher *matcher, const char *pattern, const char *end,
                           const char *path) {
        const char *from = pattern + 1;
        unsigned depth = 0;
        char one[PATTERN_MAX + 1];

        for (const char *at = from; at <= end; at++) {
                if ((*at != ',' || depth > 0) && at != end) {
                        depth += *at == '{';
                        depth -= *at == '}';
                        continue;
                }
                size_t length = (size_t) (at - from), rest = strlen(end + 1);

                memcpy(one, from, length);
                memcpy(one + length, end + 1, rest + 1);
                matcher->n_steps += (unsigned) (length + rest);
                if (matches(matcher, one, path))
                        return true;
                from = at + 1;
        }
        return false;
}

/* "[a-z]" at *PATTERN, which is moved behind it; false when it is not closed. */
static bool take_set(const char **pattern, char c, bool *ret_matches) {
        const char *at = *pattern + 1;
        bool is_negated = *at == '!' || *at == '^', is_in = false;

        at += is_negated;
        for (bool is_first = true; *at && (*at != ']' || is_first); is_first = false) {
                char low = *at++, high = low;

                if (*at == '-' && at[1] && at[1] != ']') {
                        high = at[1];
                        at += 2;
                }
                is_in = is_in || (c >= low && c <= high);
        }
        if (*at != ']')
                return false;
        *pattern = at + 1;
        *ret_matches = is_in != is_negated && c != '/';
        return true;
}

static bool matches_star(Matcher *matcher, const char *pattern, const char *path) {
        while (*pattern == '*')
                pattern++;
        for (;; path++) {
                if (matches(matcher, pattern, path))
                        return true;
                if (!*path || *path == '/' || matcher->n_steps >= MATCH_STEPS)
                        return false;
        }
}

/* One character against one character, or against a set; moves *PATTERN on. */
static bool matches_one(const char **pattern, char c) {
        bool is_in;

        if (c && **pattern == '[' && take_set(pattern, c, &is_in))
                return is_in;
        if (**pattern == '?') {
                (*pattern)++;
                return c && c != '/';
        }
        if (**pattern == '\\' && (*pattern)[1])
                (*pattern)++;
        return *(*pattern)++ == c;
}

static bool matches_here(Matcher *matcher, const char *pattern, const char *path) {
        for (; *pattern; path++) {
                const char *end;

                if (++matcher->n_steps >= MATCH_STEPS)
                        return false;
                if (*pattern == '*')
                        return matches_star(matcher, pattern, path);
                if (*pattern == '{' && (end = closing_brace(pattern)))
                        return matches_braces(matcher, pattern, end, path);
                if (!matches_one(&pattern, *path))
                        return false;
        }
        return !*path;
}

static bool matches(Matcher *matcher, const char *pattern, const char *path) {
        if (matcher->depth >= MATCH_DEPTH)
                return false;
        matcher->depth++;
        bool is = matches_here(matcher, pattern, path);

        matcher->depth--;
        return is;
}

/* *N_STEPS is what it took. */
static bool matches_path(const char *pattern, const char *path, unsigned *n_steps) {
        Matcher matcher = {};
        bool is = strlen(pattern) <= PATTERN_MAX && matches(&matcher, pattern, path);

        *n_steps = matcher.n_steps + 1;
        return is;
}

bool culprit_path_matches(const char *pattern, const char *path) {
        unsigned n_steps;

        return matches_path(pattern, path, &n_steps);
}

static bool is_pattern(const char *string) {
        return strpbrk(string, "*?[{\\") != NULL;
}

/* ---- what there is to be set ---- */

static void add_target(Culprits *culprits, const char *path, CulpritKind what) {
        *vec_push(culprits->arena, &culprits->targets) = (Target){path, what};
}

static void add_size_targets(Culprits *culprits, const char *directory, uint64_t page_size_bytes,
                             CulpritKind what) {
        Arena *arena = culprits->arena;
        char *pool = arena_printf(arena, "%s/" NAME_HUGEPAGES_DIR "%" PRIu64 "kB", directory,
                                  page_size_bytes / KIB);

        add_target(culprits, arena_printf(arena, "%s/nr_hugepages", pool), what);
        if (what == CULPRIT_NODE_POOL)
                return;
        add_target(culprits, arena_printf(arena, "%s/nr_hugepages_mempolicy", pool),
                   CULPRIT_NR_HUGEPAGES_MEMPOLICY);
        add_target(culprits, arena_printf(arena, "%s/nr_overcommit_hugepages", pool),
                   CULPRIT_NR_OVERCOMMIT_HUGEPAGES);
}

static void add_pool_targets(Culprits *culprits) {
        const Topology *topology = culprits->topology;

        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                uint64_t bytes = topology->page_sizes[k].bytes;

                add_size_targets(culprits, PATH_HUGEPAGES, bytes,
                                 bytes == topology->default_page_size_bytes ? CULPRIT_NR_HUGEPAGES
                                                                            : CULPRIT_SIZE_POOL);
                for (size_t i = 0; topology->is_numa && i < topology->n_nodes; i++)
                        add_size_targets(culprits,
                                         arena_printf(culprits->arena,
                                                      PATH_NODES "/node%u/hugepages",
                                                      topology->nodes[i].id),
                                         bytes, CULPRIT_NODE_POOL);
        }
}

Culprits *culprits_new(Arena *arena, const Topology *topology) {
        Culprits *culprits = ARENA_NEW(arena, Culprits);

        *culprits = (Culprits){.arena = arena, .topology = topology};
        for (size_t i = 0; i < ARRAY_LEN(fixed_targets); i++)
                add_target(culprits, fixed_targets[i].path, fixed_targets[i].what);
        add_pool_targets(culprits);
        VEC_FOREACH(size, &topology->thp_sizes)
                add_target(culprits,
                           arena_printf(arena,
                                        PATH_THP "/" NAME_HUGEPAGES_DIR "%" PRIu64 "kB/enabled",
                                        size->bytes / KIB),
                           CULPRIT_THP_SIZE);
        return culprits;
}

size_t culprits_count(const Culprits *culprits) {
        return culprits->list.n;
}

const Culprit *culprits_get(const Culprits *culprits, size_t i) {
        return &culprits->list.items[i];
}

/* ---- adding entries ---- */

/* Printable and short: this comes from files of others and goes to terminals and JSON. */
static char *shown(Arena *arena, const char *string) {
        size_t length = strlen(string);
        char *copy = arena_strndup(arena, string, MIN(length, (size_t) SHOWN_MAX));

        for (char *c = copy; *c; c++)
                if (*c < ' ' || *c > '~')
                        *c = '?';
        return copy;
}

static void add_entry(const Search *search, CulpritKind what, const char *key, const char *value,
                      const char *path) {
        Culprits *culprits = search->culprits;
        Arena *arena = culprits->arena;

        if (culprits->list.n >= ENTRIES_MAX)
                return;
        *vec_push(arena, &culprits->list) = (Culprit){
                .what = what,
                .source = search->file->source,
                .key = shown(arena, key),
                .value = value ? shown(arena, value) : NULL,
                .file = shown(arena, search->file->path),
                .line = search->line,
                .is_effective = true,
                .is_appending = search->is_appending,
                .path = arena_strdup(arena, path),
                .section = arena_strdup(arena, search->section),
        };
}

static bool sets_target(Culprits *culprits, const char *path, const Target *target) {
        unsigned n_steps = 1;
        bool is_set = is_pattern(path) ? matches_path(path, target->path, &n_steps)
                                       : text_equals(path, target->path);

        culprits->n_steps += n_steps;
        return is_set;
}

/* Whether PATH, as far as it is plain, leads where ours are. */
static bool may_concern(const char *path) {
        static const char *const roots[] = {PATH_PROC_SYS "vm/", PATH_PROC_SYS "kernel/shm",
                                            PATH_THP, PATH_HUGEPAGES, PATH_NODES};
        size_t plain = strcspn(path, "*?[{\\");

        for (size_t i = 0; i < ARRAY_LEN(roots); i++)
                if (strncmp(path, roots[i], MIN(plain, strlen(roots[i]))) == 0)
                        return true;
        return false;
}

/* One entry for each kind of thing that PATH, which may be a pattern, sets on this host. */
static void add_setting(const Search *search, const char *key, const char *value,
                        const char *path) {
        Culprits *culprits = search->culprits;
        unsigned kinds = 0;

        if (!may_concern(path) || (!value && is_pattern(path)))
                return;
        VEC_FOREACH(target, &culprits->targets) {
                if (culprits->n_steps > SEARCH_STEPS)
                        return;
                if (kinds & 1U << target->what || !sets_target(culprits, path, target))
                        continue;
                kinds |= 1U << target->what;
                add_entry(search, target->what, key, value, path);
        }
}

/* ---- lines ---- */

/* The next line of the file, without its end, in the arena; NULL at the end. As systemd's
 * read_line(): "\n", "\r" and NUL end a line, different ones in a row end it together. */
static char *next_line(Search *search, const char **at, const char *end) {
        const char *start = *at;

        if (start >= end)
                return NULL;
        while (*at < end && **at != '\n' && **at != '\r' && **at != '\0')
                (*at)++;
        char *line = arena_strndup(search->arena, start, (size_t) (*at - start));

        for (unsigned seen = 0; *at < end; (*at)++) {
                unsigned bit = **at == '\n' ? 1 : **at == '\r' ? 2 : **at == '\0' ? 4 : 8;

                if (bit == 8 || seen & bit)
                        break;
                seen |= bit;
        }
        search->line++;
        return line;
}

/* ---- sysctl.d ---- */

/* Dots become slashes and the other way round, unless a slash is the first of them; sysctl.d(5). */
static char *normalize_key(Arena *arena, const char *key) {
        char *path = arena_strdup(arena, key);
        char *separator = strpbrk(path, "/.");

        if (!separator || *separator == '/')
                return path;
        for (; separator; separator = strpbrk(separator + 1, "/."))
                *separator = *separator == '.' ? '/' : '.';
        return path;
}

static void take_sysctl(Search *search, const char *key, const char *value) {
        char *path = normalize_key(search->arena, key);

        add_setting(search, key, value,
                    arena_printf(search->arena, PATH_PROC_SYS "%s", path + strspn(path, "/")));
}

/* "-key" without a value takes the key out: an entry without a value, until all is read. */
static void search_sysctl_line(Search *search, char *line) {
        char *text = text_strip(search->arena, line), *value = strchr(text, '=');
        bool has_dash = *text == '-';

        if (!*text || *text == '#' || *text == ';' || (!value && !has_dash))
                return;
        if (value)
                *value++ = '\0';
        take_sysctl(search, text_strip(search->arena, text + has_dash),
                    value ? text_strip(search->arena, value) : NULL);
}

/* ---- tmpfiles.d ---- */

static char unescaped(char c) {
        switch (c) {
        case 'n':
                return '\n';
        case 't':
                return '\t';
        case 's':
                return ' ';
        default:
                return c;
        }
}

/* The next field of a line: blanks part fields, quotes and backslashes guard. tmpfiles.d(5). */
static char *next_field(Arena *arena, const char **at) {
        Text field = text_in(arena);
        char quote = '\0';

        *at += strspn(*at, " \t");
        if (!**at)
                return NULL;
        text_add(&field, "");
        for (; **at && (quote || !strchr(" \t", **at)); (*at)++) {
                char c = **at;

                if (c == '\\' && (*at)[1]) {
                        c = unescaped(*++*at);
                        text_add_n(&field, &c, 1);
                } else if (quote ? c == quote : c == '"' || c == '\'') {
                        quote = quote ? '\0' : c;
                } else {
                        text_add_n(&field, &c, 1);
                }
        }
        return field.string;
}

/* "w", "w+", "f+" and "F" write into a file that exists; modifiers do not matter here. */
static bool is_writing_type(const char *type) {
        return *type == 'w' || *type == 'F' || (*type == 'f' && strchr(type, '+'));
}

static void search_tmpfiles_line(Search *search, char *line) {
        const char *at = line + strspn(line, " \t");

        if (!*at || *at == '#')
                return;
        char *type = next_field(search->arena, &at), *path = next_field(search->arena, &at);

        if (!path || !is_writing_type(type))
                return;
        for (int i = 0; i < 4; i++) /* mode, user, group, age */
                next_field(search->arena, &at);
        char *value = text_strip(search->arena, at);

        if (!*value)
                return;
        search->is_appending = *type == 'w' && strchr(type, '+');
        add_setting(search, path, value, path);
        search->is_appending = false;
}

/* ---- tuned ---- */

/* A comment may follow a value, after a blank. */
static char *tuned_value(Arena *arena, const char *value) {
        const char *end = value;

        while ((end = strchr(end, '#')) && end > value && end[-1] != ' ' && end[-1] != '\t')
                end++;
        return text_strip(arena, end ? arena_strndup(arena, value, (size_t) (end - value)) : value);
}

static bool is_true(const char *value) {
        bool is = false;

        return value && parse_boolean(value, &is) == 0 && is;
}

/* [bootloader] cmdline_x=+transparent_hugepage=never */
static void take_command_line(Search *search, const char *value);

static void take_tuned(Search *search, const char *key, const char *value) {
        if (search->is_off)
                return;
        if (text_equals(search->plugin, "sysctl"))
                take_sysctl(search, key, value);
        else if (text_equals(search->plugin, "sysfs"))
                add_setting(search, key, value, key);
        else if (text_equals(search->plugin, "vm") && (text_equals(key, "transparent_hugepages") ||
                                                       text_equals(key, "transparent_hugepage")))
                add_entry(search, CULPRIT_THP, key, value, PATH_THP_ENABLED);
        else if (text_equals(search->plugin, "vm") &&
                 text_equals(key, "transparent_hugepage.defrag"))
                add_entry(search, CULPRIT_THP_OTHER, key, value, PATH_THP "/defrag");
        else if (text_equals(search->plugin, "bootloader") && text_starts_with(key, "cmdline"))
                take_command_line(search, value + strspn(value, "+- "));
}

/* A profile that says replace=yes drops what those before it said in the section of that name. */
static void drop_section(Search *search) {
        for (size_t i = 0; i < search->n_before; i++) {
                Culprit *culprit = &search->culprits->list.items[i];

                if (culprit->source == CULPRIT_TUNED && culprit->section &&
                    text_equals(culprit->section, search->section))
                        culprit->is_effective = false;
        }
}

/* One option of the section; options that say what the section is come first or last alike, so that
 * each section is gone through twice. */
static void take_option(Search *search, const char *key, const char *value, bool is_about) {
        if (!is_about) {
                take_tuned(search, key, value);
        } else if (text_equals(key, "type")) {
                search->plugin = value;
        } else if (text_equals(key, "enabled")) {
                search->is_off = !is_true(value);
        } else if (text_equals(key, "replace") && is_true(value)) {
                drop_section(search);
        }
}

/* Takes "key=value" of a line; false when it is none. */
static bool split_option(Search *search, const char *line, char **ret_key, char **ret_value) {
        const char *equals = strchr(line, '=');

        if (!equals || *line == '#' || *line == ';')
                return false;
        *ret_key = text_strip(search->arena,
                              arena_strndup(search->arena, line, (size_t) (equals - line)));
        *ret_value = tuned_value(search->arena, equals + 1);
        return **ret_key != '\0';
}

typedef struct TunedLine {
        char *key, *value;
        unsigned line;
} TunedLine;

typedef VEC(TunedLine) TunedLines;

static void end_section(Search *search, TunedLines *lines) {
        unsigned line = search->line;

        search->plugin = search->section;
        search->is_off = false;
        for (int is_about = 1; search->section && is_about >= 0; is_about--)
                VEC_FOREACH(option, lines) {
                        search->line = option->line;
                        take_option(search, option->key, option->value, is_about);
                }
        lines->n = 0;
        search->line = line;
}

/* Python's ConfigParser: a line that is indented more than the option before continues it. */
static void search_tuned(Search *search) {
        const char *at = search->file->text, *end = at + search->file->size;
        TunedLines lines = {};
        size_t indent = SIZE_MAX;

        for (char *line; (line = next_line(search, &at, end));) {
                size_t blanks = strspn(line, " \t");
                char *text = text_strip(search->arena, line), *close = strchr(text, ']');
                TunedLine option = {.line = search->line};

                if (!*text || *text == '#' || *text == ';' || blanks > indent)
                        continue;
                if (*text == '[' && close) {
                        end_section(search, &lines);
                        search->section =
                                arena_strndup(search->arena, text + 1, (size_t) (close - text - 1));
                        indent = SIZE_MAX;
                } else if (split_option(search, text, &option.key, &option.value)) {
                        *vec_push(search->arena, &lines) = option;
                        indent = blanks;
                }
        }
        end_section(search, &lines);
}

CulpritNames culprit_tuned_includes(Arena *arena, const char *text, size_t size) {
        Search search = {.arena = arena};
        const char *at = text, *end = at + size;
        CulpritNames names = {};
        bool is_main = false;

        for (char *line; (line = next_line(&search, &at, end));) {
                char *key, *value, *name;

                line = text_strip(arena, line);
                if (*line == '[')
                        is_main = text_starts_with(line, "[main]");
                else if (is_main && split_option(&search, line, &key, &value) &&
                         text_equals(key, "include"))
                        for (const char *rest = value;
                             (name = text_next_word(arena, &rest, " \t,;"));)
                                *vec_push(arena, &names) = name + (*name == '-');
        }
        return names;
}

/* ---- the kernel command line ---- */

/* sysctl.vm.nr_hugepages=20 is set by the kernel itself just before init. */
static void take_kernel_argument(Search *search, const KernelArgument *argument) {
        static const char prefix[] = "sysctl";
        const char *name = argument->word + (*argument->word == '"');

        if (!argument->value)
                return;
        if (text_equals(argument->name, "transparent_hugepage"))
                add_entry(search, CULPRIT_THP, argument->name, argument->value, PATH_THP_ENABLED);
        else if (text_starts_with(name, prefix) &&
                 (name[strlen(prefix)] == '.' || name[strlen(prefix)] == '/')) {
                char *key = arena_strndup(search->arena, name, strcspn(name, "="));

                add_setting(search, key, argument->value,
                            arena_printf(search->arena, PATH_PROC_SYS "%s",
                                         normalize_key(search->arena, key + sizeof(prefix))));
        }
}

static void take_pages(Search *search, const KernelPages *pages) {
        CulpritKind what = pages->is_per_node ? CULPRIT_NODE_POOL
                           : pages->page_size_bytes ==
                                           search->culprits->topology->default_page_size_bytes
                                   ? CULPRIT_NR_HUGEPAGES
                                   : CULPRIT_SIZE_POOL;
        const char *nodes = what == CULPRIT_NODE_POOL ? PATH_NODES "/node*/hugepages"
                                                      : PATH_HUGEPAGES;
        const char *equals = strrchr(pages->words, '=');

        add_entry(search, what,
                  arena_strndup(search->arena, pages->words, (size_t) (equals - pages->words)),
                  equals + 1,
                  arena_printf(search->arena, "%s/" NAME_HUGEPAGES_DIR "%" PRIu64 "kB/nr_hugepages",
                               nodes, pages->page_size_bytes / KIB));
}

static void take_command_line(Search *search, const char *value) {
        const KernelLine *line = kernel_line_read(search->arena, value, search->file->path,
                                                  search->culprits->topology);

        VEC_FOREACH(argument, &line->arguments)
                take_kernel_argument(search, argument);
        VEC_FOREACH(pages, &line->pages)
                take_pages(search, pages);
}

/* ---- files ---- */

static void search_lines(Search *search, void (*search_line)(Search *search, char *line)) {
        const char *at = search->file->text, *end = at + search->file->size;

        for (char *line; (line = next_line(search, &at, end));)
                search_line(search, line);
}

void culprits_add_file(Culprits *culprits, const CulpritFile *file) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Search search = {
                .arena = arena, .culprits = culprits, .file = file, .n_before = culprits->list.n};

        switch (file->source) {
        case CULPRIT_KERNEL_COMMAND_LINE:
                take_command_line(&search, arena_strndup(arena, file->text, file->size));
                return;
        case CULPRIT_SYSCTL:
                search_lines(&search, search_sysctl_line);
                return;
        case CULPRIT_TMPFILES:
                search_lines(&search, search_tmpfiles_line);
                return;
        case CULPRIT_TUNED:
                search_tuned(&search);
                return;
        }
}

/* ---- who wins ---- */

/* Of these there is one file, or several that are the same to the kernel. */
static bool is_single(CulpritKind what) {
        return what == CULPRIT_NR_HUGEPAGES || what == CULPRIT_NR_HUGEPAGES_MEMPOLICY ||
               what == CULPRIT_HUGETLB_SHM_GROUP || what == CULPRIT_SHMMAX ||
               what == CULPRIT_SHMALL || what == CULPRIT_THP;
}

/* /etc/sysctl.conf by itself is read by procps' sysctl only, and by that after all others; where a
 * distribution links it into sysctl.d it is found there. */
static bool has_same_reader(const Culprit *a, const Culprit *b) {
        return a->source == b->source &&
               (a->source != CULPRIT_SYSCTL ||
                text_equals(a->file, PATH_SYSCTL_CONF) == text_equals(b->file, PATH_SYSCTL_CONF));
}

static bool is_same_target(const Culprit *a, const Culprit *b) {
        return a->what == b->what && (is_single(a->what) || text_equals(a->path, b->path));
}

/* Whether LATER, read after EARLIER, has the last word on it; sysctl.d(5). */
static bool overrules_sysctl(const Culprit *earlier, const Culprit *later) {
        return !is_pattern(later->path) || is_pattern(earlier->path);
}

/* Lines of tmpfiles.d for one path: the first is taken, and "w+" besides. For different paths that
 * lead to the same thing, patterns among them, the last one written stays. */
static bool overrules_tmpfiles(const Culprit *earlier, const Culprit *later) {
        return !text_equals(earlier->path, later->path) || later->is_appending;
}

/* 1: LATER overrules EARLIER; -1: the other way round; 0: neither. */
static int settle(const Culprit *earlier, const Culprit *later) {
        if (!has_same_reader(earlier, later) || !is_same_target(earlier, later))
                return 0;
        switch (later->source) {
        case CULPRIT_SYSCTL:
                return overrules_sysctl(earlier, later) ? 1 : -1;
        case CULPRIT_TMPFILES:
                return overrules_tmpfiles(earlier, later) ? 1 : -1;
        case CULPRIT_TUNED:
                return text_equals(earlier->section, later->section) ? 1 : 0;
        default:
                return 1;
        }
}

static void drop_without_value(Culprits *culprits) {
        size_t n = 0;

        for (size_t i = 0; i < culprits->list.n; i++)
                if (culprits->list.items[i].value)
                        culprits->list.items[n++] = culprits->list.items[i];
        culprits->list.n = n;
}

void culprits_finish(Culprits *culprits) {
        for (size_t k = 1; k < culprits->list.n; k++)
                for (size_t i = 0; i < k; i++) {
                        Culprit *earlier = &culprits->list.items[i];
                        Culprit *later = &culprits->list.items[k];
                        int winner = settle(earlier, later);

                        if (winner > 0)
                                earlier->is_effective = false;
                        else if (winner < 0)
                                later->is_effective = false;
                }
        drop_without_value(culprits);
}

/* ---- naming one ---- */

/* "always [madvise] never" -> "madvise". */
static const char *selected_word(Arena *arena, const char *shown) {
        const char *open = strchr(shown, '['), *close = open ? strchr(open, ']') : NULL;

        return close ? arena_strndup(arena, open + 1, (size_t) (close - open) - 1)
                     : text_strip(arena, shown);
}

/* kstrtoul() with base 10, as the files of /sys have it; sscanf("%lu") of the command line is no
 * different for what passes here. */
static bool parse_plain(const char *value, uint64_t *ret) {
        return parse_u64(value + (*value == '+'), ret) == 0;
}

/* proc_get_long(): of several numbers the first counts. */
static bool parse_sysctl(const char *value, uint64_t *ret) {
        const char *rest;

        return kernel_number_parse(value, ret, &rest) == 0 && (!*rest || strchr(" \t", *rest));
}

static bool is_value(const Culprit *culprit, const char *value, const char *shown) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *word = selected_word(arena, shown);
        uint64_t set, now;

        if (culprit->source == CULPRIT_TUNED)
                value += strspn(value, "<>= "); /* "at most", "at least" */
        if (!parse_plain(word, &now))
                return text_equals(value, word);
        return (text_starts_with(culprit->path, PATH_PROC_SYS) ? parse_sysctl(value, &set)
                                                               : parse_plain(value, &set)) &&
               set == now;
}

bool culprit_explains(const Culprit *culprit, const char *shown) {
        return shown && is_value(culprit, culprit->value, shown);
}

static unsigned likelihood(const Culprit *culprit) {
        return 1 + (unsigned) culprit->source + (culprit->is_effective ? 10 : 0);
}

/* Keeps the more likely one in *BEST; of equals the later. */
static void consider(const Culprit **best, const Culprit *culprit) {
        if (!*best || likelihood(culprit) >= likelihood(*best))
                *best = culprit;
}

static bool sets_path(const Culprit *culprit, const char *path) {
        return is_pattern(culprit->path) ? culprit_path_matches(culprit->path, path)
                                         : text_equals(culprit->path, path);
}

const Culprit *culprit_for_path(const Culprits *culprits, const char *path, const char *shown) {
        const Culprit *best = NULL;

        VEC_FOREACH(culprit, &culprits->list)
                if (sets_path(culprit, path) && culprit_explains(culprit, shown))
                        consider(&best, culprit);
        return best;
}

static uint64_t persistent_pages(const Topology *topology, uint64_t page_size_bytes) {
        uint64_t pages = 0;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Pool *pool = topology_pool(topology, topology->nodes[i].id, page_size_bytes);

                pages += pool ? pool_persistent_pages(pool) : 0;
        }
        return pages;
}

/* Whether the entry sets the pool of that size over all nodes. */
static bool sets_whole_pool(const Culprit *culprit, const Topology *now, uint64_t page_size_bytes) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        if (page_size_bytes == now->default_page_size_bytes)
                return culprit->what == CULPRIT_NR_HUGEPAGES ||
                       culprit->what == CULPRIT_NR_HUGEPAGES_MEMPOLICY;
        return culprit->what == CULPRIT_SIZE_POOL &&
               sets_path(culprit, arena_printf(arena,
                                               PATH_HUGEPAGES "/" NAME_HUGEPAGES_DIR "%" PRIu64
                                                              "kB/nr_hugepages",
                                               page_size_bytes / KIB));
}

/* Of "0:50,1:100", as hugepages= has it, what is for NODE: "50"; else VALUE itself. */
static const char *value_for_node(Arena *arena, const char *value, unsigned node) {
        const char *prefix = arena_printf(arena, "%u:", node), *item;

        if (!strchr(value, ':'))
                return value;
        while ((item = text_next_word(arena, &value, ",")))
                if (text_starts_with(item, prefix))
                        return item + strlen(prefix);
        return "";
}

const Culprit *culprit_for_pool(const Culprits *culprits, const Topology *now, unsigned node,
                                uint64_t page_size_bytes) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Pool *pool = topology_pool(now, node, page_size_bytes);
        char *here = arena_printf(arena, "%" PRIu64, pool ? pool_persistent_pages(pool) : 0);
        char *all = arena_printf(arena, "%" PRIu64, persistent_pages(now, page_size_bytes));
        char *path = arena_printf(arena,
                                  PATH_NODES "/node%u/hugepages/" NAME_HUGEPAGES_DIR "%" PRIu64
                                             "kB/nr_hugepages",
                                  node, page_size_bytes / KIB);
        const Culprit *best = NULL;

        VEC_FOREACH(culprit, &culprits->list)
                if (sets_path(culprit, path)
                            ? is_value(culprit, value_for_node(arena, culprit->value, node), here)
                            : sets_whole_pool(culprit, now, page_size_bytes) &&
                                      culprit_explains(culprit, all))
                        consider(&best, culprit);
        return best;
}

char *culprit_format(Arena *arena, const Culprit *culprit) {
        return culprit->line > 0 ? arena_printf(arena, "%s=%s in %s:%u", culprit->key,
                                                culprit->value, culprit->file, culprit->line)
                                 : arena_printf(arena, "%s=%s in %s", culprit->key, culprit->value,
                                                culprit->file);
}

/* ---- the guard ---- */

char *culprit_guard_text(Arena *arena, uint64_t pages) {
        return arena_printf(arena,
                            "# Written by hugepland and kept true by it; see hugepland(8).\n"
                            "# hugeplan has reserved huge pages node by node. systemd-sysctl "
                            "applies all of\n"
                            "# sysctl.d again whenever a package asks for it; another figure here "
                            "would then\n"
                            "# take pages from some nodes and give them to others. This file is "
                            "read last and\n"
                            "# repeats what all nodes hold together, which changes nothing.\n"
                            "vm.nr_hugepages = %" PRIu64 "\n",
                            pages);
}
