/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/pages/server_look.h"

#include "base/text.h"
#include "inspect/pages/page_users.h"
#include "inspect/process_files.h"
#include "model/names.h"
#include "runtime/deadline.h"

#include <string.h>

enum {
        GROUP_DEPTH_MAX = 8,
        PROCESSES_MAX = 65536,
        GLANCE_PROCESSES_MAX = 16,
        DETAILS_MAX = 16,             /* processes whose pages are walked */
        LISTING_BYTES_MAX = 64 << 20, /* of maps and numa_maps: some 500,000 mappings */
        GLANCE_BYTES_MAX = 1 << 20,
};

/* For one unit; what is not read by then is left out. */
static const uint64_t look_usec_max = 10 * USEC_PER_SEC;

/* A walk over more small pages takes a second and more, with the address space locked. */
static const uint64_t walk_bytes_max = 16 * GIB;

typedef struct Looker {
        const ServerHost *host;
        const Engine *engine; /* NULL: not known */
        const char *unit;
        const char *group; /* NULL: the unit has none */
        uint64_t deadline_usec;
        size_t bytes_max; /* of one file */
        ProcessIds pids;
        Processes members;
        UnitCharges charges;
        ServerLook look;
} Looker;

/* ---- files of a process ---- */

static int read_file(const Looker *looker, Arena *scratch, uint64_t pid, const char *name,
                     char **ret) {
        return process_file_read(looker->host->root, scratch, pid, name, looker->bytes_max, ret,
                                 NULL);
}

PRINTF_LIKE(2, 3)
static void leave_out(Looker *looker, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        *vec_push(looker->host->arena, &looker->look.missing) =
                arena_vprintf(looker->host->arena, format, arguments);
        va_end(arguments);
}

/* Adds why a file of the server could not be read. */
static void leave_out_file(Looker *looker, const char *what, int error) {
        const ServerLook *look = &looker->look;

        if (error == -EACCES || error == -EPERM)
                leave_out(looker, "%s: only root may see those of process %" PRIu64, what,
                          look->pid);
        else if (process_file_is_gone(error))
                leave_out(looker, "%s: process %" PRIu64 " has ended meanwhile", what, look->pid);
        else
                leave_out(looker, "%s: those of process %" PRIu64 " cannot be read: %s", what,
                          look->pid, strerror(-error));
}

/* ---- the processes of the unit ---- */

static void read_members(Looker *looker, size_t n_max) {
        uint64_t tables_bytes = 0;
        size_t n_seen = 0;
        Process member;

        VEC_FOREACH(pid, &looker->pids) {
                if (n_seen == n_max || deadline_left_usec(looker->deadline_usec) == 0)
                        break;
                n_seen++;
                if (process_read_status(looker->host->root, looker->host->arena, *pid, &member) < 0)
                        continue;
                member.unit = looker->unit;
                tables_bytes = add_saturated(tables_bytes, member.tables_bytes);
                *vec_push(looker->host->arena, &looker->members) = member;
        }
        looker->look.is_running =
                looker->members.n > 0 ||
                (looker->pids.n > 0 &&
                 unit_cgroup_group_is_populated(looker->host->root, looker->group));
        looker->look.n_processes = looker->members.n;
        if (looker->look.is_glance)
                return;
        if (n_seen == looker->pids.n && looker->members.n > 0)
                looker->look.page_table_bytes = tables_bytes;
        else if (n_seen < looker->pids.n)
                leave_out(looker, "page tables: there was time for %zu of %zu processes only",
                          n_seen, looker->pids.n);
}

static bool has_server_name(const Looker *looker, const Process *member) {
        return looker->engine && looker->engine->servers &&
               text_has_word(looker->engine->servers, member->command);
}

/* Returns the process that maps the database's memory and is the parent of others that do; not a supervisor. A server's
 * program is preferred, then the process with more huge pages, then the one with more memory. */
static Process *find_server(const Looker *looker) {
        Process *largest = looker->members.items;

        VEC_FOREACH(member, &looker->members) {
                bool is_named = has_server_name(looker, member);

                if (is_named != has_server_name(looker, largest) ? is_named
                    : member->huge_bytes != largest->huge_bytes
                            ? member->huge_bytes > largest->huge_bytes
                            : member->size_bytes > largest->size_bytes)
                        largest = member;
        }
        for (unsigned depth = 0; depth < GROUP_DEPTH_MAX; depth++) {
                Process *parent =
                        VEC_FIND(each, &looker->members, each->pid == largest->parent_pid);

                if (!parent || parent->size_bytes < largest->size_bytes / 2 ||
                    has_server_name(looker, parent) != has_server_name(looker, largest))
                        break;
                largest = parent;
        }
        return largest;
}

