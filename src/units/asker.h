/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* As whom hugeplan-ask@NAME.service runs, which asks a database how much it needs: drop-ins of it, for systemd
 * knows of no User= of another unit. Where nothing says whose the database is, there is none, and it runs as
 * nobody in particular (DynamicUser=). The service itself holds that against the rules of inspect/owner.h, with
 * all file systems mounted and all users known. */

#include "read/accounts.h"
#include "units/dropin.h"

/* One for each instance that is asked before its start and of which it is known whose the database is: by User= of
 * the instance, else of its unit, else the engine's usual user, if there is such an account. */
Dropins askers_make(Arena *arena, const Config *config, const Sources *sources);

/* With which database hugeplan-look@NAME.service goes, which looks at what that has mapped: after its start, and
 * stopped before it. One for each instance that is looked at. */
Dropins lookers_make(Arena *arena, const Config *config);
