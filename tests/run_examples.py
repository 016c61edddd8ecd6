#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The files of conf/examples on a host with the servers that they describe, before any of them is in effect.

usage: run_examples.py --hugeplanctl=PROGRAM --examples=DIRECTORY

An administrator who copies an example must pass `hugeplanctl check && hugeplanctl plan`: with each example alone, and
with all of them, as they are (Memory=auto) and with the settings in their comments. `check` may find only what a
`systemctl daemon-reload` solves; `plan` must show every instance as ready. """

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator

import common
import unpack_host
from common import HERE

# Settings in adjacent comment lines belong together.
COMMENTED = re.compile(r"(?:^#[A-Z][A-Za-z]+=.*\n)+", re.MULTILINE)
# An instance has one of these keys.
SIZES = {"Memory", "Pages", "NodeMemory"}
# The unit of a server that the host does not have.
OTHER_UNIT = "Unit=mariadb@reports.service"
# Solved by `systemctl daemon-reload`.
ALLOWED = {"dropin-missing"}

Texts = dict[str, str]


class Host:
    """A root directory on which sets of files are tried."""

    def __init__(self, program: pathlib.Path, root: pathlib.Path, fixture: str) -> None:
        self.program = program
        self.root = root
        for name in (fixture, "example-servers"):
            unpack_host.unpack(HERE / "hosts" / f"{name}.tree", root)

    def install(self, texts: Texts) -> None:
        directory = self.root / "etc/hugeplan.d"
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.iterdir():
            old.unlink()
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")

    def run(self, *arguments: str, user: int | None = None) -> tuple[int, dict[str, list[dict[str, object]]]]:
        done = common.run(self.program, "--json=short", *arguments, root=self.root, user=user)
        if done.stderr:
            raise RuntimeError(f"{arguments}: {done.stderr}")
        return done.returncode, json.loads(done.stdout)


def instances_of(texts: Texts) -> int:
    return sum("[Instance]" in text for text in texts.values())


def faults_of(host: Host, texts: Texts) -> list[str]:
    """What keeps these files from taking effect on this host."""
    host.install(texts)
    code, answer = host.run("check")
    faults = [f"check: {problem['severity']} [{problem['id']}]: {problem['text']}"
              for problem in answer["problems"] if problem["id"] not in ALLOWED]
    if code != 0:
        faults.append(f"check: exit {code}")
    _, answer = host.run("plan")
    faults += [f"plan: {instance['name']} is {instance['verdict']}: {instance['reason']}"
               for instance in answer["instances"] if instance["verdict"] != "ready"]
    if len(answer["instances"]) != instances_of(texts):
        faults.append(f"plan: {len(answer['instances'])} instances of {instances_of(texts)}")
    return faults


def with_settings(text: str, commented: re.Match[str]) -> str:
    """The example with the settings of COMMENTED in place of the ones that they replace."""
    lines = re.sub("^#", "", commented[0], flags=re.MULTILINE)
    keys = set(re.findall(r"^(\w+)=", lines, re.MULTILINE))
    replaced = "|".join(sorted(keys | (SIZES if keys & SIZES else set())))
    around = [re.sub(rf"^(?:{replaced})=.*\n", "", part, flags=re.MULTILINE)
              for part in (text[:commented.start()], text[commented.end():])]
    return lines.join(around)


def offers_of(text: str) -> Iterator[str]:
    for commented in COMMENTED.finditer(text):
        if OTHER_UNIT not in commented[0]:
            yield with_settings(text, commented)


def with_size(text: str) -> str:
    sizes = [commented for commented in COMMENTED.finditer(text) if "#Memory=" in commented[0]]
    return with_settings(text, sizes[0]) if sizes else text


def sets_of(examples: Texts) -> Iterator[tuple[str, Texts]]:
    for name, text in examples.items():
        yield name, {name: text}
        for i, offer in enumerate(offers_of(text), 1):
            yield f"{name} with its offer {i}", {name: offer}
    yield "all of them", examples
    yield "all of them with sizes", {name: with_size(text) for name, text in examples.items()}


def test_sets(host: Host, examples: Texts) -> list[str]:
    """Every example alone, with its commented settings, and all of them together."""
    return [f"{title}: {fault}" for title, texts in sets_of(examples) for fault in faults_of(host, texts)]


def test_defaults(host: Host, examples: Texts) -> list[str]:
    """00-host.conf has only defaults, as its comment says."""
    plans = []
    for name in ({}, {"00-host.conf": examples["00-host.conf"]}):
        host.install({"20-postgresql.conf": examples["20-postgresql.conf"], **name})
        plans.append(host.run("plan"))
    return [] if plans[0] == plans[1] else [f"00-host.conf: {plans[0]} becomes {plans[1]}"]


def test_obstacles(host: Host, examples: Texts) -> list[str]:
    """A host on which a server does not fit the examples has faults, or test_sets would prove nothing."""
    faults = []
    for path, old, new in (("etc/group", "hugetlb:x:989:oracle\n", ""),
                           ("proc/sys/vm/hugetlb_shm_group", "0", "54322"),
                           ("etc/postgresql/15/main/postgresql.conf", "huge_pages = on", "huge_pages = try"),
                           ("etc/elasticsearch/jvm.options", "+UseLargePages", "-UseLargePages"),
                           ("etc/mysql/my.cnf", "large-pages\n", "")):
        file = host.root / path
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(old, new), encoding="utf-8")
        if not faults_of(host, examples):
            faults.append(f"{path} without '{old.strip()}' is not noticed")
        file.write_text(text, encoding="utf-8")
    return faults


def test_others(host: Host, examples: Texts) -> list[str]:
    """A user who may not read a database's files is told so, and to run `check` as root."""
    closed = [host.root / "var/lib/postgresql/15/main", host.root / "etc/mysql"]
    program, user = host.program, 65534 if os.geteuid() == 0 else None
    host.install(examples)
    host.root.chmod(0o755)
    host.program = host.root / "hugeplanctl"  # every user may run this copy
    shutil.copy(program, host.program)
    for path in closed:
        path.chmod(0)
    _, answer = host.run("check", user=user)
    for path in closed:
        path.chmod(0o755)
    host.program = program
    denied = [problem for problem in answer["problems"] if "Permission denied" in problem["text"]]
    faults = [f"the remedy is '{problem['remedy']}'" for problem in denied
              if "run this as root" not in (problem["remedy"] or "") or "start the server" in problem["text"]]
    if not denied or answer["complete"]:
        faults.append(f"no problem names the unreadable files: {answer}")
    return faults


