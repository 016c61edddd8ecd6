# SPDX-License-Identifier: LGPL-2.1-or-later
"""The measured programs: the build, the cost of a run, daemons, requests on a socket."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pools import Pool
from report import FellShort, Missing

CHECKOUT = Path(__file__).resolve().parent.parent.parent
BUILD = CHECKOUT / "build-bench"
HELPERS = BUILD / "tests/bench"
HUGEPLAND = str(BUILD / "src/hugepland")
HUGEPLANCTL = str(BUILD / "src/hugeplanctl")
GENERATOR = str(BUILD / "src/hugeplan-generator")

CONFIG = Path("/run/hugeplan.d")
LEDGER = Path("/run/hugeplan/ledger")
SOCKET = "/run/hugeplan/org.hugeplan.Manager"

DESCRIBE = '{"method":"org.hugeplan.Manager.Describe"}'
BRIEF = '{"method":"org.hugeplan.Manager.Describe","parameters":{"brief":true}}'  # as status asks
WAIT = '{"method":"org.hugeplan.Manager.Wait","parameters":{"instance":"bench0"}}'
RELOAD = '{"method":"org.hugeplan.Manager.Reload"}'
GET_INFO = '{"method":"org.varlink.service.GetInfo"}'

# Seconds after which hugeplan does not read an unchanged file again, because its modification time is old enough.
SETTLED = 0.5

# LimitNOFILE= of hugeplan.service, or the limit of this host.
DESCRIPTORS = min(24576, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
MANY_FILES = ["prlimit", f"--nofile={DESCRIPTORS}"]

# Users without an entry in passwd(5): an honest one, and those of a flood.
HONEST_UID, FIRST_UID = 64000, 64001


def as_user(uid: int) -> list[str]:
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


@dataclass(frozen=True)
class Cost:
    """The cost of one run of a program."""

    wall_msec: float
    cpu_msec: float


def run(command: list[str], *, is_daemon: bool = False, ok: tuple[int, ...] = (0,)) -> Cost:
    """A program that fails is left out of this round (FellShort); a failing program of hugeplan ends the
    measurement."""
    runner = [str(HELPERS / "bench-run"), *(["--ready"] if is_daemon else []), *command]
    done = subprocess.run(runner, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    wall_usec, cpu_usec, code = (int(word) for word in done.stdout.split())
    if code not in ok:
        raise (RuntimeError if command[0].startswith(str(BUILD)) else FellShort)(f"{' '.join(command)}: exit code {code}")
    return Cost(wall_usec / 1000, cpu_usec / 1000)


def output_of(command: list[str]) -> list[float]:
    """The numbers that a helper program prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def find_program(name: str, package: str) -> str:
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin:/lib/systemd")
    if path is None:
        raise Missing(f"not installed (apt-get install {package})")
    return path


def write_file(name: str, text: str) -> str:
    path = Path("/run") / name
    path.write_text(text)
    return str(path)


# ---- hugeplan ----


def configure(instances: int, pages: int, pool: Pool, **host: str) -> None:
    """Writes a configuration. HOST has settings of [Host], besides or instead of those that keep the host's
    settings."""
    shutil.rmtree(CONFIG, ignore_errors=True)
    LEDGER.unlink(missing_ok=True)
    CONFIG.mkdir()
    settings = {"TransparentHugePages": "keep", "ExistingPages": "keep", "SharedMemoryLimits": "keep", "KeepFree": "64M",
                **host}
    (CONFIG / "00-host.conf").write_text("[Host]\n" + "".join(f"{key}={text}\n" for key, text in settings.items()))
    for index in range(instances):
        describe(index, pages, pool)
    refuse_mistakes()
    time.sleep(SETTLED)


def refuse_mistakes(root: str | Path = "/", directory: Path = CONFIG) -> None:
    """Fails for a configuration with a mistake, because a [Host] with one would not be in effect."""
    files = [f"/{file.relative_to(root)}" for file in sorted(directory.iterdir())]
    done = subprocess.run([HUGEPLANCTL, f"--root={root}", "check", *files], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the configuration that is to be measured has a mistake: {done.stdout}{done.stderr}")


def describe(index: int, pages: int, pool: Pool) -> None:
    (CONFIG / f"50-bench{index}.conf").write_text(
        f"[Instance]\nPages={pages}\nPageSize={pool.size_name}\nNodes={pool.node}\n")


@contextlib.contextmanager
def child(command: list[str], listens_on: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if listens_on is not None:
            await_socket(listens_on, process)
        yield process
    finally:
        process.terminate()
        process.wait()


def await_socket(path: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(500):
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} does not listen on {path}")


def ask(path: str, request: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(request.encode() + b"\0")
        answer = b""
        while not answer.endswith(b"\0"):
            part = client.recv(65536)
            if not part:
                raise RuntimeError(f"{path} gives no answer to {request}")
            answer += part
    return answer


# ---- the kernel's figures of a process ----


@dataclass(frozen=True)
class Life:
    """Context switches and CPU time of all threads so far, and memory now."""

    switches: int
    cpu_msec: float
    dirty_kib: int
    private_kib: int
    rss_kib: int


def look_at(pid: int) -> Life:
    switches, cpu_nsec = 0, 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if "ctxt_switches" in line:
                switches += int(line.split()[1])
        cpu_nsec += int((task / "schedstat").read_text().split()[0])
    sizes = {"Private_Dirty": 0, "Private_Clean": 0, "Rss": 0}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        key = line.split(":")[0]
        if key in sizes:
            sizes[key] = int(line.split()[1])
    return Life(switches, cpu_nsec / 1e6, sizes["Private_Dirty"], sizes["Private_Dirty"] + sizes["Private_Clean"],
                sizes["Rss"])
