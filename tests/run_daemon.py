#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""hugepland in the foreground on unpacked fixture hosts, and hugeplanctl as its client.

usage: run_daemon.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --shim=LIBRARY [TEST...]

No kernel reacts to writes in such a tree. For hugepland's writes support/kernel_shim.c adapts free_hugepages, the
sums over the nodes and MemFree to nr_hugepages; for a test's writes the class Kernel does. """

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import ctypes
import fcntl
import inspect
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator

import common
import run_cases
import unpack_host
from common import PATIENCE, check, expect, need, need_root, wait_until

SOCKET = "run/hugeplan/org.hugeplan.Manager"
REGISTRY = "run/varlink/registry/org.hugeplan.Manager"
LEDGER = "run/hugeplan/ledger"
CONFIG = "etc/hugeplan.d"
THP = "sys/kernel/mm/transparent_hugepage"
MIB = 1 << 20


def read_count(path: pathlib.Path) -> int:
    """The number in a file that another process may be writing: the old or the new one, or -1 while the file is
    truncated. Unlike an attribute of sysfs, a file may be read while half of a write is done, so it is read twice."""
    seen: list[bytes] = []
    while len(seen) < 2 or seen[-1] != seen[-2]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            seen.append(os.read(descriptor, 64))
        finally:
            os.close(descriptor)
    return int(seen[-1] or -1)