/* ---- its control group ---- */

static void read_charges(Looker *looker) {
        const char *hierarchy = looker->host->hierarchy;
        const char *group = hierarchy && text_starts_with(looker->group, hierarchy) ? looker->group
                                                                                    : NULL;

        looker->charges = page_charges_read(looker->host->root, looker->host->arena,
                                            looker->host->topology, group, looker->unit);
}

/* The controller counts only pages mapped since it was enabled: its counts do not hold if processes show more. */
static void judge_charges(Looker *looker) {
        uint64_t counted_bytes = 0, seen_bytes = add_saturated(looker->look.map.huge_bytes,
                                                               looker->look.map.doubtful_bytes);

        VEC_FOREACH(charge, &looker->charges)
                counted_bytes = add_saturated(
                        counted_bytes, mul_saturated(MAX(charge->reserved_pages, charge->pages),
                                                     charge->page_size_bytes));
        VEC_FOREACH(member, &looker->members)
                seen_bytes = MAX(seen_bytes, member->huge_bytes);
        looker->look.is_counted = looker->charges.n > 0 && counted_bytes >= seen_bytes;
}

/* ---- its mappings ---- */

/* The listings of a process that ends are truncated without an error. They are complete if the process still has memory
 * after they were read. */
static bool is_alive(const Looker *looker, uint64_t pid) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        Process now;

        return process_read_status(looker->host->root, scratch, pid, &now) >= 0 &&
               now.size_bytes > 0;
}

/* Walks the pages of a process: finds its mappings of huge pages, and the pages touched in each. */
static int walk_pages(Looker *looker, Arena *scratch, Process *member, const char *maps,
                      char **ret_numa_maps) {
        int r = read_file(looker, scratch, member->pid, "numa_maps", ret_numa_maps);

        if (r >= 0 && !is_alive(looker, member->pid))
                r = -ESRCH;
        if (r < 0)
                return r;
        HugeMappings mappings = process_parse_numa_maps(scratch, *ret_numa_maps);

        process_add_maps(scratch, maps, &mappings);
        process_keep_mappings(looker->host->arena, &mappings, member);
        return 0;
}

static void read_map(Looker *looker, Process *server) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const Devices *devices = &looker->host->devices;
        ServerLook *look = &looker->look;
        char *maps, *numa_maps;
        int r = read_file(looker, scratch, look->pid, "maps", &maps);

        if (r >= 0 && !is_alive(looker, look->pid))
                r = -ESRCH;
        if (r < 0)
                leave_out_file(looker, "mappings", r);
        else {
                look->has_map = true;
                look->map = memory_map_parse(looker->host->arena, maps, NULL, devices);
        }
        judge_charges(looker);
        /* Otherwise only a walk finds what is mapped. */
        look->is_all_mapped = r >= 0 && (look->is_counted || (look->map.huge_bytes == 0 &&
                                                              look->map.doubtful_bytes == 0));
        if (r < 0 || look->is_glance || look->is_all_mapped)
                return;
        if (server->resident_bytes > walk_bytes_max)
                leave_out(looker, "pages by node: %s of small pages would have to be walked",
                          format_size(looker->host->arena, server->resident_bytes));
        else if ((r = walk_pages(looker, scratch, server, maps, &numa_maps)) < 0)
                leave_out_file(looker, "pages by node", r);
        else {
                look->map = memory_map_parse(looker->host->arena, maps, numa_maps, devices);
                judge_charges(looker);
                look->is_all_mapped = true;
        }
}

static int compare_use(const void *a, const void *b) {
        uint64_t first = ((const Process *) a)->huge_bytes,
                 second = ((const Process *) b)->huge_bytes;

        return (first < second) - (first > second);
}

