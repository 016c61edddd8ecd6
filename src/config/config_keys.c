/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config_keys.h"

#include "base/size.h"
#include "base/text.h"
#include "config/mount_config.h"
#include "model/name_check.h"
#include "model/problem.h"
#include "model/rule.h"

#include <string.h>
#include <strings.h>

/* A word of a list: its place in WORDS, or -1. */
static int word_index(const char *value, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (text_equals(value, words[i]))
                        return (int) i;
        return -1;
}

#define WORD_INDEX(value, ...)                                  \
        word_index((value), (const char *const[]){__VA_ARGS__}, \
                   ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static const char *not_valid(KeyTarget *target, const char *value) {
        return arena_printf(target->arena, "'%s' is not valid here", value);
}

static const char *set_boolean(KeyTarget *target, const char *value, bool *ret) {
        return parse_boolean(value, ret) < 0 ? not_valid(target, value) : NULL;
}

static const char *set_duration(KeyTarget *target, const char *value, uint64_t *ret) {
        return parse_duration_usec(value, ret) < 0 ? not_valid(target, value) : NULL;
}

static const char *set_size(KeyTarget *target, const char *value, uint64_t *ret) {
        uint64_t bytes;
        int r = parse_size_bytes(value, &bytes);

        if (r == -ERANGE)
                return arena_printf(target->arena, "'%s' is more than can be counted", value);
        if (r < 0)
                return not_valid(target, value);
        if (bytes == 0)
                return "nothing is asked for";
        *ret = bytes;
        return NULL;
}

/* ---- [Host] ---- */

static const char *set_host_thp(KeyTarget *target, const char *value) {
        return thp_policy_from_name(value, &target->host->thp) < 0 ? not_valid(target, value)
                                                                   : NULL;
}

/* Below this a node's processes cannot live; see also plan.c. */
static const uint64_t keep_free_min_hundredths = 100;

static const char *set_keep_free(KeyTarget *target, const char *value) {
        Amount amount = {.is_share = text_ends_with(value, "%")};
        int r = amount.is_share ? parse_percent_hundredths(value, &amount.hundredths)
                                : parse_size_bytes(value, &amount.bytes);

        if (r < 0)
                return not_valid(target, value);
        if (amount.is_share ? amount.hundredths < keep_free_min_hundredths
                            : amount.bytes < 64 * MIB)
                return arena_printf(target->arena, "'%s' leaves the host too little to live on",
                                    value);
        if (amount.is_share && amount.hundredths == 10000)
                return "nothing would be left to plan with";
        target->host->keep_free = amount;
        return NULL;
}

static const char *set_compaction(KeyTarget *target, const char *value) {
        return set_boolean(target, value, &target->host->may_compact);
}

static const char *set_reclaim(KeyTarget *target, const char *value) {
        return set_boolean(target, value, &target->host->may_reclaim);
}

static const char *set_drop_caches(KeyTarget *target, const char *value) {
        return set_boolean(target, value, &target->host->may_drop_caches);
}

static const char *set_boot_timeout(KeyTarget *target, const char *value) {
        return set_duration(target, value, &target->host->boot_timeout_usec);
}

static const char *set_reserve_timeout(KeyTarget *target, const char *value) {
        return set_duration(target, value, &target->host->reserve_timeout_usec);
}

static const char *set_existing_pages(KeyTarget *target, const char *value) {
        int i = WORD_INDEX(value, "use", "keep");

        if (i < 0)
                return not_valid(target, value);
        target->host->existing_pages = (ExistingPages) i;
        return NULL;
}

static const char *set_on_drift(KeyTarget *target, const char *value) {
        int i = WORD_INDEX(value, "repair", "report");

        if (i < 0)
                return not_valid(target, value);
        target->host->on_drift = (OnDrift) i;
        return NULL;
}

static const char *set_shared_memory_limits(KeyTarget *target, const char *value) {
        int i = WORD_INDEX(value, "auto", "keep");

        if (i < 0)
                return not_valid(target, value);
        target->host->keep_shared_memory_limits = i == 1;
        return NULL;
}

/* Sets every word of a list; a list without any is none. */
static const char *set_words(KeyTarget *target, const char *value, KeySetter set_word) {
        const char *rest = value, *wrong = not_valid(target, value);
        char *word;

        while ((word = text_next_word(target->arena, &rest, ", "))) {
                wrong = set_word(target, word);
                if (wrong)
                        break;
        }
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

static const char *set_silence_rules(KeyTarget *target, const char *value) {
        return set_words(target, value, add_silenced_rule);
}

static void reset_silence_rules(KeyTarget *target) {
        /* The array is shared with the configuration as it was before this file. */
        target->host->silenced.items = NULL;
        target->host->silenced.n = target->host->silenced.capacity = 0;
}

/* ---- [Instance] ---- */

static const char *set_name(KeyTarget *target, const char *value) {
        const char *wrong = name_check_instance(value);

        if (!wrong)
                target->instance->name = arena_strdup(target->arena, value);
        return wrong;
}

static const char *set_engine(KeyTarget *target, const char *value) {
        const Engine *engine = engine_find(value);

        if (!engine)
                return arena_printf(target->arena, "there is no engine '%s' (there are: %s)", value,
                                    engine_names(target->arena));
        target->instance->engine = engine;
        return NULL;
}

static const char *set_unit(KeyTarget *target, const char *value) {
        const char *wrong = name_check_unit(value);

        if (!wrong)
                target->instance->unit = arena_strdup(target->arena, value);
        return wrong;
}

static const char *set_text(KeyTarget *target, const char *value, const char **ret) {
        *ret = arena_strdup(target->arena, value);
        return NULL;
}

/* Such a name stands in unit files and limits.d without quoting. */
static const char *set_account(KeyTarget *target, const char *value, const char **ret) {
        const char *wrong = name_check_account(value);

        return wrong ? arena_printf(target->arena, "'%s': %s", value, wrong)
                     : set_text(target, value, ret);
}

static const char *set_user(KeyTarget *target, const char *value) {
        return set_account(target, value, &target->instance->user);
}

static const char *set_group(KeyTarget *target, const char *value) {
        return set_account(target, value, &target->instance->group);
}

static const char *set_path(KeyTarget *target, const char *value, const char **ret) {
        if (*value != '/')
                return arena_printf(target->arena, "'%s' is no absolute path", value);
        return set_text(target, value, ret);
}

static const char *set_config_file(KeyTarget *target, const char *value) {
        return set_path(target, value, &target->instance->config_file);
}

static const char *set_data_directory(KeyTarget *target, const char *value) {
        return set_path(target, value, &target->instance->data_directory);
}

static const char *set_memory(KeyTarget *target, const char *value) {
        if (text_equals(value, "auto")) {
                target->instance->memory_kind = MEMORY_AUTO;
                return NULL;
        }
        const char *wrong = set_size(target, value, &target->instance->memory_bytes);

        if (!wrong)
                target->instance->memory_kind = MEMORY_BYTES;
        return wrong;
}

static int parse_page_size(const char *word, uint64_t *ret_bytes) {
        uint64_t bytes;
        int r = parse_size_bytes(word, &bytes);

        if (r < 0 || bytes < 4 * KIB || (bytes & (bytes - 1)) != 0)
                return -EINVAL;
        *ret_bytes = bytes;
        return 0;
}

/* "1081", or "2M:1081". */
static const char *add_count(KeyTarget *target, PageCounts *counts, const char *word) {
        const char *colon = strchr(word, ':');
        PageCount count = {};

        if (colon && parse_page_size(arena_strndup(target->arena, word, (size_t) (colon - word)),
                                     &count.page_size_bytes) < 0)
                return not_valid(target, word);
        if (parse_u64(colon ? colon + 1 : word, &count.pages) < 0)
                return not_valid(target, word);
        if (count.pages == 0)
                return "nothing is asked for";
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

static const char *add_rule_count(KeyTarget *target, const char *word) {
        return add_count(target, &target->instance->learned.by_rule, word);
}

/* The last assignment counts, so that an extension can give another number. */
static const char *set_pages(KeyTarget *target, const char *value) {
        *page_counts_of(target) = (PageCounts){};
        return set_words(target, value, add_page_count);
}

static const char *add_page_size(KeyTarget *target, const char *word) {
        InstanceConfig *instance = target->instance;
        uint64_t bytes = 0;

        if (!text_equals(word, "default") && parse_page_size(word, &bytes) < 0)
                return arena_printf(target->arena, "'%s' is no page size", word);
        if (instance->n_page_sizes == PAGE_SIZES_MAX)
                return "there are too many page sizes";
        for (size_t i = 0; i < instance->n_page_sizes; i++)
                if (instance->page_sizes[i] == bytes)
                        return arena_printf(target->arena, "'%s' is named twice", word);
        instance->page_sizes[instance->n_page_sizes++] = bytes;
        return NULL;
}

static const char *set_page_size(KeyTarget *target, const char *value) {
        return set_words(target, value, add_page_size);
}

static void reset_page_size(KeyTarget *target) {
        InstanceConfig *instance = target->instance;

        instance->n_page_sizes = 0;
        memset(instance->page_sizes, 0, sizeof(instance->page_sizes));
}

static void reset_nodes(KeyTarget *target) {
        target->instance->has_nodes = false;
        target->instance->nodes = (IdSet){};
}

static const char *set_nodes(KeyTarget *target, const char *value) {
        InstanceConfig *instance = target->instance;
        IdSet nodes;

        if (text_equals(value, "all")) {
                reset_nodes(target);
                return NULL;
        }
        if (id_set_parse(value, &nodes) < 0)
                return not_valid(target, value);
        instance->has_nodes = true;
        ID_SET_FOREACH(node, &nodes)
        id_set_add(&instance->nodes, node);
        return NULL;
}

static const char *set_placement(KeyTarget *target, const char *value) {
        int i = WORD_INDEX(value, "spread", "pack", "bind", "interleave");

        if (i < 0)
                return not_valid(target, value);
        target->instance->placement = (Placement) i;
        return NULL;
}

/* Inserts in order of node numbers; the array is copied, for arenas do not grow. */
static const char *add_node_memory(KeyTarget *target, unsigned node, uint64_t bytes) {
        InstanceConfig *instance = target->instance;
        NodeMemory *grown = ARENA_ARRAY(target->arena, NodeMemory, instance->n_node_memory + 1);
        size_t at = 0;

        for (size_t i = 0; i < instance->n_node_memory; i++) {
                if (instance->node_memory[i].node == node)
                        return arena_printf(target->arena, "node %u is named twice", node);
                if (instance->node_memory[i].node < node)
                        at = i + 1;
        }
        if (at > 0)
                memcpy(grown, instance->node_memory, at * sizeof(*grown));
        grown[at] = (NodeMemory){node, bytes};
        if (instance->n_node_memory > at)
                memcpy(grown + at + 1, instance->node_memory + at,
                       (instance->n_node_memory - at) * sizeof(*grown));
        instance->node_memory = grown;
        instance->n_node_memory++;
        return NULL;
}

static const char *set_one_node_memory(KeyTarget *target, const char *word) {
        const char *colon = strchr(word, ':');
        uint64_t node, bytes = 0;

        if (!colon ||
            parse_u64(arena_strndup(target->arena, word, (size_t) (colon - word)), &node) < 0 ||
            node >= ID_SET_MAX)
                return not_valid(target, word);
        const char *wrong = set_size(target, colon + 1, &bytes);

        return wrong ? wrong : add_node_memory(target, (unsigned) node, bytes);
}

static const char *set_node_memory(KeyTarget *target, const char *value) {
        return set_words(target, value, set_one_node_memory);
}

static void reset_node_memory(KeyTarget *target) {
        target->instance->n_node_memory = 0;
}

static const char *set_shortage(KeyTarget *target, const char *value) {
        int i = WORD_INDEX(value, "refuse", "degrade");

        if (i < 0)
                return not_valid(target, value);
        target->instance->shortage = (Shortage) i;
        return NULL;
}

static const char *set_priority(KeyTarget *target, const char *value) {
        uint64_t priority;

        if (parse_u64(value, &priority) < 0 || priority > PRIORITY_MAX)
                return not_valid(target, value);
        target->instance->priority = (unsigned) priority;
        return NULL;
}

/* Kept as unit files have it: in plain bytes, for systemd reads fewer ways of writing a size. */
static const char *set_memory_lock(KeyTarget *target, const char *value) {
        uint64_t bytes;

        if (WORD_INDEX(value, "auto", "infinity", "no") >= 0)
                return set_text(target, value, &target->instance->memory_lock);
        if (parse_size_bytes(value, &bytes) < 0)
                return not_valid(target, value);
        return set_text(target, arena_printf(target->arena, "%" PRIu64, bytes),
                        &target->instance->memory_lock);
}

static const char *set_shared_memory(KeyTarget *target, const char *value) {
        int i = WORD_INDEX(value, "mmap", "sysv", "hugetlbfs");

        if (i < 0)
                return not_valid(target, value);
        target->instance->shared_memory = (SharedMemory) (i + 1);
        return NULL;
}

static const char *set_mount(KeyTarget *target, const char *value) {
        MountConfig *mount = ARENA_NEW(target->arena, MountConfig);
        const char *wrong = mount_config_parse(target->arena, value, mount);

        if (!wrong)
                target->instance->mount = mount;
        return wrong;
}

static const char *set_instance_thp(KeyTarget *target, const char *value) {
        ThpPolicy policy;

        if (thp_policy_from_name(value, &policy) < 0 || policy == THP_KEEP)
                return not_valid(target, value);
        if (target->is_learned)
                target->instance->learned.thp = policy;
        else
                target->instance->thp = policy;
        return NULL;
}

static const char *set_isolate(KeyTarget *target, const char *value) {
        bool yes;

        if (text_equals(value, "auto")) {
                target->instance->isolate = TRI_AUTO;
                return NULL;
        }
        if (parse_boolean(value, &yes) < 0)
                return not_valid(target, value);
        target->instance->isolate = yes ? TRI_YES : TRI_NO;
        return NULL;
}

static const char *set_wait_timeout(KeyTarget *target, const char *value) {
        return set_duration(target, value, &target->instance->wait_timeout_usec);
}

/* ---- taking values off ---- */

static void reset_name(KeyTarget *target) {
        target->instance->name = NULL;
}

static void reset_unit(KeyTarget *target) {
        target->instance->unit = NULL;
}

static void reset_user(KeyTarget *target) {
        target->instance->user = NULL;
}

static void reset_group(KeyTarget *target) {
        target->instance->group = NULL;
}

static void reset_memory(KeyTarget *target) {
        target->instance->memory_kind = MEMORY_UNSET;
}

static void reset_pages(KeyTarget *target) {
        *page_counts_of(target) = (PageCounts){};
}

static void reset_config_file(KeyTarget *target) {
        target->instance->config_file = NULL;
}

static void reset_data_directory(KeyTarget *target) {
        target->instance->data_directory = NULL;
}

static void reset_memory_lock(KeyTarget *target) {
        target->instance->memory_lock = NULL;
}

static void reset_shared_memory(KeyTarget *target) {
        target->instance->shared_memory = SHARED_MEMORY_ENGINE;
}

static void reset_mount(KeyTarget *target) {
        target->instance->mount = NULL;
}

static const char expects_boolean[] = "write yes or no";
static const char expects_duration[] = "write a time span such as 30s, 5min or infinity";
static const char expects_path[] = "write an absolute path";

const ConfigKey config_keys[] = {
        {SECTION_HOST, "TransparentHugePages", set_host_thp, "auto",
         "write one of auto, never, madvise, always, keep"},
        {SECTION_HOST, "KeepFree", set_keep_free, "10%",
         "write a share of each node's memory (1% to 99%) or a size of at least 64M"},
        {SECTION_HOST, "Compaction", set_compaction, "yes", expects_boolean},
        {SECTION_HOST, "Reclaim", set_reclaim, "yes", expects_boolean},
        {SECTION_HOST, "DropCaches", set_drop_caches, "no", expects_boolean},
        {SECTION_HOST, "BootTimeout", set_boot_timeout, "30s", expects_duration},
        {SECTION_HOST, "ReserveTimeout", set_reserve_timeout, "5min", expects_duration},
        {SECTION_HOST, "ExistingPages", set_existing_pages, "use", "write use or keep"},
        {SECTION_HOST, "OnDrift", set_on_drift, "repair", "write repair or report"},
        {SECTION_HOST, "SharedMemoryLimits", set_shared_memory_limits, "auto",
         "write auto or keep"},
        {SECTION_HOST, "SilenceRules", set_silence_rules, NULL,
         "write ids as hugeplanctl check prints them; hugeplan-rules(7) lists them",
         .is_list = true, .reset = reset_silence_rules},

        {SECTION_INSTANCE, "Name", set_name, NULL,
         "write letters, digits and _ . : @ -, beginning with a letter or digit",
         .reset = reset_name},
        {SECTION_INSTANCE, "Engine", set_engine, "generic", "write one of those"},
        {SECTION_INSTANCE, "Unit", set_unit, NULL,
         "write the full name of a service, such as postgresql@15-main.service",
         .reset = reset_unit},
        {SECTION_INSTANCE, "User", set_user, NULL, "write a user name", .reset = reset_user},
        {SECTION_INSTANCE, "Group", set_group, NULL, "write a group name", .reset = reset_group},
        {SECTION_INSTANCE, "Memory", set_memory, NULL, "write a size such as 8G, or auto",
         .reset = reset_memory},
        {SECTION_INSTANCE, "Pages", set_pages, NULL,
         "write a whole number of pages, or one for each page size such as 1G:3 2M:1081",
         .reset = reset_pages},
        {SECTION_INSTANCE, "ConfigFile", set_config_file, NULL, expects_path,
         .reset = reset_config_file},
        {SECTION_INSTANCE, "DataDirectory", set_data_directory, NULL, expects_path,
         .reset = reset_data_directory},
        {SECTION_INSTANCE, "PageSize", set_page_size, NULL,
         "write default, or sizes such as 2M or 1G,2M in order of preference", .is_list = true,
         .reset = reset_page_size},
        {SECTION_INSTANCE, "Nodes", set_nodes, NULL, "write all, or node numbers such as 0,2-3",
         .is_list = true, .reset = reset_nodes},
        {SECTION_INSTANCE, "Placement", set_placement, "spread",
         "write spread, pack, bind or interleave"},
        {SECTION_INSTANCE, "NodeMemory", set_node_memory, NULL,
         "write sizes by node such as 0:12G 1:4G", .is_list = true, .reset = reset_node_memory},
        {SECTION_INSTANCE, "Shortage", set_shortage, "refuse", "write refuse or degrade"},
        {SECTION_INSTANCE, "Priority", set_priority, "50", "write a whole number from 0 to 100"},
        {SECTION_INSTANCE, "MemoryLock", set_memory_lock, NULL,
         "write auto, infinity, no or a size", .reset = reset_memory_lock},
        {SECTION_INSTANCE, "SharedMemory", set_shared_memory, NULL, "write mmap, sysv or hugetlbfs",
         .reset = reset_shared_memory},
        {SECTION_INSTANCE, "Mount", set_mount, NULL,
         "write a path such as /run/hugepages/orders, then what is needed of mode=0770 "
         "owner=USER:GROUP size=8G min_size=8G",
         .reset = reset_mount},
        {SECTION_INSTANCE, "TransparentHugePages", set_instance_thp, "auto",
         "write one of auto, never, madvise, always"},
        {SECTION_INSTANCE, "Isolate", set_isolate, "auto", "write auto, yes or no"},
        {SECTION_INSTANCE, "WaitTimeout", set_wait_timeout, CONFIG_WAIT_TIMEOUT, expects_duration},
};
const size_t n_config_keys = ARRAY_LEN(config_keys);

static const ConfigKey *find_key(Section section, const char *name) {
        for (size_t i = 0; i < n_config_keys; i++)
                if (config_keys[i].section == section && text_equals(config_keys[i].name, name))
                        return &config_keys[i];
        return NULL;
}

/* The row whose name differs only in case, or NULL: the likeliest slip. */
static const ConfigKey *find_similar(Section section, const char *name) {
        for (size_t i = 0; i < n_config_keys; i++)
                if (config_keys[i].section == section && strcasecmp(config_keys[i].name, name) == 0)
                        return &config_keys[i];
        return NULL;
}

static void refuse_unknown(Arena *arena, Section section, const Assignment *assignment,
                           ParsedFile *parsed, Diags *problems) {
        Section other = section == SECTION_HOST ? SECTION_INSTANCE : SECTION_HOST;
        const ConfigKey *similar = find_similar(section, assignment->key);
        const char *remedy;

        if (similar)
                remedy = arena_printf(arena, "write %s=", similar->name);
        else if (find_key(other, assignment->key))
                remedy = arena_printf(arena, "the key belongs into the section [%s]",
                                      other == SECTION_HOST ? "Host" : "Instance");
        else
                remedy = "hugeplan.d(5) lists the keys; your own begin with X-";
        config_file_refuse(arena, parsed, problems,
                           &(Diag){.id = problem_id(PROBLEM_CONFIG_UNKNOWN_KEY),
                                   .line = assignment->line,
                                   .key = assignment->key,
                                   .text = "unknown key",
                                   .remedy = remedy});
}

static void refuse_value(Arena *arena, const ConfigKey *key, const Assignment *assignment,
                         const char *wrong, ParsedFile *parsed, Diags *problems) {
        config_file_refuse(arena, parsed, problems,
                           &(Diag){.id = problem_id(PROBLEM_CONFIG_BAD_VALUE),
                                   .line = assignment->line,
                                   .key = key->name,
                                   .text = wrong,
                                   .remedy = key->expects});
}

/* Puts a key back to its default. */
static void reset_key(const ConfigKey *key, KeyTarget *target) {
        if (key->reset)
                key->reset(target);
        else if (key->default_value)
                key->set(target, key->default_value);
}

void config_keys_set_defaults(KeyTarget *target, Section section) {
        for (size_t i = 0; i < n_config_keys; i++)
                if (config_keys[i].section == section && config_keys[i].default_value)
                        config_keys[i].set(target, config_keys[i].default_value);
}

/* Takes the origins of a value off that no longer counts. */
static void forget_origins(InstanceConfig *instance, const char *key) {
        size_t n = 0;

        VEC_FOREACH(origin, &instance->origins)
                if (!text_equals(origin->key, key))
                        instance->origins.items[n++] = *origin;
        instance->origins.n = n;
}

static void note_origin(KeyTarget *target, const ConfigKey *key, const Assignment *assignment,
                        const ParsedFile *parsed) {
        InstanceConfig *instance = target->instance;

        if (!key->is_list)
                forget_origins(instance, key->name);
        *vec_push(target->arena, &instance->origins) =
                (ConfigOrigin){key->name, assignment->value, parsed->file->path, assignment->line};
}

/* The line of an earlier, non-empty assignment of the same key in this file; 0 if there is none. */
static unsigned earlier_line(const ParsedFile *parsed, const Assignment *assignment) {
        unsigned line = 0;

        for (const Assignment *a = parsed->assignments.items; a < assignment; a++)
                if (text_equals(a->section, assignment->section) &&
                    text_equals(a->key, assignment->key))
                        line = *a->value ? a->line : 0;
        return line;
}

/* Keys of the user's own mean nothing, but those in our own record are ours. */
static void note_learned(KeyTarget *target, const Assignment *assignment) {
        Learned *learned = &target->instance->learned;

        if (text_equals(assignment->key, "X-Version"))
                learned->version = arena_strdup(target->arena, assignment->value);
        else if (text_equals(assignment->key, "X-Exact"))
                parse_boolean(assignment->value, &learned->is_exact);
        else if (text_equals(assignment->key, "X-Rule")) {
                learned->by_rule = (PageCounts){};
                set_words(target, assignment->value, add_rule_count);
        }
}

static void apply_one(KeyTarget *target, Section section, const Assignment *assignment,
                      ParsedFile *parsed, Diags *problems) {
        Arena *arena = target->arena;
        const ConfigKey *key = find_key(section, assignment->key);

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
        if (*assignment->value == '\0') {
                reset_key(key, target);
                if (target->instance)
                        forget_origins(target->instance, key->name);
                return;
        }

        unsigned earlier = key->is_list ? 0 : earlier_line(parsed, assignment);
        const char *wrong = earlier > 0 ? NULL : key->set(target, assignment->value);

        if (earlier > 0)
                config_file_refuse(
                        arena, parsed, problems,
                        &(Diag){.id = problem_id(PROBLEM_CONFIG_SET_TWICE),
                                .line = assignment->line,
                                .key = key->name,
                                .text = arena_printf(arena, "is set in line %u already", earlier),
                                .remedy = "keep one of the lines"});
        else if (wrong)
                refuse_value(arena, key, assignment, wrong, parsed, problems);
        else if (target->instance && !target->is_learned)
                note_origin(target, key, assignment, parsed);
}

void config_keys_apply(KeyTarget *target, Section section, ParsedFile *parsed, Diags *problems) {
        const char *name = section == SECTION_HOST ? "Host" : "Instance";

        VEC_FOREACH(assignment, &parsed->assignments)
                if (text_equals(assignment->section, name))
                        apply_one(target, section, assignment, parsed, problems);
}
