#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A daemon that is silent, hangs, hangs up or has lost its socket, on unpacked fixture hosts: what
hugeplanctl makes of it, what the daemon tells a service manager of sorts, and what goes when it stops.

usage: run_silent.py --hugepland=PROGRAM --hugeplanctl=PROGRAM [TEST...]

Who waits must be done within seconds, but how many a busy machine makes of them is no verdict: limits
are far above that, and far below what a gate may wait (85 s).
"""

from __future__ import annotations

import contextlib
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
from common import PATIENCE, check, wait_until
from run_daemon import PG, SOCKET, Host, Server, listen, main, replace

SOON = 25.0  # of 3
REMEDY = "systemctl restart hugeplan.service"


def timed(action: Callable[[], subprocess.CompletedProcess[str]]) \
        -> tuple[subprocess.CompletedProcess[str], float]:
    start = time.monotonic()
    return action(), time.monotonic() - start


@contextlib.contextmanager
def stopped(daemon: subprocess.Popen[bytes]) -> Iterator[None]:
    """A daemon that neither runs nor ends: what a hang looks like from outside."""
    daemon.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.send_signal(signal.SIGCONT)


# ---- a daemon of the test's own ----

class Played(Server):
    """Serves the socket of a host, call by call, as ANSWER says: the bytes of a reply, or None to say
    nothing; who hangs up raises ConnectionError. Each connection has a thread of its own."""

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


ALIVE = b'{"parameters":{}}'


def with_its_pages(host: Host) -> None:
    """They stand, and nobody serves."""
    host.config("20-pg.conf", PG)
    host.stop(host.start())


# ---- what hugeplanctl makes of it ----

def test_gate_passes_a_silent_daemon(host: Host, fixture: str = "one-node") -> None:
    host.config("20-pg.conf", PG)
    daemon = host.start()
    with stopped(daemon):
        done, seconds = timed(lambda: host.gate("pg.service", "pg"))
    check(done.returncode == 0 and "pg: ready" in done.stdout, done.stdout + done.stderr)
    check("does not answer" in done.stderr, done.stderr)
    check(seconds < SOON, f"it took {seconds:.1f} s")


def test_everybody_notices_silence(host: Host, fixture: str = "one-node") -> None:
    host.config("20-pg.conf", PG)
    daemon = host.start()
    with stopped(daemon):
        for arguments, code in ((["status"], 0), (["status", "pg"], 0), (["plan"], 0),
                                (["explain", "pg"], 0), (["check"], None), (["import"], None),
                                (["status", "--watch"], 1), (["reload"], 1),
                                (["release", "pg"], 1)):
            done, seconds = timed(lambda: host.ctl(*arguments))
            said = done.stdout + done.stderr
            check(code in (None, done.returncode), f"{arguments}: {done.returncode}: {said}")
            check(seconds < SOON, f"{arguments} took {seconds:.1f} s")
            if arguments[0] in ("status", "reload", "release"):
                check("does not answer" in said and REMEDY in said, f"{arguments}: {said}")
    wait_until("it goes on", host.is_idle)


def test_gate_waits_where_pages_are_missing(host: Host, fixture: str = "one-node") -> None:
    """The silent daemon may come back, or be replaced: only to let it start is it overruled."""
    host.config("20-pg.conf", PG)
    daemon = host.start()
    with stopped(daemon):
        host.set_pool(0, 10)
        done, seconds = timed(lambda: host.ctl("wait", "--timeout=6s", "pg"))
        said = done.stdout + done.stderr
        check(done.returncode == 1 and "pg: lost" in said, said)
        check(seconds >= 6, f"it waited {seconds:.1f} s")
        check("waiting for hugepland" in said and REMEDY in said, said)

        threading.Timer(8, daemon.send_signal, [signal.SIGCONT]).start()
        done = host.gate("pg.service", "pg")
        said = done.stdout + done.stderr
        check(done.returncode == 0 and "pg: ready" in said, f"one who waits longer: {said}")
        check("waiting for hugepland" in said, said)
    check(host.pool(0) == 1000, "the daemon has made up for it")


def test_busy_daemon_is_never_overruled(host: Host, fixture: str = "one-node") -> None:
    """It answers that it lives, and takes its time for the verdict; the files would say yes."""
    with_its_pages(host)
    may_answer = threading.Event()

    def answer(method: str) -> bytes | None:
        if method != "Wait":
            return ALIVE
        may_answer.wait()
        return refused("pg")

    played = Played(host, answer)
    start = time.monotonic()
    threading.Timer(10, may_answer.set).start()
    done = host.gate("pg.service", "pg")
    seconds = time.monotonic() - start
    played.end()
    check(done.returncode == 1 and "refused: because" in done.stderr, done.stdout + done.stderr)
    check(seconds >= 10, f"it waited {seconds:.1f} s")
    check("GetInfo" in played.calls, f"and looked whether it lives: {played.calls}")


def test_cut_off_clients_call_again(host: Host, fixture: str = "one-node") -> None:
    """What changes nothing is asked until there is an answer."""
    with_its_pages(host)
    daemon = host.start()
    status = json.dumps(host.call("Describe")).encode()
    host.stop(daemon)
    n_cut_off: dict[str, int] = {}

    def answer(method: str) -> bytes | None:
        if method == "GetInfo":
            return ALIVE
        n_cut_off[method] = n_cut_off.get(method, 0) + 1
        if n_cut_off[method] <= 5:
            raise ConnectionError
        return status if method == "Describe" else refused("pg")

    played = Played(host, answer)
    done = host.ctl("status")
    check(done.returncode == 0 and "no daemon" not in done.stdout, done.stdout + done.stderr)
    check(n_cut_off["Describe"] == 6, str(n_cut_off))
    done = host.ctl("wait", "pg")
    check(done.returncode == 1 and "refused: because" in done.stderr, done.stdout + done.stderr)
    check(n_cut_off["Wait"] == 6, str(n_cut_off))
    played.end()


def test_changes_are_not_made_twice(host: Host, fixture: str = "one-node") -> None:
    """Who is cut off does not know whether they were made."""
    with_its_pages(host)

    def answer(method: str) -> bytes | None:
        if method == "GetInfo":
            return ALIVE
        raise ConnectionError

    played = Played(host, answer)
    for verb, method in (("reload",), "Reload"), (("release", "pg"), "Release"):
        check(host.ctl(*verb).returncode == 1, "it fails")
        check(played.calls.count(method) == 1, f"{played.calls}")
    played.end()


def test_late_daemon_times_out(host: Host, fixture: str = "one-node") -> None:
    """One that lives and says nothing in time: that is no verdict."""
    with_its_pages(host)
    played = Played(host, lambda method: None if method == "Wait" else ALIVE)
    done = host.ctl("wait", "--timeout=2s", "pg")
    played.end()
    check(done.returncode == 75, f"{done.returncode}: {done.stdout}{done.stderr}")


def test_nobody_accepts(host: Host, fixture: str = "one-node") -> None:
    """systemd listens, and the daemon does not exist yet; with and without room for more clients."""
    with_its_pages(host)
    for backlog in (64, 0):
        listener = listen(host.path(SOCKET), backlog)
        waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        waiting.connect(str(host.path(SOCKET)))
        done, seconds = timed(lambda: host.gate("pg.service", "pg"))
        check(done.returncode == 0 and "pg: ready" in done.stdout, done.stdout + done.stderr)
        check(seconds < SOON, f"it took {seconds:.1f} s")
        waiting.close()
        listener.close()
        host.path(SOCKET).unlink()


def test_hung_up_and_replaced(host: Host, fixture: str = "one-node") -> None:
    """A daemon that ends with the gate's call in its hands is asked again: another one takes over."""
    with_its_pages(host)
    n_calls = 0

    def answer(method: str) -> bytes | None:
        nonlocal n_calls
        if method != "Wait":
            return ALIVE
        n_calls += 1
        if n_calls < 3:
            raise ConnectionError
        return refused("pg")

    played = Played(host, answer)
    done = host.gate("pg.service", "pg")
    played.end()
    check(done.returncode == 1 and "refused: because" in done.stderr, done.stdout + done.stderr)
    check(n_calls == 3, f"after {n_calls} calls")


