#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mutation test: of each mutant, a program with one small mistake, a test should fail.

    tests/mutate.py --build build-mutants [--sanitized build-dev] [--sample N] [--seed S] [--jobs N] [FILE...]
    tests/mutate.py --build build-mutants --list FILE...
    tests/mutate.py --build build-dev --self-test

FILE is below src/; without one, the files that decide and write are used (FILES). A missing build directory is made,
without sanitizers. For each mutant its object is compiled outside of the tree, and the test programs that contain the
file are linked with it, one after the other, until one fails, crashes or takes too long: the mutant is killed. A mutant
with an unchanged object does not count. A survivor is judged once more by the unit tests of the --sanitized build,
because it may leak or read beyond an array.

tests/mutants.txt lists mutants that these tests cannot notice, with the reason:

    src/plan/drift.c: '>' -> '>=': the line of the source
            the reason

Prints a line for each mutant, the share of killed ones, and last the number of passed (killed) and failed ones. """

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

TREE = pathlib.Path(__file__).resolve().parent.parent
FILES = ["src/model/*.c", "src/plan/*.c", "src/plan/planner/*.c", "src/plan/promise/*.c",
         "src/apply/*.c", "src/keeper/*.c", "src/demand/demand.c", "src/demand/seen.c",
         "src/status/status.c"]
ARGUMENTS = {"read-faults": ["23"]}  # every 23rd read fails; to let each one fail takes half a minute
ENVIRONMENT = {"HISTORIES": "100", "HUGEPLAN_SEEDS": "400"}
SETUP = ["-Dbuildtype=plain", "-Doptimization=1", "-Ddebug=false", "-Db_sanitize=none", "-Dwerror=false", "-Dman=disabled",
         "-Dtests=enabled", "-Db_lundef=false"]
MEMORY_MAX = 2 << 30
# In memory, because many tests call fsync(2).
SCRATCH = next((path for path in ("/dev/shm",) if os.access(path, os.W_OK)), None)
EQUIVALENT = TREE / "tests" / "mutants.txt"


# ---- mutants ----

@dataclass(frozen=True)
class Mutant:
    file: str
    start: int  # of the replaced text
    end: int
    new: str
    change: str
    line: int
    source: str  # the line, stripped

    @property
    def key(self) -> tuple[str, str, str]:
        return self.file, self.change, self.source

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.change}: {self.source}"


def masked(text: str) -> str:
    """TEXT with comments, strings and lines of the preprocessor replaced by whitespace of the same length."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^#[^\n]*(?:\\\n[^\n]*)*',
                         re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
         "+": "-", "-": "+", "+=": "-=", "-=": "+="}
OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|&&|\|\||\+=|-=|<|>|\+|-)(?=[ \n])")
MIN_MAX = re.compile(r"\b(MIN|MAX)\(")
NUMBER = re.compile(r"(?<![\w.])(\d+)U?(?![\w.])")
CONDITION = re.compile(r"\b(if|while) \(")
RETURN = re.compile(r"\breturn ([^;]+);")
STATEMENT = re.compile(r"^ +(?!return\b|break\b|continue\b|goto\b|case\b|default\b|if\b|for\b|while\b|switch\b|else\b|do\b)"
                       r"([\w*(][^;{}]*);$", re.MULTILINE)
DECLARATION = re.compile(r"CLEANUP\(|const |static |struct |[A-Za-z_]\w*(\([\w, ]*\))? \**[A-Za-z_]\w*( =|,|\[|$)")
FUNCTION = re.compile(r"^(?:static )?(?:inline )?(?:const )?(?:struct )?(\w+) (\*?)\w+\([^;{]*\) \{$", re.MULTILINE)


def balanced_end(text: str, start: int) -> int:
    """The position behind the bracket that closes the one at START."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def bodies(code: str) -> list[tuple[int, int, str]]:
    """Begin and end of each function's body, and its return type, with a "*" for pointers."""
    found = []
    for match in FUNCTION.finditer(code):
        end = code.find("\n}", match.end())
        found.append((match.end(), len(code) if end < 0 else end, match[1] + match[2]))
    return found


def shown(text: str) -> str:
    return "'" + " ".join(text.split()) + "'"


def returns(text: str, kind: str) -> list[str]:
    if kind == "bool":
        return [f"!({text})"]
    if kind.endswith("*"):
        return [] if text == "NULL" else ["NULL"]
    if kind in ("int", "unsigned", "size_t", "uint64_t", "int64_t"):
        return [value for value in ("0", f"({text}) + 1") if value != text]
    return []


