# SPDX-License-Identifier: LGPL-2.1-or-later
"""What scripts/bench measures, by group: each module has measure(REPORT), and a docstring that is its section of
docs/performance.md."""

from __future__ import annotations

from types import ModuleType

from . import boot, fair, fragmented, gates, generator, idle, job, plan, postgresql, scale, socket, status, verify

GROUPS: dict[str, ModuleType] = {
    "postgresql": postgresql,
    "job": job,
    "status": status,
    "gates": gates,
    "socket": socket,
    "fair": fair,
    "idle": idle,
    "plan": plan,
    "generator": generator,
    "verify": verify,
    "scale": scale,
    "fragmented": fragmented,
    "boot": boot,
}

# These boot guests, for some ten minutes each.
IN_GUESTS = ("fragmented", "boot")

# These leave the pools of this host alone.
NEED_NO_POOLS = (*IN_GUESTS, "plan", "generator")
