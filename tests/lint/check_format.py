#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""clang-format changes no source, and .clang-format lists the loop macros. Skips (77) without clang-format.

usage: check_format.py SOURCE-DIR
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys

LOOP = re.compile(r"^#define (\w+)\([^)]*\)[ \t\\\n]*for \(", re.MULTILINE)


def unknown_loops(texts: list[str], style: str) -> set[str]:
    """Macros that begin with "for (" and are not listed, so that clang-format would not indent their bodies."""
    return {name for text in texts for name in LOOP.findall(text)} - set(re.findall(r"'(\w+)'", style))


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    program = shutil.which("clang-format")
    if program is None:
        print("clang-format is not installed")
        return 77
    sources = sorted(path for directory in ("src", "tests") for path in (root / directory).rglob("*.[ch]"))
    if not sources:
        print(f"{root}: no sources")
        return 1
    assert unknown_loops(["#define ALL(i) \\\n        for (;;)\n#define NONE(i) while (i)\n"], "'EACH'") == {"ALL"}
    unknown = unknown_loops([path.read_text(encoding="utf-8") for path in sources],
                            (root / ".clang-format").read_text(encoding="utf-8"))
    if unknown:
        print(f".clang-format: ForEachMacros does not have {', '.join(sorted(unknown))}")
        return 1
    done = subprocess.run([program, "--dry-run", "-Werror", *map(str, sources)], check=False,
                          capture_output=True, text=True)
    print(done.stderr[:20000])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
