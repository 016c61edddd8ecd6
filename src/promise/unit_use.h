/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What units use of the huge pages, as their control groups tell: read once for a look at the host,
 * together with the topology.
 *
 * The hugetlb controller counts for a group from the moment it was turned on there, and what was
 * mapped before stays with the group above: Documentation/admin-guide/cgroup-v2.rst,
 * mm/hugetlb_cgroup.c. */

#include "base/vec.h"
#include "model/topology.h"

/* Of one page size. */
typedef struct UnitCharge {
        uint64_t page_size_bytes;
        uint64_t reserved_pages; /* rsvd.current: mapped, touched or not */
        NodePages *used;         /* numa_stat: touched, by node */
        size_t n_used;
} UnitCharge;

typedef struct UnitUse {
        const char *unit;
        /* It has a control group: it runs, is about to, or has just ended. systemd removes the group
         * when the unit becomes inactive; between its commands the group may be empty. */
        bool is_running;
        bool has_memory_nodes; /* cpuset.mems.effective could be read */
        IdSet memory_nodes;
        VEC(UnitCharge) charges; /* none: the controller does not count for it */
} UnitUse;

/* What an instance's own hugetlbfs mount (Mount=) keeps from others, and so has for the instance. */
typedef struct MountUse {
        const char *instance;
        uint64_t page_size_bytes; /* 0: there is no such mount */
        uint64_t earmarked_pages; /* min_size= */
        uint64_t used_pages; /* by files in it, touched or not; for certain, there may be more */
} MountUse;

typedef struct HostUse {
        VEC(UnitUse) units; /* by name, when they were read */
        VEC(MountUse) mounts;
        bool is_moving; /* pages were being taken or given back all the time that this was read */
} HostUse;

/* What files of a mount have, in use or reserved; the rest of what it keeps is reserved. Where nothing is
 * known of the files, what is earmarked and not reserved (of RESERVED_PAGES in all) must be in use. */
uint64_t mount_use_file_pages(const MountUse *mount, uint64_t reserved_pages);

/* NULL where nothing is known of the unit. */
const UnitUse *unit_use_find(const HostUse *use, const char *unit);

static inline bool unit_use_is_running(const HostUse *use, const char *unit) {
        const UnitUse *found = unit ? unit_use_find(use, unit) : NULL;

        return found && found->is_running;
}

/* NULL where the controller counts no pages of that size for the unit. */
const UnitCharge *unit_use_charge(const UnitUse *unit, uint64_t page_size_bytes);
