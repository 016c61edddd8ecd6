# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a scenario's checks are written with. Runs inside the guest, as root.

Sizes are in bytes unless a name says pages; times are seconds since the kernel started, the clock
of the journal's and systemd's monotonic time stamps. Nothing here changes the guest.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
import signal
import subprocess
import time
import traceback
import tty
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOME = Path("/vm")
CONTROL = "/dev/ttyS1"
MIB = 1 << 20
DEFAULT_PAGE_BYTES = 2 * MIB

SYSTEM_NODES = Path("/sys/devices/system/node")
SYSTEM_THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


# Reporting

_has_failed = False


def check(condition: object, text: str, detail: object = None) -> bool:
    """One line of the result. `detail` is shown where the condition does not hold."""
    global _has_failed
    _has_failed = _has_failed or not condition
    shown = None if condition or detail is None else str(detail)
    _control().send({"event": "check", "ok": bool(condition), "text": text, "detail": shown})
    return bool(condition)


def check_equal(actual: object, expected: object, text: str) -> bool:
    return check(actual == expected, text, f"expected {expected!r}, got {actual!r}")


def skip(text: str, reason: str) -> None:
    _control().send({"event": "skip", "text": text, "detail": reason})


def note(text: str) -> None:
    """A remark for who reads along (--verbose)."""
    _control().send({"event": "note", "text": text})


def ask_host(request: str) -> Any:
    """What the host answers: see Boot.on_request."""
    _control().send({"event": "request", "name": request})
    return _control().receive()


# Commands


