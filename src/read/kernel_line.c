/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/kernel_line.h"

#include "base/size.h"
#include "base/text.h"
#include "model/problem.h"

#include <string.h>

/* Names that matter here. Others of the kernel are neither judged nor shown. */
static const char *const known_names[] = {
        "hugepages",
        "hugepagesz",
        "default_hugepagesz",
        "transparent_hugepage",
        "transparent_hugepage_shmem",
        "transparent_hugepage_tmpfs",
        "thp_anon",
        "thp_shmem",
        "hugetlb_cma",
        "hugetlb_cma_only",
        "hugetlb_free_vmemmap",
        "hugepage_alloc_threads",
        "numa",
        "numa_balancing",
        "hugeplan",
};

/* What people write for them that no edit distance finds. */
static const struct {
        const char *written, *meant;
} misnomers[] = {
        {"thp", "transparent_hugepage"},
        {"nr_hugepages", "hugepages"},
        {"vm.nr_hugepages", "hugepages"},
        {"hugepage_size", "hugepagesz"},
        {"hugepages_size", "hugepagesz"},
        {"default_hugepage_size", "default_hugepagesz"},
        {"default_hugepages_size", "default_hugepagesz"},
};

enum { NAME_MAX_LENGTH = 40, TYPO_DISTANCE = 2, TYPO_LENGTH_MIN = 7, NODES_MAX = ID_SET_MAX };

typedef struct Reader {
        Arena *arena;
        KernelLine *line;
        const Topology *topology;
        const char *file;
        uint64_t default_bytes;  /* what hugepages= before any size goes to */
        uint64_t current_bytes;  /* 0: no size was named yet */
        uint64_t last_bytes;     /* what the last hugepages= went to */
        bool has_last;           /* there was one */
        bool is_size_valid;      /* of the size named last */
        bool has_default;        /* default_hugepagesz= was there */
        bool can_judge_nodes;    /* the nodes seen are those that this line will see */
        const char *size_phrase; /* hugepagesz= that waits for its hugepages= */
        VEC(uint64_t) sizes;     /* named so far */
} Reader;

/* ---- words ---- */

static int digit_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c = (char) (c | 0x20);
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static int parse_digits(const char *string, int base, uint64_t *ret, const char **ret_rest) {
        uint64_t number = 0;

        if (digit_value(*string) >= base)
                return -EINVAL;
        for (int digit; (digit = digit_value(*string)) < base; string++)
                if (__builtin_mul_overflow(number, (uint64_t) base, &number) ||
                    __builtin_add_overflow(number, (uint64_t) digit, &number))
                        return -ERANGE;
        *ret = number;
        if (ret_rest)
                *ret_rest = string;
        return 0;
}

int kernel_number_parse(const char *string, uint64_t *ret, const char **ret_rest) {
        if (string[0] == '0' && (string[1] | 0x20) == 'x' && digit_value(string[2]) < 16)
                return parse_digits(string + 2, 16, ret, ret_rest);
        return parse_digits(string, string[0] == '0' ? 8 : 10, ret, ret_rest);
}

/* Where the word that begins at STRING ends: blanks within double quotes belong to it. */
static size_t word_length(const char *string) {
        bool is_quoted = false;
        size_t n = 0;

        for (; string[n] && (is_quoted || !strchr(" \t\r\n", string[n])); n++)
                is_quoted = is_quoted != (string[n] == '"');
        return n;
}

/* The kernel takes off a quote at the beginning of word or value, and one at its end. */
static char *unquote(Arena *arena, const char *string) {
        size_t length = strlen(string);

        if (*string != '"')
                return arena_strdup(arena, string);
        string++;
        length--;
        if (length > 0 && string[length - 1] == '"')
                length--;
        return arena_strndup(arena, string, length);
}

static KernelArgument argument_from(Arena *arena, const char *word) {
        char *plain = *word == '"' ? unquote(arena, word) : arena_strdup(arena, word);
        char *equals = strchr(plain, '=');
        KernelArgument argument = {.word = word, .name = plain};

        if (equals) {
                argument.value = unquote(arena, equals + 1);
                *equals = '\0';
        }
        for (char *c = plain; *c; c++)
                if (*c == '-')
                        *c = '_';
        return argument;
}

