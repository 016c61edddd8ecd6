#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The size that hugeplanctl determines for PostgreSQL, compared with a server on real huge pages of 2M.

usage: HUGEPLAN_LIVE=1 test_postgresql.py HUGEPLANCTL

For settings in postgresql.conf, in an included directory, by ALTER SYSTEM and on the command line: the server
reserves the size that `hugeplanctl explain` gets from postgres -C, does not start with one page less, and the
formula's size is not smaller. The size that is measured of the running server, in huge or small pages, is the same.
Needs what test_live.py needs, and Debian's PostgreSQL 15 or later; makes a data directory of its own. Skips (77). """

from __future__ import annotations

import contextlib
import functools
import json
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import test_live
from shared import no_surplus, pools_locked, reserved, unit_group, wait_until
from test_live import CONFIG, set_pool

from common import SKIP, check, passes, postgresql_programs

OWNER = "postgres"
PATIENCE = 30.0

# The places of settings; a later one overrides an earlier one.
PLACES = ("postgresql.conf", "conf.d/10-size.conf", "postgresql.auto.conf", "command line")
BASE = "include_dir = 'conf.d'\nhuge_pages = on\nfsync = off\nlisten_addresses = ''\n"

# Settings, and the place of all but the first one, which is in postgresql.conf.
CASES = (
    ("shared_buffers=128MB", PLACES[0]),
    ("shared_buffers=128MB max_connections=1000", PLACES[1]),
    ("shared_buffers=512MB max_connections=20", PLACES[2]),
    ("shared_buffers=1GB", PLACES[0]),
    ("max_connections=500 shared_buffers=1GB", PLACES[2]),
    ("shared_buffers=2GB max_connections=1000", PLACES[0]),
    ("shared_buffers=2GB max_connections=1000 max_locks_per_transaction=256", PLACES[1]),
    ("shared_buffers=1GB min_dynamic_shared_memory=256MB", PLACES[2]),
    ("shared_buffers=1GB wal_buffers=64MB", PLACES[0]),
    ("shared_buffers=1GB shared_preload_libraries=pg_stat_statements"
     " pg_stat_statements.max=100000", PLACES[0]),
    ("shared_buffers=256MB max_prepared_transactions=500", PLACES[1]),
    ("shared_buffers=256MB max_worker_processes=200 max_wal_senders=100", PLACES[2]),
    ("shared_buffers=256MB track_activity_query_size=64kB autovacuum_max_workers=20", PLACES[0]),
    ("shared_buffers=300MB huge_page_size=2MB max_pred_locks_per_transaction=6400", PLACES[1]),
    ("shared_buffers=256MB max_connections=777", PLACES[3]),
    ("shared_buffers=128MB shared_buffers=1GB max_locks_per_transaction=128", PLACES[3]),
)


def newest_server() -> pathlib.Path | None:
    found = postgresql_programs()
    return found if found and float(found.parent.name) >= 15 else None


def why_not() -> str | None:
    reason = test_live.why_not()
    if reason:
        return reason
    if newest_server() is None:
        return "there is no PostgreSQL 15 or later; install Debian's package postgresql"
    try:
        pwd.getpwnam(OWNER)
    except KeyError:
        return f"there is no user {OWNER} to run the server"
    return None


class Server:
    def __init__(self, programs: pathlib.Path, directory: pathlib.Path) -> None:
        self.programs = programs
        self.data = directory / "data"
        self.log = directory / "log"
        self.options: list[str] = []

    def run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        user = pwd.getpwnam(OWNER)
        with self.log.open("wb") as log:
            return subprocess.Popen([self.programs / program, *arguments], stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, cwd="/", user=user.pw_uid,
                                    group=user.pw_gid, extra_groups=[], env={"LC_ALL": "C"})

    def create(self) -> None:
        done = self.run("initdb", "-D", str(self.data), "--no-sync", "--no-instructions", "--auth=trust").wait(PATIENCE)
        check(done == 0, f"initdb: {self.log.read_text()}")
        (self.data / "conf.d").mkdir()

    def configure(self, settings: list[str], place: str) -> None:
        texts = {name: "" for name in PLACES}
        self.options = []
        for number, setting in enumerate(settings):
            name, value = setting.split("=")
            if number > 0 and place == "command line":
                self.options += ["-c", setting]
            texts[place if number > 0 else PLACES[0]] += f"{name} = '{value}'\n"
        for name in PLACES[:3]:
            (self.data / name).write_text((BASE if name == PLACES[0] else "") + texts[name])

    def start(self) -> subprocess.Popen[bytes]:
        return self.run("postgres", "-D", str(self.data), "-k", str(self.data), *self.options)

    def stop(self, postmaster: subprocess.Popen[bytes]) -> None:
        """An immediate shutdown; the memory is freed when the last process has ended."""
        postmaster.send_signal(signal.SIGQUIT)
        postmaster.wait(PATIENCE)
        wait_until("the pages are given back", lambda: reserved() == 0, PATIENCE)

    def reserves(self) -> int:
        postmaster = self.start()
        try:
            # The server makes its segment before it writes this line (LOCK_FILE_LINE_PM_STATUS).
            wait_until("the server", lambda: postmaster.poll() is not None or self.is_running(), PATIENCE)
            check(postmaster.poll() is None, f"the server does not start: {self.log.read_text()}")
            return reserved()
        finally:
            if postmaster.poll() is None:
                self.stop(postmaster)

    def is_running(self) -> bool:
        with contextlib.suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return len(lines) >= 8 and lines[7].strip() in ("starting", "ready", "standby")
        return False

    def refuses_to_start(self) -> bool:
        postmaster = self.start()
        try:
            postmaster.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.stop(postmaster)
            return False
        return (postmaster.returncode != 0 and "could not map anonymous shared memory" in self.log.read_text())


