#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# with-tables.sh SCDOC: standard input as a manual page. The first line asks for tbl, see man(7); scdoc does not write it.
printf '%s\n' "'\\\" t"
exec "$1"
