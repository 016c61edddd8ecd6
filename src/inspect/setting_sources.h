/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Finds the entries on a host that set what hugeplan manages: the kernel command line, sysctl.d and sysctl.conf,
 * tmpfiles.d, the active tuned profiles and their includes, and all other files that apply something at boot, with the
 * scripts that these run. Only reads; files that cannot be read or are too large are skipped. */

#include "host/root.h"
#include "read/setting_source.h"

/* Never fails. hugeplan's own guard is left out. TOPOLOGY must outlive the result. */
SettingSources *setting_sources_find(const Root *root, Arena *arena, const Topology *topology);
