/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/page_users.h"

#include "base/text.h"
#include "read/process.h"

#include <stdlib.h>
#include <string.h>

/* A hugetlbfs file system and its page size. The kernel has an internal one per page size; each mount is another. */
typedef struct DeviceSize {
        uint64_t device;
        uint64_t page_size_bytes;
} DeviceSize;

enum { FAMILY_DEPTH_MAX = 64 };

typedef struct Maker {
        Arena *arena;
        const PageUsersInput *input;
        PageUsers *made;
        VEC(DeviceSize) devices;
} Maker;

/* A mapping, and the index of its process in the group. */
typedef struct Piece {
        const HugeMapping *mapping;
        uint64_t page_size_bytes;
        size_t process;
} Piece;

typedef VEC(Piece) Pieces;

/* Pages in use and mapped, of a process, a segment or a row. */
typedef struct Count {
        uint64_t pages;
        uint64_t mapped_pages;
        PagesByNode nodes;
        bool is_lower_bound;
} Count;

/* ---- page sizes ---- */

/* Returns the only page size that has any pages; 0 if none or several have. */
static uint64_t only_page_size(const Topology *topology) {
        uint64_t bytes = 0;

        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                if (size->total_pages == 0)
                        continue;
                if (bytes > 0)
                        return 0;
                bytes = size->bytes;
        }
        return bytes;
}

static uint64_t device_page_size(const Maker *maker, uint64_t device) {
        const DeviceSize *known = VEC_FIND(each, &maker->devices, each->device == device);

        return known ? known->page_size_bytes : 0;
}

/* ---- counting ---- */

static void add_nodes(Arena *arena, Count *count, const PagesByNode *nodes) {
        VEC_FOREACH(here, nodes)
                pages_add_on(arena, &count->nodes, here->node, here->pages);
}

static void add_mapping(Arena *arena, Count *count, const HugeMapping *mapping) {
        count->pages = add_saturated(count->pages, mapping->pages);
        add_nodes(arena, count, &mapping->nodes);
}

static bool is_same_segment(const Piece *a, const Piece *b) {
        return a->page_size_bytes == b->page_size_bytes &&
               a->mapping->device == b->mapping->device && a->mapping->inode == b->mapping->inode;
}

/* Counts the pages of one process in a segment, from *AT on. Of overlapping mappings (some JVMs map their heap several
 * times) only the largest counts, because the others show the same pages again. */
static Count count_process(Arena *arena, const Pieces *pieces, size_t *at) {
        const Piece *first = &pieces->items[*at], *piece;
        const HugeMapping *largest = first->mapping;
        uint64_t end = largest->offset_bytes, mapped_bytes = 0;
        Count count = {};

        for (; *at < pieces->n; ++*at) {
                piece = &pieces->items[*at];
                const HugeMapping *mapping = piece->mapping;
                uint64_t stop = add_saturated(mapping->offset_bytes, mapping->length_bytes);

                if (piece->process != first->process || !is_same_segment(piece, first))
                        break;
                if (piece != first && mapping->offset_bytes >= end) {
                        add_mapping(arena, &count, largest);
                        largest = mapping;
                } else if (mapping->pages > largest->pages)
                        largest = mapping;
                mapped_bytes += sub_floored(stop, MAX(end, mapping->offset_bytes));
                end = MAX(end, stop);
        }
        add_mapping(arena, &count, largest);
        count.mapped_pages = mapped_bytes / first->page_size_bytes;
        return count;
}

/* Counts a segment of a group. Its processes show overlapping parts of the segment, so the largest count is taken. */
static Count count_segment(Arena *arena, const Pieces *pieces, size_t *at) {
        const Piece *first = &pieces->items[*at];
        uint64_t mapped_pages = 0;
        size_t n_processes = 0;
        Count most = {};

        for (; *at < pieces->n && is_same_segment(first, &pieces->items[*at]); n_processes++) {
                Count count = count_process(arena, pieces, at);

                mapped_pages = MAX(mapped_pages, count.mapped_pages);
                if (n_processes == 0 || count.pages > most.pages)
                        most = count;
        }
        most.mapped_pages = mapped_pages;
        most.is_lower_bound = (!first->mapping->is_private || n_processes > 1) &&
                              most.pages != most.mapped_pages;
        return most;
}

static int compare_u64(uint64_t a, uint64_t b) {
        return a < b ? -1 : a > b;
}

