/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The progress of the pools while a command waits for the daemon: the kernel's counts, compared with the targets that
 * the daemon has stored. A terminal has one line, which is rewritten; elsewhere a reload logs a line from time to time,
 * but not to the journal, where the daemon logs itself. A gate prints only its verdict. */

#include "ctl/command.h"

/* Makes COMMAND's calls show their progress from now on, if there is a reader. */
void progress_begin(Command *command);

/* The interval between two displays. */
#define PROGRESS_USEC (250 * USEC_PER_MSEC)

/* Shows the progress; nothing in the first second, or if there is nothing to be written. */
void progress_show(Progress *progress);

/* Removes the line from the terminal before other output. PROGRESS may be NULL. */
void progress_hide(Progress *progress);
