/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Writes the settings of a plan other than the pools. */

#include "host/root.h"
#include "plan/host_plan.h"

/* Restores vm.min_free_kbytes, which the kernel changes when transparent huge pages are switched (khugepaged.c,
 * set_recommended_min_free_kbytes()). Returns the first error, with its path in *RET_PATH; the other files are
 * written nevertheless. */
int host_writes_apply(const Root *root, const HostWrites *writes, const char **ret_path);
