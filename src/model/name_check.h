/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Names that others have to take from us, or we from them: NULL when one is fine, else what is wrong. */

#include <stdbool.h>

/* A unit of any kind, by systemd.unit(5); it may be a template. */
bool name_is_unit(const char *name);

/* A unit name that can be written into file names and unit files without quoting: letters, digits
 * and ":_.\@-", at most 255 bytes, ".service", no template without an instance. systemd.unit(5). */
const char *name_check_unit(const char *unit);

/* Likewise for the names of instances: letters, digits and "_.:@-", at most 64 bytes, beginning
 * with a letter or digit. */
const char *name_check_instance(const char *name);

/* Likewise for users and groups, as systemd takes them (systemd.exec(5), User=): letters, digits and
 * "_.-", beginning with a letter or "_", at most 31 bytes; or a number. */
const char *name_check_account(const char *name);
