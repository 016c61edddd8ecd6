# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages of 1 GiB: reserved early in boot; replaced by pages of 2 MiB if not all can be had; and reserved by the kernel
command line, in which case they count for the instance."""

from guestlib import *
from memory import pools_witness, witnessed
from scenario import SYMLINK, Boot, Node, Scenario

GIB = 1 << 30
EITHER = 4 * GIB  # besides a page of the other instance; no node has five pages of 1 GiB


def at_run_time() -> None:
    check_equal(witnessed(), [0, 0], "no page of 1 GiB existed before")
    served()
    either = instance("either")
    check_equal(either["verdict"], "ready", "either: ready")
    check_equal(either["pageSizeBytes"], 2 << 20, "either: with its second page size")
    check_equal(instance_nodes("either"), {0: EITHER // (2 << 20)}, "either: its pages are on its node")
    check_equal(sum(gigantic().values()), 2, "either: its pages of the first size are given back")
    check_equal(pools(), {0: EITHER // (2 << 20), 1: 0}, "the pools of 2 MiB are as planned")


def from_the_command_line() -> None:
    before = witnessed()
    note(f"the kernel has laid them on its nodes like this: {before}")
    check_equal(sum(before), 2, "both pages are reserved before hugeplan starts")
    served()
    check_equal(sum(gigantic().values()), 2, "hugeplan reserves no more")
    logged = [one["MESSAGE"] for one in journal("--unit=hugeplan.service")]
    check(not any("1G: write" in text for text in logged), "hugeplan does not write to these pools", logged)


def served() -> None:
    large = instance("large")
    check_equal(large["verdict"], "ready", "large: ready")
    check_equal(large["pageSizeBytes"], GIB, "large: with pages of 1 GiB")
    check_equal(instance_nodes("large"), gigantic(), "large: the kernel has these pages")
    check_equal(sum(instance_nodes("large").values()), 2, "large: two pages")


def gigantic() -> dict[int, int]:
    """The pages of 1 GiB of each node; without nodes that have none."""
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
        Boot(at_run_time),
        Boot(
            from_the_command_line,
            kernel_args="hugepagesz=1G hugepages=0:1,1:1",
            files={"/etc/hugeplan.d/20-either.conf": (SYMLINK, "/dev/null")},
        ),
    ),
)
