# SPDX-License-Identifier: LGPL-2.1-or-later
"""systemd's own Varlink client, varlinkctl, talks to hugeplan. Then others change the pools while PostgreSQL runs: each
time hugeplan restores the plan within seconds and tells the clients that watch, and PostgreSQL is not affected."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from databases import check_postgresql, drop_in, postgresql_files, postgresql_unit, psql
from guestlib import *
from memory import reload, watched_pools
from scenario import Boot, Node, Scenario

VERSION = 17
POSTGRESQL = postgresql_unit(VERSION)
SHARED_BUFFERS = 256  # MiB; PostgreSQL asks for some 140 pages
PAGES, OTHER_PAGES = 160, 60
# All pages are on one node, so a program that lowers and raises the pool of the whole host moves pages to the other one.
NODES = (0, 1)
NODE, PLANNED = 1, PAGES + OTHER_PAGES
GUARD = "/run/sysctl.d/zz-hugeplan.conf"
WRECKER = "/etc/sysctl.d/50-wreck.conf"
WRECKED = 10
TUNED = "/etc/tuned/profiles/wreck/tuned.conf"
TUNED_WRECKED = 12
# If a pool is changed repeatedly, hugeplan restores it after growing pauses: 1, 2, 4, 8 s.
HEAL_LIMIT_SEC = 20

INTERFACE = "org.hugeplan.Manager"
SOCKET = f"/run/hugeplan/{INTERFACE}"
REGISTERED = f"/run/varlink/registry/{INTERFACE}"
REPORT = "/run/systemd/report"
REPORT_SOCKET = f"{REPORT}/{INTERFACE}"
METRICS = "io.systemd.Metrics"
AS_NOBODY = "runuser -u nobody --"


def served() -> None:
    times = [active_since(one) for one in ("hugeplan.service", "sysinit.target", POSTGRESQL)]
    check(all(times) and times == sorted(times), "order: hugeplan, sysinit, PostgreSQL", times)
    check_equal(thp(), "never", "transparent huge pages are off")
    check("hugeplanctl wait pg-main" in drop_in(POSTGRESQL), "PostgreSQL has its gate")
    # PostgreSQL is not bound to its node, and pages that sysctl.d reserved on the other node are free for all.
    check_postgresql(VERSION, SHARED_BUFFERS * MIB, set(NODES))
    check_equal(persistent()[NODE], PLANNED, "the plan has won over sysctl.d at boot")
    varlinkctl()
    answers()
    reports_metrics()
    heals()
    stops_reporting()


def varlinkctl() -> None:
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


def answers() -> None:
    described = call("Describe")
    check_equal(described["pools"], status()["pools"], "Describe and hugeplanctl status agree")
    waited = call("Wait", {"instance": "pg-main"})
    check("ready" in json.dumps(waited), "Wait says that pg-main is ready", waited)
    check("instances" in call("Plan"), "Plan answers")
    before = pools()
    call("Reload")
    check_equal(pools(), before, "Reload of an unchanged plan changes nothing")
    done = sh(f"timeout 3 varlinkctl --json=short --more call {SOCKET} {INTERFACE}.Describe '{{}}'")
    check('"instances"' in done.stdout, "Describe with more answers at once", said(done))


def reports_metrics() -> None:
    """systemd asks for metrics from 260 on. On an older systemd the test makes the directory, and asks itself."""
    check_equal(sh("systemctl is-enabled hugeplan-report.socket").stdout.strip(), "disabled", "the socket is disabled")
    check(not Path(REPORT).exists(), "without the socket its directory does not exist")
    Path(REPORT).mkdir()
    check_equal(sh("systemctl start hugeplan-report.socket").returncode, 0, "the socket is started")
    check(Path(REPORT_SOCKET).is_socket(), "the socket is where systemd looks for it")
    done = sh(f"{AS_NOBODY} varlinkctl info {REPORT_SOCKET}")
    check(METRICS in done.stdout, "it has the interface", said(done))
    values = {(each["name"].rpartition(".")[2], each.get("object")): each["value"] for each in metrics()}
    check_equal(values["DaemonReached", None], 1, "the daemon was asked")
    check_equal(values["DatabaseOutcome", "pg-main"], "in-use", "the outcome of the database is known")


def stops_reporting() -> None:
    output("systemctl stop hugeplan-report.service")
    check(metrics(), "a call starts it again")
    output("systemctl stop hugeplan-report.socket")
    check(not Path(REPORT_SOCKET).exists(), "a stopped socket is removed")


def metrics() -> list[dict]:
    """The replies for a user without privileges."""
    done = succeeds(f"{AS_NOBODY} varlinkctl --json=short --more call {REPORT_SOCKET} {METRICS}.List '{{}}'", "varlinkctl call List")
    return [json.loads(line) for line in done.stdout.replace("\x1e", "").splitlines()]


def call(method: str, parameters: dict | None = None) -> dict:
    arguments = json.dumps(parameters or {})
    done = succeeds(f"varlinkctl --json=short call {SOCKET} {INTERFACE}.{method} '{arguments}'", f"varlinkctl call {method}")
    return json.loads(done.stdout or "{}")


def heals() -> None:
    before = postgresql()
    # The daemon's next look for this count would restore the pool before it notices the change.
    check(wait_for(lambda: any("pg-main: measured:" in entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")), 60),
          "PostgreSQL is counted")
    with Watcher() as watcher:
        lowered_by(f"sysctl -w vm.nr_hugepages={WRECKED}")
        # The pages that PostgreSQL has mapped become surplus pages.
        check(watcher.saw("other", "lost"), "the watching client saw that pages were lost", watcher.verdicts)
        lowered_by("sysctl --system")
        guarded()
        lowered_by("systemctl start tuned.service")
        SYSTEM_THP.write_text("always")
        healed("THP set to always", lambda: thp() == "never", thp)
        ready_again = watcher.verdicts["pg-main"][-1:] == ["ready"]
        check(ready_again, "the watching client saw the instance ready again", watcher.verdicts)
    told()
    history()
    check_equal(postgresql(), before, "PostgreSQL has its process and its pages")
    check_equal(sh(psql("SELECT count(*) FROM t")).stdout.strip(), "50000", "PostgreSQL has its data")
    check_equal(unit("hugeplan.service", "NRestarts"), "0", "hugeplan was not restarted")
    # Until PostgreSQL has stopped, hugeplan may keep pages of the other node for it.
    note(f"pools at the end: {persistent()}")
    output(f"systemctl stop {POSTGRESQL}")
    reload()
    placed = {0: 0, NODE: PLANNED}
    check_equal(persistent(), placed, "pages that were moved to the other node do not count as pages of others")


def persistent() -> dict[int, int]:
    surplus = pools("surplus_hugepages")
    return {node: count - surplus[node] for node, count in pools().items()}


def postgresql() -> tuple[str, list[tuple[int, int]]]:
    pid = unit(POSTGRESQL, "MainPID")
    return pid, [(one.start, one.size) for one in hugetlb_mappings(pid)]


def lowered_by(command: str) -> None:
    with watched_pools(NODES) as seen:
        done = sh(command)
    check(done.returncode == 0, f"{command} runs", said(done))
    check(seen[NODE][0] < PLANNED, f"{command}: the pool was lowered", seen)
    healed(command, lambda: persistent()[NODE] == PLANNED, persistent)
    check_equal(instance("pg-main")["verdict"], "ready", f"{command}: the instance is ready")


def guarded() -> None:
    """systemd-sysctl is restarted, as by packages with a file in sysctl.d."""
    reload()  # hugeplan may still have to give back moved pages
    before = persistent()
    check(f"= {sum(before.values())}\n" in Path(GUARD).read_text(), "the guard has the sum")
    with watched_pools(NODES) as seen:
        done = sh("systemctl restart systemd-sysctl")
    check(done.returncode == 0, "systemd-sysctl is restarted", said(done))
    unmoved = {node: (count, count) for node, count in before.items()}
    check_equal(seen, unmoved, "systemd-sysctl moves no page")


def healed(what: str, is_well: Callable[[], bool], found: Callable[[], object]) -> None:
    well, seconds = timed(lambda: wait_for(is_well, HEAL_LIMIT_SEC))
    check(well, f"{what}: the plan is restored within seconds", found())
    note(f"{what}: after {seconds:.1f} s")


def told() -> None:
    logged = [entry["MESSAGE"] for entry in journal("--unit=hugeplan.service")]
    drifts = [text for text in logged if text.startswith("drift: ")]
    counts = [(text, re.search(r"node \d has (\d+) pages of 2M instead of (\d+)", text)) for text in drifts]
    lowered = [text for text, count in counts if count and int(count[1]) < int(count[2])]
    check(lowered, "the log names the drift", logged)
    check(all("hugeplanctl check" in text for text in lowered), "the log names the command that finds the cause", lowered)
    found = sh("hugeplanctl check").stdout
    for place in (f"{WRECKER}:2", f"{TUNED}:2"):
        check(place in found, f"check names {place}", found)
    check(any("transparent_hugepage" in one for one in drifts), "the log names the drift of transparent huge pages", logged)


def history() -> None:
    """Each event is an entry with the fields of hugepland(8)."""
    events = [json.loads(line) for line in output("journalctl -b -u hugeplan -o json").splitlines()]
    found = {event.get("HUGEPLAN_EVENT") for event in events}
    check({"reserved", "ready", "drift", "repaired", "gate-passed"} <= found, "all events are in the journal", events)
    drift = next(event for event in events if event.get("HUGEPLAN_EVENT") == "drift" and event.get("HUGEPLAN_PAGES"))
    check(int(drift["HUGEPLAN_PAGES"]) < int(drift["HUGEPLAN_PAGES_BEFORE"]) and drift["HUGEPLAN_INSTANCE"],
          "the drift has its figures", drift)
    reserved = [(event["HUGEPLAN_NODE"], event["HUGEPLAN_PAGE_SIZE"]) for event in events
                if event.get("HUGEPLAN_EVENT") == "reserved"]
    check(reserved, "the reserved pages have their node and size", events)


class Watcher:
    """A client that gets each change of the status."""

    def __enter__(self) -> "Watcher":
        self._file = open("/run/watched", "w+")
        command = ["hugeplanctl", "status", "--watch", "--json=short"]
        self._process = subprocess.Popen(command, stdout=self._file)
        wait_for(lambda: self.verdicts)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    @property
    def verdicts(self) -> dict[str, list[str]]:
        """The verdicts of each instance, in order."""
        found: dict[str, list[str]] = {}
        for line in Path("/run/watched").read_text().splitlines():
            for one in json.loads(line)["instances"]:
                of_it = found.setdefault(one["name"], [])
                if of_it[-1:] != [one["verdict"]]:
                    of_it.append(one["verdict"])
        return found

    def saw(self, name: str, verdict: str) -> bool:
        return bool(wait_for(lambda: verdict in self.verdicts.get(name, []), 5))


SCENARIO = Scenario(
    suites=("trixie",),  # where the daemon has a /sys and a /proc of its own
    nodes=(Node("1536M"), Node("1G")),
    files={
        "/etc/hugeplan.d/00-host.conf": "[Host]\nTransparentHugePages=never\n",
        "/etc/hugeplan.d/20-pg-main.conf": (
            f"[Instance]\nEngine=postgresql\nUnit={POSTGRESQL}\nPages={PAGES}\nNodes=1\n"
        ),
        "/etc/hugeplan.d/30-other.conf": f"[Instance]\nPages={OTHER_PAGES}\nNodes=1\n",
        WRECKER: f"# another's idea\nvm.nr_hugepages = {WRECKED}\n",
        TUNED: f"[sysctl]\nvm.nr_hugepages={TUNED_WRECKED}\n",
        # By default tuned applies sysctl.d again afterwards, the guard last, so no value of tuned would be left.
        "/etc/tuned/tuned-main.conf": "reapply_sysctl = 0\n",
        "/etc/tuned/active_profile": "wreck\n",
        "/etc/tuned/profile_mode": "manual\n",
        **postgresql_files(VERSION, f"{SHARED_BUFFERS}MB"),
    },
    boots=(Boot(served),),
)
