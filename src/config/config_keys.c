/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config_keys.h"

#include "base/size.h"
#include "base/text.h"
#include "config/key_value.h"
#include "config/mount_config.h"
#include "model/name_check.h"
#include "model/rule.h"

#include <string.h>

/* ---- [Host] ---- */

static const char *set_host_thp(KeyTarget *target, const char *value) {
        return thp_policy_from_name(value, &target->host->thp) < 0 ? key_value_refuse(target, value)
                                                                   : NULL;
}

/* Below this a node's processes cannot live; see also plan.c. */
static const uint64_t keep_free_min_hundredths = 100;

static const char *set_keep_free(KeyTarget *target, const char *value) {
        Amount amount = {.is_share = text_ends_with(value, "%")};
        int r = amount.is_share ? parse_percent_hundredths(value, &amount.hundredths)
                                : parse_size_bytes(value, &amount.bytes);

        if (r < 0)
                return key_value_refuse(target, value);
        if (amount.is_share ? amount.hundredths < keep_free_min_hundredths
                            : amount.bytes < 64 * MIB)
                return arena_printf(target->arena, "'%s' leaves the host too little to live on",
                                    value);
        if (amount.is_share && amount.hundredths == 10000)
                return "nothing would be left to plan with";
        target->host->keep_free = amount;
        return NULL;
}

static const char *set_shared_memory_limits(KeyTarget *target, const char *value) {
        int i = KEY_VALUE_WORD(value, "auto", "keep");

        if (i < 0)
                return key_value_refuse(target, value);
        target->host->keep_shared_memory_limits = i == 1;
        return NULL;
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
        return key_value_words(target, value, add_silenced_rule);
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
                return engine_refuse(target->arena, value);
        target->instance->engine = engine;
        return NULL;
}

static const char *set_unit(KeyTarget *target, const char *value) {
        const char *wrong = name_check_unit(value);

        if (!wrong)
                target->instance->unit = arena_strdup(target->arena, value);
        return wrong;
}

/* Such a name stands in unit files and limits.d without quoting. */
static const char *set_account(KeyTarget *target, const char *value, const char **ret) {
        const char *wrong = name_check_account(value);

        return wrong ? arena_printf(target->arena, "'%s': %s", value, wrong)
                     : key_value_text(target, value, ret);
}

static const char *set_memory(KeyTarget *target, const char *value) {
        if (text_equals(value, "auto")) {
                target->instance->memory_kind = MEMORY_AUTO;
                return NULL;
        }
        const char *wrong = key_value_size(target, value, &target->instance->memory_bytes);

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
                return key_value_refuse(target, word);
        if (parse_u64(colon ? colon + 1 : word, &count.pages) < 0)
                return key_value_refuse(target, word);
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
        return key_value_words(target, value, add_page_count);
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
        return key_value_words(target, value, add_page_size);
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
                return key_value_refuse(target, value);
        instance->has_nodes = true;
        ID_SET_FOREACH(node, &nodes)
                id_set_add(&instance->nodes, node);
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
                return key_value_refuse(target, word);
        const char *wrong = key_value_size(target, colon + 1, &bytes);

        return wrong ? wrong : add_node_memory(target, (unsigned) node, bytes);
}

static const char *set_node_memory(KeyTarget *target, const char *value) {
        return key_value_words(target, value, set_one_node_memory);
}

static void reset_node_memory(KeyTarget *target) {
        target->instance->n_node_memory = 0;
}

static const char *set_priority(KeyTarget *target, const char *value) {
        uint64_t priority;

        if (parse_u64(value, &priority) < 0 || priority > PRIORITY_MAX)
                return key_value_refuse(target, value);
        target->instance->priority = (unsigned) priority;
        return NULL;
}

