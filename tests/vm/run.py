#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boots hugeplan in virtual machines: each scenario in a guest of its own, each check a line.

    tests/vm/run.py --destdir DIR [--packages DIR] [--foreign DIR] [--suite SUITE] [--all] [--jobs N] [--logs DIR]
                    [--keep] [--verbose] [SCENARIO...]

The first DIR was written by `meson install --destdir DIR`. The second has a DEB and an RPM in each of its directories
older and newer. The third has a directory like the first one for each other architecture. None of them is changed. See
README.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import resource
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

# Set before the imports: no __pycache__ in the source tree.
sys.dont_write_bytecode = True

from debian_tree import DebianError  # noqa: E402
from guest import (  # noqa: E402
    FASTER_KERNEL_ARGS,
    KERNEL_ARGS,
    LOUD_KERNEL_ARGS,
    Disk,
    Guest,
    Interrupted,
    NotBegun,
    begin_child,
)
from image import SUITES, Image, architecture, cached_image, is_foreign  # noqa: E402
from payload import (  # noqa: E402
    PACKAGE_AGES,
    PACKAGE_FILES,
    TEST_TARGET,
    package_file,
    write_payload,
)
from scenario import Boot, Scenario  # noqa: E402

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
ATTEMPTS = 2
SHOWN_LINES = 60

# Lines of the journal that are shown after a failed boot, besides those of the scenario's units.
RELEVANT = ("hugeplan(?!-vm)", "Failed to start", "Kernel panic", "Out of memory", "oom-kill", "segfault")


@dataclass(frozen=True)
class Case:
    """A scenario on a suite."""

    name: str
    suite: str
    file: Path
    scenario: Scenario


