# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two unequal nodes, a PostgreSQL whose pages are reserved, reloads while it runs, and an instance that is too large.

The second boot has hugeplan=off on the kernel command line.
"""

import os
import re

from databases import (charged, check_postgresql, drop_in, filling, postgresql_files, postgresql_unit, psql)
from guestlib import *
from memory import configure, pools_witness, reload, watched_pools, witnessed
from scenario import Boot, Node, Scenario

VERSION = 15
POSTGRESQL = postgresql_unit(VERSION)
SHARED_BUFFERS = 256  # MiB; PostgreSQL 15 asks for 140 pages
PAGES = 160
PLANNED = {0: 80, 1: 80}
HOST_CONF = "/etc/hugeplan.d/00-host.conf"
PG_MAIN = f"[Instance]\nEngine=postgresql\nUnit={POSTGRESQL}\nPages={PAGES}\n"

# The pages of another instance, and what the reload prints.
STEPS = (
    ("comes", 100, "other: added, 100 pages of 2M"),
    ("grows", 240, "other: grown from 100 to 240 pages of 2M"),
    ("shrinks", 60, "other: shrunk from 240 to 60 pages of 2M"),
    ("goes", 0, "other: removed, 60 pages of 2M"),
)

FILES = {
    HOST_CONF: "[Host]\nTransparentHugePages=never\n",
    "/etc/hugeplan.d/20-pg-main.conf": PG_MAIN,
    "/etc/hugeplan.d/30-too-big.conf": "[Instance]\nUnit=big.service\nPages=4000\n",
    "/etc/systemd/system/big.service": """\
