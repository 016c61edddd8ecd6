# SPDX-License-Identifier: LGPL-2.1-or-later
"""PostgreSQL: the size of its shared memory segment. The meter ends the server when it maps the segment."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from meter import Meter, Settings, started

KB, MB, GB = 1 << 10, 1 << 20, 1 << 30
BLOCK = 8 * KB


class PostgreSQL:
    """A server with a data directory."""

    def __init__(self, directory: Path, version: str, work: Path, meter: Meter) -> None:
        self.version = version
        self._bin = directory / "bin"
        self._server = [self._bin / "postgres"]
        # The server for settings that need io_uring.
        self._ring_server = [argument for path in directory.glob("debian/**/bin/postgres")
                             for argument in started(directory / "debian", path)]
        self._meter = meter
        self._data = work / "data"
        shutil.rmtree(self._data, ignore_errors=True)
        meter.run([self._bin / "initdb", "-D", self._data, "-U", "postgres", "--nosync"])

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    def bytes_of(self, settings: Settings) -> int | None:
        """The size of the segment; None if the server refuses the settings."""
        server = self._ring_server if settings.get("io_method") == "io_uring" else self._server
        command = [*server, "-D", self._data, "-c", "huge_pages=off", "-c", "listen_addresses=",
                   "-c", f"unix_socket_directories={self._data}"]
        # 9.6 refuses WAL senders with its default.
        given = {"wal_level": "replica", **settings}
        for name, value in given.items():
            command += ["-c", f"{name}={value}"]
        asked = self._meter.requests(command, "stop")
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        return next((size for what, size in asked if what == "shared"), None)

    def grid(self) -> list[Settings]:
        """shared_buffers at and beside every power of two, with the defaults of all other settings."""
        return [
            {"shared_buffers": f"{(1 << power) // KB + near * 8}kB"}
            for power in range(17, 41)
            for near in (-1, 0, 1)
            if (1 << power) // KB + near * 8 >= 128
        ]

    def drawn(self, chance: random.Random) -> Settings:
        """Random settings."""
        draw = _Draw(chance, self.major)
        draw.size("shared_buffers", BLOCK * int(2 ** chance.uniform(10, 24)))
        draw.always("max_connections", chance.choice([20, 100, 200, 500, 1000, 3000]) + chance.randrange(50))
        draw.always("max_locks_per_transaction", chance.choice([64, 64, 64, 10, 128, 256, 1024]))
        draw.always("max_pred_locks_per_transaction", chance.choice([64, 64, 10, 200]))
        draw.maybe(0.5, "max_worker_processes", chance.randrange(300))
        draw.maybe(0.5, "max_prepared_transactions", chance.randrange(500))
        draw.maybe(0.5, "max_wal_senders", chance.randrange(200 if self.major >= 12 else 9))
        draw.maybe(0.5, "max_replication_slots", chance.randrange(300))
        draw.maybe(0.4, "autovacuum_max_workers", chance.randrange(1, 60))
        draw.maybe(0.3, "max_logical_replication_workers", chance.randrange(200), since=10)
        draw.maybe(0.3, "track_activity_query_size", chance.choice([100, 2048, 4096, 65536]))
        draw.maybe(0.3, "wal_buffers", f"{chance.choice([32 * KB, MB, 64 * MB, 256 * MB]) // KB}kB")
        draw.maybe(0.2, "min_dynamic_shared_memory", f"{chance.choice([1, 64, 300])}MB", since=14)
        draw.maybe(0.2, "shared_preload_libraries", "pg_stat_statements")
        for name in ("transaction", "commit_timestamp", "subtransaction", "multixact_offset",
                     "multixact_member", "notify", "serializable"):
            size = 16 * BLOCK * chance.choice([1, 2, 8, 64, 512])
            draw.maybe(0.2, f"{name}_buffers", f"{size // KB}kB", since=17)
        draw.maybe(0.3, "autovacuum_worker_slots", chance.randrange(60, 200), since=18)
        draw.maybe(0.3, "io_max_concurrency", chance.choice([1, 16, 64, 200, 1024]), since=18)
        draw.maybe(0.3, "io_max_combine_limit", f"{8 * chance.choice([1, 8, 16, 32, 128])}kB", since=18)
        if self._ring_server:
            draw.maybe(0.5, "io_method", "io_uring")
        draw.maybe(0.2, "max_active_replication_origins", chance.randrange(300), since=18)
        return draw.settings


class _Draw:
    def __init__(self, chance: random.Random, major: int) -> None:
        self.settings: Settings = {}
        self._chance = chance
        self._major = major

    def always(self, name: str, value: object) -> None:
        self.settings[name] = str(value)

    def size(self, name: str, size: int) -> None:
        self.always(name, f"{size // KB}kB")

    def maybe(self, likelihood: float, name: str, value: object, since: int = 0) -> None:
        if self._chance.random() < likelihood and self._major >= since:
            self.always(name, value)
