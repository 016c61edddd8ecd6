#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs all fuzzers of a build, each for its share of the time, and prints the number of executions.

    tests/fuzz/run.py --build build-fuzz --seconds 28800 [--jobs N] [--logs DIR] [NAME...]
    tests/fuzz/run.py --build build-fuzz --minimise [NAME...]

Failing inputs go to DIR (default: BUILD/found). Inputs that reach new code stay in BUILD/corpus/NAME for the next
run, which first reduces them (-merge=1). --minimise reduces the corpora in the source tree, except for files whose
name is not generated. Prints "ok" and "not ok" lines, and last the numbers of passed and failed fuzzers. """

from __future__ import annotations

import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

TREE = pathlib.Path(__file__).resolve().parent / "corpus"
LENGTH_MAX = 4096
# A small quarantine, so that the pages of the many short-lived arenas stay in the CPU's cache. No entropic scheduling,
# because it takes longer than running the inputs.
SANITIZERS = {"ASAN_OPTIONS": "quarantine_size_mb=16:malloc_context_size=4", "UBSAN_OPTIONS": "print_stacktrace=1"}
OPTIONS = ["-entropic=0", f"-max_len={LENGTH_MAX}", "-timeout=20", "-rss_limit_mb=2048"]
EXECUTED = re.compile(r"^stat::number_of_executed_units: (\d+)$", re.MULTILINE)
WHAT = re.compile(r"condition failed.*|runtime error.*|ERROR: [A-Z]\w+Sanitizer.*"
                  r"|ERROR: libFuzzer: (?!deadly).*")


@dataclass
class Outcome:
    name: str
    executions: int
    cpu_seconds: float
    found: list[pathlib.Path] = field(default_factory=list)
    what: str = ""

    @property
    def rate(self) -> int:
        return int(self.executions / self.cpu_seconds) if self.cpu_seconds > 0 else 0


@dataclass
class Fuzzers:
    build: pathlib.Path
    logs: pathlib.Path

    def names(self) -> list[str]:
        return sorted(path.name.removeprefix("fuzz-") for path in self.build.glob("tests/fuzz-*")
                      if path.is_file() and os.access(path, os.X_OK))

    def program(self, name: str) -> pathlib.Path:
        return self.build / "tests" / f"fuzz-{name}"

    def corpus(self, name: str) -> pathlib.Path:
        path = self.build / "corpus" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def merge(self, name: str, into: pathlib.Path, *others: pathlib.Path) -> None:
        """Copies the smallest set of inputs from OTHERS that reaches the same code to INTO."""
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        subprocess.run([self.program(name), "-merge=1", *OPTIONS, into, *others], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | SANITIZERS)

    def run(self, name: str, seconds: float) -> Outcome:
        corpus, minimal = self.corpus(name), self.build / "corpus" / f".{name}"
        log = self.logs / f"fuzz-{name}.txt"
        begin = time.monotonic()
        self.merge(name, minimal, TREE / name, corpus)
        shutil.rmtree(corpus)
        minimal.rename(corpus)
        prefix = f"{self.logs}/{name}-"
        left = max(1, int(seconds - (time.monotonic() - begin)))
        with log.open("w") as output:
            process = subprocess.Popen(
                [self.program(name), *OPTIONS, f"-max_total_time={left}", "-print_final_stats=1",
                 f"-artifact_prefix={prefix}", corpus, TREE / name],
                stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env=os.environ | SANITIZERS)
            _, status, usage = os.wait4(process.pid, 0)
        text = log.read_text(errors="replace")
        executed = EXECUTED.search(text)
        outcome = Outcome(name, int(executed[1]) if executed else 0, usage.ru_utime + usage.ru_stime)
        if status != 0:
            what = WHAT.search(text)
            outcome.what = what[0] if what else f"see {log}"
            outcome.found = sorted(self.logs.glob(f"{name}-*"))
        return outcome


def run_all(fuzzers: Fuzzers, names: list[str], seconds: float, jobs: int) -> list[Outcome]:
    """Runs the fuzzers, JOBS at a time, for the same time each."""
    waiting, outcomes, lock = list(names), [], threading.Lock()
    share = seconds * min(jobs, len(names)) / len(names)

    def work() -> None:
        while True:
            with lock:
                if not waiting:
                    return
                name = waiting.pop(0)
            outcome = fuzzers.run(name, share)
            with lock:
                outcomes.append(outcome)
                show(outcome)

    threads = [threading.Thread(target=work) for _ in range(min(jobs, len(names)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def show(outcome: Outcome) -> None:
    if outcome.what:
        print(f"not ok - {outcome.name}: {outcome.what}; {' '.join(map(str, outcome.found))}", flush=True)
    else:
        print(f"ok - {outcome.name}: {outcome.executions:,} executions, {outcome.rate:,} in a second "
              "of CPU time", flush=True)


def minimise(fuzzers: Fuzzers, name: str) -> None:
    """Removes the inputs with generated names that reach no code beyond the named ones."""
    tree, corpus, minimal = TREE / name, fuzzers.corpus(name), fuzzers.build / "corpus" / f".{name}"
    generated = re.compile(r"[0-9a-f]{40}")
    fuzzers.merge(name, minimal, tree, corpus)
    kept = {path.read_bytes() for path in minimal.iterdir()}
    before = len(list(tree.iterdir()))
    for path in tree.iterdir():
        if generated.fullmatch(path.name) and path.read_bytes() not in kept:
            path.unlink()
    print(f"{name}: {before} files, {len(list(tree.iterdir()))} of them kept")
    shutil.rmtree(minimal)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--logs", type=pathlib.Path)
    parser.add_argument("--minimise", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    fuzzers = Fuzzers(build, (arguments.logs or build / "found").resolve())
    fuzzers.logs.mkdir(parents=True, exist_ok=True)
    names = arguments.names or fuzzers.names()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not names:
        print(f"not ok - {build} has no fuzzers: -Dfuzz=true")
        print("0 passed, 1 failed")
        return 1
    if arguments.minimise:
        for name in names:
            minimise(fuzzers, name)
        return 0
    outcomes = run_all(fuzzers, names, arguments.seconds, arguments.jobs)
    failed = sum(bool(outcome.what) for outcome in outcomes)
    total = sum(outcome.executions for outcome in outcomes)
    slow = sorted(outcome.name for outcome in outcomes if not outcome.what and outcome.rate < 1000)
    print(f"# {total:,} executions of {len(outcomes)} fuzzers in {arguments.seconds / 3600:.1f} hours")
    if slow:
        print(f"# below 1,000 in a second of CPU time: {' '.join(slow)}")
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
