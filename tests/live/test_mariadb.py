#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The size that hugeplanctl determines from an option file, compared with mariadbd on real huge pages of 2M: mariadbd
maps at most so many pages, and few less; with so many pages in the pool its buffer pool is in huge pages.

    HUGEPLAN_LIVE=1 test_mariadb.py HUGEPLANCTL

Needs what test_live.py needs, mariadbd 10.11.12 or later, and no pages of other sizes. The server has a directory of
its own; the pools and /etc/hugeplan.d are restored. Skips (77) with a reason. """

from __future__ import annotations

import contextlib
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import test_live
from shared import HUGEPAGES, PAGE, PATIENCE, pools_locked, run_unittest, server
from test_live import CONFIG, set_pool

MIB = 1 << 20
PAGES_MAX = 1000  # for the largest case; more would take the host's memory

# Groups of mariadbd and of its version are read; those of other versions and programs are not.
SERVER = """\
[mysqld]
user = root
datadir = {directory}/data
socket = {directory}/socket
pid-file = {directory}/pid
skip-networking
skip-grant-tables
innodb_log_file_size = 4M
[mysqld_safe]
key_buffer_size = 1T
[mariadb-5.5]
innodb_buffer_pool_size = 1T
[mariadbd]
large-pages
"""

# Lines of mariadbd's option file, and the same as arguments of Expectation: the buffer pool, the log buffer, Aria's
# cache, the key caches as (bytes, segments); a missing argument is the default.
CASES = (
    ("", {}),
    ("innodb_buffer_pool_size = 1G\n", {"pool": 1024 * MIB}),
    ("innodb_buffer_pool_size=1G\ninnodb_log_buffer_size=64M\nkey_buffer_size=64M\n"
     "aria_pagecache_buffer_size=64M\n",
     {"pool": 1024 * MIB, "log": 64 * MIB, "aria": 64 * MIB, "keys": [(64 * MIB, 1)]}),
    ("innodb_buffer_pool_size=512M\nkey_buffer_size=16M\naria_pagecache_buffer_size=16M\n",
     {"pool": 512 * MIB, "aria": 16 * MIB, "keys": [(16 * MIB, 1)]}),
    ("innodb_buffer_pool_size=9M\nkey_buffer=0\n", {"pool": 9 * MIB, "keys": []}),
    ("innodb_buffer_pool_size=101M\nkey_buffer_size=5M\naria_pagecache_buffer_size=3M\n",
     {"pool": 101 * MIB, "aria": 3 * MIB, "keys": [(5 * MIB, 1)]}),
    ("innodb_buffer_pool_size=103M\ninnodb_page_size=64k\ninnodb_log_buffer_size=5000000\n",
     {"pool": 103 * MIB, "log": 5000000}),
    ("innodb_log_buffer_size = 1M\naria_pagecache_buffer = 1000\n", {"log": 2 * MIB, "aria": 0}),
    ("key_cache_segments=3\n", {"keys": [(128 * MIB, 3)]}),
    ("key_cache_segments=64\nkey_buffer_size=300M\n", {"keys": [(300 * MIB, 64)]}),
    ("key_cache_segments=7\nkey_buffer_size=10M\n", {"keys": []}),
    ("hot.key_buffer_size=20M\ncold.key_buffer_size=3M\ndefault.key_buffer_size=1M\n",
     {"keys": [(20 * MIB, 1), (3 * MIB, 1)]}),
    ("key_buffer_size=100000001\naria_pagecache_buffer_size=77777777\n", {"aria": 77777777, "keys": [(100000001, 1)]}),
    ("loose-innodb-buffer-pool-size = '200MB' # of 1G\nINNODB_LOG_BUFFER=\"32M;x\"\n"
     "[client-server]\nloose_key-buffer-size=+4m\n", {"pool": 200 * MIB, "log": 32 * MIB, "keys": [(4 * MIB, 1)]}),
    ("innodb_buffer_pool_size=64M\n!includedir {directory}/conf.d\n", {"pool": 72 * MIB}),
)
JUST_ENOUGH = "innodb_buffer_pool_size=200M\n"
INCLUDED = {"9.cnf": "[mysqld]\ninnodb_buffer_pool_size=72M\n", "10.cnf": "[mysqld]\ninnodb_buffer_pool_size=80M\n",
            "a.cnf.bak": "[mysqld]\ninnodb_buffer_pool_size=96M\n"}

hugeplanctl = ""


def pages_of(size: int) -> int:
    return -(-size // PAGE)


def why_not() -> str | None:
    """What is missing for these tests, if anything."""
    reason = test_live.why_not()
    if reason:
        return reason
    for path in HUGEPAGES.parent.glob("hugepages-*kB/nr_hugepages"):
        if path.parent != HUGEPAGES and int(path.read_text()) > 0:
            return "there are pages of other sizes, which mariadbd would use"
    if not server_version():
        return "mariadbd is not installed"
    if server_version() < (10, 11, 12):
        return "mariadbd is too old"
    return None


@functools.cache
def server_version() -> tuple[int, ...]:
    program = shutil.which("mariadbd")
    if not program:
        return ()
    text = subprocess.run([program, "--no-defaults", "--version"], check=True, text=True,
                          capture_output=True, timeout=PATIENCE).stdout
    match = re.search(r"Ver (\d+)\.(\d+)\.(\d+)-MariaDB", text)
    return tuple(map(int, match.groups())) if match else ()


def mariadb(directory: pathlib.Path, *wrapper: str) -> contextlib.AbstractContextManager[int]:
    return server("mariadbd", [*wrapper, "mariadbd", f"--defaults-file={directory}/my.cnf"], directory / "log")


def huge_pages(pid: int) -> int:
    # A mapping with huge pages (ht) reserves all of its pages.
    pages, size = 0, 0
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if line.startswith("Size:"):
            size = int(line.split()[1]) * 1024
        elif line.startswith("VmFlags:") and "ht" in line.split():
            pages += size // PAGE
    return pages


class Expectation:
    """The pages by MariaDB's manual, and the most by which the size may exceed what mariadbd maps."""

    def __init__(self, pool: int = 128 * MIB, log: int = 16 * MIB, aria: int = 128 * MIB,
                 keys: list[tuple[int, int]] | None = None) -> None:
        keys = [(128 * MIB, 1)] if keys is None else keys
        key_pages = sum(segments * pages_of(-(-size // segments)) for size, segments in keys)
        self.pool_and_logs = pages_of(pool) + 2 * pages_of(log)
        # The alignment of the buffer pool, a sixth of the key caches and a thirtieth of Aria's, which MyISAM and Aria
        # do not map, and a page for each by rounding.
        self.slack = (3 + -(-key_pages // 6) + sum(segments for _size, segments in keys)
                      + -(-pages_of(aria) // 30) + 1 + (pages_of(8 * MIB) - 1))


class MariadbTest(unittest.TestCase):
    directory: pathlib.Path

    def setUp(self) -> None:
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="hugeplan-mariadb-")))
        self.directory.chmod(0o755)  # hugeplanctl reads an unknown owner's files as nobody
        (self.directory / "conf.d").mkdir()
        for name, text in INCLUDED.items():
            (self.directory / "conf.d" / name).write_text(text)
        CONFIG.mkdir(exist_ok=True)
        (CONFIG / "20-m.conf").write_text(
            f"[Instance]\nEngine=mariadb\nPageSize=2M\nConfigFile={self.directory}/my.cnf\n")

    def write_options(self, options: str) -> None:
        """Writes my.cnf, and an empty data directory whose owner is read."""
        data = self.directory / "data"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        (data / "mariadb_upgrade_info").write_text(".".join(map(str, server_version())) + "-MariaDB")
        text = (SERVER + options).replace("{directory}", str(self.directory))
        (self.directory / "my.cnf").write_text(text)

    def figure(self) -> int:
        done = subprocess.run([hugeplanctl, "--json=short", "explain", "m"], check=False, text=True,
                              capture_output=True, timeout=PATIENCE)
        explained = json.loads(done.stdout)
        self.assertEqual([size["pageSizeBytes"] for size in explained["sizes"]], [PAGE], explained["reason"])
        return int(explained["sizes"][0]["pages"])

    def test_figure_bounds_what_is_taken(self) -> None:
        """mariadbd maps no more pages than the size, and hardly fewer."""
        for options, numbers in CASES:
            expected = Expectation(**numbers)
            with self.subTest(options=options):
                self.write_options(options)
                pages = self.figure()
                self.assertLess(pages, PAGES_MAX)
                set_pool(pages)
                with mariadb(self.directory) as pid:
                    taken = huge_pages(pid)
                print(f"{' '.join(options.split()) or 'defaults'}: {pages} pages, {taken} taken")
                self.assertLessEqual(taken, pages)
                self.assertGreaterEqual(taken, expected.pool_and_logs, "InnoDB fell back")
                self.assertLessEqual(pages - taken, expected.slack)

    def test_one_page_short(self) -> None:
        """With one page less than the buffer pool needs, most of it is in small pages, which
        test_figure_bounds_what_is_taken would notice."""
        self.write_options("innodb_buffer_pool_size=256M\nkey_buffer_size=0\n"
                           "aria_pagecache_buffer_size=0\n")
        set_pool(pages_of(256 * MIB) - 1)
        with mariadb(self.directory) as pid:
            self.assertLess(huge_pages(pid), pages_of(256 * MIB) // 2)

    def taken(self, pages: int) -> int:
        """The pages that mariadbd maps with PAGES in the pool."""
        self.write_options(JUST_ENOUGH)
        set_pool(pages)
        # The same addresses in each run, because the alignment of the buffer pool depends on them.
        with mariadb(self.directory, "setarch", "-R") as pid:
            return huge_pages(pid)

    def test_just_enough(self) -> None:
        """With exactly the pages that mariadbd maps it maps them again; with one page fewer it falls back."""
        self.write_options(JUST_ENOUGH)
        pages = self.taken(self.figure())
        self.assertEqual(self.taken(pages), pages)
        self.assertLess(self.taken(pages - 1), pages - 1)

    def test_without_large_pages(self) -> None:
        """`explain` names the line that switches large pages off."""
        self.write_options("skip-large-pages\n")
        line = (self.directory / "my.cnf").read_text().splitlines().index("skip-large-pages") + 1
        done = subprocess.run([hugeplanctl, "explain", "m"], check=False, text=True,
                              capture_output=True, timeout=PATIENCE)
        self.assertIn(f"{self.directory}/my.cnf:{line}", done.stdout.replace("\n  ", " "))
        self.assertIn("large-pages=ON", done.stdout)


if __name__ == "__main__":
    sys.exit(run_unittest(why_not(), pools_locked(), test_live.host_as_it_was()))