def test_always_hung_up(host: Host, fixture: str = "one-node") -> None:
    """A daemon that the gate's call itself kills, each time anew, keeps no database down."""
    with_its_pages(host)

    def answer(method: str) -> bytes | None:
        raise ConnectionError

    played = Played(host, answer)
    done, seconds = timed(lambda: host.gate("pg.service", "pg"))
    played.end()
    check(done.returncode == 0 and "pg: ready" in done.stdout, done.stdout + done.stderr)
    check(seconds < SOON, f"it took {seconds:.1f} s")
    check(played.calls.count("Wait") > 2, f"but not on the first occasion: {played.calls}")


# ---- the socket's file ----

INHERIT = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Manager(threading.Thread):
    """A service manager of sorts: listens for the daemon, and notes what that tells."""

    def __init__(self, host: Host) -> None:
        super().__init__(daemon=True)
        self.host = host
        self.listener = listen(host.path(SOCKET))
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify_path = host.root.parent / "notify"
        self.notices.bind(str(self.notify_path))
        self.told: list[tuple[float, str]] = []  # seconds since the daemon was started, and a line
        self.began = time.monotonic()
        self.start()

    def run(self) -> None:
        while message := self.notices.recv(65536):
            now = time.monotonic() - self.began
            self.told += [(now, line) for line in message.decode().splitlines()]

    def spawn(self) -> subprocess.Popen[bytes]:
        self.began = time.monotonic()
        return self.host.spawn(sys.executable, "-c", INHERIT, str(self.listener.fileno()),
                               more_environment={"NOTIFY_SOCKET": str(self.notify_path)},
                               pass_fds=(self.listener.fileno(),))

    def lines(self, seconds: float = 0) -> list[str]:
        """What it is told in that time from now on; all of it so far without."""
        since = len(self.told) if seconds else 0
        time.sleep(seconds)
        return [line for _, line in self.told[since:]]

    def hear(self, pattern: str) -> float:
        """When it was told that first."""
        wait_until(pattern, lambda: any(re.match(pattern, line) for line in self.lines()), 30)
        return next(when for when, line in self.told if re.match(pattern, line))

    def end(self) -> None:
        self.listener.close()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(self.notify_path))
        self.join()
        self.notices.close()


