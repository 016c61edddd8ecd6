/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that set a value return NULL, or an error message; the value is unchanged then. */
#include "config/config_keys.h"

#include "base/size.h"
#include "base/text.h"
#include "config/config.h"
#include "model/name_check.h"
#include "model/rule.h"
#include "model/topology.h"

#include <string.h>
#include <strings.h>

/* ---- kinds of values of several keys ---- */

/* Returns the general error message. */
static const char *refuse(KeyTarget *target, const char *value) {
        return arena_printf(target->arena, "'%s' is not valid here", value);
}

/* Returns the address of KEY's member in TARGET. */
static void *member_of(const KeyTarget *target, const ConfigKey *key) {
        return (char *) (key->section == SECTION_HOST ? (void *) target->host
                                                      : (void *) target->instance) +
               key->offset;
}

static const char *set_boolean(KeyTarget *target, const ConfigKey *key, const char *value) {
        return parse_boolean(value, member_of(target, key)) < 0 ? refuse(target, value) : NULL;
}

static const char *set_duration(KeyTarget *target, const ConfigKey *key, const char *value) {
        return parse_duration_usec(value, member_of(target, key)) < 0 ? refuse(target, value)
                                                                      : NULL;
}

static const char *set_text(KeyTarget *target, const ConfigKey *key, const char *value) {
        *(const char **) member_of(target, key) = arena_strdup(target->arena, value);
        return NULL;
}

static const char *set_path(KeyTarget *target, const ConfigKey *key, const char *value) {
        if (*value != '/')
                return arena_printf(target->arena, "'%s' is not an absolute path", value);
        return set_text(target, key, value);
}

/* The name is written to unit files and limits.d without quoting. */
static const char *set_account(KeyTarget *target, const ConfigKey *key, const char *value) {
        const char *wrong = name_check_account(value);

        return wrong ? arena_printf(target->arena, "'%s': %s", value, wrong)
                     : set_text(target, key, value);
}

/* Sets one of the key's words: a value of an enumeration in its order, or false and true. */
static const char *set_word(KeyTarget *target, const ConfigKey *key, const char *value) {
        void *member = member_of(target, key);
        unsigned i = 0;

        while (key->words[i] && !text_equals(key->words[i], value))
                i++;
        if (!key->words[i])
                return refuse(target, value);
        if (key->size == sizeof(bool))
                *(bool *) member = i;
        else
                *(unsigned *) member = i;
        return NULL;
}

/* Adds every word of a list; a list without any word is refused. */
static const char *add_words(KeyTarget *target, const char *value,
                             const char *(*add)(KeyTarget *target, const char *word)) {
        const char *rest = value, *wrong = NULL;
        char *word = text_next_word(target->arena, &rest, ", ");

        if (!word)
                return refuse(target, value);
        for (; word && !wrong; word = text_next_word(target->arena, &rest, ", "))
                wrong = add(target, word);
        return wrong;
}

static const char *set_words(KeyTarget *target, const ConfigKey *key, const char *value) {
        return add_words(target, value, key->add);
}

static const char *parse_size(KeyTarget *target, const char *value, uint64_t *ret) {
        uint64_t bytes;
        int r = parse_size_bytes(value, &bytes);

        if (r == -ERANGE)
                return arena_printf(target->arena, "'%s' is too large", value);
        if (r < 0)
                return refuse(target, value);
        if (bytes < HUGE_PAGE_BYTES_MIN) /* a size without its suffix */
                return arena_printf(target->arena,
                                    "'%s' is %" PRIu64 " byte%s, less than any huge page has",
                                    value, bytes, bytes == 1 ? "" : "s");
        *ret = bytes;
        return NULL;
}

/* ---- [Host] ---- */

/* The least share of a node's memory that its processes need to run; see also plan.c. */
static const uint64_t keep_free_min_hundredths = 100;

static const char *set_amount(KeyTarget *target, const ConfigKey *key, const char *value) {
        Amount amount = {.is_share = text_ends_with(value, "%")};
        const char *wrong = !amount.is_share ? parse_size(target, value, &amount.bytes)
                            : parse_percent_hundredths(value, &amount.hundredths) < 0
                                    ? refuse(target, value)
                                    : NULL;

        if (!wrong)
                *(Amount *) member_of(target, key) = amount;
        return wrong;
}

