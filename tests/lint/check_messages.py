#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Identifiers of problems are only in the tables (src/model/reason.h, src/model/problem.h), hugeplan-rules(7)
describes each, and journalctl accepts the catalogue. unit/status/test_messages.c tests that each has a paragraph in
the catalogue. No message says "1 pages".

usage: check_messages.py SOURCE-DIR
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROW = re.compile(r'X\(\w+, "([a-z-]+)"[,)]')
STRAY = ((re.compile(r'\.id = "|problem_id\("'), "ids belong in model/problem.h"),
         (re.compile(r'(%s|PRIu64 ") pages\b'), "format_page_count() says '1 page', too"))
LEAST = 40  # ids; fewer means that ROW no longer fits


def stray_literals(root: pathlib.Path) -> list[str]:
    return [f"{path.relative_to(root)}: {match[0]!r}: {advice}"
            for path in sorted((root / "src").rglob("*.c"))
            for pattern, advice in STRAY for match in pattern.finditer(path.read_text(encoding="utf-8"))]


def ids(root: pathlib.Path) -> list[str]:
    return [row for name in ("reason", "problem")
            for row in ROW.findall((root / f"src/model/{name}.h").read_text(encoding="utf-8"))
            if row != "none"]


def undocumented(root: pathlib.Path) -> list[str]:
    page = (root / "man/hugeplan-rules.7.scd").read_text(encoding="utf-8")
    words = set(re.findall(r"\*([a-z-]+)\*", page[page.index("# REASONS"):page.index("# POSTGRESQL")]))
    rows = ids(root)
    if len(rows) < LEAST:
        return [f"only {len(rows)} ids were found; the pattern ROW no longer matches"]
    return [f"hugeplan-rules(7): '{each}' is neither in REASONS nor in PROBLEMS" for each in rows if each not in words]


def refused_by_journalctl(root: pathlib.Path) -> list[str]:
    """Errors of journalctl for the catalogue, and entries that it does not list; none without journalctl."""
    journalctl = shutil.which("journalctl")
    if not journalctl:
        return []
    source = root / "units/hugeplan.catalog"
    n_entries = sum(line.startswith("-- ") for line in source.read_text(encoding="utf-8").splitlines())
    with tempfile.TemporaryDirectory(prefix="hugeplan-catalog-") as name:
        target = pathlib.Path(name) / "usr/lib/systemd/catalog"
        target.mkdir(parents=True)
        shutil.copy(source, target)
        for action in ("--update-catalog", "--list-catalog"):
            done = subprocess.run([journalctl, f"--root={name}", "--no-pager", action],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
            if done.returncode != 0 or done.stderr:
                return [f"journalctl {action}: {done.stderr or done.returncode}"]
    n_listed = len(re.findall(r"^[0-9a-f]{32} hugeplan: ", done.stdout, re.MULTILINE))
    return [] if n_listed == n_entries else [f"journalctl lists {n_listed} of {n_entries} entries"]


def main() -> list[str]:
    root = pathlib.Path(sys.argv[1])
    return stray_literals(root) + undocumented(root) + refused_by_journalctl(root)


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
