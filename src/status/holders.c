/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "status/holders.h"

#include "base/text.h"
#include "read/sysv_segments.h"

#include <stdlib.h>
#include <string.h>

/* The kernel has a file system of its own for each page size, and so has each mount. */
typedef struct DeviceSize {
        uint64_t device;
        uint64_t page_size_bytes;
} DeviceSize;

enum { FAMILY_DEPTH_MAX = 64 };

typedef struct Maker {
        Arena *arena;
        const HoldersInput *input;
        Holders *holders;
        VEC(DeviceSize) devices;
} Maker;

/* A mapping, and which process of its group it is of. */
typedef struct Piece {
        const HugeMapping *mapping;
        uint64_t page_size_bytes;
        size_t process;
} Piece;

typedef VEC(Piece) Pieces;

/* Pages in use and mapped, of a part, a segment or a row. */
typedef struct Count {
        uint64_t pages;
        uint64_t mapped_pages;
        VEC(NodePages) nodes;
        bool is_lower_bound;
} Count;

/* ---- page sizes ---- */

/* The only page size that has pages at all; 0 where there are several. */
static uint64_t only_page_size(const Topology *topology) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < topology->n_page_sizes; i++) {
                if (topology->page_sizes[i].total_pages == 0)
                        continue;
                if (bytes > 0)
                        return 0;
                bytes = topology->page_sizes[i].bytes;
        }
        return bytes;
}

static uint64_t device_page_size(const Maker *maker, uint64_t device) {
        VEC_FOREACH(known, &maker->devices)
                if (known->device == device)
                        return known->page_size_bytes;
        return 0;
}

static void learn_devices(Maker *maker) {
        for (size_t i = 0; i < maker->input->n_processes; i++)
                VEC_FOREACH(mapping, &maker->input->processes[i].mappings)
                        if (mapping->device > 0 && mapping->page_size_bytes > 0 &&
                            device_page_size(maker, mapping->device) == 0)
                                *vec_push(maker->arena, &maker->devices) =
                                        (DeviceSize){mapping->device, mapping->page_size_bytes};
}

/* Untouched mappings do not tell their page size, but others on the same device may. */
static uint64_t mapping_page_size(const Maker *maker, const HugeMapping *mapping) {
        const Topology *topology = maker->input->topology;
        uint64_t bytes = mapping->page_size_bytes;

        if (bytes == 0)
                bytes = device_page_size(maker, mapping->device);
        if (bytes == 0)
                bytes = only_page_size(topology);
        return bytes > 0 ? bytes : topology->default_page_size_bytes;
}

/* ---- counting ---- */

static void count_add_node(Arena *arena, Count *count, unsigned node, uint64_t pages) {
        VEC_FOREACH(known, &count->nodes)
                if (known->node == node) {
                        known->pages = add_saturated(known->pages, pages);
                        return;
                }
        *vec_push(arena, &count->nodes) = (NodePages){node, pages};
}

static void count_add_nodes(Arena *arena, Count *count, const NodePages *nodes, size_t n) {
        for (size_t i = 0; i < n; i++)
                count_add_node(arena, count, nodes[i].node, nodes[i].pages);
}

static void count_add(Arena *arena, Count *to, const Count *count) {
        to->pages = add_saturated(to->pages, count->pages);
        to->mapped_pages = add_saturated(to->mapped_pages, count->mapped_pages);
        to->is_lower_bound = to->is_lower_bound || count->is_lower_bound;
        count_add_nodes(arena, to, count->nodes.items, count->nodes.n);
}

/* One part of a segment that a process has mapped, from *AT on. Where parts overlap (some JVMs map
 * their heap several times over) pages would be counted twice, so that the largest stands for all. */
