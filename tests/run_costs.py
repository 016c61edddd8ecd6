#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The costs of the programs, compared with costs.tsv: instructions, as callgrind counts them, and system calls.

usage: run_costs.py --hugepland=PROGRAM --hugeplanctl=PROGRAM --generator=PROGRAM [--update] [NAME...]

Neither depends on how busy the machine is. Instructions are those of a whole process with its loader and libraries, so
they depend on compiler, C library, processor (by which the C library chooses string functions) and, a little, on
jansson: if the first line of costs.tsv names others, the figures are printed and the test is skipped. System calls are
counted until the daemon is ready, or for the whole command. The hosts are generated (bench/hosts.py). Their sysfs
consists of files, for which more system calls are made than for a real one. The programs are built without sanitizers,
the core with -O2.

A figure fails if it is more than a tenth above the table; if it is a tenth below, --update writes the lower one. Skips
(77) without valgrind or strace. scripts/bench boot compares boots with rows that are entered by hand.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "bench"))

import hosts  # noqa: E402

TABLE = HERE / "costs.tsv"
TOLERANCE = 0.1
SETTLED = 0.5  # seconds after which files are old enough not to be read again, see root_stamp_add()
TRIES = 3  # at most, for a verb that calls the daemon, and reads the host itself if the daemon is slow: the least counts
ASKED = {3: 10, 300: 2}  # requests, of which the average is taken, by the number of instances
SOCKET = "run/hugeplan/org.hugeplan.Manager"
GET_INFO = '{"method":"org.varlink.service.GetInfo"}'
DESCRIBE = '{"method":"org.hugeplan.Manager.Describe"}'
WAIT = '{"method":"org.hugeplan.Manager.Wait","parameters":{"instance":"db1"}}'
SKIPPED = 77


@dataclass(frozen=True)
class Cost:
    instructions: int
    calls: int


@dataclass(frozen=True)
class Programs:
    hugepland: str
    hugeplanctl: str
    generator: str


# ---- counting ----


def run(command: list[str], **more: object) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")


def valgrind(out: pathlib.Path) -> list[str]:
    return ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]


def strace(out: pathlib.Path) -> list[str]:
    return ["strace", "--follow-forks", "--quiet=all", "--string-limit=64", f"--output={out}"]


def instructions_in(out: pathlib.Path) -> int:
    found = re.search(r"^(?:totals|summary): (\d+)", out.read_text(), re.MULTILINE)
    if not found:
        raise RuntimeError(f"{out} has no total")
    return int(found[1])


def calls_in(out: pathlib.Path) -> int:
    """The system calls of a command, or of a daemon until READY=1."""
    lines = [line for line in out.read_text().splitlines() if re.match(r"\d+ +\w+\(", line)]
    ready = next((i for i, line in enumerate(lines) if "READY=1" in line), len(lines) - 1)
    return ready + 1


def count(command: list[str], scratch: pathlib.Path) -> Cost:
    run([*valgrind(scratch / "callgrind"), *command])
    run([*strace(scratch / "strace"), *command])
    return Cost(instructions_in(scratch / "callgrind"), calls_in(scratch / "strace"))


# ---- the daemon ----


@contextlib.contextmanager
def daemon(command: list[str], root: pathlib.Path) -> Iterator[None]:
    """A daemon that is ready; it is terminated at the end."""
    name = f"@hugeplan-costs-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(f"\0{name[1:]}")
        notify.settimeout(60)
        with subprocess.Popen([*command, f"--root={root}"], env={**os.environ, "NOTIFY_SOCKET": name},
                              stderr=subprocess.DEVNULL) as process:
            try:
                while b"READY=1" not in notify.recv(4096):
                    pass
                yield
            finally:
                child = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True,
                                       check=False).stdout.split()
                os.kill(int(child[0]) if child else process.pid, signal.SIGTERM)  # the daemon is strace's child
                process.wait(60)