[Service]
ExecStart=/bin/sh -c 'touch /run/big-started; exec sleep infinity'
[Install]
WantedBy=multi-user.target
""",
    # The pools at sysinit.target.
    "/etc/systemd/system/witness.service": pools_witness("After=hugeplan.service\nBefore=sysinit.target"),
    **postgresql_files(VERSION, f"{SHARED_BUFFERS}MB"),
}


def as_planned() -> None:
    reserved_early()
    check_postgresql(VERSION, SHARED_BUFFERS * MIB, set(PLANNED))
    gates()
    granted = instance("pg-main")
    check_equal(granted["verdict"], "ready", "pg-main is ready")
    check_equal(granted["pagesGranted"], PAGES, "pg-main has all its pages")
    check_equal(instance_nodes("pg-main"), PLANNED, "pg-main's pages are spread evenly")
    check_equal(status_pools(), pools(), "status has the kernel's counts")
    check_equal(status_pools(count="free"), pools("free_hugepages"), "status has the kernel's counts of free pages")
    big = instance("too-big")
    check_equal(big["verdict"], "refused", "too-big is refused")
    check(big["reason"], "too-big has a reason", big)
    check_equal(unit("big.service"), "failed", "too-big's unit has failed")
    check(not os.path.exists("/run/big-started"), "its process has not started")
    shown = wait_for(lambda: "hugeplan-check.service" in failed_units())
    check(shown, "systemctl --failed shows the shortage")
    check_equal(unit("hugeplan.service"), "active", "hugeplan itself has not failed")
    pid = unit(POSTGRESQL, "MainPID")
    for verb in ("restart", "stop"):
        systemctl(f"{verb} hugeplan.service", f"{verb} of hugeplan.service")
        check_equal(unit(POSTGRESQL, "MainPID"), pid, f"{verb}: PostgreSQL is the same process")
        check_equal(pools(), PLANNED, f"{verb}: the pools are unchanged")
    sh("systemctl start hugeplan.service")
    ready = wait_for(lambda: instance("pg-main")["verdict"] == "ready")
    check(ready, "started again, hugeplan has pg-main ready")
    check_equal(sh(psql("SELECT 1")).stdout.strip(), "1", "PostgreSQL still answers")
    reloads()
    check_units(POSTGRESQL)
    undisturbed()
    settles_beside_a_bound_one()


def reserved_early() -> None:
    times = [active_since(one) for one in ("hugeplan.service", "sysinit.target", POSTGRESQL)]
    check(all(times) and times == sorted(times), "order: hugeplan, sysinit, PostgreSQL", times)
    check_equal(witnessed(), list(PLANNED.values()), "the pages were reserved before sysinit.target")
    check_equal(pools(), PLANNED, "the pages are on their nodes")
    check_equal(unit("hugeplan.service", "NRestarts"), "0", "hugeplan started at the first try")
    check_equal(thp(), "never", "transparent huge pages are off")


def gates() -> None:
    text = drop_in(POSTGRESQL)
    check(re.search(r"^Wants=hugeplan\.service$", text, re.M), "drop-in: Wants=", text)
    check(re.search(r"^After=hugeplan\.service$", text, re.M), "drop-in: After=", text)
    gate = r"^ExecStartPre=\S*hugeplanctl wait pg-main$"
    check(re.search(gate, text, re.M), "drop-in: ExecStartPre=", text)
    forbidden = r"^(Requires|Requisite|BindsTo|PartOf)="
    check(text and not re.search(forbidden, text, re.M), "drop-in: no dependency that can fail the unit", text)


def reloads() -> None:
    original = output(f"cat {HOST_CONF}")
    for preference in ("madvise", "never"):
        with open(HOST_CONF, "w") as file:
            file.write(original.replace("never", preference))
        systemctl("reload hugeplan.service", f"reload succeeds ({preference})")
        check_equal(thp(), preference, f"reload applies what has changed ({preference})")
    check_equal(pools(), PLANNED, "reload does not change the pools")


def undisturbed() -> None:
    """An instance is added, grows, shrinks and is removed; a file becomes invalid and valid again. The pools never have
    less pages than before and after, and PostgreSQL is not affected."""
    configure("30-too-big", None)
    reload()
    output("systemctl restart hugeplan-check.service")
    check("hugeplan-check.service" not in failed_units(), "without too-big hugeplan-check.service does not fail")
    before = process_and_mappings()
    for what, pages, told in STEPS:
        reload_with(what, pages, told)
        check_equal(process_and_mappings(), before, f"{what}: PostgreSQL has its process and its pages")
    mistake_fails_systemctl()
    check_equal(process_and_mappings(), before, "at the end PostgreSQL has its process and its pages")
    check_equal(sh(psql("SELECT count(*) FROM t")).stdout.strip(), "50000", "PostgreSQL has its data")
    check_equal(instance_nodes("pg-main"), PLANNED, "its pages are planned on the same nodes")


def process_and_mappings() -> tuple[str, list[tuple[int, int]]]:
    pid = unit(POSTGRESQL, "MainPID")
    return pid, [(one.start, one.size) for one in hugetlb_mappings(pid)]


def other(pages: object) -> str:
    return f"[Instance]\nPages={pages}\n"


def reload_with(what: str, pages: int, told: str) -> None:
    configure("30-other", other(pages) if pages else None)
    before = pools()
    with watched_pools(PLANNED) as seen:
        done = sh("hugeplanctl reload")
    check(done.returncode == 0 and told in done.stdout.splitlines(), f"{what}: {told}", said(done))
    after = {node: count + pages // 2 for node, count in PLANNED.items()}
    check_equal(pools(), after, f"{what}: the pools are as planned")
    direct = {n: (min(before[n], after[n]), max(before[n], after[n])) for n in PLANNED}
    check_equal(seen, direct, f"{what}: no pool was below or above both counts meanwhile")


def mistake_fails_systemctl() -> None:
    configure("30-other", other("many"))
    done = sh("systemctl reload hugeplan.service")
    check(done.returncode != 0, "broken: systemctl reload fails", said(done))
    check_equal(unit("hugeplan.service"), "active", "broken: hugeplan runs on")
    check_equal(pools(), PLANNED, "broken: the previous plan stays in effect")
    configure("30-other", None)
    systemctl("reload hugeplan.service", "corrected: reload succeeds")


def settles_beside_a_bound_one() -> None:
    """The pages of a removed instance are given back at once, although a bound database has reserved pages."""
    configure("20-pg-main", f"{PG_MAIN}Nodes=1\nPlacement=bind\n")
    configure("30-too-big", "[Instance]\nUnit=small.service\nPages=90\n")
    sh("systemctl daemon-reload")
    for command in (f"systemctl restart {POSTGRESQL}", "hugeplanctl reload"):
        succeeds(command, f"{command}", timeout_sec=120)
    check_equal(sum(pools().values()), PAGES + 90, "bound, beside an instance of 90 pages: both are reserved")
    promised = charged(POSTGRESQL).promised
    check(promised > 100, "PostgreSQL has most of its pages still to touch", promised)
    configure("30-too-big", None)
    succeeds("hugeplanctl reload", "the other one is removed")
    check_equal(pools(), {0: 0, 1: PAGES}, "its pages are given back at once, and no others")
    succeeds(psql(filling(SHARED_BUFFERS * 5 // 8)), "PostgreSQL touches its buffers, and is not killed", timeout_sec=200)
    check_equal(set(charged(POSTGRESQL).used), {1}, "all its pages are on its node")
    check(charged(POSTGRESQL).promised < promised / 2, "the touched pages were reserved before", charged(POSTGRESQL))


def switched_off() -> None:
    check_equal(set(pools().values()), {0}, "off: no pages")
    check_equal(thp(), kernel_thp_default(), "off: THP as the kernel has it")
    check_equal(unit("hugeplan.service"), "inactive", "off: no daemon")
    check(not drop_in(POSTGRESQL) and not drop_in("big.service"), "off: no drop-ins")
    check("hugeplan-check.service" not in failed_units(), "off: hugeplan-check.service does not fail")
    looked = sh("hugeplanctl status").stdout
    check("aside" in looked and "hugeplan=off is on the kernel command line" in looked, "off: status has the reason", looked)
    check_equal(unit("big.service"), "active", "off: the unit of too-big is active")
    check(os.path.exists("/run/big-started"), "off: its process has started")


SCENARIO = Scenario(
    nodes=(Node("1536M"), Node("1G")),
    files=FILES,
    enable=("big.service", "witness.service"),
    boots=(Boot(as_planned, limit_sec=600), Boot(switched_off, kernel_args="hugeplan=off")),
)
