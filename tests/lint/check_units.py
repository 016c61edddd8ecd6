#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""systemd-analyze verify has nothing to say about the units. Skips (77) where it is not installed.

usage: check_units.py SOURCE-DIR
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SUFFIXES = (".service", ".socket")
# What is no program's path; of several forms, the one that every systemd knows.
VALUES = {"RESTART_PAUSES": "RestartSec=2s"}


def write_units(source: pathlib.Path, directory: pathlib.Path) -> list[str]:
    """As they are installed, but for programs: those need not be there."""
    units = []
    for path in sorted((source / "units").iterdir()):
        name = path.name.removesuffix(".in")
        if name.endswith(SUFFIXES):
            text = re.sub(r"@(\w+)@", lambda match: VALUES.get(match[1], "/bin/true"),
                          path.read_text(encoding="utf-8"))
            (directory / name).write_text(text, encoding="utf-8")
            units.append(str(directory / name))
    return units


def main() -> int:
    source = pathlib.Path(sys.argv[1])
    program = shutil.which("systemd-analyze")
    if program is None:
        print("systemd-analyze is not installed")
        return 77
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        units = write_units(source, directory)
        # The colon: and systemd's own directories.
        done = subprocess.run([program, "verify", "--man=no", "--recursive-errors=no", *units],
                              env={**os.environ, "SYSTEMD_UNIT_PATH": f"{directory}:"},
                              check=False, capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip()
    print(said)
    return 1 if done.returncode or said or len(units) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
