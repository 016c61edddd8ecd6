/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Control groups (version 2) with the controllers hugetlb and cpuset. After mm/hugetlb_cgroup.c,
 * mm/page_counter.c and kernel/cgroup/cgroup.c.
 *
 * A group has its own charges from the moment when its parent's cgroup.subtree_control enables the controller. Until
 * then, its pages are charged to the nearest ancestor with charges, and stay charged there. */
#include "model/kernel_state.h"

#include "base/id_set.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* PAGE_COUNTER_MAX in bytes: the value of a limit that is not set. */
#define NO_LIMIT_BYTES (UINT64_C(1) << 63) - 4096

/* ---- the tree ---- */

Group *group_find(const Kernel *kernel, const char *path) {
        if (text_equals(path, "/") || !path)
                path = "";
        VEC_FOREACH(group, &kernel->groups)
                if (!(*group)->is_gone && text_equals((*group)->path, path))
                        return *group;
        return NULL;
}

Charges *group_charges(const Group *group) {
        while (!group->charges)
                group = group->parent;
        return group->charges;
}

/* cpuset_css_online(): the effective nodes, or the parent's if none are left. */
uint64_t group_mems(const Kernel *kernel, const Group *group) {
        if (!group->parent)
                return kernel->memory_nodes;
        uint64_t above = group_mems(kernel, group->parent);

        return group->parent->gives_cpuset && group->has_mems && (group->mems & above)
                       ? group->mems & above
                       : above;
}

static Charges *charges_new(Kernel *kernel, Group *group, Charges *parent) {
        Charges *charges = ARENA_NEW(kernel->arena, Charges);

        charges->group = group;
        charges->parent = parent;
        charges->is_online = true;
        for (unsigned i = 0; i < KERNEL_SIZES_MAX; i++)
                charges->of[i].max = charges->of[i].reserved_max = UINT64_MAX;
        *vec_push(kernel->arena, &kernel->charges) = charges;
        return charges;
}

static Group *group_new(Kernel *kernel, const char *path, Group *parent) {
        Group *group = ARENA_NEW(kernel->arena, Group);

        group->path = arena_strdup(kernel->arena, path);
        group->parent = parent;
        if (!parent || parent->gives_hugetlb)
                group->charges = charges_new(kernel, group, parent ? parent->charges : NULL);
        *vec_push(kernel->arena, &kernel->groups) = group;
        if (!parent)
                kernel->root = group;
        return group;
}

int kernel_group_make(Kernel *kernel, const char *path) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        Group *group = kernel->root;

        if (!group)
                group = group_new(kernel, "", NULL);
        if (text_equals(path, "/") || !*path)
                return 0;
        for (const char *slash = path; slash; slash = strchr(slash + 1, '/')) {
                const char *next = strchr(slash + 1, '/');
                const char *part =
                        arena_strndup(arena, path, next ? (size_t) (next - path) : strlen(path));
                Group *child = group_find(kernel, part);

                group = child ? child : group_new(kernel, part, group);
        }
        return 0;
}

bool group_has_processes(const Kernel *kernel, const Group *group) {
        VEC_FOREACH(process, &kernel->processes)
                if ((*process)->is_alive && (*process)->group == group)
                        return true;
        return false;
}

static bool is_populated(const Kernel *kernel, const Group *group) {
        VEC_FOREACH(process, &kernel->processes)
                for (const Group *one = (*process)->is_alive ? (*process)->group : NULL; one;
                     one = one->parent)
                        if (one == group)
                                return true;
        return false;
}

#define CHILDREN_FOREACH(kernel, child, group) \
        VEC_FOREACH(child, &(kernel)->groups)  \
                if ((*(child))->parent == (group) && !(*(child))->is_gone)

/* ---- charges ---- */

/* page_counter_try_charge(): charges all ancestors or none; hugetlb_event(). */
int charge(Charges *charges, const Size *size, uint64_t n, bool is_reservation) {
        unsigned i = size->index;

        for (Charges *one = charges; one; one = one->parent) {
                uint64_t now = is_reservation ? one->of[i].reserved : one->of[i].used;
                uint64_t max = is_reservation ? one->of[i].reserved_max : one->of[i].max;

                if (max == UINT64_MAX || now + n <= max)
                        continue;
                charges->of[i].n_refused_here++;
                for (Charges *each = charges; each && each->parent; each = each->parent)
                        each->of[i].n_refused++;
                return -ENOMEM;
        }
        for (Charges *one = charges; one; one = one->parent)
                *(is_reservation ? &one->of[i].reserved : &one->of[i].used) += n;
        return 0;
}

