# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program where every user can run it: a checkout below /root is closed to all but root."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def public_copy(program: str | os.PathLike[str]) -> Iterator[str]:
    """The path of a copy of PROGRAM that anybody may run, while the context lasts."""
    with tempfile.TemporaryDirectory(prefix="hugeplan-public-") as directory:
        os.chmod(directory, 0o755)
        copy = shutil.copy(program, directory)
        os.chmod(copy, 0o755)
        yield copy
