#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""meson setup fails with options that need something that is missing, instead of ignoring them.

usage: check_options.py SOURCE-DIR
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

# Compiler, options, and a part of the error.
REFUSED = (
    ("gcc", ("-Dfuzz=true",), "needs clang"),
    ("gcc", ("-Dfuzz=true", "-Dtests=disabled"), "needs clang"),
    ("clang", ("-Dfuzz=true", "-Dtests=disabled"), "and the tests"),
)


def main() -> list[str]:
    problems = []
    for compiler, options, expected in REFUSED:
        if not shutil.which(compiler):
            continue
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(["meson", "setup", *options, directory, sys.argv[1]], capture_output=True, text=True,
                                  env={**os.environ, "CC": compiler})
        if done.returncode == 0 or expected not in done.stdout:
            problems.append(f"{compiler} {' '.join(options)}: not refused\n{done.stdout[-500:]}")
    return problems


if __name__ == "__main__":
    sys.exit("\n".join(main()) or 0)
