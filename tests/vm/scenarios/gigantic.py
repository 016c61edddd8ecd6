# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages of 1 GiB: reserved at run time early in boot; instead of them pages of 2 MiB where they cannot
be had whole; and given on the kernel command line, where they count as served."""

from guestlib import *
from memory import pools_witness, witnessed
from scenario import SYMLINK, Boot, Node, Scenario

GIB = 1 << 30
EITHER = 4 * GIB  # beside a page of the other instance: no node has five whole ones


def at_run_time() -> None:
    check_equal(witnessed(), [0, 0], "there are none to begin with")
    served()
    either = instance("either")
    check_equal(either["verdict"], "ready", "either: ready")
    check_equal(either["pageSizeBytes"], 2 << 20, "either: with the second size, the first is out")
    check_equal(instance_nodes("either"), {0: EITHER // (2 << 20)}, "either: where it belongs")
    check_equal(sum(gigantic().values()), 2, "either: what was got of the first is given back")
    check_equal(pools(), {0: EITHER // (2 << 20), 1: 0}, "and no more of the second than planned")


def from_the_command_line() -> None:
    before = witnessed()
    note(f"the kernel has laid them on its nodes like this: {before}")
    check_equal(sum(before), 2, "both stand before hugeplan starts")
    served()
    check_equal(sum(gigantic().values()), 2, "no more are reserved beside them")
    logged = [one["MESSAGE"] for one in journal("--unit=hugeplan.service")]
    check(not any("1G: write" in text for text in logged), "nothing is written for them", logged)


def served() -> None:
    large = instance("large")
    check_equal(large["verdict"], "ready", "large: ready")
    check_equal(large["pageSizeBytes"], GIB, "large: with pages of 1 GiB")
    check_equal(instance_nodes("large"), gigantic(), "large: and the kernel agrees")
    check_equal(sum(instance_nodes("large").values()), 2, "large: two of them")


def gigantic() -> dict[int, int]:
    """How many the nodes have; those without left out."""
    return {node: count for node, count in pools(page_bytes=GIB).items() if count}


SCENARIO = Scenario(
    nodes=(Node("6G"), Node("6G")),
    files={
        "/etc/hugeplan.d/10-large.conf": "[Instance]\nPageSize=1G\nPages=2\nPriority=90\n",
        "/etc/hugeplan.d/20-either.conf": "[Instance]\nPageSize=1G,2M\nMemory=4G\nNodes=0\n",
        "/etc/systemd/system/witness.service": pools_witness("Before=hugeplan.service", GIB),
    },
    enable=("witness.service",),
    boots=(
        # Pages are not cleared when they are reserved, so that this host need not have the memory.
        Boot(at_run_time, kernel_args="init_on_alloc=0"),
        Boot(
            from_the_command_line,
            kernel_args="init_on_alloc=0 hugepagesz=1G hugepages=0:1,1:1",
            files={"/etc/hugeplan.d/20-either.conf": (SYMLINK, "/dev/null")},
        ),
    ),
)
