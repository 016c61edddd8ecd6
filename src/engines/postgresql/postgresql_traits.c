/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "engines/engine.h"

/* Transparent huge pages: "currently discouraged" (documentation of huge_pages). Debian calls the
 * unit postgresql@VERSION-NAME.service, the PGDG postgresql-VERSION.service. */
const Engine engine_postgresql = {
        .name = "postgresql",
        .title = "PostgreSQL",
        .default_user = "postgres",
        .thp_preference = THP_NEVER,
        .reserves = true,
        .memory_setting = "shared_buffers",
        .mebibyte_suffix = "MB",
        .has_auto = true,
        .can_be_asked = true,
        .maps_all_at_start = true,
        .programs =
                "*postgres* postmaster *pg_ctl* *pgsql* *patroni* pg_autoctl stolon-keeper repmgr* "
                "!*export* !*pgbouncer* !pg_*dump*",
        .is_started_by_name = true,
        .servers = "postgres postmaster edb-postgres",
        .supervisors = "pg_ctl patroni pg_autoctl",
        .data_option = "-D",
        .images = "postgres postgresql postgresql-[0-9]* postgis timescaledb*",
        .units = "*postgres*.service *pgsql*.service patroni*.service",
};
