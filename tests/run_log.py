#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`hugeplanctl log` on a real journal: entries as journald keeps them are made into a journal file by systemd's own
systemd-journal-remote, below a root directory, and read back; some that were made up, and those of a hugepland.

usage: run_log.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --shim=LIBRARY --journal-shim=LIBRARY

Skips (77) where systemd-journal-remote is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

import run_cases
import run_daemon

WRAPPER = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))
REMOTES = ("/usr/lib/systemd/systemd-journal-remote", "/lib/systemd/systemd-journal-remote")
MACHINE = "4f1c2b6a9d8e47d0a5b3c2d1e0f98765"
BOOTS = ("a" * 32, "b" * 32)
UNIT = "hugeplan.service"
NIGHT = 1798686000  # 2026-12-31 03:00:00 UTC
DAY = 24 * 60 * 60


def entry(boot: int, seconds: int, message: str, *fields: str, unit: str = UNIT) -> str:
    """In the Journal Export Format: https://systemd.io/JOURNAL_EXPORT_FORMATS"""
    return "\n".join([
        f"__REALTIME_TIMESTAMP={(NIGHT + seconds) * 1000000}", f"__MONOTONIC_TIMESTAMP={(seconds % DAY) * 1000000 + 1}",
        f"_BOOT_ID={BOOTS[boot]}", f"_MACHINE_ID={MACHINE}", f"_SYSTEMD_UNIT={unit}", f"MESSAGE={message}", *fields,
    ]) + "\n\n"


POOL = ("HUGEPLAN_KIND=pool", "HUGEPLAN_NODE=0", "HUGEPLAN_PAGE_SIZE=2097152", "HUGEPLAN_INSTANCE=orders",
        "HUGEPLAN_INSTANCE=sales")
ENTRIES = [
    entry(0, 0, "node 0: 540 pages of 2M are reserved", "HUGEPLAN_EVENT=reserved", "PRIORITY=6", *POOL,
          "HUGEPLAN_PAGES_BEFORE=0", "HUGEPLAN_PAGES=540", "HUGEPLAN_PAGES_WANTED=540"),
    entry(0, 1, "orders is ready", "HUGEPLAN_EVENT=ready", "PRIORITY=6", "HUGEPLAN_INSTANCE=orders"),
    entry(0, 2, "no event of ours", "PRIORITY=6"),
    entry(0, 3, "forged", "HUGEPLAN_EVENT=reserved", "HUGEPLAN_INSTANCE=orders", unit="mallory.service"),
    # The daemon was started anew.
    entry(0, 4, "orders is ready", "HUGEPLAN_EVENT=ready", "PRIORITY=6", "HUGEPLAN_INSTANCE=orders"),
    entry(1, DAY, "orders is ready", "HUGEPLAN_EVENT=ready", "PRIORITY=6", "HUGEPLAN_INSTANCE=orders"),
    entry(1, DAY + 5, "drift: node 0 has 12 pages of 2M instead of 540; likely because of vm.nr_hugepages=12 in "
          "/etc/sysctl.d/99-db.conf:3", "HUGEPLAN_EVENT=drift", "PRIORITY=4", *POOL, "HUGEPLAN_PAGES_BEFORE=540",
          "HUGEPLAN_PAGES=12", "HUGEPLAN_BY=vm.nr_hugepages=12 in /etc/sysctl.d/99-db.conf:3"),
    entry(1, DAY + 6, "sales: its start is refused: short", "HUGEPLAN_EVENT=gate-refused", "PRIORITY=4",
          "HUGEPLAN_INSTANCE=sales"),
    entry(1, DAY + 7, "orders is lost", "HUGEPLAN_EVENT=lost", "PRIORITY=4", "HUGEPLAN_INSTANCE=orders"),
    entry(1, DAY + 8, "orders is ready", "HUGEPLAN_EVENT=ready", "PRIORITY=6", "HUGEPLAN_INSTANCE=orders"),
]
TABLE = """\
WHEN                 BOOT  EVENT         INSTANCE       NODE  WHAT HAPPENED
2026-12-31 03:00:00    -1  reserved      orders, sales     0  node 0: 540 pages of 2M are reserved
2026-12-31 03:00:01    -1  ready         orders            -  orders is ready
2027-01-01 03:00:00     0  ready         orders            -  orders is ready
2027-01-01 03:00:05     0  drift         orders, sales     0  drift: node 0 has 12 pages of 2M instead of 540; likely \
because of vm.nr_hugepages=12 in /etc/sysctl.d/99-db.conf:3
2027-01-01 03:00:06     0  gate-refused  sales             -  sales: its start is refused: short
2027-01-01 03:00:07     0  lost          orders            -  orders is lost
2027-01-01 03:00:08     0  ready         orders            -  orders is ready
"""


