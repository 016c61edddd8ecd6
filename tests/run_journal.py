#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The history of a host in a real journal. systemd-journal-remote makes a journal file below a root directory, from
entries of this file and from those of a hugepland; journalctl as in hugepland(8), `report` and `verify` read them.

usage: run_journal.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --shim=LIBRARY --journal-shim=LIBRARY

Skips (77) where systemd-journal-remote is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import uuid
from typing import Any

import common
import run_daemon
from common import wait_until

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
    entry(0, 0, "node 0: 540 pages of 2M (1.1G) reserved", "HUGEPLAN_EVENT=reserved", "PRIORITY=6", *POOL,
          "HUGEPLAN_PAGES_BEFORE=0", "HUGEPLAN_PAGES=540", "HUGEPLAN_PAGES_WANTED=540"),
    entry(0, 1, "orders is ready", "HUGEPLAN_EVENT=ready", "PRIORITY=6", "HUGEPLAN_INSTANCE=orders"),
    entry(0, 2, "no event of ours", "PRIORITY=6"),
    entry(0, 3, "forged", "HUGEPLAN_EVENT=reserved", "HUGEPLAN_INSTANCE=orders", unit="mallory.service"),
    # The daemon was restarted.
    entry(0, 4, "orders is ready", "HUGEPLAN_EVENT=ready", "PRIORITY=6", "HUGEPLAN_INSTANCE=orders"),
    entry(1, DAY, "orders is ready", "HUGEPLAN_EVENT=ready", "PRIORITY=6", "HUGEPLAN_INSTANCE=orders"),
    entry(1, DAY + 5, "drift: node 0 has 12 pages of 2M instead of 540", "HUGEPLAN_EVENT=drift", "PRIORITY=4", *POOL,
          "HUGEPLAN_PAGES_BEFORE=540", "HUGEPLAN_PAGES=12"),
    entry(1, DAY + 6, "sales: its start is refused: short", "HUGEPLAN_EVENT=gate-refused", "PRIORITY=4",
          "HUGEPLAN_INSTANCE=sales"),
    entry(1, DAY + 7, "orders is lost", "HUGEPLAN_EVENT=lost", "PRIORITY=4", "HUGEPLAN_INSTANCE=orders"),
    entry(1, DAY + 8, "orders is ready", "HUGEPLAN_EVENT=ready", "PRIORITY=6", "HUGEPLAN_INSTANCE=orders"),
]


def make_journal(remote: str, root: pathlib.Path, entries: str) -> None:
    directory = root / "var/log/journal" / MACHINE
    directory.mkdir(parents=True)
    subprocess.run([remote, f"--output={directory / 'system.journal'}", "-"], input=entries, text=True,
                   check=True, capture_output=True, timeout=60)


def write_boot(root: pathlib.Path, boot: int) -> None:
    """As the kernel writes it."""
    path = root / "proc/sys/kernel/random/boot_id"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{uuid.UUID(BOOTS[boot])}\n")


def in_journal(root: pathlib.Path, *arguments: str) -> list[dict[str, Any]]:
    done = subprocess.run(["journalctl", f"--directory={root / 'var/log/journal' / MACHINE}", *arguments, "-o", "json"],
                          check=False, capture_output=True, text=True, timeout=60)
    if done.returncode not in {0, 1} or "Failed" in done.stderr:
        raise AssertionError(f"journalctl {arguments}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{what}:\n{found}\ninstead of\n{expected}")


def check_manual(root: pathlib.Path) -> None:
    """The journalctl commands of hugepland(8) find the entries that they are for, and no forged ones."""
    page = (common.HERE.parent / "man/hugepland.8.scd").read_text(encoding="utf-8")
    lines = re.findall("^journalctl (-u hugeplan .*)$", page.partition("# JOURNAL\n")[2].partition("\n# ")[0], re.MULTILINE)
    found = [[each["MESSAGE"] for each in in_journal(root, *line.split())] for line in lines]
    ours = [each["MESSAGE"] for each in in_journal(root) if each["_SYSTEMD_UNIT"] == UNIT]
    check("entries of the unit", len(ours), len(ENTRIES) - 1)
    check("entries of an instance", found[0], [text for text in ours if not text.startswith(("no event", "sales"))])
    check("entries of the previous boot", found[1], ours[:4])
    check("entries of an event", found[2], [text for text in ours if text.startswith("drift")])
    check("lines of the manual", len(found), 3)


