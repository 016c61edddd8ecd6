/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/pages/page_users.h"

#include "base/size.h"
#include "base/text.h"
#include "host/host_use.h"
#include "inspect/process_files.h"
#include "model/names.h"
#include "units/hugetlb_limit.h"

#include <string.h>

enum {
        PROCESSES_MAX = 65536,    /* processes whose status is read */
        UNIT_DETAILS_MAX = 16,    /* processes examined per unit: those that have touched most */
        DETAILS_MAX = 512,        /* processes examined in all */
        MAPS_BYTES_MAX = 8 << 20, /* of maps and numa_maps, some 80,000 mappings */
};

typedef struct Search {
        const Root *root;
        Arena *arena; /* the caller's, for results */
        const Topology *topology;
        Processes processes;
        UnitCharges charges;
        char *segments;
        size_t n_detailed;
        bool is_complete;
} Search;

/* ---- one process ---- */

/* Some hosts protect init even from root; init has no huge pages beyond those that everyone can see. */
static void note_error(Search *search, uint64_t pid, int error) {
        if (error < 0 && !process_file_is_gone(error) && pid != 1)
                search->is_complete = false;
}

static bool read_status(Search *search, uint64_t pid, Process *ret) {
        int r = process_read_status(search->root, search->arena, pid, ret);

        note_error(search, pid, r);
        return r >= 0;
}

/* Returns NULL if the process has ended or the file may not be read; the latter makes the search incomplete. */
static char *read_process_file(Search *search, Arena *scratch, uint64_t pid, const char *name,
                               int *ret_error) {
        char *text;
        int r = process_file_read(search->root, scratch, pid, name, MAPS_BYTES_MAX, &text, NULL);

        if (ret_error)
                *ret_error = r;
        note_error(search, pid, r);
        return text;
}

static void read_unit(Search *search, Process *process) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        char *text = read_process_file(search, scratch, process->pid, "cgroup", NULL);
        Process found = {};

        if (text)
                process_parse_cgroup(scratch, text, &found);
        process->unit = arena_strdup(search->arena, found.unit);
        process->unit_group = arena_strdup(search->arena, found.unit_group);
}

static void read_mappings(Search *search, Process *process) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        HugeMappings mappings;
        int error;
        char *text = read_process_file(search, scratch, process->pid, "numa_maps", &error);

        search->n_detailed++;
        /* Kernels without NUMA have no numa_maps: reserved pages are missing. */
        if (error == -ENOENT && !search->topology->is_numa)
                search->is_complete = false;
        if (!text)
                return;
        mappings = process_parse_numa_maps(scratch, text);
        text = mappings.n > 0 ? read_process_file(search, scratch, process->pid, "maps", NULL)
                              : NULL;
        if (text)
                process_add_maps(scratch, text, &mappings);
        process_keep_mappings(search->arena, &mappings, process);
}

/* ---- which processes ---- */

static int compare_by_unit_and_use(const void *a, const void *b) {
        const Process *first = a, *second = b;
        int r = process_compare_units(first, second);

        return r != 0 ? r
                      : (first->huge_bytes < second->huge_bytes) -
                                (first->huge_bytes > second->huge_bytes);
}

/* Finds processes that have mapped pages and touched none, or only pages that others had touched before. */
static void find_mappers(Search *search, const ProcessIds *pids) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        const Devices devices = process_file_hugetlbfs(search->root, scratch, 0);
        char *text;

        VEC_FOREACH(pid, pids) {
                CLEANUP(arena_freep) Arena *maps = arena_new();
                Process process;

                if (!(text = read_process_file(search, maps, *pid, "maps", NULL)))
                        continue;
                /* Cheap, unlike numa_maps, which walks all pages of the process. */
                const MemoryMap map = memory_map_parse(maps, text, NULL, &devices);

                if ((map.huge_bytes == 0 && map.doubtful_bytes == 0) ||
                    !read_status(search, *pid, &process))
                        continue;
                if (search->n_detailed == DETAILS_MAX) {
                        search->is_complete = false;
                        break;
                }
                read_mappings(search, &process);
                if (process.mappings.n == 0)
                        continue;
                read_unit(search, &process);
                *vec_push(search->arena, &search->processes) = process;
        }
}