KernelArguments kernel_arguments_parse(Arena *arena, const char *line) {
        KernelArguments arguments = {};

        while (line && *(line += strspn(line, " \t\r\n"))) {
                size_t length = word_length(line);
                /* People are shown it, and told to write or to take out what they see. */
                char *word = text_printable(arena, arena_strndup(arena, line, length));

                if (text_equals(word, "--"))
                        break;
                *vec_push(arena, &arguments) = argument_from(arena, word);
                line += length;
        }
        return arguments;
}

const KernelArgument *kernel_argument_find(const KernelArguments *arguments, const char *name) {
        VEC_FOREACH(argument, arguments)
                if (text_equals(argument->name, name))
                        return argument;
        return NULL;
}

/* ---- what is wrong ---- */

static void add_problem(Reader *reader, Severity severity, ProblemKind kind, const char *words,
                        const char *text, const char *remedy) {
        diags_add(&reader->line->problems, &(Diag){.severity = severity,
                                                   .id = problem_id(kind),
                                                   .file = reader->file,
                                                   .key = words,
                                                   .text = text,
                                                   .remedy = remedy});
}

/* TO: what to write instead; NULL: nothing. */
static void add_repair(Reader *reader, const char *from, const char *to) {
        *vec_push(reader->arena, &reader->line->repairs) = (KernelChange){.from = from, .to = to};
}

static void add_unclear(Reader *reader, const char *from) {
        *vec_push(reader->arena, &reader->line->repairs) =
                (KernelChange){.from = from, .is_unclear = true};
}

static void add_phrase(Reader *reader, const char *words) {
        *vec_push(reader->arena, &reader->line->phrases) = arena_strdup(reader->arena, words);
}

/* A size that no hugepages= followed. */
static void end_size_phrase(Reader *reader) {
        if (!reader->size_phrase)
                return;
        add_phrase(reader, reader->size_phrase);
        if (!reader->is_size_valid)
                add_repair(reader, reader->size_phrase, NULL);
        reader->size_phrase = NULL;
}

/* ---- near misses ---- */

/* Levenshtein's distance of two short names, whatever the case. */
static unsigned distance(const char *a, const char *b) {
        unsigned row[NAME_MAX_LENGTH + 1];
        size_t n_a = strlen(a), n_b = strlen(b);

        if (n_a > NAME_MAX_LENGTH || n_b > NAME_MAX_LENGTH)
                return UINT16_MAX;
        for (unsigned k = 0; k <= n_b; k++)
                row[k] = k;
        for (size_t i = 1; i <= n_a; i++) {
                unsigned diagonal = row[0];

                row[0] = (unsigned) i;
                for (size_t k = 1; k <= n_b; k++) {
                        char x = a[i - 1], y = b[k - 1];
                        unsigned swap = diagonal + ((x >= 'A' && x <= 'Z' ? x | 0x20 : x) != y);

                        diagonal = row[k];
                        row[k] = MIN(swap, MIN(row[k], row[k - 1]) + 1);
                }
        }
        return row[n_b];
}

static bool is_known(const char *name) {
        for (size_t i = 0; i < ARRAY_LEN(known_names); i++)
                if (text_equals(name, known_names[i]))
                        return true;
        return false;
}

/* "4" and "0:2" are counts, "1G" is a size: decides between hugepages and hugepagesz. */
static bool looks_like_size(const char *value) {
        return value && *value && !strchr("0123456789", value[strlen(value) - 1]);
}

/* The name that was meant; NULL: the word is none of ours. */
static const char *meant_by(const KernelArgument *argument) {
        const char *best = NULL;
        unsigned best_distance = TYPO_DISTANCE + 1;

        for (size_t i = 0; i < ARRAY_LEN(misnomers); i++)
                if (text_equals(argument->name, misnomers[i].written))
                        return misnomers[i].meant;
        if (strlen(argument->name) < TYPO_LENGTH_MIN || strchr(argument->name, '.'))
                return NULL;
        for (size_t i = 0; i < ARRAY_LEN(known_names); i++) {
                unsigned now = distance(argument->name, known_names[i]);
                bool is_better = now < best_distance ||
                                 (now == best_distance && best &&
                                  text_equals(known_names[i], "hugepagesz") &&
                                  text_equals(best, "hugepages") &&
                                  looks_like_size(argument->value));

                if (strlen(known_names[i]) < TYPO_LENGTH_MIN || !is_better)
                        continue;
                best = known_names[i];
                best_distance = now;
        }
        return best;
}

