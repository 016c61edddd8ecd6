# SPDX-License-Identifier: LGPL-2.1-or-later
"""systemd's own Varlink client against ours, on a systemd that has one; PostgreSQL 17 beside it."""

import json
from pathlib import Path

from databases import check_postgresql, drop_in, postgresql_files, postgresql_unit
from guestlib import *
from scenario import Boot, Node, Scenario

VERSION = 17
POSTGRESQL = postgresql_unit(VERSION)
SHARED_BUFFERS = 256  # MiB
PAGES = 160
PLANNED = {0: 80, 1: 80}

INTERFACE = "org.hugeplan.Manager"
SOCKET = f"/run/hugeplan/{INTERFACE}"
REGISTERED = f"/run/varlink/registry/{INTERFACE}"
REPORT = "/run/systemd/report"
REPORT_SOCKET = f"{REPORT}/{INTERFACE}"
METRICS = "io.systemd.Metrics"
AS_NOBODY = "runuser -u nobody --"


def talk() -> None:
    for command, expected in (
        (f"info {SOCKET}", INTERFACE),
        (f"info {REGISTERED}", INTERFACE),
        (f"introspect {SOCKET} {INTERFACE}", f"interface {INTERFACE}"),
        (f"introspect {SOCKET} org.varlink.service", "interface org.varlink.service"),
        (f"list-interfaces {SOCKET}", INTERFACE),
    ):
        done = sh(f"varlinkctl {command}")
        check(done.returncode == 0 and expected in done.stdout, f"varlinkctl {command}", said(done))
    succeeds(f"varlinkctl introspect {SOCKET} {INTERFACE} | varlinkctl validate-idl /dev/stdin", "the description is valid")
    done = sh(f"varlinkctl list-methods {SOCKET}")
    for method in ("Describe", "Wait", "Plan", "Reload"):
        check(f"{INTERFACE}.{method}" in done.stdout.split(), f"{method} is listed", said(done))
    answers()
    refuses()
    times = [active_since(one) for one in ("hugeplan.service", "sysinit.target", POSTGRESQL)]
    check(all(times) and times == sorted(times), "order: hugeplan, sysinit, PostgreSQL", times)
    check_equal(pools(), PLANNED, "the pages stand on their nodes")
    check_equal(thp(), "never", "transparent huge pages are off")
    check("hugeplanctl wait pg-main" in drop_in(POSTGRESQL), "PostgreSQL has its gate")
    check_postgresql(VERSION, SHARED_BUFFERS * MIB, set(PLANNED))
    tells_metrics()


def answers() -> None:
    described = call("Describe")
    check_equal(described["pools"], status()["pools"], "Describe and hugeplanctl status agree")
    waited = call("Wait", {"instance": "pg-main"})
    check("ready" in json.dumps(waited), "Wait says that pg-main is ready", waited)
    check("instances" in call("Plan"), "Plan answers")
    call("Reload")
    check_equal(pools(), PLANNED, "Reload of an unchanged plan changes nothing")
    done = sh(f"timeout 3 varlinkctl --json=short --more call {SOCKET} {INTERFACE}.Describe '{{}}'")
    check('"instances"' in done.stdout, "Describe with more answers at once", said(done))
    succeeds(f"{AS_NOBODY} varlinkctl call {SOCKET} {INTERFACE}.Describe '{{}}'", "everyone may read")


def refuses() -> None:
    for who, method, parameters, error in (
        ("", "Wait", {"instance": "nosuch"}, f"{INTERFACE}.NoSuchInstance"),
        ("", "Wait", {"instance": 5}, "org.varlink.service.InvalidParameter"),
        ("", "NoSuchMethod", {}, "org.varlink.service.MethodNotFound"),
        (AS_NOBODY, "Reload", {}, "org.varlink.service.PermissionDenied"),
    ):
        command = f"{who} varlinkctl call {SOCKET} {INTERFACE}.{method} '{json.dumps(parameters)}'"
        done = sh(command)
        is_refused = done.returncode != 0 and error in done.stderr
        check(is_refused, f"{method} {parameters} {who}: {error}", said(done))


def tells_metrics() -> None:
    """systemd asks for metrics from 260 on; with its directory, this one does as well."""
    check_equal(sh("systemctl is-enabled hugeplan-report.socket").stdout.strip(), "disabled", "nobody has asked for the socket")
    check(not Path(REPORT).exists(), "a systemd that wants no metrics sees nothing of them")
    Path(REPORT).mkdir()
    check_equal(sh("systemctl start hugeplan-report.socket").returncode, 0, "the socket is started")
    check(Path(REPORT_SOCKET).is_socket(), "where systemd looks, there is a socket")
    done = sh(f"{AS_NOBODY} varlinkctl info {REPORT_SOCKET}")
    check(METRICS in done.stdout, "it has the interface", said(done))
    families = metrics("Describe")
    check({each["type"] for each in families} == {"gauge", "string"}, "Describe tells the families", families)
    found = metrics("List")
    check(all(each["name"].startswith(f"{INTERFACE}.") for each in found), "names begin as the socket's does", found)
    values = {(each["name"].rpartition(".")[2], each.get("object"), each.get("fields", {}).get("node")): each["value"]
              for each in found}
    check_equal(values["DaemonReached", None, None], 1, "the daemon was asked")
    check_equal(values["DatabaseOutcome", "pg-main", None], "in-use", "it sees what is the database's own")
    check_equal([values["PoolBytes", None, str(node)] for node in PLANNED],
                [pages * 2 * MIB for pages in PLANNED.values()], "and the pools")
    done = sh(f"varlinkctl call {REPORT_SOCKET} {METRICS}.List '{{}}'")
    check("ExpectedMore" in done.stderr, "a call for one reply is refused", said(done))
    check(wait_for(lambda: sh("systemctl is-active hugeplan-report.service").stdout.strip() == "inactive", 90),
          "hugeplan-report.service has ended, unused")
    check(len(metrics("List")) == len(found), "it is started again by who asks")
    sh("systemctl stop hugeplan-report.socket")
    check(not Path(REPORT_SOCKET).exists(), "and the socket goes when it is stopped")


def metrics(method: str) -> list[dict]:
    """As anybody."""
    done = sh(f"{AS_NOBODY} varlinkctl --json=short --more call {REPORT_SOCKET} {METRICS}.{method} '{{}}'")
    check(done.returncode == 0, f"varlinkctl call {method}", said(done))
    return [json.loads(line) for line in done.stdout.replace("\x1e", "").splitlines()]


def call(method: str, parameters: dict | None = None) -> dict:
    arguments = json.dumps(parameters or {})
    done = succeeds(f"varlinkctl --json=short call {SOCKET} {INTERFACE}.{method} '{arguments}'", f"varlinkctl call {method}")
    return json.loads(done.stdout or "{}")


SCENARIO = Scenario(
    suites=("trixie",),
    nodes=(Node("1536M"), Node("1G")),
    files={
        "/etc/hugeplan.d/00-host.conf": "[Host]\nTransparentHugePages=never\n",
        "/etc/hugeplan.d/20-pg-main.conf": (
            f"[Instance]\nEngine=postgresql\nUnit={POSTGRESQL}\nPages={PAGES}\n"
        ),
        **postgresql_files(VERSION, f"{SHARED_BUFFERS}MB"),
    },
    boots=(Boot(talk),),
)