/* Orders by page size, segment, process and offset. */
static int compare_pieces(const void *a, const void *b) {
        const Piece *first = a, *second = b;
        const HugeMapping *one = first->mapping, *other = second->mapping;
        const uint64_t keys[][2] = {
                {first->page_size_bytes, second->page_size_bytes},
                {one->device, other->device},
                {one->inode, other->inode},
                {first->process, second->process},
                {one->offset_bytes, other->offset_bytes},
                {one->address, other->address},
        };
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_LEN(keys); i++)
                r = compare_u64(keys[i][0], keys[i][1]);
        return r;
}

/* ---- groups ---- */

/* The processes of one unit, or a family of processes without a unit; sorted by pid. */
typedef struct Group {
        const Process **processes;
        size_t n;
} Group;

/* A process and, if it has no unit, the pid of its eldest ancestor without a unit. */
typedef struct Member {
        const Process *process;
        uint64_t family;
} Member;

static int compare_members(const void *a, const void *b) {
        const Member *first = a, *second = b;
        int r = process_compare_units(first->process, second->process);

        if (r == 0)
                r = compare_u64(first->family, second->family);
        return r != 0 ? r : compare_u64(first->process->pid, second->process->pid);
}

/* Returns all processes in the order of their groups. */
static Member *sort_members(const Maker *maker) {
        const PageUsersInput *input = maker->input;
        Member *members = ARENA_ARRAY(maker->arena, Member, input->n_processes);
        uint64_t *families = ARENA_ARRAY(maker->arena, uint64_t, input->n_processes);

        for (size_t i = 0; i < input->n_processes; i++)
                members[i].process = &input->processes[i];
        if (input->n_processes > 0)
                qsort(members, input->n_processes, sizeof(Member), compare_members);
        for (size_t i = 0; i < input->n_processes && !members[i].process->unit; i++) {
                const Process *eldest = members[i].process, *parent = eldest;

                for (int depth = 0; parent && depth < FAMILY_DEPTH_MAX; depth++) {
                        const Process wanted = {.pid = parent->parent_pid};
                        const Member key = {&wanted, 0}, *found;

                        eldest = parent;
                        found = bsearch(&key, members, input->n_processes, sizeof(Member),
                                        compare_members);
                        parent = found ? found->process : NULL;
                }
                families[i] = eldest->pid;
        }
        for (size_t i = 0; i < input->n_processes; i++)
                members[i].family = families[i];
        if (input->n_processes > 0)
                qsort(members, input->n_processes, sizeof(Member), compare_members);
        return members;
}

static int compare_pids(const void *a, const void *b) {
        const Process *first = *(const Process *const *) a, *second = *(const Process *const *) b;

        return compare_u64(first->pid, second->pid);
}

static Pieces group_pieces(const Maker *maker, const Group *group) {
        const Topology *topology = maker->input->topology;
        Pieces pieces = {};

        ARRAY_FOREACH(process, group->processes, group->n)
                VEC_FOREACH(mapping, &(*process)->mappings) {
                        uint64_t bytes = mapping->page_size_bytes;

                        /* An untouched mapping does not show its page size, but another one on the same device may. */
                        if (bytes == 0)
                                bytes = device_page_size(maker, mapping->device);
                        if (bytes == 0)
                                bytes = only_page_size(topology);
                        if (bytes == 0)
                                bytes = topology->default_page_size_bytes;
                        if (bytes > 0)
                                *vec_push(maker->arena, &pieces) = (Piece){
                                        mapping, bytes, (size_t) (process - group->processes)};
                }
        vec_sort(&pieces, compare_pieces);
        return pieces;
}

/* ---- rows ---- */

static int compare_nodes(const void *a, const void *b) {
        return compare_u64(((const NodePages *) a)->node, ((const NodePages *) b)->node);
}

static void set_nodes(PageUser *user, const PagesByNode *nodes) {
        user->nodes = *nodes;
        vec_sort(&user->nodes, compare_nodes);
}

static PageUser *add_row(Maker *maker, const Process *leader, uint64_t page_size_bytes) {
        PageUser *user = vec_push(maker->arena, &maker->made->list);

        *user = (PageUser){.unit = leader->unit,
                           .pid = leader->pid,
                           .command = leader->command,
                           .page_size_bytes = page_size_bytes};
        return user;
}

static void add_held(Maker *maker, uint64_t page_size_bytes, uint64_t pages) {
        PageCount *held =
                VEC_FIND(known, &maker->made->held, known->page_size_bytes == page_size_bytes);

        if (!held) {
                held = vec_push(maker->arena, &maker->made->held);
                held->page_size_bytes = page_size_bytes;
        }
        held->pages = add_saturated(held->pages, pages);
}