def make_journal(remote: str, root: pathlib.Path, entries: str) -> None:
    directory = root / "var/log/journal" / MACHINE
    directory.mkdir(parents=True)
    subprocess.run([remote, f"--output={directory / 'system.journal'}", "-"], input=entries, text=True,
                   check=True, capture_output=True, timeout=60)


def find_remote() -> str | None:
    return next(filter(os.path.exists, REMOTES), None)


class Host:
    def __init__(self, program: str, root: pathlib.Path):
        self.program, self.root = program, root

    def log(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        done = subprocess.run([*WRAPPER, self.program, f"--root={self.root}", "log", *arguments], check=False,
                              capture_output=True, text=True, timeout=60, env={**os.environ, "TZ": "UTC"})
        if done.returncode != code:
            raise AssertionError(f"log {arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def texts(self, *arguments: str) -> list[str]:
        return [each["text"] for each in json.loads(self.log("--json", *arguments)[0])["history"]]


def check(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{what}:\n{found}\ninstead of\n{expected}")


def check_selections(host: Host) -> None:
    everything = host.texts()
    check("by boot", host.texts("--boot=-1"), everything[:2])
    check("this boot", host.texts("--boot"), everything[2:])
    check("by a boot's id", host.texts(f"--boot={BOOTS[0]}"), everything[:2])
    check("since", host.texts("--since=2027-01-01 03:00:06"), everything[4:])
    check("since a minute", host.texts("--since=2027-01-01 03:00"), everything[2:])
    check("since a day", host.texts("--since=2026-12-31"), everything)
    check("one instance", host.texts("sales"), [everything[0], *everything[3:5]])
    check("one instance in a boot", host.texts("sales", "--boot=-1"), everything[:1])
    text, said = host.log("nobody")
    check("nothing of it", (text, said), ("", "hugeplanctl: nothing is recorded of nobody\n"))


def check_json(host: Host) -> None:
    drift = json.loads(host.log("--json", "--boot=0")[0])["history"][1]
    check("a drift", drift, {
        "atUSec": (NIGHT + DAY + 5) * 1000000, "at": "2027-01-01 03:00:05", "boot": BOOTS[1], "bootsAgo": 0,
        "event": "drift", "kind": "pool", "node": 0, "pageSizeBytes": 2 << 20, "pagesBefore": 540, "pages": 12,
        "by": "vm.nr_hugepages=12 in /etc/sysctl.d/99-db.conf:3", "instances": ["orders", "sales"],
        "text": "drift: node 0 has 12 pages of 2M instead of 540; likely because of vm.nr_hugepages=12 in "
                "/etc/sysctl.d/99-db.conf:3"})


CSV = """\
atUSec,at,boot,bootsAgo,event,kind,instances,node,pageSizeBytes,pagesBefore,pages,pagesWanted,by,text
%d,2027-01-01 03:00:05,%s,0,drift,pool,orders sales,0,2097152,540,12,,vm.nr_hugepages=12 in /etc/sysctl.d/99-db.conf:3,\
drift: node 0 has 12 pages of 2M instead of 540; likely because of vm.nr_hugepages=12 in /etc/sysctl.d/99-db.conf:3
%d,2027-01-01 03:00:06,%s,0,gate-refused,,sales,,,,,,,sales: its start is refused: short
"""


def check_columns(host: Host) -> None:
    expected = CSV % ((NIGHT + DAY + 5) * 1000000, BOOTS[1], (NIGHT + DAY + 6) * 1000000, BOOTS[1])
    check("as CSV", host.log("--output=csv", "sales", "--boot=0")[0], expected)
    check("as a table", [line.split()[0] for line in host.log("--output=table")[0].splitlines()][:2],
          ["atUSec", str(NIGHT * 1000000)])


def check_report(host: Host) -> None:
    """The journal's last boot is this one, where the kernel does not say which it is."""
    done = subprocess.run([*WRAPPER, host.program, f"--root={host.root}", "report", "--format=markdown"], check=True,
                          capture_output=True, text=True, timeout=60, env={**os.environ, "TZ": "UTC"})
    history = done.stdout.partition("## History of this boot\n")[2].partition("\n## ")[0]
    check("rows of the history", [line.split(" | ")[:3] for line in history.splitlines() if line.startswith("| 2")], [
        ["| 2027-01-01 03:00:00", "ready", "orders"], ["| 2027-01-01 03:00:05", "**drift**", "orders, sales"],
        ["| 2027-01-01 03:00:06", "**gate-refused**", "sales"], ["| 2027-01-01 03:00:07", "**lost**", "orders"],
        ["| 2027-01-01 03:00:08", "ready", "orders"]])


def check_mistakes(host: Host) -> None:
    for arguments, code, words in ((("--boot=7",), 2, "--boot: '7' is no boot"), (("--boot=-2",), 1, "nothing of that boot"),
                                   (("--since=soon",), 2, "--since: 'soon' is no time")):
        text, said = host.log(*arguments, code=code)
        if text or words not in said:
            raise AssertionError(f"{arguments}: {text}{said}")


def check_none(program: str, root: pathlib.Path) -> None:
    text, said = Host(program, root).log(code=1)
    if text or "there is no journal on this host" not in said:
        raise AssertionError(f"no journal: {text}{said}")


def check_waste(program: str, remote: str, root: pathlib.Path) -> None:
    """Since when pages wait for a unit that nothing starts is what the journal says."""
    root.mkdir()
    run_cases.make_root(run_cases.HERE / "cases/verify", root)
    at = int(time.time()) - NIGHT - 3 * DAY
    ready = "HUGEPLAN_EVENT=ready"
    make_journal(remote, root, "".join([
        entry(0, at - 10, "late is ready", ready, "HUGEPLAN_INSTANCE=late"),
        entry(1, at, "gone is ready", ready, "HUGEPLAN_INSTANCE=gone"),
        entry(1, at + 1, "late is ready", ready, "HUGEPLAN_INSTANCE=late"),
        entry(1, at + 2, "late starts", "HUGEPLAN_EVENT=gate-passed", "HUGEPLAN_INSTANCE=late")]))
    done = subprocess.run([*WRAPPER, program, f"--root={root}", "verify", "--json"], check=False, capture_output=True,
                          text=True, timeout=60)
    since = {row["instance"]: row["sinceSec"] for row in json.loads(done.stdout)["waste"]
             if row["kind"] in ("disabled", "no-unit")}
    check("late was let start", since["late"], None)
    if not 3 * DAY <= (since["gone"] or 0) < 3 * DAY + 60:
        raise AssertionError(f"gone: {since['gone']}")


# It is told that its standard error is the journal.
AS_SERVICE = ("/bin/sh", "-c", 'JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec "$@"', "sh")
SERVICE_EVENTS = [
    ("set", [], None), ("reserved", ["pg"], 0), ("reserved", ["pg"], 2), ("refused", ["large"], None),
    ("ready", ["pg"], None), ("drift", ["pg"], 2), ("repaired", ["pg"], 2), ("gate-passed", ["pg"], None),
]


def run_service(host: run_daemon.Host, export: pathlib.Path, programs: argparse.Namespace) -> None:
    """Somebody lowers a pool, which is put right; then a database starts, and the daemon is started anew."""
    environment = {"LD_PRELOAD": f"{host.shim['LD_PRELOAD']} {programs.journal_shim.resolve()}",
                   "JOURNAL_EXPORT": str(export), "JOURNAL_BOOT": BOOTS[0]}
    host.config("20-pg.conf", run_daemon.PG)
    host.config("30-large.conf", "[Instance]\nPages=10000000\nNodes=2\n")
    for _ in range(2):
        daemon = host.spawn(*AS_SERVICE, more_environment=environment)
        run_daemon.wait_until("the first round", host.is_idle)
        if export.read_text().count("EVENT=drift") == 0:
            host.write("etc/sysctl.d/99-db.conf", f"\nvm.nr_hugepages={host.pool(0) + 124}\n")
            host.pool_path(2).write_text("124\n")
            run_daemon.wait_until("the repair", lambda: "EVENT=repaired" in export.read_text() and host.is_idle())
            host.gate("pg.service", "pg")
        host.stop(daemon)


def check_daemon(programs: argparse.Namespace, remote: str, root: pathlib.Path) -> None:
    export = root.with_suffix(".export")
    export.touch()
    with run_daemon.host_of(programs, "two-nodes-hole") as host:
        run_service(host, export, programs)
    make_journal(remote, root, export.read_text())
    history = json.loads(Host(str(programs.hugeplanctl), root).log("--json")[0])["history"]
    check("what it has done", [(event["event"], event["instances"], event.get("node")) for event in history
                               if event["event"] != "problem"], SERVICE_EVENTS)
    drift = next(event for event in history if event["event"] == "drift")
    check("who has done it", (drift["by"], drift["pagesBefore"], drift["pages"]),
          ("vm.nr_hugepages=624 in /etc/sysctl.d/99-db.conf:2", 500, 124))


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("hugepland", "hugeplanctl", "shim", "journal-shim"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    programs = parser.parse_args()
    program = str(programs.hugeplanctl)
    remote = find_remote()
    with tempfile.TemporaryDirectory(prefix="hugeplan-log-") as name:
        empty, root = pathlib.Path(name, "empty"), pathlib.Path(name, "root")
        empty.mkdir()
        check_none(program, empty)
        if not remote:
            print("systemd-journal-remote is not installed")
            return 1 if os.environ.get("CI") == "true" else 77
        make_journal(remote, root, "".join(ENTRIES))
        host = Host(program, root)
        check("as a table", host.log()[0], TABLE)
        check_selections(host)
        check_json(host)
        check_columns(host)
        check_report(host)
        check_mistakes(host)
        check_waste(program, remote, pathlib.Path(name, "waste"))
        check_daemon(programs, remote, pathlib.Path(name, "daemon"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
