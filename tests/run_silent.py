#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""hugeplanctl with a daemon that does not answer or closes connections; the daemon's socket when its file is removed;
and what the daemon reports to its service manager during a long start. On unpacked fixture hosts.

usage: run_silent.py --hugepland=PROGRAM --hugeplanctl=PROGRAM [TEST...]

hugeplanctl gives up within 3 s; the limits here are far above that, for a busy machine, and far below the 85 s that a
gate may wait.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import common
from common import PATIENCE, check, expect, wait_until
from run_daemon import PG, SOCKET, Host, Server, listen, main, replace

SOON = 25.0  # seconds
REMEDY = "systemctl restart hugeplan.service"


def timed(action: Callable[[], subprocess.CompletedProcess[str]]) \
        -> tuple[subprocess.CompletedProcess[str], float]:
    start = time.monotonic()
    return action(), time.monotonic() - start


@contextlib.contextmanager
def stopped(daemon: subprocess.Popen[bytes]) -> Iterator[None]:
    """Stops the daemon with SIGSTOP, which looks like a hang to its clients."""
    daemon.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.send_signal(signal.SIGCONT)


# ---- a fake daemon ----

class FakeDaemon(Server):
    """Serves the socket of a host. For each call ANSWER returns a reply, or None to send nothing, or raises
    ConnectionError to close the connection."""

    def __init__(self, host: Host, answer: Callable[[str], bytes | None]) -> None:
        super().__init__(host.path(SOCKET))
        self.answer = answer
        self.calls: list[str] = []
        self.start()

    def serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            received = b""
            while part := client.recv(65536):
                received += part
                while b"\0" in received:
                    message, received = received.split(b"\0", 1)
                    method = json.loads(message)["method"].rsplit(".", 1)[1]
                    self.calls.append(method)
                    if (reply := self.answer(method)) is not None:
                        client.sendall(reply + b"\0")


def refused(name: str) -> bytes:
    return json.dumps({"error": "org.hugeplan.Manager.Refused",
                       "parameters": {"instance": name, "reason": "because", "remedy": None,
                                      "reasonId": None}}).encode()


def close() -> bytes:
    raise ConnectionError


ALIVE = b'{"parameters":{}}'


@contextlib.contextmanager
def fake_daemon(host: Host, answer: Callable[[str], bytes | None]) -> Iterator[FakeDaemon]:
    """A fake daemon on a host where the pages of pg are reserved."""
    host.config("20-pg.conf", PG)
    host.stop(host.start())
    fake = FakeDaemon(host, answer)
    try:
        yield fake
    finally:
        fake.end()


# ---- hugeplanctl ----

def test_gate_passes_a_silent_daemon(host: Host, fixture: str = "one-node") -> None:
    """A hanging daemon does not keep a database down whose pages are there."""
    host.config("20-pg.conf", PG)
    daemon = host.start()
    with stopped(daemon):
        done, seconds = timed(lambda: host.gate("pg.service", "pg"))
    check(done.returncode == 0 and "pg: ready" in done.stdout, done.stdout + done.stderr)
    check("does not answer" in done.stderr, done.stderr)
    check(seconds < SOON, f"the gate took {seconds:.1f} s")


def test_gate_has_the_memory_policy_of_its_unit(host: Host, fixture: str = "two-nodes-hole") -> None:
    """A gate without the daemon goes by the policy that its unit was started with. Others use 30 pages of node 0: a unit
    that is bound to it would be killed, and one that may take pages of another node starts."""
    number = {"x86_64": 238, "aarch64": 237}.get(os.uname().machine)

    def set_mempolicy(mode: int, nodes: int) -> bool:
        return ctypes.CDLL(None).syscall(number or -1, mode, ctypes.byref(ctypes.c_ulong(nodes)), 64) == 0

    host.config("20-pg.conf", "[Instance]\nPages=100\nNodes=0\nPlacement=bind\nUnit=pg.service\n")
    host.config("30-more.conf", "[Instance]\nPages=100\nNodes=2\n")
    host.stop(host.start())
    replace(host.pool_path(0).parent / "free_hugepages", "70\n")
    host.kernel.add_up("hugepages-2048kB")
    expect(host.gate("pg.service", "pg"), 0, "pg: ready")
    if common.WRAPPER or not set_mempolicy(2, 1):  # MPOL_BIND
        raise common.Skipped("no memory policy can be set")
    done = host.gate("pg.service", "pg")
    set_mempolicy(0, 0)
    expect(done, 1, "30 of its pages are not free")


