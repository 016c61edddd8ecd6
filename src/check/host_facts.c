/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "check/host_facts.h"

#include "base/size.h"
#include "base/text.h"
#include "model/names.h"
#include "read/accounts.h"

#include <string.h>

#define PATH_LIMITS     "/etc/security/limits.conf"
#define PATH_LIMITS_DIR "/etc/security/limits.d"

typedef struct Facts {
        Arena *arena;
        const Sources *sources;
        const Topology *topology;
        const Figures *figures;
        Accounts accounts;
        bool counts_huge_pages; /* cgroup2 is mounted with memory_hugetlb_accounting */
        HostFacts *ret;
        VEC(const UnitFacts *) units; /* each read once, even if instances share one */
} Facts;

/* ---- small files ---- */

/* Returns the first line of a file of the kernel; NULL: not readable. */
static char *read_line(const Facts *facts, const char *path) {
        SourceText text = source_read_kernel(facts->sources, facts->arena, path);
        SourceLines lines = source_lines(&text);

        return source_line(facts->arena, &lines);
}

static bool read_number(const Facts *facts, const char *path, uint64_t *ret) {
        const char *line = read_line(facts, path);

        return line && parse_u64(text_strip(facts->arena, line), ret) == 0;
}

/* ---- owners ---- */

static OwnerFacts find_owner(const Facts *facts, const InstanceConfig *config,
                             const UnitFile *unit) {
        Arena *arena = facts->arena;
        OwnerFacts owner = {.name = config->user};

        if (!owner.name)
                owner.name = unit_file_value(unit, "Service", "User");
        VEC_FOREACH(figure, facts->figures)
                if (!owner.name && text_equals(figure->instance, config->name) && figure->gathered)
                        owner.name = figure->gathered->user;
        if (!owner.name)
                owner.name = config->engine->default_user;
        if (!owner.name)
                return owner;
        const Account *user = account_find_user(arena, &facts->accounts, owner.name);

        if (user && user->group_id != UINT64_MAX) {
                owner.has_ids = true;
                owner.uid = user->id;
                *vec_push(arena, &owner.gids) = user->group_id;
        }
        VEC_FOREACH(group, &facts->accounts.groups)
                if (account_has_member(arena, group, user ? user->name : owner.name))
                        *vec_push(arena, &owner.gids) = group->id;
        return owner;
}

/* ---- units ---- */

char *slice_group_path(Arena *arena, const char *slice) {
        size_t length = text_ends_with(slice, ".slice") ? strlen(slice) - strlen(".slice") : 0;
        Text text = text_in(arena);

        /* Each dash is a level, except in the root slice, whose whole name is a dash. */
        for (size_t i = 1; i <= length && length > 1; i++)
                if (i == length || slice[i] == '-')
                        text_printf(&text, "/%.*s.slice", (int) i, slice);
        return arena_strdup(arena, text_string(&text));
}

/* Where systemd's own groups are: in the unified, hybrid or legacy hierarchy. */
static const char *const hierarchies[] = {PATH_CGROUP, PATH_CGROUP "/unified",
                                          PATH_CGROUP "/systemd"};

const MemoryLimit *memory_limits_find(const MemoryLimits *limits, const char *path,
                                      const char *key) {
        return VEC_FIND(limit, limits,
                        text_equals(limit->path, path) && text_equals(limit->key, key));
}

/* Adds the memory limits in a file of a unit or slice, whose control group is GROUP. */
static void add_memory_limits(const Facts *facts, const UnitFile *file, const char *section,
                              const char *group, MemoryLimits *limits) {
        static const char *const keys[] = {"MemoryMax", "MemoryHigh"};
        Arena *arena = facts->arena;

        ARRAY_FOREACH(key, keys, ARRAY_LEN(keys)) {
                const UnitAssignment *line = unit_file_find(file, section, *key);
                uint64_t hundredths;

                if (!line)
                        continue;
                MemoryLimit limit = {
                        .file = line->file,
                        .line = line->line,
                        .path = arena_printf(arena, "%s%s", facts->ret->hierarchy, group),
                        .group = file->name,
                        .key = *key};

                /* A percentage is of the host's memory. */
                if (text_ends_with(line->value, "%")) {
                        if (parse_percent_hundredths(line->value, &hundredths) < 0)
                                continue;
                        limit.bytes = share_of(topology_memory_bytes(facts->topology), hundredths);
                } else if (unit_size_parse(arena, line->value, &limit.bytes) < 0) {
                        continue;
                }
                *vec_push(arena, limits) = limit;
        }
}

