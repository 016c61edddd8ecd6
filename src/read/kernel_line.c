/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "read/kernel_line.h"

#include "base/size.h"
#include "base/text.h"
#include "model/problem.h"

#include <string.h>

typedef struct Reader {
        Arena *arena;
        KernelLine *line;
        const Topology *topology;
        const char *file;
        uint64_t default_bytes;   /* size of a hugepages= before any size */
        uint64_t current_bytes;   /* 0: no size precedes */
        uint64_t last_bytes;      /* size of the last hugepages= */
        bool has_last;            /* there was a hugepages= */
        bool is_size_valid;       /* the last size is valid */
        bool has_default;         /* default_hugepagesz= precedes */
        bool can_judge_nodes;     /* this line will boot with the nodes seen now */
        KernelPhrase size_phrase; /* a hugepagesz= still without its hugepages= */
        IdSet sizes;              /* named so far, by index in the topology */
} Reader;

/* ---- words ---- */

/* The kernel removes a quote at the start of a word or value, and then one at its end. */
static char *unquote(Arena *arena, const char *string) {
        if (*string != '"')
                return arena_strdup(arena, string);
        return arena_strndup(arena, string + 1,
                             strlen(string + 1) - (string[1] && text_ends_with(string, "\"")));
}

/* Returns the words of LINE up to "--", after which all words are for init. */
static KernelArguments parse_arguments(Arena *arena, const char *line) {
        KernelArguments arguments = {};

        while (line && *(line += strspn(line, " \t\r\n"))) {
                bool is_quoted = false; /* whitespace within double quotes belongs to the word */
                size_t length = 0;

                for (; line[length] && (is_quoted || !strchr(" \t\r\n", line[length])); length++)
                        is_quoted = is_quoted != (line[length] == '"');
                /* Messages print the word, so that it must be printable. */
                char *word = text_printable(arena, arena_strndup(arena, line, length));
                char *name = unquote(arena, word), *equals = strchr(name, '=');

                if (text_equals(word, "--"))
                        break;
                if (equals)
                        *equals = '\0';
                for (char *c = name; *c; c++)
                        *c = *c == '-' ? '_' : *c;
                *vec_push(arena, &arguments) =
                        (KernelArgument){word, name, equals ? unquote(arena, equals + 1) : NULL};
                line += length;
        }
        return arguments;
}

const KernelArgument *kernel_argument_find(const KernelArguments *arguments, const char *name) {
        return VEC_FIND(argument, arguments, text_equals(argument->name, name));
}

/* ---- reporting ---- */

static void tell(Reader *reader, ProblemKind kind, const char *words, const char *text,
                 const char *remedy) {
        diags_add(&reader->line->problems,
                  &(Diag){SEVERITY_ERROR, problem_id(kind), reader->file, 0, words, text, remedy});
}

static void add_repair(Reader *reader, const KernelChange *repair) {
        *vec_push(reader->arena, &reader->line->repairs) = *repair;
}

/* Reports an error in the words that REPAIR changes. */
static void reject(Reader *reader, ProblemKind kind, const KernelChange *repair, const char *text,
                   const char *remedy) {
        add_repair(reader, repair);
        tell(reader, kind, repair->from, text, remedy);
}

static const char duplicate_text[] =
        "a size or its pages are given twice; the kernel takes the first";
static const char duplicate_remedy[] = "keep one hugepagesz= with one hugepages= for each size";

static void reject_duplicate(Reader *reader, const char *words) {
        reject(reader, PROBLEM_CMDLINE_DUPLICATE, &(KernelChange){.from = words}, duplicate_text,
               duplicate_remedy);
}

static void add_phrase(Reader *reader, const char *words, uint64_t page_size_bytes) {
        *vec_push(reader->arena, &reader->line->phrases) = (KernelPhrase){words, page_size_bytes};
}

/* Ends a hugepagesz= that no hugepages= followed. */
static void end_size_phrase(Reader *reader) {
        if (!reader->size_phrase.words)
                return;
        add_phrase(reader, reader->size_phrase.words, reader->size_phrase.page_size_bytes);
        if (!reader->is_size_valid)
                add_repair(reader, &(KernelChange){.from = reader->size_phrase.words});
        reader->size_phrase = (KernelPhrase){};
}

