# SPDX-License-Identifier: LGPL-2.1-or-later
"""Functions for the checks of scenarios. They run in the guest, as root.

Sizes are in bytes unless a name says pages. Times are seconds since the kernel started, as in the monotonic time stamps
of the journal and of systemd. Nothing here changes the guest.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import time
import traceback
import tty
from collections.abc import Callable
from dataclasses import dataclass
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

# Characters that may have a meaning for the shell.
NOT_PLAIN = re.compile(r"[^\w\s./:@%+=,-]")


def check(condition: object, text: str, detail: object = None) -> bool:
    """One line of the result. `detail` is shown if the condition is false."""
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
    """A remark, shown with --verbose."""
    _control().send({"event": "note", "text": text})


def ask_host(request: str) -> Any:
    """The host's answer; see Boot.on_request."""
    _control().send({"event": "request", "name": request})
    return _control().receive()


# Commands


def sh(command: str, timeout_sec: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs a shell command and waits for it, whatever its exit status."""
    words = command.split()
    # Without a shell if it has nothing to do, because a shell takes time to start under emulation.
    is_plain = not NOT_PLAIN.search(command) and "=" not in words[0]
    arguments = words if is_plain else ["sh", "-c", command]
    try:
        return subprocess.run(arguments, capture_output=True, text=True, timeout=timeout_sec)
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
    """Checks that a command of systemctl exits with 0."""
    succeeds(f"systemctl {command}", what or command, timeout_sec=120)


def wait_for(condition: Callable[[], Any], timeout_sec: float = 30) -> Any:
    """The first true value of `condition`, or its last one after `timeout_sec`. Calling it takes a fifth of the time at
    most, and less the longer the wait is, because each call takes processor time."""
    began = time.monotonic()
    while True:
        value, took = timed(condition)
        waited = time.monotonic() - began
        if value or waited >= timeout_sec:
            return value
        time.sleep(min(max(0.2, 4 * took, waited / 8), timeout_sec - waited + 0.01))


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """The result of an action, and the seconds that it took."""
    began = time.monotonic()
    return action(), time.monotonic() - began


# The kernel's view


def nodes() -> list[int]:
    return sorted(int(path.name[4:]) for path in SYSTEM_NODES.glob("node[0-9]*"))


def pool(node: int, counter: str = "nr_hugepages", page_bytes: int = DEFAULT_PAGE_BYTES) -> int | None:
    """One of a node's counters of huge pages; None if the node has no pages of that size."""
    directory = SYSTEM_NODES / f"node{node}/hugepages/hugepages-{page_bytes // 1024}kB"
    return int((directory / counter).read_text()) if directory.exists() else None


def pools(counter: str = "nr_hugepages", page_bytes: int = DEFAULT_PAGE_BYTES) -> dict[int, int]:
    """A counter of each node that has pages of that size."""
    found = ((node, pool(node, counter, page_bytes)) for node in nodes())
    return {node: count for node, count in found if count is not None}


def meminfo(node: int | None = None) -> dict[str, int]:
    """/proc/meminfo, or that of a node; sizes in bytes, and counts."""
    path = Path("/proc/meminfo") if node is None else SYSTEM_NODES / f"node{node}/meminfo"
    values = {}
    for name, number, unit in re.findall(r"(\S+):\s+(\d+)( kB)?$", path.read_text(), re.MULTILINE):
        values[name] = int(number) * (1024 if unit else 1)
    return values


def taken_pages() -> int:
    """Pages of the default size that are in use or reserved."""
    host = meminfo()
    return host["HugePages_Total"] - host["HugePages_Free"] + host["HugePages_Rsvd"]


def thp() -> str:
    """The value in effect of transparent_hugepage/enabled."""
    return _found(r"\[(\w+)\]", SYSTEM_THP.read_text())


def kernel_thp_default() -> str:
    """The default of this kernel's configuration."""
    config = Path(f"/boot/config-{os.uname().release}").read_text()
    return _found(r"(?m)^CONFIG_TRANSPARENT_HUGEPAGE_(ALWAYS|MADVISE)=y", config).lower()


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if not match:
        raise RuntimeError(f"no {pattern} in {text[:200]!r}")
    return match[1]


@dataclass
class Mapping:
    """One mapping of a process, from its maps and numa_maps. Its smaps take much longer in a guest."""

    start: int
    size: int
    policy: str
    is_hugetlb: bool
    page_bytes: int  # 0 if no page is touched
    node_pages: dict[int, int]


def mappings(pid: int | str) -> list[Mapping]:
    ranges = re.findall(r"(?m)^([0-9a-f]+)-([0-9a-f]+) ", Path(f"/proc/{pid}/maps").read_text())
    sizes = {int(start, 16): int(end, 16) - int(start, 16) for start, end in ranges}
    found = []
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        address, policy, *words = line.split()
        start = int(address, 16)
        nodes = {int(node): int(pages) for node, pages in re.findall(r"\bN(\d+)=(\d+)", line)}
        page_kib = re.search(r"kernelpagesize_kB=(\d+)", line)
        page_bytes = int(page_kib[1]) * 1024 if page_kib else 0
        found.append(Mapping(start, sizes.get(start, 0), policy, "huge" in words, page_bytes, nodes))
    return found


def hugetlb_mappings(pid: int | str) -> list[Mapping]:
    return [mapping for mapping in mappings(pid) if mapping.is_hugetlb]


def used_nodes(mapping_list: list[Mapping]) -> set[int]:
    return {node for mapping in mapping_list for node in mapping.node_pages}


# systemd's view


# Properties that `unit` reads from systemd itself. `systemctl show` has systemd send all properties of a unit, which takes
# a quarter of a second in a guest.
INTERFACES = {
    "Unit": ("ActiveState", "SubState", "ActiveEnterTimestampMonotonic", "InactiveExitTimestampMonotonic"),
    "Service": ("ControlGroup", "MainPID", "NRestarts", "Result"),
}


def unit(name: str, unit_property: str = "ActiveState") -> str:
    for interface, properties in INTERFACES.items():
        if unit_property in properties and (interface == "Unit" or name.endswith(".service")):
            # systemd may be executing itself again.
            with contextlib.suppress(OSError, struct.error):
                return _unit_property(name, interface, unit_property)
    return output(f"systemctl show --property={unit_property} --value {name}")


def _unit_property(name: str, interface: str, unit_property: str) -> str:
    """A call of org.freedesktop.DBus.Properties.Get, by the D-Bus specification, on systemd's private socket."""

    def string(text: str) -> bytes:
        return struct.pack("<I", len(text)) + text.encode() + b"\0"

    def aligned(data: bytes, size: int) -> bytes:
        return data + bytes(-len(data) % size)

    label = re.sub("[^A-Za-z0-9]|^[0-9]", lambda found: f"_{ord(found[0]):02x}", name)
    fields = b""
    for code, kind, text in ((1, b"o", f"/org/freedesktop/systemd1/unit/{label}"),
                             (2, b"s", "org.freedesktop.DBus.Properties"), (3, b"s", "Get")):
        fields = aligned(fields, 8) + bytes([code, 1]) + kind + b"\0" + string(text)
    fields = aligned(fields, 8) + b"\x08\1g\0\2ss\0"  # the signature of the body
    body = aligned(string(f"org.freedesktop.systemd1.{interface}"), 4) + string(unit_property)
    call = aligned(struct.pack("<4cIII", b"l", b"\1", b"\0", b"\1", len(body), 1, len(fields)) + fields, 8) + body
    with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rb") as replies:
        connection.connect("/run/systemd/private")
        connection.settimeout(10)
        connection.sendall(b"\0AUTH EXTERNAL 30\r\nBEGIN\r\n")
        replies.readline()
        connection.sendall(call)
        kind = 0
        while kind not in (2, 3):  # a result or an error; systemd sends signals, too
            _, kind, _, _, n_body, _, n_fields = struct.unpack("<4BIII", replies.read(16))
            replies.read(n_fields + -n_fields % 8)
            body = replies.read(n_body)
    if kind == 3:
        raise OSError(body)
    if body[1:2] == b"t":
        return str(struct.unpack_from("<Q", body, 8)[0])
    (value,) = struct.unpack_from("<I", body, 4)
    return body[8 : 8 + value].decode() if body[1:2] == b"s" else str(value)


def active_since(name: str) -> float:
    """When a unit last became active; 0 if it never did."""
    return int(unit(name, "ActiveEnterTimestampMonotonic")) / 1e6


def failed_units() -> list[str]:
    lines = output("systemctl list-units --failed --plain --no-legend").splitlines()
    return [line.split()[0] for line in lines]


def journal(*arguments: str) -> list[dict[str, Any]]:
    """The entries of this boot that journalctl selects."""
    done = subprocess.run(
        ["journalctl", "--boot", "--output=json", *arguments], capture_output=True, text=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def messages(*arguments: str) -> list[str]:
    """The texts of these entries."""
    return [str(entry.get("MESSAGE")) for entry in journal(*arguments)]


def told(name: str, *words: str) -> bool:
    """Whether the log of a unit, or of the units of a pattern, has a line with all of these words."""
    return any(all(word in line for word in words) for line in messages("-u", name))


def journal_time(pattern: str, *arguments: str) -> float | None:
    """When the first message that matches was logged."""
    for entry in journal(*arguments):
        if re.search(pattern, str(entry.get("MESSAGE", ""))):
            return int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6
    return None


# hugeplan's view


def hugeplan(arguments: str) -> Any:
    """The output of `hugeplanctl ... --json=short`, parsed; its exit status is a verdict, no error."""
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
    """The exposure that a unit may have. hugeplan.service starts early in the boot and has other lines instead of some
    that systemd-analyze rates (docs/privilege.md); before systemd 255, also instead of PrivateDevices=."""
    if unit != "hugeplan.service":
        return 0.8
    return 1.5 if "\nInaccessiblePaths=/dev\n" in output(f"systemctl cat {unit}") else 1.3


def check_verified(*units: str) -> None:
    """systemd-analyze verify has nothing to say about these units, by name or path."""
    done = sh(f"systemd-analyze verify --man=no --recursive-errors=no {' '.join(units)}")
    silent = done.returncode == 0 and not (done.stdout + done.stderr).strip()
    check(silent, "systemd-analyze verify has nothing to say", said(done))


def check_units(*others: str) -> None:
    """hugeplan's units are valid and confined; others, by name or path, are valid. No unit is root and has a capability,
    and the only capability of any is to inspect processes of others."""
    listed = output("systemctl list-unit-files --plain --no-legend 'hugeplan[.-]*' | cut -d' ' -f1")  # no alias
    check_verified(*listed.split(), *others)
    services = [name.replace("@.", "@x.") for name in listed.split()
                if name.endswith(".service") and not name.startswith("hugeplan-vm")]
    properties = "Id,DynamicUser,User,CapabilityBoundingSet,AmbientCapabilities"
    shown = output(f"systemctl show --property={properties} {' '.join(services)}").split("\n\n")
    found = [dict(line.split("=", 1) for line in text.splitlines()) for text in shown]
    check_equal({one["Id"] for one in found}, set(services), "systemd knows all of them")
    # A unit that neither runs as root nor has a capability needs no confinement.
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
    """The nodes of an instance's pages according to hugeplan; without nodes that have none."""
    return {part["node"]: part["pages"] for part in instance(name)["nodes"] if part["pages"]}


def status_pools(count: str = "total") -> dict[int, int]:
    found = (one for one in status()["pools"] if one["pageSizeBytes"] == DEFAULT_PAGE_BYTES)
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
    # The evidence is read after a failure only, and takes a second of emulation.
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
    # A disk that is booted again needs a clean shutdown.
    sh("systemctl poweroff" if boot["isRebooted"] else "sync; systemctl poweroff --force --force")