def report(program: str, root: pathlib.Path) -> dict[str, Any]:
    done = subprocess.run([*common.WRAPPER, program, f"--root={root}", "--json=short", "report"], check=True,
                          capture_output=True, text=True, timeout=60, env={**os.environ, "TZ": "UTC"})
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def check_report(program: str, root: pathlib.Path) -> None:
    """`report` has this boot's events once, although a restarted daemon has logged some of them again."""
    history = report(program, root)["history"]
    check("the history", [(entry["at"], entry["event"], entry["instances"], entry["priority"]) for entry in history], [
        ("2027-01-01 03:00:00", "ready", ["orders"], 6), ("2027-01-01 03:00:05", "drift", ["orders", "sales"], 4),
        ("2027-01-01 03:00:06", "gate-refused", ["sales"], 4), ("2027-01-01 03:00:07", "lost", ["orders"], 4),
        ("2027-01-01 03:00:08", "ready", ["orders"], 6)])
    check("a drift", history[1], {
        "atUSec": (NIGHT + DAY + 5) * 1000000, "at": "2027-01-01 03:00:05", "priority": 4, "event": "drift",
        "kind": "pool", "node": 0, "pageSizeBytes": 2 << 20, "pagesBefore": 540, "pages": 12, "pagesWanted": None,
        "instances": ["orders", "sales"], "unit": None, "file": None, "line": None,
        "text": "drift: node 0 has 12 pages of 2M instead of 540"})


def check_none(program: str, root: pathlib.Path, why: str) -> None:
    """`report` without a history says why."""
    answer = report(program, root)
    check("no history", (answer["history"], f"History: {why}" in answer["leftOut"]), (None, True))


def check_waste(program: str, remote: str, root: pathlib.Path) -> None:
    """`verify` takes from the journal since when pages have been reserved for a unit that nothing starts."""
    root.mkdir()
    common.make_root(common.HERE / "cases/verify", root)
    write_boot(root, 1)
    at = int(time.time()) - NIGHT - 3 * DAY
    ready = "HUGEPLAN_EVENT=ready"
    make_journal(remote, root, "".join([
        entry(0, at - 10, "late is ready", ready, "HUGEPLAN_INSTANCE=late"),
        entry(1, at, "gone is ready", ready, "HUGEPLAN_INSTANCE=gone"),
        entry(1, at + 1, "late is ready", ready, "HUGEPLAN_INSTANCE=late"),
        entry(1, at + 2, "late starts", "HUGEPLAN_EVENT=gate-passed", "HUGEPLAN_INSTANCE=late")]))
    done = subprocess.run([*common.WRAPPER, program, f"--root={root}", "verify", "--json"], check=False, capture_output=True,
                          text=True, timeout=60)
    since = {row["instance"]: row["sinceSec"] for row in json.loads(done.stdout)["waste"]
             if row["kind"] in ("disabled", "no-unit")}
    check("late has started", since["late"], None)
    if not 3 * DAY <= (since["gone"] or 0) < 3 * DAY + 60:
        raise AssertionError(f"gone: {since['gone']}")


# Sets $JOURNAL_STREAM, by which a service recognizes that its standard error is the journal.
AS_SERVICE = ("/bin/sh", "-c", 'JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec "$@"', "sh")
SERVICE_EVENTS = [
    ("set", None, None), ("reserved", "pg", "0"), ("reserved", "pg", "2"), ("refused", "large", None),
    ("ready", "pg", None), ("drift", "pg", "2"), ("repaired", "pg", "2"), ("gate-passed", "pg", None),
    # The events of the restarted daemon.
    ("refused", "large", None), ("ready", "pg", None),
]


def run_service(host: run_daemon.Host, export: pathlib.Path, programs: argparse.Namespace) -> None:
    """A pool is lowered and repaired, a database starts, and the daemon is restarted."""
    environment = {"LD_PRELOAD": f"{host.environment['LD_PRELOAD']} {programs.journal_shim.resolve()}",
                   "JOURNAL_EXPORT": str(export), "JOURNAL_BOOT": BOOTS[0]}
    host.config("20-pg.conf", run_daemon.PG)
    host.config("30-large.conf", "[Instance]\nPages=10000000\nNodes=2\n")
    for _ in range(2):
        daemon = host.spawn(*AS_SERVICE, more_environment=environment)
        wait_until("the first round", host.is_idle)
        if export.read_text().count("EVENT=drift") == 0:
            host.set_pool(2, 124)
            wait_until("the repair", lambda: "EVENT=repaired" in export.read_text() and host.is_idle())
            host.gate("pg.service", "pg")
        host.stop(daemon)


