# SPDX-License-Identifier: LGPL-2.1-or-later
"""MariaDB and MySQL: the huge pages that a server has mapped when it has allocated its buffer pool and its caches."""

from __future__ import annotations

import random
from pathlib import Path

from meter import Meter, Settings, started

KB, MB = 1 << 10, 1 << 20

# Of a buffer pool in small pages only the descriptors of its blocks are touched, 1.5 % of it.
POOL_MAX_SHIFT = 34


class _Server:
    """A server with a data directory, which the measurements do not change."""

    PROGRAM: str
    CREATE: tuple[str, ...]
    START: tuple[str, ...]
    FAILS: bool

    def __init__(self, directory: Path, version: str, work: Path, meter: Meter) -> None:
        program = next(path for path in directory.glob(f"**/*bin/{self.PROGRAM}") if not path.is_symlink())
        messages = next(directory.glob("**/english/errmsg.sys")).parent.parent
        self._version = tuple(map(int, version.split(".")))
        self._meter = meter
        self._command = [*started(directory, program), "--no-defaults", f"--datadir={work}/data", f"--tmpdir={work}",
                         f"--lc-messages-dir={messages}"]
        (work / "data").mkdir()
        meter.own(work / "data")
        meter.run([*self._command, *self.CREATE])

    def bytes_of(self, settings: Settings) -> int | None:
        """The most bytes of huge pages at a time; None if the server refuses the settings."""
        options = [f"--{name}={value}" for name, value in settings.items() if name != "host_cpus"]
        return self._meter.held([*self._command, *self.START, "--large-pages", *options],
                                settings.get("host_cpus", ""), self.FAILS)


class MariaDB(_Server):
    """mariadbd --bootstrap, which ends after a start without statements."""

    PROGRAM = "mariadbd"
    CREATE = ("--bootstrap",)
    START = ("--bootstrap",)
    FAILS = False

    @property
    def _pool_min(self) -> int:
        """The smallest pool: some versions map a smaller one in chunks of less than a page."""
        has_small_chunks = (10, 8) <= self._version < (10, 11, 12) or (11,) <= self._version < (11, 4, 6)
        return 128 * MB if has_small_chunks else 5 * MB

    def grid(self) -> list[Settings]:
        """Pools at and near every power of two, and caches at every power of two with a small pool."""
        pools = [(1 << power) + near * MB for power in range(21, POOL_MAX_SHIFT + 1) for near in (-1, 0, 1)]
        caches = [1 << power for power in range(12, 33)]
        return ([{"innodb_buffer_pool_size": str(size)} for size in pools if size >= self._pool_min]
                + [{"innodb_buffer_pool_size": "128M", "key_buffer_size": str(size)} for size in caches]
                + [{"innodb_buffer_pool_size": "128M", "aria_pagecache_buffer_size": str(size)}
                   for size in caches if size >= 128 * KB])

    def drawn(self, chance: random.Random) -> Settings:
        """Random settings."""
        settings = {"innodb_buffer_pool_size": str(max(_drawn_size(chance, 23, 33), self._pool_min))}
        for likelihood, name, values in (
            (0.4, "innodb_log_buffer_size", [_drawn_size(chance, 18, 29)]),
            (0.5, "key_buffer_size", [0, 100, _drawn_size(chance, 12, 32)]),
            (0.3, "key_cache_segments", [0, 1, 2, 3, 7, 64]),
            (0.3, "key_cache_block_size", [512, 1024, 2048, 4096, 16384]),
            (0.2, "hot.key_buffer_size", [_drawn_size(chance, 17, 30)]),
            (0.1, "hot.key_cache_block_size", [512, 4096]),
            (0.1, "hot.key_cache_segments", [2, 5]),
            (0.5, "aria_pagecache_buffer_size", [_drawn_size(chance, 17, 32)]),
            (0.2, "innodb_buffer_pool_chunk_size", [2 * MB, 3 * MB, 64 * MB, 100 * MB, 1 << 30]),
            (0.2, "max_connections", [10, 5000]),
        ):
            if chance.random() < likelihood:
                settings[name] = str(chance.choice(values))
        return settings


class MySQL(_Server):
    """mysqld with a wrong size of the tablespace, so that it ends after it has allocated the pool."""

    PROGRAM = "mysqld"
    CREATE = ("--initialize-insecure", "--secure-file-priv=")
    START = ("--secure-file-priv=", "--skip-networking", "--mysqlx=OFF", "--innodb-data-file-path=ibdata1:99M")
    FAILS = True

    def grid(self) -> list[Settings]:
        """Pools at and near every power of two, with several numbers of CPUs, on which large pools depend."""
        sizes = [(1 << power) + near * MB for power in range(22, POOL_MAX_SHIFT + 1) for near in (-1, 0, 1)]
        return [{"innodb_buffer_pool_size": str(size), "host_cpus": cpus}
                for size in sizes if size >= 5 * MB
                for cpus in (("4", "32", "256") if size >= 1 << 30 else ("4",))]

    def drawn(self, chance: random.Random) -> Settings:
        """Random settings."""
        settings = {"innodb_buffer_pool_size": str(max(_drawn_size(chance, 22, 33), 5 * MB)),
                    "host_cpus": str(chance.choice([2, 4, 8, 12, 24, 48, 64, 96, 192, 512]))}
        for likelihood, name, values in (
            (0.4, "innodb_buffer_pool_chunk_size", [MB, 2 * MB, 5 * MB, 100 * MB, 128 * MB + 1, 256 * MB, 1 << 30]),
            (0.3, "innodb_buffer_pool_instances", [1, 2, 3, 8, 16, 64]),
            (0.2, "innodb_page_size", [4 * KB, 8 * KB, 32 * KB, 64 * KB]),
            (0.1, "innodb_log_buffer_size", [64 * MB]),
            (0.1, "key_buffer_size", [64 * MB]),
            (0.1, "max_connections", [10, 5000]),
        ):
            if chance.random() < likelihood:
                settings[name] = str(chance.choice(values))
        return settings


def _drawn_size(chance: random.Random, low: int, high: int) -> int:
    """A size between 2^LOW and 2^HIGH; half of them are whole MiB, as in most configurations."""
    size = int(2 ** chance.uniform(low, high))
    return size // MB * MB if chance.random() < 0.5 and size >= MB else size