def is_answering(host: Host) -> bool:
    with contextlib.suppress(OSError):
        return "parameters" in host.call("Describe")
    return False


def test_removed_socket_comes_back(host: Host, fixture: str = "one-node") -> None:
    """Also where it was systemd that has made it, and goes on listening where nobody can knock."""
    host.config("20-pg.conf", PG)
    for is_managed in (False, True):
        manager = Manager(host) if is_managed else None
        daemon = manager.spawn() if manager else host.start()
        wait_until("the daemon", lambda: is_answering(host))
        for _ in range(2):
            host.path(SOCKET).unlink()
            wait_until("the socket", lambda: is_answering(host))
            mode = host.path(SOCKET).stat().st_mode & 0o777
            check(mode == 0o666, f"it is for everyone: {mode:o}")
        check("had been removed" in host.log(daemon), host.log(daemon))
        if manager:  # the next one finds a file that nobody listens on, then none at all
            host.stop(daemon)
            daemon = manager.spawn()
            wait_until("the next daemon", lambda: is_answering(host))
            host.stop(daemon)
            host.path(SOCKET).unlink()
            daemon = manager.spawn()
            wait_until("the third daemon", lambda: is_answering(host))
            check(host.ctl("wait", "pg").returncode == 0, "the gate finds it")
            manager.end()
        host.stop(daemon)


def test_untouched_socket_is_left_alone(host: Host, fixture: str = "one-node") -> None:
    host.config("20-pg.conf", PG)
    manager = Manager(host)
    before = host.path(SOCKET).stat().st_ino
    daemon = manager.spawn()
    manager.hear("READY=1")
    check(host.ctl("reload").returncode == 0, "it is served")
    check(host.path(SOCKET).stat().st_ino == before, "by the socket that the manager has made")
    check("removed" not in host.log(daemon), host.log(daemon))
    host.stop(daemon)
    manager.end()


# ---- what the daemon tells while it starts ----

EXTEND = r"EXTEND_TIMEOUT_USEC=(\d+)$"


def extensions(lines: list[str]) -> list[float]:
    found = [re.match(EXTEND, line) for line in lines]
    return [int(match[1]) / 1e6 for match in found if match]


