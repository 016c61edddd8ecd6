/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks through a host for entries that set what hugeplan manages: the kernel command line,
 * sysctl.d and sysctl.conf, tmpfiles.d, the active tuned profiles with what they include, and all other places
 * that run or apply something at boot, with the scripts that these run. Only reads; files that cannot be read or are
 * too large are passed over. */

#include "host/root.h"
#include "read/setting_source.h"

/* Never fails. Our own guard is no setting_source. TOPOLOGY must outlive the result. */
SettingSources *setting_sources_find(const Root *root, Arena *arena, const Topology *topology);

/* Where all of it looks, in words. */
const char *setting_places_titles(Arena *arena);
