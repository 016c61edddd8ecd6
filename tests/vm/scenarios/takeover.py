# SPDX-License-Identifier: LGPL-2.1-or-later
"""Migration from hugeadm, tuned, cron and cloud-init's scripts (`migrate` tests sysctl.d and a script): each sets the
pool and is imported, and its line is removed. In the next boot, with all of them, the plan has the pages."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from guestlib import *
from memory import CONFIG, reload_all
from scenario import Boot, Node, Scenario

ONESHOT = "[Service]\nType=oneshot\nExecStart={}\n[Install]\nWantedBy=multi-user.target\n"


class Way(NamedTuple):
    name: str
    pages: int
    file: str  # that import has to name, the first of `files`
    files: dict[str, str]
    unit: str  # that sets the pool at boot
    action: str = "look"  # what import suggests for the line
    instead: str = ""  # replaces the line


WAYS = (
    Way("hugeadm", 210, "/etc/systemd/system/old-pages.service", {
        "/etc/systemd/system/old-pages.service": ONESHOT.format("/usr/bin/hugeadm --pool-pages-min 2MB:210"),
    }, "old-pages.service", instead="ExecStart=/bin/true"),
    Way("tuned", 200, "/etc/tuned/pages/tuned.conf", {
        "/etc/tuned/pages/tuned.conf": "[main]\nsummary=pages\n[sysctl]\nvm.nr_hugepages=200\n",
        "/etc/tuned/active_profile": "pages\n",
        "/etc/tuned/profile_mode": "manual\n",
    }, "tuned.service", action="remove"),
    Way("cron", 220, "/etc/cron.d/pages", {
        "/etc/cron.d/pages": "@reboot root echo 220 >/proc/sys/vm/nr_hugepages\n",
    }, "cron.service"),
    # Without cloud-init; run-parts runs the scripts of its directory.
    Way("cloud-init", 230, "/var/lib/cloud/scripts/per-boot/pages", {
        "/var/lib/cloud/scripts/per-boot/pages": "#!/bin/sh\nsysctl -w vm.nr_hugepages=230\n",
        "/etc/systemd/system/cloud-scripts.service": ONESHOT.format("/bin/run-parts /var/lib/cloud/scripts/per-boot"),
    }, "cloud-scripts.service", instead=":"),
)


def ask_import(*options: str) -> dict[str, Any]:
    return json.loads(succeeds(f"hugeplanctl --json import {' '.join(options)}", "import").stdout)


def of_2m(imported: dict[str, Any]) -> dict[str, Any]:
    return next((each for each in imported["pages"] if each["pageSizeBytes"] == 2 << 20), {"who": None, "set": 0})


def install(way: Way) -> None:
    for name, text in way.files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)
    output(f"systemctl daemon-reload; systemctl enable {way.unit}")


def empty_the_pool() -> None:
    """Also stops hugepland until the next call."""
    output("systemctl stop hugeplan.service; echo 0 >/proc/sys/vm/nr_hugepages")


def over() -> None:
    at_boot, *others = WAYS
    sets(at_boot)
    # No instance is described, so hugepland has not run before.
    check("not known" in (of_2m(ask_import())["who"] or ""), "import does not know who reserved the pages")
    empty_the_pool()
    output(f"hugeplanctl status; systemctl restart {at_boot.unit}")
    check(wait_for(lambda: "not by hugeplan" in (of_2m(ask_import())["who"] or "")), "hugepland has seen others add the pages",
          of_2m(ask_import()))
    is_imported(at_boot)
    for way in others:
        for path in CONFIG.iterdir():
            (shutil.rmtree if path.is_dir() else Path.unlink)(path)
        empty_the_pool()
        install(way)
        # Without this file, cron handles its start as a boot.
        output(f"rm -f /run/crond.reboot; systemctl restart {way.unit}")
        sets(way)
        is_imported(way)


def sets(way: Way) -> None:
    check(wait_for(lambda: sum(pools().values()) == way.pages, 120), f"{way.name} sets the pool", pools())


def is_imported(way: Way) -> None:
    imported = ask_import("--write")
    check_equal(of_2m(imported)["set"], way.pages, f"{way.name}: import has the count")
    lines = [line for line in imported["lines"] if line["file"] == way.file]
    check_equal([line["action"] for line in lines], [way.action], f"{way.name}: import names its line")
    reload_all()
    text = Path(way.file).read_text().splitlines()
    for line in lines:
        text[line["line"] - 1] = way.instead
    Path(way.file).write_text("\n".join(text) + "\n")
    stands(way, f"{way.name}, without its line")


def stands(way: Way, when: str) -> None:
    check(sum(pools().values()) >= way.pages, f"{when}: the plan has as many", pools())
    check_equal({each["verdict"] for each in status()["instances"]}, {"ready"}, f"{when}: all instances are ready")
    check_equal(ask_import()["files"], [], f"{when}: nothing is left to import")


def next_boot() -> None:
    """hugeplan does not wait for these units: the plan was carried out before."""
    check_equal([way.name for way in WAYS if unit(way.unit) == "failed"], [], "next boot: all of them run as before")
    stands(WAYS[-1], "next boot")


SCENARIO = Scenario(nodes=(Node("1536M"),), files=WAYS[0].files, enable=(WAYS[0].unit,), boots=(Boot(over, limit_sec=600), Boot(next_boot)))
