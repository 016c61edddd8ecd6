#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every file of the repository that can hold a comment names its licence near its top; .reuse/dep5 covers the others,
and `reuse lint` finds no problem. Without reuse the test is skipped (77) after the first part.

usage: check_licenses.py SOURCE-DIR
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True

from programs import program  # noqa: E402

# In two parts, or reuse would read it as this file's own.
IDENTIFIER = re.compile(r"SPDX-License-" r"Identifier: LGPL-2\.1-or-later( \*/| -->| #\})?$", re.MULTILINE)
HEAD_BYTES = 300

# Inputs and expected outputs, which cannot have a comment more, and formats without comments.
WITHOUT_COMMENT = re.compile(
    r"tests/cases/|tests/fuzz/corpus/|tests/states/|LICENSES?(/|$)|\.reuse/"
    r"|(schema|contrib/monitoring)/.*\.json$"
    r"|debian/(changelog|copyright|source/format)$"
)

# The checkout may belong to another user.
GIT_SETTINGS = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


def tracked_files(root: pathlib.Path) -> list[pathlib.Path]:
    """The tracked files and the new ones that are not ignored; none in an unpacked release."""
    if not (root / ".git").exists():
        return []
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **GIT_SETTINGS})
    paths = (root / name for name in done.stdout.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def names_license(path: pathlib.Path) -> bool:
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return bool(IDENTIFIER.search(head.decode("utf-8", "replace")))


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    names = [str(path.relative_to(root)) for path in tracked_files(root) if not names_license(path)]
    problems = [f"{name}: the SPDX line is missing" for name in sorted(names) if not WITHOUT_COMMENT.match(name)]
    print("\n".join(problems))
    if problems:
        return 1
    done = subprocess.run([program("reuse"), "--root", str(root), "lint"], check=False, capture_output=True,
                          text=True, env={**os.environ, **GIT_SETTINGS})
    print(done.stdout[-20000:], done.stderr[-5000:])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
