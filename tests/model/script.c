/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses and performs the lines of a script, and prints the state after each line. */
#include "model/script.h"

#include "base/id_set.h"

#include <string.h>

enum { WORDS_MAX = 16 };

typedef struct Line {
        Script *script;
        Arena *arena;
        const char *words[WORDS_MAX];
        size_t n;
        const char *mistake;
        ScriptOperation operation;
        bool is_refused; /* the kernel has refused the mapping, so that it has a name only */
} Line;

/* ---- words ---- */

static int wrong(Line *line, const char *what) {
        line->mistake = line->mistake ? line->mistake : what;
        return -EINVAL;
}

/* The value of "KEY=VALUE", or NULL. */
static const char *option(const Line *line, const char *key) {
        size_t length = strlen(key);

        for (size_t i = 1; i < line->n; i++)
                if (text_starts_with(line->words[i], key) && line->words[i][length] == '=')
                        return line->words[i] + length + 1;
        return NULL;
}

static bool flag(const Line *line, const char *word) {
        return text_index(line->words, line->n, word) > 0;
}

static uint64_t number(Line *line, const char *text) {
        uint64_t n = 0;

        if (parse_u64(text, &n) < 0)
                wrong(line, text);
        return n;
}

static uint64_t number_option(Line *line, const char *key, uint64_t otherwise) {
        const char *text = option(line, key);

        return text ? number(line, text) : otherwise;
}

/* "1G" anywhere after the verb; else the first size of the script. */
static uint64_t page_size(const Line *line) {
        uint64_t bytes;

        for (size_t i = 1; i < line->n; i++)
                if (strspn(line->words[i], "0123456789") == strlen(line->words[i]) - 1 &&
                    parse_size_bytes(line->words[i], &bytes) == 0)
                        return bytes;
        return line->script->sizes[0];
}

/* ---- names ---- */

static int find(const ScriptNames *names, const char *name) {
        for (size_t i = names->n; i > 0; i--)
                if (text_equals(names->items[i - 1], name))
                        return (int) i - 1;
        return -1;
}

static unsigned known(Line *line, const ScriptNames *names, const char *name) {
        int found = find(names, name);

        if (found < 0)
                wrong(line, "no such name");
        return (unsigned) MAX(found, 0);
}

/* Adds a name, and returns its number. */
static unsigned add(Line *line, ScriptNames *names, const char *name, size_t most) {
        Arena *arena = line->script->arena;

        if (names->n == most)
                wrong(line, "too many");
        else
                *vec_push(arena, names) = arena_strdup(arena, name);
        return (unsigned) names->n - 1;
}

/* ---- what a word says about the operation ---- */

static void take_process(Line *line, const char *word) {
        line->operation.process = (int) known(line, &line->script->processes, word);
}

static void take_new_process(Line *line, const char *word) {
        line->operation.process =
                (int) add(line, &line->script->processes, word, SCRIPT_PROCESSES_MAX);
}

/* The name of the mapping in "A:x"; "" in "A". */
static const char *split_mapping(Line *line, const char *word) {
        const char *end = strchrnul(word, ':');

        take_process(line, arena_strdup_to(line->arena, word, end));
        return *end ? end + 1 : "";
}

static bool is_refused(const Line *line, unsigned mapping) {
        return line->script->failed[line->operation.process] & UINT64_C(1) << mapping;
}

static void take_mapping(Line *line, const char *word) {
        const char *name = split_mapping(line, word);
        const ScriptNames *names = &line->script->mappings[line->operation.process];

        line->operation.mapping = known(line, names, name);
        line->is_refused = is_refused(line, line->operation.mapping);
}

static void take_new_mapping(Line *line, const char *word) {
        const char *name = split_mapping(line, word);
        ScriptNames *names = &line->script->mappings[line->operation.process];
        int before = line->mistake ? -1 : find(names, name);

        if (before >= 0 && !is_refused(line, (unsigned) before))
                wrong(line, "a mapping of that name is there");
        if (before >= 0)
                names->items[before] = NULL;
        line->operation.mapping = add(line, names, name, SCRIPT_MAPPINGS_MAX);
}

