/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/config.h"

#include "base/index.h"
#include "base/size.h"
#include "base/text.h"
#include "config/config_keys.h"
#include "model/name_check.h"
#include "model/names.h"
#include "model/problem.h"

#include <string.h>

typedef VEC(ParsedFile *) ParsedFiles;
typedef VEC(InstanceConfig) Instances;

static const char *without_suffix(Arena *arena, const char *file_name) {
        return arena_strndup(arena, file_name, strlen(file_name) - strlen(NAME_CONFIG_SUFFIX));
}

/* ---- fingerprints ---- */

static uint64_t fold_file(uint64_t hash, const ParsedFile *parsed, const char *section) {
        VEC_FOREACH(assignment, &parsed->assignments)
                if (text_equals(assignment->section, section) &&
                    !text_starts_with(assignment->key, "X-"))
                        hash = text_fold(text_fold(hash, assignment->key), assignment->value);
        return hash;
}

/* ---- checks over one instance, when all its files have been read ---- */

typedef struct Mistake {
        const char *key;
        const char *text;
        const char *remedy;
} Mistake;

static Mistake reserves_nothing(Arena *arena, const InstanceConfig *instance, const char *key,
                                const char *remedy) {
        return (Mistake){
                key, arena_printf(arena, "%s uses no reserved huge pages", instance->engine->title),
                remedy};
}

/* Each of the following returns the first mistake that it finds; its text is NULL if there is none. */

static Mistake find_memory_mistake(Arena *arena, const InstanceConfig *instance) {
        const Engine *engine = instance->engine;
        bool has_memory = instance->memory_kind != MEMORY_UNSET;
        bool is_auto = instance->memory_kind == MEMORY_AUTO;
        bool has_pages = instance->pages.n > 0, has_parts = instance->n_node_memory > 0;

        if (!engine->reserves)
                return has_memory || has_pages || has_parts
                               ? reserves_nothing(arena, instance, "Engine",
                                                  "remove Memory=, Pages= and NodeMemory=")
                               : (Mistake){};
        if (is_auto && !engine->has_auto && !engine->has_auto_by_looking)
                return (Mistake){"Memory",
                                 arena_printf(arena, "'auto': the size of %s cannot be determined",
                                              engine->title),
                                 "set the size by Memory=, or the number by Pages="};
        if (is_auto && engine->has_auto_by_looking && !instance->unit)
                return (Mistake){
                        "Memory",
                        arena_printf(
                                arena,
                                "'auto': the size of %s is measured while its unit runs, and Unit= "
                                "is missing",
                                engine->title),
                        "name its service in Unit=, or set the size by Memory="};
        if (is_auto && has_parts)
                return (Mistake){
                        "NodeMemory", "Memory=auto determines the size, and NodeMemory= sets it",
                        "keep one of the two; Nodes= says on which nodes the pages may be"};
        if (has_memory && has_pages)
                return (Mistake){"Pages", "the size is given twice, by Memory= and by Pages=",
                                 "keep one of the two"};
        if (has_parts && has_pages)
                return (Mistake){"NodeMemory", "Pages= cannot be combined with NodeMemory=",
                                 "use NodeMemory= alone, or Pages= with Nodes="};
        if (!has_memory && !has_pages && !has_parts)
                return (Mistake){NULL, "the instance has no size",
                                 "add Memory= with a size, or Pages= with a number"};
        return (Mistake){};
}

static Mistake find_split_mistake(Arena *arena, const InstanceConfig *instance) {
        uint64_t sum = 0;

        ARRAY_FOREACH(memory, instance->node_memory, instance->n_node_memory) {
                sum = add_saturated(sum, memory->bytes);
                if (instance->has_nodes && !id_set_has(&instance->nodes, memory->node))
                        return (Mistake){
                                "NodeMemory",
                                arena_printf(arena, "node %u is not among Nodes=", memory->node),
                                "name the same nodes in both, or remove Nodes="};
        }
        if (instance->n_node_memory == 0 || instance->memory_kind != MEMORY_BYTES ||
            sum == instance->memory_bytes)
                return (Mistake){};
        return (Mistake){"NodeMemory",
                         arena_printf(arena, "the nodes add up to %s, but Memory= is %s",
                                      format_size(arena, sum),
                                      format_size(arena, instance->memory_bytes)),
                         "make both equal, or remove Memory="};
}

