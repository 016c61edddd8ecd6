# SPDX-License-Identifier: LGPL-2.1-or-later
"""An instance that comes late, when memory is in pieces and full of page cache: one write gets a
part of what can be had, hugeplan gets it whole and tells how. A boot for each, fragmented alike."""

import re

from guestlib import *
from memory import configure, fragment, pool_file, reload
from scenario import Boot, Node, Scenario

NODE = 1
PAGES = 210
MUCH_LESS = PAGES * 3 // 4


def one_write() -> None:
    is_fragmented()
    _, seconds = timed(lambda: pool_file(NODE).write_text(str(PAGES)))
    got = pool(NODE) or 0
    note(f"one write got {got} of {PAGES} in {seconds:.1f} s")
    check(0 < got < MUCH_LESS, "one plain write gets much less", got)


def hugeplan() -> None:
    is_fragmented()
    configure("20-late", f"[Instance]\nPages={PAGES}\nNodes={NODE}\n")
    _, seconds = timed(lambda: reload() and wait_for(lambda: verdict() != "pending", 60))
    note(f"hugeplan got {pool(NODE)} of {PAGES} in {seconds:.1f} s")
    check_equal(pool(NODE), PAGES, "hugeplan gets all of it")
    check_equal(verdict(), "ready", "the instance is ready")
    check_equal(instance_nodes("late"), {NODE: PAGES}, "on its node")
    tells_how()


def is_fragmented() -> None:
    fragment(NODE, is_cache_kept=True)
    check_equal(pool(NODE), 0, "nothing was asked for at boot")
    memory = meminfo(NODE)
    there = memory["MemFree"] + memory["Active(file)"] + memory["Inactive(file)"]
    check(there >= 1.5 * PAGES * 2 * MIB, "memory is there, half as much again as is wanted", there)


def verdict() -> str:
    return instance("late")["verdict"]


def tells_how() -> None:
    done = sh("hugeplanctl status late")
    note(done.stdout)
    steps = re.findall(r"node (\d+), 2M: (\S+): (\d+) -> (\d+) pages in ", done.stdout)
    if not check(steps, "status shows what was done", said(done)):
        return
    check_equal({int(node) for node, *_ in steps}, {NODE}, "on the one node")
    actions = [action for _, action, _, _ in steps]
    counts = [int(after) for *_, after in steps]
    in_order = ["write", "reclaim", "compact", "drop-caches"]
    check_equal(list(dict.fromkeys(actions)), in_order, "one thing after the other, the worst last")
    check_equal(actions.count("drop-caches"), 1, "and that once")
    check(counts[0] < MUCH_LESS, "its first write got much less, too", counts)
    check_equal((actions[-1], counts[-1]), ("write", PAGES), "its last one got the rest")
    logged = [entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")]
    reserved = [text for text in logged if re.match(r"node \d+: \d+ pages of 2M are reserved", text)]
    check_equal(len(reserved), 1, "the log has it in one line")
    tried = ", ".join(f"{action} x {actions.count(action)}" for action in in_order)
    check(tried in reserved[0], "with all that was done", reserved[0])


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={"/etc/hugeplan.d/00-host.conf": "[Host]\nKeepFree=5%\nDropCaches=yes\n"},
    boots=(Boot(one_write, limit_sec=600), Boot(hugeplan, limit_sec=600)),
)
