# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/performance.md from one run: for each group its docstring, whose first line is the heading, and its
measurements."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import chart
from goals import GOALS
from report import Figure, Report, Table

NOT_MEASURED = "not measured in this run"
COLUMNS = ("what", "wanted", "measured", "met")
MACHINE = re.compile(r"^Measured by `scripts/bench --write` on (.*)$", re.MULTILINE)

HEAD = """<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->
<!-- Made by scripts/bench --write; the texts stand in tests/bench. -->
# Performance

What hugeplan costs a host, beside other tools and beside floors: static C programs that do the least that the job
needs. All of this page is from one run. A ratio is hugeplan's cost divided by the other's in the same round, so it
depends little on the machine; absolute times depend on it.

Measured by `scripts/bench --write` on {host}

"""
HOW = """
## How it was measured

- `scripts/bench --install` installs the other tools, `scripts/bench GROUP` measures one group, and `--write` measures
  all of them and makes this page.
- All ways run in turn, A B C A B C. A ratio is the median of the ratios of each turn.
- CPU is the user and system time of the whole process, from exec to its end (wait4(2)). The daemon is terminated when it
  sends READY=1. Time is wall time.
- Pages are real huge pages of one node of this host, reserved and given back in each round. Hosts with many nodes or
  databases are made up below `--root=` on tmpfs (`tests/bench/hosts.py`).
- The other tools are Debian's packages, with the configuration that the job needs and no other.
- Nothing here fails a test, because times depend on the load. What must not grow is held as instructions and system
  calls by `tests/costs.tsv`.
"""


def markdown_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """The first column is text; the others are aligned to the right."""
    heads = list(columns)
    lines = [heads, ["---" if i < 1 else "--:" for i in range(len(heads))], *map(list, rows)]
    return "".join(f"|{'|'.join(cell.replace('|', '/') for cell in line)}|\n" for line in lines)


def show(item: Table | Figure | str) -> str:
    if isinstance(item, str):
        return f"{item}\n"
    if isinstance(item, Figure):
        return f"![{item.title}, by {item.x_name}](figures/{item.name}.svg)\n\n{item.caption}\n"
    heads, rows = item.filled()
    note = f"\n{item.note[:1].upper()}{item.note[1:]}.\n" if item.note else ""
    return f"**{item.title}**\n\n{markdown_table(heads, rows)}{note}"


def section(name: str, module: ModuleType, report: Report | None) -> str:
    heading, _, text = inspect.cleandoc(module.__doc__ or "").partition("\n\n")
    items = [show(item) for item in report.items] if report else [f"{NOT_MEASURED.capitalize()}.\n"]
    return "\n".join([f"\n## {heading.rstrip('.')}\n", f"{text}\n" if text else "", f"`scripts/bench {name}`\n", *items])


def glance_rows(reports: dict[str, Report]) -> list[tuple[str, str, str, str]]:
    found = {what: seen for report in reports.values() for what, seen in report.glance.items()}
    rows = []
    for goal in GOALS.values():
        measured, is_met = found.get(goal.what, (NOT_MEASURED, None))
        rows.append((goal.what, goal.wanted, measured, {True: "yes", False: "**no**", None: ""}[is_met]))
    return rows


def glance(page: str, n_columns: int = len(COLUMNS)) -> list[tuple[str, ...]]:
    """The rows of the table "At a glance"."""
    lines = page.partition("\n## At a glance\n")[2].partition("\n## ")[0].splitlines()
    return [tuple(line.split("|")[1:1 + n_columns]) for line in lines if line.startswith("|")][2:]


def turned(before: str, rows: list[tuple[str, str, str, str]]) -> str:
    """The verdicts that differ from the page BEFORE, and the machine of that page."""
    machine, there = MACHINE.search(before), {what: (measured, met) for what, _, measured, met in glance(before)}
    lines = [f"- {what}: {measured} here, {there[what][0]} there" for what, _, measured, met in rows
             if what in there and met and there[what][1] and met != there[what][1]]
    if not machine:
        return ""
    return "\n".join([f"\nThe page before was measured on {machine[1]}"
                      + (" These verdicts are others than there:\n" if lines else " No verdict is another than there."),
                      *lines, ""])


def make_page(groups: dict[str, ModuleType], reports: dict[str, Report], host: str, before: str = "") -> str:
    rows = glance_rows(reports)
    return "".join([HEAD.format(host=host), "## At a glance\n\n", markdown_table(COLUMNS, rows), turned(before, rows), HOW,
                    *(section(name, module, reports.get(name)) for name, module in groups.items())])


def write_page(file: Path, groups: dict[str, ModuleType], reports: dict[str, Report], host: str) -> None:
    """Writes the page and its plots; other plots are removed."""
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    figures = file.parent / "figures"
    figures.mkdir(exist_ok=True)
    plots = [item for report in reports.values() for item in report.items if isinstance(item, Figure)]
    for path in figures.glob("*.svg"):
        path.unlink()
    for plot in plots:
        chart.draw(figures / f"{plot.name}.svg", plot.title, plot.x_name, plot.unit, plot.lines)
    file.write_text(make_page(groups, reports, host, before), encoding="utf-8")