static void judge_typo(Reader *reader, const KernelArgument *argument) {
        const char *meant = meant_by(argument);

        if (!meant)
                return;
        meant = arena_printf(reader->arena, "%s%s%s", meant, argument->value ? "=" : "",
                             argument->value ? argument->value : "");
        add_phrase(reader, argument->word);
        add_repair(reader, argument->word, meant);
        add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_TYPO, argument->word,
                    "the kernel knows no such argument and passes over it",
                    arena_printf(reader->arena, "write %s", meant));
}

/* ---- sizes ---- */

/* memparse(): a number and a suffix, whatever follows. 0 for what is none. */
static uint64_t parse_memory(const char *value) {
        static const char suffixes[] = "KMGTPE";
        const char *rest, *suffix;
        uint64_t bytes;

        if (!value || kernel_number_parse(value, &bytes, &rest) < 0)
                return 0;
        suffix = *rest & ~0x20 ? strchr(suffixes, *rest & ~0x20) : NULL;
        return suffix ? mul_saturated(bytes, UINT64_C(1) << 10 * (suffix - suffixes + 1)) : bytes;
}

static bool is_size_seen(const Reader *reader, uint64_t bytes) {
        VEC_FOREACH(size, &reader->sizes)
                if (*size == bytes)
                        return true;
        return false;
}

static bool has_pages(const Reader *reader, uint64_t bytes) {
        VEC_FOREACH(pages, &reader->line->pages)
                if (pages->page_size_bytes == bytes)
                        return true;
        return false;
}

/* 0, after telling, when there is no such size. */
static uint64_t judge_size(Reader *reader, const KernelArgument *argument) {
        uint64_t bytes = parse_memory(argument->value);

        if (bytes > 0 && topology_page_size_index(reader->topology, bytes) >= 0)
                return bytes;
        char *names = topology_page_size_names(reader->arena, reader->topology);

        add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_NO_SUCH_SIZE, argument->word,
                    "this CPU or kernel has no pages of that size, so that the hugepages= which "
                    "follows is ignored too",
                    *names ? arena_printf(reader->arena, "write one of %s", names)
                           : "boot a kernel with CONFIG_HUGETLBFS");
        return 0;
}

static void name_size(Reader *reader, uint64_t bytes) {
        reader->current_bytes = bytes;
        reader->is_size_valid = true;
        if (!is_size_seen(reader, bytes))
                *vec_push(reader->arena, &reader->sizes) = bytes;
}

static void take_size(Reader *reader, const KernelArgument *argument) {
        uint64_t bytes;

        end_size_phrase(reader);
        reader->size_phrase = argument->word;
        reader->is_size_valid = false;
        if ((bytes = judge_size(reader, argument)) == 0)
                return;
        if (is_size_seen(reader, bytes) &&
            !(reader->has_default && bytes == reader->default_bytes && !has_pages(reader, bytes))) {
                add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_DUPLICATE, argument->word,
                            "this size is named twice; the kernel ignores the second, and the "
                            "hugepages= which follows it",
                            "keep one hugepagesz= with one hugepages= for each size");
                return;
        }
        name_size(reader, bytes);
}

static void take_default_size(Reader *reader, const KernelArgument *argument) {
        uint64_t bytes;

        end_size_phrase(reader);
        add_phrase(reader, argument->word);
        reader->is_size_valid = false;
        if (reader->has_default) {
                add_repair(reader, argument->word, NULL);
                add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_DUPLICATE, argument->word,
                            "the default size is named twice; the kernel ignores the second",
                            "keep one default_hugepagesz=");
                return;
        }
        if ((bytes = judge_size(reader, argument)) == 0) {
                add_repair(reader, argument->word, NULL);
                return;
        }
        reader->has_default = true;
        VEC_FOREACH(pages, &reader->line->pages)
                if (pages->is_default_size)
                        pages->page_size_bytes = bytes;
        reader->default_bytes = bytes;
        name_size(reader, bytes);
}

