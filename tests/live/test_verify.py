#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`hugeplanctl verify` compared with the kernel's figures, for PostgreSQL, MariaDB, Java and a program with System V
segments on real huge pages of 2M: in use and fallen back, with the hugetlb controller and without. Beside real units,
and idle, in the boot test `verify`.

    HUGEPLAN_LIVE=1 test_verify.py HUGEPLANCTL [TEST...]

Needs root and a pool of 2M pages of which no page is in use. A test whose server (Debian's PostgreSQL 15 or later,
mariadbd, Java) is missing is skipped, or fails with CI=true. The host is restored. Skips (77) with a reason. """

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
from collections.abc import Callable, Iterator

import shared
import test_live
import test_postgresql
from shared import (MAP_HUGETLB, PAGE, PATIENCE, captured_root, count, map_pages, no_surplus, pools_locked, run_unittest, touched,
                    unit_group, wait_until)
from test_live import set_pool

UNIT = "hugeplan-test-verify.service"
MIB = 1 << 20
PAGES = 420
SHM_HUGETLB, IPC_CREAT, IPC_RMID = 0o4000, 0o1000, 0
NOBODY = 65534
DAY = 24 * 60 * 60
MAX_MAP_COUNT = pathlib.Path("/proc/sys/vm/max_map_count")

hugeplanctl = ""
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]


def need(program: str | pathlib.Path | None, what: str) -> str:
    if not program and os.environ.get("CI") == "true":
        raise AssertionError(f"there is no {what}")
    if not program:
        raise unittest.SkipTest(f"there is no {what}")
    return str(program)


def used() -> int:
    return count("nr_hugepages") - count("free_hugepages")


def mapped() -> int:
    return used() + count("resv_hugepages")


def status_kib(pid: int, key: str) -> int:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may have ended
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1])
    return 0


class Verify(unittest.TestCase):
    """A captured root with a configuration, and a control group of the test."""

    root: pathlib.Path
    group: pathlib.Path

    def setUp(self) -> None:
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.root = stack.enter_context(captured_root())
        (self.root / "etc/hugeplan.d").mkdir(parents=True)
        before = count("nr_hugepages")
        self.addCleanup(set_pool, before)
        set_pool(PAGES)
        self.assertEqual(count("nr_hugepages"), PAGES, "the kernel makes fewer pages")

    # ---- the unit ----

    def make_unit(self, counted: bool) -> None:
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.group = stack.enter_context(unit_group(UNIT))
        for directory in (self.group.parents[1], self.group.parent) if counted else ():
            controllers = directory / "cgroup.subtree_control"
            if "hugetlb" not in (directory / "cgroup.controllers").read_text():
                self.skipTest("the unified hierarchy has no hugetlb controller")
            if "hugetlb" not in controllers.read_text():
                controllers.write_text("+hugetlb")
                self.addCleanup(controllers.write_text, "-hugetlb")

    def instance(self, text: str, counted: bool = True) -> None:
        self.make_unit(counted)
        (self.root / "etc/hugeplan.d/shop.conf").write_text(f"[Instance]\nUnit={UNIT}\nPageSize=2M\n{text}\n")

    def pages(self, n: int) -> None:
        """Sets Pages= of the instance."""
        path = self.root / "etc/hugeplan.d/shop.conf"
        path.write_text(path.read_text().replace("Memory=auto", f"Pages={n}"))

    def pids(self) -> list[int]:
        return [int(pid) for pid in (self.group / "cgroup.procs").read_text().split()]

    def enter(self) -> None:
        (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def end(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        wait_until("the end of all processes", lambda: not self.pids())
        wait_until("free pages", lambda: mapped() == 0)

    def start(self, *command: str, user: str | None = None, **options: object) -> subprocess.Popen[bytes]:
        wrapper = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        process = subprocess.Popen([*wrapper, *command], preexec_fn=self.enter, cwd="/", **options)
        self.addCleanup(self.end, process)
        return process

    @contextlib.contextmanager
    def child(self, work: Callable[[], object]) -> Iterator[int]:
        """A process of the unit that has done WORK, and waits to be killed."""
        def enter_and_work() -> object:
            self.enter()
            return work()

        try:
            with shared.child(enter_and_work) as pid:
                yield pid
        finally:
            for other in self.pids():
                os.kill(other, signal.SIGKILL)
            wait_until("the end of all processes", lambda: not self.pids())

    # ---- verify ----

    def run_ctl(self, *arguments: str, user: int | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([hugeplanctl, f"--root={self.root}", *arguments], capture_output=True, text=True,
                              user=user, group=user, extra_groups=[] if user else None, timeout=PATIENCE, check=False)
        self.assertNotIn("Sanitizer", done.stderr)
        return done

    def table_bytes(self) -> int:
        return sum(status_kib(pid, "VmPTE") for pid in self.pids()) * 1024

    def verify(self, user: int | None = None) -> dict:
        self.table_bytes_before = self.table_bytes()
        done = self.run_ctl("--json=short", "verify", "shop", user=user)
        proof = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if proof["asPlanned"] else 3, done.stderr)
        return proof

    def waste(self) -> dict[str, dict]:
        return {row["kind"]: row for row in json.loads(self.run_ctl("--json=short", "verify").stdout)["waste"]}

    def assert_as_kernel(self, proof: dict, exact: bool = True) -> None:
        """The figures of PROOF are those of the pool, which only this unit uses, and of the unit's processes."""
        pids = self.pids()
        server = proof["server"]
        self.assertEqual(server["processes"], len(pids))
        # A server that has just started still touches memory.
        self.assertIn(proof["pageTableBytes"], range(self.table_bytes_before, self.table_bytes() + 1))
        self.assertEqual(proof["mappedBytes"], mapped() * PAGE)
        if exact:
            self.assertFalse(proof["touchedLowerBound"])
            self.assertEqual(proof["touchedBytes"], used() * PAGE)
        else:
            self.assertLessEqual(proof["touchedBytes"], used() * PAGE)
        on_nodes = {node["node"]: node["pages"] for row in server["pages"] for node in row["nodes"]}
        for node, pages in on_nodes.items() if exact else ():
            directory = f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB"
            total, free = (int(pathlib.Path(directory, name).read_text())
                           for name in ("nr_hugepages", "free_hugepages"))
            self.assertEqual(pages, total - free)
        self.assertEqual(sum(on_nodes.values()) * PAGE, proof["touchedBytes"])

    def assert_fell_back(self, proof: dict, why: str, small: int, at_a_glance: bool = True) -> None:
        self.assertEqual((proof["outcome"], proof["fellBack"], proof["asPlanned"]), ("fell-back", True, False))
        self.assertIn(why, proof["why"])
        self.assertIsNotNone(proof["remedy"])
        self.assertGreaterEqual(proof["smallBytes"], small)
        self.assertRegex(self.run_ctl("verify", "shop").stdout, r"(?m)^fell back +shop ")
        if proof["pagesWanted"] > 0 and at_a_glance:
            self.assertRegex(self.run_ctl("status").stdout, r"(?m) shop .* fell back +hugeplan-test")

    @contextlib.contextmanager
    def later(self, seconds: int) -> Iterator[None]:
        """Adds SECONDS to /proc/uptime."""
        up = float(pathlib.Path("/proc/uptime").read_text().split()[0])
        faked = self.root / "uptime"
        faked.write_text(f"{up + seconds:.2f} 0.00\n")
        subprocess.run(["mount", "--bind", str(faked), str(self.root / "proc/uptime")], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", str(self.root / "proc/uptime")], check=True)

    # ---- PostgreSQL ----

    def postgresql(self, huge_pages: str, counted: bool = True) -> test_postgresql.Server:
        programs = need(test_postgresql.newest_server(), "PostgreSQL 15 or later")
        directory = self.root / "pg"
        directory.mkdir()
        shutil.chown(directory, test_postgresql.OWNER, test_postgresql.OWNER)
        server = test_postgresql.Server(pathlib.Path(programs), directory)
        (self.root / "log").touch()
        server.log = self.root / "log"
        server.create()
        server.configure(["shared_buffers=256MB", "max_connections=50"], test_postgresql.PLACES[0])
        with (server.data / "postgresql.conf").open("a") as file:
            file.write(f"huge_pages = {huge_pages}\nunix_socket_directories = '{server.data}'\n")
        for path in server.data.rglob("*"):
            shutil.chown(path, test_postgresql.OWNER, test_postgresql.OWNER)
        self.instance("Engine=postgresql\nMemory=auto\nConfigFile=/pg/data/postgresql.conf\nDataDirectory=/pg/data",
                      counted)
        with server.log.open("wb") as log:
            self.start(str(server.programs / "postgres"), "-D", str(server.data), user=test_postgresql.OWNER,
                       stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={"LC_ALL": "C"})
        wait_until("PostgreSQL is ready", lambda: "ready to accept" in server.log.read_text())
        return server

    def test_postgresql(self) -> None:
        """PostgreSQL with its pages is in use, with the kernel's figures."""
        server = self.postgresql("on", counted=False)
        proof = self.verify()
        self.assertEqual(proof["outcome"], "in-use", proof)
        self.assertFalse(proof["server"]["counted"])
        self.assert_as_kernel(proof, exact=False)
        postmaster = int((server.data / "postmaster.pid").read_text().split()[0])
        self.assertEqual(proof["server"]["pid"], postmaster)
        self.assertEqual(proof["sessionsMax"], 50)
        self.assertEqual(proof["worstPageTableBytes"], max(proof["mappedBytes"], proof["pagesWanted"] * PAGE) // 512 * 50)
        self.assertRegex(self.run_ctl("verify").stdout, r"(?m)^in use +shop ")
        self.assertRegex(self.run_ctl("status").stdout, r"(?m) shop .* in use +hugeplan-test")

    def test_postgresql_off(self) -> None:
        """huge_pages=off is named as the cause."""
        self.postgresql("off", counted=False)
        self.pages(140)
        proof = self.verify()
        self.assert_fell_back(proof, "huge_pages is off", 256 * MIB)
        self.assertEqual(proof["cause"], "off")
        # Neither a restart nor fewer pages is a remedy.
        self.assertRegex(self.waste()["fell-back"]["remedy"], r"^enable them in its settings, .* remove /etc/hugeplan.d/shop")

    def test_postgresql_too_few(self) -> None:
        """A server that needs more pages than planned has fallen back; `check` has the same text."""
        set_pool(40)
        self.postgresql("try")
        self.pages(100)
        set_pool(PAGES)
        proof = self.verify()
        self.assert_fell_back(proof, "more than the 100 planned for it", 256 * MIB)
        taken = int(proof["why"].split("it takes ")[1].split()[0])
        self.assertEqual((proof["cause"], taken), ("short", -(-proof["smallBytes"] // PAGE)))
        self.assertRegex(proof["remedy"], r"^write Memory=auto or Pages=2M:1[3-9]\d into /etc/hugeplan.d/shop.conf, then")
        found = {row["id"]: row for row in json.loads(self.run_ctl("--json=short", "check").stdout)["problems"]}
        self.assertIn(proof["why"], found["fell-back"]["text"])
        self.assertEqual(found["fell-back"]["remedy"], proof["remedy"])

    def test_postgresql_early(self) -> None:
        """A server that was started before its pages were reserved has fallen back; a restart is the remedy."""
        set_pool(0)
        self.postgresql("try")
        set_pool(PAGES)
        proof = self.verify()
        self.assert_fell_back(proof, "it has run since before its pages were reserved", 256 * MIB)
        self.assertTrue(proof["remedy"].startswith(f"systemctl restart {UNIT}"), proof["remedy"])
        text = self.run_ctl("status").stdout
        self.assertIn("1 fell back to small pages", text.splitlines()[0])
        self.assertIn(f"what to do: systemctl restart {UNIT}", text)

    def test_supervisor(self) -> None:
        """A unit in which only the supervisor runs counts as not started."""
        self.instance("Engine=postgresql\nPages=100")
        supervisor = self.root / "patroni"
        supervisor.write_text("#!/bin/sh\nsleep 600\n")
        supervisor.chmod(0o755)
        self.start(str(supervisor))
        with self.later(DAY):
            proof = self.verify()
            self.assertEqual((proof["outcome"], proof["server"]), ("not-started", None), proof)
            self.assertNotIn("fell", self.run_ctl("status").stdout)
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)

    # ---- MariaDB ----

    def mariadb(self, large_pages: str, pool: str = "256M", size: str = "Memory=auto") -> None:
        server = need(shutil.which("mariadbd"), "mariadbd")
        directory = self.root / "my"
        (directory / "data").mkdir(parents=True)
        (directory / "my.cnf").write_text(
            f"[mysqld]\nuser=root\ndatadir={directory}/data\nsocket={directory}/socket\npid-file={directory}/pid\n"
            f"skip-networking\nskip-grant-tables\ninnodb_log_file_size=4M\ninnodb_buffer_pool_size={pool}\n"
            f"key_buffer_size=16M\naria_pagecache_buffer_size=16M\n{large_pages}\n")
        self.instance(f"Engine=mariadb\n{size}\nConfigFile=/my/my.cnf")
        log = directory / "log"
        with log.open("wb") as file:
            self.start(server, f"--defaults-file={directory}/my.cnf", stdout=file, stderr=file,
                       stdin=subprocess.DEVNULL)
        wait_until("mariadbd is ready", lambda: "ready for connections" in log.read_text(errors="replace"))

    def test_mariadb_without_its_pool(self) -> None:
        """Pages that only the caches use, none of the buffer pool, are no success."""
        set_pool(151)
        self.mariadb("large-pages\nkey_buffer_size=130M\naria_pagecache_buffer_size=130M", "320M", "Pages=151")
        proof = self.verify()
        self.assertGreater(proof["mappedBytes"], 100 * PAGE)
        self.assert_as_kernel(proof)
        self.assert_fell_back(proof, "more than the 151 planned for it", 320 * MIB)
        self.assertRegex(proof["remedy"], r"^write Memory=auto or Pages=2M:(29|30|31|32)\d into")
        self.assertNotIn("beyond", self.waste())

    # ---- MySQL ----

    def test_mysql_chunks(self) -> None:
        """The mappings of MySQL 8.0.36 with a pool of 1G: two of eight chunks have fallen back, with caches beside
        them."""
        chunk = 138_412_032
        small = chunk - 65_536  # chunks in small pages are not rounded to huge pages

        def map_chunks() -> object:
            huge = [mmap.mmap(-1, chunk, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_HUGETLB) for _ in range(6)]
            return huge, [mmap.mmap(-1, n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                          for n in (small, small, 20 * MIB)]

        (self.root / "my.cnf").write_text("[mysqld]\nlarge-pages\ninnodb_buffer_pool_size=1G\n")
        set_pool(528)
        self.assertEqual(count("nr_hugepages"), 528, "the kernel makes fewer pages")
        self.instance("Engine=mysql\nPages=528\nConfigFile=/my.cnf")
        with self.child(map_chunks):
            proof = self.verify()
            self.assertEqual(proof["mappedBytes"], 396 * PAGE)
            self.assert_as_kernel(proof)
            self.assert_fell_back(proof, "falls back chunk by chunk", 2 * small)
            self.assertEqual(proof["cause"], "lost")
            self.assertNotIn("beyond", self.waste())
            self.assertIn("WARNING - 1 of 1 ready", self.run_ctl("status", "--nagios").stdout)
        # With all eight chunks in huge pages the caches are no deviation.
        with self.child(lambda: (map_pages(528), mmap.mmap(-1, 2 * small))):
            self.assertEqual(self.verify()["outcome"], "in-use")

    def test_mariadb_without(self) -> None:
        """A missing large_pages is named as the cause."""
        self.mariadb("")
        proof = self.verify()
        self.assertEqual(proof["mappedBytes"], 0)
        self.assert_fell_back(proof, "large_pages is not set", 256 * MIB)

    # ---- Java ----

    def java(self, *options: str) -> None:
        """A virtual machine that waits for standard input."""
        program = need(shutil.which("java"), "Java")
        command = [os.path.realpath(program), *options, "-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch",
                   "-XX:ReservedCodeCacheSize=64m", "-XX:+UseG1GC", "-m",
                   "java.base/sun.security.tools.keytool.Main", "-printcert"]
        unit = self.root / "etc/systemd/system" / UNIT
        unit.parent.mkdir(parents=True)
        unit.write_text(f"[Service]\nExecStart={' '.join(command)}\n")
        self.instance("Engine=jvm\nMemory=auto")
        process = self.start(*command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert process.stdin
        self.addCleanup(process.stdin.close)
        wait_until("the heap is there", lambda: status_kib(process.pid, "VmRSS")
                   + status_kib(process.pid, "HugetlbPages") >= 260 << 10)
        before = -1
        while before != used():  # the code cache grows for a while
            before = used()
            time.sleep(1)

    def test_java(self) -> None:
        """Java with its pages is in use."""
        self.java("-XX:+UseLargePages")
        proof = self.verify()
        self.assertEqual(proof["outcome"], "in-use", proof)
        self.assert_as_kernel(proof)

    def test_java_fell_back(self) -> None:
        """Java's fallback is found, and its log message named."""
        set_pool(10)
        self.java("-XX:+UseLargePages")
        self.assert_fell_back(self.verify(), "Failed to reserve and commit memory", 256 * MIB)

    def test_java_without(self) -> None:
        """A missing UseLargePages is named as the cause."""
        self.java()
        self.assert_fell_back(self.verify(), "UseLargePages", 256 * MIB)

    # ---- System V segments ----

    def sysv(self, flags: int) -> Callable[[], object]:
        def work() -> object:
            segment = libc.shmget(0, ctypes.c_size_t(100 * PAGE), flags | IPC_CREAT | 0o600)
            assert segment >= 0, os.strerror(ctypes.get_errno())
            address = libc.shmat(segment, None, 0)
            libc.shmctl(segment, IPC_RMID, None)
            for page in range(30):
                ctypes.memset(address + page * PAGE, 1, 1)
            return address
        return work

    def test_sysv(self) -> None:
        """Segments with SHM_HUGETLB are in use, and segments without have fallen back."""
        for counted in (True, False):
            with self.subTest(counted=counted):
                self.doCleanups()
                self.setUp()
                self.instance("Engine=generic\nPages=100\nSharedMemory=sysv", counted)
                with self.child(self.sysv(SHM_HUGETLB)):
                    proof = self.verify()
                    self.assertEqual((proof["outcome"], proof["mappedBytes"]), ("in-use", 100 * PAGE))
                    self.assertEqual((proof["touchedBytes"], used()), (30 * PAGE, 30))
                    self.assertEqual(proof["touchedLowerBound"], not counted)
                with self.child(self.sysv(0)):
                    self.assert_fell_back(self.verify(), "without SHM_HUGETLB", 100 * PAGE, at_a_glance=False)

    # ---- other cases ----

    def test_without_rights(self) -> None:
        """A user without privileges gets what is known, and no verdict that is not."""
        self.instance("Engine=generic\nPages=50")
        with self.child(lambda: touched(50, range(20), mmap.MAP_SHARED)):
            proof = self.verify(user=NOBODY)
            # Without root the controller's count is known, but not since when it has counted.
            self.assertEqual((proof["outcome"], proof["mappedBytes"], proof["touchedBytes"]),
                             ("in-use", None, 20 * PAGE))
            self.assertTrue(any("only root" in missing for missing in proof["server"]["missing"]), proof)
        self.doCleanups()
        self.setUp()
        self.instance("Engine=generic\nPages=50", counted=False)
        with self.child(lambda: map_pages(50)):  # no file that every user may read shows these
            proof = self.verify(user=NOBODY)
            self.assertEqual((proof["outcome"], proof["mappedBytes"], proof["fellBack"]), ("unknown", None, None))

    def test_not_started(self) -> None:
        """A unit that does not run is as planned, and its pages are waste if nothing starts it."""
        self.instance("Engine=generic\nPages=50")
        proof = self.verify()
        self.assertEqual((proof["outcome"], proof["asPlanned"], proof["server"]), ("not-started", True, None))
        self.assertEqual(self.waste()["no-unit"]["pages"], 50)

    def test_more_than_planned(self) -> None:
        """More pages than planned are a deviation."""
        self.instance("Engine=generic\nPages=50")
        with self.child(lambda: map_pages(60)):
            proof = self.verify()
            self.assertFalse(proof["asPlanned"])
            self.assertIn("10 pages of 2M more than planned", " ".join(proof["deviations"]))

    def test_many_mappings(self) -> None:
        """A process with 200,000 mappings is judged like any other."""
        def work() -> object:
            memory = touched(50, range(20), mmap.MAP_SHARED)
            small = mmap.mmap(-1, 100_000 * 2 * mmap.PAGESIZE)
            address = ctypes.addressof(ctypes.c_char.from_buffer(small))
            for page in range(0, 200_000, 2):
                libc.mprotect(ctypes.c_void_p(address + page * mmap.PAGESIZE), mmap.PAGESIZE, mmap.PROT_READ)
            return memory, small

        before = MAX_MAP_COUNT.read_text()
        self.addCleanup(MAX_MAP_COUNT.write_text, before)
        MAX_MAP_COUNT.write_text("1000000")
        self.instance("Engine=generic\nPages=50", counted=False)
        with self.child(work) as pid:
            self.assertGreater(pathlib.Path(f"/proc/{pid}/maps").read_text().count("\n"), 100_000)
            start = time.monotonic()
            proof = self.verify()
            print(f"a process with 200,000 mappings: {time.monotonic() - start:.1f} s")
            self.assertEqual((proof["outcome"], proof["mappedBytes"], proof["touchedBytes"]),
                             ("in-use", 50 * PAGE, 20 * PAGE))

    def test_server_that_comes_and_goes(self) -> None:
        """For a server that starts and ends all the time, verify reports neither too many pages nor a fallback."""
        self.instance("Engine=generic\nPages=50", counted=False)
        helper = subprocess.Popen([sys.executable, "-c", COMES_AND_GOES, str(self.group / "cgroup.procs")])
        seen = set()
        try:
            while helper.poll() is None:
                proof = self.verify()
                seen.add(proof["outcome"])
                self.assertIn(proof["mappedBytes"], (None, 0, 50 * PAGE), proof)
                self.assertLessEqual(proof["touchedBytes"] or 0, 20 * PAGE)
                self.assertNotEqual(proof["outcome"], "fell-back")
        finally:
            helper.wait(PATIENCE)
        self.assertGreaterEqual(len(seen), 2, seen)


# Processes that live for a few milliseconds.
COMES_AND_GOES = """
import mmap, os, sys, time
end = time.monotonic() + 8
while time.monotonic() < end:
    pid = os.fork()
    if pid == 0:
        with open(sys.argv[1], "w") as file:
            file.write(str(os.getpid()))
        memory = mmap.mmap(-1, 50 << 21, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x40000)
        for page in range(20):
            memory[page << 21] = 1
        time.sleep(0.02)
        os._exit(0)
    os.waitpid(pid, 0)
    time.sleep(0.005)
"""


if __name__ == "__main__":
    sys.exit(run_unittest(test_live.why_not(), pools_locked(), no_surplus()))