def test_verbs_with_a_silent_daemon(host: Host, fixture: str = "one-node") -> None:
    """With a hanging daemon verbs that read succeed without it, and verbs that change something fail soon."""
    host.config("20-pg.conf", PG)
    daemon = host.start()
    verbs = {("status",): 0, ("status", "pg"): 0, ("plan",): 0, ("explain", "pg"): 0, ("check",): None, ("import",): None,
             ("status", "--watch"): 1, ("reload",): 1, ("release", "pg"): 1}
    with stopped(daemon), concurrent.futures.ThreadPoolExecutor(len(verbs)) as pool:
        for verb, (done, seconds) in zip(verbs, pool.map(lambda verb: timed(lambda: host.ctl(*verb)), verbs)):
            said = done.stdout + done.stderr
            check(verbs[verb] in (None, done.returncode), f"{verb}: {done.returncode}: {said}")
            check(seconds < SOON, f"{verb} took {seconds:.1f} s")
            if verb[0] in ("status", "reload", "release"):
                check("does not answer" in said and REMEDY in said, f"{verb}: {said}")
    wait_until("the daemon", host.is_idle)


def test_gate_waits_where_pages_are_missing(host: Host, fixture: str = "one-node") -> None:
    """With a silent daemon a gate whose pages are missing waits, because the daemon may continue or be restarted."""
    host.config("20-pg.conf", PG)
    daemon = host.start()
    with stopped(daemon):
        host.set_pool(0, 10)
        done, seconds = timed(lambda: host.ctl("wait", "--timeout=6s", "pg"))
        said = done.stdout + done.stderr
        check(done.returncode == 1 and "pg: lost" in said, said)
        check(seconds >= 6, f"the gate has waited {seconds:.1f} s")
        check("waiting for hugepland" in said and REMEDY in said, said)

        threading.Timer(8, daemon.send_signal, [signal.SIGCONT]).start()
        done = host.gate("pg.service", "pg")
        said = done.stdout + done.stderr
        check(done.returncode == 0 and "pg: ready" in said, f"a gate that waits longer: {said}")
        check("waiting for hugepland" in said, said)
    check(host.pool(0) == 1000, "the daemon has repaired the pool")


def test_gate_waits_for_a_busy_daemon(host: Host, fixture: str = "one-node") -> None:
    """A gate waits for the verdict of a daemon that answers GetInfo, though its pages are there."""
    may_answer = threading.Event()

    def answer(method: str) -> bytes | None:
        if method != "Wait":
            return ALIVE
        may_answer.wait()
        return refused("pg")

    with fake_daemon(host, answer) as fake:
        threading.Timer(10, may_answer.set).start()
        done = host.gate("pg.service", "pg")
    expect(done, 1, "refused: because")
    check(may_answer.is_set(), "the gate has waited for the answer")
    check("GetInfo" in fake.calls, f"the gate checks whether the daemon lives: {fake.calls}")


def test_cut_off_clients_call_again(host: Host, fixture: str = "one-node") -> None:
    """A call that changes nothing is repeated when the daemon closes the connection."""
    host.config("20-pg.conf", PG)
    daemon = host.start()
    status = json.dumps(host.call("Describe")).encode()
    host.stop(daemon)
    n_calls: collections.Counter[str] = collections.Counter()

    def answer(method: str) -> bytes | None:
        if method == "GetInfo":
            return ALIVE
        n_calls[method] += 1
        if n_calls[method] <= 5:
            raise ConnectionError
        return status if method == "Describe" else refused("pg")

    fake = FakeDaemon(host, answer)
    check("no daemon" not in (said := expect(host.ctl("status"), 0).stdout), said)
    check(n_calls["Describe"] == 6, str(n_calls))
    expect(host.gate("pg.service", "pg"), 1, "refused: because")
    check(n_calls["Wait"] == 6, str(n_calls))
    fake.end()


def test_changes_are_not_made_twice(host: Host, fixture: str = "one-node") -> None:
    """Reload and Release are not repeated when the daemon closes the connection, because they may have been carried
    out."""
    with fake_daemon(host, lambda method: ALIVE if method == "GetInfo" else close()) as fake:
        for verb, method in (("reload",), "Reload"), (("release", "pg"), "Release"):
            check(host.ctl(*verb).returncode == 1, f"{verb} fails")
            check(fake.calls.count(method) == 1, f"{fake.calls}")


def test_late_daemon_times_out(host: Host, fixture: str = "one-node") -> None:
    """A gate whose timeout ends before a living daemon's verdict exits with 75, not with a verdict of its own."""
    with fake_daemon(host, lambda method: None if method == "Wait" else ALIVE):
        expect(host.ctl("wait", "--timeout=2s", "pg"), 75)


