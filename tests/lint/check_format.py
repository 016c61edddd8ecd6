#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""clang-format has nothing to say about the sources. Skips (77) where it is not installed.

usage: check_format.py SOURCE-DIR
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    program = shutil.which("clang-format")
    if program is None:
        print("clang-format is not installed")
        return 77
    sources = sorted(path for directory in ("src", "tests")
                     for path in (root / directory).rglob("*.[ch]"))
    if not sources:
        print(f"{root}: no sources")
        return 1
    done = subprocess.run([program, "--dry-run", "-Werror", *map(str, sources)], check=False,
                          capture_output=True, text=True)
    print(done.stderr[:20000])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
