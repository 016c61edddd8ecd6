# SPDX-License-Identifier: LGPL-2.1-or-later
"""A generic program with Memory=auto. Its size is not known before it has run, so its first start has small pages.
`hugeplanctl learn` measures what it has mapped; its next start has that many pages, and so has the next boot. With a size
that is too small, the gate says so."""

import re
import time
from pathlib import Path

from guestlib import *
from memory import CONFIG, configure
from scenario import Boot, Node, Scenario

SEEN = CONFIG / "20-own.conf.d/90-learned.conf"
PROGRAM = "/usr/local/bin/own-program"
FIRST, RAISED = 150, 210  # MiB

FILES = {
    # Shared memory of the size of its argument, with huge pages if they can be had, else with small ones, as in
    # databases. A child shares the segment. 7 MiB of private memory do not count.
    PROGRAM: """\
#!/usr/bin/python3
import ctypes, mmap, os, socket, sys, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # not dumpable, as programs are that were setuid
size = int(sys.argv[1]) << 20
rounded = -(-size // (2 << 20)) * (2 << 20)
try:
    held = mmap.mmap(-1, rounded, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x40000)
except OSError:
    held = mmap.mmap(-1, size, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
own = mmap.mmap(-1, 7 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
if os.fork() > 0:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.connect(os.environ["NOTIFY_SOCKET"])
        told.send(b"READY=1")
held[0] = 1
time.sleep(10000)
""",
    "/etc/systemd/system/own.service": f"""\
[Service]
Type=notify
User=daemon
EnvironmentFile=/etc/own
ExecStart={PROGRAM} $SIZE
""",
    "/etc/own": f"SIZE={FIRST}\n",
}


def pages(mib: int) -> int:
    return -(-mib * MIB // (2 * MIB))


def seen() -> tuple[int, bool]:
    """The pages in the file, and whether they are exact."""
    text = SEEN.read_text() if SEEN.exists() else ""
    found = re.search(r"^X-Seen=2M:(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0, "X-SeenExact=yes" in text


def log(name: str) -> list[str]:
    return messages("-u", name)


def looked_at(mib: int, what: str) -> None:
    """The kernel does not count small pages, so the administrator has them measured."""
    succeeds("hugeplanctl learn own", f"{what}: it is looked at")
    check_equal(seen(), (pages(mib), False), f"{what}: as much as its shared memory, once, an estimate")


def learns() -> None:
    configure("20-own", "[Instance]\nMemory=auto\nUnit=own.service\n")
    output("chmod 755 " + PROGRAM)
    output("systemctl daemon-reload && systemctl restart hugeplan.service")
    known = instance("own")
    check_equal(known["verdict"], "degraded", "before its first start: what is known is said")
    check("has run once" in known["reason"], "before its first start: and why", known)
    systemctl("start own.service", "first start: it is let start with nothing")
    check(told("own.service", "has run once"), "first start: its log says so", log("own.service"))
    check_equal(taken_pages(), 0, "first start: it runs in small pages")
    check(told("own.service", "hugeplanctl learn own"), "first start: and what to do", log("own.service"))
    looked_at(FIRST, "first start")
    running = output("systemctl list-units --plain --no-legend --state=running 'hugeplan*'").split()
    check_equal([word for word in running if word.endswith(".service")], ["hugeplan.service"],
                "nothing of ours runs beside it")
    systemctl("restart own.service", "second start: it starts")
    check_equal(instance("own")["verdict"], "ready", "second start: it has its pages")
    check_equal((sum(pools().values()), taken_pages()), (pages(FIRST),) * 2, "second start: exactly as many")
    check(wait_for(lambda: seen()[1], 60), "second start: which is counted, and exact", log("hugeplan.service"))
    check(told("hugeplan.service", "own: measured: it has mapped"), "second start: its log tells", log("hugeplan.service"))
    check_equal(seen()[0], pages(FIRST), "second start: and as many")
    shown = output("hugeplanctl explain own")
    check(f"In effect: {pages(FIRST)} pages of 2M, measured: exact" in shown, "explain says whose figure it is", shown)
    check(f"has mapped {pages(FIRST)} pages of 2M" in shown, "explain says what it has now", shown)
    raised()
    configure("20-own", f"[Instance]\nPages={pages(RAISED) - 1}\nUnit=own.service\n")
    output("systemctl daemon-reload && hugeplanctl reload")
    systemctl("restart own.service", "too little: it starts, with a page less than it takes")
    check(any("too small" in line and f"{pages(RAISED)} pages" in line for line in log("own.service")),
          "too little: its log says so, with the number", log("own.service")[-10:])
    configure("20-own", "[Instance]\nMemory=auto\nUnit=own.service\n")
    output("systemctl daemon-reload && hugeplanctl reload")
    crashes()
    Path("/etc/own").write_text(f"SIZE={RAISED}\n")
    systemctl("start own.service", "it starts once more")
    check_equal((sum(pools().values()), taken_pages()), (pages(RAISED),) * 2, "with exactly what it takes")
    output("systemctl enable own.service 2>/dev/null || true")
    stamp = wait_for(lambda: seen()[1]) and SEEN.stat().st_mtime_ns
    time.sleep(15)  # as long as a count takes
    systemctl("stop own.service", "it stops")
    check_equal(SEEN.stat().st_mtime_ns, stamp, "nothing new is counted, and nothing written")
    SEEN.unlink()
    systemctl("start own.service", "it starts before the host is shut down, and what was seen has gone")
    check(wait_for(lambda: seen()[0] == pages(RAISED), 60), "it is counted again")


def raised() -> None:
    """Started with a larger size, it gets small pages again."""
    Path("/etc/own").write_text(f"SIZE={RAISED}\n")
    systemctl("restart own.service", "raised: it starts")
    looked_at(RAISED, "raised")
    systemctl("restart own.service", "raised: it starts again")
    check_equal(taken_pages(), pages(RAISED), "raised: and has it")
    check(wait_for(lambda: seen() == (pages(RAISED), True), 60), "raised: exact", SEEN.read_text())


def crashes() -> None:
    """After a crash the measured size stays."""
    output("systemctl kill --signal=KILL own.service")
    check(wait_for(lambda: unit("own.service") != "active"), "killed: it is gone")
    check_equal(seen()[0], pages(RAISED), "killed: what was seen stays")
    output("systemctl reset-failed own.service")
    # A broken file of hugeplan is no mistake of the administrator.
    kept = SEEN.read_text()
    SEEN.write_text("[Instance]\nX-Seen=2M:99999\nnonsense\n")
    check_equal(instance("own")["verdict"], "ready", "a broken file: nothing changes meanwhile")
    done = sh("hugeplanctl check")
    check("nonsense" in said(done) or done.returncode != 0, "a broken file: it is told", said(done))
    SEEN.write_text(kept)


def remembers() -> None:
    check_equal(sum(pools().values()), pages(RAISED), "next boot: as many stand there before it starts")
    systemctl("start own.service", "next boot: it starts")
    check_equal(taken_pages(), pages(RAISED), "next boot: with all of them")
    check_equal(instance("own")["verdict"], "ready", "next boot: ready")


SCENARIO = Scenario(
    nodes=(Node("1G"),),
    suites=(),
    more_suites=("bookworm", "trixie"),
    files=FILES,
    boots=(Boot(learns, limit_sec=900), Boot(remembers)),
)
