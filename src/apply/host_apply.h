/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Writes what a plan has besides the pools. */

#include "host/root.h"
#include "plan/host_plan.h"

/* Switching transparent huge pages changes vm.min_free_kbytes behind the administrator's back (khugepaged.c,
 * set_recommended_min_free_kbytes()); it is put back to what it was. The first error is returned,
 * with the path in *RET_PATH; the other files are written all the same. */
int host_writes_apply(const Root *root, const HostWrites *writes, const char **ret_path);
