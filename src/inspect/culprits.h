/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks through a host for entries that set what hugeplan manages: the kernel command line,
 * sysctl.d and sysctl.conf, tmpfiles.d, and the active tuned profiles with what they include. Only
 * reads; files that cannot be read or are too large are passed over. */

#include "host/root.h"
#include "read/culprit.h"

/* Never fails. Our own guard is no culprit. TOPOLOGY must outlive the result. */
Culprits *culprits_find(const Root *root, Arena *arena, const Topology *topology);