static Count count_part(Arena *arena, const Pieces *pieces, size_t *at, size_t end) {
        const HugeMapping *largest = pieces->items[*at].mapping;
        uint64_t page_size_bytes = pieces->items[*at].page_size_bytes;
        uint64_t part_start = largest->offset_bytes, part_end = part_start;
        Count count = {};

        for (; *at < end; ++*at) {
                const HugeMapping *mapping = pieces->items[*at].mapping;

                if (mapping != largest && mapping->offset_bytes >= part_end)
                        break;
                part_end =
                        MAX(part_end, add_saturated(mapping->offset_bytes, mapping->length_bytes));
                if (mapping->pages > largest->pages)
                        largest = mapping;
        }
        count.pages = largest->pages;
        count.mapped_pages = (part_end - part_start) / page_size_bytes;
        count_add_nodes(arena, &count, largest->nodes, largest->n_nodes);
        return count;
}

/* All that one process has of a segment. */
static Count count_process(Arena *arena, const Pieces *pieces, size_t *at, size_t end) {
        size_t process = pieces->items[*at].process, stop = *at;
        Count count = {};

        while (stop < end && pieces->items[stop].process == process)
                stop++;
        while (*at < stop) {
                Count part = count_part(arena, pieces, at, stop);

                count_add(arena, &count, &part);
        }
        return count;
}

static bool is_same_segment(const Piece *a, const Piece *b) {
        return a->page_size_bytes == b->page_size_bytes &&
               a->mapping->device == b->mapping->device && a->mapping->inode == b->mapping->inode;
}

/* A segment of a group: its processes show overlapping parts of it, the largest counts. */
static Count count_segment(Arena *arena, const Pieces *pieces, size_t *at) {
        bool is_private = pieces->items[*at].mapping->is_private;
        size_t end = *at, n_processes = 0;
        Count most = {};

        while (end < pieces->n && is_same_segment(&pieces->items[*at], &pieces->items[end]))
                end++;
        for (; *at < end; n_processes++) {
                Count count = count_process(arena, pieces, at, end);
                uint64_t mapped_pages = MAX(most.mapped_pages, count.mapped_pages);

                if (n_processes == 0 || count.pages > most.pages)
                        most = count;
                most.mapped_pages = mapped_pages;
        }
        most.is_lower_bound = (!is_private || n_processes > 1) && most.pages != most.mapped_pages;
        return most;
}

static int compare_u64(uint64_t a, uint64_t b) {
        return a < b ? -1 : a > b;
}

/* By page size, segment, process and offset. */
static int compare_pieces(const void *a, const void *b) {
        const Piece *first = a, *second = b;
        int r = compare_u64(first->page_size_bytes, second->page_size_bytes);

        if (r == 0)
                r = compare_u64(first->mapping->device, second->mapping->device);
        if (r == 0)
                r = compare_u64(first->mapping->inode, second->mapping->inode);
        if (r == 0)
                r = compare_u64(first->process, second->process);
        if (r == 0)
                r = compare_u64(first->mapping->offset_bytes, second->mapping->offset_bytes);
        return r != 0 ? r : compare_u64(first->mapping->address, second->mapping->address);
}

/* ---- groups ---- */

/* The processes of one unit, or a family without one; by pid. */
typedef struct Group {
        const Process **processes;
        size_t n;
} Group;

/* A process and, where it has no unit, its eldest ancestor among those that have none either. */
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

static const Process *find_process(const Member *members, size_t n, uint64_t pid) {
        const Process wanted = {.pid = pid};
        const Member key = {&wanted, 0}, *found;

        found = bsearch(&key, members, n, sizeof(Member), compare_members);
        return found ? found->process : NULL;
}

static uint64_t eldest_ancestor(const Member *members, size_t n, const Process *process) {
        const Process *parent = process;

        for (int depth = 0; parent && depth < FAMILY_DEPTH_MAX; depth++) {
                process = parent;
                parent = find_process(members, n, process->parent_pid);
        }
        return process->pid;
}

