/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks through a host for entries that set what hugeplan manages: the kernel command line,
 * sysctl.d and sysctl.conf, tmpfiles.d, the active tuned profiles with what they include, and commands that
 * are run at boot (inspect/settings/setting_scripts.c). Only reads; files that cannot be read or are too large are
 * passed over. */

#include "host/root.h"
#include "read/setting_source.h"

typedef void AddSettingSources(const Root *root, SettingSources *entries);

/* Never fails. Our own guard is no setting_source. TOPOLOGY must outlive the result. */
SettingSources *setting_sources_find(const Root *root, Arena *arena, const Topology *topology);

/* The same without the kernel command line and without commands; ADD_FIRST and ADD_MORE (NULL: nothing) add before and
 * behind all others. */
SettingSources *setting_sources_find_with(const Root *root, Arena *arena, const Topology *topology,
                                          AddSettingSources *add_first,
                                          AddSettingSources *add_more);
