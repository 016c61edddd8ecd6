/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Checks names exchanged with other programs. name_check_...() return NULL for a valid name, else what is wrong. */

#include "base/arena.h"

/* Returns whether NAME can be a unit of any type, templates included: systemd.unit(5). */
bool name_is_unit(const char *name);

/* Returns the unit of which a link among unit files is an alias if it leads to TARGET, as a part of TARGET. NULL: it leads
 * to a unit file elsewhere, which has the link's name. systemd.unit(5). */
const char *name_of_alias(Arena *arena, const char *target);

/* Accepts a unit name that needs no quoting in file names and unit files: letters, digits and ":_.\@-", at most 255
 * bytes, ".service", no template without an instance. systemd.unit(5). */
const char *name_check_unit(const char *unit);

/* Accepts an instance's name: letters, digits and "_.:@-", at most 64 bytes, beginning with a letter or digit. */
const char *name_check_instance(const char *name);

/* Accepts a user or group name that systemd accepts (systemd.exec(5), User=): letters, digits and "_.-", beginning with
 * a letter or "_", at most 31 bytes; or a number. */
const char *name_check_account(const char *name);
