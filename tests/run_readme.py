#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The programs print what the tour in README.md shows, on a host of two nodes of 128G with the files of the tour and
one more instance, and on the hosts of cases.

usage: run_readme.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --shim=LIBRARY [TEST...] """

from __future__ import annotations

import re
import sys

from common import HERE, check, wait_until
from run_daemon import Host, main, replace

README = (HERE.parent / "README.md").read_text(encoding="utf-8")
FILES = re.findall(r"^```ini\n# /(etc/hugeplan\.d/\S+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
ORDERS = "[Instance]\nEngine=oracle\nUnit=oracle-orders.service\nMemory=120G\nPriority=90\n"
NODE_KIB = 128 << 20
FREE_KIB = 127 << 20


def answers(command: str) -> list[str]:
    """The outputs of a command in README.md."""
    return re.findall(rf"^```\n\$ {re.escape(command)}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def large_host(host: Host) -> None:
    """Gives both nodes of the fixture 128G, and installs the files of the tour."""
    for name in ("meminfo", "hugepages"):
        check((host.path("sys/devices/system/node/node1") / name).exists(), "there is a second node")
    for node in 0, 1:
        path = host.path(f"sys/devices/system/node/node{node}/meminfo")
        text = re.sub(r"(MemTotal: +)\d+", rf"\g<1>{NODE_KIB}", path.read_text())
        replace(path, re.sub(r"(MemFree: +)\d+", rf"\g<1>{FREE_KIB}", text))
    host.write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")
    host.config("10-orders.conf", ORDERS)
    check(len(FILES) == 2, f"two files are shown: {FILES}")
    for name, text in FILES:
        host.write(name, text)


def same(found: str, shown: str, what: str) -> None:
    check(found.rstrip() == shown.rstrip(), f"{what}:\n{found}\nREADME.md:\n{shown}")


def test_plan(host: Host, fixture: str = "unequal-nodes") -> None:
    """The plan of the tour."""
    large_host(host)
    (shown,) = answers("hugeplanctl plan")
    same(host.ctl("plan").stdout, shown, "plan")


def test_refused(host: Host, fixture: str = "unequal-nodes") -> None:
    """The status when reports wants 60G instead of 12G."""
    large_host(host)
    name, text = next((name, text) for name, text in FILES if "reports" in name)
    host.write(name, text.replace("Memory=12G", "Memory=60G"))
    host.start()
    same(host.ctl().stdout, answers("hugeplanctl")[1], "status")


def test_reload(host: Host, fixture: str = "unequal-nodes") -> None:
    """The reload that adds pg-main and lowers reports to 8G while the others run."""
    large_host(host)
    pg_main = next((name, text) for name, text in FILES if "pg-main" in name)
    host.path(pg_main[0]).unlink()
    host.start()
    wait_until("reports is ready", lambda: host.verdicts().get("reports") == "ready")
    done = host.gate("mariadb.service", "reports")
    check(done.returncode == 0, done.stderr)
    host.write(*pg_main)
    name, text = next((name, text) for name, text in FILES if "reports" in name)
    host.write(name, text.replace("Memory=12G", "Memory=8G"))
    (shown,) = answers("hugeplanctl reload")
    same(host.ctl("reload").stdout, shown, "reload")
    check(shown.rstrip().replace("\n", "\n\t") in (HERE.parent / "man/hugeplanctl.1.scd").read_text(), "hugeplanctl(1) shows the same")


def test_first_look(host: Host, fixture: str = "one-node") -> None:
    """Each line of the first look is in the expected output of a case, whose host has more."""
    words = {" ".join(line.split())
             for case in ("import-sysctl/status", "suggest/import")
             for line in (HERE / "cases" / f"{case}.expected").read_text(encoding="utf-8").splitlines()}
    for command in "hugeplanctl", "hugeplanctl import":
        for line in answers(command)[0].splitlines():
            check(" ".join(line.split()) in words, f"{command}: {line}")


if __name__ == "__main__":
    sys.exit(main(globals()))