static Mistake find_placement_mistake(Arena *arena UNUSED, const InstanceConfig *instance) {
        return instance->placement == PLACEMENT_BIND && !instance->has_nodes &&
                               instance->n_node_memory == 0
                       ? (Mistake){"Placement", "'bind' requires nodes",
                                   "name them by Nodes= or NodeMemory="}
                       : (Mistake){};
}

static Mistake find_mount_mistake(Arena *arena, const InstanceConfig *instance) {
        const MountConfig *mount = instance->mount;

        if (!mount && instance->shared_memory == SHARED_MEMORY_HUGETLBFS)
                return (Mistake){"SharedMemory", "'hugetlbfs' requires a mount",
                                 "add Mount= with a path"};
        if (mount && !instance->engine->reserves)
                return reserves_nothing(arena, instance, "Mount", "remove Mount=");
        if (mount && !mount->user && !instance->user && !instance->engine->default_user)
                return (Mistake){"Mount", "its owner is missing",
                                 "add owner=USER to it, or set User="};
        return (Mistake){};
}

/* ---- assembling ---- */

typedef struct Assembler {
        Arena *arena;
        ParsedFiles parsed; /* one for each file */
        Index *extensions;  /* the parsed extensions, by the name of the extended file */
        Index *files;       /* main files by instance name */
        Config *config;
        Instances instances;
        InstanceConfig defaults;
} Assembler;

/* Refuses INSTANCE because several values contradict each other; the error names the file and line that set KEY. */
static void contradict(Assembler *assembler, InstanceConfig *instance, const char *key,
                       const char *text, const char *remedy) {
        const ConfigOrigin *origin = config_find_origin(instance, key);
        const char *path = origin ? origin->file : instance->file;
        ParsedFile *blamed =
                *VEC_FIND(item, &assembler->parsed, text_equals((*item)->file->path, path));

        config_file_refuse(blamed, &assembler->config->problems, PROBLEM_CONFIG_CONTRADICTION,
                           origin ? origin->line : 0, key, text, remedy);
        instance->refusal = blamed->refusal;
}

static void check_instance(Assembler *assembler, InstanceConfig *instance) {
        static Mistake (*const checks[])(Arena *, const InstanceConfig *) = {
                find_memory_mistake, find_split_mistake, find_placement_mistake,
                find_mount_mistake};

        for (size_t i = 0; i < ARRAY_LEN(checks) && !instance->refusal; i++) {
                const Mistake mistake = checks[i](assembler->arena, instance);

                if (mistake.text)
                        contradict(assembler, instance, mistake.key, mistake.text, mistake.remedy);
        }
}

/* Returns whether hugeplan wrote FILE. */
static bool is_learned(const ConfigFile *file) {
        return file->extends && text_equals(file->name, NAME_LEARNED);
}