/* Kept as unit files have it: in plain bytes, for systemd reads fewer ways of writing a size. */
static const char *set_memory_lock(KeyTarget *target, const char *value) {
        uint64_t bytes;

        if (KEY_VALUE_WORD(value, "auto", "infinity", "no") >= 0)
                return key_value_text(target, value, &target->instance->memory_lock);
        if (parse_size_bytes(value, &bytes) < 0)
                return key_value_refuse(target, value);
        return key_value_text(target, arena_printf(target->arena, "%" PRIu64, bytes),
                              &target->instance->memory_lock);
}

static const char *set_shared_memory(KeyTarget *target, const char *value) {
        int i = KEY_VALUE_WORD(value, "mmap", "sysv", "hugetlbfs");

        if (i < 0)
                return key_value_refuse(target, value);
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
                return key_value_refuse(target, value);
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
                return key_value_refuse(target, value);
        target->instance->isolate = yes ? TRI_YES : TRI_NO;
        return NULL;
}

/* ---- values that are kept as they are ---- */

#define SETTER(key, parse, member)                                           \
        static const char *set_##key(KeyTarget *target, const char *value) { \
                return parse(target, value, &target->member);                \
        }
SETTER(compaction, key_value_boolean, host->may_compact)
SETTER(reclaim, key_value_boolean, host->may_reclaim)
SETTER(drop_caches, key_value_boolean, host->may_drop_caches)
SETTER(boot_timeout, key_value_duration, host->boot_timeout_usec)
SETTER(reserve_timeout, key_value_duration, host->reserve_timeout_usec)
SETTER(wait_timeout, key_value_duration, instance->wait_timeout_usec)
SETTER(user, set_account, instance->user)
SETTER(group, set_account, instance->group)
SETTER(config_file, key_value_path, instance->config_file)
SETTER(data_directory, key_value_path, instance->data_directory)

/* One of the words, in the order of the enumeration. */
#define WORD_SETTER(key, member, ...)                                        \
        static const char *set_##key(KeyTarget *target, const char *value) { \
                int i = KEY_VALUE_WORD(value, __VA_ARGS__);                  \
                                                                             \
                if (i < 0)                                                   \
                        return key_value_refuse(target, value);              \
                target->member = (typeof(target->member)) i;                 \
                return NULL;                                                 \
        }
WORD_SETTER(existing_pages, host->existing_pages, "use", "keep")
WORD_SETTER(on_drift, host->on_drift, "repair", "report")
WORD_SETTER(shortage, instance->shortage, "refuse", "degrade")
WORD_SETTER(placement, instance->placement, "spread", "pack", "bind", "interleave")
#undef SETTER
#undef WORD_SETTER

/* ---- taking values off ---- */

#define RESET_TO_NONE(member)                           \
        static void reset_##member(KeyTarget *target) { \
                target->instance->member = NULL;        \
        }
RESET_TO_NONE(name)
RESET_TO_NONE(unit)
RESET_TO_NONE(user)
RESET_TO_NONE(group)
RESET_TO_NONE(config_file)
RESET_TO_NONE(data_directory)
RESET_TO_NONE(memory_lock)
RESET_TO_NONE(mount)
#undef RESET_TO_NONE

static void reset_memory(KeyTarget *target) {
        target->instance->memory_kind = MEMORY_UNSET;
}

static void reset_pages(KeyTarget *target) {
        *page_counts_of(target) = (PageCounts){};
}

static void reset_shared_memory(KeyTarget *target) {
        target->instance->shared_memory = SHARED_MEMORY_ENGINE;
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
        {SECTION_INSTANCE, "Engine", set_engine, "generic",
         "write one that 'hugeplanctl size' lists"},
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

void config_keys_note_learned(KeyTarget *target, const Assignment *assignment) {
        Learned *learned = &target->instance->learned;

        if (text_equals(assignment->key, "X-Version"))
                learned->version = arena_strdup(target->arena, assignment->value);
        else if (text_equals(assignment->key, "X-Exact"))
                parse_boolean(assignment->value, &learned->is_exact);
        else if (text_equals(assignment->key, "X-Rule")) {
                learned->by_rule = (PageCounts){};
                key_value_words(target, assignment->value, add_rule_count);
        }
}
