#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The wrapper conf/examples/postgres with a real PostgreSQL and a fake hugeplanctl: under pg_ctl, started as Patroni
and pg_auto_failover start a server, and under pg_auto_failover itself if it is installed. Needs no huge pages.

usage: run_supervisor.py WRAPPER
"""

from __future__ import annotations

import concurrent.futures
import functools
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import common
from common import check, postgresql_programs, wait_until

OWNER = "postgres"
PATIENCE = 60.0
REFUSAL = "pg-main: refused: 227 pages of 2M (454M) do not fit"


def why_not() -> str | None:
    if not postgresql_programs():
        return "there is no PostgreSQL; install Debian's package postgresql"
    try:
        return None if os.geteuid() in (0, pwd.getpwnam(OWNER).pw_uid) else f"neither root nor {OWNER}"
    except KeyError:
        return f"there is no user {OWNER} to run the server"


class Place:
    """A directory with links to the server's programs, the wrapper in place of postgres, and a cluster."""

    def __init__(self, wrapper: pathlib.Path, directory: pathlib.Path, cluster: pathlib.Path) -> None:
        real = postgresql_programs()
        assert real
        self.programs, self.data = directory / "bin", directory / "data"
        self.calls, self.log, self.answer = directory / "calls", directory / "log", directory / "answer"
        self.programs.mkdir()
        for program in real.iterdir():
            if program.name != "postgres":
                (self.programs / program.name).symlink_to(program)
        text = re.sub(r"(?m)^server=.*", f"server={real}/postgres", wrapper.read_text())
        self.program("postgres", text.replace("#!/bin/sh\n", "", 1))
        self.program("hugeplanctl", f'echo "$*" >>{self.calls}\n. {self.answer}')
        self.answer.write_text("true")
        self.calls.touch()
        user = pwd.getpwnam(OWNER)
        for path in (directory, self.calls):
            os.chown(path, user.pw_uid, user.pw_gid)
        subprocess.run(["cp", "--archive", cluster, self.data], check=True)
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(f"huge_pages = off\nlisten_addresses = ''\nfsync = off\n"
                       f"unix_socket_directories = '{directory}'\n")

    def set(self, name: str, value: str) -> None:
        path = self.programs / "postgres"
        path.write_text(re.sub(f"(?m)^{name}=.*", f"{name}={value}", path.read_text()))

    def program(self, name: str, script: str) -> None:
        (self.programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.programs / name).chmod(0o755)

    def run(self, program: str, *arguments: object, succeeds: bool = True) -> str:
        done = run_as_owner(self.programs, program, *arguments)
        check((done.returncode == 0) == succeeds, f"{program} {arguments}: {done.stdout}")
        return done.stdout

    def pg_ctl(self, verb: str, *arguments: object, succeeds: bool = True) -> str:
        return self.run("pg_ctl", verb, "-D", self.data, "-l", self.log, "-t", 20, *arguments, succeeds=succeeds)

    def waits(self) -> list[str]:
        """The arguments of each call of hugeplanctl since the last waits()."""
        lines = self.calls.read_text().splitlines()
        self.calls.write_text("")
        return lines

    def lines_of_pid(self) -> int:
        file = self.data / "postmaster.pid"
        return file.read_text().count("\n") if file.exists() else 0

    def postmaster(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])


def as_owner() -> dict[str, Any]:
    user = pwd.getpwnam(OWNER)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}


