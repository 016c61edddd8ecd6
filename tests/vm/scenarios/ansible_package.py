# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Ansible role where hugeplan is not installed yet: check mode says so and leaves it, a run installs
the package that lies on the host and reserves the pages, a second one finds nothing to do."""

from pathlib import Path

from ansible_play import PLAY, describe, play, playbook, role_files
from guestlib import *
from scenario import Boot, Node, Scenario

PACKAGE = "/vm/packages/older.deb"


def package_is_installed() -> None:
    describe({"20-orders": {"Instance": {"Pages": 60}}}, hugeplan_package=PACKAGE)
    looked = play("check mode", "--check site.yml")
    check_equal(looked.done.returncode, 0, "check mode succeeds without hugeplan")
    check(looked.says("hugeplan is not installed"), "check mode says that hugeplan is not installed")
    check(not Path("/usr/bin/hugeplanctl").exists(), "check mode installs nothing")
    check(not Path("/etc/hugeplan.d").exists(), "check mode writes nothing")
    first = play("the first run")
    check_equal(first.done.returncode, 0, "a run succeeds")
    version = output("dpkg-query --show --showformat='${Version}' hugeplan")
    check_equal(version, output(f"dpkg-deb --field {PACKAGE} Version"), "the package is installed")
    check_equal(unit("hugeplan.service"), "active", "hugeplan runs")
    check_equal(pools(), {0: 30, 1: 30}, "the pages are reserved")
    check_equal(instance("orders")["verdict"], "ready", "the instance is ready")
    second = play("the second run")
    check_equal(second.counts.get("changed"), 0, "a second run changes nothing")


SCENARIO = Scenario(
    is_packaged=True,
    suites=(),
    more_suites=("bookworm",),
    nodes=(Node("768M"), Node("768M")),
    files={**role_files(), f"{PLAY}/site.yml": playbook("variables.json")},
    boots=(Boot(package_is_installed, limit_sec=900),),
)