/* A limit that is in no file may have been set at run time. */
static void read_limits(const Facts *facts, UnitFacts *unit) {
        Arena *arena = facts->arena;
        const char *hierarchy = facts->ret->hierarchy;
        const char *group = arena_printf(arena, "%s%s", hierarchy, unit->group);

        if (facts->counts_huge_pages) {
                add_memory_limits(facts, unit->file, "Service", unit->group, &unit->limits);
                VEC_FOREACH(slice, &unit->slices)
                        add_memory_limits(facts, *slice, "Slice",
                                          slice_group_path(arena, (*slice)->name), &unit->limits);
        }
        ARRAY_FOREACH(size, facts->topology->page_sizes, facts->topology->n_page_sizes) {
                const MemoryLimits now = memory_limits_read(arena, facts->sources, hierarchy, group,
                                                            size->bytes, facts->counts_huge_pages);

                VEC_FOREACH(limit, &now)
                        if (!memory_limits_find(&unit->limits, limit->path, limit->key))
                                *vec_push(arena, &unit->limits) = *limit;
        }
}

/* Leaves of NODES (empty: all) those that a key names, whose lines add up. */
static void narrow_nodes(const Facts *facts, const UnitFile *file, const char *section,
                         const char *key, IdSet *nodes) {
        const UnitAssignments lines = unit_file_list(file, section, key);
        IdSet named = {}, more;

        VEC_FOREACH(line, &lines)
                TEXT_FOREACH(word, facts->arena, (*line)->value, ", \t")
                        if (id_set_parse(word, &more) == 0)
                                id_set_add_all(&named, &more);
        if (id_set_is_empty(nodes))
                *nodes = named;
        else if (id_set_meets(nodes, &named))
                *nodes = id_set_common(nodes, &named);
}

/* From the topmost slice down, as the kernel does: a cpuset without a node of its parent's has all of these. */
static void read_nodes(const Facts *facts, UnitFacts *unit) {
        const char *line;

        for (size_t i = unit->slices.n; i > 0; i--)
                narrow_nodes(facts, unit->slices.items[i - 1], "Slice", "AllowedMemoryNodes",
                             &unit->memory_nodes);
        narrow_nodes(facts, unit->file, "Service", "AllowedMemoryNodes", &unit->memory_nodes);
        if (text_equals(unit_file_value(unit->file, "Service", "NUMAPolicy"), "bind"))
                narrow_nodes(facts, unit->file, "Service", "NUMAMask", &unit->memory_nodes);
        if (id_set_is_empty(&unit->memory_nodes) &&
            (line = read_line(facts, arena_printf(facts->arena, "%s%s/cpuset.mems.effective",
                                                  facts->ret->hierarchy, unit->group))))
                id_set_parse(line, &unit->memory_nodes);
}

static const UnitFacts *read_unit(Facts *facts, const char *name) {
        Arena *arena = facts->arena;
        const UnitFacts **known = VEC_FIND(each, &facts->units, text_equals((*each)->name, name));

        if (known)
                return *known;
        UnitFacts *unit = ARENA_NEW(arena, UnitFacts);
        const char *slice = "system.slice";
        uint64_t pid;

        /* A template's instances have a slice of their own, whose name has the escaped prefix. */
        if (strchr(name, '@')) {
                Text text = text_in(arena);

                text_add(&text, "system-");
                for (const char *at = name; *at != '@'; at++)
                        text_printf(&text, *at == '-' ? "\\x2d" : "%c", *at);
                text_add(&text, ".slice");
                slice = text.string;
        }
        unit->name = name;
        unit->file = unit_file_read(arena, facts->sources, name);
        const UnitAssignment *own = unit_file_find(unit->file, "Service", "Slice");

        if (own && text_ends_with(own->value, ".slice"))
                slice = own->value;
        size_t length = strlen(slice) - strlen(".slice");

        for (size_t i = length; i > 0; i--)
                if (i == length || slice[i] == '-')
                        *vec_push(arena, &unit->slices) =
                                unit_file_read(arena, facts->sources,
                                               arena_printf(arena, "%.*s.slice", (int) i, slice));
        unit->group = arena_printf(arena, "%s/%s", slice_group_path(arena, slice), name);
        unit->is_running = ARRAY_ANY(
                hierarchy, hierarchies, ARRAY_LEN(hierarchies),
                read_number(facts,
                            arena_printf(arena, "%s%s/cgroup.procs", *hierarchy, unit->group),
                            &pid));
        read_limits(facts, unit);
        read_nodes(facts, unit);
        *vec_push(arena, &facts->units) = unit;
        return unit;
}

