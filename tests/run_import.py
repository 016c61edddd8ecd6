#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""`import` keeps the pages that other programs have set: its drop-ins are written, the lines that it names are removed,
and the plan for a boot with empty pools has at least as many pages of each size. For every case import-*.

usage: run_import.py --hugeplanctl=PROGRAM [CASE...]
"""

from __future__ import annotations

import collections
import json
import pathlib
import sys
from typing import Any

import common
import run_cases


def ask(program: pathlib.Path, root: pathlib.Path, *arguments: str) -> dict[str, Any]:
    done = common.run(program, "--json", *arguments, root=root)
    if done.returncode not in (0, 3):
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr}")
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def remove_lines(root: pathlib.Path, lines: list[dict[str, Any]]) -> None:
    """Empties the lines that `import` says to remove."""
    for line in lines:
        if line["action"] == "remove":
            path = root / line["file"].lstrip("/")
            text = path.read_text(encoding="utf-8").splitlines()
            text[line["line"] - 1] = ""
            path.write_text("\n".join(text) + "\n", encoding="utf-8")


def planned(plan: dict[str, Any]) -> dict[int, int]:
    """The pages of a plan for empty pools, by size."""
    pages: dict[int, int] = collections.Counter()
    for step in plan["steps"]:
        pages[step["pageSizeBytes"]] += step["to"]
    return pages


def check(program: pathlib.Path, case: pathlib.Path) -> list[str]:
    with common.root_of(case) as root:
        before = ask(program, root, "import", "--write")
        written = {file["path"]: (root / file["path"].lstrip("/")).read_text(encoding="utf-8")
                   for file in before["files"]}
        problems = [f"{path} differs from the printed text" for path, text in written.items()
                    if text not in [file["text"] for file in before["files"]]]
        remove_lines(root, before["lines"])
        for path in root.rglob("hugepages-*kB/*_hugepages"):
            path.write_text("0\n", encoding="utf-8")
        pages = planned(ask(program, root, "plan"))
        problems += [f"{each['set']} pages of {each['pageSizeBytes']} were set, {pages[each['pageSizeBytes']]} are planned"
                     for each in before["pages"] if pages[each["pageSizeBytes"]] < each["set"]]
        after = ask(program, root, "import")
        problems += [f"still to be written: {file['path']}" for file in after["files"]]
        problems += [f"still to be removed: {line}" for line in after["lines"] if line["action"] == "remove"
                     and "memlock" not in line["text"]]
        if not before["files"] or not before["pages"]:
            problems.append("nothing was imported")
    return [f"{case.name}: {problem}\n" for problem in problems]


def main() -> int:
    arguments = common.parser(__doc__, "hugeplanctl", rest="cases").parse_args()
    cases = run_cases.cases_named(arguments.cases, "import-*")
    problems = [problem for case in cases for problem in check(arguments.hugeplanctl, case)]
    sys.stdout.write("".join(problems) + f"{len(cases)} imports, {len(problems)} problems\n")
    return 1 if problems or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