def ask(root: pathlib.Path, request: str, n: int) -> None:
    """GET_INFO is asked on one connection, the others on a new one for each request."""
    while n > 0:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(root / SOCKET))
            for _ in range(n if request == GET_INFO else 1):
                client.sendall(request.encode() + b"\0")
                while not client.recv(1 << 16).endswith(b"\0"):
                    pass
                n -= 1


def serve(counter: list[str], programs: Programs, root: pathlib.Path, request: str = "", n: int = 0) -> None:
    """The daemon from execve(2) to its end, with N requests."""
    with daemon([*counter, programs.hugepland], root):
        ask(root, request, n)


def start(programs: Programs, root: pathlib.Path, scratch: pathlib.Path) -> Cost:
    serve(valgrind(scratch / "callgrind"), programs, root)
    serve(strace(scratch / "strace"), programs, root)
    return Cost(instructions_in(scratch / "callgrind"), calls_in(scratch / "strace"))


# ---- the table ----

Measure = Callable[[Programs, pathlib.Path, pathlib.Path], Cost]


def of_answer(request: str, n: int) -> Measure:
    """The cost of one answer: the difference of 1 + N requests and one."""

    def measure(programs: Programs, root: pathlib.Path, scratch: pathlib.Path) -> Cost:
        instructions, calls = [], []
        for asked in 1, 1 + n:
            serve(valgrind(scratch / "callgrind"), programs, root, request, asked)
            serve(strace(scratch / "strace"), programs, root, request, asked)
            instructions.append(instructions_in(scratch / "callgrind"))
            calls.append(len((scratch / "strace").read_text().splitlines()))
        return Cost((instructions[1] - instructions[0]) // n, (calls[1] - calls[0]) // n)

    return measure


def of_ctl(*arguments: str) -> Measure:
    return lambda programs, root, scratch: count([programs.hugeplanctl, f"--root={root}", *arguments], scratch)


class CtlBesideDaemon:
    def __init__(self, *arguments: str) -> None:
        self.count = of_ctl(*arguments)

    def __call__(self, programs: Programs, root: pathlib.Path, scratch: pathlib.Path) -> Cost:
        with daemon([programs.hugepland], root):
            return self.count(programs, root, scratch)


def of_generator(programs: Programs, root: pathlib.Path, scratch: pathlib.Path) -> Cost:
    output = scratch / "units"
    output.mkdir(exist_ok=True)
    command = [programs.generator, f"--root={root}", str(output)]
    run(command)
    return count(command, scratch)


# Nodes and instances of the host, whether all instances run, and the measurement.
MEASURES: dict[str, tuple[int, int, bool, Measure]] = {
    **{f"start, {n} instances": (1, n, True, start) for n in (3, 300)},
    **{f"Describe, {n} instances": (1, n, True, of_answer(DESCRIBE, asked)) for n, asked in ASKED.items()},
    **{f"Wait, {n} instances": (1, n, True, of_answer(WAIT, asked)) for n, asked in ASKED.items()},
    "GetInfo on a kept connection, 3 instances": (1, 3, True, of_answer(GET_INFO, ASKED[3])),
    **{f"hugeplanctl status, {n} instances": (1, n, True, CtlBesideDaemon("status")) for n in (3, 100, 300)},
    "hugeplanctl status without a daemon, 3 instances": (1, 3, True, of_ctl("status")),
    "hugeplanctl status --json, nothing described": (1, 0, False, CtlBesideDaemon("status", "--json")),
    "generator, 3000 instances": (1, 3000, False, of_generator),
    **{f"hugeplanctl wait, {n} instances": (1, n, True, CtlBesideDaemon("wait", "--timeout=1min", "db1")) for n in (3, 300)},
    **{f"hugeplanctl metrics, {n} instances": (1, n, True, CtlBesideDaemon("metrics")) for n in (3, 300)},
    "generator, 300 instances": (1, 300, True, of_generator),
    "plan, 8 nodes, 1000 instances": (8, 1000, False, of_ctl("plan")),
    "check, 8 nodes, 300 instances": (8, 300, False, of_ctl("check")),
    "plan, 1024 nodes, 10 instances": (1024, 10, False, of_ctl("plan")),
}


def environment() -> str:
    compiler = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=False).stdout.strip()
    return f"{platform.machine()}, gcc {compiler}, {' '.join(platform.libc_ver())}"