def test_nobody_accepts(host: Host, fixture: str = "one-node") -> None:
    """A gate passes when systemd listens, but no daemon accepts connections; also when the backlog is full."""
    host.config("20-pg.conf", PG)
    host.stop(host.start())
    for backlog in (64, 0):
        listener = listen(host.path(SOCKET), backlog)
        waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        waiting.connect(str(host.path(SOCKET)))
        done, seconds = timed(lambda: host.gate("pg.service", "pg"))
        check(done.returncode == 0 and "pg: ready" in done.stdout, done.stdout + done.stderr)
        check(seconds < SOON, f"the gate took {seconds:.1f} s")
        waiting.close()
        listener.close()
        host.path(SOCKET).unlink()


def test_always_hung_up(host: Host, fixture: str = "one-node") -> None:
    """A daemon that ends at every call of a gate does not keep a database down whose pages are there."""
    with fake_daemon(host, lambda method: close()) as fake:
        done, seconds = timed(lambda: host.gate("pg.service", "pg"))
    expect(done, 0, "pg: ready")
    check(seconds < SOON, f"the gate took {seconds:.1f} s")
    check(fake.calls.count("Wait") > 2, f"the gate has called several times: {fake.calls}")


# ---- the socket's file ----

# As systemd does: the socket is descriptor 3, and LISTEN_PID is the process.
INHERIT = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Manager(threading.Thread):
    """A fake service manager: it listens on the daemon's socket, and records its notifications (sd_notify)."""

    def __init__(self, host: Host) -> None:
        super().__init__(daemon=True)
        self.host = host
        self.listener = listen(host.path(SOCKET))
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify_path = host.root.parent / "notify"
        self.notices.bind(str(self.notify_path))
        self.notified: list[tuple[float, str]] = []  # seconds since the daemon was started, and a line
        self.began = time.monotonic()
        self.start()

    def run(self) -> None:
        while message := self.notices.recv(65536):
            now = time.monotonic() - self.began
            self.notified += [(now, line) for line in message.decode().splitlines()]

    def spawn(self) -> subprocess.Popen[bytes]:
        self.began = time.monotonic()
        return self.host.spawn(sys.executable, "-c", INHERIT, str(self.listener.fileno()),
                               more_environment={"NOTIFY_SOCKET": str(self.notify_path)},
                               pass_fds=(self.listener.fileno(),))

    def lines(self, seconds: float = 0) -> list[str]:
        """The notifications of the next SECONDS; with 0, all so far."""
        since = len(self.notified) if seconds else 0
        time.sleep(seconds)
        return [line for _, line in self.notified[since:]]

    def wait_for(self, pattern: str) -> float:
        """Waits for a notification; returns the time of the first one that matches."""
        wait_until(pattern, lambda: any(re.match(pattern, line) for line in self.lines()), 30)
        return next(when for when, line in self.notified if re.match(pattern, line))

    def end(self) -> None:
        self.listener.close()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(self.notify_path))
        self.join()
        self.notices.close()


def test_removed_socket_comes_back(host: Host, fixture: str = "one-node") -> None:
    """A daemon that starts makes a removed socket again, also one that systemd made and still listens on."""
    host.config("20-pg.conf", PG)
    manager = Manager(host)
    for is_there in (False, True, False):  # the second daemon finds a file without a listener
        if not is_there:
            host.path(SOCKET).unlink()
        daemon = manager.spawn()
        wait_until("the daemon", host.is_idle)
        mode = host.path(SOCKET).stat().st_mode & 0o777
        check(mode == 0o666, f"every user may connect: {mode:o}")
        check("had been removed" in host.log(daemon), host.log(daemon))
        check(host.ctl("wait", "pg").returncode == 0, "the gate passes")
        host.stop(daemon)
    manager.end()


def test_socket_of_the_manager_is_used(host: Host, fixture: str = "one-node") -> None:
    """A socket of systemd's that still has its file is not replaced."""
    host.config("20-pg.conf", PG)
    manager = Manager(host)
    before = host.path(SOCKET).stat().st_ino
    daemon = manager.spawn()
    manager.wait_for("READY=1")
    host.reload()
    check(host.path(SOCKET).stat().st_ino == before, "the socket is the one that the manager has made")
    check("removed" not in host.log(daemon), host.log(daemon))
    host.stop(daemon)
    manager.end()


# ---- notifications during a start ----

EXTEND = r"EXTEND_TIMEOUT_USEC=(\d+)$"


def extensions(lines: list[str]) -> list[float]:
    found = [re.match(EXTEND, line) for line in lines]
    return [int(match[1]) / 1e6 for match in found if match]


