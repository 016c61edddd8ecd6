/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of a kernel. Objects that are gone are left out, so that copying costs no more for a long history. Each
 * object is copied at the first reference to it, and stores where its copy is. */
#include "model/kernel_state.h"

typedef struct Copier {
        Kernel *from, *to;
        uint64_t number;
} Copier;

/* Sets COPY to the copy of THING; NULL for NULL. Whether the copy was made now, of the bytes of THING. */
#define COPY_ONCE(copier, thing, copy)                                                      \
        ({                                                                                  \
                bool is_new_ = (thing) && (thing)->copied.in != (copier)->number;           \
                if (is_new_)                                                                \
                        (thing)->copied = (Copied){                                         \
                                arena_memdup((copier)->to->arena, thing, sizeof(*(thing))), \
                                (copier)->number};                                          \
                (copy) = (thing) ? (thing)->copied.to : NULL;                               \
                is_new_;                                                                    \
        })

static Size *copy_size(const Copier *copier, const Size *size) {
        return size ? &copier->to->sizes[size->index] : NULL;
}

static Charges *copy_charges(const Copier *copier, Charges *charges);

static Group *copy_group(const Copier *copier, Group *group) {
        Group *copy;

        if (!COPY_ONCE(copier, group, copy))
                return copy;
        copy->parent = copy_group(copier, group->parent);
        copy->charges = copy_charges(copier, group->charges);
        *vec_push(copier->to->arena, &copier->to->groups) = copy;
        return copy;
}

static Charges *copy_charges(const Copier *copier, Charges *charges) {
        Charges *copy;

        if (!COPY_ONCE(copier, charges, copy))
                return copy;
        copy->parent = copy_charges(copier, charges->parent);
        copy->group = copy_group(copier, charges->group);
        *vec_push(copier->to->arena, &copier->to->charges) = copy;
        return copy;
}

static KernelMount *copy_mount(const Copier *copier, KernelMount *mount) {
        KernelMount *copy;

        if (!COPY_ONCE(copier, mount, copy))
                return copy;
        copy->kernel = copier->to;
        copy->size = copy_size(copier, mount->size);
        if (mount->subpool)
                copy->subpool =
                        arena_memdup(copier->to->arena, mount->subpool, sizeof(*mount->subpool));
        *vec_push(copier->to->arena, &copier->to->mounts) = copy;
        return copy;
}

/* The subpool of a mount; NULL if it was unmounted. */
static Subpool *copy_subpool(const Copier *copier, const Subpool *subpool) {
        VEC_FOREACH(mount, &copier->from->mounts)
                if (subpool && (*mount)->subpool == subpool)
                        return copy_mount(copier, *mount)->subpool;
        return NULL;
}

static Page *copy_page(const Copier *copier, Page *page) {
        Page *copy;

        if (!COPY_ONCE(copier, page, copy))
                return copy;
        copy->size = copy_size(copier, page->size);
        copy->charged = copy_charges(copier, page->charged);
        copy->charged_reservation = copy_charges(copier, page->charged_reservation);
        copy->subpool = copy_subpool(copier, page->subpool);
        return copy;
}

static Page **copy_pages(const Copier *copier, Page **pages, uint64_t n) {
        Page **copies = ARENA_ARRAY(copier->to->arena, Page *, n + 1);

        for (uint64_t i = 0; i < n; i++)
                copies[i] = copy_page(copier, pages[i]);
        return copies;
}

static Reservation *copy_reservations(const Copier *copier, const Reservation *reservations,
                                      uint64_t n) {
        Reservation *copies = ARENA_ARRAY(copier->to->arena, Reservation, n + 1);

        for (uint64_t i = 0; i < n; i++)
                copies[i] = (Reservation){reservations[i].is_there,
                                          copy_charges(copier, reservations[i].charged)};
        return copies;
}

static KernelSegment *copy_segment(const Copier *copier, KernelSegment *segment) {
        KernelSegment *copy;

        if (!COPY_ONCE(copier, segment, copy))
                return copy;
        copy->kernel = copier->to;
        copy->size = copy_size(copier, segment->size);
        copy->mount = copy_mount(copier, segment->mount);
        copy->pages = copy_pages(copier, segment->pages, segment->n_allocated);
        copy->reservations = copy_reservations(copier, segment->reservations, segment->n_allocated);
        *vec_push(copier->to->arena, &copier->to->segments) = copy;
        return copy;
}

static KernelMapping *copy_mapping(const Copier *copier, const KernelMapping *mapping,
                                   KernelProcess *process) {
        KernelMapping *copy = arena_memdup(copier->to->arena, mapping, sizeof(*mapping));

        copy->process = process;
        copy->segment = copy_segment(copier, mapping->segment);
        copy->size = copy_size(copier, mapping->size);
        copy->charged = copy_charges(copier, mapping->charged);
        copy->pages = copy_pages(copier, mapping->pages, mapping->n);
        if (mapping->used)
                copy->used = copy_reservations(copier, mapping->used, mapping->n);
        return copy;
}

static void copy_process(const Copier *copier, const KernelProcess *process) {
        KernelProcess *copy = arena_memdup(copier->to->arena, process, sizeof(*process));

        copy->kernel = copier->to;
        copy->group = copy_group(copier, process->group);
        copy->mappings = (typeof(copy->mappings)){};
        VEC_FOREACH(mapping, &process->mappings)
                if (!(*mapping)->is_gone)
                        *vec_push(copier->to->arena, &copy->mappings) =
                                copy_mapping(copier, *mapping, copy);
        *vec_push(copier->to->arena, &copier->to->processes) = copy;
        if (copier->from->self == process)
                copier->to->self = copy;
}

static Kernel *copy_host(const Kernel *kernel) {
        Arena *arena = arena_new();
        Kernel *copy = arena_memdup(arena, kernel, sizeof(*kernel));

        copy->arena = arena;
        copy->root = NULL;
        copy->self = NULL;
        copy->groups = (typeof(copy->groups)){};
        copy->charges = (typeof(copy->charges)){};
        copy->processes = (typeof(copy->processes)){};
        copy->segments = (typeof(copy->segments)){};
        copy->mounts = (typeof(copy->mounts)){};
        copy->n_copies = 0;
        for (unsigned i = 0; i < copy->n_sizes; i++)
                copy->sizes[i].demote_to = kernel->sizes[i].demote_to
                                                   ? &copy->sizes[kernel->sizes[i].demote_to->index]
                                                   : NULL;
        return copy;
}

Kernel *kernel_copy(Kernel *kernel) {
        Copier copier = {kernel, copy_host(kernel), ++kernel->n_copies};

        copier.to->root = copy_group(&copier, kernel->root);
        VEC_FOREACH(group, &kernel->groups)
                if (!(*group)->is_gone)
                        copy_group(&copier, *group);
        VEC_FOREACH(mount, &kernel->mounts)
                if ((*mount)->is_mounted)
                        copy_mount(&copier, *mount);
        VEC_FOREACH(process, &kernel->processes)
                if ((*process)->is_alive || *process == kernel->self)
                        copy_process(&copier, *process);
        VEC_FOREACH(segment, &kernel->segments)
                if (!(*segment)->is_gone)
                        copy_segment(&copier, *segment);
        return copier.to;
}
