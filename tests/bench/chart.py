# SPDX-License-Identifier: LGPL-2.1-or-later
"""A line over two logarithmic axes, as SVG: what twice as much costs is always as far up."""

import html
import math
from pathlib import Path

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 20, 34, 44
COMMENT = "<!-- SPDX-License-" "Identifier: LGPL-2.1-or-later -->"  # in two parts, or reuse reads it as this file's own
COLOURS = ("#0b6e99", "#b3541e", "#4f7a28")


def decades(values: list[float]) -> range:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return range(low, max(high, low + 1) + 1)


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def draw(path: Path, title: str, x_name: str, unit: str, lines: dict[str, dict[float, float]]) -> None:
    """LINES: name, and its value for each size, all of them above 0."""
    xs = decades([x for line in lines.values() for x in line])
    ys = decades([y for line in lines.values() for y in line.values()])

    def at(x: float, y: float) -> tuple[float, float]:
        return (LEFT + (math.log10(x) - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - (math.log10(y) - ys[0]) / (ys[-1] - ys[0]) * (HEIGHT - TOP - BOTTOM))

    out = [COMMENT, f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
           ' font-family="sans-serif" font-size="11">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
           f'<text x="{LEFT}" y="18" font-size="13" fill="#222">{html.escape(title)}</text>']
    for exponent in xs:
        x, _ = at(10.0**exponent, 10.0**ys[0])
        out.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
                   f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle" fill="#555">{short(10.0**exponent)}</text>')
    for exponent in ys:
        _, y = at(10.0**xs[0], 10.0**exponent)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{short(10.0**exponent)} {unit}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#222">'
               f"{html.escape(x_name)}</text>")
    for colour, (name, line) in zip(COLOURS, lines.items()):
        points = [at(x, y) for x, y in sorted(line.items())]
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="'
                   + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points]
        if len(lines) > 1:
            x, y = points[-1]
            out.append(f'<text x="{x - 6:.1f}" y="{y - 8:.1f}" text-anchor="end" fill="{colour}">{html.escape(name)}</text>')
    path.write_text("\n".join([*out, "</svg>"]) + "\n", encoding="utf-8")
