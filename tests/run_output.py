#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The output of hugeplanctl: marks by locale, $COLUMNS, --output=, many findings of one kind, the time of --watch,
and the progress of a reload on a terminal.

usage: run_output.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --plain-hugeplanctl=PROGRAM --shim=LIBRARY

The plain program, without sanitizers, is run often; the other one must print the same. """

from __future__ import annotations

import collections
import csv
import dataclasses
import io
import json
import pathlib
import re
import subprocess
import sys

import common
import run_daemon
from common import check, wait_until
from terminal import Foreground

TIME = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", re.MULTILINE)
MANY = 300


@dataclasses.dataclass
class Root:
    program: pathlib.Path
    root: pathlib.Path

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return common.run(self.program, *words, root=self.root, timeout=120, **environment)


def check_sanitized(sanitized: Root, root: Root) -> None:
    for words, environment in ((("status", "--output=csv"), {}), (("verify", "--output=table"), {}), (("status", "--json"), {}),
                               (("status",), {"COLUMNS": "60"}), (("status",), {"COLUMNS": "nonsense"}),
                               (("verify", "pg"), {"LC_ALL": "C"}), (("check",), {}), (("status", "--output=xml"), {})):
        one, other = sanitized.run(*words, **environment), root.run(*words, **environment)
        check((one.returncode, one.stdout) == (other.returncode, other.stdout), f"{words}: {one.stdout}{one.stderr}{other.stdout}")


def check_locale(root: Root) -> None:
    for words in (("status",), ("verify",), ("verify", "pg"), ("check",), ("cmdline",)):
        plain = root.run(*words, LC_ALL="C").stdout
        marked = root.run(*words).stdout
        check(plain.isascii() and not marked.isascii(), f"{words}: {plain}")
        check(marked.translate({0x25CF: "*", 0x25CB: "o", 0xD7: "x"}) == plain, f"{words}: {plain}{marked}")
    check(root.run("status", LC_ALL="", LANG="C.UTF-8").stdout.startswith("\u25cf "), "LANG selects the marks if LC_ALL is empty")


def check_width(root: Root) -> None:
    for width in (60, 80, 200):
        lines = root.run("status", "pg", COLUMNS=str(width)).stdout.splitlines()
        check(max(map(len, lines)) <= width, f"{width}: {lines}")
    check(len(root.run("status", "pg", COLUMNS="200").stdout.splitlines())
          < len(root.run("status", "pg", COLUMNS="60").stdout.splitlines()), "a line that fits is not broken")
    for width in ("0", "nonsense", "-1"):
        check(root.run("status", "pg", COLUMNS=width).stdout == root.run("status", "pg").stdout, width)


def check_columns(root: Root) -> None:
    for verb in ("status", "verify"):
        rows = list(csv.DictReader(io.StringIO(root.run(verb, "--output=csv").stdout)))
        found = json.loads(root.run(verb, "--json").stdout)["instances"]
        check(len(rows) == len(found) > 5, verb)
        for row, instance in zip(rows, found):
            for name, cell in row.items():
                value = instance[name]
                expected = ("" if value is None else str(value).lower() if isinstance(value, bool)
                            else " ".join(f"{node['node']}:{node['pages']}" for node in value)
                            if isinstance(value, list) else str(value))
                check(cell == expected, f"{verb}: {name} is {cell} instead of {expected}")
        table = root.run(verb, "--output=table").stdout.splitlines()
        check(table[0].split() == list(rows[0]) and len(table) == len(rows) + 1, f"{verb}: {table}")
        check(len(root.run(verb, "pg", "--output=csv").stdout.splitlines()) == 2, "one instance")
    for words, said in ((("plan", "--output=csv"), "it is for: status verify"),
                        (("status", "--output=xml"), "is not one of table, csv"),
                        (("status", "--output=csv", "--json"), "goes with neither"),
                        (("size", "-c", "shared_buffers=1GB"), "need an engine")):
        done = root.run(*words)
        check(done.returncode == 2 and said in done.stderr and not done.stdout, f"{words}: {done.stderr}")
    with open("/dev/full", "w", encoding="utf-8") as full:
        check(all(subprocess.run((*common.WRAPPER, root.program, word), stdout=full, check=False).returncode == 1
                  for word in ("status", "--help", "--version")), "a full disk")


def check_quotes(root: Root) -> None:
    """A comma or a quotation mark within a cell of CSV is quoted."""
    (root.root / "etc/hugeplan.d/90-comma.conf").write_text('[Instance]\nPages=1\nUnit=a,"b".service\n')
    rows = list(csv.DictReader(io.StringIO(root.run("status", "--output=csv").stdout)))
    check(len(rows) > 5 and all(None not in row and None not in row.values() for row in rows), str(rows))


def check_first_look(root: Root) -> None:
    look = json.loads(root.run("report", "--json").stdout)["status"]["firstLook"]
    check("firstLook" not in json.loads(root.run("status", "--json").stdout), "`status --json` does not search the host")
    text = root.run("status").stdout
    check(look["databases"] and all(each["title"] in text for each in look["databases"]), str(look))
    check(f"Next: {look['next']}" in text, text)


def check_many(root: Root) -> None:
    """Of many instances with the same mistake the first ones are shown and the others counted; JSON has all."""
    directory = root.root / "etc/hugeplan.d"
    for file in directory.glob("*.conf"):
        file.unlink()
    for i in range(MANY):
        (directory / f"{i:03}-db.conf").write_text(
            f"[Instance]\nName=db{i:03}\nEngine=generic\nPages=2M:{99999 if i % 2 else 1}\n")
    problems = json.loads(root.run("check", "--json").stdout)["problems"]
    kinds = collections.Counter(each["id"] for each in problems)
    check((kinds["no-unit"], kinds["not-enough-memory"]) == (MANY, MANY // 2), str(kinds))
    text = root.run("check").stdout
    check(f"{MANY - 8} more of this kind (no-unit)" in text and len(text.splitlines()) < 120, text)
    status = root.run("status").stdout
    for shown in (text, status):
        check(f"{MANY // 2 - 8} more of this kind (not-enough-memory)" in shown, shown[-3000:])
    check(len(status.splitlines()) < MANY + 60, status[-3000:])


def check_progress(host: run_daemon.Host) -> None:
    """A reload with slow writes shows its progress on a terminal, and nowhere else."""
    host.config("20-pg.conf", "[Instance]\nPages=4000\n")
    reload = [*host.hugeplanctl, f"--root={host.root}", "reload"]
    shown = Foreground(reload, {"TERM": "xterm"})
    check(shown.finish() == 0, shown.output)
    check(re.search(r"\rreserving: [\d.]+[MG]? of 7\.8G, [\d.]+[MG] a second, \d+ s left\x1b\[K", shown.output) is not None,
          repr(shown.output))
    check(shown.output.endswith("pages of 2M\n") and "\r\x1b[K" in shown.output, repr(shown.output))
    host.config("20-pg.conf", "[Instance]\nPages=10\n")
    done = subprocess.run(reload, check=True, capture_output=True, text=True, timeout=120)
    check("reserving" not in done.stderr, done.stderr)


def test_roots(program: pathlib.Path, plain: pathlib.Path) -> None:
    with common.root_of("verify") as root:
        check_sanitized(Root(program, root), Root(plain, root))
        for test in (check_locale, check_width, check_columns, check_quotes, check_many):
            test(Root(plain, root))
    with common.root_of("found-postgresql") as root:
        check_first_look(Root(program, root))


def main() -> int:
    programs = common.parser(__doc__, "hugepland", "hugeplanctl", "plain-hugeplanctl", "shim").parse_args()
    test_roots(programs.hugeplanctl, programs.plain_hugeplanctl)
    with run_daemon.host_of(programs, "one-node") as host:
        host.config("20-pg.conf", "[Instance]\nPages=10\n")
        daemon = host.spawn(more_environment={"SHIM_PAUSE_MS": "300"})
        wait_until("the first round", host.is_idle)
        watching = Foreground([*host.hugeplanctl, f"--root={host.root}", "status", "--watch"], {"TERM": "xterm"})
        watching.read_until("may start", 20)
        check(TIME.search(watching.output) is not None, watching.output)
        watching.kill()
        check_progress(host)
        host.stop(daemon)
    return 0


if __name__ == "__main__":
    sys.exit(main())
