#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/performance.md has the rows of goals.py and the existing plots; --install installs all compared programs; a
missing program is named; and a made page has what was measured, and the verdicts that differ from the page before.

usage: check_bench.py SOURCE-DIR
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import re
import sys
import tempfile
from typing import Any

sys.dont_write_bytecode = True

PROGRAM = re.compile(r"""(?:find_program|other)\(\s*["'][\w-]+["'], ["']([\w-]+)["']|apt-get install ([\w-]+)\)""")
# Installed on every host with hugeplan.
EVERYWHERE = {"systemd"}


def wrong_rows(text: str, groups: Any, document: Any, goals: Any) -> list[str]:
    problems = [f"goals.py: {goal.what}: there is no group {goal.group}" for goal in goals.GOALS.values()
                if goal.group not in groups.GROUPS]
    problems += [f"docs/performance.md: no section of the group {name}" for name in groups.GROUPS
                 if f"\n`scripts/bench {name}`\n" not in text]
    wanted = [(goal.what, goal.wanted) for goal in goals.GOALS.values()]
    if document.glance(text, 2) != wanted:
        problems.append("docs/performance.md: the rows at the top are not those of goals.py; make the page again")
    return problems


def wrong_figures(root: pathlib.Path, text: str) -> list[str]:
    linked = set(re.findall(r"\]\((figures/[^)]+)\)", text))
    there = {f"figures/{path.name}" for path in (root / "docs/figures").glob("*")}
    return [f"docs/performance.md does not show {name}" for name in sorted(there - linked)] + \
           [f"docs/performance.md: there is no {name}" for name in sorted(linked - there)]


def not_installed(root: pathlib.Path) -> list[str]:
    needed = {match[1] or match[2] for path in (root / "tests/bench").rglob("*.py")
              for match in PROGRAM.finditer(path.read_text(encoding="utf-8"))} - EVERYWHERE
    words = set(re.findall(r"[\w-]+", (root / "scripts/lib/install-peers").read_text(encoding="utf-8")))
    problems = [f"scripts/lib/install-peers does not install {name}" for name in sorted(needed - words)]
    return problems if len(needed) >= 4 else ["the pattern PROGRAM no longer matches"]


def missing_is_named(report_module: Any) -> list[str]:
    def fail() -> float:
        raise report_module.Missing("not installed (apt-get install other)")

    report, said = report_module.Report(), io.StringIO()
    with contextlib.redirect_stdout(said):
        report.compare("A job", "ms", [report_module.Way("ours", lambda: 1.0), report_module.Way("theirs", fail)], 3)
    named = ["not installed (apt-get install other)" in text
             for text in (said.getvalue(), " ".join(report.missing), str(report.items[0].rows[1]))]
    return [] if all(named) else [f"a missing program is not named: {said.getvalue()}"]


def made_page(document: Any, groups: Any, goals: Any, report_module: Any) -> list[str]:
    """A page of one group with a table and a plot, made again on another machine, where the group misses its goal."""
    goal = next(goal for goal in goals.GOALS.values() if goal.group == "status" and goal.unit == "x")
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "performance.md")
        (file.parent / "figures").mkdir()
        (file.parent / "figures/old.svg").write_text("")
        for factor, host in (0.5, "a host"), (2.0, "another host"):
            report = report_module.Report()
            with contextlib.redirect_stdout(io.StringIO()):
                report.table("Made up", report_module.MEASURED,
                             [report.row("ours", [1.0, 2.0, 3.0], goal.limit * factor, goal)], "a note")
                report.figure("made-up", "Made up", "sizes", "ms", {"ours": {0: 1.0, 10: 2.0}, "theirs": {0: 2.5}}, "A plot.")
            document.write_page(file, groups.GROUPS, {"status": report}, host)
        found = file.read_text(encoding="utf-8")
        plots = {path.name: path.read_text(encoding="utf-8") for path in (file.parent / "figures").iterdir()}
    wanted = ["on another host\n", f"|{goal.what}|{goal.wanted}|{goal.show(goal.limit * 2)}|**no**|",
              f"|ours|2.00|1.00 … 3.00|{goal.show(goal.limit * 2)}|{goal.wanted}|no|", "(figures/made-up.svg)",
              "The page before was measured on a host These verdicts are others",
              f"- {goal.what}: {goal.show(goal.limit * 2)} here, {goal.show(goal.limit * 0.5)} there", "Not measured in this run"]
    problems = [f"the made page does not have: {text}" for text in wanted if text not in found]
    if list(plots) != ["made-up.svg"] or "<circle" not in plots["made-up.svg"]:
        problems.append(f"the made page has the plots {sorted(plots)}")
    return problems


def main() -> list[str]:
    root = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(root / "tests/bench"))
    import document
    import goals
    import groups
    import report

    text = (root / "docs/performance.md").read_text(encoding="utf-8")
    problems = [*wrong_rows(text, groups, document, goals), *wrong_figures(root, text), *not_installed(root),
                *missing_is_named(report), *made_page(document, groups, goals, report)]
    return problems


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