def sh(command: str, timeout_sec: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs a shell command and waits for it, whatever its exit status."""
    try:
        return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=timeout_sec)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no end within {timeout_sec} s")


def output(command: str, timeout_sec: float = 60) -> str:
    """A command's output without its last newline; the command has to succeed."""
    done = sh(command, timeout_sec)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout.rstrip("\n")


def said(done: subprocess.CompletedProcess[str]) -> str:
    """A finished command as the detail of a check."""
    return f"exit status {done.returncode}: {done.stdout}{done.stderr}".rstrip()


def succeeds(command: str, text: str, timeout_sec: float = 60) -> subprocess.CompletedProcess[str]:
    """Checks that a shell command exits with 0."""
    done = sh(command, timeout_sec)
    check(done.returncode == 0, text, said(done))
    return done


def systemctl(command: str, what: str | None = None) -> None:
    """What systemd is told to do has to succeed."""
    succeeds(f"systemctl {command}", what or command, timeout_sec=120)


def wait_for(condition: Callable[[], Any], timeout_sec: float = 30) -> Any:
    """The first true value of `condition`, or its last one when the time is up. To ask takes
    a fifth of the time at most, or others would have to wait for it."""
    deadline = time.monotonic() + timeout_sec
    while True:
        value, took = timed(condition)
        if value or time.monotonic() >= deadline:
            return value
        time.sleep(min(max(0.2, 4 * took), 1))


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What an action returns, and the seconds it took."""
    began = time.monotonic()
    return action(), time.monotonic() - began


# The kernel's view


def nodes() -> list[int]:
    return sorted(int(path.name[4:]) for path in SYSTEM_NODES.glob("node[0-9]*"))


def pool(node: int, counter: str = "nr_hugepages", page_bytes: int = DEFAULT_PAGE_BYTES) -> int | None:
    """One of a node's counters of huge pages; None where the node has no pages of that size."""
    directory = SYSTEM_NODES / f"node{node}/hugepages/hugepages-{page_bytes // 1024}kB"
    return int((directory / counter).read_text()) if directory.exists() else None


def pools(counter: str = "nr_hugepages", page_bytes: int = DEFAULT_PAGE_BYTES) -> dict[int, int]:
    """A counter of every node that has pages of that size."""
    found = ((node, pool(node, counter, page_bytes)) for node in nodes())
    return {node: count for node, count in found if count is not None}


def meminfo(node: int | None = None) -> dict[str, int]:
    """/proc/meminfo, or a node's own; sizes in bytes, counts as they stand."""
    path = Path("/proc/meminfo") if node is None else SYSTEM_NODES / f"node{node}/meminfo"
    values = {}
    for name, number, unit in re.findall(r"(\S+):\s+(\d+)( kB)?$", path.read_text(), re.MULTILINE):
        values[name] = int(number) * (1024 if unit else 1)
    return values


def taken_pages() -> int:
    """Of the default size: in use, or promised."""
    host = meminfo()
    return host["HugePages_Total"] - host["HugePages_Free"] + host["HugePages_Rsvd"]


def thp() -> str:
    """The word in force in transparent_hugepage/enabled."""
    return _found(r"\[(\w+)\]", SYSTEM_THP.read_text())


def kernel_thp_default() -> str:
    """What this kernel was built to do where nobody tells it otherwise."""
    config = Path(f"/boot/config-{os.uname().release}").read_text()
    return _found(r"(?m)^CONFIG_TRANSPARENT_HUGEPAGE_(ALWAYS|MADVISE)=y", config).lower()


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if not match:
        raise RuntimeError(f"no {pattern} in {text[:200]!r}")
    return match[1]


@dataclass
class Mapping:
    """One mapping of a process, from smaps and numa_maps together."""

    start: int
    path: str
    sizes: dict[str, int] = field(default_factory=dict)  # "Size", "KernelPageSize", ...
    flags: list[str] = field(default_factory=list)
    policy: str = ""
    node_pages: dict[int, int] = field(default_factory=dict)

    @property
    def is_hugetlb(self) -> bool:
        return "ht" in self.flags


def mappings(pid: int | str) -> list[Mapping]:
    found: dict[int, Mapping] = {}
    current = Mapping(0, "")
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if header := re.match(r"([0-9a-f]+)-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)", line):
            current = Mapping(int(header[1], 16), header[2])
            found[current.start] = current
        elif line.startswith("VmFlags:"):
            current.flags = line.split()[1:]
        elif size := re.match(r"(\w+):\s+(\d+) kB", line):
            current.sizes[size[1]] = int(size[2]) * 1024
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        address, policy, *rest = line.split()
        if mapping := found.get(int(address, 16)):
            mapping.policy = policy
            placed = re.findall(r"\bN(\d+)=(\d+)", " ".join(rest))
            mapping.node_pages = {int(node): int(pages) for node, pages in placed}
    return list(found.values())


def hugetlb_mappings(pid: int | str) -> list[Mapping]:
    return [mapping for mapping in mappings(pid) if mapping.is_hugetlb]


def used_nodes(mapping_list: list[Mapping]) -> set[int]:
    return {node for mapping in mapping_list for node in mapping.node_pages}


# systemd's view


def unit(name: str, unit_property: str = "ActiveState") -> str:
    return output(f"systemctl show --property={unit_property} --value '{name}'")


def active_since(name: str) -> float:
    """When a unit last became active; 0 if it never did."""
    return int(unit(name, "ActiveEnterTimestampMonotonic")) / 1e6


def failed_units() -> list[str]:
    lines = output("systemctl list-units --failed --plain --no-legend").splitlines()
    return [line.split()[0] for line in lines]


def journal(*arguments: str) -> list[dict[str, Any]]:
    """This boot's entries, as journalctl selects them."""
    done = subprocess.run(
        ["journalctl", "--boot", "--output=json", *arguments], capture_output=True, text=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def messages(*arguments: str) -> list[str]:
    """Their texts alone."""
    return [str(entry.get("MESSAGE")) for entry in journal(*arguments)]


def told(name: str, *words: str) -> bool:
    """Whether the log of a unit, or of those of a pattern, has a line with all of these words."""
    return any(all(word in line for word in words) for line in messages("-u", name))


def journal_time(pattern: str, *arguments: str) -> float | None:
    """When the first message that matches was logged."""
    for entry in journal(*arguments):
        if re.search(pattern, str(entry.get("MESSAGE", ""))):
            return int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6
    return None


# hugeplan's view


def hugeplan(arguments: str) -> Any:
    """What `hugeplanctl ... --json=short` says, parsed; its exit status is a verdict, no error."""
    done = sh(f"hugeplanctl {arguments} --json=short")
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"hugeplanctl {arguments}: no JSON; {said(done)}") from None


def status() -> dict[str, Any]:
    return hugeplan("status")


def instance(name: str) -> dict[str, Any]:
    for one in status()["instances"]:
        if one["name"] == name:
            return one
    raise RuntimeError(f"hugeplanctl status names no instance {name}")


def most_exposed(unit: str) -> float:
    """Early in the boot other lines stand for some that are rated (docs/privilege.md): before 255 an inaccessible /dev
    for PrivateDevices=, too."""
    if unit != "hugeplan.service":
        return 0.8
    return 1.5 if "\nInaccessiblePaths=/dev\n" in output(f"systemctl cat {unit}") else 1.3


def check_units(*others: str) -> None:
    """hugeplan's own units, and others by name or path, are such as systemd would have them. Who may look into others'
    processes is not root, and who is root has no capability."""
    listed = output("systemctl list-unit-files --plain --no-legend 'hugeplan[.-]*' | cut -d' ' -f1")  # no alias
    units = " ".join([*listed.split(), *others])
    done = sh(f"systemd-analyze verify --man=no --recursive-errors=no {units}")
    silent = done.returncode == 0 and not (done.stdout + done.stderr).strip()
    check(silent, "systemd-analyze verify has nothing to say", said(done))
    services = [name.replace("@.", "@x.") for name in listed.split()
                if name.endswith(".service") and not name.startswith("hugeplan-vm")]
    properties = "Id,DynamicUser,User,CapabilityBoundingSet,AmbientCapabilities"
    shown = output(f"systemctl show --property={properties} {' '.join(services)}").split("\n\n")
    found = [dict(line.split("=", 1) for line in text.splitlines()) for text in shown]
    check_equal({one["Id"] for one in found}, set(services), "systemd knows all of them")
    # Of one that is neither root's nor has a capability there is nothing to be confined.
    confined = [one["Id"] for one in found if one["User"] in ("", "root") or one["AmbientCapabilities"]]
    done = sh(f"systemd-analyze security --no-pager {' '.join(confined)}")
    rated = re.findall(r"exposure level for (\S+): ([\d.]+)", done.stdout)
    exposed = [f"{name} {rate}" for name, rate in rated if float(rate) > most_exposed(name)]
    weak = [line for line in done.stdout.splitlines() if "✗" in line or "→" in line]
    check(len(rated) == len(confined) and not exposed, "their exposure is 0.8 or less (1.3 or 1.5 early in the boot)",
          "\n".join([*exposed, *weak]))
    roots = [one for one in found if one["DynamicUser"] != "yes" and one["User"] in ("", "root")]
    mighty = [one["Id"] for one in roots if one["CapabilityBoundingSet"]]
    check_equal(mighty, [], "none of them is root with a capability")
    held = {one["AmbientCapabilities"] for one in found if one not in roots}
    check_equal(held - {""}, {"cap_sys_ptrace"}, "and there is but one that any of them has")


def instance_nodes(name: str) -> dict[int, int]:
    """Where an instance's pages are, as hugeplan says; nodes that give none left out."""
    return {part["node"]: part["pages"] for part in instance(name)["nodes"] if part["pages"]}


def status_pools(page_bytes: int = DEFAULT_PAGE_BYTES, count: str = "total") -> dict[int, int]:
    found = (one for one in status()["pools"] if one["pageSizeBytes"] == page_bytes)
    return {one["node"]: one[count] for one in found}


# Running the checks: called by the test's unit, not by scenarios


class Control:
    """The line to the host: one JSON object a line, both ways."""

    def __init__(self) -> None:
        self._file = os.open(CONTROL, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._file)
        self._reader = os.fdopen(os.dup(self._file), "rb")

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self._file, data) :]

    def receive(self) -> Any:
        return json.loads(self._reader.readline())