/* ---- sizes ---- */

int kernel_number_parse(const char *string, uint64_t *ret, const char **ret_rest) {
        const char *rest;
        Number number;
        int r = parse_number(string, &number, &rest);

        if (r < 0 || number.real != 0)
                return r < 0 ? r : -ERANGE;
        *ret = number.whole;
        if (ret_rest)
                *ret_rest = rest;
        return 0;
}

/* Like memparse(): a number and a suffix, followed by anything. Returns 0 if there is no number. */
static uint64_t parse_memory(const char *value) {
        static const char suffixes[] = "KMGTPE";
        const char *rest, *suffix;
        uint64_t bytes;

        if (!value || kernel_number_parse(value, &bytes, &rest) < 0)
                return 0;
        suffix = *rest & ~0x20 ? strchr(suffixes, *rest & ~0x20) : NULL;
        return suffix ? mul_saturated(bytes, UINT64_C(1) << 10 * (suffix - suffixes + 1)) : bytes;
}

/* Returns the size's index, or reports an error and returns -1 if there is no such size. */
static int judge_size(Reader *reader, const KernelArgument *argument) {
        int index = topology_page_size_index(reader->topology, parse_memory(argument->value));
        char *names = topology_page_size_names(reader->arena, reader->topology);

        if (index < 0)
                tell(reader, PROBLEM_CMDLINE_NO_SUCH_SIZE, argument->word,
                     "this CPU or kernel has no pages of that size, so the hugepages= "
                     "that follows is ignored, too",
                     *names ? arena_printf(reader->arena, "write one of %s", names)
                            : "boot a kernel with CONFIG_HUGETLBFS");
        return index;
}

static void name_size(Reader *reader, int index) {
        reader->current_bytes = reader->topology->page_sizes[index].bytes;
        reader->is_size_valid = true;
        id_set_add(&reader->sizes, (unsigned) index);
}

static void take_size(Reader *reader, const KernelArgument *argument) {
        end_size_phrase(reader);
        reader->size_phrase = (KernelPhrase){argument->word, parse_memory(argument->value)};
        reader->is_size_valid = false;
        int index = judge_size(reader, argument);

        if (index < 0)
                return;
        uint64_t bytes = reader->topology->page_sizes[index].bytes;

        /* The default size may be named a second time. */
        if (!id_set_has(&reader->sizes, (unsigned) index) ||
            (reader->has_default && bytes == reader->default_bytes &&
             !VEC_FIND(pages, &reader->line->pages, pages->page_size_bytes == bytes)))
                name_size(reader, index);
        else
                tell(reader, PROBLEM_CMDLINE_DUPLICATE, argument->word, duplicate_text,
                     duplicate_remedy);
}

static void take_default_size(Reader *reader, const KernelArgument *argument) {
        int index;

        end_size_phrase(reader);
        add_phrase(reader, argument->word, 0);
        reader->is_size_valid = false;
        if (reader->has_default)
                reject_duplicate(reader, argument->word);
        else if ((index = judge_size(reader, argument)) < 0)
                add_repair(reader, &(KernelChange){.from = argument->word});
        else {
                reader->has_default = true;
                name_size(reader, index);
                reader->default_bytes = reader->current_bytes;
                VEC_FOREACH(pages, &reader->line->pages)
                        if (pages->is_default_size)
                                pages->page_size_bytes = reader->default_bytes;
        }
}

/* ---- pages ---- */

bool kernel_is_power(const Topology *topology) {
        return topology_page_size_index(topology, 16 * MIB) >= 0 ||
               (topology->base_page_bytes == 64 * KIB &&
                topology_page_size_index(topology, GIB) >= 0);
}

const char *kernel_no_node_counts(Arena *arena, const Topology *topology) {
        if (topology_kernel_is_before_5_16(topology))
                return arena_printf(
                        arena,
                        "this kernel (%s) does not support node numbers in hugepages=, which came with Linux 5.16, in RHEL 9 with 5.14.0-179.el9",
                        topology->kernel_release);
        /* hugetlb_node_alloc_supported() */
        return kernel_is_power(topology)
                       ? "Linux on POWER does not support node numbers in hugepages="
                       : NULL;
}