void uncharge(Charges *charges, const Size *size, uint64_t n, bool is_reservation) {
        for (; charges; charges = charges->parent)
                *(is_reservation ? &charges->of[size->index].reserved
                                 : &charges->of[size->index].used) -= n;
}

static void move_page(Page *page, const Charges *from) {
        if (!page || page->charged != from)
                return;
        page->charged = from->parent;
        page->charged->of[page->size->index].used_on[page->node]++;
}

/* hugetlb_cgroup_css_offline(): pages move to the parent, whose counter includes them already. Reservations stay charged
 * to the removed group, and thus to its ancestors. */
static void go_offline(Kernel *kernel, Group *group) {
        Charges *charges = TAKE_PTR(group->charges);

        if (!charges)
                return;
        VEC_FOREACH(segment, &kernel->segments)
                for (uint64_t i = 0; !(*segment)->is_gone && i < (*segment)->n_allocated; i++)
                        move_page((*segment)->pages[i], charges);
        VEC_FOREACH(process, &kernel->processes)
                VEC_FOREACH(mapping, &(*process)->mappings)
                        for (uint64_t i = 0; !(*mapping)->is_gone && i < (*mapping)->n; i++)
                                move_page((*mapping)->pages[i], charges);
        charges->is_online = false;
        for (unsigned i = 0; i < KERNEL_SIZES_MAX; i++) {
                charges->of[i].used = 0;
                memset(charges->of[i].used_on, 0, sizeof(charges->of[i].used_on));
        }
}

int kernel_group_remove(Kernel *kernel, const char *path) {
        Group *group = group_find(kernel, path);

        if (!group)
                return -ENOENT;
        if (!group->parent || group_has_processes(kernel, group))
                return -EBUSY;
        CHILDREN_FOREACH(kernel, child, group)
                return -EBUSY;
        go_offline(kernel, group);
        group->is_gone = true;
        return 0;
}

/* ---- writes ---- */

static int set_hugetlb(Kernel *kernel, Group *group, bool is_on) {
        if (group->gives_hugetlb == is_on)
                return 0;
        if (!is_on)
                CHILDREN_FOREACH(kernel, child, group)
                        if ((*child)->gives_hugetlb)
                                return -EBUSY;
        group->gives_hugetlb = is_on;
        CHILDREN_FOREACH(kernel, child, group) {
                if (is_on)
                        (*child)->charges = charges_new(kernel, *child, group->charges);
                else
                        go_offline(kernel, *child);
        }
        return 0;
}

static int set_cpuset(Kernel *kernel, Group *group, bool is_on) {
        if (!is_on)
                CHILDREN_FOREACH(kernel, child, group)
                        if ((*child)->gives_cpuset)
                                return -EBUSY;
        group->gives_cpuset = is_on;
        return 0;
}

/* cgroup_subtree_control_write(). "No internal process": no group with processes, except the root, can enable a
 * controller for its children. */
static int write_subtree_control(Kernel *kernel, Group *group, const char *text) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        char *word;

        while ((word = text_next_word(arena, &text, " \n"))) {
                bool is_on = *word == '+', is_hugetlb = text_equals(word + 1, "hugetlb");
                const Group *parent = group->parent;
                int r;

                if (!strchr("+-", *word) || !(is_hugetlb || text_equals(word + 1, "cpuset")))
                        return -EINVAL;
                if (parent && !(is_hugetlb ? parent->gives_hugetlb : parent->gives_cpuset))
                        return is_on ? -ENOENT : 0;
                if (is_on && parent && group_has_processes(kernel, group))
                        return -EBUSY;
                r = is_hugetlb ? set_hugetlb(kernel, group, is_on)
                               : set_cpuset(kernel, group, is_on);
                if (r < 0)
                        return r;
        }
        return 0;
}

int kernel_move(KernelProcess *process, const char *path) {
        Group *group = group_find(process->kernel, path);

        if (!group)
                return -ENOENT;
        if (!process->is_alive)
                return -ESRCH;
        /* cgroup_migrate_vet_dst() */
        if (group->parent && (group->gives_hugetlb || group->gives_cpuset))
                return -EBUSY;
        process->group = group;
        return 0;
}

static int write_mems(Group *group, const char *text) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        IdSet nodes;

        if (id_set_parse(text_strip(arena, text), &nodes) < 0)
                return -EINVAL;
        group->mems = nodes.words[0];
        group->has_mems = group->mems != 0;
        return 0;
}

