# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that a lint test runs if they are installed."""

from __future__ import annotations

import os
import shutil
import sys

SKIP = 77


def program(name: str) -> str:
    """The path of the program. If it is not installed, the test ends as skipped, or as failed with CI=true."""
    path = shutil.which(name)
    if path is None:
        print(f"{name} is not installed")
        sys.exit(1 if os.environ.get("CI") == "true" else SKIP)
    return path
