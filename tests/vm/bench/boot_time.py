# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much longer a boot takes with hugeplan and an instance; without, sysctl reserves as many pages, for what that
takes is the kernel's. A measurement, run by `scripts/bench boot`; it checks nothing."""

from boot_cost import boot_pairs
from scenario import Node, Scenario

PAGES = 100
SERVICE = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"

SCENARIO = Scenario(
    nodes=(Node("2G"),),
    is_counted=True,
    files={
        "/etc/hugeplan.d/10-db.conf": f"[Instance]\nUnit=db.service\nPages={PAGES}\n",
        "/etc/systemd/system/db.service": SERVICE,
    },
    enable=("db.service",),
    boots=boot_pairs(2, f"sysctl.vm.nr_hugepages={PAGES}"),
)
