/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The system calls of a reader (inspect/confine.h). */

/* From now on every call that reading regular files and printing to a pipe does not need fails with
 * EPERM: none opens a file for writing, maps memory that can be executed, makes a process or a socket, or
 * changes an id. Needs no_new_privs. 0 or a negative errno. */
int syscall_list_enter(void);
