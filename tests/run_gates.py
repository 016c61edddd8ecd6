#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who is believed to start: gates, and what only says that it is one, on unpacked fixture hosts with a
systemd of the test's own, which says of the units what the test has it say; and gates beside many others.

usage: run_gates.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --shim=LIBRARY [TEST...]
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from common import PATIENCE, Failure, check, wait_until
from run_daemon import (CONFIG, LEDGER, MIB, PROVEN, SOCKET, Host, Server, as_user, boots, call_many, end_user, failed_boots,
                        hear, ledger, main, replace, unlimited)

GROUPS = "sys/fs/cgroup/system.slice"
BOOT_TARGET = "multi-user.target"
CHECK = "hugeplan-check.service"
PG = "[Instance]\nPages=100\nUnit=pg.service\n"


# ---- a systemd of sorts ----

def align(body: bytes, to: int) -> bytes:
    return body + b"\0" * (-len(body) % to)


def marshal(kind: str, value: object) -> bytes:
    """At an offset that is a multiple of 8."""
    if kind in ("s", "o"):
        text = str(value).encode()
        return struct.pack("<I", len(text)) + text + b"\0"
    if kind == "ay":
        return struct.pack("<I", len(bytes(value))) + bytes(value)  # type: ignore[arg-type]
    if kind.startswith("a"):  # of which there is nothing
        return align(struct.pack("<I", 0), 8 if kind.startswith("a(") else 4)
    return struct.pack({"u": "<I", "b": "<I", "i": "<i", "t": "<Q"}[kind], value)


def variant(kind: str, value: object) -> bytes:
    signature = bytes([len(kind)]) + kind.encode() + b"\0"
    if kind == "t" or not kind.startswith("a("):
        signature = align(signature, 8 if kind == "t" else 4)
        # What is marshalled for an offset of 8 stands right at any multiple of 4.
        return signature + marshal(kind, value)
    return align(signature, 4) + struct.pack("<I", 0) + b"\0" * (-(len(align(signature, 4)) + 4) % 8)


def message(kind: int, fields: dict[int, tuple[str, object]], *values: tuple[str, object]) -> bytes:
    """A reply (2), an error (3) or a signal (4), with VALUES for a body."""
    body, header = b"", b""
    for signature, value in values:
        body = align(body, 4) + marshal(signature, value)
    signature = "".join(each for each, _ in values).encode()
    for code, (each, value) in fields.items():
        header = align(header, 8) + bytes([code, 1, ord(each), 0]) + marshal(each, value)
    header = align(header, 8) + bytes([8, 1, ord("g"), 0, len(signature)]) + signature + b"\0"
    start = struct.pack("<cBBBIII", b"l", kind, 1, 1, len(body), 99, len(header))
    return align(start + header, 8) + body


def texts_of(body: bytes, order: str) -> list[str]:
    texts, at = [], 0
    while at < len(body):
        at += -at % 4
        length = struct.unpack_from(f"{order}I", body, at)[0]
        texts.append(body[at + 4:at + 4 + length].decode())
        at += length + 5
    return texts


class Unit:
    """What systemd says of a unit."""

    def __init__(self, name: str) -> None:
        self.run = 1
        self.uid = 2**32 - 1
        self.policy, self.mask = -1, b""
        self.set("inactive", "dead")
        self.group = f"/system.slice/{name}"

    def set(self, active: str, sub: str, control: int = 0, main_pid: int = 0) -> None:
        self.active, self.sub, self.control, self.main = active, sub, control, main_pid

    def begin(self) -> None:
        """With this very process for a gate."""
        self.set("activating", "start-pre", control=os.getpid())

    def property(self, name: str) -> tuple[str, object]:
        known: dict[str, tuple[str, object]] = {
            "ActiveState": ("s", self.active), "SubState": ("s", self.sub),
            "InvocationID": ("ay", self.run.to_bytes(16, "big")), "ControlPID": ("u", self.control),
            "MainPID": ("u", self.main), "ControlGroup": ("s", self.group), "LoadState": ("s", "loaded"),
            "NeedDaemonReload": ("b", 0), "NUMAPolicy": ("i", self.policy), "NUMAMask": ("ay", self.mask),
            "LimitMEMLOCKSoft": ("t", 2**64 - 1), "AmbientCapabilities": ("t", 0), "UID": ("u", self.uid),
        }
        if name in ("ExecStartPre", "ExecStart"):
            return "a(sasbttttuii)", []
        if name in ("DropInPaths", "After", "SupplementaryGroups"):
            return "as", []
        return known.get(name, ("s", ""))


