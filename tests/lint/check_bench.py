#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/performance.md has a place for each group of scripts/bench and none more, and its first table the rows that are
wanted; plots and links to them match; what is compared with is installed by --install; what is missing is told; and
to write one group changes nothing else.

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
# Part of every host that runs hugeplan.
EVERYWHERE = {"systemd"}


def wrong_rows(text: str, groups: Any, document: Any, goals: Any) -> list[str]:
    problems = [f"goals.py: {goal.what}: there is no group {goal.group}" for goal in goals.GOALS.values()
                if goal.group not in groups.GROUPS]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")[:2])
            for line in document.read_block(text, document.GLANCE).splitlines()[2:]]
    if rows != [(goal.what, goal.wanted) for goal in goals.GOALS.values()]:
        problems.append("docs/performance.md: the rows at the top are not those of goals.py; write any group anew")
    return problems


def wrong_figures(root: pathlib.Path, text: str) -> list[str]:
    linked = set(re.findall(r"\]\((figures/[^)]+)\)", text))
    there = {f"figures/{path.name}" for path in (root / "docs/figures").glob("*")}
    return [f"docs/{name}: no page shows it" for name in sorted(there - linked)] + \
           [f"docs/performance.md: there is no {name}" for name in sorted(linked - there)]


def not_installed(root: pathlib.Path) -> list[str]:
    needed = {match[1] or match[2] for path in (root / "tests/bench").rglob("*.py")
              for match in PROGRAM.finditer(path.read_text(encoding="utf-8"))} - EVERYWHERE
    words = set(re.findall(r"[\w-]+", (root / "scripts/lib/install-peers").read_text(encoding="utf-8")))
    problems = [f"scripts/lib/install-peers does not install {name}" for name in sorted(needed - words)]
    return problems if len(needed) >= 5 else ["the pattern for programs must be fixed"]


def missing_is_told(report_module: Any) -> list[str]:
    def fail() -> float:
        raise report_module.Missing("not installed (apt-get install other)")

    report, said = report_module.Report(), io.StringIO()
    with contextlib.redirect_stdout(said):
        report.compare("A job", "ms", [report_module.Way("ours", lambda: 1.0), report_module.Way("theirs", fail)], 3)
    told = ["not installed (apt-get install other)" in text
            for text in (said.getvalue(), " ".join(report.missing), str(report.items[0].rows[1]))]
    return [] if all(told) else [f"what is not installed is not told: {said.getvalue()}"]


def writing_keeps_the_rest(text: str, document: Any, goals: Any, report_module: Any) -> list[str]:
    """A group with a table and a plot, written twice."""
    goal = next(goal for goal in goals.GOALS.values() if goal.group == "status")
    report = report_module.Report()
    with contextlib.redirect_stdout(io.StringIO()):
        report.table("Made up", report_module.MEASURED, [report.row("ours", [1.0, 2.0, 3.0], goal=goal)], "a note")
        report.figure("made-up", "Made up", "sizes", "ms", {"ours": {0: 1.0, 10: 2.0}, "theirs": {0: 2.5}}, "A plot.")
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "performance.md")
        file.write_text(text, encoding="utf-8")
        for _ in range(2):
            document.write_group(file, "status", report, "a host", "2026-01-31")
            found = file.read_text(encoding="utf-8")
        svg = (file.parent / "figures/made-up.svg").read_text(encoding="utf-8")
    problems = []
    changed = {name for name in document.blocks(text)
               if document.read_block(text, name) != document.read_block(found, name)}
    if changed != {document.GLANCE, "status"} or document.BLOCK.sub("", found) != document.BLOCK.sub("", text):
        problems.append(f"to write one group has changed {sorted(changed)}, or what is written by hand")
    before = document.read_block(text, document.GLANCE).splitlines()
    after = document.read_block(found, document.GLANCE).splitlines()
    new = [line for line in after if line not in before]
    if len(new) != 1 or f"| {goal.what} | {goal.wanted} | 2.00 ms | yes | `status` | 2026-01-31 |" != new[0]:
        problems.append(f"not one row of the group at the top is new: {new}")
    if "| ours | 2.00 | 1.00 | 3.00 |" not in found or "(figures/made-up.svg)" not in found or "<circle" not in svg:
        problems.append("what was measured is not in the page")
    return problems


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(root / "tests/bench"))
    import document
    import goals
    import groups
    import report

    text = (root / "docs/performance.md").read_text(encoding="utf-8")
    there, wanted = document.blocks(text), [document.GLANCE, *groups.GROUPS]
    problems = [f"docs/performance.md: '<!-- bench: {name} -->' is there {there.count(name)} times, not once"
                for name in wanted if there.count(name) != 1]
    problems += [f"docs/performance.md: scripts/bench has no group {name}" for name in there if name not in wanted]
    if text.count("<!-- bench: ") != len(there) or text.count("<!-- end -->") != len(there):
        problems.append("docs/performance.md: a '<!-- bench: ... -->' has no '<!-- end -->', or the other way round")
    if not problems:
        problems = [*wrong_rows(text, groups, document, goals), *wrong_figures(root, text), *not_installed(root),
                    *missing_is_told(report), *writing_keeps_the_rest(text, document, goals, report)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
