# SPDX-License-Identifier: LGPL-2.1-or-later
"""systemd-report finds hugeplan as a source of metrics after the boot, if the socket is enabled."""

import json
from pathlib import Path

from guestlib import *
from scenario import Boot, Node, Scenario

SOURCE = "org.hugeplan.Manager"
DIRECTORY = Path("/run/systemd/report")
PROGRAM = "/usr/lib/systemd/systemd-report"
PAGES = 20


def reported() -> None:
    check(DIRECTORY.is_dir(), "this systemd asks for metrics")
    check_equal(unit("hugeplan-report.socket"), "active", "so there is a socket for them")
    check((DIRECTORY / SOURCE).is_socket(), "where it looks", list(DIRECTORY.iterdir()))
    done = sh(f"{PROGRAM} --no-pager list-sources")
    check(SOURCE in done.stdout, "systemd-report knows the source", said(done))
    found = ask("metrics")
    values = {(one["name"], one.get("object")): one["value"] for one in found}
    check_equal(values.get((f"{SOURCE}.DatabaseVerdict", "small")), "ready", "the verdict of an instance")
    check_equal(values.get((f"{SOURCE}.DatabaseGrantedBytes", "small")), PAGES * DEFAULT_PAGE_BYTES, "and its pages")
    check_equal(values.get((f"{SOURCE}.DaemonReached", None)), 1, "by what the daemon says")
    said_by_ctl = json.loads(sh("hugeplanctl metrics --json=short").stdout)
    check_equal(len(found), len(said_by_ctl["metrics"]), "all that hugeplanctl says is taken")
    described = ask("describe")
    check_equal(len(described), len(said_by_ctl["families"]), "and every family is described")
    done = sh(f"{PROGRAM} --no-pager metrics {SOURCE}.DatabaseVerdict")
    check("small" in done.stdout and "ready" in done.stdout, "as a table", said(done))


def ask(verb: str) -> list[dict]:
    """systemd-report fails if a metric is not valid."""
    done = succeeds(f"{PROGRAM} --json=short {verb} {SOURCE}", f"systemd-report {verb}")
    return [json.loads(line) for line in done.stdout.replace("\x1e", "").splitlines() if line.startswith("{")]


SCENARIO = Scenario(
    suites=(),
    more_suites=("forky",),
    nodes=(Node("1G"),),
    files={"/etc/hugeplan.d/20-small.conf": f"[Instance]\nEngine=generic\nPages={PAGES}\n"},
    enable=("hugeplan-report.socket",),
    boots=(Boot(reported),),
)
