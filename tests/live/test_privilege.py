#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What hugeplanctl, run by root, does not do for a database's owner, or for a user whose process is called postgres.

usage: HUGEPLAN_LIVE=1 test_privilege.py HUGEPLANCTL

Each test is an exploit: a configuration file that is a link to a device or to a file of root; settings and programs of
third parties; an environment that loads a library. Needs what test_live.py needs, and changes no pool; skips (77).
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import pwd
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import test_live
from shared import run_unittest
from test_live import CONFIG

MALLORY = 65533  # a user without an entry in passwd(5)
OWNER = pwd.getpwnam("daemon").pw_uid
IN_OPEN, IN_ACCESS = 0x20, 0x1
ZERO = os.makedev(1, 5)
SECRET = "31337MB"

hugeplanctl = ""


class Watch:
    """inotify(7) for opens and reads of a file; open(2) with O_PATH is no such event."""

    def __init__(self, path: pathlib.Path) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._fd = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if library.inotify_add_watch(self._fd, os.fsencode(path), IN_OPEN | IN_ACCESS) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def events(self) -> list[int]:
        try:
            found = os.read(self._fd, 65536)
        except BlockingIOError:
            return []
        return [struct.unpack_from("iIII", found, at)[1] for at in range(0, len(found), 16)]


