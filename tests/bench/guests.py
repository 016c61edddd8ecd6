# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measurements in guests, which tests/vm boots."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from running import BUILD, CHECKOUT

VM = CHECKOUT / "tests/vm"


def run_guests(name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The measurements of tests/vm/bench/NAME.py, by suite."""
    sys.path.insert(0, str(VM))
    vm = importlib.import_module("run")
    file = VM / f"bench/{name}.py"
    scenario = vm.load_scenario(file)
    with tempfile.TemporaryDirectory(prefix="hugeplan-bench-") as directory:
        destdir, logs = Path(directory, "destdir"), Path(directory, "logs")
        install(destdir)
        for suite in scenario.suites:
            report = make_guest_report(vm.Report)
            vm.run_case(vm.Case(file.stem, suite, file, scenario), destdir, logs, report)
            yield suite, report.found


def install(destdir: Path) -> None:
    """Installs the measured build for the guests, with the prefix /usr."""
    for command in (["meson", "configure", "-Dprefix=/usr", str(BUILD)],
                    ["meson", "install", "-C", str(BUILD), "--quiet", "--destdir", str(destdir)]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def make_guest_report(base: Any) -> Any:
    class GuestReport(base):  # type: ignore[misc]
        """Collects the guests' measurements; prints failed checks only."""

        def __init__(self) -> None:
            super().__init__(is_verbose=False)
            self.found: list[dict[str, Any]] = []

        def check(self, is_ok: bool, name: str, text: str, detail: str | None = None) -> None:
            if not is_ok:
                super().check(is_ok, name, text, detail)

        def note(self, text: str) -> None:
            if text.startswith("{"):
                self.found.append(json.loads(text))

    return GuestReport()
