# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Ansible role on one host, by the oldest ansible-core that it is for: looked at, applied, applied
again, with a mistake, and told to remove what it does not list."""

import re
from pathlib import Path
from typing import Any

from ansible_play import PLAY, describe, play, playbook, role_files
from databases import drop_in
from guestlib import *
from scenario import Boot, Node, Scenario

CONFIGURATION = Path("/etc/hugeplan.d")
ORDERS = "orders.service"

FILES = {
    **role_files(),
    f"{PLAY}/site.yml": playbook("variables.json"),
    f"{PLAY}/again.yml": playbook("variables.json", "mistaken.json"),
    f"/etc/systemd/system/{ORDERS}": "[Service]\nExecStart=/usr/bin/sleep infinity\n",
}


def orders(pages: object) -> dict[str, Any]:
    return {"Instance": {"Unit": ORDERS, "Pages": pages, "Nodes": [0, 1], "X-Ours": True}}


# As the template writes it; Ansible's own mark stands above.
ORDERS_TEXT = f"[Instance]\nUnit={ORDERS}\nPages=60\nNodes=0\nNodes=1\nX-Ours=yes\n"
OTHER = "[Instance]\nPages=20\n"  # somebody's own


def host() -> tuple[object, ...]:
    """All that a run may change."""
    return texts(), pools(), thp(), drop_in(ORDERS), sorted(Path("/tmp").glob("hugeplan*"))


def texts() -> dict[str, str]:
    """The drop-ins below /etc/hugeplan.d, without comments and blank lines."""
    return {
        str(path.relative_to(CONFIGURATION)): re.sub(r"(?m)^(#.*)?\n", "", path.read_text())
        for path in sorted(CONFIGURATION.rglob("*.conf"))
    }


def role_is_applied() -> None:
    describe({"20-orders": orders(60)})
    looks()
    applies()
    # Applies again and refuses.
    before, daemon = host(), unit("hugeplan.service", "MainPID")
    describe({"20-orders": orders("many"), "40-new": OTHER}, "mistaken.json")
    played = play("the second run, and one with a mistake", "again.yml")
    second, mistaken = (played.done.stdout.split("\nPLAY [")[1:] + ["", ""])[:2]
    is_whole = "Apply the changes" in second and "fatal:" not in second
    check(is_whole, "a second run succeeds", said(played.done))
    check("Apply the changes" not in mistaken, "a mistake is refused", said(played.done))
    where = re.search(r"/etc/hugeplan\.d/20-orders\.conf:\d+: Pages: ", mistaken)
    check(where, "by file, line and key", said(played.done))
    check_equal(played.counts.get("failed"), 1, "and fails the run")
    check_equal(played.counts.get("changed"), 0, "neither has changed anything")
    check_equal(host(), before, "and so it is")
    check_equal(unit("hugeplan.service", "MainPID"), daemon, "the daemon was not restarted")
    check_equal(instance("orders")["verdict"], "ready", "the instance is ready as before")
    removes()


def looks() -> None:
    before = host()
    played = play("check mode", "--check --diff site.yml")
    check_equal(played.done.returncode, 0, "check mode succeeds")
    check(played.says("2 pools are to be changed. Nothing was written."), "it shows the plan")
    check(re.search(r"ready +orders .* 60 ", played.done.stdout), "with each instance")
    check(played.says("+Pages=60"), "and, with --diff, each line that would be written")
    check_equal(played.counts.get("changed"), 1, "it counts what it would change")
    check_equal(host(), before, "and changes nothing")


def applies() -> None:
    (CONFIGURATION / "30-other.conf").write_text(OTHER)
    played = play("the first run")
    check_equal(played.done.returncode, 0, "a run succeeds")
    check_equal(
        texts(),
        {"20-orders.conf": ORDERS_TEXT, "30-other.conf": OTHER},
        "the drop-in is written, and what is not listed is left alone",
    )
    mode = (CONFIGURATION / "20-orders.conf").stat().st_mode & 0o7777
    check_equal(oct(mode), oct(0o644), "everybody may read it")
    check_equal(pools(), {0: 40, 1: 40}, "the pages are reserved")
    check_equal(instance("orders")["verdict"], "ready", "the instance is ready")
    check("hugeplanctl wait orders" in drop_in(ORDERS), "its unit has its gate", drop_in(ORDERS))
    check(played.says("orders: added, 60 pages of 2M"), "the run says what the reload has changed")
    done = sh(f"systemctl start {ORDERS}")
    check_equal(unit(ORDERS), "active", f"the unit starts: {said(done)}")


def removes() -> None:
    # What extends a file that stays is not the role's, what extends one that goes, goes with it.
    for name in ("20-orders.conf.d/50-own.conf", "30-other.conf.d/90-learned.conf"):
        (CONFIGURATION / name).parent.mkdir()
        (CONFIGURATION / name).write_text("[Instance]\nPriority=70\n")
    text = f"[Instance]\nUnit={ORDERS}\nPages=60\n"
    describe({"20-orders": text}, hugeplan_purge=True, hugeplan_require_fit=True)
    played = play("less")
    check_equal(played.done.returncode, 0, "a run that is to remove what is not listed succeeds")
    left = {"20-orders.conf": text, "20-orders.conf.d/50-own.conf": "[Instance]\nPriority=70\n"}
    check_equal(texts(), left, "the other drop-in is gone, with what was learned for it")
    check_equal(pools(), {0: 30, 1: 30}, "and its pages are given back")
    check(played.says("other: removed"), "the run says so")
    check_equal(unit(ORDERS), "active", "the other instance did not notice")


SCENARIO = Scenario(
    suites=(),
    more_suites=("bookworm",),
    nodes=(Node("768M"), Node("768M")),
    files=FILES,
    boots=(Boot(role_is_applied, limit_sec=900),),
)
