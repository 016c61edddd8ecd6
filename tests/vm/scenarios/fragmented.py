# SPDX-License-Identifier: LGPL-2.1-or-later
"""An instance that comes late, when memory is free but in pieces: one write gets a part of it,
hugeplan gets it whole and tells how."""

import re

from guestlib import check, check_equal, instance, instance_nodes, journal, note, pool, said, sh
from memory import configure, pool_file, reload, start_pages, stop_pages
from scenario import Boot, Node, Scenario

NODE = 1
PAGES = 230
FRAGMENTED_MIB = 850
KEPT_ONE_IN = 3
ATTEMPTS = 8


def late() -> None:
    check_equal(pool(NODE), 0, "nothing was asked for at boot")
    by_one_write = fragment()
    few = by_one_write < 0.75 * PAGES
    check(few, "one plain write gets markedly less than there is", (by_one_write, PAGES))
    check_equal(pool(NODE), 0, "and has given it back")

    configure("20-late", f"[Instance]\nPages={PAGES}\nNodes={NODE}\n")
    reload()
    check_equal(pool(NODE), PAGES, "hugeplan gets all of it")
    check_equal(instance("late")["verdict"], "ready", "the instance is ready")
    check_equal(instance_nodes("late"), {NODE: PAGES}, "on its node")
    tells_how()


def fragment() -> int:
    """Leaves memory so that one plain write falls short; how many pages that write got.

    Every second time or so the kernel compacts all that it needs within that write; what that write
    did is then undone, and memory broken up anew.
    """
    got = PAGES
    for attempt in range(ATTEMPTS):
        if attempt > 0:
            stop_pages("fragmenter")
        start_pages("fragmenter", f"fragment {FRAGMENTED_MIB} {KEPT_ONE_IN} 0 {NODE}")
        pool_file(NODE).write_text(str(PAGES))
        got = pool(NODE) or 0
        pool_file(NODE).write_text("0")
        note(f"one write got {got} of {PAGES}")
        if got < 0.75 * PAGES:
            break
    return got


def tells_how() -> None:
    done = sh("hugeplanctl status late")
    steps = re.findall(r"node (\d+), 2M: (\S+): (\d+) -> (\d+) pages in ", done.stdout)
    check(steps and done.returncode == 0, "status shows what was done", said(done))
    actions = [action for _, action, _, _ in steps]
    check(actions[:1] == ["write"], "it wrote first", said(done))
    check("compact" in actions, "then compacted", said(done))
    check(actions[-1:] == ["write"], "and wrote again", said(done))
    counts = [int(after) for *_, after in steps]
    check(counts[0] < PAGES, "its first write fell short, too", counts)
    check_equal(counts[-1], PAGES, "its last one did not")
    logged = [entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")]
    check(any("2M: compact: " in text for text in logged), "the log has the steps, too", logged)


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={"/etc/hugeplan.d/00-host.conf": "[Host]\nKeepFree=5%\n"},
    boots=(Boot(late),),
)