static void take_segment(Line *line, const char *word) {
        line->operation.segment = known(line, &line->script->segments, word);
}

static void take_new_segment(Line *line, const char *word) {
        if (line->operation.process < 0)
                wrong(line, "by= is missing");
        line->operation.segment = add(line, &line->script->segments, word, SCRIPT_SEGMENTS_MAX);
}

static void take_mount(Line *line, const char *word) {
        line->operation.mount = known(line, &line->script->mounts, word);
}

static void take_new_mount(Line *line, const char *word) {
        line->operation.mount = add(line, &line->script->mounts, word, SCRIPT_MOUNTS_MAX);
}

/* "M/f" */
static void take_file_in_mount(Line *line, const char *word) {
        const char *slash = strchr(word, '/');

        if (!slash) {
                wrong(line, "MOUNT/FILE is missing");
                return;
        }
        take_mount(line, arena_strdup_to(line->arena, word, slash));
        line->operation.file = slash + 1;
}

static void take_count(Line *line, const char *word) {
        line->operation.n_pages = number(line, word);
}

/* "3-5", "3", "all" */
static void take_range(Line *line, const char *word) {
        const char *dash = strchr(word, '-');

        line->operation.last = UINT64_MAX;
        if (text_equals(word, "all"))
                return;
        line->operation.first = number(line, arena_strdup_to(line->arena, word, dash));
        line->operation.last = dash ? number(line, dash + 1) : line->operation.first;
}

/* "bind:0-1", "local" */
static void take_policy(Line *line, const char *word) {
        static const char *const names[] = {
                [KERNEL_POLICY_LOCAL] = "local",
                [KERNEL_POLICY_BIND] = "bind:",
                [KERNEL_POLICY_INTERLEAVE] = "interleave:",
                [KERNEL_POLICY_PREFERRED] = "preferred:",
        };
        IdSet nodes = {};

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (text_starts_with(word, names[i]) &&
                    id_set_parse(word + strlen(names[i]), &nodes) == 0) {
                        line->operation.policy =
                                (KernelPolicy){(KernelPolicyMode) i, nodes.words[0]};
                        return;
                }
        wrong(line, "what policy is that?");
}

static void take_node(Line *line, const char *word) {
        if (text_starts_with(word, "node"))
                line->operation.node = (int) number(line, word + strlen("node"));
        else if (!text_equals(word, "host"))
                wrong(line, "which node?");
}

/* Of `set`: a node, the host, or another file of the host. */
static void take_target(Line *line, const char *word) {
        static const struct {
                const char *word;
                ScriptVerb verb;
        } targets[] = {
                {"sysctl", SCRIPT_SET_SYSCTL},
                {"policy", SCRIPT_SET_BY_POLICY},
                {"overcommit", SCRIPT_SET_OVERCOMMIT},
        };

        for (size_t i = 0; i < ARRAY_LEN(targets); i++)
                if (text_equals(word, targets[i].word)) {
                        line->operation.verb = targets[i].verb;
                        return;
                }
        take_node(line, word);
}

static void take_group(Line *line, const char *word) {
        known(line, &line->script->groups, word);
        line->operation.group = word;
}

/* The kernel says whether it exists. */
static void take_any_group(Line *line, const char *word) {
        line->operation.group = word;
}

static void take_new_group(Line *line, const char *word) {
        if (find(&line->script->groups, word) >= 0)
                wrong(line, "that group is there");
        add(line, &line->script->groups, word, SCRIPT_GROUPS_MAX);
        line->operation.group = word;
}

/* "g +hugetlb", "+hugetlb" */
static void take_control(Line *line, const char *word) {
        line->operation.group = "";
        if (line->n > 2)
                take_group(line, word);
        line->operation.file = "cgroup.subtree_control";
        line->operation.text = line->words[line->n - 1];
}