LoadedUnit unit_facts_loaded(Arena *arena, const UnitFacts *unit) {
        LoadedUnit loaded = unit_search_loaded(arena, unit->name, unit->file);

        loaded.policy = (MemoryPolicy){MEMORY_POLICY_BIND, unit->memory_nodes};
        return loaded;
}

/* ---- groups that limit touched pages only ---- */

/* Deep enough for kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope. */
enum { TRAP_DEPTH_MAX = 6 };

/* Finds traps in the groups below DIRECTORY. */
static void find_traps(Facts *facts, const char *directory, unsigned depth) {
        static const char *const suffixes[] = {".slice", ".scope", ".service"};
        Arena *arena = facts->arena;
        SourceNames names = source_list(facts->sources, arena, directory);

        VEC_FOREACH(name, &names) {
                /* A group's files have a dot in their names; child groups of systemd have these suffixes, and others
                 * have no dot, except those of LXC. */
                if (strchr(*name, '.') && !text_starts_with(*name, "lxc.") &&
                    !ARRAY_ANY(suffix, suffixes, ARRAY_LEN(suffixes),
                               text_ends_with(*name, *suffix)))
                        continue;
                const char *group = arena_printf(arena, "%s/%s", directory, *name);

                ARRAY_FOREACH(size, facts->topology->page_sizes, facts->topology->n_page_sizes) {
                        const MemoryLimits limits = memory_limits_read(
                                arena, facts->sources, directory, group, size->bytes, false);

                        VEC_FOREACH(limit, &limits)
                                if (!text_ends_with(limit->key, ".rsvd.max") &&
                                    !VEC_ANY(other, &limits,
                                             other != limit && other->bytes <= limit->bytes))
                                        *vec_push(arena, &facts->ret->group_traps) = *limit;
                }
                if (depth < TRAP_DEPTH_MAX)
                        find_traps(facts, group, depth + 1);
        }
}

/* ---- logins ---- */

/* "oracle soft memlock 134217728" */
static void read_login_limits(const Facts *facts, const char *path) {
        Arena *arena = facts->arena;
        SourceText text = source_read(facts->sources, arena, path);

        SOURCE_FOREACH(line, arena, lines, &text) {
                const char *rest = arena_strndup(arena, line, strcspn(line, "#"));
                LoginLimit limit = {.file = path, .line = lines.number};

                limit.domain = text_next_word(arena, &rest, " \t");
                limit.type = text_next_word(arena, &rest, " \t");
                const char *item = text_next_word(arena, &rest, " \t");

                limit.value = text_next_word(arena, &rest, " \t");
                if (text_equals(item, "memlock") && limit.value)
                        *vec_push(arena, &facts->ret->login_limits) = limit;
        }
}

/* ---- all ---- */