static const char *set_keep_free(KeyTarget *target, const ConfigKey *key, const char *value) {
        const Amount before = target->host->keep_free;
        const char *wrong = set_amount(target, key, value);
        const Amount *amount = &target->host->keep_free;

        if (wrong)
                return wrong;
        if (amount->is_share ? amount->hundredths < keep_free_min_hundredths
                             : amount->bytes < 64 * MIB)
                wrong = arena_printf(target->arena, "'%s' leaves too little memory to the host",
                                     value);
        else if (amount->is_share && amount->hundredths == 10000)
                wrong = "no memory would be left for the plan";
        if (wrong)
                target->host->keep_free = before;
        return wrong;
}

static const char *add_silenced_rule(KeyTarget *target, const char *word) {
        const char *nearest = rule_may_be_silenced(word) ? NULL : rule_nearest(word);

        if (nearest)
                return arena_printf(target->arena, "there is no rule '%s', but there is %s", word,
                                    nearest);
        if (!rule_may_be_silenced(word))
                return arena_printf(target->arena, "there is no rule '%s'", word);
        *vec_push(target->arena, &target->host->silenced) =
                (SilencedRule){arena_strdup(target->arena, word), target->file, target->line};
        return NULL;
}

/* ---- [Instance] ---- */

static const char *set_name(KeyTarget *target, const ConfigKey *key, const char *value) {
        const char *wrong = key->check(value);

        return wrong ? wrong : set_text(target, key, value);
}

static const char *set_engine(KeyTarget *target, const ConfigKey *key UNUSED, const char *value) {
        const Engine *engine = engine_find(value);

        if (!engine)
                return engine_refuse(target->arena, value);
        target->instance->engine = engine;
        return NULL;
}

/* "8G", "auto", or "auto:64G" with a bound. */
static const char *set_memory(KeyTarget *target, const ConfigKey *key UNUSED, const char *value) {
        const char *bound = text_starts_with(value, "auto:") ? value + strlen("auto:") : NULL;
        bool is_auto = bound || text_equals(value, "auto");
        uint64_t bytes = 0;
        const char *wrong = is_auto && !bound ? NULL
                                              : parse_size(target, bound ? bound : value, &bytes);

        if (wrong)
                return wrong;
        target->instance->memory_kind = is_auto ? MEMORY_AUTO : MEMORY_BYTES;
        target->instance->memory_bytes = bytes;
        return NULL;
}

static void reset_memory(KeyTarget *target) {
        target->instance->memory_kind = MEMORY_UNSET;
        target->instance->memory_bytes = 0;
}

/* "1081", or "2M:1081". */
static const char *add_count(KeyTarget *target, PageCounts *counts, const char *word) {
        const char *colon = strchr(word, ':');
        PageCount count = {};

        if (colon && page_size_parse(arena_strdup_to(target->arena, word, colon),
                                     &count.page_size_bytes) < 0)
                return refuse(target, word);
        if (parse_u64(colon ? colon + 1 : word, &count.pages) < 0)
                return refuse(target, word);
        if (count.pages == 0)
                return "the number is 0";
        if (target->is_learned && mul_saturated(count.pages, count.page_size_bytes) > INT64_MAX)
                return "the number is too large";
        VEC_FOREACH(other, counts)
                if (other->page_size_bytes == count.page_size_bytes || !colon ||
                    other->page_size_bytes == 0)
                        return "there is more than one number for a page size";
        *vec_push(target->arena, counts) = count;
        return NULL;
}

static PageCounts *page_counts_of(const KeyTarget *target) {
        return target->is_learned ? &target->instance->learned.pages : &target->instance->pages;
}

static const char *add_page_count(KeyTarget *target, const char *word) {
        return add_count(target, page_counts_of(target), word);
}

static void reset_pages(KeyTarget *target) {
        *page_counts_of(target) = (PageCounts){};
}

/* The last assignment replaces earlier ones, so that an extension can give another number. */
static const char *set_pages(KeyTarget *target, const ConfigKey *key UNUSED, const char *value) {
        const PageCounts before = *page_counts_of(target);

        reset_pages(target);
        const char *wrong = add_words(target, value, add_page_count);

        if (wrong)
                *page_counts_of(target) = before;
        return wrong;
}

