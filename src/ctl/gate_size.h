/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/command.h"
#include "status/status.h"

/* Says in the log of who starts INSTANCE, whose size is given (Memory=, Pages=), that this is too little: by the
 * server's own word before this start, or by what its unit had mapped with these settings. */
void gate_warn_of_size(Command *command, const StatusInstance *instance);