static void take_mems(Line *line, const char *word) {
        line->operation.file = "cpuset.mems";
        line->operation.text = word;
}

/* "rsvd.max=40", "max=max" */
static void take_limit(Line *line, const char *word) {
        const char *value = strchr(word, '=');
        uint64_t bytes = line->operation.page_bytes;

        if (!text_starts_with(word, "rsvd.max=") && !text_starts_with(word, "max=")) {
                wrong(line, "rsvd.max= or max= is missing");
                return;
        }
        line->operation.file = arena_printf(line->arena, "hugetlb.%s.%s",
                                            kernel_size_name(line->arena, bytes),
                                            arena_strdup_to(line->arena, word, value));
        line->operation.text =
                text_equals(value, "=max")
                        ? "max"
                        : arena_printf(line->arena, "%" PRIu64, number(line, value + 1) * bytes);
}

static void take_path(Line *line, const char *word) {
        line->operation.file = word;
}

static void take_text(Line *line, const char *word) {
        Text text = text_in(line->arena);

        for (const char *c = word; *c; c++)
                if (*c == '\\' && strchr("ns", c[1]) && c[1])
                        text_add(&text, *++c == 'n' ? "\n" : " ");
                else
                        text_add_n(&text, c, 1);
        line->operation.text = text_string(&text);
}

static void take_sizes(Line *line, const char *word UNUSED) {
        Script *script = line->script;

        script->n_sizes = 0;
        for (size_t i = 1; i < line->n && !line->mistake; i++)
                if (script->n_sizes == SCRIPT_SIZES_MAX ||
                    parse_size_bytes(line->words[i], &script->sizes[script->n_sizes++]) < 0)
                        wrong(line, line->words[i]);
}

/* ---- lines ---- */

static const struct {
        const char *word;
        ScriptVerb verb;
        void (*take[3])(Line *line, const char *word); /* of the words that follow */
} verbs[] = {
        {"attach", SCRIPT_ATTACH, {take_new_mapping, take_segment}},
        {"control", SCRIPT_WRITE_GROUP, {take_control}},
        {"demote", SCRIPT_DEMOTE, {take_node, take_count}},
        {"exit", SCRIPT_EXIT, {take_process}},
        {"file", SCRIPT_FILE, {take_new_mapping, take_file_in_mount, take_count}},
        {"group", SCRIPT_MAKE_GROUP, {take_new_group}},
        {"limit", SCRIPT_WRITE_GROUP, {take_group, take_limit}},
        {"map", SCRIPT_MAP, {take_new_mapping, take_count}},
        {"mbind", SCRIPT_MBIND, {take_mapping, take_policy}},
        {"mems", SCRIPT_WRITE_GROUP, {take_group, take_mems}},
        {"mount", SCRIPT_MOUNT, {take_new_mount}},
        {"move", SCRIPT_MOVE, {take_process, take_any_group}},
        {"policy", SCRIPT_POLICY, {take_process, take_policy}},
        {"rmgroup", SCRIPT_REMOVE_GROUP, {take_group}},
        {"rmid", SCRIPT_RMID, {take_segment}},
        {"run", SCRIPT_RUN, {take_new_process}},
        {"segment", SCRIPT_SEGMENT, {take_new_segment, take_count}},
        {"set", SCRIPT_SET, {take_target, take_count}},
        {"sizes", SCRIPT_SIZES, {take_sizes}},
        {"touch", SCRIPT_TOUCH, {take_mapping, take_range}},
        {"unmap", SCRIPT_UNMAP, {take_mapping}},
        {"unmount", SCRIPT_UNMOUNT, {take_mount}},
        {"write", SCRIPT_WRITE, {take_path, take_text}},
};

