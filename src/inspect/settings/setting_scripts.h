/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Looks for commands that set huge pages at boot: in services, rc.local and cron's @reboot lines, and in
 * the scripts that these run. Of services that a package brought only those are looked at that mention huge
 * pages themselves. Only files of root are read on the running host (host/host_sources.h). */

#include "host/root.h"
#include "read/setting_source.h"

/* Adds what it finds; never fails. What nothing starts at boot is not effective. */
void setting_scripts_add(const Root *root, SettingSources *entries);
