# SPDX-License-Identifier: LGPL-2.1-or-later
"""Migration from sysctl.d and an administrator's script, and back: the next boot without their lines has at least as many
pages, a program without an instance gets its pages, and the restored lines work as before."""

import json
from pathlib import Path

from guestlib import *
from memory import pages_service, reload_all
from scenario import Boot, Node, Scenario

ALL_NODES = 101  # by sysctl.d: one number for the host
NODE_1 = 80  # by a script, later
USED = 40  # on node 1, by a program that no instance describes

SYSCTL = Path("/etc/sysctl.d/99-pages.conf")
SCRIPT = Path("/usr/local/sbin/pages.sh")
REST = Path("/etc/hugeplan.d/90-other-programs.conf")
POSTGRESQL = Path("/etc/hugeplan.d/20-postgresql-15-main.conf")  # each guest has a cluster, which is stopped

SCRIPT_TEXT = f"""#!/bin/sh
path=/sys/devices/system/node
reserve() {{
    echo $1 > $path/$2/hugepages/hugepages-2048kB/nr_hugepages
}}
reserve {NODE_1} node1
"""
PAGES_UNIT = f"""[Unit]
DefaultDependencies=no
After=systemd-sysctl.service
Before=sysinit.target
[Service]
Type=oneshot
ExecStart={SCRIPT}
[Install]
WantedBy=sysinit.target
"""
AS_IT_WAS = {0: 51, 1: NODE_1}


def over() -> None:
    check_equal(pools(), AS_IT_WAS, "the old ways set the pools")
    check_equal(unit("program.service"), "active", "the program has its pages")
    polled, looked = output("hugeplanctl status"), output("script -qec 'hugeplanctl status' /dev/null")
    check("hugeplanctl import" in polled and "Set by others" not in polled, "without a terminal status reads no other settings", polled)
    check("Set by others: 131 pages of 2M" in looked, "on a terminal status shows the count that others set", looked)
    check("hugeplanctl import" in looked, "status names the next command", looked)
    imported = json.loads(succeeds("hugeplanctl --json import --write", "import").stdout)
    check_equal([file["path"] for file in imported["files"]], [str(POSTGRESQL), str(REST)], "what is imported")
    check("program.service" in REST.read_text(), "the file names the user of the other pages", REST.read_text())
    reload_all()
    are_ready()
    lines = [(line["action"], line["file"], line["line"]) for line in imported["lines"]]
    replace([(file, line) for action, file, line in lines if action == "remove"], "")
    check("nr_hugepages" not in SYSCTL.read_text(), "the line in sysctl.d is gone", SYSCTL.read_text())
    # import does not interpret a script. It names the line, which the administrator changes.
    replace([(file, line) for action, file, line in lines if action == "look" and file == str(SCRIPT)], ":")
    check("nr_hugepages" not in SCRIPT.read_text(), "the line in the script is replaced", SCRIPT.read_text())


def are_ready() -> None:
    for name in ("other-programs", "postgresql-15-main"):
        check_equal(instance(name)["verdict"], "ready", f"{name} is ready")


def replace(lines: list[tuple[str, int]], by: str) -> None:
    for file, line in lines:
        text = Path(file).read_text().splitlines()
        text[line - 1] = by
        Path(file).write_text("\n".join(text) + "\n")


def without_the_old_lines() -> None:
    check(sum(pools().values()) >= sum(AS_IT_WAS.values()), "the plan is at least what was set", pools())
    check_equal(unit("program.service"), "active", "the program has its pages")
    are_ready()
    done = sh("hugeplanctl --json import")
    check_equal(json.loads(done.stdout)["files"], [], "nothing is left to import")
    REST.unlink()
    POSTGRESQL.unlink()
    SYSCTL.write_text(f"vm.nr_hugepages={ALL_NODES}\n")
    SCRIPT.write_text(SCRIPT_TEXT)


def back() -> None:
    check_equal(pools(), AS_IT_WAS, "the old ways work as before")
    check_equal(unit("program.service"), "active", "the program has its pages")
    check("no instances are described" in output("hugeplanctl status"), "hugeplan has no instances")


SCENARIO = Scenario(
    nodes=(Node("1G"), Node("1G")),
    files={
        str(SYSCTL): f"vm.nr_hugepages={ALL_NODES}\n",
        str(SCRIPT): (0o755, SCRIPT_TEXT),
        "/etc/systemd/system/old-pages.service": PAGES_UNIT,
        "/etc/systemd/system/program.service": pages_service(f"hold {USED} 2048 1") + "[Install]\nWantedBy=multi-user.target\n",
    },
    enable=("old-pages.service", "program.service"),
    boots=(Boot(over), Boot(without_the_old_lines), Boot(back)),
)