def run_as_owner(programs: pathlib.Path, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([programs / program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, cwd="/",
                          env={"PATH": f"{programs}:/usr/bin:/bin", "LC_ALL": "C"}, **as_owner())


def make_cluster(directory: pathlib.Path) -> None:
    programs = postgresql_programs()
    assert programs
    done = run_as_owner(programs, "initdb", "-D", directory, "--no-sync", "--auth=trust")
    check(done.returncode == 0, done.stdout)


CALL = "wait --restart pg-main"


def test_pg_ctl(place: Place) -> None:
    """With -p pg_ctl starts the wrapper. Without -p a restart runs postgres by the path in postmaster.opts."""
    wrapper = place.programs / "postgres"
    place.pg_ctl("start", "-p", wrapper)
    first = place.postmaster()
    check(place.waits() == [CALL], "the start waits for its pages")
    place.pg_ctl("restart", "-p", wrapper)
    check(place.postmaster() != first and place.waits() == [CALL], "the restart waits for its pages")
    program = pathlib.Path(f"/proc/{place.postmaster()}/exe").resolve()
    check(program.name == "postgres" and program.parent == postgresql_programs(), str(program))
    place.pg_ctl("restart")
    check(place.waits() == [], "a restart without -p does not wait, as the manual says")


def test_refusal(place: Place) -> None:
    """A refused start starts no server, and the server's log has hugeplanctl's message."""
    place.answer.write_text(f"echo '{REFUSAL}' >&2\nexit 1")
    place.pg_ctl("start", "-p", place.programs / "postgres", succeeds=False)
    check(REFUSAL in place.log.read_text(), place.log.read_text())
    check(not (place.data / "postmaster.pid").exists(), "no server was started")
    place.answer.write_text("true")
    place.pg_ctl("start", "-p", place.programs / "postgres")


def test_questions(place: Place) -> None:
    """Options of postgres that start no server do not wait."""
    check("PostgreSQL" in place.run("postgres", "--version"), "the version")
    check("PostgreSQL" in place.run("postgres", "-V"), "the version")
    shared = place.run("postgres", "-D", place.data, "-C", "shared_buffers").strip()
    check(shared.isdigit() or shared.endswith("B"), shared)
    check("max_connections" in place.run("postgres", "--describe-config"), "the settings")
    check(place.waits() == [], "no call has waited")


def start(place: Place, *more: str) -> subprocess.Popen[bytes]:
    """Starts a server as pg_auto_failover (pg_ctl_postgres(): the postgres beside pg_ctl, -D first) and Patroni
    (PostmasterProcess.start(): -D, --config-file=, settings) do."""
    with place.log.open("wb") as log:
        child = subprocess.Popen(
            [place.programs / "postgres", "-D", place.data, *more], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
            env={"PATH": f"{place.programs}:/usr/bin:/bin", "LC_ALL": "C"}, **as_owner())
    # The server writes postmaster.pid line by line.
    wait_until("the server", lambda: child.poll() is not None or place.lines_of_pid() >= 4, PATIENCE)
    check(child.poll() is None, place.log.read_text())
    return child


def patroni_options(place: Place) -> list[str]:
    return [f"--config-file={place.data}/postgresql.conf", "--max_connections=33"]


def test_as_supervisors_do(place: Place) -> None:
    """The process that a supervisor starts becomes the server."""
    for setting, more in (("no", ["-p", "6543"]), ("yes", patroni_options(place))):
        place.set("patroni", setting)
        child = start(place, *more)
        check(place.postmaster() == child.pid, "the started process is the server")
        check(place.waits() == [CALL], "the start waits for its pages")
        child.terminate()
        child.wait(PATIENCE)


def age_of_postmaster(place: Place) -> float:
    """The seconds by which the postmaster is older than the start time in postmaster.pid, as Patroni computes them."""
    started = int((place.data / "postmaster.pid").read_text().split("\n")[2])
    ticks = int(pathlib.Path(f"/proc/{place.postmaster()}/stat").read_text().rsplit(")", 1)[1].split()[19])
    booted = int(re.search(r"btime (\d+)", pathlib.Path("/proc/stat").read_text())[1])  # type: ignore[index]
    return started - booted - ticks / os.sysconf("SC_CLK_TCK")


def test_patroni_after_a_long_wait(place: Place) -> None:
    """Patroni rejects a postmaster that is older than its postmaster.pid says. After a long wait the wrapper therefore
    starts the server as a new process, and passes on Patroni's signals."""
    place.answer.write_text("sleep 3")
    place.set("patroni", "yes")
    place.set("linger", "3")
    child = start(place, *patroni_options(place))
    server = place.postmaster()
    check(server != child.pid and abs(age_of_postmaster(place)) < 2, f"{age_of_postmaster(place)}")
    check(child.wait(PATIENCE) == 0, "the wrapper ends")
    time.sleep(0.2)
    place.pg_ctl("status")
    check(place.postmaster() == server, "the server stays")
    place.pg_ctl("stop", "-m", "fast")
    place.answer.write_text("sleep 2")
    for number in (signal.SIGTERM, signal.SIGINT):
        child = start(place, *patroni_options(place))
        child.send_signal(number)
        check(child.wait(PATIENCE) == 0, "the wrapper ends after the server")
        check(not (place.data / "postmaster.pid").exists(), "the signal has stopped the server")


def why_no_pg_auto_failover() -> str | None:
    real = postgresql_programs()
    assert real
    version = real.parent.name
    if os.geteuid() != 0:
        return "the monitor listens on all addresses, so it needs a network namespace, which needs root"
    if not all(map(shutil.which, ("pg_autoctl", "ip", "unshare"))):
        return "there is no pg_autoctl; install Debian's pg-auto-failover-cli" if shutil.which("ip") else "there is no ip"
    if not pathlib.Path(f"/usr/share/postgresql/{version}/extension/pgautofailover.control").exists():
        return f"the monitor needs Debian's postgresql-{version}-auto-failover"
    return None


# In a network namespace: a monitor, and a node when the monitor answers.
MONITOR_AND_NODE = """\
ip link set lo up
autoctl() { setpriv --reuid=%(owner)s --regid=%(owner)s --init-groups %(autoctl)s create "$@" --auth trust --no-ssl \\
                --hostname localhost --run; }
autoctl monitor --pgdata %(directory)s/monitor --pgctl %(real)s/pg_ctl --pgport 6432 &
until %(real)s/psql -h 127.0.0.1 -p 6432 -U autoctl_node -c 'select 1' pg_auto_failover >/dev/null 2>&1; do sleep 0.5; done
autoctl postgres --pgdata %(data)s --pgctl %(programs)s/pg_ctl --pgport 6433 \\
        --monitor postgres://autoctl_node@localhost:6432/pg_auto_failover &
wait
"""


def is_ready(place: Place) -> bool:
    file = place.data / "postmaster.pid"
    return file.exists() and "ready" in file.read_text()


def test_pg_auto_failover(place: Place) -> None:
    """pg_autoctl starts the wrapper, restarts a server that has died, and tries again after a refusal."""
    reason = why_no_pg_auto_failover()
    if reason:
        print(f"skip test_pg_auto_failover: {reason}")
        return
    home = place.data.parent
    shutil.rmtree(place.data)  # pg_autoctl makes its own cluster
    values = {"owner": OWNER, "directory": home, "data": place.data, "programs": place.programs,
              "real": postgresql_programs(), "autoctl": shutil.which("pg_autoctl")}
    environment = {"PATH": f"{place.programs}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": str(home),
                   **{f"XDG_{name}": str(home) for name in ("RUNTIME_DIR", "CONFIG_HOME", "DATA_HOME")}}
    with place.log.open("wb") as log, subprocess.Popen(
            ["unshare", "--net", "sh", "-c", MONITOR_AND_NODE % values], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd="/", env=environment, start_new_session=True) as both:
        try:
            # pg_autoctl starts the wrapper, starts it again when the server has died, and retries a refused start.
            wait_until("the server", lambda: is_ready(place), PATIENCE)
            check(place.waits() == [CALL], "the start waits for its pages")
            first = place.postmaster()
            check(pathlib.Path(f"/proc/{first}/exe").resolve().parent == postgresql_programs(), "the server runs")
            os.kill(first, signal.SIGQUIT)
            wait_until("the next server", lambda: is_ready(place) and place.postmaster() != first, PATIENCE)
            check(place.waits() == [CALL], "the next start waits for its pages")
            place.answer.write_text(f"echo '{REFUSAL}' >&2\nexit 1")
            os.kill(place.postmaster(), signal.SIGQUIT)
            wait_until("hugeplanctl's message in the log", lambda: REFUSAL in place.log.read_text(), PATIENCE)
            check(not (place.data / "postmaster.pid").exists(), "no server was started")
            place.answer.write_text("true")
            wait_until("the retry of the refused start", lambda: is_ready(place), PATIENCE)
        finally:
            for each in ("data", "monitor"):
                subprocess.run([values["autoctl"], "stop", "--immediate", "--pgdata", home / each], env=environment, user=OWNER,
                               stdout=log, stderr=log, cwd="/")
            try:
                both.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(both.pid, signal.SIGKILL)
                raise


def run_test(test: Callable[[Place], None], wrapper: pathlib.Path, cluster: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(prefix="hugeplan-supervisor-") as directory:
        place = Place(wrapper, pathlib.Path(directory), cluster)
        try:
            test(place)
        finally:
            if (place.data / "postmaster.pid").exists():
                place.pg_ctl("stop", "-m", "immediate")


def main() -> int:
    reason = why_not()
    if reason:
        return common.skip(reason)
    with tempfile.TemporaryDirectory(prefix="hugeplan-supervisor-") as name:
        os.chmod(name, 0o777)
        wrapper, cluster = pathlib.Path(sys.argv[1]), pathlib.Path(name, "cluster")
        make_cluster(cluster)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return common.summary_of(list(pool.map(
                lambda test: common.passes(test[0], functools.partial(run_test, test[1], wrapper, cluster)),
                common.tests_in(globals(), []).items())))


if __name__ == "__main__":
    sys.exit(main())
