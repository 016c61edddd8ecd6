# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/performance.md: what scripts/bench writes stands between two comments, `<!-- bench: GROUP -->` and
`<!-- end -->`; all the rest is written by hand, and stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import chart
from goals import GOALS
from report import Figure, Report, Table

GLANCE = "at a glance"
NOT_MEASURED = "not measured yet"
BLOCK = re.compile(r"<!-- bench: (.+?) -->\n(.*?)<!-- end -->", re.DOTALL)
COLUMNS = ("what", "wanted", "measured", "met", "group", "measured on")


def blocks(text: str) -> list[str]:
    """The names of all of them, in order."""
    return [match[1] for match in BLOCK.finditer(text)]


def replace_block(text: str, name: str, body: str) -> str:
    if blocks(text).count(name) != 1:
        raise ValueError(f"docs/performance.md has not one '<!-- bench: {name} -->' with its '<!-- end -->'")
    block = f"<!-- bench: {name} -->\n{body}<!-- end -->"
    return BLOCK.sub(lambda match: block if match[1] == name else match[0], text)


def read_block(text: str, name: str) -> str:
    return next((match[2] for match in BLOCK.finditer(text) if match[1] == name), "")


def markdown_table(columns: Iterable[str], rows: Iterable[Iterable[str]], n_texts: int = 1) -> str:
    """The first N_TEXTS columns are texts; the others stand to the right."""
    heads = list(columns)
    lines = [heads, ["---" if i < n_texts else "--:" for i in range(len(heads))], *map(list, rows)]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


def show(item: Table | Figure | str, figures: Path) -> str:
    if isinstance(item, str):
        return f"{item}\n"
    if isinstance(item, Figure):
        return f"![{item.title}, by {item.x_name}]({figures.name}/{item.name}.svg)\n\n{item.caption}\n"
    heads, rows = item.filled()
    note = f"\n{item.note[:1].upper()}{item.note[1:]}.\n" if item.note else ""
    return f"**{item.title}**\n\n{markdown_table(heads, rows)}{note}"


def glance_body(text: str, report: Report, day: str) -> str:
    """The rows of what this run has measured are new; the others stay as they stand in TEXT."""
    there = {cells[0]: cells for cells in (
        [cell.strip() for cell in line.strip("|").split("|")] for line in read_block(text, GLANCE).splitlines()
        if line.startswith("|")) if len(cells) == len(COLUMNS)}
    rows = []
    for goal in GOALS.values():
        measured, met, when = NOT_MEASURED, "", ""
        if goal.what in report.glance:
            measured, is_met = report.glance[goal.what]
            met, when = "yes" if is_met else "**no**", day
        elif goal.what in there:
            measured, met, when = there[goal.what][2], there[goal.what][3], there[goal.what][5]
        rows.append((goal.what, goal.wanted, measured, met, f"`{goal.group}`", when))
    return markdown_table(COLUMNS, rows)


def write_group(file: Path, name: str, report: Report, host: str, day: str) -> None:
    """The group's block, its rows at the top, its plots."""
    figures = file.parent / "figures"
    text = file.read_text(encoding="utf-8")
    text = replace_block(text, name, "\n".join([f"{host}\n", *(show(item, figures) for item in report.items)]))
    text = replace_block(text, GLANCE, glance_body(text, report, day))
    figures.mkdir(exist_ok=True)
    for item in report.items:
        if isinstance(item, Figure):
            chart.draw(figures / f"{item.name}.svg", item.title, item.x_name, item.unit, item.lines)
    file.write_text(text, encoding="utf-8")