def changes_in(text: str, code: str, start: int, end: int, kind: str) -> list[tuple[int, int, str, str]]:
    """(start, end, new, what) of one function."""
    found = []
    for match in OPERATOR.finditer(code, start, end):
        found.append((*match.span(1), SWAPS[match[1]], f"{shown(match[1])} -> {shown(SWAPS[match[1]])}"))
    for match in MIN_MAX.finditer(code, start, end):
        other = "MAX" if match[1] == "MIN" else "MIN"
        found.append((*match.span(1), other, f"{match[1]} -> {other}"))
    for match in NUMBER.finditer(code, start, end):
        number = int(match[1])
        for value in [number + 1] + ([number - 1] if number > 0 else []):
            found.append((*match.span(1), str(value), f"{number} -> {value}"))
    for match in CONDITION.finditer(code, start, end):
        close = balanced_end(code, match.end() - 1)
        inner = text[match.end():close - 1]
        found.append((match.end(), close - 1, f"!({inner})", f"{match[1]} (...) -> {match[1]} (!...)"))
    for match in RETURN.finditer(code, start, end):
        for value in returns(text[match.start(1):match.end(1)], kind):
            what = "!..." if value.startswith("!") else "... + 1" if value.endswith("+ 1") else value
            found.append((*match.span(1), value, f"return ... -> return {what}"))
    for match in STATEMENT.finditer(code, start, end):
        if match[1].count("(") == match[1].count(")") and not DECLARATION.match(match[1]):
            found.append((*match.span(1), "", "without this statement"))
    return found


def mutants_of(file: str, text: str) -> list[Mutant]:
    code, found = masked(text), []
    for start, end, kind in bodies(code):
        for at, to, new, what in changes_in(text, code, start, end, kind):
            first = text.rfind("\n", 0, at) + 1
            source = text[first:text.find("\n", at)].strip()
            found.append(Mutant(file, at, to, new, what, text.count("\n", 0, at) + 1, source))
    return found


def read_equivalent() -> set[tuple[str, str, str]]:
    """The keys of the mutants in tests/mutants.txt, each of which must have a reason."""
    keys, reasons = [], 0
    for line in EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []:
        if line.startswith("src/"):
            if len(keys) != reasons:
                raise SystemExit(f"{EQUIVALENT}: no reason is given for {keys[-1]}")
            file, change, source = line.split(": ", 2)
            keys.append((file, change, source.strip()))
        elif line[:1].isspace() and line.strip():
            reasons = len(keys)
    if len(keys) != reasons:
        raise SystemExit(f"{EQUIVALENT}: no reason is given for {keys[-1]}")
    return set(keys)


# ---- building ----

