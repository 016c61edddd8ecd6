# SPDX-License-Identifier: LGPL-2.1-or-later
"""What hugeplan finds out against what real servers take, for many settings of Debian 13's PostgreSQL
and MariaDB: PostgreSQL's figure is the number of pages of its one mapping, so that one page fewer
would not do; MariaDB's is an upper bound, with its buffer pool on huge pages. The live tests do the
same with Debian 12's servers."""

from pathlib import Path

from databases import figure, mapped_pages, postgresql_files, postgresql_unit
from guestlib import *
from memory import configure, reload, reload_all
from scenario import Boot, Node, Scenario

VERSION = 17
POSTGRESQL = postgresql_unit(VERSION)
POSTGRESQL_CONF = Path(f"/etc/postgresql/{VERSION}/main/conf.d/sizes.conf")
POSTGRESQL_SETTINGS = (
    "shared_buffers = 16MB",
    "shared_buffers = 128MB",
    "shared_buffers = 131072",
    "shared_buffers = 300MB\nmax_connections = 20",
    "shared_buffers = 128MB\nmax_connections = 1000",
    "shared_buffers = 64MB\nmax_locks_per_transaction = 512",
    "shared_buffers = 64MB\nmax_prepared_transactions = 300",
    "shared_buffers = 64MB\nwal_buffers = 64MB",
    "shared_buffers = 64MB\nmin_dynamic_shared_memory = 256MB",
    "shared_buffers = 64MB\nmax_worker_processes = 64\nmax_wal_senders = 50",
    "shared_buffers = 64MB\nshared_preload_libraries = 'pg_stat_statements'\n"
    "pg_stat_statements.max = 50000",
    "shared_buffers = 64MB\ntransaction_buffers = 32MB\nsubtransaction_buffers = 16MB",
    "shared_buffers = 64MB\ntrack_activity_query_size = 100kB\nautovacuum_max_workers = 20",
)
MARIADB = "mariadb.service"
MARIADB_CONF = Path("/etc/mysql/mariadb.conf.d/90-sizes.cnf")
# The buffer pool in MiB, and what else is set.
MARIADB_SETTINGS = (
    (128, ""),
    (200, "key_buffer_size = 16M\naria_pagecache_buffer_size = 16M"),
    (300, "innodb_log_buffer_size = 64M"),
    (129, "innodb_log_buffer_size = 3M\nkey_buffer_size = 5M"),
    (160, "key_buffer_size = 0\naria_pagecache_buffer_size = 1M"),
    (9, "key_buffer_size = 64M"),
    (256, "aria_pagecache_buffer_size = 33M\nkey_cache_segments = 4"),
    (101, "innodb_page_size = 16k\nkey_buffer_size = 7M"),
    (64, "hot.key_buffer_size = 20M\ncold.key_buffer_size = 3M"),
    (400, "key_buffer_size = 8M\naria_pagecache_buffer_size = 8M\nmax_connections = 500"),
    (72, "loose-innodb-log-buffer-size = 32M"),
    (250, "innodb_log_buffer_size = 5000000\nkey_buffer_size = 10000001"),
)


def restarts(name: str, settings: str) -> bool:
    done = sh(f"systemctl restart {name}", timeout_sec=120)
    return check(done.returncode == 0, f"{settings}: it starts", said(done))


def postgresql() -> None:
    for settings in POSTGRESQL_SETTINGS:
        POSTGRESQL_CONF.write_text(f"{settings}\n")
        short = "PostgreSQL: " + settings.replace("\n", ", ")
        if not restarts(POSTGRESQL, short):
            continue
        pages = figure("pg")
        check(pages > 0 and mapped_pages(POSTGRESQL) == pages, f"{short}: it takes just that",
              (pages, mapped_pages(POSTGRESQL)))
    sh(f"systemctl stop {POSTGRESQL}")


def mariadb() -> None:
    for pool, more in MARIADB_SETTINGS:
        MARIADB_CONF.write_text(f"[mariadbd]\nlarge-pages\ninnodb_buffer_pool_size = {pool}M\n{more}\n")
        short = ", ".join(["MariaDB: " + f"{pool}M", *more.splitlines()])
        if not restarts(MARIADB, short):
            continue
        pages, taken = figure("maria"), mapped_pages(MARIADB)
        check(0 < taken <= pages, f"{short}: it takes no more", (pages, taken))
        largest = max(one.size for one in hugetlb_mappings(unit(MARIADB, "MainPID")))
        check(largest >= pool * MIB or pool < 128, f"{short}: its buffer pool is huge", largest)
    sh(f"systemctl stop {MARIADB}")


def real_servers() -> None:
    configure("20-pg", f"[Instance]\nEngine=postgresql\nUnit={POSTGRESQL}\n")
    reload()
    sh("systemctl daemon-reload")
    postgresql()
    configure("20-pg", "")
    MARIADB_CONF.write_text("[mariadbd]\nlarge-pages\n")
    configure("30-maria", f"[Instance]\nEngine=mariadb\nUnit={MARIADB}\n")
    reload_all()
    check(hugeplan("explain maria")["sizes"], "MariaDB's files are read")
    mariadb()


SCENARIO = Scenario(
    nodes=(Node("2G"),),
    suites=(),
    more_suites=("trixie",),
    files={**postgresql_files(VERSION, "128MB"), f"/etc/postgresql/{VERSION}/main/start.conf": "manual\n"},
    boots=(Boot(real_servers, limit_sec=900),),
)