class PrivilegeTest(unittest.TestCase):
    directory: pathlib.Path

    def setUp(self) -> None:
        self.directory = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory(prefix="hugeplan-privilege-", dir="/var/lib")))
        self.directory.chmod(0o755)
        self.addCleanup(lambda: shutil.rmtree(CONFIG, ignore_errors=True))
        CONFIG.mkdir(exist_ok=True)

    def ctl(self, *arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([hugeplanctl, *arguments], capture_output=True, text=True,
                              check=False, timeout=60, **more)

    def data(self, settings: str, owner: int = MALLORY, version: str = "14") -> pathlib.Path:
        path = self.directory / f"data-{owner}"
        path.mkdir(exist_ok=True)
        (path / "PG_VERSION").write_text(f"{version}\n")
        (path / "postgresql.conf").write_text(settings)
        for each in (path, path / "PG_VERSION", path / "postgresql.conf"):
            os.chown(each, owner, owner)
        return path

    def suggest(self, data: pathlib.Path) -> str:
        program = shutil.copy("/bin/sh", self.directory / "postgres")
        process = subprocess.Popen([program, "-c", "sleep 60 & wait", "-D", str(data)],
                                   user=MALLORY, group=MALLORY, extra_groups=[], cwd="/", start_new_session=True)
        try:
            comm = pathlib.Path(f"/proc/{process.pid}/comm")
            while comm.read_text() != "postgres\n":
                time.sleep(0.01)
            done = self.ctl("import")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("PostgreSQL", done.stdout)
            return done.stdout
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def describe(self, data: pathlib.Path, more: str = "") -> None:
        (CONFIG / "20-pg.conf").write_text(f"[Instance]\nEngine=postgresql\nDataDirectory={data}\n{more}")

    def test_device(self) -> None:
        """A link to the watchdog armed it: the machine was off 30 s later."""
        device = self.directory / "watchdog"
        os.mknod(device, 0o666 | stat.S_IFCHR, ZERO)
        device.chmod(0o666)
        data = self.data("")
        (data / "postgresql.conf").unlink()
        (data / "postgresql.conf").symlink_to(device)
        watch = Watch(device)
        self.suggest(data)
        self.describe(data)
        self.ctl("explain", "pg")
        self.ctl("check")
        self.ctl("plan")
        self.ctl("learn", "pg")
        self.assertEqual(watch.events(), [])
        # The watch works.
        device.open("rb").close()
        self.assertIn(IN_OPEN, watch.events())

    def test_file_of_root(self) -> None:
        """An included file is read with the owner's rights."""
        secret = self.directory / "secret"
        secret.write_text(f"shared_buffers = {SECRET}\n")
        secret.chmod(0o600)
        watch = Watch(secret)
        data = self.data(f"huge_pages = on\ninclude '{secret}'\n")
        self.assertNotIn(SECRET, self.suggest(data))
        self.describe(data)
        text = self.ctl("explain", "pg").stdout
        self.assertIn("Permission denied", text)
        self.assertNotIn(SECRET, text)
        self.assertEqual(watch.events(), [])

    def test_kernel_log(self) -> None:
        """Files of the kernel are not read as included files."""
        for path in ("/proc/kmsg", "/proc/self/environ", "/sys/kernel/mm/hugepages"):
            self.assertIn("not proposed", self.suggest(self.data(f"include '{path}'\n")), path)

    def test_own_file(self) -> None:
        """A file that only its owner may read is read."""
        data = self.data("huge_pages = on\nshared_buffers = 77MB\n")
        data.chmod(0o700)
        self.assertIn("shared_buffers = 77MB", self.suggest(data))

    def fake_server(self, owner: int, directory_owner: int) -> pathlib.Path:
        """A fake PostgreSQL 15 that records its user and its privileges."""
        programs = self.directory / "programs"
        programs.mkdir()
        os.chown(programs, directory_owner, directory_owner)
        program = programs / "postgres"
        program.write_text("#!/bin/sh\nid -u >/tmp/hugeplan-privilege-ran\n"
                           "grep -E 'Cap(Prm|Eff|Bnd)|NoNewPrivs|^Groups' /proc/self/status "
                           ">>/tmp/hugeplan-privilege-ran\necho 999\n")
        program.chmod(0o755)
        os.chown(program, owner, owner)
        self.addCleanup(lambda: pathlib.Path("/tmp/hugeplan-privilege-ran").unlink(missing_ok=True))
        return program

    def unit(self, program: pathlib.Path, data: pathlib.Path) -> None:
        path = pathlib.Path("/etc/systemd/system/hugeplan-privilege.service")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[Service]\nUser=daemon\nExecStart={program} -D {data}\n")
        self.addCleanup(path.unlink)

    def explain(self, **more: object) -> tuple[dict[str, object], str]:
        """`found` of explain's JSON, and the record of the fake server, "" if it has not run."""
        done = self.ctl("explain", "--json=short", "pg", **more)
        ran = pathlib.Path("/tmp/hugeplan-privilege-ran")
        return json.loads(done.stdout)["found"], ran.read_text() if ran.exists() else ""

    def prepare_server(self, settings: str, owner: int = OWNER, directory_owner: int = OWNER) -> None:
        data = self.data(f"huge_pages = on\nshared_buffers = 64MB\n{settings}", OWNER, "15")
        self.unit(self.fake_server(owner, directory_owner), data)
        self.describe(data, f"Unit=hugeplan-privilege.service\nUser=daemon\n")

    def test_server_runs_as_owner(self) -> None:
        """The server's program runs as the owner, without privileges."""
        self.prepare_server("")
        found, ran = self.explain()
        self.assertTrue(found["exact"], found)
        self.assertTrue(ran.startswith(f"{OWNER}\n"), ran)
        self.assertIn("NoNewPrivs:\t1", ran)
        self.assertIn("CapPrm:\t0000000000000000", ran)
        self.assertIn("CapEff:\t0000000000000000", ran)

    def test_with_few_capabilities(self) -> None:
        """hugeplanctl needs only the capabilities to become the owner and to end its processes."""
        self.prepare_server("")
        done = subprocess.run(
            ["setpriv", "--bounding-set=-all,+setuid,+setgid,+kill", "--inh-caps=-all", hugeplanctl,
             "explain", "--json=short", "pg"], capture_output=True, text=True, check=False)
        self.assertTrue(json.loads(done.stdout)["found"]["exact"], done.stdout)

    def gate(self, user: int, *more: str) -> str:
        """The messages of a gate that runs as USER."""
        return self.ctl(*more, "wait", "--restart", "pg", user=user, group=user, extra_groups=[],
                        stdin=subprocess.DEVNULL).stderr

    def test_gate_of_the_owner(self) -> None:
        """A gate that runs as the owner determines the size without becoming another user."""
        self.prepare_server("")
        said = self.gate(OWNER)
        self.assertNotIn("is not known", said)
        self.assertNotIn("using an estimate", said)
        ran = pathlib.Path("/tmp/hugeplan-privilege-ran").read_text()
        self.assertTrue(ran.startswith(f"{OWNER}\n"), ran)
        self.assertIn("NoNewPrivs:\t1", ran)

    def test_root_becomes_the_owner(self) -> None:
        """A gate and `learn` that run as root become the owner. Without User= that is who owns the files."""
        self.prepare_server("")
        ran = pathlib.Path("/tmp/hugeplan-privilege-ran")
        for more in ("", "User=daemon\n"):
            self.describe(self.directory / f"data-{OWNER}", f"Unit=hugeplan-privilege.service\n{more}")
            for words in (("wait", "--restart", "pg"), ("learn", "pg")):
                self.ctl(*words)
                self.assertTrue(ran.read_text().startswith(f"{OWNER}\n"), f"{more}{words}")
                ran.unlink()

    def test_server_that_hangs(self) -> None:
        """A server's program that hangs costs the gate a quarter of its timeout; then an estimate is used."""
        self.prepare_server("")
        program = next(self.directory.rglob("postgres"))
        program.write_text("#!/bin/sh\nsleep 50 &\nsleep 50\n")
        begun = time.monotonic()
        said = self.gate(OWNER, "--timeout=4s")
        self.assertIn("using an estimate: ", said)
        self.assertRegex(said, "no time was left to ask|gave no answer within")
        self.assertLess(time.monotonic() - begun, 40)

    def test_server_with_wrong_answers(self) -> None:
        """An answer of the server's program that is no possible number of pages is replaced by an estimate."""
        self.prepare_server("")
        program = next(self.directory.rglob("postgres"))
        for answer in ("-5", "0x40", "40 pages", "$(seq 300000)", "", "40; exit 1"):
            program.write_text(f"#!/bin/sh\necho {answer}\n")
            found, _ = self.explain()
            self.assertFalse(found["exact"], f"{answer}: {found}")
            self.assertLess(found["sizes"][0]["pages"], 999, f"{answer}: {found}")
            self.assertIn("using an estimate", self.gate(OWNER), answer)
        program.write_text("#!/bin/sh\necho 99999999999\n")
        self.assertRegex(self.gate(OWNER), "refused: it is 99,999,999,999 pages of 2M .*, and this host has ")

    def test_gate_of_another_user(self) -> None:
        """A gate that runs as another user than the owner determines no size and runs no program."""
        self.prepare_server("")
        self.assertIn("its size is not known: it belongs to daemon", self.gate(MALLORY))
        self.assertFalse(pathlib.Path("/tmp/hugeplan-privilege-ran").exists())

    def test_settings_of_third_parties(self) -> None:
        """A server is not run with settings that other users can change: shared_preload_libraries is code."""
        third = self.directory / "third.conf"
        third.write_text("shared_preload_libraries = '/tmp/evil'\n")
        os.chown(third, MALLORY, MALLORY)
        self.prepare_server(f"include '{third}'\n")
        found, ran = self.explain()
        self.assertFalse(found["exact"], found)
        self.assertIn("others can change its settings", found["unasked"])
        self.assertEqual(ran, "")

    def test_files_that_cannot_be_read(self) -> None:
        """The server's program is run, and its size used, though a file of its configuration cannot be read by its
        owner, in which case the server skips it, or not by hugeplanctl's reader, which has a bound."""
        locked, large = self.directory / "locked.conf", self.directory / "large.conf"
        locked.write_text("shared_buffers = 512MB\n")
        locked.chmod(0o600)
        large.write_text("#" * (1 << 20) + "\n")
        for settings, wrong in ((f"include_if_exists '{locked}'\n", False), (f"include '{large}'\n", True)):
            self.prepare_server(settings)
            found, _ = self.explain()
            self.assertEqual(found["byRule"] == [], wrong, found)
            self.assertTrue(found["exact"], found)
            self.assertEqual(found["sizes"][0]["pages"], 999, found)
            said = self.gate(OWNER)
            self.assertNotIn("is not known", said)
            self.doCleanups()
            self.setUp()
        self.prepare_server("")
        auto = self.directory / f"data-{OWNER}" / "postgresql.auto.conf"
        auto.write_text("shared_buffers = 512MB\n")
        auto.chmod(0o600)
        found, _ = self.explain()
        self.assertTrue(found["exact"], found)
        self.assertIn("the server skips it", str(found["problems"]))

    def test_program_of_third_parties(self) -> None:
        """A program that another user owns is not run."""
        self.prepare_server("", owner=MALLORY)
        found, ran = self.explain()
        self.assertFalse(found["exact"], found)
        self.assertEqual(ran, "")

    def test_directory_of_third_parties(self) -> None:
        """A program in another user's directory is not run."""
        self.prepare_server("", directory_owner=MALLORY)
        found, ran = self.explain()
        self.assertFalse(found["exact"], found)
        self.assertEqual(ran, "")

    def test_environment(self) -> None:
        """The environment of hugeplanctl is not passed on to the server."""
        self.prepare_server("")
        _, ran = self.explain(env={**os.environ, "PGDATA": "/tmp", "LD_BIND_NOW": "1"})
        self.assertTrue(ran.startswith(f"{OWNER}\n"), ran)


if __name__ == "__main__":
    sys.exit(run_unittest(test_live.why_not()))