class Build:
    """A build directory, which is not changed."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        commands = json.loads((directory / "compile_commands.json").read_text())
        self.compile = {}
        for entry in commands:
            source = (directory / entry["file"]).resolve()
            if source.is_relative_to(TREE / "src") and "/lib" in "/" + entry["output"] and "libfast" not in entry["output"]:
                self.compile[str(source.relative_to(TREE))] = (shlex.split(entry["command"]), entry["file"])
        # The program and the arguments of each test, those of suite unit first.
        found = [(test["suite"][0].rpartition(":")[2], test["name"], test["cmd"])
                 for test in json.loads((directory / "meson-info/intro-tests.json").read_text())]
        self.tests = {name: (pathlib.Path(program), ARGUMENTS.get(name, arguments)) for suite in ("unit", "property")
                      for its_suite, name, (program, *arguments) in found
                      if its_suite == suite and not name.endswith("-sanitized")}
        self.links: dict[str, list[str]] = {}
        self.symbols: dict[str, set[str]] = {}
        self.durations: dict[str, float] = {}

    def target(self, name: str) -> str:
        return str(self.tests[name][0].relative_to(self.directory))

    def link_command(self, name: str) -> list[str]:
        if name not in self.links:
            lines = subprocess.run(["ninja", "-C", self.directory, "-t", "commands", "-s", self.target(name)], check=True,
                                   capture_output=True, text=True).stdout.splitlines()
            self.links[name] = shlex.split(lines[-1])
        return self.links[name]

    def symbols_of(self, path: pathlib.Path) -> set[str]:
        key = str(path)
        if key not in self.symbols:
            text = subprocess.run(["nm", "--defined-only", path], check=True, capture_output=True, text=True).stdout
            self.symbols[key] = {words[2] for line in text.splitlines()
                                 if len(words := line.split()) == 3 and words[1] in "TDBR"}
        return self.symbols[key]

    def compile_text(self, file: str, text: str, directory: pathlib.Path) -> pathlib.Path | None:
        """The object; None if TEXT does not compile."""
        command, original = self.compile[file]
        source, target = directory / "mutant.c", directory / "mutant.o"
        source.write_text(text)
        arguments, skip = [], False
        for word in command:
            if skip:
                skip = False
            elif word in ("-MF", "-MQ", "-o"):
                skip = True
            elif word not in ("-MD", "-c", original, "-g"):
                arguments.append(word)
        done = subprocess.run([*arguments, "-w", "-g0", "-c", source, "-o", target], cwd=self.directory, check=False,
                              capture_output=True)
        return target if done.returncode == 0 else None

    def link(self, name: str, mutant: pathlib.Path, directory: pathlib.Path) -> pathlib.Path:
        command = list(self.link_command(name))
        program = directory / self.tests[name][0].name
        at = command.index("-o") + 1
        command[at:at + 1] = [str(program), str(mutant)]
        subprocess.run(command, cwd=self.directory, check=True, capture_output=True)
        return program

    def relevant(self, file: str, original: pathlib.Path) -> list[str]:
        own, name = self.symbols_of(original), pathlib.Path(file).stem
        tests = [test for test, (program, _) in self.tests.items() if own & self.symbols_of(program)]
        return sorted(tests, key=lambda test: test != name)


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))


def run_test(command: list[str | pathlib.Path], scratch: str, timeout: float, is_limited: bool = True) -> bool:
    """Whether it passes."""
    try:
        return subprocess.run(command, check=False, env=os.environ | ENVIRONMENT | {"TMPDIR": scratch}, timeout=timeout, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=limit_memory if is_limited else None).returncode in (0, 77)
    except subprocess.TimeoutExpired:
        return False


def make_build(directory: pathlib.Path) -> Build:
    if not (directory / "build.ninja").exists():
        subprocess.run(["meson", "setup", *SETUP, directory, TREE], check=True, stdout=subprocess.DEVNULL)
    build = Build(directory)
    subprocess.run(["ninja", "-C", directory, *sorted(set(map(build.target, build.tests)))], check=True,
                   stdout=subprocess.DEVNULL)
    for name, (program, arguments) in build.tests.items():
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="hugeplan-mutant-", dir=SCRATCH) as scratch:
            if not run_test([program, *arguments], scratch, 600):
                raise SystemExit(f"{name} fails without any mutant")
        build.durations[name] = time.monotonic() - begin
    return build


# ---- judging ----

@dataclass(frozen=True)
class Verdict:
    mutant: Mutant
    outcome: str  # "killed", "survived", "equivalent", "same", "no program"
    test: str = ""


def judge(build: Build, mutant: Mutant, equivalent: set[tuple[str, str, str]], only: list[str] | None = None,
          is_limited: bool = True) -> Verdict:
    text = (TREE / mutant.file).read_text()
    if mutant.key in equivalent:
        return Verdict(mutant, "equivalent")
    with tempfile.TemporaryDirectory(prefix="hugeplan-mutant-", dir=SCRATCH) as name:
        directory = pathlib.Path(name)
        original = build.compile_text(mutant.file, text, directory)
        assert original, f"{mutant.file} does not compile as it is"
        tests, before = only or build.relevant(mutant.file, original), original.read_bytes()
        build.symbols.pop(str(original), None)
        target = build.compile_text(mutant.file, text[:mutant.start] + mutant.new + text[mutant.end:], directory)
        if not target:
            return Verdict(mutant, "no program")
        if target.read_bytes() == before:
            return Verdict(mutant, "same")
        for test in tests:
            program, arguments = directory / build.tests[test][0].name, build.tests[test][1]
            if not program.exists():
                build.link(test, target, directory)
            if not run_test([program, *arguments], name, 10 * build.durations.get(test, 1) + 20, is_limited):
                return Verdict(mutant, "killed", test)
    return Verdict(mutant, "survived")


def find_files(patterns: list[str]) -> list[str]:
    files = [str(path.relative_to(TREE)) for pattern in patterns or FILES for path in sorted(TREE.glob(pattern))]
    if not files:
        raise SystemExit(f"there is no such file: {' '.join(patterns)}")
    return files


def judge_all(build: Build, sanitized: Build | None, mutants: list[Mutant], jobs: int) -> list[Verdict]:
    equivalent, verdicts = read_equivalent(), []

    def judge_one(mutant: Mutant) -> Verdict:
        verdict = judge(build, mutant, equivalent)
        if verdict.outcome == "survived" and sanitized:
            return judge(sanitized, mutant, equivalent, is_limited=False)
        return verdict

    with ThreadPoolExecutor(jobs) as pool:
        for verdict in pool.map(judge_one, mutants):
            verdicts.append(verdict)
            mark = "not ok" if verdict.outcome == "survived" else "ok"
            print(f"{mark} - {verdict.mutant} [{verdict.outcome}{' by ' if verdict.test else ''}{verdict.test}]", flush=True)
    return verdicts


# ---- self-test ----

SAMPLE = """static bool is_more(const Pool *pool, uint64_t pages) {
        const char *name = "a > b && c"; /* x > 0 */

        if (pool && pages > 7)
                forget(name);
        return pages + 1 != MIN(pages, pool->pages);
}
"""
CHANGES = ["'!=' -> '=='", "'&&' -> '||'", "'+' -> '-'", "'>' -> '>='", "1 -> 0", "1 -> 2", "7 -> 6", "7 -> 8", "MIN -> MAX",
           "if (...) -> if (!...)", "return ... -> return !...", "without this statement"]
KNOWN = {("'!=' -> '=='", "return drift->kind != DRIFT_POOL_RAISED;"): "killed",
         ("'<' -> '<='", "drift.found_pages < MIN(planned->to_pages, drift.expected_pages))"): "killed",
         ("without this statement", "drift.kind = DRIFT_POOL_RAISED;"): "killed"}


def self_test(build: Build) -> int:
    """Judges a few mutants whose outcome is known. The build may have sanitizers, so memory is not limited."""
    found = sorted(mutant.change for mutant in mutants_of("x.c", SAMPLE))
    if found != CHANGES:
        print(f"not ok - the mutants of the sample are {found}")
        return 1
    listed = read_equivalent()
    gone = listed - {mutant.key for name in {key[0] for key in listed}
                     for mutant in mutants_of(name, (TREE / name).read_text())}
    if gone:
        print(f"not ok - {EQUIVALENT.name} lists mutants that do not exist: {sorted(gone)}")
        return 1
    file, n = "src/plan/drift.c", 0
    text = (TREE / file).read_text()
    for mutant in mutants_of(file, text):
        wanted = KNOWN.get((mutant.change, mutant.source))
        if not wanted:
            continue
        verdict, n = judge(build, mutant, set(), ["scene_stories"], False), n + 1
        if verdict.outcome != wanted:
            print(f"not ok - {mutant} [{verdict.outcome}]")
            return 1
    unchanged = judge(build, Mutant(file, 0, 0, " ", "a blank", 1, ""), set(), ["scene_stories"], False).outcome
    other = judge(build, Mutant(file, len(text), len(text), "extern int x_;\nint x_ = 1;\n", "unused", 1, ""), set(),
                  ["scene_stories"], False).outcome
    if (n, unchanged, other) != (len(KNOWN), "same", "survived"):
        print(f"not ok - {n} of {len(KNOWN)} mutants were found; a blank: {unchanged}; something unused: {other}")
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--sanitized", type=pathlib.Path)
    parser.add_argument("--sample", type=int, help="the number of mutants; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="print the mutants only")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test(Build(arguments.build.resolve()))
    mutants = [mutant for file in find_files(arguments.files) for mutant in mutants_of(file, (TREE / file).read_text())]
    if arguments.sample and arguments.sample < len(mutants):
        mutants = random.Random(arguments.seed).sample(mutants, arguments.sample)
    if arguments.list:
        print("\n".join(map(str, mutants)))
        return 0
    sanitized = Build(arguments.sanitized.resolve()) if arguments.sanitized else None
    verdicts = judge_all(make_build(arguments.build.resolve()), sanitized, mutants, arguments.jobs)
    counts = {what: sum(verdict.outcome == what for verdict in verdicts)
              for what in ("killed", "survived", "equivalent", "same", "no program")}
    judged = counts["killed"] + counts["survived"]
    print(f"# {counts['killed']} of {judged} killed, {100 * counts['killed'] / max(judged, 1):.1f} %; seed {arguments.seed}; "
          f"{counts['equivalent']} listed as equivalent, {counts['same']} compile to the same, "
          f"{counts['no program']} do not compile")
    print(f"{counts['killed']} passed, {counts['survived']} failed")
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
