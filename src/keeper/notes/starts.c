/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keeper/notes/starts.h"

#include "base/text.h"

/* How long the processes of a refused start may take to end. */
static const uint64_t refused_usec = 5 * USEC_PER_SEC;

static void free_if_none(Starts *starts) {
        if (starts->list.n > 0)
                return;
        arena_free(starts->arena);
        starts->arena = arena_new();
        starts->list = (PlanStartings){};
}

void starts_forget(Starts *starts, const char *instance) {
        VEC_KEEP(start, &starts->list, !text_equals(start->instance, instance));
        free_if_none(starts);
}

void starts_begin(Starts *starts, const PlanStarting *start) {
        starts_forget(starts, start->instance);
        PlanStarting *copy = vec_push(starts->arena, &starts->list);

        *copy = *start;
        copy->instance = arena_strdup(starts->arena, start->instance);
        copy->unit = arena_strdup(starts->arena, start->unit);
        copy->run = arena_strdup(starts->arena, start->run);
        starts->is_unplanned = true;
}

void starts_note_refused(Starts *starts, const char *instance) {
        VEC_FOREACH(start, &starts->list)
                start->is_refused |= text_equals(start->instance, instance);
        starts->refused_usec = 0;
}

bool starts_wait_for_end(const Starts *starts) {
        return VEC_ANY(start, &starts->list, start->is_refused);
}

void starts_forget_refused(Starts *starts, const HostUse *use, uint64_t now_usec) {
        if (!starts_wait_for_end(starts))
                return;
        if (starts->refused_usec == 0)
                starts->refused_usec = now_usec;
        bool is_over = now_usec - starts->refused_usec >= refused_usec;

        VEC_KEEP(start, &starts->list,
                 !start->is_refused || (!is_over && unit_use_is_running(use, start->unit)));
        free_if_none(starts);
}
