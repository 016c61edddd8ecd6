#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""hugeplanctl names the processes and segments that use huge pages on the running kernel.

    test_page_users.py HUGEPLANCTL

Needs what test_live.py needs; skips (77). Other figures of the host may change meanwhile, so only the test's own
processes are compared.
"""

import contextlib
import ctypes
import json
import mmap
import os
import subprocess
import sys
import time

import test_live
from shared import HUGEPAGES, PAGE, MorePages, captured_root, child, map_pages, run_unittest, touch, touched, unit_group

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


def pages_of(pid, **options):
    return [row for row in page_users(**options) if row["pid"] == pid]


class PageUsers(MorePages):
    PAGES = PAGES

    def test_private(self):
        """A process with private pages is shown with the touched and the mapped ones, until it ends."""
        with child(lambda: touched(6, range(4))) as pid:
            (row,) = pages_of(pid)
            self.assertEqual((row["pages"], row["mappedPages"], row["lowerBound"]), (4, 6, False))
            self.assertEqual(row["pageSizeBytes"], PAGE)
            self.assertEqual(sum(node["pages"] for node in row["nodes"]), 4)
            self.assertIsNone(row["unit"])
            self.assertIn(str(pid), run("status", "--all").stdout)
        self.assertEqual(pages_of(pid), [])

    def test_family_counts_once(self):
        """Pages that a process shares with its child count once."""
        def work():
            memory = touched(8, range(3), mmap.MAP_SHARED)
            parent = os.getpid()
            if os.fork() == 0:
                touch(memory, range(2, 7))
                while os.getppid() == parent:
                    time.sleep(0.01)
                os._exit(0)
            while memory[6 * PAGE] == 0:  # reading touches the page, too
                pass
            return memory

        with child(work) as pid:
            (row,) = pages_of(pid)
            self.assertEqual((row["mappedPages"], row["lowerBound"]), (8, True))
            self.assertGreaterEqual(row["pages"], 4)
            self.assertLessEqual(row["pages"], 7)
        time.sleep(0.2)  # the grandchild ends when its parent has gone

    def test_mapped_but_never_touched(self):
        """Pages that are only reserved are shown as mapped."""
        with child(lambda: map_pages(5)) as pid:
            self.assertNotIn("HugetlbPages:\t    1", read(f"/proc/{pid}/status"))
            (row,) = pages_of(pid)
            self.assertEqual((row["pages"], row["mappedPages"]), (0, 5))

    def test_name_with_control_characters(self):
        """The name of a process cannot write control characters to a terminal."""
        def work():
            with open("/proc/self/comm", "wb") as file:
                file.write(b"a\x1b[2J\xff\nb")
            return touched(1, [0])

        with child(work) as pid:
            (row,) = pages_of(pid)
            self.assertEqual(row["command"], "a?[2J?\\nb")
            self.assertNotIn("\x1b", run("status", "--all").stdout)

    def test_without_rights(self):
        """Another user sees the touched pages as a lower bound."""
        with child(lambda: touched(6, range(4))) as pid:
            (row,) = pages_of(pid, user=NOBODY)
            self.assertEqual((row["bytes"], row["lowerBound"]), (4 * PAGE, True))

    def test_segment_without_processes(self):
        """A System V segment without a process is named by its id."""
        # 5M, which takes three pages.
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
        """Makes the control group of UNIT; returns its cgroup.procs."""
        try:
            return f"{self.enter(unit_group(UNIT))}/cgroup.procs"
        except OSError as error:
            self.skipTest(f"no control group can be made: {error}")

    def write_instance(self, root, unit, pages):
        os.makedirs(root + "/etc/hugeplan.d", exist_ok=True)
        with open(root + "/etc/hugeplan.d/shop.conf", "w", encoding="utf-8") as file:
            file.write(f"[Instance]\nEngine=generic\nUnit={unit}\nPages={pages}\nPageSize=2M\n")

    def enter(self, context):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return str(stack.enter_context(context))

    def test_unit_and_instance(self):
        """A process is attributed to its unit and instance."""
        procs = self.make_unit()

        def work():
            write(procs, os.getpid())
            return touched(6, range(4))

        root = self.enter(captured_root())
        self.write_instance(root, UNIT, 6)
        self.assertIn("Used by: not mapped yet", run("status", "shop", root=root).stdout)
        with child(work) as pid:
            (row,) = [row for row in page_users(root=root) if row["unit"] == UNIT]
            self.assertEqual((row["pid"], row["instance"], row["pages"]), (pid, "shop", 4))
            self.assertIn(f"Used by: pid {pid}, ", run("status", "shop", root=root).stdout)

    def test_gate_names_the_user(self):
        """A gate whose pages are not free names the process that has them mapped."""
        procs = self.make_unit()

        root = self.enter(captured_root())
        self.write_instance(root, UNIT, int(read(HUGEPAGES / "nr_hugepages")))
        with child(lambda: touched(PAGES - 4, [0])) as pid:
            result = run("wait", "shop", root=root, preexec_fn=lambda: write(procs, os.getpid()))
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(f"used by pid {pid} (", result.stderr)
            self.assertIn(f": {PAGES - 4} pages of 2M", result.stderr)


if __name__ == "__main__":
    sys.exit(run_unittest(test_live.why_not()))
