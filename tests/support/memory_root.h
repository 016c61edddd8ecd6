/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A Root (host/root.h) whose files are in memory and cannot be changed: for fuzzers, which have no time
 * for directories. Who needs a kernel that answers takes model/model_root.h.
 *
 * It takes the place of src/host/root.c where memory_root.c is among a program's own sources (in meson:
 * `dependencies: memory_root`): all functions of root.h are defined there, so the linker has no reason to
 * take root.o out of the library. root_is_host() is false. */

#include "host/root.h"
#include "support/sources.h"

/* Files, links and directories are what SOURCES has. Both live as long as ARENA; it needs no freeing. */
Root *memory_root(Arena *arena, const Sources *sources);
