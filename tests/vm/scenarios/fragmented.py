# SPDX-License-Identifier: LGPL-2.1-or-later
"""An instance is described late, when memory is fragmented and full of page cache. The first write gets a part of the
huge pages that can be had; hugeplan gets all of them, and its log and its status say how."""

import re

from guestlib import *
from memory import configure, fragment, reload
from scenario import Boot, Node, Scenario

NODE = 1
PAGES = 210
MUCH_LESS = PAGES * 3 // 4


def described_late() -> None:
    fragment(NODE, is_cache_kept=True)
    check_equal(pool(NODE), 0, "no pages are reserved at boot")
    memory = meminfo(NODE)
    there = memory["MemFree"] + memory["Active(file)"] + memory["Inactive(file)"]
    check(there >= 1.5 * PAGES * DEFAULT_PAGE_BYTES, "half as much again as the instance needs is free or page cache", there)
    configure("20-late", f"[Instance]\nPages={PAGES}\nNodes={NODE}\n")
    _, seconds = timed(lambda: reload() and wait_for(lambda: verdict() != "pending", 60))
    note(f"hugeplan got {pool(NODE)} of {PAGES} in {seconds:.1f} s")
    check_equal(pool(NODE), PAGES, "hugeplan reserves all of its pages")
    check_equal(verdict(), "ready", "the instance is ready")
    check_equal(instance_nodes("late"), {NODE: PAGES}, "its pages are on its node")
    shows_how()


def verdict() -> str:
    return instance("late")["verdict"]


def shows_how() -> None:
    done = sh("hugeplanctl status late")
    note(done.stdout)
    steps = re.findall(r"node (\d+), 2M: (\S+): (\d+) -> (\d+) pages in ", done.stdout)
    if not check(steps, "status shows the attempts", said(done)):
        return
    check_equal({int(node) for node, *_ in steps}, {NODE}, "all attempts are on its node")
    actions = [action for _, action, _, _ in steps]
    counts = [int(after) for *_, after in steps]
    in_order = ["write", "reclaim", "compact", "drop-caches"]
    check_equal(list(dict.fromkeys(actions)), in_order, "the attempts are in order, dropping caches last")
    check_equal(actions.count("drop-caches"), 1, "caches are dropped once")
    check(0 < counts[0] < MUCH_LESS, "the first write reserves a part of the pages", counts)
    check_equal((actions[-1], counts[-1]), ("write", PAGES), "the last write reserves the rest")
    logged = [entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")]
    reserved = [text for text in logged if re.match(r"node \d+: \d+ pages of 2M \(.*\) reserved", text)]
    check_equal(len(reserved), 1, "the log has one line about the pool")
    tried = ", ".join(f"{action} x {actions.count(action)}" for action in in_order)
    check(tried in reserved[0], "the line counts all attempts", reserved[0])


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={"/etc/hugeplan.d/00-host.conf": "[Host]\nKeepFree=5%\nDropCaches=yes\n"},
    boots=(Boot(described_late, limit_sec=600),),
)