/* All processes in the order of their groups. */
static Member *sort_members(const Maker *maker) {
        const HoldersInput *input = maker->input;
        Member *members = ARENA_ARRAY(maker->arena, Member, input->n_processes);
        uint64_t *families = ARENA_ARRAY(maker->arena, uint64_t, input->n_processes);

        for (size_t i = 0; i < input->n_processes; i++)
                members[i].process = &input->processes[i];
        if (input->n_processes > 0)
                qsort(members, input->n_processes, sizeof(Member), compare_members);
        for (size_t i = 0; i < input->n_processes && !members[i].process->unit; i++)
                families[i] = eldest_ancestor(members, input->n_processes, members[i].process);
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

static bool has_process(const Group *group, uint64_t pid) {
        const Process wanted = {.pid = pid}, *key = &wanted;

        return bsearch(&key, group->processes, group->n, sizeof(*group->processes), compare_pids);
}

/* The first process: no child of another, and of several such the one with the most pages. */
static const Process *group_leader(const Group *group) {
        const Process *leader = NULL;

        for (size_t i = 0; i < group->n; i++) {
                const Process *process = group->processes[i];

                if (has_process(group, process->parent_pid))
                        continue;
                if (!leader || process->huge_bytes > leader->huge_bytes)
                        leader = process;
        }
        return leader ? leader : group->processes[0];
}

static Pieces group_pieces(const Maker *maker, const Group *group) {
        Pieces pieces = {};

        for (size_t i = 0; i < group->n; i++)
                VEC_FOREACH(mapping, &group->processes[i]->mappings) {
                        uint64_t bytes = mapping_page_size(maker, mapping);

                        if (bytes > 0)
                                *vec_push(maker->arena, &pieces) = (Piece){mapping, bytes, i};
                }
        if (pieces.n > 0)
                qsort(pieces.items, pieces.n, sizeof(Piece), compare_pieces);
        return pieces;
}

/* ---- rows ---- */

static int compare_nodes(const void *a, const void *b) {
        return compare_u64(((const NodePages *) a)->node, ((const NodePages *) b)->node);
}

static void set_nodes(Holder *holder, NodePages *nodes, size_t n) {
        if (n > 0)
                qsort(nodes, n, sizeof(NodePages), compare_nodes);
        holder->nodes = nodes;
        holder->n_nodes = n;
}

static Holder *add_row(Maker *maker, const Process *leader, uint64_t page_size_bytes) {
        Holder *holder = vec_push(maker->arena, &maker->holders->list);

        *holder = (Holder){.unit = leader->unit,
                           .pid = leader->pid,
                           .command = leader->command,
                           .page_size_bytes = page_size_bytes};
        return holder;
}

static void add_held(Maker *maker, uint64_t page_size_bytes, uint64_t pages) {
        VEC_FOREACH(held, &maker->holders->held)
                if (held->page_size_bytes == page_size_bytes) {
                        held->pages = add_saturated(held->pages, pages);
                        return;
                }
        *vec_push(maker->arena, &maker->holders->held) = (HeldPages){page_size_bytes, pages};
}

/* A group whose processes show no mappings: all that is known is what each has touched first. */
static void add_plain_row(Maker *maker, const Group *group, const Process *leader) {
        uint64_t page_size_bytes = only_page_size(maker->input->topology), bytes = 0;
        Holder *holder;

        for (size_t i = 0; i < group->n; i++)
                bytes = MAX(bytes, group->processes[i]->huge_bytes);
        if (bytes == 0)
                return;
        holder = add_row(maker, leader, page_size_bytes);
        holder->bytes = bytes;
        holder->pages = page_size_bytes > 0 ? bytes / page_size_bytes : 0;
        holder->is_lower_bound = true;
        add_held(maker, page_size_bytes, holder->pages);
}

static bool has_hidden_process(const Group *group) {
        for (size_t i = 0; i < group->n; i++)
                if (!group->processes[i]->is_detailed)
                        return true;
        return false;
}

/* A row for each page size among PIECES. */
static void add_rows(Maker *maker, const Group *group, const Process *leader,
                     const Pieces *pieces) {
        for (size_t at = 0; at < pieces->n;) {
                uint64_t page_size_bytes = pieces->items[at].page_size_bytes;
                Count count = {};

                while (at < pieces->n && pieces->items[at].page_size_bytes == page_size_bytes) {
                        Count segment = count_segment(maker->arena, pieces, &at);

                        count_add(maker->arena, &count, &segment);
                }
                if (count.pages == 0 && count.mapped_pages == 0)
                        continue;
                Holder *holder = add_row(maker, leader, page_size_bytes);

                holder->pages = count.pages;
                holder->mapped_pages = count.mapped_pages;
                holder->bytes = mul_saturated(count.pages, page_size_bytes);
                holder->is_lower_bound = count.is_lower_bound || has_hidden_process(group);
                set_nodes(holder, count.nodes.items, count.nodes.n);
        }
}

/* All processes as one group, so that a segment counts once. */
static void count_all(Maker *maker, const Group *all) {
        Pieces pieces = group_pieces(maker, all);

        for (size_t at = 0; at < pieces.n;) {
                uint64_t page_size_bytes = pieces.items[at].page_size_bytes;
                Count count = count_segment(maker->arena, &pieces, &at);

                add_held(maker, page_size_bytes, MAX(count.pages, count.mapped_pages));
        }
}

static void add_group(Maker *maker, const Group *group) {
        const Process *leader = group_leader(group);
        Pieces pieces = group_pieces(maker, group);

        if (pieces.n > 0)
                add_rows(maker, group, leader, &pieces);
        else
                add_plain_row(maker, group, leader);
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
        count_all(maker, &(Group){order, n});
}

/* ---- control groups ---- */

/* Exact, unless something was charged elsewhere before its process came into this unit. */
static void take_charge(Holder *holder, const HolderCharge *charge) {
        holder->mapped_pages = MAX(holder->mapped_pages, charge->reserved_pages);
        holder->is_fenced = charge->is_fenced;
        if (charge->pages < holder->pages)
                return;
        holder->pages = charge->pages;
        holder->bytes = mul_saturated(charge->pages, charge->page_size_bytes);
        holder->is_lower_bound = false;
        if (charge->n_nodes > 0)
                set_nodes(holder, charge->nodes, charge->n_nodes);
}

static Holder *find_row(Maker *maker, const char *unit, uint64_t page_size_bytes) {
        VEC_FOREACH(holder, &maker->holders->list)
                if (text_equals(holder->unit, unit) && holder->page_size_bytes == page_size_bytes)
                        return holder;
        return NULL;
}

static const Holder *find_unit(const Holders *holders, const char *unit) {
        VEC_FOREACH(holder, &holders->list)
                if (text_equals(holder->unit, unit))
                        return holder;
        return NULL;
}

static void add_charge(Maker *maker, const HolderCharge *charge) {
        Holder *row = find_row(maker, charge->unit, charge->page_size_bytes);
        const Holder *other = find_unit(maker->holders, charge->unit);
        uint64_t kept_pages;

        if (charge->pages == 0 && charge->reserved_pages == 0)
                return;
        if (!row && other && other->page_size_bytes == 0) {
                row = (Holder *) other; /* its page size was not known, now it is */
                row->page_size_bytes = charge->page_size_bytes;
        } else if (!row) {
                const Process leader = {.unit = charge->unit,
                                        .pid = other ? other->pid : 0,
                                        .command = other ? other->command : NULL};

                row = add_row(maker, &leader, charge->page_size_bytes);
        }
        kept_pages = holder_kept_pages(row);
        take_charge(row, charge);
        add_held(maker, row->page_size_bytes, holder_kept_pages(row) - kept_pages);
}

/* ---- what no process holds ---- */

uint64_t holders_unseen_pages(const Holders *holders, const Topology *topology,
                              uint64_t page_size_bytes) {
        int i = topology_page_size_index(topology, page_size_bytes);
        uint64_t unseen;

        if (i < 0)
                return 0;
        unseen = add_saturated(sub_floored(topology->page_sizes[i].total_pages,
                                           topology->page_sizes[i].free_pages),
                               topology->page_sizes[i].reserved_pages);
        VEC_FOREACH(held, &holders->held)
                if (held->page_size_bytes == page_size_bytes)
                        unseen = sub_floored(unseen, held->pages);
        return unseen;
}

static void add_ownerless(Maker *maker, const char *what, uint64_t page_size_bytes,
                          uint64_t pages) {
        const Process nobody = {.command = what};
        Holder *holder = add_row(maker, &nobody, page_size_bytes);

        holder->pages = pages;
        holder->mapped_pages = pages;
        holder->bytes = mul_saturated(pages, page_size_bytes);
        add_held(maker, page_size_bytes, pages);
}

/* Segments that outlived their processes. The list does not tell which are of huge pages: those that
 * are resident in whole huge pages, where as many are held by nobody. */
static void add_segments(Maker *maker, uint64_t page_size_bytes) {
        const SysvSegments segments = sysv_segments_parse(maker->arena, maker->input->segments);

        VEC_FOREACH(segment, &segments) {
                uint64_t unseen = holders_unseen_pages(maker->holders, maker->input->topology,
                                                       page_size_bytes);
                uint64_t pages = div_round_up(segment->size_bytes, page_size_bytes);

                if (segment->n_attached > 0 || segment->resident_bytes == 0 ||
                    segment->resident_bytes % page_size_bytes != 0)
                        continue;
                if (pages > 0 && pages <= unseen)
                        add_ownerless(maker,
                                      arena_printf(maker->arena,
                                                   HOLDER_SEGMENT "%" PRIu64 ", nobody attached",
                                                   segment->id),
                                      page_size_bytes, pages);
        }
}

static void add_unseen(Maker *maker) {
        const Topology *topology = maker->input->topology;

        for (size_t i = 0; i < topology->n_page_sizes; i++) {
                uint64_t bytes = topology->page_sizes[i].bytes, unseen;

                add_segments(maker, bytes);
                unseen = holders_unseen_pages(maker->holders, topology, bytes);
                if (unseen > 0)
                        add_ownerless(maker, "no process: a file, a mount or a segment", bytes,
                                      unseen);
        }
}

/* ---- all ---- */

static int compare_holders(const void *a, const void *b) {
        const Holder *first = a, *second = b;
        int r = compare_u64(holder_kept_bytes(second), holder_kept_bytes(first));

        if (r == 0)
                r = strcmp(first->unit ? first->unit : "", second->unit ? second->unit : "");
        return r != 0 ? r : compare_u64(first->pid, second->pid);
}

Holders *holders_make(Arena *arena, const HoldersInput *input) {
        Holders *holders = ARENA_NEW(arena, Holders);
        Maker maker = {.arena = arena, .input = input, .holders = holders};

        holders->is_complete = input->is_complete;
        learn_devices(&maker);
        add_groups(&maker);
        for (size_t i = 0; i < input->n_charges; i++)
                add_charge(&maker, &input->charges[i]);
        if (input->is_complete)
                add_unseen(&maker);
        if (holders->list.n > 0)
                qsort(holders->list.items, holders->list.n, sizeof(Holder), compare_holders);
        return holders;
}

/* ---- text and JSON ---- */

char *holder_format(Arena *arena, const Holder *holder) {
        uint64_t pages = holder_kept_pages(holder);
        Text text = text_in(arena);

        if (holder->pid == 0)
                text_add(&text, holder->unit ? holder->unit : holder->command);
        else if (holder->unit)
                text_printf(&text, "%s (pid %" PRIu64 ", %s)", holder->unit, holder->pid,
                            holder->command);
        else
                text_printf(&text, "pid %" PRIu64 " (%s)", holder->pid, holder->command);
        if (holder->page_size_bytes == 0)
                text_printf(&text, ": at least %s in huge pages",
                            format_size(arena, holder->bytes));
        else
                text_printf(&text, ": %s%s %s of %s",
                            holder->is_lower_bound && holder->mapped_pages == 0 ? "at least " : "",
                            format_count(arena, pages), pages == 1 ? "page" : "pages",
                            format_page_size(arena, holder->page_size_bytes));
        return text.string;
}

char *holder_format_use(Arena *arena, const Holder *holder) {
        const char *at_least = holder->is_lower_bound ? "at least " : "";
        Text text = text_in(arena);

        if (holder->pid > 0)
                text_printf(&text, "pid %" PRIu64 ", %s: ", holder->pid, holder->command);
        if (holder->page_size_bytes == 0) {
                text_printf(&text, "%s%s in huge pages", at_least,
                            format_size(arena, holder->bytes));
                return text.string;
        }
        if (holder->mapped_pages > 0)
                text_printf(&text, "%s pages of %s mapped, %s%s in use",
                            format_count(arena, holder->mapped_pages),
                            format_page_size(arena, holder->page_size_bytes), at_least,
                            format_count(arena, holder->pages));
        else
                text_printf(&text, "%s%s pages of %s in use", at_least,
                            format_count(arena, holder->pages),
                            format_page_size(arena, holder->page_size_bytes));
        for (size_t i = 0; i < holder->n_nodes; i++)
                text_printf(&text, "%s%u: %s%s", i == 0 ? " (node " : ", ", holder->nodes[i].node,
                            format_count(arena, holder->nodes[i].pages),
                            i + 1 == holder->n_nodes ? ")" : "");
        return text.string;
}

static json_t *integer(uint64_t n) {
        return json_integer((json_int_t) MIN(n, (uint64_t) INT64_MAX));
}

static json_t *integer_or_null(uint64_t n) {
        return n > 0 ? integer(n) : json_null();
}

json_t *holder_to_json(const Holder *holder, const char *instance) {
        json_t *nodes = json_array();

        for (size_t i = 0; i < holder->n_nodes; i++)
                json_array_append_new(nodes,
                                      json_pack("{si so}", "node", (int) holder->nodes[i].node,
                                                "pages", integer(holder->nodes[i].pages)));
        return json_pack("{so ss? ss? ss? so so so so sb so}", "pid", integer_or_null(holder->pid),
                         "command", holder->command, "unit", holder->unit, "instance", instance,
                         "pageSizeBytes", integer_or_null(holder->page_size_bytes), "pages",
                         integer(holder->pages), "mappedPages", integer(holder->mapped_pages),
                         "bytes", integer(holder->bytes), "lowerBound", holder->is_lower_bound,
                         "nodes", nodes);
}

static uint64_t get_count(const json_t *object, const char *key) {
        json_int_t value = json_integer_value(json_object_get(object, key));

        return value > 0 ? (uint64_t) value : 0;
}

/* Fit for a terminal, whoever has said it. */
static const char *get_string(Arena *arena, const json_t *object, const char *key) {
        const char *string = json_string_value(json_object_get(object, key));

        return string ? text_printable(arena, string) : NULL;
}

int holder_from_json(Arena *arena, const json_t *json, Holder *ret) {
        const json_t *nodes = json_object_get(json, "nodes");
        Holder holder = {
                .unit = get_string(arena, json, "unit"),
                .pid = get_count(json, "pid"),
                .command = get_string(arena, json, "command"),
                .page_size_bytes = get_count(json, "pageSizeBytes"),
                .bytes = get_count(json, "bytes"),
                .pages = get_count(json, "pages"),
                .mapped_pages = get_count(json, "mappedPages"),
                .n_nodes = json_array_size(nodes),
                .is_lower_bound = json_is_true(json_object_get(json, "lowerBound")),
        };

        if ((!holder.command && !holder.unit) || !json_is_array(nodes))
                return -EPROTO;
        holder.nodes = ARENA_ARRAY(arena, NodePages, holder.n_nodes);
        for (size_t i = 0; i < holder.n_nodes; i++) {
                const json_t *item = json_array_get(nodes, i);

                holder.nodes[i] =
                        (NodePages){(unsigned) get_count(item, "node"), get_count(item, "pages")};
        }
        *ret = holder;
        return 0;
}
