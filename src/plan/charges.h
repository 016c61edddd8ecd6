/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The huge pages that units use, by their control groups: read once per snapshot of the host, with the topology.
 *
 * The hugetlb controller counts for a group from the moment it was enabled there, and pages mapped earlier stay
 * charged to the group above: Documentation/admin-guide/cgroup-v2.rst, mm/hugetlb_cgroup.c. */

#include "base/vec.h"
#include "model/topology.h"

/* A unit's pages of one size. */
typedef struct UnitCharge {
        uint64_t page_size_bytes;
        uint64_t pages;          /* numa_stat: touched, in all */
        uint64_t reserved_pages; /* rsvd.current: mapped, touched or not; at least PAGES */
        uint64_t old_pages; /* touched beyond rsvd.current: mapped before the controller counted */
        PagesByNode used;   /* numa_stat: touched */
        /* Of charges that are read for status/page_users.h, not of those in UnitUse. */
        const char *unit;
        bool is_limited; /* rsvd.max of the group, or of one above, is a limit */
} UnitCharge;

typedef VEC(UnitCharge) UnitCharges;

typedef struct UnitUse {
        const char *unit;
        /* The unit has a control group: it runs, is starting, or has just stopped. systemd removes the group when
         * the unit becomes inactive; between the unit's commands the group may be empty. */
        bool is_running;
        bool has_memory_nodes; /* cpuset.mems.effective could be read */
        IdSet memory_nodes;
        UnitCharges charges; /* empty: the controller does not count for the unit */
} UnitUse;

/* The pages that an instance's own hugetlbfs mount (Mount=) keeps from others, and so for the instance. */
typedef struct MountUse {
        const char *instance;
        uint64_t page_size_bytes; /* 0: there is no such mount */
        uint64_t earmarked_pages; /* min_size= */
        uint64_t used_pages;      /* by its files, touched or not; at least */
} MountUse;

typedef struct HostUse {
        VEC(UnitUse) units; /* sorted by name */
        VEC(MountUse) mounts;
        bool is_moving; /* counts kept changing while they were read */
} HostUse;

/* Returns the pages that the mount's files have, in use or reserved; the rest of what the mount keeps is reserved.
 * If nothing is known of the files, earmarked pages that are not reserved (of RESERVED_PAGES in all) must be in use. */
static inline uint64_t mount_use_file_pages(const MountUse *mount, uint64_t reserved_pages) {
        return MAX(mount->used_pages, sub_floored(mount->earmarked_pages, reserved_pages));
}

/* Sets the reserved pages of CHARGE from its touched pages and from rsvd.current, which is COUNTED_PAGES. */
static inline void unit_charge_set_reserved(UnitCharge *charge, uint64_t counted_pages) {
        charge->old_pages = sub_floored(charge->pages, counted_pages);
        charge->reserved_pages = counted_pages + charge->old_pages;
}

static inline uint64_t unit_charge_used_on(const UnitCharge *charge, unsigned node) {
        return charge ? pages_on(&charge->used, node) : 0;
}

/* Returns CHARGE (NULL: NULL) less what OTHER has (NULL: nothing), in ARENA. Pages that are touched are among the reserved
 * ones: if more have been touched than remain, OTHER has touched them. */
static inline UnitCharge *unit_charge_less(Arena *arena, const UnitCharge *charge,
                                           const UnitCharge *other) {
        UnitCharge *rest = charge ? arena_memdup(arena, charge, sizeof(*charge)) : NULL;

        if (!rest)
                return NULL;
        rest->reserved_pages =
                sub_floored(charge->reserved_pages, other ? other->reserved_pages : 0);
        rest->pages = 0;
        rest->used = pages_by_node_copy(arena, &charge->used);
        VEC_FOREACH(used, &rest->used) {
                used->pages = MIN(sub_floored(used->pages, unit_charge_used_on(other, used->node)),
                                  rest->reserved_pages - rest->pages);
                rest->pages += used->pages;
        }
        return rest;
}

/* Returns NULL if nothing is known of the unit. */
static inline const UnitUse *unit_use_find(const HostUse *use, const char *unit) {
        return !use || !unit ? NULL : VEC_SEEK(found, &use->units, strcmp(unit, found->unit));
}

static inline bool unit_use_is_running(const HostUse *use, const char *unit) {
        const UnitUse *found = unit_use_find(use, unit);

        return found && found->is_running;
}

/* Returns NULL if the controller counts no pages of that size for the unit. */
static inline const UnitCharge *unit_use_charge(const UnitUse *unit, uint64_t page_size_bytes) {
        return !unit ? NULL
                     : VEC_FIND(charge, &unit->charges, charge->page_size_bytes == page_size_bytes);
}