def read_table() -> tuple[str, dict[str, Cost]]:
    lines = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    measured = next((line.removeprefix("# measured with ") for line in lines if line.startswith("# measured")), "")
    return measured, {name: Cost(int(instructions), int(calls)) for name, instructions, calls in rows}


def write_table(costs: dict[str, Cost]) -> None:
    text = "# SPDX-License-Identifier: LGPL-2.1-or-later\n# The costs that run_costs.py compares with: name, instructions, "
    text += f"system calls.\n# measured with {environment()}\n"
    for name, cost in costs.items():
        text += f"{name}\t{cost.instructions}\t{cost.calls}\n"
    TABLE.write_text(text, encoding="utf-8")


def judge(cost: Cost, expected: Cost | None) -> tuple[bool, str]:
    if expected is None:
        return False, "not in the table: --update"
    ratios = [cost.instructions / expected.instructions, cost.calls / max(expected.calls, 1)]
    text = f"{ratios[0]:5.2f}x {ratios[1]:5.2f}x"
    if max(ratios) > 1 + TOLERANCE:
        return False, f"{text}  more than a tenth above"
    return True, text + ("  less: --update" if min(ratios) < 1 - TOLERANCE else "")


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in "hugepland", "hugeplanctl", "generator":
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    programs = Programs(options.hugepland, options.hugeplanctl, options.generator)
    missing = [name for name in ("valgrind", "strace", "pgrep") if not shutil.which(name)]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return SKIPPED
    os.environ.pop("MALLOC_PERTURB_", None)  # meson's; free(3) would fill memory, which would be counted, too
    os.environ["INVOCATION_ID"] = "1"  # as systemd sets it for a gate
    measured, table = read_table()
    if os.environ.get("HUGEPLAN_FAULTS") == "few":  # in a hurry
        options.names = options.names or [" 3 instances"]
    names = [name for name in MEASURES if not options.names or any(word in name for word in options.names)]
    costs = {}
    with tempfile.TemporaryDirectory(prefix="hugeplan-costs-") as directory:
        scratch = pathlib.Path(directory)
        roots = {}
        for nodes, instances, is_started in {MEASURES[name][:3] for name in names}:
            root = roots[nodes, instances, is_started] = scratch / f"host-{nodes}-{instances}-{is_started:d}"
            hosts.make_host(root, nodes, instances)
            if is_started:
                hosts.start_instances(root, programs.hugeplanctl)
                with daemon([programs.hugepland], root):  # the first daemon writes the count of this boot
                    pass
        time.sleep(SETTLED)
        is_ok = True
        print(f"{'':50} {'instructions':>14} {'calls':>8}")
        for name in names:
            nodes, instances, is_started, measure = MEASURES[name]
            root = roots[nodes, instances, is_started]
            cost = measure(programs, root, scratch)
            for _ in range(TRIES - 1 if isinstance(measure, CtlBesideDaemon) else 0):
                if not options.update and judge(cost, table.get(name))[0]:
                    break
                again = measure(programs, root, scratch)
                cost = Cost(min(cost.instructions, again.instructions), min(cost.calls, again.calls))
            costs[name] = cost
            is_fine, text = judge(cost, table.get(name))
            is_ok &= is_fine
            print(f"{name:50} {costs[name].instructions:14,} {costs[name].calls:8}  {text}", flush=True)
    if options.update:
        write_table({**{name: cost for name, cost in table.items() if name in MEASURES or name.startswith("boot, ")},
                     **costs})
        return 0
    if measured != environment():
        print(f"skipped: the table was made with {measured}, and this is {environment()}")
        return SKIPPED
    return 0 if is_ok else 1


if __name__ == "__main__":
    sys.exit(main())
