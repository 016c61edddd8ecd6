# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that a lint test runs and that need not be there."""

from __future__ import annotations

import os
import shutil
import sys

SKIP = 77


def program(name: str) -> str:
    """Its path. Where it is not installed the test ends here, skipped; with CI=true that is a failure."""
    path = shutil.which(name)
    if path is None:
        print(f"{name} is not installed")
        sys.exit(1 if os.environ.get("CI") == "true" else SKIP)
    return path
