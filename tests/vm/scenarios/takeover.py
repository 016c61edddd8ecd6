# SPDX-License-Identifier: LGPL-2.1-or-later
"""Over from hugeadm, tuned, a line of cron's and cloud-init's directory (of sysctl.d and a script tells `migrate`): each
sets the pool and is imported, and its line is taken out. In the next boot, with all of them, the plan has the pages."""

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
    file: str  # that import is to name, the first of `files`
    files: dict[str, str]
    unit: str  # that acts at boot
    action: str = "look"  # what import says of the line
    instead: str = ""  # of the line, when it is taken out


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
    # cloud-init itself does not exist: what it does with its directory is.
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
    """And let hugepland not run until somebody asks it."""
    output("systemctl stop hugeplan.service; echo 0 >/proc/sys/vm/nr_hugepages")


def over() -> None:
    at_boot, *others = WAYS
    sets(at_boot)
    # Nothing is described, so that hugepland has not run before.
    check("not known" in (of_2m(ask_import())["who"] or ""), "import says that it does not know who did")
    empty_the_pool()
    output(f"hugeplanctl status; systemctl restart {at_boot.unit}")
    check(wait_for(lambda: "not by hugeplan" in (of_2m(ask_import())["who"] or "")), "hugepland saw others add them",
          of_2m(ask_import()))
    is_imported(at_boot)
    for way in others:
        for path in CONFIG.iterdir():
            (shutil.rmtree if path.is_dir() else Path.unlink)(path)
        empty_the_pool()
        install(way)
        # As at boot, by which cron goes.
        output(f"rm -f /run/crond.reboot; systemctl restart {way.unit}")
        sets(way)
        is_imported(way)


def sets(way: Way) -> None:
    check(wait_for(lambda: sum(pools().values()) == way.pages, 120), f"{way.name} sets the pool", pools())


def is_imported(way: Way) -> None:
    imported = ask_import("--write")
    check_equal(of_2m(imported)["set"], way.pages, f"{way.name}: import counts them")
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
    """Nothing waits for what comes late at boot: the plan was made before."""
    check_equal([way.name for way in WAYS if unit(way.unit) == "failed"], [], "next boot: all of them run as before")
    stands(WAYS[-1], "next boot")


SCENARIO = Scenario(nodes=(Node("1536M"),), files=WAYS[0].files, enable=(WAYS[0].unit,), boots=(Boot(over, limit_sec=600), Boot(next_boot)))