static const char *add_page_size(KeyTarget *target, const char *word) {
        InstanceConfig *instance = target->instance;
        uint64_t bytes = 0;

        if (!text_equals(word, "default") && page_size_parse(word, &bytes) < 0)
                return arena_printf(target->arena, "'%s' is not a page size", word);
        if (instance->n_page_sizes == PAGE_SIZES_MAX)
                return "there are too many page sizes";
        if (ARRAY_FIND(size, instance->page_sizes, instance->n_page_sizes, *size == bytes))
                return arena_printf(target->arena, "'%s' is named twice", word);
        instance->page_sizes[instance->n_page_sizes++] = bytes;
        return NULL;
}

static void reset_page_size(KeyTarget *target) {
        target->instance->n_page_sizes = 0;
        memset(target->instance->page_sizes, 0, sizeof(target->instance->page_sizes));
}

static void reset_nodes(KeyTarget *target) {
        target->instance->has_nodes = false;
        target->instance->nodes = (IdSet){};
}

static const char *set_nodes(KeyTarget *target, const ConfigKey *key UNUSED, const char *value) {
        InstanceConfig *instance = target->instance;
        IdSet nodes;

        if (text_equals(value, "all")) {
                reset_nodes(target);
                return NULL;
        }
        if (id_set_parse(value, &nodes) < 0)
                return refuse(target, value);
        instance->has_nodes = true;
        ID_SET_FOREACH(node, &nodes)
                id_set_add(&instance->nodes, node);
        return NULL;
}

/* Inserts in the order of node numbers into a copy of the array, because arena memory cannot grow. */
static const char *add_node_memory(KeyTarget *target, const char *word) {
        InstanceConfig *instance = target->instance;
        size_t n = instance->n_node_memory;
        NodeMemory *grown = ARENA_ARRAY(target->arena, NodeMemory, n + 1);
        const char *colon = strchr(word, ':');
        uint64_t node, bytes = 0;

        if (!colon || parse_u64(arena_strdup_to(target->arena, word, colon), &node) < 0 ||
            node >= ID_SET_MAX)
                return refuse(target, word);
        const char *wrong = parse_size(target, colon + 1, &bytes);

        if (wrong)
                return wrong;
        if (ARRAY_FIND(other, instance->node_memory, n, other->node == node))
                return arena_printf(target->arena, "node %u is named twice", (unsigned) node);
        if (n > 0)
                memcpy(grown, instance->node_memory, n * sizeof(*grown));
        for (; n > 0 && grown[n - 1].node > node; n--)
                grown[n] = grown[n - 1];
        grown[n] = (NodeMemory){(unsigned) node, bytes};
        instance->node_memory = grown;
        instance->n_node_memory++;
        return NULL;
}

static const char *set_priority(KeyTarget *target, const ConfigKey *key UNUSED, const char *value) {
        uint64_t priority;

        if (parse_u64(value, &priority) < 0 || priority > PRIORITY_MAX)
                return refuse(target, value);
        target->instance->priority = (unsigned) priority;
        return NULL;
}

/* The value is kept as unit files need it: in plain bytes, because systemd accepts fewer notations of a size. */
static const char *set_memory_lock(KeyTarget *target, const ConfigKey *key, const char *value) {
        uint64_t bytes = 0;

        if (TEXT_IS_ANY(value, "auto", "infinity", "no"))
                return set_text(target, key, value);
        const char *wrong = parse_size(target, value, &bytes);

        return wrong ? wrong
                     : set_text(target, key, arena_printf(target->arena, "%" PRIu64, bytes));
}

static const char *set_mount(KeyTarget *target, const ConfigKey *key UNUSED, const char *value) {
        MountConfig *mount = ARENA_NEW(target->arena, MountConfig);
        const char *wrong = mount_config_parse(target->arena, value, mount);

        if (!wrong)
                target->instance->mount = mount;
        return wrong;
}

