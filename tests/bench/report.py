# SPDX-License-Identifier: LGPL-2.1-or-later
"""The measurements, which are printed at once and kept for docs/performance.md."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from goals import GOALS, Goal, number, times

MEASURED = ("", "median", "from … to", "hugeplan is", "wanted", "met")


class Missing(Exception):
    """A program to compare with is not installed."""


class FellShort(Exception):
    """The pool did not get all of its pages, so the round does not count."""


@dataclass(frozen=True)
class Way:
    """A way to do a job; `run` returns its cost. The goal of the first way, hugeplan's, is for its median; the goal
    of another way is for the ratio of hugeplan's cost to it."""

    name: str
    run: Callable[[], float]
    goal: Goal | None = None


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str

    def filled(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows without empty columns."""
        kept = [i for i in range(len(self.columns)) if i == 0 or any(row[i] for row in self.rows)]
        return [self.columns[i] for i in kept], [[row[i] for i in kept] for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """A plot: for each line, the measurements by size."""

    name: str
    title: str
    x_name: str
    unit: str
    lines: dict[str, dict[float, float]]
    caption: str


@dataclass
class Report:
    is_quick: bool = False
    items: list[Table | Figure | str] = field(default_factory=list)
    glance: dict[str, tuple[str, bool]] = field(default_factory=dict)  # by Goal.what: the measurement, and whether the goal is met
    missing: list[str] = field(default_factory=list)

    def rounds(self, n: int) -> int:
        return max(3, n // 5) if self.is_quick else n

    def say(self, text: str) -> None:
        print(f"\n{text}", flush=True)
        self.items.append(text)

    def left_out(self, what: str, why: str) -> None:
        self.missing.append(f"{what}: {why}")
        self.say(f"{what} is left out: {why}.")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> None:
        table = Table(title, columns, rows, note)
        self.items.append(table)
        heads, cells = table.filled()
        widths = [max(len(row[i]) for row in [heads, *cells]) for i in range(len(heads))]
        print(f"\n{title}")
        for row in [heads, *cells]:
            texts = [text.ljust(width) if i == 0 else text.rjust(width)
                     for i, (text, width) in enumerate(zip(row, widths))]
            print("  " + "  ".join(texts).rstrip())
        print(f"  {note}" if note else "", flush=True)

    def figure(self, name: str, title: str, x_name: str, unit: str, lines: dict[str, dict[float, float]],
               caption: str) -> None:
        """Adds a plot, and a table with the same figures for readers who cannot see the plot."""
        self.items.append(Figure(name, title, x_name, unit, lines, caption))
        sizes = sorted({size for line in lines.values() for size in line})
        self.table(f"{title}, {unit}", [x_name, *lines],
                   [[f"{size:,.0f}", *(number(line[size]) if size in line else "–" for line in lines.values())]
                    for size in sizes])

    def judge(self, goal: Goal | None, value: float) -> tuple[str, str]:
        """The texts of the goal and of the verdict; a goal with a row in "At a glance" is kept for that."""
        if goal is None:
            return "", ""
        is_met = goal.is_met(value)
        if goal.what:
            self.glance[goal.what] = goal.show(value), is_met
        return goal.wanted, "yes" if is_met else "no"

    def reach(self, name: str, value: float) -> tuple[str, str]:
        return self.judge(GOALS[name], value)

    def row(self, what: str, values: Sequence[float], ratio: float | None = None,
            goal: Goal | None = None) -> list[str]:
        """A row of a table with the columns MEASURED."""
        median = statistics.median(values)
        return [what, number(median), f"{number(min(values))} … {number(max(values))}",
                "" if ratio is None else times(ratio), *self.judge(goal, median if ratio is None else ratio)]

    def compare(self, title: str, unit: str, ways: list[Way], rounds: int, note: str = "") -> None:
        """Runs every way in turn, A B C A B C. The first one is hugeplan; the others are compared with it."""
        remarks: dict[str, str] = {}
        values = self.take_turns(ways, rounds, remarks)
        ours = values[ways[0].name]
        rows = []
        for way in ways:
            found = values[way.name]
            if not found:
                remark = remarks.get(way.name, "no round was whole")
                self.missing.append(f"{title}: {way.name}: {remark}")
                rows.append([way.name, remark, "", "", way.goal.wanted if way.goal else "", ""])
            else:
                of_theirs = None if way is ways[0] or not ours else median_ratio(ours, found)
                rows.append(self.row(way.name, found, of_theirs, way.goal if ours else None))
        self.table(f"{title}, {unit}", MEASURED, rows, f"{len(ours)} rounds{'; ' + note if note else ''}")

    @staticmethod
    def take_turns(ways: list[Way], rounds: int, remarks: dict[str, str]) -> dict[str, list[float]]:
        values: dict[str, list[float]] = {way.name: [] for way in ways}
        for _ in range(rounds):
            turn: dict[str, float] = {}
            for way in ways:
                if way.name in remarks:
                    continue
                try:
                    turn[way.name] = way.run()
                except Missing as missing:
                    remarks[way.name] = str(missing)
                except FellShort as short:
                    print(f"  left out a round: {short}", flush=True)
                    turn.clear()
                    break
            for name, value in turn.items():
                values[name].append(value)
        return values


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of each turn, so that a changing load affects both sides."""
    return statistics.median(a / b if b else float("inf") for a, b in zip(ours, theirs))