/* memparse() of a whole string: digits, optionally with one of the suffixes K M G T P E. */
static int parse_bytes(Arena *arena, const char *text, uint64_t *ret) {
        static const char suffixes[] = "KMGTPE";
        size_t n = strspn(text, "0123456789");
        const char *suffix = text[n] ? strchr(suffixes, toupper((unsigned char) text[n])) : NULL;
        uint64_t bytes;

        if (text[n] && (!suffix || text[n + 1]))
                return -EINVAL;
        if (n == 0 || parse_u64(arena_strndup(arena, text, n), &bytes) < 0)
                return -EINVAL;
        *ret = suffix ? mul_saturated(bytes, KIB << (10 * (suffix - suffixes))) : bytes;
        return 0;
}

/* hugetlb_cgroup_write(), page_counter_set_max(): rounds down to pages, and refuses less than the current count. */
static int write_limit(Charges *charges, const Size *size, bool is_reservation, const char *text) {
        CLEANUP(arena_freep) Arena *arena = arena_new();
        uint64_t bytes = UINT64_MAX, pages, now;

        text = text_strip(arena, text);
        if (!text_equals(text, "max") && parse_bytes(arena, text, &bytes) < 0)
                return -EINVAL;
        pages = bytes >= NO_LIMIT_BYTES ? UINT64_MAX : bytes / size->bytes;
        now = is_reservation ? charges->of[size->index].reserved : charges->of[size->index].used;
        if (now > pages)
                return -EBUSY;
        *(is_reservation ? &charges->of[size->index].reserved_max : &charges->of[size->index].max) =
                pages;
        return 0;
}

/* "hugetlb.2MB.rsvd.max": returns the size; *RET_REST is "rsvd.max". NULL for other attributes. */
static const Size *attribute_size(const Kernel *kernel, const char *attribute,
                                  const char **ret_rest) {
        CLEANUP(arena_freep) Arena *arena = arena_new();

        for (unsigned i = 0; i < kernel->n_sizes; i++) {
                const Size *size = &kernel->sizes[i];
                const char *prefix =
                        arena_printf(arena, "hugetlb.%s.", kernel_size_name(arena, size->bytes));

                if (text_starts_with(attribute, prefix)) {
                        *ret_rest = attribute + strlen(prefix);
                        return size;
                }
        }
        return NULL;
}

static int write_hugetlb(const Kernel *kernel, const Group *group, const char *attribute,
                         const char *text) {
        const char *rest;
        const Size *size = attribute_size(kernel, attribute, &rest);

        if (!size || !group->charges || !group->parent)
                return -ENOENT;
        if (text_equals(rest, "rsvd.max") || text_equals(rest, "max"))
                return write_limit(group->charges, size, *rest == 'r', text);
        return -EACCES;
}

int kernel_group_write(Kernel *kernel, const char *path, const char *attribute, const char *text) {
        Group *group = group_find(kernel, path);

        if (!group)
                return -ENOENT;
        if (text_equals(attribute, "cgroup.subtree_control"))
                return write_subtree_control(kernel, group, text);
        if (text_equals(attribute, "cgroup.procs")) {
                CLEANUP(arena_freep) Arena *arena = arena_new();
                uint64_t pid;

                if (parse_u64(text_strip(arena, text), &pid) < 0)
                        return -EINVAL;
                VEC_FOREACH(process, &kernel->processes)
                        if ((*process)->pid == pid && (*process)->is_alive)
                                return kernel_move(*process, group->path);
                return -ESRCH;
        }
        if (text_equals(attribute, "cpuset.mems") && group->parent && group->parent->gives_cpuset)
                return write_mems(group, text);
        return write_hugetlb(kernel, group, attribute, text);
}

/* ---- reads ---- */

static char *format_nodes(Arena *arena, uint64_t nodes) {
        return id_set_format(arena, &(IdSet){.words = {nodes}});
}

static char *controllers_text(Arena *arena, bool has_cpuset, bool has_hugetlb) {
        return arena_printf(arena, "%s%s%s\n", has_cpuset ? "cpuset" : "",
                            has_cpuset && has_hugetlb ? " " : "", has_hugetlb ? "hugetlb" : "");
}

/* css_for_each_descendant_pre() */
static uint64_t used_on_below(const Kernel *kernel, const Charges *charges, const Size *size,
                              unsigned node) {
        uint64_t n = 0;

        VEC_FOREACH(one, &kernel->charges)
                for (const Charges *above = *one; above; above = above->parent)
                        if (above == charges)
                                n += (*one)->of[size->index].used_on[node];
        return n;
}