/* "keep" is refused for an instance. */
static const char *set_thp(KeyTarget *target, const ConfigKey *key, const char *value) {
        ThpPolicy *member = target->is_learned ? &target->instance->learned.thp
                                               : member_of(target, key);
        ThpPolicy policy;

        if (thp_policy_from_name(value, &policy) < 0 ||
            (key->section == SECTION_INSTANCE && policy == THP_KEEP))
                return refuse(target, value);
        *member = policy;
        return NULL;
}

static const char *set_isolate(KeyTarget *target, const ConfigKey *key UNUSED, const char *value) {
        bool yes = false, is_auto = text_equals(value, "auto");

        if (!is_auto && parse_boolean(value, &yes) < 0)
                return refuse(target, value);
        target->instance->isolate = is_auto ? TRI_AUTO : yes ? TRI_YES : TRI_NO;
        return NULL;
}

static const char expects_boolean[] = "write yes or no";
static const char expects_duration[] = "write a time span such as 30s, 5min or infinity";
static const char expects_path[] = "write an absolute path";

#define MEMBER(type, field) .offset = offsetof(type, field), .size = sizeof(((type *) NULL)->field)
#define HOST(field)         MEMBER(HostConfig, field)
#define INSTANCE(field)     MEMBER(InstanceConfig, field)
#define WORDS(...)                       \
        .words = (const char *const[]) { \
                __VA_ARGS__, NULL        \
        }

const ConfigKey config_keys[] = {
        {SECTION_HOST, "TransparentHugePages", set_thp, "auto",
         "write one of auto, never, madvise, always, keep", HOST(thp)},
        {SECTION_HOST, "KeepFree", set_keep_free, "10%",
         "write a share of each node's memory (1% to 99%) or a size of at least 64M",
         HOST(keep_free)},
        {SECTION_HOST, "AutoMemory", set_amount, "80%",
         "write a share of each node's memory (0% to 100%) or a size", HOST(auto_memory)},
        {SECTION_HOST, "Compaction", set_boolean, "yes", expects_boolean, HOST(may_compact)},
        {SECTION_HOST, "Reclaim", set_boolean, "yes", expects_boolean, HOST(may_reclaim)},
        {SECTION_HOST, "DropCaches", set_boolean, "no", expects_boolean, HOST(may_drop_caches)},
        {SECTION_HOST, "BootTimeout", set_duration, "30s", expects_duration,
         HOST(boot_timeout_usec)},
        {SECTION_HOST, "ReserveTimeout", set_duration, "5min", expects_duration,
         HOST(reserve_timeout_usec)},
        {SECTION_HOST, "ExistingPages", set_word, "use", "write use or keep", HOST(existing_pages),
         WORDS("use", "keep")},
        {SECTION_HOST, "OnDrift", set_word, "repair", "write repair or report", HOST(on_drift),
         WORDS("repair", "report")},
        {SECTION_HOST, "SharedMemoryLimits", set_word, "auto", "write auto or keep",
         HOST(keep_shared_memory_limits), WORDS("auto", "keep")},
        {SECTION_HOST, "SilenceRules", set_words, NULL,
         "write ids as hugeplanctl check prints them; hugeplan-rules(7) lists them", HOST(silenced),
         .add = add_silenced_rule, .is_list = true},

        {SECTION_INSTANCE, "Name", set_name, NULL,
         "write letters, digits and _ . : @ -, beginning with a letter or digit", INSTANCE(name),
         .check = name_check_instance},
        {SECTION_INSTANCE, "Engine", set_engine, "generic",
         "write an engine that 'hugeplanctl size' lists"},
        {SECTION_INSTANCE, "Unit", set_name, NULL,
         "write the full name of a service, such as postgresql@15-main.service", INSTANCE(unit),
         .check = name_check_unit},
        {SECTION_INSTANCE, "User", set_account, NULL, "write a user name", INSTANCE(user)},
        {SECTION_INSTANCE, "Group", set_account, NULL, "write a group name", INSTANCE(group)},
        {SECTION_INSTANCE, "Memory", set_memory, NULL,
         "write a size such as 8G, auto, or auto:64G with a bound", .reset = reset_memory},
        {SECTION_INSTANCE, "Pages", set_pages, NULL,
         "write a whole number of pages, or one for each page size such as 1G:3 2M:1081",
         .reset = reset_pages},
        {SECTION_INSTANCE, "ConfigFile", set_path, NULL, expects_path, INSTANCE(config_file)},
        {SECTION_INSTANCE, "DataDirectory", set_path, NULL, expects_path, INSTANCE(data_directory)},
        {SECTION_INSTANCE, "PageSize", set_words, NULL,
         "write default, or sizes such as 2M or 1G,2M in order of preference", .add = add_page_size,
         .is_list = true, .reset = reset_page_size},
        {SECTION_INSTANCE, "Nodes", set_nodes, NULL, "write all, or node numbers such as 0,2-3",
         .is_list = true, .reset = reset_nodes},
        {SECTION_INSTANCE, "Placement", set_word, "spread",
         "write spread, pack, bind or interleave", INSTANCE(placement), .words = placement_names},
        {SECTION_INSTANCE, "NodeMemory", set_words, NULL, "write sizes by node such as 0:12G 1:4G",
         INSTANCE(n_node_memory), .add = add_node_memory, .is_list = true},
        {SECTION_INSTANCE, "Shortage", set_word, "refuse", "write refuse or degrade",
         INSTANCE(shortage), .words = shortage_names},
        {SECTION_INSTANCE, "Priority", set_priority, "50", "write a whole number from 0 to 100"},
        {SECTION_INSTANCE, "MemoryLock", set_memory_lock, NULL,
         "write auto, infinity, no or a size", INSTANCE(memory_lock)},
        {SECTION_INSTANCE, "SharedMemory", set_word, NULL, "write mmap, sysv or hugetlbfs",
         INSTANCE(shared_memory), WORDS("" /* the engine's */, "mmap", "sysv", "hugetlbfs")},
        {SECTION_INSTANCE, "Mount", set_mount, NULL,
         "write a path such as /run/hugepages/orders, then, as needed, "
         "mode=0770 owner=USER:GROUP size=8G min_size=8G",
         INSTANCE(mount)},
        {SECTION_INSTANCE, "TransparentHugePages", set_thp, "auto",
         "write one of auto, never, madvise, always", INSTANCE(thp)},
        {SECTION_INSTANCE, "Isolate", set_isolate, "auto", "write auto, yes or no"},
        {SECTION_INSTANCE, "WaitTimeout", set_duration, CONFIG_WAIT_TIMEOUT, expects_duration,
         INSTANCE(wait_timeout_usec)},
};
const size_t n_config_keys = ARRAY_LEN(config_keys);