typedef struct Wrong {
        ProblemKind kind;
        const char *text, *remedy; /* NULL: nothing is wrong */
} Wrong;

/* Parses VALUE. Returns what is wrong with it. */
static Wrong read_pages(const Reader *reader, const char *value, KernelPages *pages) {
        static const char remedy[] = "write hugepages=NODE:PAGES,NODE:PAGES";
        static const Wrong is_none = {PROBLEM_CMDLINE_BAD_VALUE,
                                      "is neither a number nor NODE:PAGES,NODE:PAGES", remedy},
                           has_rest = {PROBLEM_CMDLINE_BAD_VALUE,
                                       "has text after the number, which the kernel ignores",
                                       remedy};
        Arena *arena = reader->arena;
        const Topology *topology = reader->topology;
        const char *at = value;
        uint64_t node, count;
        IdSet online = {};

        if (!value || take_digits(&at, &pages->pages) < 0)
                return is_none;
        if (*at != ':')
                return *at ? has_rest : (Wrong){};
        pages->pages = 0;
        ARRAY_FOREACH(each, topology->nodes, topology->n_nodes)
                id_set_add(&online, each->id);
        for (at = value;; at++) {
                if (take_digits(&at, &node) < 0 || *at++ != ':')
                        return is_none;
                if (node >= ID_SET_MAX ||
                    (reader->can_judge_nodes && !id_set_has(&online, (unsigned) node)))
                        return (Wrong){
                                PROBLEM_CMDLINE_INVALID_NODE,
                                arena_printf(
                                        arena,
                                        "node %" PRIu64
                                        " is not online; the kernel drops the whole argument, for the "
                                        "other nodes, too",
                                        node),
                                arena_printf(arena, "name only nodes of %s",
                                             id_set_format(arena, &online))};
                if (take_digits(&at, &count) < 0)
                        return is_none;
                *vec_push(arena, &pages->nodes) = (NodePages){(unsigned) node, count};
                pages->pages = add_saturated(pages->pages, count);
                if (*at != ',')
                        return *at ? has_rest : (Wrong){};
        }
}

static void add_pages(Reader *reader, const char *value, KernelPages *pages) {
        const Wrong wrong = read_pages(reader, value, pages);
        const KernelChange unclear = {.from = pages->words, .is_unclear = true};

        if (wrong.text) {
                reject(reader, wrong.kind, &unclear, wrong.text, wrong.remedy);
                return;
        }
        const char *lacks =
                pages->nodes.n > 0 ? kernel_no_node_counts(reader->arena, reader->topology) : NULL;

        if (lacks) {
                /* Older kernels use sscanf(value, "%lu") and ignore what follows the number. POWER ignores all of it. */
                pages->pages = kernel_is_power(reader->topology) ? 0 : pages->nodes.items[0].node;
                pages->nodes.n = 0;
                reject(reader, PROBLEM_CMDLINE_BAD_VALUE, &unclear,
                       arena_printf(reader->arena,
                                    "%s: it takes this for %" PRIu64 " on all nodes together",
                                    lacks, pages->pages),
                       "write hugepages=PAGES, one number for all nodes");
        }
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

        if (reader->size_phrase.words)
                pages.words = arena_printf(reader->arena, "%s %s", reader->size_phrase.words,
                                           argument->word);
        add_phrase(reader, pages.words, reader->size_phrase.page_size_bytes);
        reader->size_phrase = (KernelPhrase){};
        if (!reader->is_size_valid) {
                /* The error was reported for the size; the repair covers both. */
                reader->is_size_valid = true;
                add_repair(reader, &(KernelChange){.from = pages.words});
        } else if (reader->has_last && reader->last_bytes == reader->current_bytes)
                reject_duplicate(reader, pages.words);
        else
                add_pages(reader, argument->value, &pages);
}

