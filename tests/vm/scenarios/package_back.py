# SPDX-License-Identifier: LGPL-2.1-or-later
"""Upgrade to this version and back, while PostgreSQL runs on its pages. The older package may be of any earlier commit. The
database keeps its process and its pages, and an upgrade loses no state. Commits before the use of the hugetlb controller
had nothing count for a unit, which cannot be changed while the unit runs."""

from __future__ import annotations

from pathlib import Path

from databases import charged
from guestlib import *
from packaged import DROP_IN, LIMIT_SEC, check_dpkg, database, database_unit, packaged_scenario
from scenario import Boot

PAGES = 90  # PostgreSQL takes some 75
TURNS = 8  # pages that a process may have more on one node than on the other, if nothing counts them


def comes() -> None:
    check_dpkg("--install /vm/packages/older.deb", "the older package is installed")
    DROP_IN.write_text(f"[Instance]\nEngine=postgresql\nUnit={database_unit()}\nPages={PAGES}\n")


def goes_up_and_back() -> None:
    wait_for(lambda: unit(database_unit()) != "activating", 60)
    check_equal(unit(database_unit()), "active", "PostgreSQL runs")
    check_equal(instance("postgresql")["verdict"], "ready", "its pages are reserved")
    for turn in ("first", "second"):
        replace("newer", f"up, {turn}")
        check_all_is_known(f"up, {turn}")
        replace("older", f"down, {turn}")
    replace("newer", "up at last")
    check_equal(failed_units(), [], "no unit failed")


def replace(age: str, how: str) -> None:
    before = database()
    check_dpkg(f"--install /vm/packages/{age}.deb", f"{how}: the {age} package is installed")
    check(wait_for(lambda: unit("hugeplan.service") == "active"), f"{how}: hugeplan runs")
    now, more = database(), 0 if is_counted() else TURNS
    check_equal(now[:-1], before[:-1], f"{how}: PostgreSQL has its process and its mappings")
    check(0 <= sum(now[-1].values()) - sum(before[-1].values()) <= more, f"{how}: its pages are in the pools", (before, now))
    ready = wait_for(lambda: instance("postgresql")["verdict"] == "ready")
    check(ready, f"{how}: the instance is ready", instance("postgresql"))


def is_counted() -> bool:
    return Path(f"/sys/fs/cgroup{unit(database_unit(), 'ControlGroup')}/hugetlb.2MB.current").exists()


def check_all_is_known(how: str) -> None:
    promised = [(one["pages"], one["likely"]) for one in status()["reserved"] if one["unit"] == database_unit()]
    if is_counted():
        check_equal(promised, [(charged(database_unit()).promised, False)], f"{how}: status has the exact count of reserved pages")
    else:
        check([likely for _, likely in promised] == [True], f"{how}: status has an estimate of the reserved pages", promised)
    lost = [line for line in messages(f"_PID={unit('hugeplan.service', 'MainPID')}") if "/hugeplan/ledger" in line]
    check_equal(lost, [], f"{how}: the log has no complaint about the ledger")


SCENARIO = packaged_scenario(
    suites=(),
    more_suites=("bookworm",),
    boots=(Boot(comes, limit_sec=LIMIT_SEC), Boot(goes_up_and_back, limit_sec=LIMIT_SEC)),
)