static void look_into_touchers(Search *search) {
        const char *unit = NULL;
        size_t n_of_unit = 0;

        vec_sort(&search->processes, compare_by_unit_and_use);
        VEC_FOREACH(process, &search->processes) {
                if (!process->unit || !text_equals(process->unit, unit))
                        n_of_unit = 0;
                unit = process->unit;
                if (n_of_unit++ < UNIT_DETAILS_MAX && search->n_detailed < DETAILS_MAX)
                        read_mappings(search, process);
                else
                        search->is_complete = false;
        }
}

/* ---- control groups ---- */

/* For the unified hierarchy only, whose root group has no such file. */
static bool is_limited(const Root *root, const char *group, uint64_t page_size_bytes) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        char *above = arena_strdup(scratch, group), *slash;
        uint64_t bytes;

        while ((slash = strrchr(above, '/')) && slash != above) {
                if (root_read_u64(root, hugetlb_limit_path(scratch, above, page_size_bytes),
                                  &bytes) == 0 &&
                    hugetlb_limit_is_limit(bytes))
                        return true;
                *slash = '\0';
        }
        return false;
}

UnitCharges page_charges_read(const Root *root, Arena *arena, const Topology *topology,
                              const char *group, const char *unit) {
        CLEANUP(arena_freep) Arena *scratch = arena_new();
        UnitCharges charges = {};

        if (!group)
                return charges;
        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                UnitCharge charge;

                if (!host_use_read_charge(root, arena, scratch, group, size->bytes, &charge))
                        continue;
                charge.unit = unit;
                charge.is_limited = is_limited(root, group, size->bytes);
                *vec_push(arena, &charges) = charge;
        }
        return charges;
}

/* ---- all ---- */

static PageUsers *make(Search *search, bool is_complete) {
        const PageUsersInput input = {
                .topology = search->topology,
                .processes = search->processes.items,
                .n_processes = search->processes.n,
                .charges = search->charges.items,
                .n_charges = search->charges.n,
                .segments = search->segments,
                .is_complete = is_complete,
        };

        return page_users_make(search->arena, &input);
}

static bool has_unseen(const Search *search, const PageUsers *seen) {
        return ARRAY_ANY(size, search->topology->page_sizes, search->topology->n_page_sizes,
                         page_users_unseen_pages(seen, search->topology, size->bytes) > 0);
}

PageUsers *page_users_find(const Root *root, Arena *arena, const Topology *topology) {
        Search search = {.root = root, .arena = arena, .topology = topology, .is_complete = true};
        const char *unit = NULL, *hierarchy;
        ProcessIds others = {};
        Names names = {};
        size_t n_processes = 0;
        uint64_t pid;

        if (!has_unseen(&search, make(&search, false))) /* no pages are mapped or in use */
                return make(&search, true);
        root_list(root, arena, PATH_PROC, &names);
        /* First the processes that have huge pages according to files that everyone may read. */
        VEC_FOREACH(name, &names) {
                Process process;

                if (parse_u64(*name, &pid) < 0 || pid == 0)
                        continue;
                if (n_processes++ == PROCESSES_MAX) {
                        search.is_complete = false;
                        break;
                }
                if (!read_status(&search, pid, &process) || process.huge_bytes == 0) {
                        *vec_push(arena, &others) = pid;
                        continue;
                }
                read_unit(&search, &process);
                *vec_push(arena, &search.processes) = process;
        }
        look_into_touchers(&search);
        /* All processes are searched only if pages are still unaccounted for. */
        if (has_unseen(&search, make(&search, false)))
                find_mappers(&search, &others);
        vec_sort(&search.processes, compare_by_unit_and_use);
        hierarchy = unit_cgroup_hierarchy(root);
        VEC_FOREACH(process, &search.processes) {
                if (hierarchy && process->unit_group && !text_equals(process->unit, unit)) {
                        const UnitCharges charges = page_charges_read(
                                root, arena, topology,
                                arena_printf(arena, "%s%s", hierarchy, process->unit_group),
                                process->unit);

                        vec_push_all(arena, &search.charges, &charges);
                }
                unit = process->unit;
        }
        if (root_read_kernel_file(root, arena, PATH_SYSV_SHM, MAPS_BYTES_MAX, &search.segments,
                                  NULL) < 0)
                search.segments = NULL;
        return make(&search, search.is_complete);
}
