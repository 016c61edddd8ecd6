# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs programs with the preloaded meter (meter.c), as a user without privileges."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Names of the engine's settings, and values.
Settings = dict[str, str]

# Enough for a pool of 16G on a busy machine.
PATIENCE_SEC = 300
# The user of the servers if this runs as root, because servers refuse root.
USER = "nobody"


def started(directory: Path, program: Path) -> list[Path | str]:
    """The command line of a program in DIRECTORY: by the loader of the C library that came with it, if there is one."""
    for loader in directory.glob("**/x86_64-linux-gnu/ld-linux-*.so.*"):
        return [loader, "--library-path", f"{loader.parent}:{directory}/usr/lib/x86_64-linux-gnu", program]
    return [program]


class Meter:
    """Runs programs as USER, in the directory WORK."""

    def __init__(self, library: Path, work: Path) -> None:
        self._library = library.resolve()
        self._file = work / "requests"
        self._user: dict[str, object] = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam(USER)
            self._user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self.own(work)

    def own(self, directory: Path) -> None:
        """Changes the owner of DIRECTORY to USER."""
        if self._user:
            os.chown(directory, self._user["user"], self._user["group"])

    def run(self, command: Sequence[Path | str]) -> None:
        """Runs a command without the meter, which must succeed."""
        subprocess.run(command, check=True, capture_output=True, env=self._environment({}), **self._user)

    def requests(self, command: Sequence[Path | str], mode: str) -> list[tuple[str, int]]:
        """The requests of the program until it ends: ("shared", BYTES), ..."""
        self._metered(command, mode)
        return self._lines()

    def held(self, command: Sequence[Path | str], cpus: str = "", fails: bool = False) -> int | None:
        """The most bytes of huge pages that the program has at a time. None if it fails; or, for a program that always
        FAILS, if it had none. CPUS: the number of processors that the program sees."""
        code = self._metered(command, "play", cpus)
        most = max((size for what, size in self._lines() if what == "held"), default=0)
        return (most or None) if fails else most if code == 0 else None

    def _metered(self, command: Sequence[Path | str], mode: str, cpus: str = "") -> int:
        self._file.unlink(missing_ok=True)
        environment = self._environment({
            "LD_PRELOAD": str(self._library),
            "SIZE_METER": mode,
            "SIZE_METER_FILE": str(self._file),
            **({"SIZE_METER_CPUS": cpus} if cpus else {}),
        })
        return subprocess.run(command, capture_output=True, cwd=self._file.parent, env=environment,
                              timeout=PATIENCE_SEC, **self._user).returncode

    def _lines(self) -> list[tuple[str, int]]:
        if not self._file.exists():
            return []
        lines = [line.split() for line in self._file.read_text().splitlines()]
        return [(what, int(size)) for what, size in lines]

    @staticmethod
    def _environment(more: dict[str, str]) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **more}
