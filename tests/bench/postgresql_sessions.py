# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real PostgreSQL with and without huge pages: what the page tables of its sessions take, and how long it takes
until all of them have gone."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OWNER = "postgres"
BUFFERS_MIB = 1024
SEGMENT_MIB = BUFFERS_MIB + 128  # at most, with what the server has beside its buffers
TOUCH = "SELECT count(*), sum(length(filler)) FROM t;"
SETTINGS = f"""
shared_buffers = {BUFFERS_MIB}MB
max_connections = 1000
max_parallel_workers_per_gather = 0
autovacuum = off
fsync = off
listen_addresses = ''
"""


@dataclass(frozen=True)
class Found:
    page_tables_mib: float
    gone_msec: float


def newest_server() -> Path | None:
    """The directory of its programs, as Debian has them."""
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    return max(found, key=lambda path: float(path.parent.name), default=None)


@contextlib.contextmanager
def cluster() -> Iterator[Path]:
    """With a table that fills three quarters of the buffers."""
    directory = Path(tempfile.mkdtemp(prefix="hugeplan-bench-", dir="/var/tmp"))
    try:
        account = pwd.getpwnam(OWNER)
        os.chown(directory, account.pw_uid, account.pw_gid)
        directory.chmod(0o700)
        as_owner(directory, [str(server() / "initdb"), "-D", str(directory / "data"), "--auth=trust", "--no-sync"])
        with (directory / "data/postgresql.conf").open("a") as file:
            file.write(f"{SETTINGS}unix_socket_directories = '{directory}'\n")
        with started(directory, "off"):
            rows = BUFFERS_MIB * 3 // 4 * 128 * 7
            for command in (f"CREATE TABLE t AS SELECT g, repeat('x', 1000) AS filler FROM generate_series(1, {rows}) g",
                            "CREATE EXTENSION pg_prewarm", "VACUUM FREEZE t"):
                psql(directory, command)
        yield directory
    finally:
        shutil.rmtree(directory)


def server() -> Path:
    found = newest_server()
    if found is None:
        raise FileNotFoundError("no PostgreSQL is installed (apt-get install postgresql)")
    return found


def as_owner(directory: Path, command: list[str]) -> None:
    subprocess.run(["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--init-groups", *command],
                   cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def psql(directory: Path, commands: str) -> None:
    subprocess.run(["psql", "-qX", "-h", str(directory), "-U", OWNER, "-v", "ON_ERROR_STOP=1", "-c", commands],
                   check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def started(directory: Path, huge_pages: str) -> Iterator[int]:
    command = ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--init-groups", str(server() / "postgres"),
               "-D", str(directory / "data"), "-c", f"huge_pages={huge_pages}"]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                if process.poll() is not None:
                    raise RuntimeError(f"PostgreSQL does not start with huge_pages={huge_pages}")
                if subprocess.run(["pg_isready", "-q", "-h", str(directory)], check=False).returncode == 0:
                    break
                time.sleep(0.1)
            yield process.pid
        finally:
            process.send_signal(signal.SIGINT)


def children(pid: int) -> set[int]:
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def page_tables_kib(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmPTE:"):
                return int(line.split()[1])
    return 0


def measure(directory: Path, huge_pages: str, sessions: int) -> Found:
    """Every session has read all of the table; then all hang up at once."""
    with started(directory, huge_pages) as pid:
        psql(directory, "SELECT pg_prewarm('t');")
        before = children(pid)
        clients = [subprocess.Popen(["psql", "-qAtX", "-h", str(directory), "-U", OWNER], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True) for _ in range(sessions)]
        for client in clients:
            assert client.stdin and client.stdout
            print(TOUCH, file=client.stdin, flush=True)
        for client in clients:
            assert client.stdout
            client.stdout.readline()
        backends = children(pid) - before
        tables = sum(page_tables_kib(backend) for backend in backends) / 1024
        begun = time.monotonic()
        for backend in backends:
            os.kill(backend, signal.SIGTERM)
        while children(pid) & backends:
            time.sleep(0.001)
        gone = (time.monotonic() - begun) * 1000
        for client in clients:
            client.kill()
            client.communicate()
    return Found(tables, gone)
