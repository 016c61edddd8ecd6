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
        Text note; /* printed after "ok" */
} Line;

/* ---- words ---- */

static int wrong(Line *line, const char *what) {
        line->mistake = line->mistake ? line->mistake : what;
        return -EINVAL;
}

static const char *word_at(Line *line, size_t i) {
        if (i < line->n)
                return line->words[i];
        wrong(line, "a word is missing");
        return "";
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
        for (size_t i = 1; i < line->n; i++)
                if (text_equals(line->words[i], word))
                        return true;
        return false;
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

/* "bind:0-1", "local". */
static KernelPolicy policy(Line *line, const char *text) {
        static const char *const names[] = {
                [KERNEL_POLICY_LOCAL] = "local",
                [KERNEL_POLICY_BIND] = "bind:",
                [KERNEL_POLICY_INTERLEAVE] = "interleave:",
                [KERNEL_POLICY_PREFERRED] = "preferred:",
        };
        IdSet nodes = {};

        for (size_t i = 0; text && i < ARRAY_LEN(names); i++)
                if (text_starts_with(text, names[i]) &&
                    id_set_parse(text + strlen(names[i]), &nodes) == 0)
                        return (KernelPolicy){(KernelPolicyMode) i, nodes.words[0]};
        wrong(line, "what policy is that?");
        return (KernelPolicy){};
}

/* ---- names ---- */

#define FIND(vec, name)                                            \
        ({                                                         \
                int found_ = -1;                                   \
                for (size_t i_ = 0; i_ < (vec)->n; i_++)           \
                        if (text_equals((vec)->items[i_], (name))) \
                                found_ = (int) i_;                 \
                found_;                                            \
        })

#define KNOWN(line, vec, name)                                                         \
        ({                                                                             \
                int known_ = FIND((vec), (name));                                      \
                (unsigned) (known_ < 0 ? (wrong((line), "no such name"), 0) : known_); \
        })

/* Adds a name, and returns its number. */
#define ADD(line, vec, name, most)                                           \
        ({                                                                   \
                typeof(vec) add_ = (vec);                                    \
                if (add_->n == (most))                                       \
                        wrong((line), "too many");                           \
                else                                                         \
                        *vec_push((line)->script->arena, add_) =             \
                                arena_strdup((line)->script->arena, (name)); \
                (unsigned) (add_->n - 1);                                    \
        })

/* "A:x": returns the process; *RET_MAPPING is the name of the mapping. */
static unsigned process_of(Line *line, const char *word, const char **ret_mapping) {
        size_t length = strcspn(word, ":");
        const char *name = arena_strndup(line->arena, word, length);

        if (ret_mapping)
                *ret_mapping = word[length] ? word + length + 1 : "";
        return KNOWN(line, &line->script->processes, name);
}

static unsigned mapping_of(Line *line, const char *word, unsigned *ret_process) {
        const char *name;

        *ret_process = process_of(line, word, &name);
        return KNOWN(line, &line->script->mappings[*ret_process], name);
}

/* Whether the kernel has refused the mapping, so that it has a name only. */
static bool has_failed(const Line *line, unsigned process, unsigned mapping) {
        return line->script->failed[process] & UINT64_C(1) << mapping;
}

/* ---- processes ---- */

static int do_run(Line *line) {
        Script *script = line->script;
        const char *group = option(line, "group"), *text = option(line, "policy");
        KernelPolicy preference = text ? policy(line, text) : (KernelPolicy){};
        unsigned cpu_node = (unsigned) number_option(line, "cpu", 0), process;

        process = ADD(line, &script->processes, word_at(line, 1), SCRIPT_PROCESSES_MAX);
        if (line->mistake)
                return -EINVAL;
        return script->backend->run(script->context, process, cpu_node, group, &preference);
}

static int do_fork(Line *line) {
        Script *script = line->script;
        unsigned process = process_of(line, word_at(line, 1), NULL), child;

        child = ADD(line, &script->processes, word_at(line, 2), SCRIPT_PROCESSES_MAX);
        if (line->mistake)
                return -EINVAL;
        VEC_FOREACH(name, &script->mappings[process])
                *vec_push(script->arena, &script->mappings[child]) = *name;
        script->failed[child] = script->failed[process];
        return script->backend->fork(script->context, process, child);
}

static int do_exit(Line *line) {
        unsigned process = process_of(line, word_at(line, 1), NULL);

        if (line->mistake)
                return -EINVAL;
        return line->script->backend->exit(line->script->context, process);
}

static int do_policy(Line *line) {
        unsigned process = process_of(line, word_at(line, 1), NULL);
        KernelPolicy preference = policy(line, word_at(line, 2));

        if (line->mistake)
                return -EINVAL;
        return line->script->backend->set_policy(line->script->context, process, &preference);
}

static int do_move(Line *line) {
        unsigned process = process_of(line, word_at(line, 1), NULL);
        const char *group = word_at(line, 2);

        if (line->mistake)
                return -EINVAL;
        return line->script->backend->move(line->script->context, process, group);
}

/* ---- mappings ---- */

static int map_as(Line *line, const char *word, const ScriptMap *map) {
        Script *script = line->script;
        const char *name;
        unsigned process = process_of(line, word, &name), mapping;

        int before = line->mistake ? -1 : FIND(&script->mappings[process], name);

        if (before >= 0 && !has_failed(line, process, (unsigned) before))
                wrong(line, "a mapping of that name is there");
        if (before >= 0)
                script->mappings[process].items[before] = NULL;
        mapping = ADD(line, &script->mappings[process], name, SCRIPT_MAPPINGS_MAX);
        if (line->mistake)
                return -EINVAL;
        int r = script->backend->map(script->context, process, mapping, map);

        if (r < 0)
                script->failed[process] |= UINT64_C(1) << mapping;
        return r;
}

static ScriptMap map_words(const Line *line) {
        return (ScriptMap){
                .page_bytes = page_size(line),
                .is_private = flag(line, "private"),
                .is_noreserve = flag(line, "noreserve"),
                .segment = -1,
                .mount = -1,
        };
}

static int do_map(Line *line) {
        ScriptMap map = map_words(line);

        map.n_pages = number(line, word_at(line, 2));
        return map_as(line, word_at(line, 1), &map);
}

static int do_attach(Line *line) {
        ScriptMap map = map_words(line);

        map.segment = (int) KNOWN(line, &line->script->segments, word_at(line, 2));
        return map_as(line, word_at(line, 1), &map);
}

static int do_file(Line *line) {
        ScriptMap map = map_words(line);
        const char *path = word_at(line, 2), *slash = strchr(path, '/');

        if (!slash)
                return wrong(line, "MOUNT/FILE is missing");
        map.mount = (int) KNOWN(line, &line->script->mounts,
                                arena_strndup(line->arena, path, (size_t) (slash - path)));
        map.file = slash + 1;
        map.n_pages = number(line, word_at(line, 3));
        return map_as(line, word_at(line, 1), &map);
}

static int do_mbind(Line *line) {
        unsigned process, mapping = mapping_of(line, word_at(line, 1), &process);
        KernelPolicy preference = policy(line, word_at(line, 2));

        if (line->mistake)
                return -EINVAL;
        if (has_failed(line, process, mapping))
                return -EFAULT;
        return line->script->backend->bind(line->script->context, process, mapping, &preference);
}

static int do_touch(Line *line) {
        Script *script = line->script;
        unsigned process, mapping = mapping_of(line, word_at(line, 1), &process);
        const char *range = word_at(line, 2), *dash = strchr(range, '-');
        uint64_t first = 0, last = UINT64_MAX, page = 0;
        bool died = false;

        if (!text_equals(range, "all")) {
                first = number(line, arena_strndup(line->arena, range,
                                                   dash ? (size_t) (dash - range) : strlen(range)));
                last = dash ? number(line, dash + 1) : first;
        }
        if (line->mistake)
                return -EINVAL;
        if (has_failed(line, process, mapping))
                return -EFAULT;
        int r = script->backend->touch(script->context, process, mapping, first, last, &died,
                                       &page);

        if (died)
                text_printf(&line->note, ", SIGBUS at page %" PRIu64, page);
        return r;
}

static int do_unmap(Line *line) {
        Script *script = line->script;
        unsigned process, mapping = mapping_of(line, word_at(line, 1), &process);

        if (line->mistake)
                return -EINVAL;
        if (has_failed(line, process, mapping))
                return -EFAULT;
        int r = script->backend->unmap(script->context, process, mapping);

        if (r == 0)
                script->mappings[process].items[mapping] = NULL;
        return r;
}

/* ---- segments and mounts ---- */

static int do_segment(Line *line) {
        Script *script = line->script;
        const char *by = option(line, "by");
        ScriptMap map = map_words(line);
        unsigned segment, process = by ? process_of(line, by, NULL) : 0;

        if (!by)
                return wrong(line, "by= is missing");
        map.n_pages = number(line, word_at(line, 2));
        segment = ADD(line, &script->segments, word_at(line, 1), SCRIPT_SEGMENTS_MAX);
        if (line->mistake)
                return -EINVAL;
        return script->backend->shmget(script->context, segment, process, &map);
}

static int do_rmid(Line *line) {
        unsigned segment = KNOWN(line, &line->script->segments, word_at(line, 1));

        if (line->mistake)
                return -EINVAL;
        return line->script->backend->remove_segment(line->script->context, segment);
}

static int do_mount(Line *line) {
        Script *script = line->script;
        uint64_t min = number_option(line, "min", UINT64_MAX);
        uint64_t max = number_option(line, "size", UINT64_MAX);
        unsigned mount = ADD(line, &script->mounts, word_at(line, 1), SCRIPT_MOUNTS_MAX);

        if (line->mistake)
                return -EINVAL;
        return script->backend->mount(script->context, mount, page_size(line), min, max);
}

static int do_unmount(Line *line) {
        unsigned mount = KNOWN(line, &line->script->mounts, word_at(line, 1));

        if (line->mistake)
                return -EINVAL;
        return line->script->backend->unmount(line->script->context, mount);
}

/* ---- writes by administrators ---- */

static int node_of(Line *line, const char *word) {
        if (text_equals(word, "host"))
                return KERNEL_HOST;
        if (text_starts_with(word, "node"))
                return (int) number(line, word + strlen("node"));
        wrong(line, "which node?");
        return KERNEL_HOST;
}

static int set(Line *line, ScriptTarget target, const char *where) {
        Script *script = line->script;
        const char *by = option(line, "by");
        int writer = by ? (int) process_of(line, by, NULL) : -1;
        int node = where ? node_of(line, where) : KERNEL_HOST;
        uint64_t n = number(line, word_at(line, 2));

        if (line->mistake)
                return -EINVAL;
        return script->backend->set(script->context, writer, target, node, page_size(line), n);
}

static int do_set(Line *line) {
        static const struct {
                const char *word;
                ScriptTarget target;
        } targets[] = {
                {"sysctl", SCRIPT_SET_SYSCTL},
                {"policy", SCRIPT_SET_BY_POLICY},
                {"overcommit", SCRIPT_SET_OVERCOMMIT},
        };

        for (size_t i = 0; i < ARRAY_LEN(targets); i++)
                if (text_equals(word_at(line, 1), targets[i].word))
                        return set(line, targets[i].target, NULL);
        return set(line, SCRIPT_SET_POOL, word_at(line, 1));
}

static int do_demote(Line *line) {
        return set(line, SCRIPT_DEMOTE, word_at(line, 1));
}

static int do_write(Line *line) {
        Text text = text_in(line->arena);

        for (const char *c = word_at(line, 2); *c; c++)
                if (*c == '\\' && strchr("ns", c[1]) && c[1])
                        text_add(&text, *++c == 'n' ? "\n" : " ");
                else
                        text_add_n(&text, c, 1);
        if (line->mistake)
                return -EINVAL;
        return line->script->backend->write(line->script->context, word_at(line, 1),
                                            text_string(&text));
}

static int do_group(Line *line) {
        const char *name = word_at(line, 1);

        if (FIND(&line->script->groups, name) >= 0)
                wrong(line, "that group is there");
        ADD(line, &line->script->groups, name, SCRIPT_GROUPS_MAX);
        if (line->mistake)
                return -EINVAL;
        return line->script->backend->make_group(line->script->context, name);
}

static int do_rmgroup(Line *line) {
        unsigned group = KNOWN(line, &line->script->groups, word_at(line, 1));

        if (line->mistake)
                return -EINVAL;
        int r = line->script->backend->remove_group(line->script->context, word_at(line, 1));

        if (r == 0)
                line->script->groups.items[group] = NULL;
        return r;
}

static int do_control(Line *line) {
        const char *group = line->n > 2 ? word_at(line, 1) : "";

        if (*group)
                KNOWN(line, &line->script->groups, group);
        if (line->mistake)
                return -EINVAL;
        return line->script->backend->write_group(
                line->script->context, group, "cgroup.subtree_control", word_at(line, line->n - 1));
}

static int do_limit(Line *line) {
        const char *reserved = option(line, "rsvd.max");
        const char *value = reserved ? reserved : option(line, "max");
        uint64_t bytes = page_size(line);

        KNOWN(line, &line->script->groups, word_at(line, 1));
        if (!value)
                wrong(line, "rsvd.max= or max= is missing");
        else if (!text_equals(value, "max"))
                value = arena_printf(line->arena, "%" PRIu64, number(line, value) * bytes);
        if (line->mistake)
                return -EINVAL;
        return line->script->backend->write_group(line->script->context, word_at(line, 1),
                                                  arena_printf(line->arena, "hugetlb.%s.%smax",
                                                               script_size_name(line->arena, bytes),
                                                               reserved ? "rsvd." : ""),
                                                  value);
}

static int do_mems(Line *line) {
        KNOWN(line, &line->script->groups, word_at(line, 1));
        if (line->mistake)
                return -EINVAL;
        return line->script->backend->write_group(line->script->context, word_at(line, 1),
                                                  "cpuset.mems", word_at(line, 2));
}

static int do_sizes(Line *line) {
        Script *script = line->script;

        script->n_sizes = 0;
        for (size_t i = 1; i < line->n; i++) {
                if (script->n_sizes == SCRIPT_SIZES_MAX ||
                    parse_size_bytes(line->words[i], &script->sizes[script->n_sizes]) < 0)
                        return wrong(line, line->words[i]);
                script->n_sizes++;
        }
        return 0;
}

/* ---- state ---- */

char *script_size_name(Arena *arena, uint64_t page_bytes) {
        return arena_printf(arena, "%sB", format_page_size(arena, page_bytes));
}

static void print_process(const Script *script, const ScriptView *view, size_t process, Text *out) {
        static const char *const states[] = {
                [SCRIPT_LIVES] = "lives", [SCRIPT_ENDED] = "ended", [SCRIPT_KILLED] = "killed"};

        text_printf(out, "  %s: %s", script->processes.items[process],
                    states[view->processes[process].state]);
        for (unsigned i = 0; i < script->n_sizes; i++)
                for (unsigned node = 0; node < KERNEL_NODES_MAX; node++) {
                        uint64_t pages = view->processes[process].pages[i][node];

                        if (pages > 0)
                                text_printf(out, ", %" PRIu64 " of %s on node%u", pages,
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

static void print_group(const Script *script, const ScriptView *view, size_t group, Text *out) {
        for (unsigned i = 0; i < script->n_sizes; i++) {
                const KernelCharge *charge = &view->groups[group].charges[i];

                text_printf(out, "  group %s %s: ", script->groups.items[group],
                            format_page_size(out->arena, script->sizes[i]));
                if (!charge->is_counted) {
                        text_add(out, "not counted\n");
                        continue;
                }
                text_printf(out, "%" PRIu64 " in use", charge->current_pages);
                for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                        if (charge->node_pages[node] > 0)
                                text_printf(out, ", %" PRIu64 " on node%u",
                                            charge->node_pages[node], node);
                text_printf(out, ", %" PRIu64 " reserved", charge->reserved_pages);
                print_limit(out, "max", charge->max_pages);
                print_limit(out, "rsvd.max", charge->reserved_max_pages);
                text_printf(out, ", refused %" PRIu64 "\n", charge->n_refused);
        }
}

/* ---- all ---- */

static const struct {
        const char *verb;
        int (*perform)(Line *line);
} verbs[] = {
        {"attach", do_attach}, {"control", do_control}, {"demote", do_demote},
        {"exit", do_exit},     {"file", do_file},       {"fork", do_fork},
        {"group", do_group},   {"limit", do_limit},     {"map", do_map},
        {"mbind", do_mbind},   {"mems", do_mems},       {"mount", do_mount},
        {"move", do_move},     {"policy", do_policy},   {"rmgroup", do_rmgroup},
        {"rmid", do_rmid},     {"run", do_run},         {"segment", do_segment},
        {"set", do_set},       {"sizes", do_sizes},     {"touch", do_touch},
        {"unmap", do_unmap},   {"unmount", do_unmount}, {"write", do_write},
};

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

static int perform(Line *line) {
        for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
                if (text_equals(line->words[0], verbs[i].verb))
                        return verbs[i].perform(line);
        return wrong(line, "what is to be done?");
}

int script_step(Script *script, const char *text, Text *out) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const char *rest = arena_strndup(arena, text, strcspn(text, "#\n"));
        Line line = {.script = script, .arena = arena, .note = text_in(arena)};
        char *word;

        while (line.n < WORDS_MAX && (word = text_next_word(arena, &rest, " \t")))
                line.words[line.n++] = word;
        if (line.n == 0)
                return 0;
        int r = perform(&line);

        if (line.mistake) {
                text_printf(out, "%s: %s\n", text, line.mistake);
                return -EINVAL;
        }
        text_printf(out, "%.*s: %s%s\n", (int) strcspn(text, "#\n"), text,
                    r == 0 ? "ok" : strerrorname_np(-r), text_string(&line.note));
        ScriptView view = {};

        script->backend->look(script->context, script, &view);
        for (unsigned i = 0; i < script->n_sizes; i++) {
                const char *name = format_page_size(out->arena, script->sizes[i]);
                const KernelPool *host = &view.hosts[i];

                for (unsigned node = 0; node < KERNEL_NODES_MAX; node++) {
                        const KernelPool *pool = &view.pools[i][node];

                        if (view.nodes & UINT64_C(1) << node)
                                text_printf(out,
                                            "  node%u %s: %" PRIu64 " total, %" PRIu64
                                            " free, %" PRIu64 " surplus\n",
                                            node, name, pool->total_pages, pool->free_pages,
                                            pool->surplus_pages);
                }
                text_printf(out,
                            "  host %s: %" PRIu64 " total, %" PRIu64 " free, %" PRIu64
                            " surplus, %" PRIu64 " reserved, %" PRIu64 " overcommit\n",
                            name, host->total_pages, host->free_pages, host->surplus_pages,
                            host->reserved_pages, host->overcommit_pages);
        }
        text_printf(out, "  vm.nr_hugepages %" PRIu64 "\n", view.hosts[0].max_pages);
        for (size_t i = 0; i < script->processes.n; i++)
                print_process(script, &view, i, out);
        for (size_t i = 0; i < script->groups.n; i++)
                if (script->groups.items[i])
                        print_group(script, &view, i, out);
        return 0;
}
