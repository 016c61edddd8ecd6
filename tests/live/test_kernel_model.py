#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The model of the kernel's huge pages says what this very kernel does: the scripts for as many nodes as
there are here, and random ones.

usage: HUGEPLAN_LIVE=1 test_kernel_model.py KERNEL-SCRIPT DIRECTORY-OF-SCRIPTS

Needs root, and pools of which nothing is in use; they get their pages back. HUGEPLAN_SCRIPTS says how many
random scripts, HUGEPLAN_SEED tries a single one. Without HUGEPLAN_LIVE=1, or where something is missing,
it says so and skips (77). Mounts of hugetlbfs are in the written scripts only: a kernel that miscounts
what is reserved for them does so until it boots.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

SKIP = 77
SEEDS = 8
LINES = 250


def why_not() -> str | None:
    if os.environ.get("HUGEPLAN_LIVE") != "1":
        return "it changes this host's pools for a while; set HUGEPLAN_LIVE=1 to allow it"
    if os.geteuid() != 0:
        return "it needs root"
    return None


def is_for_this_host(script: pathlib.Path) -> bool:
    """The other ones are for guests of several nodes."""
    needed = re.search(r"^# needs (\d+) nodes$", script.read_text(), re.MULTILINE)
    n_nodes = len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*")))
    return not needed or int(needed[1]) <= n_nodes


def runs(scripts: list[pathlib.Path]) -> list[list[str]]:
    one = os.environ.get("HUGEPLAN_SEED")
    n_seeds = int(os.environ.get("HUGEPLAN_SCRIPTS", SEEDS))
    seeds = [one] if one else [str(seed) for seed in range(1, n_seeds + 1)]
    return [["compare", *map(str, scripts)],
            *(["compare-random", seed, str(LINES)] for seed in seeds)]


def main() -> int:
    reason = why_not()
    if reason:
        print(reason)
        return SKIP
    program, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    scripts = sorted(filter(is_for_this_host, directory.glob("*.script")))
    if not scripts:
        print(f"{directory} holds no scripts")
        return 1
    worst = 0
    for arguments in runs(scripts):
        status = subprocess.run([program, *arguments], check=False).returncode
        if status == SKIP:
            return SKIP
        worst = max(worst, 1 if status else 0)
    return worst


if __name__ == "__main__":
    sys.exit(main())