/* ---- pages ---- */

/* NULL when fine, else what is wrong with the value. */
static const char *parse_node_pages(Reader *reader, const char *value, KernelPages *pages) {
        pages->nodes = ARENA_ARRAY(reader->arena, NodePages, strlen(value) / 4 + 1);
        for (;;) {
                uint64_t node, count;

                if (parse_digits(value, 10, &node, &value) < 0 || *value != ':')
                        return "is neither a number nor NODE:PAGES,NODE:PAGES";
                if (node >= NODES_MAX ||
                    (reader->can_judge_nodes && !topology_node(reader->topology, (unsigned) node)))
                        return arena_printf(reader->arena,
                                            "node %" PRIu64 " is not online; the kernel drops the "
                                            "whole argument, for the other nodes too",
                                            node);
                if (parse_digits(value + 1, 10, &count, &value) < 0)
                        return "is neither a number nor NODE:PAGES,NODE:PAGES";
                pages->nodes[pages->n_nodes++] = (NodePages){(unsigned) node, count};
                pages->pages = add_saturated(pages->pages, count);
                if (*value != ',')
                        return *value ? "has something behind the numbers that the kernel ignores"
                                      : NULL;
                value++;
        }
}

static const char *parse_pages(Reader *reader, const char *value, KernelPages *pages) {
        const char *rest;

        if (!value || parse_digits(value, 10, &pages->pages, &rest) < 0)
                return "is neither a number nor NODE:PAGES,NODE:PAGES";
        pages->is_per_node = *rest == ':';
        if (!pages->is_per_node)
                return *rest ? "has something behind the number that the kernel ignores" : NULL;
        pages->pages = 0;
        return parse_node_pages(reader, value, pages);
}

/* sscanf(value, "%lu"), and no look at what follows. */
static void judge_skill(Reader *reader, const char *value, KernelPages *pages) {
        const char *rest;

        if (!pages->is_per_node ||
            !topology_kernel_lacks(reader->topology, KERNEL_HUGEPAGES_BY_NODE))
                return;
        parse_digits(value, 10, &pages->pages, &rest);
        pages->is_per_node = false;
        pages->n_nodes = 0;
        add_unclear(reader, pages->words);
        add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_BAD_VALUE, pages->words,
                    arena_printf(reader->arena,
                                 "this kernel (%s) knows no node numbers here, which came with %s: "
                                 "it takes the first number, %" PRIu64 ", for all nodes together",
                                 reader->topology->kernel_release,
                                 kernel_skill_since(KERNEL_HUGEPAGES_BY_NODE), pages->pages),
                    "write hugepages=PAGES, one number for all nodes");
}

static char *online_nodes(Reader *reader) {
        IdSet nodes = {};

        for (size_t i = 0; i < reader->topology->n_nodes; i++)
                id_set_add(&nodes, reader->topology->nodes[i].id);
        return id_set_format(reader->arena, &nodes);
}

/* Nodes are online without memory too: the kernel then takes the argument and gives nothing. */
static void judge_memoryless(Reader *reader, const KernelPages *pages) {
        for (size_t i = 0; i < pages->n_nodes; i++) {
                const Node *node = topology_node(reader->topology, pages->nodes[i].node);

                if (!reader->can_judge_nodes || !node || node->has_memory ||
                    pages->nodes[i].pages == 0)
                        continue;
                add_unclear(reader, pages->words);
                add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_INVALID_NODE, pages->words,
                            arena_printf(reader->arena, "node %u has no memory and gives no pages",
                                         node->id),
                            "name a node that has memory");
        }
}