/* Adds a row for each page size among PIECES. */
static void add_rows(Maker *maker, const Group *group, const Process *leader,
                     const Pieces *pieces) {
        bool has_hidden = ARRAY_ANY(process, group->processes, group->n, !(*process)->is_detailed);

        for (size_t at = 0; at < pieces->n;) {
                uint64_t page_size_bytes = pieces->items[at].page_size_bytes;
                Count sum = {};

                while (at < pieces->n && pieces->items[at].page_size_bytes == page_size_bytes) {
                        const Count count = count_segment(maker->arena, pieces, &at);

                        sum.pages = add_saturated(sum.pages, count.pages);
                        sum.mapped_pages = add_saturated(sum.mapped_pages, count.mapped_pages);
                        sum.is_lower_bound = sum.is_lower_bound || count.is_lower_bound;
                        add_nodes(maker->arena, &sum, &count.nodes);
                }
                if (sum.pages == 0 && sum.mapped_pages == 0)
                        continue;
                PageUser *user = add_row(maker, leader, page_size_bytes);

                user->pages = sum.pages;
                user->mapped_pages = sum.mapped_pages;
                user->bytes = mul_saturated(sum.pages, page_size_bytes);
                user->is_lower_bound = sum.is_lower_bound || has_hidden;
                set_nodes(user, &sum.nodes);
        }
}

static void add_group(Maker *maker, const Group *group) {
        const Pieces pieces = group_pieces(maker, group);
        const Process *leader = NULL;
        uint64_t bytes = 0;

        /* The process that is no child of another one; of several, the one with the most pages. */
        ARRAY_FOREACH(each, group->processes, group->n) {
                const Process *process = *each;
                const Process wanted = {.pid = process->parent_pid}, *key = &wanted;

                bytes = MAX(bytes, process->huge_bytes);
                if ((!leader || process->huge_bytes > leader->huge_bytes) &&
                    !bsearch(&key, group->processes, group->n, sizeof(*group->processes),
                             compare_pids))
                        leader = process;
        }
        leader = leader ? leader : group->processes[0];
        if (pieces.n > 0) {
                add_rows(maker, group, leader, &pieces);
        } else if (bytes > 0) {
                /* The mappings are not known: only the bytes that each process touched first are. */
                uint64_t page_size_bytes = only_page_size(maker->input->topology);
                PageUser *user = add_row(maker, leader, page_size_bytes);

                user->bytes = bytes;
                user->pages = page_size_bytes > 0 ? bytes / page_size_bytes : 0;
                user->is_lower_bound = true;
                add_held(maker, page_size_bytes, user->pages);
        }
}

static void add_groups(Maker *maker) {
        size_t n = maker->input->n_processes;
        const Member *members = sort_members(maker);
        const Process **order = ARENA_ARRAY(maker->arena, const Process *, n);
        Group group = {order, 0};

        for (size_t i = 0; i < n; i++) {
                order[i] = members[i].process;
                group.n++;
                if (i + 1 < n && members[i].family == members[i + 1].family &&
                    process_compare_units(members[i].process, members[i + 1].process) == 0)
                        continue;
                add_group(maker, &group);
                group = (Group){order + i + 1, 0};
        }
        /* All processes count as one group here, so that each segment counts once. */
        Pieces pieces = group_pieces(maker, &(Group){order, n});

        for (size_t at = 0; at < pieces.n;) {
                uint64_t page_size_bytes = pieces.items[at].page_size_bytes;
                Count count = count_segment(maker->arena, &pieces, &at);

                add_held(maker, page_size_bytes, MAX(count.pages, count.mapped_pages));
        }
}

/* ---- control groups ---- */

/* Returns the row of UNIT with this page size (0: any), or NULL. */
static PageUser *find_row(Maker *maker, const char *unit, uint64_t page_size_bytes) {
        return VEC_FIND(user, &maker->made->list,
                        text_equals(user->unit, unit) &&
                                (page_size_bytes == 0 || user->page_size_bytes == page_size_bytes));
}