/* If no controller counts for the unit, walks the processes that have touched most. The use of others stays unknown. */
static void walk_others(Looker *looker) {
        size_t n = 1;

        vec_sort(&looker->members, compare_use);
        VEC_FOREACH(member, &looker->members) {
                CLEANUP(arena_freep) Arena *scratch = arena_new();
                char *maps, *numa_maps;

                if (member->huge_bytes == 0 || n == DETAILS_MAX ||
                    deadline_left_usec(looker->deadline_usec) == 0)
                        break;
                if (member->is_detailed || member->resident_bytes > walk_bytes_max ||
                    read_file(looker, scratch, member->pid, "maps", &maps) < 0)
                        continue;
                n++;
                walk_pages(looker, scratch, member, maps, &numa_maps);
        }
}

/* ---- all ---- */

/* Returns whether the unit has only a supervisor: no process with a server's name or a database's memory. */
static bool is_without_server(const Looker *looker, const Process *likeliest) {
        const Engine *engine = looker->engine;
        const MemoryMap *map = &looker->look.map;
        uint64_t main_bytes = add_saturated(map->huge_bytes, map->doubtful_bytes);

        if (!engine || !engine->servers || has_server_name(looker, likeliest) ||
            looker->members.n < looker->pids.n)
                return false;
        VEC_FOREACH(charge, &looker->charges)
                main_bytes = add_saturated(main_bytes, charge->pages + charge->reserved_pages);
        main_bytes = add_saturated(main_bytes,
                                   likeliest->huge_bytes + map->shared_bytes +
                                           (engine->maps_all_at_start ? 0 : map->private_bytes));
        return main_bytes == 0 && (looker->look.has_map || engine->maps_all_at_start);
}

ServerHost server_host(const Root *root, Arena *arena, const Topology *topology) {
        return (ServerHost){
                .root = root,
                .arena = arena,
                .topology = topology,
                .hierarchy = unit_cgroup_hierarchy(root),
                .groups = unit_cgroup_all(root, arena),
                .devices = process_file_hugetlbfs(root, arena, 0),
        };
}

ServerLook server_look(const ServerHost *host, const Engine *engine, const char *unit,
                       bool is_glance) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const Root *root = host->root;
        Arena *arena = host->arena;
        Looker looker = {.host = host,
                         .engine = engine,
                         .unit = unit,
                         .group = index_find(host->groups, unit),
                         .deadline_usec = deadline_in(look_usec_max),
                         .bytes_max = is_glance ? GLANCE_BYTES_MAX : LISTING_BYTES_MAX,
                         .look = {.is_glance = is_glance}};
        ServerLook *look = &looker.look;
        char *stat, *uptime;

        looker.pids = unit_cgroup_processes(root, arena, looker.group);
        read_members(&looker, is_glance ? GLANCE_PROCESSES_MAX : PROCESSES_MAX);
        if (!look->is_running)
                return *look;
        read_charges(&looker);
        if (looker.members.n > 0) {
                Process *server = find_server(&looker);

                look->pid = server->pid;
                look->command = server->command;
                if (read_file(&looker, scratch, look->pid, "stat", &stat) >= 0 &&
                    root_read_attribute(root, scratch, PATH_UPTIME, &uptime) >= 0)
                        process_parse_age(scratch, stat, uptime, &look->age_usec);
                read_map(&looker, server);
                if (is_without_server(&looker, server))
                        return (ServerLook){.is_glance = is_glance};
                if (!is_glance && !look->is_counted)
                        walk_others(&looker);
        } else {
                leave_out(&looker,
                          "its processes cannot be seen: they come and go, or /proc hides them "
                          "(hidepid=)");
                judge_charges(&looker);
        }
        const PageUsersInput input = {
                .topology = host->topology,
                .processes = looker.members.items,
                .n_processes = looker.members.n,
                .charges = looker.charges.items,
                .n_charges = looker.charges.n,
        };
        const PageUsers *users = page_users_make(arena, &input);

        vec_push_all(arena, &look->pages, &users->list);
        return *look;
}

uint64_t server_mapped_bytes(const Root *root, uint64_t pid) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        const Devices devices = process_file_hugetlbfs(root, arena, pid);
        char *maps;

        if (process_file_read(root, arena, pid, "maps", LISTING_BYTES_MAX, &maps, NULL) < 0)
                return 0;
        const MemoryMap map = memory_map_parse(arena, maps, NULL, &devices);

        return add_saturated(add_saturated(map.huge_bytes, map.doubtful_bytes), map.unnamed_bytes);
}
