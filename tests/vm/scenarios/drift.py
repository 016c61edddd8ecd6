# SPDX-License-Identifier: LGPL-2.1-or-later
"""Others write to the pools under a running PostgreSQL; each time they are as planned seconds later,
who watches sees it, and PostgreSQL does not notice."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from databases import check_postgresql, postgresql_files, postgresql_unit, psql
from guestlib import *
from memory import reload, watched_pools
from scenario import Boot, Node, Scenario

VERSION = 17
POSTGRESQL = postgresql_unit(VERSION)
SHARED_BUFFERS = 256  # MiB; PostgreSQL asks for some 140 pages
PAGES, OTHER_PAGES = 160, 60
# All on one node: whoever lowers and raises the pool of the whole host moves pages to the other one.
NODES = (0, 1)
NODE, PLANNED = 1, PAGES + OTHER_PAGES
GUARD = "/run/sysctl.d/zz-hugeplan.conf"
WRECKER = "/etc/sysctl.d/50-wreck.conf"
WRECKED = 10
TUNED = "/etc/tuned/profiles/wreck/tuned.conf"
TUNED_WRECKED = 12
# Who keeps changing a pool is fought ever more slowly: 1, 2, 4, 8 s from one repair to the next.
HEAL_LIMIT_SEC = 20


def heals() -> None:
    # It is not bound to its node, and what sysctl.d reserved on the other one is free for all.
    check_postgresql(VERSION, SHARED_BUFFERS * MIB, set(NODES))
    check_equal(persistent()[NODE], PLANNED, "what sysctl.d says has not won at boot")
    before = postgresql()
    # Else the round of that look may find it before anybody is told.
    check(wait_for(lambda: any("pg-main: measured:" in entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")), 60),
          "PostgreSQL is counted")
    with Watcher() as watcher:
        lowered_by(f"sysctl -w vm.nr_hugepages={WRECKED}")
        # What PostgreSQL has mapped it has still, as surplus pages.
        check(watcher.saw("other", "lost"), "who watches saw what was lost", watcher.verdicts)
        lowered_by("sysctl --system")
        guarded()
        lowered_by("systemctl start tuned.service")
        SYSTEM_THP.write_text("always")
        healed("THP set to always", lambda: thp() == "never", thp)
        ready_again = watcher.verdicts["pg-main"][-1:] == ["ready"]
        check(ready_again, "who watches saw it ready again", watcher.verdicts)
    told()
    history()
    check_equal(postgresql(), before, "PostgreSQL has its process and its pages still")
    check_equal(sh(psql("SELECT count(*) FROM t")).stdout.strip(), "50000", "and its data")
    check_equal(unit("hugeplan.service", "NRestarts"), "0", "hugeplan runs on")
    # As long as pages are promised to PostgreSQL, those on the other node may be wanted.
    note(f"as they lie in the end: {persistent()}")
    output(f"systemctl stop {POSTGRESQL}")
    reload()
    placed = {0: 0, NODE: PLANNED}
    check_equal(persistent(), placed, "what was moved to the other node is not taken for others'")


def persistent() -> dict[int, int]:
    surplus = pools("surplus_hugepages")
    return {node: count - surplus[node] for node, count in pools().items()}


def postgresql() -> tuple[str, list[tuple[int, int]]]:
    pid = unit(POSTGRESQL, "MainPID")
    return pid, [(one.start, one.sizes["Size"]) for one in hugetlb_mappings(pid)]


def lowered_by(command: str) -> None:
    with watched_pools(NODES) as seen:
        done = sh(command)
    check(done.returncode == 0, f"{command} runs", said(done))
    check(seen[NODE][0] < PLANNED, f"{command}: it has done harm", seen)
    healed(command, lambda: persistent()[NODE] == PLANNED, persistent)
    check_equal(instance("pg-main")["verdict"], "ready", f"{command}: the instance is ready")


def guarded() -> None:
    """What packages do whenever they bring a file for sysctl.d."""
    reload()  # or hugeplan might be giving back moved pages at that moment
    before = persistent()
    check(f"= {sum(before.values())}\n" in Path(GUARD).read_text(), "the guard has the sum")
    with watched_pools(NODES) as seen:
        done = sh("systemctl restart systemd-sysctl")
    check(done.returncode == 0, "systemd-sysctl is started again", said(done))
    unmoved = {node: (count, count) for node, count in before.items()}
    check_equal(seen, unmoved, "and moves no page, thanks to the guard")


def healed(what: str, is_well: Callable[[], bool], found: Callable[[], object]) -> None:
    well, seconds = timed(lambda: wait_for(is_well, HEAL_LIMIT_SEC))
    check(well, f"{what}: all is as planned again within seconds", found())
    note(f"{what}: after {seconds:.1f} s")


def told() -> None:
    logged = [entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")]
    drifts = [text for text in logged if text.startswith("drift: ")]
    counts = [(text, re.search(r"node \d has (\d+) pages of 2M instead of (\d+)", text)) for text in drifts]
    lowered = [text for text, count in counts if count and int(count[1]) < int(count[2])]
    check(lowered, "the log names the drift", logged)
    check(all("hugeplanctl check" in text for text in lowered), "and where to look who did it", lowered)
    found = sh("hugeplanctl check").stdout
    for place in (f"{WRECKER}:2", f"{TUNED}:2"):
        check(place in found, f"which names {place}", found)
    check(any("transparent_hugepage" in one for one in drifts), "THP's drift, too", logged)


def history() -> None:
    """Each event is an entry with the fields that hugepland(8) names."""
    events = [json.loads(line) for line in output("journalctl -b -u hugeplan -o json").splitlines()]
    found = {event.get("HUGEPLAN_EVENT") for event in events}
    check({"reserved", "ready", "drift", "repaired", "gate-passed"} <= found, "all of it is in the history", events)
    drift = next(event for event in events if event.get("HUGEPLAN_EVENT") == "drift" and event.get("HUGEPLAN_PAGES"))
    check(int(drift["HUGEPLAN_PAGES"]) < int(drift["HUGEPLAN_PAGES_BEFORE"]) and drift["HUGEPLAN_INSTANCE"],
          "a drift with its figures", drift)
    reserved = [(event["HUGEPLAN_NODE"], event["HUGEPLAN_PAGE_SIZE"]) for event in events
                if event.get("HUGEPLAN_EVENT") == "reserved"]
    check(reserved, "what was reserved, by node and size", events)


class Watcher:
    """A client that asked for every change."""

    def __enter__(self) -> "Watcher":
        self._file = open("/run/watched", "w+")
        command = ["hugeplanctl", "status", "--watch", "--json=short"]
        self._process = subprocess.Popen(command, stdout=self._file)
        wait_for(lambda: self.verdicts)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    @property
    def verdicts(self) -> dict[str, list[str]]:
        """Of each instance, what it was said to be, one after the other."""
        found: dict[str, list[str]] = {}
        for line in Path("/run/watched").read_text().splitlines():
            for one in json.loads(line)["instances"]:
                of_it = found.setdefault(one["name"], [])
                if of_it[-1:] != [one["verdict"]]:
                    of_it.append(one["verdict"])
        return found

    def saw(self, name: str, verdict: str) -> bool:
        return bool(wait_for(lambda: verdict in self.verdicts.get(name, []), 5))


SCENARIO = Scenario(
    suites=("trixie",),  # where the daemon has a /sys and a /proc of its own
    nodes=(Node("1536M"), Node("1G")),
    files={
        "/etc/hugeplan.d/00-host.conf": "[Host]\nTransparentHugePages=never\n",
        "/etc/hugeplan.d/20-pg-main.conf": (
            f"[Instance]\nEngine=postgresql\nUnit={POSTGRESQL}\nPages={PAGES}\nNodes=1\n"
        ),
        "/etc/hugeplan.d/30-other.conf": f"[Instance]\nPages={OTHER_PAGES}\nNodes=1\n",
        WRECKER: f"# another's idea\nvm.nr_hugepages = {WRECKED}\n",
        TUNED: f"[sysctl]\nvm.nr_hugepages={TUNED_WRECKED}\n",
        # By default it applies sysctl.d again afterwards, the guard last: no value of tuned's is left.
        "/etc/tuned/tuned-main.conf": "reapply_sysctl = 0\n",
        "/etc/tuned/active_profile": "wreck\n",
        "/etc/tuned/profile_mode": "manual\n",
        **postgresql_files(VERSION, f"{SHARED_BUFFERS}MB"),
    },
    boots=(Boot(heals),),
)
