#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cases: for a fixture host with a configuration, the expected output and exit code of verbs and of the generator.

usage: run_cases.py --hugeplanctl=PROGRAM --generator=PROGRAM [--plain-hugeplanctl=PROGRAM] [--update] [CASE...]

cases/NAME/ holds
    host              the name of a fixture in hosts/
    etc, run, usr...  files that are added to the fixture
    tree              such files in one, in the format of hosts/NAME.tree
    VERB.expected     the output of `hugeplanctl --root=HOST VERB`: standard output, then, if there is any,
                      standard error after '--- stderr', then the exit code
    VERB.ARGUMENT.expected, VERB.json.expected
                      likewise with an argument (wait.pg-main), or with --json=pretty
    NAME.command      the command line of NAME.expected, if it is not a verb with an argument
    generator.expected
                      the tree that the generator writes, and its output
Output other than JSON has the same words with 80 and with 200 columns. This is compared with the plain program, without
sanitizers, if one is given, because it starts faster.
No command may change the host: contents, modes and times of the whole tree are compared before and after each.
--update writes the expected files; touch(1) a new one first.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import difflib
import hashlib
import os
import pathlib
import re
import shlex
import stat
import sys
import tempfile

import common
from common import HERE

WIDTHS = (80, 200)
# The text of a value that is not known.
NO_VALUE = re.compile(r"pages? of 0\b|\(null\)")


