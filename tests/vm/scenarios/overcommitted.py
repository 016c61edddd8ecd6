# SPDX-License-Identifier: LGPL-2.1-or-later
"""A service takes huge pages by overcommit before hugeplan starts. What is written to a pool then first
makes those surplus pages persistent, and they are not free for anybody: what an instance got is what is
free for it, not what was written."""

from guestlib import *
from memory import configure, pages_service, reload, stop_pages
from scenario import Boot, Node, Scenario

TAKEN = 120
WANTED = 75

EARLY = f"""\
ExecStartPre=/bin/sh -c 'echo {TAKEN} >/proc/sys/vm/nr_overcommit_hugepages'
[Unit]
DefaultDependencies=no
Before=hugeplan.service
[Install]
WantedBy=sysinit.target
"""


def free_for_it() -> None:
    check_equal(instance("a")["verdict"], "ready", "a is ready")
    free = sum(pools("free_hugepages").values())
    check(free >= WANTED, "and so many pages are free", (free, pools(), pools("surplus_hugepages")))
    done = sh("systemctl start a.service", timeout_sec=100)
    check(done.returncode == 0, "a starts, and touches all of them", said(done))
    check_equal(unit("early.service"), "active", "who was there before runs on")
    refusals_stay_in_sight()
    sh("systemctl stop a.service")
    stop_pages("early")
    reload()
    check_equal(sum(pools().values()), WANTED, "when the other has left, the pools are the plan")


def refusals_stay_in_sight() -> None:
    """Of a gate that could not let its unit start, until it can."""
    configure("30-b", "[Instance]\nUnit=b.service\nPages=60000\n")
    sh("systemctl daemon-reload")
    reload()
    done = sh("systemctl start b.service", timeout_sec=100)
    check(done.returncode != 0, "b, which cannot be served, does not start")
    check_equal(instance("b")["verdict"], "refused", "status says so")
    told = [one["id"] for one in status()["problems"] if "b" in one["text"].split()]
    check(told, "and why", status()["problems"])
    sh("systemctl restart hugeplan-check.service")
    shown = wait_for(lambda: "hugeplan-check.service" in failed_units())
    check(shown, "hugeplan-check.service fails for it")
    configure("30-b", None)
    sh("systemctl daemon-reload")
    reload()
    sh("systemctl restart hugeplan-check.service")
    check("hugeplan-check.service" not in failed_units(), "until it is taken away")


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    suites=("bookworm",),
    more_suites=("trixie",),
    files={
        "/etc/hugeplan.d/20-a.conf": f"[Instance]\nUnit=a.service\nPages={WANTED}\n",
        "/etc/systemd/system/early.service": pages_service(f"hold {TAKEN}") + EARLY,
        "/etc/systemd/system/a.service": pages_service(f"hold {WANTED}"),
        "/etc/systemd/system/b.service": pages_service("hold 1"),
    },
    enable=("early.service",),
    boots=(Boot(free_for_it),),
)
