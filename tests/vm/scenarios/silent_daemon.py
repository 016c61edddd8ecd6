# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon hangs before it is ready, is suspended while databases start, loses its socket, crashes several times in a
row, and is stopped. The boot goes on, databases whose pages are reserved start within seconds, systemd restarts the
daemon, and what a stopped daemon leaves behind disturbs no other program."""

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from guestlib import *
from memory import CONFIG, configure, pages_service
from scenario import Boot, Node, Scenario

SERVICE, SOCKET_UNIT = "hugeplan.service", "hugeplan.socket"
SOCKET = Path("/run/hugeplan/org.hugeplan.Manager")
GUARD = Path("/run/sysctl.d/zz-hugeplan.conf")
DATABASES = ("one", "two")
PAGES = 40  # of each database
NODES = (0, 1)
PLANNED = {node: PAGES * len(DATABASES) // len(NODES) for node in NODES}
SYSCTL = 10  # an administrator's own vm.nr_hugepages=

# systemd's limits end a hang within these times, with room for a busy host. Without them the boot was delayed by 105 s,
# and databases by 85 s.
BOOT_SEC = 30
SOON_SEC = 25
KILLS = 6  # more than systemd's default limit of starts
N_ASKED, ANSWER_SEC = 3, 7  # together longer than TimeoutStartSec=, each shorter than the limit for an answer


# ---- a boot whose daemon hangs ----


def boots_without_daemon() -> None:
    """The pages come from the kernel's command line."""
    held = active_since("sysinit.target") - began(SERVICE)
    note(f"sysinit.target waited for {held:.1f} s, and was reached after "
         f"{active_since('sysinit.target'):.1f} s; multi-user.target after "
         f"{active_since('multi-user.target'):.1f} s")
    check(0 < held < BOOT_SEC, "the boot goes on", f"after {held:.1f} s")
    first = min(began(database(name)) for name in DATABASES)
    for name in DATABASES:
        check_equal(unit(database(name)), "active", f"{name} has started, for its pages stand")
        took = active_since(database(name)) - first
        check(took < SOON_SEC, f"{name} has started soon", f"after {took:.1f} s")
    logged = [entry["MESSAGE"] for entry in journal(f"--unit={database('one')}")]
    check(any("does not answer" in text for text in logged), "its log says that the daemon does not answer", logged)
    done = sh("hugeplanctl status")
    check("systemctl restart hugeplan.service" in done.stdout, "status names the command that restarts the daemon", said(done))
    check_equal(unit(SOCKET_UNIT), "active", "the socket is active")
    check(unit(SERVICE) in ("activating", "deactivating"), "systemd starts the daemon again", unit(SERVICE))
    tried = wait_for(lambda: restarts_of() > 0, 30)
    check(tried, "the second daemon hangs in another way", unit(SERVICE))


def began(name: str) -> float:
    """When systemd began to start a unit for the first time in this boot."""
    return journal_time(rf"^Starting {re.escape(name)}") or 0


def database(name: str) -> str:
    return f"{name}.service"


# ---- one that works ----


def lives_on() -> None:
    check_units()
    check_equal(pools(), PLANNED, "the pools are as planned")
    reload_takes_its_time()
    stopped_while_databases_start()
    socket_is_removed()
    crashes()
    guard_goes_for_good()


def reload_takes_its_time() -> None:
    """A reload may take longer than a start, because it asks each database for its version first."""
    for number in range(N_ASKED):
        configure(
            f"40-asked{number}",
            f"[Instance]\nEngine=mongodb\nUnit=asked{number}.service\nUser=nobody\nGroup=nogroup\n",
        )
    done, seconds = timed(lambda: sh(f"systemctl reload {SERVICE}", timeout_sec=120))
    check(done.returncode == 0, "a reload that takes long succeeds", said(done))
    check(seconds >= N_ASKED * ANSWER_SEC, "it has asked all databases", f"{seconds:.1f} s")
    for number in range(N_ASKED):
        learned = CONFIG / f"40-asked{number}.conf.d/90-learned.conf"
        check(learned.exists(), f"the version of database {number} was learned")
        learned.unlink(missing_ok=True)
        configure(f"40-asked{number}", None)
    systemctl(f"reload {SERVICE}", "the next reload succeeds")


