# SPDX-License-Identifier: LGPL-2.1-or-later
"""The model of the kernel, with which hugeplan is tested, behaves like this kernel: both run the same scripts, and random
ones, on two unequal nodes and one without CPUs."""

import os
import re
import subprocess

from guestlib import *
from scenario import Boot, Node, Scenario

TOOL = HOME / "kernel-script"
SEEDS = 4
SEEDS_WITH_MOUNTS = 4
LINES = 200
# The limit of one script. Touching pages is slow under emulation.
PATIENCE_SEC = 240
SKIP = 77


def compared(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [str(TOOL), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SEC)


def check_same(done: subprocess.CompletedProcess[str], what: str) -> None:
    check(done.returncode == 0, f"{what}: the model says what the kernel does", done.stdout + done.stderr)


def same_as_the_model() -> None:
    note(f"kernel {os.uname().release}:\n{compared(['describe']).stdout}")
    written()
    for seed in range(1, SEEDS + 1):
        check_same(compared(["compare-random", str(seed), str(LINES)]), f"{LINES} random lines, seed {seed}")
    random_mounts()


def written() -> None:
    """Memory of gigantic pages of the kernel command line is contiguous when they are given back, so scripts with gigantic
    pages run first."""
    for pool in SYSTEM_NODES.glob("node*/hugepages/hugepages-1048576kB/nr_hugepages"):
        pool.write_text("0\n")
    scripts = sorted((HOME / "scripts").glob("*.script"), key=lambda one: "gigantic" not in one.name)
    check(len(scripts) >= 15, "there are scripts", scripts)
    for script in scripts:
        done = compared(["compare", str(script)])
        skipped = re.search(r"# SKIP (.*)", done.stdout)
        if done.returncode == 0 and skipped:
            skip(f"{script.name}: the model says what the kernel does", skipped[1])
            continue
        check_same(done, script.name)


def random_mounts() -> None:
    """Runs at the end, because kernels miscount reservations of mounts, and then no further script can run."""
    n_compared = 0
    for seed in range(1, SEEDS_WITH_MOUNTS + 1):
        done = compared(["compare-random", str(seed), str(LINES), "mounts"])
        if done.returncode == SKIP:
            note(f"after {n_compared}: {done.stderr}")
            break
        n_compared += 1
        check_same(done, f"{LINES} random lines with mounts, seed {seed}")
    check(n_compared > 0, "mounts were compared as well")


SCENARIO = Scenario(
    nodes=(Node("12G"), Node("9G"), Node("512M", cpus=0)),
    suites=(),
    more_suites=("bookworm", "trixie", "forky"),
    tools=("kernel-script",),
    boots=(
        Boot(
            same_as_the_model,
            kernel_args="hugeplan=off default_hugepagesz=2M hugepagesz=1G hugepages=0:5,1:4",
            limit_sec=900,
        ),
    ),
)