def check_daemon(programs: argparse.Namespace, remote: str, root: pathlib.Path) -> None:
    export = root.with_suffix(".export")
    export.touch()
    with run_daemon.host_of(programs, "two-nodes-hole") as host:
        run_service(host, export, programs)
    make_journal(remote, root, export.read_text())
    events = in_journal(root)
    check("events of the daemon", [(event["HUGEPLAN_EVENT"], event.get("HUGEPLAN_INSTANCE"), event.get("HUGEPLAN_NODE"))
                               for event in events if event.get("HUGEPLAN_EVENT", "problem") != "problem"], SERVICE_EVENTS)
    write_boot(root, 0)
    history = report(str(programs.hugeplanctl), root)["history"]
    check("events of the report", [entry["event"] for entry in history if entry["event"] != "problem"],
          [event for event, *_ in SERVICE_EVENTS[:-2]])
    drift = next(event for event in events if event.get("HUGEPLAN_EVENT") == "drift")
    check("counts of the drift", (drift["HUGEPLAN_PAGES_BEFORE"], drift["HUGEPLAN_PAGES"]), ("500", "124"))


def source_of_pages(program: str, root: pathlib.Path, *arguments: str) -> str:
    done = subprocess.run([*common.WRAPPER, program, f"--root={root}", *arguments], check=False, capture_output=True, text=True,
                          timeout=60, env={**os.environ, "TZ": "UTC"})
    lines = " ".join(line.strip("# ") for line in done.stdout.splitlines())
    found = re.search(r"[-0-9: ]+to 60 pages of 2M on node 0, not by hugeplan|who set them is not known: there is no journal", lines)
    return found[0].strip() if found else lines


def check_addition(programs: argparse.Namespace, remote: str, root: pathlib.Path) -> None:
    """For pages that no file explains, `import` and `status` show from the journal when hugepland noticed them;
    without a journal they say that the source is not known."""
    program, export = str(programs.hugeplanctl), root.with_suffix(".export")
    export.touch()
    with run_daemon.host_of(programs, "two-nodes-hole") as host:
        # No instance is configured; pages are added twice.
        environment = {"LD_PRELOAD": f"{host.environment['LD_PRELOAD']} {programs.journal_shim.resolve()}",
                       "JOURNAL_EXPORT": str(export), "JOURNAL_BOOT": BOOTS[0]}
        daemon = host.spawn(*AS_SERVICE, more_environment=environment)
        wait_until("the first round", host.is_idle)
        for i, pages in enumerate((40, 60), 1):
            host.set_pool(0, pages)
            wait_until("the report of drift", lambda i=i: export.read_text().count("EVENT=drift") == i)
        host.stop(daemon)
        for verb in ("import", "status"):
            check(f"{verb} without a journal", source_of_pages(program, host.root, verb),
                  "who set them is not known: there is no journal")
        make_journal(remote, host.root, export.read_text())
        write_boot(host.root, 0)
        for verb in ("import", "status"):
            said = source_of_pages(program, host.root, verb)
            check(verb, re.sub(r"^\d{4}(-\d\d){2} (\d\d:){2}\d\d", "WHEN", said),
                  "WHEN: 40 to 60 pages of 2M on node 0, not by hugeplan")


def main() -> int:
    programs = common.parser(__doc__, "hugepland", "hugeplanctl", "shim", "journal-shim").parse_args()
    program = str(programs.hugeplanctl)
    remote = next(filter(os.path.exists, REMOTES), None)
    with tempfile.TemporaryDirectory(prefix="hugeplan-journal-") as name:
        empty, root = pathlib.Path(name, "empty"), pathlib.Path(name, "root")
        empty.mkdir()
        check_none(program, empty, "there is no journal on this host: systemd-journald does not run, or stores nothing")
        if not remote:
            return common.skip("systemd-journal-remote is not installed")
        make_journal(remote, root, "".join(ENTRIES))
        check_none(program, root, "the journal has no entries of this boot, or may not be read")
        write_boot(root, 1)
        check_manual(root)
        check_report(program, root)
        check_waste(program, remote, pathlib.Path(name, "waste"))
        check_daemon(programs, remote, pathlib.Path(name, "daemon"))
        check_addition(programs, remote, pathlib.Path(name, "addition"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
