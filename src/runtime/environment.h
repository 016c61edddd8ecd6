/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The environment of whoever calls hugeplanctl, which as root may be somebody else's: sudo -E, a shell that
 * was entered with su, Environment= of a unit. Libraries load modules and look for servers by it. */

/* Leaves in ENVIRONMENT (environ(7), NULL at its end) what is about the terminal, the language of messages,
 * and what systemd says to its services. */
void environment_reduce(char **environment);
