/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The environment of hugeplanctl, which, when run as root, may come from another user: by sudo -E, by a shell of
 * su, or by Environment= of a unit. Libraries choose modules and servers by variables. */

/* Removes all variables from ENVIRONMENT (environ(7), NULL-terminated) except those of the terminal, of the
 * language of messages, and of systemd for its services. */
void environment_reduce(char **environment);
