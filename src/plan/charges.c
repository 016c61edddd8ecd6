/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/charges.h"

#include "base/size.h"
#include "base/text.h"

uint64_t mount_use_file_pages(const MountUse *mount, uint64_t reserved_pages) {
        return MAX(mount->used_pages, sub_floored(mount->earmarked_pages, reserved_pages));
}

const UnitUse *unit_use_find(const HostUse *use, const char *unit) {
        return !unit ? NULL : VEC_SEEK(found, &use->units, strcmp(unit, found->unit));
}

const UnitCharge *unit_use_charge(const UnitUse *unit, uint64_t page_size_bytes) {
        return VEC_FIND(charge, &unit->charges, charge->page_size_bytes == page_size_bytes);
}
