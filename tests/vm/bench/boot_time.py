# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much longer a boot takes with hugeplan: boots with and without it in turn, five each. Without means that
its units are masked, and that its generator stands aside. A measurement, run by `scripts/bench boot`; it checks
nothing."""

import json
import os

from guestlib import ask_host, note, output, unit
from scenario import Boot, Node, Scenario

ROUNDS = 5
PAGES = 100
UNITS = (
    "hugeplan.service",
    "hugeplan.socket",
    "hugeplan-boot.service",
    "hugeplan-boot-good.service",
    "hugeplan-check.service",
    "hugeplan-limits.service",
    "hugeplan-metrics.timer",
)
WITHOUT = " ".join(["hugeplan=off", *(f"systemd.mask={name}" for name in UNITS)])
SERVICE = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"


def since_boot_msec(target: str) -> float:
    began = int(output("systemctl show --property=UserspaceTimestampMonotonic").partition("=")[2])
    return (int(unit(target, "ActiveEnterTimestampMonotonic")) - began) / 1000


def measure() -> None:
    found = {
        "processorMsec": ask_host("processor"),
        "isWith": unit("hugeplan.service") == "active",
        "kernel": os.uname().release,
        "units": output("systemctl list-units --all --no-legend --plain 'hugeplan*' 'db*'").split("\n"),
    }
    for target in "sysinit.target", "basic.target", "multi-user.target":
        found[target] = since_boot_msec(target)
    note(json.dumps(found))


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        "/etc/hugeplan.d/10-db.conf": f"[Instance]\nUnit=db.service\nPages={PAGES}\n",
        "/etc/systemd/system/db.service": SERVICE,
    },
    enable=("db.service",),
    boots=tuple(
        Boot(
            measure,
            kernel_args=arguments,
            limit_sec=600,
            on_request={"processor": lambda guest: guest.processor_msec()},
        )
        for _ in range(ROUNDS)
        for arguments in ("", WITHOUT)
    ),
)