def stopped_while_databases_start() -> None:
    """Databases start while the daemon is suspended; their pages are reserved."""
    sh("systemctl stop one.service two.service")
    daemon, restarts = main_pid(), restarts_of()
    os.kill(daemon, signal.SIGSTOP)
    done, seconds = timed(lambda: sh("systemctl start one.service two.service"))
    check(done.returncode == 0, "databases start while the daemon is suspended", said(done))
    check(seconds < SOON_SEC, "they start soon", f"after {seconds:.1f} s")
    note(f"they have started after {seconds:.1f} s")
    done, seconds = timed(lambda: sh("hugeplanctl status"))
    check("does not answer" in done.stdout, "status says that the daemon does not answer", said(done))
    check(seconds < SOON_SEC, "status answers soon", f"after {seconds:.1f} s")
    # The watchdog.
    replaced, seconds = timed(lambda: wait_for(lambda: restarts_of() > restarts, 120))
    check(replaced, "systemd replaces it", unit(SERVICE, "Result"))
    note(f"it was replaced after {seconds:.1f} s more")
    check_serves("the next daemon")
    check_equal(pools(), PLANNED, "the pools are as planned")


def main_pid() -> int:
    return int(unit(SERVICE, "MainPID"))


def restarts_of() -> int:
    return int(unit(SERVICE, "NRestarts"))


def check_serves(text: str) -> None:
    check(wait_for(lambda: all(one["id"] != "no-daemon" for one in status()["problems"]), 60), f"{text} serves",
          unit(SERVICE))
    check_equal(instance("one")["verdict"], "ready", f"{text} knows that the instance is ready")


def socket_is_removed() -> None:
    sh(f"systemctl stop {SERVICE}")
    SOCKET.unlink()
    done = sh(f"systemctl start {SERVICE}")
    check(done.returncode == 0 and SOCKET.exists(), "a started daemon makes a socket that was removed meanwhile", said(done))
    check_serves("the daemon that was started")
    for what in (f"rm -r {SOCKET.parent}", f"rm {SOCKET}"):
        output(what)
        systemctl("restart hugeplan.service", f"after {what}: a restart succeeds")
        check_serves(f"after {what}: the daemon")
    output(f"systemctl restart {SOCKET_UNIT}")
    check_serves("the daemon that was restarted with its socket")
    check_equal(pools(), PLANNED, "the pools are as planned")


def crashes() -> None:
    """More crashes than systemd's default limit allows, while clients ask for the status."""
    if has_growing_pauses():
        Path(PAUSES).write_text(pauses("500ms", "10s"))
        output("systemctl daemon-reload")
    before = restarts_of()
    with clients_asking() as answers:
        for number in range(KILLS):
            pid = wait_for(main_pid, 60)
            check(pid, f"the daemon runs before crash {number + 1}", unit(SERVICE))
            os.kill(pid, signal.SIGSEGV if number % 2 else signal.SIGKILL)
            wait_for(lambda: main_pid() != pid, 10)
        if has_growing_pauses():
            check_equal(unit(SERVICE, "RestartUSecNext"), "10s", "the pauses between starts have grown")
        done, seconds = timed(lambda: sh("systemctl restart one.service"))
        check(done.returncode == 0, "a database starts between crashes", said(done))
        check(seconds < SOON_SEC, "it starts soon", f"after {seconds:.1f} s")
        note(f"it has started after {seconds:.1f} s")
        back, seconds = timed(lambda: wait_for(lambda: unit(SERVICE) == "active", 90))
        check(back, "systemd has started the daemon again", unit(SERVICE))
        note(f"it is back after {seconds:.1f} s")
    check(restarts_of() >= before + KILLS - 1, "systemd has started the daemon after each crash", restarts_of())
    check_equal(unit(SOCKET_UNIT), "active", "the socket is active")
    check_equal(set(answers), {0}, "each client has got an answer")
    check_serves("after the crashes the daemon")
    check_equal(pools(), PLANNED, "the pools are as planned")


