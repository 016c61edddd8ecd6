# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real PostgreSQL with and without huge pages: the page tables of its sessions, and the time until all sessions have
ended."""

from __future__ import annotations

import contextlib
import os
import pwd
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OWNER = "postgres"
BUFFERS_MIB = 1024
SEGMENT_MIB = BUFFERS_MIB + 256  # an upper bound
SESSION_MIB = 6  # an upper bound of a backend's own memory and page tables
SESSIONS_MAX = 2000
AT_ONCE = 8  # sessions that scan the table at the same time; more would wait for a CPU
TOUCH = "SELECT count(filler) FROM t"
ROWS = BUFFERS_MIB * 3 // 4 * 128  # one for each page of 8 KiB, so that a scan is quick
# Like pgbench -S, a row by its key, but the table has one row on each page, so every transaction uses another page.
LOOKUP = f"\\set id random(1, {ROWS})\nSELECT length(filler) FROM t WHERE id = :id;\n"
CLIENTS = 4
SETTINGS = f"""
shared_buffers = {BUFFERS_MIB}MB
max_connections = {SESSIONS_MAX + 20}
max_parallel_workers_per_gather = 0
autovacuum = off
fsync = off
listen_addresses = ''
"""


@dataclass(frozen=True)
class Found:
    page_tables_mib: float
    gone_msec: float
    per_second: float  # transactions; 0: not measured


def newest_server() -> Path | None:
    """The directory of the newest server's programs, as Debian installs them."""
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    return max(found, key=lambda path: float(path.parent.name), default=None)


def version() -> str:
    done = subprocess.run([str(server() / "postgres"), "--version"], check=True, capture_output=True, text=True)
    return done.stdout.split()[2]


@contextlib.contextmanager
def cluster() -> Iterator[Path]:
    """A cluster with a table that fills three quarters of the buffers."""
    directory = Path(tempfile.mkdtemp(prefix="hugeplan-bench-", dir="/var/tmp"))
    try:
        account = pwd.getpwnam(OWNER)
        os.chown(directory, account.pw_uid, account.pw_gid)
        directory.chmod(0o700)
        as_owner(directory, [str(server() / "initdb"), "-D", str(directory / "data"), "--auth=trust", "--no-sync"])
        with (directory / "data/postgresql.conf").open("a") as file:
            file.write(f"{SETTINGS}unix_socket_directories = '{directory}'\n")
        with started(directory, "off"), Session(directory) as session:
            for command in ("CREATE TABLE t (id integer PRIMARY KEY, filler text)",
                            "ALTER TABLE t ALTER filler SET STORAGE PLAIN",
                            f"INSERT INTO t SELECT n, repeat('x', 7000) FROM generate_series(1, {ROWS}) n",
                            "CREATE EXTENSION pg_prewarm", "VACUUM FREEZE t"):
                session.ask(command)
                session.wait_ready()
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


@contextlib.contextmanager
def started(directory: Path, huge_pages: str) -> Iterator[int]:
    command = ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--init-groups", str(server() / "postgres"),
               "-D", str(directory / "data"), "-c", f"huge_pages={huge_pages}"]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            await_server(directory, process, huge_pages)
            yield process.pid
        finally:
            process.send_signal(signal.SIGINT)


def await_server(directory: Path, process: subprocess.Popen[bytes], huge_pages: str) -> None:
    for _ in range(600):
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), Session(directory):
            return
        time.sleep(0.1)
    raise RuntimeError(f"PostgreSQL does not start with huge_pages={huge_pages}")


class Session:
    """A connection by PostgreSQL's protocol, because a client program would take more memory than its backend."""

    def __init__(self, directory: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(directory / ".s.PGSQL.5432"))
        self.stream = self.socket.makefile("rb")
        self.pid = 0
        words = f"user\0{OWNER}\0database\0postgres\0\0".encode()
        self.socket.sendall(struct.pack("!II", 8 + len(words), 3 << 16) + words)
        self.wait_ready()

    def ask(self, command: str) -> None:
        text = command.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", 4 + len(text)) + text)

    def wait_ready(self) -> None:
        """Waits until the server is ready for a query."""
        kind = b""
        while kind != b"Z":
            head = self.stream.read(5)
            if len(head) < 5:
                raise ConnectionError("PostgreSQL has closed the connection")
            kind, body = head[:1], self.stream.read(struct.unpack("!I", head[1:])[0] - 4)
            if kind == b"K":
                self.pid = struct.unpack_from("!I", body)[0]
            elif kind == b"E":
                raise ConnectionError(body.replace(b"\0", b" ").decode())

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.socket.close()


def page_tables_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmPTE:"):
            return int(line.split()[1])
    return 0


def transactions(directory: Path, seconds: int) -> float:
    """The transactions per second of pgbench, with prepared statements on CLIENTS connections."""
    script = directory / "lookup.sql"
    script.write_text(LOOKUP)
    done = subprocess.run([str(server() / "pgbench"), "--no-vacuum", "--protocol=prepared", f"--client={CLIENTS}",
                           f"--time={seconds}", f"--file={script}", "--host", str(directory), "--username", OWNER, "postgres"],
                          check=True, capture_output=True, text=True)
    return float(next(line.split()[2] for line in done.stdout.splitlines() if line.startswith("tps =")))


def measure(directory: Path, huge_pages: str, sessions: int, seconds: int = 0) -> Found:
    """Lets every session scan the table, runs transactions for SECONDS, and ends all sessions."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(started(directory, huge_pages))
        stack.enter_context(files_allowed(2 * sessions + 256))
        with Session(directory) as first:
            first.ask("SELECT pg_prewarm('t')")
            first.wait_ready()
        clients = [stack.enter_context(Session(directory)) for _ in range(sessions)]
        for at in range(0, sessions, AT_ONCE):
            some = clients[at:at + AT_ONCE]
            for client in some:
                client.ask(TOUCH)
            for client in some:
                client.wait_ready()
        tables = sum(page_tables_kib(client.pid) for client in clients) / 1024
        per_second = transactions(directory, seconds) if seconds else 0.0
        return Found(tables, end_all([client.pid for client in clients]), per_second)


@contextlib.contextmanager
def files_allowed(n: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(n, hard)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def end_all(pids: list[int]) -> float:
    """The milliseconds from SIGTERM to all backends until the last one has ended."""
    ends = select.poll()
    left = {os.pidfd_open(pid) for pid in pids}
    for fd in left:
        ends.register(fd, select.POLLIN)
    begun = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    while left:
        for fd, _ in ends.poll():
            ends.unregister(fd)
            os.close(fd)
            left.discard(fd)
    return (time.monotonic() - begun) * 1000
