# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a boot costs, with hugeplan and without, in turn: for the measurements of bench/, which check nothing. Without
means that its units are masked, and that its generator stands aside.

In the CPU time of the whole emulation, which depends least on how busy this host is; so the guest has one CPU, for
of several each that waits costs, too. What a control group has used is in the guest's own time: that counts on while
the host runs something else, so compare the units of one boot, and trust it on a quiet host only."""

from __future__ import annotations

import json
import os
import time

from guestlib import ask_host, note, output, unit
from scenario import Boot

UNITS = (
    "hugeplan-boot.service",
    "hugeplan.service",
    "hugeplan.socket",
    "hugeplan-limits.service",
    "hugeplan-boot-good.service",
    "hugeplan-check.service",
    "hugeplan-report.socket",
    "hugeplan-metrics.timer",
)
WITHOUT = " ".join(["hugeplan=off", *(f"systemd.mask={name}" for name in UNITS)])
# What runs after the boot has ended by then, and an idle guest costs next to nothing.
SETTLED_SEC = 5


def boot_pairs(rounds: int, without: str = "") -> tuple[Boot, ...]:
    """`without`: kernel arguments of a boot without hugeplan, for what something else then does in its place."""
    return tuple(
        Boot(
            _measure,
            kernel_args=arguments,
            limit_sec=600,
            on_request={"processor": lambda guest: guest.processor_msec()},
        )
        for _ in range(rounds)
        for arguments in ("", f"{WITHOUT} {without}")
    )


def _measure() -> None:
    until_target = ask_host("processor")
    time.sleep(SETTLED_SEC)
    until_settled = ask_host("processor")
    found = {
        "processorMsec": until_target,
        "settledMsec": until_settled,
        "isWith": unit("hugeplan.service") == "active",
        "kernel": os.uname().release,
        "units": output("systemctl list-units --all --no-legend --plain 'hugeplan*' 'db*'").split("\n"),
        "groupMsec": _groups_msec(),
    }
    for target in "sysinit.target", "basic.target", "multi-user.target":
        found[target] = _since_boot_msec(target)
    note(json.dumps(found))


def _groups_msec() -> dict[str, float]:
    """Of each unit of ours that has run; those of an instance are among them."""
    shown = output("systemctl show --property=Id --property=CPUUsageNSec 'hugeplan*.service'")
    units = (dict(line.split("=", 1) for line in one.splitlines()) for one in shown.split("\n\n"))
    return {one["Id"]: int(one["CPUUsageNSec"]) / 1e6 for one in units
            if one["CPUUsageNSec"].isdecimal() and not one["Id"].startswith("hugeplan-vm")}


def _since_boot_msec(target: str) -> float:
    began = int(output("systemctl show --property=UserspaceTimestampMonotonic").partition("=")[2])
    return (int(unit(target, "ActiveEnterTimestampMonotonic")) - began) / 1000