@functools.cache
def _control() -> Control:
    return Control()


def _run_check(scenario_name: str, boot_number: int, limit_sec: int) -> None:
    def give_up(*_: object) -> None:
        raise TimeoutError(f"the checks took longer than {limit_sec} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(limit_sec)
    try:
        scenario = importlib.import_module(scenario_name).SCENARIO
        scenario.boots[boot_number].check()
    except Exception as error:
        check(False, f"the checks run to their end: {error}", traceback.format_exc())
    finally:
        signal.alarm(0)


def main() -> None:
    boot = json.loads((HOME / "boot.json").read_text())
    _control().send({"event": "begin"})
    _run_check(boot["scenario"], boot["number"], boot["limitSec"])
    # It is read where something is wrong, and takes a second of emulation.
    if _has_failed or boot["isEvidenceKept"]:
        # The evidence, as a tar on the third NVMe namespace.
        results = Path("/run/vm-results")
        results.mkdir()
        for name, command in {
            "journal.txt": "journalctl --boot --output=short-monotonic --no-hostname",
            "failed-units.txt": "systemctl list-units --failed --no-legend --plain",
            "status.json": "hugeplanctl status --json=pretty",
            "memory.txt": "cat /proc/meminfo; cat /sys/devices/system/node/node*/meminfo",
            "drop-ins.txt": "tail -n +1 /run/systemd/generator/*.d/*.conf",
        }.items():
            sh(f"({command}) >{results / name} 2>&1", timeout_sec=20)
        device = next(path for path in Path("/sys/block").glob("nvme*") if int((path / "nsid").read_text()) == 3)
        sh(f"tar -C {results} -cf /dev/{device.name} . && sync")
    _control().send({"event": "done"})
    # The last boot's disk is thrown away; one that is booted again is shut down properly.
    sh("systemctl poweroff" if boot["isRebooted"] else "sync; systemctl poweroff --force --force")
