/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "support/testing.h"

#include "base/size.h"
#include "config/config.h"
#include "model/name_check.h"

void testing_assert_text(const char *actual, const char *expected, const char *what,
                         const char *file, int line) {
        if (text_equals(actual, expected))
                return;
        print_error("%s:%d: %s\n--- is\n%s\n--- should be\n%s\n", file, line, what,
                    actual ? actual : "(NULL)", expected ? expected : "(NULL)");
        _fail(file, line);
}

void testing_assert_contains(const char *haystack, const char *needle, const char *file, int line) {
        if (haystack && strstr(haystack, needle))
                return;
        print_error("%s:%d: not found\n--- in\n%s\n--- wanted\n%s\n", file, line,
                    haystack ? haystack : "(NULL)", needle);
        _fail(file, line);
}

/* ---- hosts ---- */

static void refuse_word(const char *word) {
        fprintf(stderr, "host_make: '%s' makes no sense\n", word);
        abort();
}

static uint64_t number_or_abort(const char *word) {
        uint64_t number;

        if (parse_size_bytes(word, &number) < 0)
                refuse_word(word);
        return number;
}

/* The value of "KEY=VALUE"; NULL for another key. */
static const char *value_of(const char *word, const char *key) {
        size_t length = strlen(key);

        return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

static size_t size_index(const Topology *topology, Arena *arena, const char *word,
                         const char **ret_value) {
        const char *equals = strchr(word, '=');

        if (!equals)
                refuse_word(word);
        int i = topology_page_size_index(
                topology, number_or_abort(arena_strndup(arena, word, (size_t) (equals - word))));

        if (i < 0)
                refuse_word(word);
        *ret_value = equals + 1;
        return (size_t) i;
}

static void read_sizes(Arena *arena, Topology *topology, const char *rest) {
        char *word;

        topology->page_sizes = ARENA_ARRAY(arena, PageSize, 8);
        while ((word = text_next_word(arena, &rest, " ")))
                topology->page_sizes[topology->n_page_sizes++].bytes = number_or_abort(word);
        topology->default_page_size_bytes = topology->page_sizes[topology->n_page_sizes - 1].bytes;
}

static void read_pool(Arena *arena, Pool *pool, const char *value) {
        uint64_t *counts[] = {&pool->total_pages, &pool->free_pages, &pool->surplus_pages};
        char *word;

        if (text_equals(value, "-")) {
                pool->exists = false;
                return;
        }
        for (size_t i = 0; i < ARRAY_LEN(counts) && (word = text_next_word(arena, &value, "/"));
             i++) {
                *counts[i] = number_or_abort(word);
                if (i == 0)
                        pool->free_pages = pool->total_pages;
        }
}

static void read_node(Arena *arena, Topology *topology, const char *rest) {
        Node *node = &topology->nodes[topology->n_nodes++];
        char *word = text_next_word(arena, &rest, " ");

        *node = (Node){
                .id = (unsigned) number_or_abort(word), .can_reclaim = true, .can_compact = true};
        node->pools = ARENA_ARRAY(arena, Pool, topology->n_page_sizes + 1);
        for (size_t i = 0; i < topology->n_page_sizes; i++)
                node->pools[i] =
                        (Pool){.page_size_bytes = topology->page_sizes[i].bytes, .exists = true};
        while ((word = text_next_word(arena, &rest, " "))) {
                const char *value;

                if ((value = value_of(word, "total")))
                        node->memory_bytes = number_or_abort(value);
                else if ((value = value_of(word, "free")))
                        node->free_bytes = number_or_abort(value);
                else if ((value = value_of(word, "cache")))
                        node->reclaimable_bytes = number_or_abort(value);
                else if (text_equals(word, "noreclaim"))
                        node->can_reclaim = false;
                else if (text_equals(word, "nocompact"))
                        node->can_compact = false;
                else {
                        size_t i = size_index(topology, arena, word, &value);

                        read_pool(arena, &node->pools[i], value);
                }
        }
        node->has_memory = node->memory_bytes > 0;
        id_set_add(&topology->possible_nodes, node->id);
}

static void read_thp(Arena *arena, Topology *topology, const char *rest) {
        char *word;

        topology->thp_enabled = text_next_word(arena, &rest, " ");
        while ((word = text_next_word(arena, &rest, " "))) {
                /* "64K=madvise", "64K=inherit/always" (the latter of shared memory), or another file of the host:
                 * "shmem=always", "defrag=defer", "max_ptes_none=511". */
                char *value = strchr(word, '=');

                if (!value)
                        refuse_word(word);
                *value++ = '\0';
                if (text_equals(word, "shmem"))
                        topology->thp_shmem_enabled = value;
                else if (text_equals(word, "defrag"))
                        topology->thp_defrag = value;
                else if (text_equals(word, "max_ptes_none"))
                        topology->thp_max_ptes_none = value;
                else {
                        char *slash = strchr(value, '/');

                        if (slash)
                                *slash = '\0';
                        *vec_push(arena, &topology->thp_sizes) =
                                (ThpSize){number_or_abort(word), value, slash ? slash + 1 : NULL};
                }
        }
}

static void read_blocks(Arena *arena, Topology *topology, const char *rest) {
        char *word = text_next_word(arena, &rest, " ");
        Node *node = (Node *) topology_node(topology, (unsigned) number_or_abort(word));

        while ((word = text_next_word(arena, &rest, " "))) {
                char *equals = strchr(word, '=');

                if (!equals || !node)
                        refuse_word(word);
                *equals = '\0';
                node->free_blocks[number_or_abort(word)] = number_or_abort(equals + 1);
        }
}

static void read_fact(Arena *arena, Topology *topology, const char *line) {
        const char *rest = line, *value;
        char *what = text_next_word(arena, &rest, " ");

        rest += strspn(rest, " ");
        if (!what)
                return;
        if (text_equals(what, "sizes"))
                read_sizes(arena, topology, rest);
        else if (text_equals(what, "node"))
                read_node(arena, topology, rest);
        else if (text_equals(what, "reserved"))
                topology->page_sizes[size_index(topology, arena, rest, &value)].reserved_pages =
                        number_or_abort(strchr(rest, '=') + 1);
        else if (text_equals(what, "thp"))
                read_thp(arena, topology, rest);
        else if (text_equals(what, "cpus"))
                topology->n_cpus = (unsigned) number_or_abort(rest);
        else if (text_equals(what, "cma"))
                topology->cma_bytes = number_or_abort(rest);
        else if (text_equals(what, "failed"))
                topology->failed_bytes = number_or_abort(rest);
        else if (text_equals(what, "commit"))
                topology->commit = (CommitLimit){
                        number_or_abort(text_next_word(arena, &rest, " ")),
                        number_or_abort(text_next_word(arena, &rest, " ")),
                        number_or_abort(text_next_word(arena, &rest, " ")),
                };
        else if (text_equals(what, "blocks"))
                read_blocks(arena, topology, rest);
        else if (text_equals(what, "possible")) {
                if (id_set_parse(rest, &topology->possible_nodes) < 0)
                        refuse_word(rest);
        } else if (text_equals(what, "allowed")) {
                if (id_set_parse(rest, &topology->allowed_nodes) < 0)
                        refuse_word(rest);
        } else
                refuse_word(what);
}

static void add_up_sizes(Topology *topology) {
        for (size_t k = 0; k < topology->n_page_sizes; k++) {
                PageSize *size = &topology->page_sizes[k];

                size->total_pages = size->free_pages = size->surplus_pages = 0;
                for (size_t i = 0; i < topology->n_nodes; i++) {
                        size->total_pages += topology->nodes[i].pools[k].total_pages;
                        size->free_pages += topology->nodes[i].pools[k].free_pages;
                        size->surplus_pages += topology->nodes[i].pools[k].surplus_pages;
                }
        }
}

Topology *host_make(Arena *arena, const char *text) {
        Topology *topology = ARENA_NEW(arena, Topology);
        char *line;

        topology->nodes = ARENA_ARRAY(arena, Node, 64);
        topology->is_numa = true;
        topology->base_page_bytes = 4 * KIB;
        topology->boot_id = "boot";
        for (unsigned id = 0; id < ID_SET_MAX; id++)
                id_set_add(&topology->allowed_nodes, id);
        while ((line = text_next_word(arena, &text, "\n")))
                read_fact(arena, topology, line);
        add_up_sizes(topology);
        return topology;
}

Topology *host_printf(Arena *arena, const char *format, ...) {
        const char *text;
        va_list arguments;

        va_start(arguments, format);
        text = arena_vprintf(arena, format, arguments);
        va_end(arguments);
        return host_make(arena, text);
}

static void apply_to_pool(Node *node, Pool *pool, uint64_t to_pages) {
        uint64_t from_pages = pool_persistent_pages(pool);

        if (to_pages >= from_pages) {
                uint64_t more = to_pages - from_pages;
                /* Surplus pages become persistent before new ones are made. */
                uint64_t converted = MIN(more, pool->surplus_pages);
                uint64_t bytes = (more - converted) * pool->page_size_bytes;

                pool->surplus_pages -= converted;
                pool->total_pages += more - converted;
                pool->free_pages += more - converted;
                node->reclaimable_bytes =
                        sub_floored(node->reclaimable_bytes, sub_floored(bytes, node->free_bytes));
                node->free_bytes = sub_floored(node->free_bytes, bytes);
        } else {
                uint64_t fewer = from_pages - to_pages;

                pool->total_pages -= fewer;
                pool->free_pages = sub_floored(pool->free_pages, fewer);
                node->free_bytes += fewer * pool->page_size_bytes;
        }
}

Ledger *ledger_of_idle(Arena *arena, const Topology *topology) {
        Ledger *ledger = ledger_new(arena, topology->boot_id);

        ledger_observe(arena, ledger, topology, NULL);
        VEC_FOREACH(pool, &ledger->pools)
                pool->others_pages = 0;
        return ledger;
}

void host_apply(Topology *topology, const Plan *plan) {
        for (size_t i = 0; i < plan->n_pools; i++) {
                Node *node = (Node *) topology_node(topology, plan->pools[i].node);
                Pool *pool = (Pool *) topology_pool(topology, plan->pools[i].node,
                                                    plan->pools[i].page_size_bytes);

                if (plan->pools[i].to_pages != plan->pools[i].from_pages)
                        apply_to_pool(node, pool, plan->pools[i].to_pages);
        }
        add_up_sizes(topology);
}

/* ---- configurations ---- */

void config_add_file(Arena *arena, ConfigFiles *files, const char *name, const char *text,
                     size_t size) {
        const char *slash = strchr(name, '/');

        *vec_push(arena, files) = (ConfigFile){
                .path = arena_printf(arena, "/etc/hugeplan.d/%s", name),
                .name = slash ? slash + 1 : name,
                .extends = slash ? arena_strndup(arena, name, (size_t) (slash - name) - 2) : NULL,
                .text = text,
                .size = size,
                .error = text ? 0 : -EACCES,
        };
}

Config *config_make(Arena *arena, ...) {
        ConfigFiles *files = ARENA_NEW(arena, ConfigFiles);
        const char *name;
        va_list arguments;

        va_start(arguments, arena);
        while ((name = va_arg(arguments, const char *))) {
                const char *text = va_arg(arguments, const char *);

                config_add_file(arena, files, name, text, text ? strlen(text) : 0);
        }
        va_end(arguments);
        return config_parse(arena, files);
}

Config *config_make_files(Arena *arena, const char *const *names, const char *const *texts,
                          size_t n) {
        ConfigFiles *files = ARENA_NEW(arena, ConfigFiles);

        for (size_t i = 0; i < n; i++)
                config_add_file(arena, files, names[i], texts[i], texts[i] ? strlen(texts[i]) : 0);
        return config_parse(arena, files);
}

Config *config_line(Arena *arena, const char *format, ...) {
        ConfigFiles *files = ARENA_NEW(arena, ConfigFiles);
        const char *rest;
        char *file, *word;
        va_list arguments;

        va_start(arguments, format);
        rest = arena_vprintf(arena, format, arguments);
        va_end(arguments);
        while ((file = text_next_word(arena, &rest, ";"))) {
                const char *words = file;
                const char *name = text_next_word(arena, &words, " \n");
                Text text = text_in(arena);

                if (!strchr(words, '['))
                        text_add(&text, "[Instance]");
                while ((word = text_next_word(arena, &words, " \n"))) {
                        bool is_key = *word >= 'A' && *word <= 'Z' && strchr(word, '=');

                        text_printf(&text, "%s%s",
                                    is_key            ? "\n"
                                    : text.length > 0 ? " "
                                                      : "",
                                    word);
                }
                text_add(&text, "\n");
                config_add_file(arena, files, arena_printf(arena, "%s.conf", name),
                                text_string(&text), text.length);
        }
        return config_parse(arena, files);
}

Config *config_make_bytes(Arena *arena, const char *name, const char *bytes, size_t size) {
        ConfigFiles *files = ARENA_NEW(arena, ConfigFiles);
        char *text = arena_alloc(arena, size + 1);

        memcpy(text, bytes, size);
        config_add_file(arena, files, name, text, size);
        return config_parse(arena, files);
}

/* ---- running units ---- */

/* "0:7/1:3" */
static void read_node_pages(Arena *arena, const char *value, PagesByNode *ret) {
        char *word;

        while ((word = text_next_word(arena, &value, "/"))) {
                char *colon = strchr(word, ':');

                if (!colon)
                        refuse_word(word);
                *colon = '\0';
                *vec_push(arena, ret) =
                        (NodePages){(unsigned) number_or_abort(word), number_or_abort(colon + 1)};
        }
}

/* "2M=VALUE" */
static const char *read_size_of(Arena *arena, const char *word, uint64_t *ret_bytes) {
        const char *equals = strchr(word, '=');

        if (!equals)
                refuse_word(word);
        *ret_bytes = number_or_abort(arena_strndup(arena, word, (size_t) (equals - word)));
        return equals + 1;
}

static void read_nodes(const char *value, IdSet *ret) {
        if (id_set_parse(value, ret) < 0)
                refuse_word(value);
}

/* RESERVED[/NODE:TOUCHED...] */
static UnitCharge read_charge(Arena *arena, const char *value) {
        uint64_t counted = number_or_abort(text_next_word(arena, &value, "/"));
        UnitCharge charge = {};

        read_node_pages(arena, value, &charge.used);
        charge.pages = VEC_SUM(each, &charge.used, each->pages);
        unit_charge_set_reserved(&charge, counted);
        return charge;
}

static void read_hold_word(Arena *arena, const char *word, LedgerHold *hold) {
        const char *value;

        if ((value = value_of(word, "wanted")))
                hold->granted.pages_wanted = number_or_abort(value);
        else if ((value = value_of(word, "run")))
                hold->run = value;
        else if ((value = value_of(word, "bind"))) {
                hold->policy.kind = MEMORY_POLICY_BIND;
                read_nodes(value, &hold->policy.nodes);
        } else if ((value = value_of(word, "interleave"))) {
                hold->policy.kind = MEMORY_POLICY_INTERLEAVE;
                read_nodes(value, &hold->policy.nodes);
        } else if (text_equals(word, "unknown"))
                hold->policy.kind = MEMORY_POLICY_UNKNOWN;
        else if (text_equals(word, "counted"))
                hold->is_counted = true;
        else if ((value = value_of(word, "beside"))) {
                const UnitCharge earlier = read_charge(arena, value);

                hold->earlier = arena_memdup(arena, &earlier, sizeof(earlier));
        } else if (text_equals(word, "tentative"))
                hold->is_tentative = true;
        else {
                value = read_size_of(arena, word, &hold->granted.page_size_bytes);
                read_node_pages(arena, value, &hold->granted.grants);
                hold->granted.pages_wanted = ledger_granted_pages(&hold->granted);
        }
}

static void read_hold(Arena *arena, Running *running, const char *rest) {
        LedgerHold *hold = vec_push(arena, &running->holds);
        char *word;

        *hold = (LedgerHold){.unit = text_next_word(arena, &rest, " "),
                             .run = "",
                             .policy = {.kind = MEMORY_POLICY_ANY}};
        hold->granted.name = text_next_word(arena, &rest, " ");
        while ((word = text_next_word(arena, &rest, " ")))
                read_hold_word(arena, word, hold);
}

static void read_unit_word(Arena *arena, const char *word, UnitUse *unit) {
        uint64_t page_size_bytes;
        const char *value;

        if ((value = value_of(word, "mems"))) {
                unit->has_memory_nodes = true;
                read_nodes(value, &unit->memory_nodes);
                return;
        }
        value = read_size_of(arena, word, &page_size_bytes);
        UnitCharge *charge = vec_push(arena, &unit->charges);

        *charge = read_charge(arena, value);
        charge->page_size_bytes = page_size_bytes;
}

static void read_unit(Arena *arena, Running *running, const char *rest) {
        UnitUse *unit = vec_push(arena, &running->use.units);
        char *word;

        *unit = (UnitUse){.unit = text_next_word(arena, &rest, " "), .is_running = true};
        while ((word = text_next_word(arena, &rest, " ")))
                read_unit_word(arena, word, unit);
}

static void read_mount(Arena *arena, Running *running, const char *rest) {
        MountUse *mount = vec_push(arena, &running->use.mounts);
        const char *value;

        *mount = (MountUse){.instance = text_next_word(arena, &rest, " ")};
        value = read_size_of(arena, text_next_word(arena, &rest, " "), &mount->page_size_bytes);
        mount->earmarked_pages = number_or_abort(text_next_word(arena, &value, "/"));
        mount->used_pages = number_or_abort(text_next_word(arena, &value, "/"));
}

Running running_make(Arena *arena, const char *text) {
        Running running = {};
        char *line;

        while ((line = text_next_word(arena, &text, "\n"))) {
                const char *rest = line;
                const char *what = text_next_word(arena, &rest, " ");

                if (text_equals(what, "hold"))
                        read_hold(arena, &running, rest);
                else if (text_equals(what, "unit"))
                        read_unit(arena, &running, rest);
                else if (text_equals(what, "mount"))
                        read_mount(arena, &running, rest);
                else
                        refuse_word(line);
        }
        return running;
}

/* ---- plans ---- */

static Plan *plan_observed(Arena *arena, const Config *config, const Topology *topology,
                           Ledger *ledger, const HostUse *use, const PoolLimits *limits) {
        ledger_observe(arena, ledger, topology, use);
        const PlanInput input = {
                .host = &config->host,
                .demand = demand_compute(arena, config, topology, NULL),
                .topology = topology,
                .ledger = ledger,
                .use = use,
                .limits = limits,
        };

        return plan_make(arena, &input);
}

Plan *plan_beside(Arena *arena, const Config *config, const Topology *topology, Ledger *ledger,
                  const Running *running) {
        if (!ledger)
                ledger = ledger_new(arena, topology->boot_id);
        VEC_FOREACH(hold, &running->holds)
                if (!ledger_hold(ledger, hold->unit, hold->granted.name))
                        *vec_push(arena, &ledger->holds) = *hold;
        return plan_observed(arena, config, topology, ledger, &running->use, NULL);
}

Plan *plan_with(Arena *arena, const Config *config, const Topology *topology, Ledger *ledger,
                const PoolLimits *limits) {
        return plan_observed(arena, config, topology,
                             ledger ? ledger : ledger_new(arena, topology->boot_id), NULL, limits);
}

Plan *plan_simple(Arena *arena, const Config *config, const Topology *topology) {
        return plan_with(arena, config, topology, NULL, NULL);
}

char *grants_text(Arena *arena, const Plan *plan, const char *name) {
        const PlanInstance *instance = plan_find(plan, name);
        Text text = text_in(arena);

        if (!instance)
                return arena_strdup(arena, "no such instance");
        VEC_FOREACH(grant, &instance->grants)
                text_printf(&text, "%s%u:%" PRIu64, text.length > 0 ? " " : "", grant->node,
                            grant->pages);
        return arena_strdup(arena, text.length > 0 ? text_string(&text) : "-");
}

char *steps_text(Arena *arena, const Plan *plan) {
        PlanSteps steps = plan_steps(arena, plan);
        Text text = text_in(arena);

        VEC_FOREACH(step, &steps)
                text_printf(&text, "%s%u:%s:%" PRIu64 "%s%" PRIu64, text.length > 0 ? " " : "",
                            step->pool->node, format_page_size(arena, step->pool->page_size_bytes),
                            step->from_pages, step->demote_to_bytes > 0 ? "=>" : "->",
                            step->to_pages);
        return arena_strdup(arena, text.length > 0 ? text_string(&text) : "-");
}

/* A gate never runs with "+" or "!", because its environment belongs to the unit's owner. */
static bool is_gate(Arena *arena, const char *line, const char *ctl) {
        const char *start = arena_printf(arena, "ExecStartPre=%s wait ", ctl);

        return text_starts_with(line, start) && !name_check_instance(line + strlen(start));
}

static bool is_node_list(const char *line) {
        IdSet nodes;

        return text_starts_with(line, "NUMAMask=") &&
               id_set_parse(line + strlen("NUMAMask="), &nodes) == 0 && !id_set_is_empty(&nodes);
}

static bool is_memory_lock(const char *line) {
        uint64_t bytes;

        return text_starts_with(line, "LimitMEMLOCK=") &&
               parse_u64(line + strlen("LimitMEMLOCK="), &bytes) == 0;
}

/* Wants= and After= of a mount unit, whose name is an escaped path. */
static bool is_mount_unit(const char *line) {
        return (text_starts_with(line, "Wants=") || text_starts_with(line, "After=")) &&
               text_ends_with(line, ".mount") && !strpbrk(line, " \t%\"'/");
}

const char *dropin_odd_line(Arena *arena, const char *text, const char *ctl) {
        static const char *const known[] = {"",
                                            "[Unit]",
                                            "[Service]",
                                            "Wants=hugeplan.service",
                                            "After=hugeplan.service",
                                            "NUMAPolicy=bind",
                                            "NUMAPolicy=interleave",
                                            "NUMAMask=all",
                                            "LimitMEMLOCK=infinity",
                                            "SupplementaryGroups=hugetlb",
                                            "MemoryTHP=disable",
                                            "MemoryTHP=madvise"};

        while (*text) {
                size_t length = strcspn(text, "\n");
                const char *line = arena_strndup(arena, text, length);
                bool is_known = *line == '#' || is_mount_unit(line) || is_gate(arena, line, ctl) ||
                                is_node_list(line) || is_memory_lock(line);

                for (size_t i = 0; i < ARRAY_LEN(known); i++)
                        is_known = is_known || text_equals(line, known[i]);
                if (!is_known || text[length] != '\n' || strpbrk(line, "\r\v\f\x7f"))
                        return line;
                text += length + 1;
        }
        return NULL;
}

char *problems_text(Arena *arena, const Diags *problems) {
        Text text = text_in(arena);

        VEC_FOREACH(problem, &problems->list)
                text_printf(&text, "%s%s", text.length > 0 ? "\n" : "",
                            diag_format(arena, problem));
        return arena_strdup(arena, text_string(&text));
}