static void add_charge(Maker *maker, const UnitCharge *charge) {
        PageUser *row = find_row(maker, charge->unit, charge->page_size_bytes);
        PageUser *other = find_row(maker, charge->unit, 0);
        uint64_t kept_pages;

        if (charge->pages == 0 && charge->reserved_pages == 0)
                return;
        if (!row && other && other->page_size_bytes == 0) {
                row = other; /* the row's page size was not known until now */
                row->page_size_bytes = charge->page_size_bytes;
        } else if (!row) {
                const Process leader = {.unit = charge->unit,
                                        .pid = other ? other->pid : 0,
                                        .command = other ? other->command : NULL};

                row = add_row(maker, &leader, charge->page_size_bytes);
        }
        kept_pages = page_user_kept_pages(row);
        row->mapped_pages = MAX(row->mapped_pages, charge->reserved_pages);
        row->is_limited = charge->is_limited;
        /* The charge is exact, unless pages were charged to another group before the process moved into this unit. */
        if (charge->pages >= row->pages) {
                row->pages = charge->pages;
                row->bytes = mul_saturated(charge->pages, charge->page_size_bytes);
                row->is_lower_bound = false;
                if (charge->used.n > 0)
                        set_nodes(row, &charge->used);
        }
        add_held(maker, row->page_size_bytes, page_user_kept_pages(row) - kept_pages);
}

/* ---- pages without a process ---- */

uint64_t page_users_unseen_pages(const PageUsers *page_users, const Topology *topology,
                                 uint64_t page_size_bytes) {
        int i = topology_page_size_index(topology, page_size_bytes);
        uint64_t unseen;

        if (i < 0)
                return 0;
        unseen = add_saturated(sub_floored(topology->page_sizes[i].total_pages,
                                           topology->page_sizes[i].free_pages),
                               topology->page_sizes[i].reserved_pages);
        VEC_FOREACH(held, &page_users->held)
                if (held->page_size_bytes == page_size_bytes)
                        unseen = sub_floored(unseen, held->pages);
        return unseen;
}

static PageUser *add_ownerless(Maker *maker, const char *what, uint64_t page_size_bytes,
                               uint64_t pages) {
        const Process nobody = {.command = what};
        PageUser *user = add_row(maker, &nobody, page_size_bytes);

        user->pages = pages;
        user->mapped_pages = pages;
        user->bytes = mul_saturated(pages, page_size_bytes);
        add_held(maker, page_size_bytes, pages);
        return user;
}

static void add_unseen(Maker *maker) {
        const Topology *topology = maker->input->topology;
        const SysvSegments segments = sysv_segments_parse(maker->arena, maker->input->segments);

        ARRAY_FOREACH(size, topology->page_sizes, topology->n_page_sizes) {
                /* Segments that outlived their processes. /proc/sysvipc/shm does not show which use huge pages: a row
                 * is added for a resident size of whole huge pages, if no process accounts for as many. */
                VEC_FOREACH(segment, &segments) {
                        uint64_t pages = div_round_up(segment->size_bytes, size->bytes);

                        if (segment->n_attached > 0 || segment->resident_bytes == 0 ||
                            segment->resident_bytes % size->bytes > 0 || pages == 0 ||
                            pages > page_users_unseen_pages(maker->made, topology, size->bytes))
                                continue;
                        PageUser *row = add_ownerless(maker,
                                                      arena_printf(maker->arena,
                                                                   "System V segment %" PRIu64
                                                                   ", no process attached",
                                                                   segment->id),
                                                      size->bytes, pages);

                        row->is_segment = true;
                        row->segment_id = segment->id;
                }
                uint64_t unseen = page_users_unseen_pages(maker->made, topology, size->bytes);

                if (unseen > 0)
                        add_ownerless(maker,
                                      "a file, mount, segment or memory error without a process",
                                      size->bytes, unseen);
        }
}

/* ---- all ---- */

static int compare_page_users(const void *a, const void *b) {
        const PageUser *first = a, *second = b;
        int r = compare_u64(page_user_kept_bytes(second), page_user_kept_bytes(first));

        if (r == 0)
                r = strcmp(first->unit ? first->unit : "", second->unit ? second->unit : "");
        return r != 0 ? r : compare_u64(first->pid, second->pid);
}

PageUsers *page_users_make(Arena *arena, const PageUsersInput *input) {
        PageUsers *page_users = ARENA_NEW(arena, PageUsers);
        Maker maker = {.arena = arena, .input = input, .made = page_users};

        ARRAY_FOREACH(process, input->processes, input->n_processes)
                VEC_FOREACH(mapping, &process->mappings)
                        if (mapping->device > 0 && mapping->page_size_bytes > 0 &&
                            device_page_size(&maker, mapping->device) == 0)
                                *vec_push(arena, &maker.devices) =
                                        (DeviceSize){mapping->device, mapping->page_size_bytes};
        add_groups(&maker);
        ARRAY_FOREACH(charge, input->charges, input->n_charges)
                add_charge(&maker, charge);
        if (input->is_complete)
                add_unseen(&maker);
        vec_sort(&page_users->list, compare_page_users);
        return page_users;
}
