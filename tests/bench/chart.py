# SPDX-License-Identifier: LGPL-2.1-or-later
"""A plot of lines as SVG, with two logarithmic axes, or with two linear axes that begin at 0."""

import html
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

WIDTH, HEIGHT = 560, 290
LEFT, RIGHT, TOP, BOTTOM = 74, 24, 52, 44
COMMENT = "<!-- SPDX-License-" "Identifier: LGPL-2.1-or-later -->"  # in two parts, so that reuse does not read it as this file's licence
COLOURS = ("#0b6e99", "#b3541e", "#4f7a28")
DASHES = ("", ' stroke-dasharray="7 3"', ' stroke-dasharray="2 3"')  # for readers who cannot distinguish the colours
TICKS = 6  # of a linear axis, at most


@dataclass(frozen=True)
class Axis:
    ticks: list[float]
    is_log: bool

    def share(self, value: float) -> float:
        """The position of VALUE on the axis, from 0 to 1."""
        low, high = self.ticks[0], self.ticks[-1]
        if self.is_log:
            return (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low))
        return (value - low) / (high - low)


def log_axis(values: Iterable[float]) -> Axis:
    """An axis from the decade below the least value to the one above the largest."""
    found = list(values)
    low, high = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)))
    return Axis([10.0**exponent for exponent in range(low, max(high, low + 1) + 1)], True)


def linear_axis(values: Iterable[float]) -> Axis:
    most = max([*values, 1e-9])
    decade = 10.0 ** math.floor(math.log10(most))
    step = next(step for step in (decade * part for part in (0.1, 0.2, 0.25, 0.5, 1, 2)) if most / step <= TICKS)
    return Axis([step * i for i in range(math.ceil(most / step - 1e-9) + 1)], False)


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 and value == int(value) else f"{value:g}"


def draw(path: Path, title: str, x_name: str, unit: str, lines: dict[str, dict[float, float]]) -> None:
    """LINES: by name, the value for each size. If a size or a value is 0, both axes are linear."""
    points = [point for line in lines.values() for point in line.items()]
    make_axis = log_axis if all(x > 0 and y > 0 for x, y in points) else linear_axis
    xs, ys = make_axis(x for x, _ in points), make_axis(y for _, y in points)

    def at(x: float, y: float) -> tuple[float, float]:
        return (LEFT + xs.share(x) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - ys.share(y) * (HEIGHT - TOP - BOTTOM))

    scale = "both axes logarithmic" if xs.is_log else "both axes linear"
    out = [COMMENT, f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
           f' height="{HEIGHT}" font-family="sans-serif" font-size="11" role="img">',
           f"<title>{html.escape(title)}, by {html.escape(x_name)}</title>",
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
           f'<text x="{LEFT}" y="18" font-size="13" fill="#222">{html.escape(title)}, {html.escape(unit)}</text>']
    for tick in xs.ticks:
        x, _ = at(tick, ys.ticks[0])
        out.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
                   f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle" fill="#555">'
                   f"{short(tick)}</text>")
    for tick in ys.ticks:
        _, y = at(xs.ticks[0], tick)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{short(tick)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#222">'
               f"{html.escape(x_name)} ({scale})</text>")
    legend = LEFT
    for colour, dash, (name, line) in zip(COLOURS, DASHES, lines.items()):
        places = [at(x, y) for x, y in sorted(line.items())]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2"{dash} points="'
                   + " ".join(f"{x:.1f},{y:.1f}" for x, y in places) + '"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places]
        out.append(f'<path d="M{legend} 36h22" stroke="{colour}" stroke-width="2"{dash}/>'
                   f'<text x="{legend + 27}" y="40" fill="{colour}">{html.escape(name)}</text>')
        legend += 27 + 7 * len(name) + 18
    path.write_text("\n".join([*out, "</svg>"]) + "\n", encoding="utf-8")