static void apply_file(Assembler *assembler, InstanceConfig *instance, ParsedFile *parsed) {
        KeyTarget target = {
                .arena = assembler->arena,
                .instance = instance,
                .is_learned = is_learned(parsed->file),
        };

        config_keys_apply(&target, SECTION_INSTANCE, parsed, &assembler->config->problems);
        if (!parsed->refusal)
                return;
        if (target.is_learned) {
                /* A mistake in hugeplan's own file is only a warning: its valid lines count, and the file is
                 * rewritten. */
                instance->learned.is_broken = true;
                VEC_FOREACH(problem, &assembler->config->problems.list) {
                        if (!text_equals(problem->file, parsed->file->path))
                                continue;
                        problem->severity = SEVERITY_WARNING;
                        problem->remedy =
                                "hugeplan wrote this file: its other lines apply, and it is written again at the next start";
                }
                return;
        }
        if (!instance->refusal)
                instance->refusal = parsed->refusal;
        /* Keep the name and unit of a refused file, so that its gate can print the cause. */
        VEC_FOREACH(assignment, &parsed->assignments) {
                const char *key = assignment->key, *value = assignment->value;

                if (text_equals(key, "Name") && !name_check_instance(value))
                        instance->name = arena_strdup(assembler->arena, value);
                if (text_equals(key, "Unit") && !name_check_unit(value))
                        instance->unit = arena_strdup(assembler->arena, value);
                if (text_equals(key, "Engine") && engine_find(value))
                        instance->engine = engine_find(value);
        }
}

/* If two files describe one name, the first keeps it, and the other is refused under its full file name. */
static void refuse_second(Assembler *assembler, InstanceConfig *instance, ParsedFile *parsed) {
        Arena *arena = assembler->arena;
        const char *first = index_find(assembler->files, instance->name);

        if (!first)
                return;
        config_file_refuse(parsed, &assembler->config->problems, PROBLEM_CONFIG_DUPLICATE, 0,
                           "Name",
                           arena_printf(arena, "the instance '%s' is already described by %s",
                                        instance->name, first),
                           "rename one of the files, or give it a Name= of its own");
        instance->refusal = parsed->refusal;
        instance->name = without_suffix(arena, parsed->file->name);
        while (index_find(assembler->files, instance->name))
                instance->name = arena_printf(arena, "%s.2", instance->name);
}

static void assemble_instance(Assembler *assembler, ParsedFile *parsed) {
        Arena *arena = assembler->arena;
        InstanceConfig instance = assembler->defaults;
        size_t digits = strspn(parsed->file->name, "0123456789");
        bool has_number = digits > 0 && parsed->file->name[digits] == '-';

        instance.file = parsed->file->path;
        /* The main file, then its extensions in the order of reading. */
        uint64_t hash = fold_file(TEXT_FOLD_START, parsed, "Instance");

        apply_file(assembler, &instance, parsed);
        INDEX_FOREACH(entry, assembler->extensions, parsed->file->name) {
                ParsedFile *extension = (ParsedFile *) entry->value;

                apply_file(assembler, &instance, extension);
                if (!is_learned(extension->file))
                        hash = fold_file(hash, extension, "Instance");
        }
        instance.fingerprint = arena_printf(arena, "%016" PRIx64, hash);
        /* "20-pg.conf" -> "pg"; a leading number determines only the order. */
        if (!instance.name)
                instance.name =
                        without_suffix(arena, parsed->file->name + (has_number ? digits + 1 : 0));
        instance.unit = instance.unit ?: instance.engine->default_unit;
        instance.n_page_sizes = MAX(instance.n_page_sizes, (size_t) 1); /* 0: the default size */
        /* No amount is configured, and the engine can determine it. */
        if (instance.engine->has_auto && instance.memory_kind == MEMORY_UNSET &&
            instance.pages.n == 0 && instance.n_node_memory == 0)
                instance.memory_kind = MEMORY_AUTO;

        const char *wrong = name_check_instance(instance.name);

        if (wrong) {
                config_file_refuse(parsed, &assembler->config->problems, PROBLEM_CONFIG_BAD_NAME, 0,
                                   "Name", arena_printf(arena, "'%s': %s", instance.name, wrong),
                                   "rename the file, or add Name=");
                instance.refusal = parsed->refusal;
        }
        check_instance(assembler, &instance);
        refuse_second(assembler, &instance, parsed);
        /* If two mounts have the same path or one contains the other, the second is refused. */
        if (instance.mount)
                VEC_FOREACH(other, &assembler->instances)
                        if (!instance.refusal && !other->refusal && other->mount &&
                            mount_paths_overlap(instance.mount->path, other->mount->path))
                                contradict(assembler, &instance, "Mount",
                                           arena_printf(arena,
                                                        "%s conflicts with %s, the mount of %s",
                                                        instance.mount->path, other->mount->path,
                                                        other->name),
                                           "give each instance a path of its own");
        index_add(assembler->files, instance.name, instance.file);
        *vec_push(arena, &assembler->instances) = instance;
}

