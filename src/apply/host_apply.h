/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Writes what a plan has besides the pools. */

#include "host/root.h"
#include "plan/host_plan.h"

/* Switching changes vm.min_free_kbytes behind the administrator's back (khugepaged.c,
 * set_recommended_min_free_kbytes()); it is put back to what it was. The first error is returned,
 * with the path in *ret_path; the other files are written all the same. */
int thp_apply(const Root *root, const ThpPlan *plan, const char **ret_path);

/* The kernel's limits, likewise. */
int limits_apply(const Root *root, const LimitsPlan *plan, const char **ret_path);