static void read_options(Line *line) {
        const char *writer = option(line, "by"), *policy = option(line, "policy");

        line->operation = (ScriptOperation){
                .process = -1,
                .node = KERNEL_HOST,
                .cpu_node = (unsigned) number_option(line, "cpu", 0),
                .page_bytes = page_size(line),
                .min_pages = number_option(line, "min", UINT64_MAX),
                .max_pages = number_option(line, "size", UINT64_MAX),
                .is_private = flag(line, "private"),
                .is_noreserve = flag(line, "noreserve"),
                .group = option(line, "group"),
        };
        if (writer)
                take_process(line, writer);
        if (policy)
                take_policy(line, policy);
}

static void read_words(Line *line) {
        size_t i = 0;

        while (i < ARRAY_LEN(verbs) && !text_equals(line->words[0], verbs[i].word))
                i++;
        if (i == ARRAY_LEN(verbs)) {
                wrong(line, "what is to be done?");
                return;
        }
        line->operation.verb = verbs[i].verb;
        for (size_t k = 0; k < ARRAY_LEN(verbs[i].take) && verbs[i].take[k] && !line->mistake; k++)
                if (k + 1 < line->n)
                        verbs[i].take[k](line, line->words[k + 1]);
                else
                        wrong(line, "a word is missing");
}

static int perform(const Line *line, uint64_t *ret_killed_at) {
        const ScriptOperation *operation = &line->operation;
        Script *script = line->script;

        if (operation->verb == SCRIPT_SIZES)
                return 0;
        if (line->is_refused)
                return -EFAULT;
        int r = script->backend->perform(script->context, operation, ret_killed_at);

        switch (operation->verb) {
        case SCRIPT_MAP:
        case SCRIPT_ATTACH:
        case SCRIPT_FILE:
                if (r < 0)
                        script->failed[operation->process] |= UINT64_C(1) << operation->mapping;
                break;
        case SCRIPT_UNMAP:
                if (r == 0)
                        script->mappings[operation->process].items[operation->mapping] = NULL;
                break;
        case SCRIPT_REMOVE_GROUP:
                if (r == 0)
                        script->groups.items[find(&script->groups, operation->group)] = NULL;
                break;
        default:
                break;
        }
        return r;
}

/* ---- state ---- */

static void print_pools(const Script *script, uint64_t page_bytes, Text *out) {
        const ScriptBackend *backend = script->backend;
        const char *name = format_page_size(out->arena, page_bytes);
        KernelPool pool;

        const uint64_t nodes = backend->memory_nodes(script->context);

        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++) {
                if (!(nodes & UINT64_C(1) << node))
                        continue;
                pool = backend->pool(script->context, (int) node, page_bytes);
                text_printf(out,
                            "  node%u %s: %" PRIu64 " total, %" PRIu64 " free, %" PRIu64
                            " surplus\n",
                            node, name, pool.total_pages, pool.free_pages, pool.surplus_pages);
        }
        pool = backend->pool(script->context, KERNEL_HOST, page_bytes);
        text_printf(out,
                    "  host %s: %" PRIu64 " total, %" PRIu64 " free, %" PRIu64 " surplus, %" PRIu64
                    " reserved, %" PRIu64 " overcommit\n",
                    name, pool.total_pages, pool.free_pages, pool.surplus_pages,
                    pool.reserved_pages, pool.overcommit_pages);
}

static void print_process(const Script *script, unsigned process, Text *out) {
        static const char *const states[] = {
                [SCRIPT_LIVES] = "lives", [SCRIPT_ENDED] = "ended", [SCRIPT_KILLED] = "killed"};
        ScriptState state = script->backend->state(script->context, process);

        text_printf(out, "  %s: %s", script->processes.items[process], states[state]);
        for (unsigned i = 0; i < script->n_sizes && state == SCRIPT_LIVES; i++) {
                uint64_t pages[KERNEL_NODES_MAX] = {};

                script->backend->count_pages(script->context, process, script->sizes[i], pages);
                for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                        if (pages[node] > 0)
                                text_printf(out, ", %" PRIu64 " of %s on node%u", pages[node],
                                            format_page_size(out->arena, script->sizes[i]), node);
        }
        text_add(out, "\n");
}