/* Applies the [Host] sections in the order of the files; a refused file changes nothing. Called twice: before the
 * instances are assembled, to find mistakes, and afterwards, when all refusals are known. */
static void assemble_host(Assembler *assembler, Diags *problems) {
        KeyTarget target = {.arena = assembler->arena, .host = &assembler->config->host};
        uint64_t hash = TEXT_FOLD_START;

        *target.host = (HostConfig){};
        config_keys_set_defaults(&target, SECTION_HOST);
        VEC_FOREACH(item, &assembler->parsed) {
                ParsedFile *parsed = *item;
                HostConfig changed = assembler->config->host;
                KeyTarget trial = {.arena = assembler->arena, .host = &changed};

                if (parsed->refusal && problems != &assembler->config->problems)
                        continue;
                config_keys_apply(&trial, SECTION_HOST, parsed, problems);
                if (parsed->refusal)
                        continue;
                assembler->config->host = changed;
                hash = fold_file(hash, parsed, "Host");
        }
        assembler->config->host.fingerprint = arena_printf(assembler->arena, "%016" PRIx64, hash);
}

/* Returns whether a file with an [Instance] section extends MAIN_FILE. */
static bool is_extended(const Assembler *assembler, const ParsedFile *main_file) {
        INDEX_FOREACH(entry, assembler->extensions, main_file->file->name)
                if (((const ParsedFile *) entry->value)->has_instance)
                        return true;
        return false;
}

Config *config_parse(Arena *arena, const ConfigFiles *files) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Config *config = ARENA_NEW(arena, Config);
        Assembler assembler = {
                .arena = arena,
                .extensions = index_new(scratch),
                .files = index_new(scratch),
                .config = config,
        };
        Index *names = index_new(scratch);

        config->problems = diags_in(arena);
        VEC_FOREACH(file, files) {
                ParsedFile *parsed = config_file_parse(scratch, file, &config->problems);

                *vec_push(scratch, &assembler.parsed) = parsed;
                index_add(assembler.extensions, file->extends, parsed);
                if (!file->extends)
                        index_add(names, file->name, file);
        }
        assemble_host(&assembler, &config->problems);
        config_keys_set_defaults(&(KeyTarget){.arena = arena, .instance = &assembler.defaults},
                                 SECTION_INSTANCE);
        vec_reserve(arena, &assembler.instances, files->n);
        /* A refused file counts as an instance unless it has a [Host] section and no [Instance] section. */
        VEC_FOREACH(item, &assembler.parsed)
                if (!(*item)->file->extends && !(*item)->is_empty &&
                    ((*item)->has_instance || ((*item)->refusal && !(*item)->has_host) ||
                     is_extended(&assembler, *item)))
                        assemble_instance(&assembler, *item);
        assemble_host(&assembler, &(Diags){.arena = arena});
        VEC_FOREACH(file, files)
                /* Learned figures stay when their instance is removed, like a removed package's configuration. */
                if (file->extends && !index_find(names, file->extends) && !is_learned(file))
                        diags_report(&config->problems,
                                     problem_of(PROBLEM_CONFIG_ORPHAN, file->path,
                                                "create that file, or remove this one"),
                                     "extends %s, which does not exist", file->extends);
        vec_sort_by_name(&assembler.instances);
        config->instances = assembler.instances.items;
        config->n_instances = assembler.instances.n;
        config_index(arena, config);
        return config;
}