/* "hugepages=512 hugepagesz=2M hugepages=1024": the first wins (hugetlb_init()). */
static void judge_same_size(Reader *reader) {
        typeof(reader->line->pages) all = reader->line->pages, *kept = &reader->line->pages;

        kept->n = 0;
        VEC_FOREACH(pages, &all)
                if (VEC_ANY(each, kept, each->page_size_bytes == pages->page_size_bytes))
                        reject_duplicate(reader, pages->words);
                else
                        kept->items[kept->n++] = *pages;
}

/* ---- other arguments ---- */

static void take_thp(Reader *reader, const KernelArgument *argument) {
        add_phrase(reader, argument->word, 0);
        if (!TEXT_IS_ANY(argument->value, "always", "madvise", "never"))
                reject(reader, PROBLEM_CMDLINE_BAD_VALUE,
                       &(KernelChange){.from = argument->word, .is_unclear = true},
                       "the kernel does not know this value and ignores the argument",
                       "write transparent_hugepage=always, madvise or never");
}

/* The relevant names. Other kernel arguments are neither checked nor shown. */
static const struct {
        const char *name;
        void (*take)(Reader *reader, const KernelArgument *argument);
} known[] = {
        {"hugepages", take_pages},
        {"hugepagesz", take_size},
        {"default_hugepagesz", take_default_size},
        {"transparent_hugepage", take_thp},
};

static const char only_shown[] =
        "transparent_hugepage_shmem transparent_hugepage_tmpfs thp_anon thp_shmem hugetlb_cma hugetlb_cma_only "
        "hugetlb_free_vmemmap hugepage_alloc_threads numa numa_balancing hugeplan";

static const typeof(known[0]) *find_known(const char *name) {
        return ARRAY_FIND(each, known, ARRAY_LEN(known), text_equals(name, each->name));
}

bool kernel_line_has(const char *name) {
        return find_known(name) || text_has_word(only_shown, name);
}

static bool has_numa_off(const KernelArguments *arguments) {
        return VEC_FIND(argument, arguments,
                        text_equals(argument->name, "numa") && text_equals(argument->value, "off"));
}

static void judge_numa(Reader *reader) {
        typeof(reader->line->pages) *all = &reader->line->pages;
        const char *words = NULL; /* the first that need a node beyond 0 */

        if (!has_numa_off(&reader->line->arguments))
                return;
        VEC_FOREACH(pages, all)
                if (!words && VEC_ANY(each, &pages->nodes, each->node > 0))
                        words = pages->words;
        if (!words)
                return;
        reject(reader, PROBLEM_CMDLINE_NUMA_OFF, &(KernelChange){.from = "numa=off"},
               arena_printf(reader->arena,
                            "makes the host a single node, so \"%s\" is dropped as a whole", words),
               "remove numa=off");
        VEC_KEEP(pages, all, !VEC_ANY(each, &pages->nodes, each->node > 0));
}

/* ---- the line ---- */

uint64_t kernel_line_pmd_bytes(const Topology *topology) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        KernelArguments present = parse_arguments(arena, topology->kernel_command_line);
        bool is_default = topology->default_page_size_bytes > 0 &&
                          !kernel_argument_find(&present, "default_hugepagesz");

        return is_default || topology->base_page_bytes == 0
                       ? topology->default_page_size_bytes
                       : page_table_reach_bytes(topology->base_page_bytes);
}

KernelLine *kernel_line_read(Arena *arena, const char *line, const char *file,
                             const Topology *topology) {
        KernelArguments present = parse_arguments(arena, topology->kernel_command_line);
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
        read->arguments = parse_arguments(arena, line);
        reader.can_judge_nodes = !has_numa_off(&present) && !has_numa_off(&read->arguments);
        VEC_FOREACH(argument, &read->arguments) {
                const typeof(known[0]) *row = find_known(argument->name);

                if (row)
                        row->take(&reader, argument);
                else if (text_has_word(only_shown, argument->name))
                        add_phrase(&reader, argument->word, 0);
        }
        end_size_phrase(&reader);
        judge_same_size(&reader);
        judge_numa(&reader);
        return read;
}
