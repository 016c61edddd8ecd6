#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that use huge pages as files of a mount: a guest of QEMU, DPDK if it is installed (Debian: dpdk-dev has
dpdk-testpmd), and a program that maps files as DPDK does. The mount has the options that hugeplan writes for Mount=.

    test_mount_users.py HUGEPLANCTL

Needs what test_live.py needs, and QEMU; skips (77). """

from __future__ import annotations

import contextlib
import json
import mmap
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator

import test_live
from shared import HUGEPAGES, PAGE, MorePages, run_unittest

PAGES = 32
POOL = HUGEPAGES / "nr_hugepages"
QEMU = shutil.which("qemu-system-x86_64")
TESTPMD = shutil.which("dpdk-testpmd")
hugeplanctl = ""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([hugeplanctl, *arguments], capture_output=True, text=True, timeout=60, check=False)


def generated_options(mount: str) -> str:
    """Options= of the mount unit that hugeplan-generator writes."""
    with tempfile.TemporaryDirectory(prefix="hugeplan-mount_users-") as name:
        pathlib.Path(name, "60-guests.conf").write_text(
            f"[Instance]\nName=guests\nEngine=generic\nPages=2M:{PAGES}\nUnit=guests.service\nMount={mount} mode=0700 owner=root\n")
        done = run(f"--draft={name}", "--json=short", "explain", "guests")
    files = {file["name"]: file["text"] for file in json.loads(done.stdout)["generated"]}
    unit = next(text for name, text in files.items() if name.endswith(".mount"))
    found = re.search(r"^Options=(.*)$", unit, re.MULTILINE)
    assert found and f"Where={mount}\n" in unit, unit
    return found[1]


@contextlib.contextmanager
def mounted() -> Iterator[str]:
    directory = tempfile.mkdtemp(prefix="hugeplan-mount_users-", dir="/run")
    try:
        subprocess.run(["mount", "-t", "hugetlbfs", "-o", generated_options(directory), "hugetlbfs", directory],
                       check=True)
        try:
            yield directory
        finally:
            subprocess.run(["umount", directory], check=True)
    finally:
        os.rmdir(directory)


def kernel_that_touches(size: int) -> bytes:
    """A guest's kernel, loaded at 1M (Multiboot, without ELF): it writes to each page of 2M from the second one on,
    sends 'T' on the serial line, and halts."""
    at = 0x100000
    code = (b"\xbe" + struct.pack("<I", PAGE)             # mov esi, 2M
            + b"\xc6\x06\x01"                             # mov byte [esi], 1
            + b"\x81\xc6" + struct.pack("<I", PAGE)       # add esi, 2M
            + b"\x81\xfe" + struct.pack("<I", size)       # cmp esi, size
            + b"\x72\xef"                                 # jb to the second
            + b"\x66\xba\xf8\x03\xb0T\xee"                # mov dx, 0x3f8; mov al, 'T'; out dx, al
            + b"\xf4\xeb\xfd")                            # hlt; jmp to it
    magic, flags = 0x1BADB002, 1 << 16
    end = at + 32 + len(code)
    header = struct.pack("<8I", magic, flags, -(magic + flags) & 0xFFFFFFFF, at, at, end, end, at + 32)
    return header + code


def start_guest(mount: str, kernel: pathlib.Path, size: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(QEMU), "-nodefaults", "-display", "none", "-serial", "stdio", "-machine", "pc,memory-backend=ram",
         "-accel", "tcg", "-m", f"size={size >> 20}M", "-kernel", str(kernel),
         "-object", f"memory-backend-file,id=ram,size={size},mem-path={mount},share=on"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def pages_of(pid: int) -> list[tuple[int, int]]:
    rows = json.loads(run("status", "--all", "--json=short").stdout)["pageUsers"]
    return [(row["pages"], row["mappedPages"]) for row in rows if row["pid"] == pid]


class MountUsers(MorePages):
    PAGES = PAGES

    def start(self, mount: str, size: int) -> subprocess.Popen[bytes]:
        with tempfile.TemporaryDirectory(prefix="hugeplan-mount_users-") as name:
            kernel = pathlib.Path(name, "kernel")
            kernel.write_bytes(kernel_that_touches(size))
            guest = start_guest(mount, kernel, size)
            assert guest.stdout
            said = guest.stdout.read(1)  # empty if the guest has ended
        if not said:
            guest.wait(30)
        return guest

    @unittest.skipUnless(QEMU, "QEMU is not installed")
    def test_guest(self) -> None:
        """A guest's memory is in huge pages of the mount."""
        with mounted() as mount:
            guest = self.start(mount, PAGES * PAGE)
            try:
                self.assertIsNone(guest.poll(), guest.stderr and guest.poll() is not None and guest.stderr.read())
                self.assertEqual(os.statvfs(mount).f_bfree, 0)
                ((touched, mapped),) = pages_of(guest.pid)
                self.assertEqual(mapped, PAGES)
                self.assertGreaterEqual(touched, PAGES - 1)
            finally:
                guest.kill()
                guest.communicate()

    @unittest.skipUnless(QEMU, "QEMU is not installed")
    def test_guest_that_is_too_large(self) -> None:
        """A guest that needs more pages than the mount has does not start, so that it takes no pages of others."""
        with mounted() as mount:
            guest = self.start(mount, (PAGES + 1) * PAGE)
            _, errors = guest.communicate()
            self.assertNotEqual(guest.returncode, 0)
            self.assertIn(b"Cannot allocate memory", errors)

    @staticmethod
    def start_dpdk(mount: str, mib: int) -> subprocess.Popen[bytes]:
        """dpdk-testpmd without a device, which prints a prompt when it has its memory."""
        return subprocess.Popen(
            [str(TESTPMD), "--no-pci", "--vdev=net_null0", f"--huge-dir={mount}", "--file-prefix=hugeplan-test",
             "--lcores=(0,1)@0", "-m", str(mib), "--", "--total-num-mbufs=2048", "--mbuf-size=1024", "--interactive"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @unittest.skipUnless(TESTPMD, "dpdk-testpmd is not installed")
    def test_dpdk(self) -> None:
        """All of DPDK's memory is in the mount, with a file for each page, which stays when DPDK has ended."""
        with mounted() as mount:
            dpdk = self.start_dpdk(mount, PAGES * PAGE >> 20)
            assert dpdk.stdin and dpdk.stdout
            said = b""
            while not said.endswith(b"testpmd> ") and (part := dpdk.stdout.read1(4096)):
                said += part
            self.assertTrue(said.endswith(b"testpmd> "), said.decode())
            self.assertEqual(os.statvfs(mount).f_bfree, 0)
            self.assertEqual(pages_of(dpdk.pid), [(PAGES, PAGES)])
            dpdk.communicate(b"quit\n", timeout=30)
            self.assertEqual(dpdk.returncode, 0)
            files = list(pathlib.Path(mount).iterdir())
            self.assertEqual(len(files), PAGES)
            self.assertEqual(os.statvfs(mount).f_bfree, 0)
            for file in files:
                file.unlink()

    @unittest.skipUnless(TESTPMD, "dpdk-testpmd is not installed")
    def test_dpdk_that_is_too_large(self) -> None:
        """DPDK with more memory than the mount has does not start, though the pool has free pages."""
        more = 4
        before = int(POOL.read_text())
        POOL.write_text(str(before + more))
        try:
            with mounted() as mount:
                dpdk = self.start_dpdk(mount, (PAGES + more) * PAGE >> 20)
                said, _ = dpdk.communicate(b"quit\n", timeout=60)
                self.assertNotEqual(dpdk.returncode, 0, said.decode())
                self.assertIn(b"Cannot init memory", said)
                for file in pathlib.Path(mount).iterdir():
                    file.unlink()
        finally:
            POOL.write_text(str(max(0, int(POOL.read_text()) - more)))

    def test_files(self) -> None:
        """A program with a file for each page, like DPDK's environment abstraction layer, gets no more pages than the
        mount has."""
        with mounted() as mount:
            maps = []
            for i in range(PAGES):
                fd = os.open(f"{mount}/rtemap_{i}", os.O_CREAT | os.O_RDWR, 0o600)
                os.ftruncate(fd, PAGE)
                maps.append(mmap.mmap(fd, PAGE, mmap.MAP_SHARED | mmap.MAP_POPULATE))
                os.close(fd)
            self.assertEqual(pages_of(os.getpid()), [(PAGES, PAGES)])
            fd = os.open(f"{mount}/rtemap_{PAGES}", os.O_CREAT | os.O_RDWR, 0o600)
            os.ftruncate(fd, PAGE)
            with self.assertRaises(OSError):
                mmap.mmap(fd, PAGE, mmap.MAP_SHARED)
            os.close(fd)
            for memory in maps:
                memory.close()
            # The files keep their pages for the next run.
            self.assertEqual(os.statvfs(mount).f_bfree, 0)
            for file in pathlib.Path(mount).iterdir():
                file.unlink()


if __name__ == "__main__":
    sys.exit(run_unittest(test_live.why_not()))
