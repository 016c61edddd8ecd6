# SPDX-License-Identifier: LGPL-2.1-or-later
"""PostgreSQL 18 with shared_buffers=4GB, which needs more than other sizes do: the rule's pages are enough for it to
start at boot, and hardly more; and what it says itself are just those that it takes."""

from databases import check_postgresql, drop_in, figure, mapped_pages, postgresql_files, postgresql_unit
from guestlib import *
from memory import configure, reload
from scenario import Boot, Node, Scenario

VERSION = 18
BYTES = 4 << 30
UNIT = postgresql_unit(VERSION)


def instance_of(memory: str) -> str:
    return f"[Instance]\nEngine=postgresql\nUnit={UNIT}\nMemory={memory}\n"


def by_rule() -> None:
    check_postgresql(VERSION, BYTES, {0})
    pages, taken = figure("pg"), mapped_pages(UNIT)
    check(0 < taken <= pages <= taken + 8, "the rule's pages are enough, and hardly more", (pages, taken))
    configure("20-pg", instance_of("auto"))
    reload()
    systemctl(f"restart {UNIT}", "it starts with what it said itself")
    check_postgresql(VERSION, BYTES, {0})
    check(figure("pg") == mapped_pages(UNIT) == taken, "which is what it takes",
          (figure("pg"), mapped_pages(UNIT), taken))
    # The newest systemd and kernel that there are.
    check("hugeplanctl wait pg" in drop_in(UNIT), "its gate is in place", drop_in(UNIT))
    check_units(UNIT)
    warned = messages("--priority=warning")
    check_equal([line for line in warned if "hugeplan" in line and "hugeplan-vm" not in line], [], "nobody warns of hugeplan")
    check_equal(messages("--priority=warning", "-u", "hugeplan*"), [], "and its units log no warning")


SCENARIO = Scenario(
    nodes=(Node("6G"),),
    suites=(),
    more_suites=("forky",),
    files={**postgresql_files(VERSION, "4GB"), "/etc/hugeplan.d/20-pg.conf": instance_of("4G")},
    boots=(Boot(by_rule, limit_sec=600),),
)