def snapshot(directory: pathlib.Path) -> dict[str, tuple[object, ...]]:
    """What a program can change in a tree: contents, owners, modes and times."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [directory, *directory.rglob("*")]:
        status = path.lstat()
        content: str | None = None
        if stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        elif stat.S_ISLNK(status.st_mode):
            content = str(path.readlink())
        found[str(path.relative_to(directory))] = (status.st_mode, status.st_uid, status.st_ino,
                                                   status.st_size, status.st_mtime_ns, status.st_ctime_ns, content)
    return found


def as_text(output: str, errors: str, code: int, root: pathlib.Path) -> str:
    text = output
    if errors:
        text += f"--- stderr\n{errors}"
    text += f"--- exit {code}\n"
    return text.replace(str(root), "@ROOT@")


def command_of(case: pathlib.Path, what: str) -> list[str]:
    command = case / f"{what}.command"
    if command.exists():
        return shlex.split(command.read_text(encoding="utf-8"))
    options = ["--json=pretty"] if what.endswith(".json") else []
    return [*options, *what.removesuffix(".json").split(".", 1)]


def run_verb(program: pathlib.Path, command: list[str], root: pathlib.Path, **environment: str) -> str:
    done = common.run(program, *command, root=root, **environment)
    text = as_text(done.stdout, done.stderr, done.returncode, root)
    text = with_any_prefix(text.replace(str(program), "hugeplanctl").replace(f"{program.name}: ", "hugeplanctl: "))
    text = re.sub(r"\b(hugeplan(?:ctl |: |</dt><dd>))\d+\.\d+\.\d+\b", r"\1@VERSION@", text)
    return re.sub(r'"version": "[^"]+"', '"version": "@VERSION@"', text)


def with_any_prefix(text: str) -> str:
    """The text without the directory that the programs will be installed in."""
    return re.sub(r"(ExecStartPre=[+-]*)\S*/hugeplanctl", r"\1@CTL@", text)


def tree_text(directory: pathlib.Path) -> str:
    text = ""
    for path in sorted(directory.rglob("*")):
        if path.is_symlink():
            text += f"--- {path.relative_to(directory)} -> {path.readlink()}\n"
        elif path.is_file():
            mode = stat.S_IMODE(path.lstat().st_mode)
            text += f"--- {path.relative_to(directory)} {mode:04o}\n{path.read_text()}"
    return text


def run_generator(programs: argparse.Namespace, root: pathlib.Path) -> str:
    with tempfile.TemporaryDirectory(prefix="hugeplan-generator-") as name:
        output = pathlib.Path(name)
        places = [output / place for place in ("normal", "early", "late")]
        for place in places:
            place.mkdir()
        done = common.run(programs.generator, *places, root=root)
        text = tree_text(output)
        text += as_text(done.stdout, done.stderr, done.returncode, root)
    return with_any_prefix(text)


def compare(name: str, expected: str, actual: str) -> list[str]:
    if expected == actual:
        return []
    difference = difflib.unified_diff(expected.splitlines(True), actual.splitlines(True),
                                      f"{name} (expected)", f"{name} (is)")
    return ["".join(difference)]


def words_of(text: str) -> list[str]:
    """The words of a text, without the '#' of comments, which are broken at other places."""
    return [word for word in text.split() if word != "#"]


def compare_words(name: str, expected: str, actual: str) -> list[str]:
    if words_of(expected) == words_of(actual):
        return []
    return compare(name, expected, actual)


def compare_trees(name: str, before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]) -> list[str]:
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return [f"{name}: the host was changed: {path}\n" for path in changed]


def run_case(programs: argparse.Namespace, case: pathlib.Path, is_updating: bool) -> list[str]:
    problems: list[str] = []
    files = sorted(case.glob("*.expected"))
    if not files:
        return [f"{case.name}: there is no file *.expected\n"]
    with common.root_of(case) as root:
        for file in files:
            what = file.name.removesuffix(".expected")
            name = f"{case.name}/{file.name}"
            before = snapshot(root)
            actual = (run_generator(programs, root) if what == "generator"
                      else run_verb(programs.hugeplanctl, command_of(case, what), root))
            problems += compare_trees(name, before, snapshot(root))
            if "AddressSanitizer" in actual or "runtime error:" in actual:
                problems.append(f"{name}: a sanitizer reports an error\n{actual}")
            elif NO_VALUE.search(actual):
                problems.append(f"{name}: a value that is not known is printed\n{actual}")
            elif is_updating:
                file.write_text(actual, encoding="utf-8")
            else:
                problems += compare(name, file.read_text(encoding="utf-8"), actual)
                if what != "generator" and not actual.startswith(("{", "[")):
                    for columns in WIDTHS:
                        problems += compare_words(f"{name} of {columns} columns", actual,
                                                  run_verb(programs.plain_hugeplanctl or programs.hugeplanctl,
                                                           command_of(case, what), root, COLUMNS=str(columns)))
    return problems


def self_test() -> None:
    """The comparisons notice changed trees, and words that are cut or lost."""
    assert compare_words("", "# one two\n", "# one\n#   two\n") == []
    assert compare_words("", "one two\n", "one tw\no\n")
    assert compare_words("", "one two\n", "one\n")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "a").write_text("x")
        before = snapshot(directory)
        assert compare_trees("", before, snapshot(directory)) == []
        (directory / "a").write_text("x")  # the same contents, another time
        assert compare_trees("", before, snapshot(directory))
        before = snapshot(directory)
        (directory / "b").mkdir()
        assert compare_trees("", before, snapshot(directory))


def cases_named(names: list[str], pattern: str = "*") -> list[pathlib.Path]:
    """The cases NAMES; without names, all that match PATTERN."""
    return ([HERE / "cases" / name for name in names]
            or sorted(path for path in (HERE / "cases").glob(pattern) if path.is_dir()))


def main() -> int:
    parser = common.parser(__doc__, "hugeplanctl", "generator", rest="cases")
    parser.add_argument("--plain-hugeplanctl", type=common.whole_path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    cases = cases_named(arguments.cases)
    self_test()
    n_failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, problems in zip(cases, pool.map(lambda case: run_case(arguments, case, arguments.update), cases)):
            n_failed += bool(problems)
            print(f"{'FAIL' if problems else 'ok  '} {case.name}")
            sys.stdout.write("".join(problems))
    print(f"{len(cases)} cases, {n_failed} failed")
    return 1 if n_failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
