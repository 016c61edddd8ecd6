/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A PostgreSQL server as its files show it: where they are, in which order it takes them, and what to
 * ask its program. Which settings are of interest is the engine's affair. */

#include "engines/postgresql/postgresql_conf.h"

/* Engine.gather, for the settings that IS_WANTED takes. Later settings win, as in the server:
 *
 *   server_version       PG_VERSION of the data directory, else the path or the unit's name
 *   postgresql.conf      and what it includes
 *   postgresql.auto.conf of the data directory (ALTER SYSTEM)
 *   postmaster.opts      there, the last command line; not where the unit starts the server itself
 *   pg_ctl.conf          of Debian's clusters
 *   ExecStart=           of the unit
 *   block_size, wal_segment_size  from pg_control, where they are not the usual ones */
const char *postgresql_gather(Arena *arena, const EngineTarget *target, const Sources *sources,
                              PostgresqlWanted *is_wanted, Gathered *ret);

/* EngineReader.ask_version: PG_VERSION has no minor version. */
void postgresql_ask_version(Arena *arena, const EngineTarget *target, const Sources *sources,
                            const Gathered *gathered, Question *ret);

/* EngineReader.ask. */
bool postgresql_ask(Arena *arena, const Gathered *gathered, uint64_t page_size_bytes,
                    Question *ret);

/* Those of pg_control that hold its sizes. */
void postgresql_control_pieces(Arena *arena, const SourceText *file, Pieces *ret);