class BlockedFile:
    """An attribute whose write(2) blocks, as that to memory.reclaim may: a full pipe, until finish() is called."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.path.unlink(missing_ok=True)
        os.mkfifo(self.path)
        self.pipe = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(self.pipe, b"x" * 4096)

    def is_opened_by(self, pid: int) -> bool:
        for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if entry.readlink() == self.path:
                    return True
        return False

    def finish(self) -> None:
        """Lets the write return. Later writes go to a file."""
        replace(self.path, "")
        written = b""
        end = time.monotonic() + PATIENCE
        while not written.endswith(b"\n") and time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):
                written = os.read(self.pipe, 1 << 20)
        os.close(self.pipe)


def blocked_start(host: Host, boot_timeout: str) -> tuple[Manager, subprocess.Popen[bytes], BlockedFile]:
    """A daemon whose first reclaim is one write(2) that does not return."""
    host.config("00-host.conf", f"[Host]\nBootTimeout={boot_timeout}\n")
    host.config("20-pg.conf", "[Instance]\nPages=12000\nUnit=pg.service\n")
    reclaim = BlockedFile(host.path("sys/fs/cgroup/memory.reclaim"))
    manager = Manager(host)
    daemon = manager.spawn()
    wait_until("the long write", lambda: reclaim.is_opened_by(daemon.pid))
    return manager, daemon, reclaim


def test_long_write_is_no_hang(host: Host, fixture: str = "busy") -> None:
    """During a long write(2) the daemon extends its start timeout step by step until BootTimeout=, and serves
    clients."""
    manager, daemon, reclaim = blocked_start(host, "8s")
    ready = manager.wait_for("READY=1")
    check(ready >= 7.5, f"ready after {ready:.1f} s: {manager.notified}")
    given = extensions(manager.lines())
    check(len(given) >= 3, f"the start timeout is extended: {manager.notified}")
    check(max(given) <= 15, f"no extension is for long: {given}")
    done, seconds = timed(lambda: host.ctl("wait", "--timeout=4s", "pg"))
    check(done.returncode == 75 and seconds >= 4, f"a gate waits: {done.stderr}")
    reclaim.finish()
    wait_until("the end of the round", host.is_idle)
    time.sleep(4)  # the timer, which runs every 3 s, may still run once
    check(not extensions(manager.lines(4)), f"after the round there is no extension: {manager.notified}")
    host.stop(daemon)
    manager.end()


def test_hang_is_not_extended(host: Host, fixture: str = "busy") -> None:
    """A hanging daemon does not extend its start timeout, so that systemd ends it."""
    manager, daemon, reclaim = blocked_start(host, "30s")
    with stopped(daemon):
        time.sleep(0.5)
        check(not manager.lines(4), f"a stopped daemon sends nothing: {manager.notified}")
    reclaim.finish()
    manager.wait_for("READY=1")
    host.stop(daemon)
    manager.end()


def test_reload_is_extended(host: Host, fixture: str = "busy") -> None:
    """A long reload extends its timeout: first hugeplanctl, which determines a size, then the daemon."""
    host.config("10-db.conf", "[Instance]\nEngine=mariadb\n")
    host.write("etc/mysql/my.cnf", "[mysqld]\nlarge_pages=ON\ninnodb_buffer_pool_size=64M\n")
    manager = Manager(host)
    daemon = manager.spawn()
    manager.wait_for("READY=1")
    time.sleep(4)
    n_notified = len(manager.notified)
    reclaim = BlockedFile(host.path("sys/fs/cgroup/memory.reclaim"))
    host.config("20-pg.conf", "[Instance]\nPages=12000\n")
    with subprocess.Popen([*host.hugeplanctl, f"--root={host.root}", "reload"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=common.ENVIRONMENT | {"NOTIFY_SOCKET": str(manager.notify_path)}
                          ) as reloading:
        wait_until("the long write", lambda: reclaim.is_opened_by(daemon.pid))
        check(reloading.poll() is None, "the reload waits for it")
        lines = manager.lines(7)
        said = manager.lines()[n_notified:]
        check(any(line == "EXTEND_TIMEOUT_USEC=20000000" for line in said), f"hugeplanctl extends the timeout: {said}")
        check(len(extensions(lines)) >= 2, f"the daemon extends the timeout: {manager.notified}")
        reclaim.finish()
        wait_until("the reload", lambda: reloading.poll() is not None, 60)
    host.stop(daemon)
    manager.end()


if __name__ == "__main__":
    os.environ.pop("NOTIFY_SOCKET", None)
    sys.exit(main(globals(), n_at_once=8))