/* "hugepages=4 hugepagesz=1G": very likely meant the other way round. */
static bool is_swapped(const KernelArguments *arguments, const KernelArgument *argument) {
        const KernelArgument *end = arguments->items + arguments->n;
        unsigned n_sizes = 0, n_pages = 0;

        for (const KernelArgument *next = argument + 1; next < end; next++) {
                n_sizes += text_equals(next->name, "hugepagesz");
                n_pages += text_equals(next->name, "hugepages");
        }
        return n_sizes == 1 && n_pages == 0;
}

static void judge_order(Reader *reader, const KernelArgument *argument, const char *words) {
        char *size = format_page_size(reader->arena, reader->default_bytes);

        if (reader->current_bytes > 0)
                return;
        if (is_swapped(&reader->line->arguments, argument)) {
                add_repair(reader, words, NULL);
                add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_ORDER, words,
                            arena_printf(reader->arena,
                                         "stands before hugepagesz=, so that the kernel takes "
                                         "pages of its default size, %s",
                                         size),
                            "write hugepagesz= first, then its hugepages=");
        } else {
                add_problem(reader, SEVERITY_NOTICE, PROBLEM_CMDLINE_ORDER, words,
                            arena_printf(reader->arena,
                                         "no hugepagesz= stands before it: these are pages of the "
                                         "kernel's default size, %s",
                                         size),
                            NULL);
        }
}

static void add_pages(Reader *reader, const KernelArgument *argument, KernelPages *pages) {
        const char *wrong = parse_pages(reader, argument->value, pages);
        bool is_node_gone = wrong && strstr(wrong, "is not online");

        if (wrong) {
                add_unclear(reader, pages->words);
                add_problem(reader, SEVERITY_ERROR,
                            is_node_gone ? PROBLEM_CMDLINE_INVALID_NODE : PROBLEM_CMDLINE_BAD_VALUE,
                            pages->words, wrong,
                            is_node_gone ? arena_printf(reader->arena, "name only nodes of %s",
                                                        online_nodes(reader))
                                         : "write hugepages=NODE:PAGES,NODE:PAGES");
                return;
        }
        judge_skill(reader, argument->value, pages);
        judge_memoryless(reader, pages);
        judge_order(reader, argument, pages->words);
        *vec_push(reader->arena, &reader->line->pages) = *pages;
        reader->last_bytes = reader->current_bytes;
        reader->has_last = true;
}

static void take_pages(Reader *reader, const KernelArgument *argument) {
        KernelPages pages = {
                .words = argument->word,
                .page_size_bytes = reader->current_bytes > 0 ? reader->current_bytes
                                                             : reader->default_bytes,
                .is_default_size = reader->current_bytes == 0,
        };

        if (reader->size_phrase)
                pages.words =
                        arena_printf(reader->arena, "%s %s", reader->size_phrase, argument->word);
        reader->size_phrase = NULL;
        add_phrase(reader, pages.words);
        if (!reader->is_size_valid) {
                /* Told already, of the size; they go together. */
                reader->is_size_valid = true;
                add_repair(reader, pages.words, NULL);
        } else if (reader->has_last && reader->last_bytes == reader->current_bytes) {
                add_repair(reader, pages.words, NULL);
                add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_DUPLICATE, pages.words,
                            "a second hugepages= for the same size; the kernel ignores it",
                            "keep one hugepagesz= with one hugepages= for each size");
        } else {
                add_pages(reader, argument, &pages);
        }
}

static void drop_pages(KernelLine *line, KernelPages *pages) {
        line->pages.n--;
        memmove(pages, pages + 1,
                (size_t) (line->pages.items + line->pages.n - pages) * sizeof(*pages));
}

/* "hugepages=512 hugepagesz=2M hugepages=1024": the first wins (hugetlb_init()). */
static void judge_same_size(Reader *reader) {
        for (size_t i = 0; i < reader->line->pages.n; i++)
                for (size_t k = reader->line->pages.n - 1; k > i; k--) {
                        KernelPages *pages = reader->line->pages.items;

                        if (pages[k].page_size_bytes != pages[i].page_size_bytes)
                                continue;
                        add_repair(reader, pages[k].words, NULL);
                        add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_DUPLICATE,
                                    pages[k].words,
                                    arena_printf(reader->arena,
                                                 "\"%s\" has asked for pages of this size already; "
                                                 "the kernel takes that",
                                                 pages[i].words),
                                    "keep one hugepagesz= with one hugepages= for each size");
                        drop_pages(reader->line, &pages[k]);
                }
}