def test_engines(host: Host, examples: Texts) -> list[str]:
    """`size` lists the engines of all examples and of all folders in src/engines."""
    _, answer = host.run("size")
    listed = {engine["engine"] for engine in answer}
    named = {name for text in examples.values() for name in re.findall("^Engine=(.+)$", text, re.MULTILINE)}
    for path in (HERE.parent / "src/engines").glob("*/*_traits.c"):
        named |= set(re.findall(r'\.name = "(\w+)"', path.read_text(encoding="utf-8")))
    return [f"{name} is not listed" for name in sorted(named - listed)]


def main() -> int:
    arguments = common.parser(__doc__, "hugeplanctl", "examples").parse_args()
    examples = {path.name: path.read_text(encoding="utf-8") for path in sorted(arguments.examples.glob("*.conf"))}
    n_failed = 0
    for fixture in ("eight-nodes", "arm64"):
        with tempfile.TemporaryDirectory(prefix="hugeplan-examples-") as name:
            host = Host(arguments.hugeplanctl, pathlib.Path(name).resolve(), fixture)
            for test in (test_sets, test_defaults, test_obstacles, test_others, test_engines):
                faults = test(host, examples)
                n_failed += bool(faults)
                print(f"{'FAIL' if faults else 'ok  '} {test.__name__} on {fixture}")
                sys.stdout.write("".join(f"     {fault}\n" for fault in faults))
    print(f"{len(examples)} examples, {n_failed} tests failed")
    return 1 if n_failed or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