/* Reads an "X-" key of hugeplan's own record; in other files such keys are the administrator's and ignored. */
static void note_learned(KeyTarget *target, const Assignment *assignment) {
        Learned *learned = &target->instance->learned;
        Seen *seen = &learned->seen;
        const struct {
                const char *key;
                PageCounts *counts;
                const char **text;
                bool *flag;
        } notes[] = {
                {"X-Version", .text = &learned->version},
                {"X-Exact", .flag = &learned->is_exact},
                {"X-Rule", .counts = &learned->by_rule},
                {"X-Settings", .text = &learned->settings},
                {"X-Fixed", .flag = &learned->is_fixed},
                {"X-Running", .flag = &learned->is_of_running},
                {"X-Seen", .counts = &seen->pages},
                {"X-SeenExact", .flag = &seen->is_exact},
                {"X-SeenBase", .counts = &seen->base},
                {"X-SeenUnit", .text = &seen->unit},
                {"X-SeenVersion", .text = &seen->version},
                {"X-SeenSettings", .text = &seen->settings},
        };

        ARRAY_FOREACH(note, notes, ARRAY_LEN(notes)) {
                const char *value = assignment->value, *word;

                if (!text_equals(assignment->key, note->key))
                        continue;
                if (note->text)
                        *note->text = arena_strdup(target->arena, value);
                else if (note->flag)
                        parse_boolean(value, note->flag);
                else /* an invalid list counts as none */
                        for (*note->counts = (PageCounts){};
                             (word = text_next_word(target->arena, &value, " "));)
                                if (add_count(target, note->counts, word)) {
                                        *note->counts = (PageCounts){};
                                        break;
                                }
        }
}

/* ---- the assignments of a file ---- */

static const ConfigKey *find_key(Section section, const char *name) {
        return ARRAY_FIND(key, config_keys, n_config_keys,
                          key->section == section && text_equals(key->name, name));
}

