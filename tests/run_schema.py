#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""JSON of `hugeplanctl --json` conforms to its schema: the expected output of cases, the output for each case's host,
and the output with a daemon. The schemas reject unknown fields in every object. Skips (77) where Python's jsonschema
is not installed.

usage: run_schema.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --shim=LIBRARY [CASE...] """

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import copy
import json
import os
import pathlib
import re
import sys
from collections.abc import Iterator

import common
import run_cases
import run_daemon

try:
    import jsonschema
except ImportError:
    print("jsonschema is not installed (Debian: python3-jsonschema)")
    sys.exit(77)

SCHEMAS = common.HERE.parent / "schema"
COMMON = "common.json"
OF_HOSTS = ["report", "status", "status --all", "plan", "verify", "metrics", "check", "cmdline", "import", "size",
            "snapshot /dev/shm/@", "size generic -c memory=1G", "size mongodb",
            "size postgresql --pages=1000", "size mongodb --memory=8G"]
OF_INSTANCES = ["status", "verify", "explain", "size", "wait"]


def read(verb: str) -> str:
    return (SCHEMAS / f"{verb}.json").read_text(encoding="utf-8").replace(f'"{COMMON}#', '"#')


def load(verb: str) -> jsonschema.Draft202012Validator:
    """The schema of a verb with all files that it refers to included, because validators differ in how they find
    files."""
    others = re.findall(r'"\$ref": "(\w+)\.json"', read(verb))
    schema = json.loads(re.sub(r'"\$ref": "(\w+)\.json"', r'"$ref": "#/$defs/\1.json"', read(verb)))
    own = schema.setdefault("$defs", {})
    for other in [COMMON.removesuffix(".json"), *others]:
        part = json.loads(read(other))
        defined = part.pop("$defs", {})
        assert not own.keys() & defined.keys(), f"{verb}.json and {other}.json have a definition of the same name"
        own.update(defined)
        if other in others:
            own[f"{other}.json"] = {name: value for name, value in part.items() if name != "$schema"}
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def objects_in(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict]]:
    """The objects within VALUE, each with its path; items of a list have the same path."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            yield from objects_in(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from objects_in(item, (*path, "[]"))


class Schemas:
    """Validates answers, and counts them by verb."""

    def __init__(self) -> None:
        self.by_verb = {path.stem: load(path.stem) for path in sorted(SCHEMAS.glob("*.json")) if path.name != COMMON}
        self.n_valid: collections.Counter[str] = collections.Counter()
        self.planted: set[tuple[str, ...]] = set()
        self.problems: list[str] = []

    def judge(self, name: str, verb: str, text: str) -> None:
        schema = self.by_verb.get(verb)
        if not schema:
            self.problems.append(f"{name}: there is no schema/{verb}.json")
            return
        answer = json.loads(text)
        error = jsonschema.exceptions.best_match(schema.iter_errors(answer))
        if error:
            self.problems.append(f"{name}: {error.json_path}: {error.message}")
        else:
            self.n_valid[verb] += 1
            self.plant(name, verb, answer)

    def plant(self, name: str, verb: str, answer: object) -> None:
        """Adds an unknown field to each kind of object in a verb's answers, once, which the schema must reject."""
        answer = copy.deepcopy(answer)
        for path, each in list(objects_in(answer)):
            if (verb, *path) in self.planted:
                continue
            self.planted.add((verb, *path))
            each["planted"] = 1
            if self.by_verb[verb].is_valid(answer):
                self.problems.append(f"{name}: the schema accepts an unknown field in {'.'.join(path) or 'the answer'}")
            del each["planted"]


def judge_expected(schemas: Schemas, case: pathlib.Path) -> None:
    for file in sorted(case.glob("*.expected")):
        what = file.name.removesuffix(".expected")
        command = [] if what == "generator" else run_cases.command_of(case, what)
        answer = file.read_text(encoding="utf-8").partition("--- ")[0]
        is_json = any(word in ("--json", "--json=pretty", "--json=short") for word in command)
        if answer and is_json and "--nagios" not in command:
            verb = next((word for word in command if not word.startswith("-")), "status")
            schemas.judge(f"{case.name}/{file.name}", verb, answer)


def answers_about(program: pathlib.Path, case: pathlib.Path) -> list[tuple[str, str, str]]:
    """The JSON of hugeplanctl for the case's host, without a daemon: name, verb and text of each."""
    answers = []
    with common.root_of(case) as root:
        def ask(line: str) -> str:
            words = [word.replace("/dev/shm/@", f"{root.parent}/snapshot") for word in line.split()]
            done = common.run(program, "--json=short", *words, root=root)
            if done.stdout:
                answers.append((f"{case.name}: {line}", words[0], done.stdout))
            return done.stdout

        for line in OF_HOSTS:
            ask(line)
        for instance in json.loads(ask("status") or '{"instances": []}')["instances"][:2]:
            for verb in OF_INSTANCES:
                ask(f"{verb} {instance['name']}")
        for file in sorted(root.glob("etc/hugeplan.d/*.conf"))[:1]:
            ask(f"check /{file.relative_to(root)}")
    return answers


def judge_daemon(schemas: Schemas, programs: argparse.Namespace) -> None:
    with run_daemon.host_of(programs, "two-nodes-hole") as host:
        host.config("20-pg.conf", run_daemon.PG)
        host.config("40-large.conf", "[Instance]\nPages=999999\n")
        host.start()

        def ask(*words: str) -> None:
            schemas.judge(f"daemon: {' '.join(words)}", words[0], host.ctl("--json=short", *words).stdout)

        for words in (["status"], ["wait", "pg"], ["wait", "large"]):
            ask(*words)
        host.config("30-small.conf", run_daemon.SMALL)
        ask("reload")
        host.config("50-broken.conf", "[Instance]\nMemory=8GG\n")
        ask("reload")
        ask("release", "pg")


def main() -> int:
    programs = common.parser(__doc__, "hugepland", "hugeplanctl", "shim", rest="cases").parse_args()
    schemas = Schemas()
    cases = run_cases.cases_named(programs.cases)
    for case in cases:
        judge_expected(schemas, case)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for answers in pool.map(lambda case: answers_about(programs.hugeplanctl, case), cases):
            for answer in answers:
                schemas.judge(*answer)
    judge_daemon(schemas, programs)
    schemas.problems += [f"schema/{verb}.json was never used" for verb in schemas.by_verb
                         if not schemas.n_valid[verb] and not programs.cases]
    print("\n".join(schemas.problems))
    print(", ".join(f"{verb} {n}" for verb, n in sorted(schemas.n_valid.items())))
    return 1 if schemas.problems else 0


if __name__ == "__main__":
    sys.exit(main())