def explain(hugeplanctl: str) -> dict:
    done = subprocess.run([hugeplanctl, "--json=short", "explain", "pg"], check=False, text=True,
                          capture_output=True, timeout=PATIENCE)
    check(done.returncode == 0, f"explain: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout)["found"]


def check_case(hugeplanctl: str, server: Server, settings: str, place: str) -> str:
    server.configure(settings.split(), place)
    if server.options:
        # hugeplanctl reads the options from postmaster.opts, which the first start writes.
        set_pool(2000)
        server.reserves()
    found = explain(hugeplanctl)
    formula, size = found["byRule"][0]["pages"], found["sizes"][0]
    check(size["exact"], f"the size is not from postgres -C: {found}")
    pages = size["pages"]
    check(formula >= pages, f"the formula's size is {formula}, postgres -C prints {pages}")
    set_pool(pages)
    check((taken := server.reserves()) == pages, f"postgres -C prints {pages}, the server takes {taken}")
    set_pool(pages - 1)
    check(server.refuses_to_start(), f"the server starts with {pages - 1} pages, too")
    return f"{pages} pages, formula {formula}"


UNIT = "hugeplan-live.service"
SEEN = CONFIG / "20-pg.conf.d/90-learned.conf"


@contextlib.contextmanager
def control_group(server: Server) -> Iterator[None]:
    """The server runs in the control group of UNIT."""
    with unit_group(UNIT) as group:
        postmaster = server.start()
        (group / "cgroup.procs").write_text(f"{postmaster.pid}\n")
        try:
            wait_until("the server", server.is_running, PATIENCE)
            yield
        finally:
            server.stop(postmaster)
            wait_until("the end of all processes", lambda: not (group / "cgroup.procs").read_text(), PATIENCE)


def learn(hugeplanctl: str) -> str:
    done = subprocess.run([hugeplanctl, "learn", "pg"], check=False, text=True, capture_output=True, timeout=PATIENCE)
    check(done.returncode == 0, f"learn: {done.returncode}\n{done.stderr}")
    return done.stderr


def seen(hugeplanctl: str) -> tuple[int, bool]:
    SEEN.write_text("".join(line for line in SEEN.read_text().splitlines(True) if not line.startswith("X-Seen")))
    said = learn(hugeplanctl)
    text = SEEN.read_text()
    found = re.search(r"^X-Seen=2M:(\d+)$", text, re.MULTILINE)
    check(found is not None, said + text)
    return int(found[1]), "X-SeenExact=yes" in text


def check_seen(hugeplanctl: str, server: Server) -> None:
    """The measured size of a server whose size before the start was by the formula, as for versions without -C."""
    server.configure(["shared_buffers=256MB", "max_connections=300"], PLACES[0])
    set_pool(2000)
    server.reserves()  # writes postmaster.opts without options
    found = explain(hugeplanctl)
    rule, pages = found["byRule"][0]["pages"], found["sizes"][0]["pages"]
    (CONFIG / "20-pg.conf").write_text((CONFIG / "20-pg.conf").read_text() + f"Unit={UNIT}\n")
    learn(hugeplanctl)
    settings = re.search("^X-Settings=.*$", SEEN.read_text(), re.MULTILINE)
    check(settings is not None, SEEN.read_text())
    SEEN.write_text(f"[Instance]\nPages=2M:{rule}\nX-Version={found['version']}\nX-Rule=2M:{rule}\n{settings[0]}\n")
    set_pool(rule)
    with control_group(server):
        check((now := seen(hugeplanctl)) == (pages, True), f"{now} is measured instead of {pages} huge pages")
        figure = explain(hugeplanctl)["next"][0]
        check((figure["pages"], figure["exact"], figure["source"]) == (pages, True, "seen"),
              f"the size is not the measured one, {pages} pages: {figure}")
    set_pool(0)
    with (server.data / "postgresql.conf").open("a") as file:
        file.write("huge_pages = try\n")
    with control_group(server):
        check((now := seen(hugeplanctl)) == (pages, False), f"{now} is measured in small pages instead of {pages} huge pages")


def run_cases(hugeplanctl: str, server: Server) -> int:
    server.create()
    CONFIG.mkdir(exist_ok=True)
    (CONFIG / "20-pg.conf").write_text(f"[Instance]\nEngine=postgresql\nPageSize=2M\nDataDirectory={server.data}\n")
    results = [passes(f"{settings} ({place})", functools.partial(check_case, hugeplanctl, server, settings, place))
               for settings, place in CASES]
    results.append(passes("measured sizes", functools.partial(check_seen, hugeplanctl, server)))
    return results.count(False)


def main() -> int:
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return SKIP
    programs = newest_server()
    with (tempfile.TemporaryDirectory(prefix="hugeplan-live-", dir="/var/lib") as name,
          pools_locked(), test_live.host_as_it_was(), no_surplus()):
        shutil.chown(name, OWNER)
        n_failed = run_cases(str(pathlib.Path(sys.argv[1]).resolve()), Server(programs, pathlib.Path(name)))
    print(f"PostgreSQL {programs.parent.name}: {len(CASES) + 1} cases, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