static void refuse_unknown(Arena *arena, Section section, const Assignment *assignment,
                           ParsedFile *parsed, Diags *problems) {
        bool is_host = section == SECTION_HOST;
        NearMiss miss = {assignment->key, 3};
        const char *remedy = "hugeplan.d(5) lists the keys; your own must begin with X-";

        /* A difference in case only is the most likely mistake. */
        ARRAY_FOREACH(key, config_keys, n_config_keys)
                if (key->section == section)
                        near_miss_try_at(&miss, key->name,
                                         strcasecmp(key->name, assignment->key) == 0
                                                 ? 0
                                                 : text_distance(key->name, assignment->key));
        if (miss.name && miss.distance == 0)
                remedy = arena_printf(arena, "write %s=", miss.name);
        else if (find_key(is_host ? SECTION_INSTANCE : SECTION_HOST, assignment->key))
                remedy = arena_printf(arena, "the key belongs to the section [%s]",
                                      is_host ? "Instance" : "Host");
        else if (miss.name)
                remedy = arena_printf(arena, "did you mean %s=? hugeplan.d(5) lists the keys",
                                      miss.name);
        config_file_refuse(parsed, problems, PROBLEM_CONFIG_UNKNOWN_KEY, assignment->line,
                           assignment->key, "unknown key", remedy);
}

void config_keys_set_defaults(KeyTarget *target, Section section) {
        ARRAY_FOREACH(key, config_keys, n_config_keys)
                if (key->section == section && key->default_value)
                        key->set(target, key, key->default_value);
}

/* Removes the origins of a value that is no longer in effect. */
static void forget_origins(InstanceConfig *instance, const char *key) {
        VEC_KEEP(origin, &instance->origins, !text_equals(origin->key, key));
}

static void apply_one(KeyTarget *target, Section section, const Assignment *assignment,
                      ParsedFile *parsed, Diags *problems) {
        Arena *arena = target->arena;
        const ConfigKey *key = find_key(section, assignment->key);
        unsigned earlier = 0; /* the line of a non-empty assignment of the same key in this file */

        target->file = parsed->file->path;
        target->line = assignment->line;
        if (text_starts_with(assignment->key, "X-")) {
                if (target->is_learned)
                        note_learned(target, assignment);
                return;
        }
        if (!key) {
                refuse_unknown(arena, section, assignment, parsed, problems);
                return;
        }
        if (*assignment->value == '\0') { /* resets the key to its default */
                if (key->reset)
                        key->reset(target);
                else if (key->default_value)
                        key->set(target, key, key->default_value);
                else /* lists too: their array is shared with the configuration before this file */
                        memset(member_of(target, key), 0, key->size);
                if (target->instance)
                        forget_origins(target->instance, key->name);
                return;
        }
        for (const Assignment *a = parsed->assignments.items; a < assignment && !key->is_list; a++)
                if (text_equals(a->section, assignment->section) &&
                    text_equals(a->key, assignment->key))
                        earlier = *a->value ? a->line : 0;
        const char *value = arena_strdup(arena, assignment->value);
        const char *wrong = earlier > 0 ? NULL : key->set(target, key, value);

        if (earlier > 0)
                config_file_refuse(parsed, problems, PROBLEM_CONFIG_SET_TWICE, assignment->line,
                                   key->name,
                                   arena_printf(arena, "is already set in line %u", earlier),
                                   "keep one of the lines");
        else if (wrong)
                config_file_refuse(parsed, problems, PROBLEM_CONFIG_BAD_VALUE, assignment->line,
                                   key->name, wrong, key->expects);
        else if (target->instance && !target->is_learned) {
                if (!key->is_list)
                        forget_origins(target->instance, key->name);
                *vec_push(arena, &target->instance->origins) =
                        (ConfigOrigin){key->name, value, target->file, target->line};
        }
}

void config_keys_apply(KeyTarget *target, Section section, ParsedFile *parsed, Diags *problems) {
        const char *name = section == SECTION_HOST ? "Host" : "Instance";

        VEC_FOREACH(assignment, &parsed->assignments)
                if (text_equals(assignment->section, name))
                        apply_one(target, section, assignment, parsed, problems);
}