def has_growing_pauses() -> bool:
    return unit(SERVICE, "RestartSteps") not in ("", "0")


@contextlib.contextmanager
def clients_asking() -> Iterator[list[int]]:
    """The exit statuses of `hugeplanctl status` in the meantime."""
    codes: list[int] = []
    has_ended = threading.Event()

    def ask() -> None:
        while not has_ended.is_set():
            codes.append(subprocess.run(["hugeplanctl", "status"], capture_output=True).returncode)
            has_ended.wait(0.3)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield codes
    finally:
        has_ended.set()
        thread.join()


def guard_goes_for_good() -> None:
    check(GUARD.exists(), "the guard is there")
    before = GUARD.stat().st_ino
    for what in (f"systemctl restart {SERVICE}", f"systemctl restart {SOCKET_UNIT}",
                 f"systemctl kill --signal=KILL {SERVICE}"):
        output(what)
        check_serves(f"after {what}: the daemon")
        check_equal(GUARD.stat().st_ino, before, f"after {what}: the guard was never missing")
    for what in (f"systemctl stop {SERVICE}", f"systemctl stop {SOCKET_UNIT}",
                 f"systemctl disable --now {SERVICE}"):
        output(what)
        check(not GUARD.exists(), f"after {what}: the guard is gone")
        check_equal(pools(), PLANNED, f"after {what}: the pools stay")
        output(f"systemctl start {SERVICE}")
        check_serves(f"after {what} and a start: the daemon")
        check(wait_for(GUARD.exists, 10), f"after {what} and a start: the guard is back")
    output(f"systemctl restart {SERVICE}")
    os.kill(main_pid(), signal.SIGKILL)
    output(f"systemctl stop {SERVICE} {SOCKET_UNIT}")
    check(not GUARD.exists(), "stopped between two starts: the guard is gone")
    output("systemctl stop one.service two.service")
    output("systemctl restart systemd-sysctl.service")
    check_equal(sum(pools().values()), SYSCTL, "sysctl.d is in effect again")


# The first daemon suspends itself, so that only SIGKILL and SIGCONT reach it. The second start runs a sleep in its place.
HANGS = """\
[Service]
ExecStart=
ExecStart=/bin/sh -c '[ ! -e {tried} ] || exec sleep infinity; touch {tried}; kill -STOP $$$$; exec {daemon}'
""".format(tried="/run/hugeplan/vm-tried", daemon="/usr/lib/hugeplan/hugepland")
DROPIN = "/etc/systemd/system/hugeplan.service.d/vm.conf"
PAUSES = "/etc/systemd/system/hugeplan.service.d/pauses.conf"


def pauses(first: str, last: str) -> str:
    """RestartSteps=, which a build for an older systemd does not have."""
    return f"[Service]\nRestartSec={first}\nRestartSteps=5\nRestartMaxDelaySec={last}\n"


SCENARIO = Scenario(
    suites=("trixie",),
    more_suites=("bookworm",),
    nodes=(Node("1G"), Node("1G")),
    files={
        "/usr/bin/mongod": (0o755, f"#!/bin/sh\nsleep {ANSWER_SEC}\necho 'db version v7.0.14'\n"),
        **{
            f"/etc/hugeplan.d/20-{name}.conf": f"[Instance]\nUnit={name}.service\nPages={PAGES}\n"
            for name in DATABASES
        },
        **{
            f"/etc/systemd/system/{name}.service": (
                pages_service(f"hold {PAGES}") + "[Install]\nWantedBy=multi-user.target\n"
            )
            for name in DATABASES
        },
    },
    files_on={"trixie": {PAUSES: pauses("3s", "30s")}},
    enable=("one.service", "two.service"),
    boots=(
        Boot(boots_without_daemon, kernel_args=f"hugepages={sum(PLANNED.values())}", files={DROPIN: HANGS}),
        Boot(
            lives_on,
            files={DROPIN: "# as it is\n", "/etc/sysctl.d/50-mine.conf": f"vm.nr_hugepages = {SYSCTL}\n"},
            limit_sec=900,
        ),
    ),
)
