# SPDX-License-Identifier: LGPL-2.1-or-later
"""What scripts/bench measures, by group: each module has measure(REPORT)."""

from collections.abc import Callable

from report import Report

from . import (
    apply,
    boot,
    fair,
    fragmented,
    gates,
    generator,
    idle,
    job,
    plan,
    postgresql,
    scale,
    socket,
    status,
    verify,
)

GROUPS: dict[str, Callable[[Report], None]] = {
    "job": job.measure,
    "apply": apply.measure,
    "status": status.measure,
    "gates": gates.measure,
    "socket": socket.measure,
    "fair": fair.measure,
    "idle": idle.measure,
    "plan": plan.measure,
    "generator": generator.measure,
    "scale": scale.measure,
    "postgresql": postgresql.measure,
    "verify": verify.measure,
    "fragmented": fragmented.measure,
    "boot": boot.measure,
}

# These boot guests, for some ten minutes each.
IN_GUESTS = ("fragmented", "boot")

# These leave the pools of this host alone.
NEED_NO_POOLS = (*IN_GUESTS, "plan", "generator")
