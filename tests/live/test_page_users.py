#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who holds huge pages, asked of this kernel: hugeplanctl has to name those that this test starts.

    test_page_users.py HUGEPLANCTL

Needs root and room for some pages of 2M; gives back what it took. Skips (exit 77) with a reason.
Every other figure on the host may change meanwhile: only what is ours is looked at.
"""

import contextlib
import ctypes
import json
import mmap
import os
import subprocess
import sys
import time
import unittest

from shared import PAGE, captured_root, child, map_pages, public_copy, touch, touched

POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
SHM_HUGETLB = 0o4000
IPC_CREAT = 0o1000
PAGES = 40
UNIT = "hugeplan-test-page_users.service"
NOBODY = 65534

hugeplanctl = None
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(text))


def run(*arguments, root="/", user=None, **options):
    command = [hugeplanctl, "--root=" + root, *arguments]
    return subprocess.run(command, capture_output=True, text=True, user=user, group=user,
                          extra_groups=[] if user else None, timeout=60, check=False, **options)


def page_users(**options):
    return json.loads(run("status", "--all", "--json=short", **options).stdout)["pageUsers"]


def held_by(pid, **options):
    return [row for row in page_users(**options) if row["pid"] == pid]


def systemd_hierarchy():
    """Where a control group makes a unit of a process, on unified, hybrid and legacy hosts."""
    for path in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup"):
        if os.path.exists(path + "/cgroup.procs"):
            return path
    return None


class PageUsers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        before = int(read(POOL))
        write(POOL, before + PAGES)
        cls.gained = int(read(POOL)) - before
        if cls.gained < PAGES:
            cls.tearDownClass()
            raise unittest.SkipTest(f"only {cls.gained} of {PAGES} pages could be had")

    @classmethod
    def tearDownClass(cls):
        # By difference: others may have changed the pool meanwhile.
        write(POOL, max(0, int(read(POOL)) - cls.gained))

    def test_private(self):
        with child(lambda: touched(6, range(4))) as pid:
            (row,) = held_by(pid)
            self.assertEqual((row["pages"], row["mappedPages"], row["lowerBound"]), (4, 6, False))
            self.assertEqual(row["pageSizeBytes"], PAGE)
            self.assertEqual(sum(node["pages"] for node in row["nodes"]), 4)
            self.assertIsNone(row["unit"])
            self.assertIn(str(pid), run("status", "--all").stdout)
        self.assertEqual(held_by(pid), [])

    def test_family_counts_once(self):
        def work():
            memory = touched(8, range(3), mmap.MAP_SHARED)
            parent = os.getpid()
            if os.fork() == 0:
                touch(memory, range(2, 7))
                while os.getppid() == parent:
                    time.sleep(0.01)
                os._exit(0)
            while memory[6 * PAGE] == 0:  # reading touches it, too
                pass
            return memory

        with child(work) as pid:
            (row,) = held_by(pid)
            self.assertEqual((row["mappedPages"], row["lowerBound"]), (8, True))
            self.assertGreaterEqual(row["pages"], 4)
            self.assertLessEqual(row["pages"], 7)
        time.sleep(0.2)  # until its own child has seen it go

    def test_mapped_but_never_touched(self):
        with child(lambda: map_pages(5)) as pid:
            self.assertNotIn("HugetlbPages:\t    1", read(f"/proc/{pid}/status"))
            (row,) = held_by(pid)
            self.assertEqual((row["pages"], row["mappedPages"]), (0, 5))

    def test_name_of_a_stranger(self):
        def work():
            with open("/proc/self/comm", "wb") as file:
                file.write(b"a\x1b[2J\xff\nb")
            return touched(1, [0])

        with child(work) as pid:
            (row,) = held_by(pid)
            self.assertEqual(row["command"], "a?[2J?\\nb")
            self.assertNotIn("\x1b", run("status", "--all").stdout)

    def test_without_rights(self):
        with child(lambda: touched(6, range(4))) as pid:
            (row,) = held_by(pid, user=NOBODY)
            self.assertEqual((row["bytes"], row["lowerBound"]), (4 * PAGE, True))

    def test_segment_that_was_left_behind(self):
        # Of 5M, so that it takes three pages.
        segment = libc.shmget(0, ctypes.c_size_t(5 << 20), SHM_HUGETLB | IPC_CREAT | 0o600)
        self.assertGreaterEqual(segment, 0, os.strerror(ctypes.get_errno()))
        try:
            address = libc.shmat(segment, None, 0)
            ctypes.memset(address, 1, 1)
            libc.shmdt(address)
            (row,) = [row for row in page_users() if f"segment {segment}," in row["command"]]
            self.assertEqual((row["pages"], row["pid"]), (3, None))
        finally:
            libc.shmctl(segment, 0, None)

    def make_unit(self):
        """The control group of UNIT; to be entered by writing a pid to its cgroup.procs."""
        hierarchy = systemd_hierarchy()
        group = f"{hierarchy}/system.slice/{UNIT}"
        made_slice = hierarchy and not os.path.exists(os.path.dirname(group))
        try:
            os.makedirs(group)
        except OSError as error:
            self.skipTest(f"no control group can be made: {error}")
        if made_slice:
            self.addCleanup(os.rmdir, os.path.dirname(group))
        self.addCleanup(os.rmdir, group)
        return group + "/cgroup.procs"

    def write_instance(self, root, unit, pages):
        os.makedirs(root + "/etc/hugeplan.d", exist_ok=True)
        with open(root + "/etc/hugeplan.d/shop.conf", "w", encoding="utf-8") as file:
            file.write(f"[Instance]\nEngine=generic\nUnit={unit}\nPages={pages}\nPageSize=2M\n")

    def enter_root(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return str(stack.enter_context(captured_root()))

    def test_unit_and_instance(self):
        procs = self.make_unit()

        def work():
            write(procs, os.getpid())
            return touched(6, range(4))

        root = self.enter_root()
        self.write_instance(root, UNIT, 6)
        self.assertIn("Used by: not mapped yet", run("status", "shop", root=root).stdout)
        with child(work) as pid:
            (row,) = [row for row in page_users(root=root) if row["unit"] == UNIT]
            self.assertEqual((row["pid"], row["instance"], row["pages"]), (pid, "shop", 4))
            self.assertIn(f"Used by: pid {pid}, ", run("status", "shop", root=root).stdout)

    def test_gate_names_the_thief(self):
        """As a process of the unit, which finds that its pages are not free."""
        procs = self.make_unit()

        root = self.enter_root()
        self.write_instance(root, UNIT, int(read(POOL)))
        with child(lambda: touched(PAGES - 4, [0])) as pid:
            result = run("wait", "shop", root=root,
                         preexec_fn=lambda: write(procs, os.getpid()))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(f"used by pid {pid} (", result.stderr)
            self.assertIn(f": {PAGES - 4} pages of 2M", result.stderr)


def main():
    global hugeplanctl
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    hugeplanctl = os.path.abspath(sys.argv.pop(1))
    if os.geteuid() != 0:
        print("skipped: only root may change the pool")
        sys.exit(77)
    if os.environ.get("HUGEPLAN_LIVE") != "1":
        print("skipped: it changes this host's pool for a while; set HUGEPLAN_LIVE=1 to allow it")
        sys.exit(77)
    if not os.path.exists(POOL):
        print("skipped: this kernel has no huge pages of 2M")
        sys.exit(77)
    with public_copy(hugeplanctl) as hugeplanctl:
        result = unittest.main(verbosity=2, exit=False).result
    if result.wasSuccessful() and result.testsRun == len(result.skipped):
        sys.exit(77)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
