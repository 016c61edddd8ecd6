# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a boot costs, with hugeplan and without (hugeplan=off), in turn: for the measurements of bench/, which check
nothing. In instructions of the guest's one CPU, which do not depend on how busy this host is (Scenario.is_counted)."""

from __future__ import annotations

import json
import time
from pathlib import Path

from guestlib import *
from scenario import Boot

# As guest.COUNTED_NSEC, which is the host's.
INSTRUCTIONS_PER_USEC = 250
# What runs after the boot has ended by then.
SETTLED_SEC = 5


def boot_pairs(rounds: int, without: str = "") -> tuple[Boot, ...]:
    """`without`: kernel arguments of a boot without hugeplan, for what something else then does in its place."""
    return tuple(
        Boot(_measure, kernel_args=arguments, limit_sec=600)
        for _ in range(rounds)
        for arguments in ("", f"hugeplan=off {without}")
    )


def _measure() -> None:
    instructions = _instructions()
    time.sleep(SETTLED_SEC)
    began = int(output("systemctl show --property=UserspaceTimestampMonotonic").partition("=")[2])
    note(json.dumps({
        "instructions": instructions,
        "isWith": "hugeplan=off" not in Path("/proc/cmdline").read_text().split(),
        "unitInstructions": _unit_instructions(),
        "multi-user.target": (int(unit("multi-user.target", "ActiveEnterTimestampMonotonic")) - began) / 1000,
    }))


def _instructions() -> int:
    """Of all processes and of the kernel for them, since it started."""
    text = Path("/sys/fs/cgroup/cpu.stat").read_text()
    return int(text.split()[1]) * INSTRUCTIONS_PER_USEC


def _unit_instructions() -> dict[str, int]:
    """Of each unit of ours that has run; those of an instance are among them."""
    shown = output("systemctl show --property=Id --property=CPUUsageNSec 'hugeplan*.service'")
    units = (dict(line.split("=", 1) for line in one.splitlines()) for one in shown.split("\n\n"))
    return {one["Id"]: int(one["CPUUsageNSec"]) * INSTRUCTIONS_PER_USEC // 1000 for one in units
            if one["CPUUsageNSec"].isdecimal() and not one["Id"].startswith("hugeplan-vm")}