class Report:
    """Prints each result at once, and counts them. Several cases may print at the same time: each result is one write."""

    def __init__(self, is_verbose: bool) -> None:
        self._is_verbose = is_verbose
        self.passed = self.failed = self.skipped = 0

    def check(self, is_ok: bool, name: str, text: str, detail: str | None = None) -> None:
        if is_ok:
            self.passed += 1
        else:
            self.failed += 1
        self.line("\n#   ".join([f"{'ok' if is_ok else 'not ok'} - {name}: {text}", *(detail or "").splitlines()]))

    def skip(self, name: str, text: str, reason: str) -> None:
        self.skipped += 1
        self.line(f"ok - {name}: {text} # SKIP {reason}")

    def note(self, text: str) -> None:
        if self._is_verbose:
            self.remark(text)

    def remark(self, text: str) -> None:
        self.line("\n".join(f"#   {line}" for line in text.splitlines()))

    def line(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def add(self, other: Report) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def finish(self) -> int:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        self.line(f"{self.passed} passed, {self.failed} failed{skipped}")
        return 1 if self.failed else 0


def main() -> int:
    options = _parse_arguments()
    logs = options.logs or Path(tempfile.mkdtemp(prefix="hugeplan-vm-logs-"))
    report = Report(options.verbose)
    cases = []
    for file in _scenario_files(options.scenarios):
        scenario = load_scenario(file)
        is_asked = options.all or options.suite or options.scenarios
        suites = [*scenario.suites, *(scenario.more_suites if is_asked else ())]
        suites = [one for one in suites if options.suite in (None, one)]
        if scenario.is_packaged and not options.packages:
            report.skip(file.stem, "runs", "needs --packages")
            continue
        for suite in suites:
            case = Case(file.stem, suite, file, scenario)
            if _origin(case, options).is_dir():
                cases.append(case)
            else:
                report.skip(file.stem, f"runs on {suite}", "needs --foreign")
        if options.scenarios and not suites:
            report.skip(file.stem, "runs", f"not a scenario for {options.suite}")
    _run_all(cases, options, logs, report)
    if report.failed or options.logs or options.keep:
        print(f"# logs: {logs}", flush=True)
    else:
        shutil.rmtree(logs)
    return report.finish()


def _origin(case: Case, options: argparse.Namespace) -> Path:
    if is_foreign(case.suite):
        return (options.foreign or Path()) / architecture(case.suite)
    return options.packages if case.scenario.is_packaged else options.destdir


def _run_all(cases: list[Case], options: argparse.Namespace, logs: Path, report: Report) -> None:
    """Runs each case in a process of its own, those with the highest limits first."""
    by_length = sorted(cases, key=lambda case: -sum(one.limit_sec for one in case.scenario.boots))
    with ProcessPoolExecutor(options.jobs, initializer=begin_child) as pool:
        running = [
            pool.submit(_run_apart, case.file, case.suite, _origin(case, options), logs, options)
            for case in by_length
        ]
        try:
            for one in as_completed(running):
                report.add(one.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run_apart(file: Path, suite: str, origin: Path, logs: Path, options: argparse.Namespace) -> Report:
    report = Report(options.verbose)
    run_case(Case(file.stem, suite, file, load_scenario(file)), origin, logs, report, options.keep)
    return report


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Boot tests of hugeplan in QEMU guests.")
    parser.add_argument("--destdir", type=_existing_directory, required=True)
    parser.add_argument("--packages", type=_package_directory, help="for packaged scenarios")
    parser.add_argument("--foreign", type=Path, help="for suites of other architectures")
    parser.add_argument("--suite", choices=SUITES, help="default: all that a scenario is for")
    parser.add_argument("--logs", type=Path, help="default: a new directory in /tmp")
    parser.add_argument("--all", action="store_true", help="on every suite, also where that tells little")
    parser.add_argument("--jobs", type=int, default=1, help="guests at a time; one needs a CPU")
    parser.add_argument("--keep", action="store_true", help="keep logs, the guests' disks, and the evidence of each boot")
    parser.add_argument("--verbose", action="store_true", help="show what the checks remark")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="a name or a file")
    return parser.parse_args()


def _existing_directory(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a directory")
    return path


def _package_directory(text: str) -> Path:
    path = _existing_directory(text)
    for age in PACKAGE_AGES:
        if not package_file(path, age, "deb"):
            raise argparse.ArgumentTypeError(f"{text}/{age} does not hold one {PACKAGE_FILES['deb']}")
    return path


def _scenario_files(names: list[str]) -> list[Path]:
    if not names:
        return sorted(SCENARIOS.glob("*.py"))
    files = [Path(name) if name.endswith(".py") else SCENARIOS / f"{name}.py" for name in names]
    for file in files:
        if not file.exists():
            sys.exit(f"no such scenario: {file}")
    return files


def load_module(file: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(file.stem, file)
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def load_scenario(file: Path) -> Scenario:
    return load_module(file).SCENARIO


def run_case(case: Case, origin: Path, logs: Path, report: Report, is_kept: bool = False) -> None:
    began, used = time.monotonic(), _processor_sec()
    report.line(f"# {case.name} on {case.suite}")
    directory = logs / f"{case.name}-{case.suite}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        image = cached_image(case.suite)
    except DebianError as error:
        report.check(False, case.name, f"there is a {case.suite} image", str(error))
        return
    with Disk(image, directory, is_kept) as disk:
        CaseRun(case, image, disk, origin, directory, report, is_kept).run()
    report.line(f"# {case.name} on {case.suite}: {time.monotonic() - began:.0f} s, "
                f"{_processor_sec() - used:.0f} s of a processor")


def _processor_sec() -> float:
    """The processor time of all guests so far, because wall time depends on what else this host does."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


@dataclass(frozen=True)
class CaseRun:
    """The boots of a scenario, one after the other, on one disk."""

    case: Case
    image: Image
    disk: Disk
    origin: Path  # of hugeplan: the DESTDIR, or the packages
    directory: Path
    report: Report
    is_kept: bool

    def run(self) -> None:
        for number, boot in enumerate(self.case.scenario.boots):
            failed_before = self.report.failed
            try:
                self._boot_with_retry(number, boot)
            except (NotBegun, Interrupted) as error:
                # What comes after would start from a disk that nobody can vouch for.
                text = f"boot {number + 1} runs to its end"
                self.report.check(False, self.case.name, text, str(error))
                return
            if self.report.failed > failed_before:
                results = self._results(number)
                self.report.remark(f"the journal of boot {number + 1}, whole in {results}:")
                self.report.remark(_relevant_journal(results, self.case.scenario))

    def _boot_with_retry(self, number: int, boot: Boot) -> None:
        """A guest that ends before its checks began is booted once more, and the output says so; no other guest is."""
        for attempt in range(1, ATTEMPTS + 1):
            log_prefix = self.directory / f"boot-{number + 1}.attempt-{attempt}"
            arguments = f"{KERNEL_ARGS} systemd.unit={TEST_TARGET} {boot.kernel_args}"
            if not self.case.scenario.is_counted:
                arguments += f" {FASTER_KERNEL_ARGS}"
            if attempt > 1:
                arguments += f" {LOUD_KERNEL_ARGS}"
            self.disk.add_layer()
            try:
                self._boot(number, boot, log_prefix, arguments)
                if boot.last_words:
                    text = f"boot {number + 1} ends before its checks"
                    self.report.check(False, self.case.name, text)
                return
            except Interrupted:
                self._show_console(log_prefix)
                raise
            except NotBegun as error:
                if boot.last_words and self._has_said(log_prefix, boot.last_words):
                    self.report.check(True, self.case.name, f"boot {number + 1} ends as it should")
                    return
                self.disk.drop_layer()
                which = f"{self.case.name}, boot {number + 1}, attempt {attempt} of {ATTEMPTS}"
                self.report.line(f"#\n# !!! {which}: {error}\n#")
                self._show_console(log_prefix)
                if attempt == ATTEMPTS:
                    raise

    def _boot(self, number: int, boot: Boot, log_prefix: Path, arguments: str) -> None:
        with tempfile.TemporaryFile() as payload:
            case = self.case
            write_payload(payload, self.origin, case.scenario, case.file, case.suite, number, self.is_kept)
            payload.flush()
            with Guest(
                self.image,
                self.disk,
                self.case.scenario,
                payload,
                log_prefix,
                boot,
                arguments,
            ) as guest:
                try:
                    self._follow(guest, boot)
                finally:
                    guest.unpack_results(self._results(number))

    def _follow(self, guest: Guest, boot: Boot) -> None:
        for message in guest.messages():
            match message["event"]:
                case "check":
                    name, text = self.case.name, message["text"]
                    self.report.check(message["ok"], name, text, message["detail"])
                case "skip":
                    self.report.skip(self.case.name, message["text"], message["detail"])
                case "note":
                    self.report.note(message["text"])
                case "request":
                    guest.answer(boot.on_request[message["name"]](guest))

    def _has_said(self, log_prefix: Path, words: str) -> bool:
        log = Path(f"{log_prefix}.console.log")
        return log.exists() and words in log.read_text(errors="replace")

    def _results(self, number: int) -> Path:
        directory = self.directory / f"boot-{number + 1}"
        directory.mkdir(exist_ok=True)
        return directory

    def _show_console(self, log_prefix: Path) -> None:
        for what in ("console", "qemu"):
            log = Path(f"{log_prefix}.{what}.log")
            lines = log.read_text(errors="replace").splitlines() if log.exists() else []
            self.report.remark(f"{log}:")
            self.report.remark("\n".join(lines[-SHOWN_LINES:]) or "(nothing)")


def _relevant_journal(results: Path, scenario: Scenario) -> str:
    journal = results / "journal.txt"
    if not journal.exists():
        return "(the guest could not leave its journal)"
    units = {Path(path).name for path in scenario.files if path.endswith(".service")}
    units.update(re.findall(r"^Unit=(\S+)", "\n".join(map(str, scenario.files.values())), re.M))
    pattern = re.compile("|".join([*RELEVANT, *map(re.escape, sorted(units))]))
    lines = journal.read_text(errors="replace").splitlines()
    chosen = [line for line in lines if pattern.search(line)]
    left_out = len(chosen) - SHOWN_LINES
    head = [f"({left_out} earlier lines left out)"] if left_out > 0 else []
    return "\n".join([*head, *chosen[-SHOWN_LINES:]])


if __name__ == "__main__":
    sys.exit(main())
