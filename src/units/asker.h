/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "units/dropin.h"

/* With which database hugeplan-look@NAME.service goes, which looks at what that has mapped: after its start, and
 * stopped before it. One for each instance that is looked at. */
Dropins lookers_make(Arena *arena, const Config *config);
