#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""codespell finds no problem in sources, tests and documentation. Skips (77) without codespell.

usage: check_spelling.py SOURCE-DIR
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

PLACES = ("src", "tests", "man", "docs", "conf", "units", "README.md", "NEWS.md", "CONTRIBUTING.md",
          "SECURITY.md", "contrib")
# Names of Oracle and others that codespell takes for mistakes.
WORDS = "crate,ro,te,fo,hist,ser,nd,ot,inout,nin"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    program = shutil.which("codespell")
    if program is None:
        print("codespell is not installed")
        return 77
    places = [str(root / place) for place in PLACES if (root / place).exists()]
    done = subprocess.run([program, "--skip=*/corpus/*,*/cases/*,*.tsv,__pycache__",
                           f"--ignore-words-list={WORDS}", *places], check=False, capture_output=True, text=True)
    print(done.stdout[:20000], done.stderr[:2000])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