HostFacts *host_facts_read(Arena *arena, const Sources *sources, const Config *config,
                           const Topology *topology, const Figures *figures) {
        Facts facts = {
                .arena = arena,
                .sources = sources,
                .topology = topology,
                .figures = figures,
                .accounts = accounts_read(arena, sources),
                .counts_huge_pages = memory_limits_count_huge_pages(arena, sources),
                .ret = ARENA_NEW(arena, HostFacts),
        };
        HostFacts *ret = facts.ret;
        const char *controllers = NULL;

        ret->limits = (KernelLimits){UINT64_MAX, UINT64_MAX, UINT64_MAX};
        read_number(&facts, PATH_SHMMAX, &ret->limits.shmmax_bytes);
        read_number(&facts, PATH_SHMALL, &ret->limits.shmall_pages);
        read_number(&facts, PATH_HUGETLB_SHM_GROUP, &ret->limits.shm_group);
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                PageCount overcommit = {.page_size_bytes = size->bytes};
                const char *path = page_size_path(arena, PATH_HUGEPAGES, size->bytes,
                                                  "nr_overcommit_hugepages");

                if (read_number(&facts, path, &overcommit.pages) && overcommit.pages > 0)
                        *vec_push(arena, &ret->overcommits) = overcommit;
        }
        const IdSet nodes = topology_memory_nodes(topology);
        const char *with_cpu = read_line(&facts, PATH_NODES "/has_cpu");

        if (with_cpu && id_set_parse(text_strip(arena, with_cpu), &ret->cpu_nodes) == 0)
                ret->cpu_nodes = id_set_common(&ret->cpu_nodes, &nodes);
        ret->has_own_group = account_find_group(arena, &facts.accounts, NAME_HUGETLB_GROUP);
        /* The unified hierarchy at its usual place, or at that of a hybrid host. */
        ret->hierarchy = PATH_CGROUP;
        for (size_t i = 0; i < ARRAY_LEN(hierarchies) && !controllers; i++)
                if ((controllers = read_line(&facts, arena_printf(arena, "%s/cgroup.controllers",
                                                                  hierarchies[i])))) {
                        ret->hierarchy = hierarchies[i];
                        ret->has_hugetlb_limits = text_has_word(controllers, "hugetlb");
                }
        if (ret->has_hugetlb_limits)
                find_traps(&facts, ret->hierarchy, 1);
        ret->n_instances = config->n_instances;
        ret->instances = ARENA_ARRAY(arena, InstanceFacts, config->n_instances);
        for (size_t i = 0; i < config->n_instances; i++) {
                const InstanceConfig *instance = &config->instances[i];
                const UnitFacts *unit = instance->unit && !instance->refusal
                                                ? read_unit(&facts, instance->unit)
                                                : NULL;

                if (!instance->refusal)
                        ret->instances[i] = (InstanceFacts){
                                unit, find_owner(&facts, instance, unit ? unit->file : NULL)};
        }
        const SourceText uncounted = source_read(sources, arena, PATH_BOOT_UNCOUNTED);
        const SourceNames names = source_list(sources, arena, PATH_LIMITS_DIR);

        SOURCE_FOREACH(line, arena, lines, &uncounted)
                ret->boot_uncounted = text_printable(arena, line);
        read_login_limits(&facts, PATH_LIMITS);
        VEC_FOREACH(name, &names)
                if (text_ends_with(*name, ".conf"))
                        read_login_limits(&facts,
                                          arena_printf(arena, PATH_LIMITS_DIR "/%s", *name));
        ret->remove_ipc = unit_file_find(unit_file_read_config(arena, sources, "logind.conf"),
                                         "Login", "RemoveIPC");
        ret->start_timeout = unit_file_find(unit_file_read_config(arena, sources, "system.conf"),
                                            "Manager", "DefaultTimeoutStartSec");
        return ret;
}

Overlay host_after(Arena *arena, const Sources *sources, const Config *config, const Plan *plan,
                   const HostWrites *writes, const Dropins *dropins) {
        Overlay overlay = overlay_over(arena, sources);

        VEC_FOREACH(write, writes)
                overlay_put(&overlay, write->path, arena_printf(arena, "%s\n", write->value));
        /* Drop-ins of units that no instance names any more are removed. */
        SourceNames generated = source_list(sources, arena, PATH_GENERATOR_DIR);

        VEC_FOREACH(name, &generated)
                if (text_ends_with(*name, ".d"))
                        overlay_put(
                                &overlay,
                                arena_printf(arena, PATH_GENERATOR_DIR "/%s/" NAME_DROPIN, *name),
                                NULL);
        VEC_FOREACH(dropin, dropins)
                overlay_put(
                        &overlay,
                        arena_printf(arena, PATH_GENERATOR_DIR "/%s.d/" NAME_DROPIN, dropin->unit),
                        dropin->text);
        /* Logins without PAM's directory have no limits. */
        SourceNames names = {};
        if (sources->list(sources, arena, PATH_PAM_SECURITY, &names) >= 0)
                overlay_put(&overlay, PATH_PAM_LIMITS, limits_pam_text(arena, config, plan));
        return overlay;
}
