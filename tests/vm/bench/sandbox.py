# SPDX-License-Identifier: LGPL-2.1-or-later
"""What each line of hugeplan.service's sandbox takes of a boot: millions of instructions of a start of /bin/true with
that line alone, beyond those of one without any, and what all of them take less without it. A measurement, which checks
nothing: run.py --verbose prints it."""

import json
import re
import statistics
from pathlib import Path

from boot_cost import INSTRUCTIONS_PER_USEC
from guestlib import *
from scenario import Boot, Node, Scenario

UNIT = Path("/usr/lib/systemd/system/hugeplan.service")
OURS = Path("/run/systemd/system/cost.service")
TIMES = 3
# What is no confinement, and would be in the way.
LEFT_OUT = {"Type", "NotifyAccess", "ExecStart", "ExecReload", "ExecStopPost", "Sockets", "Restart", "RestartSec", "RestartSteps",
            "RestartMaxDelaySec", "WatchdogSec", "TimeoutStartSec", "TimeoutStartFailureMode", "TimeoutStopSec",
            "OOMScoreAdjust", "Slice", "LimitNOFILE", "RuntimeDirectory", "RuntimeDirectoryPreserve"}


def measure() -> None:
    lines = re.split(r"^\[(\w+)\]\n", UNIT.read_text(), flags=re.MULTILINE)
    lines = lines[lines.index("Service") + 1].splitlines()
    keys = dict.fromkeys(line.partition("=")[0] for line in lines if "=" in line and not line.startswith("#"))
    groups = {key: [line for line in lines if line.startswith(f"{key}=")] for key in keys if key not in LEFT_OUT}
    every = [line for group in groups.values() for line in group]
    bare, whole = cost([]), cost(every)
    note(json.dumps({"bare": bare, "whole": whole}))
    for key, group in groups.items():
        left = [line for line in every if line not in group]
        note(json.dumps({"line": key, "alone": round(cost(group) - bare, 1), "without": round(whole - cost(left), 1)}))


def cost(lines: list[str]) -> float:
    """Of one start, systemd's part and the end included."""
    OURS.write_text("\n".join(["[Unit]", "DefaultDependencies=no", "[Service]", "Type=oneshot", "ExecStart=/bin/true", *lines, ""]))
    output("systemctl daemon-reload")
    output("systemctl start cost.service")
    return round(statistics.median(one_start() for _ in range(TIMES)), 1)


def one_start() -> float:
    before = used_usec()
    output("systemctl start cost.service")
    return (used_usec() - before) * INSTRUCTIONS_PER_USEC / 1e6


def used_usec() -> int:
    return int(Path("/sys/fs/cgroup/cpu.stat").read_text().split()[1])


SCENARIO = Scenario(
    nodes=(Node("2G"),),
    is_counted=True,
    boots=(Boot(measure, limit_sec=1200),),
)