class BlockedFile:
    """An attribute whose write takes its time, such as the kernel's memory.reclaim: a pipe, full until then."""

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
        """Lets the write return. Later ones are quick."""
        replace(self.path, "")
        written = b""
        end = time.monotonic() + PATIENCE
        while not written.endswith(b"\n") and time.monotonic() < end:
            with contextlib.suppress(BlockingIOError):
                written = os.read(self.pipe, 1 << 20)
        os.close(self.pipe)


def blocked_start(host: Host, boot_timeout: str) -> tuple[Manager, subprocess.Popen[bytes],
                                                          BlockedFile]:
    """A daemon whose first step beyond the pages that are free is one write(2) without an end."""
    host.config("00-host.conf", f"[Host]\nBootTimeout={boot_timeout}\n")
    host.config("20-pg.conf", "[Instance]\nPages=12000\nUnit=pg.service\n")
    reclaim = BlockedFile(host.path("sys/fs/cgroup/memory.reclaim"))
    manager = Manager(host)
    daemon = manager.spawn()
    wait_until("the long write", lambda: reclaim.is_opened_by(daemon.pid))
    return manager, daemon, reclaim


def test_long_write_is_no_hang(host: Host, fixture: str = "busy") -> None:
    """While one write takes long, the loop lives: the start is extended, little by little, until
    BootTimeout= is over; clients are served."""
    manager, daemon, reclaim = blocked_start(host, "8s")
    ready = manager.hear("READY=1")
    check(ready >= 7.5, f"ready after {ready:.1f} s: {manager.told}")
    given = extensions(manager.lines())
    check(len(given) >= 3, f"it has told that it lives: {manager.told}")
    check(max(given) <= 15, f"never for long: {given}")
    done, seconds = timed(lambda: host.ctl("wait", "--timeout=4s", "pg"))
    check(done.returncode == 75 and seconds >= 4, f"a gate waits: {done.stderr}")
    reclaim.finish()
    wait_until("the end of the round", host.is_idle)
    time.sleep(4)  # the timer is on its last way
    check(not extensions(manager.lines(7)), f"then it is quiet: {manager.told}")
    host.stop(daemon)
    manager.end()


def test_hang_tells_nothing(host: Host, fixture: str = "busy") -> None:
    manager, daemon, reclaim = blocked_start(host, "30s")
    with stopped(daemon):
        time.sleep(0.5)
        check(not manager.lines(7), f"nobody extends its time: {manager.told}")
    reclaim.finish()
    manager.hear("READY=1")
    host.stop(daemon)
    manager.end()


def test_reload_is_extended(host: Host, fixture: str = "busy") -> None:
    """A reload has the same time limit; its database is asked, for which hugeplanctl needs time."""
    host.config("10-db.conf", "[Instance]\nEngine=mariadb\n")
    host.write("etc/mysql/my.cnf", "[mysqld]\nlarge_pages=ON\ninnodb_buffer_pool_size=64M\n")
    manager = Manager(host)
    daemon = manager.spawn()
    manager.hear("READY=1")
    time.sleep(4)
    n_told = len(manager.told)
    reclaim = BlockedFile(host.path("sys/fs/cgroup/memory.reclaim"))
    host.config("20-pg.conf", "[Instance]\nPages=12000\n")
    with subprocess.Popen([*host.hugeplanctl, f"--root={host.root}", "reload"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=common.ENVIRONMENT | {"NOTIFY_SOCKET": str(manager.notify_path)}
                          ) as reloading:
        wait_until("the long write", lambda: reclaim.is_opened_by(daemon.pid))
        check(reloading.poll() is None, "the reload waits for it")
        lines = manager.lines(8)
        said = manager.lines()[n_told:]
        check(any(line == "EXTEND_TIMEOUT_USEC=20000000" for line in said),
              f"before it asks, hugeplanctl has its time extended: {said}")
        check(len(extensions(lines)) >= 2, f"and then the daemon: {manager.told}")
        reclaim.finish()
        wait_until("the reload", lambda: reloading.poll() is not None, 60)
    host.stop(daemon)
    manager.end()


if __name__ == "__main__":
    os.environ.pop("NOTIFY_SOCKET", None)
    sys.exit(main(globals(), n_at_once=4))
