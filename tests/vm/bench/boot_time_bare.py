# SPDX-License-Identifier: LGPL-2.1-or-later
"""How much longer a boot takes where hugeplan is installed and nothing is described. Like boot_time.py."""

from boot_cost import boot_pairs
from scenario import Node, Scenario

SCENARIO = Scenario(nodes=(Node("2G"),), is_counted=True, boots=boot_pairs(2))
