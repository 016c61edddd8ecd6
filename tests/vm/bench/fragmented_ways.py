# SPDX-License-Identifier: LGPL-2.1-or-later
"""How many huge pages each way gets of a node whose memory is in pieces, and in how long: a boot for
each, fragmented alike. A measurement, run by `scripts/bench fragmented`; it checks nothing."""

import functools
import json
import os
import time
from collections.abc import Callable

from guestlib import *
from memory import CONFIG, configure, fragment, pool_file, reload
from scenario import Boot, Node, Scenario

NODE = 1
PAGES = 210
ATTEMPTS = 60
LATE = (CONFIG / "10-bench.conf", CONFIG / "20-late.conf")


def one_write() -> None:
    pool_file(NODE).write_text(str(PAGES))


def hugeadm(option: str) -> None:
    # It knows no nodes, but can be told to keep to those that it may take memory from.
    pages = f"--obey-mempolicy --pool-pages-min 2MB:{PAGES}"
    sh(f"numactl --membind={NODE} hugeadm {option} {pages}", timeout_sec=120)


def loop() -> None:
    """As the unit does that OpenShift's node tuning operator writes."""
    for _ in range(ATTEMPTS):
        one_write()
        if pool(NODE) == PAGES:
            break
        time.sleep(1)


def hugeplan(drop_caches: str) -> None:
    configure("10-bench", f"[Host]\nDropCaches={drop_caches}\nReserveTimeout={ATTEMPTS}s\n")
    configure("20-late", f"[Instance]\nPages={PAGES}\nNodes={NODE}\n")
    reload()
    wait_for(lambda: instance("late")["verdict"] != "pending", 2 * ATTEMPTS)


WAYS: dict[str, Callable[[], None]] = {
    "one write": one_write,
    "hugeadm --pool-pages-min": functools.partial(hugeadm, ""),
    "hugeadm --hard --pool-pages-min": functools.partial(hugeadm, "--hard"),
    f"a write a second, {ATTEMPTS} s": loop,
    "hugeplan": functools.partial(hugeplan, "no"),
    "hugeplan, DropCaches=yes": functools.partial(hugeplan, "yes"),
}


def measure(way: str, is_cache_kept: bool) -> None:
    fragment(NODE, is_cache_kept)
    _, seconds = timed(WAYS[way])
    found = {
        "way": way,
        "isCacheKept": is_cache_kept,
        "pages": pool(NODE),
        "asked": PAGES,
        "seconds": seconds,
        "kernel": os.uname().release,
        "remark": verdict(),
    }
    note(json.dumps(found))
    # The next boot starts without.
    for path in LATE:
        path.unlink(missing_ok=True)
    os.sync()


def verdict() -> str:
    """Of hugeplan, which gives an instance all of its pages or, as here by default, none."""
    return instance("late")["verdict"] if LATE[1].exists() else ""


SCENARIO = Scenario(
    suites=("bookworm",),
    nodes=(Node("1G"), Node("1G")),
    files={"/etc/hugeplan.d/00-host.conf": "[Host]\nKeepFree=5%\n"},
    boots=tuple(
        Boot(functools.partial(measure, way, is_cache_kept), limit_sec=600)
        for is_cache_kept in (False, True)
        for way in WAYS
    ),
)