class Systemd(Server):
    """Answers, on its private socket, what is asked of its units' properties."""

    def __init__(self, host: Host, *units: str) -> None:
        super().__init__(host.path("run/systemd/private"))
        self.units = {name: Unit(name) for name in (*units, BOOT_TARGET)}
        self.is_mute = False
        self.n_asked = 0
        self.n_reread = 0
        self.on_start: Callable[[], object] = bool  # what generators do when all is read anew

    def serve(self, client: socket.socket) -> None:
        self.n_asked += 1
        with client, contextlib.suppress(OSError, struct.error):
            data = self.greet(client)
            while True:
                data = self.answer(client, data)
                more = client.recv(65536)
                if not more:
                    break
                data += more

    @staticmethod
    def greet(client: socket.socket) -> bytes:
        data = b""
        while b"BEGIN\r\n" not in data:
            data += client.recv(4096)
        words, rest = data.split(b"BEGIN\r\n", 1)
        for line in words.lstrip(b"\0").split(b"\r\n"):
            if line == b"AUTH EXTERNAL":
                client.sendall(b"DATA\r\n")
            elif line.startswith((b"AUTH", b"DATA")):
                client.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
            elif line:
                client.sendall(b"AGREE_UNIX_FD\r\n")
        return rest

    def answer(self, client: socket.socket, data: bytes) -> bytes:
        """Whole messages of DATA; what is left over is returned."""
        while len(data) >= 16:
            order = "<" if data[:1] == b"l" else ">"  # the sender's
            n_body, serial, n_fields = struct.unpack_from(f"{order}III", data, 4)
            start = 16 + n_fields + -n_fields % 8
            if len(data) < start + n_body:
                break
            header, body, data = data[:start], data[start:start + n_body], data[start + n_body:]
            if not self.is_mute and b"Properties" in header:
                client.sendall(self.reply(header, serial, texts_of(body, order)[1]))
            elif not self.is_mute and b"Reload" in header:
                self.n_reread += 1
                self.on_start()
                client.sendall(message(2, {5: ("u", serial)}))
        return data

    def reply(self, header: bytes, serial: int, name: str) -> bytes:
        found = re.search(rb"/org/freedesktop/systemd1/unit/(\w+)", header)
        assert found
        unit = re.sub(r"_([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), found[1].decode())
        kind, value = self.units[unit].property(name)
        body = variant(kind, value)
        fields = (b"\x05\x01u\0" + struct.pack("<I", serial) + b"\x08\x01g\0\x01v\0")
        return align(struct.pack("<cBBBIII", b"l", 2, 1, 1, len(body), serial, len(fields)) + fields, 8) + body


@contextlib.contextmanager
def systemd_of(host: Host, *units: str) -> Iterator[Systemd]:
    systemd = Systemd(host, *units)
    systemd.start()
    unlimited(host, *units)
    try:
        yield systemd
    finally:
        systemd.end()


@contextlib.contextmanager
def starting(host: Host, name: str = "pg.service") -> Iterator[tuple[subprocess.Popen[bytes], Systemd, Unit]]:
    """A daemon, and a systemd which says that NAME is being started, with this very process for a gate."""
    with systemd_of(host, name) as systemd:
        daemon = host.start()
        enter(host, name)
        systemd.units[name].begin()
        yield daemon, systemd, systemd.units[name]


# ---- a unit's owner ----

def enter(host: Host, unit: str) -> None:
    """From now on this very process is in the unit's group, as its owner's may be."""
    host.write(f"{GROUPS}/{unit}/cgroup.procs", f"{os.getpid()}\n")


class Pages:
    """2M pages of node 0 that a unit has mapped and touched."""

    def __init__(self, host: Host, unit: str) -> None:
        self.host, self.group, self.touched = host, f"{GROUPS}/{unit}", 0
        self.use(0, 0)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """As the kernel's counts change together: no daemon sees half of it, however long this takes."""
        with self.host.kernel.shared():
            running = [daemon for daemon in self.host.daemons if daemon.poll() is None]
            for daemon in running:
                daemon.send_signal(signal.SIGSTOP)
            try:
                yield
            finally:
                for daemon in running:
                    daemon.send_signal(signal.SIGCONT)

    def use(self, mapped: int, touched: int) -> None:
        host = self.host
        pool = host.pool_path(0).parent
        with self.at_once():
            free = int((pool / "free_hugepages").read_text()) + self.touched - touched
            check(free >= 0, "it touches what there is")
            replace(pool / "free_hugepages", f"{free}\n")
            host.write("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", f"{mapped - touched}\n")
            host.kernel.add_up(pool.name)
            host.write(f"{self.group}/hugetlb.2MB.rsvd.current", f"{mapped * 2 * MIB}\n")
            host.write(f"{self.group}/hugetlb.2MB.numa_stat", f"total={touched * 2 * MIB} N0={touched * 2 * MIB}\n")
        self.touched = touched


def holds(host: Host) -> list[tuple[str, str]]:
    """(instance, run) of what units were let start with; an instance's name stands for what it has still."""
    return [(instance, "" if run == "-" else run.lstrip("0"))
            for unit, run, policy, nodes, flags, instance, *_ in ledger(host, "hold")]


def wait_for(host: Host, name: str = "pg", **more: object) -> dict:
    return host.call("Wait", {"instance": name, **more})


# ---- the boot guard ----

def proven(host: Host) -> int:
    return sum(one["pages"] for one in json.loads(host.path(f"{CONFIG}/.proven.json").read_text())["proven"])


def test_boot_is_counted_before_it_reserves(host: Host, fixture: str = "one-node") -> None:
    """As long as the disk does not have the count, no page is reserved: for 15 s, or a disk that hangs would hold up
    the boot for ever. That this boot is not counted is said, until it is."""
    host.config("20-pg.conf", PG)
    host.config(".boots", boots(1, "earlier"))
    hung = host.path("hung")
    hung.touch()
    begun = time.monotonic()
    daemon = host.spawn(more_environment={"SHIM_HUNG": str(hung)})
    wait_until("it answers", lambda: host.status()["host"]["phase"] == "reserving")
    while time.monotonic() < begun + 14:
        check(host.pool(0) == 0 and failed_boots(host) in (1, 2), f"{host.pool(0)} pages after {time.monotonic() - begun} s")
        time.sleep(1)
    wait_until("the limit", host.is_idle)
    check(host.pool(0) == 100, f"{host.pool(0)} pages")
    check("the disk does not answer; this boot is not counted" in host.log(daemon), host.log(daemon))
    said = host.ctl("check").stdout
    check("boot-uncounted" in said and "the disk does not answer" in said, said)
    hung.unlink()
    wait_until("it is counted", lambda: "boot-uncounted" not in host.ctl("check").stdout)
    check(failed_boots(host) == 2, f"{failed_boots(host)}")


def test_boot_that_cannot_be_counted(host: Host, fixture: str = "one-node") -> None:
    """It is said at once, and by `check` until it could be counted."""
    host.config("20-pg.conf", PG)
    counted = host.path(f"{CONFIG}/.boots")
    daemon = host.start()
    check(failed_boots(host) == 1 and "not counted" not in host.log(daemon), host.log(daemon))
    host.kill(daemon)
    counted.unlink()
    counted.mkdir()
    daemon = host.start()
    check("this boot is not counted" in host.log(daemon) and host.pool(0) == 100, host.log(daemon))
    said = host.ctl("check").stdout
    check("boot-uncounted" in said and "Is a directory" in said, said)
    counted.rmdir()
    host.kill(daemon)
    host.start()
    check("boot-uncounted" not in host.ctl("check").stdout and failed_boots(host) == 1, "it was counted")


def test_boot_that_reserves_nothing(host: Host, fixture: str = "one-node") -> None:
    """In a rescue shell, and where nothing is described, nothing is counted."""
    counted = host.path(f"{CONFIG}/.boots")
    for line, text in (("rescue", PG), ("quiet", "[Host]\nKeepFree=5%\n")):
        host.write("proc/cmdline", f"{line}\n")
        host.config("20-pg.conf", text)
        daemon = host.spawn()
        wait_until("it is there", lambda: host.status()["host"]["phase"] in ("idle", "held back (rescue mode)"))
        check(host.ctl("reload").returncode == 0, "a reload")
        check(host.pool(0) == (100 if text == PG else 0) and not counted.exists(), f"{line}: {host.pool(0)}")
        host.stop(daemon)


def test_boot_is_good(host: Host, fixture: str = "one-node") -> None:
    """The count is taken back when multi-user.target was reached, which systemd says: it is asked when a process of
    hugeplan-check.service calls, and for nobody else."""
    host.config("20-pg.conf", PG)
    host.config(".proven.json", json.dumps(PROVEN))
    host.config(".boots", boots(1, "earlier"))
    with systemd_of(host, "pg.service", CHECK) as systemd:
        daemon = host.start()
        check(failed_boots(host) == 2, f"{failed_boots(host)}")
        wait_until("it has asked at its start", lambda: systemd.n_asked > 0)
        time.sleep(0.2)
        n_asked = systemd.n_asked
        target = systemd.units[BOOT_TARGET]
        target.set("active", "active")
        wait_for(host)
        time.sleep(0.2)
        check((systemd.n_asked, failed_boots(host)) == (n_asked, 2), "others than the check prove nothing")
        target.set("inactive", "dead")
        enter(host, CHECK)
        wait_for(host)
        wait_until("it asks", lambda: systemd.n_asked > n_asked)
        time.sleep(0.2)
        check((failed_boots(host), proven(host)) == (2, 1000), "nor does a check that somebody starts before")
        target.set("active", "active")
        wait_for(host)
        wait_until("the boot is good", lambda: (failed_boots(host), proven(host)) == (0, 100))
        n_asked = systemd.n_asked
        written = host.path(f"{CONFIG}/.boots").stat()
        host.kill(daemon)
        host.start()
        wait_for(host)
        time.sleep(0.2)
        now = host.path(f"{CONFIG}/.boots").stat()
        check((written.st_ino, written.st_mtime_ns) == (now.st_ino, now.st_mtime_ns), "it stays so, and nothing is written")


def test_boot_that_was_over(host: Host, fixture: str = "one-node") -> None:
    """A daemon that is started after the boot, by a package or because it failed, takes the count back by itself; what
    is proven stays until something was planned."""
    host.config("20-pg.conf", PG)
    host.config(".proven.json", json.dumps(PROVEN))
    host.config(".boots", boots(1, "earlier"))
    with systemd_of(host, "pg.service") as systemd:
        daemon = host.spawn(more_environment={"SHIM_PAUSE_MS": "20000"})
        wait_until("it reserves", lambda: host.pool(0) == 100)
        host.kill(daemon)
        check(failed_boots(host) == 2, "the daemon has failed before its plan was carried out")
        systemd.units[BOOT_TARGET].set("active", "active")
        host.set_pool(0, 0)
        daemon = host.spawn(more_environment={"SHIM_PAUSE_MS": "1500"})
        wait_until("the boot counts for none", lambda: failed_boots(host) == 1)
        check(proven(host) == 1000 and not host.is_idle(), "nothing is proven by what does not exist yet")
        wait_until("the boot is good", lambda: (failed_boots(host), proven(host)) == (0, 100))
        check("it does not count as failed" in host.log(daemon), host.log(daemon))


# ---- tests ----

def test_start_is_believed_once(host: Host, fixture: str = "one-node") -> None:
    """Whoever calls from within his unit while that is starting gets its pages once."""
    host.config("20-pg.conf", PG)
    with starting(host) as (_, _, unit):
        pages = Pages(host, "pg.service")
        for i in range(100):
            check("error" not in wait_for(host), "it passes")
            check(holds(host) == [("pg", "1")], str(holds(host)))
            check(host.pool(0) == 100, f"{host.pool(0)} pages at the call number {i}")
            mapped, touched = ((100, 0), (100, 100), (40, 40), (100, 60), (0, 0))[i % 5]
            pages.use(mapped, touched)
        # Its main process never says that it is ready.
        unit.set("activating", "start", main_pid=os.getpid())
        pages.use(100, 100)
        for _ in range(20):
            check("error" not in wait_for(host), "it passes")
        check(host.pool(0) == 100, f"{host.pool(0)} pages")
        # Another start is another start.
        pages.use(0, 0)
        unit.run = 2
        unit.begin()
        check("error" not in wait_for(host) and holds(host) == [("pg", "2")], str(holds(host)))
        check(host.pool(0) == 100, f"{host.pool(0)} pages")


def start_counted(host: Host, systemd: Systemd, mapped: int, touched: int) -> Pages:
    """It is let start, and maps what it takes."""
    enter(host, "pg.service")
    pages = Pages(host, "pg.service")
    host.write(f"{GROUPS}/pg.service/hugetlb.2MB.events", "max 0\n")
    host.write(f"{GROUPS}/pg.service/hugetlb.1GB.rsvd.current", "0\n")
    host.write(f"{GROUPS}/pg.service/hugetlb.1GB.numa_stat", "total=0 N0=0\n")
    systemd.units["pg.service"].begin()
    check("error" not in wait_for(host), "it passes")
    systemd.units["pg.service"].set("active", "running", main_pid=os.getpid())
    pages.use(mapped, touched)
    return pages


def test_count_is_kept(host: Host, fixture: str = "one-node") -> None:
    """What the kernel counts once that has come to rest is kept, and what was granted beyond it is given back."""
    host.config("20-pg.conf", "[Instance]\nEngine=postgresql\nUnit=pg.service\n")
    learned = host.path(f"{CONFIG}/20-pg.conf.d/90-learned.conf")
    host.write(f"{CONFIG}/20-pg.conf.d/90-learned.conf", "[Instance]\nPages=2M:120\nX-Version=14.5\n")
    with systemd_of(host, "pg.service") as systemd:
        daemon = host.start()
        check(host.pool(0) == 120, f"{host.pool(0)} pages by its rule")
        start_counted(host, systemd, 100, 40)
        wait_until("it is seen", lambda: "X-Seen=2M:100\nX-SeenExact=yes\n" in learned.read_text())
        wait_until("it is given back", lambda: host.pool(0) == 100)
        wait_until("it is said", lambda: "pg: measured: it has mapped 100 pages of 2M (" in host.log(daemon))
        wait_until("the round", host.is_idle)
        check("pg: was determined to need 100 pages of 2M (before: 120)" in host.log(daemon), host.log(daemon))
        instance = host.status()["instances"][0]
        check(instance["verdict"] == "ready" and instance["untilRestart"] is None and instance["running"], str(instance))
        text = learned.read_text()
        check("Pages=2M:120\nX-Version=14.5\n" in text and "X-SeenBase=2M:120\n" in text, text)
        check(holds(host) == [("pg", "1")], str(holds(host)))
        host.stop(daemon)
    host.start()
    check(host.pool(0) == 100, f"{host.pool(0)} pages at the next start of the daemon")


def test_count_of_a_slow_start(host: Host, fixture: str = "one-node") -> None:
    """What is mapped late is counted, however often the host is looked at before for what else the start does."""
    host.config("20-pg.conf", "[Instance]\nEngine=postgresql\nUnit=pg.service\n")
    host.write(f"{CONFIG}/20-pg.conf.d/90-learned.conf", "[Instance]\nPages=2M:120\nX-Version=14.5\n")
    events = host.path(f"{GROUPS}/pg.service/cgroup.events")
    with systemd_of(host, "pg.service") as systemd:
        events.write_text("populated 1\n")
        daemon = host.start()
        pages = start_counted(host, systemd, 0, 0)
        for _ in range(12):
            events.write_text("populated 1\n")
            time.sleep(0.2)
        pages.use(100, 40)
        wait_until("it is seen", lambda: "pg: measured: it has mapped 100 pages of 2M (" in host.log(daemon), 2 * PATIENCE)


def test_count_cannot_be_kept(host: Host, fixture: str = "one-node") -> None:
    """That is said once; what was counted counts all the same."""
    host.config("20-pg.conf", "[Instance]\nMemory=auto\nUnit=pg.service\n")
    host.write(f"{CONFIG}/20-pg.conf.d", "in the way")
    with systemd_of(host, "pg.service") as systemd:
        daemon = host.start()
        host.set_pool(0, 150)
        pages = start_counted(host, systemd, 100, 40)
        wait_until("it is seen", lambda: "pg: measured: it has mapped memory for 100 pages of 2M, an estimate (not stored)" in host.log(daemon))
        pages.use(0, 0)
        systemd.units["pg.service"].run = 2
        start_counted(host, systemd, 101, 40)
        wait_until("it is seen again", lambda: "pg: measured: it has mapped 101 pages" in host.log(daemon))
        check(host.log(daemon).count("the next boot will not know it") == 1, host.log(daemon))
        check(host.call("Describe")["parameters"]["instances"][0]["pagesWanted"] == 101, "it counts")


def test_gates_in_scripts(host: Host, fixture: str = "one-node") -> None:
    """A gate that a shell runs is the unit's, and so is one that a start script or the main process runs."""
    host.config("20-pg.conf", PG)
    with systemd_of(host, "pg.service") as systemd:
        host.start()
        unit = systemd.units["pg.service"]
        for control, sub in ((1, "start-pre"), (1, "condition"), (1, "start")):
            unit.run += 1
            unit.set("activating", sub, control=control)
            done = host.gate("pg.service", "pg")
            check(done.returncode == 0, done.stderr)
            check(holds(host) == [("pg", f"{unit.run:x}")], f"{sub}: {holds(host)}")


def test_who_does_not_start(host: Host, fixture: str = "one-node") -> None:
    """Who is in the unit's group, and is not what starts it, asks: nothing is booked for him."""
    host.config("20-pg.conf", PG)
    with starting(host) as (_, _, unit):
        pages = Pages(host, "pg.service")
        for state in (("active", "running", 0, os.getpid()), ("activating", "start", 0, 1),
                      ("activating", "start", 1, 2), ("activating", "auto-restart", 0, 0),
                      ("activating", "start-post", os.getpid(), 1), ("deactivating", "stop", 1, 1),
                      ("reloading", "reload", os.getpid(), 1)):
            unit.set(*state)
            for i in range(20):
                pages.use(i * 5, i * 5)
                check("error" not in wait_for(host), "the pages stand")
            check(host.pool(0) == 100 and holds(host) == [], f"{state}: {host.pool(0)} {holds(host)}")


def test_systemd_is_mute(host: Host, fixture: str = "one-node") -> None:
    """What cannot be known books no pages and ends no hold; and systemd is asked once at a time."""
    host.config("20-pg.conf", PG)
    with starting(host) as (daemon, systemd, _):
        pages = Pages(host, "pg.service")
        check("error" not in wait_for(host) and holds(host) == [("pg", "1")], str(holds(host)))
        pages.use(100, 100)
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            replies = list(pool.map(lambda _: wait_for(host), range(60)))
        check(not [reply for reply in replies if "error" in reply], "all are answered")
        systemd.is_mute, systemd.n_asked = True, 0
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            replies = list(pool.map(lambda _: wait_for(host), range(20)))
        check(not [reply for reply in replies if "error" in reply], "they are told how it is")
        check(systemd.n_asked <= 2, f"it was asked {systemd.n_asked} times by 20 gates")
        check(host.pool(0) == 100 and holds(host) == [("pg", "1")], f"{host.pool(0)} {holds(host)}")
        check("so the gate only checks" in host.log(daemon), host.log(daemon))


def test_memory_policy_of_a_late_node(host: Host, fixture: str = "two-nodes-hole") -> None:
    """Whose node had no memory when systemd read the units has no policy, so that its gate runs. Once the node is
    there systemd reads them anew, by itself and once; who starts waits for that, and starts with the policy."""
    host.config("20-pg.conf", PG + "Nodes=2\nPlacement=bind\n")
    dropin = "run/systemd/generator/pg.service.d/10-hugeplan.conf"
    host.write(dropin, "[Service]\n# Without NUMAPolicy=\n")
    is_read = threading.Event()

    def generate() -> None:
        check(is_read.wait(PATIENCE), "systemd is let read")
        host.write(dropin, "[Service]\nNUMAPolicy=bind\nNUMAMask=2\n")
        unit.policy, unit.mask = 2, b"\x04"

    with systemd_of(host, "pg.service") as systemd, concurrent.futures.ThreadPoolExecutor(1) as pool:
        unit, systemd.on_start = systemd.units["pg.service"], generate
        daemon = host.start()
        enter(host, "pg.service")
        unit.begin()
        waiting = pool.submit(wait_for, host)
        wait_until("systemd reads its units", lambda: systemd.n_reread == 1)
        time.sleep(0.3)
        check(not waiting.done() and holds(host) == [], "the gate waits for that")
        is_read.set()
        check("error" not in waiting.result(PATIENCE), str(waiting.result()))
        hold = ledger(host, "hold")[0]
        check(hold[2] == "bind", f"it starts bound: {hold}")
        host.ctl("reload")
        check(systemd.n_reread == 1, "it is asked once")
        host.stop(daemon)
        # A node that goes: with the policy nothing of the unit could be started.
        host.write("sys/devices/system/node/has_memory", "0\n")
        host.config("20-pg.conf", PG + "Nodes=2\nPlacement=bind\nWaitTimeout=1s\n")
        unit.run += 1
        host.start()
        reply = wait_for(host)
        check(systemd.n_reread == 2, "it is asked again")
        check(reply.get("error", "").endswith("TimedOut") and "node 2 has no memory" in str(reply), str(reply))
        check("/etc/hugeplan.d/20-pg.conf:4" in str(reply), str(reply))


def test_group_comes_and_goes(host: Host, fixture: str = "one-node") -> None:
    """With a group that does not exist systemd starts nothing, not even the gate: the units are read anew without it as
    it goes, and with it as it comes back. Meanwhile the gate, which has no right to segments, says so."""
    host.config("20-pg.conf", PG + "SharedMemory=sysv\n")
    host.write("etc/group", "root:x:0:\nhugetlb:x:990:\n")
    host.write("proc/self/status", "Gid:\t33\t33\t33\t33\nGroups:\t33 \nCapEff:\t0000000000000000\n")
    host.write("proc/sys/vm/hugetlb_shm_group", "0\n")
    dropin = "run/systemd/generator/pg.service.d/10-hugeplan.conf"
    host.write(dropin, "[Service]\nSupplementaryGroups=hugetlb\n")
    with systemd_of(host, "pg.service") as systemd:
        host.start()
        check(host.path("proc/sys/vm/hugetlb_shm_group").read_text().strip() == "990", "the kernel knows the group")
        check(systemd.n_reread == 0, "nothing is outdated")
        systemd.on_start = lambda: host.write(dropin, "[Service]\n")
        replace(host.path("etc/group"), "root:x:0:\n")
        wait_until("systemd reads its units without it", lambda: systemd.n_reread == 1)
        told = host.gate("pg.service", "pg")
        check(told.returncode == 1 and "there is no group 'hugetlb'" in told.stderr, f"{told}")
        check("/etc/hugeplan.d/20-pg.conf" in told.stderr and "systemd-sysusers" in told.stderr, told.stderr)
        systemd.on_start = lambda: host.write(dropin, "[Service]\nSupplementaryGroups=hugetlb\n")
        replace(host.path("etc/group"), "root:x:0:\nhugetlb:x:991:\n")
        wait_until("systemd reads them with it", lambda: systemd.n_reread == 2)
        wait_until("the kernel knows the new one",
                   lambda: host.path("proc/sys/vm/hugetlb_shm_group").read_text().strip() == "991")
        check(host.gate("pg.service", "pg").returncode == 0, "the gate lets it start")


def test_instances_of_one_unit(host: Host, fixture: str = "one-node") -> None:
    """Each is let start once in a run, in whatever order its unit asks for them."""
    host.config("20-a.conf", "[Instance]\nPages=100\nUnit=x.service\n")
    host.config("20-b.conf", "[Instance]\nPages=30\nUnit=x.service\n")
    with starting(host, "x.service"):
        pages = Pages(host, "x.service")
        for i in range(100):
            check("error" not in wait_for(host, "ab"[i % 2]), "it passes")
            check(host.pool(0) == 130, f"{host.pool(0)} pages at the call number {i}")
            pages.use(i, i // 2)
        check(sorted(holds(host)) == [("a", "1"), ("b", "1")], str(holds(host)))


def test_unit_has_an_alias(host: Host, fixture: str = "one-node") -> None:
    """What runs is the unit of the alias, in whose group the kernel counts."""
    host.config("20-pg.conf", "[Instance]\nPages=100\nUnit=pg.service\n")
    host.path("etc/systemd/system").mkdir(parents=True, exist_ok=True)
    host.path("etc/systemd/system/pg.service").symlink_to("/usr/lib/systemd/system/real.service")
    with starting(host, "real.service"):
        check("error" not in wait_for(host), "it passes")
        Pages(host, "real.service").use(100, 60)
        check(holds(host) == [("pg", "1")], str(holds(host)))
        check(host.verdicts() == {"pg": "ready"}, str(host.verdicts()))
        check(host.ctl("reload").returncode == 0 and host.pool(0) == 100, f"{host.pool(0)} pages: all are its own")


# ---- over an upgrade or a downgrade ----

STATES = pathlib.Path(__file__).resolve().parent / "states"
FOUND, BEFORE = 7, 130  # pages before hugeplan came, and with two instances


@contextlib.contextmanager
def upgraded(host: Host, state: str) -> Iterator[tuple[Pages, str]]:
    """pg.service and my.service run, the first has mapped 85 of its 100 pages and touched 40; they were
    let start by a hugeplan that left STATE, a ledger, behind. What the next one tells."""
    host.config("20-pg.conf", PG)
    host.config("30-my.conf", "[Instance]\nPages=30\nUnit=my.service\nPlacement=pack\n")
    with systemd_of(host, "pg.service", "my.service") as systemd:
        for unit in systemd.units.values():
            unit.set("active", "running", main_pid=1)
            host.write(f"{GROUPS}/{unit.group.rpartition('/')[2]}/cgroup.procs", "1\n")
        host.set_pool(0, BEFORE)
        Pages(host, "my.service")
        pages = Pages(host, "pg.service")
        pages.use(85, 40)
        host.write(LEDGER, state)
        daemon = host.start()
        yield pages, host.log(daemon)
        host.stop(daemon)


def check_upgraded(host: Host, state: str, text: str, left: int) -> None:
    """TEXT: what is said to be lost; "": nothing. LEFT: pages that are not known to be hugeplan's own."""
    with upgraded(host, state) as (pages, log):
        said = [line for line in log.splitlines() if "/hugeplan/ledger" in line]
        check(not said if not text else len(said) == 1 and text in said[0], f"{text}: {log}")
        status = host.status()
        reserved = [(each["unit"], each["pages"], each["likely"]) for each in status["reserved"]]
        check(reserved == [("pg.service", 45, False)], f"what is counted is exact: {reserved}")
        check(host.pool(0) == BEFORE, f"{host.pool(0)} pages")
        check(set(host.verdicts().values()) == {"ready"}, str(host.verdicts()))
        # The pages of the pool when both have stopped and both files are gone.
        pages.use(0, 0)
        for unit in ("pg.service", "my.service"):
            shutil.rmtree(host.path(f"{GROUPS}/{unit}"))
        host.path("etc/hugeplan.d/20-pg.conf").unlink()
        host.path("etc/hugeplan.d/30-my.conf").unlink()
        check(host.ctl("reload").returncode == 0, "it is reloaded")
        after = host.pool(0)
        check(after == left, f"{after} pages are left")


def test_state_of_version_1(host: Host, fixture: str = "one-node") -> None:
    """As the first release wrote it."""
    check_upgraded(host, (STATES / "version-1").read_text(), "", FOUND)


def of_later_version(readable_by: int) -> str:
    """With more words in each line, and a record of another kind."""
    text = (STATES / "version-1").read_text().replace(" 1 1 ", f" 9 {readable_by} ", 1)
    return text.replace("\nend\n", "\nlater 1\nend\n").replace("\n", " more 1\n").replace("end more 1", "end")


def test_state_of_later_version(host: Host, fixture: str = "one-node") -> None:
    """One that says that this hugeplan can read it: what is new in it is ignored."""
    check_upgraded(host, of_later_version(1), "", FOUND)


def test_state_of_strange_version(host: Host, fixture: str = "one-node") -> None:
    """Of one that does not, what the pools had; the rest is found again by what the kernel counts."""
    check_upgraded(host, of_later_version(9), "is of version 9, and this hugeplan reads version 1; only", FOUND)


def test_state_is_lost(host: Host, fixture: str = "one-node") -> None:
    """What nobody knows is left as it is, which is said."""
    check_upgraded(host, "{", "is broken; the pages that the pools hold now count as existing", BEFORE)


def test_state_is_written_for_others(host: Host, fixture: str = "one-node") -> None:
    """What is written is what the first release wrote, which other releases read."""
    with upgraded(host, (STATES / "version-1").read_text()):
        host.config("40-more.conf", "[Instance]\nPages=5\n")
        host.ctl("reload")
        host.path("etc/hugeplan.d/40-more.conf").unlink()
        host.ctl("reload")
        written, before = host.path(LEDGER).read_text(), (STATES / "version-1").read_text()
        check(written == before, f"{written}\n{before}")


# ---- a gate hangs up ----

def test_hangs_up(host: Host, fixture: str = "one-node") -> None:
    """Its start is over: of a later one, of another instance of its unit, nothing is forgotten by it."""
    host.write("sys/devices/system/node/possible", "0-1\n")
    host.config("20-pg.conf", "[Instance]\nPages=100\nNodes=1\nUnit=pg.service\n")
    with starting(host) as (daemon, systemd, unit):
        message = {"method": "org.hugeplan.Manager.Wait", "parameters": {"instance": "pg"}}
        with call_many(str(host.path(SOCKET)), 1, json.dumps(message).encode() + b"\0")[0] as client:
            check(not select.select([client], [], [], 1)[0], f"it waits: {host.log(daemon)}")
        host.path("etc/hugeplan.d/20-pg.conf").unlink()
        host.config("20-main.conf", "[Instance]\nPages=100\nUnit=pg.service\n")
        check(host.ctl("reload").returncode == 0, "it has another name")
        unit.run = 2
        check("error" not in wait_for(host, "main"), "it starts")
        check(holds(host) == [("main", "2")], str(holds(host)))
        check(host.ctl("reload").returncode == 0, "hugeplan looks again")
        check(holds(host) == [("main", "2")], str(holds(host)))


# ---- a supervisor starts its database again ----

def learned(pages: int, **more: object) -> dict:
    """What a gate says that its database takes."""
    return {"pages": [{"pageSizeBytes": 2 * MIB, "pages": pages}], "exact": True, **more}


def patience_usec(believed: object) -> int:
    """What BELIEVED makes ready is answered as soon as systemd has said who starts, however busy this machine is."""
    return 30_000_000 if believed else 100_000


def restart(host: Host, name: str = "pg", **more: object) -> dict:
    return host.call("Wait", {"instance": name, "restart": True, **more})


def limit(host: Host, unit: str) -> int:
    return int(host.path(f"{GROUPS}/{unit}/hugetlb.2MB.rsvd.max").read_text()) // (2 * MIB)


LEARNED = "etc/hugeplan.d/20-pg.conf.d/90-learned.conf"


def log(host: Host) -> str:
    return host.log(host.daemons[-1])


def wanted(host: Host) -> int:
    return next(each for each in host.status()["instances"] if each["name"] == "pg")["pagesWanted"]


def kept(host: Host, path: str = LEARNED) -> str:
    """What the next boot knows."""
    path = host.path(path)
    found = re.search("^Pages=(.*)$", path.read_text(), re.M) if path.exists() else None
    return found[1] if found else ""


@contextlib.contextmanager
def supervised(host: Host, pages: int, *others: str) -> Iterator[tuple[Systemd, Pages]]:
    """pg.service runs, was let start with so many pages, which its gate had found out, and has mapped them."""
    host.config("20-pg.conf", "[Instance]\nEngine=mariadb\nUnit=pg.service\nIsolate=yes\n")
    with systemd_of(host, "pg.service", *others) as systemd:
        host.start()
        enter(host, "pg.service")
        host.write(f"{GROUPS}/pg.service/hugetlb.1GB.rsvd.current", "0\n")
        host.write(f"{GROUPS}/pg.service/hugetlb.1GB.numa_stat", "total=0 N0=0\n")
        mapped = Pages(host, "pg.service")
        unit = systemd.units["pg.service"]
        unit.uid = os.getuid()  # or nobody here is believed, unless root runs the test
        unit.begin()
        reply = wait_for(host, learned=learned(pages))
        check("error" not in reply and limit(host, "pg.service") == pages, f"it starts: {reply}")
        wait_until("it is kept", lambda: kept(host) == f"2M:{pages}")
        unit.set("active", "running", main_pid=1)
        mapped.use(pages, pages)
        yield systemd, mapped


def test_restart_is_asked_anew(host: Host, fixture: str = "one-node") -> None:
    """Its size is found out before, now and then; it gets its pages once, and a limit that fits."""
    with supervised(host, 100) as (systemd, mapped):
        mapped.use(0, 0)
        reply = restart(host, learned=learned(130))
        check("error" not in reply and reply["parameters"]["instance"]["pagesGranted"] == 130, str(reply))
        check((host.pool(0), limit(host, "pg.service")) == (130, 130), f"{host.pool(0)}, {limit(host, 'pg.service')}")
        check(holds(host) == [("pg", "1")], str(holds(host)))
        wait_until("it is kept", lambda: kept(host) == "2M:130")
        for i in range(20):
            mapped.use(*((130, 0), (130, 130), (0, 0), (60, 10))[i % 4])
            check("error" not in restart(host, learned=learned(500)), "it has its pages")
            check((host.pool(0), limit(host, "pg.service")) == (130, 130), "and never more")
        check(kept(host) == "2M:130", "it is believed every ten seconds")
        check(log(host).count("less than ten seconds ago") == 1, "which is said once")


def test_restart_while_mapped(host: Host, fixture: str = "one-node") -> None:
    """Who has not ended yet has what he has: what he says is heard, though the disk hangs, and nothing is booked."""
    hung = host.path("hung")
    host.shim = host.shim | {"SHIM_HUNG": str(hung)}
    with supervised(host, 100) as (systemd, mapped):
        hung.touch()
        check("error" not in restart(host, learned=learned(130)), "it is heard")
        wait_until("it is reserved", lambda: host.pool(0) == 130)
        check(limit(host, "pg.service") == 100, "it is bound by what it has")
        mapped.use(0, 0)
        check(host.ctl("reload").returncode == 0 and host.pool(0) == 130, f"a reload: {host.pool(0)}")
        for _ in range(2):
            reply = restart(host)
            check("error" not in reply and limit(host, "pg.service") == host.pool(0) == 130,
                  f"now it has ended: {reply}, {limit(host, 'pg.service')}, {host.pool(0)}")
        hung.unlink()
        wait_until("it is kept", lambda: kept(host) == "2M:130")


def test_restart_refused(host: Host, fixture: str = "one-node") -> None:
    """What cannot be had is refused with its reason, what it had stays its own, a neighbour's stays his."""
    host.config("30-other.conf", "[Instance]\nPages=40\nUnit=other.service\n")
    with supervised(host, 100, "other.service") as (systemd, mapped):
        mapped.use(0, 0)
        reply = restart(host, learned=learned(7900))  # of a host that has 7,997, of which learned sizes may have 80%
        check(reply.get("error") == "org.hugeplan.Manager.Refused", str(reply))
        check(reply["parameters"]["reasonId"] == "beyond-bound", str(reply))
        check((host.pool(0), limit(host, "pg.service"), holds(host)) == (140, 100, [("pg", "1")]),
              f"{host.pool(0)} {limit(host, 'pg.service')} {holds(host)}")
        check(host.verdicts()["other"] == "ready", str(host.verdicts()))
        host.call("Learn", {"instance": "pg", "learned": learned(100)})
        check("error" not in restart(host), "with what it had it may start")


# ---- what a gate says ----

def test_who_is_believed(host: Host, fixture: str = "one-node") -> None:
    """The process that systemd has started to start the unit, once for each start; nobody else, nor for another."""
    pid = os.getpid()
    host.config("20-pg.conf", "[Instance]\nEngine=mariadb\nUnit=pg.service\n")
    host.config("30-my.conf", "[Instance]\nEngine=mariadb\nUnit=my.service\n")
    host.config("40-fixed.conf", "[Instance]\nPages=10\nUnit=pg.service\n")
    with systemd_of(host, "pg.service", "my.service") as systemd:
        host.start()
        unit = systemd.units["pg.service"]
        for said, state, who, pages in (
                ("from a session of his own", ("activating", "start-pre", pid, 0), "nobody", 0),
                ("when it runs already", ("active", "running", 0, pid), "pg", 0),
                ("when it stops", ("deactivating", "stop", pid, pid), "pg", 0),
                ("by a process put into the group", ("activating", "start-pre", 1, 0), "pg", 0),
                ("of another instance", ("activating", "start-pre", pid, 0), "my", 0),
                ("of one whose size is given", ("activating", "start-pre", pid, 0), "fixed", 0),
                ("by the gate", ("activating", "start-pre", pid, 0), "pg", 50),
                ("a second time", ("activating", "start-pre", pid, 0), "pg", 50),
                ("by the main process", ("activating", "start", 0, pid), "pg", 70)):
            name = "pg" if who == "nobody" else who
            host.write(f"{GROUPS}/pg.service/cgroup.procs", "" if who == "nobody" else f"{pid}\n")
            unit.set(*state)
            unit.run += said.startswith("by the main")
            host.call("Wait", {"instance": name, "timeoutUSec": patience_usec(pages),
                               "learned": learned(70 if unit.run > 1 else 50)})
            found = wanted(host) if pages else 0
            check(found == pages, f"{said}: {found}")
            wait_until(f"{said}: kept", lambda: kept(host) == (f"2M:{pages}" if pages else ""))
        check(not list(host.path("etc/hugeplan.d").glob("[34]*.d")), "nothing is kept of others")
        for i in range(100):
            host.call("Wait", {"instance": "pg", "timeoutUSec": 100000, "learned": learned(1000 + i)})
        check(kept(host) == "2M:70" and wanted(host) == 70, "nor a hundred times")
        check(log(host).count("is ignored:") == 3, log(host))  # each instance, once a minute


def test_who_restarts_is_believed(host: Host, fixture: str = "one-node") -> None:
    """Of a unit that runs, who is of its user or root."""
    if os.geteuid() != 0:
        return  # nobody else to be
    host.config("20-pg.conf", "[Instance]\nEngine=mariadb\nUnit=pg.service\n")
    with systemd_of(host, "pg.service") as systemd:
        host.start()
        unit = systemd.units["pg.service"]
        unit.set("active", "running", main_pid=1)
        unit.uid = 4711
        os.chmod(host.root.parent, 0o755)
        group = host.path(f"{GROUPS}/pg.service/cgroup.procs")
        for uid, pages in ((4712, ""), (65534, ""), (4711, "2M:30")):
            def action() -> bytes:
                wait_until("it is in the group", lambda: str(os.getpid()) in group.read_text())
                return json.dumps(restart(host, timeoutUSec=patience_usec(pages), learned=learned(30))).encode()

            pid, answer = as_user(uid, action)
            group.write_text(f"{pid}\n")
            os.read(answer, 65536)
            end_user(pid, answer)
            wait_until(f"of user {uid}", lambda: kept(host) == pages)


def test_lies(host: Host, fixture: str = "one-node") -> None:
    """What is no figure is as if nothing was said; what is beyond the host is refused, and no boot knows it."""
    host.config("20-pg.conf", "[Instance]\nEngine=mariadb\nUnit=pg.service\n")
    with starting(host) as (_, _, unit):
        check("error" not in wait_for(host, learned=learned(40)), "it starts")
        for lie in (learned(0), learned(-1), learned(1.5), learned(2**62), learned(40, more=1),
                    learned(40, version="8\nPages=2M:7"), learned(40, byRule=[{"pageSizeBytes": 1, "pages": 1}]),
                    {"pages": [{"pageSizeBytes": 64 * 1024, "pages": 9}], "exact": True},
                    {"pages": [{"pageSizeBytes": 1024 * MIB, "pages": 2}], "exact": True}, {"pages": [], "exact": True},
                    {}):
            unit.run += 1
            reply = wait_for(host, learned=lie)
            check("error" not in reply and wanted(host) == 40, f"{lie}: {reply}")
        unit.run += 1
        reply = wait_for(host, learned=learned(99999999))
        check(reply["parameters"].get("reasonId") == "beyond-bound", str(reply))
        check(kept(host) == "2M:40" and "this host has 15.6G of memory" in log(host), log(host))
        unit.run += 1
        check("error" not in wait_for(host, learned=learned(40)), "it starts again")


def wait_call(pages: int) -> bytes:
    return json.dumps({"method": "org.hugeplan.Manager.Wait",
                       "parameters": {"instance": "pg", "learned": learned(pages)}}).encode() + b"\0"


@contextlib.contextmanager
def gate_of(host: Host, unit: Unit, *said: bytes) -> Iterator[None]:
    """The process that pg.service starts with, once it has said each of SAID by a connection of its own: it hears no
    answer, and is killed."""
    group = host.path(f"{GROUPS}/pg.service/cgroup.procs")
    clients = []

    def say() -> bytes:
        wait_until("it is in the group", lambda: str(os.getpid()) in group.read_text())
        clients.extend(call_many(str(host.path(SOCKET)), 1, each) for each in said)
        return b"said"

    host.write(f"{GROUPS}/pg.service/cgroup.procs", "")
    pid, reading = as_user(os.getuid(), say)
    try:
        unit.run += 1
        unit.set("activating", "start-pre", control=pid)
        group.write_text(f"{pid}\n")
        check(os.read(reading, 9) == b"said", "it says it")
        yield
    finally:
        end_user(pid, reading)


def start_again(host: Host, unit: Unit, pages: int) -> dict:
    """By a gate that is this very process."""
    enter(host, "pg.service")
    unit.run += 1
    unit.begin()
    return wait_for(host, learned=learned(pages))


def test_gate_is_gone(host: Host, fixture: str = "one-node") -> None:
    """It ends while its answer is on the way, or before it is heard, and the next start is as any."""
    host.config("20-pg.conf", "[Instance]\nEngine=mariadb\nUnit=pg.service\n")
    with systemd_of(host, "pg.service") as systemd:
        daemon = host.start()
        unit = systemd.units["pg.service"]
        for i in range(30):
            if i == 25:
                daemon.send_signal(signal.SIGSTOP)
            with gate_of(host, unit, wait_call(20 + i)):
                time.sleep(0.001 * i)
        daemon.send_signal(signal.SIGCONT)
        reply = start_again(host, unit, 70)
        check("error" not in reply and wanted(host) == 70 and host.pool(0) == 70, f"{reply}\n{host.log(daemon)}")
        wait_until("it is kept", lambda: kept(host) == "2M:70")


def test_gate_hangs(host: Host, fixture: str = "one-node") -> None:
    """It says half of it, or does not hear the answer, as long as its owner likes: nobody else waits for it, nor does
    his own next start."""
    host.config("20-pg.conf", "[Instance]\nEngine=mariadb\nUnit=pg.service\n")
    host.config("30-other.conf", "[Instance]\nPages=10\n")
    call = wait_call(40)
    with systemd_of(host, "pg.service") as systemd:
        host.start()
        unit = systemd.units["pg.service"]
        with gate_of(host, unit, call[:-20], call, call * 50):
            wait_until("it is believed", lambda: wanted(host) == 40 and host.pool(0) == 50)
            begun = time.monotonic()
            check("error" not in wait_for(host, "other"), "another's gate passes")
            check(host.ctl("reload").returncode == 0 and host.pool(0) == 50, "a reload")
            reply = start_again(host, unit, 60)
            check("error" not in reply and wanted(host) == 60, f"its next start: {reply}")
            check(time.monotonic() - begun < PATIENCE / 2, "and nobody has waited")


def test_preference_of_a_version(host: Host, fixture: str = "one-node") -> None:
    """What a new version wants of transparent huge pages is in effect when it starts."""
    host.config("20-pg.conf", "[Instance]\nEngine=mongodb\nUnit=pg.service\n")
    policy = host.path("sys/kernel/mm/transparent_hugepage/enabled")
    with starting(host) as (_, _, unit):
        for version, wanted_policy in (("7.0.15", "never"), ("8.0.4", "always"), ("7.0.15", "never")):
            unit.run += 1
            reply = wait_for(host, learned={"pages": [], "exact": False, "version": version})
            check("error" not in reply and f"[{wanted_policy}]" in policy.read_text(), f"{version}: {policy.read_text()}")


def test_cannot_be_kept(host: Host, fixture: str = "one-node") -> None:
    """The figure counts, and it is said once that the next boot will not know it."""
    host.config("20-pg.conf", "[Instance]\nEngine=mariadb\nUnit=pg.service\n")
    host.write("etc/hugeplan.d/20-pg.conf.d", "in its way\n")
    with starting(host) as (_, _, unit):
        for pages in (40, 50, 60):
            reply = start_again(host, unit, pages)
            check("error" not in reply and host.pool(0) == pages, "it starts")
            wait_until("it was tried", lambda: log(host).count("(not stored)") == (pages - 30) // 10)
        check(log(host).count("the next boot will not know it") == 1, log(host))
        reply = host.call("Learn", {"instance": "pg", "learned": learned(70)})
        check(reply["parameters"]["unkept"] and wanted(host) == 70, str(reply))


def test_ended_and_taken(host: Host, fixture: str = "one-node") -> None:
    """The database has ended, its unit has not, and others have come to use its pages: whoever asks, and
    from wherever, is told so; a supervisor gets others in their place."""
    with supervised(host, 100) as (systemd, mapped):
        mapped.use(0, 0)
        stranger = Pages(host, "stranger.service")
        host.leave_free(0, 0)  # else three more are reserved
        stranger.use(3, 3)
        for call in (wait_for, restart):
            reply = call(host)
            check(reply["parameters"].get("reasonId") == "taken", str(reply))
            check(" 97 " in reply["parameters"]["reason"], str(reply))
        done = host.ctl("wait", "pg")  # of no unit, or of this one: who asks does not matter
        check(done.returncode == 1 and "used by" not in done.stdout and " 97 " in done.stderr, done.stderr)
        stranger.use(0, 0)
        replies: list[dict] = []
        try:
            wait_until("it has its pages back", lambda: replies.append(restart(host)) or "error" not in replies[-1])
        except Failure as failure:
            raise Failure(f"{failure}: {replies[-1]}") from None


# ---- many clients ----

WAIT = b'{"method":"org.hugeplan.Manager.Wait","parameters":{"instance":"pg"}}\0'
DESCRIBE = b'{"method":"org.hugeplan.Manager.Describe"}\0'
WATCH = b'{"method":"org.hugeplan.Manager.Describe","more":true}\0'


def test_floods_lock_nobody_out(host: Host, fixture: str = "one-node") -> None:
    """Four users who are silent, or watch, as often as they can; another one's gates, and his status."""
    if os.geteuid() != 0:
        return  # nobody else to be
    host.config("20-pg.conf", PG)
    host.start()
    os.chmod(host.root.parent, 0o755)
    path = str(host.path(SOCKET))
    floods = [as_user(60001 + i, lambda i=i: str(  # type: ignore[misc]
        len(call_many(path, 700, b"" if i % 2 else WATCH))).encode()) for i in range(4)]
    try:
        for _, reading in floods:
            check(os.read(reading, 64) == b"700", "all have knocked")

        def honest() -> bytes:
            answers = [hear(client) for client in call_many(path, 100, WAIT)]
            return str(len([answer for answer in answers if b'"ready"' in answer])).encode()

        pid, reading = as_user(60010, honest)
        floods.append((pid, reading))
        answer = os.read(reading, 64)
        check(answer == b"100", f"{answer.decode()} of 100 gates are answered")
        check(host.ctl("status").returncode == 0, "and root is")
    finally:
        for pid, reading in floods:
            end_user(pid, reading)


def test_many_gates_of_one_user(host: Host, fixture: str = "one-node") -> None:
    """All of them are answered, however many come at once."""
    if os.geteuid() != 0:
        return  # nobody else to be
    host.config("20-pg.conf", PG)
    host.start()
    os.chmod(host.root.parent, 0o755)
    path = str(host.path(SOCKET))

    def gates() -> bytes:
        answers = [hear(client) for client in call_many(path, 400, WAIT)]
        return str(len([answer for answer in answers if b'"ready"' in answer])).encode()

    pid, reading = as_user(60001, gates)
    answer = os.read(reading, 64)
    end_user(pid, reading)
    check(answer == b"400", f"{answer.decode()} of 400 gates are answered")


def reads_of(daemon: subprocess.Popen[bytes], host: Host, message: Callable[[int], bytes], n: int) -> tuple[int, list[bytes]]:
    """How often it reads until N are answered who have all come while it slept, and the answers."""
    def n_reads() -> int:
        with open(f"/proc/{daemon.pid}/io", encoding="ascii") as file:
            return int(file.read().split("syscr: ")[1].split()[0])

    before = n_reads()
    daemon.send_signal(signal.SIGSTOP)
    clients = [client for i in range(n) for client in call_many(str(host.path(SOCKET)), 1, message(i))]
    daemon.send_signal(signal.SIGCONT)
    answers = [hear(client) for client in clients]
    return n_reads() - before, answers


def test_one_look_for_many(host: Host, fixture: str = "one-node") -> None:
    """Who has come by then is answered by one look: a hundred who want the status, a hundred units that start."""
    for i in range(100):
        host.config(f"20-u{i}.conf", f"[Instance]\nPages=2\nUnit=u{i}.service\n")
    daemon = host.start()
    alone, _ = reads_of(daemon, host, lambda _: DESCRIBE, 1)
    many, answers = reads_of(daemon, host, lambda _: DESCRIBE, 100)
    check(len({answer for answer in answers}) == 1, "all are told the same")
    check(many - 100 < 10 * alone, f"it reads {alone} times for one, {many} for a hundred")
    for i in range(100):
        enter(host, f"u{i}.service")
    alone, answers = reads_of(daemon, host, lambda _: WAIT.replace(b'"pg"', b'"u0"'), 1)
    check(b'"ready"' in answers[0] and len(holds(host)) == 1, str(answers))
    many, answers = reads_of(daemon, host, lambda i: WAIT.replace(b'"pg"', b'"u%d"' % i), 100)
    check(not [answer for answer in answers if b'"ready"' not in answer], "all start")
    check(len(holds(host)) == 100, f"{len(holds(host))} are let start")
    check(many < 50 * alone, f"it reads {alone} times for one that starts, {many} for a hundred")


@contextlib.contextmanager
def reservation(host: Host) -> Iterator[None]:
    """A daemon that is reserving the pages of "large" all the while: no write of its returns."""
    host.config("20-pg.conf", PG)
    host.stop(host.start())
    host.config("30-large.conf", "[Instance]\nPages=500\n")
    os.chmod(host.root.parent, 0o755)
    with host.kernel.shared():
        # However busy this machine is, and the gates are, it is the daemon's answer that is looked at.
        host.spawn("nice", "-n", "-20", "prlimit", "--nofile=4096")
        wait_until("the daemon", lambda: host.path(SOCKET).exists())
        yield


def test_gates_wait_during_a_reservation(host: Host, fixture: str = "one-node") -> None:
    """A hundred `hugeplanctl wait` of one user: none decides alone, and all start when the pages stand."""
    if os.geteuid() != 0:
        return  # nobody else to be
    # Where it was built is nobody else's business, as it is when a package is made.
    *wrapper, program = host.hugeplanctl
    program = shutil.copy(program, host.root.parent)
    with reservation(host):
        gates = [subprocess.Popen([*wrapper, program, f"--root={host.root}", "wait", "large"], user=60001,
                                  group=60001, extra_groups=[], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) for _ in range(100)]
        time.sleep(4)  # longer than a daemon may hang up on every call
        check(not [gate for gate in gates if gate.poll() is not None], "they wait")
    told = [gate.communicate(timeout=60) for gate in gates]
    failed = [text for gate, text in zip(gates, told) if gate.returncode != 0]
    check(not failed, f"{len(failed)} of 100 gates do not start: {failed[:2]}")
    check(not [text for _, text in told if text], f"none decides alone: {[text for _, text in told if text][:2]}")


def test_gates_during_a_reservation(host: Host, fixture: str = "one-node") -> None:
    """A thousand of one user that wait for a write hold up nobody, and are all answered when the pages stand."""
    if os.geteuid() != 0:
        return  # nobody else to be
    path = str(host.path(SOCKET))

    def gates() -> bytes:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        clients = call_many(path, 1000, WAIT.replace(b'"pg"', b'"large"'))
        os.write(came[1], b"all")
        return str(len([each for each in clients if b'"ready"' in hear(each)])).encode()

    came = os.pipe()
    with reservation(host):
        check(host.status()["host"]["phase"] == "reserving", "a write is under way")
        crowd = as_user(60001, gates)
        check(os.read(came[0], 64) == b"all", "they are there")
        honest = as_user(60010, lambda: hear(call_many(path, 1, WAIT)[0]))
        check(not select.select([crowd[1], honest[1]], [], [], 0.5)[0], "they wait")
    check(b'"ready"' in os.read(honest[1], 65536), "another user's is answered")
    answer = os.read(crowd[1], 64)
    check(answer == b"1000", f"{answer.decode()} of 1000 gates are answered")
    for pid, reading in (crowd, honest):
        end_user(pid, reading)


if __name__ == "__main__":
    os.environ.pop("NOTIFY_SOCKET", None)
    sys.exit(main(globals(), n_at_once=2))