def replace(path: pathlib.Path, text: str) -> None:
    """Replaces the file by rename(2), so that no reader sees half of the text."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text)
    draft.replace(path)


def write_attribute(path: pathlib.Path, text: str) -> None:
    """Writes without truncating, as to an attribute of sysfs: no reader sees an empty file."""
    size = path.stat().st_size
    with path.open("r+", encoding="utf-8") as file:
        file.write(text.rstrip("\n").ljust(size - 1) + "\n")


class Kernel:
    """Adapts the counts of a tree when a test sets a pool. support/kernel_shim.c does so for hugepland's writes, before
    write(2) returns; both know the last count from the file .known of each pool."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.pools = sorted(root.glob("sys/devices/system/node/node*/hugepages/hugepages-*kB"))
        for pool in self.pools:
            replace(pool / ".known", f"{read_count(pool / 'nr_hugepages')}\n")

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Holds the lock that the shim takes for each of hugepland's writes."""
        with (self.root / ".lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # a process forked meanwhile has the file open, too

    def add_up(self, name: str) -> None:
        whole = self.root / "sys/kernel/mm/hugepages" / name
        for attribute in ("nr_hugepages", "free_hugepages"):
            total = sum(max(read_count(pool / attribute), 0) for pool in self.pools if pool.name == name)
            replace(whole / attribute, f"{total}\n")

    def set_pages(self, pool: pathlib.Path, pages: int) -> None:
        """Adds or removes free pages. The file is not replaced, because hugepland watches it (inotify)."""
        meminfo = pool.parent.parent / "meminfo"
        kib = int(pool.name.removeprefix("hugepages-").removesuffix("kB"))
        with self.shared():
            more = pages - read_count(pool / ".known")
            free = read_count(pool / "free_hugepages") + more
            replace(pool / ".known", f"{pages}\n")
            replace(pool / "free_hugepages", f"{free}\n")
            replace(meminfo, re.sub(r"(MemFree: +)(\d+)",
                                    lambda match: f"{match[1]}{max(int(match[2]) - more * kib, 0)}",
                                    meminfo.read_text()))
            write_attribute(pool / "nr_hugepages", f"{pages}\n")
            self.add_up(pool.name)

    def finish_writes(self) -> None:
        """Completes what a killed daemon has begun: its open(2) has truncated a file that in sysfs would still show
        its count."""
        for pool in self.pools:
            pending = pool / ".pending"
            if pending.exists():
                known, free = pending.read_text().split()
                replace(pool / ".known", f"{known}\n")
                replace(pool / "free_hugepages", f"{free}\n")
                pending.unlink()
            if read_count(pool / "nr_hugepages") == -1:
                replace(pool / "nr_hugepages", f"{read_count(pool / '.known')}\n")
            self.add_up(pool.name)


# ---- sockets and callers ----

def listen(path: pathlib.Path, backlog: int = 64) -> socket.socket:
    path.parent.mkdir(parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(backlog)
    return listener


class Server(threading.Thread):
    """Serves each connection to PATH in a thread of its own."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__(daemon=True)
        self.listener = listen(path)

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        raise NotImplementedError

    def end(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def as_user(uid: int, action: Callable[[], bytes]) -> tuple[int, int]:
    """A process of user UID that runs ACTION and then waits to be killed: its pid, and a pipe with ACTION's result."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.setgid(uid)
            os.setuid(uid)
            os.write(writing, action())
            signal.pause()
        os._exit(1)
    os.close(writing)
    return pid, reading


def end_process(pid: int, reading: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(reading)


def call_many(path: str, n: int, message: bytes) -> list[socket.socket]:
    clients = []
    for _ in range(n):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(PATIENCE)
        client.connect(path)
        with contextlib.suppress(OSError):
            client.sendall(message)
        clients.append(client)
    return clients


def read_reply(client: socket.socket) -> bytes:
    reply = b""
    with contextlib.suppress(OSError):
        while not reply.endswith(b"\0"):
            part = client.recv(65536)
            if not part:
                return b""
            reply += part
    return reply


class Daemons:
    """The programs on the host in a directory, and the daemons that have been started there. Their logs are in LOGS."""

    def __init__(self, root: pathlib.Path, hugepland: pathlib.Path, hugeplanctl: pathlib.Path, logs: pathlib.Path) -> None:
        self.root, self.logs = root, logs
        self.on_root = [] if root == root.parent else [f"--root={root}"]
        self.hugepland = [*common.WRAPPER, str(hugepland)]
        self.hugeplanctl = [*common.WRAPPER, str(hugeplanctl)]
        self.environment: dict[str, str] = {}  # of the daemons
        self.daemons: list[subprocess.Popen[bytes]] = []

    # ---- files ----

    def path(self, name: str) -> pathlib.Path:
        return self.root / name

    def write(self, name: str, text: str) -> None:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def config(self, name: str, text: str) -> None:
        self.write(f"{CONFIG}/{name}", text)

    def remove_config(self, name: str) -> None:
        self.path(f"{CONFIG}/{name}").unlink()

    # ---- programs ----

    def ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        done = common.execute([*self.hugeplanctl, *self.on_root, *arguments], self.root)
        check("Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr)
        return done

    def reload(self, *codes: int) -> subprocess.CompletedProcess[str]:
        """`hugeplanctl reload`, which must exit with one of CODES, or with 0 if none is given."""
        done = self.ctl("reload")
        check(done.returncode in (codes or (0,)), f"reload: {done}")
        return done

    def status(self) -> dict:
        return json.loads(self.ctl("--json=short", "status").stdout)

    def verdicts(self) -> dict[str, str]:
        return {each["name"]: each["verdict"] for each in self.status()["instances"]}

    def log_path(self, daemon: subprocess.Popen[bytes]) -> pathlib.Path:
        return self.logs / f"log-{daemon.pid}"

    def log(self, daemon: subprocess.Popen[bytes]) -> str:
        return self.log_path(daemon).read_text()

    def spawn(self, *wrapper: str, more_environment: dict[str, str] | None = None,
              pass_fds: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
        draft = self.logs / "log"
        with draft.open("wb") as log:
            daemon = subprocess.Popen([*wrapper, *self.hugepland, *self.on_root],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=pass_fds,
                                      env=common.ENVIRONMENT | self.environment | (more_environment or {}))
        draft.rename(self.log_path(daemon))
        self.daemons.append(daemon)
        return daemon

    def is_idle(self) -> bool:
        return self.status()["host"]["phase"] in ("idle", "retrying")

    def wait_for_round(self, daemon: subprocess.Popen[bytes]) -> None:
        wait_until("the first round", lambda: daemon.poll() is not None or self.is_idle())

    def start(self) -> subprocess.Popen[bytes]:
        daemon = self.spawn()
        self.wait_for_round(daemon)
        check(daemon.poll() is None, f"hugepland ended:\n{self.log(daemon)}")
        return daemon

    def stop(self, daemon: subprocess.Popen[bytes]) -> None:
        daemon.terminate()
        code = daemon.wait(PATIENCE)
        check(code == 0, f"hugepland ended with {code}:\n{self.log(daemon)}")
        self.daemons.remove(daemon)

    def end(self) -> None:
        for daemon in self.daemons:
            daemon.kill()
            daemon.wait(PATIENCE)
        for log in self.logs.glob("log-*"):
            text = log.read_text()
            check("Sanitizer" not in text and "runtime error" not in text, text)


class Host(Daemons):
    """An unpacked fixture with a fake kernel."""

    def __init__(self, root: pathlib.Path, hugepland: pathlib.Path, hugeplanctl: pathlib.Path,
                 shim: pathlib.Path) -> None:
        super().__init__(root, hugepland, hugeplanctl, root.parent)
        asan = f"{common.ENVIRONMENT['ASAN_OPTIONS']}:verify_asan_link_order=0"
        self.environment = {"LD_PRELOAD": str(shim), "ASAN_OPTIONS": asan}
        self.kernel = Kernel(root)

    def pool_path(self, node: int) -> pathlib.Path:
        return self.path(f"sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")

    def pool(self, node: int) -> int:
        return read_count(self.pool_path(node))

    def set_pool(self, node: int, pages: int) -> None:
        """Sets a pool as a program other than hugepland would."""
        self.kernel.set_pages(self.pool_path(node).parent, pages)

    def kernel_files(self) -> dict[str, tuple[object, ...]]:
        """Contents and times of all files that a write of the daemon would change."""
        return {f"{top}/{name}": value for top in ("sys", "proc")
                for name, value in run_cases.snapshot(self.path(top)).items()}

    def call(self, method: str, parameters: dict | None = None) -> dict:
        """A Varlink call without hugeplanctl."""
        message = json.dumps({"method": f"org.hugeplan.Manager.{method}", "parameters": parameters or {}})
        with call_many(str(self.path(SOCKET)), 1, message.encode() + b"\0")[0] as client:
            reply = read_reply(client)
        check(reply.endswith(b"\0"), f"{method}: no answer")
        return json.loads(reply[:-1])

    def gate(self, unit: str, name: str) -> subprocess.CompletedProcess[str]:
        """`hugeplanctl wait NAME` as systemd starts it: in the unit's control group, which is made anew for each
        start."""
        group = self.path(f"sys/fs/cgroup/system.slice/{unit}")
        group.mkdir(parents=True, exist_ok=True)
        before = group.with_name(f"{unit}.before")
        group.rename(before)
        shutil.copytree(before, group)
        shutil.rmtree(before)
        self.write("proc/self/cgroup", f"0::/system.slice/{unit}\n")
        done = common.execute(["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"',
                               str(group / "cgroup.procs"), *self.hugeplanctl, f"--root={self.root}", "wait", name],
                              self.root, INVOCATION_ID="1")
        self.write("proc/self/cgroup", "0::/\n")  # later callers belong to no unit
        check("Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr)
        return done

    def leave_free(self, node: int, mib: int) -> None:
        """Leaves MIB of free memory on the node, and no page cache that could be reclaimed."""
        meminfo = self.path(f"sys/devices/system/node/node{node}/meminfo")
        with self.kernel.shared():
            text = re.sub(r"(MemFree: +)\d+", rf"\g<1>{mib * 1024}", meminfo.read_text())
            replace(meminfo, re.sub(r"(\b(?:Active|Inactive)\(file\): +)\d+", r"\g<1>0", text))

    def kill(self, daemon: subprocess.Popen[bytes]) -> None:
        daemon.kill()
        daemon.wait(PATIENCE)
        self.daemons.remove(daemon)
        self.kernel.finish_writes()


def ledger(host: Host, kind: str) -> list[list[str]]:
    """The words after KIND of each ledger line of this kind."""
    lines = [line.split(" ") for line in host.path(LEDGER).read_text().splitlines()]
    return [words[1:] for words in lines if words[0] == kind]


@contextlib.contextmanager
def host_of(programs: argparse.Namespace, fixture: str) -> Iterator[Host]:
    """A host; at the end of the context every running daemon is terminated, and must exit with 0."""
    with tempfile.TemporaryDirectory(prefix="hugeplan-daemon-") as name:
        root = pathlib.Path(name).resolve() / "root"
        unpack_host.unpack(common.HERE / "hosts" / f"{fixture}.tree", root)
        host = Host(root, programs.hugepland, programs.hugeplanctl, programs.shim)
        try:
            yield host
            for daemon in host.daemons[:]:
                host.stop(daemon)
        finally:
            host.end()


PG = "[Instance]\nPages=1000\nUnit=pg.service\n"
SMALL = "[Instance]\nPages=10\nNodes=2\n"


# ---- tests: each gets a host, made from the fixture that its default argument names ----

def test_life(host: Host, fixture: str = "two-nodes-hole") -> None:
    """The daemon serves what it has planned, names every mistake, and keeps the pages when it stops."""
    host.config("20-pg.conf", PG)
    host.config("30-small.conf", SMALL)
    host.config("40-large.conf", "[Instance]\nPages=999999\n")
    host.config("50-broken.conf", "[Instance]\nUnit=b.service\nMemory=8GG\n")
    daemon = host.start()
    check((host.pool(0), host.pool(2)) == (500, 510), "the pools are as planned")
    check(host.verdicts() == {"pg": "ready", "small": "ready", "large": "refused",
                              "broken": "invalid"}, str(host.verdicts()))
    mode = host.path(SOCKET).stat().st_mode
    check(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o666, "every user may connect to the socket")
    check(host.path(REGISTRY).is_symlink(), "the socket is in the registry")

    expect(host.ctl("wait", "pg"), 0, "pg: ready")
    expect(host.ctl("wait", "--timeout=1h", "nobody"), 4, "nobody")
    expect(host.ctl("wait", "large"), 1, "do not fit")
    expect(host.ctl("wait", "broken"), 1, "/etc/hugeplan.d/50-broken.conf:3: Memory: '8GG'")
    check(host.ctl("wait", "--all").returncode == 1, "`wait --all` fails when one instance is refused")
    check(host.ctl("status").returncode == 3, "`status` fails when one instance is refused")
    check(host.ctl("status", "pg").returncode == 0, "`status pg` succeeds")
    plan = json.loads(host.ctl("--json=short", "plan").stdout)
    check(plan["steps"] == [] and len(plan["instances"]) == 4, f"the plan is carried out: {plan}")

    host.stop(daemon)
    check(not host.path(SOCKET).exists(), "a clean stop removes the socket")
    check(not host.path(REGISTRY).is_symlink(), "a clean stop removes the link to the socket")
    check((host.pool(0), host.pool(2)) == (500, 510), "the pools stay when the daemon stops")
    check("50-broken.conf:3" in host.log(daemon), "the log names the broken file")


def test_second_run_writes_nothing(host: Host, fixture: str = "two-nodes-hole") -> None:
    """A restart and a reload without a difference write nothing to the kernel."""
    host.config("20-pg.conf", PG)
    host.config("30-small.conf", SMALL)
    host.stop(host.start())
    before = host.kernel_files()
    daemon = host.start()
    host.reload()
    check(host.verdicts() == {"pg": "ready", "small": "ready"}, str(host.verdicts()))
    host.stop(daemon)
    changed = run_cases.compare_trees("second run", before, host.kernel_files())
    check(not changed, "".join(changed))
    check(") reserved" not in host.log(daemon), host.log(daemon))


def test_second_daemon_is_refused(host: Host, fixture: str = "one-node") -> None:
    """A second daemon on the same host ends, and the first one serves on."""
    host.config("20-pg.conf", PG)
    host.start()
    second = host.spawn()
    check(second.wait(PATIENCE) == 1, "the second daemon ends with 1")
    check("another hugepland" in host.log(second), host.log(second))
    host.daemons.remove(second)
    check(host.ctl("wait", "pg").returncode == 0, "the first daemon still answers")


def test_reload(host: Host, fixture: str = "two-nodes-hole") -> None:
    """A reload applies additions, changes and removals, and a mistake keeps the previous plan in effect."""
    host.config("20-pg.conf", PG)
    host.start()
    host.config("30-small.conf", SMALL)
    host.reload()
    check((host.pool(0), host.pool(2)) == (500, 510), "the difference is applied")
    # A mistake is named, and the previous plan stays in effect.
    host.config("20-pg.conf", "[Instance]\nPages=ten\n")
    before = host.kernel_files()
    expect(host.ctl("reload"), 1, "20-pg.conf:2: Pages: 'ten'")
    reply = host.call("Reload")
    (problem,) = reply["parameters"]["problems"]
    check((reply["error"], problem["file"], problem["line"])
          == ("org.hugeplan.Manager.ConfigInvalid", "/etc/hugeplan.d/20-pg.conf", 2), str(reply))
    check(host.ctl("wait", "pg").returncode == 0, "the previous plan stays in effect")
    changed = run_cases.compare_trees("reload", before, host.kernel_files())
    check(not changed, "".join(changed))
    # The file is correct again, and the instance smaller.
    host.config("20-pg.conf", "[Instance]\nPages=100\n")
    check("1,000 to 100" in (said := host.reload().stdout), said)
    check((host.pool(0), host.pool(2)) == (50, 60), f"{host.pool(0)} {host.pool(2)}")
    host.remove_config("30-small.conf")
    host.reload()
    check((host.pool(0), host.pool(2)) == (50, 50), "only the pages of the removed instance are given back")
    check(host.ctl("wait", "small").returncode == 4, "the removed instance is unknown")


def test_hangup_reloads(host: Host, fixture: str = "one-node") -> None:
    """SIGHUP reloads the configuration."""
    daemon = host.start()
    host.config("20-pg.conf", PG)
    daemon.send_signal(signal.SIGHUP)
    wait_until("the reload", lambda: host.pool(0) == 1000)


def test_gate_waits_for_a_node(host: Host, fixture: str = "two-nodes-hole") -> None:
    """A gate waits until its timeout for a node that may come online, and not at all for one that cannot exist."""
    make_groups(host, "pg.service")
    host.config("20-pg.conf", "[Instance]\nUnit=pg.service\nWaitTimeout=1s\nPages=10\nPlacement=bind\nNodes=1\n")
    host.config("25-here.conf", "[Instance]\nPages=10\n")
    host.config("30-typo.conf", "[Instance]\nPages=10\nNodes=22\n")
    host.config("40-other.conf", "[Instance]\nWaitTimeout=2s\nPages=10\nNodes=3\n")
    daemon = host.start()
    named = "/etc/hugeplan.d/20-pg.conf:6"
    for done in (host.ctl("wait", "pg"), host.gate("pg.service", "pg")):
        check(done.returncode == 75, str(done))
        check("node 1 is offline" in done.stderr and named in done.stderr, done.stderr)
    problems = [one["text"] for one in host.status()["problems"]]
    check("pg: its start is refused: node 1 is offline" in host.log(daemon), host.log(daemon))
    check(any("pg is refused: node 1 is offline" in text for text in problems), str(problems))

    def wait_for_all() -> float:
        started = time.monotonic()
        done = host.ctl("wait", "--all")
        check(done.returncode == 75 and "here: ready" in done.stdout, str(done))
        seconds = time.monotonic() - started
        check(seconds >= 2, f"`wait --all` has waited {seconds:.1f} s")
        return seconds

    # One after the other the two timeouts would always take three seconds, however busy this machine is.
    wait_until("a `wait --all` in which both timeouts run at the same time", lambda: wait_for_all() < 3)
    expect(host.ctl("wait", "--timeout=1h", "typo"), 1, "node 22 does not exist", "/etc/hugeplan.d/30-typo.conf:3")


def test_gate_says_what_mount_is_missing(host: Host, fixture: str = "one-node") -> None:
    """A unit whose mount is missing is refused with the name of the mount unit, with a daemon and without one."""
    make_groups(host, "db.service")
    host.write("etc/passwd", "db:x:100:100::/:/bin/sh\n")
    host.config("20-db.conf", "[Instance]\nPages=10\nUnit=db.service\nMount=/mnt/db owner=db\nShortage=degrade\n")
    daemon = host.start()
    for is_alone in (False, True):
        if is_alone:
            host.stop(daemon)
        host.write("proc/self/mountinfo", "")
        expect(host.gate("db.service", "db"), 1,
               "nothing is mounted at /mnt/db (Mount= in /etc/hugeplan.d/20-db.conf:4)", "systemctl status mnt-db.mount")
        host.write("proc/self/mountinfo", "30 1 0:30 / /mnt/db rw - hugetlbfs none rw,pagesize=2M\n")
        expect(host.gate("db.service", "db"), 0)


def pending_files(host: Host, verb: str = "status") -> list[tuple[str, str, str]]:
    """The problems about files that have changed since the daemon read them."""
    done = host.ctl("--json=short", verb)
    return [(one["id"], one["severity"], one["text"]) for one in json.loads(done.stdout)["problems"]
            if one["id"] in ("config-pending", "reload-pending")]


def test_files_that_were_not_read(host: Host, fixture: str = "one-node") -> None:
    """Changed files are reported until a reload reads them; comments and learned sizes are no change."""
    host.config("20-pg.conf", PG)
    host.config("30-old.conf", "[Instance]\nPages=5\n")
    host.start()
    check(pending_files(host) == [], f"{pending_files(host)}")
    host.config("20-pg.conf", "# a comment\n\n" + PG + "X-Note=mine\n")
    host.config("20-pg.conf.d/90-learned.conf", "[Instance]\nX-Note=learned\n")
    check(pending_files(host) == [], f"comments change nothing: {pending_files(host)}")

    host.config("20-pg.conf", PG + "Priority=80\n")
    host.config("40-new.conf", "[Instance]\nPages=7\n")
    host.config("00-host.conf", "[Host]\nKeepFree=5%\n")
    host.remove_config("30-old.conf")
    text = ("these files have changed since hugepland read them; added: new; changed: pg; "
            "removed: old; changed: [Host]")
    check(pending_files(host) == [("reload-pending", "warning", text)], f"{pending_files(host)}")
    check(pending_files(host, "check") == [("reload-pending", "notice", text)], f"{pending_files(host, 'check')}")
    host.reload()
    check(pending_files(host) + pending_files(host, "check") == [], f"{pending_files(host)}")

    # A mistake has no effect until the next reload or boot.
    host.config("40-new.conf", "[Instance]\nPages=7\nNode=1\n")
    found = pending_files(host)
    check([one[:2] for one in found] == [("config-pending", "error")], f"{found}")
    check("from the next boot on the gate refuses new" in found[0][2], f"{found}")
    check(host.verdicts()["new"] == "ready", "the plan in effect does not change")
    host.reload(1)
    check(pending_files(host) == [], f"after the refused reload the status itself shows the mistake: {pending_files(host)}")
    host.config("40-new.conf", "[Instance]\nPages=8\n")
    check([one[2] for one in pending_files(host)]
          == ["these files have changed since hugepland read them; changed: new"], f"{pending_files(host)}")


def test_unchanged_files_are_not_read(host: Host, fixture: str = "one-node") -> None:
    """Files with an old modification time are not read for each status; a change is noticed all the same."""
    host.config("20-pg.conf", PG)
    host.start()
    time.sleep(0.2)  # before that an equal modification time does not prove that a file is unchanged
    check(pending_files(host) + pending_files(host) == [], f"{pending_files(host)}")
    changed = PG.replace("Pages=100", "Pages=101")
    check(changed != PG and len(changed) == len(PG), "the texts have the same length")
    for text, expected in (changed, ["reload-pending"]), (PG, []):
        host.config("20-pg.conf", text)
        check([one[0] for one in pending_files(host)] == expected, f"{pending_files(host)}")
        time.sleep(0.2)
        for _ in range(2):
            check([one[0] for one in pending_files(host)] == expected, f"{pending_files(host)}")
    host.config("20-pg.conf.d/90-local.conf", "[Instance]\nPriority=80\n")
    check([one[0] for one in pending_files(host)] == ["reload-pending"], f"{pending_files(host)}")


def test_etc_on_an_overlay(host: Host, fixture: str = "one-node") -> None:
    """Drop-ins of lower layers are read, changes of a lower layer are noticed, and writes go to the upper layer."""
    need(ctypes.CDLL(None).unshare(0x20000) == 0, "no mount namespace")  # CLONE_NEWNS, for this thread alone
    etc, layers = host.path("etc"), host.root.parent
    for name in ("root/etc", "old", "new", "upper", "work"):
        (layers / name).mkdir()
    below = {pages: layers / name / "hugeplan.d/20-pg.conf" for name, pages in (("old", 5), ("new", 7))}
    for pages, path in below.items():
        path.parent.mkdir()
        path.write_text(f"[Instance]\nPages={pages}\n")

    def merge(path: pathlib.Path) -> None:
        layer = f"lowerdir={path.parent.parent}:{etc},upperdir={layers / 'upper'},workdir={layers / 'work'}"
        done = common.execute(["mount", "-t", "overlay", "-o", layer, "overlay", str(etc)], None)
        check(done.returncode == 0, done.stderr)

    def is_applied(pages: int) -> None:
        check([one[0] for one in pending_files(host)] == ["reload-pending"], f"{pages} pages: {pending_files(host)}")
        host.reload()
        check(host.pool(0) == pages, f"{host.pool(0)} pages are reserved")

    common.execute(["mount", "--make-rprivate", "/"], None)
    merge(below[5])
    try:
        host.start()
        check(host.pool(0) == 5, "the drop-in of the lower layer is in effect")
        below[5].write_text("[Instance]\nPages=6\n")
        is_applied(6)
        common.execute(["umount", "--lazy", str(etc)], None)
        merge(below[7])
        is_applied(7)
        host.config("20-pg.conf", "[Instance]\nPages=8\n")
        is_applied(8)
        check(below[7].read_text().endswith("7\n"), "the lower layer is unchanged")
    finally:
        common.execute(["umount", "--lazy", str(etc)], None)


# Makes the current directory the root, in a mount namespace of its own; '%s' is replaced by further mount commands.
CHROOT = 'mount --bind /usr usr && mount --rbind /dev dev && %s PATH=$PATH:/usr/sbin exec chroot . /hugeplanctl "$@"'


def test_in_a_plain_chroot(host: Host, fixture: str = "one-node") -> None:
    """In a rescue chroot without /sys nothing is known; that is not reported as a kernel without huge pages."""
    need(not common.WRAPPER, "the emulator is not in the chroot")
    need(common.execute(["unshare", "--mount", "true"], None).returncode == 0, "no mount namespace")
    root = host.root.parent / "chroot"
    for name in ("usr", "dev", "proc", "sys", "etc/hugeplan.d", "etc/mysql"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    common.copy_program(host.hugeplanctl[0], root)
    (root / "etc/hugeplan.d/20-db.conf").write_text("[Instance]\nEngine=mariadb\n")
    (root / "etc/mysql/my.cnf").write_text("[mysqld]\nlarge-pages\ninnodb_buffer_pool_size=1G\n")

    def run_in_chroot(mounts: str, *words: str) -> subprocess.CompletedProcess[str]:
        return common.execute(["unshare", "--mount", "sh", "-c", CHROOT % mounts, "sh", *words], root,
                              ASAN_OPTIONS="detect_leaks=0")

    for mounts in "", "mount -t proc proc proc &&":
        status, gate = run_in_chroot(mounts, "status"), run_in_chroot(mounts, "wait", "db")
        check("not known without sysfs" in " ".join(status.stdout.split()), status.stdout + status.stderr)
        check(gate.returncode == 1 and "cannot be read" in gate.stderr, gate.stderr)
    whole = run_in_chroot(f"{mounts} mount --rbind /sys sys &&", "explain", "db")
    check(re.search(r"innodb_buffer_pool_size +1G", whole.stdout) is not None, whole.stdout + whole.stderr)


def test_started_with_a_mistake(host: Host, fixture: str = "one-node") -> None:
    """A mistake at the start is in the status, and its correction is reported as not read yet."""
    host.config("20-pg.conf", PG + "Nonsense=1\n")
    host.start()
    check(pending_files(host) == [], f"the status itself shows the mistake: {pending_files(host)}")
    host.config("20-pg.conf", PG)
    check([one[0] for one in pending_files(host)] == ["reload-pending"], f"{pending_files(host)}")


def test_refusals_name_the_reason(host: Host, fixture: str = "one-node") -> None:
    """A refusal over Varlink has the reason as a text and as an identifier."""
    host.config("20-large.conf", "[Instance]\nPages=999999\n")
    host.config("30-broken.conf", "[Instance]\nPages=ten\n")
    host.config("40-released.conf", "[Instance]\nPages=10\n")
    host.start()
    check((done := host.ctl("release", "released")).returncode == 0, done.stderr)
    for name, reason in {"large": "not-enough-memory", "broken": "config", "released": "released"}.items():
        reply = host.call("Wait", {"instance": name})
        check(reply.get("error") == "org.hugeplan.Manager.Refused", str(reply))
        check(reply["parameters"]["reasonId"] == reason, str(reply))
        check(bool(reply["parameters"]["reason"]), "the refusal has the reason as a text")


ORACLE = "[Instance]\nEngine=oracle\nUser=oracle\nUnit=ora.service\nPages=100\n"
PROVEN = f"hugeplan-ledger 1 1 - undecided\ninstance pg {2 * MIB} 1000 spread 0:1000 -\nend\n"


def boots(failed: int, boot: str) -> str:
    """A file .boots with this count of failed boots."""
    return f"{f'boots 3 {failed} {boot}':511}\n"


def failed_boots(host: Host) -> int:
    """The count of failed boots in .boots."""
    return int(host.path(f"{CONFIG}/.boots").read_text().split()[2])


def test_boot_guard(host: Host, fixture: str = "one-node") -> None:
    """After three failed boots only proven instances get pages, until a reload; a daemon that is restarted in the
    same boot decides the same."""
    host.config("20-pg.conf", PG)
    host.config("30-new.conf", "[Instance]\nPages=50\n")
    host.config(".proven", PROVEN)
    host.config(".boots", boots(3, "earlier"))
    daemon = host.start()
    check(host.pool(0) == 1000, "only the proven instance has pages")
    check(host.verdicts() == {"pg": "ready", "new": "refused"}, str(host.verdicts()))
    expect(host.ctl("wait", "new"), 1, "3 boots in a row have failed")
    held = host.status()["instances"]
    check([each["reasonId"] for each in held] == ["boot-guard", None], str(held))
    plan = json.loads(host.ctl("--json=short", "plan").stdout)
    check([each["to"] for each in plan["steps"]] == [1050], "the plan shows the steps of a reload")
    check([each["reasonId"] for each in plan["instances"]] == [None, None], str(plan))
    check([each["id"] for each in plan["problems"]] == ["boot-guard"], str(plan))
    check(host.call("Plan")["parameters"] == plan, "the daemon's plan is the same")

    host.config("30-new.conf", "[Instance]\nPages=fifty\n")
    host.reload(1)
    check(ledger(host, "hugeplan-ledger")[0][3] == "closed", "a refused reload does not open the guard")
    host.config("30-new.conf", "[Instance]\nPages=50\n")

    host.kill(daemon)
    host.config(".boots", boots(0, "earlier"))  # the boot went well
    daemon = host.start()
    check(host.pool(0) == 1000, "a restarted daemon keeps the guard closed")
    host.config(".boots", boots(3, "earlier"))
    host.reload()
    check(host.pool(0) == 1050, "a reload opens the guard")
    wait_until("the reset count of failed boots", lambda: failed_boots(host) == 0)
    host.kill(daemon)
    host.start()
    check(host.pool(0) == 1050, "the guard stays open")
    plan = json.loads(host.ctl("--json=short", "plan").stdout)
    check(plan["steps"] == [] and plan["problems"] == [], str(plan))


def test_login_limits(host: Host, fixture: str = "one-node") -> None:
    """Limits of logins follow the plan; a file that cannot be read keeps its limits."""
    limits = host.path("etc/security/limits.d/60-hugeplan.conf")

    def text() -> str:
        return limits.read_text() if limits.is_file() else ""

    host.config("20-pg.conf", PG)
    host.config("30-ora.conf", ORACLE)
    for name in "passwd", "group":
        host.write(f"etc/{name}", "root:x:0:0::/root:/bin/sh\noracle:x:54321:54321::/:/bin/sh\nhugetlb:x:999:\n")
    daemon = host.start()
    time.sleep(0.1)
    check(not limits.parent.parent.exists(), "without pam_limits' directory no limits are written")
    limits.parent.mkdir(parents=True)
    host.reload()
    wait_until("the file of limits", lambda: "oracle hard memlock 204800\n" in text())
    check(limits.stat().st_mode & 0o777 == 0o644 and "postgres" not in text(), text())
    written = limits.stat()
    host.kill(daemon)
    host.config("30-ora.conf", ORACLE + "Bogus=1\n")
    daemon = host.start()
    time.sleep(0.2)
    check(limits.stat().st_ino == written.st_ino, "limits of an instance whose file has a mistake stay")
    host.config("30-ora.conf", ORACLE.replace("100", "200"))
    host.reload()
    wait_until("the new limit", lambda: "oracle hard memlock 409600\n" in text())
    host.remove_config("30-ora.conf")
    limits.unlink()
    (limits / "in-the-way").mkdir(parents=True)
    host.reload()
    wait_until("the error of the removal", lambda: "cannot remove" in host.log(daemon))
    host.reload()
    time.sleep(0.2)
    check(host.log(daemon).count("cannot remove") == 1, "the error is logged once")
    shutil.rmtree(limits)
    limits.write_text("# of before\n")
    host.reload()
    wait_until("the removal of limits that no instance needs", lambda: not limits.exists())


def test_problems_are_logged_once(host: Host, fixture: str = "one-node") -> None:
    """A problem of the host is logged when it appears, and not again in every round."""
    host.config("10-mssql.conf", "[Instance]\nEngine=mssql\n")
    host.config("20-pg.conf", PG + "TransparentHugePages=never\n")
    preference = "prefers 'never', but the host gets 'always'"
    daemon = host.start()
    host.reload()
    check(host.log(daemon).count(preference) == 1, host.log(daemon))
    host.config("00-host.conf", "[Host]\nTransparentHugePages=never\n")
    host.reload()
    check(host.log(daemon).count("prefers 'always'") == 1, "the other instance's preference is logged instead")
    host.remove_config("00-host.conf")
    host.reload()
    check(host.log(daemon).count(preference) == 2, "a problem that appears again is logged again")


@contextlib.contextmanager
def opens_in(directory: pathlib.Path) -> Iterator[collections.Counter[bytes]]:
    """How often any process opens each file of DIRECTORY, and DIRECTORY itself (""), meanwhile."""
    opened, closed = 0x20, 0x10  # IN_OPEN, IN_CLOSE_NOWRITE: inotify(7) merges equal events in a row, so both are watched
    counts: collections.Counter[bytes] = collections.Counter()
    libc = ctypes.CDLL(None)
    descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        check(libc.inotify_add_watch(descriptor, os.fsencode(directory), opened | closed) >= 0, f"{directory} is watched")
        yield counts
        with contextlib.suppress(BlockingIOError):
            while True:
                events, at = os.read(descriptor, 65536), 0
                while at < len(events):
                    mask, length = struct.unpack_from("4xI4xI", events, at)
                    counts[events[at + 16:at + 16 + length].rstrip(b"\0")] += bool(mask & opened)
                    at += 16 + length
    finally:
        os.close(descriptor)


def test_many_are_ready(host: Host, fixture: str = "one-node") -> None:
    """Many instances that become ready at once share a journal entry; one that is not ready has its own. A reload reads
    each file a few times, and not once for each instance."""
    for number in range(510):  # an entry has 500 names at most
        host.config(f"10-db{number}.conf", "[Instance]\nPages=1\nPageSize=2M\n")
    host.config("20-large.conf", "[Instance]\nMemory=64T\nPageSize=2M\n")
    daemon = host.start()
    check("500 instances are ready" in host.log(daemon) and "10 instances are ready" in host.log(daemon)
          and "db3: ready" not in host.log(daemon), host.log(daemon))
    check("large: refused" in host.log(daemon), host.log(daemon))
    host.remove_config("10-db10.conf")
    host.config("30-small.conf", "[Instance]\nPages=1\nPageSize=2M\n")
    with opens_in(host.path(CONFIG)) as opens:
        host.reload(0, 3)
    check(len(opens) > 500 and max(opens.values()) <= 9, f"a reload opens {opens.most_common(3)}")
    check("small: ready" in host.log(daemon), "the only new instance is named")


def test_client_rights(host: Host, fixture: str = "one-node") -> None:
    """Every user may read the status; only root may change the plan."""
    need_root()
    host.config("20-pg.conf", PG)
    host.start()
    os.chmod(host.root.parent, 0o755)

    def call(method: str) -> dict:
        message = f'{{"method":"org.hugeplan.Manager.{method}"}}\0'.encode()
        asked = as_user(65534, lambda: read_reply(call_many(str(host.path(SOCKET)), 1, message)[0]))
        reply = os.read(asked[1], 1 << 20)
        end_process(*asked)
        return json.loads(reply[:-1])

    check(call("Describe")["parameters"]["host"]["verdict"] == "ready", "the user nobody may read the status")
    for method in ("Reload", "Release", "Learn"):
        check(call(method).get("error") == "org.varlink.service.PermissionDenied", f"the user nobody may not call {method}")


def test_release(host: Host, fixture: str = "one-node") -> None:
    """Released pages are given back, and stay so until a reload."""
    host.config("20-pg.conf", PG)
    daemon = host.start()
    check((done := host.ctl("release", "pg")).returncode == 0, done.stderr)
    check(host.pool(0) == 0, "the released pages are given back")
    check(host.verdicts() == {"pg": "refused"}, str(host.verdicts()))
    check(host.ctl("release", "nobody").returncode == 4, "an unknown instance cannot be released")
    host.stop(daemon)
    host.start()
    check(host.pool(0) == 0, "the instance stays released when the daemon is restarted")
    host.reload()
    check(host.pool(0) == 1000, "a reload ends the release")


def test_release_hides_nothing(host: Host, fixture: str = "one-node") -> None:
    """`plan` and `check` judge the next reload as if nothing was released, and mention the release."""
    host.config("20-pg.conf", PG)
    host.start()
    host.ctl("release", "pg")
    plan, check_now = host.ctl("plan"), host.ctl("check")
    released = "notice: /etc/hugeplan.d/20-pg.conf: pg was given back by 'hugeplanctl release'"
    check("+1,000" in plan.stdout and released in plan.stdout, plan.stdout)
    check(check_now.returncode == 0 and "hurting at the next start: 0" in check_now.stdout, check_now.stdout)
    check("notice [released]: /etc/hugeplan.d/20-pg.conf" in check_now.stdout, check_now.stdout)
    host.config("20-pg.conf", PG.replace("1000", "30720"))  # 60G, more than the host's memory
    plan = host.ctl("plan")
    lasting = "pg: 30,720 pages of 2M (60G) do not fit"
    check(lasting in plan.stdout and released in plan.stdout, plan.stdout)
    check(host.ctl("check").returncode == 3, "a shortage at the next start hurts")
    check(lasting.removeprefix("pg: ") in host.ctl("explain", "pg").stdout, "`explain` has the same text")
    expect(host.ctl("reload"), 0, lasting.removeprefix("pg: "))


def test_plan_foresees(host: Host, fixture: str = "one-node") -> None:
    """`reload` is refused for the reason that `plan` has shown, in the same words."""
    host.config("20-pg.conf", PG)
    host.start()
    host.config("20-pg.conf", PG.replace("1000", "30720"))
    plan = host.ctl("plan")
    first = json.loads(host.ctl("--json=short", "plan").stdout)["problems"][0]
    check(host.call("Plan")["parameters"]["problems"][0] == first, "the daemon's plan is the same")
    done = host.ctl("reload")
    words = "pg is ready, and would no longer be allowed to start: 30,720 pages of 2M (60G) do not fit"
    check(plan.returncode == done.returncode == 3, f"{plan.returncode} {done.returncode}")
    for text in (plan.stdout, done.stderr, first["text"]):
        check(words in " ".join(text.split()), text)
    check("A reload would be refused; see 'hugeplanctl reload --force'." in plan.stdout, plan.stdout)
    check(host.pool(0) == 1000 and host.verdicts() == {"pg": "ready"}, "a refused reload changes nothing")
    host.config("20-pg.conf", PG.replace("1000", "many"))
    plan = host.ctl("plan")
    check("A reload would be refused: the configuration has mistakes." in plan.stdout, plan.stdout)
    host.config("20-pg.conf", PG)
    check(host.ctl("plan").returncode == 0, "the plan in effect has no problem")
    host.config("20-pg.conf", PG.replace("1000", "30720"))
    host.ctl("reload", "--force")
    check(host.verdicts() == {"pg": "refused"}, "--force carries out the refused plan")


def test_nagios(host: Host, fixture: str = "one-node") -> None:
    """A monitoring plugin gets one line with an exit code, and Prometheus a complete file."""
    host.config("20-pg.conf", PG)
    host.start()
    done = host.ctl("status", "--nagios")
    check(done.returncode == 0 and done.stdout.startswith("HUGEPLAN OK - 1 of 1 ready | "), done.stdout)
    check(" 'granted pg'=2097152000B;;;0;2097152000 " in done.stdout and done.stdout.count("\n") == 1, done.stdout)
    host.config("30-large.conf", "[Instance]\nPages=999999\n")
    host.ctl("reload")
    done = host.ctl("status", "--nagios")
    check(done.returncode == 2 and done.stdout.startswith("HUGEPLAN CRITICAL - 1 of 2 ready; large "), done.stdout)
    done = host.ctl("status", "--nagios", "pg")
    check(done.returncode == 0 and "large" not in done.stdout, done.stdout)
    written = host.path("metrics/hugeplan.prom")
    check(host.ctl("metrics", str(written)).returncode == 1 and not written.parent.exists(), "no directory is made")
    written.parent.mkdir()
    done = host.ctl("metrics", str(written))
    check(done.returncode == 0 and done.stdout == "", done.stdout + done.stderr)
    check([path.name for path in written.parent.iterdir()] == [written.name], "no draft of the file is left behind")
    check("hugeplan_daemon_reached 1\n" in written.read_text() and written.read_text().endswith("# EOF\n"),
          written.read_text())


MARIADB = "etc/mysql/my.cnf"
LEARNED = f"{CONFIG}/20-db.conf.d/90-learned.conf"


def mariadb(pool: str) -> str:
    return f"[mysqld]\nlarge_pages=ON\ninnodb_buffer_pool_size={pool}\n"


def learned(host: Host) -> int:
    """The pages of 2M in the file of learned sizes; 0 without the file."""
    if not host.path(LEARNED).exists():
        return 0
    match = re.search(r"^Pages=2M:(\d+)$", host.path(LEARNED).read_text(), re.MULTILINE)
    check(match is not None, host.path(LEARNED).read_text())
    return int(match[1])


def start_db(host: Host) -> subprocess.CompletedProcess[str]:
    """The gate of db, as systemd starts it."""
    return host.gate("mariadb.service", "db")


def test_gate_learns(host: Host, fixture: str = "one-node") -> None:
    """The gate determines the size and the reservation grows before the start; the daemon stores the size."""
    host.config("20-db.conf", "[Instance]\nEngine=mariadb\n")
    daemon = host.start()
    expect(start_db(host), 1, "its size is not known")
    check(not host.path(LEARNED).exists(), "without an option file no size is stored")
    # The data disk is mounted.
    host.write(MARIADB, mariadb("1G"))
    check(start_db(host).returncode == 0, "the gate passes")
    wait_until("the stored size", host.path(LEARNED).exists)
    first = learned(host)
    wait_until("the log of the size", lambda: f"learned its size: {first} pages" in host.log(daemon))
    check(first > 512 and host.pool(0) == first, f"{first} pages, {host.pool(0)} reserved")
    # A gate that determines the same size writes and prints nothing.
    written = [host.path(LEARNED), host.pool_path(0)]
    stamps = [path.stat().st_mtime_ns for path in written]
    done = start_db(host)
    check(done.returncode == 0 and done.stderr == "", done.stderr)
    check([path.stat().st_mtime_ns for path in written] == stamps, "nothing is written")
    # The buffer pool is raised.
    host.write(MARIADB, mariadb("2G"))
    check(start_db(host).returncode == 0, "the gate passes")
    wait_until("the log of the size", lambda: f"before it was {first} pages of 2M, an estimate" in host.log(daemon))
    second = learned(host)
    check(second > first + 500 and host.pool(0) == second, f"{second}, {host.pool(0)} reserved")
    # The buffer pool is lowered.
    host.write(MARIADB, mariadb("1G"))
    check(start_db(host).returncode == 0, "the gate passes")
    wait_until("the lower size", lambda: learned(host) == first and host.pool(0) == first)
    # A caller outside of the unit does not determine the size.
    host.write(MARIADB, mariadb("2G"))
    check(host.ctl("wait", "db").returncode == 0 and learned(host) == first, f"{learned(host)} pages are learned")


def test_learned_at_boot(host: Host, fixture: str = "one-node") -> None:
    """In early boot, when the database's files are not mounted yet, the learned size is reserved."""
    host.config("20-db.conf", "[Instance]\nEngine=mariadb\n")
    host.write(MARIADB, mariadb("1G"))
    daemon = host.start()
    check(start_db(host).returncode == 0, "the gate passes")
    wait_until("the stored size", host.path(LEARNED).exists)
    pages = learned(host)
    host.stop(daemon)
    host.path(LEDGER).unlink()
    host.set_pool(0, 0)
    host.path(MARIADB).unlink()
    host.start()
    check(host.pool(0) == pages, f"{host.pool(0)} of {pages} pages")
    # When the size cannot be determined, the gate uses the last one and says so.
    expect(start_db(host), 0, stderr=f"; it gets {pages} pages of 2M as before")
    check(learned(host) == pages and host.pool(0) == pages, f"{learned(host)}, {host.pool(0)}")
    # A broken 90-learned.conf is replaced, and is not reported as the administrator's mistake.
    host.write(LEARNED, "[Instance]\nPages=nonsense\n")
    host.write(MARIADB, mariadb("1G"))
    host.reload()
    check(learned(host) == pages and host.pool(0) == pages, f"{learned(host)}, {host.pool(0)}")


def test_learned_on_reload(host: Host, fixture: str = "one-node") -> None:
    """`reload` determines the size of a new instance before its database is restarted."""
    host.start()
    host.write(MARIADB, mariadb("1G"))
    host.config("20-db.conf", "[Instance]\nEngine=mariadb\n")
    expect(host.ctl("reload"), 0, stderr="learned its size:")
    pages = learned(host)
    check(pages > 512 and host.pool(0) == pages, f"{pages}, {host.pool(0)} reserved")
    # A learned size stays until the next start.
    host.write(MARIADB, mariadb("2G"))
    host.reload()
    check(host.pool(0) == pages and learned(host) == pages, f"{host.pool(0)}")
    # `learn` and `wait` by hand learn nothing while the database runs.
    group = host.path("sys/fs/cgroup/system.slice/mariadb.service")
    group.mkdir(parents=True, exist_ok=True)
    (group / "cgroup.procs").write_text("1\n")
    check(host.ctl("learn", "db").returncode == 0 and host.ctl("wait", "db").returncode == 0, "the instance has its pages")
    check(host.pool(0) == pages and learned(host) == pages, f"{host.pool(0)}")


SEEN = f"{CONFIG}/20-own.conf.d/90-learned.conf"


def set_mapped(host: Host, kib: int, is_huge: bool) -> None:
    """Two processes of own.service that share a segment of KIB; with 0 none."""
    group = "sys/fs/cgroup/system.slice/own.service/cgroup.procs"
    if kib == 0:
        shutil.rmtree(host.path(group).parent)
        return
    start = 0x7F0000000000
    line = f"{start:x}-{start + kib * 1024:x} rw-s 00000000 00:{11 if is_huge else 1} 7    "
    line += "/anon_hugepage (deleted)\n" if is_huge else "/dev/zero (deleted)\n"
    for pid in (5001, 5002):
        host.write(f"proc/{pid}/maps", line)
        pages = kib // (2048 if is_huge else 4)
        host.write(f"proc/{pid}/numa_maps", f"{start:x} default {'huge ' if is_huge else ''}dirty={pages} N0={pages} "
                                            f"kernelpagesize_kB={2048 if is_huge else 4}\n")
        host.write(f"proc/{pid}/status", f"Name:\town\nVmSize:\t{kib} kB\n"
                                         f"HugetlbPages:\t{kib if is_huge else 0} kB\n")
        host.write(f"proc/{pid}/cmdline", "/opt/own\0--size=1\0")
    host.write(group, "5001\n5002\n")


def seen(host: Host) -> tuple[int, bool]:
    """The pages of 2M that were measured, by the file of learned sizes, and whether they are exact."""
    if not host.path(SEEN).exists():
        return 0, False
    text = host.path(SEEN).read_text()
    match = re.search(r"^X-Seen=2M:(\d+)$", text, re.MULTILINE)
    return int(match[1]) if match else 0, "X-SeenExact=yes" in text


def learn_own(host: Host) -> subprocess.CompletedProcess[str]:
    """`hugeplanctl learn` while own.service runs, which succeeds also if it measures nothing new."""
    return expect(host.ctl("learn", "own"), 0)


def start_own(host: Host) -> subprocess.CompletedProcess[str]:
    """`learn` while own.service does not run, which fails; then the gate."""
    check(host.ctl("learn", "own").returncode == 1, "`learn` exits with 1 if it learns nothing")
    return host.gate("own.service", "own")


def test_seen(host: Host, fixture: str = "one-node") -> None:
    """An instance without a rule for its size gets at its next start what it had mapped before."""
    host.config("20-own.conf", "[Instance]\nMemory=auto\nUnit=own.service\n")
    daemon = host.start()
    expect(start_own(host), 0, stderr="before it has run once")
    check(host.verdicts() == {"own": "degraded"} and host.pool(0) == 0, f"{host.verdicts()}")
    # Memory in small pages gives an estimate.
    set_mapped(host, 299 * 1024, False)
    done = learn_own(host)
    check("150 pages of 2M, an estimate" in done.stderr, done.stderr)
    check(seen(host) == (150, False), f"{seen(host)}")
    set_mapped(host, 0, False)
    done = start_own(host)
    check(done.returncode == 0 and host.pool(0) == 150, f"{host.pool(0)} {done.stderr}")
    # Memory in huge pages gives an exact size. The same size again is neither written nor printed.
    set_mapped(host, 300 * 1024, True)
    learn_own(host)
    check(seen(host) == (150, True), f"{seen(host)}")
    stamp = host.path(SEEN).stat().st_mtime_ns
    check("measured:" not in learn_own(host).stderr, "the same size is not printed again")
    check(host.path(SEEN).stat().st_mtime_ns == stamp, "the same size is not written again")
    done = host.ctl("explain", "own")
    check("In effect: 150 pages of 2M, measured: exact" in done.stdout, done.stdout)
    # A program that maps small pages while huge pages are free does not request huge pages.
    set_mapped(host, 100 * 1024, False)
    host.path("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages").write_text("150\n")
    done = host.ctl("learn", "own")
    check("it does not request huge pages" in done.stderr and seen(host) == (150, True), done.stderr)
    set_mapped(host, 0, False)
    # The next boot reserves the measured size before the unit starts.
    host.stop(daemon)
    host.path(LEDGER).unlink()
    host.set_pool(0, 0)
    host.start()
    check(host.pool(0) == 150 and host.verdicts() == {"own": "ready"}, f"{host.pool(0)}")
    # Pages= overrides the measured size; the gate says that it is too small.
    host.config("20-own.conf", "[Instance]\nPages=149\nUnit=own.service\n")
    host.reload()
    check(host.pool(0) == 149, f"{host.pool(0)}")
    done = expect(host.ctl("wait", "own"), 0, stderr="too small: it had mapped 150 pages")
    # The remedy does not name the measured size, because the program may need more now.
    check("write Memory=auto" in done.stderr and "Pages=2M:150" not in done.stderr, done.stderr)
    host.write(f"{CONFIG}/20-own.conf.d/90-learned.conf", "[Instance]\nPages=2M:152\nX-Exact=yes\n")
    expect(host.ctl("wait", "own"), 0, stderr="itself requires 152 pages")


def test_etc_cannot_be_written(host: Host, fixture: str = "one-node") -> None:
    """A size that cannot be stored is reserved all the same."""
    host.config("20-db.conf", "[Instance]\nEngine=mariadb\n")
    host.write(f"{CONFIG}/20-db.conf.d", "in the way")
    host.start()
    host.write(MARIADB, mariadb("1G"))
    expect(host.ctl("learn", "db"), 1, "the learned size is not stored: ")
    check(host.ctl("wait", "db").returncode == 0, "the gate passes")
    pages = host.pool(0)
    check(pages > 512, f"{pages} pages")


def test_gate_learns_alone(host: Host, fixture: str = "one-node") -> None:
    """Without a daemon the gate decides by the size that it has determined; only root can store the size."""
    host.config("20-db.conf", "[Instance]\nEngine=mariadb\n")
    host.write(MARIADB, mariadb("1G"))
    expect(start_db(host), 1, "of its pages are not free")
    check(not host.path(LEARNED).exists() and host.ctl("learn", "db").returncode == 0, "only `learn` stores the size")
    pages = learned(host)
    host.set_pool(0, pages)
    check(pages > 512 and start_db(host).returncode == 0, "the gate passes")
    # The buffer pool is raised, and the additional pages do not exist.
    host.write(MARIADB, mariadb("2G"))
    expect(start_db(host), 1, "of its pages are not free")


def make_groups(host: Host, *units: str) -> None:
    """Control groups as systemd makes them with the hugetlb controller, without a limit."""
    host.write("sys/fs/cgroup/cgroup.controllers", "cpu hugetlb memory\n")
    for group in ("", "/system.slice"):
        host.write(f"sys/fs/cgroup{group}/cgroup.subtree_control", "hugetlb memory\n")
    for unit in units:
        for size in ("1GB", "2MB"):
            host.write(f"sys/fs/cgroup/system.slice/{unit}/hugetlb.{size}.rsvd.max", "max\n")


def test_learn(host: Host, fixture: str = "one-node") -> None:
    """A size that is reported by Learn() is in effect at once, within bounds, and stored."""
    host.config("20-db.conf", "[Instance]\nEngine=mariadb\n")
    host.config("30-fixed.conf", "[Instance]\nPages=10\n")
    daemon = host.start()

    def learn(name: str, *counts: tuple[int, int], **more: object) -> dict:
        pages = [{"pageSizeBytes": size, "pages": number} for size, number in counts]
        return host.call("Learn", {"instance": name, "learned": {"pages": pages, "exact": True, **more}})

    reply = learn("db", (2 * MIB, 700))
    check(reply["parameters"]["instance"]["pagesGranted"] == 700, str(reply))
    check(host.pool(0) == 710, str(host.pool(0)))
    before = host.kernel_files()
    check(learn("db", (2 * MIB, 700))["parameters"]["instance"]["verdict"] == "ready", "the same size again")
    changed = run_cases.compare_trees("the same size again", before, host.kernel_files())
    check(not changed, "".join(changed))
    # A size above the host's memory, or above the share for learned sizes, is refused; the previous one stays.
    for pages in (9999999, 6500):
        reply = learn("db", (2 * MIB, pages))
        check(reply["parameters"]["instance"]["reasonId"] == "beyond-bound", str(reply))
        check(host.verdicts()["db"] == "refused" and host.pool(0) == 710, str(host.pool(0)))
        check(f"it is {pages:,} pages" in reply["parameters"]["unkept"] and learned(host) == 700, str(reply))
    check(learn("db", (2 * MIB, 20))["parameters"]["instance"]["verdict"] == "ready", "a smaller size")
    check(host.pool(0) == 30, str(host.pool(0)))
    reply = learn("db", (2 * MIB, 0))  # unit/demand/lies.stories has further invalid sizes
    check(reply.get("error") == "org.varlink.service.InvalidParameter", str(reply))
    check(reply["parameters"]["parameter"] == "learned", str(reply))
    check(learn("nobody", (2 * MIB, 1)).get("error") == "org.hugeplan.Manager.NoSuchInstance", "an unknown instance")
    check(learn("fixed", (2 * MIB, 1))["parameters"]["parameter"] == "instance", "a fixed size")
    check(host.pool(0) == 30, "no invalid size has an effect")
    # The size of an instance that no reload has read yet is stored.
    host.config("40-new.conf", "[Instance]\nEngine=mariadb\nUnit=new.service\n")
    reply = learn("new", (2 * MIB, 5))
    check(reply["parameters"] == {"instance": None, "unkept": None}, str(reply))
    host.reload()
    check(host.pool(0) == 35, str(host.pool(0)))
    # A size that cannot be stored stays in effect over reloads, until the daemon ends.
    host.path(LEARNED).unlink()
    host.path(LEARNED).mkdir()
    reply = learn("db", (2 * MIB, 40))
    check(bool(reply["parameters"]["unkept"]), str(reply))
    host.reload()
    check(host.pool(0) == 55, str(host.pool(0)))
    host.stop(daemon)
    host.start()
    check(host.verdicts() == {"db": "refused", "fixed": "ready", "new": "ready"}, str(host.verdicts()))


def test_no_configuration(host: Host, fixture: str = "one-node") -> None:
    """A daemon without a configuration changes nothing."""
    before = host.kernel_files()
    daemon = host.start()
    check(host.ctl("status").returncode == 0, "without a configuration there is no problem")
    check(host.ctl("wait", "pg").returncode == 4, "pg is unknown")
    host.stop(daemon)
    changed = run_cases.compare_trees("no configuration", before, host.kernel_files())
    check(not changed, "".join(changed))


def test_no_hugetlb(host: Host, fixture: str = "no-hugetlb") -> None:
    """On a kernel without huge pages units start without them, also with Isolate=yes; a mistake is still reported."""
    host.config("20-pg.conf", f"{PG}Isolate=yes\n")
    host.config("30-wrong.conf", "[Instance]\nPages=x\nUnit=wrong.service\n")
    daemon = host.start()
    check(host.verdicts() == {"pg": "aside", "wrong": "invalid"}, str(host.verdicts()))
    check(host.status()["host"].items() >= {"verdict": "invalid", "transparentHugePages": "never"}.items(), "the host's verdict is the worst one")
    for _ in range(2):
        expect(host.gate("pg.service", "pg"), 0, stderr="pg: aside: this kernel has no huge pages")
        check("pg.service" not in host.log(daemon), host.log(daemon))
    check(host.gate("wrong.service", "wrong").returncode == 1, "the instance with a mistake is refused")
    host.reload(1)
    host.remove_config("30-wrong.conf")
    check("pg: aside" in (said := host.reload().stdout), said)


def test_report(host: Host, fixture: str = "two-nodes-hole") -> None:
    """"before" of a report is what the first daemon of this boot found, also after a reload and a restart."""
    host.set_pool(0, 24)
    host.config("20-pg.conf", PG)
    daemon = host.start()
    host.config("30-small.conf", SMALL)
    host.reload()
    host.stop(daemon)
    host.start()
    done = host.ctl("--json=short", "report")
    check(done.returncode == 0 and not done.stderr, done.stderr)
    report = json.loads(done.stdout)
    before = {(pool["node"], pool["pageSizeBytes"]): pool["pages"] for pool in report["before"]}
    pools = {pool["node"]: (before.get((pool["node"], pool["pageSizeBytes"]), 0), pool["total"], pool["owned"])
             for pool in report["status"]["pools"] if pool["pageSizeBytes"] == 2 << 20}
    check((pools[0], pools[2]) == ((24, 500, 500), (0, 510, 510)), done.stdout)
    check(report["status"]["host"]["phase"] == "idle", done.stdout)
    check(all(finding["severity"] != "error" for finding in report["findings"]), done.stdout)


def test_reading_changes_nothing(host: Host, fixture: str = "busy") -> None:
    """Verbs that only read change no file while a daemon runs."""
    host.config("20-pg.conf", PG)
    host.config("40-large.conf", "[Instance]\nPages=999999\n")
    host.config("00-host.conf", "[Host]\nReserveTimeout=1s\n")
    host.start()
    wait_until("the last round", lambda: host.status()["host"]["phase"] == "idle")
    before = host.kernel_files()
    state = run_cases.snapshot(host.path("run/hugeplan"))
    for arguments in (["plan"], ["check"], ["status"], ["explain", "pg"],
                      ["--json=short", "plan"], ["status", "large"], ["--json=short", "report"]):
        host.ctl(*arguments)
    changed = run_cases.compare_trees("reading", before, host.kernel_files())
    changed += run_cases.compare_trees("reading", state, run_cases.snapshot(host.path("run/hugeplan")))
    check(not changed, "".join(changed))


def run_test(programs: argparse.Namespace, function: Callable[..., None]) -> None:
    with host_of(programs, inspect.signature(function).parameters["fixture"].default) as host:
        function(host)


def main(functions: dict[str, object], n_at_once: int = 1) -> int:
    """Runs the functions test_* of a module, N_AT_ONCE at a time."""
    programs = common.parser(str(functions["__doc__"]), "hugepland", "hugeplanctl", "shim", rest="tests").parse_args()
    tests = common.tests_in(functions, programs.tests)
    with concurrent.futures.ThreadPoolExecutor(n_at_once) as pool:
        return common.summary_of(list(pool.map(
            lambda name: common.passes(name, lambda: run_test(programs, tests[name])), tests)))


if __name__ == "__main__":
    sys.exit(main(globals(), n_at_once=4))