static char *limit_text(Arena *arena, uint64_t pages, const Size *size) {
        return pages == UINT64_MAX ? arena_strdup(arena, "max\n")
                                   : arena_printf(arena, "%" PRIu64 "\n", pages * size->bytes);
}

static char *read_hugetlb(const Kernel *kernel, Arena *arena, const Group *group,
                          const char *attribute) {
        const char *rest;
        const Size *size = attribute_size(kernel, attribute, &rest);
        const Charges *charges = group->parent ? group->charges : NULL;

        if (!size || !charges)
                return NULL;
        const typeof(charges->of[0]) *of = &charges->of[size->index];

        if (text_equals(rest, "current"))
                return arena_printf(arena, "%" PRIu64 "\n", of->used * size->bytes);
        if (text_equals(rest, "rsvd.current"))
                return arena_printf(arena, "%" PRIu64 "\n", of->reserved * size->bytes);
        if (text_equals(rest, "max"))
                return limit_text(arena, of->max, size);
        if (text_equals(rest, "rsvd.max"))
                return limit_text(arena, of->reserved_max, size);
        if (text_equals(rest, "numa_stat")) {
                /* hugetlb_cgroup_read_numa_stat(). */
                Text text = text_in(arena);

                text_printf(&text, "total=%" PRIu64, charges->of[size->index].used * size->bytes);
                NODES_FOREACH(node, kernel->memory_nodes)
                        text_printf(&text, " N%u=%" PRIu64, node,
                                    used_on_below(kernel, charges, size, node) * size->bytes);
                text_add(&text, "\n");
                return text.string;
        }
        if (text_equals(rest, "events"))
                return arena_printf(arena, "max %" PRIu64 "\n", of->n_refused);
        if (text_equals(rest, "events.local"))
                return arena_printf(arena, "max %" PRIu64 "\n", of->n_refused_here);
        return NULL;
}

char *group_read(const Kernel *kernel, Arena *arena, const Group *group, const char *attribute) {
        const Group *parent = group->parent;

        if (text_equals(attribute, "cgroup.controllers"))
                return controllers_text(arena, !parent || parent->gives_cpuset,
                                        !parent || parent->gives_hugetlb);
        if (text_equals(attribute, "cgroup.subtree_control"))
                return controllers_text(arena, group->gives_cpuset, group->gives_hugetlb);
        if (text_equals(attribute, "cgroup.procs")) {
                Text text = text_in(arena);

                VEC_FOREACH(process, &kernel->processes)
                        if ((*process)->is_alive && (*process)->group == group)
                                text_printf(&text, "%" PRIu64 "\n", (*process)->pid);
                return arena_strdup(arena, text_string(&text));
        }
        if (text_equals(attribute, "cgroup.events") && parent)
                return arena_printf(arena, "populated %d\nfrozen 0\n", is_populated(kernel, group));
        if (text_equals(attribute, "cpuset.mems.effective") && (!parent || parent->gives_cpuset))
                return arena_printf(arena, "%s\n", format_nodes(arena, group_mems(kernel, group)));
        if (text_equals(attribute, "cpuset.mems") && parent && parent->gives_cpuset)
                return arena_printf(arena, "%s\n",
                                    format_nodes(arena, group->has_mems ? group->mems : 0));
        return read_hugetlb(kernel, arena, group, attribute);
}

int kernel_group_charge(const Kernel *kernel, const char *path, uint64_t page_bytes,
                        KernelCharge *ret) {
        const Group *group = group_find(kernel, path);
        const Size *size = kernel_size(kernel, page_bytes);

        if (!group || !size)
                return -ENOENT;
        *ret = (KernelCharge){.max_pages = UINT64_MAX, .reserved_max_pages = UINT64_MAX};
        if (!group->charges)
                return 0;
        const typeof(group->charges->of[0]) *of = &group->charges->of[size->index];

        *ret = (KernelCharge){
                .is_counted = true,
                .current_pages = of->used,
                .reserved_pages = of->reserved,
                .max_pages = of->max,
                .reserved_max_pages = of->reserved_max,
                .n_refused = of->n_refused,
        };
        for (unsigned node = 0; node < KERNEL_NODES_MAX; node++)
                ret->node_pages[node] = used_on_below(kernel, group->charges, size, node);
        return 0;
}
