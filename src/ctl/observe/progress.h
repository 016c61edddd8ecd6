/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* How far the pools are while somebody waits for the daemon: the kernel's own counts, held against what the daemon has
 * written down that it is about to do. On a terminal one line that is written anew; of a reload elsewhere a line from
 * time to time, and in the journal nothing, which has the daemon's own words. A gate says its verdict, and no more. */

#include "ctl/command.h"

/* From now on COMMAND's calls show it, where anybody would see it. */
void progress_begin(Command *command);

/* How long to wait before it is shown again. */
#define PROGRESS_USEC (250 * USEC_PER_MSEC)

/* Shows how far it is; nothing within the first second, nor where there is nothing to be written. */
void progress_show(Progress *progress);

/* Takes the line off the terminal, so that something else can be said. PROGRESS may be NULL. */
void progress_hide(Progress *progress);