/* ---- the line ---- */

static void take_thp(Reader *reader, const KernelArgument *argument) {
        static const char *const values[] = {"always", "madvise", "never"};

        add_phrase(reader, argument->word);
        for (size_t i = 0; i < ARRAY_LEN(values); i++)
                if (text_equals(argument->value, values[i]))
                        return;
        add_unclear(reader, argument->word);
        add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_BAD_VALUE, argument->word,
                    "the kernel does not know this value and ignores the argument",
                    "write transparent_hugepage=always, madvise or never");
}

static void take_argument(Reader *reader, const KernelArgument *argument) {
        if (text_equals(argument->name, "hugepagesz"))
                take_size(reader, argument);
        else if (text_equals(argument->name, "default_hugepagesz"))
                take_default_size(reader, argument);
        else if (text_equals(argument->name, "hugepages"))
                take_pages(reader, argument);
        else if (text_equals(argument->name, "transparent_hugepage"))
                take_thp(reader, argument);
        else if (is_known(argument->name))
                add_phrase(reader, argument->word);
        else
                judge_typo(reader, argument);
}

static bool has_numa_off(const KernelArguments *arguments) {
        VEC_FOREACH(argument, arguments)
                if (text_equals(argument->name, "numa") && text_equals(argument->value, "off"))
                        return true;
        return false;
}

static KernelPages *find_beyond_node_0(const KernelLine *line) {
        VEC_FOREACH(pages, &line->pages)
                for (size_t i = 0; i < pages->n_nodes; i++)
                        if (pages->nodes[i].node > 0)
                                return pages;
        return NULL;
}

static void judge_numa(Reader *reader) {
        KernelPages *pages;

        if (!has_numa_off(&reader->line->arguments) || !(pages = find_beyond_node_0(reader->line)))
                return;
        add_repair(reader, "numa=off", NULL);
        add_problem(reader, SEVERITY_ERROR, PROBLEM_CMDLINE_NUMA_OFF, "numa=off",
                    arena_printf(reader->arena,
                                 "makes the host a single node, so that \"%s\" is dropped whole",
                                 pages->words),
                    "take numa=off out");
        while ((pages = find_beyond_node_0(reader->line)))
                drop_pages(reader->line, pages);
}

uint64_t kernel_phrase_size_bytes(const char *phrase) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        KernelArguments arguments = kernel_arguments_parse(arena, phrase);
        const KernelArgument *size = kernel_argument_find(&arguments, "hugepagesz");

        return size ? parse_memory(size->value) : 0;
}

uint64_t kernel_line_pmd_bytes(const Topology *topology) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        KernelArguments present = kernel_arguments_parse(arena, topology->kernel_command_line);
        uint64_t base = topology->base_page_bytes ? topology->base_page_bytes : 4 * KIB;

        if (topology->default_page_size_bytes > 0 &&
            !kernel_argument_find(&present, "default_hugepagesz"))
                return topology->default_page_size_bytes;
        return base / 8 * base; /* a page table holds base / 8 entries */
}

KernelLine *kernel_line_read(Arena *arena, const char *line, const char *file,
                             const Topology *topology) {
        KernelArguments present = kernel_arguments_parse(arena, topology->kernel_command_line);
        KernelLine *read = ARENA_NEW(arena, KernelLine);
        Reader reader = {
                .arena = arena,
                .line = read,
                .topology = topology,
                .file = file,
                .default_bytes = kernel_line_pmd_bytes(topology),
                .is_size_valid = true,
        };

        read->problems = diags_in(arena);
        read->arguments = kernel_arguments_parse(arena, line);
        reader.can_judge_nodes = !has_numa_off(&present) && !has_numa_off(&read->arguments);
        VEC_FOREACH(argument, &read->arguments)
                take_argument(&reader, argument);
        end_size_phrase(&reader);
        judge_same_size(&reader);
        judge_numa(&reader);
        return read;
}