static void print_limit(Text *out, const char *what, uint64_t pages) {
        if (pages == UINT64_MAX)
                text_printf(out, ", %s max", what);
        else
                text_printf(out, ", %s %" PRIu64, what, pages);
}

static void print_group(const Script *script, const char *group, uint64_t page_bytes, Text *out) {
        const KernelCharge charge = script->backend->charge(script->context, group, page_bytes);

        text_printf(out, "  group %s %s: ", group, format_page_size(out->arena, page_bytes));
        if (!charge.is_counted) {
                text_add(out, "not counted\n");
                return;
        }
        text_printf(out, "%" PRIu64 " in use", charge.current_pages);
        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                if (charge.node_pages[node] > 0)
                        text_printf(out, ", %" PRIu64 " on node%u", charge.node_pages[node], node);
        text_printf(out, ", %" PRIu64 " reserved", charge.reserved_pages);
        print_limit(out, "max", charge.max_pages);
        print_limit(out, "rsvd.max", charge.reserved_max_pages);
        text_printf(out, ", refused %" PRIu64 "\n", charge.n_refused);
}

/* ---- all ---- */

Script *script_new(Arena *arena, const ScriptBackend *backend, void *context) {
        Script *script = ARENA_NEW(arena, Script);

        script->arena = arena;
        script->backend = backend;
        script->context = context;
        script->sizes[0] = 2 * MIB;
        script->n_sizes = 1;
        return script;
}

void script_end(const Script *script, Arena *arena, ScriptNames *lines) {
        static const char *const lists[] = {"exit", "rmid", "unmount"};
        const ScriptNames *names[] = {&script->processes, &script->segments, &script->mounts};

        for (size_t i = 0; i < ARRAY_LEN(lists); i++)
                VEC_FOREACH(name, names[i])
                        *vec_push(arena, lines) = arena_printf(arena, "%s %s", lists[i], *name);
        *vec_push(arena, lines) = "set overcommit 0";
        for (unsigned i = 0; i < script->n_sizes; i++)
                *vec_push(arena, lines) = arena_printf(arena, "set host 0 %s",
                                                       format_page_size(arena, script->sizes[i]));
}

int script_step(Script *script, const char *text, Text *out) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *rest = arena_strndup(arena, text, strcspn(text, "#\n"));
        Line line = {.script = script, .arena = arena};
        uint64_t killed_at = UINT64_MAX;
        char *word;

        while (line.n < WORDS_MAX && (word = text_next_word(arena, &rest, " \t")))
                line.words[line.n++] = word;
        if (line.n == 0)
                return 0;
        read_options(&line);
        read_words(&line);
        if (line.mistake) {
                text_printf(out, "%s: %s\n", text, line.mistake);
                return -EINVAL;
        }
        int r = perform(&line, &killed_at);

        text_printf(out, "%.*s: %s", (int) strcspn(text, "#\n"), text,
                    r == 0 ? "ok" : strerrorname_np(-r));
        if (killed_at < UINT64_MAX)
                text_printf(out, ", SIGBUS at page %" PRIu64, killed_at);
        text_add(out, "\n");
        for (unsigned i = 0; i < script->n_sizes; i++)
                print_pools(script, script->sizes[i], out);
        text_printf(out, "  vm.nr_hugepages %" PRIu64 "\n",
                    script->backend->pool(script->context, KERNEL_HOST, 0).max_pages);
        for (unsigned i = 0; i < script->processes.n; i++)
                print_process(script, i, out);
        VEC_FOREACH(group, &script->groups)
                for (unsigned i = 0; i < script->n_sizes && *group; i++)
                        print_group(script, *group, script->sizes[i], out);
        return 0;
}
