#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The model of the kernel's huge pages compared with the running kernel, by the scripts for this host's number of nodes
and by random scripts.

usage: HUGEPLAN_LIVE=1 test_kernel_model.py KERNEL-SCRIPT DIRECTORY-OF-SCRIPTS

Needs what test_live.py needs; skips (77). Restores the pools. HUGEPLAN_SCRIPTS is the number of random scripts;
HUGEPLAN_SEED runs a single one. Mounts of hugetlbfs are in the written scripts only, because a kernel that miscounts
their reservations does so until the next boot. """

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import test_live

from common import SKIP

SEEDS = 8
LINES = 250


def is_for_this_host(script: pathlib.Path) -> bool:
    """Whether this host has as many nodes as the script needs."""
    needed = re.search(r"^# needs (\d+) nodes$", script.read_text(), re.MULTILINE)
    n_nodes = len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*")))
    return not needed or int(needed[1]) <= n_nodes


def runs(scripts: list[pathlib.Path]) -> list[list[str]]:
    one = os.environ.get("HUGEPLAN_SEED")
    n_seeds = int(os.environ.get("HUGEPLAN_SCRIPTS", SEEDS))
    seeds = [one] if one else [str(seed) for seed in range(1, n_seeds + 1)]
    return [["compare", *map(str, scripts)], *(["compare-random", seed, str(LINES)] for seed in seeds)]


def main() -> int:
    reason = test_live.why_not()
    if reason:
        print(f"skipped: {reason}")
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
